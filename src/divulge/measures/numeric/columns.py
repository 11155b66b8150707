"""What the measures need of a matrix, gathered in one pass: extremes of the columns, largest joint entries, row sums.

A dense float matrix is read in panels of rows that fit the processor's cache, on two threads when it is large, so that
nothing of the size of the matrix is ever allocated; an exact one is read whole, a sparse one by its stored entries.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from divulge import exact, kernels
from divulge.model.channel import Channel, is_small, is_sparse
from divulge.model.entries import frozen, places
from divulge.model.joint import Joint
from divulge.panels import PANEL, THREADED, height, in_parts, panels

TINY = float(np.finfo(np.float64).tiny)
"""Stands in for 0 under a logarithm that is multiplied by 0."""

_FEW = 1 << 15
"""Entries of which another array is had from memory that is at hand: more are asked of the operating system."""


class Extremes(NamedTuple):
    """Per column: largest and smallest entry, and the first row that holds each, arrays of shape (M,)."""

    top: np.ndarray
    bottom: np.ndarray
    top_at: np.ndarray
    bottom_at: np.ndarray

    def only(self, columns: np.ndarray) -> "Extremes":
        """Return the extremes of some of the columns, which rise."""
        if len(columns) == len(self.top):
            return self
        return Extremes(self.top[columns], self.bottom[columns], self.top_at[columns], self.bottom_at[columns])

    def merged(self, other: "Extremes") -> "Extremes":
        """Return the extremes over the rows of both."""
        higher, lower = other.top > self.top, other.bottom < self.bottom
        return Extremes(
            np.where(higher, other.top, self.top),
            np.where(lower, other.bottom, self.bottom),
            np.where(higher, other.top_at, self.top_at),
            np.where(lower, other.bottom_at, self.bottom_at),
        )


FirstStep = tuple[np.ndarray, np.ndarray]
"""Of rows beside their mean q: D_x = sum_y C_xy log(C_xy / q_y), shape (N,), and sum_x e^D_x C_xy / N, shape (M,)."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """One pass over a float matrix with weights p: what every measure of the profile is made of.

    `likely` are the extremes over rows with p > 0, `all` over all rows; `joint_top` is max_x p_x C_xy, shape (M,);
    `row_logs` is sum_y C_xy log C_xy, shape (N,); of dense ones `outer` is p @ C.
    """

    likely: Extremes
    all: Extremes
    joint_top: np.ndarray
    row_logs: np.ndarray
    outer: np.ndarray | None = None
    first: FirstStep | None = None


def ends_and_logs(
    matrix: np.ndarray, mean_row: np.ndarray | None = None
) -> tuple[Extremes, np.ndarray, FirstStep | None]:
    """Return the extremes of each column, `row_logs` and `first` of a dense float matrix, at once."""
    sweep = _Sweep(matrix, ("row_logs", "ends"), mean_row=mean_row)
    return sweep.extremes, sweep.row_logs, sweep.first


def gather(matrix: Any, weights: np.ndarray, mean_row: np.ndarray | None = None) -> Gathered:
    """Return everything at once, for a dense or sparse float matrix; of a dense one `first`, given its mean row."""
    rows = (weights > 0).nonzero()[0]
    if is_sparse(matrix):
        ends = extremes(matrix)
        likely = ends if len(rows) == matrix.shape[0] else extremes(matrix, rows)
        return Gathered(likely, ends, largest_joint(matrix, weights), sums_of_c_log_c(matrix))
    sweep = _Sweep(matrix, ("row_logs", "ends", "outer"), weights, mean_row)
    ends = sweep.extremes
    if len(rows) < len(matrix):
        ends = ends.merged(extremes(matrix, np.flatnonzero(~(weights > 0))))
    return Gathered(sweep.extremes, ends, sweep.joint_top, sweep.row_logs, sweep.outer, sweep.first)


def column_ends(
    matrix: Any, rows: np.ndarray | None = None, floats: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (largest, smallest) entry of each column, over `rows` (indices) only when given.

    `floats` are the entries of an exact matrix as float64, where they are known already and all rows count.
    """
    if matrix.dtype == object and (rows is None or len(rows) == len(matrix)):
        floats = exact.as_floats(matrix) if floats is None else floats
        return _exact_end(matrix, floats, 1.0)[0], _exact_end(matrix, floats, -1.0)[0]
    if rows is None and isinstance(matrix, np.ndarray) and matrix.size <= THREADED:
        return matrix.max(axis=0), matrix.min(axis=0)
    ends = extremes(matrix, rows)
    return ends.top, ends.bottom


