"""The chord bound against designs, which find the best channel, and against the two levels that are on it."""

import itertools
import math

import pytest
from support import THOROUGH

import divulge as dv

DESIGNED = list(
    itertools.product(
        ["pml=0.5", "alip=1:0.7", "ldp=1", "lip=0.2"],
        ["mutual-information", "total-variation", "chi-squared", "hellinger", "le-cam"],
    )
)


@pytest.mark.parametrize(("guarantee", "utility"), DESIGNED if THOROUGH else DESIGNED[::4])  # each of both
def test_no_design_is_beyond_the_chord(guarantee: str, utility: str) -> None:
    most = dv.chord_bound(guarantee, utility=utility)
    for prior in ([0.5, 0.5], [0.1, 0.15, 0.3, 0.45]):
        assert dv.design(prior, guarantee, utility=utility).utility <= most * (1 + 1e-12)


def test_sets_of_exactly_the_right_mass_are_on_it() -> None:
    assert dv.chord_bound("alip=1:1") == pytest.approx(math.tanh(0.5), rel=1e-11)
    assert dv.chord_bound("pml=0.5") == pytest.approx(0.5, rel=1e-11)
    best = dv.design([0.25] * 4, dv.PML(math.log(2)))
    assert best.utility == pytest.approx(dv.chord_bound(dv.PML(math.log(2))), rel=1e-9)
    ratio = math.e  # sup over v of log v + r (1 - v) / (r - 1) log r
    v = (ratio - 1) / ratio
    least = math.log(v) + ratio * (1 - v) / (ratio - 1)
    assert least <= dv.chord_bound("ldp=1") <= least * 1.002


def test_a_design_without_time_has_at_most_the_chord_for_its_bound() -> None:
    found = dv.design([1 / 60] * 60, "alip=1:1", time_limit=0)
    assert found.utility <= found.bound <= dv.chord_bound("alip=1:1")
    told = dv.design(["1/4"] * 4, "alip=0.1:0.1", protect=[[1, 0], [1, 0], [0, 1], [0, 1]])  # the bound is of another
    assert told.utility > dv.chord_bound("alip=0.1:0.1")


def test_what_bounds_no_lift_is_said() -> None:
    assert dv.chord_bound("pmc=1") == dv.chord_bound() == dv.chord_bound("maximal-leakage=1") == math.inf
    assert dv.chord_bound("pml=1", utility="lautum-information") == math.inf
    assert dv.chord_bound("pml=1", utility=lambda v: (v - 1) ** 2) == pytest.approx(math.e - 1)
    for utility in ("hamming", 3):
        with pytest.raises(dv.DivulgeError, match="`utility` must"):
            dv.chord_bound("pml=1", utility=utility)
