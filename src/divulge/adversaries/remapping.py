"""Guesses of a place: the best one after each outcome, and how far guesses are off on average."""

from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_prior
from divulge.model.labels import is_default, labels_at
from divulge.model.metrics.metric import Metric
from divulge.ties import first_smallest


def remap(prior: PriorLike, channel: ChannelLike, metric: Metric) -> Channel:
    r"""Return the mechanism followed by the best guess: each outcome becomes the place least far away on average.

    y -> argmin_z sum_x p(x) C_xy d(x, z), the Bayesian remap, by which no privacy is lost; to an attacker it is the
    best attack, whose error is `expected_distance(prior, remap(prior, channel, metric), metric)`. Shape (N, at most N).

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets
    channel : Channel, or what converts to one, of shape (N, M)
    metric : Metric of N places

    Returns
    -------
    Channel
        Its outcomes are places, those that some outcome becomes, in the order of the metric; exact where `channel` is.
        Of places equally far the first is taken.

    Raises
    ------
    DivulgeError
        When the three are not about the same secrets.

    References
    ----------
    Chatzikokolakis, Elsalamouny, Palamidessi, "Efficient Utility Improvement for Location Privacy", 2017.
    Shokri et al., "Protecting Location Privacy: Optimal Strategy against Localization Attacks", 2012.

    Examples
    --------
    >>> truthful = [["3/4", "1/4", 0], ["1/4", "1/2", "1/4"], [0, "1/4", "3/4"]]
    >>> remap(["1/10", "8/10", "1/10"], truthful, dv.Metric.line(3)).outcomes  # always the middle
    (1,)
    """
    p, released, far = _about_one(prior, channel, metric)
    weights = p.floats[:, None] * _dense(released.floats)
    costs = weights.T @ far.matrix
    place = np.array([first_smallest(row) for row in costs.tolist()])
    used = np.unique(place)
    matrix = _dense(released.matrix)
    merged = [matrix[:, place == z].sum(axis=1) for z in used.tolist()]
    return Channel(np.column_stack(merged), released.secrets, labels_at(far.labels, used))


def expected_distance(prior: PriorLike, channel: ChannelLike, metric: Metric) -> float:
    r"""Return how far the released place lies from the true one on average: sum p(x) C_xy d(x, y).

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets
    channel : Channel, or what converts to one, from N secrets to places among them
    metric : Metric of N places

    Returns
    -------
    float
        In [0, diameter], in the metric's unit. Of what was remapped, the expected error of the best attacker.

    Raises
    ------
    DivulgeError
        When the three are not about the same secrets, or an outcome is no place.

    Examples
    --------
    >>> expected_distance(["1/2", "1/2"], dv.mechanisms.randomized_response(2, ratio=3), dv.Metric.line(2, step=8))
    2.0
    """
    p, released, far = _about_one(prior, channel, metric)
    at = {label: i for i, label in enumerate(far.labels)}
    named = set(released.outcomes) <= set(at)
    if not named and not (is_default(released.outcomes) and len(released.outcomes) == len(far)):
        hint = "remap makes places of them."
        raise DivulgeError.of("channel", "release places of the metric", "an outcome", "none of them", hint)
    columns = [at[label] if named else j for j, label in enumerate(released.outcomes)]
    products = p.floats[:, None] * _dense(released.floats) * far.matrix[:, columns]
    return float(exact.as_float(products.sum()))


def _about_one(prior: Any, channel: Any, metric: Any) -> tuple[Any, Channel, Metric]:
    """Return the three in the order of the prior's secrets."""
    DivulgeError.unless(metric, Metric, "metric", "be a Metric, such as Metric.grid(3, 3)")
    p = as_prior(prior)
    released = as_channel(channel).aligned(p.secrets)
    return p, released, metric.reordered(released.secrets)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix
