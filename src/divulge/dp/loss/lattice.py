"""Privacy losses of discrete Gaussian noise, which has no end, also on a sample of the records.

The atoms whose masses are doubles are listed, as for any `AtomicLoss`; what lies beyond them on either side is known by
its logarithm, and every question that it can decide (largest losses, moments, powers of the ratio) uses it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from divulge.dp.knowledge import Known, weakest
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import order
from divulge.dp.loss.pair import LossFunction, PrivacyLoss
from divulge.measures.numeric.convex import power_term

_RAREST = 1e-290
"""Deltas below this feel what atoms are too rare to be listed."""

_LISTED = 39.0
"""Gaussian weights beyond this many standard deviations are below the smallest double."""

_WIDER = 45.0
"""Expectations go so many deviations out: a power of the ratio with doubles there is integrated as far as it counts."""

_STEEP = 1.0
"""Ratios within e^this as far as atoms are listed need no more atoms."""

_MOST_ATOMS = 1 << 20
"""A moment whose terms are more than these is bounded instead of summed."""

_LARGEST_EXPONENT = 600.0
"""Beyond this (1 + x)^alpha is all there is of (1 + x)^alpha - 1 - alpha x."""

Neighbor = Literal["removed", "added", "replaced"]


def mixed(loss: np.ndarray, rate: float) -> np.ndarray:
    """Return log(1 - r + r e^loss)."""
    with np.errstate(over="ignore"):
        near = np.log1p(rate * np.expm1(np.minimum(loss, 500.0)))
    return np.where(loss > 500.0, loss + math.log(rate), near)


@lru_cache(maxsize=64)
def _log_total(sigma: float) -> float:
    """Return log of the sum over all integers of e^(-k^2 / (2 sigma^2))."""
    k = np.arange(math.ceil(_LISTED * sigma) + 1, dtype=np.float64)
    return math.log(2 * math.fsum(np.exp(-((k / sigma) ** 2) / 2).tolist()) - 1.0)


@dataclass(frozen=True)
class GaussianLattice:
    """The law of a loss: P_0 is discrete Gaussian noise on 0, Q_0 on `shift`; a record takes part with `sampling`.

    removed: ((1 - r) Q_0 + r P_0, Q_0), added: (P_0, (1 - r) P_0 + r Q_0); replaced, in a sample of a fixed size: the
    losses above 0 of the first, those below 0 of the second, and the rest of the mass at 0.
    """

    sigma: float
    shift: int
    sampling: float = 1.0
    neighbor: Neighbor = "removed"

    @property
    def rate(self) -> float:
        """The r with D_alpha <= r alpha, that of the noise without sampling."""
        return (self.shift / self.sigma) ** 2 / 2

    @property
    def highest(self) -> float:
        """The supremum of the losses; that of a record added is a limit."""
        if self.neighbor != "added" or self.sampling == 1:
            return math.inf
        return -math.log1p(-self.sampling)

    def reverse(self) -> "GaussianLattice":
        """Return the law of the pair (Q, P): numbers turned around the middle of 0 and `shift`."""
        turned: dict[Neighbor, Neighbor] = {"removed": "added", "added": "removed", "replaced": "replaced"}
        return self if self.sampling == 1 else replace(self, neighbor=turned[self.neighbor])

    def range(self, power: float, deviations: float = _LISTED) -> tuple[int, int]:
        """Return the first and last number that count for E_Q[(P / Q)^power]."""
        variance, shift = self.sigma**2, self.shift
        farthest = power * shift
        if power > 0 and self.highest < math.inf:  # u e^u < A for the loss u of what moves the power's mean so far
            log_a = math.log(power * 2 * self.rate) + math.log(self.sampling) + self.highest + self.rate
            farthest = min(farthest, variance / shift * float(np.logaddexp(0.0, log_a)))
        reach = math.ceil(deviations * self.sigma) + 1
        return -math.ceil(min(farthest, 1e300)) - reach, shift + reach

    def atoms(self, power: float = 0.0, deviations: float = _LISTED) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rising losses, log P and log Q of every number that counts for E_Q[(P / Q)^power]."""
        first, last = self.range(power, deviations)
        k = np.arange(last, first - 1, -1, dtype=np.float64)
        variance, shift, rate = self.sigma**2, self.shift, self.sampling
        base, log_total = shift * (shift - 2 * k) / (2 * variance), _log_total(self.sigma)
        log_p, log_q = (-((x / self.sigma) ** 2) / 2 - log_total for x in (k, k - shift))
        if rate == 1:
            return base, log_p, log_q
        gained, lost = mixed(base, rate), mixed(-base, rate)
        removed, added = (gained, log_q + gained, log_q), (-lost, log_p, log_p + lost)
        if self.neighbor != "replaced":
            return removed if self.neighbor == "removed" else added
        up, down = base > 0, base < 0
        losses, log_p, log_q = (np.concatenate([b[down], [0.0], a[up]]) for a, b in zip(removed, added, strict=True))
        middle = int(np.count_nonzero(down))
        log_p[middle] = log_q[middle] = -math.inf
        rest = 1.0 - math.fsum(np.exp(log_p).tolist())
        log_p[middle] = log_q[middle] = math.log(rest) if rest > 0 else -math.inf
        return losses, log_p, log_q

    def log_moment(self, alpha: float) -> float:
        """Return log E_Q[(P / Q)^alpha], alpha > 1, by what it exceeds 1 by; a bound from above where it is too long.

        With x = P / Q - 1, E_Q x = 0: the excess is E_Q[(1 + x)^alpha - 1 - alpha x], terms above 0. The bound is that
        of Minkowski's inequality, (1 - r + r E_Q[e^(alpha t)]^(1 / alpha))^alpha for the loss t without sampling.
        """
        first, last = self.range(alpha)
        if last - first > _MOST_ATOMS:
            return self._bound(alpha)
        losses, _, log_q = self.atoms(alpha)
        grown = alpha * losses
        near = grown < _LARGEST_EXPONENT
        x = np.expm1(losses[near])
        with np.errstate(divide="ignore"):
            grown[near] = np.log(power_term(x, 1.0 + x, alpha))
        excess = log_sum(grown + log_q)
        return math.log1p(math.exp(excess)) if excess < 0 else float(np.logaddexp(0.0, excess))

    def _bound(self, alpha: float) -> float:
        by_rate = (alpha - 1) * alpha * self.rate
        if self.sampling == 1:
            return by_rate
        if self.neighbor == "added":
            return min(by_rate, (alpha - 1) * self.highest)
        grown = math.log(self.sampling) + (alpha - 1) * self.rate
        mix = alpha * float(np.logaddexp(math.log1p(-self.sampling), grown))
        return min(by_rate, mix) if self.neighbor == "removed" else min(by_rate, float(np.logaddexp(0.0, mix)))


