"""Bands around error rates that hold at every threshold at once: equal local levels (Berk and Jones), exactly."""

import math
from functools import lru_cache

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require

MOST_SCORES = 1_000_000
"""Scores of one side for which the level of a band is computed: some seconds."""

_EVERY_RANK = 1_000
"""Up to so many scores the band is held at every rank; beyond, at ranks half a standard deviation apart."""

_DEVIATIONS, _FEW = 9.5, 40
"""States further from the mean than so many standard deviations, and so many beside, count as crossings: each has a
probability below 1e-18."""

_DIRECT = 200_000
"""Products of two lengths up to which a convolution is summed term by term; beyond, by FFT."""

_ROUNDING = 1e-10
"""More than the probability of no crossing is off, by rounding and by FFT."""


def upper_band(hits: np.ndarray, trials: int, risk: float) -> np.ndarray:
    r"""Return upper bounds on P(score > t) at every threshold t at once, from how many of `trials` scores exceed t.

    At k hits it is the Clopper-Pearson bound at a local level that is the same for all k, and such that the whole band
    covers with probability 1 - risk: U_(k) <= B^-1(1 - level; k, n - k + 1) for all k, U_(k) the k-th of n uniform
    numbers.

    Source: Berk, Jones, "Goodness-of-fit test statistics that dominate the Kolmogorov statistics", 1979; Moscovich,
    Nadler, Spiegelman, "On the exact Berk-Jones statistics and their p-value calculation", arXiv:1311.3190.

    >>> round(float(upper_band(np.array([0]), 100, 0.05)[0]), 4)  # Dvoretzky, Kiefer, Wolfowitz, Massart: 0.1224
    0.0583
    """
    ranks = _ranks(trials)
    ends = _ends(ranks, trials, local_level(trials, risk))  # of few ranks, however many thresholds
    return np.where(hits < trials, ends[np.searchsorted(ranks, np.minimum(hits + 1, trials))], 1.0)


def lower_band(hits: np.ndarray, trials: int, risk: float) -> np.ndarray:
    """Return lower bounds on P(score > t) at every threshold t at once: those of the misses, seen from above.

    >>> round(float(lower_band(np.array([100]), 100, 0.05)[0]), 4)
    0.9417
    """
    return 1.0 - upper_band(trials - hits, trials, risk)


@lru_cache(maxsize=64)
def local_level(trials: int, risk: float) -> float:
    """Return the risk of each single bound at which the band as a whole has the risk that is asked for, from below.

    >>> round(local_level(50, 0.05), 10), round(local_level(100, 0.05), 10)
    (0.003287401, 0.0024609349)
    """
    if trials > MOST_SCORES:
        raise DivulgeError.of(
            "scores", f"be at most {MOST_SCORES:,} of members and of others", "their number", f"{trials:,}",
            "draw so many at random, or fix the threshold beforehand (cut=).",
        )  # fmt: skip
    ranks = _ranks(trials)

    def excess(log_level: float) -> float:
        """Return by what the risk of the band is too large, as a logarithm: nearly linear, and soon at its root."""
        kept = no_crossing(trials, ranks, _ends(ranks, trials, math.exp(log_level)))
        return math.log((1.0 + _ROUNDING - kept) / risk)

    if len(ranks) == 1:
        return risk
    low = math.log(risk / len(ranks)) - 1e-9  # Bonferroni
    found = float(require("scipy.optimize", "science").brentq(excess, low, math.log(risk), xtol=_ROUNDING))
    while excess(found) > 0 and found > low:
        found -= _ROUNDING
    return math.exp(max(found, low))


def no_crossing(trials: int, ranks: np.ndarray, ends: np.ndarray) -> float:
    """Return the probability that at least ranks[i] of so many uniform numbers lie below ends[i], for all i.

    A Poisson process of rate n, given that it has n points: between two ends the count grows by a Poisson number, and
    states with too few points are dropped.

    >>> round(no_crossing(2, np.array([1, 2]), np.array([0.5, 1.0])), 12)  # the smaller of two is below one half
    0.75
    """
    mass, first, before = np.ones(1), 0, 0.0
    for rank, end in zip(ranks.tolist(), ends.tolist(), strict=True):
        kernel, start = _poisson(trials * (end - before))
        mass, first, before = _convolved(mass, kernel), first + start, end
        most = trials * end + _DEVIATIONS * math.sqrt(trials * end * (1 - end)) + _FEW
        last = min(trials, math.ceil(most))
        drop = max(rank - first, 0)
        mass, first = mass[drop : max(last - first + 1, drop)], first + drop
        if not len(mass):
            return 0.0
    left = trials - np.arange(first, first + len(mass))
    special, rate = require("scipy.special", "science"), trials * (1 - before)
    rest = np.exp(special.xlogy(left, rate) - rate - special.gammaln(left + 1))
    alone = math.exp(trials * math.log(trials) - trials - math.lgamma(trials + 1))
    return float(mass @ rest) / alone


def _ranks(trials: int) -> np.ndarray:
    """Return the ranks at which a band is held: every one, or such as are half a standard deviation apart."""
    if trials <= _EVERY_RANK:
        return np.arange(1, trials + 1)
    found, rank = [1], 1
    while rank < trials:
        rank += max(1, math.isqrt(min(rank, trials - rank)) // 2)
        found.append(min(rank, trials))
    return np.array(found)


def _ends(ranks: np.ndarray, trials: int, level: float) -> np.ndarray:
    """Return what the number of each rank exceeds with probability `level`."""
    return require("scipy.special", "science").betainccinv(ranks, trials - ranks + 1, level)


def _poisson(rate: float) -> tuple[np.ndarray, int]:
    """Return Poisson probabilities where they count, and of which number the first one is."""
    reach = _DEVIATIONS * math.sqrt(rate)
    first, last = max(0, math.floor(rate - reach)), math.ceil(rate + reach + _FEW)
    k, special = np.arange(first, last + 1), require("scipy.special", "science")
    return np.exp(special.xlogy(k, rate) - rate - special.gammaln(k + 1)), first


def _convolved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if len(a) * len(b) <= _DIRECT:
        return np.convolve(a, b)
    return np.maximum(require("scipy.signal", "science").fftconvolve(a, b), 0.0)
