"""From vertices up to permutations of equal secrets to outcomes: every secret of a class gets its share in turn.

The vertices stand one after another round a circle, each as long as its weight; the short ones come first, where
rounding is small beside them. Within a class a secret takes the largest lift that is left on an arc, and the least
elsewhere; its arc starts where the one before it ended, and is as long as gives the secret the mean lift of its class.
So m equal secrets cut the circle in m - 1 more places, and the mixture of as many vertices as there are classes becomes
at most N outcomes.
"""

from dataclasses import dataclass, replace

import numpy as np

from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.vertices import Columns, Vertices

_NARROW = 2.0**-48
"""Cuts nearer to each other than this share of the way to them are one."""


def outcomes_of(weights: np.ndarray, vertices: Columns, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Return (weights of shape (M,), lifts of shape (N, M)) of a mixture of vertices."""
    if (classes.size == 1).all():
        return weights, vertices.lifts(classes).T[classes.of_secret]
    assert isinstance(vertices, Vertices)
    order = np.argsort(weights, kind="stable")
    weights, vertices = weights[order], vertices.take(order)
    starts = np.append(0.0, np.cumsum(weights)[:-1])
    turns = [_turns(_Arcs.of(starts, weights, vertices, c, int(m)), int(m)) for c, m in enumerate(classes.size)]
    end = starts[-1] + weights[-1]
    edges = np.sort(np.concatenate([starts, [end], *(arcs.start for rows in turns for arcs, _ in rows)]))
    edges = np.append(edges[:-1][np.diff(edges) > _NARROW * edges[1:]], end)
    lengths, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    lifts = np.empty((int(classes.size.sum()), len(lengths)))
    for members, rows in zip(classes.members, turns, strict=True):
        for x, (arcs, taken) in zip(members.reshape(len(rows), -1), rows, strict=True):
            lifts[x] = taken[np.searchsorted(arcs.start, middles, side="right") - 1]
    return lengths, lifts


@dataclass(frozen=True, eq=False)
class _Arcs:
    """Pieces of the circle, the three levels of a class on each, and how many secrets have them left (3, pieces)."""

    start: np.ndarray
    length: np.ndarray
    level: np.ndarray
    left: np.ndarray

    @classmethod
    def of(cls, start: np.ndarray, length: np.ndarray, vertices: Vertices, c: int, size: int) -> "_Arcs":
        """Return one piece for each vertex, as class c of this size sees it."""
        high, middle = vertices.counts[:, c], (vertices.between == c).astype(np.int64)
        level = np.stack([vertices.high, vertices.middle, vertices.low])
        return cls(start, length, level, np.stack([high, middle, size - high - middle]))

    def cut(self, k: int, at: float) -> "_Arcs":
        """Return the same with piece k in two, the first of this length."""
        twice = np.arange(len(self.start) + 1)
        twice[k + 1 :] -= 1
        out = _Arcs(*(a[..., twice] for a in (self.start, self.length, self.level, self.left)))
        out.start[k + 1] += at
        out.length[k : k + 2] = at, self.length[k] - at
        return out


def _turns(arcs: _Arcs, size: int) -> list[tuple[_Arcs, np.ndarray]]:
    """Return for each secret of a class (pieces, the lift that it takes on each)."""
    out: list[tuple[_Arcs, np.ndarray]] = []
    first = 0
    for others in range(size - 1, 0, -1):
        arcs, first, last = _taken(arcs, first, others)
        many = len(arcs.start)
        inside = (np.arange(many) - first) % many < (last - first)
        which = np.where(inside, (arcs.left > 0).argmax(axis=0), 2 - (arcs.left[::-1] > 0).argmax(axis=0))
        left = arcs.left.copy()
        left[which, np.arange(many)] -= 1
        out.append((arcs, arcs.level[which, np.arange(many)]))
        arcs, first = replace(arcs, left=left), last % many
    return [*out, (arcs, arcs.level[(arcs.left > 0).argmax(axis=0), np.arange(len(arcs.start))])]


def _taken(arcs: _Arcs, first: int, others: int) -> tuple[_Arcs, int, int]:
    """Return (pieces, first, last): the largest levels on first .. last - 1 round, least elsewhere, give the mean."""
    pieces = np.arange(len(arcs.start))
    top = arcs.level[(arcs.left > 0).argmax(axis=0), pieces]
    bottom = arcs.level[2 - (arcs.left[::-1] > 0).argmax(axis=0), pieces]
    share = float(((arcs.level * arcs.left).sum(axis=0) / (others + 1) - bottom) @ arcs.length)
    order = np.roll(pieces, -first)
    gained = np.cumsum(((top - bottom) * arcs.length)[order])
    step = min(int(np.searchsorted(gained, share)), len(order) - 1)
    k = int(order[step])
    rise = top[k] - bottom[k]
    at = arcs.length[k] - (float(gained[step]) - share) / rise if rise > 0 else 0.0
    if not 0 < at < arcs.length[k]:
        return arcs, first, first + step + int(at > 0)
    return arcs.cut(k, at), first + int(k < first), first + int(k < first) + step + 1
