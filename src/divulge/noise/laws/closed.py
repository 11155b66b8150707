"""Sums of a secret and noise whose density is known in closed form."""

import math
from typing import Any

import numpy as np

from divulge.noise.families.noise import Noise


def _normal_plus_gaussian(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Of the normal sum; the reference is the noise at 0, as a normal secret may be anywhere."""
    sd = math.hypot(x.std(), noise.parameters["scale"])
    return -0.5 * ((y - x.mean()) / sd) ** 2 - math.log(sd / noise.parameters["scale"])


def _uniform_plus_laplace(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Inside [lo, hi]: 2(hi - lo) f(y) = 2 - e^{-(y-lo)/b} - e^{-(hi-y)/b}; at a distance d outside, e^{-d/b} less.

    That factor is the reference, and so is 1/2b.
    """
    (low, high), b = x.support(), noise.parameters["scale"]
    inside = np.clip(y, low, high)
    body = -np.expm1(-(inside - low) / b) - np.expm1(-(high - inside) / b)
    return np.log(body) + math.log(b / (high - low))


def _normal_plus_laplace(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Split at x = y and complete the square on either side; the reference is 1/2b.

    With r = sd/b, e^{r^2/2 - zr} P(N < z - r) = e^{-z^2/2} erfcx((r - z)/sqrt 2) / 2, which keeps its digits for z < r.
    """
    from scipy.special import erfcx, log_ndtr

    mean, sd, b = float(x.mean()), float(x.std()), noise.parameters["scale"]
    z, r = (y - mean) / sd, sd / b

    def below(z: np.ndarray) -> np.ndarray:
        near = np.log(erfcx(np.maximum(r - z, 0.0) / math.sqrt(2)) / 2) - z * z / 2
        with np.errstate(over="ignore"):
            return np.where(z < r, near, r * (r / 2 - np.maximum(z, r)) + log_ndtr(np.maximum(z - r, 0.0)))

    return np.logaddexp(below(z), below(-z))


CLOSED_FORMS: dict[tuple[str, str], Any] = {
    ("norm", "gaussian"): _normal_plus_gaussian,
    ("norm", "laplace"): _normal_plus_laplace,
    ("uniform", "laplace"): _uniform_plus_laplace,
}
"""(scipy name of the secret, kind of the noise) -> log density of their sum less the reference."""
