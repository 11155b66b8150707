"""Noise at many places: log sum_j w_j f(y - r_j), without a table of all outcomes by all places."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from divulge.noise.families.noise import Noise
from divulge.noise.laws.steps import Grid, grid, log_cover, log_sums

_CHUNK = 2_000_000
"""So many numbers are held at a time."""

_FEW = 48
"""Up to so many places all of them are summed."""

_STEP_COST = 15.0
"""About as long as the terms of so many places takes one step of the noise."""

_MOST_PIECES = 1_000_000
"""Pieces between jumps of noise in steps for which sums are kept."""

_MANY, _RAREST = 2_000, 1e-300
"""Masses beside an outcome are summed over nearby places only, from so many on; the mass of noise that is not near."""

_NEGLIGIBLE = 42.0
"""Blocks of places that hold less than e^-42 of a sum, all together, are left out: nothing in double precision."""


def logsumexp(a: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return log sum exp along an axis; -inf where all are."""
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(a - top), axis=axis)) + np.squeeze(top, axis=axis)


def nearest(places: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the index of the place nearest to each y."""
    if len(places) == 1:
        return np.zeros(np.shape(y), dtype=int)
    after = np.clip(np.searchsorted(places, y), 1, len(places) - 1)
    return after - (y - places[after - 1] < places[after] - y)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Noise at places r_1 < r_2 < ... with log weights."""

    noise: Noise
    places: np.ndarray
    log_weights: np.ndarray

    def log_sum(self, y: np.ndarray, shift: np.ndarray | float, center: np.ndarray) -> np.ndarray:
        """Return log sum_j w_j f(y - shift - r_j) less `noise.reference(y, center)`; the arguments broadcast.

        For Laplace noise no y may lie beyond the data: nothing changes there, and digits would be lost.
        """
        y, shift, center = np.broadcast_arrays(y, shift, center)
        if len(self.places) <= _FEW or not (self.noise.unimodal or self.noise.linear):
            way, width = self._all_terms, len(self.places)
        elif self.noise.linear:
            way, width = self._one_sided_sums, 1
        elif self.steps is not None:
            way, width = self._looked_up, 1
        elif self.noise.radii is not None and _STEP_COST * self._periods < len(self.places):
            way, width = self._covered, 1
        else:
            way, width = self._blocks_that_matter, len(self._blocks[0])
        rows, flat = max(1, _CHUNK // width), (y.ravel(), shift.ravel(), center.ravel())
        parts = [way(*(a[start : start + rows] for a in flat)) for start in range(0, y.size, rows)]
        return np.concatenate(parts).reshape(y.shape) if parts else np.zeros(y.shape)

    @cached_property
    def _cumulated(self) -> tuple[np.ndarray, np.ndarray]:
        weights = np.exp(self.log_weights)
        from_left, from_right = np.cumsum(weights), np.cumsum(weights[::-1])[::-1]
        return np.concatenate([[0.0], from_left]), np.concatenate([from_right, [0.0]])

    def mass_between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the weight of the places in [left, right], as a difference on the lighter side."""
        i, j = np.searchsorted(self.places, left), np.searchsorted(self.places, right, side="right")
        below, above = self._cumulated
        return np.maximum(np.where(below[i] < above[j], below[j] - below[i], above[i] - above[j]), 0.0)

    @cached_property
    def _doubled(self) -> list[np.ndarray]:
        """The weights of 1, 2, 4, ... places from each place on."""
        sums, count = [np.exp(self.log_weights.astype(np.longdouble))], 1
        while len(sums[-1]) > count:
            sums.append(sums[-1][:-count] + sums[-1][count:])
            count *= 2
        return sums

    def log_mass(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the log weight of the places inside (left, right): sums of positive terms only, all digits kept."""
        at = np.searchsorted(self.places, left, side="right")
        count = np.maximum(np.searchsorted(self.places, right, side="left") - at, 0)
        total = np.zeros(at.shape, dtype=np.longdouble)
        for bit, sums in enumerate(self._doubled):
            has = np.flatnonzero((count >> bit) & 1)
            total.flat[has] += sums[at.flat[has]]
            at.flat[has] += 1 << bit
        with np.errstate(divide="ignore"):
            return np.log(total).astype(np.float64)

    def mass(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (the weight of the places inside (left, right), a bound on its error)."""
        mass = np.exp(self.log_mass(left, right))
        return mass, 1e-14 * mass

    @cached_property
    def steps(self) -> tuple[Grid, np.ndarray] | None:
        """The pieces on which the sum is constant, and its log there; None for other noise, or for too many pieces."""
        if self.noise.radii is None:
            return None
        pieces = grid(self.noise, self.places, _MOST_PIECES)
        return None if pieces is None else (pieces, log_sums(self.noise, pieces, self.log_mass).ravel())

    def _looked_up(self, y: np.ndarray, shift: np.ndarray, center: np.ndarray) -> np.ndarray:
        assert self.steps is not None
        pieces, sums = self.steps
        at, beyond, unsure = pieces.at(y - shift)
        logs = sums[at] - beyond * self.noise.period()[1]
        if unsure.any():  # which side of a jump it is shall be the same for each secret and for all of them
            logs[unsure] = self._blocks_that_matter(y[unsure], shift[unsure], center[unsure])
        return logs

    @property
    def _periods(self) -> float:
        return float(self.places[-1] - self.places[0]) / self.noise.period()[0]

    def _covered(self, y: np.ndarray, shift: np.ndarray, center: np.ndarray) -> np.ndarray:
        first, last = float(self.places[0]), float(self.places[-1])
        logs = log_cover(self.noise, self.mass, first, last, y - shift, y - shift)[0]
        lost = logs == -math.inf  # in a gap between places so wide that doubles underflow
        logs[lost] = self._blocks_that_matter(y[lost], shift[lost], center[lost]) if lost.any() else 0.0
        return logs

    def mass_beside(self, y: np.ndarray, *, above: bool) -> np.ndarray:
        """Return the mass at or below each y, or above it without subtracting from 1.

        Of many places only those are looked at for which the noise is not on one side of y, but for 1e-300 of it.
        """
        side, weights, n = self.noise.sf if above else self.noise.cdf, np.exp(self.log_weights), len(self.places)
        first, last = np.zeros(len(y), dtype=int), np.full(len(y), n)
        if n > _MANY and self.noise.frozen is not None:
            left, right = self.noise.spread(_RAREST)
            first, last = np.searchsorted(self.places, y - right), np.searchsorted(self.places, y - left)
        whole = np.concatenate([[0.0], np.cumsum(weights)])[first]
        if above:
            whole = np.concatenate([np.cumsum(weights[::-1])[::-1], [0.0]])[last]
        width = int((last - first).max(initial=0))
        rows = max(1, 1_000_000 // max(width, 1))
        for start in range(0, len(y) if width else 0, rows):
            part = slice(start, start + rows)
            at = first[part, None] + np.arange(width)
            inside, at = at < last[part, None], np.minimum(at, n - 1)
            whole[part] += np.sum(np.where(inside, weights[at] * side(y[part, None] - self.places[at]), 0.0), axis=1)
        return whole

    def _all_terms(self, y: np.ndarray, shift: np.ndarray, center: np.ndarray) -> np.ndarray:
        given = self.noise.relative(y[:, None], shift[:, None] + self.places, center[:, None])
        return logsumexp(given + self.log_weights)

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """log sum over r_i <= r_j of w_i e^-(r_j - r_i)/b, and over r_i >= r_j, by recursions along the places."""
        decay = np.diff(self.places.astype(np.longdouble)) / self.noise.parameters["scale"]
        left = _accumulated(self.log_weights, decay)
        right = _accumulated(self.log_weights[::-1], decay[::-1])[::-1]
        return np.concatenate([[-math.inf], left]), np.concatenate([right, [-math.inf]])

    def _one_sided_sums(self, y: np.ndarray, shift: np.ndarray, center: np.ndarray) -> np.ndarray:
        """Laplace noise: what lies left of y decays as one, and so does what lies right of it."""
        (left, right), x, b = self._sides, self.places, self.noise.parameters["scale"]
        u, apart = y - shift, np.abs(y - center) / b
        after = np.searchsorted(x, u, side="right")
        from_left = np.maximum(u - x[np.maximum(after - 1, 0)], 0.0)
        from_right = np.maximum(x[np.minimum(after, len(x) - 1)] - u, 0.0)
        return np.logaddexp(left[after] - from_left / b, right[after] - from_right / b) + apart

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places and log weights in rows of equal length, filled up with weight 0, and the log weight of each row."""
        size = max(16, math.isqrt(len(self.places)))
        missing = -len(self.places) % size
        places = np.pad(self.places, (0, missing), mode="edge").reshape(-1, size)
        weights = np.pad(self.log_weights, (0, missing), constant_values=-math.inf).reshape(-1, size)
        return places, weights, logsumexp(weights)

    def _blocks_that_matter(self, y: np.ndarray, shift: np.ndarray, center: np.ndarray) -> np.ndarray:
        """Sum the blocks that can matter: a block is at most its weight at its place nearest to y."""
        (places, weights, totals), noise = self._blocks, self.noise
        u = y - shift
        first, last = places[:, 0], places[:, -1]
        likeliest = np.clip(u[:, None], first, last) + shift[:, None]
        most = totals + noise.relative(y[:, None], likeliest, center[:, None])
        one = nearest(self.places, u)
        least = self.log_weights[one] + noise.relative(y, shift + self.places[one], center)
        top = most.argmax(axis=1)
        far = np.where(u - first[top] > last[top] - u, first[top], last[top])
        least = np.maximum(least, totals[top] + noise.relative(y, shift + far, center))
        row, block = np.nonzero(most >= (least - _NEGLIGIBLE - math.log(len(totals)))[:, None])
        sums = np.empty(len(row))
        step = max(1, _CHUNK // places.shape[1])
        for start in range(0, len(row), step):
            i, j = row[start : start + step], block[start : start + step]
            given = noise.relative(y[i, None], shift[i, None] + places[j], center[i, None])
            sums[start : start + step] = logsumexp(given + weights[j])
        return np.logaddexp.reduceat(sums, np.searchsorted(row, np.arange(len(y))))


def _accumulated(log_weights: np.ndarray, decay: np.ndarray) -> np.ndarray:
    """Return s_j = log(w_j + e^{s_{j-1} - decay_{j-1}}), by cumulative sums in long doubles, a stretch each."""
    steps = np.abs(np.diff(log_weights)) + decay
    room = 0.4 * float(np.log(np.finfo(np.longdouble).max))
    stretch = np.floor(np.concatenate([[0.0], np.cumsum(steps)]) / room)
    starts = np.flatnonzero(np.diff(stretch, prepend=-1.0))
    sums, before = np.empty(len(log_weights), dtype=np.longdouble), np.longdouble(-math.inf)
    for first, last in pairwise([*starts.tolist(), len(log_weights)]):
        local = np.concatenate([[0.0], np.cumsum(decay[first : last - 1])])
        part = log_weights[first:last] + local
        before = before - decay[first - 1] if first else before
        top = max(part.max(), before)
        sums[first:last] = np.log(np.cumsum(np.exp(part - top)) + np.exp(before - top)) + top - local
        before = sums[last - 1]
    return sums.astype(np.float64)
