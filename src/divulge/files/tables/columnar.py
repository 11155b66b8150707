"""Parquet and Arrow files, and folders of Parquet files, as tables."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from divulge.errors import DivulgeError, InputFileError, printable
from divulge.extras import require
from divulge.files.opening import below
from divulge.files.settings import Limits, Settings
from divulge.files.tables.partitions import Partitions, partitions_of
from divulge.files.tables.source import Content, Source, batch_rows, validate


def parquet(content: Content, settings: Settings) -> Source:
    """Return the table of a Parquet file; the columns that are read are measured first."""
    parquet = require("pyarrow.parquet", "tables")
    with content.open() as opened, parquet.ParquetFile(opened) as file:
        schema, rows, codable = file.schema_arrow, file.metadata.num_rows, _repetitive(file)
        settings.limits.allow(content.name, "rows", rows)
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        # what a small file says of itself is not read again: the file is found unchanged each time
        about = file.metadata if file.metadata.num_columns * len(groups) <= _KEPT else None

    @cache
    def most_rows(columns: tuple[str, ...], coded: frozenset[str]) -> int:
        with content.open() as opened:
            longest = longest_text(opened, columns, settings.limits, about, coded)
        return max(1, settings.limits.bytes // (4 * longest))

    def fitting(columns: Sequence[str], coded: Sequence[str]) -> int:
        """Return how many rows of columns fit into memory; refuse columns that would not fit at all."""
        return min(most_rows(tuple(columns), frozenset(coded)), batch_rows(len(columns)))

    def batches(
        columns: Sequence[str], coded: Sequence[str], rows: int, chosen: Sequence[int], alone: bool
    ) -> Iterator[Any]:
        """Yield batches of chosen groups of rows; what is read `alone` has the threads of Arrow to itself."""
        with (
            content.open() as opened,
            parquet.ParquetFile(
                opened, metadata=about, read_dictionary=list(coded), pre_buffer=False, buffer_size=1 << 20
            ) as file,
        ):
            yield from file.iter_batches(rows, row_groups=chosen, columns=list(columns), use_threads=alone)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        few = fitting(columns, coded)
        found = batches(columns, coded, few, range(len(groups)), alone=rows > _IN_CACHE)
        yield from found if rows <= few else _ahead(found)

    def divided(columns: Sequence[str], many: int) -> list[Source]:
        fitting(columns, columns)  # before anything is read

        def part(chosen: Sequence[int]) -> Source:
            def stream(names: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
                return batches(names, coded, min(fitting(names, coded), _IN_PART), chosen, alone=False)

            return content.source(schema, None, stream, codable)

        return [part(chosen) for chosen in _runs(groups, min(max(sum(groups) // many, _PARTS[0]), _PARTS[1]))]

    return replace(content.source(schema, rows, stream, codable), divided=divided)


def _runs(sizes: Sequence[int], least: int) -> list[range]:
    """Return the places of sizes in runs, each but the last with a sum of about `least`."""
    ends = (np.flatnonzero(np.diff(np.cumsum(sizes) // least, prepend=0)) + 1).tolist()
    return [range(i, j) for i, j in pairwise(sorted({0, *ends, len(sizes)}))]


_PARTS = 1 << 21, 1 << 24
"""Rows of a part that is read beside others, at least and at most."""

_IN_PART = 1 << 19
"""Rows of a batch of a part: half as many are read and counted in 7 percent more time, a quarter in 15."""

_IN_CACHE = 1 << 18
"""Rows that one thread reads: their positions stay in a processor's cache. Of more, threads of Arrow take a part."""


LONGEST_TEXT = 1 << 20
"""Bytes of the longest cell."""

_MOST_PACKED = 100
"""So many times its size in the file a large part of it may have in memory."""


_KEPT = 64
"""Columns of groups of rows up to which the footer of a file is kept, 20 kB: a folder may have thousands of files."""


_UNPACKED = {"UNCOMPRESSED": 1, "SNAPPY": 22}
"""How many times its size in the file a page has in memory at most: three bytes of Snappy stand for 64."""


