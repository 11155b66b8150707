"""What the reports of a protocol leak under a prior: the sets of least and of greatest share decide."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.late import late
from divulge.measures.pointwise.density import DensityBounds
from divulge.model.accepted import OfAClass
from divulge.model.joint import Joint
from divulge.model.labels import labels_at
from divulge.model.prior import Prior
from divulge.model.shown import named, promised, reached
from divulge.protocols.information import Enclosed, information
from divulge.protocols.sets.family import Extreme
from divulge.protocols.shares import Shares
from divulge.protocols.two_level import TwoLevel
from divulge.units import Unit, nats_per

SHOWN = 3
"""So many values of a set are named in a sentence."""


class ProtocolLeakage(float):
    """The largest leakage of a report, a float in its unit that knows where it is: the report, the value, the ratio.

    Examples
    --------
    >>> found = dv.protocols.randomized_response(["a", "b"], 1.0).pml([0.25, 0.75])
    >>> found.max() == found, found.secret, found.outcome
    (True, 'a', 'a')
    """

    ratio: Fraction
    outcome: Hashable
    secret: Hashable
    words: str
    unit: Unit

    def __new__(cls, ratio: Fraction, outcome: Hashable, secret: Hashable, words: str, unit: Unit) -> "ProtocolLeakage":
        found = super().__new__(cls, exact.log(ratio, unit))
        found.ratio, found.outcome, found.secret, found.words, found.unit = ratio, outcome, secret, words, unit
        return found

    def max(self) -> float:
        """Return the leakage as a plain float.

        Examples
        --------
        >>> round(dv.protocols.hadamard(3, 1.0).pml([0.5, 0.25, 0.25]).max(), 6)  # log a / (b + (a - b) / 4)
        0.642626
        """
        return float(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ProtocolLeakage, (self.ratio, self.outcome, self.secret, self.words, self.unit)


@dataclass(frozen=True, eq=False)
class UnderPrior:
    """A protocol and what an adversary knows before its report: the pair (prior, protocol) that measures take.

    >>> pair = (dv.Prior(["1/4", "3/4"]), dv.protocols.randomized_response(2, 1.0))
    >>> round(dv.pml(pair).max(), 6), dv.PML(0.7).holds_for(pair).holds
    (0.642626, True)
    """

    prior: Prior
    protocol: TwoLevel

    @cached_property
    def shares(self) -> Shares:
        """The prior, aligned with the values of the protocol."""
        return Shares(self.prior)

    @cached_property
    def _ends(self) -> tuple[Extreme | None, Extreme | None]:
        return self.protocol.sets.ends(self.shares)

    def ratio(self, side: str) -> Fraction:
        """Return the largest lift a/W ("pml"), or the largest inverse lift W/b ("pmc"), exactly.

        >>> pair = dv.protocols.randomized_response(2, 1.0).under(dv.Prior(["1/4", "3/4"]))
        >>> round(float(pair.ratio("pml")), 6) == round(2.718282 / (0.25 * 2.718282 + 0.75), 6)
        True
        """
        found, a, b = self._ends[side == "pmc"], self.protocol.a, self.protocol.b
        if found is None:
            return Fraction(1)
        level = b + (a - b) * found.share
        return a / level if side == "pml" else level / b

    def leakage(self, side: str, unit: Unit = "nats") -> ProtocolLeakage:
        """Return the largest pml, or pmc, of a report, with the report, the value and the adversary.

        >>> found = dv.protocols.randomized_response(["a", "b"], 1.0).under(dv.Prior(["1/4", "3/4"])).leakage("pmc")
        >>> round(found, 6), found.secret
        (0.827989, 'a')
        """
        nats_per(unit)
        extreme, ratio = self._ends[side == "pmc"], self.ratio(side)
        if extreme is None:
            return ProtocolLeakage(ratio, None, None, "No report tells anything: only one value can occur.", unit)
        secret = self._secret(extreme, inside=side == "pml")
        name = labels_at(self.protocol.values, np.array([secret]))[0]
        before = Fraction(self.prior.probabilities[secret])
        if side == "pml":
            words = (
                f"A report that raises {self._set_words(extreme)} moves P({named(name)}) from {float(before):.6g} to "
                f"{promised(before * ratio)}: who is paid 1/P({named(name)}) for naming it gains {promised(ratio)} "
                "times as much."
            )
        else:
            words = (
                f"A report that raises {self._set_words(extreme)} moves P({named(name)}) from {float(before):.6g} to "
                f"{reached(before / ratio)}: who pays where the value is {named(name)} expects to pay "
                f"{promised(ratio)} times less."
            )
        return ProtocolLeakage(ratio, self.protocol.named(extreme.outcome), name, words, unit)

    def _secret(self, extreme: Extreme, inside: bool) -> int:
        """Return the rarest value that can occur inside a set, or outside."""
        where = np.zeros(len(self.prior), dtype=bool)
        where[extreme.members] = True
        at = np.flatnonzero((where if inside else ~where) & self.shares.support)
        return int(at[np.argmin(self.shares.p[at])])

    def _set_words(self, extreme: Extreme) -> str:
        size = len(extreme.members)
        first = ", ".join(named(x) for x in labels_at(self.protocol.values, extreme.members[:SHOWN]))
        more = f" and {size - SHOWN:,} more" if size > SHOWN else ""
        return f"{first}{more} ({float(extreme.share):.3g} of the prior)"

    def density(self, unit: Unit = "nats") -> DensityBounds:
        """Return the largest pmc and pml of a report: the bounds of ALIP.

        >>> dv.protocols.randomized_response(2, 1.0).under(dv.Prior(["1/2", "1/2"])).density().upper.__round__(6)
        0.379885
        """
        return DensityBounds(lower=float(self.leakage("pmc", unit)), upper=float(self.leakage("pml", unit)))

    @property
    def lift(self) -> Fraction:
        """The largest lift, a ratio."""
        return self.ratio("pml")

    def mutual_information(self, unit: Unit = "nats") -> Enclosed:
        """Return I(X; Y), exactly up to rounding or enclosed; see `Protocol.mutual_information`.

        >>> found = dv.protocols.unary(3, 1.0).under(dv.Prior.uniform(3)).mutual_information()
        >>> found.exact
        True
        """
        nats = nats_per(unit)
        found = information(self.protocol.sets, self.shares, float(self.protocol.a), float(self.protocol.b))
        return found if nats == 1 else Enclosed(found.lower / nats, found.upper / nats)

    def bayes_vulnerability(self) -> float:
        """Return the chance of guessing the value right after a report, E_mu max(a max_S p, b max_{not S} p).

        >>> round(dv.protocols.randomized_response(2, 1.0).under(dv.Prior(["1/2", "1/2"])).bayes_vulnerability(), 6)
        0.731059
        """
        protocol = self.protocol
        return protocol.sets.greater(self.shares, float(protocol.a), float(protocol.b))

    def joint(self) -> Joint:
        """Return the joint, written out: refused beyond some thousands of entries.

        >>> dv.protocols.randomized_response(2, 1.0).under(dv.Prior.uniform(2)).joint().outer.tolist()
        [Fraction(1, 2), Fraction(1, 2)]
        """
        return Joint(self.prior, self.protocol.channel())

    def extremes(self, side: str) -> Joint:
        """Return the joint of three kinds of value and whether the report is the worst one: all that attains pml, pmc.

        Of subset selection, unary encoding and hashing over more than 65,536 values, whose single reports are too rare
        for any number, "the worst report" has a base weight of 1/65,536 in its place: its lifts are as they are.

        >>> pair = dv.protocols.hadamard(6, 1.0).under(dv.Prior(["1/2", "1/10", "1/10", "1/10", "1/10", "1/10"]))
        >>> dv.lift(pair.extremes("pml")) == pair.lift
        True
        """
        found, protocol = self._ends[side == "pmc"], self.protocol
        if found is None:
            raise DivulgeError.of("prior", "let at least two values occur", "it", "certain of one")
        at = self._secret(found, inside=side == "pml")
        name, alone = labels_at(protocol.values, np.array([at]))[0], self.shares.exactly(np.array([at]))
        mass = protocol.sets.weight_of(found)
        rows = {"another raised": (found.share, protocol.a), "another not raised": (1 - found.share, protocol.b)}
        own = "another raised" if side == "pml" else "another not raised"
        shares = {kind: share - (alone if kind == own else 0) for kind, (share, _) in rows.items()}
        kept = {kind: share for kind, share in shares.items() if share > 0}
        levels = {name: rows[own][1], **{kind: rows[kind][1] for kind in kept}}
        return Joint(
            Prior([alone, *kept.values()], [name, *kept]),
            {x: {"the worst report": mass * level, "any other": 1 - mass * level} for x, level in levels.items()},
        )

    def subject_of(self, kind: OfAClass) -> Any:
        """Return what a guarantee is asked about: the closed forms, or the matrix for kinds that have none.

        >>> dv.PMC(1).holds_for((dv.Prior.uniform(10**5), dv.protocols.hadamard(10**5, 1.0))).holds
        True
        """
        return late("divulge.guarantees.deciding.protocols:subject_of")(self, kind)
