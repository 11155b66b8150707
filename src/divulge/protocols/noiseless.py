"""Hashing without noise: all that pml alone allows, and nothing that protects against who knows more."""

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.late import late
from divulge.model.accepted import Claim, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.roots import turn

MOST_DENSE = 1024
"""So many values at most make an exact matrix, as everywhere; more a sparse one of doubles."""

_SUMMED = 2.0**-30
"""What rounding takes at most from a running sum of four million doubles: an ulp of 1 each, as a share of a bucket."""

_EQUAL = 30
"""Halvings of the mass that all buckets can have: to nine digits."""


def noiseless_hashing(prior: PriorLike, guarantee: Claim | str) -> Channel:
    r"""Return the channel that says in which of several buckets of nearly equal prior mass the value lies, for certain.

    An outcome is a set S of values with the lift 1 / P(S), so that pml = -log min P(S), and I(X; Y) = H(Y). With
    buckets of mass e^-beta each, which no mechanism under pml <= beta exceeds in any convex f-information, this is
    the best mechanism that pml alone allows. Heavy values are buckets of their own; all others are filled in, the
    likelier ones first, until each bucket has enough.

    **It protects nobody who is known better than the prior says**: every bucket rules out all other values, pmc and ldp
    are infinite, and whoever knows that the value is one of two may learn which. The level is that of the lightest
    bucket, -log min P(S), and not the logarithm of their number.

    Parameters
    ----------
    prior : Prior, or what converts to one, of N values
    guarantee : Guarantee or text such as "pml=1"
        An upper bound on the lift alone: a lower bound, as of pmc, alip or ldp, leaves no outcome without noise.

    Returns
    -------
    Channel
        N values by buckets 0, 1, ...; exact up to 1,024 values, else sparse.

    Raises
    ------
    DivulgeError
        For a guarantee that bounds more than pml.

    References
    ----------
    Csiszar, "Information-type measures of difference of probability distributions", 1967 (lifts are 0 or e^beta).

    Examples
    --------
    >>> prior = dv.Prior(["1/2", "1/4", "1/8", "1/8"], ["a", "b", "c", "d"])
    >>> found = noiseless_hashing(prior, "pml=1.3863")  # 1.3863 > log 4: three buckets of at least 1/4
    >>> [sorted(set(found.column(y).tolist())) for y in found.outcomes], dv.pml((prior, found)).max() < 1.3863
    ([[Fraction(0, 1), Fraction(1, 1)], [Fraction(0, 1), Fraction(1, 1)], [Fraction(0, 1), Fraction(1, 1)]], True)
    >>> dv.pmc((prior, found)).max()
    inf
    """
    known = as_prior(prior)
    promised = late("divulge.guarantees.catalog:as_guarantee")(guarantee)
    limits = late("divulge.designing.polytope.limits:limits_of")((promised,))
    if limits.low > 0 or limits.ratio != np.inf or limits.high == np.inf:
        raise DivulgeError.of("guarantee", "bound pml alone, from above", "it", promised.text(),
                              "dv.protocols.choose has protocols that keep a bound on both sides.")  # fmt: skip
    buckets = _filled(known.probabilities, 1 / Fraction(limits.high))
    return _channel(buckets, int(buckets.max()) + 1, known.secrets)


def _filled(p: np.ndarray, least: Fraction) -> np.ndarray:
    """Return the bucket of each value: as many of mass `least` or more as fit, then as equal as so many can be.

    They are filled one after the other, the likelier values first; what is left goes to the lightest. Next fit
    decreasing for the dual of bin packing (Assmann, Johnson, Kleitman, Leung, "On a dual version of the
    one-dimensional bin packing problem", 1984).
    """
    order = np.argsort(-exact.as_floats(p), kind="stable")
    sums = np.cumsum(p[order])
    low = least if p.dtype == object else float(least) * (1 + _SUMMED)
    many = len(_ends(sums, low))
    more, _ = turn(lambda mass: len(_ends(sums, mass)) < many, float(low), 1.0, steps=_EQUAL)
    ends = _ends(sums, max(low, Fraction(more) if p.dtype == object else more))
    out = np.empty(len(p), dtype=np.int64)
    out[order] = _numbered(ends, sums)
    return out


def _ends(sums: np.ndarray, least: Any) -> list[int]:
    """Return where each bucket ends that is filled with `least` or more, by running sums of values that fall."""
    ends, before = list[int](), 0
    while sums[-1] - before >= least:
        ends.append(min(int(np.searchsorted(sums, before + least)) + 1, len(sums)))
        before = sums[ends[-1] - 1]
    return ends


def _numbered(ends: list[int], sums: np.ndarray) -> np.ndarray:
    """Return the bucket of each value; of those behind the last end the lightest one."""
    if not ends:
        return np.zeros(len(sums), dtype=np.int64)
    masses = np.diff(sums[np.array(ends) - 1], prepend=0)
    rest = np.full(len(sums) - ends[-1], int(np.argmin(masses)))
    return np.concatenate([np.repeat(np.arange(len(ends)), np.diff([0, *ends])), rest])


def _channel(buckets: np.ndarray, many: int, secrets: Any) -> Channel:
    """Return the channel of a function of the value."""
    labels: list[Hashable] = list(range(many))
    if len(buckets) <= MOST_DENSE:
        matrix = np.zeros((len(buckets), many), dtype=int)
        matrix[np.arange(len(buckets)), buckets] = 1
        return Channel(matrix.tolist(), secrets, labels)
    sparse = require("scipy.sparse", "science")
    ones = np.ones(len(buckets))
    return Channel(
        sparse.csc_array((ones, (np.arange(len(buckets)), buckets)), shape=(len(buckets), many)), secrets, labels
    )
