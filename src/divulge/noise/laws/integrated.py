"""log f(y) as an integral over a continuous secret, many outcomes at a time, with an estimate of its error."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import Noise
from divulge.noise.quadrature import NARROW, integrals
from divulge.noise.secrets.expectations import LEVELS, quantile_marks, slivers
from divulge.noise.secrets.secret import SMALLEST, Secret

_CHUNK = 256
"""Outcomes that are integrated at a time: enough to hide Python's time per call; the panels of more fill memory."""

LogGiven = Callable[[np.ndarray, np.ndarray], np.ndarray]


def log_mixture(
    secret: "Secret", noise: "Noise", y: np.ndarray, log_scale: np.ndarray, log_given: LogGiven
) -> tuple[np.ndarray, np.ndarray]:
    """Return (log E exp(g(X, i)), estimate of its error) for each y_i; g(x, i) = `log_given` is about log f(y_i | x).

    `log_scale` is about max_x g(x, i): it is taken out so that nothing underflows.
    """
    fixed = quantile_marks(secret)
    out, err = np.empty(len(y)), np.empty(len(y))
    for start in range(0, len(y), _CHUNK):
        part = slice(start, start + _CHUNK)
        near = y[part, None] + noise.marks(float(fixed[-1] - fixed[0]))
        edges = np.hstack([np.broadcast_to(fixed, (len(near), len(fixed))), near])

        def given(x: np.ndarray, row: np.ndarray, start: int = start) -> np.ndarray:
            return log_given(x, start + row)

        def integrand(x: np.ndarray, row: np.ndarray, start: int = start) -> np.ndarray:
            return secret.density(x) * np.exp(log_given(x, start + row) - log_scale[start + row])

        value, error = integrals(integrand, np.sort(np.clip(edges, fixed[0], fixed[-1]), axis=1))
        out[part], err[part] = _log_with_slivers(secret, value, error, log_scale[part], given)
    return out, err


def _log_with_slivers(
    secret: "Secret", value: np.ndarray, error: np.ndarray, top: np.ndarray, log_given: LogGiven
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log of (value + what the slivers add) e^top, and its error."""
    (thin, missed), row = slivers(secret), np.arange(len(top))
    for place, mass in thin:
        there = np.exp(log_given(np.full(len(top), place), row) - top)
        value, error = value + mass * there, error + missed * there
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(value) + top, np.where(value > 0, error / value, math.inf)


def beyond(secret: "Secret", y: np.ndarray) -> np.ndarray:
    """Return whether y lies further out than all secrets but 1e-30 of them."""
    first, last = _outermost(secret)
    return (y < first) | (y > last)


@lru_cache(maxsize=64)
def _outermost(secret: "Secret") -> tuple[float, float]:
    return float(secret.continuous.ppf(LEVELS[0])), float(secret.continuous.isf(LEVELS[0]))


def window_matters(secret: "Secret", log_f: np.ndarray, log_best: np.ndarray) -> np.ndarray:
    """Return whether what lies outside the window can be more than 1e-13 of f(y): 1e-30 of the mass on either side."""
    with np.errstate(invalid="ignore"):  # an outcome that cannot occur
        return (log_best - log_f > math.log(1e-13 / LEVELS[0])) & (not secret.bounded)


def log_far(secret: "Secret", noise: "Noise", y: np.ndarray, log_given: LogGiven) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `log_mixture` for y far from nearly all secrets, where those that count may lie anywhere.

    They are looked for first. Of secrets nearer to a possible y than to the median, the noise y - x is integrated over:
    doubles are too far apart there to tell the secrets from each other.
    """
    fixed, middle = quantile_marks(secret), float(secret.continuous.ppf(0.5))
    inside, right = (y > secret.low) & (y < secret.high), y > middle
    half = np.where(inside, (y + middle) / 2, np.clip(y, fixed[0], fixed[-1]))

    def log_at_secret(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        return secret.log_density(x) + log_given(x, row)

    ends = np.where(right, np.minimum(fixed[0], half), half), np.where(right, half, np.maximum(fixed[-1], half))
    edges, top, x = peaks(log_at_secret, _between(np.broadcast_to(fixed, (len(y), len(fixed))), *ends))

    at, v, h = np.flatnonzero(inside), y[inside], (y - half)[inside]
    start = float(noise.log_density(np.zeros(1))[0]) if noise.log_ratio is not None else 0.0

    def log_at_noise(z: np.ndarray, row: np.ndarray) -> np.ndarray:
        return secret.log_density(v[row] - z) + noise.log_density(z) - start

    z = np.hstack([np.broadcast_to(noise.far_marks, (len(at), len(noise.far_marks))), v[:, None] - fixed])
    z = _between(z, np.where(h > 0, z.min(axis=1), h), np.where(h > 0, h, z.max(axis=1)))
    near_edges, near_top, best = peaks(log_at_noise, z)

    x[at] = np.where(near_top > top[at], v - best, x[at])
    if secret.ends_with_doubles and (secret.log_density(x) <= SMALLEST).any():
        hint = "scipy.stats has no log density for this distribution: ask about outcomes less far out."
        condition = "be an outcome near enough to the secrets"
        raise DivulgeError.of("y", condition, "the density of a secret", "below the smallest double", hint)
    top[at] = np.maximum(top[at], near_top)
    value, error = integrals(lambda x, row: np.exp(log_at_secret(x, row) - top[row]), edges)
    more = integrals(lambda z, row: np.exp(log_at_noise(z, row) - top[at][row]), near_edges, beside=value[at])
    value[at], error[at] = value[at] + more[0], error[at] + more[1]
    return _log_with_slivers(secret, value, error, top, log_given)


def _between(edges: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the edges in [low, high] and these ends, in rising order along each row."""
    return np.sort(np.clip(np.column_stack([low, edges, high]), low[:, None], high[:, None]), axis=1)


_ZOOMS = 9
"""Zooms on the peak, of two of sixteen panels each: 8^9 = 1.3e8, so that a peak of 1e-8 of the range is seen."""


def peaks(log_f: LogGiven, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (edges and shorter and shorter panels around the peak of log f, log f there, where), each row on its own.

    No panel is cut that is near too short for a rule.
    """
    rows, x, nested = np.arange(len(edges)), edges, [edges]
    top, where = np.full(len(edges), -math.inf), edges[:, 0]
    for _ in range(_ZOOMS):
        found = log_f(x, rows[:, None])
        found = np.where(np.isfinite(found), found, -math.inf)
        at = found.argmax(axis=1)
        higher = found[rows, at] > top
        top, where = np.where(higher, found[rows, at], top), np.where(higher, x[rows, at], where)
        low, high = x[rows, np.maximum(at - 1, 0)], x[rows, np.minimum(at + 1, x.shape[1] - 1)]
        wide = high - low > 100 * NARROW * np.maximum(np.abs(low), np.abs(high))
        x = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 17)
        nested.append(np.where(wide[:, None], x[:, [0, 8, 16]], edges[:, :1]))
    return np.sort(np.hstack(nested), axis=1), np.where(np.isfinite(top), top, 0.0), where
