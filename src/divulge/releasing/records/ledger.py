"""The ledger: what was released about which columns of whose rows, what it adds up to, and budgets kept."""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from divulge.errors import DivulgeError
from divulge.files.tables.source import Source, TableLike
from divulge.files.tables.table import open_table
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import GuaranteeLike
from divulge.model.entries import whole_number
from divulge.model.prior import Prior
from divulge.releasing.records.adaptive import charged
from divulge.releasing.records.budgets import (
    KINDS,
    Budget,
    add_budget,
    aside_of,
    budget_in,
    budgets_of,
    replace_budgets,
)
from divulge.releasing.records.database import Database, files_of
from divulge.releasing.records.entering import Entering, Open, Table, rounded, take_back
from divulge.releasing.records.entries import Entry, Releases, about, add_draws, by_name, counted, draws_in, entries_in
from divulge.releasing.records.fingerprint import Fingerprint, Key
from divulge.releasing.records.impression import fingerprint
from divulge.releasing.records.people import full_name, known_tables, scope_of
from divulge.releasing.records.whom import Drawn, Draws, totals, worst

__all__ = ["KINDS", "Budget", "Entry", "Ledger", "files_of"]


class Ledger:
    """Releases on record, in a database.

    Parameters
    ----------
    where : path of an SQLite file, or SQLAlchemy URL such as "postgresql+psycopg://host/name"

    Examples
    --------
    >>> import pyarrow as pa
    >>> ledger = Ledger(folder / "ledger.sqlite")
    >>> survey = pa.table({"answer": ["yes", "no"]})
    >>> coin = {"yes": {"yes": "3/4", "no": "1/4"}, "no": {"yes": "1/4", "no": "3/4"}}
    >>> once = dict(column="answer", mechanism=coin, ledger=ledger, source_name="survey", budget="ldp=2")
    >>> _ = dv.release(survey, **once)
    >>> ledger.spent("survey", ["answer"])
    {'ldp': 1.098612288...}
    >>> dv.release(survey, **once)
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `budget` must allow ldp 2.2 in all; it is 2. Hint: nothing was drawn; both are in nats.
    """

    def __repr__(self) -> str:
        return f"Ledger({self._database.url.render_as_string(hide_password=True)!r})"

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._database = Database(where)
        self._secret: Key | None = None

    @property
    def file(self) -> Path | None:
        """The file it is kept in; None on a server and in memory."""
        return self._database.file

    @property
    def lasts(self) -> bool:
        """Whether it is there when the process has ended."""
        return self._database.lasts

    @classmethod
    def of(cls, where: "Ledger | str | os.PathLike[str]") -> "Ledger":
        """Return a Ledger from one, or from a path or URL.

        Examples
        --------
        >>> ledger = Ledger(folder / "ledger.db")
        >>> Ledger.of(ledger) is ledger
        True
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
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> ledger = Ledger(folder / "ledger.db")
        >>> _ = dv.release(table, column="answer", mechanism=coin, ledger=ledger, source_name="survey")
        >>> [entry.rows for entry in ledger.entries("survey")]
        [4]
        """
        return self._database.read(lambda connection: entries_in(connection, self._database, source, columns))

    def tables(self) -> list[str]:
        """Return what the tables that the ledger knows by their rows are called, the latest first.

        Examples
        --------
        >>> where = folder / "ledger.db"
        >>> survey = {"answer": ["yes", "no"]}
        >>> asked = {"column": "answer", "guarantee": "ldp=1", "ledger": where, "source_name": "survey"}
        >>> _ = dv.release(survey, **asked)
        >>> dv.Ledger(where).tables()
        ['survey']
        """
        database = self._database
        known = database.read(lambda connection: known_tables(connection, database))
        return list(dict.fromkeys(one.name for one in reversed(known)))

    def spent(self, source: str, columns: Sequence[str], prior: Prior | None = None) -> dict[str, float]:
        """Return what all releases about `columns` of the source guarantee together, in nats, rounded up.

        Without columns it is what all releases of the source tell about one record. It is about a row where all of them
        are; else about a person, of whom each release of rows tells as often as they have rows: infinite where nobody
        knows how many.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> ledger = Ledger(folder / "ledger.db")
        >>> _ = dv.release(table, column="answer", mechanism=coin, ledger=ledger, source_name="survey")
        >>> round(ledger.spent("survey", ["answer"])["ldp"], 9)  # log 3, rounded up
        1.098612289
        """
        database = self._database

        def look(connection: Any) -> tuple[list[Releases], Draws]:
            scope = scope_of(connection, database, source)
            return about(counted(connection, database, scope), columns), Draws(draws_in(connection, database))

        releases, draws = database.read(look)
        return rounded(worst([total for total, _ in totals(releases, draws, prior)])) if releases else {}

    def rows_per_person(self, source: str, person: str, most: int) -> None:
        """Put on record how many rows one person had at most in the tables of a name, where nothing says so.

        Releases that are about rows then count so often beside those that are about a person.

        Parameters
        ----------
        source : name of a table of the ledger
        person : the column whose people are meant
        most : how many rows one of them had at most

        Examples
        --------
        >>> ledger = Ledger(folder / "ledger.db")
        >>> visits = {"who": [1, 1, 2], "ill": ["yes", "no", "no"]}
        >>> asked = dict(column="ill", mechanism="randomized-response", ratio=3, ledger=ledger, source_name="visits")
        >>> _ = dv.release({"ill": visits["ill"]}, **asked, people="new")
        >>> _ = dv.release(visits, **asked, person="who", rows_per_person=2, people="visits")
        >>> ledger.spent("visits", ["ill"])["ldp"]
        inf
        >>> ledger.rows_per_person("visits", "who", 2)
        >>> round(ledger.spent("visits", ["ill"])["ldp"], 9)  # log 3, and log 3 for each of two rows
        3.295836866
        """
        DivulgeError.unless(person, str, "person", "be the name of a column")
        most = whole_number(most, "most")
        database = self._database
        self.require_writable()

        def change(connection: Any) -> None:
            tables = known_tables(connection, database)
            name, held = full_name(tables, source), draws_in(connection, database)
            ids = [*(one.id for one in tables if one.name == name), by_name(name)]
            add_draws(connection, database, {(id, person, ""): most for id in ids if (id, person, "") not in held})

        database.write(change, "Nothing was changed.")

    def fingerprint(self, source: TableLike, columns: Sequence[str] = ()) -> Fingerprint:
        """Return what the ledger knows a table by: keyed digests, from which nothing is read without its key.

        Examples
        --------
        >>> ledger = Ledger(folder / "ledger.db")
        >>> ledger.fingerprint({"answer": ["yes", "no"]}).rows
        2
        """
        return fingerprint(open_table(source), self.key, columns)

    @property
    def key(self) -> Key:
        """The key of its fingerprints, in a file beside it that only its owner may read; made when it is first used."""
        if self._secret is None:
            self._secret = self._database.key()
        return self._secret

    @contextmanager
    def spending(
        self, source: str, receipt: Any, budget: GuaranteeLike | None = None, *,
        table: Table | None = None, people: str | None = None,
    ) -> "Generator[Open]":  # fmt: skip
        """Record a release before a row is drawn, if the budgets allow it; take it back if nothing was published.

        To a column add up the releases about it, to statistics all of the people: they are about whole records. What
        they add up to is computed first; look and record are one transaction that no other writer can pass, so that
        two releases cannot both spend what is left.

        Parameters
        ----------
        source : what the table is called
        receipt : Receipt or Published
        budget : Guarantee or text, optional
            Kept from here on, unless one of its kind is kept already; this release has to stay within all of them.
        table : Table, optional
            What the table is recognized by, and what can be counted in it; without it, it is known by its name.
        people : name of a table of the ledger, or "new", optional
            Whose rows these are, where recognition is wrong.

        Examples
        --------
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism=coin)
        >>> ledger = Ledger(folder / "ledger.db")
        >>> try:
        ...     with ledger.spending("survey", receipt):
        ...         raise OSError("the disk is full")
        ... except OSError:
        ...     len(ledger.entries("survey"))
        0
        """
        database = self._database
        self.require_writable()
        id = token_hex(16)
        entering = Entering(database, None if table is None else self.key, source, receipt, budget, table, people)
        entry = None
        try:
            entry = Open(lambda rows: self._mark(id, rows), entering.enter(id), self._charge)
            yield entry
        except BaseException as error:
            is_there = not isinstance(error, Exception) if entry is None else not entry.done
            stays = entry is not None and entry.done
            if is_there:  # an interrupt may come when it is just recorded
                try:
                    database.write(lambda connection: take_back(connection, database, id))
                except DivulgeError:
                    stays = True
            if stays and isinstance(error, DivulgeError) and "stays open" not in str(error):
                error.args = (f"{error} {_OPEN}",)
            raise

    def keep(
        self,
        source: str,
        budget: GuaranteeLike | None,
        columns: Sequence[str] = (),
        *,
        adaptive: bool = False,
        aside: float = 0.0,
    ) -> None:
        """Keep a budget from here on, for columns of a table or for its records; those of before stay on record.

        Parameters
        ----------
        source : name of a table of the ledger
        budget : Guarantee or text, in nats; None for none
            It replaces what is kept for the same columns, whatever its kind.
        columns : names of columns, optional
            None for all that is told about a record.
        adaptive : bool
            Of "adp=EPS:DELTA": it holds whichever releases are chosen on the way, each in the light of all answers
            before it; all add up in zCDP (`dp.Filter`). Without it the list is taken to be fixed beforehand, and may
            add up to less. Budgets of other kinds hold for both.
        aside : float
            Of its delta, the part for releases that have a delta of their own.

        Examples
        --------
        >>> ledger = Ledger(folder / "ledger.db")
        >>> ledger.keep("people", "adp=1:1e-6", adaptive=True, aside=1e-7)
        >>> print(*ledger.budgets("people"))
        adp=1:1e-06, chosen on the way, 1e-07 aside
        >>> ledger.keep("survey", "ldp=2", ["answer"])
        >>> [(kept.columns, str(kept.budget)) for kept in ledger.budgets("survey")]
        [(('answer',), 'ldp=2')]
        """
        wanted = None if budget is None else budget_in(budget)
        part = aside_of(wanted, adaptive, aside)
        database = self._database
        self.require_writable()

        def change(connection: Any) -> None:
            scope = scope_of(connection, database, source)
            replace_budgets(connection, database, scope, columns)
            if wanted is not None:
                add_budget(connection, database, scope.keys[0], columns, wanted, aside=part)

        database.write(change, "Nothing was changed.")

    def budgets(self, source: str) -> list[Budget]:
        """Return the budgets that are kept for the people of a table.

        Examples
        --------
        >>> Ledger(folder / "ledger.db").budgets("survey")
        []
        """
        database = self._database
        return database.read(
            lambda connection: budgets_of(connection, database, scope_of(connection, database, source))
        )

    def require_writable(self) -> None:
        """Refuse a ledger that is only to be read.

        Examples
        --------
        >>> Ledger(folder / "ledger.db").require_writable()
        """
        if not self._database.writable:
            raise DivulgeError("the ledger is not to be written: it, or its folder, is read-only. Nothing was drawn.")

    def _charge(self, book: tuple[str, str, str], people: Callable[[Key], Any], costs: Any) -> Any:
        words, database = people(self.key), self._database
        return database.write(lambda connection: charged(connection, database, self.key, book, words, costs))

    def _mark(self, key: str, rows: int) -> None:
        """Mark an entry as published."""
        releases = self._database.releases
        change = releases.update().where(releases.c.id == key).values(state="published", rows=rows)
        done = "The release is published; its entry stays open, which counts as spent."
        self._database.write(lambda connection: connection.execute(change), done)


