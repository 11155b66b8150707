"""A look at a file as it stands there, before any row is taken for names, so that people can say where its table is."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.files.foreign import apart
from divulge.files.formats import TABLES
from divulge.files.settings import Settings, using
from divulge.files.tables import delimited
from divulge.files.tables.layout import MOST_SHOWN, SHOWN, Layout, last_lines, suggested
from divulge.files.tables.lines import BLOCK
from divulge.files.tables.source import Content, reading

Row = tuple[str, ...]

_LONG = 200
"""Letters of a cell that are shown."""


@dataclass(frozen=True)
class Glance:
    """The first and the last rows of a file; cells of data, for the keeper's eyes only.

    first : (number of the row in the file, its cells)
    last : cells of the last rows
    sheets, sheet : names of the sheets of a workbook, and of the one that is shown
    layout : where the table seems to lie, a guess
    """

    first: tuple[tuple[int, Row], ...]
    last: tuple[Row, ...]
    layout: Layout
    sheets: tuple[str, ...] = ()
    sheet: str = ""


def glance(path: Path, **options: Any) -> Glance | None:
    """Return the first and the last rows of a text or a workbook; None of a file that says itself what its columns are.

    >>> file = folder / "survey.csv"
    >>> _ = file.write_text("Survey of 2026\\nwho,faith,town\\n1,a,x\\n2,b,y\\nTotal,,2\\n")
    >>> glance(file).layout, glance(file).first[1]
    (Layout(first=2, last=2, footer=1), (2, ('who', 'faith', 'town')))
    """
    suffix = path.suffix.lower()
    if suffix not in TABLES["CSV"] and suffix not in TABLES["Excel"]:
        return None
    with using(**options) as settings, reading(path.name):
        content = Content.of_file(path)
        return (_of_text if suffix in TABLES["CSV"] else _of_sheet)(content, settings)


def _of_text(content: Content, settings: Settings) -> Glance:
    open_text, delimiter = delimited.opening(content, settings)
    tail = b"\n"
    head = b""
    with open_text() as text:
        while block := text.read(BLOCK):
            head = head or block[: 1 << 16]
            tail = (tail + block)[-(1 << 16) :]
    lines = re.split(rb"\r\n|\n|\r", head)[: 4 * SHOWN]
    rows = [(number, cells) for number, line in enumerate(lines, 1) if line.strip()
            for cells in delimited.cells_of([line], delimiter)]  # fmt: skip
    last = delimited.cells_of(last_lines(tail), delimiter)
    return _seen(rows, last)


def _of_sheet(content: Content, settings: Settings) -> Glance:
    found = apart.glance(content, settings)
    names = found.schema.metadata
    rows = [(one.pop("row"), [str(cell or "") for cell in one.values()]) for one in found.to_pylist()]
    seen = _seen(rows, [cells for _, cells in rows])
    sheets = tuple(json.loads(names[b"sheets"]))
    return Glance(seen.first, seen.last, seen.layout, sheets, names[b"sheet"].decode())


def _seen(rows: list[tuple[int, list[str]]], last: list[list[str]]) -> Glance:
    first = tuple((number, _cut(cells)) for number, cells in rows[:SHOWN])
    behind = last[-min(SHOWN, max(len(rows) - SHOWN, 0)) :] if len(rows) > SHOWN else []
    return Glance(first, tuple(map(_cut, behind)), suggested(rows, last))


def _cut(cells: list[str]) -> Row:
    return tuple(cell[:_LONG] for cell in cells[:MOST_SHOWN])
