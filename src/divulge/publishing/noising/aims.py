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
from divulge.publishing.statistics import Count, Cut, People, Sum
from divulge.roots import turn

FIXED = (Count, Cut, People, Sum)
"""Statistics whose intervals are as wide as the noise alone makes them, whatever the rows are."""

_FINER = 1e-12
"""Scales are taken this much smaller than the largest that will do: what is divided by shares is rounded."""


@dataclass(frozen=True)
class Aim:
    """What follows from the intervals: the guarantee, and the share of each query in it."""

    guarantee: Guarantee
    shares: tuple[float, ...]


def aimed(plan: Plan, unit: Unit, noise: str | None, level: float, reaches: Sequence[Fraction]) -> Aim:
    """Return what is promised where no number of statistic j is off by more than reaches[j], all with the `level`.

    Each query gets the largest noise that its statistics allow, and pays for that: epsilon is the sum of L1 / s for
    Laplace noise of scale s, and rho that of L2^2 / (2 s^2) for Gaussian noise.

    Examples
    --------
    >>> from divulge import Count
    >>> from divulge.publishing.counting.groups import Categories
    >>> from divulge.publishing.queries import plan_of
    >>> cells = {"sex": Categories.of(["f", "m"], others=False, gaps=False)}
    >>> found = aimed(plan_of([Count("sex")], cells, [], Unit()), Unit(), None, 0.95, [Fraction(20)])
    >>> float(found.guarantee.epsilon) < 0.361, found.shares  # 2 / scale; two of e^(-20 / scale) are .05
    (True, (1.0,))
    """
    family = Laplace if noise is None else family_named(noise)
    widths = _widths(plan, reaches)
    changed = [query.changes(unit) for query in plan.queries]
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


def _widths(plan: Plan, reaches: Sequence[Fraction]) -> list[int]:
    """Return by how many whole steps each query may be off, for the statistics that it serves."""
    several = list(reaches) * (len(plan.statistics) if len(reaches) == 1 else 1)
    if len(several) != len(plan.statistics):
        raise DivulgeError.of(
            "interval", f"be one number, or {len(plan.statistics)}, one for each statistic", "it",
            f"{len(several)} numbers",
        )  # fmt: skip
    widths = [math.inf] * len(plan.queries)
    for one, reach, parts in zip(plan.statistics, several, plan.parts, strict=True):
        if not isinstance(one, FIXED):
            raise DivulgeError.of(
                "interval", "come with counts and sums", "a statistic", one.kind,
                "its interval depends on how many rows there are, which the promise must not: give a guarantee "
                "(--guarantee).",
            )  # fmt: skip
        for i in parts:
            widths[i] = min(widths[i], _steps(plan.queries[i], reach))
    return [int(width) for width in widths]


def _steps(query: Query, reach: Fraction) -> int:
    step = query.step if query.kind == "values" else Fraction(1)
    return math.floor(reach / step)


def _widest(family: type[Noise], width: int, miss: float) -> float:
    """Return the largest scale, but for rounding, of noise that is beyond a width with probability at most `miss`."""

    def beyond(log: float) -> bool:
        return family(math.exp(log)).tail(width) > miss

    log, _ = turn(beyond, math.log(1e-3), math.log(1e12), width=1e-15)
    return math.exp(log) * (1 - _FINER)
