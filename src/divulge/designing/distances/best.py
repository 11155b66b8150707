"""The best mechanism under metric privacy, by the method that its size allows."""

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from divulge import clock
from divulge.designing.distances.certified import LOWEST, certified
from divulge.designing.distances.program import Program
from divulge.designing.distances.spanner import Spanner, spanner
from divulge.designing.linear.scores import Score, as_score
from divulge.designing.result import Design
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.mechanisms.planar import planar_geometric
from divulge.model.mechanisms.private import exponential
from divulge.model.metrics.metric import Metric
from divulge.model.prior import Prior

EXACT, BRACKET, FIRST_ORDER, LATE = "linear-program", "spanner-bracket", "first-order", "time-limit"

_ROWS: dict[str, int] = {EXACT: 40_000, BRACKET: 120_000}
"""Rows of the first program up to which a method is taken. 49 places on a grid have 15,288 (2 s), 100 have 68,400
(two programs of 10 and 20 s), 400 have 1,185,600."""

_BROKEN = 1e-10
"""Constraints that are broken by more are added to the program."""

_ROUNDS, _ITERATIONS = 60, 2000
"""Times that constraints are added; steps of the first-order method, 40 s for 400 places."""

_SPANNED = 5e-8
"""Seconds of a slow core, over the cube of the number of places, that near pairs and a first program take: measured."""
_CERTIFIED, _MOMENT = 1e-5, 0.2
"""The same over the square for integers that keep the promise; and seconds that count as none, as of 140 places."""
_MOST_PLACES = 900
"""With more places not even the first-order method comes to a bound in minutes."""


@dataclass(frozen=True)
class _Asked:
    """The program: what releasing y costs under x, times the probability of x, and the promise about the secrets."""

    prior: Prior
    promise: MetricPrivacy
    metric: Metric
    cost: np.ndarray
    epsilon: float
    deadline: float

    def left(self) -> float:
        return self.deadline - clock.now()

    def mean(self, channel: np.ndarray) -> float:
        return math.fsum((self.cost * channel).ravel().tolist())


def best_about_distances(
    prior: Prior, promised: tuple[Guarantee, ...], utility: Any, bits: int, time_limit: float | None
) -> Design:
    """Return the design under one promise of metric privacy, for a score or the mean distance."""
    started = clock.now()
    promise = promised[0]
    if len(promised) > 1 or not isinstance(promise, MetricPrivacy):
        raise DivulgeError.of(
            "guarantees", "be metric privacy alone, where it is among them", "their number", str(len(promised))
        )
    epsilon = float(promise.epsilon)
    metric = promise.metric.reordered(prior.secrets, "prior")
    if not 0 < epsilon < math.inf:
        raise DivulgeError.of("epsilon", "be positive and finite for a design", "it", f"{epsilon:g}")
    if not epsilon * metric.least >= LOWEST:
        raise DivulgeError.of("epsilon", f"be at least {LOWEST:g} over the least distance, for a design", "it",
                              f"{epsilon:g}")  # fmt: skip
    if len(metric) > _MOST_PLACES:
        raise DivulgeError.of("metric", f"have at most {_MOST_PLACES} places for a design", "it", str(len(metric)),
                              "named mechanisms, such as planar_geometric with remap, have no such limit.")  # fmt: skip
    goal = _score(utility, metric)
    square = callable(goal.of) or np.shape(cast(Any, goal.of)) == (len(prior), len(prior))
    scores, outcomes = goal.table(prior.secrets, prior.secrets if square else None)
    if not np.isfinite(scores).all() or goal.worst:
        raise DivulgeError.of("utility", "be a finite score on average, under metric privacy", "it", goal.name)
    cost = prior.floats[:, None] * -scores
    deadline = math.inf if time_limit is None else started + time_limit
    if deadline - clock.now() < _CERTIFIED * len(metric) ** 2 - _MOMENT:
        raise clock.out_of_time(
            f"to decide the promise for {len(metric)} places",
            "allow it longer, or take a named mechanism, such as planar_geometric with remap.",
        )
    deadline -= min(_CERTIFIED * len(metric) ** 2, (deadline - started) / 2) if deadline < math.inf else 0.0
    asked = _Asked(prior, promise, metric, cost, epsilon, deadline)
    found, bound, method = _solved(asked)
    integers, kept = certified(found, promise, prior.secrets, bits)
    value = math.fsum((cost[:, kept] * (integers / 2.0**bits)).ravel().tolist())
    sign = 1.0 if goal.least else -1.0
    labels = [outcomes[int(y)] for y in kept]
    return Design(
        prior, promised, goal, integers, bits, labels, sign * value, sign * min(bound, value), method,
        clock.now() - started, tuple(outcomes), unrounded=sign * asked.mean(found),
    )  # fmt: skip


