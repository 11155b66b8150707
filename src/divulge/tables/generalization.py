"""A table that was coarsened: its levels, what holds of it, and why no other levels are better."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from divulge.files.hierarchies import Hierarchy
from divulge.guarantees.guarantee import Guarantee
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled
from divulge.releasing.records.receipt import Receipt
from divulge.tables.assessment import Assessment
from divulge.tables.groups import Groups
from divulge.tables.levels.minimality import Minimality, written
from divulge.tables.levels.mondrian import Local
from divulge.tables.levels.search import Certificate
from divulge.tables.models import lift_of_both
from divulge.tables.notes import before, chosen, of_people
from divulge.tables.reduction import NUMBERS, sizes, subjects

FORMAT = "divulge generalization 1"


@dataclass(frozen=True, eq=False, repr=False)
class Generalization(Tabled, Record):
    """A table coarsened to the levels that lose least under guarantees.

    Attributes
    ----------
    levels : {column: level}
        0 is the value itself. With local recoding the coarsest level of any group.
    loss : float
    rows : pyarrow Table
        The known columns at their levels and the sensitive ones, group by group, within one in an order of chance.
    assessment : Assessment
        Of the table that goes out, counted from it anew.
    certificate : Certificate
        Why no other levels are better. With local recoding it is about the best levels for all rows, where it began.
    guarantees : tuple of Guarantee
    hierarchies : {column: Hierarchy}
        Those given, and those suggested for columns without one.
    suppressed : int
        Rows whose known columns are all `*`: a group like any other.
    title : str
        What the loss is.
    table : pandas, polars or pyarrow table
        The rows in the library of the table that was given.
    rows_per_person : int
        So many rows are one person's at most; k of a guarantee counts people, and groups have so many times as many.
    person : name of the column that says who, or None
    together : {"releases": how many, "guarantees"}, or None
        What the ledger has on record of the same people, this table included.
    papers : {name: path}
        What was written, where it was.
    minimality : Minimality, or None
        For the keeper: what the choice of levels tells somebody who knows the rule, where all tables that it may have
        been can be tried.
    perturbed : Receipt, or None
        With `perturb`: of the release of the sensitive column. `table` then has the perturbed values, and `rows` the
        true ones, which stay with the keeper.
    local : Local, or None
        With local recoding the finest levels, and what no recoding goes below.

    Examples
    --------
    >>> people = {"age": [31, 34, 38, 45, 46, 49], "ill": ["a", "b", "a", "b", "a", "b"]}
    >>> ages = {"age": Hierarchy.ladder(5, 10)}
    >>> found = dv.generalize(people, known="age", secret="ill", guarantees="k=3", hierarchies=ages)
    >>> found.levels, found.assessment.k, found.table.column("age").unique().to_pylist()
    ({'age': 2}, 3, ['[30, 40)', '[40, 50)'])
    >>> found.certificate.infeasible[0].levels, found.certificate.infeasible[0].measured
    ({'age': 1}, 1)
    """

    levels: dict[str, int]
    loss: float
    rows: Any = field(compare=False)
    assessment: Assessment
    certificate: Certificate
    guarantees: tuple[Guarantee, ...]
    hierarchies: dict[str, Hierarchy]
    suppressed: int
    title: str
    table: Any = field(compare=False, repr=False)
    rows_per_person: int = 1
    person: str | None = None
    together: Mapping[str, Any] | None = field(default=None, compare=False)
    papers: Mapping[str, Path] = field(default_factory=dict, compare=False)
    minimality: Minimality | None = None
    local: Local | None = None
    perturbed: Receipt | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that go out."""
        return (*self.assessment.known, *self.assessment.secret)

    @property
    def as_they_were(self) -> tuple[str, ...]:
        """The columns whose values go out as they were: the sensitive ones, and those that are not coarsened."""
        fine = [name for name, level in self.levels.items() if not level]
        return (*([] if self.suppressed else fine), *self.assessment.secret)

    @property
    def people(self) -> int:
        """How many people a group has at least."""
        return -(-self.assessment.k // self.rows_per_person)

    @property
    def notes(self) -> tuple[str, ...]:
        """Against whom the numbers hold, and against whom they do not."""
        people = of_people(self.rows_per_person, self.people)
        return (*self.assessment.notes, chosen(self.suppressed), *people, *before(self.others))

    @property
    def others(self) -> int:
        """How many other releases of the same people the ledger has on record."""
        return self.together["releases"] - 1 if self.together else 0

    @property
    def receipt(self) -> dict[str, Any]:
        """What was done, for everybody: no number in it is not in the table that goes out, or was chosen before."""
        return {
            "format": FORMAT,
            "kind": "generalization",
            "known": list(self.assessment.known),
            "secret": list(self.assessment.secret),
            "guarantees": [str(one) for one in self.guarantees],
            "levels": self.levels,
            **({"finest": self.local.finest} if self.local else {}),
            "heights": {name: one.height for name, one in self.hierarchies.items()},
            "hierarchies": {name: one.to_dict() for name, one in self.hierarchies.items() if one.kind != "table"},
            "loss": self.title,
            "suppressed": self.suppressed,
            "rows": self.assessment.rows,
            "protects": {"person": self.person, "rows_per_person": self.rows_per_person},
            "groups": self.assessment.groups,
            "k": self.assessment.k,
            "people": self.people,
            **({"others": self.others} if self.others else {}),
            "sizes": sizes(self.assessment.by_group),
            "subjects": subjects(self._subjects, self.guarantees),
            **self._about_secrets(),
            "notes": list(self.notes),
        }

    @property
    def both(self) -> Fraction | None:
        """The largest lift by group and released value together, for the keeper; None where nothing was perturbed."""
        if self.perturbed is None:
            return None
        groups, channel = self.assessment.by_group, self.perturbed.matrix_of(self.assessment.secret).channel
        return lift_of_both(groups, channel)

    @property
    def _subjects(self) -> list[Groups]:
        """The groups with all sensitive columns as one, and with each alone."""
        return [one.by_group for one in (self.assessment, *self.assessment.alone)] if self.assessment.secret else []

    def _about_secrets(self) -> dict[str, Any]:
        """Return the extremes of what groups tell of the sensitive columns, exact, as text."""
        found = self.assessment
        return {name: str(number(found.by_group).value) for name, number in NUMBERS.items()} if found.secret else {}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for the keeper: groups of the certificate are those of the table as it was.

        Examples
        --------
        >>> found = dv.generalize({"age": [1, 2, 2]}, known="age", guarantees="k=2")
        >>> found.to_dict()["levels"], found.to_dict()["certificate"]["nodes"]
        ({'age': 1}, 2)
        """
        proof = self.certificate
        infeasible = [
            {**vars(one), "measured": str(one.measured), "value": None if one.value is None else str(one.value)}
            for one in proof.infeasible
        ]
        return {
            **self.receipt,
            "value": self.loss,
            **({"both": str(self.both)} if self.perturbed else {}),
            **({"bound": self.local.bound, "gap": self.local.gap} if self.local else {}),
            "assessment": self.assessment.to_dict(),
            "minimality": None if self.minimality is None else written(self.minimality),
            "certificate": {
                "optimum": proof.optimum,
                "loss": proof.loss,
                "nodes": proof.nodes,
                "visited": proof.visited,
                "infeasible": infeasible,
                "costly": [{"levels": levels, "loss": loss} for levels, loss in proof.costly],
            },
        }

    def _shown(self) -> tuple[str, Table]:
        asked = ", ".join(map(str, self.guarantees))
        why = "certified optimal" if self.local is None else f"group by group; none is below {self.local.bound:.6g}"
        head = f"{self.assessment.rows} rows coarsened under {asked}: loss {self.loss:.6g}, {why}"
        heights = {name: self.hierarchies[name].height for name in self.levels}
        shown = {"from": self.local.finest, "to": self.levels} if self.local else {"level": self.levels}
        columns = [[one[name] for name in self.levels] for one in (*shown.values(), heights)]
        return head, (list(self.levels), [*shown, "of"], np.array(columns).T)
