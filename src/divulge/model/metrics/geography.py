"""Places on the map: degrees, great circles, and a flat projection of a region."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from divulge.errors import DivulgeError

EARTH = 6371.0088
"""Mean radius of the Earth in km (IUGG)."""

_FARTHEST_OFF = 0.01
"""Projected distances are off by no more than this share from those along great circles."""

_ROUNDING = 1e-12
"""More than the rounding of a few cosines."""


def projected(lat: Any, lon: Any) -> np.ndarray:
    """Return points in km, shape (N, 2), of latitudes and longitudes in degrees, about their middle.

    >>> projected([0.0, 1.0], [0.0, 0.0])[:, 1].round(3).tolist()  # a degree of latitude
    [-55.598, 55.598]
    """
    up, along = of_places(lat, lon)
    if along.max() - along.min() > 180:  # across the date line
        along = np.where(along < 0, along + 360, along)
    middle = [(axis.max() + axis.min()) / 2 for axis in (up, along)]
    x = EARTH * math.cos(math.radians(middle[0])) * np.radians(along - middle[1])
    y = EARTH * np.radians(up - middle[0])
    points = np.column_stack([x, y])
    _refuse_far(up, along, "lat", "take Metric.of with a matrix of distances, or fewer places.")
    return points


def of_places(lat: Any, lon: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return latitudes and longitudes in degrees, as many of each, float64 of shape (N,)."""
    up, along = _degrees(lat, "lat", 90.0), _degrees(lon, "lon", 180.0)
    if len(up) != len(along):
        raise DivulgeError.of("lon", f"have {len(up)} numbers, as `lat` has", "their number", str(len(along)))
    return up, along


def _refuse_far(lat: np.ndarray, lon: np.ndarray, argument: str, hint: str) -> None:
    """Refuse places so far apart that the corners of their box are off by more than the limit from great circles."""
    corners = [(a, b) for a in (lat.min(), lat.max()) for b in (lon.min(), lon.max())]
    south, north, west, east = lat.min(), lat.max(), lon.min(), lon.max()
    scale = math.cos(math.radians((south + north) / 2))
    for (a, b), (c, d) in ((one, other) for one in corners for other in corners):
        flat = EARTH * math.hypot(math.radians(a - c), scale * math.radians(b - d))
        if (great := great_circle(a, b, c, d)) and abs(flat / great - 1) > _FARTHEST_OFF:
            raise DivulgeError.of(
                argument, "be of places that a flat map shows within 1 percent", "their box",
                f"from {south:g} to {north:g} degrees north and {west:g} to {east:g} east",
                hint,
            )  # fmt: skip


