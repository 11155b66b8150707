"""The worst outputs of a chain: which of all |Y|^T sequences moves belief in a secret most.

Every leakage is a ratio of two linear functions of the likelihoods so far, for fixed likelihoods from there on, and the
other way round: it is greatest at extreme rays of two cones (`cones.py`), which are kept step by step.
"""

import math
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.measures.numeric.bracket import Bracket
from divulge.model.shown import Shown, number
from divulge.networks.cones import Cone, grown, in_order, whole
from divulge.networks.listing import allow_values
from divulge.networks.model import Remembered, Steps
from divulge.networks.posteriors import ratio
from divulge.networks.ranking import Side, logs, near_worst

MAPPED = 1_024
"""Memories times states that the worst outputs are looked for among: ten steps of so many took 40 seconds, and of four
times as many would take sixteen times as long."""

FAR = 700.0
"""Nats beyond which a ratio is no double."""

_VAGUE = 10
"""Times the lower end: a bracket whose upper end is larger says what is not exceeded, and not what there is."""

_GIVEN = "`pml` and `posterior` of outputs that are given take more; or name fewer steps."


@dataclass(frozen=True, repr=False)
class Worst(Shown):
    """The greatest ratio that any outputs reach, and the outputs that reach it.

    Attributes
    ----------
    lower, upper : Fraction or float
        The greatest lift max P(u | y) / P(u) for side "pml", the greatest inverse lift for "pmc", the greatest ratio
        P(y | u) / P(y | v) for "ldp"; at least 1, infinite where a value is ruled out. Equal where `exact`.
    outputs : tuple, or mapping from name to outcome
        Outcomes that reach `lower`; of a chain a tuple with None where nothing goes out, of a network by name.
    value : hashable
        The value of the secret whose belief moves so.
    exact : bool
        Whether `lower` is the answer, proved in fractions.

    Examples
    --------
    >>> moves, coin = [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> dv.Chain(["1/2", "1/2"], moves, coin, steps=3).worst(1)
    greatest lift of step 1: 49/26 for value 0 (exact), at outputs (0, 0, 0)
    """

    secret: str
    side: Side
    lower: float | Fraction
    upper: float | Fraction
    outputs: tuple[Hashable, ...] | Mapping[str, Hashable]
    value: Hashable
    exact: bool

    def __repr__(self) -> str:
        what = {"pml": "lift", "pmc": "inverse lift", "ldp": "ratio"}[self.side]
        size = number(self.lower) if self.lower == self.upper else f"{number(self.lower)} to {number(self.upper)}"
        told = " (exact)" if self.exact else ""
        shown = f"greatest {what} of {self.secret}: {size} for value {self.value}{told}, at outputs {self.outputs}"
        return f"{shown}; {self.caution}" if self.caution else shown

    @property
    def caution(self) -> str:
        """What is to be said beside a bracket that is too wide to tell much; nothing beside others."""
        if not self.lower * _VAGUE < self.upper:
            return ""
        return (
            "between the two ends nothing is known: the upper one was proved and may be far above what any outputs "
            "reach; fewer steps or states are told more closely"
        )

    @property
    def leakage(self) -> Bracket:
        """The logarithms of `lower` and `upper`, in nats."""
        if self.exact and self.lower < math.inf:
            level = exact.log(Fraction(self.lower))
            return Bracket(level, level)
        low, high = (math.log(v) if v < math.inf else math.inf for v in (self.lower, self.upper))
        return Bracket(math.nextafter(low, -math.inf) if low < math.inf else low, math.nextafter(high, math.inf))


def forward_cones(steps: Steps) -> Iterator[Cone]:
    """Yield for each step t the cone of the vectors P(x_t, outputs up to t)."""
    cone = Cone([tuple(_entries(steps.start))], [()])
    for t in range(len(steps)):
        cone = grown(cone, ((y, whole(_onward(steps, t, y))) for y in steps.outcomes(t)), steps.in_time)
        yield cone


def backward_cones(steps: Steps) -> list[Cone]:
    """Return for each step t the cone of the vectors P(outputs after t | x_t)."""
    cone = Cone([tuple(_entries(steps.ones))], [()])
    out = [cone]
    for t in range(len(steps) - 1, 0, -1):
        cone = grown(cone, ((y, whole(_onward(steps, t, y).T)) for y in steps.outcomes(t)), steps.in_time)
        out.append(cone)
    return out[::-1]


def _entries(vector: np.ndarray) -> list[Any]:
    return whole([vector.tolist()])[0]


def _onward(steps: Steps, t: int, outcome: int | None) -> np.ndarray:
    """Return P(x_t, outcome | x_{t-1}); for t = 0 a diagonal matrix that multiplies P(x_0)."""
    likelihoods = steps.likelihoods(t, outcome)
    return np.diag(likelihoods) if t == 0 else steps.moves[t - 1] * likelihoods[None, :]


def worst_of_step(steps: Steps, t: int, side: Side, name: str) -> Worst:
    """Return the worst outputs for the state at step t, from all outputs."""
    before = next(cone for i, cone in enumerate(forward_cones(steps)) if i == t)
    return between(steps, t, before, backward_cones(steps)[t], side, name)


