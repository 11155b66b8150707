"""`divulge report`: what a release reveals, for people: one page, or text."""

from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import KEPT, busy, counted, emit, note, one_of, say, tell_of_itself
from divulge.cli.options import TABLE_HELP, JsonOption, OptionalChannel, PriorOption, UnitOption
from divulge.errors import DivulgeError
from divulge.files import read_channel, read_prior
from divulge.files.opening import name_of, refuse_taken


def command(
    channel: OptionalChannel = None,
    prior: PriorOption = None,
    receipt: Annotated[
        str | None, typer.Option("--receipt", metavar="RECEIPT", help="The receipt of a release, in place of CHANNEL.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="C", help="With --receipt: the column; several if released together."),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option("--ledger", metavar="WHERE", help="With --receipt: the ledger, to add up all releases."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="TABLE", help=f"In place of CHANNEL. {TABLE_HELP}")
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option("--secret", metavar="COLUMN", help="The column to protect, with --data.")
    ] = None,
    released: Annotated[
        list[str] | None, typer.Option("--released", metavar="COLUMN", help="The column made public, with --data.")
    ] = None,
    null_as: Annotated[
        str | None, typer.Option("--null-as", metavar="LABEL", help="With --data: the label for a missing value.")
    ] = None,
    guarantees: Annotated[
        list[str] | None,
        typer.Option("--guarantee", metavar="KIND=VALUE", help="A promise to check, such as pml=0.5; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PAGE", help="The page to write, such as report.html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a page that exists.")] = False,
    language: Annotated[str, typer.Option("--language", help="Of the report: en or de.")] = "en",
    unit: UnitOption = "nats",
    as_json: JsonOption = False,
) -> None:
    """Tell people what a release reveals: what each outcome gives away, who gains from it, and what is guaranteed.

    With -o one page that holds all it needs, to read, print and send; without, the same as text, with no pictures.

    The release is a mechanism with a prior, a receipt, or two columns of a table (and then all is an estimate).
    """
    import divulge as dv
    from divulge.publishing.published import Published, read_receipt
    from divulge.releasing.records.ran.mechanism import Mechanism
    from divulge.reporting.reports.report import write_page
    from divulge.reporting.statements.voice import Voice

    if channel is not None and receipt is None and Path(channel).name.endswith((".receipt.json", ".keeper.json")):
        channel, receipt = None, channel
    given = one_of({"CHANNEL": channel, "--receipt": receipt, "--data": data})
    asked: dict[str, Any] = {}
    known, private = None, False
    if out is not None:
        refuse_taken(out, force)
    if given == "--data":
        if not secret or not released:
            raise DivulgeError("--data needs both columns. Hint: --secret COLUMN --released COLUMN.")
        subject: Any = data
        asked |= {"secret": tuple(secret), "released": tuple(released), "null_as": null_as}
        named = Voice(language).text("r_about_of", released=", ".join(released), secret=", ".join(secret))
        asked |= {"about": Voice(language).text("r_about_in", columns=named, table=name_of(str(data)))}
    elif secret or released or null_as:
        raise DivulgeError("--secret, --released and --null-as are about a table. Hint: give --data TABLE as well.")
    elif given == "CHANNEL":
        if prior is None:
            raise DivulgeError.of(
                "--prior",
                "be given with a CHANNEL",
                "it",
                "absent",
                "try --prior uniform; a receipt of another name than X.receipt.json goes with --receipt.",
            )
        subject = known = read_channel(str(channel))
        asked |= {"about": "the mechanism on standard input" if channel == "-" else name_of(str(channel))}
    else:
        subject = read_receipt(str(receipt))
        if isinstance(subject, Published | dict):
            _tell_statement(subject, out, force, unit, as_json, language)
            return
        if not all(isinstance(one, Mechanism) for one in subject.mechanisms):
            _tell_statement(subject, out, force, unit, as_json, language)
            return
        ran = subject.matrix_of(tuple(column) if column else subject.columns)
        known = None if prior is None else ran.channel.exact
    if prior is not None:
        asked |= {"prior": read_prior(prior, known)}
        asked |= {"prior_source": "all equally likely" if prior == "uniform" else f"from {name_of(prior)}"}
    with busy("working out what it reveals"):
        found = dv.report(
            subject,
            column=tuple(column) if column else None,
            ledger=ledger,
            guarantees=guarantees or (),
            unit=unit,
            language=language,
            **asked,
        )
        if out is not None:
            private = found.estimated or counted(prior)
            write_page(found.html, out, force, private=private)
    tell_of_itself(secret, released)
    if out is not None:
        note(f"written to {name_of(out)}{KEPT if private else ''}")
    if as_json:
        emit(found.to_dict())
    elif out is None:
        say(found.text())


def _tell_statement(found: Any, out: Path | None, force: bool, unit: Any, as_json: bool, language: str) -> None:
    """Tell what published statistics, or groups of a coarsened table, say about one record, from their receipt."""
    from divulge.releasing.records.receipt import Receipt
    from divulge.reporting.reports.report import write_page
    from divulge.reporting.statements.statement import statement

    said = statement(found, language)
    if out is not None:
        write_page(said.html, out, force)
        note(f"written to {name_of(out)}")
    if as_json:
        if isinstance(found, Receipt):
            emit(said.to_dict())
        else:
            emit(found if isinstance(found, dict) else found.to_dict(unit))
    elif out is None:
        say(said.text())
