"""How many people of a population are alone with their known values, estimated from a sample: Zayatz and Pitman."""

import math

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require

MOST_PEOPLE = 10**15
"""Beyond it doubles no longer tell one person more from none."""


def zayatz(sizes: np.ndarray, population: int) -> float:
    """Return Zayatz's estimate of the population uniques: P(F = 1 | f = 1) times the sample's uniques, over n / N.

    The law of class sizes F in the population is taken to be that of the sample; n of N rows are drawn without
    replacement, so that P(f = 1 | F = j) = j C(N - j, n - 1) / C(N, n).

    Source: Zayatz, Estimation of the percent of unique population elements on a microdata file using the sample, 1991.

    >>> round(zayatz(np.array([1, 1, 2]), 4), 9)  # the sample is the population
    2.0
    """
    rows = int(sizes.sum())
    _require(rows, population)
    classes, times = np.unique(sizes, return_counts=True)
    alone = np.array([_alone(int(j), rows, population) for j in classes])
    reached = float((times * alone).sum())
    uniques = int((sizes == 1).sum())
    return 0.0 if not uniques or reached == 0 else float(uniques * (uniques * alone[0] / reached) / (rows / population))


def _alone(j: int, rows: int, population: int) -> float:
    """Return P(f = 1 | F = j), j n / N times the product of (N - n - i) / (N - 1 - i) over i < j - 1."""
    if population - j < rows - 1:
        return 0.0
    drawn = (rows - 1) / (population - 1 - np.arange(j - 1, dtype=float))
    return j * rows / population * math.exp(float(np.log1p(-drawn).sum()))


def pitman(sizes: np.ndarray, population: int) -> float:
    """Return Pitman's estimate of the population uniques: Gamma(theta + 1) / Gamma(theta + alpha) N^alpha.

    Theta and alpha are the most likely ones for the sizes of the sample's groups (Ewens and Pitman's formula).

    Source: Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment, 2001.

    >>> 0 < pitman(np.array([1] * 40 + [2] * 20 + [5] * 4), 1000) < 1000
    True
    """
    rows = int(sizes.sum())
    _require(rows, population)
    if not (sizes == 1).any():
        return 0.0
    if (sizes == 1).all():
        return float(population)
    optimize, special = require("scipy.optimize", "science"), require("scipy.special", "science")
    classes, times = np.unique(sizes, return_counts=True)
    order = np.arange(1, len(sizes))

    def misfit(at: np.ndarray) -> float:
        alpha = 1 / (1 + math.exp(-at[0]))
        theta = math.exp(at[1])
        found = np.log(theta + order * alpha).sum() - (special.gammaln(theta + rows) - special.gammaln(theta + 1))
        inside = special.gammaln(classes - alpha) - special.gammaln(1 - alpha)
        return -float(found + (times * inside).sum())

    start = np.array([0.0, math.log(max(len(sizes), 2))])
    best = optimize.minimize(
        misfit, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-6, "maxiter": 500}
    )
    alpha, theta = 1 / (1 + math.exp(-best.x[0])), math.exp(best.x[1])
    log = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population)
    return min(float(population), math.exp(log))


def _require(rows: int, population: int) -> None:
    if population < rows:
        raise DivulgeError.of("population", f"be at least the {rows:,} rows of the table", "it", f"{population:,}")
    if population > MOST_PEOPLE:
        raise DivulgeError.of("population", f"be at most {MOST_PEOPLE:,}", "it", "more")
