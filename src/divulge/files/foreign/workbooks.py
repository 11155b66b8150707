"""The table of one sheet of a workbook, and what a person sees in it who looks at the sheet.

A spreadsheet program shows other things than are stored: sheets, rows and columns can be hidden, a value can stand over
several cells, and a formula shows its result. What a person may not know of is told, or refused.
"""

import json
import re
import sys
import zipfile
from bisect import bisect_right
from collections.abc import Iterator
from html import unescape
from typing import IO, Any

from divulge.errors import DivulgeError, did_you_mean, printable
from divulge.errors import number_of as counted
from divulge.extras import require
from divulge.files.foreign.old_workbooks import found_in
from divulge.files.foreign.typed import number_of, table_of
from divulge.files.settings import Limits, Settings
from divulge.files.tables.layout import MOST_SHOWN, SHOWN, Layout, below, names_of, numbered, suggested


def sheet_of(asked: dict[str, Any], limits: Limits) -> Any:
    """Return the table of the sheet that is asked for, else of the first one that a person sees."""
    calamine = require("python_calamine", "tables")
    try:
        book = calamine.CalamineWorkbook.from_path(asked["path"])
        place = _chosen(book, asked["sheet"])
        found = book.get_sheet_by_index(place)
        limits.allow("it", "cells", found.total_height * found.total_width)
        rows = found.to_python(skip_empty_area=True)
    except calamine.PasswordError:
        raise DivulgeError("must not be locked by a password; it is.") from None
    except (calamine.CalamineError, OSError, ValueError) as error:
        if isinstance(error, DivulgeError):
            raise
        raise DivulgeError("must be a workbook, as its name says; it is damaged, or something else.") from None
    start = (found.start or (0, 0))[0] + 1
    held = [(start + i, row) for i, row in enumerate(rows) if any(cell not in ("", None) for cell in row)]
    if not held:
        raise DivulgeError("is empty.")
    if asked.get("kind") == "glance":
        return _glance(book, place, held)
    layout = Layout.of(Settings(header=asked.get("header"), footer=asked.get("footer")))
    layout = layout if asked.get("header") is not None else Layout(held[0][0], held[0][0], layout.footer)
    named = [[_text(cell) for cell in row] for number, row in held if layout.first <= number <= layout.last]
    body = [(number, row) for number, row in held if number > layout.last]
    if not named or len(body) < layout.footer:
        raise DivulgeError.of("header" if not named else "footer", "be rows that the sheet has", "it",
                              f"row {asked['header']}" if not named else str(layout.footer))  # fmt: skip
    body = body[: len(body) - layout.footer]
    inside = (layout.last if asked.get("header") else layout.first, body[-1][0] if body else layout.last)
    _look(asked, book, place, found.end or (0, 0), inside)
    header = [name.strip() for name in names_of(named)]
    nameless = [i for i, name in enumerate(header) if not name and any(row[i] not in ("", None) for _, row in body)]
    if nameless:
        better = suggested([(number, list(map(_text, row))) for number, row in held[:20]], []).first
        raise DivulgeError(
            f"must have the names of all columns in its first line; column {nameless[0] + 1} has none. Hint: leave out "
            "lines above the table"
            + (
                f": --header {better} (header={better}) takes row {better} for the names."
                if better > layout.last
                else "."
            )
        )
    texts = [list(map(_text, row)) for _, row in body[-20:]]
    moved = layout.words("row") if asked.get("header") or layout.footer else None
    for said in filter(None, (moved, below([(1, header)], texts, layout.footer))):
        _tell(said)
    header = numbered(header) if asked.get("number_names") else header
    kept = [i for i, name in enumerate(header) if name]
    return table_of([(header[i], [row[i] for _, row in body]) for i in kept])


def _text(cell: Any) -> str:
    """Return a cell as text, whole numbers without a point."""
    return "" if cell in ("", None) else str(number_of(cell))


def _glance(book: Any, place: int, held: list[tuple[int, list[Any]]]) -> Any:
    """Return the first and the last rows as they stand there, as a table of texts with their numbers first."""
    shown = [*held[:SHOWN], *held[max(SHOWN, len(held) - SHOWN) :]]
    columns = [("row", [number for number, _ in shown])]
    columns += [(str(i), [_text(row[i])[:200] for _, row in shown]) for i in range(min(len(held[0][1]), MOST_SHOWN))]
    names = book.sheet_names
    return table_of(columns).replace_schema_metadata({"sheets": json.dumps(names), "sheet": names[place]})


