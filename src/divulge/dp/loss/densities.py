"""The privacy loss of two continuous distributions given by their densities, such as any pair of scipy.stats."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.cuts import AGREED, ROUNDED, Cells, Line
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import SMALLEST, LossFunction, PrivacyLoss, Seen

_HUGE = np.finfo(np.float64).max
_LEAST_NORMAL = np.finfo(np.float64).tiny
_WIDEST = 700.0
"""Losses beyond are not weighted by e^loss: e^709.8 is the largest double."""

_LARGEST_LOG = 709.0
"""What is weighted by e^epsilon beyond is by logarithms."""

_LARGEST = 1e8
"""Losses beyond count as infinite: nothing that is told of a composition is as large."""

_FINER = 8
"""Cells between two cuts of the line, for composition, before it is known which of them count."""

_MOST_FINER = 1 << 18
"""Cells that a composition has at most: two seconds, of distributions whose functions take long."""

_APART = 64
"""Doubles between two cuts below which there are no others."""

_GROWING, _SHRINKING = 1e-9, 0.1
"""A log ratio grows without end where it rises by more than this, relatively, and by this share of the step before."""

_FARTHER, _NEARER = np.array([1e-100, 1e-200, 1e-300]), np.array([2.0**-20, 2.0**-35, 2.0**-50])
"""Probabilities beyond, and distances to the end of a support, at which a log ratio is watched."""

_SEEN = 1e-20
"""Cells with less mass are not cut finer for composition."""

_LEVEL = 1e-12
"""Log ratios at both ends of a cell that are closer than this are one, as in a bin of a histogram."""

_ROUNDING = 4e-16
"""Relative error of each of two log densities."""

_STEPS = 210
"""Steps of a search for a crossing: every third halves, down to neighboring doubles."""

_DECAYED = 1e-6
"""An expectation whose last cells hold more than this share of it has no end that is seen."""


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Neighboring cells of the whole line, the first and the last of them without end; of shape (K,)."""

    edges: np.ndarray  # of shape (K + 1,)
    left: np.ndarray  # log ratio just inside the left edge
    right: np.ndarray
    p: np.ndarray
    p_from: np.ndarray  # the larger of the two values that p is the difference of
    q: np.ndarray


