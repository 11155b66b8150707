"""Parquet and Arrow files, and folders of Parquet files, as tables."""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from divulge.errors import DivulgeError, InputFileError, printable
from divulge.extras import require
from divulge.files.settings import Settings
from divulge.files.tables.source import Content, Source, batch_rows


def parquet(content: Content, settings: Settings) -> Source:
    """Return the table of a Parquet file."""
    parquet = require("pyarrow.parquet", "tables")
    with content.open() as opened, parquet.ParquetFile(opened) as file:
        schema, rows, codable = file.schema_arrow, file.metadata.num_rows, _repetitive(file)
        settings.limits.allow(content.name, "rows", rows)
        longest = longest_text(opened, file.metadata)
    if longest > LONGEST_TEXT:
        raise DivulgeError(f"must have cells of at most {LONGEST_TEXT >> 20} MiB; one has {longest:,} bytes.")
    fit = max(1, settings.limits.bytes // (4 * max(longest, 1)))

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        with (
            content.open() as opened,
            parquet.ParquetFile(opened, read_dictionary=list(coded), pre_buffer=False, buffer_size=1 << 20) as file,
        ):
            yield from _ahead(file.iter_batches(min(fit, batch_rows(len(columns))), columns=list(columns)))

    return content.source(schema, rows, stream, codable)


LONGEST_TEXT = 1 << 20
"""Bytes of the longest cell."""

_SMALL = 1 << 10


def longest_text(stream: BinaryIO, metadata: Any) -> int:
    """Return the bytes of the longest value in the dictionaries of columns of text; 0 where all must be short.

    A few bytes of a Parquet file can repeat one long value a million times. Dictionaries that are small, packed and
    unpacked, hold no long value; of the others the values are looked at, with one row of their column.
    """
    parquet, compute = require("pyarrow.parquet", "tables"), require("pyarrow.compute", "tables")
    longest = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(i) for i in range(group.num_columns)]
        names = [
            chunk.path_in_schema
            for chunk in chunks
            if chunk.physical_type == "BYTE_ARRAY" and "." not in chunk.path_in_schema and chunk.has_dictionary_page
            and (
                chunk.data_page_offset - (chunk.dictionary_page_offset or 0) > _SMALL
                or chunk.total_uncompressed_size > 20 * chunk.total_compressed_size
            )
        ]  # fmt: skip
        if not names or not group.num_rows:
            continue
        stream.seek(0)
        with parquet.ParquetFile(stream, read_dictionary=names, pre_buffer=False, buffer_size=1 << 16) as file:
            for array in next(file.iter_batches(1, row_groups=[number], columns=names)).columns:
                values = getattr(array, "dictionary", array)
                longest = max(longest, compute.max(compute.binary_length(values)).as_py() or 0)
    return longest


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


def folder(path: Path, settings: Settings) -> Source:
    """Return the table of all Parquet files in a folder, which must have the same columns."""
    found = sorted(part for part in path.rglob("*.parquet") if not _hidden(part.relative_to(path)))
    parts = [parquet(Content.of_file(part), settings) for part in found]
    name = printable(path.name)
    if not parts:
        raise InputFileError(f"{name}: must be a folder of Parquet files; it holds none.")
    first = parts[0].schema.remove_metadata()
    for part in parts:
        if not part.schema.remove_metadata().equals(first):
            changed = next((n for n in first.names if _kind(part, n) != _kind(parts[0], n)), part.schema.names[-1])
            kinds = " and ".join(f"{_kind(p, changed)} in {p.name}" for p in (parts[0], part))
            raise InputFileError(f"{name}: must have the same types in all files; column {changed!r} is {kinds}.")

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        for part in parts:
            yield from part.batches(columns, coded)

    codable = tuple(name for name in first.names if all(name in part.codable for part in parts))
    rows = sum(part.rows or 0 for part in parts)
    settings.limits.allow(name, "rows", rows)
    return Source(path.name, parts[0].schema, rows, stream, path, codable)


def _hidden(relative: Path) -> bool:
    return any(name.startswith((".", "_")) for name in relative.parts)


def _kind(part: Source, column: str) -> str:
    return printable(str(part.schema.field(column).type)) if column in part.schema.names else "absent"


def arrow(content: Content, settings: Settings) -> Source:
    """Return the table of an Arrow file or stream, every batch of which is checked in full before the first is used.

    A damaged file can point anywhere, and so can what is computed from it: a batch is whole, or nothing is read.
    """
    with content.open() as opened, _reader(opened) as file:
        schema, rows = file.schema, 0
    for batch in _batches(content):
        batch.validate(full=True)
        rows += batch.num_rows
        settings.limits.allow(content.name, "rows", rows)
        settings.limits.allow(content.name, "bytes", batch.nbytes)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        for batch in _batches(content):
            yield from _sliced(batch.select(list(columns)))

    return content.source(schema, rows, stream)


def _reader(stream: BinaryIO) -> Any:
    ipc = require("pyarrow", "tables").ipc
    head = stream.read(6)
    stream.seek(0)
    return ipc.open_file(stream) if head == b"ARROW1" else ipc.open_stream(stream)


def _batches(content: Content) -> Iterator[Any]:
    with content.open() as opened, _reader(opened) as file:
        if hasattr(file, "get_batch"):
            yield from map(file.get_batch, range(file.num_record_batches))
        else:
            yield from file


def _sliced(batch: Any) -> Iterator[Any]:
    size = batch_rows(batch.num_columns)
    for start in range(0, batch.num_rows, size):
        yield batch.slice(start, size)
