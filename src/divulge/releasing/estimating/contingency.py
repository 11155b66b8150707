"""How often each combination of values occurs, streamed: codes a batch, counts in place, no Python object a row."""

import math
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.files.tables.source import Source
from divulge.model.labels import label_of, text_of
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled
from divulge.releasing.drawing.coding import Encoded, dictionary_of

_WORKERS = min(4, os.cpu_count() or 1)
"""Batches that are encoded, or parts of a file that are counted, at once."""

_DENSE = 1 << 22
"""Up to so many cells, a batch is counted into the whole table; beyond, only the cells that occur."""

_AXES = 30
"""Columns of a table of all combinations: NumPy has 64 axes, and so many columns of two values are too many cells."""


def merged(column: str) -> DivulgeError:
    """Return the error for a label of missing values that is a value of the column too."""
    condition, hint = f"be another label than the values of column {column!r}", "a missing value and it would be one."
    return DivulgeError.of("null_as", condition, "it", "one of them", hint)


@dataclass(frozen=True, eq=False, repr=False)
class Contingency(Tabled, Record):
    """Counts of the combinations that occur.

    Attributes
    ----------
    columns : tuple of str
    labels : tuple of tuples
        The values of each column, in order of first appearance; a missing value is None and comes last.
    cells : int array of shape (cells, columns)
        Positions of the labels of each combination that occurs.
    counts : int64 array of shape (cells,)

    Examples
    --------
    >>> found = dv.contingency({"x": ["a", "b", "a"], "y": ["c", "c", "c"]}, ["x", "y"])
    >>> found.labels, found.rows
    ((('a', 'b'), ('c',)), 3)
    >>> found.cells.tolist(), found.counts.tolist()
    ([[0, 0], [1, 0]], [2, 1])
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    cells: np.ndarray
    counts: np.ndarray

    @property
    def rows(self) -> int:
        """The number of rows counted."""
        return int(self.counts.sum())

    @property
    def missing(self) -> tuple[int, ...]:
        """The number of missing values of each column."""
        return tuple(
            int(self.counts[self.cells[:, k] == labels.index(None)].sum()) if None in labels else 0
            for k, labels in enumerate(self.labels)
        )

    def keep_missing_apart(self, null_as: Hashable) -> None:
        """Refuse a label for missing values that is a value of the column too: the two would be one.

        Examples
        --------
        >>> dv.contingency({"x": ["a", None]}, "x").keep_missing_apart("a")
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `null_as` must be another label than the values of column 'x'; it is one of ...
        """
        for column, labels in zip(self.columns, self.labels, strict=True):
            if None in labels and any(label is not None and text_of(label) == text_of(null_as) for label in labels):
                raise merged(column)

    def _shown(self) -> tuple[str, Table]:
        head = f"Counts of {', '.join(map(repr, self.columns))} in {number_of(self.rows, 'row')}"
        return head, (list(self.to_dict()), ["rows"], self.counts.reshape(-1, 1))

    def dense(self) -> np.ndarray:
        """Return the counts as a table with one axis a column.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f"], "ill": ["no", "no", "yes"]}
        >>> dv.contingency(table, ["sex", "ill"]).dense().tolist()
        [[1, 1], [1, 0]]
        """
        out = np.zeros([len(labels) for labels in self.labels], dtype=np.int64)
        out[tuple(self.cells.T)] = self.counts
        return out

    def to_dict(self) -> dict[Hashable, int]:
        """Return {value: count}, or {(value, value, ...): count} for several columns.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f"], "ill": ["no", "no", "yes"]}
        >>> dv.contingency(table, ["sex", "ill"]).to_dict()
        {('f', 'no'): 1, ('f', 'yes'): 1, ('m', 'no'): 1}
        """
        keys = zip(*(map(labels.__getitem__, places) for labels, places in self._by_column()), strict=True)
        counts = self.counts.tolist()
        if len(self.columns) == 1:
            return {key[0]: count for key, count in zip(keys, counts, strict=True)}
        return dict(zip(keys, counts, strict=True))

    def _by_column(self) -> Iterable[tuple[tuple[Hashable, ...], list[int]]]:
        return zip(self.labels, self.cells.T.tolist(), strict=True)


class _Column:
    """The values of one column seen so far; a value met again under another type or spelling is another value."""

    def __init__(self) -> None:
        self._positions: dict[Any, int] = {}
        self._last: tuple[list[Any], bool, np.ndarray] = [], False, np.empty(0, dtype=np.int64)

    def places(self, values: list[Any], missing: int) -> np.ndarray:
        """Return where each value of an array's own dictionary, and a missing one, is among those seen."""
        if self._last[:2] != (values, bool(missing)):
            keys = list(map(label_of, values))
            if missing:
                keys.append(None)
            lookup = [self._positions.setdefault(key, len(self._positions)) for key in keys]
            self._last = values, bool(missing), np.array(lookup, dtype=np.int64)
        return self._last[2]

    def ordered(self) -> tuple[tuple[Hashable, ...], np.ndarray]:
        """Return the labels, None last, and where each position went."""
        labels = list(self._positions)
        order = sorted(range(len(labels)), key=lambda i: labels[i] is None)
        places = np.empty(len(labels), dtype=np.int64)
        places[order] = np.arange(len(labels))
        return tuple(labels[i] for i in order), places

    def __len__(self) -> int:
        return len(self._positions)


