"""Ordered pairs of neighbors, the loss of every release of a list on each, and what is known of their sum at once."""

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.dp.accounting.promises import AdpRelease, Promises, ZcdpRelease
from divulge.dp.accounting.sampling import PoissonSampled
from divulge.dp.accounting.summing.merging import Part, alike, merged
from divulge.dp.loss.closed import GaussianLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss
from divulge.dp.subjects import privacy_losses
from divulge.errors import DivulgeError

_ULPS = Fraction(4, 2**52)
"""The relative error of a largest loss that is no stated number: of a logarithm, or of a mixture's."""

_WIDEST = 700.0
"""Largest exponent of which e to it is taken."""


@dataclass(frozen=True, eq=False)
class Direction:
    """One ordered pair of neighbors and the loss of every release on it."""

    pair: tuple[Hashable, Hashable]
    parts: tuple[Part, ...]


def directions_of(releases: tuple[tuple[Any, int], ...]) -> tuple[Direction, ...]:
    """Return the ordered pairs of neighbors; of those with the same losses only one.

    A mechanism of the central model has one order or two, and a sample of one with two has four (`_loss_at`); which of
    them the neighbors of all mechanisms are in is one choice. A pair of distributions does not say in which data set
    the record is, so that beside a sample there are four. The secrets of all channels are one secret.
    """
    losses = [privacy_losses(subject) for subject, _ in releases]
    local = [not (isinstance(subject, PrivacyLoss) or hasattr(subject, "losses")) for subject, _ in releases]
    by_pair: list[dict[Any, PrivacyLoss]] = [{loss.pair: loss for loss in each} for each in losses]
    tables = [table for table, is_local in zip(by_pair, local, strict=True) if is_local]
    pairs: list[Any] = list(tables[0]) if tables else [None]
    if len({tuple(table) for table in tables}) > 1:
        pairs = sorted(pairs, key=repr)  # whichever channel comes first
    for table in tables:
        if set(table) != set(pairs):
            hint = "for different secrets, give the product of the channels."
            raise DivulgeError.of("releases", "be channels from the same secrets", "one", "from others", hint)
    central = [
        (len(found), isinstance(subject, PoissonSampled))
        for found, is_local, (subject, _) in zip(losses, local, releases, strict=True)
        if not is_local
    ]
    orders = 4 if {(2, True), (2, False)} <= set(central) else max((many for many, _ in central), default=1)
    found: dict[Any, Direction] = {}
    for pair, turn in itertools.product(pairs, range(orders)):
        parts = tuple(
            (table[pair] if is_local else _loss_at(turn, each, subject), count)
            for table, each, is_local, (subject, count) in zip(by_pair, losses, local, releases, strict=True)
        )
        name = pair if pair is not None else min((loss.pair for loss, _ in parts), key=repr)
        direction = Direction(name, tuple(merged(parts)))
        found.setdefault(frozenset((alike(loss), count) for loss, count in direction.parts), direction)
    return tuple(found.values())


def _loss_at(turn: int, losses: Sequence[PrivacyLoss], subject: Any) -> PrivacyLoss:
    """Return the loss on the neighbors (D, D') at even turns, (D', D) at odd ones.

    The record of a sample is in D at the first two turns, in D' at the others: one removed there is added here.
    """
    if len(losses) == 2 and isinstance(subject, PoissonSampled):
        turn += turn // 2
    return losses[turn % len(losses)]


def raised(lower: float, found: Bracket) -> Bracket:
    """Return a bracket with another lower end, which is never above the upper one."""
    return Bracket(min(lower, found.upper), found.upper)


def infinite_mass(parts: tuple[Part, ...]) -> Bracket:
    """Return the doubles around the mass of the infinite loss, 1 - prod (1 - m)^count; the same where it is one."""
    if any(loss.infinite >= 1 for loss, _ in parts):
        return Bracket(1.0, 1.0)
    some = [(loss.infinite, count) for loss, count in parts if loss.infinite > 0]
    if len(some) <= 1 and all(count == 1 for _, count in some):
        mass = some[0][0] if some else 0.0
        return Bracket(mass, mass)
    nearest = exact.correctly_rounded(lambda: _infinite_ball(some))
    return Bracket(math.nextafter(nearest, 0.0), min(1.0, math.nextafter(nearest, 1.0)))


