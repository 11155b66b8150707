"""Levels of the rows of a channel that are suprema: found by a search in doubles, decided in balls where it is close.

A search brackets the number of each pair of rows. A claim between the brackets is decided for the pairs that come near
the largest, by a function of what the two rows show.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from divulge import exact
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import privacy_losses
from divulge.guarantees.deciding.levels import WORK, Ball, Level, Witness
from divulge.guarantees.deciding.pairs import ERROR, Pairs, Shown, largest_of, mean_loss
from divulge.guarantees.deciding.parabola import Moments, below
from divulge.guarantees.deciding.rational import Rational
from divulge.measures.average.shannon import Capacity
from divulge.model.channel import Channel
from divulge.model.shown import named
from divulge.ties import first_largest

Decision = Callable[[Pairs, Ball], bool | None]
"""Whether the number of two rows is at most a bound that a ball encloses; None where that is not decided."""


_UNUSED = Fraction(1, 10**7)
"""The share of the largest weight below which a row is not in use: interior points leave weights of 1e-9 or so."""
_MOST_SHARPENED = 64
"""Rows in use for Newton's method, each step of which takes the cube of their number in balls."""
_SHARP = 256
"""Bits of these balls: twice the digits that four steps leave."""
_NEWTON = 4
"""Steps, each of which doubles the digits: 7 become more than 100."""


def level(channel: Channel, measure: Callable[[PrivacyLoss], Bracket], decision: Decision, words: str) -> Level:
    """Return the largest number over the ordered pairs of rows, from above; claims within its bracket are decided."""
    losses = privacy_losses(channel)
    found = _each(losses, measure)
    uppers, lower = [one.upper for one in found], max(one.lower for one in found)
    value, (secret, other) = max(uppers), losses[first_largest(uppers)].pair
    witness = Witness(secret=secret, other=other, adversary=f"{words} between {named(secret)} and {named(other)}.")
    if lower == math.inf:
        return Level(math.inf, None, 0.0, witness)
    near = [loss.pair for loss, upper in zip(losses, uppers, strict=True) if upper >= lower * (1 - 2 * ERROR)]
    shown = Shown(channel, near)

    def decides(bound: Ball) -> bool:
        return all(decision(pairs, bound) is True for pairs in shown.pairs)

    margin = value - lower + ERROR * value if value < math.inf else math.inf
    return Level(value, None, margin, witness, decides=decides)


def _each(losses: Sequence[PrivacyLoss], measure: Callable[[PrivacyLoss], Bracket]) -> list[Bracket]:
    """Measure each law of the loss once: most pairs of rows of a symmetric channel have the same."""
    known: dict[Any, Bracket] = {}
    found = []
    for loss in losses:
        law: Any = id(loss)
        if isinstance(loss, AtomicLoss):
            parts = (part.tolist() for part in (loss.losses, loss.p, loss.q))
            law = (*map(tuple, parts), loss.p_only, loss.q_only)
        if law not in known:
            known[law] = measure(loss)
        found.append(known[law])
    return found


def trimmed(pairs: Pairs, delta: Fraction) -> Pairs:
    """Return min(P, R Q) / (1 - delta) and min(Q, R' P) / (1 - delta) of mass 1 each; none where the two meet.

    Of all that is left after removing `delta` from P and from Q, this pair has the least divergence of every order.
    """
    if not delta:
        return pairs
    top, bottom = _cut(pairs, delta), _cut([(q, p) for p, q in pairs], delta)
    if top == math.inf or bottom == math.inf:
        return [(Fraction(1), Fraction(0))]
    if top * bottom <= 1:
        return [(Fraction(1), Fraction(1))]
    return [(min(p, top * q) / (1 - delta), min(q, bottom * p) / (1 - delta)) for p, q in pairs]


def _cut(pairs: Pairs, delta: Fraction) -> Any:
    """Return the r with sum (p - r q)_+ = delta: the largest (P(S) - delta) / Q(S), inf where Q shows too little."""
    largest, p_sum, q_sum = Fraction(0), -delta, Fraction(0)
    for p, q in sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True):
        p_sum, q_sum = p_sum + p, q_sum + q
        if q_sum:
            largest = max(largest, p_sum / q_sum)
        elif p_sum > 0:
            return math.inf
    return largest


