"""The mean of several records with a density: f(y | x) = G(y - x/n), G the density of the other records plus noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families import LAPLACE, Noise
from divulge.noise.law import End, tilted_ends
from divulge.noise.mixture import Mixture
from divulge.noise.quadrature import integrals
from divulge.noise.secrets import Secret
from divulge.noise.sums import sums

_MOST_PLACES = {True: 16_384, False: 6_144}
"""Places of the sum of all records, for Laplace noise (whose sums are cumulative) and for other noise."""

_LOST = 1e-290
"""More than the mass of all sums too rare for a double."""

_ZOOMS = 8
"""Times that the search for the best secret is repeated on a third of the interval before."""

LOG_CONCAVE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("uniform", "norm", "truncnorm", "triang", "truncexpon", "semicircular"), lambda x: True),
    "beta": lambda x: len(x.args) >= 2 and min(x.args[:2]) >= 1,
}
"""scipy name -> whether this distribution has a log-concave density; others are taken to have none."""


def rounded(secret: Secret, edges: np.ndarray, low: float, step: float, cells: int) -> tuple[np.ndarray, float]:
    """Return (weights, relative error of a cell's mean): each bin's mass on the lattice low, low + step, ...

    The mass of a piece of a cell goes to the two ends of the cell in such a way that its mean stays. Row i of the
    weights belongs to the bin (edges_i, edges_i+1]; the columns are the lattice points.
    """
    lattice = low + step * np.arange(cells + 1)
    lattice[-1] = secret.high
    cuts = np.unique(np.concatenate([lattice, np.clip(edges, lattice[0], lattice[-1])]))
    a, b = cuts[:-1], cuts[1:]
    x, middle = secret.continuous, float(secret.continuous.ppf(0.5))
    right = a >= middle
    mass = np.where(right, x.sf(a) - x.sf(b), x.cdf(b) - x.cdf(a))

    def above(v: np.ndarray, row: np.ndarray) -> np.ndarray:
        """P(v < X <= b) in the row's piece [a, b]: its integral is the mean of X - a there, times the mass."""
        return np.where(right[row], x.sf(v) - x.sf(b[row]), x.cdf(b[row]) - x.cdf(v))

    moment, wrong = integrals(above, np.stack([a, b], axis=1))
    moment = np.clip(moment, 0.0, mass * (b - a))
    left = np.clip(np.searchsorted(lattice, (a + b) / 2) - 1, 0, cells - 1)
    to_right = np.clip((moment + mass * (a - lattice[left])) / step, 0.0, mass)
    bins = np.clip(np.searchsorted(edges, (a + b) / 2) - 1, 0, len(edges) - 2)
    weights = np.zeros((len(edges) - 1, cells + 1))
    np.add.at(weights, (bins, left), mass - to_right)
    np.add.at(weights, (bins, left + 1), to_right)
    for value, p in secret.atoms:
        at = 0 if value == secret.low else cells
        weights[np.clip(np.searchsorted(edges, value) - 1, 0, len(edges) - 2), at] += p
    weights /= weights.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(mass > 0, wrong / (mass * step), 0.0)
    return weights, float(min(1.0, share.max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class NormalLaw:
    """The mean of n normal records plus Gaussian noise: everything is normal."""

    noise: Noise
    mean: float
    sd: float
    records: int
    low: float = -math.inf
    high: float = math.inf
    bounded: bool = False

    def center(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64).ravel()

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(np.asarray(y).size)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y)

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together."""
        z = (y - (x + (self.records - 1) * self.mean) / self.records) / self.given_sd
        return -0.5 * z**2 - math.log(self.given_sd) - 0.5 * math.log(2 * math.pi)

    @property
    def given_sd(self) -> float:
        n, s = self.records, self.noise.parameters["scale"]
        return math.hypot(math.sqrt(n - 1) * self.sd / n, s)

    @property
    def outcome_sd(self) -> float:
        return math.hypot(self.sd / math.sqrt(self.records), self.noise.parameters["scale"])

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        x = self.records * (y - (self.records - 1) / self.records * self.mean)
        return np.full(len(y), -math.log(self.given_sd) - 0.5 * math.log(2 * math.pi)), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        return np.full(len(y), -math.inf), np.full(len(y), -math.inf)

    @property
    def worsts_are_all(self) -> bool:
        return False

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        return self.log_worst(y)[0][:, None]

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        z = (np.asarray(y, dtype=np.float64).ravel() - self.mean) / self.outcome_sd
        return -0.5 * z**2 - math.log(self.outcome_sd) - 0.5 * math.log(2 * math.pi)

    def error(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(np.asarray(y).size)

    def ends(self) -> list[End]:
        return [End(sign * math.inf, math.inf, 0.0, -math.inf) for sign in (1.0, -1.0)]


@dataclass(frozen=True, eq=False)
class MeanLaw:
    """n > 1 bounded records with a density: all but the one record are moved to a lattice, keeping their means.

    Moving a record from inside a cell to its ends, its mean kept, changes E f(y - X/n) by no more than the linear
    interpolation of f does: by (step/n)^2/8 sup |f''|, and by the kink of Laplace noise in the cell that holds it.
    `error` adds that up. The one record itself is not moved.
    """

    noise: Noise
    secret: Secret
    records: int
    others: Mixture
    everyone: Mixture
    step: float
    """Distance of neighboring places: the lattice step of a record over n."""
    heaviest: float
    """The largest mass of a cell."""
    skew: float
    """How far the mean of a cell may be off, as a share of the cell."""
    bounded: bool = True

    @property
    def low(self) -> float:
        return self.secret.low

    @property
    def high(self) -> float:
        return self.secret.high

    def center(self, y: np.ndarray) -> np.ndarray:
        return np.clip(y, self.low, self.high)

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.noise.reference(y, self.center(y))

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together, less `log_reference(y)`."""
        y = np.clip(y, self.low, self.high) if self.noise.kind in LAPLACE else y
        return self.others.log_sum(y, x / self.records, self.center(y))

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        y = np.clip(y, self.low, self.high) if self.noise.kind in LAPLACE else y
        return self.everyone.log_sum(y, 0.0, self.center(y))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y) + self.log_reference(y)

    @cached_property
    def log_concave(self) -> bool:
        """Whether f(y | x) is known to be log-concave in x: largest in one place, least at an end."""
        known = LOG_CONCAVE.get(self.secret.continuous.dist.name, lambda x: False)
        return self.noise.log_concave and not self.secret.atoms and known(self.secret.continuous)

    @cached_property
    def _grid(self) -> np.ndarray:
        return np.linspace(self.low, self.high, 33 if self.log_concave else 129)

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        x, best, where = np.broadcast_to(self._grid, (len(y), len(self._grid))), np.zeros(len(y)), np.zeros(len(y))
        for _ in range(_ZOOMS):
            given = self.log_given(y[:, None], x)
            at = given.argmax(axis=1)[:, None]
            start = np.take_along_axis(x, np.maximum(at - 1, 0), axis=1)
            stop = np.take_along_axis(x, np.minimum(at + 1, x.shape[1] - 1), axis=1)
            best, where = np.take_along_axis(given, at, axis=1)[:, 0], np.take_along_axis(x, at, axis=1)[:, 0]
            x = start + (stop - start) * np.linspace(0, 1, 7)
        return best, where

    @property
    def worsts_are_all(self) -> bool:
        return self.log_concave

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.log_given(y[:, None], self._worst_of[None, :])

    @property
    def _worst_of(self) -> np.ndarray:
        return np.array([self.low, self.high]) if self.log_concave else self._grid

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        given = self.log_worsts(y)
        at = given.argmin(axis=1)
        return given[np.arange(len(given)), at], self._worst_of[at]

    def ends(self) -> list[End]:
        return tilted_ends(self.noise, self.secret, self.records)

    def error(self, y: np.ndarray) -> np.ndarray:
        """Return a bound on the error of pml and pmc: of both densities, and of the search over the record."""
        y = np.asarray(y, dtype=np.float64).ravel()
        n, steepest, curvature = self.records, *self._slopes(y)
        rise = np.expm1(np.minimum(steepest * self.step, 600.0))
        each = self.step**2 / 8 * curvature * (1 + rise) + self.skew * rise
        smooth = np.where(each < 1, -n * np.log1p(-np.minimum(each, 0.5)), math.inf)
        kink = self.heaviest * self.step / (2 * self.noise.parameters["scale"]) if self.noise.kind == "laplace" else 0.0
        inside = (y >= self.low - self.step) & (y <= self.high + self.step)
        absolute = n * np.where(inside, kink, 0.0) + _LOST
        top = float(self.noise.log_density(np.zeros(1))[0])
        least = self.log_worst(y)[0] + self.log_reference(y)
        with np.errstate(over="ignore"):
            both = 2 * (smooth + absolute * np.exp(np.minimum(top - least, 700.0) + np.minimum(smooth, 50.0)))
        if self.log_concave:
            return both + 1e-11
        return both + steepest * float(self._grid[1] - self._grid[0]) / (2 * n)

    def mass_error(self) -> float:
        """Return a bound on the error of P(Y <= y): linear interpolation of the noise's distribution function."""
        top = math.exp(float(self.noise.log_density(np.zeros(1))[0]))
        steepest = self.noise.steepest if math.isfinite(self.noise.steepest) else 1 / self.noise.parameters["scale"]
        return self.records * top * (self.step**2 / 8 * steepest + self.skew * self.step) + _LOST

    def _slopes(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sup |(log f)'| and sup |f''|/f over all distances of y to the data, kinks aside."""
        if math.isfinite(self.noise.steepest):
            return np.full(len(y), self.noise.steepest), np.full(len(y), self.noise.curvature)
        s = self.noise.parameters["scale"]
        far = (np.maximum(np.abs(y - self.low), np.abs(y - self.high)) + self.step) / s
        return far / s, np.maximum(1.0, far**2) / s**2


def mean_law(noise: Noise, secret: Secret, records: int) -> MeanLaw:
    """Return the law of the mean of `records` bounded records with a density."""
    usable = math.isfinite(noise.curvature) or noise.kind == "gaussian"
    if not (secret.bounded and usable and noise.step is None):
        raise DivulgeError.of(
            "records", "be 1 for this secret and noise", "it", str(records),
            "clip the records to an interval, and use laplace, gaussian, logistic or student-t noise; for other noise "
            "give the secret as values(...) or as a sample.",
        )  # fmt: skip
    cells = int(np.clip(_MOST_PLACES[noise.kind in LAPLACE] // records, 64, 2048))
    step = (secret.high - secret.low) / cells
    weights, skew = rounded(secret, np.array([secret.low, secret.high]), secret.low, step, cells)
    lattice = secret.low + step * np.arange(cells + 1)
    keep = np.flatnonzero(weights[0])
    others, everyone = (
        Mixture(noise, places / records, log_p)
        for places, log_p in (sums(lattice, weights[0], count, True) for count in (records - 1, records))
    )
    heaviest = float((weights[0][:-1] + weights[0][1:]).max()) if len(keep) > 1 else 1.0
    return MeanLaw(noise, secret, records, others, everyone, step / records, heaviest, skew)
