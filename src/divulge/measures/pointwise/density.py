"""Measures that bound the information density i(x; y) = log C_xy / q_y: pml, pmc, lift, lip, alip, ldp."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.conditional import sharply_conditioned
from divulge.measures.numeric.columns import Extremes, column_ends, likely_ends, mean_distances
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.model.accepted import ChannelLike, JointLike, PriorLike
from divulge.model.convert import as_channel, as_joint, as_prior, mechanism_of_structure, of_noise, pair_of_structure
from divulge.model.joint import Joint
from divulge.model.labels import labels_at
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.model.shown import Shown
from divulge.units import Unit, nats_per

_ENTRIES = 2**20
"""Entries of pairs of rows that are compared at a time."""

_LARGEST, _HELD = 1e289, 665.4
"""Ratios beyond this one, or its inverse, are too near to what a double can hold to be formed; and its logarithm."""

_CLOSE = 1e-2
"""Within this relative distance of the mean of its column, an entry is measured from it with more care."""


def between(q: np.ndarray, ends: Extremes) -> np.ndarray:
    """Return q_y, which as a mean of the column lies between its extremes: rounding may not push it out of them."""
    return q if q.dtype.hasobject else np.minimum(np.maximum(q, ends.bottom), ends.top)


def _seen(joint: Joint) -> tuple[np.ndarray, Extremes]:
    """Return (q of the outcomes that occur, extremes of their columns over the prior's support)."""
    ends = likely_ends(joint).only(joint.y)
    return between(_outer(joint), ends), ends


def _outer(joint: Joint) -> np.ndarray:
    """Return q_y of the outcomes that occur."""
    q, y = joint.outer, joint.y
    return q if len(y) == len(q) else q[y]


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def log_ratio(
    above: np.ndarray, below: np.ndarray, unit: Unit = "nats", difference: np.ndarray | None = None
) -> np.ndarray:
    """Return log(above / below) as float64; a/0 is +inf. Exact operands are rounded once.

    The value follows from `difference`, above - below, which a caller may know to more digits; where that is most of
    `below`, from the ratio.
    """
    if above.dtype.hasobject and below.dtype.hasobject:
        ratios = zip(above.tolist(), below.tolist(), strict=True)
        return np.array([math.inf if b == 0 else exact.log(a / b, unit) for a, b in ratios], dtype=np.float64)
    excess = (above - below if difference is None else difference) / below
    logs = np.log1p(excess)
    if excess.size and not (excess.item(excess.argmin()) > -0.5 and excess.item(excess.argmax()) < _LARGEST):
        np.log(above / below, out=logs, where=excess <= -0.5)
        np.subtract(np.log(above), np.log(below), out=logs, where=~(abs(logs) < _HELD))
    nats = nats_per(unit)
    return logs if nats == 1 else logs / nats


def _from_mean(joint: Joint, q: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return |ends - q| for the columns that occur; where they nearly meet, as a mean of distances."""
    gap = abs(ends - q)
    if not q.dtype.hasobject and np.count_nonzero(close := gap < _CLOSE * q):
        gap[close] = mean_distances(joint.c[:, joint.y[close]], joint.p, ends[close])
    return gap


def _pointwise(name: str, joint: Joint, values: np.ndarray, at: np.ndarray, unit: str) -> Pointwise:
    y = joint.y
    q = exact.as_floats(_outer(joint))
    outcomes = joint.outcomes if len(y) == len(joint.outcomes) else labels_at(joint.outcomes, y)
    return Pointwise(name, values, q, outcomes, labels_at(joint.secrets, at), unit)


def _gains(joint: Joint, q: np.ndarray, ends: Extremes, unit: Unit) -> np.ndarray:
    return log_ratio(ends.top, q, unit, _from_mean(joint, q, ends.top))


def _costs(joint: Joint, q: np.ndarray, ends: Extremes, unit: Unit) -> np.ndarray:
    return log_ratio(q, ends.bottom, unit, _from_mean(joint, q, ends.bottom))


def pml_of(joint: Joint, q: np.ndarray, ends: Extremes, unit: Unit) -> Pointwise:
    """Return log max_x C_xy / q_y from the extremes of the columns that occur."""
    return _pointwise("pml", joint, _gains(joint, q, ends, unit), ends.top_at, unit)


def pmc_of(joint: Joint, q: np.ndarray, ends: Extremes, unit: Unit) -> Pointwise:
    """Return log q_y / min_x C_xy from the extremes of the columns that occur."""
    return _pointwise("pmc", joint, _costs(joint, q, ends, unit), ends.bottom_at, unit)


def largest_pml(joint: Joint, unit: Unit = "nats") -> float:
    """Return max_y pml(y) alone."""
    return _largest(_gains(joint, *_seen(joint), unit))


def largest_pmc(joint: Joint, unit: Unit = "nats") -> float:
    """Return max_y pmc(y) alone."""
    return _largest(_costs(joint, *_seen(joint), unit))


def _largest(values: np.ndarray) -> float:
    return values.item(values.argmax())


def pml(joint: JointLike, unit: Unit = "nats", *, given: Hashable | None = None) -> Pointwise:
    r"""Return the pointwise maximal leakage of each outcome, in nats.

    l(X -> y) = max_x i(x; y) = log max_x C_xy / q_y, over secrets with P_x > 0: by how much the best-placed
    opportunistic adversary gains from seeing y.

    Parameters
    ----------
    joint : Joint, (prior, channel), array_like of shape (N, M), NoiseMechanism, or (prior, protocol)
    given : label, optional
        Side information Z = z, when the outcomes are pairs (y, z): the leakage of y to one who knows z already.

    Returns
    -------
    Pointwise
        Of noise on a number a `NoisyLeakage`, which has `max`, `mean`, `tail` and `quantile` too; of a protocol its
        maximum, a `ProtocolLeakage`.
        Values in [0, log 1/p_min], one per outcome with q_y > 0. Exact up to one rounding for exact joints.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `given` is
        no side information of the outcomes.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage", Theorem 1, arXiv:2205.04935.

    Examples
    --------
    >>> round(pml(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])).max(), 9)  # log 3/2
    0.405465108
    """
    if (noise := of_noise(joint)) is not None:
        return noise.leakage("pml", unit)
    if given is None and (structure := pair_of_structure(joint)) is not None:
        return structure.leakage("pml", unit)
    joint = as_joint(joint) if given is None else sharply_conditioned(joint, given)
    return pml_of(joint, *_seen(joint), unit)


def pmc(joint: JointLike, unit: Unit = "nats", *, given: Hashable | None = None) -> Pointwise:
    r"""Return the pointwise maximal cost of each outcome, in nats.

    Lambda(X -> y) = max_x -i(x; y) = log q_y / min_x C_xy, over secrets with P_x > 0: by how much the best-placed
    risk-averse adversary lowers their cost by seeing y. +inf where y rules a secret out.

    Parameters
    ----------
    joint : Joint, (prior, channel), array_like of shape (N, M), NoiseMechanism, or (prior, protocol)
    given : label, optional
        Side information Z = z, when the outcomes are pairs (y, z): the leakage of y to one who knows z already.

    Returns
    -------
    Pointwise
        Of noise on a number a `NoisyLeakage`, which has `max`, `mean`, `tail` and `quantile` too; of a protocol its
        maximum, a `ProtocolLeakage`.
        Values in [0, +inf], one per outcome with q_y > 0.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `given` is
        no side information of the outcomes.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Theorem 1,
    arXiv:2407.01167.

    Examples
    --------
    >>> round(pmc(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])).max(), 9)  # log 2
    0.693147181
    """
    if (noise := of_noise(joint)) is not None:
        return noise.leakage("pmc", unit)
    if given is None and (structure := pair_of_structure(joint)) is not None:
        return structure.leakage("pmc", unit)
    joint = as_joint(joint) if given is None else sharply_conditioned(joint, given)
    return pmc_of(joint, *_seen(joint), unit)


def lift(joint: JointLike) -> float | Fraction:
    """Return the lift max_{x,y} C_xy / q_y = exp(max pml), a ratio in [1, 1/p_min]; a Fraction for exact joints.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    Fraction or float
        In [1, 1/p_min], without a unit.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9).

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", Theorem 2, arXiv:2210.12916.

    Examples
    --------
    >>> lift(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    Fraction(3, 2)
    """
    if (structure := pair_of_structure(joint)) is not None:
        return structure.lift
    q, ends = _seen(as_joint(joint))
    return exact.as_number((ends.top / q).max())


def lip(joint: JointLike, unit: Unit = "nats") -> float:
    """Return the local information privacy max_{x,y} |i(x; y)|, in nats, in [0, +inf].

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, +inf]; +inf where an outcome rules a secret out.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Jiang et al., "Context-Aware Local Information Privacy".

    Examples
    --------
    >>> round(lip(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])), 9)  # log 2, of a lift of 1/2
    0.693147181
    """
    bounds = alip(joint, unit)
    return max(bounds.lower, bounds.upper)


@dataclass(frozen=True)
class DensityBounds(Shown):
    """Asymmetric local information privacy: -lower <= i(x; y) <= upper; lower = max pmc, upper = max pml.

    Examples
    --------
    >>> bounds = alip(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), unit="bits")  # lifts 1/2 and 3/2
    >>> bounds.lower, round(2**bounds.upper, 12)
    (1.0, 1.5)
    """

    lower: float
    upper: float


def alip(joint: JointLike, unit: Unit = "nats") -> DensityBounds:
    """Return the least (lower, upper) with -lower <= i(x; y) <= upper for all x, y, in nats.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    DensityBounds
        Both bounds in [0, +inf]; `lower` is +inf where an outcome rules a secret out.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Zarrabian et al., "Asymmetric Local Information Privacy and the Watchdog Mechanism", arXiv:2205.14549.

    Examples
    --------
    >>> alip(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))  # log 2 and log 3/2
    DensityBounds(lower=0.693147180..., upper=0.405465108...)
    """
    if (other := pair_of_structure(joint) or of_noise(joint)) is not None:
        return DensityBounds(lower=pmc(other, unit).max(), upper=pml(other, unit).max())
    joint = as_joint(joint)
    return DensityBounds(lower=largest_pmc(joint, unit), upper=largest_pml(joint, unit))


def ldp(
    channel: ChannelLike, unit: Unit = "nats", *, prior: PriorLike | None = None, neighbors: NeighborsLike = None
) -> float:
    """Return the local differential privacy epsilon max_y log(max_x C_xy / min_x C_xy), in nats, in [0, +inf].

    All rows count, or with a prior those of secrets that can occur; columns that are entirely zero do not. With
    neighbors it is the largest log(C_xy / C_x'y) over pairs (x, x') of them, 0 where the prior leaves none.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)
    prior : Prior or what converts to it, optional
        Only its support matters.
    neighbors : which secrets must be hard to tell apart (default: all pairs), for channels; see `dp.privacy_losses`

    Returns
    -------
    float
        In [0, +inf]; +inf where a column has a zero beside a positive entry.

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), `prior` is no distribution of its
        secrets, `neighbors` is no relation between them, or `unit` is unknown.

    References
    ----------
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, "What Can We Learn Privately?", 2011, arXiv:0803.0924.

    Examples
    --------
    >>> round(ldp([["3/4", "1/4"], ["1/4", "3/4"]]), 9)  # log 3
    1.098612289
    >>> round(ldp([["3/4", "1/4"], ["1/4", "3/4"], ["1", "0"]], prior=["1/2", "1/2", "0"]), 9)
    1.098612289
    >>> round(ldp([["4/7", "2/7", "1/7"], ["1/4", "1/2", "1/4"], ["1/7", "2/7", "4/7"]], neighbors=[(0, 1), (1, 2)]), 9)
    0.826678573
    """
    if neighbors is not None:
        return max((ldp_of(ends, unit) for ends in _neighboring(channel, neighbors, prior)), default=0.0)
    if prior is None and (noise := of_noise(channel)) is not None:
        return noise.ldp.epsilon / nats_per(unit)
    if prior is None and (structure := mechanism_of_structure(channel)) is not None:
        return structure.ldp / nats_per(unit)
    if prior is None:
        channel = as_channel(channel)
        return ldp_of(column_ends(channel.matrix, floats=channel.floats if channel.exact else None), unit)
    joint = Joint(as_prior(prior), as_channel(channel))
    return ldp_of(column_ends(joint.channel.matrix, joint.x), unit)


def lift_capacity(channel: ChannelLike, *, neighbors: NeighborsLike = None) -> float | Fraction:
    """Return sup over full-support priors of the lift, e^ldp, a ratio in [1, +inf]; a Fraction for exact channels.

    With neighbors, the supremum of the lift to who knows already that the secret is one of two that are neighbors.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)
    neighbors : which secrets must be hard to tell apart (default: all pairs), for channels; see `dp.privacy_losses`

    Returns
    -------
    Fraction or float
        In [1, +inf], without a unit; +inf where a column has a zero beside a positive entry.

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), or `neighbors` is no relation
        between its secrets.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", Theorem 3, arXiv:2210.12916.

    Examples
    --------
    >>> lift_capacity([["3/4", "1/4"], ["1/4", "3/4"]])
    Fraction(3, 1)
    >>> geometric = [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]]
    >>> lift_capacity(geometric), lift_capacity(geometric, neighbors=dv.Metric.line(3))
    (Fraction(4, 1), Fraction(2, 1))
    """
    if neighbors is not None:
        return max(lift_capacity_of(ends) for ends in _neighboring(channel, neighbors))
    if (structure := mechanism_of_structure(channel)) is not None:
        return structure.ratio
    return lift_capacity_of(column_ends(as_channel(channel).matrix))


def _neighboring(channel: Any, neighbors: NeighborsLike, prior: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give (larger, smaller) of C_xy and C_x'y for the pairs of neighbors that can occur, some pairs at a time."""
    if of_noise(channel) is not None or mechanism_of_structure(channel) is not None:
        raise DivulgeError.of("neighbors", "be given for a channel only", "it", f"given for a {type(channel).__name__}")
    channel = as_channel(channel)
    pairs = ordered_pairs(channel.secrets, neighbors)
    if prior is not None:
        pairs = pairs[Joint(as_prior(prior), channel).prior.support[pairs].all(axis=1)]
    for some in np.array_split(pairs, max(1, len(pairs) * channel.matrix.shape[1] // _ENTRIES)):
        first, second = (channel.matrix[some[:, k]] for k in (0, 1))
        if channel.sparse:
            first, second = first.toarray(), second.toarray()
        if len(some):
            yield np.maximum(first, second).ravel(), np.minimum(first, second).ravel()


def worst_column(ends: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
    """Return the (largest, smallest) entry of the column where their ratio is largest."""
    top, bottom = ends
    some = top > 0
    if np.count_nonzero(some) < some.size:
        top, bottom = top[some], bottom[some]
    ruled_out = bottom == 0
    worst = int((ruled_out if np.count_nonzero(ruled_out) else _ratio(top, bottom)).argmax())
    return top[worst : worst + 1], bottom[worst : worst + 1]


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return top / bottom if top.dtype == object else np.log2(top) - np.log2(bottom)


def ldp_of(ends: tuple[np.ndarray, np.ndarray], unit: Unit) -> float:
    """Return max_y log(max_x C_xy / min_x C_xy) from (largest, smallest) entry of each column."""
    return float(log_ratio(*worst_column(ends), unit)[0])


def lift_capacity_of(ends: tuple[np.ndarray, np.ndarray]) -> Any:
    """Return max_y max_x C_xy / min_x C_xy from (largest, smallest) entry of each column."""
    top, bottom = worst_column(ends)
    with np.errstate(over="ignore"):
        return math.inf if bottom[0] == 0 else exact.as_number((top / bottom)[0])


def maximal_realizable_cost(joint: JointLike, unit: Unit = "nats") -> float:
    """Return max_y pmc(y), the maximal realizable cost, in nats, in [0, +inf].

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, +inf]; +inf where an outcome rules a secret out.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Issa, Wagner, Kamath, "An operational approach to information leakage", 2020, Theorem 16, arXiv:1807.07878;
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Section III-C,
    arXiv:2407.01167.

    Examples
    --------
    >>> round(maximal_realizable_cost(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])), 9)  # log 2
    0.693147181
    """
    return pmc(joint, unit).max()
