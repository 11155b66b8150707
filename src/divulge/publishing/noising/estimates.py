"""From noisy whole numbers to statistics with intervals that hold together, by the law of the noise alone.

Every draw gets the same miss, so small that all of them are met together at the level: the draws are independent.
Whatever is computed from numbers that all lie in their intervals lies in its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.publishing import statistics
from divulge.publishing.noising.families import Noise
from divulge.publishing.noising.noise import chosen, each, half_width, noisy, ranks_off
from divulge.publishing.queries import Plan, Query
from divulge.releasing.drawing.chance import Chance


@dataclass(frozen=True)
class Drawn:
    """What was drawn for one query: noisy numbers with the half-width of their intervals; for ranks, chosen values.

    values : int64 array of the query's shape; for ranks of shape (3, cells): low, value, high as steps from the bottom
    width : half-width of the simultaneous interval, 0 for ranks
    """

    values: np.ndarray
    width: int
    deviation: float


def draws_of(queries: Sequence[Query], noises: Sequence[Noise]) -> int:
    """Return how many independent draws there are, each of which can miss its interval."""
    return sum(
        q.cells * (2 if q.kind == "ranks" else 1)
        for q, noise in zip(queries, noises, strict=True)
        if noise.scale and not (q.kind == "ranks" and q.draws == 1)
    )


def drawn(queries: Sequence[Query], noises: Sequence[Noise], totals: Sequence[np.ndarray], level: float) -> list[Drawn]:
    """Return every query's noisy numbers."""
    miss = each(level, draws_of(queries, noises))
    out: list[Drawn] = []
    for query, noise, exact in zip(queries, noises, totals, strict=True):
        if query.kind == "ranks":
            out.append(Drawn(_choices(query, noise, exact, miss), 0, math.nan))
        else:
            out.append(Drawn(noisy(exact, noise), half_width(noise, miss) if noise.scale else 0, noise.deviation))
    return out


def scores(rows: np.ndarray, above: int, below: int, shift: int = 0, beyond: str = "") -> np.ndarray:
    """Return how far the ranks of each value are from the rank `above` n + `shift`, in units of 1 / `below` of a row.

    A value with L rows below it and E at it has the ranks from L to L + E. `beyond` "low" or "high" puts a value before
    all others that stands for every rank below 0, or behind them for every rank above n.

    >>> scores(np.array([1, 2, 1]), 1, 2).tolist()  # the median of a, b, b, c, twice the distances
    [2, 0, 2]
    """
    upto = np.cumsum(rows) * below
    before = upto - rows * below
    n = int(upto[-1]) // below
    target = above * n + shift
    found = np.maximum(np.maximum(before - target, target - upto), 0)
    if beyond == "low":
        return np.concatenate([[max(target, 0)], found])
    if beyond == "high":
        return np.concatenate([found, [max(below * n - target, 0)]])
    return found


def _choices(query: Query, noise: Noise, rows: np.ndarray, miss: float) -> np.ndarray:
    """Return low, value and high of each cell: choices for the rank, and for ranks so far off that they enclose it."""
    above, below = query.only.numerator, query.only.denominator
    off = ranks_off(noise, query.candidates + 1, miss) + 1
    out = np.zeros((3, query.cells), dtype=np.int64)
    last, chance = query.candidates - 1, Chance()
    for cell in range(query.cells):
        out[1, cell] = chosen(scores(rows[cell], above, below), noise, chance)
        if query.draws == 1:
            out[0, cell], out[2, cell] = 0, last
            continue
        low = max(chosen(scores(rows[cell], above, below, -off, "low"), noise, chance) - 1, 0)
        high = min(chosen(scores(rows[cell], above, below, off, "high"), noise, chance), last)
        out[:, cell] = min(low, high), np.clip(out[1, cell], min(low, high), max(low, high)), max(low, high)
    return out


@dataclass(frozen=True)
class Estimates:
    """One statistic in every group: arrays of the shape of the groups; for quantiles one for each probability.

    at : probability of the quantile, or None
    values, low, high : float64 or int64 arrays
    error : float64 array, standard deviation of the noise, NaN where it is not known
    known : the ends between which every number lies, whatever is published
    """

    statistic: statistics.Statistic
    at: Any
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray
    known: tuple[float, float] = (-math.inf, math.inf)

    @property
    def blank(self) -> np.ndarray:
        """Where the interval is no narrower than what was known before: the number says nothing."""
        return (self.low <= self.known[0]) & (self.high >= self.known[1])


def estimates(plan: Plan, found: Sequence[Drawn], rows: int | None, shapes: Mapping[str, int]) -> list[Estimates]:
    """Return all statistics. `rows` is the number of rows where it is public."""
    out: list[Estimates] = []
    for one, parts in zip(plan.statistics, plan.parts, strict=True):
        queries, numbers = [plan.queries[i] for i in parts], [found[i] for i in parts]
        shape = tuple(shapes[name] for name in one.by)
        out += _ESTIMATES[type(one)](one, queries, numbers, rows, shape)
    return out


def _ends(number: Drawn, least: float = -math.inf) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = number.values.astype(float)
    low, high = np.maximum(values - number.width, least), np.maximum(values + number.width, least)
    return values, low, high


