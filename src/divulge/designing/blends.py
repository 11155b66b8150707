"""The best blend of given outcomes, to which others join for as long as they pay: where vertices have no classes.

Secrets that differ only in what an outcome may be released for, or in what they tell of another variable, are not the
same, so that each has a row of the linear program of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master import refined
from divulge.errors import DivulgeError

_FRESH = 256
_STALE = 20
_SHARE, _FAR = 0.5, 1e-3


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Lift vectors of shape (n, N), the utility of each, and its largest lift."""

    lifts: np.ndarray
    values: np.ndarray
    peaks: np.ndarray

    def take(self, which: np.ndarray) -> "Outcomes":
        """Return those at these positions."""
        return Outcomes(self.lifts[which], self.values[which], self.peaks[which])

    def and_also(self, others: "Outcomes") -> "Outcomes":
        """Return these and the others."""
        pairs = zip((self.lifts, self.values, self.peaks), (others.lifts, others.values, others.peaks), strict=True)
        return Outcomes(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, eq=False)
class Blend:
    """Weights (M,) and lifts (N, M) that average to 1, and a bound on the utility of all others."""

    weights: np.ndarray
    lifts: np.ndarray
    bound: float


Price = Callable[[np.ndarray, float], tuple[Outcomes, float]]
"""Takes multipliers of the secrets and of the capacity, gives outcomes that exceed them, and a bound of all excesses.

The excess of an outcome is its utility less its lifts times the multipliers less its peak times that of the capacity.
"""


def blend(
    start: Outcomes, price: Price, capacity: float, known_bound: float, center: np.ndarray, effort: Effort
) -> Blend:
    """Return the best blend of `start`, of which some blend averages to 1, and of what `price` adds.

    What is priced lies halfway toward the multipliers with the best bound, at first `center`.
    """
    from scipy.optimize import linprog

    size, scale = start.lifts.shape[1], max(known_bound, 1e-300)
    limited: dict[str, Any] = {"b_ub": [capacity]} if capacity < math.inf else {}
    tight: dict[str, Any] = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    best, bound, reached, stale, share, rounds = np.append(center, 0.0), known_bound, -math.inf, 0, _SHARE, 0
    known, weights = start, np.zeros(0)
    while True:
        if limited:
            limited["A_ub"] = known.peaks[None, :]
        found: Any = linprog(-known.values / scale, A_eq=known.lifts.T, b_eq=np.ones(size), options=tight, **limited)
        if found.x is None:
            break
        weights, utility = found.x, -float(found.fun) * scale
        dear = max(0.0, -float(found.ineqlin.marginals[0])) if limited else 0.0
        dual = np.append(-found.eqlin.marginals, dear) * scale
        tried = dual + share * (best - dual)
        fresh, excess = price(tried[:-1], float(tried[-1]))
        total = math.fsum(tried[:-1].tolist()) + (tried[-1] * capacity if limited else 0.0) + excess
        moved = total < bound - 1e-14 * abs(bound) or utility > reached + 1e-14 * abs(reached)
        best, bound = (tried, total) if total < bound else (best, bound)
        reached, rounds, stale = max(reached, utility), rounds + 1, 0 if moved else stale + 1
        effort.tell(reached, bound, rounds)
        done = bound - reached <= effort.tolerance * abs(bound) or not (len(fresh.values) or share)
        if done or stale > _STALE or effort.late():
            break
        share = _SHARE if moved and len(fresh.values) and bound - reached > _FAR * abs(bound) else 0.0
        known = known.and_also(fresh)
    if not len(weights):
        raise DivulgeError.of("guarantee", "leave a mechanism", "the linear program", "without a solution")
    used = np.flatnonzero(weights > 1e-15)
    lifts = known.lifts[used]
    return Blend(refined(weights[used], lifts), lifts.T, bound)


def listed(all_of_them: Outcomes, rounding: Callable[[np.ndarray, float], float]) -> Price:
    """Return the price of outcomes that are all known."""

    def price(dual: np.ndarray, dear: float) -> tuple[Outcomes, float]:
        excess = all_of_them.values - all_of_them.lifts @ dual - dear * all_of_them.peaks
        order = np.argsort(-excess)[:_FRESH]
        least = 1e-12 * max(float(np.abs(all_of_them.values).max()), 1e-300)
        return all_of_them.take(order[excess[order] > least]), float(excess.max()) + rounding(dual, dear)

    return price