def unknown_mass(parts: tuple[Part, ...]) -> float:
    """Return a bound on the mass of which no loss is known, beside the infinite losses: of pairs of densities."""
    return sum(count * max(0.0, loss.enclosing[1].infinite - loss.infinite) for loss, count in parts)


def _infinite_ball(masses: Sequence[tuple[float, int]]) -> Any:
    kept: Any = sum((count * (-exact.arb(Fraction(mass))).log1p() for mass, count in masses), start=exact.arb(0))
    return -kept.expm1()


def reaches(parts: tuple[Part, ...], delta: float) -> bool:
    """Say whether delta is at least the mass of the infinite loss, decided in balls; no where it cannot be."""
    some = [(loss.infinite, count) for loss, count in parts if loss.infinite > 0]
    if len(some) == 1 and some[0][1] == 1:
        return some[0][0] <= delta
    return exact.at_most(lambda: _infinite_ball(some), Fraction(delta))


def promises_of(parts: tuple[Part, ...]) -> Promises | None:
    """Return the bounds by Renyi divergences, where a part is known by its Renyi curve."""
    return Promises(parts) if any(isinstance(loss, PromisedLoss) for loss, _ in parts) else None


def highest_sum(parts: tuple[Part, ...]) -> Bracket:
    """Return bounds, at least 0, on the sum of the largest finite losses: equal where mechanisms state doubles."""
    if any(loss.highest == math.inf or (loss.infinite == 0 and loss.renyi(math.inf) == math.inf) for loss, _ in parts):
        return Bracket(math.inf, math.inf)
    lower = upper = Fraction(0)
    for loss, count in parts:
        low, high = _highest(loss)
        lower, upper = lower + count * low, upper + count * high
    return Bracket(max(0.0, _rounded(lower, -1)), max(0.0, _rounded(upper, 1)))


def _rounded(value: Fraction, side: int) -> float:
    """Return the double nearest to a number on that side of it."""
    nearest = exact.as_float(value)
    wrong = nearest < value if side > 0 else nearest > value
    return math.nextafter(nearest, side * math.inf) if wrong else nearest


def _highest(loss: PrivacyLoss) -> tuple[Fraction, Fraction]:
    """Return bounds on the largest finite loss: what is stated, or some units in the last place around the double."""
    stated = None if isinstance(loss, GaussianLoss) else getattr(loss, "stated", None)
    if stated is not None:
        return stated, stated
    highest = Fraction(max(loss.highest, -1e300))
    return highest - _ULPS * abs(highest), highest + _ULPS * abs(highest)


def for_group(subject: Any, size: int) -> Any:
    """Return a release that dominates a subject on neighbors that differ in `size` records."""
    if hasattr(subject, "sensitivity"):
        return replace(subject, sensitivity=_times(size, subject.sensitivity))
    if isinstance(subject, ZcdpRelease):
        return ZcdpRelease(_times(size**2, subject.rho))
    found, condition = privacy_losses(subject), "have a sensitivity or a largest loss for groups"
    if isinstance(found[0], PromisedLoss):
        hint = "give the promise for groups of this size."
        raise DivulgeError.of("releases", condition, "one", "a promise", hint)
    epsilon, delta = max(highest_sum(((loss, 1),)).upper for loss in found), max(loss.infinite for loss in found)
    if isinstance(subject, AdpRelease) or epsilon < math.inf:
        return AdpRelease(*_of_group(epsilon, delta, size))
    hint = "compose the mechanism with the sensitivity of the group."
    raise DivulgeError.of("releases", condition, name_of(subject), "neither", hint)


def _times(size: int, value: float) -> float:
    """Return the product, rounded up; whole numbers stay whole."""
    product = size * value
    return product if Fraction(product) >= size * Fraction(value) else math.nextafter(product, math.inf)


def _of_group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)) for groups of k, rounded up."""
    together = _times(size, epsilon)
    if delta == 0 or epsilon == 0:
        return together, min(1.0, size * delta)
    if (size - 1) * epsilon > _WIDEST:
        return together, 1.0
    grown = math.exp((size - 1) * epsilon) * math.expm1(-size * epsilon) / math.expm1(-epsilon)
    return together, min(1.0, delta * grown * (1 + 1e-12))


def name_of(subject: Any) -> str:
    """Return how a message names a subject."""
    return repr(subject) if hasattr(subject, "losses") and is_dataclass(subject) else type(subject).__name__
