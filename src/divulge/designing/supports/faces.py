"""The best convex combination of outcomes of several kinds, each of which some secrets must never lead to.

A kind is a face of the polytope of lift vectors: those that are 0 where it forbids. Its vertices are vertices of the
polytope. Under a dual in which what a kind forbids is too dear to hold high, the prices of all vertices are those of
the kind.
"""

import math
from dataclasses import replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Scoring, solved
from divulge.designing.master.restricted_master import Dual, refined
from divulge.designing.methods import CLOSED, ENOUGH, LISTED, SEARCHED, everything
from divulge.designing.polytope.limits import Classes, Limits, classes_of
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.pricing.counting import Counting
from divulge.designing.pricing.enumeration import Enumeration, Listing, every_vertex, most_gaining
from divulge.designing.pricing.problem import Oracle, Problem, simple_start
from divulge.designing.start.circular_arcs import without_search
from divulge.designing.supports.columns import ConvexCombination, Outcomes, Price, combination, inside_any
from divulge.designing.supports.correlated import Informed
from divulge.designing.supports.given_outcomes import Task, climbed, programs
from divulge.designing.supports.spatial import SpatialBranchAndBound
from divulge.designing.supports.tangents import touched
from divulge.errors import DivulgeError

_DEAR = 64.0
_RARE = 1e-12
_CLIMBING = 40
"""Most steps of climbing from the best mixture that was found."""

_SHARE = 0.6
"""The share of the time left that tangents may take."""


def best_within(
    classes: Classes, utility: SubConvex, limits: Limits, kinds: np.ndarray, effort: Effort, method: str | None = None
) -> tuple[str, np.ndarray, np.ndarray, float]:
    """Return (method, weights (M,), lifts (N, M), bound) of the best convex combination of outcomes of the kinds.

    The kinds are columns of a boolean (N, K): an outcome is 0 outside one of them. Raises Infeasible when none averages
    to 1 under the tightened float limits.
    """
    of = classes.of_secret
    p, size = classes.probability[of], len(of)
    if isinstance(utility, Informed):
        alike, mass, fewer, open_to = _merged(p, utility, kinds)
        if len(mass) < size:
            limits = limits.tightened(float(mass.min()), len(mass))
            name, weights, lifts, bound = best_within(classes_of(mass), fewer, limits, open_to, effort, method)
            return name, weights, lifts[alike], bound
    counts = None if classes.counts is None else classes.counts[of]
    apart = Classes(p, np.ones(size, dtype=np.int64), tuple(np.arange(size)[:, None]), counts)
    if limits.trivial or size == 1:
        start = _some(p, limits, kinds)
        return CLOSED, start.weights, start.lifts, 0.0
    problem = Problem.of(apart, utility, limits)
    start = _quick(problem) if kinds.all(axis=0).any() else _some(p, limits, kinds)
    name = LISTED if Enumeration.fits(problem) else SEARCHED
    if method not in (None, name):
        raise DivulgeError.of("method", f"be {name} for such a utility and alphabet", "it", repr(method))
    hurried = replace(effort, deadline=effort.deadline - effort.left / 4) if effort.left < math.inf else effort
    lifts = simple_start(problem).lifts(apart)
    lifts = np.concatenate([start.lifts.T, lifts[inside_any(lifts, kinds)]])
    if name == LISTED:
        price = _of_all(problem, kinds)
    elif isinstance(utility, Informed):
        cells = SpatialBranchAndBound(problem, utility, kinds, effort)
        price, near = cells.price, replace(hurried.some(_SHARE), tolerance=ENOUGH / 100)
        start, seen = touched(problem, kinds, start, cells.extremes(), price, near)
        lifts = np.concatenate([lifts, start.lifts.T, seen])
    else:
        price = _of_kinds(problem, kinds, effort)
    found = start
    if not found.closed(problem, ENOUGH / 10):
        found = combination(problem, start, _valued(lifts, p, utility), price, hurried)
    if name == SEARCHED and not found.closed(problem, ENOUGH):
        found = max(found, _higher(problem, kinds, found, effort), key=lambda one: one.utility(problem))
    return name, found.weights, found.lifts, found.bound


