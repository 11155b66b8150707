"""Noise about a distance on record: places on a grid of a region, or numbers on a line, each moved by exact noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.files.forms import Form, fits
from divulge.model.entries import rational
from divulge.model.mechanisms.planar import planar_geometric
from divulge.model.metrics.geography import Box
from divulge.model.metrics.metric import Metric
from divulge.releasing.planning.assumed import Assumed
from divulge.releasing.records.levels import refuse_levels
from divulge.releasing.records.promised import Spent
from divulge.releasing.records.ran.calendar import DATE, TIME, is_moment
from divulge.releasing.records.ran.means import SHARES, mean_radii
from divulge.releasing.records.ran.mechanism import HEAD, Ran, read_head
from divulge.releasing.records.ran.quarters import Quarter, read_quarters

PLACED: Form = HEAD | {"metric": {"rate": str, "unit": str, "step": str, "region": [float], "quarters?": [list],
                               "calendar?": lambda kind: kind in (DATE, TIME)}}  # fmt: skip
"""What noise about a distance on record is made of."""

SUMMED = 50
"""With a rate times a step of 1/50 or more, shares of the lattice are added up; below, they are the plane's."""

MOST_FOLLOWED = 25
"""With a model of six cells that follow each other, and six rows, 12 cells take a second and 25 some."""

FAR = 45.0
"""Beyond this over a, noise lies with a chance below e^-40."""


@dataclass(frozen=True, eq=False)
class MetricNoise(Ran):
    """Noise on places, or numbers, snapped to a grid: P(y | x) <= e^(rate d(x, x')) P(y | x') for cells x, x' and y.

    columns : (latitude, longitude), or one column of numbers
    rate : of each draw, in nats per `unit`
    unit : "km" for places
    step : the side of a cell, in `unit`
    region : (south, west, north, east) in degrees, or (low, high); of dates and times in hours since 1970
    guarantees : {"ldp": rate times the largest distance}; in nats, rounded up
    times, person : as of a matrix
    quarters : who lives where, which is public; empty where nothing is said of it
    calendar : "date" or "time" where numbers are moments; "" for numbers
    """

    columns: tuple[str, ...]
    rate: Fraction
    unit: str
    step: Fraction
    region: tuple[float, ...]
    assumed: Assumed
    guarantees: Mapping[str, float]
    times: int = 1
    person: str | None = None
    quarters: tuple[Quarter, ...] = ()
    calendar: str = ""

    @classmethod
    def of(
        cls, columns: tuple[str, ...], rate: Fraction, unit: str, step: Fraction, region: Any,
        quarters: tuple[Quarter, ...] = (), calendar: str = "",
    ) -> "MetricNoise":  # fmt: skip
        """Return the noise on columns with its level."""
        sides = tuple(map(float, region))
        made = cls(columns, rate, unit, step, sides, Assumed(), {}, quarters=quarters, calendar=calendar)
        return replace(made, guarantees=made.computed)

    name = "planar geometric noise"

    @property
    def a(self) -> Fraction:
        """The rate per cell."""
        return self.rate * self.step

    @cached_property
    def box(self) -> Box | None:
        """The region of places; None of numbers."""
        return Box.of(self.region) if len(self.region) == 4 else None

    @property
    def size(self) -> tuple[int, ...]:
        """How many cells there are, along and up, or on the line."""
        if self.box is not None:
            return self.box.size(self.step)
        low, high = self.region
        return (max(1, math.ceil((high - low) / float(self.step))),)

    @property
    def computed(self) -> dict[str, float]:
        """The level that follows: the largest distance of two cells, times the rate."""
        import flint

        with flint.ctx.workprec(256):
            across = exact.arb(Fraction(sum((n - 1) ** 2 for n in self.size))).sqrt()
            return {"ldp": exact.round_up(exact.ball(self.a) * across)}

    @property
    def subject(self) -> Any:
        """Nothing that other guarantees are asked about: it is no matrix."""
        raise DivulgeError.of("guarantee", "be metric, about noise with a distance", "it", "another")

    @property
    def spent(self) -> Spent:
        """What it adds to other releases: its ldp."""
        return self.level_spent

    @property
    def radii(self) -> tuple[float, float]:
        """Distances from a published point within which the true place lies in 50, and in 95, of 100 cases, rounded up.

        That of the noise, and of a place from the middle of its cell, on the globe; moving to the border of the region
        only shortens them.
        """
        return self._outward(planar_radii(float(self.a)) if self.box is not None else line_radii(float(self.a)))

    def radii_of_mean(self, draws: int) -> tuple[float, float]:
        """Return the same of the mean of so many points whose true place is one, far from the border of the region."""
        return self._outward(mean_radii(float(self.a), draws, len(self.size)))

    def _outward(self, sizes: tuple[float, float]) -> tuple[float, float]:
        """Return radii in the unit of distances, from radii in cells about the middle of the true cell."""
        side = float(self.step) * (1.0 if self.box is None else self.box.shrunk)
        snapped = math.sqrt(0.5) if self.box is not None else 0.5
        return (sizes[0] + snapped) * side, (sizes[1] + snapped) * side

    @property
    def numbered(self) -> range:
        """The numbers of the cells, from the south-west eastward; few enough for a model of how they follow each other.

        Raises
        ------
        DivulgeError
            When there are more than 25: the worst of all lists of points would take too long to find.
        """
        cells = math.prod(self.size)
        if cells > MOST_FOLLOWED:
            raise DivulgeError.of(
                "chain", f"go with at most {MOST_FOLLOWED} cells", "their number", f"{cells:,}",
                "take larger cells or a smaller region; without a model the rates of a person's rows add up.",
            )  # fmt: skip
        return range(cells)

    @cached_property
    def matrix(self) -> np.ndarray:
        """P(cell that goes out | cell), shape (N, N) over the numbered cells, in doubles."""
        a, n = float(self.a), len(self.numbered)
        if self.box is not None:
            return planar_geometric(Metric.grid(*self.size), a).floats
        at = np.arange(n)
        beyond = np.exp(-a * np.abs(at[:, None] - at[None, :])) / (1 + math.exp(-a))
        inside = beyond * -math.expm1(-a)
        inside[:, 0], inside[:, -1] = beyond[:, 0], beyond[:, -1]
        return inside if n > 1 else np.ones((1, 1))

    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        metric: dict[str, Any] = {
            "rate": str(self.rate), "unit": self.unit, "step": str(self.step), "region": list(self.region)
        }  # fmt: skip
        if self.quarters:
            metric["quarters"] = [one.to_list() for one in self.quarters]
        if self.calendar:
            metric["calendar"] = self.calendar
        return {**self._head(keeper), "metric": metric}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "MetricNoise":
        """Return the noise that `to_dict` described; levels that it does not have are refused."""
        if not fits(found, PLACED):
            raise DivulgeError.of("mechanism", "have all its parts, each of its kind", "a part", "missing or malformed")
        metric = found["metric"]
        rate, step = rational(metric["rate"]), rational(metric["step"])
        made = cls(rate=rate, unit=metric["unit"], step=step, region=tuple(metric["region"]), **read_head(found),
                   quarters=read_quarters(metric.get("quarters", ())), calendar=metric.get("calendar", ""))  # fmt: skip
        if made.calendar and not (made.unit == "h" and len(made.region) == 2 and all(map(is_moment, made.region))):
            raise DivulgeError.of("mechanism", "have a region of moments for dates and times", "its region", "another")
        refuse_levels(made)
        return made


