"""The tail envelope: no post-processing exceeds it, and for small alphabets all merges are tried."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import few, random_channel, random_joint

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


def test_the_envelope_of_pmc_is_what_merging_reaches() -> None:
    """Two outcomes of .3 rule a secret out, .4 says nothing: with half of it each makes one 2.5 times rarer."""
    joint = dv.Joint(["1/2", "1/2"], [["0", "3/5", "2/5"], ["3/5", "0", "2/5"]])
    merged = dv.Joint(joint.prior, joint.channel.then([[1, 0], [0, 1], ["1/2", "1/2"]]))
    for threshold in (0.6, 0.916):
        assert dv.pmc(joint).tail(threshold) == pytest.approx(0.6)
        assert dv.pmc(merged).tail(threshold) == 1.0
        assert dv.tail_envelope(joint, threshold, measure="pmc").lower == pytest.approx(1.0)
    beyond = dv.tail_envelope(joint, 0.917, measure="pmc")
    assert beyond.exact
    assert 0.99 < beyond.lower <= beyond.upper < 1
    # at t each of .3 takes s of the silent .4 along, with s / (.3 + s) = e^-t
    share = 0.3 / (math.exp(2) - 1)
    assert dv.tail_envelope(joint, 2.0, measure="pmc").upper == pytest.approx(0.6 + 2 * share)
    assert dv.tail_envelope(joint, math.inf, measure="pmc").upper == pytest.approx(0.6)
    assert dv.measures.envelope_quantile(joint, 0.6 + 2 * share, measure="pmc") == pytest.approx(2.0)
    assert dv.measures.envelope_quantile(joint, 0.59, measure="pmc") == math.inf
    assert dv.measures.envelope_quantile(joint, 1.0, measure="pmc") == 0.0
    with pytest.raises(dv.DivulgeError, match="measure"):
        dv.tail_envelope(joint, 1.0, measure="lift")


@pytest.mark.parametrize("measure", ["pml", "pmc"])
def test_bounds_of_envelopes_do_not_rest_on_the_tolerance_of_the_solver(measure: Any) -> None:
    """Rows over many powers of ten: no merge lies above, and the bounds agree."""
    rng = np.random.default_rng(5)
    for power in (3, 6, 9, 11):
        rows = rng.dirichlet(np.ones(4), 3) * np.array([10.0**-power, 1, 10.0 ** (-power / 2), 1])
        joint = dv.Joint(rng.dirichlet(np.ones(3)), rows / rows.sum(axis=1, keepdims=True))
        of = getattr(dv, measure)
        for share in (0.2, 0.9):
            threshold = share * of(joint).max()
            envelope = dv.tail_envelope(joint, threshold, measure=measure)
            assert envelope.upper - envelope.lower < 1e-8
            for post in _merges(4)[::3]:
                assert of((joint.prior, joint.channel.then(post))).tail(threshold) <= envelope.upper


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
    for _ in range(few(4, least=1)):
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
            dv.measures.envelope_quantile(joint, wrong)


def test_ldp_over_the_support_of_a_prior_leaves_the_other_rows_out() -> None:
    channel = [["3/4", "1/4"], ["1/4", "3/4"], ["1", "0"]]
    assert dv.ldp(channel) == math.inf
    assert dv.ldp(channel, prior=["1/2", "1/2", "0"]) == math.log(3)
    assert dv.ldp(channel, prior=["1/3", "1/3", "1/3"]) == math.inf
    with pytest.raises(dv.DivulgeError):
        dv.ldp(channel, prior=["1/2", "1/2"])


def test_ldp_and_lift_capacity_over_neighbors_look_at_their_pairs_alone() -> None:
    rows = [["4/7", "2/7", "1/7"], ["1/4", "1/2", "1/4"], ["1/7", "2/7", "4/7"], ["0", "1/2", "1/2"]]
    channel = dv.Channel(rows, secrets=["a", "b", "c", "d"])
    assert dv.lift_capacity(channel) == dv.ldp(channel) == math.inf
    assert dv.lift_capacity(channel, neighbors=[("a", "b"), ("c", "b")]) == Fraction(16, 7)
    line = dv.Metric.line([0, 1, 2, 4])
    numbered = dv.Channel(rows, secrets=[0, 1, 2, 4])
    assert dv.lift_capacity(numbered, neighbors=line) == Fraction(16, 7)  # the last is 2 away
    assert dv.ldp(numbered, neighbors=line) == pytest.approx(math.log(16 / 7), rel=1e-15)
    assert dv.ldp(numbered, "bits", neighbors=lambda x, z: abs(x - z) <= 1) == pytest.approx(math.log2(16 / 7))
    assert dv.ldp(numbered, prior=["1/2", 0, "1/2", 0], neighbors=line) == 0.0  # no two of those left are neighbors
    assert dv.lift_capacity(numbered, neighbors=dv.Metric.line([4, 2, 1, 0])) == Fraction(16, 7)
    with pytest.raises(dv.DivulgeError, match="neighbors"):
        dv.ldp(dv.NoiseMechanism("laplace", "uniform(0, 1)", scale=1.0), neighbors=[(0, 1)])


def test_neighbors_of_a_grid_are_at_distance_1_exactly() -> None:
    """Of places .1 apart, ten steps are 1 and not above; corners of a unit square are not neighbors."""
    square = dv.Metric.grid(2, 2)
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(3), 4)
    sides = [(0, 1), (0, 2), (1, 3), (2, 3)]
    ratios = [rows[x] / rows[z] for x, z in [*sides, *((z, x) for x, z in sides)]]
    channel = dv.Channel(rows, secrets=square.labels)
    assert dv.ldp(channel, neighbors=square) == pytest.approx(math.log(np.max(ratios)))
    tenths = dv.Metric.line(11, step="1/10")
    ends = [[Fraction(1 + (k == 0), 4), Fraction(3 - (k == 0), 4)] for k in range(11)]
    assert dv.lift_capacity(dv.Channel(ends, secrets=tenths.labels), neighbors=tenths) == 2
