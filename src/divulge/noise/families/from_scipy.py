"""scipy.stats distributions as noise: some are a family; of others the shape is read off their log density."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.continuous import gaussian, laplace, logistic, student_t
from divulge.noise.families.noise import Noise, Ratio
from divulge.noise.quadrature import finite_or_zero
from divulge.noise.secrets.secret import logs_its_density
from divulge.noise.text import as_frozen, require_formula

SAME: dict[str, Callable[..., Noise]] = {
    "norm": gaussian,
    "laplace": laplace,
    "logistic": logistic,
    "t": student_t,
    "cauchy": lambda scale: student_t(scale, 1.0),
}
"""scipy name -> the family it is, but for `loc`, by its other parameters."""

_POINTS = 2000
"""So many places on either side of its median a density is looked at."""

_FADES = -690.0
"""Below it a log density that scipy takes of a density has lost digits, or is -inf."""

_DOUBLINGS = 60
"""Times that a distance is doubled in search of the slope that a log density ends with."""


def from_scipy(distribution: Any) -> Noise:
    """Return a frozen continuous scipy.stats distribution as noise.

    One that is a family is that family, moved by its `loc`. Of any other the shape is read off its log density: whether
    it is log-concave, where its mode is, how steep it is and with what slopes it ends. That is no proof, and so marked.

    Raises
    ------
    DivulgeError
        If `distribution` is not a frozen continuous scipy.stats distribution.
    """
    distribution = as_frozen(distribution)
    if not (hasattr(distribution, "logpdf") and hasattr(distribution, "dist")):
        condition = "be a family name or a frozen continuous scipy.stats distribution"
        raise DivulgeError.of("noise", condition, "it", type(distribution).__name__)
    require_formula(distribution, "noise")
    family, named = distribution.dist, _parameters(distribution)
    if family.name in SAME:
        centered = SAME[family.name](**{"scale": 1.0, **{k: v for k, v in named.items() if k != "loc"}})
        loc = named.get("loc", 0.0)
        return replace(centered, loc=loc, made_by=(from_scipy, (distribution,))) if loc else centered
    logpdf = _quiet(distribution.logpdf)
    facts = _shape(distribution, logpdf)
    return Noise(
        f"scipy.stats.{family.name}",
        named,
        logpdf,
        _quiet(distribution.cdf),
        shift_loss=lambda d: facts["steepest"] * d if d > 0 else 0.0,
        unimodal=False,
        frozen=distribution,
        read_off=True,
        blurred=None if family.name in RATIOS else _FADES if logs_its_density(distribution) else -math.inf,
        log_ratio=_ratio(family.name, named, logpdf) if facts["support"] == (-math.inf, math.inf) else None,
        made_by=(from_scipy, (distribution,)),
        **facts,
    )


def _ratio(name: str, named: dict[str, float], logpdf: Callable[[Any], Any]) -> Ratio:
    """Return log f(y - x) - log f(y - c), by a form that keeps its digits where there is one."""
    own, scale = RATIOS.get(name), named.get("scale", 1.0)
    shapes = [value for key, value in named.items() if key not in ("loc", "scale")]

    def ratio(y: Any, x: Any, c: Any) -> Any:
        with np.errstate(all="ignore"):
            if own is None:
                return logpdf(y - x) - finite_or_zero(logpdf(y - c))
            a, b = ((y - at - named.get("loc", 0.0)) / scale for at in (x, c))
            return own(a, b, (x - c) / scale, *shapes)

    return ratio


def _nearer(a: Any, b: Any, d: Any) -> Any:
    """Return |b| - |a| for b - a = d."""
    return np.where((a > 0) == (b > 0), np.where(b > 0, d, -d), np.abs(b) - np.abs(a))


def _steep(z: Any, kappa: float) -> Any:
    """Return minus the log density of asymmetric Laplace noise, but for a constant."""
    return np.where(z > 0, z * kappa, -z / kappa)


def _by_powers(a: Any, b: Any, d: Any, power: float) -> Any:
    """Return |b|^power - |a|^power for b - a = d: of one sign, |b|^power (1 - (a/b)^power) without cancellation."""
    low, high = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    near = (np.sign(a) == np.sign(b)) & (np.abs(d) < 0.5 * high) & (high > 0)
    share = np.where(near, np.abs(d) / np.where(high > 0, high, 1.0), 0.0)
    close = -np.expm1(power * np.log1p(-share)) * high**power
    return np.sign(np.abs(b) - np.abs(a)) * np.where(near, close, high**power - low**power)


RATIOS: dict[str, Callable[..., Any]] = {
    "gumbel_r": lambda a, b, d: d - np.exp(-b) * np.expm1(d),
    "gumbel_l": lambda a, b, d: -d - np.exp(b) * np.expm1(-d),
    "hypsecant": lambda a, b, d: _nearer(a, b, d) + np.log1p(np.exp(-2 * np.abs(b))) - np.log1p(np.exp(-2 * np.abs(a))),
    "gennorm": lambda a, b, d, beta: _by_powers(a, b, d, beta),
    "laplace_asymmetric": lambda a, b, d, kappa: np.where(
        (a > 0) == (b > 0), d * np.where(b > 0, kappa, -1 / kappa), _steep(b, kappa) - _steep(a, kappa)
    ),
    "moyal": lambda a, b, d: d / 2 - np.exp(-b) * np.expm1(d) / 2,
}
"""scipy name -> log f(a) - log f(b) in units of the scale, for a = y - x, b = y - c and b - a = d, then the shapes."""


def _parameters(distribution: Any) -> dict[str, float]:
    """Return the parameters of a frozen distribution by name."""
    names = [*(name.strip() for name in (distribution.dist.shapes or "").split(",")), "loc", "scale"]
    by_place = dict(zip((name for name in names if name), distribution.args, strict=False))
    return {name: float(value) for name, value in {**by_place, **distribution.kwds}.items()}


_quiet = np.errstate(all="ignore")
"""What makes a function of scipy silent where it overflows."""


def _shape(distribution: Any, logpdf: Callable[[Any], Any]) -> dict[str, Any]:
    """Return what a log density shows of itself, as fields of `Noise`; `mode` is None where it has several."""
    z = _places(distribution, logpdf)
    steep, coarse = (np.diff(logpdf(at)) / np.diff(at) for at in (z, z[::2]))
    g, middle = logpdf(z), (z[1:] + z[:-1]) / 2
    rounding = 1e-15 * (1 + np.abs(g)) / np.minimum(np.diff(z, prepend=-math.inf), np.diff(z, append=math.inf))
    allowed = 1e-9 * np.abs(steep) + rounding[1:] + rounding[:-1]
    top = int(g.argmax())
    low, high = (float(end) for end in distribution.support())
    loc = _parameters(distribution).get("loc", 0.0)
    pole = low < loc < high and np.isposinf(logpdf(loc))  # of a double gamma of shape 1/2, say
    one_peak = not pole and bool((steep[:top] >= -allowed[:top]).all() and (steep[top:] <= allowed[top:]).all())
    mode = _climbed(logpdf, z, top) if one_peak else None
    if one_peak and top in (0, len(z) - 1):  # largest at an end of the support
        end = low if top == 0 else high
        mode = end if math.isfinite(end) else mode
    slopes = None
    if mode is not None:
        scale = float(distribution.ppf(0.75) - distribution.ppf(0.25))
        found = [
            math.inf if math.isfinite(end) else _last_slope(logpdf, mode, sign * scale)
            for end, sign in ((low, -1.0), (high, 1.0))
        ]
        slopes = None if None in found else (float(found[0] or 0.0), float(found[1] or 0.0))
    everywhere = math.isinf(low) and math.isinf(high)
    concave = bool((np.diff(steep) <= allowed[1:] + allowed[:-1]).all()) and slopes is not None and everywhere
    steepest, fading = float(np.abs(steep).max()), math.inf
    if slopes == (0.0, 0.0) and steepest <= 1.01 * float(np.abs(coarse).max()):
        fading = 1.02 * float(np.abs(steep * middle).max())
    else:  # a kink, a jump or no limit: no constant bounds the slope for sure
        steepest = math.inf
    steepest = max(slopes) if concave and slopes else 1.02 * steepest
    facts = {"mode": mode, "log_concave": concave, "steepest": steepest, "fading": fading, "slopes": slopes}
    return facts | {"support": (low, high)}


def _places(distribution: Any, logpdf: Callable[[Any], Any]) -> np.ndarray:
    """Return places between the quantiles at 1e-15 on either side."""
    levels = np.geomspace(1e-15, 0.5, _POINTS)
    z = np.unique(np.concatenate([distribution.ppf(levels), distribution.isf(levels)]))
    z = z[np.isfinite(z) & np.isfinite(logpdf(z))]
    width = float(distribution.ppf(0.75) - distribution.ppf(0.25))
    return z[np.diff(z, prepend=-math.inf) > 1e-12 * np.maximum(np.abs(z), width)]


def _climbed(logpdf: Callable[[Any], Any], z: np.ndarray, top: int) -> float:
    """Return the mode, near the place with the largest log density."""
    from scipy.optimize import minimize_scalar

    low, high = float(z[max(top - 1, 0)]), float(z[min(top + 1, len(z) - 1)])
    best = float(logpdf(z[top]))
    lack: Any = minimize_scalar(lambda v: min(best - float(logpdf(v)), 1e3), bounds=(low, high), method="bounded")
    return float(lack.x) if lack.fun < 0 else float(z[top])


def _last_slope(logpdf: Callable[[Any], Any], mode: float, step: float) -> float | None:
    """Return how fast the log density falls in the end, from its slopes over doubled distances; None: not settled."""
    z = mode + step * 2.0 ** np.arange(-4, _DOUBLINGS)
    g = logpdf(z)
    seen = int(np.argmin(np.append(np.isfinite(g), False)))
    if seen < 4:
        return None
    slope = -np.diff(g[:seen]) / np.abs(np.diff(z[:seen]))
    before, last = float(slope[-2]), float(slope[-1])
    if last > 1.05 * before:
        return math.inf
    if last < 0.95 * before:
        return 0.0
    return last if abs(last - before) <= 1e-6 * last else None
