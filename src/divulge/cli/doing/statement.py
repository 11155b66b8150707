"""`divulge statement`: what was promised and what a person risks, for the public, made again from a receipt."""

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli.common import emit, note, say
from divulge.cli.options import JsonOption
from divulge.files.opening import name_of


def command(
    receipt: Annotated[
        str, typer.Argument(metavar="RECEIPT", help="Of a released column, or of published statistics.")
    ],
    language: Annotated[str, typer.Option(help="en or de.")] = "en",
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PAGE", help="The page to write, such as statement.html.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a page that exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell the public what was promised and what a person risks, in plain words, without a count of the source.

    `divulge release` and `divulge publish` write it already; this makes it again, in another language say.
    """
    import divulge as dv
    from divulge.reporting.reports.report import write_page

    found = dv.statement(receipt, language)
    if out is not None:
        write_page(found.html, out, force)
        note(f"written to {name_of(out)}")
    if as_json:
        emit(found.to_dict())
    elif out is None:
        say(found.text().rstrip("\n"))
