"""Tables in memory, of pandas, polars and pyarrow; and queries of polars and DuckDB, whose rows wait in a file."""

import mmap
import tempfile
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.tables.source import MOST_ROWS, Source, batch_rows, reading
from divulge.late import late


def from_arrow(table: Any, restore: Callable[[Any], Any] = lambda table: table) -> Source:
    """Return the Source of a pyarrow Table, RecordBatch, Dataset or RecordBatchReader."""
    pa = require("pyarrow", "tables")
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.RecordBatchReader):
        return _of_query(table.schema, table)
    if not isinstance(table, pa.Table):
        return _dataset(table)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).to_batches(max_chunksize=batch_rows(len(columns)))

    return Source("table", table.schema, table.num_rows, stream, restore=restore)


def _dataset(dataset: Any) -> Source:
    if not hasattr(dataset, "to_batches"):
        raise DivulgeError.of("table", "be a Table, RecordBatch or Dataset", "it", f"a {type(dataset).__name__}")

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        asked = {"columns": list(columns), "batch_size": batch_rows(len(columns))}
        try:
            pieces = dataset.get_fragments()
        except ValueError:  # of a dataset with a filter Arrow gives none away
            yield from dataset.to_batches(**asked)
            return
        for piece in _pieces(pieces):
            yield from piece.to_batches(schema=dataset.schema, **asked)

    return Source("dataset", dataset.schema, None, stream)


def _pieces(fragments: Iterable[Any]) -> Iterator[Any]:
    """Yield the fragments of a dataset, those of Parquet by some row groups: of a whole one Arrow reads 1 GiB ahead."""
    for fragment in fragments:
        if not hasattr(fragment, "row_groups"):
            yield fragment
            continue
        groups, rows = list[int](), 0
        for group in fragment.row_groups:
            groups.append(group.id)
            rows += group.num_rows
            if rows >= MOST_ROWS:
                yield fragment.subset(row_group_ids=groups)
                groups, rows = [], 0
        if groups:
            yield fragment.subset(row_group_ids=groups)


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
    """Refuse columns of one name, and a column of values of several kinds, which no table on file has."""
    twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if twice:
        raise DivulgeError.of("table", "have a name of its own for each column", repr(twice[0]), "there twice",
                              "rename one: frame.columns = [...].")  # fmt: skip
    for place, name in enumerate(frame.columns):
        if frame.dtypes.iloc[place].kind == "O":
            _of_one_kind(name, frame.iloc[:, place])


def _of_one_kind(name: Hashable, values: Any) -> Any:
    """Return a column as an array of Arrow."""
    pa = require("pyarrow", "tables")
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DivulgeError.of(
            "table",
            "hold values of one kind in each column",
            f"column {str(name)!r}",
            "of several, or of one that no table on file has",
            "make them text (`str`) or numbers.",
        ) from None


def from_columns(columns: Mapping[Any, Any]) -> Source:
    """Return the Source of columns by their names, each a list or an array."""
    pa = require("pyarrow", "tables")
    for name, values in columns.items():
        if not isinstance(name, str):
            raise DivulgeError.of("table", "name its columns by text", "a name", f"a {type(name).__name__}")
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            found = f"a {type(values).__name__}"
            hint = 'a table is {"name": [one value a row]}.'
            raise DivulgeError.of("table", "have a list as column", f"column {name!r}", found, hint)
    arrays = {name: _of_one_kind(name, values) for name, values in columns.items()}
    lengths = sorted(map(len, arrays.values()))
    if not lengths or lengths[0] != lengths[-1]:
        found = f"of {lengths[0]} to {lengths[-1]} values" if lengths else "without a column"
        raise DivulgeError.of("table", "have columns of one length", "it", found)
    return from_arrow(pa.table(arrays))


def from_polars(frame: Any) -> Source:
    """Return the Source of a polars frame, eager or lazy."""
    polars = require("polars", "tables")
    if isinstance(frame, polars.LazyFrame):
        if hasattr(frame, "collect_batches"):
            with _querying():
                schema = frame.collect_schema().to_frame().to_arrow().schema
            return _of_query(schema, _arrow_batches(frame), polars.from_arrow)
        frame = frame.collect()
    return from_arrow(frame.to_arrow(), polars.from_arrow)


def _arrow_batches(frame: Any) -> Iterator[Any]:
    for part in frame.collect_batches(maintain_order=True):
        yield from part.to_arrow().to_batches()


def from_duckdb(relation: Any) -> Source:
    """Return the Source of a relation of DuckDB, such as what `duckdb.sql` gives."""
    if not hasattr(relation, "fetch_record_batch"):
        raise DivulgeError.of("table", "be a relation", "it", f"a {type(relation).__name__} of DuckDB")
    if any("UHUGEINT" in str(kind) for kind in relation.types):
        raise DivulgeError.of("table", "have no numbers of 128 bits without a sign", "one column", "of them: DuckDB "
                              "gives others on", "cast it: x::hugeint, or x::varchar.")  # fmt: skip
    with _querying():
        reader = (getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch)(batch_rows(1))
        return _of_query(reader.schema, reader)


@contextmanager
def _querying() -> Generator[None]:
    """Turn what a query raises, which can quote cells, into an error that says its kind and nothing else."""
    try:
        yield
    except DivulgeError:
        raise
    except Exception as error:  # what engines raise is open-ended
        hint = "the same query must give rows where it is asked for alone."
        raise InputFileError(f"query: cannot be carried out ({type(error).__name__}). Hint: {hint}") from error


def _of_query(schema: Any, batches: Iterable[Any], restore: Callable[[Any], Any] = lambda table: table) -> Source:
    """Return the Source of the rows of a query that is carried out once: asked again it may give another order.

    They wait in a file that has no name and is gone with the process, mapped into memory: the system takes pages back.
    """
    pa = require("pyarrow", "tables")
    rows = 0
    with tempfile.TemporaryFile() as file:
        with _querying(), pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                for start in range(0, batch.num_rows, step := batch_rows(len(schema))):
                    writer.write_batch(batch.slice(start, step))
                rows += batch.num_rows
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        kept = pa.py_buffer(mapped)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        places = sorted({schema.names.index(name) for name in columns}) or [0]
        with pa.ipc.open_stream(kept, options=pa.ipc.IpcReadOptions(included_fields=places)) as reader:
            for batch in reader:
                yield batch.select(list(columns))
                _give_back(mapped)

    return Source("query", schema, rows, stream, restore=restore)


def _give_back(mapped: mmap.mmap) -> None:
    """Let the system have the pages of a file back, where one can ask for it; a page that is read again comes again."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def like(given: Any, table: Any) -> Any:
    """Return an Arrow table as a frame of the library that `given` is of; as it is where that is none.

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
    "duckdb": from_duckdb,
    "_duckdb": from_duckdb,
    "pyspark": lambda table: late("divulge.releasing.spark:open_frame")(table),
}
"""Library of a table in memory -> how it is read."""
