"""A noise distribution as a record: its log density and the few facts the theory needs of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.late import Kept
from divulge.model.entries import frozen
from divulge.noise.accumulated import isf_of, ppf_of, sf_of

LogDensity = Callable[[np.ndarray], np.ndarray]
Ratio = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Noise:
    """A noise distribution: symmetric or not, continuous or on a lattice; a constant not known is +inf or None."""

    kind: str
    parameters: dict[str, float]
    log_density: LogDensity  # or log probability of a lattice point
    cdf: LogDensity
    log_concave: bool
    slopes: tuple[float, float] | None  # how fast log f falls as z -> -inf and z -> +inf, in [0, +inf]; None: no limit
    steepest: float  # sup |(log f)'|, a Lipschitz constant
    shift_loss: Callable[[float], float]  # d -> sup_z log f(z) - log f(z + d), the local-DP epsilon of secrets d apart
    linear: bool = False  # log f is linear on either side of 0: log ratios are constant beyond the data
    quadratic: bool = False  # log f is a parabola
    attains: bool = False  # secrets d apart have log ratios of `shift_loss`(d), or tend to it, far from both of them
    reach: float = 45.0  # so many scales from 0 there is no mass that doubles can tell, for noise without `frozen`
    unimodal: bool = True  # symmetric, and falls on either side of 0: the nearest secret is the likeliest
    step: float | None = None  # of lattice noise
    frozen: Any = field(default=None, compare=False)  # scipy.stats distribution; None on a lattice or in steps
    curvature: float = math.inf  # r with |f''| <= r^2 f away from kinks
    bend: float | None = None  # r with (log f)'' >= -r^2 away from kinks
    fading: float = math.inf  # c with |(log f)'(z)| <= c / |z|, for heavy tails
    radii: Callable[[float], np.ndarray] | None = None
    """reach -> all z in [0, reach] at which a density in steps falls, and some more; None: it is continuous."""
    mode: float | None = 0.0  # f falls on either side of it; None: there are several peaks, or none is known
    made_by: tuple[Callable[..., "Noise"], tuple[Any, ...]] | None = field(default=None, compare=False)
    """What builds it again, and from which arguments; None for noise that was put together by hand."""
    read_off: bool = False  # whether these facts are read off a density, rather than proved
    log_ratio: Ratio | None = None  # (y, x, c) -> log f(y - x) - log f(y - c) with all its digits, however far y is
    terms: Ratio | None = None  # (y, x, c) -> the sizes, added up, of what `log_ratio` adds up; see `rounding`
    blurred: float | None = None  # the log density below which its own digits are lost; None where none are
    support: tuple[float, float] = (-math.inf, math.inf)  # outside it the density is 0
    peaks: tuple[float, ...] = (0.0,)  # where f is largest nearby, among them every place where it is largest
    valleys: tuple[float, ...] = ()  # where f is least nearby, inside its support
    poles: tuple[float, ...] = ()  # where f has no bound
    zeros: tuple[float, ...] = ()  # where f is 0 inside its support
    rough: tuple[float, ...] = ()  # where f has a kink, a jump or a spike, as far as that was seen
    unseen: float = 0.0  # mass of the noise that its density was not seen to have
    loc: float = 0.0  # added to the noise that everything here is about: outcomes are taken relative to it

    @property
    def gaussian(self) -> bool:
        """Whether it is Gaussian, on the line."""
        return self.quadratic and self.step is None

    @property
    def of_family(self) -> bool:
        """Whether it is of a family of this library, whose facts are proved."""
        return self.made_by is not None and not self.read_off

    @property
    def described(self) -> dict[str, float]:
        """Return the parameters, and `loc` where it is not 0."""
        return {**self.parameters, "loc": self.loc} if self.loc and "loc" not in self.parameters else self.parameters

    @property
    def everywhere(self) -> bool:
        """Whether every outcome can come from every secret."""
        return self.support == (-math.inf, math.inf)

    @Kept
    def scale(self) -> float:
        """Return its scale: a parameter of the families; of other noise, half the distance between its quartiles."""
        if self.of_family:
            return self.parameters["scale"]
        low, high = ppf_of(self.frozen)(np.array([0.25, 0.75])).tolist()
        return (high - low) / 2

    def spread(self, rare: float) -> tuple[float, float]:
        """Return the quantiles with this mass on either side, or about as rare ones where scipy finds none.

        Of quantiles that are very rare it gives infinite ones, and some on the wrong side of the median.
        """
        if self.frozen is None:
            far = self.reach * self.scale + (self.step or 0.0)
            return -far, far
        levels = np.geomspace(rare, 1e-10, 16)
        with np.errstate(all="ignore"):
            left, right = ppf_of(self.frozen)(levels), isf_of(self.frozen)(levels)
            middle = ppf_of(self.frozen)(np.array([0.5]))
        first = left[np.isfinite(left) & (left <= middle)][0]
        last = right[np.isfinite(right) & (right >= middle)][0]
        return float(first), float(last)

    def end_ratio(self, d: np.ndarray, sign: float) -> np.ndarray:
        """Return lim log f(z + sign d) - log f(z) for z -> sign inf and d >= 0."""
        assert self.slopes is not None
        slope = self.slopes[1 if sign > 0 else 0]
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.asarray(d) > 0, -slope * np.asarray(d, dtype=float), 0.0)

    def sf(self, z: np.ndarray) -> np.ndarray:
        """Return P(Z > z) without subtracting from 1."""
        if self.frozen is not None:
            with np.errstate(all="ignore"):
                return sf_of(self.frozen)(z)
        if self.step is None:  # symmetric
            return self.cdf(-z)
        with np.errstate(invalid="ignore"):
            return self.cdf(-(np.floor(z / self.step + ON_LATTICE) + 1) * self.step)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the noise was built from: its family and parameters, or the scipy.stats distribution."""
        if self.made_by is None:
            raise DivulgeError.of("noise", "be a family or a scipy.stats distribution to be pickled", "it", self.kind)
        return self.made_by

    def relative(self, y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return log f(y - x) less `reference(y, c)`."""
        return self.log_density(y - x) if self.log_ratio is None else self.log_ratio(y, x, c)

    def rounding(self, y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return a bound on the rounding error of `relative`: some ulps of its terms.

        For noise whose form is not known an estimate: ulps of the log densities, and what an ulp of y changes them by.
        """
        if self.terms is not None:
            return ULPS * np.abs(self.terms(y, x, c))
        size = np.zeros(np.broadcast_shapes(np.shape(y), np.shape(x)))
        with np.errstate(invalid="ignore", over="ignore"):
            for at in (x,) if self.log_ratio is None else (x, c):
                z = y - at
                g, near = self.log_density(z), self.log_density(z * (1 + ULPS) + ULPS * np.abs(at))
                change = np.where(np.isfinite(near), np.abs(near - g), 0.0)
                part = np.where(np.isfinite(g), ULPS * np.abs(g) + change, 0.0)
                size = size + (part if self.blurred is None else np.where(g < self.blurred, math.inf, part))
        return size

    def reference(self, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return log f(y - c), or 0 for noise without `log_ratio`."""
        if self.log_ratio is None:
            return np.zeros(np.shape(y))
        found = self.log_density(y - c)
        return np.where(np.isfinite(found), found, 0.0) if self.read_off else found

    @Kept
    def _quantiles(self) -> np.ndarray:
        levels = np.array([0.0, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
        with np.errstate(all="ignore"):
            quantiles = ppf_of(self.frozen)(np.append(levels, 0.5)), isf_of(self.frozen)(levels)
            z = np.concatenate([*quantiles, [self.mode or 0.0], self.poles, self.rough])
        return frozen(np.unique([*z[np.isfinite(z)], *self.spread(1e-17)]))

    def marks(self, reach: float) -> np.ndarray:
        """Return the z at which an integral against the density is split: its scales, and its jumps within reach."""
        near = self.scale * _SCALES if self.of_family else self._quantiles
        if self.radii is None:
            return near
        r = self.radii(min(reach, _LAST_JUMP * self.parameters["scale"]))
        return np.concatenate([near, r, -r])

    def falls(self, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (r_k, log c_k) with f(z) = sum_k c_k 1{|z| < r_k} for all |z| < reach: positive terms only."""
        assert self.radii is not None
        r = self.radii(reach)
        level = self.log_density((np.concatenate([[0.0], r[:-1]]) + r) / 2)
        with np.errstate(divide="ignore"):
            less = np.log(-np.expm1(np.diff(level)))
        return r, np.concatenate([level[:-1] + less, level[-1:]])

    def period(self) -> tuple[float, float]:
        """Return (D, epsilon) with f(z + D) = e^-epsilon f(z) for z >= 0, of noise in steps."""
        width = self.parameters["sensitivity"]
        return width, width / self.parameters["scale"]

    @property
    def far_marks(self) -> np.ndarray:
        """Return `marks`, and some out to where heavy tails matter to the last digit."""
        if math.isinf(self.fading):
            return self.marks(0.0)
        far = self.scale * np.minimum(np.geomspace(1e3, 1e18, 6), 1e300 / self.scale)
        return np.concatenate([self.marks(0.0), far, -far])


_LAST_JUMP = 36.0
"""So many scales from 0, jumps are 1e-15 of the first: integrals need not be split there."""

_SCALES = np.array([-60.0, -20.0, -8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0, 20.0, 60.0])

_LEAST, _MOST = 1e-300, 1e300
"""Scales beyond these leave no room for sums and ratios of doubles."""

ON_LATTICE = 1e-9
"""A z that is below a lattice point by no more than this share of a step counts as on it."""


def positive(value: Any, name: str) -> float:
    if not (isinstance(value, Real) and _LEAST <= float(value) <= _MOST):
        raise DivulgeError.of(name, f"be a positive number, from {_LEAST:g} to {_MOST:g}", "it", repr(value))
    return float(value)


quiet = np.errstate(over="ignore", divide="ignore")
"""What overflows in a log density is infinite, and so the density 0."""

ULPS = 8 * 2.0**-53
"""A few roundings, relative to the size of what is rounded."""


def nearer(scale: float, sign: float = -1.0) -> Ratio:
    """(|y - c| - |y - x|) / scale, beyond x and c as at the nearer of them; with sign +1 the sum of its two terms."""

    @quiet
    def ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        inside = np.clip(y, np.minimum(x, c), np.maximum(x, c))
        return (np.abs(inside - c) + sign * np.abs(inside - x)) / scale

    return ratio


def exponential_sides(b: float) -> dict[str, Any]:
    """Return the facts about noise with a density proportional to e^(-|z|/b), on the line or on a lattice."""
    facts = {"log_concave": True, "slopes": (1 / b, 1 / b), "steepest": 1 / b, "shift_loss": lambda d: d / b}
    facts |= {"linear": True, "attains": True}
    return facts | {"bend": 0.0, "log_ratio": nearer(b), "terms": nearer(b, +1.0)}


def gaussian_sides(s: float) -> dict[str, Any]:
    """Return the facts about noise with a density proportional to e^(-z^2 / (2 s^2)), on the line or on a lattice."""

    @quiet
    def log_ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        return ((x - c) / s) * ((y - c) / s + (y - x) / s) / 2

    @quiet
    def terms(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.abs((x - c) / s) * (np.abs(y - c) + np.abs(y - x)) / s

    facts = {"log_concave": True, "slopes": (math.inf, math.inf), "steepest": math.inf}
    facts |= {"shift_loss": lambda d: math.inf if d > 0 else 0.0, "quadratic": True, "reach": 12.0}
    return facts | {"bend": 1 / s, "log_ratio": log_ratio, "terms": terms}
