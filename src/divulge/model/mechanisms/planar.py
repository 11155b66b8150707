"""Mechanisms about a metric: noise on the map clamped to a grid, and e^-distance with weights."""

import math
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.arraylike import Number
from divulge.model.channel import Channel
from divulge.model.entries import scalar
from divulge.model.metrics.metric import Metric
from divulge.model.metrics.quantities import per_unit

_NEGLIGIBLE = 45.0
"""e to minus this is below all digits of a double, 3e-20: noise is followed so far, in multiples of 1 / epsilon."""

_MOST_ACROSS = 3000
"""So many cells in each direction are followed: 72 megabytes of probabilities."""

_ROUNDING = 2e-13
"""More than the rounding error of a log ratio of entries here: epsilon times the least distance is less by that."""

_NODES = 32
"""Gauss-Legendre nodes across a cell. The density is analytic but at the origin, half a cell away from every other
cell, so that the error falls like (1 + sqrt 2)^-64."""


def planar_geometric(metric: Metric, epsilon: Number) -> Channel:
    r"""Return planar geometric noise on a grid: z from P(z) ~ e^(-epsilon |z|) on the lattice, clamped to the grid.

    C_xy = sum e^(-epsilon |z|) / sum over the lattice, over all z with x + z at y, or beyond an edge that y is at;
    shape (N, N).

    Parameters
    ----------
    metric : Metric.grid, Euclidean
    epsilon : float > 0 in nats per unit of distance, or text such as "1/km"

    Returns
    -------
    Channel
        Of shape (N, N), float64, epsilon-metric private.

    Raises
    ------
    DivulgeError
        When the metric is no Euclidean grid, epsilon is not positive, or the cells are so small that noise reaches
        beyond 3,000 of them.

    References
    ----------
    Chatzikokolakis, Palamidessi, Stronati, "Constructing elastic distinguishability metrics for location privacy",
    2015, arXiv:1503.00756.

    Examples
    --------
    >>> noisy = planar_geometric(dv.Metric.grid(3, 3), 1)
    >>> round(float(noisy.matrix[4, 4]), 9)  # 1 / sum over the lattice of e^-|z|
    0.153674944
    """
    grid, rate = _grid(metric), _rate(metric, epsilon)
    a = rate * float(grid.step or 1)
    at = np.arange(_reach(grid, a) + 1)
    weights = np.exp(-a * np.hypot(at[:, None], at[None, :]))
    whole = weights[0, 0] + 4 * weights[1:].sum()
    return _clamped(grid, weights / whole)


def planar_laplace(metric: Metric, epsilon: Number) -> Channel:
    r"""Return planar Laplace noise on a grid: density epsilon^2 e^(-epsilon |z|) / 2 pi, rounded to cells, clamped.

    C_xy = the integral of the density about the middle of x over the cell of y, and beyond an edge that y is at; shape
    (N, N). Cells blur distances, so that the level, `MetricPrivacy.of(channel, metric)`, is below epsilon.

    Parameters
    ----------
    metric : Metric.grid, Euclidean
    epsilon : float > 0 in nats per unit of distance, or text such as "1/km"

    Returns
    -------
    Channel
        Of shape (N, N), float64, epsilon-metric private.

    Raises
    ------
    DivulgeError
        When the metric is no Euclidean grid, epsilon is not positive, or the cells are so small that noise reaches
        beyond 3,000 of them.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability", 2013, arXiv:1212.1984.

    Examples
    --------
    >>> noisy = planar_laplace(dv.Metric.grid(3, 3, step=1.1), 0.9)
    >>> round(float(noisy.matrix[4, 4]), 9), round(float(noisy.matrix[0, 0]), 9)
    (0.107886639, 0.423631701)
    """
    grid, rate = _grid(metric), _rate(metric, epsilon)
    a = rate * float(grid.step or 1)
    return _clamped(grid, _cells(a, _reach(grid, a)))


