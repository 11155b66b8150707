"""What a release of statistics asks of the table: whole numbers a cell, and how much one record can change them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from divulge.errors import DivulgeError
from divulge.model.entries import whole_number
from divulge.publishing.counting.groups import Categories
from divulge.publishing.statistics import Count, Cut, Numbers, People, Proportion, Quantiles, Statistic, Sum, Variance
from divulge.releasing.request import MOST_ROWS

Kind = Literal["rows", "people", "values", "squares", "ranks", "cut", "bins"]

Neighbors = Literal["replaced", "added", "either"]


@dataclass(frozen=True)
class Unit:
    """Whose privacy is meant: a row, or all rows of a person of which at most so many count; and which tables differ.

    person : name of the column that tells whose row it is, or None: every row is somebody else's
    at_most : rows of a person that count
    neighbors : "replaced" (one person is another one; how many there are is public), or "added" (one more or less)
    groups : groups in which rows of a person count at most, or None: as many as rows
    per_group : rows of a person that count at most in one group, or None: as many as count
    by : the columns whose combinations are these groups
    """

    person: str | None = None
    at_most: int = 1
    neighbors: Neighbors = "replaced"
    groups: int | None = None
    per_group: int | None = None
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.neighbors not in ("replaced", "added"):
            raise DivulgeError.of("neighbors", 'be "replaced" or "added"', "it", repr(self.neighbors)[:60])
        limits = {"at_most": "rows_per_person", "groups": "groups_per_person", "per_group": "rows_per_group"}
        for field, name in limits.items():
            if field == "at_most" or getattr(self, field) is not None:
                object.__setattr__(self, field, whole_number(getattr(self, field), name, 1, MOST_ROWS))
        several = self.at_most != 1 or self.groups is not None or self.per_group is not None
        if self.person is None and several:
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
    def rows(self) -> int:
        """The most rows of one unit that count: no more than the groups and the rows in each allow."""
        allowed = self.groups * self.per_group if self.groups and self.per_group else self.at_most
        return min(self.at_most, allowed)

    def in_cells(self, query: "Query") -> tuple[int, int]:
        """Return the most rows of one unit that count in a query, and the most that the squares of its cells add up to.

        Of K rows with r in a cell at most, K // r cells have r and one has the rest. A person counts once in a cell,
        and in as many as there are rows, groups and cells.

        >>> unit = Unit("who", 5, groups=3, per_group=2, by=("g",))
        >>> cells = Query("rows", ("g",), (10,))
        >>> unit.in_cells(cells), unit.in_cells(replace(cells, kind="people"))  # 2 + 2 + 1 rows; 1 + 1 + 1
        ((5, 9), (3, 3))
        """
        most = self.rows
        if query.kind == "people":
            most = min(most, self.groups or most, query.cells)
            return most, most
        bounded = self.per_group is not None and set(query.by) == set(self.by)
        each = min(most, self.per_group or most) if bounded else most
        most = min(most, each * query.cells)
        whole, rest = divmod(most, each)
        return most, whole * each**2 + rest**2

    @property
    def rows_known(self) -> bool:
        """Whether the number of rows is public: rows are replaced one by one."""
        return self.person is None and self.neighbors == "replaced"


@dataclass(frozen=True)
class Query:
    """Whole numbers, one a cell of a margin: a row adds something between `low` and `high` to the cell of its group.

    kind : "rows" (each adds 1), "people" (each person adds 1 to each cell with a row of theirs), "values" or "squares"
        (of values in steps from the middle of the bounds), "cut" (each number beyond the bounds adds 1), "bins" (each
        number adds 1 to the bin that it is in, from which bounds are chosen), or "ranks" (quantiles: the choice among
        values whose score is how far their rank is from the one that is sought)
    by : columns that make the groups
    shape : number of values of each of them
    column : the column of values; for rows None, or the column in which a number, or the value `only`, is counted
    low, high : what one row can add: from 0 on where a row can be in no cell
    step, middle : a value v adds v / step - middle, in whole numbers
    only : the value of `column` that is counted, for rows: alone, or beside all others where there is one axis more;
        the probability of the quantile, for ranks
    draws : choices a cell, for ranks
    sharpness : the most that adding, or replacing, one row changes a score, for ranks
    candidates : how many values there are between the bounds, from `bottom` steps on, for columns of numbers
    fill : what a missing number counts as, in steps; None where it is left out
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
    fill: int | None = None

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
        other; where a cell holds fewer of them, the squares s of what the cells hold take the place of k^2, and a
        replaced person changes the cells by no more than what one leaves and the other brings. For ranks: the sums over
        all choices of twice the change of a score, and of its square, so that the loss is L1 / scale with exponential
        noise and L2^2 / (2 scale^2) zCDP with Gumbel noise, as for the others.
        """
        if neighbors == "either":
            one, other = self.changes(unit, "replaced"), self.changes(unit, "added")
            return max(one[0], other[0]), max(one[1], other[1])
        replaced = (neighbors or unit.neighbors) == "replaced"
        k, s = unit.in_cells(self)
        spread = s < k * k  # over several cells
        if self.kind == "ranks":
            one, other = self.sharpness
            if not replaced:
                return 2 * self.draws * k * one, self.draws * s * one * one
            apart = (2 * one * k, (4 if spread else 2) * one * one * s) if self.cells > 1 else (0, 0)
            return 2 * self.draws * max(k * other, apart[0]), self.draws * max(s * other * other, apart[1])
        reach = self.reach
        if not replaced:
            return k * reach, s * reach * reach
        within = max(self.high, k * self.high) - min(self.low, k * self.low)
        if self.cells == 1:
            return within, within * within
        if spread:
            return 2 * k * reach, (4 if self.low < 0 else 2) * s * reach * reach
        return max(2 * k * reach, within), max(2 * s * reach * reach, within * within)

    @property
    def counts_rows(self) -> bool:
        """Whether all rows of a group are counted."""
        return self.kind == "rows" and self.column is None

    @property
    def counts_numbers(self) -> bool:
        """Whether rows are counted that have a number in a column: a gap moves it, and no other change in a group."""
        return self.kind == "rows" and self.column is not None and self.only is None

    def shifts(self, unit: Unit, gap: bool | None = None) -> tuple[tuple[int, ...], ...]:
        """Return the ways in which one unit changes the query: how far each number, or score, that it touches moves.

        Any change moves every number by no more than one of the ways does; of two, the first is that of a unit which
        leaves its group, the second that of one which stays. Empty for people with several rows in
        several groups, which can change in more ways than are worth listing, but where one of them tells most. `gap`
        says of a replaced row whether it has a number in the query's column on one side alone, or on both; where it is
        None, either may be.

        >>> rows = Query("rows", ("g",), (3,), "age", low=0)  # how many have an age
        >>> rows.shifts(Unit()), rows.shifts(Unit(), gap=False), rows.shifts(Unit(), gap=True)
        (((1, 1), (1,)), ((1, 1), ()), ((1,),))
        """
        replaced, several = unit.neighbors == "replaced", self.cells > 1
        k, s = unit.in_cells(self)
        if self.kind == "bins":
            return ((1,) * min(2 * k if replaced else k, self.cells),) if k == 1 else ()
        if k > 1 and several:
            return self._of_several(k, s, replaced)
        one, other = (k * sharp for sharp in self.sharpness)
        reach = k * self.reach
        if not replaced or (gap and k == 1 and (self.counts_numbers or self.kind not in ("rows", "people"))):
            return ((one,) * self.draws if self.kind == "ranks" else (reach,),)  # in one cell alone
        if self.kind == "ranks":
            return (*([(one,) * (2 * self.draws)] if several else []), (other,) * self.draws)
        return (*([(reach, reach)] if several else []), self._staying(k, gap))

    def _of_several(self, k: int, s: int, replaced: bool) -> tuple[tuple[int, ...], ...]:
        """Return the way in which a person with k rows changes several cells, where one tells most; else nothing.

        Rows that add nothing below 0 raise some cells where they come, and lower others where they leave. A number that
        moves by a + b tells no less than two that move by a and b, with log-concave noise: all rows in one cell tell
        most where a cell may hold them, and one in each where it may hold one.
        """
        if self.low < 0 or self.kind == "ranks" or s not in (k, k * k):
            return ()
        one_side = (k * self.reach,) if s == k * k else (self.reach,) * k
        return ((one_side * (2 if replaced else 1))[: self.cells],)

    def _staying(self, k: int, gap: bool | None) -> tuple[int, ...]:
        """Return how far numbers move where a replaced unit stays in its group, with k rows if there is one cell."""
        within = max(self.high, k * self.high) - min(self.low, k * self.low)
        if self.kind not in ("rows", "people") or k > 1:
            return (within,)
        if self.only is not None and self.cells > 1:
            return (self.reach, self.reach)  # from rows with the value to those without, beside one another
        if self.counts_numbers and (self.cells > 1 or not self.by):
            return () if gap is False else (within,)
        return () if self.cells > 1 else (within,)


@dataclass(frozen=True)
class Plan:
    """The queries of several statistics, each asked once, and which of them each statistic is made of.

    statistics : tuple of Statistic
    queries : tuple of Query
    parts : for each statistic, the places of its queries: what it sums, then the rows of its groups where needed
    """

    statistics: tuple[Statistic, ...]
    queries: tuple[Query, ...]
    parts: tuple[tuple[int, ...], ...]


def plan_of(
    statistics: Sequence[Statistic], groups: Mapping[str, Categories], full: Collection[str], unit: Unit,
    fill: Mapping[str, Fraction] | None = None,
) -> Plan:  # fmt: skip
    """Return the queries that statistics are made of; one that several need is asked once.

    `groups` has the cells of each column that groups, `full` the columns of which it is public that every row has a
    number, `fill` what a missing one counts as, so that every row has one. Nothing here depends on what the table
    holds.
    """
    filled = fill or {}
    full = {*full, *filled}
    queries: list[Query] = []
    parts: list[tuple[int, ...]] = []
    for one in statistics:
        value = filled.get(str(getattr(one, "column", None)))
        wanted = _queries(one, groups, full, unit, value)
        for query in wanted:
            if query not in queries:
                queries.append(query)
        parts.append(tuple(queries.index(query) for query in wanted))
    return Plan(tuple(statistics), tuple(queries), tuple(parts))


def _queries(
    one: Any, groups: Mapping[str, Categories], full: Collection[str], unit: Unit, fill: Fraction | None
) -> list[Query]:
    shape = tuple(len(groups[name]) for name in one.by)
    least = 1 if all(groups[name].complete for name in one.by) else 0  # a row may be in none of the groups
    rows = Query("rows", one.by, shape, low=least)
    public = unit.rows_known and math.prod(shape) == 1 and bool(least)
    if isinstance(one, (Count, People)):
        return [rows if isinstance(one, Count) else replace(rows, kind="people")]
    if isinstance(one, Numbers):
        return [rows if one.column in full else replace(rows, column=one.column, low=0)]
    if isinstance(one, Proportion):
        if public:
            return [Query("rows", one.by, shape, one.column, low=0, only=one.value)]
        return [Query("rows", one.by, (*shape, 2), one.column, low=least, only=one.value)]
    step = one.step or Fraction(1)
    bottom, top = one.lattice(step)
    between: dict[str, Any] = {"step": step, "bottom": bottom, "candidates": top - bottom + 1}
    between |= {} if fill is None or isinstance(one, Cut) else {"fill": int(fill / step)}
    if isinstance(one, Cut):
        return [Query("cut", one.by, shape, one.column, low=0, **between)]
    if isinstance(one, Quantiles):
        return [
            Query(
                "ranks", one.by, shape, one.column, draws=3 if one.intervals else 1, only=p,
                sharpness=(max(p.numerator, p.denominator - p.numerator), p.denominator), **between,
            )
            for p in one.probabilities
        ]  # fmt: skip
    always = least and one.column in full
    if isinstance(one, Sum):
        ends = (min(bottom, 0), max(top, 0))  # a row without a number adds 0, whatever was said of gaps
        return [Query("values", one.by, shape, one.column, *ends, **between)]
    counted = [] if public and always else [rows] if one.column in full else [replace(rows, column=one.column, low=0)]
    middle = (bottom + top) // 2
    values = Query("values", one.by, shape, one.column, bottom - middle, top - middle, middle=middle, **between)
    if isinstance(one, Variance):
        return [values, replace(values, kind="squares", low=0, high=values.reach**2), *counted]
    return [values, *counted]
