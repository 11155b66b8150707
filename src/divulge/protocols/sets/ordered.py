"""Families in which a value is as good as any other: subsets of one size, and independent choices.

What leaks most then follows from the order of the shares alone.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from divulge.protocols.sets.family import Extreme, Law, Part, Sets, contested
from divulge.protocols.shares import Shares

LISTED = 1 << 16
"""Subsets that are written out one by one."""

POWERS = 1 << 11
"""Powers of a fraction of 62 bits that are taken exactly, in milliseconds."""

CONDITIONED = 12
"""Of so many most frequent values each combination is looked at by itself where a mean is enclosed: 4,096 of them."""

CONVOLVED = 1 << 27
"""Steps of the characteristic function of a sum of counts, distinct counts times their total: a few seconds."""


def _few_of_least(shares: Shares, size: int) -> np.ndarray:
    """Return the `size` values of least share whose share is not 0: without the first of them a rarest one."""
    rising = shares.rising
    chosen = rising[:size].copy()
    if not shares.support[chosen].any():
        chosen[-1] = rising[int(np.flatnonzero(shares.support[rising])[0])]
    return chosen


def _constant(shares: Shares) -> bool:
    return int(shares.support.sum()) < 2


@dataclass(frozen=True)
class Subsets(Sets):
    """All subsets of d values, alike; d = 1 is randomized response."""

    chosen: int

    @property
    def q(self) -> Fraction:
        return Fraction(self.chosen, self.size)

    @property
    def both(self) -> Fraction:
        return Fraction(self.chosen * (self.chosen - 1), self.size * (self.size - 1))

    @property
    def bits(self) -> float:
        return (math.lgamma(self.size + 1) - math.lgamma(self.chosen + 1)
                - math.lgamma(self.size - self.chosen + 1)) / math.log(2)  # fmt: skip

    def ends(self, shares: Shares) -> tuple[Extreme | None, Extreme | None]:
        if _constant(shares):
            return None, None
        members = _few_of_least(shares, self.chosen)
        outside = np.zeros(self.size, dtype=bool)
        outside[_few_of_least(shares, self.size - self.chosen)] = True
        low, high = shares.exactly(members), 1 - shares.exactly(outside)
        least = None if low == 1 else Extreme(low, self._name(members), members)
        members = np.flatnonzero(~outside)
        return least, None if high == 0 else Extreme(high, self._name(members), members)

    def _name(self, members: np.ndarray) -> Hashable:
        return int(members[0]) if self.chosen == 1 else tuple(sorted(members.tolist()))

    @property
    def outcomes_are_values(self) -> bool:
        return self.chosen == 1

    def weight_of(self, extreme: Extreme) -> Fraction:
        return Fraction(1, math.comb(self.size, self.chosen)) if self.size <= LISTED else Fraction(1, LISTED)

    def law(self, shares: Shares) -> Law | None:
        if self.chosen == 1:
            return shares.p, np.full(self.size, 1 / self.size)
        number = math.comb(self.size, self.chosen) if self.size <= 4 * LISTED.bit_length() else LISTED + 1
        if number > LISTED:
            return None
        every = np.array(list(combinations(range(self.size), self.chosen)))
        return shares.p[every].sum(axis=1), np.full(number, 1 / number)

    def parts(self, shares: Shares) -> Iterator[Part]:
        first = min(CONDITIONED, self.size - 2)
        falling = shares.p[shares.rising[::-1]]
        top, rest = falling[:first], falling[first:]
        left, n = float(rest.sum()), len(rest)
        spread = max(0.0, float((rest * rest).sum()) / n - (left / n) ** 2) * n / max(1, n - 1)
        for pattern in product((False, True), repeat=first):
            k = sum(pattern)
            d = self.chosen - k
            if not 0 <= d <= n:
                continue
            weight = math.prod((self.chosen - i) / (self.size - i) for i in range(k))
            weight *= math.prod((self.size - self.chosen - j) / (self.size - k - j) for j in range(first - k))
            held = float(top[np.array(pattern, dtype=bool)].sum()) if first else 0.0
            share = d / n
            yield Part(weight, held + share * left, share * (n - d) * spread, held, held + (left if d else 0.0))

    def greater(self, shares: Shares, raised: float, lowered: float) -> float:
        worth, otherwise = contested(shares.p, raised, lowered)
        free, won = 1.0, 0.0  # mu(no earlier value is in S)
        for i, x in enumerate(worth.tolist()):
            here = self.chosen / (self.size - i)  # mu(x in S | no earlier value is)
            won += free * here * raised * float(shares.p[x])
            free *= 1 - here
            if free <= 0:
                return won
        return won + free * max(otherwise, 0.0)

    def count(self) -> int | None:
        return self.size if self.chosen == 1 else math.comb(self.size, self.chosen) if self.size <= 64 else None

    def listed(self) -> tuple[list[Hashable], list[Fraction], np.ndarray]:
        every = np.array(list(combinations(range(self.size), self.chosen)))
        members = np.zeros((len(every), self.size), dtype=bool)
        members[np.arange(len(every))[:, None], every] = True
        names = [self._name(one) for one in every]
        return names, [Fraction(1, len(every))] * len(every), members


@dataclass(frozen=True)
class Independent(Sets):
    """All subsets; each value is in one with chance q, independently: unary encoding, and preimages of ideal hashes."""

    chance: Fraction
    report: float

    @property
    def q(self) -> Fraction:
        return self.chance

    @property
    def both(self) -> Fraction:
        return self.chance**2

    @property
    def empty(self) -> Fraction:
        if self.size > POWERS:  # as a fraction it would take seconds: from below, so that capacities are from above
            exponent = self.size * math.log1p(-float(self.chance))
            room = Fraction(2 + math.ceil(-exponent), 1 << 50)  # relative error of log1p, its multiple, and expm1
            return max(Fraction(0), 1 - Fraction(-math.expm1(exponent)) * (1 + room))
        return (1 - self.chance) ** self.size

    @property
    def bits(self) -> float:
        return self.report

    def ends(self, shares: Shares) -> tuple[Extreme | None, Extreme | None]:
        if _constant(shares):
            return None, None
        alone = _few_of_least(shares, 1)
        share, others = shares.exactly(alone), np.flatnonzero(np.arange(self.size) != alone[0])
        name = tuple(others.tolist()) if self.size <= LISTED else None
        return Extreme(share, tuple(alone.tolist()), alone), Extreme(1 - share, name, others)

    def weight_of(self, extreme: Extreme) -> Fraction:
        held = len(extreme.members)
        if self.size > LISTED:
            return Fraction(1, LISTED)
        return self.chance**held * (1 - self.chance) ** (self.size - held)

    def law(self, shares: Shares) -> Law | None:
        q, support = float(self.chance), shares.p[shares.support]
        if len(support) <= LISTED.bit_length() - 1:
            t, weight = np.zeros(1), np.ones(1)
            for share in support.tolist():
                t = np.concatenate([t, t + share])
                weight = np.concatenate([weight * (1 - q), weight * q])
            return t, weight
        return None if shares.whole is None else _sum_of_counts(shares.whole[shares.support], shares.total, q)

    def parts(self, shares: Shares) -> Iterator[Part]:
        q = float(self.chance)
        falling = shares.p[shares.rising[::-1]]
        top, rest = falling[:CONDITIONED], falling[CONDITIONED:]
        left, variance = float(rest.sum()), q * (1 - q) * float((rest * rest).sum())
        for pattern in product((False, True), repeat=len(top)):
            k = sum(pattern)
            held = float(top[np.array(pattern, dtype=bool)].sum())
            yield Part(q**k * (1 - q) ** (len(top) - k), held + q * left, variance, held, held + left)

    def greater(self, shares: Shares, raised: float, lowered: float) -> float:
        return named_first(shares.p, float(self.chance), raised, lowered)

    def over(self, labels: Sequence[Hashable]) -> "Independent":
        return replace(self, size=len(labels))

    def count(self) -> int | None:
        return 2**self.size if self.size < 64 else None

    def listed(self) -> tuple[list[Hashable], list[Fraction], np.ndarray]:
        members = np.array(list(product((False, True), repeat=self.size)))
        weights = [self.chance ** int(k) * (1 - self.chance) ** (self.size - int(k)) for k in members.sum(axis=1)]
        return [tuple(np.flatnonzero(row).tolist()) for row in members], weights, members


def named_first(p: np.ndarray, q: float, raised: float, lowered: float) -> float:
    """Return E max(raised max_S p, lowered max_{not S} p) for a set S that each value is in with chance q.

    >>> float(named_first(np.array([0.5, 0.5]), 0.5, 1.5, 0.5))  # three of four sets raise a value
    0.625
    """
    worth, otherwise = contested(p, raised, lowered)
    free = (1 - q) ** np.arange(len(worth))
    won = math.fsum((free * q * raised * p[worth]).tolist())
    return won + (1 - q) ** len(worth) * otherwise


def _sum_of_counts(counts: np.ndarray, total: int, q: float) -> Law | None:
    """Return the law of T for counts n_j that are in S independently: the inverse transform of its characteristic
    function, the product over j of 1 - q + q e^{i n_j s}."""
    from scipy import fft

    distinct, times = np.unique(counts, return_counts=True)
    if len(distinct) * (total + 1) > CONVOLVED:
        return None
    length = int(fft.next_fast_len(total + 1, real=True) or total + 1)
    k = np.arange(length // 2 + 1)
    logs = np.zeros(len(k), dtype=np.complex128)
    for n, c in zip(distinct.tolist(), times.tolist(), strict=True):
        angle = 2 * np.pi * ((k * n) % length) / length
        with np.errstate(divide="ignore"):  # 1 - 2q is 0 where q is 1/2
            logs += c * np.log(1 - q + q * np.exp(-1j * angle))
    law = np.maximum(np.asarray(fft.irfft(np.exp(logs), length))[: total + 1], 0.0)
    return np.arange(total + 1) / total, law / law.sum()
