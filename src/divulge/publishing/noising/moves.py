"""How far the numbers of several queries move when one unit changes: which of them move together.

Whoever stays in a group of fine columns stays in every coarser one, and in how many rows it has, unless what is counted
there is missing in one of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from divulge.publishing.noising.searching import Answers
from divulge.publishing.queries import Query, Unit

Shifts = tuple[int, ...]
"""How far each number that moves does."""

_MOST_FINER = 3
"""So many finer groups are asked about for what is told by coarse ones alone."""

_MOST_LISTED = 256
"""So many ways are listed at most, of which those go that another one covers."""


@dataclass(frozen=True)
class Questions:
    """What is to be known of a unit that changes queries: which of its groups it leaves, and which columns have a gap.

    Only groups count in which some query tells more of a unit that stays, and gaps where numbers are counted. A column
    has a gap if the unit has a number there on one side alone.

    >>> coarse, fine = (Query("values", by, (3,) * len(by), "v", -5, 5) for by in (("a",), ("a", "b")))
    >>> asked = Questions((coarse, fine), Unit())
    >>> asked.every()  # stays in both, leaves the fine one, leaves both
    [(False, False), (False, True), (True, True)]
    >>> [asked.shifts(1, (False, left)) for left in (False, True)]
    [(10,), (5, 5)]
    """

    queries: tuple[Query, ...]
    unit: Unit

    @cached_property
    def _staying(self) -> list[bool]:
        """Whether a query tells more, in some of its numbers, of a unit that stays in its group."""
        ways = [query.shifts(self.unit) for query in self.queries]
        return [len(two) > 1 and not covers(two[0], two[1]) for two in ways]

    @cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """The columns that make each of the groups."""
        pairs = zip(self.queries, self._staying, strict=True)
        return tuple(dict.fromkeys(frozenset(query.by) for query, stays in pairs if stays))

    @cached_property
    def columns(self) -> tuple[str | None, ...]:
        """The columns that may have a gap."""
        if self.unit.rows > 1 or self.unit.neighbors != "replaced":
            return ()
        return tuple(dict.fromkeys(query.column for query in self.queries if query.counts_numbers))

    @property
    def none(self) -> Answers:
        """No answer yet."""
        return (None,) * (len(self.groups) + len(self.columns))

    def _finer(self, place: int) -> tuple[int, ...]:
        """Return the places of the groups of which a unit that stays in one stays in the group of a query.

        Of very many some: who leaves all of these is taken to leave that of the query, too, which tells no less.
        """
        by = frozenset(self.queries[place].by)
        if by in self.groups:
            return (self.groups.index(by),)
        return tuple(i for i, group in enumerate(self.groups) if by < group)[:_MOST_FINER]

    def about(self, place: int) -> tuple[int, ...]:
        """Return the places of the questions that a query depends on."""
        query = self.queries[place]
        found = self._finer(place) if len(query.shifts(self.unit)) > 1 else ()
        if query.column in self.columns:
            found = (*found, len(self.groups) + self.columns.index(query.column))
        return found

    def shifts(self, place: int, answers: Answers | Mapping[int, bool]) -> Shifts | None:
        """Return how far the numbers of a query move; None stands for whatever it can do."""
        query = self.queries[place]
        gap = answers[len(self.groups) + self.columns.index(query.column)] if query.column in self.columns else None
        two = query.shifts(self.unit, gap)
        if not two:
            return None
        stays = len(query.shifts(self.unit)) > 1 and any(answers[i] is False for i in self._finer(place))
        return tuple(sorted(two[-1 if stays else 0], reverse=True))

    def follows(self, answers: Answers) -> Answers | None:
        """Return answers with what follows, or None where they contradict.

        A unit that leaves its group by some columns leaves that by more columns too.
        """
        given = list(answers)
        for i, coarse in enumerate(self.groups):
            for j, fine in enumerate(self.groups):
                if coarse < fine and answers[i]:
                    if answers[j] is False:
                        return None
                    given[j] = True
                elif coarse < fine and answers[j] is False:
                    given[i] = False
        return tuple(given)

    def every(self) -> list[Answers] | None:
        """Return all answers that there are, or None where they are too many."""
        found = [self.none]
        for place in range(len(self.none)):
            both = [self.follows((*one[:place], answer, *one[place + 1 :])) for one in found for answer in (False, True)
                    if one[place] in (None, answer)]  # fmt: skip
            found = [one for one in both if one is not None]
            if len(found) > _MOST_LISTED:
                return None
        return found


def moves_of(queries: tuple[Query, ...], unit: Unit) -> list[tuple[Shifts | None, ...]] | None:
    """Return how far each query's numbers move, in each way of one unit; None where there are too many ways.

    None for a query stands for whatever it can do.
    """
    asked = Questions(queries, unit)
    if (answers := asked.every()) is None:
        return None
    every = dict.fromkeys(tuple(asked.shifts(i, one) for i in range(len(queries))) for one in answers)
    return [one for one in every if not any(other != one and all(map(covers, other, one)) for other in every)]


def covers(more: Shifts | None, less: Shifts | None) -> bool:
    """Say whether numbers that move so far tell no less than others."""
    if more is None or less is None:
        return more is less
    high, low = sorted(more, reverse=True), sorted(less, reverse=True)
    return len(high) >= len(low) and all(a >= b for a, b in zip(high, low, strict=False))
