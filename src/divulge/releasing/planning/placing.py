"""Which noise about a distance moves the columns of a request: at the rate of its guarantee, on its grid and region."""

from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.exact import as_float
from divulge.files.opening import columns_exist, naming
from divulge.files.tables.table import open_table
from divulge.files.tables.values import values_of
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.metrics.geography import Box
from divulge.model.metrics.quantities import quantity
from divulge.releasing.column import Release
from divulge.releasing.records.ran.calendar import DATE, DAY, TIME, hours, moment
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.ran.quarters import Quarter, read_quarters

RATES = (Fraction(1, 10**6), Fraction(10**6))
"""What the rate times the side of a cell lies between: noise stays within some million cells, and is no constant 0."""

SIDES = (Fraction(1, 10**6), Fraction(1000))
"""The side of a cell in km: from a millimeter on, and no larger than what a flat map shows."""

MOST_CELLS = 10**6
"""So many cells along and up: a box of a thousand kilometers in meters."""


def noise_for(choice: Release) -> MetricNoise:
    """Return the noise that keeps the metric guarantee of a request, at the share of a person's rows."""
    rate, unit = rate_of(choice)
    places = len(choice.columns) == 2
    step = side(choice.grid, unit, places)
    region = region_of(choice.box, unit, places)
    made = MetricNoise.of(choice.columns, rate, unit, step, region, quarters_of(choice),
                          calendar_of(choice.box, unit, step))  # fmt: skip
    require_sizes(made.a, made.size)
    if made.box is None and not made.calendar:
        require_doubles(made)
    return made


def calendar_of(box: Any, unit: str, step: Fraction) -> str:
    """Return "date" or "time" where a region lies between moments, and "" where it does not; days go out as dates."""
    if unit != "h" or _moments(box) is None:
        return ""
    whole = all(one == one.replace(hour=0, minute=0, second=0, microsecond=0) for one in _moments(box) or ())
    return DATE if whole and step % DAY == 0 else TIME


def _moments(box: Any) -> tuple[datetime, datetime] | None:
    """Return the two ends of a region of dates or times; None of one that is none."""
    given = box.split(",") if isinstance(box, str) else box
    ends = tuple(map(moment, given)) if isinstance(given, (list, tuple)) else ()
    return (ends[0], ends[1]) if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None


def require_doubles(made: MetricNoise) -> None:
    """Refuse numbers so large that doubles of them lie beside their cell: distances of cells would tell less."""
    if not np.spacing(max(map(abs, made.region))) <= float(made.step) * _BESIDE:
        raise DivulgeError.of("grid", "have cells of a billion times what doubles tell apart in the region", "it",
                              f"{as_float(made.step):.3g}", "take larger cells, or count from nearer.")  # fmt: skip


_BESIDE = 1e-9
"""By this share of a cell a number may lie beside where it is counted: statements raise odds by as much."""


def quarters_of(choice: Release) -> tuple[Quarter, ...]:
    """Return who lives where, from a public table with columns quarter, people, and those of the places; or a list."""
    given = choice.quarters
    if given is None:
        return ()
    if isinstance(given, (list, tuple)):
        return read_quarters(given)
    source, names = open_table(given), ("quarter", *choice.columns, "people")
    with naming(source.name):
        columns_exist(source.schema.names, names)
        rows = [
            row
            for batch in source.stream(names, ())
            for row in zip(*(values_of(batch.column(name)) for name in names), strict=True)
        ]
        return read_quarters([[str(name), *rest] for name, *rest in rows])


def rate_of(choice: Release) -> tuple[Fraction, str]:
    """Return the rate in nats, and what it is per."""
    (one,) = choice.kept
    assert isinstance(one, MetricPrivacy)
    unit, rate = one.metric.unit, Fraction(one.epsilon)
    if not rate > 0:
        raise DivulgeError.of("guarantee", "have a rate above 0", "it", str(one))
    if len(choice.columns) == 2 and unit != "km":
        raise DivulgeError.of("guarantee", "be about lengths, such as metric=1/km, for latitude and longitude", "it",
                              str(one))  # fmt: skip
    return rate, unit


def side(grid: Any, unit: str, places: bool) -> Fraction:
    """Return the side of a cell, in the unit of the rate."""
    size, own = quantity(grid, "grid") if isinstance(grid, str) else (grid, "")
    if not isinstance(size, Fraction):
        raise DivulgeError.of("grid", "be text such as 500m", "it", repr(grid)[:60])
    if places and (own != "km" or not SIDES[0] <= size <= SIDES[1]):
        kind = "be a length from 0.001m to 1000km with its unit, such as 500m"
        raise DivulgeError.of("grid", kind, "it", repr(grid)[:60])
    if own != unit or not size > 0:
        raise DivulgeError.of("grid", f"be above 0 and in {unit or 'the bare numbers'} of the guarantee", "it",
                              repr(grid)[:60])  # fmt: skip
    return size


def region_of(box: Any, unit: str, places: bool) -> tuple[float, ...]:
    """Return (south, west, north, east) in degrees, or (low, high), which are chosen without a look at the data."""
    given = box.split(",") if isinstance(box, str) else box
    if places:
        found = Box.of(given)
        return found.south, found.west, found.north, found.east
    if unit == "h" and (ends := _moments(given)) is not None:
        low, high = map(hours, ends)
        if not low < high:
            raise DivulgeError.of("box", "be a date or time and a later one", "it", repr(box)[:60])
        return low, high
    try:
        low, high = (float(value) for value in given)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not -1e300 < low < high < 1e300:
        hint = "dates and times, such as 2024-01-01,2025-01-01, go with a rate per h or d." if unit != "h" else ""
        raise DivulgeError.of("box", "be LOW,HIGH of the numbers that there can be", "it", repr(box)[:60], hint)
    return low, high


def require_sizes(a: Fraction, size: tuple[int, ...]) -> None:
    """Refuse cells that are too small or too large for the rate, or too many."""
    if not RATES[0] <= a <= RATES[1]:
        raise DivulgeError.of(
            "grid", "have cells whose side times epsilon is from 1e-6 to 1e6 for each row", "it", f"{as_float(a):.3g}",
            "take other cells.",
        )  # fmt: skip
    if max(size) > MOST_CELLS:
        hint = "take larger cells or a smaller box."
        raise DivulgeError.of("grid", f"have at most {MOST_CELLS:,} cells along and up", "it", f"{max(size):,}", hint)
