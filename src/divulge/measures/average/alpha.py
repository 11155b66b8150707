"""Information of order alpha: Sibson, Arimoto, alpha-leakage and maximal alpha-leakage."""

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import dense_row, log_of_excess, maximal_leakage, total
from divulge.measures.average.entropies import a_log, checked_order, exact_order, log_of_rest
from divulge.measures.average.information import mutual_information
from divulge.measures.average.shannon import Capacity, bracketed, capacity
from divulge.measures.numeric.columns import absent_mass, column_ends, largest_joint, panels, shifts
from divulge.measures.numeric.convex import power_term
from divulge.measures.numeric.radius import Rows, allowance, of_order
from divulge.measures.numeric.simplex import checked_tolerance, maximize
from divulge.measures.pointwise.density import log_ratio
from divulge.measures.pointwise.divergence import column_means
from divulge.measures.pointwise.guessing import min_entropy_leakage
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.channel import is_sparse
from divulge.model.convert import as_channel, as_joint
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.units import Unit, nats_per

_FAINT, _LEAST = -650.0, 1e-290
"""Logarithm of a weight that is too close to underflow, and a product that is."""


def sibson(joint: JointLike, order: float, unit: Unit = "nats") -> float:
    r"""Return Sibson's mutual information a/(a-1) log sum_y (sum_x P_x C_xy^a)^(1/a) of order a, in nats.

    Order 0 is -log max_y P(x: C_xy > 0), 1 mutual information, +inf log sum_y max_x C_xy over P_x > 0.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    order : float in [0, +inf]

    Returns
    -------
    float
        In [0, log min(N, M)], rising with the order. Correctly rounded for exact joints.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `order`
        is negative.

    References
    ----------
    Sibson, "Information radius", 1969; Verdu, "Alpha-mutual information", 2015.

    Examples
    --------
    >>> round(sibson(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), float("inf")), 9)  # log 3/2
    0.405465108
    """
    joint, a = as_joint(joint), checked_order(order)
    if a == 1:
        return mutual_information(joint, unit)
    if a == 0:
        return _of_order_zero(joint) / nats_per(unit) if not joint.exact else exact.log(1 / _masses(joint).max(), unit)
    if a == math.inf:
        return _of_order_infinity(joint, unit)
    if joint.exact:
        return _exact_value(joint, exact_order(order), Fraction(1), unit)
    return max(_float_sibson(joint, a), 0.0) / nats_per(unit)


def arimoto(joint: JointLike, order: float, unit: Unit = "nats") -> float:
    r"""Return Arimoto's mutual information of order a, H_a(X) - H_a(X | Y), in nats.

    Equal to Sibson's under the tilted prior P_x^a / sum_x P_x^a. Order 1 is mutual information, +inf the min-entropy
    leakage. Correctly rounded for exact joints.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    order : float in [0, +inf]

    Returns
    -------
    float
        In [0, log min(N, M)].

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `order`
        is negative.

    References
    ----------
    Arimoto, "Information measures and capacity of order alpha for discrete memoryless channels", 1977.

    Examples
    --------
    >>> joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> abs(arimoto(joint, 2) - sibson(joint, 2)) < 1e-15  # a uniform prior is its own tilt
    True
    """
    joint, a = as_joint(joint), checked_order(order)
    if a == math.inf:
        return min_entropy_leakage(joint, unit)
    if joint.exact and 0 < a != 1:
        return _exact_value(joint, exact_order(order), exact_order(order), unit)
    if a in (0, 1):
        return sibson(Joint(_uniform(joint.prior), joint.channel) if a == 0 else joint, a, unit)
    return max(_float_arimoto(joint, a), 0.0) / nats_per(unit)


def alpha_leakage(joint: JointLike, order: float, unit: Unit = "nats") -> float:
    r"""Return the alpha-leakage of order a >= 1, in nats: by how much an adversary with alpha-loss gains from seeing y.

    It equals Arimoto's mutual information of order a; 1 is mutual information, +inf min-entropy leakage.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    order : float in [1, +inf]

    Returns
    -------
    float
        In [0, log min(N, M)]. Correctly rounded for exact joints.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `order`
        is below 1.

    References
    ----------
    Liao, Kosut, Sankar, Calmon, "Tunable measures for information leakage", 2019, Theorem 1, arXiv:1809.09231.

    Examples
    --------
    >>> alpha_leakage(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]), float("inf"), unit="bits")
    1.0
    """
    checked_order(order, 1.0)
    return arimoto(joint, order, unit)


