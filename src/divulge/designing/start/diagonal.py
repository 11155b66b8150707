"""Diagonal mechanisms C = s I + 1 b^T: the truth with probability s, otherwise a value drawn whatever the secret is.

Randomized response (b equal) and the resample mechanism (b = P) are such. The outcome y has the lifts
(s + b_y) / (s P_y + b_y) at y and b_y / (s P_y + b_y) elsewhere, so that each guarantee on columns bounds b_y / s from
below, for each y on its own.
"""

import math

import numpy as np

from divulge.designing.polytope.limits import Limits


def backgrounds(limits: Limits, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the least b_y / s of every column that keeps the limits, for probabilities between `least` and `most`."""
    out = np.zeros(len(least))
    if len(least) == 1:  # one column alone has the lift 1, whatever its background
        return out
    if limits.ratio < math.inf:
        out = np.maximum(out, 1 / (limits.ratio - 1))
    if limits.high < math.inf:
        out = np.maximum(out, (1 - limits.high * least) / (limits.high - 1))
    if limits.low > 0:
        out = np.maximum(out, limits.low * most / (1 - limits.low))
    return out


def diagonal(limits: Limits, least: np.ndarray, most: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the diagonal mechanism with the largest s; what a capacity leaves of b is distributed as `spread`."""
    ratios, n = backgrounds(limits, least, most), len(least)
    strength = 1 / (1 + math.fsum(ratios.tolist()))
    if limits.capacity < math.inf and n > 1:
        strength = min(strength, (limits.capacity - 1) / (n - 1))
    background = strength * ratios
    background = background + max(0.0, 1 - strength - background.sum()) * spread
    return np.diag(np.full(n, strength)) + background


def truncated(limits: Limits, prior: np.ndarray, many: int) -> np.ndarray:
    """Return the diagonal mechanism on the likeliest values, from whose background all others draw what they report."""
    told, n = np.argsort(-prior, kind="stable")[:many], len(prior)
    spread = backgrounds(limits, prior[told], prior[told]) + 1e-300
    spread /= spread.sum()
    channel = np.zeros((n, n))
    channel[:, told] = spread
    channel[np.ix_(told, told)] = diagonal(limits, prior[told], prior[told], spread)
    return channel
