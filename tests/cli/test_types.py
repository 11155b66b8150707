"""Columns of every type of Arrow and Parquet: a value goes by the name that a person would write, or is refused."""

import csv
import json
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import THOROUGH
from typer.testing import CliRunner

from divulge.cli.main import app
from divulge.files.tables.values import values_of
from divulge.model.labels import text_of


def raw(values: list[int], kind: pa.DataType) -> pa.Array:
    """Return an array of moments from what it stores."""
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def extended(kind: Any, values: list[Any]) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


DAYS = [date(2020, 1, 1), date(2020, 1, 2)]
HOURS = ["1970-01-01 00:00:00", "1970-01-01 01:00:00"]
UTC = [f"{hour}+00:00" for hour in HOURS]
BERLIN = ["1970-01-01 01:00:00+01:00", "1970-01-01 02:00:00+01:00"]
PRICES = [Decimal("1.50"), Decimal("2.00")]

# type -> (two values, their names; where they differ those in a released CSV)
NAMED: dict[str, tuple[pa.Array, list[str]] | tuple[pa.Array, list[str], list[str]]] = {
    "text": (pa.array(["a", "b"]), ["a", "b"]),
    "large text": (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
    "text view": (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
    "truth": (pa.array([False, True]), ["False", "True"], ["false", "true"]),
    "int8": (pa.array([-1, 2], pa.int8()), ["-1", "2"]),
    "uint64": (pa.array([0, 2**64 - 1], pa.uint64()), ["0", "18446744073709551615"]),
    "float16": (pa.array([0.1, 2.5], pa.float16()), ["0.1", "2.5"]),
    "float32": (pa.array([0.1, 1e30], pa.float32()), ["0.1", "1e+30"]),
    "float64": (pa.array([0.1, 1e300]), ["0.1", "1e+300"]),
    "decimal32": (pa.array(PRICES, pa.decimal32(5, 2)), ["1.5", "2"], ["1.50", "2.00"]),
    "decimal64": (pa.array(PRICES, pa.decimal64(9, 2)), ["1.5", "2"], ["1.50", "2.00"]),
    "decimal128": (pa.array(PRICES, pa.decimal128(5, 2)), ["1.5", "2"], ["1.50", "2.00"]),
    "decimal256": (pa.array(PRICES, pa.decimal256(50, 2)), ["1.5", "2"], ["1.50", "2.00"]),
    "date32": (pa.array(DAYS), ["2020-01-01", "2020-01-02"]),
    "date64": (pa.array(DAYS, pa.date64()), ["2020-01-01", "2020-01-02"]),
    "time32": (pa.array([time(8), time(9, 30)], pa.time32("s")), ["08:00:00", "09:30:00"]),
    "time64": (raw([1, 2 * 10**6], pa.time64("us")), ["00:00:00.000001", "00:00:02"]),
    "time64 of nanoseconds": (raw([1, 2 * 10**9], pa.time64("ns")), ["00:00:00.000000001", "00:00:02"]),
    "timestamp": (raw([0, 3_600_000], pa.timestamp("ms")), HOURS, [f"{hour}.000" for hour in HOURS]),
    "timestamp of nanoseconds": (
        raw([1, 86_400 * 10**9], pa.timestamp("ns")),
        ["1970-01-01 00:00:00.000000001", "1970-01-02 00:00:00"],
        ["1970-01-01 00:00:00.000000001", "1970-01-02 00:00:00.000000000"],
    ),
    "timestamp in UTC": (raw([0, 3_600_000], pa.timestamp("ms", "UTC")), UTC, [f"{hour}.000Z" for hour in HOURS]),
    "timestamp in a zone": (
        raw([0, 3_600_000], pa.timestamp("ms", "Europe/Berlin")), UTC,
        [hour.replace("+01:00", ".000+0100") for hour in BERLIN],
    ),
    "duration": (raw([0, 90_061], pa.duration("s")), ["0:00:00", "1 day, 1:01:01"]),
    "duration of nanoseconds": (raw([1, 10**9], pa.duration("ns")), ["0:00:00.000000001", "0:00:01"]),
    "duration below zero": (raw([-5, 10**6], pa.duration("ms")), ["-0:00:00.005000", "0:16:40"]),
    "dictionary of text": (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
    "dictionary of whole numbers": (pa.array([1, 2]).dictionary_encode(), ["1", "2"]),
    "dictionary of short numbers": (pa.array([0.1, 2.5], pa.float32()).dictionary_encode(), ["0.1", "2.5"]),
    "dictionary of durations": (raw([0, -5], pa.duration("s")).dictionary_encode(), ["-0:00:05", "0:00:00"]),
    "dictionary of moments": (
        pa.array([datetime(2020, 1, 1), datetime(2020, 1, 2, 3)]).cast(pa.timestamp("s")).dictionary_encode(),
        ["2020-01-01 00:00:00", "2020-01-02 03:00:00"],
    ),
}  # fmt: skip

REFUSED: dict[str, pa.Array] = {
    "bytes": pa.array([b"a", b"b"]),
    "large bytes": pa.array([b"a", b"b"], pa.large_binary()),
    "bytes view": pa.array([b"a", b"b"], pa.binary_view()),
    "bytes of one length": pa.array([b"a", b"b"], pa.binary(1)),
    "dictionary of bytes": pa.array([b"a", b"b"]).dictionary_encode(),
    "decimal in hundreds": pa.array([Decimal(1500), Decimal(2000)], pa.decimal128(5, -2)),
    "months, days and nanoseconds": pa.array([pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([0, 0, 0])]),
    "list": pa.array([["a"], ["b"]]),
    "large list": pa.array([["a"], ["b"]], pa.large_list(pa.string())),
    "list of one length": pa.array([["a"], ["b"]], pa.list_(pa.string(), 1)),
    "list view": pa.array([["a"], ["b"]], pa.list_view(pa.string())),
    "record": pa.array([{"k": "a"}, {"k": "b"}]),
    "map": pa.array([[("k", "a")], []], pa.map_(pa.string(), pa.string())),
    "union": pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array(["a"]), pa.array([1])]
    ),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"])),
    "uuid": extended(pa.uuid(), [b"a" * 16, b"b" * 16]),
    "json": extended(pa.json_(), ['"a"', "{}"]),
    "truth of eight bits": extended(pa.bool8(), [0, 1]),
}

LINES: dict[str, tuple[str, ...]] = {
    "release": ("--column", "x", "-o", "o.csv", "--guarantee", "ldp=1", "--only-column", "--force", "--no-ledger"),
    "publish": ("--guarantee", "dp=9", "--count", "x", "--values-from-data", "-o", "p.csv", "--force", "--no-ledger"),
    "publish, unlisted": ("--guarantee", "adp=9:0.2", "--count", "x", "-o", "q.csv", "--force", "--no-ledger"),
    "measure": ("--secret", "x", "--released", "y", "--json"),
    "measure, released": ("--secret", "y", "--released", "x", "--json"),
    "audit": ("--secret", "x", "--released", "y", "--claim", "ldp=9"),
    "report": ("--secret", "x", "--released", "y"),
    "design": ("--guarantee", "ldp=1"),
    "estimate": ("--mechanism", "m.json", "--column", "x", "--json"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(line: str, table: str) -> tuple[str, ...]:
    """Return a command line about a table."""
    name, more = line.partition(",")[0], LINES[line]
    first = {"design": ("--prior", f"{table}:x")}.get(name, (table,))
    return (name, *(("--data", table) if name in ("measure", "audit", "report") else first), *more)


def run(line: str, table: str) -> Any:
    return CliRunner().invoke(app, list(asked(line, table)))


def written(column: pa.Array, suffix: str) -> str:
    """Write a column beside another one, twenty times over, and return the name of the file."""
    table = pa.table({"x": pa.concat_arrays([column] * 20), "y": ["u", "v"] * 20})
    if suffix == ".parquet":
        pq.write_table(table, "t.parquet")
    else:
        with pa.ipc.new_file(f"t{suffix}", table.schema) as sink:
            sink.write_table(table)
    return f"t{suffix}"


def cells(path: str, column: str) -> set[str]:
    with open(path, newline="") as stream:
        return {row[column] for row in csv.DictReader(stream)}


def text(label: Any) -> str:
    return label if isinstance(label, str) else str(label)


@pytest.mark.parametrize("what", NAMED)
@pytest.mark.thin
def test_a_value_goes_by_the_name_that_a_person_would_write(what: str) -> None:
    column, published, *others = NAMED[what]
    released = others[0] if others else published
    Path("m.json").write_text(
        json.dumps({"secrets": published, "outcomes": published, "matrix": [["3/4", "1/4"], ["1/4", "3/4"]]})
    )
    # Parquet has no dictionaries but of text: they are stored as what they stand for, durations as numbers.
    turn = list(NAMED).index(what) % 2
    stored = ("measure", "release", "publish") if THOROUGH else ("measure", ("release", "publish")[turn])
    for suffix in (".arrow",) if what.startswith("dictionary") else (".arrow", ".parquet"):
        table = written(column, suffix)
        found = {line: run(line, table) for line in (LINES if suffix == ".arrow" else stored)}
        for line, done in found.items():
            assert done.exit_code == 0, (line, done.output)
        assert cells("o.csv", "x_perturbed") <= set(released)
        assert cells("p.csv", "x") == set(published)
        assert list(map(text, json.loads(found["measure"].stdout)["secrets"])) == published
        if suffix == ".arrow":
            assert cells("q.csv", "x") <= set(published)
            assert list(map(text, json.loads(found["measure, released"].stdout)["outcomes"])) == published


MORE: dict[str, pa.Array] = {
    "whole numbers with gaps": pa.array([1.0, 2.0]),
    "short numbers that are whole": pa.array([1.0, 2.0], pa.float32()),
    "zeros below and above": pa.array([-0.0, 3.0]),
    "beyond whole numbers": pa.array([1e20, 0.5]),
    "decimals, small": pa.array([Decimal("0.0000001"), Decimal("1.1000000")], pa.decimal128(9, 7)),
    "decimals, large": pa.array([Decimal(10**30), Decimal(0)], pa.decimal128(38, 0)),
    "odd texts": pa.array(["Größe, 1/2", 'say "x"; y']),
    "texts of numbers": pa.array(["1.0", "01"]),
    "a text that is empty, and a tab": pa.array(["", "a\tb"]),
}


DESIGNS = [".json", ".csv", ".npz", ".parquet", ".arrow"]


@pytest.mark.thin
@pytest.mark.parametrize(
    ("what", "suffix"),
    [(what, suffix) for i, what in enumerate([*NAMED, *MORE]) for j, suffix in enumerate(DESIGNS)
     if THOROUGH or i % len(DESIGNS) == j or what == "odd texts"],
)  # fmt: skip
def test_a_design_for_a_column_is_released_through_and_estimated(what: str, suffix: str) -> None:
    column = MORE[what] if what in MORE else NAMED[what][0]
    table = written(column, ".arrow")
    design, prior = f"d{suffix}", f"{table}:x"
    lines = {
        "design": ("--prior", prior, "--guarantee", "ldp=5", "--outcomes", "values", "-o", design),
        "check": (design, "--guarantee", "pml=3", "--prior", prior),
        "measure": (design, "--prior", prior),
        "attack": (design, "--prior", prior),
        "release": (table, "--column", "x", "--mechanism", design, "-o", "o.arrow", "--only-column", "--no-ledger"),
        "estimate": ("o.arrow", "--receipt", "o.receipt.json", "--json"),
    }
    if what == "texts with spaces around them" and suffix == ".csv":
        done = CliRunner().invoke(app, ["design", *lines["design"]])
        assert (done.exit_code, "lost in CSV" in done.stderr) == (2, True)
        return
    for name, line in lines.items():
        done = CliRunner().invoke(app, [name, *line])
        assert done.exit_code == 0, (line, done.output)
    texts = {text_of(value) for value in values_of(column)}
    assert {str(row["value"]) for row in json.loads(done.stdout)["values"]} == texts


@pytest.mark.thin
@pytest.mark.parametrize("what", REFUSED)
def test_a_value_without_a_name_is_refused_with_the_remedy(what: str) -> None:
    table = written(REFUSED[what], ".arrow")
    Path("m.json").write_text(json.dumps({"secrets": ["a", "b"], "outcomes": ["a", "b"], "matrix": [[1, 0], [0, 1]]}))
    for line in LINES:
        done = run(line, table)
        assert done.exit_code == 2, (line, done.output)
        assert "column 'x' must hold text, numbers, booleans, dates or times; it holds" in done.stderr, line
        assert "Hint: cast it to text first." in done.stderr


@pytest.mark.parametrize("column", [NAMED["duration"][0], NAMED["date32"][0], NAMED["timestamp"][0], NAMED["truth"][0]])
def test_what_is_no_number_has_no_sum(column: pa.Array) -> None:
    for suffix in (".arrow", ".parquet"):
        line = [
            "publish",
            written(column, suffix),
            "--guarantee",
            "dp=1",
            "--mean",
            "x:0:90",
            "-o",
            "o.csv",
            "--no-ledger",
        ]
        done = CliRunner().invoke(app, line)
        assert (done.exit_code, done.stderr) == (2, "error: `column` must hold numbers to be summed up; 'x' is of "
                                                    "another type.\n")  # fmt: skip
