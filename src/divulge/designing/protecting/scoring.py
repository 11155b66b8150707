"""Linear scores of a channel that protects S: one linear program over its entries, and a bound by any dual."""

import math

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.protecting.law import Law
from divulge.designing.protecting.mixture import Blend
from divulge.errors import DivulgeError
from divulge.extras import require

METHOD = "linear-program"
_OVER = 1
"""The status of a program whose time is over."""
_BUILT = 1e-6
"""Seconds of a slow core that a value of an entry takes in the program until the solver has it: measured."""
_UNIT = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""


def best_scores(law: Law, scores: np.ndarray, worst: bool, effort: Effort = NO_HURRY) -> Blend:
    """Return the channel (N, M) with the best mean score (of the worst x with `worst`), and a bound for all.

    Once the time is up it is the outcome that is best whatever x is, beside the best one of each x.

    Variables are C_xy, the largest and the least P(y | s) of each variable, and the least score; all are in [0, 1] but
    for the last, so that any dual bounds the score: what a reduced cost gains is at most itself.
    """
    sparse = require("scipy.sparse", "science")
    limits, p = law.limits.floats(), law.floats
    (n, m), many = scores.shape, len(law.joints)
    if effort.left < _BUILT * n * m * sum(len(form) for form in law.forms):
        return _silent(p, scores, worst)
    column, none = sparse.identity(m, format="csr"), sparse.csr_matrix
    blocks = []
    for j, form in enumerate(law.forms):
        said = sparse.kron(form.astype(np.float64), column)
        ends = [
            sparse.kron(np.ones((len(form), 1)), column) if k == j else none((len(form) * m, m)) for k in range(many)
        ]
        zero = [none((len(form) * m, m)) for _ in range(many)]
        blocks += [[said, *(-e for e in ends), *zero], [-said, *zero, *ends]]
        mean = sparse.kron(p[None, :], column)
        own = [column if k == j else none((m, m)) for k in range(many)]
        blank = [none((m, m)) for _ in range(many)]
        if limits.high < math.inf:
            blocks.append([-limits.high * mean, *own, *blank])
        if limits.low > 0:
            blocks.append([limits.low * mean, *blank, *(-e for e in own)])
        if limits.ratio < math.inf:
            blocks.append([none((m, n * m)), *own, *(-limits.ratio * e for e in own)])
    above = sparse.vstack([sparse.hstack(row) for row in blocks], format="csr")
    most = np.zeros(above.shape[0])
    if limits.capacity < math.inf:
        rows = [np.concatenate([np.zeros(n * m), *(np.full(m, float(k == j)) for k in range(many)), np.zeros(many * m)])
                for j in range(many)]  # fmt: skip
        above, most = sparse.vstack([above, np.array(rows)]), np.append(most, np.full(many, limits.capacity))
    size = above.shape[1]
    each = sparse.kron(sparse.identity(n), np.ones((1, m)), format="csr")
    least, top = float(scores.min()), float(scores.max())
    if worst:
        judged = sparse.hstack([-sparse.csr_matrix(_by_row(scores)), none((n, size - n * m)), np.ones((n, 1))])
        above = sparse.vstack([sparse.hstack([above, none((above.shape[0], 1))]), judged], format="csr")
        most, cost = np.append(most, np.zeros(n)), np.append(np.zeros(size), 1.0)
        low, high = np.append(np.zeros(size), least), np.append(np.ones(size), top)
    else:
        cost = np.append((p[:, None] * scores).ravel(), np.zeros(size - n * m))
        low, high = np.zeros(size), np.ones(size)
    sums = sparse.hstack([each, none((n, above.shape[1] - n * m))], format="csr")
    found = require("scipy.optimize", "science").linprog(
        -cost,
        A_ub=above,
        b_ub=most,
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=np.column_stack([low, high]),
        method="highs",
        options={} if effort.left == math.inf else {"time_limit": effort.left},
    )
    if found.status == _OVER and effort.left < math.inf:
        return _silent(p, scores, worst)
    if found.x is None:
        raise DivulgeError(f"`utility` must be scores that HiGHS solves; it says {found.message}.")
    dual, rows = np.maximum(-found.ineqlin.marginals, 0.0), -found.eqlin.marginals
    reduced = cost - above.T @ dual - sums.T @ rows
    terms = np.concatenate([dual * most, rows, np.maximum(reduced * low, reduced * high)])
    off = _UNIT * len(terms) * (float(np.abs(terms).sum()) + float(np.abs(cost).sum()) + float(np.abs(rows).sum()))
    channel = np.maximum(found.x[: n * m].reshape(n, m), 0.0)
    return Blend(channel / channel.sum(axis=1, keepdims=True), math.fsum(terms.tolist()) + off, METHOD)


def _silent(p: np.ndarray, scores: np.ndarray, worst: bool) -> Blend:
    """Return the channel that always releases the outcome that is best whatever x is; no other exceeds the best of each
    x."""
    judged, most = (scores.min(axis=0), scores.max(axis=1)) if worst else (p @ scores, scores.max(axis=1))
    channel = np.zeros(scores.shape)
    channel[:, int(np.argmax(judged))] = 1.0
    bound = float(most.min()) if worst else math.fsum((p * most).tolist())
    return Blend(channel, bound + 2.0**-40 * float(np.abs(scores).max()), "time-limit")


def _by_row(scores: np.ndarray) -> np.ndarray:
    """Return the matrix (N, N M) that takes the entries of a channel to the mean score of each row."""
    n, m = scores.shape
    out = np.zeros((n, n * m))
    for x in range(n):
        out[x, x * m : (x + 1) * m] = scores[x]
    return out
