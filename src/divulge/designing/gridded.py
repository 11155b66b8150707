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
from divulge.designing.master import Dual
from divulge.designing.nearby import BoxPool
from divulge.designing.pricing import Oracle, Problem, box_prices, pair_prices
from divulge.designing.vertices import Box, Pair, Vertices, cell_bounds, joined, pair_vertices


class Gridded:
    """Prices all vertices within the error of a grid."""

    def __init__(self, problem: Problem, work: float, effort: Effort) -> None:
        self.problem, self.effort, self.p = problem, effort, problem.classes.probability
        masses = [box.t for box in problem.shape.boxes] + [pair.most for pair in problem.shape.pairs]
        share = min(1.0, max(masses))
        offers = len(self.p) * (1 + math.log2(len(self.p)))
        largest = int(min(2**20, max(2**10, work / offers / share)))
        tries = np.unique(np.random.default_rng(0).integers(largest // 2, largest + 1, 256))
        self.least = LEAST * ceiling_of(problem)
        self.n = int(min(tries, key=lambda n: np.abs(self.p - np.rint(self.p * n) / n).sum()))
        self.counts = np.rint(self.p * self.n).astype(np.int64)
        self.error = self.p - self.counts / self.n
        self.under, self.over = (float(np.maximum(sign * self.error, 0).sum()) + 1e-15 for sign in (-1, 1))
        self.most = min(int(self.counts.sum()), math.ceil((share + self.under) * self.n) + 1)

    def price(self, dual: Dual) -> tuple[Vertices, float]:
        """Return the vertices of the best sets on the grid, and a bound of the excess of all vertices."""
        parts = [self._box(box, dual) for box in self.problem.shape.boxes]
        parts += [self._pair(pair, dual) for pair in self.problem.shape.pairs]
        return joined([v for v, _ in parts]), max(top for _, top in parts) + self.problem.rounding(dual)

    def _box(self, box: Box, dual: Dual) -> tuple[Vertices, float]:
        prices = box_prices(self.problem, box, dual)
        slope = -_threshold(self.p, prices.value, box.t)
        tables = Tables(self.counts, prices.value + slope * self.error, self.most)
        worst, sets = -math.inf, []
        for c in leaving_one(tables, [1] * len(self.p), 0, len(self.p)):
            if self.effort.late():
                worst = math.inf
                break
            p = self.p[c]
            first = max(0, math.floor((box.t - p - self.over) * self.n))
            k = np.arange(first, min(self.most, math.ceil((box.t + self.under) * self.n)) + 1)
            left = box.t - k / self.n
            low, high = np.maximum(left - self.over, 0.0), np.minimum(left + self.under, p)
            ends = []
            for rest in (low, high):
                x = np.clip(rest / p, 0.0, 1.0)
                loss = p * box.penalty(self.problem.utility, x)
                ends.append(prices.value[c] * x - loss - slope * (left - rest))
            excess = np.where(low <= high, prices.base[0] + tables.best[k] + np.maximum(*ends), -math.inf)
            best = np.argsort(-excess)[:3]
            worst = max(worst, float(excess[best[0]]))
            for at in best[excess[best] > 0]:
                taken = tables.taken(int(k[at])) > 0
                sets += [taken, taken | (np.arange(len(self.p)) == c)]
        if not sets:
            sets = [np.zeros(len(self.p), dtype=bool)]
        pool = BoxPool(self.problem, box, np.unique(np.array(sets), axis=0))
        return pool.price(dual, 4 * len(self.p), self.least)[0], worst

    def _pair(self, pair: Pair, dual: Dual) -> tuple[Vertices, float]:
        slope = self._slope(pair, dual)
        tables = Tables(self.counts, -dual.classes + slope * self.error, self.most)
        for c in range(len(self.p)):
            tables.offer(c, 1)
        k = np.flatnonzero(np.isfinite(tables.best))
        middle = k / self.n
        ends = np.stack([np.clip(middle - self.under, pair.least, pair.most),
                         np.clip(middle + self.over, pair.least, pair.most)])  # fmt: skip
        inside = (middle + self.over >= pair.least) & (middle - self.under <= pair.most)
        value = tables.best[k] - slope * (ends - middle)
        excess = np.empty_like(ends)
        for row in range(2):
            prices = pair_prices(self.problem, pair, dual, ends[row])
            excess[row] = prices.base + prices.rise * value[row]
        cells = cell_bounds(pair, self.problem.utility, ends, excess, value, dual.capacity)
        cells = np.where(inside, cells, -math.inf)
        best = np.argsort(-cells)[: 4 * len(self.p)]
        sets = np.array([tables.taken(int(k[at])) for at in best[cells[best] > 0]]).reshape(-1, len(self.p))
        mass = sets @ self.p
        sets = np.unique(sets[(mass >= pair.least) & (mass <= pair.most)], axis=0)
        prices = pair_prices(self.problem, pair, dual, sets @ self.p)
        sets = sets[prices.base + prices.rise * (sets @ prices.value) > self.least]
        return pair_vertices(pair, self.problem.classes, sets), float(cells.max())

    def _slope(self, pair: Pair, dual: Dual) -> float:
        """Return minus the slope in pi of the value at which a set has no excess, where that is hardest to reach."""
        pi = np.linspace(pair.least, pair.most, 4097)
        prices = pair_prices(self.problem, pair, dual, pi)
        order = np.argsort(dual.classes / self.p)
        mass, worth = np.cumsum(self.p[order]), np.cumsum(-dual.classes[order])
        best = prices.base + prices.rise * np.interp(pi, np.append(0.0, mass), np.append(0.0, worth))
        at = min(max(1, int(np.argmax(best))), len(pi) - 2)
        level = -prices.base[at - 1 : at + 2] / prices.rise[at - 1 : at + 2]
        return float(-(level[2] - level[0]) / (pi[at + 1] - pi[at - 1]))


def _threshold(p: np.ndarray, value: np.ndarray, t: float) -> float:
    """Return the value per mass at which a knapsack of mass t is full."""
    order = np.argsort(-value / p)
    return float((value / p)[order][min(int(np.searchsorted(np.cumsum(p[order]), t)), len(p) - 1)])


class Cascade:
    """Oracles from cheap to dear: the next one is asked when the ones before it find nothing."""

    def __init__(self, *oracles: Oracle) -> None:
        self.oracles = oracles

    def price(self, dual: Dual) -> tuple[Vertices, float]:
        """Return what the first that finds something found, and the smallest excess of those asked."""
        fresh, least = self.oracles[0].price(dual)
        for oracle in self.oracles[1:]:
            if len(fresh):
                break
            fresh, excess = oracle.price(dual)
            least = min(least, excess)
        return fresh, least
