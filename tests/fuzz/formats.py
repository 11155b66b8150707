"""Files of every format with one structural fault each: what is inside is well formed, and says something else."""

import gzip
import io
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from biff import formula, record, special, xls

import divulge as dv
from fuzz.cases import COIN, damaged
from fuzz.harness import MARK
from fuzz.lines import options_of, value

Fault = Callable[[random.Random], Any]


def _rows(rng: random.Random, count: int) -> dict[str, list[Any]]:
    return {
        "x": [rng.choice("abc") for _ in range(count)],
        "y": [rng.choice("abc") for _ in range(count)],
        "n": list(range(count)),
        "diary": [f"{MARK} {i}" for i in range(count)],
    }


# --- text inside archives: workbooks


def _xlsx(rng: random.Random, change: Callable[[Any, Any], Any]) -> bytes:
    import xlsxwriter

    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream) as book:
        sheet = book.add_worksheet()
        for place, (name, cells) in enumerate(_rows(rng, rng.choice([1, 3, 30])).items()):
            sheet.write_column(0, place, [name, *cells])
        change(book, sheet)
    return stream.getvalue()


WORKBOOKS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda b, s: None,
    lambda b, s: s.merge_range(1, 0, 2, 0, "a"),
    lambda b, s: s.merge_range(0, 0, 0, 1, "x"),
    lambda b, s: s.set_row(1, None, None, {"hidden": True}),
    lambda b, s: s.set_column(0, 3, None, None, {"hidden": True}),
    lambda b, s: s.write_formula(1, 0, "=1/0", None, "#DIV/0!"),
    lambda b, s: s.write_formula(1, 0, "='[o.xlsx]S'!A1", None, "a"),
    lambda b, s: s.write_formula(1, 0, '=HYPERLINK("http://127.0.0.1")', None, ""),
    lambda b, s: s.write_url(1, 0, "external:o.xlsx"),
    lambda b, s: (b.add_worksheet("é\u202e").activate(), s.hide()),
    lambda b, s: b.add_chartsheet(),
    lambda b, s: s.write(1_048_575, 0, "a"),
    lambda b, s: s.write(0, 16_383, "far"),
    lambda b, s: s.write(1, 0, "x" * 32_767),
    lambda b, s: s.write_datetime(1, 0, __import__("datetime").datetime(1900, 1, 1)),
    lambda b, s: s.write(0, 0, ""),
    lambda b, s: s.write(0, 1, "x"),
    lambda b, s: s.write(1, 0, True),
    lambda b, s: s.write(1, 0, 1e308),
    lambda b, s: s.protect("secret"),
    lambda b, s: b.define_name("x", "=Sheet1!$A$1"),
    lambda b, s: s.write_array_formula(1, 0, 2, 0, "{=A1}", None, ""),
)
"""What may stand in a workbook beside plain cells."""

XML: tuple[tuple[bytes, bytes], ...] = (
    (b"?>", b"?><!DOCTYPE a [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]>"),
    (b"<t>", b"<t>&b;"),
    (b"<t>", b"<t>&#0;"),
    (b"<t>", b"<t>&#x1b;[2J"),
    (b"<t>", b"<r>" * 9999 + b"<t>"),
    (b"<v>", b"<v>99999999999"),
    (b"<v>", b"<v>-"),
    (b"<v>", b"<v>nan"),
    (b"</f>", b"</f></c><c>"),
    (b'ref="A1', b'ref="ZZZZ1'),
    (b'r="B', b'r="XFD'),
    (b'r="B', b'r="ZZZZZZZZ'),
    (b'r="2"', b'r="1048576"'),
    (b'r="2"', b'r="99999999999999"'),
    (b't="s"', b't="e"'),
    (b't="s"', b't="zzz"'),
    (b't="s"', b't="b"'),
    (b't="s"', b't="inlineStr"'),
    (b"<sheet ", b"<sheet state='veryHidden' "),
    (b"sheet1.xml", b"../../../../etc/passwd"),
    (b"sheet1.xml", b"sheet9.xml"),
    (b"<sheets>", b"<sheets/><sheets>"),
    (b"UTF-8", b"UTF-16"),
    (b"UTF-8", b"zzz"),
    (b"<row", b"<row/><row"),
    (b"<", b"<!--"),
)
"""What of an XML part is replaced, and by what."""


