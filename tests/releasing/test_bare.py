"""What goes out holds what its rows hold, in every format: no value of a row that was taken out, wherever it lay."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import python_calamine
from hypothesis import given, settings
from hypothesis import strategies as st
from support import THOROUGH, few

import divulge as dv
from divulge.files.settings import using
from divulge.releasing.output.bare import bare

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
GONE = [f"GONE-{i:04}" for i in range(2000)]
"""Values of rows that were taken out."""

KEPT = ["kept-0", "kept-1", "kept-2"]
NUMBER = 0x5EC4E7C0FFEE


def hidden_under_nulls(values: list[str], seen: int) -> pa.Array:
    """Return text of which only the first `seen` count; the bytes of the others lie under nulls."""
    whole = pa.array(values)
    valid = pa.array([i < seen for i in range(len(values))])
    return pa.Array.from_buffers(pa.string(), len(values), [valid.buffers()[1], *whole.buffers()[1:]])


def filtered() -> pa.Table:
    """Return three rows of a table of many: dictionaries, slices, nulls and records that still hold the others."""
    names = KEPT + GONE
    numbers = pa.array([1, 2, 3] + [NUMBER] * len(GONE))
    columns = {
        "x": pa.array(["a", "b", "a"] + ["GONE-x"] * len(GONE)).dictionary_encode(),
        "coded": pa.array(names).dictionary_encode(),
        "text": pa.array(names),
        "number": numbers,
        "list": pa.array([[name] for name in names]),
        "record": pa.StructArray.from_arrays([pa.array(names).dictionary_encode()], ["name"]),
    }
    table = pa.table(columns).slice(0, 3)
    part = numbers.slice(1, 3).buffers()[1]
    under = pa.Array.from_buffers(pa.int64(), 3, [pa.array([True, False, False]).buffers()[1], part], offset=1)
    return table.append_column("null", hidden_under_nulls(["kept-0", *GONE[:2]], 1)).append_column("under", under)


def _parquet(path: Path, table: pa.Table) -> Any:
    pq.write_table(table, path)
    return path


def _arrow(path: Path, table: pa.Table) -> Any:
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)
    return path


SOURCES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "pyarrow": lambda path, table: table,
    "dataset": lambda path, table: __import__("pyarrow.dataset").dataset.dataset(table),
    "pandas": lambda path, table: table.to_pandas().assign(
        coded=pd.Categorical(KEPT, categories=KEPT + GONE),
        x=pd.Categorical(["a", "b", "a"], categories=["a", "b", "GONE-x"]),
    ),
    "polars": lambda path, table: pl.from_arrow(table.select(["x", "coded", "text", "number"])),
    "parquet": lambda path, table: _parquet(path / "s.parquet", table),
    "arrow": lambda path, table: _arrow(path / "s.arrow", table),
}


WAYS = [
    (source, suffix)
    for i, source in enumerate(SOURCES)
    for j, suffix in enumerate((".parquet", ".csv", ".arrow", ".xlsx", ""))
    if THOROUGH or i % 5 == j
]
"""From where to where: every source and every sink; in `make search` every pair."""


@pytest.mark.parametrize(("source", "suffix"), WAYS)
def test_no_value_goes_out_that_no_row_has(source: str, suffix: str, tmp_path: Path) -> None:
    table = filtered()
    if suffix in (".csv", ".xlsx"):
        table = table.drop_columns(["list", "record"])
    given = SOURCES[source](tmp_path, table)
    out = tmp_path / f"out{suffix}"
    dv.release(given, out, column="x", mechanism=COIN)
    for path in [out, *out.rglob("*")] if out.is_dir() else [out]:
        content = path.read_bytes() if path.is_file() else b""
        assert b"GONE" not in content
        assert NUMBER.to_bytes(8, "little") not in content
    if suffix == ".arrow":
        with pa.ipc.open_file(out) as found:
            assert found.read_all()["text"].to_pylist() == KEPT
    if suffix == ".xlsx":
        rows = python_calamine.CalamineWorkbook.from_path(str(out)).get_sheet_by_index(0).to_python()
        assert [row[rows[0].index("text")] for row in rows[1:]] == KEPT


@settings(max_examples=few(100), deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=1, max_size=12),
    cut=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    kind=st.sampled_from([pa.int8(), pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.bool_(),
                          pa.decimal128(22, 2), pa.timestamp("us", "UTC"), pa.date32(),
                          pa.duration("us"),
                          pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64())]),
)  # fmt: skip
def test_a_bare_array_has_the_same_values(values: list[int | None], cut: tuple[int, int], kind: pa.DataType) -> None:
    text = pa.array([None if v is None else str(v) for v in values])
    whole = pa.array(values, pa.int64())
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_date(plain):
        array = whole.cast(pa.int32()).cast(plain)
    else:
        array = (text if plain in (pa.string(), pa.large_string(), pa.binary()) else whole).cast(plain)
    array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    part = array.slice(*cut)
    found = bare(part)
    found.validate(full=True)
    assert found.to_pylist() == part.to_pylist()
    if pa.types.is_dictionary(found.type):
        assert set(found.dictionary.to_pylist()) == set(part.to_pylist()) - {None}


def test_what_has_no_order_or_no_zero_is_bare_too() -> None:
    """Arrow has no least half float, duration or interval: a missing one in a column of them ended a release."""
    for kind, values in ((pa.float16(), [0.5, None]), (pa.duration("ns"), [7, None]), (pa.month_day_nano_interval(), [
        (1, 2, 3), None,
    ])):  # fmt: skip
        array = pa.array(values, kind)
        assert bare(array).equals(array)


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formulas_are_told_or_escaped(suffix: str, escape: bool, tmp_path: Path) -> None:
    cells = ["=cmd|' /C calc'!A0", "@SUM(1)", "+cmd", "-2+3", "-5", "+1.5", "-1,5", "\tx", "plain", None]
    table = pa.table({"x": ["a"] * len(cells), "note": cells})
    told: list[str] = []
    out = tmp_path / f"out{suffix}"
    with using(tell=told.append, escape_formulas=escape):
        dv.release(table, out, column="x", mechanism=COIN)
    found = dv.open_table(out, delimiter="\t" if suffix == ".tsv" else ",")
    notes = [row["note"] for batch in found.batches() for row in batch.to_pylist()]
    formulas = [0, 1, 2, 3, 7]
    assert notes == [f"'{c}" if escape and i in formulas else c for i, c in enumerate(cells)]
    done = "were written behind an apostrophe" if escape else "went out as they are: --escape-formulas"
    assert told == [t for t in told if f"5 cells of column 'note' are formulas for a spreadsheet; they {done}" in t]
    assert len(told) == 1


@pytest.mark.parametrize("escape", [False, True])
def test_names_of_columns_are_formulas_too(escape: bool, tmp_path: Path) -> None:
    names = ["=cmd()", "\uff1d1+1", "\n=x", "-1", "plain"]
    table = pa.table({"x": ["a", "b"], **{name: ["k", "\uff0bk"] for name in names}})
    told: list[str] = []
    with using(tell=told.append, escape_formulas=escape):
        dv.release(table, tmp_path / "out.csv", column="x", mechanism=COIN)
        dv.publish(table, dv.Count("=cmd()"), tmp_path / "p.csv", guarantee="dp=1", values_from_data=True)
        with pytest.raises(dv.DivulgeError, match="released_as") if escape else nullcontext():
            odd = table.rename_columns(["=x", *table.column_names[1:]])
            dv.release(odd, tmp_path / "odd.csv", column="=x", mechanism=COIN)
    first = (tmp_path / "out.csv").read_text(encoding="utf-8")
    mark = "'" if escape else ""
    head = '"x_perturbed","M=cmd()","M\uff1d1+1","M\n=x","-1","plain"\n'
    assert first.startswith(head.replace("M", mark))
    assert f'"{mark}\uff0bk"' in first
    assert f'"{mark}=cmd()"' in (tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()[0]
    assert any(text.startswith("3 names of columns are formulas") for text in told)


def test_text_in_a_workbook_is_text(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", "b"], "note": ["=1+1", "http://x"], "big": [2**60, 1], "odd": [np.nan, np.inf]})
    dv.release(table, tmp_path / "out.xlsx", column="x", mechanism=COIN)
    rows = python_calamine.CalamineWorkbook.from_path(str(tmp_path / "out.xlsx")).get_sheet_by_index(0).to_python()
    assert [row[1:3] for row in rows[1:]] == [["=1+1", str(2**60)], ["http://x", 1.0]]
    with pytest.raises(dv.DivulgeError, match="room for 32,767 characters; one has 40,000"):
        dv.release(pa.table({"x": ["a"], "long": ["y" * 40_000]}), tmp_path / "o.xlsx", column="x", mechanism=COIN)


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    os.symlink("/dev/full", tmp_path / "full.csv")
    for name in ("pipe.csv", "full.csv"):
        with pytest.raises(dv.DivulgeError, match="is a device or pipe, and is not replaced"):
            dv.release(pa.table({"x": ["a"]}), tmp_path / name, column="x", mechanism=COIN, force=True)
        assert not (tmp_path / name).is_file()
    for path in ("/", ""):
        with pytest.raises(dv.DivulgeError, match="must be the path of a file to write"):
            dv.release(pa.table({"x": ["a"]}), path, column="x", mechanism=COIN, force=True)
