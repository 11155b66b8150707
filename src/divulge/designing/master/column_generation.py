"""Column generation: the master proposes a dual, an oracle prices all vertices under it, until they agree."""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual, Master
from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.vertices import Vertices, joined
from divulge.designing.pricing.problem import Oracle, Problem, simple_start, uninformative

LEAST = 1e-10
"""The share of the largest utility that a vertex must gain to be a new column."""
_SHARE = 0.5
"""How far the dual that is priced lies toward the one with the best bound: duals of the master alone swing."""
_CLOSE = 0.05
"""The share of the gap that an excess may be to need no closer bound."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights on vertices, and a bound on the utility of any mechanism."""

    weights: np.ndarray
    vertices: Vertices
    bound: float
    classes: Classes
    seen: Vertices | None = None
    """All columns that were tried, for another run to start from."""
    dual: Dual | None = None
    """The dual that the bound comes from, as far as the run knows."""

    def utility(self, problem: Problem) -> float:
        """Return the utility of the mixture."""
        return math.fsum((self.weights * self.vertices.utility(self.classes, problem.utility)).tolist())

    def gap(self, problem: Problem) -> float:
        """Return how far the bound lies above the utility of the mixture."""
        return self.bound - self.utility(problem)

    def settled(self, problem: Problem, enough: float) -> bool:
        """Whether the relative gap is small enough."""
        return self.gap(problem) <= enough * self.bound

    def or_better(self, other: "Mixture", problem: Problem) -> "Mixture":
        """Return the one with more utility, with the smaller bound and the columns of `other`, which ran later."""
        best = max(other, self, key=lambda found: found.utility(problem))
        return replace(best, bound=min(self.bound, other.bound), seen=other.seen, dual=other.dual)


def generate(problem: Problem, oracle: Oracle, effort: Effort, start: Vertices | None = None,
             bound: float = math.inf, first: Dual | None = None) -> Mixture:  # fmt: skip
    """Return the best mixture that column generation finds, with a bound that holds whenever it stops.

    It goes on from the columns, the bound and the dual of an earlier run, or starts from arcs and a column that says
    nothing.
    """
    master = master_of(problem)
    master.add(simple_start(problem) if start is None else start)
    dual, bound, rounds = search(problem, master, oracle, effort, bound, first)
    weights, vertices = master.mixture() if rounds else (np.ones(1), uninformative(problem))
    return Mixture(weights, vertices, bound, problem.classes, joined(master.parts), dual)


def master_of(problem: Problem) -> Master:
    """Return the master without columns; its duals are told apart from those of the better of two simple bounds."""
    bound, dual = secant(problem)
    mass = problem.classes.probability * problem.classes.size
    return Master(
        problem.classes, problem.utility, problem.limits.capacity,
        dual.classes if bound < problem.top else problem.top * mass,
    )  # fmt: skip


def search(problem: Problem, master: Master, oracle: Oracle, effort: Effort, bound: float = math.inf,
           first: Dual | None = None) -> tuple[Dual, float, int]:  # fmt: skip
    """Return (the dual with the best bound, that bound, how often the master was solved)."""
    least, center = secant(problem)
    center = first or center
    bound = min(bound, ceiling_of(problem), least)
    rounds, best, stale, idle, share = 0, 0.0, 0, 0, _SHARE if first is None else 1.0
    effort.tell(best, bound, rounds)
    while True:
        solution = master.solve(effort.left)
        if solution is None:
            break
        utility, dual = solution
        tried = dual.toward(center, share)
        fresh, excess = oracle.price(tried, _CLOSE * max(0.0, bound - best))
        reached = math.nextafter(tried.value(problem.limits.capacity) + max(excess, tried.silent), math.inf)
        little = 1e-2 * effort.tolerance * abs(bound)
        rose = utility > best + little
        moved = rose or reached < bound - little
        center, bound = (tried, reached) if reached < bound else (center, bound)
        rounds += 1
        stale = 0 if moved else stale + 1
        idle = 0 if moved or len(fresh) else idle + 1
        best = max(best, utility)
        effort.tell(utility, bound, rounds)
        if bound - utility <= effort.tolerance * abs(bound) or stale > 20 or idle > 1 or effort.late():
            break
        share = _SHARE if (rose if len(fresh) else moved or not share) else 0.0
        master.add(fresh)
    return center, bound, rounds


def best_of(problem: Problem, vertices: Vertices, bound: float, effort: Effort) -> Mixture:
    """Return the best mixture of given vertices, with a bound that is known."""
    master = master_of(problem)
    master.add(vertices)
    solution = master.solve(effort.left)
    if solution is None:
        return Mixture(np.ones(1), uninformative(problem), bound, problem.classes, vertices)
    return Mixture(*master.mixture(), bound, problem.classes, vertices)


def secant(problem: Problem) -> tuple[float, Dual]:
    """Return an upper bound of the utility of every mechanism, and its dual: f lies below its chords.

    v_x has mean 1 and is in [l_x, u_x], so U <= sum_x P_x ((u_x - 1) f(l_x) + (1 - l_x) f(u_x)) / (u_x - l_x).
    """
    (values, slope), p = secants(problem), problem.classes.probability
    mass = p * problem.classes.size
    value = math.fsum((mass * values).tolist())
    return value + 1e-13 * abs(value), Dual(mass * (slope + value - mass @ slope), 0.0)


def secants(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return (values at 1, slopes) of the chords of f over the range of the lift of a secret of each class."""
    up, down = ranges(problem.classes, problem.limits)
    low, high, apart = 1 - down, 1 + up, np.maximum(up + down, 1e-300)
    utility = problem.utility.raised
    below, above = utility.f(low), utility.f(high)
    return (up * below + down * above) / apart, (above - below) / apart


def ranges(classes: Classes, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the lift of a secret of each class can rise above 1 and fall below it, rounded outward.

    Limits on it alone, what the mean of 1 leaves when all others are at theirs, and the ratio with all others equal.
    """
    p, odds = classes.probability, classes.odds
    rise, fall = limits.high - 1, 1 - limits.low
    with np.errstate(over="ignore"):
        up, down = np.minimum(rise, fall * odds), np.minimum(fall, np.minimum(rise, odds.max()) * odds)
    if limits.ratio < math.inf:
        wider, rest = limits.ratio - 1, odds * p
        up = np.minimum(up, wider * rest / (1 + wider * p))
        down = np.minimum(down, wider * rest / (1 + wider * rest))
    out = 1 + len(p) * 2.0**-51
    return up * out, np.minimum(down * out, 1.0)


def ceiling_of(problem: Problem) -> float:
    """Return an upper bound of the utility of every mechanism."""
    return problem.ceiling
