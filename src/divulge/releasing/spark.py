"""The same on Spark: one grouping for counts, after which a release is one pass and one write (extra: spark).

Every task attempt draws under fresh keys, and only the attempt that Spark commits is published. A released frame is
never handed back lazily: Spark would compute it anew when it is used again, and two draws about one value leak more.
"""

import os
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge import stopping
from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.tables.columnar import is_hidden, parts_of
from divulge.files.tables.partitions import Partitions, partitions_of
from divulge.files.tables.source import Source, reading, require_moments, validate
from divulge.files.tables.table import PARQUET, open_table
from divulge.model.labels import label_of
from divulge.model.shown import printable
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.engine import Engine, Progress
from divulge.releasing.estimating.contingency import Contingency, Tally
from divulge.releasing.output.bare import plain_batch, plain_schema
from divulge.releasing.output.catalog import Staging, digest_of_rows
from divulge.releasing.output.sinks import digest, flush, of_parts, parts_in
from divulge.releasing.planning.plan import Faults, Plan
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.impression import MOST_LOOKED_AT, Impression, names_in, numbers_in
from divulge.releasing.session import (
    IN_SILENCE,
    MOMENTS,
    WHOLE,
    Address,
    TableName,
    active,
    durations,
    is_address,
    isolate,
    name_of,
    path_at,
    placed,
    quoted,
    refuse_absent,
    refuse_cancelled,
    refuse_other_pythons,
    require_version,
    set_for_a_while,
    table_of,
    unlogged,
    working,
)

_FILES_AT_ONCE = 1000
"""Tasks that read files through at most: more than a cluster has cores, and few enough to be planned at once."""

Place = Path | Address | TableName
"""Where rows go: a folder of this machine or at an address, or a table."""

NAME = "Spark DataFrame"
"""What messages call a table that has no other name."""

_PLAIN = "UTF8_BINARY"
"""The collation of a column of text that has no other."""

_SPARKS_OWN = ("CalendarIntervalType", "YearMonthIntervalType")
"""Types of which Arrow gets nothing."""


def open_frame(frame: Any) -> Source:
    """Return the Source of a PySpark DataFrame; its batches come to this machine one partition at a time."""
    pa = require("pyarrow", "tables")
    require_version(frame.sparkSession)
    require_kinds(frame)
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
        with working(NAME, frame.sparkSession):
            for row in called(frame, by_place(columns)).mapInArrow(packed, "batch binary").toLocalIterator():
                read = pa.ipc.open_stream(bytes(row["batch"])).read_all().rename_columns(list(columns))
                yield from read.cast(wanted).to_batches()

    return Source(NAME, schema, None, stream)


def contingency(frame: Any, columns: tuple[str, ...]) -> Contingency:
    """Return how often each combination of values of `columns` occurs in a DataFrame, grouped by Spark."""
    source = open_frame(frame)
    source.require_values(columns)
    functions = require("pyspark.sql.functions", "spark")
    names = by_place(columns)
    with working(source.name, frame.sparkSession):
        rows = functions.count(functions.lit(1)).alias("rows")
        found = called(frame, names).groupBy(*names.values()).agg(rows).toArrow()
    with reading(source.name):
        for batch in found.rename_columns([*names, "rows"]).to_batches():
            sound(batch)
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
    """Return the DataFrame of some columns, each under another name, in which texts are equal if all letters are.

    A column with a collation, such as UTF8_LCASE, would have "A" and "a" counted as one.
    """
    functions, kinds = require("pyspark.sql.functions", "spark"), {one.name: one.dataType for one in frame.schema}

    def column(given: str) -> Any:
        found = functions.col(quoted(given))
        return found.cast("string") if getattr(kinds[given], "collation", _PLAIN) != _PLAIN else found

    return frame.select(*(column(given).alias(name) for given, name in names.items()))


def require_kinds(frame: Any) -> None:
    """Refuse a column of a type that Arrow does not get from Spark."""
    for field in frame.schema:
        if type(field.dataType).__name__ in _SPARKS_OWN:
            raise InputFileError(
                f"{NAME}: column {printable(repr(field.name))} must hold what there is outside of Spark, too; it holds "
                f"{printable(field.dataType.simpleString())}. Hint: cast it to text, or give a DataFrame without it."
            )


def sound(batch: Any) -> Any:
    """Return a batch as it came from Spark; refuse texts that are none, and dates and moments without a text."""
    validate(batch)
    require_moments(batch)
    return batch


