"""How much there is of what a guarantee bounds: a number, the exact value behind it, and where it is reached."""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import Any

import numpy as np

from divulge import exact
from divulge.measures.columns import extremes
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

LOGARITHMS: dict[str, Callable[[], Any]] = {"nats": lambda: exact.arb(1), "bits": lambda: exact.arb(2).log()}
"""Unit -> the ball of its nats."""


@dataclass(frozen=True)
class Witness:
    """Where a guarantee is tested hardest.

    Attributes
    ----------
    outcome : label of the outcome, or None for an average over outcomes
    secret : label of the secret, or None
    other : label of the second secret of a comparison, or None
    adversary : str
        Who gains, and what, in one sentence.

    Examples
    --------
    >>> from divulge import LDP
    >>> found = LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]]).witness
    >>> found.outcome, found.secret, found.other
    (0, 0, 1)
    """

    outcome: Hashable = None
    secret: Hashable = None
    other: Hashable = None
    adversary: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the parts that are there, by name.

        Examples
        --------
        >>> from divulge import LDP
        >>> verdict = LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> verdict.witness.to_dict()["outcome"]
        0
        """
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Level:
    """One measured number on the scale of a guarantee's parameter.

    Attributes
    ----------
    value : float or Fraction
        The number as reported: a Fraction for a ratio of an exact channel, else a float.
    ball : function of no arguments, or None
        Encloses the exact value at the current precision of python-flint; None when the entries are floats.
    margin : float
        How far rounding may have moved a value computed from floats; 0 when exact.
    """

    value: Any
    ball: Callable[[], Any] | None = field(compare=False)
    margin: float
    witness: Witness = field(default_factory=Witness)

    def at_most(self, bound: Any) -> bool:
        """Say whether the number is at most `bound`: exactly, or for floats up to the margin."""
        if self.value == math.inf or bound == math.inf:
            return bound == math.inf
        if isinstance(self.value, Rational):
            return self.value <= Fraction(bound)
        if self.ball is not None:
            return exact.at_most(self.ball, bound)
        return self.value <= float(bound) + self.margin

    def to(self, unit: Unit) -> "Level":
        """Return the level of a logarithm, so far in nats, in `unit`."""
        nats = nats_per(unit)
        if nats == 1:
            return self
        if self.ball is None:
            return replace(self, value=self.value / nats, margin=self.margin / nats)
        ball = partial(_in_unit, self.ball, unit)
        return replace(self, value=exact.correctly_rounded(ball), ball=ball)

    def bound(self) -> Any:
        """Return the least parameter that the number certainly respects: rounded up, not to the nearest."""
        if self.value == math.inf or isinstance(self.value, Rational):
            return self.value
        if self.ball is None:
            return self.value
        import flint

        with flint.ctx.workprec(192):
            return max(0.0, exact.round_up(self.ball()))


def rounding(*shape: int) -> float:
    """Return the margin for ratios of float entries: 4 ulp of 1 for each term of the sums involved, and 32 more.

    It covers entries that are correctly rounded, rows that were renormalized, and the sums over `shape` of them.
    """
    return (sum(shape) + 8) * 2.0**-50


def _log(ratio: Rational) -> Any:
    return exact.arb(ratio).log()


def _in_unit(ball: Callable[[], Any], unit: Unit) -> Any:
    return ball() / LOGARITHMS[unit]()


def log_of(ratio: Any, margin: float, witness: Witness, nats: Callable[[], float] | None = None) -> Level:
    """Return the level log `ratio`, for an exact or float ratio; log inf is inf.

    The logarithm of a float near 1 has few digits: `nats` measures it with all.
    """
    if ratio == math.inf:
        return Level(math.inf, None, 0.0, witness)
    if isinstance(ratio, Rational):
        return Level(exact.log(ratio), partial(_log, ratio), 0.0, witness)
    return Level(max(0.0, math.log(ratio) if nats is None else nats()), None, margin, witness)


def ratio_of(ratio: Any, margin: float, witness: Witness) -> Level:
    """Return the level `ratio` itself; the margin of a float is relative to it."""
    if isinstance(ratio, Rational) or ratio == math.inf:
        return Level(ratio, None, 0.0, witness)
    return Level(float(ratio), None, margin * float(ratio), witness)


def mean_of(terms: Iterable[tuple[Any, Any]], margin: float, witness: Witness, nats: Callable[[], float]) -> Level:
    """Return the level sum of w log r over pairs (w, r), w > 0; an infinite r makes it infinite.

    Of floats `nats` measures it.
    """
    pairs = [(w, r) for w, r in terms if w != 0]
    if any(r == math.inf for _, r in pairs):
        return Level(math.inf, None, 0.0, witness)
    if all(isinstance(part, Rational) for pair in pairs for part in pair):
        logs = [(w, r) for w, r in pairs if r != 1]

        def ball() -> Any:
            return sum((exact.arb(w) * exact.arb(r).log() for w, r in logs), start=exact.arb(0))

        return Level(exact.weighted_log_sum(logs), ball, 0.0, witness)
    return Level(max(0.0, nats()), None, margin, witness)


@dataclass(frozen=True)
class Peaks:
    """The largest ratio above / below in each column, and its rows; Fractions when exact, inf where below is 0."""

    ratios: list[Any]
    above: list[Hashable]
    below: list[Hashable]
    outcomes: list[Hashable]

    def top(self) -> int:
        """Return the position of the largest ratio, the first of those that tie up to rounding."""
        return first_largest(self.ratios)


def ratios(above: np.ndarray, below: np.ndarray) -> list[Any]:
    """Return above / below entry by entry; a / 0 is inf."""
    return [math.inf if b == 0 else a / b for a, b in zip(above.tolist(), below.tolist(), strict=True)]


def upper_peaks(joint: Joint) -> Peaks:
    """Return the largest lift max_x C_xy / q_y of every outcome that occurs."""
    y, q, ends = _seen(joint)
    secrets = [joint.secrets[int(i)] for i in ends.top_at[y]]
    return Peaks(ratios(ends.top[y], q), secrets, secrets, [joint.outcomes[int(j)] for j in y])


def lower_peaks(joint: Joint) -> Peaks:
    """Return the inverse of the smallest lift, q_y / min_x C_xy, of every outcome that occurs."""
    y, q, ends = _seen(joint)
    secrets = [joint.secrets[int(i)] for i in ends.bottom_at[y]]
    return Peaks(ratios(q, ends.bottom[y]), secrets, secrets, [joint.outcomes[int(j)] for j in y])


def _seen(joint: Joint) -> tuple[np.ndarray, np.ndarray, Any]:
    y = np.flatnonzero(joint.occurring)
    return y, joint.outer[y], extremes(joint.c, np.flatnonzero(joint.prior.support))


def row_peaks(channel: Channel) -> Peaks:
    """Return the ratio max_x C_xy / min_x C_xy of every column that is not entirely zero, over all rows."""
    ends = extremes(channel.matrix)
    y = np.flatnonzero((ends.top > 0).astype(bool))
    above, below = ([channel.secrets[int(i)] for i in at[y]] for at in (ends.top_at, ends.bottom_at))
    return Peaks(ratios(ends.top[y], ends.bottom[y]), above, below, [channel.outcomes[int(j)] for j in y])


def total(values: np.ndarray) -> Any:
    """Return the sum of exact or float values."""
    return sum(values.tolist(), start=Fraction(0)) if exact.is_exact(values) else math.fsum(values.tolist())
