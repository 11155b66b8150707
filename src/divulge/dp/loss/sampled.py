"""Amplification by subsampling: a mechanism that runs on a random part of the records.

Poisson sampling takes every record with probability r by itself; neighbors differ by one record added or removed:
((1 - r) Q + r P, Q) when it is removed, (P, (1 - r) P + r Q) when it is added, dominate whatever (P, Q) dominates.
Sampling a fixed number m of N records, r = m / N; neighbors differ in one record replaced: at every epsilon > 0 the
first of these pairs is the worst, at every epsilon < 0 the second, and one pair has both halves.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from divulge import exact
from divulge.dp.knowledge import Known, weakest
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.lattice import LatticeLoss, mixed, replaced_lattice, sampled_lattice
from divulge.dp.loss.pair import LossFunction, PrivacyLoss, Seen
from divulge.dp.loss.promised import PromisedLoss, SampledCurve
from divulge.dp.loss.quadrature import panels
from divulge.measures.numeric.convex import power_term

_MOST_PANELS = 20_000
"""Panels of an integral, some megabytes; beyond, at alpha mu of about 10,000, Minkowski's inequality stands for it."""

_LARGEST_EXPONENT = 600.0
"""Beyond this (1 + x)^alpha is all there is of (1 + x)^alpha - 1 - alpha x."""

_SLIGHT, _LOST = 1e-14, 4e-16
"""More than the relative rounding of a product of a few terms, and of a difference from 1."""

_FAR = 4.0
"""Where e^((alpha - 1) L) moves P by so many deviations, the Renyi divergence is integrated where it moves P to."""


def _unmixed(loss: np.ndarray, rate: float) -> np.ndarray:
    """Return the t with log(1 - r + r e^t) = loss; -inf below the least such value."""
    with np.errstate(over="ignore", divide="ignore"):
        near = np.log1p(np.maximum(np.expm1(np.minimum(loss, 500.0)) / rate, -1.0))
    return np.where(loss > 500.0, loss - math.log(rate), near)


