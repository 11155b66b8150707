"""Float measures against exact rationals: relative error at most 1e-12, with entries down to 1e-12 and zeros.

Entries are whole multiples of 2^-52 whose rows sum to exactly 1, so that float and exact channel are the same channel.
"""

import inspect
import math
from collections.abc import Callable
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp, mpf
from support import ONE, dyadic_rows, few, random_joint, twins

import divulge as dv
from divulge.measures.numeric.convex import DIVERGENCES

MEASURES: dict[str, Callable[[dv.Joint], Any]] = {
    "ldp": dv.ldp,
    "lift_capacity": dv.lift_capacity,
    "bayes_capacity": dv.bayes_capacity,
    "maximal_leakage": dv.maximal_leakage,
    "maximal_cost_leakage": dv.maximal_cost_leakage,
    "capacity": lambda joint: dv.measures.capacity(joint).value,
    "sibson_capacity": lambda joint: dv.measures.sibson_capacity(joint, 3).value,
    "maximal_alpha_leakage": partial(dv.measures.maximal_alpha_leakage, order=1.5),
    "alpha_leakage": partial(dv.measures.alpha_leakage, order=1.5),
    "lift": dv.lift,
    "lip": dv.lip,
    "alip": lambda joint: [dv.alip(joint).lower, dv.alip(joint).upper],
    "maximal_realizable_cost": dv.measures.maximal_realizable_cost,
    "pointwise_maximal_guesswork_leakage": lambda joint: dv.measures.pointwise_maximal_guesswork_leakage(joint).values,
    "mutual_information": dv.mutual_information,
    "min_entropy_leakage": dv.measures.min_entropy_leakage,
    "bayes_vulnerability": dv.measures.bayes_vulnerability,
    "guesswork": lambda joint: dv.measures.guesswork(joint.prior),
    "guesswork_after": lambda joint: dv.measures.guesswork_after(joint).values,
    "entropy": lambda joint: dv.measures.entropy(joint.prior),
    "min_entropy": lambda joint: dv.measures.min_entropy(joint.prior),
    "pml": lambda joint: variable(dv.pml(joint)),
    "pmc": lambda joint: variable(dv.pmc(joint)),
    **{f"f_information {name}": partial(dv.measures.f_information, f=name) for name in DIVERGENCES},
    **{f"posterior_divergence {name}": lambda joint, name=name: variable(dv.measures.posterior_divergence(joint, name))
       for name in DIVERGENCES},
    "profile": lambda joint: list(dv.profile(joint).to_dict()["joint"].values())[4:],
    "information_density": lambda joint: joint.information_density,
    "posteriors": lambda joint: joint.posteriors,
}  # fmt: skip
"""Name -> a number or several; nothing is told of an outcome that never occurs."""

ELSEWHERE = {
    "sibson",
    "arimoto",
    "renyi_entropy",
    "renyi_divergence",
    "conditioned",
    "tail_envelope",
    "envelope_quantile",
    "maximal_guesswork_leakage",
}
"""Measures with tests of their own, below or in a file; two are brackets, wide by what their programs allow."""


def variable(values: dv.results.Pointwise) -> list[float]:
    """Return what a random variable can be asked for."""
    asked = [values.max(), values.min(), values.mean(), values.moment(2), values.moment(0.5), values.variance()]
    return [*values, *asked, *map(values.quantile, (0, 0.3, 0.9, 1)), values.tail(0.3), values.cdf(0.3)]


ORDERS = [0, 1e-6, 0.01, 0.3, 0.5, 0.9, 1 - 1e-7, 1, 1 + 1e-7, 1.3, 2, 7.5, 40, 300, 1e6, math.inf]


def test_every_measure_has_its_accuracy_tested() -> None:
    public = [name for name in dv.measures.__all__ if not name.startswith("plot")]
    functions = {name for name in public if inspect.isfunction(getattr(dv.measures, name))}
    assert functions <= {name.partition(" ")[0] for name in MEASURES} | ELSEWHERE


def pair(seed: int) -> tuple[dv.Joint, dv.Joint]:
    """Return one joint in floats and in fractions: without zeros, with zeros, or of rows that are nearly alike."""
    rng = np.random.default_rng(seed)
    n, m = (int(v) for v in rng.integers(2, 10, size=2))
    return twins(rng, n, m, 0.3 * (seed % 3 == 1), shift=1 << int(rng.integers(10, 40)) if seed % 3 == 2 else None)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure(name: str) -> None:
    measure = MEASURES[name]
    for seed in range(few(18)):
        approximate, exact = pair(seed)
        assert exact.exact
        assert not approximate.exact
        sparse = dv.Joint(approximate.prior, dv.Channel(sp.csr_array(approximate.c)))
        truth = np.asarray(measure(exact), dtype=float)
        for joint in (approximate, sparse):
            found = np.asarray(measure(joint), dtype=float)
            assert found == pytest.approx(truth, rel=1e-12, abs=0, nan_ok=True), (seed, joint.channel.sparse)


def test_conditional_versions() -> None:
    for seed in range(few(30)):
        rng = np.random.default_rng(seed)
        outcomes = [(y, z) for y in range(3) for z in range(2)]
        shift = 1 << int(rng.integers(10, 40)) if seed % 3 == 2 else None
        joints = twins(rng, int(rng.integers(2, 6)), 6, 0.3 * (seed % 3 == 1), shift=shift)
        approximate, exact = (dv.Joint(j.prior, dv.Channel(j.channel, outcomes=outcomes)) for j in joints)
        for z in range(2):
            for measure in (dv.pml, dv.pmc):
                assert measure(approximate, given=z).to_dict() == measure(exact, given=z).to_dict()
            known, truth = dv.measures.conditioned(approximate, z), dv.measures.conditioned(exact, z)
            assert known.prior.floats == pytest.approx(truth.prior.floats, rel=1e-14, abs=0)
            assert known.c == pytest.approx(truth.channel.floats, rel=1e-14, abs=0)


