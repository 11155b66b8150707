"""A table that can be streamed: its schema, and record batches of Arrow that never grow in memory."""

import io
import os
import stat
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Protocol, TypeAlias

from divulge import stopping
from divulge.errors import DivulgeError, InputFileError, printable
from divulge.extras import require
from divulge.files.opening import columns_exist, regular
from divulge.files.settings import Limits, current
from divulge.model.arraylike import HasArrow
from divulge.model.shown import Shown

MOST_ROWS = 1 << 20
"""Rows in a batch of a narrow table; a wide one gets fewer, so that a batch takes about as much memory."""


class Lazy(Protocol):
    """A table that is worked out when it is asked for: a LazyFrame of polars, a DataFrame of Spark."""

    def collect(self, *args: Any, **kwargs: Any) -> Any:
        """Return its rows."""
        ...


class Batches(Protocol):
    """A Dataset of pyarrow."""

    def to_batches(self, *args: Any, **kwargs: Any) -> Any:
        """Return its rows as record batches."""
        ...


Stream = Callable[[Sequence[str], Sequence[str]], Iterator[Any]]
"""From the columns wanted, and those that should arrive as dictionaries, to record batches."""


def batch_rows(columns: int) -> int:
    """Return how many rows a batch of this many columns should have."""
    return max(1 << 12, min(MOST_ROWS, (MOST_ROWS << 2) // max(columns, 1)))


class _Pass:
    """The rows of one pass over a table, whichever of its parts they are in."""

    def __init__(self, tell: Callable[[int, int | None], object], rows: int | None) -> None:
        self._tell, self._rows, self._done, self._lock = tell, rows, 0, Lock()

    def through(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            with self._lock:
                self._done += batch.num_rows
                self._tell(self._done, self._rows)

    def of(self, stream: Stream) -> Stream:
        return lambda columns, coded: self.through(stream(columns, coded))


@dataclass(frozen=True)
class Source(Shown):
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
    divided : function of columns and a number, or None
        Makes about so many parts of a long table, which can be read side by side.
    restore : function of a pyarrow.Table
        Turns a table back into what was given: pandas to pandas, polars to polars, anything else to pyarrow.

    Examples
    --------
    >>> source = dv.open_table({"answer": ["yes", "no", "no"]})
    >>> source.schema.names, source.rows
    (['answer'], 3)
    """

    name: str
    schema: Any
    rows: int | None
    stream: Stream
    path: Path | None = None
    codable: tuple[str, ...] = ()
    restore: Callable[[Any], Any] = field(default_factory=lambda: lambda table: table)
    divided: "Callable[[Sequence[str], int], list[Source]] | None" = None

    def parts(self, columns: Sequence[str], many: int = 2) -> "list[Source]":
        """Return sources of `columns` that can be read side by side; their rows, one after the other, are the table's.

        Of a long file there are about so `many`; each costs its opening.

        Examples
        --------
        >>> len(dv.open_table({"answer": ["yes", "no", "no"]}).parts(["answer"]))
        1
        """
        return self.divided(columns, many) if self.divided else [self]

    def watched(self, tell: Callable[[int, int | None], object]) -> "Source":
        """Return the same table; every pass over it tells how many rows were read, of how many where that is known.

        Examples
        --------
        >>> source = dv.open_table({"answer": ["yes", "no", "no"]})
        >>> [batch.num_rows for batch in source.watched(print).batches()]
        3 3
        [3]
        """

        def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
            return _Pass(tell, self.rows).through(self.stream(columns, coded))

        def parts(columns: Sequence[str], many: int) -> "list[Source]":
            one = _Pass(tell, self.rows)
            return [replace(part, stream=one.of(part.stream)) for part in self.parts(columns, many)]

        return replace(self, stream=stream, divided=parts if self.divided else None)

    def batches(self, columns: Sequence[str] | None = None, coded: Sequence[str] = ()) -> Iterator[Any]:
        """Yield record batches of `columns` (all when not given), in the order of the rows.

        Every batch is checked in full before it is handed over: no offset of it points out of its buffers.

        Examples
        --------
        >>> source = dv.open_table({"answer": ["yes", "no", "no"], "age": [1, 2, 3]})
        >>> [batch.num_rows for batch in source.batches(["age"])]
        [3]
        """
        names = self.schema.names if columns is None else list(columns)
        self.require_columns([*names, *coded])
        read = set(names)
        with reading(self.name):
            for batch in self.stream(names, [name for name in coded if name in read]):
                stopping.look()
                validate(batch)
                require_moments(batch)
                yield batch

    def require_columns(self, columns: Sequence[str]) -> None:
        """Refuse a column that the table lacks, or has twice.

        Examples
        --------
        >>> dv.open_table({"sex": ["f"]}).require_columns(["sexe"])
        Traceback (most recent call last):
        divulge.errors.InputFileError: table: has no column 'sexe'. Did you mean 'sex'? Hint: its columns are 'sex'.
        """
        try:
            columns_exist(self.schema.names, columns)
        except DivulgeError as error:
            raise InputFileError(f"{printable(self.name)}: {error}") from None

    def require_values(self, columns: Sequence[str]) -> None:
        """Refuse columns that the table lacks, or whose values have no text to be told apart by.

        Examples
        --------
        >>> dv.open_table({"answer": ["yes"]}).require_values(["answer"])
        """
        self.require_columns(columns)
        for column in columns:
            kind = self.schema.field(column).type
            if not is_plain(kind):
                raise InputFileError(
                    f"{printable(self.name)}: column {column!r} must hold text, numbers, booleans, dates or times; it "
                    f"holds {printable(str(kind))}. Hint: cast it to text first."
                )


@dataclass(frozen=True)
class Content:
    """The bytes of a table: of a file, opened anew for each pass and found unchanged; or of standard input."""

    name: str
    suffix: str
    size: int
    path: Path | None = None
    content: bytes = b""
    stamp: tuple[int, ...] = ()

    @classmethod
    def of_file(cls, path: Path) -> "Content":
        """Return the content of a file."""
        with regular(path) as stream:
            found = os.fstat(stream.fileno())
        if not found.st_size:
            raise InputFileError(f"{printable(path.name)}: is empty.")
        return cls(printable(path.name), path.suffix.lower(), found.st_size, path, stamp=_stamp(found))

    def open(self) -> BinaryIO:
        """Return a stream of it, from its beginning."""
        if self.path is None:
            return io.BytesIO(self.content)
        stream = regular(self.path)
        if _stamp(os.fstat(stream.fileno())) != self.stamp:
            stream.close()
            raise InputFileError(f"{self.name}: must stay as it is while it is read; it was changed meanwhile.")
        return stream

    def _stands(self) -> bool:
        """Say whether the file is there as it was."""
        try:
            return self.path is None or _stamp(os.stat(self.path)) == self.stamp
        except OSError:
            return False

    def source(self, schema: Any, rows: int | None, stream: Stream, codable: tuple[str, ...] = ()) -> Source:
        """Return the Source of this content, which ends with an error when the file changes on the way."""

        def unchanged(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
            yield from stream(columns, coded)
            if not self._stands():
                self.open().close()  # says in words what became of it

        return Source(self.name, schema, rows, unchanged, self.path, codable)

    @property
    def limits(self) -> Limits:
        """The limits of this call."""
        return current().limits


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return stat.S_IFMT(found.st_mode), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def is_plain(kind: Any) -> bool:
    """Say whether values of an Arrow type can be secrets: text, numbers, booleans, dates and times, coded or not."""
    types = require("pyarrow.types", "tables")
    if types.is_dictionary(kind):
        return is_plain(kind.value_type)
    if types.is_decimal(kind) and kind.scale < 0:  # 15E+2 for 1500, which no other format knows
        return False
    plain = (
        types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_integer,
        types.is_floating, types.is_decimal, types.is_date, types.is_time, types.is_timestamp, types.is_duration,
        types.is_null,
    )  # fmt: skip
    return any(test(kind) for test in plain)


def validate(batch: Any) -> None:
    """Check a record batch in full: no offset, and no position in a dictionary, points out of its buffers.

    Of a dictionary only the bounds of the positions are looked at, which is the same at an eighth of the time.
    """
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    batch.validate()
    for column in batch.columns:
        if not pa.types.is_dictionary(column.type):
            column.validate(full=True)
            continue
        column.dictionary.validate(full=True)
        ends = compute.min_max(column.indices)
        if ends["min"].is_valid and not 0 <= ends["min"].as_py() <= ends["max"].as_py() < len(column.dictionary):
            raise pa.ArrowInvalid("a position in a dictionary points out of it")


_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_DAYS = (-719_162, 2_932_897)
"""The first day of the year 1, and the one after the last of 9999, counted from 1970."""

_MOST_DAYS = 999_999_999
"""The days of the longest duration."""


def require_moments(batch: Any) -> None:
    """Refuse a date, time or duration that has no text: beyond the years 1 to 9999, or in an unknown zone."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        array = column.dictionary if pa.types.is_dictionary(column.type) else column
        kind, types = array.type, pa.types
        if not types.is_temporal(kind) or types.is_interval(kind):
            continue
        place, zone = f"column {printable(repr(name))}", getattr(kind, "tz", None)
        if zone is not None and not _is_zone(zone):
            raise DivulgeError(f"must have time zones that are known; {place} is in another.")
        size = 32 if types.is_date32(kind) or types.is_time32(kind) else 64
        found = compute.min_max(array.cast(f"int{size}")).as_py()
        second = 1 if types.is_date32(kind) else _SECONDS["ms" if types.is_date64(kind) else kind.unit]
        day = second if types.is_date32(kind) else second * 86_400
        low, high = (0, 1) if types.is_time(kind) else (-_MOST_DAYS, _MOST_DAYS) if types.is_duration(kind) else _DAYS
        room = day if zone is not None else 0  # a zone moves a moment by some hours
        if found["min"] is not None and not low * day + room <= found["min"] <= found["max"] < high * day - room:
            raise DivulgeError(f"must have dates of the years 1 to 9999, and times of a day; {place} has others.")


def _is_zone(zone: str) -> bool:
    try:
        require("pyarrow", "tables").lib.string_to_tzinfo(zone)
    except (ValueError, KeyError, OSError):
        return False
    return True


@contextmanager
def reading(name: str) -> Generator[None]:
    """Turn the errors of a reader into one that names the table and, because they can quote cells, nothing else."""
    pa, name = require("pyarrow", "tables"), printable(name)
    try:
        yield
    except pa.lib.ArrowCancelled:
        raise KeyboardInterrupt from None
    except InputFileError:
        raise
    except UnicodeError:
        raise InputFileError(
            f"{name}: is not text in the encoding it is read in. Hint: --encoding (encoding=) says which it is."
        ) from None
    except MemoryError:  # ArrowMemoryError too
        raise InputFileError(f"{name}: does not fit into memory.") from None
    except IsADirectoryError:
        raise InputFileError(f"{name}: is a folder, not a file.") from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputFileError(f"{name}: cannot be read: {os.strerror(error.errno)}.") from None
        raise InputFileError(
            f"{name}: cannot be read to its end ({type(error).__name__}): it is damaged, cut short, or no file of the "
            "kind that its name says."
        ) from None
    except DivulgeError as error:
        raise InputFileError(f"{name}: {error}") from None


TableLike: TypeAlias = Source | str | os.PathLike[str] | HasArrow | Lazy | Batches | Mapping[str, Iterable[Hashable]]
"""The path of a table, a table in memory of pandas, polars, pyarrow, DuckDB or Spark, or columns by name."""
