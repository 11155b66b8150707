"""Pricing: the vertices that a dual solution leaves too cheap, and a bound on how cheap any vertex can be.

An oracle has `price(dual)`, which returns new vertices and `excess`, a number that mu(v) - <dual, v> exceeds at no
vertex v. So dual.value + excess bounds the utility of every mechanism.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.secant_bounds import capped, chords, highest
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.polytope.vertices import (
    Box,
    Columns,
    Pair,
    Shape,
    Vertices,
    box_vertices,
    joined,
    pair_utility,
    pair_vertices,
    shape_of,
)

LEAST = 1e-10
"""The share of the largest utility that a vertex must gain to be a new column."""
_ULP = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""
_ORDERS = 4
"""Orders of the secrets whose arcs start the search, one as given and three at random. A heuristic."""
_OF_PAIR = 9
"""Sets that start the search for each class and each pair of levels: three at three masses."""
_FAIR = 0.25
"""The share of a bound that the best vertex must gain for closer prices to wait: a new dual changes all of them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A prior's classes, a utility, and tightened limits with their families of vertices."""

    classes: Classes
    utility: SubConvex
    limits: Limits
    shape: Shape

    @classmethod
    def of(cls, classes: Classes, utility: SubConvex, limits: Limits) -> "Problem":
        """Return the problem with its families of vertices."""
        return cls(classes, utility, limits, shape_of(limits, float(classes.probability.min())))

    @cached_property
    def ceiling(self) -> float:
        """No mechanism has more utility, by the range of lifts and the capacity alone."""
        return min(self.top, capped(self.limits, self.utility))

    @cached_property
    def top(self) -> float:
        """No vertex has more utility."""
        return highest(self.shape, self.utility)

    @cached_property
    def chords(self) -> tuple[np.ndarray, np.ndarray]:
        """Values at 1 and slopes of the chords of f over the range of the lift of a secret of each class."""
        return chords(self.classes, self.limits, self.utility)

    @cached_property
    def secant(self) -> tuple[float, Dual]:
        """(What no mechanism exceeds, as f lies below its chords; the dual that has this value)."""
        (values, slope), mass = self.chords, self.classes.probability * self.classes.size
        value = math.fsum((mass * values).tolist())
        return value + 1e-13 * abs(value), Dual(mass * (slope + value - mass @ slope), 0.0)

    @property
    def bound(self) -> float:
        """No mechanism has more utility: the lesser of two bounds that need no search."""
        return min(self.ceiling, self.secant[0])

    @property
    def least(self) -> float:
        """What a vertex must gain to be a new column."""
        return LEAST * self.ceiling

    def best_mass(self, pair: Pair) -> float:
        """Return the mass of a set that has most utility, were there one of every mass."""
        pi = np.geomspace(pair.least, pair.most, 2049)
        return float(pi[np.argmax(pair_utility(pair, self.utility, pi))])

    @property
    def masses(self) -> list[float]:
        """The mass of a set of each family, or of its complement, that has most utility."""
        return [box.light for box in self.shape.boxes] + [self.best_mass(pair) for pair in self.shape.pairs]

    @property
    def secrets(self) -> int:
        """N."""
        return int(self.classes.size.sum())

    def gains(self, vertices: Columns, dual: Dual) -> np.ndarray:
        """Return mu(v) - <dual, v> of each vertex."""
        paid = vertices.lifts(self.classes) @ dual.classes + dual.capacity * vertices.peaks()
        return vertices.utility(self.classes, self.utility) - paid

    def explains(self, fresh: Columns, excess: float, dual: Dual) -> bool:
        """Whether the best of these vertices gains a fair share of the excess, so that closer prices can wait."""
        best = float(self.gains(fresh, dual).max(initial=0.0))
        return best > 0 and best >= _FAIR * excess

    @property
    def unit(self) -> float:
        """How far floating point moves a sum of terms of the classes, as a share of the sum of their sizes."""
        return (len(self.classes.size) + 16) * _ULP

    def rounding(self, dual: Dual) -> float:
        """Return how far floating point may have moved the excess of the vertices of a mixture under this dual.

        That of one vertex may be off by its largest lift, which is at most `peak`, on average at most the capacity.
        """
        limits = self.limits
        peak = min(limits.high, limits.ratio, limits.capacity, 1 / float(self.classes.probability.min()))
        secants = [abs(box.secant(self.utility)) for box in self.shape.boxes]
        return 8 * self.unit * (float(np.abs(dual.classes).sum()) * peak + dual.capacity * peak + sum(secants) + peak)


V = TypeVar("V", bound=Columns, covariant=True)


class Oracle(Protocol[V]):
    """Prices columns of one sort."""

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[V, float]:
        """Return (columns worth adding, excess); one of at most `enough` needs no closer bound."""
        ...


def box_prices(problem: Problem, box: Box, dual: Dual) -> tuple[np.ndarray, float]:
    """Return (the value of each secret at `high`, by class; the base) of a box under a dual.

    The excess of a vertex is the base, the sum of values over S, and x value_r - P_r penalty(x) for the one in between.
    """
    base = box.secant(problem.utility) - box.low * float(dual.classes.sum()) - dual.capacity * box.high
    return -dual.classes / problem.classes.size * (box.high - box.low), base


