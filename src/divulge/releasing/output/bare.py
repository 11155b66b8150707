"""What goes out of a batch: what its rows hold, and nothing that lies beside it in memory.

A filtered table keeps the values of the rows that were taken out: in the dictionary of a coded column, under the null
of a missing cell, in the bytes before and behind a slice, in metadata. Every format would carry some of them.
"""

from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.buffers import as_numbers, of_numbers


def plain_type(kind: Any) -> Any:
    """Return a type with plain values in place of dictionaries, at every depth, and without metadata of its fields."""
    pa = require("pyarrow", "tables")
    types = pa.types
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    for test, make in ((types.is_large_list, pa.large_list), (types.is_list, pa.list_)):
        if test(kind):
            return make(_plain_field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field), kind.list_size)
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _plain_field(field: Any) -> Any:
    return require("pyarrow", "tables").field(field.name, plain_type(field.type), field.nullable)


def plain_schema(schema: Any) -> Any:
    """Return the schema with plain types, and without metadata."""
    pa = require("pyarrow", "tables")
    return pa.schema([pa.field(f.name, plain_type(f.type)) for f in schema])


def plain_batch(batch: Any, schema: Any) -> Any:
    """Return the batch with the plain types of `schema`."""
    pa = require("pyarrow", "tables")
    columns = [of_type(a, f.type) for a, f in zip(batch.columns, schema, strict=True)]
    return pa.record_batch(columns, schema=schema)


def bare_batch(batch: Any) -> Any:
    """Return the batch with only what its rows hold, for a format that copies the memory of a column."""
    pa = require("pyarrow", "tables")
    return pa.record_batch([*map(bare, batch.columns)], schema=batch.schema)


def coded_schema(schema: Any) -> Any:
    """Return the schema with plain types but for columns of text that are coded, and without metadata."""
    pa = require("pyarrow", "tables")
    return pa.schema([pa.field(f.name, f.type if _is_coded(f.type) else plain_type(f.type)) for f in schema])


def coded_batch(batch: Any, schema: Any) -> Any:
    """Return the batch in a `coded_schema`, with only those values in a dictionary that a row has."""
    pa = require("pyarrow", "tables")
    pairs = zip(batch.columns, schema, strict=True)
    columns = [_with_used_values(a) if _is_coded(f.type) else of_type(a, f.type) for a, f in pairs]
    return pa.record_batch(columns, schema=schema)


def _is_coded(kind: Any) -> bool:
    types = require("pyarrow", "tables").types
    return types.is_dictionary(kind) and _is_text(kind.value_type)


def of_type(array: Any, kind: Any) -> Any:
    """Return the array as one of a plain type."""
    pa = require("pyarrow", "tables")
    if array.type.equals(kind):
        return array
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    try:
        return array.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _rebuilt(array, kind)


def _rebuilt(array: Any, kind: Any) -> Any:
    """Return a new array of the values of another."""
    try:
        return require("pyarrow", "tables").array(array.to_pylist(), kind)
    except (ValueError, OverflowError, NotImplementedError):  # a moment in the year 10000, say, in a list; a union
        raise DivulgeError("must have lists and records of values that can be written; one cannot.") from None


def bare(array: Any) -> Any:
    """Return an array of the same values that holds nothing else: no value under a null, none outside of the slice."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _with_used_values(array)
    if pa.types.is_nested(kind):
        return _rebuilt(array, kind)
    if array.null_count and array.null_count < len(array):
        valid = compute.is_valid(array)
        blank = "" if _is_text(kind) else b"" if _is_bytes(kind) else array[compute.index(valid, True).as_py()]
        try:
            filled = compute.fill_null(array, blank)
        except pa.ArrowNotImplementedError:  # of intervals, say
            return _rebuilt(array, kind)
        return pa.Array.from_buffers(kind, len(array), [valid.buffers()[1], *filled.buffers()[1:]], array.null_count)
    if array.null_count:
        return pa.nulls(len(array), kind)
    # Buffers that reach beyond the slice are copied: joined with nothing, an array gets buffers of its own.
    beyond = array.get_total_buffer_size() > array.nbytes
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset or beyond else array


def _with_used_values(array: Any) -> Any:
    """Return the dictionary array with only those values in its dictionary that a row has; itself if all are."""
    pa = require("pyarrow", "tables")
    size = len(array.dictionary)
    indices = array.indices
    known = as_numbers(indices.drop_null())
    used = np.flatnonzero(_occurring(known, size))
    if len(used) == size and not indices.null_count:
        return array
    places = np.zeros(max(size, 1), dtype=np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    missing = np.asarray(indices.is_null()) if indices.null_count else None
    moved = places.take(as_numbers(indices.fill_null(0)) if missing is not None else known)
    if missing is not None:
        moved[missing] = 0
    picked = of_numbers(moved, missing).cast(indices.type)
    return pa.DictionaryArray.from_arrays(picked, array.dictionary.take(of_numbers(used)))


def _occurring(indices: np.ndarray, size: int) -> np.ndarray:
    """Return which of 0, ..., size - 1 occur; no more of the indices are looked at once all do."""
    found = np.zeros(size, dtype=bool)
    for start in range(0, len(indices), _LOOKED_AT):
        found[indices[start : start + _LOOKED_AT]] = True
        if found.all():
            break
    return found


_LOOKED_AT = 1 << 14
"""Indices that are looked at before asking whether all occur: in most columns they do within the first so many."""


def _is_text(kind: Any) -> bool:
    types = require("pyarrow", "tables").types
    return types.is_string(kind) or types.is_large_string(kind)


def _is_bytes(kind: Any) -> bool:
    types = require("pyarrow", "tables").types
    return types.is_binary(kind) or types.is_large_binary(kind)
