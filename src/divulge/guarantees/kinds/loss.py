"""The guarantees built on the privacy loss: what each means and how much of it there is in a mechanism.

They are about a channel (all pairs of its rows), or a named mechanism of the central model. Alphabets:
`LDP` is pure differential privacy here too.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from divulge import exact
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import Losses, as_subject
from divulge.dp.variants import approximate, concentrated, divergence, tradeoff
from divulge.dp.variants.information import mutual_information_dp
from divulge.dp.variants.tails import quantile_bound
from divulge.dp.variants.worst import Worst, worst
from divulge.guarantees.deciding import pairs, searched
from divulge.guarantees.deciding.levels import Ball, Level, Witness
from divulge.guarantees.deciding.pairs import Question
from divulge.guarantees.deciding.stated import stated
from divulge.guarantees.guarantee import Guarantee, Released
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.model.channel import Channel
from divulge.model.convert import as_joint, is_pair
from divulge.model.shown import named
from divulge.roots import least


@dataclass(frozen=True, repr=False)
class LossGuarantee(Guarantee):
    """A guarantee about the privacy loss of every ordered pair."""

    about = "channel"

    @classmethod
    def subject(cls, released: Released) -> Losses:
        """Return a channel, or the losses of a named mechanism.

        Examples
        --------
        >>> [loss.highest for loss in dv.ADP.subject(dv.dp.LaplaceMechanism(2.0))]
        [0.5]
        """
        return as_subject(as_joint(released).channel if is_pair(released) else released)


def level_of(value: float, pair: Any, words: str, ball: Ball | None = None) -> Level:
    """Return a level with the pair, or triple, of secrets that reaches it: by a ball, or as a double may be off."""
    secret, other = pair[:2] if pair else (None, None)
    text = f"{words} between {named(secret)} and {named(other)}." if pair else f"{words}."
    witness = Witness(secret=secret, other=other, adversary=text)
    return Level(float(value), ball, pairs.ERROR * abs(value), witness)


def decided(
    subject: Losses,
    worst_of: Callable[[Any], Worst],
    measure: Callable[[PrivacyLoss], float],
    question: Question,
    words: str,
    named: tuple[Any, ...],
    as_given: bool = False,
    eased: Callable[[PrivacyLoss], float] | None = None,
) -> tuple[Level, ...]:
    """Return the largest value over the ordered pairs, decided by the rows of a channel, or by what a mechanism states.

    `named` is the question and its arguments in `stated`; `as_given` and `eased` are those of `pairs.level`.
    """
    if isinstance(subject, Channel):
        return (pairs.level(subject, measure, question, words, as_given, eased),)
    found = worst_of(subject)
    return (level_of(found.value, found.pair, words, stated(subject, *named)),)


def searched_for(
    subject: Losses,
    worst_of: Callable[[Any], Worst],
    measure: Callable[[PrivacyLoss], Bracket],
    decision: searched.Decision,
    words: str,
    named: tuple[Any, ...] = ("",),
) -> tuple[Level, ...]:
    """Return the same for a supremum that a search brackets."""
    if isinstance(subject, Channel):
        return (searched.level(subject, measure, decision, words),)
    found = worst_of(subject)
    return (level_of(found.value, found.pair, words, stated(subject, *named)),)


def on_line(subject: Losses, words: str, xi: Any = Fraction(0), up_to: Any = math.inf) -> tuple[Level, ...]:
    """Return the least rho with D_alpha <= xi + rho alpha for 1 < alpha <= up_to."""
    exactly, limit = Fraction(xi), up_to if up_to == math.inf else Fraction(up_to)
    least, most = exact.double_below(xi), exact.double_above(up_to)
    return searched_for(
        subject,
        lambda losses: concentrated.zcdp_rho(losses, least, up_to=most),
        lambda loss: concentrated.rho_bounds(loss, least, most),
        lambda rows, bound: searched.under_line(rows, bound, exactly, limit),
        words,
        ("rho", exactly, limit),
    )


def _eased(delta: float) -> float:
    """Return a delta that is larger by more than what rounding does to probabilities."""
    return min(1.0, delta * (1 + _ROUNDING))


_ROUNDING = 1e-12
"""More than the relative error of a sum of up to some thousand probabilities."""


@kind_of_guarantee
class ADP(LossGuarantee):
    """(epsilon, delta)-DP, or approximate DP: P(S) <= e^epsilon Q(S) + delta for all sets S; epsilon in nats.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [ADP(level, "1/4").holds_for(flip).holds for level in (0.69, 0.70)]  # 3/4 - 2/4 = 1/4, log 2 = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    delta: float | Fraction = parameter(converter=number)
    kind = "adp"
    title = "approximate differential privacy"
    sentence = (
        "Up to a slack of {delta}, no set of outcomes is more than {exp_epsilon} times as likely under one secret as "
        "under another."
    )
    index = ("delta",)
    dual = "epsilon"

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        delta, exactly, words = exact.double_below(self.delta), Fraction(self.delta), "The best test at this delta"
        found, question = partial(approximate.epsilon_from_delta, delta=delta), pairs.epsilon_at(exactly)
        return decided(subject, found, lambda loss: loss.epsilon(delta), question, words, ("delta", exactly), True,
                       lambda loss: loss.epsilon(_eased(delta)))  # fmt: skip