def _merged(p: np.ndarray, utility: Informed, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray, Informed, np.ndarray]:
    """Return (the group of each secret, the mass of each group, the utility and the kinds of groups).

    Secrets that tell the same of W may all have the mean of their lifts: it keeps the limits, and the utility.
    """
    rows, alike = np.unique(np.column_stack([utility.given, kinds]), axis=0, return_inverse=True)
    alike = alike.ravel()  # NumPy 2.0 gives it a second axis
    values = utility.given.shape[1]
    return alike, np.bincount(alike, p), replace(utility, given=rows[:, :values]), rows[:, values:] > 0


def _higher(problem: Problem, kinds: np.ndarray, found: ConvexCombination, effort: Effort) -> ConvexCombination:
    """Return the mixture that climbs from another, each outcome within its kind."""
    p, columns = problem.classes.probability, found.lifts * found.weights
    kind = ((columns > 0).T.astype(float) @ ~kinds == 0).argmax(axis=1)
    task = Task(p, problem.utility, problem.limits, problem.limits, kinds[:, kind])
    channel = climbed(task, columns, min(_CLIMBING, programs(columns.size)), effort)[0]
    weights = p @ channel
    used = np.flatnonzero(weights > _RARE)
    lifts = channel[:, used] / weights[used]
    return ConvexCombination(refined(weights[used], lifts.T), lifts, found.bound)


def _of_all(problem: Problem, kinds: np.ndarray) -> Price:
    """Return the price of all vertices of the kinds, listed."""
    vertices = every_vertex(problem)
    listing = Listing(problem, vertices.take(np.flatnonzero(inside_any(vertices.lifts(problem.classes), kinds))))

    def price(dual: Dual) -> tuple[Outcomes, float]:
        excess, cost = listing.price(dual)
        which = most_gaining(excess, listing.peaks, problem.secrets)
        return Outcomes(listing.lifts[which], listing.values[which], listing.peaks[which]), cost

    return price


def _quick(problem: Problem) -> ConvexCombination:
    """Return a convex combination of arcs."""
    found = without_search(problem)
    return ConvexCombination(found.weights, found.vertices.lifts(problem.classes).T, math.inf)


def _some(p: np.ndarray, limits: Limits, kinds: np.ndarray) -> ConvexCombination:
    """Return any convex combination of the kinds: the uninformative column where one forbids nothing."""
    if kinds.all(axis=0).any():
        return ConvexCombination(np.ones(1), np.ones((len(p), 1)), math.inf)
    found = solved(Scoring(np.where(kinds, 0.0, -np.inf), limits, p[None, :], p[None, :])).channel
    weights = p @ found
    used = np.flatnonzero(weights > _RARE)
    lifts = np.where(kinds, found, 0.0)[:, used] / weights[used]
    return ConvexCombination(refined(weights[used], lifts.T), lifts, math.inf)


def _of_kinds(problem: Problem, kinds: np.ndarray, effort: Effort) -> Price:
    """Return the price of all vertices of the kinds."""
    p = problem.classes.probability
    oracle: Oracle = Counting(problem, effort) if Counting.fits(problem.classes) else everything(problem, effort)

    def price(dual: Dual) -> tuple[Outcomes, float]:
        dearest = p * (float((dual.classes / p).max()) + _DEAR * problem.top)
        found, worst = [np.zeros((0, len(p)))], -np.inf
        for kind in kinds.T:
            fresh, excess = oracle.price(Dual(np.where(kind, dual.classes, dearest), dual.capacity))
            lifts = fresh.lifts(problem.classes)
            found.append(lifts[(lifts[:, ~kind] == 0).all(axis=1)])
            worst = max(worst, excess)
        return _valued(np.unique(np.concatenate(found), axis=0), p, problem.utility), worst

    return price


def _valued(lifts: np.ndarray, p: np.ndarray, utility: SubConvex) -> Outcomes:
    return Outcomes(lifts, utility.at(p, lifts), lifts.max(axis=1))
