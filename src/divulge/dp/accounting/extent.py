"""Where the mass of a loss lies: about its atoms, and the cells of a grid that it needs."""

import math
from collections.abc import Callable

import numpy as np

from divulge import exact
from divulge.dp.accounting.sums import Window
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.roots import grown, turn

QUIET = 32.0
"""-log of the tilted mass that may lie outside of the window, and of what is cut off the parts."""

_DEEPEST = 740.0
"""-log of the smallest double, and some."""

_PLANNING_CELLS = 4096
"""Cells by which a sum is planned before it is computed."""


def planning_atoms(loss: PrivacyLoss) -> tuple[np.ndarray, np.ndarray]:
    """Return about the losses and log probabilities of the finite part: its atoms, or cells that widen outwards."""
    if isinstance(loss, AtomicLoss):
        p = exact.as_floats(loss.p)
        losses, p = loss.losses[p > 0], p[p > 0]
        if len(p) <= _PLANNING_CELLS:
            return losses, np.log(p)
        middle = float(losses[np.searchsorted(np.cumsum(p), 0.5 * p.sum())])
        at = np.searchsorted(_widening(float(losses[0]), middle, float(losses[-1])), losses)
        mass, sums = np.bincount(at, p), np.bincount(at, p * losses)
        return sums[mass > 0] / mass[mass > 0], np.log(mass[mass > 0])
    bottom, top = _reach(loss, lambda _: 1e-30, 1e-320)
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


def span(loss: PrivacyLoss, step: float, below: Callable[[float], float], deepest: float) -> tuple[int, int]:
    """Return the first and last grid point of a part: below t lies at most `below(t)`, above at most e^deepest."""
    bottom, top = _reach(loss, below, math.exp(max(deepest, -_DEEPEST)))
    return math.floor(bottom / step), max(math.ceil(top / step), math.floor(bottom / step) + 1)


def negligible(loss: PrivacyLoss, window: Window, at: np.ndarray, draws: int) -> Callable[[float], float]:
    """Return how much mass of P below t may be moved up to t, given some losses of the part.

    There it is at most a share e^-QUIET of the tilted mass, also at the smaller tilt by which Chernoff's bound tells
    what lies below the window.
    """
    slopes = [slope for slope in (window.tilt, window.tilt - window.down) if slope >= 0]
    shares = [least_cumulant(loss, at, slope) - QUIET - math.log(draws) for slope in slopes]
    return lambda t: math.exp(min(0.0, *(share - slope * t for share, slope in zip(shares, slopes, strict=True))))


def least_cumulant(loss: PrivacyLoss, at: np.ndarray, tilt: float) -> float:
    """Return a lower bound on log E e^(tilt L), the largest tilt t + log P(L >= t) over some t (Markov's inequality).

    Examples
    --------
    >>> from divulge.dp.loss.closed import GaussianLoss
    >>> bound = least_cumulant(GaussianLoss(1.0), np.linspace(-2.0, 6.0, 99), 3.0)
    >>> bound < 3.0 * 0.5 + 3.0**2 / 2 < bound + 3
    True
    """
    with np.errstate(divide="ignore"):
        return float((tilt * at + np.log(np.asarray(loss.tail(at), dtype=float))).max())


def _reach(loss: PrivacyLoss, below: Callable[[float], float], above: float) -> tuple[float, float]:
    """Return a and b with P(L < a) <= below(a) and P(b < L < inf) <= above, about as close as can be."""
    reverse = loss.reverse()
    bottom = -_lowest(lambda t: reverse.tail_under_q(t) <= below(-t), -loss.highest, -loss.lowest)
    return bottom, _lowest(lambda t: loss.tail(t) - loss.infinite <= above, loss.lowest, loss.highest)


def _lowest(holds: Callable[[float], bool], bottom: float, top: float) -> float:
    """Return about the least t in [bottom, top] with `holds`, true from there on; the ends may be infinite."""
    high, low = top, bottom
    if math.isinf(top):
        high = grown(holds, max(1e-6, 2 * bottom if math.isfinite(bottom) else 0.0))[1]
    if math.isinf(bottom):
        low = -grown(lambda t: not holds(-t), max(1e-6, -2 * high))[1]
    return turn(holds, low, high, width=1e-4, steps=50)[1]
