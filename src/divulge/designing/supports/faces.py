"""The best convex combination of outcomes of several kinds, each of which some secrets must never lead to.

A kind is a face of the polytope of lift vectors: those that are 0 where it forbids. Its vertices are vertices of the
polytope. Under a dual in which what a kind forbids is too dear to hold high, the prices of all vertices are those of
the kind.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.score_program import Scoring, solved
from divulge.designing.master.column_generation import Mixture, generate, uninformed
from divulge.designing.master.restricted_master import Dual
from divulge.designing.methods import CLOSED, ENOUGH, LISTED, SEARCHED, everything
from divulge.designing.polytope.limits import Classes, Limits, classes_of
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.polytope.vertices import Outcomes, Vertices, inside
from divulge.designing.pricing.counting import Counting
from divulge.designing.pricing.enumeration import Enumeration
from divulge.designing.pricing.problem import Oracle, Problem, simple_start
from divulge.designing.start.circular_arcs import at_once
from divulge.designing.supports.correlated import Informed
from divulge.designing.supports.given_outcomes import Task, climbed, programs
from divulge.designing.supports.spatial import SpatialBranchAndBound
from divulge.designing.supports.tangents import combination, touched
from divulge.errors import DivulgeError

_DEAR = 64.0
"""Times the largest utility that a forbidden secret costs. A heuristic: what holds it all the same is left out."""
_RARE = 1e-12
"""Outcomes of less probability are left out: the solver's tolerances leave some that are none."""
_CLIMBING = 40
"""Most steps of climbing from the best mixture that was found."""

_SHARE = 0.6
"""The share of the time left that tangents may take."""
_PRICED = 1e-6
"""Seconds of a slow core, over the square of the number of secrets, that the first prices of all vertices take."""


def best_within(
    classes: Classes, utility: SubConvex, limits: Limits, kinds: np.ndarray, effort: Effort, method: str | None = None
) -> tuple[str, Mixture]:
    """Return (method, the best mixture of outcomes of the kinds, of single secrets).

    The kinds are columns of a boolean (N, K): an outcome is 0 outside one of them. Raises Infeasible when none averages
    to 1 under the tightened float limits.
    """
    of = classes.of_secret
    p, size = classes.probability[of], len(of)
    counts = None if classes.counts is None else classes.counts[of]
    apart = Classes.apart(p, list(np.arange(size)[:, None]), counts)
    if isinstance(utility, Informed):
        alike, mass, fewer, open_to = _merged(p, utility, kinds)
        if len(mass) < size:
            limits = limits.tightened(float(mass.min()), len(mass))
            name, found = best_within(classes_of(mass), fewer, limits, open_to, effort, method)
            lifts = found.vertices.lifts(found.classes)[:, alike]
            return name, replace(found, vertices=Outcomes.of(lifts, apart, utility), classes=apart)
    problem = Problem.of(apart, utility, limits)
    if limits.trivial or size == 1:
        return CLOSED, _some(problem, kinds, 0.0, effort)
    start = at_once(problem, effort) if kinds.all(axis=0).any() else _some(problem, kinds, problem.bound, effort)
    name = LISTED if Enumeration.fits(problem) else SEARCHED
    if method not in (None, name):
        raise DivulgeError.of("method", f"be {name} for such a utility and alphabet", "it", repr(method))
    hurried = effort.less(math.inf)
    if hurried.late() or effort.left < _PRICED * size**2:
        return name, start
    simple = simple_start(problem).lifts(apart)
    lifts = np.concatenate([start.vertices.lifts(apart), simple[inside(simple, kinds).any(axis=1)]])
    if name == LISTED:
        oracle = Faces(problem, np.ones((size, 1), dtype=bool), Enumeration(problem, kinds), hurried)
    elif isinstance(utility, Informed):
        oracle, near = SpatialBranchAndBound(problem, utility, kinds, effort), hurried.some(_SHARE)
        near = replace(near, tolerance=ENOUGH / 100)
        start, seen = touched(problem, kinds, start, oracle.extremes(), oracle, near)
        lifts = np.concatenate([lifts, start.vertices.lifts(apart), seen])
    else:
        counted = Counting.fits(apart)
        whole = Counting(problem, hurried) if counted else everything(problem, hurried)
        oracle = Faces(problem, kinds, whole, hurried)
    found = start
    if not found.settled(problem, ENOUGH / 10):
        seen = Outcomes.of(lifts, apart, utility)
        found = start.or_better(generate(problem, oracle, hurried, replace(start, seen=seen)), problem)
    if name == SEARCHED and not found.settled(problem, ENOUGH) and not hurried.late():
        found = max(found, _higher(problem, kinds, found, hurried), key=lambda one: one.utility(problem))
    return name, found


