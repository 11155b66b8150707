"""The definition, by brute force: all vertices of the lift polytope, from its inequalities alone, and a linear program.

Nothing here knows what a vertex looks like: every choice of active inequalities is solved and kept when it is feasible.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog


def polytope(p: np.ndarray, low: float, high: float, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (A, b) with A (v, M) <= b: bounds on lifts and ratios, and M at least every lift."""
    n = len(p)
    rows, bounds = [], []

    def add(row: dict[int, float], bound: float) -> None:
        line = np.zeros(n + 1)
        for i, value in row.items():
            line[i] = value
        rows.append(line)
        bounds.append(bound)

    for i in range(n):
        add({i: -1.0}, -low)
        add({i: 1.0, n: -1.0}, 0.0)
        for j in range(n):
            if ratio < math.inf and i != j:
                add({i: 1.0, j: -ratio}, 0.0)
    add({n: 1.0}, min(high, 1 / p.min()))
    return np.array(rows), np.array(bounds)


def vertices(p: np.ndarray, low: float, high: float, ratio: float) -> np.ndarray:
    """Return all vertices (v, M) of the polytope with sum P v = 1; at the top M alone may be larger than every lift."""
    n = len(p)
    a, b = polytope(p, low, high, ratio)
    mean = np.append(p, 0.0)
    found = []
    choices = np.array(list(itertools.combinations(range(len(b)), n)))
    for start in range(0, len(choices), 20_000):
        chosen = choices[start : start + 20_000]
        systems = np.concatenate([a[chosen], np.broadcast_to(mean, (len(chosen), 1, n + 1))], axis=1)
        right = np.concatenate([b[chosen], np.ones((len(chosen), 1))], axis=1)
        good = np.abs(np.linalg.det(systems)) > 1e-9
        points = np.linalg.solve(systems[good], right[good][:, :, None])[:, :, 0]
        found.append(points[(points @ a.T <= b + 1e-9).all(axis=1)])
    return np.unique(np.round(np.concatenate(found), 12), axis=0)


def optimum(p: np.ndarray, f: Callable[[np.ndarray], np.ndarray], points: np.ndarray, capacity: float) -> float:
    """Return the largest utility of a mixture of the points (v, M) that averages to 1 with mean M at most capacity."""
    lifts = points[:, :-1]
    utility = (p * f(np.maximum(lifts, 0.0))).sum(axis=1)
    limited = {"A_ub": points[:, -1:].T, "b_ub": [capacity]} if capacity < math.inf else {}
    tight = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    return -linprog(-utility, A_eq=lifts.T, b_eq=np.ones(len(p)), **limited, options=tight).fun


def box_points(p: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return points that contain all vertices under bounds alone: all coordinates but one at a bound."""
    points = []
    for between in range(len(p)):
        others = np.delete(np.arange(len(p)), between)
        for levels in itertools.product((low, high), repeat=len(others)):
            v = np.empty(len(p))
            v[others] = levels
            v[between] = (1 - p[others] @ v[others]) / p[between]
            if low - 1e-12 <= v[between] <= high + 1e-12:
                points.append(np.append(v, v.max()))
    return np.array(points)


def ratio_points(p: np.ndarray, ratio: float) -> np.ndarray:
    """Return the vertices under a bound on ratios alone: one set above, normalized."""
    sets = np.array(list(itertools.product((1.0, ratio), repeat=len(p))))
    lifts = sets / (sets @ p)[:, None]
    return np.column_stack([lifts, lifts.max(axis=1)])


def level_points(p: np.ndarray, low: float, high: float, ratio: float) -> np.ndarray:
    """Return points (v, M) that contain all vertices, for any N: with m the least and M the largest coordinate.

    The lifted polytope m <= v <= M has N + 2 coordinates and one equation, so N + 1 inequalities are active: all
    coordinates at m or M and one of m = low, M = high, M = ratio m; or all but one at m or M and two of those three.
    """
    n, high = len(p), min(high, 1 / p.min())
    sets = np.array(list(itertools.product((False, True), repeat=n)))
    mass = sets @ p
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = [(np.full(len(mass), low), (1 - low * (1 - mass)) / mass), ((1 - high * mass) / (1 - mass), high)]
        if ratio < math.inf:
            pairs.append((1 / (1 + (ratio - 1) * mass), ratio / (1 + (ratio - 1) * mass)))
        for m, top in pairs:
            found.append(np.where(sets, np.broadcast_to(top, mass.shape)[:, None], m[:, None]))
    corners = [(low, high)] + ([(low, ratio * low), (high / ratio, high)] if ratio < math.inf else [])
    for m, top in corners:
        levels = np.where(sets, top, m)
        for r in range(n):
            v = levels[~sets[:, r]].copy()
            v[:, r] = (1 - np.delete(v, r, axis=1) @ np.delete(p, r)) / p[r]
            found.append(v[(v[:, r] >= m - 1e-12) & (v[:, r] <= top + 1e-12)])
    v = np.concatenate(found)
    v = v[np.isfinite(v).all(axis=1) & (v >= low - 1e-10).all(axis=1) & (v <= high + 1e-10).all(axis=1)]
    v = v[np.abs(v @ p - 1) <= 1e-10]
    if ratio < math.inf:
        v = v[v.max(axis=1) <= ratio * v.min(axis=1) * (1 + 1e-10)]
    return np.column_stack([v, v.max(axis=1)])


def priced_optimum(p: np.ndarray, f: Callable[[np.ndarray], np.ndarray], points: np.ndarray, capacity: float) -> float:
    """Return what `optimum` returns, for many points: rows are added until none of all the points has an excess."""
    utility = (p * f(np.maximum(points[:, :-1], 0.0))).sum(axis=1)
    points = np.vstack([points, np.ones(len(p) + 1)])
    utility = np.append(utility, 0.0)
    chosen = np.unique(np.append(np.argsort(-utility)[:200], len(points) - 1))
    limited = capacity < math.inf
    tight = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
    while True:
        some = points[chosen]
        bounds = {"A_ub": some[:, -1:].T, "b_ub": [capacity]} if limited else {}
        found = linprog(-utility[chosen], A_eq=some[:, :-1].T, b_eq=np.ones(len(p)), **bounds, options=tight)
        excess = utility + points[:, :-1] @ found.eqlin.marginals
        if limited:
            excess += points[:, -1] * found.ineqlin.marginals[0]
        if excess.max() <= 1e-10:
            return -found.fun
        fresh = np.argsort(-excess)[:200]
        grown = np.union1d(chosen, fresh[excess[fresh] > 0])
        if len(grown) == len(chosen):
            return -found.fun
        chosen = grown
