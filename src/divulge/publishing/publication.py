"""From a table and what is asked of it to published statistics: count, draw, tell, and put everything in its place."""

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from divulge import __version__, stopping
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.labels import text_of
from divulge.model.shown import printable_json
from divulge.publishing.accounts import Account, account_of, of_those_with_room, require_room
from divulge.publishing.counting.bounds import Bounds, drawn_bounds, to_choose
from divulge.publishing.counting.categories import MOST_CELLS, record_prior, require_listed
from divulge.publishing.counting.engines import counted, values_in
from divulge.publishing.counting.groups import Categories, label_of_missing
from divulge.publishing.counting.naming import naming, rest_of
from divulge.publishing.counting.tables import Table, table_of
from divulge.publishing.counting.unknown import MOST_VALUES, Threshold, named, occurring, published
from divulge.publishing.noising.aims import aimed
from divulge.publishing.noising.calibration import Calibration, Need, calibrated, require_range, weights_of
from divulge.publishing.noising.estimates import Drawn, Estimates, drawn, draws_of, estimates
from divulge.publishing.noising.families import Laplace, Noise
from divulge.publishing.noising.leakage import RecordPrior, concentration, largest_loss, loss_of
from divulge.publishing.noising.noise import each, half_width
from divulge.publishing.notes import Note
from divulge.publishing.published import LEADING, NO_INFORMATION, NUMBERS, TRAILING, Published, promise
from divulge.publishing.queries import Neighbors, Plan, Query, Unit, plan_of
from divulge.publishing.remarks import notes_of, surprises
from divulge.publishing.request import Publish
from divulge.publishing.statistics import (
    AUTO,
    Count,
    Cut,
    Numbers,
    Numeric,
    People,
    Proportion,
    Quantiles,
    Reach,
    Statistic,
    as_fills,
    as_reaches,
)
from divulge.releasing.engine import Progress
from divulge.releasing.output import sinks
from divulge.releasing.output.places import Places, publish_together
from divulge.releasing.planning.listed import read_values
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.receipt import now

Warn = Callable[[str], object]
"""What tells the keeper something."""

Papers = Callable[[Published], Mapping[str, bytes]]
"""What turns a result into files beside the output: {end of the name: content}."""


