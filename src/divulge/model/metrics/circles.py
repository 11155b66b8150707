"""Circles about a place that hold a share of what may be there."""

from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.entries import scalar

_SUMMED = 1e-12
"""A sum of shares in doubles may miss the share by this."""


def weights_of(weights: Any, places: int) -> np.ndarray:
    """Return the weights of the places over their sum: at least 0, finite, one for each place, not all 0."""
    given = weights.floats if hasattr(weights, "floats") else weights
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DivulgeError.of("weights", "be numbers", "they", "something else") from None
    if found.shape != (places,):
        raise DivulgeError.of(
            "weights", f"have one number for each of {places} places", "their shape", str(found.shape)
        )
    if not ((found >= 0).all() and 0 < found.sum() < np.inf):
        raise DivulgeError.of("weights", "be at least 0 and not all 0", "they", "not")
    return found / found.sum()


def radius(distances: np.ndarray, weights: Any, share: Any) -> float:
    """Return the least distance within which the places have this share of the weights."""
    wanted = scalar(share, "share")
    if not wanted <= 1:
        raise DivulgeError.of("share", "be in [0, 1]", "it", f"{wanted:g}")
    found = weights_of(weights, len(distances))
    order = np.argsort(distances, kind="stable")
    held = np.cumsum(found[order])
    enough = int(np.flatnonzero(held >= wanted - _SUMMED)[0])
    return float(distances[order[enough]])
