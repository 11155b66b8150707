"""The tail of the leakage after the worst post-processing."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from divulge import exact
from divulge.errors import DivulgeError
from divulge.extras import highs, require
from divulge.measures.numeric.columns import TINY
from divulge.measures.pointwise.density import pmc, pml
from divulge.model.accepted import JointLike
from divulge.model.convert import as_joint
from divulge.model.shown import Shown
from divulge.roots import grown, turn
from divulge.units import Unit, nats_per

_LARGEST_PROGRAM = 20_000
"""Entries up to which the linear program is solved, in 0.1 s; four times as many take 0.7 s. Reports ask 24 times."""

_LARGEST = 700.0
"""Nats beyond which e^t is no double that can be multiplied by others."""

_AGREED = 1e-8
"""Bounds as near as this are one number but for rounding."""

_FINE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "small_matrix_value": 1e-12}
"""The least that HiGHS takes: outcomes that hardly serve a witness may be many."""

_ABOVE = 1e-12
"""A threshold higher by this share, and by this much, is certainly passed by no outcome that only reached it."""


@dataclass(frozen=True)
class TailEnvelope(Shown):
    """Bounds on sup over post-processings Z of P(pml(X -> Z) >= threshold); they agree up to rounding when `exact`.

    Examples
    --------
    >>> joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> tail_envelope(joint, 1.0)  # no post-processing leaks more than log 3/2 < 1
    TailEnvelope(lower=0.0, upper=0.0, exact=True)
    """

    lower: float
    upper: float
    exact: bool


def tail_envelope(
    joint: JointLike, threshold: float, unit: Unit = "nats", *, measure: Literal["pml", "pmc"] = "pml"
) -> TailEnvelope:
    r"""Return the largest P(pml >= threshold) over all randomized post-processings of the outcome, as a probability.

    The raw tail P(pml > threshold) can grow when outcomes are merged; this number cannot. Outcomes above the threshold
    have a witness x with sum_y w_xy (C_xy - e^threshold q_y) >= 0, where w_xy is the share of y that goes there; for
    pmc one with sum_y w_xy (e^-threshold q_y - C_xy) >= 0. So the envelope is the linear program max sum_xy q_y w_xy
    over w >= 0, sum_x w_xy <= 1, solved up to 20,000 variables, between shares that keep it and a dual bound; beyond,
    it is bounded below by the best single witness (a fractional knapsack), above by the sum over witnesses.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    threshold : float >= 0
    measure : "pml" or "pmc"
        Of which the tail is.

    Returns
    -------
    TailEnvelope
        With (threshold, upper) the statement "pml <= threshold except with probability upper" survives post-processing.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` or `measure` is unknown,
        or `threshold` is negative.

    Examples
    --------
    >>> joint = dv.Joint.from_matrix([["1/10", "0", "4/10"], ["0", "1/10", "4/10"]])
    >>> round(tail_envelope(joint, 0.6).upper, 3)  # one outcome reaches log 2; blending others in keeps it above 0.6
    0.243
    >>> round(tail_envelope(joint, 0.6, measure="pmc").upper, 3)  # so much makes one of both 1.8 times rarer
    0.443
    """
    joint, bar = as_joint(joint), threshold * nats_per(unit)
    if not bar >= 0:
        raise DivulgeError.of("threshold", "be at least 0", "it", str(threshold))
    if measure not in ("pml", "pmc"):
        raise DivulgeError.of("measure", 'be "pml" or "pmc"', "it", repr(measure)[:40])
    x, y = joint.x, joint.y
    q = exact.as_floats(joint.outer[y])
    surplus = _surplus(joint, x, y, q, bar if measure == "pml" else -bar)
    surplus = surplus if measure == "pml" else -surplus
    if not (surplus >= 0).any():
        return TailEnvelope(0.0, 0.0, True)
    if surplus.size <= _LARGEST_PROGRAM:
        lower, upper = _program(surplus, q)
        return TailEnvelope(lower, upper, upper - lower <= _AGREED)
    single = np.array([_knapsack(row, q) for row in surplus])
    return TailEnvelope(float(single.max()), float(min(math.fsum(single.tolist()), 1.0)), False)


def envelope_quantile(
    joint: JointLike, delta: ArrayLike, unit: Unit = "nats", *, measure: Literal["pml", "pmc"] = "pml"
) -> float:
    """Return the least threshold whose tail envelope is at most delta, rounded up, in nats; twin of `tail_envelope`.

    "pml <= threshold except with probability delta" then survives post-processing.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    delta : float in [0, 1]
    measure : "pml" or "pmc"

    Returns
    -------
    float
        From 0 to just above max pml, where no outcome is left; above the least one by at most 1e-9 of it. Of pmc up to
        +inf, where outcomes that rule a secret out have more probability than delta.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `delta` is not in [0, 1], or
        `unit` or `measure` is unknown.

    Examples
    --------
    >>> joint = dv.Joint.from_matrix([["1/10", "0", "4/10"], ["0", "1/10", "4/10"]])
    >>> found = envelope_quantile(joint, 0.25)
    >>> round(found, 2), tail_envelope(joint, found).upper <= 0.25
    (0.59, True)
    >>> envelope_quantile(joint, 0.1, measure="pmc")
    inf
    """
    joint, nats = as_joint(joint), nats_per(unit)
    if isinstance(delta, bool) or not isinstance(delta, (int, float, Fraction, np.number)) or not 0 <= delta <= 1:
        raise DivulgeError.of("delta", "be a number from 0 to 1", "it", repr(delta)[:40])

    def kept(threshold: float) -> bool:
        return bool(tail_envelope(joint, threshold, measure=measure).upper <= delta)

    if kept(0.0):
        return 0.0
    low, high = 0.0, (pml if measure == "pml" else pmc)(joint).max() * (1 + _ABOVE) + _ABOVE
    if high == math.inf:  # outcomes are blended the less the higher the threshold is, and not at all in the limit
        low, high = grown(kept, 1.0, _LARGEST) if kept(math.inf) else (low, high)
        if high == math.inf:
            return math.inf
    if delta > 0:
        _, high = turn(kept, low, high, width=1e-9)
    return high / nats


def _surplus(joint: Any, x: np.ndarray, y: np.ndarray, q: np.ndarray, bar: float) -> np.ndarray:
    """Return C_xy / q_y - e^bar for the secrets and outcomes that can occur; 0 within rounding counts as 0."""
    part = joint.channel.floats[x][:, y]
    part = part.toarray() if hasattr(part, "toarray") else part
    ratio = math.exp(min(bar, _LARGEST))
    with np.errstate(over="ignore"):
        surplus = np.minimum(part / q, 1e300) - ratio
    return np.where(np.abs(surplus) <= 1e-14 * ratio, 0.0, surplus)


def _program(surplus: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """Return bounds on the program, solved by HiGHS over the witnesses that some outcome serves, each balance scaled.

    Variables are the shares w_xy, witness by witness: each has a column with two entries, in the balance of its witness
    and in the whole of its outcome. The bounds do not rest on the solver's tolerances: below are its shares, cut until
    all balances hold; above is sum_y max(0, max_x q_y + v_x g_xy) for its dual values v >= 0 of the balances.
    """
    highspy = require("highspy", "science")
    gain = (surplus * q)[(surplus >= 0).any(axis=1)]
    gain /= np.maximum(np.abs(gain).max(axis=1, keepdims=True), TINY)
    n, m = gain.shape
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = n + m, n * m
    model.col_cost_, model.col_lower_, model.col_upper_ = -np.tile(q, n), np.zeros(n * m), np.full(n * m, np.inf)
    model.row_lower_ = np.concatenate([np.zeros(n), np.full(m, -np.inf)])
    model.row_upper_ = np.concatenate([np.full(n, np.inf), np.ones(m)])
    rows = np.stack([np.repeat(np.arange(n), m), n + np.tile(np.arange(m), n)], axis=1)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, 2 * n * m + 1, 2)
    model.a_matrix_.index_ = rows.ravel()
    model.a_matrix_.value_ = np.stack([gain.ravel(), np.ones(n * m)], axis=1).ravel()
    solver = highs(**_FINE)
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        found = solver.modelStatusToString(solver.getModelStatus())
        raise DivulgeError.of("joint", "give a program that HiGHS can solve", "its answer", found)
    solution = solver.getSolution()
    shares = np.maximum(np.array(solution.col_value).reshape(n, m), 0.0)
    duals = np.abs(np.array(solution.row_dual)[:n])
    return _reached(shares, gain, q), _dual_bound(duals, gain, q)


def _reached(shares: np.ndarray, gain: np.ndarray, q: np.ndarray) -> float:
    """Return what shares carry once no outcome is given twice and no witness owes anything."""
    shares = shares / np.maximum(shares.sum(axis=0), 1.0)
    have, owe = ((shares * part).sum(axis=1) for part in (np.maximum(gain, 0.0), np.maximum(-gain, 0.0)))
    paid = np.divide(have, owe, out=np.ones_like(owe), where=owe > have)
    shares = np.where(gain < 0, shares * paid[:, None], shares)
    return max(min(math.fsum((shares.sum(axis=0) * q).tolist()), 1.0) * (1 - _ABOVE), 0.0)


def _dual_bound(duals: np.ndarray, gain: np.ndarray, q: np.ndarray) -> float:
    """Return a bound on what any shares carry, for any prices of the balances."""
    worth = np.maximum((q + duals[:, None] * gain).max(axis=0), 0.0)
    return min(math.fsum(worth.tolist()) * (1 + _ABOVE), 1.0)


def _knapsack(surplus: np.ndarray, q: np.ndarray) -> float:
    """Return the most probability one witness can carry: all that is above, then the cheapest until it is used up."""
    order = np.argsort(-surplus, kind="stable")
    balance = np.cumsum(surplus[order] * q[order])
    inside = np.flatnonzero(balance < 0)
    if not len(inside):
        return float(min(math.fsum(q.tolist()), 1.0))
    k = int(inside[0])
    before = balance[k - 1] if k else 0.0
    return float(min(math.fsum(q[order[:k]].tolist()) + max(before, 0.0) / -surplus[order[k]], 1.0))
