"""Large float matrices are read once and kept as they are; nobody writes to them afterwards."""

import math

import numpy as np
import pytest

import divulge as dv
from divulge import panels

N = 1100


def large() -> np.ndarray:
    matrix = np.random.default_rng(0).random((N, N))
    return matrix / matrix.sum(axis=1, keepdims=True)


def test_a_good_array_is_kept_and_made_read_only() -> None:
    matrix = large()
    assert dv.Channel(matrix).matrix is matrix
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 1.0


@pytest.mark.parametrize("change", ["view", "order", "sums", "minus zero", "small"])
def test_what_cannot_be_kept_is_copied(change: str) -> None:
    matrix = large()
    if change == "minus zero":
        matrix[0, 1] += matrix[0, 0]
        matrix[0, 0] = -0.0
    given = {
        "view": matrix[:], "order": np.asfortranarray(matrix), "sums": matrix * (1 + 1e-12), "minus zero": matrix,
        "small": matrix[:2, :2] / matrix[:2, :2].sum(axis=1)[:, None],
    }[change]  # fmt: skip
    before = given.copy()
    channel = dv.Channel(given)
    assert channel.matrix is not given
    given[0, 0] = 0.5
    assert np.allclose(channel.matrix, before, rtol=1e-8, atol=0)
    assert not np.signbit(channel.matrix[0, 0])
    assert not channel.matrix.flags.writeable


@pytest.mark.parametrize("bad", [math.nan, -1e-300, math.inf, -math.inf])
@pytest.mark.parametrize("row", [0, N // 2, N - 1])
def test_a_bad_entry_is_named_and_the_array_left_alone(bad: float, row: int) -> None:
    matrix = large()
    matrix[row, 7] = bad
    with pytest.raises(dv.DivulgeError, match=rf"{row}\b.*7\b"):
        dv.Channel(matrix)
    matrix[row, 7] = 0.0
    matrix[row, 8] += 0.1
    with pytest.raises(dv.DivulgeError, match="sum"):
        dv.Channel(matrix)
    assert matrix.flags.writeable


def test_one_pass_gives_what_each_measure_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """In panels and on two threads, the profile is that of the functions of the same names to the last bit."""
    monkeypatch.setattr(panels, "PANEL", 40 * N)
    monkeypatch.setattr(panels, "THREADED", 1)
    prior = dv.Prior(np.random.default_rng(1).dirichlet(np.ones(N)))
    found, again = dv.profile((prior, large())), dv.Joint(prior, large())
    assert found.pml.values.tolist() == dv.pml(again).values.tolist()
    assert found.pmc.values.tolist() == dv.pmc(again).values.tolist()
    assert found.ldp == dv.ldp(again.channel)
    assert again.outer == pytest.approx(prior.floats @ large(), rel=1e-13)
    assert found.mutual_information == pytest.approx(dv.mutual_information(again), rel=1e-13)
    assert found.capacity.lower <= dv.measures.capacity(again.channel).upper


def test_a_prior_of_more_secrets_than_memory_holds_is_refused_before_it_is_written() -> None:
    with pytest.raises(dv.DivulgeError, match=r"`secrets` must be at most 67,108,864 .* 2,147,483,648"):
        dv.Prior.uniform(2**31)
