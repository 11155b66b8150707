"""The worst ordered pair: a measure of one privacy loss, maximized over all pairs of a subject."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.dp.knowledge import QUESTIONS, Answer, refused
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import Bracket, like, numbers
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import SubjectLike, as_subject, privacy_losses
from divulge.model.channel import Channel
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.model.shown import Shown
from divulge.ties import first_largest, first_smallest
from divulge.units import Unit, nats_per

Measure = Callable[[PrivacyLoss], float]

_CLOSE, _ROUNDING = 2e-12, 4e-15
"""Pairs whose excess, from plain sums, is this close to the largest, as a share or as a number, are computed again."""


@dataclass(frozen=True)
class Worst(Shown):
    """A value and the ordered pair (secret of P, secret of Q) that reaches it; for an array of questions, arrays.

    `float(worst)` is the value. Where that is a bound from above, `lower` is one from below; else they are equal.

    Examples
    --------
    >>> found = Worst(0.5, ("a", "b"))
    >>> float(found), found.pair
    (0.5, ('a', 'b'))
    """

    value: Any
    pair: Any
    lower: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Take the value for its own bound from below where none is given."""
        if self.lower is None:
            object.__setattr__(self, "lower", self.value)

    def __float__(self) -> float:
        return float(self.value)


def largest(found: Sequence[Worst]) -> Worst:
    """Return the largest value, however small, with the first pair that reaches it up to rounding."""
    values = [one.value for one in found]
    return Worst(max(values), found[first_largest(values, absolute=0.0)].pair, max(one.lower for one in found))


def worst(
    subject: SubjectLike,
    question: str,
    measure: Measure,
    neighbors: NeighborsLike = None,
    *,
    theorem: Measure | None = None,
    least: bool = False,
) -> Worst:
    """Return the largest (or least) value of `measure` over the ordered pairs of a subject, and the pair.

    The table of `knowledge` says whether a pair answers the question itself, from above, by `theorem` (by default what
    its loss says, which is one), or not at all.
    """
    found = [_answer(loss, question, measure, theorem or measure) for loss in privacy_losses(subject, neighbors)]
    if not least:
        return largest(found)
    values = [one.value for one in found]
    return Worst(min(values), found[first_smallest(values)].pair)


def _answer(loss: PrivacyLoss, question: str, measure: Measure, theorem: Measure) -> Worst:
    """Return what a loss answers: its own value, or a bound from above with the value of a pair that there is."""
    answer = asked(question, loss)
    if answer == "exact":
        return Worst(measure(loss), loss.pair)
    value, there = (theorem if answer == "theorem" else measure)(loss), loss.attained
    if there is loss and theorem is measure:
        return Worst(value, loss.pair)
    return Worst(value, loss.pair, min(value, measure(there)) if there is not None else min(value, 0.0))


def asked(question: str, loss: PrivacyLoss) -> Answer:
    """Return how a loss answers a question; raise where it does not."""
    answer = QUESTIONS[question].answers[loss.known]
    if answer == "refused":
        raise refused(question, loss.known)
    return answer


def worst_bracket(
    subject: SubjectLike,
    question: str,
    measure: Callable[[PrivacyLoss], Bracket],
    neighbors: NeighborsLike = None,
    *,
    floor: float = 0.0,
) -> Worst:
    """Return the largest upper bound over the ordered pairs, its pair, and the largest lower bound.

    A pair that only stands for a mechanism is bounded from below by one that there is, or by `floor`.
    """
    found: list[Worst] = []
    for loss in privacy_losses(subject, neighbors):
        bracket, there = measure(loss), loss if asked(question, loss) == "exact" else loss.attained
        lower = bracket.lower if there is loss else floor if there is None else measure(there).lower
        found.append(Worst(bracket.upper, loss.pair, min(lower, bracket.upper)))
    return largest(found)


def worst_delta(subject: SubjectLike, epsilon: Any, neighbors: NeighborsLike = None) -> Worst:
    """Return the largest delta(epsilon) over the ordered pairs, for a number or an array of epsilons.

    A channel is read once for each epsilon: all pairs are compared in plain sums, the largest computed in full.
    """
    e = numbers(epsilon, "epsilon")
    subject = as_subject(subject)

    def of_losses(epsilon: float) -> Worst:
        return worst(subject, "delta", lambda loss: loss.delta(epsilon), neighbors)

    find = _worst_rows(subject, neighbors) if isinstance(subject, Channel) else of_losses
    found = [find(float(v)) for v in e.ravel()]
    values, lower = (
        like(np.array([getattr(f, name) for f in found]).reshape(e.shape), e) for name in ("value", "lower")
    )
    return Worst(values, found[0].pair if e.ndim == 0 else [f.pair for f in found], lower)


def _worst_rows(channel: Channel, neighbors: NeighborsLike) -> Callable[[float], Worst]:
    matrix = channel.matrix.toarray() if channel.sparse else channel.matrix
    floats = channel.floats.toarray() if channel.sparse else channel.floats
    pairs = ordered_pairs(channel.secrets, neighbors)
    starts = np.flatnonzero(np.diff(pairs[:, 0], prepend=-1))
    groups = [(int(block[0, 0]), block[:, 1]) for block in np.split(pairs, starts[1:])]

    def full(i: int, j: int, epsilon: float) -> Worst:
        pair = channel.secrets[i], channel.secrets[j]
        return Worst(AtomicLoss.of_rows(matrix[i], matrix[j], pair).delta(epsilon), pair)

    def find(epsilon: float) -> Worst:
        scaled = np.exp(min(epsilon, 700.0)) * floats
        excess = np.concatenate([_excess(floats[i], scaled, others) for i, others in groups])
        near = np.flatnonzero(excess >= float(excess.max()) * (1 - _CLOSE) - _ROUNDING)
        return largest([full(int(i), int(j), epsilon) for i, j in pairs[near]])

    return find


def _excess(row: np.ndarray, scaled: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return sum_y (row_y - scaled_jy)_+ for each j of `others`."""
    every = len(others) >= len(scaled) - 1
    gap = row - (scaled if every else scaled[others])
    total = np.maximum(gap, 0.0, out=gap).sum(axis=1)
    return total[others] if every else total


def nats_of(value: float, argument: str, unit: Unit) -> float:
    """Return a number that is given in a unit in nats; raise DivulgeError where it is none."""
    return float(numbers(value, argument)) * nats_per(unit)


def in_unit(unit: Unit, found: Worst) -> Worst:
    """Return a worst value in nats in a unit."""
    return Worst(found.value / nats_per(unit), found.pair, found.lower / nats_per(unit))
