"""What may be claimed of a table, in sentences: against whom its numbers hold, and against whom they do not."""

from collections.abc import Sequence
from typing import Any

from divulge.errors import number_of
from divulge.files.hierarchies import TOP
from divulge.model.shown import percent, promised
from divulge.tables.columns import FEW

HOLD = (
    "These numbers hold against somebody who knows {known} of one person, knows that the person is in the table, "
    "and holds all rows of the group for alike."
)
FURTHER = (
    "They do not hold against somebody who knows others of the group, who has another release of the same people, or "
    "who knows the rule by which the values were chosen."
)
NOT_DP = "A table of groups is a function of the data alone: it is not differentially private."
CHOSEN = (
    "The levels were chosen by looking at the table, and somebody who knows the rule may learn from the choice; for a "
    "small table that can be much."
)
TOLD_BY_CHOICE = (
    "The choice of levels tells more than the groups: for somebody who knows the rule, and the known columns of "
    "everybody in the table, a value of one person becomes {lift} times as likely, where groups make it {groups} times "
    "as likely at most. Of {tables} that lead to these groups {left} would have been published so."
)
PEOPLE = (
    "A person has up to {rows} rows: the smallest group is of {people} people or more, and what is said of the "
    "sensitive columns is said of a row, not of all rows of a person."
)
BEFORE = (
    "The ledger has {releases} of the same people on record. Who has them as well can learn more than is said here: "
    "groups of two tables that share a person can leave one value."
)
EXACT = (
    "About these rows the numbers are exact; about people like them the bounds have {confidence} confidence, all at "
    "once."
)


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["age", "sex", "zip"]), listed([])
    ("'age', 'sex' and 'zip'", 'none')
    """
    quoted = [repr(name) for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted) or "none"


def always(known: Sequence[str]) -> tuple[str, ...]:
    """Return against whom numbers about some known columns hold, and against whom they do not."""
    return HOLD.format(known=listed(known)), FURTHER, NOT_DP


def few_rows(small: int, groups: int) -> tuple[str, ...]:
    """Return what is said where groups have few rows.

    >>> few_rows(1, 2000)
    ('1 group of 2,000 has fewer than 30 rows: their shares say little about other people.',)
    """
    if not small:
        return ()
    return (
        f"{number_of(small, 'group')} of {groups:,} {'has' if small == 1 else 'have'} fewer than {FEW} rows: "
        "their shares say little about other people.",
    )


def chosen(suppressed: int) -> str:
    """Return what is said of the choice of levels, and of rows that lost all known columns."""
    return CHOSEN + (f" {number_of(suppressed, 'row')} have {TOP} in all known columns." if suppressed else "")


def by_choice(found: Any) -> tuple[str, ...]:
    """Return what the keeper of a coarsened table is told where the choice of levels says more than its groups."""
    choice = found.minimality
    if choice is None or choice.lift <= found.assessment.lift:
        return ()
    lift, groups = (promised(one) for one in (choice.lift, found.assessment.lift))
    tables = number_of(choice.tables, "table")
    return (TOLD_BY_CHOICE.format(lift=lift, groups=groups, tables=tables, left=f"{choice.left:,}"),)


def of_people(rows: int, people: int) -> tuple[str, ...]:
    """Return what is said where a person has several rows."""
    return (PEOPLE.format(rows=rows, people=people),) if rows > 1 else ()


def before(others: int) -> tuple[str, ...]:
    """Return what is said where other releases of the same people are on record.

    >>> len(before(1)), before(0)
    (1, ())
    """
    return (BEFORE.format(releases=number_of(others, "other release")),) if others else ()


def caveats(found: Any) -> tuple[str, ...]:
    """Return the sentences that stand with every assessment."""
    small = int((found.by_group.sizes < FEW).sum())
    notes = [*always(found.known), EXACT.format(confidence=percent(found.confidence)), *few_rows(small, found.groups)]
    missing = [name for name, labels in zip(found.known, found.by_group.labels, strict=True) if None in labels]
    if missing:
        notes.append(
            f"A missing value of {listed(missing)} counts as a value of its own: somebody who knows the true one "
            "cannot tell such a row from others, and knows less than is said here."
        )
    return tuple(notes)
