"""Statistics carried out: count, draw, tell, and put everything in its place."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.buffers import of_numbers, of_texts
from divulge.model.shown import printable_json
from divulge.publishing.accounts import of_those_with_room
from divulge.publishing.counting.categories import require_listed
from divulge.publishing.counting.engines import counted
from divulge.publishing.counting.groups import Categories
from divulge.publishing.counting.unknown import occurring, published
from divulge.publishing.describing import described
from divulge.publishing.noising.estimates import Drawn, Estimates, drawn, estimates
from divulge.publishing.preparing import Ready, resolved
from divulge.publishing.published import LEADING, NO_INFORMATION, NUMBERS, TRAILING, Published
from divulge.publishing.queries import Plan
from divulge.publishing.remarks import surprises
from divulge.publishing.request import Publish
from divulge.publishing.statistics import Count, People, Proportion, Quantiles
from divulge.releasing.output.places import PAPERS, Places

Warn = Callable[[str], object]
"""What tells the keeper something."""

Papers = Callable[[Published], Mapping[str, bytes]]
"""What turns a result into files beside the output: {end of the name: content}."""


def without_noise(made: Ready) -> Published:
    """Return the statistics as they are, for eyes that may see the table; nothing is recorded.

    What is chosen by rank is chosen by the noise of the request.
    """
    if made.unnamed:
        require_listed([name for name, _ in made.names], {})
    made = resolved(made) if made.pending else made
    noises = tuple(
        one if query.kind == "ranks" else replace(one, scale=0.0)
        for query, one in zip(made.plan.queries, made.noise.noises, strict=True)
    )
    table, rows, keeper = _numbers(replace(made, noise=replace(made.noise, noises=noises)))
    return replace(described(made), table=table, rows=rows, keeper=keeper)


def carried_out(
    made: Ready, described_: Published, outputs: Places, request: Publish, entry: Any, papers: Papers, warn: Warn
) -> Published:
    """Count, draw, and publish: the papers first and the table last, so that no table is ever without them."""
    if (account := made.task.account) is not None:
        unit, noises = made.task.unit, made.noise.noises
        table, there, people = of_those_with_room(account, made.table, entry.charge, made.plan.queries, noises, unit)
        made = replace(made, table=table)
        warn(f"{people - there:,} of {people:,} people have spent what their accounts hold, or are written in two "
             "ways, and are left out: that is for you alone.")  # fmt: skip
    if made.pending:
        more, made = described_.notes[len(made.notes) :], resolved(made)
        described_ = replace(described(made, outputs.output, outputs.table_format), notes=(*made.notes, *more))
    table, rows, keeper = _shown(made) if made.threshold is not None else _numbers(made, warn)
    done = replace(described_, table=table, rows=rows, keeper=keeper)
    if outputs.table is None:
        entry.publishing()
        entry.published(done)
        return done

    def recorded(digest: str) -> tuple[Published, Mapping[str, bytes]]:
        known = replace(done, digest=digest)
        return known, {"receipt.json": known.to_json(), "keeper.json": _kept(known, request), **papers(known)}

    done = outputs.publish(done.table, recorded, entry, force=request.force)
    written = {name: outputs.paper(name) for name in PAPERS if name not in outputs.left_out}
    return replace(done, papers={"table": outputs.table, **written})


def _numbers(made: Ready, warn: Warn = lambda sentence: None) -> tuple[Any, int | None, dict[str, Any]]:
    """Return the noisy table, the number of rows where it is public, and what the keeper alone may know."""
    asked, plan = made.task, made.plan
    exact = counted(made.table, plan.queries, made.values, asked.unit, asked.null_as)
    for sentence in surprises(made.task, plan, made.noise, exact):
        warn(sentence)
    rows = exact.rows if asked.unit.rows_known else None
    if rows is not None and not rows:
        raise DivulgeError.of("table", "have at least one row", "it", "empty")
    values = {name: list(values) for name, values in made.values.items() if name in asked.by}
    keeper = {**_keeper(made, exact.rows), "values": values, "treated": exact.treated, "exact": _exact(plan, exact)}
    return blurred(made, exact.totals, rows), rows, keeper


def blurred(made: Ready, totals: Sequence[np.ndarray], rows: int | None) -> Any:
    """Return the table that is published of exact numbers. `rows` is the number of rows where it is public, else None.

    All that a reader sees of the source comes from here: fresh noise, and what `finished` makes of noisy numbers alone.
    """
    numbers = drawn(made.plan.queries, made.noise.noises, totals, made.task.level)
    whole = made.task.whole or not made.task.consistent
    return tidy(finished(made, numbers, rows), made.values, made.task.by, whole)


def finished(made: Ready, numbers: Sequence[Drawn], rows: int | None) -> list[Estimates]:
    """Return the statistics of noisy numbers, treated as asked."""
    asked, sizes = made.task, {name: len(made.values[name]) for name in made.task.by}
    found = estimates(made.plan, numbers, rows, sizes)
    if asked.non_negative or asked.consistent or asked.whole:
        from divulge.publishing.noising.margins import adjusted

        treated = {"non_negative": asked.non_negative, "whole": asked.whole, "consistent": asked.consistent}
        return adjusted(found, sizes, rows, **treated)
    return found


def _shown(made: Ready) -> tuple[Any, int | None, dict[str, Any]]:
    """Return the same of counts whose values show themselves."""
    asked, threshold = made.task, made.threshold
    assert threshold is not None
    counts, total = occurring(made.table, asked.by, asked.unit, asked.null_as)
    rows = total if asked.unit.rows_known else None
    table = published(counts, asked.by, threshold, asked.level, rows)
    return table, rows, {**_keeper(made, total), "exact": [{"kind": "rows", "by": list(asked.by), "numbers": counts}]}


def _keeper(made: Ready, rows: int) -> dict[str, Any]:
    return {"source": str(made.table.source.path or made.table.source.name), "rows_counted": rows}


def _exact(plan: Plan, exact: Any) -> list[dict[str, Any]]:
    """Return the exact numbers, for the keeper; of quantiles only how many rows have each value is too much to keep."""
    return [
        {"kind": q.kind, "column": q.column, "by": list(q.by), "numbers": total.tolist()}
        for q, total in zip(plan.queries, exact.totals, strict=True)
        if q.kind != "ranks" and total.size <= 100_000
    ]


def _kept(done: Published, request: Publish) -> bytes:
    body = {"format": "divulge keeper record 1", "created": done.created, "output": done.output,
            "guarantees": dict(done.guarantees), "loss": done.loss if math.isfinite(done.loss) else "inf",
            "request": request.to_dict(strict=False), **done.keeper}  # fmt: skip
    return (printable_json(json.dumps(body, ensure_ascii=False)) + "\n").encode()


def tidy(found: Sequence[Estimates], values: Mapping[str, Categories], by: Sequence[str], whole: bool) -> Any:
    """Return one row a number: statistic, column, at, the columns that group, value, low, high, standard_error, note.

    Which columns and types there are follows from what was asked, and not from the numbers.
    """
    pa = require("pyarrow", "tables")
    columns = list(by)
    taken = [name for name in columns if name in (*LEADING, *TRAILING)]
    if taken:
        names = ", ".join(LEADING + TRAILING)
        raise DivulgeError.of("by", f"group by columns with other names than {names}", "one of them",
                              repr(taken[0]), "rename it in the table.")  # fmt: skip
    data: dict[str, list[Any]] = {name: [] for name in (*LEADING, *columns, *TRAILING)}
    for one in found:
        statistic, size = one.statistic, one.values.size

        def repeated(text: str | None, size: int = size) -> Any:
            return of_texts([text] * size, pa.string())

        data["statistic"].append(repeated(statistic.kind))
        data["column"].append(repeated(getattr(statistic, "column", None)))
        at = f"{float(one.at):g}" if one.at is not None else None
        data["at"].append(repeated(str(statistic.value) if isinstance(statistic, Proportion) else at))
        grid = np.indices([len(values[name]) for name in statistic.by]).reshape(len(statistic.by), size)
        for name in columns:
            labels = of_texts([str(v) for v in values[name]], pa.string())
            there = name in statistic.by
            data[name].append(labels.take(of_numbers(grid[statistic.by.index(name)])) if there else repeated(None))
        blank = np.asarray(one.blank).ravel()
        for name, part in zip(NUMBERS, (one.values, one.low, one.high, one.error), strict=True):
            flat = np.asarray(part, dtype=float).ravel()
            data[name].append(of_numbers(flat, blank | np.isnan(flat)))
        data["note"].append(of_texts([NO_INFORMATION if empty else None for empty in blank.tolist()], pa.string()))
    types = dict.fromkeys(data, pa.string()) | dict.fromkeys(NUMBERS, pa.float64())
    if all(isinstance(one.statistic, (Count, People)) for one in found) and whole:
        types |= dict.fromkeys(("value", "low", "high"), pa.int64())
    parts = [pa.chunked_array(part).combine_chunks().cast(types[name]) for name, part in data.items()]
    table = pa.Table.from_arrays(parts, list(data))
    asked = {"column": any(hasattr(one.statistic, "column") for one in found),
             "at": any(isinstance(one.statistic, (Quantiles, Proportion)) for one in found)}  # fmt: skip
    return table.drop_columns([name for name, there in asked.items() if not there])
