"""Prices by dynamic programming over scaled weights (Ibarra and Kim, 1975): masses are rounded to a grid.

All sets of a vertex of a box have about the mass t, so that one grid does. `ratio_grid` says how values are tilted by
the rounding, and prices pairs of levels.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Box, Vertices, joined
from divulge.designing.pricing.counting import Tables, leaving_one
from divulge.designing.pricing.problem import LighterSide, Oracle, Problem
from divulge.designing.pricing.ratio_grid import Grid, Windows, different
from divulge.designing.pricing.subset_sums import BoxPool

_DRAWS = 256
"""Sets that are drawn at random near the best sums. A heuristic: they become columns, of which few are of use."""
_TRIES = 12
"""Secrets in between, on average, for which sets are drawn at random: about so many for any number of secrets."""
_TILTS = 8
"""Slopes that are tried, in units of a pass over all secrets; the bound of each holds."""
_FAIR = 4.0
"""Bounds up to so many times what the best vertex gains are near enough: it makes another dual worth more."""


@dataclass(frozen=True, eq=False)
class OpenSums:
    """Sums k beside one secret in between that are not ruled out, with bounds of their reduced cost and of the rest."""

    k: np.ndarray
    bound: np.ndarray
    rest: float = -math.inf

    @property
    def top(self) -> float:
        """The largest bound."""
        return max(self.rest, float(self.bound.max(initial=-math.inf)))

    def below(self, bound: np.ndarray, least: float) -> "OpenSums":
        """Return the same under bounds that hold, too, without sums whose bound is at most `least`."""
        bound = np.minimum(self.bound, bound)
        kept = bound > least
        return OpenSums(self.k[kept], bound[kept], max(self.rest, float(bound[~kept].max(initial=-math.inf))))


class Tilted(LighterSide):
    """The vertices of a box under a dual, with sets on a grid."""

    def __init__(self, problem: Problem, box: Box, grid: Grid, dual: Dual) -> None:
        super().__init__(problem, box)
        self.grid = grid
        self.value, self.start = self.prices(dual)

    def every(self, c: int) -> OpenSums:
        """Return all sums of sets beside secret c in between; nothing is known of them."""
        grid = self.grid
        first = max(0, math.floor((self.light - self.p[c] - grid.over) * grid.n))
        k = np.arange(first, min(grid.most, math.ceil((self.light + grid.under) * grid.n)) + 1)
        return OpenSums(k, np.full(len(k), math.inf))

    def ends(self, c: int, k: np.ndarray) -> np.ndarray:
        """Return the least and the largest mass that secret c may have to make up for, shape (2, K)."""
        left = self.light - k / self.grid.n
        return np.stack([np.maximum(left - self.grid.over, 0.0), np.minimum(left + self.grid.under, self.p[c])])

    def own(self, c: int, mass: np.ndarray) -> np.ndarray:
        """Return what secret c gains in between with this mass: convex."""
        x = np.clip(mass / self.p[c], 0.0, 1.0)
        return self.value[c] * x - self.loss(self.p[c], x)

    def bounds(self, c: int, k: np.ndarray, best: np.ndarray, slope: float) -> np.ndarray:
        """Return bounds of the excess, given the best sets of each sum under values tilted by a slope."""
        ends = self.ends(c, k)
        gains = [self.own(c, mass) - slope * (self.light - k / self.grid.n - mass) for mass in ends]
        return np.where(ends[0] <= ends[1], self.start + best[k] + np.maximum(*gains), -math.inf)

    def slope(self, c: int, k: int) -> float:
        """Return the slope under which what a set of this sum lacks does not matter."""
        low, high = self.ends(c, np.array([k]))[:, 0]
        own = self.own(c, np.array([low, high]))
        return float(own[0] - own[1]) / float(high - low) if high > low else 0.0

    def usual(self) -> float:
        """Return the slope at which to begin: what swapping secrets that fit pays, per mass."""
        fits = self.p <= self.light
        off = self.p[fits] - self.p[fits].mean() if fits.any() else np.zeros(0)
        return -float(off @ self.value[fits] / max(off @ off, 1e-300))


class ScaledWeights:
    """Prices all vertices within the error of grids."""

    def __init__(self, problem: Problem, work: float, effort: Effort) -> None:
        self.problem, self.effort, self.p = problem, effort, problem.classes.probability
        self.random = np.random.default_rng(0)
        self.least = problem.least
        size = int(max(2**10, min(2**19, work / (len(self.p) * (1 + math.log2(len(self.p)))))))
        self.grids = [Grid(self.p, box.light, size) for box in problem.shape.boxes]
        self.pairs = [Windows(problem, pair, work, effort) for pair in problem.shape.pairs]

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the vertices of the best sets on the grids, and a bound of the excess of all vertices."""
        enough = max(enough, self.least)
        parts = [
            self._box(box, grid, dual, enough) for box, grid in zip(self.problem.shape.boxes, self.grids, strict=True)
        ]
        parts += [pair.price(dual, enough) for pair in self.pairs]
        return joined([v for v, _ in parts]), max(top for _, top in parts) + self.problem.rounding(dual)

    def _box(self, box: Box, grid: Grid, dual: Dual, enough: float) -> tuple[Vertices, float]:
        """Return vertices and a bound; each slope bounds all sums, and the next one fits where bounds are worst, or is
        steeper where it did not help: sets that miss the sum by much are then ruled out.

        While many secrets in between may gain, all are tried under a slope at once, which costs as much as some alone.
        """
        side, many = Tilted(self.problem, box, grid, dual), math.log2(len(self.p)) + 1
        slope, sets, left = side.usual(), [np.zeros((1, len(self.p)), dtype=bool)], _TILTS * many
        hot, worst, again = [side.every(c) for c in range(len(self.p))], 0, 0
        fresh, goal = self._vertices(side, sets[0], dual), enough
        while left > 0:
            tables = Tables(grid.counts, side.value + slope * grid.error, grid.most)
            together = sum(one.top > goal for one in hot) > many
            for c in leaving_one(tables, [1] * len(self.p), 0, len(self.p)) if together else _without(tables, worst):
                if not self.effort.spend():
                    break
                hot[c] = hot[c].below(side.bounds(c, hot[c].k, tables.best, slope), self.least)
                sets += self._sets(tables, hot[c], c)
            fresh = self._vertices(side, np.concatenate(sets), dual)
            goal = max(enough, _FAIR * float(self.problem.gains(fresh, dual).max(initial=0.0)))
            before, worst = worst, max(range(len(hot)), key=lambda c: hot[c].top)
            if hot[worst].top <= goal or not self.effort.spend() or not len(hot[worst].k):
                break
            again = again + 1 if worst == before else 0
            slope = side.slope(worst, int(hot[worst].k[hot[worst].bound.argmax()])) * 4.0**again
            left -= many if together else 1
        return fresh, max(one.top for one in hot)

    def _sets(self, tables: Tables, hot: OpenSums, c: int) -> list[np.ndarray]:
        """Return the best set of the sums that may gain, with and without c; sometimes random ones nearly as good."""
        if not len(hot.k):
            return []
        best = np.tile(tables.taken(hot.k[[hot.bound.argmax()]]) > 0, (2, 1))
        best[1, c] = True
        if self.random.random() >= _TRIES / len(self.p):
            return [best]
        some = self.random.integers(len(hot.k), size=_DRAWS)
        return [best, tables.drawn(hot.k[some], hot.bound[some], self.random)]

    def _vertices(self, side: Tilted, sets: np.ndarray, dual: Dual) -> Vertices:
        """Return the best vertices whose lighter sets are these."""
        sets = different(sets)
        pool = BoxPool(self.problem, side.box, ~sets if side.flipped else sets)
        return pool.price(dual, 4 * len(self.p), self.least)[0]


