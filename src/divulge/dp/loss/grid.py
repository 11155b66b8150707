"""A privacy loss on a grid: two finite pairs, one that is harder to tell apart and one that is easier.

The pair (P, Q) is cut into cells of width h by its loss; only the mass p, q of every cell under P and under Q is used.

* Above: the mass of a cell is split between its two ends so that p and q stay what they are. No distribution inside the
  cell with these p, q is easier to tell apart than that, so delta_above >= delta at every epsilon (Doroshenko, Ghazi,
  Kamath, Kumar, Manurangsi, "Connect the Dots").
* Below: mass of two neighboring cells is merged so that the merged loss is exactly the grid point between them. Merging
  is post-processing, so delta_below <= delta; what finds no partner is moved down to the grid point under it.

Both differ from a smooth truth in the second order of h. Errors of the masses are on the safe side: more P and less Q
can only raise delta, less P and more Q can only lower it.
"""

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss, LaplaceLoss

ACCURACY = 2.0**-40
"""Relative error that a tail P(L > t) may have.

A Gaussian tail z deviations out feels the rounding of z by a relative z^2 2^-52, below 2^-41 until it underflows; the
other tails in closed form keep more digits.
"""

ROUND = 2.0**-52
"""Twice the unit round-off of a double."""

_TINY = 2.3e-308
"""Absolute error of a mass at the end of the range of doubles: what lies below the normal ones may be flushed to 0."""

_PAIRINGS = 3
"""How often what is left over is paired again."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Masses of the cells of a grid under P and Q, with bounds on their absolute errors; all of shape (K,)."""

    p: np.ndarray
    q: np.ndarray
    p_error: np.ndarray
    q_error: np.ndarray


@dataclass(frozen=True, eq=False)
class Atoms:
    """Masses under P on grid points first, first + 1, ... (times h), and the mass of the infinite loss."""

    first: int
    masses: np.ndarray
    infinite: float


_NARROW = 0.01
"""Width of a cell times its distance from the middle: what an expansion leaves out, (0.01)^6 / 300,000, is no digit."""


@singledispatch
def cells(loss: Any, edges: np.ndarray) -> Cells:
    """Return the masses of {edges[k] <= L < edges[k + 1]} under P and Q."""
    return by_tails(loss, edges)


def by_tails(loss: Any, edges: np.ndarray) -> Cells:
    """Return the masses of the cells from the tails of any loss.

    Differences of upper tails above the median and of lower tails below it, so that far cells keep their digits.
    """
    edges = nudged(edges)
    middle = int(np.searchsorted(-loss.tail(edges), -0.5))
    low, high = edges[: middle + 1], edges[middle:]
    reverse = loss.reverse()
    p, p_error = _masses(reverse.tail_under_q(-low), loss.tail(high))
    q, q_error = _masses(reverse.tail(-low), loss.tail_under_q(high))
    return Cells(p, q, p_error, q_error)


def nudged(edges: np.ndarray) -> np.ndarray:
    """Return the edges a few units lower, so that an atom on an edge to within rounding counts in the cell above it."""
    return edges - (8 * ROUND * np.abs(edges) + 1e-300)


@cells.register
def _(loss: AtomicLoss, edges: np.ndarray) -> Cells:
    """Sums of the atoms; one on an edge to within rounding counts above it, and one that underflows may be there."""
    size = len(edges) - 1
    at = np.searchsorted(nudged(edges), loss.losses, side="right") - 1
    inside = (at >= 0) & (at < size)
    p, q = (
        np.bincount(at[inside], exact.as_floats(mass)[inside], minlength=size).astype(np.float64)
        for mass in (loss.p, loss.q)
    )
    lost = _TINY * np.bincount(at[inside], minlength=size)
    return Cells(p, q, 4 * ROUND * p + lost, 4 * ROUND * q + lost)