def frame_of(table: Any) -> Any:
    """Return a DataFrame as it is; of Parquet files, or of a table by name, one in the running or a new session.

    A file or folder is a path of this machine, or an address of a file system of Hadoop, such as s3a://bucket/folder; a
    table is called table:NAME, or NAME where no file is.
    """
    if type(table).__module__.startswith("pyspark"):
        return table
    if (name := table_of(table)) is not None:
        with working(str(name)):
            return active().table(name.sql)
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
        return read(active(), path, _beside(path))


def _beside(path: Path) -> Partitions | None:
    """Return the columns that the folders in a folder are named after."""
    if not path.is_dir():
        return None
    found = parts_of(path)
    inside = require("pyarrow.parquet", "tables").read_schema(found[0]).names
    return partitions_of(path.name, [part.relative_to(path).parent.parts for part in found], inside)


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
    session = active()
    name = name_of(address)
    with working(name):
        looked = _footers(session, address)
        for schema in looked.schemas:
            _refuse_durations(name, schema)
        return read(session, address, partitions_of(name, looked.folders, looked.names))


@dataclass(frozen=True)
class _Looked:
    """What the footers of the Parquet files at an address say: rows, schemas that Arrow wrote, folders and columns.

    Of a session on another machine, whose files are not to be had from here, the rows are None, and all else is empty.
    """

    rows: int | None = None
    schemas: Sequence[Any] = ()
    folders: Sequence[Sequence[str]] = ()
    names: Sequence[str] = ()


def _footers(session: Any, address: str) -> _Looked:
    """Return what the Parquet files at an address say of themselves."""
    pa, schemas, shapes, rows = require("pyarrow", "tables"), list[Any](), set[Any](), 0
    folders, names = list[Sequence[str]](), list[str]()
    if getattr(session, "_jvm", None) is None:
        return _Looked()
    org, settings = session._jvm.org.apache, session._jsc.hadoopConfiguration()
    top = org.hadoop.fs.Path(address)
    files = top.getFileSystem(settings).listFiles(top, True)
    while files.hasNext():
        status = files.next()
        below = str(status.getPath().toUri().getPath())[len(str(top.toUri().getPath())) :].strip("/").split("/")
        if any(map(is_hidden, below)) or not (below[-1].endswith(".parquet") or below == [""]):
            continue
        folders.append(below[:-1])
        source = org.parquet.hadoop.util.HadoopInputFile.fromStatus(status, settings)
        reader = org.parquet.hadoop.ParquetFileReader.open(source)
        try:
            rows += reader.getRecordCount()
            fields = reader.getFileMetaData().getSchema().getFields()
            shapes.add(tuple(sorted(str(field).replace("required ", "optional ") for field in fields)))
            names = [str(field.getName()) for field in fields]
            written = reader.getFileMetaData().getKeyValueMetaData().get("ARROW:schema")
        finally:
            reader.close()
        if written:
            schemas.append(pa.ipc.read_schema(pa.py_buffer(b64decode(written))))
    if len(shapes) > 1:  # Spark takes the columns of one file, and those that another lacks for empty
        raise InputFileError(f"{name_of(address)}: must have the same columns and types in all files.")
    return _Looked(rows, schemas, folders, names)


def _refuse_durations(name: str, schema: Any) -> None:
    if spans := durations(schema):
        raise InputFileError(
            f"{name}: must have no durations, for Spark, which reads them as whole numbers; column {spans[0]!r} "
            "is one. Hint: write it as text, or give a DataFrame without it."
        )


def files_of(frame: Any) -> list[str]:
    """Return what a DataFrame is read from, paths of this machine and addresses: a file, or the folder of several."""
    with working(NAME):
        files = sorted({placed(file) for file in frame.inputFiles()})
    several = Counter(map(os.path.dirname, files))
    return sorted({folder if several[folder := os.path.dirname(file)] > 1 else file for file in files})


def read(session: Any, path: Path | str, beside: Partitions | None = None) -> Any:
    """Return the DataFrame of a Parquet file, or of those in a folder: what its name says, as it stands in the files.

    A text is an address of a file system of Hadoop. Columns that folders are named after have the types and texts of
    `beside`; without it Spark looks at no name of a folder. It takes some signs in a path for a pattern.
    """
    reader = session.read.option("recursiveFileLookup", str(beside is None).lower())
    for name in IN_SILENCE:
        reader = reader.option(name, "false")
    if path.is_dir() if isinstance(path, Path) else not path.endswith(".parquet"):
        reader = reader.option("pathGlobFilter", "*.parquet")
    address = path if isinstance(path, str) else f"file://{path.absolute()}"
    with set_for_a_while(session, {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}):
        found = reader.parquet(literally(address))
    return found if beside is None else _as_named(found, beside)


