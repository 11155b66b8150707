"""How much of a guarantee there is in a frequency protocol: the closed forms of a two-level channel, in fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.guarantees.deciding import levels as at
from divulge.guarantees.deciding.levels import Level, Ratio, Witness
from divulge.model.channel import Channel
from divulge.protocols.leakage import UnderPrior
from divulge.protocols.protocol import Protocol
from divulge.protocols.two_level import TwoLevel

_BY_PAIR = frozenset(
    [
        "adp",
        "pdp",
        "relaxed-dp",
        "kl",
        "rdp",
        "abs-chi",
        "tv",
        "mcdp",
        "zcdp",
        "approximate-zcdp",
        "bounded-cdp",
        "tcdp",
        "tcdp-capped",
        "gdp",
        "f-divergence",
        "adp-curve",
    ]
)
"""Kinds that are the worst over pairs of values: every pair of a protocol is like one pair."""


def subject_of(subject: Protocol | UnderPrior, kind: Any) -> Any:
    """Return what a kind of guarantee is measured on: the protocol, with its prior, or for other kinds the matrix."""
    if kind.about == "joint":
        if isinstance(subject, Protocol):
            raise DivulgeError.of("joint", "have a prior and a channel", "it", "a Protocol",
                                  "both go in as one argument, a pair: (prior, protocol).")  # fmt: skip
        return subject if kind.kind in ANSWERS else subject.joint()
    protocol = subject.protocol if isinstance(subject, UnderPrior) else subject
    if kind.kind in ANSWERS:
        return protocol
    return of_a_pair(protocol) if kind.kind in _BY_PAIR else protocol.channel()


def of_a_pair(protocol: TwoLevel) -> Channel:
    """Return the channel of two values and what a report says of the two: all pairs of a protocol have this one."""
    alone = protocol.q - protocol.sets.both
    high, low = protocol.a * alone, protocol.b * alone
    rest = 1 - high - low
    return Channel([[high, low, rest], [low, high, rest]], [0, 1], ["the first alone", "the second alone", "neither"])


def levels(guarantee: Any, subject: Protocol | UnderPrior) -> tuple[Level, ...]:
    """Return how much there is of each bounded parameter, each decided exactly."""
    return ANSWERS[guarantee.kind](subject)


def _log(ratio: Fraction, witness: Witness) -> Level:
    return at.log_of(Ratio(ratio), witness, lambda: 0.0)  # the ratio is exact: nothing is measured in doubles


def _side(side: str) -> Callable[[UnderPrior], Level]:
    def level(subject: UnderPrior) -> Level:
        found = subject.leakage(side)
        witness = Witness(outcome=found.outcome, secret=found.secret, adversary=found.words)
        return _log(found.ratio, witness)

    return level


_pml, _pmc = _side("pml"), _side("pmc")


def _lift(subject: UnderPrior) -> Level:
    found = subject.leakage("pml")
    return at.ratio_of(Ratio(found.ratio), Witness(outcome=found.outcome, secret=found.secret, adversary=found.words))


def _information(subject: UnderPrior) -> Level:
    found = subject.mutual_information()
    return Level(found.upper, None, 0.0, Witness(), least=found.lower)


def _pair(protocol: Protocol) -> Witness:
    text = (
        "Reports that raise one value and not the other are this much likelier under the one than under the other, "
        "for every two values."
    )
    return Witness(secret=protocol.values[0], other=protocol.values[1], adversary=text)


def _capacity(protocol: Protocol) -> Fraction:
    return protocol.bayes_capacity()


_TRY = Witness(adversary="An adversary who names a value that the report raises, when all are equally likely.")

ANSWERS: dict[str, Callable[[Any], tuple[Level, ...]]] = {
    "pml": lambda s: (_pml(s),),
    "pmc": lambda s: (_pmc(s),),
    "alip": lambda s: (_pmc(s), _pml(s)),
    "lip": lambda s: (at.larger(_pmc(s), _pml(s)),),
    "lift": lambda s: (_lift(s),),
    "max-g-leakage": lambda s: (_lift(s),),
    "mutual-information": lambda s: (_information(s),),
    "ldp": lambda s: (_log(s.ratio, _pair(s)),),
    "dp": lambda s: (_log(s.ratio, _pair(s)),),
    "lift-capacity": lambda s: (at.ratio_of(Ratio(s.ratio), _pair(s)),),
    "bayes-capacity": lambda s: (at.ratio_of(Ratio(_capacity(s)), _TRY),),
    "maximal-leakage": lambda s: (_log(_capacity(s), _TRY),),
}
"""Kind of a guarantee -> its levels by closed form."""
