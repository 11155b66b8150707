"""The tails of several mechanisms in one picture (extra: plot)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from divulge.errors import DivulgeError
from divulge.extras import drawable, legend
from divulge.measures.pictures.plots import pointwise
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import pmc, pml
from divulge.model.accepted import JointLike
from divulge.units import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEASURES = {"pml": pml, "pmc": pmc}


def plot_pointwise(
    mechanisms: Mapping[str, JointLike | Pointwise], measure: str = "pml", ax: "Axes | None" = None, unit: Unit = "nats"
) -> "Axes":
    """Draw the tails of several mechanisms over one another and return the matplotlib axes (extra: plot).

    Parameters
    ----------
    mechanisms : mapping {label: Joint, what converts to it, or a Pointwise}
    measure : "pml" or "pmc", of what is not a Pointwise yet
    ax : matplotlib axes, optional
    unit : "nats" or "bits"

    Returns
    -------
    matplotlib axes
        A step for each mechanism: P(value > t) over t.

    Raises
    ------
    DivulgeError
        When there is no mechanism, the measure is another, or the pictures would have different units.

    Examples
    --------
    >>> flip = ([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]])
    >>> ax = plot_pointwise({"flip": flip, "name": ([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]])})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['flip', 'name']
    """
    DivulgeError.unless(mechanisms, Mapping, "mechanisms", "be a mapping {label: mechanism}")
    if not mechanisms:
        raise DivulgeError.of("mechanisms", "name at least one", "it", "empty")
    if measure not in _MEASURES:
        raise DivulgeError.unknown("measure", measure, _MEASURES)
    ax = drawable(ax)
    found = {
        label: one if isinstance(one, Pointwise) else _MEASURES[measure](one, unit) for label, one in mechanisms.items()
    }
    units = {one.unit for one in found.values()}
    if len(units) > 1:
        raise DivulgeError.of("mechanisms", "be in one unit", "they", f"in {' and '.join(sorted(units))}")
    for i, (label, one) in enumerate(found.items()):
        pointwise(one, ax, label=label, color=f"C{i % 10}", linestyle=_STYLES[i // 10 % len(_STYLES)])
    legend(ax)
    return ax


_STYLES = ("-", "--", ":", "-.")
"""Styles of lines, a next one each time the ten colors are used up."""
