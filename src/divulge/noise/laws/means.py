"""The mean of several records with a density: f(y | x) = G(y - x/n), G the density of the other records plus noise."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import Noise
from divulge.noise.laws.continuous import tilted_ends
from divulge.noise.laws.law import UNBOUNDED, End, Law, Side
from divulge.noise.laws.mixture import Mixture
from divulge.noise.laws.sums import sums
from divulge.noise.quadrature import integrals
from divulge.noise.secrets.secret import Secret

_MOST_PLACES, _FADING_PLACES = {True: 16_384, False: 2_048}, 512
"""Places of the sum of all records, for Laplace noise (whose sums are cumulative), other noise, and heavy tails."""

_LOST = 1e-290
"""More than the mass of all sums too rare for a double."""

_REACHES = np.array([3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 13.0, 18.0])
"""Distances in scales within which Gaussian noise is taken to be as steep as it is there."""

_ZOOMS = 8
"""Times that the search for the best secret is repeated on a third of the interval before."""


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


def _log_normal(y: np.ndarray, mean: np.ndarray | float, sd: float) -> np.ndarray:
    return -0.5 * ((y - mean) / sd) ** 2 - math.log(sd) - 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class NormalLaw(Law):
    """The mean of n normal records plus Gaussian noise: everything is normal, and no reference is taken out."""

    noise: Noise
    mean: float
    sd: float
    records: int

    @property
    def low(self) -> float:
        return -math.inf

    @property
    def high(self) -> float:
        return math.inf

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(len(y))

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together."""
        return _log_normal(y, (x + (self.records - 1) * self.mean) / self.records, self.given_sd)

    @property
    def given_sd(self) -> float:
        n, s = self.records, self.noise.parameters["scale"]
        return math.hypot(math.sqrt(n - 1) * self.sd / n, s)

    @property
    def outcome_sd(self) -> float:
        return math.hypot(self.sd / math.sqrt(self.records), self.noise.parameters["scale"])

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = self.records * (y - (self.records - 1) / self.records * self.mean)
        return _log_normal(np.zeros(len(y)), 0.0, self.given_sd), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(y), -math.inf), np.full(len(y), -math.inf)

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        return _log_normal(y, self.mean, self.outcome_sd)

    def ends(self) -> list[End]:
        return UNBOUNDED