@kind_of_guarantee
class PDP(LossGuarantee):
    """(epsilon, delta)-probabilistic DP: the privacy loss exceeds epsilon with probability at most delta.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [PDP(0, delta).holds_for(flip).holds for delta in ("2/3", "3/4")]  # the loss is log 3 with probability 3/4
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    delta: float | Fraction = parameter(converter=number)
    kind = "pdp"
    title = "probabilistic differential privacy"
    sentence = (
        "Except with probability {delta}, the outcome seen is at most {exp_epsilon} times as likely as under another "
        "secret; merging outcomes afterwards can break this."
    )
    index = ("delta",)
    dual = "epsilon"

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        delta, exactly, words = exact.double_below(self.delta), Fraction(self.delta), "The upper tail of the loss"
        found, question = partial(approximate.epsilon_from_tail, delta=delta), pairs.quantile_at(exactly)
        return decided(subject, found, lambda loss: loss.quantile(delta), question, words, ("tail", exactly), True,
                       lambda loss: loss.quantile(_eased(delta)))  # fmt: skip


@kind_of_guarantee
class RelaxedDP(LossGuarantee):
    """(epsilon, delta, outside)-relaxed DP: (epsilon, delta)-DP outside a set of probability `outside`.

    Examples
    --------
    >>> rare = [["1/2", "3/8", "1/8"], ["1/2", "1/2", "0"]]
    >>> [RelaxedDP(1, 0, outside).holds_for(rare).holds for outside in ("1/9", "1/8")]
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    delta: float | Fraction = parameter(converter=number)
    outside: float | Fraction = parameter(converter=number)
    kind = "relaxed-dp"
    title = "relaxed differential privacy"
    sentence = (
        "With outcomes of probability {outside} set aside, and up to a slack of {delta}, no set of outcomes is more "
        "than {exp_epsilon} times as likely under one secret as under another."
    )
    index = ("delta", "outside")

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        delta, outside = exact.double_below(self.delta), exact.double_below(self.outside)

        def epsilon(loss: PrivacyLoss) -> float:
            return least(lambda e: loss.relaxed(e, outside) <= delta, loss.highest)

        def bound(loss: PrivacyLoss) -> float:
            return min(loss.epsilon(delta), quantile_bound(loss, outside))

        def eased(loss: PrivacyLoss) -> float:
            return least(lambda e: loss.relaxed(e, _eased(outside)) <= _eased(delta), loss.highest)

        def tail_of(losses: Any) -> Worst:
            return worst(losses, "tail", epsilon, theorem=bound)

        question = pairs.epsilon_at(Fraction(self.delta), Fraction(self.outside))
        words = "The best test outside the rare outcomes"
        return decided(subject, tail_of, epsilon, question, words, ("",), True, eased)


