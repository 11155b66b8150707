"""Laplace, Gaussian, logistic and Student-t noise."""

import math

import numpy as np

from divulge.extras import require
from divulge.noise.families.noise import Noise, exponential_sides, gaussian_sides, nearer, positive, quiet


def laplace(scale: float) -> Noise:
    """Return Laplace noise of scale b > 0: density exp(-|z|/b) / 2b, epsilon = d/b for secrets a distance d apart.

    Source: Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis", 2006.
    """
    b = positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "laplace",
        {"scale": b},
        quiet(lambda z: -np.abs(z) / b - math.log(2 * b)),
        stats.laplace(scale=b).cdf,
        frozen=stats.laplace(scale=b),
        curvature=1 / b,
        made_by=(laplace, (b,)),
        **exponential_sides(b),
    )


def gaussian(scale: float) -> Noise:
    """Return Gaussian noise of standard deviation sigma > 0: no finite epsilon for secrets that differ."""
    s = positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "gaussian",
        {"scale": s},
        quiet(lambda z: -0.5 * (z / s) ** 2 - math.log(s) - 0.5 * math.log(2 * math.pi)),
        stats.norm(scale=s).cdf,
        frozen=stats.norm(scale=s),
        made_by=(gaussian, (s,)),
        **gaussian_sides(s),
    )


def logistic(scale: float) -> Noise:
    """Return logistic noise of scale s > 0: density exp(-z/s) / (s (1 + exp(-z/s))^2), epsilon = d/s."""
    s = positive(scale, "scale")
    stats = require("scipy.stats", "science")

    @quiet
    def excess(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """cosh(b) / cosh(a) - 1 for a = (y - x) / 2s and b = (y - c) / 2s: small without cancellation."""
        a, b = (np.clip((y - at) / (2 * s), -300, 300) for at in (x, c))
        half = np.clip((x - c) / (4 * s), -300, 300)
        return 2 * np.sinh((a + b) / 2) * np.sinh(half) / np.cosh(a)

    @quiet
    def log_ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        far = nearer(s)(y, x, c) - 2 * (np.log1p(np.exp(-np.abs(y - x) / s)) - np.log1p(np.exp(-np.abs(y - c) / s)))
        e = excess(y, x, c)
        alike = (np.abs(e) < 0.5) & (np.maximum(np.abs(y - x), np.abs(y - c)) < 500 * s)
        return np.where(alike, 2 * np.log1p(np.where(alike, e, 0.0)), far)

    @quiet
    def terms(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        e = np.abs(excess(y, x, c))
        alike = (e < 0.5) & (np.maximum(np.abs(y - x), np.abs(y - c)) < 500 * s)
        near = np.abs((x - c) / s) * (1 + (np.abs(y - x) + np.abs(y - c)) / s)
        return np.where(alike, near + 4 * e, nearer(s, +1.0)(y, x, c) + 4)

    facts = exponential_sides(s)
    facts.update(linear=False, bend=math.sqrt(0.5) / s, log_ratio=log_ratio, terms=terms)
    return Noise(
        "logistic",
        {"scale": s},
        quiet(lambda z: -np.abs(z) / s - math.log(s) - 2 * np.log1p(np.exp(-np.abs(z) / s))),
        stats.logistic(scale=s).cdf,
        frozen=stats.logistic(scale=s),
        curvature=1 / s,
        made_by=(logistic, (s,)),
        **facts,
    )


def student_t(scale: float, df: float = 3.0) -> Noise:
    """Return Student-t noise with `df` degrees of freedom and scale s > 0: polynomial tails, never log-concave."""
    s, nu = positive(scale, "scale"), positive(df, "df")
    stats = require("scipy.stats", "science")
    frozen = stats.t(nu, scale=s)
    log_norm = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - math.log(s)

    def shift_loss(d: float) -> float:
        d = d / s
        z = 2 * nu / (d + math.hypot(d, 2 * math.sqrt(nu)))
        ratio = d * ((2 * z + d) / (nu + z * z))
        return 0.5 * (nu + 1) * (math.log1p(ratio) if ratio < math.inf else 2 * math.log(d) - math.log(nu))

    @quiet
    def log_ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        near, far = (np.hypot(math.sqrt(nu), (y - at) / s) for at in (c, x))  # hypot: squares overflow
        excess = ((x - c) / s / far) * ((y - c) / s / far + (y - x) / s / far)
        alike = np.abs(excess) < 0.5
        return 0.5 * (nu + 1) * np.where(alike, np.log1p(np.where(alike, excess, 0.0)), 2 * np.log(near / far))

    @quiet
    def terms(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        near, far = (np.hypot(math.sqrt(nu), (y - at) / s) for at in (c, x))
        size = np.abs((x - c) / s / far) * ((np.abs(y - c) + np.abs(y - x)) / s / far)
        return (nu + 1) * np.where(size < 0.5, 2 * size, 8 + np.abs(np.log(near / far)))

    return Noise(
        "student-t",
        {"scale": s, "df": nu},
        quiet(lambda z: log_norm - (nu + 1) * np.log(np.hypot(1.0, z / (s * math.sqrt(nu))))),
        frozen.cdf,
        False,
        (0.0, 0.0),
        (nu + 1) / (2 * math.sqrt(nu) * s),
        shift_loss,
        frozen=frozen,
        curvature=math.sqrt((nu + 1) / nu * max(1.0, (nu + 2) ** 2 / (4 * (nu + 3)))) / s,
        fading=nu + 1,
        bend=math.sqrt((nu + 1) / nu) / s,
        log_ratio=log_ratio,
        terms=terms,
        made_by=(student_t, (s, nu)),
    )