@dataclass(frozen=True)
class Task:
    """What is to be done: the options of a request, checked and converted."""

    statistics: tuple[Statistic, ...]
    guarantees: tuple[Any, ...]
    unit: Unit
    prior: RecordPrior | None
    values: Mapping[str, Sequence[Hashable]]
    values_from_data: bool
    null_as: Hashable
    no_other: bool
    noise: str | None
    split: Any
    level: float
    others: str
    non_negative: bool
    whole: bool
    consistent: bool
    tell_cut: bool = False
    tell_numbers: bool = False
    interval: tuple[Reach, ...] = ()
    fill: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    account: Account | None = None

    @property
    def by(self) -> tuple[str, ...]:
        """Every column that groups, in order of appearance."""
        return tuple(dict.fromkeys(name for one in self.statistics for name in one.by))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that tells something."""
        return tuple(dict.fromkeys(name for one in self.statistics for name in one.columns))


def task(asked: Publish) -> Task:
    """Return what a request asks, or refuse what cannot be asked."""
    kept = tuple(one.read_in(asked.unit, to_keep=True) for one in asked.guarantee)
    person = None if asked.per_row else asked.person
    level: Any = asked.level
    reaches = () if asked.interval is None else as_reaches(asked.interval)
    if kept and reaches:
        raise DivulgeError("give guarantee or interval (--guarantee, --interval); there are both. A budget (--budget) "
                           "bounds what an interval may take.")  # fmt: skip
    if not kept and not reaches:
        raise DivulgeError.of("guarantee", 'be given, such as "dp=1"', "it", "absent",
                              "or an interval (--interval 500), from which the promise follows.")  # fmt: skip
    if len({one.kind for one in kept}) != len(kept):
        raise DivulgeError.of("guarantee", "name each kind once", "one of them", "there twice")
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise DivulgeError.of("level", "be a number between 0 and 1", "it", repr(level)[:60])
    if asked.others not in ("known", "independent"):
        raise DivulgeError.of("others", 'be "known" or "independent"', "it", repr(asked.others)[:60])
    for name in ("publisher", "source_text"):
        given: Any = getattr(asked, name)
        if given is not None and (not isinstance(given, str) or not given.strip()):
            raise DivulgeError.of(name, "be text", "it", repr(given)[:60])
    if reaches and (asked.non_negative or asked.whole or asked.consistent or asked.split != "need"):
        raise DivulgeError.of(
            "interval", "go without non_negative, whole, consistent and split", "one of them", "there",
            "they move numbers away from the middle of their intervals, or say themselves who gets how much.",
        )  # fmt: skip
    if asked.values is not None and asked.values_from_data:
        raise DivulgeError("give values or values_from_data (--values, --values-from-data); there are both.")
    groups = list(dict.fromkeys(name for one in asked.statistics for name in one.by))
    listed = {} if asked.values is None else read_values(asked.values, groups[0] if len(groups) == 1 else None)
    unit = _unit(asked, person)
    more = _cuts(asked.statistics) if asked.tell_cut else ()
    more += _numbers_of(asked.statistics, as_fills(asked.fill)) if asked.tell_numbers else ()
    made = Task(
        (*asked.statistics, *more), kept, unit, None, listed,
        asked.values_from_data, asked.null_as, asked.no_other, asked.noise, asked.split, float(level), asked.others,
        asked.non_negative, asked.whole, asked.consistent, asked.tell_cut, asked.tell_numbers, reaches,
        as_fills(asked.fill),
        account_of(asked.accounts, unit, asked.ledger, asked.unit),
    )  # fmt: skip
    _require_fills(made)
    if reaches and any(isinstance(one, Numeric) and one.bounds == AUTO for one in made.statistics):
        raise DivulgeError.of("bounds", "be given with an interval", "they", repr(AUTO),
                              "how far off a sum is depends on its bounds.")  # fmt: skip
    if person is None and any(isinstance(one, People) for one in asked.statistics):
        raise DivulgeError.of(
            "person", "name the column that says whose row it is where people are counted", "it", "absent",
            "where each row is another person, Count (--count) counts people.",
        )  # fmt: skip
    if person is not None and person in made.columns:
        raise DivulgeError.of("person", "be a column that no statistic reads", "it", repr(person))
    prior = asked.record_prior
    return made if prior is None else replace(made, prior=record_prior(prior, made.by))


def _require_fills(asked: Task) -> None:
    """Refuse what missing numbers count as where no statistic of the column is asked for, or it is no whole step."""
    steps = {one.column: one.step or Fraction(1) for one in asked.statistics if isinstance(one, Numeric)}
    for column, value in asked.fill.items():
        if column not in steps:
            raise DivulgeError.of("fill", "name columns of numbers that are asked for", "one", repr(column)[:60])
        if (value / steps[column]).denominator != 1:
            raise DivulgeError.of("fill", "be a whole multiple of the step", "the step", f"{float(steps[column]):g}")


def _cuts(statistics: Sequence[Statistic]) -> tuple[Statistic, ...]:
    """Return, for each column and its bounds, the count of numbers beyond them."""
    found = tuple(
        dict.fromkeys(Cut(one.column, one.bounds, (), one.step) for one in statistics if isinstance(one, Numeric))
    )
    if not found:
        raise DivulgeError.of("tell_cut", "come with a statistic that has bounds", "it", "without one")
    return found


def _numbers_of(statistics: Sequence[Statistic], fill: Mapping[str, Any]) -> tuple[Statistic, ...]:
    """Return, for each column of numbers and its groups, the count of rows that have one; where gaps are not filled."""
    found = tuple(dict.fromkeys(Numbers(one.column, one.by) for one in statistics
                                if isinstance(one, Numeric) and one.column not in fill))  # fmt: skip
    if not found:
        raise DivulgeError.of("tell_numbers", "come with a statistic of numbers, of which missing ones are left out",
                              "it", "without one")  # fmt: skip
    return found


def _unit(asked: Publish, person: str | None) -> Unit:
    """Return whose privacy is meant; the rows that count are those that groups and rows in each allow, unless said."""
    groups, each = asked.groups_per_person, asked.rows_per_group
    most = asked.rows_per_person or (groups or 1) * (each or 1)
    by = tuple(sorted({name for one in asked.statistics for name in one.by}))
    bounded = groups is not None or each is not None
    if bounded and not by:
        raise DivulgeError.of("groups_per_person", "come with columns that group", "they", "absent")
    return Unit(person, most, cast(Neighbors, asked.neighbors), groups, each, by if bounded else ())


@dataclass(frozen=True)
class Ready:
    """A request for a table, with its noise; nothing has been counted or drawn, but listing what occurs when asked
    to."""

    task: Task
    table: Table
    values: Mapping[str, Categories]
    plan: Plan
    noise: Calibration
    threshold: Threshold | None = None
    """Where no values were listed: counts show themselves from so many on."""
    names: tuple[tuple[str, Threshold], ...] = ()
    """Columns that group without a list, each with the count from which its values are named."""
    bounds: tuple[Bounds, ...] = ()
    """Columns of numbers whose bounds are chosen with noise."""

    @property
    def unnamed(self) -> bool:
        """Whether values are still to be named, with noise: there are no queries before."""
        return bool(self.names) and not self.plan.queries

    @property
    def pending(self) -> bool:
        """Whether something is still to be drawn on which the queries depend."""
        return self.unnamed or any(one.ends is None for one in self.bounds)

    @property
    def drawn_before(self) -> tuple[tuple[Query, Noise], ...]:
        """The histograms from which bounds are chosen, with their noise."""
        return tuple((one.query, one.noise) for one in self.bounds)

    @property
    def shares(self) -> list[float]:
        """The share of each query in the total; what no record changes has any."""
        family = type(self.noise.noises[0])
        split = Need(self.plan.parts) if self.task.split == "need" else self.task.split
        return [share or 1.0 for share in weights_of(self.plan.queries, self.task.unit, family, split)]

    @property
    def served(self) -> list[tuple[Statistic, tuple[int, ...]]]:
        """Each statistic with the places of its queries."""
        return list(zip(self.plan.statistics, self.plan.parts, strict=True))

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader has to know."""
        least = None if self.threshold is None else self.threshold.least
        said = notes_of(self.task, dict(self.values), self.plan, least, dict(self.names), self.bounds)
        account = self.task.account
        booked = () if account is None else (
            Note("note_accounts", {"columns": [account.person], "goal": promise(account.goal.kind, account.room)}),
        )  # fmt: skip
        return (*said, *_of_interval(self.task.interval, self.noise.guarantees), *booked)


