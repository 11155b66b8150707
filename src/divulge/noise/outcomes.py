"""Leakage as a random variable under the outcome: tails, quantiles, means. Computed by quadrature, with its error."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise import quadrature
from divulge.noise.law import ContinuousLaw, FiniteLaw, NormalLaw
from divulge.noise.quadrature import log_mixture
from divulge.noise.search import Side, leakage
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from divulge.noise.mechanism import NoiseMechanism

_FAR = 1e-17
_MOST_MARKS = 400
_MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class Estimate:
    """A number from quadrature, and a bound or estimate of its absolute error; `value` may be +inf."""

    value: float
    error: float

    def __float__(self) -> float:
        return self.value

    def to(self, unit: Unit) -> "Estimate":
        """Return the estimate, so far in nats, in `unit`."""
        return Estimate(self.value / nats_per(unit), self.error / nats_per(unit))


def reach(mechanism: "NoiseMechanism") -> tuple[float, float]:
    """Return an interval that holds the outcome but for about 1e-17 of its mass."""
    noise, law, secret = mechanism.noise, mechanism.law, mechanism.secret
    out = float(noise.frozen.isf(_FAR)) if noise.frozen is not None else 45.0 * noise.parameters["scale"]
    if noise.kind == "discrete-gaussian":
        out = 12.0 * noise.parameters["scale"] + noise.parameters["step"]
    low, high = law.low, law.high
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = float(secret.continuous.ppf(_FAR)), float(secret.continuous.isf(_FAR))
    return low - out, high + out


def points(mechanism: "NoiseMechanism") -> np.ndarray:
    """Return outcomes between which the leakage is smooth or nearly so; for lattice noise, all outcomes that matter."""
    noise, law = mechanism.noise, mechanism.law
    first, last = reach(mechanism)
    if noise.step is not None:
        if not last - first <= _MOST_STEPS * noise.step:
            raise DivulgeError.of(
                "scale", f"span at most {_MOST_STEPS} steps for sums over outcomes", "outcomes span",
                f"{(last - first) / noise.step:.3g}", f"a noise this wide is {noise.kind[9:]} noise to all digits.",
            )  # fmt: skip
        steps = math.ceil((law.low - first) / noise.step)
        return law.low + noise.step * np.arange(-steps, math.ceil((last - law.low) / noise.step) + 1)
    low, high = max(law.low, first), min(law.high, last)
    scale = min(noise.parameters.get("scale", 1.0), last - first)
    coarse = 4 if isinstance(law, ContinuousLaw) and not law.closed else 1  # an integral for each outcome: be sparing
    inner = np.linspace(low, high, 64 // coarse + 1)
    outer = np.geomspace(0.05 * scale, max(last - high, scale), 48 // coarse)
    parts = [inner, high + outer, low - outer]
    if isinstance(law, FiniteLaw) and len(law.locations) <= _MOST_MARKS:
        parts.append(law.locations)
        if noise.jumps is not None:
            parts.append((law.locations[:, None] + noise.jumps(last - first)[None, :]).ravel())
    y = np.unique(np.concatenate(parts))
    return y[(y >= first) & (y <= last)]


def integral(mechanism: "NoiseMechanism", f: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Return E f(Y) with a bound on the quadrature error."""
    y = points(mechanism)
    if mechanism.noise.step is not None:
        p = np.exp(mechanism.law.log_density(y))
        return Estimate(math.fsum((p * f(y)).tolist()), 1e-15 * len(y))

    largest = 0.0

    def integrand(at: np.ndarray, row: np.ndarray) -> np.ndarray:
        nonlocal largest
        flat, row = at.ravel(), np.broadcast_to(row, at.shape).ravel()
        p, wanted = np.exp(mechanism.law.log_density(flat)), row == 1
        value = np.ones(len(flat))
        value[wanted] = f(flat[wanted])
        with np.errstate(invalid="ignore"):
            weighted = np.where(p > 0, p * value, 0.0)
        largest = max(largest, float(np.abs(value[p > 0]).max(initial=0.0)))
        return weighted.reshape(at.shape)

    # The density is integrated along with the rest: the mass that is missed, where peaks are narrower than the
    # distance between doubles, can hold at most the largest value that was met.
    value, error = quadrature.integrals(integrand, np.broadcast_to(y, (2, len(y))), tolerance=1e-11)
    missed = abs(1.0 - float(value[0])) + float(error[0])
    return Estimate(float(value[1]), float(error[1]) + missed * largest + 1e-14)


