"""What a list of releases may be calibrated to: guarantees, and what people know who never chose an epsilon."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from divulge import exact
from divulge.dp import mechanisms
from divulge.dp.accounting.composition import Composition
from divulge.dp.loss.numbers import Bracket
from divulge.dp.variants.tradeoff import gaussian_dp
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.model.entries import scalar

_POINTS, _ROUGH = 129, 1e-2
"""Losses, in nats some 0.05 apart, at which hits are looked at first, and the width of brackets on epsilon there."""

_ROUNDED = 1e-14
"""More than rounding takes from a share."""

_ROUNDED_TAIL = 1e-12
"""More than the relative rounding of the tail of noise that is not far out."""

_DEVIATIONS = 40.0
"""Standard deviations beyond which a Gaussian tail is no double."""

LARGEST_LOG = 700.0
"""Odds that grow by e to this are certain in doubles."""


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
    """How far a belief may rise, whether or not it is true: from `before` to `after`, in all but a share of outcomes.

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


@dataclass(frozen=True)
class Interval:
    """How far numbers with noise may be off: at most `reach`, all of them together with the probability `level`.

    The one goal of which noise is wanted, not feared: the most noise that keeps it is sought.

    Attributes
    ----------
    reach : float above 0, half the width of each interval
    level : float in (0, 1)

    Examples
    --------
    >>> str(Interval.of("interval=500")), Interval.of("interval=500:0.99").level
    ('interval=500:0.95', 0.99)
    """

    reach: float
    level: float = 0.95
    kind: ClassVar[str] = "interval"

    def __post_init__(self) -> None:
        for name in ("reach", "level"):
            object.__setattr__(self, name, scalar(getattr(self, name), name))
        if not (0 < self.reach < math.inf and 0 < self.level < 1):
            raise DivulgeError.of("interval", "reach further than 0, with a probability below 1", "it", str(self))

    @classmethod
    def of(cls, text: str) -> "Interval":
        """Return what "interval=REACH" or "interval=REACH:LEVEL" says.

        Examples
        --------
        >>> Interval.of("interval=20")
        Interval(reach=20.0, level=0.95)
        """
        parts = text.partition("=")[2].split(":")
        if len(parts) not in (1, 2):
            raise DivulgeError.of("goal", "be interval=REACH[:LEVEL], such as interval=500", "it", repr(text)[:40])
        return cls(*(scalar(part, "goal") for part in parts))

    @property
    def miss(self) -> float:
        """The probability with which some number may be further off.

        Examples
        --------
        >>> Interval(500.0, 0.75).miss
        0.25
        """
        return 1 - self.level

    def __str__(self) -> str:
        return f"interval={self.reach:g}:{self.level:g}"


TYPED = (Hits, _Belief, Interval)
"""Goals that are no guarantees, by what is typed for them."""


def goal_of(text: str) -> Any:
    """Return a goal that is no guarantee from its text; None for others.

    >>> str(goal_of("hits=0.1:0.01")), goal_of("dp=1")
    ('hits=0.1:0.01', None)
    """
    kind = text.partition("=")[0]
    return next((one.of(text) for one in TYPED if one.kind == kind), None)


def _belief(composed: Composition, goal: Any, _: float) -> Bracket:
    """Return the share of outcomes after which a belief may have passed the goal's end, or that end at a share of 0.

    Hits y and false alarms x of these outcomes have y >= R x, R the ratio of the odds, and y <= e^e x + delta(e): so
    y <= delta(e) / (1 - e^e / R) at every e below log R: the share if what is believed is true, and fewer if it is
    not. At a share of 0 it is the posterior at the largest loss.
    """
    if not goal.share:
        grown = math.exp(min(composed.pure_epsilon, LARGEST_LOG))
        after = goal.before * grown / (goal.before * grown + 1 - goal.before) * (1 + _ROUNDED)
        return Bracket(after, after)

    def share(e: Any, delta: Any) -> Any:
        return delta / -np.expm1(e - math.log(goal.ratio))

    grid = np.linspace(0.0, math.log(goal.ratio), _POINTS + 1)[:-1]
    values = share(grid, composed.roughly(_ROUGH).deltas(grid, 1))
    best = float(grid[values.argmin()])
    upper = min(1.0, float(share(best, composed.delta(best).upper)) * (1 + _ROUNDED))
    return Bracket(upper, upper)


