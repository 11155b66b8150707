"""Protocols against their matrices, and against published numbers."""

import math
import pickle
from fractions import Fraction as F

import numpy as np
import pytest
from protocols.subjects import random_prior, random_protocol
from support import THOROUGH, few

import divulge as dv
from divulge.measures import bayes_vulnerability, lift_capacity, maximal_leakage
from divulge.protocols.information import h
from divulge.protocols.sets import geometry
from divulge.protocols.sets.transformed import walsh_hadamard

P = dv.protocols
MADE = [P.randomized_response, P.subset_selection, P.unary, P.local_hashing, P.hadamard, P.projective]
COUNTS = dv.Prior.from_counts([40, 20, 13, 10, 8, 7, 6, 5, 4, 4, 3, 3, 2])

TABLE = {
    "randomized response": (P.randomized_response(13, 1.0),
                            0.972878622901, 0.438158271490, 0.053737926290, 2.40093675212),
    "subsets of 4": (P.subset_selection(13, 1.0, size=4),
                     0.847317492669, 0.761244580477, 0.110882090965, 1.77816320562),
    "optimized unary": (P.unary(13, 1.0), 0.972878622901, 0.989834577786, 0.0990276458271, 1.8391196944),
    "projective": (P.projective(13, 1.0, field=3, dimension=3), 0.725278663878, 0.761244580477, 0.111307583953,
                   1.77816320562),
}  # fmt: skip
"""Protocol -> pml, pmc, mutual information, Bayes capacity of the counts above at epsilon 1, from brute force."""


@pytest.mark.parametrize("name", TABLE)
def test_values_that_are_known(name: str) -> None:
    protocol, *known = TABLE[name]
    found = [protocol.pml(COUNTS), protocol.pmc(COUNTS), protocol.mutual_information(COUNTS), protocol.bayes_capacity()]
    for got, want in zip(found, known, strict=True):
        assert float(got) == pytest.approx(want, rel=3e-12)


@pytest.mark.parametrize(
    ("protocol", "variance"),
    [
        (P.unary(9, 1.0), 3.682694),
        (P.unary(9, 1.0, symmetric=True), 3.917698),
        (P.local_hashing(9, 1.0, buckets=4), 3.691655),
        (P.hadamard(9, 1.0), 4.682694),
        (P.randomized_response(100, 1.0), 34.112969),
    ],
)
def test_variances_that_are_published(protocol: P.Protocol, variance: float) -> None:
    assert protocol.variance(0) == pytest.approx(variance, abs=6e-7)
    assert protocol.variance(0, n=10) == pytest.approx(protocol.variance(0) / 10)


def test_the_mean_squared_error_of_feldman_et_al() -> None:
    """Counts of 22,000 values at epsilon 5: 27.2754 of 1,000 reports and 272.754 of 10,000."""
    protocol = P.projective(22_000, 5.0, field=151, dimension=3)
    error = protocol.variance(F(1, 22_000), n=1)  # linear in the frequency, whose mean is 1/22,000
    assert error * 1000 == pytest.approx(27.2754, abs=5e-5)
    assert P.projective(22_953, 5.0).sets.inside == 152


@pytest.mark.parametrize("seed", range(60 if THOROUGH else 6))
def test_a_protocol_leaks_what_its_matrix_leaks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    prior, protocol = random_prior(rng, size), random_protocol(rng, size)
    channel = protocol.channel()
    pair, joint = (prior, protocol), dv.Joint(prior, channel)
    assert channel.exact
    for measure in (dv.pml, dv.pmc):
        assert measure(pair).max() == pytest.approx(measure(joint).max(), rel=1e-12, abs=1e-15)
        assert measure(pair, "bits") == pytest.approx(measure(pair) / math.log(2))
    if joint.exact:
        assert dv.lift(pair) == dv.lift(joint)
    assert float(dv.lip(pair)) == pytest.approx(dv.lip(joint), rel=1e-12, abs=1e-15)
    assert dv.alip(pair).lower == dv.pmc(pair)
    found = dv.mutual_information(pair)
    assert found.lower <= dv.mutual_information(joint) + 1e-15
    assert float(found) == pytest.approx(dv.mutual_information(joint), rel=1e-12, abs=1e-14)
    assert found >= dv.mutual_information(joint) - 1e-15
    assert bayes_vulnerability(pair) == pytest.approx(float(bayes_vulnerability(joint)), rel=1e-12)
    assert dv.bayes_capacity(protocol) == dv.bayes_capacity(channel)
    assert maximal_leakage(protocol) == maximal_leakage(channel)
    assert lift_capacity(protocol) == lift_capacity(channel) == protocol.ratio
    assert dv.ldp(protocol) == pytest.approx(dv.ldp(channel))
    assert protocol.ldp <= protocol.epsilon
    for kind in (dv.PML, dv.PMC, dv.LIP, dv.LDP):
        mine, matrix = kind.of(pair).epsilon, kind.of(joint).epsilon
        assert float(mine) == pytest.approx(float(matrix), rel=1e-12, abs=1e-12)
        assert kind(mine).holds_for(pair)
        assert not mine or not kind(float(mine) * (1 - 1e-9)).holds_for(pair)
    delta = dv.dp.delta_from_epsilon(channel, 0.2).value
    assert dv.dp.delta_from_epsilon(protocol, 0.2).value == pytest.approx(float(delta))


