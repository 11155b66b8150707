"""The best square channel with names that is found: candidates in closed form, then successive linear programs.

A convex utility is maximized, and a variance is minimized, over a polytope (guarantees and names are linear in the
channel). Linearizing at the last channel and solving the program climbs to a local optimum (Frank and Wolfe, with full
steps for convex maximization: Mangasarian, "Machine learning via polyhedral concave minimization", 1996).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from divulge import clock
from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Scoring, Solution, solved
from divulge.designing.methods import mixture_of
from divulge.designing.naming.estimation import Estimation
from divulge.designing.naming.integer_names import keeps
from divulge.designing.naming.names import Naming
from divulge.designing.naming.patterns import circulant_set, leveled_sets, set_sizes
from divulge.designing.polytope.limits import Limits, classes_of
from divulge.designing.polytope.symmetry import outcomes_of
from divulge.designing.polytope.utilities import SUBCONVEX, SubConvex
from divulge.designing.pricing.counting import Counting
from divulge.designing.pricing.problem import Problem
from divulge.designing.pricing.subset_sums import singletons
from divulge.designing.start.circular_arcs import at_once
from divulge.designing.start.closed_forms import closed
from divulge.designing.start.diagonal import truncated
from divulge.designing.supports.correlated import Informed
from divulge.errors import DivulgeError
from divulge.measures.numeric.inverses import turned

SOLVED = 12
"""Up to this many values the optimum without names is searched for."""
PROGRAMS = 16
"""Up to this many values linear programs over all entries climb from the best candidate."""
_STEPS = 24
"""Linear programs of a climb at most: each is one over all entries, and the first few bring nearly all."""
_WAYS = (1.0, 0.7, 0.4, 0.2, 0.1, 0.05, 0.02)
"""Shares of the way to a program's channel that are tried, about halved: the best is looked for no closer."""
_TOPS = 16
"""Values among which an outcome looks for its own: of random ones eight leave the largest matching, or nearly."""
_SETTLED = 1e-6
"""A climb ends where it rises by a smaller share: what is found has no proof that it would spoil."""


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of scores (N, N), or that of the worst secret, as a utility of channels."""

    scores: np.ndarray
    worst: bool
    least: ClassVar[bool] = False

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel."""
        each = (channel * self.scores).sum(axis=1)
        return float(each.min() if self.worst else prior @ each)


@dataclass(frozen=True, eq=False)
class Named:
    """What is asked: a strictly positive prior (also as given, perhaps exact), float limits, names, and the utility."""

    prior: np.ndarray
    exactly: np.ndarray
    limits: Limits
    naming: Naming
    goal: SubConvex | Estimation | Mean

    def value(self, channel: np.ndarray) -> float:
        """Return the utility, large when good."""
        prior = self.prior
        if isinstance(self.goal, Estimation):  # whatever the labels: in this order sets are circulants
            prior, channel = prior[self.order], channel[np.ix_(self.order, self.order)]
        return (-1.0 if self.goal.least else 1.0) * self.goal.of(prior, channel)

    @cached_property
    def order(self) -> np.ndarray:
        """The values from the most probable on."""
        return np.argsort(-self.prior, kind="stable")

    def slopes(self, channel: np.ndarray) -> np.ndarray:
        """Return scores whose mean rises as the utility does, shape (N, N)."""
        if isinstance(self.goal, Estimation):
            slopes = -self.goal.gradient(self.prior, channel) / self.prior[:, None]
            return slopes / np.abs(slopes * self.prior[:, None]).max()
        assert isinstance(self.goal, SubConvex)
        return self.goal.slopes(self.prior, channel)


def best_found(task: Named, unnamed: np.ndarray, effort: Effort) -> tuple[np.ndarray, str]:
    """Return (the best channel that was found, how), also from the columns of a good one without names."""
    best, most, how, began = np.zeros((0, 0)), -math.inf, "", clock.now()
    for k, (name, channel) in enumerate(candidates(task, unnamed)):
        took = (clock.now() - began) / max(k, 1)
        if best.size and (not effort.spend() or effort.left < took):
            break
        channel = often_enough(channel, task)
        if not keeps(channel, task.prior, task.limits, task.naming.leads):
            continue
        if not len(best) and effort.late():
            return channel, name
        value = task.value(channel)
        if value > most or not len(best):
            best, most, how = channel, value, name
    if not best.size:
        raise DivulgeError.of(
            "guarantee", "leave more than the rounding of doubles", "what it leaves", "less",
            "allow more leakage, or give a mechanism by its name and its ratio, such as randomized-response.",
        )  # fmt: skip
    if (
        task.prior.all()
        and len(task.prior) <= PROGRAMS
        and isinstance(task.goal, SubConvex | Estimation)
        and not effort.late()
    ):
        climbed, reached = _climbed(task, best, most, effort)
        if reached > most:
            return climbed, "successive linear programs"
    return best, how


