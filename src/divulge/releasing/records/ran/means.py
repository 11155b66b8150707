"""How far the mean of several draws of noise about a distance is off: the least radii that hold 50 and 95 of 100.

The sum of k draws has the k-th power of their characteristic function. Where its lattice fits into memory it is added
up by the fast Fourier transform; else it is taken for the sum of k draws of the planar Laplace distribution, whose
characteristic function is (1 + t^2 / rate^2)^(-3 k / 2): a Gaussian vector of variance 2 G / rate^2, where G has the
law Gamma(3 k / 2). On the line it is (1 + t^2 / rate^2)^-k, and G has Gamma(k).
"""

import math
from functools import cache

import numpy as np

from divulge.roots import least

SHARES = (0.5, 0.95)
"""Shares of means that the circles hold."""

_ACROSS = {1: 1 << 20, 2: 1 << 10}
"""Dimensions -> cells along each of them up to which the lattice is added up: 16 megabytes."""

_ROUNDING = 1e-6
"""Less of the law than this lies beyond the lattice that is added up, and the rounding of transforms is less."""

_NODES = 256
"""Gauss-Legendre nodes of the mixture: radii come out to five digits."""

_MIXED = 1e-4
"""By this share the radii of the mixture are raised."""

_FINE = 1 / 50
"""Below this rate per cell, the variance on the lattice is that of the plane, to one part in a thousand."""


@cache
def mean_radii(a: float, draws: int, dimensions: int) -> tuple[float, float]:
    """Return the radii, in cells, about the truth that hold 50 and 95 of 100 means of so many draws, P(z) ~ e^(-a |z|).

    >>> mean_radii(1.0, 1, 2) == (2 ** 0.5, 20 ** 0.5), mean_radii(1.0, 4, 1)
    (True, (0.5, 1.25))
    """
    half = math.ceil((20 + 6 * math.sqrt(draws)) / a) + 2
    if 2 * half <= _ACROSS[dimensions]:
        return _summed(a, draws, dimensions, half)
    return _mixed(a, draws, dimensions)


def _summed(a: float, draws: int, dimensions: int, half: int) -> tuple[float, float]:
    """Return the radii of the law on the lattice, which is taken as a torus of twice `half` cells."""
    at = np.abs(np.fft.fftfreq(2 * half, 1 / (2 * half)))
    away = at if dimensions == 1 else np.hypot(at[:, None], at[None, :])
    law = np.exp(-a * away)
    found = np.fft.ifftn(np.fft.fftn(law / law.sum()) ** draws).real
    order = np.argsort(away, axis=None, kind="stable")
    held = np.cumsum(np.maximum(found.ravel()[order], 0))
    small, large = (float(away.ravel()[order[int(np.searchsorted(held, share + _ROUNDING))]]) for share in SHARES)
    return small / draws, large / draws


def _mixed(a: float, draws: int, dimensions: int) -> tuple[float, float]:
    """Return the radii of the mixture with the variance of the lattice, and a cell of the sum for its lattice."""
    from scipy.special import erf
    from scipy.stats import gamma

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    one = 1.5 if dimensions == 2 else 1.0
    mixing = gamma.ppf((nodes + 1) / 2, one * draws)
    rate = math.sqrt(2 * one / _variance(a, dimensions))

    def held(radius: float) -> float:
        scaled = rate * radius / (2 * np.sqrt(mixing))
        inside = erf(scaled) if dimensions == 1 else -np.expm1(-(scaled**2))
        return float(weights @ inside) / 2

    top = 40.0 * math.sqrt(one * draws) / rate
    small, large = (least(lambda radius, share=share: held(radius) >= share, top) for share in SHARES)
    return (small * (1 + _MIXED) + 1) / draws, (large * (1 + _MIXED) + 1) / draws


def _variance(a: float, dimensions: int) -> float:
    """Return the variance of one coordinate of a draw, in squares of a cell."""
    if dimensions == 1:
        return 1 / (2 * math.sinh(a / 2) ** 2)
    if a < _FINE:
        return 3 / a**2
    at = np.arange(-math.ceil(40 / a), math.ceil(40 / a) + 1)
    law = np.exp(-a * np.hypot(at[:, None], at[None, :]))
    return float((at**2 @ law).sum() / law.sum())
