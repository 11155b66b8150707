"""What a release of statistics asks of the table: whole numbers a cell, and how much one record can change them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from divulge.errors import DivulgeError
from divulge.publishing.statistics import Count, Proportion, Quantiles, Statistic, Sum, Variance

Kind = Literal["rows", "values", "squares", "ranks"]

Neighbors = Literal["replaced", "added", "either"]


@dataclass(frozen=True)
class Unit:
    """Whose privacy is meant: a row, or all rows of a person of which at most so many count; and which tables differ.

    Attributes
    ----------
    person : name of the column that tells whose row it is, or None: every row is somebody else's
    at_most : rows of a person that count
    neighbors : "replaced" (one person is another one; how many there are is public), or "added" (one more or less)
    """

    person: str | None = None
    at_most: int = 1
    neighbors: Neighbors = "replaced"

    def __post_init__(self) -> None:
        if self.neighbors not in ("replaced", "added"):
            raise DivulgeError.of("neighbors", 'be "replaced" or "added"', "it", repr(self.neighbors)[:60])
        given: Any = self.at_most
        whole = isinstance(given, int) and not isinstance(given, bool)
        if not whole or not 1 <= self.at_most <= 1_000_000:
            raise DivulgeError.of("rows_per_person", "be a whole number of rows of a person, at least 1", "it",
                                  repr(self.at_most)[:60])  # fmt: skip
        if self.person is None and self.at_most != 1:
            raise DivulgeError.of("rows_per_person", "come with the column that names the person", "person", "absent")

    @property
    def noun(self) -> str:
        """The unit in a word."""
        return "row" if self.person is None else "person"

    @property
    def secrets(self) -> Neighbors:
        """What a secret about one unit can be: another record, or with neighbors that are added its being there too."""
        return "either" if self.neighbors == "added" else "replaced"

    @property
    def rows_known(self) -> bool:
        """Whether the number of rows is public: rows are replaced one by one."""
        return self.person is None and self.neighbors == "replaced"


@dataclass(frozen=True)
class Query:
    """Whole numbers, one a cell of a margin: a row adds something between `low` and `high` to the cell of its group.

    Attributes
    ----------
    kind : "rows" (each adds 1), "values" or "squares" (of values in steps from the middle of the bounds), or "ranks"
        (quantiles: the choice among values whose score is how far their rank is from the one that is sought)
    by : columns that make the groups
    shape : number of values of each of them
    column : the column of values, None for rows
    low, high : what one row can add
    step, middle : a value v adds v / step - middle, in whole numbers
    only : the value of `column` that is counted, for rows: alone, or beside all others where there is one axis more;
    the
        probability of the quantile, for ranks
    draws : choices a cell, for ranks
    sharpness : the most that adding, or replacing, one row changes a score, for ranks
    candidates : how many values there are between the bounds, from `bottom` steps on, for ranks and squares
    strict : whether a value that is no whole number of steps is refused, not rounded: the step was not given
    """

    kind: Kind
    by: tuple[str, ...]
    shape: tuple[int, ...]
    column: str | None = None
    low: int = 1
    high: int = 1
    step: Fraction = Fraction(1)
    middle: int = 0
    only: Any = None
    draws: int = 1
    sharpness: tuple[int, int] = (1, 1)
    candidates: int = 1
    bottom: int = 0
    strict: bool = False

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def reach(self) -> int:
        """The most that one row adds to or takes from its cell."""
        return max(abs(self.low), abs(self.high))

    @property
    def span(self) -> int:
        """What an error is measured against: how far apart two rows can be, 1 for counts."""
        return max(self.high - self.low, 1)

    def changes(self, unit: Unit, neighbors: Neighbors | None = None) -> tuple[int, int]:
        """Return the L1 norm, and the square of the L2 norm, of the most that one unit changes the cells.

        With k rows of a person: k rows move from one cell to another, (+k, -k), or within one cell from one end to the
        other. For ranks: the sums over all choices of twice the change of a score, and of its square, so that the loss
        is L1 / scale with exponential noise and L2^2 / (2 scale^2) zCDP with Gumbel noise, as for the others.
        """
        if neighbors == "either":
            one, other = self.changes(unit, "replaced"), self.changes(unit, "added")
            return max(one[0], other[0]), max(one[1], other[1])
        k, replaced = unit.at_most, (neighbors or unit.neighbors) == "replaced"
        if self.kind == "ranks":
            one, other = (k * sharp for sharp in self.sharpness)
            if not replaced:
                return 2 * self.draws * one, self.draws * one * one
            apart = (2 * one, 2 * one * one) if self.cells > 1 else (0, 0)
            return 2 * self.draws * max(other, apart[0]), self.draws * max(other * other, apart[1])
        reach = k * self.reach
        if not replaced:
            return reach, reach * reach
        within = max(self.high, k * self.high) - min(self.low, k * self.low)
        apart = 2 * reach if self.cells > 1 else 0
        return max(apart, within), max(apart * reach, within * within)

    def shifts(self, unit: Unit) -> tuple[tuple[int, ...], ...]:
        """Return the ways in which one unit changes the query: how far each number, or score, that it touches moves.

        Any change moves every number by no more than one of the ways does. Empty for people with several rows in
        several groups, which can change in more ways than are worth listing.
        """
        k, replaced = unit.at_most, unit.neighbors == "replaced"
        several = self.cells > 1
        if k > 1 and several:
            return ()
        if self.kind == "ranks":
            one, other = (k * sharp for sharp in self.sharpness)
            if not replaced:
                return ((one,) * self.draws,)
            return ((other,) * self.draws, *([(one,) * (2 * self.draws)] if several else []))
        reach = k * self.reach
        if not replaced:
            return ((reach,),)
        within = max(self.high, k * self.high) - min(self.low, k * self.low)
        if not several:
            return ((within,),)
        return ((reach, reach), *([(within,)] if within > reach else []))


@dataclass(frozen=True)
class Plan:
    """The queries of several statistics, each asked once, and which of them each statistic is made of.

    Attributes
    ----------
    statistics : tuple of Statistic
    queries : tuple of Query
    parts : for each statistic, the places of its queries: what it sums, then the rows of its groups where needed
    """

    statistics: tuple[Statistic, ...]
    queries: tuple[Query, ...]
    parts: tuple[tuple[int, ...], ...]


def plan_of(
    statistics: Sequence[Statistic], sizes: Mapping[str, int], whole: Mapping[str, bool | None], unit: Unit
) -> Plan:
    """Return the queries that statistics are made of; one that several need is asked once.

    `sizes` is the number of values of each column that groups, `whole` whether a column holds whole numbers;
    None where only its text tells.
    """
    queries: list[Query] = []
    parts: list[tuple[int, ...]] = []
    for one in statistics:
        wanted = _queries(one, sizes, whole, unit)
        for query in wanted:
            if query not in queries:
                queries.append(query)
        parts.append(tuple(queries.index(query) for query in wanted))
    return Plan(tuple(statistics), tuple(queries), tuple(parts))


def _queries(one: Any, sizes: Mapping[str, int], whole: Mapping[str, bool | None], unit: Unit) -> list[Query]:
    shape = tuple(sizes[name] for name in one.by)
    rows = Query("rows", one.by, shape)
    counted = [] if unit.rows_known and math.prod(shape) == 1 else [rows]
    if isinstance(one, Count):
        return [rows]
    if isinstance(one, Proportion):
        if unit.rows_known and math.prod(shape) == 1:
            return [Query("rows", one.by, shape, one.column, low=0, only=one.value)]
        return [Query("rows", one.by, (*shape, 2), one.column, only=one.value)]
    step, strict = one.step, one.step is None and whole[one.column] is None
    if step is None:
        if whole[one.column] is False:
            raise DivulgeError.of(
                "step", f"be given for a column that does not hold whole numbers, {one.column!r}", "it", "absent",
                "sums are added up in whole numbers: step=0.01 counts in hundredths.",
            )  # fmt: skip
        step = Fraction(1)
    bottom, top = one.lattice(step)
    if isinstance(one, Quantiles):
        return [
            Query(
                "ranks", one.by, shape, one.column, step=step, draws=3 if one.intervals else 1, bottom=bottom,
                candidates=top - bottom + 1, only=p, strict=strict,
                sharpness=(max(p.numerator, p.denominator - p.numerator), p.denominator),
            )
            for p in one.probabilities
        ]  # fmt: skip
    if isinstance(one, Sum):
        return [Query("values", one.by, shape, one.column, bottom, top, step, strict=strict)]
    middle = (bottom + top) // 2
    values = Query("values", one.by, shape, one.column, bottom - middle, top - middle, step, middle, strict=strict)
    if isinstance(one, Variance):
        squares = replace(
            values, kind="squares", low=0, high=values.reach**2, bottom=bottom, candidates=top - bottom + 1
        )
        return [values, squares, *counted]
    return [values, *counted]
