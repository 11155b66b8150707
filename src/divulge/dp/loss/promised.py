"""What a promised Renyi curve says of a privacy loss: bounds from above by theorems, and a pair that dominates.

For every order a = 1 + h the curve bounds delta(epsilon) (`delta_at`); the largest convex curve below these bounds is
the delta(epsilon) of one pair, which dominates every mechanism that keeps the promise. Sampling and composition work on
that pair, and, where it is better, on the curve itself.
"""

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from divulge.dp.knowledge import Known
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import each, least_bound, like, lower_hull, order
from divulge.dp.loss.pair import SMALLEST, LossFunction
from divulge.errors import DivulgeError

_LEVELS = np.concatenate([np.arange(0.03, 46.0, 0.03), np.arange(46.0, 690.0, 0.5)])
"""-log delta at the points of the dominating pair: linear between them, delta is at most a share 1e-4 above."""

_ORDERS, _FEWER = 160, 17
"""Orders tried at first, and in each round between the neighbors of the best; every order gives a bound."""

_MOST_TERMS = 4096
"""Largest order at which the moments of a sample are summed term by term."""

_SLACK = 1e-12
"""Share by which bounds move to the safe side: some thousand roundings, where the formulas have a few dozen."""


@dataclass(frozen=True)
class RenyiCurve:
    """An upper bound on the Renyi divergences of both orders of a pair: rho alpha, and chords through points.

    Between the orders of two points (alpha - 1) D_alpha lies below its chord, for it is convex and 0 at order 1.
    """

    rho: float = math.inf  # D_alpha <= rho alpha for every alpha; +inf for no such promise
    points: tuple[tuple[float, float], ...] = ()  # (alpha, epsilon) with D_alpha <= epsilon, by growing order

    def at(self, h: Any) -> Any:
        """Return the bound on D_(1 + h), h > 0, for a number or an array."""
        line = (1.0 + h) * self.rho if self.rho > 0 else 0.0 * h
        if not self.points:
            return line
        return np.minimum(line, np.minimum(self._chords(h), self._next(h)))

    def _next(self, h: Any) -> Any:
        alphas, bounds = np.array(self.points).T
        falling = np.minimum.accumulate(bounds[::-1])[::-1]
        return np.append(falling, math.inf)[np.searchsorted(alphas - 1.0, h, side="left")]

    def _chords(self, h: Any) -> Any:
        finite = [(0.0, 0.0), *((a - 1.0, (a - 1.0) * e) for a, e in self.points if 1.0 < a < math.inf)]
        x, y = np.array(finite).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(h <= x[-1], np.interp(h, x, y) / h, math.inf) if len(x) > 1 else math.inf + 0.0 * h

    @property
    def mean(self) -> float:
        """A bound on the mean loss, D_1."""
        return min([self.rho, *(e for _, e in self.points)])

    @property
    def orders(self) -> np.ndarray:
        """The h = alpha - 1 among which the best order of a conversion lies, growing."""
        scale = 1.0 / math.sqrt(self.rho) if 0 < self.rho < math.inf else 1.0
        low, high = 1e-3 * min(scale, 1.0), 1e5 * max(scale, 1.0)
        if self.rho == math.inf:
            high = max((a - 1.0 for a, _ in self.points if a < math.inf), default=high)
            low = min(low, high / 2)
        given = [a - 1.0 for a, _ in self.points if 1.0 < a < math.inf]
        return np.union1d(np.geomspace(low, high, _ORDERS), given)