@dataclass(frozen=True, eq=False)
class DensityLoss(PrivacyLoss):
    """Loss of two continuous distributions with `logpdf`, `cdf`, `sf`, `ppf`, `isf` and `rvs`, as in scipy.stats.

    The line is cut at quantiles of both distributions, 1e-300 deep in either tail, and further until densities and
    distribution functions agree on every cell (`cuts`). Where the log ratio passes a threshold inside a cell the point
    is found by bisection; sets of outcomes are then measured by cdf and sf. Lower bounds hold whatever the densities
    are. Upper ones count what densities and distribution functions leave open, and are estimates in one respect: that
    between two of the points, where the masses agree, the log ratio lies between those at the points.
    """

    first: Any
    second: Any
    pair: tuple[Hashable, Hashable] = ("D", "D'")

    @cached_property
    def _line(self) -> Line:
        return Line(self.first, self.second)

    @cached_property
    def _cells(self) -> Cells:
        known: Cells | None = vars(self._reverse).get("_cells")
        return self._line.cells() if known is None else known.reverse()

    def _both(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P and Q of the sets where the log ratio exceeds each threshold."""
        found = np.array(self._masses(t.ravel())).reshape((2, *t.shape))
        return found[0], found[1]

    def _masses(self, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lows, highs, ends = self._sets(thresholds)
        p, q = (_sums(masses, ends) for masses in self._line.masses(lows, highs))
        return p, q

    def _sets(self, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return both ends of all intervals where the log ratio exceeds each threshold, and where those of each end."""
        cells = self._cells
        turns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for t in thresholds.tolist():
            left, right = cells.left > t, cells.right > t
            turns.append((left, np.flatnonzero(left != right), 1 + np.flatnonzero(right[:-1] != left[1:])))
        inside = np.concatenate([crossed for _, crossed, _ in turns])
        owner = np.repeat(thresholds, [len(crossed) for _, crossed, _ in turns])
        points = self._crossings(cells.edges[inside], cells.edges[inside + 1], cells.left[inside] > owner, owner)
        starts = np.cumsum([0, *(len(crossed) for _, crossed, _ in turns)])
        lows: list[float] = []
        highs: list[float] = []
        counts: list[int] = []
        for k, (left, _, jumps) in enumerate(turns):
            edges = np.sort(np.concatenate([points[starts[k] : starts[k + 1]], cells.edges[jumps]])).tolist()
            edges = [*([-math.inf] if left[0] else []), *edges]
            edges += [math.inf] if len(edges) % 2 else []
            lows += edges[::2]
            highs += edges[1::2]
            counts.append(len(edges) // 2)
        return np.array(lows), np.array(highs), np.cumsum([0, *counts])

    def _crossings(self, low: np.ndarray, high: np.ndarray, above: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return where the log ratio passes t in each interval, by false position (Illinois) and every third halving.

        A point is taken where the log ratio is t to within rounding: no set of outcomes depends on more.
        """
        sign, found, open_ = np.where(above, 1.0, -1.0), low.copy(), np.arange(len(t))
        with np.errstate(invalid="ignore"):
            before, behind = (np.abs(self._line.log_ratio(x) - t) for x in (low, high))
        moved = np.zeros(len(t))
        for step in range(_STEPS if len(t) else 0):
            with np.errstate(invalid="ignore"):
                share = np.full(len(open_), 0.5) if step % 3 == 2 else before / (before + behind)
            share = np.where((share > 0) & (share < 1), share, 0.5)  # also where a ratio is infinite
            x = low + (high - low) * share
            gap = sign[open_] * (self._line.log_ratio(x) - t[open_])
            side, size = np.where(gap > 0, 1.0, -1.0), np.abs(gap)
            kept = np.where(side == moved, 0.5, 1.0)  # an end that stays twice counts for half
            low, before = np.where(side > 0, x, low), np.where(side > 0, size, kept * before)
            high, behind = np.where(side > 0, high, x), np.where(side > 0, kept * behind, size)
            far = size > _ROUNDING * (1 + np.abs(t[open_]))
            found[open_] = np.where(far, low, x)
            left = far & (np.nextafter(low, np.inf) < high)
            open_ = open_[left]
            if not len(open_):
                break
            low, high, before, behind, moved = low[left], high[left], before[left], behind[left], side[left]
        return found

    @cached_property
    def unknown(self) -> float:
        """The mass of P of which densities and distribution function disagree."""
        return math.fsum(self._cells.p_unknown[self._cells.p_unknown > AGREED * self._cells.p].tolist())

    @cached_property
    def infinite(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """P of the outcomes that Q never shows."""
        return float(self._masses(np.array([_HUGE]))[0][0])

    @cached_property
    def highest(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The largest log ratio, rounded up; +inf when it still grows at either end, or is not known of some mass."""
        x, ratios = self._cells.extrema
        finite = np.isfinite(ratios)
        if not finite.any():
            return -math.inf
        if self.unknown > AGREED or any(self._grows(side) for side in (-1, 1)):
            return math.inf
        at = int(np.where(finite, ratios, -math.inf).argmax())
        size = abs(float(self.first.logpdf(x[at]))) + abs(float(self.second.logpdf(x[at])))
        return float(ratios[at]) + _ROUNDING * (size + 1 if math.isfinite(size) else 1)

    def _grows(self, side: int) -> bool:
        """Say whether the log ratio rises towards an end of the line by steps that do not shrink."""
        end = [float(law.support()[side > 0]) for law in (self.first, self.second)]
        edge = max(end) if side > 0 else min(end)
        if math.isfinite(edge) and edge != 0:
            x = edge - side * abs(edge) * _NEARER
        else:
            quantiles = [law.isf(_FARTHER) if side > 0 else law.ppf(_FARTHER) for law in (self.first, self.second)]
            x = np.maximum(*quantiles) if side > 0 else np.minimum(*quantiles)
        one, two, three = self._line.log_ratio(x).tolist()
        if not math.isfinite(one + two + three):
            return one < three == math.inf
        return three - two > max(_GROWING * (1 + abs(three)), _SHRINKING * (two - one))

    @property
    def lowest(self) -> float:
        return -self.reverse().highest

    def reverse(self) -> "DensityLoss":
        return self._reverse

    @cached_property
    def _reverse(self) -> "DensityLoss":
        turned = DensityLoss(self.second, self.first, (self.pair[1], self.pair[0]))
        vars(turned)["_reverse"] = self
        return turned

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return self._both(t)[0]

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return self._both(t)[1]

    def _delta(self, e: np.ndarray) -> np.ndarray:
        p, q = self._both(e)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.clip(p - np.where(q > 0, np.exp(e) * q, 0.0) + self.unknown, 0.0, 1.0)

    def bracket(self, epsilon: float) -> Bracket:
        """Return bounds on delta(epsilon): what the set found gains, less and more the rounding of cdf and sf.

        The lower end holds whatever the densities are, since every set of outcomes bounds delta from below; the upper
        one, with all that densities and distribution functions leave open, where the log ratio passes epsilon at most
        once inside a cell on which they agree: an estimate.
        """
        return Bracket(*(float(end) for end in self.bounds(np.array(epsilon))))

    def bounds(self, epsilon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of `bracket` at many epsilons."""
        t = epsilon.ravel()
        lows, highs, ends = self._sets(t)
        p, q = (_sums(masses, ends) for masses in self._line.masses(lows, highs))
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.where(q > 0, np.exp(t) * q, 0.0)
            most = np.where(q < _LEAST_NORMAL, np.exp(t) * (q + SMALLEST), grown)  # of Q that no double holds
            if (far := t > _LARGEST_LOG).any():
                logs, doubt = self._line.logs_under_q(lows, highs)
                each = np.exp(np.repeat(t, np.diff(ends)) + logs)
                less, more = (_sums(each * np.exp(sign * doubt), ends) for sign in (-1, 1))
                known = far & (less <= p)  # the log ratio is more than t where it is not: what is not so, is not known
                grown, most = np.where(known, less, grown), np.where(known & (less > 0), more, most)
        value, slack = p - grown, 1e-13 * (p + grown)
        least, largest = (
            np.maximum(0.0, p - most - slack),
            np.minimum(1.0, np.maximum(0.0, value) + slack + self.unknown),
        )
        return least.reshape(epsilon.shape), largest.reshape(epsilon.shape)

    @cached_property
    def enclosing(self) -> tuple[PrivacyLoss, PrivacyLoss]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Two pairs of atoms, one easier and one harder to tell apart at no epsilon: for composition.

        The line is cut into short cells, whose masses under both laws are merged (a processing of the outcome), or
        split between the largest and the least log ratio seen in the cell, which no pair with these masses exceeds.
        Cells of one log ratio are one atom, with the rounding of their masses on either side; what may be nothing but
        rounding, as cells between two bins of a histogram, is no evidence.
        """
        return self._enclosed(self._pieces)

    def enclosed(self, tilt: float, spread: float, seen: Seen | None = None) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return `enclosing` by cells so short that the mean square of their widths is at most `spread`.

        Widths are those of the log ratio, under P tilted by e^(tilt L): merging and splitting change the variance of
        the tilted loss by less than that square. A cell of mass w and width h that is cut into m has w h^2 / m^2 left,
        so that the fewest cells for a sum have m proportional to (w h^2)^(1/3).
        """
        known = self._pieces
        p, q, left, right = (of[1:-1] for of in (known.p, known.q, known.left, known.right))
        with np.errstate(divide="ignore", invalid="ignore"):
            if seen is not None:
                (p, left), (_, right) = seen(p, q, left), seen(p, q, right)
            high, width = np.maximum(left, right), np.abs(right - left)
            logs = np.log(p) + tilt * high
        inside = (np.abs(high) < _LARGEST) & (width < _LARGEST) & (known.p + known.q > _SEEN)[1:-1]
        logs = np.where(inside & (logs == logs), logs, -math.inf)
        top = float(logs.max(initial=-math.inf))
        weights = np.exp(logs - top) if math.isfinite(top) else np.zeros(len(logs))
        roots = np.cbrt(weights / max(float(weights.sum()), 1.0) * np.where(inside, width, 0.0) ** 2)
        counts = np.ceil(np.minimum(roots * math.sqrt(float(roots.sum()) / spread), _MOST_FINER))
        if (most := float(counts.sum())) > _MOST_FINER:
            counts = np.ceil(counts * (_MOST_FINER / most))
        return self._enclosed(self._cut(known, np.maximum(counts, 1).astype(np.int64)))

    @cached_property
    def _pieces(self) -> "_Pieces":
        """Cells cut into some of equal length where they hold mass and their log ratio is not level."""
        cells = self._cells
        with np.errstate(invalid="ignore"):
            seen = (cells.p + cells.q > _SEEN) & ~(np.abs(cells.right - cells.left) <= _LEVEL)
        edges = np.concatenate([[-np.inf], cells.edges, [np.inf]])
        left, right = (np.concatenate([side[:1], side, side[-1:]]) for side in (cells.left, cells.right))
        left[-1], right[0] = cells.right[-1], cells.left[0]
        none = np.zeros(len(left))
        return self._cut(_Pieces(edges, left, right, none, none, none), np.where(seen, _FINER, 1))

    def _cut(self, known: "_Pieces", counts: np.ndarray) -> "_Pieces":
        """Return cells cut into so many each, but for both tails; what has no doubles inside is left whole."""
        low, high = known.edges[1:-2], known.edges[2:-1]
        whole = high - low <= _APART * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        counts = np.where(whole, 1, counts)
        starts = np.cumsum(counts) - counts
        turn = np.arange(int(counts.sum())) - np.repeat(starts, counts)
        x = np.repeat(low, counts) + np.repeat((high - low) / counts, counts) * turn
        x = np.minimum(x, np.repeat(high, counts))
        left = np.empty(len(x))
        left[starts] = known.left[1:-1]
        left[turn > 0] = self._line.log_ratio(x[turn > 0])
        right = np.append(left[1:], 0.0)
        right[starts + counts - 1] = known.right[1:-1]
        edges = np.concatenate([[-np.inf], x, known.edges[-2:]])
        (p, p_from), (q, _) = self._line.differences(edges[:-1], edges[1:])
        left, right = (
            np.concatenate([old[:1], new, old[-1:]]) for old, new in ((known.left, left), (known.right, right))
        )
        return _Pieces(edges, left, right, p, p_from, q)

    def _enclosed(self, pieces: "_Pieces") -> tuple[PrivacyLoss, PrivacyLoss]:
        cells, p, q = self._cells, pieces.p, pieces.q
        left, right = (np.clip(side, -_HUGE, _HUGE) for side in (pieces.left, pieces.right))
        low, high = np.minimum(left, right), np.maximum(left, right)
        flat = (high - low <= _LEVEL) & (np.abs(high) < _WIDEST)
        flat &= np.abs(q - p * np.exp(-np.where(flat, high, 0.0))) <= AGREED * q + ROUNDED
        rounding = ROUNDED * pieces.p_from
        stepped = bool(flat[p > ROUNDED].all())
        seen = flat | ((p > rounding) & (not stepped))
        sure, under_q = np.where(flat, np.maximum(p - rounding, 0.0), p) * seen, _above_doubles(q, low, high) * seen
        merged = _merged(sure, under_q, high, flat, self.pair)
        most = np.where(flat, p + rounding, p)
        open_ = np.where(cells.p_unknown > AGREED * cells.p, cells.p_unknown, 0.0) / np.where(cells.p > 0, cells.p, 1.0)
        at = np.clip(np.searchsorted(cells.edges, pieces.edges[:-1], side="right") - 1, 0, len(cells.p) - 1)
        return merged, _split(most, open_[at], q, low, high, self.pair)

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        """Return E_P[f(L); L < inf] by Gauss-Legendre panels with the masses of the cells (an estimate).

        +inf where cells at the end of the line, 1e-300 deep, still count: the integral has no end.
        """
        cells = self._cells
        loss, weight = cells.ratios, cells.p_weights
        seen = (weight > 0) & np.isfinite(loss)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = np.where(seen, weight * f(np.where(seen, loss, 0.0)), 0.0)
        sizes = np.abs(terms).sum(axis=1)
        total = float(sizes.sum())
        if not math.isfinite(total) or max(float(sizes[0]), float(sizes[-1])) > _DECAYED * total > 0:
            return math.inf
        return float(terms.sum())

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return self._line.log_ratio(self.first.rvs(size=size, random_state=rng))


def written(law: Any) -> str:
    """Return a frozen scipy distribution as it is written, anything else that is no number or name by its class."""
    if isinstance(law, (str, float, int, Fraction, tuple)) or law is None:
        return repr(law)
    if not hasattr(law, "dist"):
        return type(law).__name__
    arguments = [f"{value:g}" for value in law.args] + [f"{key}={value:g}" for key, value in law.kwds.items()]
    return f"{law.dist.name}({', '.join(arguments)})"


def _above_doubles(q: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return masses of Q rounded up where they are no normal doubles: a log ratio that has an end is not infinite."""
    return np.where((q < _LEAST_NORMAL) & (low < _HUGE) & (high > -_HUGE), q + SMALLEST, q)


def _merged(p: np.ndarray, q: np.ndarray, ratios: np.ndarray, flat: np.ndarray, pair: Any) -> AtomicLoss:
    """Return one atom for each cell, and one for all flat cells of the same log ratio; the largest has what is left."""
    levels, where = np.unique(ratios[flat], return_inverse=True)
    mass = np.bincount(where, p[flat], minlength=len(levels))
    rows = np.concatenate([p[~flat], mass]), np.concatenate([q[~flat], mass * np.exp(-levels)])
    one, other = (row / max(1.0, float(row.sum())) for row in rows)
    largest = int((one + other).argmax())
    for row in (one, other):
        row[largest] += max(0.0, 1.0 - float(row.sum()))
    return AtomicLoss.of_rows(one, other, pair)


def _split(
    p: np.ndarray, unknown: np.ndarray, q: np.ndarray, low: np.ndarray, high: np.ndarray, pair: Any
) -> AtomicLoss:
    """Return atoms at both ends of each cell with its masses; what is there under P alone has infinite loss.

    So has the share of each mass of P of which nothing is known, and the mass of Q that no atom has the infinite loss
    of the other order.
    """
    whole, p = float(p.sum()), p * (1.0 - unknown)
    apart = (high - low > _LEVEL) & (np.abs(high) < _WIDEST) & (np.abs(low) < _WIDEST)
    near, far = np.exp(-np.where(apart, low, 1.0)), np.exp(-np.where(apart, high, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_low = np.where(apart, np.clip((q - far * p) / (near - far), 0.0, p), 0.0)
    inside = (high > -_WIDEST) & (high < _LARGEST)
    losses = np.concatenate([low[apart], high[inside]])
    mass = np.concatenate([at_low[apart], (p - at_low)[inside]])
    values, where = np.unique(losses, return_inverse=True)
    mass = np.bincount(where, mass, minlength=len(values)) / min(1.0, whole)
    values, mass = values[mass > 0], mass[mass > 0]
    infinite = min(1.0, math.fsum(p[high >= _LARGEST].tolist()) + max(0.0, whole - float(p.sum())))
    under_q = mass * np.exp(-values)
    under_q /= max(1.0, float(under_q.sum()))
    rest = max(0.0, 1.0 - float(under_q.sum()))
    return AtomicLoss(values, mass, under_q, infinite, rest, pair)


def _sums(masses: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the sum of the masses between two ends each."""
    return np.array([math.fsum(masses[a:b].tolist()) for a, b in pairwise(ends.tolist())])