def _chosen(book: Any, wanted: str | None) -> int:
    """Return the place of the sheet that is wanted, by name or number; else of the first that is not hidden."""
    names = book.sheet_names
    if wanted is None:
        shown = [i for i, sheet in enumerate(book.sheets_metadata) if _is_shown(sheet)] or [0]
        if len(names) > 1:
            first = "the first" if len(shown) == len(names) else "the first that is not hidden"
            _tell(f"has {len(names)} sheets; {first}, {names[shown[0]]!r}, is read. --sheet (sheet=) names another.")
        return shown[0]
    if wanted in names:
        return names.index(wanted)
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    known = ", ".join(map(repr, names[:12]))
    raise DivulgeError(f"has no sheet {printable(repr(wanted))}.{did_you_mean(wanted, names)} Hint: it has {known}.")


def _is_shown(sheet: Any) -> bool:
    """Say whether a person sees a sheet, and cells in it: one may be a chart."""
    return str(sheet.visible).endswith("Visible") and str(sheet.typ).endswith("WorkSheet")


def _tell(remark: str) -> None:
    print(printable(remark), file=sys.stderr)


_PIECE = 1 << 24
"""Bytes of a sheet that are looked at together; a row is never divided."""

_XLSX = {
    "row": rb"""<{p}row\b(?=[^>]*\bhidden=["'](?:1|true))[^>]*\br=["']([0-9]+)""",
    "column": rb"""<{p}col\b(?=[^>]*\bhidden=["'](?:1|true))[^>]*\bmin=["']([0-9]+)""",
    "merged": rb"""<{p}mergeCell\b[^>]*\bref=["']([A-Z0-9:]+)""",
    "formula": rb"""<{p}f\b[^>]*(?:/>|>[^<]*</{p}f>)\s*(?:<{p}v\s*/>|<{p}v>\s*</{p}v>|)\s*</{p}c>""",
    "error": rb"""\bt=["']e["']()""",
}
"""What of a sheet of .xlsx is looked for."""

_ODS = {
    "row": rb"""<table:table-row\b[^>]*\btable:visibility=["'](?:collapse|filter)()""",
    "column": rb"""<table:table-column\b[^>]*\btable:visibility=["'](?:collapse|filter)()""",
    "merged": rb"""<table:table-cell\b[^>]*\btable:number-(?:columns|rows)-spanned=["'](?:[2-9]|1[0-9])()""",
    "formula": rb"""<table:table-cell\b(?=[^>]*\btable:formula=)(?![^>]*\boffice:value-type=)[^>]*>""",
    "error": rb"""\bcalcext:value-type=["']error()""",
}
"""The same of .ods."""


def _look(asked: dict[str, Any], book: Any, place: int, end: tuple[int, int], inside: tuple[int, int]) -> None:
    """Tell what is read though it is hidden, and refuse what has no value of its own in each cell of these rows."""
    old = asked["suffix"] == ".xls"
    found = found_in(asked["path"], place, end, inside) if old else _hidden_parts(asked, book, place, end, inside)
    if found.get("merged"):
        raise DivulgeError(
            f"must have a value of its own in each cell; {counted(found['merged'], 'group')} of cells "
            f"{'is' if found['merged'] == 1 else 'are'} merged. Hint: take them apart, and fill in the value of each; "
            "leave out a title above the table (--header N, header=N)."
        )
    if found.get("formula"):
        raise DivulgeError(
            f"must hold the results of its formulas; {counted(found['formula'], 'cell')} have a formula and no "
            "result. Hint: open it in a spreadsheet program, and save it there"
            f"{' as .xlsx, which tells empty results from none' if asked['suffix'] == '.xls' else ''}."
        )
    hidden = [f"{kind}s" for kind in ("row", "column") if found.get(kind)]
    if hidden:
        _tell(f"it has hidden {' and '.join(hidden)}; they are read like the others.")
    if found.get("error"):
        _tell("it has cells with an error, such as #N/A; they are read as missing.")


def _hidden_parts(
    asked: dict[str, Any], book: Any, place: int, end: tuple[int, int], inside: tuple[int, int]
) -> dict[str, int]:
    """Return how much of each kind there is in a sheet, within what is read of it."""
    found = dict[str, int]()
    with zipfile.ZipFile(asked["path"]) as archive:
        part = "content.xml" if asked["suffix"] == ".ods" else _part(archive, book.sheet_names[place])
        if part is None:
            _tell("whether it has hidden rows and columns, or cells that are merged, could not be seen.")
            return found
        with archive.open(part) as stream:
            pieces = _of_sheet(_pieces(stream), place) if asked["suffix"] == ".ods" else _pieces(stream)
            patterns: dict[str, re.Pattern[bytes]] = {}
            above = 0
            for piece in pieces:
                patterns = patterns or _patterns(asked["suffix"], piece)
                starts = _rows_of(piece, above) if asked["suffix"] == ".ods" else [(0, 0)]
                above = starts[-1][1]
                for kind, pattern in patterns.items():
                    count = sum(_counts(kind, match, piece, end, inside, starts) for match in pattern.finditer(piece))
                    found[kind] = found.get(kind, 0) + count
    return found


