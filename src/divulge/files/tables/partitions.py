"""Columns in names of folders, as Hive, Spark and Arrow write them: year=2024/city=Berlin/part-0.parquet."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np

from divulge.errors import InputFileError, printable
from divulge.extras import require

_MISSING = "__HIVE_DEFAULT_PARTITION__"
"""What stands in the place of a missing value."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""A whole number of 64 bits as it is written: 07 is a text, for a code that would lose its zero."""


@dataclass(frozen=True)
class Partitions:
    """The columns that names of folders are, and what each file has in them.

    fields : Arrow fields of the columns: whole numbers where each is written as one, else text
    rows : for each file, in the order given, the value of each column; None for a missing one
    as_bytes : whether some text is written byte for byte, as %C3%BC for ü, which Spark takes for two letters
    """

    fields: tuple[Any, ...]
    rows: tuple[tuple[str | int | None, ...], ...]
    as_bytes: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns, from the outermost folder on."""
        return [field.name for field in self.fields]

    def array(self, file: int, column: str, rows: int, coded: bool) -> Any:
        """Return so many rows of a column of a file, as a dictionary where asked for."""
        pa = require("pyarrow", "tables")
        i = self.names.index(column)
        one = pa.array([self.rows[file][i]], self.fields[i].type)
        places = pa.array(np.zeros(rows, dtype=np.int32))
        if not coded:
            return one.take(places)
        if one.null_count:
            return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int32()), one.drop_null())
        return pa.DictionaryArray.from_arrays(places, one)


def partitions_of(name: str, folders: Sequence[Sequence[str]], columns: Sequence[str]) -> Partitions | None:
    """Return the columns that the folders of each file of a table are named after; None if the files have them all."""
    pa = require("pyarrow", "tables")
    try:
        cells = [[tuple(unquote(part, errors="strict") for part in folder.partition("=")) for folder in one]
                 for one in folders]  # fmt: skip
    except UnicodeDecodeError:
        raise _refused(name, "names of folders that are UTF-8") from None
    keys = {tuple(key for key, sign, _ in one if sign) for one in cells}
    if set().union(*keys) <= set(columns):
        return None
    named, *others = sorted(keys)
    if others or any(not sign for one in cells for _, sign, _ in one):
        raise _refused(name, "the same columns in the names of all folders, year=2024/month=1, and no folder between")
    if twice := sorted(set(named) & set(columns)):
        raise _refused(name, f"column {twice[0]!r} in the names of folders or in the files, and not in both")
    if len(set(named)) != len(named) or not all(key and value for one in cells for key, _, value in one):
        raise _refused(name, "a name and a value in the name of each folder, and each name once")
    fields, found = list[Any](), list[list[Any]]()
    for i, column in enumerate(named):
        texts = [None if one[i][2] == _MISSING else one[i][2] for one in cells]
        known = [text for text in texts if text is not None]
        whole = bool(known) and all(map(_WHOLE.fullmatch, known))
        fields.append(pa.field(column, pa.int64() if whole else pa.string()))
        found.append([int(text) if whole and text is not None else text for text in texts])
    written = [part for one in folders for part in one]
    as_bytes = any(re.search("%[89A-Fa-f]", part) for part in written)
    if as_bytes and not all(part.isascii() for part in written):
        raise _refused(name, "one way of writing letters in the names of folders: %C3%BC, or as they are")
    return Partitions(tuple(fields), tuple(zip(*found, strict=True)), as_bytes)


def _refused(name: str, condition: str) -> InputFileError:
    return InputFileError(f"{printable(name)}: must have {condition}.")
