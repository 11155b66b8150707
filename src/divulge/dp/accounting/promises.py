"""Releases of which only a promise is known: answers follow from the promise, and nothing else is answered."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.knowledge import Known
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.lattice import LatticeLoss, log_sum
from divulge.dp.loss.pair import SMALLEST, PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss, RenyiCurve, promised
from divulge.dp.mechanisms import LARGEST, Mechanism
from divulge.errors import DivulgeError


@dataclass(frozen=True)
class AdpRelease(Mechanism):
    """A release that is (epsilon, delta)-differentially private.

    With probability delta it tells everything, else it is randomized response: this pair dominates every other. What is
    released is unknown, so there are no bounds from below.

    References
    ----------
    Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", arXiv:1311.0776.

    Examples
    --------
    >>> (loss,) = AdpRelease(1.0, 0.25).losses()
    >>> loss.delta(1.0), loss.infinite
    (0.25, 0.25)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= LARGEST:
            raise DivulgeError.of("epsilon", f"be from 0 to {LARGEST:g}", "it", str(self.epsilon))
        if not 0 <= self.delta <= 1:
            raise DivulgeError.of("delta", "be in [0, 1]", "it", str(self.delta))

    def losses(self) -> tuple[PrivacyLoss, ...]:
        odds = math.exp(-self.epsilon)
        p = (1.0 - self.delta) * np.array([odds, 1.0]) / (1.0 + odds)
        losses = np.array([-1.0, 1.0]) * float(self.epsilon)
        if self.epsilon == 0:
            losses, p = np.zeros(1), np.array([1.0 - self.delta])
        if self.delta == 1:
            losses, p = np.zeros(0), np.zeros(0)
        known: dict[str, Any] = {"known": Known.PROMISE, "below": False, "stated": Fraction(self.epsilon)}
        return (AtomicLoss(losses, p, p[::-1], self.delta, self.delta, ("D", "D'"), **known),)


@dataclass(frozen=True)
class ZcdpRelease(Mechanism):
    """A release that is rho-zCDP: D_alpha <= rho alpha for every alpha > 1.

    Nothing but the promise is known: answers are bounds from above, by theorems on the Renyi curve, and there are none
    from below.

    References
    ----------
    Bun, Steinke, "Concentrated Differential Privacy", arXiv:1605.02065.

    Examples
    --------
    >>> (loss,) = ZcdpRelease(0.5).losses()
    >>> loss.renyi(3.0)
    1.5
    """

    rho: float

    def __post_init__(self) -> None:
        if not 0 <= self.rho <= LARGEST:
            raise DivulgeError.of("rho", f"be from 0 to {LARGEST:g}", "it", str(self.rho))

    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (promised(RenyiCurve(self.rho)),)


@dataclass(frozen=True)
class RenyiRelease(Mechanism):
    """A release with D_alpha <= epsilon at an order alpha > 1, or at several, in both orders of the neighbors.

    Between two orders (alpha - 1) D_alpha lies below its chord, below the least one D_alpha is at most what it is
    there; of larger orders nothing is known.

    References
    ----------
    Mironov, "Renyi Differential Privacy", arXiv:1702.07476.

    Examples
    --------
    >>> (loss,) = RenyiRelease((2.0, 8.0), (0.1, 0.5)).losses()
    >>> loss.renyi(2.0), loss.renyi(8.0), loss.renyi(9.0)
    (0.1, 0.5, inf)
    """

    alpha: float | tuple[float, ...]
    epsilon: float | tuple[float, ...]

    def __post_init__(self) -> None:
        pairs = self._points()
        if not pairs or len(np.atleast_1d(self.alpha)) != len(np.atleast_1d(self.epsilon)):
            raise DivulgeError.of("epsilon", "have one number for each order", "it", repr(self.epsilon)[:60])
        for alpha, epsilon in pairs:
            if not 1 < alpha <= LARGEST:
                raise DivulgeError.of("alpha", f"be above 1 and at most {LARGEST:g}", "it", str(alpha))
            if not 0 <= epsilon <= LARGEST:
                raise DivulgeError.of("epsilon", f"be from 0 to {LARGEST:g}", "it", str(epsilon))

    def _points(self) -> list[tuple[float, float]]:
        pairs = zip(np.atleast_1d(self.alpha), np.atleast_1d(self.epsilon), strict=False)
        return sorted((exact.as_float(alpha), exact.as_float(epsilon)) for alpha, epsilon in pairs)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (promised(RenyiCurve(points=tuple(self._points()))),)


