"""The clock that time limits are read from; tests and ablations put a count of looks in its place."""

import time


def now() -> float:
    """Return the seconds since some moment in the past."""
    return time.monotonic()
