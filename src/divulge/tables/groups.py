"""Rows that share the values of the known columns: how many there are in each group, and with which secret."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from divulge.files.hierarchies import MISSING
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.releasing.estimating.contingency import Contingency, merged_by, packed
from divulge.tables.order import ranks


@dataclass(frozen=True, eq=False)
class Groups(Record, Shown):
    """The groups of a table, and the rows of each secret value in them; what occurs, and no more.

    Attributes
    ----------
    known : names of the columns that somebody may know
    secret : names of the sensitive columns; empty where none was named
    labels : tuple of tuples
        The values of each known column, in their order; None is missing.
    values : tuple
        The values of the secret, in their order: of several columns tuples.
    codes : int array of shape (groups, known columns)
        Positions of the labels of each group, the groups in the order of their positions.
    cell_group, cell_value, cell_rows : int arrays of shape (cells,)
        Group, secret value and number of rows of each pair that occurs, by group and then by value.

    Examples
    --------
    >>> table = {"age": ["old", "old", "young"], "ill": ["yes", "no", "no"]}
    >>> groups = dv.assess(table, known=["age"], secret="ill").by_group
    >>> groups.labels, groups.sizes.tolist(), groups.totals.tolist()
    ((('old', 'young'),), [2, 1], [2, 1])
    """

    known: tuple[str, ...]
    secret: tuple[str, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    values: tuple[Hashable, ...]
    codes: np.ndarray
    cell_group: np.ndarray
    cell_value: np.ndarray
    cell_rows: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The first cell of each group, shape (groups,)."""
        return np.flatnonzero(np.diff(self.cell_group, prepend=-1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of rows of each group, shape (groups,)."""
        return np.add.reduceat(self.cell_rows, self.starts)

    @cached_property
    def distinct(self) -> np.ndarray:
        """The number of secret values in each group, shape (groups,)."""
        return np.diff(self.starts, append=len(self.cell_group))

    @cached_property
    def totals(self) -> np.ndarray:
        """The number of rows with each secret value, shape (values,)."""
        return sums(self.cell_value, self.cell_rows, len(self.values))

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.cell_rows.sum())

    def __len__(self) -> int:
        return len(self.codes)

    def group(self, place: int) -> dict[str, Hashable]:
        """Return the values of the known columns of the group at a place.

        Examples
        --------
        >>> dv.assess({"age": [30, 40], "ill": [0, 1]}, known="age", secret="ill").by_group.group(1)
        {'age': 40}
        """
        found = zip(self.known, self.labels, self.codes[place].tolist(), strict=True)
        return {name: labels[code] for name, labels, code in found}

    def dense(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return the rows of each secret value in the groups from `start` to `stop`, shape (groups, values).

        Examples
        --------
        >>> dv.assess({"age": [30, 40], "ill": [0, 1]}, known="age", secret="ill").by_group.dense().tolist()
        [[1, 0], [0, 1]]
        """
        stop = len(self) if stop is None else min(stop, len(self))
        ends = np.append(self.starts, len(self.cell_group))
        cells = slice(int(ends[start]), int(ends[stop]))
        out = np.zeros((stop - start, len(self.values)), dtype=np.int64)
        out[self.cell_group[cells] - start, self.cell_value[cells]] = self.cell_rows[cells]
        return out

    def by(self, columns: Sequence[str]) -> "Groups":
        """Return the groups of fewer of the known columns.

        Examples
        --------
        >>> table = {"age": [30, 40], "town": ["x", "x"], "ill": [0, 1]}
        >>> dv.assess(table, known=["age", "town"], secret="ill").by_group.by(["town"]).sizes.tolist()
        [2]
        """
        places = [self.known.index(name) for name in columns]
        labels = tuple(self.labels[place] for place in places)
        codes = self.codes[:, places][self.cell_group]
        return grouped(tuple(columns), self.secret, labels, self.values, codes, self.cell_value, self.cell_rows)


def sums(places: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of whole weights by place, exactly: in halves of 26 bits, which doubles add up without loss."""
    low, high = np.bincount(places, weights & 0x3FFFFFF, size), np.bincount(places, weights >> 26, size)
    return low.astype(np.int64) + (high.astype(np.int64) << 26)


def grouped(
    known: tuple[str, ...],
    secret: tuple[str, ...],
    labels: tuple[tuple[Hashable, ...], ...],
    values: tuple[Hashable, ...],
    codes: np.ndarray,
    value: np.ndarray,
    rows: np.ndarray,
) -> Groups:
    """Return the groups of cells: codes of shape (cells, known), the secret value and the rows of each."""
    sizes = list(map(len, labels))
    first, *cells = _merged(packed(codes.T, sizes) if known else np.zeros(len(value), dtype=np.int64), value, rows)
    return Groups(known, secret, labels, values, codes[first], *cells)


def _merged(key: np.ndarray, value: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the first cell of each group by its key, and group, value and rows of each pair of both that occurs."""
    first, group, _ = merged_by(key, rows)
    pairs = packed([group, value], [len(first), int(value.max(initial=0)) + 1])
    cell, _, counts = merged_by(pairs, rows, places=False)
    return first, group[cell], value[cell], counts


def groups_of(found: Contingency, known: Sequence[str], secret: Sequence[str]) -> Groups:
    """Return the groups of a table that was counted, by some of its columns.

    One column at a time is put in the order of its values: all of them would be as large as the counts.
    """
    rank = {name: ranks(labels).astype(np.int32) for name, labels in zip(found.columns, found.labels, strict=True)}
    ordered = {name: _in_order(labels, rank[name]) for name, labels in zip(found.columns, found.labels, strict=True)}

    def codes(name: str, cells: Any = slice(None)) -> np.ndarray:
        return rank[name][found.cells[cells, found.columns.index(name)]]

    def key(names: Sequence[str]) -> np.ndarray:
        sizes = [len(ordered[name]) for name in names]
        return packed(map(codes, names), sizes) if names else np.zeros(len(found.counts), dtype=np.int64)

    first, value, _ = merged_by(key(secret), found.counts)
    values = _values([ordered[name] for name in secret], [codes(name, first) for name in secret])
    first, *cells = _merged(key(known), value, found.counts)
    columns = [codes(name, first) for name in known]
    own = np.column_stack(columns) if known else np.empty((len(first), 0), dtype=np.int32)
    return Groups(tuple(known), tuple(secret), tuple(ordered[name] for name in known), values, own, *cells)


def _in_order(labels: Sequence[Hashable], rank: np.ndarray) -> tuple[Hashable, ...]:
    out: list[Any] = [None] * len(labels)
    for label, place in zip(labels, rank.tolist(), strict=True):
        out[place] = label
    return tuple(out)


def _values(labels: Sequence[tuple[Hashable, ...]], cells: Sequence[np.ndarray]) -> tuple[Hashable, ...]:
    """Return the secret values that occur, a missing one by its name; of several columns tuples; of none one value."""
    if not labels:
        return ("any",)
    named = [tuple(MISSING if label is None else label for label in of) for of in labels]
    parts = [[of[i] for i in cell.tolist()] for of, cell in zip(named, cells, strict=True)]
    return tuple(parts[0]) if len(parts) == 1 else cast("tuple[Hashable, ...]", tuple(zip(*parts, strict=True)))