@dataclass(frozen=True)
class SampledCurve:
    """The Renyi divergences that a promise leaves when the mechanism runs on a sample, of both orders of neighbors.

    With rate r and M_l = e^((l - 1) D_l), m = E(P/Q - 1)^2 = M_2 - 1: by joint convexity E (P'/Q')^a <= 1 - r + r M_a
    for every order. At whole orders of a Poisson sample, removed: sum_l C(a, l) (1 - r)^(a - l) r^l M_l; added:
    1 + sum_(l >= 2) C(a, l) r^l (1 - r)^(1 - l) E|P/Q - 1|^l, where E|P/Q - 1|^l <= min(M_l + 1, m + M_l + M_(l - 2) -
    2). Of a fixed size: 1 + r^2 C(a, 2) min(4 m, 2 M_2) + 2 sum_(l >= 3) r^l C(a, l) M_l (Wang, Balle and
    Kasiviswanathan, arXiv:1808.00087, Theorem 9).
    """

    base: "RenyiCurve | SampledCurve"
    rate: float
    fixed: bool = False

    def at(self, h: Any) -> Any:
        """Return the bound on D_(1 + h), h > 0, for a number or an array; whole orders are joined by chords."""
        h = np.asarray(h, dtype=np.float64)
        return like(each(self._one, h), h)

    def _one(self, h: float) -> float:
        grown = float(self.base.at(h))
        if h * grown < 700:
            convex = math.log1p(self.rate * math.expm1(h * grown)) / h
        else:
            convex = min(grown, float(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + h * grown)) / h)
        if not h < _MOST_TERMS:
            return convex
        low, share = math.floor(h), h - math.floor(h)
        first, last = _moment(self, low + 1), _moment(self, low + 2) if share else 0.0
        return min(convex, ((1 - share) * first + share * last) / h)

    @property
    def mean(self) -> float:
        """A bound on the mean loss: KL divergences are jointly convex."""
        return min(self.rate * self.base.mean, float(self.at(1e-9)))

    @property
    def orders(self) -> np.ndarray:
        """The h among which the best order of a conversion lies."""
        return np.union1d(np.geomspace(1e-3, 64.0, 60), self.base.orders[::24])


@lru_cache(maxsize=100_000)
def _moment(curve: SampledCurve, alpha: int) -> float:
    """Return a bound on log E (P'/Q')^(alpha) = (alpha - 1) D_alpha at a whole order."""
    from scipy.special import gammaln

    if alpha <= 1:
        return 0.0
    r, l = curve.rate, np.arange(2, alpha + 1)
    if r == 1:
        return (alpha - 1) * float(curve.base.at(alpha - 1.0))
    choose = gammaln(alpha + 1) - gammaln(l + 1) - gammaln(alpha - l + 1)
    logs = (l - 1) * np.asarray(curve.base.at(l - 1.0))
    if not np.isfinite(logs).all():
        return math.inf
    log_square = float(logs[0] + np.log(-np.expm1(-logs[0]))) if logs[0] > 0 else -math.inf
    if curve.fixed:
        terms = choose + l * math.log(r) + math.log(2) + logs
        terms[0] += min(math.log(2) + log_square - logs[0], 0.0)
        return _log1p_sum(terms)
    weights = choose + l * math.log(r) + (alpha - l) * math.log1p(-r)
    before = np.concatenate([[0.0, 0.0], logs])[: len(logs)]
    with np.errstate(over="ignore", divide="ignore"):
        removed = weights + logs + np.log(-np.expm1(-logs))  # of M_l - 1: the weights of all l sum to 1
        near = np.log(
            math.exp(min(log_square, 700.0)) + np.expm1(np.minimum(logs, 700.0)) + np.expm1(np.minimum(before, 700.0))
        )
        apart = np.where(logs < 650.0, np.minimum(np.logaddexp(logs, 0.0), near), np.logaddexp(logs, 0.0))
        apart[0] = log_square
    added = choose + l * math.log(r) + (1 - l) * math.log1p(-r) + apart
    return max(_log1p_sum(removed), _log1p_sum(added))


def _log1p_sum(logs: np.ndarray) -> float:
    """Return log(1 + sum e^logs)."""
    top = float(np.max(logs, initial=-math.inf))
    if top < -1.0:
        return math.log1p(math.fsum(np.exp(logs).tolist())) * (1 + _SLACK)
    return float(np.logaddexp(0.0, top + math.log(math.fsum(np.exp(logs - top).tolist())))) * (1 + _SLACK)


