"""The exact part: whole numbers by group, counted and summed by DuckDB or Spark in one statement that both read alike.

Only the cells of the margins that are asked for come back; rows stay where they are. A person's rows beyond the number
that counts are left out in the order of a hash (MD5) of the person and the row's own values: no other row takes part.
Nothing that a row holds is refused: an unlisted value, a missing one, or text where a number should be has its cell, or
is left out by a rule that was stated before.
"""

import datetime
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.buffers import filled, of_numbers
from divulge.files.tables.values import values_of
from divulge.model.labels import text_of
from divulge.publishing.counting.bounding import bounded, cell, text_literal
from divulge.publishing.counting.groups import Categories, label_of_missing
from divulge.publishing.counting.tables import TABLE, Table, is_alike
from divulge.publishing.queries import Query, Unit
from divulge.releasing.planning.naming import require_shared

MOST_TOTAL = 1 << 62
"""Sums stay below this, so that noise is added in 64 bits."""


@dataclass(frozen=True)
class Counted:
    """What a table holds: for each query the whole numbers of its cells, and the number of rows that count.

    totals : one int64 array of the query's shape each; for ranks one of shape (cells, candidates): rows with each value
    rows : rows that count
    groups : {columns that group: int64 array of rows in each group}
    treated : {column: {"missing", "rounded", "cut": rows}} of columns of numbers, for the keeper alone
    """

    totals: tuple[np.ndarray, ...]
    rows: int
    groups: Mapping[tuple[str, ...], np.ndarray]
    treated: Mapping[str, Mapping[str, int]]


_GROUP_THEM = "merge its values into groups, or list those that could be (values=, --values)."


def values_in(table: Table, columns: Sequence[str], null_as: Hashable = None) -> dict[str, list[Hashable]]:
    """Return the values that occur in each column, in the order of their texts."""
    found: dict[str, list[Hashable]] = {}
    for name in columns:
        result = table.ask(f"SELECT {table.quote(name)} AS v, count(*) AS n FROM {TABLE} GROUP BY 1", [name])
        texts = {text_of(value) for value in values_of(result.column("v").combine_chunks())}
        require_shared(result.column("n").to_pylist(), f"column {name!r}", _GROUP_THEM)
        occurring: list[Hashable] = [*sorted(text for text in texts if text is not None)]
        found[name] = occurring
        missing = label_of_missing(null_as)
        if None in texts and missing not in found[name]:
            found[name].append(missing)
        if not found[name]:
            raise DivulgeError.of("table", "have at least one row", "it", "empty")
    return found


def counted(
    table: Table, queries: Sequence[Query], values: Mapping[str, Categories], unit: Unit, null_as: Hashable = None
) -> Counted:
    """Return the exact numbers of all queries, in one pass."""
    groups = sorted({name for query in queries for name in query.by})
    numbers = list(dict.fromkeys(Number.of(q) for q in queries if q.column is not None and q.kind != "rows"))
    shown = list(
        dict.fromkeys((str(q.column), text_of(q.only)) for q in queries if q.only is not None and q.kind == "rows")
    )
    read = list(dict.fromkeys([*groups, *(number.column for number in numbers), *(c for c, _ in shown)]))
    person = [] if unit.person is None else [unit.person]
    people = any(query.kind == "people" for query in queries)
    bounds = unit.groups is not None or unit.per_group is not None
    cells = {name: cell(table, name, values[name]) for name in groups} if people or bounds else {}
    picked = [f"{cells.get(name, table.quote(name))} AS g{i}" for i, name in enumerate(groups)]
    picked += [f"{table.quote(str(unit.person))} AS who"] if people else []
    for i, number in enumerate(numbers):
        picked += [f"{whole(table, number)} - {number.middle} AS v{i}", *_treated(table, number, i)]
    for i, (column, only) in enumerate(shown):
        picked.append(f"{_equals(table, str(column), str(only), str(only) == text_of(null_as))} AS p{i}")
    inner = f"SELECT {', '.join(picked) or '1 AS one'} FROM {bounded(table, read, unit, cells)}"
    sets = [tuple(q.by) + (() if q.kind != "ranks" else (numbers.index(Number.of(q)),)) for q in queries]
    wanted = list(dict.fromkeys([(), *sets]))
    columns = [f"g{i}" for i in range(len(groups))] + [f"v{i}" for i, number in enumerate(numbers) if number.ranks]
    sums = ["count(*) AS rows", *(["count(DISTINCT who) AS people"] if people else [])]
    squared = {Number.of(query) for query in queries if query.kind == "squares"}
    for i, number in enumerate(numbers):
        big = "HUGEINT" if table.text == "varchar" else "DECIMAL(38,0)"
        if not number.ranks:  # DuckDB sums whole numbers up in 128 bits, without a copy of them that wide
            sums.append(f"sum({f'v{i}' if table.text == 'varchar' else f'CAST(v{i} AS {big})'}) AS s{i}")
        if number in squared:
            sums.append(f"sum(CAST(v{i} AS {big}) * v{i}) AS q{i}")
        sums += [f"count(v{i}) AS n{i}", f"sum(r{i}) AS r{i}", f"sum(k{i}) AS k{i}"]
        sums += [] if number.fill is None else [f"sum(f{i}) AS f{i}"]
    sums += [f"sum(p{i}) AS c{i}" for i in range(len(shown))]
    named = [[f"v{part}" if isinstance(part, int) else f"g{groups.index(part)}" for part in one] for one in wanted]
    marks = [f"GROUPING({c}) AS m_{c}" for c in columns]
    once = dict.fromkeys(tuple(sorted(one)) for one in named)  # columns in another order are the same set
    by = f" GROUP BY GROUPING SETS ({', '.join('(' + ', '.join(one) + ')' for one in once)})" if columns else ""
    sql = f"SELECT {', '.join([*columns, *marks, *sums])} FROM ({inner}) AS whole{by}"
    found = table.ask(sql, [*read, *person])
    return _Gathered(table, found, groups, numbers, shown, values, unit.rows_known).answers(
        queries, sets, wanted, named, columns
    )


