"""The distribution of the secret from which the rows of a channel look farthest away: a concave maximum, bracketed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from divulge.errors import DivulgeError

_SHRINK = 0.1
"""What a step shall leave of the mean product r z. A heuristic: with 0.05 and 0.2, 47 steps become 41 and 59."""

_FASTER = 0.5
"""Near the maximum a step leaves mean^1.5 of the mean product: Newton's steps meet it there, and half of them do."""

_INSIDE = 0.995
"""The share of the way to the border that a step may go: with 0.99 and 0.9975 as many steps, with 0.9 a tenth more."""

_HALVINGS = 30
"""Halvings after which a step is below 1e-9 of Newton's, and rounding alone decides whether it rises."""

_FLAT = 1e-12
"""Share by which the value may fall by rounding: near the maximum a step changes it by less than it is known to."""


class Local(NamedTuple):
    """What is known at one point r: the value there, a bound for every point, and how the value changes nearby.

    `slopes` are the gradient, up to a constant, shape (N,); `curvature` is the negated Hessian, up to what vanishes
    on changes that sum to 0, shape (N, N).
    """

    value: float
    bound: float
    slopes: np.ndarray
    curvature: np.ndarray


@dataclass(frozen=True, eq=False)
class Maximum:
    """The best point met, its value `lower`, and `upper`, which no point of the simplex exceeds."""

    point: np.ndarray
    lower: float
    upper: float


def checked_tolerance(tolerance: Any) -> float:
    """Return the share that bounds may be apart, a number from 0 on."""
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, (int, float, np.number))
        or not 0 <= tolerance < math.inf
    ):
        raise DivulgeError.of("tolerance", "be a finite number that is at least 0", "it", repr(tolerance))
    return float(tolerance)


def maximize(local: Callable[[np.ndarray], Local], size: int, tolerance: float, most: int = 120) -> Maximum:
    """Return the maximum by a primal-dual interior point method, from the uniform distribution.

    It ends when the bounds are within `tolerance` of each other, relative to the upper one. With slopes g, the path
    r_x z_x = mu, z = lambda - g >= 0, leads to the maximum as mu falls to 0. The first bound is the unit of the slopes.
    """
    r = best = np.full(size, 1.0 / size)
    here = local(r)
    lower, upper, unit = here.value, here.bound, here.bound
    z = here.slopes.max() - here.slopes
    z = z / (unit or 1.0) + max(1.0 - lower / (unit or 1.0), 1e-3)
    sides, interior = np.ones((size, 2)), _log_product(r)
    for _ in range(most):
        if upper - lower <= tolerance * upper:
            break
        mean = float(r @ z) / size
        mu = min(_SHRINK, mean**_FASTER) * mean
        system = here.curvature / unit
        system.flat[:: size + 1] += z / r
        sides[:, 0] = mu / r + here.slopes / unit
        try:
            both = np.linalg.solve(system, sides)
        except np.linalg.LinAlgError:
            break
        moved, rest = both.sum(axis=0).tolist()
        change = both[:, 0] - moved / rest * both[:, 1]
        z_change = (mu - z * change) / r - z
        change *= _length(r, change)
        r, here, interior = _ascended(local, r, here, change, mu * unit, interior)
        z = z + _length(z, z_change) * z_change
        if here.value > lower:
            lower, best = here.value, r
        upper = min(upper, here.bound)
    return Maximum(best, lower, upper)


def _ascended(
    local: Callable[[np.ndarray], Local], r: np.ndarray, here: Local, change: np.ndarray, mu: float, interior: float
) -> tuple[np.ndarray, Local, float]:
    """Return the point after the longest of change, change / 2, ... that does not lower value + mu sum_x log r_x.

    With it goes what is known there, and that sum, which is `interior` at r.
    """
    before = here.value + mu * interior
    for _ in range(_HALVINGS):
        there = r + change
        there /= np.add.reduce(there)
        found, inside = local(there), _log_product(there)
        if found.value + mu * inside >= before - _FLAT * abs(before):
            return there, found, inside
        change = change / 2
    return r, here, interior


def _log_product(r: np.ndarray) -> float:
    """Return sum_x log r_x."""
    return float(np.add.reduce(np.log(r)))


def _length(point: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step, at most 1, that leaves every entry positive."""
    slopes = change / point
    steepest = slopes.item(slopes.argmin())
    return min(1.0, -_INSIDE / steepest) if steepest < 0 else 1.0
