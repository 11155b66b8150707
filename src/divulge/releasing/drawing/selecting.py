"""Selections by noise that is continuous, drawn exactly: no noise is rounded, for no more of it is read than decides.

A uniform number is read digit by digit, as far as a comparison asks. Comparisons alone make exponential noise of
uniform numbers (von Neumann 1951; Karney, arXiv:1303.6257), and with them Laplace noise. Which of many numbers is the
largest with exponential or Gumbel noise follows from weights e^-x: doubles decide with what they may be off by, and
balls where these do not, once in a million draws.
"""

import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.exact import arb
from divulge.releasing.drawing.chance import WORD, Chance

_READ = 32
"""Binary digits that are read at a time: two numbers agree in so many once in four billion comparisons."""

ROUNDED = 1e-12
"""How far off a weight in doubles may be, of it: x, of at most 745, is off by 745 * 2^-50, and e^-x by a few 2^-53."""

LEAST = 1e-300
"""Weights that are less than this are no doubles, or are not precise ones."""

_FAR = 1000
"""From exponents of 745 on e^-x is no double."""


@dataclass
class Uniform:
    """A number that is uniform on [0, 1), of which `digits` binary digits are known so far, as a whole number.

    >>> one = Uniform(Chance()).at_least(40)
    >>> one.digits, 0 <= one.whole < 1 << 64
    (64, True)
    """

    chance: Chance
    whole: int = 0
    digits: int = 0

    def at_least(self, digits: int) -> "Uniform":
        """Read on until so many digits are known.

        >>> Uniform(Chance()).at_least(1).digits
        32
        """
        while self.digits < digits:
            word = int(self.chance.words(1)[0]) >> (64 - _READ)
            self.whole, self.digits = self.whole << _READ | word, self.digits + _READ
        return self

    def __lt__(self, other: "Uniform") -> bool:
        digits = _READ
        while True:
            a = self.at_least(digits).whole >> (self.digits - digits)
            b = other.at_least(digits).whole >> (other.digits - digits)
            if a != b:
                return a < b
            digits += _READ


@dataclass
class Noisy:
    """A rational number with noise: at + times (whole + rest), whole + rest a draw from the exponential law."""

    at: Fraction
    times: Fraction
    whole: int
    rest: Uniform

    @classmethod
    def of(cls, at: Fraction, times: Fraction, chance: Chance) -> "Noisy":
        """Return a number with exponential noise.

        U is kept with probability e^-U: of U > U_1 > U_2 > ... the run is odd so often. Each one that is not adds 1.

        >>> Noisy.of(Fraction(3), Fraction(0), Chance()).times
        Fraction(0, 1)
        """
        whole = 0
        while True:
            first = last = Uniform(chance)
            odd = True
            while (following := Uniform(chance)) < last:
                last, odd = following, not odd
            if odd:
                return cls(at, times, whole, first)
            whole += 1

    @classmethod
    def laplace(cls, at: Fraction, scale: Fraction, chance: Chance) -> "Noisy":
        """Return a number with Laplace noise: exponential noise with a sign.

        >>> abs(Noisy.laplace(Fraction(3), Fraction(2), Chance()).times)
        Fraction(2, 1)
        """
        sign = 1 if int(chance.words(1)[0]) & 1 else -1
        return cls.of(at, sign * scale, chance)

    def _between(self, digits: int) -> tuple[Fraction, Fraction]:
        """Return bounds of the number from so many digits of its noise."""
        rest = self.rest.at_least(digits)
        unit = Fraction(1, 1 << rest.digits)
        ends = (self.at + self.times * (self.whole + (rest.whole + more) * unit) for more in (0, 1))
        low, high = sorted(ends)
        return low, high

    def __gt__(self, other: "Noisy") -> bool:
        digits = _READ
        while True:
            (low, high), (below, above) = self._between(digits), other._between(digits)
            if low >= above or high <= below:
                return low >= above
            digits += _READ


