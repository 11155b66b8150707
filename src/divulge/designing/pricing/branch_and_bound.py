"""Exact prices by branch and bound on the core of a knapsack (Balas and Zemel, 1980; Pisinger, 1995).

The fractional knapsack (Dantzig, 1957) has a greedy set and a multiplier z of mass, and bounds the reduced cost of all
vertices by `Side.top`. A secret that is not where the greedy set has it costs its reduced profit |value - z mass|; the
secret in between costs more. A vertex has the reduced cost `top` less these costs: those with costs below a budget are
listed, and no other one exceeds `top` less the budget.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Box, Vertices, joined
from divulge.designing.pricing.problem import LighterSide, Problem, largest
from divulge.designing.pricing.ratio_grid import Windows

FEW = 4_000
"""Nodes of the first list, in a search by level that keeps the best."""
_POOL = 20_000
"""Completions that are looked at for columns, the best ones; those that are nearly alike are left out afterward."""
_GROWTH = 5
"""Times as long each next list is: three steps to the longest, and all before cost a quarter of the last."""
_LITTLE = 0.8
"""A longer list that leaves more than this share of the bound does not pay, and is not made again."""


@dataclass(frozen=True, eq=False)
class Greedy:
    """The greedy set of a fractional knapsack; `deviation` is the reduced profit value - z mass, positive inside."""

    mass: np.ndarray
    deviation: np.ndarray
    z: float

    @classmethod
    def of(cls, mass: np.ndarray, value: np.ndarray, target: float) -> "Greedy":
        """Return the greedy set of a mass: the largest value per mass first (Dantzig)."""
        order = np.argsort(-value / mass)
        last = order[min(int(np.searchsorted(np.cumsum(mass[order]), target)), len(mass) - 1)]
        z = float(value[last] / mass[last])
        return cls(mass, value - z * mass, z)

    @property
    def inside(self) -> np.ndarray:
        """The greedy set."""
        return self.deviation > 0


@dataclass(frozen=True, eq=False)
class Listed:
    """Sets that deviate at most by `budget` in all, as bits of the secrets that deviate, with masses and costs."""

    greedy: Greedy
    bits: np.ndarray
    place: np.ndarray
    mass: np.ndarray
    cost: np.ndarray
    budget: float

    def deviates(self, secret: int, which: Any = slice(None)) -> np.ndarray:
        """Say which of these sets deviate at a secret."""
        at = int(self.place[secret])
        word = self.bits[which, max(at, 0) // 64]
        return np.zeros(len(word), dtype=bool) if at < 0 else (word >> np.uint64(at % 64)) % 2 > 0

    def sets(self, which: np.ndarray) -> np.ndarray:
        """Return these sets as a boolean matrix."""
        out = np.tile(self.greedy.inside, (len(which), 1))
        for secret in np.flatnonzero(self.place >= 0).tolist():
            out[:, secret] ^= self.deviates(secret, which)
        return out


def listed(greedy: Greedy, budget: float, window: tuple[float, float], most: int) -> Listed:
    """Return all sets with mass in the window below a budget, which falls until they are few, by branch and bound."""
    size = np.abs(greedy.deviation)
    order = np.argsort(-size, kind="stable")
    order = order[size[order] < budget]
    place = np.full(len(size), -1)
    place[order] = np.arange(len(order))
    steps = np.where(greedy.inside, -greedy.mass, greedy.mass)[order]
    mass, cost = np.array([float(greedy.mass[greedy.inside].sum())]), np.zeros(1)
    bits = np.zeros((1, len(order) // 64 + 1), dtype=np.uint64)
    for at, (secret, step) in enumerate(zip(order.tolist(), steps.tolist(), strict=True)):
        completed = Completed.of(steps[at + 1 :], size[order[at + 1 :]], window)
        fresh = np.flatnonzero(cost < budget - size[secret])
        moved, spent = mass[fresh] + step, cost[fresh] + size[secret]
        good = completed.cost(moved, spent) < budget
        fresh = fresh[good]
        grown = bits[fresh]
        grown[:, at // 64] |= np.uint64(1) << np.uint64(at % 64)
        mass, cost, bits = np.append(mass, moved[good]), np.append(cost, spent[good]), np.concatenate([bits, grown])
        if len(mass) > most:
            least = completed.cost(mass, cost)
            if (least < budget).sum() > most:
                budget = float(np.partition(least, most // 2)[most // 2])
            alive = least < budget
            mass, cost, bits = mass[alive], cost[alive], bits[alive]
    alive = (mass >= window[0]) & (mass <= window[1]) & (cost < budget)
    return Listed(greedy, bits[alive], place, mass[alive], cost[alive], budget)


@dataclass(frozen=True, eq=False)
class Completed:
    """The bound of a partial set: the least cost of bringing its mass into a window by the divisible rest."""

    window: tuple[float, float]
    up: tuple[np.ndarray, np.ndarray]
    down: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, steps: np.ndarray, size: np.ndarray, window: tuple[float, float]) -> "Completed":
        """Return the convex costs of moving up and down: the cheapest per mass first."""
        sides = []
        for sign in (1.0, -1.0):
            some = np.flatnonzero(sign * steps > 0)
            some = some[np.argsort(size[some] / np.abs(steps[some]))]
            sides.append(tuple(np.append(0.0, np.cumsum(a[some])) for a in (np.abs(steps), size)))
        return cls(window, sides[0], sides[1])

    def cost(self, mass: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Return the cost so far and at least what is to come; inf where the window is out of reach."""
        out = cost.copy()
        for lacks, (moves, prices) in ((self.window[0] - mass, self.up), (mass - self.window[1], self.down)):
            some = np.flatnonzero(lacks > 0)
            out[some] += np.interp(lacks[some], moves, prices) * (1 - 1e-12)
            out[some[lacks[some] > moves[-1] + 1e-14]] = math.inf
        return out


