"""Queries of polars and DuckDB, and streams of Arrow, as tables: carried out once, read as often as is asked."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import divulge as dv
from divulge.files.tables import frames

TABLE = pa.table({"answer": ["yes", "no", None, "no"] * 3, "age": list(range(12)), "kind": pa.array(["a", "b"] * 6)})


def queries(path: Path) -> dict[str, Any]:
    return {
        "polars": pl.scan_parquet(path).filter(pl.col("age") >= 0),
        "DuckDB": duckdb.sql(f"select * from '{path}' order by age"),
        "Arrow": pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(5)),
    }


@pytest.mark.parametrize("engine", ["polars", "DuckDB", "Arrow"])
def test_a_query_is_read_as_its_table(engine: str, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet")
    source = dv.open_table(queries(tmp_path / "people.parquet")[engine])
    assert (source.name, source.rows, source.schema.names) == ("query", 12, TABLE.schema.names)
    for columns in (["age"], ["kind", "answer"], TABLE.schema.names, ["age"]):
        read = pa.Table.from_batches(list(source.batches(columns)))
        assert read.column_names == columns
        assert read.to_pydict() == TABLE.select(columns).to_pydict()


@pytest.mark.parametrize("engine", ["polars", "DuckDB", "Arrow"])
def test_a_release_of_a_query_is_one_of_its_rows(engine: str, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet")
    unmoved = dv.mechanisms.identity(["yes", "no", "none"])
    asked: dict[str, Any] = {"column": "answer", "mechanism": unmoved, "null_as": "none", "keep": ["age"]}
    receipt = dv.release(queries(tmp_path / "people.parquet")[engine], ledger=None, **asked)
    rows = receipt.table.to_dict(as_series=False) if engine == "polars" else receipt.table.to_pydict()
    assert receipt.rows == 12
    assert rows["answer_perturbed"] == TABLE["answer"].to_pylist()
    assert rows["age"] == list(range(12))


ODD = pa.table({
    "key": pa.array(range(4)), "text": ["", " a", None, "ü"], "day": pa.array([0, None, -100_000, 1], pa.date32()),
    "coded": pa.array(["u", None, "v", "u"]).dictionary_encode(),
    "price": pa.array([Decimal("1.10"), None, Decimal("-0.01"), Decimal(0)], pa.decimal128(38, 2)),
    "clock": pa.array([1, None, 0, 86_399_999_999], pa.time64("us")),
    "then": pa.array([1, None, -(10**12), 5], pa.timestamp("us")), "half": pa.array([0.5, float("nan"), None, -0.0]),
    "large": pa.array([2**64 - 1, None, 0, 1], pa.uint64()), "yes": [True, None, False, True], "none": pa.nulls(4),
    "bytes": [b"", None, b"\xff", b"a"], "list": [[1], None, [], [None]],
    "nested": [{"a": ["x"]}, None, {"a": None}, None],
})  # fmt: skip


@pytest.mark.parametrize("rows", [4, 0])
@pytest.mark.parametrize("engine", ["polars", "DuckDB", "Arrow", "dataset"])
def test_odd_columns_of_a_query_are_those_in_memory(engine: str, rows: int) -> None:
    """Counted, or refused, alike; and what goes out beside a released column is what was there."""
    table = ODD.slice(0, rows)
    made: dict[str, Callable[[], Any]] = {
        "polars": lambda: pl.from_arrow(table).lazy(), "DuckDB": lambda: duckdb.from_arrow(table),  # pyright: ignore
        "Arrow": lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(3)),
        "dataset": lambda: dataset.dataset(table),
    }  # fmt: skip

    def said(given: Any, column: str) -> Any:
        try:
            return dv.contingency(given, column).to_dict()
        except dv.DivulgeError as error:
            return str(error).partition("it holds")[0].partition(": ")[2]

    for column in ODD.column_names:
        assert said(made[engine](), column) == said(table, column), column
    if rows:
        keys = dv.mechanisms.identity(range(4))
        done = dv.release(made[engine](), column="key", mechanism=keys, per_row=True, ledger=None)
        out = done.table.to_arrow() if engine == "polars" else done.table
        assert str(out.drop("key_perturbed").to_pylist()) == str(table.drop("key").to_pylist())


def test_what_a_query_cannot_give_on_is_refused() -> None:
    """DuckDB hands the largest number of 128 bits on as -1."""
    with pytest.raises(dv.DivulgeError, match="no numbers of 128 bits without a sign"):
        dv.open_table(duckdb.sql("select 340282366920938463463374607431768211455::uhugeint as x"))
    several = duckdb.sql("select union_value(a := 1) as x, 'k' as k")
    with pytest.raises(dv.DivulgeError, match="that can be written; one cannot"):
        dv.release(several, column="k", mechanism=dv.mechanisms.identity(["k", "l"]), per_row=True, ledger=None)


def test_a_query_is_carried_out_once() -> None:
    """Rows whose order changes with each run of a query would give people the answers of others."""
    runs: list[int] = []

    def run(frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(1)
        return frame

    lazy = pl.from_arrow(TABLE).lazy().map_batches(run)
    source = dv.open_table(lazy)
    for _ in range(3):
        assert sum(batch.num_rows for batch in source.batches(["age"])) == 12
    assert len(runs) == 1


def test_a_dataset_is_read_by_some_row_groups_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a whole file Arrow reads up to 1 GiB ahead of what is done with it; rows and their order are the same."""
    for year in (1, 2):
        (tmp_path / f"year={year}").mkdir()
        rows = pa.table({"x": list(range(100 * year, 100 * year + 95))})
        pq.write_table(rows, tmp_path / f"year={year}" / "a.parquet", row_group_size=10)
    pq.write_table(rows.slice(0, 0), tmp_path / "year=2" / "b.parquet")
    given = dataset.dataset(tmp_path, partitioning="hive")
    monkeypatch.setattr(frames, "MOST_ROWS", 25)
    pieces = list(frames._pieces(given.get_fragments()))
    assert [sum(group.num_rows for group in piece.row_groups) for piece in pieces] == [30, 30, 30, 5] * 2 + [0]
    for one in (given, given.filter(dataset.field("x") > 120), dataset.dataset(rows)):
        source = dv.open_table(one)
        assert pa.Table.from_batches(list(source.batches()), source.schema).equals(one.to_table())
        assert sum(batch.num_rows for batch in source.batches(["x"])) == one.count_rows()
    assert {batch.num_columns for batch in dv.open_table(given).batches(["year"])} == {1}


