"""What Renyi divergences of some orders prove of a pair of rows: a hundredth of the work of a sum, for many pairs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from divulge.dp.accounting.directions import infinite_mass
from divulge.dp.accounting.summing.merging import Part
from divulge.dp.loss.atoms import AtomicLoss

_STEPS = np.geomspace(1e-3, 1e3, 32)[:, None]
"""Orders less 1 that are asked: every one proves something, and the best of them nearly as much as the best of all."""

_UNSURE = 1e-9
"""By more than a bound is off by rounding once its exponent is known, relatively."""

_ROUNDING = 2.0**-48
"""By more than sums and products are off, relative to the largest number in them: of a million losses that cancel this
counts a million times."""


@dataclass(frozen=True)
class Screen:
    """Upper bounds on delta(epsilon) and epsilon(delta) of a sum of finitely many losses.

    moments : log E[e^(h L); L < inf] of the sum, for each h of `_STEPS`, rounded up
    missed : the mass of the infinite losses
    """

    moments: np.ndarray
    missed: float

    @classmethod
    def of(cls, parts: Sequence[Part]) -> "Screen":
        """Return what is known of a sum whose losses are all `AtomicLoss`."""
        moments = np.zeros(len(_STEPS))
        for loss, count in parts:
            assert isinstance(loss, AtomicLoss)
            moment = np.logaddexp.reduce(_STEPS * loss.losses + loss.logs[0], axis=1, initial=-math.inf)
            far, rare = (float(np.abs(values).max(initial=0.0)) for values in (loss.losses, loss.logs[0]))
            moments += count * (moment + _ROUNDING * (_STEPS[:, 0] * far + rare + 1))
        return cls(moments, infinite_mass(tuple(parts)).upper)

    def delta(self, epsilon: float) -> float:
        """Return missed + min over h of e^(log E e^(h L) - h epsilon) (h / (1 + h))^h / (1 + h), at most 1.

        >>> loss = AtomicLoss.of_rows(np.array([0.75, 0.25]), np.array([0.25, 0.75]))
        >>> loss.delta(0.5) <= Screen.of([(loss, 1)]).delta(0.5) <= 1
        True
        """
        h = _STEPS[:, 0]
        above = self.moments + _ROUNDING * (np.nan_to_num(np.abs(self.moments), posinf=0.0) + h * abs(epsilon))
        least = float((above - h * (epsilon + np.log1p(1 / h)) - np.log1p(h)).min())
        return min(1.0, (self.missed + math.exp(min(0.0, least))) * (1 + _UNSURE))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon >= 0 that the orders prove at delta."""
        left, h = delta - self.missed, _STEPS[:, 0]
        if not left > 0:
            return math.inf
        above = self.moments + _ROUNDING * np.nan_to_num(np.abs(self.moments), posinf=0.0)
        least = float(((above - math.log(left) - np.log1p(h)) / h - np.log1p(1 / h)).min())
        return max(0.0, least) * (1 + _UNSURE)
