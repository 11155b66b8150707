"""The ledger: what was released about which columns of which source, what it adds up to, and a budget kept."""

import json
import math
import os
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from divulge.dp.accounting.composition import compose
from divulge.dp.accounting.promises import ZcdpRelease
from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.forms import fits, whole
from divulge.files.opening import naming, regular
from divulge.files.settings import current
from divulge.guarantees.catalog import as_guarantee
from divulge.model.prior import Prior
from divulge.model.shown import at_most
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.promised import Spent, added, approximately_together, exactly_together, up
from divulge.releasing.records.receipt import Mechanism, now

KINDS = ("ldp", "dp", "pml", "pmc", "zcdp", "adp")
"""Guarantees that a budget can be in."""

_WHERE = "be a path or an SQLAlchemy URL with its driver installed"

_ATTEMPTS = 20
"""So often a transaction is tried where writers meet each other instead of waiting in line."""


@dataclass(frozen=True)
class Entry:
    """One release in the ledger.

    Attributes
    ----------
    id : str
    source : str
    state : "open" or "published"
        An entry stays open when the process that made it was killed: it counts as spent, as it may have been published.
    created : str
    output : str or None
    rows : int
    mechanisms : tuple of Mechanism
    """

    id: str
    source: str
    state: str
    created: str
    output: str | None
    rows: int
    mechanisms: tuple[Mechanism | Aggregate, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were released."""
        return tuple(name for mechanism in self.mechanisms for name in mechanism.columns)


class Ledger:
    """Releases on record, in a database.

    Parameters
    ----------
    where : path of an SQLite file, or SQLAlchemy URL such as "postgresql+psycopg://host/name"

    Examples
    --------
    >>> import tempfile, pyarrow as pa
    >>> from divulge import release
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/ledger.sqlite")
    >>> survey = pa.table({"answer": ["yes", "no"]})
    >>> coin = {"yes": {"yes": "3/4", "no": "1/4"}, "no": {"yes": "1/4", "no": "3/4"}}
    >>> once = dict(column="answer", mechanism=coin, ledger=ledger, source_name="survey", budget="ldp=2")
    >>> _ = release(survey, **once)
    >>> ledger.spent("survey", ["answer"])
    {'ldp': 1.098612288...}
    >>> release(survey, **once)
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `budget` must allow ldp 2.2 in all; it is 2. Hint: nothing was drawn; both are in nats.
    >>> folder.cleanup()
    """

    def __repr__(self) -> str:
        return f"Ledger({self._engine.url.render_as_string(hide_password=True)!r})"

    def __init__(self, where: str | os.PathLike[str]) -> None:
        sql = require("sqlalchemy", "release")
        DivulgeError.unless(where, (str, os.PathLike), "ledger", _WHERE)
        text = os.fspath(where)
        self._sql = sql
        try:
            url = sql.make_url(text) if "://" in text else sql.URL.create("sqlite", database=str(Path(text).absolute()))
            sqlite = url.get_backend_name() == "sqlite"
            options = {} if sqlite else {"isolation_level": "SERIALIZABLE"}
            self.file = _file_of(url)
            self.lasts = not sqlite or self.file is not None
            # Each transaction closes its connection, but for a database that lives in one.
            pool = sql.NullPool if self.lasts else sql.pool.SingletonThreadPool
            self._engine = sql.create_engine(url, **options, poolclass=pool)
        except Exception:  # what drivers raise for a URL that they do not understand is open-ended
            raise DivulgeError.of("ledger", _WHERE, "it", "not") from None
        self._attempts = 1 if sqlite else _ATTEMPTS
        if self.file is not None:
            _private_file(self.file)
        if sqlite:
            _begin_immediately(sql, self._engine)
        long = sql.Text().with_variant(sql.Text(2**32 - 1), "mysql", "mariadb")
        self._table = sql.Table(
            "divulge_releases", sql.MetaData(),
            sql.Column("id", sql.String(32), primary_key=True),
            sql.Column("source", sql.Text, nullable=False),
            sql.Column("state", sql.String(16), nullable=False),
            sql.Column("created", sql.String(32), nullable=False),
            sql.Column("output", sql.Text),
            sql.Column("rows", sql.BigInteger, nullable=False),
            sql.Column("mechanisms", long, nullable=False),
        )  # fmt: skip
        self._transaction(lambda connection: self._table.create(connection, checkfirst=True))

    @classmethod
    def of(cls, where: Any) -> "Ledger":
        """Return a Ledger from one, or from a path or URL.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> ledger = Ledger(pathlib.Path(folder.name) / "ledger.db")
        >>> Ledger.of(ledger) is ledger
        True
        >>> folder.cleanup()
        """
        if isinstance(where, Ledger):
            return where
        made = cls(where)
        if not made.lasts:
            hint = "give the path of a file; in Python, a Ledger in memory lasts as long as it is held."
            raise DivulgeError.of("ledger", "be one that lasts", "it", "in memory", hint)
        return made

    def entries(self, source: str | None = None, columns: Sequence[str] = ()) -> list[Entry]:
        """Return the releases, in order, of a source and of columns that include one of `columns`.

        The number of rows is of no column: it tells who is there, and belongs to every one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> ledger = Ledger(pathlib.Path(folder.name) / "ledger.db")
        >>> _ = dv.release(table, column="answer", mechanism=coin, ledger=ledger, source_name="survey")
        >>> [entry.rows for entry in ledger.entries("survey")]
        [4]
        >>> folder.cleanup()
        """
        return self._transaction(lambda connection: self._entries(connection, source, columns))

    def spent(self, source: str, columns: Sequence[str], prior: Prior | None = None) -> dict[str, float]:
        """Return what all releases about `columns` of the source guarantee together, in nats, rounded up.

        Without columns it is what all releases of the source tell about one record.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> table = pa.table({"answer": ["yes", "no", "no", "no"]})
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> ledger = Ledger(pathlib.Path(folder.name) / "ledger.db")
        >>> _ = dv.release(table, column="answer", mechanism=coin, ledger=ledger, source_name="survey")
        >>> round(ledger.spent("survey", ["answer"])["ldp"], 9)  # log 3, rounded up
        1.098612289
        >>> folder.cleanup()
        """
        spent = _all_of(self.entries(source, columns))
        return _told(exactly_together(spent, prior)) if spent else {}

    @contextmanager
    def spending(self, source: str, receipt: Any, budget: Any = None) -> "Generator[_Open]":
        """Record a release before a row is drawn, if the budget allows it; take it back if nothing was published.

        To a column add up the releases about it, to statistics all of the source: they are about whole records. Look
        and record are one transaction that no other writer can pass, so that two releases cannot both spend what is
        left.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> import tempfile, pathlib
        >>> folder = tempfile.TemporaryDirectory()
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> receipt = dv.release(pa.table({"answer": ["yes", "no"]}), column="answer", mechanism=coin)
        >>> ledger = Ledger(pathlib.Path(folder.name) / "ledger.db")
        >>> try:
        ...     with ledger.spending("survey", receipt):
        ...         raise OSError("the disk is full")
        ... except OSError:
        ...     len(ledger.entries("survey"))
        0
        >>> folder.cleanup()
        """
        wanted = None if budget is None else as_guarantee(budget, "budget")
        if wanted is not None and wanted.kind not in KINDS:
            raise DivulgeError.of("budget", f"be of a kind that adds up ({', '.join(KINDS)})", "it", wanted.kind)
        key = secrets.token_hex(16)
        row = {
            "id": key, "source": source, "state": "open", "created": now(), "output": receipt.output, "rows": 0,
            "mechanisms": json.dumps([mechanism.to_dict(keeper=True) for mechanism in receipt.mechanisms]),
        }  # fmt: skip

        def record(connection: Any) -> dict[str, Any]:
            # A released column tells of itself; statistics tell of records, and so does whatever goes out of them.
            about = () if any(isinstance(m, Aggregate) for m in receipt.mechanisms) else receipt.columns
            before = self._entries(connection, source, about)
            spent = _all_of(before, receipt.mechanisms, receipt.mechanisms[0])
            total = exactly_together(spent, receipt.mechanisms[0].prior)
            if wanted is not None:
                _allow(wanted, total, spent)
            connection.execute(self._table.insert().values(**row))
            return {"releases": len(before) + 1, "guarantees": _told(total)}

        entry = _Open(lambda rows: self._mark(key, rows), self._transaction(record))
        try:
            yield entry
        except BaseException:
            if not entry.done:
                with suppress(DivulgeError):  # an entry that cannot be taken back counts as spent
                    self._transaction(lambda c: c.execute(self._table.delete().where(self._table.c.id == key)))
            raise

    def _mark(self, key: str, rows: int) -> None:
        """Mark an entry as published."""
        change = self._table.update().where(self._table.c.id == key).values(state="published", rows=rows)
        done = "The release is published; its entry stays open, which counts as spent."
        self._transaction(lambda connection: connection.execute(change), done)

    def _entries(self, connection: Any, source: str | None, columns: Sequence[str]) -> list[Entry]:
        query = self._table.select().order_by(self._table.c.created, self._table.c.id)
        if source is not None:
            query = query.where(self._table.c.source == source)
        found: list[Entry] = []
        for row in connection.execute(query):
            entry = _entry(row)
            if not columns or not entry.columns or set(columns) & set(entry.columns):
                found.append(entry)
        return found

    def _transaction(self, work: Any, otherwise: str = "Nothing was drawn.") -> Any:
        """Return what `work` returns in one transaction; again when another writer was faster."""
        try:
            with self._engine.connect() as connection:
                for attempt in range(self._attempts - 1):
                    with suppress(self._sql.exc.DBAPIError), connection.begin():
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


def _entry(row: Any) -> Entry:
    """Return the entry in a row; a row that is not as it was written is refused: it could count as nothing spent."""
    try:
        mechanisms = tuple(_part(part) for part in json.loads(row.mechanisms))
        form = {"id": str, "source": str, "state": ("open", "published"), "created": str, "output": (None, str),
                "rows": whole, "mechanisms": str}  # fmt: skip
        if mechanisms and fits(dict(row._mapping), form):
            return Entry(row.id, row.source, row.state, row.created, row.output, row.rows, mechanisms)
    except Exception:  # what a damaged row may hold is open-ended
        pass
    raise DivulgeError(
        f"the ledger has an entry that is not as it was written ({printable(str(row.id))[:40]}). Nothing was drawn. "
        "Hint: restore the ledger from a copy; an entry that is lost would count as nothing spent."
    )


def files_of(ledger: Any) -> list[Path]:
    """Return the files that a ledger, or the path or URL of one, is kept in: none on a server and in memory.

    Beside an SQLite file stand those of its transactions, which it takes away without asking whose they are.

    Examples
    --------
    >>> [path.name for path in files_of("sqlite:///kept.db")]
    ['kept.db', 'kept.db-journal', 'kept.db-wal', 'kept.db-shm']
    >>> files_of("postgresql://host/name"), files_of(None)
    ([], [])
    """
    if ledger is None:
        return []
    DivulgeError.unless(ledger, (str, os.PathLike, Ledger), "ledger", _WHERE)
    if isinstance(ledger, Ledger):
        file = ledger.file
    elif "://" in os.fspath(ledger):
        sql = require("sqlalchemy", "release")
        try:
            file = _file_of(sql.make_url(os.fspath(ledger)))
        except sql.exc.ArgumentError:
            raise DivulgeError.of("ledger", _WHERE, "it", "not") from None
    else:
        file = Path(ledger)
    return [] if file is None else [Path(f"{file}{more}") for more in ("", "-journal", "-wal", "-shm")]


def _file_of(url: Any) -> Path | None:
    """Return the file of the URL of a database, None for one on a server or in memory."""
    database = url.database or ""
    if url.get_backend_name() != "sqlite":
        return None
    if database.startswith("file:") and "uri" in url.query:
        given = urlsplit(database)
        database, asked = unquote(given.path), parse_qs(given.query) | url.normalized_query
        if "memory" in asked.get("mode", ()):
            return None
    return Path(database).absolute() if database not in ("", ":memory:") else None


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


def _private_file(path: Path) -> None:
    """Make the file of a new ledger one that only its owner may read; refuse what is there and is no ledger."""
    name = printable(path.name or str(path))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        pass
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its path is none"
        raise DivulgeError(f"the ledger {name} cannot be made: {reason}. Nothing was drawn.") from None
    with naming(f"the ledger {name}"), regular(path) as stream:
        head, mode = stream.read(16), os.fstat(stream.fileno()).st_mode
    if head not in (b"", b"SQLite format 3\0"):
        raise DivulgeError(f"the ledger {name} must be an SQLite database; it is another file. Nothing was drawn.")
    if mode & 0o077:
        current().tell(f"the ledger {name} may be read by others. Hint: chmod 600 makes it its keeper's alone.")


class _Open:
    """The entry of a release under way; `together`: how many releases it and those before are, and what of."""

    def __init__(self, mark: Callable[[int], None], together: Mapping[str, Any]) -> None:
        self._mark, self.together, self.done = mark, together, False

    def publishing(self) -> None:
        """Keep the entry from here on, whatever happens: something may be published."""
        self.done = True

    def published(self, receipt: Any) -> None:
        """Mark the entry as published."""
        self._mark(receipt.rows or 0)


def _begin_immediately(sql: Any, engine: Any) -> None:
    """Make every SQLite transaction take the write lock at its start, and wait for another writer's."""

    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout = 30000")

    sql.event.listen(engine, "connect", connect)
    sql.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))


