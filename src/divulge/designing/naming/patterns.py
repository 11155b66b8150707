"""Square channels whose column of v is raised at v and at other values: circulants, and levels on given sets.

Under a bound on ratios, subset selection with sets as many as values (block designs; Park, Nam, Lee, arXiv:2305.01261)
estimates frequencies with the least variance. Where no design has the size asked for, circulants of sets with a flat
spectrum come close; what counts is the sum of 1 / |eigenvalue|^2.
"""

import math
from collections.abc import Callable

import numpy as np

from divulge.designing.polytope.limits import Limits

_SWAPS = 1500
_EXACT = 1e-10


def circulant_set(size: int, many: int, upper: float, top: float, seed: int) -> np.ndarray:
    """Return the first column (N,) of a circulant: `top` at 0, `upper` at `many` - 1 places, 1 elsewhere.

    Local search by swaps, from random places, makes the sum of the inverse squares of its spectrum small.
    """
    random = np.random.default_rng(seed)
    column = np.ones(size)
    column[0] = top
    column[1 + random.permutation(size - 1)[: many - 1]] = upper
    best = _inverse_squares(column)
    if many in (1, size) or upper == 1:
        return column
    for _ in range(_SWAPS):
        inside = 1 + int(random.choice(np.flatnonzero(column[1:] > 1)))
        outside = 1 + int(random.choice(np.flatnonzero(column[1:] == 1)))
        column[inside], column[outside] = 1.0, upper
        value = _inverse_squares(column)
        if value < best:
            best = value
        else:
            column[inside], column[outside] = upper, 1.0
    return column


def _inverse_squares(column: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(column))[1:]
    with np.errstate(divide="ignore", over="ignore"):
        return float((1 / spectrum**2).sum()) if len(spectrum) else 0.0


def set_sizes(ratio: float, size: int) -> list[int]:
    """Return the numbers of raised values that are worth trying: the best of subset selection, and half of it."""
    best = size / (1 + ratio)
    return sorted({min(max(round(k), 1), size - 1) for k in (best, best / 2, best * 0.75)} - {1})


Masses = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Takes sets of values as columns (N, M), gives the least and the largest probability of each, shape (M,)."""


def leveled_sets(
    prior: np.ndarray, limits: Limits, up: np.ndarray, leads: np.ndarray, masses: Masses | None = None
) -> np.ndarray | None:
    """Return the channel whose column y has the lifts that are farthest apart on the set `up`[:, y] and elsewhere.

    On the set the lift is 1 but for a factor, `leads`[y] at y itself, and b elsewhere: limits bound b from below.
    Weights that make such columns average to 1 solve a linear system; None where some are negative. A bound on the
    capacity is kept by mixing with equal rows. With `masses` the limits hold under every prior of a set.
    """
    own = np.eye(len(prior), dtype=bool)
    (least_own, most_own), (least_set, most_set) = (
        masses(sets) if masses else (prior @ sets, prior @ sets) for sets in (own, up | own)
    )
    below = leads / limits.ratio
    if limits.high < math.inf:
        outside = np.maximum(1 - least_set, 1e-300)
        below = np.maximum(below, (leads / limits.high - (leads - 1) * least_own - least_set) / outside)
    if limits.low > 0:
        inside = (leads - 1) * most_own + most_set
        below = np.maximum(below, limits.low * inside / (1 - limits.low * (1 - most_set)))
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
