"""Sums of products of tables by variable elimination (Zhang and Poole 1994), in an order of least fill.

A factor is a table over some variables. Time and memory go by the largest table that arises, which is known beforehand:
beyond a budget the sum is refused before anything is computed.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.networks.model import ENTRY, FAINT, loses
from divulge.networks.ranking import logs

ENTRIES = 1 << 24
"""Entries of the largest table: 128 MiB of doubles."""

EXACT_WORK = 1 << 18
"""Products of fractions: about a second of them. Beyond, an exact network is computed in doubles."""


Combine: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A product of two tables: of their numbers, or a sum of their logarithms."""


@dataclass(frozen=True)
class Factor:
    """A nonnegative table with one axis a variable."""

    variables: tuple[Hashable, ...]
    table: np.ndarray


@dataclass(frozen=True)
class Order:
    """Variables to sum out, one after another; the entries of the largest table and of all on the way."""

    variables: tuple[Hashable, ...]
    largest: int
    work: int


class Entangled(DivulgeError):
    """A question whose tables would be larger than `ENTRIES`."""


def order_of(scopes: Sequence[Sequence[Hashable]], sizes: Mapping[Hashable, int], keep: Sequence[Hashable]) -> Order:
    """Return the order in which each variable that is summed out joins the fewest that were apart (least fill)."""
    near: dict[Hashable, set[Hashable]] = {v: set() for scope in scopes for v in scope}
    for scope in scopes:
        for v in scope:
            near[v] |= set(scope) - {v}
    names = {v: i for i, v in enumerate(near)}
    out: list[Hashable] = []
    largest = work = prod(sizes[v] for v in keep)
    while left := [v for v in near if v not in keep]:
        chosen = min(left, key=lambda v: (_fill(near, v), len(near[v]), names[v]))
        table = prod(sizes[w] for w in near[chosen]) * sizes[chosen]
        largest, work = max(largest, table), work + table
        for w in near.pop(chosen):
            others = {u for u in near if chosen in near[u]} - {w}
            near[w] |= others
        for neighbors in near.values():
            neighbors.discard(chosen)
        out.append(chosen)
    return Order(tuple(out), largest, work)


def _fill(near: Mapping[Hashable, set[Hashable]], v: Hashable) -> int:
    """Return how many pairs of neighbors of a variable are not neighbors of each other, twice."""
    return sum(len(near[v] - near[w]) - 1 for w in near[v])


def summed(factors: Sequence[Factor], sizes: Mapping[Hashable, int], keep: Sequence[Hashable]) -> np.ndarray:
    """Return the product of factors summed over all variables but those to keep, which are its axes in this order.

    Fractions where all factors are and the work is little; else doubles, or balls where doubles would underflow.
    """
    order = order_of([f.variables for f in factors], sizes, keep)
    if order.largest > ENTRIES:
        raise Entangled(
            f"the network is too entangled for this question: a table of {order.largest:,} entries would arise, and at "
            f"most {ENTRIES:,} are allowed. Hint: ask about fewer variables or outputs at once, or leave out variables "
            "that are far from what goes out."
        )
    if order.work <= EXACT_WORK and all(f.table.dtype == object for f in factors):
        return _eliminated(factors, order, keep, np.multiply, np.sum)
    try:
        if not any(loses(f.table, ENTRY) for f in factors):
            doubles = [Factor(f.variables, exact.as_floats(f.table)) for f in factors]
            return _eliminated(doubles, order, keep, _multiplied, np.sum)
    except _Faint:
        pass
    logarithms = [Factor(f.variables, logs([f.table.ravel().tolist()]).reshape(f.table.shape)) for f in factors]
    found = _eliminated(logarithms, order, keep, np.add, np.logaddexp.reduce)
    return np.array([ball.exp() for ball in exact.balls(found).ravel()], dtype=object).reshape(found.shape)


class _Faint(ArithmeticError):
    """A product of doubles is so small that what is next may be 0."""


def _multiplied(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    out = first * second
    if loses(out, FAINT):
        raise _Faint
    return out


def _eliminated(
    factors: Sequence[Factor], order: Order, keep: Sequence[Hashable], times: Combine, plus: Callable[..., Any]
) -> np.ndarray:
    """Return the product of factors, summed over the variables of an order, with the axes to keep."""
    pool = list(factors)
    for v in order.variables:
        inside = [f for f in pool if v in f.variables]
        pool = [f for f in pool if v not in f.variables]
        scope = tuple(dict.fromkeys(w for f in inside for w in f.variables if w != v))
        pool.append(_product(inside, (*scope, v), times, plus))
    return _product(pool, tuple(keep), times).table


def _product(factors: Sequence[Factor], scope: tuple[Hashable, ...], times: Combine, last: Any = None) -> Factor:
    """Return the product of factors over the variables of `scope`, the last of them reduced by `last`."""
    place = {v: i for i, v in enumerate(scope)}
    out: Any = None
    for f in factors:
        axes = sorted(range(len(f.variables)), key=lambda i: place[f.variables[i]])
        table = f.table.transpose(axes)
        shape = [1] * len(scope)
        for axis, size in zip(axes, table.shape, strict=True):
            shape[place[f.variables[axis]]] = size
        spread = table.reshape(shape)
        out = spread if out is None else times(out, spread)
    if last is None:
        return Factor(scope, out)
    return Factor(scope[:-1], np.asarray(last(out, axis=-1), dtype=out.dtype))
