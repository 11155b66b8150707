"""Means over a secret, and the panels on which its density is integrated."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.quadrature import NARROW, finite_or_zero, integral, panels
from divulge.noise.secrets.secret import Secret

LEVELS = np.array([1e-30, 1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
"""Quantile levels (from either end) at which an integral over the secret is split."""

_MOST_MISSED = 1e-3
"""A density whose integral is further than this from 1 is none."""


def window(secret: "Secret") -> tuple[float, float]:
    """Return the support, cut where an unbounded one has 1e-30 of its mass left on either side."""
    dist = secret.continuous
    low = secret.low if math.isfinite(secret.low) else float(dist.ppf(LEVELS[0]))
    high = secret.high if math.isfinite(secret.high) else float(dist.isf(LEVELS[0]))
    return low, high


@lru_cache(maxsize=64)
def quantile_marks(secret: "Secret") -> np.ndarray:
    """Return the ends of the window and the places inside it where the secret's density changes.

    Those are quantiles, and the ends of panels that were halved until the density was smooth in them: kinks of the
    density are then met between panels, not inside.
    """
    dist = secret.continuous
    inside = np.concatenate([dist.ppf(LEVELS), [dist.ppf(0.5)], dist.isf(LEVELS)])
    ends = window(secret)
    edges = np.unique(np.concatenate([np.clip(inside[np.isfinite(inside)], *ends), ends]))
    return _smooth_panels(lambda x: finite_or_zero(secret.density(x)), edges)


@lru_cache(maxsize=64)
def slivers(secret: "Secret") -> tuple[list[tuple[float, float]], float]:
    """Return (the panels too narrow for a rule, as pairs (place, mass), and the mass in doubt).

    Beside an end other than 0 that a density grows at without bound, doubles are too far apart to integrate it: what
    the other panels leave of the mass of 1 is there.
    """
    marks, x = quantile_marks(secret), secret.continuous
    thin = np.diff(marks) <= NARROW * np.maximum(np.abs(marks[1:]), np.abs(marks[:-1]))
    pairs = [(float(a), float(b)) for a, b in zip(marks[:-1][thin], marks[1:][thin], strict=True)]
    middle = float(x.ppf(0.5))
    masses = [float(x.cdf(b) - x.cdf(a) if a < middle else x.sf(a) - x.sf(b)) for a, b in pairs]
    value, error = integral(secret.density, marks)
    over = math.fsum([value, *masses, *(p for _, p in secret.atoms)]) - 1
    if not abs(over) <= _MOST_MISSED:
        hint = "some scipy.stats names are periodic (use vonmises_line); else give the secret as a sample."
        condition = "have a density with an integral of 1"
        raise DivulgeError.of("secret", condition, "that integral", f"{1 + over:.6g}", hint)
    share = math.fsum(masses)
    found = [(a, max(0.0, p * (1 - over / share))) for (a, _), p in zip(pairs, masses, strict=True) if share]
    return found, abs(over) + error if found else 0.0


def _smooth_panels(f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Return edges with more between them: panels with a kink inside are halved up to 30 times if it matters."""
    for _ in range(30):
        a, b = edges[:-1], edges[1:]
        rough = panels(lambda x: f(x)[None], a, b)[1][0] > 1e-12
        rough &= b - a > 1e-8 * (edges[-1] - edges[0])
        if not rough.any() or len(edges) > 48:
            break
        edges = np.sort(np.concatenate([edges, ((a + b) / 2)[rough]]))
    return edges


def expectation(secret: "Secret", f: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Return (E f(X), bound on its error) for a non-negative function of a continuous secret."""
    thin, missed = slivers(secret)
    value, error = integral(lambda x: secret.density(x) * f(x), quantile_marks(secret))
    there = f(np.array([place for place, _ in thin]))
    masses = np.array([mass for _, mass in thin])
    return value + float(masses @ there), error + missed * float(there.max(initial=0.0))


def _uniform_tilted(x: Any, t: float) -> float:
    """log((1 - e^{-h}) / h) for h = |t| (high - low)."""
    low, high = (float(end) for end in x.support())
    h = abs(t) * (high - low)
    return math.log(-math.expm1(-h) / h) if h else 0.0


LOG_TILTED: dict[str, Callable[[Any, float], float]] = {
    "norm": lambda x, t: t * float(x.mean()) + 0.5 * (t * float(x.std())) ** 2,
    "uniform": _uniform_tilted,
}
"""scipy name -> (frozen distribution, t) -> `log_tilted` in closed form."""


def mean(secret: Secret) -> float:
    """Return E X; NaN where it does not exist."""
    if secret.values is not None and secret.probabilities is not None:
        return float(secret.probabilities @ secret.values)
    if not secret.atoms:
        return float(secret.continuous.mean())
    body = expectation(secret, lambda x: x - secret.low)[0]
    return secret.low + body + math.fsum(p * (v - secret.low) for v, p in secret.atoms)


def cumulant(secret: Secret, t: float) -> float:
    """Return k(t) = log E e^{tX}; +inf where the expectation diverges."""
    end = secret.high if t > 0 else secret.low
    return log_tilted(secret, t)[0] + (t * end if math.isfinite(end) else 0.0)


def log_tilted(secret: Secret, t: float) -> tuple[float, float]:
    """Return (log E e^{t (X - end)}, an estimate of its error) for the `end` where e^{tX} is largest, or 0 if none.

    The error is 0, but for rounding, where the expectation is a sum or has a closed form.
    """
    end = secret.high if t > 0 else secret.low
    end = end if math.isfinite(end) else 0.0
    if secret.values is not None and secret.probabilities is not None:
        from scipy.special import logsumexp

        total: Any = logsumexp(t * (secret.values - end) + secret.log_probabilities)
        return float(total), 0.0
    closed = LOG_TILTED.get(secret.continuous.dist.name)
    if closed is not None and not secret.atoms:
        return closed(secret.continuous, t), 0.0
    body, error = expectation(secret, lambda x: np.exp(t * (x - end)))
    total = body + math.fsum(p * math.exp(t * (v - end)) for v, p in secret.atoms)
    if not total > 0:
        hint = "measure the secret and the noise in another unit, or use wider noise."
        condition = "be wide enough for the secret's exponential moment to be a double"
        raise DivulgeError.of("scale", condition, "E e^(tX) at t", f"{t:.3g}", hint)
    return math.log(total), error / total
