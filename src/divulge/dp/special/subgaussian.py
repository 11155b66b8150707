"""How Gaussian the tails of a privacy loss are, between certified bounds."""

import math
from functools import cached_property
from heapq import heapify, heappush, heapreplace
from itertools import pairwise

import numpy as np

from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss
from divulge.dp.loss.lattice import LatticeLoss
from divulge.dp.loss.numbers import WIDEST, Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.measures.numeric.convex import exp_term

_TOLERANCE = 1e-9
"""Share at which bounds count as met: more digits than are shown, while the moments are known to 1e-12 or so."""
_MOST_INTERVALS = 400
"""Intervals of l that are looked at; what stays open widens the bracket."""
_FEW_INTERVALS = 60
"""The same for losses without an end, whose integrals take seconds; 30 and 120 leave a bracket as wide."""
_ROUNDING = 1e-12
"""Share by which the upper bound moves up: thousands of roundings."""
_DEEPEST = 15.0
"""Largest l, over the scale of a loss without end, at which e^(l L) stays within doubles as far as it is integrated."""


def sub_gaussian(loss: PrivacyLoss) -> Bracket:
    """Return bounds on the least tau for which L - E[L] is tau-sub-Gaussian under P; +inf if none is known.

    tau^2 = sup over l != 0 of 2 K(l) / l^2 with K(l) = log E_P[e^(l (L - E L))], which is convex. Between two points K
    lies below its chord, by m (l - a) (b - l) / 2 where its second derivative is at least m; the third is at most w
    times the second for losses in an interval of width w. Near 0, K lies below
    l^2 E[max(2 (e^(a X) - 1 - a X) / a^2, X^2)] / 2, l <= a. Far out the largest loss bounds it, or the rate of the
    Renyi curve. The interval with the largest bound is split.
    """
    if isinstance(loss, GaussianLoss):
        return Bracket(loss.mu, loss.mu)
    if isinstance(loss, LatticeLoss) and loss.law.sampling == 1:
        # K(l) = l^2 rate + log(Z(l s) / Z(0)), Z(x) = sum_k e^(-(k + x)^2 / (2 sigma^2)), where Z(0) is the largest
        tau = loss.law.shift / loss.law.sigma
        return Bracket(tau, tau)
    if isinstance(loss, ExponentialLoss):  # Hoeffding's lemma on an interval of width top; a fair coin attains it
        return Bracket(loss.top / 2, loss.top / 2)
    if loss.infinite > 0:
        return Bracket(math.inf, math.inf)
    if loss.highest <= loss.lowest:
        return Bracket(0.0, 0.0)
    if WIDEST < loss.highest - loss.lowest < math.inf:  # too wide for weights in doubles: Hoeffding's lemma
        return Bracket(0.0, (loss.highest - loss.lowest) / 2)
    sides = [_Side(loss, sign).supremum() for sign in (1.0, -1.0)]
    lower, upper = max(side.lower for side in sides), max(side.upper for side in sides)
    return Bracket(math.sqrt(lower), math.sqrt(upper) * (1 + _ROUNDING))


