"""Dates and times as hours from a moment on, which a rate per hour or day is about, and cells of time that go out."""

import datetime
from fractions import Fraction
from typing import Any

import numpy as np

DATE, TIME = "date", "time"
"""What goes out: dates, where cells are whole days, or times."""

DAY = Fraction(24)
"""Hours of a day, of which cells may be whole multiples: dates have no finer."""

_EPOCH = datetime.datetime(1970, 1, 1)
_HOUR = datetime.timedelta(hours=1)
_IN_HOUR = 3_600_000_000
"""Microseconds of an hour."""


def moment(value: Any) -> datetime.datetime | None:
    """Return a date, time or its ISO text as a moment without a zone, of one with a zone that in UTC; else None.

    >>> moment("2024-01-31"), moment(datetime.date(2024, 1, 31)) == moment("2024-01-31T00:00"), moment("31.1.24")
    (datetime.datetime(2024, 1, 31, 0, 0), True, None)
    """
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
    return datetime.datetime(value.year, value.month, value.day) if isinstance(value, datetime.date) else None


def hours(value: datetime.datetime, start: float = 0.0) -> float:
    """Return the hours from a moment, which is so many hours after the first of January 1970, to another.

    Their difference is taken in microseconds, so that nothing is lost far from 1970.

    >>> hours(moment("2024-01-02"), hours(moment("2024-01-01")))
    24.0
    """
    return (value - at(start)) / _HOUR


def at(since: float) -> datetime.datetime:
    """Return the moment so many hours after the first of January 1970, to the microsecond.

    >>> at(24.5)
    datetime.datetime(1970, 1, 2, 0, 30)
    """
    return _EPOCH + datetime.timedelta(microseconds=round(since * _IN_HOUR))


def is_moment(since: float) -> bool:
    """Say whether so many hours after the first of January 1970 are a moment of the years 1 to 9999.

    >>> is_moment(0.0), is_moment(1e300)
    (True, False)
    """
    try:
        at(since)
    except (OverflowError, ValueError):
        return False
    return True


def of_day(value: Any) -> float | None:
    """Return the hours since midnight of a time of day, or of text such as "13:45"; None of anything else.

    >>> of_day("13:45"), of_day(datetime.time(1, 30)), of_day("noon")
    (13.75, 1.5, None)
    """
    if isinstance(value, str) and ":" in value:
        try:
            value = datetime.time.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime.time):
        return None
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return (seconds * 1_000_000 + value.microsecond) / _IN_HOUR


def middles(cells: np.ndarray, start: float, step: Fraction, kind: str) -> np.ndarray:
    """Return the middles of cells as datetime64: to the microsecond, or the day that they lie in.

    >>> middles(np.array([0, 1]), hours(moment("2024-01-01")), DAY, DATE).tolist()[1]
    datetime.date(2024, 1, 2)
    """
    low = round(start * _IN_HOUR)
    found = (low + np.rint((cells + 0.5) * float(step * _IN_HOUR))).astype(np.int64).astype("datetime64[us]")
    return found.astype("datetime64[D]") if kind == DATE else found
