"""Which groups of a table break a guarantee, for many groups at once: doubles decide, and fractions what is close."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.catalog import as_guarantees
from divulge.guarantees.guarantee import Guarantee
from divulge.tables import models
from divulge.tables.groups import Groups
from divulge.tables.models import NEAR, Extreme
from divulge.units import factor

Broken = np.ndarray
"""Which groups break a guarantee, boolean of shape (groups,)."""


def over(
    numerators: np.ndarray, denominators: np.ndarray, bound: Any, exceeds: Callable[[Fraction], bool] | None = None
) -> np.ndarray:
    """Return which ratios of whole numbers are above a bound, decided exactly; `exceeds` decides a bound of its own."""
    if bound == math.inf:
        return np.zeros(len(numerators), dtype=bool)
    limit, decide = float(bound), exceeds or (lambda ratio: ratio > Fraction(bound))
    ratios = numerators / denominators
    found = ratios > limit
    near = np.flatnonzero(np.abs(ratios - limit) <= NEAR * max(abs(limit), 1.0))
    if len(near):
        pairs = np.column_stack([numerators[near], denominators[near]])
        unique, where = np.unique(pairs, axis=0, return_inverse=True)
        decided = np.array([decide(Fraction(int(a), int(b))) for a, b in unique.tolist()])
        found[near] = decided[where.ravel()]
    return found


def _lifts(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    expected = groups.sizes[groups.cell_group] * groups.totals[groups.cell_value]
    return groups.cell_rows * groups.rows, expected


def _whole(least: Any) -> int:
    """Return the least whole number that is not below one; of inf, what no count reaches."""
    return models.MOST_SUM if least == math.inf else math.ceil(least)


def _any(groups: Groups, cells: np.ndarray) -> Broken:
    return np.logical_or.reduceat(cells, groups.starts)


def _log_over(epsilon: Any, strict: bool) -> Callable[[Fraction], bool]:
    """Return whether log r > epsilon, with `strict` whether it is at least epsilon."""
    if strict:
        return lambda ratio: exact.at_most(lambda: -exact.arb(ratio).log(), -Fraction(epsilon))
    return lambda ratio: not exact.at_most(lambda: exact.arb(ratio).log(), epsilon)


def _gains(groups: Groups, epsilon: Any, strict: bool = False) -> Broken:
    return _any(groups, over(*_lifts(groups), factor(epsilon), _log_over(epsilon, strict)))


def _costs(groups: Groups, epsilon: Any, strict: bool = False) -> Broken:
    if epsilon == math.inf:
        return np.zeros(len(groups), dtype=bool)
    rows, expected = _lifts(groups)
    lacking = groups.distinct < len(groups.values)
    return lacking | _any(groups, over(expected, rows, factor(epsilon), _log_over(epsilon, strict)))


def _ordered(groups: Groups, distance: Any) -> Broken:
    many = len(groups.values)
    if many == 1:
        return np.zeros(len(groups), dtype=bool)
    return over(models.ordered_variations(groups), groups.sizes * groups.rows * (many - 1), distance)


def _entropy(groups: Groups, l: Any) -> Broken:
    if l == math.inf:
        return np.ones(len(groups), dtype=bool)
    entropies, line = models.entropies_of(groups), math.log(l)
    found = entropies < line
    for group in np.flatnonzero(np.abs(entropies - line) <= NEAR).tolist():
        rows = models.profiles_of(groups, np.array([group]))[0].tolist()
        found[group] = not exact.at_most(lambda rows=rows: -models.entropy_ball(rows).exp(), -Fraction(l))
    return found


def _recursive(groups: Groups, c: Any, l: Any) -> Broken:
    if c == math.inf:
        return np.zeros(len(groups), dtype=bool)
    first, tails = models.recursive_parts(groups, _whole(l))
    found = tails == 0
    found[~found] = over(first[~found], tails[~found], c, lambda ratio: ratio >= Fraction(c))
    return found


def _enhanced(groups: Groups, beta: Any) -> Broken:
    if beta == math.inf:
        return np.zeros(len(groups), dtype=bool)
    rows, expected = _lifts(groups)
    found = _any(groups, over(rows - expected, expected, beta))
    found[groups.cell_group[models.beyond_surprise(groups)]] = True
    return found


def _beta(groups: Groups, beta: Any) -> Broken:
    rows, expected = _lifts(groups)
    return _any(groups, over(rows - expected, expected, beta))


@dataclass(frozen=True)
class Condition:
    """How a kind is decided group by group: which groups break it, and the group that has most of what it bounds."""

    broken: Callable[[Groups, Any], Broken]
    extreme: Callable[[Groups, Any], Extreme | None]
    counts_rows: bool = False
    """Whether the rows of broken groups cannot grow when groups are merged: so for k and distinct l alone."""


CONDITIONS: dict[str, Condition] = {
    "k": Condition(lambda g, a: g.sizes < _whole(a.k), lambda g, a: models.k(g), True),
    "distinct-l": Condition(lambda g, a: g.distinct < _whole(a.l), lambda g, a: models.distinct_l(g), True),
    "entropy-l": Condition(lambda g, a: _entropy(g, a.l), lambda g, a: models.entropy_l(g)),
    "recursive-l": Condition(lambda g, a: _recursive(g, a.c, a.l), lambda g, a: models.recursive_c(g, _whole(a.l))),
    "t": Condition(lambda g, a: over(models.variations(g), g.sizes * g.rows, a.distance), lambda g, a: models.t(g)),
    "ordered-t": Condition(lambda g, a: _ordered(g, a.distance), lambda g, a: models.ordered_t(g)),
    "beta": Condition(lambda g, a: _beta(g, a.beta), lambda g, a: models.lift(g)),
    "enhanced-beta": Condition(lambda g, a: _enhanced(g, a.beta), lambda g, a: models.lift(g)),
    "delta-disclosure": Condition(
        lambda g, a: _gains(g, a.epsilon, True) | _costs(g, a.epsilon, True),
        lambda g, a: models.lift(g) if _gains(g, a.epsilon, True).any() else models.least_lift(g),
    ),
    "pml": Condition(lambda g, a: _gains(g, a.epsilon), lambda g, a: models.lift(g)),
    "lift": Condition(lambda g, a: _any(g, over(*_lifts(g), a.ratio)), lambda g, a: models.lift(g)),
    "pmc": Condition(lambda g, a: _costs(g, a.epsilon), lambda g, a: models.least_lift(g)),
    "lip": Condition(
        lambda g, a: _gains(g, a.epsilon) | _costs(g, a.epsilon),
        lambda g, a: models.lift(g) if _gains(g, a.epsilon).any() else models.least_lift(g),
    ),
    "alip": Condition(
        lambda g, a: _gains(g, a.upper) | _costs(g, a.lower),
        lambda g, a: models.lift(g) if _gains(g, a.upper).any() else models.least_lift(g),
    ),
}
"""Kind -> how it is decided. Each is the maximum over groups of a number that no merging of groups raises."""


def guarantees_of(given: Any) -> tuple[Guarantee, ...]:
    """Return guarantees that can be asked of groups; another kind is refused.

    >>> guarantees_of(["k=5", "pml=1"])
    (KAnonymity(5), PML(1))
    """
    found = as_guarantees(given, "guarantees")
    for one in found:
        if one.kind not in CONDITIONS:
            raise DivulgeError.of(
                "guarantees", "be about the worst group", "one", one.kind, f"the kinds are {', '.join(CONDITIONS)}."
            )
    return found