Counts = tuple[list[tuple[list[Any], int]], tuple[np.ndarray, ...], np.ndarray]
"""Of a batch: values and missing rows of each column, combinations of their positions that occur, how often each."""


class Tally:
    """The combinations of the columns `names` counted so far, batch by batch.

    Rows are counted by the positions they arrive with; only the cells of a batch are translated, not its rows.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._seen = [_Column() for _ in names]
        self._narrow = len(names) <= _AXES
        self._dense = np.zeros([0] * (len(names) if self._narrow else 1), dtype=np.int64)
        self._bits = [1] * len(names)
        self._sparse: list[tuple[np.ndarray, np.ndarray]] = []
        self._pending = self._settled = 0

    def add(self, batch: Counts) -> None:
        """Add the counts of a batch."""
        columns, cells, counts = batch
        places = [column.places(*part) for column, part in zip(self._seen, columns, strict=True)]
        where = [place[cell] for place, cell in zip(places, cells, strict=True)]
        shape = [len(column) for column in self._seen]
        if self._narrow and np.prod(shape, dtype=float) <= _DENSE:
            grown = [(0, size - old) for size, old in zip(shape, self._dense.shape, strict=True)]
            self._dense = np.pad(self._dense, grown) if any(map(sum, grown)) else self._dense
            np.add.at(self._dense, tuple(where), counts)
        else:
            self._widen()
            self._sparse.append((self._key(where), counts))
            self._pending += len(counts)
            if self._pending > max(_DENSE, self._settled):  # so that each cell is met a few times in all
                self._settle()

    def _widen(self) -> None:
        """Give each column the bits that its places need in a key, and those that were kept their new keys."""
        bits = [max(old, (len(column) - 1).bit_length()) for old, column in zip(self._bits, self._seen, strict=True)]
        if bits != self._bits:
            for i, (kept, counts) in enumerate(self._sparse):
                columns = [self._column(kept, k) for k in range(len(bits))]
                self._sparse[i] = _joined(columns, bits), counts
            self._bits = bits

    def _key(self, where: Sequence[np.ndarray]) -> np.ndarray:
        return _joined(where, self._bits)

    def _column(self, kept: np.ndarray, k: int) -> np.ndarray:
        """Return the places of a column that were joined."""
        if kept.ndim == 2:
            return kept[:, k]
        return ((kept >> sum(self._bits[k + 1 :])) & ((1 << self._bits[k]) - 1)).astype(np.int32)

    def _settle(self) -> None:
        """Add up the cells that were met in several batches."""
        kept = np.concatenate([kept for kept, _ in self._sparse])
        counts = np.concatenate([counts for _, counts in self._sparse])
        self._sparse.clear()
        key = packed(kept.T, [1 << bits for bits in self._bits]) if kept.ndim == 2 else kept
        first, _, counts = merged_by(key, counts, places=False)
        self._sparse.append((kept[first], counts))
        self._pending, self._settled = 0, len(counts)

    def contingency(self) -> Contingency:
        """Return what was counted."""
        if self._sparse:
            if self._narrow:
                cells = np.argwhere(self._dense)
                self._sparse.append((self._key(list(cells.T)), self._dense[tuple(cells.T)]))
            self._settle()
            ((kept, counts),) = self._sparse
            found = np.column_stack([self._column(kept, k) for k in range(len(self.names))]), counts
        else:
            cells = np.argwhere(self._dense) if self._narrow else np.zeros((0, len(self.names)), dtype=np.int64)
            found = cells, self._dense[tuple(cells.T)] if self._narrow else self._dense
        return _gathered(self.names, self._seen, *found)


def _joined(where: Sequence[np.ndarray], bits: Sequence[int]) -> np.ndarray:
    """Return the places of each cell as one number, as many bits a column; where 64 are too few, side by side."""
    if sum(bits) > _MOST_BITS:
        return np.column_stack([part.astype(np.int32) for part in where])
    key = where[0].astype(np.int64)
    for part, own in zip(where[1:], bits[1:], strict=True):
        key <<= own
        key |= part
    return key


_MOST_BITS = 62
"""Keys of so many bits are whole numbers of 64 that are not negative."""


def marginal(found: Contingency, names: Sequence[str]) -> Contingency:
    """Return the contingency of some of the columns.

    >>> both = Contingency(("x", "y"), (("a", "b"), (0, 1)), np.array([[0, 0], [0, 1], [1, 1]]), np.array([4, 2, 1]))
    >>> marginal(both, ["x"]).to_dict()
    {'a': 6, 'b': 1}
    """
    places = [found.columns.index(name) for name in names]
    labels, cells = tuple(found.labels[place] for place in places), found.cells[:, places]
    first, _, counts = merged_by(packed(cells.T, list(map(len, labels))), found.counts, places=False)
    return Contingency(tuple(names), labels, cells[first], counts)


def counts_of(columns: Sequence[Encoded]) -> Counts:
    """Return the counts of one batch, of columns that are encoded."""
    sizes = [len(values) + bool(missing) for values, _, missing in columns]
    cells, counts = _cells(sizes, [indices for _, indices, _ in columns])
    return [(values, missing) for values, _, missing in columns], cells, counts


def counted(names: tuple[str, ...], source: Source) -> Contingency:
    """Return the contingency of the columns `names` of a table: of its parts side by side, or of its batches."""
    columns = list(dict.fromkeys(names))

    def of_batch(batch: Any) -> Counts:
        return counts_of([dictionary_of(batch.column(name)) for name in names])

    def of_part(part: Source) -> Counts:
        return _gathered_again(_tallied(names, map(of_batch, part.batches(columns, names))).contingency())

    parts = source.parts(columns, _WORKERS)
    with ThreadPoolExecutor(_WORKERS) as workers:
        if len(parts) > 1:
            return _tallied(names, workers.map(of_part, parts)).contingency()
        return _tallied(names, _in_turn(workers, of_batch, source.batches(columns, names))).contingency()


def _tallied(names: tuple[str, ...], found: Iterable[Counts]) -> Tally:
    tally = Tally(names)
    for counts in found:
        tally.add(counts)
    return tally


def _gathered_again(found: Contingency) -> Counts:
    """Return the counts of a part of a table, as if it were one batch."""
    columns = [([label for label in labels if label is not None], int(None in labels)) for labels in found.labels]
    return columns, tuple(found.cells.T), found.counts


def _in_turn(workers: Executor, work: Callable[[Any], Counts], given: Iterable[Any]) -> Iterator[Counts]:
    """Yield the counts of each batch; the next ones are on their way."""
    coming: deque[Any] = deque()
    for batch in given:
        coming.append(workers.submit(work, batch))
        if len(coming) > _WORKERS:
            yield coming.popleft().result()
    while coming:
        yield coming.popleft().result()


def _cells(sizes: Sequence[int], indices: Sequence[np.ndarray]) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Return the combinations of indices, one array a column, that occur in a batch, and how often each does."""
    if np.prod(sizes, dtype=float) > _DENSE:
        key = packed(indices, sizes)
        first, _, counts = merged_by(key, np.ones(len(key), dtype=np.int64), places=False)
        return tuple(index[first] for index in indices), counts
    flat = indices[0]
    for size, more in zip(sizes[1:], indices[1:], strict=True):
        flat = flat.astype(np.int32) * np.int32(size)
        flat += more
    counts = _frequencies(flat, math.prod(sizes))
    found = np.flatnonzero(counts)
    return np.unravel_index(found, sizes), counts[found]


