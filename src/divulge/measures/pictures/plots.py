"""Pictures of measures, drawn with matplotlib (extra: plot)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import drawable
from divulge.model.shown import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


MOST_BARS = 200
"""More bars than this are narrower than a pixel or two of a page, and their names cannot be read."""


def bars(leak: Any, ax: "Axes | None" = None, **options: Any) -> "Axes":
    """Draw one bar an outcome, the first on top, with what is infinite in words, and return the axes."""
    if len(leak) > MOST_BARS:
        raise DivulgeError.of("kind", f'be "tail" where there are more than {MOST_BARS} outcomes', "their number",
                              f"{len(leak):,}")  # fmt: skip
    ax = drawable(ax)
    places = np.arange(len(leak))
    ax.barh(places, np.where(np.isfinite(leak.values), leak.values, 0.0), **options)
    for place in places[~np.isfinite(leak.values)].tolist():
        ax.annotate("infinite" if leak.values[place] > 0 else "minus infinite", (0, place), va="center")
    ax.set_yticks(places, [printable(str(outcome)) for outcome in leak.outcomes])
    ax.invert_yaxis()
    ax.set_xlabel(f"{leak.name} [{leak.unit}]" if leak.unit else leak.name)
    if "label" in options:
        ax.legend()
    return ax


def pointwise(variable: Variable, ax: "Axes | None" = None, **options: Any) -> "Axes":
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
