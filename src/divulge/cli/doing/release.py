"""`divulge release`: a column of a table out of the door, through a mechanism, with its papers."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer

from divulge.cli import ALREADY, PUBLISHED
from divulge.cli.common import TABLE_HELP, EngineOption, JsonOption, UnitOption, emit, note, say
from divulge.cli.doing.ledger import LedgerOption, default_ledger
from divulge.errors import DivulgeError, number_of
from divulge.files.opening import name_of, refuse_taken
from divulge.units import nats_per

_WIDTH = 88


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP)],
    column: Annotated[
        list[str], typer.Option("--column", metavar="C", help="The sensitive column; several are one secret together.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="Its suffix is its format; without one, a folder."),
    ] = None,
    guarantee: Annotated[
        list[str] | None,
        typer.Option(metavar="GUARANTEE", help="Such as ldp=1. Alone: make a mechanism for it. With one: check it."),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            metavar="FILE_OR_NAME",
            help="A channel file, or with --epsilon or --ratio: randomized-response, geometric, exponential, "
            "subset-selection, extremal, resample, erasure, symmetric; without: identity, constant.",
        ),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The strength of a mechanism given by its name.")] = None,
    ratio: Annotated[str | None, typer.Option(help="The same, exactly: e^epsilon, such as 3 or 3/2.")] = None,
    purpose: Annotated[
        str,
        typer.Option(help="statistics: best estimates; record: each row as often right as can be; information."),
    ] = "statistics",
    outcomes: Annotated[
        str,
        typer.Option(help="values: one outcome for each, called after it; sets: the best, called after sets."),
    ] = "values",
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="PRIOR",
            help="What attackers are taken to know: a public file, TABLE:COLUMN of another table, uniform "
            "(the default), lower=P (no value is rarer), noisy=E (an estimate with noise, which spends E).",
        ),
    ] = None,
    prior_from_data: Annotated[
        bool, typer.Option("--prior-from-data", help="Take the column's own shares; the mechanism tells them.")
    ] = False,
    rule_out: Annotated[bool, typer.Option("--rule-out", help="Allow outcomes that rule values out.")] = False,
    preview: Annotated[
        bool, typer.Option("--preview", help="Tell how good it would be, at three levels; draw and spend nothing.")
    ] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="C", help="With --preview: the same for each value of this column.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="With --preview: draw it to .png, .svg or .pdf.")
    ] = None,
    released_as: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="NAME", help="The name of the column in OUT.  [default: C_perturbed]"),
    ] = None,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="The mechanism's label for a missing value.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="C", help="Other columns that go out; all when not given.")
    ] = None,
    only_column: Annotated[bool, typer.Option("--only-column", help="Drop all other columns.")] = False,
    raise_small: Annotated[
        bool, typer.Option("--raise-small", help="Raise entries below 2^-53 to 2^-53 instead of refusing them.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Of a design; then the best one so far is taken.")
    ] = 60.0,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Where the receipt goes, if not beside the output.")
    ] = None,
    ledger: LedgerOption = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Do not record this release.")] = False,
    budget: Annotated[
        str | None,
        typer.Option(metavar="GUARANTEE", help="What all releases of the column may spend together, such as ldp=2."),
    ] = None,
    source_name: Annotated[
        str | None, typer.Option("--source-name", help="What the ledger calls the table, if not by its path.")
    ] = None,
    language: Annotated[str, typer.Option(help="Of the statement and the codebook: en or de.")] = "en",
    engine: EngineOption = "local",
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Release a column of a table through a mechanism, with all that belongs beside it; print what is guaranteed.

    Every value is replaced by a fresh draw from its row of the mechanism, exactly and from a cryptographic stream. The
    output appears under its name when it is complete; beside it stand its codebook, a statement for the public and a
    receipt, and the record of the keeper, which is for nobody else. The release is recorded in the ledger.
    """
    import divulge as dv
    from divulge.releasing.planning.named import mechanism_in, prior_in

    given = mechanism_in(mechanism, "--mechanism")
    asked: dict[str, Any] = {
        "column": column[0] if len(column) == 1 else column, "guarantee": guarantee, "mechanism": given,
        "epsilon": epsilon, "ratio": ratio, "purpose": purpose, "outcomes": outcomes,
        "prior": prior_in(prior, given, table, column, "--prior"), "prior_from_data": prior_from_data,
        "rule_out": rule_out, "null_as": null_as, "time_limit": time_limit, "unit": unit,
    }  # fmt: skip
    if preview:
        if picture is not None:
            refuse_taken(picture, force)
        _show(dv.preview(table, by=by, engine=engine, **asked), unit, picture, force, as_json)
        return
    if by is not None or picture is not None:
        raise DivulgeError("`--by` and `--picture` must come with --preview.")
    if out is None:
        raise DivulgeError.of("--output", "be given, or --preview", "it", "absent")
    with _progress() as progress:
        done = dv.release(
            table, out, **asked, released_as=released_as, keep=keep, only_column=only_column, raise_small=raise_small,
            force=force, receipt=receipt, ledger=None if no_ledger else default_ledger(ledger), budget=budget,
            source_name=source_name, engine=engine, language=language, progress=progress, warn=note,
        )  # fmt: skip
    ALREADY.append(PUBLISHED)
    _tell(done, unit, as_json, language)


def _tell(done: Any, unit: Any, as_json: bool, language: str) -> None:
    from divulge.model.shown import promised
    from divulge.reporting.statements.statement import statement

    scale = nats_per(unit)
    levels = {kind: value / scale for kind, value in done.guarantees.items()}
    if as_json:
        emit({
            "rows": done.rows, "columns": list(done.columns), "released_as": list(done.released_as),
            "guarantees": levels, "unit": unit, "prior_source": done.mechanisms[0].prior_source,
            "purpose": done.purpose, "output": str(done.papers["table"]), "receipt": str(done.papers["receipt.json"]),
            "files": {name: str(path) for name, path in done.papers.items()},
            "together": _in(done.together, scale), "untouched": list(done.untouched), "warnings": list(done.warnings),
        })  # fmt: skip
        return
    say(f"{number_of(done.rows, 'row')} of {', '.join(map(repr, done.columns))} released as "
        f"{', '.join(map(repr, done.released_as))}")  # fmt: skip
    say("guarantee: " + ", ".join(f"{kind} {promised(value)}" for kind, value in levels.items()) + f" {unit}")
    for text in statement(done, language).lead:
        say(fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  "))
    say("files:")
    for name, path in done.papers.items():
        kept = "  (for the keeper only: exact counts; readable by you alone)" if "keeper" in name else ""
        say(f"  {name_of(path)}{kept}")


def _in(together: Any, scale: float) -> Any:
    """Return what releases add up to, its guarantees in another unit."""
    if together is None:
        return None
    return {**together, "guarantees": {kind: value / scale for kind, value in together["guarantees"].items()}}


def _show(found: Any, unit: Any, picture: Path | None, force: bool, as_json: bool) -> None:
    """Print a preview."""
    from divulge.cli.common import draw

    if picture is not None:
        draw(found, picture, force=force, private=True)
    if as_json:
        emit(found.to_dict(unit))
    else:
        say(found.text())
        if unit != "nats":
            note(f"note: epsilons are in {unit}.")


@contextmanager
def _progress() -> Generator[Callable[[int, int | None], None] | None]:
    """Give a function that moves a bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "rows", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
