"""What the ledger has on record: entries one by one, and equal releases counted together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from divulge.errors import DivulgeError, printable
from divulge.files.forms import fits, whole
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.database import Database
from divulge.releasing.records.people import Scope, scope_of
from divulge.releasing.records.ran.mechanism import Mechanism, Ran
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.ran.placed import MetricNoise

Mechanisms = tuple[Ran | Aggregate, ...]


@dataclass(frozen=True)
class Releases:
    """Equal releases of one table, and how many of them there are.

    mechanisms : tuple of Mechanism or Aggregate
    many : how many
    table : id of the table, or "name:" and its name where an earlier version knew it by name alone
    """

    mechanisms: Mechanisms
    many: int
    table: str


@dataclass(frozen=True)
class Entry:
    """One release in the ledger.

    state : "open" or "published"; an entry stays open when the process that made it was killed: it counts as spent, as
        it may have been published
    mechanisms : tuple of Mechanism
    untouched : columns that went out as they are; None where an earlier version did not keep it
    because : why its people are those of other tables, where they are
    """

    id: str
    source: str
    state: str
    created: str
    output: str | None
    rows: int
    mechanisms: Mechanisms
    untouched: tuple[str, ...] | None = None
    because: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were released."""
        return tuple(name for mechanism in self.mechanisms for name in mechanism.columns)


def _entry(row: Any) -> Entry:
    """Return the entry in a row; a row that is not as it was written is refused: it could count as nothing spent."""
    try:
        mechanisms = _mechanisms(row.mechanisms)
        form = {"id": str, "source": str, "state": ("open", "published"), "created": str, "output": (None, str),
                "rows": whole, "mechanisms": str, "*": (None, str)}  # fmt: skip
        if mechanisms and fits(dict(row._mapping), form):
            more = getattr(row, "untouched", None)
            untouched = None if more is None else tuple(json.loads(more))
            return Entry(row.id, row.source, row.state, row.created, row.output, row.rows, mechanisms, untouched,
                         getattr(row, "because", None) or "")  # fmt: skip
    except Exception:  # what a damaged row may hold is open-ended
        pass
    raise _damaged(row.id)


def _damaged(key: Any) -> DivulgeError:
    return DivulgeError(
        f"the ledger has an entry that is not as it was written ({printable(str(key))[:40]}). Nothing was drawn. "
        "Hint: restore the ledger from a copy; an entry that is lost would count as nothing spent."
    )


def digest_of(text: str) -> str:
    """Return what equal mechanisms on record have in common."""
    return sha256(text.encode()).hexdigest()


@lru_cache(maxsize=256)
def _mechanisms(text: str) -> Mechanisms:
    return tuple(_part(part) for part in json.loads(text))


def _part(found: Any) -> Ran | Aggregate:
    """Return a recorded mechanism, or recorded statistics."""
    if "statistics" in found:
        return Aggregate.from_dict(found)
    if "metric" in found:
        return MetricNoise.from_dict(found)
    return FrequencyOracle.from_dict(found) if "protocol" in found else Mechanism.from_dict(found)


def entries_in(connection: Any, database: Database, source: str | None, columns: Sequence[str]) -> list[Entry]:
    """Return the releases on record, in order: of the people of a source, about one of some columns."""
    sql, r = database.sql, database.releases
    if not database.holds(r):
        return []
    query = sql.select(r).order_by(r.c.created, r.c.id)
    if database.holds(database.about):
        a = database.about
        query = sql.select(r, a.c.untouched, a.c.because).select_from(r.outerjoin(a, a.c.release == r.c.id))
        query = query.order_by(r.c.created, r.c.id)
    if source is not None:
        query = query.where(_of(database, scope_of(connection, database, source)))
    found = (_entry(row) for row in connection.execute(query))
    return [entry for entry in found if _is_about(entry.columns, columns)]


def by_name(source: str) -> str:
    """Return what stands for a table that is known by its name alone."""
    return f"name:{source}"


def draws_in(connection: Any, database: Database) -> dict[tuple[str, str, str], int]:
    """Return {(table, column of people, column of other people or ""): how many of them one person has at most}."""
    if not database.holds(database.persons):
        return {}
    p = database.persons.c
    query = database.sql.select(p.source_table, p.person, p.other, p.most).order_by(p.number)
    return {(table, person, other): most for table, person, other, most in connection.execute(query)}


def add_draws(connection: Any, database: Database, known: Mapping[tuple[str, str, str], int]) -> None:
    """Put on record how many rows, or other people, a person has at most in a table; the last word counts."""
    held = draws_in(connection, database)
    for (table, person, other), most in known.items():
        if held.get((table, person, other)) != most:
            row = {"source_table": table, "person": person, "other": other, "most": most}
            connection.execute(database.persons.insert().values(**row))


