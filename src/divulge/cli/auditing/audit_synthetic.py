"""`divulge audit-synthetic`: what a synthetic table tells about those whose data made it."""

from typing import Annotated, Any

import typer

from divulge.cli.auditing.audit_attribute import say_guesses
from divulge.cli.auditing.audit_model import BaseRateOption, ClaimOption
from divulge.cli.common import busy, emit, lower, note, say, say_claim
from divulge.cli.names import names_between_commas
from divulge.cli.options import TABLE_HELP, ConfidenceOption, JsonOption, UnitOption
from divulge.errors import number_of
from divulge.model.shown import percent


def command(
    synthetic: Annotated[str, typer.Argument(metavar="SYNTHETIC", help=TABLE_HELP)],
    members: Annotated[str, typer.Option("--members", metavar="TABLE", help="The rows that it was made from.")],
    others: Annotated[
        str, typer.Option("--others", metavar="TABLE", help="Rows of people drawn alike, that it was not made from.")
    ],
    secret: Annotated[str, typer.Option("--secret", metavar="COL", help="What somebody wants to learn of a person.")],
    known: Annotated[str, typer.Option("--known", metavar="A,B", help="Columns that they know of the person.")],
    linked: Annotated[
        str | None,
        typer.Option(
            "--linked", metavar="C,D", help="Columns of another table, whose rows they want to link to these."
        ),
    ] = None,
    claim: ClaimOption = None,
    base_rate: BaseRateOption = None,
    confidence: ConfidenceOption = 0.95,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Audit a synthetic table by people who are in its data and others: inference, membership, singling out, linkage;
    exit 1 when they refute the claim."""
    from divulge.auditing.synthetic import audit_synthetic
    from divulge.guarantees.catalog import parse

    with busy("attacking the table"):
        found = audit_synthetic(
            synthetic, members, others, secret=secret, known=names_between_commas(known, "--known"),
            linked=() if linked is None else names_between_commas(linked, "--linked"),
            claim=None if claim is None else parse(claim).read_in(unit), base_rate=base_rate, confidence=confidence,
        )  # fmt: skip
    if as_json:
        emit(found.to_dict(unit))
    else:
        _print(found.to_dict(unit), confidence)
    if found.violated:
        raise typer.Exit(1)


_ATTACKS = {
    "membership": "nearest row: how near a person's row is to a synthetic one",
    "singling": "singling out: a predicate that is true of one synthetic row is true of a person",
    "linkage": "linkage: one synthetic row is the nearest to both halves of a person",
}


def _print(told: dict[str, Any], confidence: float) -> None:
    say(f"all bounds of the audit hold together with {percent(confidence)} confidence")
    say("inference: the secret of the nearest rows by what is known")
    say_guesses(told["inference"])
    for name, title in _ATTACKS.items():
        part = told[name]
        if part is None:
            continue
        say(title)
        w = part["witness"]
        if w is not None:
            named = f"{w['members_above']:,} of {number_of(part['members'], 'member')}"
            say(f"  it names {named}, {w['others_above']:,} of {number_of(part['others'], 'other')}")
        rated = part["lift"] is not None
        at = f"; at base rate {part['base_rate']:g} lift at least {lower(part['lift'])}" if rated else ""
        say(f"  epsilon at least {lower(part['epsilon'])} [{part['unit']}]{at}")
        say(f"  {part['words']}")
    first = told["membership"]
    if first["claim"] is not None:
        say_claim(first | {"violated": told["violated"]})
    for line in first["notes"]:
        note(f"note: {line}")
