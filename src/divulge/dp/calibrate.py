"""The least noise, the largest sampling rate, or the most releases with which a list keeps a promise."""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

import numpy as np

from divulge import exact
from divulge.dp.accounting.composition import MOST_DRAWS, Composition, compose
from divulge.dp.accounting.sampling import PoissonSampled
from divulge.dp.loss.numbers import Bracket
from divulge.dp.mechanisms import LARGEST, MECHANISMS, SMALLEST
from divulge.dp.variants.tradeoff import gaussian_dp
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.model.entries import scalar
from divulge.model.shown import Shown, promised, reached
from divulge.roots import least_integer
from divulge.units import Unit, nats_per

CLOSE = 1e-6
"""A calibrated list keeps its promise with no more room than this, of a level in nats or as it is."""

_TOLERANCES = (1e-3, 2e-5, 4e-7)
"""Brackets on epsilon that are tried, wide and fast ones first; the last leaves room within `CLOSE`."""

_AIM = 0.4 * CLOSE
"""Room that a step aims at, so that rounding does not pass the promise."""

_FAR = 1e6
"""Levels further off the bound are as good as infinite."""

_NEAR, _LOWEST = 1e-2, 1e-9
"""A root this near to a value that was tried is good enough to refine; a smaller share of the bound is as good as 0."""

_POINTS, _ROUGH = 129, 1e-2
"""Losses, in nats some 0.05 apart, at which hits are looked at first, and the width of brackets on epsilon there."""

_ROUNDED = 1e-14
"""More than rounding takes from a share."""

LARGEST_LOG = 700.0
"""Odds that grow by e to this are certain in doubles."""

_STEPS = 200
"""Steps to a root; secants take a few, halvings of a range of doubles at most so many."""

NOISE = ("sigma", "scale")
LOSS = ("epsilon",)
"""Parameters of mechanisms of which the least, and of which the greatest, is sought."""


@dataclass(frozen=True)
class Hits:
    """What an attack may reach: the share of records it hits, at most, at a share of false alarms.

    A point of f-DP: the trade-off of errors at `alarms` is at least 1 - `hits`.

    Attributes
    ----------
    hits : float in [alarms, 1], true positives
    alarms : float in (0, 1), false positives

    Examples
    --------
    >>> Hits.of("hits=0.1:0.01")
    Hits(hits=0.1, alarms=0.01)
    """

    hits: float
    alarms: float
    kind: ClassVar[str] = "hits"

    def __post_init__(self) -> None:
        for name in ("hits", "alarms"):
            object.__setattr__(self, name, scalar(getattr(self, name), name))
        if not 0 < self.alarms <= self.hits <= 1:
            raise DivulgeError.of("hits", "be at least the share of false alarms, which is above 0", "it", str(self))

    @classmethod
    def of(cls, text: str) -> "Hits":
        """Return what "hits=TRUE:FALSE" says.

        Examples
        --------
        >>> str(Hits.of("hits=0.1:0.01"))
        'hits=0.1:0.01'
        """
        parts = text.partition("=")[2].split(":")
        if len(parts) != 2:
            raise DivulgeError.of("goal", "be hits=TRUE:FALSE, such as hits=0.1:0.01", "it", repr(text)[:40])
        return cls(*(scalar(part, "goal") for part in parts))

    def __str__(self) -> str:
        return f"hits={self.hits:g}:{self.alarms:g}"


