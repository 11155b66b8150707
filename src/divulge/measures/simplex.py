"""The maximum of a smooth concave function over the probability simplex, with a bound from its gradient."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Concave = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]
"""Point of shape (N,) -> value, gradient of shape (N,), negated Hessian of shape (N, N)."""

_SHRINK, _INSIDE = 0.1, 0.995


@dataclass(frozen=True, eq=False)
class Maximum:
    """The best point met, its value `lower`, and `upper`, which no point of the simplex exceeds."""

    point: np.ndarray
    lower: float
    upper: float


def maximize(concave: Concave, size: int, tolerance: float, most: int = 120) -> Maximum:
    """Return the maximum of `concave` by a primal-dual interior point method, from the uniform distribution.

    At a point r with gradient g the value lies within max(g) - r.g of the maximum, by concavity: that is the bound.
    The path r_x z_x = mu, with z = lambda - g >= 0, leads there as mu falls to 0.
    """
    r = best = np.full(size, 1.0 / size)
    lower, upper = -math.inf, math.inf
    z = np.ones(size)
    for step in range(most):
        value, gradient, curvature = concave(r)
        if value > lower:
            lower, best = value, r
        upper = min(upper, value + float(gradient.max() - r @ gradient))
        if upper - lower <= tolerance:
            break
        if step == 0:
            z = gradient.max() - gradient + max(upper - value, 1e-3)
        mu = _SHRINK * float(r @ z) / size
        system = curvature + np.diag(z / r)
        try:
            both = np.linalg.solve(system, np.column_stack([mu / r + gradient, np.ones(size)]))
        except np.linalg.LinAlgError:
            break
        change = both[:, 0] - both[:, 0].sum() / both[:, 1].sum() * both[:, 1]
        z_change = mu / r - z - z / r * change
        r = r + _length(r, change) * change
        r, z = r / r.sum(), z + _length(z, z_change) * z_change
    return Maximum(best, lower, upper)


def _length(point: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step, at most 1, that leaves every entry positive."""
    falling = change < 0
    return min(1.0, _INSIDE * float((-point[falling] / change[falling]).min())) if falling.any() else 1.0