@dataclass(frozen=True)
class Promises:
    """Bounds on a composition by its Renyi divergences, which add, whatever is known of each part."""

    parts: tuple[tuple[PrivacyLoss, int], ...]

    def _moments(self, h: float) -> float:
        """Return log E e^(h L) of the finite losses of all parts, from above."""
        return math.fsum(count * _log_moment(loss, h) for loss, count in self.parts)

    def _moments_at(self, log_h: float) -> float:
        return self._moments(math.exp(log_h))

    @cached_property
    def _missed(self) -> float:
        """The mass of infinite losses of the parts that have no Renyi curve, from above."""
        masses = [(loss.infinite, n) for loss, n in self.parts if not isinstance(loss, PromisedLoss)]
        return abs(math.expm1(math.fsum(n * math.log1p(-min(m, 1 - 1e-16)) for m, n in masses))) * (1 + 1e-14)

    def delta(self, epsilon: float) -> float:
        """Return missed + min over h of e^(log E e^(h L) - h epsilon) (h / (1 + h))^h / (1 + h), at most 1."""

        if epsilon == math.inf:  # a bounded divergence of any order leaves no infinite loss
            return self._missed if self._least(self._moments_at) < math.inf else 1.0

        def bound(log_h: float) -> float:
            h = math.exp(log_h)
            return self._moments(h) - h * (epsilon + math.log1p(1 / h)) - math.log1p(h)

        pure = epsilon >= math.fsum(n * loss.renyi(math.inf) for loss, n in self.parts) * (1 + 1e-12)
        least = 0.0 if pure else SMALLEST
        return min(1.0, self._missed + max(math.exp(min(0.0, self._least(bound))) * (1 + 1e-12), least))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon >= 0 that the Renyi divergences prove at delta."""
        left = delta - self._missed
        if not left > 0:
            return math.inf

        def bound(log_h: float) -> float:
            h = math.exp(log_h)
            return (self._moments(h) - math.log(left) - math.log1p(h)) / h - math.log1p(1 / h)

        return float(max(0.0, self._least(bound)) * (1 + 1e-12))

    def _least(self, bound: Callable[[float], float]) -> float:
        """Return about the least bound over orders, from a coarse grid and Brent's method; each value is sound."""
        from scipy.optimize import minimize_scalar

        rho = math.fsum(n * loss.rate for loss, n in self.parts)
        scale = 0.5 * abs(math.log(rho)) if 0 < rho < math.inf else 0.0
        grid = np.linspace(math.log(1e-4) - scale, math.log(1e6) + scale, 64)
        given = [
            curve.points for loss, _ in self.parts if isinstance(curve := getattr(loss, "curve", None), RenyiCurve)
        ]
        grid = np.union1d(grid, [math.log(alpha - 1) for points in given for alpha, _ in points if alpha < math.inf])
        values = [bound(x) for x in grid.tolist()]
        at = int(np.argmin(values))
        best = float(values[at])
        if not math.isfinite(best):
            return best
        far = best + 1e3 * (1 + abs(best))
        ends = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        found: Any = minimize_scalar(lambda x: min(bound(x), far), bounds=ends, method="bounded")
        return float(min(best, found.fun))


def _log_moment(loss: PrivacyLoss, h: float) -> float:
    """Return log E_P[e^(h L); L < inf], or what a promise says of it."""
    if not isinstance(loss, AtomicLoss) or isinstance(loss, (PromisedLoss, LatticeLoss)):
        return h * loss.renyi(1.0 + h)
    return log_sum(h * loss.losses + loss.logs[0])
