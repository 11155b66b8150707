"""Dalenius: what a release about X says about a secret Z that is correlated with X."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.adversaries.adversary import Gain
from divulge.measures.average.capacities import bayes_capacity
from divulge.measures.pointwise.density import lift, lift_capacity
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint
from divulge.model.joint import Joint
from divulge.model.labels import alignment
from divulge.model.prior import Prior
from divulge.model.shown import Shown, number, promised


@dataclass(frozen=True, repr=False)
class Dalenius(Shown):
    """What a release about X says about Z, and what bounds it.

    Attributes
    ----------
    joint : Joint
        Z and the outcome: prior rho and channel D C; every measure applies to it.
    correlation : Joint
        Z and X: prior rho and channel D.
    release : Joint
        X and the outcome: prior rho D and channel C.

    Examples
    --------
    >>> from divulge import Joint
    >>> about_z = dalenius(Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> about_z.lift, about_z.bound, about_z.bayes_capacity
    (Fraction(5, 4), Fraction(3, 2), (Fraction(5, 4), Fraction(3, 2)))
    """

    joint: Joint
    correlation: Joint
    release: Joint

    @property
    def lift(self) -> Any:
        """The lift of Z, Lift(rho, D C): what the worst adversary about Z gains at the worst outcome, a ratio."""
        return lift(self.joint)

    @property
    def lift_of_correlation(self) -> Any:
        """Lift(rho, D), a bound of `lift`: what knowing X itself would say about Z."""
        return lift(self.correlation)

    @property
    def lift_of_release(self) -> Any:
        """Lift(rho D, C), a bound of `lift`: what the outcome says about X."""
        return lift(self.release)

    @property
    def bound(self) -> Any:
        """The smaller of the two bounds of `lift`."""
        return min(self.lift_of_correlation, self.lift_of_release)

    @property
    def lift_capacity(self) -> tuple[Any, Any]:
        """The lift capacities of D C and of C; the first is never the larger."""
        return lift_capacity(self.joint.channel), lift_capacity(self.release.channel)

    @property
    def bayes_capacity(self) -> tuple[Any, Any]:
        """The Bayes capacities of D C and of C; the first is never the larger."""
        return bayes_capacity(self.joint.channel), bayes_capacity(self.release.channel)

    def gain(self, about: Any) -> Gain:
        """Return the gain about X that stands for one about Z: G(w, x) = sum_z P(z | x) g(w, z).

        Every vulnerability, average or max-case, of Z under g and the channel D C is that of X under G and C.

        Parameters
        ----------
        about : Gain, or array_like of shape (actions, |Z|)

        Returns
        -------
        Gain
            With the actions of g and the values of X that occur; exact where both are.

        Examples
        --------
        >>> from divulge import Gain, Joint, leakage
        >>> about_z = dalenius(Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> guess = Gain.identity([0, 1])
        >>> leakage(about_z.joint, guess, case="max"), leakage(about_z.release, about_z.gain(guess), case="max")
        (Fraction(5, 4), Fraction(5, 4))
        """
        own = about if isinstance(about, Gain) else Gain(about, secrets=self.correlation.prior.secrets)
        backward = self.correlation.posteriors
        order = alignment(self.correlation.prior.secrets, own.secrets, "gain", "the correlated secret")
        payoffs = own.matrix if order is None else own.matrix[:, order]
        return Gain(payoffs @ np.where(backward == backward, backward, 0), own.actions, self.release.secrets)

    def __repr__(self) -> str:
        lines = [
            f"lift of the correlated secret: {number(self.lift)}",
            f"  at most {_bound(self.lift_of_correlation)} (lift of the correlation)",
            f"  at most {_bound(self.lift_of_release)} (lift of the release)",
            "lift capacity: {} of at most {}".format(*map(_bound, self.lift_capacity)),
            "Bayes capacity: {} of at most {}".format(*map(_bound, self.bayes_capacity)),
        ]
        return "\n".join(lines)


def _bound(value: Any) -> str:
    return number(value) if isinstance(value, Fraction) else promised(value)


def dalenius(correlation: Any, channel: ChannelLike) -> Dalenius:
    """Return what a release of X through `channel` says about a secret Z that is correlated with X.

    Z has the prior rho and becomes X through the channel D, X becomes the outcome through C: the outcome says about Z
    what the channel D C says. Lift(rho, D C) <= min(Lift(rho, D), Lift(rho D, C)), and neither the lift capacity nor
    the Bayes capacity of D C exceeds that of C.

    Parameters
    ----------
    correlation : Joint, (rho, D), or array_like of shape (|Z|, |X|) with P(z, x)
        For two columns of a table: `Joint.from_counts(Counter(zip(z, x)))`.
    channel : Channel, or array_like of shape (|X|, M)

    Returns
    -------
    Dalenius

    Raises
    ------
    DivulgeError
        When `correlation` is no joint distribution, or its outcomes are not the secrets of `channel`.

    References
    ----------
    Fernandes, McIver, Sadeghi, "Explaining epsilon in local differential privacy through the lens of quantitative
    information flow", Lemma 2 and Corollary 3, arXiv:2210.12916.

    Examples
    --------
    >>> from divulge import Joint
    >>> about_z = dalenius(Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> about_z.lift, about_z.lift_of_correlation, about_z.lift_of_release
    (Fraction(5, 4), Fraction(3, 2), Fraction(3, 2))
    """
    about = as_joint(correlation)
    release: Channel = as_channel(channel).aligned(about.outcomes, "channel", "what the secret becomes")
    combined = about.channel.then(release)
    middle = Prior(about.outer, about.outcomes)
    return Dalenius(Joint(about.prior, combined), about, Joint(middle, release))
