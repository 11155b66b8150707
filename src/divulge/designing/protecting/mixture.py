"""The best mixture of columns that protect S: of all extreme columns, or of those that a search finds; and a bound.

Column generation: the master proposes a dual; local search and then branch and bound price columns under it. Every dual
and a bound on the excess of all columns bound the utility of every mechanism (the Lagrangian bound). Branch and bound
asks whether any column exceeds a target, and narrows the ranges of lifts by reduced costs to where one could.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.protecting.law import Law
from divulge.designing.supports.correlated import Informed
from divulge.errors import DivulgeError
from divulge.extras import highs, require

LISTED, SEARCHED = "extreme-columns", "column-generation"
_WAYS = (("highs-ds", 1e-10), ("highs-ipm", 1e-10), ("highs-ds", 1e-7))
"""How HiGHS is asked for a mixture. With columns that are nearly alike its simplex method, at the least tolerance that
it takes, finds no mixture though there is one (one column alone says nothing, and is a channel)."""
_LARGEST = 12
"""Values of X up to which all extreme columns are listed; there are up to some thousand of them."""
_UNIT = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""
_STARTS = 12
"""Local searches a round, from random columns. A heuristic: they end at a few vertices, many of them the same."""
_CLIMBS = 12
"""Steps of a local search at most. A heuristic: where it ends is a column all the same."""
_FRESH = 150
"""Columns that join the master at once. A heuristic: fewer take more rounds, more make each program larger."""
_ROUNDS = 200
"""Rounds of column generation at most, for utilities whose duals swing; the bound says what is left."""
_NODES = 200_000
"""Nodes of branch and bound a round at most; the time limit mostly ends them before."""
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
    excess = (values + off - paid + (len(p) + 16) * _UNIT * sizes) / (columns @ p)
    bound = dual.value(limits) + max(float(excess.max()), 0.0)
    return Blend(_channel(weights, columns), bound, LISTED)


def _channel(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    channel = (weights[:, None] * columns)[weights > 0].T
    return channel / channel.sum(axis=1, keepdims=True)


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
            except DivulgeError:
                break  # what was found before is a channel all the same
            channel, best = _channel(weights, columns), float(weights @ values)
            self.effort.tell(best, bound, rounds)
            if bound - best <= _ENOUGH * bound or rounds == _ROUNDS or self.effort.late():
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

    def _enough(self, dual: Dual) -> float:
        return _ENOUGH * max(float(dual.rows.sum()), 1e-12)

    def _chords(self) -> float:
        """Return what no mechanism exceeds, as f lies below its chord over the range of each lift."""
        low, high = self.floor, self.high
        below, above = self.utility.raised.f(low), self.utility.raised.f(high)
        wide = np.maximum(high - low, 1e-300)
        return math.fsum((self.mass * ((high - 1) * below + (1 - low) * above) / wide).tolist()) * (1 + 1e-12)

    def _slopes(self, lifts: np.ndarray) -> np.ndarray:
        """Return g (N,) with mu(v) >= g . v for all lifts v, and equality at these."""
        return self.p * self.utility.slopes(self.p, lifts[:, None])[:, 0]

    def _first(self) -> np.ndarray:
        """Return columns to begin with: ends of local searches under the dual at which each x alone has no excess.

        It is the dual where nothing is protected; a dual of 0 would lead all searches to the rarest x.
        """
        worth = self.p * self.utility.at(self.p, np.diag(1 / self.p))
        dual = Dual(np.where(np.isfinite(worth), worth, 0.0), np.zeros(len(self.law.joints)))
        slopes = self.random.normal(size=(2 * len(self.p), len(self.p))) * self.p
        slopes += np.tile(np.diag(self.p), (2, 1)) * 3
        return self._ends((self.program.best(slope, dual.capacity) for slope in slopes), dual)

    def _climbed(self, dual: Dual) -> np.ndarray:
        """Return different columns with an excess, by local search from those of earlier nodes, or from random ones."""
        least = 1e-9 * max(float(dual.rows.sum()), 1e-12)
        del self.pool[:-_POOL]
        slopes = self.random.normal(size=(_STARTS, len(self.p))) * self.p
        tried: list[Iterable[np.ndarray]] = [(self.program.best(one, dual.capacity) for one in slopes)]
        if self.pool:
            pool = np.array(self.pool)
            excess = self._excess(pool, dual)
            order = np.argsort(-excess)[:_FRESH]
            tried.insert(0, pool[order[excess[order] > 0]])
        for starts in tried:
            found = self._ends(starts, dual)
            found = found[self._excess(found, dual) > least] if len(found) else found
            if len(found):
                self.pool += list(found)
                return np.unique(found.round(12), axis=0)
        return np.zeros((0, len(self.p)))

    def _ends(self, starts: Iterable[np.ndarray], dual: Dual) -> np.ndarray:
        """Return where steps to the best vertex for the tangent end, from first lifts (R, N)."""
        out = []
        for lifts in starts:
            value = float(self._excess(lifts[None], dual)[0])
            for _ in range(_CLIMBS):
                trial = self.program.best(self._slopes(lifts) - dual.rows, dual.capacity)
                reached = float(self._excess(trial[None], dual)[0])
                if reached <= value + 1e-12 * abs(value):
                    break
                lifts, value = trial, reached
            out.append(lifts)
            if self.effort.late():
                break
        return np.array(out).reshape(-1, len(self.p))

    def _excess(self, lifts: np.ndarray, dual: Dual) -> np.ndarray:
        return self.utility.at(self.p, lifts) - lifts @ dual.rows - self.law.tops(lifts) @ dual.capacity

    def _priced(self, dual: Dual, target: float) -> float:
        """Return a bound, at least the target, of the excess of all columns, by spatial branch and bound over chords.

        The columns of its nodes join the pool. It ends early where many exceed the target.
        """
        first = self._node(self.floor, self.high, dual, target)
        heap: list[tuple[float, int, Node]] = [] if first is None else [(-first.bound, 0, first)]
        count, hits, most = 0, 0, min(_NODES, _BOXES // (2 * len(self.mass)))
        while heap and count < most and hits < _HITS and not self.effort.late():
            node = heap[0][2]
            hits += node.excess > target
            halves = []
            for side in (0, 1):
                low, high = node.low.copy(), node.high.copy()
                (high, low)[side][node.place] = node.at
                halves.append(self._node(low, high, dual, target))
            heapq.heappop(heap)
            for half in halves:
                count += 1
                if half is not None:
                    heapq.heappush(heap, (-half.bound, count, half))
        return max(target, -heap[0][0]) if heap else target

    def _node(self, low: np.ndarray, high: np.ndarray, dual: Dual, target: float) -> "Node | None":
        """Return the bound of the excess over a box by chords, which narrow it; None where none exceeds the target."""
        program, f, mass = self.program, self.utility.raised.f, self.mass
        passes = 0
        while True:
            below, above = f(np.stack([low, high]))
            thin = high - low <= 1e-12 * high
            slope = np.where(thin, 0.0, (above - below) / np.where(thin, 1.0, high - low))
            below = np.where(thin, np.maximum(below, above), below)
            start, off = mass * (below - slope * low), mass * (np.abs(below) + np.abs(slope * low))
            solved = program.relaxed(low, high, mass * slope, dual)
            if solved is None:
                return None
            bound = solved.bound + math.fsum(start.tolist()) + 4 * _UNIT * math.fsum(off.tolist())
            if bound <= target:
                return None
            seen = np.clip(solved.seen, low, high)
            lost = mass * (below + slope * (seen - low) - f(seen))
            excess = float(self._excess(solved.lifts[None], dual)[0])
            ends = self._narrowed(low, high, bound - target, solved.reduced)
            if (ends[0] > ends[1]).any():
                return None
            narrower = float((mass * (ends[1] - ends[0])).sum()) < _NARROWER * float((mass * (high - low)).sum())
            low, high, passes = *ends, passes + 1
            if not narrower or passes == _PASSES:
                break
        self.pool.append(solved.lifts)
        w = int(np.argmax(lost))
        at = float(np.clip(seen[w], low[w] + 0.1 * (high[w] - low[w]), high[w] - 0.1 * (high[w] - low[w])))
        return Node(bound, excess, low, high, w, at)

    def _narrowed(
        self, low: np.ndarray, high: np.ndarray, room: float, reduced: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the box of what may exceed the target, where the bound exceeds it by `room`.

        A reduced cost r says that the bound falls by |r| with each unit off the end that it is about (Ryoo and
        Sahinidis 1996). Then what is seen averages to 1. Ends are rounded outward.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(reduced != 0, room / np.abs(reduced), math.inf) * (1 + 2.0**-48)
        ends = np.where(reduced < 0, np.minimum(high, (low + step) * (1 + 2.0**-48)), high)
        starts = np.where(reduced > 0, np.maximum(low, high * (1 - 2.0**-48) - step), low)
        mass, spare = self.mass, 2.0**-44
        ends = np.minimum(ends, (1 - (mass @ starts - mass * starts) + spare) / mass)
        starts = np.maximum(starts, (1 - (mass @ ends - mass * ends) - spare) / mass)
        return starts, ends


@dataclass(frozen=True, eq=False)
class Node:
    """A box of what is seen, the bound of the excess in it, that of one column, and where to branch."""

    bound: float
    excess: float
    low: np.ndarray
    high: np.ndarray
    place: int
    at: float


@dataclass(frozen=True, eq=False)
class Solved:
    """A solution of the program: lifts (N,), what is seen (W,), a bound of the value by any dual.

    `reduced` (W,) is by how much the bound falls, at least, with each unit that a thing seen is off its end, with the
    sign of the reduced cost; 0 where rounding decides.
    """

    lifts: np.ndarray
    seen: np.ndarray
    bound: float
    reduced: np.ndarray


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
        self.matrix, self.ends = np.array(rows), np.array(ends).T
        self.sizes = np.abs(self.matrix)
        rarest = [float((1 / joint.sum(axis=1)).max()) for joint in law.joints[:many]]
        self.low = np.concatenate([np.zeros(n + w), np.ones(many), np.full(many, limits.low)])
        most = np.zeros(0) if views is None else (views / self.p).max(axis=1)
        self.high = np.concatenate([1 / self.p, most, np.minimum(rarest, limits.high), np.ones(many)])
        self._load()

    def _load(self) -> None:
        highspy, sparse = require("highspy", "science"), require("scipy.sparse", "science")
        self.model, model = highs(presolve="off", solver="simplex"), highspy.HighsLp()
        model.num_row_, model.num_col_ = self.matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = 0 * self.low, self.low, self.high
        model.row_lower_, model.row_upper_ = self.ends
        entries = sparse.csc_matrix(self.matrix)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = entries.indptr, entries.indices
        model.a_matrix_.value_, model.sense_ = entries.data, highspy.ObjSense.kMaximize
        self.model.passModel(model)
        self.places = np.arange(len(self.low), dtype=np.int32)
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.ends_well = (self.optimal, highspy.HighsModelStatus.kInfeasible)

    def _solved(self, cost: np.ndarray, low: np.ndarray, high: np.ndarray) -> Solved | None:
        """Return the solution, its bound by any dual; None where it is proved that there is nothing in this box.

        Where HiGHS comes to no end, or its proof does not hold, the bound is that of the box alone.
        """
        self.model.changeColsBounds(len(cost), self.places, low, high)
        self.model.changeColsCost(len(cost), self.places, cost)
        self.model.run()
        if self.model.getModelStatus() not in self.ends_well:
            self.model.clearSolver()  # a basis of an earlier box may be of no use in this one
            self.model.run()
        if self.model.getModelStatus() == self.optimal:
            solution = self.model.getSolution()
            dual, point = np.array(solution.row_dual), np.array(solution.col_value)
        else:
            _, proved, ray = self.model.getDualRay()
            if proved and self._bound(0 * cost, -np.array(ray), low, high)[0] < 0:
                return None
            dual, point = np.zeros(len(self.matrix)), np.append(np.ones(self.n), np.clip(1.0, low, high)[self.n :])
        bound, reduced = self._bound(cost, dual, low, high)
        return Solved(self._exactly(point[: self.n]), point[self.seen], bound, reduced[self.seen])

    def _bound(self, cost: np.ndarray, dual: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (what a dual bounds the value by, rounded up; the reduced costs, rounded towards 0)."""
        at = np.where(dual > 0, self.ends[1], self.ends[0])
        dual, at = np.where(np.isfinite(at), dual, 0.0), np.where(np.isfinite(at), at, 0.0)
        reduced = cost - dual @ self.matrix
        terms = np.append(dual * at, np.maximum(reduced * low, reduced * high))
        off = _UNIT * len(terms) * (np.abs(cost) + np.abs(dual) @ self.sizes)
        rounded = float(off @ high) + _UNIT * len(terms) * float(np.abs(terms).sum())
        return math.fsum(terms.tolist()) + rounded, np.sign(reduced) * np.maximum(np.abs(reduced) - off, 0.0)

    def _cost(self, own: Any, seen: Any, capacity: np.ndarray) -> np.ndarray:
        cost = np.zeros(len(self.low))
        cost[: self.n] = own
        cost[self.seen] += seen
        if self.j:
            cost[self.n + self.w : -self.j] = -capacity
        return cost

    def best(self, slope: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        """Return the lifts (N,) that are best for a slope."""
        found = self._solved(self._cost(slope, 0.0, capacity), self.low, self.high)
        return np.ones(self.n) if found is None else found.lifts

    def _exactly(self, lifts: np.ndarray) -> np.ndarray:
        lifts = np.maximum(lifts, 0.0)
        return lifts / float(self.p @ lifts)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (the least, the largest value of each thing that the utility sees), rounded outward."""
        none, low, high = np.zeros(self.j), self.low[self.seen], self.high[self.seen]
        ends = []
        for sign in (-1.0, 1.0):
            found = [self._solved(self._cost(0.0, sign * own, none), self.low, self.high) for own in np.eye(len(low))]
            ends.append(np.array([math.inf if one is None else one.bound for one in found]))
        return np.maximum(-ends[0], low), np.minimum(ends[1], high)

    def relaxed(self, low: np.ndarray, high: np.ndarray, slope: np.ndarray, dual: Dual) -> Solved | None:
        """Return the solution, and a bound of the value, within low and high; None where nothing is."""
        lower, upper = self.low.copy(), self.high.copy()
        lower[self.seen], upper[self.seen] = low, high
        return self._solved(self._cost(-dual.rows, slope, dual.capacity), lower, upper)
