"""The clock that time limits are read from; tests and ablations put a count of looks in its place."""

import math
import time
from numbers import Real
from typing import Any

from divulge.errors import DivulgeError

_LONGEST = 1e18
"""Seconds that are as good as none: thirty billion years. An integer may be too large for a double."""


class OutOfTime(DivulgeError):
    """The time limit was over before there was an answer."""


def now() -> float:
    """Return the seconds since some moment in the past."""
    return time.monotonic()


def deadline(time_limit: Any) -> float:
    """Return when a time limit, in seconds from now, is over; inf where it is None."""
    if time_limit is None:
        return math.inf
    seconds: Any = math.nan if isinstance(time_limit, bool) or not isinstance(time_limit, Real) else time_limit
    if not float(min(seconds, _LONGEST)) >= 0:
        raise DivulgeError.of("time_limit", "be a number of seconds that is at least 0, or None", "it",
                              repr(time_limit))  # fmt: skip
    return now() + float(min(seconds, _LONGEST))


def in_time(until: float, condition: str, hint: str = "") -> None:
    """Raise OutOfTime, with what the time must be long enough for, once it is up."""
    if now() >= until:
        raise out_of_time(condition, hint)


def out_of_time(condition: str, hint: str = "") -> DivulgeError:
    """Return the refusal of a time limit that is too short: what it must be long enough for, and another way."""
    return OutOfTime.of("time_limit", f"be long enough {condition}", "it", "over before", hint)
