"""Linear programs that decide whether one set of distributions is made of another, in floats and exactly.

All have one form: find z >= 0 with soft z = target and hard z = totals. In floats the worst error on the soft rows is
minimized, and its prices separate what cannot be reached. Exactly, a float solution only proposes: what is returned
solves the equations, or comes with multipliers that prove that nothing does.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.errors import DivulgeError
from divulge.extras import require

_HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_SEEN = 1e-9
"""An entry above it counts as used: ten times what HiGHS, with these tolerances, is off. A wrong guess is noticed."""
_OVER = 1
"""SciPy's status of a program whose time, or whose number of steps, is over."""
_INFEASIBLE = 2
"""SciPy's status of a program that has no solution."""


@dataclass(frozen=True, eq=False)
class Fit:
    """z >= 0 with hard z = totals that comes nearest, the worst error on the soft rows, and the price of each."""

    z: np.ndarray
    error: float
    prices: np.ndarray


def solved(c: Any, until: float = math.inf, **constraints: Any) -> Any:
    """Return SciPy's solution of min c z over z >= 0 (HiGHS, dual simplex); None when there is none, or no time."""
    left = {} if until == math.inf else {"time_limit": max(0.01, until - clock.now())}
    linprog = require("scipy.optimize", "science").linprog
    result = linprog(c, method="highs-ds", options={**_HIGHS, **left}, **constraints)
    if result.status == _OVER and left:
        return None
    if result.status not in (0, _INFEASIBLE):
        raise DivulgeError(f"the linear program of this question must be solvable; it is not: {result.message}")
    return result if result.status == 0 else None


def nearest(soft: Any, target: np.ndarray, hard: Any, totals: np.ndarray, until: float = math.inf) -> Fit | None:
    """Return z >= 0 with hard z = totals that minimizes max |soft z - target|; None when there is no time for it.

    The prices G satisfy <G, target> - max_z <G, soft z> = error: they prove that no z does better.
    """
    sp = require("scipy.sparse", "science")
    slack = np.ones((soft.shape[0], 1))
    above, below = sp.hstack([soft, -slack]), sp.hstack([-soft, -slack])
    exactly = sp.hstack([hard, sp.csr_array((hard.shape[0], 1))])
    cost = np.zeros(soft.shape[1] + 1)
    cost[-1] = 1.0
    result = solved(
        cost,
        A_ub=sp.vstack([above, below]).tocsr(),
        b_ub=np.concatenate([target, -target]),
        A_eq=exactly.tocsr(),
        b_eq=totals,
        until=until,
    )
    if result is None:
        return None
    over, under = np.split(-result.ineqlin.marginals, 2)
    return Fit(np.maximum(result.x[:-1], 0.0), float(result.fun), under - over)


def supported(matrix: np.ndarray, target: np.ndarray, guess: np.ndarray) -> np.ndarray | None:
    """Return the exact z >= 0 with matrix z = target that uses only the entries seen in a float `guess`, or None."""
    used = np.flatnonzero(guess > _SEEN)
    columns = exact.fmpq_mat(matrix[:, used])
    transposed = columns.transpose()
    try:
        part = (transposed * columns).solve(transposed * exact.fmpq_mat(target.reshape(-1, 1)))
    except ZeroDivisionError:
        return None
    z = exact.as_fractions(np.zeros(matrix.shape[1], dtype=int))
    z[used] = exact.to_fractions(part)[:, 0]
    reached = exact.product(matrix, z)
    return z if bool((z >= 0).all()) and bool((reached == target).all()) else None
