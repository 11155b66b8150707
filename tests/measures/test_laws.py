"""Relations that hold for every mechanism, on random joints with zeros, float and exact."""

import inspect
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support import few, joints, random_channel, random_joint, random_prior

import divulge as dv
from divulge.measures.numeric.bracket import Bracket

SLACK = 1e-11
FEW = settings(max_examples=few(40), deadline=None)


@FEW
@given(joints())
def test_order_of_the_measures(joint: dv.Joint) -> None:
    pml, pmc = dv.pml(joint), dv.pmc(joint)
    assert pml.min() >= 0
    assert pmc.min() >= 0
    chain = [dv.mutual_information(joint), pml.mean(), dv.maximal_leakage(joint)]
    assert all(low <= high + SLACK for low, high in pairwise(chain))
    assert dv.lift(joint) <= dv.lift_capacity(joint) * (1 + SLACK)
    assert pmc.mean() <= pmc.max() + SLACK
    if joint.prior.support.all():
        assert dv.maximal_leakage(joint) <= pml.max() + SLACK
        assert dv.bayes_capacity(joint) <= dv.lift(joint) * (1 + SLACK)
        assert dv.maximal_cost_leakage(joint) <= pmc.mean() + SLACK
        assert dv.ldp(joint) <= pmc.max() + pml.max() + SLACK
    assert math.exp(dv.ldp(joint)) == pytest.approx(float(dv.lift_capacity(joint)), rel=1e-12)
    assert dv.maximal_leakage(joint) == pytest.approx(dv.sibson(dv.Joint.from_matrix(_uniform(joint)), math.inf))
    assert dv.lip(joint) == max(dv.alip(joint).lower, dv.alip(joint).upper)
    assert (
        dv.measures.maximal_realizable_cost(joint)
        == pmc.max()
        == dv.measures.pointwise_maximal_guesswork_leakage(joint).max()
    )


def _uniform(joint: dv.Joint) -> np.ndarray:
    return joint.channel.floats / len(joint.secrets)


@FEW
@given(joints())
def test_lift_averages_to_one_and_exponential_mean_of_pml(joint: dv.Joint) -> None:
    x, y = np.flatnonzero(joint.prior.support), np.flatnonzero(joint.occurring)
    lift = joint.lift[np.ix_(x, y)]
    assert (joint.p[x] @ lift).astype(float) == pytest.approx(np.ones(len(y)))
    pml = dv.pml(joint)
    assert math.log(float(pml.probabilities @ np.exp(pml.values))) == pytest.approx(
        dv.sibson(joint, math.inf), abs=1e-12
    )


@FEW
@given(joints(max_n=4, max_m=4))
def test_post_processing_never_raises_and_pre_processing_never_raises(joint: dv.Joint) -> None:
    rng = np.random.default_rng(len(joint.outcomes) * 7 + len(joint.secrets))
    post = random_channel(rng, len(joint.outcomes), 3, exact=joint.exact, zeros=0.3)
    after = dv.Joint(joint.prior, joint.channel.then(post))
    for measure in (dv.ldp, dv.bayes_capacity, dv.maximal_leakage, dv.maximal_cost_leakage):
        assert measure(after) <= measure(joint) * (1 + SLACK) + SLACK
    for measure in (
        dv.lip,
        dv.lift,
        dv.mutual_information,
        dv.measures.min_entropy_leakage,
        dv.measures.maximal_realizable_cost,
    ):
        assert measure(after) <= measure(joint) * (1 + SLACK) + SLACK
    assert dv.pml(after).max() <= dv.pml(joint).max() + SLACK
    for f in ("kl", "chi-squared", "total-variation", "hellinger", "le-cam", "jensen-shannon"):
        assert dv.measures.f_information(after, f) <= dv.measures.f_information(joint, f) * (1 + SLACK) + SLACK
    source = random_channel(rng, 3, len(joint.secrets), exact=joint.exact)
    mixture = random_prior(rng, 3, exact=joint.exact)
    known = dv.Joint(mixture, source)
    first, second = known.outer, joint.channel
    through = dv.Joint(mixture, dv.Channel(source.matrix, outcomes=joint.secrets).then(second))
    ordinary = dv.Joint(dv.Prior(first, joint.secrets), second)
    assert (dv.pml(through).values <= dv.pml(ordinary).values + SLACK).all()
    assert (dv.pmc(through).values <= dv.pmc(ordinary).values + SLACK).all()


