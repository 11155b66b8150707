"""Prices for priors with heavy and light secrets: subset sums on a grid that is finer than what they decide.

P_x = c_x / n + e_x. A set with sum k on the grid has a mass within [-E, E] of k / n, and the excess of its vertex is
bounded by the largest over that interval. Values are tilted by e_x times a slope, so that only the bend of the excess
over the interval is lost, not its slope.
"""

import math

import numpy as np

from divulge.designing.counting import Tables, leaving_one
from divulge.designing.effort import Effort
from divulge.designing.generation import LEAST, ceiling_of
from divulge.designing.listing import knapsack
from divulge.designing.master import Dual
from divulge.designing.nearby import BoxPool
from divulge.designing.pricing import Oracle, Problem, box_prices, pair_prices
from divulge.designing.vertices import Box, Pair, Vertices, cell_bounds, joined, pair_vertices

_DRAWS, _TRIES, _TILTS, _ALIKE = 256, 12, 24, 1e-6


class Gridded:
    """Prices all vertices within the error of a grid."""

    def __init__(self, problem: Problem, work: float, effort: Effort) -> None:
        self.problem, self.effort, self.p = problem, effort, problem.classes.probability
        masses = [min(box.t, 1 - box.t) for box in problem.shape.boxes] + [pair.most for pair in problem.shape.pairs]
        share = min(1.0, max(masses))
        offers = len(self.p) * (1 + math.log2(len(self.p)))
        largest = int(max(2**10, min(2**19, work / offers) / share))
        tries = np.unique(np.random.default_rng(0).integers(largest // 2, largest + 1, 256))
        self.random = np.random.default_rng(0)
        self.least = LEAST * ceiling_of(problem)
        self.n = int(min(tries, key=lambda n: np.abs(self.p - np.rint(self.p * n) / n).sum()))
        self.counts = np.rint(self.p * self.n).astype(np.int64)
        self.error = self.p - self.counts / self.n
        self.under, self.over = (self._error(sign * self.error, share) for sign in (-1, 1))
        self.most = min(int(self.counts.sum()), math.ceil((share + self.under) * self.n) + 1)

    def _error(self, error: np.ndarray, share: float) -> float:
        """Return how far the sets of a mass up to `share` may be off in all."""
        return min(1.0, knapsack(np.append(self.p, 1.0), np.append(np.maximum(error, 0.0), 0.0), share)) + 1e-15

    def price(self, dual: Dual) -> tuple[Vertices, float]:
        """Return the vertices of the best sets on the grid, and a bound of the excess of all vertices."""
        parts = [self._box(box, dual) for box in self.problem.shape.boxes]
        parts += [self._pair(pair, dual) for pair in self.problem.shape.pairs]
        return joined([v for v, _ in parts]), max(top for _, top in parts) + self.problem.rounding(dual)

    def _box(self, box: Box, dual: Dual) -> tuple[Vertices, float]:
        prices = box_prices(self.problem, box, dual)
        flipped, light = box.t > 0.5, min(box.t, 1 - box.t)
        value = -prices.value if flipped else prices.value
        start = float(prices.base[0]) + (float(prices.value.sum()) if flipped else 0.0)
        slope = -_slope(self.p, value, light)
        tables = Tables(self.counts, value + slope * self.error, self.most)
        worst, sets = -math.inf, []
        for c in leaving_one(tables, [1] * len(self.p), 0, len(self.p)):
            if self.effort.late():
                worst = math.inf
                break
            p = self.p[c]
            first = max(0, math.floor((light - p - self.over) * self.n))
            k = np.arange(first, min(self.most, math.ceil((light + self.under) * self.n)) + 1)
            left = light - k / self.n
            low, high = np.maximum(left - self.over, 0.0), np.minimum(left + self.under, p)
            ends = []
            for rest in (low, high):
                x = np.clip(rest / p, 0.0, 1.0)
                loss = p * box.penalty(self.problem.utility, 1 - x if flipped else x)
                ends.append(value[c] * x - loss - slope * (left - rest))
            excess = np.where(low <= high, start + tables.best[k] + np.maximum(*ends), -math.inf)
            at = int(np.argmax(excess))
            worst = max(worst, float(excess[at]))
            gaining = np.flatnonzero(excess > 0)
            if not len(gaining):
                continue
            sets.append(tables.taken(int(k[at]))[None, :] > 0)
            if self.random.random() < _TRIES / len(self.p):
                some = self.random.choice(gaining, _DRAWS)
                sets.append(tables.drawn(k[some], excess[some], self.random))
        sets = different(np.concatenate(sets)) if sets else np.zeros((1, len(self.p)), dtype=bool)
        pool = BoxPool(self.problem, box, ~sets if flipped else sets)
        return pool.price(dual, 4 * len(self.p), self.least)[0], worst

    def _pair(self, pair: Pair, dual: Dual) -> tuple[Vertices, float]:
        """Return vertices and a bound; each slope bounds all sums, and the next one fits where bounds are worst."""
        slope = self._hardest(pair, dual)
        ends, cells, found = np.zeros((2, 0)), np.zeros(0), []
        for tilts in range(_TILTS):
            tables = Tables(self.counts, -dual.classes + slope * self.error, self.most)
            for c in range(len(self.p)):
                tables.offer(c, 1)
            k = np.flatnonzero(np.isfinite(tables.best))
            ends, over = self._cells(pair, dual, k / self.n, tables.best[k], slope)
            cells = np.minimum(cells, over) if tilts else over
            best = np.argsort(-cells)[: 4 * len(self.p)]
            found += [tables.taken(int(k[at])) for at in best[cells[best] > 0]]
            worst = int(np.argmax(cells))
            before, slope = slope, self._slope_at(pair, dual, ends[:, worst])
            if cells[worst] <= self.least or self.effort.late() or abs(slope - before) <= _ALIKE * abs(slope):
                break
        sets = different(np.array(found, dtype=bool).reshape(-1, len(self.p)))
        mass = sets @ self.p
        sets = sets[(mass >= pair.least) & (mass <= pair.most)]
        prices = pair_prices(self.problem, pair, dual, sets @ self.p)
        sets = sets[prices.base + prices.rise * (sets @ prices.value) > self.least]
        return pair_vertices(pair, self.problem.classes, sets.astype(np.int64)), float(cells.max())

    def _cells(self, pair: Pair, dual: Dual, middle: np.ndarray, best: np.ndarray,
               slope: float) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return (masses that sets of each sum may have, shape (2, K); bounds of their excess, shape (K,))."""
        ends = np.stack([np.clip(middle - self.under, pair.least, pair.most),
                         np.clip(middle + self.over, pair.least, pair.most)])  # fmt: skip
        inside = (middle + self.over >= pair.least) & (middle - self.under <= pair.most)
        value = best - slope * (ends - middle)
        prices = [pair_prices(self.problem, pair, dual, pi) for pi in ends]
        excess = np.stack([p.base + p.rise * v for p, v in zip(prices, value, strict=True)])
        cells = cell_bounds(pair, self.problem.utility, ends, excess, value, dual.capacity)
        return ends, np.where(inside, cells, -math.inf)

    def _hardest(self, pair: Pair, dual: Dual) -> float:
        """Return the slope to tilt by where sets that could be divided would gain most."""
        pi = np.linspace(pair.least, pair.most, 4097)
        prices = pair_prices(self.problem, pair, dual, pi)
        order = np.argsort(dual.classes / self.p)
        mass, worth = np.cumsum(self.p[order]), np.cumsum(-dual.classes[order])
        best = prices.base + prices.rise * np.interp(pi, np.append(0.0, mass), np.append(0.0, worth))
        at = min(max(1, int(np.argmax(best))), len(pi) - 2)
        return self._slope_at(pair, dual, pi[[at - 1, at + 1]])

    def _slope_at(self, pair: Pair, dual: Dual, pi: np.ndarray) -> float:
        """Return minus the slope, between two masses, of the value at which a set has no excess."""
        prices = pair_prices(self.problem, pair, dual, pi)
        level = -prices.base / prices.rise
        return float(-(level[1] - level[0]) / (pi[1] - pi[0]))


def _slope(p: np.ndarray, value: np.ndarray, most: float) -> float:
    """Return what the value of a secret gains per mass among those up to `most`: what swapping them pays."""
    fits = p <= most
    off = p[fits] - p[fits].mean() if fits.any() else np.zeros(0)
    return float(off @ value[fits] / max(off @ off, 1e-300))


def different(sets: np.ndarray) -> np.ndarray:
    """Return each set once."""
    return sets[np.unique(np.packbits(sets, axis=1), axis=0, return_index=True)[1]]


class Cascade:
    """Oracles from cheap to dear: the next one is asked when those before find little of what they cannot rule out."""

    def __init__(self, problem: Problem, *oracles: Oracle) -> None:
        self.problem, self.oracles, self.least = problem, oracles, LEAST * ceiling_of(problem)

    def price(self, dual: Dual) -> tuple[Vertices, float]:
        """Return what those that were asked found, and the smallest of their excesses."""
        found, least = [], math.inf
        for oracle in self.oracles:
            fresh, excess = oracle.price(dual)
            found.append(fresh)
            least = min(least, excess)
            settled = least <= self.least + self.problem.rounding(dual)
            if settled or self.problem.explains(joined(found), least, dual):
                break
        return joined(found), least
