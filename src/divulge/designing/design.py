"""Asking for a design: what is kept, under which guarantees, from which prior; and why where there is none."""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, cast

import numpy as np

from divulge import clock
from divulge.clock import OutOfTime
from divulge.designing import rounding
from divulge.designing.chord import chord
from divulge.designing.distances.best import best_about_distances
from divulge.designing.effort import Budget, Effort, Progress
from divulge.designing.infeasible import ConflictingGuarantees, Wish, conflicts
from divulge.designing.linear.certified import possible, scored, unforbidden
from divulge.designing.linear.information import CONCAVE, informative
from divulge.designing.linear.information import METHOD as INFORMED
from divulge.designing.linear.robust import robust
from divulge.designing.linear.score_program import Infeasible
from divulge.designing.linear.scores import SCORES, Score, as_score
from divulge.designing.master.column_generation import Mixture
from divulge.designing.methods import CLOSED, first_of, mixture_of
from divulge.designing.naming.estimation import ESTIMATION, Estimation, as_estimation
from divulge.designing.naming.names import OwnNames
from divulge.designing.naming.request import Asked
from divulge.designing.naming.sets import labeled_by_sets
from divulge.designing.polytope.limits import Classes, Limits, classes_of, limits_of
from divulge.designing.polytope.symmetry import outcomes_of
from divulge.designing.polytope.utilities import SUBCONVEX, Function, SubConvex, custom
from divulge.designing.pricing.problem import Problem
from divulge.designing.protecting.law import as_protected
from divulge.designing.protecting.request import Protecting
from divulge.designing.result import Design
from divulge.designing.start.closed_forms import closed
from divulge.designing.supports.correlated import About, Informed
from divulge.designing.supports.faces import best_within
from divulge.designing.supports.given_outcomes import Task, on_alphabet
from divulge.designing.supports.two_outcomes import MOST, best_pair
from divulge.designing.utility import Utility
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import Guarantee, GuaranteeLike
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.measures.robust import L1Ball, PriorSet
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.model.entries import whole_number
from divulge.model.labels import Labels, alphabet
from divulge.model.prior import Prior

FEWEST_BITS = 24
"""Bits of a channel at least: with fewer, a unit of its entries, 6e-8, is more than the gap that is left."""
MOST_BITS = 56
"""Bits of a channel at most: it is found in doubles, whose 53 bits finer integers add nothing to."""
_TURNS = 150
"""Steps of the search in each try of what guarantees leave, when a request cannot be met."""

_WHY = 0.2
"""The share of the time limit that may be added for saying why a request cannot be met."""

_TOLD = 2e-7
"""Seconds of a slow core, over the square of the number of secrets, that the channel takes that tells all: measured."""
_MANY = 64
"""With fewer secrets rounding takes no time."""
_TABLE, _A_SECOND = 5e6, 2e7
"""Scores that take no time, and that a slow core computes with in a second: measured."""
_ROUNDING = 0.1
"""Seconds that are left for the rounding at least, where the time is limited."""


class Endless(DivulgeError):
    """A utility that has no largest value under the guarantees."""


_RAREST = 1e-300
"""What is divided by it is a double."""


