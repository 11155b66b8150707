"""A release on its way into the ledger: what it adds up to, before the lock; looked at again, and recorded, inside."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.budgets import Budget, add_budget, allow, budget_in, budgets_of
from divulge.releasing.records.database import Database
from divulge.releasing.records.entries import (
    Mark,
    Releases,
    Untouched,
    counted,
    digest_of,
    mark_of,
    untouched_in,
)
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.people import Known, Recognition, Scope, enter, known_tables, recognize, scope_of
from divulge.releasing.records.promised import Spent, exactly_together, up
from divulge.releasing.records.receipt import now

_LOOKS = 3
"""So often what was computed outside the lock may be out of date; then it is computed inside."""


class Open:
    """The entry of a release under way.

    Attributes
    ----------
    together : how many releases it and those before are, and what they guarantee
    warnings, untouched : what the public has to know of it
    private : what the keeper has to know
    """

    def __init__(self, mark: Callable[[int], None], outlook: "Outlook") -> None:
        self._mark, self.done = mark, False
        self.together, self.warnings, self.private = outlook.together, outlook.warnings, outlook.private
        self.untouched = outlook.untouched

    def publishing(self) -> None:
        """Keep the entry from here on, whatever happens: something may be published."""
        self.done = True

    def published(self, receipt: Any) -> None:
        """Mark the entry as published."""
        self._mark(receipt.rows or 0)


@dataclass(frozen=True)
class Outlook:
    """What a release adds up to with those before it.

    Attributes
    ----------
    together : {"releases": how many, "guarantees": {kind: value in nats, rounded up}}, this release included
    untouched : columns of this release that went out as they are before
    budgets : what is kept, and concerns it
    warnings : sentences for the public
    private : sentences for the keeper, about other tables
    """

    together: Mapping[str, Any]
    untouched: tuple[Untouched, ...]
    budgets: tuple[Budget, ...]
    warnings: tuple[str, ...]
    private: tuple[str, ...]


@dataclass(frozen=True)
class _Look:
    """The ledger as it was looked at."""

    tables: tuple[Known, ...]
    found: Recognition | None
    scope: Scope
    mark: Mark
    budgets: tuple[Budget, ...]
    outlook: Outlook


@dataclass(frozen=True)
class Entering:
    """A release that asks to be recorded."""

    database: Database
    key: Key | None
    source: str
    receipt: Any
    budget: Any = None
    table: Fingerprint | None = None
    people: str | None = None

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
            found = recognize(connection, self.database, self.key, self.table, protected, self.source, self.people)
            known = known_tables(connection, self.database)
            names = [one.name for one in known if one.people in found.people]
            scope = Scope(found.people, tuple(dict.fromkeys([self.source, found.name, *names])))
        elif self.people is not None:
            raise DivulgeError.of("people", "come with the rows of a table", "the table", "known by name alone")
        tables = tuple(known_tables(connection, self.database))
        mark = mark_of(connection, self.database, scope)
        budgets = tuple(budgets_of(connection, self.database, scope))
        try:
            outlook = self._outlook(connection, found, scope, budgets, mark)
        except DivulgeError as error:
            if found is None or not found.private:
                raise
            raise DivulgeError(f"{error} This table: {'; '.join(found.private)}") from None
        return _Look(tables, found, scope, mark, budgets, outlook)

    def _outlook(
        self, connection: Any, found: Recognition | None, scope: Scope, budgets: Sequence[Budget], mark: Mark
    ) -> Outlook:
        columns, mine = self.columns, self.receipt.mechanisms
        before = counted(connection, self.database, scope, columns)
        total = exactly_together(spent_of(before, mine, mine[0]), mine[0].prior)
        concerned = tuple(kept for kept in budgets if kept.concerns(self.receipt.columns, not columns))
        gone = getattr(self.receipt, "untouched", ())
        for kept in concerned:
            self._within(connection, scope, kept)
        for kept in budgets:
            if broken := sorted(set(kept.columns) & set(gone)):
                raise DivulgeError(
                    f"column {broken[0]!r} must not go out as it is: a budget of {kept.budget} is kept for it since "
                    f"{kept.created[:10]}. Nothing was drawn. Hint: leave it out (keep=, --keep), or change the "
                    "budget by name: `divulge ledger budget`."
                )
        if self.budget is not None:
            wanted = budget_in(self.budget)
            allow(wanted, total, spent_of(before, mine, mine[0]))
        untouched = tuple(untouched_in(connection, self.database, scope, self.receipt.columns))
        return Outlook(
            {"releases": sum(many for _, many in before) + 1, "guarantees": rounded(total)},
            untouched, concerned, tuple(map(_gone, untouched)), self._private(found, mark, concerned),
        )  # fmt: skip

    def _within(self, connection: Any, scope: Scope, kept: Budget) -> None:
        """Refuse the release where a budget that is kept does not allow it."""
        mine = self.receipt.mechanisms
        spent = spent_of(counted(connection, self.database, scope, kept.columns), mine, mine[0])
        since = f", kept since {kept.created[:10]}" if not self._asks(kept) else ""
        allow(kept.budget, exactly_together(spent, mine[0].prior), spent, since)

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
        mechanisms = json.dumps([one.to_dict(keeper=True) for one in self.receipt.mechanisms])
        row = {"id": id, "source": self.source, "state": "open", "created": now(), "output": self.receipt.output,
               "rows": 0, "mechanisms": mechanisms}  # fmt: skip
        people = f"name:{self.source}"
        if look.found is not None and self.table is not None and self.key is not None:
            row["source"] = look.found.name
            people = enter(connection, self.database, self.key, look.found, self.table)
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


def _gone(one: Untouched) -> str:
    where = "" if one.output is None else f" in {one.output!r}"
    return (
        f"Column {one.column!r} went out as it is on {one.created[:10]}{where}: whoever has that table knows it, "
        "whatever is promised here."
    )


def spent_of(before: Sequence[Releases], more: Sequence[Any] = (), of: Any = None) -> list[Spent]:
    """Return what releases spend; of a person, of whom `of` is, those about single rows spend without a bound.

    Nobody knows here how many rows a person has in these. What is kept of a person is kept of each of their rows.
    """
    person = getattr(of, "person", None)
    known = [*((one, many) for mechanisms, many in before for one in mechanisms), *((one, 1) for one in more)]
    return [
        spent
        for one, many in known
        for spent in many
        * [
            one.spent
            if person in (None, getattr(one, "person", None))
            else Spent(one.columns, None, None, loss=math.inf, rho=math.inf)
        ]
    ]


def rounded(total: Mapping[str, Fraction | float]) -> dict[str, float]:
    """Return a total as doubles, rounded up."""
    return {kind: up(value) for kind, value in total.items()}