@pytest.mark.thin
@pytest.mark.parametrize("order", ORDERS)
def test_every_order(order: float) -> None:
    rng = np.random.default_rng(13)
    for i in range(21):
        n, m = (int(v) for v in rng.integers(2, 8, size=2))
        approximate, exact = twins(rng, n, m, 0.3 * (i % 2), shift=1 << int(rng.integers(10, 40)) if i > 15 else None)
        sparse = dv.Joint(approximate.prior, dv.Channel(sp.csr_array(approximate.c)))
        for measure in (dv.sibson, dv.measures.arimoto):
            truth = measure(exact, order)
            assert measure(approximate, order) == pytest.approx(truth, rel=1e-12, abs=1e-280), measure
            assert measure(sparse, order) == pytest.approx(truth, rel=1e-12, abs=1e-280), measure
        truth = dv.measures.renyi_entropy(exact.prior, order)
        assert dv.measures.renyi_entropy(approximate.prior, order) == pytest.approx(truth, rel=1e-12, abs=0)
        for other in (1, n - 1):
            truth = dv.measures.renyi_divergence(*exact.c[[0, other]].tolist(), order)
            found = dv.measures.renyi_divergence(*approximate.c[[0, other]].tolist(), order)
            assert found == pytest.approx(truth, rel=1e-12, abs=0)


@pytest.mark.parametrize("order", [0.01, 0.3, 2])
def test_secrets_and_entries_whose_product_is_no_double(order: float) -> None:
    prior, rows = [0.25, 1e-207, 0.75], [[0.0, 1.0, 1e-199], [1e-187, 1e-190, 1.0], [0.75, 0.0, 0.25]]
    approximate, exact = dv.Joint(prior, rows), dv.Joint(list(map(F, prior)), [list(map(F, row)) for row in rows])
    assert dv.measures.arimoto(approximate, order) == pytest.approx(dv.measures.arimoto(exact, order), rel=1e-12, abs=0)


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
        assert (dv.sibson(joint, order), dv.measures.arimoto(joint, order)) == pytest.approx(
            [0.0 if abs(v) < 1e-50 else float(v) for v in wanted], rel=0, abs=0
        )
        assert dv.measures.renyi_entropy(joint.prior, order) == float(entropy)
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
        lambda: dv.measures.arimoto(joint, order, unit="furlongs"),
        lambda: dv.measures.renyi_entropy(sure, order, unit="furlongs"),
        lambda: dv.measures.renyi_divergence(sure, sure, order, unit="furlongs"),
        lambda: dv.measures.f_information(joint, unit="furlongs"),
        lambda: dv.measures.posterior_divergence(joint, "hellinger", unit="furlongs"),
    ):
        with pytest.raises(dv.DivulgeError, match="unit"):
            ask()


def test_a_function_that_is_nan_somewhere_is_refused() -> None:
    for joint in (
        dv.Joint([0.5, 0.5], [[0.0, 1.0], [0.5, 0.5]]),
        dv.Joint(["1/2", "1/2"], [["0", "1"], ["1/2", "1/2"]]),
    ):
        with pytest.raises(dv.DivulgeError, match="NaN"):
            dv.measures.f_information(joint, lambda u: u * np.log(u))


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


@pytest.mark.parametrize("order", ORDERS[1:])
@pytest.mark.parametrize("rest", [1e-9, 1e-20, 1e-280])
def test_entropies_of_one_who_is_nearly_certain(order: float, rest: float) -> None:
    """The likeliest secret has what the others leave, though that rounds to 1."""
    others = [F(rest), F(rest) / 4]
    exact = dv.measures.renyi_entropy([1 - sum(others), *others], order)
    found = dv.measures.renyi_entropy([float(1 - sum(others)), *map(float, others)], order)
    assert found == pytest.approx(exact, rel=1e-12, abs=0)


def test_extreme_entries_neither_overflow_nor_vanish() -> None:
    tiny = 1e-300
    channel = dv.Channel([[tiny, 1.0], [0.5, 0.5]])
    assert dv.ldp(channel) == pytest.approx(math.log(0.5) - math.log(tiny), rel=1e-15)
    assert dv.pmc((dv.Prior([0.5, 0.5]), channel)).max() == pytest.approx(math.log(0.25) - math.log(tiny), rel=1e-15)
    smallest = dv.Channel([[5e-324, 1.0], [0.5, 0.5]])
    assert dv.ldp(smallest) == pytest.approx(math.log(0.5) - math.log(5e-324), rel=1e-15)
    assert dv.lift_capacity(smallest) == math.inf
    rare = dv.Joint([1e-200, 1.0], [[1e-150, 1.0], [0.5, 0.5]])
    truth = dv.Joint([F(1e-200), 1 - F(1e-200)], [[F(1e-150), 1 - F(1e-150)], [F(1, 2), F(1, 2)]])
    ruled_out = dv.Joint(rare.prior, dv.Channel([[0.0, 1.0], [0.5, 0.5]]))
    for cost in (dv.Cost.zero_one(2), dv.Cost.power(range(2), 2)):
        assert (
            344
            < dv.adversaries.log_leakage(rare, cost, "max")
            == pytest.approx(dv.adversaries.log_leakage(truth, cost, "max"), rel=1e-12)
        )
        assert dv.adversaries.log_leakage(ruled_out, cost, "max") == math.inf
