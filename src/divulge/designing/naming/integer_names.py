"""Rounding of square channels to integers that keep the guarantees and their names, both decided exactly."""

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.naming.names import Naming, OwnNames, leads_asked
from divulge.designing.polytope.limits import Limits
from divulge.designing.rounding import Checker
from divulge.errors import DivulgeError
from divulge.panels import panels
from divulge.roots import least_integer

_LEAST_SHARE = 2.0**-44
"""The share of the diagonal mechanism that is tried first: room for some hundred units of integers of 53 bits."""
_SHARES = 22
"""Fourfold steps from it: one more were half, and a channel that is half another is not the one asked for."""


@dataclass(frozen=True, eq=False)
class Rounder:
    """Turns float channels into integers that keep guarantees and names exactly.

    Mixtures with `start` and with equal rows keep both; the shares of these grow until the integers do so as well.
    """

    checker: Checker
    prior: np.ndarray
    naming: Naming
    names: OwnNames
    bits: int
    effort: Effort = NO_HURRY
    known: list[int] = field(default_factory=list[int])
    """The steps that were taken: the next channel mostly takes the last one as well."""

    def __call__(self, channel: np.ndarray) -> np.ndarray:
        """Return the integers; where the channel leaves no room for rounding, those of the diagonal mechanism."""
        found = self._nearest(np.maximum(channel, 0.0))
        return self._diagonal if found is None else found

    @cached_property
    def _diagonal(self) -> np.ndarray:
        found = self._nearest(self.naming.start)
        if found is None:
            raise DivulgeError.of(
                "guarantee", "leave something to say where outcomes bear the names of values", "it",
                "one that leaves less than the grid of integers shows", "give a larger epsilon, or more `bits`.",
            )  # fmt: skip
        return found

    def _nearest(self, channel: np.ndarray) -> np.ndarray | None:
        """Return the integers of the mixture with the least share of `start` that keep all; None where none does.

        What keeps convex limits at one share of `start` keeps them at every larger one. The first mostly does, and the
        least is near it; once the time is up one above the least does.
        """
        start, last = self.naming.start, _SHARES - 1

        @functools.lru_cache(maxsize=2)
        def at(step: int) -> np.ndarray:
            share = _LEAST_SHARE * 4.0**step
            mixed = (1 - share) * channel + share * start
            return rounded((1 - share) * mixed + share * (self.prior @ mixed), 2**self.bits)

        @functools.cache
        def keeps(step: int) -> bool:
            return self._keeps(at(step))

        near = self.known[-1] if self.known else 0
        if keeps(near):
            step = near if near == 0 or not keeps(near - 1) else least_integer(keeps, 0, near - 1, self.effort.late)
        else:
            step = least_integer(keeps, near, last, self.effort.late)
        if step <= last:
            self.known.append(step)
        return at(step) if step <= last else None

    def _keeps(self, integers: np.ndarray) -> bool:
        return (
            self.checker.keeps_all(integers)
            and keeps_names(integers, leads_asked(self.names, self.naming.leads))
            and bool((self.checker.mass(integers) >= self._least).all())
        )

    @cached_property
    def _least(self) -> np.ndarray:
        """The least mass with which each outcome occurs that many times as often as its value, or as one in N."""
        shares = self.checker.prior
        n, total, asked = len(shares), int(shares.sum()), Fraction(self.names.occurrence)
        least = {p: asked * min(Fraction(int(p)), Fraction(total, n)) * 2**self.bits for p in set(shares.tolist())}
        return np.array([math.ceil(least[p]) for p in shares.tolist()], dtype=object)


def rounded(channel: np.ndarray, whole: int) -> np.ndarray:
    """Return integers near the channel; what the rows lack goes to own outcomes first, then evenly along each row.

    No entry is off by more than a unit but for the own one, and none that is 0 grows (error diffusion).
    """
    integers = np.empty(channel.shape, dtype=np.int64)
    for rows in panels(channel):
        integers[rows] = _rows_rounded(channel[rows], np.arange(len(channel))[rows], whole)
    return integers


def _rows_rounded(channel: np.ndarray, own: np.ndarray, whole: int) -> np.ndarray:
    """Return `rounded` for some rows, with the columns of their own outcomes."""
    exact, rows = channel / channel.sum(axis=1, keepdims=True) * whole, np.arange(len(channel))
    integers = np.floor(exact).astype(np.int64)
    rests = exact - integers
    integers[rows, own] += 1
    rests[rows, own] = 0.0
    steps = np.cumsum(rests, axis=1)
    lacking = np.maximum(whole - integers.sum(axis=1), 0)
    steps *= (np.minimum(lacking, steps[:, -1]) / np.maximum(steps[:, -1], 1.0))[:, None]
    integers += np.diff(np.floor(steps), axis=1, prepend=0.0).astype(np.int64)
    integers[rows, own] += whole - integers.sum(axis=1)
    return integers


def keeps_names(integers: np.ndarray, leads: np.ndarray) -> bool:
    """Say whether every column is strictly largest at its own value, and as many times larger as asked, exactly."""
    own = np.diag(integers)
    others = np.where(np.eye(len(integers), dtype=bool), -1, integers).max(axis=0, initial=-1)
    if not (own > others).all():
        return False
    close = np.flatnonzero((leads > 1) & (own < leads * others * (1 + _CLOSE)))
    return all(int(own[y]) >= Fraction(float(leads[y])) * int(others[y]) for y in close.tolist())


_CLOSE = 2.0**-40
"""Doubles decide about a lead that is larger than asked by this share, which is far above their rounding."""


def keeps(channel: np.ndarray, prior: np.ndarray, limits: Limits, leads: np.ndarray, margin: float = 1e-7) -> bool:
    """Say whether a float channel nearly keeps the limits and the names."""
    own, room = np.diag(channel), margin * (prior @ channel + 1e-12)
    others = np.where(np.eye(len(channel), dtype=bool), 0.0, channel).max(axis=0)
    return bool((own >= leads * others - room).all()) and limits.nearly_kept(channel, prior, room)