def test_a_query_that_fails_shows_no_cell() -> None:
    secret = "4711 Main Street"
    texts = pl.LazyFrame({"a": [secret]}).select(pl.col("a").cast(pl.Int64))
    relation = duckdb.sql(f"select cast(a as integer) as a from (select '{secret}' as a)")
    for query in (texts, relation):
        with pytest.raises(dv.DivulgeError, match="query: cannot be carried out") as caught:
            dv.open_table(query)
        assert "4711" not in str(caught.value)
    with pytest.raises(dv.DivulgeError, match="`table` must be a relation"):
        dv.open_table(duckdb.connect())


def test_rows_of_a_query_do_not_stay_in_memory() -> None:
    """While eight batches of 800 kB come in, and are read again, Arrow never holds more than three of them."""
    schema, size = pa.schema({"x": pa.float64()}), 100_000
    before, held = pa.total_allocated_bytes(), []

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(8):
            held.append(pa.total_allocated_bytes() - before)
            yield pa.record_batch({"x": pa.array(range(size), pa.float64())})

    source = dv.open_table(pa.RecordBatchReader.from_batches(schema, batches()))
    for batch in source.batches(["x"]):
        held.append(pa.total_allocated_bytes() - before)
        assert batch.num_rows == size
    assert len(held) == 16
    assert max(held) < 3 * 8 * size
