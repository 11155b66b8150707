"""Distributions of sums of independent privacy losses, and the delta(epsilon) that they enclose."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from divulge.dp.loss.grid import ROUND, Atoms

_NEGLIGIBLE = 52.0
"""What is smaller than the rest by this many nats is left out, and its bound is added to the error."""

_RARE = 24.0
"""-log of what splitting may do where it moves a sum too far, as a share of delta."""

_NEAR = 3.5
"""Deviations up to which splitting counts in full, and beyond which only as often as it moves a sum so far."""

_WIDEST = 700.0
"""Largest exponent of which e to it is taken."""

_AT_FEW = 16
"""Products of a term and a frequency, over the length of a transform, up to which they take less time than it does."""

_AT_ONCE = 1 << 10
"""Frequencies whose powers are held at a time."""

_DEEPEST = 700.0
"""-log of the least delta of which splitting is allowed for; 0 bounds those below it."""


class Sum(Protocol):
    """A sum of privacy losses that can bound delta(epsilon) from either side."""

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the logarithm of a bound on delta(epsilon): from above for side +1, from below for side -1."""
        ...


def log_or_none(value: float) -> float:
    """Return log(value), -inf at 0 and below."""
    return math.log(value) if value > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class ListedSum:
    """Every value of a sum with the logarithm of its probability, and the mass of the infinite loss."""

    losses: np.ndarray  # increasing, each within `shift` of the truth
    logs: np.ndarray  # each within `relative` of the truth
    relative: float
    shift: float
    infinite: float
    missed: float = 0.0  # bounds the mass of values that no double holds

    def log_delta(self, epsilon: float, side: int) -> float:
        epsilon -= side * (self.shift + abs(epsilon) * ROUND)
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        finite = -math.inf
        if start < len(self.losses):
            logs = self.logs[start:]
            top = float(logs.max())
            total = float((np.exp(logs - top) * -np.expm1(epsilon - self.losses[start:])).sum())
            finite = top + log_or_none(total) + side * (self.relative + 64 * ROUND)
        rest = self.infinite + (self.missed if side > 0 else 0.0)
        return min(0.0, float(np.logaddexp(finite, log_or_none(rest))))


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """Losses l and tilted masses m of a sum: P(l_k) = m_k e^(scale - tilt l_k), within the errors given.

    Tilting multiplies every mass by e^(s L) and normalizes; with s chosen so that the tilted sum lies around epsilon,
    the mass that decides delta(epsilon) is the bulk of a distribution and not its tail, and an FFT, whose round-off is
    small only beside the largest entry, gives it with many correct digits, however small delta is.
    """

    step: float  # the distance h of the losses
    low: int  # the least loss over h
    masses: np.ndarray  # of losses h (low + k - turn), cyclically; their sum is about 1
    turn: int
    tilt: float  # s >= 0
    scale: float  # the logarithm of the moment generating function at s
    relative: float  # bounds the relative error of every mass
    norm_error: float  # bounds the Euclidean norm of the absolute errors of the masses (round-off of the FFT)
    lost: float  # bounds the tilted mass outside of the losses listed
    shift: float  # bounds how far the losses are from the truth
    infinite: float  # the mass of the infinite loss

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray, float]:
        """e^(-s x) (1 - e^-x) and e^(-(s + 1) x) at x = h, 2h, ..., and the Euclidean norm of the first."""
        cells = len(self.masses)
        if self.tilt > 0:
            cells = min(cells, int(_NEGLIGIBLE / (self.tilt * self.step)) + 1)
        x = self.step * np.arange(1, cells + 1)
        plain = np.exp(-self.tilt * x)
        gained = plain * -np.expm1(-x)
        return gained, plain - gained, _norm(gained)

    def log_delta(self, epsilon: Any, side: int) -> Any:
        """Return log(infinite + e^(scale - s epsilon) sum over x = l - epsilon > 0 of m_l e^(-s x) (1 - e^-x)).

        With x = y - f, y a multiple of h and 0 <= f <= h, the weights are
        e^(s f) (e^(-s y) (1 - e^-y) - (e^f - 1) e^(-(s + 1) y)): two scalar products for any epsilon.
        """
        e = epsilon - side * (self.shift + np.abs(epsilon) * ROUND)
        size = len(self.masses)
        start = np.clip(np.floor(e / self.step - self.low) + 1, 0, size).astype(np.int64)
        start += (start < size) & (self.step * (self.low + start) <= e)
        f = self.step - np.where(start < size, self.step * (self.low + start) - e, self.step)
        gained, kept, n = self._one_product(int(start)) if start.ndim == 0 else self._all_products(start)
        narrow = f < _WIDEST  # of cells wider than the exponents of doubles all of the sum, or nothing
        total = np.where(narrow, gained - np.expm1(np.where(narrow, f, 0.0)) * kept, gained if side > 0 else 0.0)
        absolute = self.lost + self.norm_error * 2 * self._weights[2] + math.exp(-_NEGLIGIBLE)
        with np.errstate(over="ignore"):  # below the window f < 0, and what was lost may lie as low as epsilon
            absolute = absolute * np.exp(-self.tilt * np.minimum(f, 0.0))
        relative = self.relative + ROUND * (64 + n + 2 * abs(self.scale) + 2 * self.tilt * np.abs(e))
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(total + side * absolute, 0.0))
        finite = self.scale - self.tilt * (e - f) + logs + side * relative
        return np.minimum(np.logaddexp(finite, log_or_none(self.infinite)), 0.0)

    def _one_product(self, start: int) -> tuple[float, float, int]:
        """Return the two scalar products of `log_delta` from one start, and of how many terms they are."""
        gained, kept, _ = self._weights
        size = len(self.masses)
        n, at = min(len(gained), size - start), (self.turn + start) % size
        first, rest = self.masses[at : min(at + n, size)], self.masses[: max(0, at + n - size)]
        m = len(first)
        above, below = (_product(part[:m], first) + _product(part[m:n], rest) for part in (gained, kept))
        return above, below, n

    def _all_products(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the same from many starts."""
        gained, kept = self._suffixes
        return gained[starts], kept[starts], len(self.masses)

    @cached_property
    def _suffixes(self) -> tuple[np.ndarray, np.ndarray]:
        """The two scalar products of `log_delta` for every start, by recurrences of terms of one sign."""
        masses, h = np.roll(self.masses, -self.turn)[::-1], self.step
        fall, both = math.exp(-self.tilt * h), math.exp(-(self.tilt + 1) * h)
        kept = _falling_sums(both * masses, both)
        before = np.append(0.0, kept[:-1])
        gained = _falling_sums(fall * -math.expm1(-h) * (masses + before), fall)
        return np.append(gained[::-1], 0.0), np.append(kept[::-1], 0.0)


def _falling_sums(terms: np.ndarray, factor: float) -> np.ndarray:
    """Return s_k = terms_k + factor s_(k - 1): the solution of a triangular system of two diagonals."""
    from scipy.linalg import blas

    band = np.full((2, len(terms)), -factor, order="F")
    solve: Any = blas.dtbsv  # pyright: ignore[reportAttributeAccessIssue]
    return np.asarray(solve(1, band, terms, lower=1, diag=1))


@dataclass(frozen=True, eq=False)
class SplitSum:
    """Delta from below of a sum S, some of whose losses cannot be moved to a grid from below without loss: atoms.

    Each of `draws` losses L is split between its grid neighbors, at random, as L + X with E[e^-X | L] = 1 and X in an
    interval of length h. The sum of all X is X', and Z = e^-X' has mean 1 given S. So delta of the split sum exceeds
    that of S by E[(1 - yZ)+ - (1 - y)+] with y = e^(epsilon - S), which is

    * at most y E|Z - 1| / 2 <= e^d deviation(Z) / 2 where |S - epsilon| <= d;
    * at most e^r deviation(Z) P(|X'| > d)^(1/2) where d < |S - epsilon| <= r (Cauchy and Schwarz);
    * at most P(X' > r), or P(X' < -r) with weights Z, elsewhere;

    and P(|X'| > d) <= e^(-2 (d - n h^2/8)^2 / (n h^2)) on either side, by Hoeffding.

    P(|S - epsilon| <= d) follows from the curve itself: with w > d, a = 1 / (1 + e^-w) and b = 1 - a the butterfly
    a delta(epsilon - w) + b delta(epsilon + w) - delta(epsilon) is the mean of a function that is nowhere negative, and
    at least min(a (1 - e^(d - w)), b (e^(w - d) - 1)) there. What is left out is of second order in h.
    """

    low: TiltedSum  # the split sum, with errors on the low side
    high: TiltedSum  # bounds delta of S from above
    draws: int

    def log_delta(self, epsilon: Any, side: int) -> Any:
        """Return the lower bound on log delta from that of the split sum, and bounds from above beside it."""
        n, h = self.draws, self.low.step
        split = np.maximum(self.low.log_delta(epsilon, -1), -_DEEPEST)
        deviation = math.sqrt(math.expm1(n * math.expm1(h) ** 2 / 4))
        mean = n * h * h / 8
        near, far = mean + _NEAR * deviation, mean + h * np.sqrt(n / 2 * (_RARE - split))
        rarely = math.exp(-((near - mean) ** 2) / (n * h * h))
        missing, share = math.exp(-_RARE), 0.0
        for d, most in ((near, np.exp(near) / 2), (far, np.exp(far) * rarely)):
            w = 2 * (d + deviation)
            a, b = 1 / (1 + np.exp(-w)), 1 / (1 + np.exp(w))
            weight = most * deviation / np.minimum(-a * np.expm1(d - w), b * np.expm1(w - d))
            below, above = (self.high.log_delta(epsilon + move, 1) for move in (-w, w))
            around = a * np.exp(below - split) + b * np.exp(above - split)
            missing, share = missing + weight * around * (1 + 1e-13), share + weight
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = (1 - missing) / (1 - share)
            logs = np.where((share < 1) & (kept > 0), split + np.log(np.maximum(kept, 0.0)), -np.inf)
        return np.where(split > -_DEEPEST, np.minimum(logs, split), -np.inf)


@dataclass(frozen=True, eq=False)
class MixedSum:
    """A listed sum and a tilted one that are independent: delta(epsilon) = sum_j p_j delta_rest(epsilon - l_j)."""

    listed: ListedSum
    rest: "TiltedSum | SplitSum"

    def log_delta(self, epsilon: float, side: int) -> float:
        listed = self.listed
        epsilon -= side * (listed.shift + abs(epsilon) * ROUND)
        logs = listed.logs + self.rest.log_delta(epsilon - listed.losses, side)
        top = float(logs.max())
        finite = -math.inf
        if top > -math.inf:
            finite = top + math.log(float(np.exp(logs - top).sum())) + side * (listed.relative + 256 * ROUND)
        return min(0.0, float(np.logaddexp(finite, log_or_none(listed.infinite))))


@dataclass(frozen=True)
class MovedSum:
    """A sum whose losses are each known to within a rounding: it is asked as far to the side as all of them come to."""

    of: Sum
    rounding: float

    def log_delta(self, epsilon: float, side: int) -> float:
        """Return the bound at an epsilon that is moved to the safe side."""
        return self.of.log_delta(epsilon - side * self.rounding, side)


def log_deltas(total: Sum, epsilons: np.ndarray, side: int) -> np.ndarray:
    """Return the bounds of a sum on log delta at many epsilons: at once where it is on a grid."""
    if isinstance(total, (TiltedSum, SplitSum)):
        return np.asarray(total.log_delta(epsilons, side))
    return np.array([total.log_delta(e, side) for e in epsilons.tolist()])


def tilted(atoms: Atoms, step: float, tilt: float) -> tuple[np.ndarray, float]:
    """Return the tilted masses, normalized, and log sum_k m_k e^(tilt h k); zeros where a bound from below has none."""
    with np.errstate(divide="ignore"):
        logs = np.log(atoms.masses) + tilt * step * np.arange(atoms.first, atoms.first + len(atoms.masses))
    top = float(logs.max())
    if top == -math.inf:
        return np.zeros(len(logs)), 0.0
    weights = np.exp(logs - top)
    total = float(weights.sum())
    return weights / total, top + math.log(total)


@dataclass(frozen=True)
class Window:
    """Where the tilted sum is looked for: `size` grid points from index `low`.

    What lies outside is bounded by Chernoff's bound E e^(up (S - end)) above and E e^(-down (S - low)) below.
    """

    step: float
    tilt: float
    low: int
    size: int
    up: float
    down: float


def tilted_sum(parts: Iterable[tuple[Atoms, int]], window: Window, shift: float) -> TiltedSum:
    """Return the sum of `count` independent draws of every part, by FFT.

    Parts are taken one by one, and those drawn once are convolved with each other while they are short: neither memory
    nor the number of transforms of the whole window grows with how many there are.
    """
    from scipy import fft

    step, size = window.step, window.size
    rounding = 8 * ROUND * math.log2(size)
    scale, relative, error, first, widest, half = 0.0, 0.0, 0.0, 0, 0, size // 2 + 1
    draws, finite, moved = 0, 0.0, dict.fromkeys((window.up, -window.down), 0.0)
    live, logs, product = np.arange(half), np.broadcast_to(0.0, half), np.broadcast_to(1.0 + 0.0j, half)
    single: list[np.ndarray] = []

    def multiply(weights: np.ndarray, count: int) -> float:
        """Count weights into the product; return a bound on the round-off."""
        nonlocal live, logs, product
        spectrum: np.ndarray
        if few := len(weights) <= size and len(weights) * len(live) <= _AT_FEW * size:
            spectrum = _at(live, weights, size)
        else:
            transform = np.asarray(fft.rfft(_folded(weights, size)))
            spectrum = transform if len(live) == half else transform[live]
        squares = np.real(spectrum) ** 2 + np.imag(spectrum) ** 2
        some = np.flatnonzero(squares > math.exp(-2 * _NEGLIGIBLE / count))  # before there are logarithms
        sums = logs[some] + count / 2 * np.log(squares[some])
        stays = sums > -_NEGLIGIBLE  # no factor exceeds 1: what is negligible once remains so
        kept, logs = some[stays], sums[stays]
        live = live[kept]
        product = product[kept] * _power(spectrum[kept], count)
        return count * (_at_error(len(kept), len(weights), size) if few else rounding * _norm(weights))

    for atoms, count in parts:
        weights, log_total = tilted(atoms, step, window.tilt)
        farthest = step * max(abs(atoms.first), abs(atoms.first + len(weights)))
        scale += count * log_total
        relative += count * ROUND * (window.tilt * farthest + abs(log_total) + 16)
        first += count * atoms.first
        widest += count * (len(weights) - 1)
        draws += count
        finite += count * math.log1p(-min(atoms.infinite, 1.0 - ROUND))
        for slope in moved:
            moved[slope] += count * tilted(atoms, step, window.tilt + slope)[1]
        error += rounding * _joined(single, weights, size // 2) if count == 1 else multiply(weights, count)
    error += math.fsum([multiply(weights, 1) for weights in single])
    whole = np.zeros(half, dtype=np.complex128)
    whole[live] = product
    masses: np.ndarray = np.asarray(fft.irfft(whole, size))
    low = first if widest < size else window.low
    norm_error = 2 * (error + _norm(masses) * (rounding + 4 * ROUND * draws)) + math.exp(-_NEGLIGIBLE)
    lost = 0.0 if widest < size else _outside(moved, window, scale)
    infinite = -math.expm1(finite)
    turn = (low - first) % size
    return TiltedSum(step, low, masses, turn, window.tilt, scale, relative, norm_error, lost, shift, infinite)


def _product(a: np.ndarray, b: np.ndarray) -> float:
    """Return the scalar product, in one thread: threads that wait for each other took ten times as long."""
    return float(np.einsum("i,i->", a, b))


def _norm(values: np.ndarray) -> float:
    """Return the Euclidean norm, in one thread: of arrays as short as these, threads cost more than they give."""
    return math.sqrt(float(np.square(values).sum()))


def _joined(stack: list[np.ndarray], weights: np.ndarray, longest: int) -> float:
    """Put weights on a stack, whose top is convolved with what is under it while that is no longer than twice itself.

    Returns the sum of the Euclidean norms of all that went through a transform: times the round-off of one, it bounds
    the norm of the error, as no factor of a product of spectra exceeds 1.
    """
    from scipy import fft

    stack.append(weights)
    norms = 0.0
    while len(stack) > 1 and len(stack[-2]) <= 2 * len(stack[-1]):
        size = len(stack[-2]) + len(stack[-1]) - 1
        if size > longest:
            break
        second, first = stack.pop(), stack.pop()
        fast: Any = fft.next_fast_len
        cells = int(fast(size, real=True))
        both: Any = fft.irfft(np.asarray(fft.rfft(first, cells)) * np.asarray(fft.rfft(second, cells)), cells)
        stack.append(both[:size])
        norms += sum(map(_norm, (first, second, both)))
    return norms


def _outside(moved: Mapping[float, float], window: Window, scale: float) -> float:
    """Return Chernoff's bound on the tilted mass outside of the window, by log E e^(slope S) at both slopes."""
    ends = {window.up: window.low + window.size, -window.down: window.low - 1}
    return sum(math.exp(min(0.0, moved[at] - scale - at * window.step * index)) for at, index in ends.items())


def _at(frequencies: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return the discrete Fourier transform of weights, of `size` terms with the zeros behind them, at frequencies.

    The weights are cut into equal pieces, which share the powers of the root of unity that their terms are taken with.
    """
    piece = math.isqrt(len(weights) - 1) + 1
    padded = np.zeros(piece * piece)
    padded[: len(weights)] = weights
    found = np.empty(len(frequencies), dtype=np.complex128)
    for start in range(0, len(frequencies), _AT_ONCE):
        some = frequencies[start : start + _AT_ONCE]
        inside, between = (
            np.exp(-2j * math.pi / size * (np.multiply.outer(np.arange(piece) * apart, some) % size))
            for apart in (1, piece)
        )
        sums = padded.reshape(piece, piece) @ inside.view(np.float64)
        found[start : start + _AT_ONCE] = (sums.view(np.complex128) * between).sum(axis=0)
    return found


def _at_error(frequencies: int, terms: int, size: int) -> float:
    """Bound the Euclidean norm of the error of masses by `_at`, where the weights add up to 1.

    Both sums have as many terms as a piece; what a term is taken with is off by at most 16 roundings.
    """
    each = ROUND * (2 * (math.isqrt(terms) + 2) + 32)
    return each * math.sqrt(2 * frequencies / size)


def _folded(weights: np.ndarray, size: int) -> np.ndarray:
    """Return the weights added up modulo `size`."""
    padded = np.zeros(-(-len(weights) // size) * size)
    padded[: len(weights)] = weights
    return padded.reshape(-1, size).sum(axis=0)


def _power(values: np.ndarray, exponent: int) -> np.ndarray:
    """Return values ** exponent by squaring."""
    out = np.ones_like(values)
    while exponent:
        if exponent & 1:
            out = out * values
        exponent >>= 1
        if exponent:
            values = values * values
    return out
