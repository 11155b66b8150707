"""Square channels whose column of v is raised at v and at other values: circulants, and levels on given sets.

Under a bound on ratios, subset selection with sets as many as values (block designs; Park, Nam, Lee, arXiv:2305.01261)
estimates frequencies with the least variance. Where no design has the size asked for, circulants of sets with a flat
spectrum come close; what counts is the sum of 1 / |eigenvalue|^2.
"""

import functools
import math

import numpy as np

from divulge.designing.polytope.limits import Limits

_SWAPS = 1500
"""Swaps that are tried, 0.2 s. A heuristic: of 60 values they come to 2.98, 750 to 3.09, and 3,000 to 2.81."""
_AT_ONCE = 16
"""Swaps that are tried at a time: one in thirty is taken, and those behind it are tried anew."""
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
    swaps = random.integers([many - 1, size - many], size=(_SWAPS, 2)) if 1 < many < size else np.zeros((0, 2), int)
    while len(swaps):
        sides = [1 + np.flatnonzero(column[1:] == inside) for inside in (True, False)]  # the first one stays
        trials = np.tile(column, (min(_AT_ONCE, len(swaps)), 1))
        for side, chosen in zip(sides, swaps[:_AT_ONCE].T, strict=True):
            trials[np.arange(len(trials)), side[chosen]] ^= True
        values = _inverse_squares(trials)
        better = values < best
        first = int(better.argmax()) if better.any() else len(trials) - 1  # those behind it start from another column
        if better[first]:
            column, best = trials[first], values[first]
        swaps = swaps[first + 1 :]
    column = column.copy()
    column.flags.writeable = False  # it is kept
    return column


def _inverse_squares(columns: np.ndarray) -> np.ndarray:
    """Return the sum of 1 / |eigenvalue|^2 of the circulant of each column, the last axis, but for the first one."""
    spectrum = np.fft.rfft(1.0 + columns)[..., 1:]
    with np.errstate(divide="ignore", over="ignore"):
        return (1 / (spectrum.real**2 + spectrum.imag**2)).sum(axis=-1)


def set_sizes(ratio: float, size: int) -> list[int]:
    """Return the numbers of raised values that are worth trying: the best of subset selection, and half of it."""
    best = size / (1 + ratio)
    return sorted({min(max(round(k), 1), size - 1) for k in (best, best / 2, best * 0.75)} - {1})


def leveled_sets(prior: np.ndarray, limits: Limits, up: np.ndarray, leads: np.ndarray) -> np.ndarray | None:
    """Return the channel whose column y has the lifts that are farthest apart on the set `up`[:, y] and elsewhere.

    On the set the lift is 1 but for a factor, `leads`[y] at y itself, and b elsewhere: limits bound b from below.
    Weights that make such columns average to 1 solve a linear system, where rows of levels have one sum by themselves;
    None where some are negative. A bound on the capacity is kept by mixing with equal rows.
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
    means, sums = prior @ levels, levels.sum(axis=1)
    lifts = levels / means
    weights = means / sums[0]
    if np.ptp(sums) > sums[0] * 2.0**-50:
        try:
            weights = np.linalg.solve(lifts, np.ones(len(prior)))
        except np.linalg.LinAlgError:
            return None
    if not (weights >= 0).all() or not np.abs(lifts @ weights - 1).max() < _EXACT:
        return None
    peak = float(lifts.max(axis=0) @ weights)
    share = min(1.0, (limits.capacity - 1) / (peak - 1)) if peak > 1 else 1.0
    return (1 - share + share * lifts) * weights
