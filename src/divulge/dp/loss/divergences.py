"""The f-divergences that have a name: what measures, programs and theorems need of each, as data.

Every f is convex with f(1) = f'(1) = 0, which adding a multiple of r - 1 achieves without changing the divergence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.measures.numeric import convex

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Divergence:
    """D_f(P || Q) = E_Q[f(P/Q)] by its f."""

    title: str
    term: Callable[[np.ndarray, np.ndarray], np.ndarray]  # f(r) from r - 1 and r >= 0, to as many digits as these have
    ball: Callable[[Any], Any]  # f on a ball r > 0
    zero: float  # f(0), what outcomes that only Q shows are charged
    slope: float  # lim f(r) / r, for outcomes that only P shows
    conjugate: Function  # f*, +inf beyond `slope`
    conjugate_slope: Function
    conjugate_curvature: Function
    gaussian: Callable[[Any], Any] | None = None  # the divergence of N(0, 1) and N(mu, 1) of a ball mu, in closed form
    symmetric: bool = True
    over: Function | None = None  # f(e^t) / e^t, where the divergence is not symmetric

    def f(self, r: np.ndarray) -> np.ndarray:
        """Return f(r)."""
        return self.term(r - 1.0, r)

    def per_ratio(self, t: np.ndarray) -> np.ndarray:
        """Return f(r) / r at r = e^t; of a symmetric divergence that is f(1/r)."""
        return self.term(np.expm1(-t), np.exp(-t)) if self.over is None else self.over(t)

    @property
    def largest(self) -> float:
        """The divergence of two distributions that have no outcome in common, f(0) + slope."""
        return self.zero + self.slope


def _below(limit: float, function: Function) -> Function:
    """Return the function on s < limit, +inf from there on."""

    def cut(s: np.ndarray) -> np.ndarray:
        return np.where(s < limit, function(np.minimum(s, limit - 1e-15)), math.inf)

    return cut


_HALF_LOG_2 = math.log(2.0) / 2

DIVERGENCES: dict[str, Divergence] = {
    "jensen-shannon": Divergence(
        "Jensen-Shannon divergence, the mean of KL(P || M) and KL(Q || M) with M = (P + Q) / 2, in nats",
        convex.DIVERGENCES["jensen-shannon"].term,
        lambda r: (r * r.log() - (1 + r) * ((1 + r) / 2).log()) / 2,
        _HALF_LOG_2,
        _HALF_LOG_2,
        _below(_HALF_LOG_2, lambda s: -np.log(2.0 - np.exp(2 * s)) / 2),
        lambda s: np.exp(2 * s) / (2.0 - np.exp(2 * s)),
        lambda s: 4 * np.exp(2 * s) / (2.0 - np.exp(2 * s)) ** 2,
    ),
    "hellinger": Divergence(
        "squared Hellinger distance, sum (sqrt p - sqrt q)^2",
        convex.DIVERGENCES["hellinger"].term,
        lambda r: (r.sqrt() - 1) ** 2,
        1.0,
        1.0,
        _below(1.0, lambda s: s / (1.0 - s)),
        lambda s: (1.0 - s) ** -2.0,
        lambda s: 2 * (1.0 - s) ** -3.0,
        gaussian=lambda mu: -2 * (-mu * mu / 8).expm1(),
    ),
    "kl": Divergence(
        "Kullback-Leibler divergence, sum p log p/q, in nats",
        convex.DIVERGENCES["kl"].term,
        lambda r: r * r.log() - r + 1,
        1.0,
        math.inf,
        np.expm1,
        np.exp,
        np.exp,
        gaussian=lambda mu: mu * mu / 2,
        symmetric=False,
        over=lambda t: convex.exp_term(-t),
    ),
    "chi-squared": Divergence(
        "chi^2 divergence, sum (p - q)^2 / q",
        convex.DIVERGENCES["chi-squared"].term,
        lambda r: (r - 1) ** 2,
        1.0,
        math.inf,
        lambda s: np.where(s >= -2.0, s + s * s / 4, -1.0),
        lambda s: np.maximum(1.0 + s / 2, 0.0),
        lambda s: np.where(s > -2.0, 0.5, 0.0),
        gaussian=lambda mu: (mu * mu).expm1(),
        symmetric=False,
        over=lambda t: 4 * np.sinh(t / 2) ** 2,
    ),
}
"""Name -> divergence, in the order of how convex each is in the square of (p - q) / (p + q); see `theorems`."""


def divergence_named(name: Any, argument: str = "f") -> Divergence:
    """Return the divergence with this name."""
    if not isinstance(name, str) or name not in DIVERGENCES:
        raise DivulgeError.unknown(argument, name, DIVERGENCES)
    return DIVERGENCES[name]
