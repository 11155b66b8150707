"""Noise distributions as a table: each family is its log density and the few facts the theory needs of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require

LogDensity = Callable[[np.ndarray], np.ndarray]
Ratio = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Noise:
    """A noise distribution: symmetric or not, continuous or on a lattice.

    Attributes
    ----------
    kind : str
        Name in the table, such as "laplace".
    parameters : dict
        What the family was built with, such as {"scale": 1.0}.
    log_density : function of z, vectorized
        Log density, or log probability of the lattice point z.
    cdf : function of z, vectorized
        P(Z <= z).
    frozen : scipy.stats distribution or None
        For what needs more (sampling, entropy); None for lattice noise.
    log_concave : bool
        Then likelihood ratios are monotone in y, and the search over y is certified.
    slopes : (left, right), or None
        How fast the log density falls in the end as z -> -inf and z -> +inf, in [0, +inf]; None: there is no limit.
    steepest : float
        sup |(log f)'|: a Lipschitz constant; +inf when unbounded or unknown.
    shift_loss : function of d >= 0
        sup_z log f(z) - log f(z + d): the local-DP epsilon of two secrets a distance d apart.
    unimodal : bool
        Symmetric, and falls on either side of 0: the nearest secret is the likeliest.
    step : float or None
        Lattice step of discrete noise.
    """

    kind: str
    parameters: dict[str, float]
    log_density: LogDensity
    cdf: LogDensity
    log_concave: bool
    slopes: tuple[float, float] | None
    steepest: float
    shift_loss: Callable[[float], float]
    unimodal: bool = True
    step: float | None = None
    frozen: Any = field(default=None, compare=False)
    curvature: float = math.inf
    """r with |f''| <= r^2 f away from kinks; +inf when there is none or none is known."""
    bend: float | None = None
    """r with (log f)'' >= -r^2 away from kinks; None when there is none or none is known."""
    fading: float = math.inf
    """c with |(log f)'(z)| <= c / |z|, for heavy tails; +inf when there is none or none is known."""
    radii: Callable[[float], np.ndarray] | None = None
    """All z in [0, reach] at which the density falls, and some more, given the reach; None: it is continuous.

    Between them it is constant, so f = sum_k c_k 1{|z| < r_k}: see `falls`.
    """
    mode: float | None = 0.0
    """The density falls on either side of it; None: there are several peaks, or none is known."""
    read_off: bool = False
    """Whether these facts are read off a density, rather than proved."""
    log_ratio: Ratio | None = None
    """(y, x, c) -> log f(y - x) - log f(y - c) with all its digits however far y is; None: there is no such form."""

    @property
    def scale(self) -> float:
        """Return its scale: a parameter of the families; of other noise, half the distance between its quartiles."""
        if self.kind in FAMILIES:
            return self.parameters["scale"]
        return float(self.frozen.ppf(0.75) - self.frozen.ppf(0.25)) / 2

    def spread(self, rare: float) -> tuple[float, float]:
        """Return the quantiles with this mass on either side, or about as rare ones where scipy finds them infinite."""
        if self.frozen is None:
            far = 45.0 * self.scale if self.kind != "discrete-gaussian" else 12.0 * self.scale + (self.step or 0.0)
            return -far, far
        levels = np.geomspace(rare, 1e-10, 16)
        with np.errstate(all="ignore"):
            ends = self.frozen.ppf(levels), self.frozen.isf(levels)
        left, right = (float(end[np.isfinite(end)][0]) for end in ends)
        return left, right

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
                return self.frozen.sf(z)
        if self.step is None:  # symmetric
            return self.cdf(-z)
        with np.errstate(invalid="ignore"):
            return self.cdf(-(np.floor(z / self.step + _ON_LATTICE) + 1) * self.step)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the noise was built from: its family and parameters, or the scipy.stats distribution."""
        if self.kind in FAMILIES:
            return _rebuilt, (self.kind, self.parameters)
        if self.frozen is None:
            raise DivulgeError.of("noise", "be a family or a scipy.stats distribution to be pickled", "it", self.kind)
        return as_noise, (self.frozen,)

    def relative(self, y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return log f(y - x) less `reference(y, c)`."""
        return self.log_density(y - x) if self.log_ratio is None else self.log_ratio(y, x, c)

    def reference(self, y: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return log f(y - c), or 0 for noise without `log_ratio`."""
        return np.zeros(np.shape(y)) if self.log_ratio is None else self.log_density(y - c)

    @property
    def _quantiles(self) -> np.ndarray:
        levels = np.array([0.0, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
        with np.errstate(all="ignore"):
            z = np.concatenate([self.frozen.ppf([*levels, 0.5]), self.frozen.isf(levels), [self.mode or 0.0]])
        return np.unique([*z[np.isfinite(z)], *self.spread(1e-17)])

    def marks(self, reach: float) -> np.ndarray:
        """Return the z at which an integral against the density is split: its scales, and its jumps within reach."""
        near = self.scale * _SCALES if self.kind in FAMILIES else self._quantiles
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

_ON_LATTICE = 1e-9
"""A z that is below a lattice point by no more than this share of a step counts as on it."""


def _positive(value: Any, name: str) -> float:
    if not (isinstance(value, Real) and _LEAST <= float(value) <= _MOST):
        raise DivulgeError.of(name, f"be a positive number, from {_LEAST:g} to {_MOST:g}", "it", repr(value))
    return float(value)


_quiet = np.errstate(over="ignore", divide="ignore")
"""What overflows in a log density is infinite, and so the density 0."""


def _nearer(scale: float) -> Ratio:
    """(|y - c| - |y - x|) / scale; outside the interval between x and c that is the same as at its end."""

    @_quiet
    def ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        inside = np.clip(y, np.minimum(x, c), np.maximum(x, c))
        return (np.abs(inside - c) - np.abs(inside - x)) / scale

    return ratio


@_quiet
def _nearer_squared(y: np.ndarray, x: np.ndarray, c: np.ndarray, scale: float) -> np.ndarray:
    """((y - c)^2 - (y - x)^2) / scale^2."""
    return ((x - c) / scale) * ((y - c) / scale + (y - x) / scale)


def laplace(scale: float) -> Noise:
    """Return Laplace noise of scale b > 0: density exp(-|z|/b) / 2b, epsilon = d/b for secrets a distance d apart.

    References
    ----------
    Dwork, McSherry, Nissim, Smith, "Calibrating Noise to Sensitivity in Private Data Analysis", 2006.

    Examples
    --------
    >>> laplace(2.0).shift_loss(3.0)
    1.5
    """
    b = _positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "laplace",
        {"scale": b},
        _quiet(lambda z: -np.abs(z) / b - math.log(2 * b)),
        stats.laplace(scale=b).cdf,
        True,
        (1 / b, 1 / b),
        1 / b,
        lambda d: d / b,
        frozen=stats.laplace(scale=b),
        curvature=1 / b,
        bend=0.0,
        log_ratio=_nearer(b),
    )


def gaussian(scale: float) -> Noise:
    """Return Gaussian noise of standard deviation sigma > 0: no finite epsilon for secrets that differ.

    Examples
    --------
    >>> gaussian(1.0).shift_loss(0.1)
    inf
    """
    s = _positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "gaussian",
        {"scale": s},
        _quiet(lambda z: -0.5 * (z / s) ** 2 - math.log(s) - 0.5 * math.log(2 * math.pi)),
        stats.norm(scale=s).cdf,
        True,
        (math.inf, math.inf),
        math.inf,
        lambda d: math.inf if d > 0 else 0.0,
        frozen=stats.norm(scale=s),
        bend=1 / s,
        log_ratio=lambda y, x, c: _nearer_squared(y, x, c, s) / 2,
    )


def logistic(scale: float) -> Noise:
    """Return logistic noise of scale s > 0: density exp(-z/s) / (s (1 + exp(-z/s))^2), epsilon = d/s.

    Examples
    --------
    >>> logistic(2.0).shift_loss(3.0)
    1.5
    """
    s = _positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "logistic",
        {"scale": s},
        _quiet(lambda z: -np.abs(z) / s - math.log(s) - 2 * np.log1p(np.exp(-np.abs(z) / s))),
        stats.logistic(scale=s).cdf,
        True,
        (1 / s, 1 / s),
        1 / s,
        lambda d: d / s,
        frozen=stats.logistic(scale=s),
        curvature=1 / s,
        bend=math.sqrt(0.5) / s,
        log_ratio=_quiet(
            lambda y, x, c: (
                _nearer(s)(y, x, c) - 2 * (np.log1p(np.exp(-np.abs(y - x) / s)) - np.log1p(np.exp(-np.abs(y - c) / s)))
            )
        ),
    )


def student_t(scale: float, df: float = 3.0) -> Noise:
    """Return Student-t noise with `df` degrees of freedom and scale s > 0: polynomial tails, never log-concave.

    Examples
    --------
    >>> import math
    >>> round(student_t(1.0, df=1.0).shift_loss(1.0), 6)  # 2 log of the golden ratio
    0.962424
    """
    s, nu = _positive(scale, "scale"), _positive(df, "df")
    stats = require("scipy.stats", "science")
    frozen = stats.t(nu, scale=s)
    log_norm = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi) - math.log(s)

    def shift_loss(d: float) -> float:
        d = d / s
        z = 2 * nu / (d + math.hypot(d, 2 * math.sqrt(nu)))
        ratio = d * ((2 * z + d) / (nu + z * z))
        return 0.5 * (nu + 1) * (math.log1p(ratio) if ratio < math.inf else 2 * math.log(d) - math.log(nu))

    @_quiet
    def log_ratio(y: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        near, far = (np.hypot(math.sqrt(nu), (y - at) / s) for at in (c, x))  # hypot: squares overflow
        excess = ((x - c) / s / far) * ((y - c) / s / far + (y - x) / s / far)
        alike = np.abs(excess) < 0.5
        return 0.5 * (nu + 1) * np.where(alike, np.log1p(np.where(alike, excess, 0.0)), 2 * np.log(near / far))

    return Noise(
        "student-t",
        {"scale": s, "df": nu},
        _quiet(lambda z: log_norm - (nu + 1) * np.log(np.hypot(1.0, z / (s * math.sqrt(nu))))),
        frozen.cdf,
        False,
        (0.0, 0.0),
        (nu + 1) / (2 * math.sqrt(nu) * s),
        shift_loss,
        frozen=frozen,
        curvature=math.sqrt((nu + 1) / nu * max(1.0, (nu + 2) ** 2 / (4 * (nu + 3)))) / s,
        fading=nu + 1,
        bend=math.sqrt((nu + 1) / nu) / s,
        log_ratio=log_ratio,
    )


_LARGEST_EPSILON, _MOST_STEPS = 600.0, 10_000.0
"""Largest epsilon of staircase noise whose weights are doubles, and the most steps within one scale."""


def staircase(scale: float, sensitivity: float = 1.0, gamma: float | None = None) -> Noise:
    """Return staircase noise for `sensitivity` D with epsilon = D / scale: steps of width D.

    On [k D, (k + gamma) D) the density is a e^{-k eps}, on [(k + gamma) D, (k + 1) D) it is a e^{-(k+1) eps}; `gamma`
    is 1 / (1 + e^{eps/2}) when not given.

    References
    ----------
    Geng, Viswanath, "The Optimal Mechanism in Differential Privacy", 2014.

    Examples
    --------
    >>> staircase(2.0, sensitivity=1.0).shift_loss(1.0)
    0.5
    """
    s, width = _positive(scale, "scale"), _positive(sensitivity, "sensitivity")
    epsilon = width / s
    if not 1 / _MOST_STEPS <= epsilon <= _LARGEST_EPSILON:
        raise DivulgeError.of(
            "scale", f"be between 1/{_LARGEST_EPSILON:g} and {_MOST_STEPS:g} times the sensitivity", "it", f"{s:g}"
        )
    share = math.exp(-epsilon / 2) / (1 + math.exp(-epsilon / 2)) if gamma is None else float(gamma)
    if not 0 <= share <= 1:
        raise DivulgeError.of("gamma", "be in [0, 1]", "it", repr(gamma))
    log_norm = (
        math.log(-math.expm1(-epsilon)) - math.log(2 * width) - math.log(share + math.exp(-epsilon) * (1 - share))
    )

    def log_density(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.abs(z) / width)
        return log_norm - epsilon * (k + (np.abs(z) - k * width >= share * width))

    def cdf(z: np.ndarray) -> np.ndarray:
        """Beyond |z| lies what is left of its period, and e^-eps / 2 of the mass of that and all later periods."""
        a = np.minimum(np.abs(np.asarray(z, dtype=float)), 1e300)
        k = np.floor(a / width)
        rest = np.clip(a - k * width, 0, width)
        left = np.maximum(share * width - rest, 0) + math.exp(-epsilon) * (width - np.maximum(rest, share * width))
        tail = np.exp(-epsilon * k) * (math.exp(log_norm) * left + 0.5 * math.exp(-epsilon))
        return np.where(np.asarray(z) >= 0, 1 - tail, tail)

    def radii(reach: float) -> np.ndarray:
        if not reach / width <= 100 * _MOST_STEPS:
            raise DivulgeError.of(
                "sensitivity", f"go into the range at most {100 * _MOST_STEPS:g} times", "it", f"{width:g}"
            )
        return (share + np.arange(math.ceil(reach / width) + 2)) * width

    return Noise(
        "staircase",
        {"scale": s, "sensitivity": width, "gamma": share},
        log_density,
        cdf,
        False,
        None,
        math.inf,
        lambda d: epsilon * math.ceil(d / width - 1e-12),
        radii=radii,
    )


def discrete_laplace(scale: float, step: float = 1.0) -> Noise:
    """Return discrete Laplace (two-sided geometric) noise on multiples of `step`: P(z) proportional to exp(-|z|/scale).

    References
    ----------
    Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", 2009.

    Examples
    --------
    >>> round(float(np.exp(discrete_laplace(1 / np.log(2)).log_density(np.zeros(1)))[0]), 6)
    0.333333
    """
    b, h = _positive(scale, "scale"), _positive(step, "step")
    log_norm = math.log(math.tanh(h / (2 * b)))

    def cdf(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.asarray(z, dtype=float) / h + _ON_LATTICE)
        low = np.exp(-np.maximum(-k, 0) * h / b - math.log1p(math.exp(-h / b)))
        high = np.exp(-(np.maximum(k, 0) + 1) * h / b - math.log1p(math.exp(-h / b)))
        return np.where(k < 0, low, 1 - high)

    return Noise(
        "discrete-laplace",
        {"scale": b, "step": h},
        lambda z: log_norm - np.abs(z) / b,
        cdf,
        True,
        (1 / b, 1 / b),
        1 / b,
        lambda d: d / b,
        step=h,
        bend=0.0,
        log_ratio=_nearer(b),
    )


_WIDE = 5000.0
"""From so many steps per standard deviation on, sums over the lattice are integrals to all digits."""


def _narrow_lattice_cdf(masses: np.ndarray, reach: int, h: float) -> LogDensity:
    below = np.concatenate([[0.0], np.cumsum(masses)])

    def cdf(z: np.ndarray) -> np.ndarray:
        k = np.floor(np.asarray(z, dtype=float) / h + _ON_LATTICE) + reach + 1
        return np.minimum(below[np.clip(k, 0, 2 * reach + 1).astype(int)], 1.0)

    return cdf


def _wide_lattice_cdf(s: float, h: float) -> LogDensity:
    """Sum over lattice points up to k h: the integral up to (k + 1/2) h and its first Euler-Maclaurin correction."""
    from scipy.special import ndtr

    def cdf(z: np.ndarray) -> np.ndarray:
        x = np.clip((np.floor(np.asarray(z, dtype=float) / h + _ON_LATTICE) + 0.5) * (h / s), -40.0, 40.0)
        return ndtr(x) + (h / s) ** 2 * x * np.exp(-0.5 * x * x) / (24 * math.sqrt(2 * math.pi))

    return cdf


def discrete_gaussian(scale: float, step: float = 1.0) -> Noise:
    """Return discrete Gaussian noise on multiples of `step`: P(z) proportional to exp(-z^2 / 2 scale^2).

    References
    ----------
    Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", arXiv:2004.00010.

    Examples
    --------
    >>> float(discrete_gaussian(1.0).cdf(np.array([-0.5]))[0]) < 0.5 < float(discrete_gaussian(1.0).cdf(np.zeros(1))[0])
    True
    """
    s, h = _positive(scale, "scale"), _positive(step, "step")
    if s > _WIDE * h:
        log_norm, below = math.log(h / s) - 0.5 * math.log(2 * math.pi), _wide_lattice_cdf(s, h)
    else:
        reach = math.ceil(39 * s / h) + 1
        points = np.arange(-reach, reach + 1) * h
        log_norm = -math.log(math.fsum(np.exp(-0.5 * (points / s) ** 2).tolist()))
        below = _narrow_lattice_cdf(np.exp(log_norm - 0.5 * (points / s) ** 2), reach, h)

    return Noise(
        "discrete-gaussian",
        {"scale": s, "step": h},
        lambda z: log_norm - 0.5 * (z / s) ** 2,
        below,
        True,
        (math.inf, math.inf),
        math.inf,
        lambda d: math.inf if d > 0 else 0.0,
        step=h,
        bend=1 / s,
        log_ratio=lambda y, x, c: _nearer_squared(y, x, c, s) / 2,
    )


FAMILIES: dict[str, Callable[..., Noise]] = {
    "laplace": laplace,
    "gaussian": gaussian,
    "staircase": staircase,
    "student-t": student_t,
    "logistic": logistic,
    "discrete-laplace": discrete_laplace,
    "discrete-gaussian": discrete_gaussian,
}
"""Kind -> its builder; the first parameter is always the scale."""

LAPLACE = ("laplace", "discrete-laplace")
"""Noise with exponential sides: log densities are linear in the distance, and nothing changes beyond the data."""


def _rebuilt(kind: str, parameters: dict[str, float]) -> Noise:
    return FAMILIES[kind](**parameters)


def as_noise(noise: Any, **parameters: float) -> Noise:
    """Return a Noise from a Noise, a family name with its parameters, or a frozen scipy.stats distribution.

    Examples
    --------
    >>> as_noise("laplace", scale=2).parameters
    {'scale': 2.0}
    """
    if not isinstance(noise, str):
        if parameters:
            raise DivulgeError.of("noise", "carry its own parameters", "it", f"given with {sorted(parameters)}")
        from divulge.noise.foreign import from_scipy

        return noise if isinstance(noise, Noise) else from_scipy(noise)
    if noise not in FAMILIES:
        raise DivulgeError.of("noise", f"be one of {', '.join(FAMILIES)}", "it", repr(noise))
    try:
        return FAMILIES[noise](**parameters)
    except TypeError:
        import inspect

        names = ", ".join(inspect.signature(FAMILIES[noise]).parameters)
        raise DivulgeError.of(
            "noise", f"have parameters among {names} ({noise})", "it", f"given {sorted(parameters)}"
        ) from None
