"""The guarantees built on information density and on capacities: what each means and how to measure it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.guarantees import levels as at
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.levels import Level, Peaks, Witness, rounding
from divulge.measures.capacities import maximal_cost_leakage, maximal_leakage
from divulge.measures.columns import extremes
from divulge.measures.density import ldp, pmc, pml
from divulge.measures.guessing import min_entropy_leakage
from divulge.measures.information import mutual_information
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.ties import first_largest


@dataclass(frozen=True, repr=False)
class PML(Guarantee):
    """epsilon-PML: pointwise maximal leakage at most epsilon (nats) at every outcome, max_x i(x; y) <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [PML(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log 3/2 = 0.405
    [False, True]
    """

    epsilon: Any
    kind = "pml"
    title = "pointwise maximal leakage"
    sentence = (
        "Whatever outcome is seen, no adversary multiplies his expected gain by more than {exp_epsilon}, whatever he "
        "gains by; no event becomes more than {exp_epsilon} times as likely as it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        peaks = at.upper_peaks(subject)
        margin, witness = rounding(*subject.channel.shape), _gain(subject, peaks)
        return (at.log_of(peaks.ratios[peaks.top()], margin, witness, lambda: pml(subject).max()),)


@dataclass(frozen=True, repr=False)
class PMC(Guarantee):
    """epsilon-PMC: pointwise maximal cost at most epsilon (nats) at every outcome, max_x -i(x; y) <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [PMC(level).holds_for(flip).holds for level in (0.69, 0.70)]  # log 2 = 0.693
    [False, True]
    """

    epsilon: Any
    kind = "pmc"
    title = "pointwise maximal cost"
    sentence = (
        "Whatever outcome is seen, no adversary divides his expected cost by more than {exp_epsilon}, whatever he "
        "pays for; no event becomes more than {exp_epsilon} times less likely than it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        peaks = at.lower_peaks(subject)
        margin, witness = rounding(*subject.channel.shape), _cost(subject, peaks)
        return (at.log_of(peaks.ratios[peaks.top()], margin, witness, lambda: pmc(subject).max()),)


@dataclass(frozen=True, repr=False)
class ALIP(Guarantee):
    """(lower, upper)-ALIP: asymmetric local information privacy, -lower <= i(x; y) <= upper for all x and y (nats).

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [ALIP(lower, 0.41).holds_for(flip).holds for lower in (0.69, 0.70)]  # lifts from 1/2 to 3/2
    [False, True]
    """

    lower: Any
    upper: Any
    kind = "alip"
    title = "asymmetric local information privacy"
    sentence = (
        "Whatever outcome is seen, every event becomes at most {exp_upper} times as likely as it was, "
        "and at most {exp_lower} times less likely."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return PMC(self.lower).levels(subject) + PML(self.upper).levels(subject)


@dataclass(frozen=True, repr=False)
class LIP(Guarantee):
    """epsilon-LIP: local information privacy, |i(x; y)| <= epsilon for all x and y (nats).

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [LIP(level).holds_for(flip).holds for level in (0.69, 0.70)]  # lifts from 1/2 to 3/2, log 2 = 0.693
    [False, True]
    """

    epsilon: Any
    kind = "lip"
    title = "local information privacy"
    sentence = (
        "Whatever outcome is seen, no event becomes more than {exp_epsilon} times more, or less, likely than it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        levels = ALIP(0, 0).levels(subject)
        witness = levels[first_largest([level.value for level in levels])].witness
        return (replace(max(levels, key=lambda level: level.value), witness=witness),)


@dataclass(frozen=True, repr=False)
class LDP(Guarantee):
    """epsilon-LDP: local differential privacy, C_xy <= e^epsilon C_x'y for all x, x' and y (nats); needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [LDP(level).holds_for(flip).holds for level in (1.09, 1.10)]  # log 3 = 1.099
    [False, True]
    """

    epsilon: Any
    kind = "ldp"
    title = "local differential privacy"
    sentence = (
        "No outcome is more than {exp_epsilon} times as likely under one secret as under another, "
        "so whatever the prior, no odds between secrets change by more than that factor."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        peaks = at.row_peaks(subject)
        margin, witness = rounding(*subject.shape), _pair(peaks)
        return (at.log_of(peaks.ratios[peaks.top()], margin, witness, lambda: ldp(subject)),)


@dataclass(frozen=True, repr=False)
class DP(Guarantee):
    """epsilon-DP of the whole collection of reports, each record passed once through the mechanism (nats).

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [DP(level).holds_for(flip).holds for level in (1.09, 1.10)]  # log 3 = 1.099
    [False, True]
    """

    epsilon: Any
    kind = "dp"
    title = "differential privacy of the collection"
    sentence = (
        "When every record goes through the mechanism once, changing one record changes the probability of any set of "
        "reports by a factor of at most {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        return LDP(self.epsilon).levels(subject)


@dataclass(frozen=True, repr=False)
class Lift(Guarantee):
    """Lift at most `ratio`: max_{x,y} C_xy / q_y <= ratio, the maximal realizable leakage; a ratio, not a logarithm.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [Lift(level).holds_for(flip).holds for level in ("4/3", "3/2")]
    [False, True]
    """

    ratio: Any
    kind = "lift"
    title = "lift"
    sentence = "Whatever outcome is seen, no secret becomes more than {ratio} times as likely as it was."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        peaks = at.upper_peaks(subject)
        return (at.ratio_of(peaks.ratios[peaks.top()], rounding(*subject.channel.shape), _gain(subject, peaks)),)


@dataclass(frozen=True, repr=False)
class MaxGLeakage(Guarantee):
    """Max-case g-leakage at most `ratio` for every non-negative gain, at this prior.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MaxGLeakage(level).holds_for(flip).holds for level in ("4/3", "3/2")]
    [False, True]
    """

    ratio: Any
    kind = "max-g-leakage"
    title = "max-case g-leakage"
    sentence = (
        "Whatever his gain, an adversary who knows the prior multiplies it by at most {ratio} at the worst outcome."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return Lift(self.ratio).levels(subject)


@dataclass(frozen=True, repr=False)
class AverageGLeakage(Guarantee):
    """Average-case g-leakage at most `ratio` for every gain at this prior: sum_y max_x C_xy over P_x > 0.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [AverageGLeakage(level).holds_for(flip).holds for level in ("4/3", "3/2")]  # 3/4 + 3/4
    [False, True]
    """

    ratio: Any
    kind = "average-g-leakage"
    title = "average-case g-leakage"
    sentence = (
        "Whatever his gain, an adversary who knows the prior multiplies it by at most {ratio} on average over outcomes."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        ends = extremes(subject.c, np.flatnonzero(subject.prior.support))
        adversary = "An adversary who is paid 1/P(x) for naming the secret x gains this factor on average."
        ratio = at.total(ends.top[subject.occurring])
        return (at.ratio_of(ratio, rounding(*subject.channel.shape), Witness(adversary=adversary)),)


@dataclass(frozen=True, repr=False)
class LiftCapacity(Guarantee):
    """Lift capacity at most `ratio`: the lift under every prior, max_y max_x C_xy / min_x C_xy <= ratio; no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [LiftCapacity(level).holds_for(flip).holds for level in ("5/2", 3)]
    [False, True]
    """

    ratio: Any
    kind = "lift-capacity"
    title = "lift capacity"
    sentence = "Whatever the prior and the gain, no outcome multiplies an adversary's gain by more than {ratio}."
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        peaks = at.row_peaks(subject)
        return (at.ratio_of(peaks.ratios[peaks.top()], rounding(*subject.shape), _pair(peaks)),)


@dataclass(frozen=True, repr=False)
class BayesCapacity(Guarantee):
    """Bayes capacity at most `ratio`: sum_y max_x C_xy <= ratio; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [BayesCapacity(level).holds_for(flip).holds for level in ("4/3", "3/2")]  # 3/4 + 3/4
    [False, True]
    """

    ratio: Any
    kind = "bayes-capacity"
    title = "Bayes capacity"
    sentence = (
        "Whatever the prior and the gain, the release multiplies an adversary's gain by at most {ratio} on average."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        ratio = at.total(extremes(subject.matrix).top)
        return (at.ratio_of(ratio, rounding(*subject.shape), Witness(adversary=_ONE_TRY)),)


@dataclass(frozen=True, repr=False)
class MaximalLeakage(Guarantee):
    """Maximal leakage at most epsilon (nats): log sum_y max_x C_xy <= epsilon; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MaximalLeakage(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log (3/4 + 3/4) = 0.405
    [False, True]
    """

    epsilon: Any
    kind = "maximal-leakage"
    title = "maximal leakage"
    sentence = (
        "Whatever the prior, the chance of guessing any function of the secret grows by at most a factor {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        ratio = at.total(extremes(subject.matrix).top)
        witness = Witness(adversary=_ONE_TRY)
        return (at.log_of(ratio, rounding(*subject.shape), witness, lambda: maximal_leakage(subject)),)


@dataclass(frozen=True, repr=False)
class MaximalCostLeakage(Guarantee):
    """Maximal cost leakage at most epsilon (nats): -log sum_y min_x C_xy <= epsilon; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MaximalCostLeakage(level).holds_for(flip).holds for level in (0.69, 0.70)]  # -log (1/4 + 1/4) = 0.693
    [False, True]
    """

    epsilon: Any
    kind = "maximal-cost-leakage"
    title = "maximal cost leakage"
    sentence = (
        "Whatever the prior, the expected cost of any adversary falls on average at most by a factor {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        kept = at.total(extremes(subject.matrix).bottom)
        ratio = at.ratios(np.array([1 if isinstance(kept, Fraction) else 1.0], dtype=object), np.array([kept]))[0]
        return (at.log_of(ratio, rounding(*subject.shape), Witness(), lambda: maximal_cost_leakage(subject)),)


@dataclass(frozen=True, repr=False)
class MinEntropyLeakage(Guarantee):
    """Min-entropy leakage at most epsilon (nats): log of sum_y max_x P_x C_xy / max_x P_x.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MinEntropyLeakage(level).holds_for(flip).holds for level in (0.40, 0.41)]  # from 1/2 to 3/4
    [False, True]
    """

    epsilon: Any
    kind = "min-entropy-leakage"
    title = "min-entropy leakage"
    sentence = "The chance of guessing the secret in one try grows by at most a factor {exp_epsilon} on average."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        ratio = at.total(extremes(subject.matrix).top) / subject.p.max()
        margin, witness = rounding(*subject.channel.shape), Witness(adversary="One guess of the secret.")
        return (at.log_of(ratio, margin, witness, lambda: min_entropy_leakage(subject)),)


@dataclass(frozen=True, repr=False)
class MeanPML(Guarantee):
    """Expected pointwise maximal leakage at most epsilon (nats): E_q[max_x i(x; Y)] <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MeanPML(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log 3/2 = 0.405 at both outcomes
    [False, True]
    """

    epsilon: Any
    kind = "mean-pml"
    title = "mean pointwise maximal leakage"
    sentence = "The pointwise maximal leakage is at most {epsilon} nats on average over outcomes."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_mean(subject, at.upper_peaks(subject), lambda: pml(subject).mean()),)


@dataclass(frozen=True, repr=False)
class MeanPMC(Guarantee):
    """Expected pointwise maximal cost at most epsilon (nats): E_q[max_x -i(x; Y)] <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MeanPMC(level).holds_for(flip).holds for level in (0.69, 0.70)]  # log 2 = 0.693 at both outcomes
    [False, True]
    """

    epsilon: Any
    kind = "mean-pmc"
    title = "mean pointwise maximal cost"
    sentence = "The pointwise maximal cost is at most {epsilon} nats on average over outcomes."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_mean(subject, at.lower_peaks(subject), lambda: pmc(subject).mean()),)


@dataclass(frozen=True, repr=False)
class MutualInformation(Guarantee):
    """Mutual information at most epsilon (nats): E[i(X; Y)] <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MutualInformation(level).holds_for(flip).holds for level in (0.130, 0.131)]  # log 2 - H(1/4) = 0.1308
    [False, True]
    """

    epsilon: Any
    kind = "mutual-information"
    title = "mutual information"
    sentence = "The release says at most {epsilon} nats about the secret on average."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        x, y = np.nonzero((_dense(subject.matrix) > 0).astype(bool))
        weights, lift = _dense(subject.matrix)[x, y].tolist(), subject.lift[x, y].tolist()
        terms, margin = zip(weights, lift, strict=True), rounding(*subject.channel.shape)
        return (at.mean_of(terms, margin, Witness(), lambda: mutual_information(subject)),)


@dataclass(frozen=True, repr=False)
class TailPML(Guarantee):
    """P(pml(Y) > epsilon) <= delta: epsilon-PML except at outcomes of total probability delta.

    Examples
    --------
    >>> rare = Joint(["1/2", "1/2"], [["1/2", "1/2", "0"], ["1/2", "3/8", "1/8"]])
    >>> TailPML.of(rare, epsilon="1/2")  # the last outcome leaks log 2 = 0.69, with probability 1/16
    TailPML('0.5', '0.0625')
    """

    epsilon: Any
    delta: Any
    kind = "tail-pml"
    title = "PML except with probability delta"
    sentence = (
        "Except with probability {delta}, the outcome seen multiplies no adversary's gain by more than {exp_epsilon}; "
        "merging outcomes afterwards can raise that probability."
    )
    index = ("epsilon",)

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_tail(subject, at.upper_peaks(subject), self.epsilon),)


@dataclass(frozen=True, repr=False)
class TailPMC(Guarantee):
    """P(pmc(Y) > epsilon) <= delta: epsilon-PMC except at outcomes of total probability delta.

    Examples
    --------
    >>> rare = Joint(["1/2", "1/2"], [["1/2", "1/2", "0"], ["1/2", "3/8", "1/8"]])
    >>> TailPMC.of(rare, epsilon="1/2")  # the last outcome rules a secret out, with probability 1/16
    TailPMC('0.5', '0.0625')
    """

    epsilon: Any
    delta: Any
    kind = "tail-pmc"
    title = "PMC except with probability delta"
    sentence = (
        "Except with probability {delta}, the outcome seen divides no adversary's cost by more than {exp_epsilon}; "
        "merging outcomes afterwards can raise that probability."
    )
    index = ("epsilon",)

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_tail(subject, at.lower_peaks(subject), self.epsilon),)


_ONE_TRY = "Under the uniform prior, an adversary with one guess of the secret gains this factor on average."


def _gain(joint: Joint, peaks: Peaks) -> Witness:
    """Return the witness of the largest lift: the adversary paid 1/P(x) for the right x."""
    i = peaks.top()
    x, y = peaks.above[i], peaks.outcomes[i]
    before = joint.p[list(joint.secrets).index(x)]
    text = (
        f"Seeing {y} moves P({x}) from {float(before):.6g} to {float(before * peaks.ratios[i]):.6g}: who is paid "
        f"1/P({x}) when the secret is {x} gains {float(peaks.ratios[i]):.6g} times as much."
    )
    return Witness(outcome=y, secret=x, adversary=text)


def _cost(joint: Joint, peaks: Peaks) -> Witness:
    """Return the witness of the smallest lift: the adversary who pays when the secret is x."""
    i = peaks.top()
    x, y = peaks.below[i], peaks.outcomes[i]
    before = joint.p[list(joint.secrets).index(x)]
    text = (
        f"Seeing {y} moves P({x}) from {float(before):.6g} to {float(before / peaks.ratios[i]):.6g}: who pays "
        f"when the secret is {x} expects to pay {float(peaks.ratios[i]):.6g} times less."
    )
    return Witness(outcome=y, secret=x, adversary=text)


def _pair(peaks: Peaks) -> Witness:
    """Return the witness of the largest ratio between two rows."""
    i = peaks.top()
    x, other, y = peaks.above[i], peaks.below[i], peaks.outcomes[i]
    text = (
        f"{y} is {float(peaks.ratios[i]):.6g} times as likely under {x} as under {other}: under priors that put nearly "
        f"all their mass on {other}, P({x}) grows by nearly that factor."
    )
    return Witness(outcome=y, secret=x, other=other, adversary=text)


def _mean(joint: Joint, peaks: Peaks, nats: Callable[[], float]) -> Level:
    i = peaks.top()
    q = joint.outer[joint.occurring].tolist()
    witness = Witness(outcome=peaks.outcomes[i])
    return at.mean_of(zip(q, peaks.ratios, strict=True), rounding(*joint.channel.shape), witness, nats)


def _tail(joint: Joint, peaks: Peaks, epsilon: Any) -> Level:
    """Return P(log ratio > epsilon), each outcome decided exactly or, for floats, within the rounding margin."""
    margin = rounding(*joint.channel.shape)
    over = [not at.log_of(ratio, margin, Witness()).at_most(epsilon) for ratio in peaks.ratios]
    i = peaks.top()
    share = at.total(joint.outer[joint.occurring][np.array(over, dtype=bool)])
    text = (
        f"The outcomes beyond {float(epsilon):.6g} have probability {float(share):.6g} together; "
        f"{peaks.outcomes[i]} is the worst."
    )
    return at.ratio_of(share if joint.exact else float(share), margin, Witness(peaks.outcomes[i], adversary=text))


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix
