"""Many secrets: random sets whose mass fits almost exactly lose almost nothing, and a mixture of them averages to 1.

With many more sets than secrets, the weights nearest to equal ones that average to 1 are positive; moving along null
vectors until a weight is 0 then leaves at most N of them. The bound is the one that no vertex exceeds.
"""

import math

import numpy as np

from divulge import clock
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.master.caratheodory import purified
from divulge.designing.master.column_generation import Mixture
from divulge.designing.master.restricted_master import Dual, refined
from divulge.designing.polytope.vertices import Vertices, joined, pair_utility, pair_vertices
from divulge.designing.pricing.problem import Problem
from divulge.designing.pricing.ratio_grid import Windows
from divulge.designing.pricing.subset_sums import BoxPool

FEWEST = 128
"""With fewer secrets column generation ends after as few steps, with a smaller gap."""
_SETS_EACH = (4, 16)
"""Random sets for each secret, 48 in a draw of halves; more only where a gap is left. A heuristic: four leave 1e-8 to
1e-6 of even weights, and under Zipf's law 1e-3, sixteen 1e-5; they take four times as long."""
_GROWTH = 5.0
"""How many times as long the larger number takes; more than four, as it is measured once and machines are shared."""
_PANEL = 2_048
"""Sets whose products are added up between two looks at the time: 0.3 s at 2,000 secrets."""
_FREE = 44
"""Secrets that the two halves have together at least: their sums lie so close that some pair meets the target."""
_DRAWS = 2_048
"""Random subsets of each half: four million pairs of sums, which sorting finds in 2,048 steps."""
_OFF = 1e-9
"""How far the mean lift of a secret may be from 1: where no set holds a secret high, no mixture averages to 1."""


def of_random_sets(problem: Problem, effort: Effort, enough: float) -> Mixture | None:
    """Return a convex combination of sampled vertices of the best family, or None where none is found.

    More sets are drawn until the relative gap is small enough.
    """
    if problem.secrets < FEWEST or problem.limits.capacity < np.inf:
        return None
    best: Mixture | None = None
    took = 0.0
    for each in _SETS_EACH:
        if effort.late() or effort.left < _GROWTH * took:
            break
        started = clock.now()
        found = _mixed(problem, each, effort)
        took = clock.now() - started
        best = best.or_better(found, problem) if best and found else best or found
        if best is not None and best.settled(problem, enough):
            break
    return best


def _mixed(problem: Problem, each: int, effort: Effort) -> Mixture | None:
    """Return a convex combination of so many sampled vertices for each secret, None where none is found in time."""
    vertices = max(_families(problem, each, effort), key=lambda found: found[0])[1]
    weights = positive(vertices.lifts(problem.classes), effort) if len(vertices) else None
    if weights is None or effort.late():
        return None
    losses = -vertices.utility(problem.classes, problem.utility)
    weights = purified(weights, vertices.lifts(problem.classes).T, losses, effort)
    used = np.flatnonzero(weights > 0)
    kept = vertices.take(used)
    weights = refined(weights[used], kept.lifts(problem.classes))
    return Mixture(weights, kept, problem.bound, problem.classes, vertices)


def _families(problem: Problem, each: int, effort: Effort) -> list[tuple[float, Vertices]]:
    """Return (what no vertex of the family exceeds, its sampled vertices)."""
    p, random, out = problem.classes.probability, np.random.default_rng(0), list[tuple[float, Vertices]]()
    for box in problem.shape.boxes:
        sets = _sampled(p, box.t, each, random, effort)
        out.append((box.secant(problem.utility), BoxPool(problem, box, sets).cheapest()))
    for pair in problem.shape.pairs:
        sets = _sampled(p, problem.best_mass(pair), each, random, effort)
        mass = sets @ p
        sets = sets[(mass >= pair.least) & (mass <= pair.most)]
        top = float(pair_utility(pair, problem.utility, sets @ p).max(initial=-np.inf))
        out.append((top, pair_vertices(pair, problem.classes, sets.astype(np.int64))))
    return out


