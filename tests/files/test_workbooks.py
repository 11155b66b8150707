"""Workbooks that show other things than they hold, or are made to harm: what is read is what is seen, or it is told."""

import io
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from biff import formula, record, special, xls

import divulge as dv
from divulge.files.foreign.workbooks import sheet_of
from divulge.files.settings import Limits

SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def made(change: Callable[[Any, Any], Any] = lambda book, sheet: None) -> bytes:
    """Return a workbook of two columns and two rows."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream) as book:
        sheet = book.add_worksheet("First")
        for i, row in enumerate([("x", "y"), ("a", "b"), ("b", "a")]):
            sheet.write_row(i, 0, row)
        change(book, sheet)
    return stream.getvalue()


def edited(content: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """Return the workbook with one of its parts changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            found = old.read(name).decode()
            new.writestr(name, change(found) if name == part else found)
    assert stream.getvalue() != content
    return stream.getvalue()


def ods(rows: str, name: str = "First", before: str = "") -> bytes:
    """Return a workbook in the format of LibreOffice."""
    spaces = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in {"office": "office", "table": "table", "text": "text", "style": "style"}.items()
    )
    content = (
        f'<?xml version="1.0"?><office:document-content{spaces}><office:body><office:spreadsheet>{before}'
        f'<table:table table:name="{name}">{rows}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = '<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return stream.getvalue()


def cells(*texts: str, row: str = "", cell: str = "") -> str:
    """Return a row of .ods."""
    inside = (
        f'<table:table-cell office:value-type="string"{cell}><text:p>{t}</text:p></table:table-cell>' for t in texts
    )
    return f"<table:table-row{row}>{''.join(inside)}</table:table-row>"


def read(content: bytes, tmp_path: Path, sheet: str | None = None, suffix: str = ".xlsx") -> dict[str, list[Any]]:
    """Return the table that the process of its own would hand over."""
    path = tmp_path / f"b{suffix}"
    path.write_bytes(content)
    return sheet_of({"path": str(path), "suffix": suffix, "sheet": sheet}, Limits()).to_pydict()


PLAIN = {"x": ["a", "b"], "y": ["b", "a"]}


# --- what a person sees


def _hide(very: bool = False) -> Callable[[Any, Any], None]:
    def change(book: Any, sheet: Any) -> None:
        shown = book.add_worksheet("Shown")
        shown.write_column(0, 0, ["x", "seen"])
        shown.activate()
        sheet.very_hidden() if very else sheet.hide()

    return change


@pytest.mark.parametrize("very", [False, True])
def test_a_hidden_sheet_is_not_what_is_read(very: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(made(_hide(very)), tmp_path) == {"x": ["seen"]}
    assert "has 2 sheets; the first that is not hidden, 'Shown', is read" in capsys.readouterr().err
    assert read(made(_hide(very)), tmp_path, "First") == PLAIN


HIDDEN: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a row": (lambda b, s: s.set_row(1, None, None, {"hidden": True}), "hidden rows;"),
    "a column": (lambda b, s: s.set_column(1, 1, None, None, {"hidden": True}), "hidden columns;"),
    "both": (
        lambda b, s: (s.set_row(1, None, None, {"hidden": True}), s.set_column(0, 0, None, None, {"hidden": True})),
        "hidden rows and columns;",
    ),
    "a filter": (
        lambda b, s: (
            s.autofilter(0, 0, 2, 1),
            s.filter_column(0, "x == b"),
            s.set_row(1, None, None, {"hidden": True}),
        ),
        "hidden rows;",
    ),
    "no column that is read": (lambda b, s: s.set_column(5, 90, None, None, {"hidden": True}), ""),
    "nothing": (lambda b, s: s.write(3, 0, 't="e" hidden="1" <row hidden="1">'), ""),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_hidden_rows_and_columns_are_told(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, said = HIDDEN[what]
    assert read(made(change), tmp_path)["y"][:2] == PLAIN["y"]
    told = capsys.readouterr().err
    assert (said in told and "are read like the others" in told) if said else not told
    if said:
        prefixed = edited(
            made(change), SHEET, lambda text: re.sub(r"<(/?)(\w)", r"<\1x:\2", text).replace("xmlns=", "xmlns:x=")
        )
        read(prefixed, tmp_path)
        assert said in capsys.readouterr().err


def test_hidden_things_reach_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    path.write_bytes(made(HIDDEN["both"][0]))
    with pytest.warns(UserWarning, match=r"b\.xlsx: it has hidden rows and columns; they are read like the others"):
        dv.open_table(path)


def test_one_value_over_several_cells_is_refused(tmp_path: Path) -> None:
    merged = made(lambda book, sheet: sheet.merge_range(3, 0, 5, 0, "c"))
    with pytest.raises(dv.DivulgeError, match=r"a value of its own in each cell; 1 group of cells is merged. Hint"):
        read(merged, tmp_path)
    spanned = ods(cells("x", "y") + cells("a", "b", cell=' table:number-rows-spanned="2"') + cells("", "a"))
    with pytest.raises(dv.DivulgeError, match="merged"):
        read(spanned, tmp_path, suffix=".ods")


def test_a_title_over_several_cells_of_ods_is_left_out_like_any_other(tmp_path: Path) -> None:
    over = ' table:number-columns-spanned="2" table:number-rows-spanned="1"'
    blank = '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row>'
    grouped = "<table:table-row-group>{}</table:table-row-group>"
    title, table = cells("A title", cell=over) + blank, cells("x", "y") + cells("a", "b") + cells("b", "a")
    path = tmp_path / "b.ods"
    for rows in (title + table, grouped.format(title) + table, title + table + cells("Sum", cell=over)):
        path.write_bytes(ods(rows))
        asked: dict[str, Any] = {"path": str(path), "suffix": ".ods", "sheet": None, "header": "4"}
        asked["footer"] = int("Sum" in rows)
        assert sheet_of(asked, Limits()).to_pydict() == PLAIN
    for rows in (title + table + cells("c", cell=over), title + cells("x", "y", cell=over) + cells("a", "b"),
                 cells("A", cell=' table:number-rows-spanned="5"') + blank + table):  # fmt: skip
        path.write_bytes(ods(rows))
        with pytest.raises(dv.DivulgeError, match="merged"):
            sheet_of({"path": str(path), "suffix": ".ods", "sheet": None, "header": "4"}, Limits())


def test_a_formula_counts_as_its_last_result_or_is_refused(tmp_path: Path) -> None:
    with_result = made(lambda book, sheet: sheet.write_formula(1, 0, '="a"', None, "a"))
    assert read(with_result, tmp_path) == PLAIN
    without = {
        "no value": lambda text: text.replace("<v>a</v>", ""),
        "an empty value": lambda text: text.replace(' t="str"><f>"a"</f><v>a</v>', '><f>"a"</f><v></v>'),
        "a closed value": lambda text: text.replace(' t="str"><f>"a"</f><v>a</v>', '><f>"a"</f><v />'),
        "a shared formula": lambda text: text.replace('<f>"a"</f><v>a</v>', '<f t="shared" si="0"/>'),
    }
    for change in without.values():
        with pytest.raises(
            dv.DivulgeError, match=r"results of its formulas; 1 cell have a formula and no result. Hint"
        ):
            read(edited(with_result, SHEET, change), tmp_path)
    empty = edited(with_result, SHEET, lambda text: text.replace("<v>a</v>", "<v></v>"))
    assert read(empty, tmp_path) == PLAIN | {"x": [None, "b"]}
    unknown = (
        cells("x", "y")
        + '<table:table-row><table:table-cell table:formula="of:=1"/></table:table-row>'
        + cells("a", "b")
    )
    with pytest.raises(dv.DivulgeError, match="formula and no result"):
        read(ods(unknown), tmp_path, suffix=".ods")


def test_errors_in_cells_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = made(lambda book, sheet: sheet.write_formula(1, 0, "=1/0", None, "#DIV/0!"))
    assert read(broken, tmp_path) == PLAIN | {"x": [None, "b"]}
    assert "cells with an error, such as #N/A; they are read as missing" in capsys.readouterr().err


def test_each_sheet_of_libreoffice_is_looked_at_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = cells("x", "y") + cells("a", "b", row=' table:visibility="filter"') + cells("b", "a")
    other = f'<table:table table:name="Other">{cells("x", "y") + cells("a", "b") + cells("b", "a")}</table:table>'
    assert read(ods(rows), tmp_path, suffix=".ods") == PLAIN
    assert "it has hidden rows;" in capsys.readouterr().err
    assert read(ods(rows, before=other), tmp_path, "Other", suffix=".ods") == PLAIN
    assert not capsys.readouterr().err
    read(ods(rows, before=other), tmp_path, "2", suffix=".ods")
    assert "it has hidden rows;" in capsys.readouterr().err


# --- old workbooks

ONE, TEXT = struct.pack("<d", 1.0), record(0x0207, struct.pack("<HB", 1, 0) + b"a")
OLD: dict[str, tuple[tuple[bytes, ...], str]] = {
    "nothing": ((), ""),
    "a formula with a number": ((formula(ONE),), ""),
    "a formula with a number, computed anew each time": ((formula(ONE, 3),), ""),
    "a formula with a text": ((formula(special(0)), TEXT), ""),
    "a shared formula with a text": ((formula(special(0)), record(0x04BC, bytes(10)), TEXT), ""),
    "a formula with true": ((formula(special(1, 1)),), ""),
    "a formula that was never computed": ((formula(bytes(8), 2),), "must hold the results of its formulas; 1 cell"),
    "a formula with an empty text": ((formula(special(3)),), "must hold the results of its formulas; 1 cell"),
    "a formula without its text": ((formula(special(0)),), "must hold the results of its formulas; 1 cell"),
    "texts of no formula": ((formula(special(3)), TEXT, TEXT), "must hold the results of its formulas; 1 cell"),
    "an error": ((record(0x0205, struct.pack("<HHHBB", 3, 0, 0, 0x2A, 1)),), "cells with an error, such as #N/A"),
    "true": ((record(0x0205, struct.pack("<HHHBB", 3, 0, 0, 1, 0)),), ""),
    "a formula with an error": ((formula(special(2, 7)),), "cells with an error, such as #N/A"),
    "a hidden row": ((record(0x0208, struct.pack("<HHHHHHHH", 1, 0, 2, 255, 0, 0, 0x120, 0)),), "has hidden rows;"),
    "a flat row": ((record(0x0208, struct.pack("<HHHHHHHH", 1, 0, 2, 0, 0, 0, 0x100, 0)),), "has hidden rows;"),
    "a row": ((record(0x0208, struct.pack("<HHHHHHHH", 1, 0, 2, 255, 0, 0, 0x100, 0)),), ""),
    "hidden below": ((record(0x0208, struct.pack("<HHHHHHHH", 9, 0, 2, 255, 0, 0, 0x120, 0)),), ""),
    "a hidden column": ((record(0x007D, struct.pack("<HHHHHH", 1, 1, 2000, 0, 1, 0)),), "has hidden columns;"),
    "hidden beside": ((record(0x007D, struct.pack("<HHHHHH", 7, 9, 2000, 0, 1, 0)),), ""),
    "merged cells": ((record(0x00E5, struct.pack("<HHHHH", 1, 1, 2, 0, 0)),), "1 group of cells is merged"),
    "a chart with its own cells": (
        (record(0x0809, struct.pack("<HHHHII", 0x0600, 0x20, 0, 0, 0, 0)), formula(special(3)), record(10, b"")),
        "",
    ),
}


@pytest.mark.parametrize("what", OLD)
def test_old_workbooks_are_looked_at_like_the_new(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records, said = OLD[what]
    if "must" in said or "merged" in said:
        with pytest.raises(dv.DivulgeError, match=said):
            read(xls(*records), tmp_path, suffix=".xls")
        return
    found, told = read(xls(*records), tmp_path, suffix=".xls"), capsys.readouterr().err
    assert said in told if said else not told
    assert (found["x"][1], found["y"][:2]) == ("b", PLAIN["y"])


def test_an_old_workbook_that_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.xls"
    path.write_bytes(xls(record(0x0205, b"")))
    with pytest.raises(
        dv.InputFileError, match=r"b\.xls: must .* Hint: open it .* save it as \.xlsx|must be a workbook"
    ):
        dv.open_table(path)


# --- made to harm

LAUGHS = (
    "<!DOCTYPE sst [<!ENTITY a 'lol'>"
    + "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefghij", "bcdefghijk", strict=True))
    + "]>"
)


def _declared(kind: str, name: str) -> Callable[[str], str]:
    return lambda text: text.replace("?>", f"?>{kind}", 1).replace("<t>a</t>", f"<t>&{name};</t>")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (TEXTS, _declared(LAUGHS, "k")),
        (TEXTS, _declared("<!DOCTYPE sst [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>", "a")),
        (TEXTS, _declared("<!DOCTYPE sst [<!ENTITY % a SYSTEM 'http://127.0.0.1:9/x.dtd'> %a;]>", "b")),
        (TEXTS, lambda text: text.replace("<t>a</t>", "<t>a&#0;</t>")),
        (SHEET, lambda text: text.replace("<v>2</v>", "<v>999</v>")),
        (SHEET, lambda text: text[:-60]),
        (TEXTS, lambda text: ""),
    ],
)
def test_workbooks_made_to_harm_are_refused(part: str, change: Callable[[str], str], tmp_path: Path) -> None:
    with pytest.raises(dv.DivulgeError, match="must be a workbook, as its name says") as caught:
        read(edited(made(), part, change), tmp_path)
    assert "root:" not in str(caught.value)


