"""The `divulge` command: a table of commands, each loaded when it is called, and the one place where errors end."""

import inspect
import io
import os
import re
import sys
import traceback
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer import completion
from typer.core import TyperGroup

from divulge import __version__, children, stopping
from divulge.cli.grouped import Grouped
from divulge.cli.supervisor import hold_numbers
from divulge.errors import DivulgeError, did_you_mean, printable

COMMANDS: dict[str, str] = {
    "measure": "Leakage profile of a mechanism, or of two columns of a table.",
    "check": "Whether a mechanism keeps a guarantee: exit 0 or 1, with the witness.",
    "convert": "What a guarantee implies about others, with the derivation.",
    "design": "The most useful mechanism under a guarantee, with proof.",
    "attack": "The worst adversaries of a mechanism, spelled out.",
    "compare": "Which of two mechanisms is safer against whom.",
    "noise": "What noise on a number gives away: Laplace, Gaussian, staircase, Student-t, logistic, discrete.",
    "chain": "What releases along a Markov chain say of a state, from all outputs.",
    "network": "What goes out of some variables of a Bayesian network says about others.",
    "account": "What a list of releases adds up to.",
    "calibrate": "The least noise, the largest sample or the most releases that keep a goal.",
    "release": "Release a column of a table through a mechanism, with a receipt.",
    "publish": "Publish counts, sums, means and quantiles of a table, with noise and intervals.",
    "run": "Carry out a request that was saved: a release, or statistics.",
    "estimate": "How frequent the original values of a released column were, with intervals.",
    "audit": "What observed pairs of secret and outcome show, and whether a claim survives them.",
    "audit-model": "What scores show about who is in the data of a model, and whether a claim survives them.",
    "audit-attribute": "What guesses of a secret show beyond filling it in, and whether a claim survives them.",
    "audit-synthetic": "What a synthetic table shows about those whose data made it, and whether a claim survives.",
    "assess": "What a table tells those who know some columns: k, l, t, beta, leakage, by group and column.",
    "generalize": "Coarsen a table as little as guarantees allow: the optimum, with proof.",
    "ledger": "What was released, and what it adds up to.",
    "app": "The whole way in a browser; nothing leaves this machine.",
    "report": "What a release reveals, for people: one page, or text.",
    "verify": "Whether a paper is as it was signed: exit 0 or 1.",
    "statement": "What a release promises and what a person risks, for the public, in English or German.",
}
"""Command -> its line in the help. Its module defines a function `command` with annotations, or an `app`."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "measure": (
        "divulge measure mechanism.csv --prior uniform",
        "divulge measure --data people.csv --secret race --released income",
    ),
    "check": ("divulge check mechanism.csv --guarantee ldp=1",),
    "convert": ("divulge convert ldp=1 --to pml,pmc --p-min 0.01",),
    "design": (
        "divulge design --prior people.csv:race --guarantee pml=0.5 -o race.csv",
        "divulge design --prior people.csv:race --guarantee pml=0.5 \\\n    --about people.csv:income",
        "divulge design --prior people.csv:race --guarantee pml --at-least 0.1",
        "divulge design --prior people.csv:race --guarantee pml \\\n    --frontier 0.1:3:20 --plot race.png",
    ),
    "attack": ("divulge attack mechanism.csv --prior uniform",),
    "compare": ("divulge compare old.csv new.csv --prior uniform",),
    "noise": ('divulge noise laplace --scale 1 --secret "bernoulli(0.3)"',),
    "chain": (
        "divulge chain --transition moves.csv --release told.csv --steps 5",
        "divulge chain --transition moves.csv --release told.csv --steps 5 \\\n    --secret ever=ill",
    ),
    "network": ("divulge network lungs.bif --release xray --secret lung",),
    "account": ("divulge account releases.json --delta 1e-6",),
    "calibrate": (
        "divulge calibrate gaussian adp=1:1e-6 --count 1000 --rate 0.01",
        "divulge calibrate laplace dp=1 --noise 20",
    ),
    "release": (
        "divulge release survey.csv --column religion --guarantee ldp=1 --preview",
        "divulge release survey.csv --column religion --guarantee ldp=1 \\\n    -o released.csv",
    ),
    "publish": (
        "divulge publish survey.csv --count sex --mean age:0:90 \\\n    --guarantee dp=1 --values-from-data -o out.csv",
    ),
    "run": ("divulge run request.json -o again.csv",),
    "estimate": ("divulge estimate released.csv --receipt released.receipt.json",),
    "audit": ("divulge audit --data pairs.csv --secret race --released said \\\n    --claim ldp=1",),
    "audit-model": (
        "divulge audit-model scores.csv --score loss --member in --low \\\n    --claim dp=1 --base-rate 0.01",
        "divulge audit-model scores.csv --score similarity --member in --one-run",
    ),
    "audit-attribute": (
        "divulge audit-attribute guesses.csv --guess said --baseline usual \\\n"
        "    --truth ill --member in --claim lift=1.1",
    ),
    "audit-synthetic": (
        "divulge audit-synthetic made.csv --members survey.csv --others rest.csv \\\n"
        "    --secret religion --known age,sex --claim dp=1",
    ),
    "generalize": (
        "divulge generalize survey.csv --known age,sex --guarantee k=5 \\\n    --secret religion -o coarse.csv",
    ),
    "assess": (
        "divulge assess survey.csv --known age,sex --secret religion",
        "divulge assess survey.csv --known age,sex --secret religion \\\n    --claim k=5 --claim t=0.3",
    ),
    "report": (
        "divulge report mechanism.csv --prior uniform -o report.html",
        "divulge report --receipt released.receipt.json -o released.html",
    ),
    "verify": ("divulge verify released.receipt.json --key public.pem",),
    "statement": ("divulge statement released.receipt.json --language de -o aussage.html",),
    "app": ("divulge app --demo",),
}
"""Command -> what may be typed, shown as it stands below the help."""

DOES = frozenset(
    ("release", "publish", "generalize", "run", "estimate", "ledger", "app", "report", "statement", "verify")
)
"""Commands of `divulge.cli.doing`; the audits are in `divulge.cli.auditing`; the others answer a question, and are in
`divulge.cli.asking`."""

READS = frozenset(COMMANDS) - {"ledger", "run", "verify"}
"""Commands that read files of others: they get the options that say how."""

WRITES = ("release", "publish", "generalize")
"""Commands that write a table."""

SHELLS = ("bash", "zsh", "fish")

DONE, NO, WRONG, INTERRUPTED = 0, 1, 2, stopping.INTERRUPTED
"""All exit codes there are. NO is the answer to a question that was asked; nothing that goes wrong has it."""


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


@cache
def _command(name: str) -> Any:
    """Import one command, and read its options from its signature once."""
    from divulge.cli import reading

    folder = "doing" if name in DOES else "auditing" if name.startswith("audit") else "asking"
    module = import_module(f"divulge.cli.{folder}.{name.replace('-', '_')}")
    if hasattr(module, "app"):
        return reading.telling(typer.main.get_command(module.app))
    options = (reading.READING if name in READS else {}) | (reading.WRITING if name in WRITES else {})
    command = reading.with_options(module.command, options)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    examples = "".join(f"\n\n\b\n{text}" for text in EXAMPLES[name])
    alone.command(name=name, cls=Grouped, help=f"{inspect.getdoc(module.command)}{examples}")(command)
    return typer.main.get_command(alone)


class LazyGroup(TyperGroup):
    """A typer group whose commands are imported when they are called, so that `--version` and `--help` start fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command."""
        return _command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; `help NAME` is `NAME --help`; of one that there is not, say which is meant."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
            if args == ["--help"]:
                typer.echo(ctx.get_help())
                raise typer.Exit
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer gives an interrupt no word, and a pipe that is gone the exit code of an answer."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Exit(_exit_code(error)) from None
        except OSError as error:
            raise DivulgeError(_message(error)) from error

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and end with its exit code; whatever goes wrong becomes one message and WRONG."""
        stopping.ALREADY.clear()
        if any(name.endswith("DIVULGE_COMPLETE") for name in os.environ):
            completion.completion_init()  # pyright: ignore[reportPrivateImportUsage]
        try:
            found = super().main(*args, **options | {"standalone_mode": False})
            code = found if isinstance(found, int) else DONE
            if code != INTERRUPTED:
                stopping.look()  # an exception that Python lost stops here at the latest
        except BaseException as error:
            code = _exit_code(error)
        sys.exit(code)


