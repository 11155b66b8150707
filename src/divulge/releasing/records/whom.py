"""Whom releases protect, and what they add up to about a person: a release of rows counts with every row of theirs."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from divulge.releasing.records.entries import Releases
from divulge.releasing.records.promised import Spent, exactly_together

Most = Callable[[str, str | None], int | None]
"""Returns how many rows, or how many people of a second column, one person of a column has at most; None: unknown."""

Total = Mapping[str, Fraction | float]

Drawn = Sequence[Sequence[tuple[Any, float]]]
"""For the people of each column: (mechanism, how many draws from it are about one of them)."""


def people_of(releases: Iterable[Releases]) -> tuple[str, ...]:
    """Return the columns whose people some releases protect; without one, all of them are about rows."""
    found = (one.person for several in releases for one in several.mechanisms if one.person is not None)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Draws:
    """How many draws about one person a release makes, as far as that is known.

    on_record : {(table, column of people, column of other people or ""): how many of them one person has at most}
    here : the table at hand, whose columns can be looked at
    most : looks at them
    """

    on_record: Mapping[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    here: str = ""
    most: Most = lambda person, other: None

    def of(self, table: str, one: Any, person: str | None, public: bool) -> float:
        """Return how many draws are about a person of a column, or about a row; infinity where nobody knows.

        A person of `person` has k rows, or k people of the column that the release protects; of each there are
        `one.times` draws. That k is read off the rows: the public is not told it, unless all have one.
        """
        if person in (None, one.person):
            return one.times
        known = self._most(table, person, one.person)
        said = one.person is None and one.times > 1  # nobody has more rows, as the keeper said
        if known is None or (public and known > 1):
            return one.times if said else math.inf
        return max(known, one.times) if said else known * one.times

    def _most(self, table: str, person: str, other: str | None) -> int | None:
        if table == self.here:
            return self.most(person, other)
        return self.on_record.get((table, person, other or ""))


def spent_by(releases: Iterable[Releases], person: str | None, draws: Draws, public: bool = False) -> list[Spent]:
    """Return what releases spend of a person of a column, or of a row where `person` is None.

    What is on each person's account counts once, however many releases are on it: with the most draws of one of them.
    """
    found: list[Spent] = []
    booked: dict[tuple[str, str], tuple[float, Any, str]] = {}
    one: Any
    for several in releases:
        for one in several.mechanisms:
            times = draws.of(several.table, one, person, public)
            if (goal := getattr(one, "account", None)) is None:
                found += several.many * [_spent(one, several.table, times)]
            elif (key := (one.book, goal)) not in booked or booked[key][0] < times:
                booked[key] = times, one, several.table
    return [*found, *(_spent(one, table, times) for times, one, table in booked.values())]


def _spent(one: Any, table: str, times: float) -> Spent:
    if math.isinf(times):
        return replace(one.of_draws(2), channel=None, prior=None, loss=math.inf, rho=math.inf, adp=None, table=table)
    return replace(one.of_draws(int(times)), table=table)


def drawn_by(releases: Sequence[Releases], draws: Draws) -> Drawn:
    """Return all mechanisms, and how many draws are about one person, for each column whose people releases protect."""
    return [
        [(one, several.many * draws.of(several.table, one, person, False))
         for several in releases for one in several.mechanisms]
        for person in people_of(releases) or (None,)
    ]  # fmt: skip


def totals(
    releases: Sequence[Releases], draws: Draws, prior: Any, public: bool = False
) -> list[tuple[Total, list[Spent]]]:
    """Return what releases add up to, and what each spends, about a person of each column whose people they protect.

    Where they are all about rows, it is about a row.
    """
    several = [spent_by(releases, person, draws, public) for person in people_of(releases) or (None,)]
    return [(exactly_together(spent, prior), spent) for spent in several]


def worst(several: Sequence[Total]) -> dict[str, Fraction | float]:
    """Return a total that holds for all of whom there is one: ldp bounds what one of them lacks."""
    kinds = dict.fromkeys(kind for one in several for kind in one)
    whole = {kind: max(one.get(kind, _of_ldp(kind, one["ldp"])) for one in several) for kind in kinds}
    useless = math.isinf(whole.get("adp", 0))
    return {kind: value for kind, value in whole.items() if not (useless and kind in ("adp", "delta"))}


def _of_ldp(kind: str, ldp: Fraction | float) -> Fraction | float:
    if kind == "delta":
        return 0
    return ldp**2 / 2 if kind == "zcdp" else ldp
