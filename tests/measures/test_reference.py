"""Reference values from the literature, as exact fractions."""

import math
from fractions import Fraction as F

import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR, SURVEY_G, SURVEY_R

import divulge as dv
from divulge import exact


def test_running_channel() -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    assert joint.outer.tolist() == [F(11, 20), F(9, 20)]
    assert joint.posteriors.T.tolist() == [[F(15, 44), F(5, 22), F(19, 44)], [F(5, 36), F(5, 6), F(1, 36)]]
    assert dv.ldp(RUNNING_CHANNEL) == math.log(15)
    assert dv.lift(joint) == F(19, 11)
    assert dv.bayes_capacity(RUNNING_CHANNEL) == F(17, 10)
    assert dv.pml(joint).to_dict() == {"b": math.log(19 / 11), "g": math.log(5 / 3)}
    assert dv.pmc(joint).to_dict() == {"b": exact.log(F(11, 5)), "g": exact.log(F(9))}
    assert dv.pmc(joint).to_dict() == pytest.approx({"b": math.log(11 / 5), "g": math.log(9)}, rel=1e-15)


def test_survey_channels() -> None:
    for channel, epsilon, capacity, lift in [(SURVEY_G, 4, F(5, 3), F(12, 7)), (SURVEY_R, 3, F(9, 5), F(9, 5))]:
        assert dv.ldp(channel) == math.log(epsilon)
        assert dv.lift_capacity(channel) == epsilon
        assert dv.bayes_capacity(channel) == capacity
        joint, guess = dv.Joint(dv.Prior.uniform(3), channel), dv.Gain.identity(channel.secrets)
        assert dv.lift(joint) == lift
        assert dv.leakage(joint, guess) == capacity
        assert dv.leakage(joint, guess, "max") == lift


@pytest.mark.parametrize("n", [2, 3, 5])
def test_randomized_response(n: int) -> None:
    ratio, prior = F(7, 2), dv.Prior.from_counts(range(1, n + 1))
    joint = dv.Joint(prior, dv.mechanisms.randomized_response(n, ratio=ratio))
    assert joint.c.tolist() == [[(ratio if x == y else 1) / (n - 1 + ratio) for y in range(n)] for x in range(n)]
    grown = [1 + p * (ratio - 1) for p in prior]
    assert dv.ldp(joint) == math.log(ratio)
    assert dv.pmc(joint).values.tolist() == [exact.log(v) for v in grown]
    assert dv.pml(joint).values.tolist() == [exact.log(ratio / v) for v in grown]
    assert (dv.pmc(joint).argmax(), dv.pml(joint).argmax()) == (n - 1, 0)


def test_the_extremal_mechanism_of_high_privacy() -> None:
    prior, ratio = dv.Prior(["1/5", "3/10", "1/2"]), F(6, 5)
    joint = dv.Joint(prior, dv.mechanisms.extremal(prior, ratio=ratio))
    p = prior.probabilities.tolist()
    assert joint.c.tolist() == [
        [1 - ratio * (1 - p[i]) if i == j else ratio * p[j] for j in range(3)] for i in range(3)
    ]
    assert joint.outer.tolist() == p
    assert dv.lift(joint) == ratio
    assert dv.pml(joint).values.tolist() == [exact.log(ratio)] * 3
    assert dv.pmc(joint).values.tolist() == [exact.log(v / (1 - ratio * (1 - v))) for v in p]
    assert dv.pmc(joint).argmax() == 0
