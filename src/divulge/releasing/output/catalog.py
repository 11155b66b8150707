"""A table in the catalog of a session of Spark, and its papers: whole under its name or not there (extra: spark).

An empty table under a hidden name is made first, in the format that the table is to have, and renamed: what the
session, its catalog or the format cannot do is refused before anything is drawn. Rows go into such a table, and it gets
its name when all of them are in it and the papers have theirs.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import children, staging, stopping
from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.settings import current
from divulge.releasing.output import hadoop
from divulge.releasing.output.bare import plain_batch, plain_schema
from divulge.releasing.output.places import Places
from divulge.releasing.session import (
    MOMENTS,
    WHOLE,
    Address,
    TableName,
    active,
    address_of,
    durations,
    ends_with_us,
    is_address,
    placed,
    quoted,
    refuse_absent,
    set_for_a_while,
    table_of,
    unlogged,
    working,
)

HIDDEN = "divulge_partial_"
"""What the names of tables under way begin with: catalogs have no hidden names."""

_OWNER, _MADE, _REPLACED = "divulge.owner", "divulge.made", "divulge.replaced"
"""Properties of a table: which process it is under way for, its hidden name, and what one to be replaced was called."""

_COMMITS = ("delta", "hudi", "iceberg", "orc", "parquet", "avro")
"""Formats that commit the rows of one attempt of a task alone; with others the rows of the source are counted too."""

_LOSSY = ("csv", "json", "text", "xml")
"""Formats that give back other values than were written: an empty text for a missing one, 1 for 1.0."""


@contextmanager
def writing(table: TableName) -> Generator[None]:
    """Turn what a catalog raises into an error that names the table and nothing else."""
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        with unlogged():
            yield
    except (errors.PySparkException, bridge.Py4JError) as error:
        stopping.look()
        refuse_absent(str(table), error)
        if "TABLE_OR_VIEW_ALREADY_EXISTS" in str(error):
            raise _taken(table) from error
        raise DivulgeError(
            f"{printable(str(table))}: cannot be written in this catalog ({type(error).__name__}). Nothing was "
            "published. Hint: its database must be there and may be written, the catalog must rename tables, and the "
            "format must take all types and names of columns."
        ) from error


@dataclass(frozen=True)
class Staging(TableName):
    """A table under way, which is created in its format before rows are written into it."""

    session: Any = None
    form: str | None = None
    final: TableName | None = None
    """The name that it is to get, which messages call it by."""

    @property
    def called(self) -> TableName:
        """What messages call it."""
        return self.final or self

    @property
    def commits(self) -> bool:
        """Whether its format keeps the rows of one attempt of a task alone, as far as is known."""
        return (self.form or "").lower() in _COMMITS

    def create(self, schema: Any) -> str:
        """Make it, without rows, and return its name for Spark."""
        with writing(self.called):
            empty = self.session.createDataFrame([], schema).writeTo(self.sql)
            formed = empty if self.form is None else empty.using(self.form)
            formed.tableProperty(_OWNER, children.mark()).tableProperty(_MADE, self.name).create()
        return self.sql


class TableWriter:
    """Rows of this machine that go into a new table under a hidden name, so many by one job of Spark."""

    def __init__(self, table: Staging, schema: Any) -> None:
        pa, types = require("pyarrow", "tables"), require("pyspark.sql.pandas.types", "spark")
        self._table, self._given = table, plain_schema(schema)
        if spans := durations(self._given):
            raise DivulgeError.of("source", "have no durations that go out as they are, for Spark", "one column",
                                  printable(repr(spans[0])), "write it as text, or leave it out.")  # fmt: skip
        kinds = [pa.timestamp("us", f.type.tz) if pa.types.is_timestamp(f.type) else f.type for f in self._given]
        self._schema = pa.schema(list(zip(self._given.names, kinds, strict=True)))
        if any("timestamp[ns" in str(kind) for kind in kinds):  # which Spark would cut in silence
            raise self._too_fine()
        with writing(table.called):
            self._kinds = types.from_arrow_schema(self._schema)
        self._held, self._rows, self._put_in, self._failed = list[Any](), 0, 0, False
        table.create(self._kinds)

    def write(self, batch: Any) -> None:
        """Keep one batch, and put all into the table when they are many."""
        try:
            self._held.append(plain_batch(batch, self._given).cast(self._schema))
        except require("pyarrow", "tables").ArrowInvalid:  # whose message has the value
            raise self._too_fine() from None
        self._rows += batch.num_rows
        if self._rows - self._put_in >= _ROWS_AT_ONCE:
            self._put()

    def _put(self) -> None:
        pa, session = require("pyarrow", "tables"), self._table.session
        rows = pa.Table.from_batches(self._held, self._schema)
        self._held, self._put_in, self._failed = [], self._rows, True
        with writing(self._table.called), set_for_a_while(session, MOMENTS | WHOLE):
            session.createDataFrame(rows, self._kinds).write.insertInto(self._table.sql)
        self._failed = False

    def _too_fine(self) -> DivulgeError:
        self._failed = True
        return DivulgeError.of("source", "have moments of whole microseconds, for a table of Spark", "one",
                               "between two of them", "round them, or leave the column out.")  # fmt: skip

    def close(self) -> None:
        """Put the rest into the table, and see whether each row is there once."""
        if self._failed:
            return
        if self._held:
            self._put()
        name = str(self._table.called)
        with working(name, self._table.session):
            rows = self._table.session.table(self._table.sql).count()
        if rows != self._rows:
            raise DivulgeError(f"{printable(name)}: Spark wrote another number of rows than there are.")


_ROWS_AT_ONCE = 1 << 20
"""Rows that are held until they go to Spark: 100 MB of a dozen columns, by a rule of thumb."""


@dataclass(frozen=True)
class Catalog:
    """The tables of a session, as they are made, renamed and dropped."""

    session: Any

    def exists(self, table: TableName) -> bool:
        """Say whether a table or view of this name is there."""
        return self.session.catalog.tableExists(table.sql)

    def facts(self, table: TableName) -> dict[str, str]:
        """Return what the catalog says of a table: its Provider, Type, Table Properties."""
        rows = [tuple(row)[:2] for row in self.session.sql(f"DESCRIBE TABLE EXTENDED {table.sql}").collect()]
        heads = [i for i, (name, _) in enumerate(rows) if name == "# Detailed Table Information"]
        return {str(name): str(value) for name, value in rows[heads[-1] + 1 :]} if heads else {}

    def property(self, table: TableName, name: str) -> str | None:
        """Return a property of a table, None where it has none of this name."""
        found = self.session.sql(f"SHOW TBLPROPERTIES {table.sql}").collect()
        return next((str(row["value"]) for row in found if row["key"] == name), None)

    def set_property(self, table: TableName, name: str, value: str) -> None:
        """Give a table a property."""
        self.session.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ({_text(name)}={_text(value)})")

    def rename(self, table: TableName, name: str) -> None:
        """Give a table another name in its database, which nothing has."""
        self.session.sql(f"ALTER TABLE {table.sql} RENAME TO {quoted(name)}")

    def drop(self, table: TableName) -> None:
        """Drop a table, if it is there."""
        self.session.sql(f"DROP TABLE IF EXISTS {table.sql}")

    def location(self, beside: TableName) -> str | None:
        """Return where the files of a table's database lie, None where the catalog does not say."""
        database = ".".join(map(quoted, beside.parts[:-1])) or quoted(self.session.catalog.currentDatabase())
        rows = self.session.sql(f"DESCRIBE NAMESPACE {database}").collect()
        return next((str(row[1]) for row in rows if row[0] == "Location"), None)

    def hidden(self, beside: TableName) -> Iterator[TableName]:
        """Yield the tables under way in a database, and those that are being replaced."""
        database = ".".join(map(quoted, beside.parts[:-1]))
        inside = f" IN {database}" if database else ""
        for row in self.session.sql(f"SHOW TABLES{inside} LIKE '{HIDDEN}*'").collect():
            yield beside.with_name(row["tableName"])


