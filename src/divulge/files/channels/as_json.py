"""JSON: {"secrets": [...], "outcomes": [...], "matrix": [[...]]}. An entry in quotes makes all numbers exact."""

import json
import math
import re
from collections.abc import Hashable
from typing import Any, BinaryIO

from divulge.errors import DivulgeError
from divulge.files.channels.cells import cells
from divulge.files.opening import PathLike, kind, name_of, naming, opened
from divulge.files.settings import current
from divulge.late import late
from divulge.model.channel import Channel
from divulge.model.labels import text_of
from divulge.model.prior import Prior
from divulge.model.shown import printable_json

_LONGEST_NUMERAL = 400
"""Characters of a number: the largest double written out has 309; Python refuses whole numbers above 4,300 itself."""


class Numeral(str):
    """A number as it was written, apart from text in quotes."""

    __slots__ = ()


def channel(stream: BinaryIO) -> Channel:
    """Return the channel of an object with a matrix, and labels if it has them; other keys are of no account."""
    found = _loaded(stream)
    if not isinstance(found, dict):
        hint = 'write {"matrix": [[...]]}, and "secrets" and "outcomes" where rows and columns have names.'
        raise DivulgeError(f'must be an object with the key "matrix"; it is {kind(found)}. Hint: {hint}')
    if not isinstance(found.get("matrix"), list):
        if str(found.get("format")).startswith("divulge receipt"):
            hint = "`divulge report` tells what a receipt gives away, and `divulge statement` to everybody."
            raise DivulgeError(f"is a receipt of a release, and no mechanism alone. Hint: {hint}")
        keys = ", ".join(list(found)[:6]) or "none"
        raise DivulgeError(f'must have a list of rows under the key "matrix"; its keys are {keys[:200]}.')
    return Channel(_entries(found["matrix"]), *(_labels(found.get(axis), axis) for axis in ("secrets", "outcomes")))


def prior(stream: BinaryIO) -> Prior:
    """Return the prior of an object from secrets to probabilities."""
    found = _loaded(stream)
    if not isinstance(found, dict):
        hint = 'write {"ill": "1/10", "well": "9/10"}; secrets without names are 0, 1, ...'
        raise DivulgeError(f"must be an object from secrets to probabilities; it is {kind(found)}. Hint: {hint}")
    return Prior(_entries(list(found.values())), list(found))


def read(stream: BinaryIO) -> Any:
    """Return the value, with numbers as int or float."""
    return _number_of(_loaded(stream))


def document(stream: BinaryIO) -> Any:
    """Return the value of a document that a program wrote: finite numbers, and no key twice."""
    return _parsed(stream, parse_float=_finite)


def read_document(path: PathLike) -> Any:
    """Return the value of such a document in a file, at an address such as s3a://bucket/receipt.json, or on standard
    input.
    """
    if isinstance(path, str) and re.match(_ADDRESS, path):
        with naming(name_of(path)):
            return document(late("divulge.releasing.output.hadoop:content")(path))
    with opened(path) as stream:
        return document(stream)


_ADDRESS = r"[A-Za-z][A-Za-z0-9+.-]+:/"
"""What an address of a file system of Hadoop begins with; C:/ is one of a disk."""


def write(what: Channel, stream: BinaryIO) -> None:
    """Write the object; exact entries are text."""
    matrix = [[cell.removesuffix("/1") for cell in row] for row in cells(what)] if what.exact else cells(what)
    found = {axis: [_written(label) for label in getattr(what, axis)] for axis in ("secrets", "outcomes")}
    text = json.dumps({**found, "matrix": matrix}, ensure_ascii=False, allow_nan=False)
    stream.write(printable_json(text).encode() + b"\n")


def _written(label: Hashable) -> Any:
    """Return a label as JSON holds it: tuples as lists, what it has no word for as the text of values."""
    if isinstance(label, tuple):
        return [_written(part) for part in label]
    plain = isinstance(label, (str, int)) or (isinstance(label, float) and math.isfinite(label))
    return label if plain else text_of(label)


def _loaded(stream: BinaryIO) -> Any:
    return _parsed(stream, parse_float=_numeral, parse_int=_numeral)


def _parsed(stream: BinaryIO, **numbers: Any) -> Any:
    content = stream.read()
    current().limits.allow("it", "cells", content.count(b",") + content.count(b"["))
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_no_number, object_pairs_hook=_once, **numbers)
    except json.JSONDecodeError as error:
        raise DivulgeError(f"must be JSON; line {error.lineno}, column {error.colno}: {error.msg}.") from None


def _numeral(text: str) -> Numeral:
    if len(text) > _LONGEST_NUMERAL:
        raise DivulgeError(f"must have numbers of at most {_LONGEST_NUMERAL} characters; one has {len(text)}.")
    return Numeral(text)


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise DivulgeError("must hold finite numbers only; one is beyond 1.8e308.")
    return found


def _no_number(word: str) -> Any:
    raise DivulgeError(f"must hold finite numbers only; it has {word}.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DivulgeError(f"must have no key twice in one object; {key[:60]!r} comes twice.")
        found[key] = value
    return found


def _number_of(value: Any) -> Any:
    if isinstance(value, Numeral):
        return float(value) if any(c in value for c in ".eE") else int(value)
    if isinstance(value, list):
        return [_number_of(item) for item in value]
    if isinstance(value, dict):
        return {key: _number_of(item) for key, item in value.items()}
    return value


def _labels(labels: Any, axis: str) -> list[Hashable] | None:
    if labels is not None and not isinstance(labels, list):
        raise DivulgeError.of(axis, "be a list of labels", "it", kind(labels))
    return None if labels is None else [_hashable(_number_of(label)) for label in labels]


def _hashable(label: Any) -> Hashable:
    """Return a label; a list (the pair of two releases) is a tuple in Python."""
    return tuple(_hashable(item) for item in label) if isinstance(label, list) else label


def _entries(values: list[Any]) -> list[Any]:
    """Return entries as floats, or all of them as text (to be read exactly) when one of them is text."""
    flat = [cell for row in values for cell in (row if isinstance(row, list) else [row])]
    convert = str if any(type(cell) is str for cell in flat) else float

    def entry(cell: Any) -> Any:
        return convert(cell) if isinstance(cell, Numeral) else cell

    return [[entry(cell) for cell in row] if isinstance(row, list) else entry(row) for row in values]
