"""Noise on whole numbers as it is published: two families, each of which carries what it is, costs and promises.

Under a bound on every outcome a query is told by its L1 norm, under concentrated privacy by its L2 norm: this is where
the families differ, and everybody else asks them. With the choice of a value by rank goes exponential noise beside
Laplace noise, and Gumbel noise beside Gaussian noise; a choice has a bounded loss in both.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from divulge.dp.accounting.promises import AdpRelease, ZcdpRelease
from divulge.dp.mechanisms import (
    DiscreteGaussianMechanism,
    DiscreteLaplaceMechanism,
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
)
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.density import DP
from divulge.guarantees.kinds.loss import ZCDP
from divulge.roots import turn

_MARGIN = 1 + 1e-9
"""Tails in doubles are right within this factor."""

_MOST_ATOMS = 1000
"""The law of Laplace noise is listed up to this sensitivity; beyond, it is near that of real numbers."""

_WIDEST_GAUSSIAN = 400.0
"""Up to this sigma the law of a discrete Gaussian is listed; beyond, it is that of real numbers but for 1e-4 of epsilon
at most, of a thousand numbers that move, and all such noise composes as one."""

_SMOOTH = 3.0
"""From this sigma on the bounds hold on how far whole numbers are from real ones."""

_FAR, _OUTSIDE = 12.0, 1e-30
"""Discrete Gaussian noise is so many sigma off with a probability of at most this: 2 e^-72 is 1.1e-31."""

_MASS_GAUSSIAN, _MASS_LAPLACE = 1 / 20, 0.35
"""More mass of whole numbers than of real ones around them: this over sigma^2, or over the scale, at most."""

_LEAST_SCALE = 1.0
"""For Laplace noise of a scale from here on this bound on the mass holds."""

_HYPERBOLIC = 700.0
"""Beyond this the hyperbolic cosine is no double; what a bound with it says is of no use long before."""

_WIDE = 4.0
"""Beyond this sigma the deviation of discrete Gaussian noise is sigma, within 1e-16 of it."""

_ERFC = 1000.0
"""Beyond this sigma the tail of discrete Gaussian noise is bounded by that on real numbers."""


@dataclass(frozen=True)
class Way:
    """What a unit's change of a query tells at most: mechanisms, whose losses and masses may be larger by a little.

    Real noise X, rounded, has around a whole number r nearly the mass of the noise on whole numbers, and a loss that is
    nearly that at r. With p_r <= e^more P(X in r +- 1/2) and losses apart by `shift` at most, but for numbers that come
    with probability `outside` at most, delta(epsilon) of the noise on whole numbers is at most e^more times that of X
    at epsilon - shift, and `outside`; so is it composed, all of them adding up.
    """

    parts: tuple[tuple[Any, int], ...]
    shift: float = 0.0
    more: float = 0.0
    outside: float = 0.0

    @classmethod
    def of(cls, ways: Iterable["Way"]) -> "Way":
        """Return what several queries tell; alike mechanisms are one, so many times."""
        several = list(ways)
        alike: Counter[Any] = Counter()
        for part, times in chain.from_iterable(way.parts for way in several):
            alike[part] += times
        more = (math.fsum(getattr(way, name) for way in several) for name in ("shift", "more", "outside"))
        return cls(tuple(alike.items()), *more)


@dataclass(frozen=True)
class Noise(ABC):
    """Noise on the cells of a query; `scale` is that of the law, 0 where all is public.

    name : what options and receipts call the family
    bounded : whether the loss of a number is bounded at every outcome
    choosing : the noise on scores of which the least is chosen, as `NoisyMax` names it
    power : the scale of the noise is the norm of a query over its share of the total to this power
    attains : the kinds of guarantee that the noise on counts attains, beside those about every outcome
    """

    scale: float

    name: ClassVar[str]
    bounded: ClassVar[bool]
    choosing: ClassVar[str]
    power: ClassVar[float]
    attains: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation."""

    @abstractmethod
    def tail(self, width: int) -> float:
        """Return P(|K| > width), or a bound just above it."""

    @abstractmethod
    def adding(self, dp: Any) -> Any:
        """Return OpenDP's measurement that adds it to each of many whole numbers."""

    @abstractmethod
    def loss(self, l1: int) -> Fraction | float:
        """Return the most that log-likelihoods of numbers change that move by `l1` in all; may be inf."""

    def loss_of_choice(self, l1: int) -> Fraction:
        """Return the most that the log-likelihood of a choice changes, of scores that move by `l1` in all."""
        return l1 / Fraction(self.scale)

    @abstractmethod
    def concentration(self, l1: int, l2: int) -> Fraction:
        """Return rho of zCDP of numbers that move by `l1` in all, with squares that add up to `l2`."""

    @abstractmethod
    def moved(self, far: Counter[int]) -> Way:
        """Return the mechanisms on numbers that move so far, each so many times."""

    def on_reals(self, far: Counter[int]) -> Way:
        """Return the mechanisms on real numbers that tell no less than numbers that move so far; for smooth noise."""
        return self.moved(far)

    @property
    def smooth(self) -> bool:
        """Whether the noise is wide enough for `on_reals`, where the law there is another one."""
        return True

    @abstractmethod
    def choice(self, loss: float) -> Any:
        """Return the mechanism of a choice with this loss."""

    @abstractmethod
    def most(self, l1: int, l2: int) -> Way | None:
        """Return what tells no less than any numbers that move so far; None where nothing but the promise is known."""

    @abstractmethod
    def promise(self, l1: int, l2: int) -> Any:
        """Return what the noise promises of numbers or choices that move so far, whatever its law."""

    @abstractmethod
    def log_ratio(self, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return log P(y | a) / P(y | b), summed over the last axis."""

    @classmethod
    @abstractmethod
    def norm(cls, l1: int, l2: int) -> float:
        """Return the norm of what one unit changes in which the noise is measured."""

    @classmethod
    @abstractmethod
    def spending(cls, share: Fraction, l1: int, l2: int) -> Self:
        """Return the noise that takes this share of the total; the scale is rounded up."""

    @classmethod
    @abstractmethod
    def spent(cls, scale: Fraction, l1: int, l2: int) -> Fraction:
        """Return the share of the total that noise of a scale takes."""

    @classmethod
    @abstractmethod
    def guarantee(cls, total: float) -> Guarantee:
        """Return what a total promises."""

    @classmethod
    @abstractmethod
    def total(cls, asked: Guarantee, level: Fraction) -> Fraction | None:
        """Return the total that a guarantee allows, where it is a total of this family; else None."""

    @classmethod
    @abstractmethod
    def start(cls, epsilon: float, delta: float) -> float:
        """Return a total near to the one that (epsilon, delta) allows."""


@dataclass(frozen=True)
class Laplace(Noise):
    """Discrete Laplace noise, P(k) in proportion to e^(-|k| / scale); the total that is divided is epsilon."""

    name = "laplace"
    bounded = True
    choosing = "exponential"
    power = 1.0

    @property
    def deviation(self) -> float:
        """The standard deviation.

        >>> round(Laplace(2.0).deviation, 6)  # sqrt(2 a) / (1 - a), a = e^(-1/2)
        2.799178
        """
        if self.scale == 0:
            return 0.0
        return math.sqrt(2 * math.exp(-1 / self.scale)) / -math.expm1(-1 / self.scale)

    def tail(self, width: int) -> float:
        """Return P(|K| > width) = 2 a^(w+1) / (1 + a) with a = e^(-1/scale).

        >>> round(Laplace(1.0).tail(2), 6)  # 2 e^-3 / (1 + e^-1)
        0.072795
        """
        if self.scale == 0:
            return 0.0
        return 2 * math.exp(-(width + 1) / self.scale) / (1 + math.exp(-1 / self.scale)) * _MARGIN

    def adding(self, dp: Any) -> Any:
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=self.scale)

    def loss(self, l1: int) -> Fraction | float:
        return l1 / Fraction(self.scale)

    def concentration(self, l1: int, l2: int) -> Fraction:
        """Return the square of the loss, halved."""
        return (l1 / Fraction(self.scale)) ** 2 / 2

    def moved(self, far: Counter[int]) -> Way:
        each = [(self._moved(by), times) for by, times in far.items()]
        return Way(
            tuple((part, times) for way, times in each for part, _ in way.parts),
            *(math.fsum(getattr(way, name) * times for way, times in each) for name in ("shift", "more", "outside")),
        )

    def _moved(self, by: int) -> Way:
        """Return what a number tells that moves so far; of many steps, by the law on real numbers.

        The loss (|x - m| - |x|) / s changes by 1 / s within half a step. The mass at 0, tanh(1/2s), exceeds that of
        real noise around it, 1 - e^(-1/2s), by a factor of at most 1 / (1 - 1/4s); elsewhere it is less.
        """
        if by <= _MOST_ATOMS:
            return Way(((DiscreteLaplaceMechanism(self.scale, by), 1),))
        if self.scale < _LEAST_SCALE:
            return Way(((AdpRelease(_next(by / self.scale)), 1),))
        return Way(
            ((LaplaceMechanism(self.scale, above(Fraction(by))), 1),), _next(1 / self.scale), _MASS_LAPLACE / self.scale
        )

    def choice(self, loss: float) -> Any:
        return AdpRelease(loss)

    def most(self, l1: int, l2: int) -> Way:
        """Return what one number tells that moves by all of `l1`.

        A number that moves by a + b tells no less than two that move by a and b, with log-concave noise: tests by a
        threshold are the best ones of 0 against a + b, of 0 against a, and of a against a + b, so that its trade-off is
        theirs one after the other; and so much no test of both numbers exceeds, which move one after the other too.
        """
        return self._moved(l1)

    def promise(self, l1: int, l2: int) -> Any:
        return AdpRelease(_next(l1 / self.scale))

    def log_ratio(self, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return ((abs(y - b) - abs(y - a)) / self.scale).sum(axis=-1)

    @classmethod
    def norm(cls, l1: int, l2: int) -> float:
        return float(l1)

    @classmethod
    def spending(cls, share: Fraction, l1: int, l2: int) -> Self:
        return cls(above(l1 / share))

    @classmethod
    def spent(cls, scale: Fraction, l1: int, l2: int) -> Fraction:
        return l1 / scale

    @classmethod
    def guarantee(cls, total: float) -> Guarantee:
        return DP(total)

    @classmethod
    def total(cls, asked: Guarantee, level: Fraction) -> Fraction | None:
        return level if asked.kind == "dp" else None

    @classmethod
    def start(cls, epsilon: float, delta: float) -> float:
        return epsilon


@dataclass(frozen=True)
class Gaussian(Noise):
    """Discrete Gaussian noise, P(k) in proportion to e^(-k^2 / (2 scale^2)); the total that is divided is rho."""

    name = "gaussian"
    bounded = False
    choosing = "gumbel"
    power = 0.5
    attains = ("zcdp",)

    @property
    def deviation(self) -> float:
        """The standard deviation, that of the real-valued law for wide noise.

        >>> round(Gaussian(0.5).deviation, 6), Gaussian(9.0).deviation
        (0.463695, 9.0)
        """
        if self.scale == 0 or self.scale > _WIDE:
            return self.scale
        k = np.arange(1, 200)
        weight = np.exp(-(k**2) / (2 * self.scale**2))
        return math.sqrt(float(2 * (k**2 * weight).sum() / (1 + 2 * weight.sum())))

    def tail(self, width: int) -> float:
        """Return P(|K| > width), or a bound just above it: erfc for wide noise.

        The sum over k > w of e^(-k^2/2s^2) is at most the integral from w on, and the sum over all k at least the whole
        integral.

        >>> round(Gaussian(1.0).tail(1), 6)  # 1 - (1 + 2 e^-.5) / sum of e^(-k^2/2)
        0.117116
        """
        if self.scale == 0:
            return 0.0
        if self.scale > _ERFC:
            return math.erfc(width / (self.scale * math.sqrt(2))) * _MARGIN
        reach = width + math.ceil(40 * self.scale) + 2
        weight = np.exp(-(np.arange(reach + 1, dtype=float) ** 2) / (2 * self.scale**2))
        return 2 * math.fsum(weight[width + 1 :].tolist()) / (2 * math.fsum(weight[1:].tolist()) + 1) * _MARGIN

    def adding(self, dp: Any) -> Any:
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        return dp.m.make_gaussian(domain, dp.l2_distance(T="i64"), scale=self.scale)

    def loss(self, l1: int) -> Fraction | float:
        return math.inf if l1 else Fraction(0)

    def concentration(self, l1: int, l2: int) -> Fraction:
        """Return l2 / (2 sigma^2)."""
        return l2 / (2 * Fraction(self.scale) ** 2)

    def moved(self, far: Counter[int]) -> Way:
        if self.scale <= _WIDEST_GAUSSIAN:
            return Way(tuple((DiscreteGaussianMechanism(self.scale, by), times) for by, times in far.items()))
        return self.on_reals(far)

    @property
    def smooth(self) -> bool:
        return self.scale >= _SMOOTH

    def on_reals(self, far: Counter[int]) -> Way:
        """Return the mechanisms on real numbers that tell no less, with how far they are from those on whole ones.

        Rounded, noise on real numbers has the mass p_r g(r) / c around r, g(r) the mean of cosh(r t / sigma^2)
        e^(-t^2 / 2 sigma^2) over |t| <= 1/2, and rounding tells no more. Midpoints exceed the mean of the density
        around them where it is concave, within sigma, by its second derivative / 24, at most 1 / (24 sigma^2) of it;
        and the sum over whole numbers exceeds the integral. The loss of rounded noise differs by
        log g(r) - log g(r - m), whose slope is the mean of t tanh(r t / sigma^2) / sigma^2, at most |r| / sigma^4 times
        that of t^2.
        """
        square = self.scale**2
        shifts: list[float] = []
        for by, times in far.items():
            reach = (_FAR * self.scale + by) / square
            spread = math.cosh(min(reach / 2, _HYPERBOLIC)) * math.exp(1 / (8 * square)) / 12  # >= the mean of t^2
            shifts.append(times * by * reach / square * spread)
        parts = tuple((GaussianMechanism(self.scale, above(Fraction(by))), times) for by, times in far.items())
        numbers = far.total()
        return Way(parts, math.fsum(shifts) * (1 + 1e-12), _MASS_GAUSSIAN * numbers / square, _OUTSIDE * numbers)

    def choice(self, loss: float) -> Any:
        return ExponentialMechanism(loss)

    def most(self, l1: int, l2: int) -> Way | None:
        """Return the law on real numbers, of which the L2 norm is all that counts, where the noise is smooth enough.

        Numbers that move by l1 in all are l1 at most, and none of them moves further.
        """
        if not self.smooth:
            return None
        near = self.on_reals(Counter({l1: 1}))
        part = GaussianMechanism(self.scale, _next(math.sqrt(l2)))
        return Way(((part, 1),), near.shift, near.more * l1, near.outside * l1)

    def promise(self, l1: int, l2: int) -> Any:
        return ZcdpRelease(above(self.concentration(l1, l2)))

    def log_ratio(self, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (((y - b) ** 2 - (y - a) ** 2) / (2 * self.scale**2)).sum(axis=-1)

    @classmethod
    def norm(cls, l1: int, l2: int) -> float:
        return math.sqrt(l2)

    @classmethod
    def spending(cls, share: Fraction, l1: int, l2: int) -> Self:
        return cls(_above_root(l2 / (2 * share)))

    @classmethod
    def spent(cls, scale: Fraction, l1: int, l2: int) -> Fraction:
        return l2 / (2 * scale * scale)

    @classmethod
    def guarantee(cls, total: float) -> Guarantee:
        return ZCDP(total)

    @classmethod
    def total(cls, asked: Guarantee, level: Fraction) -> Fraction | None:
        if asked.kind == "rdp":
            return level / Fraction(asked.values()["alpha"])
        return level if asked.kind == "zcdp" else None

    @classmethod
    def start(cls, epsilon: float, delta: float) -> float:
        """Return rho = mu^2 / 2 of the real-valued Gaussian mechanism with this epsilon at this delta.

        delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle, Wang, arXiv:1805.06530).
        """
        special = require("scipy.special", "science")

        def excess(mu: float) -> float:
            return special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))

        if not 0 < delta < 1:
            return 0.0
        log, _ = turn(lambda log: excess(math.exp(log)) > delta, math.log(1e-9), math.log(1e3))
        return math.exp(log) ** 2 / 2


FAMILIES: dict[str, type[Noise]] = {one.name: one for one in (Laplace, Gaussian)}
"""Name -> family."""


def family_named(name: Any) -> type[Noise]:
    """Return a family by its name.

    >>> family_named("laplace")(2.0)
    Laplace(scale=2.0)
    """
    if not isinstance(name, str) or name not in FAMILIES:
        raise DivulgeError.of("noise", 'be "laplace" or "gaussian"', "it", repr(name)[:60])
    return FAMILIES[name]


def above(value: Fraction) -> float:
    """Return a double that is at least a fraction."""
    found = float(value)
    return found if Fraction(found) >= value else _next(found)


def _above_root(value: Fraction) -> float:
    found = math.sqrt(float(value))
    while Fraction(found) ** 2 < value:
        found = _next(found)
    return found


def _next(value: float) -> float:
    return math.nextafter(value, math.inf)
