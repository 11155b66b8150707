"""Which of several values is the largest, and in what order they fall, said alike by every machine.

The last bits of a sum or a logarithm depend on the width of a processor's vectors and on the kernel of its linear
algebra. So what is public besides the numbers (a label, a pair, a witness, an order) is never decided by them: values
that are equal up to rounding are tied, and of those the first counts, in the order of the labels.
"""

import math
from typing import Any

import numpy as np

RELATIVE = 1e-12
"""Values are tied when they differ by at most this share of the larger one."""

ABSOLUTE = 1e-15
"""Logarithms and differences near 0 are tied when they differ by at most this."""

LAST_BITS = 2e-15
"""Entries of a matrix, which took one or two roundings to make, are tied when they differ by at most this share."""


def _as_array(values: Any) -> np.ndarray:
    return values if isinstance(values, np.ndarray) else np.array(values)


def first_largest(
    values: Any, *, axis: int | None = None, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> Any:
    """Return the first position of a value that is the largest up to rounding, along an axis where given.

    Fractions and whole numbers are compared exactly.

    >>> first_largest([0.3, 0.1 + 0.2, 0.1]), first_largest([0.1 + 0.2, 0.3, 0.1]), first_largest([1, 2])
    (0, 0, 1)
    >>> first_largest([[0.1, 3.0], [2.0, 3.0]], axis=0).tolist()
    [1, 0]
    """
    found = _as_array(values)
    if axis is None:
        top = found.item(found.argmax())
        if found.dtype.kind == "f" and math.isfinite(top):
            top -= max(relative * abs(top), absolute)
        return int((found >= top).argmax())
    top = found.max(axis=axis, keepdims=True)
    if found.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            top = np.where(np.isinf(top), top, top - np.maximum(relative * np.abs(top), absolute))
    return (found >= top).argmax(axis=axis)


def first_smallest(
    values: Any, *, axis: int | None = None, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> Any:
    """Return the first position of a value that is the smallest up to rounding, along an axis where given.

    >>> first_smallest([0.1 + 0.2, 0.3, 0.4])
    0
    """
    return first_largest(-_as_array(values), axis=axis, relative=relative, absolute=absolute)


def falling(*keys: Any, absolute: float = ABSOLUTE) -> np.ndarray:
    """Return the positions in order of falling value: by the first key, ties by the next, and then by position.

    >>> falling([0.3, 0.5, 0.1 + 0.2, 0.1]).tolist()
    [1, 0, 2, 3]
    >>> falling([0.3, 0.5, 0.1 + 0.2], [0.0, 0.0, 1.0]).tolist()
    [1, 2, 0]
    """
    return np.lexsort([_grades(_as_array(key), absolute) for key in reversed(keys)])


def _grades(values: np.ndarray, absolute: float) -> np.ndarray:
    """Return 0 for the largest value, 1 for the next, ..., whole numbers of shape (n,) that ties share."""
    order = np.argsort(-values, kind="stable")
    found = values[order]
    lower = found[1:] < found[:-1]
    if found.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            rounding = np.where(np.isinf(found[:-1]), 0.0, np.maximum(RELATIVE * np.abs(found[:-1]), absolute))
            lower &= found[:-1] - found[1:] > rounding
    out = np.zeros(len(values), dtype=np.int64)
    out[order[1:]] = np.cumsum(lower)
    return out
