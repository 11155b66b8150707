"""`divulge ledger`: what was released, and what it adds up to."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli.common import WIDTH, emit, note, print_table, say, upper
from divulge.cli.options import JsonOption, UnitOption
from divulge.errors import number_of, printable
from divulge.files.opening import name_of
from divulge.units import Unit, levels_in, nats_per

if TYPE_CHECKING:
    from divulge.releasing.records.ledger import Budget, Entry, Ledger

LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="WHERE",
        help="An SQLite file or SQLAlchemy URL; else $DIVULGE_LEDGER, else ledger.sqlite in the user's data folder.",
    ),
]

app = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode=None, help="What was released, and what it adds up to."
)


def default_ledger(where: str | None) -> str:
    """Return the ledger to use: the one given, of the environment, or of the user's data folder."""
    given = where or os.environ.get("DIVULGE_LEDGER")
    if given:
        return given
    from divulge.releasing.records.database import data_folder

    return str(data_folder() / "ledger.sqlite")


@app.callback()
def _group() -> None:
    """What was released, and what it adds up to."""


@app.command()
def show(
    ledger: LedgerOption = None,
    source: Annotated[str | None, typer.Option(metavar="TABLE", help="Only releases of this table.")] = None,
    column: Annotated[list[str] | None, typer.Option(metavar="C", help="Only releases of these columns.")] = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Show the releases on record and, for each column of each table, what they guarantee together; where statistics
    were published, for a record as a whole too; columns that went out as they are; budgets that are kept.

    Tables of the same people count together, whatever their names: they are known by what is in them. A release that
    is `open` was under way when its process ended: it counts as spent.
    """
    book = _book(ledger)
    found = _OnRecord.of(book, book.entries(_named(source), column or ()), source, unit)
    if as_json:
        emit(found.record())
    else:
        found.print()


@dataclass(frozen=True)
class _OnRecord:
    """Releases on record, what they add up to, and the budgets of their tables."""

    entries: Sequence["Entry"]
    totals: list[dict[str, Any]]
    kept: dict[str, list["Budget"]]
    unit: Unit

    @classmethod
    def of(cls, book: "Ledger", entries: Sequence["Entry"], source: str | None, unit: Unit) -> "_OnRecord":
        """Return what a ledger holds of these releases, and of a table."""
        from divulge.releasing.records.aggregate import Aggregate

        groups = dict.fromkeys((entry.source, entry.columns) for entry in entries)
        groups |= dict.fromkeys((e.source, ()) for e in entries if any(isinstance(m, Aggregate) for m in e.mechanisms))
        totals: list[dict[str, Any]] = [
            {"source": origin, "columns": list(columns), "spent": levels_in(book.spent(origin, columns), unit)}
            for origin, columns in groups
        ]
        names = dict.fromkeys([*(e.source for e in entries), *filter(None, [source])])
        return cls(entries, totals, {name: book.budgets(name) for name in names}, unit)

    def record(self) -> dict[str, Any]:
        """Return all of it as one JSON object."""
        releases = [
            {"source": e.source, "columns": list(e.columns), "state": e.state, "created": e.created, "rows": e.rows,
             "output": e.output, "guarantees": [levels_in(m.for_a_person, self.unit) for m in e.mechanisms],
             "untouched": None if e.untouched is None else list(e.untouched), "because": e.because,
             **({"groups": groups} if (groups := _groups(e)) else {}),
             **({"account": account} if (account := _account(e)) else {})}
            for e in self.entries
        ]  # fmt: skip
        budgets = [
            {"source": name, "columns": list(one.columns), "budget": str(one.budget), "created": one.created,
             "aside": one.aside}
            for name, several in self.kept.items()
            for one in several
        ]  # fmt: skip
        return {"unit": self.unit, "releases": releases, "spent": self.totals, "budgets": budgets}

    def print(self) -> None:
        """Print a table of each kind that there is."""
        short = _short(dict.fromkeys(e.source for e in self.entries))
        self._print_releases(short)
        self._print_spent(short)
        self._print_groups(short)
        if any(e.untouched for e in self.entries):
            rows = [[short[e.source], _shown(e.untouched), _shown(e.output or "")] for e in self.entries if e.untouched]
            print_table("Went out as they are", ["table", "columns", "output"], rows, left=range(3), width=WIDTH)
        if any(self.kept.values()):
            rows = [
                [short.get(name, name), _shown(one.columns) or "(a record)", f"{one} (nats)", one.created[:10]]
                for name, several in self.kept.items()
                for one in several
            ]
            print_table("Budgets", ["table", "columns", "kept", "since"], rows, left=range(4), width=WIDTH)
        for e in self.entries:
            if e.because and e.source not in e.because:
                say(
                    fill(f"{short[e.source]}, {e.created[:10]}: {printable(e.because)}.", WIDTH, subsequent_indent="  ")
                )

    def _print_releases(self, short: dict[str, str]) -> None:
        print_table(
            "Releases",
            ["day", "table", "columns", "output", "rows", f"ldp [{self.unit}]"],
            [
                [e.created[:10], short[e.source], _shown(e.columns),
                 _shown(e.output or "") + (" (open)" if e.state == "open" else ""), f"{e.rows:,}",
                 f"on {_account(e)}" if _account(e)
                 else upper(sum(m.for_a_person["ldp"] for m in e.mechanisms) / nats_per(self.unit))]
                for e in self.entries
            ],
            left=range(4), width=WIDTH,
        )  # fmt: skip

    def _print_spent(self, short: dict[str, str]) -> None:
        approximate = any("adp" in t["spent"] for t in self.totals)
        print_table(
            f"Spent together, in {self.unit}",
            ["table", "columns", "ldp", "pml", "pmc", *["adp"] * approximate],
            [
                [short[t["source"]], _shown(t["columns"]) or "(a record)",
                 *map(_level, map(t["spent"].get, ("ldp", "pml", "pmc"))),
                 *[_approximate(t["spent"])] * approximate]
                for t in self.totals
            ],
            left=range(2), width=WIDTH,
        )  # fmt: skip
        if any({"pml", "pmc"} & {*t["spent"]} for t in self.totals):
            say(fill(_OF_PRIORS, WIDTH))

    def _print_groups(self, short: dict[str, str]) -> None:
        rows = [
            [short[e.source], _shown(groups["known"]), _shown(groups["guarantees"]), f"{groups['k']:,}",
             "-" if groups["lift"] is None else upper(Fraction(groups["lift"])), _shown(e.output or "")]
            for e in self.entries if (groups := _groups(e))
        ]  # fmt: skip
        if rows:
            header = ["table", "who knows", "kept", "k", "lift", "output"]
            print_table("Tables of groups, which no ldp bounds", header, rows, left=(0, 1, 2, 5), width=WIDTH)
            say(fill(_OF_GROUPS, WIDTH))


_OF_PRIORS = (
    "ldp is about everything there. pml and pmc are about an answer whose frequencies a release takes to be known, for "
    "somebody who holds these for true; they bound nothing else of a record."
)

_OF_GROUPS = (
    "Nothing in them was changed by chance. k and the largest lift hold against somebody who knows these columns of "
    "one person and no other release of the same people; of two such tables together nothing is promised."
)


def _groups(entry: Any) -> dict[str, Any] | None:
    """Return what is on record of a table of groups; None of another release."""
    return next((dict(found) for one in entry.mechanisms if (found := getattr(one, "groups", None))), None)


@app.command()
def budget(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Its name in the ledger, or its path.")],
    guarantee: Annotated[str, typer.Argument(metavar="GUARANTEE", help="Such as ldp=2; none lifts what is kept.")],
    column: Annotated[
        list[str] | None, typer.Option(metavar="C", help="What it is about; all of a record when not given.")
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Of adp: it holds whichever releases are chosen on the way.")
    ] = False,
    aside: Annotated[
        float, typer.Option("--aside", metavar="D", help="Of its delta, the part for releases with one of their own.")
    ] = 0.0,
    ledger: LedgerOption = None,
    unit: UnitOption = "nats",
) -> None:
    """Keep a budget from here on: what all releases of these people may spend together, on the columns or a record.

    It takes the place of what is kept for the same columns, which stays on record.
    """
    from divulge.guarantees.catalog import as_guarantee

    book = _book(ledger)
    name = _named(table) or table
    wanted = None if guarantee == "none" else as_guarantee(guarantee).read_in(unit, to_keep=True)
    if not book.entries(name):
        note(f"{printable(name)}: nothing is on record under this name; it is kept for what will be.")
    book.keep(name, wanted, column or (), adaptive=adaptive, aside=aside)
    about = ", ".join(map(repr, column)) if column else "a record"
    way = ", whichever releases are chosen on the way" if adaptive else ""
    say(f"no budget is kept for {about}" if wanted is None else f"kept for {about}: {wanted} (nats){way}")


@app.command("rows-per-person")
def rows_per_person(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Its name in the ledger, or its path.")],
    most: Annotated[int, typer.Argument(metavar="N", help="So many rows one person had at most.")],
    person: Annotated[str, typer.Option(metavar="C", help="The column that says whose row it is.")],
    ledger: LedgerOption = None,
) -> None:
    """Put on record how many rows one person had in a table at most, where no release of it named the column.

    A release about rows then counts so often beside releases about a person.
    """
    book = _book(ledger)
    name = _named(table) or table
    if not book.entries(name):
        note(f"{printable(name)}: nothing is on record under this name.")
    book.rows_per_person(name, person, most)
    say(f"on record: one person ({printable(person)}) has at most {number_of(most, 'row')}")


def _book(ledger: str | None) -> Any:
    """Return the ledger that is there; one in memory holds nothing that could be shown."""
    import divulge as dv

    where = default_ledger(ledger)
    if ledger is not None and "://" not in where and not Path(where).exists():
        raise dv.InputFileError(f"{name_of(where)}: there is no such file.")
    return dv.Ledger.of(where)


def _named(source: str | None) -> str | None:
    """Return what the ledger calls a table that is given by its path, or by its name."""
    return str(Path(source).resolve()) if source is not None and Path(source).exists() else source


def _short(sources: Any) -> dict[str, str]:
    """Return the names of tables, of files with as many of their folders as tell them apart.

    >>> _short(["/n/a/t.csv", "/s/a/t.csv", "/s/b/t.csv", "u.csv"]).values()
    dict_values(['n/a/t.csv', 's/a/t.csv', 'b/t.csv', 'u.csv'])
    """
    found = {source: name_of(source) for source in sources}
    for depth in range(2, MOST_FOLDERS):
        times = Counter(found.values())
        for source, name in found.items():
            if times[name] > 1:
                parts = Path(source).parts
                found[source] = printable(str(Path(*parts[-depth:])) if depth < len(parts) else source)
    return found


MOST_FOLDERS = 60
"""Paths that are alike in more folders than this stand as they are."""


def _level(value: Any) -> str:
    return "-" if value is None else upper(value)


def _approximate(spent: Any) -> str:
    """Return (epsilon, delta) of all together, both rounded up."""
    return f"{upper(spent['adp'])}, {upper(spent['delta'])}" if "adp" in spent else "-"


def _account(entry: Any) -> str:
    """Return what each person's account holds, where a release is on accounts: all that is on it counts once."""
    return next((str(one.account) for one in entry.mechanisms if getattr(one, "account", None)), "")


def _shown(name: Any) -> str:
    return printable(name if isinstance(name, str) else ", ".join(name))
