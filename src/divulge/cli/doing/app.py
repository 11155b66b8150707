"""`divulge app`: the whole way in a browser."""

from typing import Annotated

import typer

from divulge.cli.doing.ledger import LedgerOption, default_ledger


def command(
    demo: Annotated[bool, typer.Option("--demo", help="Begin with the bundled census.")] = False,
    port: Annotated[int, typer.Option("--port", help="Where to answer; 0 takes a free port.")] = 8765,
    host: Annotated[
        str, typer.Option("--host", help="Answer other machines too, at this address of this one.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")] = False,
    ledger: LedgerOption = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Do not record releases.")] = False,
) -> None:
    """The whole way in a browser, from a table to a release; nothing leaves this machine."""
    from divulge.app.server import serve

    serve(host, port, demo=demo, browser=not no_browser, ledger=None if no_ledger else default_ledger(ledger))
