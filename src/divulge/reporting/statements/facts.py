"""What a statement tells about one mechanism, computed from what is public."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.model.channel import Channel
from divulge.model.labels import key_of
from divulge.releasing.estimating.estimate import rank, right_inverse
from divulge.releasing.estimating.intervals import clustered
from divulge.releasing.planning.naming import str_of
from divulge.releasing.preview import half_width

USELESS = 1000.0
"""From this factor on a bound is of no use to anybody."""


@dataclass(frozen=True)
class Facts:
    """What a statement tells about one mechanism, computed from what is public."""

    mechanism: Any
    """Mechanism, or, where no matrix is asked for, a protocol."""
    rows: int
    squares: int | None = None
    """Where a person's rows show one draw: at least the sum of the squares of their numbers."""

    @cached_property
    def matrix(self) -> np.ndarray:
        """The channel as floats, shape (N, M)."""
        return self.mechanism.channel.weights / 2.0**self.mechanism.channel.bits

    @cached_property
    def secrets(self) -> list[str]:
        """The true answers."""
        return [str_of(x) for x in self.mechanism.channel.secrets]

    @cached_property
    def said(self) -> list[str]:
        """The answers that can be said."""
        return [str_of(y) for y in self.mechanism.channel.outcomes]

    @cached_property
    def place(self) -> np.ndarray:
        """For each secret the outcome that bears its name, -1 where none does."""
        known = {key_of(y): j for j, y in enumerate(self.mechanism.channel.outcomes)}
        return np.array([known.get(key_of(x), -1) for x in self.mechanism.channel.secrets])

    @property
    def by_value(self) -> bool:
        """Whether every true answer can be said under its own name."""
        return bool((self.place >= 0).all())

    @cached_property
    def blanks(self) -> list[int]:
        """Outcomes that are called after no true answer, where every true answer can be said: "erased"."""
        named = set(self.place.tolist())
        return [j for j in range(len(self.said)) if j not in named] if self.by_value else []

    @cached_property
    def kept(self) -> np.ndarray:
        """How often each true answer is said as it is."""
        held = self.matrix[np.arange(len(self.matrix)), np.maximum(self.place, 0)]
        return np.where(self.place >= 0, held, 0.0)

    @property
    def factor(self) -> float:
        """The largest factor by which odds change for anybody: e^ldp, and e^epsilon of what was said before a draw."""
        return exp(self.mechanism.for_a_person["ldp"] + self.mechanism.assumed.epsilon * self.mechanism.times)

    @property
    def helpful(self) -> bool:
        """Whether there is a bound on odds that is of use."""
        return self.factor < USELESS

    @cached_property
    def rises(self) -> np.ndarray:
        """By how much the odds of each secret rise at most, shape (N, M): C_xy / min_x' C_x'y, times e^epsilon.

        Of a person with several draws that all show the same, it is that for each of them.
        """
        low = self.matrix.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (self.matrix / low * exp(self.mechanism.assumed.epsilon)) ** self.mechanism.times
        return np.where(self.matrix > 0, found, 0.0)

    @property
    def truthful(self) -> bool:
        """Whether what is said is the truth."""
        return self.by_value and bool((self.kept == 1).all())

    @cached_property
    def silent(self) -> bool:
        """Whether what is said has nothing to do with the truth."""
        weights = self.mechanism.channel.weights
        return len(weights) > 1 and bool((weights == weights[0]).all())

    @cached_property
    def given(self) -> np.ndarray | None:
        """A prior that the publisher took from a public source, where there is one."""
        assumed = self.mechanism.assumed
        return assumed.prior.floats if assumed.source == "given" and assumed.prior is not None else None

    @cached_property
    def off(self) -> tuple[float, float]:
        """How many rows the estimate of a small group, and of any group, may be off by; inf where there is none.

        As many as the longer side of the interval of `estimate_frequencies` has, at the expected numbers of rows: for
        a group as large as that, and the most over groups of other sizes, with all other answers equally frequent.
        """
        n = len(self.matrix)
        if rank(self.matrix) < n or not self.rows or n < 2:
            return math.inf, math.inf
        inverse = right_inverse(Channel(self.matrix))
        if self.squares is not None:
            off_by = float(clustered(self.matrix, inverse, self.rows, self.squares, 0.05 / n).max()) * self.rows
            return off_by, off_by
        spread = (self.matrix.mean(axis=0) @ inverse**2).tolist()
        x = spread.index(max(spread))

        def off(share: float) -> float:
            shares = np.full(n, (1 - share) / (n - 1))
            shares[x] = share
            return half_width(self.matrix, inverse, shares, float(self.rows), 0.05 / n, x)

        small = off(0.0)
        for _ in range(3):  # a group as large as what it takes to be told from nobody
            small = max(small, off(min(small, 1.0)))
        return small * self.rows, max(small, *map(off, (0.25, 0.5, 0.75, 1.0))) * self.rows


class WithoutMatrix(Facts):
    """What is told of a mechanism that is no matrix: what it lets out is no true answer, and always says something."""

    @property
    def truthful(self) -> bool:
        """Whether what is said is true."""
        return False

    @cached_property
    def silent(self) -> bool:
        """Whether nothing is said of anybody: no such mechanism is ever made."""
        return False


def exp(log: float) -> float:
    """Return e^log, infinite where it has no float, and above 1 for every loss above 0."""
    if not log < 700:
        return math.inf
    return max(math.exp(log), math.nextafter(1.0, 2.0)) if log > 0 else math.exp(log)
