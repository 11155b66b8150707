"""The other way round: the least delta at which a chosen epsilon follows, from the safe side."""

import math
from collections.abc import Callable, Iterable

_LEAST, _STEPS, _WIDTH = math.log(1e-300), 60, 1e-9
"""The least logarithm of a delta, the most tries, and the width in the logarithm at which a search ends."""


def least_delta(epsilon_at: Callable[[float], float], epsilon: float, tried_first: Iterable[float] = ()) -> float:
    """Return a delta with epsilon_at(delta) <= epsilon, the least up to a share of 1e-9; inf where not even 1 does.

    `epsilon_at` falls, and may jump from inf: at the values of `tried_first`, say. Between finite ends false position
    (Illinois) is used, else, and where the upper end is met exactly, halving.

    >>> import math
    >>> round(least_delta(lambda delta: -math.log(delta) if delta else math.inf, 2.0), 9)  # e^-2
    0.135335283
    """
    if epsilon_at(0.0) <= epsilon:
        return 0.0
    if not epsilon_at(1.0) <= epsilon:
        return math.inf
    low, high = _LEAST, 0.0
    at_low, at_high = epsilon_at(math.exp(low)) - epsilon, epsilon_at(1.0) - epsilon
    if at_low <= 0:
        return math.exp(low)
    best = 1.0
    for delta in sorted(tried_first, reverse=True):
        if 0 < delta < best and epsilon_at(delta) <= epsilon:
            best, high, at_high = delta, math.log(delta), epsilon_at(delta) - epsilon
            if not epsilon_at(math.nextafter(delta, 0.0)) <= epsilon:
                return delta
    side = 0  # the end that moved last
    for _ in range(_STEPS):
        if high - low <= _WIDTH:
            break
        middle = (low + high) / 2
        if at_low < math.inf and at_high < 0:
            middle = min(max((low * at_high - high * at_low) / (at_high - at_low), low + _WIDTH / 2), high - _WIDTH / 2)
        delta = math.exp(middle)
        value = epsilon_at(delta) - epsilon
        if value <= 0:
            best, high, at_high, at_low, side = delta, middle, value, at_low / 2 if side > 0 else at_low, 1
        else:
            low, at_low, at_high, side = middle, value, at_high / 2 if side < 0 else at_high, -1
    return best
