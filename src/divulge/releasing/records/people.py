"""Whose rows a table holds: tables that have people in common are recognized, and overruled by name, on record."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from divulge.errors import DivulgeError, did_you_mean
from divulge.releasing.records.database import Database
from divulge.releasing.records.fingerprint import Fingerprint, Key, Overlap
from divulge.releasing.records.receipt import now

NEW = "new"
"""What `people` is where nobody in the ledger is in the table."""


@dataclass(frozen=True)
class Known:
    """A table on record."""

    id: str
    people: str
    name: str
    created: str
    whole: str
    apart: bool


@dataclass(frozen=True)
class Match:
    """A table on record whose people are, or may be, in another table; `share` of whose rows stand in it."""

    known: Known
    share: float
    why: str

    @property
    def rank(self) -> tuple[bool, float]:
        """What the best of several is by: known before unclear, then the share."""
        return self.why != "open", self.share

    @property
    def words(self) -> str:
        """Why they are the same, or may be, as the keeper is told."""
        day = self.known.created[:10]
        where = f"{self.known.name!r} of {day}"
        if self.why == "said":
            return f"counted as the people of {where}, as `people` says"
        if self.why == "open":
            return (
                f"too few rows are different to know whether people of {where} are in this table: counted as others "
                "(the same rows again, and the same values of a protected column, are recognized)"
            )
        if self.why == "rows":
            some = f"about {min(max(round(100 * self.share), 1), 99)} of 100 rows"
            some = "all rows that were compared" if self.share == 1 else some
            return f"{some} stand in {where}: counted as the same people"
        return f"the {'rows' if self.why == 'whole' else 'values of ' + self.why} are those of {where}: the same people"


@dataclass(frozen=True)
class Recognition:
    """Whose rows a table holds.

    table : id of the table, of one on record if its rows are those
    people : the groups of people it belongs to, which become one; empty for people that are new
    name : what the ledger calls it
    because : why, for the record
    private : what the keeper is told
    """

    table: str
    people: tuple[str, ...]
    name: str
    because: str
    private: tuple[str, ...]
    apart: bool = False

    @property
    def scope(self) -> "Scope":
        """Whose releases count."""
        return Scope(self.people, (self.name,))


@dataclass(frozen=True)
class Scope:
    """Releases that count together: those of groups of people, and those that are known by a name alone."""

    people: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """What budgets of these people are kept under."""
        return (*self.people, *(f"name:{name}" for name in self.names))


def known_tables(connection: Any, database: Database) -> list[Known]:
    """Return the tables on record, in order."""
    if not database.holds(database.tables):
        return []
    t = database.tables.c
    query = database.sql.select(t.id, t.people, t.name, t.created, t.whole, t.apart).order_by(t.created, t.id)
    return [Known(*row) for row in connection.execute(query)]


def scope_of(connection: Any, database: Database, source: str) -> Scope:
    """Return which releases count for a name: all of the people of any table that was released under it."""
    tables = known_tables(connection, database)
    source = full_name(tables, source)
    people = {known.people for known in tables if known.name == source}
    if tables:
        r, a, t = database.releases.c, database.about.c, database.tables.c
        query = (
            database.sql.select(t.people)
            .distinct()
            .where(r.source == source, a.release == r.id, t.id == a.source_table)
        )
        people |= {name for (name,) in connection.execute(query)}
    names = {source} | {known.name for known in tables if known.people in people}
    return Scope(tuple(sorted(people)), tuple(sorted(names)))


def full_name(tables: Sequence[Known], name: str) -> str:
    """Return the name of a table as the ledger has it: files are named by their paths, or without, if one is so."""
    names = {known.name for known in tables}
    files = [known for known in names if Path(known).name == name]
    return files[0] if name not in names and len(files) == 1 else name


def recognize(
    connection: Any, database: Database, key: Key, table: Fingerprint, columns: Sequence[str], source: str,
    said: str | None = None,
) -> Recognition:  # fmt: skip
    """Return whose rows a table holds: by all its rows, by all values of a protected column, or by rows in common."""
    tables = known_tables(connection, database)
    mark = key.mark(table.whole.encode())
    matches = _said(tables, said) if said is not None else _matches(connection, database, key, table, columns, mark)
    unclear = [match for match in matches if match.why == "open"]
    matches = [match for match in matches if match.why != "open"]
    groups = {match.known.people for match in matches}
    if len(groups) > 1 and said is None and any(match.known.apart for match in matches):
        best = max(matches, key=lambda match: (match.why == "whole", match.known.name == source, match.share))
        groups = {best.known.people}
        matches = [best]
    same = next((m.known for m in matches if m.known.whole == mark), None)
    if same is None:
        same = next((one for one in tables if one.whole == mark and one.people in groups), None)
    taken = {one.name for one in tables if one.people not in groups}
    name, number = source, 2
    while name in taken:
        name, number = f"{source} ({number})", number + 1
    private = [match.words for match in matches if match.known.name != source or match.why not in ("whole",)]
    if name != source and said != NEW:
        private.append(
            f"the ledger has another {source!r}, with other rows: this one is called {name!r}, and counted as other "
            "people"
        )
    private += [match.words for match in unclear if match.known.people not in groups]
    private += [_REMEDY] if private and said is None else []
    because = "; ".join(match.words for match in matches) or ("new people, as `people` says" if said else "")
    identity = token_hex(16) if same is None else same.id
    return Recognition(identity, tuple(sorted(groups)), name, because, tuple(private), said == NEW)


_REMEDY = "Hint: --people (people=) names the table of the same people, or says new, if that is not so."


def _said(tables: Sequence[Known], said: str) -> list[Match]:
    """Return the tables of a name that was given, none for new people."""
    DivulgeError.unless(said, str, "people", "be the name of a table of the ledger, or new")
    if said == NEW:
        return []
    named = [known for known in tables if known.name == full_name(tables, said)]
    if not named:
        names = list(dict.fromkeys(known.name for known in tables))
        hint = did_you_mean(said, names) + " `divulge ledger show` lists them."
        raise DivulgeError.of("people", "name a table of the ledger, or be new", "it", repr(said), hint.strip())
    return [Match(named[-1], 1.0, "said")]


def _matches(
    connection: Any, database: Database, key: Key, table: Fingerprint, columns: Sequence[str], mark: str
) -> list[Match]:
    """Return one table of each group of people that is recognized, the best one."""
    if not database.holds(database.tables):
        return []
    known_rows = [Match(one, 1.0, "whole") for one in known_tables(connection, database) if one.whole == mark]
    if known_rows:  # whoever else is in it was found out when it was put on record
        return known_rows
    best: dict[str, Match] = {}
    t = database.tables.c
    query = database.sql.select(t.fingerprint, t.id, t.people, t.name, t.created, t.whole, t.apart)
    for content, *row in connection.execute(query.order_by(t.created, t.id)):
        known = Known(*row)
        try:
            match = _matched(table, Fingerprint.opened(content, key), known, columns)
        except ValueError:
            raise DivulgeError(
                "the key of the ledger must be the one that its tables are known by; it is another. Nothing was drawn. "
                "Hint: restore it from a copy, or begin a new ledger."
            ) from None
        if match is not None and (known.people not in best or best[known.people].rank < match.rank):
            best[known.people] = match
    return list(best.values())


def _matched(table: Fingerprint, other: Fingerprint, known: Known, columns: Sequence[str]) -> Match | None:
    marks = set(other.columns.values())
    for column in columns:
        if table.rows == other.rows and table.columns.get(column) in marks:
            return Match(known, 1.0, repr(column))
    overlap = Overlap.of(table, other)
    if not overlap.same and not overlap.open:
        return None
    return Match(known, overlap.share, "rows" if overlap.same else "open")


def enter(connection: Any, database: Database, key: Key, found: Recognition, table: Fingerprint) -> str:
    """Put a recognized table on record: its groups of people become one, which is returned."""
    people = found.people[0] if found.people else token_hex(16)
    for name, column in ((database.tables, database.tables.c.people), (database.budgets, database.budgets.c.people)):
        for other in found.people[1:]:
            connection.execute(name.update().where(column == other).values(people=people))
    query = database.sql.select(database.tables.c.id).where(database.tables.c.id == found.table)
    if connection.execute(query).first() is None:
        row = {"id": found.table, "people": people, "name": found.name, "created": now(), "apart": found.apart,
               "whole": key.mark(table.whole.encode()), "fingerprint": table.sealed(key)}  # fmt: skip
        connection.execute(database.tables.insert().values(**row))
    return people
