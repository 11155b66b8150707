"""What the leakage can be between two outcomes, proved from its values there: the ground of every certified answer."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from divulge.noise.laws.continuous import ContinuousLaw
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.law import Law, Range, Side
from divulge.noise.laws.mixture import logsumexp
from divulge.noise.laws.steps import inside


@dataclass(frozen=True)
class Columns:
    """Columns of equal length, arrays or such columns themselves; picked from and joined together."""

    def __getitem__(self, at: np.ndarray | slice) -> Self:
        return type(self)(*(part[at] for part in vars(self).values()))

    def joined(self, other: Self) -> Self:
        """Return both, one after the other."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(
            *(one.joined(two) if isinstance(one, Columns) else np.concatenate([one, two]) for one, two in pairs)
        )


@dataclass(frozen=True)
class Values(Columns):
    """The leakage of outcomes y as a difference of two logs relative to noise at `center`, and a bound on its error."""

    y: np.ndarray
    above: np.ndarray  # log of the best f(y|x), or of f(y)
    below: np.ndarray  # log f(y), or log f(y|x) of k secrets that can be the worst, shape (m, k); the smallest counts
    error: np.ndarray
    center: np.ndarray
    leakage: np.ndarray
    off: np.ndarray  # bounds the error of `leakage`, which may be better known than the difference of logs


def values(law: Law, side: Side, y: np.ndarray) -> Values:
    """Return the leakage of the outcomes y."""
    outcome, error, center = law.log_outcome(y), law.error(y, side), law.center(y)
    above, below = (law.log_best(y)[0], outcome[:, None]) if side == "pml" else (outcome, law.log_worsts(y))
    lowest = below.min(axis=1)
    error = error + law.rounding(y, above, lowest)
    direct = law.direct(y, side)
    with np.errstate(invalid="ignore"):
        leak, off = (np.maximum(above - lowest, 0.0), error) if direct is None else direct
    if law.noise.poles:
        mass = law.log_mass_at_poles(y)
        ruled_out = (mass < 0) & np.isfinite(mass)  # of a single outcome, as others near it tend to
        limit = -mass if side == "pml" else np.where(ruled_out, math.inf, leak)
        leak, off = np.where(np.isnan(mass), leak, limit), np.where(np.isnan(mass), off, 0.0)
    return Values(y, above, below, error, center, leak, off)


def leakage(law: Law, side: Side, y: np.ndarray) -> np.ndarray:
    """Return pml or pmc at each y."""
    return values(law, side, y).leakage