def candidates(task: Named, unnamed: np.ndarray) -> Iterable[tuple[str, np.ndarray]]:
    """Yield (name, channel) in closed form, or of small programs; each nearly keeps the limits."""
    p, limits, n = task.prior, task.limits, len(task.prior)
    yield "diagonal", task.naming.start
    yield from (("sets of values", c) for c in set_channels(task))
    if isinstance(task.goal, Estimation):
        return
    for many in sorted({min(n, round(2 ** (k / 2))) for k in range(2, 2 * math.ceil(math.log2(n + 1)) + 1)}):
        yield "diagonal", truncated(limits, p, many)
    yield "matching of outcomes to values", matched(unnamed)


def set_channels(task: Named) -> Iterable[np.ndarray]:
    """Yield channels whose columns are raised on the shifts of a set round the values in the order of probability."""
    p, limits, n = task.prior, task.limits, len(task.prior)
    if n < 3:
        return
    if limits.capacity < math.inf:
        limits = replace(limits, high=min(limits.high, limits.capacity))
    ratio = min(limits.ratio, limits.high / max(limits.low, 1 / limits.high) if limits.high < math.inf else math.inf)
    sizes = set_sizes(ratio, n) if ratio < math.inf else []
    if limits.high < math.inf:
        share = (1 - limits.low) / (limits.high - limits.low)
        sizes += [min(max(round(part * share * n), 2), n - 1) for part in (0.6, 0.9)]
    order = task.order
    for many in sorted(set(sizes)):
        up = np.zeros((n, n), dtype=bool)
        up[np.ix_(order, order)] = turned(circulant_set(n, many))
        channel = leveled_sets(p, limits, up, task.naming.leads)
        if channel is not None:
            yield channel


def often_enough(channel: np.ndarray, task: Named) -> np.ndarray:
    """Return the channel mixed with the mechanism to start from, in which every value occurs as often as asked."""
    lacking = task.prior @ channel < task.naming.floors
    if not lacking.any():
        return channel
    q, full = task.prior @ channel, task.prior @ task.naming.start
    share = float(((task.naming.floors - q) / np.maximum(full - q, 1e-300))[lacking].max())
    share = min(1.0, share * (1 + 1e-9))
    return (1 - share) * channel + share * task.naming.start


def _climbed(task: Named, channel: np.ndarray, value: float, effort: Effort) -> tuple[np.ndarray, float]:
    """Return (channel, utility) after successive linear programs from this one."""
    full = not isinstance(task.goal, Estimation)
    for step in range(_STEPS):
        if not effort.spend():
            break
        found = program(task, task.slopes(channel), replace(effort, progress=None))
        if found is None:
            break
        trials = [channel + way * (found.channel - channel) for way in (_WAYS[:1] if full else _WAYS)]
        values = [task.value(trial) for trial in trials]
        at = int(np.argmax(values))
        if not values[at] > value + _SETTLED * abs(value):
            break
        channel, value = trials[at], values[at]
        effort.tell(value, math.inf, step)
    return channel, value


def program(task: Named, scores: np.ndarray, effort: Effort) -> Solution | None:
    """Return the best named channel for scores, with a bound; None where the solver finds none."""
    p, naming = task.prior[None, :], task.naming
    try:
        return solved(Scoring(scores, task.limits, p, p, naming.leads, naming.floors), effort)
    except DivulgeError:
        return None


def matched(columns: np.ndarray) -> np.ndarray:
    """Return a square channel from columns (N, M), each at a value it raises most: its own, by maximum matching."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    tops = columns >= columns.max(axis=0) * (1 - 1e-12)
    few, random = tops.copy(), np.random.default_rng(0)
    for y in np.flatnonzero(tops.sum(axis=0) > _TOPS):  # of sets in order the matching takes half a minute
        every = np.flatnonzero(tops[:, y])
        few[every, y] = False
        few[random.choice(every, _TOPS, replace=False), y] = True
    own = maximum_bipartite_matching(csr_matrix(few.T), perm_type="column")
    channel = np.zeros((len(columns), len(columns)))
    for y, x in enumerate(own.tolist()):
        channel[:, x if x >= 0 else int(tops[:, y].argmax())] += columns[:, y]
    return channel


def unconstrained(task: Named, effort: Effort) -> tuple[np.ndarray, float]:
    """Return (a good channel without names, an upper bound for all) of a convex utility; of chi-squared for a variance.

    Few values, or probabilities that are counts, are solved; otherwise it is the channel of arcs and the secant bound.
    """
    utility = task.goal if isinstance(task.goal, SubConvex) else SUBCONVEX["chi-squared"]
    classes = classes_of(task.exactly)
    problem = Problem.of(classes, utility, task.limits)
    if isinstance(task.goal, Estimation) and len(task.prior) > SOLVED:
        return np.ones((len(task.prior), 1)), problem.bound
    if isinstance(utility, Informed):
        found = at_once(Problem.of(singletons(classes), utility, task.limits), effort)
        told = SubConvex(utility.name, utility.f, utility.logarithmic, utility.terms, utility.rise)
        problem = Problem.of(classes, told, task.limits)
    elif len(task.prior) <= SOLVED or Counting.fits(classes):
        _, found = mixture_of(problem, effort)
    else:
        apart = Problem.of(singletons(classes), utility, task.limits)
        found = closed(problem) or at_once(apart, effort)
    weights, lifts = outcomes_of(found.weights, found.vertices, found.classes)
    return lifts * weights, min(found.bound, problem.bound)