def longest_text(
    stream: BinaryIO, columns: Sequence[str], limits: Limits, footer: Any = None, coded: Collection[str] = ()
) -> int:
    """Return a bound on the bytes of a cell of columns of a Parquet file, at least 1; refuse what would not fit.

    A few bytes can repeat one long value a million times, or stand for a list of a billion zeros. What the file says of
    its parts bounds all but the values of a dictionary, and of texts that share their beginnings (DELTA_BYTE_ARRAY):
    these are looked at, of each part the dictionary with one row, or a few rows at a time. Columns that are read as
    positions in a dictionary, `coded`, repeat none of its values: it is looked at only where it may be large.
    """
    parquet = require("pyarrow.parquet", "tables")
    stream.seek(0)
    with parquet.ParquetFile(stream, metadata=footer, pre_buffer=False, buffer_size=1 << 16) as file:
        names, about, leaves = file.schema_arrow.names, file.metadata, file.schema

        @cache
        def dictionaries(path: str) -> Any:
            return parquet.ParquetFile(
                stream, metadata=about, read_dictionary=[path], pre_buffer=False, buffer_size=1 << 16
            )

        longest = 1
        for number in range(about.num_row_groups):
            group = about.row_group(number)
            for place in range(group.num_columns):
                chunk, path = group.column(place), leaves.column(place).path
                flat = path in names
                home = path if flat else max((n for n in names if path.startswith(f"{n}.")), key=len, default=path)
                if home not in columns or not chunk.num_values:
                    continue
                unpacked = chunk.total_uncompressed_size
                if unpacked > _MOST_PACKED * chunk.total_compressed_size:
                    limits.allow("it, unpacked,", "bytes", unpacked)
                if not flat:
                    limits.allow("a column of lists or records", "bytes", 8 * chunk.num_values)
                width = max(8, leaves.column(place).length)
                small = flat and path in coded and _dictionary_bytes(chunk) <= LONGEST_TEXT
                if chunk.physical_type == "BYTE_ARRAY" and not small:
                    width = min(unpacked, _longest_value(file, dictionaries, number, path, flat, chunk, limits))
                if not flat:
                    limits.allow("a column of lists or records", "bytes", width * chunk.num_values)
                elif width > LONGEST_TEXT:
                    raise DivulgeError(f"must have cells of at most {LONGEST_TEXT >> 20} MiB; one has {width:,} bytes.")
                else:
                    longest = max(longest, width)
    return longest


def _dictionary_bytes(chunk: Any) -> float:
    """Return a bound on the bytes of the values of a part that is all positions in a dictionary; inf for another."""
    if not chunk.has_dictionary_page or "DELTA_BYTE_ARRAY" in chunk.encodings:
        return math.inf
    packed = chunk.data_page_offset - chunk.dictionary_page_offset
    return packed * _UNPACKED.get(chunk.compression, math.inf) if packed > 0 else math.inf


