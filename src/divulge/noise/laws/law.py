"""The law of the outcome: log f(y | x), its best and worst secret, and log f(y), in the log domain throughout."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import ULPS, Noise

Side = Literal["pml", "pmc"]
SIDES: tuple[Side, Side] = ("pml", "pmc")
Range = tuple[np.ndarray, np.ndarray]


def as_side(value: object) -> Side:
    """Return "pml" or "pmc"; anything else is refused.

    Examples
    --------
    >>> as_side("pmc")
    'pmc'
    """
    for side in SIDES:
        if value == side:
            return side
    raise DivulgeError.of("side", 'be "pml" or "pmc"', "it", repr(value)[:60])


def leakage_of(log_ratio: np.ndarray, log_prior: np.ndarray, rounding: np.ndarray, side: Side) -> Range:
    """Return (the leakage, a bound on its error) from log f(y | x_i) up to a constant; the secrets along the last axis.

    With d_i the distance to the best (worst) one, pml is -log1p(sum_i P(x_i) expm1(d_i)) and pmc log1p of the same: all
    terms have one sign, so that small leakages keep their digits; large ones are sums of exponentials.
    """
    t, p, rounding = log_ratio, np.exp(log_prior), np.where(np.isfinite(log_ratio), rounding, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        best = (t.max(axis=-1) if side == "pml" else t.min(axis=-1))[..., None]
        edge = (
            (t + rounding).max(axis=-1) - best[..., 0] if side == "pml" else best[..., 0] - (t - rounding).min(axis=-1)
        )
        d = np.where(t == best, 0.0, t - best)
        excess, size = (
            np.sum(p * np.expm1(d), axis=-1),
            np.sum(p * (1 + np.abs(log_prior)) * np.abs(np.expm1(d)), axis=-1),
        )
        top = d.max(axis=-1, keepdims=True)
        total = np.log(np.sum(p * np.exp(d - top), axis=-1)) + top[..., 0]
        sign = -1.0 if side == "pml" else 1.0
        leak = np.maximum(np.where(np.abs(excess) < 0.5, sign * np.log1p(excess), sign * total), 0.0)
        weight = p * np.exp(d - total[..., None])
        off = np.sum(np.where(weight > 0, weight * (rounding + ULPS * np.abs(d)), 0.0), axis=-1) + edge
        terms = ULPS * (2 + math.log2(t.shape[-1]))
        off = off + terms * np.where(np.abs(excess) < 0.5, size / (1 + excess), 1 + np.abs(total)) + ULPS * leak
    leak = np.where(np.isneginf(best[..., 0]), math.inf, leak)  # of pmc: some secret is ruled out
    leak = np.where(np.isneginf(t.max(axis=-1)) | np.isnan(t).any(axis=-1), math.nan, leak)
    return leak, np.where(np.isfinite(leak), np.where(np.isnan(off), math.inf, off), 0.0)


@dataclass(frozen=True)
class End:
    """The limits as y goes to `at`, +inf or -inf, of the logs that a law gives; of pml(y) and pmc(y)."""

    at: float
    best: float
    outcome: float
    worst: float
    error: float = 0.0
    """Of `outcome`, where it is an integral, and of the leakage."""
    leaks: tuple[Range, Range] | None = None
    """The limits of pml(y) and of pmc(y), each with its error, where they are known without these logs."""

    def leakage(self, side: Side) -> tuple[float, float]:
        """Return the limit of pml(y) or pmc(y), and a bound on its error."""
        if self.leaks is not None:
            value, error = self.leaks[side == "pmc"]
            return float(value), float(error)
        value = self.best - self.outcome if side == "pml" else self.outcome - self.worst
        logs = (self.best, self.outcome) if side == "pml" else (self.outcome, self.worst)
        return value, self.error + 2 * ULPS * (1 + sum(abs(v) for v in logs if math.isfinite(v)))


class Law(Protocol):
    """What the measures need: everything vectorized over y and in logs, relative to `log_reference(y)`."""

    @property
    def noise(self) -> Noise:
        """The noise that is added."""
        ...

    @property
    def low(self) -> float:
        """The smallest location it is added to, maybe -inf."""
        ...

    @property
    def high(self) -> float:
        """The largest location it is added to, maybe +inf."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether the secret is bounded on both sides."""
        ...

    @property
    def exact(self) -> bool:
        """Whether all logs are exact but for rounding: sums or closed forms, no integral over the secret."""
        ...

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return where the noise is centered that all logs are relative to; outside the data, their nearer end."""
        ...

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        """Return what was taken out of all other logs so that they keep their digits far out."""
        ...

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (sup over secrets of log f(y | x), the secret)."""
        ...

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (inf over secrets of log f(y | x), the secret)."""
        ...

    @property
    def worsts_are_all(self) -> bool:
        """Whether `log_worsts` has a column for every secret that can be the worst, the same one for all y."""
        ...

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x) of secrets of which one is the worst, shape (len(y), k)."""
        ...

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y)."""
        ...

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y) itself, the reference put back."""
        ...

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        """Return a bound on the error of pml(y) or pmc(y), rounding aside."""
        ...

    def rounding(self, y: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return a bound on the rounding error of the difference of these logs, both about outcome y."""
        ...

    def direct(self, y: np.ndarray, side: Side) -> Range | None:
        """Return (pml(y) or pmc(y), a bound on its rounding error) without a difference of logs; None: no such way."""
        ...

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a bound on the mass of locations inside (left, right), for every secret and for all."""
        ...

    def ends(self) -> list[End]:
        """Return the limits as y leaves the data behind; none where the noise has no limiting ratio."""
        ...


def log_rounding(law: Law, y: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return some ulps of the logs, and of the distances that they are made of."""
    with np.errstate(invalid="ignore", over="ignore"):
        span = law.high - law.low
        unit = abs(math.log(law.noise.scale / span)) if math.isfinite(span) and span > 0 else 0.0
        size = 1 + np.abs(above) + np.abs(below) + unit
        if law.noise.terms is None:
            size = size + law.noise.rounding(y, law.center(y), law.center(y)) / ULPS
    return np.where(np.isfinite(size), 4 * ULPS * size, 0.0)


def farthest(law: Law, left: np.ndarray, right: np.ndarray) -> Range:
    """Return the range of the distance to the farther end of the data, for y from left to right."""
    least = np.maximum.reduce([left - law.low, law.high - right, np.full(len(left), (law.high - law.low) / 2)])
    return least, np.maximum(right - law.low, law.high - left)


def by_distance(noise: Noise, distance: Range) -> Range:
    """Return the range of the log density at these distances, of noise that falls on either side of 0."""
    return noise.log_density(distance[1]), noise.log_density(distance[0])
