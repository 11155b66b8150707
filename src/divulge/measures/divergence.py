"""f-divergences of the posterior from the prior, by outcome and on average: a table of convex functions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.columns import panels, shifts
from divulge.measures.density import seen
from divulge.measures.pointwise import Pointwise
from divulge.model.channel import is_sparse
from divulge.model.convert import as_joint
from divulge.model.joint import Joint
from divulge.units import Unit, nats_per


def kl_term(t: np.ndarray) -> np.ndarray:
    """Return (1+t) log(1+t) - t for t >= -1, to full relative precision: by its power series near 0."""
    near = np.abs(t) < 0.125
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.where(t > -1, (1 + t) * np.log1p(t) - t, 1.0)
    s = t[near]
    series = np.zeros_like(s)
    for k in range(20, 1, -1):
        series = 1 / (k * (k - 1)) - s * series
    out[near] = s * s * series
    return out


def _reverse_kl_term(t: np.ndarray) -> np.ndarray:
    """Return t - log(1+t), which is (1+t) f(-t/(1+t)) with the term of Kullback-Leibler."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(t > -1, (1 + t) * kl_term(np.where(t > -1, -t / (1 + t), 0.0)), math.inf)


def _hellinger_term(t: np.ndarray) -> np.ndarray:
    return (t / (np.sqrt(1 + t) + 1)) ** 2


def _jensen_shannon_term(t: np.ndarray) -> np.ndarray:
    half = t / (2 + t)
    return (1 + t / 2) * (kl_term(half) + kl_term(-half)) / 2


@dataclass(frozen=True)
class Convex:
    """A convex f with f(1) = 0, given as a function of t = ratio - 1; `rational` when it keeps Fractions exact."""

    of_excess: Callable[[Any], Any]
    rational: bool = False
    logarithmic: bool = False


DIVERGENCES: Mapping[str, Convex] = MappingProxyType(
    {
        "kl": Convex(kl_term, logarithmic=True),
        "reverse-kl": Convex(_reverse_kl_term, logarithmic=True),
        "jensen-shannon": Convex(_jensen_shannon_term, logarithmic=True),
        "chi-squared": Convex(lambda t: t * t, rational=True),
        "neyman": Convex(lambda t: t * t / (1 + t)),
        "total-variation": Convex(lambda t: abs(t) / 2, rational=True),
        "hellinger": Convex(_hellinger_term),
        "le-cam": Convex(lambda t: t * t / (2 + t), rational=True),
    }
)
"""Name -> f(1 + t). "hellinger" is (sqrt(u) - 1)^2, "le-cam" (u - 1)^2 / (u + 1), "neyman" (u - 1)^2 / u."""


