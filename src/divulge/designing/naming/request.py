"""From a request for outcomes under the names of the values to a Design, for a prior or a set of priors."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from divulge import clock
from divulge.clock import OutOfTime
from divulge.designing.effort import Effort
from divulge.designing.linear.certified import possible
from divulge.designing.linear.robust import RobustChecker, of_each_secret, robust, tightened_over
from divulge.designing.linear.scores import Score
from divulge.designing.naming.estimation import Estimation
from divulge.designing.naming.integer_names import Rounder
from divulge.designing.naming.names import Naming, OwnNames, Range
from divulge.designing.naming.search import Named, best_found, set_channels
from divulge.designing.naming.values import NamedChannel, named_best, named_scores
from divulge.designing.polytope.limits import Limits, limits_of
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.result import Design
from divulge.designing.rounding import Checker
from divulge.designing.supports.correlated import Informed
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import PriorSet
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_MADE, _INVERTED = 4e-7, 2e-10
"""Seconds of a slow core that a channel takes over the square of the number of values, and its variance over the cube:
measured."""
_FEW = 800
"""Values that are always tried: a channel of them takes next to no time."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of a design whose outcomes are the secrets."""

    prior: Prior | PriorSet
    promised: tuple[Guarantee, ...]
    goal: SubConvex | Score | Estimation
    names: OwnNames
    bits: int

    def design(self, effort: Effort) -> Design:
        """Return the design."""
        if isinstance(self.prior, Prior):
            return self._one(self.prior, effort)
        if isinstance(self.goal, Score):
            return self._scores_over(self.prior, self.goal, effort)
        assert isinstance(self.goal, Estimation)
        return self._variance_over(self.prior, self.goal, effort)

    def _one(self, prior: Prior, effort: Effort) -> Design:
        """Return the design for one prior; secrets that never occur have outcomes of their own too."""
        least = self._seconds(len(prior))
        if least > max(effort.left, self._seconds(_FEW)):
            raise clock.out_of_time(
                f"for outcomes under the names of {len(prior):,} values", "allow it longer, or merge values."
            )
        exact, p = limits_of(self.promised), prior.floats
        support, sure = possible(prior)
        limits = exact.floats().tightened(float(p[support].min()), len(p))
        naming = Naming.of(limits, Range(p, p, p), self.names)
        hurried = replace(effort, deadline=effort.deadline - least / 2)
        found = self._best(prior, support, sure, limits, naming, hurried)
        if not np.isfinite(found.channel).all():
            raise DivulgeError.of("utility", "be finite under the guarantees", "it", "infinite")
        rounder = Rounder(Checker.of(prior.probabilities, exact), p, naming, self.names, self.bits, effort)
        integers = rounder(_on_all(found.channel, support, p))
        return self._made(prior, None, integers, found, self._value(prior, integers / 2.0**self.bits), effort)

    def _seconds(self, many: int) -> float:
        """Return about how long one channel of so many values takes: to be found, made integers and measured."""
        return _MADE * many**2 + (_INVERTED * many**3 if isinstance(self.goal, Estimation) else 0.0)

    def _best(
        self, prior: Prior, support: np.ndarray, exactly: np.ndarray, limits: Limits, naming: Naming, effort: Effort
    ) -> NamedChannel:
        """Return the best channel for the secrets that occur; for a variance for all of them."""
        p, part = prior.floats, naming.restricted_to(support)
        sure = p[support]
        if isinstance(self.goal, Score):
            scores = _square(self.goal, prior.secrets)[np.ix_(support, support)]
            return named_scores(scores, sure, self.goal.worst, limits, part, effort)
        if isinstance(self.goal, Informed):
            goal = replace(self.goal, given=self.goal.given[support])
            return named_best(goal, sure, exactly, limits, part, effort)
        found = named_best(self.goal, sure, exactly, limits, part, effort)
        if len(support) == len(p) or isinstance(self.goal, SubConvex):
            return found
        task = Named(p, p, limits, naming, self.goal)
        channel, how = best_found(task, np.ones((len(p), 1)), effort)
        return replace(found, channel=channel, method=how)

    def _value(self, prior: Prior, channel: np.ndarray) -> float:
        if isinstance(self.goal, Score):
            return self.goal.value(prior.floats, _square(self.goal, prior.secrets), channel)
        return self.goal.of(prior.floats, channel)

    def _scores_over(self, priors: PriorSet, score: Score, effort: Effort) -> Design:
        """Return the design of scores under the worst prior of a set, by one linear program that its priors join."""
        exact, over = limits_of(self.promised), _range(priors, effort)
        limits = tightened_over(priors, exact, effort)
        naming = Naming.of(limits, over, self.names)

        def rounded(checker: Checker, reference: np.ndarray, channel: np.ndarray) -> np.ndarray:
            return Rounder(checker, reference, naming, self.names, self.bits)(channel)

        scores = _square(score, priors.secrets)
        whole, worst, value = robust(
            priors, exact, score, scores, priors.secrets, self.bits, effort, None,
            rounded, naming.leads, naming.floors,
        )  # fmt: skip
        plain = robust(priors, exact, score, scores, priors.secrets, self.bits, effort, None)[0].bound
        unnamed = score.sign * max(score.sign * plain, score.sign * whole.bound)
        found = NamedChannel(
            whole.integers / 2.0**self.bits, score.sign * whole.bound, score.sign * unnamed, whole.method
        )
        return self._made(Prior(worst, priors.secrets), priors, whole.integers, found, value, effort)

    def _variance_over(self, priors: PriorSet, goal: Estimation, effort: Effort) -> Design:
        """Return the candidate with the least variance under its worst prior, bounded at one prior of the set."""
        exact, over = limits_of(self.promised), _range(priors, effort)
        limits = tightened_over(priors, exact, effort)
        naming = Naming.of(limits, over, self.names)
        checker = RobustChecker.over(priors, over.inside, exact, effort)
        rounder = Rounder(checker, over.inside, naming, self.names, self.bits)
        inside = limits.tightened(float(over.inside.min()), len(over.least))
        task = Named(over.inside, over.inside, inside, naming, goal)
        found = named_best(goal, over.inside, over.inside, inside, naming, effort)
        tried = itertools.chain(
            [("diagonal", naming.start), (found.method, found.channel)],
            (("sets of values", c) for c in set_channels(task)),
        )
        best, least, how = np.zeros((0, 0), dtype=np.int64), math.inf, ""
        for name, channel in tried:
            if len(best) and not effort.spend():
                break
            try:
                integers = rounder(channel)
            except OutOfTime:
                if not len(best):
                    raise
                break
            value = goal.over(priors, integers / 2.0**self.bits)[0]
            if value < least or not len(best):
                best, least, how = integers, value, name
        value, worst = goal.over(priors, best / 2.0**self.bits)
        found = replace(found, method=how, channel=best / 2.0**self.bits)
        return self._made(Prior(worst / worst.sum(), priors.secrets), priors, best, found, value, effort)

    def _made(
        self,
        prior: Prior,
        priors: PriorSet | None,
        integers: np.ndarray,
        found: NamedChannel,
        value: float,
        effort: Effort,
    ) -> Design:
        return Design(
            prior, self.promised, self.goal, integers, self.bits, tuple(prior.secrets), value,
            effort.sign * found.bound + 0.0, found.method, clock.now() - effort.started,
            tuple(prior.secrets) if isinstance(self.goal, Score) else None, priors,
            naming=self.names, unnamed_bound=effort.sign * found.unnamed + 0.0,
        )  # fmt: skip


def _square(score: Score, secrets: Labels) -> np.ndarray:
    """Return the scores of the secrets as outcomes, all finite."""
    scores, _ = score.table(secrets, secrets)
    if not np.isfinite(scores).all():
        raise DivulgeError.of(
            "utility",
            "forbid nothing where outcomes bear the names of values",
            "a score",
            "one that forbids an outcome",
        )
    return scores


def _range(priors: PriorSet, effort: Effort) -> Range:
    """Return the range of each probability over a set, rounded outward, and a prior inside that has them all."""
    slack = 2.0**-44
    low, high = (np.array(of_each_secret(priors, effort, sign)) for sign in (1.0, -1.0))
    least, most = np.diag(low) * (1 - slack), np.minimum(np.diag(high) * (1 + slack), 1.0)
    return Range(np.maximum(least, 0.0), most, np.concatenate([low, high]).mean(axis=0))


def _on_all(channel: np.ndarray, support: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the channel with rows for secrets that never occur, which say what an average secret says."""
    if len(channel) == len(prior):
        return channel
    out = np.tile(np.zeros(len(prior)), (len(prior), 1))
    out[:, support] = prior[support] @ channel / prior[support].sum()
    out[np.ix_(support, support)] = channel
    return out
