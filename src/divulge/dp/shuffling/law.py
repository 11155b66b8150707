"""The losses that shuffled reports leave, as finitely many atoms that dominate them.

Of the n people a, b and c are at the points (p, 1), (1, p) and (m, m) of `hiding`. The pair has masses
(p a + b + m c) / n and (a + p b + m c) / n times the multinomial probability, and is alike in both orders. Four things
make it smaller in work and larger in delta at every epsilon >= 0: several t = a + b share what is drawn for the least
of them (the mean of fewer draws lies further out), c is fewer, or spread over a few values with the mean that it has,
losses go to a grid so that both masses stay, and what lies too far out tells as much as one report alone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.dp.shuffling.hiding import Hiding

Cells = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Losses with their masses under P and under Q."""

_DEEP = 105.0
"""-log of the probability, from above, of what lies beyond a window: some 1e-46."""

_SLACK = 1e-10
"""More than the rounding of a window of 1e5 probabilities, each a product of ratios, and of all that follows."""

_WORK = 8_000_000
"""Cells that are looked at: a second."""

_ATOMS, _TAIL = 4096, 512
"""Cells of the grid of losses within `_WIDE` deviations, some 300 to one of them, and beyond (a heuristic)."""

_WIDE = 15.0
"""Deviations of the loss that the fine part of the grid covers: a delta down to 1e-50 is told there."""

_FEWEST = 16
"""Values of c at least: with so many no digit of epsilon that is shown moves at 1e5 people (a measurement)."""

_MOST = 2048
"""Numbers of people who may hide somebody that are told apart; of 3,600 +- 900 all are."""


