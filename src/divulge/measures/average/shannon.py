"""Shannon capacity by Blahut-Arimoto, with bounds on both sides."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.measures.numeric.columns import TINY, FirstStep, row_logs
from divulge.measures.numeric.radius import Rows, allowance, of_order_one, of_the_farthest
from divulge.measures.numeric.simplex import Local, Maximum, checked_tolerance, maximize
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel, is_sparse
from divulge.model.convert import as_channel
from divulge.model.entries import whole_number
from divulge.model.prior import Prior
from divulge.model.shown import Table, Tabled
from divulge.panels import in_parts, panels, weighted_sum
from divulge.units import Unit, nats_per

_WORK = 40_000_000
"""Matrix entries that may be read before a large channel is left with an open bracket."""

_LEAST_STEPS = 2
"""Steps even of the largest channel: one gives a bound, the second an r that depends on the channel."""

_MOST_STEPS = 20_000
"""Steps even of the smallest channel, where `_WORK` would allow millions; of 30 secrets they take 6 s."""

_OUT_OF_ORDER = 5 / 3
"""A stored entry of a sparse matrix counts for so many: what belongs to it is looked up."""

_LONGER, _SHORTER = 1.3, 0.7
"""By so much a step grows, and of one that was too long the longest is so much."""

_HIGHEST, _NOTHING = 300.0, 1e-290
"""The largest exponent and the least weight of a step: neither overflows, and what is small can still grow."""

Move = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The weights to which r and D lead, up to a factor."""

_SMALL = 256
"""Up to this many secrets Newton steps, cubic in their number, are worth while."""

_DENSE = 1 << 20
"""Up to this many entries a sparse channel of few secrets is searched like a dense one."""

_MOST = 1 << 19
"""Up to so many entries the farthest of many rows are looked for: 4 MB, which every row that joins goes through."""
_NEAR = 1e-2
"""Where the capacity is less than so many nats all rows are alike, and steps of Blahut and Arimoto lead nowhere."""
_MOST_NEAR = 1 << 22
"""Up to so many entries the farthest rows are looked for in that case."""

_CLOSE = 0.2
"""Where every row is within this many nats of the mean row, differences of logarithms would lose digits."""


@dataclass(frozen=True, repr=False)
class Capacity(Tabled):
    """Shannon capacity: an estimate `value`, which `prior` reaches up to rounding, between two certified bounds.

    Examples
    --------
    >>> erased = capacity([["1/2", "0", "1/2"], ["0", "1/2", "1/2"]], unit="bits")  # half of the answers are lost
    >>> round(erased.value, 9), erased.lower <= 0.5 <= erased.upper, erased.gap < 1e-11
    (0.5, True, True)
    """

    value: float
    lower: float
    upper: float
    prior: Prior
    unit: str

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    def _shown(self) -> tuple[str, Table]:
        head = f"capacity [{self.unit}]: {self.value:.9g}, between {self.lower:.15g} and {self.upper:.15g}, under"
        return head, (self.prior.secrets, ["P"], self.prior.probabilities.reshape(-1, 1))

    def __float__(self) -> float:
        return self.value


def capacity(
    channel: ChannelLike, unit: Unit = "nats", *, tolerance: float = 5e-13, steps: int | None = None
) -> Capacity:
    r"""Return the Shannon capacity max_P I(X; Y), in nats, between a lower and a certified upper bound.

    Blahut-Arimoto from the uniform prior r: with D_x = sum_y C_xy log(C_xy / q_y), q = r C, it holds at every step that
    sum_x r_x D_x <= capacity <= max_x D_x. Up to 256 secrets Newton steps bring the bounds together, however small the
    capacity: rows that are nearly alike count by their differences. Of more secrets the farthest take such steps, up to
    half a million entries, and 4 million where little leaks.

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    tolerance : float
        The search ends when the bounds are this close, as a share of the upper one.
    steps : int, optional
        Most steps; when not given, as many as a fixed amount of work allows, at least 2: a large channel is left
        with a wider bracket.

    Returns
    -------
    Capacity
        `.value`, `.lower`, `.upper`, and the `.prior` that reaches the value; in [0, log min(N, M)]. Beyond that size
        the bounds are at least about 1e-14 nats apart.

    Raises
    ------
    DivulgeError
        When `channel` is no channel (entries at least 0, rows of sum 1 within 1e-9), `unit` is unknown, or
        `tolerance` or `steps` are out of range.

    References
    ----------
    Blahut, "Computation of channel capacity and rate-distortion functions", 1972; Arimoto, 1972.

    Examples
    --------
    >>> noiseless = capacity([["1", "0"], ["0", "1"]], unit="bits")
    >>> noiseless.value, noiseless.upper
    (1.0, 1.0)
    """
    channel, tolerance = as_channel(channel), checked_tolerance(tolerance)
    most = None if steps is None else whole_number(steps, "steps")
    return capacity_from(channel, row_logs(channel), unit, tolerance, most)