@dataclass(frozen=True)
class _Belief:
    """How far a belief may rise: from `before` to `after`, in all but a share of outcomes.

    Examples
    --------
    >>> str(_Belief.of("posterior=1/100:0.05:0.001")), _Belief.of("posterior=1/100:1/20").share
    ('posterior=0.01:0.05:0.001', 0.0)
    """

    before: float
    after: float
    share: float = 0.0
    kind: ClassVar[str] = "posterior"

    def __post_init__(self) -> None:
        if not (0 < self.before < self.after < 1 and 0 <= self.share < 1):
            raise DivulgeError.of(
                "goal",
                "rise from a chance above 0 to a larger one below 1, in all but a share below 1",
                "it",
                str(self),
            )

    @classmethod
    def of(cls, text: str) -> "_Belief":
        """Return what "posterior=BEFORE:AFTER" or "posterior=BEFORE:AFTER:SHARE" says."""
        parts = text.partition("=")[2].split(":")
        if len(parts) not in (2, 3):
            asked = "be posterior=BEFORE:AFTER[:SHARE], such as posterior=1/100:5/100:1/1000"
            raise DivulgeError.of("goal", asked, "it", repr(text)[:40])
        return cls(*(scalar(part, "goal") for part in parts))

    @property
    def ratio(self) -> float:
        """The factor by which the odds rise."""
        return self.after / (1 - self.after) * (1 - self.before) / self.before

    def __str__(self) -> str:
        share = f":{self.share:g}" if self.share else ""
        return f"posterior={self.before:g}:{self.after:g}{share}"


TYPED = (Hits, _Belief)
"""Goals that are no guarantees, by what is typed for them."""


def goal_of(text: str) -> Any:
    """Return a goal that is no guarantee from its text; None for others.

    Examples
    --------
    >>> str(goal_of("hits=0.1:0.01")), goal_of("dp=1")
    ('hits=0.1:0.01', None)
    """
    kind = text.partition("=")[0]
    return next((one.of(text) for one in TYPED if one.kind == kind), None)


def _belief(composed: Composition, asked: "_Asked") -> Bracket:
    """Return the share of outcomes after which a belief may have passed the goal's end, or that end at a share of 0.

    Hits y and false alarms x of these outcomes have y >= R x, R the ratio of the odds, and y <= e^e x + delta(e): so
    y <= delta(e) / (1 - e^e / R) at every e below log R, and the share is y before / after. At a share of 0 it is the
    posterior at the largest loss.
    """
    goal: _Belief = asked.goal
    if not goal.share:
        grown = math.exp(min(composed.pure_epsilon, LARGEST_LOG))
        after = goal.before * grown / (goal.before * grown + 1 - goal.before) * (1 + _ROUNDED)
        return Bracket(after, after)

    def share(e: Any, delta: Any) -> Any:
        return delta / -np.expm1(e - math.log(goal.ratio)) * goal.before / goal.after

    grid = np.linspace(0.0, math.log(goal.ratio), _POINTS + 1)[:-1]
    values = share(grid, composed.roughly(_ROUGH).deltas(grid, 1))
    best = float(grid[values.argmin()])
    upper = min(1.0, float(share(best, composed.delta(best).upper)) * (1 + _ROUNDED))
    return Bracket(upper, upper)


def _pml_of_membership(composed: Composition, asked: "_Asked") -> Bracket:
    """Return how much being in the data, or not, can gain from an outcome: of the rarer of the two it is more."""
    rarer = min(asked.base_rate, 1 - asked.base_rate)
    formula = late("divulge.guarantees.formulas.density:pml_of_ldp")
    level = exact.round_up(formula(exact.ball(composed.pure_epsilon), exact.ball(rarer)))
    return Bracket(level, level)


def _hits(composed: Composition, asked: "_Asked") -> Bracket:
    """Return about how many hits the best attack has at the false alarms a, from above: delta(e) + a e^e at the best e.

    Or 1 - e^-e (1 - delta(e) - a), where hits and alarms add up to more than 1: the trade-off lies above both branches
    at every e >= 0, and meets one of them (Dong, Roth, Su, arXiv:1905.02383, Proposition 2.13). The best e is the
    lowest point of a parabola through three of a coarse grid, what it is off by counts squared, or one of the three:
    where losses are bounded, the largest.
    """
    a, few = asked.goal.alarms, asked.goal.alarms + asked.goal.hits <= 1

    def branch(e: Any, delta: Any) -> Any:
        return delta + a * np.exp(e) if few else 1 - np.exp(-e) * np.maximum(0.0, 1 - delta - a)

    rarest = a if few else max(1 - asked.goal.hits, _ROUNDED)
    grid = np.linspace(0.0, min(composed.pure_epsilon, 1.0 - math.log(rarest)), _POINTS)
    values = branch(grid, composed.roughly(_ROUGH).deltas(grid, 1))
    at = int(np.clip(values.argmin(), 1, _POINTS - 2))
    left, here, right = values[at - 1 : at + 2]
    bend = left - 2 * here + right
    best = float(np.clip(grid[at] + (grid[1] * (left - right) / (2 * bend) if bend > 0 else 0.0), 0.0, grid[-1]))
    upper = min(
        1.0, *(float(branch(e, composed.delta(e).upper)) + _ROUNDED for e in {best, float(grid[values.argmin()])})
    )
    return Bracket(upper, upper)