def window(n: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a binomial and their probabilities, but for a chance of 1e-45 (Bernstein's inequality).

    >>> values, shares = window(2, 0.5)
    >>> values.tolist(), shares.tolist()
    ([0, 1, 2], [0.25, 0.5, 0.25])
    """
    if not 0 < rate < 1 or n == 0:
        return np.array([n if rate >= 1 else 0]), np.ones(1)
    mean, odds = n * rate, rate / (1 - rate)
    third = _DEEP / 3
    reach = math.ceil(third + math.sqrt(third**2 + 2 * _DEEP * mean * (1 - rate))) + 1
    mode = min(n, math.floor((n + 1) * rate))
    low, high = max(0, mode - reach), min(n, mode + reach)
    up, down = np.arange(mode, high, dtype=np.float64), np.arange(mode, low, -1, dtype=np.float64)
    rising, falling = np.cumprod((n - up) / (up + 1) * odds), np.cumprod(down / (n - down + 1) / odds)
    shares = np.concatenate([falling[::-1], [1.0], rising])
    return np.arange(low, high + 1), shares / shares.sum()


@dataclass(frozen=True)
class ShuffledLaw:
    """n people with a local mechanism, in the numbers of `Hiding`."""

    hiding: Hiding
    n: int

    @cached_property
    def _hidden(self) -> tuple[np.ndarray, np.ndarray]:
        """How many are at the points that tell, one at least, and the probability of each number."""
        many, shares = window(self.n - 1, min(1.0, 2 * self.hiding.share))
        return many + 1, shares * (2 * self.hiding.share * self.n) / (many + 1)

    @cached_property
    def _buckets(self) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """Neighboring numbers with the least and greatest of them, their ends, and the probability of each end."""
        many, shares = self._hidden
        middle = int(many[np.argmax(shares)])
        width = len(window(middle, 0.5)[0]) / 4 + 1  # d > 0, and every other d
        most = max(32, min(_MOST, int(_WORK / (width * (2 * _FEWEST if self.hiding.equal > 0 else 1)))))
        found: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        pieces = (np.array_split(one, min(most, len(many))) for one in (many, shares))
        for t, share in zip(*pieces, strict=True):
            low, high = int(t[0]), int(t[-1])
            if low == high:
                found.append((low, high, t[:1].astype(float), share))
            elif self.hiding.equal == 0:  # masses are multiples of t: its mean stands for all
                whole = float(share.sum())
                found.append((low, high, np.array([float(share @ t) / whole]), np.array([whole])))
            else:
                above = float(share @ (t - low)) / (high - low)
                found.append((low, high, np.array([low, high], float), np.array([float(share.sum()) - above, above])))
        return found

    def _equal(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of people, from below, at the point that does not tell, of those who are not at the others."""
        rate = self.hiding.equal / max(1 - 2 * self.hiding.share, self.hiding.equal)
        values, shares = window(self.n - most, rate * (1 - _SLACK))
        room = max(_FEWEST, int(_WORK / (len(self._buckets) * (len(window(most, 0.5)[0]) / 2 + 1))))
        if len(values) <= room:
            return values.astype(float), shares
        grid = np.linspace(values[0], values[-1], min(room, 4 * _FEWEST))
        at = np.minimum(np.searchsorted(grid, values, side="right") - 1, len(grid) - 2)
        far = (values - grid[at]) / (grid[at + 1] - grid[at])
        spread = np.bincount(at, shares * (1 - far), len(grid)) + np.bincount(at + 1, shares * far, len(grid))
        return grid, spread

    def _cells(self) -> Iterator[Cells]:
        """Yield losses above 0 with their masses under P and Q."""
        p, m = self.hiding.odds, self.hiding.height
        for low, high, ends, weights in self._buckets:
            values, shares = window(low, 0.5)
            more, chance = values[2 * values > low] / low, shares[2 * values > low]
            equal, often = self._equal(high) if self.hiding.equal > 0 else (np.zeros(1), np.ones(1))
            for t, weight in zip(ends.tolist(), weights.tolist(), strict=True):
                a, b = t * more, t * (1 - more)
                second = (m * equal)[:, None] + (a + p * b)[None, :]
                off = ((p - 1) * (a - b))[None, :]
                mass = weight / self.n * often[:, None] * chance[None, :]
                loss = np.log1p(off / second)
                yield loss.ravel(), (mass * (second + off)).ravel(), (mass * second).ravel()

    @cached_property
    def atoms(self) -> Cells:
        """Losses from above 0 to the local epsilon, with their masses under P and under Q, from above."""
        top, found, size = self.hiding.epsilon, list[Cells](), 0
        cells = self._cells()
        for one in cells:
            found.append(one)
            size += len(one[0])
            if size > _ATOMS:
                break
        if size <= _ATOMS:
            losses, p, q = (np.concatenate(each) for each in zip(*found, strict=True))
            losses, where = np.unique(np.minimum(losses, top), return_inverse=True)
            p, q = np.bincount(where, p), np.bincount(where, q)
        else:
            losses, p, q = self._gridded([*found], cells)
        return self._closed(losses, p, q)

    def _gridded(self, first: list[Cells], rest: Iterator[Cells]) -> Cells:
        """Return the losses on a grid: what lies between two points goes to both, so that P and Q stay."""
        top = self.hiding.epsilon
        near = min(top, _WIDE * (self.hiding.odds - 1) * math.sqrt(2 * self.hiding.share / self.n))
        grid = np.linspace(0.0, near, _ATOMS)
        if near < top:
            grid = np.append(grid, near + (top - near) * np.linspace(0.0, 1.0, _TAIL + 1)[1:] ** 3)
        steps = np.expm1(np.diff(grid))
        upper = np.zeros(len(grid))
        lower = np.zeros(len(grid))
        for losses, _, q in (one for some in (first, rest) for one in some):
            losses = np.minimum(losses, top)
            at = np.minimum(np.searchsorted(grid, losses, side="right") - 1, len(grid) - 2)
            far = q * np.expm1(losses - grid[at]) / steps[at]
            upper += np.bincount(at + 1, far, len(grid))
            lower += np.bincount(at, q - far, len(grid))
        q = (lower + upper)[1:]
        return grid[1:], q * np.exp(grid[1:]), q

    def _closed(self, losses: np.ndarray, p: np.ndarray, q: np.ndarray) -> Cells:
        """Return the atoms with what was left out at the largest loss there is."""
        top = self.hiding.epsilon
        missed = math.exp(-_DEEP) * 8 * (self.hiding.odds * self.hiding.share + 1) * self.n
        kept = p > 0
        losses, p, q = losses[kept], p[kept] * (1 + _SLACK), q[kept] * (1 + _SLACK)
        if not len(losses) or losses[-1] < top:
            losses, p, q = np.append(losses, top), np.append(p, 0.0), np.append(q, 0.0)
        p[-1] += missed
        q[-1] += missed * math.exp(-top)
        return losses, p, q
