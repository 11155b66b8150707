"""Opening files and standard input, replacing files whole, and one message for whatever is wrong with them."""

import os
import select
import stat
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from divulge import staging, stopping
from divulge.errors import DivulgeError, InputFileError, MissingExtraError, did_you_mean, printable
from divulge.files.settings import Limits, current

PathLike = str | os.PathLike[str]

PATIENCE = 2.0
"""Seconds after which a command that waits for standard input says so."""

_IN_MEMORY = 1 << 24
"""Bytes of standard input that are kept in memory; more wait in a file without a name, on disk."""
_MOST_COMPARED = 1000
"""Names in a folder that are compared with one that is not there."""

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
    """Turn whatever goes wrong with the file called `name` into one InputFileError that names it."""
    name = printable(name)
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
        if isinstance(error, OSError) and error.errno:
            known = known or f"{os.strerror(error.errno)}."
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputFileError(f"{name}: {known or 'cannot be read: ' + printable(lines[0][:200])}") from error


_A_PATH = "be the path of a file, or - for standard input"


def path_of(path: PathLike) -> str:
    """Return the text of a path; what is none is refused."""
    DivulgeError.unless(path, (str, os.PathLike), "path", _A_PATH)
    text = cast("str | bytes", os.fspath(path))
    if not isinstance(text, str) or not text:
        raise DivulgeError.of("path", _A_PATH, "it", "empty" if not text else "bytes")
    return text


def name_of(path: PathLike) -> str:
    """Return what messages, receipts and papers call a path: its last part, with no folder; `-` is standard input."""
    text = path_of(path)
    return "standard input" if text == "-" else printable(os.path.basename(text.rstrip("/")) or text)


def source_name(text: str) -> str:
    """Return what messages call a file, or TABLE:COLUMN, as it stands on a command line: without its folder.

    >>> source_name("surveys/people.csv:race"), source_name("priors/race.csv")
    ('people.csv:race', 'race.csv')
    """
    table, column = divided(text)
    return f"{name_of(table)}:{printable(column)}" if table else name_of(text)


def divided(text: str) -> tuple[str, str]:
    """Return the table and the column of TABLE:COLUMN, where the name of the column may have colons too.

    The table is what is there, else what stands before the last colon; empty where there is no colon.

    >>> divided("no-such.csv:race"), divided("race.csv")
    (('no-such.csv', 'race'), ('', 'race.csv'))
    """
    ends = [end for end, sign in enumerate(text) if sign == ":" and end]
    there = next((end for end in ends if os.path.exists(text[:end])), None)
    if there is None:
        table, _, column = text.rpartition(":")
        return table, column
    return text[:there], text[there + 1 :]


@contextmanager
def opened(path: PathLike) -> Generator[BinaryIO]:
    """Yield a binary stream of a file or of standard input; an empty one is refused, errors inside name the file.

    The file is measured first: what is larger than the limit is not read.
    """
    name = name_of(path)
    with naming(name), standard_input() if path == "-" else regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size if path != "-" else stream.seek(0, os.SEEK_END)
        stream.seek(0)
        if not size or (path == "-" and not stream.read(_IN_MEMORY).strip()):
            raise InputFileError(f"{name}: is empty.")
        stream.seek(0)
        current().limits.allow("it", "bytes", size)
        yield stream


