"""The options of a request as options of a command: what the record holds can be typed, and nothing else."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from divulge.cli.options import TABLE_HELP
from divulge.late import late
from divulge.releasing.request import ACTIONS, Request


def with_fields(action: str, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of the request for an action, but for some; it takes what was typed of them first."""
    made: type[Request] = late(ACTIONS[action])  # pyright: ignore[reportAssignmentType]
    added = [_parameter(made, name) for name in made.options() if name not in without]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[1:]

        def called(**given: Any) -> None:
            typed = {one.name: given.pop(one.name) for one in added}
            command({name: value for name, value in typed.items() if value is not None}, **given)

        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*added, *own]]
        called.__doc__, called.__module__ = command.__doc__, command.__module__
        called.__signature__ = inspect.Signature(parameters)
        return called

    return decorated


def _parameter(made: type[Request], name: str) -> inspect.Parameter:
    """Return a field as a parameter that typer reads."""
    option = made.options()[name]
    usual = next(f.default for f in fields(made) if f.name == name)
    if name == "source":
        kind: Any = Annotated[str, typer.Argument(metavar=option.metavar, help=TABLE_HELP)]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
    old = tuple(f"--{was.replace('_', '-')}" for was, now in made.renamed.items() if now == name)
    shown = typer.Option(*option.named(name), *old, metavar=option.metavar, help=option.help)
    needed = usual is MISSING
    usual = None if usual in (MISSING, ()) else usual
    of = str if name == "sink" else option.of  # an address is no path: it would lose one of two slashes
    typed = of if needed or usual is not None else of | None
    default = inspect.Parameter.empty if needed else usual
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[typed, shown])
