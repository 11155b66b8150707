"""Two mechanisms side by side."""

from fractions import Fraction as F

import numpy as np
import pytest
from support import SURVEY_G, SURVEY_R, random_channel

import divulge as dv


def test_survey_channels_side_by_side() -> None:
    comparison = dv.compare(SURVEY_G, SURVEY_R, dv.Prior.uniform(["y", "m", "n"]))
    assert [comparison.safer(order) for order in ("average_case", "max_case", "ldp", "bayes_capacity", "pmc")] == [
        "neither",
        "neither",
        "B",
        "A",
        "B",
    ]
    assert comparison.measures["one guess, average-case"] == (F(5, 3), F(9, 5))
    assert comparison.measures["one guess, max-case"] == comparison.measures["lift"] == (F(12, 7), F(9, 5))
    text = repr(comparison)
    assert "neither is safer against all of them" in text
    assert "B leaks more to this one" in text
    assert "A leaks more to this one" in text
    for told in (one for case in ("average_case", "max_case") for one in comparison.to_dict()[case]["adversaries"]):
        more = told["leaks_more"]
        less = "A" if more == "B" else "B"
        assert told["gain_after"][more] > told["gain_after"][less]


def test_post_processing_is_safer_and_equals_are_equal() -> None:
    rng = np.random.default_rng(1)
    a = random_channel(rng, 4, 4)
    b = a.then(random_channel(rng, 4, 3))
    comparison = dv.compare(a, b, unit="bits")
    assert (comparison.safer("average_case"), comparison.safer("max_case")) == ("B", "B")
    assert comparison.measures["ldp"][0] == dv.ldp(a, unit="bits")
    assert dv.compare(a, a).safer("average_case") == "both"
    assert "at least as safe" in repr(comparison)
    with pytest.raises(dv.DivulgeError, match="be one of average_case"):
        comparison.safer("luck")
