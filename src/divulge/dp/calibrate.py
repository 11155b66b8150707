"""The least noise, the largest sampling rate, or the most releases with which a list keeps a promise."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, cast

from divulge.dp.accounting.composition import MOST_DRAWS, compose
from divulge.dp.accounting.sampling import PoissonSampled
from divulge.dp.goals import LEVELS, TYPED, Interval, as_goal, bound_of
from divulge.dp.loss.numbers import Bracket
from divulge.dp.mechanisms import LARGEST, MECHANISMS, SMALLEST
from divulge.dp.shuffling.shuffled import Shuffled
from divulge.dp.subjects import HasLosses, ReleaseLike
from divulge.errors import DivulgeError
from divulge.model.accepted import Claim
from divulge.model.entries import open_share
from divulge.model.shown import Shown, promised, reached
from divulge.roots import least_integer
from divulge.units import Unit, nats_per

CLOSE = 1e-6
"""A calibrated list keeps its promise with no more room than this, of a level in nats or as it is."""

_TOLERANCES = (1e-3, 4e-5, 4e-7)
"""Brackets on epsilon that are tried, wide and fast ones first; the last leaves room within `CLOSE`."""

_AIM = 0.6
"""The share of that room that a step aims at, so that rounding does not pass the promise."""

_HIGHER = 1 / 3
"""The share of a bracket on epsilon that lies above the truth (measured, within some percent: a grid splits its cells
from above, and merges them from below, which costs twice as much). It says where to look, and decides nothing."""

_FAR = 1e6
"""Levels further off the bound are as good as infinite."""

_NEAR, _LOWEST = 1e-2, 1e-9
"""A root this near to a value that was tried is good enough to refine; a smaller share of the bound is as good as 0."""

_SECANTS = 1
"""Steps with brackets of the middle width, after which the last ones are met at the first look, nearly always."""

_STEPS = 200
"""Steps to a root; secants take a few, halvings of a range of doubles at most so many."""

MOST_LOCAL = 300.0
"""A larger epsilon is hidden by no number of people (`Shuffled`)."""

SHUFFLED = "shuffled"
"""The family of all local mechanisms whose reports are shuffled."""

NOISE = ("sigma", "scale")
LOSS = ("epsilon",)
"""Parameters of mechanisms of which the least, and of which the greatest, is sought."""


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
    mechanism: HasLosses
    count: int
    goal: Claim
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
        goal = str(self.goal) if isinstance(self.goal, TYPED) else cast(Any, self.goal).text(unit)
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
        upward = self.sought in NOISE and not isinstance(self.goal, Interval)
        return f"{value:,}" if self.sought == "count" else (promised if upward else reached)(value, 9)

    def __repr__(self) -> str:
        times = f"{self.count:,} x " if self.count > 1 else ""
        return f"{self.sought} = {self.text()}: {times}{self.mechanism} has {promised(self.level, 9)}, goal {self.goal}"


def calibrate(
    family: str | type | HasLosses,
    goal: Claim | str,
    count: int | None = 1,
    rate: float | None = None,
    *,
    beside: ReleaseLike | Sequence[ReleaseLike] = (),
    sensitivity: float = 1.0,
    base_rate: float = 0.5,
    people: int | None = None,
) -> Calibration:
    """Return the least noise, the largest rate or the most releases with which a list of releases keeps a goal.

    What comes back was checked itself, by an upper bound of the whole composition: it keeps the goal whether or not
    less noise always tells more (which holds for all noise here: more Gaussian or Laplace noise, a smaller sample and
    fewer releases are post-processing of, or part of, the other).

    Parameters
    ----------
    family : name or class of a mechanism, or a mechanism
        Of a name or class the noise is sought (sigma, scale, or the epsilon of randomized response and of the
        exponential mechanism; of "shuffled" that of any local mechanism). Of a mechanism the count where it is None,
        else the rate.
    goal : guarantee or text
        "adp=EPS:DELTA", "ldp=EPS" or "dp=EPS", "gdp=MU", "zcdp=RHO", "rdp=ALPHA:EPS"; "tv=A": what an attacker gains
        over guessing, at most; "hits=TRUE:FALSE": how many they hit, at most, at a share of false alarms (`Hits`);
        "pml=EPS": by what factor e^EPS an outcome raises the chance that a record is in the data, or is not, under
        `base_rate`; "posterior=1/100:5/100:1/1000": from 1 in 100 the chance of anything about a record rises to at
        most 5 in 100, in all but 1 in 1,000 outcomes, whether or not it is true (in all, without the last number);
        "interval=500:0.95": all `count` numbers together are off by at most 500 with this probability, by the most
        noise that does it (`Interval`): what that promises is what `compose` says of it.
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
    people : int, optional
        Each run is the shuffled reports of so many people (`Shuffled`), each by the mechanism, whose noise is sought.

    Returns
    -------
    Calibration
        Its level is at most the goal's bound, and not below it by more than 1e-6 where it moves with what is sought.

    Raises
    ------
    DivulgeError
        When nothing keeps the goal, everything does, a rate is given and sought, or shuffled reports are sampled.

    References
    ----------
    Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", arXiv:1805.06530; Kulynych, Gomez,
    Kaissis, Calmon, Troncoso, "Attack-Aware Noise Calibration for Differential Privacy", arXiv:2407.02191 (hits).

    Examples
    --------
    >>> found = calibrate("gaussian", "adp=1:1e-6")
    >>> round(found.value, 4), 1 - 1e-6 <= found.level <= 1
    (4.2247, True)
    >>> calibrate(dv.dp.LaplaceMechanism(10.0), "dp=1", count=None).value
    10
    >>> round(calibrate("gaussian", "hits=0.1:0.01").value, 4)  # 1 / (Phi^-1(0.99) - Phi^-1(0.9))
    0.957...
    >>> round(calibrate("laplace", "posterior=1/100:5/100").value, 4)  # 1 / log(5 * 99/95)
    0.6058
    >>> round(calibrate("gaussian", "interval=500").value, 1)  # 500 / 1.96
    255.1
    >>> found = calibrate("randomized-response", "adp=0.5:1e-4", people=1_000)
    >>> round(found.value, 2), found.mechanism.n
    (2.8, 1000)
    """
    promise = as_goal(goal)
    share = open_share(base_rate, "base_rate")
    listed = tuple(beside) if isinstance(beside, (list, tuple)) else (beside,)
    asked = _Asked(promise, listed, share)
    if isinstance(family, str) or inspect.isclass(family):
        if count is None:
            raise DivulgeError.of("family", "be a mechanism where a count is sought", "it", "a name or class")
        make, parameter = _noisy(family, sensitivity, people)
        rising = (parameter in LOSS) != isinstance(promise, Interval)
        ends = (SMALLEST**0.5, MOST_LOCAL if parameter in LOSS and people is not None else LARGEST**0.5)
        return asked.real(parameter, lambda v: (_sampled(make(v), rate), count), rising, ends)
    if people is not None:
        raise DivulgeError.of("people", "come with a name or class of local mechanisms", "family", str(family)[:60])
    if count is None:
        return asked.whole(_sampled(family, rate))
    if rate is not None:
        raise DivulgeError.of(
            "rate", "not be given where it is sought; with a count of None the count is", "it", str(rate)
        )
    return asked.real("rate", lambda v: (_sampled(family, v), count), True, (SMALLEST**0.5, 1.0))


def _noisy(family: Any, sensitivity: float, people: int | None) -> tuple[Callable[[float], Any], str]:
    """Return what makes a mechanism of a value, and the name of what that is; shuffled where there are people."""
    if family in (SHUFFLED, Shuffled):
        if people is None:
            raise DivulgeError.of("people", "be given where reports are shuffled", "it", "absent")
        return (lambda value: Shuffled(value, people)), LOSS[0]
    kind, parameter = _family(family)

    def make(value: float) -> Any:
        alone = with_noise(kind, value, sensitivity)
        return alone if people is None else Shuffled(alone, people)

    return make, parameter


def with_noise(family: Any, value: float, sensitivity: float = 1.0) -> Any:
    """Return the mechanism of a family whose noise (sigma, scale; or epsilon) is the value.

    >>> with_noise("laplace", 10.0)
    LaplaceMechanism(scale=10.0, sensitivity=1.0)
    """
    kind, parameter = _family(family)
    given = {parameter: value}
    if sensitivity != 1 and "sensitivity" in {one.name for one in fields(kind)}:
        given["sensitivity"] = sensitivity
    return kind(**given)


def _family(given: Any) -> tuple[Any, str]:
    """Return a class of mechanisms and the parameter that is sought of it."""
    if isinstance(given, str) and given not in MECHANISMS:
        raise DivulgeError.unknown("family", given, (*MECHANISMS, SHUFFLED))
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

    goal: Claim
    beside: tuple[Any, ...]
    base_rate: float

    @cached_property
    def bound(self) -> float:
        return bound_of(self.goal)

    def level(self, mechanism: Any, count: int, tolerance: float) -> Bracket:
        """Return a bracket on what the list has of the goal's bound."""
        return LEVELS[self.goal.kind][1](
            compose((mechanism, count), *self.beside, tolerance=tolerance), self.goal, self.base_rate
        )

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
        def level(x: float, tolerance: float) -> Bracket:
            return self.level(*at(math.exp(sign * x)), tolerance)

        def about(x: float, tolerance: float) -> float:
            """Return about by how much the level exceeds the bound, as a fine bracket would say."""
            found = level(x, tolerance)
            return found.upper - self.bound - (_HIGHER * (found.upper - found.lower) if found.upper < _FAR else 0.0)

        low, high = sorted(sign * math.log(end) for end in ends)
        start = min(0.0, high)
        rough, finer, fine = _TOLERANCES
        below = above = start
        step = 1.0
        if about(start, rough) > 0:
            while about(below, rough) > 0:
                if below == low:
                    raise DivulgeError.of("goal", f"be kept with some {sought}", "it", "broken with any")
                below, above, step = max(below - step, low), below, 2 * step
        else:
            while self._excess(above, sought, lambda value: about(value, rough)) <= 0:
                if above == high and ends[1] == 1.0 and level(high, fine).upper <= self.bound:
                    return self._result(sought, high, level(high, fine).upper - self.bound, sign, at)
                if above == high:
                    raise DivulgeError.of("goal", f"be broken with some {sought}", "it", "kept with any")
                below, above, step = above, min(above + step, high), 2 * step
        x, slope = _root(lambda value: about(value, rough), below, above, self.bound)
        if slope is not None:
            x, slope = _nearer(lambda value: about(value, finer), x, slope, (low, high))
        found = level(x, fine)
        close = CLOSE * min(1.0, self.bound)  # relative, where brackets are as narrow as that
        close = close if found.upper - found.lower < close else CLOSE
        x, room = self._settled(x, lambda value: level(value, fine).upper - self.bound, slope, close)
        return self._result(sought, x, room, sign, at)

    def _excess(self, x: float, sought: str, excess: Callable[[float], float]) -> float:
        """Return the excess where less noise is looked at; losses too large to be added up break nothing either."""
        try:
            return excess(x)
        except DivulgeError as refused:
            why = str(refused).partition(" Hint: ")[0]
            raise DivulgeError.of(
                "goal", f"be broken with some {sought}", "it", "kept with any that is looked at", why
            ) from None

    def _settled(
        self, x: float, excess: Callable[[float], float], slope: float | None, close: float
    ) -> tuple[float, float]:
        """Return where the level lies below the bound by `close` at most, and the difference.

        By secants, of the slope that is known at first, and by halvings where these leave what is known.
        """
        seen: dict[float, float] = {}
        low, high = -math.inf, math.inf
        for value in self._tries(x, seen, slope, _AIM * close):
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
    def _tries(x: float, seen: dict[float, float], slope: float | None, aim: float) -> Iterator[float]:
        """Yield values to try: by the secant of the two nearest to the bound, inside what is known."""
        yield x
        width = 1e-3
        for _ in range(_STEPS):
            kept = [v for v, e in seen.items() if e <= 0]
            broken = [v for v, e in seen.items() if e > 0]
            low, high = max(kept, default=None), min(broken, default=None)
            nearest = min(seen, key=lambda v: abs(seen[v] + aim))
            rise = _secant(seen, slope, aim)
            if rise is None:
                yield nearest - width if seen[nearest] > 0 else nearest + width
                continue
            step = nearest - (seen[nearest] + aim) / rise if rise > 0 else math.nan
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


