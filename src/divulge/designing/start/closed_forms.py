"""Mechanisms known in closed form: nothing to say, a polytope that is a simplex, two secrets, equal secrets.

Of scores, the probability of the truth: under a bound on ratios, and under one on the capacity.
"""

import math
from collections.abc import Callable

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.score_program import Dual, Scoring, Solution, bound_of
from divulge.designing.linear.truth import filled, truthful
from divulge.designing.master.column_generation import Mixture, uninformed
from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.secant_bounds import ranges
from divulge.designing.polytope.vertices import Vertices, box_vertices, joined, pair_vertices
from divulge.designing.pricing.problem import Problem

_EDGE = 1e-13
"""How near counts as equal: the masses that are compared are sums of up to some hundred doubles."""
_TIGHT = 1e-11
"""By so much the channel of the relaxation may miss limits and bound: its fit goes on until rounding ends it."""


def _optimal(problem: Problem, weights: np.ndarray, vertices: Vertices) -> Mixture:
    value = math.fsum((weights * vertices.utility(problem.classes, problem.utility)).tolist())
    doubt = float(weights @ vertices.doubt(problem.classes, problem.utility, problem.unit))
    rounding = problem.secrets * 1e-14 * abs(value) + 4 * doubt
    return Mixture(weights, vertices, value + rounding, problem.classes)


def nothing(problem: Problem) -> Mixture | None:
    """Return the channel that says nothing when the limits leave no other."""
    return uninformed(problem, 0.0) if problem.limits.trivial or problem.secrets == 1 else None


def simplex(problem: Problem) -> Mixture | None:
    """Return the N vertices of the polytope when it is a simplex: outcome r moves secret r alone, with weight P_r.

    High privacy (high <= 1 / (1 - p_min)): C_rr = 1 - high (1 - P_r), C_xr = high P_r. Bounds from below only (PMC):
    C = (1 - low) I + low 1 P^T. One mixture averages to 1, so it is optimal for every sub-convex utility.
    """
    classes = problem.classes
    if min(problem.limits.ratio, problem.limits.capacity) < math.inf:
        return None
    box = problem.shape.boxes[0]
    edge, own = float(classes.probability.min()) * (1 + _EDGE), np.arange(len(classes.size))
    if min(box.t, 1 - box.t) > edge:
        return None
    counts = np.zeros((len(own), len(own)), dtype=np.int64)
    if box.t > edge:
        counts += classes.size
        counts[own, own] -= 1
    vertices = box_vertices(box, classes, counts, own)
    return _optimal(problem, classes.probability * classes.size, vertices)


def binary(problem: Problem) -> Mixture | None:
    """Return the two ends of the segment of lift vectors of two secrets, weighted so that they average to 1."""
    classes, limits = problem.classes, problem.limits
    if problem.secrets != 2 or len(classes.size) != 2 or limits.capacity < math.inf:
        return None
    (rise, other), _ = ranges(classes, limits)
    p, q = classes.probability.tolist()
    fall = other * q / p
    if not rise + fall > 0:
        return None
    weight = fall / (rise + fall)
    first = np.maximum([1 + rise, 1 - fall], 0.0)
    second = np.maximum([1 - rise * p / q, 1 + other], 0.0)
    own = np.array([[1, 0], [1, 0]])
    vertices = Vertices(own, np.array([-1, -1]), second, second, first)
    return Mixture(np.array([weight, 1 - weight]), vertices, problem.secant[0], classes)


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


def closed(problem: Problem, _effort: Effort = NO_HURRY) -> Mixture | None:
    """Return the mixture of the first closed form that applies, None where none does."""
    return next((found for form in FORMS if (found := form(problem)) is not None), None)


def _hamming(scoring: Scoring) -> np.ndarray | None:
    """Return the prior when the score is the probability of the truth under one prior; None for all other scores."""
    n, m = scoring.scores.shape
    one = len(scoring.judges) == len(scoring.guards) == 1 and not scoring.loose.any()
    plain = n == m and one and bool((scoring.scores == np.eye(n)).all())
    return scoring.reference if plain and (scoring.judges == scoring.guards).all() else None


def _rounded_up(channel: np.ndarray, value: float) -> Solution:
    return Solution(channel, value * (1 + 1e-15 * len(channel)))


def likeliest_response(scoring: Scoring, _effort: Effort = NO_HURRY) -> Solution | None:
    """Return randomized response on the k likeliest secrets, one of which all others say, for the best k.

    Under a bound r on ratios the truth is told with probability max_k r P(k likeliest) / (r + k - 1).
    """
    p, limits = _hamming(scoring), scoring.limits
    if p is None or limits.ratio == math.inf or limits.capacity < math.inf or _binds(limits, p):
        return None
    n, r = len(p), limits.ratio
    order = np.argsort(-p, kind="stable")
    values = r * np.cumsum(p[order]) / (r + np.arange(n))
    k = int(values.argmax()) + 1
    told = order[:k]
    channel = np.zeros((n, n))
    channel[:, told] = 1 / k
    channel[np.ix_(told, told)] = (1 + (r - 1) * np.eye(k)) / (r + k - 1)
    return _rounded_up(channel, float(values[k - 1]))