def tight_constraint(metric: Metric, epsilon: Number) -> Channel:
    r"""Return the mechanism C_xy = w_y e^(-epsilon d(x, y)) whose rows sum to 1: every constraint about y is tight.

    Its Bayes capacity, sum w, is the largest that metric privacy allows. Shape (N, N).

    Parameters
    ----------
    metric : Metric
    epsilon : float > 0 in nats per unit of distance, or text such as "1/km"

    Returns
    -------
    Channel
        Of shape (N, N), float64, epsilon-metric private.

    Raises
    ------
    DivulgeError
        When epsilon is not positive, or so small that some w would be negative: there is no such mechanism then.

    References
    ----------
    Chatzikokolakis, Elsalamouny, Palamidessi, "Efficient Utility Improvement for Location Privacy", 2017.

    Examples
    --------
    >>> round(float(dv.bayes_capacity(tight_constraint(dv.Metric.grid(3, 3), 1))), 9)
    3.356336867
    """
    found = _metric(metric)
    similarity = np.exp(-_rate(found, epsilon) * found.matrix)
    try:
        weights = np.linalg.solve(similarity, np.ones(len(found)))
    except np.linalg.LinAlgError:
        weights = np.full(len(found), -1.0)
    if not (weights >= 0).all():
        raise DivulgeError.of(
            "epsilon", "be so large that all weights w with e^(-epsilon d) w = 1 are at least 0", "the least of them",
            f"{weights.min():.3g}", "exponential and design make mechanisms at every epsilon.",
        )  # fmt: skip
    return Channel(similarity * weights, found.labels, found.labels)


def exponential_weights_of(metric: Metric, epsilon: Any) -> np.ndarray:
    """Return e^(-epsilon d / 2) of the exponential mechanism about a metric, shape (N, N)."""
    return np.exp(-_rate(metric, epsilon) * metric.matrix / 2)


def _clamped(grid: Metric, mass: np.ndarray) -> Channel:
    """Return the channel of noise whose mass at (k, l) columns and rows away is given, projected onto the grid."""
    width, height = grid.size or (1, 1)
    across, up = (_counted(size, len(mass)) for size in (width, height))
    found = np.einsum("abk,kl,cdl->cadb", across, mass, up, optimize=True).reshape(width * height, width * height)
    return Channel(found, grid.labels, grid.labels)


def _counted(size: int, reach: int) -> np.ndarray:
    """Return how many z in {-k, k} take x to x', beyond the ends to the ends; shape (size, size, reach)."""
    out = np.zeros((size, size, reach))
    for x in range(size):
        for z in range(-reach + 1, reach):
            out[x, min(max(x + z, 0), size - 1), abs(z)] += 1
    return out


def _cells(a: float, reach: int) -> np.ndarray:
    """Return the integral of a^2 e^(-a r) / 2 pi over the unit cell at (k, l), shape (reach + 1, reach + 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    at, share = nodes / 2, weights / 2
    out = np.empty((reach + 1, reach + 1))
    columns = (np.arange(reach + 1)[:, None] + at).ravel()
    for k in range(reach + 1):
        r = np.hypot((k + at)[:, None], columns[None, :])
        inner = np.exp(-a * r).reshape(_NODES, reach + 1, _NODES)
        out[k] = a * a / (2 * math.pi) * np.einsum("i,iln,n->l", share, inner, share)
    angles = (at + 0.5) * math.pi / 4
    radius = 0.5 / np.cos(angles)
    out[0, 0] = float(np.sum(share * -(np.expm1(-a * radius) + a * radius * np.exp(-a * radius))))
    return out


def _reach(grid: Metric, a: float) -> int:
    """Return how many cells away noise is followed."""
    reach = math.ceil(_NEGLIGIBLE / a) + max(grid.size or (1, 1))
    if reach > _MOST_ACROSS:
        raise DivulgeError.of(
            "epsilon", f"leave noise within {_MOST_ACROSS:,} cells", "its reach", f"{reach:,}",
            "take a coarser grid.",
        )  # fmt: skip
    return reach


def _metric(metric: Any) -> Metric:
    DivulgeError.unless(metric, Metric, "metric", "be a Metric, such as Metric.grid(3, 3)")
    return metric


def _grid(metric: Any) -> Metric:
    found = _metric(metric)
    if found.size is None or found.norm != "euclidean":
        hint = "Metric.grid(width, height, step) is one."
        raise DivulgeError.of("metric", "be a grid with Euclidean distances", "it", found.name, hint)
    return found


def _rate(metric: Any, epsilon: Any) -> float:
    """Return epsilon per unit of the metric, less what rounding may add to the level."""
    found = _metric(metric)
    value = scalar(per_unit(epsilon, found.unit) if isinstance(epsilon, str) else epsilon, "epsilon")
    if not 0 < value < math.inf:
        raise DivulgeError.of("epsilon", "be positive and finite", "it", f"{value:g}")
    return value - min(_ROUNDING / found.least, value / 2)
