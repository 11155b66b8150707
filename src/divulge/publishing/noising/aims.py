"""From how far numbers may be off to what is promised: the largest noise, and the guarantee that follows from it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.publishing.noising.calibration import LEAST_LEVEL
from divulge.publishing.noising.estimates import draws_of
from divulge.publishing.noising.families import Laplace, Noise, above, family_named
from divulge.publishing.noising.noise import each, ranks_scale
from divulge.publishing.queries import Plan, Query, Unit
from divulge.publishing.statistics import Mean, Proportion, Quantiles, Reach, Variance
from divulge.roots import turn

_FINER = 1e-12
"""Scales are taken this much smaller than the largest that will do: what is divided by shares is rounded."""


@dataclass(frozen=True)
class Aim:
    """What follows from the intervals: the guarantee, and the share of each query in it."""

    guarantee: Guarantee
    shares: tuple[float, ...]


def aimed(plan: Plan, unit: Unit, noise: str | None, level: float, reaches: Sequence[Reach]) -> Aim:
    """Return what is promised where no number of statistic j is off by more than reaches[j], all with the `level`.

    Counts and sums are off by their noise alone. What is divided by a number of rows n is off by (sum of use w) /
    (n - 2 w_c), over the widths w of what it is made of, and so are the ends of its interval: with n >= N by r at most
    where the sum of use w, with 2 r more for the count, is r N, of all such widths those that cost least. A quantile
    is off by ranks, whatever the rows are.

    Each query gets the largest noise that its statistics allow, and pays for that: epsilon is the sum of L1 / s for
    Laplace noise of scale s, and rho that of L2^2 / (2 s^2) for Gaussian noise.

    >>> from divulge.publishing.counting.groups import Categories
    >>> from divulge.publishing.queries import plan_of
    >>> from divulge.publishing.statistics import Reach
    >>> cells = {"sex": Categories.of(["f", "m"], others=False, gaps=False)}
    >>> found = aimed(plan_of([dv.Count("sex")], cells, [], Unit()), Unit(), None, 0.95, [Reach(Fraction(20))])
    >>> float(found.guarantee.epsilon) < 0.361, found.shares  # 2 / scale; two of e^(-20 / scale) are .05
    (True, (1.0,))
    """
    family = Laplace if noise is None else family_named(noise)
    changed = [query.changes(unit) for query in plan.queries]
    widths = _widths(plan, reaches, [family.norm(l1, l2) if l1 else 0.0 for l1, l2 in changed], 1 / family.power)
    draws = draws_of(plan.queries, [family(1.0 if l1 else 0.0) for l1, _ in changed])
    miss = each(level, draws)
    spent = [Fraction(0)] * len(changed)
    for i, (l1, l2) in enumerate(changed):
        if l1:
            query = plan.queries[i]
            widest = _of_choices(query, widths[i], miss) if query.kind == "ranks" else _widest(family, widths[i], miss)
            spent[i] = family.spent(Fraction(widest), l1, l2)
    total = sum(spent, Fraction(0))
    if 0 < total < LEAST_LEVEL:
        raise DivulgeError.of("interval", "be narrower", "it", "so wide that no noise in 64 bits fills it")
    shares = tuple(float(one / total) if one else 1.0 for one in spent)  # what no record changes is not paid for
    return Aim(family.guarantee(above(total)), shares)


def _widths(plan: Plan, reaches: Sequence[Reach], norms: Sequence[float], power: float) -> list[int]:
    """Return by how many whole steps each query may be off, for the statistics that it serves.

    What a query costs goes with its norm over its scale to a power.
    """
    several = list(reaches) * (len(plan.statistics) if len(reaches) == 1 else 1)
    if len(several) != len(plan.statistics):
        raise DivulgeError.of(
            "interval", f"be one number, or {len(plan.statistics)}, one for each statistic", "it",
            f"{len(several)} numbers",
        )  # fmt: skip
    widths = [math.inf] * len(plan.queries)
    for one, reach, parts in zip(plan.statistics, several, plan.parts, strict=True):
        theirs = _of_one(one, [plan.queries[i] for i in parts], reach, [norms[i] for i in parts], power)
        for i, width in zip(parts, theirs, strict=True):
            widths[i] = min(widths[i], width)
    return [int(width) for width in widths]


def _shared(room: Fraction, uses: Sequence[Fraction], norms: Sequence[float], power: float) -> list[int]:
    """Return whole widths w with sum of use w <= room, of all such those that cost least: norm^power / w^power each.

    At the least, what each more step costs goes with its use: w goes with (norm^power / use)^(1 / (power + 1)). What no
    record changes costs nothing, and has no width.
    """
    wanted = [(norm**power / float(use)) ** (1 / (power + 1)) for norm, use in zip(norms, uses, strict=True)]
    whole = math.fsum(float(use) * one for use, one in zip(uses, wanted, strict=True))
    others = [math.floor(float(room) * one / whole) for one in wanted[1:]]
    rest = room - sum((use * width for use, width in zip(uses[1:], others, strict=True)), Fraction(0))
    return [math.floor(rest / uses[0]), *others]


def _of_mean(one: Mean, queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float) -> list[int]:
    """Return by how many steps the sum, and the count where it is no public one, may be off for a mean.

    It is off by (w_s + R w_c) / (n - 2 w_c), R half its range.
    """
    r, far = reach.width / queries[0].step, queries[0].reach
    return _shared(r * reach.rows, [Fraction(1), far + 2 * r][: len(queries)], norms, power)


def _of_variance(
    one: Variance, queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float
) -> list[int]:
    """Return the same for a variance: sums of squares and of values from the middle, and the count.

    Squares have a mean in [0, R^2], off by (w_q + R^2 w_c) / (n - 2 w_c); values one in [-R, R], off as above, and its
    square by 2 R times that.
    """
    r, far = reach.width / queries[0].step ** 2, queries[0].reach
    sums, squares, *counts = _shared(
        r * reach.rows, [Fraction(2 * far), Fraction(1), 3 * far**2 + 2 * r][: len(queries)], norms, power
    )
    return [sums, squares, *counts]


def _of_share(
    one: Proportion, queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float
) -> list[int]:
    """Return by how many rows the counts with the value, and without it, may be off for a share.

    Of n rows, a of them with the value, it is off by |(n - a) e - a e'| / (n (n + e + e')) <= w / (n - 2 w) where both
    counts are off by w at most, and so are the ends of its interval; by w / n where n is public.
    """
    if not reach.width < 1:
        raise DivulgeError.of("interval", "be below 1 for a share", "it", f"{float(reach.width):g}")
    public = len(queries[0].shape) == len(queries[0].by)
    return [math.floor(reach.width * reach.rows / (1 if public else 1 + 2 * reach.width))]


def _of_ranks(
    one: Quantiles, queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float
) -> list[int]:
    """Return by how far ranks may be off for quantiles, in the units of their scores."""
    if not one.intervals:
        raise DivulgeError.of("intervals", "be there where they are asked for", "those of quantiles", "left away")
    return [math.floor(reach.width * query.only.denominator) for query in queries]


_OF_ROWS: dict[type, Callable[..., list[int]]] = {Mean: _of_mean, Proportion: _of_share, Variance: _of_variance}
"""Statistics that are so close where they are of so many rows or more."""


def _of_one(one: Any, queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float) -> list[int]:
    """Return by how much the queries of a statistic may be off, in their own steps."""
    written = f"{float(reach.width):g}"
    if reach.ranks != isinstance(one, Quantiles):
        hint = (
            f"write {written}rows where no more than {written} rows may lie between the end of an interval and the "
            "true quantile; how far that is in numbers depends on the rows, which the promise must not."
            if not reach.ranks else f"write {written}: rows are for quantiles."
        )  # fmt: skip
        raise DivulgeError.of("interval", "be in rows for quantiles, and for nothing else", one.kind, str(reach), hint)
    if isinstance(one, Quantiles):
        return _of_ranks(one, queries, reach, norms, power)
    if type(one) in _OF_ROWS and not reach.rows:
        raise DivulgeError.of(
            "interval", f"say of how many rows a {one.kind} is that close", "it", f"{written} alone",
            f"write {written}@100 where no group has fewer than 100 rows with a number; how wide the interval of a "
            f"{one.kind} is depends on that, and a promise must not depend on the data.",
        )  # fmt: skip
    if type(one) in _OF_ROWS:
        return _OF_ROWS[type(one)](one, queries, reach, norms, power)
    return [_steps(query, reach.width) for query in queries]


def _steps(query: Query, reach: Fraction) -> int:
    step = query.step if query.kind == "values" else Fraction(1)
    return math.floor(reach / step)


def _of_choices(query: Query, width: int, miss: float) -> float:
    """Return the largest scale with which both ends of an interval lie so near in rank, but for rounding.

    Each end is chosen for a rank that is `off` away, and is itself less than that off (`ranks_off`).
    """
    room = width // 2 - 1
    if room < 1:
        least = math.ceil(Fraction(4, query.only.denominator))
        raise DivulgeError.of("interval", "leave room for noise", "quantiles", "asked for to the row",
                              f"{least}rows is the least.")  # fmt: skip
    return room / ranks_scale(query.candidates + 1, miss) * (1 - _FINER)


def _widest(family: type[Noise], width: int, miss: float) -> float:
    """Return the largest scale, but for rounding, of noise that is beyond a width with probability at most `miss`."""

    def beyond(log: float) -> bool:
        return family(math.exp(log)).tail(width) > miss

    log, _ = turn(beyond, math.log(1e-3), math.log(1e12), width=1e-15)
    return math.exp(log) * (1 - _FINER)
