"""Options that belong together as one record: a command that takes records has the options that stand in them."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any


def with_records(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option for each field of the records that it takes; it is called with the records.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Place:
    ...     x: int
    ...     y: int = 0
    >>> def command(place: Place, name: str = "") -> None:
    ...     print(place, name)
    >>> inspect.signature(with_records(command))
    <Signature (*, x: int, y: int = 0, name: str = '')>
    >>> with_records(command)(x=1, y=2, name="here")
    Place(x=1, y=2) here
    """
    own = inspect.signature(command).parameters
    records: dict[str, Any] = {name: one.annotation for name, one in own.items() if is_dataclass(one.annotation)}

    def called(*first: Any, **given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in records.items()}
        command(*first, **made, **given)

    called.__doc__, called.__module__ = command.__doc__, command.__module__
    parameters = [
        made
        for name, one in own.items()
        for made in (map(_option, fields(records[name])) if name in records else [one.replace(kind=_BY_NAME)])
    ]
    called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return called


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _option(field: "Field[Any]") -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, _BY_NAME, default=default, annotation=field.type)
