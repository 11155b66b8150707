"""Chains of theorems in rational arithmetic: a bound that is a rational number is that number, and not an ulp above.

A `Number` is a rational, or e^r or log r of one: e^ and log undo each other exactly. Any other result is `IRRATIONAL`,
as far as is known here: then the ball of the chain, rounded up, is the bound.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, wraps
from numbers import Real
from types import SimpleNamespace
from typing import Any

from divulge import exact
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.search import Index, Known
from divulge.model.prior import Prior


class Irrational(ArithmeticError):
    """A number is not known to be rational, nor how it compares."""


def _or_irrational(operation: Callable[..., "Number"]) -> Callable[..., "Number"]:
    """Let an operation return `IRRATIONAL` where it has no rational result."""

    @wraps(operation)
    def tried(*numbers: Any) -> "Number":
        try:
            return operation(*numbers)
        except Irrational:
            return IRRATIONAL

    return tried


class Number:
    """A rational `value`, +inf too, or e to it, or its logarithm, as `form` says ("", "exp", "log"); "?" is unknown.

    >>> (Number(Fraction(1, 3)).exp() * 1).log().rational()
    Fraction(1, 3)
    """

    __slots__ = ("form", "value")

    def __init__(self, value: Any, form: str = "") -> None:
        self.value, self.form = value, form

    @classmethod
    def of(cls, value: Any) -> "Number":
        """Return a number, or a ball without radius, as a Number."""
        if isinstance(value, Number):
            return value
        if hasattr(value, "man_exp"):
            if value.is_finite() and not value.is_exact():
                return IRRATIONAL
            return cls(exact.fraction(value) if value.is_finite() else float(value))
        return cls(value if value in (math.inf, -math.inf) else Fraction(value))

    def rational(self) -> Any:
        """Return the value, a Fraction or an infinity; None where it is not known to be rational."""
        return None if self.form else self.value

    def finite(self) -> Fraction:
        """Return the value, a Fraction."""
        if self.form or not self.is_finite():
            raise Irrational
        return self.value

    def is_finite(self) -> bool:
        """Return whether it is finite."""
        return isinstance(self.value, Fraction)

    def __float__(self) -> float:
        return float(self.rational())

    def is_nan(self) -> bool:
        """Return whether it is no number: never, for what would be none is refused."""
        return False

    def _is(self, value: int) -> bool:
        return not self.form and self.value == value

    @_or_irrational
    def __add__(self, other: Any) -> "Number":
        other = Number.of(other)
        return self if other._is(0) else other if self._is(0) else Number(self.finite() + other.finite())

    @_or_irrational
    def __mul__(self, other: Any) -> "Number":
        other = Number.of(other)
        if (self._is(0) and other.is_finite()) or (other._is(0) and self.is_finite()):
            return Number(Fraction(0))
        return self if other._is(1) else other if self._is(1) else Number(self.finite() * other.finite())

    @_or_irrational
    def __neg__(self) -> "Number":
        return Number(1 / self.value, "log") if self.form == "log" else Number(-self.finite())

    def __sub__(self, other: Any) -> "Number":
        return self + -Number.of(other)

    def __rsub__(self, other: Any) -> "Number":
        return -self + other

    @_or_irrational
    def __rtruediv__(self, other: Any) -> "Number":
        inverse = Number(-self.value, "exp") if self.form == "exp" else Number(1 / self.finite())
        return inverse * other

    def __truediv__(self, other: Any) -> "Number":
        return self * (1 / Number.of(other))

    @_or_irrational
    def __pow__(self, power: Any) -> "Number":
        a, b = self.finite(), Number.of(power).finite()
        if b.denominator != 1 or abs(b) > 64:
            raise Irrational
        return Number(a ** int(b))

    __radd__, __rmul__ = __add__, __mul__

    @_or_irrational
    def exp(self) -> "Number":
        """Return e to it."""
        if self.form == "log":
            return Number(self.value)
        return Number(self.finite(), "exp") if self.finite() else Number(Fraction(1))

    @_or_irrational
    def log(self) -> "Number":
        """Return its logarithm."""
        if self.form == "exp":
            return Number(self.value)
        if not self.finite() > 0:
            raise Irrational
        return Number(self.finite(), "log") if self.finite() != 1 else Number(Fraction(0))

    def expm1(self) -> "Number":
        """Return e to it, less 1."""
        return self.exp() - 1

    def log1p(self) -> "Number":
        """Return the logarithm of 1 more."""
        return (self + 1).log()

    @_or_irrational
    def sqrt(self) -> "Number":
        """Return its square root, where that is rational."""
        value = self.finite()
        root = Fraction(math.isqrt(abs(value.numerator)), math.isqrt(value.denominator))
        if root * root != value:
            raise Irrational
        return Number(root)

    @_or_irrational
    def ceil(self) -> "Number":
        """Return the least whole number that is not below it."""
        return Number(Fraction(math.ceil(self.finite())))

    def tanh(self) -> "Number":
        """Return its hyperbolic tangent, which is 0 at 0."""
        return self if self._is(0) else IRRATIONAL

    def erfc(self) -> "Number":
        """Return its complementary error function, which is 1 at 0."""
        return Number(Fraction(1)) if self._is(0) else IRRATIONAL

    def max(self, other: Any) -> "Number":
        """Return the larger one."""
        return self if self >= other else Number.of(other)

    def min(self, other: Any) -> "Number":
        """Return the smaller one."""
        return self if self <= other else Number.of(other)

    def _over(self, other: Any) -> Any:
        """Return a number with the sign of self - other."""
        other = Number.of(other)
        if "?" in (self.form, other.form):
            raise Irrational
        if self.form == other.form:
            return 0 if self.value == other.value else self.value - other.value
        if self.form:
            return -other._over(self)
        if other.form == "exp" and self.value in (0, 1):
            return -other.value if self.value else -1
        if other.form == "log" and self.value == 0:
            return 1 - other.value
        raise Irrational

    def __lt__(self, other: Any) -> bool:
        return self._over(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._over(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._over(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._over(other) >= 0

    def __eq__(self, other: object) -> bool:
        return self._over(other) == 0

    def __hash__(self) -> int:
        return hash((self.value, self.form))


IRRATIONAL = Number(None, "?")
"""What is not known to be rational."""


@lru_cache(maxsize=4)
def _probabilities(prior: Prior) -> tuple[Number, ...]:
    """Return the probabilities of the secrets that occur: each of many chains under one prior asks for them."""
    return tuple(Number.of(v) for v in prior if v > 0)


class Rationally:
    """The values of a chain that are rational numbers, in a context."""

    def __init__(self, context: Context) -> None:
        self._setting = {
            "p": None if context.p_min is None else Number.of(context.p_min),
            "n": None if context.n_max is None else Number.of(context.n_max),
            "prior": None if context.prior is None else _probabilities(context.prior),
            "whole": None,  # what takes labels into account is irrational
            "number": Number.of,
        }
        self._done: dict[int, tuple[Known, tuple[Number, ...]]] = {}

    def values(self, known: Known) -> tuple[Any, ...]:
        """Return each value as a Fraction or an infinity, None where it is not known to be one."""
        return tuple(number.rational() for number in self._numbers(known))

    def _numbers(self, known: Known) -> tuple[Number, ...]:
        if id(known) not in self._done:
            found = self._derived(known)
            if known.merged is not None:
                old = self._numbers(known.merged)
                taken = [ball is own for ball, own in zip(known.values, known.merged.values, strict=True)]
                found = tuple(b if from_old else a for a, b, from_old in zip(found, old, taken, strict=True))
            self._done[id(known)] = known, found
        return self._done[id(known)][1]

    def _derived(self, known: Known) -> tuple[Number, ...]:
        if known.original is not None:
            return tuple(Number.of(getattr(known.original, name)) for name in known.kind.bounded())
        nothing = (IRRATIONAL,) * len(known.values)
        if known.theorem is None:
            return nothing
        given = [self._premise(parent) for parent in known.parents]
        setting = SimpleNamespace(**{**self._setting, **self._chosen(known.index)})
        try:
            found = known.theorem.bound(setting, *given)
        except (ArithmeticError, AttributeError, TypeError):  # what no rational arithmetic offers is irrational
            return nothing
        return tuple(map(Number.of, found if isinstance(found, tuple) else (found,)))

    def _premise(self, parent: Known) -> SimpleNamespace:
        values = dict(zip(parent.kind.bounded(), self._numbers(parent), strict=True))
        return SimpleNamespace(**self._chosen(parent.index), **values)

    @staticmethod
    def _chosen(index: Index) -> dict[str, Any]:
        return {name: Number.of(value) if isinstance(value, Real) else value for name, value in index}
