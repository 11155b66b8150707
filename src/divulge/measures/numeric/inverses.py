"""The inverse of a square matrix, remembered: a release asks for that of one channel several times."""

from hashlib import blake2b

import numpy as np

_KEPT = 2
"""Inverses that are remembered: of the mechanism that is looked at, and of the one before."""
_LARGEST = 1 << 21
"""Up to so many entries, 16 MB."""

_known: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}


def inverse_of(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a square float matrix by LAPACK; `LinAlgError` where there is none.

    Of a matrix that was asked for before, or of a power of two times it, whose inverse has the same digits.

    >>> bool((inverse_of(np.array([[0.75, 0.25], [0.25, 0.75]])) == 4 * inverse_of(np.array([[3, 1], [1, 3]]))).all())
    True
    """
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
