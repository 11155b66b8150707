"""Named mechanisms to compare a design with: each family as a row, tuned until it just keeps the same guarantees.

Every mechanism is turned into integers over 2^53 and its guarantees are decided on these, exactly.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.clock import OutOfTime
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.robust import RobustChecker, float_means, in_time
from divulge.designing.polytope.limits import Limits, limits_of
from divulge.designing.start import closed_forms
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import PriorSet
from divulge.model import mechanisms
from divulge.model.channel import Channel
from divulge.model.entries import ready
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.labels import Labels
from divulge.model.mechanisms.arguments import inverse_ratio
from divulge.model.mechanisms.plain import resample_rows
from divulge.model.mechanisms.private import exponential_weights, geometric_rows, response_rows, subset_rows
from divulge.model.prior import Prior
from divulge.roots import turn

_BITS = 53
"""Bits of the integers of a named mechanism, as those of a design unless it is asked otherwise."""
_STRONGEST = 2.0**40
"""The largest e^epsilon of a member: beyond, integers of 53 bits hardly hold what is not the truth."""
_HIGHEST = math.log(_STRONGEST)
_HALVINGS = 52
"""Of log e^epsilon, below 28: down to where doubles end."""
_MOST_SUBSETS = 400
"""Outcomes of subset selection: its matrix is made anew some fifty times while it is tuned."""
_MOST_BITS = 8
"""Secrets of unary encoding, which has 2^N outcomes: 256."""
_STEEPEST = 50.0
"""Logs beyond this count as this where a strength is searched for: their signs are enough."""
_DECIDED = 1e-12
"""What rounding cannot have done to the log of an excess: sums of a thousand doubles are off by less."""
_TRIALS = 20
"""Members that are looked at before strengths are halved; eight to ten are the rule."""


@dataclass(frozen=True, eq=False)
class Member:
    """A mechanism but for its strength s: it says nothing at 1, and more as s grows."""

    rows: Callable[[float], np.ndarray]
    secrets: Labels
    outcomes: Callable[[float], Labels]
    steps: bool = False
    """Whether the rows jump from one matrix to the next, and stay as they are between."""

    def floats(self, s: float) -> np.ndarray:
        """Return the entries of the channel as floats, without the channel."""
        return _floats(self.rows(s))

    def channel(self, s: float) -> Channel:
        """Return the channel."""
        return Channel(self.rows(s), self.secrets, self.outcomes(s))


def _floats(rows: np.ndarray) -> np.ndarray:
    found = ready(rows, 2)
    return Channel(rows).floats if found is None else found


Family = Callable[[Prior], list[Member]]
"""Prior -> members, one a variant."""


def _square(rows: Callable[[Prior, float], np.ndarray]) -> Family:
    """Return the family of one member, whose outcomes are the secrets."""
    return lambda prior: [Member(lambda s: rows(prior, s), prior.secrets, lambda _: prior.secrets)]


def _thinned(rows: Callable[[np.ndarray, float], np.ndarray], steps: bool = True) -> Family:
    """Return the family of one member, whose outcomes are those of the secrets that ever come out."""

    def family(prior: Prior) -> list[Member]:
        p, secrets = prior.floats, prior.secrets

        def some(s: float) -> np.ndarray:
            whole = rows(p, s)
            return whole[:, _used(whole)]

        return [Member(some, secrets, lambda s: [secrets[y] for y in _used(rows(p, s)).tolist()], steps)]

    return family


def _used(matrix: np.ndarray) -> np.ndarray:
    return np.flatnonzero(matrix.sum(axis=0) > 0)


def _response(prior: Prior, s: float) -> np.ndarray:
    return response_rows(len(prior), inverse_ratio(math.log(s), None))


def _geometric(prior: Prior, s: float) -> np.ndarray:
    return geometric_rows(len(prior), 1 / s)


def _exponential(prior: Prior, s: float) -> np.ndarray:
    place = np.arange(len(prior))
    weights = exponential_weights(np.abs(place[:, None] - place) / 2, math.log(s))
    return weights / weights.sum(axis=1)[:, None]


def _resample(prior: Prior, s: float) -> np.ndarray:
    return resample_rows(prior.floats, 1 - 1 / s)


def _subset_selection(prior: Prior) -> list[Member]:
    n = len(prior)
    return [_subsets(prior, size) for size in range(1, n) if math.comb(n, size) <= _MOST_SUBSETS]


def _subsets(prior: Prior, size: int) -> Member:
    n, secrets = len(prior), prior.secrets
    subsets = list(itertools.combinations(range(n), size))
    names = [tuple(secrets[i] for i in subset) for subset in subsets]
    return Member(lambda s: subset_rows(n, subsets, inverse_ratio(math.log(s), None)), secrets, lambda _: names)


def _unary_encoding(prior: Prior) -> list[Member]:
    """Return unary encodings: one bit a secret, on with one probability for the truth and another for the rest.

    They are r-LDP for r = one (1 - other) / (other (1 - one)): symmetric for other = 1 - one, and optimized for one =
    1/2 (Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", 2017).
    """
    if len(prior) > _MOST_BITS:
        return []
    sets = list(itertools.product((False, True), repeat=len(prior)))
    bits, own = np.array(sets)[:, None, :], np.eye(len(prior), dtype=bool)
    names = [tuple(x for x, bit in zip(prior.secrets, one, strict=True) if bit) for one in sets]

    def encoded(one: float, other: float) -> np.ndarray:
        on = np.where(own, one, other)
        return np.where(bits, on, 1 - on).prod(axis=2).T

    def symmetric(s: float) -> np.ndarray:
        return encoded(math.sqrt(s) / (1 + math.sqrt(s)), 1 / (1 + math.sqrt(s)))

    def optimized(s: float) -> np.ndarray:
        return encoded(0.5, 1 / (1 + s))

    return [Member(rows, prior.secrets, lambda _: names) for rows in (symmetric, optimized)]


def _disclosure(p: np.ndarray, s: float) -> np.ndarray:
    """Return the optimal disclosure under maximal leakage: reveal the likeliest secrets, suppress the rest.

    With k = floor(s) the k likeliest are released as they are, the next one with probability s - k, and all else as the
    likeliest: sum_y max_x C_xy = s, so the maximal leakage is its logarithm.
    """
    return closed_forms.disclosure(p, min(s, float(len(p))))


def _watchdog(p: np.ndarray, lift: float) -> np.ndarray:
    """Return the watchdog: publish the secrets whose lift 1 / P_x is at most `lift`, merge all others into one outcome.

    Where that is still too rare, the rarest published secrets join it until it is not (Hsu, Asoodeh, Calmon,
    "Information-theoretic privacy watchdogs", 2019).
    """
    order = np.argsort(p, kind="stable")
    count = int((p * lift < 1).sum())
    while 0 < count < len(p) and p[order[:count]].sum() * lift < 1:
        count += 1
    group = np.arange(len(p))
    group[order[:count]] = order[max(count - 1, 0)]
    return np.eye(len(p))[group]


def _subset_merging(p: np.ndarray, lift: float) -> np.ndarray:
    """Return the refinement of the watchdog: merge the rare secrets into several outcomes, each just likely enough.

    Secrets are added to an outcome, likeliest first, until its lift is at most `lift`; what remains joins the last
    (Zarrabian, Ding, Sadeghi, "On the lift, related privacy measures, and applications to privacy-utility trade-offs",
    2023).
    """
    group = np.arange(len(p))
    open_group, mass, closed = -1, 0.0, -1
    for x in np.argsort(-p, kind="stable").tolist():
        open_group = x if open_group < 0 else open_group
        group[x], mass = open_group, mass + p[x]
        if mass * lift >= 1:
            open_group, mass, closed = -1, 0.0, open_group
    if open_group >= 0 and closed >= 0:
        group[group == open_group] = closed
    return np.eye(len(p))[group]


FAMILIES: dict[str, Family] = {
    "randomized response": _square(_response),
    "geometric": _square(_geometric),
    "exponential": _square(_exponential),
    "subset selection": _subset_selection,
    "unary encoding": _unary_encoding,
    "resample": _square(_resample),
    "optimal disclosure": _thinned(_disclosure, steps=False),
    "watchdog": _thinned(_watchdog),
    "subset merging": _thinned(_subset_merging),
}
"""Name -> family of mechanisms, weakest release first."""


@dataclass(frozen=True, eq=False)
class Named:
    """A member of a family that keeps the guarantees exactly, and how strong it is."""

    channel: Channel
    strength: float


def tuned(
    family: Family, prior: Prior, guarantees: tuple[Guarantee, ...], priors: PriorSet | None = None,
    effort: Effort = NO_HURRY,
) -> list[Named]:  # fmt: skip
    """Return for each variant of a family the strongest member that keeps guarantees, under every prior of a set.

    Variants that are not tuned once the time is up are left out.
    """
    task = _Task(prior, guarantees, limits_of(guarantees), priors, effort)
    found: list[Named] = []
    with suppress(OutOfTime):
        for member in family(prior):
            found.append(_tuned(member, task))
    return found


@dataclass(frozen=True, eq=False)
class _Task:
    """What is to be kept, under one prior or under every one of a set."""

    prior: Prior
    guarantees: tuple[Guarantee, ...]
    limits: Limits
    priors: PriorSet | None
    effort: Effort

    def keeps(self, channel: IntegerChannel) -> bool:
        """Say whether the integers keep the guarantees, exactly."""
        if self.priors is not None:
            return RobustChecker.over(self.priors, self.prior.floats, self.limits, self.effort).keeps_all(
                channel.weights
            )
        found = channel.exact
        return all(g.holds_for(Joint(self.prior, found) if g.about == "joint" else found) for g in self.guarantees)

    def means(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest mean of each column."""
        if self.priors is None:
            mean = self.prior.floats @ columns
            return mean, mean
        return float_means(self.priors, columns, self.effort)

    @cached_property
    def floats(self) -> Limits:
        """The limits as floats, rounded outward, which is done once for all members that are looked at."""
        return self.limits.floats()

    def sides(self, c: np.ndarray, margin: float) -> Iterator[tuple[Any, Any]]:
        """Yield for each limit what must not exceed what, with a little room; raises OutOfTime."""
        in_time(self.effort)
        limits, everywhere = self.floats, c.max(axis=0)
        if limits.ratio < math.inf:
            yield everywhere, c.min(axis=0) * limits.ratio * (1 - margin)
        if limits.capacity < math.inf:
            yield everywhere.sum(), limits.capacity * (1 - margin)
        if limits.high == math.inf and limits.low == 0:
            return
        inside = c if self.priors is not None else c[self.prior.support]
        least, most = self.means(c)
        seen = most > 0
        if limits.high < math.inf:
            yield inside[:, seen].max(axis=0), least[seen] * limits.high * (1 - margin)
        if limits.low > 0:
            yield most[seen] * limits.low * (1 + margin), inside[:, seen].min(axis=0)

    def nearly(self, entries: np.ndarray, margin: float) -> bool:
        """Say whether a float channel keeps the limits with a little room; raises OutOfTime."""
        return all(bool((above <= allowed).all()) for above, allowed in self.sides(entries, margin))

    def excess(self, entries: np.ndarray, margin: float) -> float:
        """Return about the log of the largest factor by which a limit with that room is exceeded."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(a / b) for a, b in self.sides(entries, margin)]
            found = [float(np.where(np.isnan(log), 0.0, log).max()) for log in logs]
        return min(max([-_STEEPEST, *found]), _STEEPEST)


def _turn(member: Member, task: _Task, margin: float) -> tuple[float, float]:
    """Return the logs of two close strengths: up to the first the limits are kept for certain, from the other broken.

    By the Illinois method (Dowell, Jarratt, "A modified regula falsi method for computing the root of an equation",
    1971), which halves the value at an end that stays; as near as rounding cannot have decided.
    """

    def excess(log: float) -> float:
        return task.excess(member.floats(math.exp(log)), margin)

    low, high, last = 0.0, 1.0, 0.0
    below, above = excess(low), excess(high)
    while above < -_DECIDED and high < _HIGHEST:
        low, below, high = high, above, min(2 * high, _HIGHEST)
        above = excess(high)
    if not below < -_DECIDED < _DECIDED < above:
        return 0.0, math.inf
    for _ in range(_TRIALS):
        step = (high - low) / (above - below)
        place = low - below * step
        found = excess(place)
        if abs(found) <= _DECIDED:
            under, over = place - 4 * _DECIDED * step, place + 4 * _DECIDED * step
            return under if excess(under) < -_DECIDED else low, over if excess(over) > _DECIDED else high
        if found < 0:
            low, below, above = place, found, above / 2 if last < 0 else above
        else:
            high, above, below = place, found, below / 2 if last > 0 else below
        last = found
    return low, high


def _decided(member: Member, task: _Task, margin: float) -> Callable[[float], bool]:
    """Return what says whether a member of a strength keeps the limits; where they jump, it looks at each matrix once.

    All have as many rows, so that those of the same bytes are the same.
    """
    seen: dict[bytes, bool] = {}

    def nearly(s: float) -> bool:
        rows = member.rows(s)
        key = rows.tobytes() if member.steps else b""
        if not member.steps or key not in seen:
            seen[key] = task.nearly(_floats(rows), margin)
        return seen[key]

    return nearly


def _strength(member: Member, task: _Task, margin: float) -> float:
    """Return the largest e^epsilon of a member whose floats keep the limits with some room."""
    nearly = _decided(member, task, margin)
    kept, broken = (0.0, math.inf) if member.steps else _turn(member, task, margin)

    def breaks(level: float) -> bool:
        return level > kept and (level >= broken or not nearly(math.exp(level)))

    whole = broken > _HIGHEST and nearly(_STRONGEST)
    return math.exp(_HIGHEST if whole else turn(breaks, 0.0, _HIGHEST, steps=_HALVINGS)[0])


def _tuned(member: Member, task: _Task) -> Named:
    """Return the strongest member that keeps the limits with the least room that makes its integers keep them."""
    for margin in (1e-13, 1e-11, 1e-9, 1e-6):
        strength = _strength(member, task, margin)
        found = IntegerChannel.of(member.channel(strength), _BITS, raise_small=True)
        if task.keeps(found):
            return Named(found.exact, strength)
    return Named(mechanisms.constant(task.prior.secrets), 1.0)
