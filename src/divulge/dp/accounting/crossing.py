"""Where a falling function crosses 0, from the side that is asked for."""

import math
from collections.abc import Callable
from typing import Any

_FARTHEST = 1e12
"""Beyond this no crossing is looked for."""

_NARROW = 1e-13
"""Relative width at which a search stops."""

_STEEPEST = 1e4
"""Values beyond this count as this: the search needs their signs alone."""


def crossing(f: Callable[[float], float], start: float, side: int, reach: float = math.inf) -> float:
    """Return where a falling function on [0, inf) crosses 0: a point with f <= 0 (side +1) or with f > 0 (side -1).

    0 when f is not positive there; where it stays positive as far as is looked, +inf (side +1) or the farthest point
    (side -1). Found by Brent's method in a bracket that grows from `start`, by no more than `reach` at first, then
    moved to its side.
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
    step = _NARROW * (1.0 + high)
    found: Any = brentq(lambda x: min(max(f(x), -_STEEPEST), _STEEPEST), low, high, xtol=step)
    found = min(max(found + side * step, low), high)
    while (f(found) > 0) == (side > 0):
        found, step = min(max(found + side * step, low), high), 2 * step
    return found
