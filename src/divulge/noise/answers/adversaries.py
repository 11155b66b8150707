"""The adversaries who attain pml(y) and pmc(y), made explicit: what they bet on, and how often they are right."""

import math
from dataclasses import dataclass

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.shown import Shown
from divulge.noise.answers.guesses import Density, before_and_after
from divulge.noise.answers.ranges import leakage
from divulge.noise.laws.choice import Subject
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.law import Side

_HALVINGS = 200
"""Sets that are tried: halved so often one is 1e-60 of the range of the secret; outward they reach ten widths."""
_MOST_SYMBOLS = 1000
"""Symbols of the function at most, a readable number: more are needed from a probability of 0.999 on alone."""
_INFINITE = 10.0
"""Leakage in nats that a bet shall reach where there is no bound to it."""


@dataclass(frozen=True)
class Bet(Shown):
    """An adversary who bets on, or against, the event that the record lies in [low, high].

    Attributes
    ----------
    side : "pml", on the event, with a gain of 1 / `before` for being right; "pmc", against it, with a cost of 1
    low, high : the event; one value where low = high
    before, after : its probability before and after the outcome
    symbols : against it they guess a randomized function of the record: records in the event become one of so many
        symbols, evenly, all others one symbol more. That last symbol is what they say before and after

    Examples
    --------
    >>> bet = Bet("pml", 1.0, 1.0, 0.25, 0.5)
    >>> bet.words
    'bets on the record being 1: probability 0.25 before the outcome, 0.5 after it'
    >>> round(bet.leakage, 6)  # log 2
    0.693147
    """

    side: Side
    low: float
    high: float
    before: float
    after: float
    symbols: int = 1

    @property
    def leakage(self) -> float:
        """Return log(after / before) of a bet on the event, log(before / after) of one against it; in nats."""
        over, under = (self.after, self.before) if self.side == "pml" else (self.before, self.after)
        return 0.0 if over == under else math.inf if under == 0 else math.log(over / under)

    @property
    def words(self) -> str:
        """Return the bet as a sentence."""
        event = f"being {self.low:g}" if self.low == self.high else f"lying in [{self.low:g}, {self.high:g}]"
        odds = f"probability {self.before:.3g} before the outcome, {self.after:.3g} after it"
        return f"bets {'on' if self.side == 'pml' else 'against'} the record {event}: {odds}"


def adversary(mechanism: Subject, y: float, side: Side, within: float) -> Bet:
    """Return a bet whose leakage is pml(y) or pmc(y): exactly for finitely many values, else less by `within` at most.

    With a density the event is an interval at the best or worst record, on which f(y | x) hardly changes.
    """
    if not within > 0:
        raise DivulgeError.of("within", "be positive", "it", repr(within))
    law, point = mechanism.law, mechanism.points(y)
    if isinstance(law, FiniteLaw):
        given = law.log_given(point)[0]
        i = int(given.argmax() if side == "pml" else given.argmin())
        assert law.secret.probabilities is not None
        p = float(law.secret.probabilities[i])
        leak = float(leakage(law, side, point)[0])
        after = p * math.exp(leak if side == "pml" else -leak)
        value = float(law.values[i])
        return Bet(side, value, value, p, after, _symbols(side, p))
    prior, posterior = before_and_after(mechanism, y)
    assert isinstance(prior, Density)
    assert isinstance(posterior, Density)
    best = float((law.log_best(point) if side == "pml" else law.log_worst(point))[1][0])
    wanted = float(leakage(law, side, point)[0])
    wanted = _INFINITE if math.isinf(wanted) else wanted - within
    low, high = mechanism.secret.low, mechanism.secret.high
    bet = Bet(side, low, high, 1.0, 1.0)
    far = math.isinf(best)
    width = max(abs(posterior.edges[0]), abs(posterior.edges[-1]), 1.0) if far else high - low
    width = width if math.isfinite(width) else posterior.edges[-1] - posterior.edges[0]
    for step in range(_HALVINGS):
        if far:  # ever farther out
            reach = width * (0.01 + 0.05 * step)
            first, last = (reach, math.inf) if best > 0 else (-math.inf, -reach)
        else:
            size = width / 2.0**step
            first, last = max(low, best - size), min(high, best + size)
        before, after = prior.mass(first, last), posterior.mass(first, last)
        if not before > 0:
            break
        bet = Bet(side, float(first), float(last), before, after, _symbols(side, before))
        if bet.leakage >= wanted:
            return bet
    return bet


def _symbols(side: Side, p: float) -> int:
    """Return the smallest k with k (1 - p) >= p, at most 1000."""
    return 1 if side == "pml" else int(min(_MOST_SYMBOLS, max(1, np.ceil(p / (1 - p) if p < 1 else math.inf))))
