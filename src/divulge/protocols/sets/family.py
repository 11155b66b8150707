"""What a family of sets answers for a protocol: how often a value is in a set, and which sets leak most."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from divulge.protocols.shares import Shares

Law = tuple[np.ndarray, np.ndarray]
"""Values of T = p(S), and mu of each: float64 arrays of one shape."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """A set of least, or of greatest, share: T = p(S), its name, and which values are in it.

    `share` is exact where `certain`; else it lies on the safe side, by a bound of what a transform in doubles is off.
    """

    share: Fraction
    outcome: Hashable
    members: np.ndarray
    certain: bool = True


@dataclass(frozen=True)
class Part:
    """Sets that agree on the most frequent values: mu of them, mean and variance of T, and between what T lies."""

    weight: float
    mean: float
    variance: float
    low: float
    high: float


@dataclass(frozen=True)
class Sets(ABC):
    """Sets of values, one for each outcome y, of base weight mu(y), such that mu(x in S) is the same for every x."""

    size: int

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """mu(x in S), for every value x."""

    @property
    @abstractmethod
    def both(self) -> Fraction:
        """mu(x in S and x' in S), for every two values."""

    @property
    def empty(self) -> Fraction:
        """mu(S is empty)."""
        return Fraction(0)

    @property
    def levels(self) -> int:
        """Among how many kinds of reports the lot decides, of which one alone tells a value from all others."""
        return 1

    @property
    def outcomes_are_values(self) -> bool:
        """Whether an outcome is a value: the one it raises."""
        return False

    @abstractmethod
    def weight_of(self, extreme: Extreme) -> Fraction:
        """Return mu of an outcome with this set."""

    @property
    @abstractmethod
    def bits(self) -> float:
        """How many bits a report has."""

    @abstractmethod
    def ends(self, shares: Shares) -> tuple[Extreme | None, Extreme | None]:
        """Return a set of least share above 0 and one of greatest share below 1; None where all have share 0 or 1."""

    @abstractmethod
    def law(self, shares: Shares) -> Law | None:
        """Return the law of T under mu, where it can be written out."""

    def parts(self, shares: Shares) -> Iterator[Part]:
        """Yield sets that are alike: by which of the most frequent values they hold, or by their share alone."""
        for share, weight in zip(*(self.law(shares) or ((), ())), strict=True):
            yield Part(float(weight), float(share), 0.0, float(share), float(share))

    @abstractmethod
    def greater(self, shares: Shares, raised: float, lowered: float) -> float:
        """Return E_mu max(raised max_S p, lowered max_{not S} p)."""

    @abstractmethod
    def count(self) -> int | None:
        """Return how many outcomes there are with different sets; None where they are more than can be listed."""

    @abstractmethod
    def listed(self) -> tuple[list[Hashable], list[Fraction], np.ndarray]:
        """Return (names of the outcomes, mu of each, which values are in each: boolean of shape (outcomes, K))."""


def contested(p: np.ndarray, raised: float, lowered: float) -> tuple[np.ndarray, float]:
    """Return the values by falling share that are worth naming when raised, and what is won by the first when lowered.

    If no earlier value is in S, naming value i wins raised p_i; naming the most frequent one wins lowered p_1 at least.
    """
    falling = np.argsort(-p, kind="stable")
    top = float(p[falling[0]])
    worth = falling[: int(np.searchsorted(-raised * p[falling], -lowered * top, side="left"))]
    return (worth if len(worth) else falling[:1]), lowered * top
