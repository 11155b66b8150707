"""What columns that go out unaltered add to a release: how frequent answers are among people alike in them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from divulge.guarantees.kinds import LDP
from divulge.guarantees.posterior import posterior_bounds
from divulge.model.shown import at_most
from divulge.releasing.estimating.contingency import Contingency, marginal
from divulge.releasing.estimating.counting import contingency
from divulge.releasing.planning.naming import str_of

MOST_ALIKE = 30
"""Rows that are alike in more columns than this are one."""

FEW = 10
"""A group of fewer people, or rows where each is another person, points at them, and its shares are not a group's."""

MOST_ROWS = 1 << 16
"""Tables of more rows are not looked at before a release: the groups of all columns would fill the memory."""

MOST_NAMED = 3
"""So many columns that raise belief most are named."""


@dataclass(frozen=True)
class Beside:
    """What somebody holds who knows how frequent answers are among people alike in the columns that go out.

    It is read off the table, for the keeper's eyes only, and promised to nobody.

    columns : those that go out as they are
    value : the answer whose share is raised most, against that in the whole table
    before, after : with how much, by these columns alone, and at most with the release beside them
    raising : (column, share before by it alone), those that raise it most first
    alone : rows in groups of fewer than `FEW`: whoever recognizes such a row knows whose it is
    """

    columns: tuple[str, ...]
    value: Hashable
    before: float
    after: float
    raising: tuple[tuple[str, float], ...]
    alone: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        raising = [{"column": name, "before": share} for name, share in self.raising]
        return {"columns": list(self.columns), "value": str_of(self.value), "before": self.before, "after": self.after,
                "raising": raising, "alone": self.alone}  # fmt: skip

    def words(self) -> list[str]:
        """Return it in sentences."""
        names = ", ".join(map(repr, self.columns))
        said = [
            f"Beside it go out {names}. For you alone: {str_of(self.value)!r} is most above its usual share among "
            f"people alike in them. Somebody who knows how frequent it is there holds it with up to "
            f"{at_most(100 * self.before)} in 100 before, and with at most {at_most(100 * self.after)} afterwards."
        ]  # fmt: skip
        if len(self.columns) > 1:
            most = ", ".join(f"{name!r} ({at_most(100 * share)} in 100 alone)" for name, share in self.raising)
            said.append(f"What raises it most: {most}.")
        said.append(
            "Hint: leave a column out (keep=, --keep names those that go out), or group its values "
            "(group=, --group C=RULE)."
        )
        if self.alone:
            said.append(
                f"{self.alone:,} rows have values there that few others have, fewer than {FEW}: whoever recognizes "
                "such a row knows whose it is."
            )
        return said


@dataclass(frozen=True)
class Counted:
    """Who is counted in a group: rows, or people where a column says who.

    person : the column that says who; None where each row is another person
    one_answer : whether a person has one answer in all rows, and counts once for it
    """

    person: str | None = None
    one_answer: bool = False

    @classmethod
    def of(cls, request: Any) -> "Counted":
        """Return who is counted where a request says whom it protects."""
        return cls(None if request.per_row else request.person, request.one_answer)

    def names(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns by which rows of one person are told from those of others as well."""
        return columns if self.person is None else (*columns, self.person)

    def alike(self, counts: Contingency, columns: Sequence[str]) -> Iterator[tuple[Any, int, int, Hashable]]:
        """Yield (values of the columns, what they count for, rows, who) of all rows that are alike, by person."""
        several = marginal(counts, self.names(columns)).to_dict()
        for key, rows in several.items():
            parts = key if isinstance(key, tuple) else (key,)
            if self.person is None:
                yield parts, rows, rows, None
            else:
                yield parts[:-1], 1 if self.one_answer else rows, rows, parts[-1]


def beside(
    source: Any, columns: Sequence[str], known: Sequence[str], loss: float, null_as: Any, who: Counted
) -> Beside | None:
    """Return what columns that go out add to a release that keeps an ldp; None where none does."""
    if not known or len(known) > MOST_ALIKE:
        return None
    counts = contingency(source, who.names((*columns, *known)))
    shares, alone = largest(counts, columns, known, null_as, who)
    if not shares:
        return None
    usual, _ = largest(counts, columns, (), null_as, who)
    value = max(shares, key=lambda one: (shares[one] / usual[one], str_of(one)))
    each = [(name, largest(counts, columns, [name], null_as, who)[0].get(value, 0.0)) for name in known]
    raising = tuple(sorted(each, key=lambda one: (-one[1], one[0]))[:MOST_NAMED])
    return Beside(tuple(known), value, shares[value], after(shares[value], loss), raising, alone)


def after(before: float, loss: float) -> float:
    """Return the most that a chance becomes when odds change by e^loss.

    >>> round(after(0.5, 1.0), 6), after(0.0, 1.0), after(1.0, 1.0)
    (0.731059, 0.0, 1.0)
    """
    return float(posterior_bounds(LDP(loss), before).upper) if 0 < before < 1 else before


def largest(
    table: Any, columns: Sequence[str], known: Sequence[str], null_as: Any, who: Counted
) -> tuple[dict[Hashable, float], int]:
    """Return the largest share of each value among people alike in known columns, and how many rows are alike to few.

    Of groups of fewer than `FEW` people only the rows are counted. The table is one, or counts of these columns.
    """
    counts = table if isinstance(table, Contingency) else contingency(table, who.names((*columns, *known)))
    groups: dict[Any, dict[Hashable, int]] = {}
    rows_of: dict[Any, int] = {}
    people: dict[Any, set[Hashable]] = {}
    width = len(columns)
    for key, count, rows, person in who.alike(counts, (*columns, *known)):
        parts, group = key[:width], key[width:]
        if None in parts:
            parts = tuple(null_as if part is None else part for part in parts)
        held = groups.setdefault(group, {})
        label = parts if width > 1 else parts[0]
        held[label] = held.get(label, 0) + count
        rows_of[group] = rows_of.get(group, 0) + rows
        if who.person is not None:
            people.setdefault(group, set()).add(person)
    shares: dict[Hashable, float] = {}
    alone = 0
    for group, held in groups.items():
        if known and (rows_of[group] if who.person is None else len(people[group])) < FEW:
            alone += rows_of[group]
            continue
        of_all = sum(held.values())
        for label, count in held.items():
            shares[label] = max(shares.get(label, 0.0), count / of_all)
    return shares, alone
