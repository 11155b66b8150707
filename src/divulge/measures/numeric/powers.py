"""The number nearest to a random number in the mean of a power of the distance."""

import numpy as np

from divulge.roots import turns

_DEEPEST = 300.0
"""Guesses are told apart from the likeliest number down to 10 to minus this, times the width of the numbers."""

_HALVINGS = 70
"""Halvings of 300 decades: what is left, 2.5e-19 of a decade, is less than the distance of doubles."""


def nearest_in_power(points: np.ndarray, weights: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (w, least sum_x weights_x |x - w|^p) for each column of weights, shapes (K,), over all numbers w; p > 0.

    For p <= 1 the cost is concave between numbers, and the best of them is one. For p > 1 it is convex: its derivative
    is halved, on a logarithmic scale around the likeliest number, from which distances are taken, so that a belief in
    one number alone has the digits of its small cost. The cost is that of the w found, and within a few ulp of the
    least.

    >>> w, cost = nearest_in_power(np.array([0.0, 1.0]), np.array([[0.5], [0.5]]), 3)
    >>> w.round(12).tolist(), cost.round(12).tolist()
    ([0.5], [0.125])
    """
    origin = points[weights.argmax(axis=0)]
    gaps = points[:, None] - origin

    def costs(away: np.ndarray) -> np.ndarray:
        return (weights * np.abs(gaps - away) ** p).sum(axis=0)

    if p <= 1:
        every = np.stack([costs(point - origin) for point in points])
        at = every.argmin(axis=0)
        return points[at], every[at, np.arange(len(at))]

    def pull(away: np.ndarray) -> np.ndarray:
        """Return the derivative of the cost over p, at a distance from the origin."""
        apart = away - gaps
        return (weights * np.sign(apart) * np.abs(apart) ** (p - 1)).sum(axis=0)

    side = -np.sign(pull(np.zeros(weights.shape[1])))
    reach = np.where(side > 0, gaps.max(axis=0), -gaps.min(axis=0))

    def far_enough(log: np.ndarray) -> np.ndarray:
        return ~(side * pull(side * reach * 10.0**log) < 0)

    low, high = turns(far_enough, np.full(len(reach), -_DEEPEST), np.zeros(len(reach)), _HALVINGS)
    tried = np.stack([np.zeros(len(reach)), side * reach * 10.0**low, side * reach * 10.0**high])
    found = np.stack([costs(away) for away in tried])
    at = found.argmin(axis=0)
    every = np.arange(len(at))
    return origin + tried[at, every], found[at, every]
