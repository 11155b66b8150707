"""Which engine counts: this machine in a stream, or Spark."""

import os
from collections.abc import Sequence
from typing import Any

from divulge.errors import DivulgeError
from divulge.files.tables.source import Source, TableLike
from divulge.files.tables.table import open_table
from divulge.releasing.estimating.contingency import Contingency, counted
from divulge.releasing.options import EngineName
from divulge.releasing.session import table_of


def by_spark(table: Any, engine: str) -> bool:
    """Say whether Spark does the work: when asked to, and for a PySpark DataFrame."""
    if engine not in ("local", "spark"):
        raise DivulgeError.of("engine", 'be "local" or "spark"', "it", repr(engine))
    return engine == "spark" or type(table).__module__.startswith("pyspark")


def read_by(table: Any, engine: str, sink: Any, force: bool) -> tuple[Any, Any]:
    """Return what must not be replaced by an output: the DataFrame that Spark reads a table as, and paths of its files.

    The first is None where this machine reads it, and both where nothing can be replaced.
    """
    path = table.path if isinstance(table, Source) else table if isinstance(table, (str, os.PathLike)) else None
    if not by_spark(table, engine) or sink is None or not (force or table_of(sink) is not None):
        return None, path
    from divulge.releasing.spark import files_of, frame_of

    frame = frame_of(table)
    return frame, files_of(frame)


def contingency(table: TableLike, columns: Sequence[str] | str, *, engine: EngineName = "local") -> Contingency:
    """Return how often each combination of values of `columns` occurs in a table.

    Parameters
    ----------
    table : path of a file or folder; pandas, polars or pyarrow table; columns by name; Source; or PySpark DataFrame
    columns : name, or names, of the columns
    engine : "local" or "spark"
        Spark groups and counts a DataFrame in any case, and with "spark" the Parquet file or folder at a path.

    Returns
    -------
    Contingency
        Exact counts. A missing value (null, NaN, an empty CSV cell) is counted under the label None.

    Raises
    ------
    InputFileError
        For a table that cannot be read, a column that it lacks, and one whose values are lists, records or bytes.

    Examples
    --------
    >>> contingency({"x": ["a", "b", "a", None]}, "x").to_dict()
    {'a': 2, 'b': 1, None: 1}
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise DivulgeError.of("columns", "name at least one column", "it", "empty")
    if by_spark(table, engine):
        from divulge.releasing.spark import contingency as on_spark
        from divulge.releasing.spark import frame_of

        return on_spark(frame_of(table), names)
    source = open_table(table)
    source.require_values(names)
    return counted(names, source)
