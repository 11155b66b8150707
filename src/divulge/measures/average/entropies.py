"""How uncertain a secret is: Shannon, Renyi and min-entropy, and the expected number of guesses."""

import math
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.numeric.convex import kl_term, log_probabilities, power_term
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import log_ratio
from divulge.model.accepted import JointLike, PriorLike
from divulge.model.channel import is_sparse
from divulge.model.convert import as_joint, as_prior
from divulge.model.entries import scalar
from divulge.units import Unit, nats_per


def checked_order(order: Any, least: float = 0.0) -> float:
    """Return an order in [least, +inf] as a float."""
    if isinstance(order, (bool, str)) or order is None or not order >= least:
        raise DivulgeError.of("order", f"be a number that is at least {least:g}", "it", repr(order))
    return float(order)


def exact_order(order: Any) -> Fraction:
    """Return a finite order at its exact value, be it a fraction or a float."""
    return Fraction(order if isinstance(order, Rational) else float(order))


def entropy(prior: PriorLike, unit: Unit = "nats") -> float:
    """Return the Shannon entropy -sum_x P_x log P_x, in nats, in [0, log N].

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)

    Returns
    -------
    float
        In [0, log N]. Correctly rounded for an exact prior.

    Raises
    ------
    DivulgeError
        When `prior` is no distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Shannon, "A mathematical theory of communication", 1948.

    Examples
    --------
    >>> entropy(["1/2", "1/4", "1/4"], unit="bits")
    1.5
    """
    return renyi_entropy(prior, 1, unit)


def min_entropy(prior: PriorLike, unit: Unit = "nats") -> float:
    """Return the min-entropy -log max_x P_x, in nats, in [0, log N].

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)

    Returns
    -------
    float
        In [0, log N]. Correctly rounded for an exact prior.

    Raises
    ------
    DivulgeError
        When `prior` is no distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Renyi, "On measures of entropy and information", 1961 (order +inf).

    Examples
    --------
    >>> min_entropy(["1/2", "1/4", "1/4"], unit="bits")
    1.0
    """
    return renyi_entropy(prior, math.inf, unit)


def renyi_entropy(prior: PriorLike, order: float, unit: Unit = "nats") -> float:
    r"""Return the Renyi entropy log(sum_x P_x^a) / (1 - a) of order a, in nats, in [0, log N].

    Order 0 is the log of the number of possible secrets, 1 Shannon entropy, +inf min-entropy. Correctly rounded for
    an exact prior.

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)
    order : float in [0, +inf]

    Returns
    -------
    float
        In [0, log N], falling with the order.

    Raises
    ------
    DivulgeError
        When `prior` is no distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `order` is
        negative.

    References
    ----------
    Renyi, "On measures of entropy and information", 1961.

    Examples
    --------
    >>> round(renyi_entropy(["1/2", "1/4", "1/4"], 0), 9)  # log 3
    1.098612289
    """
    prior, a = as_prior(prior), checked_order(order)
    p = prior.probabilities[prior.support]
    if a == 0:
        return exact.log(len(p), unit)
    if prior.exact and a == math.inf:
        return -exact.log(p.max(), unit) + 0.0
    if prior.exact and a == 1:
        return exact.weighted_log_sum([(-v, v) for v in p.tolist()], unit)
    if prior.exact:
        return _exact_renyi_entropy(p.tolist(), exact_order(order), unit)
    logs = log_probabilities(p.reshape(-1, 1))[:, 0]
    if a == math.inf:
        return -float(logs.max()) / nats_per(unit) + 0.0
    if a == 1:
        return math.fsum((-p * logs).tolist()) / nats_per(unit) + 0.0
    # sum P^a - 1 = sum P (P^(a-1) - 1), whose terms have one sign; far from 0 the largest term is factored out instead.
    with np.errstate(over="ignore"):
        growth = math.fsum((p * np.expm1((a - 1) * logs)).tolist())
    if abs(growth) < 0.5:
        value = math.log1p(growth) / (1 - a)
    else:
        value = (a * logs.max() + math.log(math.fsum(np.exp(a * (logs - logs.max())).tolist()))) / (1 - a)
    return float(value) / nats_per(unit) + 0.0


