"""Measures maximised over the prior: Bayes capacity, maximal leakage, maximal cost leakage."""

import math
from typing import Any

from divulge import exact
from divulge.measures.columns import extremes
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
    top = extremes(as_channel(channel).matrix).top
    return sum(top.tolist()) if exact.is_exact(top) else math.fsum(top.tolist())


def maximal_leakage(channel: Any, unit: Unit = "nats") -> float:
    """Return log bayes_capacity, Sibson's mutual information of order infinity, in nats, in [0, log min(N, M)]."""
    value = bayes_capacity(channel)
    return exact.log(value, unit) if not isinstance(value, float) else math.log(value) / nats_per(unit)


def maximal_cost_leakage(channel: Any, unit: Unit = "nats") -> float:
    """Return -log sum_y min_x C_xy, in nats, in [0, +inf]."""
    bottom = extremes(as_channel(channel).matrix).bottom
    if exact.is_exact(bottom):
        return -exact.log(sum(bottom.tolist()), unit) + 0.0
    total = math.fsum(bottom.tolist())
    return math.inf if total == 0 else -math.log(total) / nats_per(unit) + 0.0
