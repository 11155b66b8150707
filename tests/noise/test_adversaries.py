"""Conditional leakage, explicit adversaries and envelopes of noise mechanisms, each against its definition."""

import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from support import THOROUGH, few

import divulge as dv
from divulge.noise.answers.merged import envelope_bracket, threshold_bracket
from divulge.noise.laws.law import SIDES

THREE = "values(0:0.25, 1:0.25, 5:0.5)"


def test_conditional_leakage_is_that_of_the_records_left_possible() -> None:
    m = dv.NoiseMechanism("laplace", THREE, scale=1.0)
    assert m.given((0, 1)).pml(9.0) == pytest.approx(-math.log((1 + math.exp(-1)) / 2), rel=1e-14)
    y, evidence = 2.0, {0: 0.5, 5: 0.1}
    p = np.array([0.25 * 0.5, 0.0, 0.5 * 0.1])
    f = np.exp(-np.abs(y - np.array([0.0, 1.0, 5.0])))
    outcome = p / p.sum() @ f
    told = m.given(evidence)
    assert told.pml(y) == pytest.approx(math.log(max(f[0], f[2]) / outcome), rel=1e-13)
    assert told.pmc(y) == pytest.approx(math.log(outcome / min(f[0], f[2])), rel=1e-13)
    assert m.given(lambda x: 0.5 if x < 3 else 0.1).secret.probabilities == pytest.approx(
        [0.125 / 0.3, 0.125 / 0.3, 0.05 / 0.3]
    )


def test_two_outcomes_about_one_record_compose_by_conditional_leakage() -> None:
    """i(x; y, z) = i(x; z) + i(x; y | z), so that the leakage of both is at most the sum, reached by one record."""
    m = dv.NoiseMechanism("gaussian", THREE, scale=2.0)
    z, y = 0.4, 3.0
    later = m.given((m, z))
    x, p = np.array([0.0, 1.0, 5.0]), np.array([0.25, 0.25, 0.5])
    both = stats.norm.pdf(y, x, 2) * stats.norm.pdf(z, x, 2)
    together = np.log(both / (p @ both))
    assert together.max() <= m.pml(z) + later.pml(y) + 1e-12
    assert -together.min() <= m.pmc(z) + later.pmc(y) + 1e-12
    posterior = np.log(later.posterior(y).floats / p)
    assert posterior == pytest.approx(together, rel=1e-12)


def test_evidence_about_one_of_several_records_leaves_the_others() -> None:
    m = dv.NoiseMechanism("gaussian", "values(0:0.3, 1:0.7)", scale=0.3, records=3)
    told = m.given({0: 0.2, 1: 0.9})
    p = np.array([0.3 * 0.2, 0.7 * 0.9])
    p /= p.sum()
    given = [sum(stats.binom.pmf(k, 2, 0.7) * stats.norm.pdf(0.4, (x + k) / 3, 0.3) for k in range(3)) for x in (0, 1)]
    assert told.pml(0.4) == pytest.approx(math.log(max(given) / (p @ given)), rel=1e-12)
    assert pickle.loads(pickle.dumps(told)).pmc(0.4) == told.pmc(0.4)
    uniform = dv.NoiseMechanism("laplace", "uniform(0, 4)", scale=1.0).given((1, 2))
    assert uniform.pml(1.5) == pytest.approx(dv.NoiseMechanism("laplace", "uniform(1, 2)", scale=1.0).pml(1.5))
    normal = dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).given((0, 3))
    outcome = integrate.quad(lambda x: stats.norm.pdf(x) * stats.norm.pdf(0.5 - x), 0, 3)[0] / (stats.norm.cdf(3) - 0.5)
    assert normal.pml(0.5) == pytest.approx(math.log(stats.norm.pdf(0) / outcome), rel=1e-9)


