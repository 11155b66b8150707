"""Pictures of measures, drawn with matplotlib (extra: plot)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.extras import require

if TYPE_CHECKING:
    from divulge.measures.pointwise import Pointwise


def pointwise(variable: "Pointwise", ax: Any = None) -> Any:
    """Draw the tail P(value > t) over t and return the axes."""
    pyplot = require("matplotlib.pyplot", "plot")
    ax = pyplot.subplots()[1] if ax is None else ax
    thresholds = np.unique(variable.values[np.isfinite(variable.values)])
    ax.step([0.0, *thresholds], [variable.tail(t) for t in [0.0, *thresholds]], where="post")
    ax.set_xlabel(f"t [{variable.unit}]" if variable.unit else "t")
    ax.set_ylabel(f"P({variable.name} > t)")
    ax.set_ylim(0, 1.02)
    return ax