def extremes(matrix: Any, rows: np.ndarray | None = None) -> Extremes:
    """Return the extremes of each column of a dense, exact or sparse matrix, over `rows` (indices) only when given."""
    dense = isinstance(matrix, np.ndarray) and matrix.dtype != object
    if dense and matrix.size > _FEW:
        counting = None if rows is None else np.bincount(rows, minlength=len(matrix))
        return _Sweep(matrix, ("ends",), counting).extremes
    part = matrix if rows is None or len(rows) == matrix.shape[0] else matrix[rows]
    if dense:
        top_at, bottom_at, y = part.argmax(axis=0), part.argmin(axis=0), places(part.shape[1])
        ends = Extremes(part[top_at, y], part[bottom_at, y], top_at, bottom_at)
    elif is_sparse(part):
        ends = _sparse_extremes(part)
    else:
        floats = exact.as_floats(part)
        (top, top_at), (bottom, bottom_at) = _exact_end(part, floats, 1.0), _exact_end(part, floats, -1.0)
        ends = Extremes(top, bottom, top_at, bottom_at)
    if part is matrix or rows is None:
        return ends
    return Extremes(ends.top, ends.bottom, rows[ends.top_at], rows[ends.bottom_at])


def likely_ends(joint: Joint) -> Extremes:
    """Return the extremes of each column over the secrets that can occur; the joint keeps them for its next measure."""
    kept = vars(joint)
    if "likely_ends" not in kept:
        kept["likely_ends"] = extremes(joint.c, joint.x)
    return kept["likely_ends"]


def all_ends(channel: Channel) -> Extremes:
    """Return the extremes of each column over all secrets; the channel keeps them for its next measure."""
    kept = vars(channel)
    if "all_ends" not in kept:
        kept["all_ends"] = extremes(channel.matrix)
    return kept["all_ends"]


