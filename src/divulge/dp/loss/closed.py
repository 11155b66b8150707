"""Privacy losses with closed forms: Gaussian, Laplace, and the worst exponential mechanism."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from divulge.dp.knowledge import Known
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.divergences import divergence_named
from divulge.dp.loss.numbers import WIDEST, order
from divulge.dp.loss.pair import LossFunction, PrivacyLoss
from divulge.dp.loss.quadrature import integral, rule, weighted
from divulge.extras import require
from divulge.measures.numeric.convex import exp_term

_DEEPEST = 1500.0
"""e^(-t/2) is 0 in doubles beyond."""

_TWO_DATA_SETS: tuple[Hashable, Hashable] = ("D", "D'")


@dataclass(frozen=True)
class _Mirrored(PrivacyLoss):
    """A finite loss that is the same for (P, Q) as for (Q, P)."""

    @property
    def infinite(self) -> float:
        return 0.0

    @property
    def lowest(self) -> float:
        return -self.highest

    def reverse(self) -> Self:
        return replace(self, pair=self.pair[::-1])


@dataclass(frozen=True)
class _Ranged(_Mirrored):
    """A mirrored loss in [-top, top]."""

    top: float
    pair: tuple[Hashable, Hashable] = _TWO_DATA_SETS
    known: Known = Known.MECHANISM
    stated: Fraction | None = None  # what the top is the double next to, where it is known

    @property
    def highest(self) -> float:
        return self.top

    def _weighed(self, f: LossFunction, kinks: Sequence[float]) -> float:
        """Return the integral of e^(s/2) f(top + s) over -2 top <= s <= 0, as far as e^(s/2) is a double."""
        from_top = [k - self.top for k in (0.0, *kinks)]
        low = max(-2 * self.top, -_DEEPEST)
        return integral(lambda s: weighted(np.exp(s / 2), f(self.top + s)), low, 0.0, from_top)


@dataclass(frozen=True)
class GaussianLoss(_Mirrored):
    """Loss of N(0, sigma^2) and N(s, sigma^2): N(mu^2/2, mu^2) under P, N(-mu^2/2, mu^2) under Q, mu = s / sigma."""

    mu: float
    pair: tuple[Hashable, Hashable] = _TWO_DATA_SETS
    known: Known = Known.MECHANISM
    stated: Fraction | None = None  # what mu is the double next to, where it is known

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", self.mu**2 / 2)

    @property
    def highest(self) -> float:
        return math.inf

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return _ndtr(self.mu / 2 - t / self.mu)

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return _ndtr(-self.mu / 2 - t / self.mu)

    def _delta(self, e: np.ndarray) -> np.ndarray:
        a, b = e / self.mu - self.mu / 2, e / self.mu + self.mu / 2
        far = a > -5.0
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.exp(-a * a / 2) / 2 * _erfcx_drop(a / math.sqrt(2), self.mu / math.sqrt(2))
            plain = _ndtr(-a) - np.exp(e + require("scipy.special", "science").log_ndtr(-b))
        return np.where(e == math.inf, 0.0, np.where(far, scaled, plain))

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E_P[f(L)] by quadrature over 38 standard deviations to both sides."""
        centre, width = self.mu**2 / 2, self.mu

        def density(z: np.ndarray) -> np.ndarray:  # in deviations: losses beyond 1e16 are no grid of doubles
            return weighted(np.exp(-z * z / 2) / math.sqrt(2 * math.pi), f(centre + width * z))

        return integral(density, -38.0, 38.0, [(kink - centre) / width for kink in (0.0, *kinks)])

    def mean(self) -> float:
        return self.mu**2 / 2

    def variance(self) -> float:
        return self.mu**2

    def _renyi(self, alpha: float) -> float:
        return alpha * self.mu**2 / 2

    def curvature(self, alpha: float) -> float:
        return self.mu**2

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(self.mu**2 / 2, self.mu, size)