def _of_interval(reaches: Sequence[Reach], guarantees: Mapping[str, Any]) -> list[Note]:
    """Return what the intervals that were asked for take, if they were."""
    total = ", ".join(promise(kind, value) for kind, value in guarantees.items())
    reach = ", ".join(f"{float(one.width):,.15g}" for one in reaches if not one.ranks)
    rows = ", ".join(f"{one.rows:,}" for one in reaches if one.rows)
    ranks = ", ".join(f"{float(one.width):,.15g}" for one in reaches if one.ranks)
    told = [Note("note_interval", {"reach": reach, "total": total})] if reach else []
    told += [Note("note_interval_rows", {"rows": rows})] if rows else []
    return told + ([Note("note_interval_ranks", {"ranks": ranks, "total": total})] if ranks else [])


def ready(asked: Task, source: Any, engine: Any, progress: Progress | None = None) -> Ready:
    """Return the request with its categories, queries and noise for a table, of which each pass tells its progress."""
    table = table_of(source, engine, progress)
    person = [] if asked.unit.person is None else [asked.unit.person]
    table.source.require_values([*asked.columns, *person])
    if asked.account is not None:
        return _on_accounts(asked, table)
    bounds = to_choose(asked.statistics, asked.guarantees, asked.unit, asked.prior, asked.noise, asked.fill)
    unlisted = [name for name in asked.by if name not in asked.values]
    if unlisted and not asked.values_from_data and _can_show_themselves(asked):
        return _unlisted(asked, table)
    if unlisted and not asked.values_from_data and _can_be_named(asked):
        return _unnamed(asked, table, unlisted, bounds)
    return listed(asked, table, _known(asked, table), bounds=bounds)


def _on_accounts(asked: Task, table: Table) -> Ready:
    """Return a request of which all is known beforehand but who takes part; refuse what looks into the table."""
    assert asked.account is not None
    looks = {"values_from_data": asked.values_from_data, "engine": table.text != "varchar",
             "bounds": any(isinstance(one, Numeric) and one.bounds == AUTO for one in asked.statistics)}  # fmt: skip
    for argument in (name for name, there in looks.items() if there):
        raise DivulgeError.of(argument, "not ask the table where people have accounts", "it", "one that does",
                              "give values and bounds, and count on this machine.")  # fmt: skip
    made = listed(asked, table, _known(asked, table))
    require_room(asked.account, made.plan.queries, made.noise.noises, asked.unit)
    return made


def _known(asked: Task, table: Table) -> dict[str, list[Hashable]]:
    """Return the values of each column that groups; refuse one without a list."""
    known = {name: list(values) for name, values in asked.values.items()}
    if asked.values_from_data:
        known = values_in(table, asked.by, asked.null_as)
    require_listed(asked.by, known)
    return known


