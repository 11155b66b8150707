"""Where a table lies in a text or a sheet: titles above it, the rows with names, totals and notes below it."""

import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from divulge.errors import DivulgeError, number_of
from divulge.files.settings import Settings
from divulge.files.tables.lines import BLOCK, LONGEST_LINE

MOST_ABOVE = 1000
"""So many rows above a table, or below it, may be left out."""

_LOOKED_AT = 20
"""Rows at the beginning, and at the end, that a guess looks at."""

SHOWN, MOST_SHOWN = 8, 12
"""So many rows at the beginning and at the end of a file, and cells of them, are shown as they stand there."""

_HEADER = re.compile(r"\s*([0-9]{1,4})\s*(?:-\s*([0-9]{1,4})\s*)?")

_TOTAL = (
    "total|totals|sum|subtotal|grand total|average|mean|summe|gesamt|insgesamt|zwischensumme|gesamtsumme|"
    "gesamtergebnis|durchschnitt|mittelwert"
)
_BELOW = re.compile(rf"\W*({_TOTAL}|source|note|notes|remark|as of|quelle|anmerkung|hinweis|stand)\b", re.IGNORECASE)
"""What rows below a table begin with, in English and German; with gaps behind it."""

_FULL = re.compile(rf"\W*({_TOTAL})\W*", re.IGNORECASE)
"""What the first cell of a total says, and nothing else, where a row has no gaps."""

_NUMBER = re.compile(r"[+-]?[0-9][0-9., ]*")


@dataclass(frozen=True)
class Layout:
    """Which rows have the names of columns, and how many rows at the end are left out.

    first, last : the first and the last row with names, counted from 1 as editors and spreadsheet programs do
    footer : rows at the end that are no part of the table; empty ones do not count
    """

    first: int = 1
    last: int = 1
    footer: int = 0

    @classmethod
    def of(cls, settings: Settings) -> "Layout":
        """Return what a caller says.

        >>> Layout.of(Settings(header="3-4", footer=2))
        Layout(first=3, last=4, footer=2)
        """
        footer: Any = settings.footer or 0
        if isinstance(footer, bool) or not isinstance(footer, int) or not 0 <= footer <= MOST_ABOVE:
            raise DivulgeError.of("footer", f"be a number of rows, at most {MOST_ABOVE:,}", "it", repr(footer)[:20])
        if settings.header is None:
            return cls(footer=footer)
        found = _HEADER.fullmatch(str(settings.header))
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else 0
        if not 1 <= first <= last <= MOST_ABOVE:
            raise DivulgeError.of("header", f"be a row from 1 to {MOST_ABOVE:,}, such as 3, or several, such as 3-4",
                                  "it", repr(settings.header)[:20])  # fmt: skip
        return cls(first, last, footer)

    def words(self, unit: str) -> str | None:
        """Return what is taken for names and what is left out; None where it is as usual.

        >>> Layout(3, 4, 2).words("row")
        'rows 3 to 4 have the names of columns; 2 rows above them and 2 at the end are left out.'
        """
        if self == Layout():
            return None
        several = self.last > self.first
        rows = f"{unit}s {self.first} to {self.last} have" if several else f"{unit} {self.first} has"
        above = f"{number_of(self.first - 1, unit)} above {'them' if several else 'it'}" if self.first > 1 else ""
        below = (f"{self.footer}" if above else number_of(self.footer, unit)) + " at the end" if self.footer else ""
        out = " and ".join(filter(None, (above, below)))
        left = "" if not out else f"; {out} {'is' if self.first - 1 + self.footer == 1 else 'are'} left out"
        return f"{rows} the names of columns{left}."


