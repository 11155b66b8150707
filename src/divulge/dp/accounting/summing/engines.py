"""Which way a sum of independent privacy losses goes: known outright, on a grid, or between two others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from divulge.dp.accounting.summing.bounded_range import adaptive_range, cells_of
from divulge.dp.accounting.summing.extent import planning_atoms
from divulge.dp.accounting.summing.grids import DENSE, MOST_CELLS, Both, DensityEngine, GridEngine, MixedEngine
from divulge.dp.accounting.summing.known_sums import GaussianSum, PairSum, SampledGaussianSum, listed_sum
from divulge.dp.accounting.summing.lattice import number_of_types
from divulge.dp.accounting.summing.merging import Part, merged, sum_of_squares
from divulge.dp.accounting.summing.normal import BestSum, of_many
from divulge.dp.accounting.summing.plan import Plan
from divulge.dp.accounting.summing.sums import MovedSum, Sum
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss
from divulge.dp.loss.sampled import FixedSizeLoss, SampledLoss, of_densities

MOST_TYPES = 1 << 17
"""Sums of atoms that are listed one by one: a megabyte for each array of them, and each delta looks at all."""

_MANY_TYPES = 1 << 12
"""From so many types on, atoms on one lattice go to a grid, where equal sums fall together."""

_MOST_ENTRIES = 1 << 24
"""A list of types has so many numbers at most: types times letters."""

_LOG_RATIO = 1e-13
"""More than the rounding of the log ratio of two densities, of which each log is below 100."""


@dataclass(frozen=True)
class ExactEngine:
    """A composition whose sum is known: it bounds delta from below and from above, whatever is asked."""

    total: Sum
    mean: float
    spread: float
    finest = True

    def roughly(self, tolerance: float, most: int) -> "ExactEngine":
        """Return the same sum, which is as exact at every tolerance."""
        return self

    def near_epsilon(self, epsilon: float) -> Both:
        """Return the sums to be asked about delta(epsilon)."""
        return self.total, self.total

    def near_delta(self, log_delta: float) -> tuple[Both, float, float]:
        """Return the sums to be asked about epsilon(delta), a first guess of it, and how far around it they serve."""
        return (self.total, self.total), self.mean + self.spread * math.sqrt(max(0.0, -2 * log_delta)), math.inf


@dataclass(frozen=True)
class EnclosedEngine:
    """A sum between two others, of which one is easier to tell apart at every epsilon and one harder."""

    low: "_Alone"
    high: "_Alone"
    rounding: float  # of all losses together

    def roughly(self, tolerance: float, most: int) -> "EnclosedEngine":
        """Return the same sum with another width to aim at."""
        return EnclosedEngine(self.low.roughly(tolerance, most), self.high.roughly(tolerance, most), self.rounding)

    @property
    def finest(self) -> bool:
        return self.low.finest and self.high.finest

    def near_epsilon(self, epsilon: float) -> Both:
        """Return the sums to be asked about delta(epsilon)."""
        return self._moved(self.low.near_epsilon(epsilon)[0], self.high.near_epsilon(epsilon)[1])

    def _moved(self, low: Sum, high: Sum) -> Both:
        return MovedSum(low, self.rounding), MovedSum(high, self.rounding)

    def near_delta(self, log_delta: float) -> tuple[Both, float, float]:
        """Return the sums to be asked about epsilon(delta), a first guess of it, and how far around it they serve."""
        (low, _), _, near = self.low.near_delta(log_delta)
        (_, high), start, reach = self.high.near_delta(log_delta)
        return self._moved(low, high), start, min(near, reach)


@dataclass(frozen=True)
class BoundedEngine:
    """A sum, and beside it what theorems say of it from below and from above."""

    inner: "_Alone"
    below: tuple[Sum, ...]
    above: tuple[Sum, ...]

    def roughly(self, tolerance: float, most: int) -> "BoundedEngine":
        """Return the same sum with another width to aim at."""
        return replace(self, inner=self.inner.roughly(tolerance, most))

    @property
    def finest(self) -> bool:
        return self.inner.finest

    def _with(self, sums: Both) -> Both:
        return BestSum((sums[0], *self.below)), BestSum((sums[1], *self.above))

    def near_epsilon(self, epsilon: float) -> Both:
        """Return the sums to be asked about delta(epsilon)."""
        return self._with(self.inner.near_epsilon(epsilon))

    def near_delta(self, log_delta: float) -> tuple[Both, float, float]:
        """Return the sums to be asked about epsilon(delta), a first guess of it, and how far around it they serve."""
        sums, start, reach = self.inner.near_delta(log_delta)
        return self._with(sums), start, reach


_Alone = ExactEngine | GridEngine | DensityEngine | MixedEngine | EnclosedEngine
Engine = _Alone | BoundedEngine


def engine(parts: Sequence[Part], tolerance: float) -> Engine:
    """Return the exact way where there is one, else the grid, with what is known beside it."""
    inner, known = _engine(parts, tolerance), of_many(parts)
    if isinstance(inner, ExactEngine):
        return inner
    own: tuple[Sum, ...] = ()
    if len(parts) == 1:
        ((loss, count),) = parts
        if isinstance(loss, ExponentialLoss) and count > 1 and cells_of(loss.top, count) > 0:
            own = (adaptive_range(loss.top, count),)
    return BoundedEngine(inner, known, (*known, *own)) if known or own else inner


def _engine(parts: Sequence[Part], tolerance: float) -> _Alone:
    """Return the exact way where there is one, else the grid; of what lies between two others, these."""
    if all(isinstance(loss, GaussianLoss) for loss, _ in parts):
        squared = sum_of_squares(parts)
        mu = math.sqrt(squared)
        return ExactEngine(GaussianSum(squared), mu * mu / 2, mu)
    distinct = merged(parts)
    if any(loss.enclosing[0] is not loss for loss, _ in distinct):
        return _enclosed(distinct, tolerance)
    if len(distinct) == 1 and distinct[0][1] == 1 and (once := _sampled_gaussian(distinct[0][0])):
        _, mean, variance = Plan(((*planning_atoms(distinct[0][0]), 1),)).moments(0.0)
        return ExactEngine(once, mean, math.sqrt(variance))
    atomic = tuple((loss, count) for loss, count in distinct if isinstance(loss, AtomicLoss))
    if len(atomic) == len(distinct):
        size = math.prod(number_of_types(n, len(a.losses)) for a, n in atomic)
        entries = max(number_of_types(n, len(a.losses)) * len(a.losses) if n > 1 else 0 for a, n in atomic)
        if size > _MANY_TYPES and _share_a_grid(atomic):  # the same sums, many of them equal
            return GridEngine(atomic, tolerance)
        if size <= MOST_TYPES and entries <= _MOST_ENTRIES:
            total = listed_sum(atomic)
            weights = np.exp(total.logs - total.logs.max())
            mean, second = (float((weights @ total.losses**k) / weights.sum()) for k in (1, 2))
            return ExactEngine(total, mean, math.sqrt(max(0.0, second - mean * mean)))
    listed, rest = _divided(distinct)
    if listed and rest:
        inner = GridEngine(tuple(rest), tolerance) if len(rest) == 1 else _engine(rest, tolerance)
        if isinstance(inner, GridEngine):
            return MixedEngine(listed_sum(listed), inner)
    return GridEngine(tuple(distinct), tolerance)


def _sampled_gaussian(loss: PrivacyLoss) -> SampledGaussianSum | None:
    """Return what is known of a Gaussian loss on a sample, None of others; of a fixed size from 0 on, as is asked."""
    half = loss.removed if isinstance(loss, FixedSizeLoss) else loss
    if not (isinstance(half, SampledLoss) and isinstance(half.base, GaussianLoss)):
        return None
    return SampledGaussianSum(GaussianSum(Fraction(half.base.mu) ** 2), Fraction(half.sampling), half.added)


def _enclosed(parts: Sequence[Part], tolerance: float) -> ExactEngine | DensityEngine | EnclosedEngine:
    """Return both sums where they are listed, or have few atoms, which need not share a grid; else one grid of both.

    Of one pair of densities, or a sample of it, itself.
    """
    low, high = (tuple((loss.enclosing[side], n) for loss, n in parts) for side in (0, 1))
    few = all(len(loss.atoms_at) <= DENSE for loss, _ in (*low, *high))
    draws = sum(n for loss, n in parts if loss.enclosing[0] is not loss)
    ((loss, count), *others) = parts
    if (
        isinstance(loss, (DensityLoss, SampledLoss, FixedSizeLoss))
        and count == 1
        and not others
        and (base := of_densities(loss))
        and max(len(one.atoms_at) for one in base.enclosing) > DENSE
    ):
        _, mean, variance = Plan(((*planning_atoms(high[0][0]), 1),)).moments(0.0)
        return ExactEngine(PairSum(loss), mean, math.sqrt(variance))
    sides = EnclosedEngine(_engine(low, tolerance), _engine(high, tolerance), _LOG_RATIO * draws)
    ways = {type(sides.low), type(sides.high)}
    if ways == {ExactEngine} or (few and GridEngine not in ways):
        return sides
    return DensityEngine(tuple(parts), GridEngine(high, tolerance, low))


def _share_a_grid(parts: Sequence[tuple[AtomicLoss, int]]) -> bool:
    """Say whether a grid holds every sum of atoms in its place."""
    if any(isinstance(loss, PromisedLoss) or len(loss.losses) > DENSE for loss, _ in parts):
        return False
    width = math.fsum(count * float(np.ptp(loss.losses)) for loss, count in parts)
    return width <= GridEngine(tuple(parts), 1.0).lattice * (MOST_CELLS // 2)


def _divided(parts: Sequence[Part]) -> tuple[list[tuple[AtomicLoss, int]], list[Part]]:
    """Return the parts whose sums are listed, and those that go to a grid.

    Atoms that lie on one lattice with all that is on the grid so far are no trouble there; of the others as many are
    listed as have few types together, those with the fewest first.
    """
    sharp: list[tuple[int, AtomicLoss, int]] = []
    rest: list[Part] = []
    for loss, n in parts:
        if isinstance(loss, AtomicLoss) and len(loss.losses) <= DENSE and not isinstance(loss, PromisedLoss):
            sharp.append((number_of_types(n, len(loss.losses)), loss, n))
        else:
            rest.append((loss, n))
    free = not any(len(loss.atoms_at) for loss, _ in rest if not isinstance(loss, PromisedLoss))
    listed, size = [], 1
    for types_, loss, n in sorted(sharp, key=lambda one: -one[0]):
        on_lattice = GridEngine(((loss, n), *rest), 1.0).lattice > 0
        if on_lattice and (free or GridEngine(tuple(rest), 1.0).lattice > 0):
            rest.append((loss, n))
            free = False
        else:
            listed.append((loss, n))
            size *= types_
    while size > MOST_TYPES and listed:
        loss, n = listed.pop(0)
        size //= number_of_types(n, len(loss.losses))
        rest.append((loss, n))
    return listed, rest
