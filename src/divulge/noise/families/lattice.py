"""Noise on a lattice: discrete Laplace and discrete Gaussian."""

import math

import numpy as np

from divulge.noise.families.noise import ON_LATTICE, LogDensity, Noise, exponential_sides, gaussian_sides, positive


def discrete_laplace(scale: float, step: float = 1.0) -> Noise:
    """Return discrete Laplace (two-sided geometric) noise on multiples of `step`: P(z) proportional to exp(-|z|/scale).

    Source: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", 2009.
    """
    b, h = positive(scale, "scale"), positive(step, "step")
    log_norm = math.log(math.tanh(h / (2 * b)))

    def cdf(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.asarray(z, dtype=float) / h + ON_LATTICE)
        low = np.exp(-np.maximum(-k, 0) * h / b - math.log1p(math.exp(-h / b)))
        high = np.exp(-(np.maximum(k, 0) + 1) * h / b - math.log1p(math.exp(-h / b)))
        return np.where(k < 0, low, 1 - high)

    return Noise(
        "discrete-laplace",
        {"scale": b, "step": h},
        lambda z: log_norm - np.abs(z) / b,
        cdf,
        step=h,
        made_by=(discrete_laplace, (b, h)),
        **exponential_sides(b),
    )


_WIDE = 5000.0
"""From so many steps per standard deviation on, sums over the lattice are integrals to all digits."""


def _narrow_lattice_cdf(masses: np.ndarray, reach: int, h: float) -> LogDensity:
    below = np.concatenate([[0.0], np.cumsum(masses)])

    def cdf(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.asarray(z, dtype=float) / h + ON_LATTICE) + reach + 1
        return np.minimum(below[np.clip(k, 0, 2 * reach + 1).astype(int)], 1.0)

    return cdf


def _wide_lattice_cdf(s: float, h: float) -> LogDensity:
    """Sum over lattice points up to k h: the integral up to (k + 1/2) h and its first Euler-Maclaurin correction."""
    from scipy.special import ndtr

    def cdf(z: np.ndarray) -> np.ndarray:
        x = np.clip((np.floor(np.asarray(z, dtype=float) / h + ON_LATTICE) + 0.5) * (h / s), -40.0, 40.0)
        return ndtr(x) + (h / s) ** 2 * x * np.exp(-0.5 * x * x) / (24 * math.sqrt(2 * math.pi))

    return cdf


def discrete_gaussian(scale: float, step: float = 1.0) -> Noise:
    """Return discrete Gaussian noise on multiples of `step`: P(z) proportional to exp(-z^2 / 2 scale^2).

    Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", arXiv:2004.00010.
    """
    s, h = positive(scale, "scale"), positive(step, "step")
    if s > _WIDE * h:
        log_norm, below = math.log(h / s) - 0.5 * math.log(2 * math.pi), _wide_lattice_cdf(s, h)
    else:
        reach = math.ceil(39 * s / h) + 1
        points = np.arange(-reach, reach + 1) * h
        log_norm = -math.log(math.fsum(np.exp(-0.5 * (points / s) ** 2).tolist()))
        below = _narrow_lattice_cdf(np.exp(log_norm - 0.5 * (points / s) ** 2), reach, h)

    return Noise(
        "discrete-gaussian",
        {"scale": s, "step": h},
        lambda z: log_norm - 0.5 * (z / s) ** 2,
        below,
        step=h,
        made_by=(discrete_gaussian, (s, h)),
        **gaussian_sides(s),
    )
