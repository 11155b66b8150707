"""The best channel of two outcomes, exactly: the utility is convex, so that a vertex of all such channels has it.

One column c is enough, the other is 1 - c. With m <= c_x <= M the guarantees bound m, M and q = sum_x P_x c_x alone, by
few lines. At a vertex all c_x are m or M and two lines hold with equality; or all but one are, three lines decide
(m, M, q), and q decides the last one.
"""

import itertools
import math

import numpy as np

from divulge.designing.polytope.limits import Limits
from divulge.designing.polytope.utilities import SubConvex

MOST = 12
"""How many secrets there may be."""
_NEAR = 1e-9
"""By so much a corner may break a line by rounding: more columns bound more, and channels are certified."""
_SPARE = 1e-10
"""Share by which the bound moves up: a million roundings, where sums have a dozen terms."""


def best_pair(p: np.ndarray, utility: SubConvex, limits: Limits) -> tuple[np.ndarray, float]:
    """Return (the channel of shape (N, 2), an upper bound of the utility of all with two outcomes)."""
    rows, most = _lines(limits)
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=len(p))))
    low, high = (np.concatenate(part) for part in zip(*_levels(sets @ p, rows, most), strict=True))
    which = np.tile(np.arange(len(sets)), len(low) // len(sets))
    good = _inside(low, high, low + (high - low) * (sets @ p)[which], rows, most)
    low, high, which = low[good], high[good], which[good]
    columns = [np.ones((1, len(p))) / 2, low[:, None] + (high - low)[:, None] * sets[which]]
    for m, top, q in _corners(rows, most):
        for x, mass in enumerate(p.tolist()):
            others = m + (top - m) * sets[sets[:, x] == 0]
            others[:, x] = 0.0
            last = (q - others @ p) / mass
            fits = (last >= m - _NEAR) & (last <= top + _NEAR)
            others[:, x] = np.clip(last, m, top)
            columns.append(others[fits])
    column = np.clip(np.concatenate(columns), 0.0, 1.0)
    values = utility.added(p, column.T) + utility.added(p, 1 - column.T)
    best = int(values.argmax())
    return np.stack([column[best], 1 - column[best]], axis=1), float(values[best]) * (1 + _SPARE) + 2.0**-44


def _lines(limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Return (A, b) with A (m, M, q) <= b for the guarantees of both columns."""
    l, u, r = limits.low, limits.high, limits.ratio
    rows = [(-1, 0, l, 0.0), (0, 1, -l, 1 - l), (-1, 0, 0, 0.0), (0, 1, 0, 1.0)]
    rows += [(0, 1, -u, 0.0), (-1, 0, u, u - 1)] if u < math.inf else []
    rows += [(-r, 1, 0, 0.0), (-1, r, 0, r - 1)] if r < math.inf else []
    rows += [(-1, 1, 0, limits.capacity - 1)] if limits.capacity < math.inf else []
    table = np.array(rows, dtype=np.float64)
    return table[:, :3], table[:, 3]


def _levels(mass: np.ndarray, rows: np.ndarray, most: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (m, M) for sets of these masses at M where two lines hold with equality, for each two lines."""
    own = rows[:, :2, None] + rows[:, 2, None, None] * np.stack([1 - mass, mass])
    out = []
    for i, j in itertools.combinations(range(len(rows)), 2):
        (a, b), (c, d) = own[i], own[j]
        det = a * d - b * c
        safe = np.where(np.abs(det) > 1e-12, det, np.nan)
        out.append(((most[i] * d - b * most[j]) / safe, (a * most[j] - most[i] * c) / safe))
    return out


def _corners(rows: np.ndarray, most: np.ndarray) -> list[tuple[float, float, float]]:
    """Return all (m, M, q) inside the lines where three hold with equality."""
    threes = np.array(list(itertools.combinations(range(len(rows)), 3)))
    threes = threes[np.abs(np.linalg.det(rows[threes])) > 1e-12]
    found = np.linalg.solve(rows[threes], most[threes][:, :, None])[:, :, 0]
    found = np.unique(np.round(found[_inside(found[:, 0], found[:, 1], found[:, 2], rows, most)], 14), axis=0)
    return [(m, top, q) for m, top, q in found.tolist() if top > m]


def _inside(low: np.ndarray, high: np.ndarray, q: np.ndarray, rows: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Say which (m, M, q) keep all lines, and have m <= M."""
    kept = (np.stack([low, high, q], axis=1) @ rows.T <= most + _NEAR * np.abs(rows).max(axis=1)).all(axis=1)
    return kept & (low <= high)
