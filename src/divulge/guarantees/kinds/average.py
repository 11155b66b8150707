"""The guarantees about averages over outcomes: capacities, means, information and one try."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from divulge.guarantees.deciding import levels as at
from divulge.guarantees.deciding.levels import Level, Peaks, Ratio, Witness
from divulge.guarantees.deciding.rational import Rational
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.measures.average.capacities import maximal_cost_leakage, maximal_leakage
from divulge.measures.average.information import mutual_information
from divulge.measures.numeric.columns import extremes, likely_ends
from divulge.measures.pointwise.density import pmc, pml
from divulge.measures.pointwise.guessing import min_entropy_leakage
from divulge.model.channel import Channel
from divulge.model.joint import Joint


@kind_of_guarantee
class AverageGLeakage(Guarantee):
    """Average-case g-leakage at most `ratio` for every gain at this prior: sum_y max_x C_xy over P_x > 0.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [AverageGLeakage(level).holds_for(flip).holds for level in ("4/3", "3/2")]  # 3/4 + 3/4
    [False, True]
    """

    ratio: float | Fraction = parameter(converter=number)
    kind = "average-g-leakage"
    title = "average-case g-leakage"
    sentence = (
        "Whatever their gain, an adversary who knows the prior multiplies it by at most {ratio} on average over "
        "outcomes."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        ends = likely_ends(subject)
        adversary = "An adversary who is paid 1/P(x) for naming the secret x gains this factor on average."
        found = at.total_of(subject, lambda _, column: max(column), at.total(ends.top[subject.occurring]))
        return (at.ratio_of(found, Witness(adversary=adversary)),)


@kind_of_guarantee
class BayesCapacity(Guarantee):
    """Bayes capacity at most `ratio`: sum_y max_x C_xy <= ratio; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [BayesCapacity(level).holds_for(flip).holds for level in ("4/3", "3/2")]  # 3/4 + 3/4
    [False, True]
    """

    ratio: float | Fraction = parameter(converter=number)
    kind = "bayes-capacity"
    title = "Bayes capacity"
    sentence = (
        "Whatever the prior and the gain, the release multiplies an adversary's gain by at most {ratio} on average."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        return (at.ratio_of(_tops(subject), Witness(adversary=_ONE_TRY)),)


@kind_of_guarantee
class MaximalLeakage(Guarantee):
    """Maximal leakage at most epsilon (nats): log sum_y max_x C_xy <= epsilon; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MaximalLeakage(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log (3/4 + 3/4) = 0.405
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "maximal-leakage"
    title = "maximal leakage"
    sentence = (
        "Whatever the prior, the chance of guessing any function of the secret grows by at most a factor {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        return (at.log_of(_tops(subject), Witness(adversary=_ONE_TRY), lambda: maximal_leakage(subject)),)


@kind_of_guarantee
class MaximalCostLeakage(Guarantee):
    """Maximal cost leakage at most epsilon (nats): -log sum_y min_x C_xy <= epsilon; needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [MaximalCostLeakage(level).holds_for(flip).holds for level in (0.69, 0.70)]  # -log (1/4 + 1/4) = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "maximal-cost-leakage"
    title = "maximal cost leakage"
    sentence = (
        "Whatever the prior, the expected cost of any adversary falls on average at most by a factor {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        bottoms = at.total_of(subject, lambda _, column: min(column), at.total(extremes(subject.matrix).bottom))
        return (at.log_of(bottoms.inverse(), Witness(), lambda: maximal_cost_leakage(subject)),)


@kind_of_guarantee
class MinEntropyLeakage(Guarantee):
    """Min-entropy leakage at most epsilon (nats): log of sum_y max_x P_x C_xy / max_x P_x.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MinEntropyLeakage(level).holds_for(flip).holds for level in (0.40, 0.41)]  # from 1/2 to 3/4
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "min-entropy-leakage"
    title = "min-entropy leakage"
    sentence = "The chance of guessing the secret in one try grows by at most a factor {exp_epsilon} on average."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        top = subject.p.max()
        found = at.total_of(subject, _largest_share, at.total(extremes(subject.matrix).top) / top)
        witness = Witness(adversary="One guess of the secret.")
        return (at.log_of(found, witness, lambda: min_entropy_leakage(subject)),)


@kind_of_guarantee
class MeanPML(Guarantee):
    """Expected pointwise maximal leakage at most epsilon (nats): E_q[max_x i(x; Y)] <= epsilon.

    It does not survive post-processing: merging outcomes can multiply it by any factor. `MaximalLeakage` does, and is
    never below it.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MeanPML(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log 3/2 = 0.405 at both outcomes
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "mean-pml"
    title = "mean pointwise maximal leakage"
    sentence = (
        "The pointwise maximal leakage is at most {epsilon} nats on average over outcomes; merging outcomes afterwards "
        "can raise that mean without limit, up to the maximal leakage, which merging never raises."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        peaks = at.upper_peaks(subject)
        return (_mean(subject, peaks, lambda: pml(subject).mean()),)


@kind_of_guarantee
class MeanPMC(Guarantee):
    """Expected pointwise maximal cost at most epsilon (nats): E_q[max_x -i(x; Y)] <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MeanPMC(level).holds_for(flip).holds for level in (0.69, 0.70)]  # log 2 = 0.693 at both outcomes
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "mean-pmc"
    title = "mean pointwise maximal cost"
    sentence = "The pointwise maximal cost is at most {epsilon} nats on average over outcomes."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        peaks = at.lower_peaks(subject)
        return (_mean(subject, peaks, lambda: pmc(subject).mean()),)


@kind_of_guarantee
class MutualInformation(Guarantee):
    """Mutual information at most epsilon (nats): E[i(X; Y)] <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MutualInformation(level).holds_for(flip).holds for level in (0.130, 0.131)]  # log 2 - H(1/4) = 0.1308
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "mutual-information"
    title = "mutual information"
    sentence = "The release says at most {epsilon} nats about the secret on average."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        def terms(twin: Rational) -> Iterator[tuple[Any, Any]]:
            for j in subject.y.tolist():
                column = twin.column(j)
                outer = twin.outer(column)
                yield from ((p * c, c / outer) for p, c in zip(twin.prior, column, strict=True))

        return (at.mean_of(subject, terms, lambda: mutual_information(subject), Witness()),)


_ONE_TRY = "Under the uniform prior, an adversary with one guess of the secret gains this factor on average."


def _tops(channel: Channel) -> Ratio:
    """Return sum_y max_x C_xy."""
    return at.total_of(channel, lambda _, column: max(column), at.total(extremes(channel.matrix).top))


def _largest_share(twin: Rational, column: list[Fraction]) -> Fraction:
    """Return max_x P_x C_xy / max_x P_x."""
    return max(p * c for p, c in zip(twin.prior, column, strict=True)) / max(twin.prior)


def _mean(joint: Joint, peaks: Peaks, nats: Callable[[], float]) -> Level:
    """Return the mean over outcomes of the logarithm of the largest ratio of each."""

    def terms(twin: Rational) -> Iterator[tuple[Any, Any]]:
        return ((twin.outer(twin.column(j)), peaks.exactly(i)) for i, j in enumerate(peaks.columns))

    return at.mean_of(joint, terms, nats, Witness(outcome=peaks.names(peaks.top())[-1]))
