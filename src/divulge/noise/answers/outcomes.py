"""Leakage as a random variable under the outcome: means by quadrature, tails and quantiles by certified cells."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise import quadrature
from divulge.noise.answers.ranges import values
from divulge.noise.laws import steps
from divulge.noise.laws.choice import AnyLaw, Subject
from divulge.noise.laws.continuous import ContinuousLaw
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.integrated import log_mixture
from divulge.noise.laws.law import SIDES, Law
from divulge.noise.laws.means import MeanLaw, NormalLaw
from divulge.units import Unit, nats_per

_FAR = 1e-17
"""Mass that is left out at each end: less than half an ulp of 1, so that no sum of doubles changes by it."""
_LEVELS = np.geomspace(_FAR, 0.5, 24)
"""How rare the values of a secret are around which outcomes are taken: those of heavy tails are far apart."""

_MOST_MARKS = 40_000
"""Places that integrals are split at."""

_MOST_GIVEN = 10_000_000
"""Densities of outcomes given a secret that are looked up, for means of records under noise in steps."""

_MOST_STEPS = 2_000_000
"""Outcomes of lattice noise that are summed over: 16 MB for each array of them. Wider noise is all but continuous."""


@dataclass(frozen=True)
class Estimate:
    """A number, and how far off it may be; `value` may be +inf.

    error : float; the truth lies within `value` -+ `error`
    certified : whether `error` is proved (up to rounding), or an estimate made on the cautious side
    """

    value: float
    error: float
    certified: bool = False

    def __float__(self) -> float:
        return self.value

    @property
    def lower(self) -> float:
        """Return the lower end of the bracket; nothing measured here is below 0."""
        return max(0.0, self.value - self.error) if math.isfinite(self.value) else self.value

    @property
    def upper(self) -> float:
        """Return the upper end of the bracket."""
        return self.value + self.error

    def to(self, unit: Unit) -> "Estimate":
        """Return the estimate, so far in nats, in `unit`."""
        return Estimate(self.value / nats_per(unit), self.error / nats_per(unit), self.certified)


def reach(mechanism: Subject) -> tuple[float, float]:
    """Return an interval that holds the outcome but for about 1e-17 of its mass."""
    noise, law, secret = mechanism.noise, mechanism.law, mechanism.secret
    left, right = noise.spread(_FAR)
    low, high = law.low, law.high
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = float(secret.continuous.ppf(_FAR)), float(secret.continuous.isf(_FAR))
    return low + left, high + right


def points(mechanism: Subject) -> np.ndarray:
    """Return outcomes between which the leakage is smooth or nearly so; for lattice noise, all outcomes that matter."""
    noise, law = mechanism.noise, mechanism.law
    first, last = reach(mechanism)
    if noise.step is not None:
        if not last - first <= _MOST_STEPS * noise.step:
            hint = f"a noise this wide is {noise.kind.removeprefix('discrete-')} noise to all digits."
            condition = f"span at most {_MOST_STEPS} steps for sums over outcomes"
            raise DivulgeError.of("scale", condition, "outcomes span", f"{(last - first) / noise.step:.3g}", hint)
        steps = math.ceil((law.low - first) / noise.step)
        return law.low + noise.step * np.arange(-steps, math.ceil((last - law.low) / noise.step) + 1)
    if math.isfinite(law.low) and math.isfinite(law.high):
        low, high = law.low, law.high
    else:
        low, high = (float(v) for v in mechanism.secret.continuous.ppf([0.01, 0.99]))
    low, high = (max(first, min(end + (noise.mode or 0.0), last)) for end in (low, high))
    scale = min(noise.scale, last - first)
    coarse = 1 if isinstance(law, FiniteLaw) or getattr(law, "closed", None) else 4  # else costly: be sparing
    above, below = (np.geomspace(0.05 * scale, max(far, scale), 48 // coarse) for far in (last - high, low - first))
    parts = [np.linspace(low, high, 64 // coarse + 1), high + above, low - below]
    if isinstance(law, ContinuousLaw) and not law.bounded:
        parts.append(law.secret.continuous.ppf(_LEVELS))
        parts.append(law.secret.continuous.isf(_LEVELS))
    if isinstance(law, FiniteLaw) and not law.finer_than_noise and len(law.locations) <= _MOST_MARKS:
        parts.append(law.locations)
        parts.append((law.locations[1:] + law.locations[:-1]) / 2)  # where the best secret changes
        parts.append(_beside(law.locations, scale))
        kinks = [z for z in (*noise.support, noise.mode or 0.0, *noise.rough, *noise.poles) if math.isfinite(z) and z]
        if len(kinks) * len(law.locations) <= _MOST_MARKS:
            parts.append(np.add.outer(law.locations, kinks).ravel())
    if isinstance(law, ContinuousLaw) and law.bounded:
        parts.append(np.add.outer([law.low, law.high], [*noise.rough, *noise.poles]).ravel())
    if _repeats(law):
        parts.append(edges(law))
    if not noise.everywhere:
        parts.append(np.array([first, last]))
    y = np.unique(np.concatenate(parts))
    return y[(y >= first) & (y <= last)]


def _beside(places: np.ndarray, scale: float) -> np.ndarray:
    """Return marks on the inner sides of values that stand far apart, where narrow peaks would slip between marks."""
    gaps = np.diff(places)
    apart = gaps > 50 * scale
    if not apart.any():
        return np.zeros(0)
    sides = 2 * int(apart.sum())
    most = float(gaps.max()) / 2
    away = np.geomspace(0.05 * scale, most, min(3 * math.ceil(math.log10(most / scale)) + 6, _MOST_MARKS // sides))
    return np.concatenate([np.add.outer(places[:-1][apart], away), np.subtract.outer(places[1:][apart], away)]).ravel()


def edges(law: Law) -> np.ndarray:
    """Return where the best and the worst f(y|x) jump under noise in steps, up to a period beyond the data.

    Only the ends of that range where the secret has no density on an interval, or where jumps are too many.
    """
    assert law.noise.radii is not None
    some = steps.grid(law.noise, np.array([law.low, law.high]), _MOST_MARKS) if isinstance(law, ContinuousLaw) else None
    width = law.noise.period()[0]
    return np.array([law.low - width, law.high + width]) if some is None else some.edges


def pieces(law: Law) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (outcomes, their mass, bounds on its error), where that is all there is of outcomes.

    Noise in steps on finitely many secrets: everything is constant between jumps, and repeats beyond the data.
    """
    if not (isinstance(law, FiniteLaw) and law.everyone.steps is not None):
        return None
    jumps, log_f = law.everyone.steps
    if len(law.others.places) > 1 and log_f.size * len(law.values) > _MOST_GIVEN:
        return None
    y, length = jumps.middles.ravel(), jumps.lengths.ravel()
    blur = steps.ROUNDING * (law.high - law.low + np.abs(y))
    matter = (length > 4 * blur) & (y < law.high + jumps.width)
    y, length, blur, log_f = (a[matter] for a in (y, length, blur, log_f))
    density = np.exp(log_f) * steps.copies(law.noise, law.low, law.high, y)[0]
    mass = density * length
    return y, mass, 2 * density * blur + 1e-15 * mass


