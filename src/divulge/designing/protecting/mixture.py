"""The best mixture of columns that protect S: of all extreme columns, or of those that a search finds; and a bound.

Column generation: the master proposes a dual; local search and then branch and bound price columns under it. Every dual
and a bound on the excess of all columns bound the utility of every mechanism (the Lagrangian bound). Branch and bound
asks whether any column exceeds a target, and narrows the ranges of lifts by reduced costs to where one could.
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.protecting.law import Law
from divulge.designing.protecting.simplex import Simplex, Solutions
from divulge.designing.supports.correlated import Informed
from divulge.errors import DivulgeError
from divulge.extras import require

LISTED, SEARCHED = "extreme-columns", "column-generation"
_WAYS = (("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-7))
"""How HiGHS is asked for a mixture. With columns that are nearly alike its simplex method, at the least tolerance that
it takes, finds no mixture though there is one (one column alone says nothing, and is a channel)."""
_LARGEST = 12
"""Values of X up to which all extreme columns are listed; there are up to some thousand of them."""
_UNIT = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""
_STARTS = 120
"""Local searches a round, from random columns. A heuristic: they end at a few vertices, many of them the same."""
_CLIMBS = 12
"""Steps of a local search at most. A heuristic: where it ends is a column all the same."""
_FRESH = 150
"""Columns that join the master at once. A heuristic: fewer take more rounds, more make each program larger."""
_ROUNDS = 200
"""Rounds of column generation at most, for utilities whose duals swing; the bound says what is left."""
_NODES = 200_000
"""Nodes of branch and bound a round at most; the time limit mostly ends them before."""
_AT_ONCE = 128
"""Boxes that are split together, in one call of NumPy; each is looked at after others that might have more."""
_BOXES = 2**24
"""Numbers that boxes still to be looked into may take, 128 MB; the bound says what is left."""
_POOL = 20_000
"""Columns of earlier nodes that are looked at for an excess under a new dual, before branch and bound is asked."""
_SHARE = 0.1
"""The share of the gap that a round of branch and bound aims at. A heuristic: half takes three times the rounds, a
hundredth looks for too long under a dual that columns still to be found will move."""
_SLOW = 0.02
"""The share of the gap that a round of local search must add, lest branch and bound be asked. A heuristic."""
_HITS = 30
"""Columns above the target after which the master is asked for another dual. A heuristic."""
_PASSES = 4
"""Times that ranges are narrowed at a node. A heuristic: the first pass does most."""
_NARROWER = 0.8
"""How much smaller the ranges must be for another pass. A heuristic."""
_RARE, _MISSED = 1e-6, 1e-9
"""Prices of x below the one probability are raised by the other share of all of them: ten times what HiGHS may miss."""
_ENOUGH = 1e-7
"""The relative gap that ends the search: each further digit takes ever more nodes of branch and bound."""


@dataclass(frozen=True, eq=False)
class Blend:
    """A channel of floats (N, M), the bound of every other one, and how it was found."""

    channel: np.ndarray
    bound: float
    method: str


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers of the sums of rows (N,), and of the capacity of each variable (J,)."""

    rows: np.ndarray
    capacity: np.ndarray

    def value(self, limits: Limits) -> float:
        """Return the part of the dual objective that does not depend on columns, rounded up."""
        terms = self.rows.tolist()
        if self.capacity.any():
            terms += (self.capacity * float(limits.capacity)).tolist()
        return math.fsum(terms) + _UNIT * len(terms) * math.fsum(map(abs, terms))