@FEW
@given(joints(max_n=3, max_m=3, zeros=0.0), joints(max_n=3, max_m=3, zeros=0.0))
def test_independent_secrets_add(first: dv.Joint, second: dv.Joint) -> None:
    prior = np.multiply.outer(first.prior.floats, second.prior.floats).ravel()
    both = dv.Joint(
        dv.Prior(prior, first.channel.product(second.channel).secrets), first.channel.product(second.channel)
    )
    for measure in (dv.pml, dv.pmc):
        expected = np.add.outer(measure(first).values, measure(second).values).ravel()
        assert measure(both).values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("exact", [False, True])
def test_independence_leaks_exactly_nothing(exact: bool) -> None:
    rng = np.random.default_rng(3)
    row = random_prior(rng, 7, exact=exact).probabilities.tolist()
    joint = dv.Joint(random_prior(rng, 5, exact=exact), [row] * 5)
    profile = dv.profile(joint)
    for name in ("ldp", "maximal_leakage", "mutual_information", "lip", "mean_pml", "mean_pmc", "min_entropy_leakage"):
        assert getattr(profile, name) == pytest.approx(0.0, abs=1e-15), name
    assert dv.pml(joint).max() == dv.pmc(joint).max() == dv.ldp(joint) == 0.0


@FEW
@given(joints(max_n=4, max_m=4))
def test_relabelling_and_idle_letters_change_nothing(joint: dv.Joint) -> None:
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(joint.secrets)), rng.permutation(len(joint.outcomes))
    zero = joint.c[:, :1] * 0
    shuffled = dv.Joint(dv.Prior(joint.p[rows]), dv.Channel(np.hstack([joint.c[rows][:, columns], zero[rows]])))
    for measure in (dv.lift, dv.lip, dv.ldp, dv.bayes_capacity, dv.mutual_information, dv.measures.min_entropy_leakage):
        assert measure(shuffled) == pytest.approx(measure(joint), rel=1e-12, abs=1e-13)
    never = np.vstack([joint.c, joint.c[:1]])
    longer = dv.Joint(dv.Prior([*joint.p.tolist(), joint.p[0] * 0]), dv.Channel(never))
    for measure in (dv.lift, dv.lip, dv.mutual_information, dv.measures.min_entropy_leakage, dv.bayes_capacity):
        assert measure(longer) == pytest.approx(measure(joint), rel=1e-12, abs=1e-13)


def test_pmc_is_concave_in_the_prior() -> None:
    rng = np.random.default_rng(2)
    for _ in range(few(30)):
        channel = random_channel(rng, 4, 3)
        p, q = (random_prior(rng, 4).floats for _ in range(2))
        share = rng.random()
        mixed = dv.pmc((dv.Prior(share * p + (1 - share) * q), channel)).values
        ends = [dv.pmc((dv.Prior(prior), channel)).values for prior in (p, q)]
        assert (mixed >= share * ends[0] + (1 - share) * ends[1] - SLACK).all()


def test_mixtures_of_mechanisms_leak_at_most_the_larger() -> None:
    rng = np.random.default_rng(4)
    for _ in range(few(30)):
        prior, share = random_prior(rng, 4), rng.random()
        first, second = (random_channel(rng, 4, 3) for _ in range(2))
        mixed = dv.Channel(share * first.matrix + (1 - share) * second.matrix)
        for measure in (dv.pml, dv.pmc):
            larger = np.maximum(measure((prior, first)).values, measure((prior, second)).values)
            assert (measure((prior, mixed)).values <= larger + SLACK).all()


