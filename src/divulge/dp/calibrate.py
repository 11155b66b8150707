"""The least noise, the largest sampling rate, or the most releases with which a list keeps a promise."""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from divulge.dp.accounting.composition import MOST_DRAWS, Composition, compose
from divulge.dp.accounting.sampling import PoissonSampled
from divulge.dp.loss.numbers import Bracket
from divulge.dp.mechanisms import LARGEST, MECHANISMS, SMALLEST
from divulge.dp.variants.tradeoff import gaussian_dp
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.shown import Shown, promised

CLOSE = 1e-6
"""A calibrated list keeps its promise with no more room than this, of a level in nats or as it is."""

_TOLERANCES = (1e-3, 1e-5, 2e-7)
"""Brackets on epsilon that are tried, wide and fast ones first; the last leaves room within `CLOSE`."""

_AIM = 0.4 * CLOSE
"""Room that a step aims at, so that rounding does not pass the promise."""

_FAR = 1e6
"""Levels further off the bound are as good as infinite."""

_STEPS = 200
"""Steps to a root; secants take a few, halvings of a range of doubles at most so many."""

NOISE = ("sigma", "scale")
LOSS = ("epsilon",)
"""Parameters of mechanisms of which the least, and of which the greatest, is sought."""

LEVELS: dict[str, tuple[str, Callable[[Composition, Any], Bracket]]] = {
    "adp": ("epsilon", lambda c, goal: c.epsilon(float(goal.delta))),
    "ldp": ("epsilon", lambda c, _: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "dp": ("epsilon", lambda c, _: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "tv": ("distance", lambda c, _: c.delta(0.0)),
    "rdp": ("epsilon", lambda c, goal: Bracket(c.renyi(float(goal.alpha)), c.renyi(float(goal.alpha)))),
    "zcdp": ("rho", lambda c, _: Bracket(c.zcdp, c.zcdp)),
    "gdp": ("mu", lambda c, _: Bracket((found := gaussian_dp(c)).lower, found.value)),
}
"""Kind of goal -> (its bound, what a composition has of it)."""


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

    def __repr__(self) -> str:
        times = f"{self.count:,} x " if self.count > 1 else ""
        return (
            f"{self.sought} = {self.value:.9g}: {times}{self.mechanism} has {promised(self.level, 9)}, goal {self.goal}"
        )


def calibrate(
    family: Any,
    goal: Any,
    count: int | None = 1,
    rate: float | None = None,
    *,
    beside: Any = (),
    sensitivity: float = 1.0,
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
        "adp=EPS:DELTA", "ldp=EPS" or "dp=EPS", "gdp=MU", "zcdp=RHO", "rdp=ALPHA:EPS", or "tv=A": what an attacker gains
        over guessing, at most. For a belief, `guarantee_for_posterior("ldp", "1/100", "5/100")` is one.
    count : int or None
        How often the mechanism runs; with None, and a mechanism, the most is sought.
    rate : float in (0, 1], optional
        Of a Poisson sample; all records take part when it is not given.
    beside : releases, optional
        Others about the same data, as for `compose`; they count.
    sensitivity : float
        Of the query, for noise.

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
    Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", arXiv:1805.06530.

    Examples
    --------
    >>> found = calibrate("gaussian", "adp=1:1e-6")
    >>> round(found.value, 4), 1 - 1e-6 <= found.level <= 1
    (4.2247, True)
    >>> from divulge.dp import LaplaceMechanism
    >>> calibrate(LaplaceMechanism(10.0), "dp=1", count=None).value
    10
    """
    from divulge.late import late

    promise = late("divulge.guarantees.catalog:as_guarantee")(goal, "goal")
    if promise.kind not in LEVELS or float(getattr(promise, "xi", 0)) != 0:
        raise DivulgeError.of(
            "goal", f"be of a kind that lists are calibrated to ({', '.join(LEVELS)})", "it", str(promise)
        )
    listed = tuple(beside) if isinstance(beside, (list, tuple)) else (beside,)
    asked = _Asked(promise, listed)
    if isinstance(family, str) or inspect.isclass(family):
        kind, parameter = _family(family)
        if count is None:
            raise DivulgeError.of("family", "be a mechanism where a count is sought", "it", "a name or class")

        def noisy(value: float) -> Any:
            given = {parameter: value}
            if "sensitivity" in {one.name for one in fields(kind)} and sensitivity != 1:
                given["sensitivity"] = sensitivity
            return _sampled(kind(**given), rate)

        rising = parameter in LOSS
        return asked.real(parameter, lambda v: (noisy(v), count), rising, (SMALLEST**0.5, LARGEST**0.5))
    if count is None:
        return asked.whole(_sampled(family, rate))
    if rate is not None:
        raise DivulgeError.of(
            "rate", "not be given where it is sought; with a count of None the count is", "it", str(rate)
        )
    return asked.real("rate", lambda v: (_sampled(family, v), count), True, (SMALLEST**0.5, 1.0))


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

    @property
    def bound(self) -> float:
        return float(getattr(self.goal, LEVELS[self.goal.kind][0]))

    def level(self, mechanism: Any, count: int, tolerance: float) -> Bracket:
        """Return a bracket on what the list has of the goal's bound."""
        return LEVELS[self.goal.kind][1](compose((mechanism, count), *self.beside, tolerance=tolerance), self.goal)

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
        low, high = 1, 2
        while high < MOST_DRAWS and self.kept(mechanism, high) is not None:
            low, high = high, 2 * high
        if high >= MOST_DRAWS:
            raise DivulgeError.of("goal", f"be broken by {MOST_DRAWS:,} releases", "it", "kept by so many")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.kept(mechanism, middle) is not None else (low, middle)
        level = self.level(mechanism, low, _TOLERANCES[-1]).upper
        return Calibration("count", low, mechanism, low, self.goal, min(level, self.bound))

    def real(
        self, sought: str, at: Callable[[float], tuple[Any, int]], rising: bool, ends: tuple[float, float]
    ) -> Calibration:
        """Return the value of a parameter at which the level is just below the goal's bound."""
        sign = 1.0 if rising else -1.0

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
        x = _root(lambda value: level(value, rough), below, above)
        found, room = self._settled(x, lambda value: level(value, _TOLERANCES[-1]))
        return self._result(sought, found, room, sign, at)

    def _settled(self, x: float, excess: Callable[[float], float]) -> tuple[float, float]:
        """Return where the level lies below the bound by `CLOSE` at most, and the difference.

        By secants, and by halvings where these leave what is known.
        """
        seen: dict[float, float] = {}
        low, high = -math.inf, math.inf
        for value in self._tries(x, seen):
            seen[value] = found = excess(value)
            if -CLOSE <= found <= 0:
                return value, found
            low, high = (max(low, value), high) if found <= 0 else (low, min(high, value))
            if math.isfinite(low) and high - low <= 4e-16 * max(1.0, abs(low)):
                return low, seen[low]
        if low == -math.inf:
            raise DivulgeError.of("goal", "be a level that brackets resolve", "it", str(self.goal))
        return low, seen[low]

    @staticmethod
    def _tries(x: float, seen: dict[float, float]) -> Iterator[float]:
        """Yield values to try: by the secant of the two nearest to the bound, inside what is known."""
        yield x
        width = 1e-3
        for _ in range(_STEPS):
            kept = [v for v, e in seen.items() if e <= 0]
            broken = [v for v, e in seen.items() if e > 0]
            low, high = max(kept, default=None), min(broken, default=None)
            nearest = sorted(seen, key=lambda v: abs(seen[v] + _AIM))[:2]
            if len(nearest) < 2:
                only = nearest[0]
                yield only - width if seen[only] > 0 else only + width
                continue
            a, b = nearest
            slope = (seen[b] - seen[a]) / (b - a) if b != a else math.inf
            step = a - (seen[a] + _AIM) / slope if slope else math.nan
            inside = (low is None or step > low) and (high is None or step < high) and step not in seen
            if slope > 0 and math.isfinite(step) and inside and len(seen) < 20:
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


def _root(excess: Callable[[float], float], below: float, above: float) -> float:
    """Return about where the level meets the bound, to a thousandth of the logarithm (Brent)."""

    def cut(x: float) -> float:  # far levels are infinite
        return min(max(excess(x), -_FAR), _FAR)

    return float(require("scipy.optimize", "science").brentq(cut, below, above, xtol=1e-3, maxiter=_STEPS))
