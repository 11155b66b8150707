"""`divulge audit-attribute`: whether a secret is guessed better than it is filled in, and whether a claim survives."""

from typing import Annotated, Any

import typer

from divulge.cli.common import busy, emit, lower, note, number, say, say_claim
from divulge.cli.options import TABLE_HELP, ConfidenceOption, JsonOption, UnitOption
from divulge.errors import number_of
from divulge.model.shown import percent


def command(
    table: Annotated[str, typer.Argument(metavar="GUESSES", help=TABLE_HELP)],
    guess: Annotated[str, typer.Option("--guess", metavar="COL", help="What the attack says of each person.")],
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="COL", help="What somebody without the model fills in.")
    ],
    truth: Annotated[str, typer.Option("--truth", metavar="COL", help="The secret.")],
    member: Annotated[
        str | None,
        typer.Option(
            "--member", metavar="COL", help="Who is in the data, 1 and 0; the attack on others is held against."
        ),
    ] = None,
    claim: Annotated[
        str | None, typer.Option("--claim", metavar="GUARANTEE", help="What is claimed: lift=1.2 or pml=0.1.")
    ] = None,
    confidence: ConfidenceOption = 0.95,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Audit guesses of a secret: being right is no leak where filling in is as good; exit 1 when a claim is refuted."""
    from divulge.auditing.attributes import audit_attribute
    from divulge.auditing.scores import read_guesses
    from divulge.guarantees.catalog import parse

    claimed = None if claim is None else parse(claim).read_in(unit)
    inside, outside = read_guesses(table, (guess, baseline, truth), member)
    others = (outside[0], outside[2]) if len(outside[0]) else None
    with busy("holding guesses against each other"):
        found = audit_attribute(*inside, others=others, claim=claimed, confidence=confidence)
    told = found.to_dict(unit)
    if as_json:
        emit(told)
    else:
        say_guesses(told)
        if told["claim"] is not None:
            say_claim(told)
            if not told["violated"]:
                note("note: a claim that is not refuted is not confirmed: a better attack may refute it")
    if found.violated:
        raise typer.Exit(1)


def say_guesses(told: dict[str, Any]) -> None:
    """Print how often an attack is right, beside an imputation, and about people who are not in the data."""
    n = told["targets"]
    say(f"{number_of(n, 'target')}; bounds hold together with {percent(told['confidence'])} confidence")
    say(f"right: the attack {told['right']:,}, the imputation {told['baseline_right']:,}, both {told['both_right']:,}; "
        f"p = {number(told['p_value'])} if they were equally good")  # fmt: skip
    say(
        f"the attack is right at least {lower(told['lift'])} times as often: pml at least {lower(told['pml'])} "
        f"[{told['unit']}]"
        if told["lift"] > 1
        else "that the attack is right oftener than the imputation is not shown"
    )
    if told["others_lift"] is not None:
        times = (
            f"about members at least {lower(told['others_lift'])} times as often"
            if told["others_lift"] > 1
            else "that it is right oftener about members is not shown"
        )
        say(f"of {number_of(told['others'], 'other')} it is right about {told['others_right']:,}: {times}")
