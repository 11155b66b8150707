"""What the named mechanisms are asked with: alphabets, privacy parameters, shares; and matrices of one value."""

import math
import operator
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.entries import entries
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_HALF_ULP = 2.0**-53
"""By this share rounding to the nearest double changes a number at most."""


Secrets = int | Iterable[Hashable] | Prior


def letters_of(secrets: Secrets) -> Labels:
    """Return the alphabet that an int, labels or a Prior stand for."""
    if isinstance(secrets, Prior):
        return secrets.secrets
    countable = isinstance(secrets, Iterable) or hasattr(secrets, "__index__")
    if isinstance(secrets, (bool, str, bytes)) or not countable:
        raise DivulgeError.of("secrets", "be a number of secrets or their labels", "it", f"a {type(secrets).__name__}")
    if isinstance(secrets, range):
        letters: Labels = secrets
    else:
        letters = tuple(secrets) if isinstance(secrets, Iterable) else range(operator.index(secrets))
    if not len(letters) >= 1:
        raise DivulgeError.of("secrets", "name at least one secret", "their number", str(len(letters)))
    return letters


def inverse_ratio(epsilon: float | None, ratio: Any) -> Any:
    """Return a = e^-epsilon, a float, or a Fraction when the exact ratio is given."""
    if (epsilon is None) == (ratio is None):
        given = "neither" if ratio is None else "both"
        raise DivulgeError.of("epsilon", "be given, or the exact ratio in its place", "what was given", given)
    if ratio is not None:
        value = number(ratio, "ratio")
        if not value >= 1:
            raise DivulgeError.of("ratio", "be at least 1", "it", str(value))
        return 1 / value
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, np.number)) or not epsilon >= 0:
        raise DivulgeError.of("epsilon", "be a number that is at least 0", "it", str(epsilon))
    return math.exp(-inside(float(epsilon)))


def inside(epsilon: float) -> float:
    """Return epsilon less what rounding may add to the logarithm of a ratio of two float entries, at least 0."""
    return epsilon if epsilon == math.inf else max(0.0, epsilon - (8 + 4 * epsilon) * _HALF_ULP)


def number(value: Any, argument: str) -> Any:
    """Return one entry, a Fraction or a float, through the one way in for numbers."""
    return entries([value], argument, 1, lambda _: "it").tolist()[0]


def positive(value: Any, argument: str) -> Fraction:
    """Return a number as a fraction; refuse what is not positive."""
    given = number(value, argument)
    if not given > 0:
        raise DivulgeError.of(argument, "be positive", "it", str(given))
    return Fraction(given)


def share_of(value: Any, argument: str) -> Any:
    """Return a number of [0, 1], a Fraction or a float; refuse others."""
    given = number(value, argument)
    if not given <= 1:
        raise DivulgeError.of(argument, "be in [0, 1]", "it", str(given))
    return given


def filled(rows: int, columns: int, value: Any, diagonal: Any) -> np.ndarray:
    """Return a matrix of `value`, with `diagonal` on the diagonal unless it is None; exact when `value` is."""
    matrix = np.full((rows, columns), value, dtype=object if isinstance(value, Fraction) else np.float64)
    if diagonal is not None:
        np.fill_diagonal(matrix, Fraction(diagonal) if isinstance(value, Fraction) else diagonal)
    return matrix
