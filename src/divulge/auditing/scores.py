"""Scores, guesses and memberships from the columns of a table."""

from typing import Any

import numpy as np

from divulge.errors import DivulgeError, InputFileError
from divulge.files.tables.table import open_table
from divulge.model.labels import text_of

_YES = frozenset(("1", "true", "yes", "in", "t", "y", "1.0"))
_NO = frozenset(("0", "false", "no", "out", "f", "n", "0.0"))
"""What people write for who is in the data and who is not; case does not matter."""


def read_scores(table: Any, score: str, member: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a table as floats, and who is in the data as booleans.

    Numbers may be text; members are 1 and 0, true and false, yes and no, in and out. No message shows a cell.

    >>> scores, member = read_scores({"loss": ["0.5", "2"], "in": ["yes", "no"]}, "loss", "in")
    >>> scores.tolist(), member.tolist()
    ([0.5, 2.0], [True, False])
    """
    if score == member:
        raise DivulgeError.of("member", "be another column than the score", "it", repr(member)[:60])
    source = open_table(table)
    source.require_values([score, member])
    scores: list[np.ndarray] = []
    members: list[np.ndarray] = []
    for batch in source.batches([score, member]):
        scores.append(_numbers(batch.column(score), source.name, score))
        members.append(_truths(batch.column(member), source.name, member))
    if not scores:
        raise InputFileError(f"{source.name}: has no rows.")
    return np.concatenate(scores), np.concatenate(members)


def read_guesses(
    table: Any, columns: tuple[str, str, str], member: str | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return guesses, imputation and truth of the people of a table who are in the data, and of those who are not.

    Without a column that says who is in, all are. No message shows a cell.

    >>> told = {"said": ["a", "b"], "usual": ["a", "a"], "true": ["a", "b"], "in": [1, 0]}
    >>> inside, outside = read_guesses(told, ("said", "usual", "true"), "in")
    >>> [one.tolist() for one in inside], [one.tolist() for one in outside]
    ([['a'], ['a'], ['a']], [['b'], ['a'], ['b']])
    """
    names = [*columns, *([] if member is None else [member])]
    if len(set(names)) < len(names):
        raise DivulgeError("guesses, imputation, truth and members are columns of their own; two of them are one.")
    source = open_table(table)
    source.require_values(names)
    texts: list[list[str]] = [[] for _ in columns]
    inside: list[np.ndarray] = []
    for batch in source.batches(names):
        for column, found in zip(columns, texts, strict=True):
            told = [text_of(cell) for cell in batch.column(column).to_pylist()]
            if None in told:
                raise InputFileError(f"{source.name}: column {column!r} must have a label in every row; one has none.")
            found += map(str, told)
        inside.append(
            np.ones(batch.num_rows, dtype=bool) if member is None
            else _truths(batch.column(member), source.name, member)
        )  # fmt: skip
    who = np.concatenate([np.zeros(0, dtype=bool), *inside])
    if not who.any():
        raise InputFileError(f"{source.name}: has no rows of people who are in the data.")
    arrays = [np.array(found, dtype=object) for found in texts]
    return [one[who] for one in arrays], [one[~who] for one in arrays]


def _numbers(column: Any, name: str, label: str) -> np.ndarray:
    given = column.to_pylist()
    try:
        found = np.array([float("nan" if cell is None else cell) for cell in given], dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if not np.isfinite(found).all():
        raise InputFileError(f"{name}: column {label!r} must hold a finite number in every row; one cell holds none.")
    return found


def _truths(column: Any, name: str, label: str) -> np.ndarray:
    words = [str(cell).strip().lower() for cell in column.to_pylist()]
    if not set(words) <= _YES | _NO:
        raise InputFileError(
            f"{name}: column {label!r} must say in every row who is in the data; one cell says neither. Hint: write 1 "
            "and 0, true and false, yes and no, or in and out."
        )
    return np.array([word in _YES for word in words], dtype=bool)
