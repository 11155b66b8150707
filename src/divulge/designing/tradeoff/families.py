"""Named mechanisms to compare a design with: each family as a row, tuned until it just keeps the same guarantees.

Every mechanism is turned into integers over 2^53 and its guarantees are decided on these, exactly.
"""

import itertools
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.linear.robust import OutOfTime, RobustChecker, in_time
from divulge.designing.polytope.limits import Limits, limits_of
from divulge.designing.start import closed_forms
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import LowerBounded, PriorSet
from divulge.model import mechanisms
from divulge.model.channel import Channel
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.mechanisms.private import exponential_weights, geometric_rows
from divulge.model.prior import Prior

_BITS = 53
"""Bits of the integers of a named mechanism, as those of a design unless it is asked otherwise."""
_STRONGEST = 2.0**40
"""The largest e^epsilon of a member: beyond, integers of 53 bits hardly hold what is not the truth."""
_MOST_SUBSETS = 400
"""Outcomes of subset selection: its matrix is made anew some fifty times while it is tuned."""
_MOST_BITS = 8
"""Secrets of unary encoding, which has 2^N outcomes: 256."""
Member = Callable[[float], Channel]
Family = Callable[[Prior], list[Member]]
"""Prior -> members: functions of s whose channels say nothing at 1 and more as s grows."""


def _exponential(prior: Prior, s: float) -> Channel:
    place = np.arange(len(prior))
    weights = exponential_weights(np.abs(place[:, None] - place) / 2, math.log(s))
    return Channel(weights / weights.sum(axis=1)[:, None], prior.secrets, prior.secrets)


def _subset_selection(prior: Prior) -> list[Member]:
    sizes = [size for size in range(1, len(prior)) if math.comb(len(prior), size) <= _MOST_SUBSETS]
    return [lambda s, k=k: mechanisms.subset_selection(prior.secrets, math.log(s), size=k) for k in sizes]


def _unary_encoding(prior: Prior) -> list[Member]:
    if len(prior) > _MOST_BITS:
        return []
    return [
        lambda s: unary_encoding(prior, math.sqrt(s) / (1 + math.sqrt(s)), 1 / (1 + math.sqrt(s))),
        lambda s: unary_encoding(prior, 0.5, 1 / (1 + s)),
    ]


def unary_encoding(prior: Prior, one: float, other: float) -> Channel:
    """Return the unary encoding: one bit a secret, on with probability `one` for the truth and `other` for the rest.

    It is r-LDP for r = one (1 - other) / (other (1 - one)), symmetric for other = 1 - one, optimized for one = 1/2
    (Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", 2017).
    """
    sets = list(itertools.product((False, True), repeat=len(prior)))
    on = np.where(np.eye(len(prior), dtype=bool), one, other)
    rows = np.array([np.where(bits, on, 1 - on).prod(axis=1) for bits in sets]).T
    names = [tuple(x for x, bit in zip(prior.secrets, bits, strict=True) if bit) for bits in sets]
    return Channel(rows, prior.secrets, names)


def disclosure(prior: Prior, outcomes: float) -> Channel:
    """Return the optimal disclosure under maximal leakage: reveal the likeliest secrets, suppress the rest.

    With k = floor(`outcomes`) the k likeliest are released as they are, the next one with probability outcomes - k, and
    all else as the likeliest: sum_y max_x C_xy = outcomes, so the maximal leakage is its logarithm.
    """
    return _used(closed_forms.disclosure(prior.floats, outcomes), prior)


def watchdog(prior: Prior, lift: float) -> Channel:
    """Return the watchdog: publish the secrets whose lift 1 / P_x is at most `lift`, merge all others into one outcome.

    Where that is still too rare, the rarest published secrets join it until it is not (Hsu, Asoodeh, Calmon,
    "Information-theoretic privacy watchdogs", 2019).
    """
    p = prior.floats
    order = np.argsort(p, kind="stable")
    count = int((p * lift < 1).sum())
    while 0 < count < len(p) and p[order[:count]].sum() * lift < 1:
        count += 1
    group = np.arange(len(p))
    group[order[:count]] = order[max(count - 1, 0)]
    return _used(np.eye(len(p))[group], prior)