def _merged(p: np.ndarray, utility: Informed, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, Informed, np.ndarray]:
    """Return (the group of each secret, the mass of each group, the utility and the kinds of groups).

    Secrets that tell the same of W may all have the mean of their lifts: it keeps the limits, and the utility.
    """
    rows, alike = np.unique(np.column_stack([utility.given, kinds]), axis=0, return_inverse=True)
    alike = alike.ravel()  # NumPy 2.0 gives it a second axis
    values = utility.given.shape[1]
    return alike, np.bincount(alike, p), replace(utility, given=rows[:, :values]), rows[:, values:] > 0


def _higher(problem: Problem, kinds: np.ndarray, found: Mixture, effort: Effort) -> Mixture:
    """Return the mixture that climbs from another, each outcome within its kind."""
    lifts = found.vertices.lifts(problem.classes)
    allowed = kinds[:, inside(lifts, kinds).argmax(axis=1)]
    task = Task(problem.classes.probability, problem.utility, problem.limits, problem.limits, allowed)
    columns = lifts.T * found.weights
    channel = climbed(task, columns, min(_CLIMBING, programs(columns.size)), effort)[0]
    return combination(problem, channel, found.bound, _RARE)[0]


def _some(problem: Problem, kinds: np.ndarray, bound: float, effort: Effort) -> Mixture:
    """Return any mixture of outcomes of the kinds: the uninformative column where one forbids nothing."""
    if kinds.all(axis=0).any():
        return uninformed(problem, bound)
    p = problem.classes.probability[None, :]
    even = kinds / np.maximum(kinds.sum(axis=1, keepdims=True), 1)
    if kinds.any(axis=1).all() and problem.limits.nearly_kept(even, p[0], 0.0):
        return combination(problem, even, bound, _RARE)[0]
    found = solved(Scoring(np.where(kinds, 0.0, -np.inf), problem.limits, p, p), effort).channel
    return combination(problem, np.where(kinds, found, 0.0), bound, _RARE)[0]


@dataclass(frozen=True, eq=False)
class Faces:
    """Prices the vertices of some kinds by an oracle of all: what a kind forbids is made too dear to be held high."""

    problem: Problem
    kinds: np.ndarray
    oracle: Oracle[Vertices]
    effort: Effort = NO_HURRY

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Outcomes, float]:
        """Return the vertices of each kind that the oracle finds, and the largest of its excesses; inf out of time."""
        problem, p = self.problem, self.problem.classes.probability
        dearest = p * (float((dual.classes / p).max()) + _DEAR * problem.top)
        found, worst = [np.zeros((0, len(p)))], -np.inf
        for kind in self.kinds.T:
            if self.effort.late():
                worst = math.inf
                break
            fresh, excess = self.oracle.price(Dual(np.where(kind, dual.classes, dearest), dual.capacity), enough)
            lifts = fresh.lifts(problem.classes)
            found.append(lifts[(lifts[:, ~kind] == 0).all(axis=1)])
            worst = max(worst, excess)
        return Outcomes.of(np.unique(np.concatenate(found), axis=0), problem.classes, problem.utility), worst