@pytest.mark.parametrize("evidence", [(2, 1), {7: 1.0}, {0: 2.0}, 3, (7.5, 8)])
def test_impossible_evidence_is_refused(evidence: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="evidence"):
        dv.NoiseMechanism("laplace", THREE, scale=1.0).given(evidence)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("kind", "secret", "more"),
    [
        ("laplace", THREE, {}),
        ("gaussian", THREE, {"records": 2}),
        ("gaussian", "uniform(0, 1)", {}),
        ("logistic", "beta(2, 3)", {}),
        ("laplace", "normal(0, 1)", {"clip": (-1, 1)}),
        ("laplace", "uniform(0, 1)", {"records": 2}),
        ("gaussian", "normal(0, 1)", {}),
    ],
)
def test_the_adversary_attains_the_leakage(kind: str, secret: str, more: dict[str, Any], side: Any) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=0.7, **more)
    for y in (0.3, 1.9):
        bet, leak = m.adversary(y, side, within=1e-2), m.pml(y) if side == "pml" else m.pmc(y)
        assert bet.leakage <= leak + 1e-6  # no bet beats it
        assert bet.leakage >= (10.0 if math.isinf(leak) else leak - 1e-2)
        if side == "pmc":  # the last symbol is what they say: before, and after
            assert (1 - bet.before) * bet.symbols >= bet.before * (1 - 1e-12)
            assert (1 - bet.after) * bet.symbols >= bet.after * (1 - 1e-12)
        assert bet.words.startswith("bets on" if side == "pml" else "bets against")


def test_a_bet_has_the_probabilities_it_says() -> None:
    m = dv.NoiseMechanism("gaussian", "uniform(0, 1)", scale=0.5)
    bet = m.adversary(0.3, "pmc", within=0.2)
    weight = lambda low, high: stats.norm.cdf(high, 0.3, 0.5) - stats.norm.cdf(low, 0.3, 0.5)  # noqa: E731
    assert bet.before == pytest.approx(bet.high - bet.low, rel=1e-12)
    assert bet.after == pytest.approx(weight(bet.low, bet.high) / weight(0, 1), rel=1e-10)


@pytest.mark.thin
@pytest.mark.parametrize("threshold", [0.5, 1.0, 1.19])
def test_the_envelope_of_one_witness_is_neyman_and_pearsons(threshold: float) -> None:
    """Between log 1/0.7 and log 1/0.3 the value 1 alone can be a witness: the largest {y >= c} that keeps its ratio."""
    m = dv.NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0)

    def surplus(c: float) -> float:
        one = stats.norm.sf(c - 1)
        return float(one - math.exp(threshold) * (0.3 * one + 0.7 * stats.norm.sf(c)))

    c = optimize.brentq(surplus, -1.0, 12.0, xtol=1e-14)
    found = m.tail_envelope(threshold)
    exact = 0.3 * stats.norm.sf(c - 1) + 0.7 * stats.norm.sf(c)
    assert found.certified
    assert abs(found.value - exact) <= found.error + 1e-13
    assert found.error <= 1e-8
    assert m.tail(threshold).value < found.value
    if threshold == 0.5 or THOROUGH:
        inverse = m.envelope_threshold(found.value)
        assert inverse.value - inverse.error - 1e-6 <= threshold <= inverse.value + 1e-6
        assert inverse.error <= 1e-6  # a threshold is not looked for less closely than its tail can be told


