"""Equal losses of a sum counted together, whatever pair they belong to, and all Gaussian ones as one."""

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from divulge.dp.knowledge import weakest
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.densities import written
from divulge.dp.loss.pair import PrivacyLoss

Part = tuple[PrivacyLoss, int]


def sum_of_squares(parts: Sequence[Part]) -> Fraction:
    """Return the sum of mu^2 over the Gaussian losses, exactly."""
    squares = [count * Fraction(loss.mu) ** 2 for loss, count in parts if isinstance(loss, GaussianLoss)]
    return sum(squares, Fraction(0))


def merged(parts: Sequence[Part]) -> list[Part]:
    """Return the same sum with equal losses counted together and all Gaussian losses as one, in an order of its own."""
    gaussian = sum_of_squares(parts)
    found: dict[Any, Part] = {}
    for loss, count in parts:
        if not isinstance(loss, GaussianLoss):
            key = alike(loss)
            found[key] = (loss, count + (found[key][1] if key in found else 0))
    out = sorted(found.values(), key=lambda part: (*_rank(alike(part[0])), part[1]))
    known = weakest(loss.known for loss, _ in parts if isinstance(loss, GaussianLoss))
    return [*out, (GaussianLoss(math.sqrt(gaussian), known=known), 1)] if gaussian else out


def alike(loss: PrivacyLoss) -> Any:
    """Return a key that equal losses share, whatever pair they belong to: all that is known of them, unrounded."""
    if not is_dataclass(loss):
        return id(loss)
    return (type(loss), *(_unrounded(getattr(loss, entry.name)) for entry in fields(loss) if entry.name not in _NAMES))


_NAMES = ("pair", "rows")
"""Fields of a loss that say where it comes from, not what it is."""


def _unrounded(value: Any) -> Any:
    """Return what equal values of a field share and unequal ones do not."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.dtype == object else value.tobytes()
    return alike(value) if isinstance(value, PrivacyLoss) else value


def _text(value: Any) -> str:
    """Return how a part of a key is written; whole numbers have more digits than Python turns into decimals."""
    if isinstance(value, tuple):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, Rational):
        return f"{value.numerator:x}/{value.denominator:x}"
    return getattr(value, "__name__", None) or written(value)


def _rank(key: Any) -> tuple[bytes, ...]:
    """Return a place of a key among others that does not depend on where it stood."""
    return tuple(
        value if isinstance(value, bytes) else _text(value).encode()
        for value in (key if isinstance(key, tuple) else (type(key),))
    )
