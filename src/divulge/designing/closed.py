"""Mechanisms known in closed form: nothing to say, a polytope that is a simplex, two secrets, equal secrets."""

import math
from collections.abc import Callable

import numpy as np

from divulge.designing.generation import Mixture
from divulge.designing.limits import Limits
from divulge.designing.pricing import Problem, silence
from divulge.designing.vertices import Vertices, box_vertices, joined, pair_vertices

_EDGE = 1e-13


def _optimal(problem: Problem, weights: np.ndarray, vertices: Vertices) -> Mixture:
    value = math.fsum((weights * vertices.utility(problem.classes, problem.utility)).tolist())
    return Mixture(weights, vertices, value + 1e-14 * problem.secrets * max(abs(value), 1e-300), problem.classes)


def nothing(problem: Problem) -> Mixture | None:
    """Return the channel that says nothing when the limits leave no other."""
    return (
        Mixture(np.ones(1), silence(problem), 0.0, problem.classes)
        if problem.limits.trivial or problem.secrets == 1
        else None
    )


def _only_box(limits: Limits) -> bool:
    return limits.ratio == math.inf and limits.capacity == math.inf


def simplex(problem: Problem) -> Mixture | None:
    """Return the N vertices of the polytope when it is a simplex: outcome r moves secret r alone, with weight P_r.

    High privacy (high <= 1 / (1 - p_min)): C_rr = 1 - high (1 - P_r), C_xr = high P_r. Bounds from below only (PMC):
    C = (1 - low) I + low 1 P^T. One mixture averages to 1, so it is optimal for every sub-convex utility.
    """
    classes = problem.classes
    if not _only_box(problem.limits):
        return None
    box = problem.shape.boxes[0]
    p_min = float(classes.probability.min())
    own = np.eye(len(classes.size), dtype=np.int64)
    if box.t <= p_min * (1 + _EDGE):
        counts = 0 * own
    elif 1 - box.t <= p_min * (1 + _EDGE):
        counts = classes.size - own
    else:
        return None
    vertices = box_vertices(box, classes, counts, np.arange(len(own)))
    return _optimal(problem, classes.probability * classes.size, vertices)


def binary(problem: Problem) -> Mixture | None:
    """Return the two ends of the segment of lift vectors of two secrets, weighted so that they average to 1."""
    classes, limits = problem.classes, problem.limits
    if problem.secrets != 2 or len(classes.size) != 2 or limits.capacity < math.inf:
        return None

    def highest(p: float) -> float:
        q = 1 - p
        bounds = [limits.high, (1 - limits.low * q) / p]
        return min(bounds + ([limits.ratio / (p * limits.ratio + q)] if limits.ratio < math.inf else []))

    p, q = classes.probability.tolist()
    up = highest(p)
    down = (1 - q * highest(q)) / p
    if not up > down:
        return None
    weight = (1 - down) / (up - down)
    first = np.array([up, down])
    second = (1 - p * first) / q
    own = np.array([[1, 0], [1, 0]])
    return _optimal(problem, np.array([weight, 1 - weight]), Vertices(own, np.array([-1, -1]), second, second, first))


def uniform(problem: Problem) -> Mixture | None:
    """Return the best single vertex of equal secrets, moved round them: every vertex averages to 1 on its own.

    Under bounds it has floor(N t) secrets at `high` and one in between; under a ratio the best number at the upper
    level is found by trying all.
    """
    classes = problem.classes
    if len(classes.size) > 1 or problem.limits.capacity < math.inf:
        return None
    size, parts = problem.secrets, []
    for box in problem.shape.boxes:
        most = np.array([[min(size - 1, math.floor(box.t * size + _EDGE))]])
        parts.append(box_vertices(box, classes, most, np.array([0])))
    for pair in problem.shape.pairs:
        counts = np.arange(1, size)[:, None]
        mass = counts[:, 0] / size
        counts = counts[(mass >= pair.least - _EDGE) & (mass <= pair.most + _EDGE)]
        parts.append(pair_vertices(pair, classes, counts))
    vertices = joined(parts)
    best = int(np.argmax(vertices.utility(classes, problem.utility)))
    return _optimal(problem, np.ones(1), vertices.take(np.array([best])))


FORMS: tuple[Callable[[Problem], Mixture | None], ...] = (nothing, simplex, binary, uniform)
"""Tried in this order; each gives None where it does not apply."""
