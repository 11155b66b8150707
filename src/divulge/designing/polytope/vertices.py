"""The extreme lift vectors of the polytope: almost all coordinates on two levels, in a few families.

Under bounds low <= v <= high a vertex has the secrets of a set S at `high`, at most one secret in between, the rest at
`low`, and sum_x P_x v_x = 1 decides the one in between. Under a bound on ratios the two levels move with P(S) instead.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar, cast

import numpy as np

from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.utilities import SubConvex

_SUMS = 2.0**-44
"""How far the mass of a set may be off, as a share of it: of all secrets but one it is a sum, not 1 - p_min."""
_NEAR = 1e-13
"""A bound that is so near to what the mean of 1 implies does not count beside it."""


@dataclass(frozen=True)
class Box:
    """low <= v_x <= high: S at `high`, one secret at x in [0, 1] of the way, P(S) + P_r x = t."""

    low: float
    high: float

    @property
    def t(self) -> float:
        """(1 - low) / (high - low), the mass that is at `high` when nothing is in between."""
        return (1 - self.low) / (self.high - self.low)

    @property
    def light(self) -> float:
        """The lesser of t and 1 - t: the mass of a set or of its complement."""
        return min(self.t, 1 - self.t)

    def secant(self, utility: SubConvex) -> float:
        """Return the utility of an outcome whose coordinates are all at the bounds: no outcome has more."""
        low, high = (float(utility.f(np.array([v]))[0]) for v in (self.low, self.high))
        return ((self.high - 1) * low + (1 - self.low) * high) / (self.high - self.low)

    def penalty(self, utility: SubConvex, x: np.ndarray) -> np.ndarray:
        """Return chord minus f at a share x of the way from low to high, per unit of probability; at least 0."""
        low, high = (float(utility.f(np.array([v]))[0]) for v in (self.low, self.high))
        return np.maximum((1 - x) * low + x * high - utility.f(self.low + x * (self.high - self.low)), 0.0)


@dataclass(frozen=True)
class RatioPair:
    """v_x <= ratio v_z: levels 1 and `ratio` over their mean 1 + (ratio - 1) pi, for pi = P(S) in [least, most]."""

    ratio: float
    least: float
    most: float

    def levels(self, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), with pi high + (1 - pi) low = 1."""
        mean = 1 + (self.ratio - 1) * pi
        return 1 / mean, self.ratio / mean

    def bend(self, ends: np.ndarray, above: np.ndarray, below: np.ndarray, _dear: np.ndarray) -> np.ndarray:
        """Return how far the excess can rise above its larger end in cells of pi; see `cell_bounds`."""
        return np.maximum(below - above, 0.0) / (self.ratio - 1) * _sag(self.levels(ends)[0])


