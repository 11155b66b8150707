"""Confidence intervals for shares of rows and for means of bounded numbers: for any number of rows, or asymptotic."""

import math
from collections.abc import Callable

import numpy as np

from divulge.extras import require
from divulge.roots import enclosed

Interval = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends."""

_SAME = 1e-12
"""Weights that differ by less than this share of their range are one: the inverse of a channel is rounded."""

_PER_OCTAVE = 1
"""Stakes that are mixed, for each factor of 2 between the smallest and the largest that may be best."""

_MOST_STAKED = 0.9
"""The largest share of wealth that is staked on one row: who stakes all may lose all."""

_FALSE_ALARM = 1e-3
"""How often rows that do come from the mechanism may be said not to: far below what one minus a confidence is."""

_LEAST_LOG = -600.0
"""The log of a mean that is not told from 0."""


def clopper_pearson(successes: np.ndarray, trials: np.ndarray, risk: float) -> Interval:
    """Return the exact two-sided bounds on a probability; each side misses with probability at most risk / 2.

    They hold as well for the mean probability of independent trials with different ones, whose tails are lighter than
    the binomial ones (Hoeffding, 1956, Theorem 4) but for a single success, or a single failure: there Markov's
    inequality stands for the binomial tail.

    Source: Hoeffding, "On the distribution of the number of successes in independent trials", 1956.

    >>> low, high = clopper_pearson(np.array([0]), np.array([10]), 0.05)
    >>> float(low[0]), round(float(high[0]), 4)  # 1 - (0.025)^(1/10)
    (0.0, 0.3085)
    """
    special = require("scipy.special", "science")  # the quantiles of scipy.stats.beta, which takes a second to import
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.where(successes > 0, special.betaincinv(successes, trials - successes + 1, risk / 2), 0.0)
        high = np.where(successes < trials, special.betainccinv(successes + 1, trials - successes, risk / 2), 1.0)
        low = np.where(successes == 1, np.minimum(low, risk / 2 / trials), low)
        high = np.where(trials - successes == 1, np.maximum(high, 1 - risk / 2 / trials), high)
    return low, high


def finite_sample(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, risk: float) -> Interval:
    """Return intervals that hold for any number of rows, for the values of these rows as well as for a population.

    The estimate of a frequency is the mean of B[Y, x] over independent rows. Where B[., x] takes two values, it is the
    share of rows with some outcomes, and Clopper and Pearson bound that. Where it takes more, see `by_betting`.
    """
    low, high = inverse.min(axis=0), inverse.max(axis=0)
    spreads = high - low
    differ = np.flatnonzero(spreads > _SAME * np.maximum(np.abs(low), np.abs(high)))  # elsewhere all rows say the same
    numbers = (inverse[:, differ] - low[differ]) / spreads[differ]
    top = numbers >= 1 - _SAME
    two = (top | (numbers <= _SAME)).all(axis=0)
    first, last = np.empty((2, len(differ)))
    first[two], last[two] = clopper_pearson(counts @ top[:, two], counts.sum(), risk)
    many = numbers[:, ~two]
    for at, column, *variance in zip(np.flatnonzero(~two).tolist(), many.T, *variances(matrix, many), strict=True):
        first[at], last[at] = by_betting(counts, column, risk, (variance[0], variance[1]))
    low[differ], high[differ] = (
        low[differ] + spreads[differ] * (first - _SAME), low[differ] + spreads[differ] * (last + _SAME)
    )  # fmt: skip
    return low, high


def variances(matrix: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds on the variance of each column of numbers[Y], whatever the frequencies of the secrets are.

    It is concave in them, so least for one secret alone; and at most the mean square around the middle of the means.
    """
    means, squares = matrix @ numbers, matrix @ numbers**2
    middle = (means.min(axis=0) + means.max(axis=0)) / 2
    return (squares - means**2).min(axis=0), (squares - 2 * middle * means + middle**2).max(axis=0)


