"""Names of utilities as types say them are those that a design knows."""

from typing import get_args

from divulge.designing.linear.scores import SCORES
from divulge.designing.naming.estimation import ESTIMATION
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.utility import UtilityName


def test_the_type_has_the_names_that_a_design_knows() -> None:
    assert set(get_args(UtilityName)) == {*SUBCONVEX, *SCORES, *ESTIMATION, "distance"}
