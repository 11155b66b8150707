"""Capacities over restricted classes: the worst of given adversaries, the worst prior for a given gain."""

import heapq
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.adversary import Gain
from divulge.adversaries.attack import Attack
from divulge.adversaries.leakages import Case, as_adversary, as_kind, leakage
from divulge.adversaries.orders.linear import deadline, optimum
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import bayes_capacity
from divulge.measures.numeric.simplex import checked_tolerance
from divulge.measures.pointwise.density import lift_capacity
from divulge.model import labels as _labels
from divulge.model.convert import as_channel, as_joint
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Shown
from divulge.ties import RELATIVE, falling, first_largest

_ROUNDING = 1e-9
"""What a linear program may be off by; upper bounds are raised by it."""


def worst_adversary(joint: Any, adversaries: Any, case: Case = "average", *, outcome: Any = None) -> Attack:
    """Return the adversary among those given to whom the release leaks most, as a factor.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    adversaries : sequence of Gain and Cost, or mapping from name to adversary
    case, outcome : as in `leakage`

    Returns
    -------
    Attack
        Its `leakage` is the largest factor, in [1, +inf] for `case` "average" and "max".

    Raises
    ------
    DivulgeError
        When no adversary is given, or as for `leakage`.

    Examples
    --------
    >>> from divulge import Joint
    >>> joint = Joint(["1/3", "1/3", "1/3"], [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]])
    >>> worst_adversary(joint, [Gain.tries(3, k) for k in (1, 2)]).words
    "the most dangerous of 2: '1 try', factor 1.5"
    """
    joint = as_joint(joint)
    named = _named(adversaries)
    if not named:
        raise DivulgeError.of("adversaries", "name at least one adversary", "it", "empty")
    factors = {name: leakage(joint, one, case, outcome=outcome) for name, one in named.items()}
    worst = list(factors)[first_largest(list(factors.values()))]
    words = f"the most dangerous of {len(named)}: {worst.partition(' ')[2]!r}, factor {float(factors[worst]):.3g}"
    return Attack("leakage", joint, named[worst], case, outcome, words)


