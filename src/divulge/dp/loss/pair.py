"""The privacy loss of one ordered pair of output distributions (P, Q), as a random variable.

L(o) = log P(o) / Q(o), drawn under P: +inf where only Q vanishes, -inf (under Q alone) where only P does.
`PrivacyLoss` is what every pair can answer; `atoms.AtomicLoss` is a pair of rows, `closed` the named mechanisms.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from divulge.dp.knowledge import Known
from divulge.dp.loss.divergences import divergence_named
from divulge.dp.loss.numbers import each, like, numbers, order, probabilities
from divulge.dp.loss.quadrature import LossFunction
from divulge.measures.numeric.convex import exp_term
from divulge.model.arraylike import Number
from divulge.model.entries import whole_number
from divulge.roots import least

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Seen = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(masses under P, under Q, log ratios) -> (masses under another law, its losses)."""

ROUNDING = 1e-13
"""More than the relative rounding error of an expectation of terms of one sign."""

_MOST_TILTED = 100.0
"""Up to this exponent e^(h L) is smooth on the panels of a quadrature."""

_LARGEST_LOG = 709.0
"""e^x is a double up to about this x."""

_UNSEEN = 1e-300
"""More than an expectation of what is at most 1 misses where probabilities are below the smallest double."""

SMALLEST = 5e-324
"""The smallest double: what is rounded up to where it is not 0."""

_LARGEST = 1e300
"""Beyond this E exp((a - 1) L) is computed with the largest loss factored out."""