def workbook(rng: random.Random) -> tuple[str, bytes]:
    """Return a workbook with something unusual in a sheet or in a part of the archive."""
    content = _xlsx(rng, rng.choice(WORKBOOKS))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        parts = {name: old.read(name) for name in old.namelist()}
        old_text, new_text = rng.choice(XML)
        holding = [name for name in parts if old_text in parts[name]]
        if holding and rng.random() < 0.6:
            name = rng.choice(holding)
            parts[name] = parts[name].replace(old_text, new_text, rng.choice([1, 1, -1]))
        if rng.random() < 0.1:
            parts.pop(rng.choice(list(parts)))
        for name, part in parts.items():
            new.writestr(name, part if rng.random() < 0.98 else damaged(rng, part))
    return rng.choice(["t.xlsx", "t.xlsx", "t.xlsm", "t.ods", "t.xls"]), _around(rng, stream.getvalue())


def old_workbook(rng: random.Random) -> tuple[str, bytes]:
    """Return a workbook of Excel 97 with records of any kind in its sheet, or one of its bytes touched."""
    numbers = [rng.choice([0, 1, 2, 3, 255, 0x20, 0x2A, 0xFFFF, rng.randrange(1 << 16)]) for _ in range(8)]
    cells = struct.pack("<8H", *numbers)
    kinds = [0x0006, 0x0203, 0x0204, 0x0205, 0x0207, 0x0208, 0x007D, 0x00E5, 0x00FC, 0x0809, 0x000A, 0x0085, 0x002F]
    odd = [record(rng.choice(kinds), cells[: rng.choice([0, 2, 8, 16])]) for _ in range(rng.choice([0, 1, 1, 3]))]
    content = xls(formula(special(rng.randrange(5), rng.randrange(256)), rng.randrange(4)), *odd)
    if rng.random() < 0.4:
        at = rng.choice([rng.randrange(80), rng.randrange(512, 1536), rng.randrange(len(content))])
        touched = rng.choice([b"\xff", b"\0", rng.randbytes(4), struct.pack("<I", rng.randrange(20))])
        content = content[:at] + touched + content[at + len(touched) :]
    return "t.xls", _around(rng, content)


