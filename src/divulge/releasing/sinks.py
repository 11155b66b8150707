"""Tables out: batches are written under a temporary name, and appear under the final one whole or not at all."""

import base64
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.shown import printable
from divulge.releasing.sources import opener

ROWS_A_PART = 1 << 24
"""Rows in one file of a folder."""


class Writer(Protocol):
    """What takes batches until it is closed."""

    def write(self, batch: Any) -> None:
        """Take one record batch."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


def plain_schema(schema: Any) -> Any:
    """Return the schema with plain text in place of dictionaries of text, and without metadata."""
    pa = require("pyarrow", "tables")
    fields = [
        pa.field(f.name, f.type.value_type) if pa.types.is_dictionary(f.type) else pa.field(f.name, f.type)
        for f in schema
    ]
    return pa.schema(fields)


class ParquetWriter:
    """One Parquet file. Dictionaries go out as they are, and are read back as the plain text they hold."""

    def __init__(self, path: Path, schema: Any) -> None:
        parquet = require("pyarrow.parquet", "tables")
        declared = base64.b64encode(plain_schema(schema).serialize().to_pybytes())
        self._schema = schema.with_metadata({"ARROW:schema": declared})
        self._writer = parquet.ParquetWriter(path, self._schema, store_schema=False)

    def write(self, batch: Any) -> None:
        """Write one row group."""
        self._writer.write_batch(batch.replace_schema_metadata(self._schema.metadata), row_group_size=batch.num_rows)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class PlainWriter:
    """A CSV or Arrow file, through the writer of its format; dictionaries become plain text."""

    def __init__(self, path: Path, schema: Any, writer: Callable[[str, Any], Any]) -> None:
        self._schema = plain_schema(schema)
        self._writer = writer(str(path), self._schema)

    def write(self, batch: Any) -> None:
        """Write one batch."""
        self._writer.write_batch(plain_batch(batch, self._schema))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


def plain_batch(batch: Any, schema: Any) -> Any:
    """Return the batch with the plain types of `schema`."""
    pa = require("pyarrow", "tables")
    columns = [a if a.type.equals(f.type) else a.cast(f.type) for a, f in zip(batch.columns, schema, strict=True)]
    return pa.record_batch(columns, schema=schema)


class FolderWriter:
    """A folder of Parquet files of at most `ROWS_A_PART` rows each."""

    def __init__(self, path: Path, schema: Any) -> None:
        path.mkdir()
        self._path, self._schema, self._parts, self._rows = path, schema, 0, 0
        self._writer = self._next()

    def _next(self) -> ParquetWriter:
        self._parts, self._rows = self._parts + 1, 0
        return ParquetWriter(self._path / f"part-{self._parts - 1:05d}.parquet", self._schema)

    def write(self, batch: Any) -> None:
        """Write one batch, in a new file when the current one is full."""
        if self._rows + batch.num_rows > ROWS_A_PART:
            self._writer.close()
            self._writer = self._next()
        self._writer.write(batch)
        self._rows += batch.num_rows

    def close(self) -> None:
        """Finish the last file."""
        self._writer.close()


class MemoryWriter:
    """A table in memory."""

    def __init__(self, schema: Any) -> None:
        self._schema, self._batches = plain_schema(schema), list[Any]()

    def write(self, batch: Any) -> None:
        """Keep one batch."""
        self._batches.append(plain_batch(batch, self._schema))

    def close(self) -> None:
        """Do nothing: the table is there."""

    def table(self) -> Any:
        """Return the batches as one pyarrow Table."""
        return require("pyarrow", "tables").Table.from_batches(self._batches, self._schema)


def _csv(path: Path, schema: Any) -> Writer:
    csv = require("pyarrow.csv", "tables")
    options = csv.WriteOptions(delimiter="\t" if path.name.endswith(".tsv.partial") else ",")
    return PlainWriter(path, schema, lambda name, plain: csv.CSVWriter(name, plain, write_options=options))


def _arrow(path: Path, schema: Any) -> Writer:
    return PlainWriter(path, schema, require("pyarrow", "tables").ipc.new_file)


WRITERS: dict[str, Callable[[Path, Any], Writer]] = {
    ".parquet": ParquetWriter, ".pq": ParquetWriter, ".csv": _csv, ".tsv": _csv, ".arrow": _arrow, ".feather": _arrow,
    ".ipc": _arrow, "": FolderWriter,
}  # fmt: skip
"""Suffix of a file -> how it is written; a name without a suffix is a folder of Parquet files."""


def writer_for(final: Path) -> Callable[[Path, Any], Writer]:
    """Return how a file with the suffix of `final` is written."""
    if final.suffix:
        opener(final)
    return WRITERS[final.suffix.lower()]


@contextmanager
def staged(final: Path) -> Generator[Path]:
    """Give a temporary name beside `final`, and remove what is still there at the end.

    The name is hidden and ends in `.partial`. Only a killed process leaves it behind.
    """
    temporary = final.with_name(f".{secrets.token_hex(8)}{final.suffix}.partial")
    try:
        yield temporary
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk may be full"
        raise DivulgeError(f"{printable(final.name)}: cannot be written: {reason}. Nothing was published.") from None
    except require("pyarrow", "tables").ArrowException:
        raise DivulgeError(
            f"{printable(final.name)}: cannot be written: its format has no place for a type of the table. Nothing was "
            "published. Hint: leave other columns out (only_column=True, --only-column), or choose another format."
        ) from None
    finally:
        remove(temporary)


def publish(temporary: Path, final: Path, force: bool) -> None:
    """Give what is complete under `temporary` its final name, atomically; refuse a name that is taken unless forced."""
    _flush(temporary)
    if not force and not temporary.is_dir():
        _claim(temporary, final)
    elif force and final.exists() and (final.is_dir() or temporary.is_dir()):
        refuse_taken(final, force)
        old = final.with_name(f".{secrets.token_hex(8)}.partial")
        final.rename(old)
        temporary.rename(final)
        remove(old)
    else:
        refuse_taken(final, force)
        os.replace(temporary, final)
    if hasattr(os, "O_DIRECTORY"):
        _sync(final.parent, os.O_RDONLY | os.O_DIRECTORY)


def _claim(temporary: Path, final: Path) -> None:
    """Rename a file to a name that nothing has, also when another process takes it at this moment."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        refuse_taken(final, force=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        refuse_taken(final, force=False)
        os.replace(temporary, final)


def refuse_taken(final: Path, force: bool) -> None:
    """Refuse a name that is taken, unless forced; a folder that holds anything but a released table, even then."""
    if not os.path.lexists(final):
        return
    if not force:
        raise DivulgeError(f"{printable(final.name)}: there is one already. Hint: force=True, or --force, replaces it.")
    if final.is_dir() and not all(_part_of_a_table(path) for path in final.iterdir()):
        raise DivulgeError(
            f"{printable(final.name)}: is a folder that holds more than a table, and is not replaced. Hint: choose "
            "another name."
        )


def _part_of_a_table(path: Path) -> bool:
    return path.is_file() and (path.suffix in (".parquet", ".crc") or path.name == "_SUCCESS")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and files of a folder, in hexadecimal."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for part in sorted(path.rglob("*.parquet")):
        whole.update(f"{part.relative_to(path).as_posix()}\0{digest(part)}\n".encode())
    return whole.hexdigest()


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    for part in path.rglob("*") if path.is_dir() else [path]:
        if part.is_file():
            _sync(part, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