@dataclass(frozen=True)
class FloorPair:
    """The vertices that a bound on the capacity adds: the rest at `low`, S as high as that leaves."""

    low: float
    least: float
    most: float

    def levels(self, pi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), with pi high + (1 - pi) low = 1."""
        return np.full_like(pi, self.low), self.low + (1 - self.low) / pi

    def bend(self, ends: np.ndarray, _above: np.ndarray, _below: np.ndarray, dear: np.ndarray) -> np.ndarray:
        """Return how far the excess can rise above its larger end in cells of pi; see `cell_bounds`."""
        return np.maximum(dear, 0.0) * (1 - self.low) * _sag(ends)


Pair = RatioPair | FloorPair


def _sag(ends: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(ends[0]) - 1 / np.sqrt(ends[1])) ** 2


def pair_utility(pair: Pair, utility: SubConvex, pi: np.ndarray) -> np.ndarray:
    """Return mu = pi f(high) + (1 - pi) f(low)."""
    low, high = pair.levels(pi)
    return pi * utility.f(high) + (1 - pi) * utility.f(low)


def cell_bounds(pair: Pair, utility: SubConvex, ends: np.ndarray, excess: np.ndarray, value: np.ndarray,
                capacity: float) -> np.ndarray:  # fmt: skip
    """Return an upper bound of the excess in cells [ends[0], ends[1]] of pi, given the excess at their ends.

    `value` is the value of the set at the ends; inside a cell it must be linear. All arrays have shape (2, cells).

    f stays below its chords, above + slope v at the upper level and below + slope v at the lower one. With these the
    excess is linear in a = low (ratio) or a = pi (floor) but for one multiple of 1 / a; if that is negative, it sags
    below its chord by at most (a_1^-1/2 - a_2^-1/2)^2.
    """
    width = np.maximum(ends[1] - ends[0], 1e-300)
    below, above = (_intercept(utility, level) for level in pair.levels(ends))
    start = value[0] - (value[1] - value[0]) / width * ends[0]
    return np.maximum(excess[0], excess[1]) + pair.bend(ends, above, below, capacity - start)


def neighbors(values: np.ndarray) -> np.ndarray:
    """Return the ends of the cells between neighbors, shape (2, n - 1)."""
    return np.stack([values[:-1], values[1:]])


def _intercept(utility: SubConvex, ends: np.ndarray) -> np.ndarray:
    """Return the intercept of the chord of f over each pair of lifts."""
    values = utility.f(ends)
    apart = ends[1] - ends[0]
    slope = np.where(apart == 0, 0.0, (values[1] - values[0]) / np.where(apart == 0, 1.0, apart))
    return values[0] - slope * ends[0]


@dataclass(frozen=True, eq=False)
class Shape:
    """All families of vertices under given limits."""

    boxes: tuple[Box, ...]
    pairs: tuple[Pair, ...]


def shape_of(limits: Limits, p_min: float) -> Shape:
    """Return the families of vertices of tightened float limits.

    With a ratio that binds, the largest coordinate M and the smallest m of a vertex either have M = ratio m and nothing
    between, or sit on one of the boxes [low, ratio low] and [high / ratio, high], each only where its bound rules out
    sets that the ratio leaves. A ratio rules out a floor of 0. Single secrets as high as their probability leaves are
    vertices above a floor, too.
    """
    low, high, ratio = limits.low, limits.high, limits.ratio
    boxes: tuple[Box, ...] = ()
    pairs: tuple[Pair, ...] = ()
    if ratio == math.inf:
        boxes = (Box(low, high),)
    else:
        least = 0.0 if high >= ratio else (ratio / high - 1) / (ratio - 1)
        most = 1.0 if low <= 1 / ratio else (1 / low - 1) / (ratio - 1)
        pair = RatioPair(ratio, max(0.0, least), min(1.0, most))
        pairs = (pair,)
        if low > 0 and pair.most < 1 - p_min:
            boxes += (Box(low, ratio * low),)
        if high < ratio and pair.least > p_min:
            boxes += (Box(high / ratio, high),)
    if limits.capacity < math.inf and low < 1 and (low > 0 or ratio == math.inf):
        top = min(high, low * ratio) if low > 0 else high
        # a ratio within rounding of 1 leaves nothing above the floor
        least = 0.0 if top == math.inf else (1 - low) / (top - low) if top > low else 1.0
        if least <= p_min * (1 + _NEAR):  # the bound rules no set out: its box has nothing that the pair has not
            least, boxes = 0.0, tuple(box for box in boxes if box.low > low)
        pairs += (FloorPair(low, least, 1.0),)
    lightest, heaviest = p_min * (1 - _SUMS), min((1 - p_min) * (1 + _SUMS), 1.0)
    ranges = ((pair, max(pair.least, lightest), min(pair.most, heaviest)) for pair in pairs)
    return Shape(boxes, tuple(replace(pair, least=a, most=b) for pair, a, b in ranges if a <= b))


class Rows:
    """A dataclass of arrays with one row for each of several things."""

    def __len__(self) -> int:
        return len(getattr(self, fields(cast(Any, self))[0].name))

    def take(self, which: np.ndarray) -> Self:
        """Return those at these positions."""
        return type(self)(*(getattr(self, field.name)[which] for field in fields(cast(Any, self))))


@dataclass(frozen=True, eq=False)
class Vertices(Rows):
    """n vertices, up to a permutation of equal secrets.

    `counts[k, c]` secrets of class c are at `high[k]`, one secret of class `between[k]` (-1: none) at `middle[k]`,
    the rest at `low[k]`.
    """

    counts: np.ndarray
    between: np.ndarray
    low: np.ndarray
    middle: np.ndarray
    high: np.ndarray

    def lifts(self, classes: Classes) -> np.ndarray:
        """Return the mean lift of each class in each vertex, shape (n, D)."""
        out = self.low[:, None] + (self.high - self.low)[:, None] * (self.counts / classes.size)
        some = np.flatnonzero(self.between >= 0)
        c = self.between[some]
        out[some, c] += (self.middle - self.low)[some] / classes.size[c]
        return out

    def utility(self, classes: Classes, utility: SubConvex) -> np.ndarray:
        """Return mu(v) of each vertex, shape (n,)."""
        if not utility.leveled:
            return utility.at(classes.probability, self.lifts(classes))
        levels, masses = self.levels(classes)
        return (utility.f(levels) * masses).sum(axis=1)

    def doubt(self, classes: Classes, utility: SubConvex, unit: float) -> np.ndarray:
        """Return how far mu(v) of each vertex may be off, shape (n,), for a unit of rounding."""
        loose = unit * self.loose(classes)
        if utility.leveled:
            levels, masses = self.levels(classes)
            off = np.stack([0 * loose, loose, 0 * loose], axis=1)
            return utility.doubt(masses, levels, off, self.low, unit) + unit * np.abs(utility.f(self.low))
        off = np.zeros((len(self), len(classes.size)))
        off[np.arange(len(off)), self.between] = loose
        return utility.doubt(classes.probability, self.lifts(classes), off, self.low, unit)

    def levels(self, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, middle and high of each vertex, the mass of the secrets there), both of shape (n, 3)."""
        above = self.counts @ classes.probability
        aside = np.where(self.between >= 0, classes.probability[self.between], 0.0)
        below = np.maximum(1 - above - aside, 0.0)
        return np.stack([self.low, self.middle, self.high], axis=1), np.stack([below, aside, above], axis=1)

    def loose(self, classes: Classes) -> np.ndarray:
        """Return by how many units of rounding the secret in between is off, which makes up for all others."""
        return np.where(self.between >= 0, (1 - self.low) / classes.probability[self.between], 0.0)

    def peaks(self) -> np.ndarray:
        """Return the largest lift of each vertex, shape (n,)."""
        return np.where(self.counts.any(axis=1), self.high, np.maximum(self.middle, self.low))


