"""The extreme lift vectors of the polytope: almost all coordinates on two levels, in a few families.

Under bounds low <= v <= high a vertex has the secrets of a set S at `high`, at most one secret in between, the rest at
`low`, and sum_x P_x v_x = 1 decides the one in between. Under a bound on ratios the two levels move with P(S) instead.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.limits import Classes, Limits
from divulge.designing.utilities import SubConvex

Levels = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Box:
    """low <= v_x <= high: S at `high`, one secret at x in [0, 1] of the way, P(S) + P_r x = t."""

    low: float
    high: float

    @property
    def t(self) -> float:
        """(1 - low) / (high - low), the mass that is at `high` when nothing is in between."""
        return (1 - self.low) / (self.high - self.low)

    def chord(self, utility: SubConvex) -> float:
        """Return the utility of an outcome whose coordinates are all at the bounds: no outcome has more."""
        low, high = (float(utility.f(np.array([v]))[0]) for v in (self.low, self.high))
        return ((self.high - 1) * low + (1 - self.low) * high) / (self.high - self.low)

    def penalty(self, utility: SubConvex, x: np.ndarray) -> np.ndarray:
        """Return chord minus f at a share x of the way from low to high, per unit of probability; at least 0."""
        low, high = (float(utility.f(np.array([v]))[0]) for v in (self.low, self.high))
        return np.maximum((1 - x) * low + x * high - utility.f(self.low + x * (self.high - self.low)), 0.0)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two levels that move with pi = P(S) in [least, most], so that pi high + (1 - pi) low = 1; nothing between."""

    name: str
    levels: Levels
    least: float
    most: float

    def utility(self, utility: SubConvex, pi: np.ndarray) -> np.ndarray:
        """Return mu = pi f(high) + (1 - pi) f(low)."""
        low, high = self.levels(pi)
        return pi * utility.f(high) + (1 - pi) * utility.f(low)


def ratio_pair(ratio: float, low: float, high: float) -> Pair:
    """Return the vertices of v_x <= ratio v_z: levels 1 and `ratio` over their mean, inside [low, high]."""

    def levels(pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean = 1 + (ratio - 1) * pi
        return 1 / mean, ratio / mean

    least = 0.0 if high >= ratio else (ratio / high - 1) / (ratio - 1)
    most = 1.0 if low <= 1 / ratio else (1 / low - 1) / (ratio - 1)
    return Pair("ratio", levels, max(0.0, least), min(1.0, most))


def floor_pair(low: float, high: float, ratio: float) -> Pair:
    """Return the vertices that a bound on the capacity adds: the rest at `low`, S as high as that leaves."""

    def levels(pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full_like(pi, low), low + (1 - low) / pi

    top = min(high, low * ratio) if low > 0 else high
    return Pair("floor", levels, 0.0 if top == math.inf else (1 - low) / (top - low), 1.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """All families of vertices under given limits."""

    boxes: tuple[Box, ...]
    pairs: tuple[Pair, ...]


def shape_of(limits: Limits, p_min: float) -> Shape:
    """Return the families of vertices of tightened float limits.

    With a ratio that binds, the largest coordinate M and the smallest m of a vertex either have M = ratio m and nothing
    between, or sit on one of the boxes [low, ratio low] and [high / ratio, high].
    """
    low, high, ratio = limits.low, limits.high, limits.ratio
    boxes: tuple[Box, ...] = ()
    pairs: tuple[Pair, ...] = ()
    if ratio == math.inf:
        boxes = (Box(low, high),)
    else:
        pairs = (ratio_pair(ratio, low, high),)
        if low > 0 and ratio * low > 1:
            boxes += (Box(low, ratio * low),)
        if high < ratio and high / ratio < 1:
            boxes += (Box(high / ratio, high),)
    if limits.capacity < math.inf:
        pairs += (floor_pair(low, high, ratio),) if low < 1 else ()
    ranges = ((pair, max(pair.least, p_min), min(pair.most, 1 - p_min)) for pair in pairs)
    return Shape(boxes, tuple(replace(pair, least=a, most=b) for pair, a, b in ranges if a <= b))


@dataclass(frozen=True, eq=False)
class Vertices:
    """n vertices, up to a permutation of equal secrets.

    `counts[k, c]` secrets of class c are at `high[k]`, one secret of class `between[k]` (-1: none) at `middle[k]`,
    the rest at `low[k]`.
    """

    counts: np.ndarray
    between: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.low)

    def take(self, which: np.ndarray) -> "Vertices":
        """Return the vertices at these positions."""
        return Vertices(*(a[which] for a in (self.counts, self.between, self.low, self.middle, self.high)))

    def lifts(self, classes: Classes) -> np.ndarray:
        """Return the mean lift of each class in each vertex, shape (n, D)."""
        out = self.low[:, None] + (self.high - self.low)[:, None] * (self.counts / classes.size)
        some = np.flatnonzero(self.between >= 0)
        c = self.between[some]
        out[some, c] += (self.middle - self.low)[some] / classes.size[c]
        return out

    def utility(self, classes: Classes, utility: SubConvex) -> np.ndarray:
        """Return mu(v) = sum_x P_x f(v_x) of each vertex, shape (n,)."""
        above = self.counts @ classes.probability
        aside = np.where(self.between >= 0, classes.probability[self.between], 0.0)
        below = np.maximum(1 - above - aside, 0.0)
        return above * _at(utility, self.high) + aside * _at(utility, self.middle) + below * _at(utility, self.low)

    def peaks(self) -> np.ndarray:
        """Return the largest lift of each vertex, shape (n,)."""
        return np.where(self.counts.any(axis=1), self.high, np.maximum(self.middle, self.low))


def _at(utility: SubConvex, lifts: np.ndarray) -> np.ndarray:
    return np.asarray(utility.f(lifts), dtype=np.float64)


def joined(parts: list[Vertices]) -> Vertices:
    """Return all vertices of the parts."""
    names = ("counts", "between", "low", "middle", "high")
    return Vertices(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def box_vertices(box: Box, classes: Classes, counts: np.ndarray, between: np.ndarray) -> Vertices:
    """Return the vertices of a box with these sets at `high`; the share of the one in between follows."""
    p = classes.probability[between]
    x = np.clip((box.t - counts @ classes.probability) / p, 0.0, 1.0)
    size = len(counts)
    return Vertices(
        counts, between, np.full(size, box.low), box.low + x * (box.high - box.low), np.full(size, box.high)
    )


def pair_vertices(pair: Pair, classes: Classes, counts: np.ndarray) -> Vertices:
    """Return the vertices of a pair of levels with these sets at the upper one."""
    low, high = pair.levels(counts @ classes.probability)
    return Vertices(counts, np.full(len(counts), -1), low, low, high)
