"""Families whose shares all come from one transform, that of the server: rows of Hadamard's matrix, and hyperplanes."""

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from divulge.errors import DivulgeError
from divulge.protocols.sets import geometry
from divulge.protocols.sets.family import Extreme, Law, Sets, contested
from divulge.protocols.shares import Shares

MOST_OUTCOMES = 1 << 25
"""Outcomes of which all shares are computed at once: 256 MiB of doubles."""

TIED = 64
"""So many sets that a transform in doubles cannot tell apart are summed exactly; of more the safe side is taken."""


class Transformed(Sets):
    """Sets of outcomes 0, 1, ..., all of the same base weight."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """How many outcomes there are."""

    @abstractmethod
    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the sum of the weights (K,) over every set, and how far each may be off; int64 stays exact."""

    @abstractmethod
    def seen(self, counts: np.ndarray) -> tuple[np.ndarray, float]:
        """Return for every value the sum of the counts of the outcomes that raise it, and how far each may be off."""

    @abstractmethod
    def holds(self, outcomes: np.ndarray, value: int) -> np.ndarray:
        """Say which of the outcomes have the value in their set."""

    @abstractmethod
    def members(self, outcome: int) -> np.ndarray:
        """Return which values are in the set of an outcome, boolean of shape (K,)."""

    def _summed(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        if self.outcomes > MOST_OUTCOMES:
            raise DivulgeError.of(
                "prior", f"be about at most {MOST_OUTCOMES:,} outcomes here", "their number", f"{self.outcomes:,}",
                "take local_hashing, whose leakage has a closed form for every number of values.",
            )  # fmt: skip
        return self.sums(weights)

    def weight_of(self, extreme: Extreme) -> Fraction:
        return Fraction(1, self.outcomes)

    def ends(self, shares: Shares) -> tuple[Extreme | None, Extreme | None]:
        if shares.whole is not None:
            sums, off = self._summed(shares.whole)
            if off < 0.5:
                sums = np.rint(sums).astype(np.int64) if off else sums
                inside = np.flatnonzero((sums > 0) & (sums < shares.total))
                if not len(inside):
                    return None, None
                ends = (int(inside[pick(sums[inside])]) for pick in (np.argmin, np.argmax))
                least, greatest = (self._at(y, Fraction(int(sums[y]), shares.total)) for y in ends)
                return least, greatest
        sums, off = self._summed(shares.p)
        inside = self._between(shares, sums, off)
        if not len(inside):
            return None, None
        return self._near(shares, inside, sums[inside], off), self._near(shares, inside, -sums[inside], off, -1)

    def _at(self, outcome: int, share: Fraction, certain: bool = True) -> Extreme:
        return Extreme(share, outcome, np.flatnonzero(self.members(outcome)), certain)

    def _between(self, shares: Shares, sums: np.ndarray, off: float) -> np.ndarray:
        """Return the outcomes whose set holds some values that can occur, and not all; near the ends by counting."""
        clear = (sums > 2 * off) & (sums < 1 - 2 * off)
        unclear = np.flatnonzero(~clear)
        if len(unclear) <= TIED:
            held = np.array([int((self.members(y) & shares.support).sum()) for y in unclear.tolist()], dtype=np.int64)
        else:
            held = np.rint(self._summed(shares.support.astype(np.int64))[0])[unclear]
        clear[unclear] = (held > 0) & (held < int(shares.support.sum()))
        return np.flatnonzero(clear)

    def _near(self, shares: Shares, inside: np.ndarray, sums: np.ndarray, off: float, sign: int = 1) -> Extreme:
        """Return the set of least sum: of those that doubles cannot tell apart the exact one, or the safe side."""
        near = inside[sums <= sums.min() + 2 * off]
        if len(near) <= TIED:
            share, found = min((sign * shares.exactly(self.members(y)), y) for y in near.tolist())
            return self._at(found, sign * share)
        rarest = Fraction(float(shares.p[shares.support].min()))
        share = max(Fraction(float(sums.min()) - off), rarest if sign > 0 else rarest - 1)
        return self._at(int(near[0]), sign * share, certain=False)

    def law(self, shares: Shares) -> Law | None:
        sums, _ = self._summed(shares.p)
        return np.clip(sums, 0.0, 1.0), np.full(len(sums), 1 / len(sums))

    def greater(self, shares: Shares, raised: float, lowered: float) -> float:
        worth, otherwise = contested(shares.p, raised, lowered)
        left, won = np.arange(self.outcomes), 0.0
        for x in worth.tolist():
            here = self.holds(left, x)
            won += float(here.sum()) * raised * float(shares.p[x])
            left = left[~here]
            if not len(left):
                break
        return (won + len(left) * otherwise) / self.outcomes

    def count(self) -> int | None:
        return self.outcomes

    def listed(self) -> tuple[list[Hashable], list[Fraction], np.ndarray]:
        members = np.stack([self.members(y) for y in range(self.outcomes)])
        return list(range(self.outcomes)), [Fraction(1, self.outcomes)] * self.outcomes, members


@dataclass(frozen=True)
class HadamardRows(Transformed):
    """S_y: the values x with an even number of ones in y & (x + 1); column 0 tells nothing and stands for no value."""

    @property
    def outcomes(self) -> int:
        return 1 << self.size.bit_length()

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def both(self) -> Fraction:
        return Fraction(1, 4)

    @property
    def empty(self) -> Fraction:
        return Fraction(1, 4) if self.size == 2 else Fraction(0)  # columns 1, 2 and 3 = 1 ^ 2 cannot all be odd

    @property
    def bits(self) -> float:
        return float(self.size.bit_length())

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        spread = np.zeros(self.outcomes, dtype=weights.dtype)
        spread[1 : self.size + 1] = weights
        whole = weights.dtype.kind == "i"
        total = int(weights.sum()) if whole else float(weights.sum())
        found = walsh_hadamard(spread)
        if whole:
            return (total + found) // 2, 0.0
        return (total + found) / 2, total * self.bits * 2.0**-52  # a sum of `bits` levels, each rounded once

    def seen(self, counts: np.ndarray) -> tuple[np.ndarray, float]:
        return (int(counts.sum()) + walsh_hadamard(counts)[1 : self.size + 1]) // 2, 0.0

    def holds(self, outcomes: np.ndarray, value: int) -> np.ndarray:
        return np.bitwise_count(outcomes & (value + 1)) % 2 == 0

    def members(self, outcome: int) -> np.ndarray:
        return np.bitwise_count(np.arange(1, self.size + 1) & outcome) % 2 == 0


def walsh_hadamard(values: np.ndarray) -> np.ndarray:
    """Return the Walsh-Hadamard transform sum_x (-1)^(bits of x & y) v_x of 2^m values, by butterflies.

    Half of the bits at a time, and turned over in between, so that each step runs along rows.

    >>> walsh_hadamard(np.array([1, 2, 3, 4])).tolist()
    [10, -2, -4, 0]
    """
    bits = len(values).bit_length() - 1
    low = bits // 2
    found = values.reshape(-1, 1 << low).copy()
    for rows in (1 << (bits - low), 1 << low):
        step = 1
        while step < rows:
            pairs = found.reshape(-1, 2, step, found.shape[1])
            lower = pairs[:, 0] - pairs[:, 1]
            pairs[:, 0] += pairs[:, 1]
            pairs[:, 1] = lower
            step *= 2
        found = np.ascontiguousarray(found.T)
    return found.ravel()


@dataclass(frozen=True)
class Hyperplanes(Transformed):
    """S_u: the points x of the projective space over s elements with <x, u> = 0; the first K points are the values."""

    field: int
    dimension: int

    @property
    def outcomes(self) -> int:
        return geometry.points(self.field, self.dimension)

    @property
    def inside(self) -> int:
        """How many points a hyperplane has."""
        return geometry.points(self.field, self.dimension - 1)

    @property
    def q(self) -> Fraction:
        return Fraction(self.inside, self.outcomes)

    @property
    def both(self) -> Fraction:
        return Fraction(geometry.points(self.field, self.dimension - 2), self.outcomes)

    @property
    def empty(self) -> Fraction:
        missed = max(0, self.field + 1 - self.size)  # every hyperplane meets the line of the first s + 1 points
        return Fraction(missed * self.field ** (self.dimension - 2), self.outcomes)

    @property
    def bits(self) -> float:
        return math.log2(self.outcomes)

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, float]:
        every = np.zeros(self.outcomes)
        every[: self.size] = weights
        return self._added(every)

    def seen(self, counts: np.ndarray) -> tuple[np.ndarray, float]:
        found, off = self._added(counts.astype(np.float64))  # x is on the hyperplane of u where u is on that of x
        return found[: self.size], off

    def _added(self, every: np.ndarray) -> tuple[np.ndarray, float]:
        found = geometry.hyperplane_sums(every, self.field, self.dimension)
        norm = float(np.sqrt((every * every).sum()))
        levels = math.log2(self.outcomes) + self.dimension
        return found, norm * math.sqrt(self.outcomes) * levels * 2.0**-50

    def holds(self, outcomes: np.ndarray, value: int) -> np.ndarray:
        return geometry.products(self.field, self.dimension, outcomes, value) == 0

    def members(self, outcome: int) -> np.ndarray:
        return geometry.products(self.field, self.dimension, np.arange(self.size), outcome) == 0
