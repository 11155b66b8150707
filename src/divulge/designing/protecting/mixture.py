"""The best mixture of columns that protect S: of all extreme columns, or of those that a search finds; and a bound.

Column generation: the master proposes a dual; local search and then branch and bound price columns under it. Every dual
and a bound on the excess of all columns bound the utility of every mechanism (the Lagrangian bound).
"""

import heapq
import math
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
_LARGEST = 12
"""Values of X up to which all extreme columns are listed; there are up to some thousand of them."""
_UNIT = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""
_STARTS = 24
"""Local searches a round, from random columns. A heuristic: they end at a few vertices, many of them the same."""
_CLIMBS = 12
"""Steps of a local search at most. A heuristic: where it ends is a column all the same."""
_FRESH = 60
"""Columns that join the master at once. A heuristic: fewer take more rounds, more make each program larger."""
_ROUNDS = 200
"""Rounds of column generation at most, for utilities whose duals swing; the bound says what is left."""
_NODES = (200, 2_000, 20_000, 200_000)
"""Nodes of branch and bound a round, more when the local search finds nothing; the time limit ends them before."""
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
    """Return (weights (R,), dual) of max sum w_k value_k, sum w_k column_k = 1, sum w_k top_k at most capacity."""
    many = tops.shape[1]
    capped = {"A_ub": tops.T, "b_ub": np.full(many, float(limits.capacity))} if limits.capacity < math.inf else {}
    scale = float(np.abs(values).max()) or 1.0
    found = require("scipy.optimize", "science").linprog(
        -values / scale, A_eq=columns.T, b_eq=np.ones(columns.shape[1]), **capped, bounds=(0, None), method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if found.x is None:
        raise DivulgeError(f"`protect` must leave a program that HiGHS solves; it says {found.message}.")
    capacity = np.maximum(-found.ineqlin.marginals * scale, 0.0) if capped else np.zeros(many)
    return np.maximum(found.x, 0.0), Dual(-found.eqlin.marginals * scale, capacity)


def best_blend(law: Law, utility: SubConvex, effort: Effort) -> Blend:
    """Return the best mixture for a law: of all extreme columns where they are few, else of those that are found."""
    if len(law.prior) <= _LARGEST:
        try:
            columns, tops = law.rays()
        except DivulgeError:
            pass  # too many of them
        else:
            return _listed(law, utility, columns, tops)
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
        self.views = np.eye(len(self.p)) if views is None else views[1].T
        self.program = Program(law, self.views)
        self.floor, self.high = self.program.ranges()

    def blend(self) -> Blend:
        """Return the best mixture that is found, and the least bound of all duals that were priced."""
        p, limits, law = self.p, self.limits, self.law
        columns = np.concatenate([np.ones((1, len(p))), self._first()])
        bound, stage, rounds = self._chords(), 0, 0
        while True:
            values, rounds = self.utility.at(p, columns), rounds + 1
            weights, dual = master(values, columns, law.tops(columns), limits)
            channel, best = _channel(weights, columns), float(weights @ values)
            self.effort.tell(best, bound, rounds)
            if bound - best <= _ENOUGH * bound or rounds == _ROUNDS or self.effort.late():
                break
            fresh = self._climbed(dual)
            while not len(fresh) and stage < len(_NODES):
                fresh, excess = self._priced(dual, _NODES[stage])
                bound = min(bound, dual.value(limits) + max(excess, 0.0))
                stage += not len(fresh)
            if not len(fresh):
                break
            idle = np.flatnonzero(weights <= 0)[-20 * len(p) :]
            columns = np.concatenate([columns[weights > 0], columns[idle], fresh])
        if not stage:
            bound = min(bound, dual.value(limits) + max(self._priced(dual, _NODES[0])[1], 0.0))
        return Blend(channel, bound, SEARCHED)

    def _chords(self) -> float:
        """Return what no mechanism exceeds, as f lies below its chord over the range of each lift."""
        low, high = self.floor, self.high
        below, above = self.utility.raised.f(low), self.utility.raised.f(high)
        wide = np.maximum(high - low, 1e-300)
        return math.fsum((self.mass * ((high - 1) * below + (1 - low) * above) / wide).tolist()) * (1 + 1e-12)

    def _slopes(self, lifts: np.ndarray) -> np.ndarray:
        """Return g (R, N) with mu(v) >= g . v for all lifts v, and equality at each row of lifts."""
        return (self.p[:, None] * self.utility.slopes(self.p, lifts.T)).T

    def _first(self) -> np.ndarray:
        return self._climb(self.random.normal(size=(2 * len(self.p), len(self.p))), Dual(0 * self.p, self._no_capacity))

    @property
    def _no_capacity(self) -> np.ndarray:
        return np.zeros(len(self.law.joints))

    def _climbed(self, dual: Dual) -> np.ndarray:
        """Return different columns with an excess, by local search from random slopes."""
        starts = self.random.normal(size=(_STARTS, len(self.p))) * self.p
        found = self._climb(starts, dual)
        excess = self._excess(found, dual)
        order = np.argsort(-excess)[:_FRESH]
        order = order[excess[order] > 1e-9 * max(float(dual.rows.sum()), 1e-12)]
        return np.unique(found[order].round(12), axis=0) if len(order) else found[:0]

    def _climb(self, slopes: np.ndarray, dual: Dual) -> np.ndarray:
        """Return where steps to the best vertex for the tangent end, from first slopes (R, N)."""
        out = []
        for slope in slopes:
            lifts, value = self.program.best(slope, dual.capacity), -math.inf
            for _ in range(_CLIMBS):
                trial = self.program.best(self._slopes(lifts[None])[0] - dual.rows, dual.capacity)
                reached = float(self._excess(trial[None], dual)[0])
                if reached <= value + 1e-12 * abs(value):
                    break
                lifts, value = trial, reached
            out.append(lifts)
            if self.effort.late():
                break
        return np.array(out)

    def _excess(self, lifts: np.ndarray, dual: Dual) -> np.ndarray:
        return self.utility.at(self.p, lifts) - lifts @ dual.rows - self.law.tops(lifts) @ dual.capacity

    def _priced(self, dual: Dual, nodes: int) -> tuple[np.ndarray, float]:
        """Return (columns with an excess, a bound of the excess of all) by spatial branch and bound over chords."""
        program, f, found = self.program, self.utility.raised.f, []

        def node(low: np.ndarray, high: np.ndarray) -> tuple[float, np.ndarray, np.ndarray] | None:
            below, above = f(low), f(high)
            slope = (above - below) / np.maximum(high - low, 1e-300)
            start = float(self.mass @ (below - slope * low))
            solved = program.relaxed(low, high, self.mass * slope, dual)
            if solved is None:
                return None
            value, lifts, seen = solved
            found.append(lifts)
            lost = self.mass * (below + slope * (seen - low) - f(seen))
            return start + value, seen, lost

        first = node(self.floor, self.high)
        if first is None:
            return np.zeros((0, len(self.p))), 0.0
        heap: list[Any] = [(-first[0], 0, self.floor, self.high, *first[1:])]
        count, reached = 0, 0.0
        enough = _ENOUGH * max(float(dual.rows.sum()), 1e-12)
        while heap and count < nodes and not self.effort.late():
            top, _, low, high, seen, lost = heap[0]
            reached = max(reached, float(self._excess(np.array(found[-2:]), dual).max()))
            if -top <= max(enough, reached):
                break
            heapq.heappop(heap)
            w = int(np.argmax(lost))
            at = float(np.clip(seen[w], low[w] + 0.05 * (high[w] - low[w]), high[w] - 0.05 * (high[w] - low[w])))
            for side in (0, 1):
                ends = low.copy(), high.copy()
                ends[1 - side][w] = at
                made = node(*ends)
                count += 1
                if made is not None and made[0] > enough:
                    heapq.heappush(heap, (-made[0], count, *ends, *made[1:]))
        excess = max(-heap[0][0] if heap else 0.0, enough)
        columns = np.array(found)
        worth = self._excess(columns, dual)
        best = np.argsort(-worth)[:_FRESH]
        best = best[worth[best] > enough]
        return (np.unique(columns[best].round(12), axis=0) if len(best) else columns[:0]), excess


class Program:
    """The linear program over (v, u, t, m): lifts, what the utility sees of them, and the ends of each variable."""

    def __init__(self, law: Law, views: np.ndarray) -> None:
        limits, self.p, forms = law.limits.floats(), law.floats, law.float_forms
        self.n, self.w, self.j = len(self.p), len(views), len(forms)
        n, w, many = self.n, self.w, self.j
        rows: list[np.ndarray] = []
        equal: list[bool] = []

        def rule(lifts: Any, at: dict[int, float], same: bool = False) -> None:
            row = np.append(lifts, np.zeros(w + 2 * many))
            for place, value in at.items():
                row[place] = value
            rows.append(row)
            equal.append(same)

        rule(self.p, {}, same=True)
        for k, view in enumerate(views):
            rule(view, {n + k: -1.0}, same=True)
        for j, form in enumerate(forms):
            top, bottom = n + w + j, n + w + many + j
            for line in form:
                rule(line, {top: -1.0})
                rule(-line, {bottom: 1.0})
            if limits.ratio < math.inf:
                rule(np.zeros(n), {top: 1.0, bottom: -limits.ratio})
        self.matrix, self.equal = np.array(rows), np.array(equal)
        self.sums = np.zeros(len(rows))
        self.sums[0] = 1.0
        rarest = [float((1 / joint.sum(axis=1)).max()) for joint in law.joints]
        self.low = np.concatenate([np.zeros(n + w), np.ones(many), np.full(many, limits.low)])
        self.high = np.concatenate([
            1 / self.p, (views / self.p).max(axis=1), np.minimum(rarest, limits.high), np.ones(many)
        ])  # fmt: skip
        self._load()

    def _load(self) -> None:
        highspy, sparse = require("highspy", "science"), require("scipy.sparse", "science")
        self.model, model = highs(presolve="off", solver="simplex"), highspy.HighsLp()
        model.num_row_, model.num_col_ = self.matrix.shape
        model.col_cost_, model.col_lower_, model.col_upper_ = 0 * self.low, self.low, self.high
        model.row_lower_, model.row_upper_ = np.where(self.equal, self.sums, -math.inf), self.sums
        entries = sparse.csc_matrix(self.matrix)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = entries.indptr, entries.indices
        model.a_matrix_.value_, model.sense_ = entries.data, highspy.ObjSense.kMaximize
        self.model.passModel(model)
        self.places = np.arange(len(self.low), dtype=np.int32)
        self.optimal = highspy.HighsModelStatus.kOptimal

    def _solved(self, cost: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return (the solution, a bound of the value by any dual, in spite of tolerances); None where nothing is."""
        self.model.changeColsBounds(len(cost), self.places, low, high)
        self.model.changeColsCost(len(cost), self.places, cost)
        self.model.run()
        if self.model.getModelStatus() != self.optimal:
            return None
        solution = self.model.getSolution()
        dual = np.array(solution.row_dual)
        dual = np.where(self.equal, dual, np.maximum(dual, 0.0))
        reduced = cost - dual @ self.matrix
        terms = np.append(dual * self.sums, np.maximum(reduced * low, reduced * high))
        off = (
            _UNIT * len(terms) * float(np.abs(terms).sum() + (np.abs(cost) + np.abs(dual) @ np.abs(self.matrix)).sum())
        )
        return np.array(solution.col_value), math.fsum(terms.tolist()) + off

    def _cost(self, own: Any, seen: Any, capacity: np.ndarray) -> np.ndarray:
        return np.concatenate([np.broadcast_to(own, self.n), np.broadcast_to(seen, self.w), -capacity, 0 * capacity])

    def best(self, slope: np.ndarray, capacity: np.ndarray) -> np.ndarray:
        """Return the lifts (N,) that are best for a slope."""
        found = self._solved(self._cost(slope, 0.0, capacity), self.low, self.high)
        return np.ones(self.n) if found is None else self._exactly(found[0][: self.n])

    def _exactly(self, lifts: np.ndarray) -> np.ndarray:
        lifts = np.maximum(lifts, 0.0)
        return lifts / float(self.p @ lifts)

    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (the least, the largest value of each thing that the utility sees), rounded outward."""
        none, seen = np.zeros(self.j), slice(self.n, self.n + self.w)
        ends = []
        for sign in (-1.0, 1.0):
            found = [self._solved(self._cost(0.0, sign * own, none), self.low, self.high) for own in np.eye(self.w)]
            ends.append(np.array([math.inf if one is None else one[1] for one in found]))
        return np.maximum(-ends[0], self.low[seen]), np.minimum(ends[1], self.high[seen])

    def relaxed(
        self, low: np.ndarray, high: np.ndarray, slope: np.ndarray, dual: Dual
    ) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return (an upper bound of the value, lifts, what is seen) within low and high; None where nothing is."""
        seen = slice(self.n, self.n + self.w)
        lower, upper = self.low.copy(), self.high.copy()
        lower[seen], upper[seen] = low, high
        found = self._solved(self._cost(-dual.rows, slope, dual.capacity), lower, upper)
        if found is None:
            return None
        return found[1], self._exactly(found[0][: self.n]), np.clip(found[0][seen], low, high)