_OPEN = "The entry in the ledger stays open, which counts as spent."


def recorded(
    request: Any, table: Source, receipt: Any, known: Callable[[Key], Fingerprint], most: Callable[..., int | None]
) -> Any:
    """Return the context of the entry of what a request releases; without a ledger, one that does nothing.

    `known` makes the fingerprint of the table, `most` counts in its columns.
    """
    if request.ledger is None:
        for argument, value in (("budget", request.budget), ("people", request.people)):
            if value is not None:
                raise DivulgeError.of(argument, "come with a ledger that keeps it", "it", "alone", "give ledger=PATH.")
        return nullcontext(Unrecorded())
    name = request.source_name
    if name is None:
        if table.path is None:
            raise DivulgeError.of(
                "source_name", "name a source that is no file, for the ledger", "it", "absent",
                "people know the table by it.",
            )  # fmt: skip
        name = str(table.path.resolve())
    budget = None if request.budget is None else as_guarantee(request.budget, "budget")
    allowed = None if budget is None else budget.read_in(request.unit, to_keep=True)
    book = Ledger.of(request.ledger)
    book.require_writable()
    seen = Table(known(book.key), lambda person, other: most(table, person, other), request.person)
    return book.spending(name, receipt, allowed, table=seen, people=request.people)


@dataclass(frozen=True)
class Expected:
    """What a release would be, before anything is drawn.

    receipt : Receipt or Published
    total : what it adds up to with all that the keeper knows; None without a ledger
    private : sentences for the keeper: whose rows these seem to be
    warnings : sentences for everybody
    drawn : what is drawn about one person by all releases; empty without a ledger
    earlier : what those on record add up to before this one; None without a ledger
    """

    receipt: Any
    total: Mapping[str, Any] | None
    private: tuple[str, ...]
    warnings: tuple[str, ...]
    drawn: Drawn = ()
    earlier: Mapping[str, Any] | None = None


class _Looked(Exception):
    """Takes an entry back that was only to be looked at."""


def looked_at(receipt: Any, entry: Any) -> Expected:
    """Return what an entry of the ledger says of a release that is not carried out; nothing stays on record."""
    found = Expected(receipt, None, (), ())
    with suppress(_Looked), entry as opened:
        found = Expected(receipt, opened.total, tuple(opened.private), tuple(opened.warnings), opened.drawn,
                         opened.earlier)  # fmt: skip
        raise _Looked
    return found


class Unrecorded:
    """The entry of a release that no ledger keeps."""

    together = total = earlier = None
    warnings = private = untouched = drawn = ()

    def publishing(self) -> None:
        """Keep nothing."""

    def published(self, receipt: Any) -> None:
        """Record nothing."""
