"""Spark gives the same answers: counts exactly, releases in distribution; a failed task publishes nothing twice."""

import datetime
import decimal
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from releasing.mounts import mounted
from support import NEVER, THOROUGH, plausible
from typer.testing import CliRunner

import divulge as dv
from divulge import children, stopping
from divulge.cli.main import app
from divulge.releasing import session
from divulge.releasing.output import hadoop
from divulge.releasing.output.sinks import digest
from divulge.releasing.session import Address, closed, name_of, on_python, refuse_absent
from divulge.releasing.spark import digest_of, known_by, quoted

SOURCE_FOLDER = str(Path(dv.__file__).parents[1])

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas", "ignore::ResourceWarning")


@pytest.fixture
def folder(people: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "people"
    path.mkdir()
    for i in range(4):
        pq.write_table(people.slice(i * 10_000, 10_000), path / f"{i}.parquet")
    return path


def test_a_new_session_is_reached_from_this_machine_alone() -> None:
    from pyspark import SparkConf

    conf = SparkConf(loadDefaults=False)
    closed(conf)
    found = dict(conf.getAll())
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.authenticate"] == "true"
    assert found["spark.driver.bindAddress"] == found["spark.driver.host"] == "127.0.0.1"
    asked = SparkConf(loadDefaults=False).set("spark.ui.enabled", "true").set("spark.master", "local[2]")
    closed(asked)
    assert asked.get("spark.ui.enabled") == "true"
    for master in ("yarn", "local-cluster[2,1,1024]"):
        cluster = SparkConf(loadDefaults=False).set("spark.master", master)
        closed(cluster)
        assert cluster.getAll() == [("spark.master", master)]


def test_workers_of_a_new_session_run_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PYSPARK_PYTHON they ran whatever `python3` is: the first release ended with "no pyarrow"."""
    monkeypatch.setenv("PYSPARK_PYTHON", "theirs")
    session = SimpleNamespace(_sc=SimpleNamespace(pythonExec="python3"))
    on_python(session, "/own/python")
    assert session._sc.pythonExec == "python3"  # tests say which one
    monkeypatch.delenv("PYSPARK_PYTHON")
    on_python(session, "/own/python")
    assert session._sc.pythonExec == "/own/python"
    on_python(SimpleNamespace(), "/own/python")  # a client of another machine


def test_no_row_is_lost_and_no_duration_becomes_a_number(spark: Any, tmp_path: Path) -> None:
    """A session may ask that damaged files be skipped in silence; Spark reads the durations of Parquet as integers."""
    for i in range(2):
        pq.write_table(pa.table({"x": ["a", "b"] * 500}), tmp_path / f"{i}.parquet", compression="none")
    whole = (tmp_path / "1.parquet").read_bytes()
    (tmp_path / "1.parquet").write_bytes(whole[:4] + bytes(60) + whole[64:])  # its footer can be read
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(dv.DivulgeError, match="cannot be read by Spark"):
            dv.contingency(tmp_path, "x", engine="spark")
        frame = spark.read.parquet(str(tmp_path))  # which somebody read so: here it is counted whole or not at all
        with pytest.raises(dv.DivulgeError, match="cannot be read by Spark"):
            dv.contingency(frame, "x")
        assert spark.conf.get("spark.sql.files.ignoreCorruptFiles") == "true"
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    (tmp_path / "spans").mkdir()
    pq.write_table(pa.table({"x": ["a"], "stay": pa.array([5], pa.duration("s"))}), tmp_path / "spans" / "t.parquet")
    with pytest.raises(dv.DivulgeError, match="durations"):
        dv.contingency(tmp_path / "spans", "x", engine="spark")
    frame = spark.createDataFrame([(x, datetime.timedelta(seconds=5)) for x in "ab"], ["x", "stay"])
    with pytest.raises(dv.DivulgeError, match=r"no durations that go out as they are.*column 'stay'"):
        dv.release(frame, tmp_path / "out", column="x", guarantee="ldp=1", per_row=True, ledger=None)
    assert not (tmp_path / "out").exists()


def test_counts_are_those_of_the_local_engine(spark: Any, folder: Path, tmp_path: Path) -> None:
    frame = spark.read.parquet(str(folder))
    for columns in ("region", ["region", "age"]):
        assert dv.contingency(frame, columns).to_dict() == dv.contingency(folder, columns).to_dict()
    odd = pa.table({"a.b`c": ["x", None, "x"], "n": [1.5, float("nan"), None]})
    pq.write_table(odd, tmp_path / "odd.parquet")
    frame = spark.read.parquet(str(tmp_path / "odd.parquet"))
    here, there = (dv.contingency(source, ["a.b`c", "n"]) for source in (odd, frame))
    assert here.to_dict() == there.to_dict()
    assert here.missing == there.missing == (1, 2)


def test_whole_tables_are_those_of_the_local_engine(spark: Any, folder: Path) -> None:
    """By one argument for a path, and for a frame without; also coarsened."""
    frame = spark.read.parquet(str(folder))
    here = dv.assess(folder, "age", "region")
    for there in (dv.assess(folder, "age", "region", engine="spark"), dv.assess(frame, "age", "region")):
        assert there.measures() == here.measures()
        assert there.worst == here.worst
        assert [one.to_dict() for one in there.columns] == [one.to_dict() for one in here.columns]
    asked: dict[str, Any] = {"guarantees": ["k=1000", "lift=21/20"], "per_row": True}
    own, found = dv.generalize(folder, "age", "region", **asked), dv.generalize(frame, "age", "region", **asked)
    assert found.levels == own.levels
    assert found.loss == own.loss
    assert found.assessment.measures() == own.assessment.measures()
    assert sorted(map(str, found.table.to_pylist())) == sorted(map(str, own.rows.to_pylist()))
    line = ["assess", str(folder), "--known", "age", "--secret", "region", "--engine", "spark", "--claim", "k=1000"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 1, done.output
    with pytest.raises(dv.DivulgeError, match="`known` must be given with Spark"):
        dv.assess(frame, secret="region")


def test_estimates_and_audits_are_those_of_the_local_engine(
    spark: Any, people: pa.Table, mechanism: dv.Channel, tmp_path: Path
) -> None:
    """A folder of pairs with missing values, counted here, by Spark from the folder, and by Spark from a frame."""
    rng = np.random.default_rng(3)
    receipt = dv.release(people, column="region", mechanism=mechanism, released_as="region")
    secret = pa.array(people["region"].to_numpy(zero_copy_only=False), mask=rng.random(40_000) < 0.1)
    half = pa.array(rng.random(40_000) < 0.5)
    pairs = pa.table({"region": receipt.table["region"], "secret": secret, "half": half})
    folder = tmp_path / "pairs"
    folder.mkdir()
    for i in range(3):
        pq.write_table(pairs.slice(i * 15_000, 15_000), folder / f"{i}.parquet")
    sources = [(folder, "local"), (folder, "spark"), (spark.read.parquet(str(folder)), "local")]
    estimates, groups, audits = [], [], []
    for source, engine in sources:
        estimates.append(dv.estimate_frequencies(source, receipt, engine=engine).to_dict())
        by = dv.estimate_frequencies(source, receipt, by="half", engine=engine)
        groups.append({group: found.to_dict() for group, found in by.items()})
        asked = {"secret": "secret", "released": "region", "claim": "ldp=1", "null_as": "?", "engine": engine}
        audits.append(dv.audit(source, **asked).to_dict())
    for answers in (estimates, groups, audits):
        assert answers[0] == answers[1] == answers[2]
    assert audits[0]["violated"]


def test_spark_refuses_what_the_local_engine_refuses(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    for i, values in enumerate(([1, 2], ["a", "b"])):
        pq.write_table(pa.table({"n": values}), folder / f"{i}.parquet")
    with pytest.raises(dv.InputFileError, match=r"column 'n' is int64 in 0\.parquet and string in 1\.parquet"):
        dv.contingency(folder, "n", engine="spark")
    with pytest.raises(dv.InputFileError, match="there is no such file"):
        dv.contingency(tmp_path / "absent", "n", engine="spark")
    with pytest.raises(dv.DivulgeError, match="counted on this machine"):
        dv.contingency(pa.table({"n": [1]}), "n", engine="spark")
    with pytest.raises(dv.DivulgeError, match='"local" or "spark"'):
        dv.contingency(folder, "n", engine="abacus")
    nested = tmp_path / "nested.parquet"
    pq.write_table(pa.table({"n": [["secret cell"], []]}), nested)
    for engine in ("local", "spark"):
        with pytest.raises(dv.InputFileError, match=r"column 'n' must hold text, numbers.*it holds list"):
            dv.contingency(nested, "n", engine=engine)
    comma = tmp_path / "lines.csv"
    comma.write_text('n\n"two\nlines"\n')
    with pytest.raises(dv.InputFileError, match=r"lines\.csv: must be a Parquet file or a folder.*DataFrame"):
        dv.contingency(comma, "n", engine="spark")


def test_what_spark_cannot_read_is_refused_without_its_cells(spark: Any, tmp_path: Path) -> None:
    alike = tmp_path / "alike.parquet"
    pq.write_table(pa.table({"n": ["secret cell"], "N": ["b"]}), alike)
    cut = tmp_path / "cut.parquet"
    pq.write_table(pa.table({"n": [f"secret cell {i}" for i in range(50_000)]}), cut)
    content = bytearray(cut.read_bytes())
    content[1000:40_000] = bytes(39_000)
    cut.write_bytes(content)
    clock = tmp_path / "clock.parquet"
    pq.write_table(pa.table({"n": pa.array([1], pa.timestamp("ns"))}), clock)
    single = dv.Channel([[1.0]], ["secret cell"], ["x"])
    for path in (alike, cut, clock):
        with pytest.raises(dv.InputFileError, match=r"cannot be read (by Spark|to its end)") as caught:
            dv.contingency(path, "n", engine="spark")
        assert "secret cell" not in str(caught.value)
        with pytest.raises(dv.DivulgeError) as caught:
            dv.release(path, tmp_path / "out", column="n", mechanism=single, engine="spark")
        assert "secret cell" not in str(caught.value)
        assert not (tmp_path / "out").exists()


def test_moments_are_the_same_in_any_zone(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "moments.parquet"
    column = pa.array([0, 0, 3_600_000_000, None], pa.timestamp("us", tz="Asia/Tokyo"))
    pq.write_table(pa.table({"t": column}), path)
    here, there = (dv.contingency(path, "t", engine=engine).to_dict() for engine in ("local", "spark"))
    assert here == there
    assert sorted(here.values()) == [1, 1, 2]
    receipt = dv.release(path, column="t", guarantee="ldp=1", null_as="none")
    assert dv.estimate_frequencies(receipt.table, receipt).rows == 4


def test_moments_keep_their_zone(spark: Any, tmp_path: Path) -> None:
    moments = pa.array([0, 3_600_000_000, 0, 0], pa.timestamp("us", tz="Asia/Tokyo"))
    table = pa.table({"x": ["a", "b", "a", "b"], "then": moments, "clock": moments.cast(pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "table.parquet")
    coin, name = dv.mechanisms.randomized_response(["a", "b"], 1.0), "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(name)
    dv.release(tmp_path / "table.parquet", tmp_path / "out", column="x", mechanism=coin, engine="spark")
    out = pq.read_table(tmp_path / "out")
    assert spark.conf.get(name) == before
    for column in ("then", "clock"):
        assert str(out.schema.field(column).type).partition("tz")[1] == ("tz" if column == "then" else "")
        assert sorted(out[column].to_pylist()) == sorted(table[column].to_pylist())


def test_the_command_line_with_spark(spark: Any, folder: Path, mechanism: dv.Channel, tmp_path: Path) -> None:
    dv.write_channel(mechanism, tmp_path / "mechanism.json")
    known = ("--mechanism", str(tmp_path / "mechanism.json"))
    for command in (
        ("estimate", str(folder), "--column", "region", *known, "--json"),
        (
            "audit",
            "--data",
            str(folder),
            "--secret",
            "region",
            "--released",
            "region",
            *known,
            "--claim",
            "ldp=9",
            "--json",
        ),
    ):
        here, there = (CliRunner().invoke(app, [*command, "--engine", engine]) for engine in ("local", "spark"))
        assert here.stdout == there.stdout
        assert here.exit_code == there.exit_code == int(command[0] == "audit")
        assert here.stdout


def test_a_release_is_one_write_with_a_receipt(
    spark: Any, folder: Path, people: pa.Table, mechanism: dv.Channel, tmp_path: Path, conforms: Any
) -> None:
    receipt = dv.release(
        folder, tmp_path / "out", column="region", mechanism=mechanism, engine="spark", ledger=tmp_path / "ledger"
    )
    once, again = (receipt.table.toArrow().to_pydict() for _ in range(2))
    assert once == again
    released = dict(zip(once["note"], once["region_perturbed"], strict=True))
    assert len(released) == len(once["note"]) == people.num_rows
    names = people["note"].to_pylist()
    assert conforms(people["region"].to_pylist(), [released[name] for name in names], mechanism)
    assert receipt.rows == 40_000
    assert dv.Receipt.read(tmp_path / "out.receipt.json").digest == receipt.digest
    assert dv.Ledger(tmp_path / "ledger").entries(str(folder))[0].rows == 40_000


def test_columns_of_any_name_and_numbers_of_32_bits_go_out(spark: Any, tmp_path: Path) -> None:
    odd = "a.b`c"
    rows = {odd: ["x", "y"] * 20, "v": pa.array([0.1, None] * 20, pa.float32()), "column0": range(40), "": ["k"] * 40}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    for out, column, null_as in ((tmp_path / "odd", odd, None), (tmp_path / "short", "v", "none")):
        receipt = dv.release(
            tmp_path / "t.parquet", out, column=column, guarantee="ldp=30", null_as=null_as, released_as=column,
            engine="spark",
        )  # fmt: skip
        told = pq.read_table(out).sort_by("column0")
        assert told.column_names == list(rows)
        assert told["column0"].to_pylist() == [*range(40)]
        for engine in ("local", "spark"):
            found = dv.estimate_frequencies(out, receipt.papers["receipt.json"], engine=engine)
            assert found.frequency.tolist() == pytest.approx([0.5, 0.5], abs=1e-9)


def test_counts_of_every_type_are_those_of_the_local_engine(spark: Any, tmp_path: Path) -> None:
    moment, price = datetime.datetime(2020, 7, 1, 12), decimal.Decimal("1.10")
    columns = {
        "short": pa.array([0.1, float("nan"), None], pa.float32()), "tiny": pa.array([-1, 2, None], pa.int8()),
        "price": pa.array([price, price + 1, None]), "day": [moment.date(), datetime.date(1500, 1, 1), None],
        "then": pa.array([moment, moment, None], pa.timestamp("us", tz="Asia/Tokyo")), "clock": [moment, None, None],
        "true": [True, False, None], "text": ["", " ", None], "nothing": pa.nulls(3),
    }  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    for asked in (*([name] for name in columns), ["short", "then"], ["text", "nothing"]):
        here, there = (dv.contingency(tmp_path / "t.parquet", asked, engine=engine) for engine in ("local", "spark"))
        assert here.to_dict() == there.to_dict(), asked
    empty = spark.createDataFrame([], "a string, b double")
    assert dv.contingency(empty, ["a", "b"]).to_dict() == {}


def test_names_that_differ_by_case_alone_are_named_as_the_cause(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 40, 1, 2).selectExpr("cast(id % 2 as string) as x", "id", "id as ID")
    with pytest.raises(dv.DivulgeError, match="differ by more than case"):
        dv.release(frame, tmp_path / "out", column="x", guarantee="ldp=1")
    assert os.listdir(tmp_path) == []
    assert dv.release(frame, tmp_path / "out", column="x", guarantee="ldp=1", keep=[]).rows == 40


def test_a_guarantee_alone_works_on_a_frame(spark: Any, folder: Path, tmp_path: Path) -> None:
    frame = spark.read.parquet(str(folder))
    receipt = dv.release(frame, tmp_path / "out", column="region", guarantee="ldp=1", only_column=True)
    assert receipt.guarantees["ldp"] <= 1 + 1e-15
    assert receipt.table.columns == ["region_perturbed"]
    with pytest.raises(dv.DivulgeError, match="folder of Parquet files, with Spark"):
        dv.release(frame, column="region", guarantee="ldp=1")


def test_a_failed_task_publishes_every_row_once(spark: Any, tmp_path: Path) -> None:
    """Every task fails at its first attempt, after it has drawn and written rows; the second attempt draws anew."""
    from pyspark import TaskContext

    marks = str(tmp_path / "marks")
    os.mkdir(marks)

    def failing(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        for i, batch in enumerate(batches):
            yield batch
            if i == 1 and context.attemptNumber() == 0:
                open(os.path.join(marks, f"{context.partitionId()}"), "w").close()
                raise RuntimeError("an injected failure")

    rows = 60_000
    frame = (
        spark.range(0, rows, 1, 3)
        .selectExpr("id", "cast(id % 2 as string) as x")
        .mapInArrow(failing, "id long, x string")
    )
    flip = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])
    receipt = dv.release(frame, tmp_path / "out", column="x", mechanism=flip)
    assert len(os.listdir(marks)) == 3
    released = pq.read_table(tmp_path / "out")
    assert Counter(released["id"].to_pylist()) == dict.fromkeys(range(rows), 1)
    assert receipt.rows == rows
    kept = (np.array(released["id"]) % 2 == np.array(released["x_perturbed"].cast(pa.int64()))).sum()
    assert plausible(int(kept), rows, 0.75)


def test_workers_that_are_killed_in_either_stage_publish_every_row_once(spark: Any, tmp_path: Path) -> None:
    """A shuffle makes two stages; in each the first worker of every partition is killed after it has given rows on."""
    from pyspark import TaskContext

    marks = str(tmp_path / "marks")
    os.mkdir(marks)

    def killed(stage: str) -> Any:
        def run(batches: Iterator[Any]) -> Iterator[Any]:
            context = TaskContext.get()
            mark = os.path.join(marks, f"{stage}-{context.partitionId()}")
            for batch in batches:
                yield batch
                if not os.path.exists(mark):
                    open(mark, "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)

        return run

    rows = 30_000
    frame = spark.range(0, rows, 1, 2).selectExpr("id", "cast(id % 2 as string) as x")
    frame = frame.mapInArrow(killed("before"), "id long, x string").repartition(2, "id")
    frame = frame.mapInArrow(killed("after"), "id long, x string")
    flip = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])
    receipt = dv.release(frame, tmp_path / "out", column="x", mechanism=flip)
    assert sorted(os.listdir(marks)) == ["after-0", "after-1", "before-0", "before-1"]
    released = pq.read_table(tmp_path / "out")
    assert Counter(released["id"].to_pylist()) == dict.fromkeys(range(rows), 1)
    assert receipt.rows == rows
    kept = (np.array(released["id"]) % 2 == np.array(released["x_perturbed"].cast(pa.int64()))).sum()
    assert plausible(int(kept), rows, 0.75)


@pytest.mark.skipif(not THOROUGH, reason="starts a cluster of three Java processes")
def test_executors_that_are_killed_in_either_stage_publish_every_row_once(java_home: Path, tmp_path: Path) -> None:
    """The Java processes, with what they held of a shuffle; Spark starts others, and computes what was lost anew."""
    done = in_a_process(tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(not THOROUGH, reason="starts two Java processes")
@pytest.mark.parametrize("where", ["address", "table"])
def test_a_driver_that_is_killed_while_it_writes_leaves_nothing_under_the_name(
    where: str, java_home: Path, tmp_path: Path
) -> None:
    """And what it left is gone with the next release there; of a table its files, too."""
    hidden = ".divulge*.partial" if where == "address" else "warehouse/divulge_partial_*_new"
    done = in_a_process(tmp_path, "driver", where)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert list(tmp_path.glob(hidden))
    assert not [*tmp_path.glob("out*"), *tmp_path.glob("warehouse/out")]
    done = in_a_process(tmp_path, "again", where)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not list(tmp_path.glob(hidden))


def in_a_process(folder: Path, *how: str) -> Any:
    """Run `executors.py`, and return what came of it."""
    paths = filter(None, [SOURCE_FOLDER, os.environ.get("PYTHONPATH")])
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("executors.py")), str(folder), *how], capture_output=True,
        text=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "DIVULGE_HOME": str(folder)}, check=False,
    )  # fmt: skip


def test_values_without_a_secret_are_counted_over_all_tasks(
    spark: Any, folder: Path, mechanism: dv.Channel, tmp_path: Path
) -> None:
    frame = spark.read.parquet(str(folder))
    few = dv.Channel(np.eye(3), ["north", "south", "east"], ["north", "south", "east"])
    west = dv.contingency(frame, "region").to_dict()["west"]
    with pytest.raises(dv.DivulgeError, match=rf"column 'region' is in {west:,} rows? something else"):
        dv.release(frame, tmp_path / "out", column="region", mechanism=few, ledger=tmp_path / "l", source_name="s")
    assert sorted(os.listdir(tmp_path)) == ["l", "l.key", "people"]
    assert dv.Ledger(tmp_path / "l").entries() == []


def test_addresses_of_hadoop_and_tables_by_name_are_read(spark: Any, tmp_path: Path) -> None:
    """By way of a file system of Hadoop other than this machine's, `viewfs`, whose folder /people is one here."""
    (tmp_path / "people").mkdir()
    answers = pa.table({"answer": ["yes", "no", "no"] * 100, "age": list(range(300))})
    pq.write_table(answers, tmp_path / "people" / "a.parquet")
    pq.write_table(answers, tmp_path / "people" / "b.parquet")
    settings = spark._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.impl.disable.cache", "true")
    settings.set("fs.viewfs.mounttable.default.link./people", (tmp_path / "people").as_uri())
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    spark.read.parquet(str(tmp_path / "people")).createOrReplaceTempView("people_by_name")
    places = {"viewfs:///people": 600, "viewfs:///people/a.parquet": 300, (tmp_path / "people").as_uri(): 600}
    for place, rows in (places | {"people_by_name": 600}).items():
        assert dv.contingency(place, "answer", engine="spark").rows == rows
        sink = tmp_path / f"out-{rows}-{len(place)}"
        receipt = dv.release(place, sink, column="answer", mechanism=coin, engine="spark", ledger=None)
        assert receipt.rows == rows == dv.open_table(sink).rows
        assert receipt.source == place.rpartition("/")[2]
    spark.catalog.dropTempView("people_by_name")
    with pytest.raises(dv.DivulgeError):
        dv.release((tmp_path / "people").as_uri(), tmp_path / "people", column="answer", mechanism=coin, engine="spark",
                   ledger=None, force=True)  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "people").iterdir()) == ["a.parquet", "b.parquet"]
    pq.write_table(pa.table({"a": pa.array([1], pa.duration("s"))}), tmp_path / "people" / "c.parquet")
    with pytest.raises(dv.DivulgeError, match="must have no durations"):
        dv.contingency("viewfs:///people/c.parquet", "a", engine="spark")
    with pytest.raises(dv.DivulgeError, match="the same columns and types in all files"):
        dv.contingency("viewfs:///people", "answer", engine="spark")
    assert name_of("s3a://key:secret@bucket") == "bucket"
    with pytest.raises(dv.DivulgeError, match="cannot be read by Spark"):
        dv.contingency("viewfs:///absent", "answer", engine="spark")


