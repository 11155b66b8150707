"""`divulge audit-model`: what scores show about who is in the data of a model, and whether a claim survives them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from divulge.cli.common import busy, draw, emit, lower, note, number, say, say_claim
from divulge.cli.options import TABLE_HELP, ConfidenceOption, ForceOption, JsonOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError, number_of
from divulge.model.shown import percent
from divulge.units import Unit

if TYPE_CHECKING:
    from divulge.auditing.membership import MembershipAudit

ClaimOption = Annotated[
    str | None, typer.Option("--claim", metavar="GUARANTEE", help="What is claimed, such as dp=1 or adp=1:1e-5.")
]
BaseRateOption = Annotated[
    float | None, typer.Option("--base-rate", help="The share of members among those who are looked at.")
]


@dataclass(frozen=True)
class Scores:
    """The columns with a score of each person, and with who is in the data of the model."""

    table: Annotated[str, typer.Argument(metavar="SCORES", help=TABLE_HELP)]
    score: Annotated[str, typer.Option("--score", metavar="COL", help="Numbers that tell members from others.")]
    member: Annotated[str, typer.Option("--member", metavar="COL", help="Who is in the data: 1 and 0, yes and no.")]
    low: Annotated[bool, typer.Option("--low", help="Low scores speak for members, as a loss does.")] = False

    @property
    def side(self) -> float:
        """1 where high scores speak for members, else -1."""
        return -1.0 if self.low else 1.0


@dataclass(frozen=True)
class Judging:
    """What is claimed, and how guesses are held against it."""

    claim: ClaimOption = None
    base_rate: BaseRateOption = None
    method: Annotated[
        Literal["rates", "one-run", "f-dp", "anytime"], typer.Option("--method", help="How guesses are judged.")
    ] = "rates"
    one_run: Annotated[bool, typer.Option("--one-run", help="The same as --method one-run.")] = False
    delta: Annotated[float, typer.Option("--delta", help="Of epsilon; that of an adp claim is used.")] = 0.0
    confidence: ConfidenceOption = 0.95
    cut: Annotated[
        float | None, typer.Option("--cut", help="A threshold, or number of guesses, that was fixed beforehand.")
    ] = None

    def options(self, side: float, unit: Unit) -> dict[str, Any]:
        """Return what the audit takes, of scores that were multiplied by their side."""
        from divulge.guarantees.catalog import parse

        if self.one_run and self.method not in ("rates", "one-run"):
            raise DivulgeError(f"give one of --one-run and --method {self.method}; there are both.")
        method = "one-run" if self.one_run else self.method
        return {
            "claim": None if self.claim is None else parse(self.claim).read_in(unit),
            "method": method,
            "cut": side * self.cut if self.cut is not None and method == "rates" else self.cut,
            **{name: getattr(self, name) for name in ("base_rate", "delta", "confidence")},
        }


@dataclass(frozen=True)
class Results:
    """What is told, drawn and written."""

    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curve of rates, both axes logarithmic.")
    ] = None
    statement: Annotated[
        Path | None, typer.Option("--statement", metavar="PAGE", help="Write a page for people whose data trained it.")
    ] = None
    language: Annotated[str, typer.Option("--language", help="Of the page: en or de.")] = "en"
    force: ForceOption = False
    unit: UnitOption = "nats"
    as_json: JsonOption = False

    def write(self, found: "MembershipAudit") -> None:
        """Draw the curve and write the page, where they are asked for."""
        if self.plot is not None:
            draw(found, self.plot, force=self.force)
        if self.statement is not None:
            from divulge.reporting.reports.report import write_page
            from divulge.reporting.statements.statement import statement

            write_page(statement(found, self.language).html, self.statement, self.force)


@with_records
def command(scores: Scores, judging: Judging, results: Results) -> None:
    """Audit a model from scores of people in its data and of others: bounds; exit 1 when they refute the claim.

    "rates" takes members and others to be drawn independently; the other methods take it that a fair coin per person
    decided who is in the data of one run.
    """
    from divulge.auditing.membership import audit_membership
    from divulge.auditing.scores import read_scores

    options = judging.options(scores.side, results.unit)
    values, inside = read_scores(scores.table, scores.score, scores.member)
    with busy("looking at all thresholds"):
        found = audit_membership(scores.side * values, inside, **options)
    told = found.to_dict(results.unit)
    if scores.low and found.witness is not None and found.witness.threshold is not None:
        told["witness"]["threshold"] = -found.witness.threshold
    if results.as_json:
        emit(told)
    else:
        _print(told, "low" if scores.low else "high")
    if scores.side * float(np.median(values[inside]) - np.median(values[~inside])) < 0:
        other = "leave --low out" if scores.low else "give --low"
        note(f"note: members score on the other side of others: {other}, if that is what was meant beforehand")
    results.write(found)
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
