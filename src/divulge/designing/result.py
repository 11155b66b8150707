"""The most useful mechanism under a guarantee, with a bound on every other and a channel that keeps its promise."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from divulge import clock
from divulge.designing.alternatives import Alternatives
from divulge.designing.effort import Effort
from divulge.designing.linear.information import least_over
from divulge.designing.linear.robust import decided, strongest
from divulge.designing.linear.scores import Score, dense
from divulge.designing.naming.estimation import Estimation
from divulge.designing.naming.names import OwnNames
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.protecting.law import joint_of
from divulge.guarantees.guarantee import Guarantee
from divulge.late import late
from divulge.measures.robust import PriorSet
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.joint import Joint
from divulge.model.labels import Labels
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled, promised, reached

_EVALUATED = 2.0**-44
"""How far the evaluation of a utility in floating point is off, as a share of it."""
_NOTHING = 2.0**-44
"""How far that of a convex utility is off beside: lifts near 1 are rounded where nothing is told."""


@dataclass(frozen=True, eq=False, repr=False)
class Design(Tabled, Record):
    """A mechanism, what it keeps, what any mechanism could keep, and the guarantees it exactly has.

    Attributes
    ----------
    prior : Prior
    guarantees : tuple of Guarantee
        What was asked, and holds exactly.
    goal : Score, convex utility or variance
        The utility itself; `objective` is its name.
    integers : int64 array of shape (N, M)
        Row weights over 2^bits, each row summing to 2^bits: the release draws from these.
    bits : int
    outcomes : labels
    utility : float
        Of the integer channel, in nats where the utility is a logarithm.
    bound : float
        No mechanism that keeps the guarantees has more utility; rounded up.
    method : str
    seconds : float
        Time taken.

    Examples
    --------
    >>> best = dv.design(["1/2", "1/2"], dv.LDP(1), utility="hamming")
    >>> round(best.utility, 9), 0 <= best.bound - best.utility < 1e-6  # e / (1 + e)
    (0.731058579, True)
    """

    prior: Prior
    guarantees: tuple[Guarantee, ...]
    goal: SubConvex | Score | Estimation
    integers: np.ndarray
    bits: int
    outcomes: Labels
    utility: float
    bound: float
    method: str
    seconds: float = field(compare=False)
    scored: Labels | None = None
    """The outcomes that have scores, of a linear utility."""
    priors: PriorSet | None = None
    """The set over which everything holds; `prior` is then the worst of it for the utility."""
    forbidden: tuple[tuple[Hashable, Hashable], ...] = ()
    """Pairs (secret, outcome) that never occur."""
    unrounded: float | None = field(default=None, compare=False)
    """The utility of the convex combination of floats that was rounded to the integers."""
    naming: OwnNames | str | None = None
    """What the labels of the outcomes promise: `OwnNames`, "sets", or nothing."""
    unnamed_bound: float | None = field(default=None, compare=False)
    """The bound for outcomes of any names, where names were asked for."""
    protect: tuple[Channel, ...] = ()
    """P(s | x) of each variable that the guarantees are about, where it is not the data themselves."""

    def __post_init__(self) -> None:
        """Withdraw a bound that the utility is beyond by more than its own evaluation is off: it proves nothing."""
        sign = -1.0 if self.minimized else 1.0
        for name in ("bound", "unnamed_bound"):
            bound = getattr(self, name)
            if bound is not None and not sign * self.utility <= sign * bound:  # nor does NaN
                off = _EVALUATED * abs(self.utility) + (_NOTHING if isinstance(self.goal, SubConvex) else 0.0)
                near = abs(self.utility - bound) <= off
                object.__setattr__(self, name, self.utility if near else sign * math.inf)
        super().__post_init__()

    @property
    def objective(self) -> str:
        """The name of the utility."""
        return self.goal.name

    @property
    def minimized(self) -> bool:
        """Whether less utility is better: it is a distortion, and `bound` a lower bound."""
        return self.goal.least

    @property
    def names_cost(self) -> float | None:
        """What the names cost in utility at most, at least 0; None where none were asked for."""
        if self.unnamed_bound is None:
            return None
        return self._short_of(self.unnamed_bound)

    @property
    def logarithmic(self) -> bool:
        """Whether the utility is a logarithm, in nats."""
        return isinstance(self.goal, SubConvex) and self.goal.logarithmic

    @property
    def gap(self) -> float:
        """Bound minus utility (of a distortion, the reverse), at least 0: how much better any mechanism could be."""
        return self._short_of(self.bound)

    @property
    def relative_gap(self) -> float:
        """Gap over the size of the bound; 0 when the bound is 0."""
        if math.isinf(self.bound):
            return math.inf
        return self.gap / abs(self.bound) if self.bound else 0.0

    @property
    def rounding_loss(self) -> float | None:
        """The utility lost between the mixture of floats and the integers that keep the guarantees exactly, at least 0.

        Relative to the bound; for a set of priors that of the worst one. The mixture itself may break the guarantees by
        the tolerance of a solver; None where it is not known.
        """
        if self.unrounded is None:
            return None
        return self._short_of(self.unrounded) / abs(self.bound) if self.bound else 0.0

    def _short_of(self, other: float) -> float:
        """Return how much better another utility is, at least 0."""
        return max(0.0, self.utility - other if self.minimized else other - self.utility)

    @property
    def side(self) -> str:
        """What the bound is: "at most", or "at least" for a distortion."""
        return "at least" if self.minimized else "at most"

    @cached_property
    def channel(self) -> Channel:
        """The mechanism, with exact entries of denominator 2^bits."""
        return Channel.from_weights(self.integers, 2**self.bits, self.prior.secrets, self.outcomes)

    @cached_property
    def joint(self) -> Joint:
        """The prior and the mechanism."""
        return Joint(self.prior, self.channel)

    @cached_property
    def protected(self) -> tuple[Joint, ...]:
        """The joint of each protected variable and the outcome, in fractions; of the data where none is named.

        Doubles stand for the fractions of few digits that they are nearest to, if there are any.
        """
        return self._protected(self.channel)

    def _protected(self, channel: Channel) -> tuple[Joint, ...]:
        return tuple(joint_of(self.prior, given, channel) for given in self.protect) or (Joint(self.prior, channel),)

    @cached_property
    def achieved(self) -> tuple[Guarantee, ...]:
        """For each guarantee asked, the strongest of its kind that the channel has, measured and rounded up."""
        return tuple(self.measured(g, self.channel) for g in self.guarantees)

    def measured(self, guarantee: Guarantee, channel: Channel) -> Guarantee:
        """Return the strongest guarantee of the same kind that a channel has, under the prior or the set.

        Examples
        --------
        >>> best = dv.design(["1/2", "1/2"], dv.LDP(1))
        >>> round(best.measured(dv.LDP(1), dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])).epsilon, 6)  # log 3
        1.098612
        """
        if self.priors is not None:
            return strongest(guarantee, self.priors, channel)
        each = self._protected(channel) if self.protect else (Joint(self.prior, channel),)
        index = {name: getattr(guarantee, name) for name in guarantee.index}
        levels = [type(guarantee).of(joint if guarantee.about == "joint" else joint.channel, **index) for joint in each]
        return replace(levels[0], **{name: max(getattr(g, name) for g in levels) for name in guarantee.bounded()})

    def utility_of(self, channel: ChannelLike) -> float | None:
        """Return the utility of another channel on the same secrets, as the utility of this design is measured.

        Where outcomes have scores, each outcome of the channel is read as the best of those; None where none fits, or
        where the channel may release what is forbidden. Over a set of priors it is that under the worst of them.

        Examples
        --------
        >>> best = dv.design(["1/2", "1/2"], dv.LDP(1))
        >>> round(best.utility, 6), best.utility_of([["1/2", "1/2"], ["1/2", "1/2"]])
        (0.110944, 0.0)
        """
        other = as_channel(channel).aligned(self.prior.secrets)
        if self.forbidden and not self._allows(other):
            return None
        goal, priors = self.goal, self.priors
        if isinstance(goal, Score):
            if priors is not None:
                return decided(priors, goal, self.scored, other)
            return goal.decided(self.prior.floats, other, self.prior.secrets, self.scored)
        if priors is None:
            return goal.of(self.prior.floats, dense(other))
        over = goal.over if isinstance(goal, Estimation) else partial(least_over, goal)
        return over(priors, dense(other))[0]

    def _allows(self, channel: Channel) -> bool:
        """Say whether a channel on outcomes of the same names has 0 where this one must."""
        place = {y: j for j, y in enumerate(channel.outcomes)}
        rows = {x: k for k, x in enumerate(channel.secrets)}
        entries = dense(channel)
        known = set(channel.outcomes) <= {*self.outcomes, *(y for _, y in self.forbidden)}
        return known and all(entries[rows[x], place[y]] == 0 for x, y in self.forbidden if y in place)

    def compare(self, *, time_limit: float | None = None) -> Alternatives:
        """Return this design beside the named mechanisms, each tuned until it just keeps the same guarantees.

        Those that are not tuned when the time limit, in seconds, is over are left out.

        Examples
        --------
        >>> rows = dv.design(dv.Prior(["1/2", "1/4", "1/4"]), dv.LDP(1), utility="hamming").compare().rows
        >>> [(row.name, round(row.utility, 4)) for row in rows[:2]]
        [('design', 0.5761), ('randomized response', 0.5761)]
        """
        effort = Effort(deadline=clock.deadline(time_limit))
        return late("divulge.designing.tradeoff.comparison:alternatives")(self, effort)

    def _shown(self) -> tuple[str, Table]:
        asked = ", ".join(g.label for g in self.guarantees) or "no guarantee"
        utility, bound = rounded_ends(self)
        head = (
            f"Design under {asked}: {self.objective} {utility} of {self.side} {bound} "
            f"(gap {self.gap:.2g}), by {self.method}"
        )
        return head, (self.prior.secrets, self.outcomes, self.channel.matrix)


def rounded_ends(design: Design, per: float = 1.0) -> tuple[str, str]:
    """Return utility and bound in units of `per` as text, each rounded to its safe side."""
    ends = (reached, promised) if design.side == "at most" else (promised, reached)
    return ends[0](design.utility / per, 9), ends[1](design.bound / per, 9)
