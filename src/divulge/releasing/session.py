"""A session of Spark: its start, settings for a while, what it calls addresses, its errors (extra: spark)."""

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from divulge import stopping
from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.model.shown import printable

IN_SILENCE = ("ignoreCorruptFiles", "ignoreMissingFiles")
"""Settings by which a session may ask for rows to be lost without a word."""

WHOLE = {f"spark.sql.files.{name}": "false" for name in IN_SILENCE}

MOMENTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""Moments are written as moments: INT96, the default, is read back as a time of day in no zone."""


def active() -> Any:
    """Return the session that runs, or a new one."""
    spark, sql = require("pyspark", "spark"), require("pyspark.sql", "spark")
    if "SPARK_REMOTE" in os.environ or sql.SparkSession.getActiveSession() is not None:
        return sql.SparkSession.builder.getOrCreate()
    spark.SparkContext.getSystemProperty("spark.master")  # which starts Java, with what the site has set
    conf = spark.SparkConf()
    closed(conf)
    with _signals_kept():
        found = sql.SparkSession.builder.config(conf=conf).getOrCreate()
    found.conf.set(_OURS, "true")
    logging.getLogger().addFilter(is_to_be_told)
    on_python(found, conf.get("spark.pyspark.python", None))
    return found


_OURS = "spark.divulge.started"
"""The setting by which a session is known that was started here, and ends with this process."""


def ends_with_us(session: Any) -> bool:
    """Say whether a session was started here, so that what it keeps in memory is gone with this process."""
    return session.conf.get(_OURS, "false") == "true"


def is_to_be_told(record: logging.LogRecord) -> bool:
    """Say whether a line of a log is more than that the bridge to Java was interrupted, which we say ourselves."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, KeyboardInterrupt) and "py4j" in Path(record.pathname).parts)


@contextmanager
def _signals_kept() -> Generator[None]:
    """Let an interrupt mean what it meant: Spark takes it for its own, and what was interrupted looks damaged then."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGINT, before)


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


def require_version(session: Any) -> None:
    """Refuse a session whose tables Arrow does not get: of Spark before 4.0."""
    if int(session.version.partition(".")[0]) < 4:
        raise DivulgeError(
            f"This session is of Spark {printable(session.version)}; Divulge needs 4.0 or newer. Hint: give a path, "
            "or a frame of pandas or Arrow."
        )


def isolate(session: Any) -> None:
    """Let the workers that run functions of ours look for no module in the folder that they are started in."""
    context = getattr(session, "_sc", None)  # of a session that is a client of another machine there is none
    if context is not None:
        context.environment["PYTHONSAFEPATH"] = "1"


@contextmanager
def set_for_a_while(session: Any, settings: Mapping[str, str]) -> Generator[None]:
    """Let settings of a session be so for a while."""
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@contextmanager
def unlogged() -> Generator[None]:
    """Keep PySpark from writing what it raises, which can quote cells, to where errors of this process are shown."""
    logging_of = require("pyspark.logger", "spark").PySparkLogger.getLogger
    loggers = [logging_of(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def working(name: str, running: Any = None) -> Generator[None]:
    """Turn what Spark raises, which can quote cells, into an error that names the table and nothing else.

    The `running` session loses no row in silence meanwhile, whatever its settings say.
    """
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        with ExitStack() as stack:
            stack.enter_context(unlogged())
            if running is not None:
                stack.enter_context(set_for_a_while(running, WHOLE))
            yield
    except (errors.PySparkException, bridge.Py4JError) as error:
        stopping.look()  # a signal ends what Spark does, too, and nothing is damaged
        refuse_cancelled(name, error)
        refuse_other_pythons(error)
        refuse_absent(name, error)
        refuse_told(name, error)
        raise InputFileError(
            f"{printable(name)}: cannot be read by Spark ({type(error).__name__}). Hint: it may be damaged, have a "
            "type that Spark does not know, or two columns whose names differ by case alone."
        ) from error


def refuse_other_pythons(error: BaseException) -> None:
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


def refuse_told(name: str, error: BaseException) -> None:
    """Say what a worker refused in our own words, in which no cell stands: Spark quotes its whole traceback."""
    if found := re.search(r"^divulge\.errors\.\w+: (.+)$", str(error), re.MULTILINE):
        raise InputFileError(f"{printable(name)}: {found[1]}") from error


def refuse_cancelled(name: str, error: BaseException) -> None:
    """Say so when somebody took the job back, as Spark itself does for an interrupt of a session that it started."""
    if "SPARK_JOB_CANCELLED" in str(error) or "cancelled as part of cancellation" in str(error):
        raise DivulgeError(f"{printable(name)}: the job of Spark was cancelled. Nothing was published.") from error


_JARS = {
    "s3a": "org.apache.hadoop:hadoop-aws", "azurebfs": "org.apache.hadoop:hadoop-azure",
    "gs": "org.apache.hadoop:hadoop-gcp",
    "delta": "io.delta:delta-spark", "iceberg": "org.apache.iceberg:iceberg-spark-runtime",
}  # fmt: skip
"""What brings a file system, by the last name in the package of its class, or a format of tables, by its name."""


def refuse_absent(name: str, error: BaseException) -> None:
    """Say so when the session lacks the file system of an address, or the format of a table."""
    said = str(error)
    lacks = re.search(r"Class [\w.]*\.fs\.(\w+)\.\w+ not found|No FileSystem for scheme \W?([\w.+-]+)", said)
    form = re.search(r"Failed to find the data source: ([\w-]+(?:\.[\w-]+)*)", said)
    if found := lacks or form:
        what = "file system for this address" if lacks else "format of this name"
        jar = _JARS.get(str(found[1]).lower(), "a jar that brings it")
        raise DivulgeError(
            f"{printable(name)}: the session of Spark has no {what}; nothing was read or written. Hint: add {jar} to "
            "spark.jars.packages, in the version that fits its Spark and Hadoop, before it starts."
        ) from error


def durations(schema: Any) -> list[str]:
    """Return the columns that hold durations, at any depth: Spark reads those of Parquet files as whole numbers."""
    return [field.name for field in schema if "duration[" in str(field.type)]


def is_address(table: Any) -> bool:
    """Say whether a table is named by an address of a file system of Hadoop.

    >>> is_address("s3a://bucket/people"), is_address("people.parquet"), is_address("/data/a:b")
    (True, False, False)
    """
    return isinstance(table, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", table) is not None


def address_of(table: Any) -> str | None:
    """Return a table as an address of a file system of Hadoop; None where it is none, such as a path of this machine.

    >>> address_of("s3a://bucket/people"), address_of("people.csv"), address_of(None)
    ('s3a://bucket/people', None, None)
    """
    found = placed(table)
    return found if is_address(found) else None


def name_of(table: str | os.PathLike[str]) -> str:
    """Return what messages and receipts call a table at a path or an address, or with a name: its last part."""
    if not is_address(table):
        return Path(table).name
    parts = urlsplit(os.fspath(table))  # and never what is before an @
    return path_at(os.fspath(table)).rpartition("/")[2] or parts.hostname or parts.scheme


def path_at(address: str) -> str:
    """Return the path that an address has in its file system.

    >>> path_at("hdfs://host:8020/data/a#b?/"), path_at("viewfs:/data"), path_at("s3a://bucket")
    ('/data/a#b?', '/data', '')
    """
    return re.sub(r"^[^:/]+:(//[^/]*)?", "", address).rstrip("/")


def placed(table: Any) -> Any:
    """Return the path that a file: address is of; all else as it is.

    >>> placed("file:///data/a%20b"), placed("s3a://bucket/people")
    ('/data/a b', 's3a://bucket/people')
    """
    local = isinstance(table, str) and re.match(r"file:/(?!/[^/])", table)
    return url2pathname(urlsplit(table).path) if local else table


def quoted(name: str) -> str:
    """Return a name as Spark takes it literally, whatever characters it has.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return "`" + name.replace("`", "``") + "`"


