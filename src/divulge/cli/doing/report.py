"""`divulge report`: what a release reveals, for people: one page, or text."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli.common import KEPT, busy, counted, emit, note, one_of, say, tell_of_itself
from divulge.cli.options import TABLE_HELP, JsonOption, OptionalChannel, PriorOption, UnitOption
from divulge.cli.records import with_records
from divulge.errors import DivulgeError
from divulge.files import read_channel, read_prior
from divulge.files.opening import name_of, refuse_taken

if TYPE_CHECKING:
    from divulge.model.channel import Channel


@dataclass(frozen=True)
class Recorded:
    """A release that has a receipt."""

    receipt: Annotated[
        str | None, typer.Option("--receipt", metavar="RECEIPT", help="The receipt of a release, in place of CHANNEL.")
    ] = None
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="C", help="With --receipt: the column; several if released together."),
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="WHERE", help="With --receipt: the ledger, to add up all releases."),
    ] = None


@dataclass(frozen=True)
class Pairs:
    """Columns of a table, of which some are protected and some are public."""

    data: Annotated[str | None, typer.Option("--data", metavar="TABLE", help=f"In place of CHANNEL. {TABLE_HELP}")] = (
        None
    )
    secret: Annotated[
        list[str] | None, typer.Option("--secret", metavar="COLUMN", help="The column to protect, with --data.")
    ] = None
    released: Annotated[
        list[str] | None, typer.Option("--released", metavar="COLUMN", help="The column made public, with --data.")
    ] = None
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="With --data: the label for a missing value.")
    ] = None

    def asked(self, language: str) -> dict[str, Any]:
        """Return the columns, and what the report is about in words."""
        from divulge.reporting.statements.voice import Voice

        if not self.secret or not self.released:
            raise DivulgeError("--data needs both columns. Hint: --secret COLUMN --released COLUMN.")
        voice, table = Voice(language), name_of(str(self.data))
        columns = voice.text("r_about_of", released=", ".join(self.released), secret=", ".join(self.secret))
        about = voice.text("r_about_in", columns=columns, table=table)
        secret, released = tuple(self.secret), tuple(self.released)
        return {"secret": secret, "released": released, "null_as": self.null_as, "about": about}


@dataclass(frozen=True)
class Page:
    """Where the report goes, and how it is told."""

    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PAGE", help="The page to write, such as report.html.")
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace a page that exists.")] = False
    language: Annotated[str, typer.Option("--language", help="Of the report: en or de.")] = "en"
    unit: UnitOption = "nats"
    as_json: JsonOption = False

    def write(self, html: Callable[[], str], private: bool = False) -> None:
        """Write the page, if there is to be one."""
        if self.out is None:
            return
        from divulge.reporting.reports.report import write_page

        write_page(html, self.out, self.force, private=private)

    def tell(self, record: Callable[[], Any], text: Callable[[], str], private: bool = False) -> None:
        """Say where the page is; print the record, or the text where there is no page."""
        if self.out is not None:
            note(f"written to {name_of(self.out)}{KEPT if private else ''}")
        if self.as_json:
            emit(record())
        elif self.out is None:
            say(text())


@with_records
def command(
    channel: OptionalChannel = None,
    prior: PriorOption = None,
    *,
    recorded: Recorded,
    pairs: Pairs,
    guarantees: Annotated[
        list[str] | None,
        typer.Option("--guarantee", metavar="KIND=VALUE", help="A promise to check, such as pml=0.5; may be repeated."),
    ] = None,
    page: Page,
) -> None:
    """Tell people what a release reveals: what each outcome gives away, who gains from it, and what is guaranteed.

    With -o one page that holds all it needs, to read, print and send; without, the same as text, with no pictures.

    The release is a mechanism with a prior, a receipt, or two columns of a table (and then all is an estimate).
    """
    import divulge as dv
    from divulge.publishing.published import read_receipt

    receipt = recorded.receipt
    if channel is not None and receipt is None and Path(channel).name.endswith((".receipt.json", ".keeper.json")):
        channel, receipt = None, channel
    given = one_of({"CHANNEL": channel, "--receipt": receipt, "--data": pairs.data})
    if page.out is not None:
        refuse_taken(page.out, page.force)
    if given != "--data" and (pairs.secret or pairs.released or pairs.null_as):
        raise DivulgeError("--secret, --released and --null-as are about a table. Hint: give --data TABLE as well.")
    columns = tuple(recorded.column) if recorded.column else None
    asked: dict[str, Any] = {}
    subject: Any = pairs.data
    known = None
    if given == "--data":
        asked = pairs.asked(page.language)
    elif given == "CHANNEL":
        subject = known = _mechanism(str(channel), prior)
        asked = {"about": "the mechanism on standard input" if channel == "-" else name_of(str(channel))}
    else:
        subject = read_receipt(str(receipt))
        if not _of_columns(subject):
            _tell_statement(subject, page)
            return
        ran = subject.matrix_of(columns or subject.columns)
        known = None if prior is None else ran.channel.exact
    if prior is not None:
        asked |= {"prior": read_prior(prior, known)}
        asked |= {"prior_source": "all equally likely" if prior == "uniform" else f"from {name_of(prior)}"}
    options = {"ledger": recorded.ledger, "guarantees": guarantees or (), "unit": page.unit, "language": page.language}
    with busy("working out what it reveals"):
        found = dv.report(subject, column=columns, **options, **asked)
        private = page.out is not None and (found.estimated or counted(prior))
        page.write(found.html, private)
    tell_of_itself(pairs.secret, pairs.released)
    page.tell(found.to_dict, found.text, private)


def _mechanism(channel: str, prior: str | None) -> "Channel":
    if prior is None:
        raise DivulgeError.of(
            "--prior", "be given with a CHANNEL", "it", "absent",
            "try --prior uniform; a receipt of another name than X.receipt.json goes with --receipt.",
        )  # fmt: skip
    return read_channel(channel)


def _of_columns(subject: Any) -> bool:
    """Say whether a receipt is that of columns that went through mechanisms: no statistics, and no groups."""
    from divulge.publishing.published import Published
    from divulge.releasing.records.ran.mechanism import Mechanism

    return not isinstance(subject, Published | dict) and all(isinstance(one, Mechanism) for one in subject.mechanisms)


def _tell_statement(found: Any, page: Page) -> None:
    """Tell what published statistics, or groups of a coarsened table, say about one record, from their receipt."""
    from divulge.releasing.records.receipt import Receipt
    from divulge.reporting.statements.statement import statement

    said = statement(found, page.language)
    page.write(said.html)

    def record() -> Any:
        if isinstance(found, Receipt):
            return said.to_dict()
        return found if isinstance(found, dict) else found.to_dict(page.unit)

    page.tell(record, said.text)