def listed(
    asked: Task, table: Table, known: Mapping[str, Sequence[Hashable]], names: tuple[tuple[str, Threshold], ...] = (),
    bounds: tuple[Bounds, ...] = (),
) -> Ready:  # fmt: skip
    """Return the request over listed values; of columns in `names` they were listed by noise, which was paid for.

    Before bounds are drawn others stand for them: how much is promised depends on none.
    """
    whole = asked
    asked = _between(asked, bounds)
    groups = {name: _cells(asked, table, name, known[name]) for name in asked.by}
    sizes = {name: len(cells) for name, cells in groups.items()}
    cells = sum(math.prod(sizes[name] for name in one.by) for one in asked.statistics)
    if not cells <= MOST_CELLS:
        raise DivulgeError.of("statistics", f"have at most {MOST_CELLS:,} cells", "their number", f"{cells:,}",
                              "group by fewer columns, or by coarser ones.")  # fmt: skip
    if asked.consistent and (asked.non_negative or asked.whole):
        from divulge.publishing.noising.margins import require_few_combinations

        require_few_combinations([one.by for one in asked.statistics if isinstance(one, Count)], sizes)
    numeric = [one for one in asked.statistics if isinstance(one, Numeric)]
    for one in numeric:
        _require_numbers(table, one)
    full = {one.column for one in numeric if asked.no_other or table.filled(one.column)}
    plan = plan_of(asked.statistics, groups, full, asked.unit, asked.fill)
    split = Need(plan.parts) if asked.split == "need" else asked.split
    if asked.interval:
        aim = aimed(plan, asked.unit, asked.noise, asked.level, asked.interval)
        asked, split = replace(asked, guarantees=(aim.guarantee,)), list(aim.shares)
    slack = asked.guarantees[0].kind == "adp"
    spent: list[Any] = [*(one for _, one in names), *(bounds if slack else ())]
    guarantees = (rest_of(asked.guarantees[0], spent),) if spent else asked.guarantees
    before = () if slack else [(one.query, one.noise) for one in bounds]
    noise = calibrated(plan.queries, asked.unit, guarantees, asked.prior, asked.noise, split, before)
    if spent:
        noise = replace(noise, guarantees=_with(noise.guarantees["adp"], asked.guarantees[0], spent), loss=math.inf)
    return Ready(whole, table, groups, plan, noise, names=names, bounds=bounds)


def _between(asked: Task, bounds: Sequence[Bounds]) -> Task:
    """Return the request with bounds in the place of those that are chosen."""
    found = {one.column: one.bounds for one in bounds}
    statistics = tuple(
        replace(one, bounds=found[one.column]) if isinstance(one, Numeric) and one.bounds == AUTO else one
        for one in asked.statistics
    )
    return replace(asked, statistics=statistics)


def _with(rest: Mapping[str, float], asked: Any, before: Sequence[Any]) -> dict[str, Any]:
    """Return what naming values or choosing bounds, and all statistics after it, promise together: both add up."""
    whole, spent = asked.values(), sum(Fraction(one.epsilon) for one in before)
    total = min(_up(spent + Fraction(rest["epsilon"])), float(whole["epsilon"]))
    return {"adp": {"epsilon": total, "delta": float(whole["delta"])}}


def _cells(asked: Task, table: Table, name: str, values: Sequence[Hashable]) -> Categories:
    """Return the cells of a column that groups; which ones there are follows from lists, options and the schema."""
    if asked.values_from_data:
        return Categories.of(values, asked.null_as, others=False, gaps=label_of_missing(asked.null_as) in values)
    both = table.declared and table.boolean(name) and {"true", "false"} <= {text_of(value) for value in values}
    gaps = not asked.no_other and not table.filled(name)
    return Categories.of(
        values, asked.null_as, others=not asked.no_other and not both, gaps=gaps or asked.null_as is not None,
        complete=not asked.no_other or (both and table.filled(name)),
    )  # fmt: skip


def _require_numbers(table: Table, one: Numeric) -> None:
    """Refuse, by its type alone, a column that cannot be summed up, or whose step has to be given."""
    if table.kind(one.column) == "text" and not _is_text(table, one.column):
        raise DivulgeError.of("column", "hold numbers to be summed up", f"{one.column!r}", "of another type")
    if one.step is None and table.declared and table.kind(one.column) == "real":
        raise DivulgeError.of(
            "step", f"be given for a column that does not hold whole numbers, {one.column!r}", "it", "absent",
            "sums are added up in whole numbers: step=0.01 counts in hundredths.",
        )  # fmt: skip


