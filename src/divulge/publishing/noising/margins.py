"""Counts made non-negative, whole and consistent: a projection by least squares (SciPy), which is told.

Tables of counts are consistent when some table over all their columns has them as margins. The nearest consistent ones,
in units of the noise, are margins of the table that solves a linear least-squares problem, bounded by 0 where asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.publishing.noising.estimates import Estimates
from divulge.publishing.statistics import Count

MOST_JOINT = 50_000
"""Cells of the table over all columns that consistent counts are margins of, at most."""


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
    counts = [i for i, one in enumerate(found) if isinstance(one.statistic, Count)]
    values = [np.asarray(found[i].values, dtype=float) for i in counts]
    if consistent and counts:
        bys = [found[i].statistic.by for i in counts]
        deviations = [float(found[i].error.flat[0]) for i in counts]
        values = projected(values, bys, deviations, sizes, rows, non_negative, whole)
    elif non_negative:
        values = [np.maximum(value, 0) for value in values]
    out = list(found)
    for i, value in zip(counts, values, strict=True):
        low, high = (np.asarray(part, dtype=float) for part in (found[i].low, found[i].high))
        if non_negative:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        out[i] = replace(found[i], values=value, low=np.minimum(low, value), high=np.maximum(high, value))
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
    sparse, optimize = require("scipy.sparse", "science"), require("scipy.optimize", "science")
    names = tuple(dict.fromkeys(name for by in bys for name in by))
    shape = tuple(sizes[name] for name in names)
    joint = int(np.prod(shape, dtype=float)) if shape else 1
    if not joint <= MOST_JOINT:
        raise DivulgeError.of(
            "consistent", f"be about columns with at most {MOST_JOINT:,} combinations", "their number", f"{joint:,}",
            "publish the table over all columns, or leave the counts as they are.",
        )  # fmt: skip
    places = np.indices(shape).reshape(len(shape), joint)
    blocks: list[Any] = []
    targets: list[np.ndarray] = []
    for value, by, deviation in zip(values, bys, deviations, strict=True):
        cell = np.zeros(joint, dtype=np.int64)
        for name in by:
            cell = cell * sizes[name] + places[names.index(name)]
        weight = 1 / deviation if deviation > 0 else 1e3
        blocks.append(sparse.csr_matrix((np.full(joint, weight), (cell, np.arange(joint))), shape=(value.size, joint)))
        targets.append(value.ravel() * weight)
    if total is not None:
        heavy = 1e3 / min((d for d in deviations if d > 0), default=1.0)
        blocks.append(sparse.csr_matrix(np.full((1, joint), heavy)))
        targets.append(np.array([total * heavy]))
    bounds = (0, np.inf) if non_negative else (-np.inf, np.inf)
    matrix, target = sparse.vstack(blocks).tocsr(), np.concatenate(targets)
    solved = optimize.lsq_linear(matrix, target, bounds, lsmr_tol="auto", tol=1e-12, max_iter=200)
    table = np.asarray(solved.x)
    if total is not None and table.sum() > 0:
        table = table * (total / table.sum())
    if whole:
        table = rounded(table, total)
    grid = table.reshape(shape)
    out: list[np.ndarray] = []
    for by in bys:
        summed = grid.sum(axis=tuple(i for i, name in enumerate(names) if name not in by))
        kept = [name for name in names if name in by]
        out.append(np.transpose(summed, [kept.index(name) for name in by]) if by else summed)
    return out


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
