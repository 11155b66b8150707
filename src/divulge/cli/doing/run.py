"""`divulge run`: carry out a request that was saved."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli.common import note
from divulge.cli.options import ForceOption, JsonOption
from divulge.errors import DivulgeError
from divulge.files.opening import name_of

NoLedgerOption = Annotated[bool, typer.Option("--no-ledger", help="Do not record this.")]
SaveOption = Annotated[
    Path | None,
    typer.Option("--save-request", metavar="FILE", help="Write what is asked, for divulge run; draw with -o alone."),
]


def save(request: Any, path: Path | None, force: bool) -> bool:
    """Write a request where one is wanted, and say whether it was."""
    if path is None:
        return False
    request.save(path, force=force)
    note(f"the request is in {name_of(path)}; divulge run {name_of(path)} carries it out.")
    return True


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A request, as --save-request writes it.")],
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="In place of the output that is named in it.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Carry out a request that was saved: the same as the command, page or program that it was saved from."""
    from dataclasses import replace

    from divulge.releasing.request import Request

    request = Request.read(file)
    request = replace(request, sink=out or request.sink, force=force or request.force)
    if request.source is None:
        raise DivulgeError.of("source", "be named by the request", "it", "absent")
    if request.sink is None and request.action == "release":
        raise DivulgeError.of("--output", "be given, or stand in the request", "it", "absent")
    import_module(f"divulge.cli.doing.{request.action}").carry_out(request, as_json)
