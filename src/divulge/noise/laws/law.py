"""The law of the outcome: log f(y | x), its best and worst secret, and log f(y), in the log domain throughout."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import ULPS, Noise
from divulge.noise.secrets.secret import Secret

Side = Literal["pml", "pmc"]
SIDES: tuple[Side, Side] = ("pml", "pmc")
Range = tuple[np.ndarray, np.ndarray]


def as_side(value: object) -> Side:
    """Return "pml" or "pmc"; anything else is refused."""
    for side in SIDES:
        if isinstance(value, str) and value == side:
            return side
    raise DivulgeError.of("side", 'be "pml" or "pmc"', "it", repr(value)[:60])


_LARGE = 30.0
"""From here on 1 is nothing beside e^d to all digits."""


def leakage_of(log_ratio: np.ndarray, log_prior: np.ndarray, rounding: np.ndarray, side: Side) -> Range:
    """Return (the leakage, a bound on its error) from log f(y | x_i) up to a constant; the secrets along the last axis.

    With d_i the distance to the best (worst) one, pml is -log1p(sum_i P(x_i) expm1(d_i)) and pmc log1p of the same: all
    terms have one sign, so that small leakages keep their digits; large ones are sums of exponentials.
    """
    t, p, rounding = log_ratio, np.exp(log_prior), np.where(np.isfinite(log_ratio), rounding, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        sign = -1.0 if side == "pml" else 1.0
        best = (-sign * (-sign * t).max(axis=-1))[..., None]
        edge = (rounding - sign * t).max(axis=-1) + sign * best[..., 0]
        d = np.where(t == best, 0.0, t - best)
        far = np.exp(log_prior + d)  # a prior below the smallest double may be all there is after an outcome
        excess = np.sum(np.where(d > _LARGE, far, p * np.expm1(np.minimum(d, _LARGE))), axis=-1)
        size = np.sum(np.where(p > 0, p * (1 + np.abs(log_prior)) * np.abs(np.expm1(d)), 0.0), axis=-1)
        top = d.max(axis=-1, keepdims=True)
        parts = log_prior + (d - top)
        most = parts.max(axis=-1, keepdims=True)
        total = np.log(np.sum(np.exp(parts - most), axis=-1)) + (most + top)[..., 0]
        leak = np.maximum(np.where(np.abs(excess) < 0.5, sign * np.log1p(excess), sign * total), 0.0)
        weight = np.exp(log_prior + (d - total[..., None]))
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
    error: float = 0.0  # of `outcome`, where it is an integral, and of the leakage
    leaks: tuple[Range, Range] | None = None  # of pml(y) and pmc(y), with errors, where known without these logs

    def leakage(self, side: Side) -> tuple[float, float]:
        """Return the limit of pml(y) or pmc(y), and a bound on its error."""
        if self.leaks is not None:
            value, error = self.leaks[side == "pmc"]
            return float(value), float(error)
        value = self.best - self.outcome if side == "pml" else self.outcome - self.worst
        logs = (self.best, self.outcome) if side == "pml" else (self.outcome, self.worst)
        return value, self.error + 2 * ULPS * (1 + sum(abs(v) for v in logs if math.isfinite(v)))


class Law(ABC):
    """The law of the outcome, given a secret and in all: of flat arrays y, in logs relative to `log_reference(y)`."""

    noise: Noise
    secret: Secret

    @property
    def low(self) -> float:
        """The smallest location that noise is added to, maybe -inf."""
        return self.secret.low

    @property
    def high(self) -> float:
        """The largest location that noise is added to, maybe +inf."""
        return self.secret.high

    @property
    def bounded(self) -> bool:
        """Whether the secret is bounded on both sides."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def exact(self) -> bool:
        """Whether all logs are exact but for rounding: sums or closed forms, no integral over the secret."""
        return True

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return where the noise is centered that all logs are relative to; outside the data, their nearer end."""
        return np.clip(y, self.low, self.high)

    def where_it_matters(self, y: np.ndarray) -> np.ndarray:
        """Return the outcomes moved to the data under Laplace noise, of which nothing changes beyond them."""
        return np.clip(y, self.low, self.high) if self.noise.linear else y

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        """Return what was taken out of all other logs so that they keep their digits far out."""
        return self.noise.reference(y, self.center(y))

    @abstractmethod
    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (sup over secrets of log f(y | x), the secret)."""

    @abstractmethod
    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (inf over secrets of log f(y | x), the secret)."""

    @property
    def worsts_are_all(self) -> bool:
        """Whether `log_worsts` has a column for every secret that can be the worst, the same one for all y."""
        return False

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x) of secrets of which one is the worst, shape (len(y), k)."""
        return self.log_worst(y)[0][:, None]

    @abstractmethod
    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y)."""

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y) itself, the reference put back."""
        return self.log_outcome(y) + self.log_reference(y)

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        """Return a bound on the error of pml(y) or pmc(y), rounding aside."""
        return np.zeros(len(y))

    def rounding(self, y: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return a bound on the rounding error of the difference of these logs: ulps of them and of their distances."""
        with np.errstate(invalid="ignore", over="ignore"):
            span = self.high - self.low
            unit = abs(math.log(self.noise.scale / span)) if math.isfinite(span) and span > 0 else 0.0
            size = 1 + np.abs(above) + np.abs(below) + unit
            if self.noise.terms is None:
                size = size + self.noise.rounding(y, self.center(y), self.center(y)) / ULPS
        return np.where(np.isfinite(size), 4 * ULPS * size, 0.0)

    def direct(self, y: np.ndarray, side: Side) -> Range | None:
        """Return (pml(y) or pmc(y), a bound on its rounding error) without a difference of logs; None: no such way."""
        return None

    @property
    def has_poles(self) -> bool:
        """Whether outcomes that occur leak without bound, as the noise has none and the secret has a density."""
        return False

    def log_mass_at_poles(self, y: np.ndarray) -> np.ndarray:
        """Return the log of the mass of secrets for which f(y | x) is infinite; NaN where there is none."""
        return np.full(len(y), math.nan)

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a bound on the mass of locations inside (left, right), for every secret and for all."""
        return np.full(len(left), math.inf)

    @abstractmethod
    def ends(self) -> list[End]:
        """Return the limits as y leaves the data behind; none where the noise has no limiting ratio."""

    def _last(self, y: np.ndarray, find: Callable[[np.ndarray], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        """Return find(y); the answer for the last outcomes is kept, as they are asked for in turn."""
        asked, found = getattr(self, "_kept", (None, ()))
        if asked is None or not np.array_equal(asked, y):
            found = find(y)
            object.__setattr__(self, "_kept", (y.copy(), found))
        return found


UNBOUNDED = [End(sign * math.inf, math.inf, 0.0, -math.inf) for sign in (1.0, -1.0)]
"""The limits for a secret whose values have no end: each outcome far out singles out secrets near it."""


def farthest(law: Law, left: np.ndarray, right: np.ndarray) -> Range:
    """Return the range of the distance to the farther end of the data, for y from left to right."""
    least = np.maximum.reduce([left - law.low, law.high - right, np.full(len(left), (law.high - law.low) / 2)])
    return least, np.maximum(right - law.low, law.high - left)


def by_distance(noise: Noise, distance: Range) -> Range:
    """Return the range of the log density at these distances, of noise that falls on either side of 0."""
    return noise.log_density(distance[1]), noise.log_density(distance[0])
