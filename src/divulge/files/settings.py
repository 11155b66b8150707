"""How files are read and written: what the text of a table looks like, how much is read at all, and who is told."""

import math
import os
import re
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any

from divulge.errors import DivulgeError

_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[0-9]{1,2})?)\s*([kmgt]i?)?b?", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """The most that is read of one file. What is larger is refused before it is read.

    rows : of a table
    columns : of a table in a file
    cells : of what is held in memory as a whole: a channel as text, a sheet, a file of Stata, SPSS or SAS
    bytes : of a file that is read as a whole, after it is unpacked; and of one batch of rows
    """

    rows: int = 10**9
    columns: int = 10**5
    cells: int = 2 * 10**7
    bytes: int = 2**30

    @classmethod
    def of(cls, text: str) -> "Limits":
        """Return the limits that a text such as "cells=5e7,bytes=4GiB" sets; the others stay as they are.

        >>> Limits.of("cells=5e7,bytes=4GiB")
        Limits(rows=1000000000, columns=100000, cells=50000000, bytes=4294967296)
        """
        found: dict[str, int] = {}
        for part in filter(None, map(str.strip, text.split(","))):
            name, _, size = map(str.strip, part.partition("="))
            number = _SIZE.fullmatch(size)
            most = float(number[1]) * _SIZES[(number[2] or "").lower()] if number else math.inf
            if name not in [f.name for f in fields(cls)] or not most < 2**63:
                raise DivulgeError.of("limit", "be such as rows=1e9,cells=2e7,bytes=4GiB", "a part", repr(part))
            found[name] = int(most)
        return replace(cls(), **found)

    def allow(self, name: str, what: str, found: float) -> None:
        """Refuse more rows, cells or bytes than allowed, with how to allow more."""
        most = getattr(self, what)
        if found > most:
            raise DivulgeError(
                f"{name} must have at most {most:,} {what}; it has {_shown(found)}. Hint: --limit {what}=N, "
                f"DIVULGE_LIMIT={what}=N or open_table(limit='{what}=N') allows more."
            )


def _shown(count: float) -> str:
    return f"{count:,.0f}" if count < 1e18 else f"{count:.3g}"


@dataclass(frozen=True)
class Settings:
    """What a caller says about files; what is None is guessed, and told."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header: str | None = None
    footer: int | None = None
    number_names: bool = False
    one_spelling: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    line_breaks: bool = False
    escape_formulas: bool = False
    limits: Limits = field(default_factory=lambda: Limits.of(os.environ.get("DIVULGE_LIMIT", "")))
    tell: Callable[[str], None] = warnings.warn


_CURRENT: ContextVar[Settings | None] = ContextVar("settings", default=None)


def current() -> Settings:
    """Return the settings of this call."""
    return _CURRENT.get() or Settings()


@contextmanager
def for_another_table(*columns: str) -> Generator[Settings]:
    """Let another table be read than the one that settings are about: its rows lie elsewhere, and only these columns
    are spelled and grouped as there."""
    now = current()
    changed = replace(
        now, header=None, footer=None, sheet=None,
        one_spelling=tuple(name for name in now.one_spelling if name in columns),
        group=tuple(one for one in now.group if one.rpartition("=")[0] in columns),
    )  # fmt: skip
    token = _CURRENT.set(changed)
    try:
        yield changed
    finally:
        _CURRENT.reset(token)


@contextmanager
def using(**changes: Any) -> Generator[Settings]:
    """Let files be read and written with these settings; those that are None stay as they are."""
    given = {name: value for name, value in changes.items() if value is not None}
    if isinstance(given.get("limits"), str):
        given["limits"] = Limits.of(given["limits"])
    changed = replace(current(), **given)
    token = _CURRENT.set(changed)
    try:
        yield changed
    finally:
        _CURRENT.reset(token)
