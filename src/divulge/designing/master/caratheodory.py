"""Fewer outcomes for the same convex combination: moving along null vectors until weights are 0 (Caratheodory)."""

from typing import Any

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort

_BLOCK = 256
"""Columns that are taken in together: matrix products instead of vectors, at a null space of so many columns more."""
_PANEL = 32
"""Null vectors after which those before them are moved, in one product. Measured: 16 to 64 take the same time."""


def purified(weights: np.ndarray, columns: np.ndarray, losses: np.ndarray, effort: Effort = NO_HURRY) -> np.ndarray:
    """Return weights with at most as many positive ones as `columns` has rank, the same mixture, and no more loss.

    Block by block, along null vectors on which the loss does not grow; when the time is up, what is left stays.
    """
    columns = columns[_independent(columns)]
    rows, many = columns.shape
    out, active, start = weights.copy(), np.arange(0), 0
    while start < many and effort.spend():
        fresh = np.arange(start, min(start + max(rows + 1 - len(active), _BLOCK), many))
        start += len(fresh)
        null = _null(columns[:, active], columns[:, fresh])
        active = np.concatenate([active, fresh])
        out[active] = _moved(out[active], null, losses[active])
        active = active[out[active] > 0]
    return out


def _moved(w: np.ndarray, null: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return weights at least 0 with a zero more for each null vector; those of a panel move all before it at once."""
    from scipy.linalg import solve_triangular

    alive = np.ones(len(w), dtype=bool)
    for end in range(null.shape[1], 0, -_PANEL):
        start, used, pivots = max(0, end - _PANEL), list[int](), list[int]()
        for last in range(end - 1, start - 1, -1):
            z = null[:, last] * alive
            z = -z if losses @ z > 0 else z
            falling = np.flatnonzero(z < -1e-12 * np.abs(z).max())
            if not len(falling):
                continue
            ratios = w[falling] / -z[falling]
            j = int(falling[np.argmin(ratios)])
            w = np.maximum(w + float(ratios.min()) * z, 0.0)
            w[j], alive[j] = 0.0, False
            null[:, start:last] -= np.outer(null[:, last], null[j, start:last] / null[j, last])
            used.append(last)
            pivots.append(j)
        if start and used:
            steps = null[:, used]
            null[:, :start] -= steps @ solve_triangular(steps[pivots], null[pivots, :start], lower=True)
    return w


def _independent(columns: np.ndarray) -> np.ndarray:
    """Return rows on which all others depend: the others keep the convex combination by themselves."""
    from scipy.linalg import qr

    rows, many = columns.shape
    sketch = columns if many <= rows + 8 else columns @ np.random.default_rng(0).standard_normal((many, rows + 8))
    found: tuple[Any, ...] = qr(sketch.T, mode="r", pivoting=True)
    diagonal, order = np.abs(np.diag(found[0])), found[-1]
    return np.sort(order[: int((diagonal > 1e-11 * diagonal[0]).sum())])


def _null(basis: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Return a basis of the null vectors of [basis, fresh]; from a linear solve when `basis` is square and sound."""
    if basis.shape[0] == basis.shape[1]:
        try:
            inner = np.linalg.solve(basis, fresh)
        except np.linalg.LinAlgError:
            inner = np.full_like(fresh, np.inf)
        if np.abs(inner).max() < 1e6:
            return np.concatenate([-inner, np.eye(fresh.shape[1])])
    both = np.concatenate([basis, fresh], axis=1)
    return np.linalg.qr(both.T, mode="complete")[0][:, min(both.shape) :]
