"""The law of the outcome where the secret has finitely many values."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.noise.families.noise import ULPS, Noise
from divulge.noise.laws.law import SIDES, UNBOUNDED, End, Law, Range, Side, by_distance, farthest, leakage_of
from divulge.noise.laws.mixture import Mixture, logsumexp, nearest
from divulge.noise.laws.steps import cover
from divulge.noise.secrets.secret import Secret

_FEW, _CHUNK = 32, 65_536
"""Up to so many secrets each outcome is compared with all, so many outcomes at a time."""

_SUMMED = 48
"""From so many places on sums are made of blocks."""

_SAME = 1e-12
"""Locations that differ by less than this share of their span are one."""

_ALL_WORSTS = 128
"""Up to so many secrets are kept apart in the search for the worst."""


@dataclass(frozen=True, eq=False)
class FiniteLaw(Law):
    """Finitely many secrets x_i; noise is added at x_i's share of the mean plus that of the other records."""

    noise: Noise
    values: np.ndarray
    log_prior: np.ndarray
    shares: np.ndarray
    others: Mixture  # at the places that the other records add
    everyone: Mixture  # at all places together
    secret: Secret  # unbounded when far values were left out
    weights_off: float = 0.0  # bounds the relative error of the weights of sums of records
    places_off: float = 0.0  # bounds the error of the places of sums of records
    beyond: tuple[float, float] = (0.0, 0.0)  # bounds the mass of outcomes of values left out on either side

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
        smooth = self.noise.radii is None and not self.noise.linear and self.noise.of_family
        return smooth and self.high - self.low < 0.25 * len(self.locations) * self.noise.scale

    def log_given(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x_i), shape (len(y), K)."""
        y = self.where_it_matters(y)
        return self.others.log_sum(y[:, None], self.shares[None, :], self.center(y)[:, None])

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return the location nearest to y."""
        return self.locations[nearest(self.locations, y)]

    def _from(self, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.noise.relative(y, self.locations[at], self.center(y)), self.values[at]

    @property
    def _falls_with_distance(self) -> bool:
        return len(self.others.places) == 1 and self.noise.unimodal and len(self.values) > 8

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._falls_with_distance:
            return self._from(y, nearest(self.locations, y))
        return self._picked(y, np.argmax)

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.bounded:
            far = math.inf if self.secret.high == math.inf else -math.inf
            return np.full(len(y), -math.inf), np.full(len(y), far)
        if self._falls_with_distance:
            return self._from(y, np.where(y - self.low > self.high - y, 0, len(self.values) - 1))
        return self._picked(y, np.argmin)

    @property
    def worsts_are_all(self) -> bool:
        return self.bounded and (self._falls_with_distance or len(self.values) <= _ALL_WORSTS)

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        if self.bounded and self._falls_with_distance:
            return np.stack([self._from(y, np.full(len(y), at))[0] for at in (0, len(self.values) - 1)], axis=1)
        return self.log_given(y) if self.worsts_are_all else super().log_worsts(y)

    def _picked(self, y: np.ndarray, pick: Any) -> tuple[np.ndarray, np.ndarray]:
        given = self.log_given(y)
        at = pick(given, axis=1)
        return given[np.arange(len(given)), at], self.values[at]

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        y = self.where_it_matters(y)
        return self.everyone.log_sum(y, 0.0, self.center(y))

    def ends(self) -> list[End]:
        if self.noise.slopes is None:
            return []
        if not self.bounded:
            return UNBOUNDED
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
            # what the others add is the same for every secret, and cancels
            own = limit(shares + others.max())
            leaks = [leakage_of(own, self.log_prior, ULPS * np.abs(own), side) for side in SIDES]
            best, worst = float(given.max()), float(given.min())
            out.append(End(sign * math.inf, best, outcome, worst, leaks=(leaks[0], leaks[1])))
        return out

    def log_mass_at_poles(self, y: np.ndarray) -> np.ndarray:
        given = np.where(np.isposinf(self.log_given(y)), self.log_prior, -math.inf)
        found = logsumexp(given)
        return np.where(np.isfinite(found), found, math.nan)

    def direct(self, y: np.ndarray, side: Side) -> Range | None:
        if len(self.others.places) > 1 or len(self.values) > _FEW or not self.bounded:
            return None
        y = self.where_it_matters(y)
        parts: list[Range] = []
        for start in range(0, max(len(y), 1), _CHUNK):
            at = y[start : start + _CHUNK]
            center, x = self.center(at)[:, None], self.locations_of_values
            given = self.noise.relative(at[:, None], x, center)
            parts.append(leakage_of(given, self.log_prior, self.noise.rounding(at[:, None], x, center), side))
        found = np.concatenate([v for v, _ in parts]), np.concatenate([e for _, e in parts])
        return self._at_its_limit(y, side, *found) if self.noise.read_off else found

    def _at_its_limit(self, y: np.ndarray, side: Side, leak: np.ndarray, off: np.ndarray) -> Range:
        """Put the limit, of which no digit is sure, where outcomes are possible but all densities vanish as doubles."""
        low, high = self.noise.support
        lost = np.isnan(leak) & (y > self.low + low) & (y < self.high + high)
        if not lost.any():
            return leak, off
        limits = {end.at > 0: end.leakage(side)[0] for end in self.ends()}
        right = y > (self.low + self.high) / 2
        limit = np.where(right, limits.get(True, 0.0), limits.get(False, 0.0))
        most = -float(self.log_prior.min()) if side == "pml" else math.inf
        return np.where(lost, limit, leak), np.where(lost, most, off)

    @property
    def locations_of_values(self) -> np.ndarray:
        """The location of each value, for one record."""
        return self.shares + self.others.places[0]

    def rounding(self, y: np.ndarray, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Return a bound on rounding: of the logs, of sums of so many terms, of weights, and of rounded places.

        The terms of a sum are weighted by themselves, and then log w_j + log f_j has a mean size of at most that of the
        log of the sum and of the log of their number.
        """
        scale, places = self.noise.scale, len(self.everyone.places)
        with np.errstate(invalid="ignore", over="ignore"):
            size = np.abs(above) + np.abs(below) + math.log(places) + 1
            away = np.minimum(np.abs(y - self.center(y)) / scale, 1e150)
            z = np.where((y > self.low) & (y < self.high), away ** (2 if self.noise.bend else 1), 0.0)
            steepest = self.noise.steepest
            slope = steepest if math.isfinite(steepest) else (away + np.sqrt(2 * size)) / scale
            blocks = math.sqrt(places) if places > _SUMMED else 1.0
            ulps = ULPS * (4 * (size + z) + self.noise.parameters.get("df", 0.0) * 8 + blocks * (1 + np.abs(below)))
            off = ulps + self.weights_off + np.where(np.isfinite(slope), slope, 0.0) * self.places_off
        return np.where(np.isfinite(off), off, 0.0)

    def error(self, y: np.ndarray, side: Side) -> np.ndarray:
        """Return what values that were left out may change: f(y) by their mass, the best f(y | x) by one of them."""
        if not any(self.beyond) or side == "pmc":  # which is infinite
            return np.zeros(len(y))
        center, best, outcome = self.center(y), self.log_best(y)[0], self.log_outcome(y)
        mode = self.noise.mode
        peak = np.full(len(y), math.inf)
        if mode is not None:
            peak = self.noise.log_density(np.array([mode])) - self.noise.reference(y, center)
        missing, lack = np.full(len(y), -math.inf), np.zeros(len(y))
        for beyond, last, sign in zip(self.beyond, (0, -1), (-1.0, 1.0), strict=True):
            if not beyond:
                continue
            # where the noise is short of its mode under the last x, no x beyond is likelier; else it is at the mode
            over = peak + self._log_below(sign, sign * (y - self.shares[last]) - sign * (mode or 0.0))
            end = self.others.log_sum(self.where_it_matters(y), float(self.shares[last]), center)
            most = np.logaddexp(end, over)
            missing = np.logaddexp(missing, math.log(beyond) + (most if len(self.others.places) == 1 else peak))
            lack = np.maximum(lack, most - best)
        return np.logaddexp(0.0, missing - outcome) + lack

    def _log_below(self, sign: float, away: np.ndarray) -> np.ndarray:
        """Return log P(sign * (what the other records add) <= away)."""
        places, weights = sign * self.others.places, np.exp(self.others.log_weights)
        order = np.argsort(places)
        below = np.concatenate([[0.0], np.cumsum(weights[order])])
        with np.errstate(divide="ignore"):
            return np.log(below[np.searchsorted(places[order], away, side="right")])

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

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        x = self.locations
        inside = np.searchsorted(x, left, side="right") < np.searchsorted(x, right, side="left")
        return np.where(inside, math.inf, 0.0)
