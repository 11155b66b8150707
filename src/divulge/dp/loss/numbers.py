"""Numbers in and out of questions about a loss: checked once, scalars and arrays alike; brackets and thresholds."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.measures.numeric.bracket import Bracket as Bracket
from divulge.model.entries import scalar

WIDEST = 600.0
"""Losses that spread over no more than this can be weighted by e^-L, their ratios and powers, in doubles."""

_ROUNDS = 6
"""Rounds of a search for the least of many bounds."""


def _floats(values: Any, argument: str) -> np.ndarray:
    """Return `values` as float64; refuse what is no number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of(argument, "be a number", "it", repr(values)[:60]) from None


def numbers(values: Any, argument: str) -> np.ndarray:
    """Return `values` as float64 of any shape; NaN is refused."""
    array = _floats(values, argument)
    if not (array == array).all():
        raise DivulgeError.of(argument, "be a number", "it", "NaN")
    return array


def probabilities(values: Any, argument: str) -> np.ndarray:
    """Return `values` as float64 in [0, 1]; anything else is refused."""
    array = _floats(values, argument)
    if not ((array >= 0) & (array <= 1)).all():
        raise DivulgeError.of(argument, "be in [0, 1]", "it", str(values))
    return array


def like(values: np.ndarray, given: np.ndarray) -> Any:
    """Return a float for a scalar question, an array for an array of questions."""
    return float(values) if given.ndim == 0 else values


def each(f: Callable[[float], Any], values: np.ndarray) -> np.ndarray:
    """Return what f, a function of one number, gives for each, in the shape of the values."""
    return np.array([f(float(v)) for v in values.ravel()]).reshape(values.shape)


def order(value: float, argument: str = "alpha") -> float:
    """Return a Renyi order; it must be at least 1 (+inf included)."""
    value = scalar(value, argument)
    if not value >= 1:
        raise DivulgeError.of(argument, "be at least 1", "it", str(value))
    return value


def lower_hull(x: np.ndarray, y: np.ndarray) -> list[int]:
    """Return which of the points are corners of their lower convex hull, by rising x (Andrew's monotone chain)."""
    across, up, hull = x.tolist(), y.tolist(), list[int]()

    def under(i: int, j: int, k: int) -> bool:
        """Say whether the chord from i to k lies under j, or meets it."""
        return (up[j] - up[k]) * (across[j] - across[i]) >= (up[i] - up[j]) * (across[k] - across[j])

    for k in np.lexsort((y, x)).tolist():
        while len(hull) > 1 and under(hull[-2], hull[-1], k):
            hull.pop()
        if not hull or across[hull[-1]] < across[k]:
            hull.append(k)
    return hull


def least_bound(
    bound: Callable[[np.ndarray], np.ndarray], tried: np.ndarray, questions: int = 1, finer: int = 33
) -> np.ndarray:
    """Return about the least bound for each question over positive points x; bound(x) has shape (questions, points).

    The search goes on between the neighbors of the best point; each number seen is a bound, wherever the best lies.
    """
    tried = np.broadcast_to(tried, (questions, len(tried)))
    best, row = np.full(questions, math.inf), np.arange(questions)
    for _ in range(_ROUNDS):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = np.nan_to_num(bound(tried), nan=math.inf, posinf=math.inf, neginf=-math.inf)
        at = values.argmin(axis=1)
        best = np.minimum(best, values[row, at])
        low, high = tried[row, np.maximum(at - 1, 0)], tried[row, np.minimum(at + 1, tried.shape[1] - 1)]
        tried = low[:, None] * (high / low)[:, None] ** np.linspace(0.0, 1.0, finer)
    return best
