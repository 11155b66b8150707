"""`divulge verify`: whether a paper is as it was signed."""

from typing import Annotated

import typer

from divulge.cli.common import emit, say
from divulge.cli.options import JsonOption
from divulge.files.opening import name_of


def command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A receipt, codebook or keeper's record, as JSON.")],
    key: Annotated[
        str, typer.Option("--key", metavar="PUBLIC", help="The public key of who signed it: PEM or OpenSSH, Ed25519.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Tell whether a paper is as it was signed: exit 0 or 1.

    A receipt's checksum finds accidents, and is no signature: whoever edits it can compute it anew. `divulge release`
    and `divulge publish` sign papers with --sign KEY.
    """
    import divulge as dv

    found = dv.verify(paper, key)
    if as_json:
        emit({"valid": found.valid, "reason": found.reason or None, "key": found.fingerprint})
    elif found.valid:
        say(f"{name_of(paper)} is as it was signed, with the key {found.fingerprint}")
    else:
        say(f"{name_of(paper)} is NOT signed so: {found.reason} (asked for the key {found.fingerprint})")
    if not found.valid:
        raise typer.Exit(1)
