"""Capacity-bounded differential privacy: what adversaries with given features of the outcome can tell apart."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from divulge.dp.loss.divergences import Divergence, divergence_named
from divulge.dp.subjects import as_rows
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

_STEPS = 200
"""Damped Newton steps at most; they are more than a few where each goes nine tenths of the way to a border."""

_ROUNDED = 1e-13
"""More than the relative rounding of a bound, a sum of terms of one sign."""

_FAINT = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
"""Shares of the other distribution that the search, step by step, leaves where one has nothing; bounds do without."""


@dataclass(frozen=True, eq=False)
class CapacityBounded(Record, Shown):
    """The restricted divergence between certified bounds, the weights of the worst query, and the ordered pair.

    Examples
    --------
    >>> found = capacity_bounded([[0.5, 0.5], [0.25, 0.75]], np.eye(2), "chi-squared")
    >>> round(found.value, 9), found.pair, found.gap < 1e-6  # 1/16 (1 / (1/4) + 1 / (3/4)) = 1/3
    (0.333333333, (0, 1), True)
    """

    value: float
    upper: float
    weights: np.ndarray
    pair: tuple[Hashable, Hashable]

    @property
    def gap(self) -> float:
        """How far the bound is above the value."""
        return self.upper - self.value


def capacity_bounded(
    channel: ChannelLike,
    features: ArrayLike,
    divergence: str = "kl",
    *,
    radius: float = math.inf,
    neighbors: NeighborsLike = None,
    unit: Unit = "nats",
) -> CapacityBounded:
    """Return sup over h in H of E_P h - E_Q f*(h) at the worst ordered pair: what queries in H can tell.

    H is the span of the features, or with `radius` the combinations with weights of Euclidean norm at most that. f* is
    the conjugate of the f that D_f names here: r log r - r + 1 with f*(h) = e^h - 1 for "kl", (r - 1)^2 for
    "chi-squared", (sqrt r - 1)^2 for "hellinger". Adding c (r - 1) to f leaves the divergence as it is, and the value
    only where H has the constants: with r log r, f*(h) = e^(h - 1), the same H without them comes to another number.

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    features : array_like of shape (M, K), a row of K numbers for each outcome
    divergence : "kl", "chi-squared", "hellinger" or "jensen-shannon"; see `divulge.dp.loss.divergences`
    radius : positive, +inf for the whole span
    neighbors : which secrets are neighbors (default: all pairs); see `privacy_losses`
    unit : of "kl" and "jensen-shannon"; the others have none

    Returns
    -------
    CapacityBounded
        `value` is reached by `weights`; `upper` is a dual bound, +inf when none was found. With all indicators as
        features the value is the divergence itself.

    Raises
    ------
    DivulgeError
        When `channel` is no channel, `features` has no row for each outcome, `divergence` is unknown, `radius` is not
        positive, or `neighbors` is no relation between its secrets.

    References
    ----------
    Chaudhuri, Imola, Machanavajjhala, "Capacity Bounded Differential Privacy", arXiv:1907.02159.

    Examples
    --------
    >>> found = capacity_bounded([[0.5, 0.5], [0.25, 0.75]], np.eye(2), "chi-squared")
    >>> round(found.value, 9), round(found.upper, 9)
    (0.333333333, 0.333333333)
    """
    f = divergence_named(divergence, "divergence")
    if not radius > 0:
        raise DivulgeError.of("radius", "be positive", "it", str(radius))
    channel = as_rows(channel)
    rows = channel.floats.toarray() if channel.sparse else channel.floats
    phi = np.asarray(features, dtype=np.float64)
    if phi.ndim != 2 or len(phi) != rows.shape[1] or not np.isfinite(phi).all():
        raise DivulgeError.of("features", f"be finite, with {rows.shape[1]} rows", "its shape", str(phi.shape))
    scale = nats_per(unit) if divergence in ("kl", "jensen-shannon") else 1.0
    found: list[CapacityBounded] = []
    for i, j in ordered_pairs(channel.secrets, neighbors).tolist():
        weights, value, upper = _solved(rows[i], rows[j], phi, f, radius)
        pair = (channel.secrets[i], channel.secrets[j])
        found.append(CapacityBounded(value / scale, upper / scale, weights, pair))
    best = found[first_largest([one.value for one in found])]
    return CapacityBounded(best.value, max(one.upper for one in found), best.weights, best.pair)


def _solved(
    p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Divergence, radius: float
) -> tuple[np.ndarray, float, float]:
    """Return (weights, value, dual bound); a multiplier keeps the weights in the ball."""
    seen = (p > 0) | (q > 0)
    p, q, phi = p[seen], q[seen], phi[seen]

    zeros = bool(((p == 0) | (q == 0)).any())

    def best(multiplier: float, weights: np.ndarray, faint: float) -> tuple[np.ndarray, np.ndarray]:
        near = np.where(p > 0, p, faint * q), np.where(q > 0, q, faint * p)
        weights = _newton(*near, phi, f, multiplier, weights)
        return weights, near[1] * f.conjugate_slope(phi @ weights)

    weights = suggested = np.zeros(phi.shape[1])
    for faint in _FAINT if zeros else _FAINT[-1:]:
        weights, suggested = best(0.0, weights, faint)
    if np.linalg.norm(weights) > radius:
        low, high, inside = 1e-12, 1e12, np.zeros(phi.shape[1])
        while high > low * (1 + 1e-12):
            middle = math.sqrt(low * high)
            found, r = best(middle, inside, _FAINT[-1])
            if np.linalg.norm(found) > radius:
                low = middle
            else:
                high, inside, suggested = middle, found, r
        weights = inside
    upper = min(_dual(suggested, p, q, phi, f, radius), _dual(p, p, q, phi, f, radius))
    unbounded = upper == radius == f.slope == math.inf and not _matched(p, q, phi)
    upper *= 1 + _ROUNDED
    return weights, math.inf if unbounded else min(_value(weights, p, q, phi, f), upper), upper


def _matched(p: np.ndarray, q: np.ndarray, phi: np.ndarray) -> bool:
    """Say whether some R >= 0 that shows only what Q shows agrees with P on every feature; if not, queries are free."""
    from scipy.optimize import nnls

    missed = float(nnls(phi[q > 0].T, phi.T @ p)[1])
    return missed <= 1e-9 * (1 + float(np.abs(phi).max()))


def _value(weights: np.ndarray, p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Divergence) -> float:
    """Return E_P h - E_Q f*(h) at h = phi w; -inf where h leaves the domain of f*, for P as well as for Q."""
    h = phi @ weights
    if (h > f.slope).any():
        return -math.inf
    with np.errstate(over="ignore"):
        return float(p @ h - q[q > 0] @ f.conjugate(h[q > 0]))


def _newton(
    p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Divergence, multiplier: float, w: np.ndarray
) -> np.ndarray:
    """Maximize E_P h - E_Q f*(h) - multiplier |w|^2 / 2 over h = phi w by damped Newton steps from w."""

    def score(w: np.ndarray) -> float:
        return _value(w, p, q, phi, f) - multiplier * float(w @ w) / 2

    for _ in range(_STEPS):
        h = phi @ w
        gradient = phi.T @ (p - q * f.conjugate_slope(h)) - multiplier * w
        curvature = phi.T @ ((q * f.conjugate_curvature(h))[:, None] * phi) + multiplier * np.eye(len(w))
        if not np.isfinite(curvature).all():
            return w
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-13)[0]
        rise = phi @ step
        room = (f.slope - h[rise > 0]) / rise[rise > 0]
        length, now = min(1.0, 0.9 * float(room.min(initial=math.inf))), score(w)
        ascent = float(gradient @ step)
        while length > 1e-10 and not score(w + length * step) >= now:
            length = length / 2 if length * ascent > math.ulp(now) else 0.0  # less is not seen in the score
        if length <= 1e-10 or ascent <= 1e-18:
            return w
        w = w + length * step
    return w


def _dual(r: np.ndarray, p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Divergence, radius: float) -> float:
    """Return D_f(R || Q) + radius |E_P phi - E_R phi| for the R suggested: a bound for any R >= 0.

    On the whole span R must match P in every feature, so it is scaled until it does; +inf when that cannot be.
    """
    if f.slope == math.inf:
        r = np.where(q > 0, r, 0.0)
    for _ in range(3 if radius == math.inf else 0):
        system = phi.T @ (r[:, None] * phi)
        r = r * (1.0 + phi @ np.linalg.lstsq(system, phi.T @ (p - r), rcond=1e-14)[0])
    missed = float(np.linalg.norm(phi.T @ (p - r)))
    if radius == math.inf:
        if missed > 1e-11 * (1 + float(np.abs(phi).max())):
            return math.inf
        missed, radius = 0.0, 1.0
    if not (r >= 0).all():
        return math.inf
    shown = q > 0
    beyond = float(r[~shown].sum())
    spent = q[shown] @ f.term((r[shown] - q[shown]) / q[shown], r[shown] / q[shown])
    return float(spent) + (beyond * f.slope if beyond > 0 else 0.0) + radius * missed