def allowance(law: AnyLaw) -> int:
    """Return at how many outcomes an integrand may be evaluated, so that it takes seconds at most."""
    if isinstance(law, MeanLaw):  # a search over the record for each
        return 6_000 if law.noise.linear else 1_500 if law.noise.log_concave else 600
    if not isinstance(law, FiniteLaw):
        periods = (law.high - law.low) / law.noise.period()[0] if _repeats(law) else 0.0
        return int(max(600, 6_000 / (1 + periods / 20)))
    if law.noise.read_off:  # densities of scipy.stats may be slow
        return 40_000
    return 400_000 if len(law.others.places) == 1 else int(max(10_000, 1_000_000 // len(law.values)))


def mean(mechanism: Subject, f: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Return E f(Y), by a sum for lattice noise and noise in steps, and else by quadrature.

    For noise in steps and a bounded secret f counts at outcomes a period beyond the data at most, for all others.
    """
    law = mechanism.law
    if (sure := pieces(law)) is not None:
        y, p, wrong = sure
        value, missed = f(y), abs(1 - math.fsum(p.tolist()))
        rounded = max(float(p @ values(law, side, y).off) for side in SIDES) if law.bounded else 0.0
        error = float(wrong @ np.abs(value)) + missed * float(np.abs(value).max()) + 1e-14 + 2 * rounded
        return Estimate(math.fsum((p * value).tolist()), error, True)
    y = points(mechanism)
    if mechanism.noise.step is not None:
        p = np.exp(law.log_density(y))
        value = f(y)
        return Estimate(math.fsum((p * value).tolist()), 1e-15 * len(y) * max(1.0, float(np.abs(value).max())))
    if _repeats(law):
        width = law.noise.period()[0]
        y = np.unique(np.clip(y, law.low - width, law.high + width))
    largest, middle = 0.0, (y[0] + y[-1]) / 2
    scale = min(mechanism.noise.scale, float(np.ptp(y)))

    def integrand(u: np.ndarray) -> np.ndarray:  # over u, y = middle + scale sinh(u): heavy tails are short in u
        nonlocal largest
        at, stretch = middle + scale * np.sinh(u.ravel()), scale * np.cosh(u.ravel())
        p = np.exp(law.log_density(at)) * _copies(law, at)[0]
        with np.errstate(invalid="ignore"):
            value = np.where(p > 0, f(at), 0.0)
        if law.noise.read_off:  # densities that are infinite at a place, where nothing else is possible
            p, value = quadrature.finite_or_zero(p), np.where(np.isnan(value), 0.0, value)
        largest = max(largest, float(np.abs(value).max(initial=0.0)))
        return (np.stack([p, p * value]) * stretch).reshape(2, *u.shape)

    # The density is integrated along with the rest: the mass that is missed, where peaks are narrower than the
    # distance between doubles, can hold at most the largest value that was met, or that a finite secret allows.
    inner = 0.0
    if not isinstance(law, FiniteLaw):  # about the mean of the error of the leakage of single outcomes
        inner = float(np.trapezoid(np.exp(law.log_density(y)) * np.minimum(law.error(y, "pml"), 1e3), y))
    value, error = quadrature.adaptive(integrand, np.arcsinh((y - middle) / scale), max(1e-11, inner), allowance(law))
    missed = abs(1.0 - float(value[0])) + float(error[0]) + law.noise.unseen
    if isinstance(law, FiniteLaw) and missed > 1e-6:
        largest = max(largest, -float(law.log_prior.min()))
    return Estimate(float(value[1]), float(error[1]) + missed * largest + 2 * inner + 1e-14 * max(1.0, largest))


def _repeats(law: AnyLaw) -> bool:
    """Whether what an outcome beyond the data leaks is the same a period further on."""
    return law.noise.radii is not None and math.isfinite(law.high - law.low)


def _copies(law: AnyLaw, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many outcomes each y stands for, in units of its density, and how far -log f rises on their mean."""
    return steps.copies(law.noise, law.low, law.high, y) if _repeats(law) else (np.ones(len(y)), np.zeros(len(y)))


def mutual_information(mechanism: Subject) -> Estimate:
    """Return I(X; Y) = E sum_x P(x | Y) log f(Y|x)/f(Y), or, with many secrets, h(Y) - h(Y | X)."""
    law = mechanism.law
    if isinstance(law, NormalLaw):
        return Estimate(math.log(law.outcome_sd / law.given_sd), 1e-15, True)
    if isinstance(law, FiniteLaw) and (len(law.values) <= 400 or mechanism.records > 1):

        def density(y: np.ndarray) -> np.ndarray:
            ratio = law.log_given(y) - law.log_outcome(y)[:, None]
            weight = np.exp(law.log_prior + ratio)
            with np.errstate(invalid="ignore"):
                return np.sum(np.where(weight > 0, weight * ratio, 0.0), axis=1)

        found = mean(mechanism, density)
        return Estimate(max(found.value, 0.0), found.error, found.certified)
    outcome = mean(mechanism, lambda y: _copies(law, y)[1] - law.log_density(y))
    given = _entropy_given(mechanism)
    return Estimate(max(outcome.value - given.value, 0.0), outcome.error + given.error)


def _entropy_given(mechanism: Subject) -> Estimate:
    """Return h(Y | X), that of the noise, and of the other records' mean where there are others."""
    noise, law = mechanism.noise, mechanism.law
    scale = noise.scale
    if isinstance(law, MeanLaw):
        middle = (law.low + law.high) / 2

        def density(y: np.ndarray) -> np.ndarray:
            log_g = law.log_given(y.ravel(), np.full(y.size, middle)) + law.log_reference(y.ravel())
            p = np.exp(log_g)
            return np.stack([p, np.where(p > 0, -p * log_g, 0.0)]).reshape(2, *y.shape)

        value, error = quadrature.adaptive(density, points(mechanism), budget=20_000)
        return Estimate(float(value[1]), float(error[1]) + 2 * float(law.error(np.array([middle]), "pml")[0]))
    if noise.step is not None:
        half = math.ceil(45 * scale / noise.step)
        g = noise.log_density(noise.step * np.arange(-half, half + 1))
        return Estimate(-math.fsum((np.exp(g) * g).tolist()), 1e-12)
    if noise.radii is not None:
        z = np.concatenate([[0.0], noise.radii(45 * scale)])
        g = noise.log_density((z[1:] + z[:-1]) / 2)
        return Estimate(-2 * math.fsum((np.exp(g) * g * np.diff(z)).tolist()), 1e-12)
    return Estimate(float(noise.frozen.entropy()), 1e-12)


def flat(y: Any) -> np.ndarray:
    """Return outcomes as a flat array; what is no number is refused."""
    try:
        return np.asarray(y, dtype=np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of("y", "hold numbers", "it", f"a {type(y).__name__}") from None


def shaped(values: np.ndarray, y: Any) -> Any:
    """Return values of a flat array in the shape of the outcomes asked about; a float for a single one."""
    return float(values[0]) if np.ndim(y) == 0 else values.reshape(np.shape(y))


def below(mechanism: Subject, y: np.ndarray, *, above: bool) -> np.ndarray:
    """Return P(Y <= y), or P(Y > y) without subtracting from 1."""
    noise, law = mechanism.noise, mechanism.law
    side = noise.sf if above else noise.cdf
    if isinstance(law, (FiniteLaw, MeanLaw)):
        found = law.everyone.mass_beside(y, above=above)
        ends = zip(law.beyond, (law.low, law.high), strict=True) if isinstance(law, FiniteLaw) else ()
        return found + sum(mass * side(y - end) for mass, end in ends if mass)
    if isinstance(law, NormalLaw):
        from scipy.stats import norm

        outcome = norm(law.mean, law.outcome_sd)
        return outcome.sf(y) if above else outcome.cdf(y)
    assert isinstance(law, ContinuousLaw)

    def log_side(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(side(y[row] - x))

    value = np.exp(log_mixture(law.secret, noise, y, np.zeros(len(y)), log_side)[0])
    for v, p in law.secret.atoms:
        value = value + p * side(y - v)
    return value