def capacity_from(
    channel: Channel,
    logs: np.ndarray,
    unit: Unit,
    tolerance: float = 5e-13,
    steps: int | None = None,
    first: FirstStep | None = None,
) -> Capacity:
    """Return the capacity given `logs`, sum_y C_xy log C_xy, shape (N,), and the first step where it is known."""
    if steps is not None or channel.shape[0] > _SMALL:
        found, slack = _of_many(channel, logs, tolerance, steps, first)
    else:
        found, slack = _of_few(channel, logs, tolerance)
    return bracketed(channel, found, slack, unit)


def first_mean(channel: Channel) -> np.ndarray | None:
    """Return the mean row of a large dense channel: its capacity is sought by steps that start there."""
    return channel.mean_row if channel.shape[0] > _SMALL and math.prod(channel.shape) > _MOST else None


def _slack(channel: Channel) -> float:
    """Return an allowance for sums of M terms of size at most log M, in pairwise order: far more than they are off."""
    return 8 * np.finfo(float).eps * (1 + math.log(max(channel.shape)))


def _of_few(channel: Channel, logs: np.ndarray, tolerance: float) -> tuple[Maximum, float]:
    """Return what Newton steps find, and what rounding may have done to it in nats."""
    c, n = channel.floats, channel.shape[0]
    if is_sparse(c) and math.prod(c.shape) > _DENSE:
        return _of_many(channel, logs, tolerance)
    c = c.toarray() if is_sparse(c) else c
    if _information(c, logs, np.full(n, 1 / n)).bound > _CLOSE:
        return maximize(lambda r: _information(c, logs, r), n, tolerance), _slack(channel)
    rows = Rows.of(channel)
    found = maximize(lambda r: of_order_one(rows, r), n, tolerance)
    return found, allowance(found.upper)


def _of_many(
    channel: Channel, logs: np.ndarray, tolerance: float, steps: int | None = None, first: FirstStep | None = None
) -> tuple[Maximum, float]:
    """Return what the farthest rows give, or what steps of Blahut and Arimoto find where these are not few."""
    c, slack = channel.floats, _slack(channel)
    read = _OUT_OF_ORDER * c.nnz if is_sparse(c) else c.size
    most = max(_LEAST_STEPS, int(_WORK / read)) if steps is None else steps
    found = None
    if steps is None and math.prod(c.shape) <= _MOST_NEAR:
        near = math.prod(c.shape) > _MOST and blahut_arimoto(channel, logs, 1, tolerance, first).upper < _NEAR
        if near or math.prod(c.shape) <= _MOST:
            found = of_the_farthest(Rows.of(channel), _SMALL, tolerance)
            slack = allowance(found.upper)
            if found.upper - found.lower <= max(tolerance * found.upper, slack):
                return found, slack
    stepped = blahut_arimoto(channel, logs, min(_MOST_STEPS, most), tolerance, first)
    if found is None:
        return stepped, _slack(channel)
    return min((found, slack), (stepped, _slack(channel)), key=lambda one: one[0].upper - one[0].lower + 2 * one[1])


