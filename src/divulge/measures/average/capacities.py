"""Measures maximized over the prior: Bayes capacity, maximal leakage, maximal cost leakage."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.measures.numeric.columns import column_ends
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel, is_sparse
from divulge.model.convert import as_channel, mechanism_of_structure
from divulge.units import Unit, nats_per


def bayes_capacity(channel: ChannelLike) -> float | Fraction:
    """Return sum_y max_x C_xy, a ratio in [1, min(N, M)]; a Fraction for exact channels.

    The supremum over priors and non-negative gains of average-case multiplicative g-leakage; the uniform prior and the
    identity gain reach it.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)

    Returns
    -------
    Fraction or float
        In [1, min(N, M)], without a unit.

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9).

    References
    ----------
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, "The Science of Quantitative Information Flow", 2020,
    chapter 7 (the miracle theorem).

    Examples
    --------
    >>> bayes_capacity([["3/4", "1/4"], ["1/4", "3/4"]])
    Fraction(3, 2)
    """
    if (structure := mechanism_of_structure(channel)) is not None:
        return structure.bayes_capacity()
    channel = as_channel(channel)
    return total(column_ends(channel.matrix, floats=channel.floats)[0])


def maximal_leakage(channel: ChannelLike, unit: Unit = "nats") -> float:
    """Return log bayes_capacity, Sibson's mutual information of order infinity, in nats, in [0, log min(N, M)].

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, log min(N, M)].

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Issa, Wagner, Kamath, "An operational approach to information leakage", 2020, arXiv:1807.07878.

    Examples
    --------
    >>> round(maximal_leakage([["3/4", "1/4"], ["1/4", "3/4"]]), 9)  # log 3/2
    0.405465108
    """
    if (structure := mechanism_of_structure(channel)) is not None:
        return exact.log(structure.bayes_capacity(), unit)
    channel = as_channel(channel)
    return maximal_leakage_of(channel, column_ends(channel.matrix), unit)


def maximal_cost_leakage(channel: ChannelLike, unit: Unit = "nats") -> float:
    """Return -log sum_y min_x C_xy, in nats, in [0, +inf]; at most the mean pmc, under any prior of full support.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, +inf]; +inf where every column has a zero.

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Issa, Wagner, Kamath, "An operational approach to information leakage", 2020, Theorem 15, arXiv:1807.07878.

    Examples
    --------
    >>> round(maximal_cost_leakage([["3/4", "1/4"], ["1/4", "3/4"]]), 9)  # log 2
    0.693147181
    """
    channel = as_channel(channel)
    return maximal_cost_leakage_of(channel, column_ends(channel.matrix), unit)


def total(values: np.ndarray) -> Any:
    """Return the sum: a Fraction, or a float rounded once."""
    return sum(values.tolist()) if exact.is_exact(values) else math.fsum(values.tolist())


def maximal_leakage_of(channel: Channel, ends: tuple[np.ndarray, np.ndarray], unit: Unit) -> float:
    """Return log sum_y max_x C_xy from the (largest, smallest) entry of each column."""
    if exact.is_exact(ends[0]):
        return exact.log(total(ends[0]), unit)
    return log_of_excess(ends[0], dense_row(channel.matrix, 0), 1.0) / nats_per(unit)


def maximal_cost_leakage_of(channel: Channel, ends: tuple[np.ndarray, np.ndarray], unit: Unit) -> float:
    """Return -log sum_y min_x C_xy from the (largest, smallest) entry of each column."""
    if exact.is_exact(ends[1]):
        return -exact.log(total(ends[1]), unit) + 0.0
    return -log_of_excess(ends[1], dense_row(channel.matrix, 0), 1.0) / nats_per(unit) + 0.0


def log_of_excess(values: np.ndarray, base: np.ndarray, base_total: float) -> float:
    """Return log(sum(values) / base_total) where `base` sums to `base_total`: near 0 by what exceeds the base."""
    excess = math.fsum([*values.tolist(), *(-base).tolist()]) / base_total
    if abs(excess) < 0.5:
        return math.log1p(excess)
    whole = math.fsum(values.tolist())
    return math.log(whole / base_total) if whole > 0 else -math.inf


def dense_row(matrix: Any, i: int) -> np.ndarray:
    """Return row i of a dense matrix or a sparse one by columns, shape (M,)."""
    if not is_sparse(matrix):
        return matrix[i]
    row, stored = np.zeros(matrix.shape[1]), np.flatnonzero(matrix.indices == i)
    row[np.searchsorted(matrix.indptr, stored, side="right") - 1] = matrix.data[stored]
    return row
