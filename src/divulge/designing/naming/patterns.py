"""Square channels whose column of v is raised at v and at other values: circulants, and levels on given sets.

Under a bound on ratios, subset selection with sets as many as values (block designs; Park, Nam, Lee, arXiv:2305.01261)
estimates frequencies with the least variance. Where no design has the size asked for, circulants of sets with a flat
spectrum come close; what counts is the sum of 1 / |eigenvalue|^2.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.designing.limits import Limits
from divulge.extras import require

_SWAPS = 1500


def circulant_set(size: int, many: int, upper: float, top: float, seed: int) -> np.ndarray:
    """Return the first column (N,) of a circulant: `top` at 0, `upper` at `many` - 1 places, 1 elsewhere.

    Local search by swaps, from random places, makes the sum of the inverse squares of its spectrum small.
    """
    random = np.random.default_rng(seed)
    column = np.ones(size)
    column[0] = top
    column[1 + random.permutation(size - 1)[: many - 1]] = upper
    best = _inverse_squares(column)
    if many in (1, size) or upper == 1:
        return column
    for _ in range(_SWAPS):
        inside = 1 + int(random.choice(np.flatnonzero(column[1:] > 1)))
        outside = 1 + int(random.choice(np.flatnonzero(column[1:] == 1)))
        column[inside], column[outside] = 1.0, upper
        value = _inverse_squares(column)
        if value < best:
            best = value
        else:
            column[inside], column[outside] = upper, 1.0
    return column


def _inverse_squares(column: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(column))[1:]
    with np.errstate(divide="ignore", over="ignore"):
        return float((1 / spectrum**2).sum()) if len(spectrum) else 0.0


def set_sizes(ratio: float, size: int) -> list[int]:
    """Return the numbers of raised values that are worth trying: the best of subset selection, and half of it."""
    best = size / (1 + ratio)
    return sorted({min(max(round(k), 1), size - 1) for k in (best, best / 2, best * 0.75)} - {1})


Masses = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Takes sets of values as columns (N, M), gives the least and the largest probability of each, shape (M,)."""


def leveled_sets(masses: Masses, limits: Limits, up: np.ndarray, leads: np.ndarray) -> np.ndarray | None:
    """Return the channel whose column y has one level on the set `up`[:, y], one at y and one elsewhere, far apart.

    A linear program in three numbers a column makes the levels on the sets largest beside the others; None where it
    finds none.
    """
    highspy = require("highspy", "science")
    from scipy import sparse

    n = len(leads)
    own = np.eye(n, dtype=bool)
    others, below = (part.astype(np.float64) for part in (up & ~own, ~up & ~own))
    one, none = sparse.identity(n, format="csr"), sparse.csr_matrix((n, n))
    means = [
        [sparse.diags(part) for part in (alone, both - alone, 1 - both)]
        for alone, both in zip(masses(own), masses(up | own), strict=True)
    ]
    rows: list[tuple[Any, float, float]] = [
        (sparse.hstack([one, sparse.csr_matrix(others), sparse.csr_matrix(below)]), 1.0, 1.0)
    ]
    lead = sparse.diags(leads)
    rows += [(sparse.hstack([-one, lead, none]), -math.inf, 0.0), (sparse.hstack([none, -one, one]), -math.inf, 0.0)]
    if limits.high < math.inf:
        own_mean, *other_means = (-limits.high * part for part in means[0])
        rows.append((sparse.hstack([one + own_mean, *other_means]), -math.inf, 0.0))
    if limits.low > 0:
        *other_means, off_mean = (limits.low * part for part in means[1])
        rows.append((sparse.hstack([*other_means, off_mean - one]), -math.inf, 0.0))
    if limits.ratio < math.inf:
        rows.append((sparse.hstack([one, none, -limits.ratio * one]), -math.inf, 0.0))
    if limits.capacity < math.inf:
        every = sparse.csr_matrix(np.append(np.ones(n), np.zeros(2 * n)))
        rows.append((every, -math.inf, limits.capacity))
    matrix: Any = sparse.vstack([part for part, _, _ in rows], format="csc")
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    size = others.sum(axis=0)
    model.col_cost_ = np.concatenate([-np.ones(n), -np.sqrt(size), np.sqrt(size) + 1])
    model.col_lower_, model.col_upper_ = np.zeros(3 * n), np.full(3 * n, math.inf)
    model.row_lower_ = np.concatenate([np.full(part.shape[0], low) for part, low, _ in rows])
    model.row_upper_ = np.concatenate([np.full(part.shape[0], high) for part, _, high in rows])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("simplex_iteration_limit", 40 * n)):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    at, on, off = np.array(solver.getSolution().col_value).reshape(3, n)
    return np.where(np.eye(n, dtype=bool), at, np.where(up, on, off))
