"""What `divulge chain` and `divulge network` share: labels from text, and the worst outputs for people and programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import lower, note, upper
from divulge.errors import DivulgeError
from divulge.files.opening import name_of, refuse_taken
from divulge.model.labels import Labels, position, text_of
from divulge.model.prior import Prior
from divulge.model.shown import number
from divulge.units import Unit, nats_per

TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="How long an answer may take, of pml and of pmc each."),
]


@dataclass(frozen=True)
class ReportPage:
    """A page on one secret and all outputs."""

    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="PAGE", help="With --secret: the page to write, such as report.html."),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="With --report: replace a page that exists.")] = False
    language: Annotated[str | None, typer.Option("--language", help="With --report: en or de.")] = None

    def refuse(self, needs: str | None, others: bool, time_limit: float | None) -> None:
        """Refuse a page that cannot be written, before anything is computed, and what belongs to one without it."""
        if time_limit is not None and self.report is not None:
            raise DivulgeError("--time-limit is about an answer without a page. Hint: leave it out.")
        if self.report is None:
            if self.force or self.language is not None:
                raise DivulgeError("--force and --language are about a page. Hint: --report PAGE writes one.")
            return
        if needs is None:
            raise DivulgeError("--report is about one secret. Hint: --secret names it.")
        if others:
            raise DivulgeError("--report is about all outputs that there could be. Hint: leave out what else is asked.")
        refuse_taken(self.report, self.force)

    def write(self, model: Any, secret: Any, unit: Unit) -> None:
        """Write the page on a chain or a network, if there is to be one."""
        if self.report is None:
            return
        from divulge import report
        from divulge.reporting.reports.report import write_page

        found = report(model, secret=secret, unit=unit, language=self.language or "en")
        write_page(found.html, self.report, self.force)
        note(f"written to {name_of(self.report)}")


def as_outcome(text: str, known: Labels) -> Any:
    """Return the label that a text stands for.

    >>> as_outcome("1", (0, 1))
    1
    """
    named = {text_of(label): label for label in known}
    return named[text.strip()] if text.strip() in named else known[position(known, text.strip(), "the label")]


def by_label(prior: Prior) -> dict[str, float]:
    """Return a distribution as label -> probability.

    >>> by_label(Prior(["1/4", "3/4"], ["ill", "well"]))
    {'ill': 0.25, 'well': 0.75}
    """
    return {str(text_of(label)): float(p) for label, p in zip(prior.secrets, prior.probabilities, strict=True)}


def worst_record(worst: Mapping[str, Any], secret: str, unit: Unit) -> dict[str, Any]:
    """Return the worst outputs of both sides as one JSON object; exact ratios are strings beside floats."""
    per = nats_per(unit)
    return {"secret": secret, "unit": unit} | {
        side: {
            "lower": one.leakage.lower / per,
            "upper": one.leakage.upper / per,
            "ratio": str(one.lower) if one.exact else None,
            "outputs": one.outputs if isinstance(one.outputs, Mapping) else list(one.outputs),
            "value": str(one.value),
            "exact": one.exact,
        }
        for side, one in worst.items()
    }


def worst_text(worst: Mapping[str, Any], unit: Unit) -> str:
    """Return the worst outputs of both sides in words."""
    per, lines = nats_per(unit), list[str]()
    for side, one in worst.items():
        level = one.leakage
        size = upper(level.upper / per, 6)
        if level.lower != level.upper:
            size = f"{lower(level.lower / per, 6)} to {size}"
        what = "belief rises" if side == "pml" else "belief falls"
        shown = (
            ", ".join(f"{k}={v}" for k, v in one.outputs.items())
            if isinstance(one.outputs, Mapping)
            else ", ".join(map(str, one.outputs))
        )
        lines.append(
            f"{side} {size} {unit}: {what} {number(one.lower)} times for {one.secret} = {one.value}, after {shown}"
        )
        if one.caution:
            lines.append(f"  {one.caution}")
    return "\n".join(lines)