Curve = RenyiCurve | SampledCurve


def delta_at(curve: Curve, epsilon: np.ndarray) -> np.ndarray:
    """Return the least over orders of e^(h (D - epsilon)) (h / (1 + h))^h / (1 + h), a bound on delta, at most 1.

    (1 - e^(epsilon - L))_+ is at most that constant times e^(h (L - epsilon)), whatever the sign of epsilon (Canonne,
    Kamath, Steinke, arXiv:2004.00010, Proposition 12).
    """
    e = np.asarray(epsilon, dtype=np.float64).ravel()

    def log_bound(h: np.ndarray) -> np.ndarray:
        return h * (curve.at(h) - np.log1p(1.0 / h) - e[:, None]) - np.log1p(h)

    least = least_bound(log_bound, curve.orders, len(e), _FEWER)
    return np.minimum(np.exp(np.minimum(least, 0.0)) * (1 + _SLACK), 1.0)


def epsilon_at(curve: Curve, log_delta: np.ndarray) -> np.ndarray:
    """Return the least over orders of D - log(1 + 1/h) - (log delta + log(1 + h)) / h: delta at it is at most that."""
    goal = np.asarray(log_delta, dtype=np.float64).ravel()

    def bound(h: np.ndarray) -> np.ndarray:
        return curve.at(h) - np.log1p(1.0 / h) - (goal[:, None] + np.log1p(h)) / h

    found = least_bound(bound, curve.orders, len(goal), _FEWER)
    return found + _SLACK * np.abs(found)


def variation_at(mean: float) -> float:
    """Return the t with 2 t artanh(t) = mean, the largest total variation with both KL divergences at most that."""
    from scipy.optimize import brentq

    top = math.sqrt(mean / 2)
    if mean == 0 or top < 1e-7:
        return top
    most = min(top, math.nextafter(1.0, 0.0))
    if 2 * most * math.atanh(most) < mean:  # the root lies above the last double below 1
        return 1.0
    found: Any = brentq(lambda t: 2 * t * math.atanh(t) - mean, 0.0, most, xtol=1e-18)
    return min(1.0, found * (1 + _SLACK))


def dominating(epsilons: np.ndarray, deltas: np.ndarray, at_zero: float, **given: Any) -> dict[str, Any]:
    """Return the fields of the atoms of the pair whose delta is the largest convex curve below the points, both ways.

    In g = e^epsilon a delta(epsilon) is convex, and that of any mechanism below the points lies below their lower hull.
    With slopes s_k between points, the loss epsilon_k has probability s_k - s_(k - 1) under Q. By symmetry delta(0) is
    at most (g - 1 + 2 delta) / (g + 1) for every point.
    """
    g = np.expm1(epsilons)
    top = float(np.min((g + 2 * deltas) / (g + 2), initial=min(at_zero, 1.0)))
    x, y, e = np.append(0.0, g), np.append(top, deltas), np.append(0.0, epsilons)
    corners = lower_hull(x, y)
    corners = corners[: int(np.argmin(y[corners])) + 1]
    slopes = np.append(np.diff(y[corners]) / np.diff(x[corners]), 0.0)
    q = np.maximum(np.diff(slopes), 0.0)
    p, infinite = q * (1.0 + x[corners[1:]]), float(y[corners[-1]])
    rest = max(0.0, 1.0 - infinite - math.fsum(p.tolist()) - math.fsum(q.tolist()))
    losses, both = e[corners[1:]], np.concatenate([q[::-1], [rest], p])
    kept = both > 0
    return {
        "losses": np.concatenate([-losses[::-1], [0.0], losses])[kept],
        "p": both[kept],
        "q": both[::-1][kept],
        "p_only": infinite,
        "q_only": infinite,
        "pair": ("D", "D'"),
        "known": Known.PROMISE,
        "below": False,
        **given,
    }


