"""Float measures against exact rationals: relative error at most 1e-12, with entries down to 1e-12 and zeros.

Entries are whole multiples of 2^-52 whose rows sum to exactly 1, so that float and exact channel are the same channel.
"""

import math
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp

import divulge as dv

ONE = 1 << 52

MEASURES = {
    "ldp": dv.ldp,
    "lift_capacity": dv.lift_capacity,
    "bayes_capacity": dv.bayes_capacity,
    "maximal_leakage": dv.maximal_leakage,
    "maximal_cost_leakage": dv.maximal_cost_leakage,
    "lift": dv.lift,
    "lip": dv.lip,
    "mutual_information": dv.mutual_information,
    "min_entropy_leakage": dv.min_entropy_leakage,
    "bayes_vulnerability": dv.bayes_vulnerability,
    "chi-squared": lambda joint: dv.f_information(joint, "chi-squared"),
    "total-variation": lambda joint: dv.f_information(joint, "total-variation"),
    "le-cam": lambda joint: dv.f_information(joint, "le-cam"),
}


def dyadic_rows(rng: np.random.Generator, n: int, m: int, zeros: float) -> np.ndarray:
    """Return whole numbers of shape (n, m), rows summing to 2^52, small ones near 2^52 10^-12."""
    out = np.zeros((n, m), dtype=object)
    for row in out:
        weights = np.exp(rng.uniform(math.log(1e-12), 0, size=m)) * (rng.random(m) >= zeros)
        weights[rng.integers(m)] += 1.0
        row[:] = [int(w) for w in weights / weights.sum() * (ONE // 2)]
        row[int(np.argmax(row))] += ONE - sum(row.tolist())
    return out


def twins(rng: np.random.Generator, n: int, m: int, zeros: float) -> tuple[dv.Joint, dv.Joint]:
    """Return one joint twice, in floats and in fractions."""
    rows, prior = dyadic_rows(rng, n, m, zeros), dyadic_rows(rng, 1, n, zeros)[0]
    exact = dv.Joint([F(v, ONE) for v in prior], [[F(v, ONE) for v in row] for row in rows])
    return dv.Joint((prior / ONE).astype(float), (rows / ONE).astype(float)), exact


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_every_measure(zeros: float) -> None:
    rng = np.random.default_rng(11)
    for _ in range(40):
        n, m = (int(v) for v in rng.integers(2, 12, size=2))
        approximate, exact = twins(rng, n, m, zeros)
        assert exact.exact
        assert not approximate.exact
        sparse = dv.Joint(approximate.prior, dv.Channel(sp.csr_array(approximate.c)))
        for name, measure in MEASURES.items():
            truth = float(measure(exact))
            assert measure(approximate) == pytest.approx(truth, rel=1e-12, abs=0), name
            assert measure(sparse) == pytest.approx(truth, rel=1e-12, abs=0), name
        for measure in (dv.pml, dv.pmc, dv.guesswork_after):
            assert measure(approximate).values == pytest.approx(measure(exact).values, rel=1e-12, abs=1e-300)
        assert dv.entropy(approximate.prior) == pytest.approx(dv.entropy(exact.prior), rel=1e-12)
        assert dv.guesswork(approximate.prior) == pytest.approx(float(dv.guesswork(exact.prior)), rel=1e-12)


def test_mutual_information_near_independence_keeps_its_digits() -> None:
    """All rows are nearly one: each differs from it by steps of 2^-40 of the whole."""
    rng = np.random.default_rng(12)
    for shift in (1 << 12, 1 << 20, 1 << 30):
        rows = np.tile(dyadic_rows(rng, 1, 6, 0.0)[0] // 2 + ONE // 12, (4, 1))
        for row in rows:
            row[:-1] += [int(v) for v in rng.integers(-shift, shift, size=5)]
            row[-1] = ONE - sum(row[:-1].tolist())
        prior = [F(1, 8), F(1, 2), F(1, 8), F(1, 4)]
        exact = dv.Joint(prior, [[F(int(v), ONE) for v in row] for row in rows])
        close = dv.Joint([float(p) for p in prior], (rows / ONE).astype(float))
        assert 0 < dv.mutual_information(exact) < 1e-3
        # q is rounded to 2^-53 of itself, which moves each deviation t = (C - q) / q by as much.
        conditioning = 2.0**-50 / (shift / ONE)
        tolerance = max(1e-12, conditioning)
        assert dv.mutual_information(close) == pytest.approx(dv.mutual_information(exact), rel=tolerance, abs=0)
        assert dv.sibson(close, 1 + 1e-9) == pytest.approx(dv.mutual_information(exact), rel=1e-6)


def test_extreme_entries_neither_overflow_nor_vanish() -> None:
    tiny = 1e-300
    channel = dv.Channel([[tiny, 1.0], [0.5, 0.5]])
    assert dv.ldp(channel) == pytest.approx(math.log(0.5) - math.log(tiny), rel=1e-15)
    assert dv.pmc((dv.Prior([0.5, 0.5]), channel)).max() == pytest.approx(math.log(0.25) - math.log(tiny), rel=1e-15)
    smallest = dv.Channel([[5e-324, 1.0], [0.5, 0.5]])
    assert dv.ldp(smallest) == pytest.approx(math.log(0.5) - math.log(5e-324), rel=1e-15)
    assert dv.lift_capacity(smallest) == math.inf
