"""The supremum over outcomes of pml(y) and pmc(y): where it is reached, and a bracket that holds it.

How a supremum is found depends on what is known of noise and secret; the ways are rows of a table, tried in order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from divulge.noise.law import FiniteLaw, Law

Side = Literal["pml", "pmc"]
_TOLERANCE = {True: 1e-11, False: 1e-6}
"""Width of the bracket for finitely many secrets, and for those that take an integral per outcome."""

_MOST_POINTS = 400_000


@dataclass(frozen=True)
class Supremum:
    """A supremum over outcomes, in nats.

    Attributes
    ----------
    value : float
        The best value found; +inf when unbounded.
    lower, upper : float
        A bracket that holds the supremum. Equal to `value` up to rounding where a closed form applies.
    at : float
        The outcome that reaches it; +inf or -inf when it is approached in that direction.
    method : str
        How it was found.
    reason : str
        Why it is infinite, or what limits the bracket; "" when there is nothing to add.
    """

    value: float
    lower: float
    upper: float
    at: float
    method: str
    reason: str = ""


def leakage(law: Law, side: Side, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (value, bound on its error, secret) of pml or pmc at each y."""
    outcome = law.log_outcome(y)
    best, at = law.log_best(y) if side == "pml" else law.log_worst(y)
    with np.errstate(invalid="ignore"):
        value = best - outcome if side == "pml" else outcome - best
    return np.maximum(value, 0.0), law.error(y), at


def supremum(law: Law, side: Side) -> Supremum:
    """Return the supremum of pml(y) or pmc(y) over all outcomes."""
    for applies, find in WAYS:
        if applies(law, side):
            found = find(law, side)
            if side == "pml" and isinstance(law, FiniteLaw) and law.secret is None:  # pml(y) <= -log P(x)
                rarest = -float(law.log_prior.min()) * (1 + 1e-15)
                return replace(found, upper=max(found.value, min(found.upper, rarest)))
            return found
    raise AssertionError("the last way always applies")


def _constant(law: Law, side: Side) -> Supremum:
    return Supremum(0.0, 0.0, 0.0, law.low, "closed form", "the secret is a constant")


def _unbounded_secret(law: Law, side: Side) -> Supremum:
    if side == "pmc":
        reason = "every outcome makes some far value of an unbounded secret as unlikely as one likes"
    else:
        reason = "outcomes far out are rare, but each points at secrets near it: pml(y) grows without bound"
    top = law.secret.high if isinstance(law, FiniteLaw) and law.secret is not None else law.high
    at = math.inf if top == math.inf else -math.inf
    return Supremum(math.inf, math.inf, math.inf, at, "closed form", reason)


def _unbounded_ratio(law: Law, side: Side) -> Supremum:
    reason = f"the likelihood ratio of {law.noise.kind} noise is unbounded: no finite epsilon holds for PMC or LDP"
    return Supremum(math.inf, math.inf, math.inf, math.inf, "closed form", reason)


def ends(law: Law, side: Side) -> list[tuple[float, float]]:
    """Return [(limit of the leakage, +inf), (the same, -inf)]."""
    return [(end.pml if side == "pml" else end.pmc, end.at) for end in law.ends()]


def _unbounded_end(law: Law, side: Side) -> Supremum:
    reason = f"{law.noise.kind} noise singles out the end of the data, a value that no density gives any mass"
    return Supremum(math.inf, math.inf, math.inf, math.inf, "closed form", reason)


def _at_the_ends(law: Law, side: Side) -> Supremum:
    """PMC under Laplace noise: E exp(-|y - T|/b) / min_x E[... | x] is largest, and constant, beyond all the data."""
    return _best_of(ends(law, side), "closed form at the ends")


def _best_of(candidates: list[tuple[float, float]], method: str, error: float = 0.0) -> Supremum:
    top = max(value for value, _ in candidates)
    level = [pair for pair in candidates if pair[0] >= top - 1e-13 * max(1.0, top)]
    value, at = min(level, key=lambda pair: (math.isfinite(pair[1]), abs(pair[1])))
    return Supremum(value, max(0.0, value - error), value + error, at, method)


