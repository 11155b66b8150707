"""The supremum over outcomes of pml(y) and pmc(y): where it is reached, and a bracket that holds it.

How a supremum is found depends on what is known of noise and secret; the ways are rows of a table, tried in order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.model.shown import Shown
from divulge.noise.answers.outcomes import allowance, edges, pieces
from divulge.noise.answers.ranges import Side, Values, between, leakage, one_by_one, values
from divulge.noise.laws.choice import AnyLaw
from divulge.noise.laws.continuous import ContinuousLaw
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.law import Law
from divulge.noise.laws.steps import ROUNDING

_TOLERANCE = {True: 1e-11, False: 1e-5}
"""Width of the bracket for finitely many secrets and known noise, and for what takes an integral or a shape seen."""


@dataclass(frozen=True)
class Supremum(Shown):
    """A supremum over outcomes, in nats.

    Attributes
    ----------
    value : the best value found; +inf when unbounded
    lower, upper : a bracket that holds the supremum; equal to `value` up to rounding where a closed form applies
    at : the outcome that reaches it; +inf or -inf when it is approached in that direction
    method : how it was found
    reason : why it is infinite, or what limits the bracket; "" when there is nothing to add
    certified : whether the bracket is proved, up to rounding; else it rests on estimated errors of integrals over the
        secret, or on the shape of a density as it shows

    Examples
    --------
    >>> found = Supremum(0.5, 0.5, 0.5, 0.0, "closed form")
    >>> found.moved(2.0).at
    2.0
    """

    value: float
    lower: float
    upper: float
    at: float
    method: str
    reason: str = ""
    certified: bool = True

    def moved(self, loc: float) -> "Supremum":
        """Return the same for outcomes moved by `loc`.

        Examples
        --------
        >>> Supremum(0.5, 0.5, 0.5, 0.0, "closed form").moved(2.0).at
        2.0
        """
        return replace(self, at=self.at + loc) if loc else self


_READ_OFF = "search, the noise's shape read off its density"
_ESTIMATED = "the bracket rests on estimated errors of integrals over the secret"
_NO_PROOF = "the bracket holds if the density of the noise is shaped as it shows at some thousand places"


def supremum(law: Law, side: Side) -> Supremum:
    """Return the supremum of pml(y) or pmc(y) over all outcomes."""
    for applies, find in WAYS:
        if applies(law, side):
            found = find(law, side)
            if law.noise.read_off and find is _searched:
                found = replace(found, certified=False)
            if law.noise.read_off and law.bounded and find not in (_constant, _searched, _rules_out):
                found = replace(found, method=_READ_OFF, reason=found.reason or _NO_PROOF, certified=False)
            in_closed_form = find is _at_the_ends and not any(end.error for end in law.ends())
            if not (law.exact or math.isinf(found.value) or find is _constant or in_closed_form):
                found = replace(found, reason=found.reason or _ESTIMATED, certified=False)
            if math.isinf(found.at) and law.bounded:
                right = found.at > 0
                end = law.noise.support[right]
                found = replace(found, at=(law.high if right else law.low) + end) if math.isfinite(end) else found
            if side == "pml" and isinstance(law, FiniteLaw) and law.bounded:  # pml(y) <= -log P(x)
                rarest = -float(law.log_prior.min()) * (1 + 1e-15)
                return replace(found, upper=max(found.value, min(found.upper, rarest)))
            return found
    raise AssertionError("the last way always applies")


def _infinite(at: float, reason: str) -> Supremum:
    return Supremum(math.inf, math.inf, math.inf, at, "closed form", reason)


def _constant(law: Law, side: Side) -> Supremum:
    return Supremum(0.0, 0.0, 0.0, law.low, "closed form", "the secret is a constant")


def _unbounded_secret(law: Law, side: Side) -> Supremum:
    if side == "pmc":
        reason = "every outcome makes some far value of an unbounded secret as unlikely as one likes"
    else:
        reason = "outcomes far out are rare, but each points at secrets near it: pml(y) grows without bound"
    top = law.secret.high if isinstance(law, FiniteLaw) else law.high
    return _infinite(math.inf if top == math.inf else -math.inf, reason)


def _unbounded_ratio(law: Law, side: Side) -> Supremum:
    reason = f"the likelihood ratio of {law.noise.kind} noise is unbounded: no finite epsilon holds for PMC or LDP"
    return _infinite(math.inf if law.noise.slopes is None or law.noise.slopes[1] == math.inf else -math.inf, reason)


Candidate = tuple[float, float, float]
"""(a leakage, a bound on its error, its outcome)."""


def ends(law: Law, side: Side) -> list[Candidate]:
    """Return the limits of the leakage at +inf and -inf; none where the noise has no limiting ratio."""
    return [(*end.leakage(side), end.at) for end in law.ends()]


def _candidates(at: Values) -> list[Candidate]:
    return list(zip(at.leakage.tolist(), at.off.tolist(), at.y.tolist(), strict=True))


def _unbounded_end(law: Law, side: Side) -> Supremum:
    reason = f"{law.noise.kind} noise singles out the end of the data, a value that no density gives any mass"
    return _infinite(math.inf, reason)


def _settled_at_the_ends(law: Law, side: Side) -> bool:
    """Whether the leakage is largest in the limit.

    PMC under Laplace noise: E exp(-|y - T|/b) / min_x E[... | x] is largest, and constant, beyond all the data. Under
    any log-concave noise on one record the worst secret is an end of the data, and f(y) / f(y | end) rises with the
    distance from it. PML of a log-concave secret: inside the data f(y | x) reaches the same peak for every y while f(y)
    has one peak, and beyond the data f(y | end) / f(y) rises with the distance.
    """
    if law.noise.linear and side == "pmc":
        return True
    if not (law.noise.log_concave and law.noise.slopes is not None and law.bounded):
        return False
    if isinstance(law, FiniteLaw):
        return side == "pmc" and len(law.others.places) == 1
    return isinstance(law, ContinuousLaw) and (side == "pmc" or law.secret.log_concave)


def _at_the_ends(law: Law, side: Side) -> Supremum:
    return _best_of(ends(law, side), "closed form at the ends")


def _rules_out(law: Law, side: Side) -> Supremum:
    """Noise on a bounded range: an outcome near the end of all outcomes is possible for few secrets only."""
    which = [i for i in (0, 1) if math.isfinite(law.noise.support[i])]
    y = [(law.low, law.high)[i] + law.noise.support[i] for i in which]
    if side == "pmc":
        return _infinite(y[0], "some outcome rules a secret out")
    mass = dict(law.secret.atoms) if isinstance(law, ContinuousLaw) else {}
    at = next(v for v, i in zip(y, which, strict=True) if (law.low, law.high)[i] not in mass)
    where = "outcomes near the end of their range single out the end of the data"
    return _infinite(at, f"{where}, a value that no density gives any mass")


def _singled_out(law: Law, side: Side) -> bool:
    """Whether noise on a bounded range makes the leakage infinite."""
    if law.noise.everywhere or not law.bounded:
        return False
    if side == "pmc":
        return True
    if not isinstance(law, ContinuousLaw):
        return False
    mass, ends_of = dict(law.secret.atoms), zip(law.noise.support, (law.low, law.high), strict=True)
    return any(math.isfinite(end) and data not in mass for end, data in ends_of)


def _has_poles(law: Law, side: Side) -> bool:
    """Whether the leakage has no bound, or that of the rarest value, as the noise has none at some place."""
    return law.bounded and bool(law.noise.poles) and (law.has_poles or isinstance(law, FiniteLaw))


def _at_a_pole(law: Law, side: Side) -> Supremum:
    """Noise without a bound at z: of outcomes near x + z all but x is ruled out in the limit, and a density has no x.

    Of several records that is so where all of them are at one end of the data.
    """
    z, reason = law.noise.poles[0], "the density of the noise has no bound: outcomes near it tell the secret"
    if law.has_poles and side == "pml":
        return _infinite((law.low + law.high) / 2 + z, reason)
    if not isinstance(law, FiniteLaw):
        return _searched(law, side)
    if side == "pmc":
        return _infinite(law.low + z, reason)
    p = law.log_prior if len(law.others.places) == 1 else law.log_prior[[0, -1]]
    at, most = int(p.argmin()), -float(law.log_prior.min())
    x = law.locations_of_values if len(law.others.places) == 1 else np.array([law.low, law.high])
    return Supremum(-float(p[at]), -float(p[at]), most, float(x[at]) + z, "closed form", reason)


def _ruled_out_inside(law: Law, side: Side) -> Supremum:
    return _infinite((law.low + law.high) / 2 + law.noise.zeros[0], "some outcome rules a secret out")


def _best_of(candidates: list[Candidate], method: str) -> Supremum:
    """Return the largest of all candidates, and of those that tie one at an end, or the nearest to 0."""
    lower, upper = (max(v + sign * off for v, off, _ in candidates) for sign in (-1, 1))
    level = [(v, at) for v, off, at in candidates if v + off >= lower * (1 - 1e-13)]
    _, at = min(level, key=lambda pair: (math.isfinite(pair[1]), abs(pair[1]), -pair[1]))
    lower = max(0.0, lower)
    return Supremum(max([lower, *(value for value, _ in level)]), lower, upper, at, method)


def _breakpoints(law: FiniteLaw, side: Side) -> Supremum:
    """Laplace noise: between neighboring locations f(y|x)/f(y) is a Moebius function of e^{2y/b}, hence monotone."""
    found = _candidates(values(law, side, law.locations))
    return _best_of([*found, *ends(law, side)], "closed form at the data points")


def _pieces(law: FiniteLaw, side: Side) -> Supremum:
    """Noise in steps: the leakage is constant between jumps, and repeats a period beyond the data."""
    sure = pieces(law)
    assert sure is not None
    whole = abs(1 - math.fsum(sure[1].tolist())) <= 1e-9
    y = sure[0] if whole else np.concatenate([sure[0], law.locations])
    found = _best_of(_candidates(values(law, side, y)), "closed form on the pieces")
    if whole:
        return found
    reason = "steps of the noise are narrower than the distance between doubles: pieces inside them are not looked at"
    return replace(found, upper=max(found.value, law.noise.shift_loss(law.high - law.low)), reason=reason)


def _gaussian_reach(law: Law) -> float:
    """Return how far beyond the data every location but the outermost has weight below rounding."""
    assert isinstance(law, FiniteLaw)
    s = law.noise.scale
    gaps = np.diff(law.locations)
    rarest = -float(law.everyone.log_weights.min())
    return min(s * s * (40.0 + rarest) / float(gaps.min()), 1e7 * s) + float(np.ptp(law.locations))


def _bracketed(law: AnyLaw, side: Side) -> Supremum:
    """Bound the leakage on intervals; drop those that cannot hold the supremum, halve the others."""
    reach = _far(law)
    found = _branch_and_bound(law, side, reach)
    if not law.noise.log_concave:  # what a heavy tail leaks beyond its reach is less than what was found
        return found
    return replace(found, upper=max(found.upper, _beyond(law, side, reach)))


def _beyond(law: Law, side: Side, reach: float) -> float:
    """Return a bound on the leakage further than `reach` from the data: one log at its limit, the other as it is there.

    Beyond the data all logs are relative to the nearer end, and fall towards their limits.
    """
    bounds: list[float] = []
    for end in law.ends():
        nearer = np.array([law.high if end.at > 0 else law.low])
        y = nearer + (law.noise.mode or 0.0) + (reach if end.at > 0 else -reach)
        with np.errstate(invalid="ignore"):
            value = law.log_best(y)[0] - end.outcome if side == "pml" else law.log_outcome(y) - end.worst
            value = value - law.noise.relative(y, nearer, nearer)
            logs = (law.log_best(y)[0], end.outcome) if side == "pml" else (law.log_outcome(y), end.worst)
            off = law.error(y, side) + law.rounding(y, np.asarray(logs[0]), np.full(1, logs[1])) + end.error
            bound = float((value + off)[0])
        bounds.append(math.inf if math.isnan(bound) else bound)
    return max(bounds, default=0.0)


_RARE = 1e-17
"""Beyond outcomes as rare as this, noise whose shape was only seen is taken to leak what it leaks in the limit."""


def _trusts_its_limits(law: Law) -> bool:
    return law.noise.read_off and not law.noise.log_concave and math.isinf(law.noise.fading)


def _far(law: Law) -> float:
    """Return a distance beyond the data at which nothing larger than the supremum can be found."""
    span = law.high - law.low
    scale = law.noise.scale
    if law.noise.radii is not None:
        return law.noise.period()[0]
    if _trusts_its_limits(law):
        return max(abs(end) for end in law.noise.spread(_RARE))
    if math.isfinite(law.noise.fading):
        probe = np.linspace(law.low - 3 * scale, law.high + 3 * scale, 257)
        least = min(float(leakage(law, side, probe).max()) for side in ("pml", "pmc"))
        return span * law.noise.fading / max(least, 1e-12)
    if law.noise.quadratic:
        return _gaussian_reach(law) if isinstance(law, FiniteLaw) else span + 40 * scale
    return 45 * scale


def _start(law: Law, reach: float) -> np.ndarray:
    """Return outcomes to begin with: dense over the data, sparser and sparser far from it."""
    if law.noise.radii is not None:
        jumps = edges(law)
        away = _gap(law) / 2
        return np.concatenate([jumps[:1], (jumps[1:-1, None] + np.array([-away, away])).ravel(), jumps[-1:]])
    scale = law.noise.scale
    low, high = law.low + (law.noise.mode or 0.0), law.high + (law.noise.mode or 0.0)
    inner = np.linspace(low - 3 * scale, high + 3 * scale, 513)
    outer = np.geomspace(3 * scale, max(reach, 6 * scale), 65)
    if not isinstance(law, FiniteLaw):  # an integral each: be sparing
        inner, outer = inner[::4], outer[::2]
    parts = [inner, high + outer, low - outer, np.array([low, high])]
    if isinstance(law, FiniteLaw) and len(law.locations) <= 4096 and not law.finer_than_noise:
        parts.append(law.locations + (law.noise.mode or 0.0))
    ends = [end for end in law.noise.support if math.isfinite(end)]
    if isinstance(law, FiniteLaw) and ends and len(law.locations) <= 4096:
        jumps = np.add.outer(law.locations, ends).ravel()
        parts.extend([jumps - _gap(law) / 2, jumps + _gap(law) / 2])
    y = np.unique(np.concatenate(parts))
    left, right = law.noise.spread(_RARE) if _trusts_its_limits(law) else law.noise.support
    y = y[(y > law.low + left) & (y < law.high + right)]
    return y if law.noise.step is None else np.unique(_on_lattice(law, y))


def _gap(law: Law) -> float:
    """Return the length of intervals around jumps that are left out, as jumps are only known up to rounding."""
    if law.noise.radii is None and law.noise.everywhere:
        return 0.0
    ends = [abs(end) for end in law.noise.support if math.isfinite(end)]
    return 8 * ROUNDING * (law.high - law.low + max(abs(law.low), abs(law.high)) + max(ends, default=0.0))


def _branch_and_bound(law: AnyLaw, side: Side, reach: float) -> Supremum:
    limits = ends(law, side)
    exact = isinstance(law, FiniteLaw)
    most_points = allowance(law) // (1 if exact else 3)
    smallest = 1.5 * (law.noise.step or 0.0)
    y = _start(law, reach)
    at = values(law, side, y)
    apart = np.diff(y) > 2 * _gap(law)
    left, right = at[:-1][apart], at[1:][apart]
    best, where = max([*((limit, end) for limit, _, end in limits), _largest(at)])
    upper, spent = best, len(y)
    while len(left.y):
        middle = (left.y + right.y) / 2
        mid = values(law, side, middle if law.noise.step is None else _on_lattice(law, middle))
        spent += len(mid.y)
        best, where = max((best, where), _largest(mid))
        found = between(law, side, left, mid, right)
        assert found is not None
        above = found[1]
        margin = _TOLERANCE[exact and not law.noise.read_off] * max(1.0, best) + 4 * np.maximum(left.error, right.error)
        inside = right.y - left.y > smallest  # on a lattice, some intervals hold no other outcome
        open_ = (above > best + margin) & inside
        upper = max(upper, float(above[inside & ~open_].max(initial=0.0)))
        if not open_.any():
            break
        flat = float(np.max((right.y - left.y)[open_])) <= 1e-14 * max(1.0, float(np.abs(right.y).max()))
        if flat or spent + 2 * int(open_.sum()) > most_points:
            upper = max(upper, float(above[open_].max()))
            break
        left, mid, right = left[open_], mid[open_], right[open_]
        left, right = left.joined(mid), mid.joined(right)
    best, where = _refined(law, side, best, where)
    if math.isfinite(where):
        at = values(law, side, np.array([where]))
        best, error = float(at.leakage[0]), float(at.off[0])
    else:
        error = next(off for _, off, end in limits if end == where)
    most = max([upper, best + error, *(limit + off for limit, off, _ in limits)])
    return Supremum(best, max(0.0, best - error), most, where, "certified search")


def _largest(at: Values) -> tuple[float, float]:
    """Return (the largest leakage, its outcome)."""
    found = at.leakage - at.off  # far out, little else than rounding may be left
    top = int(np.where(np.isnan(found), -1.0, found).argmax())
    return max(float(found[top]), 0.0), float(at.y[top])


def _on_lattice(law: Law, y: np.ndarray) -> np.ndarray:
    """Return the lattice points at or below y (never the same for y and a place more than a step above it)."""
    assert law.noise.step is not None
    return law.low + law.noise.step * np.floor((y - law.low) / law.noise.step + 1e-6)


def _refined(law: Law, side: Side, best: float, where: float) -> tuple[float, float]:
    """Climb from the best outcome found; a limit that is as good within rounding is preferred to a far outcome."""
    from scipy.optimize import minimize_scalar

    if math.isfinite(where) and law.noise.step is None:
        step = 0.02 * law.noise.scale

        def less(u: float) -> float:
            at = values(law, side, np.array([where + u * step]))
            return float((at.off - at.leakage)[0])

        found: Any = minimize_scalar(less, bounds=(-1.0, 1.0), method="bounded", options={"xatol": 1e-9})
        if -found.fun > best:
            best, where = -float(found.fun), float(where + found.x * step)
    limits = [(limit, at) for limit, off, at in ends(law, side) if limit + off >= best * (1 - 1e-12)]
    return max([*limits, (best, where)], key=lambda pair: (pair in limits, pair[0]))


def _searched(law: Law, side: Side) -> Supremum:
    """Nothing is known of the shape: a dense search gives a lower bound; what an outcome leaks at most, the upper."""
    noise, exact = law.noise, isinstance(law, FiniteLaw)
    z = noise.marks(0.0)
    y = np.linspace(law.low + z[0], law.high + z[-1], 8193 if exact else 1025)
    if isinstance(law, FiniteLaw) and len(law.locations) <= 4096:
        y = np.concatenate([y, (law.locations[:, None] + z).ravel()])
    found = leakage(law, side, y)
    found = np.where(np.isnan(found), 0.0, found)  # of outcomes that cannot occur
    best = float(found.max())
    cap = noise.shift_loss(law.high - law.low)
    if side == "pml" and isinstance(law, FiniteLaw):
        cap = min(cap, -float(law.log_prior.min()))
    reason = "the shape of this noise is not known: the value is a lower bound, the upper one holds for any outcome"
    if math.isinf(best):
        reason = "some outcome rules a secret out" if side == "pmc" else "some outcome singles out a secret"
    return Supremum(best, best, max(best, cap), float(y[int(found.argmax())]), "search on a grid", reason)


WAYS: tuple[tuple[Callable[[Law, Side], bool], Callable[..., Supremum]], ...] = (
    (lambda law, side: law.low == law.high, _constant),
    (lambda law, side: not law.bounded, _unbounded_secret),
    (_singled_out, _rules_out),
    (lambda law, side: side == "pmc" and bool(law.noise.zeros), _ruled_out_inside),
    (_has_poles, _at_a_pole),
    (lambda law, side: side == "pmc" and math.inf in (law.noise.slopes or ()), _unbounded_ratio),
    (lambda law, side: any(math.isinf(limit) for limit, _, _ in ends(law, side)), _unbounded_end),
    (_settled_at_the_ends, _at_the_ends),
    (lambda law, side: isinstance(law, FiniteLaw) and law.noise.linear, _breakpoints),
    (lambda law, side: pieces(law) is not None, _pieces),
    (
        lambda law, side: (
            law.noise.log_concave
            or math.isfinite(law.noise.steepest)
            or law.noise.radii is not None
            or (one_by_one(law) and law.noise.slopes is not None)
        ),
        _bracketed,
    ),
    (lambda law, side: True, _searched),
)
"""(when it applies, how it is found), in order."""
