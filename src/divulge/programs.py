"""Linear programs min c z over z >= 0 with A z = b: in rational arithmetic, and in floats refined to many digits."""

from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.extras import require

_ROUNDS = 4
"""Solutions in floats at most: each adds up to 16 digits (two reach 1e-31 on random programs), twice that is spared."""
_GAIN = 2**40
"""The most by which a round magnifies what is left, which may be 0; between 2^20 and 2^60 the results are as good."""
_USED = Fraction(1, 10**9)
"""An entry that is larger is positive in the solution, and its price must be 0; HiGHS is right to 1e-7 at first."""
_ENOUGH = Fraction(1, 10**28)
"""The error at which no more rounds follow: the bounds behind it are written with 16 digits."""


def cheapest(
    matrix: np.ndarray, target: np.ndarray, cost: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return (z, y) with exact z >= 0, matrix z = target and least cost z, or (None, y) with y matrix <= 0 < y target.

    Two phases of the simplex method, with Bland's rule; target is at least 0, and the cost bounded below on such z.
    Without a cost any z will do.

    >>> from divulge.exact import as_fractions
    >>> cheapest(as_fractions([[1, 1]]), as_fractions([1]), as_fractions([3, 2]))[0].tolist()
    [Fraction(0, 1), Fraction(1, 1)]
    >>> z, y = cheapest(as_fractions([[1, 1], [1, 2]]), as_fractions([1, 3]))
    >>> z, y.tolist()  # -2 (a + b) + (a + 2 b) = -a, never positive; -2 * 1 + 3 is
    (None, [Fraction(-2, 1), Fraction(1, 1)])
    """
    m, n = matrix.shape
    whole = np.concatenate([matrix, exact.as_fractions(np.eye(m, dtype=int)), target.reshape(-1, 1)], axis=1)
    tableau = np.concatenate([_rationals(whole), np.zeros((2, n + m + 1), dtype=object)])
    tableau[m] = tableau[:m].sum(axis=0)
    tableau[m, n : n + m] = _rationals(exact.as_fractions([0]))[0]
    costs = [0] * n if cost is None else [-v for v in cost.tolist()]
    tableau[m + 1] = _rationals(exact.as_fractions([*costs, *([0] * (m + 1))]))
    basis = list(range(n, n + m))
    _descend(tableau, basis, m, n)
    multipliers = _fractions(tableau[m, n : n + m]) + 1
    if tableau[m, -1] > 0:
        return None, multipliers
    for i in range(m):
        if basis[i] >= n and (filled := np.flatnonzero(tableau[i, :n] != 0)).size:
            _pivot(tableau, basis, i, int(filled[0]))
    _descend(tableau, basis, m + 1, n)
    z = exact.as_fractions(np.zeros(n, dtype=int))
    for i, j in enumerate(basis):
        if j < n:
            z[j] = _fractions(tableau[i, -1:])[0]
    return z, multipliers


def _descend(tableau: np.ndarray, basis: list[int], row: int, n: int) -> None:
    """Pivot until no entry of the row of costs is positive."""
    while (entering := next((j for j in range(n) if tableau[row, j] > 0), None)) is not None:
        rows = [i for i in range(len(basis)) if tableau[i, entering] > 0]
        _pivot(tableau, basis, min(rows, key=lambda i: (tableau[i, -1] / tableau[i, entering], basis[i])), entering)


def _pivot(tableau: np.ndarray, basis: list[int], leaving: int, entering: int) -> None:
    tableau[leaving] = tableau[leaving] / tableau[leaving, entering]
    for i in range(len(tableau)):
        if i != leaving and tableau[i, entering] != 0:
            tableau[i] = tableau[i] - tableau[i, entering] * tableau[leaving]
    basis[leaving] = entering


def refined(
    matrix: np.ndarray, target: np.ndarray, cost: np.ndarray, as_read: tuple[np.ndarray, Any] | None = None
) -> np.ndarray | None:
    """Return z >= 0 with matrix z = target and least cost z, in fractions, up to about 1e-28; None when there is none.

    HiGHS solves to about 1e-9. What is left over, scaled up, is a program of the same kind, whose solution is added.
    Where the numbers leave no z at all but for rounding, the first answer stays. `as_read` is the matrix in doubles and
    in python-flint's fractions, where several programs share it.

    Source: Gleixner, Steffy, Wolter, "Iterative refinement for linear programming", 2016.
    """
    linprog = require("scipy.optimize", "science").linprog
    floats, balls = as_read or (exact.as_floats(matrix), exact.fmpq_mat(matrix))
    z, y = (exact.as_fractions(np.zeros(size, dtype=int)) for size in (len(cost), len(target)))
    left, prices, primal, dual = target, cost, 1, 1
    found = False
    for _ in range(_ROUNDS):
        lower = exact.as_floats(-z * primal)
        answer = linprog(
            exact.as_floats(prices * dual),
            A_eq=floats,
            b_eq=exact.as_floats(left * primal),
            bounds=np.column_stack([lower, np.full_like(lower, np.inf)]),
        )
        if answer.status != 0:
            break
        found = True
        z, y = z + exact.as_fractions(answer.x) / primal, y + exact.as_fractions(answer.eqlin.marginals) / dual
        left = target - exact.to_fractions(balls * exact.fmpq_mat(z[:, None]))[:, 0]
        prices = cost - exact.to_fractions(exact.fmpq_mat(y[None]) * balls)[0]
        paid = [abs(price) for price, v in zip(prices.tolist(), z.tolist(), strict=True) if v > _USED]
        missed, overpriced = max(*map(abs, left.tolist()), -min(z.tolist())), max(-min(prices.tolist()), *paid)
        if max(missed, overpriced) < _ENOUGH:
            break
        primal, dual = _raised(primal, missed), _raised(dual, overpriced)
    return exact.as_fractions([max(v, 0) for v in z.tolist()]) if found else None


def _raised(scale: int, error: Fraction) -> int:
    """Return the power of 2 that brings the error to about 1."""
    most = scale * _GAIN
    return most if error * most <= 1 else max(scale, 1 << int(1 / error).bit_length())


def _rationals(values: np.ndarray) -> np.ndarray:
    """Return fractions as python-flint numbers."""
    import flint

    out = np.empty(values.shape, dtype=object)
    out.ravel()[:] = [flint.fmpq(v.numerator, v.denominator) for v in values.ravel().tolist()]
    return out


def _fractions(values: Any) -> np.ndarray:
    out = np.empty(len(values), dtype=object)
    out[:] = [exact.from_flint(v) for v in values.tolist()]
    return out
