"""Small tables of labelled numbers, as text and as HTML, shortened in the middle when they are large."""

import html
import json
import math
import re
from collections.abc import Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np

from divulge import exact
from divulge.errors import number_of, printable

Table = tuple[Sequence[Any], Sequence[Any], Any]
"""Labels of the rows, labels of the columns, numbers."""

_MOST_ROWS = 12
"""Rows of a table that is shown without being printed whole: a glance; the first and last stand for the others."""
_MOST_COLUMNS = 10
"""Columns of such a table: with numbers of six digits they fill a line of a terminal or a cell of a notebook."""
_SHORT = 14
"""Characters of a fraction that is shown as such: a longer one is no easier to read than its decimals."""
_DIGITS = 3
"""Digits of bounds in words: they are moved to the safe side by a percent at most."""
_ROUNDING = 1e-12
"""Share by which a number may be above its digits by rounding alone: 1 + 1e-13 is written 1, not 1.01."""


def printable_lines(text: str) -> str:
    """Return `printable` text that keeps its ends of lines."""
    return "\n".join(map(printable, text.split("\n")))


def named(label: Any) -> str:
    """Return a label as tables and sentences show it: empty text is told, and blank text is quoted.

    >>> named(3), named(""), named("  ")
    ('3', '(empty)', "'  '")
    """
    text = printable(str(label))
    return text if text.strip() else repr(text) if text else "(empty)"


def printable_json(text: str) -> str:
    """Return JSON that says the same, in which all that does not print, or turns the direction of text, is escaped.

    >>> printable_json('{"name": "a' + chr(0x202E) + 'ü"}')
    '{"name": "a\\\\u202eü"}'
    """
    return "\n".join(line if line.isprintable() else "".join(map(_escaped, line)) for line in text.split("\n"))


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def shortened(text: str, most: int) -> str:
    """Return text with its middle left out where it is longer than `most` characters: many labels begin alike.

    >>> shortened("an answer that many give, and no", 12)
    'an an … nd no'
    """
    half = most // 2 - 1
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def number(value: Any) -> str:
    """Return a number as people write it: fractions as they are while short, floats with 6 digits."""
    if isinstance(value, Fraction):
        text = str(value)
        return text if len(text) <= _SHORT else f"{exact.as_float(value):.6g}"
    return f"{float(value):.6g}"


def at_most(value: Any) -> str:
    """Return a number with three digits, rounded up: what stands behind "at most".

    A float is known to twelve digits at best, and its last ones do not make it larger.

    >>> at_most(2.7182), at_most(3.0000000000000004), at_most(0.0), at_most(12345.6), at_most(float("inf"))
    ('2.72', '3', '0', '12,400', 'inf')
    """
    return _rounded(exact.as_float(value) * (1 - _ROUNDING), ROUND_CEILING)


def promised(value: Any, digits: int = 6) -> str:
    """Return a level with that many digits, rounded up, as `at_most` is.

    >>> promised(1.0986122886681098), promised(1.0000000000000002), promised(1e-06), promised(float("inf"))
    ('1.09862', '1', '1e-06', 'inf')
    """
    return _directed(value, digits, ROUND_CEILING)


def reached(value: Any, digits: int = 6) -> str:
    """Return a level with that many digits, rounded down: the other end of a bracket, or what is shown to be exceeded.

    >>> reached(1.0986128), reached(0.9999999999999998), reached(-1.0986122), reached(float("inf"))
    ('1.09861', '1', '-1.09862', 'inf')
    """
    return _directed(value, digits, ROUND_FLOOR)


def raised(values: Any) -> np.ndarray:
    """Return levels as tables show them, rounded up to six digits; short fractions stay as they are.

    >>> raised([[1.0986122886681098, Fraction(1, 3)]]).tolist()
    [[1.09862, Fraction(1, 3)]]
    """
    return _moved(values, 1)


def lowered(values: Any) -> np.ndarray:
    """Return lower bounds as tables show them, rounded down to six digits; short fractions stay as they are.

    >>> lowered([1.0986128, float("inf")]).tolist()
    [1.09861, inf]
    """
    return _moved(values, -1)


def _moved(values: Any, direction: int) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype == object:
        written = promised if direction > 0 else reached
        out = np.empty(array.shape, dtype=object)
        out.ravel()[:] = [
            value if isinstance(value, Fraction) and len(str(value)) <= _SHORT else float(written(value))
            for value in array.ravel().tolist()
        ]
        return out
    with np.errstate(all="ignore"):
        scale = 10.0 ** (5 - np.floor(np.log10(np.abs(array))))
        digits = array * scale
        moved = direction * np.ceil(direction * digits - _ROUNDING * np.abs(digits)) / scale
    return np.where(np.isfinite(moved), moved, array)


def _directed(value: Any, digits: int, direction: str) -> str:
    level = exact.as_float(value)
    slack = abs(level) * _ROUNDING if math.isfinite(level) else 0.0
    level += slack if direction == ROUND_FLOOR else -slack
    return f"{float(Context(prec=digits, rounding=direction).create_decimal_from_float(level)):.{digits}g}"


def percent(confidence: float) -> str:
    """Return a confidence in percent, with every digit that it was given with.

    >>> percent(0.95), percent(0.9999), percent(0.07), percent(1e-9)
    ('95%', '99.99%', '7%', '1E-7%')
    """
    share = (100 * Decimal(repr(float(confidence)))).normalize()
    return f"{share:f}%" if share > Decimal("1e-6") else f"{share}%"


