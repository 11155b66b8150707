"""Capacity-bounded differential privacy: what adversaries with given features of the outcome can tell apart."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.losses.neighbors import ordered_pairs
from divulge.model.convert import as_channel
from divulge.units import Unit, nats_per

_STEPS = 200


@dataclass(frozen=True)
class Conjugate:
    """A convex f with f(1) = f'(1) = 0, its convex conjugate f*, and the first two derivatives of f*."""

    f: Callable[[np.ndarray], np.ndarray]
    conjugate: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], np.ndarray]


def _t_log_t(t: np.ndarray) -> np.ndarray:
    return t * np.log(np.where(t > 0, t, 1.0)) - t + 1.0


def _square_conjugate(s: np.ndarray) -> np.ndarray:
    return np.where(s >= -2.0, s + s * s / 4.0, -1.0)


CONJUGATES: dict[str, Conjugate] = {
    "kl": Conjugate(_t_log_t, np.expm1, np.exp, np.exp),
    "chi2": Conjugate(
        lambda t: (t - 1.0) ** 2,
        _square_conjugate,
        lambda s: np.maximum(1.0 + s / 2.0, 0.0),
        lambda s: np.where(s > -2.0, 0.5, 0.0),
    ),
}
"""Name of a divergence -> what the programme needs of it."""


@dataclass(frozen=True)
class CapacityBounded:
    """The restricted divergence between certified bounds, the weights of the worst query, and the ordered pair.

    Examples
    --------
    >>> found = capacity_bounded([[0.5, 0.5], [0.25, 0.75]], np.eye(2), "chi2")
    >>> round(found.value, 9), found.pair, found.gap < 1e-6  # 1/16 (1 / (1/4) + 1 / (3/4)) = 1/3
    (0.333333333, (0, 1), True)
    """

    value: float
    upper: float
    weights: np.ndarray
    pair: Any

    @property
    def gap(self) -> float:
        """How far the bound is above the value."""
        return self.upper - self.value


def capacity_bounded(
    channel: Any,
    features: Any,
    divergence: str = "kl",
    *,
    radius: float = math.inf,
    neighbors: Any = None,
    unit: Unit = "nats",
) -> CapacityBounded:
    """Return sup over h in H of E_P h - E_Q f*(h) at the worst ordered pair: what queries in H can tell.

    H is the span of the features, or with `radius` the combinations with weights of Euclidean norm at most that.

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    features : array_like of shape (M, K), a row of K numbers for each outcome
    divergence : "kl" or "chi2"
    radius : positive, +inf for the whole span
    unit : of "kl"; "chi2" has none

    Returns
    -------
    CapacityBounded
        `value` is reached by `weights`; `upper` is a dual bound, +inf when none was found. With all indicators as
        features the value is the divergence itself.

    References
    ----------
    Chaudhuri, Imola, Machanavajjhala, "Capacity Bounded Differential Privacy", arXiv:1907.02159.

    Examples
    --------
    >>> found = capacity_bounded([[0.5, 0.5], [0.25, 0.75]], np.eye(2), "chi2")
    >>> round(found.value, 9), round(found.upper, 9)
    (0.333333333, 0.333333333)
    """
    if divergence not in CONJUGATES:
        raise DivulgeError.of("divergence", f"be one of {', '.join(CONJUGATES)}", "it", repr(divergence))
    if not radius > 0:
        raise DivulgeError.of("radius", "be positive", "it", str(radius))
    channel = as_channel(channel)
    rows = channel.floats.toarray() if channel.sparse else channel.floats
    phi = np.asarray(features, dtype=np.float64)
    if phi.ndim != 2 or len(phi) != rows.shape[1] or not np.isfinite(phi).all():
        raise DivulgeError.of("features", f"be finite, with {rows.shape[1]} rows", "its shape", str(phi.shape))
    scale = nats_per(unit) if divergence == "kl" else 1.0
    found: list[CapacityBounded] = []
    for i, j in ordered_pairs(channel.secrets, neighbors).tolist():
        weights, value, upper = _solved(rows[i], rows[j], phi, CONJUGATES[divergence], radius)
        pair = (channel.secrets[i], channel.secrets[j])
        found.append(CapacityBounded(value / scale, upper / scale, weights, pair))
    best = max(found, key=lambda one: one.value)
    return CapacityBounded(best.value, max(one.upper for one in found), best.weights, best.pair)


def _solved(
    p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Conjugate, radius: float
) -> tuple[np.ndarray, float, float]:
    """Return (weights, value, dual bound); a multiplier keeps the weights in the ball."""
    weights = _newton(p, q, phi, f, 0.0)
    if np.linalg.norm(weights) > radius:
        low, high = 1e-12, 1e12
        for _ in range(80):
            middle = math.sqrt(low * high)
            weights = _newton(p, q, phi, f, middle)
            low, high = (middle, high) if np.linalg.norm(weights) > radius else (low, middle)
        weights = _newton(p, q, phi, f, high)
    return weights, _value(weights, p, q, phi, f), _dual(weights, p, q, phi, f, radius)


def _value(weights: np.ndarray, p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Conjugate) -> float:
    h = phi @ weights
    with np.errstate(over="ignore"):
        return float(p @ h - q @ f.conjugate(h))


def _newton(p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Conjugate, multiplier: float) -> np.ndarray:
    """Maximize E_P h - E_Q f*(h) - multiplier |w|^2 / 2 over h = phi w by damped Newton steps from 0."""
    w = np.zeros(phi.shape[1])

    def score(w: np.ndarray) -> float:
        return _value(w, p, q, phi, f) - multiplier * float(w @ w) / 2

    for _ in range(_STEPS):
        h = phi @ w
        gradient = phi.T @ (p - q * f.slope(h)) - multiplier * w
        curvature = phi.T @ ((q * f.curvature(h))[:, None] * phi) + multiplier * np.eye(len(w))
        step = np.linalg.lstsq(curvature, gradient, rcond=1e-13)[0]
        length, now = 1.0, score(w)
        while length > 1e-10 and not score(w + length * step) >= now:
            length /= 2
        if length <= 1e-10 or float(gradient @ step) <= 1e-18:
            return w
        w = w + length * step
    return w


def _dual(w: np.ndarray, p: np.ndarray, q: np.ndarray, phi: np.ndarray, f: Conjugate, radius: float) -> float:
    """Return D_f(R || Q) + radius |E_P phi - E_R phi| for the R that the weights suggest: a bound for any R >= 0.

    On the whole span R must match P in every feature, so it is moved until it does; +inf when that leaves R < 0.
    """
    seen = q > 0
    if (p[~seen] > 0).any():
        return math.inf
    p, q, phi = p[seen], q[seen], phi[seen]
    r = q * f.slope(phi @ w)
    if radius == math.inf:
        r = r + np.linalg.lstsq(phi.T, phi.T @ (p - r), rcond=None)[0]
        missed = float(np.linalg.norm(phi.T @ (p - r)))
        if (r < 0).any() or missed > 1e-12 * (1 + float(np.abs(phi).max())):
            return math.inf
        missed, radius = 0.0, 1.0
    else:
        missed = float(np.linalg.norm(phi.T @ (p - r)))
    return float(q @ f.f(r / q)) + radius * missed
