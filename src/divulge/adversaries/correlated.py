"""Dalenius: what a release about X says about a secret Z that is correlated with X."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from divulge import exact
from divulge.adversaries.adversary import Gain
from divulge.adversaries.wrong_law import laws_between, laws_near, laws_within, worst_ratio
from divulge.errors import DivulgeError
from divulge.measures.average.capacities import bayes_capacity
from divulge.measures.pointwise.density import lift, lift_capacity
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.arraylike import Matrix, Number
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint
from divulge.model.entries import entries
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
    >>> about_z = dalenius(dv.Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> about_z.lift, about_z.bound, about_z.bayes_capacity
    (Fraction(5, 4), Fraction(3, 2), (Fraction(5, 4), Fraction(3, 2)))
    """

    joint: Joint
    correlation: Joint
    release: Joint

    @property
    def lift(self) -> float | Fraction:
        """The lift of Z, Lift(rho, D C): what the worst adversary about Z gains at the worst outcome, a ratio."""
        return lift(self.joint)

    @property
    def lift_of_correlation(self) -> float | Fraction:
        """Lift(rho, D), a bound of `lift`: what knowing X itself would say about Z."""
        return lift(self.correlation)

    @property
    def lift_of_release(self) -> float | Fraction:
        """Lift(rho D, C), a bound of `lift`: what the outcome says about X."""
        return lift(self.release)

    @property
    def bound(self) -> float | Fraction:
        """The smaller of the two bounds of `lift`."""
        return min(self.lift_of_correlation, self.lift_of_release)

    @property
    def lift_capacity(self) -> tuple[float | Fraction, float | Fraction]:
        """The lift capacities of D C and of C; the first is never the larger."""
        return lift_capacity(self.joint.channel), lift_capacity(self.release.channel)

    @property
    def bayes_capacity(self) -> tuple[float | Fraction, float | Fraction]:
        """The Bayes capacities of D C and of C; the first is never the larger."""
        return bayes_capacity(self.joint.channel), bayes_capacity(self.release.channel)

    def if_wrong(
        self, side: Literal["pml", "pmc"] = "pml", *, radius: Number | None = None,
        factor: Number | None = None, low: Matrix | None = None, high: Matrix | None = None,
    ) -> Fraction | float:  # fmt: skip
        """Return the worst lift (pml) or inverse lift (pmc) of Z where P(x | z) is another one, near or in intervals.

        P(z) is as it is. Each z has its own law of X, so that the worst of all is a mean of C(y | x) over a ball or a
        box in the simplex for z, and another for all others: mass goes in the order of C(y | x).

        Parameters
        ----------
        side : "pml" or "pmc"
            max_z P(z | y) / P(z), or max_z P(z) / P(z | y), at the worst outcome; a ratio.
        radius : number in [0, 1], optional
            Total variation, half the L1 distance, of each P(x | z).
        factor : number, at least 1, optional
            Each P(x | z) is at most so many times as large, or as small; one that is 0 stays 0.
        low, high : array_like of shape (|Z|, |X|), optional
            Each P(x | z) is between these, rows and columns as those of `correlation.channel`.

        Returns
        -------
        Fraction or inf
            Exact in the numbers that are given, and attained by a law of the set.

        Raises
        ------
        DivulgeError
            Without exactly one of `radius`, `factor`, and `low` with `high`; where no law is in the intervals.

        Examples
        --------
        >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
        >>> about_z = dalenius((["1/2", "1/2"], coin), coin)  # P(y | z) is 5/8 or 3/8
        >>> about_z.lift, about_z.if_wrong(radius="1/4"), about_z.if_wrong("pmc", radius="1/4")
        (Fraction(5, 4), Fraction(3, 2), Fraction(2, 1))
        >>> about_z.if_wrong(low=[["1/2", 0], [0, "1/2"]], high=[["4/5", 1], [1, "4/5"]])  # 13/20 beside 7/20
        Fraction(13, 10)
        """
        given = {"radius": radius is not None, "factor": factor is not None, "low": low is not None or high is not None}
        if sum(given.values()) != 1 or (low is None) != (high is None):
            raise DivulgeError.of(
                "radius", "be the only one given, or `factor`, or `low` with `high`", "what is given",
                " and ".join(name for name, there in given.items() if there) or "none of them",
            )  # fmt: skip
        if side not in ("pml", "pmc"):
            raise DivulgeError.of("side", "be 'pml' or 'pmc'", "it", repr(side)[:40])
        before = self.correlation.prior
        seen = np.flatnonzero(before.support)
        laws = exact.as_fractions(self.correlation.channel.matrix)
        laws = laws / laws.sum(axis=1)[:, None]
        if radius is not None:
            ends = laws_near(laws[seen], radius)
        elif factor is not None:
            ends = laws_within(laws[seen], factor)
        else:
            bounds = [entries(one, name, 2, lambda i: f"row {i}") for one, name in ((low, "low"), (high, "high"))]
            for one, name in zip(bounds, ("low", "high"), strict=True):
                if one.shape != laws.shape:
                    raise DivulgeError.of(name, f"have shape {laws.shape}", "its shape", str(one.shape))
            ends = laws_between(*(exact.as_fractions(one)[seen] for one in bounds))
        shares = exact.as_fractions(before.probabilities)[seen]
        through = exact.as_fractions(self.release.channel.matrix)
        return worst_ratio((shares / sum(shares)).tolist(), through, ends, side)

    def gain(self, about: Gain | Matrix) -> Gain:
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
        >>> about_z = dalenius(dv.Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> guess = dv.Gain.identity([0, 1])
        >>> dv.leakage(about_z.joint, guess, case="max"), dv.leakage(about_z.release, about_z.gain(guess), case="max")
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


def dalenius(correlation: JointLike, channel: ChannelLike) -> Dalenius:
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
    >>> about_z = dalenius(dv.Joint.from_counts([[3, 1], [1, 3]]), [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> about_z.lift, about_z.lift_of_correlation, about_z.lift_of_release
    (Fraction(5, 4), Fraction(3, 2), Fraction(3, 2))
    """
    about = as_joint(correlation)
    release: Channel = as_channel(channel).aligned(about.outcomes, "channel", "what the secret becomes")
    combined = about.channel.then(release)
    middle = Prior(about.outer, about.outcomes)
    return Dalenius(Joint(about.prior, combined), about, Joint(middle, release))
