"""The worst outputs for the whole trajectory: P(y | x) / P(y) over all outputs y and all trajectories x that occur.

For a trajectory that ends in a state, what was put out so far counts through the vector P(x_t, outputs) divided by
P(outputs | trajectory); later outputs are likelier or not by a nonnegative map of it. So a vector that is nowhere
below another one is never better, and only Pareto-minimal ones are kept (maximal ones for the inverse lift).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.networks.cones import MOST, in_order
from divulge.networks.model import Steps
from divulge.networks.posteriors import ratio
from divulge.networks.ranking import logs
from divulge.networks.worst import Side, Worst, answer

Label = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
"""P(x_t, outputs) / P(outputs | trajectory), the outputs, the trajectory: each a pair (what was before, the last)."""


def worst_trajectory(steps: Steps, side: Side) -> Worst:
    """Return the worst outputs for side "pml" or "pmc", exact unless more than `MOST` vectors are left a state."""
    least = side == "pmc"
    labels: dict[int, list[Label]] = {}
    slack = 0.0
    for t in range(len(steps)):
        grown: dict[int, list[Label]] = {}
        for y in steps.outcomes(t):
            likelihoods = steps.likelihoods(t, y)
            for x, before in _onward(steps, t, labels):
                steps.in_time()
                if not likelihoods[x] > 0:
                    if least and any(_weight(steps, t, one[0], likelihoods) > 0 for one in before):
                        return _ruled_out(steps, side, t, x, before, y, likelihoods)
                    continue
                for vector, outputs, path in before:
                    moved = [v * (w / likelihoods[x]) for v, w in zip(vector, likelihoods, strict=True)]
                    grown.setdefault(x, []).append((tuple(moved), (outputs, y), (path, x)))
        labels, lost = _kept(grown, least, steps.in_time)
        slack += lost
    ends = [(sum(vector), outputs, path) for group in labels.values() for vector, outputs, path in group]
    total, outputs, path = (max if least else min)(ends, key=lambda one: one[0])
    size = total if least else ratio(1 if steps.exact else 1.0, total)
    value = tuple(steps.states[x] for x in in_order(path))
    return answer(steps, side, "the trajectory", size, slack, steps.labels(in_order(outputs)), value)


def _onward(steps: Steps, t: int, labels: dict[int, list[Label]]) -> list[tuple[int, list[Label]]]:
    """Return for each next state the labels that lead there, with P(x_t, outputs before) in place of their vector."""
    if t == 0:
        start = [(tuple(steps.start.tolist()), (), ())]
        return [(x, start) for x, p in enumerate(steps.start) if p > 0]
    move = steps.moves[t - 1]
    moved = {
        x: [(tuple((np.array(v, dtype=move.dtype) @ move).tolist()), outputs, path) for v, outputs, path in group]
        for x, group in labels.items()
    }
    return [
        (z, [one for x, group in moved.items() if move[x, z] > 0 for one in group])
        for z in range(len(steps.states))
        if any(move[x, z] > 0 for x in moved)
    ]


def _weight(steps: Steps, t: int, vector: tuple[Any, ...], likelihoods: np.ndarray) -> Any:
    return sum(v * w for v, w in zip(vector, likelihoods, strict=True))


def _ruled_out(steps: Steps, side: Side, t: int, x: int, before: list[Label], y: Any, likelihoods: np.ndarray) -> Worst:
    """Return outputs that rule a trajectory out: its state cannot put out what another one did."""
    vector, outputs, path = next(one for one in before if _weight(steps, t, one[0], likelihoods) > 0)
    states, alpha = [*in_order(path), x], np.array(vector) * likelihoods
    listed = [*in_order(outputs), y]
    for later in range(t + 1, len(steps)):  # any outputs that can follow
        states.append(next(z for z, p in enumerate(steps.moves[later - 1][states[-1]]) if p > 0))
        alpha = alpha @ steps.moves[later - 1]
        y, alpha = next(
            (y, after) for y in steps.outcomes(later) if (after := alpha * steps.likelihoods(later, y)).sum() > 0
        )
        listed.append(y)
    value = tuple(steps.states[z] for z in states)
    return answer(steps, side, "the trajectory", math.inf, 0.0, steps.labels(listed), value)


def _kept(grown: dict[int, list[Label]], least: bool, look: Callable[[], None]) -> tuple[dict[int, list[Label]], float]:
    """Return the labels of each state that no other one dominates, and the slack where they were too many."""
    out: dict[int, list[Label]] = {}
    slack = 0.0
    for x, group in grown.items():
        unique = list({label[0]: label for label in group}.values())
        if least:
            unique.sort(key=lambda one: -sum(one[0]))
        else:
            unique.sort(key=lambda one: sum(one[0]))
        front: list[Label] = []
        for label in unique:
            look()
            if not any(_dominates(other[0], label[0], least) for other in front):
                front.append(label)
        if len(front) > MOST:
            front, lost = _thinned(front, least)
            slack = max(slack, lost)
        out[x] = front
    return out, slack


def _dominates(one: tuple[Any, ...], other: tuple[Any, ...], least: bool) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a >= b for a, b in pairs) if least else all(a <= b for a, b in pairs)


def _thinned(front: list[Label], least: bool) -> tuple[list[Label], float]:
    """Return `MOST` of the labels, and by how much in nats one that was left out may be better than its next."""
    sizes = logs([label[0] for label in front])
    chosen, worse = [0], np.full(len(front), np.inf)
    while len(chosen) < MOST or not np.isfinite(worse.max()):
        with np.errstate(invalid="ignore"):
            gaps = (sizes - sizes[chosen[-1]]) * (1 if least else -1)
        gaps = np.where(np.isnan(gaps), 0.0, gaps)  # both are 0
        worse = np.minimum(worse, gaps.max(axis=1).clip(0.0))
        if worse.max() <= 0:
            break
        chosen.append(int(worse.argmax()))
    return [front[i] for i in sorted(chosen)], float(worse.max()) * (1 + 1e-12)
