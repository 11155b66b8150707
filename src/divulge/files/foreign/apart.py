"""Workbooks, and files of Stata, SPSS and SAS: read by libraries in C and Rust, in a process of its own.

A damaged file can make such a library crash, or ask for all memory. The process that reads it has limits, hands the
table over as Arrow in a private folder, and takes nothing else along when it ends.
"""

import contextlib
import json
import mmap
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from divulge import children
from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require, require_elsewhere
from divulge.files.foreign.sas import rows_of
from divulge.files.foreign.transport import whole
from divulge.files.foreign.typed import cell_of, number_of, table_of
from divulge.files.foreign.workbooks import sheet_of
from divulge.files.settings import Limits, Settings
from divulge.files.tables.source import Content, Source, batch_rows

_MEMORY = 2 << 30
"""Bytes of addresses that a reader may take (a few hundred MB of them are its libraries)."""

_SECONDS = 900
"""Seconds of processor time that a reader may take."""

_REFUSED = 3
"""Exit code of a reader that says why."""


def sheet(content: Content, settings: Settings) -> Source:
    """Return the table of one sheet of a workbook: the first line that holds anything has the names of the columns."""
    require_elsewhere("python_calamine", "tables")
    _unpacked(content, settings)
    return _apart("sheet", content, settings)


def glance(content: Content, settings: Settings) -> Any:
    """Return the first and the last rows of a sheet as they stand there: a table of texts, with their numbers first."""
    require_elsewhere("python_calamine", "tables")
    _unpacked(content, settings)
    found = _apart("glance", content, settings)
    return next(iter(found.batches())).replace_schema_metadata(found.schema.metadata)


def statistics(content: Content, settings: Settings) -> Source:
    """Return the table of a file of Stata, SPSS or SAS; values with labels are read as their labels."""
    require_elsewhere("pyreadstat", "tables")
    return _apart("statistics", content, settings)


def _unpacked(content: Content, settings: Settings) -> None:
    """Refuse a workbook that unpacks to more than the limit."""
    settings.limits.allow(content.name, "bytes", content.size)
    if content.suffix == ".xls":
        return
    try:
        with content.open() as opened, zipfile.ZipFile(opened) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise DivulgeError("must be a workbook, as its name says; it is damaged, or something else.") from None
    if len({part.filename for part in parts}) < len(parts):
        raise DivulgeError("must hold each of its parts once; one is there twice.")
    settings.limits.allow(f"{content.name}, unpacked,", "bytes", sum(part.file_size for part in parts))


def _apart(kind: str, content: Content, settings: Settings) -> Source:
    """Return the table that a process of its own reads, and tell what it says."""
    pa = require("pyarrow", "tables")
    asked = {"kind": kind, "path": os.path.abspath(str(content.path)), "suffix": content.suffix,
             "sheet": settings.sheet, "encoding": settings.encoding, "limits": asdict(settings.limits),
             "header": None if settings.header is None else str(settings.header), "footer": settings.footer,
             "number_names": settings.number_names}  # fmt: skip
    with content.open(), children.private_folder("read") as folder:
        code, said = children.run(__name__, json.dumps(asked), folder / "table.arrow")
        with (folder / "table.arrow").open("rb") as out:
            size = out.seek(0, os.SEEK_END)
            found = mmap.mmap(out.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    if code == _REFUSED:
        raise InputFileError(f"{content.name}: {said.strip()}")
    if code:
        raise InputFileError(
            f"{content.name}: cannot be read: it is damaged, or takes more than {_MEMORY >> 30} GiB of memory "
            "(in a workbook, one cell far from all others is enough)."
        )
    for line in filter(None, said.splitlines()):
        settings.tell(f"{content.name}: {line}")
    settings.limits.allow(f"{content.name}, unpacked,", "bytes", size)
    with pa.ipc.open_stream(pa.py_buffer(found)) as reader:
        table = reader.read_all()
    table.validate(full=True)

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).to_batches(max_chunksize=batch_rows(len(columns)))

    return content.source(table.schema, table.num_rows, stream)