class SampledSets:
    """Prices vertices of boxes near sampled sets, of which nothing is known of others; pairs of levels on grids."""

    def __init__(self, problem: Problem, work: float, effort: Effort) -> None:
        p, random = problem.classes.probability, np.random.default_rng(0)
        self.problem = problem
        sets = [_sampled(p, box.t, _SETS_EACH[-1], random, effort) for box in problem.shape.boxes]
        self.boxes = [BoxPool(problem, *one) for one in zip(problem.shape.boxes, sets, strict=True)]
        self.pairs = [Windows(problem, pair, work, effort) for pair in problem.shape.pairs]

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertices, and inf."""
        parts = [box.price(dual, 4 * self.problem.secrets, self.problem.least)[0] for box in self.boxes]
        return joined(parts + [pair.price(dual, enough)[0] for pair in self.pairs]), math.inf


def _sampled(p: np.ndarray, target: float, each: int, random: np.random.Generator, effort: Effort) -> np.ndarray:
    """Return random sets of nearly the target mass, about so many for each secret.

    They are subsets of two halves that meet in the middle, beside others.
    """
    light, size, found = min(target, 1 - target), len(p), []
    many = min(2 * size // 3, max(_FREE, math.ceil(_FREE / 4 / max(light, 1 / size))))
    for _ in range(max(8, each * size // 48)):
        order = random.permutation(size)
        first, second, others = order[:many:2], order[1:many:2], order[many:]
        (left, a), (right, b) = (_drawn(random, p[half], light, _DRAWS) for half in (first, second))
        for fixed in _drawn(random, p[others], light, 24)[0]:
            i, j = nearest(a, b, light - float(p[others[fixed]].sum()), 2)
            sets = np.zeros((len(i), size), dtype=bool)
            sets[:, others] = fixed
            sets[:, first], sets[:, second] = left[i], right[j]
            found.append(sets)
        if not effort.spend():
            break
    sets = np.concatenate(found)
    return sets if light == target else ~sets


def _drawn(random: np.random.Generator, p: np.ndarray, share: float, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (random subsets whose mean mass is a share of the whole, their masses), ascending."""
    order = random.random((many, len(p))).argsort(axis=1)
    steps = p[order]
    sets = np.empty(order.shape, dtype=bool)
    kept = np.cumsum(steps, axis=1) - random.random((many, 1)) * steps < share * float(p.sum())
    np.put_along_axis(sets, order, kept, axis=1)
    sums = sets @ p
    order = np.argsort(sums, kind="stable")
    return sets[order], sums[order]


def nearest(left: np.ndarray, right: np.ndarray, target: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (i, j) of the `most` pairs whose sums lie nearest the target, one for each j at most."""
    i = np.clip(np.searchsorted(left, target - right), 1, len(left) - 1)
    i = np.where(np.abs(left[i] + right - target) < np.abs(left[i - 1] + right - target), i, i - 1)
    best = np.argsort(np.abs(left[i] + right - target))[:most]
    return i[best], best


def positive(lifts: np.ndarray, effort: Effort = NO_HURRY) -> np.ndarray | None:
    """Return weights > 0 with weights @ lifts = 1, near equal ones; None when a few rounds do not find them in time."""
    weights = np.full(len(lifts), 1 / len(lifts))
    for _ in range(30):
        moments = 1e-15 * np.eye(lifts.shape[1])
        for start in range(0, len(lifts), _PANEL):
            part = lifts[start : start + _PANEL]
            moments += (part.T * weights[start : start + _PANEL]) @ part
            if not effort.spend():
                return None
        try:
            step = np.linalg.solve(moments, 1 - weights @ lifts)
        except np.linalg.LinAlgError:
            return None
        trial = weights * (1 + lifts @ step)
        if (trial > 0).all():
            return trial if np.abs(1 - trial @ lifts).max() < _OFF else None
        weights = np.maximum(trial, 0.1 * weights)
    return None