def log_sum(logs: np.ndarray) -> float:
    """Return log sum e^logs."""
    top = float(logs.max(initial=-math.inf))
    return top + math.log(math.fsum(np.exp(logs - top).tolist())) if math.isfinite(top) else top


@dataclass(frozen=True, eq=False, repr=False)
class LatticeLoss(AtomicLoss):
    """Loss of discrete Gaussian noise: the atoms that doubles hold, and its law, which goes on without end."""

    law: GaussianLattice = GaussianLattice(1.0, 1)

    @property
    def highest(self) -> float:
        return self.law.highest

    @property
    def lowest(self) -> float:
        return -self.law.reverse().highest

    def reverse(self) -> "LatticeLoss":
        turned: Any = super().reverse()
        return replace(turned, law=self.law.reverse())

    @cached_property
    def _wider(self) -> tuple[np.ndarray, np.ndarray]:
        """Losses and log P of the atoms that an expectation may feel."""
        steep = _LISTED * self.law.shift / self.law.sigma > _STEEP
        return self.law.atoms(0.0, _WIDER if steep else _LISTED)[:2]

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        losses, log_p = self._wider
        with np.errstate(over="ignore", divide="ignore"):
            values = np.broadcast_to(np.asarray(f(losses), dtype=np.float64), losses.shape)
            terms = np.sign(values) * np.exp(log_p + np.log(np.abs(values)))
        if not np.isfinite(terms).all():
            return math.inf
        return math.fsum(terms.tolist())

    def _epsilon(self, delta: float) -> float:
        return min(self.highest, super()._epsilon(delta)) if delta >= _RAREST else self.highest

    def _quantile(self, delta: float) -> float:
        return super()._quantile(delta) if delta >= _RAREST else self.highest

    def _renyi(self, alpha: float) -> float:
        """Return log E_Q[(P / Q)^alpha] / h, h = alpha - 1.

        Without sampling alpha rate + log(Z(h s) / Z(0)) / h with Z(x) = sum_k e^(-(k + x)^2 / (2 sigma^2)).
        """
        h, law = alpha - 1.0, self.law
        if law.sampling < 1 or h < 0.1:  # so near to 1 the excess over 1 keeps its digits
            return law.log_moment(alpha) / h
        moved = math.fmod(h * law.shift, 1.0) if h * law.shift < 2.0**52 else 0.0
        rest = _log_total(law.sigma) if moved == 0 else _log_shifted(law.sigma, moved)
        return alpha * law.rate + min(rest - _log_total(law.sigma), 0.0) / h

    def mean(self) -> float:
        return self.law.rate if self.law.sampling == 1 else super().mean()

    def abs_chi(self, alpha: float) -> float:
        alpha = order(alpha)
        first, last = self.law.range(min(alpha, 1e300))
        if alpha == math.inf:
            return super().abs_chi(alpha)
        if last - first > _MOST_ATOMS:  # |r - 1|^alpha <= r^alpha + 1, and for a record added r has a limit
            most = math.expm1(self.highest) if self.highest < math.inf else math.inf
            return min(_exp(float(np.logaddexp(0.0, self.law.log_moment(alpha))) / alpha), max(most, 1.0))
        losses, _, log_q = self.law.atoms(alpha)
        with np.errstate(divide="ignore"):
            gaps = np.maximum(losses, 0.0) + np.log(-np.expm1(-np.abs(losses)))
        return _exp(log_sum(log_q + alpha * gaps) / alpha)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.7 else math.inf


