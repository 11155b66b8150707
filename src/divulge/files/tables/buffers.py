"""Numbers and texts into Arrow and back by their buffers: pyarrow's own ways import pandas where it is installed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from divulge.extras import require


def as_numbers(array: Any) -> np.ndarray:
    """Return an Arrow array of whole numbers, none of them missing, as a NumPy array over the same memory.

    >>> import pyarrow as pa
    >>> as_numbers(pa.array([3, 1, 4], pa.int32()).slice(1)).tolist()
    [1, 4]
    """
    kind = np.dtype(str(array.type))
    if not len(array):
        return np.empty(0, dtype=kind)
    return np.frombuffer(array.buffers()[1], dtype=kind, count=len(array), offset=array.offset * kind.itemsize)


def filled(array: Any, value: int) -> np.ndarray:
    """Return an Arrow array of whole numbers, or chunks of it, as a NumPy array with a value for each that is missing.

    >>> import pyarrow as pa
    >>> filled(pa.chunked_array([[3, None], [4]], pa.int64()), -1).tolist()
    [3, -1, 4]
    """
    pa = require("pyarrow", "tables")
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    found = as_numbers(whole).astype(np.int64)
    if whole.null_count:
        found[as_numbers(whole.is_null().cast(pa.uint8())).astype(bool)] = value
    return found


def of_numbers(values: np.ndarray, missing: np.ndarray | None = None) -> Any:
    """Return whole numbers as an Arrow array; where `missing`, there is none.

    >>> of_numbers(np.array([3, 1]), np.array([False, True])).to_pylist()
    [3, None]
    """
    pa = require("pyarrow", "tables")
    held = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [held, pa.py_buffer(np.ascontiguousarray(values))])


def of_texts(texts: Sequence[str | None], kind: Any) -> Any:
    """Return texts, or None where one is missing, as an Arrow array of type string or large_string.

    >>> import pyarrow as pa
    >>> of_texts(["Köln", None, ""], pa.string()).to_pylist()
    ['Köln', None, '']
    """
    pa = require("pyarrow", "tables")
    written = [b"" if text is None else text.encode() for text in texts]
    missing = np.array([text is None for text in texts], dtype=bool)
    ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
    if pa.types.is_string(kind):
        ends = ends.astype(np.int32)
    held = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [held, pa.py_buffer(ends), pa.py_buffer(b"".join(written))]
    return pa.Array.from_buffers(kind, len(texts), buffers)
