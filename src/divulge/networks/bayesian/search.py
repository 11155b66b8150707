"""The worst outputs of a network: all of them listed, or branch and bound (Land, Doig 1960) with a bracket."""

import heapq
import math
from collections.abc import Hashable
from math import prod
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.errors import DivulgeError
from divulge.networks.bayesian.elimination import Entangled
from divulge.networks.bayesian.network import Network, Question
from divulge.networks.listing import LISTED
from divulge.networks.posteriors import middle, ratio
from divulge.networks.ranking import Side, logs, near_worst
from divulge.networks.worst import FAR, Worst

QUESTIONS = 1000
"""Sums over the network before a bracket is returned: some seconds for tables of a few thousand entries."""

_ROUNDING = 1e-9
"""Room for doubles: sums of positive terms over tables of at most 2^24 entries are off by far less than this."""


def worst_outputs(network: Network, secret: Hashable, side: Side, until: float) -> Worst:
    """Return the worst outputs for a secret; what is not ruled out by then stays in the bracket."""
    if side not in ("pml", "pmc", "ldp"):
        raise DivulgeError.unknown("side", side, ("pml", "pmc", "ldp"))
    question = network.question(secret)
    before = network.weights(question, {}, [])
    values = [value for value, p in before.items() if p > 0]
    prior = np.array([before[value] for value in values])
    if question.event and True not in values:
        raise DivulgeError.of("secret", "be possible", f"{question.name!r}", "an event that cannot occur")
    asked = [values.index(True)] if question.event and side != "ldp" else list(range(len(values)))
    search = _Search(network, question, values, prior, asked, side)
    if prod(o.channel.shape[1] for o in network.outputs.values()) * len(values) <= LISTED:
        try:
            return search.listed()
        except Entangled:
            pass  # one table of all outputs ties together what is apart where they are fixed one by one
    return search.branched(until)


