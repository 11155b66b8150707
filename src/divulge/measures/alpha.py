"""Information of order alpha: Sibson, Arimoto, alpha-leakage and maximal alpha-leakage."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.capacity import maximal_leakage, total
from divulge.measures.columns import column_ends, largest_joint, panels
from divulge.measures.density import seen
from divulge.measures.entropy import checked_order
from divulge.measures.guessing import min_entropy_leakage
from divulge.measures.information import mutual_information
from divulge.measures.shannon import Capacity, capacity
from divulge.measures.simplex import maximize
from divulge.model.channel import is_sparse
from divulge.model.convert import as_channel, as_joint
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.units import Unit, nats_per


def sibson(joint: Any, order: float, unit: Unit = "nats") -> float:
    r"""Return Sibson's mutual information a/(a-1) log sum_y (sum_x P_x C_xy^a)^(1/a) of order a, in nats.

    Order 0 is -log max_y P(x: C_xy > 0), 1 mutual information, +inf log sum_y max_x C_xy over P_x > 0.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    order : float in [0, +inf]

    Returns
    -------
    float
        In [0, log min(N, M)], rising with the order.

    References
    ----------
    Sibson, "Information radius", 1969; Verdu, "Alpha-mutual information", 2015.

    Examples
    --------
    >>> from divulge import Joint
    >>> sibson(Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), float("inf"))  # log 3/2
    0.4054651081081644
    """
    joint, a = as_joint(joint), checked_order(order)
    if a == 1:
        return mutual_information(joint, unit)
    if a == 0:
        return _log(1 / _support_masses(joint).max(), unit)
    if a == math.inf:
        return _log(total(column_ends(joint.c, np.flatnonzero(joint.prior.support))[0]), unit)
    value = _near_one(joint, a) if abs(a - 1) < 0.5 else _far_from_one(joint, a)
    return max(value, 0.0) / nats_per(unit)


def arimoto(joint: Any, order: float, unit: Unit = "nats") -> float:
    r"""Return Arimoto's mutual information of order a, H_a(X) - H_a(X | Y), in nats.

    Equal to Sibson's under the tilted prior P_x^a / sum_x P_x^a. Order 1 is mutual information, +inf the min-entropy
    leakage.

    References
    ----------
    Arimoto, "Information measures and capacity of order alpha for discrete memoryless channels", 1977.

    Examples
    --------
    >>> from divulge import Joint
    >>> joint = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> abs(arimoto(joint, 2) - sibson(joint, 2)) < 1e-15  # a uniform prior is its own tilt
    True
    """
    joint, a = as_joint(joint), checked_order(order)
    if a == math.inf:
        return min_entropy_leakage(joint, unit)
    if a == 1 or a == 0 or abs(a - 1) < 0.5:
        return sibson(joint if a == 1 else Joint(_tilted(joint.prior, a), joint.channel), a, unit)
    return max(_arimoto_far_from_one(joint, a), 0.0) / nats_per(unit)


def alpha_leakage(joint: Any, order: float, unit: Unit = "nats") -> float:
    r"""Return the alpha-leakage of order a >= 1, in nats: by how much an adversary with alpha-loss gains from seeing y.

    It equals Arimoto's mutual information of order a; 1 is mutual information, +inf min-entropy leakage.

    References
    ----------
    Liao, Kosut, Sankar, Calmon, "Tunable measures for information leakage", 2019, Theorem 1, arXiv:1809.09231.

    Examples
    --------
    >>> from divulge import Joint
    >>> alpha_leakage(Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]), float("inf"), unit="bits")
    1.0
    """
    return arimoto(joint, checked_order(order, 1.0), unit)


def maximal_alpha_leakage(joint: Any, order: float, unit: Unit = "nats") -> float:
    r"""Return the maximal alpha-leakage of order a >= 1, in nats: the worst alpha-leakage about any function of X.

    For a > 1 the supremum over priors of Sibson's mutual information, so that a channel is enough; for a = 1 mutual
    information at the given prior; for +inf maximal leakage. The value is reached; `sibson_capacity` bounds it above.

    References
    ----------
    Liao, Kosut, Sankar, Calmon, "Tunable measures for information leakage", 2019, Theorem 2, arXiv:1809.09231.

    Examples
    --------
    >>> from divulge import Channel
    >>> maximal_alpha_leakage(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), float("inf"))  # log 3/2
    0.4054651081081644
    """
    a = checked_order(order, 1.0)
    if a == 1:
        return mutual_information(joint, unit)
    if a == math.inf:
        return maximal_leakage(joint, unit)
    return sibson_capacity(joint, a, unit).value


def sibson_capacity(channel: Any, order: float, unit: Unit = "nats", *, tolerance: float = 1e-12) -> Capacity:
    r"""Return the supremum over priors of Sibson's (and of Arimoto's) mutual information of order a > 0, in nats.

    For a > 1 the maximum over r of the concave F(r) = sum_y (sum_x r_x C_xy^a)^(1/a), for a < 1 the minimum of the same
    convex function, with a certified upper bound from its gradient.

    Returns
    -------
    Capacity
        `.value`, `.lower`, `.upper` and the `.prior` that reaches the value.

    Examples
    --------
    >>> sibson_capacity([["3/4", "1/4"], ["1/4", "3/4"]], 1).value == capacity([["3/4", "1/4"], ["1/4", "3/4"]]).value
    True
    """
    channel, a = as_channel(channel), checked_order(order)
    if a == 1:
        return capacity(channel, unit, tolerance=tolerance)
    if not 0 < a < math.inf:
        raise DivulgeError.of("order", "be positive and finite", "it", str(a), "order inf is maximal_leakage.")
    c = channel.floats
    if is_sparse(c):
        c = c.toarray()
    c = c[:, column_ends(c)[0] > 0]
    top = column_ends(c)[0]
    powers = (c / top) ** a
    sign = 1.0 if a > 1 else -1.0

    def concave(r: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        s = np.maximum(r @ powers, 1e-100)
        roots = top * s ** (1 / a)
        gradient = sign * (powers @ (roots / s)) / a
        hessian_weights = sign * (1 / a) * (1 - 1 / a) * (roots / s) / s
        return sign * float(roots.sum()), gradient, (powers * hessian_weights) @ powers.T

    found = maximize(concave, channel.shape[0], tolerance)
    factor = a / (a - 1)
    slack = 64 * np.finfo(float).eps * (1 + abs(factor))
    low, high = (factor * math.log(max(sign * v, np.finfo(float).tiny)) for v in (found.lower, found.upper))
    limit, scale = math.log(min(channel.shape)), nats_per(unit)
    value = min(max(low, 0.0), limit)
    upper = max(min(high + slack, limit), value)
    prior = Prior(found.point / math.fsum(found.point.tolist()), channel.secrets)
    return Capacity(value / scale, max(value - slack, 0.0) / scale, upper / scale, prior, unit)


def _log(ratio: Any, unit: Unit) -> float:
    if isinstance(ratio, Fraction):
        return exact.log(ratio, unit)
    return max(math.log(ratio), 0.0) / nats_per(unit)


def _tilted(prior: Prior, a: float) -> Prior:
    """Return P^a / sum P^a over the support."""
    if prior.exact and a.is_integer() and a <= 64:
        weights = np.array([p ** int(a) if p > 0 else p for p in prior.probabilities.tolist()], dtype=object)
    else:
        weights = np.where(prior.floats > 0, (prior.floats / prior.floats.max()) ** a, 0.0)
    return Prior(weights / weights.sum(), prior.secrets)


def _support_masses(joint: Joint) -> np.ndarray:
    """Return P(x: C_xy > 0) for each outcome."""
    if is_sparse(joint.c):
        return np.minimum(np.asarray((joint.c != 0).astype(np.float64).T @ joint.p).ravel(), 1.0)
    possible = (joint.c > 0).astype(object if joint.exact else np.float64)
    masses = joint.p @ possible
    return masses if joint.exact else np.minimum(masses, 1.0)


def _column_sums(joint: Joint, columns: np.ndarray, term: Any, scale: np.ndarray) -> np.ndarray:
    """Return sum_x term(P_x, C_xy / scale_y) for the columns, 0 where C_xy = 0; by panels, or by stored entries."""
    likely = np.flatnonzero(joint.prior.support)
    c, p = joint.channel.floats, joint.prior.floats[likely]
    c = c if len(likely) == c.shape[0] else c[likely]
    if is_sparse(c):
        part = c[:, columns]
        column = np.repeat(np.arange(len(columns)), np.diff(part.indptr))
        return np.bincount(column, term(p[part.indices], part.data / scale[column]), minlength=len(columns))
    sums = np.zeros(len(columns))
    for rows in panels(c):
        sums += term(p[rows, None], c[rows][:, columns] / scale).sum(axis=0)
    return sums


def _near_one(joint: Joint, a: float) -> float:
    """Return a/(a-1) log sum_y q_y (sum_x P_x L^a)^(1/a), where sum_x P_x L^a - 1 = sum_x P_x (L^a - L) is small."""
    y = seen(joint)
    q = exact.as_floats(joint.outer[y])

    def surplus(p: np.ndarray, lift: np.ndarray) -> np.ndarray:
        logs = np.log(np.where(lift > 0, lift, 1.0))
        return p * lift * np.expm1((a - 1) * logs)

    excess = _column_sums(joint, y, surplus, q)
    growth = math.fsum((q * np.expm1(np.log1p(excess) / a)).tolist())
    return a / (a - 1) * math.log1p(growth)


def _far_from_one(joint: Joint, a: float) -> float:
    """Return a/(a-1) log sum_y t_y (sum_x P_x (C_xy / t_y)^a)^(1/a) with t_y the largest entry of the column."""
    y = seen(joint)
    top = exact.as_floats(column_ends(joint.c, np.flatnonzero(joint.prior.support))[0])[y]
    sums = _column_sums(joint, y, lambda p, scaled: p * scaled**a, top)
    return a / (a - 1) * _log_sum_of_roots(top, sums, a)


def _arimoto_far_from_one(joint: Joint, a: float) -> float:
    """Return a/(a-1) log [sum_y (sum_x (P_x C_xy)^a)^(1/a) / (sum_x P_x^a)^(1/a)], the largest terms factored out."""
    y = seen(joint)
    top = exact.as_floats(largest_joint(joint.c, joint.p))[y]
    sums = _column_sums(joint, y, lambda p, scaled: (p * scaled) ** a, top)
    p = joint.prior.floats[joint.prior.support]
    before = math.log(p.max()) + math.log(math.fsum(((p / p.max()) ** a).tolist())) / a
    return a / (a - 1) * (_log_sum_of_roots(top, sums, a) - before)


def _log_sum_of_roots(top: np.ndarray, sums: np.ndarray, a: float) -> float:
    """Return log sum_y top_y sums_y^(1/a)."""
    logs = np.log(top) + np.log(sums) / a
    peak = float(logs.max())
    return peak + math.log(math.fsum(np.exp(logs - peak).tolist()))
