"""The formats of files, by their endings: what is read and written where, and how help and messages list it."""

from collections.abc import Iterable, Mapping

Formats = Mapping[str, tuple[str, ...]]
"""Name of a format -> the endings of its files; the first is the usual one."""

TABLES: Formats = {
    "CSV": (".csv", ".tsv", ".txt"),
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc"),
    "Excel": (".xlsx", ".xlsm", ".xls", ".ods"),
    "Stata": (".dta",),
    "SPSS": (".sav", ".zsav", ".por"),
    "SAS": (".sas7bdat", ".xpt"),
}
"""Tables that are read."""

WRITTEN: Formats = {
    "CSV": (".csv", ".tsv"),
    "Parquet": TABLES["Parquet"],
    "Arrow": TABLES["Arrow"],
    "Excel": (".xlsx",),
}
"""Tables that are written."""

CHANNELS: Formats = {
    "CSV": (".csv",),
    "JSON": (".json",),
    "NumPy": (".npy", ".npz"),
    "Parquet": TABLES["Parquet"],
    "Arrow": TABLES["Arrow"],
}
"""Channels and priors, read and written."""


def listed(words: Iterable[str], last: str = "or") -> str:
    """Return words as a list.

    >>> listed(CHANNELS)
    'CSV, JSON, NumPy, Parquet or Arrow'
    """
    *most, final = words
    return f"{', '.join(most)} {last} {final}" if most else final


def endings(formats: Formats) -> tuple[str, ...]:
    """Return all endings.

    >>> endings(WRITTEN)
    ('.csv', '.tsv', '.parquet', '.pq', '.arrow', '.feather', '.ipc', '.xlsx')
    """
    return tuple(ending for some in formats.values() for ending in some)


TABLE = f"A {listed(TABLES)} file, or a folder of Parquet files"
CHANNEL = f"A {listed(CHANNELS)} file; - is standard input"
"""How help and messages call what is read."""
