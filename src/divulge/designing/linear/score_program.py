"""Linear scores: one sparse linear program over the channel, with a bound that is computed from its dual by hand.

Column y is a floor b_y and what lies above it: C_xy = b_y + D_xy with 0 <= D_xy <= w_y. With its top t_y = b_y + w_y a
guarantee asks t_y <= high q_y, b_y >= low q_y, t_y <= ratio b_y and sum_y t_y <= capacity: one floor and one width a
column replace all pairs of rows, and the floors cost no rows at all.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge import clock
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.polytope.limits import Limits
from divulge.errors import DivulgeError
from divulge.extras import highs, require

_LARGE = 2500
"""Entries from which the interior point method goes first. A heuristic: the other way follows where one fails."""
_FEW = 16
"""Outcomes that are all in one program; of more, half as many are in the first one. A heuristic, as are those that join
at once: fewer take more rounds, more make each program larger."""
_OF_JUDGES = 64
"""The same where the worst of several means counts: then all outcomes may be used. A heuristic."""
_SETTLED = 1e-3
"""The share of the tolerance that an outcome must add to join: what is left is rounding."""
_USED = 1e-12
"""The probability from which an outcome is used: the solver's tolerances leave some that are not."""
_EDGE = 1e-12
"""How near to 1 the mass of a column may be in rounding."""
_RARE, _RAISED = 1e-6, (1e-9, 1e-8, 1e-7)
"""Probabilities whose prices are raised by shares of the largest gain, up to the tolerance of HiGHS."""
_PRIMAL = 4
"""The simplex method that goes on from a basis which stays feasible when columns are added."""
_FINEST = 1e-10
"""The least tolerance that HiGHS takes: from a basis that is nearly optimal it would stop at 1e-7."""
_LOADED = 2e5
"""Entries of a channel that a solver takes about a second to be given: more a second of the time left is not begun."""
_GUARDED = 15
"""Priors that guard a channel, whose numbers for one entry take as long as the entry: measured."""
_PRICED = 3e6
"""Entries of a channel whose prices take about a second of a slow core."""
_PAUSE = 0.2
"""Seconds between two words of progress: as often as one can follow."""
_STEPS = 80
"""Steps of the search for a kink at most, a third of which halve: 26 halvings, 54 cuts. Every z gives a bound."""
_BEYOND = 2.0**6
"""Times the range of kinks that is searched where names lead: a heuristic; a dual outside it costs tightness alone."""


class Infeasible(DivulgeError):
    """No channel keeps the limits and gives what must be 0 no probability."""


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores to be large (N, M), -inf where an entry must be 0, the limits, and the priors that count.

    The limits hold under each of `guards` (G, N), of which a share `free` (G,) may lie on any secrets; what counts is
    the least mean score over `judges` (J, N).
    """

    scores: np.ndarray
    limits: Limits
    guards: np.ndarray
    judges: np.ndarray
    leads: np.ndarray | None = None
    """Of outcomes that are named after the secrets: C_yy is at least leads_y times each other entry of column y."""
    floors: np.ndarray | None = None
    """Of these: the least probability of each outcome under each of the guards, (M,)."""
    free: np.ndarray | None = None
    """Of each guard: what its probabilities leave to 1, which lies where the column is least or largest."""

    @property
    def loose(self) -> np.ndarray:
        """The share of each guard that may lie on any secrets, (G,)."""
        return np.zeros(len(self.guards)) if self.free is None else self.free

    @property
    def priced(self) -> bool:
        """Whether `best_columns` knows what a column could add: there is one guard, and no outcome has a name."""
        return len(self.guards) == 1 and self.leads is None and not self.loose.any()

    @property
    def implied(self) -> bool:
        """Whether the upper limit follows from the mean of 1: numbers like 1 / 1e-13 spoil a program for nothing."""
        least = float(self.guards.min())
        return not self.loose.any() and self.limits.high * least >= (1 - _EDGE) * (1 - self.limits.low * (1 - least))

    @cached_property
    def allowed(self) -> np.ndarray:
        """Where an entry may be positive, (N, M)."""
        return np.isfinite(self.scores)

    @cached_property
    def finite(self) -> np.ndarray:
        """The scores, 0 where the entry must be 0."""
        return self.scores if self.allowed.all() else np.where(self.allowed, self.scores, 0.0)

    @property
    def reference(self) -> np.ndarray:
        """A mean of the guards, what is free spread evenly: bounds that hold under each of them hold under it."""
        return (self.guards + self.loose[:, None] / self.guards.shape[1]).mean(axis=0)


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers: of row sums (N,), of high, low and occurrence by guard (G, M), of the capacity, of judges (J,)."""

    rows: np.ndarray
    high: np.ndarray
    low: np.ndarray
    capacity: float
    judges: np.ndarray
    occurrence: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """A float channel that nearly keeps the limits, a bound on the score of any that does, and the program's dual."""

    channel: np.ndarray
    bound: float
    dual: Dual | None = None