def test_quoting() -> None:
    assert quoted("plain") == "`plain`"


@pytest.mark.parametrize(
    ("said", "found"),
    [("ModuleNotFoundError: No module named 'pyarrow'", "it has no pyarrow"),
     ("[PACKAGE_NOT_INSTALLED] PyArrow >= 11.0.0 must be installed; however, it was not found.", "it has no PyArrow"),
     ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9", "it has another version of Python")],
)  # fmt: skip
def test_workers_with_another_python_are_named_as_the_cause(said: str, found: str) -> None:
    """What Spark quotes deep in a chained traceback of its workers is the message, with the remedy."""
    from divulge.releasing.session import refuse_other_pythons

    with pytest.raises(dv.DivulgeError) as caught:
        refuse_other_pythons(RuntimeError(f"Job aborted due to stage failure: ...\n{said}\n ... 40 lines more"))
    assert found in str(caught.value)
    assert "PYSPARK_PYTHON" in str(caught.value)
    refuse_other_pythons(RuntimeError("java.io.IOException: No space left on device"))


def test_a_ledger_knows_a_frame_by_the_digests_of_its_files(spark: Any, folder: Path, tmp_path: Path) -> None:
    """Numbers of rows, repeated rows and moments, counted by the workers and here."""
    ledger = dv.Ledger(tmp_path / "ledger.sqlite")
    moments = pa.array([1_700_000_000 + 60 * i for i in range(5000)], pa.timestamp("s", "UTC"))
    rows = pa.table({
        "number": range(5000), "when": moments,
        "kind": ["a", "b", "c", None] * 1250, "yes": [True, False] * 2500, "x": [0.1, 2.0] * 2500,
    })  # fmt: skip
    pq.write_table(rows.cast(rows.schema.set(1, pa.field("when", pa.timestamp("us", "UTC")))), tmp_path / "t.parquet")
    for path in (folder, tmp_path / "t.parquet"):
        here, there = ledger.fingerprint(str(path)), known_by(spark.read.parquet(str(path)), ledger.key, ())
        assert (here.rows, here.whole, here.columns) == (there.rows, there.whole, there.columns)
        assert here.hashes.tolist() == there.hashes.tolist()
        assert (here.counts.tolist(), here.alike) == (there.counts.tolist(), there.alike)


def test_places_are_moved_by_the_workers(spark: Any, tmp_path: Path) -> None:
    """So many stay near as the noise says."""
    rows = 4000
    places = pa.table({"lat": [48.85] * rows, "lon": [2.35] * rows})
    pq.write_table(places, tmp_path / "t.parquet")
    box = (48.4, 1.7, 49.3, 3.0)
    done = dv.release(tmp_path / "t.parquet", tmp_path / "out", column=["lat", "lon"], guarantee="metric=1/km",
                      grid="500m", box=box, per_row=True, engine="spark", only_column=True)  # fmt: skip
    noise = done.mechanisms[0]
    out = pq.read_table(tmp_path / "out")
    lat, lon = (out.column(name).to_numpy() for name in out.schema.names)
    cells = noise.box.cells(lat, lon, noise.step) - noise.box.cells([48.85], [2.35], noise.step)
    away = np.hypot(*cells.T)
    x, y = np.meshgrid(np.arange(-120, 121), np.arange(-120, 121))
    far = np.hypot(x, y)
    weights = np.exp(-0.5 * far) / np.exp(-0.5 * far).sum()
    for radius in (1.0, 3.0, 6.0, 10.0):
        assert plausible(int((away <= radius).sum()), rows, weights[far <= radius].sum())


def test_reports_of_protocols_go_out_and_are_estimated_by_one_argument(spark: Any, tmp_path: Path) -> None:
    """With a list and without, of one column, of two as one report, of two apart: Spark draws, and Spark decodes."""
    given = tmp_path / "visits"
    given.mkdir()
    table = pa.table({"url": [f"page {i % 5 * (i % 2)}" for i in range(8000)], "code": ["a", "b", "b", "b"] * 2000})
    for i in range(2):
        pq.write_table(table.slice(i * 4000, 4000), given / f"{i}.parquet")
    pages = [f"page {i}" for i in range(5)]
    lists = {"url": pages, "code": ["a", "b"]}
    for number, (asked, values) in enumerate([
        ({"column": "url", "protocol": "hadamard", "values": {"url": pages[:3]}}, pages[:1]),
        ({"column": "url", "protocol": "auto"}, pages[:1]),
        ({"column": ["url", "code"], "protocol": "auto"}, [("page 0", "a")]),
        ({"column": ["url", "code"], "protocol": "auto,hadamard", "values": lists}, {"url": pages[:1], "code": ["a"]}),
    ]):  # fmt: skip
        out = tmp_path / f"out{number}"
        options: dict[str, Any] = {"guarantee": "ldp=6", "engine": "spark", "only_column": True, "per_row": True}
        done = dv.release(given, out, **asked, **options)
        assert done.rows == 8000
        columns = tuple(asked["column"]) if number > 1 else None
        by_spark, here = (
            dv.estimate_frequencies(out, done, column=columns, values=values, engine=engine, confidence=1 - NEVER)
            for engine in ("spark", "local")
        )
        assert by_spark.frequency.tolist() == here.frequency.tolist()
        truth = 0.6 if number < 2 else 0.25
        assert here.lower[0] < truth < here.upper[0]
        assert here.lower[0] > 0


def test_a_digest_by_the_workers_is_that_of_this_machine(spark: Any, tmp_path: Path) -> None:
    """Names that sort by their folders, not by their text; another byte, or name, is another digest."""
    for i, name in enumerate(("b/a.parquet", "b-c/a.parquet", "a.parquet", "b/c.txt")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes([i]) * 1000)
    assert digest_of(spark, tmp_path) == digest(tmp_path)
    before = digest(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"another")
    assert digest_of(spark, tmp_path) == digest(tmp_path) != before


def test_functions_that_read_rows_take_a_frame(spark: Any, tmp_path: Path) -> None:
    """A frame comes one partition at a time, with the types that it has: the same answers as from Arrow."""
    rows = pa.table({
        "x": ["a", "b", None, "b"] * 50, "y": ["u", "v"] * 100, "n": pa.array(range(200), pa.int32()),
        "a.b`": [0.5] * 200,
        "when": pa.array([0, 3_600_000_000] * 100, pa.timestamp("us", "UTC")),
    })  # fmt: skip
    pq.write_table(rows, tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet")).repartition(3)
    source = dv.open_table(frame)
    read = pa.Table.from_batches(list(source.batches()), source.schema).sort_by("n")
    assert read.cast(rows.schema).to_pydict() == rows.to_pydict()
    assert [batch.num_columns for batch in source.batches(["n", "x"])] == [2] * 3
    asked: dict[str, Any] = {"secret": "y", "released": "x", "null_as": "?"}
    assert dv.read_joint(frame, "y", "x", null_as="?") == dv.read_joint(rows, "y", "x", null_as="?")
    assert dv.report(frame, **asked).text() == dv.report(rows, **asked).text()
    plain = frame.select("y", "n"), rows.select(["y", "n"])
    found = [dv.audit_synthetic(t, t, t, secret="y", known=["n"]).to_dict() for t in plain]
    assert found[0] == found[1]


def test_a_released_frame_goes_on_to_a_table_of_any_format_of_the_session(spark: Any, tmp_path: Path) -> None:
    """What was drawn stands in files: a table that is written from them, twice even, draws nothing anew."""
    frame = spark.createDataFrame([(str(i % 2),) for i in range(400)], "x string")
    flip = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])
    receipt = dv.release(frame, tmp_path / "out", column="x", mechanism=flip, per_row=True, ledger=None)
    drawn = dv.contingency(receipt.table, "x_perturbed").to_dict()
    for name in ("parquet", "orc"):
        receipt.table.write.format(name).saveAsTable(f"released_{name}")
        assert dv.contingency(f"released_{name}", "x_perturbed", engine="spark").to_dict() == drawn
        there = dv.estimate_frequencies(f"released_{name}", receipt, engine="spark")
        assert (there.rows, there.doubts) == (400, ())
        spark.sql(f"drop table released_{name}")
    from py4j.protocol import Py4JError

    with pytest.raises(Py4JError, match="Failed to find the data source: abacus"):  # and nothing is drawn or lost
        receipt.table.write.format("abacus").saveAsTable("released")
    with pytest.raises(dv.DivulgeError, match=r"out: the session .* no file system .* org.apache.hadoop:hadoop-aws"):
        dv.release(frame, "s3a://bucket/out", column="x", mechanism=flip, per_row=True, ledger=None)
    with pytest.raises(dv.DivulgeError, match=r"people: the session of Spark has no format.* add io.delta:delta-spark"):
        refuse_absent("people", RuntimeError("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make"))
    with pytest.raises(dv.DivulgeError, match="be another file than source"):  # what a frame is read from stays
        dv.release(receipt.table, tmp_path / "out", column="x_perturbed", mechanism=flip, force=True, ledger=None)


