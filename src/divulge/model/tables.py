"""The one door for tables: pandas, polars and pyarrow, through narwhals."""

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.model.labels import is_missing


def is_table(values: Any) -> bool:
    """Say whether `values` is a data frame of pandas, polars or pyarrow (without importing any of them)."""
    library = type(values).__module__.partition(".")[0]
    return library in {"pandas", "polars", "pyarrow", "narwhals"} and hasattr(values, "columns")


def is_labelled_column(values: Any) -> bool:
    """Say whether `values` is a pandas Series (without importing pandas)."""
    return type(values).__module__.startswith("pandas") and hasattr(values, "index") and not hasattr(values, "columns")


def is_labelled_array(values: Any) -> bool:
    """Say whether `values` is an xarray DataArray (without importing xarray)."""
    return type(values).__module__.startswith("xarray") and hasattr(values, "coords") and hasattr(values, "dims")


def axis_labels(array: Any) -> list[list[Hashable] | None]:
    """Return the labels of each axis of an xarray DataArray; None for an axis without coordinates."""
    return [array.coords[dim].values.tolist() if dim in array.coords else None for dim in array.dims]


def index_labels(index: Any) -> list[Hashable] | None:
    """Return the labels in a pandas index; None for the index of a frame that nobody named."""
    return None if type(index).__name__ == "RangeIndex" else index.tolist()


def labelled_matrix(
    table: Any, argument: str
) -> tuple[np.ndarray | list[list[Any]], list[Hashable] | None, list[Hashable] | None]:
    """Return (matrix, row labels, column labels) of a table; None for labels that nobody gave.

    The index of a pandas frame holds the row labels; where nobody gave it one, and in every other table, a first column
    of text does, as in a CSV file, and in the others one of whole numbers beside columns that are not. A first column
    of numbers like the others is one of the matrix.
    """
    import narwhals as nw

    if type(table).__module__.startswith("pandas") and not _first_is_labels(table):
        return table.to_numpy(), index_labels(table.index), index_labels(table.columns)
    frame = nw.from_native(table, eager_only=True)
    index = [name for name in _index_columns(table) if name in frame.columns]
    if frame.columns and not index and _all_numbers(frame):
        return [list(row) for row in frame.iter_rows()], None, list(frame.columns)
    if len(frame.columns) < 2:
        raise DivulgeError.of(
            argument,
            "have a column of labels and at least one of numbers",
            "it",
            f"{number_of(len(frame.columns), 'column')} wide",
        )
    first, *others = [*index, *(name for name in frame.columns if name not in index)]
    columns = [frame[name].to_list() for name in others]
    return [list(row) for row in zip(*columns, strict=True)], frame[first].to_list(), list(others)


def _first_is_labels(table: Any) -> bool:
    """Say whether a pandas frame has no index of its own and a first column of text that is no number."""
    if index_labels(table.index) is not None or len(table.columns) < 2:
        return False
    cells = table.iloc[:, 0].tolist()
    words = all(isinstance(cell, str) and not re.match(r"\s*[-+.\d]", cell) for cell in cells)
    return words and len(set(cells)) == len(cells)


def _all_numbers(frame: Any) -> bool:
    """Say whether the first column of a narwhals frame holds numbers of the matrix, as the others do, and no labels."""
    first, *others = frame.schema.values()
    return first.is_numeric() and (not _is_whole(first) or all(map(_is_whole, others)))


def _is_whole(dtype: Any) -> bool:
    """Say whether a type of narwhals is one of whole numbers, by its name: old versions do not say it."""
    return str(dtype).startswith(("Int", "UInt"))


def _index_columns(table: Any) -> list[str]:
    """Return the columns of an Arrow table that were the index of a pandas frame."""
    known = getattr(getattr(table, "schema", None), "pandas_metadata", None) or {}
    return [name for name in known.get("index_columns", ()) if isinstance(name, str)][:1]


def labelled_frame(matrix: np.ndarray, rows: Iterable[Hashable], columns: Iterable[Hashable]) -> Any:
    """Return a pandas frame; labels that are tuples stay one label."""
    pandas = require("pandas", "frames")
    index, header = (pandas.Index(list(labels), tupleize_cols=False) for labels in (rows, columns))
    return pandas.DataFrame(matrix, index=index, columns=header)


def polars_frame(labels: str, rows: Iterable[Hashable], columns: Mapping[Any, Any]) -> Any:
    """Return a polars frame: the labels of the rows in a first column, then the columns; fractions become floats."""
    polars = require("polars", "frames")
    numbers = {str(name): _as_numbers(values) for name, values in columns.items()}
    return polars.DataFrame({labels: [str(row) for row in rows], **numbers})


def _as_numbers(values: Any) -> Any:
    return values if isinstance(values, list) else np.asarray(values, dtype=np.float64)


def labelled_vector(table: Any, argument: str) -> tuple[list[Any], list[Hashable]]:
    """Return (values, labels) of a table with two columns, label and value."""
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    if len(frame.columns) != 2:
        raise DivulgeError.of(
            argument,
            "have two columns, secret and probability",
            "it",
            f"{number_of(len(frame.columns), 'column')} wide",
        )
    labels, values = (frame[name].to_list() for name in frame.columns)
    return values, labels


def _plain_of(column: Any) -> list[Any]:
    """Return the values of a column of Arrow; where they are coded each distinct one is made once, not once a row."""
    if column.null_count or not str(column.type).startswith("dictionary<values=string"):
        return column.to_pylist()
    chunks: list[Any] = getattr(column, "chunks", [column])
    return [
        value
        for chunk in chunks
        for value in np.array(chunk.dictionary.to_pylist(), dtype=object)[chunk.indices.to_numpy()].tolist()
    ]


def column_values(column: Any, argument: str) -> list[Hashable]:
    """Return the values of a column as plain Python objects; a missing one is refused with its position."""
    values = column.to_list() if hasattr(column, "to_list") else column
    values = _plain_of(values) if hasattr(values, "to_pylist") else values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DivulgeError.of(argument, "be a column of values", "it", f"a {type(column).__name__}")
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if set(map(type, plain)) <= {str, int, bool, bytes}:  # none of these is missing
        return plain
    for i, value in enumerate(plain):
        if is_missing(value):
            raise DivulgeError.of(
                argument, "have no missing value", f"row {i}", "missing", "give it a label of its own first."
            )
        if not isinstance(value, Hashable):
            raise DivulgeError.of(argument, "hold hashable values", f"row {i}", f"a {type(value).__name__}")
    return plain
