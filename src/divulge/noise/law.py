"""The law of the outcome: log f(y | x), its best and worst secret, and log f(y), in the log domain throughout."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from divulge.noise.closed import CLOSED_FORMS
from divulge.noise.families import FAMILIES, LAPLACE, Noise
from divulge.noise.mixture import Mixture, logsumexp
from divulge.noise.quadrature import LogGiven, beyond, log_far, log_mixture, window, window_matters
from divulge.noise.secrets import Secret
from divulge.noise.steps import cover, log_cover

Side = Literal["pml", "pmc"]
Range = tuple[np.ndarray, np.ndarray]

_SAME = 1e-12
"""Locations that differ by less than this share of their span are one."""


_FAR = 1e4
"""So many scales of the noise out, doubles are too coarse for integrals over an unbounded secret."""

_ALL_WORSTS = 128
"""Up to so many secrets are kept apart in the search for the worst."""


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


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Finitely many secrets x_i; noise is added at x_i's share of the mean plus that of the other records.

    `shares`: the part of the secrets; `others`: the places the other records add; `everyone`: all places together.
    """

    noise: Noise
    values: np.ndarray
    log_prior: np.ndarray
    shares: np.ndarray
    others: Mixture
    everyone: Mixture
    secret: Secret
    """What the values are the distribution of; it is unbounded when far values were left out."""

    @property
    def exact(self) -> bool:
        return True

    @property
    def bounded(self) -> bool:
        return self.secret.bounded

    @property
    def low(self) -> float:
        return float(self.locations[0])

    @property
    def high(self) -> float:
        return float(self.locations[-1])

    @cached_property
    def locations(self) -> np.ndarray:
        """Every location that can occur; those that differ by rounding only count once."""
        x = self.everyone.places
        return x[np.diff(x, prepend=-math.inf) > _SAME * (x[-1] - x[0])]

    @cached_property
    def finer_than_noise(self) -> bool:
        """Whether neighboring locations are too near, and the noise too smooth, to matter one by one."""
        smooth = self.noise.radii is None and self.noise.kind not in LAPLACE and self.noise.kind in FAMILIES
        return smooth and self.high - self.low < 0.25 * len(self.locations) * self.noise.scale

    def log_given(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x_i), shape (len(y), K)."""
        y = self._where_it_matters(y)
        return self.others.log_sum(y[:, None], self.shares[None, :], self.center(y)[:, None])

    def _where_it_matters(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return np.clip(y, self.low, self.high) if self.noise.kind in LAPLACE else y

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return the location nearest to y."""
        return self.locations[self._at(y)]

    def _at(self, y: np.ndarray) -> np.ndarray:
        return nearest(self.locations, y)

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.noise.reference(y, self.center(y))

    def _from(self, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.noise.relative(y, self.locations[at], self.center(y)), self.values[at]

    @property
    def _falls_with_distance(self) -> bool:
        return len(self.others.places) == 1 and self.noise.unimodal and len(self.values) > 8

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._falls_with_distance:
            y = np.asarray(y, dtype=np.float64).ravel()
            return self._from(y, self._at(y))
        return self._picked(y, np.argmax)

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.bounded:
            size = np.asarray(y).size
            return np.full(size, -math.inf), np.full(size, math.inf if self.secret.high == math.inf else -math.inf)
        if self._falls_with_distance:
            y = np.asarray(y, dtype=np.float64).ravel()
            return self._from(y, np.where(y - self.low > self.high - y, 0, len(self.values) - 1))
        return self._picked(y, np.argmin)

    @property
    def worsts_are_all(self) -> bool:
        return self.bounded and (self._falls_with_distance or len(self.values) <= _ALL_WORSTS)

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        if self.bounded and self._falls_with_distance:
            y = np.asarray(y, dtype=np.float64).ravel()
            return np.stack([self._from(y, np.full(len(y), at))[0] for at in (0, len(self.values) - 1)], axis=1)
        return self.log_given(y) if self.worsts_are_all else self.log_worst(y)[0][:, None]

    def _picked(self, y: np.ndarray, pick: Any) -> tuple[np.ndarray, np.ndarray]:
        given = self.log_given(y)
        at = pick(given, axis=1)
        return given[np.arange(len(given)), at], self.values[at]

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        y = self._where_it_matters(y)
        return self.everyone.log_sum(y, 0.0, self.center(y))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y) + self.log_reference(y)

    def ends(self) -> list[End]:
        if self.noise.slopes is None:
            return []
        if not self.bounded:
            return [End(sign * math.inf, math.inf, 0.0, -math.inf) for sign in (1.0, -1.0)]
        out: list[End] = []
        for sign in (1.0, -1.0):
            shares, others = sign * self.shares, sign * self.others.places
            top = shares.max() + others.max()
            same = _SAME * (self.high - self.low)

            def limit(location: np.ndarray, sign: float = sign, top: float = top, same: float = same) -> np.ndarray:
                distance = top - location
                return self.noise.end_ratio(np.where(distance > same, distance, 0.0), sign)

            if len(others) == 1:
                given = limit(shares + others[0])
            else:
                given = np.array([logsumexp(self.others.log_weights + limit(s + others)) for s in shares])
            outcome = float(logsumexp(self.everyone.log_weights + limit(sign * self.everyone.places)))
            out.append(End(sign * math.inf, float(given.max()), outcome, float(given.min())))
        return out

    @property
    def one_peak(self) -> bool:
        """Whether f(y) is known to rise to one peak and to fall from there."""
        return False

    def between(self, left: np.ndarray, right: np.ndarray) -> tuple[Range, Range, Range]:
        """Return the ranges of the best and of the worst log f(y | x), and of log f(y), for y from left to right.

        For noise in steps.
        """
        outcome = cover(self.noise, self.everyone.mass, self.low, self.high, left, right)
        if self._falls_with_distance:
            first, last = (np.abs(y - self.center(y)) for y in (left, right))
            x = self.locations
            met = np.searchsorted(x, left) < np.searchsorted(x, right, side="right")
            near = np.where(met, 0.0, np.minimum(first, last)), (first + last + right - left) / 2
            return by_distance(self.noise, near), by_distance(self.noise, farthest(self, left, right)), outcome
        least, most = np.empty((2, len(self.values), len(left)))
        for i, share in enumerate(self.shares):
            x = self.others
            low, high = float(x.places[0]), float(x.places[-1])
            least[i], most[i] = cover(self.noise, x.mass, low, high, left - share, right - share)
        return (least.max(axis=0), most.max(axis=0)), (least.min(axis=0), most.min(axis=0)), outcome

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        return np.zeros(np.asarray(y).size)

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        x = self.locations
        inside = np.searchsorted(x, left, side="right") < np.searchsorted(x, right, side="left")
        return np.where(inside, math.inf, 0.0)