def _log_shifted(sigma: float, moved: float) -> float:
    """Return log sum_k e^(-(k + moved)^2 / (2 sigma^2)) over all integers k."""
    reach = math.ceil(_LISTED * sigma) + 2
    return log_sum(-(((np.arange(-reach, reach + 1) + moved) / sigma) ** 2) / 2)


def lattice_loss(law: GaussianLattice, **given: Any) -> LatticeLoss:
    """Return the loss of a law: atoms of all numbers whose masses are doubles, those of equal loss as one."""
    losses, log_p, log_q = law.atoms()
    values, where = np.unique(losses, return_inverse=True)
    p, q = (np.bincount(where, np.exp(logs), minlength=len(values)) for logs in (log_p, log_q))
    seen = (p > 0) | (q > 0)
    given = {"pair": ("D", "D'"), "rate": law.rate, **given}
    return LatticeLoss(values[seen], p[seen], q[seen], **given, law=law)


def sampled_lattice(base: LatticeLoss, rate: float) -> LatticeLoss:
    """Return the loss of ((1 - r) Q + r P, Q), or of the pair turned around, for noise that is no sample yet."""
    below: PrivacyLoss | bool = base.below if isinstance(base.below, bool) else sampled_lattice(_as(base.below), rate)
    known = weakest([Known.DOMINATING, base.known])
    return lattice_loss(replace(base.law, sampling=rate), pair=base.pair, known=known, below=below)


def _as(loss: Any) -> LatticeLoss:
    return loss


def replaced_lattice(removed: LatticeLoss, below: PrivacyLoss | bool) -> LatticeLoss:
    """Return the loss of a sample of a fixed size, one of whose records is replaced."""
    known = weakest([Known.DOMINATING, removed.known])
    law = replace(removed.law, neighbor="replaced")
    return lattice_loss(law, pair=removed.pair, known=known, below=below)
