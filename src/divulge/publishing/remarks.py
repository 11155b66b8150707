"""What has to be said of a publication: to everybody, by what was asked; to the keeper, by what is there."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import number_of
from divulge.publishing.counting.engines import Counted
from divulge.publishing.counting.groups import OTHER, Categories, label_of_missing
from divulge.publishing.noising.calibration import Calibration
from divulge.publishing.noising.estimates import draws_of
from divulge.publishing.noising.noise import each, half_width, ranks_off
from divulge.publishing.notes import Note
from divulge.publishing.queries import Plan, Unit
from divulge.publishing.statistics import (
    Count,
    Cut,
    Mean,
    Numbers,
    Numeric,
    People,
    Proportion,
    Quantiles,
    Statistic,
    Sum,
)
from divulge.releasing.planning.listed import bought, taken

_SURPRISING = 0.05
"""Where more than this share of numbers was cut or rounded, the keeper is told before anything is drawn."""


def of_unit(unit: Unit) -> list[Note]:
    """Return who is protected, against which change."""
    person = {"columns": [unit.person], "rows": unit.at_most}
    whose = [Note("note_rows")] if unit.person is None else [Note("note_person", person), Note("note_left_out")]
    bounds = (("note_groups_per_person", unit.groups), ("note_rows_per_group", unit.per_group))
    whose += [Note(name, {"most": most}) for name, most in bounds if most is not None]
    return [*whose, Note("note_added" if unit.neighbors == "added" else "note_replaced")]


def of_bounds(column: str, bounds: Sequence[float], step: float, counted: bool = False) -> Note:
    """Return how the numbers of a column were cut and rounded; `counted` says that how many were is published.

    >>> of_bounds("salary", (15.0, 100.0), 1.0).text[:52]
    "Numbers of 'salary' were cut to 15 to 100 and rounde"
    """
    low, high, each_ = (int(value) if float(value).is_integer() else float(value) for value in (*bounds, step))
    return Note(
        "note_cut_told" if counted else "note_cut", {"columns": [column], "low": low, "high": high, "step": each_}
    )


def of_chosen(columns: Sequence[str]) -> Note:
    """Return how the bounds of columns were chosen.

    >>> of_chosen(["salary"]).text[:60]
    "The bounds of 'salary' were not known beforehand: they were "
    """
    return Note("note_chosen", {"columns": list(columns)})


def of_fill(column: str, value: float) -> Note:
    """Return what a missing number of a column counted as.

    >>> of_fill("hours", 0.0).text[:56]
    "A row without a number of 'hours' counts as if it had 0,"
    """
    return Note("note_fill", {"columns": [column], "value": int(value) if value.is_integer() else value})


def of_names(columns: Sequence[str], least: int) -> Note:
    """Return how the values of columns were named.

    >>> of_names(["town"], 40).text[:70]
    "Values of 'town' were not listed beforehand: those with a noisy count "
    """
    return Note("note_keys", {"columns": list(columns), "least": least})


def of_lists(values: Any, columns: Sequence[str]) -> list[Note]:
    """Return where the lists of columns are from, by the codebook that they were read from, if they were.

    >>> [note.name for note in of_lists({"sex": ["f", "m"]}, ["sex"])]
    ['note_listed']
    """
    out_of_tables = [name for name in columns if taken(values, [name])]
    paid = {name: price for name in columns if (price := bought(values, [name])) is not None}
    said = [Note("note_taken", {"columns": out_of_tables})] if out_of_tables else []
    said += [Note("note_bought", {"columns": [name], **price}) for name, price in paid.items()]
    return [*said, *([Note("note_listed")] if set(columns) - {*out_of_tables, *paid} else [])]


def notes_of(
    asked: Any, groups: dict[str, Categories], plan: Plan, least: int | None, names: dict[str, Any],
    bounds: Sequence[Any] = (),
) -> tuple[Note, ...]:  # fmt: skip
    """Return what a reader has to know; `least` is the count from which values show themselves, if they do.

    `names` has the columns whose values are named from a noisy count on, `bounds` those whose bounds are chosen.
    """
    said = of_unit(asked.unit)
    null = label_of_missing(asked.null_as)
    if asked.values_from_data and asked.by:
        single = [name for name, cells in groups.items() if len(cells) == 1]
        said += [Note("note_from_data"), *([Note("note_single", {"columns": single})] if single else [])]
    elif least is not None:
        said.append(Note("note_threshold", {"least": least}))
    elif asked.by:
        if names:
            said.append(of_names(list(names), next(iter(names.values())).least))
        said += of_lists(asked.values, [name for name in asked.by if name not in names])
        others = [name for name, cells in groups.items() if cells.other is not None]
        gaps = [name for name, cells in groups.items() if cells.missing is not None]
        said += [Note("note_other", {"columns": others, "label": [OTHER]})] if others else []
        said += [Note("note_no_answer", {"columns": gaps, "label": [null]})] if gaps else []
        said += [Note("note_no_other")] if asked.no_other else []
    said += [of_chosen([one.column for one in bounds])] if bounds else []
    hidden = {one.column for one in bounds if one.ends is None}
    cut = {note for note in _bounds(plan) if not hidden & set(note.values["columns"])}
    said += sorted(cut, key=lambda note: str(note.values))
    said += [of_fill(column, float(value)) for column, value in sorted(asked.fill.items())]
    told = "note_missing_told" if asked.tell_numbers else "note_missing"
    said += [Note(told)] if _missing(asked, plan) else []
    said += [Note("note_share")] if any(isinstance(one, Proportion) for one in plan.statistics) else []
    if any(_can_be_blank(one) for one in plan.statistics):
        said.append(Note("note_blank"))
    moved = {"non_negative": asked.non_negative, "consistent": asked.consistent and _can_disagree(asked, plan),
             "whole": asked.whole}  # fmt: skip
    said += [Note(f"note_{name}") for name, true in moved.items() if true]
    said += [Note("note_independent")] if asked.others == "independent" else []
    return tuple(said)


def _can_be_blank(one: Statistic) -> bool:
    """Say whether a statistic has ends that are known before, which an interval can be as wide as."""
    return not isinstance(one, (Count, Cut, Numbers, People, Sum)) and not (
        isinstance(one, Quantiles) and not one.intervals
    )


def _can_disagree(asked: Any, plan: Plan) -> bool:
    """Say whether there are two totals that noise can pull apart: those of two tables of counts, or a public one."""
    return sum(isinstance(one, Count) for one in plan.statistics) > (0 if asked.unit.rows_known else 1)


def _missing(asked: Any, plan: Plan) -> bool:
    numeric = any(isinstance(one, Numeric) and one.column not in asked.fill for one in plan.statistics)
    return numeric and not asked.no_other


def _bounds(plan: Plan) -> Iterator[Note]:
    counted = any(query.kind == "cut" for query in plan.queries)
    for query in plan.queries:
        if query.kind not in ("rows", "people"):
            ends = [float((query.bottom + more) * query.step) for more in (0, query.candidates - 1)]
            yield of_bounds(str(query.column), ends, float(query.step), counted)


def least_rows(plan: Plan, noise: Calibration, place: int, level: float) -> int:
    """Return how many rows a group needs, about, before a statistic of it says more than was known before.

    With w the half-widths of the noise: a mean needs more rows than the noise on their number, and so many that the
    noise on the sum is less than half of the span; a share more than its own noise; a quantile so many that the
    ranks around it do not reach both ends.

    >>> from divulge.publishing.noising.calibration import calibrated
    >>> from divulge.publishing.queries import plan_of
    >>> cells = {"sex": Categories.of(["f", "m"], others=False, gaps=False)}
    >>> plan = plan_of([Mean("age", (0, 90), by="sex")], cells, [], Unit())
    >>> noise = calibrated(plan.queries, Unit(), [dv.DP(1)], None, "laplace", "equal")
    >>> least_rows(plan, noise, 0, 0.95)  # half-widths 797 of the sum, 45 * 17.7, and 17 of the rows
    35
    """
    miss = each(level, draws_of(plan.queries, noise.noises))
    parts = [(plan.queries[i], noise.noises[i]) for i in plan.parts[place]]
    one, (query, law) = plan.statistics[place], parts[0]
    if isinstance(one, (Count, Cut, Numbers, People, Sum)) or not law.scale:
        return 0
    if query.kind == "ranks":
        den, num = query.only.denominator, query.only.numerator
        off = ranks_off(law, query.candidates + 1, miss) + 1
        return 0 if query.draws == 1 else math.ceil(2 * off / max(num, den - num))
    widths = [half_width(noise, miss) for _, noise in parts if noise.scale]
    if isinstance(one, Proportion):
        return widths[0] + 1
    rows = next((width for (q, _), width in zip(parts, widths, strict=False) if q.kind == "rows"), 0)
    half = Fraction(query.candidates - 1, 2)
    need = Fraction(widths[0]) / half if isinstance(one, Mean) else Fraction(widths[1]) / half**2
    return rows + math.ceil(need)


def surprises(asked: Any, plan: Plan, noise: Calibration, exact: Counted) -> list[str]:
    """Return what the keeper has to know before anything is drawn. It follows from the table: it is for no one else."""
    said: list[str] = []
    for column, rows in exact.treated.items():
        present = exact.rows - rows["missing"]
        if rows["missing"]:
            treated = f"counts as {float(asked.fill[column]):g}" if column in asked.fill else "left out"
            said.append(f"{number_of(rows['missing'], 'row')} without a number in column {column!r}: {treated}.")
        for what, done in (("cut", "cut to the bounds"), ("rounded", "rounded to whole steps")):
            if rows[what] > _SURPRISING * present:
                said.append(f"{rows[what]:,} of {present:,} numbers of column {column!r} are {done}.")
    for place, one in enumerate(plan.statistics):
        least = least_rows(plan, noise, place, asked.level)
        sizes = _sizes(one, plan, exact, place)
        small = int((sizes < least).sum())
        if small:
            groups = f"{small:,} of {sizes.size:,} groups have" if sizes.size > 1 else "the table has"
            what = {"quantile": "quantiles"}.get(one.kind, one.kind)
            said.append(f"{what} of {one.columns[-1]!r}: {groups} fewer than about {least:,} rows, and may be blank.")
    return [f"for the keeper alone: {sentence}" for sentence in said]


def _sizes(one: Statistic, plan: Plan, exact: Counted, place: int) -> np.ndarray:
    """Return how many rows each group of a statistic has."""
    rows = exact.groups.get(one.by)
    if rows is None:  # shares are counted with an axis more
        rows = exact.totals[plan.parts[place][0]].sum(axis=-1)
    return np.asarray(rows)