@dataclass(frozen=True)
class Weights:
    """Weights e^-x of some places, at least one of them 1: bounds of each in doubles, and each as a ball.

    doubles : float64 array, each weight but for a relative `ROUNDED` and `LEAST`
    exponent : returns x of a place as it is, a rational number that is at least 0
    """

    doubles: np.ndarray
    exponent: Callable[[int], Fraction]

    @classmethod
    def of(cls, exponents: np.ndarray, exponent: Callable[[int], Fraction]) -> "Weights":
        """Return the weights of exponents, float64, each within a relative 2^-50 of what `exponent` returns, or above
        745 both."""
        return cls(np.exp(-exponents), exponent)

    @classmethod
    def of_scores(cls, scores: np.ndarray, scale: float) -> "Weights":
        """Return e^-(s/scale) of whole numbers s, int64, less the least of them.

        >>> Weights.of_scores(np.array([7, 5, 5]), 2.0).doubles.round(6).tolist()
        [0.367879, 1.0, 1.0]
        """
        gaps = scores - scores.min()
        with np.errstate(over="ignore"):  # of a small scale, where an infinity is as good
            exponents = gaps / scale
        return cls.of(exponents, lambda place: int(gaps[place]) / Fraction(scale))

    def ball(self, place: int) -> Any:
        """Return a weight as an `arb` of python-flint at the current precision."""
        return (-arb(self.exponent(place))).exp()

    def permute_and_flip(self, chance: Chance) -> int:
        """Return a place drawn by permute-and-flip: each is kept with its weight, and one of those kept is drawn.

        All that are kept being as probable to come first in a random order, it is the first one kept; in law it is the
        largest of -x with exponential noise.

        Source: McKenna, Sheldon, "Permute-and-Flip", arXiv:2010.12603; Ding et al., arXiv:2105.07260, for the noise.

        >>> Weights.of_scores(np.array([9000, 0, 9000]), 1.0).permute_and_flip(Chance())
        1
        """
        words = chance.words(len(self.doubles))
        at = words * 2.0**-64
        places = np.flatnonzero(at < self.doubles * (1 + ROUNDED) + LEAST)  # no others are kept
        kept = at[places] + 2.0**-63 <= self.doubles[places] * (1 - ROUNDED) - LEAST
        for k in np.flatnonzero(~kept).tolist():
            place = int(places[k])
            kept[k] = _below(Uniform(chance, int(words[place]), 64), lambda place=place: [self.ball(place)]) == 0
        places = places[kept]
        return int(places[int(chance.uniform(len(places), 1)[0])])

    def exponential_mechanism(self, chance: Chance) -> int:
        """Return a place drawn in proportion to the weights: the exponential mechanism, -x with Gumbel noise.

        A uniform part of the sum of all weights lies in one of them.

        >>> Weights.of_scores(np.array([9000, 0, 9000]), 1.0).exponential_mechanism(Chance())
        1
        """
        upto = np.cumsum(self.doubles)
        off = ROUNDED + len(upto) * 2.0**-52  # each sum is rounded by half of 2^-52 of it
        word = int(chance.words(1)[0])
        low = word / WORD * upto[-1] * (1 - 3 * off) - 2 * len(upto) * LEAST
        high = (word + 1) / WORD * upto[-1] * (1 + 3 * off) + 2 * len(upto) * LEAST
        first, last = (int(np.searchsorted(upto, end, side="right")) for end in (low, high))
        if first == last:
            return first
        return _below(Uniform(chance, word, 64), self._shares)

    def _shares(self) -> list[Any]:
        """Return which share of the sum of all weights those up to each place have, as balls."""
        upto = list(accumulate(map(self.ball, range(len(self.doubles)))))
        return [one / upto[-1] for one in upto[:-1]]


def _below(drawn: Uniform, bounds: Callable[[], list[Any]]) -> int:
    """Return how many of some rising numbers a uniform number is not below, reading as many digits as that takes.

    `bounds` returns the numbers as balls at the current precision.
    """
    import flint

    digits = drawn.digits
    while True:
        drawn.at_least(digits)
        with flint.ctx.workprec(2 * drawn.digits):
            low, high = (flint.arb(drawn.whole + more) / flint.arb(2) ** drawn.digits for more in (0, 1))
            given = bounds()
            place = bisect_left(given, True, key=lambda bound: not low >= bound)
            if place == len(given) or high <= given[place]:
                return place
        digits *= 2


LAWS: dict[str, Callable[[Weights, Chance], int]] = {
    "exponential": Weights.permute_and_flip,
    "gumbel": Weights.exponential_mechanism,
}
"""Noise -> what draws the place of the largest number with it by weights."""


def largest(mechanism: Any, values: Sequence[Any]) -> int:
    """Return the place of the largest of some values with the noise of a `NoisyMax`, drawn exactly.

    >>> largest(dv.dp.NoisyMax(0.001, noise="gumbel"), [3, 5, 4])
    1
    """
    given = [_rational(value) for value in values]
    if not given:
        raise DivulgeError.of("values", "have at least one number", "they", "none")
    chance, scale = Chance(), Fraction(mechanism.scale)
    if mechanism.noise in LAWS:
        most = max(given)
        exponents = [(most - value) / scale for value in given]
        near = np.array([float(min(one, _FAR)) for one in exponents])
        return LAWS[mechanism.noise](Weights.of(near, exponents.__getitem__), chance)
    best, first = 0, Noisy.laplace(given[0], scale, chance)
    for place, value in enumerate(given[1:], 1):
        if (other := Noisy.laplace(value, scale, chance)) > first:
            best, first = place, other
    return best


def answers(mechanism: Any, values: Iterable[Any], at: Any) -> Iterator[bool]:
    """Yield, value by value, whether it exceeds a threshold with the noise of a `SparseVector`, drawn exactly.

    >>> list(answers(dv.dp.SparseVector(0.001, answers=2, threshold=0.001), [1, 9, 2, 8, 7], at=5))
    [False, True, False, True]
    """
    chance = Chance()
    threshold = Noisy.laplace(_rational(at), Fraction(mechanism.noise_of_threshold), chance)
    left = int(mechanism.answers)
    for value in values:
        said = Noisy.laplace(_rational(value), Fraction(mechanism.scale), chance) > threshold
        yield said
        left -= said
        if not left:
            return


def _rational(value: Any) -> Fraction:
    """Return a number as it stands; a double is a rational number."""
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        return Fraction(operator.index(value) if hasattr(value, "__index__") else value)
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of("values", "be finite numbers", "one", f"a {type(value).__name__}") from None
