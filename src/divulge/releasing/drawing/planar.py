"""Planar geometric noise on the whole lattice, P(z) ~ e^(-a |z|), drawn exactly: no rounding takes part in the law.

Two discrete Laplace draws with a rational rate are proposed and kept with the probability that makes up for the
difference. A uniform number decides, read bit by bit: the first 64 bits in doubles where these are certain, else all
that are needed against balls that enclose the probability.
"""

import math
from fractions import Fraction

import numpy as np

from divulge import exact
from divulge.releasing.drawing.chance import WORD, Chance

UNITS = 1 << 40
"""Denominator of the rate of the proposal: within a thousandth of a / sqrt 2 from a = 1e-9 on."""

_STEEPEST = 1 << 20
"""Proposals are no steeper: e to minus this is 0 to all bits that are ever read, and products fit into 64 bits."""

_ERROR = 2.0**-48
"""What e^-x in doubles may be off by, over 1 + a |z|: six roundings of 2^-53 in x, four in the exponential, doubled."""


def planar_geometric_draws(a: Fraction, count: int, chance: Chance | None = None) -> np.ndarray:
    """Return exact draws of z in Z^2 with P(z) = e^(-a |z|) / sum over the lattice, int64 of shape (count, 2).

    With s <= a / sqrt 2 rational, a |z| >= s (|z_1| + |z_2|): what is proposed with e^(-s (|z_1| + |z_2|)) is kept
    with e^(-(a |z| - s (|z_1| + |z_2|))). About 3 of 4 are kept.

    >>> planar_geometric_draws(Fraction(100), 2).tolist()  # e^-100
    [[0, 0], [0, 0]]
    """
    chance = chance or Chance()
    rate = proposal_rate(a)
    out = np.empty((count, 2), dtype=np.int64)
    done = 0
    while done < count:
        tries = (count - done) * 3 // 2 + 8
        z = discrete_laplace(rate, 2 * tries, chance).reshape(tries, 2)
        z = z[kept(a, rate, z, chance)][: count - done]
        out[done : done + len(z)] = z
        done += len(z)
    return out


def proposal_rate(a: Fraction) -> Fraction:
    """Return a rational at most a / sqrt 2, and near it: the whole part of a 2^40 / sqrt 2, over 2^40.

    >>> round(float(proposal_rate(Fraction(1))), 9)
    0.707106781
    """
    return min(Fraction(math.isqrt(math.floor(a * a * UNITS * UNITS / 2)), UNITS), Fraction(_STEEPEST))


def discrete_laplace(rate: Fraction, count: int, chance: Chance) -> np.ndarray:
    """Return exact draws of k in Z with P(k) ~ e^(-rate |k|), int64; Canonne, Kamath, Steinke 2020, algorithm 2.

    With rate = s / t: u + t v, u < t, has the law e^(-x / t), so that its whole s-th part has e^(-rate k). A sign is
    drawn, and -0 is drawn anew.

    >>> discrete_laplace(Fraction(100), 3, Chance()).tolist()
    [0, 0, 0]
    """
    s, t = rate.numerator, rate.denominator
    out = np.empty(count, dtype=np.int64)
    left = np.arange(count)
    while len(left):
        u = chance.uniform(t, len(left))
        fine = exponential_coins(u, t, chance)
        where, u = left[fine], u[fine]
        size = (u + t * _whole_exponential(len(u), chance)) // s
        minus = chance.bernoulli(Fraction(1, 2), len(size))
        good = ~(minus & (size == 0))
        out[where[good]] = np.where(minus, -size, size)[good]
        left = np.concatenate([left[~fine], where[~good]])
    return out


def exponential_coins(numerators: np.ndarray, denominator: int, chance: Chance) -> np.ndarray:
    """Return coins that are True with probability e^-x, x = numerators / denominator in [0, 1], exactly.

    The number of coins of x / 1, x / 2, x / 3, ... that come up before the first that does not is even with
    probability 1 - x + x^2 / 2 - ... = e^-x (von Neumann).
    """
    heads = np.zeros(len(numerators), dtype=np.int64)
    going = np.arange(len(numerators))
    k = 1
    while len(going):
        going = going[chance.uniform(denominator * k, len(going)) < numerators[going]]
        heads[going] += 1
        k += 1
    return heads % 2 == 0


def _whole_exponential(count: int, chance: Chance) -> np.ndarray:
    """Return how many coins of e^-1 come up before the first that does not."""
    out = np.zeros(count, dtype=np.int64)
    going = np.arange(count)
    while len(going):
        going = going[exponential_coins(np.ones(len(going), dtype=np.int64), 1, chance)]
        out[going] += 1
    return out


def kept(a: Fraction, rate: Fraction, z: np.ndarray, chance: Chance) -> np.ndarray:
    """Return coins that are True with probability e^-x, x = a |z| - rate (|z_1| + |z_2|) >= 0, exactly."""
    words = chance.words(len(z))
    away = float(a) * np.hypot(*z.T)
    with np.errstate(under="ignore"):
        certain = np.exp(-(away - float(rate) * np.abs(z).sum(axis=1)))
    gap = words * (1 / WORD) - certain
    found = gap < 0
    for i in np.flatnonzero(np.abs(gap) <= _ERROR * (1 + away)).tolist():
        found[i] = _below(a, rate, (int(z[i, 0]), int(z[i, 1])), int(words[i]), chance)
    return found


def _below(a: Fraction, rate: Fraction, z: tuple[int, int], word: int, chance: Chance) -> bool:
    """Say whether the uniform number that begins with this word is below e^-x, reading as many words as that takes."""
    import flint

    bits = 64
    while True:
        with flint.ctx.workprec(2 * bits):
            away = exact.arb(a) * flint.arb(z[0] ** 2 + z[1] ** 2).sqrt()
            chances = (exact.arb(rate * (abs(z[0]) + abs(z[1]))) - away).exp() * flint.arb(2) ** bits
            if chances >= word + 1:
                return True
            if chances <= word:
                return False
        word, bits = word * WORD + int(chance.words(1)[0]), bits + 64
