"""Every line of a text is measured before a row is read: a quote that is not closed joins the rows behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError

BLOCK = 1 << 24
"""Bytes that are read at a time: few enough for memory, enough that work per block does not count."""
LONGEST_LINE = 1 << 26
"""Bytes of a line: a quote that is never closed would else make one line of the rest of the file, and fill memory."""
_TAIL = 1 << 16
"""Bytes of the end of a text that are kept: more than the last rows of any table that people look at."""
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'

HINT = " Hint: --line-breaks (line_breaks=True) is for cells that hold line breaks on purpose."


@dataclass
class Lines:
    """What a pass over all lines found."""

    rows: int = 0
    """Lines that hold anything, with the header; of one column, all."""
    blank: int = 0
    breaks: int = 0
    ended: bool = True
    above: int = 0
    """Lines above the one with the names, which are left out."""
    tail: bytes = b""
    """The end of the text."""


def scan(open_text: Callable[[], Any], delimiter: str, width: int, line_breaks: bool, above: int = 0) -> Lines:
    """Return how many rows a text has, after checking that every quote is closed where its cell ends.

    Lines without quotes are only counted; where quotes stand as they must is decided for a block at once; what is left
    is judged by itself, as a parser would read it.
    """
    found, rest, mark = Lines(above=above), b"", delimiter.encode()
    with open_text() as text:
        while True:
            block = text.read(BLOCK)
            data = rest + block
            if not data:
                break
            if b"\0" in data:
                raise DivulgeError(f"must be text; line {_line(found)} or one behind it holds a zero byte.")
            cut = _end_of_records(data, line_breaks) if block else len(data)
            if not cut:
                if len(data) > LONGEST_LINE:
                    what = "a row" if line_breaks else "a line"
                    raise DivulgeError(f"line {_line(found)} begins {what} of more than {LONGEST_LINE >> 20} MiB.")
                rest = data
                continue
            _measure(data[:cut], mark, line_breaks, width, found)
            rest = data[cut:]
            found.tail = (found.tail + data[max(0, cut - _TAIL) : cut])[-_TAIL:]
            if not block:
                found.ended = data[-1:] in (b"\n", b"\r")
                break
    return found


def _line(found: Lines) -> int:
    return found.above + found.rows + found.blank + found.breaks + 1


def _end_of_records(data: bytes, line_breaks: bool) -> int:
    """Return where the last whole row ends; a carriage return at the end may be half of a line end."""
    last = data.rfind(b"\n") + 1 or (data[:-1].rfind(b"\r") + 1)
    if not line_breaks or b'"' not in data:
        return last
    quotes, ends = _places(data[:last])
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if outside.size else 0


def _places(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return where quotes are, and where lines end; of a pair of return and newline, the newline."""
    at = np.frombuffer(data, dtype=np.uint8)
    ends = at == _NEWLINE
    if b"\r" in data:
        lone = at == _RETURN
        lone[:-1] &= ~ends[1:]
        ends = ends | lone
    return np.flatnonzero(at == _QUOTE), np.flatnonzero(ends)


def _measure(data: bytes, mark: bytes, line_breaks: bool, width: int, found: Lines) -> None:
    """Add the lines of a block of whole rows; refuse a quote that is not closed, with its line."""
    if b'"' not in data and b"\r" not in data and b"\n\n" not in data and not data.startswith(b"\n"):
        found.rows += data.count(b"\n") + (not data.endswith(b"\n"))
        return
    quotes, ends = _places(data)
    if not ends.size or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    before = np.searchsorted(quotes, ends)
    wrong = _misplaced(data, mark, quotes, before, line_breaks)
    if line_breaks:
        if wrong.size or quotes.size % 2:
            place = quotes[wrong[0]] if wrong.size else quotes[-1]
            line = _line(found) + int(np.searchsorted(ends, place))
            raise DivulgeError(f"line {line} has a quote that does not end a cell, or begins one that does not end.")
        inside = before % 2 == 1
        found.breaks += int(np.count_nonzero(inside))
        ends = ends[~inside]
    else:
        _judge_lines(data, mark, quotes, ends, before, wrong, found)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    at = np.frombuffer(data, dtype=np.uint8)
    lengths -= (lengths > 0) & (at[np.maximum(ends - 1, 0)] == _RETURN)
    blank = int(np.count_nonzero(lengths == 0)) if width > 1 else 0
    found.rows += len(ends) - blank
    found.blank += blank


def _misplaced(data: bytes, mark: bytes, quotes: np.ndarray, before: np.ndarray, across: bool) -> np.ndarray:
    """Return the quotes that neither open a cell at its beginning, nor close one at its end, nor stand in pairs."""
    if not quotes.size:
        return quotes
    at = np.frombuffer(data, dtype=np.uint8)
    first = np.zeros(len(quotes), dtype=np.int64)
    if not across:
        line = np.searchsorted(before, np.arange(len(quotes)), side="right")
        first = np.concatenate([[0], before])[line]
    opens = (np.arange(len(quotes)) - first) % 2 == 0
    edges = np.isin(np.arange(256), [mark[0], _NEWLINE, _RETURN, _QUOTE])
    previous = np.where(quotes > 0, at[np.maximum(quotes - 1, 0)], _NEWLINE)
    following = np.where(quotes + 1 < len(at), at[np.minimum(quotes + 1, len(at) - 1)], _NEWLINE)
    return np.flatnonzero(~np.where(opens, edges[previous], edges[following]))


def _judge_lines(
    data: bytes, mark: bytes, quotes: np.ndarray, ends: np.ndarray, before: np.ndarray, wrong: np.ndarray, found: Lines
) -> None:
    """Refuse the first line with a cell that its own line does not close."""
    odd = np.flatnonzero(np.diff(before, prepend=0) % 2)
    suspects = np.union1d(odd, np.searchsorted(before, wrong, side="right"))
    for line in suspects.tolist():
        start = int(ends[line - 1]) + 1 if line else 0
        fault = fault_of(data[start : ends[line]].rstrip(b"\r"), mark)
        if fault:
            raise DivulgeError(f"line {_line(found) + line} {fault}.{HINT}")


def fault_of(line: bytes, mark: bytes) -> str | None:
    """Return what is wrong with the quotes of a line. A quote inside a cell that begins without one is a character."""
    place = 0
    while place <= len(line):
        if line[place : place + 1] != b'"':
            place = line.find(mark, place) + 1
            if not place:
                return None
            continue
        end = line.find(b'"', place + 1)
        while end >= 0 and line[end + 1 : end + 2] == b'"':
            end = line.find(b'"', end + 2)
        if end < 0:
            return "has a quote that is not closed"
        if line[end + 1 : end + 2] not in (b"", mark):
            return "has characters behind the closing quote of a cell"
        place = end + 2
    return None
