"""The worst outputs of a chain: which of all |Y|^T sequences moves belief in a secret most.

Every leakage is a ratio of two linear functions of the likelihoods so far, for fixed likelihoods from there on, and the
other way round: it is greatest at extreme rays of two cones (`cones.py`), which are kept step by step.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from divulge.errors import DivulgeError
from divulge.measures.numeric.bracket import Bracket
from divulge.model.shown import Shown, number
from divulge.networks.cones import Cone, grown, in_order, shares, whole
from divulge.networks.listing import allow_values
from divulge.networks.model import Remembered, Steps
from divulge.networks.posteriors import ratio

Side = Literal["pml", "pmc", "ldp"]

MAPPED = 1_024
"""Memories times states that the worst outputs are looked for among: ten steps of so many took 40 seconds, and of four
times as many would take sixteen times as long."""

_GIVEN = "`pml` and `posterior` of outputs that are given take more; or name fewer steps."

_LARGEST = 700.0
"""Exponents from here on are as good as none: e to more is no double."""

_VAGUE = 10
"""Times the lower end: a bracket whose upper end is larger says what is not exceeded, and not what there is."""

_CLOSE = 1e-9
"""Pairs of rays whose ratio in doubles is this close to the largest are compared exactly; doubles are off by 1e-14."""


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
        from divulge import exact

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
    prior = [steps.marginals[t][x] for x in here]
    pasts = [tuple(ray[x] for x in here) for ray in before.rays]
    futures = [tuple(ray[x] for x in here) for ray in after.rays]
    weights = shares(pasts)[:, None, :] * _unit(futures)[None, :, :]
    found = _largest(weights.reshape(-1, len(here)), np.eye(len(here)), np.array(prior, dtype=float), side)
    best: Any = None
    for place in found:
        i, j = divmod(place, len(futures))
        joint = [a * b for a, b in zip(pasts[i], futures[j], strict=True)]
        size, at = _ratio(joint, prior, side)
        if best is None or size > best[0]:
            best = size, at, i, j
    size, at, i, j = best
    outputs = steps.labels([*in_order(before.outputs[i]), *reversed(in_order(after.outputs[j]))])
    slack = before.slack + after.slack
    return answer(steps, side, name, size, slack, outputs, steps.states[here[at]], _most(side, prior))


def _unit(rays: Sequence[Sequence[Any]]) -> np.ndarray:
    return shares(rays) if any(sum(ray) for ray in rays) else np.array(rays, dtype=float)


def _largest(
    weights: np.ndarray, values: np.ndarray, prior: np.ndarray, side: Side, about: list[int] | None = None
) -> list[int]:
    """Return which rows of weights, K x d, reach the largest ratio, within `_CLOSE`; values is d x m, 0 or 1.

    `about` names the values whose lifts count; a ratio of two values is one of any two.
    """
    joint = weights @ values
    total = joint.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = joint / (total[:, None] * prior)
        asked = lifts if about is None else lifts[:, about]
        sizes = {
            "pml": lambda: asked.max(axis=1),
            "pmc": lambda: 1 / asked.min(axis=1),
            "ldp": lambda: lifts.max(axis=1) / lifts.min(axis=1),
        }[side]()
    sizes[~(total > 0)] = -1
    top = sizes.max()
    return np.flatnonzero(sizes >= (top if top == np.inf else top * (1 - _CLOSE))).tolist()


def _ratio(joint: Sequence[Any], prior: Sequence[Any], side: Side, about: list[int] | None = None) -> tuple[Any, int]:
    """Return the ratio of a side from P(u, y) up to a factor and P(u), and the position of the value it is about."""
    lifts = [ratio(weight, p) for weight, p in zip(joint, prior, strict=True)]
    asked = lifts if about is None or side == "ldp" else [lifts[i] for i in about]
    top, bottom = max(asked), min(asked)
    total = sum(joint)
    if side == "pml":
        return ratio(top, total), lifts.index(top)
    if side == "pmc":
        return ratio(total, bottom), lifts.index(bottom)
    return ratio(top, bottom), lifts.index(top)


def _most(side: Side, prior: Sequence[Any]) -> Any:
    """Return what no outputs exceed, however many: a lift is 1 / P(u) where they leave no doubt."""
    return ratio(1, min(prior)) if side == "pml" else math.inf


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
    room = 0.0 if steps.exact else 4 * (len(steps) + 2) * (len(steps.states) + 3) * 2.0**-52
    low = size if steps.exact else max(1.0, float(size) * (1 - room)) if size < math.inf else size
    grown = math.exp(slack) if slack < _LARGEST else math.inf
    high = min(float(size) * grown, float(most)) if size < math.inf else math.inf
    return Worst(name, side, low, math.nextafter(high * (1 + room), math.inf), outputs, value, False)


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
    prior = [before[value] for value in values]
    about = [i for i, value in enumerate(values) if value is True] if known.secret.event else None
    if about == []:
        raise DivulgeError.of("secret", "be possible", f"{name!r}", "an event that cannot occur")
    states = len(steps.states)
    places = {value: i for i, value in enumerate(values)}
    indicator = np.zeros((len(cone.rays[0]), len(values)))
    for memory, value in enumerate(known.values):
        if value in places:
            indicator[memory * states : (memory + 1) * states, places[value]] = 1
    found = _largest(shares(cone.rays), indicator, np.array(prior, dtype=float), side, about)
    best: Any = None
    for i in found:
        joint = [sum(v for v, w in zip(cone.rays[i], column, strict=True) if w) for column in indicator.T]
        size, at = _ratio(joint, prior, side, about)
        if best is None or size > best[0]:
            best = size, at, i
    size, at, i = best
    most = _most(side, prior if about is None else [prior[k] for k in about])
    return answer(steps, side, name, size, cone.slack, steps.labels(in_order(cone.outputs[i])), values[at], most)
