"""Diagonal mechanisms C = s I + 1 b^T: the truth with probability s, otherwise a value drawn whatever the secret is.

Randomized response (b equal) and the resample mechanism (b = P) are such. The outcome y has the lifts
(s + b_y) / (s P_y + b_y) at y and b_y / (s P_y + b_y) elsewhere, so that each guarantee on columns bounds b_y / s from
below, for each y on its own.
"""

import math
from dataclasses import dataclass

import numpy as np

from divulge.designing.polytope.limits import Limits


@dataclass(frozen=True, eq=False)
class Diagonal:
    """A diagonal mechanism: s, and b of shape (N,), with s + sum_y b_y = 1."""

    strength: float
    background: np.ndarray

    @property
    def channel(self) -> np.ndarray:
        """C, shape (N, N)."""
        return np.diag(np.full(len(self.background), self.strength)) + self.background

    @property
    def leads(self) -> np.ndarray:
        """C_yy over the other entries of column y, shape (N,)."""
        with np.errstate(divide="ignore"):
            return np.where(self.background > 0, 1 + self.strength / self.background, math.inf)


def backgrounds(limits: Limits, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the least b_y / s of every column that keeps the limits, for probabilities between `least` and `most`."""
    out = np.zeros(len(least))
    if limits.ratio < math.inf:
        out = np.maximum(out, 1 / (limits.ratio - 1))
    if limits.high < math.inf:
        out = np.maximum(out, (1 - limits.high * least) / (limits.high - 1))
    if limits.low > 0:
        out = np.maximum(out, limits.low * most / (1 - limits.low))
    return out


def diagonal(limits: Limits, least: np.ndarray, most: np.ndarray, spread: np.ndarray) -> Diagonal:
    """Return the diagonal mechanism with the largest s under limits that are not trivial.

    Where the capacity leaves less, what remains of b is distributed as `spread`.
    """
    ratios, n = backgrounds(limits, least, most), len(least)
    strength = 1 / (1 + math.fsum(ratios.tolist()))
    if limits.capacity < math.inf and n > 1:
        strength = min(strength, (limits.capacity - 1) / (n - 1))
    background = strength * ratios
    return Diagonal(strength, background + max(0.0, 1 - strength - background.sum()) * spread)


def truncated(limits: Limits, prior: np.ndarray, many: int) -> np.ndarray:
    """Return the diagonal mechanism on the likeliest values, which all others report as the background is drawn.

    Of the other columns nothing is left; they are 0.
    """
    told, n = np.argsort(-prior, kind="stable")[:many], len(prior)
    ratios = backgrounds(limits, prior[told], prior[told])
    total = math.fsum(ratios.tolist())
    if total <= 0:
        ratios, total = np.full(many, 1e-300), 1e-300 * many
    strength = 1 / (1 + total)
    if limits.capacity < math.inf:
        strength = min(strength, (limits.capacity - 1) / max(many - 1, 1))
    channel = np.zeros((n, n))
    channel[:, told] = ratios / total
    channel[np.ix_(told, told)] = np.diag(np.full(many, strength)) + (1 - strength) * ratios / total
    return channel
