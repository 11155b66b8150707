"""Real data to try things on: a census table with sensitive columns, and Adult with its hierarchies (extra: tables).

The tables are described, with where they come from, in PROVENANCE.md beside this file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError
from divulge.extras import require

__all__ = ["adult", "adult_hierarchies", "census", "census_path"]

_SPLITS = ("train", "test")


def census_path(split: str = "train") -> Path:
    """Return the path of the census table, a Parquet file of 199,523 rows ("train") or 99,762 rows ("test").

    Parameters
    ----------
    split : "train" or "test"

    Returns
    -------
    Path

    Raises
    ------
    DivulgeError
        For a split that does not exist.

    References
    ----------
    Census-Income (KDD), UCI Machine Learning Repository.

    Examples
    --------
    >>> census_path().name
    'census-income-train.parquet'
    """
    if split not in _SPLITS:
        raise DivulgeError.of("split", 'be "train" or "test"', "it", repr(split)[:60])
    return Path(__file__).with_name(f"census-income-{split}.parquet")


def census(columns: str | Sequence[str] | None = None, split: str = "train") -> Any:
    """Return the census of income of 1994-1995 as a pyarrow table, or one column of it.

    Parameters
    ----------
    columns : names, or one name
        Of age, class_of_worker, education, marital_status, major_industry, major_occupation, race, hispanic_origin,
        sex, citizenship, income; all of them when not given. One name gives that column, not a table.
    split : "train" (199,523 rows) or "test" (99,762 rows)

    Returns
    -------
    pyarrow Table, or ChunkedArray for one name
        Needs pyarrow (extra: tables).

    Raises
    ------
    DivulgeError
        For a column or split that does not exist.

    References
    ----------
    Census-Income (KDD), UCI Machine Learning Repository.

    Examples
    --------
    >>> census(["race", "income"]).shape
    (199523, 2)
    >>> dv.Prior.from_column(census("sex")).to_dict()
    {'Female': Fraction(103984, 199523), 'Male': Fraction(95539, 199523)}
    """
    return _columns(require("pyarrow.parquet", "tables").read_table(census_path(split)), columns, "the census")


def _columns(table: Any, columns: str | Sequence[str] | None, title: str) -> Any:
    """Return the columns of a table that were asked for."""
    names = [columns] if isinstance(columns, str) else table.column_names if columns is None else list(columns)
    known = ", ".join(table.column_names)
    for name in names:
        if name not in table.column_names:
            raise DivulgeError.of("columns", f"be columns of {title}", "one", repr(name)[:60], f"they are {known}.")
    return table.column(columns) if isinstance(columns, str) else table.select(names)


def adult(columns: str | Sequence[str] | None = None) -> Any:
    """Return the Adult table of 30,162 people as a pyarrow table, or one column of it.

    Parameters
    ----------
    columns : names, or one name
        Of sex, age, race, marital-status, education, native-country, workclass, occupation, salary-class; all of them
        when not given. One name gives that column, not a table.

    Returns
    -------
    pyarrow Table, or ChunkedArray for one name
        Needs pyarrow (extra: tables).

    Raises
    ------
    DivulgeError
        For a column that does not exist.

    References
    ----------
    Becker, Kohavi, Adult, UCI Machine Learning Repository, 1996.

    Examples
    --------
    >>> adult().shape
    (30162, 9)
    """
    path = Path(__file__).with_name("adult.parquet")
    return _columns(require("pyarrow.parquet", "tables").read_table(path), columns, "Adult")


def adult_hierarchies() -> dict[str, Path]:
    """Return {column of Adult: path of its hierarchy}, files as ARX writes them.

    Returns
    -------
    dict

    References
    ----------
    Prasser et al., ARX, Apache License 2.0.

    Examples
    --------
    >>> adult_hierarchies()["sex"].read_text().splitlines()
    ['Male;*', 'Female;*']
    """
    folder = Path(__file__).with_name("adult_hierarchies")
    return {path.stem: path for path in sorted(folder.glob("*.csv"))}
