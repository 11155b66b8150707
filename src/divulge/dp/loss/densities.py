"""The privacy loss of two continuous distributions given by their densities, such as any pair of scipy.stats."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import LossFunction, PrivacyLoss
from divulge.dp.loss.quadrature import panels

_HUGE = np.finfo(np.float64).max
_WIDEST = 700.0
_TAILS = 10.0 ** -np.arange(300.0, 2.0, -2.0)
_LEVELS = np.concatenate([_TAILS, np.linspace(0.01, 0.5, 500)])
_FINER = 12
"""Cells between two cuts of the line, for composition."""


@dataclass(frozen=True, eq=False)
class DensityLoss(PrivacyLoss):
    """Loss of two continuous distributions with `logpdf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as in scipy.stats.

    The line is cut at quantiles of both distributions, 1e-300 deep in either tail. Where the log ratio passes a
    threshold between two cuts the point is found by bisection; sets of outcomes are then measured by cdf and sf.
    """

    first: Any
    second: Any
    pair: tuple[Hashable, Hashable] = ("D", "D'")

    @cached_property
    def _cuts(self) -> np.ndarray:
        points = [f(_LEVELS) for law in (self.first, self.second) for f in (law.ppf, law.isf)]
        x = np.unique(np.concatenate(points))
        x = x[np.isfinite(x)]
        inner = np.unique(np.concatenate([x, (x[1:] + x[:-1]) / 2]))
        return inner[self.first.pdf(inner) + self.second.pdf(inner) > 0]

    def _log_ratio(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.nan_to_num(self.first.logpdf(x) - self.second.logpdf(x), nan=0.0, posinf=np.inf, neginf=-np.inf)

    @cached_property
    def _at_cuts(self) -> np.ndarray:
        return self._log_ratio(self._cuts)

    def _masses(self, threshold: float) -> tuple[float, float]:
        """Return P and Q of the set where the log ratio exceeds the threshold."""
        above = self._at_cuts > threshold
        turn = np.flatnonzero(above[1:] != above[:-1])
        low, high, starts = self._cuts[turn], self._cuts[turn + 1], above[turn]
        for _ in range(70 if len(turn) else 0):
            middle = (low + high) / 2
            same = (self._log_ratio(middle) > threshold) == starts
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        edges = [*([-math.inf] if above[0] else []), *low.tolist(), *([math.inf] if above[-1] else [])]
        left, right = np.array(edges[::2]), np.array(edges[1::2])
        p, q = (math.fsum(_masses(law, left, right).tolist()) for law in (self.first, self.second))
        return p, q

    def _both(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([self._masses(float(v)) for v in t.ravel()]).reshape((*t.shape, 2))
        return found[..., 0], found[..., 1]

    @cached_property
    def _beyond(self) -> float:
        return self._masses(_HUGE)[0]

    @property
    def infinite(self) -> float:
        return self._beyond

    @property
    def highest(self) -> float:
        """The largest log ratio at the cuts, +inf when it still grows at either end."""
        finite = self._at_cuts[np.isfinite(self._at_cuts)]
        top = float(finite.max())
        growing = top in (finite[0], finite[-1]) and not (top == finite[1] or top == finite[-2])
        return math.inf if growing else top

    @property
    def lowest(self) -> float:
        return -self.reverse().highest

    def reverse(self) -> "DensityLoss":
        return DensityLoss(self.second, self.first, (self.pair[1], self.pair[0]))

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return self._both(t)[0]

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return self._both(t)[1]

    def _delta(self, e: np.ndarray) -> np.ndarray:
        p, q = self._both(e)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.maximum(p - np.where(q > 0, np.exp(e) * q, 0.0), 0.0)

    def bracket(self, epsilon: float) -> Bracket:
        """Return bounds on delta(epsilon): what the set found gains, less and more the rounding of cdf and sf.

        The lower end holds whatever the densities are, since every set of outcomes bounds delta from below; the upper
        one where the log ratio passes epsilon at most once between two neighboring cuts.
        """
        p, q = self._masses(epsilon)
        value, slack = p - math.exp(epsilon) * q, 1e-13 * (p + math.exp(epsilon) * q)
        return Bracket(max(0.0, value - slack), min(1.0, max(0.0, value) + slack))

    @cached_property
    def enclosing(self) -> tuple[AtomicLoss, AtomicLoss]:
        """Two pairs of atoms, one easier and one harder to tell apart at no epsilon: for composition.

        The line is cut into short cells, whose masses under both laws are merged (a processing of the outcome), or
        split between the largest and the least log ratio at the cell's ends, which no pair with these masses exceeds.
        """
        inner = self._cuts[:-1, None] + np.diff(self._cuts)[:, None] * np.linspace(0, 1, _FINER, endpoint=False)
        x = np.unique(np.append(inner.ravel(), self._cuts[-1]))
        ends = np.clip(self._log_ratio(x), -_HUGE, _HUGE)
        edges = np.concatenate([[-np.inf], x, [np.inf]])
        p, q = (np.maximum(_masses(law, edges[:-1], edges[1:]), 0.0) for law in (self.first, self.second))
        low = np.minimum(np.append(ends[0], ends), np.append(ends, ends[-1]))
        high = np.maximum(np.append(ends[0], ends), np.append(ends, ends[-1]))
        merged = AtomicLoss.of_rows(p / math.fsum(p.tolist()), q / math.fsum(q.tolist()), self.pair)
        return merged, _split(p, q, low, high, self.pair)

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E_P[f(L); L < inf] by Gauss-Legendre panels between the cuts (an estimate)."""
        x, weights = panels(self._cuts, 8)
        loss, weight = self._log_ratio(x), self.first.pdf(x) * weights
        seen = (weight > 0) & np.isfinite(loss)
        return math.fsum((weight[seen] * f(loss[seen])).tolist())

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self._log_ratio(self.first.rvs(size=size, random_state=rng))


def written(law: Any) -> str:
    """Return a frozen scipy distribution as it is written, anything else that is no number or name by its class."""
    if isinstance(law, (str, float, int, Fraction, tuple)) or law is None:
        return repr(law)
    if not hasattr(law, "dist"):
        return type(law).__name__
    arguments = [f"{value:g}" for value in law.args] + [f"{key}={value:g}" for key, value in law.kwds.items()]
    return f"{law.dist.name}({', '.join(arguments)})"


def _masses(law: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the probabilities of the intervals, by cdf left of the median and by sf right of it."""
    return np.where(left > float(law.median()), law.sf(left) - law.sf(right), law.cdf(right) - law.cdf(left))


def _split(p: np.ndarray, q: np.ndarray, low: np.ndarray, high: np.ndarray, pair: Any) -> AtomicLoss:
    """Return atoms at both ends of each cell with its masses; what is there under P alone has infinite loss."""
    apart = (high - low > 1e-12) & (np.abs(high) < _WIDEST) & (np.abs(low) < _WIDEST)
    near, far = np.exp(-np.where(apart, low, 1.0)), np.exp(-np.where(apart, high, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_low = np.where(apart, np.clip((q - far * p) / (near - far), 0.0, p), 0.0)
    inside = np.abs(high) < _WIDEST
    losses = np.concatenate([low[apart], high[inside]])
    mass = np.concatenate([at_low[apart], (p - at_low)[inside]])
    values, where = np.unique(losses, return_inverse=True)
    mass = np.bincount(where, mass, minlength=len(values))
    total = math.fsum(p.tolist())
    infinite = max(0.0, 1.0 - math.fsum(mass.tolist()) / total)
    under_q = mass * np.exp(-values) / total
    rest = max(0.0, 1.0 - math.fsum(under_q.tolist()))
    return AtomicLoss(values, mass / total, under_q / max(1.0, math.fsum(under_q.tolist())), infinite, rest, pair)
