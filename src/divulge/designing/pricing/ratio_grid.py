"""Prices for pairs of levels: subset sums on one grid for each range of masses, finer the lighter its sets.

P_x = c_x / n + e_x. A set with sum k on the grid has a mass within [-E, E] of k / n, and the excess of its vertex is
bounded by the largest over that interval. Values are tilted by e_x times a slope, so that only the bend of the excess
over the interval is lost, not its slope; each slope bounds all sums, and the next one fits where bounds are worst.
"""

import math

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Pair, Vertices, cell_bounds, neighbors, pair_vertices
from divulge.designing.pricing.counting import Tables
from divulge.designing.pricing.meet_in_the_middle import knapsack
from divulge.designing.pricing.problem import Problem, pair_prices

_FIRST = 2**12
"""Cells of the coarsest grid: 32 kB for each secret, so that what it rules out costs next to nothing."""
_FINER = 4
"""Times as many cells has each next grid, so that all coarser ones together cost a third of it."""
_MOST = 2**19
"""Cells of the finest grid: 4 MB for each secret."""
_TILTS = 24
"""Slopes that are tried in a window; most end after a few, as soon as none fits better."""
_ALIKE = 1e-6
"""Slopes that differ by a smaller share bound alike."""
_TRACED = 60
"""Sums whose sets are traced back at first, an eighth of that later. A heuristic: they become columns."""
_RELAXED = 65
"""Masses of a range, 64 steps, at which the divisible relaxation is bounded, beside those where a secret is full."""
_FAIR = 2.0
"""A bound of so many times the best gain that is known is not made smaller: columns come first."""