LEVELS: dict[str, tuple[str, Callable[[Composition, "_Asked"], Bracket]]] = {
    "pml": ("epsilon", _pml_of_membership),
    "hits": ("hits", _hits),
    "posterior": ("share", _belief),
    "adp": ("epsilon", lambda c, asked: c.epsilon(float(asked.goal.delta))),
    "ldp": ("epsilon", lambda c, _: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "dp": ("epsilon", lambda c, _: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "tv": ("distance", lambda c, _: c.delta(0.0)),
    "rdp": ("epsilon", lambda c, asked: Bracket(found := c.renyi(float(asked.goal.alpha)), found)),
    "zcdp": ("rho", lambda c, _: Bracket(c.zcdp, c.zcdp)),
    "gdp": ("mu", lambda c, _: Bracket((found := gaussian_dp(c)).lower, found.value)),
}
"""Kind of goal -> (its bound, what a composition has of it when so much is asked)."""


@dataclass(frozen=True, repr=False)
class Calibration(Shown):
    """What was found: a mechanism, how often it runs, and what the list then comes to.

    Attributes
    ----------
    sought : str
        "sigma", "scale", "epsilon", "rate" or "count".
    value : float
        Of what was sought, on the safe side.
    mechanism : Mechanism
        As it runs, sampled where there is a rate.
    count : int
    goal : guarantee
    level : float
        What the whole list has of the goal's bound, rounded up: at most the bound.

    Examples
    --------
    >>> found = calibrate("gaussian", "gdp=1", count=100)
    >>> found.sought, round(found.value, 4), found.level <= 1
    ('sigma', 10.0, True)
    """

    sought: str
    value: float
    mechanism: Any
    count: int
    goal: Any
    level: float

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the calibration as plain data; logarithms in `unit`, the parameters of the mechanism as they are.

        Examples
        --------
        >>> calibrate("gaussian", "gdp=1", count=100).to_dict()["goal"]
        'gdp=1'
        """
        value = self.value / nats_per(unit) if self.sought in LOSS else self.value
        level = self.level / nats_per(unit) if LEVELS[self.goal.kind][0] in ("epsilon", "rho") else self.level
        goal = str(self.goal) if isinstance(self.goal, TYPED) else self.goal.text(unit)
        return {"goal": goal, "sought": self.sought, "value": value, "count": self.count, "level": level,
                "mechanism": str(self.mechanism), "unit": unit}  # fmt: skip

    def text(self, unit: Unit = "nats") -> str:
        """Return the value with nine digits, rounded to the side on which the goal is kept.

        Examples
        --------
        >>> calibrate("gaussian", "adp=1:1e-6").text()
        '4.22468...'
        """
        value = self.to_dict(unit)["value"]
        return f"{value:,}" if self.sought == "count" else (promised if self.sought in NOISE else reached)(value, 9)

    def __repr__(self) -> str:
        times = f"{self.count:,} x " if self.count > 1 else ""
        return f"{self.sought} = {self.text()}: {times}{self.mechanism} has {promised(self.level, 9)}, goal {self.goal}"


def calibrate(
    family: Any,
    goal: Any,
    count: int | None = 1,
    rate: float | None = None,
    *,
    beside: Any = (),
    sensitivity: float = 1.0,
    base_rate: float = 0.5,
) -> Calibration:
    """Return the least noise, the largest rate or the most releases with which a list of releases keeps a goal.

    What comes back was checked itself, by an upper bound of the whole composition: it keeps the goal whether or not
    less noise always tells more (which holds for all noise here: more Gaussian or Laplace noise, a smaller sample and
    fewer releases are post-processing of, or part of, the other).

    Parameters
    ----------
    family : name or class of a mechanism, or a mechanism
        Of a name or class the noise is sought (sigma, scale, or the epsilon of randomized response and of the
        exponential mechanism). Of a mechanism the count where it is None, else the rate.
    goal : guarantee or text
        "adp=EPS:DELTA", "ldp=EPS" or "dp=EPS", "gdp=MU", "zcdp=RHO", "rdp=ALPHA:EPS"; "tv=A": what an attacker gains
        over guessing, at most; "hits=TRUE:FALSE": how many they hit, at most, at a share of false alarms (`Hits`);
        "pml=EPS": by what factor e^EPS an outcome raises the chance that a record is in the data, or is not, under
        `base_rate`; "posterior=1/100:5/100:1/1000": from 1 in 100 the chance of anything about a record rises to at
        most 5 in 100, in all but 1 in 1,000 outcomes (in all, without the last number).
    count : int or None
        How often the mechanism runs; with None, and a mechanism, the most is sought.
    rate : float in (0, 1], optional
        Of a Poisson sample; all records take part when it is not given.
    beside : releases, optional
        Others about the same data, as for `compose`; they count.
    sensitivity : float
        Of the query, for noise.
    base_rate : float in (0, 1)
        How probable it is beforehand that a record is in the data; for a pml.

    Returns
    -------
    Calibration
        Its level is at most the goal's bound, and not below it by more than 1e-6 where it moves with what is sought.

    Raises
    ------
    DivulgeError
        When nothing keeps the goal, everything does, or a rate is given and sought.

    References
    ----------
    Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", arXiv:1805.06530; Kulynych, Gomez,
    Kaissis, Calmon, Troncoso, "Attack-Aware Noise Calibration for Differential Privacy", arXiv:2407.02191 (hits).

    Examples
    --------
    >>> found = calibrate("gaussian", "adp=1:1e-6")
    >>> round(found.value, 4), 1 - 1e-6 <= found.level <= 1
    (4.2247, True)
    >>> from divulge.dp import LaplaceMechanism
    >>> calibrate(LaplaceMechanism(10.0), "dp=1", count=None).value
    10
    >>> round(calibrate("gaussian", "hits=0.1:0.01").value, 4)  # 1 / (Phi^-1(0.99) - Phi^-1(0.9))
    0.957...
    >>> round(calibrate("laplace", "posterior=1/100:5/100").value, 4)  # 1 / log(5 * 99/95)
    0.6058
    """
    promise = _goal(goal)
    share = scalar(base_rate, "base_rate")
    if not 0 < share < 1:
        raise DivulgeError.of("base_rate", "be in (0, 1)", "it", str(base_rate))
    listed = tuple(beside) if isinstance(beside, (list, tuple)) else (beside,)
    asked = _Asked(promise, listed, share)
    if isinstance(family, str) or inspect.isclass(family):
        kind, parameter = _family(family)
        if count is None:
            raise DivulgeError.of("family", "be a mechanism where a count is sought", "it", "a name or class")

        def noisy(value: float) -> Any:
            return _sampled(with_noise(kind, value, sensitivity), rate)

        rising = parameter in LOSS
        return asked.real(parameter, lambda v: (noisy(v), count), rising, (SMALLEST**0.5, LARGEST**0.5))
    if count is None:
        return asked.whole(_sampled(family, rate))
    if rate is not None:
        raise DivulgeError.of(
            "rate", "not be given where it is sought; with a count of None the count is", "it", str(rate)
        )
    return asked.real("rate", lambda v: (_sampled(family, v), count), True, (SMALLEST**0.5, 1.0))


def with_noise(family: Any, value: float, sensitivity: float = 1.0) -> Any:
    """Return the mechanism of a family whose noise (sigma, scale; or epsilon) is the value.

    Examples
    --------
    >>> with_noise("laplace", 10.0)
    LaplaceMechanism(scale=10.0, sensitivity=1.0)
    """
    kind, parameter = _family(family)
    given = {parameter: value}
    if sensitivity != 1 and "sensitivity" in {one.name for one in fields(kind)}:
        given["sensitivity"] = sensitivity
    return kind(**given)


def _goal(given: Any) -> Any:
    """Return a goal from itself or its text."""
    if isinstance(given, TYPED):
        return given
    if isinstance(given, str) and (typed := goal_of(given)) is not None:
        return typed
    promise = late("divulge.guarantees.catalog:as_guarantee")(given, "goal")
    if promise.kind not in LEVELS or float(getattr(promise, "xi", 0)) != 0:
        raise DivulgeError.of(
            "goal", f"be of a kind that lists are calibrated to ({', '.join(LEVELS)})", "it", str(promise)
        )
    return promise


def _family(given: Any) -> tuple[Any, str]:
    """Return a class of mechanisms and the parameter that is sought of it."""
    if isinstance(given, str) and given not in MECHANISMS:
        raise DivulgeError.unknown("family", given, MECHANISMS)
    kind = MECHANISMS[given] if isinstance(given, str) else given
    names = [one.name for one in fields(kind)] if kind in MECHANISMS.values() else []
    if not names:
        raise DivulgeError.of("family", f"be one of {', '.join(MECHANISMS)}, or a mechanism", "it", f"{given!r}"[:60])
    return kind, next(name for name in names if name in NOISE + LOSS)


def _sampled(mechanism: Any, rate: float | None) -> Any:
    return mechanism if rate is None or rate == 1 else PoissonSampled(mechanism, rate)


@dataclass(frozen=True)
class _Asked:
    """A goal, and what counts beside what is sought."""

    goal: Any
    beside: tuple[Any, ...]
    base_rate: float

    @property
    def bound(self) -> float:
        if isinstance(self.goal, _Belief) and not self.goal.share:
            return self.goal.after
        return float(getattr(self.goal, LEVELS[self.goal.kind][0]))

    def level(self, mechanism: Any, count: int, tolerance: float) -> Bracket:
        """Return a bracket on what the list has of the goal's bound."""
        return LEVELS[self.goal.kind][1](compose((mechanism, count), *self.beside, tolerance=tolerance), self)

    def kept(self, mechanism: Any, count: int) -> float | None:
        """Return the level from above where it is kept; wide brackets first."""
        for tolerance in _TOLERANCES:
            found = self.level(mechanism, count, tolerance)
            if found.upper <= self.bound:
                return found.upper
            if found.lower > self.bound:
                return None
        return None

    def whole(self, mechanism: Any) -> Calibration:
        """Return the most releases that keep the goal: by doubling and halving."""
        if self.kept(mechanism, 1) is None:
            raise DivulgeError.of("goal", "be kept by one release", "it", "broken by one")
        too_many = least_integer(lambda count: self.kept(mechanism, count) is None, 2, MOST_DRAWS)
        if too_many > MOST_DRAWS:
            raise DivulgeError.of("goal", f"be broken by {MOST_DRAWS:,} releases", "it", "kept by so many")
        low = too_many - 1
        level = self.level(mechanism, low, _TOLERANCES[-1]).upper
        return Calibration("count", low, mechanism, low, self.goal, min(level, self.bound))

    def real(
        self, sought: str, at: Callable[[float], tuple[Any, int]], rising: bool, ends: tuple[float, float]
    ) -> Calibration:
        """Return the value of a parameter at which the level is just below the goal's bound."""
        sign = 1.0 if rising else -1.0

        @cache
        def level(x: float, tolerance: float) -> float:
            return self.level(*at(math.exp(sign * x)), tolerance).upper - self.bound

        low, high = sorted(sign * math.log(end) for end in ends)
        start = min(0.0, high)
        rough = _TOLERANCES[0]
        below = above = start
        step = 1.0
        if level(start, rough) > 0:
            while level(below, rough) > 0:
                if below == low:
                    raise DivulgeError.of("goal", f"be kept with some {sought}", "it", "broken with any")
                below, above, step = max(below - step, low), below, 2 * step
        else:
            while level(above, rough) <= 0:
                if above == high and ends[1] == 1.0:
                    return self._result(sought, high, level(high, _TOLERANCES[-1]), sign, at)
                if above == high:
                    raise DivulgeError.of("goal", f"be broken with some {sought}", "it", "kept with any")
                below, above, step = above, min(above + step, high), 2 * step
        x, slope = _root(lambda value: level(value, rough), below, above, self.bound)
        if slope is not None:
            x = min(max(x - (level(x, _TOLERANCES[1]) + _AIM) / slope, low), high)
        x, room = self._settled(x, lambda value: level(value, _TOLERANCES[-1]), slope, CLOSE)
        return self._result(sought, x, room, sign, at)

    def _settled(
        self, x: float, excess: Callable[[float], float], slope: float | None, close: float
    ) -> tuple[float, float]:
        """Return where the level lies below the bound by `close` at most, and the difference.

        By secants, of the slope that is known at first, and by halvings where these leave what is known.
        """
        seen: dict[float, float] = {}
        low, high = -math.inf, math.inf
        for value in self._tries(x, seen, slope):
            seen[value] = found = excess(value)
            if -close <= found <= 0:
                return value, found
            low, high = (max(low, value), high) if found <= 0 else (low, min(high, value))
            if math.isfinite(low) and high - low <= 4e-16 * max(1.0, abs(low)):
                break
        if low == -math.inf:
            raise DivulgeError.of("goal", "be a level that brackets resolve", "it", str(self.goal))
        return low, seen[low]

    @staticmethod
    def _tries(x: float, seen: dict[float, float], slope: float | None) -> Iterator[float]:
        """Yield values to try: by the secant of the two nearest to the bound, inside what is known."""
        yield x
        width = 1e-3
        for _ in range(_STEPS):
            kept = [v for v, e in seen.items() if e <= 0]
            broken = [v for v, e in seen.items() if e > 0]
            low, high = max(kept, default=None), min(broken, default=None)
            nearest = min(seen, key=lambda v: abs(seen[v] + _AIM))
            rise = _secant(seen, slope)
            if rise is None:
                yield nearest - width if seen[nearest] > 0 else nearest + width
                continue
            step = nearest - (seen[nearest] + _AIM) / rise if rise > 0 else math.nan
            inside = (low is None or step > low) and (high is None or step < high) and step not in seen
            if math.isfinite(step) and inside and len(seen) < 20:
                yield step
            elif low is None or high is None:
                width *= 4
                yield min(seen) - width if low is None else max(seen) + width
            else:
                yield (low + high) / 2

    def _result(
        self, sought: str, x: float, room: float, sign: float, at: Callable[[float], tuple[Any, int]]
    ) -> Calibration:
        mechanism, count = at(math.exp(sign * x))
        return Calibration(sought, math.exp(sign * x), mechanism, count, self.goal, self.bound + room)


def _secant(seen: dict[float, float], known: float | None) -> float | None:
    """Return the slope between the two values nearest to the bound; what is known of it where there are no two."""
    if len(seen) < 2:
        return known
    a, b = sorted(seen, key=lambda v: abs(seen[v] + _AIM))[:2]
    return (seen[b] - seen[a]) / (b - a)


def _root(excess: Callable[[float], float], below: float, above: float, bound: float) -> tuple[float, float | None]:
    """Return about where the level meets the bound, to a hundredth of the logarithm, and the slope of the level there.

    By secants of the two nearest values, in the logarithm of the level, which is nearly straight in that of noise;
    where these leave what is known, by halving.
    """

    def cut(x: float) -> float:  # far levels are infinite
        found = excess(x)
        return math.log(max(found / bound, -1 + _LOWEST) + 1) if bound > 0 and found < _FAR else min(found, _FAR)

    seen = {below: cut(below), above: cut(above)}
    low, high, x, rise = below, above, below, 0.0
    for _ in range(_STEPS):
        a, b = sorted(seen, key=lambda one: abs(seen[one]))[:2]
        rise = (seen[b] - seen[a]) / (b - a)
        x = a - seen[a] / rise if rise > 0 else math.nan
        if not low <= x <= high:
            x = (low + high) / 2
        if min(abs(x - one) for one in seen) < _NEAR:
            break
        seen[x] = cut(x)
        low, high = (x, high) if seen[x] <= 0 else (low, x)
    level_rise = rise * (bound if bound > 0 else 1.0)
    return x, level_rise if 0 < level_rise < math.inf else None