def under_line(pairs: Pairs, bound: Ball, xi: Fraction, up_to: Any = math.inf, delta: Fraction = Fraction(0)) -> Any:
    """Return whether D_alpha <= xi + bound alpha for 1 < alpha <= up_to, once `delta` is removed."""
    left = trimmed(pairs, delta)
    if any(q == 0 < p for p, q in left):
        return False
    if not up_to > 1:
        return True
    end = up_to if up_to == math.inf else Fraction(up_to) - 1
    return below(_moments(left), lambda: (exact.arb(xi) + bound(), bound()), end)


def sub_gaussian(pairs: Pairs, bound: Ball) -> bool | None:
    """Return whether the loss around its mean is bound-sub-Gaussian."""
    if any(q == 0 < p for p, q in pairs):
        return False
    moments = _moments(pairs)
    sides = [
        below(Moments(moments.weights, moments.ratios, sign), lambda: (None, bound() ** 2 / 2)) for sign in (1, -1)
    ]
    return True if all(sides) else False if False in sides else None


def _moments(pairs: Pairs) -> Moments:
    shown = [(p, p / q) for p, q in pairs if p]
    return Moments([p for p, _ in shown], [r for _, r in shown])


def capacity_level(channel: Channel, found: Capacity, words: str) -> Level:
    """Return the level of a capacity: a claim is held against max_x D(C_x || q) at the prior that was found."""
    margin = found.upper - found.lower + ERROR * found.upper
    twin = Rational.of(channel)

    @cache
    def rows() -> list[Pairs]:
        every = [twin.row(i) for i in twin.rows.tolist()]
        weights = _sharpened(every, [Fraction(w) for w in found.prior.floats.tolist()])
        total = exact.total(weights)
        outer = [
            exact.total(w * c for w, c in zip(weights, column, strict=True)) for column in zip(*every, strict=True)
        ]
        return [[(c, q / total) for c, q in zip(row, outer, strict=True) if c or q] for row in every]

    def ball() -> Any:
        return largest_of(mean_loss(pairs)() for pairs in rows())

    small = channel.shape[0] * channel.shape[1] <= WORK
    return Level(found.upper, ball if small else None, margin, Witness(adversary=f"{words}."))


def _sharpened(rows: list[list[Fraction]], weights: list[Fraction]) -> list[Fraction]:
    """Return weights nearer to those at which all rows in use are equally far from their mean: Newton steps in balls.

    They need not be right: whatever the weights, the farthest row bounds the capacity.
    """
    import flint

    used = [i for i, w in enumerate(weights) if w > _UNUSED * max(weights)]
    if len(used) > _MOST_SHARPENED:
        return weights
    kept = [Fraction(0)] * len(weights)
    with flint.ctx.workprec(_SHARP):
        w = [exact.arb(weights[i]).mid() for i in used]
        c = [[exact.arb(v) for v in rows[i]] for i in used]
        for _ in range(_NEWTON):
            mean = [_sum_of(a * row[y] for a, row in zip(w, c, strict=True)) for y in range(len(rows[0]))]
            shown = [y for y, q in enumerate(mean) if q > 0]
            far = [_sum_of(row[y] * (row[y] / mean[y]).log() for y in shown if row[y] > 0) for row in c]
            slopes = [[-_sum_of(a[y] * b[y] / mean[y] for y in shown) for b in c] for a in c]
            system = [[*row, exact.arb(Fraction(-1))] for row in slopes] + [[exact.arb(Fraction(1))] * len(c) + [0]]
            aim = [[-value] for value in far] + [[1 - _sum_of(iter(w))]]
            try:
                step = flint.arb_mat(system).solve(flint.arb_mat(aim))
            except ZeroDivisionError:  # rows that are not independent: many weights are best
                return weights
            w = [(a + step[k, 0]).mid() for k, a in enumerate(w)]
        if not all(a > 0 for a in w):
            return weights
        for i, a in zip(used, w, strict=True):
            kept[i] = exact.fraction(a)
    seen = [any(a and c for a, c in zip(kept, column, strict=True)) for column in zip(*rows, strict=True)]
    lost = any(c and not shown for row in rows for c, shown in zip(row, seen, strict=True))
    return weights if lost else kept


def _sum_of(balls: Iterator[Any]) -> Any:
    return sum(balls, start=exact.arb(Fraction(0)))
