"""How values are coarsened: ladders of intervals, dates, prefixes, and hierarchies in files as ARX writes them."""

import csv
import datetime
import io
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, InputFileError, printable
from divulge.files.opening import regular
from divulge.model.arraylike import Number
from divulge.model.entries import rational
from divulge.model.labels import number_of_label, text_of
from divulge.model.record import Record
from divulge.model.shown import Shown

MISSING = "missing"
"""What a missing value is called among the values of a column: a category of its own."""

TOP = "*"
"""The last level of a hierarchy: any value."""

PARTS = ("day", "month", "quarter", "year")
"""What dates are coarsened to, in this order."""

MOST_BYTES = 1 << 26
"""A file of a hierarchy may be as large: a million values with a few levels each."""

MOST_LEVELS = 64
"""Levels of a hierarchy: the widths of a ladder double at least, and its numbers have 64 bits."""


@dataclass(frozen=True)
class Hierarchy(Shown):
    """The levels of one column: level 0 is the value itself, each next one coarser, the last usually `*`.

    Attributes
    ----------
    kind : "ladder", "dates", "prefix", "table" or "flat"
    arguments : tuple
        Of a ladder the widths, start, low and high; of dates the parts; of prefixes the lengths; of a table its rows.

    Examples
    --------
    >>> ages = Hierarchy.ladder(5, 10)
    >>> ages.path(37), ages.height
    (('37', '[35, 40)', '[30, 40)', '*'), 3)
    """

    kind: str
    arguments: tuple[Any, ...]

    @classmethod
    def ladder(
        cls, *widths: Iterable[Number], start: Number = 0, low: Number | None = None, high: Number | None = None
    ) -> "Hierarchy":
        """Return intervals of the widths, each a multiple of the one before; below `low` and from `high` on one value.

        Examples
        --------
        >>> Hierarchy.ladder(10, 20, high=90).path(93), Hierarchy.ladder("1/2").path(0.7)
        (('93', '>= 90', '>= 90', '*'), ('0.7', '[1/2, 1)', '*'))
        """
        numbers = tuple(_number(width, "widths") for width in widths)
        if any(width <= 0 for width in numbers) or len(numbers) >= MOST_LEVELS:
            raise DivulgeError.of("widths", f"be fewer than {MOST_LEVELS} positive numbers", "they", "not")
        for narrow, wide in pairwise(numbers):
            if wide == narrow or (wide / narrow).denominator != 1:
                raise DivulgeError.of(
                    "widths", "be multiples, each of the one before", "one", f"{wide} behind {narrow}",
                    "else an interval of one level would lie in two of the next.",
                )  # fmt: skip
        ends = tuple(None if end is None else _number(end, name) for end, name in ((low, "low"), (high, "high")))
        if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
            raise DivulgeError.of("low", "be below high", "it", "not")
        if not numbers and ends == (None, None):
            raise DivulgeError.of("widths", "have at least one number", "it", "empty")
        return cls("ladder", (numbers, _number(start, "start"), *ends))

    @classmethod
    def dates(cls, *parts: str) -> "Hierarchy":
        """Return dates as days, months, quarters and years; all four when none is named.

        Examples
        --------
        >>> Hierarchy.dates("month", "year").path("2026-05-17")
        ('2026-05-17', '2026-05', '2026', '*')
        >>> Hierarchy.dates("quarter").path("17.05.2026")[1]
        '2026-Q2'
        """
        chosen = parts or PARTS[1:]
        places = [PARTS.index(part) if part in PARTS else -1 for part in chosen]
        if -1 in places or places != sorted(set(places)):
            raise DivulgeError.of("parts", f"be of {', '.join(PARTS)}, in this order", "they", "not")
        return cls("dates", tuple(chosen))

    @classmethod
    def prefix(cls, *lengths: int) -> "Hierarchy":
        """Return texts by so many first letters, fewer at each level: postcodes, codes of diseases.

        Examples
        --------
        >>> Hierarchy.prefix(3, 1).path("01067")
        ('01067', '010*', '0*', '*')
        """
        whole = all(type(one) is int and one > 0 for one in lengths)
        if not lengths or not whole or list(lengths) != sorted(set(lengths), reverse=True):
            raise DivulgeError.of("lengths", "be falling whole numbers, at least 1", "they", "not")
        return cls("prefix", tuple(lengths))

    @classmethod
    def flat(cls) -> "Hierarchy":
        """Return the two levels of values that nothing is known of: the value, or any.

        Examples
        --------
        >>> Hierarchy.flat().path("blue")
        ('blue', '*')
        """
        return cls("flat", ())

    @classmethod
    def table(cls, rows: Sequence[Sequence[Hashable]], place: str = "hierarchy") -> "Hierarchy":
        """Return a hierarchy from rows: the value, then what it is at each level.

        Examples
        --------
        >>> Hierarchy.table([["flu", "lung", "*"], ["ulcer", "gut", "*"]]).path("ulcer")
        ('ulcer', 'gut', '*')
        """
        texts = [tuple("" if cell is None else str(text_of(cell)).strip() for cell in row) for row in rows]
        if not texts or len(texts[0]) < 2:
            raise DivulgeError.of(place, "have rows of a value and at least one level", "it", "without", _FORM)
        if len(texts[0]) > MOST_LEVELS:
            raise DivulgeError.of(place, f"have at most {MOST_LEVELS} levels", "it", f"with {len(texts[0])}")
        for number, row in enumerate(texts, 1):
            if len(row) != len(texts[0]):
                raise DivulgeError.of(place, f"have {len(texts[0])} cells in every row", f"row {number}",
                                      f"with {len(row)}", _FORM)  # fmt: skip
            if "" in row:
                raise DivulgeError.of(place, "have no empty cell", f"row {number}, cell {row.index('') + 1}", "empty")
        _require_nested(texts, place)
        return cls("table", tuple(texts))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Hierarchy":
        """Return the hierarchy in a file as ARX writes it: no header, a row a value, cells between ; or , or tabs.

        Examples
        --------
        >>> file = folder / "salary.csv"
        >>> _ = file.write_text("<=50K;*\\n>50K;*\\n")
        >>> Hierarchy.read(file).path("<=50K")
        ('<=50K', '*')
        """
        given: Any = path
        if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
            raise DivulgeError.of("path", "be the path of a file", "it", f"a {type(given).__name__}")
        name = Path(os.fspath(path)).name
        with regular(Path(os.fspath(path))) as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputFileError(f"{printable(name)}: must be a hierarchy of at most {MOST_BYTES >> 20} megabytes.")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputFileError(f"{printable(name)}: must be text in UTF-8.") from None
        first = text.partition("\n")[0]
        delimiter = max(";,\t", key=first.count)
        try:
            rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
        except csv.Error:
            raise InputFileError(f"{printable(name)}: must be CSV. {_FORM}") from None
        return cls.table(rows, printable(name))

    @property
    def height(self) -> int:
        """The number of the last level: how often a value can be coarsened."""
        if self.kind == "table":
            return len(self.arguments[0]) - 1
        steps = len(self.arguments[0]) if self.kind == "ladder" else len(self.arguments)
        return max(steps, 1 if self.kind == "ladder" else 0) + 1

    def path(self, value: Hashable) -> tuple[str, ...]:
        """Return what a value is at each level, level 0 first; a missing one stays missing until the last.

        Examples
        --------
        >>> Hierarchy.prefix(1).path(None)
        ('missing', 'missing', '*')
        """
        if value is None:
            return (MISSING,) * self.height + (self._last,)
        return (str(text_of(value)), *_LEVELS[self.kind](self, value))

    def group(self, value: Hashable) -> str:
        """Return what a value is at the first level; what has no place in it raises ValueError.

        Examples
        --------
        >>> Hierarchy.ladder(10).group(31), Hierarchy.dates("quarter").group("2026-05-17")
        ('[30, 40)', '2026-Q2')
        """
        return self.path(value)[1]

    @cached_property
    def _last(self) -> str:
        if self.kind != "table":
            return TOP
        last = {row[-1] for row in self.arguments}
        return last.pop() if len(last) == 1 else MISSING

    @cached_property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Of a table what each value is at the levels from 1 on."""
        return {row[0]: row[1:] for row in self.arguments}

    def coded(self, labels: Sequence[Hashable], column: str) -> "Coded":
        """Return the values of a column in codes, at every level.

        Examples
        --------
        >>> Hierarchy.ladder(10).coded([31, 38, 44], "age").maps[1].tolist()
        [0, 0, 1]
        """
        paths: list[tuple[str, ...]] = []
        unknown = 0
        for value in labels:
            try:
                paths.append(self.path(value))
            except (KeyError, ValueError):
                unknown += 1
        if unknown:
            raise DivulgeError.of(
                "hierarchies", f"have a place for every value of column {column!r}",
                f"the number of those that are {_UNKNOWN[self.kind]}", f"{unknown:,} of {len(labels):,}",
            )  # fmt: skip
        _require_nested(paths, f"hierarchy of {column!r}")
        named: list[tuple[str, ...]] = []
        maps: list[np.ndarray] = []
        for level in range(self.height + 1):
            places: dict[str, int] = {}
            maps.append(np.array([places.setdefault(path[level], len(places)) for path in paths], dtype=np.int64))
            named.append(tuple(places))
        return Coded(tuple(named), tuple(maps))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Examples
        --------
        >>> Hierarchy.prefix(3, 2).to_dict()
        {'kind': 'prefix', 'arguments': [3, 2]}
        """
        plain = [str(a) if isinstance(a, Fraction) else a for a in self.arguments]
        if self.kind == "ladder":
            widths, *ends = self.arguments
            plain = [[str(w) for w in widths], *(None if end is None else str(end) for end in ends)]
        return {"kind": self.kind, "arguments": plain}

    to_option = to_dict

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Hierarchy":
        """Return the hierarchy that `to_dict` described.

        Examples
        --------
        >>> ages = Hierarchy.ladder(5, 10, high=90)
        >>> Hierarchy.from_dict(ages.to_dict()) == ages
        True
        """
        arguments = given.get("arguments")
        if isinstance(arguments, (list, tuple)) and given.get("kind") in _MADE:
            try:
                return _MADE[given["kind"]](*arguments)
            except TypeError:
                pass
        raise DivulgeError.of("hierarchies", "be a path, {value: [levels]} or a kind with its arguments", "one",
                              "something else", f"the kinds are {', '.join(_MADE)}.")  # fmt: skip


