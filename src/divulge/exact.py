"""Exact rational entries, and logarithms of them that are rounded correctly, once.

An exact array is a NumPy object array of `fractions.Fraction`. Sums, products and comparisons of
such arrays need nothing special; only irrational functions do, and they pass through here: python-flint
evaluates them in ball arithmetic at a growing precision until every point of the ball rounds to one double.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.units import Unit, nats_per

_MAX_PRECISION = 1 << 14
"""Bits after which a ball that still holds a tie counts as a tie: doubles have 53, and the balls of formulas lose a few
hundred; doubling from 96, it ends after eight rounds."""


def as_fractions(values: Any) -> np.ndarray:
    """Return `values` (an array or nested sequence of exact or finite float numbers) as an object array of Fraction."""
    array = np.asarray(values, dtype=object)
    out = np.empty(array.shape, dtype=object)
    out.ravel()[:] = [Fraction(v) for v in array.ravel().tolist()]
    return out


def as_floats(values: np.ndarray) -> np.ndarray:
    """Return an exact or float array as float64, each entry correctly rounded."""
    if values.dtype != object:
        return values
    try:
        return values.astype(np.float64)
    except OverflowError:  # an infinity stands for what is beyond all doubles
        return np.array([as_float(v) if v > 0 else -as_float(-v) + 0.0 for v in values.ravel()]).reshape(values.shape)


def as_number(value: Any) -> Any:
    """Return a fraction as it is, and any other number as a Python float."""
    return value if isinstance(value, Fraction) else float(value)


def as_float(value: Any) -> float:
    """Return the double nearest to a number at least 0; +inf when that is beyond all doubles.

    >>> as_float(Fraction(10**400, 3)), as_float(Fraction(1, 4))
    (inf, 0.25)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_infinite(value: Any) -> bool:
    """Say whether a number is +inf; a fraction, which never is, is not compared.

    >>> is_infinite(math.inf), is_infinite(Fraction(1, 2))
    (True, False)
    """
    return isinstance(value, float) and value == math.inf


def double_above(value: Fraction | float) -> float:
    """Return the least double that is at least a number.

    >>> double_above(0.75), Fraction(double_above(Fraction(3, 10))) >= Fraction(3, 10)
    (0.75, True)
    """
    nearest = as_float(value) if value >= 0 else -as_float(-value)
    return math.nextafter(nearest, math.inf) if nearest < value else nearest


def double_below(value: Fraction | float) -> float:
    """Return the largest double that is at most a number.

    >>> double_below(0.75), Fraction(double_below(Fraction(1, 10))) <= Fraction(1, 10)
    (0.75, True)
    """
    return -double_above(-value)


def is_exact(*arrays: np.ndarray) -> bool:
    """Say whether all the arrays hold exact entries."""
    return all(a.dtype.kind == "O" for a in arrays)


def correctly_rounded(ball: Callable[[], Any]) -> float:
    """Return the double nearest to the real number that `ball()` encloses.

    `ball` gives a python-flint `arb` at the current precision and is called again at higher ones. A value that is
    still indistinguishable from 0 at the largest precision is 0.

    >>> import flint
    >>> round(correctly_rounded(lambda: flint.arb(3).log() / flint.arb(2).log()), 9)
    1.584962501
    """
    import flint

    precision = 96
    while True:
        with flint.ctx.workprec(precision):
            value = ball()
            low, high = float(value.lower()), float(value.upper())
        if low == high:
            return low + 0.0
        if precision >= _MAX_PRECISION:
            return 0.0 if low <= 0.0 <= high else high
        precision *= 2


def arb(value: Rational | int) -> Any:
    """Return the ball of a rational number at the current precision."""
    import flint

    return flint.arb(flint.fmpq(int(value.numerator), int(value.denominator)))


def log(value: Rational | int, unit: Unit = "nats") -> float:
    """Return the logarithm of a non-negative rational, correctly rounded; log 0 is -inf.

    >>> round(log(Fraction(15)), 9)
    2.708050201
    >>> log(Fraction(8), "bits")
    3.0
    """
    nats_per(unit)
    if value == 0:
        return -math.inf
    if value == 1:
        return 0.0
    return rounded_log(lambda: arb(value).log(), unit)