@cells.register
def _(loss: GaussianLoss, edges: np.ndarray) -> Cells:
    """Midpoint expansions of the density where cells are narrow, else differences of tails where these are nearer."""
    width, middle = np.diff(edges) / loss.mu, (edges[1:] + edges[:-1]) / (2 * loss.mu)
    p, q = _normal_cells(middle - loss.mu / 2, width), _normal_cells(middle + loss.mu / 2, width)
    wide = np.flatnonzero(~(width * (np.abs(middle) + loss.mu / 2 + 4.0) <= _NARROW))  # NaN (no middle) is not narrow
    if len(wide):
        these = slice(wide[0], wide[-1] + 1)
        found = by_tails(loss, edges[wide[0] : wide[-1] + 2])
        for (mass, error), by, by_error in ((p, found.p, found.p_error), (q, found.q, found.q_error)):
            nearer = by_error <= error[these]
            mass[these][nearer], error[these][nearer] = by[nearer], by_error[nearer]
    return Cells(p[0], q[0], p[1], q[1])


@cells.register
def _(loss: LaplaceLoss, edges: np.ndarray) -> Cells:
    """Closed forms: densities e^((t - e)/2) / 4 and e^(-(t + e)/2) / 4 between atoms at both ends."""
    edges, e = nudged(edges), loss.top
    inside = np.clip(edges, -e, e)
    width = np.diff(inside)
    p = np.exp((inside[:-1] - e) / 2) * np.expm1(width / 2) / 2
    q = np.exp(-(inside[:-1] + e) / 2) * -np.expm1(-width / 2) / 2
    for end, mass, mass_q in ((-e, math.exp(-e) / 2, 0.5), (e, 0.5, math.exp(-e) / 2)):
        cell = int(np.searchsorted(edges, end, side="right")) - 1
        if 0 <= cell < len(p):
            p[cell] += mass
            q[cell] += mass_q
    return Cells(p, q, 16 * ROUND * p + _TINY, 16 * ROUND * q + _TINY)


