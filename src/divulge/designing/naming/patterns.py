"""Square channels whose column of v is raised at v and at other values: circulants, and levels on given sets.

Under a bound on ratios, subset selection with sets as many as values (block designs; Park, Nam, Lee, arXiv:2305.01261)
estimates frequencies with the least variance. Where no design has the size asked for, circulants of sets with a flat
spectrum come close; what counts is the sum of 1 / |eigenvalue|^2.
"""

import functools
import math
from bisect import insort

import numpy as np

from divulge.designing.polytope.limits import Limits

_SWAPS = 1500
"""Swaps that are tried, 0.2 s. A heuristic: of 60 values they come to 2.98, 750 to 3.09, and 3,000 to 2.81."""
_EXACT = 1e-10
"""How far mean lifts may be from 1: beyond, the matrix has next to no inverse."""


@functools.lru_cache(maxsize=64)
def circulant_set(size: int, many: int) -> np.ndarray:
    """Return the first column (N,) of a circulant of sets of `many` values, its spectrum made flat by swaps."""
    random = np.random.default_rng(0)
    column = np.zeros(size, dtype=bool)
    column[0] = True
    column[1 + random.permutation(size - 1)[: many - 1]] = True
    best = _inverse_squares(column)
    sides = [(1 + np.flatnonzero(column[1:] == inside)).tolist() for inside in (True, False)]  # in order, as they stay
    for _ in range(_SWAPS if 1 < many < size else 0):
        swapped = [side[random.integers(len(side))] for side in sides]
        column[swapped] ^= True
        value = _inverse_squares(column)
        if value < best:
            best = value
            for side, gone, come in zip(sides, swapped, reversed(swapped), strict=True):
                side.remove(gone)
                insort(side, come)
        else:
            column[swapped] ^= True
    column.flags.writeable = False  # it is kept
    return column


def _inverse_squares(column: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(1.0 + column))[1:]
    with np.errstate(divide="ignore", over="ignore"):
        return float((1 / spectrum**2).sum()) if len(spectrum) else 0.0


def set_sizes(ratio: float, size: int) -> list[int]:
    """Return the numbers of raised values that are worth trying: the best of subset selection, and half of it."""
    best = size / (1 + ratio)
    return sorted({min(max(round(k), 1), size - 1) for k in (best, best / 2, best * 0.75)} - {1})


def leveled_sets(prior: np.ndarray, limits: Limits, up: np.ndarray, leads: np.ndarray) -> np.ndarray | None:
    """Return the channel whose column y has the lifts that are farthest apart on the set `up`[:, y] and elsewhere.

    On the set the lift is 1 but for a factor, `leads`[y] at y itself, and b elsewhere: limits bound b from below.
    Weights that make such columns average to 1 solve a linear system; None where some are negative. A bound on the
    capacity is kept by mixing with equal rows.
    """
    own = np.eye(len(prior), dtype=bool)
    inside, below = prior @ (up | own), leads / limits.ratio
    if limits.high < math.inf:
        least = leads / limits.high - (leads - 1) * prior - inside
        below = np.maximum(below, least / np.maximum(1 - inside, 1e-300))
    if limits.low > 0:
        most = (leads - 1) * prior + inside
        below = np.maximum(below, limits.low * most / (1 - limits.low * (1 - inside)))
    if not (below <= 1).all():
        return None
    levels = np.where(own, leads, np.where(up, 1.0, below))
    lifts = levels / (prior @ levels)
    try:
        weights = np.linalg.solve(lifts, np.ones(len(prior)))
    except np.linalg.LinAlgError:
        return None
    if not (weights >= 0).all() or not np.abs(lifts @ weights - 1).max() < _EXACT:
        return None
    peak = float(lifts.max(axis=0) @ weights)
    share = min(1.0, (limits.capacity - 1) / (peak - 1)) if peak > 1 else 1.0
    return (1 - share + share * lifts) * weights