def maximal_alpha_leakage(joint: JointLike, order: float, unit: Unit = "nats") -> float:
    r"""Return the maximal alpha-leakage of order a >= 1, in nats: the worst alpha-leakage about any function of X.

    For a > 1 the supremum over priors of Sibson's mutual information, so that a channel is enough; for a = 1 mutual
    information at the given prior; for +inf maximal leakage. The value is reached; `sibson_capacity` bounds it above.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M); for orders above 1 also a Channel
    order : float in [1, +inf]

    Returns
    -------
    float
        In [0, log min(N, M)].

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `order`
        is below 1.

    References
    ----------
    Liao, Kosut, Sankar, Calmon, "Tunable measures for information leakage", 2019, Theorem 2, arXiv:1809.09231.

    Examples
    --------
    >>> round(maximal_alpha_leakage(dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]]), float("inf")), 9)  # log 3/2
    0.405465108
    """
    a, channel = checked_order(order, 1.0), cast(ChannelLike, joint)
    if a == 1:
        return mutual_information(joint, unit)
    if a == math.inf:
        return maximal_leakage(channel, unit)
    return sibson_capacity(channel, a, unit).value


def sibson_capacity(channel: ChannelLike, order: float, unit: Unit = "nats", *, tolerance: float = 5e-13) -> Capacity:
    r"""Return the supremum over priors of Sibson's (and of Arimoto's) mutual information of order a > 0, in nats.

    It is the Renyi radius of the rows, min over pi of max_x D_a(C_x || pi): each prior bounds it below, and the pi in
    the middle of the rows under that prior above.

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    order : float in (0, +inf)
    tolerance : float
        The search ends when the bounds are this close, as a share of the upper one.

    Returns
    -------
    Capacity
        `.value`, `.lower`, `.upper` and the `.prior` that reaches the value; in [0, log min(N, M)].

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), or `unit` is unknown, `order` is
        not positive, or `tolerance` is negative.

    References
    ----------
    Csiszar, "Generalized cutoff rates and Renyi's information measures", 1995, Proposition 1.

    Examples
    --------
    >>> sibson_capacity([["3/4", "1/4"], ["1/4", "3/4"]], 1).value == capacity([["3/4", "1/4"], ["1/4", "3/4"]]).value
    True
    """
    channel, a, tolerance = as_channel(channel), checked_order(order), checked_tolerance(tolerance)
    if a == 1:
        return capacity(channel, unit, tolerance=tolerance)
    if not 0 < a < math.inf:
        raise DivulgeError.of("order", "be positive and finite", "it", str(a), "order inf is maximal_leakage.")
    rows = Rows.of(channel)
    found = maximize(lambda r: of_order(rows, a, r), channel.shape[0], tolerance)
    return bracketed(channel, found, allowance(found.upper), unit)


def _of_order_zero(joint: Joint) -> float:
    """Return -log max_y P(x: C_xy > 0)."""
    absent = absent_mass(joint.c, joint.p)[joint.occurring]
    y = int(absent.argmin())
    return log_of_rest(float(absent[y]), float(_masses(joint)[joint.occurring][y]))


def _of_order_infinity(joint: Joint, unit: Unit) -> float:
    """Return log sum_y max_x C_xy over the secrets with P_x > 0."""
    top = column_ends(joint.c, joint.x)[0]
    if joint.exact:
        return exact.log(total(top), unit)
    return max(log_of_excess(top, dense_row(joint.c, int(np.argmax(joint.p))), 1.0), 0.0) / nats_per(unit)


def _exact_value(joint: Joint, a: Fraction, tilt: Fraction, unit: Unit) -> float:
    """Return Sibson's information of order a under the prior P^tilt / sum P^tilt, correctly rounded.

    With tilt 1 it is Sibson's under P itself, with tilt a Arimoto's.
    """
    x, y = joint.x, joint.y
    part = joint.c[np.ix_(x, y)]
    nats_per(unit)
    if (part == part[0]).all():
        return 0.0

    def ball() -> Any:
        weights = [a_log(p, tilt) for p in joint.p[x].tolist()]
        columns = [
            exact.log_sum_exp(w + a_log(c, a) for w, c in zip(weights, column, strict=True) if c > 0)
            for column in part.T.tolist()
        ]
        whole, roots = exact.log_sum_exp(weights), exact.log_sum_exp(column / exact.arb(a) for column in columns)
        return exact.arb(a / (a - 1)) * (roots - whole / exact.arb(a))

    return exact.rounded_log(ball, unit)


def _uniform(prior: Prior) -> Prior:
    """Return the uniform prior on the support, exact."""
    return Prior.from_counts(prior.support.astype(int).tolist(), prior.secrets)


