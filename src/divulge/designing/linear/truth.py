"""The probability of the truth under any limits: a relaxation in the diagonal and the probabilities of outcomes.

An optimum is found from 2 N numbers instead of N^2 wherever the rest of the channel can be filled in (a transportation
problem, by proportional fitting). That the diagonal c and the distribution q of the outcomes obey what follows from
the limits on each column and each row is necessary, so that the dual bounds every channel.
"""

import math

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.polytope.limits import Limits, sum_of_others

_FITS = 400
"""Rounds of proportional fitting at most: it converges geometrically, and what it misses is checked behind it."""
_LEAST = 0.01
"""Seconds that a program is given at least."""
_FILLED = 1e-7
"""Seconds of a slow core that an entry of a channel takes to be filled in, checked and made integers: measured."""


def truthful(p: np.ndarray, limits: Limits, effort: Effort = NO_HURRY) -> tuple[np.ndarray | None, float]:
    """Return (a channel (N, N), an upper bound of sum_x P_x C_xx for all); the channel may break limits or rows.

    The channel is None where there is no time for it, and the bound is inf where there was none for the program.

    max P . c subject to c_y <= u_y q_y (u the largest lift of y at y), c_y <= 1 - low (1 - q_y), (ratio - 1) c_y + T <=
    ratio and T = sum_y c_y <= capacity: row y has at least low q_z and c_z / ratio in every other column z.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, low, ratio = len(p), limits.low, limits.ratio
    most = np.minimum(limits.high, (1 - (1 - p) * low) / p)
    if ratio < math.inf:
        most = np.minimum(most, ratio / (1 - p + ratio * p))
    one, none, column = sparse.identity(n), sparse.csr_matrix((n, n)), sparse.csr_matrix((n, 1))
    rows, right = [[one, -sparse.diags(most), column], [one, -low * one, column]], [0.0, 1 - low]
    if ratio < math.inf:
        rows.append([(ratio - 1) * one, none, np.ones((n, 1))])
        right.append(ratio)
    under, sides = sparse.vstack([sparse.hstack(row) for row in rows], format="csr"), np.repeat(right, n)
    if limits.capacity < math.inf:
        last = sparse.csr_matrix(([1.0], ([0], [2 * n])), shape=(1, 2 * n + 1))
        under, sides = sparse.vstack([under, last], format="csr"), np.append(sides, limits.capacity)
    sums = np.array([[*[1.0] * n, *[0.0] * n, -1.0], [*[0.0] * n, *[1.0] * n, 0.0]])  # T, and that q adds up to 1
    found = linprog(
        -np.concatenate([p, np.zeros(n + 1)]), under, sides, sums, [0.0, 1.0],
        bounds=[*[(0, 1)] * (2 * n), (0, n)], method="highs",
        options={} if effort.left == math.inf else {"time_limit": effort.left + _LEAST},
    )  # fmt: skip
    if found.x is None or found.status:
        return None, math.inf
    dual = np.maximum(-found.ineqlin.marginals, 0.0)
    paid = under.T @ dual
    reduced = np.append(p - paid[-1], np.zeros(n)) - paid[:-1]
    terms = [*(sides * dual).tolist(), *np.maximum(reduced[:n], 0.0).tolist(), float(reduced[n:].max())]
    bound = math.fsum(terms) + 2.0**-46 * math.fsum(map(abs, terms))
    hurried = effort.left < _FILLED * n**2
    return None if hurried else filled(p, found.x[:n], found.x[n:-1], limits.low), bound


def filled(p: np.ndarray, diagonal: np.ndarray, q: np.ndarray, low: float) -> np.ndarray:
    """Return a channel with this diagonal and outcomes distributed as q: low q_y, and what fits in proportion."""
    rows = np.maximum(1 - diagonal - low * (1 - q), 0.0)
    columns = np.maximum(q - p * diagonal - low * (1 - p) * q, 0.0)
    across, down = rows, columns
    with np.errstate(all="ignore"):
        for _ in range(_FITS):
            across = np.nan_to_num(rows / sum_of_others(down), posinf=0.0)
            down = np.nan_to_num(columns / sum_of_others(p * across), posinf=0.0)
            if np.abs(across * sum_of_others(down) - rows).max() < 1e-16:
                break
        channel = np.nan_to_num(np.outer(across, down)) + low * q
    np.fill_diagonal(channel, diagonal)
    return channel
