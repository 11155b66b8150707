"""Distributions of scipy.stats by formulas that keep their digits where scipy's own lose them."""

from typing import Any

import numpy as np
from scipy import special, stats

_CANCELS = 1 / 16
"""What is left of two terms where a formula without a difference takes their place: a digit is lost, no more."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
"""Of an integral over at most 18 deviations of a normal density: the next ones change less than 1e-15 of it."""

_REACH = 9.0
"""Deviations beyond which a normal density adds less than 1e-17 of the integral."""


def _below(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return P(Z + K E <= x), the integral over t > 0 of phi(x - t) (1 - e^(-t / K)): all terms are above 0."""
    low = np.maximum(x - _REACH, 0.0)
    high = np.where(x > 0, x + _REACH, x + np.sqrt(x * x + _REACH**2))  # t (t - 2 x) = 9^2 there
    half = (high - low) / 2
    t = (low + half)[:, None] + half[:, None] * _NODES
    falls = np.exp(-((t - x[:, None]) ** 2) / 2) * -np.expm1(-t / share[:, None])
    return falls @ _WEIGHTS * half / np.sqrt(2 * np.pi)


class _ExponNorm(type(stats.exponnorm)):
    """A standard normal Z plus K times a standard exponential, by e^(u^2) P(Z > sqrt(2) u) of u = (1/K - x) / sqrt(2).

    scipy takes 1 / 2K^2 - x/K and the log of a normal tail, which nearly cancel where K is small: of K = 1e-8 nothing
    is left. Where x > 1/K nothing cancels. A large K leaves little of the difference that is the distribution function.
    """

    def _logpdf(self, x: Any, K: Any) -> Any:
        u = (1 / K - x) / np.sqrt(2)
        with np.errstate(all="ignore"):
            body = np.log(special.erfcx(np.maximum(u, 0.0)) / 2) - x * x / 2
            beyond = (1 / K / 2 - x) / K + special.log_ndtr(x - 1 / K)
        return np.where(u >= 0, body, beyond) - np.log(K)

    def _pdf(self, x: Any, K: Any) -> Any:
        return np.exp(self._logpdf(x, K))

    def _cdf(self, x: Any, K: Any) -> Any:
        whole, taken = special.ndtr(x), K * self._pdf(x, K)
        out = np.array(np.maximum(whole - taken, 0.0))
        some = np.nonzero(out < _CANCELS * whole)
        out[some] = _below(*(np.broadcast_to(v, out.shape)[some] for v in (x, K)))
        return out

    def _sf(self, x: Any, K: Any) -> Any:
        return special.ndtr(-x) + K * self._pdf(x, K)


_STEADY: dict[type, Any] = {type(stats.exponnorm): _ExponNorm(name="exponnorm")}
"""Class of a distribution of scipy.stats -> the same with its digits."""


def steady(distribution: Any) -> Any:
    """Return a frozen distribution with all its digits; one that is not in the table as it is.

    >>> near = steady(stats.exponnorm(1e-8))  # nearly normal
    >>> round(float(near.pdf(1.0) / stats.norm.pdf(1.0)), 12), steady(stats.gumbel_r(2.0)).dist is stats.gumbel_r
    (1.00000001, False)
    """
    found = _STEADY.get(type(getattr(distribution, "dist", None)))
    return distribution if found is None else found(*distribution.args, **distribution.kwds)
