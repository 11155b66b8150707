"""Mutual information between secret and outcome."""

from typing import Any

import numpy as np

from divulge import exact
from divulge.measures.columns import panels, sums_of_c_log_c
from divulge.model.channel import is_sparse
from divulge.model.convert import as_joint
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per

_CANCELLED = 1e-2
"""Below this share of its terms, a difference has lost digits and is computed anew from non-negative terms."""


def mutual_information(joint: Any, unit: Unit = "nats") -> float:
    r"""Return the mutual information I(X; Y) = sum_{x,y} P_x C_xy log(C_xy / q_y), in nats.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    float
        In [0, log min(N, M)], exactly 0 under independence. Correctly rounded for exact joints; relative error about
        1e-13 for floats, near independence too.

    Examples
    --------
    >>> from divulge import Joint
    >>> mutual_information(Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]), unit="bits")
    1.0
    """
    joint = as_joint(joint)
    if joint.exact:
        return exact_mutual_information(joint, unit)
    return float_mutual_information(joint, sums_of_c_log_c(joint.c)) / nats_per(unit)


def exact_mutual_information(joint: Joint, unit: Unit) -> float:
    """Return sum p C log C - sum q log q of an exact joint, correctly rounded: few logarithms of long fractions."""
    x = np.flatnonzero(joint.prior.support)
    entries = zip(joint.matrix[x].ravel().tolist(), joint.c[x].ravel().tolist(), strict=True)
    outer = [q for q in joint.outer.tolist() if q > 0]
    return exact.weighted_log_sum([*((w, c) for w, c in entries if w > 0), *((-q, q) for q in outer)], unit)


def float_mutual_information(joint: Joint, row_logs: np.ndarray) -> float:
    """Return the mutual information in nats from `row_logs`, sum_y C_xy log C_xy, shape (N,)."""
    q = joint.outer[joint.occurring]
    given, free = float(joint.p @ row_logs), float(q @ np.log(q))
    difference = given - free
    if difference > _CANCELLED * -free:
        return difference
    return _by_non_negative_terms(joint)


def _by_non_negative_terms(joint: Joint) -> float:
    """Return sum_xy p_x q_y f(t), t = (C_xy - q_y) / q_y, f(t) = (1+t) log(1+t) - t >= 0: nothing cancels."""
    p, q = joint.p, joint.outer
    safe = np.where(q > 0, q, 1.0)
    c = joint.c
    if is_sparse(c):
        t = c.data / np.repeat(safe, np.diff(c.indptr)) - 1.0
        weight = p[c.indices] * np.repeat(q, np.diff(c.indptr))
        # Entries that are not stored have t = -1 and f = 1.
        stored = np.asarray((c != 0).astype(np.float64).T @ p).ravel()
        return float(weight @ kl_term(t)) + float(q @ np.maximum(0.0, 1.0 - stored))
    return sum(float(p[rows] @ (kl_term((c[rows] - q) / safe) @ q)) for rows in panels(c))


def kl_term(t: np.ndarray) -> np.ndarray:
    """Return (1+t) log(1+t) - t for t >= -1, to full relative precision: by its power series near 0."""
    near = np.abs(t) < 0.125
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(t > -1, (1 + t) * np.log1p(t) - t, 1.0)
    s = t[near]
    series = np.zeros_like(s)
    for k in range(18, 1, -1):
        series = 1 / (k * (k - 1)) - s * series
    out[near] = s * s * series
    return out
