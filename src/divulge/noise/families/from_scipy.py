"""scipy.stats distributions as noise: some are a family; of others the shape is read off their log density."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.accumulated import cdf_of, ppf_of
from divulge.noise.direct import log_density_of
from divulge.noise.families.continuous import gaussian, laplace, logistic, student_t
from divulge.noise.families.noise import Noise, Ratio
from divulge.noise.families.shape import cells, climbed, last_slope, places, turns, without_bound
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

_FADES = -690.0
"""Below it a log density that scipy takes of a density has lost digits, or is -inf."""


def from_scipy(distribution: Any) -> Noise:
    """Return a frozen continuous scipy.stats distribution as noise.

    One that is a family is that family, moved by its `loc`. Of any other the shape is read off its log density: whether
    it is log-concave, where its mode is, how steep it is and with what slopes it ends. That is no proof, and so marked.
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
    logpdf = _quiet(log_density_of(distribution))
    facts = _shape(distribution, logpdf)
    return Noise(
        f"scipy.stats.{family.name}",
        named,
        logpdf,
        _quiet(cdf_of(distribution)),
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
    """Return what a density shows of itself, as fields of `Noise`; `mode` is None where it has several peaks."""
    known = cells(distribution, logpdf)
    z, gaps = places(logpdf, known)
    steep, coarse = (np.diff(logpdf(at)) / np.diff(at) for at in (z, z[::2]))
    g, middle = logpdf(z), (z[1:] + z[:-1]) / 2
    rounding = 1e-15 * (1 + np.abs(g)) / np.minimum(np.diff(z, prepend=-math.inf), np.diff(z, append=math.inf))
    allowed = 1e-9 * np.abs(steep) + rounding[1:] + rounding[:-1]
    low, high = (float(end) for end in distribution.support())
    scale = float(np.diff(ppf_of(distribution)(np.array([0.25, 0.75])))[0])
    loc = _parameters(distribution).get("loc", 0.0)
    tops, bottoms = turns(z, g, steep, allowed)
    ends = [end for end in (low, high) if math.isfinite(end)]
    inside = [*known.marks.tolist(), *([loc] if low < loc < high else [])]
    peaks = [_end_or_climbed(logpdf, z, int(top), (low, high), inside) for top in tops]
    valleys = [climbed(logpdf, z, int(bottom), -1.0, inside) for bottom in bottoms]
    poles = sorted({at for at in (*ends, *peaks) if without_bound(logpdf, at, scale, 1.0)})
    zeros = sorted({at for at in (*gaps[:1].tolist(), *valleys) if without_bound(logpdf, at, scale, -1.0)})
    mode = peaks[0] if len(peaks) == 1 and not zeros and not (poles and low < poles[0] < high) else None
    slopes = None
    if mode is not None:
        found = [
            math.inf if math.isfinite(end) else last_slope(logpdf, mode, sign * scale)
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
    turning = {"peaks": tuple(peaks), "valleys": tuple(valleys), "poles": tuple(poles), "zeros": tuple(zeros)}
    seen = {"rough": tuple(known.marks.tolist()), "unseen": known.unseen}
    return facts | turning | seen | {"support": (low, high)}


def _end_or_climbed(
    logpdf: Callable[[Any], Any], z: np.ndarray, top: int, ends: tuple[float, float], named: list[float]
) -> float:
    """Return where a peak is: an end of the support that the density rises to, or near the place that is highest."""
    if top in (0, len(z) - 1) and math.isfinite(end := ends[top > 0]):
        return end
    return climbed(logpdf, z, top, 1.0, named)
