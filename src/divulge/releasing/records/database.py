"""The database of a ledger: which file or server, its tables, and transactions that read or write."""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qs, quote, unquote, urlsplit

from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.opening import naming, regular
from divulge.files.settings import current
from divulge.releasing.records.fingerprint import Key

WHERE = "be a path or an SQLAlchemy URL with its driver installed"

_ATTEMPTS = 20
"""So often a transaction is tried where writers meet each other instead of waiting in line."""

RELEASES, TABLES, ABOUT = "divulge_releases", "divulge_tables", "divulge_about"
BUDGETS, PERSONS, ACCOUNTS = "divulge_budgets", "divulge_persons", "divulge_accounts"


class Database:
    """Tables of releases, of what tables they were of, and of budgets.

    file : the file it is, or None on a server and in memory
    lasts : whether it is there when the process has ended
    writable : whether it may be written
    releases, about, tables, budgets, persons, accounts : SQLAlchemy tables
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        sql = require("sqlalchemy", "release")
        DivulgeError.unless(where, (str, os.PathLike), "ledger", WHERE)
        text = os.fspath(where)
        self.sql = sql
        try:
            url = sql.make_url(text) if "://" in text else sql.URL.create("sqlite", database=str(Path(text).absolute()))
            sqlite = url.get_backend_name() == "sqlite"
            self.file = _file_of(url)
        except Exception:  # what drivers raise for a URL that they do not understand is open-ended
            raise DivulgeError.of("ledger", WHERE, "it", "not") from None
        self.lasts = not sqlite or self.file is not None
        self.writable = self.file is None or _may_be_written(self.file, url)
        shown = url
        if self.file is not None:
            url = _url_of(sql, url, self.file, self.writable)
        try:
            # Each transaction closes its connection, but for a database that lives in one.
            pool = sql.NullPool if self.lasts else sql.pool.SingletonThreadPool
            self.engine = _on_file(sql, url, pool) if sqlite else _on_server(url)
        except Exception:
            raise DivulgeError.of("ledger", WHERE, "it", "not") from None
        if self.file is not None:
            _private_file(self.file, self.writable)
        self.url = shown
        self.attempts = 1 if sqlite else _ATTEMPTS
        self.releases, self.tables, self.about, self.budgets, self.persons, self.accounts = _tables().values()
        self._held = self.read(lambda connection: set(sql.inspect(connection).get_table_names()))
        if self.writable and not _tables().keys() <= self._held:
            self.write(_complete)
            self._held = set(_tables())

    def holds(self, table: Any) -> bool:
        """Say whether the database has a table; one of an earlier version that may not be written lacks some."""
        return table.name in self._held

    def key(self) -> Key:
        """Return the key of the fingerprints; a new one for a ledger that has none yet."""
        if not self.lasts:
            return Key(token_bytes(32))
        path = self._key_file()
        known = self.read(lambda connection: connection.execute(self.sql.select(self.tables.c.id).limit(1)).first())
        found = Key.at(path, make=known is None)
        if found is None:
            raise DivulgeError(
                f"the key of the ledger, {printable(path.name)}, is not there: without it none of its tables is known "
                "again. Nothing was drawn. Hint: restore it from a copy, or begin a new ledger."
            )
        return found

    def _key_file(self) -> Path:
        """Return where the key is: beside the file; of a server, DIVULGE_LEDGER_KEY or the user's data folder."""
        if self.file is not None:
            return self.file.with_name(self.file.name + KEY)
        if given := os.environ.get("DIVULGE_LEDGER_KEY"):
            return Path(given)
        place = f"{self.url.host}:{self.url.port}/{self.url.database}"
        return data_folder() / f"ledger-{sha256(place.encode()).hexdigest()[:16]}{KEY}"

    def read(self, work: Callable[[Any], Any]) -> Any:
        """Return what `work` returns of a connection, in a transaction that lets others write."""
        return self._transaction(work, "Nothing was drawn.", reading=True)

    def write(self, work: Callable[[Any], Any], otherwise: str = "Nothing was drawn.") -> Any:
        """Return what `work` returns in one transaction that no other writer can pass; again when one was faster."""
        return self._transaction(work, otherwise, reading=False)

    def _transaction(self, work: Callable[[Any], Any], otherwise: str, *, reading: bool) -> Any:
        try:
            with self.engine.connect().execution_options(reading=reading) as connection:
                if reading:
                    return work(connection)  # which ends without a commit
                for attempt in range(self.attempts - 1):
                    with suppress(self.sql.exc.DBAPIError), connection.begin():
                        return work(connection)
                    time.sleep(secrets.randbelow(8 << min(attempt, 5)) / 1000)
                with connection.begin():
                    return work(connection)
        except DivulgeError:
            raise
        except Exception as error:  # of a damaged database: what drivers raise is open-ended
            said = str(getattr(error, "orig", error)).lower()
            cause = next((f": {cause}" for fragment, cause in _CAUSES.items() if fragment in said), "")
            raise DivulgeError(f"the ledger cannot be opened, read or written{cause}. {otherwise}") from error