def at_least(value: Any) -> str:
    """Return a number with three digits, rounded down: what stands behind "at least".

    >>> at_least(2.7182), at_least(2.9999999999999996)
    ('2.71', '3')
    """
    return _rounded(exact.as_float(value) * (1 + _ROUNDING), ROUND_FLOOR)


def _rounded(value: float, direction: str) -> str:
    if value in (float("inf"), 0):
        return "inf" if value else "0"
    found = Context(prec=_DIGITS, rounding=direction).create_decimal_from_float(value)
    if not 1e-6 <= abs(found) < 1e9:
        return f"{found:.2e}"
    text = f"{found:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_so_many(probability: float) -> int:
    """Return 100, 1,000, ..., the first of which the probability is at least one in; 100 for what never happens.

    >>> in_so_many(0.25), in_so_many(0.0113)
    (100, 100)
    >>> in_so_many(0.0013)
    1000
    """
    base = 100
    while 0 < probability * base < 1 and base < 10**12:
        base *= 10
    return base


def _picked(size: int, most: int) -> list[int | None]:
    if size <= most:
        return list(range(size))
    half = most // 2
    return [*range(half), None, *range(size - half, size)]


def _cells(rows: Sequence[Any], columns: Sequence[Any], matrix: Any, whole: bool) -> list[list[str]]:
    across, down = _picked(len(columns), _MOST_COLUMNS), _picked(len(rows), len(rows) if whole else _MOST_ROWS)
    table = [["", *("..." if j is None else named(columns[j]) for j in across)]]
    for i in down:
        if i is None:
            table.append(["..."] * len(table[0]))
            continue
        line = np.asarray(matrix[[i]].todense()).ravel() if hasattr(matrix, "todense") else matrix[i]
        table.append([named(rows[i]), *("..." if j is None else number(line[j]) for j in across)])
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


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[*`"},
}
"""Sign -> how LaTeX prints it; in braces what the end of a row before it would take for its own."""

_JOINED = re.compile(r"([-',])(?=\1)")
"""Signs that LaTeX joins with the next one to a new sign: two hyphens to a dash."""


def latex_text(text: str) -> str:
    """Return text with the signs that LaTeX reads written out.

    >>> print(latex_text("50 % & more_"), latex_text("[0, <5"))
    50 \\% \\& more\\_ {[}0, \\textless{}5
    """
    return _JOINED.sub(r"\1{}", "".join(_LATEX.get(sign, sign) for sign in text))


def latex_table(rows: Sequence[Any], columns: Sequence[Any], matrix: Any) -> str:
    """Return the labelled matrix as a LaTeX tabular (packages booktabs and amsmath); fractions are typeset as such."""
    lines = [" & ".join(["", *(latex_text(named(column)) for column in columns)]) + r" \\"]
    lines.append(r"\midrule")
    for i, row in enumerate(rows):
        line = np.asarray(matrix[[i]].todense()).ravel() if hasattr(matrix, "todense") else matrix[i]
        lines.append(" & ".join([latex_text(named(row)), *map(_latex_number, line)]) + r" \\")
    body = "\n".join(lines)
    return f"\\begin{{tabular}}{{l{'r' * len(columns)}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}"


def _latex_number(value: Any) -> str:
    if isinstance(value, Fraction) and value.denominator != 1 and len(str(value)) <= _SHORT:
        return rf"$\tfrac{{{value.numerator}}}{{{value.denominator}}}$"
    digits, _, power = number(value).partition("e")
    if not power:
        return f"${digits}$".replace("inf", r"\infty")
    return rf"${digits} \times 10^{{{int(power)}}}$"


class Shown:
    """What shows in a notebook as it prints, or, where that is only its fields, as a table of them."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        if hasattr(type(self).__repr__, "__wrapped__"):  # written by dataclasses
            shown = [one for one in fields(cast(Any, self)) if one.repr]
            rows = [(one.name.replace("_", " "), _shortened(getattr(self, one.name))) for one in shown]
            cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
            return f"<p>{type(self).__name__}</p><table><tbody>{cells}</tbody></table>"
        head, _, rest = printable_lines(repr(self)).partition("\n")
        return f"<p>{html.escape(head)}</p>" + (f"<pre>{html.escape(rest)}</pre>" if rest else "")


_LONGEST = 300
"""Characters of a value in a table of fields: a few lines of a page."""


def _shortened(value: Any) -> str:
    text = printable_lines(value if isinstance(value, str) else repr(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


class Tabled:
    """What prints as a line and a labelled table, and shows as both in a notebook.

    It is no `ABC`: to ask of any value whether it is a Joint would take six times as long.
    """

    __slots__ = ()

    _whole = False
    """Whether every row is shown."""

    def _shown(self) -> tuple[str, Table]:
        """Return the line, and rows, columns and cells of the table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        head, table = self._shown()
        return f"{head}\n{text_table(*table, whole=self._whole)}"

    def _repr_html_(self) -> str:
        head, table = self._shown()
        return f"<p>{html.escape(printable(head))}</p>{html_table(*table, whole=self._whole)}"

    def to_latex(self) -> str:
        """Return the whole table as a LaTeX tabular (packages booktabs and amsmath); fractions are typeset as such.

        Examples
        --------
        >>> print(dv.Channel([["1/2", "1/2"]], ["a"], ["yes", "no"]).to_latex().splitlines()[4])
        a & $\\tfrac{1}{2}$ & $\\tfrac{1}{2}$ \\\\
        """
        return latex_table(*self._shown()[1])


def size_text(secrets: int, outcomes: int) -> str:
    """Return the size of a channel in words.

    >>> size_text(2, 1)
    '2 secrets x 1 outcome'
    """
    return f"{number_of(secrets, 'secret')} x {number_of(outcomes, 'outcome')}"