def planar_radii(a: float) -> tuple[float, float]:
    """Return the least radii, in cells, that hold 50 and 95 of 100 draws of P(z) ~ e^(-a |z|).

    >>> planar_radii(1.0)[0], round(planar_radii(0.001)[0])  # 1.678 / a on the plane
    (1.414..., 1679)
    """
    if a < 1 / SUMMED:  # 1 - (1 + a r) e^(-a r), and a cell for the lattice
        from scipy.stats import gamma

        small, large = (float(gamma.ppf(share, 2)) / a + 1 for share in SHARES)
        return small, large
    reach = max(2, math.ceil(FAR / a))
    x = np.arange(reach + 1)
    away = np.hypot(x[:, None], x[None, :]).ravel()
    often = (np.where(x > 0, 2, 1)[:, None] * np.where(x > 0, 2, 1)[None, :]).ravel()
    order = np.argsort(away, kind="stable")
    mass = np.cumsum((often * np.exp(-a * away))[order])
    small, large = (float(away[order[np.searchsorted(mass, share * mass[-1] * (1 + 1e-9))]]) for share in SHARES)
    return small, large


def line_radii(a: float) -> tuple[float, float]:
    """Return the same of P(k) ~ e^(-a |k|) on the line: 1 - 2 e^(-a (m + 1)) / (1 + e^-a) within m.

    >>> line_radii(1.0)
    (1.0, 3.0)
    """
    found = (math.ceil(-math.log((1 - share) * (1 + math.exp(-a)) / 2) / a - 1 - 1e-9) for share in SHARES)
    small, large = (float(max(0, m)) for m in found)
    return small, large