@dataclass(frozen=True)
class Number:
    """A column in whole steps between ends, less `middle`; for ranks one number is a group, else it is summed up."""

    column: str
    step: Fraction
    middle: int
    ranks: bool
    ends: tuple[int, int]
    fill: int | None = None

    @classmethod
    def of(cls, query: Query) -> "Number":
        """Return what a query adds up, or ranks."""
        ranks = query.kind == "ranks"
        ends = (query.bottom, query.bottom + query.candidates - 1)
        return cls(str(query.column), query.step, query.bottom if ranks else query.middle, ranks, ends, query.fill)


def number_of_steps(column: str, step: Fraction, ends: tuple[int, int], fill: int | None) -> Number:
    """Return a column in whole steps between ends, with what a missing number counts as."""
    return Number(column, step, 0, False, ends, fill)


def _real(table: Table, column: str) -> str:
    """Return SQL for a number; one of 16 or 32 bits is the shortest decimal that names it: 0.1, not 0.10000000149."""
    place, kind = table.quote(column), table.source.schema.field(column).type
    types = require("pyarrow.types", "tables")
    short = types.is_float32(kind) or types.is_float16(kind)
    return f"TRY_CAST({f'CAST({place} AS {table.text})' if short else place} AS DOUBLE)"


def whole(table: Table, number: Number) -> str:
    """Return SQL for a value in whole steps, brought between its ends; for what is no number null, or its fill."""
    column, step, (low, high) = number.column, number.step, number.ends
    missing = "NULL" if number.fill is None else str(min(max(number.fill, low), high))
    if table.kind(column) == "whole" and step == 1:
        wide = "DECIMAL(38,0)" if table.text == "string" else "HUGEINT"
        near = f"CAST(least(greatest(CAST({table.quote(column)} AS {wide}), {low}), {high}) AS BIGINT)"
        return f"CASE WHEN {table.quote(column)} IS NULL THEN {missing} ELSE {near} END"  # greatest() leaves nulls out
    value = _real(table, column)
    inverse = 1 / step
    scaled = (
        f"({value} * {int(inverse)}e0)" if inverse.denominator == 1 else f"({value} / CAST({float(step)!r} AS DOUBLE))"
    )
    near = f"CASE WHEN isnan({value}) THEN NULL ELSE {scaled} END + 0.5e0"
    floored = f"CAST(floor(least(greatest({near}, {low}e0), {high}e0)) AS BIGINT)"  # in Spark a floor must fit 64 bits
    clamped = f"least(greatest({floored}, {low}), {high})"  # ends beyond 2^53 have neighbors for doubles
    return f"CASE WHEN {value} IS NULL OR isnan({value}) THEN {missing} ELSE {clamped} END"


def _equals(table: Table, column: str, only: str, null: bool) -> str:
    """Return SQL that is 1 where a column has the value with this text, else 0; `null` says that missing ones have."""
    place = table.quote(column)
    missing, text = f"{place} IS NULL", f"CAST({place} AS {table.text})"
    if table.decimal(column) is not None:
        text = place
    elif table.kind(column) == "real":
        text = _real(table, column)
        missing += f" OR isnan({text})"
    try:
        same = f"{text} = {_literal(table, column, _value(table, column, only))}"
    except DivulgeError:
        if not null:
            raise
        same = "1 = 0"  # a label that no value of the column can have
    return f"CASE WHEN {missing} THEN {int(null)} WHEN {same} THEN 1 ELSE 0 END"