def names_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns in one row, or in several: what stands above several columns belongs to each of them.

    >>> names_of([["who", "visit", ""], ["", "day", "ward"]])
    ['who', 'visit day', 'visit ward']
    """
    width = max(map(len, rows))
    filled: list[list[str]] = []
    for number, row in enumerate(rows):
        cells = [cell.strip() for cell in row] + [""] * (width - len(row))
        if number < len(rows) - 1:
            for i in range(1, width):
                cells[i] = cells[i] or cells[i - 1]
        filled.append(cells)
    if len(filled) == 1:
        return [str(cell) for cell in rows[0]]
    return [" ".join(dict.fromkeys(filter(None, several))) for several in zip(*filled, strict=True)]


def numbered(names: Sequence[str]) -> list[str]:
    """Return names with a number behind those that stood before.

    >>> numbered(["day", "day", "ward", "day"])
    ['day', 'day (2)', 'ward', 'day (3)']
    """
    seen, taken, found = Counter[str](), set(names), list[str]()
    for name in names:
        seen[name] += 1
        shown = name
        while seen[name] > 1 and (shown == name or shown in taken):
            shown = f"{name} ({seen[name]})"
            seen[name] += shown in taken
        taken.add(shown)
        found.append(shown)
    return found


def suggested(first: Sequence[tuple[int, Sequence[str]]], last: Sequence[Sequence[str]]) -> Layout:
    """Return where a table seems to lie, by its first rows with their numbers, and its last ones: a guess.

    The row of names is the first that has nearly as many cells as the widest, and no number. Rows at the end are no
    part of it that have one cell or none, have gaps and begin as totals and notes do, or say "Total" in a first cell.

    >>> rows = [(1, ["Survey"]), (3, ["who", "faith", "town"]), (4, ["1", "a", "x"])]
    >>> suggested(rows, [["1", "a", "x"], ["Total", "", "1"]])
    Layout(first=3, last=3, footer=1)
    """
    held = [(number, [cell.strip() for cell in row if cell.strip()]) for number, row in first[:_LOOKED_AT]]
    width = max((len(cells) for _, cells in held), default=0)
    named = (number for number, cells in held
             if len(cells) > 1 and 3 * len(cells) >= 2 * width and not any(map(_NUMBER.fullmatch, cells)))  # fmt: skip
    header = next(named, 1)
    footer = 0
    for row in reversed(last[-_LOOKED_AT:]):
        cells = [cell.strip() for cell in row if cell.strip()]
        gaps = len(cells) < width
        noted = gaps and (not cells or len(cells) == 1 < width - 1 or _BELOW.match(cells[0]))
        if not noted and not (cells and _FULL.fullmatch(cells[0])):
            break
        footer += 1
    return Layout(header, header, footer if footer < len(last) else 0)


def below(first: Sequence[tuple[int, Sequence[str]]], last: Sequence[Sequence[str]], out: int = 0) -> str | None:
    """Return a remark where the last rows seem to be none of the table; `out` rows below them are left out already.

    >>> below([(1, ["who", "faith", "town"])], [["1", "a", "x"], ["Total", "", "1"]])
    'its last row looks like a total or a note, or is empty; --footer 1 (footer=1) leaves it out.'
    """
    found = suggested(first, last).footer
    if not found:
        return None
    rows, it = ("row looks like a total or a note, or is empty", "it") if found == 1 else (
        f"{found} rows look like totals or notes, or are empty", "them")  # fmt: skip
    all_out = found + out
    return f"its last {rows}; --footer {all_out} (footer={all_out}) leaves {it} out."


class Over(io.RawIOBase):
    """Bytes made of those of another stream, by a `read` of its own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Say yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer with the next bytes, and return how many there are."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the text."""
        self._stream.close()
        super().close()


class Window(Over):
    """The bytes of a text from one place up to another."""

    def __init__(self, stream: Any, start: int, end: int | None) -> None:
        super().__init__(stream)
        self._left = None if end is None else end - start
        while start > 0 and (skipped := stream.read(min(start, BLOCK))):
            start -= len(skipped)

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`."""
        if self._left is not None:
            size = self._left if size < 0 else min(size, self._left)
        data = self._stream.read(size)
        if self._left is not None:
            self._left -= len(data)
        return data


_END = re.compile(rb"\r\n|\n|\r")


def window(open_text: Callable[[], Any], layout: Layout) -> tuple[Callable[[], Any], list[bytes]]:
    """Return what opens a text from its last row of names on, without what is left out below; and all rows of names."""
    if layout == Layout():
        return open_text, []
    start, names = _above(open_text, layout)
    end = _below(open_text, layout.footer) if layout.footer else None
    if end is not None and end <= start:
        raise DivulgeError.of("footer", "leave the row of names", "it", f"{layout.footer}, and there are no more rows")

    def opened() -> Any:
        return io.BufferedReader(Window(open_text(), start, end))

    return opened, names


def _above(open_text: Callable[[], Any], layout: Layout) -> tuple[int, list[bytes]]:
    """Return where the last row of names begins, and the rows of names as they stand there."""
    head = b""
    with open_text() as text:
        while len(head) < LONGEST_LINE and (more := text.read(1 << 18)):
            head += more
            if len(_END.findall(head)) > layout.last:
                break
    ends = [match.end() for match in _END.finditer(head)]
    places = [0, *ends]
    if len(places) < layout.last or places[layout.last - 1] >= len(head):
        raise DivulgeError.of("header", "be a row that the file has", "it", f"row {layout.last}")
    lines = [head[places[i] : places[i + 1] if i + 1 < len(places) else len(head)].rstrip(b"\r\n")
             for i in range(layout.first - 1, layout.last)]  # fmt: skip
    return places[layout.last - 1], lines


def _below(open_text: Callable[[], Any], footer: int) -> int:
    """Return where the last rows begin that hold anything."""
    size, tail = 0, b""
    with open_text() as text:
        while block := text.read(BLOCK):
            size += len(block)
            tail = (tail + block)[-BLOCK:]
    places = [0, *(match.end() for match in _END.finditer(tail))]
    held = [a for a, b in zip(places, [*places[1:], len(tail)], strict=True) if tail[a:b].strip()]
    if len(held) < footer:
        raise DivulgeError.of("footer", "leave rows of the table", "it", f"{footer}, and there are no more rows")
    return size - len(tail) + held[-footer]


def first_lines(head: bytes) -> list[tuple[int, bytes]]:
    """Return the first lines that hold anything of the beginning of a text, with their numbers."""
    return [(number, line) for number, line in enumerate(_END.split(head)[:_LOOKED_AT], 1) if line.strip()]


def last_lines(tail: bytes) -> list[bytes]:
    """Return the last lines that hold anything of the end of a text, whose first line may be cut."""
    return [line for line in _END.split(tail)[1:] if line.strip()][-_LOOKED_AT:]
