"""The one reader of tables: what it takes, what it refuses, and that nothing of a damaged file goes out."""

import codecs
import errno
import gzip
import io
import os
import random
import stat
import warnings
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.dataset import dataset, partitioning
from support import few

import divulge as dv
from divulge.files.opening import keep_apart
from divulge.files.settings import Limits, using
from divulge.files.tables import delimited, lines
from divulge.releasing.output.sinks import digest, flush


def read(path: Path, **how: Any) -> dict[str, list[Any]]:
    """Return the columns of a table."""
    source = dv.open_table(path, **how)
    table = pa.Table.from_batches(list(source.batches()), source.schema)
    assert source.rows in (None, table.num_rows)
    return table.to_pydict()


def refusal(path: Path) -> str | None:
    """Return why a table is refused, if it is."""
    try:
        read(path)
    except dv.DivulgeError as error:
        return str(error)
    return None


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


PEOPLE = "Name;Größe\nÄnne;1,65\nBob;1.234,5\n"
READ = {"Name": ["Änne", "Bob"], "Größe": ["1.65", "1234.5"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_what_a_text_looks_like_is_guessed_and_told(encoding: str, delimiter: str, tmp_path: Path) -> None:
    path = written(tmp_path, "p.csv", PEOPLE.replace(";", delimiter).encode(encoding))
    with pytest.warns(UserWarning, match=f"p.csv: read as text with cells between .*{delimited.DELIMITERS[delimiter]}"):
        assert read(path) == READ
    assert read(path, delimiter=delimiter, decimal=",", encoding=encoding) == READ


def test_a_file_of_sas_is_read(tmp_path: Path) -> None:
    """The sample of pyreadstat (github.com/Roche/pyreadstat, Apache-2.0): no library writes this format."""
    path = written(tmp_path, "s.sas7bdat", gzip.decompress(Path(__file__).with_name("sample.sas7bdat.gz").read_bytes()))
    found = read(path)
    assert found["mychar"] == ["a", "b", "c", "d", "e"]
    assert found["mynum"] == [1.1, 1.2, -1000.3, -1.4, 1000.3]
    assert found["mydate"] == [date(2018, 5, 6), date(1880, 5, 6), date(1960, 1, 1), date(1583, 1, 1), None]


def test_the_usual_is_not_told(tmp_path: Path) -> None:
    assert read(written(tmp_path, "p.csv", b"a,b\n1,x\n,y\n")) == {"a": ["1", None], "b": ["x", "y"]}
    assert read(written(tmp_path, "p.tsv", b"a\tb\n1\t\n")) == {"a": ["1"], "b": [None]}
    assert read(written(tmp_path, "one.csv", b"a\n1\n\n2\n")) == {"a": ["1", None, "2"]}
    assert read(written(tmp_path, "mac.csv", b"a,b\r1,2\r3,4\r")) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read(written(tmp_path, "dos.csv", b'a,b\r\n1,"2"\r\n\r\n3,4\r\n')) == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read(written(tmp_path, "inch.csv", b'a,b\n5" pipe,2\n')) == {"a": ['5" pipe'], "b": ["2"]}


def test_commas_between_digits_are_decimal_signs_where_another_delimiter_fits(tmp_path: Path) -> None:
    path = written(tmp_path, "prior.csv", b"a;0,5\nb;0,5\n")
    with pytest.warns(UserWarning, match="decimal commas"):
        assert dv.read_prior(path).to_dict() == {"a": 0.5, "b": 0.5}


SECRET = "Pst-Nobody-May-Read-This"

# name -> (content, words of the message)
DAMAGED: dict[str, tuple[bytes, str]] = {
    "a quote that is not closed": (f'x,y\na,"b\n{SECRET},1\nc,"d"\n'.encode(), "line 2 has a quote that is not closed"),
    "a quote that closes too early": (f'x,y\n"a"{SECRET},1\n'.encode(), "line 2 has characters behind the closing"),
    "the last quote": (f'x,y\n{SECRET},1\n{SECRET},"2\n'.encode(), "line 3 has a quote that is not closed"),
    "a cell too many": (f"x,y\na,b\n{SECRET},1,2\n".encode(), "line 3 must have 2 cells, as the header has; it has 3"),
    "a cell too few": (f"x,y\na,b\n{SECRET}\n".encode(), "line 3 must have 2 cells, as the header has; it has 1"),
    "cut short": (f"x,y,z\na,b,c\n{SECRET},b".encode(), "line 3 must have 3 cells"),
    "a zero byte": (f"x,y\n{SECRET},1\nb,\0\n".encode(), "zero byte"),
    "two encodings": ("x,y\né,1\n".encode() + f"{SECRET},ü\n".encode("latin-1"), "line 3 has the byte 0xfc"),
    "cut inside a character": (f"x,y\n{SECRET},é".encode()[:-1], "ends in the middle of a character"),
    "no header": (f"\n{SECRET},1\n".encode(), "names of its columns in line 1"),
    "a workbook": (b"PK\x03\x04" + SECRET.encode(), "it is a zip archive such as an Excel workbook"),
    "a database": (b"SQLite format 3\0" + SECRET.encode(), "it is an SQLite database"),
    "line breaks of other kinds": (f'x,y\n"a\r{SECRET}",1\n'.encode(), "line 2 has a quote that is not closed"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_text_is_refused_and_nothing_of_it_is_said(case: str, tmp_path: Path) -> None:
    content, words = DAMAGED[case]
    path = written(tmp_path, "t.csv", content)
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
    with using(tell=lambda message: None):
        with pytest.raises(dv.InputFileError, match=words) as caught:
            read(path)
        with pytest.raises(dv.DivulgeError):
            dv.release(path, tmp_path / "out.csv", column="x", mechanism=coin)
    assert SECRET not in str(caught.value)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_cells_hold_line_breaks_only_on_purpose(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b'x,y\n"a\nb",1\n"c""d",2\n')
    with pytest.raises(dv.InputFileError, match="--line-breaks"):
        read(path)
    with pytest.warns(UserWarning, match="1 line breaks are inside cells; it has 2 rows"):
        assert read(path, line_breaks=True) == {"x": ["a\nb", 'c"d'], "y": ["1", "2"]}
    for content in (b'x,y\na,"b\nc,1\nd,"e"\n', b'x,y\na,"b\nc,d\n', b'x,y\na"b,1\nc,d"e\n'):
        with pytest.raises(dv.InputFileError, match="a quote that does not end a cell"):
            read(written(tmp_path, "t.csv", content), line_breaks=True)


def test_a_file_without_a_last_line_end_is_told(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="may have been cut short"):
        assert read(written(tmp_path, "t.csv", b"x,y\na,b")) == {"x": ["a"], "y": ["b"]}


@settings(max_examples=few(150), deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.text('a",;\n\r ', max_size=4)] * 2), min_size=1, max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([1, 7, 1 << 24]),
    line_breaks=st.booleans(),
)
def test_what_python_writes_is_read_back_or_refused(
    rows: list[tuple[str, str]], end: str, block: int, line_breaks: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any cells, as Python's csv module quotes them: read as they are, or refused for their line breaks; never else."""
    import csv

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("x", "y"), *rows])
    path = written(tmp_path_factory.mktemp("t"), "t.csv", text.getvalue().encode())
    broken = any(c in cell for row in rows for cell in row for c in "\r\n")
    with pytest.MonkeyPatch.context() as patch, using(tell=lambda message: None):
        patch.setattr(lines, "BLOCK", block)
        patch.setattr(delimited, "BLOCK", block)
        try:
            source = dv.open_table(path, delimiter=",", line_breaks=line_breaks)
        except dv.InputFileError:
            assert broken
            assert not line_breaks
            return
    found = [list(row.values()) for batch in source.batches() for row in batch.to_pylist()]
    assert found == [[cell or None for cell in row] for row in rows]


@settings(max_examples=few(200), deadline=None)
@given(text=st.text('a",\n\r;x', max_size=40), line_breaks=st.booleans())
def test_no_text_is_read_as_other_rows_than_its_lines(
    text: str, line_breaks: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of any text with quotes in odd places a table comes out whose cells lie each within one line, or nothing."""
    path = written(tmp_path_factory.mktemp("t"), "t.csv", f"h,i\n{text}\n".encode())
    with using(tell=lambda message: None):
        try:
            source = dv.open_table(path, delimiter=",", line_breaks=line_breaks)
            cells = [cell for batch in source.batches() for row in batch.to_pylist() for cell in row.values()]
        except dv.DivulgeError:
            return
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line]
    if not line_breaks:
        assert len(cells) == 2 * len(lines)
        assert not any("\n" in (cell or "") or "\r" in (cell or "") for cell in cells)


# --- workbooks, Stata, SPSS, SAS


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = xlsxwriter.Workbook(str(path))
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if isinstance(cell, datetime):
                    sheet.write_datetime(i, j, cell, moment)
                elif cell is not None:
                    sheet.write(i, j, cell)
    book.close()
    return path


def test_a_workbook_is_read_with_its_types(tmp_path: Path) -> None:
    rows = [["name", "n", "share", "day", "ill", "mixed"],
            ["a", 1, 0.5, datetime(2020, 1, 2, 3), True, 1], [],
            [None, 2, None, datetime(2021, 1, 1), False, "x"]]  # fmt: skip
    found = read(workbook(tmp_path / "b.xlsx", people=rows))
    assert found == {"name": ["a", None], "n": [1, 2], "share": [0.5, None], "ill": [True, False], "mixed": ["1", "x"],
                     "day": [datetime(2020, 1, 2, 3), datetime(2021, 1, 1)]}  # fmt: skip


def test_the_sheet_is_named_or_told(tmp_path: Path) -> None:
    path = workbook(tmp_path / "b.xlsx", First=[["x"], ["a"]], Second=[["x"], ["b"]])
    with pytest.warns(UserWarning, match="has 2 sheets; the first, 'First', is read"):
        assert read(path) == {"x": ["a"]}
    assert read(path, sheet="Second") == read(path, sheet="2") == {"x": ["b"]}
    with pytest.raises(dv.InputFileError, match=r"has no sheet 'second'\. Did you mean 'Second'\?"):
        read(path, sheet="second")
    with pytest.raises(dv.InputFileError, match=r"column 2 has none\. Hint: leave out lines above"):
        read(workbook(tmp_path / "b.xlsx", One=[["Survey of 2024"], ["x", "y"], ["a", "b"]]))


def test_a_zip_bomb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(20_000_000))
    with pytest.raises(dv.InputFileError, match="unpacked, must have at most 10,000,000 bytes; it has 20,000,000"):
        dv.open_table(path, limit="bytes=10MB")
    far = workbook(tmp_path / "far.xlsx", One=[["x"]])
    with zipfile.ZipFile(far) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</row>", b'</row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    with zipfile.ZipFile(far, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(dv.InputFileError, match=r"more than 2 GiB of memory|at most 20,000,000 cells"):
        dv.open_table(far)


@pytest.mark.filterwarnings("ignore:.*transport file does not say")
@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_files_of_statistics_programs_are_read(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"faith": [1.0, 2.0, None], "city": ["x", "", "z"], "size": [1.5, 2, 3]})
    labels = {"faith": {1: "Catholic", 2: "Other"}}
    path = tmp_path / f"s{suffix}"
    if suffix == ".sav":
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    elif suffix == ".dta":
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    else:
        pyreadstat.write_xport(frame, str(path))
    plain = {"faith": [1, 2, None], "city": ["x", None, "z"], "size": [1.5, 2.0, 3.0]}
    if suffix == ".xpt":
        assert read(path) == plain
        return
    with pytest.warns(UserWarning, match="codes with labels are read as their labels: 'faith'"):
        assert read(path) == plain | {"faith": ["Catholic", "Other", None]}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".xlsx", ".sav", ".dta", ".sas7bdat", ".xpt", ".ods", ".xls"])
@pytest.mark.thin
def test_what_is_none_of_its_kind_is_refused(suffix: str, tmp_path: Path) -> None:
    for content in (b"nonsense", bytes(range(256)) * 8, b"PK\x03\x04" + bytes(500), b"\xd0\xcf\x11\xe0" + bytes(500)):
        with pytest.raises(dv.InputFileError, match=rf"^t\{suffix}: "):
            read(written(tmp_path, f"t{suffix}", content))


def test_damaged_arrow_files_are_refused_before_the_first_row(tmp_path: Path) -> None:
    """One offset out of range in the last batch: a crash for whoever follows it."""
    path = tmp_path / "t.arrow"
    batches = [pa.record_batch({"x": [f"value {i}" for i in range(500)]}) for _ in range(3)]
    with pa.ipc.new_file(path, batches[0].schema) as sink:
        for batch in batches:
            sink.write_batch(batch)
    content = bytearray(path.read_bytes())
    offsets = batches[0].column("x").buffers()[1].to_pybytes()
    at = content.rindex(offsets[: 4 * 501])
    content[at + 4 * 250 : at + 4 * 251] = (2**31 - 8).to_bytes(4, "little")
    path.write_bytes(bytes(content))
    with pytest.raises(dv.InputFileError, match=r"t\.arrow: cannot be read to its end"):
        dv.open_table(path)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".xlsx", ".sav"])
@pytest.mark.thin
def test_flipped_bytes_end_in_a_message(suffix: str, tmp_path: Path) -> None:
    table = pa.table({"x": [f"v{i}" for i in range(300)], "n": list(range(300))})
    good = tmp_path / f"good{suffix}"
    if suffix == ".arrow":
        with pa.ipc.new_file(good, table.schema) as sink:
            sink.write_table(table)
    elif suffix == ".parquet":
        pq.write_table(table, good)
    elif suffix == ".xlsx":
        workbook(good, One=[["x", "n"], *map(list, zip(*table.to_pydict().values(), strict=True))])
    else:
        pyreadstat.write_sav(table.to_pandas(), str(good))
    rng, whole = random.Random(5), good.read_bytes()
    for _ in range(few(12) if suffix in (".xlsx", ".sav") else few(60)):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path = written(tmp_path, f"bad{suffix}", bytes(content))
        with using(tell=lambda message: None):
            said = refusal(path)
        assert said is None or said.startswith(path.name)


# --- what is read at all


@pytest.mark.parametrize("read_it", [dv.open_table, dv.read_channel, dv.read_prior, dv.Receipt.read, dv.Ledger])
def test_pipes_devices_and_folders_are_not_waited_for(read_it: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/zero", tmp_path / "zero.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("pipe.csv", "zero.csv", "folder.csv"):
        with pytest.raises(dv.DivulgeError, match=f"{name}.*(pipe|device|folder)"):
            read_it(tmp_path / name)


def test_limits_are_told_and_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "t.csv", b"x\n" + b"a\n" * 100)
    with pytest.raises(dv.InputFileError, match=r"at most 99 rows; it has 100. Hint: --limit rows=N, DIVULGE_LIMIT"):
        dv.open_table(path, limit="rows=99")
    monkeypatch.setenv("DIVULGE_LIMIT", "bytes=100")
    with pytest.raises(dv.InputFileError, match="at most 100 bytes; it has 202"):
        dv.read_prior(path)
    monkeypatch.setenv("DIVULGE_LIMIT", "bytes=1kB, cells=50")
    with pytest.raises(dv.InputFileError, match="at most 50 cells"):
        dv.read_channel(path)
    assert Limits.of("bytes=1.5KiB,rows=1e3") == Limits(rows=1000, bytes=1536)
    for wrong in ("100", "bytes", "bytes=-1", "boxes=3", "rows=1e999"):
        with pytest.raises(dv.DivulgeError, match="limit"):
            Limits.of(wrong)


def test_archives_of_arrays_are_measured(tmp_path: Path) -> None:
    import numpy as np

    np.savez_compressed(tmp_path / "bomb.npz", matrix=np.zeros((2000, 2000)))
    assert (tmp_path / "bomb.npz").stat().st_size < 100_000
    with (
        pytest.raises(dv.InputFileError, match="at most 10,000,000 bytes; it has 32,000,1"),
        using(limits="bytes=10MB"),
    ):
        dv.read_channel(tmp_path / "bomb.npz")
    header = (tmp_path / "huge.npy").open("wb")
    with header:
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
    with pytest.raises(dv.InputFileError, match="at most"):
        dv.read_channel(tmp_path / "huge.npy")
    pq.write_table(pa.table({f"c{i}": pa.array(np.zeros(20_000)) for i in range(11)}), tmp_path / "wide.parquet")
    with pytest.raises(dv.InputFileError, match="at most 100,000 cells; it has 220,000"), using(limits="cells=1e5"):
        dv.read_channel(tmp_path / "wide.parquet")


def test_a_first_line_of_data_is_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"{SECRET},50\nb,1\n".encode())
    with pytest.raises(dv.InputFileError, match="its first line must have the names") as caught:
        dv.open_table(path).require_columns(["faith"])
    assert SECRET not in str(caught.value)


def test_one_long_value_is_not_repeated_into_memory(tmp_path: Path) -> None:
    """200 kB of Parquet that unpack to 4 TB."""
    for size, name in ((4_000_000, "bomb"), (200_000, "long")):
        codes = pa.array([0] * 100_000, pa.int32())
        coded = pa.DictionaryArray.from_arrays(codes, ["x" * size])
        pq.write_table(pa.table({"x": codes.cast(pa.string()), "s": coded}), tmp_path / f"{name}.parquet")
    with pytest.raises(dv.InputFileError, match="cells of at most 1 MiB; one has 4,000,000 bytes"):
        next(dv.open_table(tmp_path / "bomb.parquet").batches(["s"]))
    with pytest.raises(dv.InputFileError, match="at most 1,073,741,824 bytes"):
        dv.read_channel(tmp_path / "long.parquet")
    first = next(dv.open_table(tmp_path / "long.parquet").batches(["s"]))
    assert first.num_rows * 200_000 <= 1 << 30


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", b"x\na\n")
    source = dv.open_table(path)
    path.write_bytes(b"x\na\nb\n")
    with pytest.raises(dv.InputFileError, match="must stay as it is"):
        list(source.batches())


# --- names


def test_every_file_of_a_call_is_another(tmp_path: Path) -> None:
    one, other = written(tmp_path, "one.csv", b"x\n"), tmp_path / "other.csv"
    os.symlink(one, tmp_path / "link.csv")
    os.link(one, tmp_path / "hard.csv")
    os.symlink("loop", tmp_path / "loop")
    keep_apart({"--output": other, "--ledger": "sqlite:///x.db", "--receipt": None}, {"TABLE": one, "--prior": one})
    for same in (one, tmp_path / "link.csv", tmp_path / "hard.csv", f"{tmp_path}/../{tmp_path.name}/one.csv"):
        with pytest.raises(dv.DivulgeError, match="`--output` must be another file than TABLE; it is the same file"):
            keep_apart({"--output": same}, {"TABLE": one})
        with pytest.raises(dv.DivulgeError, match="another file than --output"):
            keep_apart({"--output": one, "--ledger": same})
    with pytest.raises(dv.DivulgeError, match="another file than --prior"):
        keep_apart({"--output": one}, {"--prior": f"{one}:column"})
    with pytest.raises(dv.DivulgeError, match="it is inside TABLE"):
        keep_apart({"--output": other}, {"TABLE": tmp_path})
    with pytest.raises(dv.DivulgeError, match="it is the folder of TABLE"):
        keep_apart({"--output": "/"}, {"TABLE": one})
    with pytest.raises(dv.DivulgeError, match="leads somewhere"):
        keep_apart({"--output": tmp_path / "loop"})


def test_dates_of_statistics_files_are_dates(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": [date(2020, 1, 2), None]})
    pyreadstat.write_sav(frame, str(tmp_path / "d.sav"))
    assert read(tmp_path / "d.sav") == {"day": [date(2020, 1, 2), None]}


def test_the_marks_of_encodings_are_no_part_of_a_name(tmp_path: Path) -> None:
    for mark, encoding in ((codecs.BOM_UTF8, "utf-8"), (b"", "utf-16"), (b"", "utf-32")):
        path = written(tmp_path, "m.csv", mark + "x,y\na,b\n".encode(encoding))
        assert read(path, encoding=encoding) == {"x": ["a"], "y": ["b"]}
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111


# --- what a few bytes can stand for

ROWS = 400
LONG = "z" * 100_000


def bomb(kind: str) -> pa.Table:
    """Return a table of which one column takes 40 MB, in a few kilobytes of Parquet."""
    once = pa.array([LONG])
    places = pa.array([0] * ROWS, pa.int32())
    coded = pa.DictionaryArray.from_arrays(places, once)
    ends = pa.array(range(ROWS + 1), pa.int32())
    made: dict[str, Any] = {
        "flat": lambda: coded,
        "list": lambda: pa.ListArray.from_arrays(ends, coded),
        "struct": lambda: pa.StructArray.from_arrays([coded], ["k"]),
        "map": lambda: pa.MapArray.from_arrays(ends, pa.array(["k"] * ROWS), coded),
        "zeros": lambda: pa.ListArray.from_arrays(pa.array([0] + [5_000_000] * ROWS, pa.int32()), np.zeros(5_000_000)),
    }
    return pa.table({"x": ["a", "b"] * (ROWS // 2), "l" if kind != "flat" else "l.m": made[kind]()})


@pytest.mark.parametrize("kind", ["flat", "list", "struct", "map", "zeros"])
def test_a_parquet_bomb_is_measured_before_it_is_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = bomb(kind)
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 100_000
    limit = "bytes=5MB"
    source = dv.open_table(path, limit=limit)
    assert len(list(source.batches(["x"]))) == 1  # a column that nobody reads does no harm
    largest, refused = 0, ""
    try:
        for batch in source.batches():
            largest = max(largest, batch.nbytes)
    except dv.InputFileError as error:
        refused = str(error)
    assert ("must have at most 5,000,000 bytes" in refused) == (kind != "flat")
    assert largest <= 5_000_000
    with pytest.raises(dv.InputFileError):
        dv.read_channel(path, limit=limit)


def test_texts_that_share_their_beginnings_are_measured(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pa.RecordBatch.from_pydict({"l": [LONG] * 100})
    with pq.ParquetWriter(path, rows.schema, use_dictionary=False, column_encoding={"l": "DELTA_BYTE_ARRAY"}) as sink:
        for _ in range(3):
            sink.write_batch(rows)
    largest = max(batch.nbytes for batch in dv.open_table(path, limit="bytes=9MB").batches())
    assert largest <= 9_000_000


def test_a_cell_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0] * 5000), pa.array(["y" * 2_000_000]))}), path
    )
    with pytest.raises(dv.InputFileError, match="cells of at most 1 MiB; one has 2,000,000 bytes"):
        list(dv.open_table(path).batches())


def test_what_a_reader_of_another_process_hands_over_has_a_limit(tmp_path: Path) -> None:
    path = workbook(tmp_path / "b.xlsx", One=[["x"], *[["y" * 30_000]] * 60])
    assert path.stat().st_size < 100_000
    with pytest.raises(dv.InputFileError, match="unpacked, must have at most 1,000,000 bytes"):
        dv.open_table(path, limit="bytes=1MB")


# --- moments and names that have no text


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [(pa.timestamp("s"), 2**62, "years 1 to 9999"), (pa.timestamp("s", "No/Zone"), 0, "time zones that are known"),
     (pa.date32(), 2**31 - 1, "years 1 to 9999"), (pa.date32(), -(2**31), "years 1 to 9999"),
     (pa.duration("s"), 2**62, "others"),
     (pa.date32(), 0, ""), (pa.timestamp("ns", "Europe/Berlin"), 0, ""), (pa.timestamp("s", "+02:00"), 0, ""),
     (pa.time32("s"), 86_399, ""), (pa.duration("s"), 10**9, ""), (pa.timestamp("us"), None, ""),
     (pa.timestamp("ms"), 253_402_300_799_999, ""), (pa.date32(), 2_932_896, ""), (pa.date32(), 2_932_897, "years")],
)  # fmt: skip
@pytest.mark.parametrize("coded", [False, True])
def test_moments_that_no_calendar_has_are_refused(
    kind: Any, value: Any, said: str, coded: bool, tmp_path: Path
) -> None:
    array = pa.array([value, value], kind)
    table = pa.table({"x": array.dictionary_encode() if coded else array})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as sink:
        sink.write_table(table)
    if said:
        with pytest.raises(dv.InputFileError, match=said):
            dv.contingency(tmp_path / "t.arrow", "x")
    else:
        list(dv.open_table(tmp_path / "t.arrow").batches())


def test_names_of_columns_that_are_no_text_are_refused(tmp_path: Path) -> None:
    table = pa.table({"name of a column": ["a"]})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as sink:
        sink.write_table(table)
    path = tmp_path / "t.arrow"
    path.write_bytes(path.read_bytes().replace(b"name of a", b"name\xffof\xe4a"))
    with pytest.raises(dv.InputFileError, match=r"t\.arrow: "):
        dv.open_table(path)


def test_columns_that_folders_are_named_after(tmp_path: Path) -> None:
    """As pyarrow reads them, but for the text of numbers that are written as codes; also coded, and without others."""
    for folder, values in (("y=2024/c=M%C3%BCn%2Fchen", ["a", "b"]), ("y=7/c=__HIVE_DEFAULT_PARTITION__", ["c"])):
        (tmp_path / folder).mkdir(parents=True)
        pq.write_table(pa.table({"x": values}), tmp_path / folder / "t.parquet")
    source = dv.open_table(tmp_path)
    assert (source.rows, source.schema.names, source.schema.field("y").type) == (3, ["x", "y", "c"], pa.int64())
    read = dataset(tmp_path, partitioning=partitioning(flavor="hive")).to_table().sort_by("x").to_pydict()
    for coded in ([], ["c", "x"]):
        table = pa.concat_tables(
            pa.Table.from_batches([batch]).cast(source.schema) for batch in source.batches(coded=coded)
        )  # fmt: skip
        assert table.sort_by("x").to_pydict() == read
    assert [batch.to_pydict() for batch in source.batches(["c"], ["c"])] == [{"c": ["Mün/chen"] * 2 + [None]}]
    assert dv.contingency(tmp_path, ["c", "y"]).to_dict() == {("Mün/chen", 2024): 2, (None, 7): 1}


@pytest.mark.parametrize(
    ("folders", "reason"),
    [(["a=1", "."], "the same columns in the names of all folders"), (["a=1/plain"], "no folder between"),
     (["a=1/b=1", "b=1/a=1"], "the same columns"), (["a="], "a name and a value"), (["=1"], "a name and a value"),
     (["a=1/a=2"], "each name once"), (["x=1/a=2"], "column 'x' in the names of folders or in the files"),
     (["a=%FF"], "UTF-8"), (["a=%C3%BC", "a=ü"], "one way of writing letters")],
)  # fmt: skip
def test_folders_that_engines_take_for_different_columns_are_refused(
    folders: list[str], reason: str, tmp_path: Path
) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": ["a"]}), tmp_path / folder / "t.parquet")
    with pytest.raises(dv.InputFileError, match=reason):
        dv.open_table(tmp_path)


def test_types_of_columns_that_folders_are_named_after(tmp_path: Path) -> None:
    """A code keeps its zero; what the files have themselves is read from them; _a=1 is hidden nowhere, as in Spark."""
    for name, folders in (
        ("codes", ["_m=01", "_m=12"]),
        ("own", ["x=1", "x=2"]),
        ("gone", ["m=1", "m=__HIVE_DEFAULT_PARTITION__"]),
    ):
        for folder in folders:
            (tmp_path / name / folder).mkdir(parents=True)
            pq.write_table(pa.table({"x": ["a"]}), tmp_path / name / folder / "t.parquet")
    assert dv.contingency(tmp_path / "codes", "_m").to_dict() == {"01": 1, "12": 1}
    assert dv.contingency(tmp_path / "own", "x").to_dict() == {"a": 2}
    assert dv.contingency(tmp_path / "gone", "m").to_dict() == {1: 1, None: 1}


def test_a_folder_of_much_else_is_no_table(tmp_path: Path) -> None:
    """A thousand other files may lie beside the parts; the root of a system is refused before it is read to its end."""
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "part.parquet")
    for i in range(1000):
        (tmp_path / f"{i}.txt").touch()
    assert dv.open_table(tmp_path).rows == 1
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one.txt").touch()
    with pytest.raises(dv.DivulgeError, match="must be a folder of Parquet files; it holds more than 1,000 others"):
        dv.open_table(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"sep=;\r\nid;town\r\n1;a\r\n2;b\r\n", b'"sep=;"\nid;town\n1;a\n2;b\n', b"\xef\xbb\xbfSEP=;\nid;town\n1;a\n2;b\n",
     "sep=;\nid;town\n1;a\n2;b\n".encode("utf-16"), b"sep=|\nid|town\n1|a\n2|b\n"],
    ids=["Excel", "in quotes", "behind a mark", "UTF-16", "bars"],
)  # fmt: skip
def test_the_line_that_tells_a_delimiter_is_no_header(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with warnings.catch_warnings(action="ignore"):
        found = dv.open_table(tmp_path / "t.csv")
    assert (found.schema.names, found.rows) == (["id", "town"], 2)
    assert dv.contingency(found, "town").to_dict() == {"a": 1, "b": 1}


def test_a_title_above_a_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("School 12\n\nid,town\n1,a\n")
    with pytest.raises(dv.InputFileError, match="leave out lines above the table"):
        dv.contingency(tmp_path / "t.csv", "town")
    with pytest.raises(
        dv.InputFileError, match=r"line 3 must have 1 cell, as the header has; it has 2\. Hint: leave out"
    ):
        dv.contingency(tmp_path / "t.csv", "School 12")


@pytest.mark.parametrize("refused", ["sub", "."])
def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """Its rows would be missing in silence, and the digest would be one of nothing."""
    listed = os.scandir
    (tmp_path / "t" / "sub").mkdir(parents=True)
    for part in ("t/a.parquet", "t/sub/b.parquet"):
        pq.write_table(pa.table({"x": ["a"]}), tmp_path / part)

    def scandir(path: Any) -> Any:
        if Path(path) == tmp_path / "t" / refused:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(dv.DivulgeError, match=r"^t: cannot be read: Permission denied\.$"):
        dv.open_table(tmp_path / "t")
    for touches in (digest, flush):
        with pytest.raises(PermissionError):
            touches(tmp_path / "t")


def test_columns_by_name_are_a_table() -> None:
    by_name = {"answer": ["yes", None, "no"], "day": [date(2024, 1, k) for k in (1, 2, 3)], "n": np.arange(3)}
    source = dv.open_table(by_name)
    assert source.schema.equals(pa.table(by_name).schema)
    assert source.rows == 3
    assert pa.Table.from_batches(source.batches(["answer", "n"])).equals(pa.table(by_name).select(["answer", "n"]))
    out = dv.release({"answer": ["yes", "no"] * 9, "age": [31, 45] * 9}, column="answer", guarantee="ldp=1")
    assert sorted(out.table["answer_perturbed"].unique().to_pylist()) == ["no", "yes"]
    assert out.rows == 18


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "without a column"),
        ({"a": [1, 2], "b": [1]}, "of 1 to 2 values"),
        ({"a": "yes"}, "column 'a' is a str"),
        ({"a": {"yes": 1}}, "column 'a' is a dict"),
        ({"a": 5}, "column 'a' is a int"),
        ({3: [1]}, "a name is a int"),
        ({"a": [1, "secret"]}, "column 'a' is of several"),
        ({"a": [object()]}, "column 'a' is of several"),
        ({"a": [2**70]}, "column 'a' is of several"),
    ],
)
def test_columns_that_are_no_table_are_refused_without_a_cell(columns: Any, words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words) as refusal:
        dv.open_table(columns)
    assert "secret" not in str(refusal.value)


def test_a_frame_with_two_columns_of_one_name_is_refused_in_words() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(dv.DivulgeError, match=r"a name of its own for each column; 'a' is there twice.*rename"):
        dv.open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_files_of_a_few_rows_are_read_together(tmp_path: Path) -> None:
    rng, whole = np.random.default_rng(4), list[dict[str, Any]]()
    for i in range(30):
        texts = [None if x == 0 else f"text {x + i}" for x in rng.integers(0, 4, rng.integers(0, 40)).tolist()]
        kept = pa.DictionaryArray.from_arrays(
            pa.array(range(len(texts)), pa.int8()), pa.array([f"{i} {j}" for j in range(len(texts))], pa.string())
        )
        part = pa.table(
            {"x": pa.array(texts, pa.string()), "few": pa.array(["a"] * len(texts), pa.string()), "own": kept}
        )
        for folder, names in (("one", ["x", "few"]), ("two", ["x", "few", "own"])):
            (tmp_path / folder).mkdir(exist_ok=True)
            pq.write_table(part.select(names), tmp_path / folder / f"{i:02}.parquet")
        whole += part.to_pylist()
    for folder, names in (("one", ["x", "few"]), ("two", ["x", "few", "own"])):
        source = dv.open_table(tmp_path / folder)
        batches = list(source.batches(names, source.codable))
        assert [row for batch in batches for row in batch.to_pylist()] == [{n: row[n] for n in names} for row in whole]
        assert len(batches) == 1 if folder == "one" else len(batches) > 1  # 8 bits do not count all of `own`
    for spoil, words in ((lambda path: os.utime(path, ns=(1, 1)), "must stay as it is"), (Path.unlink, "no such file")):
        path = tmp_path / "one" / "07.parquet"
        reading = dv.open_table(path).batches()
        next(reading)
        spoil(path)
        with pytest.raises(dv.DivulgeError, match=words):
            list(reading)
