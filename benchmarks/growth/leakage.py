"""Measures of channels: dense, stored sparsely, stacked."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import divulge as dv
from growth.work import SQUARE, Goal, Maker, Task, Work, few_enough, stochastic, weights

READ, LOGS = "one read of the matrix", "a logarithm of each entry"
FEW, MANY = (5, 10, 20, 50), (200, 600, 2000, 5000)
AGAINST_QIF = (Goal(0.9, "qif", FEW), Goal(1, "qif", MANY))


def profile(n: int) -> Task:
    matrix, prior = stochastic(n, n), dv.Prior(weights(n))
    return lambda: dv.profile((prior, dv.Channel(matrix))).capacity  # which is sought when it is asked for


def one_read(n: int) -> Task:
    matrix = stochastic(n, n)
    return lambda: matrix.max(axis=0).sum()


def logarithms(n: int) -> Task:
    """Return the logarithm of each entry by NumPy, on one thread, of rows that fit the cache: information needs it."""
    matrix = stochastic(n, n)
    rows = max(1, (1 << 17) // n)
    space = np.empty((rows, n))

    def run() -> None:
        for start in range(0, n, rows):
            block = matrix[start : start + rows]
            np.log(block, out=space[: len(block)])

    return run


def made(measure: Callable[[Any], Any]) -> Maker:
    """Return the maker of a measure of a joint that is made for it, of a channel that has been asked before.

    A channel keeps its sums of C log C, so that mutual information under another prior takes no such logarithm;
    benchmarks/measure.py times the first question too. Compiled loops are loaded, as they are after many questions.
    """

    def maker(n: int) -> Task:
        from divulge import kernels

        with contextlib.suppress(ImportError, AttributeError):  # sources of before may have another loop
            for loop in (kernels.sum_of_joint_tops, kernels.information, kernels.joint_tops):
                kernels.compiled(loop)
        channel, prior = dv.Channel(stochastic(n, n)), dv.Prior(weights(n))
        return lambda: measure(dv.Joint(prior, channel))

    return maker


def by_qif(measure: str) -> Maker:
    def maker(n: int) -> Task:
        from qif import measure as peer

        matrix, prior = stochastic(n, n), weights(n)
        module, name = measure.split(".")
        function = getattr(getattr(peer, module), name)
        return lambda: function(prior, matrix)

    return maker


def several(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(5), (count, 5)), rng.dirichlet(np.ones(5), count)


def stacked(count: int) -> Task:
    channels, priors = several(count)
    return lambda: dv.measures.Stack(channels, priors).pml().max(axis=1)


def by_formula(count: int) -> Task:
    channels, priors = several(count)
    return lambda: np.log(channels.max(axis=1) / np.einsum("bn,bnm->bm", priors, channels)).max(axis=1)


def one_by_one(count: int) -> Task:
    few_enough(count, 1000)
    pairs = list(zip(*reversed(several(count)), strict=True))
    return lambda: [dv.pml(dv.Joint(prior, channel)).max() for prior, channel in pairs]


def sparse(stored: int) -> Task:
    n = stored // 10
    columns = np.random.default_rng(0).integers(0, n, size=stored)
    matrix = sp.coo_array((np.full(stored, 0.1), (np.repeat(np.arange(n), 10), columns)), shape=(n, n)).tocsc()
    prior = dv.Prior(weights(n))
    return lambda: dv.profile((prior, dv.Channel(matrix))).capacity  # which is sought when it is asked for


def by_scipy(stored: int) -> Task:
    """Return the same measures, which secrets attain them, and as many steps to capacity, by their formulas."""
    n, steps = stored // 10, 25
    columns = np.random.default_rng(0).integers(0, n, size=stored)
    c: Any = sp.coo_array((np.full(stored, 0.1), (np.repeat(np.arange(n), 10), columns)), shape=(n, n)).tocsc()
    p = weights(n)

    def run() -> tuple[float, ...]:
        q = p @ c
        with np.errstate(divide="ignore", invalid="ignore"):
            top, bottom = c.max(axis=0).toarray().ravel(), c.min(axis=0).toarray().ravel()
            _, _ = c.argmax(axis=0), c.argmin(axis=0)
            pml, pmc, ldp = np.log(top / q), -np.log(bottom / q), np.log(top / bottom)
        bayes = c.multiply(p[:, None]).max(axis=0).sum()
        logs = c.copy()
        logs.data = c.data * np.log(c.data)
        sums = logs.sum(axis=1)
        information = p @ sums - q @ np.log(np.where(q > 0, q, 1.0))
        r, d = np.full(n, 1 / n), sums
        for _ in range(steps):
            d = sums - c @ np.log(np.maximum(r @ c, 1e-300))
            r = r * np.exp(d)
            r /= r.sum()
        return pml.max(), pmc.max(), np.nanmax(ldp), bayes, math.log(top.sum()), bottom.sum(), information, d.max()

    return run


WORK = (
    Work("profile", SQUARE, (10, 100, 300, 1000, 4000, 10_000), profile, {READ: one_read, LOGS: logarithms},
         (Goal(3, LOGS, (4000,)), Goal(3, LOGS, (10_000,)))),
    Work("mutual information", SQUARE, FEW + MANY, made(dv.mutual_information),
         {"qif": by_qif("shannon.add_leakage"), READ: one_read}, AGAINST_QIF),
    Work("Bayes vulnerability", SQUARE, FEW + MANY, made(dv.measures.bayes_vulnerability),
         {"qif": by_qif("bayes_vuln.posterior"), READ: one_read}, AGAINST_QIF),
    Work("a stack of channels of 5 x 5", "channels", (100, 1000, 10_000), stacked,
         {"the formula in NumPy": by_formula, "calls one by one": one_by_one},
         (Goal(4, "the formula in NumPy", (10_000,)), Goal(0.05, "calls one by one", (1000,)))),
    Work("sparse profile", "stored entries", (1000, 10_000, 100_000, 1_000_000), sparse,
         {"the formulas in SciPy": by_scipy}, (Goal(0.5, "the formulas in SciPy"),)),
)  # fmt: skip
