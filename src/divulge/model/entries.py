"""The one way in for numbers: whatever a caller gives becomes a checked float64 or exact array.

Entries are float64 unless one of them is a Fraction, an int or text such as "3/4"; then all are exact. Booleans, NaN,
infinities, negative entries, complex numbers and ragged rows are refused with their place.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Set
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NoReturn

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.panels import height, in_parts, panels

TOLERANCE = 1e-9
"""How far the sum of a distribution may be from 1 before it is refused; inside it the distribution is renormalized."""

CLEAN = 1e-14
"""Sums this close to 1 are left alone: dividing by them would only disturb entries such as 0.1."""

FAINT = 2.0**-960
"""Probabilities below lose digits in doubles, whose least is 2^-1074."""

MOST_EXACTLY = 1 << 18
"""Entries that are turned into fractions without being asked for: a second."""

_LONGEST_NUMBER = 4_000
"""Characters of a number as text: more than any double has digits, less than Python turns into a whole number."""

LARGEST_EXPONENT = 400
"""Exponents of ten: doubles end at 308 and -324; a fraction has as many digits, and 1e1000000000 would fill memory."""


KEPT = 1 << 20
"""From this many entries on, 8 megabytes, a good array is not copied."""

_DOUBLE = np.dtype(np.float64)
_INFINITY = int(np.array(np.inf).view(np.int64))

_PANEL = 1 << 16
"""Entries that are copied and checked at a time: half a megabyte of float64."""

Place = Callable[[tuple[int, ...]], str]


def entries(values: Any, argument: str, ndim: int, place: Place) -> np.ndarray:
    """Return `values` as a fresh float64 array, or an object array of Fraction when any entry is exact.

    `place` turns an index into words for the message. Every entry must be finite and at least 0.
    """
    array = _array(values, argument, ndim)
    if array.dtype != object:
        return _fresh(array, argument, place)
    cells = array.ravel().tolist()
    parsed: list[float | Fraction] = []
    for i, cell in enumerate(cells):
        repeated = i > 0 and cell is cells[i - 1]  # as in a uniform prior of very many secrets
        parsed.append(parsed[-1] if repeated else _number(cell, argument, place, i, array.shape))
    if any(isinstance(cell, Rational) for cell in parsed):
        out = np.empty(array.shape, dtype=object)
        out.ravel()[:] = [cell if type(cell) is Fraction else Fraction(cell) for cell in parsed]
        return out
    return np.array(parsed, dtype=np.float64).reshape(array.shape)


def ready(values: Any, ndim: int) -> np.ndarray | None:
    """Return a copy of few doubles, as an array or lists, whose rows (last axis) are distributions as they are.

    All is checked. None for all else, which may still be read, normalized or refused in words.
    """
    if type(values) is list:
        values = _of_lists(values, ndim)
    if type(values) is not np.ndarray or values.dtype is not _DOUBLE or values.ndim != ndim:
        return None
    if not 0 < values.size <= _PANEL:
        return None
    # NaN counts as the least and as the largest entry; `item` and the `arg` functions cost half of `min` and `max`
    if not values.item(values.argmin()) >= 0:
        return None
    copy = abs(values)  # 0.0 for -0.0, as in `_fresh`
    sums = np.add.reduce(copy, axis=-1)
    least, most = (sums, sums) if ndim == 1 else (sums.item(sums.argmin()), sums.item(sums.argmax()))
    return copy if 1.0 - least <= CLEAN and most - 1.0 <= CLEAN else None


def _of_lists(values: list[Any], ndim: int) -> np.ndarray | None:
    """Return the array of few doubles in a list, or in lists of one length; else None."""
    rows = values if ndim == 2 else [values]
    if not rows or any(type(row) is not list or len(row) != len(rows[0]) for row in rows):
        return None
    small = len(rows) * len(rows[0]) <= _PANEL
    return np.array(values) if small and all(set(map(type, row)) == {float} for row in rows) else None


_FIRST_PLACES = np.arange(1 << 10)
"""The positions of a small alphabet, at hand: they are asked for in each question about a small mechanism."""
_FIRST_PLACES.setflags(write=False)


def places(count: int) -> np.ndarray:
    """Return the positions 0, 1, ..., read-only.

    >>> places(3).tolist(), len(places(5000))
    ([0, 1, 2], 5000)
    """
    return _FIRST_PLACES[:count] if count <= len(_FIRST_PLACES) else frozen(np.arange(count))


def positive(values: np.ndarray) -> np.ndarray:
    """Return the positions of the entries above 0, rising, read-only.

    >>> positive(np.array([0.5, 0.0, 0.5])).tolist(), positive(np.array([0.5, 0.5])).tolist()
    ([0, 2], [0, 1])
    """
    return places(values.size) if values.item(values.argmin()) > 0 else frozen((values > 0).nonzero()[0])


def _fresh(values: np.ndarray, argument: str, place: Place) -> np.ndarray:
    """Return a checked float64 copy, with 0.0 for -0.0, of which 1 / -0.0 = -inf would come.

    It is made and checked in panels that fit the cache, so that a large array is read once.
    """
    out = np.empty(values.shape)
    height = max(1, _PANEL // max(1, math.prod(values.shape[1:])))
    for first in range(0, len(values), height):
        panel = np.add(values[first : first + height], 0.0, out=out[first : first + height])
        if panel.size and not (panel.min() >= 0 and panel.max() < math.inf):
            inside = np.argwhere(~(panel >= 0) | ~(panel < math.inf))[0].tolist()
            index = (first + inside[0], *inside[1:])
            _refuse(argument, place(index), str(out[index]))
    return out


def _array(values: Any, argument: str, ndim: int) -> np.ndarray:
    if hasattr(values, "mask") and isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DivulgeError.of(argument, "have no masked entry", "it", "masked somewhere")
    known = hasattr(values, "__array__") or isinstance(values, memoryview)
    values = np.asarray(values if known else _from_nested(values, argument, ndim))
    if values.ndim != ndim:
        hint = "wrap a single row in another list." if ndim == 2 and values.ndim == 1 else ""
        raise DivulgeError.of(argument, f"have {ndim} axes", "it", f"an array with {values.ndim}", hint)
    if values.dtype.kind == "f":
        return values
    if values.dtype.kind in "iuOUS":
        return values.astype(object)
    raise DivulgeError.of(argument, "hold numbers", "its dtype", str(values.dtype))


def _from_nested(values: Any, argument: str, ndim: int) -> np.ndarray:
    if not _is_sequence(values):
        raise DivulgeError.of(argument, "be an array or a nested list of numbers", "it", f"a {type(values).__name__}")
    rows = list(values)
    if ndim == 2:
        rows = [_row(row, i, argument) for i, row in enumerate(rows)]
    if ndim == 2:
        widths = [len(row) for row in rows]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise DivulgeError.of(
                    argument, f"have rows of one length ({widths[0]}, as its first row)", f"row {i}", f"{width} long"
                )
    flat = [cell for row in rows for cell in row] if ndim == 2 else rows
    shape = (len(rows), len(rows[0]) if rows else 0) if ndim == 2 else (len(rows),)
    if all(type(cell) is float for cell in flat):
        return np.array(flat, dtype=np.float64).reshape(shape)
    out = np.empty(shape, dtype=object)
    out.ravel()[:] = flat
    return out


def _is_sequence(values: Any) -> bool:
    return hasattr(values, "__iter__") and not isinstance(values, (str, bytes, Mapping, Set))


def _row(row: Any, i: int, argument: str) -> list[Any]:
    if not _is_sequence(row):
        raise DivulgeError.of(argument, "have rows that are lists of numbers", f"row {i}", f"a {type(row).__name__}")
    return list(row)


def _number(cell: Any, argument: str, place: Place, flat_index: int, shape: tuple[int, ...]) -> float | Fraction:
    def where() -> str:
        return place(tuple(int(i) for i in np.unravel_index(flat_index, shape)))

    if isinstance(cell, (bool, np.bool_)):
        _refuse(argument, where(), "a boolean")
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, (str, bytes)):
        cell = parse(cell, lambda: f"`{argument}` must hold numbers; {where()} is", "text that is no number")
    if isinstance(cell, Rational):
        number: float | Fraction = Fraction(cell)
    elif isinstance(cell, Real):
        number = float(cell) + 0.0
    elif hasattr(cell, "as_integer_ratio"):
        try:
            number = Fraction(*cell.as_integer_ratio())
        except (ValueError, OverflowError):
            _refuse(argument, where(), "not finite")
    else:
        _refuse(argument, where(), "missing" if cell is None else f"a {type(cell).__name__}")
    if not (number >= 0 and number < math.inf):
        _refuse(argument, where(), str(number))
    if exact.as_float(number) == math.inf:
        raise DivulgeError.of(argument, "have entries below 1.8e308", where(), "beyond")
    return number


def scalar(value: Any, argument: str) -> float:
    """Return one number as a double, also from text such as "1/2"; NaN and what is not one number are refused.

    >>> scalar("1/2", "delta"), scalar(10**400, "epsilon")
    (0.5, inf)
    """
    if isinstance(value, (str, bytes)):
        value = parse(value, lambda: f"`{argument}` must be a number; it is", "text that is none")
    if getattr(value, "shape", ()) == ():
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        except (TypeError, ValueError):
            number = math.nan
        if number == number:
            return number
    shown = "NaN" if isinstance(value, (float, np.floating)) else f"a {type(value).__name__}"
    raise DivulgeError.of(argument, "be a number", "it", shown)


def open_share(value: Any, argument: str) -> float:
    """Return a number of (0, 1) as a double, such as a confidence; refuse 0, 1 and what is not one number.

    >>> open_share("1/2", "confidence")
    0.5
    """
    share = scalar(value, argument)
    if not 0 < share < 1:
        raise DivulgeError.of(argument, "be between 0 and 1", "it", f"{share:g}")
    return share


def whole_number(value: Any, argument: str, least: int = 1, most: int | None = None) -> int:
    """Return a whole number of a range as an int, also of a double such as 1e6; refuse True, 2.5 and text.

    >>> whole_number(1e6, "samples"), whole_number(np.int64(0), "others", 0)
    (1000000, 0)
    """
    kind = type(value)
    double = issubclass(kind, (float, np.floating))
    finite = math.isfinite(value) if double else kind is not bool and issubclass(kind, Rational)
    number = int(value) if finite else None
    if number is None or number != value or not least <= number <= (number if most is None else most):
        span = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
        shown = f"{exact.as_float(value):.15g}" if double or finite else repr(value)[:60]
        raise DivulgeError.of(argument, f"be a whole number {span}", "it", shown)
    return number


def _refuse(argument: str, where: str, found: str) -> NoReturn:
    raise DivulgeError.of(argument, "have finite entries that are at least 0", where, found)


def parse(text: str | bytes, prefix: Callable[[], str], found: str = "") -> Fraction:
    """Return the exact value of "3/4", "0.75", "7.5e-1" or "2"; a refusal says `prefix` and what was `found`.

    That is the text itself when not given; the cell of a table may be what nobody should read in a message.

    >>> parse("0.75", lambda: "it is")
    Fraction(3, 4)
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    text = text.strip()
    if len(text) > _LONGEST_NUMBER:
        raise DivulgeError(f"{prefix()} text of {len(text)} characters. Hint: a number has at most {_LONGEST_NUMBER}.")
    try:
        return rational(text)
    except ZeroDivisionError:
        raise DivulgeError(f"{prefix()} a fraction with denominator 0.") from None
    except ValueError:
        shown = text if len(text) <= 20 else text[:17] + "..."
        raise DivulgeError(f"{prefix()} {found or repr(shown)}. Hint: write 0.75, 7.5e-1 or 3/4.") from None


