"""Convex functions of a likelihood ratio: in floats to full relative precision, and of fractions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from divulge import exact
from divulge.units import Unit

_NEAR = 0.125
"""Below this |t| the power series is used."""


def log_near(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return log u for a ratio u = 1 + t that is known to full precision both ways; -inf at 0."""
    with np.errstate(divide="ignore"):
        return np.where(np.abs(t) < 0.5, np.log1p(t), np.log(u))


def log_probabilities(p: np.ndarray) -> np.ndarray:
    """Return log p of distributions, the columns of p, and 0 where p = 0; the largest, near 1, as 1 less the others."""
    columns = np.arange(p.shape[1])
    top = p.argmax(axis=0)
    others = p.copy()
    others[top, columns] = 0.0
    logs = np.log(np.where(p > 0, p, 1.0))
    rest = others.sum(axis=0)
    logs[top, columns] = np.where(rest < 0.5, np.log1p(-np.minimum(rest, 0.5)), logs[top, columns])
    return logs


def kl_term(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return u log u - t for u = 1 + t >= 0."""
    with np.errstate(invalid="ignore"):
        out = np.where(u > 0, u * log_near(t, u) - t, 1.0)
    near = np.abs(t) < _NEAR
    s = t[near]
    series = np.zeros_like(s)
    for k in range(20, 1, -1):
        series = 1 / (k * (k - 1)) - s * series
    out[near] = s * s * series
    return out


def exp_term(s: np.ndarray) -> np.ndarray:
    """Return e^s - 1 - s."""
    series = np.ones_like(s)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(14, 2, -1):
            series = 1 + s / k * series
        return np.where(np.abs(s) < 2 * _NEAR, s * s / 2 * series, np.expm1(s) - s)


def power_term(t: np.ndarray, u: np.ndarray, a: float) -> np.ndarray:
    """Return u^a - 1 - a t for u = 1 + t >= 0 and a > 0: at least 0 for a > 1, at most 0 for a < 1."""
    logs = log_near(t, u)
    with np.errstate(invalid="ignore", over="ignore"):
        if a < 0.5:
            out = np.expm1(a * logs) - a * t
        else:
            out = np.where(u > 0, u * np.expm1((a - 1) * logs) - (a - 1) * t, a - 1)
    near = (np.abs(t) < _NEAR) & (np.abs(t) < 2 * _NEAR / a)
    s = t[near]
    series = np.ones_like(s)
    for k in range(24, 2, -1):
        series = 1 + (a - k + 1) / k * s * series
    out[near] = a * (a - 1) / 2 * s * s * series
    return out


def _reverse_kl_term(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return t - log u, near 1 as u f(1/u) with the term of Kullback-Leibler."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(np.abs(t) < 0.5, -t / u, 0.0)
        return np.where(np.abs(t) < 0.5, u * kl_term(inverse, 1 + inverse), t - log_near(t, u))


def _jensen_shannon_term(t: np.ndarray, u: np.ndarray) -> np.ndarray:
    half = t / (1 + u)
    return (1 + u) / 4 * (kl_term(half, 2 * u / (1 + u)) + kl_term(-half, 2 / (1 + u)))


def _log_ball(u: Fraction) -> Any:
    return exact.arb(u).log() if u > 0 else -exact.ball(math.inf)


def _kl_ball(u: Fraction) -> Any:
    return exact.arb(u) * _log_ball(u) if u > 0 else exact.arb(0)


def _jensen_shannon_ball(u: Fraction) -> Any:
    return (_kl_ball(u) - exact.arb(1 + u) * exact.arb((1 + u) / 2).log()) / 2


@dataclass(frozen=True)
class Convex:
    """A convex f with f(1) = 0.

    term : f(u) plus a multiple of t = u - 1, of float arrays t and u
    of_ratio : f of a Fraction, as a Fraction (`rational`) or a python-flint ball
    """

    term: Callable[[np.ndarray, np.ndarray], np.ndarray]
    of_ratio: Callable[[Fraction], Any]
    rational: bool = False
    logarithmic: bool = False

    def mean(self, terms: list[tuple[Fraction, Fraction]], unit: Unit) -> Any:
        """Return sum of w f(u) over pairs (w, u): a Fraction when `rational`, else correctly rounded."""
        moved = [(w, u) for w, u in terms if u != 1]
        if self.rational:
            return exact.total(w * self.of_ratio(u) for w, u in moved)
        if not moved:
            return 0.0
        return exact.rounded_log(
            lambda: sum((exact.arb(w) * self.of_ratio(u) for w, u in moved), start=exact.arb(0)),
            unit if self.logarithmic else "nats",
        )


DIVERGENCES: Mapping[str, Convex] = MappingProxyType(
    {
        "kl": Convex(kl_term, _kl_ball, logarithmic=True),
        "reverse-kl": Convex(_reverse_kl_term, lambda u: -_log_ball(u), logarithmic=True),
        "jensen-shannon": Convex(_jensen_shannon_term, _jensen_shannon_ball, logarithmic=True),
        "chi-squared": Convex(lambda t, u: t * t, lambda u: (u - 1) ** 2, rational=True),
        "neyman": Convex(lambda t, u: t * (t / u), lambda u: exact.ball((u - 1) ** 2 / u if u > 0 else math.inf)),
        "total-variation": Convex(lambda t, u: np.abs(t) / 2, lambda u: abs(u - 1) / 2, rational=True),
        "hellinger": Convex(lambda t, u: (t / (np.sqrt(u) + 1)) ** 2, lambda u: (exact.arb(u).sqrt() - 1) ** 2),
        "le-cam": Convex(lambda t, u: t * (t / (1 + u)) / 2, lambda u: (u - 1) ** 2 / (2 * (u + 1)), rational=True),
    }
)
"""Name -> f(u). "hellinger" is (sqrt(u) - 1)^2, "le-cam" (u - 1)^2 / (2 (u + 1)), "neyman" (u - 1)^2 / u."""
