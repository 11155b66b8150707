"""The privacy loss of two finite distributions: its atoms, exact where the rows are."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.dp.knowledge import Known
from divulge.dp.loss.numbers import WIDEST, each
from divulge.dp.loss.pair import LossFunction, PrivacyLoss
from divulge.errors import DivulgeError
from divulge.late import Kept
from divulge.measures.pointwise.density import log_ratio
from divulge.model.entries import TOLERANCE
from divulge.model.shown import Table, Tabled, number

_CANCELLED = 1e-2
"""Where delta is below this share of P(L >= epsilon), the losses lie so close to epsilon that digits are lost."""

_SUBNORMAL = -708.0
"""Logarithms of doubles below this have fewer digits."""


@dataclass(frozen=True, eq=False, repr=False)
class AtomicLoss(Tabled, PrivacyLoss):
    """Finitely many losses with their probabilities under P and under Q.

    `p` and `q` are float64 or Fraction arrays, p = e^loss q.
    """

    losses: np.ndarray  # finite, strictly increasing
    p: np.ndarray
    q: np.ndarray
    p_only: Any = 0.0  # P(L = +inf), the mass of P where Q has none
    q_only: Any = 0.0  # Q(L = -inf), the mass of Q where P has none
    pair: tuple[Hashable, Hashable] = (0, 1)
    rate: float = math.inf
    rows: tuple[np.ndarray, np.ndarray] | None = None  # the two rows of floats that it comes from
    known: Known = Known.MECHANISM
    below: PrivacyLoss | bool = True  # one that is attained where this one dominates; True for itself, False for none
    stated: Fraction | None = None  # the largest finite loss, of a mechanism or promise that names it

    def __post_init__(self) -> None:
        rising = bool((self.losses[1:] > self.losses[:-1]).all())
        if not (rising and np.isfinite(self.losses).all() and len(self.p) == len(self.q) == len(self.losses)):
            raise DivulgeError.of("losses", "be finite, increasing, and as many as p and q", "it", str(self.losses))
        for name, mass, rest in (("p", self.p, self.p_only), ("q", self.q, self.q_only)):
            total = float(sum(mass.tolist(), start=rest))
            if not (bool((mass >= 0).all()) and rest >= 0 and abs(total - 1.0) <= TOLERANCE):
                raise DivulgeError.of(name, "have entries of at least 0 that sum to 1", "its sum", f"{total:.12g}")

    def _shown(self) -> tuple[str, Table]:
        first, second = self.pair
        head = f"privacy loss of {first!r} against {second!r}: +inf with probability {number(self.p_only)}"
        return head, ([number(v) for v in self.losses], ["P", "Q"], np.column_stack([self.p, self.q]))

    @classmethod
    def of_rows(cls, p: np.ndarray, q: np.ndarray, pair: tuple[Hashable, Hashable] = (0, 1)) -> "AtomicLoss":
        """Return the loss of two checked rows, both float64 or both exact; outcomes of equal loss become one atom."""
        both = ((p > 0) & (q > 0)).astype(bool)
        zero = Fraction(0) if exact.is_exact(p, q) else 0.0
        p_only = sum(p[(q == 0).astype(bool)].tolist(), start=zero)
        q_only = sum(q[(p == 0).astype(bool)].tolist(), start=zero)
        losses = log_ratio(p[both], q[both]) if both.any() else np.zeros(0)
        values, where = np.unique(losses, return_inverse=True)
        mass_p, mass_q = (np.full(len(values), zero, dtype=row.dtype) for row in (p, q))
        np.add.at(mass_p, where, p[both])
        np.add.at(mass_q, where, q[both])
        return cls(values, mass_p, mass_q, p_only, q_only, pair, rows=None if exact.is_exact(p, q) else (p, q))

    @property
    def exact(self) -> bool:
        """Whether the probabilities are Fractions."""
        return exact.is_exact(self.p, self.q)

    @property
    def atoms_at(self) -> np.ndarray:
        return self.losses

    @property
    def infinite(self) -> float:
        return float(self.p_only)

    @property
    def highest(self) -> float:
        return float(self.losses[-1]) if len(self.losses) else -math.inf

    @property
    def lowest(self) -> float:
        return float(self.losses[0]) if len(self.losses) else math.inf

    def reverse(self) -> "AtomicLoss":
        return replace(
            self,
            losses=-self.losses[::-1],
            p=self.q[::-1],
            q=self.p[::-1],
            p_only=self.q_only,
            q_only=self.p_only,
            pair=self.pair[::-1],
            rows=None if self.rows is None else self.rows[::-1],
            below=self.below if isinstance(self.below, bool) else self.below.reverse(),
        )

    @property
    def attained(self) -> PrivacyLoss | None:
        return self if self.below is True else self.below or None

    @Kept
    def _above(self) -> tuple[np.ndarray, np.ndarray]:
        """P(L >= losses[k]) with the infinite losses, and Q of the same, for k = 0..K; exact when the rows are."""
        zero = self.p_only * 0
        return _suffix_sums(self.p, self.p_only), _suffix_sums(self.q, zero)

    def _tail(self, t: np.ndarray) -> np.ndarray:
        return exact.as_floats(self._above[0])[np.searchsorted(self.losses, t, side="right")]

    def _tail_under_q(self, t: np.ndarray) -> np.ndarray:
        return exact.as_floats(self._above[1])[np.searchsorted(self.losses, t, side="right")]

    @Kept
    def _delta_at(self) -> np.ndarray:
        """delta(losses[k]) for every k, by sums of positive terms only, so that no digit cancels.

        delta(a) = P(L > a) (1 - e^(a - b)) + e^(a - b) delta(b) for neighbouring losses a < b.
        """
        above = exact.as_floats(self._above[0])
        if not len(self.losses):
            return np.zeros(0)
        steps = self.losses[1:] - self.losses[:-1]
        gained = above[1:-1] * -np.expm1(-steps)
        if self.losses[-1] - self.losses[0] <= WIDEST:
            weight = np.exp(self.losses[-1] - self.losses)
            sums = (gained * weight[:-1])[::-1].cumsum()[::-1]
            return (np.append(sums, 0.0) + self.infinite) / weight
        out = np.empty(len(self.losses))
        out[-1] = value = self.infinite
        for k in range(len(steps) - 1, -1, -1):
            out[k] = value = float(gained[k]) + math.exp(-steps[k]) * value
        return out

    def _delta(self, e: np.ndarray) -> np.ndarray:
        if self.exact:
            return each(self._exact_delta, e)
        if not len(self.losses):
            return np.full(e.shape, self.infinite)
        k = self.losses.searchsorted(e, side="right")
        last = len(self.losses) - 1
        shrink = np.minimum(e - self.losses[np.minimum(k, last)], 0.0)
        above = exact.as_floats(self._above[0])[k]
        inside = above * -np.expm1(shrink) + np.exp(shrink) * self._delta_at[np.minimum(k, last)]
        found = np.where(k > last, self.infinite, np.minimum(inside, 1.0))
        if self.rows is not None:
            reached = exact.as_floats(self._above[0])[self.losses.searchsorted(e, side="left")] - self.infinite
            lost = (found - self.infinite < _CANCELLED * reached) & (e < WIDEST)
            for i in np.argwhere(lost) if np.count_nonzero(lost) else ():
                found[tuple(i)] = positive_excess(*self.rows, float(e[tuple(i)]))
        return found

    def _exact_delta(self, epsilon: float) -> float:
        """Return delta, correctly rounded; a loss that rounds to epsilon counts or not, whichever gives more."""
        if math.isinf(epsilon):
            return 1.0 if epsilon < 0 else self.infinite
        k = int(np.searchsorted(self.losses, epsilon, side="left"))
        return max(self._gained(m, Fraction(epsilon)) for m in {k, min(k + 1, len(self.losses))})

    def _gained(self, k: int, epsilon: Fraction) -> float:
        """Return P(L >= losses[k]) - e^epsilon Q(L >= losses[k]), correctly rounded."""
        above_p, above_q = self._above[0][k], self._above[1][k]
        return exact.correctly_rounded(lambda: exact.arb(above_p) - exact.arb(epsilon).exp() * exact.arb(above_q))

    def _epsilon(self, delta: float) -> float:
        """Invert delta on the piece between two losses where it takes the value, then step up until it holds."""
        if self.infinite > delta:
            return math.inf
        if not len(self.losses) or self.delta(0.0) <= delta:
            return 0.0
        at = self._delta_at
        k = int(np.searchsorted(-at, -delta, side="left"))
        above = float(self._above[0][k])
        log_above_q = float(np.logaddexp.reduce(self.logs[1][k:], initial=-math.inf))
        start = math.log(above - delta) - log_above_q if above > delta and log_above_q > -math.inf else self.lowest
        value = max(0.0, min(start, float(self.losses[k])))
        cap, step = math.nextafter(max(0.0, self.highest), math.inf), math.ulp(max(value, 1e-16))
        while self.delta(value) > delta:
            value, step = min(value + step, cap), 2 * step
        return value

    def _quantile(self, delta: float) -> float:
        above = exact.as_floats(self._above[0])
        if self.infinite > delta:
            return math.inf
        k = int(np.argmax(above <= delta))
        return max(0.0, float(self.losses[k - 1])) if k > 0 else 0.0

    def expect(self, f: LossFunction, kinks: Sequence[float] = ()) -> float:
        p = exact.as_floats(self.p)
        seen = p > 0  # what is below the smallest double has no part, and may meet an infinite f
        return math.fsum((p[seen] * f(self.losses[seen])).tolist())

    @Kept
    def logs(self) -> tuple[np.ndarray, np.ndarray]:
        """Log probabilities under P and under Q, also of what is no normal double under one of them."""
        p, q = _logs(self.p), _logs(self.q)
        by_q, by_p = q + self.losses, p - self.losses
        return np.where(p < np.minimum(_SUBNORMAL, by_q), by_q, p), np.where(q < np.minimum(_SUBNORMAL, by_p), by_p, q)

    def mean(self) -> float:
        if self.infinite > 0:
            return math.inf
        if self.exact:
            return exact.weighted_log_sum((a, a / b) for a, b in zip(self.p.tolist(), self.q.tolist(), strict=True))
        return super().mean()

    def _renyi(self, alpha: float) -> float:
        if not self.exact:
            return super()._renyi(alpha)
        terms = list(zip(self.p.tolist(), self.q.tolist(), strict=True))
        power = Fraction(alpha) - 1

        def ball() -> Any:
            h = exact.arb(power)
            total: Any = sum((exact.arb(a) * (h * exact.arb(a / b).log()).exp() for a, b in terms), start=0 * h)
            return total.log() / h

        return exact.correctly_rounded(ball)

    def sample(self, size: int, rng: np.random.Generator) -> np.ndarray:
        values = np.append(self.losses, math.inf)
        weights = np.append(exact.as_floats(self.p), self.infinite)
        return rng.choice(values, size=size, p=weights / weights.sum())


def positive_excess(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return sum_y (p_y - e^epsilon q_y)_+, where p and e^epsilon q may agree in nearly all digits.

    What is taken off p, or off p - q for a small epsilon, is a product of q with a sum of two doubles, found as another
    by splitting the factors (Dekker, 1971).
    """
    near = epsilon < 0.5
    high, low = _two_doubles(lambda: exact.arb(Fraction(epsilon)).exp() - int(near))
    product = high * q
    (a, b), (c, d) = _halves(np.array(high)), _halves(q)
    error = ((a * c - product) + a * d + b * c) + b * d
    return math.fsum(np.maximum(((p - q if near else p) - product) - (error + low * q), 0.0).tolist())