def _can_show_themselves(asked: Task) -> bool:
    """Say whether values can be left to show themselves: one count, under (epsilon, delta) with delta above 0."""
    if asked.interval:
        return False
    (first, *rest), (asked_for, *more) = asked.statistics, asked.guarantees
    treated = asked.non_negative or asked.consistent or asked.whole or asked.noise not in (None, Laplace.name)
    treated = treated or asked.unit.groups is not None or asked.unit.per_group is not None
    plain = isinstance(first, Count) and not rest and not more and not treated
    return plain and asked_for.kind == "adp" and asked_for.values()["delta"] > 0


def _can_be_named(asked: Task) -> bool:
    """Say whether values can be named by noise: under (epsilon, delta) alone, where others have a cell."""
    asked_for, *more = asked.guarantees or (None,)
    if asked_for is None or more or asked.no_other:
        return False
    return asked_for.kind == "adp" and asked_for.values()["delta"] > 0


def _unnamed(asked: Task, table: Table, columns: Sequence[str], bounds: tuple[Bounds, ...]) -> Ready:
    """Return the request before its values are named: what will be spent is known, and not on how many cells."""
    require_range(asked.guarantees[0])
    for one in asked.statistics:
        if isinstance(one, Numeric):
            _require_numbers(table, one)
    threshold = naming(asked.guarantees[0], len(columns), asked.unit)
    told = {"adp": {name: float(value) for name, value in asked.guarantees[0].values().items()}}
    plan = Plan(asked.statistics, (), ((),) * len(asked.statistics))
    return Ready(asked, table, {}, plan, Calibration((), told, math.inf, ()),
                 names=tuple((name, threshold) for name in columns), bounds=bounds)  # fmt: skip


def resolved(made: Ready) -> Ready:
    """Return the request over the values that show themselves now, between bounds that are drawn now."""
    return between_bounds(made, tuple(drawn_bounds(made.table, one, made.task.unit) for one in made.bounds))


def between_bounds(made: Ready, bounds: tuple[Bounds, ...]) -> Ready:
    """Return the request between bounds, over the values that show themselves now."""
    asked = made.task
    if not made.names:
        # what is on record was computed for noise of this family, divided like this
        same = replace(asked, noise=type(made.noise.noises[0]).name, split=made.shares)
        return replace(listed(same, made.table, _known(asked, made.table), bounds=bounds), task=asked)
    values = {name: list(asked.values.get(name, ())) for name in asked.by}
    values |= {name: list(named(made.table, name, asked.unit, asked.null_as, one)) for name, one in made.names}
    return listed(asked, made.table, values, made.names, bounds)


def _unlisted(asked: Task, table: Table) -> Ready:
    """Return the request for a count whose values show themselves."""
    require_range(asked.guarantees[0])
    values = asked.guarantees[0].values()
    threshold = Threshold.keeping(values["epsilon"], values["delta"], asked.unit)
    query = Query("rows", asked.by, (2,) * len(asked.by))
    told = {"adp": {"epsilon": threshold.epsilon, "delta": threshold.delta}}
    noise = Calibration((Laplace(threshold.scale),), told, math.inf, ())
    return Ready(asked, table, {}, Plan(asked.statistics, (query,), ((0,),)), noise, threshold)


def _is_text(table: Table, column: str) -> bool:
    types = require("pyarrow.types", "tables")
    found = table.source.schema.field(column).type
    found = found.value_type if types.is_dictionary(found) else found
    return types.is_string(found) or types.is_large_string(found) or types.is_string_view(found)


