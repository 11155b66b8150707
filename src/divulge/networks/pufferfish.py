"""Noise for a count over a chain that protects every state: the Wasserstein and Markov quilt mechanisms.

Song, Wang and Chaudhuri, "Pufferfish privacy mechanisms for correlated data", arXiv:1603.03977. The secret is the state
at any one step, whoever sees the count knows the chain; a ratio of at most e^epsilon between any two states is kept.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.model.labels import position
from divulge.model.shown import Shown, promised
from divulge.networks.chain import Chain
from divulge.networks.model import Steps, limited
from divulge.networks.temporal import level_of


@dataclass(frozen=True, repr=False)
class Pufferfish(Shown):
    """Laplace noise for a count over a chain, and why it is enough.

    Attributes
    ----------
    mechanism : "wasserstein" or "markov-quilt"
    epsilon : float
        What is kept, in nats.
    scale : float
        Of (discrete) Laplace noise on the count, rounded up; for a mean over T steps divide it by T.
    proof : tuple
        The step and the pair of states that need this scale, or the step and its quilt (before, after) in steps.

    Examples
    --------
    >>> chain = Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [[1, 0], [0, 1]], steps=4)
    >>> wasserstein(chain, 1, epsilon=1.0)
    wasserstein mechanism: Laplace noise of scale 4 on the count keeps 1 nats for the state at every step
    """

    mechanism: str
    epsilon: float
    scale: float
    proof: tuple[Any, ...]

    def __repr__(self) -> str:
        return (
            f"{self.mechanism} mechanism: Laplace noise of scale {promised(self.scale)} on the count keeps "
            f"{promised(self.epsilon)} nats for the state at every step"
        )

    def noise(self, secret: Hashable) -> Any:
        """Return the noise on a number with this law as a `dv.NoiseMechanism`, so that all its measures apply.

        Examples
        --------
        >>> chain = Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [[1, 0], [0, 1]], steps=4)
        >>> round(wasserstein(chain, 1, epsilon=1.0).noise("bernoulli(0.5)").pml(0.0), 6)  # scale 4
        0.117208
        """
        return late("divulge.noise.mechanism:NoiseMechanism")("laplace", secret, scale=self.scale)


def wasserstein(chain: Chain, state: Hashable, epsilon: float, *, time_limit: float | None = None) -> Pufferfish:
    """Return the least Laplace scale by the Wasserstein mechanism for the number of steps in `state`.

    W / epsilon, with W the largest distance in the infinity-Wasserstein metric between the laws of the count given two
    states at one step: the law of one is that of the other with mass moved by at most W.

    Parameters
    ----------
    chain : Chain
        Its release does not matter: only the count goes out.
    state : label
        Which steps are counted.
    epsilon : float
        In nats, positive.
    time_limit : float, optional
        Seconds, after which it is refused.

    Returns
    -------
    Pufferfish
        The scale, rounded up, and what needs it.

    Raises
    ------
    DivulgeError
        For an unknown state, an epsilon that is not positive, and once the time is up.

    References
    ----------
    Song, Wang, Chaudhuri, Theorem 3.2, arXiv:1603.03977.

    Examples
    --------
    >>> chain = Chain(["1/2", "1/2"], [["1/2", "1/2"], ["1/2", "1/2"]], [[1, 0], [0, 1]], steps=9)
    >>> wasserstein(chain, 1, epsilon=0.5).scale  # independent steps: as for one record
    2.0
    """
    level, worst = _positive(epsilon), (0, None, None, None)
    for model in map(rational, limited(_chain(chain).models, time_limit)):
        target = position(model.states, state, "state")
        for t in range(len(model)):
            laws = _counts(model, t, target)
            for a, b in permutations(laws, 2):
                model.in_time()
                distance = _transport(laws[a], laws[b])
                if distance > worst[0]:
                    worst = distance, t, model.states[a], model.states[b]
    return Pufferfish("wasserstein", level, exact.double_above(worst[0] / Fraction(level)), worst[1:])


def _counts(steps: Steps, t: int, target: int) -> dict[int, list[Any]]:
    """Return the law of the number of steps in `target` for each state that occurs at step t, as counts 0 .. T."""
    n, zero = len(steps.states), 0 * steps.ones[0]
    before = [_shifted(_zeros(len(steps), zero), p, x == target) for x, p in enumerate(steps.start)]
    forward = [before]
    for move in steps.moves[:t]:
        steps.in_time()
        forward.append(_moved(forward[-1], move, target, len(steps), zero))
    out: dict[int, list[Any]] = {}
    for x in range(n):
        mass = sum(forward[t][x])
        if not mass > 0:
            continue
        row = [_zeros(len(steps), zero) if y != x else [v / mass for v in forward[t][x]] for y in range(n)]
        for move in steps.moves[t:]:
            steps.in_time()
            row = _moved(row, move, target, len(steps), zero)
        out[x] = [sum(column) for column in zip(*row, strict=True)]
    return out


def _zeros(length: int, zero: Any) -> list[Any]:
    return [zero] * (length + 1)


def _shifted(law: list[Any], p: Any, counted: bool) -> list[Any]:
    law[1 if counted else 0] = p
    return law


def _moved(laws: Sequence[list[Any]], move: np.ndarray, target: int, length: int, zero: Any) -> list[list[Any]]:
    """Return P(x', count) from P(x, count)."""
    table = np.array(move.T @ np.array(laws, dtype=move.dtype))
    out = table.tolist()
    out[target] = [zero, *out[target][:-1]]
    return out


def _transport(first: Sequence[Fraction], second: Sequence[Fraction]) -> int:
    """Return the infinity-Wasserstein distance of two laws on 0 .. T: the largest difference of their quantiles."""
    i = k = widest = 0
    left, right = first[0], second[0]
    while True:
        if left and right:
            widest = max(widest, abs(i - k))
        step = min(left, right)
        left, right = left - step, right - step
        if not left:
            i += 1
        if not right:
            k += 1
        if i == len(first) or k == len(second):
            return widest
        left, right = left or first[i], right or second[k]


def markov_quilt(chain: Chain, epsilon: float, *, time_limit: float | None = None) -> Pufferfish:
    """Return the least Laplace scale by the Markov quilt mechanism, for anything that one step changes by at most 1.

    max over steps of min over quilts of |near| / (epsilon - influence), where a quilt is a step before, one after, both
    or none: what is beyond it depends on the state only through it, by at most its influence.

    Parameters
    ----------
    chain : Chain
    epsilon : float
        In nats, positive.
    time_limit : float, optional
        Seconds, after which it is refused.

    Returns
    -------
    Pufferfish
        The scale, rounded up, and what needs it.

    Raises
    ------
    DivulgeError
        For an epsilon that is not positive, and once the time is up.

    References
    ----------
    Song, Wang, Chaudhuri, Theorem 4.3, arXiv:1603.03977.

    Examples
    --------
    >>> chain = Chain(["1/2", "1/2"], [["1/2", "1/2"], ["1/2", "1/2"]], [[1, 0], [0, 1]], steps=9)
    >>> round(markov_quilt(chain, epsilon=0.5).scale, 9)  # independent steps: as for one record
    2.0
    """
    level, worst = _positive(epsilon), (0.0, 0, (None, None))
    for model in limited(_chain(chain).models, time_limit):
        reach = _Reach(model)
        for t in range(len(model)):
            options = (
                (_inside_quilt(len(model), t, a, b) / (level - influence), (a, b))
                for a in [None, *range(1, t + 1)]
                for b in [None, *range(1, len(model) - t)]
                if (influence := reach.influence(t, a, b) + _ROUNDING * (a is not None or b is not None)) < level
            )
            scale, quilt = min(options, key=lambda one: one[0])
            if scale > worst[0]:
                worst = scale, t, quilt
    return Pufferfish("markov-quilt", level, worst[0], worst[1:])


def quilt_influence(chain: Chain, step: int, before: int | None, after: int | None) -> float:
    """Return how much a quilt says of the state at a step: log max P(quilt | u) / P(quilt | v), in nats.

    Parameters
    ----------
    chain : Chain
    step : int
    before, after : int or None
        How many steps before and after it lie; None for none on that side.

    Returns
    -------
    float
        At least 0; infinite where the quilt rules a state out. Of several candidate models the largest.

    Raises
    ------
    DivulgeError
        For steps that the chain does not have.

    Examples
    --------
    >>> import math
    >>> stay = [["9/10", "1/10"], ["1/10", "9/10"]]
    >>> chain = Chain(["1/2", "1/2"], stay, [[1, 0], [0, 1]], steps=11)
    >>> round(math.exp(quilt_influence(chain, 5, 5, 5)), 9)  # 17214201/4414201
    3.899732...
    """
    model = _chain(chain).models[0]
    t = model.place(step)
    sides: Any = (("before", before, t), ("after", after, len(model) - 1 - t))
    for name, away, most in sides:
        if away is not None and not (isinstance(away, int) and 1 <= away <= most):
            raise DivulgeError.of(name, f"be None or from 1 to {most}", "it", repr(away)[:40])
    return max(_Reach(one).influence(t, before, after) for one in chain.models)


def influence_curve(chain: Chain, *, time_limit: float | None = None) -> tuple[float, ...]:
    """Return what the steps k before and after a step say of it at most, for k = 1, 2, ...: how fast a chain forgets.

    Parameters
    ----------
    chain : Chain
    time_limit : float, optional
        Seconds, after which it is refused.

    Returns
    -------
    tuple of float
        For each k below the number of steps the largest `quilt_influence` of any step, in nats, in [0, +inf]: of both
        steps that are k away, or of the one that the chain has.

    Raises
    ------
    DivulgeError
        For what is no chain, and once the time is up.

    References
    ----------
    Song, Wang, Chaudhuri, Definition 4.1, arXiv:1603.03977.

    Examples
    --------
    >>> stay = [["9/10", "1/10"], ["1/10", "9/10"]]
    >>> chain = Chain(["1/2", "1/2"], stay, [[1, 0], [0, 1]], steps=11)
    >>> [round(level, 2) for level in influence_curve(chain)[:5]]  # the last is log 17214201/4414201
    [4.39, 3.03, 2.26, 1.74, 1.36]
    """
    last = len(_chain(chain).models[0]) - 1
    reaches = [_Reach(model) for model in limited(chain.models, time_limit)]
    curve = [0.0] * last
    for reach in reaches:
        for t in range(last + 1):  # a step at a time: what belongs to one is kept no longer
            for k in range(1, max(t, last - t) + 1):
                found = reach.influence(t, k if k <= t else None, k if k <= last - t else None)
                curve[k - 1] = max(curve[k - 1], found)
    return tuple(curve)


def rational(steps: Steps) -> Steps:
    """Return a chain in fractions; doubles count as the decimals that they print as, in rows renormalized to 1.

    A distance of laws counts where mass is, however little: rounding must not leave any.
    """

    def exactly(array: np.ndarray) -> np.ndarray:
        rows = [[Fraction(v) if isinstance(v, Fraction) else Fraction(repr(float(v))) for v in row] for row in array]
        return np.array([[v / sum(row) for v in row] for row in rows], dtype=object)

    moves = {id(move): exactly(move) for move in steps.moves}
    nothing = [None] * len(steps)
    return Steps(steps.states, exactly(steps.start[None])[0], [moves[id(m)] for m in steps.moves], nothing, nothing,
                 steps.until)  # fmt: skip


class _Reach:
    """Greatest ratios of P(x_s | x_t = u) to P(x_s | x_t = v), kept by s for one t at a time."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.marginals = [np.asarray(one, dtype=float) for one in steps.marginals]
        self.moves = [np.asarray(one, dtype=float) for one in steps.moves]
        self.step = -1
        self.products: dict[int, np.ndarray] = {}
        self.kept: dict[int, np.ndarray] = {}

    def ratios(self, t: int, s: int) -> np.ndarray:
        """Return for pairs (u, v) of states that occur at t the log of the greatest ratio over x_s."""
        if t != self.step:
            self.step, self.products, self.kept = t, {t: np.eye(len(self.marginals[0]))}, {}
        if s not in self.kept:
            product = self._product(s)
            if s < t:
                joint = self.marginals[s][:, None] * product
                product = (joint / np.where(self.marginals[t] > 0, self.marginals[t], 1.0)).T
            rows = product[self.marginals[t] > 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(rows)
                gaps = logs[:, None, :] - logs[None, :, :]
            gaps[np.isnan(gaps)] = -np.inf
            self.kept[s] = gaps.max(axis=2)
        return self.kept[s]

    def _product(self, s: int) -> np.ndarray:
        """Return the product of all moves between the step and s, in order of time, from that of the step before."""
        way, near = (1 if s > self.step else -1), s
        while near not in self.products:
            near -= way
        for at in range(near + way, s + way, way):
            before = self.products[at - way]
            self.products[at] = before @ self.moves[at - 1] if way > 0 else self.moves[at] @ before
        return self.products[s]

    def influence(self, t: int, before: int | None, after: int | None) -> float:
        """Return the greatest log ratio of a quilt: its sides are independent given the state."""
        self.steps.in_time()
        total: Any = 0.0
        if before is not None:
            total = total + self.ratios(t, t - before)
        if after is not None:
            total = total + self.ratios(t, t + after)
        return float(np.max(total))


def _inside_quilt(length: int, t: int, before: int | None, after: int | None) -> int:
    """Return the number of steps that are not beyond the quilt, nor in it."""
    first = 0 if before is None else t - before + 1
    last = length - 1 if after is None else t + after - 1
    return last - first + 1


_ROUNDING = 1e-12
"""What logarithms of ratios of sums of products in doubles may be off by, in nats, and more."""


def _chain(chain: Any) -> Chain:
    DivulgeError.unless(chain, Chain, "chain", "be a dv.Chain")
    return chain


def _positive(epsilon: Any) -> float:
    level = level_of(epsilon)
    if not level > 0:
        raise DivulgeError.of("epsilon", "be positive", "it", str(level))
    return level
