"""Simultaneous confidence bounds on every entry of a channel and on the outcome, and what follows for each measure."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from divulge.releasing.estimating.intervals import clopper_pearson
from divulge.ties import first_largest, first_smallest


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of (secret, outcome) with exact simultaneous bounds.

    counts : int64 array of shape (N, M); every secret and every outcome occurs
    low, high : float64 arrays of shape (N, M); Clopper-Pearson bounds on P(y | x)
    q_low, q_high : float64 arrays of shape (M,); the same on P(y)

    All N M + M intervals hold at once with the confidence they were made for (Bonferroni), when rows are independent
    and M is the number of outcomes there can be.
    """

    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    q_low: np.ndarray
    q_high: np.ndarray
    outcomes: int
    """How many there can be, by which the risk was divided."""

    @classmethod
    def of(cls, counts: np.ndarray, confidence: float, outcomes: int = 0) -> "Cells":
        """Return the bounds for a table of counts; `outcomes` is how many there can be, when some did not occur."""
        n, seen = counts.shape
        m = max(seen, outcomes)
        if n == 1:  # one secret only: nothing can leak, whatever the rates are
            rates = counts / counts.sum()
            return cls(counts, rates, rates, rates[0], rates[0], m)
        risk = (1 - confidence) / (n * m + m)
        rows = counts.sum(axis=1, keepdims=True)
        low, high = clopper_pearson(counts, np.broadcast_to(rows, counts.shape), risk)
        columns = counts.sum(axis=0)
        q_low, q_high = clopper_pearson(columns, np.full(seen, counts.sum()), risk)
        return cls(counts, low, high, q_low, q_high, m)

    @property
    def rates(self) -> np.ndarray:
        """The observed P(y | x), shape (N, M)."""
        return self.counts / self.counts.sum(axis=1, keepdims=True)

    @property
    def q(self) -> np.ndarray:
        """The observed P(y), shape (M,)."""
        return self.counts.sum(axis=0) / self.counts.sum()


@dataclass(frozen=True)
class Bounds:
    """A measure: the plug-in estimate, bounds that hold with confidence, and the cells that decide them.

    estimate : what the observed frequencies say. Biased upward where cells are thin.
    lower, upper : +inf above where an observed count of 0 leaves an entry without a positive lower bound
    outcome : position of the outcome the lower bound is from
    secrets : positions of the secrets the lower bound is from
    """

    estimate: float
    lower: float
    upper: float
    outcome: int
    secrets: tuple[int, ...]
    logarithmic: bool = True


def _log(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.log(above / below), math.inf)


