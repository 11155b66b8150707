"""Frequencies behind a column that went out as reports: the released table, in a stream, by its receipt."""

import os
from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.tables.table import open_table
from divulge.model.labels import label_of
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.estimating.counting import by_spark
from divulge.releasing.estimating.estimate import doubts
from divulge.releasing.planning.listed import read_values
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.decoding import Decoder
from divulge.releasing.reports.extension import PrefixDecoder, decoder_of
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
) -> Any:
    """Return the Frequencies of a released table, or {value of `by`: Frequencies}."""
    if isinstance(values, (str, os.PathLike)):
        values = read_values(values, oracle.columns[0]).get(oracle.columns[0])
    source = _opened(released, engine)
    protocol, (name,) = oracle.protocol, receipt.names_of(oracle)
    columns = report_columns(protocol, name)
    reading = [*columns, *([by] if by else [])]
    source.require_values(reading)
    groups: dict[Hashable, Decoder | PrefixDecoder] = {}
    for batch in source.batches(reading):
        arrays = [batch.column(one) for one in columns]
        reports, seeds = read_reports(protocol, arrays)
        for label, rows in _groups(batch, by):
            if label not in groups:
                groups[label] = decoder_of(protocol, values, oracle.key)
                _require_room(groups, by)
            groups[label].add(reports[rows], seeds[rows])
    if not groups:
        raise DivulgeError.of("released", "have at least one row", "it", "empty")
    said = doubts(receipt, released, sum(one.reports for one in groups.values()))
    squares = receipt.protects.get("squares")
    found = {
        label: one.frequencies(top, confidence, simultaneous, len(groups), squares, group=label, doubts=said)
        for label, one in groups.items()
    }
    return found if by else found[None]


def _opened(released: Any, engine: Any) -> Any:
    if not by_spark(released, engine):
        return open_table(released)
    from divulge.releasing.spark import frame_of, open_frame

    return open_frame(frame_of(released))


def _groups(batch: Any, by: str | None) -> list[tuple[Hashable, Any]]:
    """Return the rows of each group of a batch."""
    if by is None:
        return [(None, slice(None))]
    values, where, _ = dictionary_of(batch.column(by))
    labels = [*map(label_of, values), None]
    return [(labels[i], np.flatnonzero(where == i)) for i in np.unique(where).tolist()]


def _require_room(groups: dict[Hashable, Decoder | PrefixDecoder], by: str | None) -> None:
    counts = sum(one.size for one in groups.values())
    if counts > MOST_GROUPS:
        raise DivulgeError.of(
            "by", f"have so few groups that at most {MOST_GROUPS:,} counts are kept", f"those of {by!r} so far",
            f"{len(groups):,}", "ask for candidates (values=, --values).",
        )  # fmt: skip