def rounded_log(ball: Callable[[], Any], unit: Unit = "nats") -> float:
    """Return the double nearest to the logarithmic quantity that `ball()` encloses in nats, in `unit`.

    >>> rounded_log(lambda: arb(8).log() / 2, "bits")
    1.5
    """
    nats_per(unit)
    return correctly_rounded(ball if unit == "nats" else lambda: ball() / arb(2).log())


def weighted_log_sum(terms: Iterable[tuple[Rational, Rational]], unit: Unit = "nats") -> float:
    """Return sum of w log r over (w, r) pairs of rationals, correctly rounded; terms with w = 0 are 0.

    >>> weighted_log_sum([(Fraction(1, 2), Fraction(4)), (Fraction(-1), Fraction(2))])
    0.0
    """
    nats_per(unit)
    merged: dict[Any, Any] = {}
    for weight, ratio in terms:
        if weight != 0 and ratio != 1:
            merged[ratio] = merged.get(ratio, Fraction(0)) + weight
    merged = {r: w for r, w in merged.items() if w != 0}
    if not merged:
        return 0.0
    if 0 in merged:
        return -math.inf if merged[0] > 0 else math.inf
    return rounded_log(lambda: sum((arb(w) * arb(r).log() for r, w in merged.items()), start=arb(0)), unit)


def log_sum_exp(logs: Iterable[Any]) -> Any:
    """Return the ball of log(e^l_1 + e^l_2 + ...) of python-flint `arb`s, the largest factored out.

    >>> round(correctly_rounded(lambda: log_sum_exp([arb(0), arb(0), arb(-1000)])), 9)  # log 2
    0.693147181
    """
    falling = sorted(logs, key=lambda log: float(log.mid()), reverse=True)
    peak, rest = falling[0], falling[1:]
    others: Any = sum(((log - peak).exp() for log in rest), start=arb(0))
    return peak + others.log1p()


def total(values: Iterable[Fraction]) -> Fraction:
    """Return the sum, of neighbors first and then of their sums: long fractions are met last.

    >>> total([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    Fraction(1, 1)
    """
    import flint

    return _total([flint.fmpq(v.numerator, v.denominator) for v in values])


def inner(first: Iterable[Fraction], second: Iterable[Fraction]) -> Fraction:
    """Return the sum of products of two sequences of equal length.

    >>> inner([Fraction(1, 2), Fraction(1, 3)], [Fraction(1, 2), Fraction(0)])
    Fraction(1, 4)
    """
    import flint

    one, other = ([flint.fmpq(v.numerator, v.denominator) for v in values] for values in (first, second))
    return _total([a * b for a, b in zip(one, other, strict=True)])