def gains(utility: SubConvex, p: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (what each row of columns (R, N) adds to the utility, how far that may be off), shape (R,)."""
    q = columns @ p
    lifts = columns / q[:, None]
    off = utility.doubt(p, lifts, np.zeros_like(lifts), np.zeros(len(lifts)), (len(p) + 16) * _UNIT)
    return q * utility.at(p, lifts), q * (off + (len(p) + 16) * _UNIT * lifts.max(axis=1))


def master(values: np.ndarray, columns: np.ndarray, tops: np.ndarray, limits: Limits) -> tuple[np.ndarray, Dual]:
    """Return (weights (R,), dual) of max sum w_k value_k, sum w_k column_k = 1, sum w_k top_k at most capacity.

    DivulgeError where HiGHS finds no end in any of the ways in which it is asked.
    """
    many, largest = tops.shape[1], columns.max(axis=1)  # weights times these are at most 1, and entries over them
    values, tops, rows = values / largest, tops / largest[:, None], (columns / largest[:, None]).T
    capped = {"A_ub": tops.T, "b_ub": np.full(many, float(limits.capacity))} if limits.capacity < math.inf else {}
    scale, message = float(np.abs(values).max()) or 1.0, ""
    for method, tolerance in _WAYS:
        found = require("scipy.optimize", "science").linprog(
            -values / scale, A_eq=rows, b_eq=np.ones(len(rows)), **capped, bounds=(0, None), method=method,
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )  # fmt: skip
        if found.status == 0:
            capacity = np.maximum(-found.ineqlin.marginals * scale, 0.0) if capped else np.zeros(many)
            return np.maximum(found.x, 0.0) / largest, Dual(-found.eqlin.marginals * scale, capacity)
        message = found.message
    raise DivulgeError(f"`protect` must leave a program that HiGHS solves; it says {message}.")


def best_blend(law: Law, utility: SubConvex, effort: Effort) -> Blend:
    """Return the best mixture for a law: of all extreme columns where they are few, else of those that are found."""
    if len(law.prior) <= _LARGEST:
        try:
            return _listed(law, utility, *law.rays())
        except DivulgeError:
            pass  # too many of them, or so nearly alike that no mixture of them is a channel within the tolerance
    return Search(law, utility, effort).blend()


def _listed(law: Law, utility: SubConvex, columns: np.ndarray, tops: np.ndarray) -> Blend:
    p, limits = law.floats, law.limits.floats()
    values, off = gains(utility, p, columns)
    weights, dual = master(values, columns, tops, limits)
    paid = columns @ dual.rows + tops @ dual.capacity
    sizes = columns @ np.abs(dual.rows) + tops @ dual.capacity
    excess = values + off - paid + (len(p) + 16) * _UNIT * sizes
    # what is added to the price of every x covers all, in proportion to P_x or alike: of P_x much less is known
    added = min(float((excess / (columns @ p)).max()), len(p) * float(excess.max()) * (1 + 2.0**-40))
    bound = dual.value(limits) + max(added, 0.0)
    return Blend(_channel(weights, columns), bound, LISTED)


def _channel(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    channel = (weights[:, None] * columns)[weights > 0].T
    return channel / channel.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Boxes of what is seen (K, W), bounds of the excess in them, that of a column of each, where to branch, bases."""

    low: np.ndarray
    high: np.ndarray
    bound: np.ndarray
    excess: np.ndarray
    place: np.ndarray
    at: np.ndarray
    basis: np.ndarray

    def take(self, some: np.ndarray) -> "Nodes":
        """Return some of them."""
        return Nodes(*(getattr(self, one.name)[some] for one in fields(self)))

    def joined(self, other: "Nodes") -> "Nodes":
        """Return these and others."""
        return Nodes(*(np.concatenate([getattr(self, one.name), getattr(other, one.name)]) for one in fields(self)))

    def halves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, high, basis) of both halves of each."""
        rows = np.arange(len(self.low))
        low, high = self.low.copy(), self.high.copy()
        low[rows, self.place] = high[rows, self.place] = self.at
        return np.concatenate([self.low, low]), np.concatenate([high, self.high]), np.tile(self.basis, (2, 1))


class Program:
    """The linear program over (v, u, t, m): lifts, what the utility sees of them, and the ends of each variable.

    Without views the utility sees the lifts themselves, and there is no u; where no limit compares the ends of a
    variable, there are no t and m.
    """

    def __init__(self, law: Law, views: np.ndarray | None) -> None:
        limits, self.p, forms = law.limits.floats(), law.floats, law.float_forms
        ended = limits.ratio < math.inf or limits.capacity < math.inf
        self.n, self.w, self.j = len(self.p), 0 if views is None else len(views), len(forms) if ended else 0
        n, w, many = self.n, self.w, self.j
        self.seen = slice(0, n) if views is None else slice(n, n + w)
        rows: list[np.ndarray] = []
        ends: list[tuple[float, float]] = []

        def rule(lifts: Any, at: dict[int, float], low: float, high: float) -> None:
            row = np.append(lifts, np.zeros(w + 2 * many))
            for place, value in at.items():
                row[place] = value
            rows.append(row)
            ends.append((low, high))

        rule(self.p, {}, 1.0, 1.0)
        for k, view in enumerate(views if views is not None else ()):
            rule(view, {n + k: -1.0}, 0.0, 0.0)
        for j, form in enumerate(forms):
            top, bottom = n + w + j, n + w + many + j
            for line in form:
                if ended:
                    rule(line, {top: -1.0}, -math.inf, 0.0)
                    rule(line, {bottom: -1.0}, 0.0, math.inf)
                else:
                    rule(line, {}, limits.low, limits.high)
            if limits.ratio < math.inf:
                rule(np.zeros(n), {top: 1.0, bottom: -limits.ratio}, -math.inf, 0.0)
        rarest = [float((1 / joint.sum(axis=1)).max()) for joint in law.joints[:many]]
        self.low = np.concatenate([np.zeros(n + w), np.ones(many), np.full(many, limits.low)])
        most = np.zeros(0) if views is None else (views / self.p).max(axis=1)
        self.high = np.concatenate([1 / self.p, most, np.minimum(rarest, limits.high), np.ones(many)])
        self.simplex = Simplex(np.array(rows), np.array(ends).T, self.low, self.high)

    def _cost(self, own: Any, seen: Any, capacity: np.ndarray, many: int) -> np.ndarray:
        cost = np.zeros((many, len(self.low)))
        cost[:, : self.n] = own
        cost[:, self.seen] += seen
        if self.j:
            cost[:, self.n + self.w : -self.j] = -capacity
        return cost

    def best(self, slopes: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        """Return the lifts (K, N) that are best for slopes (K, N)."""
        cost = self._cost(slopes, 0.0, capacity, len(slopes))
        return self.lifts(self.simplex.solved(cost, *(np.tile(v, (len(cost), 1)) for v in (self.low, self.high))))

    def lifts(self, found: Solutions) -> np.ndarray:
        """Return the lifts of solutions (K, N); where there is none those that say nothing."""
        lifts = np.maximum(found.points[:, : self.n], 0.0)
        mass = lifts @ self.p
        good = found.feasible & (mass > 0)
        return np.where(good[:, None], lifts / np.where(good, mass, 1.0)[:, None], 1.0)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (the least, the largest value of each thing that the utility sees), rounded outward."""
        low, high = self.low[self.seen], self.high[self.seen]
        ends = []
        for sign in (-1.0, 1.0):
            cost = self._cost(0.0, sign * np.eye(len(low)), np.zeros(self.j), len(low))
            ends.append(self.simplex.solved(cost, *(np.tile(v, (len(low), 1)) for v in (self.low, self.high))).bounds)
        return np.maximum(-ends[0], low), np.minimum(ends[1], high)

    def relaxed(
        self, low: np.ndarray, high: np.ndarray, slope: np.ndarray, dual: Dual, basis: np.ndarray | None, target: Any
    ) -> Solutions:
        """Return the solutions within low and high (K, W), for slopes (K, W) of what is seen."""
        lower, upper = np.tile(self.low, (len(low), 1)), np.tile(self.high, (len(low), 1))
        lower[:, self.seen], upper[:, self.seen] = low, high
        return self.simplex.solved(self._cost(-dual.rows, slope, dual.capacity, len(low)), lower, upper, basis, target)


