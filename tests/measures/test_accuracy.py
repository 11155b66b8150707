"""Float measures against exact rationals: relative error at most 1e-12, with entries down to 1e-12 and zeros.

Entries are whole multiples of 2^-52 whose rows sum to exactly 1, so that float and exact channel are the same channel.
"""

import math
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp, mpf
from support import ONE, dyadic_rows, random_joint, twins

import divulge as dv
from divulge.measures.convex import DIVERGENCES

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
    "mean pml": lambda joint: dv.pml(joint).mean(),
    "mean pmc": lambda joint: dv.pmc(joint).mean(),
    **{name: partial(dv.f_information, f=name) for name in DIVERGENCES},
}

ORDERS = [0, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-7, 1, 1 + 1e-7, 1.3, 2, 7.5, 40, 300, 1e6, math.inf]


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
        for name in DIVERGENCES:
            values = dv.posterior_divergence(approximate, name).values
            assert values == pytest.approx(dv.posterior_divergence(exact, name).values, rel=1e-12, abs=0), name
        assert dv.entropy(approximate.prior) == pytest.approx(dv.entropy(exact.prior), rel=1e-12)
        assert dv.guesswork(approximate.prior) == pytest.approx(float(dv.guesswork(exact.prior)), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order(order: float) -> None:
    rng = np.random.default_rng(13)
    for i in range(16):
        n, m = (int(v) for v in rng.integers(2, 8, size=2))
        approximate, exact = twins(rng, n, m, 0.3 * (i % 2))
        sparse = dv.Joint(approximate.prior, dv.Channel(sp.csr_array(approximate.c)))
        for measure in (dv.sibson, dv.arimoto):
            truth = measure(exact, order)
            assert measure(approximate, order) == pytest.approx(truth, rel=1e-12, abs=0), measure
            assert measure(sparse, order) == pytest.approx(truth, rel=1e-12, abs=0), measure
        truth = dv.renyi_entropy(exact.prior, order)
        assert dv.renyi_entropy(approximate.prior, order) == pytest.approx(truth, rel=1e-12, abs=0)
        for other in (1, n - 1):
            truth = dv.renyi_divergence(*exact.c[[0, other]].tolist(), order)
            found = dv.renyi_divergence(*approximate.c[[0, other]].tolist(), order)
            assert found == pytest.approx(truth, rel=1e-12, abs=0)


@pytest.mark.parametrize("order", [1e-3, 0.3, 0.5, 1 - 1e-9, 1.7, 2, 7.5, 40])
def test_exact_joints_are_rounded_once_at_every_order(order: float) -> None:
    """The definitions, evaluated by mpmath with 60 digits and then rounded."""
    rng = np.random.default_rng(14)
    for _ in range(6):
        joint = random_joint(rng, 4, 3, exact=True, zeros=0.3)
        with mp.workdps(60):
            a, used = mpf(order), [x for x in range(4) if joint.p[x] > 0]
            p = {x: mpf(joint.p[x].numerator) / joint.p[x].denominator for x in used}
            c = {x: [mpf(v.numerator) / v.denominator for v in joint.c[x]] for x in used}

            def roots(weight: dict[int, mpf], a: mpf = a, c: dict[int, list[mpf]] = c) -> mpf:
                sums = [sum(weight[x] * c[x][y] ** a for x in weight if c[x][y] > 0) for y in range(3)]
                return sum(s ** (1 / a) for s in sums if s > 0)

            powers = {x: v**a for x, v in p.items()}
            whole = sum(powers.values())
            wanted = a / (a - 1) * mp.log(roots(p)), a / (a - 1) * mp.log(roots(powers) / whole ** (1 / a))
            entropy, bits = mp.log(whole) / (1 - a), wanted[0] / mp.log(2)
        assert (dv.sibson(joint, order), dv.arimoto(joint, order)) == pytest.approx(
            [0.0 if abs(v) < 1e-50 else float(v) for v in wanted], rel=0, abs=0
        )
        assert dv.renyi_entropy(joint.prior, order) == float(entropy)
        assert dv.sibson(joint, order, unit="bits") == (0.0 if wanted[0] < 1e-50 else float(bits))


def test_orders_count_at_their_exact_value() -> None:
    joint = dv.Joint(["1/3", "2/3"], [["3/4", "1/4"], ["1/4", "3/4"]])
    with mp.workdps(50):
        a = mpf(7) / 5
        sums = [sum(w * c**a for w, c in zip((mpf(1) / 3, mpf(2) / 3), column, strict=True))
                for column in ((mpf(3) / 4, mpf(1) / 4), (mpf(1) / 4, mpf(3) / 4))]  # fmt: skip
        wanted = a / (a - 1) * mp.log(sum(s ** (1 / a) for s in sums))
    assert dv.sibson(joint, F(7, 5)) == float(wanted)


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 2.5, math.inf])
@pytest.mark.parametrize("exact", [True, False])
def test_an_unknown_unit_is_refused_where_nothing_leaks_too(order: float, exact: bool) -> None:
    half: Any = F(1, 2) if exact else 0.5
    joint = dv.Joint([half, half], [[half, half], [half, half]])
    sure = [half + half, half - half]
    for ask in (
        lambda: dv.sibson(joint, order, unit="furlongs"),
        lambda: dv.arimoto(joint, order, unit="furlongs"),
        lambda: dv.renyi_entropy(sure, order, unit="furlongs"),
        lambda: dv.renyi_divergence(sure, sure, order, unit="furlongs"),
        lambda: dv.f_information(joint, unit="furlongs"),
        lambda: dv.posterior_divergence(joint, "hellinger", unit="furlongs"),
    ):
        with pytest.raises(dv.DivulgeError, match="unit"):
            ask()


def test_a_function_that_is_nan_somewhere_is_refused() -> None:
    for joint in (
        dv.Joint([0.5, 0.5], [[0.0, 1.0], [0.5, 0.5]]),
        dv.Joint(["1/2", "1/2"], [["0", "1"], ["1/2", "1/2"]]),
    ):
        with pytest.raises(dv.DivulgeError, match="NaN"):
            dv.f_information(joint, lambda u: u * np.log(u))


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
