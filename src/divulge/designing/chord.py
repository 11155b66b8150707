"""What no channel under bounds on the lift exceeds, whatever the prior and the sizes: the chord of a function."""

import math
from typing import cast

import numpy as np

from divulge.designing.polytope.limits import Limits, limits_of
from divulge.designing.polytope.utilities import SUBCONVEX, Function, SubConvex, custom
from divulge.designing.utility import Utility
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import GuaranteeLike

CELLS = 4096
"""Intervals of the least lift in which a bound on the ratio of lifts is covered: a bound within 2e-3 of the best."""

ROOM = 1 + 2.0**-40
"""For the rounding of sums of a few doubles, as in the other bounds of designs."""


def chord_bound(*guarantees: GuaranteeLike, utility: Utility = "mutual-information") -> float:
    r"""Return an upper bound on a convex f-information of every channel that keeps the guarantees, under every prior.

    Lifts lie in [B, A] and are 1 on average, and f lies below its chord: E f(v) <= q f(A) + (1 - q) f(B) with
    q = (1 - B) / (A - B). Equality holds iff lifts take the two values only: every outcome raises a set of
    probability exactly q.

    Parameters
    ----------
    *guarantees : Guarantee or text such as "pml=1", "alip=1:1"
        As of `design`; capacities bound no lift and add nothing.
    utility : str or convex function of an array of lifts
        "mutual-information" (nats), "total-variation", "chi-squared", ...

    Returns
    -------
    float
        Rounded up; inf where f is not bounded there. Under LDP alone the bound is up to 0.2 % above the best of all
        intervals [B, e^epsilon B].

    Raises
    ------
    DivulgeError
        For what is no convex function of the lift, and guarantees that no design knows.

    References
    ----------
    Csiszar, "Information-type measures of difference of probability distributions", 1967 (f-divergences); Kairouz, Oh,
    Viswanath, "Extremal Mechanisms for Local Differential Privacy", arXiv:1407.1338 (two levels).

    Examples
    --------
    >>> round(chord_bound("alip=1:1"), 6), round(chord_bound("pml=0.5"), 6)  # (e - 1)/(e + 1) of a nat; pml itself
    (0.462117, 0.5)
    """
    if isinstance(utility, str):
        if utility not in SUBCONVEX:
            raise DivulgeError.unknown(
                "utility", utility, list(SUBCONVEX), "be a convex function of the lift or one of"
            )
        objective = SUBCONVEX[utility]
    elif callable(utility) or isinstance(utility, SubConvex):
        objective = utility if isinstance(utility, SubConvex) else custom(cast(Function, utility))
    else:
        raise DivulgeError.of("utility", "be a convex function of the lift or its name", "it",
                              f"a {type(utility).__name__}")  # fmt: skip
    return chord(limits_of(tuple(as_guarantee(g) for g in guarantees)), objective)


def chord(exact: Limits, objective: SubConvex) -> float:
    """Return the bound by exact limits, rounded up."""
    limits = exact.floats()
    low, high = max(limits.low, 1 / limits.ratio * (1 - 2.0**-50)), min(limits.high, limits.ratio)
    if high == math.inf:
        return math.inf
    if limits.ratio == math.inf or limits.ratio * low >= high * (1 + 2.0**-40):
        least, greatest = np.array([low]), np.array([high])
    else:  # every outcome has lifts in some [v, ratio v]: in a wider interval, of which there is one for each cell
        ends = np.geomspace(low, 1.0, CELLS + 1)
        ends[0], ends[-1] = low, 1.0
        least, greatest = ends[:-1] * (1 - 2.0**-50), np.minimum(high, limits.ratio * ends[1:] * (1 + 2.0**-50))
    least, greatest = np.minimum(least, 1.0), np.maximum(greatest, 1.0)
    width = np.where(greatest > least, greatest - least, 1.0)
    f = objective.raised.f
    with np.errstate(all="ignore"):
        # each share rounded up by itself: f is at least 0, as it is flat at 1
        bounds = (1 - least) / width * f(greatest) + (greatest - 1) / width * f(least)
    most = np.where(greatest > least, bounds, 0.0).max()
    return math.inf if math.isnan(most) else max(0.0, float(most) * ROOM)