def between(steps: Steps, t: int, before: Cone, after: Cone, side: Side, name: str) -> Worst:
    """Return the worst pair of a ray P(x_t, past) and a ray P(future | x_t)."""
    here = [x for x, p in enumerate(steps.marginals[t]) if p > 0]
    prior = [Fraction(steps.marginals[t][x]) for x in here]
    pasts = [tuple(ray[x] for x in here) for ray in before.rays]
    futures = [tuple(ray[x] for x in here) for ray in after.rays]
    weights = logs(pasts)[:, None, :] + logs(futures)[None, :, :]
    found = near_worst(weights.reshape(-1, len(here)), logs([prior])[0], side, range(len(here)))
    best: Any = None
    for place in found:
        i, j = divmod(place, len(futures))
        joint = [Fraction(a) * Fraction(b) for a, b in zip(pasts[i], futures[j], strict=True)]
        size, at = _ratio(joint, prior, side)
        if best is None or size > best[0]:
            best = size, at, i, j
    size, at, i, j = best
    outputs = steps.labels([*in_order(before.outputs[i]), *reversed(in_order(after.outputs[j]))])
    slack = before.slack + after.slack
    return answer(steps, side, name, size, slack, outputs, steps.states[here[at]], _most(steps, side, prior))


def _ratio(joint: Sequence[Any], prior: Sequence[Any], side: Side, about: list[int] | None = None) -> tuple[Any, int]:
    """Return the ratio of a side from P(u, y) up to a factor and P(u), and the position of the value it is about."""
    lifts = [weight / p for weight, p in zip(joint, prior, strict=True)]
    asked = lifts if about is None or side == "ldp" else [lifts[i] for i in about]
    top, bottom = max(asked), min(asked)
    total = sum(joint)
    if not total:  # doubles that underflowed: what is known is that a ratio is at least 1
        return 1, 0
    if side == "pml":
        return ratio(top, total), lifts.index(top)
    if side == "pmc":
        return ratio(total, bottom), lifts.index(bottom)
    return ratio(top, bottom), lifts.index(top)


def _most(steps: Steps, side: Side, prior: Sequence[Any]) -> Any:
    """Return what no outputs exceed, however many: a lift is 1 / P(u) where they leave no doubt."""
    return 1 / min(prior) if side == "pml" and not steps.faint else math.inf


def answer(
    steps: Steps,
    side: Side,
    name: str,
    size: Any,
    slack: float,
    outputs: tuple[Hashable, ...],
    value: Hashable,
    most: Any = math.inf,
) -> Worst:
    """Return the answer, in doubles rounded outward by what a chain of this length can be off by; `most` bounds it."""
    if steps.exact and (slack == 0 or size == most):
        return Worst(name, side, size, size, outputs, value, True)
    least, size = size, exact.as_float(size)
    room = 4 * (len(steps) + 2) * (len(steps.states) + 3) * 2.0**-52
    low = least if steps.exact or size == math.inf else max(1.0, size * (1 - room))
    if slack == math.inf:  # what underflowed may have made the ratio itself too large
        low, size = 1.0, min(size, sys.float_info.max)
    more = math.exp(slack) if slack < FAR else math.inf
    high = math.inf if math.inf in (size, more) else math.nextafter(size * more * (1 + room), math.inf)
    if high > (bound := exact.as_float(most) * (1 + room)):
        high = max(low, math.nextafter(bound, math.inf))
    return Worst(name, side, low, high, outputs, value, False)


def worst_of_function(known: Remembered, side: Side) -> Worst:
    """Return the worst outputs for a secret with a memory: the cone of P(memory, state, outputs) at the end."""
    steps, name = known.steps, known.secret.name
    allow_values(max(map(len, known.memories)) * len(steps.states), MAPPED, _GIVEN)
    cone: Cone | None = None
    for t in range(len(steps)):
        if t == 0:
            rows = [_entries(known.first(y).ravel()) for y in steps.outcomes(0)]
            labels = [(y,) for y in steps.outcomes(0)]
            flat = Cone([(1,) if steps.exact else (1.0,)], [()])
            cone = grown(flat, ((y[0], [row]) for y, row in zip(labels, rows, strict=True)), steps.in_time)
        else:
            assert cone is not None
            cone = grown(cone, ((y, known.matrix(t, y)) for y in steps.outcomes(t)), steps.in_time)
    assert cone is not None
    before = known.by_value(known.run([], lambda alpha, _: alpha))
    values = [value for value, p in before.items() if p > 0]
    prior = [Fraction(before[value]) for value in values]
    about = [i for i, value in enumerate(values) if value is True] if known.secret.event else None
    if about == []:
        raise DivulgeError.of("secret", "be possible", f"{name!r}", "an event that cannot occur")
    states = len(steps.states)
    places = {value: i for i, value in enumerate(values)}
    standing: list[list[int]] = [[] for _ in values]  # places of each value in a ray
    for memory, value in enumerate(known.values):
        if value in places:
            standing[places[value]] += range(memory * states, (memory + 1) * states)
    weights = logs(cone.rays)
    joints = np.stack([np.logaddexp.reduce(weights[:, at], axis=1) for at in standing], axis=1)
    asked = range(len(values)) if about is None or side == "ldp" else about
    found = near_worst(joints, logs([prior])[0], side, asked)
    best: Any = None
    for i in found:
        joint = [sum(Fraction(cone.rays[i][k]) for k in at) for at in standing]
        size, at = _ratio(joint, prior, side, about)
        if best is None or size > best[0]:
            best = size, at, i
    size, at, i = best
    most = _most(steps, side, prior if about is None else [prior[k] for k in about])
    return answer(steps, side, name, size, cone.slack, steps.labels(in_order(cone.outputs[i])), values[at], most)
