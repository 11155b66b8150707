"""What Numba compiles gives what NumPy gives, to the last bit."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge import kernels
from divulge.measures.numeric.columns import ends_and_logs, gather
from divulge.panels import THREADED


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gives the answers of a call by NumPy and by compiled loops."""
    pytest.importorskip("numba")

    def answers(call: Any) -> tuple[Any, Any]:
        monkeypatch.setattr(kernels, "fastest", lambda loop, entries: None)
        by_numpy = call()
        monkeypatch.setattr(kernels, "fastest", lambda loop, entries: kernels.compiled(loop))
        return by_numpy, call()

    return answers


def same(first: Any, second: Any) -> bool:
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(first, second, strict=True))


def parts(gathered: Any) -> list[np.ndarray]:
    ends = [getattr(side, name) for side in (gathered.likely, gathered.all) for name in
            ("top", "bottom", "top_at", "bottom_at")]  # fmt: skip
    return [*ends, gathered.joint_top, gathered.row_logs, gathered.outer, *gathered.first]


@cache
def matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    few = rng.integers(0, 3, size=(700, 701)) + 0.0  # many ties and zeros: the first row of an extreme must be found
    few[:, 0] += 1.0
    wide = rng.dirichlet(np.ones(5000), size=7)
    rising = np.linspace(0.1, 0.9, 601)[:, None] ** np.arange(1, 515)  # every row beats those before it, or none
    threaded = rng.random((THREADED // 1000 + 5, 1000))
    alike = np.full((130, 1025), 1 / 1025)
    whole = {"few values": few, "wide": wide, "rising": rising, "falling": rising[::-1].copy(), "two threads": threaded,
             "alike": alike, "one row": wide[:1], "one column": np.ones((9, 1))}  # fmt: skip
    return {name: matrix / matrix.sum(axis=1, keepdims=True) for name, matrix in whole.items()}


@pytest.mark.parametrize("name", ["few values", "wide", "rising", "falling", "two threads", "alike", "one row",
                                  "one column"])  # fmt: skip
def test_one_pass_is_the_same_compiled(name: str, both: Any) -> None:
    """Under a prior with and without zeros, and without a prior."""
    matrix = matrices()[name]
    weights = np.random.default_rng(1).dirichlet(np.ones(len(matrix)))
    some = np.where(np.arange(len(matrix)) % 97 == 1, 0.0, weights)
    for p in (weights, some):
        first, second = both(lambda p=p: gather(matrix, p, matrix.mean(axis=0)))
        assert same(parts(first), parts(second))
    (ends, logs, _), (others, again, _) = both(lambda: ends_and_logs(matrix))
    assert same((*ends, logs), (*others, again))


@pytest.mark.usefixtures("both")
def test_a_large_profile_is_compiled_and_a_small_one_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading takes longer than a small profile: a large one loads, or many small ones; what is loaded serves all."""
    for entries in ([kernels.PAYS], [0] * 20_000):
        monkeypatch.setattr(kernels, "_compiled", {})
        monkeypatch.setattr(kernels, "_asked", {})
        assert kernels.fastest(kernels.column_ends, 1 << 20) is None
        assert [kernels.fastest(kernels.column_ends, size) for size in entries][-1] is not None
        assert kernels.fastest(kernels.column_ends, 1) is not None


def test_without_numba_numpy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is one that may be missing."""
    monkeypatch.setattr(kernels, "_compiled", {})
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert kernels.fastest(kernels.column_ends, kernels.PAYS) is None


def test_labels_are_those_of_the_first_rows(both: Any) -> None:
    """Whom an outcome speaks for is decided alike."""
    matrix = matrices()["few values"][:150, :151]
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    first, second = both(lambda: dv.profile((dv.Prior.uniform(len(matrix)), dv.Channel(matrix))).to_dict())
    assert first == second


@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 20, 127, 128, 129, 700, 5000])
def test_small_sums_are_the_same_compiled(columns: int, both: Any) -> None:
    """Sums are added in one order."""
    matrix = np.random.default_rng(columns).dirichlet(np.full(columns, 0.3), size=20)
    joint = dv.Joint(np.random.default_rng(1).dirichlet(np.ones(20)), matrix)
    first, second = both(lambda: dv.measures.bayes_vulnerability(joint))
    assert first == second


@pytest.mark.parametrize("columns", [1, 2, 5, 9, 128, 129])
@pytest.mark.parametrize("alike", [0.0, 1e-9])
def test_information_of_few_entries_is_the_same_compiled(columns: int, alike: float, both: Any) -> None:
    """The first question of a channel and those after it, near independence, and with outcomes that never occur."""
    matrix = np.random.default_rng(columns).dirichlet(np.full(columns, 0.3), size=20)
    if alike:
        matrix = matrix[0] + alike * (matrix - matrix[0])
    prior = np.random.default_rng(1).dirichlet(np.ones(20))
    found = []
    for p in (prior, np.eye(20)[3], np.where(np.arange(20) < 4, 0.25, 0.0)):
        channel = dv.Channel(matrix)
        first, second = both(lambda p=p, c=channel: [dv.mutual_information(dv.Joint(p, c)) for _ in range(2)])
        assert first == second
        assert first[0] == first[1] == dv.profile((p, channel)).mutual_information
        found.append(first[0])
        q = p @ matrix
        terms = [p[i] * c * np.log(c / q[j]) for i, row in enumerate(matrix) for j, c in enumerate(row) if p[i] * c > 0]
        assert alike or abs(first[0] - sum(terms)) < 1e-13
    assert found[0] > 0 or columns == 1
