"""The most useful mechanism under a guarantee, with a bound on every other and a channel that keeps its promise."""

import math
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from divulge.designing import certify
from divulge.designing.arrange import outcomes_of
from divulge.designing.effort import Effort, Progress
from divulge.designing.limits import Limits, classes_of, limits_of
from divulge.designing.methods import mixture_of
from divulge.designing.pricing import Problem
from divulge.designing.robust import measured, robust
from divulge.designing.scored import scored
from divulge.designing.scores import SCORES, Score, as_score
from divulge.designing.utilities import SUBCONVEX, Function, SubConvex, custom
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import as_guarantee
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import PriorSet
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_prior
from divulge.model.joint import Joint
from divulge.model.labels import Labels, alphabet
from divulge.model.prior import Prior
from divulge.model.record import Record

if TYPE_CHECKING:
    from divulge.designing.alternatives import Alternatives

FEWEST_BITS, MOST_BITS = 24, 56


@dataclass(frozen=True, eq=False, repr=False)
class Design(Record):
    """A mechanism, what it keeps, what any mechanism could keep, and the guarantees it exactly has.

    Attributes
    ----------
    prior : Prior
    guarantees : tuple of Guarantee
        What was asked, and holds exactly.
    objective : str
        The name of the utility.
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
    >>> import divulge as dv
    >>> best = dv.design(["1/2", "1/2"], dv.LDP(1), utility="hamming")
    >>> round(best.utility, 9), 0 <= best.bound - best.utility < 1e-6  # e / (1 + e)
    (0.731058579, True)
    """

    prior: Prior
    guarantees: tuple[Guarantee, ...]
    objective: str
    integers: np.ndarray
    bits: int
    outcomes: Labels
    utility: float
    bound: float
    method: str
    seconds: float = field(compare=False)
    minimized: bool = False
    """Whether less utility is better: it is a distortion, and `bound` a lower bound."""
    goal: SubConvex | Score | None = None
    """The utility itself."""
    scored: Labels | None = None
    """The outcomes that have scores, of a linear utility."""
    priors: PriorSet | None = None
    """The set over which everything holds; `prior` is then the worst of it for the utility."""

    @property
    def logarithmic(self) -> bool:
        """Whether the utility is a logarithm, in nats."""
        return self.objective in SUBCONVEX and SUBCONVEX[self.objective].logarithmic

    @property
    def gap(self) -> float:
        """Bound minus utility (of a distortion, the reverse), at least 0: how much better any mechanism could be."""
        return max(0.0, self.utility - self.bound if self.minimized else self.bound - self.utility)

    @property
    def relative_gap(self) -> float:
        """Gap over the size of the bound; 0 when the bound is 0."""
        return self.gap / abs(self.bound) if self.bound else 0.0

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
    def achieved(self) -> tuple[Guarantee, ...]:
        """For each guarantee asked, the strongest of its kind that the channel has, measured and rounded up."""
        if self.priors is not None:
            return tuple(measured(g, self.priors, self.channel) for g in self.guarantees)
        return tuple(_measured(g, self.joint) for g in self.guarantees)

    def utility_of(self, channel: Any) -> float | None:
        """Return the utility of another channel on the same secrets, as the utility of this design is measured.

        Where outcomes have scores, each outcome of the channel is read as the best of those; None where none fits.
        """
        other = as_channel(channel)
        if isinstance(self.goal, Score):
            return self.goal.decided(self.prior.floats, other, self.prior.secrets, self.scored)
        if self.goal is None:
            return None
        return self.goal.of(self.prior.floats, np.asarray(other.floats.toarray() if other.sparse else other.floats))

    def compare(self) -> "Alternatives":
        """Return this design beside the named mechanisms, each tuned until it just keeps the same guarantees.

        Examples
        --------
        >>> import divulge as dv
        >>> rows = dv.design(dv.Prior(["1/2", "1/4", "1/4"]), dv.LDP(1), utility="hamming").compare().rows
        >>> [(row.name, round(row.utility, 4)) for row in rows[:2]]
        [('design', 0.5761), ('randomized response', 0.5761)]
        """
        from divulge.designing.alternatives import alternatives

        return alternatives(self)

    def __repr__(self) -> str:
        asked = ", ".join(str(g) for g in self.guarantees) or "no guarantee"
        return (
            f"Design under {asked}: {self.objective} {self.utility:.9g} of {self.side} {self.bound:.9g} "
            f"(gap {self.gap:.2g}), by {self.method}\n{self.channel!r}"
        )


