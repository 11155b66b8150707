"""A release into a table of a catalog: whole under its name or not there, in a format that the session has, once."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge import children
from divulge.cli.main import app
from divulge.releasing.output import catalog
from divulge.releasing.output.catalog import HIDDEN, Catalog, digest_of_rows
from divulge.releasing.session import TableName, table_of

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning")

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])

ASKED: dict[str, Any] = {"column": "x", "mechanism": COIN, "per_row": True, "ledger": None}


@pytest.fixture
def people(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A frame, and a working folder of its own; all tables that a test made are gone after it."""
    monkeypatch.chdir(tmp_path)
    yield spark.range(0, 400, 1, 2).selectExpr("id", "cast(id % 2 as string) as x")
    for row in spark.sql("show tables").collect():
        spark.sql(f"drop {'view' if row['isTemporary'] else 'table'} if exists `{row['tableName']}`")


def tables(spark: Any) -> set[str]:
    return {row["tableName"] for row in spark.sql("show tables").collect()}


def test_a_name_of_a_table_is_told_from_a_path() -> None:
    for text, parts in {
        "table:people": ("people",), "table:a.b.c": ("a", "b", "c"), "table:`a.b`.`c``d`": ("a.b", "c`d"),
    }.items():  # fmt: skip
        name = table_of(text)
        assert name is not None
        assert name.parts == parts
        assert str(name) == text
        assert table_of(str(name)) == name
    assert table_of("./table:people") is table_of(Path("table:people")) is table_of("people") is None
    for text in ("table:", "table:a b", "table:a..b", "table:a;drop", "table:`a", "table:.a"):
        with pytest.raises(dv.DivulgeError, match="have a name such as table:people"):
            table_of(text)


def test_a_release_goes_into_a_table_and_from_it(spark: Any, people: Any, tmp_path: Path) -> None:
    """The receipt says which, and in which format; its digest is one of the rows, in whatever order and files."""
    receipt = dv.release(people, "table:default.released", **ASKED)
    assert (receipt.output, receipt.table_format, receipt.rows) == ("table:default.released", "parquet", 400)
    assert tables(spark) == {"released"}
    assert Catalog(spark).facts(TableName(("released",)))["Provider"] == "parquet"
    assert sorted(row["id"] for row in receipt.table.collect()) == [*range(400)]
    papers = {path.name for path in tmp_path.iterdir()}
    assert papers == {f"released.{name}" for name in (
        "codebook.json", "codebook.md", "statement.html", "statement.txt", "receipt.json", "keeper.json",
    )}  # fmt: skip
    read = dv.Receipt.read(tmp_path / "released.receipt.json")
    assert read.to_dict() == receipt.to_dict()
    assert read.digest == digest_of_rows(spark.table("released").repartition(3, "x_perturbed"))
    assert read.describes("table:released")
    for name in ("released", "table:released"):
        found = dv.estimate_frequencies(name, read, engine="spark")
        assert (found.rows, found.doubts) == (400, ())
    spark.sql("insert overwrite released select id, '0' from range(400)")
    assert not read.describes("table:released")
    assert dv.estimate_frequencies("table:released", read, engine="spark").doubts != ()
    again = dv.release("table:released", tmp_path / "files", **ASKED | {"column": "x_perturbed"}, engine="spark")
    assert (again.rows, again.source) == (400, "table:released")