def design(
    prior: PriorLike | PriorSet,
    *guarantees: GuaranteeLike,
    utility: Utility = "mutual-information",
    outcomes: Iterable[Hashable] | OwnNames | str | None = None,
    forbidden: Iterable[tuple[Hashable, Hashable]] = (),
    protect: ChannelLike | tuple[ChannelLike, ...] | None = None,
    method: str | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], object] | None = None,
    bits: int = 53,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Design:
    r"""Return the channel with the greatest utility among all that keep the guarantees, and a proof of how good it is.

    max sum_y q_y mu(v_y) subject to sum_y q_y v_y = 1 and v_y in the polytope of the guarantees, where
    v_xy = C_xy / q_y is the lift and mu(v) = sum_x P_x f(v_x) for a convex f (v log v for mutual information).

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets; a series of text; or a set of priors such as L1Ball
        The values of a series of text are counted. With a set the guarantees hold under every prior of it, and a
        linear score, or mutual information, counts under the worst; the latter for a few secrets.
    *guarantees : Guarantee or text such as "pml=0.5"
        PML, PMC, LIP, ALIP, LDP (or DP), lift, lift capacity, Bayes capacity, maximal leakage; all are kept at once.
        Or one `MetricPrivacy`, with utility "distance" (the mean distance to what is released, to be small) or a score.
    utility : str, convex function of an array of lifts, About, Score, matrix of scores (N, M), or Gain or Cost
        "mutual-information" (nats), "total-variation", "chi-squared", ...; linear ones are "hamming",
        "absolute-distance", ...: the mean score of releasing y when the secret is x, by one linear program.
        "estimation" and "worst-estimation": n times the variance of frequencies that are estimated from n outcomes,
        summed over values or of the worst, to be small; the outcomes are then "values".
    outcomes : labels, "values", OwnNames or "sets", optional
        "values": one outcome for each value, under its name, which occurs and raises it more than any other (`OwnNames`
        asks for more). Scores are then solved with their proof; of other utilities it is the best that is found, beside
        the bound of all channels. "sets": the best outcomes, each labeled with the set of the values that it raises.
        Labels: 0, 1, ... when not given. Those that are not used are dropped. Of fewer than an optimum uses the best
        that was found comes back, with the bound for any number; of two outcomes of up to 12 secrets it is the best of
        all, with a bound for two. For scores, the labels that are scored: those of the secrets, or 0, 1, ... for a
        matrix, when not given.
    forbidden : pairs (secret, outcome), optional
        What must never be released: these entries of the channel are exactly 0. `outcomes` are those of the secrets
        when not given; the bound holds for any number of outcomes of each kind.
    protect : Channel P(s | x), Joint of S and X, or a tuple of several, optional
        What the guarantees are about, where it is not the data x themselves that the mechanism sees: S - X - Y. The
        prior and the utility are those of x.
    method : str, optional
        A method by name instead of the first that applies.
    time_limit : float, optional
        Seconds after which the best channel so far comes back, with its honest gap.
    progress : function of a Progress, optional
        Called once a round in long runs.
    bits : int
        The channel's entries are whole multiples of 2^-bits.
    at_least, at_most : float, optional
        A utility that must be reached, or a distortion that must not be exceeded.

    Returns
    -------
    Design
        `channel` keeps the guarantees exactly; `utility` is that channel's, `bound` is an upper bound for every
        mechanism (rounded up), `gap` is what is left between them.

    Raises
    ------
    DivulgeError
        When a guarantee is of a kind that no design knows, or a method does not apply. When guarantees leave no
        channel that gives 0 to what the scores forbid, or that reaches the utility asked for: the message names the
        fewest guarantees that conflict, and the least level at which each would do.

    References
    ----------
    Grosse, Saeidian, Oechtering, "Extremal Mechanisms for Pointwise Maximal Leakage", arXiv:2310.07381 (closed forms);
    Kairouz, Oh, Viswanath, "Extremal Mechanisms for Local Differential Privacy", arXiv:1407.1338 (columns at corners);
    Rassouli, Gunduz, "On Perfect Privacy", arXiv:1712.08500 (nothing told of what is protected);
    Bordenabe, Chatzikokolakis, Palamidessi, "Optimal Geo-Indistinguishable Mechanisms for Location Privacy",
    arXiv:1402.5029 (metric privacy).

    Examples
    --------
    >>> best = dv.design(dv.Prior(["1/4", "1/2", "1/4"]), dv.PML("1/4"))
    >>> best.method, round(best.utility, 6)
    ('closed-form', 0.105489)
    >>> bool(dv.PML("1/4").holds_for(best.joint))
    True
    >>> told = dv.design(["1/4"] * 4, "pml=0", protect=[[1, 0], [1, 0], [0, 1], [0, 1]])  # 0 and 1, or 2 and 3?
    >>> round(told.utility, 6), dv.pml(told.protected[0]).max()  # one bit of two
    (0.693147, 0.0)
    """
    deadline = clock.deadline(time_limit)
    promised = tuple(as_guarantee(g) for g in guarantees)
    score = None if _about_distances(promised) else as_score(utility)
    bits = whole_number(bits, "bits", FEWEST_BITS, MOST_BITS)
    effort = Effort(deadline=deadline, progress=progress)
    if not isinstance(prior, PriorSet):
        prior = _prior(prior)
    if _about_distances(promised):
        _check_plain(
            prior=isinstance(prior, PriorSet), outcomes=outcomes is not None, forbidden=bool(tuple(forbidden)),
            protect=protect is not None, method=method is not None,
        )  # fmt: skip
        found = best_about_distances(cast(Prior, prior), promised, utility, bits, time_limit)
        wanted = _wanted(at_least, at_most, found.minimized)
        if wanted is None or _reached(found.utility, wanted, found.minimized):
            return found
        raise _short(found, wanted)
    if isinstance(prior, (Prior, L1Ball)):
        _check_rarest(prior if isinstance(prior, Prior) else prior.center)
    goal = (as_estimation(utility) or _utility(utility, prior)) if score is None else score
    naming, names = _naming(outcomes, isinstance(goal, Estimation))
    pairs = tuple(_pairs(forbidden))
    if isinstance(prior, PriorSet) and isinstance(goal, SubConvex):
        _check_robust(goal, naming, pairs, method)
    if pairs and isinstance(naming, OwnNames):
        raise DivulgeError.of("forbidden", "be empty where outcomes bear the names of values", "it", "not empty")
    if method is not None and isinstance(naming, OwnNames):
        raise DivulgeError.of("method", "be left out where outcomes bear the names of values", "it", repr(method))
    if pairs and names is None and score is None:
        names = tuple(prior.secrets)
    given: tuple[Channel, ...] = ()
    if protect is not None:
        _check_protected(
            prior=isinstance(prior, PriorSet), forbidden=pairs, method=method is not None,
            outcomes=isinstance(naming, OwnNames), utility=isinstance(goal, Estimation),
        )  # fmt: skip
        given = as_protected(protect, prior.secrets)
    request = _Request(prior, goal, names, method, bits, pairs, naming, given)
    wanted = _wanted(at_least, at_most, goal.least)
    try:
        found = request.under(promised, effort)
    except Infeasible as infeasible:
        raise request.refusal(promised, effort.late_by(_WHY)) or infeasible from None
    if wanted is None or _reached(found.utility, wanted, found.minimized):
        return found
    if _reached(found.bound, wanted, found.minimized):
        raise _short(found, wanted, f"the best that was found has {found.utility:.9g}.")
    late = effort.late_by(_WHY)
    raise request.refusal(promised, late, wanted) or _short(found if late.late() else request.under((), late), wanted)


