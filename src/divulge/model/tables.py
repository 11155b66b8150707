"""The one door for tables: pandas, polars and pyarrow, through narwhals."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge.errors import DivulgeError


def is_table(values: Any) -> bool:
    """Say whether `values` is a data frame of pandas, polars or pyarrow (without importing any of them)."""
    library = type(values).__module__.partition(".")[0]
    return library in {"pandas", "polars", "pyarrow", "narwhals"} and hasattr(values, "columns")


def labelled_matrix(table: Any, argument: str) -> tuple[np.ndarray | list[list[Any]], list[Hashable], list[Hashable]]:
    """Return (matrix, row labels, column labels) of a table.

    The index of a pandas frame holds the row labels; in every other table the first column does, as in a CSV file.
    """
    import narwhals as nw

    if type(table).__module__.startswith("pandas"):
        return table.to_numpy(), table.index.tolist(), table.columns.tolist()
    frame = nw.from_native(table, eager_only=True)
    if len(frame.columns) < 2:
        raise DivulgeError.of(
            argument,
            "have a column of labels and at least one of numbers",
            "it",
            f"{len(frame.columns)} column(s) wide",
        )
    first, *others = frame.columns
    columns = [frame[name].to_list() for name in others]
    return [list(row) for row in zip(*columns, strict=True)], frame[first].to_list(), list(others)


def column_values(column: Any, argument: str) -> list[Hashable]:
    """Return the values of a column as plain Python objects; a missing one is refused with its position."""
    values = column.to_list() if hasattr(column, "to_list") else column
    values = values.to_pylist() if hasattr(values, "to_pylist") else values
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise DivulgeError.of(argument, "be a column of values", "it", f"a {type(column).__name__}")
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for i, value in enumerate(plain):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise DivulgeError.of(
                argument, "have no missing value", f"row {i}", "missing", "name it as a category of its own first."
            )
    return plain
