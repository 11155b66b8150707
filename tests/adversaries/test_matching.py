"""Costs and randomized functions: from one to the other and back, with equal leakage."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, joints, random_channel, random_joint

import divulge as dv


def lambda_by_definition(joint: dv.Joint, function: dv.adversaries.RandomizedFunction, y: int) -> float | F:
    """Return (1 - max_u P(u)) / (1 - max_u P(u | y)) from the kernel."""
    kernel, p, d = function.kernel.matrix, joint.p, joint.posteriors[:, y]
    before, after = (
        1 - max(sum(w[x] * kernel[x][u] for x in range(len(w))) for u in range(kernel.shape[1])) for w in (p, d)
    )
    return (1 if before == 0 else math.inf) if after == 0 else before / after


@settings(max_examples=few(60), deadline=None)
@given(joints(exact=True), st.integers(0, 2**32 - 1))
def test_function_to_cost_and_cost_to_function_exactly(joint: dv.Joint, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(joint.secrets)
    function = dv.adversaries.RandomizedFunction(random_channel(rng, n, int(rng.integers(1, 5)), exact=True, zeros=0.3))
    table = rng.integers(0, 9, size=(int(rng.integers(1, 5)), n)) * (rng.random(n) > 0.3)
    costs = [
        dv.Cost(table.tolist()),
        dv.Cost.guesswork(n),
        dv.Cost.power(n, 2),
        dv.Cost.power(n, 1),
        dv.Cost.zero_one(n),
    ]
    for j in np.flatnonzero(joint.occurring):
        y = joint.outcomes[j]
        assert dv.leakage(joint, function.risk_averse, outcome=y) == lambda_by_definition(joint, function, j)
        for cost in costs:
            matched = dv.adversaries.matching_function(joint, cost, y)
            assert dv.leakage(joint, cost, outcome=y) == lambda_by_definition(joint, matched, j)


def test_opportunistic_guesser_by_definition() -> None:
    rng = np.random.default_rng(4)
    joint, kernel = random_joint(rng, 4, 3), random_channel(rng, 4, 5)
    function = dv.adversaries.RandomizedFunction(kernel)
    for y in range(3):
        expected = (joint.posteriors[:, y] @ kernel.floats).max() / (joint.p @ kernel.floats).max()
        assert dv.leakage(joint, function.opportunistic, outcome=y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1, 2, 7, math.inf])
def test_alpha_loss_as_a_randomized_function(alpha: float) -> None:
    joint = random_joint(np.random.default_rng(9), 5, 3)
    cost = dv.Cost.alpha_loss(5, alpha)
    for y in range(3):
        matched = dv.adversaries.matching_function(joint, cost, y).risk_averse
        assert dv.adversaries.log_leakage(joint, matched, outcome=y) == pytest.approx(
            dv.adversaries.log_leakage(joint, cost, outcome=y), abs=1e-12
        )


def test_log_loss_where_a_secret_is_ruled_out_is_refused() -> None:
    joint = dv.Joint([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(dv.DivulgeError, match="finite"):
        dv.adversaries.matching_function(joint, dv.Cost.alpha_loss(2, 1), 1)


def test_a_random_function_is_never_worse_than_pmc_nor_more_telling_than_pml() -> None:
    rng = np.random.default_rng(12)
    for _ in range(few(200)):
        joint = random_joint(rng, 4, 3, zeros=0.2)
        function = dv.adversaries.RandomizedFunction(random_channel(rng, 4, 3, zeros=0.4))
        assert (
            dv.adversaries.pointwise_leakage(joint, function.risk_averse).values <= dv.pmc(joint).values + 1e-9
        ).all()
        assert (
            dv.adversaries.pointwise_leakage(joint, function.opportunistic).values <= dv.pml(joint).values + 1e-12
        ).all()


def test_large_functions_are_refused_and_shown_small() -> None:
    with pytest.raises(dv.DivulgeError, match="from 1 to"):
        dv.adversaries.RandomizedFunction.spread(np.array([0.5, 0.5]), 10**8)
    assert repr(dv.adversaries.RandomizedFunction([["1", "0"]])).startswith("RandomizedFunction with 2 symbols")
