"""A design beside the named mechanisms under the same guarantees: utility against every measure, in one table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from divulge.designing.design import Design
from divulge.designing.named import FAMILIES, tuned
from divulge.extras import require
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.capacities import maximal_leakage
from divulge.measures.density import ldp, pmc, pml
from divulge.measures.robust import PriorSet
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import Table, Tabled


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

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, one row a mechanism."""
        return require("pandas", "frames").DataFrame.from_dict(self.to_dict(), orient="index")

    def _shown(self) -> tuple[str, Table]:
        rows = [[row.utility, *(getattr(row, key) for key in MEASURED)] for row in self.rows]
        names = [row.name for row in self.rows]
        return "The design and the named mechanisms", (names, [self.objective, *MEASURED], rows)


def alternatives(design: Design) -> Alternatives:
    """Return the design and the best member of each named family that keeps its guarantees."""
    rows = [found for name in FAMILIES if (found := best_of(design, name)) is not None]
    rows.sort(key=lambda row: row.utility, reverse=not design.minimized)
    first = Alternative.of("design", design.joint, design.utility, design.priors)
    return Alternatives((first, *rows), design.objective, design.bound)


def best_of(design: Design, family: str) -> Alternative | None:
    """Return the best member of a family that keeps the guarantees of the design; None where none has a utility."""
    sign = -1.0 if design.minimized else 1.0
    return best_member(family, design.prior, design.guarantees, design.utility_of, sign, design.priors)


def best_member(
    family: str,
    prior: Prior,
    guarantees: tuple[Guarantee, ...],
    utility_of: Callable[[Channel], float | None],
    sign: float = 1.0,
    priors: PriorSet | None = None,
) -> Alternative | None:
    """Return the member of a family with the most (of a distortion, sign -1, the least) utility under guarantees.

    With a set of priors these are kept, and the leakage is measured, under each of them.
    """
    found = [(utility_of(named.channel), named) for named in tuned(FAMILIES[family], prior, guarantees, priors)]
    known = [(value, named) for value, named in found if value is not None]
    if not known:
        return None
    value, best = max(known, key=lambda pair: sign * pair[0])
    return Alternative.of(family, Joint(prior, best.channel), value, priors)
