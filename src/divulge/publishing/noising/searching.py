"""The most that several noisy statistics tell in any of very many ways in which one unit can change them.

A way is which groups the unit leaves, and in which columns it has a number on one side alone. What the numbers of one
column by one grouping tell follows from two of these answers. Where they are not given yet, the largest delta of what
is possible stands for these numbers, at every epsilon: it is convex in e^epsilon, and so that of a pair, which
dominates all of them, and pairs that dominate compose. This bounds whole sets of ways, of which the largest is divided
first.

All pairs are on one grid, from above; sums are made by FFT, tilted so that delta is their bulk.

References
----------
Zhu, Dong, Wang, arXiv:2106.08567 (dominating pairs); Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, arXiv:2207.04380
(the grid).
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from divulge.dp.loss import grid
from divulge.dp.loss.grid import ROUND, Atoms
from divulge.publishing.noising.families import Way

Answers = tuple[bool | None, ...]
"""To each question yes, no, or not asked yet."""

_CELLS = 1 << 13
"""Points of the grid: epsilon is within about 1e-4 of what it is for two dozen numbers (measured)."""

_SPARE = 256
"""So many of them are left for losses that a grid moves up, each by one at most."""

_FAR, _FARTHER = 10.0, 25.0
"""-log of how small what is cut off of a sum, or of one loss, is beside delta."""

_STEEPEST = 300.0
"""Exponents of tilts go so far."""

_MOST_LOOKS = 1 << 13
"""Blocks of all sets of ways that are bounded; then the largest bound is the answer. About a second (a heuristic)."""

_ABOVE = 1 + 1e-9
"""More than the roundings of differences of deltas."""


@dataclass(frozen=True)
class Block:
    """What some numbers tell together: by the answers to some questions.

    questions : their places
    way : function of an answer to each of them that returns what the numbers tell
    """

    questions: tuple[int, ...]
    way: Callable[[tuple[bool, ...]], Way]

    def possible(self, answers: Answers) -> tuple[tuple[bool, ...], ...]:
        """Return all answers to the questions of this block that are left."""
        left: list[tuple[bool, ...]] = [()]
        for place in self.questions:
            given = answers[place]
            left = [(*one, more) for one in left for more in ((False, True) if given is None else (given,))]
        return tuple(left)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A pair on the grid, as it is multiplied: its transform, tilted, with logs of moments, and what a `Way` adds.

    `last` is the largest loss over the step, `scale` and `tail` are logs of E e^(s L) at the tilt and at the slope.
    """

    transform: np.ndarray
    last: float
    scale: float
    tail: float
    infinite: float
    shift: float
    more: float
    outside: float


