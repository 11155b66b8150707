"""Assess a table: count its groups in a stream, and look at what they tell."""

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from divulge.errors import DivulgeError
from divulge.files.hierarchies import Hierarchy, as_hierarchy
from divulge.files.tables.source import Source, TableLike, is_plain
from divulge.files.tables.table import open_table
from divulge.model.entries import open_share
from divulge.model.labels import text_of
from divulge.releasing.estimating.contingency import Contingency
from divulge.releasing.estimating.counting import EngineName, by_spark, contingency
from divulge.tables.assessment import Assessment
from divulge.tables.groups import MISSING, groups_of


def assess(
    table: TableLike,
    known: str | Sequence[str] | None = None,
    secret: str | Sequence[str] | None = None,
    *,
    hierarchies: Mapping[str, Hierarchy | str | os.PathLike[str]] | None = None,
    population: TableLike | int | None = None,
    confidence: float = 0.95,
    pairs: bool = True,
    engine: EngineName = "local",
) -> Assessment:
    """Return what a table tells somebody who knows some columns of a person: all models of the table, exactly.

    Parameters
    ----------
    table : path of a file or folder; pandas, polars or pyarrow table; columns by name; Source; or PySpark DataFrame
        As it is, also one that somebody else anonymized. A missing value counts as a value of its own.
    known : name or names of the columns that somebody may know
        All but the secret when not given.
    secret : name or names of the sensitive columns, optional
        Of several the assessment is about all jointly, and `alone` has each.
    hierarchies : {name of a sensitive column: Hierarchy, or path of one}, optional
        For the hierarchical distance of t-closeness.
    population : table with the known columns, or the number of people that the rows are a sample of, optional
        A table gives the journalist's risk, a number estimates of how many are unique in the population.
    confidence : number in (0, 1)
        Of all bounds about people like these at once.
    pairs : bool
        Whether `columns` looks at two columns together as well.
    engine : "local" or "spark"
        Spark groups and counts a DataFrame in any case, and with "spark" the Parquet file or folder at a path.

    Returns
    -------
    Assessment
        Counts and ratios are exact (int, Fraction), logarithms correctly rounded, bounds rounded by no more than SciPy
        does, population uniques estimates.

    Raises
    ------
    DivulgeError
        For a table that cannot be read or has no rows, a column that it lacks or that is named twice, a sensitive
        column among the known ones, or a population that lacks a group of the table.

    References
    ----------
    Sweeney 2002 (k); Machanavajjhala et al. 2007 (l); Li, Li, Venkatasubramanian 2007 (t); Cao, Karras 2012 (beta);
    Brickell, Shmatikov 2008 (delta-disclosure); Wong et al. 2006 (alpha, k).

    Examples
    --------
    >>> found = assess(dv.datasets.census(["age", "sex", "race"]), known=["age", "sex"], secret="race")
    >>> found.k, found.groups, round(found.pml, 4)
    (53, 182, 0.7866)
    """
    confidence = open_share(confidence, "confidence")
    secrets = () if secret is None else columns_of(secret, "secret")
    columns, left_out = _known(table, known, secrets, engine)
    found = contingency(table, [*columns, *secrets], engine=engine)
    if not found.rows:
        raise DivulgeError.of("table", "have rows", "it", "empty")
    counted_apart(found)
    outside, size = _population(population, found, columns, engine)
    ladders = {name: as_hierarchy(one, name) for name, one in mapping_of(hierarchies).items()}
    for name in ladders:
        if name not in secrets:
            raise DivulgeError.of("hierarchies", "be of sensitive columns", "one", f"of {name!r}")

    def about(names: Sequence[str], alone: tuple[Assessment, ...]) -> Assessment:
        ladder: Hierarchy | None = ladders.get(names[0]) if len(names) == 1 else None
        groups = groups_of(found, columns, names)
        return Assessment(groups, alone, confidence, outside, size, ladder, pairs, left_out)

    alone = tuple(about([name], ()) for name in secrets) if len(secrets) > 1 else ()
    return about(secrets, alone)


