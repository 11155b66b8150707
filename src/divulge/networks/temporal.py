"""Leakage over time by Cao, Yoshikawa, Xiao and Xiong, and the local strength that keeps a promise forever.

"Quantifying differential privacy under temporal correlations", arXiv:1610.07543. Their recursion bounds the leakage of
all mechanisms that are epsilon-LDP at each step; of one mechanism in hand `Chain.worst` gives the exact one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike
from divulge.model.convert import as_channel
from divulge.model.entries import scalar
from divulge.roots import turn

_ROUNDS = 10_000
"""Marginals of a chain that mixes settle long before; one that has not by then is taken as one that never does."""

_SETTLED = 1e-15
"""Marginals that move by less than this have settled, up to the last place."""

_LARGE = 300.0
"""Beyond it, in nats, 1 beside e^epsilon counts for nothing; squares of what is below do not overflow."""

_SMALL = 1e-290
"""Levels below it have too few digits to be divided: none is promised."""


def increment(moves: np.ndarray, level: float) -> float:
    """Return L(a) = max over rows (q, d) and sets I of log[(q_I (e^a - 1) + 1) / (d_I (e^a - 1) + 1)], in nats.

    `moves` has one row a state, of probabilities of the neighboring step. I starts as {q > d} and loses what does not
    pay until it is stable (Algorithm 1 there). L(a) is in [0, a].

    >>> round(math.exp(increment(np.array([[0.9, 0.1], [0.1, 0.9]]), math.log(3))), 9)  # 2.8 / 1.2
    2.333333333
    """
    return _increment(moves, level)[0]


def _increment(moves: np.ndarray, level: float) -> tuple[float, float, float]:
    """Return (L(a), q_I, d_I) of the pair of rows that is worst."""
    best = 0.0, 0.0, 0.0
    for i, row in enumerate(moves):
        best = max(best, _of_rows(row, np.delete(moves, i, axis=0), level))
    return best


def _of_rows(q: np.ndarray, others: np.ndarray, level: float) -> tuple[float, float, float]:
    """Return (L(a), q_I, d_I) of a row q and the row d of `others` beside which it is worst: all side by side."""
    inside = q > others
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.log(q) - np.log(others)
    while True:
        q_in = np.minimum(1.0, np.where(inside, q, 0.0).sum(axis=1))
        d_in = np.minimum(1.0, np.where(inside, others, 0.0).sum(axis=1))
        value = _log_ratios(q_in, d_in, level)
        pays = inside & (gains > value[:, None])
        going = (pays != inside).any(axis=1) & pays.any(axis=1)
        if not going.any():
            return max(zip(value.tolist(), q_in.tolist(), d_in.tolist(), strict=True), default=(0.0, 0.0, 0.0))
        inside[going] = pays[going]


@np.errstate(divide="ignore", invalid="ignore")
def _log_ratios(q: np.ndarray, d: np.ndarray, level: float) -> np.ndarray:
    """Return log[(q (e^a - 1) + 1) / (d (e^a - 1) + 1)], also where e^a overflows and where a is tiny; 0 for q = 0."""
    if level == math.inf:
        found = np.where(d == 0, math.inf, np.log(q / d))
    elif level > _LARGE:
        rest = math.exp(-level)
        above = np.log(q) + level + np.log1p((1 - q) / q * rest)
        found = above - np.where(d == 0, 0.0, np.log(d) + level + np.log1p((1 - d) / d * rest))
    else:
        more = math.expm1(level)
        found = np.log1p((q - d) * more / (1 + d * more))
    return np.where(q > 0, found, 0.0)


def _limit_of_pair(q: float, d: float, epsilon: float) -> float:
    """Return the least a with a = epsilon + log[(q (e^a - 1) + 1) / (d (e^a - 1) + 1)], in nats (Theorem 5 there).

    With u = e^a - 1 and E = e^epsilon - 1 it is d u^2 + b u - E = 0, b = 1 - q + d - q E, which keeps all digits of a
    small level. It is at most epsilon + log(q / d), and as good as that where e^epsilon is beyond all bounds.
    """
    if epsilon > _LARGE:
        return math.inf if d == 0 else epsilon + math.log(q / d)
    more = math.expm1(epsilon)
    b = (1 - q) + d - q * more
    if d == 0:
        return math.inf if b <= 0 else math.log1p(more / b)
    root = math.sqrt(b * b + 4 * d * more)
    return math.log1p(2 * more / (b + root) if b > 0 else (root - b) / (2 * d))


def _unlimited() -> None:
    """Go on."""


def limit_of(moves: Sequence[np.ndarray], epsilon: float, look: Callable[[], None] = _unlimited) -> float:
    """Return the supremum over time of a_t = epsilon + max_k L_k(a_{t-1}), in nats; infinite where there is none.

    The least fixed point, from below: that of the pair of rows that is worst at the level reached, until none is worse.
    `look` is called in every round, and raises once the time is up.
    """
    level = epsilon
    while True:
        look()
        gain, q, d = max(_increment(one, level) for one in moves)
        if not gain > 0:
            return level
        higher = _limit_of_pair(q, d, epsilon)
        if not level * (1 + 1e-15) < higher < math.inf:
            return max(level, higher)
        level = higher


def temporal_limit(transition: ChannelLike, epsilon: float) -> float:
    """Return the least bound, over all steps, of what epsilon-LDP releases along a chain say of a state, in nats.

    The supremum of a_t = epsilon + L(a_{t-1}): for a transition P(x_t | x_{t-1}) of what later outputs say (forward
    leakage), for the backward one of what earlier ones do.

    Parameters
    ----------
    transition : Channel or array_like of shape (n, n)
    epsilon : float
        The level of each release, in nats, at least 0.

    Returns
    -------
    float
        At least epsilon; infinite where the leakage grows without bound, as for a state that never changes.

    Raises
    ------
    DivulgeError
        For a transition that is no square channel, or an epsilon below 0.

    References
    ----------
    Cao, Yoshikawa, Xiao, Xiong, Theorem 5, arXiv:1610.07543.

    Examples
    --------
    >>> round(temporal_limit([[0.9, 0.1], [0.1, 0.9]], math.log(3)), 9)
    2.89950...
    >>> temporal_limit([[1, 0], [0, 1]], 0.1)
    inf
    """
    channel = as_channel(transition)
    if channel.shape[0] != channel.shape[1]:
        raise DivulgeError.of("transition", "be square, states to states", "its shape", str(channel.shape))
    return limit_of([exact.as_floats(np.asarray(channel.matrix))], level_of(epsilon))


def level_of(epsilon: Any) -> float:
    """Return a level in nats, at least 0 and finite."""
    level = scalar(epsilon, "epsilon")
    if not 0 <= level < math.inf:
        raise DivulgeError.of("epsilon", "be at least 0 and finite", "it", str(level))
    return level


def backward(marginal: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Return P(x_{t-1} | x_t), one row a state x_t that occurs, from P(x_{t-1}) and P(x_t | x_{t-1})."""
    joint = marginal[:, None] * move
    totals = joint.sum(axis=0)
    seen = totals > 0
    return (joint[:, seen] / totals[seen]).T