class PrivacyLoss(ABC):
    """The privacy loss of one ordered pair (P, Q) of output distributions, in nats.

    Attributes
    ----------
    pair : the two secrets (or data sets) that P and Q come from
    infinite : P(L = +inf)
    rate : an r known to have D_alpha <= r alpha for every order, in both directions; +inf when none is known
    highest, lowest : essential supremum and infimum of the finite losses
    known : whether the pair is the mechanism, or only dominates it; what else it answers is then not the mechanism's

    Examples
    --------
    >>> loss = PrivacyLoss.between(["3/4", "1/4", "0"], ["1/4", "1/2", "1/4"])
    >>> loss.highest, loss.infinite, loss.reverse().infinite  # log 3; only Q shows the last outcome
    (1.098612288..., 0.0, 0.25)
    """

    pair: tuple[Hashable, Hashable]
    rate: float = math.inf
    known: Known = Known.MECHANISM
    _finite: ClassVar[Callable[..., "PrivacyLoss"]]

    @property
    @abstractmethod
    def infinite(self) -> float:
        """P(L = +inf), the probability under P of outcomes that Q never shows."""

    @property
    @abstractmethod
    def highest(self) -> float:
        """The essential supremum of the finite losses."""

    @property
    @abstractmethod
    def lowest(self) -> float:
        """The essential infimum of the finite losses."""

    @abstractmethod
    def reverse(self) -> "PrivacyLoss":
        """Return the loss of the pair (Q, P).

        Examples
        --------
        >>> PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).reverse().pair
        (1, 0)
        """

    def tail(self, threshold: ArrayLike) -> Any:
        """Return P(L > threshold) under P, infinite losses included; the shape of `threshold`.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.tail(0.0), loss.tail([-2.0, 2.0]).tolist()
        (0.75, [1.0, 0.0])
        """
        t = numbers(threshold, "threshold")
        return like(np.maximum(self._tail(t), self._least_above(t)), t)

    def _least_above(self, t: np.ndarray) -> np.ndarray:
        """Return the smallest double below the largest loss, where no tail and no delta is 0, else 0."""
        return np.where(t < self.highest, SMALLEST, 0.0)

    @abstractmethod
    def _tail(self, t: np.ndarray) -> np.ndarray:
        """Return `tail` of an array that is checked."""

    def tail_under_q(self, threshold: ArrayLike) -> Any:
        """Return Q(L > threshold), the same event under Q.

        Examples
        --------
        >>> PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).tail_under_q(0.0)
        0.25
        """
        t = numbers(threshold, "threshold")
        return like(self._tail_under_q(t), t)

    @abstractmethod
    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        """Return `tail_under_q` of an array that is checked."""

    def delta(self, epsilon: ArrayLike) -> Any:
        """Return delta(epsilon) = sup_S P(S) - e^epsilon Q(S) = E_P[(1 - e^(epsilon - L))_+], for any real epsilon.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.delta(0.0), loss.delta(2.0)
        (0.5, 0.0)
        """
        e = numbers(epsilon, "epsilon")
        return like(np.maximum(self._delta(e), self._least_above(e)), e)

    @abstractmethod
    def _delta(self, e: np.ndarray) -> np.ndarray:
        """Return `delta` of an array that is checked."""

    @abstractmethod
    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E_P[f(L); L < inf] for a vectorized f, smooth except at `kinks` and 0.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).expect(np.exp), 9)  # 3/4 times 3 + 1/4 times 1/3
        2.333333333
        """

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return `size` draws of L under P (for experiments; not for releasing anything).

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> bool((abs(loss.sample(5, np.random.default_rng(0))) == loss.highest).all())
        True
        """

    @property
    def attained(self) -> "PrivacyLoss | None":
        """The loss of two data sets that there are, for bounds from below; None where nothing is known of any."""
        return self

    @property
    def atoms_at(self) -> np.ndarray:
        """The finite losses that have a probability, not only a density; none where there are no such."""
        return np.zeros(0)

    @property
    def enclosing(self) -> tuple["PrivacyLoss", "PrivacyLoss"]:
        """Two losses for a composition, one easier and one harder to tell apart: itself, where its cells are known."""
        return self, self

    def enclosed(self, tilt: float, spread: float, seen: Seen | None = None) -> tuple["PrivacyLoss", "PrivacyLoss"]:
        """Return `enclosing` by cells whose mean square, under P tilted by e^(tilt L), is about `spread` at most.

        L and P are what `seen` makes of masses under P and Q and of log ratios: those of a sample, say.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])
        >>> loss.enclosed(0.0, 1e-6) == (loss, loss)  # its cells are known
        True
        """
        return self.enclosing

    @property
    def pair_alone(self) -> "PrivacyLoss":
        """The pair of distributions, without bounds that are known otherwise."""
        return self

    @staticmethod
    def between(
        p: Sequence[Number] | np.ndarray, q: Sequence[Number] | np.ndarray, pair: tuple[Hashable, Hashable] = (0, 1)
    ) -> "PrivacyLoss":
        """Return the loss of two rows, distributions over the same outcomes; exact when an entry is.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])
        >>> loss.delta(0.0)  # the total variation distance
        0.5
        >>> round(loss.epsilon(0.0), 9)  # log 3
        1.098612289
        """
        from divulge.model.channel import Channel

        first, second = Channel([list(p), list(q)]).matrix
        return PrivacyLoss._finite(first, second, pair)

    def cdf(self, threshold: ArrayLike) -> Any:
        """Return P(L <= threshold) under P.

        Examples
        --------
        >>> PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).cdf(0.0)  # log 3 with probability 3/4, else -log 3
        0.25
        """
        t = numbers(threshold, "threshold")
        return like(1.0 - np.asarray(self.tail(t)), t)

    def epsilon(self, delta: ArrayLike) -> Any:
        """Return the least epsilon >= 0 with delta(epsilon) <= delta, rounded up; +inf when there is none.

        The twin of `delta`: `delta(epsilon(d)) <= d` always holds.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.epsilon(0.0), loss.epsilon(0.5)
        (1.098612288..., 0.0)
        """
        d = probabilities(delta, "delta")
        return like(each(self._epsilon, d), d)

    def _epsilon(self, delta: float) -> float:
        return self._least_at(delta, self.delta)

    def quantile(self, delta: ArrayLike) -> Any:
        """Return the least epsilon >= 0 with P(L > epsilon) <= delta, rounded up; the twin of `tail`.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.quantile(0.0), loss.quantile(0.75)
        (1.098612288..., 0.0)
        """
        d = probabilities(delta, "delta")
        return like(each(self._quantile, d), d)

    def _quantile(self, delta: float) -> float:
        return self._least_at(delta, self.tail)

    def _least_at(self, delta: float, curve: Callable[[float], float]) -> float:
        """Return the least epsilon >= 0 at which a falling curve, delta or the tail, is at most `delta`."""
        if self.infinite > delta:
            return math.inf
        return least(lambda e: curve(e) <= delta, self.highest) if delta > 0 else max(0.0, self.highest)

    def mean(self) -> float:
        """Return E_P[L] = KL(P || Q) in nats, in [0, +inf].

        Since E_P[1 - e^-L] = P(L < inf) - Q(L > -inf), it is E_P[L + e^-L - 1] + Q(L = -inf), terms of one sign, so
        that no digit cancels where P and Q are nearly alike. e^-L is kept in [1/e, e], and what that leaves out of Q is
        delta(1) of the reverse pair less delta(1) / e.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).mean(), 12)  # log(3) / 2
        0.549306144334
        """
        return math.inf if self.infinite > 0 else self._mean

    @cached_property
    def _mean(self) -> float:
        inside = self.expect(_above_tangent, (-1.0, 1.0))
        return max(0.0, inside + self.reverse().delta(1.0) - self.delta(1.0) / math.e)

    def moment(self, order: int) -> float:
        """Return E_P[L^order]; +inf when L is infinite with positive probability.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).moment(2), 9)  # log(3)^2
        1.206948961
        """
        order = whole_number(order, "order", 0)
        if self.infinite > 0 and order > 0:
            return math.inf
        return self.mean() if order == 1 else self.expect(lambda t: t**order)

    def variance(self) -> float:
        """Return the variance of L under P; +inf when L is infinite with positive probability.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).variance(), 12)  # 3/4 log(3)^2
        0.905211720609
        """
        if self.infinite > 0:
            return math.inf
        mean = self.mean()
        return self.expect(lambda t: (t - mean) ** 2)

    def renyi(self, alpha: float) -> float:
        """Return D_alpha(P || Q) = log E_P[e^((alpha - 1) L)] / (alpha - 1) in nats, for alpha in [1, +inf].

        Order 1 is the mean, order +inf the largest loss.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.renyi(math.inf), round(loss.renyi(2.0), 12)  # log 3, log 7/3
        (1.098612288..., 0.847297860387)
        """
        alpha = order(alpha)
        if self.infinite > 0:
            return math.inf
        if alpha == 1:
            return self.mean()
        if alpha == math.inf:
            return max(0.0, self.highest)
        return max(0.0, self._renyi(alpha))

    def _renyi(self, alpha: float) -> float:
        """Return log(1 + growth) / h with h = alpha - 1 and growth = E[e^(h L) - 1 - h L] + h E[L]."""
        h = alpha - 1.0
        growth = self.expect(lambda t: exp_term(h * t)) + h * self.mean()
        if growth < _LARGEST:
            return math.log1p(growth) / h
        shift, missed = (self.highest, _UNSEEN) if self.highest < math.inf else (0.0, 0.0)
        with np.errstate(over="ignore"):
            return shift + math.log(self.expect(lambda t: np.exp(h * (t - shift))) + missed) / h

    def tilted_variance(self, h: float) -> float:
        """Return the variance of the finite losses under P tilted by e^(h L), from below; 0 where they have no end.

        It is the second derivative of log E_P[e^(h L)], and its logarithm changes by at most highest - lowest as h does
        by 1.

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> round(loss.tilted_variance(0.0), 12) == round(loss.variance(), 12)
        True
        """
        end = self.highest if h > 0 else self.lowest
        if math.isinf(end):
            return 0.0

        def tilted(f: LossFunction) -> float:
            return self.expect(lambda t: np.exp(h * (t - end)) * f(t))

        whole = tilted(np.ones_like)
        mean = tilted(lambda t: t) / whole
        first, second = (tilted(lambda t, k=k: (t - mean) ** k) / whole for k in (1, 2))
        return max(second * (1 - ROUNDING) - first * first, 0.0)

    def curvature(self, alpha: float) -> float:
        """Return a bound from below on the second derivative of (alpha - 1) D_alpha; 0 where none is known.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).curvature(1.0), 12)  # the variance, 3/4 log(3)^2
        0.905211720609
        """
        h = alpha - 1.0
        return self.tilted_variance(h) if h * (self.highest - self.lowest) < _MOST_TILTED else 0.0

    def relaxed(self, epsilon: float, outside: float) -> float:
        """Return the least delta of (epsilon, delta)-DP once a part of probability `outside` is set aside.

        The part with the largest losses is, down to t = quantile(outside); an outcome may be set aside in part. What is
        left is delta(epsilon) - e^(epsilon - t) delta(t) - outside (1 - e^(epsilon - t)).

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> loss.relaxed(0.0, 0.0), loss.relaxed(0.0, 0.75)
        (0.5, 0.0)
        """
        probabilities(outside, "outside")
        if self.tail(epsilon) <= outside:
            return 0.0
        t = self.quantile(outside)
        shrink = math.exp(min(epsilon - t, 0.0))
        beyond = shrink * self.delta(t) if t < math.inf else 0.0
        return max(0.0, self.delta(epsilon) - beyond - outside * (1.0 - shrink))

    def divergence(self, f: str | LossFunction, slope: float = math.inf) -> float:
        """Return D_f(P || Q) = E_Q[f(P/Q)] for a name, or a convex f with f(1) = 0 and slope = lim_r->inf f(r) / r.

        Of a named f (`divergences`) it has all its digits where P and Q are nearly alike; of another those of f(r).

        Examples
        --------
        >>> loss = PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"])  # log 3 with probability 3/4, else -log 3
        >>> round(loss.divergence(lambda r: (r - 1) ** 2), 9)  # chi^2, 1/4 times 4 + 3/4 times 4/9
        1.333333333
        """
        if isinstance(f, str):
            named = divergence_named(f)
            return self._divergence(
                lambda t: named.term(np.expm1(t), np.exp(t)), named.per_ratio, lambda: named.zero, named.slope
            )

        def per_ratio(t: np.ndarray) -> np.ndarray:
            ratios = np.exp(np.minimum(t, _LARGEST_LOG))
            return np.where(t > _LARGEST_LOG, slope, f(ratios) / ratios)

        return self._divergence(lambda t: f(np.exp(t)), per_ratio, lambda: float(f(np.zeros(1))[0]), slope)

    def _divergence(self, f: LossFunction, per_ratio: LossFunction, zero: Callable[[], float], slope: float) -> float:
        """Return E_Q[f(L); L <= 0] + E_P[per_ratio(L); L > 0], `zero` for what only Q shows and `slope` for only P.

        per_ratio is f over the ratio: so no ratio is squared, or met with a probability below the smallest double.
        """
        back = self.reverse()
        lost = back.infinite * zero() if back.infinite > 0 else 0.0
        gained = self.infinite * slope if self.infinite > 0 else 0.0
        with np.errstate(over="ignore"):
            below = back.expect(lambda t: np.where(t >= 0, f(-np.maximum(t, 0.0)), 0.0))
            above = self.expect(lambda t: np.where(t > 0, per_ratio(np.maximum(t, 0.0)), 0.0))
        return below + above + lost + gained

    def abs_chi(self, alpha: float) -> float:
        """Return (E_Q |P/Q - 1|^alpha)^(1/alpha), alpha >= 1; 2 TV at order 1, sqrt(chi^2) at 2.

        Examples
        --------
        >>> round(PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).abs_chi(1), 9)
        1.0
        """
        alpha = order(alpha)
        only_q = float(self.reverse().infinite > 0)
        if alpha == math.inf:
            most = math.exp(self.highest) - 1 if 0 < self.highest < _LARGEST_LOG else math.expm1(min(self.highest, 0.0))
            far = max(most, -math.expm1(self.lowest), only_q)
            return math.inf if self.infinite > 0 or self.highest >= _LARGEST_LOG else far
        rise = (alpha - 1.0) * self.highest + alpha * _log_gap(self.highest) if self.highest > 0 else -math.inf
        fall = alpha * _log_gap(-self.lowest) if self.lowest < 0 else -math.inf
        top = 0.0 if self.highest == math.inf else max(rise, fall, 0.0 if only_q else -math.inf)
        if top == -math.inf:
            return 0.0

        # the largest power is factored out; what of the others is below the smallest double is added
        def below(t: np.ndarray) -> np.ndarray:
            return np.exp(alpha * np.log(-np.expm1(t)) - top)

        def above(t: np.ndarray) -> np.ndarray:
            return np.exp((alpha - 1.0) * t + alpha * np.log(-np.expm1(-t)) - top)

        slope = math.exp(-top) if alpha == 1 else math.inf
        with np.errstate(divide="ignore"):
            powers = self._divergence(below, above, lambda: math.exp(-top), slope) + _UNSEEN
        if powers == math.inf and alpha > 1:  # there |r - 1|^alpha is r^alpha in all digits
            logs = (alpha - 1.0) * self.renyi(alpha) / alpha
        else:
            logs = (top + math.log(powers)) / alpha
        return math.exp(logs) if logs < _LARGEST_LOG else math.inf

    def total_variation(self) -> float:
        """Return TV(P, Q) = delta(0), in [0, 1].

        Examples
        --------
        >>> PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).total_variation()
        0.5
        """
        return self.delta(0.0)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw delta(epsilon) and P(L > epsilon) over epsilon and return the matplotlib axes (extra: plot).

        Examples
        --------
        >>> PrivacyLoss.between(["3/4", "1/4"], ["1/4", "3/4"]).plot().get_xlabel()
        'epsilon [nats]'
        """
        from divulge.dp.pictures import curves

        return curves(self, ax)


def _log_gap(loss: float) -> float:
    """Return log(1 - e^-loss), loss > 0."""
    return math.log(-math.expm1(-loss))


def _above_tangent(t: np.ndarray) -> np.ndarray:
    """Return t + e^-t - 1, with e^-t kept in [1/e, e]."""
    near = np.clip(t, -1.0, 1.0)
    return exp_term(-near) + (t - near)
