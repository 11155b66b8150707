"""Concentrated differential privacy: lines above the Renyi curve of a mechanism, at the worst ordered pair.

Subjects, answers and float entries are those of `variants`.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass

from divulge.dp.knowledge import Known
from divulge.dp.loss.closed import ExponentialLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.orders import MOST_INTERVALS, Curve, between, beyond, clipped, curve_of, per_order
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import SubjectLike
from divulge.dp.variants.divergence import renyi_dp
from divulge.dp.variants.tails import spread_bound
from divulge.dp.variants.worst import Worst, in_unit, nats_of, worst, worst_bracket
from divulge.errors import DivulgeError
from divulge.model.neighbors import NeighborsLike
from divulge.model.shown import Shown
from divulge.units import Unit

_FEW_INTERVALS = 100
"""Intervals of orders that are looked at where a supremum is a bound already."""


@dataclass(frozen=True)
class MeanConcentrated(Shown):
    """(mu, tau): the mean loss is at most mu, and the loss minus its mean is tau-sub-Gaussian; the pairs of either.

    No tau below `tau_lower` does. Both are in [0, +inf], and in the unit of the loss.

    Examples
    --------
    >>> found = mean_concentrated([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> round(found.mu / math.log(3), 9), found.mu_pair  # (3/4 - 1/4) log 3
    (0.5, (0, 1))
    """

    mu: float
    tau: float
    mu_pair: tuple[Hashable, Hashable]
    tau_pair: tuple[Hashable, Hashable]
    tau_lower: float


def mean_concentrated(subject: SubjectLike, neighbors: NeighborsLike = None, unit: Unit = "nats") -> MeanConcentrated:
    """Return mean-concentrated DP: the largest mean, in nats, and the least tau, from above, with a bound from below.

    tau^2 = sup over l != 0 of 2 log E_P[e^(l (L - E L))] / l^2, between bounds about 1e-9 apart, relatively, for
    bounded losses (1e-4 for discrete Gaussians); for sampled Gaussians the lower one is far below. +inf where nothing
    bounds the tails of a `DistributionPair`.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`

    Returns
    -------
    MeanConcentrated
        mu and tau in [0, +inf]; tau is an upper bound, `tau_lower` a lower one.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `unit` is unknown.

    References
    ----------
    Dwork, Rothblum, "Concentrated Differential Privacy", arXiv:1603.01887.

    Examples
    --------
    >>> found = mean_concentrated(dv.dp.GaussianMechanism(sigma=2.0))
    >>> found.mu, found.tau
    (0.125, 0.5)
    """
    mean = in_unit(unit, worst(subject, "divergence", lambda loss: loss.mean(), neighbors))
    tau = in_unit(unit, worst_bracket(subject, "spread", spread, neighbors))
    return MeanConcentrated(mean.value, tau.value, mean.pair, tau.pair, tau.lower)


def zcdp_rho(
    subject: SubjectLike,
    xi: float = 0.0,
    neighbors: NeighborsLike = None,
    *,
    up_to: float = math.inf,
    unit: Unit = "nats",
) -> Worst:
    """Return the least rho with D_alpha <= xi + rho alpha for all 1 < alpha <= up_to and all pairs, from above.

    (xi, rho)-zCDP; with `up_to` = m bounded CDP, with xi = 0 and `up_to` = omega truncated CDP (Bun et al.).

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    xi : number, in `unit`
    up_to : float above 1, the largest order

    Returns
    -------
    Worst
        In [0, +inf], an upper bound; `.lower` is a lower one, within 1e-12 of it, or 1e-6 where D_alpha / alpha is
        nearly constant; further below for sampled Gaussian mechanisms, whose orders are not followed to the end.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `xi` is no number, or `unit` is unknown.

    References
    ----------
    Bun, Steinke, "Concentrated Differential Privacy", arXiv:1605.02065.

    Examples
    --------
    >>> zcdp_rho(dv.dp.GaussianMechanism(sigma=2.0)).value
    0.125
    >>> round(zcdp_rho(dv.dp.RandomizedResponse(epsilon=1.0)).value, 9)  # tanh(1/2)
    0.462117157
    """
    nats = nats_of(xi, "xi", unit)
    rho = worst_bracket(subject, "concentrated", lambda loss: rho_bounds(loss, nats, up_to, curve_of(loss)), neighbors)
    return in_unit(unit, rho)


def zcdp_xi(
    subject: SubjectLike, rho: float, neighbors: NeighborsLike = None, *, up_to: float = math.inf, unit: Unit = "nats"
) -> Worst:
    """Return the least xi with D_alpha <= xi + rho alpha for all 1 < alpha <= up_to, from above; may be negative.

    The twin of `zcdp_rho`.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    rho : number, in `unit`
    up_to : float above 1, the largest order

    Returns
    -------
    Worst
        An upper bound in [-inf, +inf], and the ordered pair that reaches it; `.lower` is a lower bound.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `rho` is no number below +inf, or `unit` is unknown.

    References
    ----------
    Bun, Steinke, "Concentrated Differential Privacy", arXiv:1605.02065.

    Examples
    --------
    >>> zcdp_xi(dv.dp.LaplaceMechanism(scale=1.0), rho=0.0).value  # pure DP
    1.0
    """
    if not rho < math.inf:
        raise DivulgeError.of("rho", "be a number below +inf", "it", str(rho))
    score = beyond(nats_of(rho, "rho", unit))

    def bounds(loss: PrivacyLoss) -> Bracket:
        return between(curve_of(loss), score, up_to, _intervals(loss))

    return in_unit(unit, worst_bracket(subject, "concentrated", bounds, neighbors))


def approximate_zcdp_rho(
    subject: SubjectLike, delta: float, xi: float = 0.0, neighbors: NeighborsLike = None, *, unit: Unit = "nats"
) -> Worst:
    """Return the least rho of delta-approximate (xi, rho)-zCDP, from above.

    The best pair left after removing events of probability delta from P and from Q has its losses clipped to two
    levels, whatever the order alpha, so one search over orders decides.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`
    delta : float in [0, 1)
    xi : number, in `unit`

    Returns
    -------
    Worst
        An upper bound in [0, +inf], and the ordered pair that reaches it; `.lower` is a lower bound.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `delta` is not in [0, 1), `xi` is no number, or `unit` is unknown.

    References
    ----------
    Bun, Steinke, "Concentrated Differential Privacy", Section 8, arXiv:1605.02065.

    Examples
    --------
    >>> approximate_zcdp_rho(dv.dp.RandomizedResponse(epsilon=1.0), 0.5).value
    0.0
    """
    if not 0 <= delta < 1:
        raise DivulgeError.of("delta", "be at least 0 and below 1", "it", str(delta))
    nats = nats_of(xi, "xi", unit)

    def bounds(loss: PrivacyLoss) -> Bracket:
        return rho_bounds(loss, nats, curve=trimmed_curve(loss, delta))

    return in_unit(unit, worst_bracket(subject, "concentrated", bounds, neighbors))


def trimmed_curve(loss: PrivacyLoss, delta: float) -> Curve:
    """Return the Renyi curve of what is left after removing `delta` from both distributions."""
    return clipped(loss.pair_alone, delta) if delta else curve_of(loss)


def spread(loss: PrivacyLoss) -> Bracket:
    """Return bounds on tau: by the loss itself, or of what a pair dominates by its range or its Renyi curves."""
    from divulge.dp.special.subgaussian import sub_gaussian

    if loss.known <= Known.SENSITIVITY or isinstance(loss, ExponentialLoss):
        return sub_gaussian(loss)
    if loss.infinite > 0 and loss.renyi(2.0) == math.inf:
        return Bracket(0.0, math.inf)
    rates = [between(curve_of(each), per_order(0.0)).upper for each in (loss, loss.reverse())]
    width = loss.highest - loss.lowest if loss.infinite == 0 and loss.reverse().infinite == 0 else math.inf
    return Bracket(0.0, min(spread_bound(max(rates)), width / 2))


def _intervals(loss: PrivacyLoss) -> int:
    """Return into how many intervals of orders a search goes: fewer where the loss itself is a bound."""
    return MOST_INTERVALS if loss.known <= Known.SENSITIVITY else _FEW_INTERVALS


@dataclass(frozen=True)
class CappedCurve(Shown):
    """(xi, rho): D_alpha <= min(xi, rho alpha) for every alpha >= 1; each with its worst pair.

    Examples
    --------
    >>> found = truncated_cdp([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> round(math.exp(found.xi), 9), round(found.rho / math.log(3), 9)  # log 3 and (3/4 - 1/4) log 3
    (3.0, 0.5)
    """

    xi: float
    rho: float
    xi_pair: tuple[Hashable, Hashable]
    rho_pair: tuple[Hashable, Hashable]


def truncated_cdp(subject: SubjectLike, neighbors: NeighborsLike = None, unit: Unit = "nats") -> CappedCurve:
    """Return truncated CDP in the sense of Colisson: the least (xi, rho), in nats; xi is pure DP, rho that of zCDP.

    Parameters
    ----------
    subject, neighbors : mechanism, PrivacyLoss or Channel (N, M), and which secrets are neighbors; see `privacy_losses`

    Returns
    -------
    CappedCurve
        xi and rho in [0, +inf]; rho is an upper bound, as in `zcdp_rho`.

    Raises
    ------
    DivulgeError
        As `privacy_losses`, and when `unit` is unknown.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Section 2.2.2 (tCoDP of Colisson).

    Examples
    --------
    >>> truncated_cdp(dv.dp.RandomizedResponse(epsilon=1.0)).xi
    1.0
    """
    pure, rho = renyi_dp(subject, math.inf, neighbors, unit), zcdp_rho(subject, 0.0, neighbors, unit=unit)
    return CappedCurve(max(0.0, pure.value), rho.value, pure.pair, rho.pair)


def rho_bounds(loss: PrivacyLoss, xi: float, up_to: float = math.inf, curve: Curve | None = None) -> Bracket:
    """Return bounds on the least rho of one pair with D_alpha <= xi + rho alpha on a curve, or on its own."""
    score, dominated = per_order(xi), loss.known > Known.SENSITIVITY
    found = between(curve or curve_of(loss), score, up_to, _intervals(loss))
    upper = found.upper
    if dominated and curve is not None:  # its own Renyi curve may be better than that of the pair
        upper = min(upper, between(curve_of(loss), score, up_to).upper)
    return Bracket(max(0.0, min(found.lower, upper)), max(0.0, upper))
