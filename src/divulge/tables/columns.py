"""What each known column, alone and with one other, says about the secret and adds to the others."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.releasing.estimating.intervals import clopper_pearson
from divulge.tables import models
from divulge.tables.groups import Groups

SAME = 1e-12
"""Information that differs by this share is one: sums of some thousand doubles are off by less."""

FEW = 30
"""A group of fewer rows is said to be small."""

ALIKE = 12
"""Lower bounds that agree to so many decimals are one: then the larger group stands."""


@dataclass(frozen=True)
class Disclosure(Shown):
    """What a group of people with the same known values shows of one value of the secret.

    Attributes
    ----------
    value : the value of the secret
    group : {known column: value}
    before, after : Fraction
        Share of the value among all rows, and among those of the group.
    hits, rows : int
        Rows of the group with the value, and all rows of the group.
    low, high : float
        Bounds on the share among people like these, of whom the rows are a sample (Clopper and Pearson).

    Examples
    --------
    >>> found = Disclosure("ill", {"age": "old"}, Fraction(1, 10), Fraction(1, 2), 6, 12, 0.2, 0.8)
    >>> found.few, found.lift, found.rise
    (True, Fraction(5, 1), 2.0)
    """

    value: Hashable
    group: dict[str, Hashable]
    before: Fraction
    after: Fraction
    hits: int
    rows: int
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Examples
        --------
        >>> found = Disclosure("ill", {"age": "old"}, Fraction(1, 10), Fraction(1, 2), 6, 12, 0.2, 0.8)
        >>> found.to_dict()["lift"], found.to_dict()["few"]
        (5.0, True)
        """
        shares = {"before": float(self.before), "after": float(self.after), "lift": float(self.lift)}
        return {**vars(self), **shares, "rise": self.rise, "few": self.few}

    @property
    def few(self) -> bool:
        """Whether the group has so few rows that its share says little about other people."""
        return self.rows < FEW

    @property
    def lift(self) -> Fraction:
        """By what factor the share rises among these rows."""
        return self.after / self.before

    @property
    def rise(self) -> float:
        """By what factor the share surely rises among people like these; below 1 nothing is sure."""
        return self.low / float(self.before)


