"""The adversary behind a verdict, as a table: kind of guarantee -> who attains the measured value."""

from collections.abc import Callable
from typing import Any

from divulge.adversaries.adversary import Gain
from divulge.adversaries.attack import Attack
from divulge.adversaries.worst import PriorSequence, worst_average, worst_function, worst_gain
from divulge.guarantees import kinds as k
from divulge.guarantees.deciding.levels import Witness
from divulge.guarantees.guarantee import Guarantee, Verdict
from divulge.measures.pointwise.density import lift_capacity
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.ties import first_largest

_SURE = 10**12
"""One in so many is the prior chance of the secret that comes true, where adversaries only approach the measure."""


def _gaining(joint: Joint, witness: Witness) -> Attack:
    return worst_gain(joint, witness.outcome)


def _erring(joint: Joint, witness: Witness) -> Attack:
    return worst_function(joint, witness.outcome)


def _either(joint: Joint, witness: Witness) -> Attack:
    """Return the one of both to whom the outcome says more."""
    both = _gaining(joint, witness), _erring(joint, witness)
    return both[first_largest([attack.leakage for attack in both])]


def _mistaken(channel: Channel, witness: Witness) -> Attack:
    """Return one who was almost sure of the secret that makes the outcome least likely."""
    priors = PriorSequence(channel, witness.outcome, witness.other, witness.secret, lift_capacity(channel))
    return priors.witness(_SURE)


def _one_try(channel: Channel, _: Witness) -> Attack:
    return worst_average(channel)


def _paid_for_rarity(joint: Joint, _: Witness) -> Attack:
    words = "guesses the secret, and is paid 1/P(x) when it is x"
    return Attack("average-g-leakage", joint, Gain.reciprocal(joint.prior), "average", None, words)


def _guessing(joint: Joint, _: Witness) -> Attack:
    words = "guesses the secret in one try"
    return Attack("min-entropy-leakage", joint, Gain.identity(joint.prior), "average", None, words)


ATTACKS: dict[tuple[type[Guarantee], str], Callable[[Any, Witness], Attack]] = {
    (k.PML, "epsilon"): _gaining,
    (k.PMC, "epsilon"): _erring,
    (k.LIP, "epsilon"): _either,
    (k.ALIP, "upper"): _gaining,
    (k.ALIP, "lower"): _erring,
    (k.Lift, "ratio"): _gaining,
    (k.MaxGLeakage, "ratio"): _gaining,
    (k.LDP, "epsilon"): _mistaken,
    (k.DP, "epsilon"): _mistaken,
    (k.LiftCapacity, "ratio"): _mistaken,
    (k.BayesCapacity, "ratio"): _one_try,
    (k.MaximalLeakage, "epsilon"): _one_try,
    (k.AverageGLeakage, "ratio"): _paid_for_rarity,
    (k.MinEntropyLeakage, "epsilon"): _guessing,
}
"""(Kind, parameter) -> the attack on what it is a property of, at the witness. The other kinds are means and tails."""


def attack_of(verdict: Verdict) -> Attack | None:
    """Return the adversary who attains what a verdict measured, at its witness; None for means and tails."""
    if not isinstance(verdict.subject, (Joint, Channel)):  # of noise `NoiseMechanism.adversary` says it
        return None
    found = ATTACKS.get((type(verdict.guarantee), verdict.tested))
    return None if found is None else found(verdict.subject, verdict.witness)
