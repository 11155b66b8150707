"""The search of the lattice: the best node that keeps all guarantees, with a certificate that no other is better.

What merging groups cannot raise holds at every node above one where it holds, and fails at every node below one where
it fails (Kohlmayer et al. 2012). Chains from a promising node down are halved, as Flash does.
"""

import math
from dataclasses import dataclass

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.shown import Shown
from divulge.tables.levels.lattice import Infeasible, Lattice, Node
from divulge.tables.levels.losses import Loss

MOST_NODES = 2_000_000
"""Nodes of a lattice that is searched: a few bytes each, several times over."""

DIGITS = 12
"""Losses that agree in so many digits are one, so that the same node is found on every processor."""


@dataclass(frozen=True)
class Certificate(Shown):
    """Why no node is better: each is below one that fails, or loses as much as the optimum.

    Attributes
    ----------
    optimum : {column: level}
    loss : float
    infeasible : tuple of Infeasible
        Nodes that fail; what is below one of them, and is not coarser anywhere, fails too.
    costly : tuple of ({column: level}, loss)
        Nodes that lose at least as much as the optimum, without rows left out; what is above one loses as much. Empty
        where the loss of a node is a sum over its columns, which tells it of all nodes.
    nodes, visited : int
        Nodes of the lattice, of those with the levels that were chosen beforehand, and those whose groups were counted.

    Examples
    --------
    >>> proof = dv.generalize({"age": [1, 2, 2]}, known="age", guarantees="k=2").certificate
    >>> proof.optimum, proof.nodes, len(proof.infeasible)
    ({'age': 1}, 2, 1)
    """

    optimum: dict[str, int]
    loss: float
    infeasible: tuple[Infeasible, ...]
    costly: tuple[tuple[dict[str, int], float], ...]
    nodes: int
    visited: int


def _rounded(loss: float) -> float:
    return float(f"{loss:.{DIGITS - 1}e}")


