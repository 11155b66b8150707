"""A coarsened table with its papers: codebook, statement and receipt for everybody, the certificate for the keeper."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from divulge import __version__
from divulge.errors import DivulgeError, InputFileError
from divulge.files.forms import fits, whole
from divulge.files.hierarchies import Hierarchy
from divulge.model.shown import printable_json
from divulge.releasing.estimating.counting import read_by
from divulge.releasing.output.places import PAPERS, RECEIPT, Places
from divulge.releasing.output.signature import PART, checksum
from divulge.releasing.records.levels import contradiction, readable
from divulge.releasing.session import address_of
from divulge.tables.columns import FEW
from divulge.tables.generalization import FORMAT, Generalization
from divulge.tables.notes import always, before, chosen, few_rows, of_people
from divulge.tables.reduction import SIZES, SUBJECT, contradictions
from divulge.tables.request import Generalize

CODEBOOK = "divulge codebook of groups 1"

Papers = Callable[[Generalization], Mapping[str, bytes]]
"""What is written for reading beside a table: {end of the name: content}."""

_RECEIPT = {
    "format": FORMAT, "kind": "generalization", "known": [str], "secret": [str], "guarantees": [str],
    "levels": {"*": whole}, "finest?": {"*": whole}, "heights": {"*": whole}, "hierarchies": {"*": dict},
    "sizes": SIZES, "subjects": [SUBJECT], "loss": str, "suppressed": whole, "rows": whole, "groups": whole,
    "k": whole,
    "people": whole, "protects": {"person": (None, str), "rows_per_person": whole}, "notes": [str],
    "others?": whole, "version": str, "digest": (None, str), "table_format?": str,
    "lift?": str, "least_lift?": str, "certainty?": str, "certainty_beside_one?": str,
}  # fmt: skip


def read_receipt(document: Any, place: str) -> dict[str, Any]:
    """Return the receipt of a coarsened table in a document; what is none, or does not follow, is refused.

    >>> read_receipt({}, "r.json")
    Traceback (most recent call last):
    divulge.errors.InputFileError: r.json: must be the receipt of a coarsened table; it is something else.
    """
    found = {name: value for name, value in document.items() if name != PART} if isinstance(document, dict) else {}
    if not fits(found, _RECEIPT):
        raise InputFileError(f"{place}: must be the receipt of a coarsened table; it is something else.")
    if found.pop("checksum", None) != checksum(found):
        raise InputFileError(f"{place}: must be as it was written; its checksum does not fit: it has been edited.")
    try:
        _refuse_contradictions(found)
    except Exception as error:  # what numbers that do not fit together may raise is open-ended
        raise readable(place, error) from None
    return found


def _refuse_contradictions(found: Mapping[str, Any]) -> None:
    """Refuse a receipt in which something does not follow from the rest of it."""
    rows, several, levels, heights = (found[name] for name in ("rows", "protects", "levels", "heights"))
    each = several["rows_per_person"]
    people = -(-found["k"] // each) if each else 0
    if found["people"] != people:
        raise contradiction(f"the least number of people of a group, of {each} rows at most", found["people"], people)
    if levels.keys() != heights.keys() or set(levels) != set(found["known"]):
        raise contradiction("the columns that have levels", ", ".join(levels), ", ".join(found["known"]))
    for name, level in levels.items():
        if level > heights[name]:
            raise contradiction(f"the level of {name!r}", level, f"{heights[name]} at most")
    finest = found.get("finest", levels)
    if finest.keys() != levels.keys():
        raise contradiction("the columns that have finest levels", ", ".join(finest), ", ".join(levels))
    for name, level in finest.items():
        if level > levels[name]:
            raise contradiction(f"the finest level of {name!r}", level, f"{levels[name]} at most")
    for name, rule in found["hierarchies"].items():
        if name not in heights or Hierarchy.from_dict(rule).height != heights[name]:
            raise contradiction(f"the height of {name!r}", heights.get(name, "missing"), "another by its rule")
    if found["suppressed"] > rows:
        raise contradiction("the number of suppressed rows", found["suppressed"], f"{rows} at most")
    for contradictory in contradictions(found):
        raise contradiction(*contradictory)
    small = sum(many for size, many in found["sizes"].items() if int(size) < FEW)
    wanted = (*always(found["known"]), *few_rows(small, found["groups"]), chosen(found["suppressed"]),
              *of_people(each, people), *before(found.get("others", 0)))  # fmt: skip
    if not set(wanted) <= set(found["notes"]):
        raise DivulgeError("must say in its notes what its numbers say; one is missing, or says something else.")


def codebook(found: Generalization) -> dict[str, Any]:
    """Return for each column that goes out what its values are, and at which level they stand.

    >>> found = dv.generalize({"age": [1, 2, 2]}, known="age", guarantees="k=2")
    >>> codebook(found)["columns"][0]["values"]
    ['*']
    """
    known = [
        {
            "name": name,
            "role": "known",
            "level": level,
            **({"finest": found.local.finest[name]} if found.local else {}),
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


def places_of(request: Generalize, source: Any) -> Places:
    """Return where the table and its papers go; refuse what is taken, and what is read."""
    frame, read_from = read_by(source, request.engine, request.sink, request.force)
    files = {name: one for name, one in (request.hierarchies or {}).items() if isinstance(one, str)}
    read = {"source": read_from, **{f"the hierarchy of {name}": path for name, path in files.items()}}
    found = Places.of(request.sink, request.receipt, PAPERS, read=read, ledger=request.ledger, force=request.force,
                      sign=request.sign, address=address_of(request.source), form=request.table_format,
                      frame=frame)  # fmt: skip
    if found.table is None and request.receipt is not None:
        raise DivulgeError.of("receipt", "go with an output", "sink", "absent")
    if found.table is not None and not (found.table_format or request.perturb or found.table.suffix):
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

    def recorded(digest: str) -> tuple[Any, Mapping[str, bytes]]:
        form = {} if outputs.table_format is None else {"table_format": outputs.table_format}
        made = {"version": __version__, "digest": digest, **form}
        receipt = found.receipt | made
        contents = {
            "codebook.json": _json(codebook(found)),
            RECEIPT: _json(receipt | {"checksum": checksum(receipt)}),
            "keeper.json": _json(found.to_dict() | made | {"request": request.to_dict(strict=False)}),
            **papers(found),
        }
        where.update({name: outputs.paper(name) for name in PAPERS if name in contents})
        return found.assessment, contents

    where = {"table": outputs.table}
    outputs.publish(found.rows, recorded, entry, force=request.force)
    return replace(found, papers={name: one for name, one in where.items() if name not in outputs.left_out})


def _json(found: Any) -> bytes:
    return (printable_json(json.dumps(as_json(found), ensure_ascii=False, indent=1, allow_nan=False)) + "\n").encode()


def as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(value) if hasattr(value, "__float__") else None
    if number is None:
        return str(value)
    return number if number - number == 0 else str(number)
