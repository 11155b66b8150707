"""Tables in memory: pandas, polars and pyarrow."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.source import Source, batch_rows, reading


def from_arrow(table: Any, restore: Callable[[Any], Any] = lambda table: table) -> Source:
    """Return the Source of a pyarrow Table, RecordBatch or Dataset."""
    pa = require("pyarrow", "tables")
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        return _dataset(table)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).to_batches(max_chunksize=batch_rows(len(columns)))

    return Source("table", table.schema, table.num_rows, stream, restore=restore)


def _dataset(dataset: Any) -> Source:
    if not hasattr(dataset, "to_batches"):
        raise DivulgeError.of("table", "be a Table, RecordBatch or Dataset", "it", f"a {type(dataset).__name__}")

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        yield from dataset.to_batches(columns=list(columns), batch_size=batch_rows(len(columns)), batch_readahead=2)

    return Source("dataset", dataset.schema, None, stream)


def from_pandas(frame: Any) -> Source:
    """Return the Source of a pandas frame."""
    pa = require("pyarrow", "tables")

    def restore(table: Any) -> Any:
        out = table.to_pandas()
        return out.set_axis(frame.index, axis=0) if len(out.columns) == len(frame.columns) else out

    _refuse_mixed(frame)
    with reading("table"):
        return from_arrow(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(), restore)


def _refuse_mixed(frame: Any) -> None:
    """Refuse a column of values of several kinds, which no table on file has."""
    pa = require("pyarrow", "tables")
    for place, name in enumerate(frame.columns):
        if frame.dtypes.iloc[place].kind == "O":
            try:
                pa.array(frame.iloc[:, place], from_pandas=True)
            except (pa.ArrowTypeError, pa.ArrowInvalid):
                raise DivulgeError.of(
                    "table",
                    "hold values of one kind in each column",
                    f"column {str(name)!r}",
                    "of several, or of one that no table on file has",
                    "make them text (`.astype(str)`) or numbers.",
                ) from None


def from_polars(frame: Any) -> Source:
    """Return the Source of a polars frame, eager or lazy."""
    polars = require("polars", "tables")
    frame = frame.collect() if isinstance(frame, polars.LazyFrame) else frame
    return from_arrow(frame.to_arrow(), polars.from_arrow)


def like(given: Any, table: Any) -> Any:
    """Return an Arrow table as a frame of the library that `given` is of; as it is where that is none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> like("people.csv", pa.table({"a": [1]})).num_rows
    1
    """
    library = type(given).__module__.partition(".")[0]
    if library == "polars":
        return require("polars", "tables").from_arrow(table)
    return table.to_pandas() if library == "pandas" else table


IN_MEMORY: dict[str, Callable[[Any], Source]] = {
    "pyarrow": from_arrow,
    "pandas": from_pandas,
    "polars": from_polars,
}
"""Library of a table in memory -> how it is read."""
