"""Quarters of a town and how many people live in each, which is public: what a blurred place says of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.metrics.geography import Box

MOST = 10_000
"""Quarters that are compared with each other: 10^8 distances, some seconds."""

_BLOCK = 1000
"""Quarters whose distances to all others are in memory together: 80 MB."""


@dataclass(frozen=True)
class Quarter:
    """A part of a town, taken to be at its middle.

    lat, lon : degrees of its middle
    people : how many live there, at least 0
    """

    name: str
    lat: float
    lon: float
    people: float

    def to_list(self) -> list[Any]:
        """Return what JSON can hold of it."""
        return [self.name, self.lat, self.lon, self.people]


def read_quarters(found: Any) -> tuple[Quarter, ...]:
    """Return quarters from [name, latitude, longitude, people] each; refuse what is none of a town.

    >>> read_quarters([["Marais", 48.86, 2.36, 35000]])
    (Quarter(name='Marais', lat=48.86, lon=2.36, people=35000.0),)
    """
    kind = "be [name, latitude, longitude, people] for each quarter, degrees on the globe and people from 0 on"
    made: list[Quarter] = []
    for i, one in enumerate(found):
        try:
            name, (lat, lon, people) = one[0], map(float, one[1:])
        except (TypeError, ValueError, OverflowError, IndexError, KeyError):
            raise DivulgeError.of("quarters", kind, f"number {i + 1}", "another") from None
        if not (isinstance(name, str) and abs(lat) <= 90 and abs(lon) <= 180 and 0 <= people < 1e12):
            raise DivulgeError.of("quarters", kind, f"number {i + 1}", "another")
        made.append(Quarter(name, lat, lon, people))
    twice = next((name for name, count in Counter(one.name for one in made).items() if count > 1), None)
    if twice is not None:
        raise DivulgeError.of("quarters", "have a name of its own each", "one", "there twice")
    if len(made) > MOST:
        raise DivulgeError.of("quarters", f"be at most {MOST:,}", "their number", f"{len(made):,}", "take larger ones.")
    if made and not sum(one.people for one in made) > 0:
        raise DivulgeError.of("quarters", "have people in one at least", "their sum", "0")
    return tuple(made)


def beliefs(quarters: Sequence[Quarter], box: Box, step: Fraction, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of people in each quarter, and the most that a point makes of it.

    With d-privacy P(q | y) <= p(q) / sum p(q') e^(-d(q, q')), by C(y|q) <= e^d C(y|q'). Planar geometric noise reaches
    it where the point is the cell of q itself. Both arrays have shape (quarters,); `total` is the rate of all draws
    about a person in nats per km, `step` the side of a cell in km.
    """
    people = np.array([one.people for one in quarters])
    cells = box.cells([one.lat for one in quarters], [one.lon for one in quarters], step).astype(float)
    before, seen = people / people.sum(), np.empty(len(people))
    for i in range(0, len(people), _BLOCK):
        apart = np.hypot(*(cells[i : i + _BLOCK, None, axis] - cells[None, :, axis] for axis in (0, 1)))
        seen[i : i + _BLOCK] = np.exp(-total * float(step) * apart) @ before
    return before, np.minimum(before / seen, 1.0)