class Search:
    """Ways of one unit on one grid.

    blocks : what tells, each by some of the questions
    follows : function of answers that returns them with what follows from them, or None where they contradict
    rho : what all blocks promise in zCDP, at least
    highest : the largest loss of all blocks together, at least; may be inf
    """

    def __init__(
        self, blocks: Sequence[Block], follows: Callable[[Answers], Answers | None], rho: float, highest: float,
        delta: float,
    ) -> None:  # fmt: skip
        self.blocks, self.follows, self.delta, self.rho = blocks, follows, delta, rho
        rare = -math.log(delta) + _FAR
        reach = min(rho + 2 * math.sqrt(rho * rare), highest)
        self.step = 2 * reach / (_CELLS - _SPARE)
        self.losses = self.step * np.arange(_CELLS // 2 + 1)  # the others lie in the second half of the ring
        top = float(self.losses[-1])
        self.tilt = min(math.sqrt(-math.log(delta) / rho), _STEEPEST / top)
        self.slope = min(max((reach - rho) / (2 * rho), self.tilt), _STEEPEST / top)
        self._made: dict[Any, Spectrum] = {}
        self._atoms: dict[Any, Atoms] = {}

    def epsilon(self, start: Answers) -> float:
        """Return a bound from above on epsilon in every way with these answers: that of the worst one but for the grid,
        where it is found before too many sets of ways were looked at."""
        bound, settled = self.bound(start)
        heap = [(-bound, 0, start, settled)]
        nodes = 0
        while True:
            bound, _, answers, settled = heapq.heappop(heap)
            if settled or nodes * len(self.blocks) >= _MOST_LOOKS:
                return -bound
            place = next(i for block in self.blocks for i in block.questions if answers[i] is None)
            for answer in (False, True):
                both = self.follows((*answers[:place], answer, *answers[place + 1 :]))
                if both is not None:
                    nodes += 1
                    least, settled = self.bound(both)
                    heapq.heappush(heap, (max(bound, -least), nodes, both, settled))

    def bound(self, answers: Answers) -> tuple[float, bool]:
        """Return epsilon of all ways with these answers, and whether that is one way."""
        left = [block.possible(answers) for block in self.blocks]
        spectra = [self._of(block, possible) for block, possible in zip(self.blocks, left, strict=True)]
        product = reduce(np.multiply, (one.transform for one in spectra))
        last, scale, tail, infinite, shift, more, outside = (
            math.fsum(getattr(one, name) for one in spectra)
            for name in ("last", "scale", "tail", "infinite", "shift", "more", "outside")
        )
        beyond = math.exp(min(0.0, tail - self.slope * float(self.losses[-1]))) if last > _CELLS // 2 else 0.0
        lost = beyond + infinite
        goal = (self.delta - outside) * math.exp(-more) * (1 - 1e-12) - lost
        found = self._crossing(product, scale, goal, len(spectra)) + shift
        return found * (1 + 1e-12), all(len(possible) == 1 for possible in left)

    def _crossing(self, product: np.ndarray, scale: float, goal: float, factors: int) -> float:
        """Return the least epsilon at which delta is no more than the goal; between points it is linear in e^epsilon.

        The Euclidean norm of the errors of an FFT is at most 8 ROUND log2(cells) times that of what went through.
        """
        if not goal > 0:
            return math.inf
        losses = self.losses
        masses = np.maximum(np.fft.irfft(product, _CELLS)[: len(losses)], 0.0)
        error = 8 * ROUND * math.log2(_CELLS) * (factors + 2)
        weights = np.exp(scale - self.tilt * losses)
        p = masses * weights
        p, q = (np.append(np.cumsum(x[::-1])[::-1][1:], 0.0) for x in (p, p * np.exp(-losses)))
        deltas = np.maximum(p - np.exp(losses) * q, 0.0) + 4 * ROUND * _CELLS * p + error * self._norm * weights
        at = np.flatnonzero(deltas > goal)
        if not len(at):
            return 0.0
        k = int(at[-1])
        if k == len(losses) - 1:
            return math.inf
        share = (deltas[k] - goal) / (deltas[k] - deltas[k + 1])
        return float(losses[k] + math.log1p(share * math.expm1(self.step)))

    @cached_property
    def _norm(self) -> float:
        """The Euclidean norm of e^(-s x) (1 - e^-x) at the points x > 0."""
        x = self.losses
        return math.sqrt(float(np.square(np.exp(-self.tilt * x) * -np.expm1(-x)).sum()))

    def _of(self, block: Block, possible: tuple[tuple[bool, ...], ...]) -> Spectrum:
        ways = tuple(dict.fromkeys(block.way(answers) for answers in possible))
        if ways not in self._made:
            pair = dominating([self._joined(way) for way in ways], self.step)
            at = np.arange(pair.first, pair.first + len(pair.masses))
            with np.errstate(divide="ignore"):
                logs = np.log(pair.masses)
            scale, tail = (_log_sum(logs + slope * self.step * at) for slope in (self.tilt, self.slope))
            ring = np.bincount(at % _CELLS, np.exp(logs + self.tilt * self.step * at - scale), _CELLS)
            most = {name: max(getattr(way, name) for way in ways) for name in ("shift", "more", "outside")}
            self._made[ways] = Spectrum(np.fft.rfft(ring), float(at[-1]), scale, tail, pair.infinite, **most)
        return self._made[ways]

    def _joined(self, way: Way) -> Atoms:
        """Return the pair of all mechanisms of a way."""
        found = Atoms(0, np.ones(1), 0.0)
        for part, times in way.parts:
            found = reduce(_both, [self._single(part)] * times, found)
        return found

    def _single(self, part: Any) -> Atoms:
        if part not in self._atoms:
            found: list[Atoms] = []
            for loss in part.losses():
                rate = loss.rate if loss.rate < math.inf else loss.highest**2 / 2
                rare = -math.log(self.delta) + _FARTHER
                reach = min(loss.highest, rate + 2 * math.sqrt(rate * rare))
                cells = math.ceil(reach / self.step * (1 + 1e-12)) + 1
                found.append(grid.above(loss, self.step, -cells, cells))
            self._atoms[part] = dominating(found, self.step)
        return self._atoms[part]


def _log_sum(logs: np.ndarray) -> float:
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _both(one: Atoms, other: Atoms) -> Atoms:
    """Return the pair of two independent ones."""
    if len(one.masses) == 1 and one.first == 0 and one.masses[0] == 1 and not one.infinite:
        return other
    infinite = one.infinite + other.infinite
    return Atoms(one.first + other.first, np.convolve(one.masses, other.masses), infinite)


def dominating(pairs: Sequence[Atoms], step: float) -> Atoms:
    """Return the pair on the grid whose delta is, at each of its points, the largest of several: it dominates each.

    Between points delta is a chord, above what is convex. Where one of them is the largest at a point and around it,
    its mass there is kept; elsewhere the mass is the change of the slope.

    >>> one, other = Atoms(-1, np.array([0.3, 0.0, 0.7]), 0.0), Atoms(-2, np.array([0.1, 0.3, 0.0, 0.3, 0.2]), 0.1)
    >>> found = dominating([one, other], 0.5)
    >>> found.first, found.infinite
    (-2, 0.1)
    """
    if len(pairs) == 1:
        return pairs[0]
    first = min(pair.first for pair in pairs)
    last = max(pair.first + len(pair.masses) for pair in pairs) - 1
    points = np.exp(step * np.arange(first, last + 1))
    q, deltas = np.zeros((len(pairs), len(points))), np.zeros((len(pairs), len(points)))
    for k, pair in enumerate(pairs):
        start = pair.first - first
        q[k, start : start + len(pair.masses)] = pair.masses
        q[k] /= points
        slopes = np.append(np.cumsum(q[k][::-1])[::-1][1:], 0.0)  # of the cell above each point
        falls = np.append(slopes[:-1] * np.diff(points), 0.0)
        deltas[k] = np.cumsum(falls[::-1])[::-1] + pair.infinite
    best, largest = deltas.argmax(axis=0), deltas.max(axis=0)
    slopes = -np.diff(largest) / np.diff(points)
    total = max(float(one.sum()) for one in q)
    made = np.maximum(np.append(total, slopes) - np.append(slopes, 0.0), 0.0)
    alone = (best == np.roll(best, 1)) & (best == np.roll(best, -1))
    alone[[0, -1]] = False
    made = np.where(alone, q[best, np.arange(len(points))], made)
    return Atoms(first, made * points * _ABOVE, max(pair.infinite for pair in pairs))
