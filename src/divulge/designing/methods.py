"""The ways of solving a design, in the order in which they are tried; each can be asked for by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.score_program import Scoring, Solution, solved
from divulge.designing.master.aggregation import aggregated, without_tail
from divulge.designing.master.column_generation import Mixture, generate, uninformed
from divulge.designing.polytope.vertices import Vertices
from divulge.designing.pricing.branch_and_bound import BranchAndBound
from divulge.designing.pricing.counting import Counting
from divulge.designing.pricing.enumeration import Enumeration
from divulge.designing.pricing.grid import Cascade, ScaledWeights
from divulge.designing.pricing.problem import Oracle, Problem, starts
from divulge.designing.pricing.subset_sums import listed_sets, singletons
from divulge.designing.start.circular_arcs import in_a_hurry
from divulge.designing.start.closed_forms import closed, closed_score
from divulge.designing.start.random_sets import SampledSets, of_random_sets
from divulge.designing.start.randomized_rounding import from_relaxed_dual, randomly_rounded
from divulge.errors import DivulgeError

LATER = (3e7, 2.4e8)
"""Additions that a price on a grid may cost: at first, and where that is not close enough."""
ENOUGH = 1e-6
"""The relative gap at which no more is priced than was."""
COARSEST = 1e-2
"""The relative gap at which arcs that take no time are not tried any more."""
_FEW = 30
"""With sets of fewer secrets no tail is divisible: which ones they are decides."""
_SHARE = 0.3
"""The share of the time left that column generation from a relaxed dual may take."""
_STARTING = 6e-8
"""Seconds of a slow core that one secret of one start of a family takes in a set of its first columns: measured."""
CLOSED, LISTED, SEARCHED = "closed-form", "enumeration", "column-generation"
_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def _enumerated(problem: Problem, effort: Effort) -> Mixture | None:
    if Enumeration.fits(problem):
        return generate(problem, Enumeration(problem), effort)
    apart = _apart(problem)
    return without_tail(apart, effort, _enumerated) if Enumeration.fits(aggregated(apart)[0]) else None


def _apart(problem: Problem) -> Problem:
    return Problem.of(singletons(problem.classes), problem.utility, problem.limits)


def _counted(problem: Problem, effort: Effort) -> Mixture | None:
    return generate(problem, Counting(problem, effort), effort) if Counting.fits(problem.classes) else None


def _searched(problem: Problem, effort: Effort) -> Mixture | None:
    apart = _apart(problem)
    if effort.first is not None and effort.left <= _STARTING * starts(apart) * apart.secrets**2:
        return effort.first
    if effort.wanted is not None or effort.late():
        quick = in_a_hurry(apart, effort)
        effort.tell(quick.utility(apart), quick.bound, 0)
        if effort.late():
            return quick
    return without_tail(apart, effort, _columns)


def _columns(apart: Problem, effort: Effort) -> Mixture:
    """Return what oracles find, from those that suit the prior to those that price everything."""
    found = of_random_sets(apart, effort, ENOUGH)
    if effort.first is not None and effort.late():
        return found or effort.first
    listed, boxes = listed_sets(apart, LATER[0], effort), apart.shape.boxes
    few = listed is None and _members(apart) < _FEW
    if listed is not None:
        found = _further(apart, listed, effort, found)
    elif few and boxes and found is None:
        near = SampledSets(apart, LATER[0], effort)
        found = from_relaxed_dual(apart, near, effort.some(_SHARE), found, ENOUGH)
        return _further(apart, everything(apart, effort), effort, found)
    elif few and not boxes:
        found = from_relaxed_dual(apart, ScaledWeights(apart, LATER[0], effort), effort, found, ENOUGH)
    return _further(apart, everything(apart, effort), effort, _rounded(apart, effort, found))


def _rounded(problem: Problem, effort: Effort, found: Mixture | None) -> Mixture:
    """Return what randomized rounding makes of what was found, unless that is good enough or the time is up."""
    if found is not None and (effort.late() or found.settled(problem, ENOUGH)):
        return found
    return randomly_rounded(problem, effort, found, ENOUGH)


def everything(problem: Problem, effort: Effort) -> Oracle[Vertices]:
    """Return an oracle that prices all vertices, ever more closely."""
    coarse, fine = (ScaledWeights(problem, work, effort) for work in LATER)
    return Cascade(problem, BranchAndBound(problem, effort, coarse.pairs), coarse, fine)


def _members(problem: Problem) -> float:
    """Return how many of the lightest secrets, but for a tenth, fill the mass that is worth most."""
    return float(max(problem.masses) / np.quantile(problem.classes.probability, 0.1))


def _further(problem: Problem, oracle: Oracle[Vertices], effort: Effort, found: Mixture | None) -> Mixture:
    """Return what column generation makes of what was found, when there is time and a gap."""
    if found is None:
        return generate(problem, oracle, effort)
    if effort.late() or found.settled(problem, ENOUGH):
        return found
    more = replace(effort, tolerance=ENOUGH / 100)
    return found.or_better(generate(problem, oracle, more, found), problem)


MIXTURES: dict[str, Callable[[Problem, Effort], Mixture | None]] = {
    CLOSED: closed,
    "counting": _counted,
    LISTED: _enumerated,
    SEARCHED: _searched,
}
"""Name -> method for utilities that are convex in the lift, as tried in this order; None where it does not apply."""
SOLUTIONS: dict[str, Callable[[Scoring, Effort], Solution | None]] = {CLOSED: closed_score, "linear-program": solved}
"""The same for scores, which are linear in the channel."""
METHODS = tuple(dict.fromkeys((*MIXTURES, *SOLUTIONS)))


def first_of(problem: Problem, effort: Effort = NO_HURRY) -> Mixture:
    """Return a mixture that is made without a search, of the fewer outcomes the shorter the time is."""
    return in_a_hurry(_apart(problem), effort)


def mixture_of(problem: Problem, effort: Effort, method: str | None = None) -> tuple[str, Mixture]:
    """Return (name, mixture) of the first method that applies, or of the one that is asked for."""
    if problem.limits.trivial and (method is None or method in MIXTURES):
        return CLOSED, uninformed(problem, 0.0)
    name, found = _first(MIXTURES, problem, effort, method)
    if effort.first is None and found.settled(problem, COARSEST):
        return name, found
    quick = effort.first or first_of(problem, effort)
    return name, max(found, replace(quick, bound=found.bound), key=lambda one: one.utility(problem))


def solution_of(scoring: Scoring, effort: Effort, method: str | None = None) -> tuple[str, Solution]:
    """Return (name, solution) of the first method that applies, or of the one that is asked for."""
    return _first(SOLUTIONS, scoring, effort, method)


def _first(
    methods: dict[str, Callable[[_Asked, Effort], _Answer | None]], asked: _Asked, effort: Effort, method: str | None
) -> tuple[str, _Answer]:
    if method is not None and method not in METHODS:
        raise DivulgeError.unknown("method", method, METHODS)
    for name, solve in methods.items():
        found = solve(asked, effort) if method in (None, name) else None
        if found is not None:
            return name, found
    raise DivulgeError.of("method", "apply to this prior, utility and guarantees", "it", f"{method}, which does not")