@settings(max_examples=few(8), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["laplace", "gaussian", "logistic"]))
def test_no_binning_exceeds_the_envelope(seed: int, kind: str) -> None:
    """Tails of binned outcomes, of bins merged at random, and the envelope of the bins as the finite world finds it."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    values, p = np.sort(rng.normal(size=size)).round(6).tolist(), rng.dirichlet(np.ones(size))
    m = dv.NoiseMechanism(kind, dv.Prior(p, values), scale=float(10 ** rng.uniform(-0.7, 0.7)))
    threshold = float(rng.uniform(0.05, 1.0) * m.pml_supremum.value)
    found = m.tail_envelope(threshold)
    assert -1e-15 <= found.value - found.error <= found.value + found.error <= 1 + 1e-12
    joint = m.binned(np.linspace(m.law.low - 8 * m.noise.scale, m.law.high + 8 * m.noise.scale, 100))
    finite = dv.tail_envelope(joint, threshold)
    assert finite.lower <= found.value + found.error + 2e-7  # HiGHS
    assert found.value - found.error <= finite.upper + 0.05
    for _ in range(5):
        merged = np.zeros((size, 6))
        bins = joint.channel.floats * p[:, None]
        np.add.at(merged.T, rng.integers(0, 6, bins.shape[1]), bins.T)
        q = merged.sum(axis=0)
        leak = np.log((merged / p[:, None]).max(axis=0) / q)
        assert q[leak >= threshold + 1e-9].sum() <= found.value + found.error + 1e-9


def test_the_envelope_falls_and_ends() -> None:
    m = dv.NoiseMechanism("gaussian", "values(0:0.2, 1:0.5, 3:0.3)", scale=2.0)
    found = [m.tail_envelope(t) for t in ((0.0, 0.4, 0.8, 1.2, 1.7) if THOROUGH else (0.0, 0.6, 1.2, 1.7))]
    assert found[0].value == 1.0
    assert found[-1].value == 0.0  # above log 1/0.2
    assert all(a.value + a.error >= b.value - b.error for a, b in pairwise(found))
    with pytest.raises(dv.DivulgeError, match="bin it"):
        dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).tail_envelope(0.5)
    assert m.envelope_threshold(1.0).value == 0.0


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "logistic"])
@pytest.mark.parametrize("threshold", [0.2, 0.9])
def test_the_bound_of_mean_ratios_lies_above_the_envelope_of_programs(kind: str, threshold: float) -> None:
    m = dv.NoiseMechanism(kind, "values(0:0.2, 1:0.5, 3:0.3)", scale=1.5)
    exact, bracket = m.tail_envelope(threshold), envelope_bracket(m, threshold)
    assert bracket.upper >= exact.value - exact.error - 1e-12
    assert bracket.lower <= exact.value + exact.error + 1e-12
    exact, bracket = m.envelope_threshold(threshold / 2), threshold_bracket(m, threshold / 2)
    assert bracket.value >= exact.value - exact.error - 1e-9
    assert bracket.value - bracket.error <= exact.value + 1e-9


@pytest.mark.parametrize(
    ("kind", "secret", "records"),
    [
        ("laplace", "uniform(-1, 1)", 1),
        pytest.param("gaussian", "uniform(-1, 1)", 1, marks=pytest.mark.long),
        ("student-t", "bernoulli(0.5)", 1),
    ],
)
def test_no_merging_exceeds_the_envelope_of_other_bounded_records(kind: str, secret: str, records: int) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=0.7, records=records)
    law = {"laplace": stats.laplace, "gaussian": stats.norm, "student-t": stats.t(3)}[kind]
    values = np.linspace(m.secret.low, m.secret.high, 401 if m.secret.values is None else 2)
    edges = np.concatenate([[-np.inf], np.linspace(-6, 6, 81), [np.inf]])
    cells = np.diff(law.cdf((edges - values[:, None]) / 0.7), axis=1)  # P(cell | x); of a density by Simpson's rule
    weights = np.full(2, 0.5)
    if len(values) > 2:
        weights = np.array([1.0, *np.tile([4.0, 2.0], 199), 4.0, 1.0]) / 1200
    q, rng = weights @ cells, np.random.default_rng(5)
    ratio = cells.max(axis=0) / q
    for threshold in (0.4, 0.8):
        found = m.tail_envelope(threshold)
        assert 0 <= found.lower <= found.upper <= 1 + 1e-12
        for _ in range(200):
            # a few rich cells, each with a share of poor ones
            after = rng.dirichlet(np.full(4, 0.1), size=len(q)) * (
                rng.random((len(q), 1)) < 0.9 + 0.1 * (ratio > 1.2)[:, None]
            )
            merged = cells @ after
            mass = weights @ merged
            top = merged.max(axis=0) >= np.exp(threshold) * (1 + 1e-6) * mass
            assert mass[top].sum() <= found.upper + 1e-6
    held = m.envelope_threshold(0.1)
    assert held.error >= 0
    assert m.tail(held.value * (1 + 1e-6) + 1e-9).value <= 0.1 + 1e-6


def test_an_envelope_of_a_density_costs_little_and_falls() -> None:
    m = dv.NoiseMechanism("gaussian", "uniform(-1, 1)", scale=1.0)
    found = [m.tail_envelope(t) for t in ((0.0, 0.3, 0.6, 1.0, 2.0) if THOROUGH else (0.0, 0.6, 2.0))]
    assert all(a.upper >= b.upper - 1e-9 for a, b in pairwise(found))
    assert found[0].value == 1.0
    assert found[-1].upper < 0.01
    assert not found[len(found) // 2].certified
