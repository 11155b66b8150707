"""Bayesian networks in the Bayesian Interchange Format: variables with their states, and tables of probabilities."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, InputFileError, number_of
from divulge.files.opening import name_of, opened
from divulge.model.channel import Channel
from divulge.model.entries import parse, scalar
from divulge.model.prior import Prior

_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|[{}()\[\];,|]|[^\s{}()\[\];,|\"]+", re.DOTALL)

_LARGEST = 1 << 20
"""Entries of one table: twenty parents of two states."""

_LARGEST_TOLERANCE = 0.1
"""Rows of ten numbers that were rounded to two digits miss 1 by at most half of it; beyond, rows are wrong."""


@dataclass
class _Reader:
    """The tokens of a file, with the line that each stands in."""

    name: str
    tokens: list[tuple[str, int]]
    at: int = 0
    states: dict[str, list[str]] = field(default_factory=dict)

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        if self.at >= len(self.tokens):
            raise self.wrong(f"ends where {wanted!r} should stand" if wanted else "ends too soon")
        token = self.tokens[self.at][0]
        if wanted and token != wanted:
            raise self.wrong(f"should have {wanted!r} here")
        self.at += 1
        return token.strip('"')

    def until(self, end: str) -> Iterator[str]:
        while self.peek() != end:
            token = self.take()
            if token not in (",", "|"):
                yield token
        self.take(end)

    def wrong(self, what: str) -> InputFileError:
        line = self.tokens[min(self.at, len(self.tokens) - 1)][1] if self.tokens else 1
        return InputFileError(f"{self.name}: line {line}: {what}. Hint: it must be a network in BIF.")

    def skip_block(self) -> None:
        self.take("{")
        depth = 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")


def read_bif(path: Any, tolerance: float) -> dict[str, Any]:
    """Return name -> (parents, Channel), or a Prior, from a BIF file; decimals become fractions."""
    if str(path) != "-" and not isinstance(path, Path) and not isinstance(path, str):
        raise InputFileError("`path` must be the path of a file. Hint: a BIF file.")
    if not 0 <= (missing := scalar(tolerance, "tolerance")) <= _LARGEST_TOLERANCE:
        raise DivulgeError.of("tolerance", f"be from 0 to {_LARGEST_TOLERANCE}", "it", f"{missing:g}")
    with opened(path) as stream:
        text = stream.read().decode("utf-8")
        reader = _Reader(name_of(path), list(_tokens(text)))
        return _network(reader, Fraction(missing))


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, last = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        if not match.group().startswith(("//", "/*")):
            yield match.group(), line


def _network(reader: _Reader, tolerance: Fraction) -> dict[str, Any]:
    out: dict[str, Any] = {}
    while reader.peek():
        word = reader.take()
        if word == "network":
            reader.take()
            reader.skip_block()
        elif word == "variable":
            _variable(reader)
        elif word == "probability":
            name, given = _probability(reader, tolerance)
            out[name] = given
        else:
            reader.at -= 1
            raise reader.wrong("should have network, variable or probability here")
    missing = [name for name in reader.states if name not in out]
    if not out or missing:
        raise reader.wrong(f"has no table for {missing[0]!r}" if missing else "has no table")
    return out


def _variable(reader: _Reader) -> None:
    name = reader.take()
    reader.take("{")
    while reader.peek() != "}":
        word = reader.take()
        if word == "type":
            if reader.take() != "discrete":
                raise reader.wrong("has a variable that is not discrete")
            reader.take("[")
            count = reader.take()
            reader.take("]")
            reader.take("{")
            states = list(reader.until("}"))
            if str(len(states)) != count or len(set(states)) != len(states):
                raise reader.wrong(f"names {len(states)} states of {name!r} where it says {count}, or one twice")
            reader.states[name] = states
        if word != ";":
            while reader.take() != ";":
                pass
    reader.take("}")
    if name not in reader.states:
        raise reader.wrong(f"does not list the states of {name!r}")


def _probability(reader: _Reader, tolerance: Fraction) -> tuple[str, Any]:
    reader.take("(")
    name, *parents = reader.until(")")
    for one in (name, *parents):
        if one not in reader.states:
            raise reader.wrong(f"has a table about {one!r}, which is no variable before it")
    states, above = reader.states[name], [reader.states[parent] for parent in parents]
    size = prod(map(len, above)) * len(states)
    if size > _LARGEST:
        raise reader.wrong(f"has a table of {size:,} entries; at most {_LARGEST:,} are read")
    rows: dict[tuple[str, ...], list[Fraction]] = {}
    reader.take("{")
    while reader.peek() != "}":
        word = reader.take()
        if word == "(":
            key = tuple(reader.until(")"))
            rows[key] = _numbers(reader, len(states), tolerance)
        elif word == "default":
            rows.update(dict.fromkeys(set(product(*above)) - rows.keys(), _numbers(reader, len(states), tolerance)))
        elif word == "table":
            values = _values(reader)
            if len(values) != size:
                raise reader.wrong(f"lists {len(values)} numbers for {name!r}, {size} are needed")
            # the own state is first and changes slowest
            for i, key in enumerate(product(*above)):
                rows[key] = _row(reader, values[i :: size // len(states)], tolerance)
        elif word == "property":
            while reader.take() != ";":
                pass
        else:
            reader.at -= 1
            raise reader.wrong("should have a row, table or default here")
    reader.take("}")
    keys = list(product(*above))
    if set(rows) != set(keys):
        raise reader.wrong(
            f"has {number_of(len(rows), 'row')} for {name!r}, and {len(keys)} combinations of states of its parents"
        )
    matrix = np.array([rows[key] for key in keys], dtype=object)
    if not parents:
        return name, Prior(matrix[0], states)
    return name, (tuple(parents), Channel(matrix, outcomes=states))


def _values(reader: _Reader) -> list[Fraction]:
    return [parse(word, lambda: f"line {reader.tokens[reader.at - 1][1]} has") for word in reader.until(";")]


def _numbers(reader: _Reader, count: int, tolerance: Fraction) -> list[Fraction]:
    values = _values(reader)
    if len(values) != count:
        raise reader.wrong(f"lists {len(values)} numbers where {count} are needed")
    return _row(reader, values, tolerance)


def _row(reader: _Reader, values: list[Fraction], tolerance: Fraction) -> list[Fraction]:
    total = sum(values)
    if min(values) < 0 or not abs(total - 1) <= tolerance:
        raise reader.wrong(
            f"has a row that sums to {float(total):.9g}, or a negative number; `tolerance` renormalizes rows that were "
            "rounded"
        )
    return [value / total for value in values]
