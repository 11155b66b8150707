"""Columns of files: drawn, released and counted, beside what every release has to do."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv
from divulge.releasing.drawing.alias import AliasTable
from divulge.releasing.drawing.sampling import Keystream, draw
from growth.work import FOLDER, Goal, Maker, Task, Work, sources_now, stochastic

VALUES = 1000
PASSED = "read, drawn, written"


def drawn(kernel: str) -> Maker:
    def maker(rows: int) -> Task:
        table = AliasTable.of(dv.IntegerChannel.of(stochastic(VALUES, VALUES)))
        codes = np.random.default_rng(0).integers(0, VALUES, size=rows, dtype=np.int32)
        draw(table, codes[:10], kernel=kernel)
        return lambda: draw(table, codes, kernel=kernel, threads=1)

    return maker


def taken(rows: int) -> Task:
    """Return rows reads at random places of a table of 8 megabytes, in blocks."""
    table, space = np.arange(1 << 20), np.empty(1 << 15, dtype=np.int64)
    where = np.random.default_rng(0).integers(0, 1 << 20, size=rows)

    def run() -> None:
        for start in range(0, rows, len(space)):
            block = where[start : start + len(space)]
            np.take(table, block, out=space[: len(block)], mode="clip")

    return run


def keystream(rows: int) -> Task:
    stream, space = Keystream(), np.empty(1 << 15, dtype=np.uint32)

    def run() -> None:
        for _ in range(0, rows, len(space)):
            stream.fill(space)

    return run


def column(rows: int) -> Path:
    """Return a Parquet file with a column of a hundred texts."""
    path = FOLDER / f"{rows}.parquet"
    if not path.exists():
        names = pa.array([f"value number {i}" for i in range(100)])
        pq.write_table(pa.table({"x": names.take(pa.array(np.random.default_rng(0).integers(0, 100, rows)))}), path)
    return path


RELEASE = """
import sys, divulge as dv
source, sink = sys.argv[1:]
mechanism = dv.mechanisms.randomized_response([f"value number {i}" for i in range(100)], epsilon=1.0)
for _ in sys.stdin:
    dv.release(source, sink, column="x", mechanism=mechanism, force=True)
    print("done", flush=True)
"""


def released(source: Callable[[], Path]) -> Maker:
    """Return the maker of a release by the sources in a folder, in a process of its own that waits for each order."""

    def maker(rows: int) -> Task:
        environment = os.environ | {"PYTHONPATH": str(source())}
        sink = FOLDER / f"{source().parent.name}-out.parquet"
        process = subprocess.Popen(
            [sys.executable, "-c", RELEASE, str(column(rows)), str(sink)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin
        assert process.stdout
        orders, answers = process.stdin, process.stdout

        def run() -> int:
            orders.write("\n")
            orders.flush()
            if answers.readline() != "done\n":
                raise LookupError("the release failed")
            return resident(process.pid)

        return run

    return maker


def resident(pid: int) -> int:
    """Return the most bytes of memory a process has had, 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def roomy(most: int) -> str:
    """Say how much memory a release has taken that took more than asked."""
    return f"{most >> 20} MiB" if most > 300 << 20 else ""


def copied(rows: int) -> Task:
    path = column(rows)

    def run() -> None:
        with pq.ParquetFile(path) as source, pq.ParquetWriter(FOLDER / "copy.parquet", source.schema_arrow) as sink:
            for batch in source.iter_batches(1 << 20):
                sink.write_batch(batch)

    return run


def passed(rows: int) -> Task:
    """Return what every release has to do: read the file, draw 32 bits a row, look values up by them, write a file."""
    path, stream, space = column(rows), Keystream(), np.empty(1 << 20, dtype=np.uint32)

    def run() -> None:
        with (
            pq.ParquetFile(path, read_dictionary=["x"]) as source,
            pq.ParquetWriter(
                FOLDER / "passed.parquet", pa.schema({"x": pa.dictionary(pa.int32(), pa.string())})
            ) as sink,
        ):
            for batch in source.iter_batches(1 << 20):
                words = space[: len(batch)]
                stream.fill(words)
                column = batch.column(0)
                drawn = np.where(words < 1 << 31, np.asarray(column.indices), words % 100).astype(np.int32)
                values = pa.DictionaryArray.from_arrays(pa.array(drawn), column.dictionary)
                sink.write_batch(pa.record_batch([values], names=["x"]))

    return run


def counted(rows: int) -> Task:
    path = column(rows)
    return lambda: dv.contingency(path, "x")


def by_duckdb(rows: int) -> Task:
    import duckdb

    path = column(rows)
    return lambda: duckdb.sql(f"select x, count(*) from '{path}' group by x").fetchall()


WORK = (
    Work("sampling, compiled", "rows", (10_000, 100_000, 1_000_000, 10_000_000), drawn("numba"),
         {"take from 8 MB": taken, "one keystream": keystream}, (Goal(2, "take from 8 MB"),)),
    Work("sampling, NumPy", "rows", (10_000, 100_000, 1_000_000, 10_000_000), drawn("numpy"),
         {"take from 8 MB": taken, "one keystream": keystream}),
    Work("release, Parquet to Parquet", "rows", (20_000, 200_000, 2_000_000, 20_000_000), released(sources_now),
         {PASSED: passed, "one copy of the file": copied}, (Goal(1.25, PASSED),), roomy),
    Work("count a column", "rows", (20_000, 200_000, 2_000_000, 20_000_000), counted, {"DuckDB": by_duckdb},
         (Goal(1, "DuckDB"),)),
)  # fmt: skip
