"""Tables that answer SQL: DuckDB here and Spark get columns by place, with the same text in SQL as in Python."""

import atexit
import os
import secrets
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge import children, stopping
from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.tables.buffers import of_numbers, of_texts
from divulge.files.tables.source import Source, reading
from divulge.files.tables.table import open_table
from divulge.files.tables.values import type_of_values
from divulge.model.labels import text_of
from divulge.model.shown import printable
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.engine import Progress
from divulge.releasing.estimating.counting import EngineName, by_spark
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.impression import fingerprint

PLACE = "divulge_place"
"""What SQL calls the place of a row among those of its person."""

TABLE = "\0"
"""Stands for the table in SQL: no column has it in its name."""


BITS = "_bits"
"""After a column's place in SQL, what stands there is the bits of its doubles: engines write them differently."""


@dataclass(frozen=True)
class Table:
    """A table on an engine that answers one kind of SQL.

    source : Source; what names and types are read from
    ask : function of (SQL with `TABLE` in the place of the table, columns it reads) that returns an Arrow table
    quote : function of a column's name
    text : the engine's type of text
    declared : whether types are those of a schema; else they follow from what the cells hold
    known : function of a ledger's key and the columns that are read, that returns the table's fingerprint
    """

    source: Source
    ask: Callable[[str, Sequence[str]], Any]
    quote: Callable[[str], str]
    text: str
    known: Callable[[Key, Sequence[str]], Fingerprint]
    declared: bool = True

    def bits(self, column: str) -> list[str]:
        """Return the place in SQL of the bits of a column of doubles; of another column none."""
        types = require("pyarrow.types", "tables")
        found = type_of_values(self.source.schema.field(column).type)
        return [f"{self.quote(column)}{BITS}"] if types.is_floating(found) else []

    def text_of(self, column: str) -> str:
        """Return SQL of a text of each value, the same on every engine."""
        (place,) = self.bits(column) or [self.quote(column)]
        return f"CAST({place} AS {self.text})"

    def kind(self, column: str) -> str:
        """Return "whole", "real" or "text", what values of a column are."""
        types = require("pyarrow.types", "tables")
        found = self.source.schema.field(column).type
        if types.is_dictionary(found):
            found = found.value_type
        if types.is_integer(found):
            return "whole"
        return "real" if types.is_floating(found) or types.is_decimal(found) else "text"

    def decimal(self, column: str) -> Any:
        """Return the Arrow type of a column of decimals, else None."""
        found = type_of_values(self.source.schema.field(column).type)
        return found if require("pyarrow.types", "tables").is_decimal(found) else None

    def filled(self, column: str) -> bool:
        """Say whether the schema rules out missing values."""
        found = self.source.schema.field(column)
        return self.declared and not found.nullable and not require("pyarrow.types", "tables").is_floating(found.type)

    def boolean(self, column: str) -> bool:
        """Say whether a column holds truth values."""
        return bool(require("pyarrow.types", "tables").is_boolean(self.source.schema.field(column).type))


def table_of(given: Any, engine: EngineName = "local", progress: Progress | None = None) -> Table:
    """Return a table where it is counted: by Spark when asked to and for its frames, else by DuckDB.

    Every pass over one that is not Spark's tells its progress; Spark shows its own.
    """
    if by_spark(given, engine):
        return _on_spark(given)
    source = open_table(given)
    table = _on_duckdb(source if progress is None else source.watched(progress))
    loose = type(given).__module__.partition(".")[0] == "pandas"  # one gap makes whole numbers others there
    by_cells = source.path is not None and source.path.is_file() and source.path.suffix.lower() not in _DECLARED
    return replace(table, declared=not loose and not by_cells)


_DECLARED = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
"""Files with a schema of their own."""


