"""What the choice of levels tells by itself to somebody who knows the rule: every table that it may have been is tried.

Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing", 2007. Groups hide who has which secret;
but had somebody else of the group had it, other levels would have been chosen.
"""

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.shown import Shown
from divulge.tables.groups import Groups
from divulge.tables.levels.lattice import Lattice, Node
from divulge.tables.levels.losses import Loss
from divulge.tables.levels.search import Certificate, searched

MOST_WORK = 1 << 12
"""Tables times nodes of their lattice: a second or two of searches on a slow core."""

MOST_NESTED = 256
"""Groups, and values, of a published group: each is a call within a call."""

Rows = tuple[tuple[int, ...], ...]
"""How many rows of each secret value each of several groups has."""


@dataclass(frozen=True)
class Minimality(Shown):
    """What somebody learns of one person who knows the known columns of all, the published table, and the rule.

    They hold all tables for alike that lead to the published groups, and drop those for which the rule chooses others.

    Attributes
    ----------
    group : {column: value}
        Who is told most of: the known columns, as they were before they were coarsened.
    value : the value of the secret
    before, by_group, after : Fraction
        The share of the value in the table, in the published group of the person, and what is believed of the person.
    tables : int
        Tables that lead to the published groups, where rows that agree in the known columns are not told apart.
    left : int
        Those of them for which the rule chooses the published levels.

    Examples
    --------
    >>> rows = {"q": ["a"] * 2 + ["b"] * 5, "ill": ["yes", "yes", "no", "no", "no", "no", "no"]}
    >>> found = dv.generalize(rows, known="q", secret="ill", guarantees="lift=1.75").minimality
    >>> found.group, found.value, str(found.by_group), str(found.after), found.tables, found.left
    ({'q': 'a'}, 'yes', '2/7', '1', 3, 1)
    """

    group: dict[str, Hashable]
    value: Hashable
    before: Fraction
    by_group: Fraction
    after: Fraction
    tables: int
    left: int

    @property
    def lift(self) -> Fraction:
        """How many times as likely the value becomes.

        Examples
        --------
        >>> from fractions import Fraction as F
        >>> Minimality({"q": "a"}, "yes", F(2, 7), F(2, 7), F(1), 3, 1).lift
        Fraction(7, 2)
        """
        return self.after / self.before


def written(found: Minimality) -> dict[str, Any]:
    """Return a choice as JSON holds it: shares are text.

    >>> from fractions import Fraction as F
    >>> written(Minimality({"q": "a"}, "yes", F(2, 7), F(2, 7), F(1), 3, 1))["before"]
    '2/7'
    """
    shares = {name: str(getattr(found, name)) for name in ("before", "by_group", "after", "lift")}
    value = None if found.value is None else str(found.value)
    return {"group": found.group, "value": value, **shares, "tables": found.tables, "left": found.left}