def _count(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    number = numbers[0]
    error = np.full(shape, number.deviation)
    known = (0.0, math.inf if rows is None or not number.width else float(rows))
    ends = (number.values - number.width, number.values + number.width)
    return [Estimates(one, None, number.values, *ends, error, known)]


def _sum(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    query, number = queries[0], numbers[0]
    step = float(query.step)
    values, low, high = (part * step for part in _ends(number))
    known = (-math.inf, math.inf)
    if rows is not None and number.width:
        known = (rows * min(query.low, 0) * step, rows * max(query.high, 0) * step)
    return [Estimates(one, None, values, low, high, np.full(shape, number.deviation * step), known)]


def _rows(numbers: Any, place: int, rows: int | None, shape: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the rows of each group, at least 1, with their interval, and the deviation of the noise."""
    if place < len(numbers):
        values, low, high = _ends(numbers[place])
        return np.maximum(values, 1.0), np.maximum(low, 1.0), high, numbers[place].deviation
    whole = np.full(shape, float(rows or 1))
    return whole, whole, whole, 0.0


def _ratio(low: np.ndarray, high: np.ndarray, least: np.ndarray, most: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of a / b over a in [low, high] and b in [least, most]; no ends where there is no row, b < 1."""
    over = np.maximum(most, 1.0)
    ends = np.minimum(low / least, low / over), np.maximum(high / least, high / over)
    return np.where(most < 1, -math.inf, ends[0]), np.where(most < 1, math.inf, ends[1])


def _mean(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    query = queries[0]
    total, low, high = _ends(numbers[0])
    n, least, most, spread = _rows(numbers, 1, rows, shape)
    below, above = _ratio(low, high, least, most)
    step = float(query.step)
    ends = (query.low * step, query.high * step)
    middle, centered = query.middle * step, np.clip(total / n * step, *ends)
    error = np.hypot(numbers[0].deviation * step, centered * spread) / n
    parts = (centered, np.clip(below * step, *ends), np.clip(above * step, *ends))
    value, lower, upper = (part + middle for part in parts)
    return [Estimates(one, None, value, lower, upper, error, (ends[0] + middle, ends[1] + middle))]


def _variance(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    query, step = queries[0], float(queries[0].step)
    total, low, high = _ends(numbers[0])
    square, square_low, square_high = _ends(numbers[1], 0.0)
    n, least, most, spread = _rows(numbers, 2, rows, shape)
    below, above = (np.clip(part, query.low, query.high) for part in _ratio(low, high, least, most))
    mean = np.clip(total / n, query.low, query.high)
    second, third = (np.clip(part, 0, queries[1].high) for part in _ratio(square_low, square_high, least, most))
    nearest = np.where((below <= 0) & (above >= 0), 0.0, np.minimum(abs(below), abs(above)))
    farthest = np.maximum(abs(below), abs(above))
    most_variance = ((query.high - query.low) / 2) ** 2
    value = np.clip(np.minimum(square / n, queries[1].high) - mean**2, 0, most_variance)
    parts = (value, np.clip(second - farthest**2, 0, most_variance), np.clip(third - nearest**2, 0, most_variance))
    error = np.sqrt(numbers[1].deviation ** 2 + (2 * mean * numbers[0].deviation) ** 2 + (mean**2 * spread) ** 2) / n
    value, lower, upper = (part * step**2 for part in parts)
    return [Estimates(one, None, value, lower, upper, error * step**2, (0.0, most_variance * step**2))]


def _proportion(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    number = numbers[0]
    if number.values.shape == shape:
        whole = np.full(shape, float(rows or 1))
        values, low, high = (np.clip(part / whole, 0, 1) for part in _ends(number, 0.0))
        return [Estimates(one, None, values, low, high, number.deviation / whole, (0.0, 1.0))]
    values, low, high = _ends(number, 0.0)
    part, rest = np.maximum(values[..., 0], 0), np.maximum(values[..., 1], 0)
    n = np.maximum(part + rest, 1.0)
    share = np.where(part + rest > 0, part / n, 0.5)
    under = np.divide(
        low[..., 0], low[..., 0] + high[..., 1], out=np.zeros(shape), where=low[..., 0] + high[..., 1] > 0
    )
    over = np.divide(high[..., 0], high[..., 0] + low[..., 1], out=np.ones(shape), where=high[..., 0] + low[..., 1] > 0)
    error = number.deviation * np.hypot(1 - share, share) / n
    return [Estimates(one, None, np.clip(share, under, over), under, over, error, (0.0, 1.0))]


def _quantiles(one: statistics.Statistic, queries: Any, numbers: Any, rows: int | None, shape: Any) -> list[Estimates]:
    out: list[Estimates] = []
    for query, number in zip(queries, numbers, strict=True):
        low, values, high = ((part.reshape(shape) + query.bottom) * float(query.step) for part in number.values)
        step = float(query.step)
        known = (query.bottom * step, (query.bottom + query.candidates - 1) * step)
        if query.draws == 1:
            low, high, known = np.full(shape, math.nan), np.full(shape, math.nan), _NOWHERE
        out.append(Estimates(one, query.only, values, low, high, np.full(shape, math.nan), known))
    return out


_NOWHERE = (-math.inf, math.inf)
"""Ends that no interval reaches: of quantiles without intervals nothing says how far off they are."""

_ESTIMATES: dict[type, Any] = {
    statistics.Count: _count,
    statistics.People: _count,
    statistics.Cut: _count,
    statistics.Numbers: _count,
    statistics.Sum: _sum,
    statistics.Mean: _mean,
    statistics.Variance: _variance,
    statistics.Proportion: _proportion,
    statistics.Quantiles: _quantiles,
}
