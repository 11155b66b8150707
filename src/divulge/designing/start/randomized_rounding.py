"""From a tail that can be divided to sets of secrets: the shares of a relaxed mixture, held high by random sets.

Sets of nearly the mass that a relaxed vertex asks for lose next to nothing, and over many of them the linear program
finds weights with which every secret averages to 1. So the divided problem shows both what can be reached and what not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.column_generation import Mixture, generate, uninformed
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Vertices, joined, pair_vertices
from divulge.designing.pricing.meet_in_the_middle import subsets
from divulge.designing.pricing.problem import Oracle, Problem, largest, simple_start
from divulge.designing.pricing.relaxation import SplittableRelaxation, divided
from divulge.designing.pricing.subset_sums import BoxPool
from divulge.designing.start.random_sets import nearest

_EACH = 16
"""Random sets for each secret. A heuristic: with 8 and with 32 gaps are as small; a larger program takes longer."""
_FREE = 22
"""Secrets that are left to meet the target, in two halves of 2^11 subsets: 4 million sums, so the nearest is close."""
_BLOCK = 24
"""Sets that share their free secrets, whose subsets are listed once for all of them."""
_PATIENCE = 0.4
"""The share of the time left that either step of a core may take, so that a larger core gets its turn."""
_STUCK = 0.9
"""With a larger core the gap must fall to this share, or none larger is tried. A heuristic."""
_ROUGH = 1e-4
"""The relative gap at which a divided problem is left, where its dual is but the start of column generation."""
_SHARE = 0.25
"""The share of the time left that such a problem may take."""


@dataclass(frozen=True, eq=False)
class Split:
    """Single secrets, heaviest first: the core, and the tail as one class of a divided problem."""

    problem: Problem
    part: Problem
    core: np.ndarray
    tail: np.ndarray

    @classmethod
    def of(cls, problem: Problem, core: int) -> "Split":
        """Return the split with so many secrets in the core."""
        order = np.argsort(-problem.classes.probability, kind="stable")
        return cls(problem, divided(problem, core), order[:core], order[core:])

    @property
    def p(self) -> np.ndarray:
        """The probabilities of the tail."""
        return self.problem.classes.probability[self.tail]

    def dual(self, whole: Dual) -> Dual:
        """Return a dual of all secrets as one of the divided problem."""
        return Dual(np.append(whole.classes[self.core], whole.classes[self.tail].sum()), whole.capacity)

    def whole(self, dual: Dual) -> Dual:
        """Return a dual of the divided problem as one of all secrets: the tail pays by mass."""
        classes = np.empty(len(self.core) + len(self.tail))
        classes[self.core], classes[self.tail] = dual.classes[:-1], dual.classes[-1] * self.p / self.p.sum()
        return Dual(classes, dual.capacity)

    def merged(self, vertices: Vertices) -> Vertices:
        """Return those vertices that have no secret of the tail in between as vertices of the divided problem."""
        place = np.full(self.problem.secrets + 1, -2)
        alone = np.append(self.core, self.tail[: len(self.tail) == 1])
        place[alone], place[-1] = np.arange(len(alone)), -1
        kept = vertices.take(np.flatnonzero(place[vertices.between] > -2))
        share = kept.counts[:, self.tail] @ self.p / self.part.classes.probability[-1]
        return replace(kept, counts=np.column_stack([kept.counts[:, self.core], share]), between=place[kept.between])

    def parted(self, vertices: Vertices) -> Vertices:
        """Return vertices of the divided problem that hold all of the tail or nothing, as vertices of all secrets."""
        counts = np.empty((len(vertices), self.problem.secrets), dtype=np.int64)
        counts[:, self.core] = vertices.counts[:, :-1]
        counts[:, self.tail] = vertices.counts[:, -1:] > 0
        between = np.concatenate([self.core, self.tail[:1], [-1]])[vertices.between]
        return replace(vertices, counts=counts, between=between)


class RandomizedRounding:
    """Rounds vertices of a divided problem at random: what pays more for its mass, the sooner; it bounds no others."""

    def __init__(self, split: Split, vertices: Vertices, effort: Effort) -> None:
        self.split, self.effort, self.random = split, effort, np.random.default_rng(0)
        share = vertices.counts[:, -1] / split.part.classes.size[-1]
        divided = np.minimum(share, 1 - share) > 1e-9
        self.whole = split.parted(vertices.take(np.flatnonzero(~divided)))
        self.core, self.share = vertices.counts[divided, :-1] > 0, share[divided]

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertices of fresh sets, and inf."""
        problem = self.split.problem
        fresh = self.vertices(_EACH // 4, -dual.classes[self.split.tail] / self.split.p)
        best, _ = largest(problem.gains(fresh, dual), 4 * problem.secrets, problem.least)
        return fresh.take(best), math.inf

    def vertices(self, each: int, worth: np.ndarray) -> Vertices:
        """Return vertices of random sets, about so many for each secret, under what its mass in the tail is worth."""
        split, parts = self.split, [np.zeros((0, self.split.problem.secrets), dtype=bool)]
        copies = math.ceil(each * split.problem.secrets / max(1, len(self.share)))
        for core, share in zip(self.core, self.share.tolist(), strict=True):
            tails = sampled(split.p, share, copies, worth, self.random)
            sets = np.zeros((len(tails), split.problem.secrets), dtype=bool)
            sets[:, split.core], sets[:, split.tail] = core, tails
            parts.append(sets)
            if not self.effort.spend():
                break
        return joined([self.whole, *of_sets(split.problem, np.concatenate(parts))])


def sampled(p: np.ndarray, share: float, many: int, worth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return sets of nearly a share of the mass: each secret leads in as many, a few free ones meet the target."""
    if share > 0.5:
        return ~sampled(p, 1 - share, many, -worth, random)
    out = np.zeros((many, len(p)), dtype=bool)
    target, spread = share * float(p.sum()), float(worth.std()) + 1e-300
    for start in range(0, many, _BLOCK):
        order = random.permutation(len(p))
        free, others = order[:_FREE], order[_FREE:]
        first, second = subsets(p[free[::2]]), subsets(p[free[1::2]])
        assert first is not None
        assert second is not None
        (left, a), (right, b) = first, second
        heat = spread * 10.0 ** random.uniform(-1, 1)
        for row in range(start, min(start + _BLOCK, many)):
            rest = others[np.argsort(random.gumbel(size=len(others)) - worth[others] / heat)]
            if len(rest):
                lead = others[row % len(others)]
                rest = np.append(lead, rest[rest != lead])
            mass = np.cumsum(p[rest])
            fixed = rest[: max(int(np.searchsorted(mass, share * float(p[others].sum()))), 1)]
            fixed = fixed[np.cumsum(p[fixed]) <= target]
            i, j = nearest(a, b, target - float(p[fixed].sum()), 1 if len(rest) else many)
            out[row, fixed] = True
            out[row, free[::2]], out[row, free[1::2]] = left[i[row % len(i)]], right[j[row % len(i)]]
    return out


def randomly_rounded(problem: Problem, effort: Effort, found: Mixture | None, enough: float) -> Mixture:
    """Return the best mixture of sets that divided problems with ever larger cores lead to, while these help."""
    tolerance, dual = enough / 100, None
    for core in _cores(problem):
        solved = _divided(problem, core, replace(effort.some(_PATIENCE), tolerance=tolerance), found, dual)
        before, dual = found, solved.dual
        found = _parted(problem, solved, replace(effort.some(_PATIENCE), tolerance=tolerance), found, _EACH // 2)
        stuck = before is not None and found.gap(problem) > _STUCK * before.gap(problem)
        if stuck or not effort.spend() or found.settled(problem, enough):
            break
    assert found is not None  # there is a core at least
    return found


def from_relaxed_dual(
    problem: Problem, oracle: Oracle[Vertices], effort: Effort, found: Mixture | None, enough: float
) -> Mixture:
    """Return what column generation makes of the dual and of some sets that a divided problem leads to."""
    rough = replace(effort.some(_SHARE), tolerance=_ROUGH)
    solved = _divided(problem, next(_cores(problem)), rough, found, None)
    ready = found or effort.first
    if ready is not None and effort.late():
        return replace(ready, bound=min(ready.bound, solved.bound))
    return _parted(problem, solved, replace(effort, tolerance=enough / 100), found, _EACH // 4, oracle)


@dataclass(frozen=True, eq=False)
class _Divided:
    """A solution of a divided problem: its vertices, bound, dual for all secrets; and columns of the whole problem."""

    split: Split
    vertices: Vertices
    bound: float
    dual: Dual
    known: Vertices


def _divided(problem: Problem, core: int, effort: Effort, found: Mixture | None, dual: Dual | None) -> _Divided:
    """Return the solution of the problem with so many secrets in the core, from what is known of the whole one."""
    split, known, bound = Split.of(problem, core), simple_start(problem), math.inf
    if found is not None:
        assert isinstance(found.vertices, Vertices)
        known, bound = joined([known, found.vertices]), found.bound
    seen, first = split.merged(known), None if dual is None else split.dual(dual)
    start = replace(uninformed(split.part, bound), seen=seen, dual=first)
    alone = replace(effort, wanted=None)  # what the divided problem reaches, channels need not
    solved = generate(split.part, SplittableRelaxation(split.part, effort), alone, start)
    assert isinstance(solved.vertices, Vertices)
    assert solved.dual is not None
    return _Divided(split, solved.vertices, solved.bound, split.whole(solved.dual), known)


def _parted(
    problem: Problem, solved: _Divided, effort: Effort, found: Mixture | None, each: int,
    oracle: Oracle[Vertices] | None = None,
) -> Mixture:  # fmt: skip
    """Return what column generation makes of random sets that part a divided tail, about so many for each secret."""
    rounding = RandomizedRounding(solved.split, solved.vertices, effort)
    seen = joined([solved.known, rounding.vertices(each, np.zeros(len(solved.split.tail)))])
    start = replace(uninformed(problem, solved.bound), seen=seen, dual=solved.dual)
    more = generate(problem, oracle or rounding, effort, start)
    return more if found is None else found.or_better(more, problem)


def _cores(problem: Problem) -> Iterator[int]:
    """Yield how many secrets to tell apart, ever more: at first those heavier than the mass that loses least."""
    p = problem.classes.probability
    capacity = problem.limits.capacity
    masses = problem.masses if capacity == math.inf else [1 / capacity, *(box.light for box in problem.shape.boxes)]
    core = int((p > min(masses)).sum())
    while core < len(p) - 1:
        yield core
        core += core // 2 + 4
    yield len(p) - 1


def of_sets(problem: Problem, sets: np.ndarray) -> list[Vertices]:
    """Return vertices with these sets at the upper level in families that have them, of a box what loses least."""
    mass = sets @ problem.classes.probability
    parts = [BoxPool(problem, box, sets).cheapest() for box in problem.shape.boxes]
    for pair in problem.shape.pairs:
        good = (mass >= pair.least) & (mass <= pair.most)
        parts.append(pair_vertices(pair, problem.classes, sets[good].astype(np.int64)))
    return parts