def between(law: Law, side: Side, left: Values, mid: Values, right: Values) -> Range | None:
    """Return (least, most) of the leakage on each interval [left.y, right.y]; None when nothing is known of the noise.

    Several proofs may apply; the narrowest range counts.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        ranges = [way(law, side, left, mid, right) for applies, way in WAYS if applies(law, side)]
        if not ranges:
            return None
        error = np.maximum(np.maximum(left.error, right.error), mid.error)
        least = np.fmax.reduce([np.full(len(error), -math.inf), *(low for low, _ in ranges)]) - 3 * error
        most = np.fmin.reduce([np.full(len(error), math.inf), *(high for _, high in ranges)]) + 3 * error
    return np.where(np.isnan(least), -math.inf, least), np.where(np.isnan(most), math.inf, most)


def _based(v: Values, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return v.above - base, v.below - base[:, None]


def _by_order(law: Law, side: Side, left: Values, right: Values) -> Range:
    """Log-concave noise: f(y|x)/g(y - high) falls and f(y|x)/g(y - low) rises with y, for every x and so for f(y)."""

    def logs(v: Values, end: float) -> tuple[np.ndarray, np.ndarray]:
        return _based(v, law.noise.relative(v.y, np.full(len(v.y), end), v.center))

    (above, below), (above_right, below_right) = logs(left, law.high), logs(right, law.high)  # both fall
    least, most = above_right - below.min(axis=1), above - below_right.min(axis=1)
    (above, below), (above_right, below_right) = logs(left, law.low), logs(right, law.low)  # both rise
    return (np.maximum(least, above - below_right.min(axis=1)), np.minimum(most, above_right - below.min(axis=1)))


def _by_slope(law: Law, side: Side, left: Values, right: Values) -> Range:
    """Noise with |(log f)'| <= K: every log f(y|x) and log f(y) is K-Lipschitz, their difference 2K-Lipschitz.

    Where |(log f)'(z)| <= c/|z|, outcomes at a distance d from the data leak at most c (high - low) / d.
    """
    middle = (left.above - left.below.min(axis=1) + right.above - right.below.min(axis=1)) / 2
    reach = law.noise.steepest * (right.y - left.y)
    distance = np.maximum(np.maximum(left.y - law.high, law.low - right.y), 0.0)
    with np.errstate(divide="ignore"):
        most = law.noise.fading * (law.high - law.low) / distance
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, most)


def _by_bend(law: Law, side: Side, left: Values, mid: Values, right: Values) -> Range:
    """Noise with (log f)'' >= -r^2: log f(y|x) + (r y)^2/2 is convex in y for every x, and so for f(y) and the best.

    A convex function lies below its chords and above the lines on which chords are extended. Of two such functions
    A and B that gives the range of A - B over an interval; what is added to both, or is linear in y, does not matter.
    """
    noise, c = law.noise, mid.center

    def logs(v: Values) -> tuple[np.ndarray, np.ndarray]:
        return _based(v, np.where(v.center == c, 0.0, noise.relative(v.y, c, v.center)))

    (a, b), (a_mid, b_mid), (a_right, b_right) = logs(left), logs(mid), logs(right)
    if not (noise.linear or noise.quadratic):  # else that plus (r y)^2/2 is linear on either side of 0
        sag = noise.log_density(mid.y - c) - (noise.log_density(left.y - c) + noise.log_density(right.y - c)) / 2
        sag = sag - ((noise.bend or 0.0) * (right.y - left.y)) ** 2 / 8
        a_mid, b_mid = a_mid + sag, b_mid + sag[:, None]
    a, a_mid, a_right = a[:, None], a_mid[:, None], a_right[:, None]
    most = np.maximum(a_mid - b_mid, np.maximum(a - 2 * b_mid + b_right, a_right - 2 * b_mid + b))
    least = np.minimum(a_mid - b_mid, np.minimum(2 * a_mid - a_right - b, 2 * a_mid - a - b_right))
    lowest, highest = least.max(axis=1), most.max(axis=1)
    halved = np.abs((mid.y - left.y) - (right.y - mid.y)) <= 1e-9 * (right.y - left.y)  # not always so on a lattice
    off = np.where(halved, 4 * _kinks(law, left, mid, right) if noise.linear else 0.0, math.inf)
    return lowest - off, highest + off


def _kinks(law: Law, left: Values, mid: Values, right: Values) -> np.ndarray:
    """Return how far at most a log density of Laplace noise is from a log-convex function inside an interval.

    Locations outside it give log-linear functions. Those inside, of mass m, give something between m e^{-h/b} and m
    (over 2b) for an interval of length h, which is a constant but for m (1 - e^{-h/b}).
    """
    b, length = law.noise.parameters["scale"], right.y - left.y
    mass = law.mass_between(left.y, right.y)
    logs = [np.minimum(v.above, v.below.min(axis=1)) - np.abs(v.y - v.center) / b for v in (left, mid, right)]
    least = np.minimum.reduce(logs)
    with np.errstate(over="ignore", divide="ignore"):
        share = np.exp(np.log(-np.expm1(-length / b) * mass) - least + length / b)
    return np.where(mass > 0, np.nan_to_num(share, nan=math.inf, posinf=math.inf), 0.0)


def _by_steps(law: FiniteLaw | ContinuousLaw, side: Side, left: Values, mid: Values, right: Values) -> Range:
    """Return the range on an interval, for noise in steps, by both of its halves."""
    return _either(_by_half_steps(law, side, left, mid, right), _by_half_steps(law, side, right, mid, left))


def _by_half_steps(law: FiniteLaw | ContinuousLaw, side: Side, one: Values, mid: Values, other: Values) -> Range:
    """Noise in steps, for y from `one` to `mid`: P(|y - X| < r) is bounded by masses of X; `other` is beyond `mid`.

    A density with one peak is least at an end, and most at `mid` if it is larger still at `other`.
    """
    ends = np.minimum(one.y, mid.y), np.maximum(one.y, mid.y)
    best, worst, (least, most) = law.between(*inside(law.low, law.high, *ends))
    if law.one_peak:
        first, last, beyond = (v.below[:, 0] if side == "pml" else v.above for v in (one, mid, other))
        error = 4e-15 + np.maximum.reduce([one.error, mid.error, other.error])
        least = np.maximum(least, np.minimum(first, last))
        most = np.where(beyond > last + 2 * error, np.minimum(most, last), most)
    if side == "pml":
        return best[0] - most, best[1] - least
    return least - worst[1], most - worst[0]


def one_by_one(law: Law) -> bool:
    """Whether each of few secrets is a place of its own under noise of one peak."""
    if not (isinstance(law, FiniteLaw) and law.bounded and law.noise.mode is not None):
        return False
    return len(law.others.places) == 1 and len(law.values) <= _MOST_SINGLE


def _by_peak(law: Law, side: Side, left: Values, right: Values) -> Range:
    """Noise of one peak: over an interval a density is least at an end, and most there or at the peak.

    The best secret is among those that can be; pml(y) is at most -log P(x) of it.
    """
    assert isinstance(law, FiniteLaw)
    noise, x = law.noise, law.locations_of_values
    ends = [noise.log_density(v.y[:, None] - x) for v in (left, right)]
    mode = noise.mode or 0.0
    inside = (left.y[:, None] - x <= mode) & (mode <= right.y[:, None] - x)
    peak = float(noise.log_density(np.array([mode]))[0])
    low, high = np.minimum(*ends), np.where(inside, peak, np.maximum(*ends))
    outcome = [logsumexp(law.log_prior + g) for g in (low, high)]
    if side == "pml":
        least, most = low.max(axis=1) - outcome[1], high.max(axis=1) - outcome[0]
        candidate = high >= low.max(axis=1, keepdims=True)
        most = np.fmin(most, np.where(candidate, -law.log_prior, 0.0).max(axis=1))
    else:
        least, most = outcome[0] - high.min(axis=1), outcome[1] - low.min(axis=1)
    possible = outcome[1] > -math.inf
    return np.where(possible, least, 0.0), np.where(possible, most, 0.0)


_MOST_SINGLE = 256
"""Up to so many secrets are bounded one by one."""


def _either(one: Range, other: Range) -> Range:
    """Return the range of what is in one range or the other."""
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def _halved(way: Callable[[Law, Side, Values, Values], Range]) -> Callable[..., Range]:
    """Return the way that looks at the two halves of an interval one by one."""

    def both(law: Law, side: Side, left: Values, mid: Values, right: Values) -> Range:
        return _either(way(law, side, left, mid), way(law, side, mid, right))

    return both


def _knows_steps(law: Law, side: Side) -> bool:
    return law.noise.radii is not None and isinstance(law, (FiniteLaw, ContinuousLaw)) and law.bounded


WAYS: tuple[tuple[Callable[[Law, Side], bool], Callable[[Any, Side, Values, Values, Values], Range]], ...] = (
    (lambda law, side: law.noise.log_concave and law.bounded, _halved(_by_order)),
    (lambda law, side: math.isfinite(law.noise.steepest), _halved(_by_slope)),
    (lambda law, side: law.noise.bend is not None and (side == "pml" or law.worsts_are_all), _by_bend),
    (lambda law, side: law.noise.read_off and not law.noise.log_concave and one_by_one(law), _halved(_by_peak)),
    (_knows_steps, _by_steps),
)
"""(when it applies, the range of the leakage between outcomes, given it at both ends and in between)."""
