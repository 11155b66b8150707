"""Exact prices for priors that come from counts: subset sums by dynamic programming over P(S) = k / n.

Equal secrets share one dual, so a class of m secrets is a bounded item: best[k] = max over j <= m of
best[k - j c] + j value, taken in steps of 1, 2, 4, ... copies. The secret between the levels must not be in S; all
tables that leave one secret out come from one divide-and-conquer pass.
"""

import math
from collections.abc import Iterator

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.vertices import Vertices, box_vertices, joined, pair_vertices
from divulge.designing.pricing.problem import Problem, box_prices, largest, pair_prices, uninformative


class Tables:
    """best[k] = the largest sum of values of a multiset of secrets with counts summing to k, with its history."""

    def __init__(self, counts: np.ndarray, values: np.ndarray, most: int) -> None:
        self.counts, self.values = counts.tolist(), values.tolist()
        self.best = np.full(most + 1, -math.inf)
        self.best[0] = 0.0
        self.steps: list[tuple[np.ndarray, int, int]] = []  # the table before, class and number of those offered

    def offer(self, of: int, copies: int) -> None:
        """Offer up to `copies` secrets of a class."""
        portion = 1
        while copies > 0:
            taken = min(portion, copies)
            shift = taken * self.counts[of]
            self.steps.append((self.best, of, taken))
            if shift == 0:
                self.best = self.best + max(0.0, taken * self.values[of])
            elif shift < len(self.best):
                best = self.best.copy()
                np.maximum(best[shift:], self.best[:-shift] + taken * self.values[of], out=best[shift:])
                self.best = best
            copies -= taken
            portion *= 2

    def back_to(self, length: int) -> None:
        """Take back all offers after the first `length` steps."""
        if length < len(self.steps):
            self.best = self.steps[length][0]
            del self.steps[length:]

    def taken(self, k: np.ndarray) -> np.ndarray:
        """Return how many of each class the best sets with the sums k have, shape (K, D)."""
        out = np.zeros((len(k), len(self.counts)), dtype=np.int64)
        k, after = k.copy(), self.best
        for before, of, copies in reversed(self.steps):
            count = self.counts[of]
            took = after[k] != before[k] if count else np.full(len(k), self.values[of] > 0)
            out[:, of] += copies * took
            k -= copies * count * took
            after = before
        return out

    def drawn(self, k: np.ndarray, slack: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return random sets with the sums k whose values are at most `slack` below the best; single secrets only."""
        out = np.zeros((len(k), len(self.counts)), dtype=bool)
        k, slack, after = k.copy(), slack.copy(), self.best
        for before, of, _ in reversed(self.steps):
            left, value = k - self.counts[of], self.values[of]
            skipped = after[k] - before[k]
            taken = np.where(left >= 0, after[k] - (before[np.maximum(left, 0)] + value), math.inf)
            take = np.where(random.random(len(k)) < 0.5, taken <= slack, skipped > slack)
            slack -= np.where(take, taken, skipped)
            out[:, of] = take
            k, after = np.where(take, left, k), before
        return out


class Counting:
    """Prices all vertices of a prior of counts exactly."""

    LIMIT = 3e8

    def __init__(self, problem: Problem, effort: Effort) -> None:
        assert problem.classes.counts is not None
        self.problem, self.effort = problem, effort
        self.counts = problem.classes.counts
        self.n = problem.classes.total
        masses = [box.t for box in problem.shape.boxes] + [pair.most for pair in problem.shape.pairs]
        self.most = min(self.n, math.floor(max(masses) * self.n + 1e-9))
        self.between = [[self._between(box.t, c) for c in range(len(self.counts))] for box in problem.shape.boxes]
        self.losses = [
            [p * box.penalty(problem.utility, x) for p, (_, x) in zip(problem.classes.probability, row, strict=True)]
            for box, row in zip(problem.shape.boxes, self.between, strict=True)
        ]

    @classmethod
    def fits(cls, classes: Classes) -> bool:
        """Whether the prior has counts and one pass over the tables is affordable."""
        steps = float(np.ceil(np.log2(classes.size + 1.0)).sum()) * (1 + math.log2(len(classes.size)))
        return classes.counts is not None and steps * classes.total <= cls.LIMIT

    def _between(self, t: float, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (k, x): the sums of S that leave a share x in [0, 1] of a secret of class c."""
        count = int(self.counts[c])
        k = np.arange(max(0, math.ceil(t * self.n - count - 1e-9)), min(self.most, math.floor(t * self.n + 1e-9)) + 1)
        return k, np.clip((t * self.n - k) / count, 0.0, 1.0)

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertex for each class in between and the best pairs of levels, and the largest excess."""
        problem = self.problem
        tables = Tables(self.counts, -dual.classes / problem.classes.size, self.most)
        sizes = problem.classes.size.tolist()
        found, worst = [], -math.inf
        if problem.shape.boxes:
            for c in leaving_one(tables, sizes, 0, len(sizes)):
                if not self.effort.spend():
                    worst = math.inf
                    break
                tables.offer(c, sizes[c] - 1)
                for box, row, losses in zip(problem.shape.boxes, self.between, self.losses, strict=True):
                    k, x = row[c]
                    if not len(k):
                        continue
                    value, base = box_prices(problem, box, dual)
                    excess = base + (box.high - box.low) * tables.best[k] + value[c] * x - losses[c]
                    at = int(excess.argmax())
                    worst = max(worst, float(excess[at]))
                    if excess[at] > 0:
                        sets = tables.taken(k[[at]])
                        found.append(box_vertices(box, problem.classes, sets, np.array([c])))
        if problem.shape.pairs:
            tables.back_to(0)
            for c, size in enumerate(sizes):
                tables.offer(c, size)
            k = np.flatnonzero(np.isfinite(tables.best[1 : self.n])) + 1
            for pair in problem.shape.pairs:
                prices = pair_prices(problem, pair, dual, k / self.n)
                excess = prices.base + prices.rise * tables.best[k]
                best, top = largest(excess, len(sizes) + 8)
                worst = max(worst, top)
                found.append(pair_vertices(pair, problem.classes, tables.taken(k[best])))
        fresh = joined(found) if found else uninformative(problem).take(np.zeros(0, dtype=np.intp))
        return fresh, worst + problem.rounding(dual)


def leaving_one(tables: Tables, sizes: list[int], start: int, stop: int) -> Iterator[int]:
    """Yield each class of [start, stop) while `tables` holds exactly the secrets of all other classes."""
    if stop - start == 1:
        yield start
        return
    middle, length = (start + stop) // 2, len(tables.steps)
    for low, high, others in ((start, middle, range(middle, stop)), (middle, stop, range(start, middle))):
        for c in others:
            tables.offer(c, sizes[c])
        yield from leaving_one(tables, sizes, low, high)
        tables.back_to(length)
