"""Leakage against its definition, in every case, for gains and costs, exact and float, dense and sparse."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, joints, random_joint, twins

import divulge as dv


def by_definition(joint: dv.Joint, payoffs: list[list[F]], best: type, case: str) -> tuple[F, F]:
    """Return (before, after) with loops over the definitions, in fractions."""
    p, c = [F(v) for v in joint.prior], np.asarray(joint.channel).tolist()
    value = lambda d: best(sum(a * b for a, b in zip(d, row, strict=True)) for row in payoffs)  # noqa: E731
    q = {y: sum(p[x] * F(c[x][y]) for x in range(len(p))) for y in range(len(c[0]))}
    after = {y: value([p[x] * F(c[x][y]) / q[y] for x in range(len(p))]) for y in q if q[y] > 0}
    return value(p), sum(q[y] * after[y] for y in after) if case == "average" else best(after.values())


@settings(max_examples=few(36), deadline=None)
@given(joints(exact=True), st.sampled_from(["average", "max"]), st.integers(0, 2**32 - 1))
def test_exact_leakage_by_definition(joint: dv.Joint, case: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 5)), len(joint.secrets))
    table = [[F(int(v), 7) for v in row] for row in rng.integers(0, 9, size=shape) * (rng.random(shape) > 0.3)]
    before, after = by_definition(joint, table, max, case)
    gain = dv.Gain(table)
    assert dv.leakage(joint, gain, case) == (1 if before == 0 else after / before)
    assert dv.adversaries.additive_leakage(joint, gain, case) == after - before
    before, after = by_definition(joint, table, min, case)
    cost = dv.Cost(table)
    expected = before / after if after else (1 if before == 0 else math.inf)
    assert dv.leakage(joint, cost, case) == expected
    assert dv.adversaries.additive_leakage(joint, cost, case) == before - after
    floats = dv.Joint(joint.prior.floats, joint.channel.floats)
    if expected < 1e6:
        assert dv.leakage(floats, cost, case) == pytest.approx(float(expected), rel=1e-11)


@settings(max_examples=few(40), deadline=None)
@given(joints())
def test_order_of_the_cases_and_the_measures(joint: dv.Joint) -> None:
    n = len(joint.secrets)
    worst = dv.Gain.reciprocal(joint.prior)
    for gain in (dv.Gain.identity(n), dv.Gain.tries(n, (n + 1) // 2), dv.Gain.distance(n), worst):
        average, largest = (float(dv.leakage(joint, gain, case)) for case in ("average", "max"))
        assert 1 - 1e-12 <= average <= largest * (1 + 1e-12)
        assert average <= float(dv.bayes_capacity(joint.channel)) * (1 + 1e-12)
        assert largest <= float(dv.lift(joint)) * (1 + 1e-12)
        assert (dv.adversaries.pointwise_leakage(joint, gain).values <= dv.pml(joint).values + 1e-12).all()
        assert dv.adversaries.pointwise_leakage(joint, gain).max() == pytest.approx(math.log(largest), abs=1e-12)
    for cost in (dv.Cost.guesswork(n), dv.Cost.power(n, 2), dv.Cost.alpha_loss(n, 1), dv.Cost.zero_one(n)):
        each = dv.adversaries.pointwise_leakage(joint, cost)
        assert (each.values <= dv.pmc(joint).values + 1e-9).all()
        assert dv.adversaries.log_leakage(joint, cost, "max") == pytest.approx(each.max(), abs=1e-9)
        for y in each.outcomes:
            assert dv.adversaries.log_leakage(joint, cost, outcome=y) == pytest.approx(each[y], abs=1e-9)


def test_known_measures_are_leakages_to_known_adversaries() -> None:
    joint = random_joint(np.random.default_rng(2), 5, 4)
    p, q, d = joint.prior.floats, joint.outer, joint.posteriors
    information = float((joint.matrix * np.log(joint.lift)).sum())
    assert dv.adversaries.additive_leakage(joint, dv.Cost.alpha_loss(5, 1)) == pytest.approx(information, rel=1e-12)
    variance = lambda w: w @ np.arange(5) ** 2 - (w @ np.arange(5)) ** 2  # noqa: E731
    after = sum(qy * variance(d[:, y]) for y, qy in enumerate(q))
    assert dv.leakage(joint, dv.Cost.power(5, 2)) == pytest.approx(variance(p) / after, rel=1e-12)
    assert dv.adversaries.log_leakage(joint, dv.Gain.identity(5), unit="bits") == pytest.approx(
        math.log2((joint.matrix.max(axis=0)).sum() / p.max()), rel=1e-12
    )


def test_conventions_for_zero() -> None:
    joint = dv.Joint(["1/2", "1/2", "0"], [["1", "0"], ["0", "1"], ["0", "1"]])
    nothing, all_or_nothing = dv.Gain([[0, 0, 5]]), dv.Cost([[1, 0, 0], [0, 1, 0]])
    assert dv.leakage(joint, nothing) == 1
    assert dv.adversaries.log_leakage(joint, nothing) == 0
    assert dv.leakage(joint, all_or_nothing) == math.inf
    assert dv.adversaries.log_leakage(joint, all_or_nothing, "max") == math.inf
    assert dv.leakage(joint, dv.Cost([[0, 0, 0]])) == 1
    half = dv.Joint(["1/2", "1/2"], [["1", "0"], ["1/2", "1/2"]])
    assert dv.leakage(half, dv.Gain([["1", "0"]]), outcome=1) == 0
    assert dv.adversaries.pointwise_leakage(half, dv.Gain([["1", "0"]]))[1] == -math.inf


def test_sparse_channels_and_outcomes_that_never_occur() -> None:
    joint = random_joint(np.random.default_rng(8), 6, 9, zeros=0.6)
    sparse = dv.Joint(joint.prior, dv.Channel(sp.csc_array(joint.channel.floats)))
    for adversary in (dv.Gain.identity(6), dv.Gain.tries(6, 2), dv.Cost.guesswork(6), dv.Gain.threshold(6, 1)):
        for case in ("average", "max"):
            assert dv.leakage(sparse, adversary, case) == pytest.approx(dv.leakage(joint, adversary, case), rel=1e-12)


def test_labels_are_matched() -> None:
    joint = dv.Joint(dv.Prior(["1/4", "3/4"], ["a", "b"]), [["1", "0"], ["1/2", "1/2"]])
    gain = dv.Gain([["0", "1"], ["1", "0"]], secrets=["b", "a"])
    assert dv.leakage(joint, gain, outcome=0) == dv.leakage(joint, dv.Gain.identity(2), outcome=0) == F(4, 5)
    with pytest.raises(dv.LabelError):
        dv.leakage(joint, dv.Gain.identity(["a", "z"]))


def test_exact_and_float_meet_without_loss_of_type() -> None:
    exact = dv.Joint(["1/4", "3/4"], [["1", "0"], ["1/2", "1/2"]])
    assert type(dv.leakage(exact, dv.Gain.identity(2))) is F
    assert type(dv.leakage(exact, dv.Gain([[1.0, 0.0]]))) is float
    assert type(dv.leakage(dv.Joint([0.25, 0.75], exact.channel), dv.Gain.identity(2))) is float
    assert type(dv.adversaries.uncertainty(exact.prior, dv.Cost.alpha_loss(2, 2))) is float
    assert dv.adversaries.log_leakage(exact, dv.Gain.reciprocal(exact.prior), "max") == dv.pml(exact).max()


ADVERSARIES = {
    "identity": lambda n, numbers: dv.Gain.identity(n),
    "tries": lambda n, numbers: dv.Gain.tries(n, 2),
    "distance": lambda n, numbers: dv.Gain.distance(n),
    "table": lambda n, numbers: dv.Gain([[numbers((3 * w + 5 * x) % 7) for x in range(n)] for w in range(4)]),
    "costs": lambda n, numbers: dv.Cost([[numbers(1 + (3 * w + 5 * x) % 7) for x in range(n)] for w in range(4)]),
    "zero-one": lambda n, numbers: dv.Cost.zero_one(n),
    "guesswork": lambda n, numbers: dv.Cost.guesswork(n),
    "median": lambda n, numbers: dv.Cost.power(range(n), 1),
    "mean": lambda n, numbers: dv.Cost.power(range(n), 2),
}


@pytest.mark.parametrize("name", ADVERSARIES)
def test_tiny_leakages_of_floats_keep_their_digits(name: str) -> None:
    """Rows are from 1e-12 to 1e-3 apart; under a uniform prior, where actions tie, every difference counts."""
    adversary = ADVERSARIES[name]
    for seed in range(few(12)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 6)) if seed % 2 else 4
        approximate, exact = twins(rng, n, int(rng.integers(2, 6)), 0.0, shift=1 << int(rng.integers(12, 42)))
        if seed % 2 == 0:
            approximate, exact = (dv.Joint(dv.Prior.uniform(4), joint.channel) for joint in (approximate, exact))
        rough, sharp = adversary(n, float), adversary(n, F)
        for case in ("average", "max"):
            for measure in (dv.adversaries.additive_leakage, dv.adversaries.log_leakage):
                wanted = float(measure(exact, sharp, case))
                assert measure(approximate, rough, case) == pytest.approx(wanted, rel=1e-12, abs=0), (seed, case)
        outcome = exact.outcomes[0]
        wanted = float(dv.adversaries.additive_leakage(exact, sharp, outcome=outcome))
        assert dv.adversaries.additive_leakage(approximate, rough, outcome=outcome) == pytest.approx(
            wanted, rel=1e-12, abs=0
        )
        found, wanted = (
            dv.adversaries.pointwise_leakage(approximate, rough).values,
            dv.adversaries.pointwise_leakage(exact, sharp).values,
        )
        assert found == pytest.approx(wanted, rel=1e-12, abs=0)
