r"""The Renyi radius of a channel: how far its rows lie from the distribution in their middle, to full precision.

The capacity of order a, sup over priors r of Sibson's information, is min over pi of max_x D_a(C_x || pi). The middle
of the rows under r is pi_y, proportional to (sum_x r_x C_xy^a)^(1/a): the information under r lies below the capacity,
the divergence of the farthest row from pi above it.
"""

import math
from dataclasses import dataclass

import numpy as np

from divulge import exact
from divulge.measures.numeric.columns import column_ends
from divulge.measures.numeric.convex import kl_term, log_near, power_term
from divulge.measures.numeric.simplex import Local, Maximum, maximize
from divulge.model.channel import Channel, is_sparse

_MOST_ROUNDS, _UNUSED = 30, 1e-9
"""So often rows join, when there are many; rows of less weight may leave."""
_NOTHING = 1e-290
"""Outcomes that no row gives more than this have nothing that a float would show."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a channel as entries and as differences from the first row, which keep their digits; shape (N, M)."""

    entries: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, channel: Channel) -> "Rows":
        """Return the rows of an exact or float channel without the columns that are zero, but for rounding."""
        matrix, floats = (c.toarray() if is_sparse(c) else c for c in (channel.matrix, channel.floats))
        used = column_ends(floats)[0] > _NOTHING
        return cls(floats[:, used], exact.as_floats((matrix - matrix[0])[:, used]))

    def only(self, which: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.entries[which], self.offsets[which])

    def around(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (q, u - 1, u) with q = r C and u_xy = C_xy / q_y."""
        q = r @ self.entries
        return q, *self.against(q, r @ self.offsets)

    def against(self, q: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (u - 1, u) with u_xy = C_xy / q_y, for a q and its difference from the first row."""
        t = np.maximum((self.offsets - offset) / q, -1.0)
        return np.where(self.entries == 0, -1.0, t), self.entries / q


def of_order_one(rows: Rows, r: np.ndarray) -> Local:
    """Return mutual information at r: slopes D_x = D(C_x || q), curvature sum_y q_y t_xy t_x'y with t = C / q - 1."""
    q, t, u = rows.around(r)
    distances = kl_term(t, u) @ q
    value = float(r @ distances)
    return Local(value, float(distances.max()), distances - value, (t * q) @ t.T)


def of_the_farthest(rows: Rows, most: int, tolerance: float) -> Maximum:
    """Return the maximum of mutual information over many rows, from at most `most` of them at a time.

    The best prior needs no more rows than there are outcomes. From the rows that are farthest from the mean on, those
    that are farthest from the middle of the rows so far join them; those that got no weight leave where room is short.
    """
    n = len(rows.entries)
    r = best = np.full(n, 1 / n)
    lower, upper, chosen = 0.0, math.inf, np.zeros(0, dtype=np.intp)
    for _ in range(_MOST_ROUNDS):
        q, offset = r @ rows.entries, r @ rows.offsets
        distances = np.concatenate([
            kl_term(*rows.only(np.arange(i, min(i + most, n))).against(q, offset)) @ q for i in range(0, n, most)
        ])  # fmt: skip
        if (reached := float(r @ distances)) > lower:
            lower, best = reached, r
        upper = min(upper, float(distances.max()))
        if upper - lower <= tolerance * upper:
            break
        farthest = np.argsort(-distances)[: max(most // 8, 1)]
        joining = farthest[distances[farthest] > lower]
        chosen = np.union1d(chosen, joining)
        if len(chosen) > most:
            chosen = np.union1d(chosen[r[chosen] > _UNUSED], joining)
        if len(chosen) > most:
            break
        part = rows.only(chosen)
        r = np.zeros(n)
        r[chosen] = maximize(lambda r, part=part: of_order_one(part, r), len(chosen), tolerance / 4).point
    return Maximum(best, lower, upper)


def of_order(rows: Rows, a: float, r: np.ndarray) -> Local:
    """Return Sibson's information at r, of order a other than 0, 1 and infinity.

    With S_y = sum_x r_x C_xy^a, q_y e^g_y = S_y^(1/a) = F pi_y, F = sum_y q_y e^g_y and w_xy = C_xy^a / S_y it is
    I = a/(a-1) log F, and D_x = I + log(sum_y pi_y w_xy) / (a-1). The slopes are those of F^a / (a-1) at F = 1: it is
    concave.
    """
    q, t, u = rows.around(r)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        logs = log_near(t, u)
        top = logs.max(axis=0)
        terms = power_term(t, u, a)
        excess = r @ terms
        near = np.abs(excess) < 0.5
        growths = np.where(
            near, np.log1p(np.where(near, excess, 0.0)) / a, top + np.log(r @ np.exp(a * (logs - top))) / a
        )
        whole = math.fsum((q * np.expm1(growths)).tolist())
        weights = np.log(q) + growths
        log_f = math.log1p(whole) if whole > -0.5 else _log_sum_exp(weights[None])[0]
        shares = np.exp(weights - log_f)
        moved = a * (logs - growths)
        # sum_y pi (w - 1) less a sum_y q t = 0: near 0 from u^a - 1 - a t, e^(-a g) - 1 and (pi - q) t alone.
        shrink = np.expm1(-a * growths)
        parts = np.where(near, terms * (1 + shrink) + (1 + a * t) * shrink, np.expm1(moved) - a * t)
        beyond = parts @ shares + a * (t @ (q * np.expm1(growths - log_f)))
        few = np.abs(beyond) < 0.5
        far = np.zeros(len(r))
        far[~few] = _log_sum_exp((weights - log_f + moved)[~few])
    value = a / (a - 1) * log_f
    distances = value + np.where(few, np.log1p(np.where(few, beyond, 0.0)), far) / (a - 1)
    ratios = np.expm1(moved)
    ratios = ratios - (ratios @ shares)[:, None]
    slopes = np.expm1((a - 1) * (distances - value)) / (a - 1)
    return Local(value, float(distances.max()), slopes, (ratios * shares) @ ratios.T / a)


def allowance(value: float) -> float:
    """Return more than the rounding error of a value of `of_order`: a share of it."""
    return 64 * np.finfo(float).eps * value


def _log_sum_exp(logs: np.ndarray) -> np.ndarray:
    """Return log sum_y e^logs_xy for each row."""
    top = logs.max(axis=1, keepdims=True)
    return top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
