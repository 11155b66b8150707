"""Designs on a given alphabet: fewer outcomes than the best has, or outcomes that some secrets must never lead to.

An optimum over mixtures of any length bounds them all. Its outcomes are put on the alphabet, joining where there are
too few places for them; then linear programs climb. The utility is convex in the channel, so that a score whose mean
touches it from below is no more than it elsewhere: the best channel for that score has at least as much utility.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.clock import OutOfTime
from divulge.designing.effort import Effort
from divulge.designing.linear.certified import CertifiedChannel, rounded, scored, unforbidden
from divulge.designing.linear.score_program import Infeasible, Scoring, solved
from divulge.designing.linear.scores import Score
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.rounding import Checker, certified
from divulge.model.labels import Labels

_STARTS = 12
"""Orders of the columns that are tried. A heuristic: each may climb to another optimum, and costs its programs."""
_STEPS = 40
"""Programs of one climb at most: what rises for so long rises slowly, and another start is worth more."""
_WORK = 3e8
"""Programs that are solved: this over the square of the entries of the channel, about what one takes."""
_FEWEST = 4
"""Programs that are solved even for the largest channels."""

_SETTLED = 1e-9
"""A climb ends where it rises by a smaller share: rounding to integers takes as much."""
_SHARES = (0.0, *2.0 ** -np.arange(40, -1, -8))
"""Shares of an even spread that make room for rounding, where no more is computed: each a 256th of the next."""


@dataclass(frozen=True, eq=False)
class Task:
    """A strictly positive prior, a utility, exact limits and their floats, and where entries may be positive (N, M)."""

    p: np.ndarray
    utility: SubConvex
    limits: Limits
    loose: Limits
    allowed: np.ndarray

    @property
    def floats(self) -> np.ndarray:
        """The prior."""
        return self.p.astype(np.float64)

    @property
    def kinds(self) -> np.ndarray:
        """What the outcomes allow, each once, as columns (N, K); none that another one covers or that is too rare."""
        open_to = np.isfinite(unforbidden(np.where(self.allowed, 0.0, -np.inf), self.loose))
        kinds = np.unique(open_to, axis=1)
        kinds = kinds[:, (self.floats @ kinds) * self.loose.high >= 1 - 1e-12]
        covered = (kinds.T.astype(float) @ ~kinds == 0) & ~np.eye(kinds.shape[1], dtype=bool)
        kinds = kinds[:, ~covered.any(axis=1)]
        if not kinds.shape[1]:
            raise Infeasible("`forbidden` must leave a channel under the guarantees; it leaves none.")
        return kinds

    def value(self, columns: np.ndarray) -> np.ndarray:
        """Return what each column (N, M) of a channel adds to the utility, shape (M,)."""
        return self.utility.added(self.floats, columns)


def on_alphabet(task: Task, columns: np.ndarray, names: Labels, bits: int, effort: Effort) -> CertifiedChannel:
    """Return a certified channel on the alphabet from the columns of a good mixture; its bound is of one score only."""
    left = programs(task.allowed.size)
    random, best, most = np.random.default_rng(0), None, -np.inf
    for start in range(_STARTS):
        order = np.argsort(-task.value(columns)) if not start else random.permutation(columns.shape[1])
        channel, whole = _placed(task, columns[:, order])
        if not whole:
            channel, spent = climbed(task, channel, min(_STEPS, left), effort)
            left -= spent
        value = float(task.value(channel).sum())
        best, most = (channel, value) if best is None or value > most else (best, most)
        if whole or not left or not effort.spend():
            break
    assert best is not None
    scores = np.where(task.allowed, task.utility.slopes(task.floats, best), -np.inf)
    score, reached = Score(scores, name=task.utility.name), task.utility.of(task.floats, best)
    late: OutOfTime | None = None
    try:
        found = scored(task.p, task.limits, score, scores, names, bits, effort, "linear-program")
    except OutOfTime as over:
        found, late = None, over
    if found is None or effort.late():  # perhaps before the program was solved
        at_hand = _as_it_is(task, best, names, bits)
        if at_hand is not None and (found is None or found.integers.shape[1] < at_hand.integers.shape[1]):
            found = at_hand
    if found is None:
        assert late is not None
        raise late
    return replace(found, unrounded=reached)


def _as_it_is(task: Task, channel: np.ndarray, names: Labels, bits: int) -> CertifiedChannel | None:
    """Return a float channel in integers, its bound unknown; None where rounding breaks the limits.

    Where outcomes forbid secrets, it makes way for what spreads each secret evenly over what it may lead to.
    """
    weights, checker = task.floats @ channel, Checker.of(task.p, task.limits)
    if task.allowed.all():
        some = np.flatnonzero(weights > 0)
        integers = certified(weights[some], channel[:, some] / weights[some], checker, bits)
        return _at_hand(integers, names, some) if integers.shape[1] == len(some) else None
    even = task.allowed / task.allowed.sum(axis=1, keepdims=True)
    for share in _SHARES:
        integers = rounded((1 - share) * channel + share * even, 2**bits)
        if checker.keeps_all(integers):
            return _at_hand(integers, names, np.arange(len(weights)))
    return None


def _at_hand(integers: np.ndarray, names: Labels, places: np.ndarray) -> CertifiedChannel:
    return CertifiedChannel(integers, [names[y] for y in places.tolist()], places, math.inf, "time-limit")


def _placed(task: Task, columns: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return (a channel on the alphabet, whether every column has a place of its own).

    The first columns have places of their own where they fit; each other one joins where the utility loses least.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    many, size = task.allowed.shape[1], columns.shape[1]
    fits = (columns > 0).T.astype(float) @ ~task.allowed == 0
    own = np.full(size, -1)
    own[:many] = maximum_bipartite_matching(csr_matrix(fits[:many]), perm_type="column")
    channel = np.zeros(task.allowed.shape)
    channel[:, own[own >= 0]] = columns[:, own >= 0]
    for k in np.flatnonzero(own < 0):
        gained = task.value(channel + columns[:, [k]]) - task.value(channel)
        channel[:, int(np.argmax(np.where(fits[k], gained, -np.inf)))] += columns[:, k]
    return channel, bool((own >= 0).all())


def programs(entries: int) -> int:
    """Return how many linear programs about a channel of so many entries are worth it."""
    return max(_FEWEST, int(_WORK / entries**2))


def climbed(task: Task, channel: np.ndarray, most: int, effort: Effort) -> tuple[np.ndarray, int]:
    """Return (a channel that no score which touches the utility there improves much, or the last, programs solved)."""
    value, step = float(task.value(channel).sum()), 0
    while step < most and effort.spend():
        step += 1
        scores = np.where(task.allowed, task.utility.slopes(task.floats, channel), -np.inf)
        scoring = Scoring(unforbidden(scores, task.loose), task.loose, task.floats[None, :], task.floats[None, :])
        try:
            trial = np.where(task.allowed, np.maximum(solved(scoring, effort).channel, 0.0), 0.0)
        except OutOfTime:
            break
        reached = float(task.value(trial).sum())
        if not reached > value + _SETTLED * abs(value):
            break
        channel, value = trial, reached
    return channel, step
