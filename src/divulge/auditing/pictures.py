"""Pictures of audits, drawn with matplotlib (extra: plot)."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import drawable, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 300
"""Places at which a line is drawn."""


def membership(audit: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the curve of rates with its lower bound, the claim, and guessing, both axes logarithmic."""
    if audit.rates is None:
        raise DivulgeError.of("method", 'be "rates" for a curve', "it", audit.method)
    ax, rates = drawable(ax), audit.rates
    least = 0.5 / max(rates.members, rates.others)
    fpr = np.geomspace(least, 1.0, _POINTS)
    hits = np.concatenate([[0.0], rates.true_positives / rates.members, [1.0]])
    alarms = np.concatenate([[0.0], rates.false_positives / rates.others, [1.0]])
    ax.plot(np.maximum(alarms, least), np.maximum(hits, least), drawstyle="steps-post", label="as counted")
    order = np.lexsort((rates.lower, rates.upper))
    bound = np.maximum.accumulate(rates.lower[order])
    low, high = np.append(rates.upper[order], 1.0), np.append(bound, 1.0)
    name = f"at least, {audit.confidence:.0%} confidence"
    ax.plot(low, np.maximum(high, least), drawstyle="steps-post", label=name)
    ax.fill_between(low, np.maximum(high, least), least, step="post", alpha=0.15, color="C1")
    claim = None if audit.claim is None else CURVES.get(audit.claim.kind)
    if claim is not None:
        ax.plot(
            fpr,
            np.maximum(claim(audit.claim, fpr), least),
            color="C3",
            linestyle="--",
            label=f"most under {audit.claim}",
        )
    ax.plot(fpr, fpr, color="0.6", linestyle=":", label="guessing")
    ax.set(xscale="log", yscale="log", xlim=(least, 1.0), ylim=(least, 1.05))
    ax.set_xlabel("others who are named (false-positive rate)")
    ax.set_ylabel("members who are named (true-positive rate)")
    ax.legend(loc="lower right")
    return ax


def _approximate(epsilon: float, delta: float, fpr: np.ndarray) -> np.ndarray:
    """Return the largest true-positive rate under (epsilon, delta)-DP."""
    up = math.exp(min(epsilon, 700.0)) * fpr + delta
    return np.minimum(np.minimum(up, 1 - math.exp(-epsilon) * (1 - delta - fpr)), 1.0)


def _gaussian(mu: float, fpr: np.ndarray) -> np.ndarray:
    special = require("scipy.special", "science")
    return special.ndtr(special.ndtri(fpr) + mu)


CURVES: dict[str, Callable[[Any, np.ndarray], np.ndarray]] = {
    "ldp": lambda claim, fpr: _approximate(float(claim.epsilon), 0.0, fpr),
    "dp": lambda claim, fpr: _approximate(float(claim.epsilon), 0.0, fpr),
    "adp": lambda claim, fpr: _approximate(float(claim.epsilon), float(claim.delta), fpr),
    "tv": lambda claim, fpr: np.minimum(1.0, fpr + float(claim.distance)),
    "gdp": lambda claim, fpr: _gaussian(float(claim.mu), fpr),
}
"""Kind of claim -> the largest true-positive rate that it allows at each false-positive rate."""
