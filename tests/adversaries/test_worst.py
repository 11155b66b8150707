"""No adversary beats the measures, and the witnesses attain them."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import RUNNING_CHANNEL, RUNNING_PRIOR, few, joints, random_joint

import divulge as dv

ADVERSARIES_PER_JOINT = 250


def posterior_columns(joint: dv.Joint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (prior, posteriors, q) of the outcomes that occur, in floats, from the definitions."""
    p, c = joint.prior.floats, joint.channel.floats
    q = p @ c
    seen = q > 0
    return p, p[:, None] * c[:, seen] / q[seen], q[seen]


def test_ten_thousand_random_adversaries_never_beat_the_measures() -> None:
    rng = np.random.default_rng(31)
    count = 0
    while count < 10_000:
        n, m = (int(v) for v in rng.integers(1, 7, size=2))
        joint = random_joint(rng, n, m, zeros=float(rng.choice([0.0, 0.3, 0.6])))
        p, d, q = posterior_columns(joint)
        shape = (ADVERSARIES_PER_JOINT, int(rng.integers(1, 6)), n)
        payoffs = np.exp(rng.normal(0, 3, size=shape)) * (rng.random(shape) > rng.choice([0.0, 0.3, 0.7]))
        before, after = (payoffs @ p).max(axis=1), (payoffs @ d).max(axis=1)
        some = before > 0
        gains = after[some] / before[some, None]
        assert (gains <= np.exp(dv.pml(joint).values + 1e-12)).all()
        assert (gains.max(axis=1) <= dv.lift(joint) * (1 + 1e-12)).all()
        assert (gains @ q <= dv.bayes_capacity(joint.channel) * (1 + 1e-12)).all()
        assert (gains @ q <= gains.max(axis=1) * (1 + 1e-12)).all()
        assert dv.lift(joint) <= dv.lift_capacity(joint.channel) * (1 + 1e-12)
        before, after = (payoffs @ p).min(axis=1), (payoffs @ d).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            costs = np.log(np.where(before[:, None] == 0, 1.0, before[:, None] / after))
        assert (costs <= dv.pmc(joint).values + 1e-12).all()
        count += ADVERSARIES_PER_JOINT


@settings(max_examples=few(60), deadline=None)
@given(joints(exact=False))
def test_witnesses_attain_pml_and_pmc(joint: dv.Joint) -> None:
    pml, pmc = dv.pml(joint), dv.pmc(joint)
    for y in pml.outcomes:
        assert dv.worst_gain(joint, y).log() == pytest.approx(pml[y], abs=1e-12)
        assert dv.worst_function(joint, y).log() == pytest.approx(pmc[y], rel=1e-12, abs=1e-12)
    assert dv.worst_gain(joint).leakage == pytest.approx(dv.lift(joint), rel=1e-12)
    assert dv.leakage(joint, dv.worst_gain(joint), case="max") == pytest.approx(dv.lift(joint), rel=1e-12)
    assert dv.worst_function(joint).log() == pytest.approx(pmc.max(), rel=1e-12, abs=1e-12)


@settings(max_examples=few(40), deadline=None)
@given(joints(exact=True), st.integers(1, 3))
def test_witnesses_attain_exactly(joint: dv.Joint, k: int) -> None:
    for j in np.flatnonzero(joint.occurring):
        y, column = joint.outcomes[j], [c for c, p in zip(joint.c[:, j], joint.p, strict=True) if p > 0]
        gain, function, fewer = dv.worst_gain(joint, y), dv.worst_function(joint, y), dv.worst_function(joint, y, k)
        assert gain.before == 1
        assert gain.after == max(column) / joint.outer[j]
        assert type(gain.leakage) is F
        least = min(column) / joint.outer[j]
        assert function.leakage == fewer.leakage == (math.inf if least == 0 else 1 / least)
        assert function.function is not None
        assert dv.leakage(joint, function.function.risk_averse, outcome=y) == function.leakage


def test_the_number_of_symbols_is_the_smallest() -> None:
    joint = dv.Joint(["9/10", "1/10"], [["1/5", "4/5"], ["4/5", "1/5"]])
    witness = dv.worst_function(joint, 0)
    assert witness.function is not None
    assert len(witness.function.symbols) == 10
    row = witness.function.kernel.matrix[0].tolist()
    assert row == [F(1, 9)] * 9 + [0]
    for k, attains in [(8, False), (9, True)]:
        guessed = dv.adversaries.RandomizedFunction.spread(np.array([F(1), F(0)], dtype=object), k)
        assert (dv.leakage(joint, guessed.risk_averse, outcome=0) == witness.leakage) is attains


def test_a_prior_near_one_needs_no_large_function() -> None:
    joint = dv.Joint([1 - 1e-9, 1e-9], [[0.2, 0.8], [0.8, 0.2]])
    witness = dv.worst_function(joint, 0)
    assert witness.function is not None
    assert len(witness.function.symbols) == 1001
    assert witness.log() == pytest.approx(dv.pmc(joint)[0], rel=1e-7)
    exact = dv.Joint([1 - F(1, 10**9), F(1, 10**9)], [["1/5", "4/5"], ["4/5", "1/5"]])
    assert dv.worst_function(exact, 0).log() == dv.pmc(exact)[0]


