"""How much there is of what a guarantee bounds: a number, the exact value behind it, and where it is reached."""

import math
import sys
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from numbers import Rational as RationalNumber
from typing import Any, NamedTuple

import numpy as np

from divulge import exact
from divulge.guarantees.deciding.rational import Rational
from divulge.measures.numeric.columns import Extremes, all_ends, likely_ends
from divulge.model.channel import Channel
from divulge.model.entries import CLEAN, positive
from divulge.model.joint import Joint
from divulge.model.labels import position
from divulge.model.shown import Shown
from divulge.ties import first_largest
from divulge.units import Unit, nats_per

LOGARITHMS: dict[str, Callable[[], Any]] = {"nats": lambda: exact.arb(1), "bits": lambda: exact.arb(2).log()}
"""Unit -> the ball of its nats."""


@dataclass(frozen=True)
class Witness(Shown):
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
    >>> found = dv.LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]]).witness
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
        >>> verdict = dv.LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> verdict.witness.to_dict()["outcome"]
        0
        """
        return {name: value for name, value in vars(self).items() if value is not None}

    def exactly(self, subject: object) -> dict[str, str]:
        """Return the probabilities at the witness as fractions in text, where those of the subject are exact.

        Of a joint those of the secret before and after the outcome, of a channel those of the outcome under the two
        secrets; and their ratio.

        Examples
        --------
        >>> verdict = dv.LDP(1).holds_for([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> verdict.witness.exactly(verdict.subject)
        {'under_secret': '3/4', 'under_other': '1/4', 'ratio': '3'}
        """
        if self.outcome is None or self.secret is None or not getattr(subject, "exact", False):
            return {}
        if isinstance(subject, Joint):
            first, second = subject.prior[self.secret], subject.posterior(self.outcome)[self.secret]
            names, ratio = ("before", "after"), (second, first)
        elif isinstance(subject, Channel) and self.other is not None:
            j = position(subject.outcomes, self.outcome, "outcome")
            first, second = (
                subject.matrix[position(subject.secrets, x, "secret"), j] for x in (self.secret, self.other)
            )
            names, ratio = ("under_secret", "under_other"), (first, second)
        else:
            return {}
        found = {name: str(value) for name, value in zip(names, (first, second), strict=True)}
        return found | {"ratio": "inf" if ratio[1] == 0 else str(ratio[0] / ratio[1])}


Ball = Callable[[], Any]
"""Encloses a number, the tighter the higher the current precision of python-flint."""

OfColumn = Callable[[Rational, list[Fraction]], Fraction]
OfPlace = Callable[[Rational, int], Fraction]
"""A number of a column of the rational mechanism."""

WORK = 1 << 18
"""Up to this many entries a number of a float mechanism is bounded by its rational one, beyond by an error bound."""


ROUNDED = 4 * 2.0**-53
"""Relative error of an end of a bracket that is divided by the nats of a unit."""


@dataclass(frozen=True)
class Level:
    """One measured number on the scale of a guarantee's parameter.

    value : the number as reported: a Fraction for a ratio of an exact channel, else a float
    ball : function of no arguments, or None; encloses the exact value, of float entries that of the rational mechanism
        they stand for; None where there is no such arithmetic, and the value counts as it is
    margin : a bound of how far the value may be from the exact one; 0 when it is exact or correctly rounded
    cover : function of no arguments; what `bound` adds, so that it also covers float entries as they stand, whose rows
        do not quite sum to 1
    work : how many entries the ball reads
    decides : function of a ball of the bound, or None; says, in place of `ball`, whether the number is at most a bound
        within `margin`; False where that stays open
    least : what the number is at least, of one that is known in a bracket alone
    found_at : Witness, or function of no arguments; where the number is attained; `witness` asks it, put into words
        when somebody reads them
    """

    value: Any
    ball: Ball | None = field(compare=False)
    margin: float
    found_at: Witness | Callable[[], Witness] = field(default_factory=Witness, compare=False)
    cover: Callable[[], Fraction] = field(default=Fraction, compare=False)
    work: int = 0
    decides: Callable[[Ball], bool] | None = field(default=None, compare=False)
    least: float | None = None

    @cached_property
    def witness(self) -> Witness:
        """Where the number is attained, and what that means to somebody."""
        return self.found_at if isinstance(self.found_at, Witness) else self.found_at()

    @property
    def certain(self) -> bool:
        """Whether comparisons are decided exactly."""
        return (
            self.ball is not None
            or self.decides is not None
            or self.value == math.inf
            or isinstance(self.value, RationalNumber)
        )

    def at_most(self, bound: Any) -> bool:
        """Say whether the number is at most `bound`: by its error bound where that is enough, else exactly."""
        if exact.is_infinite(self.value) or exact.is_infinite(bound):
            return exact.is_infinite(bound)
        if isinstance(self.value, RationalNumber):
            return self.value <= Fraction(bound)
        if self.ball is None and self.decides is None:
            return Fraction(self.value) + Fraction(self.margin) <= Fraction(bound)
        if self.margin and abs(self.value - (nearest := float(bound))) > self.margin:
            return self.value < nearest  # as the bound: no double lies between it and the nearest
        if self.ball is None:
            return self.decides is not None and self.decides(partial(exact.ball, bound))
        return exact.at_most(self.ball, bound)

    def open(self, bound: Any) -> bool:
        """Say whether the bracket of the number has the bound inside: neither kept nor broken for sure."""
        return self.least is not None and not self.at_most(bound) and self.least <= bound

    def at_least(self, bound: Any) -> bool:
        """Say whether the number is at least `bound`; only what has an exact value or a ball is asked."""
        if self.value == math.inf or isinstance(self.value, RationalNumber):
            return self.value >= (bound if bound == math.inf else Fraction(bound))
        if bound == math.inf or self.ball is None:
            return False
        if self.margin and abs(self.value - float(bound)) > self.margin:
            return self.value > bound
        ball = self.ball
        return exact.at_most(lambda: -ball(), -Fraction(bound))

    def below(self, bound: Any) -> bool:
        """Say whether the number is less than `bound`; an infinite bound promises nothing, and everything keeps it."""
        return bound == math.inf or (self.at_most(bound) and not self.at_least(bound))

    def to(self, unit: Unit) -> "Level":
        """Return the level of a logarithm, so far in nats, in `unit`."""
        nats = nats_per(unit)
        if nats == 1:
            return self
        if self.ball is None:
            decides = None if self.decides is None else partial(_decided_in, self.decides, unit)
            least = None if self.least is None else self.least / nats * (1 - ROUNDED)
            margin = self.margin / nats + (0.0 if least is None else ROUNDED * self.value / nats)
            return replace(self, value=self.value / nats, margin=margin, decides=decides, least=least)
        ball = partial(_in_unit, self.ball, unit)
        value = self.value / nats if self.margin else exact.correctly_rounded(ball)
        return replace(self, value=value, margin=self.margin / nats, ball=ball)

    def bound(self) -> Any:
        """Return a parameter that the number certainly respects, rounded up: the least, but for floats of much work."""
        if self.value == math.inf or isinstance(self.value, RationalNumber):
            return self.value if exact.as_float(self.value) < math.inf else math.inf
        if self.ball is None:
            return exact.round_up(exact.arb(Fraction(self.value) + Fraction(self.margin)))
        import flint

        with flint.ctx.workprec(256):
            if self.margin and self.work > WORK:
                return max(0.0, exact.round_up(exact.arb(Fraction(self.value) + Fraction(self.margin))))
            return max(0.0, exact.round_up(self.ball() + exact.arb(self.cover())))

    def floor(self) -> Any:
        """Return a parameter that the number is certainly at least, rounded down."""
        if self.ball is None or self.value == math.inf or isinstance(self.value, RationalNumber):
            return self.value
        import flint

        with flint.ctx.workprec(256):
            return max(0.0, exact.round_down(self.ball() - exact.arb(self.cover())))

    def above(self) -> Any:
        """Return a parameter that the number is certainly below: the least double, but for floats of much work."""
        bound = self.bound()
        return bound if bound == math.inf else math.nextafter(float(bound), math.inf)


def rounding(*shape: int) -> float:
    """Return a bound of the relative error of ratios of float entries, their sums and the rows they are divided by.

    4 ulp of 1 for each term of the sums involved, and 32 more; and what rows that are left alone may be off.
    """
    return (sum(shape) + 8) * 2.0**-50 + 4 * CLEAN


def _log(ratio: RationalNumber) -> Any:
    return exact.arb(ratio).log()


def _decided_in(decides: Callable[[Ball], bool], unit: Unit, bound: Ball) -> bool:
    return decides(lambda: bound() * LOGARITHMS[unit]())


def _in_unit(ball: Ball, unit: Unit) -> Any:
    return ball() / LOGARITHMS[unit]()


@dataclass(frozen=True)
class Ratio:
    """A ratio as measured, and where it is from floats the one of the rational mechanism, worked out when asked for."""

    ratio: Any
    twin: Callable[[], tuple[Fraction, Fraction]] | None = None
    margin: float = 0.0
    work: int = 0

    @cached_property
    def exactly(self) -> tuple[Fraction, Fraction]:
        """The exact ratio, and a relative cover for float entries as they stand."""
        return (self.ratio, Fraction(0)) if self.twin is None else self.twin()

    def inverse(self) -> "Ratio":
        """Return one over the ratio; one over 0 is inf."""
        if self.ratio == 0:
            return Ratio(math.inf)

        def exactly() -> tuple[Fraction, Fraction]:
            return 1 / self.exactly[0], self.exactly[1]

        return Ratio(1 / self.ratio, None if self.twin is None else exactly, self.margin, self.work)

    def cover(self) -> Fraction:
        """Return the cover of the logarithm."""
        return self.exactly[1]

    def relative(self) -> Fraction:
        """Return the cover of the ratio itself."""
        return self.exactly[1] * self.exactly[0]


def larger(first: Level, second: Level) -> Level:
    """Return the larger of two logarithms, told exactly where their values are too close to tell."""
    if abs(first.value - second.value) > first.margin + second.margin or first.ball is None or second.ball is None:
        return max(first, second, key=lambda level: level.value)
    one, other = first.ball, second.ball
    above = exact.at_most(lambda: one() - other(), 0)
    most = second if above else first
    return replace(most, value=max(first.value, second.value))


def log_of(found: Ratio, witness: Witness | Callable[[], Witness], nats: Callable[[], float]) -> Level:
    """Return the level log `ratio`, of an exact or float ratio; log inf is inf.

    The logarithm of a float near 1 has few digits: `nats` measures it with all.
    """
    if found.ratio == math.inf:
        return Level(math.inf, None, 0.0, witness)
    if found.twin is None:
        return Level(exact.log(found.ratio), partial(_log, found.ratio), 0.0, witness)
    value = max(0.0, nats())
    margin = found.margin * (1 + value)
    return Level(value, lambda: _log(found.exactly[0]), margin, witness, found.cover, found.work)


def ratio_of(found: Ratio, witness: Witness | Callable[[], Witness]) -> Level:
    """Return the level `ratio` itself."""
    if found.ratio == math.inf or found.twin is None:
        return Level(found.ratio, None, 0.0, witness)
    value = float(found.ratio)
    margin = found.margin * value
    return Level(value, lambda: exact.arb(found.exactly[0]), margin, witness, found.relative, found.work)


class Peaks(NamedTuple):
    """The largest ratio above / below in each column that counts, and the positions of its rows; inf where below is 0.

    The ratios are Fractions when `twin` is None. Else they are floats, known up to `margin`, and `exactly` gives
    those of the rational mechanism.
    """

    ratios: list[Any]
    channel: Channel
    above: np.ndarray
    below: np.ndarray
    columns: list[int]
    twin: Rational | None
    margin: float
    of_place: OfPlace

    def top(self) -> int:
        """Return the position of the largest ratio, the first of those that tie up to rounding."""
        return first_largest(self.ratios)

    def names(self, i: int) -> tuple[Hashable, Hashable, Hashable]:
        """Return the secrets of above and of below, and the outcome, at a position."""
        secrets = self.channel.secrets
        return (
            secrets[self.above.item(i)],
            secrets[self.below.item(i)],
            self.channel.outcomes[self.columns[i]],
        )

    def exactly(self, i: int) -> Any:
        """Return the ratio at a position, of the rational mechanism."""
        if self.twin is None or self.ratios[i] == math.inf:
            return self.ratios[i]
        return self.of_place(self.twin, self.columns[i])

    def _distinct(self, places: list[int]) -> list[int]:
        """Return those of the positions whose columns differ by more than the order of rows."""
        if self.twin is None or len(places) < 2:
            return places
        at = {self.columns[i]: i for i in places}
        return [at[j] for j in self.twin.distinct(list(at))]

    def largest(self) -> Ratio:
        """Return the largest ratio; of floats only columns that rounding may have kept from the top are worked out."""
        top = max(self.ratios)
        if self.twin is None or top == math.inf:
            return Ratio(top)
        twin, near = self.twin, [i for i, r in enumerate(self.ratios) if r >= top * (1 - 2 * self.margin)]
        return Ratio(
            top,
            lambda: (max(map(self.exactly, self._distinct(near))), twin.cover),
            self.margin,
            len(near) * len(twin.rows),
        )


def ratios(above: np.ndarray, below: np.ndarray) -> list[Any]:
    """Return above / below entry by entry; a / 0 is inf, and what overflows of floats is the largest double."""
    pairs = zip(above.tolist(), below.tolist(), strict=True)
    return [math.inf if b == 0 else r if (r := a / b) != math.inf else sys.float_info.max for a, b in pairs]


def _peaks(
    subject: Joint | Channel,
    above: np.ndarray,
    below: np.ndarray,
    at: tuple[np.ndarray, np.ndarray],
    columns: np.ndarray,
    of_place: OfPlace,
) -> Peaks:
    floats = not (above.dtype.hasobject and below.dtype.hasobject)
    channel = subject if isinstance(subject, Channel) else subject.channel
    twin, margin = (Rational.of(subject), rounding(*channel.shape)) if floats else (None, 0.0)
    return Peaks(ratios(above, below), channel, *at, columns.tolist(), twin, margin, of_place)


def upper_peaks(joint: Joint) -> Peaks:
    """Return the largest lift max_x C_xy / q_y of every outcome that occurs."""
    y, q, ends = _seen(joint)
    at = ends.top_at
    return _peaks(joint, ends.top, q, (at, at), y, lambda twin, j: twin.ends(j)[1] / twin.outer(twin.column(j)))


def lower_peaks(joint: Joint) -> Peaks:
    """Return the inverse of the smallest lift, q_y / min_x C_xy, of every outcome that occurs."""
    y, q, ends = _seen(joint)
    at = ends.bottom_at
    return _peaks(joint, q, ends.bottom, (at, at), y, lambda twin, j: twin.outer(twin.column(j)) / twin.ends(j)[0])


def _seen(joint: Joint) -> tuple[np.ndarray, np.ndarray, Extremes]:
    """Return the outcomes that occur, their q_y, and the extremes of their columns."""
    y = joint.y
    return y, joint.outer[y], likely_ends(joint).only(y)


def row_peaks(channel: Channel) -> Peaks:
    """Return the ratio max_x C_xy / min_x C_xy of every column that is not entirely zero, over all rows."""
    ends = all_ends(channel)
    y = positive(ends.top)
    ends = ends.only(y)
    at = (ends.top_at, ends.bottom_at)

    def ratio(twin: Rational, j: int) -> Fraction:
        low, high = twin.ends(j)
        return high / low

    return _peaks(channel, ends.top, ends.bottom, at, y, ratio)


def total_of(subject: Joint | Channel, of_column: OfColumn, floats: Any) -> Ratio:
    """Return the sum over the outcomes of a part of every column, of which `floats` is the sum in floats."""
    twin = Rational.of(subject)
    channel = subject if isinstance(subject, Channel) else subject.channel
    columns = range(channel.shape[1]) if isinstance(subject, Channel) else subject.y.tolist()

    def exactly() -> tuple[Fraction, Fraction]:
        return exact.total(of_column(twin, twin.column(j)) for j in columns), twin.cover

    if isinstance(floats, Fraction):
        return Ratio(floats)
    return Ratio(floats, exactly, rounding(*channel.shape), channel.shape[0] * channel.shape[1])


def mean_of(
    joint: Joint, terms: Callable[[Rational], Iterable[tuple[Any, Any]]], nats: Callable[[], float], witness: Witness
) -> Level:
    """Return the level sum of w log r over pairs (w, r), w > 0, of the rational mechanism; an infinite r is infinite.

    Of floats `nats` measures it.
    """
    twin, shape = Rational.of(joint), joint.channel.shape

    @cache
    def logs() -> list[tuple[Any, Any]]:
        return [(w, r) for w, r in terms(twin) if w != 0 and r != 1]

    def ball() -> Any:
        return sum((exact.arb(w) * exact.arb(r).log() for w, r in logs()), start=exact.arb(0))

    if joint.exact:
        if any(r == math.inf for _, r in logs()):
            return Level(math.inf, None, 0.0, witness)
        return Level(exact.weighted_log_sum(logs()), ball, 0.0, witness)
    value = max(0.0, nats())
    if value == math.inf:
        return Level(math.inf, None, 0.0, witness)
    margin = rounding(*shape) * (2 + value)
    return Level(value, ball, margin, witness, lambda: twin.cover * Fraction(2 + value), shape[0] * shape[1])


def total(values: np.ndarray) -> Any:
    """Return the sum of exact or float values."""
    return sum(values.tolist(), start=Fraction(0)) if exact.is_exact(values) else math.fsum(values.tolist())
