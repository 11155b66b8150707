"""Many secrets: random sets whose mass fits almost exactly lose almost nothing, and a mixture of them averages to 1.

With many more sets than secrets, the weights nearest to equal ones that average to 1 are positive; moving along null
vectors until a weight is 0 then leaves at most N of them. The bound is the one that no vertex exceeds.
"""

import math

import numpy as np

from divulge.designing.effort import Effort
from divulge.designing.master.caratheodory import purified
from divulge.designing.master.column_generation import Mixture
from divulge.designing.master.restricted_master import Dual, refined
from divulge.designing.polytope.vertices import Vertices, joined, pair_utility, pair_vertices
from divulge.designing.pricing.problem import Problem
from divulge.designing.pricing.ratio_grid import Windows
from divulge.designing.pricing.subset_sums import BoxPool

FEWEST = 128
"""With fewer secrets column generation ends after as few steps, with a smaller gap."""
_SETS_EACH = 16
"""Random sets for each secret, 48 in a draw of halves. A heuristic: with more, a smaller gap and a larger program."""
_FREE = 44
"""Secrets that the two halves have together at least: their sums lie so close that some pair meets the target."""
_DRAWS = 2_048
"""Random subsets of each half: four million pairs of sums, which sorting finds in 2,048 steps."""
_OFF = 1e-9
"""How far the mean lift of a secret may be from 1: where no set holds a secret high, no mixture averages to 1."""


def of_random_sets(problem: Problem, effort: Effort) -> Mixture | None:
    """Return a convex combination of sampled vertices of the best family, or None where none is found."""
    if problem.secrets < FEWEST or problem.limits.capacity < np.inf or effort.late():
        return None
    vertices = max(_families(problem, effort), key=lambda found: found[0])[1]
    weights = positive(vertices.lifts(problem.classes)) if len(vertices) else None
    if weights is None or effort.late():
        return None
    losses = -vertices.utility(problem.classes, problem.utility)
    weights = purified(weights, vertices.lifts(problem.classes).T, losses, effort)
    used = np.flatnonzero(weights > 0)
    kept = vertices.take(used)
    weights = refined(weights[used], kept.lifts(problem.classes))
    return Mixture(weights, kept, problem.bound, problem.classes, vertices)


def _families(problem: Problem, effort: Effort) -> list[tuple[float, Vertices]]:
    """Return (what no vertex of the family exceeds, its sampled vertices)."""
    p, random, out = problem.classes.probability, np.random.default_rng(0), list[tuple[float, Vertices]]()
    for box in problem.shape.boxes:
        sets = _sampled(p, box.t, random, effort)
        out.append((box.secant(problem.utility), BoxPool(problem, box, sets).cheapest()))
    for pair in problem.shape.pairs:
        sets = _sampled(p, problem.best_mass(pair), random, effort)
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
        self.boxes = [BoxPool(problem, box, _sampled(p, box.t, random, effort)) for box in problem.shape.boxes]
        self.pairs = [Windows(problem, pair, work, effort) for pair in problem.shape.pairs]

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return the best vertices, and inf."""
        parts = [box.price(dual, 4 * self.problem.secrets, self.problem.least)[0] for box in self.boxes]
        return joined(parts + [pair.price(dual, enough)[0] for pair in self.pairs]), math.inf


def _sampled(p: np.ndarray, target: float, random: np.random.Generator, effort: Effort) -> np.ndarray:
    """Return random sets of nearly the target mass: subsets of two halves that meet in the middle, beside others."""
    light, size, found = min(target, 1 - target), len(p), []
    many = min(2 * size // 3, max(_FREE, math.ceil(_FREE / 4 / max(light, 1 / size))))
    for _ in range(max(8, _SETS_EACH * size // 48)):
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


def positive(lifts: np.ndarray) -> np.ndarray | None:
    """Return weights > 0 with weights @ lifts = 1, near equal ones; None when a few rounds do not find them."""
    weights = np.full(len(lifts), 1 / len(lifts))
    for _ in range(30):
        scaled = lifts.T * weights
        try:
            step = np.linalg.solve(scaled @ lifts + 1e-15 * np.eye(lifts.shape[1]), 1 - weights @ lifts)
        except np.linalg.LinAlgError:
            return None
        trial = weights * (1 + lifts @ step)
        if (trial > 0).all():
            return trial if np.abs(1 - trial @ lifts).max() < _OFF else None
        weights = np.maximum(trial, 0.1 * weights)
    return None
