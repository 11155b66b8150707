"""Nearest mixtures by descent: for channels too large for one linear program, the same question by least squares.

The least |parts z - whole|^2 over z whose rows (or columns) are distributions is approached by accelerated projected
gradients. What is left over, G = whole - parts z, is at the optimum the normal of a hyperplane between what can be made
and what is wanted: any G with <G, whole> > max_z <G, parts z> proves that no z reaches it.
"""

import numpy as np

from divulge.gradients import accelerated

_STEPS, _LOOK = 4000, 25
"""The most steps, and after how many the proofs are tried."""


def nearest_by_descent(
    parts: np.ndarray, whole: np.ndarray, axis: int, tolerance: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (z, prices): z with sums of 1 along `axis`, and prices that prove an error above the tolerance, or None.

    >>> z, prices = nearest_by_descent(np.eye(2), np.array([[0.75, 0.25], [0.25, 0.75]]), 1, 1e-9)
    >>> bool(abs(z - [[0.75, 0.25], [0.25, 0.75]]).max() < 1e-9), prices is None
    (True, True)
    """
    negative = negative_weight(parts, whole)
    if negative is not None and separation(negative, parts, whole, axis) > tolerance * abs(negative).sum():
        return onto_simplex(np.linalg.lstsq(parts, whole, rcond=None)[0], axis), negative
    gram, target = parts.T @ parts, parts.T @ whole
    rate = 1.0 / float(np.linalg.norm(gram, 2))

    def onward(ahead: np.ndarray) -> np.ndarray:
        return onto_simplex(ahead - rate * (gram @ ahead - target), axis)

    z = start = onto_simplex(np.linalg.lstsq(parts, whole, rcond=None)[0], axis)
    for step, z in zip(range(_STEPS + 1), accelerated(onward, start), strict=False):
        if step % _LOOK == 0:
            left = whole - parts @ z
            if abs(left).max() <= tolerance:
                return z, None
            if separation(left, parts, whole, axis) > tolerance * abs(left).sum():
                return z, left
    return z, None


def negative_weight(parts: np.ndarray, whole: np.ndarray) -> np.ndarray | None:
    """Return prices that separate where independent parts make the whole only with a negative weight, else None.

    With the pseudo-inverse P of the parts, the weight of part i in column k is (P whole)_ik. If it is below 0, the
    prices -P_i on column k are worth more on the whole than on anything made with weights of at least 0.
    """
    inverse = np.linalg.pinv(parts)
    if not np.allclose(inverse @ parts, np.eye(parts.shape[1]), atol=1e-6):
        return None
    weights = inverse @ whole / abs(inverse).sum(axis=1)[:, None]
    i, k = np.unravel_index(int(weights.argmin()), weights.shape)
    if weights[i, k] >= 0:
        return None
    prices = np.zeros_like(whole)
    prices[:, k] = -inverse[i]
    return prices


def separation(prices: np.ndarray, parts: np.ndarray, whole: np.ndarray, axis: int) -> float:
    """Return <prices, whole> - max_z <prices, parts z>, less what rounding may have added."""
    scores = parts.T @ prices
    size = abs(prices).sum()
    return float((prices * whole).sum() - scores.max(axis=axis).sum() - size * sum(parts.shape) * 2.0**-50)


def onto_simplex(z: np.ndarray, axis: int) -> np.ndarray:
    """Return the nearest matrix of distributions along the axis, by sorting (Held, Wolfe and Crowder)."""
    rows = z if axis == 1 else z.T
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    count = (falling * np.arange(1, rows.shape[1] + 1) > excess).sum(axis=1)
    shift = excess[np.arange(len(rows)), count - 1] / count
    found = np.maximum(rows - shift[:, None], 0.0)
    return found if axis == 1 else found.T
