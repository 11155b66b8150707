"""Light secrets as a mass that can be divided at will: one multiplier for all of them, and a bound that holds.

A mechanism for the prior is one for the prior in which light secrets are split into ever smaller ones that are told
apart. There an outcome holds any share of this tail high, and only sets of the other secrets, the core, are searched:
by branch and bound, heaviest first. What the rest can add is bounded by prices of mass: with z per mass, what is left
adds at most z times the mass that is missing and what its secrets are worth beyond that price.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope import vertices
from divulge.designing.polytope.limits import Classes
from divulge.designing.pricing.problem import Problem, box_prices, largest, pair_prices

_CELLS = 192
"""Masses, evenly and by ratio, at which a pair is priced at first. A heuristic: cells that stay open are halved."""
_PRICES = 8
"""Prices of mass that bound what is left: each bounds all nodes, and the next is ever less often the least."""
_ROUNDS = 50
"""Halvings of a cell at most: its ends are neighboring doubles then."""
_SLACK = 1e-14
"""By so much a mass, a sum of up to some hundred doubles, may be beyond an end by rounding."""
_MOST_CELLS = 1 << 14
"""Cells that are cut no further. Where that many may hold a better set their bounds are rounding, not sets: at tiny
levels all stay, and each round would have twice as many."""


def divided(problem: Problem, core: int) -> Problem:
    """Return the problem of single secrets in which all but the heaviest are one class, the last, of small parts."""
    classes = problem.classes
    order = np.argsort(-classes.probability, kind="stable")
    kept, tail = order[:core], order[core:]
    mass = math.fsum(classes.probability[tail].tolist())
    parts = math.ceil(mass / float(classes.probability[tail].min()))
    together = np.concatenate([classes.members[c] for c in tail.tolist()])
    divided = Classes(
        np.append(classes.probability[kept], mass / parts),
        np.append(np.ones(core, dtype=np.int64), parts),
        (*(classes.members[c] for c in kept.tolist()), together),
    )
    return Problem(divided, problem.utility, problem.limits, problem.shape)


@dataclass(frozen=True, eq=False)
class Values:
    """Masses and values of the secrets of the core, heaviest first, and of the tail: its mass, its value per mass."""

    mass: np.ndarray
    value: np.ndarray
    room: float
    slope: float

    @classmethod
    def of(cls, problem: Problem, dual: Dual, factor: float) -> "Values":
        """Return the values under a dual, times a factor; a last class of one part is a secret like the others."""
        mass, value, parts = problem.classes.probability, -factor * dual.classes, float(problem.classes.size[-1])
        if parts == 1:
            return cls(mass, value, 0.0, 0.0)
        room = float(mass[-1]) * parts
        return cls(mass[:-1], value[:-1], room, float(value[-1]) / room)

    def beyond(self, prices: np.ndarray) -> np.ndarray:
        """Return what the secrets from each one on, and the tail, are worth beyond each price; shape (K + 1, Z)."""
        own = np.maximum(self.value[:, None] - self.mass[:, None] * prices, 0.0)
        tail = np.maximum(self.slope - prices, 0.0) * self.room
        return np.concatenate([np.cumsum(own[::-1], axis=0)[::-1] + tail, tail[None]])

    @property
    def left(self) -> np.ndarray:
        """The mass of the secrets from each one on, and of the tail."""
        return np.append(np.cumsum(self.mass[::-1])[::-1], 0.0) + self.room


@dataclass(frozen=True, eq=False)
class Nodes(vertices.Rows):
    """Sets of the core as decided so far: members, masses, values, and the one secret in between or -1."""

    sets: np.ndarray
    mass: np.ndarray
    value: np.ndarray
    between: np.ndarray

    def grown(self, values: Values, secret: int, may_be_between: bool) -> "Nodes":
        """Return the nodes with a secret outside, inside, and in between where no other is and it may be."""
        sets = self.sets.copy()
        sets[:, secret] = True
        inside = replace(self, sets=sets, mass=self.mass + values.mass[secret], value=self.value + values.value[secret])
        free = self.take(np.flatnonzero((self.between < 0) & may_be_between))
        return vertices.joined([self, inside, replace(free, between=np.full(len(free), secret))])


class Levels:
    """Vertices of a pair of levels. A set of mass pi gains when its value is above a level that depends on pi."""

    between = False

    def __init__(self, problem: Problem, pair: vertices.Pair, dual: Dual) -> None:
        self.problem, self.pair, self.dual = problem, pair, dual
        self.values = Values.of(problem, dual, 1.0)
        self.least = problem.least
        wide = np.linspace(pair.least, pair.most, _CELLS)
        self.ends = np.unique(np.concatenate([wide, np.geomspace(pair.least, pair.most, _CELLS)]))
        if len(self.ends) == 1:  # one mass alone is allowed: a cell with nothing inside
            self.ends = np.repeat(self.ends, 2)
        given = pair_prices(problem, pair, dual, self.ends)
        level = (self.least - given.base) / given.rise
        slopes = np.diff(level) / np.maximum(np.diff(self.ends), 1e-300)
        steps = np.unique(np.linspace(0, len(slopes) - 1, _PRICES).astype(np.intp))
        at = np.searchsorted(self.ends, np.clip(self.values.mass, pair.least, pair.most)) - 1
        self.prices = np.unique(
            np.concatenate([slopes[steps], slopes[np.maximum(at[:_PRICES], 0)], [self.values.slope]])
        )
        lines = np.array([self._line(level, float(z)) for z in self.prices])
        self.lines = np.minimum.accumulate(lines[:, ::-1], axis=1)[:, ::-1]

    def gain(self, pi: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return the excess of sets of these masses and values."""
        given = pair_prices(self.problem, self.pair, self.dual, pi)
        return given.base + given.rise * value

    def cells(self, ends: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return an upper bound of the excess in cells of pi, where the value is linear."""
        excess = np.stack([self.gain(ends[0], value[0]), self.gain(ends[1], value[1])])
        return vertices.cell_bounds(self.pair, self.problem.utility, ends, excess, value, self.dual.capacity)

    def _line(self, level: np.ndarray, price: float) -> np.ndarray:
        """Return for each cell a number w: a set of value w + price pi there gains no more than `least`; or -inf."""
        ends = vertices.neighbors(self.ends)
        rise = pair_prices(self.problem, self.pair, self.dual, ends[1]).rise
        line = vertices.neighbors(level - price * self.ends).min(axis=0)
        grain = 1e-16 * (np.abs(line) + np.abs(price) * ends[1])
        for rounds in range(20):
            over = self.cells(ends, line + price * ends) - self.least
            if not (over > 0).any():
                return line
            line = np.where(over > 0, line - 1.5 * over / rise - 2**rounds * grain, line)
        return np.full_like(line, -math.inf)

    def bounds(self, nodes: Nodes, beyond: np.ndarray, left: float) -> np.ndarray:
        """Return an upper bound of the excess of all vertices that complete each node."""
        cell = np.clip(np.searchsorted(self.ends, nodes.mass, side="right") - 1, 0, self.lines.shape[1] - 1)
        over = np.full(len(nodes.mass), math.inf)
        for z, price in enumerate(self.prices.tolist()):
            over = np.minimum(over, nodes.value - price * nodes.mass + beyond[z] - self.lines[z, cell])
        steepest = pair_prices(self.problem, self.pair, self.dual, np.maximum(nodes.mass, self.pair.least)).rise
        return self.least + over * steepest

    def best(self, nodes: Nodes, most: int, effort: Effort) -> tuple[vertices.Vertices, float]:
        """Return (best vertices of these sets with any share of the tail, largest excess of any)."""
        room, slope, classes = self.values.room, self.values.slope, self.problem.classes
        if not room:
            inside = (nodes.mass >= self.pair.least) & (nodes.mass <= self.pair.most)
            nodes = nodes.take(np.flatnonzero(inside))
            chosen, worst = largest(self.gain(nodes.mass, nodes.value), most, self.least)
            return vertices.pair_vertices(self.pair, classes, nodes.sets[chosen].astype(np.int64)), worst
        nodes = nodes.take(np.argsort(nodes.mass, kind="stable"))
        maxima = Maxima(nodes.value - slope * nodes.mass)
        ends, worst, tried = vertices.neighbors(self.ends), -math.inf, []
        for rounds in range(_ROUNDS):
            first = np.searchsorted(nodes.mass, ends[0] - room, side="right")
            at = maxima.largest_between(first, np.searchsorted(nodes.mass, ends[1], side="left"))
            ends, at = ends[:, at >= 0], at[at >= 0]
            if not len(at):
                break
            cells = self.cells(ends, maxima.values[at] + slope * ends)
            low, high = nodes.mass[at], nodes.mass[at] + room
            for pi in np.clip(ends, np.maximum(low, self.pair.least), np.minimum(high, self.pair.most)):
                tried.append((at, pi, self.gain(pi, maxima.values[at] + slope * pi)))
            reached = max(float(gain.max()) for _, _, gain in tried)
            hot = cells > max(reached, 0.0) + self.least / 8
            if rounds == _ROUNDS - 1 or len(at) > _MOST_CELLS or not effort.spend():
                hot[:] = False
            worst = max(worst, float(cells[~hot].max(initial=-math.inf)))
            a, b = ends[:, hot]
            low, high = low[hot], high[hot]
            cut = np.where((a < low) & (low < b), low, np.where((a < high) & (high < b), high, (a + b) / 2))
            ends = np.concatenate([np.stack([a, cut]), np.stack([cut, b])], axis=1)
        if not tried:
            return vertices.pair_vertices(self.pair, classes, np.zeros((0, len(classes.size)))), worst
        at, pi, gain = (np.concatenate(a) for a in zip(*tried, strict=True))
        chosen = largest(gain, most, self.least)[0]
        share = np.clip((pi[chosen] - nodes.mass[at[chosen]]) / room, 0.0, 1.0)
        return vertices.pair_vertices(
            self.pair, classes, np.column_stack([nodes.sets[at[chosen]], share * classes.size[-1]])
        ), worst


class Bounds:
    """Vertices of a box: sets and one secret in between, of mass t in all."""

    between = True

    def __init__(self, problem: Problem, box: vertices.Box, dual: Dual) -> None:
        self.problem, self.box = problem, box
        self.base = box_prices(problem, box, dual)[1]
        self.values = Values.of(problem, dual, box.high - box.low)
        self.least = problem.least
        worth = np.sort(self.values.value / self.values.mass)
        steps = (
            np.linspace(0, len(worth) - 1, 2 * _PRICES).astype(np.intp) if len(worth) else np.zeros(0, dtype=np.intp)
        )
        self.prices = np.unique(np.append(worth[steps], self.values.slope))

    def _lost(self, secret: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.values.mass[secret] * self.box.penalty(self.problem.utility, x)

    def bounds(self, nodes: Nodes, beyond: np.ndarray, left: float) -> np.ndarray:
        """Return an upper bound of the excess of all completions of each node: it is convex in the share in between."""
        lacks, some = self.box.t - nodes.mass, np.flatnonzero(nodes.between >= 0)
        secret = nodes.between[some]
        own, value = np.zeros(len(lacks)), self.values.value[secret]
        own[some] = self.values.mass[secret]
        ends = np.clip(np.stack([lacks[some] - left, lacks[some]]) / own[some], 0.0, 1.0)
        gains = value * ends - np.stack([self._lost(secret, x) for x in ends])
        out = np.full(len(lacks), math.inf)
        for z, price in enumerate(self.prices.tolist()):
            gain = nodes.value + price * lacks + beyond[z]
            gain[some] += (gains - price * own[some] * ends).max(axis=0)
            out = np.minimum(out, gain)
        return np.where((lacks < -_SLACK) | (lacks > left + own + _SLACK), -math.inf, self.base + out)

    def best(self, nodes: Nodes, most: int, effort: Effort) -> tuple[vertices.Vertices, float]:
        """Return (best vertices of these sets with any share of the tail, largest excess of any)."""
        room, slope, classes = self.values.room, self.values.slope, self.problem.classes
        lacks, base = self.box.t - nodes.mass, self.base + nodes.value
        some = np.flatnonzero((nodes.between < 0) & (lacks >= 0) & (lacks <= room))
        parts = [(some, lacks[some], base[some] + slope * lacks[some])]
        for tail in {0.0, room}:
            some = np.flatnonzero(nodes.between >= 0)
            x = (lacks[some] - tail) / self.values.mass[nodes.between[some]]
            good = (x >= -_SLACK) & (x <= 1 + _SLACK)
            some, x = some[good], np.clip(x[good], 0.0, 1.0)
            secret = nodes.between[some]
            gain = base[some] + slope * tail + self.values.value[secret] * x - self._lost(secret, x)
            parts.append((some, np.full(len(some), tail), gain))
        at, tail, gain = (np.concatenate(a) for a in zip(*parts, strict=True))
        chosen, worst = largest(gain, most, self.least)
        at, counts = at[chosen], nodes.sets[at[chosen]].astype(np.int64)
        if room:
            counts = np.column_stack([counts, tail[chosen] / room * classes.size[-1]])
        return vertices.box_vertices(self.box, classes, counts, nodes.between[at]), worst


class Maxima:
    """The largest entry of any range of an array, and where it is."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.tops, step = values, [np.arange(len(values))], 1
        while 2 * step <= len(values):
            left, right = self.tops[-1][:-step], self.tops[-1][step:]
            self.tops.append(np.where(values[left] >= values[right], left, right))
            step *= 2

    def largest_between(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return the position of the largest entry from each `first` on and before its `last`, -1 for none."""
        out = np.full(len(first), -1)
        for level, top in enumerate(self.tops):
            some = np.flatnonzero((last - first >= 1 << level) & (last - first < 2 << level))
            left, right = top[first[some]], top[last[some] - (1 << level)]
            out[some] = np.where(self.values[left] >= self.values[right], left, right)
        return out


def search(family: Levels | Bounds, most: int) -> tuple[Nodes, float]:
    """Return (nodes, bound): all sets of the core but those whose vertices gain no more than the bound."""
    values, limit = family.values, family.least
    beyond, left = values.beyond(family.prices), values.left
    nodes = Nodes(np.zeros((1, len(values.mass)), dtype=bool), np.zeros(1), np.zeros(1), np.array([-1]))
    for secret in range(len(values.mass)):
        nodes = nodes.grown(values, secret, family.between)
        bounds = family.bounds(nodes, beyond[secret + 1], float(left[secret + 1]))
        if (bounds > limit).sum() > most:
            limit = float(np.partition(bounds, -most)[-most])
        nodes = nodes.take(np.flatnonzero(bounds > limit))
    return nodes, limit


class SplittableRelaxation:
    """Prices all vertices of a divided problem; when nothing gains, more sets are kept."""

    def __init__(self, problem: Problem, effort: Effort, kept: int = 2_000, most: int = 10_000) -> None:
        self.problem, self.effort, self.kept, self.most = problem, effort, kept, most

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[vertices.Vertices, float]:
        """Return the best vertices and a bound on the excess of all."""
        problem, many = self.problem, 4 * len(dual.classes) + 8
        families = [Bounds(problem, box, dual) for box in problem.shape.boxes]
        families += [Levels(problem, pair, dual) for pair in problem.shape.pairs]
        while True:
            parts = []
            for family in families:
                nodes, limit = search(family, self.kept)
                fresh, worst = family.best(nodes, many, self.effort)
                parts.append((fresh, max(worst, limit)))
            fresh, worst = vertices.joined([v for v, _ in parts]), max(top for _, top in parts)
            if len(fresh) or worst <= 2 * families[0].least or self.kept >= self.most or not self.effort.spend():
                return fresh, worst + problem.rounding(dual)
            self.kept *= 5
