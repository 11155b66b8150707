"""The values of columns that group, as they are listed beforehand; and what is known of a record before."""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.files.opening import naming
from divulge.model.convert import as_prior
from divulge.model.entries import parse as parse_number
from divulge.model.labels import text_of
from divulge.model.prior import Prior
from divulge.publishing.noising.leakage import RecordPrior

MOST_CELLS = 4_000_000
"""So many cells a release has at most."""

_REMEDY = (
    "list them in values={...} (--values FILE), take those that occur with values_from_data=True (--values-from-data), "
    "unprotected, or publish under adp=EPSILON:DELTA alone, where noise names the values that occur often."
)


def require_listed(columns: Sequence[str], values: Mapping[str, Sequence[Hashable]]) -> None:
    """Refuse columns without a list."""
    for column in columns:
        if column not in values:
            raise DivulgeError.of("values", f"list the values of column {column!r}, which groups", "it", "not listed",
                                  _REMEDY)  # fmt: skip


def record_prior(given: Any, columns: Sequence[str]) -> RecordPrior:
    """Return what is known of a record: lower=P, a prior of one column, or {record: probability} of several columns.

    >>> float(record_prior("lower=0.01", ["race"]).least)
    0.01
    >>> record_prior({"White": "9/10", "Other": "1/10"}, ["race"]).secret
    "column 'race'"
    """
    if isinstance(given, RecordPrior):
        return given
    if isinstance(given, str) and given.partition("=")[0].strip() == "lower":
        return RecordPrior(_probability(given.partition("=")[2].strip()))
    if isinstance(given, (str, os.PathLike)):
        return _from_file(given, columns)
    if isinstance(given, Mapping) and given and all(isinstance(key, tuple) for key in given):
        return _of_records(as_prior(dict(given)), columns)
    return _of_column(as_prior(given), columns)


def _probability(text: Any) -> Fraction:
    number = parse_number(text, lambda: "`record_prior` must be written lower=P with a probability; it is")
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _from_file(path: Any, columns: Sequence[str]) -> RecordPrior:
    """Read a prior file; one whose header names several columns that group is a prior of whole records."""
    from divulge.files import read_prior

    name = os.fspath(path)
    if name.lower().endswith(".csv") and Path(name).is_file():
        import csv

        with open(name, newline="", encoding="utf-8") as stream, naming(Path(name).name):
            lines = list(csv.reader(stream))
        if lines and len(lines[0]) > 2:
            head = tuple(cell.strip() for cell in lines[0][:-1])
            if not set(head) <= set(columns):
                has, known = (", ".join(map(repr, names)) or "none" for names in (head, columns))
                raise InputFileError(
                    f"{Path(name).name}: must have the columns that group and then a probability; it has {has}. "
                    f"Hint: those that group are {known}."
                )
            shares = {tuple(line[:-1]): line[-1] for line in lines[1:] if line}
            return _of_records(as_prior(shares), head)
        if lines and lines[0] and lines[0][0].strip() in columns:
            column = lines[0][0].strip()
            return replace(_of_column(read_prior(name), columns), secret=f"column {column!r}", about=(column,))
    return _of_column(read_prior(name), columns)


def _of_column(prior: Prior, columns: Sequence[str]) -> RecordPrior:
    held = [Fraction(p) for p in prior.probabilities.tolist() if p > 0]
    secret = f"column {columns[0]!r}" if len(columns) == 1 else "a secret of the record with these probabilities"
    shares = {(text_of(x),): Fraction(p) for x, p in prior.to_dict().items() if p > 0} if len(columns) == 1 else None
    known = tuple(columns) if shares else ()
    return RecordPrior(min(held), secret, known, shares, known)


def _of_records(prior: Prior, columns: Sequence[str]) -> RecordPrior:
    shares = {key: Fraction(p) for key, p in prior.to_dict().items() if p > 0}
    named = {tuple(map(text_of, key if isinstance(key, tuple) else (key,))): p for key, p in shares.items()}
    if any(len(key) != len(columns) for key in named):
        hint = f"the columns that group are {', '.join(map(repr, columns))}."
        raise DivulgeError.of(
            "record_prior", f"have records of {len(columns)} columns", "one of them", "longer or shorter", hint
        )
    return RecordPrior(min(named.values()), "the record's " + ", ".join(columns), tuple(columns), named, tuple(columns))
