"""Distribution functions of densities that scipy integrates anew for every point, here for many points at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from divulge.noise.quadrature import integrals

_POINT_BY_POINT = frozenset({"skewnorm", "norminvgauss"})
"""scipy names whose cdf is `scipy.integrate.quad`, from 1e-8 off and a thousandth of a second a point: smooth densities
with one peak and tails that fall exponentially or faster (of the skew normal, quad stands where its cdf is small)."""

_MARKS = 2.0 ** np.arange(-4, 31)
"""Standard deviations from the mean at which integrals are cut, so that no panel hides the peak: at the last ones the
density is below all doubles."""

Function = Callable[[np.ndarray], np.ndarray]


def cdf_of(distribution: Any) -> Function:
    """Return the distribution function of a frozen continuous scipy.stats distribution.

    >>> from scipy import stats
    >>> cdf_of(stats.skewnorm(0.0))(np.array([-np.inf, 0.0, np.inf])).round(12).tolist()
    [0.0, 0.5, 1.0]
    """
    return partial(_accumulated, distribution, False) if _slow(distribution) else distribution.cdf


def sf_of(distribution: Any) -> Function:
    """Return P(Z > z), without subtracting from 1.

    >>> from scipy import stats
    >>> sf_of(stats.skewnorm(0.0))(np.array([0.0, 40.0])).round(12).tolist()
    [0.5, 0.0]
    """
    return partial(_accumulated, distribution, True) if _slow(distribution) else distribution.sf


def _slow(distribution: Any) -> bool:
    return getattr(getattr(distribution, "dist", None), "name", "") in _POINT_BY_POINT


def _accumulated(distribution: Any, above: bool, z: Any) -> np.ndarray:
    """Return the integral of the density up to z, or from z on: integrals between all z, added up from that end."""
    shapes, loc, scale = distribution.dist._parse_args(*distribution.args, **distribution.kwds)
    standard = distribution.dist(*shapes)
    z = (np.asarray(z, dtype=np.float64) - loc) / scale
    center, width = float(standard.mean()), float(standard.std())
    first, last = center - _MARKS[-1] * width, center + _MARKS[-1] * width
    inside = np.clip(z, first, last)  # NaN stays
    marks = np.concatenate([center - _MARKS * width, [center], center + _MARKS * width])
    edges = np.unique(np.concatenate([inside[np.isfinite(inside)], marks]))
    mass = integrals(lambda x, row: standard.pdf(x), np.column_stack([edges[:-1], edges[1:]]))[0]
    total = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]) if above else np.concatenate([[0.0], np.cumsum(mass)])
    found = np.minimum(total[np.minimum(np.searchsorted(edges, inside), len(edges) - 1)], 1.0)
    return np.where(np.isnan(z), np.nan, found)
