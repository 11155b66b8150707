"""Sums of privacy losses known outright: of Gaussian losses, of one pair of densities, of few types of draws."""

import math
from collections.abc import Sequence
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
        import flint

        def ball() -> Any:
            mu, e = exact.arb(self.squared).sqrt(), exact.arb(Fraction(epsilon))
            root = flint.arb(2).sqrt()
            upper, lower = ((e / mu + sign * mu / 2) / root for sign in (-1, 1))
            return ((upper.erfc() - e.exp() * lower.erfc()) / 2).log()

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