def _frequencies(places: np.ndarray, size: int) -> np.ndarray:
    """Return how often each of the numbers below `size` occurs; of few numbers, pairs are counted, in half the steps.

    Two numbers of 32 bits side by side are one of 64, a + b 2^32: times 1 + size 2^32 it has a size + b in its upper
    half.
    """
    if size > _IN_PAIRS or len(places) < 1 << 17:
        return np.bincount(places, minlength=size)
    both = np.ascontiguousarray(places[: len(places) // 2 * 2], dtype=np.int32).view(np.int64)
    space, pairs = np.empty(_AT_ONCE, dtype=np.int64), np.zeros(size * size, dtype=np.int64)
    for start in range(0, len(both), _AT_ONCE):
        piece = both[start : start + _AT_ONCE]
        found = np.multiply(piece, 1 + (size << 32), out=space[: len(piece)])
        pairs += np.bincount(np.right_shift(found, 32, out=found), minlength=size * size)
    counts = pairs.reshape(size, size).sum(axis=0) + pairs.reshape(size, size).sum(axis=1)
    counts[places[-1:]] += len(places) % 2
    return counts


_IN_PAIRS, _AT_ONCE = 256, 1 << 17
"""Numbers whose pairs have a table that stays in a processor's cache, and how many pairs are made at a time."""


def _gathered(names: tuple[str, ...], seen: Sequence[_Column], cells: np.ndarray, counts: np.ndarray) -> Contingency:
    ordered = [column.ordered() for column in seen]
    for k, (_, places) in enumerate(ordered):
        cells[:, k] = places[cells[:, k]]
    return Contingency(names, tuple(labels for labels, _ in ordered), cells, counts)


_MOST_KEY = 1 << 62
"""Combinations of values are numbered below this, in 64 bits."""


def packed(codes: Iterable[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Return one whole number for each combination of codes, in their order; dense ranks where 64 bits are too few."""
    key, span = np.zeros(0, dtype=np.int64), 1
    for i, (code, size) in enumerate(zip(codes, sizes, strict=True)):
        if span * size > _MOST_KEY:
            found, key = np.unique(key, return_inverse=True)
            span = len(found)
        if i:
            key *= size
            key += code
        else:
            key = code.astype(np.int64)
        span *= size
    return key


def merged_by(key: np.ndarray, weights: np.ndarray, places: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (a place of each key that occurs, in the order of keys; the place of each entry among them; sums)."""
    order = np.argsort(key, kind="stable")
    sorted_ = key[order]
    new = np.flatnonzero(np.concatenate([[True], sorted_[1:] != sorted_[:-1]])) if len(key) else order
    where = np.empty(len(key) if places else 0, dtype=np.int64)
    if places:
        where[order] = np.repeat(np.arange(len(new)), np.diff(new, append=len(key)))
    return order[new], where, np.add.reduceat(weights[order], new) if len(key) else weights