@dataclass(frozen=True)
class LaplaceLoss(_Ranged):
    """Loss of Laplace noise of scale b around 0 and around s: in [-e, e], e = s / b, with atoms at both ends."""

    @property
    def atoms_at(self) -> np.ndarray:
        return np.array([-self.top, self.top])

    def _tail(self, t: np.ndarray) -> np.ndarray:
        inside = 1.0 - np.exp((np.minimum(t, self.top) - self.top) / 2) / 2
        return np.select([t < -self.top, t < self.top], [1.0, inside], 0.0)

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        inside = np.exp(-(self.top + np.maximum(t, -self.top)) / 2) / 2
        return np.select([t < -self.top, t < self.top], [1.0, inside], 0.0)

    def _delta(self, e: np.ndarray) -> np.ndarray:
        below = -np.expm1(np.minimum(e, 0.0))
        inside = -np.expm1((np.minimum(e, self.top) - self.top) / 2)
        return np.where(e < -self.top, below, inside) + 0.0

    def _epsilon(self, delta: float) -> float:
        if delta in (0, 1):
            return self.top * (1 - delta)
        return max(0.0, math.nextafter(self.top + 2 * math.log1p(-delta), math.inf))

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return the two atoms and the density e^((t - e)/2) / 4 between them, by quadrature."""
        ends, weights = np.array([-self.top, self.top]), np.array([math.exp(-self.top) / 2, 0.5])
        return float(weighted(weights, f(ends)).sum()) + self._weighed(f, kinks) / 4

    def mean(self) -> float:
        return _exp_term(-self.top)

    def _renyi(self, alpha: float) -> float:
        """Return log((a e^(h e) + h e^(-a e)) / (2 a - 1)) / h with h = a - 1; near 0 by what the sum exceeds 1."""
        e, h = self.top, alpha - 1.0
        if h * e < 1:
            return math.log1p((alpha * _exp_term(h * e) + h * _exp_term(-alpha * e)) / (2 * alpha - 1)) / h
        return e + math.log(alpha / (2 * alpha - 1)) / h + math.log1p(h / alpha * math.exp(-(alpha + h) * e)) / h

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        x = rng.laplace(0.0, 1.0, size)
        return np.abs(x - self.top) - np.abs(x)


@dataclass(frozen=True)
class ExponentialLoss(_Ranged):
    """The least loss that dominates every mechanism whose losses lie in an interval of width e (bounded range).

    The exponential mechanism exp(e u / (2 s)), u of sensitivity s, is one. The worst for a given epsilon answers two
    ways, losses t and t - e: delta(epsilon) = (e^(e/2) - e^(epsilon/2))^2 / (e^e - 1), at t = (e + epsilon) / 2, and
    P(L > t) = (e^e - e^((e + t)/2)) / (e^e - 1) is the loss with this curve, tail and all. Divergences are those of the
    worst two-way mechanism, which are smaller than those of the dominating loss: a convex function of a ratio in an
    interval, of mean 1, is largest in the mean at the ends.
    """

    known: Known = Known.DOMINATING

    @property
    def attained(self) -> AtomicLoss:
        """The mechanism with two answers, losses e/2 and -e/2."""
        half = self.top / 2
        p = np.array([math.exp(-half), 1.0]) / (1.0 + math.exp(-half))
        return AtomicLoss(np.array([-half, half]), p, p[::-1], pair=self.pair, known=Known.SENSITIVITY)

    def divergence(self, f: str | LossFunction, slope: float = math.inf) -> float:
        """Return the largest divergence of a two-way mechanism, from above: by branch and bound over t."""
        if f == "kl":
            return self.mean()
        if f == "chi-squared":
            return math.expm1(self.renyi(2.0)) if self.top < 700 else math.inf
        found = super().divergence(f, slope)
        if self.top > WIDEST:
            return found
        term = divergence_named(f).term if isinstance(f, str) else lambda _, r: f(r)
        return min(self._worst_two_way(term), found)

    def abs_chi(self, alpha: float) -> float:
        if order(alpha) == math.inf or alpha * self.top > WIDEST:
            return super().abs_chi(alpha)
        with np.errstate(over="ignore"):
            grown = self._worst_two_way(lambda t, _: np.abs(t) ** alpha)
        return min(grown ** (1 / alpha), super().abs_chi(alpha))

    def _worst_two_way(self, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """Return max over t of E_Q[term] at ratios e^(t - e) and e^t, from above.

        For t in [a, b] the ratios lie in [e^(a - e), e^b], whose ends bound the mean. Intervals are halved until their
        bounds are within a relative 1e-9 of the best t, or there are too many.
        """

        def two_way(low: np.ndarray, high: np.ndarray) -> np.ndarray:
            below, above = np.expm1(low), np.expm1(high)
            share = np.where(above > below, -below / np.where(above > below, above - below, 1.0), 0.0)
            return (1.0 - share) * term(below, np.exp(low)) + share * term(above, np.exp(high))

        edges, best, settled = np.linspace(0.0, self.top, 65), 0.0, 0.0
        a, b = edges[:-1], edges[1:]
        with np.errstate(over="ignore", invalid="ignore"):
            while len(a):
                middle = (a + b) / 2
                best = max(best, float(np.nan_to_num(two_way(middle - self.top, middle)).max()))
                bounds = np.nan_to_num(two_way(a - self.top, b), nan=math.inf)
                open_ = bounds > best * (1 + 1e-9)
                settled = max(settled, float(np.max(bounds, where=~open_, initial=0.0)))
                if open_.sum() > 20_000:
                    return float(bounds.max())
                a, b = np.concatenate([a[open_], middle[open_]]), np.concatenate([middle[open_], b[open_]])
        return max(best, settled)

    def _inside(self, values: np.ndarray) -> np.ndarray:
        return np.clip(values, -self.top, self.top)

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return np.expm1((self._inside(t) - self.top) / 2) / np.expm1(-self.top)

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        s = self._inside(t)
        return np.exp(-(self.top + s) / 2) * np.expm1((s - self.top) / 2) / np.expm1(-self.top)

    def _delta(self, e: np.ndarray) -> np.ndarray:
        inside = np.expm1((self._inside(e) - self.top) / 2) ** 2 / -math.expm1(-self.top)
        return np.where(e < -self.top, -np.expm1(np.minimum(e, 0.0)), inside)

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return the integral of f(t) e^((t - e)/2) / (2 (1 - e^-e)) over [-e, e], by quadrature."""
        return self._weighed(f, kinks) / 2 / -math.expm1(-self.top)

    def mean(self) -> float:
        """Return max_t of the mean loss t - e (e^t - 1) / (e^e - 1), at t = log((e^e - 1) / e)."""
        e = self.top
        return self._two_way(1.0, math.log1p(_exp_term(e) / e) if e < 1 else e + math.log(-math.expm1(-e) / e))

    def _renyi(self, alpha: float) -> float:
        """Return the largest over t of the two-way divergence, at e^(t - e) = r cut to [e^-e, 1].

        r = h (1 - e^(-a e)) / (a (1 - e^(-h e))) with h = a - 1, near 1 from the difference of its two sides.
        """
        e, h = self.top, alpha - 1.0
        below = alpha * -math.expm1(-h * e)
        if alpha * e < 1:
            t = e + math.log1p((alpha * _exp_term(-h * e) - h * _exp_term(-alpha * e)) / below)
        else:
            t = e + math.log(h * -math.expm1(-alpha * e) / below)
        return self._two_way(alpha, min(max(t, 0.0), e))

    def _two_way(self, alpha: float, t: float) -> float:
        """Return D_alpha for losses t and t - e: log E[e^(h L)] / h, where E[e^(-L)] = 1."""
        e, h = self.top, alpha - 1.0
        share, ratio = math.expm1(t - e) / math.expm1(-e), math.expm1(-t) / math.expm1(-e)
        rest = math.exp(t - e) * ratio
        mean = share * _exp_term(-t) + (
            rest * _exp_term(e - t) if e - t < 1 else ratio * (1 - (1 + e - t) * math.exp(t - e))
        )
        if h == 0:
            return mean
        if h * t < 1:
            return math.log1p(share * _exp_term(h * t) + rest * _exp_term(h * (t - e)) + h * mean) / h
        total = share + rest * math.exp(-h * e)
        return t + math.log(total) / h if total > 0 else t  # no loss is above t

    def curvature(self, alpha: float) -> float:
        """Return 0: the divergences are not those of one pair of distributions."""
        return 0.0

    def variance(self) -> float:
        """Return the variance of the dominating loss."""
        mean = self.expect(lambda t: t)
        return self.expect(lambda t: (t - mean) ** 2)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self.top + 2 * np.log1p(rng.random(size) * math.expm1(-self.top))


def _exp_term(s: float) -> float:
    """Return e^s - 1 - s."""
    return float(exp_term(np.array(s)))


def _ndtr(x: Any) -> Any:
    return require("scipy.special", "science").ndtr(x)


def _erfcx_drop(x: np.ndarray, width: float) -> np.ndarray:
    """Return erfcx(x) - erfcx(x + width), by quadrature of its derivative where the two are close."""
    special = require("scipy.special", "science")
    if width > 1.0:
        return special.erfcx(x) - special.erfcx(x + width)
    nodes, weights = rule(24)
    points = np.asarray(x)[..., None] + width / 2 * (nodes + 1)
    slopes = 2 / math.sqrt(math.pi) - 2 * points * special.erfcx(points)
    return width / 2 * (slopes @ weights)
