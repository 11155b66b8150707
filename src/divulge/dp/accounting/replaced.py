"""A mechanism on a Poisson sample of records of which one is replaced by another, not added or removed.

With X, Y and Z the outcome when one record, the other, or none of both is in the sample, the pair is (1 - r) Z + r X
and (1 - r) Z + r Y, and what the mechanism says is about X and Z, and about Y and Z. Let f be the least error of the
second kind of any test of Z against X. An event S with Z(S) = s has X(S) <= 1 - f(s) and Y(S) >= f(1 - s), so that

    delta(e) <= max over s of r (1 - f(s)) - r e^e f(1 - s) - (1 - r) (e^e - 1) s, e >= 0,

and these are the half lines of one pair: densities 1 - r + r x(s) and 1 - r + r x(1 - s) on [0, 1], x = -f'. Noise that
is alike to both sides, and log-concave, has it where one record moves a number up and the other one down.
"""

import math
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.knowledge import Known, weakest
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.lattice import LatticeLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss, dominating
from divulge.dp.loss.sampled import sampled
from divulge.dp.mechanisms import (
    DiscreteGaussianMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
)

_POINTS = 4000
"""Epsilons at which delta of a loss without atoms is read: at a delta of 1e-10 chords between them are 1e-3 off."""

_LEAST = 1e-200
"""What delta exceeds its end by at the last of these epsilons, at most; beyond, all tells everything."""

_WIDEST = 600.0
"""Largest epsilon at which a delta is read, and of which e to it is taken; a larger loss counts as infinite."""

_UP = 1 + 1e-11
"""More than the relative rounding of where a step ends: a sum of some thousand numbers of one sign."""

_MOST = 1_000_000
"""Whole numbers of which the probability of a noise is listed; wider noise has a weaker bound from below."""

_CELLS, _FAR = 4000, 12.0
"""Cells of a line in which noise is counted, and how many scales beyond the values they reach; the rest is one more."""


def replaced(mechanism: Mechanism, rate: float) -> AtomicLoss:
    """Return the loss of a pair, alike in both orders, that dominates the mechanism on samples with one replaced."""
    losses = mechanism.losses()
    known = weakest([Known.DOMINATING, *(one.known for one in losses)])
    below = _attained(mechanism, losses[0], rate) or False
    largest = 4 * max(one.rate for one in losses)
    return _mirrored(_finite(losses), rate, {"known": known, "below": below, "rate": largest})


def _finite(losses: tuple[PrivacyLoss, ...]) -> AtomicLoss:
    """Return a loss with atoms that dominates all of these, in both orders."""
    (first, *others) = losses
    if not others and isinstance(first, AtomicLoss) and not isinstance(first, (PromisedLoss, LatticeLoss)):
        return first
    tried = np.concatenate([[0.0], np.geomspace(1e-9, min(_highest(losses), _WIDEST), 600)])
    found = _largest(losses, tried)
    end = float(tried[min(int(np.argmax(found <= found[-1] + _LEAST)), len(tried) - 1)])
    corners = [one.atoms_at[(one.atoms_at > 0) & (one.atoms_at <= end)] for one in losses]
    few = [one for one in corners if len(one) <= _POINTS]
    epsilons = np.unique(np.concatenate([np.linspace(0.0, end, _POINTS), np.geomspace(1e-4 * end, end, 200), *few]))
    deltas = _largest(losses, epsilons)
    return AtomicLoss(**dominating(epsilons[1:], deltas[1:], float(deltas[0])))


def _highest(losses: tuple[PrivacyLoss, ...]) -> float:
    return max(one.highest for one in losses)


def _largest(losses: tuple[PrivacyLoss, ...], e: np.ndarray) -> np.ndarray:
    return np.max([np.asarray(one.delta(e)) for one in losses], axis=0)


