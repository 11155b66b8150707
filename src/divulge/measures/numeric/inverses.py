"""The inverse of a square matrix, remembered: a release asks for that of one channel several times.

What is diagonal beside equal rows, or a circulant with columns that are scaled, has one in closed form.
"""

from hashlib import blake2b

import numpy as np

_KEPT = 2
"""Inverses that are remembered: of the mechanism that is looked at, and of the one before."""
_LARGEST = 1 << 21
"""Up to so many entries, 16 MB."""

_known: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}


def inverse_of(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a square float matrix, by LAPACK or in closed form; `LinAlgError` where there is none.

    Of a matrix that was asked for before, or of a power of two times it, whose inverse has the same digits.

    >>> bool((inverse_of(np.array([[0.75, 0.25], [0.25, 0.75]])) == 4 * inverse_of(np.array([[3, 1], [1, 3]]))).all())
    True
    """
    if len(matrix) > _FEW and (closed := _closed(matrix)) is not None:
        return closed
    if matrix.size > _LARGEST:
        return np.linalg.inv(matrix)
    power = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])
    scaled = np.ascontiguousarray(np.ldexp(matrix, -power))
    key = scaled.shape, blake2b(scaled.data, digest_size=32).digest()
    found = _known.get(key)
    if found is None:
        found = np.linalg.inv(scaled)
        while len(_known) >= _KEPT:
            _known.pop(next(iter(_known)), None)
        _known[key] = found
    return np.ldexp(found, -power)


_FEW = 64
"""Up to so many rows LAPACK takes a millisecond."""
_ALIKE = 2.0**-50
"""By such a share numbers that are equal but for their last digits may differ: it moves an inverse as LAPACK's rounding
does. What is so near to 0, times the number of rows, has no inverse that is known."""


def _closed(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse in closed form, where there is one."""
    beside = _beside_equal_rows(matrix)
    return _of_circulant(matrix) if beside is None else beside


def _beside_equal_rows(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of D + 1 b', D diagonal, by Sherman and Morrison: D^-1 - D^-1 1 b' D^-1 / (1 + b' D^-1 1).

    >>> found = _beside_equal_rows(np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]))
    >>> found.tolist()
    [[3.0, -1.0, -1.0], [-1.0, 3.0, -1.0], [-1.0, -1.0, 3.0]]
    """
    rows = np.append(matrix[1, :1], matrix[0, 1:])
    if not _alike(matrix[2, 3:], rows[3:]):
        return None
    others = matrix.copy()
    np.fill_diagonal(others, rows)
    if not _alike(others, rows):
        return None
    beside, lost = np.diag(matrix) - rows, len(matrix) * _ALIKE
    if not (np.abs(beside) > lost * np.abs(rows)).all():
        return None
    each = 1 / beside
    whole = 1 + rows @ each
    if not abs(whole) > lost * (1 + np.abs(rows) @ np.abs(each)):
        return None
    found = np.outer(each, rows * each) / -whole
    found[np.diag_indices(len(found))] += each
    return found


def _of_circulant(matrix: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a circulant whose columns are scaled, by Fourier's transform.

    >>> _of_circulant(np.array([[0.75, 0.125], [0.25, 0.375]])).tolist()  # times diag(1, 1/2)
    [[1.5, -0.5], [-1.0, 3.0]]
    """
    size, column = len(matrix), matrix[:, 0]
    largest = int(column.argmax())
    scales = matrix[(largest + np.arange(size)) % size, np.arange(size)]
    if not scales.all():
        return None
    for some in (slice(3), slice(None)):  # most matrices are told from one by three columns
        if not _alike(matrix[:, some], turned(column)[:, some] * (scales[some] / scales[0])):
            return None
    spectrum = np.fft.rfft(column)
    sizes = np.abs(spectrum)
    if not sizes.min() > size * _ALIKE * sizes.max():
        return None
    return turned(np.fft.irfft(1 / spectrum, size)) * (scales[0] / scales)[:, None]


def turned(column: np.ndarray) -> np.ndarray:
    """Return the circulant of a column, a view: each next column is turned by one place more.

    >>> turned(np.array([1, 2, 3])).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    around = np.concatenate([column[::-1], column[:0:-1]])
    return np.lib.stride_tricks.sliding_window_view(around, len(column))[::-1]


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return bool((np.abs(one - other) <= _ALIKE * np.abs(other)).all())