def _without(tables: Tables, c: int) -> Iterator[int]:
    """Yield the secret while `tables` holds exactly all others."""
    for other in range(len(tables.counts)):
        if other != c:
            tables.offer(other, 1)
    yield c


class Cascade:
    """Oracles from cheap to dear: the next one is asked when those before find little of what they cannot rule out.

    Those that neither rule out most nor make the others needless are left out for a while, each time for longer.
    """

    def __init__(self, problem: Problem, *oracles: Oracle[Vertices]) -> None:
        self.problem, self.oracles, self.least = problem, oracles, problem.least
        self.idle, self.rests = [0] * len(oracles), [0] * len(oracles)

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return what those that were asked found, and the smallest of their excesses."""
        found: list[Vertices] = []
        least, best, asked = math.inf, -1, []
        awake = [at for at, rest in enumerate(self.rests) if not rest] or [len(self.oracles) - 1]
        self.rests = [max(0, rest - 1) for rest in self.rests]
        for at in awake:
            fresh, excess = self.oracles[at].price(dual, enough)
            asked.append(at)
            found.append(fresh)
            least, best = (excess, at) if excess < least else (least, best)
            settled = least <= max(enough, self.least) + self.problem.rounding(dual)
            if settled or self.problem.explains(joined(found), least, dual):
                best = at
                break
        for at in asked:
            self.idle[at] = 0 if at == best else self.idle[at] + 1
            self.rests[at] = 2 ** self.idle[at] - 1
        return joined(found), least