def minimality_of(lattice: Lattice, loss: Loss, proof: Certificate) -> Minimality | None:
    """Return what the choice tells, where there are few enough tables to try them all; else None."""
    base, node = lattice.base, tuple(proof.optimum.values())
    if not base.secret or len(base) > MOST_WORK or len(base.values) > MOST_NESTED:
        return None
    published = _places(lattice, node)
    tables = _tables(base, published, MOST_WORK // proof.nodes)
    if tables is None:
        return None
    weights, believed = 0, np.zeros((len(base), len(base.values)), dtype=object)
    left = 0
    for rows in tables:
        if _leads_to(replace(lattice, base=_filled(base, rows), _kept={}, visited=0), loss, node, published):
            weight = math.prod(_arrangements(row) for row in rows)
            weights, left = weights + weight, left + 1
            believed += weight * np.array(rows, dtype=object)
    return _worst(base, published, believed, weights, len(tables), left)


def _places(lattice: Lattice, node: Node) -> np.ndarray:
    """Return the published group of each group of the table as it was; what is left out is one group."""
    groups = lattice.groups(node)
    out = lattice.left_out(groups)
    coarse = np.column_stack([
        column.step(0, level)[codes] if level else codes
        for column, level, codes in zip(lattice.columns, node, lattice.base.codes.T, strict=True)
    ])  # fmt: skip
    place = {tuple(code): -1 if out[i] else i for i, code in enumerate(groups.codes.tolist())}
    return np.array([place[tuple(code)] for code in coarse.tolist()])


def _counts(base: Groups) -> np.ndarray:
    """Return the rows of each value in each group, shape (groups, values)."""
    found = np.zeros((len(base), len(base.values)), dtype=np.int64)
    found[base.cell_group, base.cell_value] = base.cell_rows
    return found


def _tables(base: Groups, published: np.ndarray, most: int) -> list[Rows] | None:
    """Return all counts by group and value that lead to the published groups; None if there are more than `most`."""
    counts, ways, total = _counts(base), list[list[Rows]](), 1
    for place in np.unique(published).tolist():
        members = np.flatnonzero(published == place)
        sums = counts[members].sum(axis=0)
        if len(members) > MOST_NESTED:
            return None
        found = list(itertools.islice(_shared(base.sizes[members].tolist(), sums.tolist()), most // total + 1))
        total *= len(found)
        if total > most:
            return None
        ways.append(found)
    order = np.argsort(np.concatenate([np.flatnonzero(published == one) for one in np.unique(published)]))
    joined = (list(itertools.chain(*parts)) for parts in itertools.product(*ways))
    return [tuple(rows[i] for i in order.tolist()) for rows in joined]


def _shared(sizes: Sequence[int], sums: Sequence[int]) -> Iterator[Rows]:
    """Yield the tables of whole numbers with these row and column sums."""
    if len(sizes) == 1:
        yield (tuple(sums),)
        return
    for row in _adding_up(sizes[0], sums):
        for rest in _shared(sizes[1:], [a - b for a, b in zip(sums, row, strict=True)]):
            yield (row, *rest)


def _adding_up(size: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the rows of whole numbers that add up to a size, none above its bound."""
    if len(most) == 1:
        yield (size,)
        return
    beyond = sum(most[1:])
    for first in range(max(0, size - beyond), min(size, most[0]) + 1):
        for rest in _adding_up(size - first, most[1:]):
            yield (first, *rest)


def _arrangements(row: Sequence[int]) -> int:
    """Return in how many ways the people of a group can have so many of each value."""
    return math.factorial(sum(row)) // math.prod(map(math.factorial, row))


def _filled(base: Groups, rows: Rows) -> Groups:
    """Return the groups with other secrets."""
    counts = np.array(rows)
    group, value = np.nonzero(counts)
    return Groups(base.known, base.secret, base.labels, base.values, base.codes, group, value, counts[group, value])


def _leads_to(lattice: Lattice, loss: Loss, node: Node, published: np.ndarray) -> bool:
    """Return whether the rule chooses the published levels, and leaves out the same rows."""
    try:
        found = searched(lattice, loss)
    except DivulgeError:  # nothing would have been published
        return False
    return tuple(found.optimum.values()) == node and bool((_places(lattice, node) == published).all())


def _worst(
    base: Groups, published: np.ndarray, believed: np.ndarray, weights: int, tables: int, left: int
) -> Minimality:  # fmt: skip
    """Return the person and the value that became likelier than before by the largest factor."""
    counts, totals = _counts(base), base.totals.tolist()
    after = {
        (u, s): Fraction(int(believed[u, s]), weights * int(base.sizes[u]))
        for u, s in itertools.product(range(len(base)), range(len(base.values)))
    }
    u, s = max(after, key=lambda pair: (after[pair] / totals[pair[1]], -pair[0], -pair[1]))
    own = published == published[u]
    by_group = Fraction(int(counts[own, s].sum()), int(base.sizes[own].sum()))
    before = Fraction(totals[s], base.rows)
    return Minimality(base.group(u), base.values[s], before, by_group, after[u, s], tables, left)
