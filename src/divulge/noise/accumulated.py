"""Distribution functions and quantiles that scipy seeks anew for every point, here for many points at once."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from divulge.noise.direct import parameters_of
from divulge.noise.quadrature import integrals

_POINT_BY_POINT = frozenset({"skewnorm", "norminvgauss"})
"""scipy names whose cdf is `scipy.integrate.quad`, from 1e-8 off and a thousandth of a second a point: smooth densities
with one peak and tails that fall exponentially or faster (of the skew normal, quad stands where its cdf is small)."""

_BEYOND = frozenset({"wald", "invgauss"})
"""scipy names whose quantiles of small levels lie where their own distribution function is no number, up to 1e233."""

_MARKS = 2.0 ** np.arange(-4, 31)
"""Standard deviations from the mean at which integrals are cut, so that no panel hides the peak: at the last ones the
density is below all doubles."""

_OCTAVES = 2.0 ** np.arange(-40.0, 1021.0)
"""Distances from `loc`, in units of the scale, at which a quantile is looked for first."""

_INSIDE = np.arange(1.0, 32.0) / 32
"""Shares of an interval at which a quantile is looked for in it."""

_ROUNDS = 8
"""Rounds of that, down to 2^-40 of the distance from `loc`."""

Function = Callable[[Any], Any]


def cdf_of(distribution: Any) -> Function:
    """Return the distribution function of a frozen continuous scipy.stats distribution.

    >>> from scipy import stats
    >>> cdf_of(stats.skewnorm(0.0))(np.array([-np.inf, 0.0, np.inf])).round(12).tolist()
    [0.0, 0.5, 1.0]
    """
    return partial(_accumulated, distribution, False) if _name(distribution) in _POINT_BY_POINT else distribution.cdf


def sf_of(distribution: Any) -> Function:
    """Return P(Z > z), without subtracting from 1.

    >>> from scipy import stats
    >>> sf_of(stats.skewnorm(0.0))(np.array([0.0, 40.0])).round(12).tolist()
    [0.5, 0.0]
    """
    return partial(_accumulated, distribution, True) if _name(distribution) in _POINT_BY_POINT else distribution.sf


def log_of(distribution: Any, above: bool) -> Function:
    """Return log P(Z > z) or log P(Z <= z), -inf of what no normal double holds where scipy has no formula for it.

    >>> from scipy import stats
    >>> log_of(stats.norm(), True)(np.array([0.0, 50.0])).round(6).tolist()
    [-0.693147, -1254.831361]
    >>> log_of(stats.skewnorm(0.0), True)(np.array([50.0])).tolist()
    [-inf]
    """
    from scipy import stats

    base, name = type(getattr(distribution, "dist", None)), "logsf" if above else "logcdf"
    if issubclass(base, stats.rv_continuous) and getattr(base, f"_{name}") is not getattr(
        stats.rv_continuous, f"_{name}"
    ):
        return getattr(distribution, name)
    return partial(_log_of_normal, (sf_of if above else cdf_of)(distribution))


def _log_of_normal(of: Function, z: Any) -> np.ndarray:
    value = of(z)
    with np.errstate(divide="ignore"):
        return np.log(np.where(value < np.finfo(np.float64).tiny, 0.0, value))


def ppf_of(distribution: Any) -> Function:
    """Return the quantile function: scipy's where it has a formula, else about the least z with cdf(z) at the level.

    >>> from scipy import stats
    >>> ppf_of(stats.exponnorm(1.5))(np.array([0.0, 0.5, 1.0])).round(9).tolist()
    [-inf, 1.236654259, inf]
    """
    return partial(_sought, distribution, False) if _has_no_quantiles(distribution, "_ppf") else distribution.ppf


def isf_of(distribution: Any) -> Function:
    """Return about the z with P(Z > z) at the level, also at levels that 1 less them does not tell from 1.

    >>> from scipy import stats
    >>> isf_of(stats.exponnorm(1.5))(np.array([0.5, 1e-100])).round(9).tolist()
    [1.236654259, 345.721097283]
    """
    return partial(_sought, distribution, True) if _has_no_quantiles(distribution, "_isf") else distribution.isf


def _name(distribution: Any) -> str:
    return getattr(getattr(distribution, "dist", None), "name", "")


def _has_no_quantiles(distribution: Any, which: str) -> bool:
    """Say whether scipy seeks a quantile of a distribution point by point, by Brent's method on its cdf."""
    from scipy import stats

    base: Any = getattr(distribution, "dist", None)
    if not isinstance(base, stats.rv_continuous):
        return False
    seeks = type(base)._ppf is stats.rv_continuous._ppf  # pyright: ignore[reportPrivateUsage]
    own = getattr(type(base), which) is not getattr(stats.rv_continuous, which)
    return _name(distribution) in _POINT_BY_POINT | _BEYOND or (seeks and not own)