def _breakpoints(law: FiniteLaw, side: Side) -> Supremum:
    """Laplace noise: between neighboring locations f(y|x)/f(y) is a Moebius function of e^{2y/b}, hence monotone."""
    y = law.locations
    values = leakage(law, side, y)[0]
    return _best_of(
        [*zip(values.tolist(), y.tolist(), strict=True), *ends(law, side)], "closed form at the data points"
    )


def _pieces(law: FiniteLaw, side: Side) -> Supremum:
    """Noise whose density is constant between jumps: one point a piece, up to a period beyond the data."""
    assert law.noise.jumps is not None
    period = law.noise.parameters["sensitivity"]
    reach = law.high - law.low + 2 * period
    jumps = law.noise.jumps(reach)
    edges = np.unique((law.locations[:, None] + jumps[None, :]).ravel())
    edges = edges[(edges >= law.low - 2 * period) & (edges <= law.high + 2 * period)]
    wide = np.diff(edges) > 1e-9 * period
    middle = ((edges[1:] + edges[:-1]) / 2)[wide]
    values = leakage(law, side, middle)[0]
    return _best_of(list(zip(values.tolist(), middle.tolist(), strict=True)), "closed form on the pieces")


def _gaussian_reach(law: Law) -> float:
    """Return how far beyond the data every location but the outermost has weight below rounding."""
    assert isinstance(law, FiniteLaw)
    s = law.noise.parameters["scale"]
    gaps = np.diff(law.locations)
    rarest = -float(law.log_all.min())
    return min(s * s * (40.0 + rarest) / float(gaps.min()), 1e7 * s) + float(np.ptp(law.locations))