def _nearer(excess: Callable[[float], float], x: float, slope: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return about where the level is below the bound by what is aimed at, and its slope: by steps of a secant."""
    before, aim = excess(x), _AIM * CLOSE
    for _ in range(_SECANTS):
        moved = min(max(x - (before + aim) / slope, ends[0]), ends[1])
        if abs(before + aim) <= aim / 2 or moved == x:
            break
        after = excess(moved)
        rise = (after - before) / (moved - x)
        x, before, slope = moved, after, rise if rise > 0 else slope
    return min(max(x - (before + aim) / slope, ends[0]), ends[1]), slope


def _secant(seen: dict[float, float], known: float | None, aim: float) -> float | None:
    """Return the slope between the two values nearest to the bound; what is known of it where there are no two."""
    if len(seen) < 2:
        return known
    a, b = sorted(seen, key=lambda v: abs(seen[v] + aim))[:2]
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
        if low <= x <= high and abs(x - a) < _NEAR:
            break
        if not low <= x <= high or min(abs(x - one) for one in seen) < _NEAR:
            x = (low + high) / 2
            if high - low < _NEAR:
                break
        seen[x] = cut(x)
        low, high = (x, high) if seen[x] <= 0 else (low, x)
    level_rise = rise * (bound if bound > 0 else 1.0)
    return x, level_rise if 0 < level_rise < math.inf else None