def _normal_cells(middle: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard normal masses of narrow cells around `middle`, and bounds on their errors.

    w phi(m) (1 + w^2 He_2(m) / 24 + w^4 He_4(m) / 1920 + ...): the next terms are w^6 He_6 / 322560 and smaller.
    """
    squared = middle * middle
    series = 1.0 + width**2 * (squared - 1.0) / 24 + width**4 * ((squared - 6.0) * squared + 3.0) / 1920
    mass = width * np.exp(-squared / 2) / math.sqrt(2 * math.pi) * series
    rest = np.where(width * (np.abs(middle) + 4.0) < 0.5, (width * (np.abs(middle) + 4.0)) ** 6 / 300000, math.inf)
    with np.errstate(invalid="ignore"):
        error = mass * (ROUND * (8.0 + 4.0 * squared) + rest) + _TINY
    return np.maximum(mass, 0.0), np.where(np.isfinite(error), error, math.inf)


def _masses(below: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the masses of the cells from rising lower tails and falling upper tails, and bounds on their errors."""
    mass = np.concatenate([np.diff(below), -np.diff(above)])
    error = np.concatenate([below[1:] + below[:-1], above[1:] + above[:-1]]) * ACCURACY + _TINY
    return np.maximum(mass, 0.0), error


def above(loss: Any, step: float, first: int, last: int) -> Atoms:
    """Return the pair on the grid that is nowhere harder to tell apart than `loss`: an upper bound on delta."""
    edges = step * np.arange(first, last + 1)
    masses = _split(cells(loss, edges), edges, +1)
    ends = nudged(edges)
    masses[0] += float(loss.reverse().tail_under_q(-ends[0])) * (1.0 + ACCURACY)
    infinite = float(loss.infinite) * (1.0 + ACCURACY)
    beyond = float(loss.tail(ends[-1])) * (1.0 + ACCURACY)
    if loss.highest <= edges[-1] * (1.0 + 8 * ROUND):
        masses[-1] += max(0.0, beyond - float(loss.infinite))
        return Atoms(first, masses, infinite)
    return Atoms(first, masses, max(infinite, beyond) + _TINY)


def _split(found: Cells, edges: np.ndarray, side: int) -> np.ndarray:
    """Return the masses on the edges of cells, each split between its ends so that p and q are kept.

    The errors of p and q count so that no delta is lower than it is (side +1), or none higher (side -1).
    """
    p = np.maximum(found.p + side * found.p_error, 0.0)
    q = np.maximum(found.q - side * found.q_error, 0.0) * (1.0 - side * 16 * ROUND)
    with np.errstate(divide="ignore"):
        scaled = np.where(q > 0, np.exp(np.minimum(edges[:-1] + np.log(q), 700.0)), 0.0)
    raised = np.clip((p - scaled) / -math.expm1(edges[0] - edges[1]), 0.0, p)
    masses = np.append(p - raised, 0.0)
    masses[1:] += raised
    return masses


def split_below(loss: Any, step: float, first: int, last: int) -> Atoms:
    """Return the pair of `above` with every error of its masses on the low side: its losses are nowhere larger.

    The splitting itself may make it harder to tell apart than `loss`, by as much as `SplitSum` allows for.
    """
    edges = step * np.arange(first, last + 1)
    masses = _split(cells(loss, edges), edges, -1)
    masses[-1] += _beyond(loss, edges)
    return Atoms(first, masses, float(loss.infinite) * (1.0 - ACCURACY))


def _beyond(loss: Any, edges: np.ndarray) -> float:
    """Return a lower bound on the mass of the finite losses beyond the last edge."""
    least = float(loss.tail(nudged(edges)[-1])) * (1.0 - ACCURACY) - float(loss.infinite) * (1.0 + ACCURACY)
    return max(0.0, least)


def below(loss: Any, step: float, first: int, last: int, shift: float) -> Atoms:
    """Return the pair on the grid lowered by `shift` that is nowhere easier to tell apart: a lower bound on delta."""
    edges = step * np.arange(first, last + 1)
    found = cells(loss, edges)
    p, q = np.maximum(found.p - found.p_error, 0.0), found.q + found.q_error
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(p > 0, np.log(p) - np.log(q) - edges[:-1] + shift, 0.0)
    sunk = over < 0
    over = np.clip(over, 0.0, step)
    masses = np.zeros(len(edges))
    masses[:-2] += np.where(sunk, p, 0.0)[1:]
    masses[:-1] += _paired(masses, np.where(sunk, 0.0, p), over, step)
    masses[-1] += _beyond(loss, edges)
    return Atoms(first, masses, float(loss.infinite) * (1.0 - ACCURACY))


def _paired(masses: np.ndarray, p: np.ndarray, over: np.ndarray, step: float) -> np.ndarray:
    """Add to the grid `masses` what neighboring cells can merge on the points between them; return what is left over.

    A cell sends the share over/h up and the rest down. On a point, what comes down exceeds its loss by p (1 - e^-over)
    and what comes up misses it by p (e^(h - over) - 1); as much as balances stays, the rest goes back to its cell.
    """
    with np.errstate(over="ignore"):
        share, excess, deficit = over / step, -np.expm1(-over), np.expm1(step - over)
    for _ in range(_PAIRINGS):
        down, up = p * (1.0 - share), p * share
        missing = np.multiply(up, deficit, out=np.zeros_like(up), where=up > 0)  # a deficit may be infinite
        surplus, lack = np.append(down * excess, 0.0), np.append(0.0, missing)
        met = np.minimum(surplus, lack)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept_down = np.where(surplus > 0, met / surplus, 1.0)[:-1]
            kept_up = np.where(lack > 0, met / lack, 1.0)[1:]
        masses[:-1] += kept_down * down
        masses[1:] += kept_up * up
        p = (1.0 - kept_down) * down + (1.0 - kept_up) * up
    return p
