"""What a statement tells about one mechanism, computed from what is public."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.releasing.drawing.coding import key_of
from divulge.releasing.estimating.estimate import rank
from divulge.releasing.planning.naming import str_of
from divulge.releasing.preview import half_widths
from divulge.releasing.records.receipt import Mechanism

USELESS = 1000.0
"""From this factor on a bound is of no use to anybody."""


@dataclass(frozen=True)
class Facts:
    """What a statement tells about one mechanism, computed from what is public."""

    mechanism: Mechanism
    rows: int

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
    def kept(self) -> np.ndarray:
        """How often each true answer is said as it is."""
        held = self.matrix[np.arange(len(self.matrix)), np.maximum(self.place, 0)]
        return np.where(self.place >= 0, held, 0.0)

    @property
    def factor(self) -> float:
        """The largest factor by which odds change for anybody, e^ldp."""
        return exp(self.mechanism.guarantees["ldp"] + self.mechanism.assumed.epsilon)

    @cached_property
    def rises(self) -> np.ndarray:
        """For each secret and outcome C_xy / min_x' C_x'y: by how much the odds of x rise at most; shape (N, M)."""
        low = self.matrix.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.matrix / low
        return np.where(self.matrix > 0, found, 0.0)

    @property
    def truthful(self) -> bool:
        """Whether what is said is the truth."""
        return self.by_value and bool((self.kept == 1).all())

    @cached_property
    def given(self) -> np.ndarray | None:
        """A prior that the publisher took from a public source, where there is one."""
        assumed = self.mechanism.assumed
        return assumed.prior.floats if assumed.source == "given" and assumed.prior is not None else None

    @cached_property
    def off(self) -> float:
        """How many rows an estimate of a small group may be off by; inf where there is none."""
        n = len(self.matrix)
        if rank(self.matrix) < n or not self.rows:
            return math.inf
        even = np.full(n, 1 / n)
        return float(half_widths(self.matrix, even, float(self.rows), 0.05 / n).max()) * self.rows


def exp(log: float) -> float:
    """Return e^log, infinite where it has no float."""
    return math.exp(log) if log < 700 else math.inf
