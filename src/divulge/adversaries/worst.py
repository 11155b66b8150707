"""The worst adversaries, each attaining a measure: pml, pmc, lift capacity, Bayes capacity."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.adversary import Gain
from divulge.adversaries.attack import Attack
from divulge.adversaries.functions import RandomizedFunction
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import bayes_capacity
from divulge.measures.numeric.columns import extremes
from divulge.measures.pointwise.density import lift_capacity, pmc, pml
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint, pair_of_structure
from divulge.model.entries import whole_number
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Shown, at_most, named, number
from divulge.ties import LAST_BITS, first_largest, first_smallest

MOST_SYMBOLS = 1000
"""The number of symbols that `worst_function` spreads one secret over when the caller does not say."""


def worst_gain(joint: JointLike, outcome: Hashable = None) -> Attack:
    """Return the opportunistic adversary who attains pml at `outcome`, at the worst outcome when none is given.

    They gain 1/P_x for guessing the secret x right: V_g(P) = 1 and V_g(d^y) = max_x L_xy. Over all outcomes their
    max-case leakage is the lift.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    outcome : label, optional

    Returns
    -------
    Attack
        `adversary` is the Gain; log(after / before) = pml(outcome), exactly for an exact joint.

    Raises
    ------
    DivulgeError
        For an outcome that never occurs.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", Theorems 1 and 2, arXiv:2210.12916.

    Examples
    --------
    >>> witness = worst_gain(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> witness.before, witness.after, witness.words
    (Fraction(1, 1), Fraction(3, 2), 'sees 0, guesses 0; right 1.5 times as often as without it')
    """
    joint, outcome = _against_worst(joint, outcome, "pml")
    outcome = pml(joint).argmax() if outcome is None else outcome
    gain = Gain.reciprocal(Prior(joint.p, joint.secrets))
    seen = joint.posterior(outcome)
    guess = gain.best_action(seen)
    times = exact.as_number(gain.rule.value(gain.weights(seen))[0])
    words = f"sees {named(outcome)}, guesses {named(guess)}; right {at_most(times)} times as often as without it"
    if times == 1:
        words = f"sees {named(outcome)}, learns nothing to guess by"
    return Attack("pml", joint, gain, "max", outcome, words)


def worst_function(joint: JointLike, outcome: Hashable = None, k: int | None = None) -> Attack:
    """Return the risk-averse adversary who attains pmc at `outcome`, at the worst outcome when none is given.

    Let x* = argmax P_x / d^y_x. They guess a randomized function W of the secret: x* becomes one of k symbols, evenly,
    every other secret the symbol k. Saying k they are wrong with probability P_x* before the release and d^y_x* after,
    and k is what they say as soon as k (1 - P_x*) >= P_x*: the smallest such k is the default. With a smaller one, x*
    too becomes the symbol k now and then, as often as it takes for the same ratio.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    outcome : label, optional
    k : int, optional
        At least 1; the function has k + 1 symbols. By default the smallest that needs no such mixing, at most 1000.

    Returns
    -------
    Attack
        `function` is W, `adversary` the cost of guessing it wrong; log(before / after) = pmc(outcome), exactly for an
        exact joint, also when it is infinite.

    Raises
    ------
    DivulgeError
        For an outcome that never occurs, or k below 1.

    References
    ----------
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", Theorem 1,
    arXiv:2407.01167.

    Examples
    --------
    >>> witness = worst_function(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), 0)
    >>> witness.before, witness.after, witness.words
    (Fraction(1, 2), Fraction(1, 4), 'sees 0, bets against 1; wrong 2 times less often than without it')
    """
    joint, outcome = _against_worst(joint, outcome, "pmc")
    outcome = pmc(joint).argmax() if outcome is None else outcome
    seen = joint.posterior(outcome)
    x = _least_lifted(joint, outcome)
    p, left = joint.p[x], seen.probabilities[x]
    rest = joint.p.sum() - p if joint.exact else np.delete(joint.p, x).sum()
    k = _symbols(p, rest, left) if k is None else whole_number(k, "k")
    misses = joint.p * 0
    misses[x] = min(1, k / ((k + 1) * p)) if k * rest < p else 1
    function = RandomizedFunction.spread(misses, k, joint.secrets)
    words = _against(outcome, joint.secrets[x], p, left)
    return Attack("pmc", joint, function.risk_averse, "max", outcome, words, function)


def _against_worst(joint: Any, outcome: Hashable, side: str) -> tuple[Joint, Hashable]:
    """Return the joint and the outcome; of a protocol with too many values for a matrix the worst report and the rest.

    Those values that the report treats alike are one there, but for the one that the adversary is about.
    """
    structure = pair_of_structure(joint)
    if structure is None or outcome is not None or structure.protocol.written:
        return as_joint(joint), outcome
    return structure.extremes(side), "the worst report"


def _least_lifted(joint: Joint, outcome: Hashable) -> int:
    """Return the position of argmax_x P_x / d^y_x = argmin_x C_xy over the support of the prior."""
    support = joint.x
    return int(support[first_smallest(joint.channel.column(outcome)[support], relative=LAST_BITS, absolute=0.0)])


def _symbols(p: Any, rest: Any, left: Any) -> int:
    """Return the smallest k with k (1 - p) >= p; one symbol is enough where nothing or everything is learned."""
    if left in (0, p):
        return 1
    return int(min(MOST_SYMBOLS, max(1, math.ceil(p / rest))))


def _against(outcome: Hashable, secret: Hashable, p: Any, left: Any) -> str:
    seen, ruled = named(outcome), named(secret)
    if left == 0:
        return f"sees {seen}, rules out {ruled}; never wrong, where they were without it"
    if p == left:
        return f"sees {seen}, learns nothing to bet against"
    return f"sees {seen}, bets against {ruled}; wrong {at_most(p / left)} times less often than without it"


def worst_average(channel: ChannelLike) -> Attack:
    """Return the adversary who attains the Bayes capacity: a uniform prior, one try to guess the secret.

    No average-case adversary, whatever their prior and their gains, gets more out of the channel.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)

    Returns
    -------
    Attack
        Its `leakage` is the Bayes capacity, in [1, min(N, M)]; exact for an exact channel.

    Raises
    ------
    DivulgeError
        When `channel` is no channel.

    References
    ----------
    Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, "The Science of Quantitative Information Flow", 2020,
    chapter 7 (the miracle theorem).

    Examples
    --------
    >>> worst_average([["3/4", "1/4"], ["1/4", "3/4"]]).leakage
    Fraction(3, 2)
    """
    channel = as_channel(channel)
    joint = Joint(Prior.uniform(len(channel.secrets)).renamed(channel.secrets), channel)
    words = f"guesses the secret in one try; right {at_most(bayes_capacity(channel))} times as often as without it"
    return Attack("bayes_capacity", joint, Gain.identity(channel.secrets), "average", None, words)


@dataclass(frozen=True, repr=False)
class PriorSequence(Shown):
    """Priors pi^n under which the lift of a channel tends to its lift capacity.

    pi^n puts 1 - 1/n on the secret that makes `outcome` least likely and spreads the rest evenly.

    Attributes
    ----------
    channel : Channel
    outcome : the outcome whose column attains the capacity
    unlikely, likely : the secrets with the smallest and the largest entry in that column
    limit : the lift capacity, a ratio in [1, +inf]

    Examples
    --------
    >>> priors = lift_capacity_priors([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> priors.outcome, priors.unlikely, priors.likely, priors.limit
    (0, 1, 0, Fraction(3, 1))
    >>> priors.leakage(2), priors.leakage(1000)
    (Fraction(3, 2), Fraction(500, 167))
    """

    channel: Channel
    outcome: Hashable
    unlikely: Hashable
    likely: Hashable
    limit: float | Fraction

    def __repr__(self) -> str:
        return (
            f"Priors ever surer of {self.unlikely}, while {self.likely} is true: "
            f"the leakage at {self.outcome} tends to {number(self.limit)}"
        )

    def prior(self, n: float | Fraction) -> Prior:
        """Return pi^n, exact for an exact n; n > 1.

        Examples
        --------
        >>> priors = lift_capacity_priors([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> priors.prior(100).probabilities.tolist()
        [Fraction(1, 100), Fraction(99, 100)]
        """
        size = len(self.channel.secrets)
        if not (n > 1 and n < math.inf):
            raise DivulgeError.of("n", "be greater than 1 and finite", "it", str(n))
        if size == 1:
            return Prior([Fraction(1)], self.channel.secrets)
        small = (Fraction(1) if isinstance(n, int) else 1) / n
        others = small / (size - 1)
        return Prior([1 - small if x == self.unlikely else others for x in self.channel.secrets], self.channel.secrets)

    def leakage(self, n: float | Fraction) -> float | Fraction:
        """Return the leakage at `outcome` to the worst gain under pi^n: C_xy / q_y, at most `limit`.

        Examples
        --------
        >>> priors = lift_capacity_priors([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> priors.leakage(100), priors.limit
        (Fraction(50, 17), Fraction(3, 1))
        """
        return self.witness(n).leakage

    def witness(self, n: float | Fraction) -> Attack:
        """Return the adversary who attains `leakage(n)`.

        Examples
        --------
        >>> priors = lift_capacity_priors([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> priors.witness(100).leakage
        Fraction(50, 17)
        """
        return worst_gain(Joint(self.prior(n), self.channel), self.outcome)


def lift_capacity_priors(channel: ChannelLike) -> PriorSequence:
    """Return the priors under which max-case leakage tends to the lift capacity e^ldp, with the adversary for each.

    Parameters
    ----------
    channel : Channel, or array_like of shape (N, M)

    Returns
    -------
    PriorSequence

    Raises
    ------
    DivulgeError
        When `channel` is no channel.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", Theorem 3 and its proof, arXiv:2210.12916.

    Examples
    --------
    >>> priors = lift_capacity_priors([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> priors.limit, priors.leakage(100), priors.prior(100).probabilities.tolist()
    (Fraction(3, 1), Fraction(50, 17), [Fraction(1, 100), Fraction(99, 100)])
    """
    channel = as_channel(channel)
    ends = extremes(channel.matrix)
    some = np.flatnonzero((ends.top > 0).astype(bool))
    spans = [math.inf if ends.bottom[j] == 0 else ends.top[j] / ends.bottom[j] for j in some]
    j = int(some[first_largest(spans)])
    low, high = (channel.secrets[int(at[j])] for at in (ends.bottom_at, ends.top_at))
    return PriorSequence(channel, channel.outcomes[j], low, high, lift_capacity(channel))
