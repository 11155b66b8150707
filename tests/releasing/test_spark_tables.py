"""A release into a table of a catalog: whole under its name or not there, in a format that the session has, once."""

import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from releasing.mounts import mounted
from typer.testing import CliRunner

import divulge as dv
from divulge import children, staging
from divulge.cli.main import app
from divulge.publishing.published import read_receipt
from divulge.releasing.output import catalog, hadoop
from divulge.releasing.output.catalog import HIDDEN, Catalog, digest_of_rows
from divulge.releasing.output.places import PAPERS
from divulge.releasing.session import Address, TableName, placed, table_of

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
        (people, tmp_path / "out", {"table_format": "orc"}, "`table_format` must go with an output table:NAME"),
        ({"x": ["0"]}, "table:held", {}, "table:held: there is one already"),
        (Path(placed(stored.inputFiles()[0])).parent, "table:held", {"force": True}, "be another table than source"),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.release(source, sink, **ASKED | asked)
    monkeypatch.setattr("divulge.publishing.publish.ready", None)  # which counts
    monkeypatch.setattr("divulge.tables.generalize._coarsened", None)
    counts, coarser = ({"guarantee": "dp=1", "per_row": True}, {"guarantees": "k=2", "per_row": True})
    for source, sink, asked, reason in (
        ({"x": ["0"]}, "table:held", {}, "table:held: there is one already"),
        ({"x": ["0"]}, "table:seen", {"force": True}, "is a view, and is not replaced"),
        ({"x": ["0"]}, "table:out", {"table_format": "delta"}, "no format of this name.* add io.delta:delta-spark"),
        ({"x": ["0"]}, tmp_path / "out.csv", {"table_format": "orc"}, "`table_format` must go with an output table:"),
        (stored, "table:held", {"force": True}, "be another table than source"),
        ("table:held", "table:default.held", {"force": True, "engine": "spark"}, "be another table than source"),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.publish(source, dv.Count("x"), sink, **counts | asked)
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.generalize(source, "x", sink=sink, **coarser | asked)
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
def test_statistics_and_coarser_tables_go_into_a_table(spark: Any, people: Any, tmp_path: Path) -> None:
    """Of a frame and of rows of this machine: what stands there is what was told, and the digest is one of its rows."""
    asked: dict[str, Any] = {"guarantee": "dp=1", "values": {"x": ["0", "1"]}, "per_row": True}
    done = dv.publish(people, dv.Count("x"), "table:counts", **asked, table_format="orc", archive="counts.zip")
    assert (done.output, done.table_format) == ("table:counts", "orc")
    assert sorted(map(str, spark.table("counts").toArrow().to_pylist())) == sorted(map(str, done.arrow.to_pylist()))
    read = dv.results.Published.read("counts.receipt.json")
    assert (read.output, read.table_format, read.digest) == (done.output, done.table_format, done.digest)
    assert read.describes("table:default.counts")
    spark.sql("insert into counts select * from counts limit 1")
    assert not read.describes("table:counts")
    public = {f"counts.{name}" for name in PAPERS if not name.startswith("keeper")}
    with zipfile.ZipFile("counts.zip") as archive:
        assert set(archive.namelist()) == public
    rows = {"age": [31, 34, 38, 45, 46, 49], "ill": ["a", "b", "a", "b", "a", None]}
    coarse = dv.generalize(rows, "age", "ill", guarantees="k=3", sink="table:coarse", per_row=True)
    assert sorted(map(str, spark.table("coarse").toArrow().to_pylist())) == sorted(map(str, coarse.rows.to_pylist()))
    receipt = read_receipt(tmp_path / "coarse.receipt.json")
    assert (receipt["table_format"], receipt["digest"]) == ("parquet", digest_of_rows(spark.table("coarse")))
    told = dv.generalize(rows | {"ill": ["a", "b"] * 3}, "age", "ill", guarantees="k=3", perturb="pml=0.5",
                         sink="table:told", per_row=True)  # fmt: skip
    assert told.perturbed is not None
    assert told.perturbed.describes("table:told")
    assert tables(spark) == {"counts", "coarse", "told"}
    papers = {f"{table}.{name}" for table in ("counts", "coarse", "told") for name in PAPERS}
    assert {path.name for path in tmp_path.iterdir()} == {*papers, "counts.zip"}


@pytest.mark.long
def test_what_a_frame_is_read_from_is_not_replaced(spark: Any, people: Any, tmp_path: Path) -> None:
    """A file, the folder of several, or a table; beside a file another one is."""
    pq.write_table(people.toArrow(), tmp_path / "own.parquet")
    people.write.saveAsTable("held")
    frame, asked = spark.read.parquet(str(tmp_path / "own.parquet")), {"per_row": True, "force": True}
    for source, sink in ((frame, tmp_path / "own.parquet"), (spark.table("held"), "table:held")):
        with pytest.raises(dv.DivulgeError, match=r"another (file|table) than source"):
            dv.publish(source, dv.Count("x"), sink, guarantee="dp=1", **asked)
        for more in ({}, {"secret": "x", "perturb": "pml=1"}):
            with pytest.raises(dv.DivulgeError, match=r"another (file|table) than source"):
                dv.generalize(source, "id", guarantees="k=2", sink=sink, **asked, **more)
    assert pq.read_table(tmp_path / "own.parquet").num_rows == spark.table("held").count() == 400
    assert dv.generalize(frame, "x", guarantees="k=2", sink=tmp_path / "other.parquet", **asked).assessment.rows == 400


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:At lake")
def test_the_papers_of_a_table_stand_at_an_address(
    spark: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them beside the receipt, and of what fails at the last moment none; the archive has no keeper's record."""
    mounted(spark, tmp_path)
    place, there = "lake://bucket/top", lambda: {path.name for path in tmp_path.iterdir() if path.suffix != ".crc"}
    asked = ASKED | {"receipt": f"{place}/r.json"}
    with pytest.warns(UserWarning, match="The archive has the papers alone"):
        done = dv.release(people, "table:out", **asked, archive=f"{place}/a.zip")
    papers = {"r.json", *(f"out.{name}" for name in PAPERS if name != "receipt.json")}
    assert there() == papers | {"a.zip"}
    assert done.papers["receipt.json"] == Address(f"{place}/r.json")
    assert dv.Receipt.read(f"{place}/r.json").describes("table:out")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert set(archive.namelist()) == papers - {"out.keeper.json"}
    before = {name: (tmp_path / name).read_bytes() for name in papers}
    for sink, more, reason in (
        ("table:other", {}, "r.json: there is one already"),
        ("table:out", {"receipt": f"{place}/s.json"}, "out: there is one already"),
        ("table:other", {"receipt": f"{place}/none/s.json"}, "must be in a folder that exists"),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.release(people, sink, **asked | more)
    with monkeypatch.context() as patch:
        rename = Catalog.rename
        patch.setattr(Catalog, "rename", lambda *given: rename(*given) if given[1].name == "out" else 1 / 0)
        patch.setattr(catalog, "_kind_of", lambda places: "parquet")
        with pytest.raises(ZeroDivisionError):
            dv.release(people, "table:out", **asked, force=True)
    assert {name: (tmp_path / name).read_bytes() for name in there() - {"a.zip"}} == before
    counts = dv.publish(people, dv.Count("x"), "table:counts", guarantee="dp=1", values={"x": ["0", "1"]}, per_row=True,
                        receipt=f"{place}/counts.json")  # fmt: skip
    assert counts.describes("table:counts")
    assert there() == papers | {"a.zip", "counts.json", *(f"counts.{name}" for name in PAPERS if "receipt" not in name)}


@pytest.mark.long
def test_rows_of_this_machine_go_into_a_table_in_several_parts(
    spark: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each type that Spark has; what it has not, or would change, is refused, and no cell is told."""
    monkeypatch.setattr(catalog, "_ROWS_AT_ONCE", 70)
    many = 300
    moments = pa.array([1_700_000_000_000_001 + i for i in range(many)], pa.timestamp("us", "Asia/Tokyo"))
    rows: dict[str, Any] = {
        "x": pa.array(["0", "1"] * (many // 2)).dictionary_encode(), "id": pa.array(range(many), pa.int32()),
        "when": moments, "clock": moments.cast(pa.timestamp("us")), "price": pa.array(range(many), pa.decimal128(9, 2)),
        "half": pa.array([0.5, float("nan"), None] * (many // 3), pa.float32()),
        "list": [[i, None] for i in range(many)],
        "day": moments.cast(pa.date32()), "yes": [True, None] * (many // 2), "none": pa.nulls(many),
        "text": ["ü", "", None] * (many // 3), "fine": moments.cast(pa.timestamp("ns")),
        "record": [{"a": i, "b": "c"} for i in range(many)], "bytes": [b"\0", None] * (many // 2),
    }  # fmt: skip
    done = dv.release(pa.table(rows), "table:out", **ASKED)
    back = spark.table("out").toArrow().sort_by("id")
    assert done.rows == back.num_rows == many
    assert done.describes("table:out")
    for name in set(rows) - {"x"}:
        column = pa.chunked_array([pa.array(rows[name])])
        assert str(back[name].cast(column.type).to_pylist()) == str(column.to_pylist()), name
    assert set(back["x_perturbed"].to_pylist()) == {"0", "1"}
    for odd, reason in (
        (pa.array([1] * many, pa.duration("s")), "have no durations"),
        (pa.array([7] * many, pa.uint64()), "cannot be written"),
        (pa.array([1_234_567_891] * many, pa.timestamp("ns")), "whole microseconds"),
        (pa.array([[1_234_567_891]] * many, pa.list_(pa.timestamp("ns"))), "whole microseconds"),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason) as caught:
            dv.release(pa.table({"x": rows["x"], "odd": odd}), "table:odd", **ASKED)
        assert "234" not in str(caught.value)
        assert HIDDEN not in str(caught.value)
    empty = dv.generalize({"x": ["a"] * 3}, "x", guarantees="k=2", sink="table:one", per_row=True)
    assert spark.table("one").count() == empty.rows.num_rows == 3
    assert tables(spark) == {"out", "one"}
    assert not any("odd" in path.name for path in tmp_path.iterdir())


@pytest.mark.long
def test_the_name_of_a_format_is_handed_to_the_session(spark: Any, people: Any, tmp_path: Path) -> None:
    """In the place of Delta and Iceberg, a format that is none of Spark's own: one that is registered in Python.

    Its writer shows rows of tasks that were committed; one that shows those of an attempt that failed too is found out.
    """
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceReader, WriterCommitMessage

    shelf = str(tmp_path / "shelf")
    os.mkdir(shelf)

    class Shelf(DataSource):
        @classmethod
        def name(cls) -> str:
            return "shelf"

        def reader(self, schema: Any) -> Any:
            return Reader()

        def writer(self, schema: Any, overwrite: bool) -> Any:
            return Writer()

    class Reader(DataSourceReader):
        def read(self, partition: Any) -> Iterator[Any]:
            for name in sorted(os.listdir(shelf)):
                yield from pq.read_table(os.path.join(shelf, name)).to_batches()

    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[Any]) -> Any:
            for i, batch in enumerate(iterator):
                pq.write_table(pa.Table.from_batches([batch]), os.path.join(shelf, f"{os.getpid()}-{i}.parquet"))
            return WriterCommitMessage()

    spark.dataSource.register(Shelf)
    done = dv.release(people, "table:out", **ASKED, table_format="shelf")
    assert done.table_format == "shelf"
    assert done.rows == spark.table("out").count() == 400
    assert sorted(row["id"] for row in done.table.collect()) == [*range(400)]
    assert done.describes("table:out")
    with pytest.raises(dv.DivulgeError, match="another number of rows"):  # it shows those of the table before as well
        dv.release(people, "table:again", **ASKED, table_format="shelf")
    assert tables(spark) == {"out"}


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


class Killed(BaseException):
    """In the place of SIGKILL: while it is raised nothing is taken back, and locks are gone, as the system sees to."""


def killed_at(step: str, patch: pytest.MonkeyPatch) -> None:
    """Let the next release end before or behind the step in which its new table, or the old one, gets a name."""
    rename = Catalog.rename

    def ended(self: Catalog, table: TableName, name: str) -> None:
        kind = "old" if name.endswith("_old") else "new" if table.name.endswith("_new") else ""
        under_way = kind == "old" or not name.startswith(HIDDEN)  # not the trial of the format
        if under_way and step == f"before {kind}":
            raise Killed
        rename(self, table, name)
        if under_way and step == f"behind {kind}":
            raise Killed

    patch.setattr(Catalog, "rename", ended)
    patch.setattr(staging.Naming, "undone", lambda self: True)
    patch.setattr(staging, "settle", lambda folder: False)
    patch.setattr(hadoop, "taken_back", lambda *_: True)
    patch.setattr(hadoop.Remote, "_clear", lambda self: None)
    patch.setattr(catalog, "_restore", lambda *_: None)
    patch.setattr(Catalog, "drop", lambda self, table: None)
    patch.setattr(children, "mark", lambda: DEAD)


DEAD = children.mark().rpartition(":")[0] + ":0"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:At lake")
@pytest.mark.parametrize("at_address", [False, True])
def test_no_table_stands_beside_papers_of_another_wherever_a_release_is_killed(
    at_address: bool, spark: Any, people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once its papers have names, the table has none yet: the next release there takes them back.

    Papers in a folder at an address of Hadoop's file systems, and in one of this machine.
    """
    mounted(spark, tmp_path)
    asked = ASKED | {"receipt": "lake://bucket/top/r.json" if at_address else tmp_path / "r.json", "force": True}

    def there() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.glob("[!.]*") if path.suffix != ".crc"}

    for step, old in (("before new", False), ("before old", True), ("behind old", True), ("before new", True)):
        first = dv.release(people, "table:released", **asked) if old else None
        before = there()
        with monkeypatch.context() as patch:
            killed_at(step, patch)
            with pytest.raises(Killed):
                dv.release(people, "table:released", **asked)
        assert len(there()) == 6
        assert there() != before
        dv.release(people, "table:other", **asked | {"receipt": None})  # tables are taken back, papers not yet
        dv.release(people, "table:another", **asked | {"receipt": str(asked["receipt"]).replace("r.json", "s.json")})
        assert {name: there()[name] for name in there() if name[0] == "r"} == before
        if first is not None:
            assert first.describes("table:released")
        assert tables(spark) == {"other", "another"} | ({"released"} if old else set())
        for name in tables(spark):
            spark.sql(f"drop table {name}")
        for path in [*tmp_path.iterdir()]:
            path.unlink()


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
    (tmp_path / "v.json").write_text('{"x": ["0", "1"]}')
    done = CliRunner().invoke(app, [
        "publish", "t.parquet", "--count", "x", "--values", "v.json", "--guarantee", "dp=1", "-o", "table:counts",
        "--per-row", "--no-ledger",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "for the keeper alone: counts.keeper.json" in done.output
    assert tables(spark) == {"told", "counts"}


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
