"""Mutual information under the worst prior of a set: a linear program over extreme columns.

I_P(W) is concave in the prior P, so that its least value over a set is at a corner. It is a sum over columns w of
f_P(w) = sum_x P_x w_x log(w_x / P w), convex and of degree 1: splitting a column into extreme rays of the cone that the
guarantees leave lowers f_P for no P. So the best channel for the worst prior is a mixture of those rays.
"""

from dataclasses import dataclass

import numpy as np

from divulge import exact
from divulge.designing import rounding
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.certified import CertifiedChannel
from divulge.designing.linear.robust import RobustChecker
from divulge.designing.polytope.corners import corners_of, rays_of
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SUBCONVEX, SubConvex
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.measures.robust import PriorSet
from divulge.model.labels import Labels

METHOD = "extreme-columns"
CONCAVE = (SUBCONVEX["mutual-information"],)
"""Utilities that are concave in the prior: the others may be least inside a set."""
_OFF = 2.0**-33
"""How far a ray in floating point may be off in utility, as a share of its sum; rounded up."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A channel of extreme columns, its utility under the worst corner, and a bound for every other channel."""

    channel: np.ndarray
    utility: float
    bound: float


def least_over(utility: SubConvex, priors: PriorSet | np.ndarray, channel: np.ndarray) -> tuple[float, np.ndarray]:
    """Return (the least utility of a channel over a set or its corners, the corner where it is)."""
    corners = exact.as_floats(corners_of(priors) if isinstance(priors, PriorSet) else priors)
    values = [utility.of(corner, channel) for corner in corners]
    worst = int(np.argmin(values))
    return values[worst], corners[worst]


def values_of(utility: SubConvex, corners: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return f_P(w) = q sum_x P_x f(w_x / q), q = P w, for each corner P and each row w of columns; shape (K, R)."""
    q = corners @ columns.T
    lifts = columns[None, :, :] / np.where(q > 0, q, 1.0)[:, :, None]
    return np.where(q > 0, q * np.einsum("kx,krx->kr", corners, utility.f(lifts)), 0.0)


def best_mixture(utility: SubConvex, corners: np.ndarray, limits: Limits, effort: Effort = NO_HURRY) -> Mixture:
    """Return max min_P sum_k t_k f_P(w_k) subject to sum_k t_k w_k = 1, t >= 0, with a bound from its dual."""
    rays, corners = rays_of(limits, corners, effort), exact.as_floats(corners)
    n, many = corners.shape[1], len(rays)
    gains, peaks = values_of(utility, corners, rays), rays.max(axis=1)
    above, below = np.column_stack([-gains, np.ones(len(corners))]), np.zeros(len(corners))
    capped = limits.capacity < np.inf
    if capped:
        above, below = np.vstack([above, np.append(peaks, 0.0)]), np.append(below, limits.capacity)
    found = require("scipy.optimize", "science").linprog(
        np.append(np.zeros(many), -1.0), A_ub=above, b_ub=below,
        A_eq=np.column_stack([rays.T, np.zeros(n)]), b_eq=np.ones(n), bounds=(0, None), method="highs-ds",
    )  # fmt: skip
    if found.x is None:
        raise DivulgeError(f"`prior` must be a set that HiGHS solves; it says {found.message}.")
    price = np.maximum(-found.ineqlin.marginals, 0.0)
    judges, capacity = price[: len(corners)], float(price[-1]) if capped else 0.0
    judges = judges / judges.sum() if judges.sum() > 0 else np.full(len(corners), 1 / len(corners))
    cost = -np.asarray(found.eqlin.marginals)
    excess = float((judges @ gains - rays @ cost - capacity * peaks).max())
    bound = float(cost.sum()) + (capacity * float(limits.capacity) if capped else 0.0) + n * (max(excess, 0.0) + _OFF)
    share = np.maximum(found.x[:-1], 0.0)
    channel = (share[:, None] * rays)[share > 0].T
    channel = channel / channel.sum(axis=1, keepdims=True)
    return Mixture(channel, least_over(utility, corners, channel)[0], bound)


def informative(
    priors: PriorSet, limits: Limits, utility: SubConvex, names: Labels | None, bits: int, effort: Effort
) -> tuple[CertifiedChannel, np.ndarray, float]:
    """Return (the certified channel with the most mutual information, its worst prior, that information) over a set."""
    corners = corners_of(priors)
    if not priors.possible().all():
        raise DivulgeError.of("prior", "be a set in which every secret is possible", "a secret", "impossible in it")
    found, corners = best_mixture(utility, corners, limits.floats(), effort), exact.as_floats(corners)
    inside = corners.mean(axis=0)
    checker = RobustChecker.over(priors, inside / inside.sum(), limits, effort)
    weights = inside @ found.channel
    integers = rounding.certified(weights, found.channel / weights, checker, bits)
    value, worst = least_over(utility, corners, integers / 2.0**bits)
    many = integers.shape[1]
    if names is not None and len(names) < many:
        raise DivulgeError.of("outcomes", f"be at least {many} for this set of priors", "their number", str(len(names)))
    places = np.arange(many)
    labels = (names or range(many))[:many]
    return CertifiedChannel(integers, labels, places, found.bound, METHOD, found.utility), worst, value