@kind_of_guarantee
class KL(LossGuarantee):
    """epsilon-KL privacy: the mean privacy loss KL(P || Q) is at most epsilon (nats), in both orders.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [KL(level).holds_for(flip).holds for level in (0.54, 0.55)]  # (3/4 - 1/4) log 3 = 0.549
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "kl"
    title = "Kullback-Leibler privacy"
    sentence = "On average an outcome speaks for its own secret, against any other, by at most {epsilon} nats."

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        found, words = divergence.kl_privacy, "The mean loss"
        return decided(subject, found, lambda loss: loss.mean(), pairs.mean_loss, words, ("mean",))


@kind_of_guarantee
class RDP(LossGuarantee):
    """(alpha, epsilon)-Renyi DP: D_alpha(P || Q) <= epsilon (nats) in both orders.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [RDP(2, level).holds_for(flip).holds for level in (0.84, 0.85)]  # log (9/4 + 1/12) = 0.847
    [False, True]
    """

    alpha: float | Fraction = parameter(converter=number)
    epsilon: float | Fraction = parameter(converter=number)
    kind = "rdp"
    title = "Renyi differential privacy"
    sentence = "The Renyi divergence of order {alpha} between the outcomes of two secrets is at most {epsilon} nats."
    index = ("alpha",)

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        alpha, words = exact.double_above(self.alpha), "The Renyi divergence"
        found = partial(divergence.renyi_dp, alpha=alpha)
        question, named = pairs.renyi(self.alpha), ("renyi", self.alpha)
        return decided(subject, found, lambda loss: loss.renyi(alpha), question, words, named)


@kind_of_guarantee
class AbsChi(LossGuarantee):
    """Binary abs-chi^alpha privacy: (E_Q |P/Q - 1|^alpha)^(1/alpha) <= zeta in both orders.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [AbsChi(1, level).holds_for(flip).holds for level in (0.99, 1)]  # 1/4 (3 - 1) + 3/4 (1 - 1/3) = 1
    [False, True]
    """

    alpha: float | Fraction = parameter(converter=number)
    zeta: float | Fraction = parameter(converter=number)
    kind = "abs-chi"
    title = "abs-chi privacy"
    sentence = "The ratio of two secrets' outcome probabilities is within {zeta} of 1 in the mean of order {alpha}."
    index = ("alpha",)

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        alpha, words = exact.double_above(self.alpha), "The abs-chi divergence"
        found = partial(divergence.abs_chi, alpha=alpha)
        return decided(subject, found, lambda loss: loss.abs_chi(alpha), pairs.abs_chi(self.alpha), words, ("",))


@kind_of_guarantee
class TV(LossGuarantee):
    """Total variation privacy: |P(S) - Q(S)| <= distance for all sets S of outcomes.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [TV(level).holds_for(flip).holds for level in ("1/3", 0.51)]  # 3/4 - 1/4
    [False, True]
    """

    distance: float | Fraction = parameter(converter=number)
    kind = "tv"
    title = "total variation privacy"
    sentence = "No test gains more than {distance} in probability from seeing the outcome of one secret, not another."

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        found, question = divergence.total_variation, pairs.total_variation
        return decided(subject, found, lambda loss: loss.delta(0.0), question, "The best test", ("variation",))


@kind_of_guarantee
class MIDP(LossGuarantee):
    """Mutual-information DP: under every prior the outcome carries at most epsilon nats about the secret.

    On a mechanism of the central model the secret is whether a record takes part; see `mutual_information_dp`.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MIDP(level).holds_for(flip).holds for level in (0.130, 0.131)]  # log 2 - H(1/4) = 0.1308
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "midp"
    title = "mutual-information differential privacy"
    sentence = "Whatever the prior, the release says at most {epsilon} nats about the secret on average."

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        found, words = mutual_information_dp(subject), "The prior that reaches the capacity learns this much"
        if isinstance(subject, Channel):
            return (searched.capacity_level(subject, found, words),)
        return (level_of(found.upper, None, words),)


@kind_of_guarantee
class MCDP(LossGuarantee):
    """(mean, tau)-concentrated DP: mean loss at most `mean`, and the loss around it is tau-sub-Gaussian (nats).

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MCDP(mean, 2).holds_for(flip).holds for mean in (0.54, 0.55)]  # mean loss (3/4 - 1/4) log 3 = 0.549
    [False, True]
    """

    mean: float | Fraction = parameter(converter=number)
    tau: float | Fraction = parameter(converter=number)
    kind = "mcdp"
    title = "mean-concentrated differential privacy"
    sentence = (
        "The privacy loss has mean at most {mean} nats and tails around it no heavier than a Gaussian of {tau}; "
        "merging outcomes afterwards can make the tails heavier, which zero-concentrated privacy survives."
    )

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        def tail_of(losses: Any) -> Worst:
            found = concentrated.mean_concentrated(losses)
            return Worst(found.tau, found.tau_pair)

        decision = searched.sub_gaussian
        tails = searched_for(subject, tail_of, concentrated.spread, decision, "The tail", ("tau",))
        return *KL(self.mean).levels(subject), *tails


@kind_of_guarantee
class ZCDP(LossGuarantee):
    """(xi, rho)-zero-concentrated DP: D_alpha(P || Q) <= xi + rho alpha (nats) for every alpha > 1.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [ZCDP(level).holds_for(flip).holds for level in (0.54, 0.55)]  # tested hardest at order 1: 0.549
    [False, True]
    """

    rho: float | Fraction = parameter(converter=number)
    xi: float | Fraction = parameter(converter=number, default=0)
    kind = "zcdp"
    title = "zero-concentrated differential privacy"
    sentence = "The privacy loss is no heavier than a Gaussian one: order alpha at most {xi} + {rho} alpha nats."
    index = ("xi",)
    forms = (("rho",), ("xi", "rho"))

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        return on_line(subject, "The Renyi curve", self.xi)


