"""Which mechanism keeps a rate about the distances of the answers of a column, and confuses near ones at most."""

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction

import numpy as np

from divulge.designing.design import design
from divulge.designing.distances.certified import LOWEST, certified
from divulge.errors import DivulgeError
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.entries import frozen
from divulge.model.integer import IntegerChannel
from divulge.model.mechanisms.planar import exponential_weights_of, tight_constraint
from divulge.model.mechanisms.private import randomized_response
from divulge.model.metrics.metric import Metric
from divulge.model.prior import Prior
from divulge.releasing.column import Release
from divulge.releasing.estimating.estimate import rank
from divulge.releasing.planning.naming import untrue
from divulge.roots import turn

BITS = 53
"""Chances are multiples of 2^-53, as all that is drawn."""

MOST_PROGRAMMED = 49
"""For so many answers the least mean distance is found by a linear program (2 s of processor time); beyond, named
mechanisms are compared."""

MOST_ANSWERS = 300
"""For so many answers a mechanism is made at most: its rate is decided exactly whenever a receipt is read, in 3 s, and
in time that grows with the third power."""

_HALVINGS = 60
"""A rate is found to the last bit of a double by so many steps of bisection."""

WORTH_TELLING = 0.001
"""From this share of the mean distance on that another mechanism may save, a release says so."""


def promise_of(choice: Release) -> MetricPrivacy:
    """Return the promise of a request about the metric that it names.

    A guarantee that came with a metric of its own must have the same; that of text is about two points that are 1
    apart.
    """
    (asked,), metric = choice.kept, choice.distance
    assert isinstance(asked, MetricPrivacy)
    assert isinstance(metric, Metric)
    own = asked.metric
    if own != metric and own != Metric.line([0, 1], unit=own.unit):
        raise DivulgeError.of("distance", "be the metric of the guarantee", "it", "another one")
    if own.unit != metric.unit:
        raise DivulgeError.of("guarantee", f"be per {metric.unit}, as distances are" if metric.unit else
                              "be a bare number, as distances have no unit", "it", str(asked))  # fmt: skip
    epsilon = Fraction(asked.epsilon)
    if not epsilon > 0:
        raise DivulgeError.of("guarantee", "have a rate above 0", "it", str(asked))
    if not float(epsilon) * metric.least >= LOWEST:
        must, found = f"be at least {LOWEST:g} for the nearest two answers", f"{float(epsilon) * metric.least:.3g}"
        raise DivulgeError.of("guarantee", must, "the rate times their distance", found, "nothing would be told.")
    if not 2 <= len(metric) <= MOST_ANSWERS:
        raise DivulgeError.of("distance", f"be of 2 to {MOST_ANSWERS:,} answers", "their number", f"{len(metric):,}",
                              "merge answers into fewer groups (--group C=RULE, group=).")  # fmt: skip
    if not all(isinstance(label, (str, int)) for label in metric.labels):
        raise DivulgeError.of("distance", "name answers by text or whole numbers", "one of them", "something else")
    return MetricPrivacy(epsilon, metric)


def best(choice: Release, promise: MetricPrivacy, prior: Prior) -> tuple[IntegerChannel, tuple[str, ...]]:
    """Return the mechanism of least mean distance that is fit for the purpose, in whole numbers, and what to say of it.

    Fit for statistics is one whose frequencies can be estimated back. The best of all has fewer outcomes, as a rule.
    """
    metric = promise.metric
    made = _programmed(choice, promise, prior) if len(metric) <= MOST_PROGRAMMED else None
    found = [_whole(one, promise) for one in _named(promise)]
    found += [] if made is None else [made[0]]
    fit = [one for one in found if _is_fit(one, choice.purpose)]
    if not fit:
        raise DivulgeError.of("guarantee", "leave a mechanism that tells answers apart", "every one under it",
                              "one that tells too little", "allow a higher rate, or purpose 'record'.")  # fmt: skip
    means = [_mean(one, metric, prior) for one in fit]
    least = min(means)
    chosen = fit[means.index(least)]
    if made is None or not least - made[1] > WORTH_TELLING * max(made[1], WORTH_TELLING * metric.diameter):
        return chosen, ()
    return chosen, (f"The published answer is {least:.4g} from the true one on average. Under the promise alone, no "
                    f"mechanism comes below {made[1]:.4g}.",)  # fmt: skip


def _is_fit(channel: IntegerChannel, purpose: str) -> bool:
    """Say whether each outcome raises the answer that it is called after most, and frequencies can be told if asked."""
    if untrue(channel.weights, channel.secrets, channel.outcomes):
        return False
    return purpose != "statistics" or rank(channel.weights.astype(float)) == len(channel.secrets)


def _mean(channel: IntegerChannel, metric: Metric, prior: Prior) -> float:
    """Return the mean distance between an answer and what is published."""
    apart = metric.matrix[:, metric.order_of(channel.outcomes, "outcomes")]
    return float(prior.floats @ (channel.weights / 2.0**channel.bits * apart).sum(axis=1))


def _programmed(choice: Release, promise: MetricPrivacy, prior: Prior) -> tuple[IntegerChannel, float]:
    """Return the mechanism of least mean distance of all, and what no other one comes below."""
    done = design(prior, promise, utility="distance", bits=BITS, time_limit=choice.time_limit)
    return IntegerChannel.of(done.channel, BITS), float(done.bound)


def _named(promise: MetricPrivacy) -> Iterator[np.ndarray]:
    """Yield named mechanisms that keep the promise, as matrices over the places.

    The tight-constraint mechanism, where there is one; the exponential mechanism at the highest rate that keeps it; and
    randomized response at the rate of the nearest pair: all others are farther apart.
    """
    metric, epsilon = promise.metric, float(promise.epsilon)
    with suppress(DivulgeError):  # epsilon may be so small that there is none
        yield tight_constraint(metric, epsilon).floats
    weights = exponential_weights_of(metric, 2 * exponential_rate(metric, epsilon))
    yield weights / weights.sum(axis=1, keepdims=True)
    yield randomized_response(len(metric), epsilon=min(epsilon * metric.least, _STEEPEST)).floats


_STEEPEST = 36.0
"""Randomized response is no steeper: e^-36 is below a unit of the whole numbers."""


def exponential_rate(metric: Metric, epsilon: float) -> float:
    """Return the largest t found so that C_xy ~ e^(-t d(x, y)) keeps epsilon: t + max |log Z_a - log Z_b| / d(a, b).

    With t = epsilon / 2 it does, by the triangle inequality.
    """
    i, j = metric.pairs
    apart = metric.matrix[i, j]

    def passes(rate: float) -> bool:
        logs = np.log(np.exp(-rate * metric.matrix).sum(axis=1))
        return rate + float((np.abs(logs[i] - logs[j]) / apart).max()) > epsilon

    return turn(passes, epsilon / 2, epsilon, steps=_HALVINGS)[0]


def _whole(matrix: np.ndarray, promise: MetricPrivacy) -> IntegerChannel:
    """Return whole numbers near a matrix that keep the promise, decided exactly."""
    labels = promise.metric.labels
    integers, kept = certified(matrix, promise, labels, BITS)
    return IntegerChannel(frozen(integers), BITS, tuple(labels), tuple(labels[int(y)] for y in kept), rounded=True)
