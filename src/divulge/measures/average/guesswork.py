r"""Maximal guesswork leakage: by how much a release shortens guessing, on average, whatever of the secret is guessed.

With phi(z) = sum_uv min(z_u, z_v), a sum of 2 i - 1 times the i-th largest, guesswork is (1 + phi) / 2. Let a letter u
of U have probability s_u and posterior r_u over secrets. As min is concave and of degree 1, and min(s c, t d) is at
least min(s, t) min(c, d),

    sum_y phi(P(U, y)) >= sum_uv min(s_u, s_v) r_u K r_v >= min_r (r K r) phi(P(U)),  K_xz = sum_y min(C_xy, C_zy),

where the last step holds level by level: min(s, t) is the measure of the levels below both. Equality is approached by U
with many equally likely letters for a small part of the mass, spread over secrets as the least r says, and X elsewhere.
So the supremum is -log min_r r K r = -log(1 - max_r r D r) for the total variations D = 1 - K between rows.
"""

import math

import numpy as np

from divulge.extras import require
from divulge.measures.average.capacities import maximal_cost_leakage, maximal_leakage
from divulge.measures.numeric.bracket import Bracket
from divulge.model.accepted import JointLike
from divulge.model.convert import as_joint
from divulge.units import Unit, nats_per

_MOST = 400
"""Secrets between which all distances are taken; beyond, those that hold the largest entries."""
_STEPS = 2_000
"""Pairwise steps at most; what they leave is added to the bound. After least squares random channels need none."""
_OFF = 2.0**-40
"""Share by which numbers move outward: 8,192 roundings; sums by pairs of rows of any length take fewer."""


def maximal_guesswork_leakage(joint: JointLike, unit: Unit = "nats") -> Bracket:
    r"""Return bounds on sup_U log(G(U) / E G(U | Y)), over randomized functions U of the secret; in nats.

    G is the least expected number of guesses. The supremum is -log(1 - max_r sum_xz r_x r_z TV(C_x, C_z)) over
    distributions r on the secrets that can occur: of the prior only these matter. It is at most maximal leakage, and at
    most maximal cost leakage. The bounds agree but for rounding up to 400 secrets; beyond, they may be apart.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)

    Returns
    -------
    Bracket
        `lower` and `upper`, each in [0, log min(N, M)].

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Kurri, Managoli, Prabhakaran, "Maximal guesswork leakage", 2024, arXiv:2405.02585, defines it.

    Examples
    --------
    >>> found = maximal_guesswork_leakage(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> round(found.lower, 6), round(found.upper, 6)  # log 4/3
    (0.287682, 0.287682)
    """
    scale, joint = nats_per(unit), as_joint(joint)
    floats, support = joint.channel.floats, joint.x
    rows = floats[support]
    every = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    kept = every if len(every) <= _MOST else every[_telling(every)]
    distances = np.array([np.abs(kept - row).sum(axis=1) / 2 for row in kept])
    reached, most = _largest_mean(distances)
    lower = -math.log1p(-reached * (1 - _OFF)) if reached < 1 else 0.0
    upper = math.log(min(every.shape)) if min(every.shape) > 0 else 0.0
    upper = min(upper, *(leak(every / every.sum(axis=1)[:, None]) for leak in (maximal_leakage, maximal_cost_leakage)))
    upper *= 1 + _OFF
    if len(kept) == len(every) and most * (1 + _OFF) < 1:
        upper = min(upper, -math.log1p(-most * (1 + _OFF)))
    return Bracket(max(lower, 0.0) / scale, max(upper, lower) / scale)


def _telling(rows: np.ndarray) -> np.ndarray:
    """Return at most 400 rows: those with the largest entry of a column, of the likeliest columns first."""
    order = np.argsort(-rows.max(axis=0), kind="stable")
    first = dict.fromkeys([*rows.argmax(axis=0)[order].tolist(), *range(len(rows))])
    return np.array(list(first)[:_MOST])


def _largest_mean(distances: np.ndarray) -> tuple[float, float]:
    """Return (r D r for a good distribution r, a bound on it for every r): the mean is concave in r.

    Non-negative least squares for the least norm on a simplex, then pairwise Frank-Wolfe steps; the bound is that of a
    tangent.
    """
    top = float(distances.max(initial=0.0))
    if top == 0:
        return 0.0, 0.0
    d, n = distances / top, len(distances)
    values, vectors = np.linalg.eigh(2.0 - d)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    found = require("scipy.optimize", "science").nnls(np.vstack([root, np.ones(n)]), np.append(np.zeros(n), 1.0))[0]
    r = found / found.sum() if found.sum() > 0 else np.full(n, 1 / n)
    for _ in range(_STEPS):
        slope = d @ r
        up, down = int(slope.argmax()), int(np.where(r > 0, slope, math.inf).argmin())
        gain = float(slope[up] - slope[down])
        if gain <= 1e-15:
            break
        step = min(float(r[down]), gain / (2 * float(d[up, down])) if d[up, down] > 0 else 1.0)
        r[up], r[down] = r[up] + step, r[down] - step
    r = np.maximum(r, 0.0) / np.maximum(r, 0.0).sum()
    slope = d @ r
    mean = float(r @ slope)
    return mean * top, (mean + 2 * max(float(slope.max()) - mean, 0.0)) * top