def described(made: Ready, output: str | None) -> Published:
    """Return what will be published, without its numbers: what it promises can be recorded before anything is drawn."""
    asked, noise = made.task, made.noise
    prior = None if asked.prior is None else {
        "least": float(asked.prior.least), "secret": asked.prior.secret, "columns": list(asked.prior.about),
    }  # fmt: skip
    draws = MOST_VALUES if made.threshold else draws_of(made.plan.queries, noise.noises)
    miss = each(asked.level, draws)
    named_ = tuple(
        {"kind": "keys", "column": name, "by": [], "cells": None, "family": Laplace.name, "scale": one.scale,
         "loss": "inf", "threshold": one.least, "serves": []}
        for name, one in made.names
    )  # fmt: skip
    chosen = tuple(
        {"kind": "bins", "column": one.column, "by": [], "cells": one.query.cells, "family": one.noise.name,
         "scale": one.noise.scale, "loss": one.epsilon if one.epsilon < math.inf else "inf", "serves": [],
         "step": float(one.step)}
        for one in made.bounds
    )  # fmt: skip
    queries = named_ + chosen + tuple(
        {
            "kind": query.kind, "column": query.column, "by": list(query.by),
            "serves": sorted({one.kind for one, parts in made.served if place in parts}),
            "cells": None if made.threshold else query.cells, "family": one.name, "scale": one.scale,
            "loss": "inf" if made.threshold else _share(query, one, asked.unit),
            **({"threshold": made.threshold.least} if made.threshold else {}),
            **_bounds(query),
            **({"at": str(query.only)} if query.only is not None else {}),
            **({"draws": query.draws} if query.kind == "ranks" else {}),
            **({"half_width": half_width(one, miss)} if query.kind != "ranks" and one.scale else {}),
        }
        for place, (query, one) in enumerate(zip(made.plan.queries, noise.noises, strict=True))
    )  # fmt: skip
    loss, rho = _recorded(made)
    account = asked.account
    if account is not None:
        loss, rho = account.replaced
    kept = Aggregate(
        asked.columns, {"ldp": loss},
        math.inf if made.threshold or made.names else rho,
        None if asked.prior is None else asked.prior.least,
        None if account else _approximate(noise, asked.unit), asked.unit.person, account=account and account.text,
    )  # fmt: skip
    unit: dict[str, Any] = {"noun": asked.unit.noun, "person": asked.unit.person, "at_most": asked.unit.at_most,
                            "neighbors": asked.unit.neighbors}  # fmt: skip
    bounds = {"groups": asked.unit.groups, "per_group": asked.unit.per_group}
    unit |= {name: bound for name, bound in bounds.items() if bound is not None}
    return Published(
        table=None, guarantees=noise.guarantees, queries=queries, level=asked.level, protected=unit, prior=prior,
        others=asked.others, loss=_up(noise.loss), source=made.table.source.name, output=output, rows=None,
        columns=asked.columns, notes=made.notes, created=now(), version=__version__, aggregate=kept,
    )  # fmt: skip


def _recorded(made: Ready) -> tuple[float, float]:
    """Return what the ledger is told: the loss, and rho of zCDP; before bounds are drawn, no less than after that."""
    unit, asked = made.task.unit, {one.kind: one for one in made.task.guarantees}
    before = made.drawn_before
    queries = [*(query for query, _ in before), *made.plan.queries]
    noises = [*(noise for _, noise in before), *made.noise.noises]
    loss, rho = made.noise.loss, concentration(queries, noises, unit, unit.secrets)
    if not made.pending or made.unnamed:
        return _up(loss), _up(rho)
    if unit.secrets != unit.neighbors:  # how much more a replaced unit tells than one that comes depends on the bounds
        loss = 2 * largest_loss(queries, noises, unit)
        rho = loss**2 / 2 if isinstance(loss, Fraction) else 4 * concentration(queries, noises, unit)
        return _up(loss) * _ROUNDED, _up(rho) * _ROUNDED
    known = {kind: next(iter(one.values().values())) for kind, one in asked.items()}
    return (min(_up(loss) * _ROUNDED, float(known.get("dp", math.inf))),
            min(_up(rho) * _ROUNDED, float(known.get("zcdp", math.inf))))  # fmt: skip


_ROUNDED = 1 + 2.0**-48
"""Scales are rounded up to doubles, so that the same shares of a total take the same but for a few roundings."""


def _approximate(noise: Calibration, unit: Unit) -> tuple[float, float] | None:
    """Return (epsilon, delta) of a replaced record, where there is no bound at every outcome and it was asked for."""
    asked = noise.guarantees.get("adp")
    if asked is None or noise.loss < math.inf or unit.secrets != "replaced":
        return None
    return float(asked["epsilon"]), float(asked["delta"])


def _up(value: Fraction | float) -> float:
    """Return a double that is at least a number."""
    found = float(value)
    return found if math.isinf(found) or Fraction(found) >= value else math.nextafter(found, math.inf)


def _bounds(query: Query) -> dict[str, Any]:
    """Return what one row adds at least and at most, where that is no count of all rows, and how numbers were cut."""
    if query.kind in ("rows", "people"):
        return {} if query.low or query.cells > 1 else {"low": query.low}  # among several cells nothing depends on it
    ends = [float((query.bottom + more) * query.step) for more in (0, query.candidates - 1)]
    added = {} if query.kind == "ranks" else {"low": query.low, "high": query.high}
    filled = {} if query.fill is None else {"fill": float(query.fill * query.step)}
    return {"step": float(query.step), **added, "bounds": ends, **filled}


