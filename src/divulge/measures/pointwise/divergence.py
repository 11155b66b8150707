"""f-divergences of the posterior from the prior, by outcome and on average."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.numeric.columns import absent_mass, panels, shifts
from divulge.measures.numeric.convex import DIVERGENCES, Convex
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.model.accepted import JointLike
from divulge.model.channel import is_sparse
from divulge.model.convert import as_joint
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per

_MOST = 1e300
"""A larger ratio comes from a probability near the smallest float: squared it is infinite, but not its logarithm."""


def posterior_divergence(
    joint: JointLike, f: str | Callable[[np.ndarray], np.ndarray] = "kl", unit: Unit = "nats"
) -> Pointwise:
    r"""Return D_f(P_{X|y} || P_X) = sum_x P_x f(P(x|y) / P_x) for each outcome y.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    f : name in `DIVERGENCES`, or any convex function of an array of ratios with f(1) = 0
    unit : "nats" or "bits", for the logarithmic ones: kl, reverse-kl, jensen-shannon

    Returns
    -------
    Pointwise
        Values in [0, +inf]; its mean is `f_information`. Correctly rounded for exact joints and a named f.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `f` is
        unknown.

    References
    ----------
    Csiszar, "Information-type measures of difference of probability distributions and indirect observations", 1967.

    Examples
    --------
    >>> posterior_divergence(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), "total-variation").to_dict()
    {0: 0.25, 1: 0.25}
    """
    joint, convex = as_joint(joint), _convex(f)
    nats_per(unit)
    y = joint.y
    if joint.exact:
        values = np.array([exact.as_float(convex.mean(_terms(joint, j), unit)) for j in y.tolist()])
    else:
        values = np.maximum(column_means(joint, convex.term)[y], 0.0)
        values = values / nats_per(unit) if convex.logarithmic else values
    outcomes = tuple(joint.outcomes[j] for j in y.tolist())
    name = f if isinstance(f, str) else getattr(f, "__name__", "divergence")
    shown = unit if convex.logarithmic else ""
    return Pointwise(name, values, exact.as_floats(joint.outer[y]), outcomes, None, shown)


def f_information(
    joint: JointLike, f: str | Callable[[np.ndarray], np.ndarray] = "kl", unit: Unit = "nats"
) -> float | Fraction:
    r"""Return the f-information sum_y q_y D_f(P_{X|y} || P_X), the f-divergence of the joint from independence.

    A Fraction for exact joints with f = "chi-squared", "total-variation" or "le-cam", correctly rounded for the other
    names; "kl" is mutual information. The fraction of "le-cam" has up to N M unrelated denominators: 20 million binary
    digits, and ten seconds, at 100 x 100.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    f : name in `DIVERGENCES`, or any convex function of an array of ratios with f(1) = 0
    unit : "nats" or "bits", for the logarithmic ones: kl, reverse-kl, jensen-shannon

    Returns
    -------
    Fraction or float
        In [0, +inf]; 0 under independence.

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), `unit` is unknown, or `f` is
        unknown.

    References
    ----------
    Csiszar, "Information-type measures of difference of probability distributions and indirect observations", 1967.

    Examples
    --------
    >>> f_information(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), "chi-squared")
    Fraction(1, 4)
    """
    joint, convex = as_joint(joint), _convex(f)
    nats_per(unit)
    if joint.exact:
        terms = [(joint.outer[j] * p, u) for j in joint.y.tolist() for p, u in _terms(joint, j)]
        return convex.mean(terms, unit)
    return posterior_divergence(joint, f, unit).mean()


def _convex(f: Any) -> Convex:
    if callable(f):
        if not abs(float(np.asarray(f(np.ones(1)))[0])) <= 1e-12:
            raise DivulgeError.of("f", "be 0 at 1", "f(1)", str(f(np.ones(1))))
        return _own(f)
    if f not in DIVERGENCES:
        raise DivulgeError.unknown("f", f, DIVERGENCES, "be a function or one of")
    return DIVERGENCES[f]


def _own(f: Callable[[np.ndarray], Any]) -> Convex:
    """Return a function of the caller's, which may not be NaN anywhere."""

    def term(_: np.ndarray, u: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(f(u), dtype=np.float64)
        if np.isnan(values).any():
            found = f"f({float(u[np.isnan(values)].flat[0]):g})"
            raise DivulgeError.of("f", "be a number or +inf at every ratio", found, "NaN", "give f(0) its limit.")
        return values

    return Convex(term, lambda u: exact.ball(float(term(np.zeros(1), np.array([float(u)]))[0])))


def _terms(joint: Joint, outcome: int) -> list[tuple[Fraction, Fraction]]:
    """Return (P_x, C_xy / q_y) over the possible secrets of an exact joint, for the outcome in that place."""
    x = joint.x
    ratios = joint.c[x, outcome] / joint.outer[outcome]
    return list(zip(joint.p[x].tolist(), ratios.tolist(), strict=True))


def column_means(joint: Joint, term: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return sum_x P_x term(u - 1, u) with u = C_xy / q_y for every column in floats; 0 where q_y = 0."""
    c, p = joint.channel.floats, joint.prior.floats
    q = exact.as_floats(joint.outer)
    shifted = shifts(c, p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if is_sparse(c):
            return _sparse_means(c, p, q, shifted, term)
        safe, likely, means = np.where(q > 0, q, 1.0), p > 0, np.zeros(len(q))
        for rows in panels(c):
            block = c[rows][likely[rows]]
            means += p[rows][likely[rows]] @ np.where(q > 0, term(*_ratios(block, shifted, safe)), 0.0)
    return means


def _ratios(entry: np.ndarray, shifted: tuple[np.ndarray, np.ndarray], q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (u - 1, u) with u = C_xy / q_y, at most 1e300; the first from differences between rows."""
    base, shift = shifted
    t = np.clip(((entry - base) - shift) / q, -1.0, _MOST)
    return np.where(entry == 0, -1.0, t), np.minimum(entry / q, _MOST)


def _sparse_means(
    c: Any, p: np.ndarray, q: np.ndarray, shifted: tuple[np.ndarray, np.ndarray], term: Any
) -> np.ndarray:
    column = np.repeat(np.arange(c.shape[1]), np.diff(c.indptr))
    live = p[c.indices] > 0
    column, weight, entry = column[live], p[c.indices][live], c.data[live]
    base, shift = shifted
    ratios = _ratios(entry, (base[column], shift[column]), q[column])
    means = np.bincount(column, weight * term(*ratios), minlength=c.shape[1])
    absent = absent_mass(c, p)
    some = (absent > 0) & (q > 0)
    if some.any():
        means[some] += absent[some] * float(term(np.full(1, -1.0), np.zeros(1))[0])
    return np.where(q > 0, means, 0.0)
