"""The tail envelope: no post-processing exceeds it, and for small alphabets all merges are tried."""

import itertools
import math

import numpy as np
import pytest
from support import random_channel, random_joint

import divulge as dv


def _merges(m: int) -> list[np.ndarray]:
    """Every deterministic map of m outcomes onto at most m symbols, as a 0-1 matrix."""
    return [np.eye(m)[list(choice)] for choice in itertools.product(range(m), repeat=m)]


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.8])
def test_no_post_processing_exceeds_the_envelope(threshold: float) -> None:
    rng = np.random.default_rng(int(threshold * 100))
    for _ in range(8):
        joint = random_joint(rng, 3, 3, zeros=0.2)
        envelope = dv.tail_envelope(joint, threshold)
        assert 0 <= envelope.lower <= envelope.upper <= 1
        assert envelope.upper - envelope.lower < 1e-8
        assert dv.pml(joint).tail(threshold) <= envelope.upper
        posts = _merges(3) + [random_channel(rng, 3, 4, zeros=0.4).floats for _ in range(40)]
        for post in posts:
            assert dv.pml((joint.prior, joint.channel.then(post))).tail(threshold) <= envelope.upper + 1e-9


def test_the_envelope_is_reached() -> None:
    """Blending the silent outcome into the two telling ones at the rate where the lift meets the threshold."""
    joint = dv.Joint.from_matrix([[0.1, 0.0, 0.4], [0.0, 0.1, 0.4]])
    threshold = 0.6
    bar = np.exp(threshold) + 1e-9
    blended = (0.2 - 0.1 * bar) / (0.8 * (bar - 1))
    post = [[1, 0, 0], [0, 1, 0], [blended, blended, 1 - 2 * blended]]
    reached = dv.pml((joint.prior, joint.channel.then(post))).tail(threshold)
    assert reached == pytest.approx(dv.tail_envelope(joint, threshold).lower, abs=1e-6)


def test_large_joints_get_bounds_that_hold_the_program() -> None:
    from divulge.measures.pointwise import tails

    rng = np.random.default_rng(9)
    joint = random_joint(rng, 4, 6)
    exact = dv.tail_envelope(joint, 0.4)
    q = joint.outer
    surplus = joint.channel.floats / q - np.exp(0.4)
    single = [tails._knapsack(row, q) for row in surplus]
    assert max(single) <= exact.upper
    assert exact.lower <= sum(single)
    large = random_joint(rng, 150, 150)
    bounds = dv.tail_envelope(large, 0.5)
    assert not bounds.exact
    assert dv.pml(large).tail(0.5) <= bounds.upper


def test_extreme_thresholds() -> None:
    joint = random_joint(np.random.default_rng(1), 3, 3)
    assert dv.tail_envelope(joint, 0).upper == 1
    assert dv.tail_envelope(joint, dv.pml(joint).max() + 0.01).upper == 0
    with pytest.raises(dv.DivulgeError, match="threshold"):
        dv.tail_envelope(joint, float("nan"))


def test_the_quantile_of_the_envelope_is_its_twin() -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        joint = dv.Joint(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), 3))
        assert dv.measures.envelope_quantile(joint, 0.0) == pytest.approx(dv.pml(joint).max())
        assert dv.measures.envelope_quantile(joint, 1.0) == 0.0
        for delta in (0.05, 0.4):
            found = dv.measures.envelope_quantile(joint, delta)
            assert dv.tail_envelope(joint, found).upper <= delta
            assert found == 0 or dv.tail_envelope(joint, found * (1 - 1e-6)).upper > delta
            assert dv.measures.envelope_quantile(joint, delta, "bits") == pytest.approx(found / math.log(2))
    for wrong in (-0.1, 1.1, math.nan, "x", True):
        with pytest.raises(dv.DivulgeError, match="delta"):
            dv.measures.envelope_quantile(joint, wrong)  # type: ignore[arg-type]


def test_ldp_over_the_support_of_a_prior_leaves_the_other_rows_out() -> None:
    channel = [["3/4", "1/4"], ["1/4", "3/4"], ["1", "0"]]
    assert dv.ldp(channel) == math.inf
    assert dv.ldp(channel, prior=["1/2", "1/2", "0"]) == math.log(3)
    assert dv.ldp(channel, prior=["1/3", "1/3", "1/3"]) == math.inf
    with pytest.raises(dv.DivulgeError):
        dv.ldp(channel, prior=["1/2", "1/2"])
