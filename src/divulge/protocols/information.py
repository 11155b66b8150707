"""Mutual information of a two-level channel: I = KL(Bern(aq) || Bern(q)) - E_mu[W log W], exactly or enclosed.

With h(w) = w log w - w + 1, whose mean is that of w log w as E W = 1, it is I = q h(a) + (1 - q) h(b) - E h(W).
"""

import math
from typing import Any

import numpy as np

from divulge.protocols.sets.family import Part, Sets
from divulge.protocols.shares import Shares

ROUNDED = 2.0**-46
"""Relative error of sums of doubles here, with room: terms of one sign, each off by a few last digits."""


class Enclosed(float):
    """A number that is known to lie in [lower, upper]; as a float it is the upper end.

    Examples
    --------
    >>> found = Enclosed(0.25, 0.5)
    >>> found == 0.5, found.lower, found.exact
    (True, 0.25, False)
    """

    lower: float

    def __new__(cls, lower: float, upper: float) -> "Enclosed":
        found = super().__new__(cls, upper)
        found.lower = lower
        return found

    @property
    def upper(self) -> float:
        """The upper end."""
        return float(self)

    @property
    def exact(self) -> bool:
        """Whether the two ends differ by less than 1e-12 of the number."""
        return self.upper - self.lower <= 64 * ROUNDED * max(self.upper, 1e-300)

    def __reduce__(self) -> tuple[Any, ...]:
        return Enclosed, (self.lower, float(self))

    def __repr__(self) -> str:
        return repr(float(self)) if self.exact else f"[{self.lower!r}, {self.upper!r}]"


def h(w: np.ndarray) -> np.ndarray:
    """Return w log w - w + 1, with all digits near 1; h(0) is 1."""
    w = np.asarray(w, dtype=np.float64)
    x = w - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(np.abs(x) < 0.5, w * np.log1p(np.maximum(x, -0.75)) - x, w * np.log(w) - x)
    near = np.abs(x) < 1e-3  # the first terms of the series x^2/2 - x^3/6 + ...: the difference above has lost digits
    series = x * x * (0.5 - x * (1 / 6 - x * (1 / 12 - x * (1 / 20 - x * (1 / 30 - x / 42)))))
    return np.where(w == 0, 1.0, np.where(near, series, found))


def most_information(channel: Any) -> float:
    """Return what the mutual information in nats is at most under any prior: KL(Bern(aq) || Bern(q)), rounded up.

    >>> round(most_information(dv.protocols.hadamard(10**6, 1.0)), 6)  # aq log a + b(1 - q) log b
    0.110944
    """
    q, ends = float(channel.q), np.array([float(channel.a), float(channel.b)])
    return float(np.array([q, 1 - q]) @ h(ends)) * (1 + ROUNDED)


def information(sets: Sets, shares: Shares, a: float, b: float) -> Enclosed:
    """Return the mutual information in nats, by the law of T where it is at hand, else enclosed."""
    q = float(sets.q)
    if shares.support.sum() < 2:
        return Enclosed(0.0, 0.0)
    at_most = q * float(h(np.array(a))) + (1 - q) * float(h(np.array(b)))
    law = sets.law(shares)
    if law is not None:
        t, weight = law
        lost = float(weight @ h(b + (a - b) * t))
        least = greatest = lost
    else:
        least = greatest = 0.0
        for part in sets.parts(shares):
            low, high = _mean_of(part, a, b)
            least, greatest = least + low, greatest + high
    slack = ROUNDED * at_most
    return Enclosed(max(0.0, at_most - greatest - slack), max(0.0, at_most - least + slack))


def _mean_of(part: Part, a: float, b: float) -> tuple[float, float]:
    """Enclose mu E h(W) over a part of the sets, from the mean m and the variance of W.

    t log t = m log m + (1 + log m)(t - m) + (t - m)^2 phi(t/m)/m with phi falling, so the last term lies between its
    values at the ends.
    """
    mean, variance = b + (a - b) * part.mean, (a - b) ** 2 * part.variance
    base = float(h(np.array(mean)))
    low, high = b + (a - b) * part.low, b + (a - b) * part.high
    bend = [variance / mean * _phi(end / mean) for end in (high, low)]
    return part.weight * (base + bend[0]), part.weight * (base + bend[1])


def _phi(u: float) -> float:
    """Return (u log u - u + 1)/(u - 1)^2, which falls from 1 at 0 through 1/2 at 1."""
    x = u - 1
    if abs(x) < 1e-4:
        return 0.5 - x / 6 + x * x / 12
    return (math.log(u) * u - x) / (x * x)