def solved(scoring: Scoring, effort: Effort = NO_HURRY) -> Solution:
    """Return the best channel of the linear program and the bound of its dual; raise Infeasible where there is none.

    When the time is up it is the best one so far, or the channel that says nothing best, and the bound holds all the
    same. Few outcomes are used at the end: of many the program has some, and those join whose price asks for it.
    """
    n, m = scoring.scores.shape
    quiet = silent(scoring, effort.left)
    if m > (_FEW if len(scoring.judges) == 1 else _OF_JUDGES) and scoring.priced and quiet is not None:
        found = _by_prices(scoring, quiet, effort)
        if found is not None:
            return found
    if max(n * m, n * m * len(scoring.guards) / _GUARDED) > _LOADED * effort.left:
        return _at_once(scoring, effort)
    ran = _ran(scoring, effort, None if quiet is None else (_mean(scoring, quiet.channel), quiet.bound))
    if ran is None:
        return _at_once(scoring, effort)
    bound, dual = _sharpest(scoring, ran.dual)
    return Solution(ran.channel, bound, dual)


def _by_prices(scoring: Scoring, best: Solution, effort: Effort) -> Solution | None:
    """Return the solution of a program to which outcomes are added until none has a price; None where HiGHS fails.

    Under the dual of some outcomes every other one has a price, the most that a column of it could add; the largest
    price bounds the score over all (column generation by whole outcomes). The simplex method goes on where it was.
    """
    (n, m), value, ran = scoring.scores.shape, _mean(scoring, best.channel), None
    outcomes = np.unique(np.append(np.linspace(0, m - 1, _FEW // 2).round().astype(int), best.channel[0].argmax()))
    while True:
        part = replace(scoring, scores=scoring.scores[:, outcomes])
        if n * len(outcomes) > _LOADED * effort.left or effort.late():
            return best
        ran = _ran(part, effort, (value, best.bound), None if ran is None else ran.basis.widened(len(outcomes)))
        if ran is None:
            return best if effort.late() else None
        channel, none = np.zeros((n, m)), np.zeros((len(scoring.guards), m))
        channel[:, outcomes] = ran.channel
        bound, dual = _sharpest(scoring, Dual(ran.dual.rows, none, none, ran.dual.capacity, ran.dual.judges))
        prices = _prices(scoring, dual)
        reached = _mean(scoring, channel)
        if reached >= value:
            value, best = reached, replace(best, channel=channel, dual=dual)
        best = replace(best, bound=min(bound, best.bound))
        effort.tell(value, best.bound, len(outcomes))
        enough = _SETTLED * effort.tolerance * abs(best.bound)
        asking = np.setdiff1d(np.flatnonzero(bound - prices.max() + prices > value + enough), outcomes)
        if best.bound - value <= enough or not len(asking):
            return best
        used = int(np.count_nonzero(scoring.reference @ ran.channel > _USED))
        outcomes = np.append(outcomes, asking[np.argsort(-prices[asking], kind="stable")[: max(used, _FEW // 2)]])


def _mean(scoring: Scoring, channel: np.ndarray) -> float:
    """Return the least mean score of a channel over the judges."""
    return float((scoring.judges @ np.einsum("xy,xy->x", channel, scoring.finite)).min())


@dataclass(frozen=True, eq=False)
class _Basis:
    """Where the simplex method stands: the status of the variables, and of the rows of each block, by name."""

    columns: list[Any]
    rows: dict[str, list[Any]]
    many: int
    """The outcomes of the program."""

    def widened(self, many: int) -> "_Basis":
        """Return the basis with more outcomes behind: their variables are at 0, their rows have slack."""
        known = require("highspy", "science").HighsBasisStatus
        single = {"sum", "floors", "capacity", "judge"}
        columns = self._padded(self.columns[:-2], many, known.kLower) + self.columns[-2:]
        rows = {
            name: one if name in single else self._padded(one, many, known.kBasic) for name, one in self.rows.items()
        }
        return _Basis(columns, rows, many)

    def _padded(self, statuses: list[Any], many: int, fill: Any) -> list[Any]:
        lines = [statuses[at : at + self.many] for at in range(0, len(statuses), self.many)]
        return [status for line in lines for status in (*line, *[fill] * (many - self.many))]


@dataclass(frozen=True, eq=False)
class _Ran:
    """A float channel that nearly keeps the limits, the dual of the program, and where the simplex method stands."""

    channel: np.ndarray
    dual: Dual
    basis: _Basis


def _ran(scoring: Scoring, effort: Effort, known: tuple[float, float] | None,
         basis: _Basis | None = None) -> _Ran | None:  # fmt: skip
    """Return what HiGHS makes of the program, from a basis where one is given; None where it finds no end in time.

    `known` is the score that is reached and its bound, to be told while HiGHS is at work.
    """
    highspy = require("highspy", "science")
    (n, m), guards, judges = scoring.scores.shape, len(scoring.guards), len(scoring.judges)
    program = _program(scoring)
    blocks, solver = program.blocks, _loaded(highspy, program)
    if effort.progress is not None and known is not None:
        _watched(solver, effort, *known)
    status, states = None, highspy.HighsModelStatus
    for way in ("ipm", "simplex") if n * m >= _LARGE and m > _FEW and basis is None else ("simplex", "ipm"):
        solver.setOptionValue("solver", way)
        if basis is not None and way == "simplex":
            solver.setOptionValue("simplex_strategy", _PRIMAL)
            solver.setOptionValue("dual_feasibility_tolerance", _FINEST)
            solver.setBasis(_as_highs(highspy, basis))
        if effort.deadline < math.inf:
            solver.setOptionValue("time_limit", solver.getRunTime() + max(effort.left, 0.01))
        solver.run()
        status = solver.getModelStatus()
        if status in (states.kOptimal, states.kInfeasible, states.kUnboundedOrInfeasible, states.kTimeLimit):
            break
    if status in (states.kInfeasible, states.kUnboundedOrInfeasible):
        raise Infeasible(
            "`utility` must leave a channel under the guarantees; every channel releases a forbidden outcome."
        )
    if status != states.kOptimal:
        return None
    solution, stands = solver.getSolution(), solver.getBasis()
    y = program.unit * np.array(solution.row_dual)
    ends = np.cumsum([block.many for block in blocks.values()]).tolist()
    where = {name: slice(end - b.many, end) for (name, b), end in zip(blocks.items(), ends, strict=True)}
    part = {name: y[rows] for name, rows in where.items()}
    none = np.zeros((guards, m))
    share = np.maximum(-part["judge"], 0.0) if "judge" in part else np.ones(1)
    dual = Dual(
        -part["sum"],
        np.maximum(-part["high"], 0).reshape(guards, m) if "high" in part else none,
        np.maximum(part["low"], 0).reshape(guards, m) if "low" in part else none,
        max(0.0, -float(part["capacity"][0])) if "capacity" in part else 0.0,
        share / share.sum() if share.sum() > 0 else np.ones(judges) / judges,
        np.maximum(part["occurrence"], 0).reshape(guards, m) if "occurrence" in part else None,
    )
    x, rows = np.array(solution.col_value), list(stands.row_status)
    basis = _Basis(list(stands.col_status), {name: rows[place] for name, place in where.items()}, m)
    return _Ran(x[: n * m].reshape(n, m) + x[n * m + m : -2], dual, basis)


def _as_highs(highspy: Any, basis: _Basis) -> Any:
    found = highspy.HighsBasis()
    found.col_status, found.row_status = basis.columns, [one for rows in basis.rows.values() for one in rows]
    found.valid = True
    found.alien = False
    return found


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows of the program: how many, their entries as arrays of rows, variables and values, and their ends."""

    many: int
    entries: tuple[tuple[Any, Any, Any], ...]
    low: Any = -math.inf
    high: float = 0.0

    def placed(self, start: int) -> list[list[np.ndarray]]:
        """Return rows from `start` on, variables and values of what is not 0, each of one axis."""
        spread = [[one.ravel() for one in np.broadcast_arrays(*entry)] for entry in self.entries]
        return [[one[part[2] != 0] for one in (part[0] + start, *part[1:])] for part in spread]


@dataclass(frozen=True, eq=False)
class _Variables:
    """Where the variables stand: D (N, M), w (M,), b (M,), sum_y b_y and the least score."""

    d: np.ndarray
    w: np.ndarray
    b: np.ndarray
    floors: int
    least: int

    @classmethod
    def of(cls, n: int, m: int) -> "_Variables":
        """Return the places of the variables of N secrets and M outcomes."""
        column, end = np.arange(m), n * m
        return cls(np.arange(end).reshape(n, m), end + column, end + m + column, end + 2 * m, end + 2 * m + 1)


def _named_rows(scoring: Scoring, at: _Variables) -> dict[str, _Block]:
    """Return the rows that make column y largest at y: D_yy = w_y, and b_y + D_xy at most (b_y + w_y) / lead_y."""
    assert scoring.leads is not None
    (n, m), leads, columns = scoring.scores.shape, scoring.leads, np.arange(scoring.scores.shape[1])
    others = ~np.eye(n, dtype=bool)
    y, rows = np.nonzero(others)[1], np.arange(n * m - n)
    found = {
        "own": _Block(n, ((columns, np.diag(at.d), 1), (columns, at.w, -1)), low=0.0),
        "top": _Block(n * m - n, ((rows, at.d[others], leads[y]), (rows, at.w[y], -1), (rows, at.b[y], leads[y] - 1))),
    }
    if scoring.floors is not None and scoring.floors.any():
        guards = scoring.guards
        rows, least = np.arange(len(guards) * m).reshape(-1, m), np.tile(scoring.floors, len(guards))
        masses = ((rows[:, None], at.d, guards[:, :, None]), (rows, at.b, 1))
        found["occurrence"] = _Block(rows.size, masses, low=least, high=math.inf)
    return found


@dataclass(frozen=True, eq=False)
class _Program:
    """Costs to be small in a unit that makes the largest 1, upper bounds of the variables, blocks of rows by name.

    Without a unit the solver's tolerances, which are absolute, are coarse for small scores and vain for large ones.
    """

    unit: float
    cost: np.ndarray
    most: np.ndarray
    blocks: dict[str, _Block]


def _program(scoring: Scoring) -> _Program:
    """Return the program in the variables D (row by row), w, b, sum_y b_y and the least score."""
    (n, m), limits, allowed = scoring.scores.shape, scoring.limits, scoring.allowed
    high = math.inf if scoring.implied else limits.high
    gains = scoring.judges[:, :, None] * scoring.finite
    unit = float(np.abs(gains).max()) or 1.0
    gains /= unit
    above, level = gains.reshape(len(gains), n * m), gains.sum(axis=1)
    inf, at, guards = math.inf, _Variables.of(n, m), scoring.guards[:, :, None]
    secrets, columns, rows = np.arange(n), np.arange(m), np.arange(len(guards) * m).reshape(-1, m)
    blocks = {
        "sum": _Block(n, ((secrets[:, None], at.d, 1), (secrets, at.floors, 1)), low=1.0, high=1.0),
        "floors": _Block(1, ((0, at.b, 1), (0, at.floors, -1)), low=0.0),
    }
    if scoring.leads is not None:
        blocks |= _named_rows(scoring, at)
    elif min(high, limits.ratio, limits.capacity) < inf:
        blocks["top"] = _Block(n * m, ((at.d, at.d, 1), (at.d, at.w, -1)))
    if high < inf:
        masses = (rows[:, None], at.d, -high * guards)
        blocks["high"] = _Block(rows.size, (masses, (rows, at.w, 1), (rows, at.b, 1 - high)))
    if limits.low > 0:
        masses = (rows[:, None], at.d, -limits.low * guards)
        loose = (rows, at.w, -limits.low * scoring.loose[:, None])  # what is free lies where the column is largest
        blocks["low"] = _Block(rows.size, (masses, loose, (rows, at.b, 1 - limits.low)), low=0.0, high=inf)
    if limits.ratio < inf:
        blocks["ratio"] = _Block(m, ((columns, at.w, 1), (columns, at.b, 1 - limits.ratio)))
    if limits.capacity < inf:
        blocks["capacity"] = _Block(1, ((0, at.w, 1), (0, at.floors, 1)), high=limits.capacity)
    if len(gains) == 1:
        cost = -np.concatenate([above[0], np.zeros(m), level[0], [0.0, 0.0]])
    else:
        cost = -np.append(np.zeros(n * m + 2 * m + 1), 1.0)
        judges = np.arange(len(gains))[:, None]
        entries = ((judges, at.d.ravel(), -above), (judges, at.b, -level), (judges, at.least, 1))
        blocks["judge"] = _Block(len(gains), entries)
    raised = allowed.all(axis=0) & (limits.low > 0 or limits.ratio < inf or bool(scoring.loose.any()))
    free = np.concatenate([allowed.ravel(), np.ones(m, dtype=bool), raised, [True, True]])
    return _Program(unit, cost, np.where(free, inf, 0.0), blocks)


def _loaded(highspy: Any, program: _Program) -> Any:
    from scipy import sparse

    blocks, cost = program.blocks, program.cost
    starts = np.cumsum([0, *(block.many for block in blocks.values())]).tolist()
    parts = [part for block, start in zip(blocks.values(), starts, strict=False) for part in block.placed(start)]
    row, variable, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    matrix: Any = sparse.csc_matrix((value, (row, variable)), shape=(starts[-1], len(cost)), dtype=float)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape[0], matrix.shape[1]
    model.col_cost_ = cost
    model.col_lower_ = np.append(np.zeros(len(cost) - 1), -math.inf if "judge" in blocks else 0.0)
    model.col_upper_ = program.most
    model.row_lower_ = np.concatenate([np.broadcast_to(b.low, b.many) for b in blocks.values()])
    model.row_upper_ = np.concatenate([np.full(b.many, b.high) for b in blocks.values()])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highs()
    solver.passModel(model)
    return solver


def _watched(solver: Any, effort: Effort, value: float, bound: float) -> None:
    """Tell now and then that the solver is at work; until it is done only silence is known."""
    last = [0.0]

    def tell(event: Any) -> None:
        if clock.now() >= last[0] + _PAUSE:
            last[0] = clock.now()
            effort.tell(
                value, bound, max(event.data_out.simplex_iteration_count, event.data_out.ipm_iteration_count, 0)
            )

    effort.tell(value, bound, 0)
    solver.cbSimplexInterrupt += tell
    solver.cbIpmInterrupt += tell


def _at_once(scoring: Scoring, effort: Effort) -> Solution:
    """Return the best channel that says nothing, as time is up; raise where it would release what is forbidden."""
    found = silent(scoring, effort.left)
    if found is None:
        raise clock.out_of_time("to find a channel that keeps what is forbidden", "allow it longer, or forbid less.")
    return found


def silent(scoring: Scoring, left: float = math.inf) -> Solution | None:
    """Return the channel that always releases the best single outcome; None where each is forbidden for some secret.

    Where the seconds that are left are too few for a look at the prices, the bound is that of the truth.
    """
    (n, m), guards, judges = scoring.scores.shape, len(scoring.guards), len(scoring.judges)
    if scoring.leads is not None:
        return None
    least = np.where(scoring.allowed.all(axis=0), (scoring.judges @ scoring.finite).min(axis=0), -math.inf)
    if np.isneginf(least).all():
        return None
    none, shares = np.zeros((guards, m)), np.ones(judges) / judges
    if n * m > _PRICED * left:
        best = shares @ scoring.judges * np.where(scoring.allowed, scoring.finite, -math.inf).max(axis=1)
        bound = math.fsum(best.tolist()) + 2.0**-44 * math.fsum(np.abs(best).tolist())
    else:
        bound = bound_of(scoring, Dual(np.zeros(n), none, none, 0.0, shares))
    channel = np.zeros((n, m))
    channel[:, int(least.argmax())] = 1.0
    return Solution(channel, bound)


def bound_of(scoring: Scoring, dual: Dual) -> float:
    """Return an upper bound on the score of every channel that keeps the limits, rounded up; any dual gives one.

    The weights of the outcomes add up to 1, so that none adds more than the largest price.
    """
    limits = scoring.limits
    fixed = [*dual.rows.tolist(), dual.capacity * limits.capacity if dual.capacity else 0.0]
    if dual.occurrence is not None and scoring.floors is not None:
        fixed += (-scoring.floors * dual.occurrence).ravel().tolist()
    total = math.fsum([*fixed, float(_prices(scoring, dual).max())])
    return total + 2.0**-49 * math.fsum(map(abs, fixed))


def _sharpest(scoring: Scoring, dual: Dual) -> tuple[float, Dual]:
    """Return (bound, dual) of the dual, or of one that pays a little more for secrets so rare that lifts are huge.

    There what HiGHS misses by its tolerance counts many times over, and what is paid too much only once.
    """
    rare = scoring.reference < _RARE
    unit = float(np.abs(scoring.reference[:, None] * scoring.finite).max())
    shares = (0.0, *_RAISED) if rare.any() else (0.0,)
    trials = [replace(dual, rows=dual.rows + np.where(rare, share * unit, 0.0)) for share in shares]
    return min(((bound_of(scoring, one), one) for one in trials), key=lambda pair: pair[0])


def _prices(scoring: Scoring, dual: Dual) -> np.ndarray:
    """Return the most that an outcome of weight 1 adds beyond what the dual pays, for each, rounded up; -inf of none.

    With g_xy = pi_x s_xy - a_x + high sum_g alpha_gy P_gx - low sum_g beta_gy P_gx, column y of weight q_y adds at most
    q_y max_v sum_x g_xy v_x - (sum_g alpha_gy + kappa) max v + (sum_g beta_gy) min v over the lift vectors v. What is
    free of a guard adds high alpha_gy min v - low beta_gy max v, so much of it.
    """
    limits, reference = scoring.limits, scoring.reference
    slope = (dual.judges @ scoring.judges)[:, None] * scoring.finite - dual.rows[:, None]
    if dual.high.any():
        slope = slope + limits.high * (scoring.guards.T @ dual.high)
    if dual.low.any():
        slope = slope - limits.low * (scoring.guards.T @ dual.low)
    if dual.occurrence is not None:
        slope = slope + scoring.guards.T @ dual.occurrence
    tops, bottoms = dual.high.sum(axis=0) + dual.capacity, dual.low.sum(axis=0)
    if scoring.free is not None:
        least = scoring.free @ (
            dual.high * (limits.high if dual.high.any() else 0.0)
            + (0.0 if dual.occurrence is None else dual.occurrence)
        )
        bottoms = bottoms + np.where(scoring.allowed.all(axis=0), least, 0.0)
        tops = tops + limits.low * (scoring.free @ dual.low)
    tight = limits.tightened(float(reference.min()), len(reference))
    usable = (reference @ scoring.allowed) * min(tight.high, tight.ratio) >= 1 - _EDGE  # else no column averages to 1
    prices = np.full(len(usable), -math.inf)
    prices[usable] = best_columns(
        slope[:, usable], scoring.allowed[:, usable], tops[usable], bottoms[usable], reference,
        tight, scoring.leads,
    )  # fmt: skip
    return prices


def best_columns(
    slope: np.ndarray, allowed: np.ndarray, tops: np.ndarray, bottoms: np.ndarray, p: np.ndarray, limits: Limits,
    leads: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return for each column an upper bound of slope . v - tops max v + bottoms min v over lift vectors v, rounded up.

    For any z it is z + max (H - tops) t + (L + bottoms) m over low <= m <= t <= min(high, ratio m), where H and L add
    up the positive and negative parts of slope - z p. That is convex and piecewise linear in z: its tangents at the
    ends of a bracket meet at the least value, once the bracket has no other kink. With `leads` v is largest at y in
    column y, where it is t, and at most t / lead elsewhere.
    """
    high, low = min(limits.high, limits.ratio), max(limits.low, 1 / limits.ratio)
    lead = np.ones(slope.shape[1]) if leads is None else leads
    least = np.minimum(low * lead, high)
    corners = np.stack([
        np.stack([low + 0 * lead, least]),
        np.stack([low + 0 * lead, np.maximum(least, min(high, limits.ratio * low if low else high))]),
        np.stack([high / lead, high + 0 * lead]),
        np.stack([np.minimum(max(low, high / limits.ratio), high / lead), high + 0 * lead]),
    ])  # fmt: skip
    own = np.eye(*slope.shape, dtype=bool) if leads is not None else np.zeros(slope.shape, dtype=bool)
    mass, slope = np.where(allowed, p[:, None], 0.0), np.where(allowed, slope, 0.0)
    reach = np.minimum(high, 1 / p) @ np.abs(slope)
    share = np.where(own, 1.0, 1 / lead)

    def at(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (the value at z, its slope, how far rounding may have moved the value)."""
        h = slope - z * mass
        above = (h > 0) | own
        up, heavy = np.where(above, h * share, 0.0).sum(axis=0), np.where(above, mass * share, 0.0).sum(axis=0)
        down, light = np.where(above, 0.0, h).sum(axis=0), np.where(above, 0.0, mass).sum(axis=0)
        values = (up - tops) * corners[:, 1] + (down + bottoms) * corners[:, 0]
        m, t = np.take_along_axis(corners, values.argmax(axis=0)[None, None, :], axis=0)[0]
        rounding = reach + len(p) * np.abs(z) + (np.abs(up) + tops) * t + bottoms
        return z + values.max(axis=0), 1 - heavy * t - light * m, 2.0**-49 * rounding

    ratios = np.where(allowed, slope / p[:, None], 0.0)
    left, right = ratios.min(axis=0) - tops - bottoms, ratios.max(axis=0) + tops + bottoms
    if leads is not None:  # then the slope may change its sign beyond all kinks of the levels
        width = _BEYOND * (right - left + np.abs(right))
        left, right = left - width, right + width
    (below, falls, unsure), (above, rises, doubt) = at(left), at(right)
    best = np.minimum(below + unsure, above + doubt)
    done = (falls >= 0) | (rises <= 0)
    for step in range(_STEPS):
        bends = rises - falls
        meet = (below - above + rises * right - falls * left) / np.where(bends > 0, bends, 1.0)
        inside = (bends > 0) & (meet > left) & (meet < right) & (step % 3 < 2)
        z = np.where(inside, meet, (left + right) / 2)
        value, rise, doubt = at(z)
        best = np.minimum(best, value + doubt)
        done |= inside & (value - below - falls * (z - left) <= doubt)
        if done.all():
            break
        sinks = rise < 0
        left, below, falls = np.where(sinks, z, left), np.where(sinks, value, below), np.where(sinks, rise, falls)
        right, above, rises = np.where(sinks, right, z), np.where(sinks, above, value), np.where(sinks, rises, rise)
    return best
