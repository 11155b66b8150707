"""The corners of a set of priors, and the extreme rays of a cone of columns."""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.polytope.limits import Limits
from divulge.errors import DivulgeError
from divulge.measures.robust import ConvexHull, L1Ball, LowerBounded, Polytope, PriorSet

MOST_SUBSETS = 20_000
"""Subsets that are tried for corners at most."""
MOST_RAYS = 1_000
"""Extreme rays of a cone at most."""
_SAME = 12
"""Digits to which corners are told apart."""


def _of_bounded(priors: LowerBounded) -> np.ndarray:
    n, floor = len(priors.secrets), Fraction(priors.least_probability)
    return floor + (1 - n * floor) * exact.as_fractions(np.eye(n, dtype=int))


def _of_ball(priors: L1Ball) -> np.ndarray:
    """Return the center after radius / 2 moved to one secret: from some that are emptied, the rest from one more."""
    center, half = exact.as_fractions(priors.center.probabilities), Fraction(priors.radius) / 2
    center = center / sum(center.tolist())
    n, found = len(center), list[np.ndarray]()
    _few(n * n * 2 ** (n - 1), MOST_SUBSETS, "subsets")
    for to in range(n):
        others = [x for x in range(n) if x != to]
        if center[others].sum() <= half:
            found.append(exact.as_fractions(np.eye(n, dtype=int))[to])
            continue
        for emptied in chain.from_iterable(combinations(others, k) for k in range(n)):
            rest = half - sum(center[list(emptied)].tolist())
            if rest < 0:
                continue
            for last in others:
                if last not in emptied and center[last] >= rest:
                    corner = center.copy()
                    corner[list(emptied)] = Fraction(0)
                    corner[last] -= rest
                    corner[to] += half
                    found.append(corner)
    return np.array(found)


def _of_polytope(priors: Polytope) -> np.ndarray:
    """Return the basic solutions of A P + s = b, sum P = 1 that are nowhere negative."""
    a, b = exact.as_floats(priors.matrix), exact.as_floats(priors.bounds)
    k, n = a.shape
    rows = np.block([[a, np.eye(k)], [np.ones((1, n)), np.zeros((1, k))]])
    size = np.abs(rows[:k]).max(axis=1, initial=1.0)
    target = np.append(b, 1.0)
    _few(math.comb(n + k, k + 1), MOST_SUBSETS, "subsets")
    found: list[np.ndarray] = []
    for basis in combinations(range(n + k), k + 1):
        square = rows[:, basis]
        if np.linalg.matrix_rank(square) <= k:
            continue
        whole = np.zeros(n + k)
        whole[list(basis)] = np.linalg.solve(square, target)
        if (whole[:n] >= -1e-12).all() and (whole[n:] >= -1e-12 * size).all():
            found.append(np.maximum(whole[:n], 0.0))
    return exact.as_fractions(found)


def _of_hull(priors: ConvexHull) -> np.ndarray:
    rows = exact.as_fractions(priors.corners)
    return rows / rows.sum(axis=1)[:, None]


CORNERS: dict[type[PriorSet], Callable[[Any], np.ndarray]] = {
    LowerBounded: _of_bounded,
    L1Ball: _of_ball,
    Polytope: _of_polytope,
    ConvexHull: _of_hull,
}
"""Kind of set -> its corners in fractions, shape (K, N)."""


def corners_of(priors: PriorSet) -> np.ndarray:
    """Return the corners of a set of priors in fractions, each once, and maybe a few priors more; shape (K, N)."""
    if type(priors) not in CORNERS:
        known = ", ".join(kind.__name__ for kind in CORNERS)
        raise DivulgeError.of("prior", f"be a prior or one of the sets {known}", "it", f"a {type(priors).__name__}")
    found = CORNERS[type(priors)](priors)
    return found[np.unique(exact.as_floats(found).round(_SAME), axis=0, return_index=True)[1]]