def _measured(guarantee: Guarantee, joint: Joint) -> Guarantee:
    kind = type(guarantee)
    return kind.of(joint if kind.about == "joint" else joint.channel)


def design(
    prior: Any,
    *guarantees: Any,
    utility: Any = "mutual-information",
    outcomes: Iterable[Hashable] | None = None,
    method: str | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], object] | None = None,
    bits: int = 53,
) -> Design:
    r"""Return the channel with the greatest utility among all that keep the guarantees, and a proof of how good it is.

    max sum_y q_y mu(v_y) subject to sum_y q_y v_y = 1 and v_y in the polytope of the guarantees, where
    v_xy = C_xy / q_y is the lift and mu(v) = sum_x P_x f(v_x) for a convex f (v log v for mutual information).

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets; or a set of priors such as L1Ball
        With a set the guarantees hold under every prior of it, and a linear score counts under the worst.
    *guarantees : Guarantee or text such as "pml=0.5"
        PML, PMC, LIP, ALIP, LDP (or DP), lift, lift capacity, Bayes capacity, maximal leakage; all are kept at once.
    utility : str, convex function of an array of lifts, Score, matrix of scores (N, M), or Gain or Cost of a reader
        "mutual-information" (nats), "total-variation", "chi-squared", ...; linear ones are "hamming",
        "absolute-distance", ...: the mean score of releasing y when the secret is x, by one linear program.
    outcomes : labels, optional
        0, 1, ... when not given; at least as many as the mechanism uses, the rest are dropped. For scores, the labels
        that are scored: those of the secrets, or 0, 1, ... for a matrix, when not given.
    method : str, optional
        A method by name instead of the first that applies.
    time_limit : float, optional
        Seconds after which the best channel so far comes back, with its honest gap.
    progress : function of a Progress, optional
        Called once a round in long runs.
    bits : int
        The channel's entries are whole multiples of 2^-bits.

    Returns
    -------
    Design
        `channel` keeps the guarantees exactly; `utility` is that channel's, `bound` is an upper bound for every
        mechanism (rounded up), `gap` is what is left between them.

    Raises
    ------
    DivulgeError
        When a guarantee is of a kind that no design knows, or a method does not apply.

    Examples
    --------
    >>> import divulge as dv
    >>> best = dv.design(dv.Prior(["1/4", "1/2", "1/4"]), dv.PML("1/4"))
    >>> best.method, round(best.utility, 6)
    ('closed-form', 0.105489)
    >>> bool(dv.PML("1/4").holds_for(best.joint))
    True
    """
    started = time.monotonic()
    promised = tuple(as_guarantee(g) for g in guarantees)
    score = as_score(utility)
    if bits not in range(FEWEST_BITS, MOST_BITS + 1):
        raise DivulgeError.of("bits", f"be a whole number from {FEWEST_BITS} to {MOST_BITS}", "it", repr(bits))
    if time_limit is not None and not time_limit >= 0:
        raise DivulgeError.of("time_limit", "be a number of seconds that is at least 0", "it", repr(time_limit))
    deadline = math.inf if time_limit is None else started + time_limit
    effort = Effort(deadline=deadline, progress=progress, started=started)
    if isinstance(prior, PriorSet):
        return _robust(prior, promised, score, outcomes, method, effort, bits)
    prior = as_prior(prior)
    if score is None:
        return _convex(prior, promised, _utility(utility), outcomes, method, effort, bits)
    return _linear(prior, promised, score, outcomes, method, effort, bits)