def mapping_of(hierarchies: Any) -> dict[str, Any]:
    """Return hierarchies by column; refuse what is no mapping.

    >>> mapping_of(None)
    {}
    """
    if hierarchies is None or isinstance(hierarchies, Mapping):
        return dict(hierarchies or {})
    raise DivulgeError.of("hierarchies", "map columns to hierarchies", "they", f"a {type(hierarchies).__name__}")


def counted_apart(found: Contingency) -> None:
    """Refuse a value that is called as missing ones are, in a column that has both."""
    for name, labels in zip(found.columns, found.labels, strict=True):
        if None in labels and any(text_of(label) == MISSING for label in labels if label is not None):
            raise DivulgeError.of(
                "table", f"have no value {MISSING!r} in a column with missing values", f"column {name!r}", "both",
                "a missing value counts under this name: give the value another one.",
            )  # fmt: skip


def columns_of(given: Any, argument: str) -> tuple[str, ...]:
    names: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else ()
    if not all(isinstance(name, str) for name in names) or not (names or given in ([], ())):
        raise DivulgeError.of(argument, "be the name, or names, of columns", "it", "something else")
    if len(set(names)) < len(names):
        raise DivulgeError.of(argument, "name no column twice", "it", repr(max(names, key=names.count)))
    return names


def readable(source: Source, names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Divide columns into those whose values can be told apart and those left out, with the reason.

    >>> readable(open_table({"age": [30], "tags": [["x"]]}), ["age", "tags"])
    (['age'], {'tags': 'its values are neither text, numbers, dates nor times'})
    """
    source.require_columns(names)
    plain = [name for name in names if is_plain(source.schema.field(name).type)]
    return plain, dict.fromkeys((name for name in names if name not in plain), _NOT_PLAIN)


_NOT_PLAIN = "its values are neither text, numbers, dates nor times"


def _known(
    table: Any, known: Any, secrets: Sequence[str], engine: EngineName
) -> tuple[tuple[str, ...], dict[str, str]]:
    left_out: dict[str, str] = {}
    if known is None:
        if by_spark(table, engine):
            raise DivulgeError.of("known", "be given with Spark", "it", "absent")
        source = open_table(table)
        source.require_values(secrets)
        known, left_out = readable(source, [name for name in source.schema.names if name not in secrets])
    columns = columns_of(known, "known")
    both = [name for name in columns if name in secrets]
    if both:
        raise DivulgeError.of(
            "known", "have none of the sensitive columns", "one", repr(both[0]),
            "somebody who knows the value learns nothing: leave it out of one of the two.",
        )  # fmt: skip
    return columns, left_out


def _projected(found: Contingency, names: Sequence[str]) -> Contingency:
    places = [found.columns.index(name) for name in names]
    return Contingency(tuple(names), tuple(found.labels[i] for i in places), found.cells[:, places], found.counts)


def _population(
    given: Any, found: Contingency, columns: Sequence[str], engine: EngineName
) -> tuple[Fraction | None, int | None]:
    """Return the journalist's risk by a table of the population, or its size by a number."""
    if given is None:
        return None, None
    if isinstance(given, int) and not isinstance(given, bool):
        if given < found.rows:
            raise DivulgeError.of("population", f"be at least the {found.rows:,} rows of the table", "it", f"{given:,}")
        return None, given
    people = contingency(cast(TableLike, given), list(columns), engine=engine)
    inside = _keys(_projected(found, columns))
    outside = _keys(people)
    for key, rows in inside.items():
        if outside.get(key, 0) < rows:
            raise DivulgeError.of(
                "population", "have at least the rows of the table in every group", "a group",
                f"with {outside.get(key, 0):,} of {rows:,}", "its known columns must be written as those of the table.",
            )  # fmt: skip
    return Fraction(1, min(outside[key] for key in inside)), people.rows


def _keys(found: Contingency) -> dict[tuple[str | None, ...], int]:
    texts = [[text_of(label) for label in labels] for labels in found.labels]
    out: dict[tuple[str | None, ...], int] = {}
    for cell, rows in zip(found.cells.tolist(), found.counts.tolist(), strict=True):
        key = tuple(texts[i][place] for i, place in enumerate(cell))
        out[key] = out.get(key, 0) + rows
    return out
