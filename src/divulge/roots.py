"""Where a condition turns, a function crosses 0 or is least: one home for searches along a line.

Where a promise depends on the end that is taken, a search returns both: the condition is known to fail at one and to
hold at the other. SciPy searches wherever no side is asked for.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

GOLDEN = (math.sqrt(5) - 1) / 2
"""The golden ratio, less 1: an interval that is cut at it on both sides leaves one cut where the next needs it."""

_LARGEST = 1e300
"""Where doubling ends: doubles end at 1.8e308, and the next one is still among them."""

_FARTHEST = 1e12
"""Beyond this no crossing is looked for."""

_NARROW = 1e-13
"""Relative width at which a search for a crossing stops."""

_STEEPEST = 1e4
"""Values beyond this count as this: the search needs their signs alone."""


def turn(
    holds: Callable[[float], bool], low: float, high: float, width: float = 0.0, steps: float = math.inf
) -> tuple[float, float]:
    """Return (low, high) between which a condition that fails at `low` and holds at `high` turns, by halving.

    They are neighboring doubles, unless `width`, relative to the larger, or a number of `steps` ends the search before.

    >>> low, high = turn(lambda x: x * x >= 2, 1.0, 2.0)
    >>> low < high == math.nextafter(low, 2.0), round(high, 6)
    (True, 1.414214)
    """
    while steps > 0 and high - low > width * max(abs(low), abs(high)):
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
        steps -= 1
    return low, high


def enclosed(f: Callable[[float], float], low: float, high: float, width: float) -> tuple[float, float]:
    """Return (low, high), no farther apart than `width`, between which a function falls below 0: f(low) >= 0 > f(high).

    By false position; of an end that stays, the value is halved (Illinois: Dowell, Jarratt, 1971).

    >>> low, high = enclosed(lambda x: 2.0 - x * x, 0.0, 2.0, 1e-9)
    >>> low <= math.sqrt(2) < high, high - low <= 1e-9
    (True, True)
    """
    above, below, moved = f(low), f(high), 0
    while high - low > width:
        place = low + (high - low) * (above / (above - below))
        place = min(max(place, low + width / 2), high - width / 2)  # so that the far end comes near as well
        if not low < place < high:
            break
        value = f(place)
        if value >= 0:
            low, above, below, moved = place, value, below / 2 if moved > 0 else below, 1
        else:
            high, below, above, moved = place, value, above / 2 if moved < 0 else above, -1
    return low, high


def grown(holds: Callable[[float], bool], start: float, largest: float = _LARGEST) -> tuple[float, float]:
    """Return (low, high), high the first of start, 2 start, ... that holds; +inf where none does up to the largest.

    >>> grown(lambda x: x > 5, 1.0), grown(lambda x: False, 1.0, 8.0)
    ((4.0, 8.0), (8.0, inf))
    """
    low, high = 0.0, start
    while not holds(high):
        low, high = high, high * 2.0
        if high > largest:
            return low, math.inf
    return low, high


def least(holds: Callable[[float], bool], highest: float, width: float = 0.0) -> float:
    """Return the least non-negative double with `holds`, a condition that stays true once it is; +inf if none has.

    `highest` is about the largest that can be asked for: the search grows from there, or from 1 where that is less.
    With a relative `width`, some double with `holds` that is above the least by no more than that.

    >>> round(least(lambda x: x >= 0.3, 10.0), 9), least(lambda x: True, 1.0), least(lambda x: False, 1.0)
    (0.3, 0.0, inf)
    """
    if holds(0.0):
        return 0.0
    low, high = grown(holds, min(1.0, highest) if highest > 0 else 1.0)
    return turn(holds, low, high, width)[1] if high < math.inf else math.inf


def least_integer(
    holds: Callable[[int], bool], low: int, largest: int = sys.maxsize, late: Callable[[], bool] = bool
) -> int:
    """Return the least integer from `low` on with `holds`, which stays true once it is; largest + 1 for none up to it.

    Once it is `late` some integer with `holds` comes back, less than twice as far from `low` as the least.

    >>> least_integer(lambda n: n * n >= 50, 0, 1000), least_integer(lambda n: False, 0, 1000)
    (8, 1001)
    >>> least_integer(lambda n: n * n >= 90, 0, 1000, late=lambda: True)
    16
    """
    step, first = 1, low
    while not holds(high := min(low + step, largest)):
        if high == largest:
            return largest + 1
        step *= 2
        first = high + 1
    while first < high and not late():
        middle = (first + high) // 2
        first, high = (first, middle) if holds(middle) else (middle + 1, high)
    return high


def turns(
    holds: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return `turn` of many conditions at once: arrays low, where they fail, and high, where they hold.

    >>> squares = np.array([2.0, 9.0])
    >>> turns(lambda x: x * x >= squares, np.zeros(2), squares, 60)[1].round(6).tolist()
    [1.414214, 3.0]
    """
    for _ in range(steps):
        middle = (low + high) / 2
        there = holds(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return low, high


def valley(cost: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return about where a cost with one valley is least, by golden sections; of two that are equal, the lower one.

    >>> round(valley(lambda x: (x - 1) ** 2, 0.0, 3.0, 60), 6)
    1.0
    """
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = cost(a), cost(b)
    for _ in range(steps):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = cost(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = cost(b)
    return a if at_a <= at_b else b


def peaks(f: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, steps: int) -> np.ndarray:
    """Return the places of the largest values, one in each interval, of functions that rise and then fall.

    >>> middles = np.array([1.0, 2.0])
    >>> peaks(lambda x: -((x - middles) ** 2), np.zeros(2), np.full(2, 5.0), 45).round(6).tolist()
    [1.0, 2.0]
    """
    for _ in range(steps):
        step = GOLDEN * (high - low)
        left, right = high - step, low + step
        rising = f(left) < f(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return low / 2 + high / 2


def crossing(
    f: Callable[[float], float], start: float, side: int, reach: float = math.inf, width: float = 0.0
) -> float:
    """Return where a falling function on [0, inf) crosses 0: a point with f <= 0 (side +1) or with f > 0 (side -1).

    0 when f is not positive there; where it stays positive as far as is looked, +inf (side +1) or the farthest point
    (side -1). Found by Brent's method in a bracket that grows from `start`, by no more than `reach` at first, then
    moved to its side; to 1e-13, or the `width` that is enough.
    """
    from scipy.optimize import brentq

    low = high = max(0.0, start)
    reach = max(min(reach, 1e-3 * (1.0 + low)), _NARROW * (1.0 + low))
    while f(high) > 0:
        if high > _FARTHEST:
            return float("inf") if side > 0 else high
        low, high, reach = high, high + reach, 4 * reach
    while not f(low) > 0:
        if low == 0.0:
            return 0.0
        high, low, reach = low, max(0.0, low - reach), 4 * reach
    step = max(width, _NARROW * (1.0 + high))
    found: Any = brentq(lambda x: min(max(f(x), -_STEEPEST), _STEEPEST), low, high, xtol=step)
    found = min(max(found + side * step, low), high)
    while (f(found) > 0) == (side > 0):
        found, step = min(max(found + side * step, low), high), 2 * step
    return found
