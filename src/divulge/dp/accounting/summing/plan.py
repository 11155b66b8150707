"""What a sum is like before it is computed: the moments of its parts, tilted, and the tilt that an answer asks for."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_COUNTS = 1e-12
"""The share of the variance of a sum from which on a part of it is asked whether it sits at its end."""

_RAREST = 695.0
"""-log of the chance of a sum so far out that doubles hardly tell it from 0: no tilt goes there."""


@dataclass(frozen=True)
class Plan:
    """What is known of a sum before it is computed: log E e^(s L) of its parts by finitely many atoms of each."""

    parts: tuple[tuple[np.ndarray, np.ndarray, int], ...]

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """Return log E e^(tilt S), and mean and variance of the tilted sum S."""
        cumulant, mean, variance = 0.0, 0.0, 0.0
        for losses, logs, count in self.parts:
            weights = logs + tilt * losses
            top = float(weights.max())
            weights = np.exp(weights - top)
            total = float(weights.sum())
            center = float(weights @ losses) / total
            cumulant += count * (top + math.log(total))
            mean += count * center
            variance += count * max(0.0, float(weights @ (losses - center) ** 2) / total)
        return cumulant, mean, variance

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(self.moments(0.0)[2])

    @cached_property
    def narrowest(self) -> float:
        """The variance of the part that varies least, of those that count; it is left when others sit at their end."""
        alone = [Plan((part,)).moments(0.0)[2] for part in self.parts]
        return min((variance for variance in alone if variance > _COUNTS * self.spread**2), default=0.0)

    def tilt(self, beyond: Callable[[float, float, float, float], bool]) -> float:
        """Return the largest s >= 0 found without `beyond(s, cumulant, mean, variance)`, which holds from some s on.

        Found by halving until the tilted sum moves by less than its own deviation, or jumps (a heavy tail), or all mass
        of every part sits at its largest loss, or out where doubles end.
        """

        def passed(s: float) -> bool:
            cumulant, mean, variance = self.moments(s)
            settled = variance < 1e-3 * self.narrowest or s * mean - cumulant > _RAREST
            return settled or beyond(s, cumulant, mean, variance)

        low, high = 0.0, 0.5 / max(self.spread, 1e-9)
        if passed(0.0):
            return 0.0
        while high < 1e9 and not passed(high):
            low, high = high, 2 * high
        while high - low > 0.01 * high:
            _, near, variance = self.moments(low)
            if abs(self.moments(high)[1] - near) < 0.5 * math.sqrt(variance):
                break
            middle = (low + high) / 2
            low, high = (low, middle) if passed(middle) else (middle, high)
        return low

    def for_epsilon(self, epsilon: float) -> float:
        """Return a tilt that moves the mean of the sum to about epsilon; 0 where it is there already."""
        return self.tilt(lambda s, cumulant, mean, variance: mean >= epsilon)

    def for_delta(self, log_delta: float) -> float:
        """Return a tilt at whose mean delta is about e^log_delta (saddle point)."""

        def beyond(s: float, cumulant: float, mean: float, variance: float) -> bool:
            return cumulant - s * mean - math.log1p(s * (s + 1) * math.sqrt(2 * math.pi * variance)) <= log_delta

        return self.tilt(beyond)