def _about_distances(promised: tuple[Guarantee, ...]) -> bool:
    return any(isinstance(one, MetricPrivacy) for one in promised)


def _check_plain(**options: bool) -> None:
    """Refuse what no design under metric privacy knows."""
    for name, given in options.items():
        if given:
            condition = "be a prior" if name == "prior" else "be left out"
            raise DivulgeError.of(name, f"{condition} for a design under metric privacy", "it", "given")


def _naming(outcomes: Any, estimated: bool) -> tuple[OwnNames | str | None, Labels | None]:
    """Return (how outcomes are named, their labels where these are given)."""
    if (isinstance(outcomes, str) and outcomes == "values") or (estimated and outcomes is None):
        return OwnNames(), None
    if isinstance(outcomes, OwnNames):
        return outcomes, None
    if isinstance(outcomes, str) and outcomes != "sets":
        raise DivulgeError.of("outcomes", 'be labels, "values", OwnNames or "sets"', "it", repr(outcomes))
    if estimated:
        raise DivulgeError.of(
            "outcomes", 'be "values" or OwnNames for the variance of estimates', "it", "something else"
        )
    if outcomes is None or isinstance(outcomes, str):
        return outcomes, None
    return None, tuple(alphabet(outcomes, None, "outcomes"))


def _check_robust(goal: SubConvex, naming: OwnNames | str | None, pairs: Any, method: str | None) -> None:
    """Refuse what no design for a set of priors knows where the utility is convex."""
    if goal not in CONCAVE:
        raise DivulgeError.of(
            "utility", "be mutual information, a linear score or a variance for a set of priors", "it", goal.name,
            "other convex utilities may be least at a prior inside the set, where no bound is known.",
        )  # fmt: skip
    if pairs or isinstance(naming, OwnNames):
        what = "forbidden" if pairs else "outcomes"
        raise DivulgeError.of(
            what, "be left out where mutual information is designed for a set of priors", "it", "given"
        )
    if method not in (None, INFORMED):
        raise DivulgeError.of(
            "method", f'be "{INFORMED}" for mutual information over a set of priors', "it", repr(method)
        )