def test_infinite_cost_is_attained_by_two_symbols() -> None:
    joint = dv.Joint(["99/100", "1/100"], [["0", "1"], ["1", "0"]])
    witness = dv.worst_function(joint, 0)
    assert witness.function is not None
    assert len(witness.function.symbols) == 2
    assert (witness.after, witness.leakage) == (0, math.inf)
    assert witness.before > 0
    assert "rules out 0" in witness.words


@settings(max_examples=few(40), deadline=None)
@given(joints())
def test_prior_sequence_and_bayes_capacity(joint: dv.Joint) -> None:
    channel = joint.channel
    priors = dv.adversaries.lift_capacity_priors(channel)
    assert priors.limit == dv.lift_capacity(channel)
    reached = [priors.leakage(n) for n in (2, 10, 10**6)]
    slack = 1 if channel.exact else 1 + 1e-12
    assert reached[0] <= reached[1] * slack <= reached[2] * slack**2 <= priors.limit * slack**3
    if priors.limit < 1e4:
        assert float(reached[2]) == pytest.approx(float(priors.limit), rel=2e4 * 1e-6)
    assert priors.prior(3).support.all()
    average = dv.adversaries.worst_average(channel)
    assert float(average.leakage) == pytest.approx(float(dv.bayes_capacity(channel)), rel=1e-12)
    assert not channel.exact or average.leakage == dv.bayes_capacity(channel)


def test_words() -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    assert dv.worst_gain(joint, "b").words == "sees b, guesses bg; right 1.73 times as often as without it"
    assert dv.worst_function(joint, "g").words == "sees g, bets against bg; wrong 9 times less often than without it"
    silent = dv.Joint([0.5, 0.5], [[1.0], [1.0]])
    assert "learns nothing" in dv.worst_gain(silent).words
    assert "learns nothing" in dv.worst_function(silent).words


@pytest.mark.parametrize("seed", range(4))
def test_the_game_as_played_covers_the_claim_and_not_another(seed: int) -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    for witness in [
        dv.worst_gain(joint, "b"),
        dv.worst_function(joint, "g"),
        dv.adversaries.worst_average(RUNNING_CHANNEL),
        dv.adversaries.lift_capacity_priors(RUNNING_CHANNEL).witness(4),
    ]:
        game = witness.simulate(20_000, rng=seed)
        assert game.before.covers(witness.before)
        assert game.after.covers(witness.after)
        assert game.leakage.covers(witness.leakage)
        assert not game.leakage.covers(float(witness.leakage) * 1.5)
        assert not game.leakage.covers(float(witness.leakage) / 1.5)


@pytest.mark.parametrize("case", ["average", "max"])
def test_every_family_can_be_played(case: str) -> None:
    rng = np.random.default_rng(3)
    joint = dv.Joint(dv.Prior([0.2, 0.3, 0.5, 0.0], [4, 1, 2, 0]), rng.dirichlet(np.ones(5), size=4))
    silent = dv.Channel(np.column_stack([joint.channel.floats, np.zeros(4)]), joint.secrets)
    secrets = (2, 1, 0, 4)
    families = [
        dv.Gain.tries(secrets, 2),
        dv.Gain.distance(secrets),
        dv.Cost.guesswork(secrets),
        dv.Cost.power(secrets, 1),
        dv.Cost.power(secrets, 2),
        dv.Cost.alpha_loss(secrets, 1),
        dv.Cost.alpha_loss(secrets, 3),
        dv.Cost.zero_one(secrets),
    ]
    for family in families:
        attack = dv.adversaries.worst_adversary(dv.Joint(joint.prior, silent), [family], case)
        game = attack.simulate(20_000, rng=5)
        assert game.before.covers(attack.before)
        assert game.after.covers(attack.after)
        assert game.leakage.covers(attack.leakage)
        assert game.leakage.upper < 2 * attack.leakage


def test_the_game_where_nothing_is_lost() -> None:
    joint = dv.Joint([0.5, 0.5], [[0.0, 1.0], [0.5, 0.5]])
    game = dv.worst_function(joint, 0).simulate(500, rng=1)
    assert game.after.estimate == 0
    assert game.leakage.covers(math.inf)
    constant = dv.worst_gain(dv.Joint([1.0], [[1.0]])).simulate(10, rng=1)
    assert constant.leakage.covers(1.0)


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, math.inf])
def test_no_game_without_rounds(n: float) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.adversaries.worst_average([[1.0]]).simulate(n)


@pytest.mark.parametrize("k", [0, -1, 1.5, math.nan, "2", [1]])
def test_no_function_without_symbols(k: object) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.worst_function([[0.25, 0.25], [0.4, 0.1]], 0, k)
