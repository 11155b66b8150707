"""`divulge audit-model`: what scores show about who is in the data of a model, and whether a claim survives them."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from divulge.cli.common import draw, emit, lower, note, number, say, say_claim
from divulge.cli.options import TABLE_HELP, ConfidenceOption, ForceOption, JsonOption, UnitOption
from divulge.errors import DivulgeError, number_of
from divulge.model.shown import percent

ClaimOption = Annotated[
    str | None, typer.Option("--claim", metavar="GUARANTEE", help="What is claimed, such as dp=1 or adp=1:1e-5.")
]
BaseRateOption = Annotated[
    float | None, typer.Option("--base-rate", help="The share of members among those who are looked at.")
]


def command(
    table: Annotated[str, typer.Argument(metavar="SCORES", help=TABLE_HELP)],
    score: Annotated[str, typer.Option("--score", metavar="COL", help="Numbers that tell members from others.")],
    member: Annotated[str, typer.Option("--member", metavar="COL", help="Who is in the data: 1 and 0, yes and no.")],
    low: Annotated[bool, typer.Option("--low", help="Low scores speak for members, as a loss does.")] = False,
    claim: ClaimOption = None,
    base_rate: BaseRateOption = None,
    method: Annotated[
        Literal["rates", "one-run", "f-dp", "anytime"], typer.Option("--method", help="How guesses are judged.")
    ] = "rates",
    one_run: Annotated[bool, typer.Option("--one-run", help="The same as --method one-run.")] = False,
    delta: Annotated[float, typer.Option("--delta", help="Of epsilon; that of an adp claim is used.")] = 0.0,
    confidence: ConfidenceOption = 0.95,
    cut: Annotated[
        float | None, typer.Option("--cut", help="A threshold, or number of guesses, that was fixed beforehand.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curve of rates, both axes logarithmic.")
    ] = None,
    statement: Annotated[
        Path | None, typer.Option("--statement", metavar="PAGE", help="Write a page for people whose data trained it.")
    ] = None,
    language: Annotated[str, typer.Option("--language", help="Of the page: en or de.")] = "en",
    force: ForceOption = False,
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Audit a model from scores of people in its data and of others: bounds; exit 1 when they refute the claim.

    "rates" takes members and others to be drawn independently; the other methods take it that a fair coin per person
    decided who is in the data of one run.
    """
    from divulge.auditing.membership import audit_membership
    from divulge.auditing.scores import read_scores
    from divulge.guarantees.catalog import parse

    if one_run and method not in ("rates", "one-run"):
        raise DivulgeError(f"give one of --one-run and --method {method}; there are both.")
    claimed = None if claim is None else parse(claim).read_in(unit)
    scores, inside = read_scores(table, score, member)
    chosen = "one-run" if one_run else method
    side = -1.0 if low else 1.0
    fixed = side * cut if cut is not None and chosen == "rates" else cut
    found = audit_membership(
        side * scores, inside, base_rate=base_rate, claim=claimed, method=chosen, delta=delta, confidence=confidence,
        cut=fixed,
    )  # fmt: skip
    told = found.to_dict(unit)
    if low and found.witness is not None and found.witness.threshold is not None:
        told["witness"]["threshold"] = -found.witness.threshold
    if as_json:
        emit(told)
    else:
        _print(told, "low" if low else "high")
    if side * float(np.median(scores[inside]) - np.median(scores[~inside])) < 0:
        other = "leave --low out" if low else "give --low"
        note(f"note: members score on the other side of others: {other}, if that is what was meant beforehand")
    if plot is not None:
        draw(found, plot, force=force)
    if statement is not None:
        import divulge as dv
        from divulge.reporting.reports.report import write_page

        write_page(dv.statement(found, language).html, statement, force)
    if found.violated:
        raise typer.Exit(1)


def _print(told: dict[str, Any], side: str) -> None:
    people = f"{number_of(told['members'], 'member')}, {number_of(told['others'], 'other')}"
    say(f"{people}; {told['method']}; bounds hold together with {percent(told['confidence'])} confidence")
    if told["epsilon"] or not told["mu"]:
        gaussian = ", if it is a Gaussian mechanism" if told["method"] == "f-dp" else ""
        say(f"epsilon at least {lower(told['epsilon'])} [{told['unit']}] at delta {told['delta']:g}{gaussian}")
    if told["mu"]:
        say(f"mu at least {lower(told['mu'])}")
    if told["lift"] is not None:
        say(
            f"at base rate {told['base_rate']:g}: lift at least {lower(told['lift'])}, pml at least "
            f"{lower(told['pml'])} [{told['unit']}]"
        )
    if told["claim"] is not None:
        say_claim(told)
    w = told["witness"]
    if w is not None and "guesses" in w:
        say(f"  {w['right']:,} of {number_of(w['guesses'], 'guess')} are right")
    elif w is not None:
        way = "at most" if side == "low" else "at least"
        say(
            f"  score {way} {number(w['threshold'])}: {w['members_above']:,} of "
            f"{number_of(told['members'], 'member')}, {w['others_above']:,} of {number_of(told['others'], 'other')}"
        )
    say(told["words"])
    for line in told["notes"]:
        note(f"note: {line}")