def _masses(joint: Joint) -> np.ndarray:
    """Return P(x: C_xy > 0) for each outcome."""
    if is_sparse(joint.c):
        return np.asarray((joint.c != 0).astype(np.float64).T @ joint.p).ravel()
    return joint.p @ (joint.c > 0).astype(object if joint.exact else np.float64)


def _float_sibson(joint: Joint, a: float) -> float:
    """Return Sibson's information of a float joint."""
    y, c, p = joint.y, joint.channel.floats, joint.prior.floats
    excess = column_means(joint, lambda t, u: power_term(t, u, a))[y]
    top = column_ends(c, joint.x)[0][y]
    sums = _column_sums(c, p, y, top, lambda p, c: p * c**a)
    return _of_moments(a, joint.outer[y], excess, top, np.log(sums), _beyond_mean(c, p, y, top))


def _beyond_mean(c: Any, p: np.ndarray, columns: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return level - q for some columns, from differences between rows."""
    base, shift = shifts(c, p)
    return (level - base[columns]) - shift[columns]


def _float_arimoto(joint: Joint, a: float) -> float:
    """Return Sibson's information under the tilted prior; secrets whose weight underflows there count by (P C)^a."""
    y, c, p = joint.y, joint.channel.floats, joint.prior.floats
    likeliest = p.max()
    logs = np.where(p > 0, a * log_ratio(p, np.full(len(p), likeliest)), -np.inf)
    weights, faint = np.where(logs < _FAINT, 0.0, np.exp(logs)), np.where(logs < _FAINT, p, 0.0)
    whole = math.fsum(weights.tolist())
    tilted = Joint(Prior(weights / whole, joint.secrets), joint.channel)
    q, top = tilted.outer[y], largest_joint(c, p)[y] / likeliest

    def sums(p: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return _column_sums(c, p / likeliest, y, scale, lambda p, c: _power_of_product(p, c, a)) / whole

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = column_means(tilted, lambda t, u: power_term(t, u, a))[y] + sums(faint, q)
    return _of_moments(a, q, excess, top, np.log(sums(p, top)), _beyond_mean(c, tilted.prior.floats, y, top))


def _power_of_product(p: np.ndarray, c: np.ndarray, a: float) -> np.ndarray:
    """Return (p c)^a, where the product of positive numbers may be less than a double can be."""
    product = p * c
    with np.errstate(divide="ignore"):
        return np.where(product > _LEAST, product**a, np.exp(a * (np.log(p) + np.log(c))))


def _of_moments(
    a: float, q: np.ndarray, excess: np.ndarray, scale: np.ndarray, logs: np.ndarray, beyond: np.ndarray
) -> float:
    """Return a/(a-1) log sum_y r_y with r_y = q_y (1 + excess_y)^(1/a) = scale_y e^(logs_y / a), beyond = scale - q.

    excess_y = sum_x P_x (L^a - 1 - a (L - 1)) has terms of one sign, and so has sum_y (r_y - q_y) = sum_y r_y - 1: no
    digits cancel near independence. Far from it the second form of r_y counts, which has the largest entry in front.
    """
    near = np.abs(excess) < 0.5
    growths = np.where(
        near, np.log1p(np.where(near, excess, 0.0)) / a, log_ratio(scale, q, difference=beyond) + logs / a
    )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        roots = np.where(near, np.log(q) + growths, np.log(scale) + logs / a)
        gains = np.where(growths < 1, q * np.expm1(growths), scale * np.exp(logs / a) - q)
    whole = math.fsum(gains.tolist())
    if whole > -0.5:
        return a / (a - 1) * math.log1p(whole)
    return a / (a - 1) * (float(roots.max()) + math.log(math.fsum(np.exp(roots - roots.max()).tolist())))


def _column_sums(c: Any, p: np.ndarray, columns: np.ndarray, scale: np.ndarray, term: Any) -> np.ndarray:
    """Return sum_x term(p_x, C_xy / scale_y) over p_x > 0, C_xy > 0 for some columns, by panels or stored entries."""
    if is_sparse(c):
        part = c[:, columns]
        live = p[part.indices] > 0
        column = np.repeat(np.arange(len(columns)), np.diff(part.indptr))[live]
        terms = term(p[part.indices[live]], part.data[live] / scale[column])
        return np.bincount(column, terms, minlength=len(columns))
    sums = np.zeros(len(columns))
    for rows in panels(c):
        live = p[rows] > 0
        sums += term(p[rows][live][:, None], c[rows][live][:, columns] / scale).sum(axis=0)
    return sums
