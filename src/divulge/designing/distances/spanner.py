"""Few pairs of places whose constraints imply all others, up to a factor: the edges of a spanner and their dilation."""

from dataclasses import dataclass

import numpy as np

from divulge.extras import require
from divulge.model.metrics.metric import Metric

_STRETCH = 1.2
"""Of places that lie anywhere, paths over the edges are at most so much longer (Althoefer's greedy spanner)."""

_ROUNDING = 1e-12
"""Share by which a ratio moves up: as much as the roundings of a path of 9,000 edges."""


@dataclass(frozen=True)
class Spanner:
    """Pairs of places, and how much longer than their distance the path over the pairs is for others, at most."""

    i: np.ndarray
    j: np.ndarray
    dilation: float

    @property
    def directed(self) -> tuple[np.ndarray, np.ndarray]:
        """Each pair both ways."""
        return np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])


def spanner(metric: Metric, reach: int) -> Spanner:
    """Return the pairs at most `reach` columns and rows apart, of a Euclidean grid; of others a greedy spanner.

    A grid's king's moves have a dilation of 1.0823922, its 16 neighbors 1.0274863. Where few pairs make all others
    exactly (lines, graphs, Manhattan distances) it is these.
    """
    i, j = metric.pairs
    if metric.size is not None and metric.rooted:
        across, up = metric.cells
        near = np.maximum(np.abs(across[i] - across[j]), np.abs(up[i] - up[j])) <= reach
        i, j = i[near], j[near]
    elif metric.rooted or len(i) > _DENSE * len(metric):
        i, j = _greedy(metric, _STRETCH if reach == 1 else 1 + (_STRETCH - 1) / 3)
    return Spanner(i, j, _dilation(metric, i, j))


_DENSE = 8
"""Pairs a place from which on a spanner is looked for."""


def _greedy(metric: Metric, stretch: float) -> tuple[np.ndarray, np.ndarray]:
    nx = require("networkx", "networks")
    graph = nx.Graph()
    a, b = np.triu_indices(len(metric), 1)
    graph.add_weighted_edges_from(zip(a.tolist(), b.tolist(), metric.matrix[a, b].tolist(), strict=True))
    kept = sorted(map(sorted, nx.spanner(graph, stretch, weight="weight").edges))
    ends = np.array(kept, dtype=int).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _dilation(metric: Metric, i: np.ndarray, j: np.ndarray) -> float:
    """Return the largest ratio of the length of a shortest path over the pairs to the distance, rounded up."""
    if len(i) == len(metric.pairs[0]) or len(metric) == 1:
        return 1.0
    sparse, paths = require("scipy.sparse", "science"), require("scipy.sparse.csgraph", "science")
    n, d = len(metric), metric.matrix
    found = paths.shortest_path(sparse.csr_matrix((d[i, j], (i, j)), shape=(n, n)), directed=False)
    off = ~np.eye(n, dtype=bool)
    return float((found[off] / d[off]).max()) * (1 + _ROUNDING)
