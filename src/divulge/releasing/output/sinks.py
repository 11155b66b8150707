"""Tables out: batches are written under a temporary name, and appear under the final one whole or not at all."""

import base64
import datetime
import errno
import hashlib
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from divulge import staging
from divulge.errors import DivulgeError, number_of, printable
from divulge.extras import require
from divulge.files.formats import WRITTEN
from divulge.files.opening import files_below, name_of, naming, regular
from divulge.files.settings import current
from divulge.files.tables.table import require_utf8
from divulge.files.tables.values import values_of
from divulge.late import late
from divulge.releasing.drawing.coding import DRAWN
from divulge.releasing.output.bare import bare_batch, coded_batch, coded_schema, plain_batch, plain_schema
from divulge.releasing.session import TableName

ROWS_A_PART = 1 << 24
"""Rows in one file of a folder."""


_VALUES_AT_ONCE = 1 << 12
"""Values that a Parquet file takes at a time: what it works out for each such portion costs as much as the values."""


class Writer(Protocol):
    """What takes batches until it is closed."""

    def write(self, batch: Any) -> None:
        """Take one record batch."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class ParquetWriter:
    """One Parquet file. Dictionaries go out as they are, and are read back as the plain text they hold.

    The extremes of each part are kept for columns that go out unaltered; those of fresh draws would tell a reader
    nothing, as any part has nearly all outcomes, and to find them takes half as long as to write the values.
    """

    def __init__(self, path: Path, schema: Any) -> None:
        parquet = require("pyarrow.parquet", "tables")
        declared = base64.b64encode(plain_schema(schema).serialize().to_pybytes())
        self._plain = coded_schema(schema)
        self._schema = self._plain.with_metadata({"ARROW:schema": declared})
        unaltered = [field.name for field in schema if field.metadata != DRAWN]
        self._writer = parquet.ParquetWriter(
            path, self._schema, store_schema=False, write_batch_size=_VALUES_AT_ONCE, write_statistics=unaltered
        )

    def write(self, batch: Any) -> None:
        """Write one row group."""
        batch = coded_batch(batch, self._plain)
        self._writer.write_batch(batch.replace_schema_metadata(self._schema.metadata), row_group_size=batch.num_rows)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class ArrowWriter:
    """An Arrow file with plain columns."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = plain_schema(schema)
        self._writer = require("pyarrow", "tables").ipc.new_file(str(path), self._schema)

    def write(self, batch: Any) -> None:
        """Write one batch."""
        self._writer.write_batch(bare_batch(plain_batch(batch, self._schema)))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


class CsvWriter:
    """A CSV file, text in quotes. Cells that a spreadsheet would run are told, or escaped if asked for."""

    def __init__(self, path: Path, schema: Any) -> None:
        csv = require("pyarrow.csv", "tables")
        options = csv.WriteOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        self._schema, self._formulas = plain_schema(schema), Formulas()
        self._names = self._formulas.named(self._schema.names)
        fields = [field.with_name(name) for field, name in zip(self._schema, self._names, strict=True)]
        written = require("pyarrow", "tables").schema(fields)
        self._writer = csv.CSVWriter(str(path), written, write_options=options)

    def write(self, batch: Any) -> None:
        """Write one batch."""
        seen = self._formulas.seen(plain_batch(batch, self._schema))
        self._writer.write_batch(seen.rename_columns(self._names))

    def close(self) -> None:
        """Write what is left, and tell of formulas."""
        self._writer.close()
        self._formulas.tell()