def _on_duckdb(source: Source) -> Table:
    pa = require("pyarrow", "tables")

    def ask(sql: str, columns: Sequence[str]) -> Any:
        needed = list(dict.fromkeys(columns)) or source.schema.names[:1]
        coded = [name for name in needed if name in source.codable]
        kinds = [_sql_type(source.schema.field(name).type, name in coded) for name in needed]
        schema = pa.schema([(_by_place(source, name), kind) for name, kind in zip(needed, kinds, strict=True)])
        hashed = [name for name in needed if f"{_by_place(source, name)}{BITS}" in sql]
        for name in hashed:
            schema = schema.append(pa.field(f"{_by_place(source, name)}{BITS}", pa.int64()))
        refused: list[DivulgeError] = []

        def batches() -> Iterator[Any]:
            try:
                for batch in source.batches(needed, coded):
                    columns = [_as(batch.column(name), kind) for name, kind in zip(needed, kinds, strict=True)]
                    yield pa.record_batch([*columns, *(_bits(batch.column(name)) for name in hashed)], schema)
            except DivulgeError as error:  # which DuckDB makes one of its own of, without what was said
                refused.append(error)
                raise

        with counting(source.name, refused, alone=PLACE in sql) as connection:
            connection.register("given", pa.RecordBatchReader.from_batches(schema, batches()))
            return connection.sql(sql.replace(TABLE, "given")).to_arrow_table()

    return Table(
        source,
        ask,
        lambda column: _by_place(source, column),
        "varchar",
        lambda key, columns: fingerprint(source, key, columns),
    )


_SETTINGS = {"preserve_insertion_order": False, "autoinstall_known_extensions": False,
             "autoload_known_extensions": False}  # fmt: skip
"""Of every connection to DuckDB: it loads nothing, from nowhere."""

_SHARE = 2
"""Where a process has limited addresses, DuckDB gets one part in so many: the others are libraries and batches."""

_LEAST = 64 << 20
"""Bytes of memory below which DuckDB counts nothing."""


@contextmanager
def counting(name: str, refused: Sequence[DivulgeError] = (), *, alone: bool = False) -> Generator[Any]:
    """Give a connection to DuckDB that spills rows into a private folder of this run, or nowhere.

    `refused` has what was wrong with the rows, where reading them says so. `alone` means one thread: each has a table
    of all people of its own, where the first rows of each are looked for.
    """
    duckdb = require("duckdb", "statistics")
    with ExitStack() as stack:
        try:
            folder = str(stack.enter_context(children.private_folder("count")))
        except OSError:
            folder = ""  # no place that is private: nothing is spilled
        settings = {"temp_directory": folder, **_few(), **({"threads": 1} if alone else {})}
        try:
            yield stack.enter_context(stack.enter_context(_database(settings)).cursor())
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        except duckdb.Error as error:
            stopping.look()
            if refused:
                raise refused[0] from None
            raise InputFileError(
                f"{printable(name)}: cannot be read to its end ({type(error).__name__}). Hint: it may be "
                "damaged or cut short, or a column may be of a type that cannot be counted."
            ) from None


@contextmanager
def _database(settings: dict[str, Any]) -> Generator[Any]:
    """Give a database with some settings: the one that an earlier count left, or a new one, which is left in turn.

    To open one takes ten times as long as to count a small table. None is left that has spilled rows, that something
    went wrong in, or that was made for little memory.
    """
    duckdb = require("duckdb", "statistics")
    try:
        database = _LEFT.pop()
        for name, value in settings.items():
            database.execute("SET {} = '{}'".format(name, str(value).replace("'", "''")))
    except (IndexError, duckdb.Error):
        database = duckdb.connect(config=_SETTINGS | settings)
    with ExitStack() as stack:
        stack.callback(database.close)
        yield database
        with suppress(duckdb.Error):  # rows were spilled: it has no other place for them
            database.execute("SET temp_directory = ''")
            if not _LEFT and "memory_limit" not in settings:
                stack.pop_all()
                _LEFT.append(database)


