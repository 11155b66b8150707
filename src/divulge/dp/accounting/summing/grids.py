"""Sums of any privacy losses on a grid, by FFT: tilted, so that what decides the answer is their bulk."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from divulge.dp.accounting.summing.extent import QUIET, negligible, planning_atoms, span
from divulge.dp.accounting.summing.lattice import common_step
from divulge.dp.accounting.summing.merging import Part
from divulge.dp.accounting.summing.plan import Plan
from divulge.dp.accounting.summing.sums import ListedSum, MixedSum, SplitSum, Sum, TiltedSum, Window, tilted_sum
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.grid import ROUND, Atoms
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss

Both = tuple[Sum, Sum]
Tilted = tuple[TiltedSum | SplitSum, TiltedSum]

MOST_CELLS = 3 << 20
"""Cells of a grid, 25 MB an array. Of 30,000 sampled Laplace mechanisms half as many leave a bracket of 0.2,
these 0.03, and twice as many 0.007 in three times the time."""

COARSE_CELLS = MOST_CELLS >> 3
"""Cells of a grid that only has to tell which pair of neighbors is the worst: an eighth of the time (a heuristic)."""

_REGULAR = 16
"""Cells so much longer than the lattice of the atoms are widened to a whole number of its steps."""

DENSE = 1000
"""Atoms more than these are as good as a density: the grid does not follow each."""

_SPLIT = 4.0
"""About how many h^2 (tilt + 1) a loss that is split adds to the bracket on epsilon."""

_CELLS = 1.5
"""Times the tolerance over the draws and the tilt, and 1: the mean square of the cells of a density that adds about a
quarter of the tolerance to a bracket, where the grid adds a third."""

_COARSE = 0.05
"""The variance of what splitting adds to a sum, times 4, beyond which losses are rather moved down."""

_KEPT = 3
"""How many tilted sums are kept for further questions; each holds some 50 MB at most."""


class TiltedEngine(ABC):
    """A composition on a grid: the sums are tilted so that what decides the answer is their bulk."""

    @cached_property
    @abstractmethod
    def plan(self) -> Plan:
        """Log moments of the parts."""

    @abstractmethod
    def sums(self, tilt: float) -> Both:
        """Return the sums at a tilt, from below and from above."""

    def near_epsilon(self, epsilon: float) -> Both:
        """Return the sums to be asked about delta(epsilon)."""
        return self.sums(self.plan.for_epsilon(epsilon))

    def near_delta(self, log_delta: float) -> tuple[Both, float, float]:
        """Return the sums to be asked about epsilon(delta), a first guess of it, and how far around it they serve."""
        tilt = self.plan.for_delta(log_delta)
        _, mean, variance = self.plan.moments(tilt)
        return self.sums(tilt), mean, math.sqrt(variance)


@dataclass(frozen=True)
class GridEngine(TiltedEngine):
    """Any parts, on a grid, by FFT; the grid is fine enough for a bracket on epsilon of about `tolerance`."""

    parts: tuple[Part, ...]
    tolerance: float
    easier: tuple[Part, ...] | None = None  # where two enclose a part, the one that is easier to tell apart
    most: int = MOST_CELLS
    _known: dict[Window, Tilted] = field(default_factory=dict[Window, Tilted], repr=False, compare=False)

    def roughly(self, tolerance: float, most: int) -> "GridEngine":
        """Return the same sum with another width to aim at, and at most so many cells; what is known is shared."""
        return replace(self, tolerance=tolerance, most=most)

    @cached_property
    def plan(self) -> Plan:
        return Plan(tuple((*planning_atoms(loss), count) for loss, count in self.parts))

    @cached_property
    def draws(self) -> int:
        """How many losses are added up."""
        return sum(count for _, count in self.parts)

    @cached_property
    def lattice(self) -> float:
        """The common step of all atoms and ends of the parts, 0 for none."""
        sharp = [loss.atoms_at for loss, _ in self.parts if not isinstance(loss, PromisedLoss)]
        return common_step(np.concatenate([np.zeros(0), *sharp]))

    @cached_property
    def _windows(self) -> dict[float, Window]:
        return {}

    def sums(self, tilt: float) -> Tilted:
        if tilt not in self._windows:
            self._windows[tilt] = self._window(tilt)
        window = self._windows[tilt]
        if window not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[window] = self._computed(window)
        return self._known[window]

    @property
    def finest(self) -> bool:
        return any(window.size >= self.most for window in self._windows.values())

    def _computed(self, window: Window) -> Tilted:
        tilt = window.tilt
        cumulant, mean, variance = self.plan.moments(tilt)
        deepest = cumulant - tilt * (mean + math.sqrt(variance)) - QUIET - math.log(self.draws)
        ranges = [
            span(loss, window.step, negligible(loss, window, values, self.draws), deepest)
            for (loss, _), (values, _, _) in zip(self.parts, self.plan.parts, strict=True)
        ]
        farthest = window.step * max(max(abs(a), abs(b)) for a, b in ranges)
        off = 16 * ROUND * (farthest + 1.0)
        shift = self.draws * 2 * off
        splits = self._splits(window.step)

        def lows() -> Iterator[tuple[Atoms, int]]:
            for (easier, n), (loss, _), (a, b) in zip(self.easier or self.parts, self.parts, ranges, strict=True):
                is_split = splits and self._gains_by_splitting(loss, window.step)
                moved = grid.split_below if is_split else functools.partial(grid.below, shift=off)
                yield moved(easier, window.step, a, b), n

        highs = ((grid.above(loss, window.step, a, b), n) for (loss, n), (a, b) in zip(self.parts, ranges, strict=True))
        low, high = tilted_sum(lows(), window, shift), tilted_sum(highs, window, shift)
        return (SplitSum(low, high, splits) if splits else low), high

    def _splits(self, step: float) -> int:
        """Return how many losses are split: those that a grid of this step, not too coarse, would move down too far."""
        if step <= self.lattice * (1 + 1e-12):
            return 0
        split = sum(n for loss, n in self.parts if self._gains_by_splitting(loss, step))
        return split if split * step * step <= _COARSE else 0

    def _gains_by_splitting(self, loss: PrivacyLoss, step: float) -> bool:
        """Say whether a loss has atoms off the grid, or so much mass in the cell at an end that moving it down counts.

        Of a density the mass of two neighboring cells is merged between them; that of the last cell has one neighbor.
        """
        if _is_sharp(loss, step):
            return True
        if 0 < len(loss.atoms_at) <= DENSE or isinstance(loss, PromisedLoss):
            return False
        ends = [1.0 - float(loss.tail(loss.lowest + step))] if loss.lowest > -math.inf else []
        ends += [float(loss.tail(loss.highest - step))] if loss.highest < math.inf else []
        return self.draws * step * max(ends, default=0.0) > self.tolerance

    def _window(self, tilt: float) -> Window:
        cumulant, _, variance = self.plan.moments(tilt)
        slopes = np.geomspace(0.03, 300.0, 41) / math.sqrt(max(variance, 1e-18))
        up = [(self.plan.moments(tilt + a)[0] - cumulant + QUIET) / a for a in slopes.tolist()]
        down = [(self.plan.moments(tilt - a)[0] - cumulant + QUIET) / a for a in slopes.tolist()]
        top, bottom = min(up), -min(down)
        size, step = self._resolution(top - bottom, math.sqrt(3 * self.tolerance / (self.draws * (tilt + 1.0))))
        if splits := self._splits(step):
            finer = self.tolerance / (_SPLIT * splits * (tilt + 1.0))
            size, step = self._resolution(top - bottom, min(step, math.sqrt(finer)))
        low = math.floor(bottom / step)
        return Window(step, tilt, low, size, float(slopes[int(np.argmin(up))]), float(slopes[int(np.argmin(down))]))

    def _resolution(self, width: float, wanted: float) -> tuple[int, float]:
        """Return the number of grid points and their distance; the lattice of the atoms lies on the grid if it can."""
        width = max(width, self.lattice, self.tolerance)  # a loss that is nearly certain has none
        atomic = [isinstance(loss, AtomicLoss) and len(loss.losses) <= DENSE for loss, _ in self.parts]
        pure = self.lattice > 0 and all(atomic)
        wanted = self.lattice if pure else min(wanted, width / 64)
        from scipy import fft

        fast: Any = fft.next_fast_len
        size = int(fast(min(self.most, math.ceil(width / wanted) + 4), real=True))
        finest = width / (size - 4)
        if self.lattice < finest:  # cells of as many points of the lattice each, odd and even ones alike
            even = 2 * self.lattice
            return size, even * math.ceil(finest / even) if 0 < _REGULAR * even < finest else finest
        return size, self.lattice if pure else self.lattice / math.floor(self.lattice / finest)


@dataclass(frozen=True)
class DensityEngine(TiltedEngine):
    """Any parts, densities among them, each between two pairs of atoms whose cells are short where it counts."""

    parts: tuple[Part, ...]
    rough: GridEngine  # by cells that are as long everywhere
    _known: dict[float, GridEngine] = field(default_factory=dict[float, GridEngine], repr=False, compare=False)

    def roughly(self, tolerance: float, most: int) -> "DensityEngine":
        """Return the same sum with another width to aim at."""
        return DensityEngine(self.parts, self.rough.roughly(tolerance, most))

    @cached_property
    def plan(self) -> Plan:
        return self.rough.plan

    @property
    def finest(self) -> bool:
        return any(grid.finest for grid in self._known.values())

    def sums(self, tilt: float) -> Both:
        if tilt not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            spread = _CELLS * self.rough.tolerance / (self.rough.draws * (tilt + 1.0))
            enclosed = [loss.enclosed(tilt, spread) for loss, _ in self.parts]
            low, high = (
                tuple((pair[side], n) for pair, (_, n) in zip(enclosed, self.parts, strict=True)) for side in (0, 1)
            )
            self._known[tilt] = replace(self.rough, parts=high, easier=low, _known={})
        return self._known[tilt].sums(tilt)


@dataclass(frozen=True)
class MixedEngine(TiltedEngine):
    """Few atoms, whose sums are listed, beside what goes to a grid: atoms on no common lattice keep their places."""

    listed: ListedSum
    rest: GridEngine

    def roughly(self, tolerance: float, most: int) -> "MixedEngine":
        """Return the same sum with another width to aim at."""
        return replace(self, rest=self.rest.roughly(tolerance, most))

    @cached_property
    def plan(self) -> Plan:
        return Plan((*self.rest.plan.parts, (self.listed.losses, self.listed.logs, 1)))

    @property
    def finest(self) -> bool:
        return self.rest.finest

    def sums(self, tilt: float) -> Both:
        low, high = self.rest.sums(tilt)
        return MixedSum(self.listed, low), MixedSum(self.listed, high)


def _is_sharp(loss: PrivacyLoss, step: float) -> bool:
    """Say whether a loss has atoms of which most have no neighbor on a grid of this step, and is no stand-in."""
    atoms = loss.atoms_at
    return len(atoms) > 0 and not isinstance(loss, PromisedLoss) and float(np.ptp(atoms)) >= step * len(atoms)
