"""A coarsened table with its papers: codebook, statement and receipt for everybody, the certificate for the keeper."""

import json
import os
from contextlib import ExitStack
from typing import Any

from divulge import __version__, exact
from divulge.errors import number_of
from divulge.model.shown import at_most, printable_json, printable_lines
from divulge.releasing.output import sinks
from divulge.releasing.output.places import Places, publish_together, written
from divulge.tables.generalize import Generalization
from divulge.tables.levels.hierarchies import TOP
from divulge.tables.notes import listed

PAPERS = ("codebook.json", "statement.txt", "receipt.json", "keeper.json")
"""What is written beside a coarsened table, after its name."""


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
            "levels": found.hierarchies[name].height + 1,
            "values": _values(found, name),
        }
        for name, level in found.levels.items()
    ]
    secret = [{"name": name, "role": "sensitive", "values": _values(found, name)} for name in found.assessment.secret]
    return {"rows": found.assessment.rows, "columns": [*known, *secret]}


def _values(found: Generalization, name: str) -> list[Any]:
    groups = found.assessment.by_group
    if name in groups.known:
        labels: Any = groups.labels[groups.known.index(name)]
    else:
        i = groups.secret.index(name)
        labels = dict.fromkeys(value[i] if len(groups.secret) > 1 else value for value in groups.values)  # pyright: ignore
    return [None if label is None else str(label) for label in labels]


def statement(found: Generalization) -> str:
    """Return in plain words what went out, what holds of it, and against whom it does not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from divulge import generalize
    >>> found = generalize(pa.table({"age": [1, 2, 2]}), known="age", guarantees="k=2")
    >>> print(statement(found).splitlines()[2])
    3 rows go out. The columns that people may know are 'age'; they were coarsened together, each to one level:
    """
    told = found.assessment
    lines = ["WHAT THIS TABLE TELLS ABOUT PEOPLE IN IT", ""]
    lines.append(
        f"{number_of(told.rows, 'row')} go out. The columns that people may know are {listed(told.known)}; they were "
        "coarsened together, each to one level:"
    )
    for name, level in found.levels.items():
        height = found.hierarchies[name].height
        how = "as it was" if level == 0 else f"only {TOP}" if level == height else f"level {level} of {height}"
        lines.append(f"  - {name}: {how}")
    if found.suppressed:
        lines.append(f"  - {number_of(found.suppressed, 'row')} with {TOP} in all of them, a group like any other")
    lines += ["", "WHAT HOLDS", ""]
    lines += [f"  - {one}: {one.meaning}" for one in found.guarantees]
    lines.append(f"  - Whoever knows these columns of a person finds at least {number_of(told.k, 'row')} that fit.")
    if told.secret:
        surest = at_most(100 * exact.as_float(told.certainty))
        lines.append(f"  - In no group does more than {surest} in 100 have the same value of {listed(told.secret)}.")
        lines.append(f"  - No value is more than {at_most(told.lift)} times as frequent in a group as in the table.")
        beside = at_most(100 * exact.as_float(told.certainty_beside(1)))
        lines.append(f"  - Somebody who also knows one other person of the group: at most {beside} in 100.")
    lines += ["", "WHAT TO KEEP IN MIND", ""]
    lines += [f"  - {note}" for note in found.notes]
    return printable_lines("\n".join(lines)) + "\n"


def save(
    found: Generalization, sink: str | os.PathLike[str], *, source: Any = None, force: bool = False
) -> dict[str, str]:
    """Write the table and its papers, all together or none; return their places.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> from divulge import generalize
    >>> folder = tempfile.TemporaryDirectory()
    >>> found = generalize(pa.table({"age": [1, 2, 2]}), known="age", guarantees="k=2")
    >>> sorted(save(found, f"{folder.name}/out.csv"))
    ['codebook.json', 'keeper.json', 'output', 'receipt.json', 'statement.txt']
    >>> folder.cleanup()
    """
    places = Places.of(sink, None, PAPERS, read={"TABLE": source}, ledger=None, force=force)
    assert places.table is not None
    with ExitStack() as stack:
        temporary = stack.enter_context(sinks.staged(places.table))
        writer = sinks.writer_for(places.table)(temporary, found.rows.schema)
        try:
            for batch in found.rows.to_batches():
                writer.write(batch)
        finally:
            writer.close()
        made = {"version": __version__, "digest": sinks.digest(temporary)}
        contents = {
            "codebook.json": _json(codebook(found)),
            "statement.txt": statement(found).encode(),
            "receipt.json": _json(made | found.receipt),
            "keeper.json": _json(made | found.to_dict()),
        }
        staged = {
            places.paper(name): stack.enter_context(written(places.paper(name), name, content))
            for name, content in contents.items()
        }
        publish_together({**staged, places.table: temporary}, force)
    return {"output": str(places.table), **{name: str(places.paper(name)) for name in contents}}


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