def _two_doubles(ball: Callable[[], Any]) -> tuple[float, float]:
    """Return the double nearest to a number, and the one nearest to the rest."""
    high = exact.correctly_rounded(ball)
    return high, exact.correctly_rounded(lambda: ball() - exact.arb(Fraction(high)))


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers of 26 bits that add up to each."""
    mantissa, exponent = np.frexp(values)
    upper = np.ldexp(np.round(np.ldexp(mantissa, 26)), exponent - 26)
    return upper, values - upper


def _logs(mass: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities, floats or fractions however small; -inf at 0."""
    with np.errstate(divide="ignore"):
        logs = np.log(exact.as_floats(mass))
    if exact.is_exact(mass):
        for i in np.flatnonzero((logs < _SUBNORMAL) & (mass > 0).astype(bool)):
            logs[i] = math.log(mass[i].numerator) - math.log(mass[i].denominator)
    return logs


def _suffix_sums(mass: np.ndarray, rest: Any) -> np.ndarray:
    """Return rest + sum_{j >= k} mass_j for k = 0..K."""
    return np.append(mass, np.array([rest], dtype=mass.dtype))[::-1].cumsum()[::-1]


PrivacyLoss._finite = AtomicLoss.of_rows  # pyright: ignore[reportPrivateUsage]