@dataclass(frozen=True)
class Tabled(Places):
    """The place of a table in a catalog, and of its papers, which are files."""

    beside: Places | None = None
    """The places of the papers."""
    catalog: Any = None
    form: str | None = None
    """What the format was called, if it was."""
    kind: str | None = None
    """What the catalog calls the format."""

    @property
    def output(self) -> str:
        """What the receipt calls the table."""
        return str(self.table)

    @property
    def table_format(self) -> str | None:
        """What the receipt calls its format."""
        return self.kind

    def paper(self, name: str) -> Any:
        """Return where a paper goes."""
        assert self.beside is not None
        return self.beside.paper(name)

    @contextmanager
    def staged(self, by_workers: bool = False) -> Generator[Any]:
        """Give the table under a hidden name, which is dropped at the end if it still has it."""
        table, final = self._hidden("new"), table_of(self.table)
        try:
            yield Staging(table.parts, self.catalog.session, self.form, final)
        finally:
            with suppress(Exception):  # whatever Spark raises when it is interrupted: the next release drops it
                self.catalog.drop(table)

    def _hidden(self, name: str) -> TableName:
        table: Any = self.table
        return table.with_name(f"{HIDDEN}{secrets.token_hex(8)}_{name}")

    def staged_papers(self, stack: ExitStack, contents: Mapping[str, bytes]) -> dict[Any, Any]:
        """Write the papers under hidden names."""
        assert self.beside is not None
        stack.enter_context(self.beside.room())
        found = self.beside.staged_papers(stack, contents)
        self.left_out.extend(self.beside.left_out)
        return found

    def appear(
        self, staged: Mapping[Any, Any], temporary: Any, force: bool, then: staging.Then = staging.NOTHING
    ) -> None:
        """Give the papers and then the table their names; when one fails, all is as it was before."""
        assert self.beside is not None
        said = json.dumps([str(self.table), temporary.name, self.catalog.location(temporary)])
        self.beside.appear(staged, None, force, staging.Then(lambda: self._named(temporary, force), said))

    def _named(self, temporary: TableName, force: bool) -> None:
        table: Any = self.table
        old = self._hidden("old")
        with writing(table):
            replaced = force and self.catalog.exists(table)
            if replaced:
                said = json.dumps([children.mark(), table.name])
                self.catalog.set_property(table, _REPLACED, said)
                self.catalog.rename(table, old.name)
            try:
                self.catalog.rename(temporary, table.name)
            except BaseException:
                if replaced:
                    _restore(self.catalog, old, table)
                raise
        if replaced:
            with suppress(Exception):  # the new one is there: what remains of the old one is told at the next release
                self.catalog.drop(old)