def _share(query: Any, noise: Any, unit: Unit) -> Any:
    """Return the most that the query's outcome changes its log-likelihood with one unit, or "inf"."""
    found = float(loss_of(query, noise, unit))
    return "inf" if math.isinf(found) else found


def without_noise(made: Ready) -> Published:
    """Return the statistics as they are, for eyes that may see the table; nothing is recorded.

    What is chosen by rank is chosen by the noise of the request.
    """
    if made.unnamed:
        require_listed([name for name, _ in made.names], {})
    made = resolved(made) if made.pending else made
    noises = tuple(
        one if query.kind == "ranks" else replace(one, scale=0.0)
        for query, one in zip(made.plan.queries, made.noise.noises, strict=True)
    )
    table, rows, keeper = _numbers(replace(made, noise=replace(made.noise, noises=noises)))
    return replace(described(made, None), table=table, rows=rows, keeper=keeper)


def carried_out(
    made: Ready, described_: Published, outputs: Places, request: Publish, entry: Any, papers: Papers, warn: Warn
) -> Published:
    """Count, draw, and publish: the papers first and the table last, so that no table is ever without them."""
    if (account := made.task.account) is not None:
        unit, noises = made.task.unit, made.noise.noises
        table, there, people = of_those_with_room(account, made.table, entry.charge, made.plan.queries, noises, unit)
        made = replace(made, table=table)
        warn(f"{people - there:,} of {people:,} people have spent what their accounts hold, or are written in two "
             "ways, and are left out: that is for you alone.")  # fmt: skip
    if made.pending:
        more, made = described_.notes[len(made.notes) :], resolved(made)
        described_ = replace(described(made, described_.output), notes=(*made.notes, *more))
    table, rows, keeper = _shown(made) if made.threshold is not None else _numbers(made, warn)
    done = replace(described_, table=table, rows=rows, keeper=keeper)
    if outputs.table is None:
        entry.publishing()
        entry.published(done)
        return done
    with ExitStack() as stack:
        temporary = stack.enter_context(sinks.staged(outputs.table))
        writer = sinks.writer_for(outputs.table)(temporary, done.table.schema)
        try:
            for batch in done.table.to_batches():
                writer.write(batch)
        finally:
            writer.close()
        done = replace(done, digest=sinks.digest(temporary))
        contents = {"receipt.json": done.to_json(), "keeper.json": _kept(done, request), **papers(done)}
        staged = {
            outputs.paper(name): stack.enter_context(outputs.written(name, content))
            for name, content in contents.items()
        }
        with stopping.held():
            entry.publishing()
            publish_together({**staged, outputs.table: temporary}, request.force)
            entry.published(done)
    return done


def _numbers(made: Ready, warn: Warn = lambda sentence: None) -> tuple[Any, int | None, dict[str, Any]]:
    """Return the noisy table, the number of rows where it is public, and what the keeper alone may know."""
    asked, plan = made.task, made.plan
    exact = counted(made.table, plan.queries, made.values, asked.unit, asked.null_as)
    for sentence in surprises(made.task, plan, made.noise, exact):
        warn(sentence)
    rows = exact.rows if asked.unit.rows_known else None
    if rows is not None and not rows:
        raise DivulgeError.of("table", "have at least one row", "it", "empty")
    values = {name: list(values) for name, values in made.values.items() if name in asked.by}
    keeper = {**_keeper(made, exact.rows), "values": values, "treated": exact.treated, "exact": _exact(plan, exact)}
    return blurred(made, exact.totals, rows), rows, keeper


def blurred(made: Ready, totals: Sequence[np.ndarray], rows: int | None) -> Any:
    """Return the table that is published of exact numbers. `rows` is the number of rows where it is public, else None.

    All that a reader sees of the source comes from here: fresh noise, and what `finished` makes of noisy numbers alone.
    """
    numbers = drawn(made.plan.queries, made.noise.noises, totals, made.task.level)
    whole = made.task.whole or not made.task.consistent
    return tidy(finished(made, numbers, rows), made.values, made.task.by, whole)


