"""Coarsen a table: the levels that lose least under guarantees, with proof, and the table that goes out."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.files.tables.buffers import of_texts
from divulge.files.tables.table import open_table
from divulge.guarantees.guarantee import Guarantee
from divulge.model.labels import text_of
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled
from divulge.releasing.estimating.counting import EngineName, by_spark, contingency
from divulge.tables.assess import assess, columns_of, counted_apart, mapping_of
from divulge.tables.assessment import Assessment
from divulge.tables.groups import MISSING, Groups, groups_of
from divulge.tables.levels.conditions import guarantees_of
from divulge.tables.levels.hierarchies import TOP, Hierarchy, as_hierarchy, suggested
from divulge.tables.levels.lattice import Lattice
from divulge.tables.levels.losses import loss_named
from divulge.tables.levels.search import Certificate, searched
from divulge.tables.notes import CHOSEN
from divulge.tables.order import ranks


@dataclass(frozen=True, eq=False, repr=False)
class Generalization(Tabled, Record):
    """A table coarsened to the levels that lose least under guarantees.

    Attributes
    ----------
    levels : {column: level}
        0 is the value itself.
    loss : float
    rows : pyarrow Table
        The known columns at their levels and the sensitive ones, in the order of their values, not of the rows.
    assessment : Assessment
        Of the table that goes out, counted from it anew.
    certificate : Certificate
        Why no other levels are better.
    guarantees : tuple of Guarantee
    hierarchies : {column: Hierarchy}
        Those given, and those suggested for columns without one.
    suppressed : int
        Rows whose known columns are all `*`: a group like any other.
    title : str
        What the loss is.
    table : pandas, polars or pyarrow table
        The rows in the library of the table that was given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from divulge import generalize
    >>> people = pa.table({"age": [31, 34, 38, 45, 46, 49], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> ages = {"age": Hierarchy.ladder(5, 10)}
    >>> found = generalize(people, known="age", secret="ill", guarantees="k=3", hierarchies=ages)
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

    @property
    def notes(self) -> tuple[str, ...]:
        """Against whom the numbers hold, and against whom they do not."""
        rows = f" {number_of(self.suppressed, 'row')} have {TOP} in all known columns." if self.suppressed else ""
        return (*self.assessment.notes, CHOSEN + rows)

    @property
    def receipt(self) -> dict[str, Any]:
        """What was done, for everybody: no number in it is not in the table that goes out, or was chosen before."""
        return {
            "kind": "generalization",
            "known": list(self.assessment.known),
            "secret": list(self.assessment.secret),
            "guarantees": [str(one) for one in self.guarantees],
            "levels": self.levels,
            "hierarchies": {name: one.to_dict() for name, one in self.hierarchies.items() if one.kind != "table"},
            "loss": self.title,
            "suppressed": self.suppressed,
            "rows": self.assessment.rows,
            "notes": list(self.notes),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for the keeper: groups of the certificate are those of the table as it was.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from divulge import generalize
        >>> found = generalize(pa.table({"age": [1, 2, 2]}), known="age", guarantees="k=2")
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
            "assessment": self.assessment.to_dict(),
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
        head = f"{self.assessment.rows} rows coarsened under {asked}: loss {self.loss:.6g}, certified optimal"
        heights = [self.hierarchies[name].height for name in self.levels]
        values = np.array([list(self.levels.values()), heights]).T
        return head, (list(self.levels), ["level", "of"], values)


def generalize(
    table: Any,
    known: str | Sequence[str],
    secret: str | Sequence[str] | None = None,
    *,
    guarantees: Any,
    hierarchies: Mapping[str, Any] | None = None,
    loss: str = "entropy",
    suppress: Any = 0,
    engine: EngineName = "local",
) -> Generalization:
    """Return a table whose known columns are coarsened as little as guarantees allow: the optimum, with a certificate.

    Every column has one level for all rows (global recoding). The levels are searched over the whole lattice; what no
    merging of groups can raise decides for all nodes below one that fails.

    Parameters
    ----------
    table : path of a file or folder; pandas, polars or pyarrow table; Source; or PySpark DataFrame
    known : name or names of the columns that somebody may know
    secret : name or names of the sensitive columns, optional
        Guarantees hold for all jointly and for each alone.
    guarantees : guarantee, text such as "k=5", or several
        k, distinct-l, entropy-l, recursive-l, t, ordered-t, beta, enhanced-beta, delta-disclosure, pml, pmc, lip, alip,
        lift.
    hierarchies : {known column: Hierarchy, path of a file as ARX writes it, or {value: [levels]}}, optional
        For others one is suggested: a ladder for numbers, dates, prefixes, else the value or `*`.
    loss : "entropy", "granularity", "discernibility", "class-size", "mutual-information" or "information"
    suppress : number in [0, 1)
        The share of rows that may be left out: those of groups that break a guarantee. They stay, with `*` in all known
        columns, as a group like any other, for which the guarantees must hold too.
    engine : "local" or "spark"
        Where the rows are counted.

    Returns
    -------
    Generalization
        Guarantees decided exactly. The loss is certified to be the least, up to 12 digits.

    Raises
    ------
    DivulgeError
        For guarantees that hold nowhere, a hierarchy that lacks values or is not nested, a sensitive column among the
        known ones, a table without rows, and a lattice of more than two million nodes.

    References
    ----------
    Samarati 2001; Kohlmayer et al., Flash, 2012; Prasser et al., ARX.

    Examples
    --------
    >>> from divulge.datasets import adult, adult_hierarchies
    >>> paths = adult_hierarchies()
    >>> names = ["sex", "age", "race", "education"]
    >>> found = generalize(adult(names), names, guarantees="k=50", hierarchies={name: paths[name] for name in names})
    >>> found.levels, found.assessment.k
    ({'sex': 0, 'age': 4, 'race': 1, 'education': 1}, 126)
    """
    asked, measure, share = guarantees_of(guarantees), loss_named(loss), _share(suppress)
    secrets = () if secret is None else columns_of(secret, "secret")
    columns = columns_of(known, "known")
    if not columns:
        raise DivulgeError.of("known", "name at least one column", "it", "empty")
    both = [name for name in columns if name in secrets]
    if both:
        raise DivulgeError.of("known", "have none of the sensitive columns", "one", repr(both[0]))
    if not secrets and any(one.kind != "k" for one in asked):
        raise DivulgeError.of("secret", "be named for guarantees other than k", "it", "absent")
    given = mapping_of(hierarchies)
    for name in given:
        if name not in columns:
            raise DivulgeError.of("hierarchies", "be of known columns", "one", f"of {name!r}")
    found = contingency(table, [*columns, *secrets], engine=engine)
    if not found.rows:
        raise DivulgeError.of("table", "have rows", "it", "empty")
    counted_apart(found)
    base = groups_of(found, columns, secrets)
    ladders = {
        name: as_hierarchy(given[name], name) if name in given else suggested(labels)
        for name, labels in zip(columns, base.labels, strict=True)
    }
    lattice = _lattice(base, ladders, asked, int(share * found.rows))
    proof = searched(lattice, measure)
    node = tuple(proof.optimum.values())
    groups = lattice.groups(node)
    out = lattice.left_out(groups)
    released = _released(lattice, lattice.pooled(groups, out), node, bool(out.any()))
    assessment = assess(released, list(columns), list(secrets) or None)
    if not assessment.holds(asked):
        raise AssertionError("the table that goes out does not keep what was promised")
    restored = released if by_spark(table, engine) else open_table(table).restore(released)
    return Generalization(
        proof.optimum, proof.loss, released, assessment, proof, asked, ladders, int(groups.sizes[out].sum()),
        measure.title, restored,
    )  # fmt: skip


def _share(value: Any) -> Fraction:
    try:
        share = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if isinstance(value, bool) or not 0 <= share < 1:
        raise DivulgeError.of("suppress", "be a number in [0, 1)", "it", str(value)[:40])
    return share


def _lattice(base: Groups, ladders: Mapping[str, Hierarchy], asked: tuple[Guarantee, ...], suppress: int) -> Lattice:
    coded = tuple(ladders[name].coded(labels, name) for name, labels in zip(base.known, base.labels, strict=True))
    named = tuple(column.labels[0] for column in coded)
    base = Groups(base.known, base.secret, named, base.values, base.codes, base.cell_group, base.cell_value,
                  base.cell_rows)  # fmt: skip
    projections, values = [np.arange(len(base.values))], [base.values]
    if len(base.secret) > 1:
        for i in range(len(base.secret)):
            parts: list[Any] = [value[i] for value in base.values]  # pyright: ignore[reportIndexIssue]
            distinct = list(dict.fromkeys(parts))
            place = dict(zip(distinct, ranks(distinct).tolist(), strict=True))
            projections.append(np.array([place[part] for part in parts]))
            values.append(tuple(sorted(distinct, key=place.__getitem__)))
    return Lattice(base.known, coded, base, tuple(projections), tuple(values), asked, suppress)


def _released(lattice: Lattice, groups: Groups, node: tuple[int, ...], suppressed: bool) -> Any:
    """Return the table of groups and secrets, a row for each row; of level 0, where none is suppressed, as it was."""
    pa = require("pyarrow", "tables")
    rows = np.repeat(np.arange(len(groups.cell_rows)), groups.cell_rows)
    columns: dict[str, Any] = {}
    for i, name in enumerate(groups.known):
        labels: list[Hashable] = [*groups.labels[i], *([TOP] if suppressed else [])]
        columns[name] = _array(labels, groups.codes[groups.cell_group[rows], i] % len(labels))
    for i, name in enumerate(groups.secret):
        parts: list[Any] = [value[i] if len(groups.secret) > 1 else value for value in groups.values]  # pyright: ignore
        columns[name] = _array(parts, groups.cell_value[rows])
    return pa.table(columns)


def _array(labels: Sequence[Hashable], codes: np.ndarray) -> Any:
    pa = require("pyarrow", "tables")
    texts = of_texts([None if label == MISSING else text_of(label) for label in labels], pa.string())
    return texts.take(pa.array(codes))
