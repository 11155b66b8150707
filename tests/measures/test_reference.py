"""Reference values from the literature, as exact fractions."""

import math
from fractions import Fraction as F

import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR, SURVEY_G, SURVEY_R

import divulge as dv


def test_running_channel() -> None:
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    assert joint.outer.tolist() == [F(11, 20), F(9, 20)]
    assert joint.posteriors.T.tolist() == [[F(15, 44), F(5, 22), F(19, 44)], [F(5, 36), F(5, 6), F(1, 36)]]
    assert dv.ldp(RUNNING_CHANNEL) == math.log(15)
    assert dv.lift(joint) == F(19, 11)
    assert dv.bayes_capacity(RUNNING_CHANNEL) == F(17, 10)
    assert dv.pml(joint).to_dict() == {"b": math.log(19 / 11), "g": math.log(5 / 3)}
    assert dv.pmc(joint).to_dict() == pytest.approx({"b": math.log(11 / 5), "g": math.log(9)}, rel=1e-15)


def test_survey_channels() -> None:
    for channel, epsilon, capacity, lift in [(SURVEY_G, 4, F(5, 3), F(12, 7)), (SURVEY_R, 3, F(9, 5), F(9, 5))]:
        assert dv.ldp(channel) == math.log(epsilon)
        assert dv.lift_capacity(channel) == epsilon
        assert dv.bayes_capacity(channel) == capacity
        assert dv.lift(dv.Joint(dv.Prior.uniform(3), channel)) == lift
