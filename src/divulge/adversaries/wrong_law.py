"""What an outcome says of a correlated secret Z when the law of X given Z is only known to be near one, or in a box.

P(y | z) is the mean of C(y | x) under P(x | z). P(z) stays, and each z has its law by itself, so that a lift of z is
largest where the mean of z is largest and all others are least, and least the other way round.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.entries import rational

_ROUNDING = Fraction(1, 10**9)
"""What sums of doubles may miss 1 by: intervals are then made wider."""

Ends = Callable[[list[Fraction]], list[tuple[Fraction, Fraction]]]
"""Values (|X|,) -> (the least mean, the largest mean) of each z under the laws that it may have."""


def laws_near(laws: np.ndarray, radius: Any) -> Ends:
    """Return the ends over all laws within a total variation of those given, P(x | z) of shape (|Z|, |X|)."""
    off = _number("radius", radius)
    if not 0 <= off <= 1:
        raise DivulgeError.of("radius", "be in [0, 1]", "it", str(radius)[:40])

    def ends(values: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
        return [(_moved(law, values, off), -_moved(law, [-v for v in values], off)) for law in laws.tolist()]

    return ends


def laws_within(laws: np.ndarray, factor: Any) -> Ends:
    """Return the ends over all laws of which each P(x | z) is within a factor of the one given; what is 0 stays 0."""
    most = _number("factor", factor)
    if not most >= 1:
        raise DivulgeError.of("factor", "be 1 at least", "it", str(factor)[:40])
    return laws_between(laws / most, np.minimum(laws * most, 1))


def laws_between(low: np.ndarray, high: np.ndarray) -> Ends:
    """Return the ends over all laws with low <= P(x | z) <= high, fractions of shape (|Z|, |X|)."""
    boxes: list[tuple[list[Fraction], list[Fraction]]] = []
    for z, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        fewest, all_of_them = sum(least), sum(most)
        if any(not 0 <= a <= b <= 1 for a, b in zip(least, most, strict=True)) or not (
            fewest <= 1 + _ROUNDING and all_of_them >= 1 - _ROUNDING
        ):
            raise DivulgeError.of(
                "low", "be at most high, both in [0, 1], and leave a law of sum 1", f"row {z}", "one that does not",
                "rows are values of the correlated secret, columns those of the data.",
            )  # fmt: skip
        boxes.append(([v / max(fewest, 1) for v in least], [v / min(all_of_them, 1) for v in most]))

    def ends(values: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
        order = sorted(range(len(values)), key=values.__getitem__)
        return [
            (_filled(least, most, values, order), _filled(least, most, values, order[::-1])) for least, most in boxes
        ]

    return ends


def worst_ratio(
    shares: list[Fraction], channel: np.ndarray, ends: Ends, side: Literal["pml", "pmc"] = "pml"
) -> Fraction | float:
    """Return the largest lift of a z (pml), or the largest inverse lift (pmc), at an outcome under all these laws.

    Exact in the numbers that are given, and attained; inf where an outcome can be ruled out for z, or for all others.
    `shares` are P(z), of which none is 0, `channel` is C(y | x), both in fractions.
    """
    worst: Fraction | float = Fraction(0)
    for column in channel.T.tolist():
        found = ends(column)
        least, most = (sum(p * one[k] for p, one in zip(shares, found, strict=True)) for k in (0, 1))
        for share, (down, up) in zip(shares, found, strict=True):
            if side == "pml" and up:
                worst = max(worst, up / (least + share * (up - down)))
            elif side == "pmc" and most:
                worst = max(worst, (most - share * (up - down)) / down if down else float("inf"))
    return worst


def _number(name: str, value: Any) -> Fraction:
    try:
        return rational(str(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise DivulgeError.of(name, "be a number", "it", repr(value)[:40]) from None


def _moved(law: list[Fraction], values: list[Fraction], off: Fraction) -> Fraction:
    """Return the least mean of values under laws within a total variation: mass leaves the largest of them first."""
    order = sorted(range(len(law)), key=values.__getitem__)
    mean, left = sum((a * b for a, b in zip(law, values, strict=True)), Fraction(0)), off
    for x in reversed(order):
        taken = min(left, law[x])
        mean -= taken * (values[x] - values[order[0]])
        left -= taken
    return mean


def _filled(low: list[Fraction], high: list[Fraction], values: list[Fraction], order: list[int]) -> Fraction:
    """Return the mean of values where what the least shares leave of 1 goes to the first in an order."""
    mean, left = sum((a * b for a, b in zip(low, values, strict=True)), Fraction(0)), 1 - sum(low)
    for x in order:
        more = min(left, high[x] - low[x])
        mean += more * values[x]
        left -= more
    return mean