def _bracketed(law: Law, side: Side) -> Supremum:
    """Log-concave noise: f(y|x)/g(y - high) falls and f(y|x)/g(y - low) rises with y, for every x and so for f(y).

    That bounds the leakage on an interval by values at its ends; intervals that cannot hold the supremum are dropped,
    the others halved.
    """
    sign = 1.0 if side == "pml" else -1.0

    def sides(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        best = (law.log_best if side == "pml" else law.log_worst)(y)[0]
        return best, law.log_outcome(y), law.error(y)

    def bound(y: np.ndarray, at: tuple[np.ndarray, ...], i: np.ndarray, j: np.ndarray) -> np.ndarray:
        best, outcome, error = at
        center = law.center(y)
        top, bottom = (law.noise.relative(y, np.full(len(y), end), center) for end in (law.high, law.low))
        falling = sign * ((best - top)[i if sign > 0 else j] - (outcome - top)[j if sign > 0 else i])
        rising = sign * ((best - bottom)[j if sign > 0 else i] - (outcome - bottom)[i if sign > 0 else j])
        return np.minimum(falling, rising) + np.maximum(error[i], error[j])

    reach = _far(law)
    found = _branch_and_bound(law, side, reach, sides, bound, sign)
    return replace(found, upper=max(found.upper, _beyond(law, side, reach)))


def _beyond(law: Law, side: Side, reach: float) -> float:
    """Return a bound on the leakage further than `reach` from the data: one log at its limit, the other as it is there.

    Beyond the data all logs are relative to the nearer end, and fall towards their limits.
    """
    if not isinstance(law, FiniteLaw) or law.secret is not None:
        return 0.0
    bounds: list[float] = []
    for end in law.ends():
        y = np.array([law.high + reach if end.at > 0 else law.low - reach])
        value = law.log_best(y)[0] - end.outcome if side == "pml" else law.log_outcome(y) - end.worst
        bounds.append(float(value[0]))
    return max(bounds, default=0.0)


def _lipschitz(law: Law, side: Side) -> Supremum:
    """Noise with |(log f)'| <= K: every log f(y|x) and log f(y) is K-Lipschitz; far out nothing leaks."""
    sign = 1.0 if side == "pml" else -1.0
    slope = 2 * law.noise.steepest

    def sides(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        best = (law.log_best if side == "pml" else law.log_worst)(y)[0]
        return best, law.log_outcome(y), law.error(y)

    def bound(y: np.ndarray, at: tuple[np.ndarray, ...], i: np.ndarray, j: np.ndarray) -> np.ndarray:
        best, outcome, error = at
        value = sign * (best - outcome)
        return (value[i] + value[j]) / 2 + slope * (y[j] - y[i]) / 2 + np.maximum(error[i], error[j])

    return _branch_and_bound(law, side, _far(law), sides, bound, sign)


def _far(law: Law) -> float:
    """Return a distance beyond the data at which nothing larger than the supremum can be found."""
    span = law.high - law.low
    scale = law.noise.parameters["scale"]
    if law.noise.kind == "student-t":  # |leakage| <= span (df + 1) / distance
        probe = np.linspace(law.low - 3 * scale, law.high + 3 * scale, 257)
        least = min(float(leakage(law, side, probe)[0].max()) for side in ("pml", "pmc"))
        return span * (law.noise.parameters["df"] + 1) / max(least, 1e-12)
    if law.noise.kind in ("gaussian", "discrete-gaussian"):
        return _gaussian_reach(law) if isinstance(law, FiniteLaw) and law.slack == 0 else span + 40 * scale
    return 45 * scale


def _branch_and_bound(
    law: Law,
    side: Side,
    reach: float,
    sides: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    bound: Callable[[np.ndarray, tuple[np.ndarray, ...], np.ndarray, np.ndarray], np.ndarray],
    sign: float,
) -> Supremum:
    limits = ends(law, side)
    known = isinstance(law, FiniteLaw)
    blur = float(law.error(np.array([law.low, law.high])).max()) if known else 0.0
    tolerance = max(_TOLERANCE[known], blur)  # no narrower than what rounding the secret has cost
    scale = law.noise.parameters["scale"]
    inner = np.linspace(law.low - 3 * scale, law.high + 3 * scale, 513)
    outer = np.geomspace(3 * scale, max(reach, 6 * scale), 65)
    marks = [law.locations if isinstance(law, FiniteLaw) and len(law.locations) <= 4096 else inner[:1]]
    y = np.unique(np.concatenate([inner, law.high + outer, law.low - outer, *marks]))
    if not isinstance(law, FiniteLaw):  # an integral each: be sparing
        y = np.unique(np.concatenate([inner[::4], law.high + outer[::2], law.low - outer[::2]]))
    if law.noise.step is not None:
        y = np.unique(_on_lattice(law, y))
    at = sides(y)
    left, right = np.arange(len(y) - 1), np.arange(1, len(y))
    value = np.maximum(sign * (at[0] - at[1]), 0.0)
    best, where = max([*limits, (float(value.max()), float(y[int(value.argmax())]))])
    upper, spent = best, len(y)
    while len(left):
        above = bound(y, at, left, right)
        open_ = (above > best + tolerance * max(1.0, best)) & (y[right] - y[left] > 1.5 * (law.noise.step or 0.0))
        budget = _MOST_POINTS if isinstance(law, FiniteLaw) else 20_000
        if not open_.any():
            break
        if spent + int(open_.sum()) > budget:
            upper = max(upper, float(above.max()))
            break
        lo, hi = y[left[open_]], y[right[open_]]
        middle = (lo + hi) / 2 if law.noise.step is None else _on_lattice(law, (lo + hi) / 2)
        mid = sides(middle)
        spent += len(middle)
        found = sign * (mid[0] - mid[1])
        if float(found.max()) > best:
            best, where = float(found.max()), float(middle[int(found.argmax())])
        low_at = tuple(a[left[open_]] for a in at)
        high_at = tuple(a[right[open_]] for a in at)
        k = len(middle)
        y = np.concatenate([lo, middle, hi])
        at = tuple(np.concatenate(parts) for parts in zip(low_at, mid, high_at, strict=True))
        left = np.concatenate([np.arange(k), np.arange(k, 2 * k)])
        right = np.concatenate([np.arange(k, 2 * k), np.arange(2 * k, 3 * k)])
        if float(np.max(y[right] - y[left])) <= 1e-14 * max(1.0, float(np.abs(y).max())):
            upper = max(upper, float(bound(y, at, left, right).max()))
            break
    best, where = _refined(law, side, best, where)
    error = float(law.error(np.array([where]))[0]) if math.isfinite(where) else 0.0
    upper = max(upper, best) + tolerance * max(1.0, best)
    return Supremum(best, max(0.0, best - error), upper, where, "certified search")


def _on_lattice(law: Law, y: np.ndarray) -> np.ndarray:
    """Return the lattice points at or below y (never the same for y and a place more than a step above it)."""
    assert law.noise.step is not None
    return law.low + law.noise.step * np.floor((y - law.low) / law.noise.step + 1e-6)


def _refined(law: Law, side: Side, best: float, where: float) -> tuple[float, float]:
    """Climb from the best outcome found; a limit that is as good within rounding is preferred to a far outcome."""
    from scipy.optimize import minimize_scalar

    if math.isfinite(where) and law.noise.step is None:
        step = 0.02 * law.noise.parameters["scale"]
        found: Any = minimize_scalar(
            lambda v: -float(leakage(law, side, np.array([v]))[0][0]),
            bounds=(where - step, where + step),
            method="bounded",
            options={"xatol": 1e-9 * step},
        )
        if -found.fun > best:
            best, where = -float(found.fun), float(found.x)
    limits = [(limit, at) for limit, at in ends(law, side) if limit >= best - 1e-12 * max(1.0, best)]
    return max([*limits, (best, where)], key=lambda pair: (pair in limits, pair[0]))


def _searched(law: Law, side: Side) -> Supremum:
    """Nothing is known of the shape: a dense search gives a lower bound; what an outcome leaks at most, the upper."""
    scale = law.noise.parameters.get("scale", float(law.noise.frozen.std()) if law.noise.frozen is not None else 1.0)
    scale = scale if math.isfinite(scale) and scale > 0 else 1.0
    span = law.high - law.low
    y = np.linspace(
        law.low - span - 12 * scale, law.high + span + 12 * scale, 8193 if isinstance(law, FiniteLaw) else 1025
    )
    with np.errstate(invalid="ignore"):
        values = leakage(law, side, y)[0]
    values = np.where(np.isnan(values), 0.0, values)
    best = float(values.max())
    cap = law.noise.shift_loss(span)
    if side == "pml" and isinstance(law, FiniteLaw):
        cap = min(cap, -float(law.log_prior.min()))
    return Supremum(
        best, best, max(best, cap), float(y[int(values.argmax())]), "search on a grid",
        "the shape of this noise is not known: the value is a lower bound, the upper one holds for any outcome",
    )  # fmt: skip


_LAPLACE = ("laplace", "discrete-laplace")

WAYS: tuple[tuple[Callable[[Law, Side], bool], Callable[..., Supremum]], ...] = (
    (lambda law, side: law.low == law.high, _constant),
    (lambda law, side: not law.bounded, _unbounded_secret),
    (
        lambda law, side: side == "pmc" and law.noise.unimodal and math.isinf(law.noise.shift_loss(1.0)),
        _unbounded_ratio,
    ),
    (lambda law, side: any(math.isinf(limit) for limit, _ in ends(law, side)), _unbounded_end),
    (lambda law, side: law.noise.kind in _LAPLACE and side == "pmc", _at_the_ends),
    (lambda law, side: isinstance(law, FiniteLaw) and law.noise.kind in _LAPLACE and law.slack == 0, _breakpoints),
    (lambda law, side: isinstance(law, FiniteLaw) and law.noise.jumps is not None, _pieces),
    (lambda law, side: law.noise.log_concave, _bracketed),
    (lambda law, side: math.isfinite(law.noise.steepest), _lipschitz),
    (lambda law, side: True, _searched),
)
"""(when it applies, how it is found), in order."""
