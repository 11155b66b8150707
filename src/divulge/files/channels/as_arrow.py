"""Parquet and Arrow, in the shape of the CSV file; columns of text hold exact numbers (extra: tables)."""

from typing import Any, BinaryIO

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.channels.cells import cells, texts
from divulge.files.settings import current
from divulge.files.tables.columnar import longest_text
from divulge.model.channel import Channel
from divulge.model.prior import Prior
from divulge.model.tables import column_values


def parquet(stream: BinaryIO) -> Any:
    """Return the table of a Parquet file, after measuring it."""
    with require("pyarrow.parquet", "tables").ParquetFile(stream) as file:
        limits, about, schema = current().limits, file.metadata, file.schema_arrow
        if any(require("pyarrow.types", "tables").is_nested(kind) for kind in schema.types):
            raise DivulgeError("must have columns of text or numbers; one holds a list or a record.")
        limits.allow("it", "cells", about.num_rows * about.num_columns)
        longest = longest_text(stream, schema.names, limits)
        limits.allow("it, unpacked,", "bytes", longest * about.num_rows * (about.num_columns if longest > 64 else 1))
        stream.seek(0)
        groups = map(about.row_group, range(about.num_row_groups))
        limits.allow("it, unpacked,", "bytes", sum(group.total_byte_size for group in groups))
        return _checked(file.read())


def arrow(stream: BinaryIO) -> Any:
    """Return the table of an Arrow file or stream (also called Feather)."""
    ipc = require("pyarrow", "tables").ipc
    head = stream.read(6)
    stream.seek(0)
    with ipc.open_file(stream) if head == b"ARROW1" else ipc.open_stream(stream) as reader:
        return _checked(reader.read_all())


def _checked(table: Any) -> Any:
    """Return a table in which nothing points out of its buffers."""
    table.validate(full=True)
    current().limits.allow("it", "cells", table.num_rows * table.num_columns)
    return table


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


def write_parquet(what: Channel, stream: BinaryIO) -> None:
    """Write a Parquet file; exact entries are text."""
    require("pyarrow.parquet", "tables").write_table(_table(what), stream)


def write_arrow(what: Channel, stream: BinaryIO) -> None:
    """Write an Arrow file; exact entries are text."""
    table = _table(what)
    with require("pyarrow", "tables").ipc.new_file(stream, table.schema) as sink:
        sink.write_table(table)


def _table(what: Channel) -> Any:
    columns = [texts(what.secrets, "secrets"), *map(list, zip(*cells(what), strict=True))]
    return require("pyarrow", "tables").table(columns, names=["secret", *texts(what.outcomes, "outcomes")])


def _is_binary_number(kind: Any) -> bool:
    types = require("pyarrow", "tables").types
    return types.is_integer(kind) or types.is_floating(kind)