def _ladder_of(widths: Sequence[Any], start: Any, low: Any, high: Any) -> Hierarchy:
    return Hierarchy.ladder(*widths, start=start, low=low, high=high)


_MADE: dict[Any, Callable[..., Hierarchy]] = {
    "ladder": _ladder_of, "dates": Hierarchy.dates, "prefix": Hierarchy.prefix, "flat": Hierarchy.flat,
    "table": lambda *rows: Hierarchy.table(rows),
}  # fmt: skip
"""Kind -> what makes one of its arguments."""


@dataclass(frozen=True, eq=False)
class Coded(Record, Shown):
    """A column in codes: the labels of each level, and for each level the code of every value."""

    labels: tuple[tuple[str, ...], ...]
    maps: tuple[np.ndarray, ...]

    @property
    def height(self) -> int:
        """The number of the last level."""
        return len(self.maps) - 1

    def step(self, low: int, high: int) -> np.ndarray:
        """Return the code at a higher level of each code at a lower one."""
        out = np.empty(len(self.labels[low]), dtype=np.int64)
        out[self.maps[low]] = self.maps[high]
        return out


_FORM = "A hierarchy has no header, a row for each value, and in it the value and what it is at each level, the last *."
_UNKNOWN = {"table": "not in it", "ladder": "no number", "dates": "no date", "prefix": "no text", "flat": "no value"}


