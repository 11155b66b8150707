"""Which outputs may be the worst: ratios compared by logarithms, which small probabilities never make 0."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Side = Literal["pml", "pmc", "ldp"]

_CLOSE = 1e-9
"""Outputs whose logarithm of the ratio is this close to the largest are compared exactly; doubles are off by 1e-12."""


def log(value: Any) -> float:
    """Return the logarithm of a number of at least 0, however small or large, also of a ball; log 0 is -inf.

    >>> from fractions import Fraction
    >>> round(log(Fraction(1, 10**400)) / math.log(10), 9), log(0)
    (-400.0, -inf)
    """
    if not value > 0:
        return -math.inf
    if isinstance(value, float):
        return math.log(value)
    return float(value.log()) if hasattr(value, "mid") else math.log(value.numerator) - math.log(value.denominator)


def logs(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    """Return the logarithms of rows of numbers of at least 0."""
    return np.array([[log(value) for value in row] for row in rows])


def near_worst(joint: np.ndarray, prior: np.ndarray, side: Side, asked: Sequence[int]) -> list[int]:
    """Return which rows of log P(u, y), K x m, have nearly the largest ratio against log P(u); -inf is impossible.

    `asked` names the values whose lifts count; a ratio of two values is one of any two of them.
    """
    total, lifts = np.logaddexp.reduce(joint, axis=1), (joint - prior)[:, list(asked)]
    with np.errstate(invalid="ignore"):
        sizes = {
            "pml": lambda: lifts.max(axis=1) - total,
            "pmc": lambda: total - lifts.min(axis=1),
            "ldp": lambda: lifts.max(axis=1) - lifts.min(axis=1),
        }[side]()
    sizes[total == -np.inf] = -np.inf
    top = sizes.max()
    return np.flatnonzero(sizes >= (top if top == np.inf else top - _CLOSE)).tolist()
