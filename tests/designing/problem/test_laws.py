"""Guarantees that a design keeps already change nothing; nor do the method, or halves of a secret."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import divulge as dv

LOOSE: tuple[Any, ...] = (dv.guarantees.MaximalLeakage(1), dv.guarantees.BayesCapacity(2))


@pytest.mark.parametrize("more", LOOSE, ids=str)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_a_capacity_that_does_not_bind_leaves_the_best_under_a_floor(size: int, more: dv.Guarantee) -> None:
    """Resampling, C = (1 - l) I + l 1 P^T, is the best under a floor l of the lift, for every convex utility."""
    floor = math.exp(-0.01)
    resampled = (1 - floor) * np.eye(size) + floor / size
    for guarantee in (dv.PMC(0.01), dv.ALIP(0.01, 3)):
        found = dv.design([f"1/{size}"] * size, guarantee, more, utility="total-variation")
        best = (1 - floor) * (1 - 1 / size)
        assert np.abs(resampled * size - 1).mean() / 2 == pytest.approx(best)
        assert best * (1 - 1e-9) <= found.utility <= found.bound
        assert best <= found.bound <= best * (1 + 1e-9)
    dv.design([f"1/{size}"] * size, dv.PMC(0.01), more, utility="total-variation", at_least=best * (1 - 1e-9))


def test_a_capacity_that_does_not_bind_leaves_the_best_of_a_real_prior() -> None:
    counts = (830, 786, 636, 969, 100, 748)
    asked = (dv.PMC(0.001), dv.guarantees.Lift(1.2252333634447456))
    alone = dv.design(dv.Prior.from_counts(counts), *asked, utility="le-cam")
    both = dv.design(dv.Prior.from_counts(counts), *asked, dv.guarantees.BayesCapacity(2), utility="le-cam")
    assert both.utility == pytest.approx(alone.utility, rel=1e-8)
    assert both.bound >= alone.utility


@pytest.mark.parametrize("p", [0.5, 0.9089181965956644, 0.999])
@pytest.mark.parametrize("method", ["enumeration", "column-generation"])
def test_sets_at_the_end_of_a_range_of_masses_are_priced(p: float, method: str) -> None:
    """Of two secrets only the lightest and the heaviest set are there, and 1 - p may round to either side."""
    best = dv.design([p, 1 - p], dv.LDP(0.1))
    found = dv.design([p, 1 - p], dv.LDP(0.1), method=method)
    assert found.utility == pytest.approx(best.utility, rel=1e-9)
    assert best.utility <= found.bound <= best.utility * (1 + 1e-6)


@pytest.mark.parametrize("method", [None, "enumeration", "column-generation", "closed-form"])
@pytest.mark.parametrize("asked", ["ldp=0", "pml=0", "pmc=0", "bayes-capacity=1", "alip=0:1"])
def test_nothing_to_say_is_said_by_every_method(asked: str, method: str | None) -> None:
    found = dv.design([0.2, 0.3, 0.5], asked, method=method)
    assert (found.utility, found.bound, len(found.outcomes)) == (0.0, 0.0, 1)


@pytest.mark.parametrize("more", ["pmc=2", "lip=1", "ldp=2", "maximal-leakage=0.9", "lift=2"])
def test_halves_of_a_secret_say_no_less(more: str) -> None:
    whole = dv.design(["1/2", "1/4", "1/4"], "pml=0.4", more)
    halves = dv.design(["1/4", "1/4", "1/4", "1/8", "1/8"], "pml=0.4", more)
    assert halves.bound >= whole.utility


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("kind", ["pml", "pmc"])
def test_bounds_of_closed_forms_are_close_at_tiny_levels(kind: str, epsilon: float) -> None:
    """Three equal secrets in 50 digits: two lifts at one bound, the third makes up for them."""
    with mp.workdps(50):
        bound = mp.exp(mp.mpf(epsilon if kind == "pml" else -epsilon))
        lifts = [bound, bound, 3 - 2 * bound]
        for name, f in {"chi-squared": lambda v: (v - 1) ** 2, "mutual-information": lambda v: v * mp.log(v)}.items():
            best = mp.fsum(map(f, lifts)) / 3
            found = dv.design(["1/3"] * 3, f"{kind}={epsilon!r}", utility=name)
            assert best <= found.bound <= best * (1 + mp.mpf("1e-13") / mp.mpf(epsilon) + mp.mpf("1e-10"))


def test_a_capacity_just_above_silence_beside_floors_and_an_outcome_that_is_forbidden_has_a_design() -> None:
    """The solver ends without a status at its finest tolerance: that is no guarantee that leaves no mechanism."""
    asked = (dv.ALIP(1e-6, math.log(2)), dv.ALIP(math.log(2), math.log(1.25)))
    more = dv.guarantees.MaximalLeakage(2.9999938960522543e-06)
    found = dv.design(["1/5"] * 5, *asked, more, utility="chi-squared", forbidden=[(0, 3)])
    freely = dv.design(["1/5"] * 5, *asked, more, utility="chi-squared")
    assert 0 <= found.utility <= found.bound
    assert found.utility <= freely.bound * (1 + 1e-9)
    assert all(one.holds_for(found.joint if one.about == "joint" else found.channel) for one in (*asked, more))
