"""Tables in: whatever holds rows becomes a schema and a stream of Arrow record batches that never grows in memory."""

import math
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.model.shown import printable

MOST_ROWS = 1 << 20
"""Rows in a batch of a narrow table; a wide one gets fewer, so that a batch takes about as much memory."""


@dataclass(frozen=True)
class Source:
    """A table that can be streamed, more than once.

    Attributes
    ----------
    name : str
        What messages and receipts call it: the name of the file, without its folder.
    schema : pyarrow.Schema
    rows : int, or None when only reading tells
    stream : function of (columns, coded columns)
        Yields record batches of the columns; the coded ones arrive as dictionaries where the format can do that.
    path : Path, or None for a table in memory
    codable : tuple of str
        Columns of text that are cheaper to read as dictionaries.
    restore : function of a pyarrow.Table
        Turns a table back into what was given: pandas to pandas, polars to polars, anything else to pyarrow.
    """

    name: str
    schema: Any
    rows: int | None
    stream: Callable[[Sequence[str], Sequence[str]], Iterator[Any]]
    path: Path | None = None
    codable: tuple[str, ...] = ()
    restore: Callable[[Any], Any] = lambda table: table

    def batches(self, columns: Sequence[str] | None = None, coded: Sequence[str] = ()) -> Iterator[Any]:
        """Yield record batches of `columns` (all when not given), in the order of the rows."""
        names = self.schema.names if columns is None else list(columns)
        self.require_columns([*names, *coded])
        with reading(self.name):
            yield from self.stream(names, [name for name in coded if name in names])

    def require_columns(self, columns: Sequence[str]) -> None:
        """Refuse a column that the table lacks, or has twice."""
        for column in columns:
            found = self.schema.names.count(column)
            if found != 1:
                raise InputFileError(
                    f"{self.name}: must have one column {column!r}; it has {found}. "
                    f"Hint: its columns are {', '.join(map(repr, self.schema.names[:20])) or 'none'}."
                )

    def require_values(self, columns: Sequence[str]) -> None:
        """Refuse columns that the table lacks, or whose values have no text to be told apart by."""
        self.require_columns(columns)
        for column in columns:
            kind = self.schema.field(column).type
            if not is_plain(kind):
                raise InputFileError(
                    f"{self.name}: column {column!r} must hold text, numbers, booleans, dates or times; it holds "
                    f"{printable(str(kind))}. Hint: cast it to text first."
                )


def is_plain(kind: Any) -> bool:
    """Say whether values of an Arrow type can be secrets: text, numbers, booleans, dates and times, coded or not."""
    types = require("pyarrow.types", "tables")
    if types.is_dictionary(kind):
        return is_plain(kind.value_type)
    plain = (
        types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer,
        types.is_floating, types.is_decimal, types.is_date, types.is_time, types.is_timestamp, types.is_duration,
        types.is_null,
    )  # fmt: skip
    return any(test(kind) for test in plain)


@contextmanager
def reading(name: str) -> Generator[None]:
    """Turn the errors of Arrow into one that names the table and, because they can quote cells, nothing else."""
    pa, name = require("pyarrow", "tables"), printable(name)
    try:
        yield
    except pa.lib.ArrowCancelled:
        raise KeyboardInterrupt from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputFileError(f"{name}: cannot be read: {os.strerror(error.errno)}.") from None
        raise InputFileError(
            f"{name}: cannot be read to its end ({type(error).__name__}). "
            "Hint: it may be damaged or cut short, or a column may change its type on the way."
        ) from None


def open_source(table: Any) -> Source:
    """Return the Source of a Parquet, CSV or Arrow file, a folder of Parquet files, or a table in memory.

    Parameters
    ----------
    table : path; pandas, polars or pyarrow table; pyarrow RecordBatch or Dataset; or Source

    Raises
    ------
    InputFileError
        When a file is missing, damaged, or of an unknown format.
    """
    if isinstance(table, Source):
        return table
    if isinstance(table, (str, os.PathLike)):
        path = Path(os.fspath(table))
        require_utf8(path)
        if not path.exists():
            raise InputFileError(f"{printable(str(path.name or path))}: must be a file or folder; there is none.")
        with reading(path.name):
            return _folder(path) if path.is_dir() else opener(path)(path)
    for known, convert in IN_MEMORY.items():
        if type(table).__module__.partition(".")[0] == known:
            return convert(table)
    raise DivulgeError.of("table", "be a path or a pandas, polars or pyarrow table", "it", f"a {type(table).__name__}")


def require_utf8(path: Path) -> None:
    """Refuse a path that is no UTF-8: receipts, ledgers and Arrow have no name for it."""
    try:
        os.path.abspath(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path.name).decode(errors="backslashreplace")
        raise InputFileError(f"{printable(name)}: must have a path in UTF-8. Hint: rename it or its folder.") from None