def _ladder(hierarchy: Hierarchy, value: Hashable) -> tuple[str, ...]:
    widths, start, low, high = hierarchy.arguments
    found = number_of_label(value)
    if found is None:
        raise ValueError
    number = Fraction(found)
    coded = (
        f"< {low}" if low is not None and number < low else f">= {high}" if high is not None and number >= high else ""
    )
    if coded or not widths:
        return (*([coded or str(text_of(value))] * max(len(widths), 1)), TOP)
    return (*(_interval(number, width, start) for width in widths), TOP)


def _interval(number: Fraction, width: Fraction, start: Fraction) -> str:
    low = start + (number - start) // width * width
    return f"[{low}, {low + width})"


def _date(hierarchy: Hierarchy, value: Hashable) -> tuple[str, ...]:
    day = value if isinstance(value, datetime.date) else _day(str(value)[:10])
    named = {
        "day": f"{day:%Y-%m-%d}", "month": f"{day:%Y-%m}", "quarter": f"{day:%Y}-Q{(day.month + 2) // 3}",
        "year": f"{day:%Y}",
    }  # fmt: skip
    return (*(named[part] for part in hierarchy.arguments), TOP)


def _day(text: str) -> datetime.date:
    """Return the day in a text: 2026-05-17, or 17.05.2026, which is written in one order only."""
    if text[2:3] == "." or text[1:2] == ".":
        return datetime.datetime.strptime(text, "%d.%m.%Y").date()
    return datetime.date.fromisoformat(text)


