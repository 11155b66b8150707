"""An account for each person, of what really was computed from their data; who has spent it all is left out.

Noise is made for the most that anybody may contribute, and most people contribute less. Each release then costs a
person what it costs with a sensitivity of their own, and a filter for each decides who still takes part.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from divulge.dp.filters import Filter, known_cost
from divulge.dp.subjects import HasLosses
from divulge.errors import DivulgeError
from divulge.model.accepted import Claim
from divulge.model.entries import whole_number
from divulge.model.record import Record
from divulge.model.shown import Shown

_PARTS = 256
"""What a person contributes is rounded up to so many parts of the sensitivity, a power of 2, which rounds nothing: at
the largest costs are at most .8 % above theirs, and a mechanism is asked no oftener than so."""


class Sensitive(HasLosses, Protocol):
    """A mechanism that knows by how much a record changes its query."""

    @property
    def sensitivity(self) -> float:
        """The most that one record changes the query, in the norm of the mechanism."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Accounts(Record, Shown):
    """What each person has spent of a promise, and who may still take part.

    The promise holds for everybody (one record added or removed), whichever releases are chosen on the way, if those
    who are not named by `take` are left out of the release. Who they are depends on the data: it must not be told, nor
    change what is asked.

    Attributes
    ----------
    filter : Filter
        The promise to each person.
    spent : array of shape (people,)
        In the measure of the filter's bound, rounded up.
    releases : int

    References
    ----------
    Feldman, Zrnic, "Individual Privacy Accounting via a Renyi Filter", arXiv:2008.11193.

    Examples
    --------
    >>> accounts = Accounts.of("zcdp=0.5", people=3)
    >>> for _ in range(6):
    ...     who, accounts = accounts.take(dv.dp.GaussianMechanism(2.0), [0.0, 0.5, 1.0])
    >>> who.tolist(), accounts.spent.tolist()  # four releases with the last person, whom each costs 1/8
    ([True, True, False], [0.0, 0.1875, 0.5])
    """

    filter: Filter
    spent: np.ndarray
    releases: int = 0

    @classmethod
    def of(cls, goal: Claim | str, people: int) -> "Accounts":
        """Return accounts of which nothing is spent.

        Parameters
        ----------
        goal : guarantee or text
            As of a `Filter`: "dp=EPS", "zcdp=RHO", "rdp=ALPHA:EPS", "gdp=MU" or "adp=EPS:DELTA".
        people : int

        Examples
        --------
        >>> Accounts.of("dp=1", 2).spent.tolist()
        [0.0, 0.0]
        """
        return cls(Filter(goal), np.zeros(whole_number(people, "people", 1, np.iinfo(np.int32).max)))

    def take(self, mechanism: Sensitive, sizes: ArrayLike) -> tuple[np.ndarray, "Accounts"]:
        """Return who takes part in a release, all for whom it fits, and the accounts after it.

        Parameters
        ----------
        mechanism : a mechanism with a sensitivity: Gaussian, Laplace, noisy max, ...
        sizes : array_like of shape (people,)
            By how much each person's record changes the query at most, in the norm of the mechanism; from 0 to its
            sensitivity.

        Examples
        --------
        >>> Accounts.of("dp=1", 2).take(dv.dp.LaplaceMechanism(1.0, sensitivity=2.0), [1.0, 2.0])[0].tolist()
        [True, False]
        """
        known = getattr(mechanism, "__dataclass_fields__", {}) if hasattr(mechanism, "losses") else {}
        if "sensitivity" not in known or isinstance(mechanism, type):
            raise DivulgeError.of("mechanism", "be one with a sensitivity", "it", f"{mechanism}"[:60])
        try:
            found = np.asarray(sizes, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.array(math.nan)
        most = float(mechanism.sensitivity)
        if found.shape != self.spent.shape or not ((found >= 0) & (found <= most)).all():
            raise DivulgeError.of("sizes", "have a number for each person, from 0 to the sensitivity", "it", "another")
        parts = np.ceil(found / most * _PARTS).astype(np.int64)
        parts += parts * (most / _PARTS) < found  # where the division was rounded down
        own, where = np.unique(parts, return_inverse=True)
        costs = np.array([self._cost(mechanism, int(part), known["sensitivity"].type is int) for part in own.tolist()])[
            where
        ]
        return self.charge(costs)

    def charge(self, costs: ArrayLike) -> tuple[np.ndarray, "Accounts"]:
        """Return who can pay what a release costs them, and the accounts after it: who cannot is left out, and pays 0.

        Parameters
        ----------
        costs : array_like of shape (people,)
            What the release costs each person, rounded up, in the measure of the filter's bound; inf fits nobody.

        Examples
        --------
        >>> who, accounts = Accounts.of("dp=1", 2).charge([0.75, 1.5])
        >>> who.tolist(), accounts.spent.tolist()
        ([True, False], [0.75, 0.0])
        """
        try:
            costs = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            costs = np.array(math.nan)
        if costs.shape != self.spent.shape or not (costs >= 0).all():
            raise DivulgeError.of("costs", "have a number for each person, at least 0", "it", "another")
        after = _added_up(self.spent, costs)
        fits = (costs == 0) | (after <= self.filter.bound)
        return fits, replace(self, spent=np.where(fits, after, self.spent), releases=self.releases + 1)

    def _cost(self, mechanism: Any, part: int, whole: bool) -> float:
        """Return what a release costs somebody with so many parts of its sensitivity."""
        if part == 0:
            return 0.0
        size = mechanism.sensitivity * part / _PARTS
        cost, delta = known_cost(self.filter.goal, replace(mechanism, sensitivity=math.ceil(size) if whole else size))
        nearest = float(cost)
        return math.inf if delta else nearest if nearest >= cost else math.nextafter(nearest, math.inf)

    def __repr__(self) -> str:
        most = f"{self.spent.max():.6g} of {self.filter.bound:.6g} spent at most"
        return f"Accounts of {len(self.spent):,} for {self.filter.goal}: {most}"


def _added_up(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return sums rounded up: one unit higher where what rounding took away (Knuth's TwoSum, exact) is positive."""
    total = a + b
    with np.errstate(invalid="ignore"):
        back = total - a
        lost = (a - (total - back)) + (b - back)
    return np.where(lost > 0, np.nextafter(total, np.inf), total)
