"""Statistics of those people whose own accounts have room for what a release costs them."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.source import Source
from divulge.guarantees.catalog import as_guarantee
from divulge.model.labels import text_of
from divulge.publishing.counting.tables import Table, table_of
from divulge.publishing.noising.families import Noise
from divulge.publishing.noising.leakage import concentration, largest_loss
from divulge.publishing.queries import Query, Unit
from divulge.releasing.drawing.coding import dictionary_of, meaning_of
from divulge.releasing.records.adaptive import MOST_PEOPLE
from divulge.releasing.records.fingerprint import Key

KINDS = ("dp", "zcdp")
"""What an account may hold."""


@dataclass(frozen=True)
class Account:
    """What each person's account holds, for somebody who is there or not.

    person : the column of people
    goal : dp or zcdp, in nats
    """

    person: str
    goal: Any

    @property
    def text(self) -> str:
        """The goal as it stands on record."""
        return f"{self.goal.kind}={self.room!r}"

    @property
    def room(self) -> float:
        """What the account holds."""
        return float(self.goal.values()["rho" if self.goal.kind == "zcdp" else "epsilon"])

    @property
    def replaced(self) -> tuple[float, float]:
        """What all that is on the accounts tells of a person who is replaced: its loss, and rho of zCDP.

        One person leaves and another one comes: twice epsilon, and four times rho (Bun, Steinke, 2016, prop. 27).
        """
        loss = 2 * Fraction(self.room)
        return (
            (exact.double_above(loss), exact.double_above(loss**2 / 2))
            if self.goal.kind == "dp"
            else (math.inf, 4 * self.room)
        )

    def costs(self, queries: Sequence[Query], noises: Sequence[Noise], unit: Unit, rows: np.ndarray) -> np.ndarray:
        """Return what a release costs people with so many rows each, rounded up: nobody with as many can exceed it.

        A person with fewer rows than may count changes every query less.
        """
        measure = largest_loss if self.goal.kind == "dp" else concentration
        own, where = np.unique(np.minimum(rows, unit.at_most), return_inverse=True)
        costs = [exact.double_above(measure(queries, noises, replace(unit, at_most=n))) for n in own.tolist()]
        return np.array(costs)[where]


def account_of(text: Any, unit: Unit, ledger: Any, read_in: Any) -> Account | None:
    """Return the account that is asked for, or refuse what none can be of."""
    if text is None:
        return None
    goal = as_guarantee(text, "accounts").read_in(read_in, to_keep=True)
    if goal.kind not in KINDS or float(getattr(goal, "xi", 0)) != 0:
        raise DivulgeError.of("accounts", "hold dp=EPS or zcdp=RHO", "they", str(goal))
    for argument, missing, hint in (
        ("person", unit.person is None, "each account is somebody's, whom a column names."),
        ("ledger", ledger is None, "accounts last from release to release."),
    ):
        if missing:
            raise DivulgeError.of(argument, "be given with accounts", "it", "absent", hint)
    if unit.neighbors != "added":
        raise DivulgeError.of(
            "neighbors", "be added with accounts", "it", unit.neighbors,
            "who is left out depends on what they have spent: that is hidden where it is hidden who is there at all.",
        )  # fmt: skip
    return Account(str(unit.person), goal)


def require_room(account: Account, queries: Sequence[Query], noises: Sequence[Noise], unit: Unit) -> None:
    """Refuse a release that nobody could pay, whoever they are and whatever is spent."""
    (least,) = account.costs(queries, noises, unit, np.array([1]))
    if not least <= account.room:
        hint = 'noise="laplace" has a largest loss.' if math.isinf(least) else "a smaller guarantee costs less."
        raise DivulgeError.of(
            "accounts", f"hold what the release costs somebody with one row, {least:.6g}", "they", account.text, hint
        )


def of_those_with_room(
    account: Account, table: Table, charge: Callable[..., Any], queries: Sequence[Query], noises: Sequence[Noise],
    unit: Unit,
) -> tuple[Table, int, int]:  # fmt: skip
    """Charge each person's account, and return the table of those who can pay, how many they are, and of how many.

    Whom the column writes in two ways, as 1 and 01, is left out, whoever else is there: more rows would count of them.
    """
    rows = _rows_of(table.source, account.person)
    meant = {name: str(meaning_of(name)) for name in rows}
    written = Counter(meant.values())
    named = [name for name in rows if written[meant[name]] == 1]
    costs = account.costs(queries, noises, unit, np.array([rows[name] for name in named], np.int64))
    words = _keyed([meant[name] for name in named])
    fits = charge(account.person, account.text, words, costs) if named else np.ones(0, bool)
    left_out = rows.keys() - {name for name, there in zip(named, fits.tolist(), strict=True) if there}
    kept = replace(table_of(_without(table.source, account.person, left_out)), declared=table.declared)
    return kept, len(rows) - len(left_out), len(written)


def _keyed(meant: Sequence[str]) -> Callable[[Key], np.ndarray]:
    """Return what makes keyed words of people: who means the same is the same person, however a file writes them."""
    pa = require("pyarrow", "tables")
    return lambda key: key.words(pa.array(meant, pa.string()))


def _rows_of(source: Source, person: str) -> dict[str, int]:
    """Return how many rows each person has."""
    found: dict[str, int] = {}
    for batch in source.batches([person], [person] if person in source.codable else []):
        values, places, _ = dictionary_of(batch.column(person))
        counts = np.bincount(places, minlength=len(values))[: len(values)].tolist()
        for value, many in zip(values, counts, strict=True):
            name = str(text_of(value))
            found[name] = found.get(name, 0) + many
        if len(found) > MOST_PEOPLE:
            raise DivulgeError.of("accounts", f"be of at most {MOST_PEOPLE:,} people", "their number", "larger")
    return found


def _without(source: Source, person: str, left_out: set[str]) -> Source:
    """Return a table without the rows of some people."""
    pa = require("pyarrow", "tables")

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        for batch in source.stream(list(dict.fromkeys([*columns, person])), coded):
            values, places, _ = dictionary_of(batch.column(person))
            stay = np.array([*(str(text_of(value)) not in left_out for value in values), True])
            yield batch.filter(pa.array(stay[places])).select(list(columns))

    return replace(source, rows=None, stream=stream, divided=None)