def test_columns_in_names_of_folders_are_the_same_on_either_engine(spark: Any, tmp_path: Path) -> None:
    """Numbers, codes, letters by their bytes and missing values; of a path, an address, and to what is written."""
    for folder, values in (
        ("year=2024/code=01/city=M%C3%BCnchen", ["a", "b"]), ("year=2023/code=2/city=Ulm", ["a", "b", "b"]),
        ("year=__HIVE_DEFAULT_PARTITION__/code=2/city=a%2Fb", ["c"]), ("_logs", ["x"]),
    ):  # fmt: skip
        (tmp_path / "in" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"x": values}), tmp_path / "in" / folder / "t.parquet")
    mounted(spark, tmp_path)
    names = ["x", "year", "code", "city"]
    here = dv.contingency(tmp_path / "in", names).to_dict()
    assert here == {
        ("a", 2024, "01", "München"): 1, ("b", 2024, "01", "München"): 1, ("a", 2023, "2", "Ulm"): 1,
        ("b", 2023, "2", "Ulm"): 2, ("c", None, "2", "a/b"): 1,
    }  # fmt: skip
    for source in (tmp_path / "in", "lake://bucket/top/in"):
        assert dv.contingency(source, names, engine="spark").to_dict() == here
    receipt = dv.release(tmp_path / "in", tmp_path / "out", column="x", guarantee="ldp=1", engine="spark", per_row=True)
    assert receipt.rows == 6
    assert [pq.read_table(tmp_path / "out").schema.field(name).type for name in names[1:]] == [
        pa.int64(), pa.string(), pa.string()
    ]  # fmt: skip


COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])


@pytest.mark.filterwarnings("ignore:At lake")
def test_a_release_to_an_address_appears_whole_with_its_papers(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or not at all: what a forced release would replace is as it was when the last name cannot be given."""
    (tmp_path / "people").mkdir()
    answers = pa.table({"answer": ["yes", "no", "no"] * 100, "n": range(300)})
    pq.write_table(answers, tmp_path / "people" / "a.parquet")
    mounted(spark, tmp_path)
    place, asked = "lake://bucket/top", {"column": "answer", "mechanism": COIN, "ledger": None, "per_row": True}
    with pytest.warns(UserWarning, match="At lake:// files may get their names one after the other"):
        receipt = dv.release(f"{place}/people", f"{place}/out", **asked, engine="spark")
    papers = {f"out.{name}" for name in ("codebook.json", "codebook.md", "statement.html", "statement.txt")}
    papers |= {"out.receipt.json", "out.keeper.json"}
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".crc"} == {"people", "out", *papers}
    assert (tmp_path / "out.keeper.json").stat().st_mode & 0o777 == 0o600
    assert dv.Receipt.read(tmp_path / "out.receipt.json").digest == receipt.digest == digest(tmp_path / "out")
    assert sorted(pq.read_table(tmp_path / "out")["n"].to_pylist()) == [*range(300)]
    assert receipt.table.count() == receipt.rows == 300
    assert str(receipt.papers["receipt.json"]) == f"{place}/out.receipt.json"
    assert dv.Receipt.read(f"{place}/out.receipt.json").to_dict() == receipt.to_dict()
    with pytest.raises(dv.DivulgeError, match=r"no\.json: there is no such file"):
        dv.Receipt.read(f"{place}/no.json")
    assert dv.estimate_frequencies(f"{place}/out", receipt, engine="spark").doubts == ()
    with pytest.raises(dv.DivulgeError, match="out: there is one already"):
        dv.release(tmp_path / "people", f"{place}/out", **asked, engine="spark")
    for source in (tmp_path / "people", f"{place}/people", tmp_path / "people" / "a.parquet"):
        with pytest.raises(dv.DivulgeError, match="`sink` must be another place than source"):
            dv.release(source, f"{place}/people", **asked, engine="spark", force=True)
    for sink, said, reason in (
        (f"{place}/no/out", None, "in a folder that exists"), ("lake://bucket", None, "have a name"),
        (f"{place}/new", tmp_path / "r.json", "be an address beside it"),
        (f"{place}/new", f"{place}/people/r.json", "be in the folder of the output"),
        (f"{place}/new", f"{place}/new", "have a name of its own"),
        (f"{place}/new", f"{place}/out.receipt.json", "there is one already"),
        (tmp_path / "new", f"{place}/r.json", "be a path of this machine"),
    ):  # fmt: skip
        with pytest.raises(dv.DivulgeError, match=reason):
            dv.release(tmp_path / "people", sink, **asked, engine="spark", receipt=said)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    move = hadoop.Files.move

    def failing(files: Any, source: Address, target: Address) -> None:
        if (source.name, target.name) == ("new", "out"):
            raise dv.DivulgeError("the name cannot be given")
        move(files, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(hadoop.Files, "move", failing)
        with pytest.raises(dv.DivulgeError, match="the name cannot be given"):
            dv.release(tmp_path / "people", f"{place}/out", **asked, engine="spark", force=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    again = dv.release(tmp_path / "people", f"{place}/out", **asked, force=True,  # by this machine
                       receipt=f"{place}/said.json", archive=f"{place}/all.zip")  # fmt: skip
    assert again.digest == digest(tmp_path / "out") != receipt.digest
    assert dv.Receipt.read(f"{place}/said.json").digest == again.digest
    assert not (tmp_path / "out.receipt.json").exists()
    public = {"said.json", *papers - {"out.receipt.json", "out.keeper.json"}}
    names = {name for name in zipfile.ZipFile(tmp_path / "all.zip").namelist() if not name.startswith("out/")}
    assert names == public
    assert str(again.papers["archive"]) == f"{place}/all.zip"
    assert list(tmp_path.glob(".divulge*")) == []


@pytest.mark.filterwarnings("ignore:At lake")
def test_statistics_go_to_an_address_and_the_keepers_record_where_it_is_private(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted(spark, tmp_path)
    people, place = pa.table({"answer": ["yes", "no"] * 50}), "lake://bucket/top"
    asked: dict[str, Any] = {"guarantee": "dp=1", "values": {"answer": ["yes", "no"]}, "per_row": True, "ledger": None}
    found = dv.publish(people, [dv.Count("answer")], f"{place}/counts.csv", **asked)
    assert found.digest == digest(tmp_path / "counts.csv")
    assert (tmp_path / "counts.keeper.json").exists()
    monkeypatch.setattr(hadoop, "_FOR_THE_OWNER", 0o622)  # no file is made so: as where there are no permissions
    with pytest.warns(UserWarning, match="keeper's record was not written"):
        dv.publish(people, [dv.Count("answer")], f"{place}/more.csv", **asked)
    assert (tmp_path / "more.receipt.json").exists()
    assert not (tmp_path / "more.keeper.json").exists()
    monkeypatch.undo()
    for out, where in (("c.csv", tmp_path / "a.zip"), ("d.csv", f"{place}/b.zip")):
        dv.publish(people, [dv.Count("answer")], f"{place}/{out}", archive=where, **asked)
        with pytest.raises(dv.DivulgeError, match="there is one already"):
            dv.publish(people, [dv.Count("answer")], f"{place}/e.csv", archive=where, **asked)
    for archive, name in (("a.zip", "c"), ("b.zip", "d")):
        ends = ("csv", "codebook.json", "codebook.md", "statement.html", "statement.txt", "receipt.json")
        assert set(zipfile.ZipFile(tmp_path / archive).namelist()) == {f"{name}.{end}" for end in ends}


DEAD = children.mark().rpartition(":")[0] + ":0"
"""The mark of a process of this machine that has ended."""


def test_what_a_killed_release_left_at_an_address_is_taken_back_or_told(spark: Any, tmp_path: Path) -> None:
    """A rename may have stopped at any file; what somebody else put there stays, and no journal reaches elsewhere."""
    mounted(spark, tmp_path)
    place = Address("lake://bucket/top/out")
    files = hadoop.Files.of(place)
    sizes = {"a.parquet": 3, "b.parquet": 3}
    taken, given = ["out", "old0", False, sizes], ["out", "new", True, sizes]
    cases: list[tuple[str, list[Any] | None, set[str], set[str]]] = [
        (DEAD, None, {"new/a"}, set()),
        (DEAD, [given], {"new/a", "new/b"}, set()),
        (DEAD, [given], {"new/a", "new/b", "out/a"}, set()),  # a part of it is there
        (DEAD, [given], {"out/a", "out/b", "new/b"}, set()),  # all of it, and not all is gone here
        (DEAD, [given], {"out/a", "out/b"}, {"out/a", "out/b"}),
        (DEAD, [given], {"new/a", "new/b", "out/other"}, {"out/other"}),
        (DEAD, [taken, given], {"old0/a", "old0/b", "new/a", "new/b"}, {"out/a", "out/b"}),
        (DEAD, [taken, given], {"old0/a", "out/a", "out/b", "new/a", "new/b"}, {"out/a", "out/b"}),
        (DEAD, [taken, given], {"old0/a", "old0/b", "out/b", "new/a", "new/b"}, {"out/a", "out/b"}),
        (DEAD, [taken, given], {"old0/a", "old0/b", "out/a", "new/a", "new/b"}, {"out/a", "out/b"}),
        (DEAD, [taken, given], {"old0/a", "old0/b", "out/a", "out/b"}, {"out/a", "out/b"}),
        (DEAD, [["../../x", "old0", False, {}]], {"new/a"}, set()),
    ]
    for owner, moves, there, left in cases:
        hidden = tmp_path / f".divulge-{0:016x}.away.partial"
        for one in there:
            path = (tmp_path if one.startswith("out/") else hidden) / f"{one}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"abc")
        hidden.mkdir(exist_ok=True)
        (hidden / "owner").write_text(owner)
        if moves is not None:
            (hidden / "journal.json").write_text(json.dumps({"moves": moves, "then": ""}))
        hadoop.recover(files, place)
        found = {str(path.relative_to(tmp_path).with_suffix("")) for path in tmp_path.rglob("*.parquet")}
        assert found == left, (moves, there)
        assert not hidden.exists()
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    for owner in (children.mark(), "another machine:1:2", ""):
        hidden.mkdir()
        (hidden / "owner").write_text(owner)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            hadoop.recover(files, place)
        assert hidden.exists()
        assert [str(one.message).startswith("A folder .divulge-0000") for one in told] == [True] * (
            owner != children.mark()
        )
        shutil.rmtree(hidden)


class Killed(BaseException):
    """The process ends here, and cleans nothing up."""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:At lake")
@pytest.mark.parametrize("stores_objects", [False, True])
def test_a_release_that_is_killed_at_any_step_leaves_the_old_or_the_new(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stores_objects: bool
) -> None:
    """At each rename, or each file of one where a store copies them: half a table is never there under its name, but in
    such a store; and after the next release began, all is as it was before, or as it was to be.
    """
    mounted(spark, tmp_path)
    place = Address("lake://bucket/top/out")
    people = pa.table({"answer": ["yes", "no", "no"] * 100})
    asked: dict[str, Any] = {"column": "answer", "mechanism": COIN, "ledger": None, "per_row": True, "force": True}
    monkeypatch.setattr("divulge.releasing.output.sinks.ROWS_A_PART", 100)  # several files
    dv.release(people, str(place), **asked)

    def here(at: Address) -> Path:
        return tmp_path / str(at).removeprefix("lake://bucket/top").strip("/")

    def state() -> dict[str, bytes]:
        found = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".crc"]
        names = [path.relative_to(tmp_path) for path in found]
        return {str(name): (tmp_path / name).read_bytes() for name in names if not name.parts[0].startswith(".")}

    left = [0]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    move = hadoop.Files.move

    def moved(files: Any, source: Address, target: Address) -> None:
        step()
        if not stores_objects:
            move(files, source, target)
            step()
            return
        one, other = here(source), here(target)
        parts = sorted(one.iterdir()) if one.is_dir() else [one]
        for part in parts:
            to = other / part.name if one.is_dir() else other
            to.parent.mkdir(exist_ok=True)
            shutil.copy(part, to)
            step()
        for part in parts:
            part.unlink()
            step()
        if one.is_dir():
            one.rmdir()

    outcomes = set[str]()
    for killed in range(1, 200):
        before, left[0] = state(), killed
        with monkeypatch.context() as patch:
            patch.setattr(hadoop.Files, "move", moved)
            patch.setattr(hadoop, "taken_back", lambda *_: True)
            patch.setattr(hadoop.Remote, "_clear", lambda _: None)
            patch.setattr(children, "mark", lambda: DEAD)
            try:
                dv.release(people, str(place), **asked)
            except Killed:
                done = False
            else:
                done = True
        seen = state()
        table = {name for name in seen if name.startswith("out/")}
        if not stores_objects:
            assert table in (set(), {name for name in before if name.startswith("out/")})
        hadoop.recover(hadoop.Files.of(place), place)
        after = state()
        assert not list(tmp_path.glob(".divulge*"))
        if after != before:
            assert dv.Receipt.read(tmp_path / "out.receipt.json").digest == digest(tmp_path / "out")
            assert len(after) == len(before)
        outcomes.add("old" if after == before else "new")
        if done:
            break
    assert done
    assert outcomes == {"old", "new"}
    assert killed > 20


def test_the_log_of_an_interrupted_bridge_is_not_shown_twice() -> None:
    where = "/python/py4j/java_gateway.py"
    for path, error, shown in (
        (where, KeyboardInterrupt(), False), (where, stopping.Interrupted(), False), (where, ValueError(), True),
        ("/their/own.py", KeyboardInterrupt(), True),
    ):  # fmt: skip
        record = logging.LogRecord("root", logging.ERROR, path, 1, "sending", (), (type(error), error, None))
        assert session.is_to_be_told(record) is shown
    assert session.is_to_be_told(logging.LogRecord("root", logging.ERROR, where, 1, "sending", (), None))


def test_spark_before_4_is_refused_by_its_version() -> None:
    session.require_version(SimpleNamespace(version="4.0.0"))
    with pytest.raises(dv.DivulgeError, match=r"of Spark 3\.5\.9; Divulge needs 4\.0 or newer"):
        session.require_version(SimpleNamespace(version="3.5.9"))


def test_texts_with_a_collation_are_equal_if_all_their_letters_are(spark: Any, tmp_path: Path) -> None:
    """Spark takes "A" and "a" of such a column for one, in groups, in persons and in comparisons."""
    rows = pa.table({"x": ["A", "a", "b ", "b"] * 10, "n": range(40)})
    pq.write_table(rows, tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet")).selectExpr("x collate UNICODE_CI_RTRIM as x", "n")
    assert dv.contingency(frame, "x").to_dict() == dv.contingency(rows, "x").to_dict()
    asked: dict[str, Any] = {"guarantee": "dp=1e7", "ledger": None}
    for values, who in (({"x": ["A", "b"]}, {"per_row": True}), (None, {"person": "x", "rows_per_person": 3})):
        what = [dv.Count("x")] if values else [dv.Count()]
        here, there = (dv.publish(t, what, values=values, **who, **asked).arrow.to_pylist() for t in (rows, frame))
        assert here == there
    receipt = dv.release(frame, tmp_path / "out", column="x", guarantee="ldp=50", per_row=True, ledger=None)
    assert Counter(receipt.table.toArrow()["x_perturbed"].to_pylist()) == Counter(rows["x"].to_pylist())


def test_values_that_have_no_text_are_refused_as_on_this_machine(spark: Any, tmp_path: Path) -> None:
    """Dates beyond Python's, texts that are none, types of Spark alone: functions of every kind say so."""
    coin = dv.Channel([[1.0]], ["x"], ["x"])
    asked: dict[str, Any] = {"per_row": True, "ledger": None}
    for query, reason in (
        ("make_date(0, 1, 1)", "years 1 to 9999.*column 'x'"),
        ("timestamp_seconds(253402473600)", "years 1 to 9999.*column 'x'"),
        ("cast(X'ff41' as string)", "cannot be read to its end"),
        ("make_ym_interval(1, 2)", "column 'x' must hold what there is outside of Spark, too; it holds interval year"),
        ("make_interval(1, 2)", "column 'x' must hold what there is outside of Spark, too; it holds interval"),
    ):
        frame = spark.sql(f"select {query} as x, 'a' as y")
        for attempt in (
            lambda frame=frame: dv.contingency(frame, "x"),
            lambda frame=frame: list(dv.open_table(frame).batches()),
            lambda frame=frame: dv.publish(frame, dv.Count("x"), guarantee="dp=1", values={"x": ["a"]}, **asked),
            lambda frame=frame: dv.release(frame, tmp_path / "out", column="x", guarantee="ldp=1", **asked),
        ):
            with pytest.raises(dv.InputFileError, match=reason):
                attempt()
        with pytest.raises(dv.DivulgeError):
            dv.release(frame, tmp_path / "out", column="x", mechanism=coin, **asked)
    assert list(tmp_path.iterdir()) == []


def test_no_cell_is_logged_while_spark_works_for_us() -> None:
    """PySpark itself writes what it raises, with the cell, to where errors are shown; elsewhere it goes on doing so."""
    loggers = [logging.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    with session.unlogged():
        assert [one.disabled for one in loggers] == [True, True]
    assert [one.disabled for one in loggers] == [False, False]
