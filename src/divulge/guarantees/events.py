"""Which chances an event of outcomes may have with and without a secret, under guarantees: the region of all tests.

A point (x, y) is an event S of outcomes with P(S | not A) = x, the false alarms, and P(S | A) = y, the hits. All
constraints here are convex and hold for the two-outcome mechanism (S or not) exactly when they hold for S, so that each
point of the region is attained by one, and nothing outside is by any mechanism.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from divulge.dp.variants.tradeoff import TradeOff
from divulge.guarantees.kinds.loss import ADP, GDP, KL, RDP, TV, ZCDP
from divulge.roots import turn

SLACK = 1e-12
"""Share by which a constraint is loosened for bounds and tightened for examples: more than the rounding of doubles."""

_ROUNDED = 1e-15
"""A few times the rounding of 1 - x."""

_ORDERS = np.union1d(np.geomspace(1e-4, 1e5, 600), [1.0])
"""alpha - 1 of the orders at which concentrated DP is held against an event; fewer orders bound less, and are sound."""

_GAP = float(np.max(np.diff(np.log(_ORDERS)))) ** 2
"""More than the share by which the parabola of the bounds lies below its chords between these orders."""

_HALVINGS = 200
"""Halvings at most: after 64 of 700 the ends are less than an ulp of e^s apart, though doubles near 0 go on."""

FARTHEST = -700.0
"""The logarithm of the rarest event that is told from none."""

Constraint = Callable[[float, float, float], bool]
"""(x, y, slack) -> whether the event may be, for x <= y; 1 - y and 1 - x are those of its complement."""


def _approximate(epsilon: float, delta: float) -> Constraint:
    if epsilon >= 700:
        return lambda x, y, slack: True
    grown = math.exp(epsilon)

    def kept(x: float, y: float, slack: float) -> bool:
        near = y <= (grown * x + delta) * (1 + slack)
        rounding = math.copysign(_ROUNDED * (1 + grown), slack)
        return near and 1 - x <= (grown * (1 - y) + delta) * (1 + slack) + rounding

    return kept


def _gaussian(mu: float) -> Constraint:
    from scipy.special import ndtri

    def kept(x: float, y: float, slack: float) -> bool:
        if x <= 0 or y >= 1:
            return x == y or mu == math.inf
        apart = -ndtri(x) - (ndtri(1 - y) if y > 0.5 else -ndtri(y))
        return bool(apart <= mu + slack * (1 + mu))

    return kept


def _renyi(h: np.ndarray, bounds: np.ndarray) -> Constraint:
    """Return D_(1 + h) <= bound both ways, for orders above 1: of events these are convex in (x, y)."""

    def moment(a: float, b: float) -> np.ndarray:
        """Return (alpha - 1) D_alpha of the events (a, 1 - a) and (b, 1 - b)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            yes = (1 + h) * np.log(a) - h * np.log(b) if a > 0 else np.full(h.shape, -np.inf)
            no = (1 + h) * np.log1p(-a) - h * np.log1p(-b) if a < 1 else np.full(h.shape, -np.inf)
        return np.logaddexp(yes, no)

    def kept(x: float, y: float, slack: float) -> bool:
        size = 2.0 + sum(-math.log(p) for p in (x, y, 1 - x, 1 - y) if p > 0)
        room = h * bounds * (1 + slack) + math.copysign(_ROUNDED, slack) * (1 + h) * size
        return bool((moment(y, x) <= room).all() and (moment(x, y) <= room).all())

    return kept


def _mean(epsilon: float) -> Constraint:
    def divergence(a: float, b: float) -> float:
        terms = [(p, q) for p, q in ((a, b), (1 - a, 1 - b)) if p > 0]
        return math.inf if any(q == 0 for _, q in terms) else math.fsum(p * math.log(p / q) for p, q in terms)

    def kept(x: float, y: float, slack: float) -> bool:
        room = epsilon * (1 + slack) + math.copysign(_ROUNDED, slack)
        return divergence(y, x) <= room and divergence(x, y) <= room

    return kept


