"""The guarantees about every outcome: what the information density bounds, with and without a prior, and its tails."""

import math
import sys
from fractions import Fraction
from functools import partial
from typing import Any

from divulge import exact
from divulge.guarantees.deciding import levels as at
from divulge.guarantees.deciding.levels import LOGARITHMS, Level, Peaks, Ratio, Witness
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.measures.numeric.columns import all_ends
from divulge.measures.pointwise.density import largest_pmc, largest_pml, ldp_of
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.shown import named, promised, reached
from divulge.units import Unit, nats_per


@kind_of_guarantee
class PML(Guarantee):
    """epsilon-PML: pointwise maximal leakage at most epsilon (nats) at every outcome, max_x i(x; y) <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [PML(level).holds_for(flip).holds for level in (0.40, 0.41)]  # log 3/2 = 0.405
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "pml"
    title = "pointwise maximal leakage"
    sentence = (
        "Whatever outcome is seen, no adversary multiplies their expected gain by more than {exp_epsilon}, whatever "
        "they gain by; no event becomes more than {exp_epsilon} times as likely as it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_pml_level(subject),)


@kind_of_guarantee
class PMC(Guarantee):
    """epsilon-PMC: pointwise maximal cost at most epsilon (nats) at every outcome, max_x -i(x; y) <= epsilon.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [PMC(level).holds_for(flip).holds for level in (0.69, 0.70)]  # log 2 = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "pmc"
    title = "pointwise maximal cost"
    sentence = (
        "Whatever outcome is seen, no adversary divides their expected cost by more than {exp_epsilon}, whatever they "
        "pay for; no event becomes more than {exp_epsilon} times less likely than it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_pmc_level(subject),)


@kind_of_guarantee
class ALIP(Guarantee):
    """(lower, upper)-ALIP: asymmetric local information privacy, -lower <= i(x; y) <= upper for all x and y (nats).

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [ALIP(lower, 0.41).holds_for(flip).holds for lower in (0.69, 0.70)]  # lifts from 1/2 to 3/2
    [False, True]
    """

    lower: float | Fraction = parameter(converter=number)
    upper: float | Fraction = parameter(converter=number)
    kind = "alip"
    title = "asymmetric local information privacy"
    sentence = (
        "Whatever outcome is seen, every event becomes at most {exp_upper} times as likely as it was, "
        "and at most {exp_lower} times less likely."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return _pmc_level(subject), _pml_level(subject)


@kind_of_guarantee
class LIP(Guarantee):
    """epsilon-LIP: local information privacy, |i(x; y)| <= epsilon for all x and y (nats).

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [LIP(level).holds_for(flip).holds for level in (0.69, 0.70)]  # lifts from 1/2 to 3/2, log 2 = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "lip"
    title = "local information privacy"
    sentence = (
        "Whatever outcome is seen, no event becomes more than {exp_epsilon} times more, or less, likely than it was."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (at.larger(_pmc_level(subject), _pml_level(subject)),)


@kind_of_guarantee
class LDP(Guarantee):
    """epsilon-LDP: local differential privacy, C_xy <= e^epsilon C_x'y for all x, x' and y (nats); needs no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [LDP(level).holds_for(flip).holds for level in (1.09, 1.10)]  # log 3 = 1.099
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "ldp"
    title = "local differential privacy"
    sentence = (
        "No outcome is more than {exp_epsilon} times as likely under one secret as under another, "
        "so whatever the prior, no odds between secrets change by more than that factor."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        return (_ldp_level(subject),)


@kind_of_guarantee
class DP(Guarantee):
    """epsilon-DP of the whole collection of reports, each record passed once through the mechanism (nats).

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [DP(level).holds_for(flip).holds for level in (1.09, 1.10)]  # log 3 = 1.099
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "dp"
    title = "differential privacy of the collection"
    sentence = (
        "When every record goes through the mechanism once, changing one record changes the probability of any set of "
        "reports by a factor of at most {exp_epsilon}."
    )
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        return (_ldp_level(subject),)


@kind_of_guarantee
class Lift(Guarantee):
    """Lift at most `ratio`: max_{x,y} C_xy / q_y <= ratio, the maximal realizable leakage; a ratio, not a logarithm.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [Lift(level).holds_for(flip).holds for level in ("4/3", "3/2")]
    [False, True]
    """

    ratio: float | Fraction = parameter(converter=number)
    kind = "lift"
    title = "lift"
    sentence = "Whatever outcome is seen, no secret becomes more than {ratio} times as likely as it was."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_lift_level(subject),)


@kind_of_guarantee
class MaxGLeakage(Guarantee):
    """Max-case g-leakage at most `ratio` for every non-negative gain, at this prior.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [MaxGLeakage(level).holds_for(flip).holds for level in ("4/3", "3/2")]
    [False, True]
    """

    ratio: float | Fraction = parameter(converter=number)
    kind = "max-g-leakage"
    title = "max-case g-leakage"
    sentence = (
        "Whatever their gain, an adversary who knows the prior multiplies it by at most {ratio} at the worst outcome."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return (_lift_level(subject),)


@kind_of_guarantee
class LiftCapacity(Guarantee):
    """Lift capacity at most `ratio`: the lift under every prior, max_y max_x C_xy / min_x C_xy <= ratio; no prior.

    Examples
    --------
    >>> flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> [LiftCapacity(level).holds_for(flip).holds for level in ("5/2", 3)]
    [False, True]
    """

    ratio: float | Fraction = parameter(converter=number)
    kind = "lift-capacity"
    title = "lift capacity"
    sentence = "Whatever the prior and the gain, no outcome multiplies an adversary's gain by more than {ratio}."
    about = "channel"

    def levels(self, subject: Channel) -> tuple[Level, ...]:
        peaks = at.row_peaks(subject)
        return (at.ratio_of(peaks.largest(), partial(_pair, peaks)),)


@kind_of_guarantee
class TailPML(Guarantee):
    """P(pml(Y) > epsilon) <= delta: epsilon-PML except at outcomes of total probability delta.

    Examples
    --------
    >>> rare = Joint(["1/2", "1/2"], [["1/2", "1/2", "0"], ["1/2", "3/8", "1/8"]])
    >>> TailPML.of(rare, epsilon="1/2")  # the last outcome leaks log 2 = 0.69, with probability 1/16
    TailPML('0.5', '0.0625')
    """

    epsilon: float | Fraction = parameter(converter=number)
    delta: float | Fraction = parameter(converter=number)
    kind = "tail-pml"
    title = "PML except with probability delta"
    sentence = (
        "Except with probability {delta}, the outcome seen multiplies no adversary's gain by more than {exp_epsilon}; "
        "merging outcomes afterwards can raise that probability."
    )
    index = ("epsilon",)

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return self.levels_in("nats", subject)

    def levels_in(self, unit: Unit, subject: Joint) -> tuple[Level, ...]:
        return (_tail(subject, at.upper_peaks(subject), self.epsilon, unit),)


@kind_of_guarantee
class TailPMC(Guarantee):
    """P(pmc(Y) > epsilon) <= delta: epsilon-PMC except at outcomes of total probability delta.

    Examples
    --------
    >>> rare = Joint(["1/2", "1/2"], [["1/2", "1/2", "0"], ["1/2", "3/8", "1/8"]])
    >>> TailPMC.of(rare, epsilon="1/2")  # the last outcome rules a secret out, with probability 1/16
    TailPMC('0.5', '0.0625')
    """

    epsilon: float | Fraction = parameter(converter=number)
    delta: float | Fraction = parameter(converter=number)
    kind = "tail-pmc"
    title = "PMC except with probability delta"
    sentence = (
        "Except with probability {delta}, the outcome seen divides no adversary's cost by more than {exp_epsilon}; "
        "merging outcomes afterwards can raise that probability."
    )
    index = ("epsilon",)

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return self.levels_in("nats", subject)

    def levels_in(self, unit: Unit, subject: Joint) -> tuple[Level, ...]:
        return (_tail(subject, at.lower_peaks(subject), self.epsilon, unit),)


def _pml_level(joint: Joint) -> Level:
    peaks = at.upper_peaks(joint)
    return at.log_of(peaks.largest(), partial(_gain, joint, peaks), partial(largest_pml, joint))


def _pmc_level(joint: Joint) -> Level:
    peaks = at.lower_peaks(joint)
    return at.log_of(peaks.largest(), partial(_cost, joint, peaks), partial(largest_pmc, joint))


def _lift_level(joint: Joint) -> Level:
    peaks = at.upper_peaks(joint)
    return at.ratio_of(peaks.largest(), partial(_gain, joint, peaks))


def _ldp_level(channel: Channel) -> Level:
    peaks = at.row_peaks(channel)
    return at.log_of(peaks.largest(), partial(_pair, peaks), lambda: ldp_of(all_ends(channel)[:2], "nats"))


def _gain(joint: Joint, peaks: Peaks) -> Witness:
    """Return the witness of the largest lift: the adversary paid 1/P(x) for the right x."""
    i = peaks.top()
    x, _, y = peaks.names(i)
    before, secret, seen = joint.p[list(joint.secrets).index(x)], named(x), named(y)
    text = (
        f"Seeing {seen} moves P({secret}) from {float(before):.6g} to {promised(before * peaks.ratios[i])}: who is "
        f"paid 1/P({secret}) when the secret is {secret} gains {promised(peaks.ratios[i])} times as much."
    )
    return Witness(outcome=y, secret=x, adversary=text)


def _cost(joint: Joint, peaks: Peaks) -> Witness:
    """Return the witness of the smallest lift: the adversary who pays when the secret is x."""
    i = peaks.top()
    _, x, y = peaks.names(i)
    before, secret, seen = joint.p[list(joint.secrets).index(x)], named(x), named(y)
    if peaks.ratios[i] == math.inf:
        text = f"Seeing {seen} rules out {secret}: who pays when the secret is {secret} never has to pay."
        return Witness(outcome=y, secret=x, adversary=text)
    text = (
        f"Seeing {seen} moves P({secret}) from {float(before):.6g} to {reached(before / peaks.ratios[i])}: who pays "
        f"when the secret is {secret} expects to pay {promised(peaks.ratios[i])} times less."
    )
    return Witness(outcome=y, secret=x, adversary=text)


def _pair(peaks: Peaks) -> Witness:
    """Return the witness of the largest ratio between two rows."""
    i = peaks.top()
    x, other, y = peaks.names(i)
    one, two, seen = named(x), named(other), named(y)
    if peaks.ratios[i] == math.inf:
        never = f"{seen} comes up under {one} and never under {two}"
        text = f"{never}: whoever wavers between the two is certain of {one} then."
        return Witness(outcome=y, secret=x, other=other, adversary=text)
    text = (
        f"{seen} is {promised(peaks.ratios[i])} times as likely under {one} as under {two}: under priors that put "
        f"nearly all their mass on {two}, P({one}) grows by nearly that factor."
    )
    return Witness(outcome=y, secret=x, other=other, adversary=text)


def _tail(joint: Joint, peaks: Peaks, epsilon: Any, unit: Unit) -> Level:
    """Return P(log ratio > epsilon), each outcome decided exactly; of floats only where rounding may matter."""
    per = nats_per(unit)

    def exceeds(i: int) -> bool:
        ratio = peaks.ratios[i]
        if epsilon == math.inf or ratio == math.inf:
            return epsilon != math.inf
        if peaks.twin is not None and ratio < sys.float_info.max:
            near = math.log(ratio) / per - float(epsilon)
            if abs(near) > peaks.margin * (2 + abs(near)):
                return near > 0
        return not exact.at_most(lambda: exact.arb(peaks.exactly(i)).log() / LOGARITHMS[unit](), epsilon)

    over = [i for i in range(len(peaks.ratios)) if exceeds(i)]
    share = at.total(joint.outer[[peaks.columns[i] for i in over]])
    worst = peaks.names(peaks.top())[-1]
    text = (
        f"The outcomes beyond {float(epsilon):.6g} have probability {promised(share)} together; {worst} is the worst."
    )
    witness = Witness(worst, adversary=text)
    if peaks.twin is None:
        return at.ratio_of(Ratio(share), witness)
    twin, work = peaks.twin, len(over) * len(peaks.twin.rows)

    def exactly() -> tuple[Fraction, Fraction]:
        return exact.total(twin.outer(twin.column(peaks.columns[i])) for i in over), twin.cover

    return at.ratio_of(Ratio(float(share), exactly, peaks.margin, work), witness)
