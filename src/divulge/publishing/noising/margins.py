"""Counts made non-negative, whole and consistent: a projection by least squares, which is told.

Tables of counts are consistent when some table over all their columns has them as margins. The nearest consistent ones,
in units of the noise, are margins of the table that solves a linear least-squares problem, bounded by 0 where asked.
Unbounded it has a closed form in the tables themselves; bounded, one over all columns is made.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from divulge.errors import DivulgeError
from divulge.gradients import accelerated
from divulge.publishing.noising.estimates import Estimates
from divulge.publishing.statistics import Count, Cut, Numbers, People

MOST_JOINT = 600_000
"""Cells of the table over all columns, at most, of which counts are margins that are neither negative nor broken."""

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
    counts = [i for i, one in enumerate(found) if isinstance(one.statistic, (Count, Cut, Numbers, People))]
    values = [np.asarray(found[i].values, dtype=float) for i in counts]
    if non_negative:
        values = [np.maximum(value, 0) for value in values]
    out = list(found)
    if consistent:  # counts of people have no common totals: somebody can be in several groups
        moved = [k for k, i in enumerate(counts) if isinstance(found[i].statistic, Count)]
        noisy = [np.asarray(found[counts[k]].values, dtype=float) for k in moved]
        bys = [found[counts[k]].statistic.by for k in moved]
        deviations = [float(found[counts[k]].error.flat[0]) for k in moved]
        total = _public_total(noisy, deviations, rows)
        fitted = projected(noisy, bys, deviations, sizes, total, non_negative, whole) if moved else []
        errors = after(bys, deviations, sizes, total is not None) if moved else []
        for k, value, error in zip(moved, fitted, errors, strict=True):
            values[k] = value
            out[counts[k]] = replace(found[counts[k]], error=np.full_like(found[counts[k]].error, error))
    for i, value in zip(counts, values, strict=True):
        low, high = (np.asarray(part, dtype=float) for part in (found[i].low, found[i].high))
        if non_negative:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
        out[i] = replace(out[i], values=value, low=np.minimum(low, value), high=np.maximum(high, value))
    return out


def _public_total(tables: Sequence[np.ndarray], deviations: Sequence[float], rows: int | None) -> int | None:
    """Return the number of rows that count, where it is public: it is also where a table of one cell has no noise.

    So it is with replaced people of whom one row counts each.

    >>> _public_total([np.array([3.0, 4.0]), np.array(8.0)], [1.5, 0.0], None)
    8
    """
    exact = [int(table.sum()) for table, deviation in zip(tables, deviations, strict=True) if deviation == 0]
    return exact[0] if rows is None and exact else rows


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

    >>> row, column = np.array([4.0, 2.0]), np.array([3.0, 5.0])
    >>> a, b = projected([row, column], [("x",), ("y",)], [1.0, 1.0], {"x": 2, "y": 2}, None, True, False)
    >>> a.round(6).tolist(), b.round(6).tolist()  # both sums were 6 and 8, and are 7 now
    ([4.5, 2.5], [2.5, 4.5])
    """
    names = tuple(dict.fromkeys(name for by in bys for name in by))
    shape = tuple(sizes[name] for name in names)
    noisy = any(deviation > 0 for deviation in deviations)  # a table without noise, beside others, is the public total
    weights = [1 / deviation if deviation > 0 else float(not noisy) for deviation in deviations]
    margins = [_Margin(_laid(value, by, names), _summed(by, names), weight)
               for value, by, weight in zip(values, bys, weights, strict=True)]  # fmt: skip
    if not non_negative and not whole:
        effects = _effects(margins, shape, total)
        return [_back(_with_effects(effects, one.axes, shape), by, names) for one, by in zip(margins, bys, strict=True)]
    require_few_combinations(bys, sizes)
    table = _nearest_positive(margins, shape, total) if non_negative else _nearest(margins, shape, total)
    if whole:
        table = rounded(table.ravel(), total).reshape(shape)
    return [_back(table.sum(axis=_summed(by, names)), by, names) for by in bys]


def _back(summed: np.ndarray, by: tuple[str, ...], names: tuple[str, ...]) -> np.ndarray:
    """Return a table whose axes are in the order of the joint table with those of its own statistic."""
    kept = [name for name in names if name in by]
    return np.transpose(summed, [kept.index(name) for name in by]) if by else summed


