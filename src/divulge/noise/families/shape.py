"""What the density of a scipy.stats distribution shows of itself: peaks, poles, slopes, and masses to check it by."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.noise.accumulated import cdf_of, isf_of, ppf_of, sf_of
from divulge.noise.quadrature import finite_or_zero, panels

LogPdf = Callable[[Any], Any]

_LEVELS = 2000
"""Quantiles on either side of the median at which a density is looked at."""

_FIRST = 192
"""Cells on either side of the median whose masses are compared with the density first."""

_RARE = 1e-15
"""Mass on either side beyond which a density is not looked at."""

_SEEN, _SMOOTH = 1e-9, 1e-13
"""A cell is halved while its mass and the integral of the density differ by more, or two rules for that integral do.
The distribution functions that scipy integrates are 1e-8 off in all, a billionth in a cell of hundreds."""

_ROUNDS, _MOST_HALVED = 60, 512
"""Times that cells are halved, and so many at once: a spike lies in a few of them."""

_DEEP = 6
"""A cell halved more often than this is where a density has a kink, a jump or a spike."""

_DOUBLINGS = 60
"""Times that a distance is doubled in search of the slope that a log density ends with."""


@dataclass(frozen=True)
class Cells:
    """The cells between `edges`, the masses in them by the distribution function, and how often each was halved."""

    edges: np.ndarray
    masses: np.ndarray
    depth: np.ndarray
    unseen: float  # mass that the density does not show

    @property
    def marks(self) -> np.ndarray:
        """Return where the density has a kink, a jump or a spike: the deepest cells, and narrow ones that hold mass."""
        depth = np.concatenate([[0], self.depth, [0]])
        deepest = (self.depth > _DEEP) & (depth[1:-1] >= depth[:-2]) & (depth[1:-1] >= depth[2:])
        heavy = (self.depth > _DEEP) & (self.masses > 1e-7)
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        return np.unique(np.concatenate([middles[deepest], self.edges[:-1][heavy], self.edges[1:][heavy]]))


def _beside(distribution: Any, median: float, z: np.ndarray) -> np.ndarray:
    """Return the mass below z on the left of the median and above z on its right."""
    return np.where(z < median, cdf_of(distribution)(z), sf_of(distribution)(z))


def _masses(median: float, edges: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Return the masses between edges, of which the median is one, as differences of small numbers."""
    left = edges[1:] <= median
    below = np.where(edges < median, beside, 0.5)
    above = np.where(edges > median, beside, 0.5)
    return np.maximum(np.where(left, np.diff(below), -np.diff(above)), 0.0)


def cells(distribution: Any, logpdf: LogPdf) -> Cells:
    """Return cells in which the density is what the distribution function says, out to 1e-15 of the mass."""
    low, high = (float(end) for end in distribution.support())
    lower, median, upper = ppf_of(distribution)(np.array([0.25, 0.5, 0.75])).tolist()
    width = upper - lower
    ends = _far(distribution, median)
    parts = [np.array([median])]
    for sign, end in zip((-1.0, 1.0), ends, strict=True):
        away = abs(end - median)
        parts.append(median + sign * np.geomspace(1e-4 * min(away, width), away, _FIRST))
        parts.append(np.linspace(median, end, 16) if math.isfinite((low, high)[sign > 0]) else np.zeros(0))
    edges = np.unique(np.clip(np.concatenate(parts), *ends))
    depth, beside = np.zeros(len(edges) - 1, dtype=int), _beside(distribution, median, edges)

    def density(x: np.ndarray) -> np.ndarray:
        return finite_or_zero(np.exp(logpdf(x)))

    masses, unseen = np.zeros(len(depth)), 0.0
    for turn in range(_ROUNDS + 1):
        masses = _masses(median, edges, beside)
        value, rough = panels(density, edges[:-1], edges[1:])
        off = np.abs(value - masses)
        apart = np.diff(edges) > 1e-15 * np.maximum(np.abs(edges[1:]), np.abs(edges[:-1]))
        split = ((off > _SEEN) | (rough > np.maximum(_SMOOTH, 1e-15 * value))) & apart
        unseen = math.fsum(off[off > _SEEN].tolist())
        if not split.any() or turn == _ROUNDS:
            break
        if split.sum() > _MOST_HALVED:
            split &= off + rough >= np.sort((off + rough)[split])[-_MOST_HALVED]
        middle = ((edges[1:] + edges[:-1]) / 2)[split]
        at = np.flatnonzero(split) + 1
        edges = np.insert(edges, at, middle)
        beside = np.insert(beside, at, _beside(distribution, median, middle))
        depth = np.repeat(depth + split, 1 + split)
    return Cells(edges, masses, depth, unseen)


def _far(distribution: Any, median: float) -> tuple[float, float]:
    """Return the quantiles at 1e-15, or the rarest that scipy finds on the right side of the median."""
    levels = np.geomspace(_RARE, 1e-6, 10)
    left, right = ppf_of(distribution)(levels), isf_of(distribution)(levels)
    first = left[np.isfinite(left) & (left < median)]
    last = right[np.isfinite(right) & (right > median)]
    quartiles = ppf_of(distribution)(np.array([0.25, 0.75]))
    return float(first[0] if len(first) else quartiles[0]), float(last[0] if len(last) else quartiles[1])