@dataclass(frozen=True, eq=False, repr=False)
class PromisedLoss(AtomicLoss):
    """The pair that dominates what keeps a promised Renyi curve, which answers itself where it is better."""

    curve: Curve = RenyiCurve()

    @property
    def pair_alone(self) -> AtomicLoss:
        return AtomicLoss(**{entry.name: getattr(self, entry.name) for entry in fields(AtomicLoss)})

    def _least_above(self, t: np.ndarray) -> np.ndarray:
        return np.where(t < self.renyi(math.inf), SMALLEST, 0.0)

    def _delta(self, e: np.ndarray) -> np.ndarray:
        by_pair = super()._delta(e) * (1 + _SLACK)
        by_curve = math.inf if isinstance(self.curve, SampledCurve) else delta_at(self.curve, e).reshape(e.shape)
        return np.minimum(by_pair, by_curve)

    def _epsilon(self, delta: float) -> float:
        by_curve = math.inf
        if delta > 0 and isinstance(self.curve, RenyiCurve):
            by_curve = max(0.0, float(epsilon_at(self.curve, np.array([math.log(delta)]))[0]))
        by_pair = super()._epsilon(delta)
        return min(by_curve, by_pair) if delta < self.delta(0.0) else 0.0

    def renyi(self, alpha: float) -> float:
        alpha = order(alpha)
        if alpha == math.inf:
            return float(self.curve.at(math.inf)) if isinstance(self.curve, RenyiCurve) else math.inf
        return self.mean() if alpha == 1 else float(self.curve.at(alpha - 1.0))

    def mean(self) -> float:
        return self.curve.mean

    def curvature(self, alpha: float) -> float:
        """Return 0: the divergences are bounds, not those of one pair."""
        return 0.0

    def divergence(self, f: str | LossFunction, slope: float = math.inf) -> float:
        """Return the least of the pair's divergence and, where f has a name, what the Renyi curve says of it."""
        found, mean = super().divergence(f, slope), self.mean()
        by_curve = {
            "kl": lambda: mean,
            "chi-squared": lambda: _expm1(self.renyi(2.0)),
            "hellinger": lambda: -2 * math.expm1(-mean / 2),  # D_(1/2) <= D_1
            "jensen-shannon": lambda: mean / 2,  # KL(P || (P + Q) / 2) <= KL(P || Q) / 2
        }
        return min(found, by_curve[f]()) if isinstance(f, str) else found

    def abs_chi(self, alpha: float) -> float:
        found = super().abs_chi(alpha)
        return min(found, _root_of_expm1(self.renyi(2.0))) if alpha <= 2 else found


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 709 else math.inf


def _root_of_expm1(x: float) -> float:
    """Return (e^x - 1)^(1/2), also where e^x is no double."""
    return math.sqrt(math.expm1(x)) if x < 1 else math.exp(x / 2) * math.sqrt(-math.expm1(-x)) if x < 1418 else math.inf


@lru_cache(maxsize=64)
def promised(curve: RenyiCurve) -> AtomicLoss:
    """Return the loss of all that a Renyi curve allows."""
    if curve.mean == 0:
        return AtomicLoss(
            np.zeros(1), np.ones(1), np.ones(1), pair=("D", "D'"), rate=0.0, known=Known.PROMISE, below=False
        )
    if curve.mean == math.inf:
        raise DivulgeError.of("epsilon", "be finite at some order", "every one", "infinite")
    epsilons = epsilon_at(curve, -_LEVELS)
    kept = (epsilons > 0) & (epsilons < 700)
    rising = np.maximum.accumulate(epsilons[kept])
    deltas = np.exp(-_LEVELS[kept]) * (1 + _SLACK)
    at_zero = min(float(delta_at(curve, np.zeros(1))[0]), variation_at(curve.mean))
    return PromisedLoss(**dominating(rising, deltas, at_zero, rate=curve.rho), curve=curve)
