"""A table in the catalog of a session of Spark, and its papers: whole under its name or not there (extra: spark).

An empty table under a hidden name is made first, in the format that the table is to have, and renamed: what the
session, its catalog or the format cannot do is refused before anything is drawn. Rows go into such a table, and it gets
its name when all of them are in it and the papers have theirs.
"""

import hashlib
import json
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from divulge import children, stopping
from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.settings import current
from divulge.releasing.output.places import Places
from divulge.releasing.session import (
    Address,
    TableName,
    active,
    address_of,
    ends_with_us,
    quoted,
    refuse_absent,
    set_for_a_while,
    working,
)

HIDDEN = "divulge_partial_"
"""What the names of tables under way begin with: catalogs have no hidden names."""

_OWNER, _REPLACED = "divulge.owner", "divulge.replaced"
"""Properties of a table: which process it is under way for, and the name that one which is to be replaced had."""

_COMMITS = ("delta", "hudi", "iceberg", "orc", "parquet", "avro")
"""Formats that commit the rows of one attempt of a task alone; with others the rows of the source are counted too."""

_LOSSY = ("csv", "json", "text", "xml")
"""Formats that give back other values than were written: an empty text for a missing one, 1 for 1.0."""


@contextmanager
def writing(table: TableName) -> Generator[None]:
    """Turn what a catalog raises into an error that names the table and nothing else."""
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
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

    @property
    def commits(self) -> bool:
        """Whether its format keeps the rows of one attempt of a task alone, as far as is known."""
        return (self.form or "").lower() in _COMMITS

    def create(self, schema: Any) -> str:
        """Make it, without rows, and return its name for Spark."""
        with writing(self):
            empty = self.session.createDataFrame([], schema).writeTo(self.sql)
            (empty if self.form is None else empty.using(self.form)).tableProperty(_OWNER, children.mark()).create()
        return self.sql


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
        table = self._hidden("new")
        try:
            yield Staging(table.parts, self.catalog.session, self.form)
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

    def appear(self, staged: Mapping[Any, Any], temporary: Any, force: bool, then: Any = None) -> None:
        """Give the papers and then the table their names; when one fails, all is as it was before."""
        assert self.beside is not None
        self.beside.appear(staged, None, force, lambda: self._named(temporary, force))

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
    """Return the places of a table and its papers; refuse what is taken, what is read, and what cannot be done."""
    if frame is None:
        raise DivulgeError.of("sink", "be a file, a folder or an address where Spark does not release", "it",
                              "a table of a catalog", 'release with engine="spark" (--engine spark) writes one.'
                              )  # fmt: skip
    if form is not None and form.lower() in _LOSSY:
        raise DivulgeError.of("table_format", "give back what was written, as parquet, orc, delta and iceberg do", "it",
                              repr(form))  # fmt: skip
    session = active()
    catalog = Catalog(session)
    places = Tabled(table, None, papers, catalog=catalog, form=form)  # pyright: ignore[reportArgumentType]: asked alike
    with writing(table):
        _refuse_forgetful(session, table)
        if catalog.exists(table):
            _refuse_taken(catalog, table, force)
            if _reads(frame, session.table(table.sql)):
                raise DivulgeError.of("sink", "be another table than source", "it", "the same")
        recover(catalog, table)
        kind = _kind_of(places)
    beside = Places.of(None, receipt, papers, force=force, after=_after(table, receipt), **asked)
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
    return found.get("Provider") or found.get("Catalog") or "table"


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
