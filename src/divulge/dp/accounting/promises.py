"""Releases of which only a promise is known: the worst mechanism that keeps it stands for them."""

import math
from dataclasses import dataclass

import numpy as np

from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.mechanisms import Mechanism
from divulge.errors import DivulgeError


@dataclass(frozen=True)
class AdpRelease(Mechanism):
    """A release that is (epsilon, delta)-differentially private.

    With probability delta it tells everything, else it is randomized response: this pair dominates every other.

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
        if not 0 <= self.epsilon < math.inf:
            raise DivulgeError.of("epsilon", "be at least 0 and finite", "it", str(self.epsilon))
        if not 0 <= self.delta <= 1:
            raise DivulgeError.of("delta", "be in [0, 1]", "it", str(self.delta))

    def losses(self) -> tuple[PrivacyLoss, ...]:
        low = (1.0 - self.delta) / (1.0 + math.exp(self.epsilon))
        high = (1.0 - self.delta) / (1.0 + math.exp(-self.epsilon))
        losses, p = np.array([-self.epsilon, self.epsilon]), np.array([low, high])
        if self.epsilon == 0:
            losses, p = np.zeros(1), np.array([1.0 - self.delta])
        if self.delta == 1:
            losses, p = np.zeros(0), np.zeros(0)
        return (AtomicLoss(losses, p, p[::-1], self.delta, self.delta, ("D", "D'")),)


@dataclass(frozen=True)
class ZcdpRelease(Mechanism):
    """A release that is rho-zCDP: D_alpha <= rho alpha for every alpha > 1.

    No one pair dominates every other; bounds from above come from the Renyi curve, bounds from below from the Gaussian
    mechanism with mu^2 = 2 rho, which keeps the promise with equality.

    Examples
    --------
    >>> (loss,) = ZcdpRelease(0.5).losses()
    >>> loss.renyi(3.0)
    1.5
    """

    rho: float

    def __post_init__(self) -> None:
        if not 0 <= self.rho < math.inf:
            raise DivulgeError.of("rho", "be at least 0 and finite", "it", str(self.rho))

    def losses(self) -> tuple[PrivacyLoss, ...]:
        return (GaussianLoss(math.sqrt(2.0 * self.rho)),) if self.rho > 0 else AdpRelease(0.0).losses()
