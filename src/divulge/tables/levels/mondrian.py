"""Local recoding: each group as fine as its own rows allow, by splitting from the top (Mondrian), beside a bound.

LeFevre, DeWitt, Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006, section 4, over hierarchies: the values of
a column in a group are split one level down. Parts that break a guarantee stay together under the coarser value, if
together they keep it. What is found need not be the best.
"""

from dataclasses import dataclass

import numpy as np

from divulge.model.shown import Shown
from divulge.releasing.estimating.contingency import merged_by, packed
from divulge.tables.groups import Groups, grouped
from divulge.tables.levels.bound import least_loss
from divulge.tables.levels.lattice import Lattice, Node
from divulge.tables.levels.losses import LOSSES, Loss


@dataclass(frozen=True)
class Local(Shown):
    """How far a table that was coarsened group by group may be from the best one.

    finest : {column: level}; the finest level at which a group has the column; `levels` of the result are the coarsest
    bound : no recoding by these hierarchies that keeps the guarantees loses less, of whatever kind; it may be far below
    gap : (loss - bound) / loss, from 0, where nothing loses less, to 1, where nothing is known

    >>> ages = {"age": [31, 34, 38, 39, 45, 46, 49, 71, 75, 88]}
    >>> ladder = {"age": {"kind": "ladder", "arguments": [[5, 10, 50], 0, None, None]}}
    >>> found = dv.generalize(ages, known="age", guarantees="k=2", hierarchies=ladder, recoding="local")
    >>> found.table.column("age").unique().to_pylist(), round(found.loss, 3), round(found.local.bound, 3)
    (['[30, 35)', '[35, 40)', '[45, 50)', '[50, 100)'], 13.51, 12.34)
    """

    finest: dict[str, int]
    bound: float
    gap: float


@dataclass(frozen=True)
class Parts:
    """A division of the groups of a table: the part of each, and at which level each part has each column.

    of : int array of shape (groups,)
    levels : int array of shape (parts, columns)
    """

    of: np.ndarray
    levels: np.ndarray


def recoded(lattice: Lattice, loss: Loss, best: Node) -> tuple[Parts, float, Local]:
    """Return the better of two divisions, split from the top and from the best levels of all rows, its loss, a bound.

    Splitting what keeps the guarantees never loses more, so that the division loses no more than the best levels do.
    """
    chooser = loss if loss.values is not None else LOSSES["entropy"]  # a heuristic: finer values make smaller groups
    found = [_split(lattice, chooser, _at(lattice, node)) for node in dict.fromkeys((best, lattice.top))]
    losses = [_loss(lattice, loss, parts) for parts in found]
    least = losses.index(min(losses))
    parts, own = found[least], losses[least]
    floor = min(own, least_loss(lattice, loss, parts.levels[parts.of]))
    finest = lattice.named(tuple(parts.levels.min(axis=0).tolist()))
    return parts, own, Local(finest, floor, (own - floor) / own if own > 0 else 0.0)


def published_groups(lattice: Lattice, parts: Parts) -> Groups:
    """Return the groups as they go out: parts with the same values in all columns are one."""
    base, codes, labels = lattice.base, list[np.ndarray](), list[tuple[str, ...]]()
    for i, column in enumerate(lattice.columns):
        places: dict[str, int] = {}
        own = np.empty(len(base), dtype=np.int64)
        for level in np.unique(parts.levels[:, i]).tolist():
            place = np.array([places.setdefault(label, len(places)) for label in column.labels[level]])
            here = parts.levels[parts.of, i] == level
            own[here] = place[column.maps[level][base.codes[here, i]]]
        codes.append(own)
        labels.append(tuple(places))
    cells = np.column_stack(codes)[base.cell_group]
    return grouped(base.known, base.secret, tuple(labels), base.values, cells, base.cell_value, base.cell_rows)


def _loss(lattice: Lattice, loss: Loss, parts: Parts) -> float:
    """Return the loss of a division: of a sum over rows and columns each row at its own levels."""
    if loss.values is None:
        assert loss.groups is not None
        return float(loss.groups(lattice, _grouped(lattice, parts.of)[0]))
    return float(np.sum(lattice.base.sizes * _values(lattice, loss, parts.levels[parts.of]).sum(axis=0)))


def _values(lattice: Lattice, loss: Loss, levels: np.ndarray) -> np.ndarray:
    """Return what a row of each group loses in each column at levels of its own, shape (columns, groups)."""
    assert loss.values is not None
    out = np.empty((len(lattice.columns), len(lattice.base)))
    for i, column in enumerate(lattice.columns):
        table = np.array([loss.values(lattice, i, level) for level in range(column.height + 1)])
        out[i] = table[levels[:, i], lattice.base.codes[:, i]]
    return out


def _grouped(lattice: Lattice, part: np.ndarray) -> tuple[Groups, np.ndarray]:
    """Return the groups of a division in the order of their numbers, and which one each group of the table is in."""
    base = lattice.base
    first, where, _ = merged_by(part, base.sizes)
    group = where[base.cell_group]
    cell, _, rows = merged_by(packed([group, base.cell_value], [len(first), len(base.values)]), base.cell_rows)
    names = tuple(range(len(first)))
    found = Groups(("part",), base.secret, (names,), base.values, np.array(names)[:, None], group[cell],
                   base.cell_value[cell], rows)  # fmt: skip
    return found, where