def _exit_code(error: BaseException) -> int:
    """Say in one message what went wrong, and return the exit code for it: never one that means an answer."""
    if isinstance(error, SystemExit):
        return DONE if error.code in (None, 0) else WRONG
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # pyright: ignore[reportAttributeAccessIssue]
        return WRONG
    if isinstance(error, (KeyboardInterrupt, typer.Abort)) or stopping.ASKED:
        print(" ".join(["interrupted", *(f"({done})" for done in stopping.ALREADY)]), file=sys.stderr)
        return DONE if _published() else INTERRUPTED
    said = _message(error)
    if os.environ.get("DIVULGE_TRACEBACK") and "unforeseen" in said:
        traceback.print_exception(error)
    print(f"error: {said}", file=sys.stderr)
    return DONE if _published() else WRONG


def _published() -> bool:
    """Say whether files are published: then a call is done, and what fails later is said and changes no exit code.

    To a script WRONG and INTERRUPTED mean that it may try again.
    """
    return stopping.PUBLISHED in stopping.ALREADY


def _message(error: BaseException) -> str:
    """Return the message of an error as one line; what is unforeseen could quote a cell, and says its kind alone."""
    if isinstance(error, DivulgeError):
        found = " ".join([str(error), *stopping.ALREADY])
    elif hasattr(error, "format_message"):  # what typer says about the command line
        path = getattr(getattr(error, "ctx", None), "command_path", "divulge")
        found = f"{_about_the_line(error, path)} Hint: {path} --help."
    elif isinstance(error, MemoryError):
        found = "this does not fit into memory."
    elif isinstance(error, RecursionError):
        found = "the input is nested too deeply."
    elif isinstance(error, OSError) and error.strerror:
        where = (
            ""
            if error.filename is None
            else f"{os.path.basename(os.fsdecode(error.filename)) or os.fsdecode(error.filename)}: "
        )
        found = f"{where}{error.strerror}."
    elif children.addresses() is not None:  # libraries fail in many ways
        found = "this does not fit into memory. Hint: ulimit -v allows more addresses; libraries alone need 1 GB."
    else:
        found = (
            f"something unforeseen went wrong ({type(error).__name__}), which is a defect of Divulge. "
            "Hint: with DIVULGE_TRACEBACK=1 in the environment it says where."
        )
    return " ".join(map(printable, found.splitlines()))


