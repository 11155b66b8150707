"""How far apart two rows of a channel are, exactly: what decides guarantees about privacy losses at equality.

A question is a function of two rows, given as pairs (p, q) of fractions of what each shows; it returns a function that
encloses the answer in a ball. Divergences are asked of the distributions that floats are in proportion to. Questions
with a delta are asked of the entries as they stand, so that an outcome of 0.05 has a probability of 0.05.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

from divulge import exact
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import privacy_losses
from divulge.dp.variants.worst import Worst
from divulge.guarantees.deciding.levels import WORK, Ball, Level, Witness
from divulge.guarantees.deciding.rational import Rational
from divulge.model.channel import Channel
from divulge.model.shown import named
from divulge.ties import first_largest

Pairs = list[tuple[Fraction, Fraction]]
Question = Callable[[Pairs], Ball]

_NEAR, ERROR = 1e-9, 1e-11
"""How close to the largest a pair must come to be worked out; how far a measured value may be off, relatively."""


def kept_after(pairs: Pairs, outside: Fraction) -> Pairs:
    """Return the pairs without the outcomes of largest loss, of probability `outside` under P; one may go in part."""
    kept: Pairs = []
    for p, q in sorted(pairs, key=_loss, reverse=True):
        gone = min(p, outside)
        outside -= gone
        if p > gone or p == 0:
            kept.append((p - gone, q * (p - gone) / p if p else q))
    return kept


def _loss(pair: tuple[Fraction, Fraction]) -> Fraction | float:
    p, q = pair
    return p / q if q else math.inf


def epsilon_at(delta: Fraction, outside: Fraction = Fraction(0)) -> Question:
    """Return the least epsilon >= 0 with sum (p - e^epsilon q)_+ <= delta: log of max_S (P(S) - delta) / Q(S).

    S runs over the sets of largest loss; +inf where outcomes that only P shows have more than delta.
    """

    def question(pairs: Pairs) -> Ball:
        largest, p_sum, q_sum = Fraction(1), -delta, Fraction(0)
        for p, q in sorted(kept_after(pairs, outside), key=_loss, reverse=True):
            p_sum, q_sum = p_sum + p, q_sum + q
            if q_sum == 0:
                if p_sum > 0:
                    return _infinite
            elif p_sum / q_sum > largest:
                largest = p_sum / q_sum
        return _log(largest)

    return question


def quantile_at(delta: Fraction) -> Question:
    """Return the least epsilon >= 0 with P(loss > epsilon) <= delta."""

    def question(pairs: Pairs) -> Ball:
        beyond, falling = Fraction(0), sorted(((p, q) for p, q in pairs if p), key=_loss, reverse=True)
        for p, q in falling:
            beyond += p
            if beyond > delta:
                return _log(max(p / q, Fraction(1))) if q else _infinite
        return _zero

    return question


def total_variation(pairs: Pairs) -> Ball:
    """Return sum (p - q)_+."""
    return _number(exact.total(p - q for p, q in pairs if p > q))


def mean_loss(pairs: Pairs) -> Ball:
    """Return sum p log p/q."""
    if any(q == 0 < p for p, q in pairs):
        return _infinite
    return lambda: _sum(exact.arb(p) * exact.arb(p / q).log() for p, q in pairs if p and p != q)


def renyi(alpha: Any) -> Question:
    """Return log(sum p^alpha q^(1 - alpha)) / (alpha - 1), the mean loss at 1, the largest at infinity."""

    def question(pairs: Pairs) -> Ball:
        if alpha == 1:
            return mean_loss(pairs)
        if any(q == 0 < p for p, q in pairs):
            return _infinite
        if alpha == math.inf:
            return epsilon_at(Fraction(0))(pairs)
        shown = [(p, q) for p, q in pairs if p]

        def ball() -> Any:
            order = exact.ball(alpha)
            logs = [order * exact.arb(p).log() + (1 - order) * exact.arb(q).log() for p, q in shown]
            return exact.log_sum_exp(logs) / (order - 1)

        return _zero if all(p == q for p, q in pairs) else ball

    return question


def gaussian_mu(pairs: Pairs) -> Ball:
    """Return the largest Phi^-1(P(S)) - Phi^-1(Q(S)) over the sets S of largest loss."""
    points: list[tuple[Fraction, Fraction]] = []
    p_sum = q_sum = Fraction(0)
    for p, q in sorted(pairs, key=_loss, reverse=True):
        p_sum, q_sum = p_sum + p, q_sum + q
        if q_sum == 0 < p_sum or p_sum == 1 > q_sum:
            return _infinite
        if p_sum != q_sum:
            points.append((p_sum, q_sum))
    return (lambda: largest_of(_quantile(p) - _quantile(q) for p, q in points)) if points else _zero


def _quantile(share: Fraction) -> Any:
    """Return Phi^-1."""
    return -exact.arb(Fraction(2)).sqrt() * exact.arb(2 * share).erfcinv()


def ternary_abs_chi(alpha: Any) -> Callable[[list[tuple[Fraction, Fraction, Fraction]]], Ball]:
    """Return (sum r |(p - q) / r|^alpha)^(1/alpha) of triples (p, q, r): that of pairs (r + |p - q|, r)."""
    question = abs_chi(alpha)
    return lambda triples: question([(r + abs(p - q), r) for p, q, r in triples])


def abs_chi(alpha: Any) -> Question:
    """Return (sum q |p/q - 1|^alpha)^(1/alpha), at infinity the largest |p/q - 1|."""

    def question(pairs: Pairs) -> Ball:
        apart = [(abs(p - q), q) for p, q in pairs if p != q]
        if not apart:
            return _zero
        if alpha == 1:
            return _number(exact.total(gap for gap, _ in apart))
        if any(q == 0 for _, q in apart):
            return _infinite
        if alpha == math.inf:
            return _number(max(gap / q for gap, q in apart))
        if alpha == 2:
            squared = exact.total(gap * gap / q for gap, q in apart)
            return lambda: exact.arb(squared).sqrt()

        def ball() -> Any:
            order = exact.ball(alpha)
            logs = [order * exact.arb(gap).log() + (1 - order) * exact.arb(q).log() for gap, q in apart]
            return (exact.log_sum_exp(logs) / order).exp()

        return ball

    return question


def _jensen_shannon(pairs: Pairs) -> Ball:
    halves = [(p, (p + q) / 2) for p, q in pairs] + [(q, (p + q) / 2) for p, q in pairs]
    mean = mean_loss(halves)
    return lambda: mean() / 2


def _hellinger(pairs: Pairs) -> Ball:
    return lambda: _sum((exact.arb(p).sqrt() - exact.arb(q).sqrt()) ** 2 for p, q in pairs if p != q)


def _chi_squared(pairs: Pairs) -> Ball:
    if any(q == 0 < p for p, q in pairs):
        return _infinite
    return _number(exact.total((p - q) ** 2 / q for p, q in pairs if q))


DIVERGENCES: dict[str, Question] = {
    "jensen-shannon": _jensen_shannon,
    "hellinger": _hellinger,
    "kl": mean_loss,
    "chi-squared": _chi_squared,
}
"""Name of an f-divergence -> the question."""


def level(
    channel: Channel,
    measure: Callable[[PrivacyLoss], float],
    question: Question,
    words: str,
    as_given: bool = False,
    eased: Callable[[PrivacyLoss], float] | None = None,
) -> Level:
    """Return the largest value of `measure` over the ordered pairs of rows, decided by `question`.

    `as_given` asks it of entries as they stand, and not of each over the sum of its row. `eased` measures the same at a
    delta that is larger by more than rounding: where it is less the value jumps, and the question is asked at once.
    """
    losses = privacy_losses(channel)
    values = [float(measure(loss)) for loss in losses]
    pairs = [loss.pair for loss in losses]
    if eased is not None:
        values = _settled(channel, values, [float(eased(loss)) for loss in losses], pairs, question, as_given)
    value, (secret, other) = max(values), pairs[first_largest(values)]
    witness = Witness(secret=secret, other=other, adversary=f"{words} between {named(secret)} and {named(other)}.")
    if value == math.inf:
        return Level(value, None, 0.0, witness)
    near = [pair for pair, found in zip(pairs, values, strict=True) if found >= value * (1 - _NEAR)]
    asked = Asked(channel, near, question, as_given)

    def cover() -> Fraction:
        return asked.twin.cover * (1 + Fraction(value))

    return Level(value, asked, ERROR * (value + 1e-3), witness, cover, len(near) * channel.shape[1])


def _settled(
    channel: Channel, values: list[float], eased: list[float], pairs: list[Any], question: Question, as_given: bool
) -> list[float]:
    """Return the values, in place of those that a jump leaves open the exact ones: where these are not too many."""
    floor = max(eased)
    left = [i for i, (most, least) in enumerate(zip(values, eased, strict=True))
            if most > floor * (1 + _NEAR) + _NEAR and most > least * (1 + _NEAR) + _NEAR]  # fmt: skip
    if len(left) * channel.shape[1] > WORK:
        return values
    found = list(values)
    for i in left:
        found[i] = exact.correctly_rounded(Asked(channel, [pairs[i]], question, as_given))
    return found


def level_of_rows(channel: Channel, found: list[list[Worst]], question: Callable[[Any], Ball], words: str) -> Level:
    """Return the level of the largest of values of rows named together, decided by the question to those near it."""
    values = [some[0].value for some in found]
    top = found[first_largest(values)][0]
    witness = Witness(
        secret=top.pair[0], other=top.pair[1], adversary=f"{words} between {top.pair[0]} and {top.pair[1]}."
    )
    value = max(values)
    if value == math.inf:
        return Level(value, None, 0.0, witness)
    named = [one.pair for some in found for one in some if one.value >= value * (1 - _NEAR)]
    return Level(value, Asked(channel, named, question), ERROR * value, witness)


class Asked:
    """A question to several pairs of rows, each asked once: encloses the largest answer."""

    def __init__(
        self, channel: Channel, pairs: list[Any], question: Callable[[Any], Ball], as_given: bool = False
    ) -> None:
        self._shown = Shown(channel, pairs, as_given)
        self._question = question
        self.twin = self._shown.twin

    @cached_property
    def _balls(self) -> list[Ball]:
        return [self._question(pairs) for pairs in self._shown.pairs]

    def __call__(self) -> Any:
        return largest_of(ball() for ball in self._balls)


def largest_of(balls: Iterable[Any]) -> Any:
    """Return the largest of balls."""
    largest, *others = balls
    for one in others:
        largest = largest.max(one)
    return largest


class Shown:
    """What rows of a channel show, as fractions: entries over their sum, or as they stand."""

    def __init__(self, channel: Channel, named: list[tuple[Any, ...]], as_given: bool = False) -> None:
        self._channel, self._named, self._as_given = channel, named, as_given
        self.twin = Rational.of(channel)

    @cached_property
    def pairs(self) -> list[Any]:
        """The probabilities of each outcome under the rows named together, by which they differ, each list once."""
        at = {secret: i for i, secret in enumerate(self._channel.secrets)}
        rows: dict[int, list[Fraction]] = {}
        found: dict[tuple[Any, ...], None] = {}
        for names in self._named:
            shown = [rows.setdefault(at[s], rows.get(at[s]) or self.twin.row(at[s], self._as_given)) for s in names]
            found[tuple(sorted(entries for entries in zip(*shown, strict=True) if any(entries)))] = None
        return [list(entries) for entries in found]


def _sum(balls: Iterator[Any]) -> Any:
    return sum(balls, start=exact.arb(0))


def _number(value: Fraction) -> Ball:
    return lambda: exact.arb(value)


def _log(ratio: Fraction) -> Ball:
    return lambda: exact.arb(ratio).log()


def _infinite() -> Any:
    return exact.ball(math.inf)


def _zero() -> Any:
    return exact.arb(0)
