"""Selections by noise that is continuous, drawn exactly: no noise is rounded, for no more of it is read than decides.

A uniform number is read digit by digit, as far as a comparison asks. Comparisons alone make exponential noise of
uniform numbers (von Neumann 1951; Karney, arXiv:1303.6257), and name the largest of rational values with such noise.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.releasing.drawing.chance import Chance

_READ = 32
"""Binary digits that are read at a time: two numbers agree in so many once in four billion comparisons."""


@dataclass
class Uniform:
    """A number that is uniform on [0, 1), of which `digits` binary digits are known so far, as a whole number.

    Examples
    --------
    >>> one = Uniform(Chance()).at_least(40)
    >>> one.digits, 0 <= one.whole < 1 << 64
    (64, True)
    """

    chance: Chance
    whole: int = 0
    digits: int = 0

    def at_least(self, digits: int) -> "Uniform":
        """Read on until so many digits are known.

        Examples
        --------
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

        Examples
        --------
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

        Examples
        --------
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


def largest(mechanism: Any, values: Sequence[Any]) -> int:
    """Return the place of the largest of some values with the noise of a `NoisyMax`, drawn exactly.

    Gumbel noise is the exponential mechanism: a place is proposed, and kept with e^-((most - value) / scale).

    Examples
    --------
    >>> from divulge.dp import NoisyMax
    >>> largest(NoisyMax(0.001, noise="gumbel"), [3, 5, 4])
    1
    """
    given = [_rational(value) for value in values]
    if not given:
        raise DivulgeError.of("values", "have at least one number", "they", "none")
    chance, scale = Chance(), Fraction(mechanism.scale)
    if mechanism.noise == "gumbel":
        most = max(given)
        while True:
            place = int(chance.uniform(len(given), 1)[0])
            if _kept((most - given[place]) / scale, chance):
                return place
    noisy = Noisy.laplace if mechanism.noise == "laplace" else Noisy.of
    best, first = 0, noisy(given[0], scale, chance)
    for place, value in enumerate(given[1:], 1):
        if (other := noisy(value, scale, chance)) > first:
            best, first = place, other
    return best


def _kept(x: Fraction, chance: Chance) -> bool:
    """Return True with probability e^-x: an exponential draw is larger than x."""
    return Noisy.of(Fraction(0), Fraction(1), chance) > Noisy(x, Fraction(0), 0, Uniform(chance))


def answers(mechanism: Any, values: Iterable[Any], at: Any) -> Iterator[bool]:
    """Yield, value by value, whether it exceeds a threshold with the noise of a `SparseVector`, drawn exactly.

    Examples
    --------
    >>> from divulge.dp import SparseVector
    >>> list(answers(SparseVector(0.001, answers=2, threshold=0.001), [1, 9, 2, 8, 7], at=5))
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
