"""Integrals over a continuous secret, vectorized over outcomes, each with an estimate of its error."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError

if TYPE_CHECKING:
    from divulge.noise.secrets import Secret

_LEVELS = np.array([1e-30, 1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
"""Quantile levels (from either end) at which an integral over the secret is split."""

_TOLERANCE = 1e-12
_CHUNK = 256


def window(secret: "Secret") -> tuple[float, float]:
    """Return the support, cut where an unbounded one has 1e-30 of its mass left on either side."""
    dist = secret.continuous
    low = secret.low if math.isfinite(secret.low) else float(dist.ppf(_LEVELS[0]))
    high = secret.high if math.isfinite(secret.high) else float(dist.isf(_LEVELS[0]))
    return low, high


def quantile_marks(secret: "Secret") -> np.ndarray:
    """Return the ends of the window and the places inside it where the secret's density changes scale."""
    dist = secret.continuous
    inside = np.concatenate([dist.ppf(_LEVELS), [dist.ppf(0.5)], dist.isf(_LEVELS)])
    return np.unique(np.clip(inside[np.isfinite(inside)], *window(secret)).tolist() + list(window(secret)))


def expectation(
    secret: "Secret", f: Callable[[np.ndarray], np.ndarray], marks: np.ndarray | None = None
) -> tuple[float, float]:
    """Return (E f(X), bound on its error) for a non-negative function of a continuous secret."""
    edges = quantile_marks(secret)
    if marks is not None:
        edges = np.unique(np.concatenate([edges, np.clip(marks, edges[0], edges[-1])]))
    return integral(lambda x: secret.continuous.pdf(x) * f(x), edges)


def log_mixture(
    secret: "Secret", noise: Any, y: np.ndarray, log_scale: np.ndarray, log_given: Callable[[Any, Any], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return (log E exp(g(X, i)), bound on its error) for each y_i; g(x, i) = `log_given` is about log f(y_i | x).

    `log_scale` is about max_x g(x, i): it is taken out so that nothing underflows.
    """
    fixed = quantile_marks(secret)
    low, high = float(fixed[0]), float(fixed[-1])
    out, err = np.empty(len(y)), np.empty(len(y))
    for start in range(0, len(y), _CHUNK):
        part, top = y[start : start + _CHUNK], log_scale[start : start + _CHUNK]
        near = part[:, None] + noise.marks(high - low)[None, :]
        edges = np.sort(np.clip(np.hstack([np.broadcast_to(fixed, (len(part), len(fixed))), near]), low, high), axis=1)

        def integrand(x: np.ndarray, row: np.ndarray, start: int = start, top: np.ndarray = top) -> np.ndarray:
            return secret.continuous.pdf(x) * np.exp(log_given(x, start + row) - top[row])

        value, error = integrals(integrand, edges)
        with np.errstate(divide="ignore", invalid="ignore"):
            out[start : start + _CHUNK] = np.log(value) + top
            err[start : start + _CHUNK] = np.where(value > 0, error / value, math.inf)
    return out, err


def integral(
    f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, tolerance: float = _TOLERANCE
) -> tuple[float, float]:
    """Return (integral of f over the panels between `edges`, estimate of its error); f is called on arrays."""
    value, error = integrals(lambda x, row: f(x), edges[None, :], tolerance)
    return float(value[0]), float(error[0])


def integrals(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray], edges: np.ndarray, tolerance: float = _TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """Return (integral, estimate of its error) for each row of panel edges, relative to the size of its row.

    f(x, row) gives the integrand of `row` at x. Every panel is integrated by double-exponential quadrature, which
    puts up with densities that are singular at an end of the support.
    """
    from scipy.integrate import tanhsinh

    left, right = edges[:, :-1], edges[:, 1:]
    rows, panels = np.nonzero(right - left > 1e-13 * np.maximum(np.abs(left), np.abs(right)))
    if not len(rows):
        return np.zeros(len(edges)), np.zeros(len(edges))

    def finite(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            values = f(x, row)
        return np.where(np.isfinite(values), values, 0.0)

    a, b = left[rows, panels], right[rows, panels]
    nodes, weights = np.polynomial.legendre.leggauss(16)
    x = (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * nodes
    rough = np.bincount(rows, (finite(x, rows[:, None]) @ weights) * (b - a) / 2, len(edges))
    size = np.where(rough > 0, rough, 1.0)
    found: Any = tanhsinh(
        lambda x, row: finite(x, row) / size[row], a, b, args=(rows,), atol=tolerance, rtol=0.0, maxlevel=9
    )
    if not np.isfinite(found.integral).all():
        raise DivulgeError.of("secret", "have a density that can be integrated", "an integral", "not finite")
    value, error = (np.bincount(rows, part, len(edges)) for part in (found.integral, found.error))
    return value * size, (error + tolerance) * size