class _NoPandas:
    """Finds no pandas: Arrow would load it to ask whether what it is given is of it, for longer than a file is read."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def main() -> None:
    """Read what the first argument asks for, as that process: Arrow to standard output, remarks to the other."""
    asked = json.loads(sys.argv[1])
    children.limit({"RLIMIT_AS": _MEMORY, "RLIMIT_CPU": _SECONDS, "RLIMIT_CORE": 0})
    sys.meta_path.insert(0, _NoPandas())
    try:
        import pyarrow as pa

        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        limits = Limits(**asked["limits"])
        read = _statistics if asked["kind"] == "statistics" else sheet_of
        table = read(asked, limits)
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as sink:
            sink.write_table(table)
        sys.stdout.buffer.flush()
    except DivulgeError as error:
        print(error, file=sys.stderr)
        sys.exit(_REFUSED)
    except MemoryError:
        print("does not fit into memory.", file=sys.stderr)
        sys.exit(_REFUSED)
    except OSError as error:
        print(f"cannot be handed over in the folder for temporary files: {error.strerror}.", file=sys.stderr)
        sys.exit(_REFUSED)


def _statistics(asked: dict[str, Any], limits: Limits) -> Any:
    pyreadstat = require("pyreadstat", "tables")
    suffix = asked["suffix"]
    read = {".dta": pyreadstat.read_dta, ".por": pyreadstat.read_por, ".sas7bdat": pyreadstat.read_sas7bdat,
            ".xpt": pyreadstat.read_xport}.get(suffix, pyreadstat.read_sav)  # fmt: skip
    options = {"output_format": "dict"} | ({} if asked["encoding"] is None else {"encoding": asked["encoding"]})
    try:
        about = read(asked["path"], metadataonly=True, **options)[1]
        declared = about.number_rows
        _allow(limits, declared or 0, about.number_columns)
        with _counted(asked["path"], suffix) as path:
            columns, about = read(path, **options)
        held = len(next(iter(columns.values()), ()))
        if not _ends(asked["path"], suffix):
            raise DivulgeError("must end where its rows end: it is cut short, or has something else behind them.")
        _allow(limits, held, len(columns))
        if suffix == ".sas7bdat" and (counted := rows_of(asked["path"])):
            there, certain = counted
            held = there if certain or there > held else held
        if not columns:
            raise DivulgeError("must have columns; it has none: it is damaged, or holds nothing.")
        if declared not in (None, held):
            raise DivulgeError(
                f"must hold as many rows as it says; it says {declared:,}, and holds {held:,}: it is damaged."
            )
    except (DivulgeError, MemoryError):
        raise
    except UnicodeError:
        raise DivulgeError(_ENCODING) from None
    except Exception:  # what the library raises for foreign bytes is open-ended
        raise DivulgeError("cannot be read: it is damaged, cut short, or something else than its name says.") from None
    labels, labelled = about.variable_value_labels, list[str]()
    found: list[tuple[str, list[Any]]] = []
    for name, values in columns.items():
        cells = [cell_of(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]
        known = {number_of(code): text for code, text in labels.get(name, {}).items()}
        if known and all(cell in known for cell in cells if cell is not None):
            cells = [None if cell is None else known[cell] for cell in cells]
            labelled.append(name)
        found.append((name, cells))
    if labelled:
        print(f"codes with labels are read as their labels: {', '.join(map(repr, labelled[:12]))}"
              f"{', ...' if len(labelled) > 12 else ''}.", file=sys.stderr)  # fmt: skip
    return table_of(found)


def _ends(path: str, suffix: str) -> bool:
    """Say whether a file ends where its format says; a transport file does not say how many rows it has."""
    if suffix == ".xpt":
        print("a transport file does not say how many rows it has: compare their number.", file=sys.stderr)
        return whole(path)
    with open(path, "rb") as stream:
        if suffix == ".dta" and stream.read(len(_BEGIN)) == _BEGIN:
            stream.seek(-len(_END), os.SEEK_END)
            return stream.read() == _END
    return True


_BEGIN, _END = b"<stata_dta>", b"</stata_dta>"
"""What newer files of Stata begin and end with."""


def _allow(limits: Limits, rows: int, columns: int) -> None:
    limits.allow("it", "rows", rows)
    limits.allow("it", "cells", rows * max(columns, 1))


@contextlib.contextmanager
def _counted(path: str, suffix: str) -> Generator[str]:
    """Yield a path to the same file; of SPSS to a copy that does not say how many rows it has, so that all are read."""
    if suffix not in (".sav", ".zsav"):
        yield path
        return
    with open(path, "rb") as stream, tempfile.NamedTemporaryFile(suffix=suffix) as copy:
        copy.write(stream.read(_ROWS))
        copy.write(b"\xff" * 4)
        stream.seek(_ROWS + 4)
        shutil.copyfileobj(stream, copy, 1 << 20)
        copy.flush()
        yield copy.name


_ROWS = 80
"""Where the header of SPSS has the number of rows: four bytes, -1 where it is not known."""

_ENCODING = "is not text in the encoding it is read in. Hint: --encoding (encoding=) says which it is."