class _Search:
    """The question, and the outputs in the order in which they are fixed: those that say most first."""

    def __init__(
        self,
        network: Network,
        question: Question,
        values: list[Hashable],
        prior: np.ndarray,
        asked: list[int],
        side: Side,
    ) -> None:
        self.network, self.question, self.values, self.prior = network, question, values, prior
        self.side: Side = side
        self.asked = asked
        self.strength = {name: _spread(o.channel.matrix) for name, o in network.outputs.items()}
        self.order = sorted(network.outputs, key=lambda name: -self.strength[name])

    def listed(self) -> Worst:
        """Return the worst of all outputs from one table of them."""
        names = list(self.network.outputs)
        weights = self.network.weights(self.question, {}, names)
        table = np.array([np.asarray(weights[value]).ravel() for value in self.values])
        asked = range(len(self.values)) if self.side == "ldp" else self.asked
        near = near_worst(logs(table.T.tolist()), logs([self.prior.tolist()])[0], self.side, asked)
        best = max(((*self._size(table[:, k]), -k) for k in near), key=lambda one: (one[0], one[2]))
        shape = [self.network.outputs[name].channel.shape[1] for name in names]
        place: Any = np.unravel_index(-best[2], shape) if shape else ()
        outputs = {name: self.network.outputs[name].channel.outcomes[k] for name, k in zip(names, place, strict=True)}
        size = middle(best[0])
        return self._answer(size, size, outputs, best[1])

    def _size(self, weights: np.ndarray) -> tuple[Any, int]:
        """Return the ratio of P(u, y) over u against the prior, and the position of the value."""
        total = weights.sum()
        lifts = [ratio(w, p) for w, p in zip(weights.tolist(), self.prior.tolist(), strict=True)]
        asked = [(lifts[i], i) for i in self.asked]
        high, low = max(asked, key=lambda one: one[0]), min(asked, key=lambda one: one[0])
        whole = self.prior.sum()
        if self.side == "pml":
            return ratio(high[0] * whole, total), high[1]
        if self.side == "pmc":
            return ratio(total, low[0] * whole), low[1]
        return ratio(high[0], low[0]), high[1]

    def branched(self, until: float) -> Worst:
        """Return a bracket: outputs are fixed one by one, the most promising first, until nothing can be worse."""
        best: Any = None
        waiting: list[tuple[float, int, tuple[int, ...]]] = [(-self._bound(self.prior, ()), 0, ())]
        ceiling, asked = math.inf, 0
        while waiting:
            bound, _, fixed = heapq.heappop(waiting)
            if best is not None and -bound <= best[0] * (1 + _ROUNDING):
                ceiling = best[0]
                break
            if asked >= QUESTIONS or clock.now() >= until:
                ceiling = -bound
                break
            name = self.order[len(fixed)]
            given = dict(zip(self.order, fixed, strict=False))
            asked += 1
            weights = self.network.weights(self.question, given, [name])
            table = np.array([np.asarray(weights[value]).ravel() for value in self.values])
            for y in np.flatnonzero(table.sum(axis=0) > 0).tolist():
                here = (*fixed, y)
                if len(here) == len(self.order):
                    size, at = self._size(table[:, y])
                    if best is None or exact.as_float(size) > best[0]:
                        best = exact.as_float(size), at, here
                else:
                    heapq.heappush(waiting, (-self._bound(table[:, y], here), -len(here), here))
        else:
            ceiling = best[0] if best else 1.0
        if best is None:
            best = self._dive(waiting)
        outputs = {
            name: self.network.outputs[name].channel.outcomes[y] for name, y in zip(self.order, best[2], strict=True)
        }
        ordered = {name: outputs[name] for name in self.network.outputs}
        return self._answer(best[0], max(ceiling, best[0]), ordered, best[1], exact=False)

    def _bound(self, weights: np.ndarray, fixed: tuple[int, ...]) -> float:
        """Return what no outputs that begin so exceed: each channel moves the odds of a value by at most its ratio."""
        more = prod(self.strength[name] for name in self.order[len(fixed) :])
        share, prior = _shares(weights), _shares(self.prior)
        if (share == 0).sum() > (weights == 0).sum():
            return math.inf  # a share that doubles do not hold
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = share / (1 - share)
            if self.side == "ldp":
                lifts = share / prior
                return float(lifts.max() / lifts.min() * more)
            if self.side == "pml":
                moved = np.where(share > 0, np.where(share < 1, 1 / (1 + 1 / (odds * more)), 1.0), 0.0)
                return float((moved / prior)[self.asked].max()) * (1 + _ROUNDING)
            moved = np.where(share > 0, np.where(share < 1, 1 / (1 + more / odds), 1.0), 0.0)
            return float((prior / moved)[self.asked].max()) * (1 + _ROUNDING)

    def _dive(self, waiting: list[tuple[float, int, tuple[int, ...]]]) -> tuple[float, int, tuple[int, ...]]:
        """Return complete outputs after the most promising beginning, each time by the outcome with most promise."""
        fixed = min(waiting)[2] if waiting else ()
        while True:
            given, name = dict(zip(self.order, fixed, strict=False)), self.order[len(fixed)]
            weights = self.network.weights(self.question, given, [name])
            table = np.array([np.asarray(weights[value]).ravel() for value in self.values])
            seen = np.flatnonzero(table.sum(axis=0) > 0).tolist()
            last = len(fixed) + 1 == len(self.order)
            if last:
                sizes = [exact.as_float(self._size(table[:, y])[0]) for y in seen]
            else:
                sizes = [self._bound(table[:, y], (*fixed, y)) for y in seen]
            y = seen[int(np.argmax(sizes))]
            fixed = (*fixed, y)
            if last:
                size, at = self._size(table[:, y])
                return exact.as_float(size), at, fixed

    def _answer(self, low: Any, high: Any, outputs: dict[str, Hashable], at: int, *, exact: bool = True) -> Worst:
        if (exact and not isinstance(low, float)) or (low == math.inf and exact):
            return Worst(self.question.name, self.side, low, high, outputs, self.values[at], not isinstance(low, float))
        if low != math.inf:
            low = (
                max(1.0, low * (1 - _ROUNDING))
                if self.side != "pml" or not self.question.event
                else low * (1 - _ROUNDING)
            )
        return Worst(self.question.name, self.side, low, high * (1 + _ROUNDING), outputs, self.values[at], False)


def _shares(weights: np.ndarray) -> np.ndarray:
    """Return numbers of at least 0, of any size, as doubles that sum to 1."""
    sizes = logs([weights.tolist()])[0]
    return np.exp(sizes - np.logaddexp.reduce(sizes))


def _spread(matrix: np.ndarray) -> float:
    """Return max over outcomes of the greatest ratio of two entries of its column."""
    table = logs(matrix.T.tolist())
    table = table[(table > -np.inf).any(axis=1)]
    more = float((table.max(axis=1) - table.min(axis=1)).max())
    return math.exp(more) * (1 + _ROUNDING) if more < FAR else math.inf
