"""Designs whose outcomes are named after the values: from a request to a certified channel with its bounds."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Scoring, Solution, bound_of, solved
from divulge.designing.naming.diagonal import diagonal
from divulge.designing.naming.estimation import Estimation
from divulge.designing.naming.integer_names import keeps, named_exactly
from divulge.designing.naming.names import OwnNames, floors_of, leads_asked, leads_of
from divulge.designing.naming.search import Named, best_found, unconstrained
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.rounding import Checker
from divulge.designing.start.closed_forms import SCORED, truth_bound
from divulge.errors import DivulgeError

SOLVED, LARGEST = 64, 200
"""Up to so many values scores are one linear program over all entries, and a second one without names; and where no
closed form is known."""
CLOSED, PROGRAM = "closed-form", "linear-program"
_NEAR = 1e-10


@dataclass(frozen=True, eq=False)
class Found:
    """A float channel (N, N), the bounds with and without names, large when good, and how it was found."""

    channel: np.ndarray
    bound: float
    unnamed: float
    method: str


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest probability of each value over a set of priors, and one prior of it."""

    least: np.ndarray
    most: np.ndarray
    inside: np.ndarray


@dataclass(frozen=True, eq=False)
class Naming:
    """A mechanism that keeps the guarantees and names, and what they ask: the leads (N,) and floors (N,) of columns."""

    start: np.ndarray
    leads: np.ndarray
    floors: np.ndarray

    @classmethod
    def of(cls, limits: Limits, over: Range, names: OwnNames) -> "Naming":
        """Return the diagonal mechanism, mixed so that each value occurs, and what is asked.

        Limits that leave nothing to say are refused.
        """
        if limits.trivial and len(over.inside) > 1:
            raise DivulgeError.of(
                "guarantee", "leave something to say where outcomes bear the names of values", "it",
                "one that leaves nothing", "give a larger epsilon.",
            )  # fmt: skip
        p, found = over.inside, diagonal(limits, over.least, over.most, over.inside)
        start, floors = found.channel, floors_of(names, p)
        if (p @ start < floors).any():
            start = (1 - names.occurrence) * start + names.occurrence * p
        others = np.where(np.eye(len(p), dtype=bool), 0.0, start).max(axis=0)
        with np.errstate(divide="ignore"):
            largest = np.where(others > 0, np.diag(start) / np.where(others > 0, others, 1.0), math.inf)
        return cls(start, leads_of(names, largest), floors)

    def within(self, support: np.ndarray) -> "Naming":
        """Return the same for some of the secrets; what others are never told apart by goes to all."""
        if len(support) == len(self.leads):
            return self
        part = self.start[np.ix_(support, support)]
        return Naming(
            part + (1 - part.sum(axis=1, keepdims=True)) / len(support), self.leads[support], self.floors[support]
        )


@dataclass(frozen=True, eq=False)
class _Mean:
    """The mean of scores (N, N), or that of the worst secret, as a utility of channels."""

    scores: np.ndarray
    worst: bool

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel."""
        each = (channel * self.scores).sum(axis=1)
        return float(each.min() if self.worst else prior @ each)


@dataclass(frozen=True, eq=False)
class Rounder:
    """Turns float channels into integers that keep guarantees and names exactly."""

    checker: Checker
    prior: np.ndarray
    naming: Naming
    names: OwnNames
    bits: int

    def __call__(self, channel: np.ndarray) -> np.ndarray:
        """Return the integers; where the channel leaves no room for rounding, those of the diagonal mechanism."""
        occurrence = Fraction(self.names.occurrence)
        start, leads = self.naming.start, leads_asked(self.names, self.naming.leads)
        for one in (np.maximum(channel, 0.0), start):
            found = named_exactly(one, start, self.prior, self.checker, leads, occurrence, self.bits)
            if found is not None:
                return found
        raise DivulgeError.of(
            "guarantee", "leave something to say where outcomes bear the names of values", "it",
            "one that leaves less than the grid of integers shows", "give a larger epsilon, or more `bits`.",
        )  # fmt: skip


def named_scores(scores: np.ndarray, prior: np.ndarray, worst: bool, limits: Limits, naming: Naming,
                 effort: Effort) -> Found:  # fmt: skip
    """Return the best named channel for scores (N, N), to be large, of a strictly positive prior.

    A closed form or one linear program proves it; of many values without one it is the best that is found.
    """
    n, p = len(prior), prior[None, :]
    plain = Scoring(scores, limits, p, np.eye(n) if worst else p)
    closed = next((found for form in SCORED if (found := form(plain)) is not None), None)
    floors = naming.floors if naming.floors.any() else None
    if closed and floors is None and keeps(closed.channel, prior, limits, naming.leads, _NEAR):
        return Found(closed.channel, closed.bound, closed.bound, CLOSED)
    if n <= SOLVED or (closed is None and n <= LARGEST):
        asked = replace(plain, leads=naming.leads, floors=floors)
        try:
            solution = solved(asked, effort)
        except DivulgeError:
            solution = None
        if solution is not None:
            unnamed = closed.bound if closed else _without(plain, solution, effort)
            return Found(solution.channel, solution.bound, max(unnamed, solution.bound), PROGRAM)
    bound = closed.bound if closed else min(truth_bound(plain), math.fsum((prior * scores.max(axis=1)).tolist()))
    task = Named(prior, prior, limits, naming.start, naming.leads, naming.floors, _Mean(scores, worst))
    channel, how = best_found(task, closed.channel if closed else np.ones((n, 1)), effort)
    return Found(channel, bound, bound, how)


def _without(plain: Scoring, named: Solution, effort: Effort) -> float:
    """Return a bound for channels without names: of their own program for few values, or of the same multipliers."""
    if len(plain.reference) <= SOLVED and not effort.late():
        return solved(plain, effort).bound
    assert named.dual is not None
    return bound_of(plain, replace(named.dual, occurrence=None))


def named_best(
    goal: SubConvex | Estimation, prior: np.ndarray, exactly: np.ndarray, limits: Limits, naming: Naming, effort: Effort
) -> Found:
    """Return the best named channel that is found for a convex utility or a variance, of a strictly positive prior.

    The bound is that of all channels, also without names.
    """
    task = Named(prior, exactly, limits, naming.start, naming.leads, naming.floors, goal)
    unnamed, bound = unconstrained(task, effort)
    if isinstance(goal, Estimation):
        bound = -goal.bound(prior, bound)
    channel, how = best_found(task, unnamed, effort)
    return Found(channel, bound, bound, how)
