"""The variants of differential privacy: for each, the value or curve of a mechanism, at the worst ordered pair.

A subject is a named mechanism, a `PrivacyLoss`, or a channel with (or without) a relation between its secrets; see
`privacy_losses`. Every answer is a `Worst`: a value and the pair that reaches it.

Float entries count as they are, though a row may miss 1 in its last digits. A divergence of such rows is that of
measures, sum q f(p/q) with f(1) = f'(1) = 0 (KL: sum p log p/q - p + q), known to a relative 1e-12, however close they
are; it is at least that of the rows divided by their sums, but for a relative 1e-14.
"""

from functools import partial

from numpy.typing import ArrayLike

from divulge.dp.loss.numbers import numbers, probabilities
from divulge.dp.subjects import SubjectLike
from divulge.dp.variants.tails import quantile_bound, relaxed_bound, tail_bound
from divulge.dp.variants.worst import Worst, in_unit, nats_of, worst, worst_delta
from divulge.model.neighbors import NeighborsLike
from divulge.units import Unit, nats_per


def delta_from_epsilon(
    subject: SubjectLike, epsilon: ArrayLike, neighbors: NeighborsLike = None, unit: Unit = "nats"
) -> Worst:
    """Return the least delta of (epsilon, delta)-DP: max over pairs of E_P[(1 - e^(epsilon - L))_+] + P(L = inf).

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    epsilon : number or array, in `unit`

    Returns
    -------
    Worst
        A value in [0, 1] (an array for an array) and the ordered pair that reaches it. Nearest double for exact
        channels; a relative 1e-13 otherwise, down to 1e-300.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `epsilon` is no number, or `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Proposition 8; Balle, Wang, arXiv:1805.06530.

    Examples
    --------
    >>> delta_from_epsilon([["3/4", "1/4"], ["1/4", "3/4"]], 0.0)
    Worst(value=0.5, pair=(0, 1))
    """
    return worst_delta(subject, numbers(epsilon, "epsilon") * nats_per(unit), neighbors)


def epsilon_from_delta(
    subject: SubjectLike, delta: float, neighbors: NeighborsLike = None, unit: Unit = "nats"
) -> Worst:
    """Return the least epsilon >= 0 of (epsilon, delta)-DP, rounded up; at delta = 0 that of pure DP; may be +inf.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    delta : float in [0, 1]

    Returns
    -------
    Worst
        A value in [0, +inf], an upper bound, in `unit`, and the ordered pair that reaches it. The twin of
        `delta_from_epsilon`.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `delta` is not in [0, 1], or `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Proposition 8.

    Examples
    --------
    >>> epsilon_from_delta(dv.dp.LaplaceMechanism(scale=2.0), 0.0).value
    0.5
    """
    return in_unit(unit, worst(subject, "delta", lambda loss: loss.epsilon(delta), neighbors))


def tail_from_epsilon(
    subject: SubjectLike, epsilon: float, neighbors: NeighborsLike = None, unit: Unit = "nats"
) -> Worst:
    """Return the least delta of (epsilon, delta)-probabilistic DP: max over pairs of P(L > epsilon).

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    epsilon : number, in `unit`

    Returns
    -------
    Worst
        A value in [0, 1], and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `epsilon` is no number, or `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Definition 15 and Proposition 8.

    Examples
    --------
    >>> tail_from_epsilon([["3/4", "1/4"], ["1/4", "3/4"]], 1.0).value
    0.75
    """
    threshold = nats_of(epsilon, "epsilon", unit)
    question, theorem = _tail_at(threshold), partial(tail_bound, threshold=threshold)
    return worst(subject, question, lambda loss: loss.tail(threshold), neighbors, theorem=theorem)


def epsilon_from_tail(
    subject: SubjectLike, delta: float, neighbors: NeighborsLike = None, unit: Unit = "nats"
) -> Worst:
    """Return the least epsilon >= 0 of (epsilon, delta)-probabilistic DP, rounded up; may be +inf.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    delta : float in [0, 1]

    Returns
    -------
    Worst
        A value in [0, +inf], an upper bound, in `unit`, and the ordered pair that reaches it. The twin of
        `tail_from_epsilon`.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `delta` is not in [0, 1], or `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Definition 15 and Proposition 8.

    Examples
    --------
    >>> epsilon_from_tail([["3/4", "1/4"], ["1/4", "3/4"]], 0.75).value
    0.0
    """
    probabilities(delta, "delta")
    theorem = partial(quantile_bound, outside=delta)
    return in_unit(unit, worst(subject, "tail", lambda loss: loss.quantile(delta), neighbors, theorem=theorem))


def relaxed_delta(
    subject: SubjectLike, epsilon: float, outside: float, neighbors: NeighborsLike = None, unit: Unit = "nats"
) -> Worst:
    """Return the least delta_a of (epsilon, delta_a, delta_p)-relaxed DP, with `outside` = delta_p.

    (epsilon, delta_a)-DP outside a set of probability delta_p, the outcomes of largest loss; an outcome may be set
    aside in part. With outside = 0 it is delta_from_epsilon; it is 0 once outside reaches tail_from_epsilon.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    epsilon : number, in `unit`
    outside : float in [0, 1], delta_p

    Returns
    -------
    Worst
        A value in [0, 1], and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `epsilon` is no number, `outside` is not in [0, 1], or `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Section 2.2.2 (RelDP).

    Examples
    --------
    >>> relaxed_delta([["3/4", "1/4"], ["1/4", "3/4"]], 0.0, outside=0.75).value
    0.0
    """
    threshold = nats_of(epsilon, "epsilon", unit)
    probabilities(outside, "outside")
    question, theorem = _tail_at(threshold), partial(relaxed_bound, epsilon=threshold, outside=outside)
    return worst(subject, question, lambda loss: loss.relaxed(threshold, outside), neighbors, theorem=theorem)


def _tail_at(threshold: float) -> str:
    """Return the question; a threshold below 0 is exceeded most by data sets that answer alike."""
    return "tail" if threshold >= 0 else "tail below 0"