def places(logpdf: LogPdf, known: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return (places between the ends of the cells, those among them where the density is 0).

    Their edges, some inside narrow ones, and places at about equal steps of the log of the mass beyond.
    """
    edges, masses = known.edges, known.masses
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    levels = np.log(np.geomspace(_RARE, 0.5, _LEVELS))
    with np.errstate(divide="ignore"):
        left = np.interp(levels, np.log(np.maximum(below, 1e-300)), edges[1:])
        right = np.interp(levels, np.log(np.maximum(above[::-1], 1e-300)), edges[:-1][::-1])
    deep = known.depth > 0
    inner = edges[:-1][deep, None] + np.diff(edges)[deep, None] * np.linspace(0, 1, 5)[1:-1]
    z = np.unique(np.concatenate([edges, left, right, inner.ravel()]))
    width = float(edges[-1] - edges[0])
    z = z[np.isfinite(z) & (np.diff(z, prepend=-math.inf) > 1e-15 * np.maximum(np.abs(z), width))]
    g = logpdf(z)
    shown = np.flatnonzero(np.isfinite(g))
    gaps = np.flatnonzero(np.isneginf(g))
    return z[shown], z[gaps[(gaps > shown[0]) & (gaps < shown[-1])]]


def turns(z: np.ndarray, g: np.ndarray, steep: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (indices of the peaks of g, indices of its valleys), but for what rounding makes up."""
    moves = np.flatnonzero(np.abs(steep) > allowed)
    signs = np.sign(steep[moves])
    if not len(moves):
        return np.array([len(z) // 2]), np.zeros(0, dtype=int)
    peaks, valleys = list[int](), list[int]()
    if signs[0] < 0:
        peaks.append(0)
    for i in np.flatnonzero(np.diff(signs)).tolist():
        span = slice(int(moves[i]) + 1, int(moves[i + 1]) + 1)
        if signs[i] > 0:
            peaks.append(span.start + int(g[span].argmax()))
        else:
            valleys.append(span.start + int(g[span].argmin()))
    if signs[-1] > 0:
        peaks.append(len(z) - 1)
    return np.array(peaks), np.array(valleys, dtype=int)


def climbed(logpdf: LogPdf, z: np.ndarray, at: int, sign: float, named: list[float]) -> float:
    """Return where the log density is largest, or least with sign -1, near the place that is; maybe at a named one."""
    from scipy.optimize import minimize_scalar

    low, high = float(z[max(at - 1, 0)]), float(z[min(at + 1, len(z) - 1)])
    best = float(logpdf(z[at]))
    if not low < high:
        return float(z[at])
    lack: Any = minimize_scalar(
        lambda v: min(sign * (best - float(logpdf(v))), 1e3),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-14 * max(high - low, abs(high)), "maxiter": 200},
    )
    tried = [float(z[at]), float(lack.x), *(v for v in named if low <= v <= high)]
    heights = [sign * float(logpdf(v)) for v in tried]
    best = max(height for height in heights if height == height)
    level = best if math.isinf(best) else best - _LEVEL * abs(best)
    return [v for v, height in zip(tried, heights, strict=True) if height >= level][-1]


_LEVEL = 1e-15
"""Log densities that differ by less than this share are level: a named place is taken before one that was searched."""

_NEAR = 10.0 ** -np.arange(6, 15.0)
"""Shares of its width at which a density is looked at beside a place."""

_RISE, _STEADY = 0.01, 0.6
"""A log density that rises by more over these, and in the second half by this share of the first, has no bound."""


def without_bound(logpdf: LogPdf, at: float, width: float, sign: float) -> bool:
    """Say whether the log density rises (falls, with sign -1) without bound towards a place, on some side of it."""
    if math.isinf(float(logpdf(at))) and sign * float(logpdf(at)) > 0:
        return True
    for side in (-1.0, 1.0):
        z = at + side * width * _NEAR
        far = np.abs(z - at) > 1e-15 * abs(at) + 1e-300
        g = sign * logpdf(z[far])
        if len(g) < 5 or not np.isfinite(g).all():
            continue
        half = (len(g) - 1) // 2
        first, second = g[half] - g[0], g[2 * half] - g[half]
        if (np.diff(g) > 0).all() and first + second > _RISE and second >= _STEADY * first:
            return True
    return False


def last_slope(logpdf: LogPdf, mode: float, step: float) -> float | None:
    """Return how fast the log density falls in the end, from its slopes over doubled distances; None: not settled."""
    z = mode + step * 2.0 ** np.arange(-4, _DOUBLINGS)
    g = logpdf(z)
    seen = int(np.argmin(np.append(np.isfinite(g), False)))
    if seen < 4:
        return None
    slope = -np.diff(g[:seen]) / np.abs(np.diff(z[:seen]))
    before, last = float(slope[-2]), float(slope[-1])
    if last > 1.05 * before:
        return math.inf
    if last < 0.95 * before:
        return 0.0
    return last if abs(last - before) <= 1e-6 * last else None
