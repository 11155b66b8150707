"""Whatever goes wrong: nothing under the final name, the source as it was, the ledger consistent."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import copies
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import THOROUGH

import divulge as dv
from divulge import children
from divulge.releasing.output import sinks

BIT = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])


ROWS = 800_000
"""So many that a release of them is under way for some tenths of a second."""


def _source(folder: Path, rows: int = ROWS, last: str = "a") -> Path:
    path = folder / "source.parquet"
    values = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32) % 2), ["a", "b"])
    table = pa.table({"x": values, "n": pa.array(np.arange(rows))})
    if last != "a":
        table = pa.concat_tables([table.cast(pa.schema([("x", pa.string()), ("n", pa.int64())])),
                                  pa.table({"x": [last], "n": [rows]})])  # fmt: skip
    pq.write_table(table, path)
    return path


SCRIPT = """
import resource, sys
import divulge as dv
if len(sys.argv) > 4:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
bit = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
print("ready", flush=True)
code = 0
for sink in sys.argv[2].split("|"):
    try:
        dv.release(sys.argv[1], sink, column="x", mechanism=bit, ledger=sys.argv[3], budget="ldp=1.5")
    except dv.DivulgeError as error:
        print(error, flush=True)
        code = 2
sys.exit(code)
"""


def _started(source: Path, sink: Path, ledger: Path, *more: str) -> subprocess.Popen[str]:
    program = copies.script(SCRIPT, source, sink, ledger, *more)
    process = copies.started(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5] if THOROUGH else [0.3])
def test_killed_at_any_moment(delay: float, tmp_path: Path) -> None:
    source, sink, book = _source(tmp_path), tmp_path / "out.parquet", tmp_path / "ledger.sqlite"
    before = source.read_bytes()
    process = _started(source, sink, book)
    time.sleep(delay)
    process.kill()
    process.communicate()
    assert source.read_bytes() == before
    if sink.exists():
        assert pq.read_table(sink).num_rows == ROWS
        assert dv.Receipt.read(tmp_path / "out.receipt.json").rows == ROWS
    entries = dv.Ledger(book).entries()
    assert len(entries) <= 1
    assert not sink.exists() or len(entries) == 1
    if entries:
        with pytest.raises(dv.DivulgeError, match="budget"):
            dv.release(source, tmp_path / "again.parquet", column="x", mechanism=BIT, ledger=book, budget="ldp=1.5")
    else:
        dv.release(source, tmp_path / "again.parquet", column="x", mechanism=BIT, ledger=book, budget="ldp=1.5")


def test_interrupts_clean_up(tmp_path: Path) -> None:
    source, sink, book = _source(tmp_path), tmp_path / "out.parquet", tmp_path / "ledger.sqlite"
    process = _started(source, sink, book)
    key = tmp_path / "ledger.sqlite.key"  # it is made in a folder of its own first
    while process.poll() is None and not (key.exists() and any(".partial" in name for name in os.listdir(tmp_path))):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert sorted(os.listdir(tmp_path)) == ["ledger.sqlite", "ledger.sqlite.key", "source.parquet"]
    assert dv.Ledger(book).entries() == []


def _interrupted(line: int, work: Callable[[], object], watched: tuple[str, ...]) -> int:
    """Do the work with an interrupt at a line of what is watched; return how many lines there were until then."""
    lines = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(watched):
            return None
        if event == "line":
            lines += 1
            if lines == line:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.settrace(trace)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            work()
    finally:
        sys.settrace(None)
        signal.signal(signal.SIGINT, before)
    return lines


def test_an_interrupt_at_any_line_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Also between the making of a folder and the step that takes it away, and while it is taken away."""
    home, first = Path(dv.__file__).parent, tmp_path / "first"
    watched = tuple(str(home / name) for name in ("children.py", "staging.py"))
    first.mkdir()
    (first / "source.csv").write_text("x\na\nb\n")
    _ = dv.Ledger(first / "ledger.sqlite").key
    before = sorted(os.listdir(first))

    def released(line: int) -> int:
        folder = shutil.copytree(first, tmp_path / str(line))
        book, sink = folder / "ledger.sqlite", folder / "out.csv"
        ended = _interrupted(
            line,
            lambda: dv.release(folder / "source.csv", sink, column="x", mechanism=BIT, ledger=book, budget="ldp=1.5"),
            watched,
        )
        children.end_folders()
        names = sorted(os.listdir(folder))
        is_whole = sink.exists() and (folder / "out.receipt.json").exists()
        assert len(dv.Ledger(book).entries()) == is_whole, (line, names)
        assert is_whole or names == before, (line, names)
        assert not any(".partial" in name for name in names), (line, names)
        return ended

    lines = released(0)
    assert lines > 300
    for line in range(1, lines) if THOROUGH else range(lines // 3, lines, lines // 6):
        released(line)


def test_a_full_disk(tmp_path: Path) -> None:
    source, book = _source(tmp_path, 100_000), tmp_path / "ledger.sqlite"
    dv.Ledger(book)
    sinks = [str(tmp_path / f"out{suffix}") for suffix in (".parquet", ".csv", ".arrow", "")]
    process = _started(source, Path("|".join(sinks)), book, "300000")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 2, err
    assert out.count("cannot be written") == out.count("Nothing was published") == len(sinks)
    assert sorted(os.listdir(tmp_path)) == ["ledger.sqlite", "ledger.sqlite.key", "source.parquet"]
    assert dv.Ledger(book).entries() == []


def _cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def test_unreadable_and_truncated_input(tmp_path: Path) -> None:
    source, sink = _source(tmp_path, 100_000), tmp_path / "out.parquet"
    whole = source.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 3 : len(whole) // 3 + 2000] = bytes(2000)
    for content in (whole[: len(whole) // 2], b"", b"PAR1", bytes(damaged)):
        source.write_bytes(content)
        with pytest.raises(dv.InputFileError, match=r"source\.parquet: (cannot be read|is empty)"):
            dv.release(source, sink, column="x", mechanism=BIT)
        assert os.listdir(tmp_path) == ["source.parquet"]
    with pytest.raises(dv.InputFileError, match="there is no such file"):
        dv.release(tmp_path / "missing.parquet", sink, column="x", mechanism=BIT)
    arrow = tmp_path / "source.arrow"
    with pa.ipc.new_file(arrow, pa.schema([("x", pa.string())])) as writer:
        writer.write_batch(pa.record_batch({"x": ["a", "b"] * 1000}))
    _cut(arrow, 0.7)
    with pytest.raises(dv.InputFileError, match=r"source\.arrow: cannot be read"):
        dv.release(arrow, sink, column="x", mechanism=BIT)


def test_a_ragged_csv_file_is_refused_without_its_cells(tmp_path: Path) -> None:
    source = tmp_path / "source.csv"
    source.write_text("x,n\n" + "a,1\n" * 100 + "private-value\n")
    with pytest.raises(dv.InputFileError, match="line 102 must have 2 cells") as caught:
        dv.release(source, tmp_path / "out.csv", column="x", mechanism=BIT)
    assert "private" not in str(caught.value)
    source.write_bytes("x,n\né,2\n".encode() + b"a,1\n" * 100 + b"\xff\xfe,2\n")
    with pytest.raises(dv.InputFileError, match="line 103 has the byte 0xff"):
        dv.release(source, tmp_path / "out.csv", column="x", mechanism=BIT)
    assert os.listdir(tmp_path) == ["source.csv"]


def test_a_column_that_changes_its_type_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    pq.write_table(pa.table({"x": ["a", "b"], "n": [1, 2]}), folder / "0.parquet")
    pq.write_table(pa.table({"x": ["a", "b"], "n": ["1", "2"]}), folder / "1.parquet")
    with pytest.raises(dv.InputFileError, match=r"column 'n' is int64 in 0\.parquet and string in 1\.parquet"):
        dv.release(folder, tmp_path / "out.parquet", column="x", mechanism=BIT)
    stream = tmp_path / "source.csv"
    stream.write_text("x,n\n" + "a,1\n" * 70_000 + "b,not a number\n")
    receipt = dv.release(stream, tmp_path / "out.csv", column="x", mechanism=BIT)
    assert receipt.rows == 70_001


@pytest.mark.thin
@pytest.mark.parametrize("last", ["c", "A", "a ", ""])
def test_an_unknown_value_in_the_last_row(last: str, tmp_path: Path) -> None:
    source = _source(tmp_path, 140_000, last or "\u200b")
    with pytest.raises(dv.DivulgeError) as caught:
        dv.release(source, tmp_path / "out.parquet", column="x", mechanism=BIT)
    assert "column 'x' is in 1 row something else" in str(caught.value)
    assert os.listdir(tmp_path) == ["source.parquet"]


def test_a_name_taken_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    def take(done: int, of: Any) -> None:
        (tmp_path / "out.parquet").write_text("someone else's")

    with pytest.raises(dv.DivulgeError, match="there is one already"):
        dv.release(pa.table({"x": ["a"]}), tmp_path / "out.parquet", column="x", mechanism=BIT, progress=take)
    assert (tmp_path / "out.parquet").read_text() == "someone else's"
    assert os.listdir(tmp_path) == ["out.parquet"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_force_does_not_replace_a_folder_of_other_things(kind: str, tmp_path: Path) -> None:
    """A released folder is replaced; one that holds anything else stays, down to its last file."""
    table, other = pa.table({"x": ["a", "b"]}), tmp_path / "other"
    if kind == "folder":
        (other / "part").mkdir(parents=True)
    else:
        other.mkdir()
        (other / "precious.txt").write_text("keep me")
    with pytest.raises(dv.DivulgeError, match="other: is a folder that holds more than a table"):
        dv.release(table, other, column="x", mechanism=BIT, force=True)
    assert len(os.listdir(other)) == 1
    assert os.listdir(tmp_path) == ["other"]
    for _ in range(2):
        dv.release(table, tmp_path / "out", column="x", mechanism=BIT, force=True)
    assert pq.read_table(tmp_path / "out").num_rows == 2


ANSWERS = pa.table({"x": ["a", "b"] * 20})
OTHER = dv.Channel([["5/8", "3/8"], ["3/8", "5/8"]], ["a", "b"], ["a", "b"])


def _ended_at(number: int, end: Any, release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Release, and end in some way before the file of this number gets its name."""
    count, publish = iter(range(100)), sinks.publish

    def publishing(*arguments: Any) -> None:
        if next(count) == number:
            end()
        publish(*arguments)

    monkeypatch.setattr(sinks, "publish", publishing)
    release()


ENDS = [(number, sink) for number in range(8) for sink in ("out.csv", "out")]
"""Where a release that replaces another ends, of a file and of a folder; by turns, or both in `make search`."""


def _by_turns(ends: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return ends if THOROUGH else ends[::4] + ends[3::4]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two releases, a file and a folder, and their papers."""
    folder = tmp_path_factory.mktemp("before")
    for sink in ("out.csv", "out"):
        (folder / sink).mkdir()
        dv.release(ANSWERS, folder / sink / sink, column="x", mechanism=BIT)
    return folder


@pytest.mark.thin
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a copy of this process")
@pytest.mark.parametrize(("number", "sink"), _by_turns(ENDS))
def test_no_table_stands_beside_papers_of_another(
    number: int, sink: str, before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before any of its seven files, a release that replaces another leaves the new one whole, or no table."""
    monkeypatch.chdir(shutil.copytree(before / sink, tmp_path / "there"))
    child = os.fork()
    if not child:
        try:
            again = partial(dv.release, ANSWERS, sink, column="x", mechanism=OTHER, force=True)
            _ended_at(number, partial(os._exit, 9), again, monkeypatch)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (9 if number < 7 else 0)
    assert Path(sink).exists() == (number == 7)
    if number == 7:
        receipt = dv.Receipt.read("out.receipt.json")
        assert receipt.describes(sink)
        assert receipt.guarantees["ldp"] < 0.52
        assert not [name for name in os.listdir() if "partial" in name]


@pytest.mark.parametrize(("number", "sink"), _by_turns(ENDS[:-2]))
def test_what_could_not_be_replaced_is_there_again(
    number: int, sink: str, before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(shutil.copytree(before / sink, tmp_path / "there"))
    names, receipt = sorted(os.listdir()), dv.Receipt.read("out.receipt.json")
    again = partial(dv.release, ANSWERS, sink, column="x", mechanism=OTHER, force=True)
    with pytest.raises(dv.DivulgeError, match=r"No space left on device\. Nothing was published"):
        _ended_at(number, fail, again, monkeypatch)
    assert sorted(os.listdir()) == names
    assert dv.Receipt.read("out.receipt.json") == receipt
    assert receipt.describes(sink)


@pytest.mark.parametrize("sink", ["out.parquet", "out"])
def test_a_disk_that_does_not_keep_the_table_is_told_before_anything_is_published(
    sink: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.chdir(tmp_path)
    assert dv.Ledger("kept.db").key
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(dv.DivulgeError, match=r"out.*: cannot be written: Input/output error\. Nothing was published"):
        dv.release(pa.table({"x": ["a", "b"] * 20}), sink, column="x", mechanism=BIT, ledger="kept.db", source_name="t")
    assert sorted(os.listdir()) == ["kept.db", "kept.db.key"]
    assert not dv.Ledger("kept.db").entries()


def test_papers_without_a_successor_go_with_the_table_that_they_are_about(tmp_path: Path) -> None:
    table, sink = pa.table({"x": ["a", "b"] * 20}), tmp_path / "out.csv"
    dv.release(table, sink, column="x", mechanism=BIT)
    assert (tmp_path / "out.codebook.md").exists()
    dv.publish(table, dv.Count("x"), sink, guarantee="dp=1", values={"x": ["a", "b"]}, force=True)
    for name in ("out.codebook.md", "out.codebook.json"):  # those of the statistics stand in their place
        assert "randomized" not in (tmp_path / name).read_text()
        assert "count" in (tmp_path / name).read_text()


def test_names_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    source = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.parquet"))
    pq.write_table(pa.table({"x": ["a"]}), tmp_path / "plain.parquet")
    os.rename(tmp_path / "plain.parquet", source)
    with pytest.raises(dv.InputFileError, match=r"caf\\xe9\.parquet: must have a path in UTF-8"):
        dv.release(source, column="x", mechanism=BIT)
    with pytest.raises(dv.InputFileError, match="UTF-8"):
        dv.release(pa.table({"x": ["a"]}), source.with_suffix(".csv"), column="x", mechanism=BIT)
    with pytest.raises(dv.DivulgeError, match="another file than sink"):
        dv.release(pa.table({"x": ["a"]}), tmp_path / "o.csv", column="x", mechanism=BIT, receipt=tmp_path / "o.csv")
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.long
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Peak memory of a release of eight times the rows, in processes of their own, differs by less than 200 MB.

    The rows beyond take 290 MB.
    """
    peak = "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    script = SCRIPT.replace("sys.exit(code)", peak)
    peaks: list[int] = []
    for rows in (750_000, 6_000_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        answers = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows, dtype=np.int32) % 2), ["a", "b"])
        numbers = {f"n{i}": pa.array(np.zeros(rows)) for i in range(6)}
        pq.write_table(pa.table({"x": answers, **numbers}), folder / "wide.parquet")
        paths = [str(folder / "wide.parquet"), str(folder / "out.parquet"), str(folder / "ledger")]
        done = subprocess.run([sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout.split()[-2]) >> 10)
    assert peaks[1] < peaks[0] + 200  # how far reading runs ahead of writing depends on the machine
    assert peaks[1] < 600


@pytest.mark.parametrize(
    ("first", "name", "more", "said"),
    [("", "out.csv", {}, "an empty text"), ("", "out.tsv", {}, "an empty text"), ("", "out.xlsx", {}, "an empty text"),
     (None, "out.xlsx", {"null_as": "?"}, "missing values"),
     ("=cmd()", "out.csv", {"escape_formulas": True}, "a formula"), (None, "out.csv", {"null_as": "x"}, "one of them")],
)  # fmt: skip
def test_what_a_file_would_not_give_back_is_refused(
    first: str | None, name: str, more: dict[str, Any], said: str, tmp_path: Path
) -> None:
    table = pa.table({"c": [first, "x", "y"] * 10})
    with pytest.raises(dv.DivulgeError, match=said):
        dv.release(table, tmp_path / name, column="c", guarantee="ldp=1", **more)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("first", "name", "more"),
    [("", "out.parquet", {}), (None, "out.csv", {"null_as": ""}), ("-1", "out.csv", {"escape_formulas": True}),
     ("=cmd()", "out.xlsx", {"escape_formulas": True})],
)  # fmt: skip
def test_what_a_file_gives_back_is_estimated(
    first: str | None, name: str, more: dict[str, Any], tmp_path: Path
) -> None:
    """All rows are found again, under the names that the receipt has."""
    table = pa.table({"c": [first, "x", "y"] * 200})
    dv.release(table, tmp_path / name, column="c", guarantee="ldp=8", **more)
    found = dv.estimate_frequencies(tmp_path / name, tmp_path / "out.receipt.json")
    assert found.rows == 600
    assert np.abs(found.frequency - 1 / 3).max() < 0.1


@pytest.mark.parametrize("said", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
def test_what_the_system_says_of_a_workbook_is_told_as_of_any_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: OSError
) -> None:
    """The library wraps it in an error of its own, which nobody foresaw."""
    writer = sinks.writer_for(tmp_path / "out.xlsx")(tmp_path / "out.xlsx", pa.schema([("x", pa.string())]))
    with monkeypatch.context() as patch:
        patch.setattr("xlsxwriter.Workbook._store_workbook", Mock(side_effect=said))
        with pytest.raises(type(said), match=str(said.strerror)):
            writer.close()
    writer.close()
