"""Shannon capacity by Blahut-Arimoto, with bounds on both sides."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.measures.columns import TINY, sums_of_c_log_c
from divulge.model.channel import is_sparse
from divulge.model.convert import as_channel
from divulge.model.prior import Prior
from divulge.units import Unit, nats_per

_WORK = 40_000_000
"""Matrix entries that may be read before a large channel is left with an open bracket."""

_LEAST_STEPS, _MOST_STEPS = 2, 20_000


@dataclass(frozen=True)
class Capacity:
    """Shannon capacity: an estimate `value`, which `prior` reaches up to rounding, between two certified bounds."""

    value: float
    lower: float
    upper: float
    prior: Prior
    unit: str

    @property
    def gap(self) -> float:
        """How far the bounds are apart."""
        return self.upper - self.lower

    def __float__(self) -> float:
        return self.value


def capacity(channel: Any, unit: Unit = "nats", *, tolerance: float = 1e-11, steps: int | None = None) -> Capacity:
    r"""Return the Shannon capacity max_P I(X; Y), in nats, between a lower and a certified upper bound.

    Blahut-Arimoto from the uniform prior r: with D_x = sum_y C_xy log(C_xy / q_y), q = r C, it holds at every step that
    log sum_x r_x exp(D_x) <= capacity <= max_x D_x. Newton steps on the support of r end the search.

    Parameters
    ----------
    channel : Channel or array_like of shape (N, M)
    tolerance : float, in nats
        The search ends when the bounds are this close.
    steps : int, optional
        Most steps; when not given, as many as a fixed amount of work allows, at least 2: a large channel is left
        with a wider bracket.

    Returns
    -------
    Capacity
        `.value`, `.lower`, `.upper`, and the `.prior` that reaches the value; in [0, log min(N, M)].

    References
    ----------
    Blahut, "Computation of channel capacity and rate-distortion functions", 1972; Arimoto, 1972.

    Examples
    --------
    >>> noiseless = capacity([["1", "0"], ["0", "1"]], unit="bits")
    >>> noiseless.value, noiseless.upper
    (1.0, 1.0)
    """
    channel = as_channel(channel)
    return capacity_from(channel, sums_of_c_log_c(channel.floats), unit, tolerance, steps)


def capacity_from(
    channel: Any, row_logs: np.ndarray, unit: str, tolerance: float = 1e-11, steps: int | None = None
) -> Capacity:
    """Return the capacity given `row_logs`, sum_y C_xy log C_xy, shape (N,)."""
    c, n = channel.floats, channel.shape[0]
    size = c.nnz if is_sparse(c) else c.size
    most = min(_MOST_STEPS, max(_LEAST_STEPS, _WORK // size)) if steps is None else steps
    search = _Search(c, row_logs, np.full(n, 1.0 / n))
    search.run(most, tolerance)
    scale = nats_per(unit)
    # Sums of M terms of size at most log M, in pairwise order: far inside this allowance.
    slack = 8 * np.finfo(float).eps * (1 + math.log(max(channel.shape)))
    limit = math.log(min(channel.shape))
    value = min(max(search.lower, 0.0), limit)
    lower = min(max(search.lower - slack, 0.0), limit)
    upper = max(min(search.upper + slack, limit), value)
    bounds = value / scale, lower / scale, upper / scale
    return Capacity(*bounds, Prior(search.best / math.fsum(search.best), channel.secrets), unit)


class _Search:
    """Blahut-Arimoto with Newton steps; keeps the best bounds on either side."""

    def __init__(self, c: Any, row_logs: np.ndarray, r: np.ndarray) -> None:
        self.c, self.row_logs, self.r, self.best = c, row_logs, r, r
        self.lower, self.upper = 0.0, math.inf

    def divergences(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (D_x, q) under r, and tighten the bounds."""
        q = np.asarray(r @ self.c).ravel()
        d = self.row_logs - np.asarray(self.c @ np.log(np.maximum(q, TINY))).ravel()
        reached = float(r @ d)
        if reached > self.lower:
            self.lower, self.best = reached, r
        self.upper = min(self.upper, float(d.max()))
        return d, q

    def run(self, most: int, tolerance: float) -> None:
        """Take steps until the bounds meet."""
        for step in range(most):
            d, q = self.divergences(self.r)
            if self.upper - self.lower <= tolerance:
                return
            if step >= 8 and step & (step - 1) == 0 and self.c.shape[0] <= 1000 and not is_sparse(self.c):
                self.newton(d, q)
                if self.upper - self.lower <= tolerance:
                    return
            weights = self.r * np.exp(d - d.max())
            self.r = weights / weights.sum()

    def newton(self, d: np.ndarray, q: np.ndarray) -> None:
        """Take Newton steps on the letters that still matter, as long as they raise the lower bound."""
        r = self.r
        for _ in range(30):
            active = (r > 1e-9 / len(r)) | (d > self.lower)
            c = self.c[active]
            seen = q > 0
            hessian = (c[:, seen] / q[seen]) @ c[:, seen].T
            # Maximize d.s - s.H s / 2 over sum(s) = 0: bordered system, least squares where rows repeat.
            k = len(c)
            system = np.zeros((k + 1, k + 1))
            system[:k, :k], system[:k, k], system[k, :k] = hessian, 1.0, 1.0
            step = np.linalg.lstsq(system, np.append(d[active] - 1.0, 0.0), rcond=1e-13)[0][:k]
            full = np.zeros_like(r)
            full[active] = step
            falling = full < 0
            length = min(1.0, float((-r[falling] / full[falling]).min())) if falling.any() else 1.0
            before = self.upper - self.lower
            candidate = np.maximum(r + length * full, 0.0)
            candidate /= candidate.sum()
            next_d, next_q = self.divergences(candidate)
            if candidate @ next_d < r @ d - 1e-15:
                return
            r, d, q = candidate, next_d, next_q
            self.r = np.maximum(r, 1e-300)
            if self.upper - self.lower >= before and length == 1.0:
                return