def _longest_value(
    file: Any, dictionaries: Callable[[str], Any], number: int, path: str, flat: bool, chunk: Any, limits: Limits
) -> int:
    """Return a bound on the bytes of a value that can stand in many places of a part of a Parquet file.

    `dictionaries` of a column returns the same file with this column as positions in its dictionary.
    """
    unpacked = chunk.total_uncompressed_size
    along = "DELTA_BYTE_ARRAY" in chunk.encodings
    if unpacked * chunk.num_values <= limits.bytes // 4 or (along and not flat):
        return unpacked
    if not along and not chunk.has_dictionary_page:
        return 1
    rows = max(1, limits.bytes // (4 * unpacked)) if along else 1
    longest = 1
    for batch in (file if along else dictionaries(path)).iter_batches(rows, row_groups=[number], columns=[path]):
        longest = max(longest, *map(_longest_part, batch.columns))
        if not along or longest > LONGEST_TEXT:
            break
    return longest


def _longest_part(array: Any) -> int:
    """Return the bytes of the longest text in an array, in its dictionary, or in what is nested in it."""
    types, compute = require("pyarrow.types", "tables"), require("pyarrow.compute", "tables")
    if types.is_dictionary(array.type):
        return _longest_part(array.dictionary)
    if types.is_struct(array.type):
        return max(map(_longest_part, array.flatten()), default=1)
    if types.is_map(array.type):
        return max(_longest_part(array.keys), _longest_part(array.items))
    if types.is_nested(array.type):
        return _longest_part(array.values)
    return compute.max(compute.binary_length(array)).as_py() or 1


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the same batches, each while the next one is being read."""
    from concurrent.futures import ThreadPoolExecutor

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
    paths = parts_of(path)
    parts = [parquet(Content.of_file(part), settings) for part in paths]
    name = printable(path.name)
    if not parts:
        raise InputFileError(f"{name}: must be a folder of Parquet files; it holds none.")
    first = parts[0].schema.remove_metadata()
    for part in parts:
        if not part.schema.remove_metadata().equals(first):
            changed = next((n for n in first.names if _kind(part, n) != _kind(parts[0], n)), part.schema.names[-1])
            kinds = " and ".join(f"{_kind(p, changed)} in {p.name}" for p in (parts[0], part))
            raise InputFileError(f"{name}: must have the same types in all files; column {changed!r} is {kinds}.")

    beside = partitions_of(name, [part.relative_to(path).parent.parts for part in paths], first.names)

    def each(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        for i, part in enumerate(parts):
            yield from part.batches(columns, coded) if beside is None else _beside(part, beside, i, columns, coded)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        return _gathered(each(columns, coded))

    codable = tuple(name for name in first.names if all(name in part.codable for part in parts))
    rows = sum(part.rows or 0 for part in parts)
    settings.limits.allow(name, "rows", rows)
    schema = parts[0].schema
    if beside is not None:
        schema = require("pyarrow", "tables").schema([*first, *beside.fields])
        codable += tuple(field.name for field in beside.fields if str(field.type) == "string")
    return Source(path.name, schema, rows, stream, path, codable)


def _gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches, and few rows of several files as one batch: what reads them takes as long for few as for many."""
    waiting, rows, size = list[Any](), 0, 0
    for batch in batches:
        if waiting and (rows + batch.num_rows > _TOGETHER[0] or size + batch.nbytes > _TOGETHER[1]):
            yield from _joined(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    yield from _joined(waiting)


def _joined(batches: list[Any]) -> list[Any]:
    """Return batches as one; as they are where Arrow cannot put them together, such as nested dictionaries."""
    if len(batches) < 2:
        return batches
    pa = require("pyarrow", "tables")
    try:
        return pa.Table.from_batches(batches).combine_chunks().to_batches() or batches[:1]
    except pa.ArrowException:
        return batches


_TOGETHER = 1 << 14, 1 << 22
"""Rows, and bytes, that are read together where files have fewer: their time is that of reading by then."""


def _beside(part: Source, beside: Partitions, i: int, columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
    """Yield columns of a file with those that the names of its folders are."""
    pa = require("pyarrow", "tables")
    inside = [name for name in columns if name not in beside.names]
    for batch in part.batches(inside or part.schema.names[:1], [name for name in coded if name in inside]):
        found = [
            batch.column(name) if name in inside else beside.array(i, name, batch.num_rows, name in coded)
            for name in columns
        ]
        yield pa.record_batch(found, names=list(columns))


_OTHERS = 1000
"""How many files of other kinds a folder of Parquet files may hold: the root of a system is not read to its end."""


def parts_of(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and below, none that is hidden; a folder of much else is refused."""
    found: list[Path] = []
    others = 0
    for place, folders, names in below(folder):
        folders[:] = [name for name in folders if not is_hidden(name)]
        seen = [name for name in names if not is_hidden(name)]
        found += [place / name for name in seen if name.endswith(".parquet")]
        others += sum(not name.endswith(".parquet") for name in seen)
        if others > _OTHERS:
            raise InputFileError(
                f"{printable(folder.name or str(folder))}: must be a folder of Parquet files; it holds more than "
                f"{_OTHERS:,} others."
            )
    return sorted(found)


def is_hidden(name: str) -> bool:
    """Say whether a name is that of something beside the table, as Spark has it: _logs is, and _year=2024 is not."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _kind(part: Source, column: str) -> str:
    return printable(str(part.schema.field(column).type)) if column in part.schema.names else "absent"


def arrow(content: Content, settings: Settings) -> Source:
    """Return the table of an Arrow file or stream, every batch of which is checked in full before the first is used.

    A damaged file can point anywhere, and so can what is computed from it: a batch is whole, or nothing is read.
    """
    with content.open() as opened, _reader(opened) as file:
        schema, rows = file.schema, 0
    for batch in _batches(content):
        validate(batch)
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
