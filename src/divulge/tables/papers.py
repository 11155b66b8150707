"""A coarsened table with its papers: codebook, statement and receipt for everybody, the certificate for the keeper."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from typing import Any

from divulge import __version__, stopping
from divulge.errors import DivulgeError, InputFileError
from divulge.files.forms import fits, whole
from divulge.files.tables.source import Source
from divulge.model.shown import printable_json
from divulge.releasing.output import sinks
from divulge.releasing.output.places import PAPERS, RECEIPT, Places, publish_together
from divulge.releasing.output.signature import PART
from divulge.tables.generalization import FORMAT, Generalization
from divulge.tables.levels.hierarchies import Hierarchy
from divulge.tables.request import Generalize

CODEBOOK = "divulge codebook of groups 1"

Papers = Callable[[Generalization], Mapping[str, bytes]]
"""What is written for reading beside a table: {end of the name: content}."""

_RECEIPT = {
    "format": FORMAT, "kind": "generalization", "known": [str], "secret": [str], "guarantees": [str],
    "levels": {"*": whole}, "heights": {"*": whole}, "loss": str, "suppressed": whole, "rows": whole, "groups": whole,
    "k": whole,
    "people": whole, "protects": {"person": (None, str), "rows_per_person": whole}, "notes": [str],
    "lift?": str, "least_lift?": str, "certainty?": str, "certainty_beside_one?": str,
}  # fmt: skip


def read_receipt(document: Any, place: str) -> dict[str, Any]:
    """Return the receipt of a coarsened table in a document; what is none is refused.

    Examples
    --------
    >>> read_receipt({}, "r.json")
    Traceback (most recent call last):
    divulge.errors.InputFileError: r.json: must be the receipt of a coarsened table; it is something else.
    """
    found = {name: value for name, value in document.items() if name != PART} if isinstance(document, dict) else {}
    if not fits(found, _RECEIPT):
        raise InputFileError(f"{place}: must be the receipt of a coarsened table; it is something else.")
    if found.pop("checksum", None) != _checksum(found):
        raise InputFileError(f"{place}: must be as it was written; its checksum does not fit: it has been edited.")
    for what, holds in _consequences(found):
        if not holds:
            raise InputFileError(f"{place}: must say what follows from the rest of it: {what}; it has been edited.")
    return found


def _consequences(found: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield what numbers of a receipt say of each other, in words, and whether they do."""
    rows, k, people = found["rows"], found["k"], found["people"]
    several = found["protects"]["rows_per_person"]
    yield f"{found['groups']} groups of at least {k} rows are no more than {rows} rows", found["groups"] * k <= rows
    yield f"{several} rows may be one person's", several >= 1
    yield f"{k} rows are {people} people of at most {several} rows", people == -(-k // max(several, 1))
    yield f"{found['suppressed']} suppressed rows are no more than {rows}", found["suppressed"] <= rows
    levels, heights = found["levels"], found["heights"]
    yield (
        "levels are no more than heights",
        levels.keys() == heights.keys() and all(levels[name] <= heights[name] for name in levels),
    )
    numbers = {name: _number(found[name]) for name in ("lift", "least_lift", "certainty", "certainty_beside_one")
               if name in found}  # fmt: skip
    for name, number in numbers.items():
        yield f"{name} is a number of its range", number is not None and number >= 0 and (name == "lift" or number <= 1)
    for text in found["guarantees"]:
        kind, _, level = text.partition("=")
        parameters = [_number(one) for one in level.split(":")]
        yield f"{text!r} is a guarantee", bool(parameters) and None not in parameters
        if kind == "k" and parameters[0] is not None:
            yield f"{text} holds for groups of {people} people", people >= parameters[0]


def _number(text: str) -> Fraction | None:
    """Return the number that a text writes, and None where it writes none."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def codebook(found: Generalization) -> dict[str, Any]:
    """Return for each column that goes out what its values are, and at which level they stand.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from divulge import generalize
    >>> found = generalize(pa.table({"age": [1, 2, 2]}), known="age", guarantees="k=2")
    >>> codebook(found)["columns"][0]["values"]
    ['*']
    """
    known = [
        {
            "name": name,
            "role": "known",
            "level": level,
            "height": found.hierarchies[name].height,
            "values": _values(found, name),
            "hierarchy": _rule(found.hierarchies[name]),
        }
        for name, level in found.levels.items()
    ]
    secret = [{"name": name, "role": "sensitive", "values": _values(found, name)} for name in found.assessment.secret]
    return {"format": CODEBOOK, "rows": found.assessment.rows, "columns": [*known, *secret]}


def _rule(hierarchy: Hierarchy) -> dict[str, Any] | None:
    """Return how values are coarsened where that is a rule; a table of them stands in its file."""
    return None if hierarchy.kind == "table" else hierarchy.to_dict()


def _values(found: Generalization, name: str) -> list[Any]:
    groups = found.assessment.by_group
    if name in groups.known:
        labels: Any = groups.labels[groups.known.index(name)]
    else:
        i = groups.secret.index(name)
        labels = dict.fromkeys(value[i] if len(groups.secret) > 1 else value for value in groups.values)  # pyright: ignore
    return [None if label is None else str(label) for label in labels]


def places_of(request: Generalize, table: Source) -> Places:
    """Return where the table and its papers go; refuse what is taken, and what is read."""
    files = {name: one for name, one in (request.hierarchies or {}).items() if isinstance(one, str)}
    read = {"source": table.path, **{f"the hierarchy of {name}": path for name, path in files.items()}}
    found = Places.of(request.sink, request.receipt, PAPERS, read=read, ledger=request.ledger, force=request.force,
                      sign=request.sign)  # fmt: skip
    if found.table is None and request.receipt is not None:
        raise DivulgeError.of("receipt", "go with an output", "sink", "absent")
    if found.table is not None and not found.table.suffix:
        raise DivulgeError.of("sink", "have a suffix that says its format, such as .csv", "it", "without one")
    return found


def published(
    found: Generalization, outputs: Places, request: Generalize, entry: Any, papers: Papers
) -> Generalization:
    """Write the table and its papers, all together or none, and mark the entry of the ledger."""
    if outputs.table is None:
        entry.publishing()
        entry.published(found.assessment)
        return found
    with ExitStack() as stack:
        temporary = stack.enter_context(sinks.staged(outputs.table))
        writer = sinks.writer_for(outputs.table)(temporary, found.rows.schema)
        try:
            for batch in found.rows.to_batches():
                writer.write(batch)
        finally:
            writer.close()
        made = {"version": __version__, "digest": sinks.digest(temporary)}
        told = found.receipt | made
        contents = {
            "codebook.json": _json(codebook(found)),
            RECEIPT: _json(told | {"checksum": _checksum(told)}),
            "keeper.json": _json(found.to_dict() | made | {"request": request.to_dict(strict=False)}),
            **papers(found),
        }
        staged = {
            outputs.paper(name): stack.enter_context(outputs.written(name, content))
            for name, content in contents.items()
        }
        with stopping.held():
            entry.publishing()
            publish_together({**staged, outputs.table: temporary}, request.force)
            entry.published(found.assessment)
    where = {name: outputs.paper(name) for name in PAPERS if outputs.paper(name) in staged}
    return replace(found, papers={"table": outputs.table, **where})


def _json(found: Any) -> bytes:
    return (printable_json(json.dumps(_plain(found), ensure_ascii=False, indent=1, allow_nan=False)) + "\n").encode()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(value) if hasattr(value, "__float__") else None
    if number is None:
        return str(value)
    return number if number - number == 0 else str(number)