class Formulas:
    """Cells of text that a spreadsheet takes for a formula: they begin with =, @, a tab, or a sign without a number.

    Some spreadsheets take the wide signs of East Asian text for the same, and look behind an end of line.
    """

    _SIGNS = "=@+-\t\r\n\uff1d\uff20\uff0b\uff0d"
    _BEGIN = f"^[{re.escape(_SIGNS)}]"
    _NUMBER = r"^[+-]?(?:[0-9][0-9.,]*|[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?$"

    def __init__(self) -> None:
        settings = current()
        self._escape, self._tell = settings.escape_formulas, settings.tell
        self._found: dict[str, int] = {}
        self._heads = 0

    @classmethod
    def is_one(cls, text: str) -> bool:
        """Say whether a spreadsheet takes a text for a formula."""
        return text[:1] in cls._SIGNS and bool(text) and not re.search(cls._NUMBER, text)

    def named(self, names: Sequence[str]) -> list[str]:
        """Return the names of columns, counted and escaped as the cells below them are."""
        self._heads = sum(map(self.is_one, names))
        found = [f"'{name}" if self._escape and self.is_one(name) else name for name in names]
        if len(set(found)) < len(set(names)):
            raise DivulgeError.of("escape_formulas", "leave names of columns apart", "two of them", "alike behind it")
        return found

    def seen(self, batch: Any) -> Any:
        """Return the batch, its formulas counted, and behind an apostrophe where they are to be escaped."""
        pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
        columns = list(batch.columns)
        for k, array in enumerate(columns):
            if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
                continue
            begins = compute.match_substring_regex(array, self._BEGIN)
            formulas = compute.and_not(begins, compute.match_substring_regex(array, self._NUMBER))
            count = compute.sum(formulas).as_py() or 0
            if count:
                name = batch.schema.names[k]
                self._found[name] = self._found.get(name, 0) + count
            if count and self._escape:
                marked = compute.binary_join_element_wise("'", array, "")
                columns[k] = compute.if_else(formulas, marked, array).cast(array.type)
        return pa.record_batch(columns, schema=batch.schema)

    def tell(self) -> None:
        """Say how many there were, in which columns."""
        done = "were written behind an apostrophe" if self._escape else (
            "went out as they are: --escape-formulas puts an apostrophe before them"
        )  # fmt: skip
        if self._heads:
            self._tell(f"{number_of(self._heads, 'name')} of columns are formulas for a spreadsheet; they {done}.")
        for name, count in self._found.items():
            self._tell(f"{count:,} cells of column {name!r} are formulas for a spreadsheet; they {done}.")


def refuse_renamed(final: Path | None, name: str) -> None:
    """Refuse a name under which a file would not give a released column back."""
    writer = None if final is None else WRITERS.get(final.suffix.lower())
    if current().escape_formulas and writer is CsvWriter and Formulas.is_one(name):
        raise DivulgeError.of(
            "escape_formulas", "leave the name of what is released as it is", repr(name), "a formula for a spreadsheet",
            "choose another name (released_as=, --as), or write Excel, Parquet or Arrow.",
        )  # fmt: skip


def refuse_changed(final: Path | None, column: str, texts: Sequence[str | None], type_: Any, alone: bool) -> None:
    """Refuse outcomes that a file of this kind would not give back as they are; None is a missing value.

    An empty text is a missing value in CSV and Excel, and a formula gets an apostrophe where it is to be escaped. Excel
    keeps 16 digits of a number, and of a moment no zone and no microseconds.
    """
    kind = None if final is None else WRITERS.get(final.suffix.lower())
    if kind not in (CsvWriter, WorkbookWriter):
        return
    outcomes = [text for text in texts if text is not None]
    if kind is WorkbookWriter and alone and None in texts:
        raise DivulgeError.of(
            "sink", "be a CSV, Parquet or Arrow file for one column with missing values", f"column {column!r}",
            "such a one", "a sheet has no rows without a cell.",
        )  # fmt: skip
    types = require("pyarrow.types", "tables")
    if kind is WorkbookWriter and (
        (types.is_floating(type_) and any(float(f"{float(text):.16g}") != float(text) for text in outcomes))
        or (types.is_timestamp(type_) and (type_.tz or any(re.search(r"\.[0-9]{3}0*[1-9]", t) for t in outcomes)))
    ):
        raise DivulgeError.of(
            "sink", "be a CSV, Parquet or Arrow file for what Excel does not keep", f"column {column!r}",
            "one of numbers with 17 digits, or of moments with a zone or microseconds",
        )  # fmt: skip
    if "" in outcomes:
        raise DivulgeError.of(
            "sink", "be a Parquet or Arrow file for an outcome that is an empty text", f"column {column!r}",
            "one that has it", "in CSV and Excel it would be a missing value; name it first, or count it as missing.",
        )  # fmt: skip
    if current().escape_formulas and kind is CsvWriter and any(map(Formulas.is_one, outcomes)):
        raise DivulgeError.of(
            "escape_formulas", "leave what is released as it was drawn", f"an outcome of column {column!r}",
            "a formula for a spreadsheet", "write Excel, Parquet or Arrow, or give the value another name first.",
        )  # fmt: skip


