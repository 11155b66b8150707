"""From vertices up to permutations of equal secrets to outcomes: every secret of a class gets its share in turn."""

import numpy as np

from divulge.designing.limits import Classes
from divulge.designing.vertices import Vertices


def outcomes_of(weights: np.ndarray, vertices: Vertices, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Return (weights of shape (M,), lifts of shape (N, M)) of a mixture of vertices.

    Within a vertex the set of each class moves once round the class, all classes in step, so that equal secrets spend
    equal time at each level.
    """
    if (classes.size == 1).all():
        return weights, vertices.lifts(classes).T[classes.of_secret]
    parts = [_turns(float(w), vertices.take(np.array([k])), classes) for k, w in enumerate(weights.tolist())]
    return np.concatenate([w for w, _ in parts]), np.concatenate([lifts for _, lifts in parts], axis=1)


def _turns(weight: float, vertex: Vertices, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    counts, between = vertex.counts[0], int(vertex.between[0])
    moving = [
        c for c, m in enumerate(classes.size.tolist()) if m > 1 and (0 < counts[c] < m or (between == c and m > 1))
    ]
    marks = sorted({0, *(j * _common(classes, moving) // int(classes.size[c]) for c in moving
                         for j in range(int(classes.size[c])))})  # fmt: skip
    whole = _common(classes, moving)
    ends = [*marks[1:], whole]
    lifts = np.full((int(classes.size.sum()), len(marks)), vertex.low[0])
    for c, rows in enumerate(classes.members):
        m, k = len(rows), int(counts[c])
        for turn, mark in enumerate(marks):
            first = mark * m // whole if c in moving else 0
            place = (first + np.arange(m)) % m
            lifts[rows[place[:k]], turn] = vertex.high[0]
            if between == c:
                lifts[rows[place[k]], turn] = vertex.middle[0]
    shares = np.array([(end - mark) / whole for mark, end in zip(marks, ends, strict=True)])
    return weight * shares, lifts


def _common(classes: Classes, moving: list[int]) -> int:
    """Return a common multiple of the sizes of the moving classes."""
    return int(np.lcm.reduce([int(classes.size[c]) for c in moving], dtype=object)) if moving else 1
