"""The definition in sixty digits, with `mp.workdps(60)`: all vertices of the lift polytope, and the simplex method."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

_TINY = mp.mpf(10) ** -45


def precise_points(p: Sequence[Any], low: Any, high: Any, ratio: Any) -> list[list[Any]]:
    """Return lift vectors that contain all vertices: see `vertices.level_points`."""
    n, found = len(p), []
    high = min(high, 1 / min(p))
    corners = [(low, high)] + ([(low, ratio * low), (high / ratio, high)] if ratio < mp.inf else [])
    for held in itertools.product((False, True), repeat=n):
        mass = mp.fsum(x for x, up in zip(p, held, strict=True) if up)
        levels = [(low, (1 - low * (1 - mass)) / mass)] if mass > 0 else []
        levels += [((1 - high * mass) / (1 - mass), high)] if mass < 1 - _TINY else []
        levels += [(1 / (1 + (ratio - 1) * mass), ratio / (1 + (ratio - 1) * mass))] if ratio < mp.inf else []
        found += [[b if up else a for up in held] for a, b in levels]
        for a, b in corners:
            for r in itertools.compress(range(n), [not up for up in held]):
                v = [b if up else a for up in held]
                v[r] = (1 - mp.fsum(x * y for i, (x, y) in enumerate(zip(p, v, strict=True)) if i != r)) / p[r]
                found.append(v)

    def inside(v: list[Any]) -> bool:
        bottom, top = min(v), max(v)
        mean = mp.fsum(x * y for x, y in zip(p, v, strict=True))
        between = low - _TINY * high <= bottom and top <= high * (1 + _TINY) and abs(mean - 1) < _TINY * high
        return between and (ratio == mp.inf or top <= ratio * bottom * (1 + _TINY))

    return list({tuple(mp.nstr(x, 30) for x in v): v for v in found if inside(v)}.values())


def precise_optimum(p: Sequence[Any], f: Callable[[Any], Any], points: list[list[Any]], capacity: Any) -> Any:
    """Return the largest mean of sum_x P_x f(v_x) over mixtures that average to 1, with mean top at most capacity.

    It starts from the outcome that says nothing, which takes all of the first row, and slack; other rows start with
    columns of their own that cost more than anything gains.
    """
    n, limited = len(p), capacity < mp.inf
    worth = [mp.fsum(x * f(max(y, mp.mpf(0))) for x, y in zip(p, v, strict=True)) for v in points]
    columns = [[*v, *([max(v)] if limited else [])] for v in points]
    rows = n + limited
    own = [[mp.mpf(int(i == r)) for i in range(rows)] for r in range(rows)]
    cost = np.array(worth + [-(mp.mpf(10) ** 20) * (1 + max(worth))] * n + [mp.mpf(0)] * limited, dtype=object)
    matrix = np.array(columns + own, dtype=object).T
    tops, basis = matrix.max(axis=0), list(range(len(points), len(points) + rows))
    inverse, x = np.array(own, dtype=object), np.array([mp.mpf(1)] * n + [capacity] * limited, dtype=object)
    while True:
        gain = (cost - cost[basis].dot(inverse).dot(matrix)) / tops
        enters = int(np.argmax(gain))
        if gain[enters] <= mp.mpf(10) ** -14 * abs(cost[basis].dot(x)):
            return cost[basis].dot(x)
        step = inverse.dot(matrix[:, enters])
        share, leaves = min((x[i] / step[i], i) for i in range(rows) if step[i] > _TINY * tops[enters])
        turned = inverse[leaves] / step[leaves]
        inverse, x = inverse - np.outer(step, turned), x - share * step
        inverse[leaves], x[leaves], basis[leaves] = turned, share, enters