class Grid:
    """Masses of secrets as multiples of a step, so chosen that they are off by little."""

    def __init__(self, p: np.ndarray, heaviest: float, size: int) -> None:
        tries = np.unique(np.random.default_rng(0).integers(size // 2, size + 1, 256)) / heaviest
        self.n = float(min(tries, key=lambda n: np.abs(p - np.rint(p * n) / n).sum()))
        self.p, self.heaviest = p, heaviest
        self.counts = np.rint(p * self.n).astype(np.int64)
        self.error = p - self.counts / self.n
        self.under, self.over = (self._off(sign * self.error) for sign in (-1, 1))
        self.most = min(int(self.counts.sum()), math.ceil((heaviest + self.under) * self.n) + 1)

    def _off(self, error: np.ndarray) -> float:
        """Return how far sets up to the heaviest may be off in all."""
        masses, errors = np.append(self.p, self.heaviest), np.append(np.maximum(error, 0.0), 0.0)
        return min(self.heaviest, knapsack(masses, errors, self.heaviest)) + 1e-15


class Window:
    """Sets of a range of masses, on a grid of their own."""

    def __init__(self, p: np.ndarray, low: float, high: float, size: int) -> None:
        self.low, self.high, self.secrets = low, high, np.flatnonzero(p <= high * (1 + 1e-12))
        self.grid, self.total = Grid(p[self.secrets], high, size), len(p)

    def tables(self, value: np.ndarray, slope: float) -> Tables:
        """Return the best sets of each sum, where values are tilted by a slope."""
        tables = Tables(self.grid.counts, value[self.secrets] + slope * self.grid.error, self.grid.most)
        for at in range(len(self.secrets)):
            tables.offer(at, 1)
        return tables

    def sums(self, tables: Tables) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (sums k that sets of the range may have; k / n; the least and largest mass of such a set)."""
        k, grid = np.arange(len(tables.best)), self.grid
        middle = k / grid.n
        inside = (middle + grid.over >= self.low) & (middle - grid.under <= self.high) & np.isfinite(tables.best)
        k, middle = k[inside], middle[inside]
        ends = np.stack([middle - grid.under, middle + grid.over])
        return k, middle, np.clip(ends, self.low, self.high)

    def sets(self, tables: Tables, k: np.ndarray) -> np.ndarray:
        """Return the best sets of these sums, a boolean matrix."""
        out = np.zeros((len(k), self.total), dtype=bool)
        out[:, self.secrets] = tables.taken(k) > 0
        return out


class Windows:
    """Prices all vertices of a pair of levels within the error of grids, by ever finer ones where that matters."""

    def __init__(self, problem: Problem, pair: Pair, work: float, effort: Effort) -> None:
        self.problem, self.pair, self.effort = problem, pair, effort
        self.p, self.least = problem.classes.probability, problem.least
        self.ranges = list(_halved(pair.least, pair.most))
        finest = min(max(work / len(self.p), _FIRST), _MOST)
        self.sizes = [_FIRST * _FINER**i for i in range(int(math.log(finest / _FIRST, _FINER)) + 1)]
        self.made: dict[tuple[int, int], Window] = {}

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the vertices of the best sets on the grids, and a bound of the excess of all vertices."""
        enough = max(enough, self.least)
        bounds, found, reached = [math.inf] * len(self.ranges), [np.zeros((0, len(self.p)), dtype=bool)], self.least
        relaxed = self._relaxed(dual)
        for size in self.sizes:
            for at, bound in enumerate(bounds):
                if relaxed[at] <= enough:
                    bounds[at] = relaxed[at]
                    continue
                if bound <= max(enough, _FAIR * reached):
                    continue
                sets, bound = self._priced(self._window(at, size), dual, reached, enough)
                gains = self._gains(sets, dual)
                found.append(sets[gains > self.least])
                bounds[at], reached = min(bounds[at], bound), max(reached, float(gains.max(initial=0.0)))
                if not self.effort.spend():
                    break
            if max(bounds) <= max(enough, _FAIR * reached) or not self.effort.spend():
                break
        sets = different(np.concatenate(found))
        return pair_vertices(self.pair, self.problem.classes, sets.astype(np.int64)), max(bounds)

    def _relaxed(self, dual: Dual) -> list[float]:
        """Return bounds of the excess in each range, were secrets divisible."""
        order = np.argsort(dual.classes / self.p)
        mass, worth = (np.append(0.0, np.cumsum(a[order])) for a in (self.p, -dual.classes))
        out: list[float] = []
        for low, high in self.ranges:
            inner = mass[(mass > low) & (mass < high)]
            ends = neighbors(np.sort(np.concatenate([np.linspace(low, high, _RELAXED), inner])))
            out.append(float(self._bounds(dual, ends, np.interp(ends, mass, worth)).max(initial=-math.inf)))
        return out

    def _window(self, at: int, size: int) -> Window:
        if (at, size) not in self.made:
            self.made[at, size] = Window(self.p, *self.ranges[at], size)
        return self.made[at, size]

    def _priced(self, window: Window, dual: Dual, reached: float, enough: float) -> tuple[np.ndarray, float]:
        """Return (sets, bound) of a window; no closer bound is looked for than explains what is reached."""
        slope, found = self._slope(dual, np.array([window.low, window.high])), []
        bounds = np.zeros(0)
        for tilt in range(_TILTS):
            tables = window.tables(-dual.classes, slope)
            k, middle, ends = window.sums(tables)
            if not len(k):
                return np.zeros((0, len(self.p)), dtype=bool), -math.inf
            over = self._bounds(dual, ends, tables.best[k] - slope * (ends - middle))
            bounds = np.minimum(bounds, over) if tilt else over
            hot = np.flatnonzero(bounds > self.least)
            hot = hot[np.argsort(-bounds[hot])[: 2 * len(self.p)]]
            traced = hot[: _TRACED // 8] if tilt else hot[:: max(1, len(hot) // _TRACED)]
            found.append(window.sets(tables, k[traced]))
            reached = max(reached, float(self._gains(found[-1], dual).max(initial=0.0)))
            worst = int(np.argmax(bounds))
            before, slope = slope, self._slope(dual, ends[:, worst])
            alike = abs(slope - before) <= _ALIKE * abs(slope)
            if bounds[worst] <= max(enough, reached) or alike or not self.effort.spend():
                break
        return np.concatenate(found), float(bounds.max())

    def _bounds(self, dual: Dual, ends: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return bounds of the excess between masses, where values are linear; `ends` and `value` of shape (2, K)."""
        prices = [pair_prices(self.problem, self.pair, dual, pi) for pi in ends]
        excess = np.stack([p.base + p.rise * v for p, v in zip(prices, value, strict=True)])
        return cell_bounds(self.pair, self.problem.utility, ends, excess, value, dual.capacity)

    def _gains(self, sets: np.ndarray, dual: Dual) -> np.ndarray:
        """Return the excess of sets, -inf where the pair has no vertex for them."""
        prices = pair_prices(self.problem, self.pair, dual, sets @ self.p)
        return prices.base + prices.rise * (sets @ prices.value)

    def _slope(self, dual: Dual, ends: np.ndarray) -> float:
        """Return minus the slope, between two masses, of the value at which a set has no excess."""
        width = float(ends[1] - ends[0])
        given = pair_prices(self.problem, self.pair, dual, ends)
        level = -given.base / given.rise
        return float(level[0] - level[1]) / width if width else 0.0


def _halved(least: float, most: float) -> list[tuple[float, float]]:
    """Return ranges that cover [least, most], each at most from a mass to its double."""
    ends = [most]
    while ends[-1] > 2 * least:
        ends.append(ends[-1] / 2)
    return list(zip([*ends[1:], least], ends, strict=True))


def different(sets: np.ndarray) -> np.ndarray:
    """Return each set once."""
    return sets[np.unique(np.packbits(sets, axis=1), axis=0, return_index=True)[1]]
