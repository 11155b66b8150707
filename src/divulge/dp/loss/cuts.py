"""Where a line is cut so that two densities and their distribution functions say the same of every cell.

What a density does between two points is not known from points. The mass of every cell is, from the distribution
function: a cell is halved until the integral of each density over it is that mass, so that a narrow bin, a jump or a
spike that holds some mass (1e-14 and 1e-8 of that of its cell) is found wherever it lies. What no halving settles is
kept as a mass of which nothing is known.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.dp.loss.quadrature import panels
from divulge.errors import DivulgeError
from divulge.noise.accumulated import cdf_of, isf_of, log_of, ppf_of, sf_of
from divulge.roots import peaks

_TAILS = 10.0 ** -np.arange(300.0, 2.0, -2.0)
_LEVELS = np.concatenate([_TAILS, np.linspace(0.01, 0.5, 80)])

_NODES = 8
"""Points of a Gauss-Legendre rule on every cell."""

AGREED = 1e-8
"""The share of its mass by which the integral of a density over a cell may miss it."""

ROUNDED = 4e-15
"""Error of a distribution function, whose differences are the masses; many take the upper tail from the lower."""

_ROUNDS, _MOST_CELLS = 60, 30_000
"""Halvings down to neighboring doubles, and how many cells they may make."""

_STEPS = 45
"""A search of an extremum divides by the golden ratio; so many steps leave the square root of a rounding."""

_FLAT = 1e-13
"""Log ratios closer than this are equal to within rounding."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Neighboring cells of the line from `edges[k]` to `edges[k + 1]`, with nodes inside; rows are cells."""

    edges: np.ndarray
    p: np.ndarray
    q: np.ndarray
    p_unknown: np.ndarray
    q_unknown: np.ndarray
    nodes: np.ndarray
    p_weights: np.ndarray  # of the nodes under P; they sum to p
    q_weights: np.ndarray
    ratios: np.ndarray  # log ratio at the nodes
    left: np.ndarray  # log ratio just inside the left edge
    right: np.ndarray

    @cached_property
    def extrema(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and log ratios of all cells from left to right, ends and nodes."""
        x = np.column_stack([self.edges[:-1], self.nodes, self.edges[1:]]).ravel()
        return x, np.column_stack([self.left, self.ratios, self.right]).ravel()

    def reverse(self) -> "Cells":
        """Return the cells of the pair (Q, P)."""
        masses = self.q, self.p, self.q_unknown, self.p_unknown
        return Cells(
            self.edges, *masses, self.nodes, self.q_weights, self.p_weights, -self.ratios, -self.left, -self.right
        )


@dataclass(frozen=True, eq=False)
class Line:
    """Two laws with `logpdf`, `pdf`, `cdf`, `sf`, `ppf`, `isf`, as in scipy.stats."""

    first: Any
    second: Any

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        """Return log p(x) / q(x); 0 where both are 0."""
        with np.errstate(all="ignore"):
            return np.nan_to_num(self.first.logpdf(x) - self.second.logpdf(x), nan=0.0, posinf=np.inf, neginf=-np.inf)

    @cached_property
    def _medians(self) -> tuple[float, float]:
        return tuple(float(ppf_of(law)(np.array([0.5]))[0]) for law in (self.first, self.second))  # pyright: ignore[reportReturnType]

    def masses(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P and Q of the intervals, by cdf left of the median and by sf right of it."""
        return tuple(mass for mass, _ in self.differences(left, right))  # pyright: ignore[reportReturnType]

    def differences(self, left: np.ndarray, right: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return for each law the masses of the intervals, and the larger of the two values that each differs by."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for law, median in zip((self.first, self.second), self._medians, strict=True):
            far = left > median
            near, away = np.empty(len(left)), np.empty(len(left))
            with np.errstate(all="ignore"):
                for side, of, first, last in ((far, sf_of(law), left, right), (~far, cdf_of(law), right, left)):
                    near[side], away[side] = np.split(of(np.concatenate([first[side], last[side]])), 2)
            if np.isnan(near).any() or np.isnan(away).any():
                raise DivulgeError.of(
                    "pair", "have distribution functions whose values are numbers", "one", "NaN somewhere"
                )
            found.append((np.maximum(near - away, 0.0), near))
        return found

    def logs_under_q(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log Q of the intervals, which no double need hold, and how far rounding may have moved each."""
        far, found, ends = left > self._medians[1], np.empty(len(left)), np.empty(len(left))
        with np.errstate(all="ignore"):
            for side, above, first, last in ((far, True, left, right), (~far, False, right, left)):
                of = log_of(self.second, above)
                found[side], ends[side] = np.split(of(np.concatenate([first[side], last[side]])), 2)
            rest = -np.expm1(ends - found)
            return found + np.log(rest), ROUNDED * (2 + np.abs(found)) / rest

    def cells(self) -> Cells:
        """Return the cells on which both densities agree with both distribution functions, cut at extrema too."""
        points = [f(_LEVELS) for law in (self.first, self.second) for f in (ppf_of(law), isf_of(law))]
        x = np.unique(np.concatenate([*points, *(_known_edges(law) for law in (self.first, self.second))]))
        x = x[np.isfinite(x)]
        x = np.unique(np.concatenate([x, x[1:] / 2 + x[:-1] / 2]))
        found = self._settled(x)
        extrema = self._extrema(*found.extrema)
        return self._settled(np.union1d(found.edges, extrema), 0) if len(extrema) else found

    def _settled(self, edges: np.ndarray, rounds: int = _ROUNDS) -> Cells:
        done: list[tuple[np.ndarray, ...]] = []
        low, high, count = edges[:-1], edges[1:], 0
        for turn in range(rounds + 1):
            fields = self._read(low, high)
            agreed = np.all(
                [unknown <= AGREED * mass for mass, unknown in zip(fields[:2], fields[2:4], strict=True)], 0
            )
            middle = low / 2 + high / 2
            kept = agreed | (middle <= low) | (middle >= high) | (turn == rounds) | (count + len(low) > _MOST_CELLS)
            count += int(np.count_nonzero(kept))
            done.append(tuple(values[kept] for values in (low, high, *fields)))
            low, high, middle = low[~kept], high[~kept], middle[~kept]
            if not len(low):
                break
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        columns = [np.concatenate(parts) for parts in zip(*done, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        low, high, *fields = (column[order] for column in columns)
        return Cells(np.append(low, high[-1:]), *fields)

    def _read(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the fields of the cells: masses, what the densities leave unknown of them, nodes and log ratios."""
        unit, shares = panels(np.array([0.0, 1.0]), _NODES)
        with np.errstate(over="ignore"):
            nodes = low[:, None] * (1 - unit) + high[:, None] * unit
            weights = [(high / 2 - low / 2)[:, None] * 2 * shares * law.pdf(nodes) for law in (self.first, self.second)]
        unknown: list[np.ndarray] = []
        masses: list[np.ndarray] = []
        for (mass, near), weight in zip(self.differences(low, high), weights, strict=True):
            missing = np.abs(np.nan_to_num(weight.sum(axis=1), nan=0.0, posinf=0.0) - mass)
            masses.append(mass)
            unknown.append(np.where(missing > ROUNDED * (near + 1), np.minimum(missing, mass), 0.0))
        spread: list[np.ndarray] = []
        for mass, weight in zip(masses, weights, strict=True):
            known = np.nan_to_num(weight, nan=0.0, posinf=0.0)
            total = known.sum(axis=1, keepdims=True)
            share = np.where(total > 0, known / np.where(total > 0, total, 1.0), 1.0 / _NODES)
            spread.append(share * mass[:, None])
        ends = (self.log_ratio(np.nextafter(end, side)) for end, side in ((low, np.inf), (high, -np.inf)))
        return (*masses, *unknown, nodes, *spread, self.log_ratio(nodes), *ends)

    def _extrema(self, x: np.ndarray, ratios: np.ndarray) -> np.ndarray:
        """Return the points between which the log ratio turns, found by golden sections."""
        with np.errstate(invalid="ignore"):
            rising = np.diff(ratios)
            moved = np.abs(rising) > _FLAT * (1 + np.abs(ratios[1:]))
        steps = np.flatnonzero(moved & np.isfinite(rising))
        turns = np.flatnonzero(np.sign(rising[steps[1:]]) != np.sign(rising[steps[:-1]]))
        if not len(turns) or len(turns) > _MOST_CELLS // 10:
            return np.zeros(0)
        low, high, sign = x[steps[turns]], x[steps[turns + 1] + 1], np.sign(rising[steps[turns]])
        return peaks(lambda at: sign * self.log_ratio(at), low, high, _STEPS)


def _known_edges(law: Any) -> np.ndarray:
    """Return where a density is known to jump: the ends of its support, and the edges of a histogram."""
    base = getattr(law, "dist", law)
    ends = np.asarray(law.support(), dtype=np.float64) if hasattr(law, "support") else np.zeros(0)
    bins = getattr(base, "_hbins", None)
    if bins is None:
        return ends
    loc, scale = (*getattr(law, "args", ()), 0.0, 1.0)[:2]
    given = getattr(law, "kwds", {})
    return np.concatenate([ends, np.asarray(bins) * given.get("scale", scale) + given.get("loc", loc)])
