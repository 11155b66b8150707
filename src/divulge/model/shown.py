"""Small tables of labelled numbers, as text and as HTML, shortened in the middle when they are large."""

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Table = tuple[Sequence[Any], Sequence[Any], Any]
"""Labels of the rows, labels of the columns, numbers."""

_MOST_ROWS, _MOST_COLUMNS = 12, 10


def printable(text: str) -> str:
    """Return text with its control characters written out, so that printing it does nothing else.

    Examples
    --------
    >>> printable("a\x1b[2J")
    'a\\\\x1b[2J'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def number(value: Any) -> str:
    """Return a number as people write it: fractions as they are while short, floats with 6 digits."""
    if isinstance(value, Fraction):
        text = str(value)
        return text if len(text) <= 14 else f"{float(value):.6g}"
    return f"{float(value):.6g}"


def _picked(size: int, most: int) -> list[int | None]:
    if size <= most:
        return list(range(size))
    half = most // 2
    return [*range(half), None, *range(size - half, size)]


def _cells(rows: Sequence[Any], columns: Sequence[Any], matrix: Any, whole: bool) -> list[list[str]]:
    across, down = _picked(len(columns), _MOST_COLUMNS), _picked(len(rows), len(rows) if whole else _MOST_ROWS)
    table = [["", *("..." if j is None else printable(str(columns[j])) for j in across)]]
    for i in down:
        if i is None:
            table.append(["..."] * len(table[0]))
            continue
        line = np.asarray(matrix[[i]].todense()).ravel() if hasattr(matrix, "todense") else matrix[i]
        table.append([printable(str(rows[i])), *("..." if j is None else number(line[j]) for j in across)])
    return table


def text_table(rows: Sequence[Any], columns: Sequence[Any], matrix: Any, *, whole: bool = False) -> str:
    """Return the labelled matrix as aligned text; `whole` shows every row."""
    table = _cells(rows, columns, matrix, whole)
    widths = [max(len(line[j]) for line in table) for j in range(len(table[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table)


def html_table(rows: Sequence[Any], columns: Sequence[Any], matrix: Any, *, whole: bool = False) -> str:
    """Return the labelled matrix as an HTML table; labels are escaped."""
    head, *body = ([html.escape(cell) for cell in line] for line in _cells(rows, columns, matrix, whole))
    lines = ["<table><thead><tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr></thead><tbody>"]
    lines += ["<tr><th>" + row[0] + "</th>" + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>" for row in body]
    return "".join(lines) + "</tbody></table>"


class Tabled(ABC):
    """What prints as a line and a labelled table, and shows as both in a notebook."""

    __slots__ = ()

    _whole = False
    """Whether every row is shown."""

    @abstractmethod
    def _shown(self) -> tuple[str, Table]:
        """Return the line, and rows, columns and cells of the table."""

    def __repr__(self) -> str:
        head, table = self._shown()
        return f"{head}\n{text_table(*table, whole=self._whole)}"

    def _repr_html_(self) -> str:
        head, table = self._shown()
        return f"<p>{html.escape(printable(head))}</p>{html_table(*table, whole=self._whole)}"
