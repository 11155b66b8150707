"""Staircase noise: the density is constant but for jumps, and repeats with every period, scaled."""

import math

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import Noise, positive

_LARGEST_EPSILON, _MOST_STEPS = 600.0, 10_000.0
"""Largest epsilon of staircase noise whose weights are doubles, and the most steps within one scale."""


def staircase(scale: float, sensitivity: float = 1.0, gamma: float | None = None) -> Noise:
    """Return staircase noise for `sensitivity` D with epsilon = D / scale: steps of width D.

    On [k D, (k + gamma) D) the density is a e^{-k eps}, on [(k + gamma) D, (k + 1) D) it is a e^{-(k+1) eps}; `gamma`
    is 1 / (1 + e^{eps/2}) when not given.

    Source: Geng, Viswanath, "The Optimal Mechanism in Differential Privacy", 2014.
    """
    s, width = positive(scale, "scale"), positive(sensitivity, "sensitivity")
    epsilon = width / s
    if not 1 / _MOST_STEPS <= epsilon <= _LARGEST_EPSILON:
        condition = f"be between 1/{_LARGEST_EPSILON:g} and {_MOST_STEPS:g} times the sensitivity"
        raise DivulgeError.of("scale", condition, "it", f"{s:g}")
    share = math.exp(-epsilon / 2) / (1 + math.exp(-epsilon / 2)) if gamma is None else float(gamma)
    if not 0 <= share <= 1:
        raise DivulgeError.of("gamma", "be in [0, 1]", "it", repr(gamma))
    log_norm = (
        math.log(-math.expm1(-epsilon)) - math.log(2 * width) - math.log(share + math.exp(-epsilon) * (1 - share))
    )

    def log_density(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.abs(z) / width)
        return log_norm - epsilon * (k + (np.abs(z) - k * width >= share * width))

    def cdf(z: np.ndarray) -> np.ndarray:
        """Beyond |z| lies what is left of its period, and e^-eps / 2 of the mass of that and all later periods."""
        a = np.minimum(np.abs(np.asarray(z, dtype=float)), 1e300)
        k = np.floor(a / width)
        rest = np.clip(a - k * width, 0, width)
        left = np.maximum(share * width - rest, 0) + math.exp(-epsilon) * (width - np.maximum(rest, share * width))
        tail = np.exp(-epsilon * k) * (math.exp(log_norm) * left + 0.5 * math.exp(-epsilon))
        return np.where(np.asarray(z) >= 0, 1 - tail, tail)

    def radii(reach: float) -> np.ndarray:
        if not reach / width <= 100 * _MOST_STEPS:
            condition = f"go into the range at most {100 * _MOST_STEPS:g} times"
            raise DivulgeError.of("sensitivity", condition, "it", f"{width:g}")
        return (share + np.arange(math.ceil(reach / width) + 2)) * width

    return Noise(
        "staircase",
        {"scale": s, "sensitivity": width, "gamma": share},
        log_density,
        cdf,
        False,
        None,
        math.inf,
        lambda d: epsilon * math.ceil(d / width - 1e-12),
        radii=radii,
        terms=lambda y, x, c: np.abs(log_density(y - x)) + 8,
        made_by=(staircase, (s, width, share)),
    )
