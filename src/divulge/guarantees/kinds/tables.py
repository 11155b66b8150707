"""The guarantees of published tables: groups of people with the same known values, and what is in each.

The outcome is the group of a row and the secret its sensitive value, so that every mechanism has them too: q is the
posterior of an outcome, p the prior, over the secrets that can occur. Each is the maximum over outcomes of a number
that no merging of outcomes raises.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from divulge import exact
from divulge.guarantees.deciding import levels as at
from divulge.guarantees.deciding.levels import Level, Ratio, Witness
from divulge.guarantees.deciding.rational import Rational
from divulge.guarantees.guarantee import Guarantee, Released, Subject
from divulge.guarantees.kinds.density import LIP, Lift
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.model.joint import Joint
from divulge.model.shown import named, promised, reached

NEAR = 1e-9
"""Outcomes whose doubles are this near to the extreme are compared exactly: doubles are off by far less."""


@kind_of_guarantee
class KAnonymity(Guarantee):
    """k-anonymity: every group has at least k rows; of a joint of row and outcome, no posterior above 1/k.

    Examples
    --------
    >>> rows = Joint(["1/3"] * 3, [[1, 0], [1, 0], [0, 1]])  # two rows in the first group, one in the second
    >>> KAnonymity(2).holds_for(rows).holds, KAnonymity(2).holds_for(rows).measured
    (False, Fraction(1, 1))
    """

    k: float | Fraction = parameter(converter=number)
    kind = "k"
    title = "k-anonymity"
    sentence = (
        "Whoever knows the known columns of a person finds at least {k} rows that fit; it says nothing of what these "
        "rows have in common."
    )

    @classmethod
    def subject(cls, released: Released) -> Subject:
        own = getattr(released, "subject_of", None)
        return super().subject(released) if own is None else own(cls)

    def levels(self, subject: Joint | np.ndarray) -> tuple[Level, ...]:
        if isinstance(subject, Joint):
            top, column = _largest(subject, subject.posteriors, lambda twin, j: max(_posterior(twin, j)))
            least, outcome = top.inverse(), subject.outcomes[column]
        else:
            least, outcome = Ratio(Fraction(int(np.min(subject)))), None
        text = f"In the smallest group whoever looks for a person is right with probability 1/{reached(least.ratio)}."
        return (at.ratio_of(least, Witness(outcome, adversary=text)),)


@kind_of_guarantee
class DistinctL(Guarantee):
    """Distinct l-diversity: at every outcome at least l secrets are possible.

    Examples
    --------
    >>> some = Joint(["1/2", "1/4", "1/4"], [[1, 0], ["1/2", "1/2"], [0, 1]])
    >>> [DistinctL(level).holds_for(some).holds for level in (2, 3)]
    [True, False]
    """

    l: float | Fraction = parameter(converter=number)
    kind = "distinct-l"
    title = "distinct l-diversity"
    sentence = "Whatever group is seen, at least {l} values stay possible; one of them may be all but certain."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        seen = subject.y
        possible = (_dense(subject.c)[subject.prior.support][:, seen] > 0).astype(bool).sum(axis=0)
        place = int(np.argmin(possible))
        outcome = subject.outcomes[int(seen[place])]
        text = f"Seeing {named(outcome)} leaves {int(possible[place])} of {int(subject.prior.support.sum())} values."
        return (at.ratio_of(Ratio(Fraction(int(possible[place]))), Witness(outcome, adversary=text)),)


@kind_of_guarantee
class EntropyL(Guarantee):
    """Entropy l-diversity: at every outcome e^H(X | y) >= l.

    Examples
    --------
    >>> even = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["3/4", "1/4"]])
    >>> EntropyL(2).holds_for(even).holds  # decided at equality
    True
    """

    l: float | Fraction = parameter(converter=number)
    kind = "entropy-l"
    title = "entropy l-diversity"
    sentence = "Whatever group is seen, its values are as uncertain as {l} that are equally likely."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        seen = subject.y
        q = _seen_posteriors(subject)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropies = -np.where(q > 0, q * np.log(q), 0.0).sum(axis=0)
        near = seen[np.flatnonzero(entropies <= entropies.min() + NEAR)].tolist()
        twin = Rational.of(subject)
        kept: dict[tuple[Fraction, ...], int] = {}
        for j in near:
            kept.setdefault(tuple(sorted(_posterior(twin, j))), j)
        first = kept[min(kept, key=lambda law: (exact.correctly_rounded(_entropy(law)), kept[law]))]
        balls = [_entropy(law) for law in kept]
        value = min(exact.correctly_rounded(_exp(ball)) for ball in balls)
        outcome = subject.outcomes[first]
        text = f"Seeing {named(outcome)} leaves as much uncertainty as {reached(value)} equally likely values."
        cover = Fraction(0) if subject.exact else twin.cover * Fraction(2 + 2 * value)
        ball = partial(_least_of, [_exp(ball) for ball in balls])
        return (Level(value, ball, 0.0, Witness(outcome, adversary=text), lambda: cover, len(near)),)


@kind_of_guarantee
class RecursiveL(Guarantee):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m) of the posteriors of every outcome, falling.

    Examples
    --------
    >>> some = Joint(["3/6", "2/6", "1/6"], [[1], [1], [1]])
    >>> [RecursiveL(c, 2).holds_for(some).holds for c in (1, "1.01")]  # 3 < c (2 + 1)
    [False, True]
    """

    c: float | Fraction = parameter(converter=number)
    l: float | Fraction = parameter(converter=number)
    kind = "recursive-l"
    title = "recursive l-diversity"
    sentence = (
        "Whatever group is seen, its most frequent value has less than {c} times the share of all from the "
        "{l}th most frequent on."
    )
    index = ("l",)
    strict = True

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        tail = len(subject.secrets) if self.l == math.inf else math.ceil(self.l) - 1
        q = _seen_posteriors(subject)
        falling = -np.sort(-q, axis=0)
        rest = falling[tail:].sum(axis=0) if tail < len(falling) else np.zeros(q.shape[1])
        seen = subject.y
        lacking = np.flatnonzero((q > 0).sum(axis=0) <= tail)
        if len(lacking):
            outcome = subject.outcomes[int(seen[lacking[0]])]
            text = f"Seeing {named(outcome)} leaves fewer than {tail + 1} values."
            return (at.ratio_of(Ratio(math.inf), Witness(outcome, adversary=text)),)
        found, column = _most(subject, seen, falling[0] / rest, lambda twin, j: _recursion(_posterior(twin, j), tail))
        outcome = subject.outcomes[column]
        text = (
            f"Seeing {named(outcome)}, the most frequent value has {promised(found.ratio)} times the share of those "
            f"from place {tail + 1} on."
        )
        return (at.ratio_of(found, Witness(outcome, adversary=text)),)