def _pml_of_membership(composed: Composition, _: Any, base_rate: float) -> Bracket:
    """Return how much being in the data, or not, can gain from an outcome: of the rarer of the two it is more."""
    rarer = min(base_rate, 1 - base_rate)
    formula = late("divulge.guarantees.formulas.density:pml_of_ldp")
    level = exact.round_up(formula(exact.ball(composed.pure_epsilon), exact.ball(rarer)))
    return Bracket(level, level)


def _hits(composed: Composition, goal: Any, _: float) -> Bracket:
    """Return about how many hits the best attack has at the false alarms a, from above: delta(e) + a e^e at the best e.

    Or 1 - e^-e (1 - delta(e) - a), where hits and alarms add up to more than 1: the trade-off lies above both branches
    at every e >= 0, and meets one of them (Dong, Roth, Su, arXiv:1905.02383, Proposition 2.13). The best e is the
    lowest point of a parabola through three of a coarse grid, what it is off by counts squared, or one of the three:
    where losses are bounded, the largest.
    """
    a, few = goal.alarms, goal.alarms + goal.hits <= 1

    def branch(e: Any, delta: Any) -> Any:
        return delta + a * np.exp(e) if few else 1 - np.exp(-e) * np.maximum(0.0, 1 - delta - a)

    rarest = a if few else max(1 - goal.hits, _ROUNDED)
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


def _outside(mechanism: Any, reach: float) -> float | None:
    """Return how often noise is further off than `reach`, from above; None of what is no noise on a number."""
    from scipy.special import ndtr

    whole = math.floor(reach)
    if isinstance(mechanism, mechanisms.GaussianMechanism):
        return 2 * float(ndtr(-reach / mechanism.sigma))
    if isinstance(mechanism, mechanisms.LaplaceMechanism):
        return math.exp(-reach / mechanism.scale)
    if isinstance(mechanism, mechanisms.DiscreteLaplaceMechanism):
        return 2 * math.exp(-(whole + 1) / mechanism.scale) / (1 + math.exp(-1 / mechanism.scale))
    if isinstance(mechanism, mechanisms.DiscreteGaussianMechanism):
        k = np.arange(whole + 1, max(whole, math.ceil(_DEVIATIONS * mechanism.sigma)) + 2)
        inside = np.arange(-whole, whole + 1)
        outer, inner = (float(np.exp(-((x / mechanism.sigma) ** 2) / 2).sum()) for x in (k, inside))
        return 2 * outer / (2 * outer + inner)
    return None


def _missed(composed: Composition, goal: Interval, _: float) -> Bracket:
    """Return how often one of the numbers of the first release is further off than the goal, from above."""
    mechanism, count = composed.releases[0]
    alone = _outside(mechanism, goal.reach)
    if alone is None:
        hint = "other goals say what a release may tell; an interval says how far a number may be off."
        raise DivulgeError.of("family", "be noise on a number where an interval is asked", "it", str(mechanism), hint)
    every = -math.expm1(count * math.log1p(-min(alone * (1 + _ROUNDED_TAIL), 1 - _ROUNDED)))
    return Bracket(every, every)


LEVELS: dict[str, tuple[str, Callable[[Composition, Any, float], Bracket]]] = {
    "pml": ("epsilon", _pml_of_membership),
    "hits": ("hits", _hits),
    "posterior": ("share", _belief),
    "interval": ("miss", _missed),
    "adp": ("epsilon", lambda c, goal, _: c.epsilon(float(goal.delta))),
    "ldp": ("epsilon", lambda c, *_: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "dp": ("epsilon", lambda c, *_: Bracket(c.pure_epsilon, c.pure_epsilon)),
    "tv": ("distance", lambda c, *_: c.delta(0.0)),
    "rdp": ("epsilon", lambda c, goal, _: Bracket(found := c.renyi(float(goal.alpha)), found)),
    "zcdp": ("rho", lambda c, *_: Bracket(c.zcdp, c.zcdp)),
    "gdp": ("mu", lambda c, *_: Bracket((found := gaussian_dp(c)).lower, found.value)),
}
"""Kind of goal -> (its bound, what a composition has of it at a base rate)."""


def bound_of(goal: Any) -> float:
    """Return what a list may have of a goal at most: what the functions of `LEVELS` are held against.

    >>> bound_of(Hits(0.1, 0.01)), bound_of(goal_of("posterior=1/100:5/100"))
    (0.1, 0.05)
    """
    if isinstance(goal, _Belief) and not goal.share:
        return goal.after
    return float(getattr(goal, LEVELS[goal.kind][0]))


def as_goal(given: Any) -> Any:
    """Return a goal from itself or its text.

    >>> str(as_goal("gdp=1")), str(as_goal("interval=20"))
    ('gdp=1', 'interval=20:0.95')
    """
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
