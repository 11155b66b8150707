"""The best mixture of given outcomes, to which others join for as long as they pay: where vertices have no classes.

Secrets that differ only in what an outcome may be released for, or in what they tell of another variable, are not the
same, so that each has a row of the linear program of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.column_generation import ceiling_of, master_of, secant
from divulge.designing.master.restricted_master import Dual, refined
from divulge.designing.polytope.vertices import Vertices
from divulge.designing.pricing.problem import Problem

_FRESH = 256
_STALE = 20
_SHARE, _FAR = 0.5, 1e-3


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Lift vectors of shape (n, N), the utility of each, and its largest lift."""

    lifts: np.ndarray
    values: np.ndarray
    peaks: np.ndarray

    def excess(self, dual: Dual) -> np.ndarray:
        """Return how much each has above its price."""
        return self.values - self.lifts @ dual.classes - dual.capacity * self.peaks

    def take(self, which: np.ndarray) -> "Outcomes":
        """Return those at these positions."""
        return Outcomes(self.lifts[which], self.values[which], self.peaks[which])

    def and_also(self, others: "Outcomes") -> "Outcomes":
        """Return these and the others."""
        pairs = zip((self.lifts, self.values, self.peaks), (others.lifts, others.values, others.peaks), strict=True)
        return Outcomes(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class ConvexCombination:
    """Weights (M,) and lifts (N, M) that average to 1, and a bound on the utility of all others.

    `dual` are the multipliers that the bound comes from, where they are known.
    """

    weights: np.ndarray
    lifts: np.ndarray
    bound: float
    dual: Dual | None = None

    def utility(self, problem: Problem) -> float:
        """Return the utility under the prior of a problem of single secrets."""
        return float(self.weights @ problem.utility.at(problem.classes.probability, self.lifts.T))

    def closed(self, problem: Problem, tolerance: float) -> bool:
        """Whether the relative gap is small enough."""
        return self.bound < math.inf and self.bound - self.utility(problem) <= tolerance * abs(self.bound)


Price = Callable[[Dual], tuple[Outcomes, float]]
"""Takes multipliers, gives outcomes that exceed them, and a bound of all excesses.

The excess of an outcome is its utility less its lifts times the multipliers less its peak times that of the capacity.
"""


def combination(
    problem: Problem, first: ConvexCombination, start: Outcomes, price: Price, effort: Effort
) -> ConvexCombination:
    """Return the best convex combination of `start`, which holds the lifts of `first`, and of what `price` adds.

    The classes of the problem are single secrets. The multipliers that are priced are smoothed (Wentges, 1997): they
    lie halfway toward those with the best bound, at first those of `first` or of the secants, while the end is far.
    """
    capacity, (bound, best) = problem.limits.capacity, secant(problem)
    best, bound = first.dual or best, min(bound, first.bound, ceiling_of(problem))
    master = master_of(problem)
    known, fresh, weights = start, start, np.zeros(0)
    reached, stale, share, rounds = -math.inf, 0, _SHARE, 0
    while True:
        master.add(cast(Vertices, _Columns(fresh)))
        solution = master.solve(effort.left)
        if solution is None:
            break
        weights, (utility, dual) = master.weights, solution
        tried = dual.toward(best, share)
        fresh, excess = price(tried)
        total = tried.value(capacity) + excess
        moved = total < bound - 1e-14 * abs(bound) or utility > reached + 1e-14 * abs(reached)
        best, bound = (tried, total) if total < bound else (best, bound)
        reached, rounds, stale = max(reached, utility), rounds + 1, 0 if moved else stale + 1
        effort.tell(reached, bound, rounds)
        done = bound - reached <= effort.tolerance * abs(bound) or not (len(fresh.values) or share)
        if done or stale > _STALE + problem.secrets or effort.late():
            break
        share = _SHARE if moved and len(fresh.values) and bound - reached > _FAR * abs(bound) else 0.0
        known = known.and_also(fresh)
    if not len(weights):
        return replace(first, bound=bound, dual=best)
    used = np.flatnonzero(weights > 1e-15)
    lifts = known.lifts[used]
    return ConvexCombination(refined(weights[used], lifts), lifts.T, bound, best)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Outcomes, as the linear program asks for them."""

    outcomes: Outcomes

    def __len__(self) -> int:
        return len(self.outcomes.values)

    def lifts(self, _: object) -> np.ndarray:
        return self.outcomes.lifts

    def utility(self, *_: object) -> np.ndarray:
        return self.outcomes.values

    def peaks(self) -> np.ndarray:
        return self.outcomes.peaks


def inside_any(lifts: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Say of each of the lift vectors (n, N) whether it is 0 outside one of the kinds."""
    return ((lifts > 0).astype(float) @ ~kinds == 0).any(axis=1)