def subset_merging(prior: Prior, lift: float) -> Channel:
    """Return the refinement of the watchdog: merge the rare secrets into several outcomes, each just likely enough.

    Secrets are added to an outcome, likeliest first, until its lift is at most `lift`; what remains joins the last
    (Zarrabian, Ding, Sadeghi, "On the lift, related privacy measures, and applications to privacy-utility trade-offs",
    2023).
    """
    p = prior.floats
    group = np.arange(len(p))
    open_group, mass, closed = -1, 0.0, -1
    for x in np.argsort(-p, kind="stable").tolist():
        open_group = x if open_group < 0 else open_group
        group[x], mass = open_group, mass + p[x]
        if mass * lift >= 1:
            open_group, mass, closed = -1, 0.0, open_group
    if open_group >= 0 and closed >= 0:
        group[group == open_group] = closed
    return _used(np.eye(len(p))[group], prior)


def _used(matrix: np.ndarray, prior: Prior) -> Channel:
    used = np.flatnonzero(matrix.sum(axis=0) > 0)
    return Channel(matrix[:, used], prior.secrets, [prior.secrets[y] for y in used.tolist()])


FAMILIES: dict[str, Family] = {
    "randomized response": lambda prior: [lambda s: mechanisms.randomized_response(prior.secrets, math.log(s))],
    "geometric": lambda prior: [lambda s: Channel(geometric_rows(len(prior), 1 / s), prior.secrets, prior.secrets)],
    "exponential": lambda prior: [lambda s: _exponential(prior, s)],
    "subset selection": _subset_selection,
    "unary encoding": _unary_encoding,
    "resample": lambda prior: [lambda s: mechanisms.resample(prior.floats, 1 - 1 / s)],
    "optimal disclosure": lambda prior: [lambda s: disclosure(prior, min(s, float(len(prior))))],
    "watchdog": lambda prior: [lambda s: watchdog(prior, s)],
    "subset merging": lambda prior: [lambda s: subset_merging(prior, s)],
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

    Variants that are not decided over a set once the time is up are left out.
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
        if isinstance(self.priors, LowerBounded):
            least = float(self.priors.least_probability)
            sure, free = least * columns.sum(axis=0), 1 - least * len(columns)
            return sure + free * columns.min(axis=0), sure + free * columns.max(axis=0)
        ends: list[tuple[float, float]] = []
        for column in columns.T:
            in_time(self.effort)
            low, high = (float(self.priors.least(sign * column) @ column) for sign in (1.0, -1.0))
            ends.append((low, high))
        least, most = np.array(ends).T
        return least, most

    @cached_property
    def floats(self) -> Limits:
        """The limits as floats, rounded outward, which is done once for all members that are looked at."""
        return self.limits.floats()

    def nearly(self, channel: Channel, margin: float) -> bool:
        """Say whether a float channel keeps the limits with a little room; raises OutOfTime over a set of priors."""
        if self.priors is not None:
            in_time(self.effort)
        limits, c = self.floats, np.asarray(channel.floats)
        inside = c if self.priors is not None else c[self.prior.support]
        everywhere, nowhere = c.max(axis=0), c.min(axis=0)
        allowed = math.inf if limits.ratio == math.inf else nowhere * limits.ratio * (1 - margin)
        if not ((everywhere <= allowed).all() and everywhere.sum() <= limits.capacity * (1 - margin)):
            return False
        if limits.high == math.inf and limits.low == 0:
            return True
        least, most = self.means(c)
        seen = most > 0
        top, bottom = inside[:, seen].max(axis=0), inside[:, seen].min(axis=0)
        return bool(
            (top <= least[seen] * limits.high * (1 - margin)).all()
            and (bottom >= most[seen] * limits.low * (1 + margin)).all()
        )


def _tuned(member: Member, task: _Task) -> Named:
    """Return the strongest member that keeps the limits with the least room that makes its integers keep them."""
    for margin in (1e-13, 1e-11, 1e-9, 1e-6):
        low, high = 0.0, math.log(_STRONGEST)
        if task.nearly(member(_STRONGEST), margin):
            low = high
        for _ in range(52):
            if low == high:
                break
            middle = (low + high) / 2
            low, high = (middle, high) if task.nearly(member(math.exp(middle)), margin) else (low, middle)
        found = IntegerChannel.of(member(math.exp(low)), _BITS, raise_small=True)
        if task.keeps(found):
            return Named(found.exact, math.exp(low))
    return Named(mechanisms.constant(task.prior.secrets), 1.0)
