"""Large matrices are read in panels of rows that fit the processor's cache, on two threads."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PANEL = 1 << 18
"""Entries in a panel, two megabytes of float64: with half of it a profile of 10,000 x 10,000 takes a fifth longer, as
what is kept of each column is read and written once a panel; with twice of it caches do not hold what two threads read.
"""

THREADED = 1 << 21
"""From this many entries on, two threads share the rows."""


def height(matrix: np.ndarray, size: int | None = None) -> int:
    """Return the number of rows in a panel of about `size` entries, `PANEL` when not given.

    >>> height(np.zeros((1000, 4096)))
    64
    """
    return min(len(matrix), max(1, (PANEL if size is None else size) // max(matrix.shape[1], 1)))


def panels(matrix: np.ndarray, first: int = 0, last: int | None = None, size: int | None = None) -> Iterator[slice]:
    """Yield slices of rows whose blocks, of about `size` entries, fit the cache.

    >>> list(panels(np.zeros((5, 10)), size=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = height(matrix, size)
    last = len(matrix) if last is None else last
    return (slice(i, min(i + step, last)) for i in range(first, last, step))


def in_parts(matrix: np.ndarray, work: Callable[[int, int], Any]) -> list[Any]:
    """Return [work(first, last)] over one or, for a large matrix, two ranges of rows on two threads.

    >>> in_parts(np.ones((3, 2)), lambda first, last: last - first)
    [3]
    """
    if matrix.size < THREADED:
        return [work(0, len(matrix))]
    from concurrent.futures import ThreadPoolExecutor

    step = height(matrix)
    middle = min(len(matrix), step * (-(-len(matrix) // step) // 2))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, (0, middle), (middle, len(matrix))))


def weighted_sum(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weights @ matrix, shape (M,), summed panel by panel: the same to the last bit wherever it is needed.

    >>> weighted_sum(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.5, 0.5])).tolist()
    [0.375, 0.625]
    """
    if matrix.size <= PANEL:
        return weights.dot(matrix)

    def part(first: int, last: int) -> np.ndarray:
        total = np.zeros(matrix.shape[1])
        for rows in panels(matrix, first, last):
            total += weights[rows] @ matrix[rows]
        return total

    return np.add.reduce(in_parts(matrix, part))