@dataclass(frozen=True, eq=False)
class MeanLaw(Law):
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
    step: float  # distance of neighboring places: the lattice step of a record over n
    heaviest: float  # the largest mass of a cell
    skew: float  # how far the mean of a cell may be off, as a share of the cell

    @property
    def exact(self) -> bool:
        return False

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together, less `log_reference(y)`."""
        y = self.where_it_matters(y)
        return self.others.log_sum(y, x / self.records, self.center(y))

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        y = self.where_it_matters(y)
        return self.everyone.log_sum(y, 0.0, self.center(y))

    @cached_property
    def log_concave(self) -> bool:
        """Whether f(y | x) is known to be log-concave in x: largest in one place, least at an end."""
        return self.noise.log_concave and self.secret.log_concave

    @cached_property
    def _grid(self) -> np.ndarray:
        if self.log_concave:
            return np.linspace(self.low, self.high, 17)
        return np.linspace(self.low, self.high, 1025 if self.noise.linear else 65)

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        best, x, _ = self._last(y, self._zoomed)
        return best, x

    def _zoomed(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (log f(y | x) at the best x found, that x, how much it changes from there to the next x looked at)."""
        x, best, where, change = np.broadcast_to(self._grid, (len(y), len(self._grid))), *np.zeros((3, len(y)))
        for _ in range(_ZOOMS):
            given = self.log_given(y[:, None], x)
            at = given.argmax(axis=1)[:, None]
            before, after = np.maximum(at - 1, 0), np.minimum(at + 1, x.shape[1] - 1)
            best, where, start, stop = (
                np.take_along_axis(a, i, axis=1)[:, 0] for a, i in ((given, at), (x, at), (x, before), (x, after))
            )
            sides = np.take_along_axis(given, np.concatenate([before, after], axis=1), axis=1)
            change = best - sides.min(axis=1)
            x = start[:, None] + (stop - start)[:, None] * np.linspace(0, 1, 7)
        return best, where, change

    @property
    def worsts_are_all(self) -> bool:
        return self.log_concave

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
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

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        """Return a bound on the error of pml or pmc: of both densities, and of the search over the record."""
        log_f, x = self.log_best(y) if side == "pml" else self.log_worst(y)
        slopes, base = self._slopes(y), self.log_reference(y)
        everyone = self._rounding(y, self.everyone, self.log_outcome(y) + base, self.records, slopes)
        others = self._rounding(y - x / self.records, self.others, log_f + base, self.records - 1, slopes)
        if self.log_concave:  # as a concave function rises no more to one side than it falls to the other
            return everyone + others + (self._last(y, self._zoomed)[2] if side == "pml" else 0.0)
        apart = float(self._grid[1] - self._grid[0]) / self.records
        between = slopes[0] * apart / 2
        if side == "pml" and not self.noise.linear and self.noise.bend is not None:
            bend = self.noise.bend * apart
            between = np.minimum(between, bend * bend / 8)  # log f + (r y)^2/2 lies below its chords
        return everyone + others + between

    def _rounding(
        self, t: np.ndarray, mixture: Mixture, log_f: np.ndarray, count: int, slopes: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Return what moving `count` records to the lattice changes log E f(t - mean) by: the smallest of some bounds.

        Each record moves by a cell at most; or, means kept, by second-order terms. A kink matters where a record can be
        in the cell that holds it: then the sum of all moved records is within count + 1 cells of it. Gaussian noise is
        steep where it is rare: as steep as within R scales, and what lies beyond counts as it is.
        """
        absolute = np.full(len(t), _LOST)
        if self.noise.linear:
            reach = (count + 1) * self.step
            near = np.minimum(mixture.mass_between(t - reach, t + reach), self.heaviest)
            absolute = absolute + count * near * self.step / (2 * self.noise.parameters["scale"])
        log_share = log_f - float(self.noise.log_density(np.zeros(1))[0])
        bounds = [count * slopes[0] * self.step + _LOST, self._second(log_share, count, *slopes, absolute)]
        if self.noise.gaussian:
            s = self.noise.parameters["scale"]
            for r in _REACHES[2 * self.step / s + 2 < _REACHES]:
                beyond = r - self.step / s  # a record may be moved from here
                part = np.minimum(slopes[0], (r + self.step / s) / s), np.minimum(slopes[1], (r + self.step / s) / s)
                rare = beyond**2 * (self.step / s) ** 2 / 8 + beyond * self.skew * self.step / s
                rare *= math.exp(-(beyond**2) / 2)
                bounds.append(self._second(log_share, count, *part, absolute + count * rare))
        return np.minimum.reduce(bounds)

    def _second(
        self, log_share: np.ndarray, count: int, steepest: np.ndarray, curvature: np.ndarray, absolute: np.ndarray
    ) -> np.ndarray:
        """Return the second-order bound; `absolute` is what comes on top, and e^log_share f, as shares of the peak."""
        with np.errstate(over="ignore", invalid="ignore"):
            rise = np.expm1(np.minimum(steepest * self.step, 600.0))
            each = (self.step * curvature) ** 2 / 8 * (1 + rise) + self.skew * rise
            smooth = np.where(each < 0.5, -count * np.log1p(-np.minimum(each, 0.5)), math.inf)
            kink = np.expm1(np.minimum(smooth, 600.0)) + absolute * np.exp(smooth - log_share)
        return np.where(kink < 0.5, -np.log1p(-np.minimum(kink, 0.5)), math.inf)

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the most that `others` have in any interval as long as each; `everyone` has no more."""
        outside = (right <= self.low) | (left >= self.high)
        places = np.ceil(np.minimum((right - left) / self.step, 1e9)) + 1
        return np.where(outside, 0.0, np.minimum(places * math.exp(float(self.others.log_weights.max())), 1.0))

    def mass_error(self) -> float:
        """Return a bound on the error of P(Y <= y): linear interpolation of the noise's distribution function."""
        top = math.exp(float(self.noise.log_density(np.zeros(1))[0]))
        steepest = self.noise.steepest if math.isfinite(self.noise.steepest) else 1 / self.noise.parameters["scale"]
        return self.records * top * (self.step**2 / 8 * steepest + self.skew * self.step) + _LOST

    def _slopes(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sup |(log f)'| and the root of sup |f''|/f over all distances of y to the data, kinks aside."""
        if math.isfinite(self.noise.steepest):
            return np.full(len(y), self.noise.steepest), np.full(len(y), self.noise.curvature)
        s = self.noise.parameters["scale"]
        far = (np.maximum(np.abs(y - self.low), np.abs(y - self.high)) + self.step) / s
        return far / s, np.maximum(1.0, far) / s


def mean_law(noise: Noise, secret: Secret, records: int) -> MeanLaw:
    """Return the law of the mean of `records` bounded records with a density."""
    usable = math.isfinite(noise.curvature) or noise.gaussian
    if not (secret.bounded and usable and noise.step is None):
        raise DivulgeError.of(
            "records", "be 1 for this secret and noise", "it", str(records),
            "clip the records to an interval, and use laplace, gaussian, logistic or student-t noise; for other noise "
            "give the secret as values(...) or as a sample.",
        )  # fmt: skip
    places = _FADING_PLACES if math.isfinite(noise.fading) else _MOST_PLACES[noise.linear]
    cells = int(np.clip(places // records, 64, 2048))
    step = (secret.high - secret.low) / cells
    weights, skew = rounded(secret, np.array([secret.low, secret.high]), secret.low, step, cells)
    lattice = secret.low + step * np.arange(cells + 1)
    keep = np.flatnonzero(weights[0])
    *both, _ = sums(lattice, weights[0], records, on_lattice=True)
    others, everyone = (Mixture(noise, places / records, log_p) for places, log_p in both)
    heaviest = float((weights[0][:-1] + weights[0][1:]).max()) if len(keep) > 1 else 1.0
    return MeanLaw(noise, secret, records, others, everyone, step / records, heaviest, skew)
