"""`divulge ledger`: what was released, and what it adds up to."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import JsonOption, UnitOption, emit, print_table, upper
from divulge.errors import DivulgeError, printable
from divulge.files.opening import name_of
from divulge.units import nats_per

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
    try:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "divulge"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "there is no home folder"
        raise DivulgeError(
            f"the folder of the ledger cannot be made: {reason}. Hint: --ledger WHERE or DIVULGE_LEDGER names another "
            "place; --no-ledger keeps none."
        ) from None
    return str(folder / "ledger.sqlite")


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
    """Show the releases on record and, for each column of each source, what they guarantee together; where statistics
    were published, for a record as a whole too.

    A release that is `open` was under way when its process ended: it counts as spent.
    """
    import divulge as dv

    where = default_ledger(ledger)
    if ledger is not None and "://" not in where and not Path(where).exists():
        raise dv.InputFileError(f"{name_of(where)}: there is no such file.")
    book = dv.Ledger(where)
    name = str(Path(source).resolve()) if source is not None and Path(source).exists() else source
    entries = book.entries(name, column or ())
    groups = dict.fromkeys((entry.source, entry.columns) for entry in entries)
    groups |= dict.fromkeys((e.source, ()) for e in entries if any(m.channel is None for m in e.mechanisms))
    totals: list[dict[str, Any]] = [
        {"source": origin, "columns": list(columns), "spent": _in(book.spent(origin, columns), unit)}
        for origin, columns in groups
    ]
    if as_json:
        releases = [
            {"source": e.source, "columns": list(e.columns), "state": e.state, "created": e.created, "rows": e.rows,
             "output": e.output, "guarantees": [_in(m.for_a_person, unit) for m in e.mechanisms]}
            for e in entries
        ]  # fmt: skip
        emit({"unit": unit, "releases": releases, "spent": totals})
        return
    print_table(
        "Releases",
        ["created", "state", "source", "columns", "output", "rows", f"ldp [{unit}]"],
        [
            [e.created, e.state, _shown(e.source), _shown(e.columns), _shown(e.output or ""), f"{e.rows:,}",
             upper(sum(m.for_a_person["ldp"] for m in e.mechanisms) / nats_per(unit))]
            for e in entries
        ],
        left=range(5),
    )  # fmt: skip
    print_table(
        "Spent together",
        ["source", "columns", *(f"{kind} [{unit}]" for kind in ("ldp", "pml", "pmc"))],
        [
            [
                _shown(t["source"]),
                _shown(t["columns"]) or "(a record)",
                *map(_level, map(t["spent"].get, ("ldp", "pml", "pmc"))),
            ]
            for t in totals
        ],
        left=range(2),
    )


def _in(promised: Any, unit: str) -> dict[str, float]:
    return {kind: value / nats_per(unit) for kind, value in promised.items()}


def _level(value: Any) -> str:
    return "-" if value is None else upper(value)


def _shown(name: Any) -> str:
    return printable(name if isinstance(name, str) else ", ".join(name))
