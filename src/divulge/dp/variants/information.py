"""Mutual-information differential privacy: what a release says on average of one record, the rest being known."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from divulge.dp.knowledge import Known
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.sampled import sampled
from divulge.dp.subjects import SubjectLike, as_subject, privacy_losses
from divulge.dp.variants.worst import asked
from divulge.errors import DivulgeError
from divulge.measures.average.shannon import Capacity, capacity
from divulge.model.channel import Channel
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.model.prior import Prior
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

_MOST_NEIGHBORHOODS = 10_000
"""Maximal cliques of neighbors, of which a graph can have 3^(N/3): each takes a capacity, of some milliseconds."""

_ROUNDING = 1e-12
"""Relative error of the quadratures of continuous losses, allowed for in the bounds."""


def mutual_information_dp(subject: SubjectLike, neighbors: NeighborsLike = None, unit: Unit = "nats") -> Capacity:
    """Return mutual-information DP, the largest I(X_i; Y | the rest) over priors, in nats, between certified bounds.

    Given the rest, a record ranges over secrets that are neighbors of each other. So it is the largest capacity of the
    rows of a neighborhood, a maximal set of mutual neighbors: of all rows, when all secrets are neighbors.

    Parameters
    ----------
    subject : Channel of shape (N, M), mechanism, or PrivacyLoss
        A mechanism stands for the two data sets of its dominating pair: a record that takes part or does not, the
        capacity max_w w D(P || M) + (1 - w) D(Q || M) with M = w P + (1 - w) Q; of what only dominates a mechanism it
        is an upper bound. Where a record has more values than
        two, `KL(...).implies(MIDP)` bounds it.
    neighbors : for channels, which secrets are neighbors (default: all pairs); see `privacy_losses`

    Returns
    -------
    Capacity
        In [0, log N]; `.prior` is that of the worst neighborhood, which it names.

    Raises
    ------
    DivulgeError
        When `subject` has no privacy losses, `neighbors` is no relation between its secrets, or `unit` is unknown.

    References
    ----------
    Cuff, Yu, "Differential Privacy as a Mutual Information Constraint", arXiv:1608.03677.

    Examples
    --------
    >>> mutual_information_dp([["1", "0"], ["0", "1"]], unit="bits").upper
    1.0
    >>> found = mutual_information_dp(dv.dp.RandomizedResponse(1.0), unit="bits")
    >>> round(found.value, 9), found.gap < 1e-11  # 1 - h(1 / (1 + e)), the binary symmetric channel
    (0.160058462, True)
    """
    subject = as_subject(subject)
    if not isinstance(subject, Channel):
        found = [_of_loss(loss, unit) for loss in privacy_losses(subject, neighbors)]
        return max(found, key=lambda one: one.upper)
    if neighbors is None:
        return capacity(subject, unit)
    rows = subject.matrix.toarray() if subject.sparse else subject.matrix
    groups = list(islice(neighborhoods(subject.secrets, neighbors), _MOST_NEIGHBORHOODS + 1))
    if len(groups) > _MOST_NEIGHBORHOODS:
        condition = f"have at most {_MOST_NEIGHBORHOODS} maximal sets of neighbors"
        raise DivulgeError.of("neighbors", condition, "it", "more")
    each = [capacity(Channel(rows[at], [subject.secrets[i] for i in at], subject.outcomes), unit) for at in groups]
    best = each[first_largest([found.value for found in each])]
    return Capacity(best.value, max(f.lower for f in each), max(f.upper for f in each), best.prior, unit)


def neighborhoods(secrets: Any, neighbors: NeighborsLike = None) -> Iterator[list[int]]:
    """Return every maximal set of mutual neighbors, as indexes (Bron and Kerbosch, with pivots)."""
    near: dict[int, set[int]] = {i: set() for i in range(len(secrets))}
    for i, j in ordered_pairs(secrets, neighbors).tolist():
        if i != j:
            near[i].add(j)

    def grown(clique: list[int], open_: set[int], closed: set[int]) -> Iterator[list[int]]:
        if not open_ and not closed:
            yield sorted(clique)
            return
        pivot = max(open_ | closed, key=lambda i: len(near[i] & open_))
        for i in sorted(open_ - near[pivot]):
            yield from grown([*clique, i], open_ & near[i], closed & near[i])
            open_, closed = open_ - {i}, closed | {i}

    return grown([], set(near), set())


def _of_loss(loss: PrivacyLoss, unit: Unit) -> Capacity:
    """Return the capacity of a pair; where it only dominates, a bound from above, and one from a pair that there is."""
    found = _of_pair(loss, unit)
    if asked("information", loss) == "exact":
        return found
    there = loss.attained
    lower = found.lower if there is loss else 0.0 if there is None else _of_pair(there, unit).lower
    return Capacity(found.upper, min(lower, found.upper), found.upper, found.prior, unit)


def _of_pair(loss: PrivacyLoss, unit: Unit) -> Capacity:
    """Return the capacity of the two distributions of a loss; at every w it lies between the mean and the larger D."""
    back = loss.reverse()
    close = 1e-15 if loss.known <= Known.SENSITIVITY else 1e-9
    low, high = 0.0, 1.0
    mean = largest = 0.0
    w = 0.5
    for _ in range(60):
        w = (low + high) / 2
        first, second = _from_mixture(loss, w), _from_mixture(back, 1.0 - w)
        mean, largest = w * first + (1.0 - w) * second, max(first, second)
        if largest - mean <= close * largest:
            break
        low, high = (w, high) if first > second else (low, w)
    slack = _ROUNDING * largest
    scale, limit = nats_per(unit), math.log(2)
    value, lower, upper = (min(v, limit) / scale for v in (mean, max(0.0, mean - slack), largest + slack))
    return Capacity(value, lower, upper, Prior([w, 1.0 - w], loss.pair), unit)


def _from_mixture(loss: PrivacyLoss, w: float) -> float:
    """Return D(P || w P + (1 - w) Q)."""
    mixture = sampled(loss.reverse(), 1.0 - w).reverse()
    return min(mixture.mean(), mixture.pair_alone.mean())