def libreoffice(rng: random.Random) -> tuple[str, bytes]:
    """Return a workbook of LibreOffice with something unusual in it."""
    odd = rng.choice(
        [
            'table:number-columns-repeated="1000000000"',
            'table:number-rows-spanned="2"',
            'table:formula="of:=1"',
            'office:value-type="float" office:value="nan"',
            'office:value-type="date" office:date-value="zzz"',
            'office:value-type="boolean" office:boolean-value="2"',
            'table:number-columns-repeated="-1"',
            "",
        ]
    )
    row = rng.choice(
        [
            'table:number-rows-repeated="1048576"',
            'table:number-rows-repeated="99999999999999999999"',
            'table:visibility="filter"',
            "",
            "",
        ]
    )

    def cells(line: list[Any], more: str = "") -> str:
        return "".join(
            f'<table:table-cell office:value-type="string" {more}><text:p>{c}</text:p></table:table-cell>' for c in line
        )

    lines = list(zip(*_rows(rng, 3).values(), strict=True))
    body = f"<table:table-row>{cells(['x', 'y', 'n', 'diary'])}</table:table-row>"
    body += "".join(
        f"<table:table-row {row}>{cells(list(line), odd if i == 1 else '')}</table:table-row>"
        for i, line in enumerate(lines)
    )
    spaces = " ".join(f'xmlns:{s}="urn:oasis:names:tc:opendocument:xmlns:{s}:1.0"' for s in ("office", "table", "text"))
    doctype = rng.choice(["", "", "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml", '<manifest xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        )
        archive.writestr(
            "content.xml",
            f'<?xml version="1.0"?>{doctype}<office:document-content {spaces}><office:body><office:spreadsheet>'
            f'<table:table table:name="S">{body}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        )
    return "t.ods", _around(rng, stream.getvalue())


def _around(rng: random.Random, content: bytes) -> bytes:
    return rng.choice([content] * 6 + [content + b"x" * 99, b"x" * 99 + content, damaged(rng, content)])


# --- columns of any type: Parquet, Arrow


class _Extended(pa.ExtensionType):
    """A type that no other program knows."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "divulge.fuzz")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"\xff\x00"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> "_Extended":
        return cls()


_UNITS = ("s", "ms", "us", "ns")

_ZONES = (None, "UTC", "Europe/Berlin", "+02:00", "-23:59", "Etc/GMT+12")


def _odd_column(rng: random.Random, count: int) -> Any:
    texts = [rng.choice("abc") for _ in range(count)]
    return rng.choice(
        [
            lambda: pa.ExtensionArray.from_storage(_Extended(), pa.array(texts, pa.string())),
            lambda: pa.array([[texts]] * count),
            lambda: pa.array([{"a": {"b": texts}}] * count),
            lambda: pa.array([[("k", t)] for t in texts], pa.map_(pa.string(), pa.string())),
            lambda: pa.array([[t] for t in texts], pa.list_(pa.string(), 1)),
            lambda: pa.array(texts, pa.string()).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
            lambda: pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["a", MARK])),
            lambda: pa.array([None] * count, pa.string()),
            lambda: pa.array([0] * count, pa.timestamp("ns", "Nowhere/Zone")),
            lambda: pa.array([2**62] * count, pa.timestamp("s")),
            lambda: pa.array([2**40] * count, pa.duration("s")),
            lambda: pa.array(range(count), pa.decimal128(38, 10)),
            lambda: pa.array(range(count), pa.decimal256(76, -5)),
            lambda: pa.array([1.5] * count, pa.float16()) if count else pa.array([], pa.float16()),
            lambda: (
                pa.RunEndEncodedArray.from_arrays(pa.array([count], pa.int32()), pa.array(["a"]))
                if count
                else pa.array([], pa.string())
            ),
            lambda: pa.UnionArray.from_dense(
                pa.array([0] * count, pa.int8()),
                pa.array(range(count), pa.int32()),
                [pa.array(texts), pa.array(range(count))],
            ),
            lambda: pa.array([b"\xff\xfe"] * count, pa.binary(2)),
            lambda: pa.array([2**31 - 1] * count, pa.date32()),
            lambda: pa.array([t * 70_000 for t in texts]),
            lambda: pa.array(texts, pa.string_view()),
            lambda: pa.array([2**64 - 1] * count, pa.uint64()),
            lambda: pa.array([True] * count),
            lambda: pa.array(texts),
            lambda: pa.array([-(2**40), *range(count)][:count], pa.int64()).cast(pa.duration(rng.choice(_UNITS))),
            lambda: pa.array(range(count), pa.int64()).cast(pa.timestamp(rng.choice(_UNITS), rng.choice(_ZONES))),
            lambda: pa.array(range(count), pa.int64()).cast(pa.time64(rng.choice(["us", "ns"]))),
            lambda: pa.array(range(count), pa.int32()).cast(pa.time32(rng.choice(["s", "ms"]))),
            lambda: pa.array(range(count), pa.int64()).cast(pa.duration("ns")).dictionary_encode(),
            lambda: pa.array([0.1] * count, pa.float32()).dictionary_encode(),
            lambda: pa.array([pa.MonthDayNano([1, i, 3]) for i in range(count)], pa.month_day_nano_interval()),
            lambda: pa.array(range(count), pa.decimal32(9, 2)),
            lambda: pa.array(range(count), pa.decimal64(18, 18 if count < 2 else 2)),
            lambda: pa.array(range(count), pa.decimal128(20, -3)),
            lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16] * count, pa.binary(16))),
            lambda: pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}'] * count, pa.string())),
            lambda: pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1] * count, pa.int8())),
            lambda: pa.array([[t] for t in texts], pa.list_view(pa.string())),
            lambda: pa.array(texts, pa.binary_view()),
            lambda: pa.array([None if i % 3 == 0 else t for i, t in enumerate(texts)]),
            lambda: pa.array(
                [None] * count, rng.choice([pa.null(), pa.int64(), pa.float16(), pa.date32(), pa.bool_()])
            ),
            lambda: pa.array([float(rng.choice(["nan", "inf", "-inf", "-0.0", "5e-324", "1e308"]))] * count),
        ]
    )()


def columns(rng: random.Random) -> tuple[str, bytes]:
    """Return a Parquet or Arrow file with a column of an unusual type, name or layout."""
    count = rng.choice([0, 1, 2, 30])
    found: dict[str, Any] = dict(_rows(rng, count))
    try:
        odd = _odd_column(rng, count)
    except pa.ArrowException:  # a type that has no place for these values
        odd = [None] * count
    found[rng.choice("xxyn")] = odd
    table = pa.table(found)
    if rng.random() < 0.2:
        names = [rng.choice(["x", "", "y", "a.b", "\x1b[2J", "x" * 9999, "\u202e"]) for _ in table.column_names]
        held = zip(names, table.column_names, strict=True)  # what is to be released holds no secret cells
        table = table.rename_columns(["z" if (new, old) == ("x", "diary") else new for new, old in held])
    table = table.select([]) if rng.random() < 0.05 else table
    if rng.random() < 0.2:
        table = table.replace_schema_metadata({"pandas": "{}", "ARROW:schema": "zzz", b"\xff": b"\xff"})
    stream, kind = io.BytesIO(), rng.choice(["parquet", "arrow", "feather"])
    try:
        if kind == "parquet":
            pq.write_table(
                table,
                stream,
                version=rng.choice(["1.0", "2.4", "2.6"]),
                data_page_version=rng.choice(["1.0", "2.0"]),
                compression=rng.choice(["none", "gzip", "zstd", "brotli", "lz4"]),
                use_dictionary=rng.random() < 0.5,
                row_group_size=rng.choice([1, 7, 10**6]),
                write_statistics=rng.random() < 0.5,
            )
        else:
            options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]))
            with rng.choice([pa.ipc.new_file, pa.ipc.new_stream])(stream, table.schema, options=options) as sink:
                sink.write_table(table)
    except (pa.ArrowException, ValueError, OSError):  # a type that the format has no place for
        return "t.parquet", b"PARE" + bytes(20) + b"PARE"  # as an encrypted file begins
    content = stream.getvalue()
    if kind == "parquet" and rng.random() < 0.1:
        content = b"PARE" + content[4:-4] + b"PARE"
    return f"t.{kind}", _around(rng, content)


# --- headers of Stata, SPSS, SAS and NumPy


def statistics(rng: random.Random) -> tuple[str, bytes]:
    """Return a file of Stata, SPSS or SAS with long texts, many labels, odd names or a header that was touched."""
    import tempfile

    import pandas as pd
    import pyreadstat

    kind = rng.choice(["sav", "zsav", "por", "dta", "xpt"])
    frame = pd.DataFrame(_rows(rng, rng.choice([1, 3, 30])))
    frame["x"] = frame["x"].astype(object)
    odd: Fault = rng.choice(
        [
            lambda r: None,
            lambda r: frame.__setitem__("x", ["a" * r.choice([1, 244, 255, 256, 2045, 30_000])] * len(frame)),
            lambda r: frame.__setitem__("n", [float("nan")] * len(frame)),
            lambda r: frame.__setitem__("n", [r.choice([1e308, -1e300, 2.0**53])] * len(frame)),
            lambda r: frame.__setitem__("x", ["é\u202e日\x1b[2J"] * len(frame)),
            lambda r: frame.__setitem__("z" * 32, 1),
            lambda r: frame.__setitem__("n", pd.Timestamp(r.choice(["1582-10-15", "1677-10-01", "2262-01-01"]))),
        ]
    )
    labels = (
        {"n": {i: f"{MARK} {i}" * rng.choice([1, 9]) for i in range(30)}}
        if rng.random() < 0.3 and kind in ("sav", "dta")
        else None
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        try:
            odd(rng)
            write = {"por": pyreadstat.write_por, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}.get(
                kind, pyreadstat.write_sav
            )
            more = {"compress": True} if kind == "zsav" else {}
            write(frame, str(path), **more, **({"variable_value_labels": labels} if labels else {}))
            content = path.read_bytes()
        except Exception:  # what the writer has no place for
            content = b"$FL2" + bytes(500)
    if rng.random() < 0.6:
        at, width = rng.randrange(min(len(content), 900)), rng.choice([1, 2, 4, 8])
        touched = rng.choice(
            [
                b"\xff" * width,
                bytes(width),
                b"\x7f" + b"\xff" * (width - 1),
                rng.randbytes(width),
                (2**31 - 1).to_bytes(4, "little"),
            ]
        )
        content = content[:at] + touched + content[at + len(touched) :]
    return f"t.{kind}" if rng.random() < 0.9 else f"t.{rng.choice(['sas7bdat', 'sav', 'dta', 'por'])}", content


def numpy_file(rng: random.Random) -> tuple[str, bytes]:
    """Return a .npy or .npz file whose header, names or members say something else than they hold."""

    def array() -> bytes:
        shape = rng.choice(
            [
                "(3, 3)",
                "(3,)",
                "()",
                "(-1, 3)",
                "(100000, 100000)",
                "(9223372036854775807, 3)",
                "(0, 3)",
                "(True, 3)",
                "(3.0, 3)",
                "((3, 3))",
                "[3, 3]",
            ]
        )
        kind = rng.choice(
            [
                "'<f8'",
                "'>f8'",
                "'|O'",
                "'<U0'",
                "'<U99999'",
                "'|V8'",
                "'<c16'",
                "'<M8[s]'",
                "'?'",
                "'<f2'",
                "[('a', '<f8')]",
                "'zzz'",
                "None",
            ]
        )
        text = f"{{'descr': {kind}, 'fortran_order': {rng.choice(['True', 'False', '0'])}, 'shape': {shape}}}".encode()
        text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
        return (
            b"\x93NUMPY"
            + bytes([rng.choice([1, 1, 1, 2, 9]), 0])
            + len(text).to_bytes(2, "little")
            + text
            + np.full(9, 1 / 3).tobytes()
        )

    if rng.random() < 0.4:
        return "c.npy", _around(rng, array())
    stream = io.BytesIO()
    good = io.BytesIO()
    np.save(good, np.array(rng.choice([1, 2**40, [1, 1], [[1.0]], [0.5], ["csr"], "csr", "csc", [2**40, 3]])))
    names = rng.choices(
        ["matrix", "secrets", "outcomes", "data", "indices", "indptr", "shape", "format", "../x", "x", "é"],
        k=rng.randint(1, 6),
    )
    with zipfile.ZipFile(
        stream, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    ) as archive:
        for name in dict.fromkeys(names):
            archive.writestr(
                f"{name}{rng.choice(['.npy', '.npy', '.npy', ''])}", rng.choice([array(), good.getvalue(), b"hello"])
            )
    return "c.npz", _around(rng, stream.getvalue())


def of_sas(rng: random.Random) -> tuple[str, bytes]:
    """Return the sample of SAS with one or two numbers of its header or of a page touched."""
    content = gzip.decompress((Path(__file__).parents[1] / "files" / "sample.sas7bdat.gz").read_bytes())
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.choice([rng.randrange(400), rng.randrange(len(content))])
        touched = rng.choice([b"\xff" * 4, bytes(4), rng.randbytes(2), (2**31 - 1).to_bytes(4, "little")])
        content = content[:at] + touched + content[at + len(touched) :]
    return "t.sas7bdat", content


TABLES = (workbook, workbook, old_workbook, libreoffice, columns, columns, statistics, statistics, of_sas)

LINES: dict[str, tuple[tuple[str, ...], ...]] = {
    "release": (
        ("{t}", "--column", "x", "-o", "out.csv", "--only-column", "--mechanism", "good.csv", "--no-ledger"),
        ("{t}", "--column", "x", "-o", "out.arrow", "--only-column", "--guarantee", "ldp=1"),
        ("{t}", "--column", "x", "--guarantee", "ldp=1", "--preview"),
    ),
    "publish": (
        ("{t}", "--guarantee", "dp=1", "--count", "x", "--values-from-data", "-o", "out.parquet"),
        ("{t}", "--guarantee", "dp=1", "--mean", "n:0:90", "-o", "out.csv"),
    ),
    "measure": (("--data", "{t}", "--secret", "x", "--released", "y"), ("{c}",), ("good.csv", "--prior", "{t}:x")),
    "audit": (
        ("--data", "{t}", "--secret", "x", "--released", "y", "--claim", "ldp=1"),
        ("--data", "{t}", "--secret", "x", "--released", "y", "--mechanism", "good.csv"),
    ),
    "estimate": (("{t}", "--mechanism", "good.csv", "--column", "x"),),
    "report": (("--data", "{t}", "--secret", "x", "--released", "y"), ("{c}", "--prior", "uniform")),
    "check": (("{c}", "--guarantee", "ldp=1"),),
    "attack": (("{c}", "--prior", "uniform"),),
    "compare": (("good.csv", "{c}"),),
    "design": (("--prior", "{t}:x", "--guarantee", "ldp=1", "--time-limit", "2"),),
}
"""Command -> lines about a table {t} or a channel {c}."""


def structured(rng: random.Random, folder: Path) -> list[str]:
    """Write a file with a structural fault, and return a line about it, often with one more option."""
    command = rng.choice([*LINES, "release", "measure"])
    line = list(rng.choice(LINES[command]))
    kind = rng.choice(TABLES if any("{t}" in word for word in line) else (numpy_file, numpy_file, columns))
    name, content = kind(rng)
    (folder / name).write_bytes(content)
    dv.write_channel(COIN, folder / "good.csv")
    if rng.random() < 0.3:
        line += value(rng, rng.choice(list(options_of(command).values())))
    return [command, *(word.replace("{t}", name).replace("{c}", name) for word in line)]
