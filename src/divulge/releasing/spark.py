"""The same on Spark: one pass and one write for a release, one grouping for counts (extra: spark).

Every task attempt draws under fresh keys, and only the attempt that Spark commits is published. A released frame is
never handed back lazily: Spark would compute it anew when it is used again, and two draws about one value leak more.
"""

import datetime
import os
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.tables.source import Source
from divulge.files.tables.table import PARQUET, open_table
from divulge.model.labels import label_of
from divulge.model.shown import printable
from divulge.releasing.engine import Engine, Progress
from divulge.releasing.estimating.contingency import Contingency, Tally
from divulge.releasing.output.bare import plain_batch, plain_schema
from divulge.releasing.planning.plan import Faults, Plan

NAME = "Spark DataFrame"
"""What messages call a table that has no other name."""


def open_frame(frame: Any) -> Source:
    """Return the Source of a PySpark DataFrame; its batches come to this machine one partition at a time."""
    with working(NAME):
        schema = frame.limit(0).toArrow().schema

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        picked = frame.select(*(quoted(name) for name in columns))
        yield from picked.toArrow().to_batches()

    return Source(NAME, schema, None, stream)


@contextmanager
def working(name: str) -> Generator[None]:
    """Turn what Spark raises, which can quote cells, into an error that names the table and nothing else."""
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        yield
    except (errors.PySparkException, bridge.Py4JError) as error:
        _refuse_other_pythons(error)
        raise InputFileError(
            f"{printable(name)}: cannot be read by Spark ({type(error).__name__}). Hint: it may be damaged, have a "
            "type that Spark does not know, or two columns whose names differ by case alone."
        ) from error


def _refuse_other_pythons(error: BaseException) -> None:
    """Say so when the workers run a Python that lacks a library, or is of another version than this one."""
    said = str(error)
    missing = re.search(r"No module named '([\w.]+)'|PACKAGE_NOT_INSTALLED.*?([\w.]+) >= ", said)
    version = "PYTHON_VERSION_MISMATCH" in said
    if missing or version:
        found = "another version of Python" if missing is None else f"no {missing[1] or missing[2]}"
        raise DivulgeError(
            f"the Python of Spark's workers must have what this one has; it has {found}. Nothing was published. Hint: "
            f"set PYSPARK_PYTHON to a Python with divulge[spark] installed on every worker, such as {sys.executable}."
        ) from error