def below(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield this folder and each one below, with the names of folders and files in it; folders taken out are skipped.

    What cannot be listed raises an OSError. For `os.walk` and `Path.rglob` it is an empty folder: its rows are lost.
    """

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=refuse):
        yield Path(place), folders, names


def files_below(folder: Path) -> list[Path]:
    """Return every file in a folder and below, sorted; raise an OSError for what cannot be listed."""
    return sorted(place / name for place, _, names in below(folder) for name in names)


def absent(path: PathLike) -> str:
    """Return what is said of a file that is not there, with the one in its folder whose name is most like it."""
    folder, name = os.path.split(path_of(path))
    try:
        with os.scandir(folder or ".") as entries:
            present = [entry.name for entry in islice(entries, _MOST_COMPARED) if entry.name.isprintable()]
    except OSError:
        present = []
    return f"there is no such file.{did_you_mean(name, present)}"


def regular(path: PathLike) -> BufferedReader:
    """Return a stream of a file; a folder, a device and a pipe are refused without waiting for them."""

    def without_waiting(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    if os.path.isdir(path):
        raise IsADirectoryError
    try:
        stream = open(path, "rb", opener=without_waiting)  # noqa: SIM115
    except FileNotFoundError:
        raise DivulgeError(absent(path)) from None
    mode = os.fstat(stream.fileno()).st_mode
    if stat.S_ISREG(mode):
        return stream
    stream.close()
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
    raise DivulgeError(f"must be a file; it is {kind}. Hint: save it to a file first; - is standard input.")


@contextmanager
def standard_input() -> Generator[BinaryIO]:
    """Yield all of standard input, within the limit; large input waits in a file that has no name."""
    if sys.stdin is None:
        raise InputFileError("standard input: is closed.")
    source = sys.stdin.buffer
    _tell_of_waiting(source)
    limits: Limits = current().limits
    import tempfile

    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as content:
        while block := source.read(1 << 20):
            content.write(block)
            limits.allow("it", "bytes", content.tell())
        content.seek(0)
        yield content  # pyright: ignore[reportReturnType]


def _tell_of_waiting(source: Any) -> None:
    """Say what is waited for, when nothing comes."""
    try:
        if source.isatty():
            current().tell("reading standard input: end it with Ctrl-D.")
        elif not select.select([source], [], [], PATIENCE)[0]:
            current().tell("waiting for standard input.")
    except (OSError, ValueError):  # what has no descriptor never waits
        return


@contextmanager
def replacing(path: PathLike, *, private: bool = False, force: bool = True) -> Generator[BinaryIO]:
    """Yield a stream to a temporary file that takes the place of `path` when all is written, and vanishes otherwise.

    A private file is one that only its owner may read. What is there already is replaced only by force.
    """
    target, mode = Path(path_of(path)), 0o600 if private else 0o666
    with naming(name_of(path)):
        if target.exists() and not target.is_file():
            kind = "folder" if target.is_dir() else "device or pipe"
            raise DivulgeError(f"is a {kind}, and is not replaced. Hint: name a file.")
        staging.recover(target.parent)
        refuse_taken(target, force)
        with staging.under_way(target) as temporary:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            refuse_taken(target, force)
            stopping.tell_of_naming(temporary, target)
            os.replace(temporary, target)


def refuse_taken(path: PathLike, force: bool) -> None:
    """Refuse to replace a file, unless forced."""
    if not force and os.path.lexists(path_of(path)):
        raise DivulgeError(f"{name_of(path)}: there is one already. Hint: --force replaces it.")


Named = Mapping[str, PathLike | list[str] | None]
"""Argument -> path, or several. None, "-" and the URL of a database are no files."""


def keep_apart(written: Named, read: Named | None = None) -> None:
    """Refuse a call that writes one file twice, or one that it reads, by whatever path or link.

    Both map an argument to a path, or to TABLE:COLUMN of what is read; a folder clashes with what lies in it.

    >>> keep_apart({"--output": "out.csv", "--ledger": "./out.csv"})
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `--ledger` must be another file than --output; it is the same file, 'out.csv'.
    """
    seen: list[tuple[str, Path, tuple[int, int] | None]] = []
    for argument, place in [*_places(read or {}, columns=True), *_places(written)]:
        identity = _identity(place)
        for other, known, same in seen if argument in written else ():
            if place == known or (identity is not None and identity == same):
                found = "the same file"
            elif known in place.parents and known.is_dir():
                found = f"inside {other}"
            elif place in known.parents and place.is_dir():
                found = f"the folder of {other}"
            else:
                continue
            raise DivulgeError.of(
                argument, f"be another file than {printable(other)}", "it", f"{found}, {place.name or str(place)!r}"
            )
        seen.append((argument, place, identity))


def _places(named: Named, columns: bool = False) -> Iterator[tuple[str, Path]]:
    """Yield each argument with the places it may mean, without links; where it may be TABLE:COLUMN, the table too."""
    for argument, given in named.items():
        for path in given if isinstance(given, list) else [given]:
            if path is not None:
                DivulgeError.unless(path, (str, os.PathLike), argument, "be a path")
            text = "" if path is None else os.fspath(path)
            if text in ("", "-") or "://" in text:
                continue
            yield argument, resolved(text)
            table, _ = divided(text)
            if columns and table:
                yield argument, resolved(table)


def resolved(path: PathLike) -> Path:
    """Return the absolute path without links; one that cannot be (a circle of links) is refused."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputFileError(f"{name_of(path)}: must be a path that leads somewhere.") from None


def _identity(path: PathLike) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return None if stat.S_ISDIR(found.st_mode) else (found.st_dev, found.st_ino)


def columns_exist(present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a wanted column that a table does not have, or has twice."""
    names = list(present)
    there = Counter(names)
    for column in wanted:
        if there[column] != 1:
            shown = ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
            absent = column not in names
            found = "no column" if absent else "two columns"
            if not all(map(_names_a_column, names)):  # the first line may hold data, which no message shows
                hint = "its first line must have the names of its columns; some are numbers, so none is shown."
                raise DivulgeError(f"has {found} {column!r}. Hint: {hint}")
            meant = did_you_mean(column, names) if absent else ""
            if absent and not meant and len(names) == 1:
                meant += (
                    " It has one column: leave out lines above the table (--header N, header=), or name what stands "
                )
                meant += "between cells."
            several = [part.strip() for part in column.split(",")]
            if absent and len(several) > 1 and set(several) <= set(names):
                meant = " Several are named one by one, --column A --column B, in Python as a list."
            if absent and (longer := next((name for name in names if column in _between_commas(name)), None)):
                meant = f' A name with a comma is typed in double quotation marks, "{longer}", within single ones.'
            numbered = "" if absent else "; --number-names (number_names=True) gives columns of one name numbers"
            raise DivulgeError(f"has {found} {column!r}.{meant} Hint: its columns are {shown or 'none'}{numbered}.")


def _between_commas(name: str) -> list[str]:
    """Return the parts of a name that has a comma; none of another one."""
    return [part.strip() for part in name.split(",")] if "," in name else []


def _names_a_column(name: str) -> bool:
    """Say whether a text can be the name of a column: printable, and no number."""
    digits = name.strip().lstrip("+-").replace(".", "").replace(",", "")
    return name.isprintable() and not digits.isdecimal()


def kind(value: Any) -> str:
    """Return what a JSON value is, in words."""
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "text" if type(value) is str else "a number")
