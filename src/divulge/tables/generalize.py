"""Coarsen a table: the levels that lose least under guarantees, with proof, and the table that goes out."""

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.hierarchies import TOP, Hierarchy, as_hierarchy, suggested
from divulge.files.tables.buffers import of_texts
from divulge.files.tables.source import Source, TableLike
from divulge.files.tables.table import open_table
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.tables import KAnonymity
from divulge.late import late
from divulge.model.labels import text_of
from divulge.releasing.engine import Engine
from divulge.releasing.estimating.counting import by_spark, contingency
from divulge.releasing.persons import most_of, named_after_people, people_in
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.ledger import Expected, looked_at, recorded
from divulge.releasing.release import engine_of
from divulge.releasing.request import Request, asking, run
from divulge.tables.assess import assess, counted_apart
from divulge.tables.generalization import Generalization
from divulge.tables.groups import MISSING, Groups, groups_of
from divulge.tables.levels.lattice import Lattice
from divulge.tables.levels.losses import loss_named
from divulge.tables.levels.minimality import minimality_of
from divulge.tables.levels.mondrian import published_groups, recoded
from divulge.tables.levels.search import searched
from divulge.tables.notes import by_choice
from divulge.tables.order import ranks
from divulge.tables.papers import places_of, published
from divulge.tables.perturb import expected_perturbed, perturbed
from divulge.tables.request import Generalize


@asking("generalize")
def generalize(
    table: TableLike,
    known: str | Sequence[str],
    secret: str | Sequence[str] | None = None,
    sink: str | os.PathLike[str] | None = None,
    *,
    warn: Callable[[str], object] = lambda warning: None,
    **options: Any,
) -> Generalization:
    """Return a table whose known columns are coarsened as little as guarantees allow: the optimum, with a certificate.

    Every column has one level for all rows (global recoding). The levels are searched over the whole lattice; what no
    merging of groups can raise decides for all nodes below one that fails.

    Parameters
    ----------
    table : path of a file or folder; pandas, polars or pyarrow table; columns by name; Source; or PySpark DataFrame
    known : name or names of the columns that somebody may know
    secret : name or names of the sensitive columns, optional
        Guarantees hold for all jointly and for each alone.
    sink : path, address such as s3a://bucket/table.csv, or table:NAME, optional
        The coarsened table goes there, its suffix is its format; beside it codebook, statement and receipt, and for the
        keeper alone the certificate. With table:sales.people it goes into the catalog of the session of Spark.
    guarantees : guarantee, text such as "k=5", or several
        k, distinct-l, entropy-l, recursive-l, t, ordered-t, beta, enhanced-beta, delta-disclosure, pml, pmc, lip, alip,
        lift.
    hierarchies : {known column: Hierarchy, path of a file as ARX writes it, or {value: [levels]}}, optional
        For others one is suggested: a ladder for numbers, dates, prefixes, else the value or `*`.
    levels : {known column: level}, optional
        Chosen beforehand, 0 for the value itself: only those of the other columns are searched.
    recoding : "global" or "local"
        With "local" levels differ from group to group (Mondrian): it loses no more than the best levels for all rows,
        often much less, and `local` has a bound that nothing goes below; it is not said to be the best.
    loss : "entropy", "granularity", "discernibility", "class-size", "mutual-information" or "information"
    perturb : guarantee of a mechanism, such as "pml=0.5", or several, optional
        What goes out has the sensitive column perturbed, by one mechanism that keeps this in every group at once; the
        papers are those of a release, and say what group and released value tell together. The true values stay.
    suppress : number in [0, 1)
        The share of rows that may be left out: those of groups that break a guarantee. They stay, with `*` in all known
        columns, as a group like any other, for which the guarantees must hold too.
    person : name of a column, optional
        Who each row is about. Somebody with several rows is refused without `rows_per_person` or `per_row`.
    rows_per_person : int, optional
        So many rows are one person's at most: k counts people, so that a group has k times as many rows.
    one_answer : bool
        All rows of a person say the same; k counts people by `rows_per_person` all the same.
    per_row : bool
        Each row is another person; or the guarantees are about a row, whatever a person's other rows tell.
    ledger : Ledger, path or URL, optional
        Where the table is recorded. A table of groups has no bound on its privacy loss: a budget does not allow it.
    budget, source_name, people : optional
        As for `release`.
    engine : "local" or "spark"
        Where the rows are counted.
    unit : "nats" or "bits"
        What guarantees with an epsilon are in.
    language : "en" or "de"
        Of statement and codebook.
    force, table_format, receipt, sign, escape_formulas : optional
        As for `release`.
    delimiter, decimal, encoding, sheet, header, footer, number_names, one_spelling, group, line_breaks,
    limits : optional
        How a file is read, as for `open_table`.
    warn : function of str, optional
        Gets what the keeper has to know before anything is written.

    Returns
    -------
    Generalization
        Guarantees decided exactly. With global recoding the loss is certified to be the least, up to 12 digits.

    Raises
    ------
    DivulgeError
        For guarantees that hold nowhere, a hierarchy that lacks values or is not nested, a sensitive column among the
        known ones, a table without rows, people with several rows of whom nothing was said, and a lattice of more than
        two million nodes.

    References
    ----------
    Samarati 2001; Kohlmayer et al., Flash, 2012; Prasser et al., ARX; LeFevre, DeWitt, Ramakrishnan, Mondrian, 2006.

    Examples
    --------
    >>> paths = dv.datasets.adult_hierarchies()
    >>> names = ["sex", "age", "race", "education"]
    >>> own = {name: paths[name] for name in names}
    >>> found = generalize(dv.datasets.adult(names), names, guarantees="k=50", hierarchies=own)
    >>> found.levels, found.assessment.k
    ({'sex': 0, 'age': 4, 'race': 1, 'education': 1}, 126)
    """
    asked = Request.of("generalize", table, sink, known=known, secret=secret, **options)
    return run(asked, table, warn=warn)