@kind_of_guarantee
class ApproximateZCDP(LossGuarantee):
    """delta-approximate (xi, rho)-zCDP: zCDP once events of probability delta are removed from P and from Q.

    Examples
    --------
    >>> rare = [["1/2", "3/8", "1/8"], ["1/2", "1/2", "0"]]  # the last outcome is possible under one secret only
    >>> [ApproximateZCDP(delta, 1).holds_for(rare).holds for delta in ("1/9", "1/8")]
    [False, True]
    """

    delta: float | Fraction = parameter(converter=number)
    rho: float | Fraction = parameter(converter=number)
    xi: float | Fraction = parameter(converter=number, default=0)
    kind = "approximate-zcdp"
    title = "approximate zero-concentrated differential privacy"
    sentence = "Except with probability {delta}, order alpha of the loss is at most {xi} + {rho} alpha nats."
    index = ("delta", "xi")
    forms = (("delta", "rho"), ("delta", "xi", "rho"))

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        xi, delta = exact.double_below(self.xi), exact.double_below(self.delta)
        exactly = {"xi": Fraction(self.xi), "delta": Fraction(self.delta)}

        def measure(loss: PrivacyLoss) -> Bracket:
            return concentrated.rho_bounds(loss, xi, curve=concentrated.trimmed_curve(loss, delta))

        return searched_for(
            subject,
            lambda losses: concentrated.approximate_zcdp_rho(losses, delta, xi),
            measure,
            lambda rows, bound: searched.under_line(rows, bound, **exactly),
            "The Renyi curve",
        )


@kind_of_guarantee
class BoundedCDP(LossGuarantee):
    """(xi, rho, order)-bounded CDP: D_alpha <= xi + rho alpha (nats) for 1 < alpha <= order.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [BoundedCDP(level, 8).holds_for(flip).holds for level in (0.54, 0.55)]  # tested hardest at order 1: 0.549
    [False, True]
    """

    rho: float | Fraction = parameter(converter=number)
    order: float | Fraction = parameter(converter=number)
    xi: float | Fraction = parameter(converter=number, default=0)
    kind = "bounded-cdp"
    title = "bounded concentrated differential privacy"
    sentence = "Up to order {order}, the Renyi divergence of order alpha is at most {xi} + {rho} alpha nats."
    index = ("order", "xi")
    forms = (("rho", "order"), ("xi", "rho", "order"))

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        return on_line(subject, "The Renyi curve", self.xi, self.order)


@kind_of_guarantee
class TruncatedCDP(LossGuarantee):
    """(rho, omega)-truncated CDP (Bun et al.): D_alpha <= rho alpha (nats) for 1 < alpha < omega.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [TruncatedCDP(level, 8).holds_for(flip).holds for level in (0.54, 0.55)]  # tested hardest at order 1: 0.549
    [False, True]
    """

    rho: float | Fraction = parameter(converter=number)
    omega: float | Fraction = parameter(converter=number)
    kind = "tcdp"
    title = "truncated concentrated differential privacy"
    sentence = "Below order {omega}, the Renyi divergence of order alpha is at most {rho} alpha nats."
    index = ("omega",)

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        return on_line(subject, "The Renyi curve", up_to=self.omega)


@kind_of_guarantee
class CappedCDP(LossGuarantee):
    """(cap, rho)-truncated CDP (Colisson): D_alpha <= min(cap, rho alpha) (nats) for every alpha >= 1.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [CappedCDP(cap, 0.55).holds_for(flip).holds for cap in (1.09, 1.10)]  # log 3 = 1.099 at order infinity
    [False, True]
    """

    cap: float | Fraction = parameter(converter=number)
    rho: float | Fraction = parameter(converter=number)
    kind = "tcdp-capped"
    title = "truncated concentrated differential privacy, capped"
    sentence = "The Renyi divergence of order alpha is at most {rho} alpha nats, and never more than {cap}."

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        return *RDP(math.inf, self.cap).levels(subject), *on_line(subject, "The curve")


@kind_of_guarantee
class GDP(LossGuarantee):
    """mu-Gaussian DP: no pair of secrets is told apart better than N(0, 1) and N(mu, 1).

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [GDP(level).holds_for(flip).holds for level in (1.34, 1.35)]  # N(0, 1) and N(1.349, 1) differ by 1/2 as well
    [False, True]
    """

    mu: float | Fraction = parameter(converter=number)
    kind = "gdp"
    title = "Gaussian differential privacy"
    sentence = "Telling two secrets apart from the outcome is at least as hard as telling N(0, 1) from N({mu}, 1)."

    def levels(self, subject: Losses) -> tuple[Level, ...]:
        found, words = tradeoff.gaussian_dp, "The best test"
        return decided(subject, found, lambda loss: tradeoff.mu_bounds(loss).upper, pairs.gaussian_mu, words, ("mu",))


DIFFERENTIAL_PRIVACY: tuple[type[Guarantee], ...] = (
    ADP,
    PDP,
    RelaxedDP,
    KL,
    RDP,
    AbsChi,
    TV,
    MIDP,
    MCDP,
    ZCDP,
    ApproximateZCDP,
    BoundedCDP,
    TruncatedCDP,
    CappedCDP,
    GDP,
)
"""The kinds of this file."""
