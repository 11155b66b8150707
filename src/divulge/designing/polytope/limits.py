"""What a guarantee allows an outcome to say: bounds on the lift vector v_x = P(y | x) / q_y of every outcome y."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee


@dataclass(frozen=True)
class Limits:
    """The polytope low <= v_x <= high, v_x <= ratio v_z, sum_x P_x v_x = 1, and sum_y q_y max_x v_xy <= capacity.

    `low`, `high` bound the lift (ALIP; PML has low = 0, PMC has high = inf), `ratio` is e^eps of LDP, `capacity` bounds
    the Bayes capacity sum_y max_x C_xy.
    """

    low: Any = 0.0
    high: Any = math.inf
    ratio: Any = math.inf
    capacity: Any = math.inf

    def floats(self) -> "Limits":
        """Return the limits as floats, rounded outward: what no channel exceeds under these, none does under those."""
        return Limits(_next(self.low, 0.0), *(_next(v, math.inf) for v in (self.high, self.ratio, self.capacity)))

    def meet(self, other: "Limits") -> "Limits":
        """Return the limits that hold exactly when both do."""
        return Limits(
            max(self.low, other.low),
            min(self.high, other.high),
            min(self.ratio, other.ratio),
            min(self.capacity, other.capacity),
        )

    def tightened(self, p_min: float, size: int) -> "Limits":
        """Return equal limits without slack: bounds that the mean constraint or the other bounds imply are written out.

        v_x = 1 on average leaves high <= (1 - low (1 - p_min)) / p_min and low >= (1 - high (1 - p_min)) / p_min.
        """
        high = min(self.high, (1 - self.low * (1 - p_min)) / p_min)
        low = max(self.low, (1 - high * (1 - p_min)) / p_min, 0.0)
        low, high = min(low, 1.0), max(high, 1.0)
        ratio = self.ratio if low == 0 or self.ratio < high / low else math.inf
        return Limits(low, high, ratio, self.capacity if self.capacity < size else math.inf)

    def exactly_within(self, slack: Fraction) -> "Limits":
        """Return the limits as fractions, this share tighter: what keeps these, rounded, keeps those."""
        return Limits(
            min(Fraction(self.low) * (1 + slack), Fraction(1)),
            *(v if v == math.inf else max(Fraction(v) * (1 - slack), Fraction(1))
              for v in (self.high, self.ratio, self.capacity)),
        )  # fmt: skip

    def nearly_kept(self, channel: np.ndarray, p: np.ndarray, room: Any) -> bool:
        """Say whether a float channel keeps the limits within this room, a number or one for each column."""
        q, top, bottom = p @ channel, channel.max(axis=0), channel.min(axis=0)
        within = (top <= self.high * q + room).all() and (bottom >= self.low * q - room).all()
        even = self.ratio == math.inf or (top <= self.ratio * bottom + room).all()
        return bool(within and even and top.sum() <= self.capacity * (1 + np.sum(room)))

    @property
    def trivial(self) -> bool:
        """Whether only the channel that says nothing is left."""
        return self.high <= 1 or self.low >= 1 or self.ratio <= 1 or self.capacity <= 1


def _next(value: Any, toward: float) -> float:
    """Return the float itself, or the next one in a direction where rounding lost something."""
    rounded = exact.as_float(value)
    return rounded if rounded == value else math.nextafter(rounded, toward)


def _power(epsilon: Any) -> Any:
    """Return e^epsilon as a rational that is not larger; inf stays."""
    return math.inf if epsilon == math.inf else exact.exp_below(Fraction(epsilon), 96)


def _inverse_power(epsilon: Any) -> Any:
    """Return e^-epsilon as a rational that is not smaller; 0 for inf."""
    return Fraction(0) if epsilon == math.inf else 1 / exact.exp_below(Fraction(epsilon), 96)


LIMITS: dict[str, Callable[[Any], Limits]] = {
    "pml": lambda g: Limits(high=_power(g.epsilon)),
    "lift": lambda g: Limits(high=g.ratio),
    "max-g-leakage": lambda g: Limits(high=g.ratio),
    "pmc": lambda g: Limits(low=_inverse_power(g.epsilon)),
    "lip": lambda g: Limits(low=_inverse_power(g.epsilon), high=_power(g.epsilon)),
    "alip": lambda g: Limits(low=_inverse_power(g.lower), high=_power(g.upper)),
    "ldp": lambda g: Limits(ratio=_power(g.epsilon)),
    "dp": lambda g: Limits(ratio=_power(g.epsilon)),
    "lift-capacity": lambda g: Limits(ratio=g.ratio),
    "bayes-capacity": lambda g: Limits(capacity=g.ratio),
    "average-g-leakage": lambda g: Limits(capacity=g.ratio),
    "maximal-leakage": lambda g: Limits(capacity=_power(g.epsilon)),
}
"""Kind of guarantee -> its limits, exact and rounded to the safe side."""


def limits_of(guarantees: tuple[Guarantee, ...]) -> Limits:
    """Return the limits that keep all the guarantees, exact and rounded to the safe side."""
    limits = Limits(Fraction(0))
    for guarantee in guarantees:
        if guarantee.kind not in LIMITS:
            known = ", ".join(LIMITS)
            raise DivulgeError.of("guarantee", f"be one that a design can keep ({known})", "it", guarantee.label)
        limits = limits.meet(LIMITS[guarantee.kind](guarantee))
    return limits


@dataclass(frozen=True, eq=False)
class Classes:
    """Secrets grouped by equal probability: permuting equals changes nothing, so one dual per class is enough.

    `probability` and `size` have one entry a class, `members` lists the secrets of each (those of a class of size 1
    may be several never told apart), `counts` are integers when the prior is n-th fractions with a moderate n.
    """

    probability: np.ndarray
    size: np.ndarray
    members: tuple[np.ndarray, ...]
    counts: np.ndarray | None = None

    @classmethod
    def apart(cls, p: np.ndarray, members: Sequence[np.ndarray], counts: np.ndarray | None = None) -> "Classes":
        """Return a class for each probability, of size 1."""
        return cls(p, np.ones(len(p), dtype=np.int64), tuple(members), counts)

    @property
    def of_secret(self) -> np.ndarray:
        """The class of every secret, shape (N,)."""
        out = np.empty(sum(map(len, self.members)), dtype=np.intp)
        for c, rows in enumerate(self.members):
            out[rows] = c
        return out

    @property
    def odds(self) -> np.ndarray:
        """The probability of all other secrets over that of one of each class, also where that is nearly 1."""
        return sum_of_others(self.probability * self.size) / self.probability + (self.size - 1)

    @property
    def total(self) -> int:
        """n, the sum of the counts."""
        return 0 if self.counts is None else int(self.counts @ self.size)


def classes_of(probabilities: np.ndarray) -> Classes:
    """Return the classes of a strictly positive prior (float64 or exact), likeliest first."""
    rows = dict[Any, list[int]]()
    for x, p in enumerate(probabilities.tolist()):
        rows.setdefault(p, []).append(x)
    distinct = sorted(rows, reverse=True)
    members = tuple(np.array(rows[p]) for p in distinct)
    counts = None
    if probabilities.dtype == object:
        n = math.lcm(*(p.denominator for p in distinct))
        whole = [int(p * n) for p in distinct]
        common = math.gcd(*whole)
        counts = np.array([c // common for c in whole]) if n // common < 2**40 else None
    return Classes(np.array([float(p) for p in distinct]), np.array([len(own) for own in members]), members, counts)


def sum_of_others(values: np.ndarray) -> np.ndarray:
    """Return the sum of all other values, for each."""
    return np.cumsum(np.append(0.0, values[:-1])) + np.cumsum(np.append(0.0, values[:0:-1]))[::-1]