@FEW
@given(joints(max_n=5, max_m=5))
def test_orders_rise_and_meet_their_limits(joint: dv.Joint) -> None:
    orders = [0, 0.1, 0.6, 0.999999, 1, 1.000001, 2, 10, 1e4, math.inf]
    for family in (dv.sibson, dv.measures.arimoto):
        values = [family(joint, order) for order in orders]
        if family is dv.sibson:
            assert all(a <= b + 1e-9 for a, b in pairwise(values))
        assert values[3] == pytest.approx(values[4], abs=1e-4)
        assert values[5] == pytest.approx(values[4], abs=1e-4)
        assert values[-2] == pytest.approx(values[-1], abs=2e-3)
    assert dv.sibson(joint, 1e-7) == pytest.approx(dv.sibson(joint, 0), abs=1e-5)
    uniform = dv.Joint(dv.Prior.uniform(len(joint.secrets)), joint.channel)
    assert dv.measures.maximal_alpha_leakage(joint.channel, 1e3) == pytest.approx(dv.maximal_leakage(joint), abs=5e-3)
    assert dv.measures.maximal_alpha_leakage(joint.channel, 2) >= dv.sibson(uniform, 2) - 1e-9


def test_each_measure_answers_in_bits() -> None:
    """Every public function of the measures that has a unit, found by its signature."""
    joint = random_joint(np.random.default_rng(8), 4, 5)
    given = {
        "joint": joint, "channel": joint.channel, "prior": joint.prior, "mechanism": joint,
        "p": joint.prior, "q": dv.Prior.uniform(4), "order": 2.0,
    }  # fmt: skip
    asked = 0
    for name in dv.measures.__all__:
        function = getattr(dv.measures, name)
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        if "unit" not in parameters or name in ("tail_envelope", "envelope_quantile", "plot_pointwise"):
            continue
        wanted = {key: given[key] for key, found in parameters.items() if found.default is found.empty}
        nats, bits = (function(**wanted, unit=unit) for unit in ("nats", "bits"))
        for ours, theirs in zip(_numbers(nats), _numbers(bits), strict=True):
            assert theirs == pytest.approx(ours / math.log(2), rel=1e-13), name
        asked += 1
    assert asked >= 20
    threshold = 0.25
    bits = dv.tail_envelope(joint, threshold / math.log(2), unit="bits")
    assert bits.upper == pytest.approx(dv.tail_envelope(joint, threshold).upper, abs=1e-9)


def _numbers(found: Any) -> list[float]:
    """Return the logarithmic numbers of a result."""
    if isinstance(found, dv.results.Pointwise):
        return found.values.tolist()
    if isinstance(found, dv.results.DensityBounds | Bracket):
        return [found.lower, found.upper]
    if isinstance(found, dv.results.Capacity):
        return [found.value, found.lower, found.upper]
    if isinstance(found, dv.results.Profile):
        names = ("ldp", "maximal_leakage", "maximal_cost_leakage", "lip", "mean_pml", "mean_pmc", "mutual_information",
                 "min_entropy_leakage", "maximal_realizable_cost")  # fmt: skip
        return [getattr(found, name) for name in names] + _numbers(found.capacity)
    return [found]


@FEW
@given(joints())
def test_pairs_of_epsilon_and_delta_are_the_tail(joint: dv.Joint) -> None:
    for variable in (dv.pml(joint), dv.pmc(joint)):
        pairs = variable.pairs()
        assert (np.diff(pairs[:, 0]) > 0).all()
        assert pairs[-1].tolist() == [variable.max(), 0.0]
        for epsilon, delta in pairs.tolist():
            assert delta == pytest.approx(variable.tail(epsilon), abs=1e-15)
            assert variable.epsilon(min(delta * (1 + 1e-12), 1.0)) <= max(epsilon, 0.0)
        for delta in (0.0, 1e-20, 0.1, 0.5, 1.0):
            assert variable.tail(variable.epsilon(delta)) <= delta
        assert variable.epsilon(0) == variable.max()
        with pytest.raises(dv.DivulgeError, match="delta"):
            variable.epsilon(math.nan)
