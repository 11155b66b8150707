"""Noise drawn exactly, and the law of the noise: how far off a number is, and how probably.

OpenDP draws the discrete Laplace and discrete Gaussian law in whole-number arithmetic from the operating system's
random numbers; the least of noisy scores is drawn by what names the largest of numbers in `releasing`. The scale is the
double that it is.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from divulge.extras import opendp
from divulge.publishing.noising.families import Noise
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.drawing.sampling import cores
from divulge.releasing.drawing.selecting import LAWS, Weights
from divulge.roots import least_integer

_CHUNK = 1 << 14
"""So many cells are drawn in one call."""

_MARGIN = 1 + 1e-9
"""Tails in doubles are right within this factor."""


def noisy(totals: np.ndarray, noise: Noise) -> np.ndarray:
    """Return whole numbers plus fresh noise, one draw a cell; nothing is added where the scale is 0.

    >>> from divulge.publishing.noising.families import Laplace
    >>> noisy(np.array([10, 20]), Laplace(0.0)).tolist()
    [10, 20]
    """
    if noise.scale == 0:
        return totals.copy()
    measurement = _additive(noise)
    flat = np.ascontiguousarray(totals, dtype=np.int64).ravel()
    pieces = [flat[start : start + _CHUNK] for start in range(0, len(flat), _CHUNK)]

    def draw(piece: np.ndarray) -> np.ndarray:
        return np.array(measurement(piece), dtype=np.int64)

    if len(pieces) < 2:
        return (draw(flat) if len(flat) else flat).reshape(totals.shape)
    with ThreadPoolExecutor(min(cores(), len(pieces))) as pool:
        return np.concatenate(list(pool.map(draw, pieces))).reshape(totals.shape)


@lru_cache(maxsize=64)
def _additive(noise: Noise) -> Any:
    """Return OpenDP's measurement that adds noise to each of many whole numbers."""
    return noise.adding(opendp("statistics"))


def chosen(scores: np.ndarray, noise: Noise, chance: Chance) -> int:
    """Return the position of a small score, drawn exactly: of all scores less noise of the family, the least.

    Source: McKenna, Sheldon, "Permute-and-Flip", arXiv:2010.12603.
    """
    if noise.scale == 0:
        return int(scores.argmin())
    return LAWS[noise.choosing](Weights.of_scores(scores, noise.scale), chance)


def thresholded(scale: float, least: int) -> Any:
    """Return OpenDP's measurement that publishes noisy counts by key, of keys whose noisy count is at least `least`."""
    dp = opendp("statistics")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    metric = dp.l01inf_distance(dp.absolute_distance(T="i64"))
    return dp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=least)


@lru_cache(maxsize=256)
def half_width(noise: Noise, beyond: float) -> int:
    """Return the least w with P(|K| > w) <= beyond.

    >>> from divulge.publishing.noising.families import Laplace
    >>> half_width(Laplace(1.0), 0.05), half_width(Laplace(1.0), 0.073)
    (3, 2)
    """
    return least_integer(lambda width: noise.tail(width) <= beyond, 0)


def each(level: float, count: int) -> float:
    """Return the miss of one of `count` independent draws with which all are met with probability `level`.

    >>> round(each(0.95, 2), 6)  # 1 - sqrt(0.95)
    0.025321
    """
    return -math.expm1(math.log(level) / max(count, 1)) / _MARGIN


def ranks_off(noise: Noise, candidates: int, beyond: float) -> int:
    """Return t with P(score of the choice >= least score + t) <= beyond: the candidates times e^(-t / scale)."""
    return max(0, math.ceil(noise.scale * ranks_scale(candidates, beyond)))


def ranks_scale(candidates: int, beyond: float) -> float:
    """Return how far off the score of a choice is in units of the scale of its noise.

    >>> round(ranks_scale(100, 0.05), 6)  # log 2000
    7.600902
    """
    return math.log(candidates / beyond) * _MARGIN
