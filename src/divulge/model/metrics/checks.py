"""What is no metric, with the places that show it."""

from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.labels import Labels
from divulge.model.shown import named, number

ROUNDING = 1e-12
"""Distances that were computed in doubles may miss symmetry and the triangle inequality by this share."""


def refuse_no_metric(matrix: np.ndarray, labels: Labels) -> None:
    """Refuse a matrix of distances that is no metric, entries at least 0 and finite being known."""
    d = exact.as_floats(matrix)
    names = [named(label) for label in labels] if len(d) <= 64 else None

    def name(i: Any) -> str:
        return names[int(i)] if names else named(labels[int(i)])

    for i in np.flatnonzero(np.diagonal(d) != 0).tolist():
        raise DivulgeError.of("matrix", "be 0 on the diagonal", f"d({name(i)}, {name(i)})", number(matrix[i, i]))
    off = ~np.eye(len(d), dtype=bool)
    for i, j in np.argwhere(off & (d == 0)).tolist():
        raise DivulgeError.of(
            "matrix", "be positive between different places", f"d({name(i)}, {name(j)})", "0",
            "what cannot be told apart is one place.",
        )  # fmt: skip
    for i, j in np.argwhere(np.abs(d - d.T) > ROUNDING * np.maximum(d, d.T)).tolist():
        raise DivulgeError.of(
            "matrix", "be symmetric", f"d({name(i)}, {name(j)})",
            f"{number(matrix[i, j])} and d({name(j)}, {name(i)}) {number(matrix[j, i])}",
        )  # fmt: skip
    for y in range(len(d)):
        through = d[:, y, None] + d[None, y]
        longer = d - through > ROUNDING * through
        if longer.any():
            x, z = np.argwhere(longer)[0].tolist()
            raise DivulgeError.of(
                "matrix",
                f"have no shortcut: d({name(x)}, {name(z)}) <= d({name(x)}, {name(y)}) + d({name(y)}, {name(z)})",
                "the first", f"{number(matrix[x, z])}, the sum {number(matrix[x, y] + matrix[y, z])}",
                "Metric.graph takes shortest paths, which are a metric.",
            )  # fmt: skip