def quoted(column: str) -> str:
    """Return a column name as Spark takes it literally, whatever characters it has.

    Examples
    --------
    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + column.replace("`", "``") + "`"


def contingency(frame: Any, columns: tuple[str, ...]) -> Contingency:
    """Return how often each combination of values of `columns` occurs in a DataFrame, grouped by Spark."""
    source = open_frame(frame)
    source.require_values(columns)
    functions = require("pyspark.sql.functions", "spark")
    names = [f"c{k}" for k in range(len(columns))]
    moments = [getattr(source.schema.field(column).type, "tz", None) is not None for column in columns]
    with working(source.name):
        picked = frame.select(*(functions.col(quoted(c)).alias(n) for c, n in zip(columns, names, strict=True)))
        found = picked.groupBy(*names).agg(functions.count(functions.lit(1)).alias("count")).collect()
    seen: list[dict[Any, int]] = [{} for _ in columns]
    cells: dict[tuple[int, ...], int] = {}
    for row in found:
        values = [_in_zone(row[name]) if moment else row[name] for name, moment in zip(names, moments, strict=True)]
        keys = list(map(label_of, values))
        cell = tuple(places.setdefault(key, len(places)) for places, key in zip(seen, keys, strict=True))
        cells[cell] = cells.get(cell, 0) + row["count"]
    where = np.array(list(cells), dtype=np.int64).reshape(-1, len(columns))
    for k, places in enumerate(seen):
        order = sorted(places, key=lambda key: key is None)
        moved = np.array([order.index(key) for key in places], dtype=np.int64)
        where[:, k] = moved[where[:, k]]
        seen[k] = {key: i for i, key in enumerate(order)}
    counts = np.array(list(cells.values()), dtype=np.int64)
    return Contingency(columns, tuple(tuple(places) for places in seen), where, counts)


def _in_zone(moment: Any) -> Any:
    """Return a moment, which Spark hands over in the zone of this machine without saying so, in UTC."""
    return None if moment is None else moment.astimezone(datetime.UTC)


def frame_of(table: Any) -> Any:
    """Return a DataFrame as it is; of a Parquet file or folder one in the running or a new session."""
    if type(table).__module__.startswith("pyspark"):
        return table
    if not isinstance(table, (str, os.PathLike)):
        raise DivulgeError.of(
            "table", "be a path or a PySpark DataFrame for Spark", "it", f"a {type(table).__name__}",
            "tables in memory are counted on this machine.",
        )  # fmt: skip
    path = Path(table)
    if path.exists() and not path.is_dir() and path.suffix.lower() not in PARQUET:
        raise InputFileError(
            f"{printable(path.name)}: must be a Parquet file or a folder of them, for Spark. Hint: read it with your "
            "session, and give the DataFrame."
        )
    open_table(path)  # refuses what is missing, damaged, or of one type here and of another there
    builder = require("pyspark.sql", "spark").SparkSession.builder
    with working(path.name):
        return read(builder.getOrCreate(), path)


def read(session: Any, path: Path) -> Any:
    """Return the DataFrame of a Parquet file, or of those in a folder: what its name says, as it stands in the files.

    Spark takes some signs in a path for a pattern, and folders called NAME=VALUE for a column.
    """
    reader = session.read.option("recursiveFileLookup", "true")
    if path.is_dir():
        reader = reader.option("pathGlobFilter", "*.parquet")
    return reader.parquet("file://" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute())))


def engine(table: Any) -> Engine:
    """Return the engine that releases a DataFrame, or the table at a path, with Spark."""
    frame = frame_of(table)
    source = open_frame(frame)
    if frame is not table:
        path = Path(table)
        source = replace(source, name=path.name, path=path)

    def run(plan: Plan, temporary: Path, progress: Progress | None, tally: Tally | None) -> int:
        _write(frame, plan, temporary)
        return open_table(temporary).rows or 0

    def reread(final: Path) -> Any:
        return read(frame.sparkSession, final)

    return Engine(source, run, frame, reread)


@contextmanager
def _zones_kept(session: Any) -> Generator[None]:
    """Let the session write moments as moments: its default, INT96, is read back as a time of day in no zone."""
    name = "spark.sql.parquet.outputTimestampType"
    before = session.conf.get(name)
    session.conf.set(name, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        session.conf.set(name, before)


def _write(frame: Any, plan: Plan, temporary: Path) -> None:
    """Write the released rows as a folder of Parquet files, in one pass over the frame."""
    types = require("pyspark.sql.pandas.types", "spark")
    wanted = list(dict.fromkeys([*plan.columns, *plan.protected]))
    schema = plain_schema(plan.schema)

    def released(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            faults = Faults()
            coded = plan.secrets(plan.encoded(batch), faults)
            faults.refuse()
            if batch.num_rows:
                yield plain_batch(plan.released(batch, coded), schema)

    picked = frame.select(*(quoted(name) for name in wanted))
    try:
        with _zones_kept(frame.sparkSession):
            picked.mapInArrow(released, types.from_arrow_schema(schema)).write.parquet(f"file://{temporary.absolute()}")
    except Exception as error:  # whatever Spark raises, the rows without a secret are the likeliest cause: count them
        _refuse_other_pythons(error)
        with working(NAME):
            _faults(frame, plan).refuse()
        raise DivulgeError("Spark could not carry out the release; nothing was published.") from error


def _faults(frame: Any, plan: Plan) -> Faults:
    """Return how many rows of the whole frame have no secret."""
    pa = require("pyarrow", "tables")

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        faults = Faults()
        for batch in batches:
            plan.secrets(plan.encoded(batch), faults)
        unknown, missing = ([tally.get(part.columns, 0) for part in plan.parts] for tally in faults.tallies)
        yield pa.record_batch({"part": range(len(plan.parts)), "unknown": unknown, "missing": missing})

    picked = frame.select(*(quoted(name) for name in plan.protected))
    total = Faults()
    for row in picked.mapInArrow(counted, "part long, unknown long, missing long").collect():
        for tally, count in zip(total.tallies, (row["unknown"], row["missing"]), strict=True):
            if count:
                columns = plan.parts[row["part"]].columns
                tally[columns] = tally.get(columns, 0) + count
    return total
