"""Noise in steps: f(y) = sum_k c_k P(|y - X| < r_k), bounded between outcomes, and the same again beyond the data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.noise.families.noise import Noise

Mass = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(u, v) -> (the mass of the open intervals (u, v), 0 where u >= v; a bound on its error)."""

LogMass = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(u, v) -> the log of the mass of the open intervals (u, v); -inf where u >= v."""

_LAST = 700.0
"""So many scales on from the nearest place, steps are 1e-300 of the first: none beyond counts."""

_CHUNK = 65_536
"""Entries that are worked on at a time: half a megabyte, which stays in a processor's cache."""
ROUNDING = 2e-15
"""Places of jumps are known to this share of the range they lie in."""


def log_cover(
    noise: Noise, mass: Mass, low: float, high: float, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (log sum_k c_k P(right - r_k < X < left + r_k), bound on its error) for X in [low, high].

    With left = right = y that is log f(y). It is below log f(y) for all y from `left` to `right`, and above it for all
    y from `right` to `left`.
    """
    width, epsilon = noise.period()
    first, last = np.minimum(left, right), np.maximum(left, right)
    above, below = (np.floor(np.maximum(d, 0.0) / width) for d in (first - high, low - last))  # whole periods beyond
    left, right, first, last = (y + (below - above) * width for y in (left, right, first, last))
    beyond = max(low - float(first.min(initial=low)), float(last.max(initial=high)) - high)
    apart = float((last - first).max(initial=0.0))
    r, log_c = noise.falls(beyond + apart + min(high - low, _LAST * noise.parameters["scale"]))
    c, top = np.exp(log_c - log_c.max()), float(log_c.max())
    log_f, error, rows = np.empty(len(left)), np.empty(len(left)), max(1, _CHUNK // len(r))
    for start in range(0, len(left), rows):
        part = slice(start, start + rows)
        covered, wrong = mass(right[part, None] - r, left[part, None] + r)
        value = covered @ c
        with np.errstate(divide="ignore", invalid="ignore"):
            log_f[part] = np.log(value) + top
            error[part] = np.where(value > 0, wrong @ c / value, math.inf)
    return log_f - (below + above) * epsilon, error


def cover(
    noise: Noise, mass: Mass, low: float, high: float, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (least, most) of log f(y) for y from left to right."""
    least, wrong = log_cover(noise, mass, low, high, left, right)
    most, missed = log_cover(noise, mass, low, high, right, left)
    with np.errstate(invalid="ignore"):
        return np.where(wrong < 1, least - 2 * wrong, -math.inf), np.where(missed < 1, most + missed, math.inf)


def inside(low: float, high: float, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals a little shorter: jumps at their ends are known up to rounding and belong to neighbors."""
    shorter = np.minimum(ROUNDING * (high - low + np.maximum(np.abs(left), np.abs(right))), (right - left) / 4)
    return left + shorter, right - shorter


@dataclass(frozen=True, eq=False)
class Grid:
    """Where noise in steps may jump: the same places in every period, from one below the data to one above."""

    start: float
    width: float
    rest: np.ndarray  # the places within a period, rising from 0 to its width
    periods: int

    def _of(self, within: np.ndarray) -> np.ndarray:
        return self.start + np.arange(self.periods)[:, None] * self.width + within

    @cached_property
    def edges(self) -> np.ndarray:
        """The ends of all pieces, rising."""
        return np.append(self._of(self.rest[:-1]).ravel(), self.start + self.periods * self.width)

    @cached_property
    def middles(self) -> np.ndarray:
        """The middles of the pieces, shape (periods, pieces of a period)."""
        return self._of((self.rest[1:] + self.rest[:-1]) / 2)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of the pieces, in the same shape."""
        return np.broadcast_to(np.diff(self.rest), self.middles.shape)

    def at(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where each y is, as (piece, periods beyond the first or last one, whether it may be on an edge).

        Pieces are counted through all periods.
        """
        t, whole = (y - self.start) / self.width, self.periods
        beyond = np.where(t < 0, np.ceil(-t), np.where(t >= whole, np.floor(t - whole) + 1, 0.0))
        t = np.where(t < 0, t + beyond, t - beyond)
        row = np.clip(np.floor(t), 0, whole - 1).astype(int)
        inner = (t - row) * self.width
        column = np.clip(np.searchsorted(self.rest, inner, side="right") - 1, 0, len(self.rest) - 2)
        away = np.minimum(inner - self.rest[column], self.rest[column + 1] - inner)
        unsure = away <= 4 * ROUNDING * (np.abs(y) + abs(self.start) + whole * self.width)
        return row * (len(self.rest) - 1) + column, beyond, unsure


def grid(noise: Noise, places: np.ndarray, most: int) -> Grid | None:
    """Return where the density of noise at these places may jump, and the places; None for more than `most` pieces.

    Places that are a multiple of the period apart share their jumps.
    """
    assert noise.radii is not None
    (width, _), first = noise.period(), float(noise.radii(0.0)[0])
    low, high = float(places[0]) - width, float(places[-1])
    same = ROUNDING * (high - low + max(abs(low), abs(high)))
    rest = np.mod(places - places[0], width)
    rest = np.sort(np.concatenate([np.mod(rest + z, width) for z in (0.0, first, -first)]))  # 0 is the first place
    rest = rest[(np.diff(rest, prepend=-math.inf) > same) & (width - rest > same)]
    periods = math.ceil((high - low) / width * (1 - ROUNDING)) + 1
    return Grid(low, width, np.append(rest, width), periods) if max(len(rest), 1) * periods <= most else None


def log_sums(noise: Noise, grid: Grid, log_mass: LogMass) -> np.ndarray:
    """Return log E f(y - X) at the middles of the pieces: what lies to one side of y decays by e^-epsilon a period."""
    assert noise.radii is not None
    (width, epsilon), first, y = noise.period(), float(noise.radii(0.0)[0]), grid.middles
    far = float(noise.log_density(np.array([(first + width) / 2]))[0])

    def in_a_period(place: Callable[[float, float], np.ndarray]) -> np.ndarray:
        return np.logaddexp(place(0.0, first) + epsilon, place(first, width))

    below = _decaying(in_a_period(lambda u, v: log_mass(y - v, y - u)), epsilon)
    above = _decaying(in_a_period(lambda u, v: log_mass(y + u, y + v))[::-1], epsilon)[::-1]
    return far + np.logaddexp(below, above)


def _decaying(logs: np.ndarray, epsilon: float) -> np.ndarray:
    """Return s_k = log(e^{a_k} + e^{s_{k-1} - epsilon}) along the first axis."""
    sums = logs.copy()
    for row in range(1, len(sums)):
        sums[row] = np.logaddexp(sums[row], sums[row - 1] - epsilon)
    return sums


def copies(noise: Noise, low: float, high: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (w, t): an outcome y beyond the data stands for those k periods further on, with density e^-ke f(y), too.

    w = 1/(1 - e^-e) is the sum of those factors, t the mean of k e under them; 1 and 0 inside the data.
    """
    epsilon = noise.period()[1]
    beyond = (y < low) | (y > high)
    return np.where(beyond, -1 / np.expm1(-epsilon), 1.0), np.where(beyond, epsilon / math.expm1(epsilon), 0.0)
