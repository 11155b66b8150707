"""Integrals of expectations over panels, with weights that may lie below the smallest double."""

import math
from collections.abc import Callable, Sequence

import numpy as np

LossFunction = Callable[[np.ndarray], np.ndarray]


def weighted(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return weights times values, 0 where the weight is 0 (below the smallest double) whatever the value."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(weights > 0, weights * values, 0.0)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def integral(f: LossFunction, low: float, high: float, kinks: Sequence[float] = ()) -> float:
    """Return the integral of f over [low, high] by Gauss-Legendre panels whose edges include 0 and the kinks."""
    edges = np.union1d(np.linspace(low, high, 257), [k for k in (0.0, *kinks) if low < k < high])
    half = np.diff(edges)[:, None] / 2
    return math.fsum((f(edges[:-1, None] + half * (1 + _NODES)) * (half * _WEIGHTS)).ravel().tolist())
