"""`divulge estimate`: from a released column back to frequencies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import emit, lower, note, print_table, say, upper, watched_rows
from divulge.cli.options import TABLE_HELP, EngineOption, JsonOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError, number_of, printable
from divulge.files import read_channel
from divulge.files.opening import name_of
from divulge.model.shown import percent


@dataclass(frozen=True)
class Origin:
    """What a column was released by."""

    receipt: Annotated[
        str | None, typer.Option("--receipt", metavar="RECEIPT", help="The receipt that came with the release.")
    ] = None
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="CHANNEL", help="The mechanism, in the place of a receipt.")
    ] = None

    def of(self, table: Path) -> Any:
        """Return the receipt, also that beside the table, or the mechanism."""
        beside = table.parent / f"{table.stem}.receipt.json"
        if self.receipt is not None and self.mechanism is not None:
            raise DivulgeError("`--receipt` must be given without --mechanism: it holds one; both are given.")
        if self.mechanism is not None:
            return read_channel(self.mechanism)
        if self.receipt is not None:
            return self.receipt
        if not beside.is_file():
            raise DivulgeError(
                f"`--receipt` must be given, or --mechanism; there is no {name_of(beside)} beside the table either. "
                "Hint: the receipt is one of the files that a release writes."
            )
        note(f"by the receipt beside it, {name_of(beside)}")
        return str(beside)


@dataclass(frozen=True)
class Intervals:
    """How frequencies are estimated, and how surely."""

    method: Annotated[str, typer.Option(help="inversion (unbiased); projection or em (biased, no intervals).")] = (
        "inversion"
    )
    interval: Annotated[str, typer.Option(help="exact or bernstein (for any number of rows), or normal.")] = "exact"
    confidence: Annotated[float, typer.Option(help="Of all intervals together.")] = 0.95
    each: Annotated[bool, typer.Option("--each", help="Let each interval alone have the confidence.")] = False


@with_records
def command(
    released: Annotated[str, typer.Argument(metavar="OUT", help=f"The released table. {TABLE_HELP}")],
    origin: Origin,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="C", help="The released column; several for how frequent combinations are."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="C", help="A public column: one estimate for each of its values.")
    ] = None,
    *,
    intervals: Intervals,
    engine: EngineOption = "local",
    values: Annotated[
        str | None,
        typer.Option("--values", metavar="FILE", help="Of reports: the candidates, one a line, or a JSON list."),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", metavar="N", help="Of reports: the N most frequent.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate how frequent the original values were in a released column, with confidence intervals."""
    from divulge.releasing.estimating.estimate import estimate_frequencies

    known = origin.of(Path(released))
    columns = None if not column else column[0] if len(column) == 1 else tuple(column)
    with watched_rows() as progress:
        found = estimate_frequencies(
            released, known, column=columns, by=by, method=intervals.method, confidence=intervals.confidence,
            simultaneous=not intervals.each, interval=intervals.interval, engine=engine, values=values, top=top,
            progress=progress,
        )  # fmt: skip
    parts = [found] if by is None else list(found.values())
    told = [part.to_dict() for part in parts]
    groups = [{"group": part.group, **one} for part, one in zip(parts, told, strict=True)]
    if as_json:
        emit(told[0] if by is None else {"by": by, "groups": groups})
    else:
        for part in groups:
            if by is not None:
                say(printable(f"{by} = {part['group']}"))
            _say(part)
    outside = sum(not 0 <= one["frequency"] <= 1 for part in told for one in part["values"])
    if outside:
        note(
            f"note: {number_of(outside, 'estimate')} below 0 or above 1. No frequency is; an unbiased estimate may be, "
            "and sums may use it as it is. The interval says where the frequency lies."
        )
    for warning in dict.fromkeys(warning for part in parts for warning in part.warnings):
        note(f"note: {warning}")


def _say(told: dict[str, Any]) -> None:
    kind = f"{percent(told['confidence'])} intervals, {'all at once' if told['simultaneous'] else 'each alone'}"
    kind = f"{percent(told['confidence'])} confidence set empty, no intervals" if told["empty"] else kind
    title = f"{number_of(told['rows'], 'row')}; {'biased, no intervals' if told['biased'] else kind}"
    header = ["value", "frequency"] + ([] if told["biased"] or told["empty"] else ["at least", "at most"])
    print_table(title, header, map(_row, told["values"]))


def _row(found: dict[str, Any]) -> list[Any]:
    value, frequency, *ends = found.values()
    return [str(value), frequency, *(rounded(end) for rounded, end in zip((lower, upper), ends, strict=False))]
