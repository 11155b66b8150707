"""Pictures of measures, drawn with matplotlib (extra: plot)."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from divulge.extras import drawable


class Variable(Protocol):
    """What is drawn: the values of a random variable and its tail, such as a `Pointwise`."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def values(self) -> np.ndarray: ...
    @property
    def tail(self) -> Callable[[float], float]: ...


def pointwise(variable: Variable, ax: Any = None, **options: Any) -> Any:
    """Draw the tail P(value > t) over t, with what lies at infinity in words, and return the axes."""
    ax = drawable(ax)
    finite = np.unique(variable.values[np.isfinite(variable.values)])
    end = 1.1 * float(finite[-1]) if len(finite) and finite[-1] > 0 else 1.0
    steps = np.unique(np.concatenate([[0.0], finite, [end]]))
    ax.step(steps, [variable.tail(float(t)) for t in steps], where="post", **options)
    infinite = variable.tail(end)
    if infinite > 0:
        below = infinite > 0.15
        ax.annotate(
            f"infinite with probability {infinite:.3g}", (end, infinite), (0, -4 if below else 4),
            textcoords="offset points", ha="right", va="top" if below else "bottom",
        )  # fmt: skip
    ax.set_xlabel(f"t [{variable.unit}]" if variable.unit else "t")
    ax.set_ylabel(f"P({variable.name} > t)")
    ax.set_ylim(-0.02, 1.02)  # a tail of 0 is seen
    if "label" in options:
        ax.legend()
    return ax