def upper_side(cells: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (estimate, lower, upper) of pml(y) = log max_x C_xy / q_y for each outcome, in nats."""
    estimate = _log(cells.rates.max(axis=0), cells.q)
    lower = np.maximum(_log(cells.low.max(axis=0), cells.q_high), 0.0)
    return estimate, lower, _log(cells.high.max(axis=0), cells.q_low)


def lower_side(cells: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (estimate, lower, upper) of pmc(y) = log q_y / min_x C_xy for each outcome, in nats."""
    estimate = _log(cells.q, cells.rates.min(axis=0))
    lower = np.maximum(_log(cells.q_low, cells.high.min(axis=0)), 0.0)
    return estimate, lower, _log(cells.q_high, cells.low.min(axis=0))


def _pml(cells: Cells) -> Bounds:
    estimate, lower, upper = upper_side(cells)
    y = first_largest(lower)
    at = (first_largest(cells.low[:, y], absolute=0.0),)
    return Bounds(float(estimate.max()), float(lower.max()), float(upper.max()), y, at)


def _pmc(cells: Cells) -> Bounds:
    estimate, lower, upper = lower_side(cells)
    y = first_largest(lower)
    at = (first_smallest(cells.high[:, y], absolute=0.0),)
    return Bounds(float(estimate.max()), float(lower.max()), float(upper.max()), y, at)


def _ldp(cells: Cells) -> Bounds:
    estimate = _log(cells.rates.max(axis=0), cells.rates.min(axis=0))
    lower = np.maximum(_log(cells.low.max(axis=0), cells.high.min(axis=0)), 0.0)
    upper = _log(cells.high.max(axis=0), cells.low.min(axis=0))
    y = first_largest(lower)
    pair = (first_largest(cells.low[:, y], absolute=0.0), first_smallest(cells.high[:, y], absolute=0.0))
    return Bounds(float(estimate.max()), float(lower.max()), float(upper.max()), y, pair)


def _lip(cells: Cells) -> Bounds:
    above, below = _pml(cells), _pmc(cells)
    larger = (above, below)[first_largest([above.lower, below.lower])]
    return Bounds(
        max(above.estimate, below.estimate), larger.lower, max(above.upper, below.upper), larger.outcome, larger.secrets
    )


def _bayes_capacity(cells: Cells) -> Bounds:
    most = float(min(cells.counts.shape))
    lower = max(1.0, math.fsum(cells.low.max(axis=0).tolist()))
    upper = min(most, math.fsum(cells.high.max(axis=0).tolist()))
    y = first_largest(cells.low.max(axis=0), absolute=0.0)
    at = (first_largest(cells.low[:, y], absolute=0.0),)
    return Bounds(math.fsum(cells.rates.max(axis=0).tolist()), lower, upper, y, at, logarithmic=False)


def _exp(bounds: Bounds) -> Bounds:
    estimate, lower, upper = (float(v) for v in _grown(bounds.estimate, bounds.lower, bounds.upper))
    return Bounds(estimate, lower, upper, bounds.outcome, bounds.secrets, logarithmic=False)


def _grown(*logs: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(np.array(logs))


def _log_of(bounds: Bounds) -> Bounds:
    estimate, lower, upper = (math.log(v) for v in (bounds.estimate, bounds.lower, bounds.upper))
    return Bounds(estimate, lower, upper, bounds.outcome, bounds.secrets)


MEASURES: dict[str, Callable[[Cells], Bounds]] = {
    "ldp": _ldp,
    "pml": _pml,
    "pmc": _pmc,
    "lip": _lip,
    "lift": lambda cells: _exp(_pml(cells)),
    "lift_capacity": lambda cells: _exp(_ldp(cells)),
    "bayes_capacity": _bayes_capacity,
    "maximal_leakage": lambda cells: _log_of(_bayes_capacity(cells)),
}
"""Measure -> its bounds from the cells; the claim kinds of the same name (with -) can be audited."""


def refutable(rows: np.ndarray, outcomes: int, confidence: float) -> dict[str, float]:
    """Return, for each measure, the largest lower bound that any table could have with so many rows of each secret.

    Claims above it cannot be refuted, whatever the rows hold. `rows`, shape (N,): rows of each secret. Reached where an
    outcome comes with one secret only, or never with one; at 0 (1 for ratios) where there is one secret or outcome.
    """
    n, m, total = len(rows), outcomes, rows.sum()
    if n == 1 or m == 1:
        logs, capacity = dict.fromkeys(("ldp", "pml", "pmc"), 0.0), 1.0
    else:
        risk = (1 - confidence) / (n * m + m)
        always, _ = clopper_pearson(rows, rows, risk)
        _, never = clopper_pearson(np.zeros(n), rows, risk)
        least, most = np.argsort(never)[:2], np.argsort(-always)[:2]
        ldp = max((math.log(always[a] / never[b]) for a in most for b in least if a != b), default=0.0)
        pml = max(_most_of_one(int(k), int(total), risk) for k in np.unique(rows))
        rest, _ = clopper_pearson(total - rows, np.full(n, total), risk)
        logs = {"ldp": ldp, "pml": pml, "pmc": float(_log(rest, never).max())}
        capacity = math.fsum(np.sort(always)[::-1][:m].tolist())
    logs = {name: max(value, 0.0) for name, value in logs.items()}
    capacity = max(1.0, capacity)
    ratios = {"lift": math.exp(logs["pml"]), "lift_capacity": math.exp(logs["ldp"])}
    both = {"bayes_capacity": capacity, "maximal_leakage": math.log(capacity)}
    return {**logs, "lip": max(logs["pml"], logs["pmc"]), **ratios, **both}


def _most_of_one(rows: int, total: int, risk: float) -> float:
    """Return the largest log of low P(y | x) / high P(y) for an outcome that comes with one secret only."""
    hits = np.unique(np.linspace(1, rows, 1000).round())
    low, _ = clopper_pearson(hits, np.full(len(hits), rows), risk)
    _, high = clopper_pearson(hits, np.full(len(hits), total), risk)
    return float(_log(low, high).max())
