"""Places with planar geometric noise: snapped to a grid, drawn exactly, clamped to a box, given as coordinates."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.model.arraylike import Number
from divulge.model.entries import whole_number
from divulge.model.metrics.geography import Box
from divulge.model.metrics.quantities import per_unit
from divulge.releasing.drawing.placed import PlacePart
from divulge.releasing.planning.placing import require_sizes, side
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.request import MOST_ROWS


def noisy_places(
    lat: ArrayLike,
    lon: ArrayLike,
    epsilon: str,
    *,
    grid: str,
    box: tuple[Number, Number, Number, Number],
    rows_per_person: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return places with exact planar geometric noise, in degrees: epsilon-metric private, geo-indistinguishable.

    Each place is snapped to a cell x of a grid over the box, moved by z drawn from P(z) ~ e^(-epsilon step |z|) on the
    whole lattice, and clamped to the box; what comes back is the middle of that cell. For cells x, x' and y,
    P(y | x) <= e^(epsilon d(x, x')) P(y | x'), d between their middles on the flat map. Places of one cell cannot be
    told apart; two places at a distance of D lie in cells with d < D + sqrt(2) step.

    The draws use the randomness of the operating system, and neither doubles nor a cut of the lattice takes part in
    their law. Grid and box have to be chosen without looking at the places.

    Parameters
    ----------
    lat, lon : array_like of shape (N,), in degrees
        A place outside of the box counts as in the nearest cell.
    epsilon : str
        The rate with its unit, in nats: "1/km", "2/mi".
    grid : str
        The side of a cell with its unit: "500m", "1km".
    box : (south, west, north, east) in degrees
        The region of the release; west may be greater than east, across the date line. So small that a flat map shows
        it within 1 percent.
    rows_per_person : int
        So many places of a person share the rate: each is drawn at epsilon / rows_per_person. The promise about all
        of them together has the largest of their distances.

    Returns
    -------
    lat, lon : float64 arrays of shape (N,)
        Different at every call.

    Raises
    ------
    DivulgeError
        When a latitude is beyond 90 or a longitude beyond 180 degrees or missing, `epsilon` or `grid` has no unit, or
        the box is none, too large for a flat map, or of more than a million cells along or up.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability", 2013, arXiv:1212.1984. Canonne, Kamath,
    Steinke, "The Discrete Gaussian for Differential Privacy", 2020, arXiv:2004.00010, algorithm 2, for the proposals.

    Examples
    --------
    >>> lat, lon = noisy_places([48.8566] * 3, [2.3522] * 3, "1/km", grid="500m", box=(48.7, 2.1, 49.0, 2.6))
    >>> bool(((48.7 < lat) & (lat < 49.0)).all()), lon.shape
    (True, (3,))
    """
    region, step, rate = Box.of(box), side(grid, "km", True), _rate(epsilon)
    rows = whole_number(rows_per_person, "rows_per_person", 1, MOST_ROWS)
    sides = (region.south, region.west, region.north, region.east)
    noise = MetricNoise.of(("lat", "lon"), rate / rows, "km", step, sides)
    require_sizes(noise.a, noise.size)
    cells = region.cells(lat, lon, step)
    moved = PlacePart(noise).drawn(cells[:, 1] * noise.size[0] + cells[:, 0])
    return region.centers(moved, step)


def _rate(epsilon: Any) -> Fraction:
    """Return the rate per km."""
    rate = per_unit(epsilon, "km") if isinstance(epsilon, str) else epsilon  # text without a unit comes back
    if not isinstance(rate, Fraction) or not rate > 0:
        raise DivulgeError.of("epsilon", "be a rate above 0 with its unit, such as 1/km", "it", repr(epsilon)[:60])
    return rate
