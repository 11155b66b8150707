"""Sums of more losses than a grid has cells for: a normal law with a proved error, one large loss, Renyi bounds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.dp.accounting.promises import Promises
from divulge.dp.accounting.summing.sums import Sum, log_or_none
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

_SURE = 1e-9
"""More than the relative rounding of a delta and of a tail of one loss, and of sums of them."""

_LEAST = np.finfo(float).tiny
"""Probabilities below are rounded by more than a share of themselves, or to 0, whose logarithm is none."""

_PARTS = np.geomspace(0.02, 10.0, 20)
"""Shares of what others add that are tried for what is no large loss among them. A heuristic: all hold."""

_NEARLY = 0.2
"""Others add more than this share of epsilon, or one loss is nearly all of it: from here on it is tried how much."""

_PLACES = np.geomspace(1e-9, 500.0, 200)
"""Epsilons at which delta is bounded from below once; what others may add to a large loss. A heuristic: all hold."""

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
class OneJump:
    """delta(epsilon) of a sum of many small losses of which one alone may be large, as of those of rare samples.

    From below by the test whether one of the losses is above epsilon, of which P says at least N - N^2 / 2 for
    N = sum P(L_k > epsilon), and Q at most sum Q(L_k > epsilon) (Bonferroni). From above, for any places
    x_0 < ... < x_k: no loss is above epsilon - x_k and the sum above epsilon; or a loss lies between epsilon - x_(i+1)
    and epsilon - x_i, or above, and the others add more than x_i; or less than x_0. They add more than x where one of
    them is above t, or by chance: none is and their sum is above x, at most exp(-(v / t^2) h(a t / v)) for
    h(u) = (1 + u) log(1 + u) - u, a sum of means a below what is asked, and v = sum E L_k^2 (Bennett's inequality).
    """

    parts: tuple[tuple[PrivacyLoss, int], ...]
    mean: float
    squares: float

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the logarithm of a bound on delta(epsilon)."""
        if side < 0:
            after = float(self._below[1][np.searchsorted(self._below[0], epsilon) :].max(initial=0.0))
            own = float(self._test(np.array([epsilon]))[0]) if 0 < epsilon < math.inf else 0.0
            return log_or_none(max(own, after))
        if not 0 < epsilon < math.inf:
            return 0.0
        x, more = _PLACES[epsilon > _PLACES], self._more[epsilon > _PLACES]
        t = epsilon - x
        alone, moved = self._total(lambda loss: loss.tail(t)), self._total(lambda loss: loss.delta(t))
        between, least = alone[1:] * more[:-1], 1.0
        for k in np.flatnonzero(x > _NEARLY * epsilon).tolist():
            met = np.append(np.cumsum(between[:k][::-1])[::-1], 0.0)
            found = moved[: k + 1] + alone[: k + 1] * more[: k + 1] + met
            least = min(least, float(found.min()) + float(self._chance(epsilon, t[k])))
        return min(0.0, math.log(least * (1 + _SURE) + _LEAST))

    @cached_property
    def _more(self) -> np.ndarray:
        """Bounds on the chance that all losses, or all but one, add more than each of the places."""
        x = _PLACES[:, None]
        largest = x * _PARTS
        return np.minimum(self._total(lambda loss: loss.tail(largest)) + self._chance(x, largest), 1.0).min(axis=1)

    @cached_property
    def _below(self) -> tuple[np.ndarray, np.ndarray]:
        """Return places, and bounds from below there: delta falls, so that those further up hold too."""
        return _PLACES, self._test(_PLACES)

    def _test(self, epsilon: np.ndarray) -> np.ndarray:
        many = self._total(lambda loss: loss.tail(epsilon))
        return np.maximum(self._total(lambda loss: loss.delta(epsilon)) * (1 - _SURE) - many * many / 2, 0.0)

    def _total(self, of: Callable[[PrivacyLoss], Any]) -> Any:
        return sum(count * of(loss) for loss, count in self.parts)

    def _chance(self, least: Any, largest: Any) -> Any:
        """Return a bound on P(the sum is above `least`, no loss above `largest`)."""
        above = np.maximum(least - self.mean, 0.0) * largest / self.squares
        return np.exp(-(self.squares / largest**2) * ((1 + above) * np.log1p(above) - above))


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
    unknown = any(
        isinstance(loss, (PromisedLoss, DensityLoss)) or loss.infinite > 0 or loss.enclosing[0] is not loss
        for loss, _ in parts
    )
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
        slack = _ROUNDED * (1 + mean + variance)
        squares = math.fsum(n * (v + m * m) for n, _, m, v in moments)
        found.append(OneJump(tuple(parts), mean + slack, squares * (1 + 1e-6) + slack * slack))
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