def _at(lattice: Lattice, node: Node) -> Parts:
    """Return the groups of a node as a division."""
    codes = [column.maps[level][code]
             for column, level, code in zip(lattice.columns, node, lattice.base.codes.T, strict=True)]  # fmt: skip
    sizes = [len(column.labels[level]) for column, level in zip(lattice.columns, node, strict=True)]
    first, where, _ = merged_by(packed(codes, sizes), lattice.base.sizes)
    return Parts(where, np.tile(np.array(node), (len(first), 1)))


def _tight(lattice: Lattice, parts: Parts) -> Parts:
    """Return the division with each column of a part at the finest level at which its rows have one value."""
    levels = parts.levels.copy()
    order = np.argsort(parts.of, kind="stable")
    starts = np.flatnonzero(np.diff(parts.of[order], prepend=-1))
    for i, column in enumerate(lattice.columns):
        for level in reversed(range(column.height)):
            codes = column.maps[level][lattice.base.codes[order, i]]
            one = np.minimum.reduceat(codes, starts) == np.maximum.reduceat(codes, starts)
            levels[one & (levels[:, i] > level), i] = level
    return Parts(parts.of, levels)


def _split(lattice: Lattice, loss: Loss, parts: Parts) -> Parts:
    """Return the division split until no part can be: in each round each part by the column that gains most."""
    closed = np.zeros(len(parts.levels), dtype=bool)
    while True:
        parts = _tight(lattice, parts)
        most, column = np.full(len(closed), -1.0), np.zeros(len(closed), dtype=np.int64)
        child = np.zeros(len(lattice.base), dtype=np.int64)
        for i in range(len(lattice.columns)):
            own = _children(lattice, parts, i, closed)
            gain = _gains(lattice, loss, parts, i, own)
            better = gain > most
            most[better], column[better] = gain[better], i
            child = np.where(better[parts.of], own, child)
        if (most < 0).all():
            return parts
        first, where, _ = merged_by(packed([parts.of, child], [len(closed), int(child.max()) + 1]), lattice.base.sizes)
        before = parts.of[first]
        levels, down = parts.levels[before].copy(), np.flatnonzero(child[first])
        levels[down, column[before[down]]] -= 1
        parts, closed = Parts(where, levels), most[before] < 0


def _gains(lattice: Lattice, loss: Loss, parts: Parts, column: int, child: np.ndarray) -> np.ndarray:
    """Return what each part loses less when its children go a level down in a column; -1 where it has none."""
    assert loss.values is not None
    table = np.array([loss.values(lattice, column, level) for level in range(lattice.columns[column].height + 1)])
    levels, codes = parts.levels[parts.of, column], lattice.base.codes[:, column]
    less = (table[levels, codes] - table[np.maximum(levels - 1, 0), codes]) * lattice.base.sizes * (child > 0)
    many = len(parts.levels)
    return np.where(np.bincount(parts.of, child, many) > 0, np.bincount(parts.of, less, many), -1.0)


def _children(lattice: Lattice, parts: Parts, column: int, closed: np.ndarray) -> np.ndarray:
    """Return for each group of the table to which child of its part, a level down in a column, it goes; 0 if it stays.

    Children that break a guarantee stay together. If what stays breaks one too, the smallest of the others stays with
    it; where that is not enough, the part is not split by this column.
    """
    coded, levels = lattice.columns[column], parts.levels[parts.of, column]
    movable = (levels > 0) & ~closed[parts.of]
    child = np.zeros(len(levels), dtype=np.int64)
    for level in np.unique(levels[movable]).tolist():
        here = movable & (levels == level)
        child[here] = coded.maps[level - 1][lattice.base.codes[here, column]] + 1
    if not movable.any():
        return child
    span = int(child.max()) + 1

    def broken() -> np.ndarray:  # of each group of the table, whether the part that it is in now breaks a guarantee
        found, where = _grouped(lattice, np.where(movable, parts.of * span + child, -1))
        return lattice.left_out(found)[where] & movable

    child[broken()] = 0
    staying = broken()
    if staying.any():
        lacking = np.bincount(parts.of, staying, len(closed)) > 0
        child[_smallest(lattice, parts, child, span) & lacking[parts.of]] = 0
        child[(np.bincount(parts.of, broken(), len(closed)) > 0)[parts.of]] = 0
    return child


def _smallest(lattice: Lattice, parts: Parts, child: np.ndarray, span: int) -> np.ndarray:
    """Return which groups of the table go to the child of fewest rows of their part."""
    first, where, rows = merged_by(parts.of * span + child, lattice.base.sizes)
    moved = np.flatnonzero(child[first] > 0)
    order = moved[np.lexsort((moved, rows[moved], parts.of[first[moved]]))]
    chosen = np.zeros(len(first), dtype=bool)
    chosen[order[np.flatnonzero(np.diff(parts.of[first[order]], prepend=-1))]] = True
    return chosen[where]
