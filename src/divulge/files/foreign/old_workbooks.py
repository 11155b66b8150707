"""What a sheet of an old workbook (.xls) hides, joins and computes: its records in BIFF, as until Excel 2003."""

import struct
from collections.abc import Iterator
from typing import IO

from divulge.errors import DivulgeError
from divulge.extras import require

_BOF, _EOF, _SHEET = (0x0009, 0x0209, 0x0409, 0x0809), 0x000A, 0x0085
"""Kinds of records, as Microsoft's [MS-XLS] numbers them: where a part begins and ends, and what names a sheet."""
_ROW, _COLUMN, _MERGED, _TEXT, _ERROR = (0x0008, 0x0208), 0x007D, 0x00E5, 0x0207, 0x0205
"""The same of what tells of rows, columns, joined cells, and results of formulas that are text or errors."""
_FORMULA = (0x0006, 0x0206, 0x0406)
"""The same of formulas."""

_NUMBER_UNLESS = 0xFFFF
"""Ends a result of a formula that is no number: its first byte says what it is."""

_NEVER_COMPUTED = 2
"""Flag of a formula whose result is to be computed when the workbook is opened: writers without a calculator set it."""


def found_in(path: str, place: int, end: tuple[int, int], inside: tuple[int, int]) -> dict[str, int]:
    """Return how much of each kind there is in the sheet at a place, within what is read; merged in rows inside."""
    olefile = require("olefile", "tables")
    try:
        with olefile.OleFileIO(path) as book:
            stream = book.openstream(next(name for name in ("Workbook", "Book") if book.exists(name)))
            sheets = [struct.unpack_from("<I", body)[0] for kind, body in _records(stream) if kind == _SHEET]
            stream.seek(sheets[place])
            return _counted(stream, end, inside)
    except (OSError, ValueError, struct.error, LookupError, StopIteration, TypeError):
        raise DivulgeError(
            "must show which of its cells are hidden, merged or computed; its sheet cannot be looked at. Hint: open it "
            "in a spreadsheet program, and save it as .xlsx."
        ) from None


def _records(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the records from here to the end of the part that begins here, without parts within it, such as charts."""
    depth = 0
    while len(head := stream.read(4)) == 4:
        kind, size = struct.unpack("<HH", head)
        body = stream.read(size)
        depth += (kind in _BOF) - (kind == _EOF)
        if depth <= 0:
            return
        if depth == 1:
            yield kind, body
    raise ValueError


def _counted(stream: IO[bytes], end: tuple[int, int], inside: tuple[int, int]) -> dict[str, int]:
    found: dict[str, int] = dict.fromkeys(("row", "column", "merged", "formula", "error"), 0)
    awaited = False
    for kind, body in _records(stream):
        if kind in _ROW:
            number, height, flags = *struct.unpack_from("<H4xH", body), struct.unpack_from("<12xH", body)[0]
            found["row"] += number <= end[0] and (height & 0x7FFF == 0 or bool(flags & 0x20))
        elif kind == _COLUMN:
            first, flags = struct.unpack_from("<H6xH", body)
            found["column"] += first <= end[1] and bool(flags & 1)
        elif kind == _MERGED:
            for first, last in struct.iter_unpack("<HH4x", body[2:]):
                found["merged"] += first < inside[1] and last >= inside[0] - 1
        elif kind == _ERROR:
            found["error"] += body[7]
        elif kind == _TEXT:  # the result of the formula before it
            found["formula"] -= awaited
            awaited = False
        elif kind in _FORMULA:
            what = _of_formula(body)
            awaited = what == "text"
            found["formula"] += what in ("text", "none")
            found["error"] += what == "error"
    return found


def _of_formula(body: bytes) -> str:
    """Return what the result of a formula is: "text" (a record of its own follows), "error", "none" or "value"."""
    what, flag, flags = struct.unpack_from("<6xB5xHH", body)
    if flag == _NUMBER_UNLESS:  # an empty text is also what some write where nothing was computed
        return {0: "text", 2: "error", 3: "none"}.get(what, "value")
    return "none" if body[6:14] == bytes(8) and flags & _NEVER_COMPUTED else "value"
