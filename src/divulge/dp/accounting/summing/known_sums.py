"""Sums of privacy losses known outright: of Gaussian losses, of one pair of densities, of few types of draws."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.accounting.summing.lattice import sums_over_types
from divulge.dp.accounting.summing.sums import ListedSum
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.densities import DensityLoss
from divulge.dp.loss.grid import ROUND
from divulge.dp.loss.lattice import LatticeLoss
from divulge.dp.loss.sampled import FixedSizeLoss, SampledLoss

_MISSED = 1e-305
"""More than the mass of a loss without end beyond the atoms that doubles hold."""


@dataclass(frozen=True)
class GaussianSum:
    """n Gaussian losses with parameters mu_k are one with mu^2 = sum mu_k^2; evaluated in ball arithmetic."""

    squared: Fraction

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return log(Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu)), rounded away from the truth by one unit."""
        return _outward(lambda: self.ball(exact.arb(Fraction(epsilon))).log(), side)

    def ball(self, e: Any) -> Any:
        """Return a ball around delta at those of a ball."""
        import flint

        mu, root = exact.arb(self.squared).sqrt(), flint.arb(2).sqrt()
        upper, lower = ((e / mu + sign * mu / 2) / root for sign in (-1, 1))
        return (upper.erfc() - e.exp() * lower.erfc()) / 2


@dataclass(frozen=True)
class SampledGaussianSum:
    """One Gaussian loss on a Poisson sample, which is no sum; evaluated in ball arithmetic."""

    gaussian: GaussianSum
    rate: Fraction
    added: bool

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return log(r delta(e')) with 1 - r + r e^e' = e^epsilon, or that of the reversed pair, rounded outward."""
        highest = exact.correctly_rounded(lambda: -(1 - exact.arb(self.rate)).log()) if self.added else math.inf
        if epsilon > highest or (epsilon == highest and side < 0):
            return -math.inf
        if epsilon == highest:  # the double next to the end: no more than before it
            epsilon = math.nextafter(epsilon, 0.0)

        def ball() -> Any:
            grown, r = exact.arb(Fraction(epsilon)).exp(), exact.arb(self.rate)
            factor = 1 - (1 - r) * grown if self.added else r
            inner = r * grown / factor if self.added else (grown - 1 + r) / r
            return (factor * self.gaussian.ball(inner.log())).log()

        return _outward(ball, side)


def _outward(ball: Callable[[], Any], side: int) -> float:
    """Return the double next to a logarithm that is at most 0, moved by one unit to a side."""
    return min(0.0, math.nextafter(exact.correctly_rounded(ball), side * math.inf))


@dataclass(frozen=True, eq=False)
class PairSum:
    """One pair of densities or a sample of it, which is no sum: asked itself."""

    loss: DensityLoss | SampledLoss | FixedSizeLoss

    def log_delta(self, epsilon: Any, side: int) -> Any:
        """Return the logarithm of the lower (side -1) or upper (side +1) end of its bracket on delta."""
        with np.errstate(divide="ignore"):
            found = np.log(self.loss.bounds(np.asarray(epsilon, dtype=np.float64))[side > 0])
        return found if found.ndim else float(found)


def listed_sum(parts: Sequence[tuple[AtomicLoss, int]]) -> ListedSum:
    """Return every value of a sum of atomic parts with few types."""
    losses, logs = np.zeros(1), np.zeros(1)
    relative, largest, finite, terms = 0.0, 0.0, 0.0, 0
    for loss, count in parts:
        seen = np.flatnonzero(loss.logs[0] > -math.inf)
        p, values = loss.logs[0][seen], loss.losses[seen]
        if count == 1:
            logs, losses = np.add.outer(logs, p).ravel(), np.add.outer(losses, values).ravel()
        else:
            each = sums_over_types(count, p, values)
            logs, losses = (np.add.outer(sums, more).ravel() for sums, more in zip((logs, losses), each, strict=True))
        terms += min(count, len(seen))  # that are not 0: each adds a rounding of the sum and one of its own
        relative += math.lgamma(count + 2) + count * float(np.abs(p).max()) + count + 1
        largest += count * float(np.abs(loss.losses).max())
        finite += count * math.log1p(-min(loss.infinite, 1.0 - ROUND))
    rising = np.argsort(losses, kind="stable")
    missed = _MISSED * sum(count for loss, count in parts if isinstance(loss, LatticeLoss))
    shift, relative = (ROUND * (terms + 4) * size for size in (largest, relative))
    return ListedSum(losses[rising], logs[rising], relative, shift, -math.expm1(finite), missed)
