"""One-dimensional searches whose ends are on the side they are asked for."""

import math
from collections.abc import Callable

_FARTHEST = 1e12
"""Beyond this no crossing is looked for."""

_NARROW = 1e-13
"""Relative width at which a search stops."""

Point = tuple[float, float]


def crossing(f: Callable[[float], float], start: float, side: int) -> float:
    """Return where a falling function on [0, inf) crosses 0: the end with f <= 0 (side +1) or with f > 0 (side -1).

    0 when f is not positive there; where it stays positive as far as is looked, +inf (side +1) or the farthest point
    (side -1). The bracket is narrowed by false position (Illinois),
    and by halving where a value is infinite.

    Examples
    --------
    >>> crossing(lambda x: 2.0 - x, 0.5, +1), crossing(lambda x: -1.0, 0.5, +1)
    (2.0, 0.0)
    """
    low, high = _enclosed(f, max(0.0, start))
    if low[0] == high[0]:
        return high[0]
    if math.isinf(high[0]):
        return high[0] if side > 0 else low[0]
    while high[0] - low[0] > (narrow := _NARROW * (1.0 + high[0])):
        middle = (low[0] + high[0]) / 2
        if math.isfinite(low[1] - high[1]):
            middle = high[0] - high[1] * (high[0] - low[0]) / (high[1] - low[1])
        middle = min(max(middle, low[0] + narrow / 2), high[0] - narrow / 2)
        value = f(middle)
        if value > 0:
            low, high = (middle, value), (high[0], high[1] / 2)
        else:
            low, high = (low[0], low[1] / 2), (middle, value)
    return high[0] if side > 0 else low[0]


def _enclosed(f: Callable[[float], float], start: float) -> tuple[Point, Point]:
    """Return (x, f(x)) on both sides of the crossing; the same point twice, 0, when f is never positive."""
    low = high = (start, f(start))
    reach = 1e-3 * (1.0 + start)
    while high[1] > 0:
        if high[0] > _FARTHEST:
            return high, (math.inf, -math.inf)
        low, high = high, (high[0] + reach, f(high[0] + reach))
        reach *= 4
    while not low[1] > 0:
        if low[0] == 0.0:
            return low, low
        high, low = low, (max(0.0, low[0] - reach), f(max(0.0, low[0] - reach)))
        reach *= 4
    return low, high


def least_value(f: Callable[[float], float], low: float, high: float) -> float:
    """Return about the least value of a function on [low, high] with one valley, by golden sections; an upper bound.

    Examples
    --------
    >>> round(least_value(lambda x: (x - 1.0) ** 2 + 3.0, -5.0, 5.0), 9)
    3.0
    """
    ratio = (math.sqrt(5.0) - 1.0) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = f(a), f(b)
    while high - low > 1e-9 * (1.0 + abs(high)):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = f(b)
    return min(at_a, at_b)