def leakages(levels: Sequence[float], moves: Sequence[np.ndarray]) -> list[float]:
    """Return a_0 = e_0, a_t = e_t + L_t(a_{t-1}), for the level e_t of each step."""
    out = [levels[0]]
    for level, move in zip(levels[1:], moves, strict=True):
        out.append(level + increment(move, out[-1]))
    return out


def settled(start: np.ndarray, move: np.ndarray) -> list[np.ndarray]:
    """Return the marginals of a chain until they no longer change, or refuse one that never settles."""
    out = [start]
    for _ in range(_ROUNDS):
        after = out[-1] @ move
        if np.abs(after - out[-1]).max() <= _SETTLED:
            return out
        out.append(after)
    raise DivulgeError(
        "the states must settle in the long run for a promise about every step; they do not. "
        "Hint: start with the stationary distribution, or ask over a finite number of steps."
    )


def calibrated(start: np.ndarray, move: np.ndarray, epsilon: float, look: Callable[[], None] = _unlimited) -> float:
    """Return the largest local level, rounded down, whose leakage of every state is at most epsilon at every horizon.

    Backward and forward leakage minus the level itself, each at its supremum; it grows with the level.
    """
    marginals = settled(start, move)
    pasts = [backward(one, move) for one in marginals]
    occurring = move[np.any([one > 0 for one in marginals], axis=0)]

    def leakage(level: float) -> float:
        return limit_of(pasts, level, look) + limit_of([occurring], level, look) - level

    if epsilon < _SMALL:
        return 0.0
    if leakage(epsilon) <= epsilon:
        return epsilon
    return turn(lambda level: leakage(level) * (1 + 1e-14) > epsilon, 0.0, epsilon)[0]