def literally(address: str) -> str:
    """Return an address that Spark takes for no pattern.

    >>> print(literally("s3a://bucket/a[1]"))
    s3a://bucket/a\\[1\\]
    """
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", address)


def _as_named(frame: Any, beside: Partitions) -> Any:
    """Return a DataFrame whose columns from names of folders are whole numbers and texts as on this machine."""
    functions, named = require("pyspark.sql.functions", "spark"), {field.name: field for field in beside.fields}

    def column(name: str) -> Any:
        found = functions.col(quoted(name))
        if name in named and str(named[name].type) == "int64":
            return found.cast("bigint").alias(name)
        if name in named and beside.as_bytes:  # each byte became a letter of its own
            return functions.decode(functions.encode(found, "ISO-8859-1"), "UTF-8").alias(name)
        return found

    return frame.select(*map(column, frame.columns))


def engine(table: Any) -> Engine:
    """Return the engine that releases a DataFrame, or the table at a path, with Spark."""
    table = placed(table)
    frame = frame_of(table)
    source = open_frame(frame)
    if frame is not table:
        local = not (is_address(table) or table_of(table)) and Path(table).exists()
        source = replace(source, name=name_of(table), path=Path(table) if local else None)

    def held() -> int | None:
        """Return how many rows the footers of a file or folder promise; of a table by name nothing does."""
        if is_address(table):
            return _footers(frame.sparkSession, table).rows
        return open_table(table).rows if source.path is not None else None

    def run(plan: Plan, temporary: Place, progress: Progress | None, tally: Tally | None) -> int:
        _write(frame, plan, temporary)
        promised = held()
        if isinstance(temporary, Staging):
            with working(temporary.name, frame.sparkSession):
                rows = frame.sparkSession.table(temporary.sql).count()
                promised = frame.count() if promised is None and not temporary.commits else promised
        elif isinstance(temporary, Address):
            with working(temporary.name):
                rows = _footers(frame.sparkSession, str(temporary)).rows or 0
        else:
            rows = open_table(temporary).rows or 0
        if promised is not None and rows != promised:
            raise DivulgeError(f"{printable(source.name)}: Spark wrote another number of rows than the source holds.")
        return rows

    def reread(final: Place) -> Any:
        if isinstance(final, TableName):
            return frame.sparkSession.table(final.sql)
        return read(frame.sparkSession, str(final) if isinstance(final, Address) else final)

    def sealed(place: Place) -> str:
        if isinstance(place, TableName):
            return digest_of_rows(frame.sparkSession.table(place.sql))
        return digest_of(frame.sparkSession, place)

    return Engine(source, run, frame, lambda key, columns: known_by(frame, key, columns), reread, sealed)


def digest_of(session: Any, folder: Path | Address) -> str:
    """Return the digest of a folder of Parquet files, each of which a worker reads, and waits until it is on the disk.

    It is the one that `sinks.digest` reads on this machine. Of files at an address Spark itself reads each as a whole.
    """
    pa = require("pyarrow", "tables")
    if isinstance(folder, Address):
        return _digest_at(session, folder)
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


def _digest_at(session: Any, place: Address) -> str:
    functions = require("pyspark.sql.functions", "spark")
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    for name in IN_SILENCE:
        reader = reader.option(name, "false")
    with working(place.name):
        found = reader.load(literally(str(place))).select("path", functions.sha2("content", 256).alias("digest"))
        read = {path_at(row["path"]): row["digest"] for row in found.collect()}
    top = path_at(str(place))
    parts = {path.removeprefix(f"{top}/"): one for path, one in read.items() if path.endswith(".parquet")}
    return read[top] if list(read) == [top] else of_parts(parts)


def digest_at(table: str | os.PathLike[str], of_rows: bool = False) -> str | None:
    """Return the digest of a file or folder, here or at an address, or of the rows of it or of a table by name.

    Of a table by name there is no other one: None.
    """
    if of_rows:
        return digest_of_rows(frame_of(table))
    path = placed(table)
    if table_of(path) is not None:
        return None
    if is_address(path):
        return digest_of(active(), Address(os.fspath(path)))
    if not Path(path).exists():
        return None
    return digest_of(active(), Path(path)) if Path(path).is_dir() else digest(Path(path))