class WorkbookWriter:
    """An Excel workbook of one sheet. Text is text there: no formula, no link."""

    MOST_ROWS = 1_048_575
    LONGEST = 32_767

    def __init__(self, path: Path, schema: Any) -> None:
        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
                   "strings_to_numbers": False, "remove_timezone": True, "nan_inf_to_errors": True,
                   "tmpdir": str(path.parent)}  # fmt: skip
        self._schema, self._rows = plain_schema(schema), 0
        self._book = require("xlsxwriter", "tables").Workbook(str(path), options)
        self._sheet = self._book.add_worksheet()
        formats = {"date32[day]": "yyyy-mm-dd", "timestamp": "yyyy-mm-dd hh:mm:ss", "time": "hh:mm:ss"}
        self._formats = {kind: self._book.add_format({"num_format": text}) for kind, text in formats.items()}
        for column, name in enumerate(self._schema.names):
            self._sheet.write_string(0, column, name)

    def write(self, batch: Any) -> None:
        """Write one batch."""
        if self._rows + batch.num_rows > self.MOST_ROWS:
            raise DivulgeError(
                f"a workbook has room for {self.MOST_ROWS:,} rows; the table has more. Nothing was published. Hint: "
                "choose a name that ends in .csv or .parquet."
            )
        columns = [values_of(column) for column in plain_batch(batch, self._schema).columns]
        for row, values in enumerate(zip(*columns, strict=True), start=self._rows + 1):
            for column, value in enumerate(values):
                self._cell(row, column, value)
        self._rows += batch.num_rows

    def _cell(self, row: int, column: int, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value)
        elif isinstance(value, (int, float)) and abs(value) < 2**53:
            self._sheet.write_number(row, column, value)
        elif isinstance(value, datetime.datetime) and value.year >= 1900:
            self._sheet.write_datetime(row, column, value, self._formats["timestamp"])
        elif isinstance(value, datetime.date) and value.year >= 1900:
            self._sheet.write_datetime(row, column, value, self._formats["date32[day]"])
        elif isinstance(value, datetime.time):
            self._sheet.write_datetime(row, column, value, self._formats["time"])
        else:
            text = str(value)
            if len(text) > self.LONGEST:
                raise DivulgeError(
                    f"a cell of a workbook has room for {self.LONGEST:,} characters; one has {len(text):,}. Nothing "
                    "was published. Hint: choose a name that ends in .csv or .parquet."
                )
            self._sheet.write_string(row, column, text)

    def close(self) -> None:
        """Write the file."""
        refused = require("xlsxwriter.exceptions", "tables")
        try:
            self._book.close()
        except refused.FileCreateError as error:
            raise error.args[0] from None  # what the system said, as other writers do
        except refused.FileSizeError:
            raise DivulgeError(
                "a workbook has room for 4 GiB of cells; the table has more. Nothing was published. Hint: choose a "
                "name that ends in .csv or .parquet."
            ) from None


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
        self._batches.append(bare_batch(plain_batch(batch, self._schema)))

    def close(self) -> None:
        """Do nothing: the table is there."""

    def table(self) -> Any:
        """Return the batches as one pyarrow Table."""
        return require("pyarrow", "tables").Table.from_batches(self._batches, self._schema)


_WRITERS: dict[str, Callable[[Path, Any], Writer]] = {
    "CSV": CsvWriter, "Parquet": ParquetWriter, "Arrow": ArrowWriter, "Excel": WorkbookWriter,
}  # fmt: skip

WRITERS = {suffix: _WRITERS[name] for name, suffixes in WRITTEN.items() for suffix in suffixes} | {"": FolderWriter}
"""Suffix of a file -> how it is written; a name without a suffix is a folder of Parquet files."""


def writer_for(final: Path | TableName) -> Callable[[Any, Any], Writer]:
    """Return how a file with the suffix of `final` is written, or a table of a catalog."""
    if isinstance(final, TableName):
        return late("divulge.releasing.output.catalog:TableWriter")
    try:
        return WRITERS[final.suffix.lower()]
    except KeyError:
        known = ", ".join(filter(None, WRITERS))
        raise DivulgeError(
            f"{printable(final.name)}: must have a name that ends in {known}, or without a suffix, for a folder of "
            "Parquet files."
        ) from None


def place(path: str | os.PathLike[str], argument: str = "sink") -> Path:
    """Return the absolute path of a file to be written; refuse what can be none."""
    DivulgeError.unless(path, (str, os.PathLike), argument, "be the path of a file to write")
    text = cast("str | bytes", os.fspath(path))
    if isinstance(text, str) and text:
        require_utf8(Path(text))
        final = Path(os.path.abspath(text))
        if final.name:
            return final
    raise DivulgeError.of(argument, "be the path of a file to write", "it", printable(repr(text)))


