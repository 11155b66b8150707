"""Tails and quantiles of the leakage: outcomes are cut into cells, each with its mass and the range of its leakage."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.answers.outcomes import Estimate, allowance, below, pieces, points
from divulge.noise.answers.ranges import Columns, Range, Side, Values, between, values
from divulge.noise.answers.supremum import Supremum
from divulge.noise.laws.choice import Subject
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.means import MeanLaw
from divulge.noise.secrets.expectations import mean


class Bounded(Subject, Protocol):
    """A noise mechanism whose suprema are known."""

    def supremum(self, side: Side) -> Supremum:
        """Return the supremum of pml(y) or pmc(y)."""
        ...


_HALVINGS = 60
"""Rounds of halving: after 53 the ends of a cell are neighboring doubles. Nearly always the budget ends first."""
_PER_HALVING = 3
"""Outcomes that are looked at when a cell is cut: the middles of both halves, and the mass below the cut."""

_MOST_TERMS = 20_000_000
"""Terms that masses are summed from, for one tail or quantile."""

_FEW_TIED = 1e-9
"""So much mass that is tied with a threshold, as far as rounding tells, is counted as an error."""

_EQUAL = 2e-14
"""A leakage above a threshold by no more than this share counts as equal to it: one may ask for a value reached."""


@dataclass(frozen=True)
class Cells(Columns):
    """Cells of outcomes: the leakage at their ends and middles, and what leaks inside at least and at most."""

    left: Values
    mid: Values
    right: Values
    beside: np.ndarray  # the mass below and above each of both ends, shape (m, 2, 2)
    least: np.ndarray
    most: np.ndarray
    fine: np.ndarray  # whether it is not to be halved

    @property
    def mass(self) -> np.ndarray:
        """Return the mass of each cell, from the side where it is not a difference of numbers near 1."""
        below, above = self.beside[..., 0], self.beside[..., 1]
        return np.maximum(np.where(below[:, 0] > 0.5, above[:, 0] - above[:, 1], below[:, 1] - below[:, 0]), 0.0)


def certified(mechanism: Bounded) -> bool:
    """Whether the ranges of all cells are proved and their masses are sums: no integral and no grid is relied on."""
    law, noise = mechanism.law, mechanism.noise
    known = not noise.read_off and (noise.step is not None or _has_ranges(mechanism))
    return isinstance(law, FiniteLaw) and law.bounded and known


def _has_ranges(mechanism: Bounded) -> bool:
    """Whether proofs bound the leakage between outcomes well; of unbounded secrets they know too little."""
    noise, law = mechanism.noise, mechanism.law
    return law.bounded and (noise.log_concave or math.isfinite(noise.steepest) or noise.radii is not None)


def _mass_error(mechanism: Bounded) -> float:
    """Return how far off the mass of any set of few cells may be."""
    law = mechanism.law
    if isinstance(law, FiniteLaw):
        sure, beyond = pieces(law), sum(law.beyond)
        beyond = beyond + law.noise.unseen
        return beyond if sure is None else beyond + float(sure[2].sum()) + abs(1 - math.fsum(sure[1].tolist()))
    return law.mass_error() if isinstance(law, MeanLaw) else 1e-11 + law.noise.unseen


def _nodes(mechanism: Bounded) -> np.ndarray:
    """Return the ends of the first cells, out to where doubles have no mass left (or 1e-300, for heavy tails)."""
    y, noise, law = points(mechanism), mechanism.noise, mechanism.law
    if not _has_ranges(mechanism):
        y = np.unique(np.concatenate([(y[:-1, None] + np.diff(y)[:, None] * (np.arange(8) / 8)).ravel(), y[-1:]]))
    if noise.frozen is None or not law.bounded:
        return y
    parts, (left, right) = [y], noise.spread(1e-300)
    for sign, end, last, far in ((1.0, law.high, y[-1], right), (-1.0, law.low, y[0], left)):
        first = sign * (last - end)
        if first > 0:
            parts.append(end + sign * np.geomspace(first, max(sign * far, 2 * first), 24))
    return np.unique(np.concatenate(parts))


def _masses(mechanism: Bounded, y: np.ndarray) -> np.ndarray:
    """Return (P(Y <= y), P(Y > y)), shape (len(y), 2)."""
    return np.stack([below(mechanism, y, above=above) for above in (False, True)], axis=1)


def _cells(mechanism: Bounded, side: Side, left: Values, right: Values, beside: np.ndarray) -> Cells:
    """Return the cells between these ends, with the masses beside them."""
    mid = values(mechanism.law, side, (left.y + right.y) / 2)
    found = between(mechanism.law, side, left, mid, right) if _has_ranges(mechanism) else None
    if found is None:
        found = _seen(left, mid, right)
    blur = 12 * np.maximum(left.error, right.error) + _EQUAL * np.maximum(1.0, left.leakage)
    with np.errstate(invalid="ignore"):
        known = found[1] - found[0] <= blur  # as well as it can be
    fine = known | (right.y - left.y <= 4e-16 * np.maximum(np.abs(left.y), np.abs(right.y)))
    return Cells(left, mid, right, beside, np.maximum(found[0], 0.0), found[1], fine)


def _seen(left: Values, mid: Values, right: Values) -> Range:
    """Return (least, most) of the leakage as seen, and beyond that as far as the middle is off the chord.

    Not proved; but where the leakage is smooth, or has one kink in the cell, it is further than need be.
    """
    seen = np.stack([left.leakage, mid.leakage, right.leakage])
    with np.errstate(invalid="ignore"):
        off = np.abs(seen[1] - (seen[0] + seen[2]) / 2)
        off = np.where(seen.min(axis=0) == math.inf, 0.0, off)
        least, most = seen.min(axis=0) - off, seen.max(axis=0) + off
    return np.where(np.isnan(least), 0.0, least), np.where(np.isnan(most), math.inf, most)


def _single(mechanism: Bounded, side: Side) -> Cells | None:
    """Each lattice outcome, or each piece between two jumps, is a cell of one leakage; None where there are no such."""
    law = mechanism.law
    if mechanism.noise.step is not None:
        y = points(mechanism)
        mass = np.exp(law.log_density(y))
    elif (sure := pieces(law)) is not None:
        y, mass, _ = sure
    else:
        return None
    at, nothing = values(law, side, y), np.zeros(len(y))
    where = Values(y, nothing, nothing[:, None], nothing, nothing, nothing, nothing)
    beside = np.stack([np.zeros((len(y), 2)), np.column_stack([mass, nothing])], axis=1)
    least, most = np.maximum(at.leakage - at.off, 0.0), at.leakage + at.off
    return Cells(where, where, where, beside, least, most, np.ones(len(y), dtype=bool))


def _first_cells(mechanism: Bounded, side: Side) -> Cells:
    """Return the cells every question begins with; kept on the mechanism."""
    kept: dict[str, Cells] = mechanism.__dict__.setdefault("_cells", {})
    if side not in kept:
        kept[side] = _single(mechanism, side) or _between_nodes(mechanism, side)
    return kept[side]


def _between_nodes(mechanism: Bounded, side: Side) -> Cells:
    """Return the cells between the nodes, and the two beyond, of whose leakage only the supremum is known."""
    y = _nodes(mechanism)
    at, every = values(mechanism.law, side, y), _masses(mechanism, y)
    cells = _cells(mechanism, side, at[:-1], at[1:], np.stack([every[:-1], every[1:]], axis=1))
    outer, ends = np.array([[[0.0, 1.0], every[0]], [every[-1], [1.0, 0.0]]]), at[:1].joined(at[-1:])
    unknown = np.zeros(2), np.full(2, mechanism.supremum(side).upper), np.ones(2, dtype=bool)
    return cells.joined(Cells(ends, ends, ends, outer, *unknown))


def _halved(mechanism: Bounded, side: Side, cells: Cells, which: np.ndarray) -> Cells:
    """Return the cells with those of `which` cut in two."""
    part = cells[which]
    inner = _masses(mechanism, part.mid.y)
    halves = (part.beside[:, 0], inner), (inner, part.beside[:, 1])
    cut = np.concatenate([np.stack(half, axis=1) for half in halves])
    return cells[~which].joined(_cells(mechanism, side, part.left.joined(part.mid), part.mid.joined(part.right), cut))


def _refined(mechanism: Bounded, side: Side, doubtful: Callable[[Cells], np.ndarray]) -> Cells:
    """Return the cells after halving the doubtful ones, the heaviest first, till none is or the work is spent.

    The mass below each cut is a sum over all places, which bounds how many cuts there may be.
    """
    law, cells = mechanism.law, _first_cells(mechanism, side)
    places = len(law.everyone.places) if isinstance(law, (FiniteLaw, MeanLaw)) else 1
    budget = min(allowance(law), max(3_000, _MOST_TERMS // places))
    for _ in range(_HALVINGS):
        which = doubtful(cells)
        if budget <= 0 or not which.any():
            break
        if int(which.sum()) > (most := max(1, budget // _PER_HALVING)):
            heaviest = np.argsort(np.where(which, cells.mass, -1.0))[-most:]
            which = np.isin(np.arange(len(which)), heaviest)
        budget -= int(which.sum()) * _PER_HALVING
        cells = _halved(mechanism, side, cells, which)
    return cells


def tail(mechanism: Bounded, threshold: float, side: Side) -> Estimate:
    """Return P(leakage(Y) > threshold): cells that may lie on either side of it are halved till they hold no mass."""
    if not threshold == threshold:
        raise DivulgeError.of("threshold", "be a number", "it", "NaN")
    if threshold < 0 or (side == "pmc" and not mechanism.law.bounded):
        return Estimate(1.0, 0.0, True)
    level = threshold + _EQUAL * max(1.0, threshold)

    def doubtful(cells: Cells) -> np.ndarray:
        which, mass = (cells.least <= level) & (cells.most > level) & ~cells.fine, cells.mass
        return which & bool(mass[which].sum() > 1e-14 * mass[cells.least > level].sum())

    cells = _refined(mechanism, side, doubtful)
    mass = cells.mass
    sure = math.fsum(mass[cells.least > level].tolist())
    doubt = math.fsum(mass[(cells.least <= level) & (cells.most > level)].tolist())
    error = doubt / 2 + 1e-14 * sure + _mass_error(mechanism)
    tied = math.fsum(mass[(cells.most <= level) & (cells.most > threshold)].tolist())
    proved = certified(mechanism) and tied <= _FEW_TIED
    return Estimate(min(1.0, sure + doubt / 2), error + (tied if proved else 0.0), proved)


def quantile(mechanism: Bounded, p: float, side: Side) -> Estimate:
    """Return the smallest v with P(leakage(Y) <= v) >= p; +inf where only the supremum's +inf reaches it."""
    if not 0 <= p <= 1:
        raise DivulgeError.of("p", "be in [0, 1]", "it", str(p))
    top = mechanism.supremum(side)
    if side == "pmc" and not mechanism.law.bounded:
        return Estimate(math.inf, 0.0, True)
    if p == 1:
        error = (top.upper - top.lower) if math.isfinite(top.value) else 0.0
        return Estimate(top.value, error, top.method != "search on a grid")

    def doubtful(cells: Cells) -> np.ndarray:
        low, high = _weighted(cells, p, cells.least), _weighted(cells, p, cells.most)
        which = (cells.least <= high) & (cells.most >= low) & (cells.most > cells.least) & ~cells.fine
        return which & (high - low > 1e-11 * max(1.0, high))

    cells, off = _refined(mechanism, side, doubtful), _mass_error(mechanism)
    low, high = _weighted(cells, p - off, cells.least), _weighted(cells, p + off, cells.most)
    if math.isinf(high):
        return Estimate(low, math.inf, certified(mechanism))
    return Estimate((low + high) / 2, (high - low) / 2 + 1e-14 * max(1.0, high), certified(mechanism))