def _of(database: Database, scope: Scope) -> Any:
    """Return the condition that a release belongs to a scope, in a join of releases with what they were about."""
    sql, r, a, t = database.sql, database.releases.c, database.about, database.tables
    if not (database.holds(a) and database.holds(t)):
        return r.source.in_(scope.names)
    theirs = sql.select(a.c.release).join(t, t.c.id == a.c.source_table).where(t.c.people.in_(scope.people))
    by_name = sql.and_(r.source.in_(scope.names), r.id.not_in(sql.select(a.c.release)))
    return sql.or_(r.id.in_(theirs), by_name)


def _is_about(held: Sequence[str], columns: Sequence[str]) -> bool:
    """Say whether a release counts for columns: the number of rows is of no column, and belongs to every one."""
    return not columns or not held or bool(set(columns) & set(held))


@dataclass(frozen=True)
class Mark:
    """How far the ledger is, for a scope: what is recorded later has a greater number, or is of an earlier version."""

    number: int
    by_name: frozenset[str]

    def covers(self, later: "Mark") -> bool:
        """Say whether nothing was added since; what was taken back only spends less."""
        return later.number <= self.number and later.by_name <= self.by_name


def mark_of(connection: Any, database: Database, scope: Scope) -> Mark:
    """Return how far the ledger is."""
    sql, r, a, t = database.sql, database.releases.c, database.about, database.tables
    query = sql.select(sql.func.max(a.c.number)).join(t, t.c.id == a.c.source_table)
    number = connection.execute(query.where(t.c.people.in_(scope.people))).scalar() or 0
    query = sql.select(r.id).where(r.source.in_(scope.names), r.id.not_in(sql.select(a.c.release)))
    return Mark(number, frozenset(key for (key,) in connection.execute(query)))


def _require(key: str, ends: Sequence[Any], written: bool) -> None:
    """Refuse releases of which one is not as it was written: `ends` are the least and greatest state and rows."""
    if not (written and {*ends[:2]} <= {"open", "published"} and all(isinstance(n, int) for n in ends[2:])):
        raise _damaged(key)


def about(releases: Iterable[Releases], columns: Sequence[str]) -> list[Releases]:
    """Return the releases that are about one of some columns, all of them for none."""
    named = (([name for one in each.mechanisms for name in one.columns], each) for each in releases)
    return [each for names, each in named if _is_about(names, columns)]


def counted(connection: Any, database: Database, scope: Scope) -> list[Releases]:
    """Return the releases of a scope; equal ones are read once and counted."""
    sql, r, a = database.sql, database.releases.c, database.about
    if not database.holds(database.releases):
        return []
    found: list[Releases] = []
    groups: list[tuple[str, int, str]] = []
    how = [sql.func.count(), sql.func.min(r.id)]
    how += [of(column) for column in (r.state, r.rows) for of in (sql.func.min, sql.func.max)]
    if database.holds(a):
        query = sql.select(a.c.mechanisms, a.c.source_table, *how).where(a.c.release == r.id, _of(database, scope))
        for mark, table, many, key, *ends in connection.execute(query.group_by(a.c.mechanisms, a.c.source_table)):
            text = connection.execute(sql.select(r.mechanisms).where(r.id == key)).scalar_one()
            _require(key, ends, digest_of(str(text)) == mark)
            groups.append((text, many, table))
    query = sql.select(r.mechanisms, r.source, *how).where(_of(database, scope)).group_by(r.mechanisms, r.source)
    if database.holds(a):
        query = query.where(r.id.not_in(sql.select(a.c.release)))
    for text, source, many, key, *ends in connection.execute(query):
        _require(key, ends, True)
        groups.append((text, many, by_name(source)))
    for text, many, table in groups:
        try:
            mechanisms = _mechanisms(text)
        except Exception:  # what a damaged row may hold is open-ended
            mechanisms = ()
        if not mechanisms:
            key = connection.execute(sql.select(r.id).where(r.mechanisms == text)).scalar()
            raise _damaged(key)
        found.append(Releases(mechanisms, many, table))
    return found


@dataclass(frozen=True)
class Untouched:
    """A column that went out as it is: when, and in which file."""

    column: str
    created: str
    output: str | None


def untouched_in(connection: Any, database: Database, scope: Scope, columns: Iterable[str]) -> list[Untouched]:
    """Return which of some columns went out as they are, each with the first release that it did in."""
    sql, r, a = database.sql, database.releases.c, database.about
    if not database.holds(a):
        return []
    query = sql.select(a.c.untouched, sql.func.min(r.created), sql.func.min(r.output))
    query = query.where(a.c.release == r.id, _of(database, scope)).group_by(a.c.untouched)
    first: dict[str, Untouched] = {}
    for names, created, output in sorted(connection.execute(query), key=lambda row: row[1]):
        for name in json.loads(names):
            first.setdefault(name, Untouched(name, created, output))
    return [first[name] for name in columns if name in first]