def _named(adversaries: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return the adversaries under names made unique by their place."""
    if isinstance(adversaries, Mapping):
        return {f"{i} {name}": as_adversary(one) for i, (name, one) in enumerate(adversaries.items())}
    listed = [as_adversary(one) for one in adversaries]
    return {f"{i} {one.name}": one for i, one in enumerate(listed)}


@dataclass(frozen=True, repr=False)
class WorstPrior(Shown):
    """The prior under which a gain function gets most out of a channel.

    Attributes
    ----------
    gain, channel, case : what was asked about
    prior : Prior
        The worst prior found.
    leakage : number
        The leakage under it, as a factor: a lower bound of the supremum over all priors.
    upper : float
        An upper bound of that supremum.

    Examples
    --------
    >>> worst = worst_prior([[0.75, 0.25], [0.25, 0.75]], Gain.identity(2))
    >>> worst.prior.probabilities.tolist(), worst.leakage, worst.attack.leakage
    ([0.5, 0.5], 1.5, 1.5)
    """

    gain: Gain
    channel: Any
    case: Case
    prior: Prior
    leakage: Any
    upper: float

    def __repr__(self) -> str:
        found = f"{self.case}-case leakage of the gain {self.gain.name!r}: {float(self.leakage):.6g}"
        return f"{found} under this prior, at most {self.upper:.6g} under any\n{self.prior!r}"

    @property
    def attack(self) -> Attack:
        """The adversary with this prior and this gain."""
        words = f"under this prior the gain {self.gain.name!r} grows {float(self.leakage):.3g} times"
        return Attack("leakage", Joint(self.prior, self.channel), self.gain, self.case, None, words)


def worst_prior(
    channel: Any,
    gain: Any,
    case: Case = "average",
    *,
    tolerance: float = 1e-3,
    steps: int = 1000,
    time_limit: float | None = None,
) -> WorstPrior:
    """Return the prior under which `gain` gets most out of the channel, with bounds on the supremum.

    Average-case: sum_y max_w sum_x pi_x C_xy g(w, x) over pi >= 0 with V_g(pi) <= 1, by branch and bound over what the
    adversary does at each outcome; a linear program bounds each branch. Max-case: for each outcome y, action, and
    interval of 1 / P(y), a linear program bounds the gain after y; the interval with the largest bound is halved.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)
    gain : Gain with a matrix, or matrix of shape (W, N)
    case : "average" or "max"
    tolerance : float
        The search ends when upper <= (1 + tolerance) leakage.
    steps : int
        The search ends after this many linear programs.
    time_limit : float, optional
        Seconds after which it ends too, with the bounds it has by then.

    Returns
    -------
    WorstPrior
        `leakage` is reached by `prior`, `upper` is never below the supremum. Needs SciPy (extra: science).

    Raises
    ------
    DivulgeError
        When the gain has no matrix over the secrets of the channel, `case` is unknown, or `tolerance`, `steps` or
        `time_limit` are out of range.

    Examples
    --------
    >>> worst = worst_prior([[0.75, 0.25], [0.25, 0.75]], Gain.identity(2))
    >>> worst.prior.probabilities.tolist(), worst.leakage
    ([0.5, 0.5], 1.5)
    """
    channel, gain = as_channel(channel), as_kind(Gain, gain, "gain")
    tolerance = checked_tolerance(tolerance)
    if not (type(steps) is int and steps >= 1):
        raise DivulgeError.of("steps", "be a whole number that is at least 1", "it", repr(steps))
    until = deadline(time_limit)
    if case not in _SEARCHES:
        raise DivulgeError.of("case", 'be "average" or "max"', "it", repr(case))
    order = _labels.alignment(channel.secrets, gain.secrets, "gain", "the channel's secrets")
    matrix = exact.as_floats(gain.matrix)
    g = matrix if order is None else matrix[:, order]
    search, capacity = _SEARCHES[case]
    cap = float(capacity(channel))
    pi, upper = search(_Problem(exact.as_floats(np.asarray(channel)), g, tolerance, steps, until), cap)
    prior = Prior(pi, channel.secrets)
    reached = leakage(Joint(prior, channel), gain, case)
    return WorstPrior(gain, channel, case, prior, reached, max(float(reached), min(upper * (1 + _ROUNDING), cap)))


@dataclass(frozen=True, eq=False)
class _Problem:
    """A channel matrix (N, M) and a gain matrix (W, N) in floats, and when to stop."""

    c: np.ndarray
    g: np.ndarray
    tolerance: float
    steps: int
    until: float = math.inf

    def average(self, pi: np.ndarray) -> float:
        """Return the average-case leakage under pi."""
        return _over((self.g @ (pi[:, None] * self.c)).max(axis=0).sum(), (self.g @ pi).max())

    def largest(self, pi: np.ndarray) -> float:
        """Return the max-case leakage under pi."""
        weights = pi[:, None] * self.c
        q = weights.sum(axis=0)
        seen = q > 0
        return _over(((self.g @ weights[:, seen]).max(axis=0) / q[seen]).max(), (self.g @ pi).max() / pi.sum())


def _over(after: float, before: float) -> float:
    return float(after / before) if before > 0 else 1.0


Branch = Any
Expanded = Iterator[tuple[float, Branch | None, np.ndarray]]
"""For each part of a branch: an upper bound on it, what is left to search (None: nothing), a candidate for pi."""


def _search(
    problem: _Problem,
    roots: list[tuple[float, Branch]],
    expand: Callable[[Branch], Expanded],
    value: Callable[[np.ndarray], float],
    cap: float,
) -> tuple[np.ndarray, float]:
    """Return (best pi, upper bound), always expanding the branch with the largest bound."""
    best = np.full(problem.c.shape[0], 1 / problem.c.shape[0])
    reached = value(best)
    queue = [(-bound, i, branch) for i, (bound, branch) in enumerate(roots)]
    heapq.heapify(queue)
    programs = len(queue)
    last = programs + problem.steps
    while queue and programs < last and min(-queue[0][0], cap) > reached * (1 + problem.tolerance):
        if time.monotonic() > problem.until:
            break
        for upper, left, pi in expand(heapq.heappop(queue)[2]):
            programs += 1
            pi = pi / pi.sum()
            if value(pi) > reached * (1 + RELATIVE):
                best, reached = pi, value(pi)
            if left is not None:
                heapq.heappush(queue, (-upper, programs, left))
    return best, max(reached, -queue[0][0]) if queue else reached


def _worst_average(problem: _Problem, cap: float) -> tuple[np.ndarray, float]:
    """Branch over the action at each outcome; an outcome still open is bounded by the best gain at every secret."""
    c, g = problem.c, problem.g
    likely = falling(c.sum(axis=0))
    open_gain = c * g.max(axis=0)[:, None]

    def expand(actions: tuple[int, ...]) -> Expanded:
        taken = sum((c[:, y] * g[w] for y, w in zip(likely, actions, strict=False)), np.zeros(len(c)))
        here, rest = likely[len(actions)], likely[len(actions) + 1 :]
        for w in range(len(g)):
            found = optimum(taken + c[:, here] * g[w] + open_gain[:, rest].sum(axis=1), A_ub=g, b_ub=np.ones(len(g)))
            if found is not None and found[1].any():
                yield found[0], (*actions, w) if len(rest) else None, found[1]

    return _search(problem, [(math.inf, ())], expand, problem.average, cap)


def _worst_largest(problem: _Problem, cap: float) -> tuple[np.ndarray, float]:
    """Branch over the outcome y, the action w after it, and intervals of k = sum_x u_x / sum_x u_x C_xy.

    The leakage under u, scaled so that no action is worth more than 1 before, is k sum_x u_x C_xy g(w, x), linear in u
    for a given k: a linear program over an interval bounds it by its upper end. Where all secrets that y may come from
    pay the same for w, no interval is needed: k alone is to be maximized, by one program.
    """
    c, g = problem.c, problem.g
    outcomes = np.flatnonzero(c.max(axis=0) > 0)
    room = 1 / least if (least := _least_vulnerability(g)) > 0 else math.inf

    def program(y: int, w: int, low: float, high: float) -> tuple[float, np.ndarray] | None:
        rows, limits = [g], [np.ones(len(g))]
        if low > 0:
            rows.append((low * c[:, y] - 1.0)[None])
            limits.append(np.zeros(1))
        if high < math.inf:
            rows.append((1.0 - high * c[:, y])[None])
            limits.append(np.zeros(1))
        return optimum(c[:, y] * g[w], A_ub=np.concatenate(rows), b_ub=np.concatenate(limits))

    def expand(branch: tuple[int, int, float, float]) -> Expanded:
        y, w, low, high = branch
        middle = math.sqrt(low * high) if high < math.inf else 16 * low
        for start, end in ((low, middle), (middle, high)):
            found = program(y, w, start, end)
            if found is not None and found[1].any():
                bound = found[0] * end if found[0] > 0 else 0.0
                yield min(bound, _limit(c[:, y], g[w], room)), (y, w, start, end), found[1]

    roots = []
    for y in outcomes.tolist():
        column = c[:, y]
        top, bottom = float(column.max()), float(column.min())
        ends = (1 / top * (1 - _ROUNDING), 1 / bottom * (1 + _ROUNDING) if bottom > 0 else math.inf)
        roots += [(_limit(column, g[w], room), (y, w, *ends)) for w in range(len(g)) if g[w].any()]
    return _search(problem, roots, expand, problem.largest, cap)


def _least_vulnerability(g: np.ndarray) -> float:
    """Return the least V_g over all priors, rounded down."""
    found = optimum(
        np.append(np.zeros(g.shape[1]), -1.0),
        A_ub=np.column_stack([g, -np.ones(len(g))]),
        b_ub=np.zeros(len(g)),
        A_eq=np.append(np.ones((1, g.shape[1])), [[0.0]], axis=1),
        b_eq=[1.0],
    )
    return 0.0 if found is None else max(0.0, -found[0]) * (1 - _ROUNDING)


def _limit(column: np.ndarray, paid: np.ndarray, room: float) -> float:
    """Return a bound of the leakage at an outcome after which an action pays `paid`.

    It is at most the largest lift over secrets that pay, and at most what is paid over the least V_g, 1 / room.
    """
    bottom, most = float(column.min()), float(paid[column > 0].max(initial=0.0))
    lift = float((column * (paid > 0)).max()) / bottom if bottom > 0 else math.inf
    return min(lift, most * room if most > 0 else 0.0) * (1 + _ROUNDING)


_SEARCHES: dict[str, tuple[Callable[[_Problem, float], tuple[np.ndarray, float]], Callable[[Any], Any]]] = {
    "average": (_worst_average, bayes_capacity),
    "max": (_worst_largest, lift_capacity),
}
"""Case -> the search for the worst prior, and the capacity that no prior and no gain exceeds."""