@contextmanager
def staged(final: Path) -> Generator[Path]:
    """Give the path of what is to become `final`, in a hidden folder beside it, and one message for what goes wrong."""
    try:
        with staging.under_way(final) as temporary:
            yield temporary
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "the disk may be full"
        raise DivulgeError(f"{printable(final.name)}: cannot be written: {reason}. Nothing was published.") from None
    except require("pyarrow", "tables").ArrowException:
        raise DivulgeError(
            f"{printable(final.name)}: cannot be written: its format has no place for a type of the table. Nothing was "
            "published. Hint: leave other columns out (only_column=True, --only-column), or choose another format."
        ) from None


def publish(temporary: Path, final: Path, force: bool) -> None:
    """Give what is complete under `temporary` its final name, atomically; refuse a name that is taken unless forced.

    A folder that is replaced is taken away before.
    """
    flush(temporary)
    folder = temporary.is_dir()
    if not force and not folder:
        _claim(temporary, final)
        return
    refuse_taken(final, force, folder=folder)
    if not (folder and final.exists()):
        os.replace(temporary, final)
        return
    old = temporary.with_name("old")
    names = staging.Naming.of({final: temporary}, {final: old})
    try:
        final.rename(old)
        os.replace(temporary, final)
    except BaseException:
        if names.undone():
            raise
    names.end()


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


def refuse_taken(final: Path, force: bool, *, folder: bool = False) -> None:
    """Refuse a name that is taken, unless forced; even then a device, a folder in the place of a file or a file in that
    of a folder, and a folder with more than a released table.
    """
    try:
        os.lstat(final)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:  # too long a name, say
        raise DivulgeError(f"{printable(final.name)}: cannot be written: {error.strerror}.") from None
    if os.path.exists(final) and not final.is_dir() and not final.is_file():
        raise DivulgeError(f"{printable(final.name)}: is a device or pipe, and is not replaced. Hint: name a file.")
    if final.is_dir() != folder and (force or final.is_dir()):
        found, other = ("folder", "file") if final.is_dir() else ("file", "folder")
        raise DivulgeError(f"{printable(final.name)}: is a {found}, and is not replaced by a {other}.")
    if not force:
        inside = f"; name a file in it, such as {printable(final.name)}/released.csv" if final.is_dir() else ""
        raise DivulgeError(
            f"{printable(final.name)}: there is one already. Hint: force=True, or --force, replaces it{inside}."
        )
    if folder and not all(path.is_file() and part_of_a_table(path.name) for path in final.iterdir()):
        raise DivulgeError(
            f"{printable(final.name)}: is a folder that holds more than a table, and is not replaced. Hint: choose "
            "another name."
        )


def part_of_a_table(name: str) -> bool:
    """Say whether a file of this name is part of a folder of Parquet files."""
    return name.endswith((".parquet", ".crc")) or name == "_SUCCESS"


def digest(path: Path | TableName) -> str:
    """Return the SHA-256 of a file, of the names and files of a folder, or of the rows of a table, in hexadecimal."""
    if isinstance(path, TableName):
        return late("divulge.releasing.spark:digest_at")(path, True)
    if not path.is_dir():
        with naming(name_of(path)), regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return of_parts({name: digest(path / name) for name in parts_in(path)})


def parts_in(folder: Path) -> list[str]:
    """Return the names of the Parquet files in a folder and below."""
    return [file.relative_to(folder).as_posix() for file in files_below(folder) if file.suffix == ".parquet"]


def of_parts(digests: Mapping[str, str]) -> str:
    """Return the digest of a folder from the names and digests of its files.

    >>> of_parts({"b": "1", "a": "0"}) == of_parts({"a": "0", "b": "1"}) != of_parts({"a": "1", "b": "0"})
    True
    """
    whole = hashlib.sha256()
    for name in sorted(digests, key=lambda name: Path(name).parts):
        whole.update(f"{name}\0{digests[name]}\n".encode())
    return whole.hexdigest()


def flush(path: Path | TableName) -> None:
    """Wait until a file, or what is in a folder, is on the disk; of a table of a catalog others see to that."""
    if isinstance(path, TableName):
        return
    for part in files_below(path) if path.is_dir() else [path]:
        if part.is_file():
            _sync(part, os.O_RDONLY)


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if hasattr(os, "O_DIRECTORY"):
        _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