class _Side:
    """The loss around its mean, as it is (sign +1) or turned over (sign -1)."""

    def __init__(self, loss: PrivacyLoss, sign: float) -> None:
        self.loss, self.sign, self.mean = loss, sign, loss.mean()
        self.top = sign * ((loss.highest if sign > 0 else loss.lowest) - self.mean)
        self.spread = loss.highest - loss.lowest
        ranges = self.spread, math.sqrt(2 * loss.rate), math.sqrt(loss.variance())
        self.unit = next(one for one in ranges if one < math.inf)
        self.at: dict[float, tuple[float, float]] = {}

    def _value(self, l: float) -> float:
        """Return 2 K(l) / l^2 and keep K(l), with its second derivative from below."""
        if self.top < math.inf and l * self.top > 0.5:
            shift = l * self.top
            weight = self.loss.expect(lambda t: np.exp(l * self.sign * (t - self.mean) - shift))
            if not weight > 0:  # no double: K(l) is at most the shift, and at least 0
                self.at[l] = shift, 0.0
                return 0.0
            grown = shift + math.log(weight)
        else:
            grown = math.log1p(self.loss.expect(lambda t: exp_term(l * self.sign * (t - self.mean))))
        self.at[l] = grown, self.loss.tilted_variance(self.sign * l) if self.spread < math.inf else 0.0
        return 2 * grown / (l * l)

    @cached_property
    def _slopes(self) -> tuple[float, ...]:
        """The cumulants of orders 2 to 5 of the loss, over 1, 3, 12 and 60: 2 K(l) / l^2 = sum of them times l^k."""
        second, third, fourth, fifth = (
            self.loss.expect(lambda t, k=k: (self.sign * (t - self.mean)) ** k) for k in (2, 3, 4, 5)
        )
        return second, third / 3, (fourth - 3 * second**2) / 12, (fifth - 10 * third * second) / 60

    def _near_zero(self, a: float) -> float:
        """Return the less of two bounds on 2 K(l) / l^2 for 0 < l <= a.

        The sixth cumulant of what lies in an interval of width w is below w^6.
        """
        if self.spread < math.inf:
            turns = np.roots([k * c for k, c in zip((3, 2, 1), self._slopes[:0:-1], strict=True)])
            points = [0.0, a, *(float(r.real) for r in turns if abs(r.imag) < 1e-9 * abs(r) and 0 < r.real < a)]
            series = max(float(np.polynomial.polynomial.polyval(l, self._slopes)) for l in points)
            if (bound := series + self.spread**6 * a**4 / 360) <= series * (1 + _TOLERANCE / 2):
                return bound

        def weight(t: np.ndarray) -> np.ndarray:
            x = self.sign * (t - self.mean)
            return np.maximum(2 * exp_term(a * x) / (a * a), x * x)

        return self.loss.expect(weight)

    def _under_chord(self, a: float, b: float) -> float:
        """Return the largest m + 2 (u + v l) / l^2 on [a, b]: u + v l + m l^2 / 2 is the chord less what K bends."""
        (first, bend), (last, _) = self.at[a], self.at[b]
        m = bend * math.exp(-self.spread * (b - a)) if bend > 0 else 0.0
        slope = (last - first) / (b - a)
        u, v = first - slope * a + m * a * b / 2, slope - m * (a + b) / 2
        turn = [-2 * u / v] if v != 0 and a < -2 * u / v < b else []
        return min(m + max(2 * (u + v * l) / (l * l) for l in (a, b, *turn)), self._beyond(a))

    def _beyond(self, last: float) -> float:
        """Return a bound on 2 K(l) / l^2 for l >= last, by the largest loss and by the rate of the Renyi curve."""
        rate = self.loss.rate
        if rate == math.inf:
            return 2 * self.top / last
        by_rate = max(rate, self.mean / last) if self.sign < 0 else rate + max(0.0, rate - self.mean) / last
        return 2 * min(by_rate, self.top / last)

    def supremum(self) -> Bracket:
        """Return bounds on sup over l > 0 of 2 K(l) / l^2."""
        reach = 1e3 if self.top < math.inf else _DEEPEST
        scale = (np.geomspace(0.02, reach, 24) / self.unit).tolist()
        best = max(self.loss.variance(), *map(self._value, scale))
        heap = [(-self._under_chord(a, b), a, b) for a, b in pairwise(scale)]
        heap.append((-self._near_zero(scale[0]), 0.0, scale[0]))
        heapify(heap)
        far = self._beyond(scale[-1])
        for _ in range(_MOST_INTERVALS if self.spread < math.inf else _FEW_INTERVALS):
            top, a, b = heap[0]
            if -top <= max(best * (1 + _TOLERANCE), far):
                break
            middle = math.sqrt(a * b) if a > 0 else b / 4
            if not a < middle < b:  # as near as doubles are
                break
            best = max(best, self._value(middle))
            left = self._under_chord(a, middle) if a > 0 else self._near_zero(middle)
            heapreplace(heap, (-left, a, middle))
            heappush(heap, (-self._under_chord(middle, b), middle, b))
        return Bracket(best, max(best, -heap[0][0], far))
