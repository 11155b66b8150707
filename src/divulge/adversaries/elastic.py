"""How fine a place may be told where few people are: the rate that each place could have under a bound on leakage."""

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.accepted import PriorLike
from divulge.model.convert import as_prior
from divulge.model.entries import scalar
from divulge.model.metrics.metric import Metric
from divulge.roots import turns
from divulge.units import Unit, nats_per

_HALVINGS = 100
"""Halvings of an interval of rates: doubles have no more places between its ends."""

_SAFE = 1 - 1e-12
"""A rate is lowered by more than the sums of its doubles may be off."""


def elastic_rates(prior: PriorLike, metric: Metric, leakage: float, unit: Unit = "nats") -> np.ndarray:
    r"""Return for each place the largest rate at which nothing seen of it leaks more than `leakage`.

    The largest epsilon_x with sum_x' p(x') e^(-epsilon_x d(x, x')) >= e^-leakage: the privacy mass of elastic metrics.
    It is a diagnosis for each place, low where few people live around; a mechanism needs one metric. At the least of
    the rates, metric privacy keeps the bound on pml everywhere.

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets
    metric : Metric of N places
    leakage : float >= 0, in `unit`
        The most that pml may be.

    Returns
    -------
    float64 array of shape (N,)
        In [0, +inf], nats per unit of distance, rounded down; +inf where even the place itself leaks no more.

    Raises
    ------
    DivulgeError
        When prior and metric are not about the same places, or `leakage` is no number that is at least 0.

    References
    ----------
    Chatzikokolakis, Palamidessi, Stronati, "Constructing elastic distinguishability metrics for location privacy",
    2015, arXiv:1503.00756.

    Examples
    --------
    >>> rates = elastic_rates(["1/10", "4/5", "1/10"], Metric.line(3), 1)
    >>> rates.round(4).tolist()  # about the busy middle anything may be told
    [1.1335, inf, 1.1335]
    """
    DivulgeError.unless(metric, Metric, "metric", "be a Metric, such as Metric.grid(3, 3)")
    most = scalar(leakage, "leakage") * nats_per(unit)
    if not most >= 0:
        raise DivulgeError.of("leakage", "be at least 0", "it", str(leakage))
    p = as_prior(prior)
    far = metric.reordered(p.secrets, "prior").matrix
    least = np.exp(-most)

    def broken(rates: np.ndarray) -> np.ndarray:
        return np.exp(-rates[:, None] * far) @ p.floats < least

    low = np.zeros(len(p))
    high = np.full(len(p), 1 / metric.least if len(p) > 1 else 1.0)
    for _ in range(_HALVINGS):  # to where it no longer holds, if anywhere
        high = np.where(broken(high), high, high * 2)
    low, _ = turns(broken, low, high, _HALVINGS)
    return np.where(p.floats >= least, np.inf, low * _SAFE)