@cache
def _tables() -> dict[str, Any]:
    """Return the tables of ledgers by their names, the same for all: a statement about them is compiled once.

    >>> _tables()[BUDGETS].c.keys()
    ['number', 'people', 'columns', 'kind', 'budget', 'created', 'release', 'until']
    """
    sql = require("sqlalchemy", "release")
    long = sql.Text().with_variant(sql.Text(2**32 - 1), "mysql", "mariadb")
    key = sql.String(32)
    metadata = sql.MetaData()
    releases = sql.Table(
        RELEASES, metadata,
        sql.Column("id", key, primary_key=True),
        sql.Column("source", sql.Text, nullable=False),
        sql.Column("state", sql.String(16), nullable=False),
        sql.Column("created", sql.String(32), nullable=False),
        sql.Column("output", sql.Text),
        sql.Column("rows", sql.BigInteger, nullable=False),
        sql.Column("mechanisms", long, nullable=False),
    )  # fmt: skip
    # What earlier versions did not know stands in tables of its own, so that they can write beside this one.
    known = sql.Table(
        TABLES, metadata,
        sql.Column("id", key, primary_key=True),
        sql.Column("people", key, nullable=False, index=True),
        sql.Column("name", sql.Text, nullable=False),
        sql.Column("created", sql.String(32), nullable=False),
        sql.Column("whole", sql.String(64), nullable=False, index=True),
        sql.Column("apart", sql.Boolean, nullable=False),
        sql.Column("fingerprint", sql.LargeBinary(2**24 - 1), nullable=False),
    )  # fmt: skip
    about = sql.Table(
        ABOUT, metadata,
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
        sql.Column("release", key, nullable=False, unique=True),
        sql.Column("source_table", key, nullable=False, index=True),
        sql.Column("mechanisms", sql.String(64), nullable=False),
        sql.Column("untouched", long, nullable=False),
        sql.Column("because", long, nullable=False),
        sqlite_autoincrement=True,  # a number is never that of two releases, nor of one that was taken back
    )  # fmt: skip
    budgets = sql.Table(
        BUDGETS, metadata,
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
        sql.Column("people", sql.Text, nullable=False),
        sql.Column("columns", long, nullable=False),
        sql.Column("kind", sql.String(16), nullable=False),
        sql.Column("budget", sql.Text, nullable=False),
        sql.Column("created", sql.String(32), nullable=False),
        sql.Column("release", key, nullable=False),
        sql.Column("until", sql.String(32)),
    )  # fmt: skip
    # How many rows, or people of another column, one person has at most: the keeper's alone.
    persons = sql.Table(
        PERSONS, metadata,
        sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
        sql.Column("source_table", sql.Text, nullable=False),
        sql.Column("person", sql.Text, nullable=False),
        sql.Column("other", sql.Text, nullable=False),
        sql.Column("most", sql.BigInteger, nullable=False),
    )  # fmt: skip
    # What each person has spent of an account, sealed.
    accounts = sql.Table(
        ACCOUNTS, metadata,
        sql.Column("book", sql.String(32), primary_key=True),
        sql.Column("content", sql.LargeBinary(2**32 - 1), nullable=False),
    )  # fmt: skip
    return {table.name: table for table in (releases, known, about, budgets, persons, accounts)}


