"""Counts made non-negative, whole and consistent: a projection by least squares, which is told.

Tables of counts are consistent when some table over all their columns has them as margins. The nearest consistent ones,
in units of the noise, are margins of the table that solves a linear least-squares problem, bounded by 0 where asked.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.publishing.noising.estimates import Estimates
from divulge.publishing.statistics import Count, People

MOST_JOINT = 600_000
"""Cells of the table over all columns that consistent counts are margins of, at most."""

_NEAR = 1e-4
"""Counts that may not be negative are this near to the nearest ones: root mean square, in deviations of the noise."""

_STEPS, _LOOK = 5000, 20
"""The most steps of the descent, and after how many it is asked how near it is."""


def adjusted(
    found: Sequence[Estimates],
    sizes: Mapping[str, int],
    rows: int | None,
    *,
    non_negative: bool,
    whole: bool,
    consistent: bool,
) -> list[Estimates]:
    """Return statistics whose counts have been treated as asked; others are as they were.

    Intervals stay, which hold the true counts: they are cut off at 0 where the counts are, and reach to the new values.
    """
    counts = [i for i, one in enumerate(found) if isinstance(one.statistic, (Count, People))]
    values = [np.asarray(found[i].values, dtype=float) for i in counts]
    if non_negative:
        values = [np.maximum(value, 0) for value in values]
    out = list(found)
    if consistent:  # counts of people have no common totals: somebody can be in several groups
        moved = [k for k, i in enumerate(counts) if isinstance(found[i].statistic, Count)]
        noisy = [np.asarray(found[counts[k]].values, dtype=float) for k in moved]
        bys = [found[counts[k]].statistic.by for k in moved]
        deviations = [float(found[counts[k]].error.flat[0]) for k in moved]
        fitted = projected(noisy, bys, deviations, sizes, rows, non_negative, whole) if moved else []
        errors = after(bys, deviations, sizes, rows is not None) if moved else []
        for k, value, error in zip(moved, fitted, errors, strict=True):
            values[k] = value
            out[counts[k]] = replace(found[counts[k]], error=np.full_like(found[counts[k]].error, error))
    for i, value in zip(counts, values, strict=True):
        low, high = (np.asarray(part, dtype=float) for part in (found[i].low, found[i].high))
        if non_negative:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        out[i] = replace(out[i], values=value, low=np.minimum(low, value), high=np.maximum(high, value))
    return out


def projected(
    values: Sequence[np.ndarray],
    bys: Sequence[tuple[str, ...]],
    deviations: Sequence[float],
    sizes: Mapping[str, int],
    total: int | None,
    non_negative: bool,
    whole: bool,
) -> list[np.ndarray]:
    """Return the margins nearest to some tables of counts, weighted by their deviations; with a public total, of it.

    Examples
    --------
    >>> row, column = np.array([4.0, 2.0]), np.array([3.0, 5.0])
    >>> a, b = projected([row, column], [("x",), ("y",)], [1.0, 1.0], {"x": 2, "y": 2}, None, True, False)
    >>> a.round(6).tolist(), b.round(6).tolist()  # both sums were 6 and 8, and are 7 now
    ([4.5, 2.5], [2.5, 4.5])
    """
    names = tuple(dict.fromkeys(name for by in bys for name in by))
    shape = tuple(sizes[name] for name in names)
    require_few_combinations(bys, sizes)
    noisy = any(deviation > 0 for deviation in deviations)  # a table without noise, beside others, is the public total
    weights = [1 / deviation if deviation > 0 else float(not noisy) for deviation in deviations]
    margins = [_Margin(_laid(value, by, names), _summed(by, names), weight)
               for value, by, weight in zip(values, bys, weights, strict=True)]  # fmt: skip
    table = _nearest_positive(margins, shape, total) if non_negative else _nearest(margins, shape, total)
    if whole:
        table = rounded(table.ravel(), total).reshape(shape)
    out: list[np.ndarray] = []
    for by in bys:
        summed = table.sum(axis=_summed(by, names))
        kept = [name for name in names if name in by]
        out.append(np.transpose(summed, [kept.index(name) for name in by]) if by else summed)
    return out


def after(
    bys: Sequence[tuple[str, ...]], deviations: Sequence[float], sizes: Mapping[str, int], total: bool
) -> list[float]:
    """Return the standard deviation of a cell of each table after least squares; negative cells are not raised.

    A table is a sum of orthogonal effects, one for each set A of its columns, of prod (n_i - 1) dimensions. Tables that
    have A among their columns observe the effect, each as a sum of c rows of the joint table a cell: its variance is
    v = 1 / sum c_j / sigma_j^2. A cell of table l with N cells has the variance c_l / N sum over its A of dim(A) v(A);
    of a public total the effect of no column has none.

    Examples
    --------
    >>> after([("x",)], [2.0], {"x": 5}, False)
    [2.0]
    >>> [round(one, 6) for one in after([("x",), ()], [1.0, 0.0], {"x": 4}, True)]  # sqrt(3/4), and the public total
    [0.866025, 0.0]
    """
    names = tuple(dict.fromkeys(name for by in bys for name in by))
    within = [math.prod(sizes[name] for name in names if name not in by) for by in bys]
    seen = list(zip(bys, within, deviations, strict=True))

    def variance(effect: tuple[str, ...]) -> float:
        if total and not effect:
            return 0.0
        observed = [(c, sigma) for by, c, sigma in seen if set(effect) <= set(by)]
        if any(sigma == 0 for _, sigma in observed):
            return 0.0
        return 1 / math.fsum(c / sigma**2 for c, sigma in observed)

    out: list[float] = []
    for by, c in zip(bys, within, strict=True):
        effects = [effect for k in range(len(by) + 1) for effect in combinations(by, k)]
        parts = [math.prod(sizes[name] - 1 for name in effect) * variance(effect) for effect in effects]
        out.append(math.sqrt(c * math.fsum(parts) / math.prod(sizes[name] for name in by)))
    return out


def require_few_combinations(bys: Sequence[tuple[str, ...]], sizes: Mapping[str, int]) -> None:
    """Refuse tables of counts over columns with too many combinations to make them consistent.

    Examples
    --------
    >>> require_few_combinations([("x",), ("y",)], {"x": 1000, "y": 1000})
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `consistent` must be about columns with at most 600,000 combinations; their ...
    """
    joint = math.prod(sizes[name] for name in dict.fromkeys(name for by in bys for name in by))
    if not joint <= MOST_JOINT:
        raise DivulgeError.of(
            "consistent", f"be about columns with at most {MOST_JOINT:,} combinations", "their number", f"{joint:,}",
            "publish the table over all columns, or leave the counts as they are.",
        )  # fmt: skip


@dataclass(frozen=True)
class _Margin:
    """Noisy counts in the order of the joint table, the axes of it that they sum over, and 1 / their deviation."""

    counts: np.ndarray
    axes: tuple[int, ...]
    weight: float

    def residual(self, table: np.ndarray) -> np.ndarray:
        return table.sum(axis=self.axes) - self.counts


def _laid(value: np.ndarray, by: tuple[str, ...], names: tuple[str, ...]) -> np.ndarray:
    """Return a table of counts with its axes in the order of the joint table."""
    return np.transpose(np.asarray(value), [by.index(name) for name in names if name in by])


def _summed(by: tuple[str, ...], names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(i for i, name in enumerate(names) if name not in by)


def _nearest(margins: Sequence[_Margin], shape: tuple[int, ...], total: int | None) -> np.ndarray:
    """Return the table whose margins are nearest, whatever its signs: least squares on the incidence of margins."""
    sparse, linalg = require("scipy.sparse", "science"), require("scipy.sparse.linalg", "science")
    joint = math.prod(shape)
    cells = np.arange(joint)
    places = np.indices(shape).reshape(len(shape), joint)
    blocks: list[Any] = []
    targets: list[np.ndarray] = []
    for one in margins:
        kept = [i for i in range(len(shape)) if i not in one.axes]
        cell = np.ravel_multi_index(places[kept], [shape[i] for i in kept]) if kept else np.zeros(joint, dtype=int)
        full = np.full(joint, one.weight)
        blocks.append(sparse.csr_matrix((full, (cell, cells)), shape=(one.counts.size, joint)))
        targets.append(one.counts.ravel() * one.weight)
    if total is not None:
        heavy = 1e3 * max(one.weight for one in margins)
        blocks.append(sparse.csr_matrix(np.full((1, joint), heavy)))
        targets.append(np.array([total * heavy]))
    matrix, target = sparse.vstack(blocks).tocsr(), np.concatenate(targets)
    table = np.asarray(linalg.lsmr(matrix, target, atol=1e-12, btol=1e-12)[0])
    if total is not None and table.sum() > 0:
        table = table * (total / table.sum())
    return table.reshape(shape)


def _nearest_positive(margins: Sequence[_Margin], shape: tuple[int, ...], total: int | None) -> np.ndarray:
    """Return the table without negative cells whose margins are nearest, by accelerated projected gradients.

    With f half the squares and g its gradient, f(z) - f* is at most <g, z> - min(g, 0) S, where S bounds the sum of the
    nearest table (with a public total <g, z> - min(g) S); twice that bounds the squared distance of its margins.

    References
    ----------
    Beck, Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", 2009.
    """
    published = sum(one.counts.size for one in margins)

    def gradient(z: np.ndarray) -> np.ndarray:
        found = np.zeros(shape)
        for one in margins:
            found += one.weight**2 * np.expand_dims(one.residual(z), one.axes)
        return found

    rate = 1 / sum(one.weight**2 * math.prod(shape[i] for i in one.axes) for one in margins)
    start = float(np.mean([max(one.counts.sum(), 0) for one in margins])) if total is None else total
    z = ahead = np.full(shape, start / math.prod(shape))
    momentum = 1.0
    for step in range(_STEPS):
        if step % _LOOK == 0:
            g = gradient(z)
            least = float(g.min())
            slope = least if total is not None else min(least, 0.0)
            gap = float((g * z).sum()) - slope * (_largest_sum(margins, z) if total is None else total)
            if 2 * gap <= _NEAR**2 * published:
                break
        new = _positive(ahead - rate * gradient(ahead), total)
        if ((ahead - new) * (new - z)).sum() > 0:
            momentum = 1.0
        grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead, z, momentum = new + (momentum - 1) / grown * (new - z), new, grown
    return z


def _largest_sum(margins: Sequence[_Margin], z: np.ndarray) -> float:
    """Return what the nearest table can sum up to: it errs no more than z does, in each margin."""
    squares = sum(one.weight**2 * float((one.residual(z) ** 2).sum()) for one in margins)
    return min(float(one.counts.sum()) + math.sqrt(one.counts.size * squares) / one.weight
               for one in margins if one.weight)  # fmt: skip


def _positive(table: np.ndarray, total: int | None) -> np.ndarray:
    """Return the nearest table without negative cells, with a public total of that sum (Michelot's algorithm)."""
    if total is None:
        return np.maximum(table, 0)
    over, active = -math.inf, table.ravel()
    while (shift := (float(active.sum()) - total) / active.size) > over:
        over, active = shift, active[active > shift]
        if not active.size:
            break
    return np.maximum(table - over, 0)


def rounded(table: np.ndarray, total: int | None) -> np.ndarray:
    """Return whole numbers with the total: those with the largest remainders are rounded up (Hamilton's method).

    Examples
    --------
    >>> rounded(np.array([1.4, 1.4, 2.2]), 5).tolist()
    [2.0, 1.0, 2.0]
    """
    floor = np.floor(table)
    up = round(float(table.sum() if total is None else total)) - int(floor.sum())
    order = np.argsort(-(table - floor).round(9), kind="stable")
    floor[order[: max(up, 0)]] += 1
    return floor
