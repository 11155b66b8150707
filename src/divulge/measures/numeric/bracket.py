"""Two numbers around one."""

from dataclasses import dataclass

from divulge.model.shown import Shown


@dataclass(frozen=True)
class Bracket(Shown):
    """Two numbers that enclose the true one, rounding included."""

    lower: float
    upper: float