def _score(utility: Any, metric: Metric) -> Score:
    if isinstance(utility, str) and utility == "distance":
        return Score(metric.matrix, least=True, name="distance")
    score = as_score(utility)
    if score is None:
        hint = 'utility="distance" is the mean distance between the place and what is released.'
        raise DivulgeError.of("utility", "be a score under metric privacy", "it", repr(utility), hint)
    return score


def _solved(asked: _Asked) -> tuple[np.ndarray, float, str]:
    """Return (channel, lower bound of the cost, method)."""
    if asked.left() < _SPANNED * len(asked.metric) ** 3:
        return _named(asked), float(asked.cost.min(axis=1).sum()), LATE
    near = spanner(asked.metric, 1)
    rows = 2 * len(near.i) * asked.cost.shape[1]
    if rows <= _ROWS[EXACT]:
        return _exactly(asked, near)
    if rows <= _ROWS[BRACKET]:
        return _bracketed(asked, near)
    program = Program(asked.cost, asked.metric, asked.epsilon, *near.directed)
    program.solve("pdlp", asked.left(), _ITERATIONS)
    return _named(asked), program.bound(), FIRST_ORDER


def _exactly(asked: _Asked, near: Spanner) -> tuple[np.ndarray, float, str]:
    """Return the optimum: the program over near pairs, to which the constraints that it breaks are added."""
    program = Program(asked.cost, asked.metric, asked.epsilon, *near.directed)
    i, j = asked.metric.pairs
    both = np.concatenate([i, j]), np.concatenate([j, i])
    bound = -math.inf
    for _ in range(_ROUNDS):
        solved = program.solve("simplex", asked.left())
        bound = max(bound, program.bound())
        if not solved:
            return _named(asked), bound, EXACT
        broken = program.violated(*both, _BROKEN)
        if not len(broken[0]):
            break
        program.add(*broken)
    return program.channel, bound, EXACT


def _bracketed(asked: _Asked, near: Spanner) -> tuple[np.ndarray, float, str]:
    """Return the optimum at epsilon over the dilation, which keeps epsilon, and a relaxation's bound at epsilon."""
    relaxed = Program(asked.cost, asked.metric, asked.epsilon, *near.directed)
    relaxed.solve("ipm", asked.left() / 3)
    wide = spanner(asked.metric, 2)
    kept = Program(asked.cost, asked.metric, asked.epsilon / wide.dilation, *wide.directed)
    solved = kept.solve("ipm", asked.left())
    return (kept.channel if solved else _named(asked)), relaxed.bound(), BRACKET


def _named(asked: _Asked) -> np.ndarray:
    """Return the best named mechanism after its outcomes were replaced by the cheapest ones."""
    made = [exponential(asked.metric, asked.epsilon)]
    if asked.metric.size is not None and asked.metric.norm == "euclidean":
        made.append(planar_geometric(asked.metric, asked.epsilon))
    found = [_cheapest(asked, channel.floats) for channel in made]
    return min(found, key=asked.mean)


def _cheapest(asked: _Asked, channel: np.ndarray) -> np.ndarray:
    """Return the channel whose outcomes are each replaced by the one that costs least after it."""
    p = asked.prior.floats[:, None]
    unit = np.where(p > 0, asked.cost / np.where(p > 0, p, 1.0), 0.0)
    best = ((p * channel).T @ unit).argmin(axis=1)
    out = np.zeros(asked.cost.shape)
    for y, z in enumerate(best.tolist()):
        out[:, z] += channel[:, y]
    return out
