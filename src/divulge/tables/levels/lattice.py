"""A table in codes with its hierarchies: the groups at every node of the lattice of levels, and why a node fails.

The tables of groups are rolled up from the smallest one below that is known.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.files.hierarchies import Coded
from divulge.guarantees.guarantee import Guarantee
from divulge.model.shown import Shown
from divulge.releasing.estimating.contingency import merged_by, packed
from divulge.tables.groups import Groups, grouped
from divulge.tables.levels.conditions import CONDITIONS

MOST_KEPT = 1 << 21
"""Cells of tables that are kept for rolling up: some 200 megabytes with ten columns."""

Node = tuple[int, ...]


@dataclass(frozen=True)
class Infeasible(Shown):
    """A node at which a guarantee fails, and why.

    Attributes
    ----------
    levels : {column: level}
    guarantee : the guarantee that fails, as text
    group : {column: value}
        The group that breaks it most.
    value : the value of the secret, None where all take part
    measured : int, Fraction or float
        What it has of the bounded number: rows, lift, distance. With rows left out, how many would have to be.
    below : bool
        Whether all nodes below fail with it: always when no row may be left out.

    Examples
    --------
    >>> proof = dv.generalize({"age": [1, 2, 2]}, known="age", guarantees="k=2").certificate
    >>> proof.infeasible[0].levels, proof.infeasible[0].group, proof.infeasible[0].measured
    ({'age': 0}, {'age': '1'}, 1)
    """

    levels: dict[str, int]
    guarantee: str
    group: dict[str, Hashable]
    value: Hashable
    measured: int | float | Fraction
    below: bool = True


@dataclass
class Lattice:
    """A table in codes, its hierarchies, and what is asked of it.

    names : the known columns
    columns : their hierarchies in codes
    base : the groups of the table as it is
    projections : for each way to look at the secret the code of each joint value: jointly first, then each alone
    values : the values of each projection
    fixed : levels that are not searched
    """

    names: tuple[str, ...]
    columns: tuple[Coded, ...]
    base: Groups
    projections: tuple[np.ndarray, ...]
    values: tuple[tuple[Any, ...], ...]
    guarantees: tuple[Guarantee, ...]
    suppress: int = 0
    fixed: dict[str, int] = field(default_factory=dict[str, int])
    _kept: dict[Node, Groups] = field(default_factory=dict)
    visited: int = 0

    def __post_init__(self) -> None:
        self._kept[(0,) * len(self.names)] = self.base
        self._nodes = np.zeros((1, len(self.names)), dtype=np.int8)  # those that are kept, and their cells
        self._cells = np.array([len(self.base.cell_rows)])

    @property
    def heights(self) -> tuple[int, ...]:
        """The last level of each column."""
        return tuple(column.height for column in self.columns)

    @property
    def top(self) -> Node:
        """The coarsest node that is searched."""
        return tuple(self.fixed.get(name, height) for name, height in zip(self.names, self.heights, strict=True))

    def groups(self, node: Node) -> Groups:
        """Return the groups at a node, rolled up from the smallest table below that is kept."""
        if node in self._kept:
            return self._kept[node]
        (below,) = np.nonzero((self._nodes <= np.array(node, dtype=np.int8)).all(axis=1))
        smallest = below[self._cells[below] == self._cells[below].min()]
        start = min(tuple(one) for one in self._nodes[smallest].tolist())
        found = self._rolled(self._kept[start], start, node)
        self.visited += 1
        if self._cells.sum() + len(found.cell_rows) > MOST_KEPT and len(self._cells) > 1:
            largest = 1 + int(self._cells[1:].argmax())
            del self._kept[tuple(self._nodes[largest].tolist())]
            self._nodes, self._cells = np.delete(self._nodes, largest, axis=0), np.delete(self._cells, largest)
        self._kept[node] = found
        self._nodes = np.vstack([self._nodes, np.array(node, dtype=np.int8)])
        self._cells = np.append(self._cells, len(found.cell_rows))
        return found

    def _rolled(self, groups: Groups, start: Node, node: Node) -> Groups:
        steps = zip(self.columns, start, node, groups.codes.T, strict=True)
        codes = np.column_stack([
            code if low == high else column.step(low, high)[code] for column, low, high, code in steps
        ])  # fmt: skip
        labels = tuple(column.labels[level] for column, level in zip(self.columns, node, strict=True))
        first, where, sizes = merged_by(packed(list(codes.T), list(map(len, labels))), groups.sizes)
        if len(groups.values) == 1:  # a group is one cell
            cells = np.arange(len(first))
            return Groups(groups.known, groups.secret, labels, groups.values, codes[first], cells,
                          np.zeros_like(cells), sizes)  # fmt: skip
        group = where[groups.cell_group]
        cell, _, rows = merged_by(
            packed([group, groups.cell_value], [len(first), len(groups.values)]), groups.cell_rows
        )
        return Groups(
            groups.known, groups.secret, labels, groups.values, codes[first], group[cell], groups.cell_value[cell], rows
        )

    def views(self, groups: Groups) -> list[Groups]:
        """Return the groups with each secret: all jointly, then each alone."""
        found = [groups]
        for projection, values in zip(self.projections[1:], self.values[1:], strict=True):
            codes = groups.codes[groups.cell_group]
            own = projection[groups.cell_value]
            found.append(grouped(groups.known, groups.secret, groups.labels, values, codes, own, groups.cell_rows))
        return found

    def broken(self, groups: Groups, guarantee: Guarantee) -> np.ndarray:
        """Return which groups break a guarantee, with any of the secrets."""
        views = self.views(groups) if guarantee.kind != "k" else [groups]
        out = np.zeros(len(groups), dtype=bool)
        for view in views:
            out |= CONDITIONS[guarantee.kind].broken(view, guarantee)
        return out

    def left_out(self, groups: Groups) -> np.ndarray:
        """Return which groups break any guarantee."""
        return np.logical_or.reduce([self.broken(groups, one) for one in self.guarantees])

    def reason(self, node: Node) -> Infeasible | None:
        """Return why a node fails; None where it keeps all guarantees with few enough rows left out."""
        groups = self.groups(node)
        each = [self.broken(groups, one) for one in self.guarantees]
        out = np.logical_or.reduce(each)
        rows = int(groups.sizes[out].sum())
        if not rows:
            return None
        if rows <= self.suppress:
            return self._pool(groups, out, node)
        for guarantee, broken in zip(self.guarantees, each, strict=True):
            own = int(groups.sizes[broken].sum())
            sure = not self.suppress or (CONDITIONS[guarantee.kind].counts_rows and own > self.suppress)
            if own and sure:
                return self._why(groups, guarantee, node, own)
        first = next(one for one, broken in zip(self.guarantees, each, strict=True) if broken.any())
        return self._why(groups, first, node, rows, below=False)

    def _why(self, groups: Groups, guarantee: Guarantee, node: Node, rows: int, below: bool = True) -> Infeasible:
        for view in self.views(groups) if guarantee.kind != "k" else [groups]:
            if CONDITIONS[guarantee.kind].broken(view, guarantee).any():
                found = CONDITIONS[guarantee.kind].extreme(view, guarantee)
                if found is not None:
                    value = view.values[found.secret] if found.secret >= 0 else None
                    measured = rows if self.suppress else found.value
                    return Infeasible(
                        self.named(node), guarantee.text(), view.group(found.group), value, measured, below
                    )
        return Infeasible(self.named(node), guarantee.text(), {}, None, rows, below)

    def _pool(self, groups: Groups, out: np.ndarray, node: Node) -> Infeasible | None:
        """Return why the rows that are left out, a group like any other, break a guarantee."""
        pooled = self.pooled(groups, out)
        for guarantee in self.guarantees:
            if self.broken(pooled, guarantee).any():
                return Infeasible(self.named(node), guarantee.text(), {}, None, int(groups.sizes[out].sum()), False)
        return None

    def pooled(self, groups: Groups, out: np.ndarray) -> Groups:
        """Return the groups with those that are left out as one, the last."""
        if not out.any():
            return groups
        place = np.where(out, int((~out).sum()), np.cumsum(~out) - 1)
        codes = np.vstack([groups.codes[~out], np.full((1, groups.codes.shape[1]), -1)])
        group = place[groups.cell_group]
        cell, _, rows = merged_by(
            packed([group, groups.cell_value], [len(codes), len(groups.values)]), groups.cell_rows
        )
        labels = groups.labels
        return Groups(groups.known, groups.secret, labels, groups.values, codes, group[cell],
                      groups.cell_value[cell], rows)  # fmt: skip

    def named(self, node: Node) -> dict[str, int]:
        """Return a node as {column: level}."""
        return dict(zip(self.names, node, strict=True))