def after(
    bys: Sequence[tuple[str, ...]], deviations: Sequence[float], sizes: Mapping[str, int], total: bool
) -> list[float]:
    """Return the standard deviation of a cell of each table after least squares; negative cells are not raised.

    A table is a sum of orthogonal effects, one for each set A of its columns, of prod (n_i - 1) dimensions. Tables that
    have A among their columns observe the effect, each as a sum of c rows of the joint table a cell: its variance is
    v = 1 / sum c_j / sigma_j^2. A cell of table l with N cells has the variance c_l / N sum over its A of dim(A) v(A);
    of a public total the effect of no column has none.

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
    """Refuse tables of counts over columns with too many combinations to make them consistent, and whole or positive.

    >>> require_few_combinations([("x",), ("y",)], {"x": 1000, "y": 1000})
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `consistent` must be about columns with at most 600,000 combinations where counts ...
    """
    joint = math.prod(sizes[name] for name in dict.fromkeys(name for by in bys for name in by))
    if not joint <= MOST_JOINT:
        raise DivulgeError.of(
            "consistent", f"be about columns with at most {MOST_JOINT:,} combinations where counts are made whole or "
            "not negative too", "their number", f"{joint:,}",
            "without non_negative and whole (--non-negative, --whole) counts of any tables are made to agree.",
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
    """Return the table whose margins are nearest, whatever its signs."""
    return _with_effects(_effects(margins, shape, total), (), shape)


def _effects(
    margins: Sequence[_Margin], shape: tuple[int, ...], total: int | None
) -> dict[tuple[int, ...], np.ndarray]:
    """Return the effects, by their axes, of the table whose margins are nearest, whatever its signs.

    A table is a sum of orthogonal effects, one for each set A of axes. A margin that sums c cells a cell shows those of
    sets among its own axes, in its mean over the summed cells, with a variance in proportion to sigma^2 / c: least
    squares takes their means, weighted by c / sigma^2. No table over all axes is made.

    Source: Xiao, He, Zhang, Kifer, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
    Functions", arXiv:2305.08175.
    """
    axes = range(len(shape))
    found: dict[tuple[int, ...], np.ndarray] = {}
    weights: dict[tuple[int, ...], float] = {}
    for one in margins:
        cells = math.prod(shape[i] for i in one.axes)
        weight = cells * one.weight**2
        if not weight:
            continue
        for effect, part in _own(np.expand_dims(one.counts / cells, one.axes), [i for i in axes if i not in one.axes]):
            found[effect] = found.get(effect, 0.0) + weight * part
            weights[effect] = weights.get(effect, 0.0) + weight
    found = {effect: part / weights[effect] for effect, part in found.items()}
    if total is not None:
        found[()] = np.full((1,) * len(shape), total / math.prod(shape))
    return found


def _own(table: np.ndarray, axes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Give the effects of a table: along each axis its mean, or what is left without it."""
    if not axes:
        yield (), table
        return
    mean = table.mean(axis=axes[0], keepdims=True)
    yield from _own(mean, axes[1:])
    for effect, part in _own(table - mean, axes[1:]):
        yield (axes[0], *effect), part


def _with_effects(
    effects: Mapping[tuple[int, ...], np.ndarray], summed: tuple[int, ...], shape: tuple[int, ...]
) -> np.ndarray:
    """Return the table with these effects, summed over some axes, over which all effects that have them sum to 0."""
    own = tuple(1 if i in summed else size for i, size in enumerate(shape))
    table = np.zeros(own)
    for effect, part in effects.items():
        if not set(effect) & set(summed):
            table += part
    return np.asarray(table * math.prod(shape[i] for i in summed)).squeeze(summed)


def _nearest_positive(margins: Sequence[_Margin], shape: tuple[int, ...], total: int | None) -> np.ndarray:
    """Return the table without negative cells whose margins are nearest, by accelerated projected gradients.

    With f half the squares and g its gradient, f(z) - f* is at most <g, z> - min(g, 0) S, where S bounds the sum of the
    nearest table (with a public total <g, z> - min(g) S); twice that bounds the squared distance of its margins.
    """
    published = sum(one.counts.size for one in margins)

    def gradient(z: np.ndarray) -> np.ndarray:
        found = np.zeros(shape)
        for one in margins:
            found += one.weight**2 * np.expand_dims(one.residual(z), one.axes)
        return found

    rate = 1 / sum(one.weight**2 * math.prod(shape[i] for i in one.axes) for one in margins)
    size = float(np.mean([max(one.counts.sum(), 0) for one in margins])) if total is None else total
    z = start = np.full(shape, size / math.prod(shape))

    def onward(ahead: np.ndarray) -> np.ndarray:
        return _positive(ahead - rate * gradient(ahead), total)

    for step, z in zip(range(_STEPS + 1), accelerated(onward, start), strict=False):
        if step % _LOOK == 0:
            g = gradient(z)
            least = float(g.min())
            slope = least if total is not None else min(least, 0.0)
            gap = float((g * z).sum()) - slope * (_largest_sum(margins, z) if total is None else total)
            if 2 * gap <= _NEAR**2 * published:
                break
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

    >>> rounded(np.array([1.4, 1.4, 2.2]), 5).tolist()
    [2.0, 1.0, 2.0]
    """
    floor = np.floor(table)
    up = round(float(table.sum() if total is None else total)) - int(floor.sum())
    order = np.argsort(-(table - floor).round(9), kind="stable")
    floor[order[: max(up, 0)]] += 1
    return floor
