"""Mechanisms in one table: what each keeps, and what it is measured to leak."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from divulge.extras import require
from divulge.measures.average.capacities import maximal_leakage
from divulge.measures.pointwise.density import ldp, pmc, pml
from divulge.measures.robust import PriorSet
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.shown import Table, Tabled, raised

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Alternative:
    """A mechanism that keeps the guarantees: its utility and what it is measured to leak (nats), exactly."""

    name: str
    channel: Channel
    utility: float
    pml: float
    pmc: float
    ldp: float
    maximal_leakage: float

    @classmethod
    def of(cls, name: str, joint: Joint, utility: float, priors: PriorSet | None = None) -> "Alternative":
        """Return the row of a mechanism, measured under its prior or under the worst of a set."""
        channel = joint.channel
        two = (pml(joint), pmc(joint)) if priors is None else (priors.pml(channel), priors.pmc(channel))
        return cls(name, channel, utility, two[0].max(), two[1].max(), ldp(channel), maximal_leakage(channel))


MEASURED = ("pml", "pmc", "ldp", "maximal_leakage")


@dataclass(frozen=True, repr=False)
class Alternatives(Tabled):
    """The design first, then the named mechanisms in the order of what they keep; `bound` holds for all of them."""

    rows: tuple[Alternative, ...]
    objective: str
    bound: float

    @property
    def measured(self) -> tuple[str, ...]:
        """The measures of leakage in the table, in nats."""
        return MEASURED

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return {name: {"utility", "pml", "pmc", "ldp", "maximal_leakage"}}."""
        return {row.name: {key: getattr(row, key) for key in ("utility", *MEASURED)} for row in self.rows}

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas DataFrame, one row a mechanism."""
        return require("pandas", "frames").DataFrame.from_dict(self.to_dict(), orient="index")

    def _shown(self) -> tuple[str, Table]:
        rows = [[row.utility, *raised([getattr(row, key) for key in MEASURED])] for row in self.rows]
        names = [row.name for row in self.rows]
        return "The design and the named mechanisms", (names, [self.objective, *MEASURED], rows)