def _exact_renyi_entropy(p: list[Fraction], a: Fraction, unit: Unit) -> float:
    """Return log(sum p^a) / (1 - a) for positive fractions, correctly rounded."""
    nats_per(unit)
    if len(p) == 1:
        return 0.0
    return exact.rounded_log(lambda: exact.log_sum_exp(a_log(v, a) for v in p) / exact.arb(1 - a), unit)


def a_log(value: Fraction, a: Fraction) -> Any:
    """Return the ball of a log(value), the logarithm of value^a."""
    return exact.arb(a) * exact.arb(value).log()


_EXACT_MOMENT = 64
"""The largest moment of the number of guesses that is taken in fractions."""


def _moment(moment: Any) -> float:
    """Return the order of a moment of the number of guesses, above 0 and finite."""
    t = scalar(moment, "moment")
    if not 0 < t < math.inf:
        raise DivulgeError.of("moment", "be above 0 and finite", "it", str(t))
    return float(t)


def guesswork(prior: PriorLike, moment: float = 1) -> float | Fraction:
    r"""Return a moment of the number of guesses, E[G^t] = sum_i i^t P_(i), guessing in order of falling probability.

    The order is the best one for every t: each makes as few guesses as can be with any chance. A Fraction for an exact
    prior and a whole moment up to 64.

    Parameters
    ----------
    prior : Prior, mapping, or array_like of shape (N,)
    moment : float
        The power t above 0 that is averaged; 1 is the expected number of guesses.

    Returns
    -------
    Fraction or float
        In [1, mean of 1, 2^t, ..., N^t], which is (N + 1) / 2 for t = 1; +inf where no double holds it.

    Raises
    ------
    DivulgeError
        When `prior` is no distribution (entries at least 0, sum 1 within 1e-9), or `moment` is not above 0 and finite.

    References
    ----------
    Massey, "Guessing and entropy", 1994; Arikan, "An inequality on guessing and its application to sequential
    decoding", 1996, which bounds the moments: with a = 1 / (1 + t), e^(t H_a) / (1 + log N)^t <= E[G^t] <= e^(t H_a).

    Examples
    --------
    >>> guesswork(["1/2", "1/4", "1/4"])
    Fraction(7, 4)
    >>> guesswork(["1/2", "1/4", "1/4"], moment=2)  # 1/2 + 4/4 + 9/4
    Fraction(15, 4)
    """
    t, falling = _moment(moment), sorted(as_prior(prior).probabilities.tolist(), reverse=True)
    if isinstance(falling[0], float) or not t.is_integer() or t > _EXACT_MOMENT:
        return _power_mean(np.array([float(p) for p in falling]), t)
    return sum(i ** int(t) * p for i, p in enumerate(falling, start=1))


def _power_mean(falling: np.ndarray, t: float) -> float:
    """Return sum_i i^t p_i."""
    with np.errstate(over="ignore"):
        return math.fsum((np.arange(1, len(falling) + 1)[falling > 0] ** t * falling[falling > 0]).tolist())


def guesswork_after(joint: JointLike, moment: float = 1) -> Pointwise:
    """Return the moment E[G^t] of the number of guesses after each outcome; its mean is at most that of the prior.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    moment : float
        The power t above 0 that is averaged; 1 is the expected number of guesses.

    Returns
    -------
    Pointwise
        Values in [1, mean of 1, 2^t, ..., N^t], one per outcome with q_y > 0.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `moment` is not
        above 0 and finite.

    References
    ----------
    Arikan, "An inequality on guessing and its application to sequential decoding", 1996.

    Examples
    --------
    >>> joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> guesswork_after(joint).to_dict(), guesswork_after(joint, moment=2).to_dict()
    ({0: 1.25, 1: 1.25}, {0: 1.75, 1: 1.75})
    """
    t, joint = _moment(moment), as_joint(joint)
    y = joint.y
    c = joint.c.tocsc() if is_sparse(joint.c) else joint.c
    values = np.empty(len(y))
    for k, j in enumerate(y.tolist()):
        if is_sparse(c):
            span = slice(c.indptr[j], c.indptr[j + 1])
            column = c.data[span] * joint.p[c.indices[span]]
        else:
            column = c[:, j] * joint.p
        values[k] = _power_mean(exact.as_floats(np.sort(column)[::-1] / joint.outer[j]), t)
    outcomes = tuple(joint.outcomes[j] for j in y.tolist())
    return Pointwise("guesswork_after", values, exact.as_floats(joint.outer[y]), outcomes, None, "")


