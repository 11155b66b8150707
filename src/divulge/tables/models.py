"""The models of the literature on tables, each a function of the groups that reads like its definition; exact.

With n_gs rows of value s in group g, n_g rows in g, n_s rows of s and n in all: p_s = n_s / n, q_s = n_gs / n_g and the
lift L = q_s / p_s. Ratios of whole numbers are compared as doubles, and those that may be the largest as Fractions.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.integer import IntegerChannel
from divulge.model.labels import alignment
from divulge.model.shown import Shown
from divulge.tables.groups import Groups

NEAR = 1e-9
"""Ratios of doubles that are this near to the largest are compared exactly: a ratio of two products of counts is off by
2^-51 at most, a sum of a million logarithms by 1e-10."""

AT_ONCE = 1 << 22
"""Entries of groups by values that are written out at a time: 32 megabytes."""

MOST_SUM = 1 << 62
"""Sums in 64 bits stay below this; those that might not are summed as whole numbers of any length."""


@dataclass(frozen=True)
class Extreme(Shown):
    """The extreme of a model: its value, and the group, and the secret value where there is one, that reach it first.

    value : int, Fraction or float
    group, secret : positions in the groups; the secret is -1 where all values take part
    """

    value: Any
    group: int
    secret: int = -1


def largest(numerators: np.ndarray, denominators: np.ndarray) -> tuple[Fraction, int]:
    """Return the largest ratio of whole numbers, exactly, and its first place; every denominator is positive."""
    ratios = numerators / denominators
    near = np.flatnonzero(ratios >= ratios.max() - NEAR * abs(ratios.max()))
    pairs = np.column_stack([numerators[near], denominators[near]])
    _, first = np.unique(pairs, axis=0, return_index=True)
    value, place = max((Fraction(*map(int, pairs[i])), -int(near[i])) for i in first.tolist())
    return value, -place


def k(groups: Groups) -> Extreme:
    """Return the rows of the smallest group: k-anonymity."""
    place = int(np.argmin(groups.sizes))
    return Extreme(int(groups.sizes[place]), place)


def lift(groups: Groups) -> Extreme:
    """Return the largest lift, max over g and s of (n_gs / n_g) / (n_s / n)."""
    value, cell = largest(groups.cell_rows * groups.rows, _expected(groups))
    return Extreme(value, int(groups.cell_group[cell]), int(groups.cell_value[cell]))


def least_lift(groups: Groups) -> Extreme:
    """Return the smallest lift; 0 where a group lacks a value."""
    (lacking,) = np.nonzero(groups.distinct < len(groups.values))
    if len(lacking):
        group = int(lacking[0])
        return Extreme(Fraction(0), group, int(np.argmin(groups.dense(group, group + 1)[0] > 0)))
    value, cell = largest(_expected(groups), groups.cell_rows * groups.rows)
    return Extreme(1 / value, int(groups.cell_group[cell]), int(groups.cell_value[cell]))


def certainty(groups: Groups) -> Extreme:
    """Return the largest share of a value in a group, max q_s: alpha of (alpha, k)-anonymity."""
    value, cell = largest(groups.cell_rows, groups.sizes[groups.cell_group])
    return Extreme(value, int(groups.cell_group[cell]), int(groups.cell_value[cell]))


def t(groups: Groups) -> Extreme:
    """Return the largest total variation of q and p, max over g of sum_s max(q_s - p_s, 0): equal distances."""
    value, group = largest(variations(groups), groups.sizes * groups.rows)
    return Extreme(value, group)


def variations(groups: Groups) -> np.ndarray:
    """Return n n_g times the total variation of q and p, whole, of shape (groups,)."""
    above = np.maximum(groups.cell_rows * groups.rows - _expected(groups), 0)
    return np.add.reduceat(above, groups.starts)


def ordered_t(groups: Groups) -> Extreme:
    """Return the largest distance of ordered values, max over g of sum_i |Q_i - P_i| / (m - 1), cumulative shares."""
    if len(groups.values) == 1:
        return Extreme(Fraction(0), 0)
    value, group = largest(ordered_variations(groups), groups.sizes * groups.rows * (len(groups.values) - 1))
    return Extreme(value, group)


def ordered_variations(groups: Groups) -> np.ndarray:
    """Return n n_g times the sum of |Q_i - P_i|, whole, of shape (groups,)."""
    many = len(groups.values)
    wide = groups.rows * int(groups.sizes.max()) * many >= MOST_SUM
    before = np.cumsum(groups.totals).astype(object if wide else np.int64)
    height = max(1, AT_ONCE // many)
    parts: list[np.ndarray] = []
    for start in range(0, len(groups), height):
        inside = np.cumsum(groups.dense(start, start + height), axis=1).astype(before.dtype)
        sizes = groups.sizes[start : start + height].astype(before.dtype)
        parts.append(np.abs(inside * groups.rows - sizes[:, None] * before).sum(axis=1))
    return np.concatenate(parts)


def distinct_l(groups: Groups) -> Extreme:
    """Return the fewest values of a group: distinct l-diversity."""
    place = int(np.argmin(groups.distinct))
    return Extreme(int(groups.distinct[place]), place)


def entropy_l(groups: Groups) -> Extreme:
    """Return the least e^H(S | g), correctly rounded: entropy l-diversity."""
    if groups.distinct.min() == 1:
        return Extreme(1.0, int(np.argmin(groups.distinct)))
    entropies = entropies_of(groups)
    near = np.flatnonzero(entropies <= entropies.min() + NEAR)
    profiles = profiles_of(groups, near)
    unique, first = np.unique(profiles, axis=0, return_index=True)
    found = [exact.correctly_rounded(_exp_entropy(rows)) for rows in unique.tolist()]
    value = min(found)
    return Extreme(value, int(near[min(i for i, one in zip(first.tolist(), found, strict=True) if one == value)]))


def profiles_of(groups: Groups, chosen: np.ndarray) -> np.ndarray:
    """Return the rows of each value of the chosen groups, the most frequent first, then zeros."""
    out = np.zeros((len(chosen), int(groups.distinct[chosen].max())), dtype=np.int64)
    row = np.repeat(np.arange(len(chosen)), groups.distinct[chosen])
    place = np.arange(len(row)) - np.repeat(
        np.cumsum(groups.distinct[chosen]) - groups.distinct[chosen], groups.distinct[chosen]
    )
    out[row, place] = groups.cell_rows[np.repeat(groups.starts[chosen], groups.distinct[chosen]) + place]
    return -np.sort(-out, axis=1)


def _exp_entropy(rows: list[int]) -> Callable[[], Any]:
    return lambda: entropy_ball(rows).exp()


def entropies_of(groups: Groups) -> np.ndarray:
    """Return H(S | g) in nats of each group, as doubles."""
    rows, sizes = groups.cell_rows.astype(float), groups.sizes.astype(float)
    return np.log(sizes) - np.add.reduceat(rows * np.log(rows), groups.starts) / sizes


def entropy_ball(rows: Iterable[int]) -> Any:
    """Return the ball of the entropy of counts, in nats; those of 0 do not count."""
    counts = [exact.arb(r) for r in rows if r]
    size: Any = sum(counts, start=exact.arb(0))
    return size.log() - sum((r * r.log() for r in counts), start=exact.arb(0)) / size


def recursive_c(groups: Groups, l: int) -> Extreme:
    """Return the largest r_1 / (r_l + ... + r_m), counts of a group falling; inf where a group has fewer values.

    Recursive (c, l)-diversity holds for every c above it: r_1 < c (r_l + ... + r_m).
    """
    first, tails = recursive_parts(groups, l)
    (lacking,) = np.nonzero(tails == 0)
    if len(lacking):
        return Extreme(math.inf, int(lacking[0]))
    value, group = largest(first, tails)
    return Extreme(value, group)


def recursive_parts(groups: Groups, l: int) -> tuple[np.ndarray, np.ndarray]:
    """Return r_1 and r_l + ... + r_m of each group."""
    order = np.lexsort((-groups.cell_rows, groups.cell_group))
    falling = groups.cell_rows[order]
    place = np.arange(len(falling)) - np.repeat(groups.starts, groups.distinct)
    return falling[groups.starts], np.add.reduceat(np.where(place >= l - 1, falling, 0), groups.starts)


def enhanced_beta(groups: Groups) -> Extreme | None:
    """Return the least beta with L_s <= 1 + min(beta, -ln p_s) for all g and s; None where no beta is enough."""
    if len(beyond_surprise(groups)):
        return None
    top = lift(groups)
    return Extreme(top.value - 1, top.group, top.secret)


def beyond_surprise(groups: Groups) -> np.ndarray:
    """Return the cells with L_s > 1 - ln p_s, decided exactly."""
    lifts = groups.cell_rows * groups.rows / _expected(groups)
    room = 1 + np.log(groups.rows / groups.totals[groups.cell_value]) - lifts
    over = room < 0
    for cell in np.flatnonzero(np.abs(room) <= NEAR * lifts).tolist():
        share = Fraction(int(groups.totals[groups.cell_value[cell]]), groups.rows)
        excess = lift_of(groups, cell) - 1
        over[cell] = not exact.at_most(_excess_over(excess, share), 0)
    return np.flatnonzero(over)


def _excess_over(excess: Fraction, share: Fraction) -> Callable[[], Any]:
    return lambda: exact.arb(excess) + exact.arb(share).log()


def lift_of(groups: Groups, cell: int) -> Fraction:
    """Return the lift of a cell."""
    group, value = groups.cell_group[cell], groups.cell_value[cell]
    return Fraction(int(groups.cell_rows[cell]) * groups.rows, int(groups.sizes[group]) * int(groups.totals[value]))


def _expected(groups: Groups) -> np.ndarray:
    """Return n_g n_s of each cell."""
    return groups.sizes[groups.cell_group] * groups.totals[groups.cell_value]


def information(groups: Groups) -> float:
    """Return the mutual information of secret and group in nats, sum of (n_gs / n) log L, as a double."""
    rows = groups.cell_rows.astype(float)
    return max(0.0, float(np.sum(rows * np.log(rows * groups.rows / _expected(groups)))) / groups.rows)


def certainty_beside(groups: Groups, others: int) -> Extreme:
    """Return the largest share of a value for somebody who knows `others` rows of the group, with other values.

    The posterior of a cell is n_gs / (n_g - min(others, n_g - n_gs)).
    """
    left = groups.sizes[groups.cell_group] - groups.cell_rows
    value, cell = largest(groups.cell_rows, groups.cell_rows + np.maximum(left - others, 0))
    return Extreme(value, int(groups.cell_group[cell]), int(groups.cell_value[cell]))


def hierarchical_t(groups: Groups, hierarchy: Any) -> Extreme:
    """Return the largest earth mover's distance of q and p, two values being as far as their first common level.

    A level costs its number over the height for what has to leave or enter below it: of each node the smaller of what
    its parts have too much and too little (Li, Li, Venkatasubramanian 2007, section 4.3).
    """
    coded = hierarchy.coded(groups.values, groups.secret[0])
    height = max(1, AT_ONCE // len(groups.values))
    if groups.rows * int(groups.sizes.max()) * coded.height >= MOST_SUM:
        raise DivulgeError.of("table", "have fewer rows for the hierarchical distance", "it", f"of {groups.rows:,}")
    parts: list[np.ndarray] = []
    for start in range(0, len(groups), height):
        counts, sizes = groups.dense(start, start + height), groups.sizes[start : start + height]
        extra = counts * groups.rows - sizes[:, None] * groups.totals
        cost = np.zeros(len(sizes), dtype=np.int64)
        for level in range(1, coded.height + 1):
            up, many = coded.step(level - 1, level), len(coded.labels[level])
            above, below = (np.zeros((len(sizes), many), dtype=np.int64) for _ in range(2))
            np.add.at(above.T, up, np.maximum(extra, 0).T)
            np.add.at(below.T, up, np.maximum(-extra, 0).T)
            cost += level * np.minimum(above, below).sum(axis=1)
            extra = above - below
        parts.append(cost)
    value, group = largest(np.concatenate(parts), groups.sizes * groups.rows * coded.height)
    return Extreme(value, group)


def lift_of_both(groups: Groups, channel: IntegerChannel) -> Fraction:
    """Return the largest lift of group and released value, exact where doubles find it largest.

    It is q_g(s) / p(s) C(y | s) / sum_t q_g(t) C(y | t): i(s; g, y) = i(s; g) + log C(y | s) / C(y | g).
    """
    order = alignment(groups.values, channel.secrets, "channel", "the sensitive values")
    weights = channel.weights if order is None else channel.weights[order]
    share, totals = weights / 2.0**channel.bits, groups.totals / groups.rows
    best, place = -1.0, (0, 0, 0)
    height = max(1, AT_ONCE // share.size)
    for start in range(0, len(groups), height):
        counts = groups.dense(start, start + height)
        q = counts / counts.sum(axis=1, keepdims=True)
        mean = np.maximum(q @ share, np.finfo(float).tiny)
        lifts = (q / totals)[:, :, None] * share / mean[:, None, :]
        if lifts.max() > best:
            best = float(lifts.max())
            g, s, y = np.unravel_index(int(lifts.argmax()), lifts.shape)
            place = (start + int(g), int(s), int(y))
    return _exact(groups, weights, *place)


def _exact(groups: Groups, weights: np.ndarray, g: int, s: int, y: int) -> Fraction:
    counts, column = groups.dense(g, g + 1)[0].tolist(), weights[:, y].tolist()
    mean = sum(n * w for n, w in zip(counts, column, strict=True))
    return Fraction(counts[s] * column[s] * groups.rows, mean * int(groups.totals[s]))