def _concentrated(rho: float, xi: float) -> Constraint:
    """Return D_alpha <= xi + rho alpha; examples are held to it at all orders, by chords and by the largest loss."""
    bounds = xi + rho * (1 + _ORDERS)
    every, between, last = _renyi(_ORDERS, bounds), _renyi(_ORDERS, bounds * (1 - _GAP)), _approximate(bounds[-1], 0.0)

    def kept(x: float, y: float, slack: float) -> bool:
        return every(x, y, slack) if slack > 0 else between(x, y, slack) and last(x, y, slack)

    return kept


def _of_order(alpha: float, epsilon: float) -> Constraint:
    if alpha == math.inf:
        return _approximate(epsilon, 0.0)
    return _mean(epsilon) if alpha == 1 else _renyi(np.array([alpha - 1.0]), np.array([epsilon]))


NATIVE: dict[type, Callable[..., Constraint]] = {
    ADP: _approximate,
    TV: lambda distance: _approximate(0.0, distance),
    GDP: _gaussian,
    KL: _mean,
    RDP: _of_order,
    ZCDP: _concentrated,
}
"""Kind -> what it says of an event, from its parameters; all of it."""


def _curve(curve: TradeOff) -> Constraint:
    def kept(x: float, y: float, slack: float) -> bool:
        hit, missed = 1.0 - y, float(curve(x))
        return missed <= hit * (1 + slack) + math.copysign(_ROUNDED, slack)

    return kept


def _between(before: float, lower: float, upper: float) -> Constraint:
    """Return that the posterior is in [lower, upper] after the event and after its complement."""
    odds = before / (1 - before)
    most = upper / (1 - upper) / odds if upper < 1 else math.inf
    least = lower / (1 - lower) / odds

    def kept(x: float, y: float, slack: float) -> bool:
        rounding = math.copysign(_ROUNDED, slack)
        rising = x > 0 and y <= most * x * (1 + slack) if most < math.inf else True
        return (rising or y == 0) and 1 - y >= least * (1 - x) * (1 - slack) - rounding * (1 + least)

    return kept


@lru_cache(maxsize=256)
def constraints(given: tuple[Any, ...], before: float, lower: float, upper: float) -> tuple[Constraint, ...]:
    """Return what guarantees of kinds in `NATIVE`, trade-off functions and a range of the posterior say of an event."""
    found = [
        _curve(one) if isinstance(one, TradeOff) else NATIVE[type(one)](*map(float, one.values().values()))
        for one in given
    ]
    return (*found, _between(before, lower, upper))


def farthest(rules: Sequence[Constraint], at: Callable[[float], tuple[float, float]], inside: bool = False) -> float:
    """Return the largest s in [0, 1] at which the point at(s) is in the region, on a segment that starts in it.

    Rounded up, or, with `inside`, down.
    """
    slack = -SLACK if inside else SLACK

    def kept(s: float) -> bool:
        x, y = at(s)
        return all(rule(x, y, slack) for rule in rules)

    if kept(1.0):
        return 1.0
    low, high = FARTHEST, 0.0  # halved in its logarithm while it may be small
    if not kept(math.exp(low)):
        return 0.0 if inside else math.exp(low)
    low, high = turn(lambda log: not kept(math.exp(log)), low, high, steps=_HALVINGS)
    return math.exp(low) if inside else min(1.0, math.exp(high))


def largest(value: Callable[[float], float]) -> float:
    """Return the largest value of a concave function on [0, 1], rounded up (golden section, then chords)."""
    step = (math.sqrt(5) - 1) / 2
    low, high = 0.0, 1.0
    a, b = high - step * (high - low), low + step * (high - low)
    at = {x: value(x) for x in (low, a, b, high)}
    while high - low > 1e-13:
        if at[a] >= at[b]:
            high, b = b, a
            a = high - step * (high - low)
            new = a
        else:
            low, a = a, b
            b = low + step * (high - low)
            new = b
        if not low < new < high or not a < b:
            break
        at[new] = value(new)
    left, middle, right = low, (a if at[a] >= at[b] else b), high
    best = at[middle]
    risen = (best - at[left]) * (right - middle) / (middle - left) if middle > left else 0.0
    fallen = (best - at[right]) * (middle - left) / (right - middle) if right > middle else 0.0
    return max(max(at.values()), best + max(risen, fallen, 0.0))