def _rows_of(piece: bytes, above: int) -> list[tuple[int, int]]:
    """Return where rows of .ods begin in a piece, and how many rows there are up to the last of each."""
    found = [(-1, above)]
    for tag in re.finditer(rb"<table:table-row(?=[\s/>])[^>]*>", piece):
        times = re.search(rb"""\btable:number-rows-repeated=["']([0-9]{1,7})""", tag[0])
        found.append((tag.start(), found[-1][1] + (int(times[1]) if times else 1)))
    return found


def _patterns(suffix: str, head: bytes) -> dict[str, re.Pattern[bytes]]:
    """Return what to look for; some programs write a prefix before the name of each element."""
    prefix = re.search(rb"<(\w+:|)worksheet\b", head)
    known = _ODS if suffix == ".ods" else _XLSX
    return {kind: re.compile(text.replace(b"{p}", prefix[1] if prefix else b"")) for kind, text in known.items()}


def _counts(
    kind: str, match: re.Match[bytes], piece: bytes, end: tuple[int, int], inside: tuple[int, int],
    starts: list[tuple[int, int]],
) -> bool:  # fmt: skip
    """Say whether a match is of a cell, row or column that is read, and is what it seems."""
    number = match[1] if match.re.groups else b""
    if kind == "merged":
        rows = [int(one) for one in re.findall(rb"[0-9]{1,7}", number)] if number else _spanned(match, piece, starts)
        return bool(rows) and rows[0] <= inside[1] and rows[-1] >= inside[0]
    if kind in ("row", "column") and number:
        return int(number[:9]) <= end[kind == "column"] + 1
    tag = piece[piece.rfind(b"<", 0, match.start() + 1 - (kind == "formula")) : match.end()]
    if kind == "formula" and not match[0].startswith(b"<table"):
        return not (b"v>" in match[0] and re.search(rb"""\bt=["']str["']""", tag))  # the result is an empty text
    return kind != "error" or b">" not in tag


def _spanned(match: re.Match[bytes], piece: bytes, starts: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the first and the last row of a group of cells of .ods; a row that is repeated has one in each."""
    at = bisect_right(starts, match.start(), key=lambda start: start[0]) - 1
    tag = piece[match.start() : piece.find(b">", match.start())]
    down = re.search(rb"""\btable:number-rows-spanned=["']([0-9]{1,7})""", tag)
    return starts[max(at - 1, 0)][1] + 1, starts[at][1] + (int(down[1]) if down else 1) - 1


def _part(archive: zipfile.ZipFile, name: str) -> str | None:
    """Return the name of the part of .xlsx that holds a sheet."""
    try:
        book = archive.read("xl/workbook.xml").decode()
        links = archive.read("xl/_rels/workbook.xml.rels").decode()
    except (KeyError, UnicodeDecodeError):
        return None
    targets = {
        said.get("Id"): said.get("Target", "") for said in map(_attributes, re.findall(r"<[^>]*\bTarget=[^>]*", links))
    }
    for said in map(_attributes, re.findall(r"<(?:\w+:)?sheet\b[^>]*", book)):
        target = targets.get(said.get("id"), "") if said.get("name") == name else ""
        part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
        if target and part in archive.namelist():
            return part
    return None


def _attributes(tag: str) -> dict[str, str]:
    """Return the attributes of an element, without the prefixes of their names."""
    return {name: unescape(a or b) for name, a, b in re.findall(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')""", tag)}


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes in pieces that end before a row."""
    rest = b""
    while block := stream.read(_PIECE):
        rest += block
        cut = max(rest.rfind(b"<row"), rest.rfind(b":row "), rest.rfind(b"<table:table-row"))
        cut = rest.rfind(b"<", 0, cut + 1)
        if cut > 0:
            yield rest[:cut]
            rest = rest[cut:]
    yield rest


def _of_sheet(pieces: Iterator[bytes], place: int) -> Iterator[bytes]:
    """Yield what belongs to one sheet of a file that holds all of them."""
    at = -1
    for piece in pieces:
        for part in re.split(rb"(?=<table:table\b[^-])", piece):
            at += bool(re.match(rb"<table:table\b[^-]", part))
            if at == place:
                yield part
