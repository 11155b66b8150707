"""`divulge release`: a column of a table out of the door, through a mechanism."""

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import EngineOption, JsonOption, PriorOption, UnitOption, emit, keep_apart, note, number, say
from divulge.cli.ledger import LedgerOption, default_ledger
from divulge.files import read_channel, read_prior
from divulge.units import nats_per


def command(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A Parquet, CSV or Arrow file, or a folder of Parquet files.")
    ],
    column: Annotated[
        list[str], typer.Option("--column", metavar="C", help="The sensitive column; several are one secret together.")
    ],
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="Its suffix is its format; without one, a folder.")
    ],
    mechanism: Annotated[str | None, typer.Option(metavar="CHANNEL", help="The mechanism, a channel file.")] = None,
    guarantee: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GUARANTEE",
            help="Such as pml=0.5. Alone: design for it from the column's own counts. With --mechanism: check it.",
        ),
    ] = None,
    utility: Annotated[str, typer.Option(help="What a designed mechanism maximizes.")] = "mutual-information",
    prior: PriorOption = None,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="The mechanism's label for a missing value.")
    ] = None,
    only_column: Annotated[bool, typer.Option("--only-column", help="Drop all other columns.")] = False,
    raise_small: Annotated[
        bool, typer.Option("--raise-small", help="Raise entries below 2^-53 to 2^-53 instead of refusing them.")
    ] = False,
    invertible: Annotated[
        bool, typer.Option("--invertible", help="Only a mechanism from which frequencies can be estimated.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Of a design; then the best one so far is taken.")
    ] = 60.0,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that exists.")] = False,
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
    engine: EngineOption = "local",
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Release a column of a table through a mechanism; write the receipt beside it and print the guarantee.

    Every value is replaced by a fresh draw from its row of the mechanism, exactly and from a cryptographic stream. The
    output appears under its name when it is complete. The release is recorded in the ledger.
    """
    import divulge as dv

    for path in (out, receipt):
        keep_apart(path, mechanism, prior)
    channel = None if mechanism is None else read_channel(mechanism)
    signal.signal(signal.SIGTERM, _stop)
    with _progress() as progress:
        done = dv.release(
            table, out, column=column[0] if len(column) == 1 else column, mechanism=channel, guarantee=guarantee,
            utility=utility, prior=None if prior is None else read_prior(prior, channel), null_as=null_as,
            only_column=only_column, raise_small=raise_small, invertible=invertible,
            time_limit=time_limit, force=force, receipt=receipt,
            ledger=None if no_ledger else default_ledger(ledger), budget=budget, source_name=source_name,
            engine=engine, unit=unit, progress=progress, warn=note,
        )  # fmt: skip
    scale = nats_per(unit)
    promised = {kind: value / scale for kind, value in done.guarantees.items()}
    paper = receipt or out.with_name(f"{out.stem}.receipt.json")
    if as_json:
        emit({
            "rows": done.rows, "columns": list(done.columns), "guarantees": promised, "unit": unit,
            "prior_source": done.mechanisms[0].prior_source, "output": str(out), "receipt": str(paper),
            "untouched": list(done.untouched), "warnings": list(done.warnings),
        })  # fmt: skip
        return
    if mechanism is None:
        for part in done.mechanisms:
            say(f"designed for {', '.join(map(repr, part.columns))}: {part.channel.exact!r}\n")
    say(f"{done.rows:,} rows of {', '.join(map(repr, done.columns))} released")
    say("guarantee: " + ", ".join(f"{kind} {number(value, 6)}" for kind, value in promised.items()) + f" {unit}")


def _stop(*_: Any) -> None:
    """Be interrupted, and so clean up, when asked to terminate."""
    raise KeyboardInterrupt


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
