"""Sums of more losses than a grid has cells for: the normal distribution with a proved error, and Renyi bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from divulge.dp.accounting.promises import Promises
from divulge.dp.accounting.sums import Sum, log_or_none
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss, LaplaceLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss

MANY = 10**6
"""From so many losses on the normal distribution is asked beside the grid."""

_BERRY_ESSEEN = 0.56
"""sup |F - Phi| <= this sum E|X_k|^3 / (sum E X_k^2)^(3/2) for independent X_k of mean 0 (Shevtsova 2010, proved)."""

_ROUNDED = 1e-11
"""More than the relative rounding of means and variances."""

_SHORT = 1000
"""Renyi divergences of so many atoms are cheap."""


@dataclass(frozen=True)
class NormalSum:
    """delta(epsilon) of a normal sum S, less and more the error: with F and Phi apart by d, delta is by d at most.

    delta(x) = E (1 - e^(x - S))_+ is the integral of e^(x - s) P(S > s) over s > x, whose weights add up to 1.
    """

    mean: float
    spread: float
    error: float

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the logarithm of a bound on delta(epsilon)."""
        from scipy.special import log_ndtr, ndtr

        z, s = (self.mean - epsilon) / self.spread, self.spread
        log_back = epsilon - self.mean + s * s / 2 + float(log_ndtr(z - s))
        delta = float(ndtr(z)) - math.exp(min(log_back, 0.0))
        return min(0.0, log_or_none(min(max(delta, 0.0) + side * self.error, 1.0)))


@dataclass(frozen=True)
class RenyiSum:
    """delta(epsilon) from above by the Renyi divergences of the parts, which add."""

    promises: Promises

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the logarithm of a bound from above; nothing from below."""
        return log_or_none(self.promises.delta(epsilon)) if side > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class BestSum:
    """The best of several bounds on delta: the least from above, the greatest from below."""

    bounds: tuple[Sum, ...]

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the best of the logarithms."""
        logs = [float(bound.log_delta(epsilon, side)) for bound in self.bounds]
        return min(logs) if side > 0 else max(logs)


def of_many(parts: Sequence[tuple[PrivacyLoss, int]]) -> tuple[Sum, ...]:
    """Return what is known of a sum of very many losses without a grid; nothing of few, or where moments are not."""
    unknown = any(isinstance(loss, (PromisedLoss, DensityLoss)) or loss.infinite > 0 for loss, _ in parts)
    if unknown or sum(count for _, count in parts) < MANY:
        return ()
    found: list[Sum] = []
    moments = [(count, loss, loss.mean(), loss.variance()) for loss, count in parts]
    mean, variance = math.fsum(n * m for n, _, m, _ in moments), math.fsum(n * v for n, _, _, v in moments)
    if variance > 0 and math.isfinite(mean + variance):
        third = math.fsum(n * _third(loss, m, v) for n, loss, m, v in moments)
        error = _BERRY_ESSEEN * third / variance**1.5 + _ROUNDED * (1 + mean + variance)
        if error < 1:
            found.append(NormalSum(mean, math.sqrt(variance), error * (1 + 1e-9)))
    if all(_is_cheap(loss) for loss, _ in parts):
        found.append(RenyiSum(Promises(tuple(parts))))
    return tuple(found)


def _third(loss: PrivacyLoss, mean: float, variance: float) -> float:
    """Return E|L - mean|^3, or a bound on it: the range of the losses times their variance."""
    width = loss.highest - loss.lowest
    by_range = width * variance if width < math.inf else math.inf
    return min(by_range, loss.expect(lambda t: np.abs(t - mean) ** 3, (mean,)) * (1 + 1e-6))


def _is_cheap(loss: PrivacyLoss) -> bool:
    """Say whether a Renyi divergence takes no time: it is asked for at many orders and epsilons."""
    return len(loss.losses) <= _SHORT if isinstance(loss, AtomicLoss) else isinstance(loss, GaussianLoss | LaplaceLoss)
