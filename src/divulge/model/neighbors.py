"""Which secrets must be hard to tell apart: all pairs, or those of a relation, a graph or a metric."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.labels import Labels, position
from divulge.model.metrics.metric import Metric


class HasEdges(Protocol):
    """A graph, such as one of networkx."""

    @property
    def edges(self) -> Iterable[Any]:
        """The pairs of nodes that are joined."""
        ...


NeighborsLike: TypeAlias = (
    np.ndarray | Iterable[Iterable[Hashable]] | HasEdges | Metric | Callable[[Any, Any], Any] | None
)
"""Which secrets must be hard to tell apart: `ordered_pairs` says how each is read."""


def ordered_pairs(secrets: Labels, neighbors: NeighborsLike = None) -> np.ndarray:
    """Return the index pairs (i, j) of neighboring secrets, both orders of each, shape (K, 2).

    `neighbors` is None (all pairs), an N x N matrix (true where neighbors), an iterable of pairs of labels, a graph
    with `.edges` (networkx), a `Metric` (places at distance 1 at most), or a function of two labels, such as
    `lambda x, y: abs(x - y) <= 1`.
    A relation need not be symmetric: whoever is named in one order is examined in both. A secret without company is
    its own neighbor: nothing can tell it apart.
    """
    if len(secrets) == 1 and neighbors is None:
        return np.zeros((1, 2), dtype=int)
    adjacent = _adjacency(secrets, neighbors)
    adjacent = adjacent | adjacent.T
    np.fill_diagonal(adjacent, False)
    pairs = np.argwhere(adjacent)
    if not len(pairs):
        raise DivulgeError.of("neighbors", "name at least one pair of different secrets", "it", "empty")
    return pairs


def _adjacency(secrets: Labels, neighbors: NeighborsLike) -> np.ndarray:
    n = len(secrets)
    if neighbors is None:
        return np.ones((n, n), dtype=bool)
    if isinstance(neighbors, Metric):
        near = neighbors.reordered(secrets, "neighbors")
        return np.array([length <= 1 for length in near.lengths])[near.classes]  # squares of distances, where rooted
    if callable(neighbors):
        return np.array([[bool(neighbors(x, y)) for y in secrets] for x in secrets], dtype=bool)
    if isinstance(neighbors, np.ndarray):
        if neighbors.shape != (n, n) or neighbors.dtype.kind not in "biu":
            found = f"{neighbors.dtype} of shape {neighbors.shape}"
            raise DivulgeError.of("neighbors", f"be a boolean matrix of shape ({n}, {n})", "it", found)
        return neighbors.astype(bool)
    pairs: Any = getattr(neighbors, "edges", neighbors)
    return _by_pairs(secrets, pairs)


def _by_pairs(secrets: Labels, pairs: Iterable[Any]) -> np.ndarray:
    adjacent = np.zeros((len(secrets), len(secrets)), dtype=bool)
    if not isinstance(pairs, Iterable) or isinstance(pairs, (str, bytes)):  # pyright: ignore[reportUnnecessaryIsInstance]
        condition = "be a matrix, pairs of labels, a graph, a Metric or a function"
        raise DivulgeError.of("neighbors", condition, "it", repr(pairs)[:60])
    for pair in pairs:
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
            raise DivulgeError.of("neighbors", "hold pairs of labels", "an entry", repr(pair))
        adjacent[tuple(position(secrets, label, "neighbors") for label in pair)] = True
    return adjacent