def renyi_divergence(p: PriorLike, q: PriorLike, order: float, unit: Unit = "nats") -> float:
    r"""Return the Renyi divergence D_a(p || q) = log(sum_x p_x^a q_x^(1-a)) / (a - 1), in nats, in [0, +inf].

    Order 0 is -log q(p > 0), 1 the Kullback-Leibler divergence, +inf log max p/q. +inf where p and q are disjoint, and
    from order 1 on where q rules out what p allows. Correctly rounded for exact p and q.

    Parameters
    ----------
    p, q : Prior, mapping, or array_like of shape (N,)
    order : float in [0, +inf]

    Returns
    -------
    float
        In [0, +inf], rising with the order.

    Raises
    ------
    DivulgeError
        When `p` or `q` is no distribution, they are over different labels, `order` is negative, or `unit` is unknown.

    References
    ----------
    van Erven, Harremoes, "Renyi divergence and Kullback-Leibler divergence", 2014, arXiv:1206.2459.

    Examples
    --------
    >>> round(renyi_divergence(["3/4", "1/4"], ["1/2", "1/2"], float("inf")), 9)  # log 3/2
    0.405465108
    """
    first, a = as_prior(p), checked_order(order)
    second = as_prior(q).aligned(first.secrets, "p")
    both_exact = first.exact and second.exact
    u = first.probabilities if both_exact else first.floats
    v = second.probabilities if both_exact else second.floats
    possible, covered = (u > 0).astype(bool), (v > 0).astype(bool)
    shared = possible & covered
    if not shared.any() or (a >= 1 and (possible & ~shared).any()):
        return math.inf
    if a == 0 and both_exact:
        return -exact.log(v[shared].sum(), unit) + 0.0
    if a == 0:
        return log_of_rest(math.fsum(v[~possible].tolist()), math.fsum(v[shared].tolist())) / nats_per(unit)
    if a == math.inf:
        return max(float(log_ratio(u[shared], v[shared], unit).max()), 0.0)
    if a == 1 and both_exact:
        return exact.weighted_log_sum(zip(u[shared].tolist(), (u[shared] / v[shared]).tolist(), strict=True), unit)
    if both_exact:
        return _exact_renyi_divergence(u[shared].tolist(), v[shared].tolist(), exact_order(order), unit)
    lost = math.fsum(u[~covered].tolist())
    return max(_float_renyi_divergence(u[covered], v[covered], a, lost), 0.0) / nats_per(unit)


def log_of_rest(absent: float, rest: float) -> float:
    """Return -log(rest) where absent + rest = 1: from the smaller of the two."""
    return -math.log1p(-absent) + 0.0 if absent < 0.5 else -math.log(rest)


def _float_renyi_divergence(u: np.ndarray, v: np.ndarray, a: float, lost: float) -> float:
    """Return log(sum u^a v^(1-a)) / (a - 1) for v > 0 and sum u = 1 - lost.

    The sum is 1 + sum v f(u/v) - a lost with f(r) = r^a - 1 - a (r - 1), terms of one sign; far from 1 its largest term
    is factored out instead.
    """
    ratios = (u - v) / v, u / v
    if a == 1:
        return math.fsum((v * kl_term(*ratios)).tolist())
    growth = math.fsum((v * power_term(*ratios, a)).tolist()) - a * lost
    if abs(growth) < 0.5:
        return math.log1p(growth) / (a - 1)
    u, v = u[u > 0], v[u > 0]
    exponents = (a - 1) * log_ratio(u, v)
    peak = exponents.max()
    return float(peak + math.log(math.fsum((u * np.exp(exponents - peak)).tolist()))) / (a - 1)


def _exact_renyi_divergence(u: list[Fraction], v: list[Fraction], a: Fraction, unit: Unit) -> float:
    """Return log(sum u^a v^(1-a)) / (a - 1) for positive fractions, correctly rounded."""
    nats_per(unit)
    if u == v and sum(u) == 1:
        return 0.0
    pairs = list(zip(u, v, strict=True))
    return exact.rounded_log(
        lambda: exact.log_sum_exp(exact.arb(p).log() + a_log(p / q, a - 1) for p, q in pairs) / exact.arb(a - 1), unit
    )
