"""Discrete scipy.stats distributions as secrets: their values, where countable ones are cut, and what lies beyond."""

import math
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.secrets.secret import Secret

_NEGLIGIBLE = math.log(1e-300)
"""Log of the mass beyond which values are left out: the largest that no double can tell from 0 in any sum."""

_MOST_VALUES = 1_000_000
"""Values that are kept at most: a sum over them takes some milliseconds for each outcome."""

_FEW = 1 << 16
"""Values on a side at which tails that fall like a power are cut: twice as many would not leave a tenth of the mass."""

_LIKE_A_POWER = 50.0
"""A mass that falls like k^-a with a below this is taken to fall like a power."""

_ADDS_UP = 1e-9
"""How far the probabilities that scipy gives may be from a sum of 1."""


def countable(distribution: Any, description: str) -> Secret:
    """Return a frozen discrete scipy.stats distribution as a secret, with the mass of values that are left out.

    What has too many values that matter, or probabilities that do not add up to 1, is refused.
    """
    low, high = (float(end) for end in distribution.support())
    places = getattr(distribution.dist, "xk", None)
    beyond = (0.0, 0.0)
    if places is not None:  # given one by one: anywhere, moved by `loc`
        x = np.sort(np.asarray(places, dtype=np.float64).ravel())
        x = x + (low - x[0])
        with np.errstate(divide="ignore"):
            logs = np.log(distribution.pmf(x))
    else:
        x, beyond = _integers(distribution, low, high, description)
        with np.errstate(all="ignore"):
            logs = distribution.logpmf(x)
    cut = np.full(len(x), -math.inf)
    cut[x < float(distribution.ppf(0.5))] = _NEGLIGIBLE if low == -math.inf else -math.inf
    cut[x > float(distribution.ppf(0.5))] = _NEGLIGIBLE if high == math.inf else -math.inf
    x, logs = x[logs > cut], logs[logs > cut]
    total = math.fsum(np.exp(logs).tolist())
    if not abs(1 - total) <= _ADDS_UP + 2 * sum(beyond):
        hint = "give it as values(...), or as a sample."
        condition = "have probabilities that add up to 1"
        raise DivulgeError.of("secret", condition, f"the sum of {description}", f"{total:.12g}", hint)
    p = np.exp(logs)
    return Secret(description, low, high, x, p, logs=None if p.min() > 0 else logs, beyond=beyond)


def _integers(distribution: Any, low: float, high: float, description: str) -> tuple[np.ndarray, tuple[float, float]]:
    """Return the values to keep of one on whole numbers, moved by its `loc`, and bounds on the mass on either side."""
    middle = float(distribution.ppf(0.5))
    (left, below), (right, above) = (
        (abs(end - middle), 0.0) if math.isfinite(end) else _cut(distribution, middle, sign)
        for end, sign in ((low, -1.0), (high, 1.0))
    )
    if not left + right <= _MOST_VALUES:
        hint = "clip it, or give it as a sample."
        raise DivulgeError.of("secret", f"have at most {_MOST_VALUES} values that matter", "it", description, hint)
    return middle + np.arange(-round(left), round(right) + 1), (below, above)


def _cut(distribution: Any, middle: float, sign: float) -> tuple[float, float]:
    """Return (how far from the median values are kept on a side, a bound on the mass beyond).

    The logarithm of the mass falls like -a log k at least, from half the way to the cut: beyond it there is at most
    p(k) k / (a - 1), and as much again for good measure. scipy's own `logsf` ends where 1 - cdf does, at 1e-16.
    """
    reach = 16.0
    while True:
        reach *= 2
        with np.errstate(all="ignore"):
            half, last = (float(distribution.logpmf(middle + sign * part * reach)) for part in (0.5, 1.0))
        if last == -math.inf:  # below the smallest double, as scipy has no log of it
            return reach, reach * math.exp(_NEGLIGIBLE)
        falls = (half - last) / math.log(2)
        mass = last + math.log(2 * reach / (falls - 1)) if falls > 1 else math.inf
        if mass <= _NEGLIGIBLE or (reach >= _FEW and falls < _LIKE_A_POWER) or reach > _MOST_VALUES:
            return reach, math.exp(min(max(mass, _NEGLIGIBLE + math.log(reach)), 0.0))


def clipped_ends(secret: Secret, low: float, high: float) -> tuple[float, float]:
    """Return the mass left out on either side, for a secret that is clipped to [low, high]: where it then belongs.

    Refused where it is not known to nine digits of what is moved to that end with it.
    """
    assert secret.values is not None
    assert secret.probabilities is not None
    x, p = secret.values, secret.probabilities
    out = [0.0, 0.0]
    lack = 1 - math.fsum(p.tolist())
    for i, past in ((0, x <= low), (1, x >= high)):
        mass, alone = secret.beyond[i], not secret.beyond[1 - i]
        by_sum = alone and mass > _BY_SUM  # what the others leave, else the middle of what is possible
        out[i] = lack if by_sum else mass / 2
        if not (1e-15 if by_sum else mass / _FEW) <= _DIGITS * float(p[past].sum()):
            end = f"{(low, high)[i]:g}"
            condition = f"lie well inside the values that are kept, {x[0]:g} to {x[-1]:g}"
            raise DivulgeError.of("clip", condition, "an end", end, "give the records as a sample.")
    return out[0], out[1]


_BY_SUM, _DIGITS = 1e-7, 1e-9
"""Mass that a sum of doubles leaves with enough digits; the digits it must have."""
