"""Meeting in the middle: sets from the subset sums of two halves, and all vertices of a box that lose little."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Box, Vertices
from divulge.designing.pricing.problem import LighterSide, Problem, largest
from divulge.roots import turn

_HALF = 200_000
"""Subsets of one half at most: those of 17 secrets, some MB."""
_SLACK = 1e-14
"""By so much a mass, a sum of up to forty doubles, may be beyond an end by rounding."""
_HALVINGS = 14
"""Of twelve decades of a bend: to within a five-hundredth of it."""


def subsets(p: np.ndarray, cap: float = math.inf, most: float = math.inf) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (subsets as a boolean matrix, their sums), sums ascending and at most `cap`; None beyond `most`."""
    sets, sums = np.zeros((1, len(p)), dtype=bool), np.zeros(1)
    for place, mass in enumerate(p.tolist()):
        fits = np.flatnonzero(sums + mass <= cap)
        grown = sets[fits]
        grown[:, place] = True
        sets, sums = np.concatenate([sets, grown]), np.concatenate([sums, sums[fits] + mass])
        if len(sums) > most:
            return None
    order = np.argsort(sums, kind="stable")
    return sets[order], sums[order]


def pairs(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all (i, j) with first[j] <= i < last[j]."""
    many = last - first
    j = np.repeat(np.arange(len(first)), many)
    return np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many), j


def _windows(left: np.ndarray, right: np.ndarray, target: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    return np.searchsorted(left, target - right - delta), np.searchsorted(left, target - right + delta, side="right")


@dataclass(frozen=True, eq=False)
class Half:
    """Some of the secrets, all their subsets up to a mass (boolean, one row a subset), and the masses, ascending."""

    secrets: np.ndarray
    sets: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, p: np.ndarray, secrets: np.ndarray, cap: float) -> "Half | None":
        """Return the half of these secrets, None when it has too many subsets."""
        found = subsets(p[secrets], cap, _HALF)
        return None if found is None else cls(secrets, *found)

    def without(self, secret: int) -> np.ndarray:
        """Return the positions of the subsets that leave a secret out."""
        return np.flatnonzero(~self.sets[:, self.secrets == secret].any(axis=1))


@dataclass(frozen=True, eq=False)
class Halves:
    """Two halves of the secrets; a set is a pair (i, j) of subsets."""

    left: Half
    right: Half

    @classmethod
    def of(cls, p: np.ndarray, cap: float) -> "Halves | None":
        """Return the halves for sets of mass at most `cap`, None when they are too large."""
        order = np.argsort(-p)
        left, right = Half.of(p, order[::2], cap), Half.of(p, order[1::2], cap)
        return None if left is None or right is None else cls(left, right)

    def sets(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the sets as a boolean matrix."""
        out = np.zeros((len(i), len(self.left.secrets) + len(self.right.secrets)), dtype=bool)
        out[:, self.left.secrets], out[:, self.right.secrets] = self.left.sets[i], self.right.sets[j]
        return out

    def values(self, value: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the sum of `value` over each set."""
        left, right = (half.sets @ value[half.secrets] for half in (self.left, self.right))
        return left[i] + right[j]


class BoxList(LighterSide):
    """All vertices of a box that bend less than `floor`; every other one gains less than a knapsack less `floor`.

    The lighter sets are listed. What a secret loses in between beyond its line is its bend.
    """

    def __init__(self, problem: Problem, box: Box, halves: Halves, most: int) -> None:
        super().__init__(problem, box)
        self.halves = halves
        windows = self._windows(most)
        parts = [self._of(c, *window) for c in range(len(self.p)) for window in windows[c]]
        self.i, self.j, self.c, self.share = (np.concatenate(part) for part in zip(*parts, strict=True))
        self.lost = self.loss(self.p[self.c], self.share)

    @cached_property
    def _bends(self) -> tuple[np.ndarray, np.ndarray]:
        """A grid of shares of each secret from 0 to `cap`, and the bends there: 0 at the ends, concave."""
        small = np.geomspace(1e-12, 0.02, 512)
        unit = np.concatenate([[0.0], small, np.linspace(0.02, 0.98, 1025)[1:-1], 1 - small[::-1], [1.0]])
        share = self.cap[:, None] * unit
        return share, np.maximum(self.loss(self.p[:, None], share) - self.line[:, None] * share, 0.0)

    def _shares(self, most: float) -> list[list[tuple[float, float]]]:
        """Return for each secret the intervals of its share, ends on the grid, that hold all that bend at most so."""
        out: list[list[tuple[float, float]]] = []
        for x, bend in zip(*self._bends, strict=True):
            top = int(np.argmax(bend))
            first = int(np.searchsorted(bend[: top + 1], most, side="right"))
            last = len(x) - 1 - int(np.searchsorted(bend[top:][::-1], most, side="right"))
            whole = most >= bend[top] or first >= last
            out.append([(0.0, float(x[-1]))] if whole else [(0.0, float(x[first])), (float(x[last]), float(x[-1]))])
        return out

    def _windows(self, most: int) -> list[list[tuple[float, float]]]:
        """Return the intervals of all secrets for the largest bend whose vertices are about `most`; sets `floor`."""
        top = float(self._bends[1].max())
        whole = self._shares(top)
        if self._count(whole) <= most:
            self.floor = math.inf
            return whole

        def too_many(log_bend: float) -> bool:
            return self._count(self._shares(math.exp(log_bend))) > most

        self.floor = math.exp(turn(too_many, math.log(top * 1e-12), math.log(top), steps=_HALVINGS)[0])
        return self._shares(self.floor)

    def _count(self, shares: list[list[tuple[float, float]]]) -> float:
        """Return about how many vertices have shares in these intervals."""
        a, b = self.halves.left.sums, self.halves.right.sums
        sample = b[np.linspace(0, len(b) - 1, min(len(b), 512)).astype(np.intp)]
        ends = np.array([(self.p[c] * lo, self.p[c] * hi) for c, row in enumerate(shares) for lo, hi in row])
        first = np.searchsorted(a, self.light - ends[:, 1:] - sample)
        last = np.searchsorted(a, self.light - ends[:, :1] - sample, side="right")
        return float((last - first).sum()) * len(b) / len(sample)

    def _of(self, c: int, low: float, high: float) -> tuple[np.ndarray, ...]:
        """Return (i, j, c, share) of the vertices with secret c in between at a share in [low, high]."""
        rows, columns = self.halves.left.without(c), self.halves.right.without(c)
        a, b, p = self.halves.left.sums[rows], self.halves.right.sums[columns], self.p[c]
        middle, delta = (low + high) / 2 * p, (high - low) / 2 * p + _SLACK
        i, j = pairs(*_windows(a, b, self.light - middle, delta))
        share = np.clip((self.light - a[i] - b[j]) / p, 0.0, 1.0)
        return rows[i].astype(np.int32), columns[j].astype(np.int32), np.full(len(i), c, dtype=np.int16), share

    def price(self, dual: Dual, most: int, least: float = 0.0) -> tuple[Vertices, float]:
        """Return (best vertices, largest excess of any vertex of the box)."""
        value, start = self.prices(dual)
        excess = self.halves.values(value, self.i, self.j)
        excess += value[self.c] * self.share
        excess += start - self.lost
        best, top = largest(excess, most, least)
        others = start + knapsack(self.p * self.cap, (value - self.line) * self.cap, self.light) - self.floor
        fresh = self.vertices(self.halves.sets(self.i[best], self.j[best]), self.c[best].astype(np.intp))
        return fresh, max(top, others)


def knapsack(p: np.ndarray, value: np.ndarray, t: float) -> float:
    """Return max sum of value_x x over x in [0, 1]^N with sum P_x x = t: the likeliest value per mass first."""
    order = np.argsort(-value / p)
    before = np.cumsum(p[order]) - p[order]
    return float(value[order] @ np.clip((t - before) / p[order], 0.0, 1.0))