_Total = dict[str, Fraction | float]


def _all_of(entries: Sequence[Entry], more: Sequence[Mechanism] = (), of: Any = None) -> list[Spent]:
    """Return what releases spend; of a person, of whom `of` is, those about single rows spend without a bound.

    Nobody knows here how many rows a person has in these. What is kept of a person is kept of each of their rows.
    """
    person = getattr(of, "person", None)
    known = [*(m for entry in entries for m in entry.mechanisms), *more]
    return [
        m.spent
        if person in (None, getattr(m, "person", None))
        else Spent(m.columns, None, None, loss=math.inf, rho=math.inf)
        for m in known
    ]


def _told(total: _Total) -> dict[str, float]:
    return {kind: up(value) for kind, value in total.items()}


def _part(found: Any) -> Any:
    """Return a recorded mechanism, or recorded statistics."""
    return Aggregate.from_dict(found) if "statistics" in found else Mechanism.from_dict(found)


def _allow(budget: Any, total: _Total, releases: Sequence[Spent]) -> None:
    """Refuse a release after which the total would pass the budget; where no prior is known, ldp bounds the others."""
    allowed = budget.values()
    ldp, rho = total["ldp"], total.get("zcdp", total["ldp"] ** 2 / 2)
    spent = total.get(budget.kind, ldp)
    if budget.kind == "zcdp":
        spent = rho
    elif budget.kind == "adp":
        spent = min(ldp, approximately_together(releases, allowed["delta"]))
        if rho < math.inf:
            spent = min(spent, compose(ZcdpRelease(up(rho))).epsilon(float(allowed["delta"])).upper)
    most = allowed.get("epsilon", allowed.get("rho", 0))
    if not spent <= most:
        needed = at_most(spent) if at_most(spent) != at_most(most) else str(up(spent))
        if math.isinf(spent) and budget.kind == "adp":
            needed = f"with a delta of {up(added(one.adp[1] for one in releases if one.adp)):.3g}"
        said = ["nothing was drawn"] if budget.kind == "zcdp" else ["nothing was drawn", "both are in nats"]
        if any(one.loss == one.rho == math.inf and one.adp is None for one in releases):
            said.append("releases of single rows, or without a bound, keep nothing of a person with many")
        raise DivulgeError.of(
            "budget", f"allow {budget.kind} {needed} in all", "it", str(budget).partition("=")[2],
            "; ".join(said) + ".",
        )  # fmt: skip