def _exact_end(part: np.ndarray, floats: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest (sign 1) or smallest (-1) entry of each exact column and its first row.

    Rounding to floats keeps the order, so that only rows which share the extreme float are compared as fractions.
    """
    at = (sign * floats).argmax(axis=0)
    columns = np.arange(part.shape[1])
    tied = floats == floats[at, columns]
    for j in np.flatnonzero(tied.sum(axis=0) > 1).tolist():
        rows = np.flatnonzero(tied[:, j])
        column = part[rows, j]
        if len(set(map(id, column.tolist()))) > 1:  # equal entries of a large channel are mostly one object
            at[j] = rows[column.argmax() if sign > 0 else column.argmin()]
    return part[at, columns], at


def column_tops(matrix: np.ndarray) -> np.ndarray:
    """Return the largest entry of each column of a float matrix without negative entries or NaN.

    Such floats are in the order of their bits read as integers, which NumPy compares faster.
    """
    return np.maximum.reduce(matrix.view(np.int64), axis=0).view(np.float64)


def largest_joint(matrix: Any, weights: np.ndarray) -> np.ndarray:
    """Return max_x p_x C_xy for each column, shape (M,), in the arithmetic of its operands."""
    if is_sparse(matrix):
        top = np.zeros(matrix.shape[1])
        filled = np.flatnonzero(np.diff(matrix.indptr))
        scaled = matrix.data * weights[matrix.indices]
        top[filled] = np.maximum.reduceat(scaled, matrix.indptr[filled])
        return top
    if matrix.dtype == object:
        joint = matrix * weights[:, None]
        return _exact_end(joint, exact.as_floats(joint), 1.0)[0]
    plain = all(one.dtype.char == "d" and one.flags.c_contiguous for one in (matrix, weights))
    loop = kernels.fastest(kernels.joint_tops, matrix.size) if plain and matrix.size < THREADED else None
    if loop:
        top = np.zeros(matrix.shape[1])
        loop(matrix, weights, top)
        return top
    if is_small(matrix):
        return column_tops(matrix * weights[:, None])

    def part(first: int, last: int) -> np.ndarray:
        top, space = np.zeros(matrix.shape[1]), np.empty((height(matrix, _FEW), matrix.shape[1]))
        for rows in panels(matrix, first, last, _FEW):
            scaled = np.multiply(matrix[rows], weights[rows, None], out=space[: rows.stop - rows.start])
            np.maximum(top, column_tops(scaled), out=top)
        return top

    return np.maximum.reduce(in_parts(matrix, part))


def sums_of_c_log_c(matrix: Any) -> np.ndarray:
    """Return sum_y C_xy log C_xy for each row of a float matrix, shape (N,), in nats; 0 log 0 = 0."""
    if is_sparse(matrix):
        return np.bincount(matrix.indices, matrix.data * np.log(matrix.data), minlength=matrix.shape[0])
    if is_small(matrix):
        if matrix.size <= _FEW:
            return _row_logs(matrix)
        return np.concatenate([_row_logs(matrix[rows]) for rows in panels(matrix, size=_FEW)])
    return _Sweep(matrix, ("row_logs",)).row_logs


def row_logs(channel: Channel) -> np.ndarray:
    """Return `sums_of_c_log_c` of a channel, which keeps them: another prior asks for no logarithm again."""
    kept = vars(channel)
    if "row_logs" not in kept:
        kept["row_logs"] = frozen(sums_of_c_log_c(channel.floats))
    return kept["row_logs"]


_LOOPED = 1 << 14
"""Entries up to which one loop over all takes less time than calls of NumPy."""


def few(channel: Channel) -> np.ndarray | None:
    """Return C where it is few doubles in rows of some, which a loop takes at once; else None; the channel keeps it."""
    kept = vars(channel)
    if "few" not in kept:
        c = channel.matrix
        looped = is_small(c) and c.size <= _LOOPED and 1 < c.shape[1] <= kernels.MOST_SUMMED and c.flags.c_contiguous
        kept["few"] = c if looped else None
    return kept["few"]


def with_logs(channel: Channel) -> np.ndarray | None:
    """Return `few` with `row_logs` as one column more, or None; the channel keeps it."""
    kept = vars(channel)
    if "with_logs" not in kept:
        c = few(channel)
        kept["with_logs"] = None if c is None else frozen(np.column_stack([c, row_logs(channel)]))
    return kept["with_logs"]


def _row_logs(matrix: np.ndarray) -> np.ndarray:
    logs = np.maximum(matrix, TINY)
    return np.vecdot(matrix, np.log(logs, out=logs))


def shifts(matrix: Any, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (r, d): the row r of the likeliest secret and d = q - r = sum_x p_x (C_x - r), each of shape (M,).

    Summed as differences, so that d keeps its digits where rows are nearly alike or one secret is nearly certain.
    """
    likeliest = int(np.argmax(p))
    others = p.copy()
    others[likeliest] = 0.0
    if is_sparse(matrix):
        base = matrix[[likeliest]].toarray().ravel()
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        moved = np.bincount(column, others[matrix.indices] * (matrix.data - base[column]), minlength=len(base))
        return base, moved - base * absent_mass(matrix, others)
    base = matrix[likeliest]
    shift = np.zeros(matrix.shape[1])
    for rows in panels(matrix):
        shift += others[rows] @ (matrix[rows] - base)
    return base, shift


def mean_distances(matrix: Any, p: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return sum_x p_x |C_xy - level_y| for each column of a float matrix, shape (M,): a sum of one sign."""
    if is_sparse(matrix):
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        stored = p[matrix.indices] * np.abs(matrix.data - level[column])
        return np.bincount(column, stored, minlength=len(level)) + absent_mass(matrix, p) * level
    return sum((p[rows] @ np.abs(matrix[rows] - level) for rows in panels(matrix)), start=np.zeros(len(level)))


def absent_mass(c: Any, p: np.ndarray) -> np.ndarray:
    """Return P(x: C_xy = 0) for each column of a float matrix, to full relative precision, and 0 where there is none.

    In a sparse column it is the mass of all secrets from the likeliest absent one on, less that of those stored.
    """
    if not is_sparse(c):
        return sum((p[rows] @ (c[rows] == 0) for rows in panels(c)), start=np.zeros(c.shape[1]))
    falling = np.argsort(-p, kind="stable")
    rank = np.empty_like(falling)
    rank[falling] = np.arange(len(p))
    column = np.repeat(np.arange(c.shape[1]), np.diff(c.indptr))
    ranks = np.sort(column * len(p) + rank[c.indices]) - column * len(p)
    in_place = ranks == np.arange(len(ranks)) - c.indptr[column]
    first = np.bincount(column, in_place, minlength=c.shape[1]).astype(np.intp)
    from_there = np.append(np.cumsum(p[falling][::-1])[::-1], 0.0)
    stored = np.bincount(column, np.where(in_place, 0.0, p[falling[ranks]]), minlength=c.shape[1])
    return np.maximum(from_there[first] - stored, 0.0)


class _Sweep:
    """One pass over the panels of a dense float matrix, taking the parts that are wanted.

    Rows without weight take no part in the extremes. Of a large matrix a compiled loop takes the extremes and the joint
    entries together (`kernels.column_ends`). Logarithms come first: while they are computed, the next rows arrive.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        wanted: tuple[str, ...],
        weights: np.ndarray | None = None,
        mean_row: np.ndarray | None = None,
    ) -> None:
        self.matrix, self.weights = matrix, weights
        self.row_logs, self._distances = np.empty(len(matrix)), np.empty(len(matrix))
        self._counts = None if weights is None or (weights > 0).all() else weights > 0
        fits = "ends" in wanted and matrix.flags.c_contiguous
        self._loop: Any = kernels.fastest(kernels.column_ends, matrix.size) if fits else None
        steps = [*wanted]
        if mean_row is not None:
            self._log_mean = np.log(np.maximum(mean_row, TINY))
            steps.append("first")
        self._steps = [getattr(self, f"_take_{step}") for step in steps]
        parts = in_parts(matrix, self._part)
        self.extremes = functools.reduce(Extremes.merged, (part.extremes for part in parts))
        self.joint_top = np.maximum.reduce([part.joint_top for part in parts])
        self.outer = np.add.reduce([part.outer for part in parts])
        moved = np.add.reduce([part.moved for part in parts])
        self.first: FirstStep | None = None if mean_row is None else (self._distances, moved)

    def _part(self, first: int, last: int) -> "_Running":
        running = _Running(self.matrix.shape[1], height(self.matrix, PANEL // 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            for rows in panels(self.matrix, first, last):
                for step in self._steps:
                    step(running, rows, self.matrix[rows])
        return running

    def _halves(self, rows: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the rows of a panel in parts for which there is working space."""
        return ((part, self.matrix[part]) for part in panels(self.matrix, rows.start, rows.stop, PANEL // 2))

    def _take_ends(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        """Take extremes and joint entries by the compiled loop; in a block with rows that do not count, by NumPy."""
        if self._loop is None or (self._counts is not None and not self._counts[rows].all()):
            for part, some in self._halves(rows):
                self._take_extremes(running, part, some)
                if self.weights is not None:
                    self._take_joint_top(running, part, some)
            return
        found, weights = running.extremes, np.ones(len(block)) if self.weights is None else self.weights[rows]
        known = found.top, found.bottom, found.top_at, found.bottom_at, running.joint_top
        self._loop(block, np.asarray(weights, dtype=np.float64), rows.start, *known)

    def _take_extremes(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        counting = None if self._counts is None or self._counts[rows].all() else np.flatnonzero(self._counts[rows])
        part = block if counting is None else block[counting]
        if len(part) == 0:
            running.top_here.fill(0.0)
            return
        found = running.extremes
        np.maximum.reduce(part, axis=0, out=running.top_here)
        np.minimum.reduce(part, axis=0, out=running.column)
        for here, best, at, better in (
            (running.top_here, found.top, found.top_at, np.greater),
            (running.column, found.bottom, found.bottom_at, np.less),
        ):
            columns = better(here, best, out=running.better).nonzero()[0]
            best[columns] = here[columns]
            inside = (running.taken(part, columns) == best[columns]).argmax(axis=0)
            at[columns] = rows.start + (inside if counting is None else counting[inside])

    def _take_joint_top(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        """Scale, after the extremes, only columns where largest weight times largest entry exceeds what is known."""
        weights: Any = self.weights
        np.multiply(running.top_here, weights[rows].max(), out=running.column)
        columns = np.greater(running.column, running.joint_top, out=running.better).nonzero()[0]
        if len(columns) < block.shape[1] // 4:
            scaled = running.taken(block, columns)
            scaled *= weights[rows, None]
            running.joint_top[columns] = np.maximum(running.joint_top[columns], np.maximum.reduce(scaled, axis=0))
        else:
            scaled = np.multiply(block, weights[rows, None], out=running.block[: len(block)])
            np.maximum.reduce(scaled, axis=0, out=running.column)
            np.maximum(running.joint_top, running.column, out=running.joint_top)

    def _take_outer(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        """Add p @ C as `panels.weighted_sum` does."""
        weights: Any = self.weights
        running.outer += weights[rows] @ block

    def _take_row_logs(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        """Take C log C of half a panel at a time; where a sum is NaN there are zeros: once more, with 0 log 0 = 0."""
        for part, some in self._halves(rows):
            logs, found = running.block[: len(some)], self.row_logs[part]
            if not running.zeros:
                np.vecdot(some, np.log(some, out=logs), out=found)
                running.zeros = bool(np.isnan(found).any())
            if running.zeros:
                np.log(np.maximum(some, TINY, out=logs), out=logs)
                np.vecdot(some, logs, out=found)

    def _take_first(self, running: "_Running", rows: slice, block: np.ndarray) -> None:
        """Take the distances D of rows from their mean, and add the rows weighted by e^D / N."""
        self._distances[rows] = self.row_logs[rows] - block @ self._log_mean
        running.moved += np.exp(self._distances[rows]) / len(self.matrix) @ block


class _Running:
    """What one thread has found so far, and its working space."""

    def __init__(self, columns: int, height: int) -> None:
        nowhere = np.zeros(columns, dtype=np.intp)
        self.extremes = Extremes(np.full(columns, -1.0), np.full(columns, np.inf), nowhere, nowhere.copy())
        self.joint_top, self.top_here, self.zeros = np.zeros(columns), np.zeros(columns), False
        self.outer, self.moved = np.zeros(columns), np.zeros(columns)
        self.column, self.better, self.block = np.empty(columns), np.empty(columns, bool), np.empty((height, columns))

    def taken(self, block: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return a copy of some columns of a block, in the working space."""
        space = self.block.ravel()[: len(block) * len(columns)].reshape(len(block), len(columns))
        return np.take(block, columns, axis=1, out=space, mode="clip")


def _sparse_extremes(matrix: Any) -> Extremes:
    """Return the extremes of a CSC matrix without stored zeros, whose column minimum is 0 unless the column is full."""
    n, m = matrix.shape
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    counts, starts = np.diff(matrix.indptr), matrix.indptr[:-1]
    filled, full = np.flatnonzero(counts), np.flatnonzero(counts == n)
    top, bottom = np.zeros(m), np.zeros(m)
    top_at, bottom_at = np.zeros(m, dtype=np.intp), np.zeros(m, dtype=np.intp)
    column_of = np.repeat(np.arange(m), counts)
    if len(filled):
        top[filled] = np.maximum.reduceat(matrix.data, starts[filled])
        hits = np.flatnonzero(matrix.data == top[column_of])[::-1]
        top_at[column_of[hits]] = matrix.indices[hits]
        in_place = matrix.indices == np.arange(len(matrix.indices)) - starts[column_of]
        # The first row without an entry: stored rows are sorted, so the leading run 0, 1, ... ends there.
        bottom_at[filled] = np.add.reduceat(in_place.astype(np.intp), starts[filled])
    for j in full:
        column = matrix.data[starts[j] : starts[j] + n]
        bottom[j], bottom_at[j] = column.min(), column.argmin()
    return Extremes(top, bottom, top_at, bottom_at)