@dataclass(frozen=True)
class _Entry:
    """What the ledger is told of a table of groups."""

    mechanisms: tuple[Aggregate, ...]
    columns: tuple[str, ...]
    untouched: tuple[str, ...]
    output: str | None
    rows: int


def carry_out(request: Generalize, source: Any, *, progress: Any, warn: Callable[[str], object]) -> Generalization:
    """Search the levels, record the table, and publish it with its papers; or nothing of it."""
    engine = engine_of(source, request.engine)
    each = _rows_per_person(request, source, engine.source)
    outputs = places_of(request, source)
    if request.perturb:
        return perturbed(request, engine.source, _coarsened(request, source, each), progress=progress, warn=warn)
    papers = late("divulge.reporting.generalize:papers")(request)
    found = replace(_coarsened(request, source, each), person=request.person)
    with _entry(request, engine, found, outputs.output) as entry:
        found = replace(found, together=entry.together)
        for warning in (*entry.warnings, *entry.private, *by_choice(found)):
            warn(warning)
        return published(found, outputs, request, entry, papers)


def expected(request: Generalize, source: Any) -> Expected:
    """Return the coarser table as it would be, and what is on record of its people; nothing is written or kept."""
    engine = engine_of(source, request.engine)
    found = _coarsened(request, source, _rows_per_person(request, source, engine.source))
    if request.perturb:
        return expected_perturbed(request, engine.source, found)
    return looked_at(found, _entry(request, engine, replace(found, person=request.person), None))


def _entry(request: Generalize, engine: Engine, found: Generalization, output: str | None) -> Any:
    """Return the context of a coarser table's entry in the ledger."""
    told = found.assessment
    groups = {"known": list(told.known), "k": told.k, "guarantees": [str(one) for one in found.guarantees],
              "lift": str(told.lift) if told.secret else None}  # fmt: skip
    # a function of the data alone: no bound on the privacy loss of a row
    loss = Aggregate(found.columns, {"ldp": float("inf")}, float("inf"), person=request.person, groups=groups)
    made = _Entry((loss,), found.columns, found.as_they_were, output, found.assessment.rows)
    return recorded(request, engine.source, made, lambda key: engine.known(key, found.columns), most_of)