@dataclass(frozen=True, eq=False)
class ColumnRisk(Record, Shown):
    """What some of the known columns say, alone, and what they add to all the others.

    Attributes
    ----------
    columns : tuple of str
    groups : int
        How many combinations of their values occur.
    k : int
        Rows of the smallest group.
    uniques : int
        Rows that share these values with no other row.
    certain : int
        Rows of groups in which all have one answer, which whoever knows the values reads off.
    lift : Fraction
        The largest factor by which a share rises in a group.
    information : float
        Mutual information of the secret and these columns in the table, in nats.
    disclosures : tuple of Disclosure
        For each value of the secret, the rarest first, the group that surely raises it most.

    Examples
    --------
    >>> table = {"ill": ["yes"] * 40 + ["no"] * 60, "age": ["old"] * 50 + ["young"] * 50}
    >>> (age,) = dv.assess(table, known=["age"], secret="ill").columns
    >>> age.lift, age.certain, [(one.value, one.group, one.after) for one in age.disclosures]
    (Fraction(2, 1), 50, [('yes', {'age': 'old'}, Fraction(4, 5)), ('no', {'age': 'young'}, Fraction(1, 1))])
    """

    columns: tuple[str, ...]
    groups: int
    k: int
    uniques: int
    certain: int
    lift: Fraction
    information: float
    disclosures: tuple[Disclosure, ...]
    all_known: Groups = field(compare=False, repr=False)

    @property
    def rise(self) -> float:
        """The largest sure rise of any value; 1 where none rises surely."""
        return max([1.0, *(one.rise for one in self.disclosures)])

    @cached_property
    def _others(self) -> Groups:
        return self.all_known.by([name for name in self.all_known.known if name not in self.columns])

    @property
    def added_uniques(self) -> int:
        """Rows that are unique by all known columns, less those that are without these."""
        return int((self.all_known.sizes == 1).sum() - (self._others.sizes == 1).sum())

    @property
    def added_information(self) -> float:
        """Mutual information of the secret and all known columns, less that without these; nats."""
        whole, others = models.information(self.all_known), models.information(self._others)
        return 0.0 if math.isclose(whole, others, rel_tol=SAME) else max(0.0, whole - others)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Examples
        --------
        >>> table = {"ill": [1, 1, 0, 0], "age": [30, 30, 40, 50]}
        >>> (age,) = dv.assess(table, known=["age"], secret="ill").columns
        >>> age.to_dict()["uniques"], age.to_dict()["added_uniques"]
        (2, 2)
        """
        numbers = {name: getattr(self, name) for name in ("groups", "k", "uniques", "certain", "information", "rise")}
        added = {"added_uniques": self.added_uniques, "added_information": self.added_information}
        disclosures = [one.to_dict() for one in self.disclosures]
        return {"columns": list(self.columns), **numbers, "lift": float(self.lift), **added, "disclosures": disclosures}


def risks(groups: Groups, confidence: float, pairs: bool) -> tuple[ColumnRisk, ...]:
    """Return the risk of each known column, and of each pair of them; the most telling first."""
    chosen: list[tuple[str, ...]] = [(name,) for name in groups.known]
    chosen += combinations(groups.known, 2) if pairs else ()
    found = [_risk(groups, columns, confidence) for columns in chosen]
    return tuple(sorted(found, key=lambda one: (-round(one.rise, 6), len(one.columns))))


def risks_of_people(groups: Groups, person: str, confidence: float, pairs: bool) -> tuple[ColumnRisk, ...]:
    """Return the same where a known column says who: people are counted, each once in a group however many its rows."""
    others = [name for name in groups.known if name != person]
    chosen: list[tuple[str, ...]] = [(name,) for name in others]
    chosen += combinations(others, 2) if pairs else ()
    found = [_risk_of_people(groups, columns, person, confidence) for columns in chosen]
    return tuple(sorted(found, key=lambda one: (-round(one.rise, 6), len(one.columns))))


def people_of(groups: Groups, person: str) -> Groups:
    """Return all people as one group, each counted once for an answer."""
    return _once(groups.by([person])).by(())


def _once(groups: Groups) -> Groups:
    """Return groups in which each cell counts one."""
    return replace(groups, cell_rows=np.ones_like(groups.cell_rows))


def _risk_of_people(groups: Groups, columns: tuple[str, ...], person: str, confidence: float) -> ColumnRisk:
    each = groups.by([*columns, person])
    own, everybody = _once(each).by(columns), people_of(groups, person)
    _, place = np.unique(each.codes[:, :-1], axis=0, return_inverse=True)

    def people_in(chosen: np.ndarray) -> int:
        return len(np.unique(each.codes[chosen[place.ravel()], -1]))

    shares = {value: Fraction(int(n), everybody.rows) for value, n in zip(groups.values, everybody.totals, strict=True)}
    return ColumnRisk(
        columns,
        len(own),
        int(own.sizes.min()),
        people_in(own.sizes == 1),
        people_in(own.distinct == 1),
        models.lift(own).value,
        models.information(own),
        tuple(replace(one, before=shares[one.value]) for one in disclosures(own, confidence)),
        groups,
    )


def _risk(groups: Groups, columns: tuple[str, ...], confidence: float) -> ColumnRisk:
    own = groups.by(columns)
    return ColumnRisk(
        columns,
        len(own),
        int(own.sizes.min()),
        int((own.sizes == 1).sum()),
        int(own.sizes[own.distinct == 1].sum()),
        models.lift(own).value,
        models.information(own),
        disclosures(own, confidence),
        groups,
    )


def disclosures(groups: Groups, confidence: float) -> tuple[Disclosure, ...]:
    """Return for each value, rarest first, the group whose lower bound is largest; all bounds hold at once."""
    sizes = groups.sizes[groups.cell_group]
    low, high = share_bounds(groups, np.arange(len(sizes)), confidence)
    order = np.lexsort((groups.cell_group, -sizes, -np.round(low, ALIKE), groups.cell_value))
    first = order[np.flatnonzero(np.diff(groups.cell_value[order], prepend=-1))]
    rarest = np.argsort(groups.totals, kind="stable")
    return tuple(disclosure(groups, int(first[v]), float(low[first[v]]), float(high[first[v]])) for v in rarest)


def disclosure(groups: Groups, cell: int, low: float, high: float) -> Disclosure:
    """Return what a cell shows."""
    group, value = int(groups.cell_group[cell]), int(groups.cell_value[cell])
    hits, size = int(groups.cell_rows[cell]), int(groups.sizes[group])
    before = Fraction(int(groups.totals[value]), groups.rows)
    return Disclosure(groups.values[value], groups.group(group), before, Fraction(hits, size), hits, size, low, high)


def share_bounds(groups: Groups, cells: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Clopper and Pearson's bounds on the shares of cells; those of all groups and values hold at once."""
    risk = (1 - confidence) / (len(groups) * len(groups.values))
    sizes, span = groups.sizes[groups.cell_group[cells]], int(groups.sizes.max()) + 1
    pairs, where = np.unique(groups.cell_rows[cells] * span + sizes, return_inverse=True)
    low, high = clopper_pearson(*np.divmod(pairs, span), risk)
    return low[where], high[where]