class Side(LighterSide):
    """The vertices of a box under a dual, with its greedy set; no vertex gains more than `top`."""

    def __init__(self, problem: Problem, box: Box, dual: Dual) -> None:
        super().__init__(problem, box)
        value, start = self.prices(dual)
        self.greedy = Greedy.of(self.p * self.cap, (value - self.line) * self.cap, self.light)
        self.top = start + self.greedy.z * self.light + float(np.maximum(self.greedy.deviation, 0.0).sum())

    def extra(self, r: Any, off: np.ndarray) -> np.ndarray:
        """Return what secret r loses in between, `off` of the way (of its cap) from where the greedy set has it."""
        share = self.cap[r] * np.where(self.greedy.inside[r], 1 - off, off)
        bend = np.maximum(self.loss(self.p[r], share) - self.line[r] * share, 0.0)
        return np.abs(self.greedy.deviation[r]) * off + bend

    def ends(self, budget: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (a, b): what secret r loses in between is less than the budget only up to a_r or from b_r on."""
        grid = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 200), 1 - np.geomspace(0.5, 1e-9, 200)[1:], [1.0]])
        dear = self.extra(np.arange(len(self.cap))[:, None], grid) >= budget
        first, last = dear.argmax(axis=1), len(grid) - 1 - dear[:, ::-1].argmax(axis=1)
        none = ~dear.any(axis=1)
        return np.where(none, 1.0, grid[first]), np.where(none | dear[:, -1], 1.0, grid[last])

    def best(self, least: float, most: int) -> tuple[Vertices, float]:
        """Return (best vertices, bound on what any vertex gains).

        A vertex is found from the set without its secret r in between when r is near where the greedy set has it, else
        from the set where r deviates: such a set may cost `more` than its vertex.
        """
        greedy, budget = self.greedy, self.top - least
        mass, size, inside = greedy.mass, np.abs(greedy.deviation), greedy.inside
        near, far = self.ends(budget)
        near = np.where((1 - far) * size > 0.1 * budget, 1.0, near)
        far = np.where(near == 1.0, 1.0, far)
        more = float(((1 - far) * size).max())
        over, under = (float(np.maximum(np.where(some, near, 0.0) * mass, np.where(some, 0.0, 1 - far) * mass).max())
                       for some in (inside, ~inside))  # fmt: skip
        found = listed(greedy, budget + more, (self.light - under - 1e-14, self.light + over + 1e-14), most)
        rows, who, gains = [], [], []
        for r in range(len(mass)):
            away = found.deviates(r)
            off = (found.mass - self.light) / mass[r] * np.where(away == inside[r], -1, 1)
            off = np.where(away, 1 - off, off)
            some = np.flatnonzero((off >= -1e-12) & (off <= 1 + 1e-12))
            off = np.clip(off[some], 0.0, 1.0)
            cost = found.cost[some] - size[r] * away[some] + size[r] * off
            good = np.flatnonzero(cost < budget)
            gain = self.top - (cost - size[r] * off)[good] - self.extra(r, off[good])
            some, gain = some[good][gain > least], gain[gain > least]
            rows.append(some)
            who.append(np.full(len(some), r))
            gains.append(gain)
        row, r, gain = np.concatenate(rows), np.concatenate(who), np.concatenate(gains)
        best, worst = largest(gain, _POOL, least)
        sets, r = found.sets(row[best]), r[best]
        sets[np.arange(len(r)), r] = False
        good = np.flatnonzero(~(sets & (self.cap < 1)).any(axis=1))
        good = good[varied(gain[best][good], sets[good])]
        return self.vertices(sets[good], r[good]), max(worst, self.top - found.budget + more)


def varied(gain: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return the positions of the best set with each secret, the best one without it, and the best of all."""
    if not len(gain):
        return np.zeros(0, dtype=np.intp)
    order = np.argsort(-gain, kind="stable")
    sets = sets[order]
    firsts = [side.argmax(axis=0)[side.any(axis=0)] for side in (sets, ~sets)]
    return order[np.unique(np.concatenate([*firsts, np.arange(min(len(order), sets.shape[1]))]))]


class BranchAndBound:
    """Prices vertices of boxes that gain more than a number, which falls as lists grow; pairs on given grids."""

    def __init__(self, problem: Problem, effort: Effort, pairs: Sequence[Windows], most: int = 500_000) -> None:
        self.problem, self.effort, self.pairs, self.listed, self.most = problem, effort, pairs, FEW, most

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertices found and a bound on the excess of all; lists grow while that rules out more."""
        least, before = self.problem.least, math.inf
        while True:
            parts = [Side(self.problem, box, dual).best(least, self.listed) for box in self.problem.shape.boxes]
            parts += [pair.price(dual, enough) for pair in self.pairs]
            fresh, worst = joined([v for v, _ in parts]), max(top for _, top in parts)
            settled = worst <= max(enough, least) or self.problem.explains(fresh, worst, dual)
            if worst > _LITTLE * before:
                self.listed //= _GROWTH
                settled = True
            if settled or self.listed >= self.most or not self.effort.spend():
                return fresh, worst + self.problem.rounding(dual)
            self.listed, before = self.listed * _GROWTH, worst
