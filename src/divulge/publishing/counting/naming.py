"""What naming values that nobody listed costs, and what is left for the statistics about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from divulge.guarantees.kinds.loss import ADP
from divulge.publishing.counting.unknown import Threshold
from divulge.publishing.queries import Unit

_EPSILON, _DELTA = Fraction(1, 4), Fraction(1, 2)
"""Shares for names: a heuristic. A threshold falls with 1/epsilon, of delta only with the logarithm, and a value that
is too rare to be named at a quarter has no mean or median worth its noise at three quarters either."""


@dataclass(frozen=True)
class Spent:
    """What was drawn before: (epsilon, delta)."""

    epsilon: float
    delta: float = 0.0


def naming(asked: Any, columns: int, unit: Unit) -> Threshold:
    """Return noise and threshold by which the values of each of some columns are named.

    >>> found = naming(ADP(1, 1e-6), 2, Unit(neighbors="added"))
    >>> found.scale, found.epsilon, found.delta <= 2.5e-7
    (8.0, 0.125, True)
    """
    whole = asked.values()
    return Threshold.keeping(
        Fraction(whole["epsilon"]) * _EPSILON / columns, Fraction(whole["delta"]) * _DELTA / columns, unit
    )


def rest_of(asked: Any, names: Sequence[Any]) -> Any:
    """Return what is left of (epsilon, delta) beside names and bounds, rounded down: what one learns adds up.

    >>> float(rest_of(ADP(1, 1e-6), [Threshold.of(16.0, 400, Unit())]).values()["epsilon"])
    0.875
    """
    whole = asked.values()
    left = (
        Fraction(whole["epsilon"]) - sum(Fraction(one.epsilon) for one in names),
        Fraction(whole["delta"]) - sum(Fraction(one.delta) for one in names),
    )
    return ADP(*map(_down, left))


def _down(value: Fraction) -> float:
    found = float(value)
    return found if Fraction(found) <= value else nextafter(found, -inf)
