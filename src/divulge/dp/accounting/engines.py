"""Three ways to a sum of independent privacy losses: one Gaussian, all types of the draws, or a grid and FFT."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.accounting.bounded_range import adaptive_range, cells_of
from divulge.dp.accounting.extent import QUIET, negligible, planning_atoms, span
from divulge.dp.accounting.lattice import common_step, number_of_types, sums_over_types
from divulge.dp.accounting.normal import BestSum, of_many
from divulge.dp.accounting.sums import ListedSum, MixedSum, MovedSum, SplitSum, Sum, TiltedSum, Window, tilted_sum
from divulge.dp.knowledge import weakest
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss
from divulge.dp.loss.densities import DensityLoss, written
from divulge.dp.loss.grid import ROUND, Atoms
from divulge.dp.loss.lattice import LatticeLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss

Part = tuple[PrivacyLoss, int]
Both = tuple[Sum, Sum]
Tilted = tuple[TiltedSum | SplitSum, TiltedSum]

MOST_TYPES = 1 << 17
"""Sums of atoms that are listed one by one: a megabyte for each array of them, and each delta looks at all."""
MOST_CELLS = 3 << 20
"""Cells of a grid, 25 MB an array. Of 30,000 sampled Laplace mechanisms half as many leave a bracket of 0.2,
these 0.03, and twice as many 0.007 in three times the time."""

COARSE_CELLS = MOST_CELLS >> 3
"""Cells of a grid that only has to tell which pair of neighbors is the worst: an eighth of the time (a heuristic)."""

_MANY_TYPES = 1 << 12
"""From so many types on, atoms on one lattice go to a grid, where equal sums fall together."""

_MOST_ENTRIES = 1 << 24
"""A list of types has so many numbers at most: types times letters."""

_REGULAR = 16
"""Cells so much longer than the lattice of the atoms are widened to a whole number of its steps."""

_DENSE = 1000
"""Atoms more than these are as good as a density: the grid does not follow each."""

_LOG_RATIO = 1e-13
"""More than the rounding of the log ratio of two densities, of which each log is below 100."""

_SPLIT = 4.0
"""About how many h^2 (tilt + 1) a loss that is split adds to the bracket on epsilon."""

_CELLS = 1.5
"""Times the tolerance over the draws and the tilt, and 1: the mean square of the cells of a density that adds about a
quarter of the tolerance to a bracket, where the grid adds a third."""

_COARSE = 0.05
"""The variance of what splitting adds to a sum, times 4, beyond which losses are rather moved down."""

_COUNTS = 1e-12
"""The share of the variance of a sum from which on a part of it is asked whether it sits at its end."""

_RAREST = 695.0
"""-log of the chance of a sum so far out that doubles hardly tell it from 0: no tilt goes there."""

_MISSED = 1e-305
"""More than the mass of a loss without end beyond the atoms that doubles hold."""

_KEPT = 3
"""How many tilted sums are kept for further questions; each holds some 50 MB at most."""


@dataclass(frozen=True)
class GaussianSum:
    """n Gaussian losses with parameters mu_k are one with mu^2 = sum mu_k^2; evaluated in ball arithmetic."""

    squared: Fraction

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return log(Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu)), rounded away from the truth by one unit."""
        import flint

        def ball() -> Any:
            mu, e = exact.arb(self.squared).sqrt(), exact.arb(Fraction(epsilon))
            root = flint.arb(2).sqrt()
            upper, lower = ((e / mu + sign * mu / 2) / root for sign in (-1, 1))
            return ((upper.erfc() - e.exp() * lower.erfc()) / 2).log()

        return min(0.0, math.nextafter(exact.correctly_rounded(ball), side * math.inf))