def finished(made: Ready, numbers: Sequence[Drawn], rows: int | None) -> list[Estimates]:
    """Return the statistics of noisy numbers, treated as asked."""
    asked, sizes = made.task, {name: len(made.values[name]) for name in made.task.by}
    found = estimates(made.plan, numbers, rows, sizes)
    if asked.non_negative or asked.consistent or asked.whole:
        from divulge.publishing.noising.margins import adjusted

        treated = {"non_negative": asked.non_negative, "whole": asked.whole, "consistent": asked.consistent}
        return adjusted(found, sizes, rows, **treated)
    return found


def _shown(made: Ready) -> tuple[Any, int | None, dict[str, Any]]:
    """Return the same of counts whose values show themselves."""
    asked, threshold = made.task, made.threshold
    assert threshold is not None
    counts, total = occurring(made.table, asked.by, asked.unit, asked.null_as)
    rows = total if asked.unit.rows_known else None
    table = published(counts, asked.by, threshold, asked.level, rows)
    return table, rows, {**_keeper(made, total), "exact": [{"kind": "rows", "by": list(asked.by), "numbers": counts}]}


def _keeper(made: Ready, rows: int) -> dict[str, Any]:
    return {"source": str(made.table.source.path or made.table.source.name), "rows_counted": rows}


def _exact(plan: Plan, exact: Any) -> list[dict[str, Any]]:
    """Return the exact numbers, for the keeper; of quantiles only how many rows have each value is too much to keep."""
    return [
        {"kind": q.kind, "column": q.column, "by": list(q.by), "numbers": total.tolist()}
        for q, total in zip(plan.queries, exact.totals, strict=True)
        if q.kind != "ranks" and total.size <= 100_000
    ]


def _kept(done: Published, request: Publish) -> bytes:
    body = {"format": "divulge keeper record 1", "created": done.created, "output": done.output,
            "guarantees": dict(done.guarantees), "loss": done.loss if math.isfinite(done.loss) else "inf",
            "request": request.to_dict(strict=False), **done.keeper}  # fmt: skip
    return (printable_json(json.dumps(body, ensure_ascii=False)) + "\n").encode()


def tidy(found: Sequence[Estimates], values: Mapping[str, Categories], by: Sequence[str], whole: bool) -> Any:
    """Return one row a number: statistic, column, at, the columns that group, value, low, high, standard_error, note.

    Which columns and types there are follows from what was asked, and not from the numbers.
    """
    pa = require("pyarrow", "tables")
    columns = list(by)
    taken = [name for name in columns if name in (*LEADING, *TRAILING)]
    if taken:
        names = ", ".join(LEADING + TRAILING)
        raise DivulgeError.of("by", f"group by columns with other names than {names}", "one of them",
                              repr(taken[0]), "rename it in the table.")  # fmt: skip
    data: dict[str, list[Any]] = {name: [] for name in (*LEADING, *columns, *TRAILING)}
    for one in found:
        statistic, size = one.statistic, one.values.size

        def repeated(text: str | None, size: int = size) -> Any:
            return pa.repeat(pa.scalar(text, pa.string()), size)

        data["statistic"].append(repeated(statistic.kind))
        data["column"].append(repeated(getattr(statistic, "column", None)))
        at = f"{float(one.at):g}" if one.at is not None else None
        data["at"].append(repeated(str(statistic.value) if isinstance(statistic, Proportion) else at))
        grid = np.indices([len(values[name]) for name in statistic.by]).reshape(len(statistic.by), size)
        for name in columns:
            labels = pa.array([str(v) for v in values[name]], pa.string())
            there = name in statistic.by
            data[name].append(labels.take(pa.array(grid[statistic.by.index(name)])) if there else repeated(None))
        blank = np.asarray(one.blank).ravel()
        for name, part in zip(NUMBERS, (one.values, one.low, one.high, one.error), strict=True):
            flat = np.asarray(part, dtype=float).ravel()
            data[name].append(pa.array(flat, pa.float64(), mask=blank | np.isnan(flat)))
        data["note"].append(pa.array(np.full(blank.shape, NO_INFORMATION), pa.string(), mask=~blank))
    types = dict.fromkeys(data, pa.string()) | dict.fromkeys(NUMBERS, pa.float64())
    if all(isinstance(one.statistic, (Count, People)) for one in found) and whole:
        types |= dict.fromkeys(("value", "low", "high"), pa.int64())
    table = pa.table({name: pa.chunked_array(part).combine_chunks().cast(types[name]) for name, part in data.items()})
    asked = {"column": any(hasattr(one.statistic, "column") for one in found),
             "at": any(isinstance(one.statistic, (Quantiles, Proportion)) for one in found)}  # fmt: skip
    return table.drop_columns([name for name, there in asked.items() if not there])
