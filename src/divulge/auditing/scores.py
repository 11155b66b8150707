"""Scores and memberships from the columns of a table."""

from typing import Any

import numpy as np

from divulge.errors import DivulgeError, InputFileError
from divulge.files.tables.table import open_table

_YES = frozenset(("1", "true", "yes", "in", "t", "y", "1.0"))
_NO = frozenset(("0", "false", "no", "out", "f", "n", "0.0"))
"""What people write for who is in the data and who is not; case does not matter."""


def read_scores(table: Any, score: str, member: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a table as floats, and who is in the data as booleans.

    Numbers may be text; members are 1 and 0, true and false, yes and no, in and out. No message shows a cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> scores, member = read_scores(pa.table({"loss": ["0.5", "2"], "in": ["yes", "no"]}), "loss", "in")
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
