"""Mechanisms that run on a random part of the records."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from divulge.dp.accounting.replaced import replaced
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.sampled import fixed_size, sampled
from divulge.dp.mechanisms import SMALLEST, Mechanism
from divulge.dp.shuffling.shuffled import Shuffled
from divulge.errors import DivulgeError


@dataclass(frozen=True)
class PoissonSampled(Mechanism):
    """A mechanism on a Poisson sample: every record takes part with probability `rate`; one is added or removed.

    Where the two orders of a pair differ (`DistributionPair`) the record may be in either data set: both are taken.
    With `neighbors="replaced"` a record is replaced by another, where `mechanism` is still about one more or less: two
    records with opposite effects are the worst, and noise that has none such on record is bounded from above.

    Examples
    --------
    >>> removed, added = PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01).losses()
    >>> round(removed.delta(0.5), 9), round(added.delta(0.5), 9)
    (2.21e-07, 0.0)
    >>> (replaced,) = PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01, neighbors="replaced").losses()
    >>> round(replaced.delta(0.5), 9)
    2.46e-07

    References
    ----------
    Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", arXiv:2106.08567; Lebeda,
    Regehr, Kamath, Steinke, arXiv:2405.20769 (neighbors of one record replaced).
    """

    mechanism: Mechanism
    rate: float
    neighbors: str = "removed"

    def __post_init__(self) -> None:
        given: Any = self.rate
        if not (isinstance(given, Real) and SMALLEST <= self.rate <= 1):
            raise DivulgeError.of("rate", f"be between {SMALLEST:g} and 1", "it", str(self.rate))
        if self.neighbors not in ("removed", "replaced"):
            raise DivulgeError.of("neighbors", "be 'removed' (or added) or 'replaced'", "it", repr(self.neighbors)[:40])
        _refuse(self.mechanism, FixedSizeSampled)
        if isinstance(self.mechanism, PoissonSampled) and self.mechanism.neighbors != self.neighbors:
            raise DivulgeError.of("neighbors", "be those of the sample inside", "they", repr(self.neighbors))
        if isinstance(self.mechanism, Shuffled):
            hint = "neighbors of shuffled reports differ in one replaced; a fixed size of them may be sampled."
            raise DivulgeError.of("mechanism", "be about records added or removed", "it", "shuffled reports", hint)

    def __repr__(self) -> str:
        told = f", neighbors={self.neighbors!r}" if self.neighbors == "replaced" else ""
        return f"PoissonSampled(mechanism={self.mechanism!r}, rate={self.rate!r}{told})"

    def losses(self) -> tuple[PrivacyLoss, ...]:
        if isinstance(self.mechanism, PoissonSampled):  # a sample of a sample is one
            return PoissonSampled(self.mechanism.mechanism, self.mechanism.rate * self.rate, self.neighbors).losses()
        if self.neighbors == "replaced":
            return (replaced(self.mechanism, self.rate),)
        base = self.mechanism.losses()
        removed = [sampled(loss, self.rate) for loss in base]  # the record is in the first data set of either order
        return tuple(loss for one in removed for loss in (one, one.reverse()))


@dataclass(frozen=True)
class FixedSizeSampled(Mechanism):
    """A mechanism on `sample` of `population` records drawn without replacement; one record is replaced by another.

    `mechanism` is taken for the same relation: its sensitivity is that to replacing a record. The loss joins two pairs
    of data sets, one the worst at epsilon > 0, one at epsilon < 0. In a composition the upper bounds are those of the
    loss that dominates both, the lower bounds those of the first pair; they may be 20 % of epsilon apart.

    Examples
    --------
    >>> (loss,) = FixedSizeSampled(dv.dp.RandomizedResponse(1.0), 10, 100).losses()
    >>> round(loss.epsilon(0.0), 9)  # log(1 + (e - 1) / 10)
    0.158565079
    """

    mechanism: Mechanism
    sample: int
    population: int

    def __post_init__(self) -> None:
        for name, given in (("sample", self.sample), ("population", self.population)):
            one: Any = given
            if not isinstance(one, Real):
                raise DivulgeError.of(name, "be a number", "it", f"a {type(one).__name__}")
        if not 1 <= self.sample <= self.population < math.inf or self.sample / self.population < SMALLEST:
            most = f"{min(self.population, 10**300):.12g}"
            where = f"be from 1 to the population, {most}, and a share of {SMALLEST:g} or more of it"
            raise DivulgeError.of("sample", where, "it", str(self.sample))
        _refuse(self.mechanism, PoissonSampled)
        inner = self.mechanism
        if isinstance(inner, FixedSizeSampled) and inner.population != self.sample:
            condition = f"sample from the {self.sample} records of the sample"
            raise DivulgeError.of("mechanism", condition, "its population", str(inner.population))
        if isinstance(inner, Shuffled) and inner.n != self.sample:
            raise DivulgeError.of(
                "mechanism", f"shuffle the {self.sample} reports of the sample", "its n", str(inner.n)
            )

    def losses(self) -> tuple[PrivacyLoss, ...]:
        if isinstance(self.mechanism, FixedSizeSampled):  # a sample of a sample is one
            return FixedSizeSampled(self.mechanism.mechanism, self.mechanism.sample, self.population).losses()
        rate = self.sample / self.population
        return tuple(
            fixed_size(sampled(base, rate), sampled(base.reverse(), rate).reverse()) for base in self.mechanism.losses()
        )


def relation(subject: Any) -> str | None:
    """Return which records neighbors differ in, "removed" or "replaced"; None where a mechanism leaves it open."""
    if isinstance(subject, PoissonSampled):
        return subject.neighbors
    return "replaced" if isinstance(subject, (FixedSizeSampled, Shuffled)) else None


def _refuse(mechanism: Any, kind: type) -> None:
    """Refuse what is no mechanism, and one that samples in the other way: its pairs are of other neighbors."""
    if isinstance(mechanism, type) or not hasattr(mechanism, "losses"):
        hint = "such as dp.GaussianMechanism(1.0); a channel is compared row by row, and has no records to sample from."
        raise DivulgeError.of("mechanism", "be a mechanism with dominating losses", "it", _kind(mechanism), hint)
    if isinstance(mechanism, kind):
        hint = "neighbors differ in a record added or removed for a Poisson sample, in one replaced for a fixed size."
        raise DivulgeError.of("mechanism", "be sampled in one way", "it", "a sample of the other kind", hint)


def _kind(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"a {type(given).__name__}"
