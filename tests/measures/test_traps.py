"""Where careless implementations go wrong, each with its counterexample."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from support import few, random_channel, random_prior

import divulge as dv


def test_leakages_of_two_releases_about_one_secret_do_not_add() -> None:
    prior = dv.Prior(["1/50", "49/100", "49/100"])
    first = dv.Channel([["1", "0"], ["1", "0"], ["0", "1"]])
    second = dv.Channel([["1", "0"], ["0", "1"], ["1", "0"]])
    for bit in (first, second):
        assert dv.pml((prior, bit)).max() == math.log(100 / 49)
    both = dv.Joint(prior, first.alongside(second))
    assert dv.lift(both) == 50
    assert dv.pml(both).max() > dv.pml((prior, first)).max() + dv.pml((prior, second)).max()


def test_pmc_of_two_releases_does_not_add_either() -> None:
    prior = dv.Prior(["1/2", "49/100", "1/100"])
    first = dv.Channel([["1/2", "1/2"], ["1/2", "1/2"], ["1/4", "3/4"]])
    rng, worse = np.random.default_rng(0), 0
    for _ in range(200):
        second = random_channel(rng, 3, 2, exact=True)
        together = dv.pmc(dv.Joint(prior, first.alongside(second))).max()
        worse += together > dv.pmc((prior, first)).max() + dv.pmc((prior, second)).max() + 1e-9
    assert worse > 0


def test_sound_compositions() -> None:
    rng = np.random.default_rng(1)
    for _ in range(few(60)):
        prior, first, second = random_prior(rng, 4), random_channel(rng, 4, 3), random_channel(rng, 4, 2)
        both = dv.Joint(prior, first.alongside(second))
        assert dv.pml(both).max() <= dv.pml((prior, first)).max() + dv.ldp(second) + 1e-12
        assert dv.maximal_leakage(both) <= dv.maximal_leakage(first) + dv.maximal_leakage(second) + 1e-12
        assert dv.ldp(both) <= dv.ldp(first) + dv.ldp(second) + 1e-12


def test_conditional_leakages_compose_and_follow_the_updated_prior() -> None:
    rng = np.random.default_rng(2)
    for exact in (False, True):
        prior = random_prior(rng, 4, exact=exact)
        first, second = random_channel(rng, 4, 3, exact=exact), random_channel(rng, 4, 2, exact=exact)
        both, known = dv.Joint(prior, first.alongside(second)), dv.Joint(prior, second)
        for measure in (dv.pml, dv.pmc):
            together = measure(both)
            for z in second.outcomes:
                given = measure(both, given=z)
                assert given.values == pytest.approx(measure((known.posterior(z), first)).values, rel=1e-12)
                for y in first.outcomes:
                    assert together[y, z] <= measure(known)[z] + given[y] + 1e-12


def test_side_information_that_never_occurs_is_refused() -> None:
    joint = dv.Joint(["1/2", "1/2"], dv.Channel([["1"], ["1"]], outcomes=[("y", "z")]))
    with pytest.raises(dv.DivulgeError, match="given"):
        dv.pml(joint, given="other")
    with pytest.raises(dv.DivulgeError, match="pairs"):
        dv.pml(dv.Joint(["1/2", "1/2"], [["1"], ["1"]]), given="z")


def test_merging_rare_outcomes_breaks_the_raw_tail_and_not_the_envelope() -> None:
    # The outcomes 0 and 1 both have lift 2; each alone has probability 1/10, and outcome 2 says nothing.
    joint = dv.Joint.from_matrix([["1/10", "0", "4/10"], ["0", "1/10", "4/10"]])
    merged = dv.Joint(joint.prior, joint.channel.then([[1, 0], [0, 1], ["1/8", "7/8"]]))
    threshold = 0.3
    assert joint.outer.tolist() == [F(1, 10), F(1, 10), F(4, 5)]
    assert dv.pml(merged).tail(threshold) == pytest.approx(0.2)
    stronger = dv.Joint(joint.prior, joint.channel.then([[1, 0, 0], [0, 1, 0], ["1/8", "1/8", "3/4"]]))
    assert dv.pml(joint).tail(threshold) == pytest.approx(0.2)
    assert dv.pml(stronger).tail(threshold) == pytest.approx(0.4)
    assert dv.tail_envelope(joint, threshold).upper >= 0.4


def test_zero_prior_and_empty_columns_drop_out_of_one_side_only() -> None:
    channel = dv.Channel([["1/2", "1/2", "0", "0"], ["1/4", "3/4", "0", "0"], ["0", "1/10", "9/10", "0"]])
    joint = dv.Joint(["1/2", "1/2", "0"], channel)
    smaller = dv.Joint(["1/2", "1/2"], [["1/2", "1/2"], ["1/4", "3/4"]])
    assert dv.pml(joint).to_dict() == dv.pml(smaller).to_dict()
    assert dv.pmc(joint).to_dict() == dv.pmc(smaller).to_dict()
    for measure in (
        dv.mutual_information,
        dv.measures.min_entropy_leakage,
        dv.lift,
        dv.lip,
        dv.measures.guesswork_after,
    ):
        a, b = measure(joint), measure(smaller)
        assert (a.to_dict() == b.to_dict()) if isinstance(a, dv.results.Pointwise) else a == b
    assert dv.ldp(joint) == math.inf
    assert dv.bayes_capacity(joint) == F(1, 2) + F(3, 4) + F(9, 10)
    assert dv.maximal_cost_leakage(joint) == math.log(10)


def test_a_secret_ruled_out_has_infinite_cost_and_finite_leakage() -> None:
    joint = dv.Joint(["1/2", "1/2"], dv.mechanisms.identity(2))
    assert dv.pmc(joint).max() == math.inf
    assert dv.pml(joint).max() == math.log(2)
    assert joint.information_density[0, 1] == -math.inf
    assert dv.ldp(joint) == dv.lift_capacity(joint) == math.inf


@pytest.mark.parametrize("matrix", [[["1"]], [["1"], ["1"]], [["1", "0"]], [["0", "1"], ["1", "0"]]])
def test_deterministic_and_single_letter_channels_are_legal(matrix: list[list[str]]) -> None:
    n = len(matrix)
    for prior in (dv.Prior.uniform(n), dv.Prior([1] + [0] * (n - 1))):
        for channel in (dv.Channel(matrix), dv.Channel([[float(v) for v in row] for row in matrix])):
            profile = dv.profile(dv.Joint(prior, channel))
            assert profile.mutual_information is not None
            assert profile.mutual_information >= 0
            for order in (0, 0.5, 1, 2, math.inf):
                assert dv.sibson((prior, channel), order) >= 0


def test_a_ratio_beyond_all_doubles_is_infinite_as_a_float() -> None:
    joint = dv.Joint([5e-324, 1], [[0.3, 0.7], [0, 1]])
    assert dv.lift(joint) > F(10) ** 320
    found = dv.profile(joint).to_dict()
    assert found["joint"]["lift"] == math.inf
    assert found["joint"]["pml"] == pytest.approx(1074 * math.log(2))
    with pytest.raises(dv.DivulgeError, match=r"below 1\.8e308"):
        dv.Prior(["1e400", "1"])


def test_entries_and_probabilities_at_the_end_of_the_floats_are_no_nan() -> None:
    rare = dv.Joint([1e-310, 1], [[0.82, 0.18, 0.0], [1.0, 0.0, 0.0]])
    exact = 1e-310 * (0.82 * math.log(0.82) + 0.18 * (math.log(0.18) - math.log(0.18) - math.log(1e-310)))
    assert 0 <= dv.mutual_information(rare) <= 2 * exact
    assert dv.tail_envelope(rare, 0.5).upper <= 1e-9
    tiny = [[1.0, 0.0, 5e-324], [0.975, 0.0, 0.025], [1.0, 5e-324, 0.0]]
    plain = [[1.0, 0.0], [0.975, 0.025], [1.0, 0.0]]
    assert dv.measures.capacity(tiny).value == pytest.approx(dv.measures.capacity(plain).value, rel=1e-12)
