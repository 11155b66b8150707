"""What a release tells of another variable that the secret is correlated with: the best mixture of all vertices."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.limits import Classes, Limits
from divulge.designing.master import refined
from divulge.designing.pricing import Exhaustive, Problem, silence
from divulge.designing.scores import given_secret
from divulge.designing.utilities import SubConvex
from divulge.designing.vertices import joined
from divulge.errors import DivulgeError
from divulge.model.labels import Labels
from divulge.model.record import Record

MOST = 14
"""How many secrets may occur: all vertices are listed."""
_FRESH = 256
_CHUNK = 4096


@dataclass(frozen=True, eq=False)
class About:
    """The utility of a release about another variable W, of which the secret tells P(w | x): W - X - Y.

    Instead of X, the f-information about W counts: sum_y q_y sum_w P_w f(P(y | w) / q_y), for I(W; Y) with f = v log v.
    A linear score about W is a `Score` with `about`.

    Parameters
    ----------
    of : Channel, or what converts to one
        P(w | x), one row for each secret.
    utility : str or convex function of an array of lifts
        As in `design`.

    Raises
    ------
    DivulgeError
        By `design`: when a row is missing, or more than 14 secrets occur.

    Examples
    --------
    >>> import divulge as dv
    >>> parity = dv.Channel([[1, 0], [0, 1], [1, 0], [0, 1]], outcomes=["even", "odd"])
    >>> best = dv.design(dv.Prior.uniform(4), dv.LDP(1), utility=dv.About(parity))
    >>> told = dv.design(dv.Prior.uniform(2), dv.LDP(1))  # as much as could be told of a fair coin alone
    >>> abs(best.utility - told.utility) < 1e-12
    True
    """

    of: Any
    utility: Any = "mutual-information"


@dataclass(frozen=True, eq=False)
class Informed(Record, SubConvex):
    """A sub-convex utility about W; `given` is P(w | x), shape (N, W)."""

    given: np.ndarray = field(kw_only=True)

    @classmethod
    def of_table(cls, utility: SubConvex, about: Any, secrets: Labels) -> "Informed":
        """Return the utility about W, the rows of P(w | x) in the order of the secrets."""
        name = f"{utility.name} about another variable"
        return cls(name, utility.f, utility.logarithmic, given=given_secret(about, secrets))

    def seen_from(self, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (P(w) of shape (W,), P(x | w) of shape (N, W)), for the w that occur."""
        both = prior[:, None] * self.given
        mass = both.sum(axis=0)
        return mass[mass > 0], both[:, mass > 0] / mass[mass > 0]

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel of shape (N, M)."""
        mass, back = self.seen_from(prior)
        return super().of(mass, back.T @ channel)

    def at(self, prior: np.ndarray, lifts: np.ndarray) -> np.ndarray:
        """Return sum_w P_w f(sum_x P(x | w) v_x) of each row of lifts, shape (n,)."""
        mass, back = self.seen_from(prior)
        starts = range(0, len(lifts), _CHUNK)
        return np.concatenate([self.f(lifts[k : k + _CHUNK] @ back) @ mass for k in starts])


def best_about(
    p: np.ndarray, utility: Informed, limits: Limits, effort: Effort
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (weights (M,), lifts (N, M), bound) of the best mixture of all vertices of tightened float limits."""
    if limits.trivial or len(p) == 1:
        return np.ones(1), np.ones((len(p), 1)), 0.0
    if len(p) > MOST:
        raise DivulgeError.of(
            "utility", f"be about at most {MOST} secrets when it is an information about another variable",
            "the secrets that occur", str(len(p)), "merge secrets, or score decisions by Score(..., about=...).",
        )  # fmt: skip
    classes = Classes(p, np.ones(len(p), dtype=np.int64), tuple(np.arange(len(p))[:, None]))
    problem = Problem.of(classes, utility, limits)
    vertices = joined([silence(problem), Exhaustive(problem).listed()])
    lifts, peaks = vertices.lifts(classes), vertices.peaks()
    values = utility.at(p, lifts)
    weights, bound = _mixed(lifts, peaks, values, limits.capacity, problem, effort)
    used = np.flatnonzero(weights > 1e-15)
    return refined(weights[used], lifts[used]), lifts[used].T, bound


def _mixed(lifts: np.ndarray, peaks: np.ndarray, values: np.ndarray, capacity: float, problem: Problem,
           effort: Effort) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return (weights of all vertices, bound): rows join the linear program until no vertex has an excess."""
    from scipy.optimize import linprog

    scale = float(values.max()) or 1.0
    chosen = np.union1d([0], np.argsort(-values)[:_FRESH])
    best, bound, rounds = np.eye(1, len(values))[0], float(values.max()), 0
    tight: dict[str, Any] = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    while True:
        limited: dict[str, Any] = {"A_ub": peaks[None, chosen], "b_ub": [capacity]} if capacity < math.inf else {}
        equal = lifts[chosen].T
        found: Any = linprog(-values[chosen] / scale, A_eq=equal, b_eq=np.ones(len(equal)), options=tight, **limited)
        if found.x is None:
            return best, bound
        dual = -found.eqlin.marginals * scale
        price = -float(found.ineqlin.marginals[0]) * scale if limited else 0.0
        excess = values - lifts @ dual - price * peaks
        best = np.zeros(len(values))
        best[chosen] = found.x
        height = float(np.abs(dual).sum() + price + 1) * float(peaks.max()) + scale
        slack = 8 * (problem.secrets + 16) * 2.0**-52 * height
        reached = math.fsum(dual.tolist()) + (price * capacity if limited else 0.0) + float(excess.max()) + slack
        bound, rounds = min(bound, reached), rounds + 1
        effort.tell(-float(found.fun) * scale, bound, rounds)
        order = np.argsort(-excess)[:_FRESH]
        grown = np.union1d(chosen, order[excess[order] > 1e-12 * scale])
        if len(grown) == len(chosen) or effort.late():
            return best, bound
        chosen = grown
