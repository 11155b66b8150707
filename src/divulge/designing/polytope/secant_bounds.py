"""What no outcome has more of, and no mean of outcomes under a bound on the capacity: chords of f."""

import math

import numpy as np

from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.polytope.vertices import Pair, Shape, cell_bounds, neighbors, pair_utility

_CELLS = 1024
"""Cells of the levels, with a chord for each: their bound is loose by the square of their width."""


def highest(shape: Shape, utility: SubConvex) -> float:
    """Return an upper bound of mu(v) over all vertices: the chord of a box, the largest value of a pair of levels."""
    values = [box.secant(utility.raised) * (1 + 1e-14) for box in shape.boxes]
    values += [_of_pair(pair, utility.raised) for pair in shape.pairs]
    return max(values)


def _of_pair(pair: Pair, utility: SubConvex) -> float:
    """Return an upper bound of pi f(high) + (1 - pi) f(low) over the range of pi, by cells that shrink."""
    ends, bound = np.linspace(pair.least, pair.most, 1025), math.inf
    for _ in range(40):
        values = pair_utility(pair, utility, ends)
        cells = cell_bounds(pair, utility, *(neighbors(a) for a in (ends, values, 0 * ends)), 0.0)
        bound, reached = float(cells.max()), float(values.max())
        if bound <= reached + 1e-13 * abs(reached) or len(ends) > 200_000:
            break
        alive = cells > reached + 1e-13 * abs(reached)
        ends = np.sort(np.concatenate([ends, (ends[:-1] + ends[1:])[alive] / 2]))
    return bound + 1e-14 * abs(bound)


def capped(limits: Limits, utility: SubConvex) -> float:
    """Return an upper bound of the mean of mu(v) when the largest lifts have a mean of at most the capacity.

    An outcome with the largest lift M has at most the chord c(M) of f from its least lift l to M, so that any
    multiplier g >= 0 gives capacity g + max_M (c(M) - g M). In a cell of M, f lies below its own chord, and c(M) below
    a constant less a multiple of 1 / (M - l); so less g M it is greatest at a place that is known.
    """
    if limits.capacity == math.inf or not math.isfinite(limits.high):
        return math.inf
    utility = utility.raised
    ends = np.geomspace(1.0, limits.high, _CELLS + 1)
    low = np.minimum(np.maximum(limits.low, ends[:-1] / limits.ratio), 1.0)
    at_low, values = utility.f(low), utility.f(ends)
    rise = np.diff(values) / np.maximum(np.diff(ends), 1e-300)
    bend = (1 - low) * np.maximum(at_low - values[:-1] - rise * (low - ends[:-1]), 0.0)
    flat = at_low + (1 - low) * rise
    first, last = np.maximum(ends[:-1] - low, 1e-300), np.maximum(ends[1:] - low, 1e-300)
    left, right, best = 0.0, 2 * float(np.abs(rise).max()) + 1e-300, math.inf
    for _ in range(60):
        slope = (left + right) / 2
        above = np.clip(np.sqrt(bend / slope), first, last)
        worth = flat - bend / above - slope * (above + low)
        at = int(worth.argmax())
        best = min(best, slope * limits.capacity + float(worth[at]))
        left, right = (slope, right) if above[at] + low[at] > limits.capacity else (left, slope)
    return best + 1e-13 * abs(best)


def chords(classes: Classes, limits: Limits, utility: SubConvex) -> tuple[np.ndarray, np.ndarray]:
    """Return (values at 1, slopes) of the chords of f over the range of the lift of a secret of each class.

    v_x has mean 1 and is in [l_x, u_x], so U <= sum_x P_x ((u_x - 1) f(l_x) + (1 - l_x) f(u_x)) / (u_x - l_x).
    """
    up, down = ranges(classes, limits)
    apart = np.maximum(up + down, 1e-300)
    below, above = utility.raised.f(1 - down), utility.raised.f(1 + up)
    return (up * below + down * above) / apart, (above - below) / apart


def ranges(classes: Classes, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the lift of a secret of each class can rise above 1 and fall below it, rounded outward.

    Limits on it alone, what the mean of 1 leaves when all others are at theirs, and the ratio with all others equal.
    """
    p, odds = classes.probability, classes.odds
    rise, fall = limits.high - 1, 1 - limits.low
    with np.errstate(over="ignore"):
        up, down = np.minimum(rise, fall * odds), np.minimum(fall, np.minimum(rise, odds.max()) * odds)
    if limits.ratio < math.inf:
        wider, rest = limits.ratio - 1, odds * p
        up = np.minimum(up, wider * rest / (1 + wider * p))
        down = np.minimum(down, wider * rest / (1 + wider * rest))
    out = 1 + len(p) * 2.0**-51
    return up * out, np.minimum(down * out, 1.0)