def _weighted(cells: Cells, p: float, leak: np.ndarray) -> float:
    """Return the smallest v such that cells with leakage at most v have mass p."""
    order = np.argsort(leak, kind="stable")
    total = np.cumsum(cells.mass[order])
    at = int(np.searchsorted(total, min(max(p, 0.0), 1 - 4e-16) * float(total[-1]) - 1e-15))
    return float(leak[order[min(at, len(order) - 1)]])


def sub_gaussian(mechanism: Subject, epsilon: float) -> float:
    """Return an upper bound on P(pmc(Y) > epsilon) for Gaussian noise on one bounded record."""
    if not epsilon >= 0:
        raise DivulgeError.of("epsilon", "be at least 0", "it", str(epsilon))
    if not mechanism.noise.gaussian or mechanism.records != 1 or not mechanism.secret.bounded:
        raise DivulgeError.of("mechanism", "add Gaussian noise to one bounded record", "it", repr(mechanism))
    s, center = mechanism.noise.parameters["scale"], mean(mechanism.secret)
    b = max(mechanism.secret.high - center, center - mechanism.secret.low)
    left = epsilon - (b / s) ** 2 / 2
    if not left > 0:
        return 1.0
    a = max(math.sqrt(1 + 2 * left) - 1, left / 2)  # where a^2/2 + a, or 2 a, is what is left
    t = a * s * s / b
    return min(1.0, 2 * math.exp(-t * t / (2 * (s * s + b * b))))