def _text(value: str) -> str:
    """Return a text as SQL of Spark writes it.

    >>> print(_text("it's"))
    'it\\'s'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _restore(catalog: Catalog, old: TableName, table: TableName) -> None:
    """Give a table that was to be replaced its name again."""
    catalog.rename(old, table.name)
    catalog.session.sql(f"ALTER TABLE {table.sql} UNSET TBLPROPERTIES IF EXISTS ({_text(_REPLACED)})")


def _taken(table: TableName) -> DivulgeError:
    return DivulgeError(f"{printable(str(table))}: there is one already. Hint: force=True, or --force, replaces it.")


def tabled(
    table: TableName, form: str | None, papers: Sequence[str], receipt: Any, frame: Any, force: bool, **asked: Any
) -> Tabled:
    """Return the places of a table and its papers; refuse what is taken, what is read, and what cannot be done.

    The DataFrame that is read is None where the source is none.
    """
    if form is not None and form.lower() in _LOSSY:
        raise DivulgeError.of("table_format", "give back what was written, as parquet, orc, delta and iceberg do", "it",
                              repr(form))  # fmt: skip
    session = active()
    catalog = Catalog(session)
    places = Tabled(table, None, papers, catalog=catalog, form=form)  # pyright: ignore[reportArgumentType]: asked alike
    after = _after(table, receipt)
    with writing(table):
        _refuse_forgetful(session, table)
        if catalog.exists(table):
            _refuse_taken(catalog, table, force)
            there = session.table(table.sql)
            if _holds(there, asked["read"].get("source")) or (frame is not None and _reads(frame, there)):
                raise DivulgeError.of("sink", "be another table than source", "it", "the same")
        _recover_papers(catalog, after)
        recover(catalog, table)
        kind = _kind_of(places)
    beside = Places.of(None, receipt, papers, force=force, after=after, **asked)
    return replace(places, key=beside.key, beside=beside, kind=kind)


def _after(table: TableName, receipt: Any) -> Path | Address:
    """Return what the papers of a table are called after: in the folder of its receipt, or the working folder."""
    there = address_of(receipt)
    if there is not None:
        return Address(there).with_name(table.name)
    return Path.cwd() / table.name if receipt is None else Path(receipt).absolute().with_name(table.name)


def _refuse_forgetful(session: Any, table: TableName) -> None:
    """Refuse a catalog that is gone with this process."""
    inside = session.conf.get("spark.sql.catalogImplementation", "in-memory") == "in-memory"
    own = len(table.parts) > 1 and session.conf.get(f"spark.sql.catalog.{table.parts[0]}", None) is not None
    if inside and not own and ends_with_us(session):
        raise DivulgeError.of(
            "sink", "be in a catalog that outlives this call", "that of the session", "in memory",
            "set spark.sql.catalogImplementation to hive in spark-defaults.conf, or spark.sql.catalog.NAME and say "
            "table:NAME.database.table.",
        )  # fmt: skip


def _refuse_taken(catalog: Catalog, table: TableName, force: bool) -> None:
    """Refuse a name that is taken, unless forced; even then a view."""
    if not force:
        raise _taken(table)
    found = catalog.facts(table)
    if not found or "VIEW" in found.get("Type", "").upper():
        raise DivulgeError(f"{printable(str(table))}: is a view, and is not replaced by a table.")


def _holds(table: Any, source: Any) -> bool:
    """Say whether files of a table lie at the path or address of a source, or in a folder there."""
    sources = [source] if isinstance(source, (str, os.PathLike)) else source or []
    files = [os.path.realpath(name) for name in map(placed, table.inputFiles()) if not is_address(name)]
    places = [os.path.realpath(placed(os.fspath(one))) for one in sources if not is_address(placed(os.fspath(one)))]
    return any(name == place or name.startswith(f"{place}{os.sep}") for name in files for place in places)


def _reads(frame: Any, other: Any) -> bool:
    """Say whether a DataFrame is read from the rows of another one, a table."""
    if set(frame.inputFiles()) & set(other.inputFiles()):
        return True
    if not hasattr(frame, "_jdf"):
        return False
    one, two = (list(_leaves(each)) for each in (frame, other))
    return any(a.sameResult(b) for a in one for b in two)


def _leaves(frame: Any) -> Iterator[Any]:
    found = frame._jdf.queryExecution().analyzed().collectLeaves().iterator()
    while found.hasNext():
        yield found.next()


def _kind_of(places: Tabled) -> str:
    """Return what the catalog calls the format of a new table, which is made without rows, renamed, and dropped."""
    types = require("pyspark.sql.types", "spark")
    catalog = places.catalog
    with places.staged() as tried, places.staged() as renamed:
        tried.create(types.StructType([types.StructField("x", types.StringType())]))
        catalog.rename(tried, renamed.name)
        found = catalog.facts(renamed)
    return found.get("Provider") or places.form or found.get("Catalog") or "table"


def _recover_papers(catalog: Catalog, after: Path | Address) -> None:
    """Take back papers of a table that has no name yet, as a process was killed in between."""

    def happened(said: str) -> bool | None:
        try:
            name, hidden, location = json.loads(said)
            table = table_of(name)
        except (ValueError, TypeError, RecursionError):
            return None
        if table is None:
            return None
        if catalog.exists(table) and catalog.property(table, _MADE) == hidden:
            return True
        same = location is not None and catalog.location(table) == location
        return False if same or catalog.exists(table.with_name(str(hidden))) else None

    if isinstance(after, Address):
        with hadoop.writing(after.name):
            hadoop.recover(hadoop.Files.of(after), after, happened)
        return
    for name in staging.recover(after.parent, happened):
        current().tell(
            f"A folder {name} beside the papers is of a release into a table of another catalog, which was killed. The "
            "next one there takes the papers back if the table has no name; else remove the folder."
        )


def recover(catalog: Catalog, beside: TableName) -> None:
    """Drop what killed processes of this machine left under way in a database, and give back a name that was taken.

    What another machine has under way, or none says whose it is, is told.
    """
    for table in catalog.hidden(beside):
        said = catalog.property(table, _REPLACED)
        mark, name = json.loads(said) if said is not None else (catalog.property(table, _OWNER), None)
        ended = None if mark is None else children.has_ended(mark)
        if ended is None:
            current().tell(
                f"A table {table.name} is under way, or was left by a call that was killed, on another machine. Drop "
                "it when none is running there."
            )
        elif ended and name is not None and not catalog.exists(beside.with_name(name)):
            _restore(catalog, table, beside.with_name(name))
        elif ended:
            catalog.drop(table)


def digest_of_rows(frame: Any) -> str:
    """Return the SHA-256 of names, types and rows of a DataFrame, in whatever order and files the rows are.

    Each row is a text, of which Spark makes a hash; the hashes that begin alike are sorted and hashed together, and so
    is what comes out of all of these, in order. A double counts by its bits, a moment by its microseconds.
    """
    functions, session, schema = require("pyspark.sql.functions", "spark"), frame.sparkSession, frame.schema
    with set_for_a_while(session, {"spark.sql.session.timeZone": "UTC"}), working("table", session):
        rows = frame.toDF(*(f"column{i}" for i in range(len(schema))))
        texts = [_text_of(functions.col(f"column{i}"), field.dataType) for i, field in enumerate(schema)]
        hashed = rows.select(functions.sha2(functions.to_json(functions.array(*texts)), 256).alias("row"))
        begins = functions.substring("row", 1, _BEGINNING).alias("begins")
        sorted_rows = functions.concat_ws("", functions.array_sort(functions.collect_list("row")))
        found = hashed.groupBy(begins).agg(functions.sha2(sorted_rows, 256).alias("digest")).collect()
    whole = hashlib.sha256(json.dumps([[one.name, one.dataType.simpleString()] for one in schema]).encode())
    for row in sorted(found, key=lambda row: row["begins"]):
        whole.update(row["digest"].encode())
    return whole.hexdigest()


def _text_of(column: Any, kind: Any) -> Any:
    """Return a column as texts, different ones for different values."""
    functions, name = require("pyspark.sql.functions", "spark"), kind.typeName()
    if name in ("double", "float"):  # Java writes digits of a double as its version has it; this is one to one
        column = functions.when(column.isNotNull(), functions.xxhash64(column))
    elif name == "timestamp":
        column = functions.unix_micros(column)
    elif name == "binary":
        column = functions.base64(column)
    elif name in ("array", "map", "struct", "variant"):
        moments = dict.fromkeys(("timestampFormat", "timestampNTZFormat"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
        column = functions.to_json(functions.struct(column), {"ignoreNullFields": "false", **moments})
    return column.cast("string")


_BEGINNING = 3
"""Digits of a hash by which rows are put together: of a thousand million rows 244,141 in each of 4,096 groups."""
