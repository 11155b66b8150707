"""A guarantee at every delta at once: a whole curve of approximate differential privacy."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from divulge import exact
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import Losses
from divulge.dp.variants.worst import worst_bracket
from divulge.guarantees.deciding.levels import Level
from divulge.guarantees.kinds.loss import LossGuarantee, level_of
from divulge.guarantees.terms import kind_of_guarantee, number, parameter

_CLOSE = 1e-9
"""Share at which the bound of a cell counts as met: more digits than are shown."""
_MOST_CELLS = 20_000
"""Open cells beyond which none is halved further: a curve that is flat for long keeps many open; their bounds count."""
_FIRST = 256
"""Edges at first: a heuristic; fewer take more rounds, more take more values of delta where one cell is enough."""
_ROUNDS = 40
"""Halvings at most: a cell is then 1e-12 of the first, nearer than `_CLOSE` needs."""
_ROUNDING = 1e-12
"""More than the relative error of a delta in doubles: bounds are those of a delta so much larger."""

_DEEPEST = 600.0
"""-log delta up to which the curve of a loss without end is followed; from there on its Renyi rate bounds it."""


@kind_of_guarantee
class ADPCurve(LossGuarantee):
    """(xi + sqrt(rho log 1/delta), delta)-DP for every delta, epsilon at least 0: what zCDP amounts to (nats).

    Examples
    --------
    >>> round(ADPCurve.of(dv.dp.GaussianMechanism(2.0), xi="1/8").rho, 6)  # 2 mu^2
    0.5
    """

    rho: float | Fraction = parameter(converter=number)
    xi: float | Fraction = parameter(converter=number, default=0)
    kind = "adp-curve"
    title = "approximate differential privacy at every delta"
    sentence = (
        "For every delta, and up to a slack of it, no set of outcomes is more than e^({xi} + sqrt({rho} log 1/delta)) "
        "times as likely under one secret as under another."
    )
    index = ("xi",)
    forms = (("rho",), ("xi", "rho"))

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        xi = exact.double_below(self.xi)
        found = worst_bracket(subject, "delta", lambda loss: curve_bounds(loss, xi))
        return (level_of(found.value, found.pair, "The best tests"),)


def curve_bounds(loss: PrivacyLoss, xi: float) -> Bracket:
    """Return bounds on the least rho of a pair: the largest (e - xi)^2 / -log delta(e) over e >= xi and 0.

    Between two e the square is at most the last one and delta the first; the cells with the largest bounds are divided.
    """
    start, loss = max(xi, 0.0), _in_doubles(loss)
    if loss.infinite > 0:
        return Bracket(math.inf, math.inf)
    end, far = loss.highest, 0.0
    if end == math.inf:
        if loss.rate == math.inf:
            return Bracket(0.0, math.inf)
        end = max(start, loss.rate) + 2 * math.sqrt(loss.rate * _DEEPEST)
        far = 4 * loss.rate * max(1.0, (end - xi) / (end - loss.rate)) ** 2
    if end <= start:
        return Bracket(0.0, far)

    def cost(delta: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return -np.log(np.minimum(delta * (1 + _ROUNDING), 1.0))

    def ratio(top: np.ndarray, below: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(top > 0, top**2 / below, 0.0)

    edges = np.linspace(start, end, _FIRST)
    a, b, costs = edges[:-1], edges[1:], cost(np.asarray(loss.delta(edges)))[:-1]
    best, settled = 0.0, far
    for _ in range(_ROUNDS):
        best = max(best, float(ratio(a - xi, costs).max(initial=0.0)))
        bounds = ratio(b - xi, costs)
        open_ = bounds > max(best, far) * (1 + _CLOSE)
        settled = max(settled, float(bounds.max(initial=0.0, where=~open_)))
        if not open_.any() or open_.sum() > _MOST_CELLS:
            break
        a, b, costs = a[open_], b[open_], costs[open_]
        middle = (a + b) / 2
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        costs = np.concatenate([costs, cost(np.asarray(loss.delta(middle)))])
    rest = float(ratio(b - xi, costs).max(initial=0.0))
    return Bracket(min(best, max(settled, rest)), max(best, settled, rest))


def _in_doubles(loss: PrivacyLoss) -> PrivacyLoss:
    """Return a loss whose many deltas are quick: of an exact one that of its doubles."""
    if not isinstance(loss, AtomicLoss) or not loss.exact:
        return loss
    masses = {"p": exact.as_floats(loss.p), "q": exact.as_floats(loss.q)}
    return replace(loss, **masses, p_only=float(loss.p_only), q_only=float(loss.q_only))


CURVE: tuple[type[LossGuarantee], ...] = (ADPCurve,)
"""The kinds of this file."""