@dataclass(frozen=True, eq=False)
class PairSum:
    """One pair of densities, which is no sum: asked itself."""

    loss: DensityLoss

    def log_delta(self, epsilon: Any, side: int) -> Any:
        """Return the logarithm of the lower (side -1) or upper (side +1) end of its bracket on delta."""
        with np.errstate(divide="ignore"):
            found = np.log(self.loss.bounds(np.asarray(epsilon, dtype=np.float64))[side > 0])
        return found if found.ndim else float(found)


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
class Plan:
    """What is known of a sum before it is computed: log E e^(s L) of its parts by finitely many atoms of each."""

    parts: tuple[tuple[np.ndarray, np.ndarray, int], ...]

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """Return log E e^(tilt S), and mean and variance of the tilted sum S."""
        cumulant, mean, variance = 0.0, 0.0, 0.0
        for losses, logs, count in self.parts:
            weights = logs + tilt * losses
            top = float(weights.max())
            weights = np.exp(weights - top)
            total = float(weights.sum())
            center = float(weights @ losses) / total
            cumulant += count * (top + math.log(total))
            mean += count * center
            variance += count * max(0.0, float(weights @ (losses - center) ** 2) / total)
        return cumulant, mean, variance

    @cached_property
    def spread(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(self.moments(0.0)[2])

    @cached_property
    def narrowest(self) -> float:
        """The variance of the part that varies least, of those that count; it is left when others sit at their end."""
        alone = [Plan((part,)).moments(0.0)[2] for part in self.parts]
        return min((variance for variance in alone if variance > _COUNTS * self.spread**2), default=0.0)

    def tilt(self, beyond: Callable[[float, float, float, float], bool]) -> float:
        """Return the largest s >= 0 found without `beyond(s, cumulant, mean, variance)`, which holds from some s on.

        Found by halving until the tilted sum moves by less than its own deviation, or jumps (a heavy tail), or all mass
        of every part sits at its largest loss, or out where doubles end.
        """

        def passed(s: float) -> bool:
            cumulant, mean, variance = self.moments(s)
            settled = variance < 1e-3 * self.narrowest or s * mean - cumulant > _RAREST
            return settled or beyond(s, cumulant, mean, variance)

        low, high = 0.0, 0.5 / max(self.spread, 1e-9)
        if passed(0.0):
            return 0.0
        while high < 1e9 and not passed(high):
            low, high = high, 2 * high
        while high - low > 0.01 * high:
            _, near, variance = self.moments(low)
            if abs(self.moments(high)[1] - near) < 0.5 * math.sqrt(variance):
                break
            middle = (low + high) / 2
            low, high = (low, middle) if passed(middle) else (middle, high)
        return low

    def for_epsilon(self, epsilon: float) -> float:
        """Return a tilt that moves the mean of the sum to about epsilon; 0 where it is there already."""
        return self.tilt(lambda s, cumulant, mean, variance: mean >= epsilon)

    def for_delta(self, log_delta: float) -> float:
        """Return a tilt at whose mean delta is about e^log_delta (saddle point)."""

        def beyond(s: float, cumulant: float, mean: float, variance: float) -> bool:
            return cumulant - s * mean - math.log1p(s * (s + 1) * math.sqrt(2 * math.pi * variance)) <= log_delta

        return self.tilt(beyond)


def _listed(parts: Sequence[tuple[AtomicLoss, int]]) -> ListedSum:
    """Return every value of a sum of atomic parts with few types."""
    losses, logs = np.zeros(1), np.zeros(1)
    relative, largest, finite, terms = 0.0, 0.0, 0.0, 0
    for loss, count in parts:
        seen = np.flatnonzero(loss.logs[0] > -math.inf)
        p, values = loss.logs[0][seen], loss.losses[seen]
        if count == 1:
            logs, losses = np.add.outer(logs, p).ravel(), np.add.outer(losses, values).ravel()
        else:
            each = sums_over_types(count, p, values)
            logs, losses = (np.add.outer(sums, more).ravel() for sums, more in zip((logs, losses), each, strict=True))
        terms += min(count, len(seen))  # that are not 0: each adds a rounding of the sum and one of its own
        relative += math.lgamma(count + 2) + count * float(np.abs(p).max()) + count + 1
        largest += count * float(np.abs(loss.losses).max())
        finite += count * math.log1p(-min(loss.infinite, 1.0 - ROUND))
    rising = np.argsort(losses, kind="stable")
    missed = _MISSED * sum(count for loss, count in parts if isinstance(loss, LatticeLoss))
    shift, relative = (ROUND * (terms + 4) * size for size in (largest, relative))
    return ListedSum(losses[rising], logs[rising], relative, shift, -math.expm1(finite), missed)


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
        if 0 < len(loss.atoms_at) <= _DENSE or isinstance(loss, PromisedLoss):
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
        atomic = [isinstance(loss, AtomicLoss) and len(loss.losses) <= _DENSE for loss, _ in self.parts]
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


def _squared(parts: Sequence[Part]) -> Fraction:
    """Return the sum of mu^2 over the Gaussian losses, exactly."""
    squares = [count * Fraction(loss.mu) ** 2 for loss, count in parts if isinstance(loss, GaussianLoss)]
    return sum(squares, Fraction(0))


def merged(parts: Sequence[Part]) -> list[Part]:
    """Return the same sum with equal losses counted together and all Gaussian losses as one, in an order of its own."""
    gaussian = _squared(parts)
    found: dict[Any, Part] = {}
    for loss, count in parts:
        if not isinstance(loss, GaussianLoss):
            key = alike(loss)
            found[key] = (loss, count + (found[key][1] if key in found else 0))
    out = sorted(found.values(), key=lambda part: (*_rank(alike(part[0])), part[1]))
    known = weakest(loss.known for loss, _ in parts if isinstance(loss, GaussianLoss))
    return [*out, (GaussianLoss(math.sqrt(gaussian), known=known), 1)] if gaussian else out


def alike(loss: PrivacyLoss) -> Any:
    """Return a key that equal losses share, whatever pair they belong to: all that is known of them, unrounded."""
    if not is_dataclass(loss):
        return id(loss)
    return (type(loss), *(_unrounded(getattr(loss, entry.name)) for entry in fields(loss) if entry.name not in _NAMES))


_NAMES = ("pair", "rows")
"""Fields of a loss that say where it comes from, not what it is."""


def _unrounded(value: Any) -> Any:
    """Return what equal values of a field share and unequal ones do not."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.dtype == object else value.tobytes()
    return alike(value) if isinstance(value, PrivacyLoss) else value


def _rank(key: Any) -> tuple[bytes, ...]:
    """Return a place of a key among others that does not depend on where it stood."""
    return tuple(
        value if isinstance(value, bytes) else getattr(value, "__name__", written(value)).encode()
        for value in (key if isinstance(key, tuple) else (type(key),))
    )


def _is_sharp(loss: PrivacyLoss, step: float) -> bool:
    """Say whether a loss has atoms of which most have no neighbor on a grid of this step, and is no stand-in."""
    atoms = loss.atoms_at
    return len(atoms) > 0 and not isinstance(loss, PromisedLoss) and float(np.ptp(atoms)) >= step * len(atoms)


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
        squared = _squared(parts)
        mu = math.sqrt(squared)
        return ExactEngine(GaussianSum(squared), mu * mu / 2, mu)
    distinct = merged(parts)
    if any(loss.enclosing[0] is not loss for loss, _ in distinct):
        return _enclosed(distinct, tolerance)
    atomic = tuple((loss, count) for loss, count in distinct if isinstance(loss, AtomicLoss))
    if len(atomic) == len(distinct):
        size = math.prod(number_of_types(n, len(a.losses)) for a, n in atomic)
        entries = max(number_of_types(n, len(a.losses)) * len(a.losses) if n > 1 else 0 for a, n in atomic)
        if size > _MANY_TYPES and _share_a_grid(atomic):  # the same sums, many of them equal
            return GridEngine(atomic, tolerance)
        if size <= MOST_TYPES and entries <= _MOST_ENTRIES:
            total = _listed(atomic)
            weights = np.exp(total.logs - total.logs.max())
            mean, second = (float((weights @ total.losses**k) / weights.sum()) for k in (1, 2))
            return ExactEngine(total, mean, math.sqrt(max(0.0, second - mean * mean)))
    listed, rest = _divided(distinct)
    if listed and rest:
        inner = GridEngine(tuple(rest), tolerance) if len(rest) == 1 else _engine(rest, tolerance)
        if isinstance(inner, GridEngine):
            return MixedEngine(_listed(listed), inner)
    return GridEngine(tuple(distinct), tolerance)


def _enclosed(parts: Sequence[Part], tolerance: float) -> ExactEngine | DensityEngine | EnclosedEngine:
    """Return both sums where they are listed, or have few atoms, which need not share a grid; else one grid of both.

    Of one pair of densities itself.
    """
    low, high = (tuple((loss.enclosing[side], n) for loss, n in parts) for side in (0, 1))
    few = all(len(loss.atoms_at) <= _DENSE for loss, _ in (*low, *high))
    draws = sum(n for loss, n in parts if loss.enclosing[0] is not loss)
    ((loss, count), *others) = parts
    if isinstance(loss, DensityLoss) and count == 1 and not others and not few:
        _, mean, variance = Plan(((*planning_atoms(high[0][0]), 1),)).moments(0.0)
        return ExactEngine(PairSum(loss), mean, math.sqrt(variance))
    sides = EnclosedEngine(_engine(low, tolerance), _engine(high, tolerance), _LOG_RATIO * draws)
    ways = {type(sides.low), type(sides.high)}
    if ways == {ExactEngine} or (few and GridEngine not in ways):
        return sides
    return DensityEngine(tuple(parts), GridEngine(high, tolerance, low))


def _share_a_grid(parts: Sequence[tuple[AtomicLoss, int]]) -> bool:
    """Say whether a grid holds every sum of atoms in its place."""
    if any(isinstance(loss, PromisedLoss) or len(loss.losses) > _DENSE for loss, _ in parts):
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
        if isinstance(loss, AtomicLoss) and len(loss.losses) <= _DENSE and not isinstance(loss, PromisedLoss):
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