def _prefix(hierarchy: Hierarchy, value: Hashable) -> tuple[str, ...]:
    text = str(text_of(value))
    return (*(text if len(text) <= length else f"{text[:length]}*" for length in hierarchy.arguments), TOP)


_LEVELS: dict[str, Callable[[Hierarchy, Hashable], tuple[str, ...]]] = {
    "ladder": _ladder,
    "dates": _date,
    "prefix": _prefix,
    "flat": lambda hierarchy, value: (TOP,),
    "table": lambda hierarchy, value: hierarchy.rows[str(text_of(value))],
}
"""Kind -> what a value is at the levels from 1 on."""


def _require_nested(paths: Sequence[tuple[str, ...]], place: str) -> None:
    """Refuse a value twice, and two values that are one at a level and two at a later one."""
    for level in range(len(paths[0]) - 1 if paths else 0):
        above: dict[str, tuple[str, int]] = {}
        for number, path in enumerate(paths, 1):
            up, first = above.setdefault(path[level], (path[level + 1], number))
            if level == 0 and first != number:
                raise DivulgeError.of(place, "have every value once", f"row {number}", f"that of row {first} again")
            if up != path[level + 1]:
                raise DivulgeError.of(
                    place, "be nested: what is one value at a level is one at all later ones", f"row {number}",
                    f"as row {first} at level {level}, and another at level {level + 1}",
                )  # fmt: skip


def _text(value: Any) -> str:
    return str(value if isinstance(value, (str, Decimal)) else float(value))


def _number(value: Any, name: str) -> Fraction:
    try:
        number = Fraction(value) if isinstance(value, (int, Fraction)) else rational(_text(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise DivulgeError.of(name, "be a number", "it", str(value)[:40]) from None
    if isinstance(value, bool):
        raise DivulgeError.of(name, "be a number", "it", str(value))
    return number


def as_hierarchy(given: Any, column: str) -> Hierarchy:
    """Return a hierarchy as it is, read from a path, or made of a mapping from values to their levels."""
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
        return Hierarchy.from_dict(given)
    if isinstance(given, Mapping):
        return Hierarchy.table([[key, *levels] for key, levels in given.items()], f"hierarchy of {column!r}")
    return Hierarchy.read(given)


STEPS = (1, 2, 5)
"""Widths that people know: 1, 2, 5, 10, 20, 50, ...; of these each is taken that divides the next."""


def suggested(labels: Sequence[Hashable]) -> Hierarchy:
    """Return a hierarchy for values where none was given: a ladder, dates or prefixes, else the value or any.

    >>> suggested([17, 25, 90]).path(25), suggested(["01067", "01069", "80331"]).arguments
    (('25', '[25, 30)', '[20, 30)', '[20, 40)', '[0, 40)', '*'), (4, 3, 2, 1))
    """
    known = [label for label in labels if label is not None]
    texts = [str(text_of(label)) for label in known]
    lengths = {len(text) for text in texts}
    coded = len(lengths) == 1 and lengths.pop() in range(3, 11) and any(text[0] == "0" for text in texts)
    if texts and all(text[:1].isalnum() and text.isalnum() for text in texts) and coded:
        return Hierarchy.prefix(*range(len(texts[0]) - 1, 0, -1))
    numbers = [number_of_label(label) for label in known]
    if known and None not in numbers and len(set(numbers)) > 2:
        finite = [Fraction(number) for number in numbers if number is not None]
        return _ladder_over(min(finite), max(finite))
    try:
        if known:
            _ = [_date(Hierarchy.dates(), label) for label in known]
            return Hierarchy.dates()
    except ValueError:
        pass
    return Hierarchy.flat()


def _ladder_over(low: Fraction, high: Fraction) -> Hierarchy:
    """Return a ladder whose first intervals are a sixteenth of the range or so, each level twice as wide."""
    width = Fraction(10) ** (
        len(str(int((high - low) / 16))) - 1 if high - low >= 16 else -_decimals((high - low) / 16)
    )
    wanted = (high - low) / 16
    first = next((width * step for step in (1, 2, 5) if width * step >= wanted), width * 10)
    widths = [first * 2**i for i in range(6) if first * 2**i < high - low]
    return Hierarchy.ladder(*(widths or [first]))


def _decimals(width: Fraction) -> int:
    """Return how many decimals the first digit of a width below 1 has."""
    places = 0
    while width < 1 and places < 30:
        width, places = width * 10, places + 1
    return places