def _few(many: int, most: int, what: str) -> None:
    """Refuse a set of priors that takes more than so many of something."""
    if many > most:
        raise DivulgeError.of(
            "prior", f"be a set that takes at most {most:,} {what} for this utility", "it", f"one that takes {many:,}",
            'ask for fewer secrets, or for expected scores, such as "hamming".',
        )  # fmt: skip


def rays_of(limits: Limits, corners: np.ndarray, effort: Effort = NO_HURRY) -> np.ndarray:
    """Return the extreme rays of the columns w >= 0 that keep limits under all corners, sums 1, shape (R, N).

    Under a bound on the capacity those of each part of the cone where one secret has the largest entry. Refuses to go
    on once the time is over.
    """
    n = corners.shape[1]
    unit, priors = exact.as_fractions(np.eye(n, dtype=int)), corners

    def shared() -> Iterator[np.ndarray]:
        """Yield one limit after the other: for many secrets the first few decide that there are too many rays."""
        if limits.high < math.inf:
            yield from (Fraction(limits.high) * prior - one for prior in priors for one in unit)
        if limits.low > 0:
            yield from (one - Fraction(limits.low) * prior for prior in priors for one in unit)
        if limits.ratio < math.inf:
            yield from (Fraction(limits.ratio) * one - other for one in unit for other in unit)

    def each(largest: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        for row in chain(largest, (row for row in shared() if (row < 0).any())):
            clock.in_time(
                effort.deadline, "for the extreme columns of a set",
                "take a linear utility, such as hamming, or fewer secrets.",
            )  # fmt: skip
            yield row

    parts = [[]] if limits.capacity == math.inf else [[unit[x] - unit[z] for z in range(n) if z != x] for x in range(n)]
    found = [extreme_rays(each(largest), n) for largest in parts]
    return np.unique(np.vstack(found), axis=0)


def extreme_rays(rows: Iterable[np.ndarray], n: int) -> np.ndarray:
    """Return the extreme rays, sums 1, of the cone of w >= 0 with row @ w >= 0 for each row of fractions, shape (R, n).

    The double description method in integers (Motzkin, Raiffa, Thompson, Thrall, 1953): each row cuts off rays, and
    what joins those to adjacent ones that stay meets it in a new one.
    """
    rays, tight = np.eye(n, dtype=int).astype(object), ~np.eye(n, dtype=bool)
    for row in rows:
        common = math.lcm(*(v.denominator for v in row.tolist()))
        values = rays @ np.array([int(v * common) for v in row.tolist()], dtype=object)
        out = np.flatnonzero(values < 0)
        if not len(out):
            continue
        inside = np.flatnonzero(values > 0)
        pairs = [(a, b) for a in inside.tolist() for b in _adjacent(tight, a, out, n)]
        _few(len(pairs) + len(rays) - len(out), MOST_RAYS, "extreme columns")
        made = [_reduced(values[a] * rays[b] - values[b] * rays[a]) for a, b in pairs]
        shared = [tight[a] & tight[b] for a, b in pairs]
        stay = np.flatnonzero(values >= 0)
        on = np.append((values[stay] == 0).astype(bool), np.ones(len(pairs), dtype=bool))
        rays = np.vstack([rays[stay], *(ray[None, :] for ray in made)])
        tight = np.column_stack([np.vstack([tight[stay], *(one[None, :] for one in shared)]), on])
    return np.array([[float(Fraction(v, total)) for v in ray] for ray in rays.tolist() for total in [sum(ray)]])


def _adjacent(tight: np.ndarray, a: int, others: np.ndarray, n: int) -> list[int]:
    """Return the rays among others that no third ray parts from ray `a`: none is on all that both are on."""
    common = tight[others] & tight[a]
    likely = common.sum(axis=1) >= n - 2
    others, common = others[likely], common[likely]
    with np.errstate(invalid="ignore"):  # small products in single precision have raised the flag for zeros and ones
        on = tight.astype(np.float32) @ common.T.astype(np.float32)
    return others[(on == common.sum(axis=1)).sum(axis=0) == 2].tolist()


def _reduced(ray: np.ndarray) -> np.ndarray:
    return ray // math.gcd(*ray.tolist())
