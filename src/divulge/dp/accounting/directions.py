"""Ordered pairs of neighbors, and the loss of every release of a list on each; the same for groups of records."""

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

from divulge.dp.accounting.engines import Part, alike, merged
from divulge.dp.accounting.parts import highest_sum
from divulge.dp.accounting.promises import AdpRelease, ZcdpRelease
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss
from divulge.dp.subjects import privacy_losses
from divulge.errors import DivulgeError

_WIDEST = 700.0
"""Largest exponent of which e to it is taken."""


@dataclass(frozen=True, eq=False)
class Direction:
    """One ordered pair of neighbors and the loss of every release on it."""

    pair: tuple[Hashable, Hashable]
    parts: tuple[Part, ...]


def directions_of(releases: tuple[tuple[Any, int], ...]) -> tuple[Direction, ...]:
    """Return the ordered pairs of neighbors; of those with the same losses only one.

    A mechanism of the central model has one order or two; which of them the neighbors of all mechanisms are in is one
    choice. The secrets of all channels are one secret.
    """
    losses = [privacy_losses(subject) for subject, _ in releases]
    local = [not (isinstance(subject, PrivacyLoss) or hasattr(subject, "losses")) for subject, _ in releases]
    tables = [{loss.pair: loss for loss in found} for found, is_local in zip(losses, local, strict=True) if is_local]
    pairs: list[Any] = list(tables[0]) if tables else [None]
    for table in tables:
        if set(table) != set(pairs):
            hint = "for different secrets, give the product of the channels."
            raise DivulgeError.of("releases", "be channels from the same secrets", "one", "from others", hint)
    orders = max((len(found) for found, is_local in zip(losses, local, strict=True) if not is_local), default=1)
    found: dict[Any, Direction] = {}
    for pair, turn in itertools.product(pairs, range(orders)):
        parts = tuple(
            ({loss.pair: loss for loss in each}[pair] if is_local else each[min(turn, len(each) - 1)], count)
            for each, is_local, (_, count) in zip(losses, local, releases, strict=True)
        )
        direction = Direction(pair if pair is not None else parts[0][0].pair, tuple(merged(parts)))
        found.setdefault(frozenset((alike(loss), count) for loss, count in direction.parts), direction)
    return tuple(found.values())


def for_group(subject: Any, size: int) -> Any:
    """Return a release that dominates a subject on neighbors that differ in `size` records."""
    if hasattr(subject, "sensitivity"):
        return replace(subject, sensitivity=_times(size, subject.sensitivity))
    if isinstance(subject, ZcdpRelease):
        return ZcdpRelease(_times(size**2, subject.rho))
    found = privacy_losses(subject)
    if isinstance(found[0], PromisedLoss):
        hint = "give the promise for groups of this size."
        raise DivulgeError.of("releases", "have a sensitivity or a largest loss for groups", "one", "a promise", hint)
    epsilon, delta = max(highest_sum(((loss, 1),)) for loss in found), max(loss.infinite for loss in found)
    if isinstance(subject, AdpRelease) or epsilon < math.inf:
        return AdpRelease(*_of_group(epsilon, delta, size))
    hint = "compose the mechanism with the sensitivity of the group."
    raise DivulgeError.of(
        "releases", "have a sensitivity or a largest loss for groups", name_of(subject), "neither", hint
    )


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
