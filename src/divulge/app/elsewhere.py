"""What goes out otherwise than as a perturbed column, before the click: places, reports, and whole tables."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import divulge as dv
from divulge.extras import require
from divulge.files.tables.source import Source
from divulge.files.tables.values import values_of
from divulge.model.shown import named
from divulge.releasing.beside import FEW, MOST_ALIKE, Counted, after, beside, largest
from divulge.releasing.column import Release
from divulge.releasing.records.ledger import Expected
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.reporting.statements.placed import PlaceFacts

RARE = 0.01
"""The chance before, for which it is said what reports of a column come to: nothing was chosen of one of its values."""


def outlook_of_groups(made: Expected) -> dict[str, Any]:
    """Return what a coarser table tells whoever knows the known columns of a person, and how many releases there are.

    No number holds for groups beside other releases: two tables that share a person can leave one value.
    """
    found, drawn = made.receipt.assessment, made.receipt.perturbed
    more: dict[str, Any] = {"both": None}
    if drawn is not None:
        loss = drawn.guarantees["ldp"]
        total = loss if made.total is None else max(loss, made.total["guarantees"]["ldp"])
        more = {"both": float(made.receipt.both), "reported": after(RARE, loss), "all": after(RARE, total),
                "before": RARE, "beside": None, "alone": 0}  # fmt: skip
    return {
        "own": 0.0, "notes": list(made.private), "groups": found.k, "known": list(found.known),
        "certainty": float(found.certainty), "value": named(found.worst.value),
        "risen": (float(found.worst.before), float(found.worst.after)),
        "releases": 1 if made.total is None else made.total["releases"], **more,
    }  # fmt: skip


def outlook_of_reports(source: Any, asked: Release, made: Expected) -> dict[str, Any]:
    """Return what reports of a column come to: alone, with all on record, and beside the columns that go out.

    Reports are about any answer, of which nobody said one: chances begin at 1 in 100. Of columns beside them it is that
    answer whose share they raise most.
    """
    loss = made.receipt.guarantees["ldp"]
    total = loss if made.total is None else max(loss, made.total["guarantees"]["ldp"])
    keep = list(asked.keep or ())
    found: dict[str, Any] = {
        "own": 0.0, "reported": after(RARE, loss), "all": after(RARE, total), "before": RARE, "few": FEW,
        "releases": 1 if made.total is None else made.total["releases"], "keep": keep, "alone": 0, "beside": None,
        "notes": list(made.private),
    }  # fmt: skip
    if len(keep) > MOST_ALIKE:
        found["alone"] = made.receipt.rows or source.rows
    elif keep:
        shares, found["alone"] = largest(source, asked.columns, keep, asked.null_as, Counted.of(asked))
        found["surest"] = max(shares.values(), default=0.0)
        if told := beside(source, asked.columns, keep, total, asked.null_as, Counted.of(asked)):
            found |= {"beside": (told.before, told.after), "raised": named(told.value), "raising": told.raising}
    return found


def outlook_of_places(source: Any, asked: Release, made: Expected, far: Fraction) -> dict[str, Any]:
    """Return by how much odds between two places so many km apart change, alone and with all on record.

    Beside them stands how many people alike in the columns that go out live in one cell, at most.
    """
    noise = made.receipt.mechanisms[0]
    keep = list(asked.keep or ())
    found: dict[str, Any] = {
        "own": 0.0, "far": float(far), "odds": PlaceFacts(noise, made.receipt.rows).odds(far),
        "all": max([_odds(drawn, noise, far) for drawn in made.drawn], default=0.0), "few": FEW, "keep": keep,
        "releases": 1 if made.total is None else made.total["releases"], "alone": 0, "share": None,
        "notes": list(made.private),
    }  # fmt: skip
    if len(keep) > MOST_ALIKE:
        found["alone"] = made.receipt.rows or source.rows
    elif keep:
        shares, found["alone"] = largest(_celled(source, noise, asked, keep), [CELL], keep, None, Counted.of(asked))
        found["share"] = max(shares.values(), default=None)
    return found


CELL = "cell of the place"
"""A column of the table that is counted, which has no other name like it."""


def _odds(drawn: Sequence[tuple[Any, float]], noise: MetricNoise, far: Fraction) -> float:
    """Return by how much all draws about a person change odds between two places: by distance, or else at any."""
    logs = list[float]()
    for one, draws in drawn:
        if draws == math.inf:
            return math.inf
        if isinstance(one, MetricNoise) and one.columns == noise.columns and one.unit == noise.unit:
            logs.append(math.log(PlaceFacts(one, 0).odds(far, Fraction(int(draws), one.times))))
        else:
            logs.append(one.guarantees["ldp"] * draws)
    total = math.fsum(logs)
    return math.exp(total) if total < 700 else math.inf


def _celled(source: Any, noise: MetricNoise, asked: Release, keep: Sequence[str]) -> Source:
    """Return the columns that go out, and who has the row, with the cell of each place in place of the place."""
    pa = require("pyarrow", "tables")
    others = [*keep, *([asked.person] if asked.person and asked.person not in keep else [])]
    found: dict[str, list[Any]] = {name: [] for name in (CELL, *others)}
    box, (across, _) = noise.box, noise.size
    assert box is not None
    for batch in source.stream([*noise.columns, *others], ()):
        lat, lon = (np.array(values_of(batch.column(name)), dtype=float) for name in noise.columns)
        cells = box.cells(lat, lon, noise.step)
        found[CELL] += (cells[:, 1] * across + cells[:, 0]).tolist()
        for name in others:
            found[name] += values_of(batch.column(name))
    return dv.open_table(pa.table(found))
