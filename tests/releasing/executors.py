"""A release whose executors are killed in both stages, or whose driver; run by `test_spark.py` alone.

    python executors.py FOLDER
    python executors.py FOLDER driver       (to an address; ends by SIGKILL while rows are written)
    python executors.py FOLDER again
    python executors.py FOLDER driver table (into a table of a catalog on the disk, the same)
    python executors.py FOLDER again table

A session has one master for as long as its process lives, so that this is a process of its own.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

import divulge as dv

ROWS = 30_000


def killed(stage: str, marks: str) -> Any:
    """Return what passes rows on, and once kills the Java process of the executor that asked for them."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            try:
                os.close(os.open(os.path.join(marks, stage), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            process = os.getpid()
            while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
                process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])  # its parent
            Path(marks, stage).write_text(str(process))
            os.kill(process, signal.SIGKILL)

    return run


def driver_killed(driver: int, folder: str) -> Any:
    """Return what passes rows on, and kills the process that asked for the release while they are written."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for i, batch in enumerate(batches):
            yield batch
            under_way = (".divulge*.partial/new", "warehouse/divulge_partial_*_new/_temporary")
            if i and any(list(Path(folder).glob(one)) for one in under_way):
                os.kill(driver, signal.SIGKILL)

    return run


def session_in(folder: Path, master: str) -> SparkSession:
    """Start a session in which lake://bucket/top is a folder of this machine, and the catalog a database in it."""
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    settings = {
        "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m", "spark.executorEnv.JAVA_HOME": os.environ["JAVA_HOME"],
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/meta;create=true",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={folder}/derby.log",
        "spark.hadoop.fs.lake.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        "spark.hadoop.fs.viewfs.overload.scheme.target.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.hadoop.fs.viewfs.mounttable.bucket.link./top": folder.as_uri(),
    }  # fmt: skip
    session = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def main(folder: Path, how: str = "", where: str = "address") -> None:
    """Release through two stages, and hold the rows against what went in."""
    session = session_in(folder, "local[1]" if how else "local-cluster[2,1,512]")
    if how:
        frame = session.range(0, ROWS, 1, 1).selectExpr("id", "cast(id % 2 as string) as x")
        if how == "driver":
            frame = frame.mapInArrow(driver_killed(os.getpid(), str(folder)), "id long, x string")
        if where == "table":
            os.chdir(folder)
            hidden = [row["tableName"] for row in session.sql("show tables").collect()]
            assert [name.startswith("divulge_partial_") for name in hidden] == [True] * (how == "again")
            release(frame, "table:out")
            hold(folder, session.table("out").toArrow(), "table:out")
            assert [row["tableName"] for row in session.sql("show tables").collect()] == ["out"]
        else:
            release(frame)
            hold(folder)
        assert not list(folder.glob(".divulge*"))
        session.stop()
        return
    (folder / "marks").mkdir()
    marks = str(folder / "marks")
    frame = session.range(0, ROWS, 1, 2).selectExpr("id", "cast(id % 2 as string) as x")
    frame = frame.mapInArrow(killed("before", marks), "id long, x string").repartition(2, "id")
    frame = frame.mapInArrow(killed("after", marks), "id long, x string")
    release(frame)
    first, second = (Path(marks, stage).read_text() for stage in ("before", "after"))
    assert first.isdigit()
    assert second.isdigit()
    assert first != second
    hold(folder)
    session.stop()


def release(frame: Any, sink: str = "lake://bucket/top/out") -> None:
    flip = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["0", "1"], ["0", "1"])
    receipt = dv.release(frame, sink, column="x", mechanism=flip, per_row=True, ledger=None)
    assert receipt.rows == ROWS


def hold(folder: Path, table: Any = None, place: str = "") -> None:
    """Hold the rows that are there against those that went in."""
    released = pq.read_table(folder / "out") if table is None else table
    assert Counter(released["id"].to_pylist()) == dict.fromkeys(range(ROWS), 1)
    kept = np.mean(np.array(released["id"]) % 2 == np.array(released["x_perturbed"].cast(pa.int64())))
    assert abs(kept - 0.75) < 6 * (0.75 * 0.25 / ROWS) ** 0.5
    assert dv.Receipt.read(folder / "out.receipt.json").describes(place or folder / "out")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