@dataclass(frozen=True)
class Box:
    """A region between two latitudes and two longitudes, in degrees, with a grid of square cells of the flat map.

    Cells are counted from the south-western corner. `east` is less than `west` across the date line.

    >>> town = Box.of((48.8, 2.2, 48.9, 2.4))
    >>> town.size(Fraction(1, 2))  # 14.6 by 11.1 km in cells of 500 m
    (30, 23)
    """

    south: float
    west: float
    north: float
    east: float

    @classmethod
    def of(cls, given: Any) -> Self:
        """Return the box (south, west, north, east), small enough for a flat map."""
        kind = "be (south, west, north, east) in degrees, south below north"
        try:
            south, west, north, east = (float(value) for value in given)
        except (TypeError, ValueError):
            raise DivulgeError.of("box", kind, "it", "something else") from None
        if not (-90 <= south < north <= 90 and abs(west) <= 180 and abs(east) <= 180 and (east - west) % 360):
            raise DivulgeError.of("box", kind, "it", f"({south:g}, {west:g}, {north:g}, {east:g})")
        box = cls(south, west, north, east)
        along = np.array([west, west + box.width])
        _refuse_far(np.array([south, north]), along, "box", "take a smaller box.")
        return box

    @property
    def width(self) -> float:
        """Degrees from west to east."""
        return (self.east - self.west) % 360

    @property
    def scale(self) -> tuple[float, float]:
        """Kilometers of a degree along and up, at the middle latitude."""
        degree = EARTH * math.pi / 180
        return degree * math.cos(math.radians((self.south + self.north) / 2)), degree

    @property
    def stretched(self) -> float:
        """How much longer a distance is on the flat map than along the great circle, at most.

        A great circle between two places of the box bends toward the pole, as far as that between its corners: to the
        latitude whose tangent is that of the corner over the cosine of half the width. A parallel there is shown longer
        by the cosine of the middle latitude over its own.

        >>> round(Box.of((48.7, 2.1, 49.0, 2.6)).stretched, 4)
        1.003
        """
        far = math.radians(max(abs(self.south), abs(self.north)))
        bent = math.atan2(math.sin(far), math.cos(far) * math.cos(math.radians(min(self.width, 180.0) / 2)))
        middle = math.cos(math.radians((self.south + self.north) / 2))
        return max(1.0, middle / math.cos(bent)) * (1 + _ROUNDING)

    @property
    def shrunk(self) -> float:
        """How much longer a distance is along the great circle than on the flat map, at most.

        No longer than the straight line of the flat map, whose parallels are shown shorter by the cosine of the middle
        latitude over that nearest to the equator.

        >>> round(Box.of((48.7, 2.1, 49.0, 2.6)).shrunk, 4)
        1.003
        """
        near = 0.0 if self.south <= 0 <= self.north else min(abs(self.south), abs(self.north))
        middle = math.cos(math.radians((self.south + self.north) / 2))
        return max(1.0, math.cos(math.radians(near)) / middle) * (1 + _ROUNDING)

    def size(self, step: Fraction) -> tuple[int, int]:
        """Return how many cells of `step` km there are along and up."""
        along, up = self.scale
        sides = (self.width * along, (self.north - self.south) * up)
        return max(1, math.ceil(sides[0] / float(step))), max(1, math.ceil(sides[1] / float(step)))

    def cells(self, lat: Any, lon: Any, step: Fraction) -> np.ndarray:
        """Return the column and row of the cell of each place, int64 of shape (N, 2); from outside the nearest one.

        >>> Box.of((0, 0, 1, 1)).cells([0.1, 80], [0.1, -3], Fraction(10)).tolist()
        [[1, 1], [0, 11]]
        """
        up, along = of_places(lat, lon)
        east = (along - self.west - self.width / 2 + 180) % 360 - 180 + self.width / 2  # of the western side
        at = np.column_stack([east * self.scale[0], (up - self.south) * self.scale[1]]) / float(step)
        return np.clip(np.floor(at), 0, np.array(self.size(step)) - 1).astype(np.int64)

    def centers(self, cells: np.ndarray, step: Fraction) -> tuple[np.ndarray, np.ndarray]:
        """Return the latitudes and longitudes of the middles of cells, in degrees.

        >>> [axis.round(4).tolist() for axis in Box.of((0, 0, 1, 1)).centers(np.array([[1, 0]]), Fraction(10))]
        [[0.045], [0.1349]]
        """
        x, y = ((cells + 0.5) * float(step) / np.array(self.scale)).T
        return self.south + y, (self.west + x + 180) % 360 - 180


def great_circle(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return the distance along a great circle in km (haversine).

    >>> round(great_circle(0.0, 0.0, 0.0, 180.0), 1)  # half around
    20015.1
    """
    up, along = math.radians(other_lat - lat), math.radians(other_lon - lon)
    part = (
        math.sin(up / 2) ** 2
        + math.cos(math.radians(lat)) * math.cos(math.radians(other_lat)) * math.sin(along / 2) ** 2
    )
    return 2 * EARTH * math.asin(min(1.0, math.sqrt(part)))


def _degrees(values: Any, argument: str, most: float) -> np.ndarray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DivulgeError.of(argument, "hold degrees as numbers", "it", "something else") from None
    if found.ndim != 1 or not len(found):
        raise DivulgeError.of(argument, "have one number for each place", "its shape", str(found.shape))
    wrong = np.flatnonzero(~(np.abs(found) <= most))
    if len(wrong):
        hint = "are `lat` and `lon` the other way round?" if argument == "lat" else ""
        raise DivulgeError.of(
            argument, f"be from -{most:g} to {most:g} degrees", f"that of place {int(wrong[0])}",
            "missing" if np.isnan(found[wrong[0]]) else "beyond", hint,
        )  # fmt: skip
    return found
