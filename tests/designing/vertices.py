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
