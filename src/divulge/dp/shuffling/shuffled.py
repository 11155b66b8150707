"""Local reports of many people that a trusted party shuffles: whose report is whose is not told."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np

from divulge.dp.knowledge import Known
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.mechanisms import Mechanism, RandomizedResponse
from divulge.dp.shuffling.hiding import Hiding, is_number
from divulge.dp.shuffling.law import ShuffledLaw, window
from divulge.dp.subjects import as_subject
from divulge.exact import as_floats
from divulge.model.accepted import ChannelLike
from divulge.model.arraylike import Number
from divulge.model.channel import Channel
from divulge.model.entries import whole_number

_MOST_PEOPLE = 10**10
"""People who are counted; a window of so many has some million numbers."""

_LUMPS = 4096
"""Outcomes of an attack that are told apart; to merge some is on the safe side."""

_PAIR = ("D", "D'")


@dataclass(frozen=True)
class Shuffled(Mechanism):
    """The shuffled reports of `n` people, each made by the local mechanism `local`; one person's secret is replaced.

    `local` is an epsilon (any mechanism that is epsilon-DP locally, the same or another for each person),
    `RandomizedResponse`, any finite channel, or a mechanism with a largest loss, which counts by it. It holds only if
    the shuffler is trusted to forget who sent what, and if everybody takes part and reports as told: it is (epsilon,
    delta)-DP of the central model, and against the shuffler the local epsilon is all there is. What is answered are
    bounds from above, whatever the others hold; from below those of an attacker who knows all others and counts some
    reports, but for an epsilon alone, of which nothing is known from below.

    References
    ----------
    Feldman, McMillan, Talwar, arXiv:2012.12803 and arXiv:2208.04591; Balle, Bell, Gascon, Nissim, arXiv:1903.02837;
    Wang, Liu et al., arXiv:2304.05007 (`dp.shuffling.hiding` says what is other here, and why).

    Examples
    --------
    >>> (loss,) = Shuffled(4.0, 100_000).losses()
    >>> round(loss.epsilon(1e-6), 4), loss.highest  # of a local epsilon of 4
    (0.1182, 4.0)
    """

    local: Number | ChannelLike
    n: int

    def __post_init__(self) -> None:
        whole_number(self.n, "n", 1, _MOST_PEOPLE)
        Hiding.of(self.local)

    def losses(self) -> tuple[PrivacyLoss, ...]:
        hiding, n = Hiding.of(self.local), int(self.n)
        found = _loss(hiding, n)
        if is_number(self.local):
            return (replace(found, known=Known.PROMISE, below=False, stated=Fraction(cast(Any, self.local))),)
        attack = _attack(self.local)
        return (replace(found, below=False if attack is None else _counted(*attack, n)),)


@lru_cache(maxsize=32)
def _loss(hiding: Hiding, n: int) -> AtomicLoss:
    """Return the loss of a pair that dominates the shuffled reports, in both orders."""
    if hiding.epsilon == 0:
        return AtomicLoss(np.zeros(1), np.ones(1), np.ones(1), pair=_PAIR, rate=0.0, known=Known.DOMINATING)
    losses, p, q = ShuffledLaw(hiding, n).atoms
    rest = max(0.0, 1.0 - math.fsum(p.tolist()) - math.fsum(q.tolist()))
    both = np.concatenate([q[::-1], [rest], p])
    places = np.concatenate([-losses[::-1], [0.0], losses])
    rate = hiding.epsilon**2 / 2 * (1 + 1e-15)
    return AtomicLoss(places, both, both[::-1], pair=_PAIR, rate=rate, known=Known.DOMINATING)


def _attack(local: Any) -> tuple[float, float, float] | None:
    """Return how often a report is counted: of the one person with either secret, and of each other person."""
    if isinstance(local, RandomizedResponse):
        share = 1 / (math.exp(local.epsilon) + local.categories - 1)
        return math.exp(local.epsilon) * share, share, share
    subject = as_subject(local)
    if not isinstance(subject, Channel):
        return None
    rows = as_floats(subject.matrix.toarray() if subject.sparse else subject.matrix)
    best, found = 0.0, None
    for i, first in enumerate(rows):
        for second in rows[:i]:
            counted = first > second
            of = rows[:, counted].sum(axis=1)
            spread = of * (1 - of)
            k = int(np.argmin(spread))
            gained = float((of[i] - second[counted].sum()) ** 2 / max(spread[k], 1e-300))
            if gained > best:
                best, found = gained, (float(of[i]), float(second[counted].sum()), float(of[k]))
    return found


def _counted(first: float, second: float, other: float, n: int) -> PrivacyLoss:
    """Return the loss of the number of counted reports where all others hold one and the same secret."""
    _, shares = window(n - 1, other)
    stay, move = np.append(shares, 0.0), np.append(0.0, shares)
    width = -(-len(stay) // _LUMPS)
    starts = np.arange(0, len(stay), width)
    p, q = (np.add.reduceat((1 - rate) * stay + rate * move, starts) for rate in (first, second))
    return AtomicLoss.of_rows(p / p.sum(), q / q.sum(), _PAIR)