class Search:
    """What is known of the nodes: a lower bound of the loss of each, and which need not be looked at any more."""

    def __init__(self, lattice: Lattice, loss: Loss) -> None:
        self.lattice, self.loss = lattice, loss
        shape = tuple(height + 1 for height in lattice.heights)
        if math.prod(shape) > MOST_NODES:
            raise DivulgeError.of(
                "hierarchies", f"have at most {MOST_NODES:,} combinations of levels", "they", f"{math.prod(shape):,}",
                "give fewer levels, or fewer columns.",
            )  # fmt: skip
        self.levels = np.indices(shape, dtype=np.int8).reshape(len(shape), -1).T
        whole = loss.whole(lattice)
        self.lower = np.array([_rounded(v) for v in (np.zeros(len(self.levels)) if whole is None else whole).tolist()])
        self.sums = whole is not None
        fixed = [(i, lattice.fixed[name]) for i, name in enumerate(lattice.names) if name in lattice.fixed]
        self.open = np.logical_and.reduce([self.levels[:, i] == level for i, level in fixed] or [self.lower >= 0])
        self.searched = int(self.open.sum())
        self.seen: list[Node] = []
        self.infeasible: dict[Node, Infeasible] = {}
        self.costly: dict[Node, float] = {}
        self.best: Node | None = None
        self.least = math.inf

    def node(self, place: int) -> Node:
        """Return the levels at a place."""
        return tuple(self.levels[place].tolist())

    def place(self, node: Node) -> int:
        """Return the place of a node."""
        return int(np.ravel_multi_index(node, tuple(height + 1 for height in self.lattice.heights)))

    def below(self, node: Node) -> np.ndarray:
        """Return which nodes are nowhere coarser."""
        return np.all(self.levels <= np.array(node, dtype=np.int8), axis=1)

    def above(self, node: Node) -> np.ndarray:
        """Return which nodes are nowhere finer."""
        return np.all(self.levels >= np.array(node, dtype=np.int8), axis=1)

    def look(self, node: Node) -> bool:
        """Count the groups of a node, and keep what it says of others; return whether it is feasible."""
        place = self.place(node)
        self.seen.append(node)
        groups = self.lattice.groups(node)
        if not self.sums:
            base = _rounded(self.loss.of(self.lattice, groups, None))
            over = self.above(node)
            self.lower[over] = np.maximum(self.lower[over], base)
        why = self.lattice.reason(node)
        self.open[place] = False
        if why is not None:
            self.infeasible[node] = why
            if why.below:
                self.open &= ~self.below(node)
            return False
        out = self.lattice.left_out(groups)
        loss = _rounded(self.lower[place] if self.sums else self.loss.of(self.lattice, groups, out))
        if loss < self.least or (loss == self.least and self.best is not None and node < self.best):
            self.best, self.least = node, loss
        return True

    def run(self) -> None:
        """Look at nodes until each is closed: below one that fails, or with a loss that is no less than the best."""
        top = self.lattice.top
        feasible = self.look(top)
        monotone = not self.lattice.suppress
        if not feasible and monotone:
            why = self.infeasible[top]
            apart = any(len(column.labels[-1]) > 1 for column in self.lattice.columns)
            raise DivulgeError.of(
                "guarantees", _COARSEST[1 if self.lattice.fixed else 2 if apart else 0], why.guarantee,
                f"not kept there: it has {why.measured}", "a weaker guarantee, or fewer at once, can be kept.",
            )  # fmt: skip
        sums = self.levels.sum(axis=1, dtype=np.int64)
        while True:
            self.open &= self.lower < self.least
            (left,) = np.nonzero(self.open)
            if not len(left):
                break
            chain = self.chain(self.node(int(left[np.argmax(sums[left])])))
            low, high = 0, len(chain)  # chain[:low] are infeasible, chain[high:] feasible
            while low < high:
                middle = (low + high) // 2
                if self.look(chain[middle]):
                    high = middle
                else:
                    low = middle + 1
        if self.best is None:
            raise DivulgeError.of(
                "guarantees", "hold at some level with the rows that may be left out", "none", "kept",
                "a weaker guarantee, or more suppression, can be kept.",
            )  # fmt: skip
        if not self.sums:
            bounds = {one: float(self.lower[self.place(one)]) for one in self.seen}
            self.costly = {one: bound for one, bound in bounds.items() if bound >= self.least}

    def chain(self, node: Node) -> list[Node]:
        """Return open nodes from a low one up to this one, each one step above the one before."""
        found = [node]
        while True:
            down = [(*found[-1][:i], level - 1, *found[-1][i + 1 :]) for i, level in enumerate(found[-1]) if level]
            places = [place for place in map(self.place, down) if self.open[place]]
            if not places:
                return found[::-1]
            found.append(self.node(min(places, key=lambda place: (self.lower[place], place))))


_COARSEST = (
    "hold at least where all rows are one group", "hold at least where the other columns are coarsest",
    "hold at least at the last level of each hierarchy, which for one of them is more than one value",
)  # fmt: skip
"""Where guarantees have to hold: as a rule, with levels that were chosen beforehand, with a hierarchy without a top."""


def searched(lattice: Lattice, loss: Loss) -> Certificate:
    """Return the optimum of a lattice, with its certificate."""
    search = Search(lattice, loss)
    search.run()
    assert search.best is not None
    groups = lattice.groups(search.best)
    exactly = loss.of(lattice, groups, lattice.left_out(groups), search.best)
    return Certificate(
        lattice.named(search.best),
        exactly,
        _maximal(search.infeasible),
        tuple((lattice.named(node), value) for node, value in _minimal(search.costly)),
        search.searched,
        lattice.visited,
    )


def _maximal(found: dict[Node, Infeasible]) -> tuple[Infeasible, ...]:
    """Return the nodes that no other covers, and those that speak for themselves alone."""
    covers = np.array([node for node, why in found.items() if why.below], dtype=np.int8)
    kept: list[Infeasible] = []
    for node, why in found.items():
        above = (covers >= np.array(node, dtype=np.int8)).all(axis=1) if len(covers) else np.zeros(0, dtype=bool)
        if above.sum() == (1 if why.below else 0):
            kept.append(why)
    return tuple(kept)


def _minimal(found: dict[Node, float]) -> list[tuple[Node, float]]:
    """Return the nodes that lie above no other."""
    nodes = np.array(list(found), dtype=np.int8)
    return [(node, value) for node, value in found.items()
            if (nodes <= np.array(node, dtype=np.int8)).all(axis=1).sum() == 1]  # fmt: skip