def bracketed(channel: Channel, found: Maximum, slack: float, unit: Unit) -> Capacity:
    """Return what was found, its bounds moved apart by `slack` nats, as far as 0 and log min(N, M)."""
    scale, limit = nats_per(unit), math.log(min(channel.shape))
    value = min(max(found.lower, 0.0), limit) + 0.0
    lower = min(max(found.lower - slack, 0.0), limit)
    upper = max(min(found.upper + slack, limit), value)
    bounds = float(value / scale), float(lower / scale), float(upper / scale)
    return Capacity(*bounds, Prior(found.point / math.fsum(found.point.tolist()), channel.secrets), unit)


def _information(c: np.ndarray, logs: np.ndarray, r: np.ndarray) -> Local:
    """Return mutual information at r: slopes D_x, curvature C diag(1/q) C^T."""
    q = np.maximum(r @ c, 1e-100)
    distances = logs - c @ np.log(q)
    value = float(r @ distances)
    return Local(value, distances.item(distances.argmax()), distances - value, (c / q) @ c.T)


def blahut_arimoto(
    channel: Channel, logs: np.ndarray, most: int, tolerance: float, first: FirstStep | None = None
) -> Maximum:
    """Return the bounds after at most `most` steps: each reads the matrix once, but for a `first` that is known.

    A step multiplies r_x by e^(s D_x); Blahut and Arimoto have s = 1. From there s grows as long as both bounds come
    nearer, and is halved where one does not (Matz and Duhamel, "Information geometric formulation and interpretation of
    accelerated Blahut-Arimoto-type algorithms", 2004). The bounds hold whatever r is.
    """
    c, q = channel.floats, channel.mean_row
    r = best = np.full(c.shape[0], 1.0 / c.shape[0])
    slopes = np.zeros(c.shape[0])
    lower, upper, farthest, stride, longest = 0.0, math.inf, math.inf, 1.0, math.inf
    for left in reversed(range(most)):
        move = functools.partial(_moved, stride=stride, level=lower)
        d, weighted = first or _step(c, logs, r, np.log(np.maximum(q, TINY)), None if left == 0 else move)
        first = None
        reached = float(r @ d)
        upper = min(upper, float(d.max()))
        rising, falling, farthest = reached >= lower, d.max() <= farthest, float(d.max())
        if rising:
            lower, best, slopes = reached, r, d
        if not left or upper - lower <= tolerance * upper:
            break
        if rising:
            weights = move(r, d)
            stride = min(_LONGER * stride, longest) if falling else max(stride / 2, 1.0)
        else:
            stride, longest = max(stride / 2, 1.0), max(_SHORTER * stride, 1.0)
            weights = _moved(best, slopes, stride, lower)
            weighted = np.asarray(weights @ c).ravel() if is_sparse(c) else weighted_sum(c, weights)
        r, q = weights / weights.sum(), weighted / weights.sum()
    return Maximum(best, lower, upper)


def _moved(r: np.ndarray, d: np.ndarray, stride: float, level: float) -> np.ndarray:
    """Return r e^(stride (D - level)), within `_NOTHING` and e^`_HIGHEST`."""
    return np.maximum(r * np.exp(np.minimum(stride * (d - level), _HIGHEST)), _NOTHING)


def _step(c: Any, logs: np.ndarray, r: np.ndarray, log_q: np.ndarray, move: Move | None) -> FirstStep:
    """Return (D_x = sum_y C_xy log(C_xy / q_y), sum_x move(r, D)_x C_xy): each row serves both while it is at hand.

    Of the last step, without `move`, nothing but D is needed.
    """
    if is_sparse(c):
        d = logs - c @ log_q
        return d, log_q if move is None else move(r, d) @ c
    d = np.empty(len(r))

    def part(start: int, stop: int) -> np.ndarray:
        weighted = np.zeros(len(log_q))
        for rows in panels(c, start, stop):
            d[rows] = logs[rows] - c[rows] @ log_q
            if move is not None:
                weighted += move(r[rows], d[rows]) @ c[rows]
        return weighted

    return d, np.add.reduce(in_parts(c, part))