def batch_rows(columns: int) -> int:
    """Return how many rows a batch of this many columns should have."""
    return max(1 << 12, min(MOST_ROWS, (MOST_ROWS << 2) // max(columns, 1)))


def _parquet(path: Path) -> Source:
    parquet = require("pyarrow.parquet", "tables")
    with parquet.ParquetFile(path) as file:
        schema, rows, codable = file.schema_arrow, file.metadata.num_rows, _repetitive(file)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        with parquet.ParquetFile(path, read_dictionary=list(coded), pre_buffer=False, buffer_size=1 << 20) as file:
            yield from _ahead(file.iter_batches(batch_rows(len(columns)), columns=list(columns)))

    return Source(path.name, schema, rows, stream, path, codable)


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the same batches, each while the next one is being read."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _repetitive(file: Any) -> tuple[str, ...]:
    """Return the columns of text that the first row group stores in under four bytes a value: as dictionaries."""
    if not file.metadata.num_row_groups:
        return ()
    group = file.metadata.row_group(0)
    sizes = {group.column(i).path_in_schema: group.column(i).total_uncompressed_size for i in range(group.num_columns)}
    text = [field.name for field in file.schema_arrow if str(field.type) == "string"]
    return tuple(name for name in text if sizes.get(name, math.inf) < 4 * group.num_rows)


def _folder(path: Path) -> Source:
    parts = [_parquet(part) for part in sorted(path.rglob("*.parquet")) if not _hidden(part.relative_to(path))]
    if not parts:
        raise InputFileError(f"{printable(path.name)}: must be a folder of Parquet files; it holds none.")
    first = parts[0].schema.remove_metadata()
    for part in parts:
        if not part.schema.remove_metadata().equals(first):
            changed = next((n for n in first.names if _kind(part, n) != _kind(parts[0], n)), part.schema.names[-1])
            kinds = " and ".join(f"{_kind(p, changed)} in {printable(p.name)}" for p in (parts[0], part))
            raise InputFileError(
                f"{printable(path.name)}: must have the same types in all files; column {changed!r} is {kinds}."
            )

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        for part in parts:
            yield from part.batches(columns, coded)

    codable = tuple(name for name in first.names if all(name in part.codable for part in parts))
    return Source(path.name, parts[0].schema, sum(part.rows or 0 for part in parts), stream, path, codable)


def _hidden(relative: Path) -> bool:
    return any(name.startswith((".", "_")) for name in relative.parts)


def _kind(part: Source, column: str) -> str:
    return str(part.schema.field(column).type) if column in part.schema.names else "absent"


def _csv(path: Path) -> Source:
    """A CSV file, every cell as the text that stands there; an empty cell is missing, the only one of a line too."""
    pa, csv = require("pyarrow", "tables"), require("pyarrow.csv", "tables")
    parse = csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",", newlines_in_values=True)
    with csv.open_csv(path, parse_options=parse) as reader:
        names = reader.schema.names
    parse.ignore_empty_lines = len(names) > 1
    schema = pa.schema([(name, pa.string()) for name in names])

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        types = {name: pa.dictionary(pa.int32(), pa.string()) if name in coded else pa.string() for name in columns}
        convert = csv.ConvertOptions(
            column_types=types, include_columns=list(columns), null_values=[""], strings_can_be_null=True
        )
        read = csv.ReadOptions(block_size=1 << 24)
        with csv.open_csv(path, read_options=read, parse_options=parse, convert_options=convert) as reader:
            yield from reader

    return Source(path.name, schema, None, stream, path)


def _arrow(path: Path) -> Source:
    ipc = require("pyarrow", "tables").ipc
    with ipc.open_file(path) as file:
        schema = file.schema

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        with ipc.open_file(path) as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i).select(list(columns))
                yield from _sliced(batch)

    return Source(path.name, schema, None, stream, path)


def _sliced(batch: Any) -> Iterator[Any]:
    size = batch_rows(batch.num_columns)
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)


PARQUET = (".parquet", ".pq")
OPENERS: dict[str, Callable[[Path], Source]] = {
    **dict.fromkeys(PARQUET, _parquet), ".csv": _csv, ".tsv": _csv, ".arrow": _arrow, ".feather": _arrow,
    ".ipc": _arrow,
}  # fmt: skip
"""Suffix of a file -> how it is read."""


def opener(path: Path) -> Callable[[Path], Source]:
    """Return how a file with this suffix is read."""
    try:
        return OPENERS[path.suffix.lower()]
    except KeyError:
        known = ", ".join(OPENERS)
        raise InputFileError(
            f"{printable(path.name)}: must be a folder, or have a name that ends in {known}."
        ) from None


def _from_arrow(table: Any, restore: Callable[[Any], Any] = lambda table: table) -> Source:
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


def _from_pandas(frame: Any) -> Source:
    pa = require("pyarrow", "tables")

    def restore(table: Any) -> Any:
        out = table.to_pandas()
        return out.set_axis(frame.index, axis=0) if len(out.columns) == len(frame.columns) else out

    with reading("table"):
        return _from_arrow(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(), restore)


def _from_polars(frame: Any) -> Source:
    polars = require("polars", "tables")
    frame = frame.collect() if isinstance(frame, polars.LazyFrame) else frame
    return _from_arrow(frame.to_arrow(), polars.from_arrow)


IN_MEMORY: dict[str, Callable[[Any], Source]] = {
    "pyarrow": _from_arrow,
    "pandas": _from_pandas,
    "polars": _from_polars,
}
"""Library of a table in memory -> how it is read."""
