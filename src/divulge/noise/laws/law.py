"""The law of the outcome: log f(y | x), its best and worst secret, and log f(y), in the log domain throughout."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from divulge.noise.families.noise import Noise

Side = Literal["pml", "pmc"]
Range = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class End:
    """The limits as y goes to `at`, +inf or -inf, of the logs that a law gives; of pml(y) and pmc(y)."""

    at: float
    best: float
    outcome: float
    worst: float
    error: float = 0.0
    """Of `outcome`, where it is an integral."""

    @property
    def pml(self) -> float:
        """Return the limit of pml(y)."""
        return self.best - self.outcome

    @property
    def pmc(self) -> float:
        """Return the limit of pmc(y)."""
        return self.outcome - self.worst


class Law(Protocol):
    """What the measures need: everything vectorized over y and in logs, relative to `log_reference(y)`."""

    @property
    def noise(self) -> Noise:
        """The noise that is added."""
        ...

    @property
    def low(self) -> float:
        """The smallest location it is added to, maybe -inf."""
        ...

    @property
    def high(self) -> float:
        """The largest location it is added to, maybe +inf."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether the secret is bounded on both sides."""
        ...

    @property
    def exact(self) -> bool:
        """Whether all logs are exact but for rounding: sums or closed forms, no integral over the secret."""
        ...

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return where the noise is centered that all logs are relative to; outside the data, their nearer end."""
        ...

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        """Return what was taken out of all other logs so that they keep their digits far out."""
        ...

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (sup over secrets of log f(y | x), the secret)."""
        ...

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (inf over secrets of log f(y | x), the secret)."""
        ...

    @property
    def worsts_are_all(self) -> bool:
        """Whether `log_worsts` has a column for every secret that can be the worst, the same one for all y."""
        ...

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x) of secrets of which one is the worst, shape (len(y), k)."""
        ...

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y)."""
        ...

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y) itself, the reference put back."""
        ...

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        """Return a bound on the error of pml(y) or pmc(y); 0: rounding only."""
        ...

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return a bound on the mass of locations inside (left, right), for every secret and for all."""
        ...

    def ends(self) -> list[End]:
        """Return the limits as y leaves the data behind; none where the noise has no limiting ratio."""
        ...


def farthest(law: Law, left: np.ndarray, right: np.ndarray) -> Range:
    """Return the range of the distance to the farther end of the data, for y from left to right."""
    least = np.maximum.reduce([left - law.low, law.high - right, np.full(len(left), (law.high - law.low) / 2)])
    return least, np.maximum(right - law.low, law.high - left)


def by_distance(noise: Noise, distance: Range) -> Range:
    """Return the range of the log density at these distances, of noise that falls on either side of 0."""
    return noise.log_density(distance[1]), noise.log_density(distance[0])