def _mirrored(base: AtomicLoss, rate: float, given: dict[str, Any]) -> AtomicLoss:
    """Return the loss of densities 1 - r + r x(s) and 1 - r + r x(1 - s), where x falls in steps from e^loss to 0."""
    seen = base.losses <= _WIDEST
    ratio = np.append(np.exp(base.losses[seen][::-1]), 0.0)
    none = np.append(exact.as_floats(base.q)[seen][::-1], float(base.q_only))
    low, high = _halves(none)
    first, last, width = _joined(low, high)
    up, down = 1.0 - rate + rate * ratio[first], 1.0 - rate + rate * ratio[last]
    shown = down > 0
    only = rate * (float(base.p_only) + math.fsum(exact.as_floats(base.p)[~seen].tolist()))
    only += math.fsum((width * up)[~shown].tolist())
    first, last, width, up, down = (each[shown] for each in (first, last, width, up, down))
    losses = np.log1p(rate * (ratio[first] - ratio[last]) / down)
    values, where = np.unique(losses[losses > 0], return_inverse=True)
    p, q = (np.bincount(where, (width * side)[losses > 0], len(values)) * _UP for side in (up, down))
    rest = max(0.0, 1.0 - only - math.fsum(p.tolist()) - math.fsum(q.tolist()))
    both, places = np.concatenate([q[::-1], [rest], p]), np.concatenate([-values[::-1], [0.0], values])
    return AtomicLoss(places, both, both[::-1], only, only, ("D", "D'"), **given)


def _halves(widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where steps end, from the left and from the right, each without the cancellation of the other."""
    return np.cumsum(widths), np.append(np.cumsum(widths[::-1])[::-1][1:], 0.0)


def _joined(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for s from 0 to 1/2, on which step s lies, on which 1 - s, and how wide that piece is."""
    ends = np.unique(np.concatenate([low[low < 0.5], high[(high > 0) & (high < 0.5)], [0.5]]))
    starts = np.append(0.0, ends[:-1])
    middle = starts / 2 + ends / 2
    first = np.minimum(np.searchsorted(low, middle, side="right"), len(low) - 1)
    last = len(high) - 1 - np.minimum(np.searchsorted(high[::-1], middle, side="left") - 1, len(high) - 1)
    return first, np.clip(last, 0, len(high) - 1), ends - starts


def _attained(mechanism: Mechanism, loss: PrivacyLoss, rate: float) -> PrivacyLoss | None:
    """Return the loss of two data sets that there are: records with opposite effects, else one without any."""
    masses = _masses(mechanism)
    if masses is None:
        return sampled(loss, rate).attained
    still, up, down = masses
    p, q = (1 - rate) * still + rate * up, (1 - rate) * still + rate * down
    return AtomicLoss.of_rows(p / p.sum(), q / q.sum(), ("D", "D'"))


def _masses(mechanism: Any) -> list[np.ndarray] | None:
    """Return how probable it is where a noisy number lies: not moved, and moved by one record up, or down."""
    if isinstance(mechanism, (GaussianMechanism, LaplaceMechanism)):
        from scipy.stats import laplace, norm

        scale, noise = (
            (mechanism.sigma, norm) if isinstance(mechanism, GaussianMechanism) else (mechanism.scale, laplace)
        )
        shift = mechanism.sensitivity / scale
        edges = np.linspace(-shift - _FAR, shift + _FAR, _CELLS + 1)
        return [_cells(noise, edges - s) for s in (0.0, shift, -shift)]
    if isinstance(mechanism, (DiscreteGaussianMechanism, DiscreteLaplaceMechanism)):
        gaussian = isinstance(mechanism, DiscreteGaussianMechanism)
        scale, shift = mechanism.sigma if gaussian else mechanism.scale, int(mechanism.sensitivity)
        reach = 2 * shift + math.ceil((_FAR if gaussian else _FAR**2) * scale)
        if reach > _MOST:
            return None
        k = np.arange(-reach, reach + 1)
        return [
            np.exp(-(((k - s) / scale) ** 2) / 2 if gaussian else -np.abs(k - s) / scale) for s in (0, shift, -shift)
        ]
    return None


def _cells(noise: Any, edges: np.ndarray) -> np.ndarray:
    """Return the masses of the cells between edges and beyond them, each from the nearer tail."""
    below = np.concatenate([[0.0], noise.cdf(edges), [1.0]])
    above = np.concatenate([[1.0], noise.sf(edges), [0.0]])
    return np.where(np.append(edges, np.inf) <= 0, np.diff(below), -np.diff(above))