def _total(level: list[Any]) -> Fraction:
    """Return the sum of python-flint fractions, by halves."""
    import flint

    while len(level) > 1:
        odd = level[len(level) // 2 * 2 :]
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + odd
    return from_flint(level[0] if level else flint.fmpq(0))


@dataclass(frozen=True)
class _Lowest:
    """A rational in lowest terms: a Fraction made of one is not reduced again, which takes minutes for long ones."""

    numerator: int
    denominator: int


Rational.register(_Lowest)


def from_flint(value: Any) -> Fraction:
    """Return a python-flint `fmpq` as a Fraction.

    >>> import flint
    >>> from_flint(flint.fmpq(6, 8))
    Fraction(3, 4)
    """
    lowest: Any = _Lowest(int(value.p), int(value.q))
    return Fraction(lowest)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the matrix product of two exact matrices (or matrix and vector), through python-flint.

    >>> half = as_fractions([[Fraction(1, 2), Fraction(1, 2)]])
    >>> product(half, half.T).tolist()
    [[Fraction(1, 2)]]
    """
    a, b = np.atleast_2d(left), right.reshape(len(right), -1)
    out = to_fractions(fmpq_mat(a) * fmpq_mat(b))
    shape = left.shape[:-1] + right.shape[1:]
    return out.reshape(shape)


def fmpq_mat(matrix: np.ndarray) -> Any:
    """Return an exact 2-D array as a python-flint `fmpq_mat`."""
    import flint

    values = [flint.fmpq(v.numerator, v.denominator) for v in matrix.ravel().tolist()]
    rows, columns = matrix.shape
    return flint.fmpq_mat(rows, columns, values)


def to_fractions(matrix: Any) -> np.ndarray:
    """Return a python-flint `fmpq_mat` as an object array of Fraction."""
    out = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    out[:] = [from_flint(v) for v in matrix.entries()]
    return out.reshape(matrix.nrows(), matrix.ncols())


def fraction(point: Any) -> Fraction:
    """Return the value of an exact, finite python-flint `arb` (such as `ball.lower()`) as a Fraction."""
    mantissa, exponent = (int(part) for part in point.man_exp())
    return Fraction(mantissa) * (Fraction(2) ** exponent)


def at_most(ball: Callable[[], Any], bound: Rational | float) -> bool:
    """Say whether the real number that `ball()` encloses is at most `bound`, whose value is taken exactly.

    The precision grows until the ball lies on one side. A number that agrees with the bound to the largest
    precision (about 4900 digits) counts as equal.

    >>> import math
    >>> at_most(lambda: arb(Fraction(3)).log(), math.log(3))  # the double is above log 3, by 2e-17
    True
    >>> at_most(lambda: arb(Fraction(3)).log(), Fraction("1.098612288668109"))
    False
    """
    import flint

    if bound == math.inf:
        return True
    limit, precision = Fraction(bound), 96
    while True:
        with flint.ctx.workprec(precision):
            value, line = ball(), arb(limit)
            if value <= line:
                return True
            if value > line:
                return False
        if precision >= _MAX_PRECISION:
            return True
        precision *= 2


_DOUBLES = 2.0**-1074, 2.0**1023 * (2 - 2.0**-52)
"""The least and the largest positive double."""


def round_up(ball: Any) -> float:
    """Return the smallest double that no point of the python-flint `arb` exceeds."""
    top = ball.upper()
    if not abs(top) <= _DOUBLES[1]:
        return math.inf if not top < 0 else -_DOUBLES[1] if top.is_finite() else -math.inf
    if abs(top) < _DOUBLES[0]:  # no power of a vast exponent is ever written out
        return math.nextafter(0.0, 1.0) if top > 0 else 0.0
    target = fraction(top)
    nearest = float(target)
    return (nearest if Fraction(nearest) >= target else math.nextafter(nearest, math.inf)) + 0.0


def round_down(ball: Any) -> float:
    """Return the largest double that no point of the python-flint `arb` falls below."""
    return -round_up(-ball) + 0.0


LARGEST_EXPONENT = 2_000_000
"""In nats; e to it has three million bits."""


def ball(value: Rational | float) -> Any:
    """Return the ball of a number at its exact value; +inf is a ball too."""
    import flint

    return flint.arb(value) if isinstance(value, float) else arb(value)


def balls(values: np.ndarray) -> np.ndarray:
    """Return the balls of numbers, in an array of the same shape.

    >>> balls(np.array([[0.5, 0.0]]))[0, 0] * 2 == 1
    True
    """
    return np.array([ball(v) for v in values.ravel().tolist()], dtype=object).reshape(values.shape)


def exp_below(exponent: Rational | float, bits: int = 64) -> Fraction:
    """Return a rational in (e^exponent (1 - 2^(2 - bits)), e^exponent]; the denominator is a power of 2.

    The exponent counts at its exact value, a float too; e^0 is 1.

    >>> round(float(exp_below(Fraction(1))), 9), exp_below(0)
    (2.718281828, Fraction(1, 1))
    """
    import flint

    if not math.isfinite(exponent):
        raise DivulgeError.of("exponent", "be finite", "it", str(exponent))
    if abs(Fraction(exponent)) > LARGEST_EXPONENT:
        raise DivulgeError.of(
            "epsilon", f"be at most {LARGEST_EXPONENT:,} nats for its exponential to be written exactly", "it",
            f"{float(exponent):.4g}", "such a level rules out nothing: leave it out, or take a smaller one.",
        )  # fmt: skip
    with flint.ctx.workprec(bits + 64):
        ball = arb(Fraction(exponent)).exp()
        low = fraction(ball.lower())
    scale = Fraction(2) ** (bits - (low.numerator.bit_length() - low.denominator.bit_length()))
    return math.floor(low * scale) / scale