def farthest(law: Law, left: np.ndarray, right: np.ndarray) -> Range:
    """Return the range of the distance to the farther end of the data, for y from left to right."""
    least = np.maximum.reduce([left - law.low, law.high - right, np.full(len(left), (law.high - law.low) / 2)])
    return least, np.maximum(right - law.low, law.high - left)


def by_distance(noise: Noise, distance: Range) -> Range:
    """Return the range of the log density at these distances, of noise that falls on either side of 0."""
    return noise.log_density(distance[1]), noise.log_density(distance[0])


def nearest(places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the index of the place nearest to each y."""
    if len(places) == 1:
        return np.zeros(np.shape(y), dtype=int)
    after = np.clip(np.searchsorted(places, y), 1, len(places) - 1)
    return after - (y - places[after - 1] < places[after] - y)


@dataclass(frozen=True, eq=False)
class ContinuousLaw:
    """One record with a density: the outcome's density by adaptive quadrature."""

    noise: Noise
    secret: Secret

    @property
    def bounded(self) -> bool:
        return self.secret.bounded

    @property
    def exact(self) -> bool:
        return self.closed is not None

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.noise.reference(y, self.center(y))

    def center(self, y: np.ndarray) -> np.ndarray:
        return np.clip(y, self.low, self.high)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y) + self.log_reference(y)

    @property
    def low(self) -> float:
        return self.secret.low

    @property
    def high(self) -> float:
        return self.secret.high

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together, less `log_reference(y)`."""
        return self.noise.relative(y, x, self.center(y))

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        mode = self.noise.mode
        x = self._searched(y, np.argmax) if mode is None else np.clip(y - mode, self.low, self.high)
        return self.noise.relative(y, x, self.center(y)), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        if not self.secret.bounded:
            far = np.where(math.isfinite(self.low), math.inf, -math.inf) * np.ones(len(y))
            return np.full(len(y), -math.inf), far
        if self.noise.mode is None:
            x = self._searched(y, np.argmin)
        else:
            at_low, at_high = self.log_worsts(y).T
            x = np.where(at_low < at_high, self.low, self.high)
        return self.noise.relative(y, x, self.center(y)), x

    @property
    def worsts_are_all(self) -> bool:
        return self.bounded and self.noise.mode is not None

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        if not self.worsts_are_all:
            return self.log_worst(y)[0][:, None]
        y = np.asarray(y, dtype=np.float64).ravel()
        ends = (self.low, self.high)
        return np.stack([self.noise.relative(y, np.full(len(y), x), self.center(y)) for x in ends], axis=1)

    def ends(self) -> list[End]:
        return tilted_ends(self.noise, self.secret, 1)

    def _searched(self, y: np.ndarray, pick: Any) -> np.ndarray:
        grid = np.linspace(*window(self.secret), 4097)
        return np.array([grid[int(pick(self.noise.log_density(v - grid)))] for v in y])

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        return self._outcome(np.asarray(y, dtype=np.float64).ravel())[0]

    def mass(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (P(left < X < right), bound on its error), from the side where it is no difference of large masses."""
        x = self.secret.continuous
        u, v = np.clip(left, self.low, self.high), np.clip(right, self.low, self.high)
        upper = u >= x.ppf(0.5)
        near, far = np.where(upper, x.sf(u), x.cdf(v)), np.where(upper, x.sf(v), x.cdf(u))
        mass, error = np.where(u < v, np.maximum(near - far, 0.0), 0.0), np.where(u < v, 1e-15 * near, 0.0)
        for value, p in self.secret.atoms:
            mass = mass + p * ((left < value) & (value < right))
        return mass, error

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        mass, error = self.mass(left, right)
        return mass + error

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        return self._outcome(np.asarray(y, dtype=np.float64).ravel())[1]

    @property
    def one_peak(self) -> bool:
        """A log-concave density keeps one peak when noise of one peak is added (Ibragimov 1956)."""
        return self.secret.log_concave and self.noise.unimodal

    def between(self, left: np.ndarray, right: np.ndarray) -> tuple[Range, Range, Range]:
        """Return the ranges of the best and of the worst log f(y | x), and of log f(y), for y from left to right.

        For noise in steps.
        """
        near = [np.maximum.reduce([self.low - y, z - self.high, 0 * y]) for y, z in ((right, left), (left, right))]
        outcome = cover(self.noise, self.mass, *window(self.secret), left, right)
        return (
            by_distance(self.noise, (near[0], near[1])),
            by_distance(self.noise, farthest(self, left, right)),
            outcome,
        )

    @property
    def closed(self) -> Any:
        """The closed form of log f(y), or None."""
        return None if self.secret.atoms else CLOSED_FORMS.get((self.secret.continuous.dist.name, self.noise.kind))

    def _outcome(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (log f(y), its error); the answer for the last outcomes is kept, as they are asked for in turn."""
        kept = self.__dict__.get("_kept")
        if kept is None or not np.array_equal(kept[0], y):
            kept = self.__dict__["_kept"] = y.copy(), self._integrated(y)
        return kept[1]

    def _integrated(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.closed is not None:
            return self.closed(self.secret.continuous, self.noise, y), np.zeros(len(y))
        center = self.center(y)
        if self.noise.radii is not None:
            return log_cover(self.noise, self.mass, *window(self.secret), y, y)
        log_f, error = self._quadrature(y, center)
        for value, mass in self.secret.atoms:
            log_f = np.logaddexp(log_f, math.log(mass) + self.noise.relative(y, np.full(len(y), value), center))
        return log_f, error

    def _quadrature(self, y: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (log f(y), its error); outcomes for which rare secrets count take more work."""
        secret, noise, best = self.secret, self.noise, self.log_best(y)[0]
        log_f, error = np.full((2, len(y)), -math.inf)

        def given(rows: np.ndarray) -> LogGiven:
            return lambda x, row: noise.relative(y[rows[row]], x, center[rows[row]])

        far = beyond(secret, y) | (np.abs(y) > _FAR * noise.scale)
        near = np.flatnonzero(~far)
        if len(near):
            log_f[near], error[near] = log_mixture(secret, noise, y[near], best[near], given(near))
        rest = np.flatnonzero(far | window_matters(secret, log_f, best))
        if len(rest):
            log_f[rest], error[rest] = log_far(secret, noise, y[rest], given(rest))
        return log_f, error


def tilted_ends(noise: Noise, secret: Secret, records: int) -> list[End]:
    """Return the limits for a continuous secret, relative to noise at the nearer end as all logs are.

    With exponential tails of slope 1/b and theta = 1/(n b), noise at x far below y is e^{(x - hi) theta} of noise at
    hi: each record but the one asked about adds log E e^{(X - hi) theta}; the mirror image at -inf. A ratio that tends
    to 0 singles out the end of the support, which has no mass.
    """
    if noise.slopes is None:
        return []
    mass, out = dict(secret.atoms), list[End]()
    for sign, slope, end in ((1.0, noise.slopes[1], secret.high), (-1.0, noise.slopes[0], secret.low)):
        if not secret.bounded or slope == math.inf:
            out.append(End(sign * math.inf, -math.log(mass[end]) if end in mass else math.inf, 0.0, -math.inf))
            continue
        each, error = secret.log_tilted(sign * slope / records)
        others, span = (records - 1) * each, (secret.high - secret.low) * slope / records
        out.append(End(sign * math.inf, others, others + each, others - span, records * error))
    return out
