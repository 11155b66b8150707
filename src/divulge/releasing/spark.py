"""The same on Spark: one grouping for counts, after which a release is one pass and one write (extra: spark).

Every task attempt draws under fresh keys, and only the attempt that Spark commits is published. A released frame is
never handed back lazily: Spark would compute it anew when it is used again, and two draws about one value leak more.
"""

import os
import re
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np

from divulge import stopping
from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.tables.columnar import tell_of_partitions
from divulge.files.tables.source import Source
from divulge.files.tables.table import PARQUET, open_table
from divulge.model.labels import label_of
from divulge.model.shown import printable
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.engine import Engine, Progress
from divulge.releasing.estimating.contingency import Contingency, Tally
from divulge.releasing.output.bare import plain_batch, plain_schema
from divulge.releasing.output.sinks import digest, flush, of_parts, parts_in
from divulge.releasing.planning.plan import Faults, Plan
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.impression import MOST_LOOKED_AT, Impression, names_in, numbers_in

_FILES_AT_ONCE = 1000
"""Tasks that read files through at most: more than a cluster has cores, and few enough to be planned at once."""

NAME = "Spark DataFrame"
"""What messages call a table that has no other name."""


def open_frame(frame: Any) -> Source:
    """Return the Source of a PySpark DataFrame; its batches come to this machine one partition at a time."""
    pa = require("pyarrow", "tables")
    isolate(frame.sparkSession)
    with working(NAME):
        schema = frame.limit(0).toArrow().schema

    def packed(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            packet = pa.BufferOutputStream()
            with pa.ipc.new_stream(packet, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch({"batch": pa.array([packet.getvalue().to_pybytes()], pa.binary())})

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        wanted = pa.schema([schema.field(name) for name in columns])
        with working(NAME):
            for row in called(frame, by_place(columns)).mapInArrow(packed, "batch binary").toLocalIterator():
                read = pa.ipc.open_stream(bytes(row["batch"])).read_all().rename_columns(list(columns))
                yield from read.cast(wanted).to_batches()

    return Source(NAME, schema, None, stream)


def isolate(session: Any) -> None:
    """Let the workers that run functions of ours look for no module in the folder that they are started in."""
    context = getattr(session, "_sc", None)  # of a session that is a client of another machine there is none
    if context is not None:
        context.environment["PYTHONSAFEPATH"] = "1"


@contextmanager
def working(name: str) -> Generator[None]:
    """Turn what Spark raises, which can quote cells, into an error that names the table and nothing else."""
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        yield
    except (errors.PySparkException, bridge.Py4JError) as error:
        stopping.look()  # a signal ends what Spark does, too, and nothing is damaged
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

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + column.replace("`", "``") + "`"


def contingency(frame: Any, columns: tuple[str, ...]) -> Contingency:
    """Return how often each combination of values of `columns` occurs in a DataFrame, grouped by Spark."""
    source = open_frame(frame)
    source.require_values(columns)
    functions = require("pyspark.sql.functions", "spark")
    names = by_place(columns)
    with working(source.name):
        rows = functions.count(functions.lit(1)).alias("rows")
        found = called(frame, names).groupBy(*names.values()).agg(rows).toArrow()
    counts = found.column("rows").to_numpy()
    labels, where = zip(*(_labels(found.column(names[name]).combine_chunks()) for name in columns), strict=True)
    cells, at = np.unique(np.stack(where, axis=1), axis=0, return_inverse=True)
    total = np.zeros(len(cells), dtype=np.int64)
    np.add.at(total, at.ravel(), counts)
    return Contingency(columns, labels, cells, total)


def _labels(column: Any) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the values of a column, None for the missing ones at their end, and which of them is in each row."""
    values, where, _ = dictionary_of(column)
    keys = list(map(label_of, [*values, None]))
    known = list(dict.fromkeys(key for key in keys if key is not None))
    order = {key: i for i, key in enumerate(known)}
    moved = np.array([order.get(key, len(known)) for key in keys], dtype=np.int64)[where]
    return (*known, *([None] if (moved == len(known)).any() else [])), moved


def by_place(columns: Sequence[str]) -> dict[str, str]:
    """Return what Spark calls columns in here: names can have dots, or be what Spark or a query calls its own.

    >>> by_place(["a.b", "count"])
    {'a.b': 'column0', 'count': 'column1'}
    """
    return {column: f"column{i}" for i, column in enumerate(columns)}


def called(frame: Any, names: Mapping[str, str]) -> Any:
    """Return the DataFrame of some columns, each under another name."""
    functions = require("pyspark.sql.functions", "spark")
    return frame.select(*(functions.col(quoted(column)).alias(name) for column, name in names.items()))


def frame_of(table: Any) -> Any:
    """Return a DataFrame as it is; of Parquet files, or of a table by name, one in the running or a new session.

    A file or folder is a path of this machine, or an address of a file system of Hadoop, such as s3a://bucket/folder.
    """
    if type(table).__module__.startswith("pyspark"):
        return table
    table = placed(table)
    if not isinstance(table, (str, os.PathLike)):
        raise DivulgeError.of(
            "table", "be a path or a PySpark DataFrame for Spark", "it", f"a {type(table).__name__}",
            "tables in memory are counted on this machine.",
        )  # fmt: skip
    if is_address(table):
        return _at_address(os.fspath(table))
    path = Path(table)
    if not path.exists() and (named := _named(os.fspath(table))) is not None:
        return named
    if path.exists() and not path.is_dir() and path.suffix.lower() not in PARQUET:
        raise InputFileError(
            f"{printable(path.name)}: must be a Parquet file or a folder of them, for Spark. Hint: read it with your "
            "session, and give the DataFrame."
        )
    source = open_table(path)  # refuses what is missing, damaged, or of one type here and of another there
    _refuse_durations(source.name, source.schema)
    with working(path.name):
        return read(_session(), path)


def is_address(table: Any) -> bool:
    """Say whether a table is named by an address of a file system of Hadoop.

    >>> is_address("s3a://bucket/people"), is_address("people.parquet"), is_address("/data/a:b")
    (True, False, False)
    """
    return isinstance(table, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", table) is not None


def name_of(table: str | os.PathLike[str]) -> str:
    """Return what messages and receipts call a table at a path or an address, or with a name: its last part."""
    parts = urlsplit(os.fspath(table)) if is_address(table) else None
    if parts is None:
        return Path(table).name
    return parts.path.rstrip("/").rpartition("/")[2] or parts.hostname or parts.scheme  # and never what is before an @


def placed(table: Any) -> Any:
    """Return the path that a file: address is of; all else as it is.

    >>> placed("file:///data/a%20b"), placed("s3a://bucket/people")
    ('/data/a b', 's3a://bucket/people')
    """
    local = isinstance(table, str) and re.match(r"file:/(?!/[^/])", table)
    return url2pathname(urlsplit(table).path) if local else table


def _named(name: str) -> Any:
    """Return the table that the catalog of the running session has under a name, such as "people", or None."""
    sql = require("pyspark.sql", "spark")
    session = sql.SparkSession.getActiveSession()
    if session is None or not re.fullmatch(r"[\w.`]+", name):
        return None
    with working(name):
        return session.table(name) if session.catalog.tableExists(name) else None


def _at_address(address: str) -> Any:
    """Return the DataFrame of the Parquet files at an address, after a look at their footers."""
    session = _session()
    with working(name_of(address)):
        found = read(session, address)
        _, schemas, folders = _footers(session, address)
    tell_of_partitions(name_of(address), folders, found.columns)
    for schema in schemas:
        _refuse_durations(name_of(address), schema)
    return found


def _footers(session: Any, address: str) -> tuple[int | None, list[Any], set[str]]:
    """Return the rows of the Parquet files at an address, the schemas that Arrow wrote into them, and names of folders.

    None, and nothing else, where the session is on another machine, whose files are not to be had from here.
    """
    pa, schemas, shapes, rows, folders = require("pyarrow", "tables"), list[Any](), set[Any](), 0, set[str]()
    if getattr(session, "_jvm", None) is None:
        return None, [], folders
    org, settings = session._jvm.org.apache, session._jsc.hadoopConfiguration()
    top = org.hadoop.fs.Path(address)
    files = top.getFileSystem(settings).listFiles(top, True)
    while files.hasNext():
        status = files.next()
        if not status.getPath().getName().endswith(".parquet") and not status.getPath().equals(top):
            continue
        below = str(status.getPath().toUri().getPath())[len(str(top.toUri().getPath())) :]
        folders.update(below.split("/")[:-1])
        source = org.parquet.hadoop.util.HadoopInputFile.fromStatus(status, settings)
        reader = org.parquet.hadoop.ParquetFileReader.open(source)
        try:
            rows += reader.getRecordCount()
            fields = reader.getFileMetaData().getSchema().getFields()
            shapes.add(tuple(sorted(str(field).replace("required ", "optional ") for field in fields)))
            written = reader.getFileMetaData().getKeyValueMetaData().get("ARROW:schema")
        finally:
            reader.close()
        if written:
            schemas.append(pa.ipc.read_schema(pa.py_buffer(b64decode(written))))
    if len(shapes) > 1:  # Spark takes the columns of one file, and those that another lacks for empty
        raise InputFileError(f"{name_of(address)}: must have the same columns and types in all files.")
    return rows, schemas, folders


def _refuse_durations(name: str, schema: Any) -> None:
    types = require("pyarrow.types", "tables")
    if spans := [field.name for field in schema if types.is_duration(field.type)]:
        raise InputFileError(
            f"{name}: must have no durations, for Spark, which reads them as whole numbers; column {spans[0]!r} "
            "is one. Hint: write it as text, or give a DataFrame without it."
        )


def _session() -> Any:
    """Return the session that runs, or a new one."""
    spark, sql = require("pyspark", "spark"), require("pyspark.sql", "spark")
    if "SPARK_REMOTE" in os.environ or sql.SparkSession.getActiveSession() is not None:
        return sql.SparkSession.builder.getOrCreate()
    spark.SparkContext.getSystemProperty("spark.master")  # which starts Java, with what the site has set
    conf = spark.SparkConf()
    closed(conf)
    found = sql.SparkSession.builder.config(conf=conf).getOrCreate()
    on_python(found, conf.get("spark.pyspark.python", None))
    return found


def on_python(session: Any, python: str | None) -> None:
    """Let the workers of a new session run this Python: what its settings say of it is read by `spark-submit` alone."""
    context = getattr(session, "_sc", None)
    if python is not None and context is not None and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = python


def closed(conf: Any) -> None:
    """Let a new session on this machine be reached from this machine alone, with a secret, where nothing else is set.

    Spark's page shows names of columns and files, and its ports take work, from whoever reaches them.
    """
    if not re.fullmatch(r"local(\[.*\])?", conf.get("spark.master", "local")):  # local-cluster takes no made-up secret
        return
    here = {"spark.pyspark.python": sys.executable, "spark.ui.enabled": "false", "spark.authenticate": "true",
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}  # fmt: skip
    for name, value in here.items():
        conf.setIfMissing(name, value)


def read(session: Any, path: Path | str) -> Any:
    """Return the DataFrame of a Parquet file, or of those in a folder: what its name says, as it stands in the files.

    A text is an address of a file system of Hadoop.

    Spark takes some signs in a path for a pattern, and folders called NAME=VALUE for a column.
    """
    reader = session.read.option("recursiveFileLookup", "true")
    for name in ("ignoreCorruptFiles", "ignoreMissingFiles"):  # a session may ask for rows to be lost without a word
        reader = reader.option(name, "false")
    if path.is_dir() if isinstance(path, Path) else not path.endswith(".parquet"):
        reader = reader.option("pathGlobFilter", "*.parquet")
    address = path if isinstance(path, str) else f"file://{path.absolute()}"
    return reader.parquet(re.sub(r"([\\*?\[\]{}])", r"\\\1", address))


def engine(table: Any) -> Engine:
    """Return the engine that releases a DataFrame, or the table at a path, with Spark."""
    table = placed(table)
    frame = frame_of(table)
    source = open_frame(frame)
    if frame is not table:
        local = not is_address(table) and Path(table).exists()
        source = replace(source, name=name_of(table), path=Path(table) if local else None)

    def held() -> int | None:
        """Return how many rows the footers of a file or folder promise; of a table by name nothing does."""
        if is_address(table):
            return _footers(frame.sparkSession, table)[0]
        return open_table(table).rows if source.path is not None else None

    def run(plan: Plan, temporary: Path, progress: Progress | None, tally: Tally | None) -> int:
        _write(frame, plan, temporary)
        rows = open_table(temporary).rows or 0
        if (promised := held()) is not None and rows != promised:
            raise DivulgeError(f"{printable(source.name)}: Spark read another number of rows than its files hold.")
        return rows

    def reread(final: Path) -> Any:
        return read(frame.sparkSession, final)

    def sealed(folder: Path) -> str:
        return digest_of(frame.sparkSession, folder)

    return Engine(source, run, frame, lambda key, columns: known_by(frame, key, columns), reread, sealed)


def digest_of(session: Any, folder: Path) -> str:
    """Return the digest of a folder of Parquet files, each of which a worker reads, and waits until it is on the disk.

    It is the one that `sinks.digest` reads on this machine.
    """
    pa = require("pyarrow", "tables")
    names = parts_in(folder)
    several = max(1, min(len(names), _FILES_AT_ONCE))

    def read_through(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            own = [names[i] for i in batch.column(0).to_pylist()]
            for name in own:
                flush(folder / name)
            yield pa.record_batch({"name": own, "digest": [digest(folder / name) for name in own]})

    isolate(session)
    with working(folder.name):
        places = session.range(0, len(names), 1, several)
        found = places.mapInArrow(read_through, "name string, digest string").toArrow().to_pylist()
    return of_parts({row["name"]: row["digest"] for row in found})


def digest_at(table: str | os.PathLike[str]) -> str | None:
    """Return the digest of a file or folder of this machine; None of a table by name or at an address elsewhere."""
    path = placed(table)
    if is_address(path) or not Path(path).exists():
        return None
    return digest_of(_session(), Path(path)) if Path(path).is_dir() else digest(Path(path))


def known_by(frame: Any, key: Key, columns: Sequence[str]) -> Fingerprint:
    """Return what a ledger knows a DataFrame by: the workers read the rows, and give back what adds up."""
    pa = require("pyarrow", "tables")
    source = open_frame(frame)
    names = names_in(source.schema, columns)
    with working(NAME):
        first = called(frame, by_place(names)).limit(MOST_LOOKED_AT).toArrow().combine_chunks().rename_columns(names)
        numbers = numbers_in(first.to_batches()[0]) if first.num_rows else ()
        secret = key.secret

        def seen(batches: Iterator[Any]) -> Iterator[Any]:
            found = Impression(Key(secret), names, numbers)
            for batch in batches:
                found.add(batch.rename_columns(names))
            yield pa.record_batch({"impression": [found.to_bytes()]})

        parts = called(frame, by_place(names)).mapInArrow(seen, "impression binary").toLocalIterator()
        total = Impression(key, names, numbers)
        for row in parts:
            total.merge(Impression.from_bytes(bytes(row["impression"]), key, names, numbers))
    return total.fingerprint()


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
    there = Counter(name.lower() for name in {*frame.columns, *schema.names})
    alike = any(there[name.lower()] > 1 for name in (*wanted, *schema.names))
    if alike and frame.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        raise DivulgeError.of(
            "source", "have columns whose names differ by more than case, for Spark", "one pair", "not",
            "rename one, leave both out (keep=, --keep), or set spark.sql.caseSensitive.",
        )  # fmt: skip

    def released(batches: Iterator[Any]) -> Iterator[Any]:
        for given in batches:
            batch = given.rename_columns(wanted)
            faults = Faults()
            coded = plan.secrets(plan.encoded(batch), faults)
            faults.refuse()
            if batch.num_rows:
                yield plain_batch(plan.released(batch, plan.draws(coded)), schema).rename_columns(numbered.names)

    numbered = require("pyarrow", "tables").schema(
        [field.with_name(name) for field, name in zip(schema, by_place(schema.names).values(), strict=True)]
    )
    try:
        with _zones_kept(frame.sparkSession):
            drawn = called(frame, by_place(wanted)).mapInArrow(released, types.from_arrow_schema(numbered))
            drawn.toDF(*schema.names).write.parquet(f"file://{temporary.absolute()}")
    except Exception as error:  # whatever Spark raises, the rows without a secret are the likeliest cause: count them
        stopping.look()
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
            plan.secrets(plan.encoded(batch.rename_columns(list(plan.protected))), faults)
        unknown, missing = ([tally.get(part.columns, 0) for part in plan.parts] for tally in faults.tallies)
        yield pa.record_batch({"part": range(len(plan.parts)), "unknown": unknown, "missing": missing})

    total = Faults()
    for row in (
        called(frame, by_place(plan.protected)).mapInArrow(counted, "part long, unknown long, missing long").collect()
    ):
        for tally, count in zip(total.tallies, (row["unknown"], row["missing"]), strict=True):
            if count:
                columns = plan.parts[row["part"]].columns
                tally[columns] = tally.get(columns, 0) + count
    return total
