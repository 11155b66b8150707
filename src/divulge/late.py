"""Functions that are named before they are written: what lets imports run one way.

A record offers what lies above it under its own name: a guarantee what it implies, a measure its picture. The method
asks here for the function when it is called. `tests/test_layers.py` looks up every path that is asked for.
"""

import os
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar

import lazy_loader

T = TypeVar("T")

ROOMS = (
    "measures", "adversaries", "guarantees", "dp", "noise", "networks", "protocols", "results", "mechanisms",
    "datasets", "tables",
)  # fmt: skip
"""What `divulge` has public names in, beside its own."""


def attach(package: str, path: str, shown: str | None = None) -> Any:
    """Return (__getattr__, __dir__, __all__) of the stub beside a file; of an unknown name, say which is meant.

    `shown` is the name of the module in messages where it is not the package.
    """
    found, listed, names = lazy_loader.attach_stub(package, path)

    def get(name: str) -> Any:
        try:
            return found(name)
        except AttributeError:
            if name in names:
                raise
            own = name.startswith("_") or os.path.exists(os.path.join(os.path.dirname(path), f"{name}.py"))
            hint = "" if own else _meant(shown or package, name, names)  # looks through all rooms, and loads them
            raise AttributeError(f"module {shown or package!r} has no attribute {name!r}.{hint}") from None

    return get, listed, names


def _meant(package: str, name: str, names: list[str]) -> str:
    """Return where a name is, if another room has it, or the names that are most like it."""
    from divulge.errors import did_you_mean

    top = import_module("divulge")
    places = {"divulge": top, **{f"divulge.{room}": getattr(top, room) for room in ROOMS}}
    there = [place for place, module in places.items() if place != package and name in _public(module)]
    if there:
        return f" There is {' and '.join(f'{place}.{name}' for place in there)}."
    own = did_you_mean(name, names)
    if own or package != "divulge":
        return own
    return did_you_mean(
        name, [f"{place.removeprefix('divulge.')}.{one}" for place, m in places.items() for one in _public(m)]
    )


def _public(module: Any) -> list[str]:
    return list(getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")])


def late(path: str) -> Callable[..., Any]:
    """Return the function at "module:name".

    >>> late("divulge.units:nats_per")("nats")
    1.0
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


class Kept(cached_property[T]):
    """A `cached_property` without the lock it takes before Python 3.12, which costs more than a small product."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        value = vars(instance)[self.attrname] = self.func(instance)
        return value
