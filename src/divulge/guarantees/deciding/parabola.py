"""Whether the log-moments of a loss stay below a parabola, decided in balls: zCDP and sub-Gaussian tails of rows.

K(l) = log E e^(l L) of finitely many losses is convex with K(0) = 0. K(l) <= a l + b l^2 is decided on (0, end]: near 0
by the second derivative, far out by the largest loss, between by chords, which lie above K by what it bends; an
interval that is not decided is halved. Halving ends soon beside a point where both nearly touch, for the gap grows with
the square of the distance as the error falls with that of the width: a gap of 2^-100 takes some hundred intervals.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from divulge import exact

_ROUNDS = ((128, (4, 12, 24, 36)), (640, (64, 128, 192)))
"""Bits carried, and powers of 1/2 that are tried for the first l, over the width of the losses."""

_MOST = 4000
"""Points at which K is computed in a round before nothing is decided."""


@dataclass(frozen=True)
class Moments:
    """Losses and their probabilities: rationals p with losses log r; a row's pairs give r = p / q.

    weights : probabilities, above 0
    ratios : e to the losses
    sign : -1 for the loss turned over
    """

    weights: list[Fraction]
    ratios: list[Fraction]
    sign: int = 1

    def losses(self) -> list[Any]:
        """Return the losses in balls."""
        return [self.sign * exact.arb(r).log() for r in self.ratios]

    def mean(self) -> Any:
        """Return the mean loss in a ball."""
        return _total(exact.arb(w) * loss for w, loss in zip(self.weights, self.losses(), strict=True))


def below(moments: Moments, parabola: Callable[[], tuple[Any, Any]], end: Any = math.inf) -> bool | None:
    """Return whether K(l) <= a l + b l^2 for 0 < l <= end, with (a, b) = parabola() in balls; None if not decided.

    b is at least 0; an a of None stands for the mean loss itself.
    """
    import flint

    if all(ratio == 1 for ratio in moments.ratios):
        return True
    for precision, powers in _ROUNDS:
        with flint.ctx.workprec(precision):
            answer = _Search(moments, *parabola(), end).decided(powers)
        if answer is not None:
            return answer
    return None


class _Search:
    def __init__(self, moments: Moments, a: Any, b: Any, end: Any) -> None:
        self.weights, self.losses = [exact.arb(w) for w in moments.weights], moments.losses()
        self.mean = moments.mean()
        self.a, self.b, self.end = self.mean if a is None else a, b, end
        self.lifted = exact.arb(Fraction(0)) if a is None else a - self.mean
        self.top = _largest(self.losses)
        self.width = self.top + _largest([-loss for loss in self.losses])
        self.asked = 0

    def decided(self, powers: tuple[int, ...]) -> bool | None:
        if self.a >= self.top:
            return True
        last = self._far()
        if last is None:
            return False if self.a < self.top else None
        for power in powers:
            start = (exact.arb(Fraction(1, 2**power)) / self.width).mid()
            start = start if start < last else last
            if (near := self._near(start)) is not None:
                return self._between(start, last) if near else False
        return None

    def _far(self) -> Any:
        """Return an l from which on the largest loss, or `end`, settles it; None where nothing does: b = 0."""
        points = [] if self.end == math.inf else [exact.ball(self.end).upper()]
        if self.b > 0:
            points.append(((self.top - self.a) / self.b).upper())
        return min(points) if points else None

    def _near(self, l: Any) -> bool | None:
        """Decide 0 < l' <= l: there K(l') is l' mean + l'^2 / 2 times a value of K'' between."""
        bend = (self.tilted(exact.arb(Fraction(0)))[0] + l * abs(self.tilted(l / 2 + l / 2 * _unit())[1])) / 2
        if self.lifted >= 0 and self.lifted + l * (self.b - bend) >= 0:
            return True
        return False if self.lifted < 0 or self.gap(l) < 0 else None

    def gap(self, l: Any) -> Any:
        """Return a l + b l^2 - K(l)."""
        self.asked += 1
        shift = l * self.top
        grown = _total(w * (l * x - shift).exp() for w, x in zip(self.weights, self.losses, strict=True))
        return self.a * l + self.b * l * l - shift - grown.log()

    def tilted(self, l: Any) -> tuple[Any, Any]:
        """Return the second and third derivative over the ball l: moments of tilted losses around their mean."""
        weights = [w * (l * (x - self.top)).exp() for w, x in zip(self.weights, self.losses, strict=True)]
        total = _total(weights)
        mean = _total(w * x for w, x in zip(weights, self.losses, strict=True)) / total
        away = [x - mean for x in self.losses]
        second, third = (_total(w * x**k for w, x in zip(weights, away, strict=True)) / total for k in (2, 3))
        return second, third

    def _between(self, start: Any, last: Any) -> bool | None:
        open_ = [(start, self.gap(start), last, self.gap(last))]
        while open_:
            left, at_left, right, at_right = open_.pop()
            if at_left < 0 or at_right < 0:
                return False
            if self._over_chord(left, at_left, right, at_right):
                continue
            middle = ((left * right).sqrt() if right > 4 * left else (left + right) / 2).mid()
            if self.asked > _MOST or not (left < middle and middle < right):
                return None
            found = self.gap(middle)
            open_ += [(middle, found, right, at_right), (left, at_left, middle, found)]
        return True

    def _over_chord(self, left: Any, at_left: Any, right: Any, at_right: Any) -> bool:
        """Say whether the parabola is above the chord of K, less m (l - left) (right - l) / 2 where K'' is at least m.

        Their gap is linear less (b - m / 2) (l - left) (right - l).
        """
        if not (at_left >= 0 and at_right >= 0):
            return False
        width, middle = right - left, ((left + right) / 2).mid()
        if at_left.min(at_right) >= self.b * width * width / 4:
            return True
        bend = self.tilted(middle)[0] - width / 2 * abs(self.tilted(middle + width / 2 * _unit())[1])
        deep = (self.b - bend.max(exact.arb(Fraction(0))) / 2) * width * width
        # (1 - s) at_left + s at_right - deep s (1 - s) is least at s = 1/2 - (at_right - at_left) / (2 deep)
        if deep <= 0 or at_left.min(at_right) >= deep / 4:
            return True
        if not deep > 0:
            return False
        s = (1 - (at_right - at_left) / deep) / 2
        if s <= 0 or s >= 1:
            return True
        return bool((1 - s) * at_left + s * at_right - deep * s * (1 - s) >= 0)


def _total(balls: Any) -> Any:
    return sum(balls, start=exact.arb(Fraction(0)))


def _largest(balls: list[Any]) -> Any:
    first, *others = balls
    for ball in others:
        first = first.max(ball)
    return first


def _unit() -> Any:
    """Return the ball [-1, 1]."""
    import flint

    return flint.arb(0, 1)