class LighterSide:
    """The vertices of a box by the lighter one of S and the secrets that are neither in S nor in between.

    That set and a share of the secret in between have the mass `light`. A secret that is heavier is never in a set and
    has a share of at most `cap`: its losses lie above a line of this slope, from which its bend is counted.
    """

    def __init__(self, problem: Problem, box: Box) -> None:
        self.problem, self.box, self.p = problem, box, problem.classes.probability
        self.flipped, self.light = box.t > 0.5, box.light

    @cached_property
    def cap(self) -> np.ndarray:
        """The largest share of each secret."""
        return np.minimum(1.0, self.light / self.p)

    @cached_property
    def line(self) -> np.ndarray:
        """The slope of the line from 0 to the loss at the cap, 0 for secrets that may be in a set."""
        return np.where(self.cap < 1, self.loss(self.p, self.cap) / self.cap, 0.0)

    def loss(self, p: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return what secrets of these probabilities lose in between at a share."""
        return p * self.box.penalty(self.problem.utility, 1 - share if self.flipped else share)

    def prices(self, dual: Dual) -> tuple[np.ndarray, float]:
        """Return (the value of each secret in the lighter set, the base) under a dual."""
        value, base = box_prices(self.problem, self.box, dual)
        return (-value, base + float(value.sum())) if self.flipped else (value, base)

    def vertices(self, sets: np.ndarray, between: np.ndarray) -> Vertices:
        """Return the vertices of lighter sets, a boolean matrix, without the secrets in between."""
        counts = (~sets if self.flipped else sets).astype(np.int64)
        counts[np.arange(len(between)), between] = 0
        return box_vertices(self.box, self.problem.classes, counts, between)


@dataclass(frozen=True, eq=False)
class Prices:
    """A dual, as a pair of levels sees it: the excess of a vertex is base(pi) + rise(pi) * sum over S of `value`."""

    value: np.ndarray
    base: np.ndarray
    rise: np.ndarray


def pair_prices(problem: Problem, pair: Pair, dual: Dual, pi: np.ndarray) -> Prices:
    """Return the prices of a pair of levels at the masses `pi`; -inf outside its range."""
    low, high = pair.levels(pi)
    total = float(dual.classes.sum())
    base = pair_utility(pair, problem.utility, pi) - low * total - dual.capacity * high
    inside = (pi >= pair.least - 1e-15) & (pi <= pair.most + 1e-15)
    return Prices(-dual.classes / problem.classes.size, np.where(inside, base, -np.inf), high - low)


def uninformative(problem: Problem) -> Vertices:
    """Return the vertex-like column of the channel that says nothing: every lift 1. It is feasible, never optimal."""
    one = np.ones(1)
    return Vertices(np.zeros((1, len(problem.classes.size)), dtype=np.int64), np.array([-1]), one, one, one)


def starts(problem: Problem) -> int:
    """Return about how many sets `simple_start` makes for each class."""
    return _ORDERS * len(problem.shape.boxes) + _OF_PAIR * len(problem.shape.pairs)


def simple_start(problem: Problem) -> Vertices:
    """Return the uninformative column and greedy sets of each family: each secret is high in one, low in another."""
    classes, parts = problem.classes, [uninformative(problem)]
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(len(classes.size)), (_ORDERS, 1)), axis=1)
    orders[0] = np.arange(len(classes.size))
    for box in problem.shape.boxes:
        parts += [box_vertices(box, classes, *_arcs(classes, box.t, order)) for order in orders]
    for pair in problem.shape.pairs:
        for pi in {pair.least, (pair.least + pair.most) / 2, pair.most}:
            counts, _ = _arcs(classes, pi, orders[0])
            for sets in (counts, classes.size - counts, np.eye(len(classes.size), dtype=counts.dtype)):
                mass = sets @ classes.probability
                good = (mass >= pair.least) & (mass <= pair.most) & (mass > 0) & (mass < 1)
                parts.append(pair_vertices(pair, classes, sets[good]))
    return joined(parts)


def _arcs(classes: Classes, t: float, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (counts, class in between) of the arcs of mass t that start at each class and go round in an order."""
    size, place = len(classes.size), np.arange(len(classes.size))
    mass = (classes.probability * classes.size)[order]
    turns = np.append(0.0, np.cumsum(np.tile(mass, 2)))
    last = np.searchsorted(turns, turns[:size] + t + 1e-12 * classes.probability[order], side="right") - 1
    last = np.minimum(last, place + size - 1)
    counts = np.zeros((size, size), dtype=np.int64)
    inside = (place[None, :] - place[:, None]) % size < (last - place)[:, None]
    counts[:, order] = inside * classes.size[order]
    between = order[last % size]
    left = np.maximum(0.0, t - (turns[last] - turns[:size]))
    whole = np.floor(left / classes.probability[between] + 1e-12).astype(np.int64)
    counts[place, between] = np.minimum(whole, classes.size[between] - 1)
    return counts, between


def largest(excess: np.ndarray, most: int, least: float = 0.0) -> tuple[np.ndarray, float]:
    """Return (positions of the largest entries above `least`, the largest entry)."""
    if not len(excess):
        return np.zeros(0, dtype=np.intp), -np.inf
    best = np.argpartition(-excess, min(most, len(excess) - 1))[:most]
    return best[excess[best] > least], float(excess.max())
