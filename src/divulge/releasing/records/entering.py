"""A release on its way into the ledger: what it adds up to, before the lock; looked at again, and recorded, inside."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.shown import at_most
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.budgets import Budget, add_budget, allow, budget_in, budgets_of
from divulge.releasing.records.database import Database
from divulge.releasing.records.entries import (
    Mark,
    Releases,
    Untouched,
    about,
    add_draws,
    by_name,
    counted,
    digest_of,
    draws_in,
    mark_of,
    untouched_in,
)
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.people import Known, Recognition, Scope, enter, known_tables, recognize, scope_of
from divulge.releasing.records.promised import exactly_together
from divulge.releasing.records.receipt import now
from divulge.releasing.records.whom import Drawn, Draws, Most, drawn_by, people_of, spent_by, totals, worst

Charge = Callable[[tuple[str, str, str], Any, Any], Any]
"""Takes from accounts, and returns who can pay."""

_LOOKS = 3
"""So often what was computed outside the lock may be out of date; then it is computed inside."""


class Open:
    """The entry of a release under way.

    together : how many releases it and those before are, and what they guarantee, as everybody may know
    total : the same as the keeper knows, who sees how many rows a person has
    warnings, untouched : what the public has to know of it
    book : what accounts of people of this table are called
    private : what the keeper has to know
    drawn, earlier : as of an `Outlook`
    """

    def __init__(self, mark: Callable[[int], None], outlook: "Outlook", charge: Charge) -> None:
        self._mark, self.done, self._charge = mark, False, charge
        self.together, self.total = outlook.together, outlook.total
        self.warnings, self.private = outlook.warnings, outlook.private
        self.drawn, self.earlier = outlook.drawn, outlook.earlier
        self.untouched, self.book = outlook.untouched, outlook.book

    def charge(self, person: str, goal: str, people: Callable[[Key], Any], costs: Any) -> Any:
        """Charge the accounts of people, whom `people` gives as keyed words, and return who can pay.

        What is charged stays so, whatever becomes of the release.
        """
        return self._charge((self.book, person, goal), people, costs)

    def publishing(self) -> None:
        """Keep the entry from here on, whatever happens: something may be published."""
        self.done = True

    def published(self, receipt: Any) -> None:
        """Mark the entry as published."""
        self._mark(receipt.rows or 0)


@dataclass(frozen=True)
class Outlook:
    """What a release adds up to with those before it.

    together : {"releases": how many, "guarantees": {kind: value in nats, rounded up}}, this release included
    total : the same for the keeper
    untouched : columns of this release that went out as they are before
    book : what accounts of people of this table are called
    budgets : what is kept, and concerns it
    warnings : sentences for the public
    private : sentences for the keeper, about other tables
    drawn : for the people of each column that releases protect, all mechanisms, and how many draws are about one person
    earlier : as `total`, without this release; where it protects another column, of all about the same people
    """

    together: Mapping[str, Any]
    total: Mapping[str, Any]
    untouched: tuple[Untouched, ...]
    budgets: tuple[Budget, ...]
    warnings: tuple[str, ...]
    private: tuple[str, ...]
    drawn: Drawn
    earlier: Mapping[str, Any]
    book: str = ""


@dataclass(frozen=True)
class Table:
    """What a ledger is told of the table at hand: what it is recognized by, and what of its columns can be counted.

    most : how many rows, or people of another column, a person has at most
    person : a column that names people, whose rows are put on record
    """

    fingerprint: Fingerprint
    most: Most = lambda person, other: None
    person: str | None = None


@dataclass(frozen=True)
class _Look:
    """The ledger as it was looked at."""

    tables: tuple[Known, ...]
    found: Recognition | None
    scope: Scope
    mark: Mark
    budgets: tuple[Budget, ...]
    outlook: Outlook
    known: Mapping[tuple[str, str, str], int]


@dataclass(frozen=True)
class Entering:
    """A release that asks to be recorded."""

    database: Database
    key: Key | None
    source: str
    receipt: Any
    budget: Any = None
    table: Table | None = None
    people: str | None = None
    counts: dict[tuple[str, str | None], int | None] = field(default_factory=dict[tuple[str, str | None], int | None])

    def _most(self, person: str, other: str | None) -> int | None:
        """Return how many rows or people a person of the table at hand has at most: looked up once."""
        if self.table is not None and (person, other) not in self.counts:
            self.counts[person, other] = self.table.most(person, other)
        return self.counts.get((person, other))

    @property
    def columns(self) -> tuple[str, ...]:
        """What it is about; nothing for whole records: a released column tells of itself, statistics of records."""
        whole = any(isinstance(one, Aggregate) for one in self.receipt.mechanisms)
        return () if whole else tuple(self.receipt.columns)

    def look(self, connection: Any) -> _Look:
        """Return what there is, and what this release adds up to with it; refuse it where a budget does."""
        found = None
        scope = scope_of(connection, self.database, self.source)
        if self.table is not None and self.key is not None:
            protected = [name for one in self.receipt.mechanisms for name in one.columns]
            found = recognize(
                connection, self.database, self.key, self.table.fingerprint, protected, self.source, self.people
            )
            known = known_tables(connection, self.database)
            names = [one.name for one in known if one.people in found.people]
            scope = Scope(found.people, tuple(dict.fromkeys([self.source, found.name, *names])))
        elif self.people is not None:
            raise DivulgeError.of("people", "come with the rows of a table", "the table", "known by name alone")
        tables = tuple(known_tables(connection, self.database))
        mark = mark_of(connection, self.database, scope)
        budgets = tuple(budgets_of(connection, self.database, scope))
        here = by_name(self.source) if found is None else found.table
        draws = Draws(draws_in(connection, self.database), here, self._most)
        before = counted(connection, self.database, scope)
        try:
            outlook = self._outlook(connection, found, scope, budgets, mark, draws, before)
        except DivulgeError as error:
            if found is None or not found.private:
                raise
            raise DivulgeError(f"{error} This table: {'; '.join(found.private)}") from None
        people = people_of([*before, self._mine(here, found)])
        return _Look(tables, found, scope, mark, budgets, outlook, self._to_record(here, people))

    def _book(self, found: Recognition | None) -> str:
        """Return what accounts of the people of this table are called: as the ledger calls it, which tells them from
        others."""
        return self.source if found is None else found.name

    def _mechanisms(self, found: Recognition | None) -> tuple[Any, ...]:
        book = self._book(found)
        return tuple(one.booked(book) if isinstance(one, Aggregate) else one for one in self.receipt.mechanisms)

    def _mine(self, here: str, found: Recognition | None) -> Releases:
        return Releases(self._mechanisms(found), 1, here)

    def _to_record(self, here: str, people: Iterable[str]) -> dict[tuple[str, str, str], int]:
        """Return how many rows and people a person of this table has, for columns that the ledger knows or is told."""
        if self.table is None:
            return {}
        named = dict.fromkeys(name for name in (*people, self.table.person) if name is not None)
        pairs = [(name, other) for name in named for other in (None, *named) if name != other]
        found = {(here, name, other or ""): self._most(name, other) for name, other in pairs}
        return {key: most for key, most in found.items() if most is not None}

    def _outlook(
        self,
        connection: Any,
        found: Recognition | None,
        scope: Scope,
        budgets: Sequence[Budget],
        mark: Mark,
        draws: Draws,
        before: Sequence[Releases],
    ) -> Outlook:
        columns, prior = self.columns, self.receipt.mechanisms[0].prior
        releases = [*about(before, columns), self._mine(draws.here, found)]
        spent = totals(releases, draws, prior)
        concerned = tuple(kept for kept in budgets if kept.concerns(self.receipt.columns, not columns))
        gone = getattr(self.receipt, "untouched", ())
        for kept in concerned:
            since = f", kept since {kept.created[:10]}" if not self._asks(kept) else ""
            theirs = [*about(before, kept.columns), self._mine(draws.here, found)]
            for total, several in totals(theirs, draws, prior):
                allow(kept.budget, total, several, since, kept.aside)
        for kept in budgets:
            if broken := sorted(set(kept.columns) & set(gone)):
                raise DivulgeError(
                    f"column {broken[0]!r} must not go out as it is: a budget of {kept.budget} is kept for it since "
                    f"{kept.created[:10]}. Nothing was drawn. Hint: leave it out (keep=, --keep), or change the "
                    "budget by name: `divulge ledger budget`."
                )
        if self.budget is not None:
            for total, several in spent:
                allow(budget_in(self.budget), total, several)
        untouched = tuple(untouched_in(connection, self.database, scope, self.receipt.columns))
        many = sum(several.many for several in releases)
        public, total = (
            {"releases": many, "guarantees": rounded(worst([one for one, _ in found]))}
            for found in (totals(releases, draws, prior, public=True), spent)
        )
        private = (*self._private(found, mark, concerned), *_about_people(releases, draws, public, total))
        drawn, book = drawn_by(releases, draws), self._book(found)
        told = before if getattr(self.receipt, "about", None) is not None else about(before, columns)
        whom = people_of([*told, releases[-1]]) or (None,)
        alone = [exactly_together(spent_by(told, person, draws), prior) for person in whom]
        earlier = {"releases": sum(several.many for several in told), "guarantees": rounded(worst(alone))}
        return Outlook(public, total, untouched, concerned, tuple(map(_gone, untouched)), private, drawn, earlier, book)

    def _asks(self, kept: Budget) -> bool:
        return self.budget is not None and str(budget_in(self.budget)) == str(kept.budget)

    def _private(self, found: Recognition | None, mark: Mark, kept: Sequence[Budget]) -> tuple[str, ...]:
        said = [] if found is None else list(found.private)
        if found is not None and (old := len(mark.by_name)):
            said.append(
                f"{old} earlier {'release is' if old == 1 else 'releases are'} known by this name only, not by what "
                "was in the table: counted, as it may have been of the same people."
            )
        wanted = None if self.budget is None else budget_in(self.budget)
        for one in kept:
            if wanted is not None and self._same_place(one) and one.budget.kind == wanted.kind and not self._asks(one):
                said.append(
                    f"the budget that is kept stays {one.budget} (since {one.created[:10]}); {wanted} held for this "
                    "release beside it. Hint: `divulge ledger budget` changes it."
                )
        return tuple(said)

    def _same_place(self, kept: Budget) -> bool:
        return set(kept.columns) == set(self.columns)

    def enter(self, id: str) -> Outlook:
        """Record the release, and return what it adds up to; what is computed is computed outside the lock."""
        for _ in range(_LOOKS):
            look = self.database.read(self.look)

            def record(connection: Any, look: _Look = look) -> bool:
                if not self._is_current(connection, look):
                    return False
                self._record(connection, look, id)
                return True

            if self.database.write(record):
                return look.outlook

        def look_and_record(connection: Any) -> Outlook:
            look = self.look(connection)
            self._record(connection, look, id)
            return look.outlook

        return self.database.write(look_and_record)

    def _is_current(self, connection: Any, look: _Look) -> bool:
        """Say whether nothing was added since; what was taken back only spends less."""
        return (
            tuple(known_tables(connection, self.database)) == look.tables
            and tuple(budgets_of(connection, self.database, look.scope)) == look.budgets
            and look.mark.covers(mark_of(connection, self.database, look.scope))
        )

    def _record(self, connection: Any, look: _Look, id: str) -> None:
        mechanisms = json.dumps([one.on_record() for one in self._mechanisms(look.found)])
        row = {"id": id, "source": self.source, "state": "open", "created": now(), "output": self.receipt.output,
               "rows": 0, "mechanisms": mechanisms}  # fmt: skip
        people = f"name:{self.source}"
        if look.found is not None and self.table is not None and self.key is not None:
            row["source"] = look.found.name
            people = enter(connection, self.database, self.key, look.found, self.table.fingerprint)
            add_draws(connection, self.database, look.known)
            about = {"release": id, "source_table": look.found.table, "mechanisms": digest_of(mechanisms),
                     "untouched": json.dumps(list(getattr(self.receipt, "untouched", ()))),
                     "because": look.found.because}  # fmt: skip
            connection.execute(self.database.about.insert().values(**about))
        connection.execute(self.database.releases.insert().values(**row))
        if self.budget is not None:
            wanted = budget_in(self.budget)
            if not any(self._same_place(kept) and kept.budget.kind == wanted.kind for kept in look.budgets):
                add_budget(connection, self.database, people, self.columns, wanted, id)


def take_back(connection: Any, database: Database, id: str) -> None:
    """Delete an entry, the budget that it set, and its table if nothing else is of it: nothing was published."""
    tables, about = database.tables, database.about
    for column in (database.releases.c.id, about.c.release, database.budgets.c.release):
        connection.execute(column.table.delete().where(column == id))
    connection.execute(tables.delete().where(tables.c.id.not_in(database.sql.select(about.c.source_table))))
    of = database.persons.c.source_table
    gone = database.sql.and_(of.not_in(database.sql.select(tables.c.id)), of.not_like("name:%"))
    connection.execute(database.persons.delete().where(gone))


def _gone(one: Untouched) -> str:
    where = "" if one.output is None else f" in {one.output!r}"
    return (
        f"Column {one.column!r} went out as it is on {one.created[:10]}{where}: whoever has that table knows it, "
        "whatever is promised here."
    )


def _about_people(
    releases: Sequence[Releases], draws: Draws, public: Mapping[str, Any], total: Mapping[str, Any]
) -> list[str]:
    """Return what the keeper is told where some releases are about rows, and others about people who have several."""
    most = {
        name: max(draws.of(several.table, one, name, False) for several in releases for one in several.mechanisms)
        for name in people_of(releases)
    }
    if math.inf in most.values():
        return [_UNKNOWN.format(people=", ".join(repr(name) for name, rows in most.items() if math.isinf(rows)))]
    if public["guarantees"] == total["guarantees"]:
        return []
    has = " and ".join(f"{rows:,.0f} about one of {name!r}" for name, rows in most.items())
    return [_MIXED.format(releases=total["releases"], has=has, ldp=at_most(total["guarantees"]["ldp"]))]


_MIXED = (
    "Of the {releases} releases on record some are about rows and others about people, who count with every draw about "
    "them (at most {has}): ldp {ldp} nats in all. The public papers give no bound for a person, as how many rows one "
    "has is read off the table."
)

_UNKNOWN = (
    "An earlier release is about rows, or does not say whom it is about, and how many rows a person ({people}) had in "
    "its table is not on record: nothing bounds what all releases tell about a person. Hint: `divulge ledger "
    "rows-per-person TABLE N --person C` puts it on record."
)


def rounded(total: Mapping[str, Fraction | float]) -> dict[str, float]:
    """Return a total as doubles, rounded up."""
    return {kind: exact.double_above(value) for kind, value in total.items()}
