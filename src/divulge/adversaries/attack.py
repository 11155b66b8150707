"""Attacks: the adversary behind a number, explicit, in words, and played with random draws."""

import html
import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries import leakages
from divulge.adversaries.adversary import Adversary, Gain
from divulge.adversaries.functions import RandomizedFunction
from divulge.errors import printable
from divulge.model.arraylike import Seed
from divulge.model.entries import open_share, whole_number
from divulge.model.joint import Joint
from divulge.model.shown import Table, Tabled, number, percent, printable_lines
from divulge.roots import turn
from divulge.units import Unit

_ROUNDING = 1e-12
"""Share by which bounds of a mean move outward: more than the rounding of a logarithm, a halving and a product."""


@dataclass(frozen=True)
class Estimate:
    """A simulated mean or ratio: lower <= truth <= upper with the stated confidence."""

    lower: float
    estimate: float
    upper: float

    def covers(self, value: Any) -> bool:
        """Say whether `value` lies in the interval."""
        return bool(self.lower <= value <= self.upper)


@dataclass(frozen=True, repr=False)
class Simulation(Tabled):
    """The game played n times without the release and n times with it."""

    n: int
    confidence: float
    before: Estimate
    after: Estimate
    leakage: Estimate

    def _shown(self) -> tuple[str, Table]:
        played = {"before": self.before, "after": self.after, "leakage": self.leakage}
        head = f"{self.n:,} rounds on each side, {percent(self.confidence)} confidence"
        return head, (list(played), ["lower", "estimate", "upper"], [_ends(one) for one in played.values()])


@dataclass(frozen=True, repr=False)
class Attack:
    """An adversary who attains a measure of leakage.

    Attributes
    ----------
    measure : str
        What they attain, such as "pml".
    joint : Joint
        The prior and the channel they work with.
    adversary : Gain or Cost
        What they want.
    case : "average" or "max"
        Whether they are judged on average over the outcome or at the one that serves them best; ignored when `outcome`
        is given.
    outcome : label or None
        The outcome at which they are judged.
    function : RandomizedFunction or None
        What they guess, when that is how they were built.
    words : str
        The attack in a sentence.

    Examples
    --------
    >>> attack = dv.worst_gain(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]), 0)
    >>> attack.measure, attack.before, attack.after, attack.leakage
    ('pml', Fraction(1, 1), Fraction(3, 2), Fraction(3, 2))
    """

    measure: str
    joint: Joint
    adversary: Adversary
    case: leakages.Case
    outcome: Hashable
    words: str
    function: RandomizedFunction | None = None

    @property
    def before(self) -> float | Fraction:
        """What the best action pays before the release."""
        return self._values[0]

    @property
    def after(self) -> float | Fraction:
        """What the best action pays after the release."""
        return self._values[1]

    @cached_property
    def _values(self) -> tuple[Any, Any]:
        return leakages.before_and_after(self.joint, self.adversary, self.case, self.outcome)

    @property
    def leakage(self) -> float | Fraction:
        """The leakage as a factor: after / before for a gain, before / after for a cost."""
        return leakages.factor(self.adversary, self.before, self.after)

    def log(self, unit: Unit = "nats") -> float:
        """Return the logarithm of the leakage, in nats.

        Examples
        --------
        >>> joint = dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> round(dv.worst_gain(joint).log(), 9)  # log 3/2
        0.405465108
        """
        return leakages.log_leakage(self.joint, self.adversary, self.case, outcome=self.outcome, unit=unit)

    def simulate(self, samples: int = 10_000, *, confidence: float = 0.999, rng: Seed | None = None) -> Simulation:
        """Play the game with random draws and estimate what the adversary gets without and with the release.

        Without it: secrets from the prior, always their best action. With it: rounds of secret and outcome, their best
        action for each outcome; at one outcome, rounds in which that outcome was seen.

        Parameters
        ----------
        samples : int
            Rounds on each side, at least 1.
        confidence : float in (0, 1)
            The intervals hold together with at least this probability (Chernoff bounds).
        rng : numpy Generator or seed, optional

        Examples
        --------
        >>> witness = dv.worst_gain(dv.Joint([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]]), 0)
        >>> witness.simulate(10_000, rng=1).leakage.covers(1.5)
        True
        """
        samples, confidence = whole_number(samples, "samples"), open_share(confidence, "confidence")
        rng = np.random.default_rng(rng)
        risk = (1 - confidence) / 4
        before = _mean(*_rounds(self, self.adversary.weights(self.joint.prior), samples, rng), risk)
        after = _mean(*_rounds(self, self._seen(), samples, rng), risk)
        over, under = (after, before) if isinstance(self.adversary, Gain) else (before, after)
        return Simulation(samples, confidence, before, after, _ratio(over, under))

    def _seen(self) -> np.ndarray:
        """Return the beliefs after the release as columns, weighted by how often they arise."""
        outcome = self.outcome
        if outcome is None and self.case == "max":
            outcome = leakages.pointwise_leakage(self.joint, self.adversary).argmax()
        if outcome is not None:
            return self.adversary.weights(self.joint.posterior(outcome))
        return np.concatenate(list(leakages.weight_blocks(self.joint, self.adversary)), axis=1)

    def __repr__(self) -> str:
        return f"{self.measure}: {self.words}\n{self.adversary!r}"

    def _repr_html_(self) -> str:
        words = html.escape(printable(f"{self.measure}: {self.words}"))
        expected = f"expects {number(self.before)} before, {number(self.after)} after"
        shown = html.escape(printable_lines(repr(self.adversary)))
        return f"<p>{words}<br>{expected}</p><pre>{shown}</pre>"


def _rounds(attack: Attack, beliefs: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return what n rounds pay, and the most that one can pay.

    A round draws a secret and a column of beliefs with their probability; the action is the best one for the column.
    """
    rule = attack.adversary.rule
    payoffs = np.stack([exact.as_floats(rule.payoff(rule.action(belief))) for belief in beliefs.T], axis=1)
    weights = exact.as_floats(beliefs)
    possible = weights > 0
    chances = weights[possible] / weights[possible].sum()
    return rng.choice(payoffs[possible], size=n, p=chances), float(payoffs[possible].max())


def _mean(values: np.ndarray, largest: float, risk: float) -> Estimate:
    """Return the mean of values in [0, largest] with Chernoff bounds: n KL(estimate || mean) <= log 1/risk."""
    if largest == 0:
        return Estimate(0.0, 0.0, 0.0)
    share = min(1.0, float(values.mean()) / largest)
    budget = math.log(1 / risk) / len(values)
    lower, upper = (_edge(share, end, budget) for end in (0.0, 1.0))
    return Estimate(lower * largest * (1 - _ROUNDING), share * largest, upper * largest * (1 + _ROUNDING))


def _edge(share: float, outside: float, budget: float) -> float:
    """Return the point between `share` and `outside` where KL(share || .) passes the budget, on its outer side."""
    side = outside - share
    return share + side * turn(lambda part: _kl(share, share + side * part) > budget, 0.0, 1.0)[1]


def _kl(a: float, b: float) -> float:
    """Return the relative entropy of two coins, a first."""
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in ((a, b), (1 - a, 1 - b)) if p > 0)


def _ratio(over: Estimate, under: Estimate) -> Estimate:
    return Estimate(
        *(exact.as_float(leakages.ratio(a, b)) for a, b in zip(_ends(over), _ends(under)[::-1], strict=True))
    )


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.lower, estimate.estimate, estimate.upper
