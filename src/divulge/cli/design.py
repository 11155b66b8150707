"""`divulge design`: the most useful mechanism under guarantees, with a bound on every other."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli.common import JsonOption, UnitOption, emit, note, number, print_table, say
from divulge.files import read_prior, write_channel
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from divulge.designing.design import Design
    from divulge.designing.effort import Progress
    from divulge.guarantees.guarantee import Guarantee


def command(
    priors: Annotated[
        list[str],
        typer.Option(
            "--prior",
            metavar="PRIOR",
            help="A CSV, Parquet or JSON file, or TABLE:COLUMN (its values are counted); may be repeated.",
        ),
    ],
    guarantees: Annotated[
        list[str], typer.Option("--guarantee", metavar="KIND=VALUE", help="Such as pml=0.5; several are kept at once.")
    ],
    utility: Annotated[str, typer.Option(help="What is kept.")] = "mutual-information",
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="CHANNEL", help="Where the mechanism goes, exactly.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="A method by name, instead of the first that applies.")] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop then, with the gap so far.")] = None,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Design the mechanism that keeps the most utility under all guarantees, with a proved bound and exact entries."""
    from divulge.designing.asking import design
    from divulge.errors import DivulgeError
    from divulge.guarantees.catalog import parse

    if output is not None and len(priors) > 1:
        raise DivulgeError.of("--output", "come with one --prior", "their number", str(len(priors)))
    asked = [parse(text) for text in guarantees]
    kept = [guarantee.read_in(unit, to_keep=True) for guarantee in asked]
    for spec in priors:
        shown = _shown if sys.stderr.isatty() else None
        found = design(read_prior(spec), *kept, utility=utility, method=method, time_limit=time_limit, progress=shown)
        if output is not None:
            write_channel(found.channel, Path(output))
        if as_json:
            emit(report(found, asked, unit))
        else:
            _print(found, asked, unit, spec)


def report(found: "Design", asked: Sequence["Guarantee"], unit: Unit) -> dict[str, Any]:
    """Return the JSON object of the contract; entries are exact text."""
    per = nats_per(unit) if found.logarithmic else 1.0
    kept = [guarantee.to_dict() for guarantee in asked]
    return {
        "secrets": list(found.prior.secrets),
        "outcomes": list(found.outcomes),
        "matrix": [[str(entry) for entry in row] for row in found.channel.matrix.tolist()],
        "utility": {"name": found.objective, "value": found.utility / per},
        "bound": found.bound / per,
        "gap": found.gap / per,
        "guarantee": kept[0] if len(kept) == 1 else kept,
        "achieved": [g.to_dict(unit) for g in found.achieved],
        "method": found.method,
        "unit": unit,
    }


def _print(found: "Design", asked: Sequence["Guarantee"], unit: Unit, title: str) -> None:
    per = nats_per(unit) if found.logarithmic else 1.0
    suffix = f" [{unit}]" if found.logarithmic else ""
    rows = [[str(x), *row] for x, row in zip(found.prior.secrets, found.channel.floats.tolist(), strict=True)]
    if found.integers.shape[1] <= 12:
        print_table(f"mechanism for {title}", ["", *map(str, found.outcomes)], rows)
    else:
        say(f"mechanism for {title}: {len(rows)} secrets, {found.integers.shape[1]} outcomes")
    say(
        f"{found.objective}{suffix}: {number(found.utility / per, 9)}, "
        f"{found.side} {number(found.bound / per, 9)} possible"
    )
    say(f"gap: {found.relative_gap:.1e} of the bound, by {found.method}")
    say("kept exactly: " + ", ".join(map(str, asked)) + ("" if unit == "nats" else f" ({unit})"))


def _shown(progress: "Progress") -> None:
    if progress.seconds > 1:
        note(f"{progress.seconds:6.1f} s  utility {progress.utility:.9g}  bound {progress.bound:.9g}")
