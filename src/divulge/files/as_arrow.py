"""Parquet and Arrow, in the shape of the CSV file; columns of text hold exact numbers (extra: tables)."""

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.cells import cells, texts
from divulge.files.opening import Counts, columns_exist
from divulge.model.channel import Channel
from divulge.model.prior import Prior
from divulge.model.tables import column_values


def parquet(stream: BinaryIO) -> Any:
    """Return the table of a Parquet file."""
    return require("pyarrow.parquet", "tables").read_table(stream)


def arrow(stream: BinaryIO) -> Any:
    """Return the table of an Arrow file or stream (also called Feather)."""
    return _reader(stream).read_all()


def channel(table: Any) -> Channel:
    """Return the channel of a table: the first column holds the secrets, the others are outcomes."""
    if table.num_columns < 2 or not table.num_rows:
        raise DivulgeError(
            "must have a first column of secrets and a column for each outcome; "
            f"it has {table.num_columns} column(s) and {table.num_rows} row(s)."
        )
    secrets, *columns = table.columns
    if all(_is_binary_number(column.type) for column in columns):
        matrix: Any = np.column_stack([column.to_numpy().astype(np.float64) for column in columns])
    else:
        matrix = list(zip(*(column.to_pylist() for column in columns), strict=True))
    return Channel(matrix, column_values(secrets, "secrets"), table.column_names[1:])


def prior(table: Any) -> Prior:
    """Return the prior of two columns, secret and probability."""
    if table.num_columns != 2:
        raise DivulgeError(f"must have two columns, secret and probability; it has {table.num_columns}.")
    secrets, column = table.columns
    values = column.to_numpy().astype(np.float64) if _is_binary_number(column.type) else column.to_pylist()
    return Prior(values, column_values(secrets, "secrets"))


def parquet_counts(stream: BinaryIO, wanted: tuple[str, ...]) -> Counts:
    """Yield combinations of the wanted values and how often each occurs, batch by batch of a Parquet file."""
    source = require("pyarrow.parquet", "tables").ParquetFile(stream)
    columns_exist(source.schema_arrow.names, wanted)
    return _counts(source.iter_batches(columns=list(dict.fromkeys(wanted))), wanted)


def arrow_counts(stream: BinaryIO, wanted: tuple[str, ...]) -> Counts:
    """Yield combinations of the wanted values and how often each occurs, batch by batch of an Arrow file."""
    source = _reader(stream)
    columns_exist(source.schema.names, wanted)
    batches = source if hasattr(source, "__iter__") else map(source.get_batch, range(source.num_record_batches))
    return _counts(batches, wanted)


def parquet_columns(stream: BinaryIO) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    return list(require("pyarrow.parquet", "tables").read_schema(stream).names)


def arrow_columns(stream: BinaryIO) -> list[str]:
    """Return the names of the columns of an Arrow file."""
    return list(_reader(stream).schema.names)


def write_parquet(what: Channel, stream: BinaryIO) -> None:
    """Write a Parquet file; exact entries are text."""
    require("pyarrow.parquet", "tables").write_table(_table(what), stream)


def write_arrow(what: Channel, stream: BinaryIO) -> None:
    """Write an Arrow file; exact entries are text."""
    table = _table(what)
    with require("pyarrow", "tables").ipc.new_file(stream, table.schema) as sink:
        sink.write_table(table)


def _reader(stream: BinaryIO) -> Any:
    ipc = require("pyarrow", "tables").ipc
    head = stream.read(6)
    stream.seek(0)
    return ipc.open_file(stream) if head == b"ARROW1" else ipc.open_stream(stream)


def _table(what: Channel) -> Any:
    columns = [texts(what.secrets, "secrets"), *map(list, zip(*cells(what), strict=True))]
    return require("pyarrow", "tables").table(columns, names=["secret", *texts(what.outcomes, "outcomes")])


def _is_binary_number(kind: Any) -> bool:
    types = require("pyarrow", "tables").types
    return types.is_integer(kind) or types.is_floating(kind)


def _counts(batches: Iterable[Any], wanted: tuple[str, ...]) -> Counts:
    pyarrow, names = require("pyarrow", "tables"), list(dict.fromkeys(wanted))
    for batch in batches:
        table = pyarrow.Table.from_batches([batch]).select(names)
        counted = table.group_by(names).aggregate([([], "count_all")])
        columns = {name: counted.column(name).to_pylist() for name in names}
        values = zip(*(columns[name] for name in wanted), strict=True)
        yield from zip(values, counted.column("count_all").to_pylist(), strict=True)