_LEFT: list[Any] = []
"""The database that an earlier count of this process left."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_LEFT.clear)  # a copy of this process would wait for threads that it does not have
atexit.register(_LEFT.clear)


def _few() -> dict[str, Any]:
    """Return settings for little memory: within the addresses that this process may have, and one thread."""
    most = children.addresses()
    if most is None:
        return {"threads": min(os.cpu_count() or 1, _MOST_THREADS)}
    return {"threads": 1, "memory_limit": f"{max(most // _SHARE, _LEAST) >> 20}MiB"}


_MOST_THREADS = 32
"""Threads that count at most: each takes some memory of its own, and more were never measured to be faster."""


def _by_place(source: Source, column: str) -> str:
    """Return what SQL calls a column: names that differ in case alone, or that a query uses itself, are one there."""
    source.require_columns([column])
    return f"column{source.schema.names.index(column)}"


def is_alike(kind: Any) -> bool:
    """Say whether values of an Arrow type have the same text in SQL as in Python."""
    types = require("pyarrow.types", "tables")
    alike = (
        types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer,
        types.is_float32, types.is_float64, types.is_decimal128, types.is_date32, types.is_null,
    )  # fmt: skip
    return any(test(kind) for test in alike)


def _sql_type(kind: Any, coded: bool = False) -> Any:
    """Return a type as SQL gets it: what has other texts there as text, a coded one as positions in a dictionary."""
    pa = require("pyarrow", "tables")
    kind = type_of_values(kind)
    kind = kind if is_alike(kind) else pa.string()
    return pa.dictionary(pa.int32(), kind) if coded else kind


def _as(array: Any, kind: Any) -> Any:
    """Return an array as one of another type; as text it has the texts that names of values have."""
    pa = require("pyarrow", "tables")
    given = type_of_values(array.type)
    if not pa.types.is_string(kind) or is_alike(given):
        return array if array.type.equals(kind) else array.cast(kind)
    values, places, missing = dictionary_of(array)
    texts = of_texts([text_of(value) for value in values], kind)
    return texts.take(of_numbers(places, places == len(values) if missing else None))


def _bits(array: Any) -> Any:
    """Return the bits of doubles as whole numbers: equal for equal numbers, for both zeros and for all that is none."""
    pa = require("pyarrow", "tables")
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    missing = np.asarray(array.is_null())
    doubles = array.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    return pa.array(np.where(np.isnan(doubles), np.nan, doubles).view(np.int64), mask=missing)


def _on_spark(given: Any) -> Table:
    from divulge.releasing.session import is_address, name_of, placed, working
    from divulge.releasing.spark import called, frame_of, known_by, open_frame

    given = placed(given)
    frame = frame_of(given)
    source = open_frame(frame)
    if frame is not given:
        local = not is_address(given) and Path(given).exists()
        source = replace(source, name=name_of(given), path=Path(given) if local else None)

    def ask(sql: str, columns: Sequence[str]) -> Any:
        needed = list(dict.fromkeys(columns)) or source.schema.names[:1]
        named = {name: _by_place(source, name) for name in needed}
        view = f"divulge_{secrets.token_hex(16)}"  # another count of this session may be under way
        hashed = [place for place in named.values() if f"{place}{BITS}" in sql]
        with working(source.name, frame.sparkSession):
            kinds = [source.schema.field(name).type for name in needed]
            _alike(called(frame, named), needed, kinds, hashed).createTempView(view)
            try:
                found = frame.sparkSession.sql(sql.replace(TABLE, view)).toArrow()
            finally:
                frame.sparkSession.catalog.dropTempView(view)
        with reading(source.name):
            found.validate(full=True)
        return found

    def known(key: Key, columns: Sequence[str]) -> Fingerprint:
        return known_by(frame, key, columns)

    return Table(source, ask, lambda column: _by_place(source, column), "string", known)


def _alike(frame: Any, names: Sequence[str], kinds: Sequence[Any], hashed: Sequence[str]) -> Any:
    """Return a DataFrame whose columns have the same text in SQL as in Python: moments become texts.

    Columns that are in `hashed` have the bits of their doubles beside them. Dates of years that Python does not have
    are refused, by the `names` that the columns have for people.
    """
    from divulge.releasing.spark import sound

    pa, types = require("pyarrow", "tables"), require("pyspark.sql.pandas.types", "spark")
    if all(is_alike(kind) and not pa.types.is_date32(kind) for kind in kinds) and not hashed:
        return frame
    given = pa.schema([(name, _sql_type(kind)) for name, kind in zip(frame.columns, kinds, strict=True)])
    schema = pa.schema([*given, *((f"{name}{BITS}", pa.int64()) for name in hashed)])

    def converted(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            sound(batch.rename_columns(list(names)))
            columns = [_as(a, kind) for a, kind in zip(batch.columns, given.types, strict=True)]
            yield pa.record_batch([*columns, *(_bits(batch.column(name)) for name in hashed)], schema)

    return frame.mapInArrow(converted, types.from_arrow_schema(schema))