@pytest.mark.parametrize("seed", range(few(24, 12)))
def test_the_variance_is_that_of_the_matrix(seed: int) -> None:
    """P(report supports v | x) is p* at x = v and q* elsewhere, so each report is a coin of known variance."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    protocol = random_protocol(rng, size)
    channel = protocol.channel()
    names, _, members = protocol.sets.listed()
    assert len(names) == len(channel.outcomes)
    support = np.array([[sum(row[members[:, v]]) for v in range(size)] for row in channel.matrix])
    assert (support.diagonal() == protocol.p_star).all()
    assert (support[~np.eye(size, dtype=bool)] == protocol.q_star).all()


@pytest.mark.parametrize("seed", range(few(30, 12)))
def test_adversaries_come_from_the_structure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    protocol, prior = random_protocol(rng, size), random_prior(rng, size)
    if prior.support.sum() < 2:
        assert protocol.pml(prior) == protocol.pmc(prior) == 0
        return
    under, joint = protocol.under(prior), dv.Joint(prior, protocol.channel())
    for side, measure in (("pml", dv.pml), ("pmc", dv.pmc)):
        found = under.leakage(side)
        small = under.extremes(side)
        if found == 0:
            continue
        assert measure(small).max() == pytest.approx(found, rel=1e-12)
        lift = joint.channel.row(found.secret)[list(joint.outcomes).index(found.outcome)] / joint.outer[
            list(joint.outcomes).index(found.outcome)]  # fmt: skip
        assert abs(math.log(lift)) == pytest.approx(found, rel=1e-10)
        assert str(found.secret) in found.words
        assert pickle.loads(pickle.dumps(found)).ratio == found.ratio


@pytest.mark.parametrize(
    ("s", "t", "size"), [(2, 2, 3), (2, 4, 15), (3, 3, 13), (3, 3, 2), (5, 3, 31), (7, 2, 8), (3, 4, 40)]
)
def test_hyperplanes_are_those_of_projective_space(s: int, t: int, size: int) -> None:
    points = geometry.vectors(s, t, np.arange(geometry.points(s, t)))
    members = points @ points.T % s == 0
    weights = np.random.default_rng(0).random(len(points))
    assert geometry.hyperplane_sums(weights, s, t) == pytest.approx(members @ weights)
    assert (geometry.numbers_of(s, points * (s - 1) % s) == np.arange(len(points))).all()
    sets = P.projective(size, 1.0, field=s, dimension=t).sets
    assert (np.stack([sets.members(y) for y in range(sets.outcomes)]) == members[:, :size]).all()
    assert sets.empty == F(int((~members[:, :size].any(axis=1)).sum()), len(points))


def test_the_transform_of_hadamard() -> None:
    n = np.arange(64)
    signs = 1 - 2 * (np.bitwise_count(n[:, None] & n) % 2).astype(np.int64)
    weights = np.random.default_rng(1).integers(0, 1000, 64)
    assert (walsh_hadamard(weights) == signs @ weights).all()


def test_many_values_leak_within_the_bounds_of_few() -> None:
    """Ties, shares without a common denominator and many values: exact sets, brackets around a sum over counts."""
    n = 100_000 if THOROUGH else 1500
    shares = 1 / np.arange(1, n + 1) ** 1.1
    prior = dv.Prior(shares / shares.sum())
    for make in MADE:
        protocol = make(n, 1.5)
        pml, pmc = protocol.pml(prior), protocol.pmc(prior)
        assert 0 < pml <= protocol.ldp
        assert 0 < pmc <= protocol.ldp
        found = protocol.mutual_information(prior)
        assert 0 < found.lower <= found.upper <= min(protocol.ldp, math.log(n))
        assert found.upper - found.lower <= 2e-3 * found.upper
        assert float(dv.PML.of((prior, protocol)).epsilon) >= pml
    same = 100_000 if THOROUGH else 10_000
    uniform = P.hadamard(same, 1.5).pml(dv.Prior(np.full(same, 1 / same)))
    assert uniform == P.hadamard(same, 1.5).pml(dv.Prior.uniform(same))


@pytest.mark.parametrize("seed", range(few(12)))
def test_an_enclosed_information_holds_the_exact_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.zipf(1.6, 30).clip(max=300)
    prior, epsilon = dv.Prior.from_counts(counts.tolist()), float(rng.uniform(0.2, 4))
    exact = P.unary(30, epsilon).mutual_information(prior)
    assert exact.exact
    enclosed = P.unary(30, epsilon).mutual_information(dv.Prior(prior.floats))
    assert enclosed.lower <= exact * (1 + 1e-9)
    assert enclosed.upper >= exact.lower * (1 - 1e-9)


def test_small_terms_keep_their_digits() -> None:
    from mpmath import mp

    with mp.workdps(50):
        for w in (1 + 1e-9, 1 - 1e-4, 1 + 1e-3, 0.5, 0.25, 1.5, 3.0, 1e-12):
            want = mp.mpf(w) * mp.log(mp.mpf(w)) - mp.mpf(w) + 1
            assert float(h(np.array(w))) == pytest.approx(float(want), rel=1e-11)


@pytest.mark.parametrize(
    "make", [P.randomized_response, P.subset_selection, P.unary, P.local_hashing, P.hadamard, P.projective]
)
@pytest.mark.parametrize(
    ("values", "epsilon", "named"),
    [(1, 1.0, "values"), (2**31 + 1, 1.0, "values"), (10**30, 1.0, "values"), (-3, 1.0, "values"),
     (["a", "a"], 1.0, "secrets|values"), (5, 0.0, "epsilon"),
     (5, 700.0, "epsilon"), (5, 1e-300, "epsilon"), (5, math.nan, "epsilon"), (5, -1.0, "epsilon"),
     (True, 1.0, "values"), ("abc", 1.0, "values")],
)  # fmt: skip
def test_bad_input_has_one_message(make, values, epsilon: float, named: str) -> None:
    with pytest.raises(dv.DivulgeError, match=f"`({named})` must"):
        make(values, epsilon)


def test_what_is_too_large_is_said_at_once() -> None:
    with pytest.raises(dv.DivulgeError, match="closed forms"):
        P.unary(64, 1.0).channel()
    with pytest.raises(dv.DivulgeError, match="be a prime"):
        P.projective(5, 1.0, field=4)
    with pytest.raises(dv.DivulgeError, match="at least 100 points"):
        P.projective(100, 1.0, field=3, dimension=3)
    with pytest.raises(dv.DivulgeError, match="both go in as one argument"):
        dv.PML(1).holds_for(P.hadamard(5, 1.0))
    with pytest.raises(dv.LabelError):
        P.hadamard(["a", "b"], 1.0).pml({"a": 0.5, "c": 0.5})
    assert P.randomized_response(2**31, 1.0).variance(0) > 0
    assert P.local_hashing(2**31, 1.0).bits == 194.0  # three words of seed, and 4 buckets


@pytest.mark.parametrize("make", MADE)
def test_a_prior_that_is_missing_or_too_much_is_said_or_left_aside(make) -> None:
    protocol = make(5, 1.0)
    pair = (dv.Prior.uniform(5), protocol)
    for measure in (dv.pml, dv.pmc, dv.lift, dv.lip, dv.alip, dv.mutual_information, bayes_vulnerability):
        with pytest.raises(dv.DivulgeError, match="both go in as one argument"):
            measure(protocol)
    for measure in (dv.ldp, dv.bayes_capacity, maximal_leakage, lift_capacity):
        assert measure(pair) == measure(protocol)


@pytest.mark.parametrize(("size", "epsilon"), [(70_000, 11.0), (10**6, 13.5), (2**31, 21.0), (10**6, 40.0)])
def test_a_capacity_over_many_values_is_never_below_itself(size: int, epsilon: float) -> None:
    import flint

    protocol = P.unary(size, epsilon)
    with flint.ctx.workprec(200):
        q = flint.arb(flint.fmpq(protocol.q.numerator, protocol.q.denominator))
        a, b = (flint.arb(flint.fmpq(v.numerator, v.denominator)) for v in (protocol.a, protocol.b))
        exactly = a - (a - b) * (1 - q) ** size
        found = protocol.bayes_capacity()
        assert flint.arb(flint.fmpq(found.numerator, found.denominator)) >= exactly
    assert float(found) == pytest.approx(float(exactly), rel=1e-6)


@pytest.mark.parametrize("make", MADE)
def test_the_worst_adversaries_over_many_values_are_made_explicit(make) -> None:
    shares = 1 / np.arange(1, 3001)
    pair = (dv.Prior(shares / shares.sum()), make(3000, 1.0))
    gain, cost = dv.worst_gain(pair), dv.worst_function(pair)
    assert math.log(gain.after / gain.before) == pytest.approx(dv.pml(pair), rel=1e-9)
    assert math.log(cost.before / cost.after) == pytest.approx(dv.pmc(pair), rel=1e-9)


def test_small_protocols_go_where_channels_go() -> None:
    protocol = P.randomized_response(["a", "b", "c"], 1.0)
    assert dv.Channel(protocol).shape == (3, 3)
    prior = dv.Prior(["1/2", "1/4", "1/4"], ["a", "b", "c"])
    assert dv.sibson((prior, protocol), 2) == pytest.approx(dv.sibson(dv.Joint(prior, protocol.channel()), 2))
    assert dv.worst_gain((prior, protocol)).outcome in {"b", "c"}
    assert dv.compose(protocol, protocol).pure_epsilon == pytest.approx(2.0)
