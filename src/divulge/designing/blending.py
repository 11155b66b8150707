"""Many secrets: random sets whose mass fits almost exactly lose almost nothing, and a blend of them averages to 1.

With many more sets than secrets, the weights nearest to equal ones that average to 1 are positive; moving along null
vectors until a weight is 0 then leaves at most N of them. The bound is the one that no vertex exceeds.
"""

import numpy as np

from divulge.designing.generation import Mixture, ceiling_of
from divulge.designing.master import refined
from divulge.designing.nearby import BoxPool, Nearby
from divulge.designing.pricing import Problem
from divulge.designing.vertices import Box, Vertices, box_vertices, pair_utility, pair_vertices

FEWEST = 64
_SETS_EACH = 16


def blended(problem: Problem) -> Mixture | None:
    """Return a blend of sampled vertices of the best family, or None where none is found."""
    if problem.secrets < FEWEST or problem.limits.capacity < np.inf:
        return None
    near = Nearby(problem, sets_each=_SETS_EACH)
    vertices = max(_families(problem, near), key=lambda found: found[0])[1]
    weights = positive(vertices.lifts(problem.classes))
    if weights is None:
        return None
    losses = -vertices.utility(problem.classes, problem.utility)
    weights = purified(weights, vertices.lifts(problem.classes).T, losses)
    used = np.flatnonzero(weights > 0)
    kept = vertices.take(used)
    weights = refined(weights[used], kept.lifts(problem.classes))
    return Mixture(weights, kept, ceiling_of(problem), problem.classes, kept)


def _families(problem: Problem, near: Nearby) -> list[tuple[float, Vertices]]:
    """Return (what no vertex of the family exceeds, its sampled vertices)."""
    out = [(pool.box.chord(problem.utility), cheapest(pool)) for pool in near.boxes]
    for pool in near.pairs:
        mass = pool.sets @ near.p
        top = float(pair_utility(pool.pair, problem.utility, mass).max()) if len(mass) else -np.inf
        out.append((top, pair_vertices(pool.pair, problem.classes, pool.sets.astype(np.int64))))
    return out


def cheapest(pool: BoxPool) -> Vertices:
    """Return for each set of the pool the vertex that loses least."""
    order = np.lexsort((pool.loss, pool.row))
    first = order[np.unique(pool.row[order], return_index=True)[1]]
    sets = pool.sets[pool.row[first]].astype(np.int64)
    sets[np.arange(len(first)), pool.c[first]] = 0
    box: Box = pool.box
    return box_vertices(box, pool.problem.classes, sets, pool.c[first])


def positive(lifts: np.ndarray) -> np.ndarray | None:
    """Return weights > 0 with weights @ lifts = 1, near equal ones; None when a few rounds do not find them."""
    weights = np.full(len(lifts), 1 / len(lifts))
    for _ in range(30):
        scaled = lifts.T * weights
        step = np.linalg.solve(scaled @ lifts + 1e-15 * np.eye(lifts.shape[1]), 1 - weights @ lifts)
        trial = weights * (1 + lifts @ step)
        if (trial > 0).all():
            return trial
        weights = np.maximum(trial, 0.1 * weights)
    return None


def purified(weights: np.ndarray, columns: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return weights with at most as many positive ones as `columns` has rows, the same blend, and no more loss.

    Blocks of columns are reduced one after another: along a null vector of the block, oriented so that the loss does
    not grow, until a weight reaches 0; that column leaves the other null vectors too.
    """
    rows, many = columns.shape
    out, active = weights.copy(), np.arange(0)
    for start in range(0, many, rows):
        fresh = np.arange(start, min(start + rows, many))
        null = _null(columns[:, active], columns[:, fresh])
        active = np.concatenate([active, fresh])
        w = out[active]
        alive = np.ones(len(active), dtype=bool)
        for last in range(null.shape[1] - 1, -1, -1):
            z = null[:, last] * alive
            z = -z if losses[active] @ z > 0 else z
            falling = np.flatnonzero(z < -1e-12 * np.abs(z).max())
            if not len(falling):
                continue
            ratios = w[falling] / -z[falling]
            j = int(falling[np.argmin(ratios)])
            w = np.maximum(w + float(ratios.min()) * z, 0.0)
            w[j], alive[j] = 0.0, False
            null[:, :last] -= np.outer(null[:, last], null[j, :last] / null[j, last])
        out[active] = w
        active = active[w > 0]
    return out


def _null(basis: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Return a basis of the null vectors of [basis, fresh]; from a linear solve when `basis` is square and sound."""
    if basis.shape[0] == basis.shape[1]:
        try:
            inner = np.linalg.solve(basis, fresh)
        except np.linalg.LinAlgError:
            inner = np.full_like(fresh, np.inf)
        if np.abs(inner).max() < 1e6:
            return np.concatenate([-inner, np.eye(fresh.shape[1])])
    both = np.concatenate([basis, fresh], axis=1)
    return np.linalg.qr(both.T, mode="complete")[0][:, min(both.shape) :]
