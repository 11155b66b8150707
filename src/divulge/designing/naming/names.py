"""What the name of an outcome promises: that the column of v is largest at v, by how much, and how often it occurs."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from divulge.designing.polytope.limits import Limits
from divulge.designing.start.diagonal import diagonal
from divulge.errors import DivulgeError

_LARGEST_LEAD = 1e3
"""Leads that are asked for end here: a name that raises its value a thousand times more than any other is plain."""
_ROOM = 1e-6
"""What is left of leads and occurrence for rounding."""


@dataclass(frozen=True)
class OwnNames:
    """One outcome for each value, named after it: the outcome v raises the belief in v more than in any other value.

    C_vv > C_xv for every x other than v, so that it is also likeliest when the secret is v. Every value occurs.

    Parameters
    ----------
    occurrence : float from 0 to 1
        Outcome v occurs at least this many times as often as the value v does under the prior, or as one in N,
        whichever is less. With 0 an outcome that the utility does not want may be as rare as once in 2^30.
    lead : float from 0 to 1
        How much larger the column of v is at v than elsewhere, as a share (on the scale of logarithms) of the most that
        the guarantees allow. With 0 other values may be raised as much as v but for the last digits.

    Raises
    ------
    DivulgeError
        When one of them is not a number from 0 to 1.

    Examples
    --------
    >>> prior = dv.Prior({"Catholic": 0.6, "None": 0.3, "Jewish": 0.1})
    >>> best = dv.design(prior, dv.LDP(1), utility="hamming", outcomes=dv.OwnNames(occurrence=0.5))
    >>> list(best.outcomes), bool(best.joint.outer[2] >= 0.05)
    (['Catholic', 'None', 'Jewish'], True)
    """

    occurrence: float = 0.0
    lead: float = 0.0

    def __post_init__(self) -> None:
        for name in ("occurrence", "lead"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float, Fraction)) and 0 <= value <= 1):
                raise DivulgeError.of(name, "be a number from 0 to 1", "it", repr(value))


def leads_asked(names: OwnNames, leads: np.ndarray) -> np.ndarray:
    """Return the leads that are asked for, of those that leave room for rounding."""
    return np.maximum(leads / (1 + _ROOM / 2), 1.0) if names.lead else np.ones(len(leads))


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest probability of each value over a set of priors, and one prior of it."""

    least: np.ndarray
    most: np.ndarray
    inside: np.ndarray


@dataclass(frozen=True, eq=False)
class Naming:
    """A mechanism that keeps the guarantees and names, and what they ask: the leads (N,) and floors (N,) of columns."""

    start: np.ndarray
    leads: np.ndarray
    floors: np.ndarray

    @classmethod
    def of(cls, limits: Limits, over: Range, names: OwnNames) -> "Naming":
        """Return the diagonal mechanism, mixed so that each value occurs, and what is asked; refuse trivial limits."""
        if limits.trivial and len(over.inside) > 1:
            raise DivulgeError.of(
                "guarantee", "leave something to say where outcomes bear the names of values", "it",
                "one that leaves nothing", "give a larger epsilon.",
            )  # fmt: skip
        p = over.inside
        start = diagonal(limits, over.least, over.most, p)
        floors = min(names.occurrence * (1 + _ROOM), 1.0) * np.minimum(p, 1 / len(p))
        if (p @ start < floors).any():
            start = (1 - names.occurrence) * start + names.occurrence * p
        others = np.where(np.eye(len(p), dtype=bool), 0.0, start).max(axis=0)
        with np.errstate(divide="ignore"):
            largest = np.where(others > 0, np.diag(start) / np.where(others > 0, others, 1.0), math.inf)
        # room for rounding: `leads_asked` are a little less
        room = np.maximum(np.minimum(largest, _LARGEST_LEAD) * (1 - _ROOM), 1.0)
        return cls(start, room ** float(names.lead) * (1 + _ROOM / 2 * (names.lead > 0)), floors)

    def restricted_to(self, support: np.ndarray) -> "Naming":
        """Return the same for some of the secrets; what others are never told apart by goes to all."""
        if len(support) == len(self.leads):
            return self
        part = self.start[np.ix_(support, support)]
        return Naming(
            part + (1 - part.sum(axis=1, keepdims=True)) / len(support), self.leads[support], self.floors[support]
        )
