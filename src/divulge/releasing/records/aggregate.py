"""What the ledger keeps of published statistics: what they can say about one record, without their numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from divulge.files.forms import Form, fits, level
from divulge.releasing.records.promised import Spent

AGGREGATE: Form = {
    "statistics": True, "columns": [str], "ldp": level, "rho": level, "least": (None, str),
    "adp?": {"epsilon": level, "delta": level}, "person?": str,
}  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """Statistics with noise, as one release about the records of a table.

    Attributes
    ----------
    columns : every column that was read
    guarantees : {"ldp": the most that a log-likelihood changes when one record is replaced, in nats; may be inf}
    rho : zCDP of the same change, for noise without such a bound
    least : probability that every value of the secret has at least, where pml or pmc were asked for
    adp : (epsilon, delta) of the same change that was asked for, where ldp is infinite
    person : the column that says whose rows are one record; a row is one where it is None
    """

    columns: tuple[str, ...]
    guarantees: Mapping[str, float]
    rho: float
    least: Fraction | None = None
    adp: tuple[float, float] | None = None
    person: str | None = None

    channel: ClassVar[None] = None
    prior: ClassVar[None] = None

    @property
    def for_a_person(self) -> dict[str, float]:
        """The same: all rows of whom is protected are one record."""
        return dict(self.guarantees)

    @property
    def spent(self) -> Spent:
        """What counts for a total."""
        return Spent(
            self.columns, None, None, loss=self.guarantees["ldp"], rho=self.rho, least=self.least, adp=self.adp
        )

    def to_dict(self, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        ldp = self.guarantees["ldp"]
        return {
            "statistics": True, "columns": list(self.columns), "ldp": ldp if math.isfinite(ldp) else "inf",
            "rho": self.rho if math.isfinite(self.rho) else "inf",
            "least": None if self.least is None else str(self.least),
            **({} if self.adp is None else {"adp": {"epsilon": self.adp[0], "delta": self.adp[1]}}),
            **({} if self.person is None else {"person": self.person}),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "Aggregate":
        """Return what `to_dict` described."""
        if not fits(found, AGGREGATE):
            raise ValueError("a part is missing or malformed")
        least = None if found["least"] is None else Fraction(found["least"])
        ldp, rho = float(found["ldp"]), float(found["rho"])
        if least is not None and not 0 < least <= 1:
            raise ValueError("a probability is above 0 and at most 1")
        adp = found.get("adp")
        kept = None if adp is None else (float(adp["epsilon"]), float(adp["delta"]))
        return cls(tuple(found["columns"]), {"ldp": ldp}, rho, least, kept, found.get("person"))
