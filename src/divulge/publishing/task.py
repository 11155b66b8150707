"""What is to be done: the options of a request for statistics, checked and converted."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

from divulge.errors import DivulgeError
from divulge.publishing.accounts import Account, account_of
from divulge.publishing.counting.categories import record_prior
from divulge.publishing.noising.leakage import RecordPrior
from divulge.publishing.queries import Neighbors, Unit
from divulge.publishing.request import Publish
from divulge.publishing.statistics import AUTO, Cut, Numbers, Numeric, People, Reach, Statistic, as_fills, as_reaches
from divulge.releasing.planning.listed import read_values


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
