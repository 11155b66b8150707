"""Columns of Python values, as libraries for workbooks and statistics programs hand them over, as Arrow."""

from datetime import date, datetime, time, timedelta
from typing import Any


def cell_of(value: Any) -> Any:
    """Return a value with missing ones as None, whole numbers as such, and one type for all moments."""
    if value is None or value == "" or value != value:
        return None
    return number_of(value)


def number_of(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def table_of(columns: list[tuple[str, list[Any]]]) -> Any:
    """Return columns of one type each: what all their values are, else text."""
    import pyarrow as pa

    arrays: list[Any] = []
    for _, values in columns:
        cells = [cell_of(value) for value in values]
        kinds = {type(cell) for cell in cells if cell is not None}
        arrays.append(pa.array(*_typed(cells, kinds)))
    return pa.Table.from_arrays(arrays, [name for name, _ in columns])


def _moment(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def _typed(cells: list[Any], kinds: set[type]) -> tuple[list[Any], Any]:
    import pyarrow as pa

    if kinds == {bool}:
        return cells, pa.bool_()
    if kinds == {int} and all(cell is None or abs(cell) < 2**63 for cell in cells):
        return cells, pa.int64()
    if kinds and kinds <= {int, float}:
        return [None if cell is None else float(cell) for cell in cells], pa.float64()
    if kinds == {date}:
        return cells, pa.date32()
    if kinds and kinds <= {date, datetime}:
        return [_moment(cell) for cell in cells], pa.timestamp("us")
    if kinds == {time}:
        return cells, pa.time64("us")
    if kinds == {timedelta}:
        return cells, pa.duration("us")
    return [None if cell is None else str(cell) for cell in cells], pa.string()
