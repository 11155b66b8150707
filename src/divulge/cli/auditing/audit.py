"""`divulge audit`: what observed pairs show, and whether a claim survives them."""

from typing import Annotated, Any

import typer

from divulge.cli.common import emit, lower, note, number, print_table, say, say_claim, tell_of_itself, upper
from divulge.cli.options import TABLE_HELP, ConfidenceOption, EngineOption, JsonOption, UnitOption
from divulge.errors import DivulgeError, number_of, printable
from divulge.model.shown import at_least, at_most, percent


def command(
    data: Annotated[str, typer.Option("--data", metavar="TABLE", help=TABLE_HELP)],
    secret: Annotated[
        list[str],
        typer.Option("--secret", metavar="COL", help="The original values; several columns if released together."),
    ],
    released: Annotated[
        list[str], typer.Option("--released", metavar="COL", help="The published values; in the order of the secrets.")
    ],
    claim: Annotated[
        str | None,
        typer.Option("--claim", metavar="GUARANTEE", help="What the release claims, such as ldp=1 or adp=0.5:1e-5."),
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="CHANNEL", help="The mechanism, where it is known.")
    ] = None,
    receipt: Annotated[
        str | None, typer.Option("--receipt", metavar="FILE", help="Its receipt, in the place of --mechanism.")
    ] = None,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="The label for a missing value.")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    engine: EngineOption = "local",
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Audit a release from its rows: bounds on every measure; exit 1 when they refute the claim, with the witness.

    With --mechanism or --receipt the claim is decided exactly, and the rows are tested against the mechanism: exit 1
    too when they do not conform to it.
    """
    import divulge as dv

    tell_of_itself(secret, released)
    from divulge.guarantees.catalog import parse

    if receipt is not None and mechanism is not None:
        raise DivulgeError("give one of --receipt and --mechanism; there are both.")
    known: Any = receipt if mechanism is None else dv.read_channel(mechanism)
    claimed = None if claim is None else parse(claim).read_in(unit)
    found = dv.audit(
        data, secret=tuple(secret), released=tuple(released), claim=claimed, mechanism=known, null_as=null_as,
        confidence=confidence, engine=engine,
    )  # fmt: skip
    told = found.to_dict(unit)
    if as_json:
        emit(told)
    else:
        _print(told)
    if found.violated or (found.known is not None and not found.known.conformity.conforms):
        raise typer.Exit(1)


def _print(told: dict[str, Any]) -> None:
    exact = {} if told["mechanism"] is None else told["mechanism"]["values"]
    measured = [
        [name, at_least(b["lower"]), at_most(b["upper"]), b["estimate"], *([upper(exact[name])] if exact else [])]
        for name, b in told["measures"].items()
    ]
    rows, sure = number_of(told["rows"], "row"), percent(told["confidence"])
    header = ["measure", "at least", "at most", "plug-in (biased up)", *(["of the mechanism"] if exact else [])]
    print_table(f"{rows}; bounds hold together with {sure} confidence [{told['unit']}]", header, measured)
    say(f"thinnest cell: {number_of(told['thinnest_cell'], 'row')}")
    if told["mechanism"] is not None:
        fit = told["mechanism"]["conformity"]
        verb = "conform to" if fit["conforms"] else "DO NOT conform to"
        say(f"the rows {verb} the mechanism: p = {number(fit['p_value'])}")
        if not fit["conforms"]:
            cell = printable(f"{fit['secret']!s} -> {fit['outcome']!s}")
            say(f"  {cell}: {number_of(fit['observed'], 'row')}, {number(fit['expected'], 6)} expected")
    if told["claim"] is not None:
        kept = "not refuted" if told["mechanism"] is None else "kept by the mechanism (decided exactly)"
        say_claim(told, kept)
        if told["power"] is not None and told["mechanism"] is None:
            say(f"  {told['power']} [{told['unit']}]")
    if told["witness"] is not None:
        w = told["witness"]
        said = f"  {w['measure']} is at least {lower(w['lower'])}, not {w['claimed']:.12g}; "
        say(f"{said}{printable(_where(told))}:")
        for cell in w["cells"]:
            secret = printable(str(cell["secret"]))
            say(f"  {cell['rows']:,} of {number_of(cell['of'], 'row')} with secret {secret}")
    for line in told["notes"]:
        note(f"note: {line}")


_LISTED = 6
"""Outcomes of an event that are named one by one, about a line; how many more there are is said."""


def _where(told: dict[str, Any]) -> str:
    """Return the outcome of a witness, or its event."""
    held = told["witness"]["outcome"]
    if told["witness"]["measure"] in told["measures"]:
        return f"outcome {held!s}"
    if isinstance(held, str):
        return f"where {held}"
    more = len(held) - _LISTED
    named = ", ".join(map(str, held[:_LISTED]))
    return f"any of the outcomes {named}{f' and {more:,} more' if more > 0 else ''}"