class Search:
    """Column generation for a law whose extreme columns are too many to list; columns here are lifts, q = 1."""

    def __init__(self, law: Law, utility: SubConvex, effort: Effort) -> None:
        self.law, self.utility, self.effort = law, utility, effort
        self.p, self.limits = law.floats, law.limits.floats()
        self.random = np.random.default_rng(0)
        views = utility.seen_from(self.p) if isinstance(utility, Informed) else None
        self.mass = self.p if views is None else views[0]
        self.program = Program(law, None if views is None else views[1].T)
        self.floor, self.high = self.program.ranges()
        self.pool: list[np.ndarray] = []

    def blend(self) -> Blend:
        """Return the best mixture that is found, and the least bound of all duals that were priced."""
        p, limits, law = self.p, self.limits, self.law
        nothing, dual = np.ones((1, len(p))), None
        columns, channel, best = self._first(), nothing.T, 0.0
        bound, rounds, priced, last = self._chords(), 0, False, 0.0
        share = _SHARE
        while True:
            columns = np.concatenate([nothing, columns])
            values, rounds = self.utility.at(p, columns), rounds + 1
            try:
                weights, dual = master(values, columns, law.tops(columns), limits)
                dual = self._covered(dual)
            except DivulgeError:
                break  # what was found before is a channel all the same
            channel, best = _channel(weights, columns), float(weights @ values)
            self.effort.tell(best, bound, rounds)
            if bound - best <= _ENOUGH * bound or rounds == _ROUNDS or not self.effort.spend():
                break
            fresh = self._climbed(dual)
            slow, last = best - last <= _SLOW * (bound - best), best
            if slow or not len(fresh):
                target = max(share * (bound - best), self._enough(dual))
                excess, priced = self._priced(dual, target), True
                before, bound = bound, min(bound, dual.value(limits) + excess)
                fresh = np.concatenate([fresh, self._climbed(dual)])
                share = _SHARE if len(fresh) else _SHARE**3  # a dual that stands is asked for all digits
                if not len(fresh) and (bound >= before or target <= self._enough(dual)):
                    break
            idle = 1 + np.flatnonzero(weights[1:] <= 0)[-20 * len(p) :]
            used = 1 + np.flatnonzero(weights[1:] > 0)
            columns = np.concatenate([columns[used], columns[idle], fresh])
        if dual is not None and not priced:
            bound = min(bound, dual.value(limits) + self._priced(dual, self._enough(dual)))
        return Blend(channel, bound, SEARCHED)

    def _covered(self, dual: Dual) -> Dual:
        """Return a dual whose prices of rare x are above what the solver may miss: a little of 1/P_x is much."""
        return Dual(dual.rows + np.where(self.p < _RARE, _MISSED * float(np.abs(dual.rows).sum()), 0.0), dual.capacity)

    def _enough(self, dual: Dual) -> float:
        return _ENOUGH * max(float(dual.rows.sum()), 1e-12)

    def _chords(self) -> float:
        """Return what no mechanism exceeds, as f lies below its chord over the range of each lift."""
        low, high = self.floor, self.high
        below, above = self.utility.raised.f(low), self.utility.raised.f(high)
        wide = np.maximum(high - low, 1e-300)
        return math.fsum((self.mass * ((high - 1) * below + (1 - low) * above) / wide).tolist()) * (1 + 1e-12)

    def _slopes(self, lifts: np.ndarray) -> np.ndarray:
        """Return g (R, N) with mu(v) >= g . v for all lifts v, and equality at these of each row."""
        return self.p * self.utility.slopes(self.p, lifts.T).T

    def _first(self) -> np.ndarray:
        """Return columns to begin with: ends of local searches under the dual at which each x alone has no excess.

        It is the dual where nothing is protected; a dual of 0 would lead all searches to the rarest x.
        """
        worth = self.p * self.utility.at(self.p, np.diag(1 / self.p))
        dual = Dual(np.where(np.isfinite(worth), worth, 0.0), np.zeros(len(self.law.joints)))
        slopes = self.random.normal(size=(2 * len(self.p), len(self.p))) * self.p
        slopes += np.tile(np.diag(self.p), (2, 1)) * 3
        return self._ends(self.program.best(slopes, dual.capacity), dual)

    def _climbed(self, dual: Dual) -> np.ndarray:
        """Return different columns with an excess, by local search from those of earlier nodes, or from random ones."""
        least = 1e-9 * max(float(dual.rows.sum()), 1e-12)
        self.pool = [np.concatenate([np.zeros((0, len(self.p))), *self.pool])[-_POOL:]]
        (pool,) = self.pool
        excess = self._excess(pool, dual)
        order = np.argsort(-excess)[:_FRESH]
        for known in (True, False):
            slopes = self.random.normal(size=(_STARTS, len(self.p))) * self.p
            starts = pool[order[excess[order] > 0]] if known else self.program.best(slopes, dual.capacity)
            found = self._ends(starts, dual)
            found = found[self._excess(found, dual) > least]
            if len(found):
                self.pool.append(found)
                return np.unique(found.round(12), axis=0)
        return np.zeros((0, len(self.p)))

    def _ends(self, lifts: np.ndarray, dual: Dual) -> np.ndarray:
        """Return where steps to the best vertex for the tangent end, from first lifts (R, N)."""
        lifts, value, moving = lifts.copy(), self._excess(lifts, dual), np.arange(len(lifts))
        for _ in range(_CLIMBS):
            if not len(moving) or not self.effort.spend():
                break
            trial = self.program.best(self._slopes(lifts[moving]) - dual.rows, dual.capacity)
            reached = self._excess(trial, dual)
            better = reached > value[moving] + 1e-12 * np.abs(value[moving])
            moving = moving[better]
            lifts[moving], value[moving] = trial[better], reached[better]
        return lifts

    def _excess(self, lifts: np.ndarray, dual: Dual) -> np.ndarray:
        return self.utility.at(self.p, lifts) - lifts @ dual.rows - self.law.tops(lifts) @ dual.capacity

    def _priced(self, dual: Dual, target: float) -> float:
        """Return a bound, at least the target, of the excess of all columns, by spatial branch and bound over chords.

        The columns of its nodes join the pool. It ends early where many exceed the target.
        """
        open_nodes = self._nodes(self.floor[None], self.high[None], None, dual, target)
        count, hits, most = 0, 0, min(_NODES, _BOXES // (2 * len(self.mass)))
        while len(open_nodes.bound) and count < most and hits < _HITS and self.effort.spend():
            order = np.argsort(-open_nodes.bound)
            split, rest = open_nodes.take(order[:_AT_ONCE]), open_nodes.take(order[_AT_ONCE:])
            hits += int((split.excess > target).sum())
            halves = self._nodes(*split.halves(), dual, target)
            count += 2 * len(split.bound)
            open_nodes = rest.joined(halves)
        return max(target, float(open_nodes.bound.max(initial=target)))

    def _nodes(self, low: np.ndarray, high: np.ndarray, basis: np.ndarray | None, dual: Dual, target: float) -> Nodes:
        """Return the nodes of boxes (K, W) that may exceed the target, narrowed, with bounds by chords."""
        program, f, mass = self.program, self.utility.raised.f, self.mass
        done: list[Nodes] = []
        for passes in range(1, _PASSES + 1):
            below, above = f(np.stack([low, high]))
            thin = high - low <= 1e-12 * high
            slope = np.where(thin, 0.0, (above - below) / np.where(thin, 1.0, high - low))
            below = np.where(thin, np.maximum(below, above), below)
            start, off = mass * (below - slope * low), mass * (np.abs(below) + np.abs(slope * low))
            base = start.sum(axis=1) + (4 + start.shape[1]) * _UNIT * off.sum(axis=1)
            solved = program.relaxed(low, high, mass * slope, dual, basis, target - base)
            bound, lifts, seen = solved.bounds + base, program.lifts(solved), solved.points[:, program.seen]
            seen = np.clip(seen, low, high)
            lost = mass * (below + slope * (seen - low) - self.utility.f(seen))
            room = np.maximum(bound - target, 0.0)[:, None]
            ends = self._narrowed(low, high, room, solved.reduced[:, program.seen])
            kept = np.flatnonzero((bound > target) & (ends[0] <= ends[1]).all(axis=1))
            narrower = (mass * (ends[1] - ends[0])).sum(axis=1) < _NARROWER * (mass * (high - low)).sum(axis=1)
            low, high, again = *ends, narrower & (passes < _PASSES)
            final = kept[~again[kept]]
            self.pool.append(lifts[final])
            w = lost[final].argmax(axis=1)
            rows = np.arange(len(final))
            at, least, most = seen[final][rows, w], low[final][rows, w], high[final][rows, w]
            at = np.clip(at, least + 0.1 * (most - least), most - 0.1 * (most - least))
            excess = self._excess(lifts[final], dual)
            done.append(Nodes(low[final], high[final], bound[final], excess, w, at, solved.basis[final]))
            left = kept[again[kept]]
            if not len(left):
                break
            low, high, basis = low[left], high[left], solved.basis[left]
        first, *others = done
        for one in others:
            first = first.joined(one)
        return first

    def _narrowed(
        self, low: np.ndarray, high: np.ndarray, room: np.ndarray, reduced: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the boxes (K, W) of what may exceed the target, where the bounds exceed it by `room`.

        A reduced cost r says that the bound falls by |r| with each unit off the end that it is about (Ryoo and
        Sahinidis 1996). Then what is seen averages to 1. Ends are rounded outward.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(reduced != 0, room / np.abs(reduced), math.inf) * (1 + 2.0**-48)
            ends = np.where(reduced < 0, np.minimum(high, (low + step) * (1 + 2.0**-48)), high)
            starts = np.where(reduced > 0, np.maximum(low, high * (1 - 2.0**-48) - step), low)
        mass, spare = self.mass, 2.0**-44
        ends = np.minimum(ends, (1 - ((starts @ mass)[:, None] - mass * starts) + spare) / mass)
        starts = np.maximum(starts, (1 - ((ends @ mass)[:, None] - mass * ends) - spare) / mass)
        return starts, ends
