"""Workbooks that are more than they look: entities that expand or read other files, sizes that lie."""

import struct
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import divulge as dv

LAUGHS = "<!DOCTYPE x [" + '<!ENTITY a0 "laughlaugh">' + "".join(
    f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(9)
) + "]>"  # fmt: skip
"""Ten letters that a reader who expands entities makes 10^10 of."""

ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    '<office:body><office:spreadsheet><table:table table:name="One">{}</table:table></office:spreadsheet></office:body>'
    "</office:document-content>"
)


def _xlsx(path: Path, head: str, cell: str) -> Path:
    from xlsxwriter import Workbook

    with Workbook(path) as book:
        book.add_worksheet("One").write_column(0, 0, ["x", "PLANTED", "b"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    strings = parts["xl/sharedStrings.xml"]
    parts["xl/sharedStrings.xml"] = strings.replace("<sst", head + "<sst").replace("PLANTED", cell)
    return _packed(path, parts)


def _ods(path: Path, head: str, cell: str) -> Path:
    row = "<table:table-row><table:table-cell "
    row += 'office:value-type="string"><text:p>{}</text:p></table:table-cell></table:table-row>'
    rows = "".join(map(row.format, ("x", cell, "b")))
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    listed = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    return _packed(
        path,
        {
            "mimetype": mime,
            "META-INF/manifest.xml": listed,
            "content.xml": f'<?xml version="1.0"?>{head}{ODS.format(rows)}',
        },
    )


def _packed(path: Path, parts: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _cells(path: Path) -> list[str]:
    return pa.Table.from_batches(list(dv.open_table(path).batches(["x"])))["x"].to_pylist()


@pytest.mark.parametrize(("suffix", "make"), [("xlsx", _xlsx), ("ods", _ods)])
def test_a_workbook_without_entities_is_read(suffix: str, make: type, tmp_path: Path) -> None:
    assert _cells(make(tmp_path / f"t.{suffix}", "", "a &amp; b")) == ["a & b", "b"]


@pytest.mark.parametrize(("suffix", "make"), [("xlsx", _xlsx), ("ods", _ods)])
def test_entities_of_a_workbook_are_never_expanded(suffix: str, make: type, tmp_path: Path) -> None:
    keepsake = tmp_path / "keepsake"
    keepsake.write_text("what only the keeper knows")
    external = f'<!DOCTYPE x [<!ENTITY f SYSTEM "{keepsake.as_uri()}">]>'
    for head, cell in ((LAUGHS, "&a9;"), (external, "&f;"), (f'<!DOCTYPE x SYSTEM "{keepsake.as_uri()}">', "a")):
        path = make(tmp_path / f"t.{suffix}", head, cell)
        try:
            cells = _cells(path)
        except dv.InputFileError:
            continue
        assert all(len(text or "") < 20 for text in cells), "expanded"
        assert not any("keeper" in (text or "") for text in cells), "read from another file"


def test_a_part_that_is_larger_than_the_workbook_says_ends_in_a_message(tmp_path: Path) -> None:
    """The directory of the archive says 1,000 bytes, and the part unpacks to 100 million."""
    path = tmp_path / "t.xlsx"
    _xlsx(path, "", "a")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace("<sheetData>", "<sheetData>" + " " * 100_000_000)
    _packed(path, parts)
    content = bytearray(path.read_bytes())
    size = struct.pack("<I", len(parts[name]))
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = struct.pack("<I", 1000)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo(name).file_size == 1000
    with pytest.raises(dv.InputFileError, match=r"damaged|unpacked"):
        dv.open_table(path)
