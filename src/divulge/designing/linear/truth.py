"""The probability of the truth under any limits: a relaxation in the diagonal and the probabilities of outcomes.

An optimum is found from 2 N numbers instead of N^2 wherever the rest of the channel can be filled in (a transportation
problem, by proportional fitting). That the diagonal c and the distribution q of the outcomes obey what follows from
the limits on each column and each row is necessary, so that the dual bounds every channel.
"""

import math

import numpy as np

from divulge.designing.polytope.limits import Limits, sum_of_others

_FITS = 400
"""Rounds of proportional fitting at most: it converges geometrically, and what it misses is checked behind it."""


def truthful(p: np.ndarray, limits: Limits) -> tuple[np.ndarray, float]:
    """Return (a channel (N, N), an upper bound of sum_x P_x C_xx for all); the channel may break limits or rows.

    max P . c subject to c_y <= u_y q_y (u the largest lift of y at y), c_y <= 1 - low (1 - q_y), (ratio - 1) c_y + T <=
    ratio and T = sum_y c_y <= capacity: row y has at least low q_z and c_z / ratio in every other column z.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, low, ratio = len(p), limits.low, limits.ratio
    most = np.minimum(limits.high, (1 - (1 - p) * low) / p)
    if ratio < math.inf:
        most = np.minimum(most, ratio / (1 - p + ratio * p))
    one, none, every = sparse.identity(n), sparse.csr_matrix((n, n)), sparse.csr_matrix(np.ones((n, n)))
    rows, right = [sparse.hstack([one, -sparse.diags(most)]), sparse.hstack([one, -low * one])], [0.0, 1 - low]
    if ratio < math.inf:
        rows.append(sparse.hstack([(ratio - 1) * one + every, none]))
        right.append(ratio)
    sums = np.append(np.ones(n), np.zeros(n))[None, :]
    sides = np.repeat(right, n)
    if limits.capacity < math.inf:
        rows.append(sparse.csr_matrix(sums))
        sides = np.append(sides, limits.capacity)
    found = linprog(
        -np.append(p, np.zeros(n)), sparse.vstack(rows, format="csr"), sides, 1 - sums, [1.0],
        bounds=(0, 1), method="highs",
    )  # fmt: skip
    if found.x is None:
        return np.zeros((n, n)), math.inf
    dual = np.maximum(-found.ineqlin.marginals, 0.0)
    reduced = np.append(p, np.zeros(n)) - sparse.vstack(rows).T @ dual
    terms = [*(sides * dual).tolist(), *np.maximum(reduced[:n], 0.0).tolist(), float(reduced[n:].max())]
    bound = math.fsum(terms) + 2.0**-46 * math.fsum(map(abs, terms))
    return filled(p, found.x[:n], found.x[n:], limits.low), bound


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