def _rows_per_person(request: Generalize, given: Any, table: Source) -> int:
    """Return how many rows are one person's at most; refuse a table in which people have more than was said."""
    most = request.rows_per_person or 1
    if by_spark(given, request.engine):
        if request.person is not None and not request.per_row:
            raise DivulgeError.of("person", "be left out with Spark, which puts no rows together", "it", "given",
                                  "rows_per_person=N (--rows-per-person N) alone is taken at its word.")  # fmt: skip
        return most
    if request.person is None:
        if request.rows_per_person is None and not request.per_row:
            _require_one_row_each(table, (*request.columns, *request.secrets))
        return most
    if request.person in (*request.columns, *request.secrets):
        raise DivulgeError.of("person", "be neither a known nor a sensitive column", "it", repr(request.person))
    rows = people_in(table, request.person).rows
    if not request.per_row and rows.max(initial=0) > most:
        raise DivulgeError.of(
            "rows_per_person", "be no less than the rows that a person has", "the number of people with more",
            f"{int((rows > most).sum()):,} of {len(rows):,}",
            "rows_per_person=N (--rows-per-person N) lets k count people: a group has N times as many rows; "
            "per_row=True (--per-row) lets it count rows.",
        )  # fmt: skip
    return most


def _require_one_row_each(table: Source, columns: Sequence[str]) -> None:
    """Refuse a table with a column that is called after people, and has the same in several rows."""
    named = named_after_people(table, columns)
    if named is not None:
        raise DivulgeError.of(
            "person", "be named where people have several rows", f"column {named!r}", "the same in several rows",
            f"person={named!r} (--person {named}) with rows_per_person=N lets k count people; per_row=True (--per-row) "
            "says that each row is another person.",
        )  # fmt: skip


def _coarsened(request: Generalize, source: Any, each: int) -> Generalization:
    """Return the table at its best levels, of which so many rows are one person's at most."""
    columns, secrets = request.columns, request.secrets
    asked = tuple(KAnonymity(one.k * each) if isinstance(one, KAnonymity) else one for one in request.kept)
    found = contingency(source, [*columns, *secrets], engine=request.engine)
    if not found.rows:
        raise DivulgeError.of("table", "have rows", "it", "empty")
    counted_apart(found)
    base = groups_of(found, columns, secrets)
    given: Mapping[str, Any] = request.hierarchies or {}
    ladders = {
        name: as_hierarchy(given[name], name) if name in given else suggested(labels)
        for name, labels in zip(columns, base.labels, strict=True)
    }
    measure = loss_named(request.loss)
    lattice = _lattice(base, ladders, asked, int(Fraction(request.suppress) * found.rows), request.levels or {})
    proof = searched(lattice, measure)
    node = tuple(proof.optimum.values())
    groups = lattice.groups(node)
    out = lattice.left_out(groups)
    levels, loss, local, suppressed = proof.optimum, proof.loss, None, int(groups.sizes[out].sum())
    if request.recoding == "local":
        parts, loss, local = recoded(lattice, measure, node)
        levels = lattice.named(tuple(parts.levels.max(axis=0).tolist()))
        groups = published_groups(lattice, parts)
    released = _released(groups if local else lattice.pooled(groups, out), bool(suppressed))
    assessment = assess(released, list(columns), list(secrets) or None)
    if not assessment.holds(asked):
        raise AssertionError("the table that goes out does not keep what was promised")
    restored = released if by_spark(source, request.engine) else open_table(source).restore(released)
    return Generalization(
        levels, loss, released, assessment, proof, request.kept, ladders, suppressed,
        measure.title, restored, each, local=local,
        minimality=minimality_of(lattice, measure, proof) if local is None else None,
    )  # fmt: skip


def _lattice(
    base: Groups,
    ladders: Mapping[str, Hierarchy],
    asked: tuple[Guarantee, ...],
    suppress: int,
    fixed: Mapping[str, int],
) -> Lattice:
    for name, level in fixed.items():
        if level > ladders[name].height:
            most = f"be at most {ladders[name].height}, the last of the hierarchy"
            raise DivulgeError.of("levels", most, f"that of {name!r}", str(level))
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
    return Lattice(base.known, coded, base, tuple(projections), tuple(values), asked, suppress, dict(fixed))


def _released(groups: Groups, suppressed: bool) -> Any:
    """Return the table of groups and secrets, a row for each row; of level 0, where none is suppressed, as it was.

    Within a group the rows stand in an order of chance: in that of their values, each would tell its secret to who sees
    the table again with the secrets perturbed.
    """
    pa = require("pyarrow", "tables")
    rows = np.repeat(np.arange(len(groups.cell_rows)), groups.cell_rows)
    rows = rows[np.lexsort((np.frombuffer(os.urandom(8 * len(rows)), dtype=np.uint64), groups.cell_group[rows]))]
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
