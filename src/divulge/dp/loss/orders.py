"""Suprema over all Renyi orders, certified: zero-concentrated, bounded, truncated and approximate variants.

K(a) = (a - 1) D_a is convex and K(1) = 0. Between two orders l and r it lies below its chord, by at least
m (a - l) (r - a) / 2 where its second derivative is at least m: D_a <= s + c / (a - 1) + m (a - 1) / 2. A score of the
order is bounded on each interval by its largest value under such a curve; the interval with the largest bound is split
until no bound exceeds the best value seen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappush, heapreplace
from itertools import pairwise

import numpy as np

from divulge.dp.loss.numbers import Bracket, order
from divulge.dp.loss.pair import ROUNDING, PrivacyLoss
from divulge.measures.numeric.convex import exp_term
from divulge.roots import turn

_TOLERANCE = 5e-13
"""Share at which bounds on a supremum count as met: half of the 1e-12 that is promised; divergences lose some ulps."""
MOST_INTERVALS = 4_000
"""Intervals of orders that are looked at: each costs a divergence. What stays open widens the bracket."""
_LARGEST_ORDER = 1e30
"""The largest order that is looked at, after 100 doublings; beyond, the divergence of order infinity is the bound."""

_FAR_ORDERS = (64.0, 256.0, 1024.0, 4096.0)
"""Orders that are looked at where a curve has no end: D_a / a may grow for ever."""

_DEEPEST = 600.0
"""Up to this exponent a double holds e^x, and what it is multiplied by."""


@dataclass(frozen=True)
class Curve:
    """A Renyi curve: the divergence of each order in [1, inf), its limit, and an r with divergence <= r order.

    `curvature(a)` is at most the second derivative of (a - 1) D_a, and so is e^(-spread) times that of an order 1 away.
    """

    renyi: Callable[[float], float]
    highest: float
    rate: float = math.inf
    curvature: Callable[[float], float] = lambda alpha: 0.0
    spread: float = math.inf


@dataclass(frozen=True)
class Score:
    """What is maximized over orders: score(a, D_a), growing in D_a."""

    of: Callable[[float, float], float]
    peak: Callable[[float, float, float], float]  # s, c, m -> where it is largest for D_(1 + h) = s + c / h + m h / 2
    capped: Callable[[float, float], float]  # rate, up_to -> its supremum for D_a = rate a


def per_order(xi: float) -> Score:
    """Return (D_a - xi) / a: its supremum is the least rho with D_a <= xi + rho a."""

    def peak(s: float, c: float, m: float) -> float:
        rest = s - xi - m / 2
        return (-c + math.sqrt(max(c * c - rest * c, 0.0))) / rest if rest > 0 else math.inf

    return Score(lambda a, d: (d - xi) / a, peak, lambda rate, up_to: rate - (xi / up_to if xi > 0 else xi))


def beyond(rho: float) -> Score:
    """Return D_a - rho a: its supremum is the least xi with D_a <= xi + rho a."""

    def peak(s: float, c: float, m: float) -> float:
        return math.sqrt(max(-c, 0.0) / (rho - m / 2)) if rho > m / 2 else math.inf

    def capped(rate: float, up_to: float) -> float:
        return (rate - rho) * (up_to if rate > rho else 1.0)

    return Score(lambda a, d: d - rho * a, peak, capped)


def curve_of(loss: PrivacyLoss) -> Curve:
    """Return the Renyi curve of a loss."""
    highest = math.inf if loss.infinite > 0 else loss.highest
    return Curve(loss.renyi, highest, loss.rate, loss.curvature, loss.highest - loss.lowest)


def clipped(loss: PrivacyLoss, delta: float) -> Curve:
    """Return the Renyi curve left when events of probability `delta` are removed from P and from Q as well as can be.

    P' = min(P, e^a Q) and Q' = min(Q, e^b P), over 1 - delta, with a = epsilon(delta) and b that of the reverse pair.
    Of all P' <= P and Q' <= Q of mass 1 - delta this pair has the least divergence of every order at once. With L
    clipped to [-b, a], E_P' f(L) = (E_P f(L) - delta f(a)) / (1 - delta).
    """
    high, low = _level(loss, delta), -_level(loss.reverse(), delta)
    if not low < high < math.inf:
        return Curve(lambda alpha: 0.0, 0.0) if high <= low else Curve(lambda alpha: math.inf, math.inf)
    at_top = delta - loss.infinite

    def mean_of(f: Callable[[np.ndarray], np.ndarray]) -> float:
        inside = loss.expect(lambda t: f(np.clip(t, low, high)), (low, high))
        return (inside - at_top * float(f(np.array([high]))[0])) / (1 - delta)

    def renyi(alpha: float) -> float:
        h = alpha - 1
        mean = mean_of(lambda t: exp_term(-t) if low > -_DEEPEST else t)  # E_P' e^-L = 1
        if h == 0:
            return max(0.0, mean)
        if h * high < _DEEPEST:
            return max(0.0, math.log1p(mean_of(lambda t: exp_term(h * t)) + h * mean) / h)
        shifted = max(mean_of(lambda t: np.exp(h * (t - high))), ROUNDING * delta)
        return max(0.0, high + math.log(shifted) / h)

    return Curve(renyi, high)


def _level(loss: PrivacyLoss, delta: float) -> float:
    """Return the a with delta(a) = delta, negative ones included."""
    found = loss.epsilon(delta)
    if found > 0 or loss.delta(0.0) >= delta:
        return found
    low, high = -1.0, 0.0
    while loss.delta(low) < delta and low > -1e300:
        low, high = low * 2, low
    return turn(lambda epsilon: loss.delta(epsilon) <= delta, low, high)[1]


def between(curve: Curve, score: Score, up_to: float = math.inf, most: int = MOST_INTERVALS) -> Bracket:
    """Return bounds on the supremum of the score over orders in (1, up_to]; within 1e-12 of it where it is not flat.

    Over no order at all, up_to = 1, it is -inf.
    """
    if order(up_to, "up_to") == 1:
        return Bracket(-math.inf, -math.inf)
    cap = min(score.capped(curve.rate, up_to), max(score.of(1.0, curve.highest), 0.0))
    at = {a: curve.renyi(a) for a in [1.0, *(1.0 + np.geomspace(1e-6, min(up_to - 1.0, 15.0), 24)).tolist()]}
    best = max(score.of(a, d) for a, d in at.items())
    if math.inf in at.values() or best >= cap - _TOLERANCE * abs(cap):
        return Bracket(min(best, cap), cap)
    if curve.highest == up_to == math.inf:  # nothing bounds far orders but the rate
        return Bracket(min(cap, max(best, *(score.of(a, curve.renyi(a)) for a in _FAR_ORDERS))), cap)
    last = max(at)
    while last < min(up_to, _LARGEST_ORDER) and score.of(last, curve.highest) > best + _TOLERANCE * abs(best):
        last = min(2 * last, up_to)
        at[last] = curve.renyi(last)
        best = max(best, score.of(last, at[last]))
    further = score.of(last, curve.highest) if last < up_to else -math.inf
    found = _inside(curve, score, at, best, most)
    upper = max(further, found.upper)
    return Bracket(min(found.lower, cap), min(cap, upper + ROUNDING * abs(upper)))


def _inside(curve: Curve, score: Score, at: dict[float, float], best: float, most: int) -> Bracket:
    """Return bounds on the supremum of the score between the orders of `at`: branch and bound."""
    bends = {a: curve.curvature(a) for a in at} if curve.spread < math.inf else dict.fromkeys(at, 0.0)

    def bounded(a: float, b: float) -> tuple[float, float, float]:
        bend = max(bends[a], bends[b])
        m = bend * math.exp(-curve.spread * (b - a)) if bend > 0 else 0.0
        return -_under_chord(score, a, b, at, m), a, b

    heap = [bounded(a, b) for a, b in pairwise(sorted(at))]
    heapify(heap)
    for _ in range(most):
        top, a, b = heap[0]
        middle = 1 + (math.sqrt((a - 1) * (b - 1)) if a > 1 else (b - 1) / 16)
        rounding = score.of(b, at[b] * (1 + ROUNDING)) - score.of(b, at[b])
        if -top <= best + _TOLERANCE * max(abs(best), at[1.0]) + rounding or not a < middle < b:
            break
        at[middle] = curve.renyi(middle)
        bends[middle] = curve.curvature(middle) if curve.spread < math.inf else 0.0
        best = max(best, score.of(middle, at[middle]))
        heapreplace(heap, bounded(a, middle))
        heappush(heap, bounded(middle, b))
    return Bracket(best, max(best, -heap[0][0]))


def _under_chord(score: Score, a: float, b: float, at: dict[float, float], m: float) -> float:
    """Return the largest score on [a, b] if (order - 1) D followed its chord, less what it bends at least."""
    low, high = (a - 1) * at[a], (b - 1) * at[b]
    s = (high - low) / (b - a)
    c = low - s * (a - 1) + m * (a - 1) * (b - 1) / 2
    s -= m * (a - 1 + b - 1) / 2
    points = {a - 1, b - 1, min(max(score.peak(s, c, m), a - 1), b - 1)}
    return max(score.of(1 + u, s + m * u / 2 + (c / u if u > 0 else 0.0)) for u in points)
