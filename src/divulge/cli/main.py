"""The `divulge` command: a table of commands, each loaded when it is called."""

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from divulge import __version__
from divulge.errors import DivulgeError

COMMANDS: dict[str, str] = {
    "measure": "Leakage profile of a mechanism, or of two columns of a table.",
}
"""Command -> its line in the help. `divulge.cli.NAME` defines a function `command` with typer annotations."""


class LazyGroup(TyperGroup):
    """A typer group whose commands are imported when they are called, so that `--version` and `--help` start fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"divulge.cli.{cmd_name}")
        sub = typer.Typer(add_completion=False)
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        sub.command(name=cmd_name, help=COMMANDS[cmd_name])(module.command)
        return typer.main.get_command(sub)


app = typer.Typer(cls=LazyGroup, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """What a data release gives away about a secret, and how to release something better."""
    if version:
        typer.echo(f"divulge {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit 0 done, 1 a guarantee does not hold, 2 bad input, 130 interrupted."""
    try:
        code = app(standalone_mode=True)
    except DivulgeError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
