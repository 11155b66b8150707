"""How much of a guarantee there is in noise on a number: suprema, tails and means, each with its bracket.

A verdict is "holds" where the upper end keeps the promise, "does not hold" where the lower end breaks it, and else
undecided. What rests on an estimated error, or on the shape of a density as it shows, says so in the witness.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.guarantees.deciding.levels import Level, Witness
from divulge.noise.answers.outcomes import Estimate
from divulge.noise.answers.supremum import Supremum
from divulge.noise.laws.law import Side
from divulge.noise.mechanism import NoiseMechanism
from divulge.units import Unit

_ULPS = 4 * 2.0**-52
"""Relative error of exp and of log in doubles, with room."""


def levels(guarantee: Any, mechanism: NoiseMechanism, unit: Unit) -> tuple[Level, ...]:
    """Return how much there is of each bounded parameter; the index of the guarantee is in `unit`."""
    answer = ANSWERS.get(guarantee.kind)
    if answer is None:
        hint = "bin the outcomes: mechanism.binned(edges) is a joint that every kind is measured on, from below."
        condition = f"be one that noise on a number answers ({', '.join(ANSWERS)})"
        raise DivulgeError.of("guarantee", condition, "it", guarantee.kind, hint)
    return answer(mechanism, guarantee, unit)


def level(lower: float, value: float, upper: float, witness: Witness) -> Level:
    """Return the level of a number in a bracket."""
    if math.isinf(upper):
        return Level(math.inf, None, 0.0, witness, least=lower)
    return Level(value, None, max(0.0, upper - value), witness, least=lower)


def _supremum(side: Side) -> Callable[[NoiseMechanism], Level]:
    def answer(mechanism: NoiseMechanism) -> Level:
        one = mechanism.supremum(side)
        return level(one.lower, one.value, one.upper, _witness(mechanism, one, side))

    return answer


def _witness(mechanism: NoiseMechanism, found: Supremum, side: Side) -> Witness:
    """Return the outcome that leaks most, or towards which the leakage rises, and who is right about the record."""
    name = {"pml": "leakage", "pmc": "cost"}[side]
    if math.isinf(found.at):
        where = f"The {name} rises to its supremum as the outcome goes to {'+' if found.at > 0 else '-'}infinity"
    else:
        where = f"The {name} is largest at or near the outcome {found.at:.6g}"
    why = f" ({found.reason})" if found.reason else ""
    text = f"{where}{why}." + ("" if found.certified else " The bracket is estimated, not proved.")
    return Witness(outcome=found.at if math.isfinite(found.at) else None, adversary=text)


_pml, _pmc = _supremum("pml"), _supremum("pmc")


def _larger(one: Level, other: Level) -> Level:
    """Return the level of the larger of two numbers in brackets."""
    most = one if one.value >= other.value else other
    assert one.least is not None
    assert other.least is not None
    upper = max(level.value + level.margin for level in (one, other))
    return level(max(one.least, other.least), most.value, upper, most.witness)


def _ratio(found: Level) -> Level:
    """Return the level of e to a number in a bracket."""
    value = float(found.value)
    least, upper = value if found.least is None else found.least, value + found.margin
    low, middle, high = (math.exp(v) if v < _LARGEST else math.inf for v in (least, value, upper))
    return level(low * (1 - _ULPS), middle, high * (1 + _ULPS), found.witness)


_LARGEST = 709.0
"""e to more than this is no double."""


def _local(mechanism: NoiseMechanism) -> Level:
    """Return the local-DP epsilon: exact where it is a distance in scales, at least the leakage at every prior."""
    noise, secret, found = mechanism.noise, mechanism.secret, mechanism.ldp
    span = secret.high - secret.low
    text = f"Records at {secret.low:g} and {secret.high:g} are told apart by outcomes beyond them."
    witness = Witness(secret=secret.low, other=secret.high, adversary=text)
    if found.exact and noise.of_family and noise.attains and math.isfinite(span):
        distance = (Fraction(secret.high) - Fraction(secret.low)) / mechanism.records
        return Level(distance / Fraction(noise.parameters["scale"]), None, 0.0, witness)
    upper = found.epsilon * (1 + _ULPS)
    least = max(mechanism.pml_supremum.lower, mechanism.pmc_supremum.lower)
    return level(found.epsilon * (1 - _ULPS) if found.exact else least, found.epsilon, upper, witness)


def _rate(mechanism: NoiseMechanism, guarantee: Any) -> Level:
    """Return the largest privacy loss of two records over their distance, about numbers on a line."""
    metric, noise, records = guarantee.metric, mechanism.noise, mechanism.records
    if metric.norm != "manhattan" or metric.size is not None:
        hint = "Metric.line(values) is one."
        raise DivulgeError.of("metric", "be that of numbers, for noise on a number", "it", metric.name, hint)
    text = "Records any distance apart are told apart by outcomes beyond them: the rate is the same for all."
    if noise.of_family and noise.attains:
        return Level(1 / (Fraction(noise.parameters["scale"]) * records), None, 0.0, Witness(adversary=text))
    losses = [float(noise.shift_loss(d / records)) / d for d in metric.floats[1:].tolist()]
    value = max(losses, default=0.0)
    words = "The largest privacy loss over the distance, of the records of the line."
    return level(value * (1 - _ULPS) if records == 1 else 0.0, value, value * (1 + _ULPS), Witness(adversary=words))


def _estimate(found: Estimate) -> Level:
    text = "" if found.certified else "The error is estimated, not proved."
    return level(found.lower, found.value, found.upper, Witness(adversary=text))


def _tail(side: Side) -> Callable[[NoiseMechanism, Any, Unit], tuple[Level, ...]]:
    def answer(mechanism: NoiseMechanism, guarantee: Any, unit: Unit) -> tuple[Level, ...]:
        threshold = float(guarantee.epsilon)
        if Fraction(threshold) > guarantee.epsilon:  # a lower threshold has no smaller tail
            threshold = math.nextafter(threshold, 0.0)
        return (_estimate(mechanism.tail(threshold, side, unit)),)

    return answer


Answer = Callable[[NoiseMechanism, Any, Unit], tuple[Level, ...]]

ANSWERS: dict[str, Answer] = {
    "pml": lambda m, *_: (_pml(m),),
    "pmc": lambda m, *_: (_pmc(m),),
    "alip": lambda m, *_: (_pmc(m), _pml(m)),
    "lip": lambda m, *_: (_larger(_pmc(m), _pml(m)),),
    "ldp": lambda m, *_: (_local(m),),
    "dp": lambda m, *_: (_local(m),),
    "metric": lambda m, g, _: (_rate(m, g),),
    "lift": lambda m, *_: (_ratio(_pml(m)),),
    "max-g-leakage": lambda m, *_: (_ratio(_pml(m)),),
    "lift-capacity": lambda m, *_: (_ratio(_local(m)),),
    "tail-pml": _tail("pml"),
    "tail-pmc": _tail("pmc"),
    "mean-pml": lambda m, *_: (_estimate(m.mean_pml()),),
    "mutual-information": lambda m, *_: (_estimate(m.mutual_information()),),
}
"""Kind -> (mechanism, guarantee, unit of its index) -> a level for each bounded parameter."""
