"""The largest and smallest entry of every column, and where: all that the density measures need of a matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.model.channel import is_sparse


@dataclass(frozen=True, eq=False)
class Extremes:
    """Per column: largest and smallest entry and the rows that hold them, each of shape (M,)."""

    top: np.ndarray
    bottom: np.ndarray
    top_at: np.ndarray
    bottom_at: np.ndarray


def extremes(matrix: Any, rows: np.ndarray | None = None) -> Extremes:
    """Return the extremes of each column of a dense, exact or sparse matrix, over `rows` (indices) only when given."""
    if is_sparse(matrix):
        return _sparse_extremes(matrix if rows is None else matrix[rows], rows)
    part = matrix if rows is None or len(rows) == len(matrix) else matrix[rows]
    top_at, bottom_at = part.argmax(axis=0), part.argmin(axis=0)
    columns = np.arange(part.shape[1])
    top, bottom = part[top_at, columns], part[bottom_at, columns]
    if part is not matrix and rows is not None:
        top_at, bottom_at = rows[top_at], rows[bottom_at]
    return Extremes(top, bottom, top_at, bottom_at)


def _sparse_extremes(matrix: Any, rows: np.ndarray | None) -> Extremes:
    top_at, bottom_at = (np.asarray(f(axis=0)).ravel() for f in (matrix.argmax, matrix.argmin))
    top = np.asarray(matrix.max(axis=0).todense()).ravel()
    bottom = np.asarray(matrix.min(axis=0).todense()).ravel()
    if rows is not None:
        top_at, bottom_at = rows[top_at], rows[bottom_at]
    return Extremes(top, bottom, top_at, bottom_at)
