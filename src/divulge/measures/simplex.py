"""The maximum of a smooth concave function over the probability simplex, with a bound from its gradient."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Concave = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]
"""Point of shape (N,) -> value, gradient of shape (N,), negated Hessian of shape (N, N)."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """The best point met, its value `lower`, and `upper`, which no point of the simplex exceeds."""

    point: np.ndarray
    lower: float
    upper: float


def newton_step(point: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return the step s that maximizes gradient.s - s.curvature.s / 2 over sum(s) = 0, kept inside the simplex.

    `curvature` is over the active letters, the others stay; least squares where letters cannot be told apart.
    """
    k = int(active.sum())
    system = np.zeros((k + 1, k + 1))
    system[:k, :k], system[:k, k], system[k, :k] = curvature, 1.0, 1.0
    right = np.append(gradient[active] - gradient[active].mean(), 0.0)
    step = np.zeros_like(point)
    step[active] = np.linalg.lstsq(system, right, rcond=1e-13)[0][:k]
    falling = step < 0
    return step * (min(1.0, float((-point[falling] / step[falling]).min())) if falling.any() else 1.0)


def maximize(concave: Concave, size: int, tolerance: float, most: int = 400) -> Maximum:
    """Return the maximum of `concave`: exponentiated gradient steps, and Newton steps where they do better."""
    r = np.full(size, 1.0 / size)
    value, gradient, curvature = concave(r)
    upper, rate = math.inf, 1.0
    for _ in range(most):
        upper = min(upper, value + float(gradient.max() - r @ gradient))
        if upper - value <= tolerance:
            break
        active = (r > 1e-12) | (gradient >= r @ gradient)
        trial = np.maximum(r + newton_step(r, gradient, curvature[np.ix_(active, active)], active), 0.0)
        candidates = [trial / trial.sum(), _mirror(r, gradient, rate)]
        outcomes = [concave(candidate) for candidate in candidates]
        best = 0 if outcomes[0][0] >= outcomes[1][0] else 1
        rate = rate * 2 if outcomes[1][0] > value else rate / 4
        if outcomes[best][0] < value:
            if rate < 1e-12:
                break
            continue
        r, (value, gradient, curvature) = candidates[best], outcomes[best]
    return Maximum(r, value, upper)


def _mirror(r: np.ndarray, gradient: np.ndarray, rate: float) -> np.ndarray:
    weights = r * np.exp(rate * (gradient - gradient.max()) / max(float(np.ptp(gradient)), 1e-300))
    return weights / weights.sum()