def rational(text: str) -> Fraction:
    """Return the exact value of a text; ValueError or ZeroDivisionError where it is none, or would fill memory.

    `Fraction("1e999999999")` is a whole number of a billion digits: a text that somebody else wrote is read here.

    >>> rational(" 7.5e-1 ")
    Fraction(3, 4)
    >>> rational("1e999999999")
    Traceback (most recent call last):
    ValueError: beyond all numbers
    """
    exponent = text.lower().partition("e")[2]
    if len(text) > _LONGEST_NUMBER or (exponent and abs(int(exponent)) > LARGEST_EXPONENT):
        raise ValueError("beyond all numbers")
    return Fraction(text)


def normalized(array: np.ndarray, argument: str, what: Callable[[int], str], hint: str = "") -> np.ndarray:
    """Return `array` with every row (last axis) summing to 1; refuse a row that is off by more than `TOLERANCE`."""
    rows = array.reshape(-1, array.shape[-1])
    if array.dtype == object:
        sums = [sum(row, start=Fraction(0)) for row in rows.tolist()]
        off = [i for i, total in enumerate(sums) if not abs(total - 1) <= TOLERANCE]
        fix = [i for i, total in enumerate(sums) if total != 1]
    else:
        sums = rows.sum(axis=1)
        off = np.flatnonzero(~(np.abs(sums - 1.0) <= TOLERANCE)).tolist()
        fix = np.flatnonzero(~(np.abs(sums - 1.0) <= CLEAN)).tolist()
    if off:
        hint = (
            why_not_shares([exact.as_float(total) for total in sums], array.sum(axis=0) if array.ndim > 1 else ())
            or hint
        )
        raise DivulgeError(
            f"`{argument}` must {what(-1)} 1 (tolerance {TOLERANCE:g}); "
            f"{what(off[0])} {exact.as_float(sums[off[0]]):.12g}." + (f" Hint: {hint}" if hint else "")
        )
    for i in fix:
        rows[i] = rows[i] / sums[i]
    return array