@kind_of_guarantee
class TCloseness(Guarantee):
    """t-closeness with equal distances: total variation of posterior and prior at most t at every outcome.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [TCloseness(level).holds_for(flip).holds for level in ("0.24", "1/4")]
    [False, True]
    """

    distance: float | Fraction = parameter(converter=number)
    kind = "t"
    title = "t-closeness"
    sentence = "Whatever group is seen, no event becomes more than {distance} more, or less, likely than it was."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        p = exact.as_floats(subject.p[subject.prior.support])
        floats = np.maximum(_seen_posteriors(subject) - p[:, None], 0).sum(axis=0)
        found, column = _most(subject, subject.y, floats, _variation)
        outcome = subject.outcomes[column]
        text = f"Seeing {named(outcome)}, some event becomes {promised(found.ratio)} more likely than it was."
        return (at.ratio_of(found, Witness(outcome, adversary=text)),)


@kind_of_guarantee
class OrderedT(Guarantee):
    """t-closeness of ordered values: sum of |cumulative q - cumulative p| / (m - 1) at most t at every outcome.

    The order is that of the secrets that can occur, m of them; with a single one the distance is 0.

    Examples
    --------
    >>> ages = Joint(["1/3"] * 3, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> OrderedT("1/2").holds_for(ages).measured  # from the first value to the others: (2/3 + 1/3) / 2
    Fraction(1, 2)
    """

    distance: float | Fraction = parameter(converter=number)
    kind = "ordered-t"
    title = "t-closeness of ordered values"
    sentence = (
        "Whatever group is seen, its values lie at most {distance} of the whole range away from those of all, "
        "on average."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        p = exact.as_floats(subject.p[subject.prior.support])
        moved = np.cumsum(_seen_posteriors(subject) - p[:, None], axis=0)
        floats = np.abs(moved[:-1]).sum(axis=0) / max(len(p) - 1, 1)
        found, column = _most(subject, subject.y, floats, _ordered_distance)
        outcome = subject.outcomes[column]
        text = f"Seeing {named(outcome)}, the values have moved by {promised(found.ratio)} of the range."
        return (at.ratio_of(found, Witness(outcome, adversary=text)),)


@kind_of_guarantee
class BetaLikeness(Guarantee):
    """Basic beta-likeness: L_xy - 1 <= beta for all x and y, the lift less 1.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [BetaLikeness(level).holds_for(flip).holds for level in ("0.49", "1/2")]
    [False, True]
    """

    beta: float | Fraction = parameter(converter=number)
    kind = "beta"
    title = "beta-likeness"
    sentence = "Whatever group is seen, no value becomes more likely by more than {beta} times its share."

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        (level,) = Lift(1).levels(subject)
        return (_less_one(level),)


@kind_of_guarantee
class EnhancedBeta(Guarantee):
    """Enhanced beta-likeness: L_xy <= 1 + min(beta, -ln p_x) for all x and y; no beta is enough where L > 1 - ln p.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> EnhancedBeta("1/2").holds_for(flip).holds
    True
    >>> name = Joint(["1/2", "1/2"], [[1, 0], [0, 1]])
    >>> EnhancedBeta(100).holds_for(name).measured  # a lift of 2, above 1 + ln 2
    inf
    """

    beta: float | Fraction = parameter(converter=number)
    kind = "enhanced-beta"
    title = "enhanced beta-likeness"
    sentence = (
        "Whatever group is seen, no value becomes more likely by more than {beta} times its share, nor by more than "
        "its surprise, -ln p, times it."
    )

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        support = subject.x
        p = exact.as_floats(subject.p[support])
        seen = subject.y
        lifts = exact.as_floats(_dense(subject.c)[np.ix_(support, seen)]) / exact.as_floats(subject.outer[seen])
        room = (1 - np.log(p))[:, None] - lifts
        twin = Rational.of(subject)
        for i, j in np.argwhere(room <= NEAR * lifts).tolist():
            if room[i, j] < -NEAR * lifts[i, j] or not _unsurprising(twin, i, int(seen[j])):
                x, y = subject.secrets[int(support[i])], subject.outcomes[int(seen[j])]
                text = (
                    f"Seeing {named(y)}, {named(x)} becomes more likely by more than its surprise: no beta is enough."
                )
                return (Level(math.inf, None, 0.0, Witness(y, x, adversary=text)),)
        return BetaLikeness(0).levels(subject)


@kind_of_guarantee
class DeltaDisclosure(Guarantee):
    """delta-disclosure privacy: |i(x; y)| < epsilon for all x and y (nats), strictly; delta is epsilon here.

    Examples
    --------
    >>> flip = Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    >>> [DeltaDisclosure(level).holds_for(flip).holds for level in (0.69, 0.70)]  # log 2 = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    kind = "delta-disclosure"
    title = "delta-disclosure privacy"
    sentence = (
        "Whatever group is seen, every value becomes less than {exp_epsilon} times more, or less, likely than it was."
    )
    strict = True

    def levels(self, subject: Joint) -> tuple[Level, ...]:
        return LIP(0).levels(subject)


TABLES: tuple[type[Guarantee], ...] = (
    KAnonymity, DistinctL, EntropyL, RecursiveL, TCloseness, OrderedT, BetaLikeness, EnhancedBeta, DeltaDisclosure,
)  # fmt: skip
"""All kinds about tables."""


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _seen_posteriors(joint: Joint) -> np.ndarray:
    """Return the posteriors as doubles, over the secrets and the outcomes that can occur."""
    support, seen = joint.x, joint.y
    return exact.as_floats(joint.posteriors[np.ix_(support, seen)])


def _posterior(twin: Rational, j: int) -> list[Fraction]:
    column = twin.column(j)
    q = twin.outer(column)
    return [p * c / q for p, c in zip(twin.prior, column, strict=True)]


def _most(
    joint: Joint, seen: np.ndarray, floats: np.ndarray, of_column: Callable[[Rational, int], Fraction]
) -> tuple[Ratio, int]:
    """Return the largest number of an outcome, exactly of the rational mechanism, and the first outcome near it."""
    top = float(floats.max())
    near = seen[np.flatnonzero(floats >= top - NEAR * max(abs(top), 1.0))].tolist()
    twin = Rational.of(joint)
    if joint.exact:
        found = [of_column(twin, j) for j in near]
        best = max(found)
        return Ratio(best), near[found.index(best)]

    def exactly() -> tuple[Fraction, Fraction]:
        return max(of_column(twin, j) for j in near), twin.cover

    margin = at.rounding(*joint.channel.shape) * (2 + top)
    return Ratio(top, exactly, margin / top if top else margin, len(near) * len(twin.rows)), near[0]


def _largest(joint: Joint, floats: Any, of_column: Callable[[Rational, int], Fraction]) -> tuple[Ratio, int]:
    seen = joint.y
    return _most(joint, seen, exact.as_floats(_dense(floats)[:, seen]).max(axis=0), of_column)


def _variation(twin: Rational, j: int) -> Fraction:
    return exact.total(max(q - p, Fraction(0)) for q, p in zip(_posterior(twin, j), twin.prior, strict=True))


def _ordered_distance(twin: Rational, j: int) -> Fraction:
    moved, out = Fraction(0), Fraction(0)
    for q, p in zip(_posterior(twin, j), twin.prior, strict=True):
        moved += q - p
        out += abs(moved)
    return out / max(len(twin.prior) - 1, 1)


def _recursion(law: list[Fraction], tail: int) -> Fraction:
    falling = sorted(law, reverse=True)
    return falling[0] / sum(falling[tail:], start=Fraction(0))


def _unsurprising(twin: Rational, i: int, j: int) -> bool:
    """Say whether L - 1 <= -ln p, of the i-th secret that can occur."""
    column = twin.column(j)
    excess, p = column[i] / twin.outer(column) - 1, twin.prior[i]
    return exact.at_most(lambda: exact.arb(excess) + exact.arb(p).log(), 0)


def _entropy(law: tuple[Fraction, ...]) -> Callable[[], Any]:
    return lambda: -sum((exact.arb(q) * exact.arb(q).log() for q in law if q), start=exact.arb(0))


def _exp(ball: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: ball().exp()


def _least_of(balls: list[Callable[[], Any]]) -> Any:
    least = balls[0]()
    for ball in balls[1:]:
        least = least.min(ball())
    return least


def _less_one(level: Level) -> Level:
    """Return a level less 1."""
    ball = level.ball
    return Level(
        level.value - 1 if level.value != math.inf else math.inf, None if ball is None else lambda: ball() - 1,
        level.margin, level.witness, level.cover, level.work,
    )  # fmt: skip
