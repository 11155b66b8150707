"""Column generation: the master proposes a dual, an oracle prices all vertices under it, until they agree."""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual, Master
from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.vertices import Columns
from divulge.designing.pricing.problem import Oracle, Problem, simple_start, uninformative

_SHARE = 0.5
"""How far the dual that is priced lies toward the one with the best bound: duals of the master alone swing."""
_CLOSE = 0.05
"""The share of the gap that an excess may be to need no closer bound."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Weights on vertices, and a bound on the utility of any mechanism."""

    weights: np.ndarray
    vertices: Columns
    bound: float
    classes: Classes
    seen: Columns | None = None
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


def uninformed(problem: Problem, bound: float = math.inf) -> Mixture:
    """Return the channel that says nothing."""
    return Mixture(np.ones(1), uninformative(problem), bound, problem.classes)


def generate(problem: Problem, oracle: Oracle[Columns], effort: Effort, start: Mixture | None = None) -> Mixture:
    """Return the best mixture that column generation finds, with a bound that holds whenever it stops.

    It goes on from the columns, the bound and the dual of `start`, or from arcs and a column that says nothing. Priced
    is a smoothed dual (Wentges, 1997), halfway toward the one with the best bound while that helps.
    """
    start = start or uninformed(problem)
    master, fresh = master_of(problem), start.seen or simple_start(problem)
    center, bound = start.dual or problem.secant[1], min(start.bound, problem.bound)
    rounds, best, stale, idle, share = 0, 0.0, 0, 0, _SHARE if start.dual is None else 1.0
    effort.tell(best, bound, rounds)
    while True:
        master.add(fresh)
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
        if bound - utility <= effort.tolerance * abs(bound) or stale > 20 or idle > 1 or not effort.spend():
            break
        share = _SHARE if (rose if len(fresh) else moved or not share) else 0.0
    if not rounds:
        return replace(start, bound=bound, seen=master.columns(), dual=center)
    return Mixture(*master.mixture(), bound, problem.classes, master.columns(), center)


def master_of(problem: Problem) -> Master:
    """Return the master without columns; its duals are told apart from those of the better of two simple bounds."""
    bound, dual = problem.secant
    mass = problem.classes.probability * problem.classes.size
    return Master(
        problem.classes, problem.utility, problem.limits.capacity,
        dual.classes if bound < problem.top else problem.top * mass,
    )  # fmt: skip
