"""What a mechanism says of a protected variable when the joint it was made for is wrong."""

from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.convert import as_channel, as_prior
from divulge.model.entries import rational


def worst_lift(prior: Any, given: Any, channel: Any, radius: Any) -> Fraction | float:
    """Return the largest lift of S at an outcome over all laws P(x | s) within a total variation of those given.

    P(y | s) is the mean of C(y | x) under P(x | s): mass `radius` moves to where C is largest for one s, and to where
    it is least for all others. P(s) stays. A mean can move so for each s by itself, so that the bound is attained.

    Parameters
    ----------
    prior : Prior of X, shape (N,)
    given : Channel P(s | x), shape (N, S)
    channel : Channel C(y | x), shape (N, M)
    radius : number in [0, 1]
        Total variation, half the L1 distance, of each P(x | s).

    Returns
    -------
    Fraction
        Exact in the numbers that are given; inf where an outcome can be ruled out for all but one s of weight 0.

    Examples
    --------
    >>> from divulge import Channel
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> worst_lift(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], coin, 0)
    Fraction(5, 4)
    >>> worst_lift(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], coin, "1/4")
    Fraction(3, 2)
    """
    off = rational(str(radius))
    if not 0 <= off <= 1:
        raise DivulgeError.of("radius", "be in [0, 1]", "it", str(radius)[:40])
    p = exact.as_fractions(as_prior(prior).probabilities)
    both = (p[:, None] * exact.as_fractions(as_channel(given).matrix)).T
    mass = both.sum(axis=1)
    laws = [row / weight for row, weight in zip(both, mass, strict=True) if weight > 0]
    shares = [weight for weight in mass.tolist() if weight > 0]
    worst: Fraction | float = Fraction(0)
    for column in exact.as_fractions(as_channel(channel).matrix).T:
        if not (column > 0).any():
            continue
        low, high = zip(*(_moved(law, column, off) for law in laws), strict=True)
        least = sum(w * v for w, v in zip(shares, low, strict=True))
        for weight, down, up in zip(shares, low, high, strict=True):
            if up:
                worst = max(worst, up / (least + weight * (up - down)))
    return worst


def _moved(law: np.ndarray, values: np.ndarray, off: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least and the largest mean of values under laws within a total variation."""

    def least(sign: int) -> Fraction:
        order = sorted(range(len(law)), key=lambda x: sign * values[x])
        mean, left = sum((a * b for a, b in zip(law.tolist(), values.tolist(), strict=True)), Fraction(0)), off
        for x in reversed(order):  # mass leaves the largest values first
            taken = min(left, law[x])
            mean -= taken * (values[x] - values[order[0]])
            left -= taken
        return mean

    return least(1), least(-1)
