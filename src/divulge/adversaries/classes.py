"""Capacities over restricted classes: the worst of given adversaries, the worst prior for a given gain."""

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import clock, exact
from divulge.adversaries.adversary import Gain
from divulge.adversaries.attack import Attack
from divulge.adversaries.leakages import AdversaryLike, Case, as_adversary, as_kind, leakage
from divulge.adversaries.orders.linear import solved
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import bayes_capacity
from divulge.measures.numeric.simplex import checked_tolerance
from divulge.measures.pointwise.density import lift_capacity
from divulge.model import labels as _labels
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.arraylike import Matrix
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint
from divulge.model.entries import whole_number
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Shown, promised, reached
from divulge.ties import RELATIVE, falling, first_largest

_ROUNDING = 1e-9
"""Upper bounds are raised by this share."""

_RAREST = 1e8
"""How much rarer an outcome is looked for than its likeliest secret makes it; what is rarer is bounded."""

_TINY = 1e-300
"""Ratios above its inverse count as infinite."""

_HARDLY = 1e-6
"""A secret that makes an outcome rarer than its likeliest one by this factor hardly ever shows it."""


def worst_adversary(
    joint: JointLike,
    adversaries: Sequence[AdversaryLike] | Mapping[Any, AdversaryLike],
    case: Case = "average",
    *,
    outcome: Hashable | None = None,
) -> Attack:
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
    >>> joint = dv.Joint(["1/3", "1/3", "1/3"], [["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]])
    >>> worst_adversary(joint, [Gain.tries(3, k) for k in (1, 2)]).words
    "the most dangerous of 2: '1 try', factor 1.5"
    """
    joint = as_joint(joint)
    named = _named(adversaries)
    if not named:
        raise DivulgeError.of("adversaries", "name at least one adversary", "it", "empty")
    factors = {name: leakage(joint, one, case, outcome=outcome) for name, one in named.items()}
    worst = list(factors)[first_largest(list(factors.values()))]
    words = (
        f"the most dangerous of {len(named)}: {worst.partition(' ')[2]!r}, factor {exact.as_float(factors[worst]):.3g}"
    )
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
    channel: Channel
    case: Case
    prior: Prior
    leakage: float | Fraction
    upper: float

    def __repr__(self) -> str:
        found = f"{self.case}-case leakage of the gain {self.gain.name!r}: {reached(self.leakage)}"
        return f"{found} under this prior, at most {promised(self.upper)} under any\n{self.prior!r}"

    @property
    def attack(self) -> Attack:
        """The adversary with this prior and this gain."""
        words = f"under this prior the gain {self.gain.name!r} grows {exact.as_float(self.leakage):.3g} times"
        return Attack("leakage", Joint(self.prior, self.channel), self.gain, self.case, None, words)


def worst_prior(
    channel: ChannelLike,
    gain: Gain | Matrix,
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
    Bounds rest on the prices of the programs, which prove them whatever the programs' own accuracy is.

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
    steps = whole_number(steps, "steps")
    until = clock.deadline(time_limit)
    if case not in _SEARCHES:
        raise DivulgeError.of("case", 'be "average" or "max"', "it", repr(case))
    order = _labels.alignment(channel.secrets, gain.secrets, "gain", "the channel's secrets")
    matrix = exact.as_floats(gain.matrix)
    g = matrix if order is None else matrix[:, order]
    g = g / (g.max() or 1.0)
    search, capacity = _SEARCHES[case]
    cap = exact.as_float(capacity(channel))
    pi, upper = search(_Problem(exact.as_floats(np.asarray(channel)), g, tolerance, steps, until), cap)
    prior = Prior(pi, channel.secrets)
    reached = leakage(Joint(prior, channel), gain, case)
    return WorstPrior(
        gain, channel, case, prior, reached, max(exact.as_float(reached), min(upper * (1 + _ROUNDING), cap))
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    """A channel matrix (N, M) and a gain matrix (W, N) in floats, and when to stop."""

    c: np.ndarray
    g: np.ndarray
    tolerance: float
    steps: int
    until: float = math.inf

    def program(self, gain: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """Return an upper bound of max gain u over u >= 0 with g u <= 1 and rows u <= 0, and a u, maybe none.

        Any prices a, b >= 0 prove one: where a g + b rows >= gain, sum a; elsewhere a is raised by what is missing.
        """
        most, w = self.g.max(axis=0), len(self.g)
        scale = np.where((most > 0) & (len(rows) == 0), most, 1.0)  # secrets that pay little count as much
        limits = np.append(np.ones(w), np.zeros(len(rows)))
        result = solved(-gain / scale, A_ub=np.concatenate([self.g, rows]) / scale, b_ub=limits)
        if result is None:
            return math.inf, np.zeros(len(gain))
        prices = np.maximum(-result.ineqlin.marginals, 0.0)
        a, b = prices[:w], _no_less(prices[w:], rows[:, most == 0])
        missing = np.maximum(gain - a @ self.g - b @ rows, 0.0)[most > 0]
        return float(a.sum() + (missing / most[most > 0]).sum()), np.maximum(result.x, 0.0) / (scale / scale.min())

    def average(self, pi: np.ndarray) -> float:
        """Return the average-case leakage under pi."""
        return _over((self.g @ (pi[:, None] * self.c)).max(axis=0).sum(), (self.g @ pi).max())

    def largest(self, pi: np.ndarray) -> float:
        """Return the max-case leakage under pi."""
        weights = pi[:, None] * self.c
        q = weights.sum(axis=0)
        seen = q > 0
        return _over(((self.g @ weights[:, seen]).max(axis=0) / q[seen]).max(), (self.g @ pi).max() / pi.sum())


def _no_less(prices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the prices, lowered until prices @ rows is nowhere below 0; the rows are of secrets that pay nothing."""
    if rows.size and (prices @ rows < 0).any():
        for k in range(len(prices)):
            others = prices @ rows - prices[k] * rows[k]
            falls = rows[k] < 0
            if falls.any():
                prices[k] = max(0.0, min(prices[k], float((others[falls] / -rows[k][falls]).min()) * (1 - _ROUNDING)))
        if (prices @ rows < 0).any():
            prices = prices * 0.0
    return prices


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
    settled: float = 0.0,
) -> tuple[np.ndarray, float]:
    """Return (best pi, upper bound), always expanding the branch with the largest bound; `settled` bounds the rest."""
    best = np.full(problem.c.shape[0], 1 / problem.c.shape[0])
    reached = value(best)
    queue = [(-bound, i, branch) for i, (bound, branch) in enumerate(roots)]
    heapq.heapify(queue)
    programs = len(queue)
    last = programs + problem.steps
    while queue and programs < last and min(-queue[0][0], cap) > reached * (1 + problem.tolerance):
        if clock.now() > problem.until:
            break
        for upper, left, pi in expand(heapq.heappop(queue)[2]):
            programs += 1
            pi = pi / pi.sum() if pi.any() else best
            if value(pi) > reached * (1 + RELATIVE):
                best, reached = pi, value(pi)
            if left is None:
                settled = max(settled, upper)
            else:
                heapq.heappush(queue, (-upper, programs, left))
    return best, max(reached, settled, -queue[0][0] if queue else 0.0)


def _worst_average(problem: _Problem, cap: float) -> tuple[np.ndarray, float]:
    """Branch over the action at each outcome; an outcome still open is bounded by the best gain at every secret."""
    c, g = problem.c, problem.g
    likely = falling(c.sum(axis=0))
    open_gain = c * g.max(axis=0)[:, None]

    def expand(actions: tuple[int, ...]) -> Expanded:
        taken = sum((c[:, y] * g[w] for y, w in zip(likely, actions, strict=False)), np.zeros(len(c)))
        here, rest = likely[len(actions)], likely[len(actions) + 1 :]
        for w in range(len(g)):
            gain = taken + c[:, here] * g[w] + open_gain[:, rest].sum(axis=1)
            bound, pi = problem.program(gain, np.zeros((0, len(c))))
            yield bound, (*actions, w) if len(rest) else None, pi

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
    beyond = _Beyond(g)

    def expand(branch: tuple[int, int, float, float]) -> Expanded:
        y, w, low, high = branch
        middle = math.sqrt(low * high)
        for start, end in ((low, middle), (middle, high)):
            bound, pi = problem.program(c[:, y] * g[w], np.stack([start * c[:, y] - 1.0, 1.0 - end * c[:, y]]))
            yield min(bound * end, _limit(c[:, y], g[w], room)), (y, w, start, end), pi

    roots, settled = [], 0.0
    for y in outcomes.tolist():
        column = c[:, y]
        top, bottom = float(column.max()), float(column.min())
        rarest = top / bottom if bottom > _TINY * top else math.inf
        ends = 1 / top * (1 - _ROUNDING), min(rarest, _RAREST) / top * (1 + _ROUNDING)
        for w in np.flatnonzero(g.any(axis=1)).tolist():
            limit = _limit(column, g[w], room)
            roots.append((limit, (y, w, *ends)))
            if rarest > _RAREST:
                settled = max(settled, min(limit, beyond.bound(column / top, g[w])))
    return _search(problem, roots, expand, problem.largest, cap, settled)


class _Beyond:
    """What an outcome can leak that is rarer by `_RAREST` than its likeliest secret makes it.

    A prior under which it is so has a share of at most 1 / (_RAREST s) of secrets that make it likelier than s,
    relative to the likeliest: before the release the gain is at least the least V_g of the others, but for that share.
    """

    def __init__(self, g: np.ndarray) -> None:
        self.g = g
        self.least: dict[bytes, float] = {}

    def bound(self, column: np.ndarray, paid: np.ndarray) -> float:
        """Return a bound of the leakage at an outcome, its column relative to the largest entry."""
        hardly = column <= _HARDLY
        key = hardly.tobytes()
        if key not in self.least:
            self.least[key] = _least_vulnerability(self.g[:, hardly]) if hardly.any() else 0.0
        share = min(1.0, 1 / (_RAREST * float(column[~hardly].min())))
        before = (1 - share) * self.least[key] * (1 - _ROUNDING)
        most = float(paid[column > 0].max(initial=0.0))
        return most / before if before > _TINY * most else math.inf if most > 0 else 0.0


def _least_vulnerability(g: np.ndarray) -> float:
    """Return the least V_g over all priors, rounded down: any mixture of actions pays somewhere no more."""
    result = solved(
        np.append(np.zeros(g.shape[1]), 1.0),
        A_ub=np.column_stack([g, -np.ones(len(g))]),
        b_ub=np.zeros(len(g)),
        A_eq=np.append(np.ones((1, g.shape[1])), [[0.0]], axis=1),
        b_eq=[1.0],
    )
    prices = np.zeros(len(g)) if result is None else np.maximum(-result.ineqlin.marginals, 0.0)
    return float((prices @ g).min()) / float(prices.sum()) * (1 - _ROUNDING) if prices.any() else 0.0


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
