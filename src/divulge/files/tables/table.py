"""The one reader of tables: every command and every function opens them here."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from divulge.errors import DivulgeError, InputFileError, printable
from divulge.files.foreign import apart
from divulge.files.formats import TABLES
from divulge.files.opening import absent, standard_input
from divulge.files.settings import Settings, current, using
from divulge.files.tables import columnar, delimited
from divulge.files.tables.frames import IN_MEMORY, from_columns
from divulge.files.tables.source import Content, Source, TableLike, reading
from divulge.files.tables.tidying import GroupsLike, columns_of, group_texts, tidied

PARQUET = TABLES["Parquet"]

_READERS: dict[str, Callable[[Content, Settings], Source]] = {
    "CSV": delimited.table, "Parquet": columnar.parquet, "Arrow": columnar.arrow, "Excel": apart.sheet,
    "Stata": apart.statistics, "SPSS": apart.statistics, "SAS": apart.statistics,
}  # fmt: skip

OPENERS = {suffix: _READERS[name] for name, suffixes in TABLES.items() for suffix in suffixes}
"""Suffix of a file -> how it is read."""

_MAGIC: dict[bytes, str] = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow"}


def open_table(
    table: TableLike,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header: str | int | None = None,
    footer: int | None = None,
    number_names: bool | None = None,
    one_spelling: str | Sequence[str] | None = None,
    group: GroupsLike | None = None,
    line_breaks: bool | None = None,
    limit: str | None = None,
) -> Source:
    """Return a table to be streamed: the file or folder at a path, standard input, or a table in memory.

    Every function that takes a table opens it so; call it yourself to say how a file is to be read. What is not said
    is guessed from the file, and a guess that is not the usual is told as a warning.

    Parameters
    ----------
    table : path, "-", or table
        CSV (.csv, .tsv, .txt), Parquet and folders of it, Arrow, Excel (.xlsx, .xls, .ods), Stata (.dta), SPSS (.sav,
        .zsav, .por), SAS (.sas7bdat, .xpt); a pandas, polars or pyarrow table, a mapping {column: list of its values},
        pyarrow Dataset or RecordBatchReader, polars LazyFrame, relation of DuckDB, or PySpark DataFrame. A query is
        carried out once; its rows wait in a file without a name. A DataFrame comes one partition at a time.
    delimiter : str, optional
        What stands between the cells of a CSV file, such as ";".
    decimal : "." or ",", optional
        With ",", a cell such as 1.234,5 is read as 1234.5.
    encoding : str, optional
        Of the text of a CSV file, such as "latin-1" or "utf-16".
    sheet : str, optional
        Name or number, from 1, of the sheet of a workbook.
    header : int or text, optional
        The row that has the names of columns, counted from 1; several, such as "3-4", are put together. Rows above are
        left out. Of text and workbooks.
    footer : int, optional
        So many rows at the end are left out, such as totals and notes. Of text and workbooks.
    number_names : bool
        Whether columns of one name get numbers: day, day (2).
    one_spelling : name of a column, or names, optional
        Texts there that differ in blanks, in case or in leading zeros are one value.
    group : {column: rule} or texts "column=rule", optional
        What values are grouped to before anything else: a width of ranges (10000, or 10000:0:90000 with one range below
        and one above), day, month, quarter or year of dates, first:2 letters of texts, rare:50, which calls values of
        fewer rows "other".
    line_breaks : bool
        Whether cells of a CSV file may hold line breaks; else each line is a row, and closes its quotes.
    limit : str, optional
        The most that is read, such as "rows=1e9,cells=2e7,bytes=1GiB", which is the default.

    Returns
    -------
    Source

    Raises
    ------
    InputFileError
        When a file is missing, damaged, too large, or of an unknown format. The message shows no cell.

    Examples
    --------
    >>> path = folder / "people.csv"
    >>> _ = path.write_text("name;height\\nAda;1,65\\nBob;1,80\\n")
    >>> source = open_table(path, delimiter=";", decimal=",")
    >>> source.schema.names, source.rows
    (['name', 'height'], 2)
    """
    if isinstance(table, Source):
        return table
    with using(
        delimiter=delimiter, decimal=decimal, encoding=encoding, sheet=sheet, header=header, footer=footer,
        number_names=number_names, one_spelling=columns_of(one_spelling) or None, group=group_texts(group) or None,
        line_breaks=line_breaks, limits=limit,
    ) as settings:  # fmt: skip
        if isinstance(table, (str, os.PathLike)):
            return tidied(_of_path(os.fspath(table), settings), settings)
        if isinstance(table, Mapping):
            return tidied(from_columns(table), settings)
        for known, convert in IN_MEMORY.items():
            if type(table).__module__.partition(".")[0] == known:
                return tidied(convert(table), settings)
    condition = "be a path or a pandas, polars or pyarrow table, or columns by name"
    raise DivulgeError.of("table", condition, "it", f"a {type(table).__name__}")


def _of_path(name: str | bytes, settings: Settings) -> Source:
    if not isinstance(name, str) or not name:
        raise DivulgeError.of("table", "be the path of a file or folder, or -", "it", "empty" if not name else "bytes")
    if name == "-":
        with standard_input() as stream:
            content = stream.read()
        suffix = next((known for magic, known in _MAGIC.items() if content.startswith(magic)), ".csv")
        if not content.strip():
            raise InputFileError("standard input: is empty.")
        found = Content("standard input", suffix, len(content), content=content)
        with reading(found.name):
            return _named(OPENERS[suffix](found, settings))
    path = Path(name)
    require_utf8(path)
    shown = path.name or name
    with reading(shown):
        if path.is_dir():
            return _named(columnar.folder(path, settings))
        if not os.path.lexists(path):
            raise InputFileError(f"{printable(shown)}: {absent(path)}")
        opens = opener(path)
        return _named(opens(Content.of_file(path), settings))


def _named(found: Source) -> Source:
    """Return a table whose columns have names: bytes that are no text are found out when they are asked for."""
    found.require_columns(())
    current().limits.allow(found.name, "columns", len(found.schema))
    return found


def opener(path: Path) -> Callable[[Content, Settings], Source]:
    """Return how a file with this suffix is read."""
    try:
        return OPENERS[path.suffix.lower()]
    except KeyError:
        raise InputFileError(
            f"{printable(path.name)}: must be a table: a folder of Parquet files, or a name that ends in "
            f"{', '.join(OPENERS)}."
        ) from None


def require_utf8(path: Path) -> None:
    """Refuse a path that is no UTF-8, or no path at all: receipts, ledgers and Arrow have no name for it."""
    try:
        if "\0" in str(path):
            raise UnicodeEncodeError("utf-8", "", 0, 1, "zero byte")
        os.path.abspath(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path.name).decode(errors="backslashreplace")
        raise InputFileError(f"{printable(name)}: must have a path in UTF-8. Hint: rename it or its folder.") from None
