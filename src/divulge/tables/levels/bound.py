"""What no recoding loses less than, local or not: each row alone at the levels that its group needs at least.

A row that goes out at levels l, one for each column, is in a group of rows that all have its values at these levels: so
many rows the table must have. How many a group needs at least follows from the guarantees and from the row's secret.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.guarantees.guarantee import Guarantee
from divulge.releasing.estimating.contingency import packed
from divulge.tables.groups import Groups
from divulge.tables.levels.lattice import Lattice
from divulge.tables.levels.losses import Loss
from divulge.units import factor

MOST_WORK = 1 << 26
"""Nodes times cells of the table that are looked at together: some seconds on a slow core; else columns are divided."""

ROOM = 1e-9
"""Doubles may be so far off: what is needed is rounded down by it."""

Needed = Callable[[Groups, Any], np.ndarray]
"""The rows that a group with a row of each secret value has at least, shape (values,)."""


def _whole(least: Any) -> Needed:
    return lambda groups, one: np.full(len(groups.values), math.ceil(least(one)))


def _up(numbers: np.ndarray) -> np.ndarray:
    return np.ceil(numbers * (1 - ROOM)).astype(np.int64)


def _at_most(groups: Groups, shares: np.ndarray) -> np.ndarray:
    """Return the rows needed where each value has at most a share: 1/share for a row with it, and enough values."""
    shares = np.minimum(1.0, shares)
    values = 1 + np.searchsorted(np.cumsum(-np.sort(-shares)), 1 - ROOM)
    return np.maximum(values, _up(1 / shares))


def _lifted(groups: Groups, ratio: Any) -> np.ndarray:
    return _at_most(groups, np.asarray(ratio, dtype=float) * groups.totals / groups.rows)


def _both(groups: Groups, upper: Any, lower: Any) -> np.ndarray:
    need = _lifted(groups, factor(upper))
    return need if lower == math.inf else np.full(len(need), max(int(need.max()), len(groups.values)))


def _enhanced(groups: Groups, one: Any) -> np.ndarray:
    shares = groups.totals / groups.rows
    return _lifted(groups, 1 + np.minimum(float(one.beta), -np.log(shares)))


def _distance(groups: Groups, one: Any) -> np.ndarray:
    """Return the rows needed within a total variation: q_s <= p_s + t, and the values that occur have 1 - t of all."""
    shares, distance = groups.totals / groups.rows, min(1.0, float(one.distance))
    values = 1 + np.searchsorted(np.cumsum(-np.sort(-shares)), 1 - distance - ROOM)
    return np.maximum(values, _at_most(groups, shares + distance))


NEEDED: dict[str, Needed] = {
    "k": _whole(lambda one: one.k),
    **dict.fromkeys(("distinct-l", "entropy-l", "recursive-l"), _whole(lambda one: one.l)),
    "t": _distance,
    "beta": lambda groups, one: _lifted(groups, 1 + float(one.beta)),
    "enhanced-beta": _enhanced,
    "delta-disclosure": lambda groups, one: _both(groups, one.epsilon, one.epsilon),
    "pml": lambda groups, one: _lifted(groups, factor(one.epsilon)),
    "lift": lambda groups, one: _lifted(groups, float(one.ratio)),
    "pmc": lambda groups, one: _both(groups, math.inf, one.epsilon),
    "lip": lambda groups, one: _both(groups, one.epsilon, one.epsilon),
    "alip": lambda groups, one: _both(groups, one.upper, one.lower),
}
"""Kind -> the rows that a group needs; of another kind one."""


def least_rows(lattice: Lattice) -> np.ndarray:
    """Return how many rows the group of each cell of the table needs at least, shape (cells,)."""
    base = lattice.base
    found = np.ones(len(base.values), dtype=np.int64)
    for view, projection in zip(lattice.views(base), lattice.projections, strict=True):
        for one in lattice.guarantees:
            found = np.maximum(found, _needed(view, one)[projection])
    return found[base.cell_value]


def _needed(groups: Groups, one: Guarantee) -> np.ndarray:
    return NEEDED.get(one.kind, _whole(lambda one: 1))(groups, one)


def least_loss(lattice: Lattice, loss: Loss, levels: np.ndarray) -> float:
    """Return what no recoding loses less than, rounded down; `levels` of each group are those of one that is known."""
    need = least_rows(lattice)
    if loss.values is None:
        assert loss.least is not None
        return loss.least(lattice, need) * (1 - ROOM)
    rows = lattice.base.cell_rows
    parts = [rows * _alone(lattice, loss, block, need, levels) for block in _blocks(lattice)]
    return float(np.sum(parts)) * (1 - ROOM)


def _blocks(lattice: Lattice) -> list[list[int]]:
    """Return columns divided so that the nodes of each block can be looked at; those of most values stand together."""
    blocks: list[list[int]] = []
    nodes: list[int] = []
    most = MOST_WORK // len(lattice.base.cell_rows)
    for i in sorted(range(len(lattice.columns)), key=lambda i: -len(lattice.columns[i].labels[0])):
        many = lattice.columns[i].height + 1
        place = next((b for b, size in enumerate(nodes) if size * many <= most), len(blocks))
        if place == len(blocks):
            blocks.append([])
            nodes.append(1)
        blocks[place].append(i)
        nodes[place] *= many
    return blocks


def _alone(lattice: Lattice, loss: Loss, block: list[int], need: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return the least that a row of each cell loses in some columns, at levels at which the table has rows enough."""
    assert loss.values is not None
    base, group = lattice.base, lattice.base.cell_group
    tables = [[loss.values(lattice, i, level)[base.codes[:, i]] for level in range(lattice.columns[i].height + 1)]
              for i in block]  # fmt: skip
    best = np.sum([np.array(table)[levels[:, i], np.arange(len(base))] for i, table in zip(block, tables, strict=True)],
                  axis=0)[group]  # fmt: skip
    for node in itertools.product(*(range(len(table)) for table in tables)):
        cost = np.sum([table[level] for level, table in zip(node, tables, strict=True)], axis=0)[group]
        better = cost < best
        if better.any():
            better &= _sizes(lattice, block, node)[group] >= need
            best[better] = cost[better]
    return best


def _sizes(lattice: Lattice, block: list[int], node: tuple[int, ...]) -> np.ndarray:
    """Return for each group of the table how many rows agree with it in some columns at these levels."""
    base, coded = lattice.base, [lattice.columns[i] for i in block]
    codes = [column.maps[level][base.codes[:, i]] for column, i, level in zip(coded, block, node, strict=True)]
    key = packed(codes, [len(column.labels[level]) for column, level in zip(coded, node, strict=True)])
    _, where = np.unique(key, return_inverse=True)
    return np.bincount(where, base.sizes).astype(np.int64)[where]
