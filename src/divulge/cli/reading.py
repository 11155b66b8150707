"""The options that say how files are read and written, for every command that reads a table."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from divulge.cli.common import note
from divulge.files.opening import keep_apart
from divulge.files.settings import using

READING: dict[str, Any] = {
    "delimiter": Annotated[
        str | None, typer.Option("--delimiter", metavar="C", help="What stands between cells of CSV; else guessed.")
    ],
    "decimal": Annotated[
        str | None, typer.Option("--decimal", metavar="C", help="The decimal sign of CSV, . or ,; else guessed.")
    ],
    "encoding": Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="Of text, such as utf-8 or latin-1; else guessed.")
    ],
    "sheet": Annotated[
        str | None, typer.Option("--sheet", metavar="NAME", help="The sheet of a workbook, by name or number.")
    ],
    "header": Annotated[
        str | None,
        typer.Option(
            "--header",
            metavar="N",
            help="The row with the names of columns; 3-4: in two rows. Those above are left out.",
        ),
    ],
    "footer": Annotated[
        int | None, typer.Option("--footer", metavar="N", help="Leave out so many rows at the end: totals, notes.")
    ],
    "number_names": Annotated[
        bool, typer.Option("--number-names", help="Columns of one name get numbers: day, day (2).")
    ],
    "one_spelling": Annotated[
        list[str] | None,
        typer.Option(
            "--one-spelling",
            metavar="C",
            help="Texts there that differ in blanks, case or leading zeros are one value.",
        ),
    ],
    "group": Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="C=RULE",
            help="Group values first, by ranges of a width (10000, 10000:0:90000), day, "
            "month, quarter, year, first:2 letters, or rare:50 (fewer rows: other).",
        ),
    ],
    "line_breaks": Annotated[
        bool, typer.Option("--line-breaks", help="Cells of CSV may hold line breaks; else each line is a row.")
    ],
    "limits": Annotated[
        str | None,
        typer.Option("--limit", metavar="LIMITS", help="The most that is read: rows=1e9,cells=2e7,bytes=1GiB."),
    ],
}
"""Setting -> its option, for commands that read a table."""

WRITING: dict[str, Any] = {
    "escape_formulas": Annotated[
        bool, typer.Option("--escape-formulas", help="Write CSV cells that begin with = + - @ behind an apostrophe.")
    ],
}
"""The same, for commands that write one."""


READ = frozenset({"TABLE", "TABLE2", "CHANNEL", "PRIOR", "RECEIPT", "RELEASES", "FILE", "FILE_OR_NAME", "OUT",
                  "SECRET", "lower=P|FILE"})  # fmt: skip
"""What the help calls an argument of text that may name a file which is read. A path is written, and so is a ledger."""


def keep_files_apart(parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Refuse a command line that writes one file twice, or one that it reads, before anything is opened."""
    written: dict[str, Any] = {}
    read: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value, (_, option) = given.get(name), get_args(parameter.annotation)
        words = [option.default, *(option.param_decls or ()), f"--{name}"]  # typer takes the first word for a default
        shown = next(word for word in words if isinstance(word, str) and word.startswith("--")).replace("_", "-")
        shown = option.metavar or shown if isinstance(option, typer.models.ArgumentInfo) else shown
        if name == "ledger" and value is not None:
            from divulge.releasing.records.ledger import files_of

            written[shown] = list(map(str, files_of(value)))
        elif isinstance(value, Path) or (name == "sink" and value is not None):  # text, as an address is no path
            written[shown] = value
        elif option.metavar in READ:
            read[shown] = value
    keep_apart(written, read)


def with_options(command: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    """Return the command with options for how files are read and written."""
    own = inspect.signature(command, eval_str=True)
    added = {name: kind for name, kind in options.items() if name not in own.parameters}

    @wraps(command)
    def called(**given: Any) -> None:
        settings = {name: given.pop(name) or None for name in added}
        with using(tell=cache(note), **settings):
            keep_files_apart(own.parameters, given)
            command(**given)

    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=False if kind.__origin__ is bool else None, annotation=kind
        )
        for name, kind in added.items()
    ]
    parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values()), *more]
    called.__signature__ = own.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    del called.__wrapped__
    return called


def telling(command: Any) -> Any:
    """Return a group of commands, what is told about files going to standard error."""
    invoke = command.invoke

    def with_notes(context: Any) -> Any:
        with using(tell=cache(note)):
            return invoke(context)

    command.invoke = with_notes
    return command
