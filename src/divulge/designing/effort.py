"""How long a design may take, and whom to tell where it is."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Progress:
    """Where a long run is: the utility reached, the bound so far, seconds since the start, rounds done."""

    utility: float
    bound: float
    seconds: float
    rounds: int

    @property
    def gap(self) -> float:
        """How far utility and bound are apart."""
        return abs(self.bound - self.utility)


@dataclass(frozen=True)
class Effort:
    """When to stop: relative gap reached, or the clock at the deadline; whom to tell; -1 for a distortion."""

    tolerance: float = 1e-10
    deadline: float = math.inf
    progress: Callable[[Progress], object] | None = None
    started: float = field(default_factory=time.monotonic)
    sign: float = 1.0
    missing: float = 0.0
    """What the bounds that are told leave out."""

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def some(self, share: float) -> "Effort":
        """Return the effort that has a share of the time left."""
        return self if self.deadline == math.inf else replace(self, deadline=time.monotonic() + share * self.left)

    def less(self, seconds: float) -> "Effort":
        """Return the effort that leaves so many seconds at the end, but a quarter of the time at most."""
        return replace(self, deadline=self.deadline - min(seconds, self.left / 4)) if self.left < math.inf else self

    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.deadline

    def tell(self, utility: float, bound: float, rounds: int) -> None:
        """Tell where the run is."""
        if self.progress is not None:
            seconds, bound = time.monotonic() - self.started, bound + self.missing
            self.progress(Progress(self.sign * utility, self.sign * bound, seconds, rounds))
