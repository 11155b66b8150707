"""Values of Arrow arrays as Python has them, each of which prints as a person would write it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from divulge.extras import require
from divulge.model.labels import duration_text


def values_of(array: Any) -> list[Any]:
    """Return the values of an Arrow array, None for missing ones.

    Numbers of 16 and 32 bits are the shortest decimals that name them. Nanoseconds, for which Python has no time, and
    durations below zero, which it prints as days that end, are texts.

    >>> import pyarrow as pa
    >>> values_of(pa.array([0.1, None], pa.float32())), values_of(pa.array([-5], pa.duration("s")))
    ([0.1, None], ['-0:00:05'])
    >>> values_of(pa.array([1, 1000], pa.timestamp("ns")))[0]
    '1970-01-01 00:00:00.000000001'
    """
    pa = require("pyarrow", "tables")
    kind, types = array.type, pa.types
    if types.is_dictionary(kind):
        known = values_of(array.dictionary)
        return [None if place is None else known[place] for place in array.indices.to_pylist()]
    if types.is_float16(kind) or types.is_float32(kind):
        short = np.float16 if types.is_float16(kind) else np.float32
        return [None if value is None else float(str(short(value))) for value in array.to_pylist()]
    if types.is_duration(kind):
        seconds = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        return [None if n is None else _duration(n * seconds) for n in array.cast(pa.int64()).to_pylist()]
    if getattr(kind, "unit", None) != "ns":
        return array.to_pylist()
    counts = [(None, 0) if n is None else divmod(n, 1000) for n in array.cast(pa.int64()).to_pylist()]
    coarse = pa.time64("us") if types.is_time(kind) else pa.timestamp("us", kind.tz)
    moments = pa.array([whole for whole, _ in counts], pa.int64()).cast(coarse).to_pylist()
    return [_finer(moment, rest) if rest else moment for moment, (_, rest) in zip(moments, counts, strict=True)]


def type_of_values(kind: Any) -> Any:
    """Return an Arrow type, of a dictionary that of its values.

    >>> import pyarrow as pa
    >>> type_of_values(pa.dictionary(pa.int32(), pa.string())), type_of_values(pa.int8())
    (DataType(string), DataType(int8))
    """
    return kind.value_type if require("pyarrow.types", "tables").is_dictionary(kind) else kind


def is_text(kind: Any) -> bool:
    """Say whether values of an Arrow type are text, coded or not."""
    types, kind = require("pyarrow.types", "tables"), type_of_values(kind)
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _finer(moment: Any, nanoseconds: int) -> str:
    """Return a moment with nanoseconds as text, in UTC where it has a zone."""
    zone = "" if moment.tzinfo is None else "+00:00"
    if isinstance(moment, datetime):
        moment = moment.astimezone(UTC).replace(tzinfo=None) if zone else moment
        return f"{moment.isoformat(' ', 'microseconds')}{nanoseconds:03d}{zone}"
    return f"{moment.isoformat('microseconds')}{nanoseconds:03d}"


def _duration(nanoseconds: int) -> timedelta | str:
    whole, rest = divmod(nanoseconds, 1000)
    return timedelta(microseconds=whole) if not rest and whole >= 0 else duration_text(nanoseconds)