_PART = r"(?:`(?:[^`]|``)+`|\w+)"

_TABLE = "table:"


@dataclass(frozen=True)
class TableName:
    """The name of a table in the catalog of a session; what is asked of a path is asked of it alike.

    >>> table = table_of("table:sales.`people 2024`")
    >>> print(table, table.name, table.sql, table.with_name("other").sql)
    table:sales.`people 2024` people 2024 `sales`.`people 2024` `sales`.`other`
    """

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return _TABLE + ".".join(part if re.fullmatch(r"\w+", part) else quoted(part) for part in self.parts)

    def __fspath__(self) -> str:
        return str(self)

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    @property
    def suffix(self) -> str:
        """What says its format: nothing does."""
        return ""

    @property
    def sql(self) -> str:
        """The name as it stands in a statement of SQL."""
        return ".".join(map(quoted, self.parts))

    def with_name(self, name: str) -> "TableName":
        """Return the name of another table of the same database."""
        return TableName((*self.parts[:-1], name))


def table_of(given: Any) -> TableName | None:
    """Return the table that a text such as "table:sales.people" names; None of anything else, such as a path.

    >>> table_of("people.csv"), table_of("table:people").parts
    (None, ('people',))
    """
    if isinstance(given, TableName):
        return given
    if not isinstance(given, str) or not given.startswith(_TABLE):
        return None
    name = given.removeprefix(_TABLE)
    if not re.fullmatch(rf"{_PART}(?:\.{_PART})*", name):
        raise DivulgeError.of("table", "have a name such as table:people or table:sales.people", "it", "without one",
                              "other signs stand in backquotes: table:`people 2024`; a file is ./table:..."
                              )  # fmt: skip
    found = re.findall(_PART, name)
    return TableName(tuple(one[1:-1].replace("``", "`") if one.startswith("`") else one for one in found))


@dataclass(frozen=True)
class Address:
    """The address of a file or folder in a file system of Hadoop; what is asked of a path is asked of it alike.

    >>> place = Address("s3a://bucket/people/")
    >>> print(place, place.name, place.with_name("people.receipt.json"), repr(place.suffix))
    s3a://bucket/people people s3a://bucket/people.receipt.json ''
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text.rstrip("/"))

    def __fspath__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The last part, empty where there is none."""
        return path_at(self.text).rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """What the name ends in, such as ".csv"."""
        return PurePosixPath(self.name).suffix

    def with_name(self, name: str) -> "Address":
        """Return the address of another name beside it."""
        return Address(f"{self.text.removesuffix(self.name)}{name}")

    def __truediv__(self, name: str) -> "Address":
        return Address(f"{self.text}/{name}")
