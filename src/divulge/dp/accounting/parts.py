"""What the losses of one direction add up to before they are composed: their largest sum, the mass of infinite ones."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.dp.accounting.engines import Part
from divulge.dp.accounting.promises import Promises
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss


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


def is_bounded(loss: PrivacyLoss) -> bool:
    """Say whether no loss is beyond a largest one."""
    return loss.highest < math.inf and not loss.infinite > 0


def highest_sum(parts: tuple[Part, ...]) -> float:
    """Return the sum of the largest finite losses, rounded up, at least 0."""
    if any(loss.highest == math.inf or (loss.infinite == 0 and loss.renyi(math.inf) == math.inf) for loss, _ in parts):
        return math.inf
    total = sum((count * Fraction(max(loss.highest, -1e300)) for loss, count in parts), Fraction(0))
    nearest = exact.as_float(total) if total > 0 else 0.0
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)