def mean(mechanism: "NoiseMechanism", f: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Return the mean of a function of the outcome."""
    return integral(mechanism, f)


def mutual_information(mechanism: "NoiseMechanism") -> Estimate:
    """Return I(X; Y) = E sum_x P(x | Y) log f(Y|x)/f(Y), or h(Y) - h(Z) for a secret with a density."""
    law = mechanism.law
    if isinstance(law, NormalLaw):
        return Estimate(math.log(law.outcome_sd / law.given_sd), 0.0)
    if isinstance(law, FiniteLaw) and (len(law.values) <= _MOST_MARKS or mechanism.records > 1):

        def density(y: np.ndarray) -> np.ndarray:
            ratio = law.log_given(y) - law.log_outcome(y)[:, None]
            weight = np.exp(law.log_prior + ratio)
            with np.errstate(invalid="ignore"):
                return np.sum(np.where(weight > 0, weight * ratio, 0.0), axis=1)

        value = integral(mechanism, density)
        return Estimate(max(value.value, 0.0), value.error + 2 * law.slack * min(law.noise.steepest, 1e300))
    outcome = integral(mechanism, lambda y: -law.log_density(y))
    noise = mechanism.noise
    if noise.step is not None:
        half = math.ceil(45 * noise.parameters["scale"] / noise.step)
        g = noise.log_density(noise.step * np.arange(-half, half + 1))
        return Estimate(outcome.value + math.fsum((np.exp(g) * g).tolist()), outcome.error + 1e-12)
    if noise.kind == "staircase":
        z = np.concatenate([noise.jumps(45 * noise.parameters["scale"]) if noise.jumps else []])
        middle, width = (z[1:] + z[:-1]) / 2, np.diff(z)
        g = noise.log_density(middle)
        return Estimate(outcome.value + math.fsum((np.exp(g) * g * width).tolist()), outcome.error + 1e-12)
    return Estimate(outcome.value - float(noise.frozen.entropy()), outcome.error)


def cdf(mechanism: "NoiseMechanism", y: Any) -> Any:
    """Return P(Y <= y); shape of `y`."""
    flat = np.atleast_1d(np.asarray(y, dtype=np.float64)).ravel()
    if np.isnan(flat).any():
        raise DivulgeError.of("y", "hold numbers", "an outcome", "NaN")
    value = _below(mechanism, flat, above=False)
    return float(value[0]) if np.ndim(y) == 0 else value.reshape(np.shape(y))


def _below(mechanism: "NoiseMechanism", y: np.ndarray, *, above: bool) -> np.ndarray:
    """Return P(Y <= y), or P(Y > y) without subtracting from 1."""
    noise, law = mechanism.noise, mechanism.law
    if noise.step is not None:
        side: Callable[[np.ndarray], np.ndarray] = (lambda z: 1 - noise.cdf(z)) if above else noise.cdf
    elif noise.frozen is not None:
        side = noise.frozen.sf if above else noise.frozen.cdf
    else:
        side = (lambda z: noise.cdf(-z)) if above else noise.cdf
    if isinstance(law, FiniteLaw):
        weights = np.exp(law.log_all)
        return np.array([float(weights @ side(v - law.all_locations)) for v in y])
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


def tail(mechanism: "NoiseMechanism", threshold: float, side: Side) -> Estimate:
    """Return P(leakage(Y) > threshold): the outcomes above it lie between crossings, found by bisection."""
    if not threshold == threshold:
        raise DivulgeError.of("threshold", "be a number", "it", "NaN")
    if threshold < 0:
        return Estimate(1.0, 0.0)
    y, value = _table(mechanism, side)
    high = value > threshold + 4e-15 * max(1.0, threshold)  # values that are constant far out, such as the supremum
    if mechanism.noise.step is not None:
        p = np.exp(mechanism.law.log_density(y))
        return Estimate(min(1.0, math.fsum(p[high].tolist())), 1e-15)
    turn = np.flatnonzero(high[1:] != high[:-1])
    crossings = _crossings(mechanism, side, threshold, y[turn], y[turn + 1])
    edges = np.concatenate([[-math.inf], crossings, [math.inf]])
    starts_high = bool(high[0])
    center = float(np.median(y))
    total, inside = 0.0, [i for i in range(len(edges) - 1) if (i % 2 == 0) == starts_high]
    for i in inside:
        a, b = edges[i], edges[i + 1]
        if b == math.inf and a == -math.inf:
            total += 1.0
        elif b == math.inf or a > center:
            total += _at(mechanism, a, above=True) - (_at(mechanism, b, above=True) if b < math.inf else 0.0)
        else:
            total += _at(mechanism, b, above=False) - (_at(mechanism, a, above=False) if a > -math.inf else 0.0)
    return Estimate(min(1.0, max(0.0, total)), 1e-11)


def _crossings(
    mechanism: "NoiseMechanism", side: Side, threshold: float, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Return the outcomes in the brackets [left, right] at which the leakage crosses the threshold."""
    from scipy.optimize.elementwise import find_root

    if not len(left):
        return left

    def above(y: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.clip(leakage(mechanism.law, side, y)[0].reshape(np.shape(y)) - threshold, -1e9, 1e9)

    tolerance = {"xatol": 1e-13, "xrtol": 1e-13, "fatol": 0.0, "frtol": 0.0}
    found = find_root(above, (left, right), tolerances=tolerance, maxiter=80)
    return np.atleast_1d(found.x)


def _at(mechanism: "NoiseMechanism", y: float, *, above: bool) -> float:
    return float(_below(mechanism, np.array([y]), above=above)[0])


def _table(mechanism: "NoiseMechanism", side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return (outcomes, leakage) on a grid fine enough to see every crossing; kept on the mechanism."""
    kept: dict[str, Any] = mechanism.__dict__.setdefault("_tables", {})
    if side not in kept:
        y = points(mechanism)
        if mechanism.noise.step is None:
            fine = 8
            share = np.arange(fine) / fine
            y = np.unique(np.concatenate([(y[:-1, None] + np.diff(y)[:, None] * share).ravel(), y[-1:]]))
        kept[side] = (y, leakage(mechanism.law, side, y)[0])
    return kept[side]


def quantile(mechanism: "NoiseMechanism", p: float, side: Side) -> float:
    """Return the smallest v with P(leakage(Y) <= v) >= p, to 1e-9; +inf when only the supremum's +inf reaches it."""
    if not 0 <= p <= 1:
        raise DivulgeError.of("p", "be in [0, 1]", "it", str(p))
    top = mechanism.pml_supremum.upper if side == "pml" else mechanism.pmc_supremum.upper
    if p == 1:
        return top
    low, high = 0.0, top
    if math.isinf(high):
        high = float(_table(mechanism, side)[1].max())
    if tail(mechanism, 0.0, side).value <= 1 - p:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if tail(mechanism, middle, side).value <= 1 - p:
            high = middle
        else:
            low = middle
        if high - low <= 1e-9 * max(1.0, high):
            break
    return high
