"""How long a design may take, and whom to tell where it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from divulge import clock


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


@dataclass
class Budget:
    """Steps that may still be taken; `settled` once nothing is left to decide."""

    steps: float = math.inf
    settled: bool = False

    @property
    def over(self) -> bool:
        """Whether there is no step to take."""
        return self.steps <= 0 or self.settled

    def spend(self) -> bool:
        """Take a step, and say whether there was one to take."""
        ready = not self.over
        self.steps -= 1
        return ready


_SPARE = 1e-9
"""What rounding may take of a utility that is reached."""


@dataclass(frozen=True)
class Effort:
    """When to stop: relative gap reached, the clock at the deadline, or decided whether what is wanted can be reached.

    `progress` is whom to tell; `sign` is -1 for a distortion.
    """

    tolerance: float = 1e-10
    deadline: float = math.inf
    progress: Callable[[Progress], object] | None = None
    started: float = field(default_factory=lambda: clock.now())
    sign: float = 1.0
    missing: float = 0.0
    """What the bounds that are told leave out."""
    wanted: float | None = None
    """The utility, large when good, that a mechanism should have: no more is asked than whether there is one."""
    budget: Budget = field(default_factory=Budget)
    """The steps that are left, which all efforts that come from this one share."""
    first: Any = None
    """A mixture that is there already, made without a search, where the time is limited."""

    @property
    def left(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - clock.now())

    def some(self, share: float) -> "Effort":
        """Return the effort that has a share of the time left."""
        return self if self.deadline == math.inf else replace(self, deadline=clock.now() + share * self.left)

    def late_by(self, share: float) -> "Effort":
        """Return the effort that has a share of the whole time more, from now where the time is up."""
        whole = self.deadline - self.started
        until = max(self.deadline, clock.now() + share * whole) if whole < math.inf else math.inf
        return replace(self, deadline=until, started=clock.now())

    def less(self, seconds: float) -> "Effort":
        """Return the effort that leaves so many seconds at the end, but a quarter of the time at most."""
        return replace(self, deadline=self.deadline - min(seconds, self.left / 4)) if self.left < math.inf else self

    def late(self) -> bool:
        """Say whether the budget or the time is up; nothing is spent."""
        return self.budget.over or clock.now() >= self.deadline

    def spend(self) -> bool:
        """Take a step of the budget, as every round of a loop does, and say whether there was one, and time."""
        return self.budget.spend() and clock.now() < self.deadline

    def tell(self, utility: float, bound: float, rounds: int) -> None:
        """Tell where the run is."""
        if self.wanted is not None and (utility > self.wanted + _SPARE * abs(self.wanted) or
                                        bound + self.missing < self.wanted):  # fmt: skip
            self.budget.settled = True
        if self.progress is not None:
            seconds, bound = clock.now() - self.started, bound + self.missing
            self.progress(Progress(self.sign * utility, self.sign * bound, seconds, rounds))


NO_HURRY = Effort()