def _complete(connection: Any) -> None:
    """Make the tables that a database lacks, in the transaction that a connection is in."""
    held = set(require("sqlalchemy", "release").inspect(connection).get_table_names())
    for name, statements in _made(connection.dialect).items():
        if name not in held:
            for statement in statements:
                connection.exec_driver_sql(statement)


@lru_cache(maxsize=8)
def _made(dialect: Any) -> dict[str, list[str]]:
    """Return the statements that make each table, and its indexes, as a database understands them."""
    made = require("sqlalchemy.schema", "release")

    def of(table: Any) -> list[str]:
        indexes = sorted(table.indexes, key=lambda index: index.name)
        return [str(one.compile(dialect=dialect)) for one in (made.CreateTable(table), *map(made.CreateIndex, indexes))]

    return {name: of(table) for name, table in _tables().items()}


KEY = ".key"
"""Ending of the file beside an SQLite file that holds the key of its fingerprints."""


def data_folder() -> Path:
    """Return the folder for what is kept of this user, made where it is not there."""
    try:
        given = os.environ.get("XDG_DATA_HOME", "")
        # one that is relative would be another ledger in each folder; the specification has it ignored
        folder = (Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share") / "divulge"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "there is no home folder"
        raise DivulgeError(
            f"the folder of the ledger cannot be made: {reason}. Hint: --ledger WHERE or DIVULGE_LEDGER names another "
            "place; --no-ledger keeps none."
        ) from None
    return folder


@runtime_checkable
class Kept(Protocol):
    """What is kept in a file, or in none."""

    file: Path | None


def files_of(ledger: Any) -> list[Path]:
    """Return the files that a ledger, or the path or URL of one, is kept in: none on a server and in memory.

    Beside an SQLite file stand its key, and those of its transactions, which it takes away without asking whose they
    are.

    >>> [path.name for path in files_of("sqlite:///kept.db")]
    ['kept.db', 'kept.db-journal', 'kept.db-wal', 'kept.db-shm', 'kept.db.key']
    >>> files_of("postgresql://host/name"), files_of(None)
    ([], [])
    """
    if ledger is None:
        return []
    if not isinstance(ledger, (str, os.PathLike)) and isinstance(ledger, Kept):
        file = ledger.file
    elif not isinstance(ledger, (str, os.PathLike)):
        raise DivulgeError.of("ledger", WHERE, "it", f"a {type(ledger).__name__}")
    elif "://" in os.fspath(ledger):
        sql = require("sqlalchemy", "release")
        try:
            file = _file_of(sql.make_url(os.fspath(ledger)))
        except sql.exc.ArgumentError:
            raise DivulgeError.of("ledger", WHERE, "it", "not") from None
    else:
        file = Path(ledger)
    return [] if file is None else [Path(f"{file}{more}") for more in ("", "-journal", "-wal", "-shm", KEY)]


def _file_of(url: Any) -> Path | None:
    """Return the file of the URL of a database, None for one on a server or in memory."""
    database = url.database or ""
    if url.get_backend_name() != "sqlite":
        return None
    if database.startswith("file:") and "uri" in url.query:
        given = urlsplit(database)
        database, asked = unquote(given.path), parse_qs(given.query) | url.normalized_query
        if "memory" in asked.get("mode", ()) or "memdb" in asked.get("vfs", ()):
            return None
    return Path(database).absolute() if database not in ("", ":memory:") else None


_OPTIONS = {"uri", "mode", "cache", "immutable"}
"""What the URL of an SQLite file may say; what else there is opens another file, or turns its locks off."""


def _url_of(sql: Any, url: Any, file: Path, writable: bool) -> Any:
    """Return the URL of exactly this file, with the locks of SQLite: whatever another one says opens nothing else."""
    asked = parse_qs(urlsplit(url.database or "").query) | url.normalized_query
    for name in sorted(asked.keys() - _OPTIONS):
        said = f"have no options but {', '.join(sorted(_OPTIONS))} in the URL of a file"
        raise DivulgeError.of("ledger", said, "one", repr(name)[:60])
    if writable:
        return url.set(database=str(file), query={})
    return sql.URL.create("sqlite", database=f"file:{quote(str(file))}", query={"mode": "ro", "uri": "true"})


_CAUSES = {
    "locked": "another process is writing it, for half a minute already",
    "readonly": "it may not be written",
    "read-only": "it may not be written",
    "malformed": "its file is damaged",
    "not a database": "its file is damaged",
    "disk": "the disk is full, or does not answer",
    "unable to open": "its file cannot be opened",
    "password": "its server does not let this user in",
    "access denied": "its server does not let this user in",
    "does not exist": "its server has no database of this name",
    "unknown database": "its server has no database of this name",
    "connect": "its server does not answer",
    "resolve": "its server does not answer",
}
"""Words in what a driver raises -> the cause, as a person says it."""


def _may_be_written(path: Path, url: Any) -> bool:
    """Say whether the file of a ledger is to be written: not with mode=ro, nor where it or its folder is read-only."""
    asked = parse_qs(urlsplit(url.database or "").query) | url.normalized_query
    if "ro" in asked.get("mode", ()) or "1" in asked.get("immutable", ()):
        return False
    for one in (path, path.parent):
        with suppress(OSError):
            if not (one.stat().st_mode & 0o222 and os.access(one, os.W_OK)):
                return False
    return True


def _private_file(path: Path, writable: bool) -> None:
    """Make the file of a new ledger one that only its owner may read; refuse what is there and is no ledger."""
    name = printable(path.name or str(path))
    try:
        if writable:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            path.stat()
    except FileExistsError:
        pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its path is none"
        what = "be made" if writable else "be opened, and is not to be written"
        raise DivulgeError(f"the ledger {name} cannot {what}: {reason}. Nothing was drawn.") from None
    with naming(f"the ledger {name}"), regular(path) as stream:
        head, mode = stream.read(16), os.fstat(stream.fileno()).st_mode
    if head not in (b"", b"SQLite format 3\0"):
        raise DivulgeError(f"the ledger {name} must be an SQLite database; it is another file. Nothing was drawn.")
    if _is_foreign(path):
        raise DivulgeError(
            f"the ledger {name} must be a ledger, or a file that is not there yet; it is a database of something else. "
            "Nothing was drawn, and nothing was changed in it."
        )
    if mode & 0o077:
        current().tell(f"the ledger {name} may be read by others. Hint: chmod 600 makes it its keeper's alone.")


def _is_foreign(path: Path) -> bool:
    """Say whether an SQLite file has tables, and none of a ledger; what cannot be read is found out when it is used."""
    asked = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=30)) as connection:
            names = {name for (name,) in connection.execute(asked)}
    except sqlite3.Error:
        return False
    return bool(names) and RELEASES not in names


