"""Prices for priors without common counts: the vertices that lose least have sets whose mass nearly fits.

The loss of a vertex of a box is that of its one secret in between, small when P(S) or P(S) + P_r is within delta of t.
Such sets come from meeting in the middle: the subset sums of two halves, sorted. When the prior is small enough to list
all of them, every other vertex loses at least `floor`, and a fractional knapsack bounds what it gains.
"""

import math

import numpy as np

from divulge.designing.limits import Classes
from divulge.designing.master import Dual
from divulge.designing.pricing import Problem, box_prices, largest, pair_prices, silence, simple_start
from divulge.designing.vertices import (
    Box,
    Pair,
    Vertices,
    box_vertices,
    cell_bounds,
    joined,
    neighbors,
    pair_utility,
    pair_vertices,
)

FEW, MANY = 4_000, 150_000
_HALF = 40_000
_FREE = 22


def single(classes: Classes) -> Classes:
    """Return the classes with every secret on its own."""
    p = np.repeat(classes.probability, classes.size)
    return Classes(p, np.ones(len(p), dtype=np.int64), tuple(np.concatenate(classes.members)[:, None]))


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


def within(left: np.ndarray, right: np.ndarray, target: float, most: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (i, j, delta): all pairs with |left[i] + right[j] - target| <= delta, at most `most` of them."""
    wide, narrow = float(left[-1] + right[-1]) + 1.0, 0.0
    bounds = _windows(left, right, target, wide)
    if int((bounds[1] - bounds[0]).sum()) > most:
        for _ in range(60):
            middle = (wide + narrow) / 2
            bounds = _windows(left, right, target, middle)
            if int((bounds[1] - bounds[0]).sum()) > most:
                wide = middle
            else:
                narrow = middle
            if wide - narrow <= 1e-3 * wide:
                break
        bounds = _windows(left, right, target, narrow)
        wide = narrow
    first, last = bounds
    many = last - first
    j = np.repeat(np.arange(len(right)), many)
    i = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many)
    return i, j, wide


def _windows(left: np.ndarray, right: np.ndarray, target: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    return np.searchsorted(left, target - right - delta), np.searchsorted(left, target - right + delta, side="right")


class Nearby:
    """Prices the sets of secrets whose mass is near the one that loses least."""

    def __init__(self, problem: Problem, seed: int = 0, sets_each: int = 12) -> None:
        self.problem, self.sets_each = problem, sets_each
        self.p = problem.classes.probability
        self.random = np.random.default_rng(seed)
        self.targets = [box.t for box in problem.shape.boxes] + [self._best(pair) for pair in problem.shape.pairs]
        self._fill(FEW)

    def _fill(self, most: int) -> None:
        """Make the pools from at most so many listed sets for each target, or from a sample where there is no list."""
        problem, self.most = self.problem, most
        found = [self._listed(t) or self._sampled(t) for t in self.targets]
        count = len(problem.shape.boxes)
        self.boxes = [BoxPool(problem, box, *f) for box, f in zip(problem.shape.boxes, found[:count], strict=True)]
        self.pairs = [
            PairPool(problem, pair, target, *f)
            for pair, target, f in zip(problem.shape.pairs, self.targets[count:], found[count:], strict=True)
        ]

    def _best(self, pair: Pair) -> float:
        pi = np.linspace(pair.least, pair.most, 4097)
        return float(pi[np.argmax(pair_utility(pair, self.problem.utility, pi))])

    def _listed(self, target: float) -> tuple[np.ndarray, float] | None:
        """Return (sets, delta): all sets with mass within delta of the target; None when they are too many.

        Of a set and its complement the lighter one is looked for: it has few secrets.
        """
        light = min(target, 1 - target)
        room = float(self.p.max())
        order = np.argsort(-self.p)
        first = subsets(self.p[order[::2]], light + room, _HALF)
        second = subsets(self.p[order[1::2]], light + room, _HALF)
        if first is None or second is None:
            return None
        (left, a), (right, b) = first, second
        i, j, delta = within(a, b, light, self.most)
        sets = np.zeros((len(i), len(self.p)), dtype=bool)
        sets[:, order[::2]], sets[:, order[1::2]] = left[i], right[j]
        return (sets if light == target else ~sets), min(delta, room)

    def _sampled(self, target: float) -> tuple[np.ndarray, float]:
        """Return (sets, -inf): random sets with mass very near the target; nothing is known of the others."""
        size, found = len(self.p), []
        for _ in range(max(8, self.sets_each * size // 48)):
            order = self.random.permutation(size)
            free, others = order[:_FREE], order[_FREE:]
            first, second = subsets(self.p[free[::2]]), subsets(self.p[free[1::2]])
            assert first is not None
            assert second is not None
            (left, a), (right, b) = first, second
            for _ in range(24):
                self.random.shuffle(others)
                mass = np.cumsum(self.p[others])
                fixed = others[: int(np.searchsorted(mass, target * mass[-1]))]
                i, j = nearest(a, b, target - float(self.p[fixed].sum()), 2)
                sets = np.zeros((len(i), size), dtype=bool)
                sets[:, fixed] = True
                sets[:, free[::2]], sets[:, free[1::2]] = left[i], right[j]
                found.append(sets)
        return np.concatenate(found), -math.inf

    def start(self) -> Vertices:
        """Return arcs and silence."""
        return joined([simple_start(self.problem), silence(self.problem)])

    def price(self, dual: Dual) -> tuple[Vertices, float]:
        """Return the pools' best vertices and the largest excess of any; pools with no more to say grow."""
        most = 4 * len(self.p)
        while True:
            parts = [pool.price(dual, most) for pool in (*self.boxes, *self.pairs)]
            fresh, worst = joined([v for v, _ in parts]), max(top for _, top in parts)
            rounding = self.problem.rounding(dual)
            if len(fresh) or worst <= rounding or self.most >= MANY or math.inf in (self.most, worst):
                return fresh, worst + rounding
            self._fill(min(MANY, 6 * self.most))


class BoxPool:
    """Vertices of a box near given sets: in between is a secret outside a set that lacks mass, or inside one with
    too much; `delta` says that all sets within it are there."""

    def __init__(self, problem: Problem, box: Box, sets: np.ndarray, delta: float) -> None:
        self.problem, self.box, self.sets = problem, box, sets
        p = problem.classes.probability
        self.lacks = box.t - sets @ p
        need = np.abs(self.lacks)[:, None]
        fits = (need <= p) & (sets != (self.lacks >= 0)[:, None])
        self.row, self.c = np.nonzero(fits)
        share = self.lacks[self.row] / p[self.c]
        self.x = np.where(share >= 0, share, 1 + share)
        self.move = share
        self.loss = p[self.c] * box.penalty(problem.utility, np.clip(self.x, 0.0, 1.0))
        wide = p > 2 * delta
        edges = [
            p[wide] * box.penalty(problem.utility, np.clip(x, 0, 1)) for x in (delta / p[wide], 1 - delta / p[wide])
        ]
        self.floor = (min(float(e.min()) for e in edges) if wide.any() else math.inf) if delta >= 0 else -math.inf

    def price(self, dual: Dual, most: int) -> tuple[Vertices, float]:
        """Return (best vertices, largest excess of any vertex of the box)."""
        prices = box_prices(self.problem, self.box, dual)
        excess = prices.base[0] + (self.sets @ prices.value)[self.row] + prices.value[self.c] * self.move - self.loss
        best, top = largest(excess, most)
        sets = self.sets[self.row[best]].astype(np.int64)
        sets[np.arange(len(best)), self.c[best]] = 0
        fresh = box_vertices(self.box, self.problem.classes, sets, self.c[best])
        others = prices.base[0] + knapsack(self.problem.classes.probability, prices.value, self.box.t) - self.floor
        return fresh, max(top, others)


class PairPool:
    """Vertices of a pair of levels whose sets have a mass near the best one; `delta` as for a box."""

    def __init__(self, problem: Problem, pair: Pair, target: float, sets: np.ndarray, delta: float) -> None:
        self.problem, self.pair = problem, pair
        mass = sets @ problem.classes.probability
        good = (mass >= pair.least) & (mass <= pair.most)
        self.sets, self.mass = sets[good], mass[good]
        self.window = (target - delta, target + delta)

    def price(self, dual: Dual, most: int) -> tuple[Vertices, float]:
        """Return (best vertices of the pool and best greedy sets, largest excess of any vertex of the pair)."""
        problem, pair = self.problem, self.pair
        value = -dual.classes
        order = np.argsort(-value / problem.classes.probability)
        greedy = np.tri(len(order) - 1, len(order), dtype=bool)[:, np.argsort(order)]
        sets = np.concatenate([self.sets, greedy])
        mass = np.concatenate([self.mass, greedy @ problem.classes.probability])
        prices = pair_prices(problem, pair, dual, mass)
        excess = prices.base + prices.rise * (sets @ prices.value)
        best, top = largest(excess, most)
        fresh = pair_vertices(pair, problem.classes, sets[best].astype(np.int64))
        return fresh, max(top, pair_excess(problem, pair, dual, self.window))


def pair_excess(problem: Problem, pair: Pair, dual: Dual, window: tuple[float, float]) -> float:
    """Return an upper bound of the excess of sets with mass outside a window: values of a fractional knapsack."""
    p, value = problem.classes.probability, -dual.classes / problem.classes.size
    order = np.argsort(-value / p)
    weight = problem.classes.size[order]
    mass = np.concatenate([[0.0], np.cumsum(p[order] * weight)])
    worth = np.concatenate([[0.0], np.cumsum(value[order] * weight)])
    grid = np.concatenate([np.linspace(pair.least, pair.most, 2049), window])
    ends = np.unique(np.concatenate([mass, grid]))
    ends = ends[(ends >= pair.least) & (ends <= pair.most)]
    best = -math.inf
    for _ in range(12):
        at = np.interp(ends, mass, worth)
        prices = pair_prices(problem, pair, dual, ends)
        excess = prices.base + prices.rise * at
        cells = cell_bounds(pair, problem.utility, *(neighbors(a) for a in (ends, excess, at)), dual.capacity)
        outside = (ends[1:] <= window[0]) | (ends[:-1] >= window[1])
        if not outside.any():
            return -math.inf
        best = float(cells[outside].max())
        reached = np.maximum(excess[:-1], excess[1:])[outside].max()
        alive = outside & (cells > reached + 1e-12)
        if best <= max(reached, 0.0) + 1e-12 or alive.sum() > 20_000:
            break
        ends = np.sort(np.concatenate([ends, (ends[:-1] + ends[1:])[alive] / 2]))
    return best


def knapsack(p: np.ndarray, value: np.ndarray, t: float) -> float:
    """Return max sum of value_x x over x in [0, 1]^N with sum P_x x = t: the likeliest value per mass first."""
    order = np.argsort(-value / p)
    before = np.cumsum(p[order]) - p[order]
    return float(value[order] @ np.clip((t - before) / p[order], 0.0, 1.0))


def nearest(left: np.ndarray, right: np.ndarray, target: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (i, j) of the `most` pairs whose sums lie nearest the target, one for each j at most."""
    i = np.clip(np.searchsorted(left, target - right), 1, len(left) - 1)
    i = np.where(np.abs(left[i] + right - target) < np.abs(left[i - 1] + right - target), i, i - 1)
    best = np.argsort(np.abs(left[i] + right - target))[:most]
    return i[best], best