def known_by(frame: Any, key: Key, columns: Sequence[str]) -> Fingerprint:
    """Return what a ledger knows a DataFrame by: the workers read the rows, and give back what adds up."""
    pa = require("pyarrow", "tables")
    source = open_frame(frame)
    names = names_in(source.schema, columns)
    with working(NAME, frame.sparkSession):
        first = called(frame, by_place(names)).limit(MOST_LOOKED_AT).toArrow().combine_chunks().rename_columns(names)
        numbers = numbers_in(first.to_batches()[0]) if first.num_rows else ()
        secret = key.secret

        def seen(batches: Iterator[Any]) -> Iterator[Any]:
            found = Impression(Key(secret), names, numbers)
            for batch in batches:
                found.add(sound(batch.rename_columns(names)))
            yield pa.record_batch({"impression": [found.to_bytes()]})

        parts = called(frame, by_place(names)).mapInArrow(seen, "impression binary").toLocalIterator()
        total = Impression(key, names, numbers)
        for row in parts:
            total.merge(Impression.from_bytes(bytes(row["impression"]), key, names, numbers))
    return total.fingerprint()


_ROWS_A_FILE = 1 << 22
"""Rows in a file that is written: a worker reads a file into its memory for the digest."""


def _write(frame: Any, plan: Plan, temporary: Place) -> None:
    """Write the released rows as a folder of Parquet files or into a new table, in one pass over the frame."""
    types = require("pyspark.sql.pandas.types", "spark")
    wanted = list(dict.fromkeys([*plan.columns, *plan.protected]))
    schema = plain_schema(plan.schema)
    if spans := durations(schema):
        raise DivulgeError.of(
            "source", "have no durations that go out as they are, for Spark, which writes them as whole numbers",
            f"column {printable(repr(spans[0]))}", "one", "write it as text, or leave it out (keep=, --keep).",
        )  # fmt: skip
    there = Counter(name.lower() for name in {*frame.columns, *schema.names})
    alike = any(there[name.lower()] > 1 for name in (*wanted, *schema.names))
    if alike and frame.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        raise DivulgeError.of(
            "source", "have columns whose names differ by more than case, for Spark", "one pair", "not",
            "rename one, leave both out (keep=, --keep), or set spark.sql.caseSensitive.",
        )  # fmt: skip

    def released(batches: Iterator[Any]) -> Iterator[Any]:
        for given in batches:
            batch, faults = sound(given.rename_columns(wanted)), Faults()
            coded = plan.secrets(plan.encoded(batch), faults)
            faults.refuse()
            if batch.num_rows:
                yield plain_batch(plan.released(batch, plan.draws(coded)), schema).rename_columns(numbered.names)

    numbered = require("pyarrow", "tables").schema(
        [field.with_name(name) for field, name in zip(schema, by_place(schema.names).values(), strict=True)]
    )
    into = temporary.create(types.from_arrow_schema(schema)) if isinstance(temporary, Staging) else None
    try:
        with unlogged(), set_for_a_while(frame.sparkSession, MOMENTS | WHOLE):
            kinds = types.from_arrow_schema(numbered)
            drawn = called(frame, by_place(wanted)).mapInArrow(released, kinds).toDF(*schema.names)
            if into is not None:
                drawn.write.insertInto(into)
                return
            where = f"file://{temporary.absolute()}" if isinstance(temporary, Path) else str(temporary)
            drawn.write.option("maxRecordsPerFile", _ROWS_A_FILE).parquet(where)
    except Exception as error:  # whatever Spark raises, the rows without a secret are the likeliest cause: count them
        stopping.look()
        refuse_cancelled(NAME, error)
        refuse_other_pythons(error)
        refuse_absent(NAME, error)
        with working(NAME, frame.sparkSession):
            _faults(frame, plan).refuse()
        raise DivulgeError("Spark could not carry out the release; nothing was published.") from error


def _faults(frame: Any, plan: Plan) -> Faults:
    """Return how many rows of the whole frame have no secret."""
    pa = require("pyarrow", "tables")

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        faults = Faults()
        for batch in batches:
            plan.secrets(plan.encoded(sound(batch.rename_columns(list(plan.protected)))), faults)
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
