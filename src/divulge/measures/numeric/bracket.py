"""Two numbers around one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bracket:
    """Two numbers that enclose the true one, rounding included."""

    lower: float
    upper: float
