"""Linear programs: which channel is made of which, and the best channel for linear scores."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

import divulge as dv
from growth.work import SQUARE, Goal, Task, Work, few_enough, stochastic

HIGHS = "the program by HiGHS"


def refined(n: int) -> Task:
    """Return the refinement of a channel with twice as many outcomes as secrets: no inverse answers it."""
    a = dv.Channel(stochastic(n, 2 * n))
    b = dv.Channel(a.floats @ stochastic(2 * n, n, 1))
    return lambda: dv.adversaries.refinement(a, b)


def refined_by_highs(n: int) -> Task:
    few_enough(n, 30)
    a = stochastic(n, 2 * n)
    return program(a, a @ stochastic(2 * n, n, 1))


def fractions_by_highs(n: int) -> Task:
    return program(*(one.floats for one in of_fractions(n)))


def program(a: np.ndarray, b: np.ndarray) -> Task:
    """Return the linear program of the same question, in doubles: a channel R with A R = B, by SciPy's HiGHS."""
    m, k = a.shape[1], b.shape[1]
    rows = sp.vstack([sp.kron(a, sp.identity(k)), sp.kron(sp.identity(m), np.ones((1, k)))], format="csc")
    right = np.append(b.ravel(), np.ones(m))
    return lambda: linprog(np.zeros(m * k), A_eq=rows, b_eq=right, method="highs")


def of_fractions(n: int) -> tuple[Any, Any]:
    def rows(seed: int) -> list[list[Fraction]]:
        cells = np.random.default_rng(seed).integers(1, 10, size=(n, n))
        return [[Fraction(int(v), int(row.sum())) for v in row] for row in cells]

    a = dv.Channel(rows(0))
    return a, a.then(rows(1))


def refined_exactly(n: int) -> Task:
    a, b = of_fractions(n)
    return lambda: dv.adversaries.refinement(a, b)


def by_scores(n: int) -> Task:
    """Return the design for random linear scores, the slowest of which is under a bound on PML."""
    prior, scores = np.random.default_rng(n).dirichlet(np.ones(n)), np.random.default_rng(1).random((n, n))
    return lambda: dv.design(prior, dv.PML(0.5), utility=scores)


def scores_by_highs(n: int) -> Task:
    """Return the program as it is written, sum_y C_xy = 1 and C_xy <= e^0.5 (p C)_y, by SciPy's HiGHS."""
    few_enough(n, 60)
    prior, scores = np.random.default_rng(n).dirichlet(np.ones(n)), np.random.default_rng(1).random((n, n))
    one = sp.identity(n)
    above = sp.identity(n * n) - math.exp(0.5) * sp.kron(np.ones((n, 1)) * prior, one)
    sums = sp.kron(one, np.ones((1, n)))
    gains = -(prior[:, None] * scores).ravel()
    return lambda: linprog(gains, above.tocsc(), np.zeros(n * n), sums.tocsc(), np.ones(n), method="highs")


WORK = (
    Work("refinement", SQUARE, (5, 10, 30, 100), refined, {HIGHS: refined_by_highs}, (Goal(3, HIGHS, (5, 10, 30)),)),
    Work("refinement of fractions", SQUARE, (3, 10, 30), refined_exactly, {HIGHS: fractions_by_highs},
         (Goal(1, HIGHS),)),
    Work("design, linear scores", "secrets", (5, 20, 60, 200), by_scores, {HIGHS: scores_by_highs},
         (Goal(0.5, HIGHS, (60,)),)),
)  # fmt: skip
