"""CSV: a header, one line a row, cells in UTF-8. A cell with `/` makes all numbers of the file exact."""

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, BinaryIO

from divulge.errors import DivulgeError
from divulge.files.cells import cells, texts
from divulge.files.opening import Counts, columns_exist
from divulge.model.channel import Channel
from divulge.model.prior import Prior


def rows(stream: BinaryIO) -> Iterator[list[str]]:
    """Yield the lines that hold anything, cells stripped; each must be as long as the first."""
    lines, width = csv.reader(_decoded(stream), strict=True), 0
    for row in lines:
        if not any(cell.strip() for cell in row):
            continue
        width = width or len(row)
        if len(row) != width:
            raise DivulgeError(f"line {lines.line_num} must have {width} cells, as the first; it has {len(row)}.")
        yield [cell.strip() for cell in row]


def _decoded(stream: BinaryIO) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            found = f"the byte 0x{line[error.start]:02x}"
            raise DivulgeError(f"must be UTF-8 text; line {number} has {found}.") from None


def channel(stream: BinaryIO) -> Channel:
    """Return the channel of a header of outcomes and a line for each secret."""
    header, *body = list(rows(stream)) or [[]]
    if not body or len(header) < 2:
        raise DivulgeError(
            "must have a header of outcomes and a line for each secret; "
            f"it has {len(body) + bool(header)} line(s) of {len(header)} cell(s)."
        )
    return Channel(_numbers([row[1:] for row in body]), [row[0] for row in body], header[1:])


def prior(stream: BinaryIO) -> Prior:
    """Return the prior of two columns, secret and probability, with or without a header."""
    lines = list(rows(stream))
    if not lines or len(lines[0]) != 2:
        raise DivulgeError(f"must have two columns, secret and probability; it has {len(lines[0]) if lines else 0}.")
    body = lines if _is_number(lines[0][1]) else lines[1:]
    return Prior([row[0] for row in _numbers([row[1:] for row in body])], [row[0] for row in body])


def counts(stream: BinaryIO, wanted: tuple[str, ...]) -> Counts:
    """Yield the wanted cells of each line, once each; an empty cell is missing, None."""
    lines = rows(stream)
    header = next(lines, [])
    columns_exist(header, wanted)
    places = [header.index(column) for column in wanted]
    for row in lines:
        yield tuple(row[i] or None for i in places), 1


def columns(stream: BinaryIO) -> list[str]:
    """Return the cells of the header."""
    return next(rows(stream), [])


def records(stream: BinaryIO) -> list[dict[str, Any]]:
    """Return a dictionary for each line; cells that are numbers become int or float, empty ones are left out."""
    header, *body = list(rows(stream)) or [[]]
    columns_exist(header, header)
    return [{key: _plain(cell) for key, cell in zip(header, row, strict=True) if cell} for row in body]


def write(what: Channel, stream: BinaryIO) -> None:
    """Write the header of outcomes and a line for each secret."""
    secrets, outcomes = texts(what.secrets, "secrets"), texts(what.outcomes, "outcomes")
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["", *outcomes])
    lines.writerows([secret, *row] for secret, row in zip(secrets, cells(what), strict=True))
    stream.write(text.getvalue().encode())


def _numbers(body: list[list[str]]) -> list[list[Any]]:
    """Return cells as floats, or all of them as text (to be read exactly) when one is a fraction."""
    if any("/" in cell for row in body for cell in row):
        return [list(row) for row in body]
    return [[_float_or_text(cell) for cell in row] for row in body]


def _float_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _is_number(cell: str) -> bool:
    try:
        Fraction(cell)
    except (ValueError, ZeroDivisionError):
        return "/" in cell
    return True


def _plain(cell: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(cell)
        except ValueError:
            continue
    return cell