def test_what_cannot_be_done_is_refused_before_anything_is_drawn(
    spark: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("divulge.releasing.spark._write", None)  # which draws
    people.createOrReplaceTempView("seen")
    people.write.saveAsTable("held")
    stored = spark.table("held")
    for source, sink, asked, reason in (
        (people, "table:out", {"table_format": "delta"}, "no format of this name.* add io.delta:delta-spark"),
        (people, "table:out", {"table_format": "Iceberg"}, "no format of this name.* add org.apache.iceberg"),
        (people, "table:out", {"table_format": "abacus"}, "no format of this name.* add a jar that brings it"),
        (people, "table:out", {"table_format": "csv"}, "give back what was written"),
        (people, "table:held", {}, "table:held: there is one already"),
        (people, "table:seen", {}, "table:seen: there is one already"),
        (people, "table:seen", {"force": True}, "is a view, and is not replaced"),
        (stored, "table:held", {"force": True}, "be another table than source"),
        (stored.filter("id > 3"), "table:default.held", {"force": True}, "be another table than source"),
        (spark.read.parquet(*stored.inputFiles()), "table:held", {"force": True}, "be another table than source"),
        (people, "table:nowhere.out", {}, "cannot be written in this catalog"),
        (people, "table:out", {"receipt": tmp_path / "no" / "r.json"}, "in a folder that exists"),
        (people, "table:out", {"archive": tmp_path / "a.zip"}, "go with an output of files"),
        (people, tmp_path / "out", {"table_format": "orc"}, "`table_format` must go with an output table:NAME"),
        ({"x": ["0"]}, "table:out", {}, 'engine="spark"'),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.release(source, sink, **ASKED | asked)
    with pytest.raises(dv.DivulgeError, match='engine="spark"'):
        dv.publish({"x": ["0"]}, dv.Count("x"), "table:out", guarantee="dp=1", values={"x": ["0"]}, per_row=True)
    spark.conf.set("spark.divulge.started", "true")
    try:
        with pytest.raises(dv.DivulgeError, match="be in a catalog that outlives this call"):
            dv.release(people, "table:out", **ASKED)
    finally:
        spark.conf.unset("spark.divulge.started")
    assert tables(spark) == {"held", "seen"}
    assert spark.table("held").count() == 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_table_is_replaced_when_that_is_asked_for_and_else_stays(
    spark: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when its name cannot be given at the last moment: then the old table and its papers are as they were."""
    spark.range(7).write.saveAsTable("released")
    first = dv.release(people, "table:released", **ASKED, force=True)
    assert tables(spark) == {"released"}
    assert first.describes("table:released")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    rename = Catalog.rename

    def failing(self: Catalog, table: TableName, name: str) -> None:
        if name == "released" and table.name.endswith("_new"):
            raise dv.DivulgeError("the name cannot be given")
        rename(self, table, name)

    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "rename", failing)
        for sink in ("table:released", "table:other"):
            if sink.endswith("other"):
                patch.setattr(Catalog, "rename", lambda self, table, name: 1 / 0 if name == "other" else None)
            with pytest.raises((dv.DivulgeError, ZeroDivisionError)):
                dv.release(people, sink, **ASKED, force=True)
    assert tables(spark) == {"released"}
    assert first.describes("table:released")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    second = dv.release(people, "table:released", **ASKED, force=True, receipt=tmp_path / "r.json")
    assert second.digest != first.digest
    assert second.describes("table:released")
    assert str(second.papers["receipt.json"]) == str(tmp_path / "r.json")


@pytest.mark.long
def test_what_a_killed_release_left_is_taken_away_or_told(
    spark: Any, people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Catalog(spark)
    dead, elsewhere = children.mark().rpartition(":")[0] + ":0", "another machine:1:2"
    for name, properties in {
        "a_new": {catalog._OWNER: dead}, "b_new": {catalog._OWNER: elsewhere}, "c_new": {},
        "d_new": {catalog._OWNER: children.mark()},
        "e_old": {catalog._REPLACED: f'["{dead}", "taken"]'}, "f_old": {catalog._REPLACED: f'["{dead}", "kept"]'},
    }.items():  # fmt: skip
        spark.range(3).write.saveAsTable(HIDDEN + name)
        for key, value in properties.items():
            held.set_property(TableName((HIDDEN + name,)), key, value)
    spark.range(5).write.saveAsTable("kept")
    with pytest.warns(UserWarning, match=f"A table {HIDDEN}[bc]_new is under way, or was left") as told:
        dv.release(people, "table:out", **ASKED)
    assert len([one for one in told if "under way" in str(one.message)]) == 2
    assert tables(spark) == {"out", "kept", "taken", *(f"{HIDDEN}{name}_new" for name in "bcd")}
    assert (spark.table("kept").count(), spark.table("taken").count()) == (5, 3)
    assert held.property(TableName(("taken",)), catalog._REPLACED) is None


@pytest.mark.long
def test_a_failed_task_puts_every_row_into_a_table_once(spark: Any, people: Any, tmp_path: Path) -> None:
    """Every task fails at its first attempt, after it has drawn and written rows."""
    from pyspark import TaskContext

    marks = tmp_path / "marks"
    marks.mkdir()
    where = str(marks)

    def failing(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        for i, batch in enumerate(batches):
            yield batch
            if i == 0 and context.attemptNumber() == 0:
                open(os.path.join(where, f"{context.partitionId()}"), "w").close()
                raise RuntimeError("an injected failure")

    rows = 20_000
    frame = spark.range(0, rows, 1, 2).selectExpr("id", "cast(id % 2 as string) as x")
    receipt = dv.release(frame.mapInArrow(failing, "id long, x string"), "table:out", **ASKED)
    assert len(os.listdir(marks)) == 2
    released = spark.table("out").toArrow()
    assert Counter(released["id"].to_pylist()) == dict.fromkeys(range(rows), 1)
    assert receipt.rows == rows
    kept = np.mean(np.array(released["id"]) % 2 == np.array(released["x_perturbed"].cast(pa.int64())))
    assert abs(kept - 0.75) < 6 * (0.75 * 0.25 / rows) ** 0.5


@pytest.mark.long
def test_rows_that_a_format_doubles_or_loses_are_not_published(
    spark: Any, people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_COMMITS", ())  # as of a format that nobody knows
    assert dv.release(people, "table:once", **ASKED).rows == 400
    insert = spark.range(1).write.__class__.insertInto

    def twice(self: Any, name: str, *rest: Any) -> None:
        insert(self, name, *rest)
        insert(spark.range(1).selectExpr("id", "'0'").write, name)

    monkeypatch.setattr(spark.range(1).write.__class__, "insertInto", twice)
    with pytest.raises(dv.DivulgeError, match="another number of rows"):
        dv.release(people, "table:twice", **ASKED)
    assert tables(spark) == {"once"}


@pytest.mark.long
def test_the_digest_of_rows_tells_them_apart(spark: Any) -> None:
    """What one value, type, name, missing value or repetition changes; not the order, the parts or the zone."""

    def digest(query: str) -> str:
        return digest_of_rows(spark.sql(query))

    one, two = "(1, 'a', 0.5D, null)", "(2, 'b', double('nan'), 'x')"
    rows = f"select * from values {one}, {two} as t(n, s, d, m)"
    turned = f"select * from values {two}, {one} as t(n, s, d, m)"
    assert digest(rows) == digest(turned) == digest_of_rows(spark.sql(rows).repartition(3))
    changes = {
        "0.5D": "0.5000000000000001D", "null": "'null'", "'a'": "'a,b'", "t(n,": "t(k,", "double('nan')": "0D",
        ", null)": ", '')", "(1, ": "(3000000000, ",
    }  # fmt: skip
    others = [*(rows.replace(old, new) for old, new in changes.items()), f"{rows} union all {rows}", f"{rows} limit 1"]
    assert len({digest(one) for one in [rows, *others]}) == len(others) + 1
    parts = (
        "select timestamp'2020-01-01 00:00:00.|' as a, timestamp_ntz'2020-01-01 00:00:00.|' as b, x'0|' as c, array("
        "struct(|.5D, timestamp'2020-01-01 00:00:00.00000| UTC')) as d, map('k', |) as e, 1.|BD as f, |F as g"
    ).split("|")
    changed = ["".join(part + ("8" if i == j else "7") for j, part in enumerate(parts[:-1])) + parts[-1]
               for i in range(len(parts))]  # fmt: skip
    assert len({digest(query) for query in changed}) == len(parts)
    frame = spark.sql("select timestamp'2020-01-01 00:00:00 UTC' as t, array(timestamp'2020-01-01 00:00:00 UTC') as u")
    zone, before = spark.conf.get("spark.sql.session.timeZone"), digest_of_rows(frame)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert digest_of_rows(frame) == before
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_the_command_writes_a_table(spark: Any, people: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": ["0", "1"] * 30}), tmp_path / "t.parquet")
    dv.write_channel(COIN, tmp_path / "coin.json")
    line = ["release", "t.parquet", "--column", "x", "--mechanism", "coin.json", "--per-row", "--engine", "spark",
            "--no-ledger", "-o", "table:told", "--table-format", "orc"]  # fmt: skip
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "table:told" in done.output
    assert Catalog(spark).facts(TableName(("told",)))["Provider"] == "orc"
    line = ["estimate", "table:told", "--receipt", "told.receipt.json", "--engine", "spark", "--json"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    failed = CliRunner().invoke(app, ["release", "t.parquet", "--column", "x", "--mechanism", "coin.json", "--per-row",
                                      "--no-ledger", "-o", "table:local"])  # fmt: skip
    assert failed.exit_code != 0


def test_a_mark_tells_a_living_process_from_one_that_ended() -> None:
    import subprocess
    import sys

    said = subprocess.run(
        [sys.executable, "-c", "from divulge import children; print(children.mark())"], capture_output=True, text=True,
        check=True, env=os.environ | {"PYTHONPATH": str(Path(dv.__file__).parents[1])},
    ).stdout.strip()  # fmt: skip
    assert said.partition(":")[0] == children.mark().partition(":")[0]
    assert children.has_ended(said) is True
    assert children.has_ended(children.mark()) is False
    for other in ("", "x", "x:y:z", said.partition(":")[0], f"{'0' * 32}:1:2"):
        assert children.has_ended(other) is None