@lru_cache(maxsize=8)
def _on_server(url: Any) -> Any:
    """Return the engine of a server, whose transactions are as if one came after the other; it keeps no connection."""
    sql = require("sqlalchemy", "release")
    return sql.create_engine(url, isolation_level="SERIALIZABLE", poolclass=sql.NullPool)


def _on_file(sql: Any, url: Any, pool: Any) -> Any:
    """Return the engine of an SQLite file, with the dialect and the compiled statements of all such files.

    Every transaction that writes takes the lock at its start, and waits for another writer's.
    """
    dialect, statements = _sqlite(url.drivername)
    words, options = dialect.create_connect_args(url)

    def connect() -> Any:
        connection = dialect.connect(*words, **options)
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout = 30000")
        return connection

    def begin(connection: Any) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    engine = sql.Engine(pool(connect, dialect=dialect), dialect, url)
    engine.update_execution_options(compiled_cache=statements)
    sql.event.listen(engine, "begin", begin)
    return engine


@cache
def _sqlite(driver: str) -> tuple[Any, dict[Any, Any]]:
    """Return the dialect of SQLite by a driver, and the statements that were compiled for it: they are few."""
    sql = require("sqlalchemy", "release")
    engine = sql.create_engine(f"{driver}://", poolclass=sql.NullPool)
    with engine.connect():  # which asks the library what it knows
        return engine.dialect, {}
