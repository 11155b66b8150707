"""From how far numbers may be off to what is promised: the largest noise, and the guarantee that follows from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.publishing.noising.calibration import LEAST_LEVEL
from divulge.publishing.noising.estimates import draws_of
from divulge.publishing.noising.families import Laplace, Noise, above, family_named
from divulge.publishing.noising.noise import each
from divulge.publishing.queries import Plan, Query, Unit
from divulge.publishing.statistics import Count, Cut, Mean, People, Reach, Sum
from divulge.roots import turn

FIXED = (Count, Cut, People, Sum)
"""Statistics whose intervals are as wide as the noise alone makes them, whatever the rows are; a mean's is for so many
rows or more."""

_FINER = 1e-12
"""Scales are taken this much smaller than the largest that will do: what is divided by shares is rounded."""


@dataclass(frozen=True)
class Aim:
    """What follows from the intervals: the guarantee, and the share of each query in it."""

    guarantee: Guarantee
    shares: tuple[float, ...]


def aimed(plan: Plan, unit: Unit, noise: str | None, level: float, reaches: Sequence[Reach]) -> Aim:
    """Return what is promised where no number of statistic j is off by more than reaches[j], all with the `level`.

    A mean of n rows from a sum that is off by w_s and a count that is off by w_c is off by (w_s + R w_c) / (n - 2 w_c)
    at most, R half its range, and so are the ends of its interval. With n >= N it is off by r where
    w_s + (R + 2 r) w_c = r N, and w_s and w_c are those of all such that cost least.

    Each query gets the largest noise that its statistics allow, and pays for that: epsilon is the sum of L1 / s for
    Laplace noise of scale s, and rho that of L2^2 / (2 s^2) for Gaussian noise.

    Examples
    --------
    >>> from divulge import Count
    >>> from divulge.publishing.counting.groups import Categories
    >>> from divulge.publishing.queries import plan_of
    >>> from divulge.publishing.statistics import Reach
    >>> cells = {"sex": Categories.of(["f", "m"], others=False, gaps=False)}
    >>> found = aimed(plan_of([Count("sex")], cells, [], Unit()), Unit(), None, 0.95, [Reach(Fraction(20))])
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
            spent[i] = family.spent(Fraction(_widest(family, widths[i], miss)), l1, l2)
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
        if not isinstance(one, (*FIXED, Mean)):
            raise DivulgeError.of(
                "interval", "come with counts, sums and means", "a statistic", one.kind,
                "its interval depends on the rows, which the promise must not: give a guarantee (--guarantee).",
            )  # fmt: skip
        if isinstance(one, Mean):
            theirs = _of_mean([plan.queries[i] for i in parts], reach, [norms[i] for i in parts], power)
        else:
            theirs = [_steps(plan.queries[i], reach.width) for i in parts]
        for i, width in zip(parts, theirs, strict=True):
            widths[i] = min(widths[i], width)
    return [int(width) for width in widths]


def _of_mean(queries: Sequence[Query], reach: Reach, norms: Sequence[float], power: float) -> list[int]:
    """Return by how many steps the sum, and the count where it is no public one, may be off for a mean."""
    if not reach.rows:
        raise DivulgeError.of(
            "interval", "say of how many rows a mean is that close", "it", f"{float(reach.width):g} alone",
            f"write {float(reach.width):g}@100 where no group has fewer than 100 rows with a number; how wide the "
            "interval of a mean is depends on that, and a promise must not depend on the data.",
        )  # fmt: skip
    step = reach.width / queries[0].step
    room = step * reach.rows
    if len(queries) == 1 or not norms[1]:
        return [math.floor(room)] * len(queries)
    each = max(abs(queries[0].low), abs(queries[0].high)) + 2 * step  # R + 2 r, in steps
    ratio = ((norms[1] / norms[0]) ** power / float(each)) ** (1 / (power + 1))  # where both cost least
    rows = math.floor(float(room) * ratio / (1 + float(each) * ratio))
    return [math.floor(room - each * rows), rows]


def _steps(query: Query, reach: Fraction) -> int:
    step = query.step if query.kind == "values" else Fraction(1)
    return math.floor(reach / step)


def _widest(family: type[Noise], width: int, miss: float) -> float:
    """Return the largest scale, but for rounding, of noise that is beyond a width with probability at most `miss`."""

    def beyond(log: float) -> bool:
        return family(math.exp(log)).tail(width) > miss

    log, _ = turn(beyond, math.log(1e-3), math.log(1e12), width=1e-15)
    return math.exp(log) * (1 - _FINER)
