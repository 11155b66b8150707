"""Designs for linear scores: from a prior, or a set of priors, to a certified channel with its bound."""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing import rounding
from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import Infeasible, Scoring, solved
from divulge.designing.linear.scores import Score
from divulge.designing.methods import solution_of
from divulge.designing.polytope.limits import Limits
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_RARE = 1e-12
"""Outcomes of less probability are left out: the solver's tolerances leave some that are none."""


@dataclass(frozen=True, eq=False)
class CertifiedChannel:
    """An integer channel of shape (N, M'), its outcomes, the bound, and how it was found.

    `places` are those of the outcomes among all that there could be, `unrounded` is the score before rounding.
    """

    integers: np.ndarray
    outcomes: Labels
    places: np.ndarray
    bound: float
    method: str
    unrounded: float | None = None


def possible(prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """Return (the positions of the secrets that occur, their probabilities, which add up to 1)."""
    support = np.flatnonzero(prior.support)
    p = prior.probabilities[support]
    return support, p / sum(p.tolist())


def scored(
    p: np.ndarray, limits: Limits, score: Score, scores: np.ndarray, names: Labels, bits: int, effort: Effort,
    method: str | None,
) -> CertifiedChannel:  # fmt: skip
    """Return the certified channel of the best score under exact limits, for a strictly positive prior p.

    `scores` (N, M) are signed, to be large; the bound has the score's own sign.
    """
    floats = p.astype(np.float64)
    loose = limits.floats().tightened(float(floats.min()), len(p))
    scores = unforbidden(scores, loose)
    judges = np.eye(len(p)) if score.worst else floats[None, :]
    scoring = Scoring(scores, loose, floats[None, :], judges)
    checker = rounding.Checker.of(p, limits)
    method, solution = solution_of(scoring, effort, method)
    kept = used_outcomes(solution.channel, floats)
    if np.isneginf(scores[:, kept]).any():
        kept, integers = _patterned(scoring, checker, bits, effort)
    elif loose.trivial:
        weights = floats @ solution.channel[:, kept]
        integers = np.tile(rounded(weights[None, :], 2**bits), (len(p), 1))
    else:
        weights = floats @ solution.channel[:, kept]
        lifts = np.maximum(solution.channel[:, kept], 0.0) / weights
        integers = rounding.certified(weights, lifts, checker, bits)
    if integers.shape[1] < len(kept):
        kept = np.array([int(np.argmax((judges @ scores).min(axis=0)))])
    ceiling = math.fsum(judges.mean(axis=0) * scores.max(axis=1)) if len(judges) == 1 else float(scores.max())
    bound = min(solution.bound, ceiling + 2.0**-50 * abs(ceiling))
    unrounded = score.value(floats, scores, solution.channel)
    labels = [names[y] for y in kept.tolist()]
    return CertifiedChannel(integers, labels, kept, score.sign * bound + 0.0, method, unrounded)


def used_outcomes(channel: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the positions of the outcomes that are not too rare to matter."""
    return np.flatnonzero(p @ channel > _RARE)


def unforbidden(scores: np.ndarray, limits: Limits) -> np.ndarray:
    """Return the scores with whole columns forbidden where one entry is and the limits rule zeros out."""
    closed = np.isneginf(scores).any(axis=0)
    if (limits.low == 0 and limits.ratio == math.inf) or not closed.any():
        return scores
    return np.where(closed, -math.inf, scores)


def _patterned(scoring: Scoring, checker: rounding.Checker, bits: int, effort: Effort) -> tuple[np.ndarray, np.ndarray]:
    """Return (outcomes, integers with exact zeros where the scores forbid) from limits that are a little tighter.

    Here nothing may be mixed in that would fill a zero, so the room for rounding comes from the limits themselves.
    """
    for room in 2.0 ** -np.arange(42, 10, -4):
        tight = replace(
            scoring.limits, high=scoring.limits.high * (1 - room), capacity=scoring.limits.capacity * (1 - room)
        )
        try:
            found = solved(replace(scoring, limits=tight), effort)
        except Infeasible:
            break
        kept = used_outcomes(found.channel, scoring.reference)
        integers = rounded(np.where(scoring.allowed[:, kept], found.channel[:, kept], 0.0), 2**bits)
        if checker.keeps_all(integers):
            return kept, integers
    raise Infeasible("`utility` must leave a channel under the guarantees; what is forbidden leaves no room to round.")


def rounded(channel: np.ndarray, whole: int) -> np.ndarray:
    """Return integers near the channel, 0 where it is not positive, what rows lack on their largest entries."""
    entries = np.maximum(channel, 0.0)
    integers = np.floor(entries / entries.sum(axis=1, keepdims=True) * whole).astype(np.int64)
    integers[np.arange(len(integers)), entries.argmax(axis=1)] += whole - integers.sum(axis=1)
    return integers
