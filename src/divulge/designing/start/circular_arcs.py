"""A channel at once: arcs of one length round a circle on which every secret takes its probability.

While an arc goes round, it holds every secret for the same share of the way, so that all lifts average to 1; what lies
at its ends is held in part. Between the places where an end passes from one secret to the next, lifts are linear: the
arcs that stop at these places alone, with the way to both neighbors for a weight, average to 1 as well.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.master.caratheodory import purified
from divulge.designing.master.column_generation import Mixture, uninformed
from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.polytope.vertices import Box, Outcomes, box_vertices, joined
from divulge.designing.pricing.problem import Problem, uninformative
from divulge.designing.supports.correlated import Informed

_GRID = 33
"""Levels of boxes that are looked at on each side: 32 steps, as their chords change smoothly with the level."""
_BEST = 3
"""Boxes whose arcs are made, those of the highest chords. A heuristic: arcs, not chords, decide."""
_ORDERS = 8
"""Orders of the secrets that are tried, one for each of the likeliest values of another variable."""
_GROUPS = 200
"""With more secrets a channel in a hurry has arcs of so many groups: N outcomes take N^3 steps, 30 s at 2,000."""
_FEWEST = 8
"""Groups there are in however short a time: their channel keeps most of what more would."""
_OF_ARCS = 3e-8
"""Seconds of a slow core that a channel of arcs takes, over the cube of the number of values: measured."""
_MADE = 1e-6
"""Seconds of a slow core that one secret in one of the groups takes until it is in integers: measured."""


def at_once(problem: Problem, effort: Effort) -> Mixture:
    """Return what `without_search` returns where there is time for it, else the channel in a hurry."""
    hurried = effort.left < _OF_ARCS * problem.secrets**3
    return in_a_hurry(problem, effort) if hurried else without_search(problem)


def in_a_hurry(problem: Problem, effort: Effort = NO_HURRY) -> Mixture:
    """Return what `without_search` returns; of many secrets neighbors share their lifts, and outcomes are few."""
    if problem.secrets <= _GROUPS:
        return without_search(problem)
    p, classes = problem.classes.probability, problem.classes
    groups = int(min(max(effort.left / (_MADE * len(p)), _FEWEST), _GROUPS))
    order, group = next(iter(_orders(problem))), np.empty(len(p), dtype=np.intp)
    group[order] = np.unique(np.floor((np.cumsum(p[order]) - p[order] / 2) * groups), return_inverse=True)[1]
    mass = np.bincount(group, p)
    together = [np.flatnonzero(group == k) for k in range(len(mass))]
    utility = problem.utility.merged(p, together) if isinstance(problem.utility, Informed) else problem.utility
    part = Problem.of(Classes.apart(mass, together), utility, problem.limits)
    found = without_search(part)
    lifts = found.vertices.lifts(part.classes)[:, group]
    return Mixture(found.weights, Outcomes.of(lifts, classes, problem.utility), problem.bound, classes)


def without_search(problem: Problem) -> Mixture:
    """Return the best of a few mixtures of arcs and the uninformative column, with few outcomes; of single secrets."""
    bound = problem.bound
    tried = [uninformed(problem, bound)]
    for box in _boxes(problem.limits, problem.utility):
        share = min(1.0, (problem.limits.capacity - 1) / (box.high - 1))
        for order in _orders(problem):
            weights, counts, between = _arcs(problem.classes.probability, box.t, order)
            vertices = box_vertices(box, problem.classes, counts, between)
            if share < 1:
                weights, vertices = np.append(share * weights, 1 - share), joined([vertices, uninformative(problem)])
            tried.append(Mixture(weights, vertices, bound, problem.classes))
    best = max(tried, key=lambda found: found.utility(problem))
    columns = best.vertices.lifts(problem.classes).T
    if problem.limits.capacity < math.inf:
        columns = np.vstack([columns, best.vertices.peaks()])
    weights = purified(best.weights, columns, -best.vertices.utility(problem.classes, problem.utility))
    used = np.flatnonzero(weights)
    return replace(best, weights=weights[used], vertices=best.vertices.take(used))


def _boxes(limits: Limits, utility: SubConvex) -> list[Box]:
    """Return the boxes inside the limits whose chords are highest, after what a bound on the capacity leaves."""
    if limits.trivial:
        return []
    low = np.array([limits.low])
    if limits.ratio < math.inf:
        low = np.linspace(max(limits.low, 1 / limits.ratio), 1.0, _GRID)[:-1]
    top = np.minimum(limits.high, limits.ratio * low) if limits.ratio < math.inf else limits.high + 0 * low
    if limits.capacity < math.inf:
        middle = np.minimum(top, limits.capacity)
        top = np.geomspace(middle, top, _GRID).T.ravel()
        low = np.repeat(low, _GRID)
    good = (top > 1 + 1e-12) & (low < 1 - 1e-12)
    boxes = [Box(a, b) for a, b in zip(low[good].tolist(), top[good].tolist(), strict=True)]
    return sorted(boxes, key=lambda b: -min(1.0, (limits.capacity - 1) / (b.high - 1)) * b.secant(utility))[:_BEST]


def _orders(problem: Problem) -> Iterable[np.ndarray]:
    """Yield the orders of the secrets: as they are, or by what they tell of values of another variable."""
    if not isinstance(problem.utility, Informed):
        return [np.arange(problem.secrets)]
    mass, back = problem.utility.seen_from(problem.classes.probability)
    likely = back * mass / problem.classes.probability[:, None]
    return [np.argsort(likely[:, w], kind="stable") for w in np.argsort(-mass)[:_ORDERS]]


def _arcs(p: np.ndarray, t: float, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (weights (n,), sets (n, N), secret in part (n,)) of arcs of mass t that start or end between secrets."""
    size, edges = len(p), np.append(0.0, np.cumsum(p[order]))
    edges /= edges[-1]
    starts = np.concatenate([edges[:-1], (edges[:-1] - t) % 1.0])
    turn = np.argsort(starts, kind="stable")
    gaps = np.diff(starts[turn], append=starts[turn[0]] + 1.0)
    weights = (gaps + np.roll(gaps, 1)) / 2
    place = np.arange(size)
    ends = np.searchsorted(edges, (edges[:-1] + t) % 1.0, side="right") - 1
    begins = np.searchsorted(edges, (edges[:-1] - t) % 1.0, side="right") - 1
    ends, begins = (np.clip(at, 0, size - 1) for at in (ends, begins))
    after = (place[None, :] - place[:, None]) % size < (ends - place)[:, None] % size
    before = (place[None, :] - begins[:, None] - 1) % size < ((place - begins - 1) % size)[:, None]
    sets = np.empty((2 * size, size), dtype=np.int64)
    sets[:, order] = np.concatenate([after, before])
    between = order[np.concatenate([ends, begins])]
    return weights, sets[turn], between[turn]
