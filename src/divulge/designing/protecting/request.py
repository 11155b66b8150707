"""From a request to protect S to the integers of a channel that keeps the guarantees, decided exactly."""

import math
from dataclasses import dataclass, replace

import numpy as np

from divulge import clock
from divulge.designing import rounding
from divulge.designing.effort import Effort
from divulge.designing.linear.certified import CertifiedChannel, used_outcomes
from divulge.designing.linear.scores import Score
from divulge.designing.polytope.limits import limits_of
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.protecting.law import Law, LawChecker, independent
from divulge.designing.protecting.mixture import Blend, best_blend
from divulge.designing.protecting.scoring import best_scores
from divulge.designing.result import Design
from divulge.designing.supports.correlated import Informed
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.model.channel import Channel
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_LAW, _MOMENT = 3e-6, 0.2
"""Seconds of a slow core, over the square of the number of values, that fractions of their law take; and those that
count as none, as of 250 values: measured."""


@dataclass(frozen=True, eq=False)
class Protecting:
    """What is asked of a design of X, and P(s | x) of what its guarantees are about."""

    prior: Prior
    given: tuple[Channel, ...]
    promised: tuple[Guarantee, ...]
    goal: SubConvex | Score
    names: Labels | None
    bits: int

    def design(self, effort: Effort) -> Design:
        """Return the design; values of X that never occur say what others say."""
        prior, goal, support = self.prior, self.goal, np.flatnonzero(self.prior.support)
        if effort.left < _LAW * len(support) ** 2 - _MOMENT:
            raise clock.out_of_time(
                f"for a law of {len(support):,} values in fractions", "allow it longer, or merge values."
            )
        law = Law.of(prior, support, self.given, limits_of(self.promised))
        if isinstance(goal, SubConvex):
            found, scored = self._informed(law, goal, support, effort), None
        else:
            scores, scored = goal.table(prior.secrets, self.names)
            found = self._scored(law, goal, scores[support], scored, effort)
        integers = found.integers
        if len(support) < len(prior):
            integers = np.empty((len(prior), found.integers.shape[1]), dtype=np.int64)
            integers[:] = found.integers[0]
            integers[support] = found.integers
        channel = integers / 2.0**self.bits
        if isinstance(goal, SubConvex):
            value = goal.of(prior.floats, channel)
        else:
            value = goal.value(prior.floats, goal.table(prior.secrets, self.names)[0][:, found.places], channel)
        return Design(
            prior, self.promised, goal, integers, self.bits, found.outcomes, value, found.bound, found.method,
            clock.now() - effort.started, scored, unrounded=found.unrounded, protect=self.given,
        )  # fmt: skip

    def _informed(self, law: Law, goal: SubConvex, support: np.ndarray, effort: Effort) -> CertifiedChannel:
        """Return the certified channel with the most utility, and the bound of every other."""
        utility = replace(goal, given=goal.given[support]) if isinstance(goal, Informed) else goal
        blend = best_blend(law, utility, effort)
        found = _certified(law, blend, self.bits, np.arange(blend.channel.shape[1]))
        many, names = found.integers.shape[1], self.names
        if names is not None and len(names) < many:
            raise DivulgeError.of("outcomes", f"be at least {many} for this design", "their number", str(len(names)))
        whole = utility.of(law.floats, np.eye(len(law.prior))) * (1 + 2.0**-40)
        bound, unrounded = max(min(blend.bound, whole), 0.0), utility.of(law.floats, blend.channel)
        return replace(found, outcomes=(names or range(many))[:many], bound=bound, unrounded=unrounded)

    def _scored(self, law: Law, score: Score, scores: np.ndarray, names: Labels, effort: Effort) -> CertifiedChannel:
        """Return the certified channel with the best score, and the bound of every other."""
        if not np.isfinite(scores).all():
            raise DivulgeError.of(
                "utility", "forbid nothing where another variable is protected", "a score", "one that does"
            )
        blend = best_scores(law, scores, score.worst, effort.less(math.inf))
        found = _certified(law, blend, self.bits, used_outcomes(blend.channel, law.floats))
        places = found.places
        if found.integers.shape[1] < len(places):
            judged = scores.min(axis=0) if score.worst else law.floats @ scores
            places = np.array([int(np.argmax(judged))])
        return CertifiedChannel(
            found.integers, [names[y] for y in places.tolist()], places, score.sign * blend.bound + 0.0, blend.method,
            score.value(law.floats, scores, blend.channel),
        )  # fmt: skip


def _certified(law: Law, blend: Blend, bits: int, places: np.ndarray) -> CertifiedChannel:
    """Return integers of the columns at these places that keep the limits exactly.

    Where a limit leaves S and Y no dependence at all there is no room to round in, but a lattice to round to.
    """
    checker, channel = LawChecker.over(law), blend.channel[:, places]
    if law.limits.trivial:
        integers = independent(channel, checker, bits)
        if integers is None:
            raise DivulgeError.of(
                "protect", "be in fractions of few digits where nothing at all may be told of it", "P(s | x)",
                "in numbers of many digits", "write fractions or counts, or allow a small epsilon.",
            )  # fmt: skip
    else:
        weights = law.floats @ channel
        integers = rounding.certified(weights, channel / weights, checker, bits)
    return CertifiedChannel(integers, (), places, blend.bound, blend.method)
