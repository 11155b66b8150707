"""A frequency protocol on record: what ran on a column of any number of values, with its levels and its spending."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from divulge.errors import DivulgeError
from divulge.files.forms import Form, Some, fits, whole
from divulge.protocols.protocol import Protocol
from divulge.protocols.record import NAMES, from_dict, to_dict
from divulge.protocols.sets.prefixes import Prefixes
from divulge.releasing.planning.assumed import Assumed
from divulge.releasing.records.levels import refuse_levels
from divulge.releasing.records.promised import Spent, log_up
from divulge.releasing.records.ran.mechanism import HEAD, Ran, read_head

ORACLE: Form = HEAD | {
    "protocol": {
        "name": tuple(NAMES), "values": (None, whole, Some(str)), "epsilon": float, "ratio": str, "size?": whole,
        "buckets?": whole, "field?": whole, "dimension?": whole, "lengths?": Some(whole),
    },
    "hash?": str, "key?": str,
}  # fmt: skip
"""What a protocol on record is made of."""

HASH = "multiply-shift (Dietzfelbinger 1996), pairwise independent, a seed a report"
"""The family of hashes, as receipts say it."""

TEXT = "BLAKE2b to 63 bits under the key"
"""How text becomes a number before it is hashed."""


BEGINNING = "the first bytes in UTF-8, with the byte ff behind the end of a text, or fe where it was cut"
"""What of a text is hashed where reports tell of prefixes."""


def family(protocol: Protocol) -> str:
    """Return how the values of a protocol are hashed, in words.

    >>> family(dv.protocols.local_hashing(9, 1.0))
    'multiply-shift (Dietzfelbinger 1996), pairwise independent, a seed a report'
    """
    beginning = (BEGINNING,) if isinstance(protocol.sets, Prefixes) else ()
    return "; ".join((*beginning, *((TEXT,) if protocol.of_text else ()), HASH))


@dataclass(frozen=True, eq=False)
class FrequencyOracle(Ran):
    """A protocol and the column it was run on, or columns of which a report is about the combination.

    columns : of several the values of the protocol are JSON lists of their texts
    assumed : a public prior, or none: then nothing but ldp is promised, which bounds pml and pmc under every prior
    guarantees : {"ldp": epsilon, and under a prior "pml", "pmc"} in nats, by the closed forms; rounded up
    key : public, under which text is hashed
    times, person : as of a matrix
    """

    columns: tuple[str, ...]
    protocol: Protocol
    assumed: Assumed
    guarantees: Mapping[str, float]
    key: bytes = b""
    times: int = 1
    person: str | None = None

    @classmethod
    def of(cls, columns: tuple[str, ...], protocol: Protocol, assumed: Assumed, key: bytes = b"") -> "FrequencyOracle":
        """Return the protocol on a column, or on the combinations of several, with its levels."""
        return cls(columns, protocol, assumed, protocol_levels(protocol, assumed), key)

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return self.protocol.name

    @property
    def computed(self) -> dict[str, float]:
        """The levels that follow from the protocol and the prior."""
        return protocol_levels(self.protocol, self.assumed)

    @property
    def subject(self) -> Any:
        """The protocol, with the prior a pair."""
        return self.protocol if self.prior is None else (self.prior, self.protocol)

    @property
    def spent(self) -> Spent:
        """What it adds to other releases: its ldp, and the zCDP that follows from it."""
        return self.level_spent

    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        found = {**self._head(keeper), "protocol": to_dict(self.protocol)}
        if self.protocol.hashed:
            found["hash"] = family(self.protocol)
        return found | ({"key": self.key.hex()} if self.key else {})

    def on_record(self) -> dict[str, Any]:
        """Return what the ledger keeps: the levels, without a list of values, of which it has a digest."""
        found = replace(self, assumed=Assumed("none"), guarantees={"ldp": self.guarantees["ldp"]}).to_dict(keeper=True)
        values = found["protocol"]["values"]
        if isinstance(values, list):
            found["protocol"]["values"] = len(values)
            found["values_digest"] = sha256("\0".join(values).encode()).hexdigest()
        return found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "FrequencyOracle":
        """Return the protocol that `to_dict` described; levels that it does not have are refused."""
        if not fits(found, ORACLE):
            raise DivulgeError.of("mechanism", "have all its parts, each of its kind", "a part", "missing or malformed")
        made = cls(protocol=from_dict(found["protocol"]), key=bytes.fromhex(found.get("key", "")), **read_head(found))
        refuse_levels(made)
        return made


def protocol_levels(protocol: Protocol, assumed: Assumed) -> dict[str, float]:
    """Return {"ldp", and under a prior "pml" and "pmc"} of a protocol in nats, rounded up."""
    found = {"ldp": protocol.ldp}
    if assumed.alone is not None:
        pair = protocol.under(assumed.alone)
        found |= {side: log_up(pair.ratio(side)) for side in ("pml", "pmc")}
    return found