def _binds(limits: Limits, p: np.ndarray) -> bool:
    """Whether the bounds on the lift say more than the ratio and the mean do."""
    return limits.low > 0 or limits.high * float(p.min()) < 1 - _EDGE


def disclosed(scoring: Scoring, _effort: Effort = NO_HURRY) -> Solution | None:
    """Return the likeliest secrets as they are, the rest as the likeliest: optimal under a bound on the capacity.

    The truth of y is told with probability at most max_x C_xy, and these add up to the capacity.
    """
    p, limits = _hamming(scoring), scoring.limits
    if p is None or limits.ratio < math.inf or _binds(limits, p):
        return None
    channel = disclosure(p, min(limits.capacity, float(len(p))))
    return _rounded_up(channel, math.fsum((p * np.diag(channel)).tolist()))


def disclosure(p: np.ndarray, outcomes: float) -> np.ndarray:
    """Return the likeliest secrets as they are, so many as there are outcomes (one in part), the rest as the first."""
    n, order = len(p), np.argsort(-p, kind="stable")
    share = np.clip(outcomes - np.arange(n), 0.0, 1.0)
    channel = np.zeros((n, n))
    channel[order, order] = share
    channel[order, order[0]] += 1 - share
    return channel


def truth_told(scoring: Scoring, effort: Effort = NO_HURRY) -> Solution | None:
    """Return the channel of the relaxation in 2 N numbers, where it keeps all limits and reaches its bound in time."""
    p, limits = _hamming(scoring), scoring.limits
    if p is None or limits.trivial:
        return None
    channel, bound = truthful(p, limits, effort)
    if channel is None:
        return None
    lacks = np.abs(channel.sum(axis=1) - 1).max() > _TIGHT or bound - float(p @ np.diag(channel)) > _TIGHT * bound
    return None if lacks or not limits.nearly_kept(channel, p, _TIGHT) else Solution(channel, bound)


def truth_told_alike(scoring: Scoring, _effort: Effort = NO_HURRY) -> Solution | None:
    """Return a channel that tells all N secrets with the same probability t, where the least of these cannot be more.

    Under a bound h on the lift sum_y C_yy <= h, so that t <= h / N, which equally likely outcomes reach where the rest
    can be filled in. Under a bound r on ratios 1 >= C_xx + sum_y C_yy / r over y other than x, so that t <= r / (r + N
    - 1), by randomized response. Bounds are those of these duals, and the channel is checked.
    """
    n, m = scoring.scores.shape
    plain = n == m > 1 and scoring.priced and bool((scoring.scores == np.eye(n)).all())
    if not plain or len(scoring.judges) != n or (scoring.judges != np.eye(n)).any() or scoring.limits.trivial:
        return None
    p, limits, shares = scoring.reference, scoring.limits, np.ones(n) / n
    for t, paid in ((limits.high / n, 0.0), (limits.ratio / (limits.ratio + n - 1), 1.0)):
        if not t < 1:
            continue
        if paid:
            channel = (1 - t) / (n - 1) + (t - (1 - t) / (n - 1)) * np.eye(n)
        else:
            channel = filled(p, np.full(n, t), shares, limits.low)
        lacks = np.abs(channel.sum(axis=1) - 1).max() > _TIGHT or channel.min() < 0
        if not lacks and limits.nearly_kept(channel, p, _TIGHT * t):
            none = np.zeros((1, n))
            bound = bound_of(scoring, Dual(paid * t * shares, none, none, 0.0, shares))
            if bound - t <= _TIGHT * t:
                return Solution(channel, bound)
    return None


def truth_bound(scoring: Scoring, effort: Effort = NO_HURRY) -> float:
    """Return an upper bound of the probability of the truth, inf for all other scores."""
    p = _hamming(scoring)
    return math.inf if p is None else truthful(p, scoring.limits, effort)[1]


SCORED: tuple[Callable[[Scoring, Effort], Solution | None], ...] = (
    likeliest_response, disclosed, truth_told, truth_told_alike
)  # fmt: skip
"""Of linear scores: tried in this order; each gives None where it does not apply."""


def closed_score(scoring: Scoring, effort: Effort = NO_HURRY) -> Solution | None:
    """Return the solution of the first closed form that applies to scores, None where none does."""
    return next((found for form in SCORED if (found := form(scoring, effort)) is not None), None)