def _literal(table: Table, column: str, value: str) -> str:
    """Return SQL of a value."""
    decimal = table.decimal(column)
    if decimal is not None and is_alike(decimal):
        return f"CAST({value} AS DECIMAL({decimal.precision},{decimal.scale}))"  # of NULL: equal to nothing
    if decimal is None and table.kind(column) == "real":
        return f"CAST({value} AS DOUBLE)"
    return text_literal(table, value)


def _value(table: Table, column: str, only: str) -> str:
    """Return the text that a value has in its column; what the column cannot hold is refused."""
    if table.boolean(column):
        kind, found = "truth value", only.lower() if only.lower() in ("true", "false") else None
    elif table.kind(column) == "text":
        kind, found = "date or time", _moment(table.source.schema.field(column).type, only)
    elif table.kind(column) == "whole":
        kind, number = "whole number", _finite(only)
        found = str(int(number)) if number is not None and number.adjusted() < 20 and _is_whole(number) else None
    elif table.decimal(column) is not None:
        kind, number = "number", _finite(only)
        found = None if number is None else _in_scale(number, table.decimal(column))
    else:
        kind, number = "number", _finite(only)
        found = None if number is None or math.isinf(float(number)) else repr(float(number))
    if found is None:
        raise DivulgeError.of("value", f"be a {kind}, as all of column {column!r}", "it", "not")
    return found


def _in_scale(number: Decimal, kind: Any) -> str:
    """Return the text that a number has in a column of decimals, "NULL" where none of the column can be it."""
    digits = Context(prec=kind.precision, traps=[InvalidOperation, Inexact])
    try:
        return str(text_of(number.quantize(Decimal(1).scaleb(-kind.scale), context=digits)))
    except (InvalidOperation, Inexact):
        return "NULL"


def _moment(kind: Any, text: str) -> str | None:
    """Return the text of a date or moment, however it is written; of another type the text as it is."""
    types = require("pyarrow.types", "tables")
    if not (types.is_date(kind) or types.is_timestamp(kind)):
        return text
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text if re.fullmatch(r"[0-9]{4}-[0-9T: -]*\.[0-9]{7,9}(\+00:00)?", text) else None  # nanoseconds
    if types.is_date(kind):
        return str(found.date()) if found == datetime.datetime.combine(found.date(), datetime.time()) else None
    return text_of(found) if (found.tzinfo is None) == (kind.tz is None) else None


def _is_whole(number: Decimal) -> bool:
    return number.is_zero() or (number.adjusted() >= 0 and number % 1 == 0)


def _finite(text: str) -> Decimal | None:
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _treated(table: Table, number: Number, i: int) -> list[str]:
    """Return SQL that is 1 where a number was rounded to a whole step (r), and where it was cut to its bounds (k)."""
    value, step, (low, high) = _real(table, number.column), number.step, number.ends
    scaled = f"({value} / CAST({float(step)!r} AS DOUBLE))"
    known = f"{value} IS NOT NULL AND NOT isnan({value})"
    near = f"least(greatest({scaled}, -9007199254740992e0), 9007199254740992e0)"  # beyond these all are whole
    off = f"abs({near} - floor({near} + 0.5e0)) > 1e-6"
    return [
        f"CASE WHEN {known} AND {off} THEN 1 ELSE 0 END AS r{i}",
        f"CASE WHEN {known} AND ({scaled} < {low - 0.5!r}e0 OR {scaled} > {high + 0.5!r}e0) THEN 1 ELSE 0 END AS k{i}",
        *([] if number.fill is None else [f"CASE WHEN {known} THEN 0 ELSE 1 END AS f{i}"]),
    ]


