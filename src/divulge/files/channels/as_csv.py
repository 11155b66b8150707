"""CSV: a header, one line a row. A cell with `/` makes all numbers of the file exact."""

import csv
import io
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from divulge.errors import DivulgeError, number_of, printable
from divulge.files.channels.cells import cells, texts
from divulge.files.opening import columns_exist
from divulge.files.settings import current
from divulge.files.tables.delimited import decoded
from divulge.files.tables.source import Content
from divulge.model.channel import Channel
from divulge.model.entries import rational
from divulge.model.prior import Prior


def rows(stream: BinaryIO) -> Iterator[list[str]]:
    """Yield the lines that hold anything, cells stripped; each must be as long as the first.

    Delimiter, decimal sign and encoding are guessed as those of a table are.
    """
    settings, content = current(), stream.read()
    path = getattr(stream, "name", None)
    name = os.path.basename(path) if isinstance(path, str) else "standard input"
    text, dialect = decoded(Content(printable(name), ".csv", len(content), content=content), settings)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=dialect.delimiter)
    width, cells = 0, 0
    for row in lines:
        if not any(cell.strip() for cell in row):
            continue
        width = width or len(row)
        if len(row) != width:
            raise DivulgeError(
                f"line {lines.line_num} must have {number_of(width, 'cell')}, as the first; it has {len(row)}."
            )
        cells += width
        settings.limits.allow("it", "cells", cells)
        yield [dialect.pointed(cell.strip()) for cell in row]


def channel(stream: BinaryIO) -> Channel:
    """Return the channel of a header of outcomes and a line for each secret."""
    header, *body = list(rows(stream)) or [[]]
    if not body or len(header) < 2:
        raise DivulgeError(
            "must have a header of outcomes and a line for each secret; "
            f"it has {number_of(len(body) + bool(header), 'line')} of {number_of(len(header), 'cell')}."
        )
    if len(body) > 1 and any(all(_is_word(cell) for cell in column) for column in list(zip(*body, strict=True))[1:]):
        raise DivulgeError(
            "must hold a mechanism, a row for each secret with the chance of each outcome; a column of it is text. "
            "Hint: two columns of a table of people go in by --data TABLE --secret COLUMN --released COLUMN, in Python "
            "by read_joint."
        )
    return Channel(_numbers([row[1:] for row in body]), [row[0] for row in body], header[1:])


def prior(stream: BinaryIO) -> Prior:
    """Return the prior of two columns, secret and probability, with or without a header."""
    lines = list(rows(stream))
    if not lines or len(lines[0]) != 2:
        raise DivulgeError(f"must have two columns, secret and probability; it has {len(lines[0]) if lines else 0}.")
    body = lines if _is_number(lines[0][1]) else lines[1:]
    return Prior([row[0] for row in _numbers([row[1:] for row in body])], [row[0] for row in body])


def records(stream: BinaryIO) -> list[dict[str, Any]]:
    """Return a dictionary for each line; cells that are numbers become int or float, empty ones are left out."""
    header, *body = list(rows(stream)) or [[]]
    columns_exist(header, header)
    return [{key: _number_or_text(cell) for key, cell in zip(header, row, strict=True) if cell} for row in body]


def write(what: Channel, stream: BinaryIO) -> None:
    """Write the header of outcomes and a line for each secret, as the settings say that text is read."""
    settings = current()
    delimiter = settings.delimiter or (";" if settings.decimal == "," else ",")
    secrets, outcomes = texts(what.secrets, "secrets"), texts(what.outcomes, "outcomes")
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n", delimiter=delimiter)
    lines.writerow(["", *outcomes])
    lines.writerows([secret, *row] for secret, row in zip(secrets, cells(what), strict=True))
    content = _kept(text.getvalue(), secrets, outcomes)
    if content is None:
        raise DivulgeError.of(
            "channel", "have labels that text holds: without spaces around them, line breaks and what looks like "
            "another table", "one", "lost in CSV", "choose a name that ends in .json or .parquet."
        )  # fmt: skip
    stream.write(content)


def _kept(text: str, secrets: list[str], outcomes: list[str]) -> bytes | None:
    """Return the text as bytes if its labels are read back as they are."""
    try:
        content = text.encode(current().encoding or "utf-8")
        if all(map(str.isalnum, (*secrets, *outcomes))):
            return content
        header, *body = rows(io.BytesIO(content))
        return content if (header[1:], [row[0] for row in body]) == (outcomes, secrets) else None
    except (LookupError, UnicodeError, DivulgeError, csv.Error):
        return None


def _numbers(body: list[list[str]]) -> list[list[Any]]:
    """Return cells as floats, or all of them as text (to be read exactly) when one is a fraction."""
    if any("/" in cell for row in body for cell in row):
        return [list(row) for row in body]
    return [[_float_or_text(cell) for cell in row] for row in body]


def _float_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        if cell.endswith("%"):
            raise DivulgeError("must have shares without percent signs; a cell has one. Hint: 30 % is 0.3.") from None
        return cell


def _is_word(cell: str) -> bool:
    return re.match(r"[-+]?[.\d]|$|nan|[-+]?inf", cell, re.IGNORECASE) is None


def _is_number(cell: str) -> bool:
    try:
        rational(cell)
    except (ValueError, ZeroDivisionError):
        return "/" in cell
    return True


def _number_or_text(cell: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(cell)
        except ValueError:
            continue
    return cell
