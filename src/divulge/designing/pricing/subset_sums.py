"""Prices from subset sums near a target: the vertices that lose least have sets whose mass nearly fits.

The loss of a vertex of a box is that of its one secret in between, small when P(S) or P(S) + P_r is within delta of t.
Such sets are found by meeting in the middle (Horowitz and Sahni, 1974): the sorted subset sums of two halves. Every
other vertex loses at least `floor`, and a fractional knapsack bounds its reduced cost.
"""

import math

import numpy as np

from divulge import clock
from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.vertices import Box, Vertices, box_vertices, joined
from divulge.designing.pricing.meet_in_the_middle import BoxList, Halves
from divulge.designing.pricing.problem import Problem, box_prices, largest
from divulge.designing.pricing.ratio_grid import Windows

FEW = 4_000
"""Vertices of the first list. A heuristic: a short one is priced fast, and longer ones are made where it ends."""
MANY = 300_000
"""Vertices of the longest list: memory, and the time of each price, grow with it."""
GROWTH = 6
"""Times as long each next list is: three steps from `FEW` to `MANY`, and all before cost a fifth of the last."""


def singletons(classes: Classes) -> Classes:
    """Return the classes with every secret on its own."""
    return Classes.apart(np.repeat(classes.probability, classes.size), list(np.concatenate(classes.members)[:, None]))


class SubsetSums:
    """Prices all vertices: those of boxes by lists that grow, those of pairs of levels on grids."""

    def __init__(self, problem: Problem, halves: list[Halves], work: float, effort: Effort) -> None:
        self.problem, self.effort, self.halves = problem, effort, halves
        self.pairs = [Windows(problem, pair, work, effort) for pair in problem.shape.pairs]
        self._list(FEW)

    def _list(self, most: int) -> None:
        """List at most about so many vertices of each box."""
        self.most, started = most, clock.now()
        boxes = zip(self.problem.shape.boxes, self.halves, strict=True)
        self.boxes = [BoxList(self.problem, box, halves, most) for box, halves in boxes]
        self.took = clock.now() - started

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertices and the largest excess of any; lists with no more to say grow."""
        most, least = 4 * self.problem.secrets, self.problem.least
        rounding, pairs = self.problem.rounding(dual), [pair.price(dual, enough) for pair in self.pairs]
        while True:
            parts = [box.price(dual, most, least) for box in self.boxes] + pairs
            fresh, worst = joined([v for v, _ in parts]), max(top for _, top in parts)
            full = self.most >= MANY or self.effort.left <= GROWTH * self.took
            if len(fresh) or worst <= rounding or full:
                return fresh, worst + rounding
            self._list(min(MANY, GROWTH * self.most))


class BoxPool:
    """Vertices of a box near given sets: in between is a secret outside a set that lacks mass, or inside one with
    too much. Nothing is known of other vertices."""

    def __init__(self, problem: Problem, box: Box, sets: np.ndarray) -> None:
        self.problem, self.box, self.sets = problem, box, sets
        p = problem.classes.probability
        lacks = box.t - sets @ p
        self.row, self.c = np.nonzero((np.abs(lacks)[:, None] <= p) & (sets != (lacks >= 0)[:, None]))
        self.move = lacks[self.row] / p[self.c]
        x = np.where(self.move >= 0, self.move, 1 + self.move)
        self.loss = p[self.c] * box.penalty(problem.utility, np.clip(x, 0.0, 1.0))

    def cheapest(self) -> Vertices:
        """Return for each set of the pool the vertex that loses least."""
        return self._vertices(self._each(self.loss))

    def price(self, dual: Dual, most: int, least: float = 0.0) -> tuple[Vertices, float]:
        """Return (the best vertices, of different sets, inf)."""
        value, base = box_prices(self.problem, self.box, dual)
        excess = base + (self.sets @ value)[self.row] + value[self.c] * self.move - self.loss
        each = self._each(-excess)
        return self._vertices(each[largest(excess[each], most, least)[0]]), math.inf

    def _each(self, cost: np.ndarray) -> np.ndarray:
        """Return for each set of the pool the position of its cheapest vertex."""
        first = np.flatnonzero(np.diff(self.row, prepend=-1))
        least = np.minimum.reduceat(cost, first) if len(first) else cost
        hits = np.flatnonzero(cost == np.repeat(least, np.diff(first, append=len(cost))))
        return hits[np.flatnonzero(np.diff(self.row[hits], prepend=-1))]

    def _vertices(self, which: np.ndarray) -> Vertices:
        sets = self.sets[self.row[which]].astype(np.int64)
        sets[np.arange(len(which)), self.c[which]] = 0
        return box_vertices(self.box, self.problem.classes, sets, self.c[which])


def listed_sets(problem: Problem, work: float, effort: Effort) -> SubsetSums | None:
    """Return the oracle of listed sets, None where there is no box or a half of the secrets has too many subsets."""
    p, boxes = problem.classes.probability, problem.shape.boxes
    found = [Halves.of(p, box.light + 1e-12) for box in boxes]
    halves = [one for one in found if one is not None]
    return SubsetSums(problem, halves, work, effort) if len(halves) == len(boxes) > 0 else None
