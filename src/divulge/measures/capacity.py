"""Measures maximized over the prior: Bayes capacity, maximal leakage, maximal cost leakage."""

import math
from typing import Any

import numpy as np

from divulge import exact
from divulge.measures.columns import column_ends
from divulge.model.convert import as_channel
from divulge.units import Unit, nats_per


def bayes_capacity(channel: Any) -> Any:
    """Return sum_y max_x C_xy, a ratio in [1, min(N, M)]; a Fraction for exact channels.

    The supremum over priors and non-negative gains of average-case multiplicative g-leakage; the uniform prior and the
    identity gain reach it.

    Examples
    --------
    >>> bayes_capacity([["3/4", "1/4"], ["1/4", "3/4"]])
    Fraction(3, 2)
    """
    return total(column_ends(as_channel(channel).matrix)[0])


def maximal_leakage(channel: Any, unit: Unit = "nats") -> float:
    """Return log bayes_capacity, Sibson's mutual information of order infinity, in nats, in [0, log min(N, M)].

    References
    ----------
    Issa, Wagner, Kamath, "An operational approach to information leakage", 2020, arXiv:1807.07878.

    Examples
    --------
    >>> maximal_leakage([["3/4", "1/4"], ["1/4", "3/4"]])  # log 3/2
    0.4054651081081644
    """
    return maximal_leakage_of(column_ends(as_channel(channel).matrix), unit)


def maximal_cost_leakage(channel: Any, unit: Unit = "nats") -> float:
    """Return -log sum_y min_x C_xy, in nats, in [0, +inf]; at most the mean pmc, under any prior of full support.

    Examples
    --------
    >>> maximal_cost_leakage([["3/4", "1/4"], ["1/4", "3/4"]])  # log 2
    0.6931471805599453
    """
    return maximal_cost_leakage_of(column_ends(as_channel(channel).matrix), unit)


def total(values: np.ndarray) -> Any:
    """Return the sum: a Fraction, or a float rounded once."""
    return sum(values.tolist()) if exact.is_exact(values) else math.fsum(values.tolist())


def maximal_leakage_of(ends: tuple[np.ndarray, np.ndarray], unit: Unit) -> float:
    """Return log sum_y max_x C_xy; near 1 from sum_y (max_x - min_x) C_xy and its like nothing is lost."""
    return _log_total(ends[0], unit)


def maximal_cost_leakage_of(ends: tuple[np.ndarray, np.ndarray], unit: Unit) -> float:
    """Return -log sum_y min_x C_xy."""
    return -_log_total(ends[1], unit) + 0.0


def _log_total(values: np.ndarray, unit: Unit) -> float:
    if exact.is_exact(values):
        return exact.log(total(values), unit)
    excess = math.fsum([*values.tolist(), -1.0])
    return (math.log1p(excess) if excess > -1.0 else -math.inf) / nats_per(unit)