def _about_the_line(error: Any, path: str) -> str:
    """Return what typer says about the command line as a sentence, with what may be meant."""
    said = str(error.format_message())
    if type(error).__name__ == "NoSuchOption":
        known = [name for one in error.ctx.command.params for name in one.opts] if error.ctx else error.possibilities
        return f"there is no option {error.option_name!r}.{did_you_mean(error.option_name, known or ())}"
    extra = re.fullmatch(r"Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", said, re.DOTALL)
    if extra:
        return f"{path} takes no {extra[1]!r} here; a name with spaces in it stands between quotation marks."
    return said if said.endswith((".", "?")) else f"{said}."


app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    install_completion: str | None = typer.Option(
        None, "--install-completion", metavar="SHELL", help="Complete commands with the tab key in bash, zsh or fish."
    ),
) -> None:
    """What a data release gives away about a secret, and how to release something better."""
    if install_completion is not None:
        if install_completion not in SHELLS:
            raise DivulgeError.of("--install-completion", f"be {', '.join(SHELLS)}", "it", repr(install_completion))
        install: Any = completion.install  # pyright: ignore[reportPrivateImportUsage]
        _, path = install(install_completion, "divulge", "_DIVULGE_COMPLETE")
        typer.echo(f"completion for {install_completion} is in {path}; a new terminal has it.")
        raise typer.Exit
    if version:
        typer.echo(f"divulge {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: exit 0 done, 1 a guarantee does not hold, 2 bad input, 130 interrupted."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    stopping.catch()
    _hold_standard_streams()
    out, err = sys.stdout, sys.stderr
    if isinstance(err, io.TextIOWrapper):
        sys.stderr = _through(Messages, err, line_buffering=True)
    if isinstance(out, io.TextIOWrapper):
        sys.stdout = _through(Output, out, line_buffering=out.isatty())
    try:
        app(prog_name="divulge")
    finally:
        _finish()


def _hold_standard_streams() -> None:
    hold_numbers()
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _through(kind: type[Output], stream: io.TextIOWrapper, line_buffering: bool) -> io.TextIOWrapper:
    """Return a stream of text to the same place, which goes on when its reader has gone."""
    buffer = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
    return io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=line_buffering)


def _finish() -> None:
    try:
        print(end="", flush=True)
    except DivulgeError as error:
        print(f"error: {_message(error)}", file=sys.stderr)
        raise SystemExit(DONE if _published() else WRONG) from None
