"""The parameters of guarantees: names, ranges, and numbers in and out of text."""

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from divulge import exact
from divulge.dp.loss.divergences import DIVERGENCES, divergence_named
from divulge.errors import DivulgeError
from divulge.model.entries import parse as parse_number
from divulge.model.metrics.metric import Metric


@dataclass(frozen=True)
class Parameter:
    """The range of a parameter, ends included, and whether it is a logarithm (and so has a unit); or names, or a class.

    What is promised is at most the parameter, or with `at_least` at least: more of that is stronger.
    """

    low: float
    high: float
    logarithmic: bool = False
    names: tuple[str, ...] = ()
    at_least: bool = False
    made_of: type | None = None
    hint: str = ""

    @property
    def weakest(self) -> float:
        """The value that promises nothing."""
        return self.low if self.at_least else self.high

    def clamped(self, value: Any) -> Any:
        """Return `value`, brought back into the range where rounding took it out."""
        return min(max(value, self.low), self.high)


PARAMETERS: dict[str, Parameter] = {
    "epsilon": Parameter(0, math.inf, True),
    "lower": Parameter(0, math.inf, True),
    "upper": Parameter(0, math.inf, True),
    "ratio": Parameter(1, math.inf),
    "delta": Parameter(0, 1),
    "outside": Parameter(0, 1),
    "distance": Parameter(0, 1),
    "alpha": Parameter(1, math.inf),
    "order": Parameter(1, math.inf),
    "omega": Parameter(1, math.inf),
    "zeta": Parameter(0, math.inf),
    "mu": Parameter(0, math.inf),
    "mean": Parameter(0, math.inf, True),
    "tau": Parameter(0, math.inf, True),
    "rho": Parameter(0, math.inf, True),
    "xi": Parameter(-sys.float_info.max, math.inf, True),
    "cap": Parameter(0, math.inf, True),
    "f": Parameter(0, 0, names=tuple(DIVERGENCES)),
    "degree": Parameter(0, math.inf),
    "divergence": Parameter(0, math.inf),
    "k": Parameter(1, math.inf, at_least=True),
    "l": Parameter(1, math.inf, at_least=True),
    "c": Parameter(0, math.inf),
    "beta": Parameter(0, math.inf),
    "metric": Parameter(0, 0, made_of=Metric, hint="Metric.grid, .line, .of, .graph and .of_places make one."),
}
"""Name of a parameter -> its range. Every kind uses these names."""


def checked(value: Any, name: str) -> Any:
    """Return the parameter as a float or Fraction inside its range, or as the name or object it is."""
    allowed = PARAMETERS[name]
    if allowed.names:
        divergence_named(value)
        return value
    if allowed.made_of is not None:
        if not isinstance(value, allowed.made_of):
            kind = f"a {allowed.made_of.__name__}"
            raise DivulgeError.of(name, f"be {kind}", "it", f"a {type(value).__name__}", allowed.hint)
        return value
    number = to_number(value, name)
    size = value if type(value) is int else number  # whole numbers are compared in a tenth of the time of fractions
    if not allowed.low <= size <= allowed.high:
        low = f"that is at least {allowed.low:g}" if allowed.low > -sys.float_info.max else "above -1.8e308"
        high = f" and at most {allowed.high:g}" if allowed.high < math.inf else ""
        raise DivulgeError.of(name, f"be a number {low}{high}", "it", str(value))
    if size != math.inf and size > sys.float_info.max:
        raise DivulgeError.of(name, "be inf, or a number below 1.8e308", "it", "beyond")
    return number


def to_number(value: Any, name: str) -> Any:
    """Return a number, Decimal or text such as "1/3" as a Fraction where it is rational, else a float; +inf too."""
    if isinstance(value, str):
        if value.strip() in ("inf", "+inf"):
            return math.inf
        return parse_number(value, lambda: f"`{name}` must be a number; it is")
    if isinstance(value, Decimal) and not value.is_nan():
        return Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DivulgeError.of(name, "be a number", "it", f"a {type(value).__name__}")
    return Fraction(value) if isinstance(value, Rational) else float(value)


def number_text(value: Any) -> str:
    """Return a number as it may be written on the command line: "0.5", "1/3", "inf"; what reads as just that number.

    A float that is no short decimal has all of its digits: 0.1 is a little more than "0.1", and promises less.

    >>> number_text(Fraction(1, 8)), number_text(Fraction(1, 3)), number_text(0.5)
    ('0.125', '1/3', '0.5')
    >>> number_text(2**-20 + 2**-60)
    '9.53674316407117361...e-7'
    """
    if isinstance(value, float):
        return str(value) if math.isinf(value) or Fraction(str(value)) == value else str(Decimal(value)).lower()
    if isinstance(value, Rational) and value.denominator != 1:
        decimals = (f"{float(value):.12g}", repr(float(value)))
        return next((one for one in decimals if Fraction(one) == value), str(value))
    if isinstance(value, Rational) and abs(Fraction(value)) >= 10**21:
        short = f"{exact.as_float(value):.12g}"
        return short if Fraction(short) == value else str(value)
    return str(value)