@dataclass(frozen=True)
class _Gathered:
    table: Table
    found: Any
    groups: Sequence[str]
    numbers: Sequence[Number]
    shown: Sequence[Any]
    values: Mapping[str, Categories]
    rows_known: bool

    def answers(
        self, queries: Sequence[Query], sets: Sequence[Any], wanted: Sequence[Any], named: Sequence[Sequence[str]],
        columns: Sequence[str],
    ) -> Counted:  # fmt: skip
        """Return the numbers of each query, put in their cells."""
        marks = {c: np.asarray(self.found.column(f"m_{c}").to_pylist(), dtype=np.int64) for c in columns}
        rows: dict[Any, np.ndarray] = {}
        for one, names in zip(wanted, named, strict=True):
            keep = np.ones(self.found.num_rows, dtype=bool)
            for c in columns:
                keep &= marks[c] == (0 if c in names else 1)
            rows[one] = np.flatnonzero(keep)
        total = int(self._column("rows", rows[()]).sum())
        if self.rows_known and any(total * query.reach >= MOST_TOTAL for query in queries if query.kind != "ranks"):
            raise DivulgeError.of("step", "be so coarse that sums stay below 2^62 steps",
                                  f"a sum of {self.table.source.name}", "larger",
                                  "give a larger step=, or narrower bounds.")  # fmt: skip
        places = {one: self._places(one, rows[one]) for one in wanted}
        out = [self._answer(query, rows[one], places[one]) for query, one in zip(queries, sets, strict=True)]
        groups: dict[tuple[str, ...], np.ndarray] = {}
        for query in queries:
            if query.by not in groups and query.by in rows:
                shape = tuple(len(self.values[name]) for name in query.by)
                groups[query.by] = self._put(shape, places[query.by], self._column("rows", rows[query.by]))
        return Counted(tuple(out), total, groups, self._treated(total, rows[()]))

    def _column(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Return whole numbers; a sum beyond 62 bits is the end of them, which no unit moves further than it is."""
        pa = require("pyarrow", "tables")
        taken = self.found.column(name).take(of_numbers(rows))
        most = MOST_TOTAL - 1
        if pa.types.is_int64(taken.type):
            return np.clip(filled(taken, 0), -most, most)
        values = [0 if value is None else min(max(int(value), -most), most) for value in taken.to_pylist()]
        return np.array(values, dtype=np.int64)

    def _treated(self, total: int, whole: np.ndarray) -> dict[str, dict[str, int]]:
        """Return how many rows have no number in each column, and of how many it was rounded or cut."""
        found: dict[str, dict[str, int]] = {}
        for i, number in enumerate(self.numbers):
            present, rounded, cut = (int(self._column(f"{sign}{i}", whole).sum()) for sign in "nrk")
            missing = total - present if number.fill is None else int(self._column(f"f{i}", whole).sum())
            found[number.column] = {"missing": missing, "rounded": rounded, "cut": cut}
        return found

    def _places(self, one: tuple[Any, ...], rows: np.ndarray) -> list[np.ndarray]:
        """Return where the groups of a set are, one array a column; -1 for rows that are left out."""
        pa = require("pyarrow", "tables")
        out: list[np.ndarray] = []
        for part in one:
            if isinstance(part, int):
                numbers = self.found.column(f"v{part}").take(of_numbers(rows)).to_pylist()
                out.append(np.array([-1 if number is None else number for number in numbers], dtype=np.int64))
                continue
            taken = self.found.column(f"g{self.groups.index(part)}").take(of_numbers(rows)).combine_chunks()
            coded = taken if pa.types.is_dictionary(taken.type) else taken.dictionary_encode()
            cells = self.values[part]
            other, missing = (-1 if place is None else place for place in (cells.other, cells.missing))
            place = {label: i for i, label in enumerate(cells)}
            lookup = [missing if (text := text_of(v)) is None else place.get(text, other)
                      for v in values_of(coded.dictionary)]  # fmt: skip
            out.append(np.array([*lookup, missing], dtype=np.int64)[filled(coded.indices, len(lookup))])
        return out

    def _put(self, shape: tuple[int, ...], places: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
        out = np.zeros(shape, dtype=np.int64)
        if not places:
            return out + int(values.sum())
        kept = np.all([place >= 0 for place in places], axis=0)
        np.add.at(out, tuple(place[kept] for place in places), values[kept])
        return out

    def _answer(self, query: Query, rows: np.ndarray, places: Sequence[np.ndarray]) -> np.ndarray:
        if query.kind == "ranks":
            return self._put((*query.shape, query.candidates), places, self._column("rows", rows)).reshape(
                query.cells, query.candidates
            )
        shape = query.shape[: len(query.by)]
        counts = self._column("rows", rows)
        if query.kind == "people":
            return self._put(shape, places, self._column("people", rows))
        if query.kind == "rows" and query.column is None:
            return self._put(shape, places, counts)
        if query.kind == "rows":
            if query.only is None:
                i = next(i for i, number in enumerate(self.numbers) if number.column == query.column)
                return self._put(shape, places, self._column(f"n{i}", rows))
            i = self.shown.index((str(query.column), text_of(query.only)))
            with_value = self._put(shape, places, self._column(f"c{i}", rows))
            if len(query.shape) == len(query.by):
                return with_value
            return np.stack([with_value, self._put(shape, places, counts) - with_value], axis=-1)
        i = self.numbers.index(Number.of(query))
        if query.kind == "cut":
            return self._put(shape, places, self._column(f"k{i}", rows))
        return self._put(shape, places, self._column(f"{'q' if query.kind == 'squares' else 's'}{i}", rows))
