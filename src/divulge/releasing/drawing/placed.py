"""Noise about a distance, ready to run on columns of a table: degrees or numbers in, middles of cells out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.extras import require
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.drawing.coding import DRAWN, MISSING, UNKNOWN, Coded, Encoded
from divulge.releasing.drawing.planar import discrete_laplace, planar_geometric_draws
from divulge.releasing.records.ran import calendar
from divulge.releasing.records.ran.placed import MetricNoise

BLOCK = 1 << 18
"""Draws made at a time: some tens of megabytes."""

BOUNDS = {"lat": 90.0, "lon": 180.0}


@dataclass(frozen=True, eq=False)
class PlacePart:
    """Noise and the columns that it moves."""

    mechanism: MetricNoise
    alphabets = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it replaces."""
        return self.mechanism.columns

    def coded(self, columns: Mapping[str, Encoded]) -> Coded:
        """Return the cell of each row, as one number; UNKNOWN where it is no place, MISSING without one."""
        made = [_numbers(columns[name], self._number) for name in self.columns]
        values, missing = [one[0] for one in made], np.logical_or.reduce([one[1] for one in made])
        rows = np.arange(len(missing))
        if self.mechanism.box is None:
            (number,) = values
            wrong = ~np.isfinite(number)
            at = np.floor(np.where(wrong, 0.0, number) / float(self.mechanism.step))
            cells = np.clip(at, 0, self.mechanism.size[0] - 1).astype(np.int64)
        else:
            lat, lon = values
            wrong = ~((np.abs(lat) <= BOUNDS["lat"]) & (np.abs(lon) <= BOUNDS["lon"]))  # NaN too
            south, west = self.mechanism.region[:2]
            found = np.empty((0, 2), dtype=np.int64)
            if len(rows):
                inside = np.where(wrong, south, lat), np.where(wrong, west, lon)
                found = self.mechanism.box.cells(inside[0], inside[1], self.mechanism.step)
            cells = found[:, 1] * self.mechanism.size[0] + found[:, 0]
        return Coded(rows, np.where(missing, MISSING, np.where(wrong, UNKNOWN, cells)))

    def _number(self, value: Any) -> float:
        """Return degrees, or how far above the lower end of the region a number, date or time is; NaN of others."""
        noise = self.mechanism
        if noise.calendar:
            found = calendar.moment(value)
            return float("nan") if found is None else calendar.hours(found, noise.region[0])
        if noise.unit == "h" and (since := calendar.of_day(value)) is not None:
            return since - noise.region[0]
        return _double(value) - (0.0 if noise.box is not None else noise.region[0])

    def drawn(self, codes: np.ndarray, rows: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
        """Return the cell that each row is moved to, int64 of shape (rows, 1 or 2)."""
        own, size, chance = codes if rows is None else rows.take(codes), self.mechanism.size, Chance()
        if self.mechanism.box is None:
            moved = (own + discrete_laplace(self.mechanism.a, len(own), chance))[:, None]
        else:
            moved = np.column_stack([own % size[0], own // size[0]])
            for i in range(0, len(moved), BLOCK):
                part = moved[i : i + BLOCK]
                part += planar_geometric_draws(self.mechanism.a, len(part), chance)
        return np.clip(moved, 0, np.array(size) - 1)

    def fields(self, given: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
        """Return the Arrow fields of the columns in the output: doubles, dates or times."""
        pa = require("pyarrow", "tables")
        kinds = {calendar.DATE: pa.date32(), calendar.TIME: pa.timestamp("us")}
        kind = kinds.get(self.mechanism.calendar, pa.float64())
        return [[pa.field(name, kind, metadata=DRAWN)] for name in names]

    def arrays(self, drawn: np.ndarray, fields: Sequence[Any]) -> list[list[Any]]:
        """Return degrees, or numbers, of the middles of cells."""
        pa = require("pyarrow", "tables")
        return [[pa.array(axis)] for axis in self.middles(drawn)]

    def middles(self, cells: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the middles of cells: latitudes and longitudes, numbers, dates or times."""
        noise = self.mechanism
        if noise.calendar:
            return (calendar.middles(cells[:, 0], noise.region[0], noise.step, noise.calendar),)
        if noise.box is None:
            return (noise.region[0] + (cells[:, 0] + 0.5) * float(noise.step),)
        return noise.box.centers(cells, noise.step)


def _numbers(encoded: Encoded, number: Callable[[Any], float]) -> tuple[np.ndarray, np.ndarray]:
    """Return a column as doubles, NaN where it is none, and which rows are missing."""
    values, where, missing = encoded
    found = np.array([*map(number, values), np.nan])
    return found[where], (where == len(values)) if missing else np.zeros(len(where), dtype=bool)


def _double(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