def by_betting(
    counts: np.ndarray, numbers: np.ndarray, risk: float, variance: tuple[float, float] = (0.0, 0.25)
) -> tuple[float, float]:
    """Return bounds on the mean of independent numbers in [0, 1]; each side misses with probability at most risk / 2.

    If the mean is m, who stakes a share c on every number has wealth prod_i (1 - c + c X_i / m), with expectation at
    most 1, and so has the mean wealth over some stakes; by Markov's inequality it exceeds 2 / risk with probability
    risk / 2 at most. It falls with m, and the smallest m that it does not refute is the bound. The wealth depends on
    counts only, not on the order of rows; numbers need not have the same distribution, as a geometric mean is at most
    the arithmetic one. `variance`, between which the variance lies, tells which stakes may be good ones; the bounds
    hold whether it is right or not.

    Source: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", arXiv:2010.09686.

    >>> low, high = by_betting(np.array([50, 50]), np.array([0.0, 1.0]), 0.05)
    >>> low < 0.4 < 0.6 < high
    True
    """
    stakes = _stakes(int(counts.sum()), risk, variance)
    return _betting_below(counts, numbers, risk, stakes), 1 - _betting_below(counts, 1 - numbers, risk, stakes)


def _stakes(n: int, risk: float, variance: tuple[float, float]) -> np.ndarray:
    """Return stakes c / m: sqrt(2 log(2 / risk) / n V) is the best for variance V, each good within a factor of 2."""
    unit = 2 * math.log(2 / risk) / n
    first, last = (math.sqrt(unit / max(v, unit / n**2)) for v in (variance[1], variance[0]))
    steps = math.ceil(_PER_OCTAVE * math.log2(last / first))
    return first * (last / first) ** (np.arange(steps + 1)[:, None] / max(steps, 1))


def _betting_below(counts: np.ndarray, numbers: np.ndarray, risk: float, stakes: np.ndarray) -> float:
    """Return the smallest mean that a mixture of stakes does not refute."""
    seen = counts > 0
    counts, numbers = counts[seen], numbers[seen]
    mean = float(counts @ numbers) / int(counts.sum())
    if not mean > 0:
        return 0.0
    enough = math.log(2 / risk) + math.log(len(stakes))

    def excess(log_m: float) -> float:
        m = math.exp(log_m)
        wealth = np.log1p(np.minimum(stakes * m, _MOST_STAKED) * (numbers / m - 1)) @ counts
        top = float(wealth.max())
        return top + math.log(float(np.exp(wealth - top).sum())) - enough

    last = math.log(mean)
    first = last - 1.0
    while excess(first) < 0:  # ends: numbers / m grow without bound
        if first < _LEAST_LOG:
            return 0.0
        first -= 2.0
    refuted, _ = enclosed(excess, first, last, 1e-12)
    return math.exp(refuted - 1e-11)


