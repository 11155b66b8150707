"""Prices of outcomes by what they tell of another variable: cells of the lifts of its values, split where it pays.

mu(v) = sum_w P_w f(u_w) for u_w = sum_x P(x | w) v_x. In a cell lo <= u <= hi it lies below its chords, whose excess is
linear in v, and greatest at a vertex that is found by sorting. The smaller the cell, the closer chords and f.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.linear.score_program import best_columns
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Outcomes, Rows, box_vertices, inside, joined, pair_vertices
from divulge.designing.pricing.problem import Problem
from divulge.designing.supports.correlated import Informed

_MOST = 20_000
"""Cells beyond which none is split: all of them are priced again under every dual. The bound says what that leaves."""
_AT_ONCE = 64
"""Cells that are split together: one call of NumPy for all, while few are split that the first would have ruled out."""
_ENOUGH = 1e-9
"""The excess that ends a price, as a share of the largest utility: it is all that is left of the gap by that."""
_FRESH = 64
"""Outcomes that join the master at once. A heuristic: fewer take more rounds, more make each program larger."""


@dataclass(frozen=True, eq=False)
class Cells(Rows):
    """Boxes of lifts u of the W values of the other variable: lowest and highest, shape (n, W)."""

    low: np.ndarray
    high: np.ndarray

    def shrunk(self, mass: np.ndarray) -> "Cells":
        """Return the cells without what sum_w P_w u_w = 1 rules out; none that is empty."""
        high = np.minimum(self.high, self.low + (1 - self.low @ mass)[:, None] / mass)
        low = np.maximum(self.low, self.high - (self.high @ mass - 1)[:, None] / mass)
        good = (low <= high + 1e-12).all(axis=1)
        return Cells(low[good], np.maximum(low, high)[good])

    def halved(self, utility: Informed, mass: np.ndarray) -> "Cells":
        """Return both halves of each cell, cut where the chord is farthest from f."""
        middle = (self.low + self.high) / 2
        bend = mass * ((utility.f(self.low) + utility.f(self.high)) / 2 - utility.f(middle))
        rows, w = np.arange(len(middle)), bend.argmax(axis=1)
        below, above = self.high.copy(), self.low.copy()
        below[rows, w] = above[rows, w] = middle[rows, w]
        return joined([Cells(self.low, below), Cells(above, self.high)]).shrunk(mass)


class SpatialBranchAndBound:
    """Prices all outcomes of some kinds by cells that stay from one price to the next."""

    def __init__(self, problem: Problem, utility: Informed, kinds: np.ndarray, effort: Effort) -> None:
        self.problem, self.utility, self.kinds, self.effort = problem, utility, kinds, effort
        self.p = problem.classes.probability
        self.mass, self.back = self.utility.seen_from(self.p)
        self.least = _ENOUGH * problem.ceiling
        high = self._most(self.back, 0.0)
        self.cells = Cells(np.maximum(-self._most(-self.back, 0.0), 0.0)[None, :], high[None, :]).shrunk(self.mass)

    def _outcomes(self, lifts: np.ndarray) -> Outcomes:
        return Outcomes.of(lifts, self.problem.classes, self.utility)

    @cached_property
    def uninformative(self) -> Outcomes:
        """The outcome that says nothing, where it is allowed: beside a capacity no mixture of vertices is as cheap."""
        return self._outcomes(np.ones((int(self.kinds.all(axis=0).any()), len(self.p))))

    def extremes(self) -> np.ndarray:
        """Return the outcomes, shape (n, N), that tell most for each value of W, and against it."""
        return self._best(np.concatenate([self.back, -self.back], axis=1), 0.0)

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Outcomes, float]:
        """Return outcomes with large excess, and a bound of all that is within a factor of 2."""
        bounds, found = self._looked(self.cells, dual)
        found = joined([found, self.uninformative])
        while True:
            excess = self.problem.gains(found, dual)
            reached = max(float(excess.max()), 0.0)
            order = np.argsort(-bounds)[:_AT_ONCE]
            split = order[bounds[order] > 2 * reached + self.least]
            if not len(split) or len(bounds) > _MOST or not self.effort.spend():
                break
            fresh = self.cells.take(split).halved(self.utility, self.mass)
            more, others = self._looked(fresh, dual)
            stay = np.delete(np.arange(len(bounds)), split)
            self.cells = joined([self.cells.take(stay), fresh])
            bounds = np.concatenate([bounds[stay], more])
            found = joined([found, others])
        best = np.argsort(-excess)[:_FRESH]
        return found.take(best[excess[best] > self.least]), max(float(bounds.max()), 0.0)

    def _looked(self, cells: Cells, dual: Dual) -> tuple[np.ndarray, Outcomes]:
        """Return (a bound of the excess in each cell, the outcomes that are best for the chords of the cells)."""
        below, above = self.utility.f(cells.low), self.utility.f(cells.high)
        slope = (above - below) / np.maximum(cells.high - cells.low, 1e-300)
        start = (below - slope * cells.low) @ self.mass
        lines = self.back @ (slope * self.mass).T - dual.classes[:, None]
        scale = (np.abs(below) + np.abs(slope) * (cells.low + cells.high)) @ self.mass
        outcomes = self._outcomes(self._best(lines, dual.capacity))
        return start + self._most(lines, dual.capacity) + 2.0**-49 * (scale + np.abs(start)), outcomes

    def _most(self, lines: np.ndarray, dear: float) -> np.ndarray:
        """Return an upper bound of line . v - dear max v over all outcomes, for each of the lines (N, n)."""
        many = lines.shape[1]
        none = np.zeros(many)
        each = [
            best_columns(lines, np.tile(kind[:, None], many), none + dear, none, self.p, self.problem.limits)
            for kind in self.kinds.T
        ]
        return np.max(each, axis=0)

    def _best(self, lines: np.ndarray, dear: float) -> np.ndarray:
        """Return the vertices, shape (n', N), that are best for the lines: secrets in the order of value by mass."""
        problem, parts = self.problem, []
        for kind in self.kinds.T:
            order = np.argsort(np.where(kind[:, None], -lines / self.p[:, None], np.inf), axis=0, kind="stable").T
            place = np.argsort(order, axis=1)
            filled = np.cumsum(self.p[order], axis=1)
            for box in problem.shape.boxes:
                many = (filled <= box.t * (1 + 1e-15)).sum(axis=1)
                good = many < len(self.p)
                counts, between = place[good] < many[good, None], np.argmax(place[good] == many[good, None], axis=1)
                parts.append(box_vertices(box, problem.classes, counts, between).lifts(problem.classes))
            for pair in problem.shape.pairs:
                low, high = pair.levels(np.clip(filled, 1e-300, 1.0))
                gained = np.cumsum(np.take_along_axis(lines.T, order, axis=1), axis=1)
                value = low * lines.sum(axis=0)[:, None] + (high - low) * gained - dear * high
                value = np.where((filled >= pair.least) & (filled <= pair.most) & (filled < 1 - 1e-12), value, -np.inf)
                many = value.argmax(axis=1) + 1
                good = np.isfinite(value.max(axis=1))
                counts = place[good] < many[good, None]
                parts.append(pair_vertices(pair, problem.classes, counts).lifts(problem.classes))
        lifts = np.unique(np.concatenate(parts), axis=0)
        return lifts[inside(lifts, self.kinds).any(axis=1)]
