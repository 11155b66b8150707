"""Frequencies behind a column that went out as reports: the released table, in a stream, by its receipt."""

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.tables.table import open_table
from divulge.model.labels import label_of
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.engine import Progress
from divulge.releasing.estimating.counting import by_spark
from divulge.releasing.estimating.estimate import doubts
from divulge.releasing.planning.collecting import combinations
from divulge.releasing.planning.listed import read_values
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.decoding import Decoder
from divulge.releasing.reports.extension import PrefixDecoder, decoder_of
from divulge.releasing.reports.hashing import combined
from divulge.releasing.reports.part import read_reports, report_columns

MOST_GROUPS = 1 << 27
"""So many counts are kept for all groups together: a gigabyte."""


def collected_frequencies(
    released: Any,
    receipt: Receipt,
    oracle: FrequencyOracle,
    *,
    by: str | None,
    values: Any,
    top: Any,
    confidence: float,
    simultaneous: bool,
    engine: Any,
    progress: Progress | None,
) -> Any:
    """Return the Frequencies of a released table, or {value of `by`: Frequencies}."""
    if isinstance(values, (str, os.PathLike, Mapping)):
        values = _listed(values, oracle.columns)
    elif values is not None and len(oracle.columns) > 1:
        values = [combined(_whole(one, len(oracle.columns))) for one in values]
    protocol, (name,) = oracle.protocol, receipt.names_of(oracle)
    columns = report_columns(protocol, name)
    groups: dict[Hashable, Decoder | PrefixDecoder] = counted(
        opened_by(released, engine, progress), columns, by,
        lambda: decoder_of(protocol, values, oracle.key),
        lambda batch: read_reports(protocol, [batch.column(one) for one in columns]),
    )  # fmt: skip
    said = doubts(receipt, released, sum(one.reports for one in groups.values()), engine)
    squares = receipt.protects.get("squares")
    found = {
        label: one.frequencies(top, confidence, simultaneous, len(groups), squares, group=label, doubts=said)
        for label, one in groups.items()
    }
    if len(oracle.columns) > 1:
        found = {label: replace(one, values=tuple(map(_parts, one.values))) for label, one in found.items()}
    return found if by else found[None]


def counted(
    source: Any, columns: Sequence[str], by: str | None, counter: Callable[[], Any], parts: Callable[[Any], Any]
) -> dict[Hashable, Any]:
    """Return a counter for each value of `by`, to which the parts of its rows were added, batch by batch."""
    reading = list(dict.fromkeys([*columns, *([by] if by else [])]))
    source.require_values(reading)
    found: dict[Hashable, Any] = {}
    for batch in source.batches(reading):
        arrays = parts(batch)
        for label, rows in _groups_of(batch, by):
            if label not in found:
                found[label] = counter()
                _require_room_for(found, by)
            found[label].add(*(one[rows] for one in arrays))
    if not found:
        raise DivulgeError.of("released", "have at least one row", "it", "empty")
    return found


def _listed(values: Any, columns: Sequence[str]) -> Any:
    """Return the candidates of a column, or all combinations of those of several."""
    found = read_values(values, columns[0] if len(columns) == 1 else None)
    for column in columns:
        if column not in found:
            raise DivulgeError.of("values", f"list the candidates of column {column!r}", "they", "not listed")
    return combinations([found[column] for column in columns])


def _whole(value: Any, columns: int) -> Sequence[Hashable]:
    """Return a combination that is asked for; refuse what is none."""
    if not (isinstance(value, (tuple, list)) and len(value) == columns):
        raise DivulgeError.of("values", f"be combinations of {columns} parts, one a column", "one", "something else",
                              "or give the answers of each: {column: [...]}.")  # fmt: skip
    return value


def _parts(text: Any) -> Hashable:
    """Return the texts of a combination."""
    return tuple(json.loads(text))


def opened_by(released: Any, engine: Any, progress: Progress | None = None) -> Any:
    """Return a released table, or Spark's frame of it, to be read in batches; every pass tells how far it is."""
    if by_spark(released, engine):
        from divulge.releasing.spark import frame_of, open_frame

        source = open_frame(frame_of(released))
    else:
        source = open_table(released)
    return source if progress is None else source.watched(progress)


def _groups_of(batch: Any, by: str | None) -> list[tuple[Hashable, Any]]:
    """Return the rows of each group of a batch."""
    if by is None:
        return [(None, slice(None))]
    values, where, _ = dictionary_of(batch.column(by))
    labels = [*map(label_of, values), None]
    return [(labels[i], np.flatnonzero(where == i)) for i in np.unique(where).tolist()]


def _require_room_for(groups: Mapping[Hashable, Any], by: str | None) -> None:
    """Refuse groups with more counts than are kept."""
    counts = sum(one.size for one in groups.values())
    if counts > MOST_GROUPS:
        raise DivulgeError.of(
            "by", f"have so few groups that at most {MOST_GROUPS:,} counts are kept", f"those of {by!r} so far",
            f"{len(groups):,}", "ask for candidates (values=, --values).",
        )  # fmt: skip