def _check_protected(**options: Any) -> None:
    """Refuse what no design that protects another variable knows."""
    for name, given in options.items():
        if given:
            raise DivulgeError.of(
                name, "be a prior" if name == "prior" else "be left out where another variable is protected", "it",
                "a set" if name == "prior" else "given",
            )  # fmt: skip


def _pairs(forbidden: Any) -> Iterable[tuple[Hashable, Hashable]]:
    """Yield the pairs (secret, outcome)."""
    for pair in forbidden:
        if not (isinstance(pair, (tuple, list)) and len(cast(Any, pair)) == 2):
            raise DivulgeError.of("forbidden", "be pairs (secret, outcome)", "one of them", repr(pair))
        yield tuple(cast(Any, pair))


def _prior(value: Any) -> Prior:
    """Return a Prior, also from a series of text, whose values are counted."""
    try:
        return as_prior(value)
    except DivulgeError:
        if hasattr(value, "value_counts") and isinstance(next(iter(value), None), str):
            return Prior.from_column(value)
        raise


def _check_rarest(prior: Prior) -> None:
    """Refuse probabilities of which no design can tell what they allow."""
    if min(p for p in prior.probabilities.tolist() if p > 0) < _RAREST:
        raise DivulgeError.of(
            "prior", f"have no probability between 0 and {_RAREST:g}", "one of them", "below",
            "write 0 for a value that never occurs.",
        )  # fmt: skip


def _wanted(at_least: float | None, at_most: float | None, least: bool) -> float | None:
    """Return the utility asked for, None when none is."""
    asked, other = ("at_most", "at_least") if least else ("at_least", "at_most")
    wanted, unused = (at_most, at_least) if least else (at_least, at_most)
    if unused is not None:
        raise DivulgeError.of(other, f"be given as {asked}", "the utility", f"{'a' if least else 'no'} distortion")
    if wanted is not None and not (isinstance(wanted, Real) and math.isfinite(wanted)):
        raise DivulgeError.of(asked, "be a finite number", "it", repr(wanted))
    return wanted


def _reached(utility: float, wanted: float, least: bool) -> bool:
    return utility <= wanted if least else utility >= wanted


