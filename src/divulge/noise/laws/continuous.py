"""The law of the outcome of one record with a density, by a closed form or by quadrature."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.noise.families.noise import Noise
from divulge.noise.laws.integrated import LogGiven, beyond, log_far, log_mixture, window_matters
from divulge.noise.laws.law import End, Law, Range, Side, by_distance, farthest
from divulge.noise.laws.steps import cover, log_cover
from divulge.noise.secrets.expectations import log_tilted, window
from divulge.noise.secrets.secret import Secret

_FAR = 1e4
"""So many scales of the noise out, doubles are too coarse for integrals over an unbounded secret."""


def _normal_plus_gaussian(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Of the normal sum; the reference is the noise at 0, as a normal secret may be anywhere."""
    sd = math.hypot(x.std(), noise.parameters["scale"])
    return -0.5 * ((y - x.mean()) / sd) ** 2 - math.log(sd / noise.parameters["scale"])


def _uniform_plus_laplace(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Inside [lo, hi]: 2(hi - lo) f(y) = 2 - e^{-(y-lo)/b} - e^{-(hi-y)/b}; at a distance d outside, e^{-d/b} less.

    That factor is the reference, and so is 1/2b.
    """
    (low, high), b = x.support(), noise.parameters["scale"]
    inside = np.clip(y, low, high)
    body = -np.expm1(-(inside - low) / b) - np.expm1(-(high - inside) / b)
    return np.log(body) + math.log(b / (high - low))


def _normal_plus_laplace(x: Any, noise: Noise, y: np.ndarray) -> np.ndarray:
    """Split at x = y and complete the square on either side; the reference is 1/2b.

    With r = sd/b, e^{r^2/2 - zr} P(N < z - r) = e^{-z^2/2} erfcx((r - z)/sqrt 2) / 2, which keeps its digits for z < r.
    """
    from scipy.special import erfcx, log_ndtr

    mean, sd, b = float(x.mean()), float(x.std()), noise.parameters["scale"]
    z, r = (y - mean) / sd, sd / b

    def below(z: np.ndarray) -> np.ndarray:
        near = np.log(erfcx(np.maximum(r - z, 0.0) / math.sqrt(2)) / 2) - z * z / 2
        with np.errstate(over="ignore"):
            return np.where(z < r, near, r * (r / 2 - np.maximum(z, r)) + log_ndtr(np.maximum(z - r, 0.0)))

    return np.logaddexp(below(z), below(-z))


CLOSED_FORMS: dict[tuple[str, str], Any] = {
    ("norm", "gaussian"): _normal_plus_gaussian,
    ("norm", "laplace"): _normal_plus_laplace,
    ("uniform", "laplace"): _uniform_plus_laplace,
}
"""(scipy name of the secret, kind of the noise) -> log density of their sum less the reference."""


@dataclass(frozen=True, eq=False)
class ContinuousLaw(Law):
    """One record with a density: the outcome's density by adaptive quadrature."""

    noise: Noise
    secret: Secret

    @property
    def exact(self) -> bool:
        return self.closed is not None

    def log_given(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return log f(y | x), shape that of y and x together, less `log_reference(y)`."""
        return self.noise.relative(y, x, self.center(y))

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mode = self.noise.mode
        if mode is None:  # the best is at a peak of the noise, or at an end of the data
            return self._picked(y, self.noise.peaks, 1.0)
        x = np.clip(y - mode, self.low, self.high)
        return self.noise.relative(y, x, self.center(y)), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.bounded:
            far = np.where(math.isfinite(self.low), math.inf, -math.inf) * np.ones(len(y))
            return np.full(len(y), -math.inf), far
        if self.noise.mode is None:
            return self._picked(y, self.noise.valleys, -1.0)
        at_low, at_high = self.log_worsts(y).T
        x = np.where(at_low < at_high, self.low, self.high)
        return self.noise.relative(y, x, self.center(y)), x

    @property
    def worsts_are_all(self) -> bool:
        return self.bounded and self.noise.mode is not None

    def log_worsts(self, y: np.ndarray) -> np.ndarray:
        if not self.worsts_are_all:
            return super().log_worsts(y)
        ends = (self.low, self.high)
        return np.stack([self.noise.relative(y, np.full(len(y), x), self.center(y)) for x in ends], axis=1)

    def ends(self) -> list[End]:
        return tilted_ends(self.noise, self.secret, 1)

    def _picked(self, y: np.ndarray, turns: tuple[float, ...], sign: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (the largest log f(y | x), or least with sign -1, the secret): where the noise turns, or at an end."""
        ends = [np.full(len(y), end) for end in (self.low, self.high) if math.isfinite(end)]
        x = np.stack([*ends, *(np.clip(y - z, self.low, self.high) for z in turns)])
        given = self.noise.relative(y, x, self.center(y))
        given = np.where(np.isnan(given), -math.inf, sign * given)
        at, row = given.argmax(axis=0), np.arange(len(y))
        return sign * given[at, row], x[at, row]

    @property
    def has_poles(self) -> bool:
        return bool(self.noise.poles) and self.low < self.high

    def log_mass_at_poles(self, y: np.ndarray) -> np.ndarray:
        found = np.full(len(y), math.nan)
        for z in self.noise.poles:
            found = np.where((y - z > self.low) & (y - z < self.high), -math.inf, found)
            for value, mass in self.secret.atoms:
                found = np.where(y == value + z, math.log(mass), found)
        return found

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        return self._last(y, self._integrated)[0]

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
        return self._last(y, self._integrated)[1]

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
        best, worst = (by_distance(self.noise, at) for at in ((near[0], near[1]), farthest(self, left, right)))
        return best, worst, outcome

    @property
    def closed(self) -> Any:
        """The closed form of log f(y), or None."""
        return None if self.secret.atoms else CLOSED_FORMS.get((self.secret.continuous.dist.name, self.noise.kind))

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
        best = np.where(np.isfinite(best), best, -math.log(noise.scale))  # beside a pole of the noise
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
        each, error = log_tilted(secret, sign * slope / records)
        others, span = (records - 1) * each, (secret.high - secret.low) * slope / records
        out.append(End(sign * math.inf, others, others + each, others - span, records * error))
    return out
