"""Bounds from above on the leakage after every post-processing of the outcome, whatever the record.

For L = e^pml(Y) and a merged outcome z, e^pml(z) <= E[L | z]: the worst over x of a mean is at most the mean of the
worst. Merged outcomes with e^pml(z) >= e^t thus have, in all, a mean L of at least e^t, and for every v < t

    P(pml(Z) >= t) <= E max(0, L - e^v) / (e^t - e^v),

the multiplier of which is 1 / (e^t - e^v). E L = int sup_x f(y | x) dy is finite where the record is bounded.
"""

import math
from collections.abc import Callable

import numpy as np

from divulge.noise.answers.outcomes import Estimate, mean, points
from divulge.noise.answers.ranges import leakage
from divulge.noise.answers.tails import Bounded, quantile, tail

_TRIED, _MISSED = 64, 1e-12
"""How many v are tried on a grid before the best is integrated, and more than the outcomes out of reach add."""


def envelope_bracket(mechanism: Bounded, threshold: float) -> Estimate:
    """Return the envelope between the raw tail and the bound from above."""
    if threshold == 0:
        return Estimate(1.0, 0.0, True)
    if mechanism.law.has_poles:  # the mean has no bound
        below = tail(mechanism, threshold, "pml").lower
        return Estimate((below + 1) / 2, (1 - below) / 2)
    top = math.exp(min(threshold, 700.0))
    v, excess = _best(mechanism, lambda v, excess: excess / (top - np.exp(v)), threshold)
    below = tail(mechanism, threshold, "pml")
    high = min(1.0, excess / (top - math.exp(v)) if v < threshold else 1.0)
    low = min(below.lower, high)
    return Estimate((low + high) / 2, (high - low) / 2 + 4e-16)


def threshold_bracket(mechanism: Bounded, delta: float) -> Estimate:
    """Return a threshold that surely keeps delta, and how much more than the raw quantile it is."""
    if mechanism.law.has_poles:
        return Estimate(math.inf, math.inf)
    v, excess = _best(mechanism, lambda v, excess: np.exp(v) + excess / delta, math.inf)
    value = math.log(math.exp(v) + excess / delta)
    found = quantile(mechanism, 1 - delta, "pml")
    return Estimate(value, max(0.0, value - found.lower))


def _best(
    mechanism: Bounded, score: Callable[[np.ndarray, np.ndarray], np.ndarray], below: float
) -> tuple[float, float]:
    """Return a v < below and E max(0, L - e^v) from above: the v with the least score on a grid, then integrated."""
    law, y = mechanism.law, points(mechanism)
    leaks = leakage(law, "pml", y)
    share = np.exp(law.log_density(y)) * (1.0 if mechanism.noise.step is not None else np.gradient(y))
    share, finite = share / share.sum(), leaks[np.isfinite(leaks)]
    tried = np.unique(np.append(np.quantile(finite, np.linspace(0, 1, _TRIED)), 0.0))
    tried = tried[tried < below - 1e-9] if (tried < below - 1e-9).any() else np.zeros(1)
    with np.errstate(over="ignore"):
        excess = np.array([share @ np.maximum(np.exp(np.minimum(leaks, 600.0)) - math.exp(v), 0.0) for v in tried])
    v = float(tried[int(np.argmin(score(tried, excess)))])

    def over(at: np.ndarray) -> np.ndarray:
        worst = leakage(law, "pml", at) + law.error(at, "pml")
        return np.maximum(np.exp(np.minimum(worst, 600.0)) - math.exp(v), 0.0)

    found = mean(mechanism, over)
    return v, (found.value + found.error) * (1 + _MISSED) + _MISSED
