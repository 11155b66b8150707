"""The leakage of noise on a number as a random variable, under the names it has for finite mechanisms."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from divulge.model.shown import Shown
from divulge.noise.answers import outcomes
from divulge.noise.answers.ranges import leakage
from divulge.noise.answers.tails import Bounded
from divulge.noise.laws.law import Side
from divulge.units import Unit, nats_per


@dataclass(frozen=True)
class NoisyLeakage(Shown):
    """What `dv.pml(mechanism)` and `dv.pmc(mechanism)` are of a NoiseMechanism; every number is the upper end.

    Attributes
    ----------
    mechanism : NoiseMechanism
        It has the brackets themselves: `pml_supremum`, `tail`, `quantile`, `mean_pml`.
    side : "pml" or "pmc"
    unit : "nats" or "bits"

    Examples
    --------
    >>> m = dv.NoiseMechanism("laplace", "rademacher()", scale=2.0)
    >>> round(dv.pmc(m).max(), 6), dv.pmc(m).argmax()  # log cosh(1/2) + 1/2
    (0.620115, inf)
    """

    mechanism: Any
    side: Side
    unit: Unit = "nats"

    def at(self, y: ArrayLike) -> Any:
        """Return the leakage of the outcomes `y`, in `unit`; shape of `y`.

        Examples
        --------
        >>> dv.pml(dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)).at(0.0)
        0.0
        """
        return getattr(self.mechanism, self.side)(y, self.unit)

    def max(self) -> float:
        """Return the upper end of the supremum, in `unit`, maybe +inf.

        Examples
        --------
        >>> dv.pmc(dv.NoiseMechanism("gaussian", "rademacher()", scale=1.0)).max()
        inf
        """
        return self.mechanism.supremum(self.side).upper / nats_per(self.unit)

    def argmax(self) -> float:
        """Return the outcome that leaks most; +inf or -inf where the supremum is a limit.

        Examples
        --------
        >>> dv.pml(dv.NoiseMechanism("laplace", "bernoulli(0.3)", scale=1.0)).argmax()
        inf
        """
        return self.mechanism.supremum(self.side).at

    def mean(self) -> float:
        """Return the mean over outcomes, in `unit`, with the error of the integral added; maybe +inf.

        Examples
        --------
        >>> round(dv.pml(dv.NoiseMechanism("discrete-laplace", "bernoulli(0.5)", scale=1.0)).mean(), 6)
        0.379885
        """
        return mean_leakage(self.mechanism, self.side).upper / nats_per(self.unit)

    def tail(self, threshold: float) -> float:
        """Return P(leakage > threshold), threshold in `unit`, with its error added; in [0, 1].

        Examples
        --------
        >>> dv.pml(dv.NoiseMechanism("laplace", "rademacher()", scale=2.0)).tail(0.5) < 1e-12
        True
        """
        return min(1.0, self.mechanism.tail(threshold, self.side, self.unit).upper)

    def quantile(self, p: float) -> float:
        """Return the leakage that is not exceeded with probability p, in `unit`, with its error added.

        Examples
        --------
        >>> round(dv.pml(dv.NoiseMechanism("laplace", "rademacher()", scale=2.0)).quantile(0.9), 6)
        0.379885
        """
        return self.mechanism.quantile(p, self.side, self.unit).upper


def mean_leakage(mechanism: Bounded, side: Side) -> outcomes.Estimate:
    """Return E pml(Y) or E pmc(Y), in nats, with an estimate of the quadrature error."""
    if (side == "pml" and mechanism.law.has_poles) or (side == "pmc" and not mechanism.law.bounded):
        return outcomes.Estimate(math.inf, 0.0)
    return outcomes.mean(mechanism, lambda y: leakage(mechanism.law, side, y))
