"""Bounds on the tails of a loss by theorems, where the loss is not in hand but a delta(epsilon) that bounds its own is.

The tail of a loss is no divergence: merging outcomes can raise it, so a dominating pair's own tail bounds none.
"""

import math

import numpy as np

from divulge.dp.loss.numbers import least_bound
from divulge.dp.loss.pair import PrivacyLoss

_SLACK = 1e-12
"""Share by which bounds move up: thousands of roundings, where each takes a handful beside those of delta."""
_GAPS = np.geomspace(1e-9, 1e3, 400)


def tail_bound(loss: PrivacyLoss, threshold: float) -> float:
    """Return min over e < t of delta(e) / (1 - e^(e - t)) >= P(L > t): Markov's inequality for (1 - e^(e - L))_+.

    No bound by delta(epsilon) alone is better: a mechanism with all its losses above e just above t attains it.
    """
    if threshold == math.inf:
        return float(loss.infinite)

    found = least_bound(lambda gaps: np.asarray(loss.delta(threshold - gaps)) / -np.expm1(-gaps), _GAPS)
    return min(1.0, float(found[0]) * (1 + _SLACK))


def quantile_bound(loss: PrivacyLoss, outside: float) -> float:
    """Return the least t >= 0 with `tail_bound` at most `outside`: min over e of e - log(1 - delta(e) / outside)."""
    if loss.infinite > outside:
        return math.inf
    if outside == 0:
        return max(0.0, loss.highest)
    if tail_bound(loss, 0.0) <= outside:
        return 0.0
    start = loss.epsilon(outside)

    def bound(gaps: np.ndarray) -> np.ndarray:
        e = start + gaps
        share = np.asarray(loss.delta(e)) * (1 + 4 * _SLACK) / outside
        return np.where(share < 1, e - np.log1p(-np.minimum(share, 1.0)), math.inf)

    found = float(least_bound(bound, _GAPS)[0])
    return min(found + _SLACK * (1 + found), loss.highest if loss.infinite == 0 else math.inf)


def relaxed_bound(loss: PrivacyLoss, epsilon: float, outside: float) -> float:
    """Return a bound on delta once a part of probability `outside` is set aside: 0, or delta of the whole."""
    return 0.0 if tail_bound(loss, epsilon) <= outside else float(loss.delta(epsilon))


def spread_bound(rate: float) -> float:
    """Return a tau for which any loss with D_alpha <= rate alpha in both orders is tau-sub-Gaussian around its mean.

    e^u - 1 - u <= (u / s)^2 (e^s + e^-s - 2) for |u| <= s at u = l (L - E L), with E e^(s L) <= e^(s rate (1 + s)),
    gives tau^2 = 2 (e^(s rate (1 + s)) - 1) / s^2 for every 0 < s <= 1; beyond s the line itself is below.
    """
    if rate == 0 or rate == math.inf:
        return rate
    s = np.geomspace(1.0 / (1e3 * (1 + rate)), 1.0, 4001)
    with np.errstate(over="ignore"):
        return float(np.sqrt(2 * np.expm1(s * rate * (1 + s)) / s**2).min()) * (1 + _SLACK)
