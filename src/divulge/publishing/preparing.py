"""A request for statistics made ready for a table: its categories, queries and noise, before anything is counted."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.files.tables.values import is_text
from divulge.model.labels import text_of
from divulge.publishing.accounts import require_room
from divulge.publishing.counting.bounds import Bounds, drawn_bounds, to_choose
from divulge.publishing.counting.categories import MOST_CELLS, require_listed
from divulge.publishing.counting.engines import values_in
from divulge.publishing.counting.groups import Categories, label_of_missing
from divulge.publishing.counting.naming import naming, rest_of
from divulge.publishing.counting.tables import Table, table_of
from divulge.publishing.counting.unknown import Threshold, named
from divulge.publishing.noising.aims import aimed
from divulge.publishing.noising.calibration import Calibration, Need, calibrated, require_range, weights_of
from divulge.publishing.noising.families import Laplace, Noise
from divulge.publishing.notes import Note
from divulge.publishing.published import promise
from divulge.publishing.queries import Plan, Query, plan_of
from divulge.publishing.remarks import notes_of
from divulge.publishing.statistics import AUTO, Count, Numeric, Reach, Statistic
from divulge.publishing.task import Task
from divulge.releasing.engine import Progress


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
    total = min(exact.double_above(spent + Fraction(rest["epsilon"])), float(whole["epsilon"]))
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
    if table.kind(one.column) == "text" and not is_text(table.source.schema.field(one.column).type):
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