def _convex(
    prior: Prior, promised: tuple[Guarantee, ...], objective: SubConvex, outcomes: Iterable[Hashable] | None,
    method: str | None, effort: Effort, bits: int,
) -> Design:  # fmt: skip
    support = np.flatnonzero(prior.support)
    p = prior.probabilities[support] / sum(prior.probabilities[support].tolist())
    classes, exact_limits = classes_of(p), limits_of(promised)
    floats = classes.probability
    limits = exact_limits.floats().tightened(float(floats.min()), float(floats.max()), len(p))
    _check_finite(objective, limits)
    problem = Problem.of(classes, objective, limits)
    name, found = mixture_of(problem, effort, method)
    weights, lifts = outcomes_of(found.weights, found.vertices, found.classes)
    checker = certify.Checker.of(p, exact_limits)
    integers = _with_absent(
        certify.certified(weights, lifts, checker, bits, objective.steep), support, len(prior), prior.floats, bits
    )
    value = objective.of(prior.floats, integers / 2.0**bits)
    return Design(
        prior, promised, objective.name, integers, bits, _labels(outcomes, integers.shape[1]), value,
        max(found.bound, 0.0), name, time.monotonic() - effort.started, goal=objective,
    )  # fmt: skip


def _linear(
    prior: Prior, promised: tuple[Guarantee, ...], score: Score, outcomes: Iterable[Hashable] | None,
    method: str | None, effort: Effort, bits: int,
) -> Design:  # fmt: skip
    support = np.flatnonzero(prior.support)
    p = prior.probabilities[support] / sum(prior.probabilities[support].tolist())
    scores, names = score.table(prior.secrets, None if outcomes is None else tuple(outcomes))
    effort = replace(effort, sign=score.sign)
    found = scored(p, limits_of(promised), score, scores[support], names, bits, effort, method)
    integers = _with_absent(found.integers, support, len(prior), prior.floats, bits)
    place = {y: j for j, y in enumerate(names)}
    kept = scores[:, [place[y] for y in found.outcomes]]
    return Design(
        prior, promised, score.name, integers, bits, found.outcomes, score.value(prior.floats, kept,
        integers / 2.0**bits), found.bound, found.method, time.monotonic() - effort.started, score.least,
        score, names,
    )  # fmt: skip


def _robust(
    priors: PriorSet, promised: tuple[Guarantee, ...], score: Score | None, outcomes: Iterable[Hashable] | None,
    method: str | None, effort: Effort, bits: int,
) -> Design:  # fmt: skip
    if score is None:
        raise DivulgeError.of(
            "utility", "be a linear score for a set of priors", "it", "another one", 'such as "hamming".'
        )
    scores, names = score.table(priors.secrets, None if outcomes is None else tuple(outcomes))
    effort = replace(effort, sign=score.sign)
    found, worst, value = robust(priors, limits_of(promised), score, scores, names, bits, effort, method)
    return Design(
        Prior(worst, priors.secrets), promised, score.name, found.integers, bits, found.outcomes, value, found.bound,
        found.method, time.monotonic() - effort.started, score.least, score, names, priors,
    )  # fmt: skip


def _utility(value: Any) -> SubConvex:
    if isinstance(value, SubConvex):
        return value
    if callable(value):
        return custom(cast(Function, value))
    if isinstance(value, str) and value in SUBCONVEX:
        return SUBCONVEX[value]
    known = ", ".join([*SUBCONVEX, *SCORES])
    raise DivulgeError.of("utility", f"be a convex function of the lift, a Score or one of {known}", "it", repr(value))


def _check_finite(utility: SubConvex, limits: Limits) -> None:
    least = limits.low or (1 / limits.ratio if limits.ratio < math.inf else 0.0)
    if not np.isfinite(utility.f(np.array([least]))).all():
        raise DivulgeError.of(
            "utility", "be finite under the guarantees", utility.name, "infinite when an outcome rules a secret out",
            "add a guarantee that forbids zeros, such as pmc or ldp.",
        )  # fmt: skip


def _with_absent(columns: np.ndarray, support: np.ndarray, size: int, prior: np.ndarray, bits: int) -> np.ndarray:
    """Return the integers with a row for every secret of probability 0 as well."""
    if len(support) == size:
        return columns
    mean = prior[support] @ (columns / 2.0**bits)
    out = np.tile(certify.row_for_absent(columns, mean, 2**bits), (size, 1))
    out[support] = columns
    return out


def _labels(outcomes: Iterable[Hashable] | None, needed: int) -> Labels:
    if outcomes is None:
        return range(needed)
    names = tuple(alphabet(outcomes, None, "outcomes"))
    if len(names) < needed:
        raise DivulgeError.of(
            "outcomes", f"name at least the {needed} that the mechanism uses", "their number", str(len(names))
        )
    return names[:needed]
