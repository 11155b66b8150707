"""A map without tiles: cells or points shaded by weight, circles that hold shares of them, a scale."""

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import drawable, require
from divulge.model.labels import position
from divulge.model.metrics.circles import weights_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARES = (0.5, 0.95)
"""Shares of the weights that the circles hold."""

_INK, _RING = "#1d3a4a", "#c8590f"


def plot(metric: Any, weights: Any, around: Hashable | None, ax: "Axes | None") -> "Axes":
    """Return axes with the places in their weights."""
    if metric.points is None:
        hint = "grids, lines and places on the map do."
        raise DivulgeError.of("metric", "say where its places lie", "it", metric.name, hint)
    shares = weights_of(weights, len(metric))
    ax = drawable(ax, (5.2, 4.6))
    if metric.size is not None:
        _cells(metric, shares, ax)
    else:
        ax.scatter(*metric.points.T, s=600 * shares / shares.max() + 6, color=_INK, alpha=0.6, linewidths=0)
    if around is not None:
        _circles(metric, shares, around, ax)
    ax.set(aspect="equal", xlabel=metric.unit or "distance")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _cells(metric: Any, shares: np.ndarray, ax: "Axes") -> None:
    width, height = metric.size or (1, 1)
    half = float(metric.step or 1) / 2
    sides = (-half, (2 * width - 1) * half, -half, (2 * height - 1) * half)
    image = ax.imshow(shares.reshape(height, width), origin="lower", extent=sides, cmap="GnBu", vmin=0)
    ax.figure.colorbar(image, ax=ax, shrink=0.6, label="share of each cell")


def _circles(metric: Any, shares: np.ndarray, around: Hashable, ax: "Axes") -> None:
    patches = require("matplotlib.patches", "plot")
    x, y = metric.points[position(metric.labels, around, "around")].tolist()
    ax.plot([x], [y], "+", color=_RING, markersize=9)
    for share, style in zip(SHARES, ("-", "--"), strict=True):
        size = metric.radius(around, shares, share)
        shown = size + float(metric.step or 0) / 2  # to the far side of the cells it reaches
        ax.add_patch(patches.Circle((x, y), shown, fill=False, color=_RING, linestyle=style, linewidth=1.6))
        ax.annotate(
            f"{share * 100:g} in 100", (x, y + shown), color=_RING, ha="center", va="bottom", fontsize=9,
            annotation_clip=False,
        )  # fmt: skip
    reach = max(metric.radius(around, shares, SHARES[-1]) + float(metric.step or 0), float(np.ptp(metric.points)) / 20)
    low, high = metric.points.min(axis=0), metric.points.max(axis=0)
    margin = float(metric.step or 0)
    ax.set_xlim(min(low[0] - margin, x - reach), max(high[0] + margin, x + reach))
    ax.set_ylim(min(low[1] - margin, y - reach), max(high[1] + margin, y + reach) + 0.04 * math.hypot(*(high - low)))