def why_not_shares(rows: Iterable[float], columns: Iterable[Any]) -> str:
    """Return what is the matter with a matrix whose rows do not sum to 1, if its sums tell; else nothing.

    >>> why_not_shares([100.0, 100.0], [130.0, 70.0])
    'the sums are 100: percent are divided by 100 first, 30 % is 0.3.'
    >>> why_not_shares([0.7, 1.3], [1.0, 1.0])
    'the columns sum to 1: give the transpose, as rows are secrets and columns are outcomes.'
    """
    sums = list(columns)
    if all(abs(total - 100) <= 1e-6 for total in rows):
        return "the sums are 100: percent are divided by 100 first, 30 % is 0.3."
    if sums and all(abs(float(total) - 1) <= TOLERANCE for total in sums):
        return "the columns sum to 1: give the transpose, as rows are secrets and columns are outcomes."
    return ""


def short_floats(values: Any) -> str:
    """Return the hint that an array of short floats needs, whose sums are off by their rounding; else nothing.

    >>> short_floats(np.ones(2, np.float32)), short_floats(np.ones(2))
    ('its dtype is float32, whose sums are off by more: give p.astype(float), each row divided by its sum.', '')
    """
    dtype: Any = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") != "f" or dtype.itemsize >= np.dtype(np.float64).itemsize:
        return ""
    return f"its dtype is {dtype}, whose sums are off by more: give p.astype(float), each row divided by its sum."


