"""Designs whose outcomes are named after the values: from a request to a certified channel with its bounds."""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Scoring, Solution, bound_of, solved
from divulge.designing.naming.estimation import Estimation
from divulge.designing.naming.integer_names import keeps
from divulge.designing.naming.names import Naming
from divulge.designing.naming.search import Mean, Named, best_found, unconstrained
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.start.closed_forms import closed_score, truth_bound
from divulge.errors import DivulgeError

SOLVED, LARGEST = 64, 200
"""Up to so many values scores are one linear program over all entries, and a second one without names; and where no
closed form is known."""
CLOSED, PROGRAM = "closed-form", "linear-program"
_NEAR = 1e-10
"""By so much a closed form may miss what names ask for: it is rounding, which the certified channel mends."""


@dataclass(frozen=True, eq=False)
class NamedChannel:
    """A float channel (N, N), the bounds with and without names, large when good, and how it was found."""

    channel: np.ndarray
    bound: float
    unnamed: float
    method: str


def named_scores(scores: np.ndarray, prior: np.ndarray, worst: bool, limits: Limits, naming: Naming,
                 effort: Effort) -> NamedChannel:  # fmt: skip
    """Return the best named channel for scores (N, N), proved by a program or closed form; of many, the best found."""
    n, p = len(prior), prior[None, :]
    plain = Scoring(scores, limits, p, np.eye(n) if worst else p)
    closed = closed_score(plain)
    if closed and not naming.floors.any() and keeps(closed.channel, prior, limits, naming.leads, _NEAR):
        return NamedChannel(closed.channel, closed.bound, closed.bound, CLOSED)
    if n <= SOLVED or (closed is None and n <= LARGEST):
        asked = replace(plain, leads=naming.leads, floors=naming.floors)
        try:
            solution = solved(asked, effort)
        except DivulgeError:
            solution = None
        if solution is not None:
            unnamed = closed.bound if closed else _without(plain, solution, effort)
            return NamedChannel(solution.channel, solution.bound, max(unnamed, solution.bound), PROGRAM)
    bound = closed.bound if closed else min(truth_bound(plain), math.fsum((prior * scores.max(axis=1)).tolist()))
    task = Named(prior, prior, limits, naming, Mean(scores, worst))
    channel, how = best_found(task, closed.channel if closed else np.ones((n, 1)), effort)
    return NamedChannel(channel, bound, bound, how)


def _without(plain: Scoring, named: Solution, effort: Effort) -> float:
    """Return a bound for channels without names: of their own program for few values, or of the same multipliers."""
    if len(plain.reference) <= SOLVED and not effort.late():
        return solved(plain, effort).bound
    assert named.dual is not None
    return bound_of(plain, replace(named.dual, occurrence=None))


def named_best(
    goal: SubConvex | Estimation, prior: np.ndarray, exactly: np.ndarray, limits: Limits, naming: Naming, effort: Effort
) -> NamedChannel:
    """Return the best named channel found for a convex utility or a variance; the bound is that of all channels."""
    if len(prior) == 1 and isinstance(goal, SubConvex):  # the lift of a single secret is always 1
        alone = float(goal.f(np.ones(1))[0])
        return NamedChannel(np.ones((1, 1)), alone, alone, CLOSED)
    task = Named(prior, exactly, limits, naming, goal)
    unnamed, bound = unconstrained(task, effort)
    if isinstance(goal, Estimation):
        bound = -goal.bound(prior, bound)
    channel, how = best_found(task, unnamed, effort)
    return NamedChannel(channel, bound, bound, how)