def _short(found: Design, wanted: float, hint: str = "") -> DivulgeError:
    asked = "at_most" if found.minimized else "at_least"
    under = "these guarantees" if found.guarantees else "no guarantee"
    return DivulgeError.of(
        asked, f"be reached; {found.objective} under {under} is {found.side} {found.bound:.9g}", "it",
        f"{wanted:.9g}", hint,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Ready:
    """A mixture, its channel of floats, the integers it was rounded to, and the seconds that the rounding took."""

    first: Mixture
    combination: np.ndarray
    integers: np.ndarray
    rounding: float

    def _seconds(self, outcomes: int) -> float:
        """Return about how long the rounding of so many outcomes takes."""
        return self.rounding * outcomes / self.combination.shape[1]

    def hurry(self, effort: Effort) -> Effort:
        """Return the effort that leaves time for the rounding of as many outcomes as there are secrets."""
        return replace(effort.less(max(2 * self._seconds(len(self.combination)), _ROUNDING)), first=self.first)

    def best(self, outcomes: int, effort: Effort) -> bool:
        """Whether there is no time for the rounding of so many outcomes, but for a moment."""
        return effort.left < self._seconds(outcomes) - _ROUNDING


@dataclass(frozen=True)
class _Request:
    """What is asked but for the guarantees."""

    prior: Prior | PriorSet
    goal: SubConvex | Score | Estimation
    outcomes: Labels | None
    method: str | None
    bits: int
    forbidden: tuple[tuple[Hashable, Hashable], ...]
    naming: OwnNames | str | None = None
    protect: tuple[Channel, ...] = ()

    def under(self, promised: tuple[Guarantee, ...], effort: Effort) -> Design:
        """Return the design under guarantees; raise Infeasible where there is none."""
        effort = replace(effort, sign=-1.0 if self.goal.least else 1.0)
        if isinstance(self.naming, OwnNames):
            return Asked(self.prior, promised, self.goal, self.naming, self.bits).design(effort)
        assert not isinstance(self.goal, Estimation)
        if self.protect:
            assert isinstance(self.prior, Prior)
            if isinstance(self.goal, SubConvex):
                _check_finite(self.goal, Limits())
            found = Protecting(self.prior, self.protect, promised, self.goal, self.outcomes, self.bits).design(effort)
        elif isinstance(self.prior, PriorSet):
            found = self._robust(self.prior, promised, self.goal, effort)
        elif isinstance(self.goal, SubConvex):
            found = self._convex(self.prior, promised, self.goal, effort)
        else:
            found = self._linear(self.prior, promised, self.goal, effort)
        return labeled_by_sets(found) if self.naming == "sets" else found

    def refusal(
        self, promised: tuple[Guarantee, ...], effort: Effort, wanted: float | None = None
    ) -> ConflictingGuarantees | None:
        """Return why there is no design, or none that reaches what is wanted; None when not for the guarantees."""

        def works(guarantees: tuple[Guarantee, ...]) -> bool | None:
            if effort.late() or (not guarantees and effort.left < _TOLD * len(self.prior.secrets) ** 2):
                return None
            goal = wanted if isinstance(self.goal, SubConvex) else None
            try:
                found = self.under(guarantees, Effort(deadline=effort.deadline, wanted=goal, budget=Budget(_TURNS)))
            except Infeasible:
                return False
            except OutOfTime:
                return None
            except Endless:
                return True
            if wanted is None or _reached(found.utility, wanted, found.minimized):
                return True
            return None if _reached(found.bound, wanted, found.minimized) else False

        found = conflicts(promised, works)
        if not found:
            return None
        if wanted is None:
            return ConflictingGuarantees(Wish("a channel that never releases what is forbidden"), found)
        side = "at most" if self.goal.least else "at least"
        logarithmic = isinstance(self.goal, SubConvex) and self.goal.logarithmic
        return ConflictingGuarantees(Wish(f"{self.goal.name} of {side}", wanted, logarithmic), found)

    def _convex(self, prior: Prior, promised: tuple[Guarantee, ...], objective: SubConvex, effort: Effort) -> Design:
        bits, (support, p) = self.bits, possible(prior)
        classes, exact_limits = classes_of(p), limits_of(promised)
        floats = classes.probability[classes.of_secret]
        limits = exact_limits.floats().tightened(float(floats.min()), len(p))
        _check_finite(objective, limits)
        seen = replace(objective, given=objective.given[support]) if isinstance(objective, Informed) else objective
        names = self.outcomes
        allowed = self._allowed(prior.secrets, names or range(1))
        task = Task(p, seen, exact_limits, limits, allowed[support])
        checker, integers = rounding.Checker.of(p, exact_limits), np.zeros((len(p), 0), dtype=np.int64)
        if self.method in (None, CLOSED) and not self.forbidden and checker.keeps_identity:
            name, combination, integers = CLOSED, np.eye(len(p)), np.eye(len(p), dtype=np.int64) * 2**bits
            bound = seen.of(floats, combination) * (1 + 2.0**-40)
        else:
            kinds = task.kinds if self.forbidden else None
            ready = self._ready(classes, seen, limits, checker, effort) if kinds is None else None
            hurried = effort if ready is None else ready.hurry(effort)
            name, weights, lifts, bound = _blend(classes, seen, limits, kinds, hurried, self.method)
            if ready is not None and ready.best(len(weights), effort):
                combination, integers = ready.combination, ready.integers
            else:
                combination = lifts * weights
                if not self.forbidden:
                    integers = rounding.certified(weights, lifts, checker, bits, objective.steep)
        unrounded = seen.of(floats, combination)
        bound = bound if isinstance(seen, Informed) else min(bound, chord(exact_limits, seen))  # holds at any size
        if names is not None and len(names) == 2 < integers.shape[1] and not self.forbidden and len(p) <= MOST:
            combination, most = best_pair(floats, seen, limits)
            bound = min(bound, most)
        if names is not None and (self.forbidden or integers.shape[1] > len(names)):
            found = on_alphabet(task, combination, names, bits, effort)
            integers, names, unrounded = found.integers, found.outcomes, found.unrounded
            allowed = allowed[:, found.places]
        else:
            names, allowed = (names or range(integers.shape[1]))[: integers.shape[1]], allowed[:, : integers.shape[1]]
        integers = _with_absent(integers, support, prior, bits, allowed, exact_limits)
        return Design(
            prior, promised, objective, integers, bits, names, objective.of(prior.floats, integers / 2.0**bits),
            max(bound, 0.0), name, clock.now() - effort.started, forbidden=self.forbidden, unrounded=unrounded,
        )  # fmt: skip

    def _ready(
        self, classes: Classes, objective: SubConvex, limits: Limits, checker: rounding.Checker, effort: Effort
    ) -> _Ready | None:
        """Return a channel without a search, and how long its rounding took, if time is limited and secrets many."""
        many = int(classes.size.sum())
        if effort.deadline == math.inf or many < _MANY or isinstance(objective, Informed):
            return None
        problem = Problem.of(classes, objective, limits)
        if self.method in (None, CLOSED) and closed(problem, effort) is not None:
            return None  # takes no search
        first = first_of(problem, effort)
        weights, lifts = outcomes_of(first.weights, first.vertices, first.classes)
        started = clock.now()
        integers = rounding.certified(weights, lifts, checker, self.bits, objective.steep)
        return _Ready(first, lifts * weights, integers, clock.now() - started)

    def _allowed(self, secrets: Labels, outcomes: Labels) -> np.ndarray:
        """Return where the channel may be positive, (N, M)."""
        out = np.ones((len(secrets), len(outcomes)), dtype=bool)
        rows, columns = ({label: k for k, label in enumerate(names)} for names in (secrets, outcomes))
        for x, y in self.forbidden:
            if x not in rows or y not in columns:
                what = f"of the secret {x!r}" if x not in rows else f"and the outcome {y!r}"
                raise DivulgeError.of("forbidden", "name secrets of the prior and outcomes", "a pair", what)
            out[rows[x], columns[y]] = False
        _check_open(out, secrets, "forbidden")
        return out

    def _linear(self, prior: Prior, promised: tuple[Guarantee, ...], score: Score, effort: Effort) -> Design:
        bits, (support, p) = self.bits, possible(prior)
        if len(prior) * len(self.outcomes or prior) > max(_TABLE, _A_SECOND * effort.left):
            raise clock.out_of_time("for a table of all scores", "allow it longer, or merge values into fewer groups.")
        scores, names = score.table(prior.secrets, self.outcomes)
        if self.forbidden:
            scores = np.where(self._allowed(prior.secrets, names), scores, -math.inf)
        _check_open(np.isfinite(scores), prior.secrets, "utility")
        limits = limits_of(promised)
        everywhere = unforbidden(scores, Limits(ratio=limits.ratio))
        found = scored(p, limits, score, everywhere[support], names, bits, effort, self.method)
        kept = everywhere[:, found.places]
        integers = _with_absent(found.integers, support, prior, bits, np.isfinite(kept), limits)
        return Design(
            prior, promised, score, integers, bits, found.outcomes,
            score.value(prior.floats, kept, integers / 2.0**bits), found.bound, found.method,
            clock.now() - effort.started, names, forbidden=self.forbidden, unrounded=found.unrounded,
        )  # fmt: skip

    def _robust(
        self, priors: PriorSet, promised: tuple[Guarantee, ...], goal: SubConvex | Score, effort: Effort
    ) -> Design:
        limits, names = limits_of(promised), None
        if isinstance(goal, SubConvex):
            found, worst, value = informative(priors, limits, goal, self.outcomes, self.bits, effort)
        else:
            scores, names = goal.table(priors.secrets, self.outcomes)
            scores = np.where(self._allowed(priors.secrets, names), scores, -math.inf)
            found, worst, value = robust(priors, limits, goal, scores, names, self.bits, effort, self.method)
        return Design(
            Prior(worst, priors.secrets), promised, goal, found.integers, self.bits, found.outcomes, value,
            found.bound, found.method, clock.now() - effort.started, names, priors, self.forbidden, found.unrounded,
        )  # fmt: skip


def _check_open(allowed: np.ndarray, secrets: Labels, what: str) -> None:
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if len(stuck):
        label = repr(secrets[int(stuck[0])])
        raise DivulgeError.of(what, "allow every secret some outcome", "every outcome", f"forbidden for {label}")


def _utility(value: Any, prior: Prior | PriorSet) -> SubConvex:
    if isinstance(value, About):
        return Informed.of_table(_utility(value.utility, prior), value.of, prior.secrets)
    if isinstance(value, SubConvex):
        return value
    if callable(value):
        return custom(cast(Function, value))
    if isinstance(value, str) and value in SUBCONVEX:
        return SUBCONVEX[value]
    known = [*SUBCONVEX, *SCORES, *ESTIMATION]
    raise DivulgeError.unknown("utility", value, known, "be a convex function of the lift, a Score or one of")


def _blend(
    classes: Classes, objective: SubConvex, limits: Limits, kinds: np.ndarray | None, effort: Effort, method: str | None
) -> tuple[str, np.ndarray, np.ndarray, float]:
    """Return (method, weights (M,), lifts (N, M), bound) of the best mixture of floats, of outcomes of some kinds."""
    if kinds is not None or isinstance(objective, Informed):
        every = np.ones((int(classes.size.sum()), 1), dtype=bool)
        name, found = best_within(classes, objective, limits, every if kinds is None else kinds, effort, method)
    else:
        name, found = mixture_of(Problem.of(classes, objective, limits), effort, method)
    return name, *outcomes_of(found.weights, found.vertices, found.classes), found.bound


def _check_finite(utility: SubConvex, limits: Limits) -> None:
    least = limits.low or (1 / limits.ratio if limits.ratio < math.inf else 0.0)
    if not np.isfinite(utility.f(np.array([least]))).all():
        raise Endless(
            f"`utility` must be finite under the guarantees; {utility.name} is infinite when an outcome rules a secret "
            "out. Hint: add a guarantee that forbids zeros, such as pmc or ldp."
        )


def _with_absent(
    columns: np.ndarray, support: np.ndarray, prior: Prior, bits: int, allowed: np.ndarray, limits: Limits
) -> np.ndarray:
    """Return the integers with a row for every secret of probability 0 as well, 0 where nothing is allowed.

    Such a row stays in the range of each column, or where only secrets that occur count, it may be any.
    """
    if len(support) == len(prior):
        return columns
    mean, whole = prior.floats[support] @ (columns / 2.0**bits), 2**bits
    low, high = columns.min(axis=0), columns.max(axis=0)
    if limits.ratio == limits.capacity == math.inf and not allowed.all():
        low, high = np.zeros_like(low), np.full_like(high, whole)
    rows = [rounding.row_for_absent(np.where(may, low, 0), np.where(may, high, 0), mean, whole) for may in allowed]
    out = np.array(rows)
    out[support] = columns
    return out