def _variance(counts: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    q = counts / counts.sum()
    return np.maximum(q @ inverse**2 - (q @ inverse) ** 2, 0.0)


def _around(counts: np.ndarray, inverse: np.ndarray, radius: np.ndarray | float) -> Interval:
    estimate = counts / counts.sum() @ inverse
    return estimate - radius, estimate + radius


def bernstein(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, risk: float) -> Interval:
    """Return estimate -+ sqrt(2 V log(4/risk) / n) + 7 R log(4/risk) / 3(n - 1), R the range of a term, for any n > 1.

    Source: Maurer, Pontil, "Empirical Bernstein bounds and sample variance penalization", Theorem 4, arXiv:0907.3740.
    """
    n = int(counts.sum())
    if n < 2:
        return _around(counts, inverse, math.inf)
    spread, log_term = np.ptp(inverse, axis=0), math.log(4 / risk)
    variance = _variance(counts, inverse) * n / (n - 1)
    return _around(counts, inverse, np.sqrt(2 * variance * log_term / n) + 7 * spread * log_term / (3 * (n - 1)))


def normal(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, risk: float) -> Interval:
    """Return estimate -+ z sqrt(V/n): asymptotic, as few rows or rare values are not normal.

    As Agresti and Coull do for one proportion, z^2 rows spread over all outcomes are added for the variance V alone, so
    that few rows with the same outcome do not pass for certainty.

    Source: Agresti, Coull, "Approximate is better than exact for interval estimation of binomial proportions", 1998.
    """
    z = -float(require("scipy.special", "science").ndtri(risk / 2))
    variance = _variance(counts + z * z / len(counts), inverse)
    return _around(counts, inverse, z * np.sqrt(variance / counts.sum()))


def clustered(matrix: np.ndarray, inverse: np.ndarray, rows: int, squares: int, risk: float) -> np.ndarray:
    """Return how far estimates are off where rows share draws: k rows of a person show one, and k^2 adds up to squares.

    The estimate is a sum over independent draws, each of which moves it by at most k/n times the range R of a column
    of the inverse: R sqrt(log(2 / risk) squares / 2) / n, for any answers.

    Source: Hoeffding, "Probability inequalities for sums of bounded random variables", Theorem 2, 1963.

    >>> clustered(np.eye(2), np.eye(2), 100, 100, 0.05).round(3).tolist()  # 100 people of one row
    [0.136, 0.136]
    """
    spread = np.ptp(inverse, axis=0)
    return spread * math.sqrt(math.log(2 / risk) * squares / 2) / rows


def of_sample(low: np.ndarray, high: np.ndarray, sample: int, risk: float) -> Interval:
    """Return bounds on the shares of values among all people, from bounds among a random sample of them.

    A share f among all and g in a sample of s without replacement differ such that s KL(g || f) exceeds log(2 / (risk
    f)) on a side with probability at most risk f / 2 (Hoeffding, 1963, Theorems 1 and 4). The shares of different
    values add up to 1, so that all hold at once but for `risk`, however many values there are, and whichever of them
    are asked about in the light of the reports of all others.

    Source: Hoeffding, "Probability inequalities for sums of bounded random variables", 1963.

    >>> low, high = of_sample(np.array([0.1, 0.0]), np.array([0.1, 0.0]), 1000, 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.07, 0.0], [0.135, 0.008])
    """

    def unlikely_at(share: np.ndarray, seen: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(seen > 0, seen * np.log(seen / share), 0.0)
            other = np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - share)), 0.0)
            return sample * (one + other) > np.log(2 / (risk * share))

    low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    ends = [np.zeros_like(low), low.copy(), high.copy(), np.ones_like(high)]
    for _ in range(_HALVED):
        middle = (ends[0] + ends[1]) / 2
        out = unlikely_at(middle, low)  # one end of (0, low) is unlikely, if low is more than one of the sample
        ends[0], ends[1] = np.where(out, middle, ends[0]), np.where(out, ends[1], middle)
        middle = (ends[2] + ends[3]) / 2
        out = unlikely_at(middle, high)
        ends[2], ends[3] = np.where(out, ends[2], middle), np.where(out, middle, ends[3])
    return np.where(sample * low > 1, ends[0], 0.0), ends[3]


_HALVED = 60
"""Steps of a bisection between 0 and 1, to the last digits."""


def within_simplex(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return the intervals cut by what frequencies are: at least 0, and 1 in all; NaN when none are within them all.

    They hold when all of these do. None are left with the risk that was accepted, or where the rows come from another
    mechanism.
    """
    low, high = within_one(low, high)
    slack = 1e-15 * len(low)
    least = np.maximum(low, 1 - (high.sum() - high) - slack)
    most = np.minimum(high, 1 - (low.sum() - low) + slack)
    if (least <= most).all():
        return least, most
    return np.full_like(low, math.nan), np.full_like(low, math.nan)


def within_one(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return each interval cut to [0, 1]; NaN where nothing of it lies there."""
    outside = (low > 1) | (high < 0)
    return np.where(outside, math.nan, np.clip(low, 0.0, 1.0)), np.where(outside, math.nan, np.clip(high, 0.0, 1.0))


def unlikely(counts: np.ndarray, matrix: np.ndarray) -> bool:
    """Return whether an outcome came up more often, or less, than it does under any value: see `_FALSE_ALARM`."""
    n = np.full(len(counts), counts.sum())
    low, high = clopper_pearson(counts, n, _FALSE_ALARM / len(counts))
    return bool(((low > matrix.max(axis=0)) | (high < matrix.min(axis=0))).any())


INTERVALS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, float], Interval]] = {
    "exact": finite_sample,
    "bernstein": bernstein,
    "normal": normal,
}
"""Name -> intervals, from (counts, channel matrix, its right inverse, risk of missing each)."""

ASYMPTOTIC = ("normal",)
"""Intervals that hold for many rows only."""
