"""Counts that agree: the nearest ones, against a quadratic program and each other, and what is too large."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import lsq_linear

import divulge as dv
from divulge.publishing.noising.margins import after, projected

SIZES = {"a": 4, "b": 3, "c": 2}
BYS: list[tuple[str, ...]] = [("a", "b"), ("c", "b"), ("a",), ()]


def noisy(seed: int) -> tuple[list[np.ndarray], list[float]]:
    rng = np.random.default_rng(seed)
    table = rng.multinomial(60, rng.dirichlet(np.full(24, 0.2))).reshape(4, 3, 2)
    margins = [table.sum(axis=2), table.sum(axis=0).T, table.sum(axis=(1, 2)), table.sum()]
    spread = [3.0, 5.0, 1.0, 2.0]
    return [m + np.rint(rng.laplace(0, s, np.shape(m))) for m, s in zip(margins, spread, strict=True)], spread


def incidence() -> list[np.ndarray]:
    places = np.indices((4, 3, 2)).reshape(3, 24)
    a, b, c = places
    return [np.array([keys == k for k in range(n)], dtype=float)
            for keys, n in ((a * 3 + b, 12), (c * 3 + b, 6), (a, 4), (a * 0, 1))]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("total", [None, 60])
@pytest.mark.parametrize("non_negative", [False, True])
def test_the_nearest_margins_of_a_table(seed: int, total: int | None, non_negative: bool) -> None:
    values, spread = noisy(seed)
    found = projected(values, BYS, spread, SIZES, total, non_negative, False)
    blocks = [m / s for m, s in zip(incidence(), spread, strict=True)]
    target = [np.ravel(v) / s for v, s in zip(values, spread, strict=True)]
    if total is not None:
        blocks.append(np.full((1, 24), 1e4))
        target.append(np.array([1e4 * total]))
    bounds = (0, np.inf) if non_negative else (-np.inf, np.inf)
    solved = lsq_linear(np.vstack(blocks), np.concatenate(target), bounds, method="bvls", tol=1e-14, max_iter=5000)
    for one, rows in zip(found, incidence(), strict=True):
        assert np.allclose(np.ravel(one), rows @ solved.x, atol=5e-3)
    assert np.allclose(found[0].sum(axis=1), found[2])  # they agree to rounding, wherever they are
    assert np.allclose(found[0].sum(axis=0), found[1].sum(axis=0))
    assert np.allclose(found[2].sum(), found[3])
    assert not non_negative or min(one.min() for one in found) >= 0
    assert total is None or abs(found[3] - total) < 1e-6


@pytest.mark.parametrize("total", [False, True])
def test_the_error_of_moved_counts_is_that_of_least_squares(total: bool) -> None:
    """The covariance of the weighted least-squares estimate, from the matrices; a public total is one more equation."""
    _, spread = noisy(0)
    blocks = [m / s for m, s in zip(incidence(), spread, strict=True)]
    design = np.vstack([*blocks, np.full((1, 24), 1e5)]) if total else np.vstack(blocks)
    inverse = np.linalg.pinv(design)[:, : sum(map(len, blocks))]  # of unit noise; the total has none
    for one, rows in zip(after(BYS, spread, SIZES, total), incidence(), strict=True):
        assert np.allclose(np.sqrt(((rows @ inverse) ** 2).sum(axis=1)), one, atol=1e-4)


def test_moved_counts_are_shown_with_their_error() -> None:
    table = pa.table({"x": ["0", "1"] * 50, "y": ["0", "0", "1", "1"] * 25})
    values = {"x": ["0", "1"], "y": ["0", "1"]}
    asked = [dv.Count("x", "y"), dv.Count("x")]
    how: dict[str, Any] = {"guarantee": "dp=1", "values": values, "no_other": True, "per_row": True}
    plain, moved = (dv.publish(table, asked, consistent=one, **how) for one in (False, True))
    for before, then in zip(plain.table["standard_error"].to_pylist(), moved.table["standard_error"].to_pylist(),
                            strict=True):  # fmt: skip
        assert 0 < then < before


def test_how_many_people_there_are_stays_what_it_is_where_it_is_public() -> None:
    """Of replaced people one row counts each: their number has no noise, and counts by group add up to it."""
    table = pa.table({"x": ["0", "1"] * 50, "who": [str(i) for i in range(100)]})
    asked = [dv.Count(), dv.Count("x")]
    how: dict[str, Any] = {"guarantee": "dp=0.01", "values": {"x": ["0", "1"]}, "no_other": True, "person": "who"}
    for treated in ({}, {"non_negative": True}, {"non_negative": True, "whole": True}):
        whole, *parts = dv.publish(table, asked, consistent=True, level=1 - 1e-9, **how, **treated).statistics()
        assert (whole["value"], whole["low"], whole["high"], whole["standard_error"]) == (100, 100, 100, 0)
        assert sum(one["value"] for one in parts) == pytest.approx(100, abs=1e-6)


def test_margins_of_many_combinations_stay_near() -> None:
    """A solver that gave up moved counts by ten times their noise."""
    rng = np.random.default_rng(0)
    n = 30
    table = rng.multinomial(10**6, rng.dirichlet(np.full(n**3, 0.1))).reshape(n, n, n)
    bys = [("a", "b"), ("b", "c"), ("a", "c")]
    values = [table.sum(axis=i) + np.rint(rng.laplace(0, 4, (n, n))) for i in (2, 0, 1)]
    near = projected(values, bys, [5.7] * 3, dict.fromkeys("abc", n), 10**6, True, False)
    for one, value in zip(near, values, strict=True):
        assert np.sqrt(((one - value) ** 2).mean()) < 2  # the solver before: 5


def test_too_many_combinations_are_refused_before_anything_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(*_: Any) -> None:
        raise AssertionError("counted")

    monkeypatch.setattr("divulge.publishing.publication.counted", counted)
    columns = {name: ["0"] for name in "xyz"}
    values = {name: [str(i) for i in range(99)] for name in columns}
    with pytest.raises(dv.DivulgeError, match=r"`consistent` must be .* at most 600,000 .* 1,030,301"):
        dv.publish(pa.table(columns), [dv.Count("x"), dv.Count("y"), dv.Count("z")], guarantee="dp=1", values=values,
                   consistent=True, non_negative=True, per_row=True)  # fmt: skip


def test_tables_over_a_billion_combinations_agree_and_are_the_nearest_ones() -> None:
    """At the least sum of squares its slope in every cell of the table over all columns is 0: looked at in many."""
    rng = np.random.default_rng(1)
    sizes = {"a": 300, "b": 200, "c": 150, "d": 120}
    bys = [("a", "b"), ("c", "b"), ("c", "d"), ("a",), ()]
    spread = [3.0, 7.0, 2.0, 1.0, 5.0]
    values = [rng.normal(50, 9, [sizes[name] for name in by]) for by in bys]
    for total in (None, 10**6):
        found = projected(values, bys, spread, sizes, total, False, False)
        assert np.allclose(found[0].sum(axis=1), found[3])
        assert np.allclose(found[0].sum(axis=0), found[1].sum(axis=0))
        assert np.allclose([part.sum() for part in found], found[4])
        cells = {name: rng.integers(0, size, 2000) for name, size in sizes.items()}
        slope = sum((fit - value)[tuple(cells[name] for name in by)] / sigma**2
                    for fit, value, by, sigma in zip(found, values, bys, spread, strict=True))  # fmt: skip
        assert np.ptp(slope) < 1e-6 * max(np.abs(value).max() for value in values)
        assert total is not None or abs(np.asarray(slope)).max() < 1e-6
        assert total is None or abs(float(found[4]) - total) < 1e-4