@pytest.mark.parametrize("size", ["A1:XFD1048576", "A1", "A1:ZZZZZZ99999999999"])
def test_the_declared_size_is_not_believed(size: str, tmp_path: Path) -> None:
    changed = edited(made(), SHEET, lambda text: re.sub(r'<dimension ref="[^"]*"', f'<dimension ref="{size}"', text))
    assert read(changed, tmp_path) == PLAIN


def test_elements_within_elements_take_no_stack(tmp_path: Path) -> None:
    deep = edited(made(), TEXTS, lambda text: text.replace("<t>a</t>", "<r>" * 200_000 + "<t>a</t>" + "</r>" * 200_000))
    assert read(deep, tmp_path) == PLAIN


def test_an_archive_with_a_part_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    path.write_bytes(made())
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr(SHEET, "<worksheet/>")
    with pytest.raises(dv.InputFileError, match=r"b\.xlsx: must hold each of its parts once"):
        dv.open_table(path)


def test_a_size_that_the_archive_lies_about_is_no_use(tmp_path: Path) -> None:
    content = bytearray(edited(made(), TEXTS, lambda text: text.replace("<t>a</t>", f"<t>{'a' * 5_000_000}</t>")))
    at = -1
    while (at := content.find(b"PK\x01\x02", at + 1)) >= 0:
        content[at + 24 : at + 28] = (100).to_bytes(4, "little")
    with pytest.raises(dv.DivulgeError, match="must be a workbook"):
        read(bytes(content), tmp_path)