@dataclass(frozen=True, eq=False)
class Outcomes(Rows):
    """Any lift vectors of single secrets, shape (n, N), the utility of each, and its largest lift."""

    rows: np.ndarray
    values: np.ndarray
    tops: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, classes: Classes, utility: SubConvex) -> "Outcomes":
        """Return the outcomes with these lifts."""
        values = utility.at(classes.probability, rows) if len(rows) else np.zeros(0)
        return cls(rows, values, rows.max(axis=1, initial=0.0))

    def lifts(self, classes: Classes) -> np.ndarray:
        """Return the lift vectors."""
        return self.rows

    def utility(self, classes: Classes, utility: SubConvex) -> np.ndarray:
        """Return mu(v) of each."""
        return self.values

    def peaks(self) -> np.ndarray:
        """Return the largest lift of each."""
        return self.tops


Columns = Vertices | Outcomes
R = TypeVar("R", bound=Rows)


def joined(parts: Sequence[R]) -> R:
    """Return all rows of the parts."""
    names = [field.name for field in fields(cast(Any, parts[0]))]
    return type(parts[0])(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def inside(lifts: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Say of each of the lift vectors (n, N) outside which of the kinds, columns of a boolean (N, K), it is 0."""
    return (lifts > 0).astype(float) @ ~kinds == 0


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