def _sought(distribution: Any, above: bool, levels: Any) -> np.ndarray:
    """Return the least z with cdf(z) >= level, or with sf(z) <= level, between those on either side that were seen."""
    shapes, loc, scale = parameters_of(distribution)
    standard = distribution.dist(*shapes)
    of, first, last = (sf_of if above else cdf_of)(standard), *(float(end) for end in standard.support())
    asked = np.asarray(levels, dtype=np.float64)

    def holds(z: np.ndarray, level: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return of(z) <= level if above else of(z) >= level

    z = np.unique(np.clip(np.concatenate([-_OCTAVES, [0.0], _OCTAVES]), first, last))
    with np.errstate(all="ignore"):
        values = np.nan_to_num(np.fmax.accumulate(-of(z) if above else of(z)), nan=-np.inf)  # it may overflow far out
    level = asked.ravel()
    at = np.searchsorted(values, -level if above else level)
    low = np.where(at > 0, z[np.maximum(at - 1, 0)], first)
    high = np.where(at < len(z), z[np.minimum(at, len(z) - 1)], last)
    open_ = np.flatnonzero(np.isfinite(low) & np.isfinite(high) & (low < high))
    for _ in range(_ROUNDS if len(open_) else 0):
        a, b = low[open_, None], high[open_, None]
        between = a + (b - a) * _INSIDE
        kept = holds(between.ravel(), np.repeat(level[open_], len(_INSIDE))).reshape(between.shape)
        places = np.column_stack([a, between, b])
        where, row = np.where(kept.any(axis=1), kept.argmax(axis=1), len(_INSIDE)), np.arange(len(open_))
        low[open_], high[open_] = places[row, where], places[row, where + 1]
    ends = {True: first, False: last}
    high = np.where(level == 0, ends[not above], np.where(level == 1, ends[above], high))
    found = np.where((level >= 0) & (level <= 1), high * scale + loc, np.nan).reshape(asked.shape)
    return found if asked.ndim else found[()]


def _density(base: Any, shapes: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """Return a density on the whole line: the checks of `pdf` take as long as the formula."""
    return base._pdf(x, *(np.full_like(x, shape) for shape in shapes))


@lru_cache(maxsize=32)
def _marked(base: Any, shapes: tuple[float, ...]) -> tuple[Function, np.ndarray, np.ndarray, np.ndarray]:
    """Return a density at loc 0 and scale 1 by its formula, marks, and its masses below and above each."""
    standard, density = base(*shapes), partial(_density, base, shapes)
    center, width = float(standard.mean()), float(standard.std())
    marks = np.concatenate([center - _MARKS[::-1] * width, [center], center + _MARKS * width])
    mass = integrals(lambda x, row: density(x), np.column_stack([marks[:-1], marks[1:]]))[0]
    return density, marks, np.append(0.0, np.cumsum(mass)), np.append(np.cumsum(mass[::-1])[::-1], 0.0)


def _accumulated(distribution: Any, above: bool, z: Any) -> np.ndarray:
    """Return the integral of the density up to z, or from z on: from the mark before or behind, added up over all z."""
    shapes, loc, scale = parameters_of(distribution)
    density, marks, below, beyond = _marked(distribution.dist, tuple(float(shape) for shape in shapes))
    z = (np.asarray(z, dtype=np.float64) - loc) / scale
    inside = np.clip(z, marks[0], marks[-1])  # NaN stays
    points = np.unique(np.append(inside[np.isfinite(inside)], marks[0]))  # at least one
    cell = np.clip(np.searchsorted(marks, points, side="right") - 1, 0, len(marks) - 2)
    new = np.append(True, np.diff(cell) > 0)  # the first, from below, of those between two marks
    if above:
        points, cell, new = points[::-1], cell[::-1], np.append(new[1:], True)[::-1]
    from_ = np.where(new, marks[cell + above], np.append(0.0, points[:-1]))
    ends = np.column_stack([points, from_] if above else [from_, points])
    mass = integrals(lambda x, row: density(x), ends)[0]
    sums = np.cumsum(mass)
    first = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    total = (beyond if above else below)[cell + above] + (sums - sums[first] + mass[first])
    places = np.searchsorted(points[::-1] if above else points, inside)
    total = np.append(total[::-1] if above else total, np.nan)
    return np.minimum(total[np.minimum(places, len(points))], 1.0)
