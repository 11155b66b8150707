"""Opening files and standard input, replacing files whole, and one message for whatever is wrong with them."""

import io
import os
import sys
from collections.abc import Generator, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from divulge.errors import DivulgeError, InputFileError, MissingExtraError

PathLike = str | os.PathLike[str]

Counts = Iterator[tuple[tuple[Hashable, ...], int]]
"""Combinations of values and how often each occurs; a combination may come again."""

_MESSAGES: dict[type[BaseException], str] = {
    FileNotFoundError: "there is no such file.",
    IsADirectoryError: "is a folder, not a file.",
    NotADirectoryError: "there is no such file.",
    PermissionError: "may not be opened by this user.",
    RecursionError: "is nested too deeply.",
    MemoryError: "does not fit into memory.",
}


@contextmanager
def naming(name: str) -> Generator[None]:
    """Turn whatever goes wrong with the file `name` into one InputFileError that names it."""
    try:
        yield
    except (InputFileError, MissingExtraError):
        raise
    except DivulgeError as error:
        raise InputFileError(f"{name}: {error}") from error
    except UnicodeDecodeError as error:
        raise InputFileError(f"{name}: is not UTF-8 text; it has the byte 0x{error.object[error.start]:02x}.") from None
    except Exception as error:  # what a parser of foreign bytes may raise is open-ended
        known = next((text for kind, text in _MESSAGES.items() if isinstance(error, kind)), None)
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputFileError(f"{name}: {known or 'cannot be read: ' + lines[0][:200]}") from error


_A_PATH = "be the path of a file, or - for standard input"


def name_of(path: PathLike) -> str:
    """Return how messages call `path`; `-` is standard input."""
    DivulgeError.unless(path, (str, os.PathLike), "path", _A_PATH)
    if not os.fspath(path):
        raise DivulgeError.of("path", _A_PATH, "it", "empty")
    return "standard input" if path == "-" else os.fspath(path)


@contextmanager
def opened(path: PathLike) -> Generator[BinaryIO]:
    """Yield a binary stream of a file or of standard input; an empty one is refused, errors inside name the file."""
    name = name_of(path)
    with naming(name):
        if path == "-":
            if sys.stdin is None:
                raise InputFileError(f"{name}: is closed.")
            content = sys.stdin.buffer.read()
            if not content.strip():
                raise InputFileError(f"{name}: is empty.")
            yield io.BytesIO(content)
            return
        with open(path, "rb") as stream:
            if os.path.isfile(path) and not os.fstat(stream.fileno()).st_size:
                raise InputFileError(f"{name}: is empty.")
            yield stream


@contextmanager
def replacing(path: PathLike) -> Generator[BinaryIO]:
    """Yield a stream to a temporary file that takes the place of `path` when all is written, and vanishes otherwise."""
    target = Path(name_of(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.partial")
    with naming(str(target)):
        try:
            with open(temporary, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def columns_exist(present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a wanted column that a table does not have, or has twice."""
    names = list(present)
    for column in wanted:
        if names.count(column) != 1:
            shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
            found = f"has no column {column!r}" if column not in names else f"has two columns {column!r}"
            raise DivulgeError(f"{found}. Hint: its columns are {shown or 'none'}.")


def kind(value: Any) -> str:
    """Return what a JSON value is, in words."""
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "text" if type(value) is str else "a number")
