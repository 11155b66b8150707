"""Guesses of a number that cost a power of the distance, and gains that may be losses."""

from fractions import Fraction as F
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from support import fresh_seed

import divulge as dv
from divulge.adversaries import additive_leakage, uncertainty


def least(points: list[float], weights: list[float], p: float) -> mp.mpf:
    """Return min over w of sum weights |x - w|^p, by golden sections between neighbors, in 60 digits."""
    x, u = [mp.mpf(v) for v in points], [mp.mpf(v) for v in weights]

    def cost(w: mp.mpf) -> mp.mpf:
        return mp.fsum(a * abs(v - w) ** mp.mpf(p) for a, v in zip(u, x, strict=True))

    best = min(map(cost, x))
    ordered, steps = sorted(x), 220 if min(u) < 1e-15 else 70  # what is 1e-25 of the whole needs its digits too
    for low, high in pairwise(ordered):
        for _ in range(steps):
            a, b = high - (high - low) * (mp.sqrt(5) - 1) / 2, low + (high - low) * (mp.sqrt(5) - 1) / 2
            low, high = (low, b) if cost(a) < cost(b) else (a, high)
        best = min(best, cost((low + high) / 2))
    return best


@pytest.mark.thin
@pytest.mark.parametrize("p", [0.3, 1.0, 1.01, 1.5, 2.0, 3.0, 7.5])
def test_the_best_guess_needs_no_grid(p: float) -> None:
    rng = np.random.default_rng(fresh_seed())
    for sharp in (0.0, 1e-25):
        points = rng.normal(0, 3, 5).round(3).tolist()
        weights = rng.dirichlet(np.ones(5))
        if sharp:
            weights = np.array([1.0, *(sharp * weights[1:])])
        cost = dv.Cost.power(points, p)
        found = cost.rule.value(weights.reshape(-1, 1))[0]
        with mp.workdps(60):
            truth = least(points, weights.tolist(), p)
            assert truth * (1 - mp.mpf("1e-15")) <= found <= truth * (1 + mp.mpf("1e-11")), (points, weights, found)


def test_powers_of_named_cases() -> None:
    assert uncertainty([0.5, 0.5], dv.Cost.power([0, 1], 3)) == pytest.approx(1 / 8, rel=1e-14)
    assert uncertainty([0.5, 0.5], dv.Cost.power([0, 1], 0.5)) == pytest.approx(1 / 2, rel=1e-14)
    with pytest.raises(dv.DivulgeError, match="positive and finite"):
        dv.Cost.power([0, 1], 0)


@pytest.mark.parametrize("case", ["average", "max"])
def test_gains_may_be_losses_where_they_are_compared_by_difference(case: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    p = [F(int(v), 20) for v in rng.multinomial(17, [1 / 3] * 3) + 1]
    rows = [[F(int(v), 10) for v in rng.multinomial(10, [1 / 4] * 4)] for _ in range(3)]
    gain = [[F(int(v), 7) for v in row] for row in rng.integers(-9, 9, (2, 3))]
    joint = dv.Joint(p, rows)

    def best(weights: list[F]) -> F:
        return max(sum(g * w for g, w in zip(row, weights, strict=True)) for row in gain)

    columns = [[p[x] * rows[x][y] for x in range(3)] for y in range(4)]
    seen = [column for column in columns if sum(column)]
    after = sum(map(best, seen)) if case == "average" else max(best(c) / sum(c) for c in seen)
    assert additive_leakage(joint, gain, case) == after - best(p)
    floats = [[float(v) for v in row] for row in gain]
    assert additive_leakage(joint, floats, case) == pytest.approx(float(after - best(p)), rel=1e-12, abs=1e-15)
    assert isinstance(additive_leakage(joint, floats, case), float)


def test_a_matrix_that_is_no_gain_is_still_refused() -> None:
    joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    for wrong in ([[float("nan"), -1.0]], [[float("inf"), -1.0]], [[-1.0, 2.0, 3.0]], [["a", "-1"]]):
        with pytest.raises(dv.DivulgeError):
            additive_leakage(joint, wrong)
    with pytest.raises(dv.DivulgeError, match="at least 0"):
        dv.leakage(joint, [[-1.0, 1.0]])
    assert additive_leakage(joint, [["-1/2", "1/2"], ["1/2", "-1/2"]]) == F(1, 4)
    assert all(additive_leakage(joint, [list(gain)]) == 0 for gain in product([-1, 1], repeat=2))
