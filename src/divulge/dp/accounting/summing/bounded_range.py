"""Exponential mechanisms of one epsilon, chosen adaptively: delta by dynamic programming over their worst answers.

Given what came before, the losses of one of them lie in [t - e, t] for some t in [0, e] (bounded range), and what the
others do later makes delta a convex function of e^-loss: two answers, with losses t and t - e, are the worst, and

    delta_k(x) = max over t of p_t delta_(k - 1)(x - t) + (1 - p_t) delta_(k - 1)(x - t + e),
    p_t = (e^e - e^t) / (e^e - 1), delta_0(x) = (1 - e^x)_+.

Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms" (2020), solve it for lists
that are fixed beforehand, where all t are equal. The dominating pair of one mechanism, which is that of no mechanism,
composes to more: epsilon 1.768 for 50 mechanisms of .1 at delta 1e-6, where this is 1.540 and fixed lists have 1.534.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from divulge.dp.accounting.summing.sums import log_or_none

_WORK = 1.5e7
"""Cells of all tables together: half a second."""

_FEWEST, _MOST = 2, 96
"""Cells between 0 and epsilon: with fewer the dominating pair is as good, more change no digit that is shown."""

_ROUNDED = 1e-14
"""More than the relative rounding of a step, whose terms have one sign."""


_WIDEST = 700.0
"""Largest exponent of which e to it is taken."""


def cells_of(epsilon: float, count: int) -> int:
    """Return into how many cells epsilon is cut for so many mechanisms; 0 where they, or their losses, are too many."""
    cells = int(math.sqrt(_WORK / 2) / count)
    return min(cells, _MOST) if cells >= _FEWEST and (count + 1) * epsilon <= _WIDEST else 0


@dataclass(frozen=True, eq=False)
class AdaptiveRange:
    """Bounds from above on delta of `count` exponential mechanisms of one epsilon that are chosen adaptively.

    delta is known at whole multiples of a step h = epsilon / cells. Losses between two of them are split between both
    so that mass and E e^-L stay, which no delta falls by; between points delta lies below its chord in e^x.
    """

    epsilon: float
    count: int

    @cached_property
    def _curve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return e^x at the points x from 0 to count epsilon, and delta there from above."""
        m, k = cells_of(self.epsilon, self.count), self.count
        h = self.epsilon / m
        x = h * np.arange(-(k + 1) * m, (k + 1) * m + 1)
        start = np.where(x < 0, -np.expm1(np.minimum(x, 0.0)), 0.0)
        t = h * np.arange(m + 1)
        p = np.expm1(self.epsilon - t) * np.exp(t) / math.expm1(self.epsilon)
        # p_t is concave in e^-t: above its chord by at most (e^(b / 2) - e^(a / 2))^2 / (e^e - 1), where e^t is a mean
        bent = np.exp(t[:-1]) * math.expm1(h / 2) ** 2 / math.expm1(self.epsilon)
        below = -np.expm1(h * np.arange(-(k + 2) * m, -(k + 1) * m))  # delta is 1 - e^x below all losses, 0 above them
        delta, size = start, len(x)
        for _ in range(k):
            wide = np.concatenate([below, delta, np.zeros(m)])
            best = start.copy()
            for j in range(m):
                near, far, near_back, far_back = (wide[m - i : m - i + size] for i in (j, j + 1, j - m, j + 1 - m))
                best = np.maximum(best, _largest(near, far, near_back, far_back, (p[j], p[j + 1]), bent[j]))
            delta = np.minimum(best * (1 + _ROUNDED), 1.0)
        middle = (k + 1) * m
        return np.exp(x[middle:]), delta[middle:]

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the logarithm of a bound from above on delta(epsilon), 0 <= epsilon; 0 below."""
        if epsilon < 0 or side < 0:
            return 0.0 if side > 0 else -math.inf
        grown, delta = self._curve
        shifted = math.exp(min(epsilon, _WIDEST)) * (1 - 1e-12)
        return log_or_none(float(np.interp(shifted, grown, delta)) * (1 + 1e-12))


def _largest(
    near: np.ndarray, far: np.ndarray, near_back: np.ndarray, far_back: np.ndarray, p: tuple[float, float], bent: float
) -> np.ndarray:
    """Return the largest p_t ((1 - s) near + s far) + (1 - p_t) ((1 - s) near_back + s far_back) over a cell.

    s is the share of the far end that keeps E e^-L; p_t lies at most `bent` above the chord of p in s, and a larger p
    has more: that leaves a quadratic in s, whose largest value is at an end or between.
    """
    (first, last), low, high = p, near - near_back, far - far_back
    first, last = first + bent, last + bent
    at_zero, at_one = near_back + first * low, far_back + last * high
    # value(s) = near_back + s (far_back - near_back) + (first + s (last - first)) (low + s (high - low))
    bend = (last - first) * (high - low)
    rise = far_back - near_back + (last - first) * low + first * (high - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.where(bend < 0, np.clip(-rise / (2 * bend), 0.0, 1.0), 0.0)
    share = first + s * (last - first)
    inside = (1 - share) * ((1 - s) * near_back + s * far_back) + share * ((1 - s) * near + s * far)
    return np.maximum(np.maximum(at_zero, at_one), inside)


@lru_cache(maxsize=16)
def adaptive_range(epsilon: float, count: int) -> AdaptiveRange:
    """Return the bounds of so many mechanisms, whose table is made once."""
    return AdaptiveRange(epsilon, count)
