"""Where the mass of a loss lies: about its atoms, and the cells of a grid that it needs."""

import math
from collections.abc import Callable

import numpy as np

from divulge import exact
from divulge.dp.accounting.summing.sums import Window
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.pair import PrivacyLoss

Condition = Callable[[np.ndarray], np.ndarray]
"""Numbers, or what holds, at many values at once."""

QUIET = 32.0
"""-log of the tilted mass that may lie outside of the window, and of what is cut off the parts."""

_DEEPEST = 740.0
"""-log of the smallest double, and some."""

_PLANNING_CELLS = 4096
"""Cells by which a sum is planned before it is computed."""

_NEAR_ENDS = 1e-8, 0.1, 200
"""Shares of the whole range from which to which as many cells of a plan narrow towards either end: by an eleventh."""

_WIDTH = 1e-4
"""Relative width to which ends are looked for: a grid that is wider by so much takes no longer."""

_LOOKS = 24
"""Values that are looked at in one call: three calls, of 24, come down to the width; longer ones take longer."""

_DOUBLINGS = 1100
"""Doublings of what starts at 1e-6, or more, after which doubles end."""


def planning_atoms(loss: PrivacyLoss) -> tuple[np.ndarray, np.ndarray]:
    """Return about the losses and log probabilities of the finite part: its atoms, or cells that widen outwards."""
    if isinstance(loss, AtomicLoss):
        p = exact.as_floats(loss.p)
        losses, p = loss.losses[p > 0], p[p > 0]
        if len(p) <= _PLANNING_CELLS:
            return losses, np.log(p)
        middle = float(losses[np.searchsorted(np.cumsum(p), 0.5 * p.sum())])
        at = np.searchsorted(_narrow_at_ends(_widening(float(losses[0]), middle, float(losses[-1]))), losses)
        mass, sums = np.bincount(at, p), np.bincount(at, p * losses)
        return sums[mass > 0] / mass[mass > 0], np.log(mass[mass > 0])
    bottom, top = _reach(loss, lambda t: np.full(t.shape, 1e-30), 1e-320)
    edges = _widening(bottom, _lowest(lambda t: loss.tail(t) <= 0.5, bottom, top), top)
    found = grid.cells(loss, edges)
    p = np.append(found.p, max(0.0, float(loss.tail(grid.nudged(edges)[-1])) - loss.infinite))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.append(np.clip(np.log(found.p) - np.log(found.q), edges[:-1], edges[1:]), edges[-1])
    seen = (p > 0) & (values == values)
    return values[seen], np.log(p[seen])


def _widening(bottom: float, middle: float, top: float) -> np.ndarray:
    """Return edges of cells that widen from the middle outwards, with both ends inside."""
    width = 1e-5 * (top - bottom)
    ends = np.arcsinh((np.array([bottom, top]) - middle) / width)
    edges = middle + width * np.sinh(np.linspace(float(ends[0]), float(ends[1]), _PLANNING_CELLS))
    edges[[0, -1]] += np.array([-1e-4, 1e-4]) * width
    return edges


def _narrow_at_ends(edges: np.ndarray) -> np.ndarray:
    """Return edges with more of them towards both ends, where steep powers of e^L see nothing but the last atoms."""
    away = (edges[-1] - edges[0]) * np.geomspace(*_NEAR_ENDS)
    return np.unique(np.concatenate([edges, edges[0] + away, edges[-1] - away]))


def span(loss: PrivacyLoss, step: float, below: Condition, deepest: float) -> tuple[int, int]:
    """Return the first and last grid point of a part: below t lies at most `below(t)`, above at most e^deepest."""
    bottom, top = _reach(loss, below, math.exp(max(deepest, -_DEEPEST)))
    return math.floor(bottom / step), max(math.ceil(top / step), math.floor(bottom / step) + 1)


def negligible(loss: PrivacyLoss, window: Window, at: np.ndarray, draws: int) -> Condition:
    """Return how much mass of P below t may be moved up to t, given some losses of the part.

    There it is at most a share e^-QUIET of the tilted mass, also at the smaller tilt by which Chernoff's bound tells
    what lies below the window.
    """
    slopes = [slope for slope in (window.tilt, window.tilt - window.down) if slope >= 0]
    shares = [least_cumulant(loss, at, slope) - QUIET - math.log(draws) for slope in slopes]

    def most(t: np.ndarray) -> np.ndarray:
        bounds = [share - slope * t for share, slope in zip(shares, slopes, strict=True)]
        return np.exp(np.minimum(0.0, np.min(bounds, axis=0)))

    return most


def least_cumulant(loss: PrivacyLoss, at: np.ndarray, tilt: float) -> float:
    """Return a lower bound on log E e^(tilt L), the largest tilt t + log P(L >= t) over some t (Markov's inequality).

    >>> from divulge.dp.loss.closed import GaussianLoss
    >>> bound = least_cumulant(GaussianLoss(1.0), np.linspace(-2.0, 6.0, 99), 3.0)
    >>> bound < 3.0 * 0.5 + 3.0**2 / 2 < bound + 3
    True
    """
    with np.errstate(divide="ignore"):
        return float((tilt * at + np.log(np.asarray(loss.tail(at), dtype=float))).max())


def _reach(loss: PrivacyLoss, below: Condition, above: float) -> tuple[float, float]:
    """Return a and b with P(L < a) <= below(a) and P(b < L < inf) <= above, about as close as can be."""
    reverse = loss.reverse()
    bottom = -_lowest(lambda t: reverse.tail_under_q(t) <= below(-t), -loss.highest, -loss.lowest)
    return bottom, _lowest(lambda t: loss.tail(t) - loss.infinite <= above, loss.lowest, loss.highest)


def _lowest(holds: Condition, bottom: float, top: float) -> float:
    """Return about the least t in [bottom, top] with `holds`, true from there on; the ends may be infinite.

    What is looked at is looked at by the dozen, as an array: one call of a tail costs as much for many values.
    """
    high, low = top, bottom
    if math.isinf(top):
        high = _doubled(holds, max(1e-6, 2 * bottom if math.isfinite(bottom) else 0.0))
    if math.isinf(bottom):
        low = -_doubled(lambda t: ~holds(-t), max(1e-6, -2 * high))
    while high - low > _WIDTH * max(abs(low), abs(high)):
        places = np.linspace(low, high, _LOOKS + 2)[1:-1]
        if not low < places[0] <= places[-1] < high:
            break
        kept = holds(places)
        first = int(kept.argmax()) if kept.any() else len(places)
        low, high = (low, *places.tolist())[first], (*places.tolist(), high)[first]
    return high


def _doubled(holds: Condition, start: float) -> float:
    """Return the first of start, 2 start, 4 start, ... that holds; +inf where none does."""
    with np.errstate(over="ignore"):
        for first in range(0, _DOUBLINGS, _LOOKS):
            places = start * 2.0 ** np.arange(first, first + _LOOKS)
            kept = np.isfinite(places) & holds(np.where(np.isfinite(places), places, start))
            if kept.any():
                return float(places[kept.argmax()])
    return math.inf
