"""Integrals over a continuous secret, vectorized over outcomes, with a stated relative error."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from divulge.noise.families import Noise
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


def expectation(secret: "Secret", f: Callable[[np.ndarray], np.ndarray], marks: np.ndarray | None = None) -> tuple[float, float]:
    """Return (E f(X), bound on its error) for a non-negative function of a continuous secret."""
    edges = quantile_marks(secret)
    if marks is not None:
        edges = np.unique(np.concatenate([edges, np.clip(marks, edges[0], edges[-1])]))
    value, error = panels(lambda x: secret.continuous.pdf(x) * f(x), edges[None, :])
    return float(value[0]), float(error[0])


def log_mixture(secret: "Secret", noise: "Noise", y: np.ndarray, log_scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (log E exp(g(y - X)), bound on its error) for each y, g the log density of the noise.

    `log_scale` is about max_x g(y - x): it is taken out so that nothing underflows.
    """
    fixed = quantile_marks(secret)
    low, high = float(fixed[0]), float(fixed[-1])
    out, err = np.empty(len(y)), np.empty(len(y))
    for start in range(0, len(y), _CHUNK):
        part, top = y[start : start + _CHUNK], log_scale[start : start + _CHUNK]
        near = part[:, None] + noise.marks(high - low)[None, :]
        edges = np.sort(np.clip(np.hstack([np.broadcast_to(fixed, (len(part), len(fixed))), near]), low, high), axis=1)

        def integrand(x: np.ndarray, part: np.ndarray = part, top: np.ndarray = top) -> np.ndarray:
            return secret.continuous.pdf(x) * np.exp(noise.log_density(part[:, None] - x) - top[:, None])

        value, error = panels(integrand, edges)
        with np.errstate(divide="ignore", invalid="ignore"):
            out[start : start + _CHUNK] = np.log(value) + top
            err[start : start + _CHUNK] = np.where(value > 0, error / value, math.inf)
    return out, err


def panels(
    f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, tolerance: float = _TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate f over rows of panel edges by adaptive Gauss-Kronrod, all rows at once, each relative to its own size.

    f maps x of shape (rows, panels) to the same shape. Returns (value, error bound) per row.
    """
    from scipy.integrate import quad_vec

    left, width = edges[:, :-1], np.diff(edges, axis=1)

    def at(u: float) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.where(width > 0, f(left + u * width), 0.0)
        return np.sum(np.where(np.isfinite(values), values, 0.0) * width, axis=1)

    nodes, weights = np.polynomial.legendre.leggauss(16)
    rough = sum(w / 2 * at((1 + u) / 2) for u, w in zip(nodes, weights, strict=True))
    size = np.where(np.asarray(rough) > 0, rough, 1.0)
    value, error = quad_vec(lambda u: at(u) / size, 0.0, 1.0, epsabs=tolerance, epsrel=0.0, norm="max", limit=2000)
    return value * size, (error + tolerance) * size