def kept_whole(values: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `values` itself and its mean row where it is a large float64 matrix whose rows are good as they are.

    It must be contiguous and own its memory, so that freezing it keeps everybody from writing to it.
    """
    if type(values) is not np.ndarray or values.dtype != np.float64 or values.ndim != 2 or values.size < KEPT:
        return None
    if not (values.flags.c_contiguous and values.flags.owndata):
        return None
    mean = _mean_of_good_rows(values)
    return None if mean is None else (values, frozen(mean))


def _mean_of_good_rows(array: np.ndarray) -> np.ndarray | None:
    """Return the mean row, or None where an entry is negative, -0.0, NaN or infinite, or a row's sum is not 1.

    Good floats are those whose bits, read as an integer without sign, are below those of infinity. The mean is summed
    as by `weighted_sum`.
    """
    bits, ones, share = array.view(np.uint64), np.ones(array.shape[1]), np.full(height(array), 1.0 / len(array))

    def part(first: int, last: int) -> np.ndarray | None:
        total = np.zeros(array.shape[1])
        for rows in panels(array, first, last):
            for few in panels(array, rows.start, rows.stop, _PANEL):
                if not bits[few].max() < _INFINITY:
                    return None
                if not np.abs(array[few] @ ones - 1.0).max() <= CLEAN:
                    return None
            total += share[: rows.stop - rows.start] @ array[rows]
        return total

    parts = in_parts(array, part)
    return None if any(one is None for one in parts) else np.add.reduce(parts)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the array, made read-only."""
    array.setflags(False)  # write, which by its name takes twice as long  # pyright: ignore[reportCallIssue]
    return array


def floats_of(array: np.ndarray) -> np.ndarray:
    """Return the float64 entries of a float or exact array, read-only."""
    return frozen(exact.as_floats(array))
