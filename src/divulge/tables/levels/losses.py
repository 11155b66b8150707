"""What coarsening loses: functions of a node that no step up makes smaller, so that they can be searched by bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, did_you_mean
from divulge.tables import models
from divulge.tables.groups import Groups, sums
from divulge.tables.levels.lattice import Lattice


@dataclass(frozen=True)
class Loss:
    """A loss by its name.

    values : function of (lattice, column, level), or None; of a loss that is a sum over rows and columns what a row
        adds, for each value of the column
    groups : function of (lattice, groups), or None; of another loss its value from the groups; those left out are one
        of them
    least : function of (lattice, sizes), or None; of such a loss what it is at least where the row of each cell is in a
        group of at least so many rows
    """

    name: str
    title: str
    values: Callable[[Lattice, int, int], np.ndarray] | None = None
    groups: Callable[[Lattice, Groups], float] | None = None
    least: Callable[[Lattice, np.ndarray], float] | None = None

    def column(self, lattice: Lattice, column: int, level: int) -> float:
        """Return what a column adds at a level, of a loss that is a sum over columns."""
        assert self.values is not None
        return float(np.sum(rows_of(lattice, column) * self.values(lattice, column, level)))

    def whole(self, lattice: Lattice) -> np.ndarray | None:
        """Return the loss of every node, of a loss that is a sum over columns; else None."""
        if self.values is None:
            return None
        found = np.zeros(1)
        for i, height in enumerate(lattice.heights):
            own = np.array([self.column(lattice, i, level) for level in range(height + 1)])
            found = (found[:, None] + own).ravel()
        return found

    def of(self, lattice: Lattice, groups: Groups, out: np.ndarray | None, node: Any = None) -> float:
        """Return the loss of groups; of a sum over columns that of the node."""
        if self.values is not None:
            return float(sum(self.column(lattice, i, level) for i, level in enumerate(node)))
        assert self.groups is not None
        return float(self.groups(lattice, groups if out is None else lattice.pooled(groups, out)))


def rows_of(lattice: Lattice, column: int) -> np.ndarray:
    """Return the rows of each value of a column."""
    base = lattice.base
    return sums(base.codes[:, column], base.sizes, len(lattice.columns[column].labels[0]))


def _entropy(lattice: Lattice, column: int, level: int) -> np.ndarray:
    coded, rows = lattice.columns[column], rows_of(lattice, column)
    coarse = sums(coded.maps[level], rows, len(coded.labels[level]))[coded.maps[level]]
    return np.log2(coarse / np.maximum(rows, 1)) * (rows > 0)


def _granularity(lattice: Lattice, column: int, level: int) -> np.ndarray:
    coded = lattice.columns[column]
    leaves = np.bincount(coded.maps[level])[coded.maps[level]]
    many = max(len(coded.maps[0]) - 1, 1)
    return (leaves - 1) / many / (lattice.base.rows * len(lattice.columns))


def _discernibility(lattice: Lattice, groups: Groups) -> float:
    return float(sum(size * size for size in groups.sizes.tolist()))


def _entropy_of(sizes: np.ndarray) -> float:
    shares = sizes / sizes.sum()
    return float(-np.sum(shares * np.log(shares)))


def _information(lattice: Lattice, groups: Groups) -> float:
    return max(0.0, _entropy_of(lattice.base.sizes) - _entropy_of(groups.sizes))


def _secret_information(lattice: Lattice, groups: Groups) -> float:
    return max(0.0, models.information(lattice.base) - models.information(groups))


def _in_groups(lattice: Lattice, sizes: np.ndarray) -> float:
    """Return the entropy of groups at most, in nats, where rows are in groups of at least so many."""
    rows = lattice.base.cell_rows
    return float(np.sum(rows * np.log(lattice.base.rows / sizes))) / lattice.base.rows


LOSSES: dict[str, Loss] = {
    one.name: one
    for one in (
        Loss("entropy", "non-uniform entropy: sum of -log2(count(v) / count(coarse v)), bits", values=_entropy),
        Loss("granularity", "mean of (leaves of coarse v - 1) / (leaves - 1), from 0 to 1", values=_granularity),
        Loss("discernibility", "sum of squares of the sizes of groups", groups=_discernibility,
             least=lambda lattice, sizes: float(np.sum(lattice.base.cell_rows * sizes))),
        Loss("class-size", "rows over groups", groups=lambda lattice, groups: groups.rows / len(groups),
             least=lambda lattice, sizes: lattice.base.rows / float(np.sum(lattice.base.cell_rows / sizes))),
        Loss("mutual-information", "H(group of the table as it is) - H(group), nats", groups=_information,
             least=lambda lattice, sizes: max(0.0, _entropy_of(lattice.base.sizes) - _in_groups(lattice, sizes))),
        Loss("information", "what the groups no longer tell of the secret, nats", groups=_secret_information,
             least=lambda lattice, sizes: 0.0),
    )
}  # fmt: skip
"""Name -> loss."""


def loss_named(name: Any) -> Loss:
    """Return the loss with this name.

    >>> loss_named("entropy").name
    'entropy'
    """
    if isinstance(name, Loss):
        return name
    if name not in LOSSES:
        meant = did_you_mean(name, LOSSES).strip() if isinstance(name, str) else ""
        raise DivulgeError.of("loss", f"be one of {', '.join(LOSSES)}", "it", repr(name)[:40], meant)
    return LOSSES[name]