@dataclass(frozen=True, eq=False)
class SampledLoss(PrivacyLoss):
    """The loss of ((1 - r) Q + r P, Q), or of that pair reversed when `added`, where `base` is the loss of (P, Q)."""

    base: PrivacyLoss
    sampling: float
    added: bool = False
    pair: tuple[Hashable, Hashable] = ("D", "D'")

    def __post_init__(self) -> None:
        """Keep the rate of the base pair: sampling never raises a Renyi divergence. A sample is dominated at best."""
        object.__setattr__(self, "rate", self.base.rate)
        object.__setattr__(self, "known", weakest([Known.DOMINATING, self.base.known]))

    @property
    def attained(self) -> PrivacyLoss | None:
        """The same with a base that is attained: of data sets without effect but for the record."""
        base = self.base.attained
        return self if base is self.base else base and replace(self, base=base)

    @property
    def atoms_at(self) -> np.ndarray:
        return -mixed(-self.base.atoms_at, self.sampling) if self.added else mixed(self.base.atoms_at, self.sampling)

    @property
    def infinite(self) -> float:
        return 0.0 if self.added else self.sampling * self.base.infinite

    @property
    def highest(self) -> float:
        if self.added:
            return -self.reverse().lowest
        return float(mixed(np.array(self.base.highest), self.sampling))

    @property
    def lowest(self) -> float:
        if self.added:
            return -self.reverse().highest
        bottom = -math.inf if self.base.reverse().infinite > 0 else self.base.lowest
        return float(mixed(np.array(bottom), self.sampling))

    @cached_property
    def enclosing(self) -> tuple[PrivacyLoss, PrivacyLoss]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._of_both(self.base.enclosing)

    def enclosed(self, tilt: float, spread: float, seen: Seen | None = None) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the same by cells of the base pair that are short where the sampled loss counts."""
        return self._of_both(self.base.enclosed(tilt, spread, self._seen))

    def _seen(self, p: np.ndarray, q: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what a sample makes of masses under P and Q of the base pair, and of its log ratio."""
        after = mixed(loss, self.sampling)
        return (q, -after) if self.added else ((1.0 - self.sampling) * q + self.sampling * p, after)

    def _of_both(self, bases: tuple[PrivacyLoss, PrivacyLoss]) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return this loss of two base pairs, of which one is easier and one harder to tell apart."""
        if bases[0] is self.base:
            return self, self
        low, high = (sampled(base, self.sampling) for base in bases)
        return (low.reverse(), high.reverse()) if self.added else (low, high)

    def reverse(self) -> "SampledLoss":
        return replace(self, added=not self.added, pair=self.pair[::-1])

    def _events(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of {L > threshold} under the mixture and under Q."""
        if self.added:
            below = -_unmixed(-t, self.sampling)
            p, q = self.base.reverse().tail_under_q(below), self.base.reverse().tail(below)
        else:
            above = _unmixed(t, self.sampling)
            p, q = self.base.tail(above), self.base.tail_under_q(above)
            if self.base.reverse().infinite > 0:
                q = np.where(np.isneginf(above) & (t < math.log1p(-self.sampling)), 1.0, q)
        return np.asarray((1.0 - self.sampling) * q + self.sampling * p), np.asarray(q)

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return self._events(t)[1 if self.added else 0]

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return self._events(t)[0 if self.added else 1]

    def _terms(self, e: np.ndarray) -> tuple[PrivacyLoss, np.ndarray, np.ndarray, np.ndarray]:
        """Return (loss, factor, e', known): delta is factor delta_loss(e'), or known where that is no NaN.

        It is r delta_base(e') with 1 - r + r e^e' = e^epsilon, or its counterpart for the reversed pair.
        """
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.added:
                share = np.maximum(-np.expm1(e + np.log1p(np.array(-self.sampling))), 0.0)
                moved = np.where(share > 0, e + math.log(self.sampling) - np.log(share), math.inf)
                return self.base.reverse(), share, moved, np.where(share > 0, math.nan, 0.0)
            moved = _unmixed(e, self.sampling)
            known = np.where(np.isneginf(moved), -np.expm1(np.minimum(e, 0.0)), math.nan)
            return self.base, np.full_like(moved, self.sampling), moved, known

    def _delta(self, e: np.ndarray) -> np.ndarray:
        loss, factor, moved, known = self._terms(e)
        return np.where(np.isnan(known), factor * np.asarray(loss.delta(moved)), known)

    def bounds(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of a bracket on delta at many epsilons, from those of a base pair of densities."""
        loss, factor, moved, known = self._terms(epsilon)
        assert isinstance(loss, DensityLoss)
        lost = _LOST * loss.tail(moved) if self.added else 0.0  # what is left of 1 less the rest is off by as much
        ends = (
            factor * end * (1 + side * _SLIGHT) + side * lost
            for side, end in zip((-1, 1), loss.bounds(moved), strict=True)
        )
        low, high = (np.clip(np.where(np.isnan(known), end, known), 0.0, 1.0) for end in ends)
        return low, high

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E[f(L); L < inf], from the expectations of the base pair in both orders."""
        reverse, rate = self.base.reverse(), self.sampling
        turn = -1.0 if self.added else 1.0
        inner = [float(v) for v in _unmixed(turn * np.array([0.0, *kinks]), rate) if math.isfinite(v)]

        def q_part(g: LossFunction) -> float:
            gone = reverse.infinite
            lowest = float(g(np.log1p(np.array(-rate)))) if gone > 0 else 0.0
            return reverse.expect(lambda t: g(mixed(-t, rate)), [-v for v in inner]) + gone * lowest

        if self.added:
            return q_part(lambda t: f(-t))
        return (1.0 - rate) * q_part(f) + rate * self.base.expect(lambda t: f(mixed(t, rate)), inner)

    def _renyi(self, alpha: float) -> float:
        """Return log E_Q[(1 - r + r e^t)^alpha] / (alpha - 1); for a Gaussian base by panels of half a deviation.

        With x = r (e^t - 1), E_Q x = 0: the moment exceeds 1 by E_Q[(1 + x)^alpha - 1 - alpha x], terms above 0 that
        keep their digits at every rate. At orders too large for panels, the bound by Minkowski's inequality, alpha /
        (alpha - 1) log(1 - r + r E_Q[e^(alpha t)]^(1 / alpha)), which is then nearly attained.
        """
        if self.added or not isinstance(self.base, GaussianLoss) or (alpha - 1) * self.base.mu < _FAR:
            return super()._renyi(alpha)
        mu = self.base.mu
        low, high = -38 * mu - mu**2 / 2, 38 * mu + (alpha - 0.5) * mu**2
        number = math.ceil(2 * (high - low) / mu)
        if number > _MOST_PANELS:
            grown = math.log(self.sampling) + (alpha - 1) * mu**2 / 2
            return float(np.logaddexp(math.log1p(-self.sampling), grown)) * alpha / (alpha - 1)
        t, weights = panels(np.linspace(low, high, number + 1))
        grown = alpha * mixed(t, self.sampling)
        near = grown < _LARGEST_EXPONENT
        x = self.sampling * np.expm1(t[near])
        with np.errstate(divide="ignore"):
            grown[near] = np.log(power_term(x, 1.0 + x, alpha))
            logs = grown - ((t / mu + mu / 2) ** 2) / 2 + np.log(weights / (mu * math.sqrt(2 * math.pi)))
        top = float(logs.max())
        excess = top + math.log(math.fsum(np.exp(logs - top).tolist()))
        return (math.log1p(math.exp(excess)) if excess < 0 else float(np.logaddexp(0.0, excess))) / (alpha - 1)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        under_q = mixed(-self.base.reverse().sample(size, rng), self.sampling)
        if self.added:
            return -under_q
        return np.where(rng.random(size) < self.sampling, mixed(self.base.sample(size, rng), self.sampling), under_q)


@grid.cells.register
def _(loss: SampledLoss, edges: np.ndarray) -> grid.Cells:
    """The cells of the base pair between the edges that the mixture came from."""
    if loss.added:
        found = grid.cells(loss.reverse(), -edges[::-1])
        return grid.Cells(found.q[::-1], found.p[::-1], found.q_error[::-1], found.p_error[::-1])
    start = int(np.count_nonzero(np.isneginf(_unmixed(grid.nudged(edges), loss.sampling))))
    if start >= len(edges) - 1:
        return grid.by_tails(loss, edges)
    inner = _unmixed(edges[start:], loss.sampling)
    found = grid.cells(loss.base, inner)
    columns = [np.concatenate([np.zeros(start), array]) for array in (found.p, found.q, found.p_error, found.q_error)]
    if start:
        reverse, end = loss.base.reverse(), -grid.nudged(inner)[0]
        under = np.array([float(reverse.tail_under_q(end)), float(reverse.tail(end))])
        for array, value in zip(columns, [*under, *(under * grid.ACCURACY)], strict=True):
            array[start - 1] = value
    p, q, p_error, q_error = columns
    rate, slack = loss.sampling, 4 * grid.ROUND
    both = (1.0 - rate) * q + rate * p
    return grid.Cells(both, q, (1.0 - rate) * q_error + rate * p_error + slack * both, q_error)


@dataclass(frozen=True, eq=False)
class FixedSizeLoss(PrivacyLoss):
    """Losses above 0 of the pair `removed`, losses below 0 of the pair `added`, and the rest of the mass at 0."""

    removed: PrivacyLoss
    added: PrivacyLoss
    pair: tuple[Hashable, Hashable] = ("D", "D'")

    def __post_init__(self) -> None:
        """Take the larger of the rates of both halves, and what is known of both."""
        object.__setattr__(self, "rate", max(self.removed.rate, self.added.rate))
        object.__setattr__(self, "known", weakest([Known.DOMINATING, self.removed.known, self.added.known]))

    @property
    def attained(self) -> PrivacyLoss | None:
        return self.removed.attained

    @property
    def atoms_at(self) -> np.ndarray:
        below, above = self.added.atoms_at, self.removed.atoms_at
        return np.concatenate([below[below < 0], [0.0], above[above > 0]])

    @property
    def infinite(self) -> float:
        return self.removed.infinite

    @property
    def highest(self) -> float:
        return self.removed.highest

    @property
    def lowest(self) -> float:
        return self.added.lowest

    @cached_property
    def enclosing(self) -> tuple[PrivacyLoss, PrivacyLoss]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.removed.enclosing[0] is self.removed:
            return self, self
        low, high = (fixed_size(self.removed.enclosing[i], self.added.enclosing[i]) for i in (0, 1))
        return low, high

    def enclosed(self, tilt: float, spread: float, seen: Seen | None = None) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the same by cells that are short where each half counts."""
        if self.removed.enclosing[0] is self.removed:
            return self, self
        removed, added = (half.enclosed(tilt, spread) for half in (self.removed, self.added))
        return fixed_size(removed[0], added[0]), fixed_size(removed[1], added[1])

    def reverse(self) -> "FixedSizeLoss":
        return FixedSizeLoss(self.added.reverse(), self.removed.reverse(), (self.pair[1], self.pair[0]))

    def _either(self, name: str, t: np.ndarray) -> np.ndarray:
        return np.where(t >= 0, getattr(self.removed, name)(t), getattr(self.added, name)(t))

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return self._either("tail", t)

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return self._either("tail_under_q", t)

    def _delta(self, e: np.ndarray) -> np.ndarray:
        return self._either("delta", e)

    def bounds(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of a bracket on delta at many epsilons, of halves of pairs of densities."""
        halves = [half.bounds(epsilon) for half in (self.removed, self.added) if isinstance(half, SampledLoss)]
        low, high = (np.where(epsilon >= 0, *ends) for ends in zip(*halves, strict=True))
        return low, high

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E[f(L); L < inf]: each half by its own pair, the rest of the mass at 0."""
        at_zero = float(f(np.array(0.0)))
        upper = self.removed.expect(lambda t: np.where(t > 0, f(t) - at_zero, 0.0), kinks)
        lower = self.added.expect(lambda t: np.where(t < 0, f(t) - at_zero, 0.0), kinks)
        return upper + lower + at_zero * (1.0 - self.infinite)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        out = self.removed.sample(size, rng)
        rest = np.flatnonzero(~(out > 0))
        out[rest] = 0.0
        low, high = float(self.added.reverse().tail_under_q(0.0)), float(self.removed.tail(0.0))
        below = rest[rng.random(len(rest)) * (1.0 - high) < low]
        while len(below):
            drawn = self.added.sample(len(below), rng)
            out[below] = drawn
            below = below[~(drawn < 0)]
        return out


def of_densities(loss: PrivacyLoss) -> DensityLoss | None:
    """Return the pair of densities that a loss is, or a sample of; None where it is none."""
    if isinstance(loss, FixedSizeLoss):
        return of_densities(loss.removed)
    base = loss.base if isinstance(loss, SampledLoss) else loss
    return base if isinstance(base, DensityLoss) else None


def sampled(base: PrivacyLoss, rate: float) -> PrivacyLoss:
    """Return the loss of ((1 - r) Q + r P, Q), where `base` is that of (P, Q)."""
    if rate == 1:
        return base
    if isinstance(base, LatticeLoss) and base.law.sampling == 1:
        return sampled_lattice(base, rate)
    if not isinstance(base, AtomicLoss) or isinstance(base, LatticeLoss):
        return SampledLoss(base, rate)
    p, q = exact.as_floats(base.p), exact.as_floats(base.q)
    losses, mass, mass_q = mixed(base.losses, rate), (1.0 - rate) * q + rate * p, q
    gone = float(base.q_only)
    if gone > 0:
        losses = np.append(math.log1p(-rate), losses)
        mass, mass_q = np.append((1.0 - rate) * gone, mass), np.append(gone, mass_q)
    values, where = np.unique(losses, return_inverse=True)
    p, q = (np.bincount(where, each, minlength=len(values)) for each in (mass, mass_q))
    below = base.below if isinstance(base.below, bool) else sampled(base.below, rate)
    known = weakest([Known.DOMINATING, base.known])
    atoms = AtomicLoss(values, p, q, rate * float(base.p_only), 0.0, base.pair, base.rate, None, known, below)
    return _with_curve(atoms, SampledCurve(base.curve, rate)) if isinstance(base, PromisedLoss) else atoms


def _with_curve(atoms: AtomicLoss, curve: SampledCurve) -> PromisedLoss:
    return PromisedLoss(**{entry.name: getattr(atoms, entry.name) for entry in fields(atoms)}, curve=curve)


def fixed_size(removed: PrivacyLoss, added: PrivacyLoss) -> PrivacyLoss:
    """Return the loss of a sample of a fixed size from those of the pairs that are the worst at each side of 0."""
    if isinstance(removed, LatticeLoss) and isinstance(added, LatticeLoss):
        return replaced_lattice(removed, removed.attained or False)
    if not (isinstance(removed, AtomicLoss) and isinstance(added, AtomicLoss)):
        return FixedSizeLoss(removed, added)
    up, down = removed.losses > 0, added.losses < 0
    p, q = (
        np.concatenate([below[down], [0.0], above[up]]) for below, above in ((added.p, removed.p), (added.q, removed.q))
    )
    losses = np.concatenate([added.losses[down], [0.0], removed.losses[up]])
    middle = int(np.count_nonzero(down))
    p[middle] = q[middle] = max(0.0, 1.0 - float(removed.p_only) - math.fsum(p.tolist()))
    keep, known = p > 0, weakest([Known.DOMINATING, removed.known])
    rest = (removed.p_only, added.q_only, removed.pair, removed.rate, None, known, removed.attained or False)
    atoms = AtomicLoss(losses[keep], p[keep], q[keep], *rest)
    if isinstance(removed, PromisedLoss) and isinstance(removed.curve, SampledCurve):
        return _with_curve(atoms, replace(removed.curve, fixed=True))
    return atoms