def posterior_divergence(
    joint: Any, f: str | Callable[[np.ndarray], np.ndarray] = "kl", unit: Unit = "nats"
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
        Values in [0, +inf]; its mean is `f_information`.

    Examples
    --------
    >>> from divulge import Joint
    >>> posterior_divergence(Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), "total-variation").to_dict()
    {0: 0.25, 1: 0.25}
    """
    joint, convex = as_joint(joint), _convex(f)
    y = seen(joint)
    if joint.exact and convex.rational:
        values = exact.as_floats(_rational_values(joint, convex))
    else:
        values = _float_values(joint, convex)[y]
    if convex.logarithmic:
        values = values / nats_per(unit)
    outcomes = tuple(joint.outcomes[j] for j in y.tolist())
    name = f if isinstance(f, str) else getattr(f, "__name__", "divergence")
    shown = unit if convex.logarithmic else ""
    return Pointwise(name, values, exact.as_floats(joint.outer[y]), outcomes, None, shown)


def f_information(joint: Any, f: str | Callable[[np.ndarray], np.ndarray] = "kl", unit: Unit = "nats") -> Any:
    r"""Return the f-information sum_y q_y D_f(P_{X|y} || P_X), the f-divergence of the joint from independence.

    A Fraction for exact joints with f = "chi-squared", "total-variation" or "le-cam"; "kl" is mutual information.

    Examples
    --------
    >>> from divulge import Joint
    >>> f_information(Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), "chi-squared")
    Fraction(1, 4)
    """
    joint, convex = as_joint(joint), _convex(f)
    if joint.exact and convex.rational:
        return sum((joint.outer[seen(joint)] * _rational_values(joint, convex)).tolist())
    return posterior_divergence(joint, f, unit).mean()


def _convex(f: Any) -> Convex:
    if callable(f):
        if not abs(float(np.asarray(f(np.ones(1)))[0])) <= 1e-12:
            raise DivulgeError.of("f", "be 0 at 1", "f(1)", str(f(np.ones(1))))
        return Convex(lambda t: f(1 + t))
    if f not in DIVERGENCES:
        raise DivulgeError.of("f", f"be a function or one of {', '.join(DIVERGENCES)}", "it", repr(f))
    return DIVERGENCES[f]


def _rational_values(joint: Joint, convex: Convex) -> np.ndarray:
    x, y = np.flatnonzero(joint.prior.support), seen(joint)
    q = joint.outer[y]
    return (joint.p[x, None] * convex.of_excess((joint.c[np.ix_(x, y)] - q) / q)).sum(axis=0)


def _float_values(joint: Joint, convex: Convex) -> np.ndarray:
    """Return sum_x P_x f(C_xy / q_y) for every column, panel by panel; 0 in columns that never occur."""
    p, q = joint.prior.floats, exact.as_floats(joint.outer)
    safe, likely = np.where(q > 0, q, 1.0), p > 0
    base, shift = shifts(joint.channel.floats, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        if is_sparse(joint.c):
            return _sparse_values(joint.c, p, q, (base, shift), convex)
        exact_excess = joint.exact
        values = np.zeros(len(q))
        for rows in panels(joint.c):
            keep = likely[rows]
            block = joint.c[rows][keep]
            if exact_excess:
                divisor = np.where(joint.occurring, joint.outer, 1)
                t = exact.as_floats((block - joint.outer) / divisor)
            else:
                t = np.maximum(((block - base) - shift) / safe, -1.0)
                t[block == 0] = -1.0
            values += p[rows][keep] @ np.where(q > 0, convex.of_excess(t), 0.0)
    return np.maximum(values, 0.0)


def _sparse_values(
    c: Any, p: np.ndarray, q: np.ndarray, shifted: tuple[np.ndarray, np.ndarray], convex: Convex
) -> np.ndarray:
    column = np.repeat(np.arange(c.shape[1]), np.diff(c.indptr))
    live = p[c.indices] > 0
    column, weight, entry = column[live], p[c.indices][live], c.data[live]
    base, shift = shifted
    t = np.maximum(((entry - base[column]) - shift[column]) / q[column], -1.0)
    values = np.bincount(column, weight * convex.of_excess(t), minlength=c.shape[1])
    absent = _absent_mass(c, p)
    # A column without an absent likely secret has no term at 0; what rounding leaves there may not meet f(0) = inf.
    count = np.bincount(column, minlength=c.shape[1])
    missing = (count < int((p > 0).sum())) & (q > 0)
    values[missing] += absent[missing] * float(convex.of_excess(np.full(1, -1.0))[0])
    values[~(q > 0)] = 0.0
    return np.maximum(values, 0.0)


def _absent_mass(c: Any, p: np.ndarray) -> np.ndarray:
    """Return P(x: C_xy = 0) for each column of a CSC matrix; the likeliest secret is kept apart for its digits."""
    column = np.repeat(np.arange(c.shape[1]), np.diff(c.indptr))
    likeliest = int(np.argmax(p))
    others = p.copy()
    others[likeliest] = 0.0
    stored = np.bincount(column, others[c.indices], minlength=c.shape[1])
    there = np.bincount(column, c.indices == likeliest, minlength=c.shape[1]) > 0
    return np.maximum(math.fsum(others.tolist()) - stored, 0.0) + np.where(there, 0.0, p[likeliest])
