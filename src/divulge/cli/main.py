"""The `divulge` command: a table of commands, each loaded when it is called, and the one place where errors end."""

import io
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
    "check": "Whether a mechanism keeps a guarantee: exit 0 or 1, with the witness.",
    "convert": "What a guarantee implies about others, with the derivation.",
    "design": "The most useful mechanism under a guarantee, with proof.",
    "attack": "The worst adversaries of a mechanism, spelled out.",
    "compare": "Which of two mechanisms is safer against whom.",
    "noise": "What noise on a number gives away: Laplace, Gaussian, staircase, Student-t, logistic, discrete.",
    "account": "What a list of releases adds up to.",
    "release": "Release a column of a table through a mechanism, with a receipt.",
    "estimate": "How frequent the original values of a released column were, with intervals.",
    "audit": "What observed pairs of secret and outcome show, and whether a claim survives them.",
    "ledger": "What was released, and what it adds up to.",
    "report": "What a release reveals, for people: one page, or text.",
}
"""Command -> its line in the help. `divulge.cli.NAME` defines a function `command` with annotations, or an `app`."""


class Output(io.FileIO):
    """Standard output. When its reader leaves, `head` say, the rest goes nowhere and the exit code still tells."""

    def write(self, data: Any, /) -> int:
        """Write to the reader while there is one; anything else that goes wrong is said once."""
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if not isinstance(error, BrokenPipeError):
                raise DivulgeError(f"standard output: cannot be written: {error.strerror}.") from None
            return len(data)


class Messages(Output):
    """Standard error. What nobody can read changes nothing."""

    def write(self, data: Any, /) -> int:
        """Write to the reader while there is one."""
        try:
            return super().write(data)
        except DivulgeError:
            return len(data)


class LazyGroup(TyperGroup):
    """A typer group whose commands are imported when they are called, so that `--version` and `--help` start fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"divulge.cli.{cmd_name}")
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name=cmd_name, help=module.command.__doc__ or COMMANDS[cmd_name])(module.command)
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what goes wrong becomes one message and an exit code."""
        try:
            return super().invoke(ctx)
        except DivulgeError as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=LazyGroup, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """What a data release gives away about a secret, and how to release something better."""
    if version:
        typer.echo(f"divulge {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit 0 done, 1 a guarantee does not hold, 2 bad input, 130 interrupted."""
    out, err = sys.stdout, sys.stderr
    if isinstance(err, io.TextIOWrapper):
        sys.stderr = _through(Messages, err, line_buffering=True)
    if isinstance(out, io.TextIOWrapper):
        sys.stdout = _through(Output, out, line_buffering=out.isatty())
    try:
        app(prog_name="divulge")
    finally:
        _finish()


def _through(kind: type[Output], stream: io.TextIOWrapper, line_buffering: bool) -> io.TextIOWrapper:
    """Return a stream of text to the same place, which goes on when its reader has gone."""
    buffer = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=line_buffering)


def _finish() -> None:
    try:
        print(end="", flush=True)
    except DivulgeError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
