"""The linear program of metric privacy in HiGHS, and the bound that any multipliers of its rows prove.

min sum cost_xy C_xy over C >= 0 with rows that sum to 1 and C_ay <= e^(epsilon d(a, b)) C_by for the rows (a, b, y)
that are in it (Bordenabe, Chatzikokolakis, Palamidessi, "Optimal Geo-Indistinguishable Mechanisms for Location
Privacy", arXiv:1402.5029). With fewer rows it is a relaxation.
"""

import math
from typing import Any

import numpy as np

from divulge.extras import highs, require
from divulge.model.metrics.metric import Metric

_ROUNDING = 2.0**-46
"""Share of the sums behind a bound by which it is lowered: they have less than 64 ulps of error."""

_FARTHEST = 36.0
"""Rows whose factor is above e^36 bind nothing that doubles can tell; near ones imply them."""

_LARGEST = 700.0
"""e^700 is a double; a larger factor binds nothing."""


class Program:
    """A linear program whose rows are added to, and what its last solution is."""

    def __init__(self, cost: np.ndarray, metric: Metric, epsilon: float, i: np.ndarray, j: np.ndarray) -> None:
        self._cost, self._metric, self._epsilon = cost, metric, epsilon
        m = cost.shape[1]
        self._a, self._b, self._y = (np.empty(0, dtype=np.int64) for _ in range(3))
        self._highs = _empty(cost)
        self.add(np.repeat(i, m), np.repeat(j, m), np.tile(np.arange(m), len(i)))

    def add(self, a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
        """Add rows C_ay <= e^(epsilon d(a, b)) C_by."""
        near = self._epsilon * self._metric.matrix[a, b] <= _FARTHEST
        a, b, y = a[near], b[near], y[near]
        m = self._cost.shape[1]
        index = np.empty(2 * len(a), dtype=np.int32)
        index[0::2], index[1::2] = a * m + y, b * m + y
        value = np.ones(2 * len(a))
        value[1::2] = -self._factor(a, b)
        starts = np.arange(0, 2 * len(a), 2, dtype=np.int32)
        self._highs.addRows(len(a), np.full(len(a), -math.inf), np.zeros(len(a)), len(index), starts, index, value)
        self._a, self._b, self._y = (np.concatenate(pair) for pair in ((self._a, a), (self._b, b), (self._y, y)))

    def _factor(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(self._epsilon * self._metric.matrix[a, b], _LARGEST))

    def solve(self, solver: str, seconds: float = math.inf, iterations: int | None = None) -> bool:
        """Solve by "simplex" (again from where it stood), "ipm" or "pdlp"; say whether it came to an optimum."""
        highs = self._highs
        options: dict[str, Any] = {"solver": solver, "run_crossover": "off" if solver == "ipm" else "on"}
        if seconds < math.inf:
            options["time_limit"] = highs.getRunTime() + max(seconds, 0.0)
        if iterations is not None:
            options["pdlp_iteration_limit"] = iterations
        for name, value in options.items():
            highs.setOptionValue(name, value)
        highs.run()
        return str(highs.modelStatusToString(highs.getModelStatus())) == "Optimal"

    @property
    def channel(self) -> np.ndarray:
        """The last solution, its rows divided by their sums; equal rows where there is none."""
        found = np.array(self._highs.getSolution().col_value, dtype=np.float64)
        if len(found) != self._cost.size or not np.isfinite(found).all():
            return np.full(self._cost.shape, 1 / self._cost.shape[1])
        found = np.maximum(found.reshape(self._cost.shape), 0.0)
        sums = found.sum(axis=1, keepdims=True)
        return np.where(sums > 0, found / np.where(sums > 0, sums, 1.0), 1 / self._cost.shape[1])

    def violated(self, i: np.ndarray, j: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows (a, b, y) of these directed pairs that the last solution breaks by more than `most`."""
        found = self.channel
        over = found[i] / self._factor(i, j)[:, None] - found[j]
        pair, y = np.nonzero(over > most)
        return i[pair], j[pair], y

    def bound(self) -> float:
        """Return what every mechanism costs at least, by the last multipliers; rounded down.

        For multipliers l >= 0, sum cost C >= sum g C with g = cost + what the rows add, and rows of C sum to 1, so
        that sum_x min_y g_xy is a bound, whatever the solver did.
        """
        dual = np.array(self._highs.getSolution().row_dual, dtype=np.float64)
        n = len(self._cost)
        if len(dual) != n + len(self._a) or not np.isfinite(dual).all():
            return float(self._cost.min(axis=1).sum())
        held = np.maximum(-dual[n:], 0.0)
        pull = held * self._factor(self._a, self._b) * (1 + _ROUNDING)  # a larger factor is a weaker constraint
        reduced, size = self._cost.copy(), np.abs(self._cost)
        for at, part in ((self._a, held), (self._b, -pull)):
            np.add.at(reduced, (at, self._y), part)
            np.add.at(size, (at, self._y), np.abs(part))
        lost = _ROUNDING * float(size.max(axis=1).sum())
        return max(math.fsum(reduced.min(axis=1).tolist()) - lost, float(self._cost.min(axis=1).sum()))


def _empty(cost: np.ndarray) -> Any:
    """Return the program whose only rows are that each secret's probabilities sum to 1."""
    highspy = require("highspy", "science")
    n, m = cost.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n * m, n
    program.col_cost_ = cost.ravel()
    program.col_lower_, program.col_upper_ = np.zeros(n * m), np.ones(n * m)
    program.row_lower_, program.row_upper_ = np.ones(n), np.ones(n)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.arange(0, n * m + 1, m)
    program.a_matrix_.index_ = np.arange(n * m)
    program.a_matrix_.value_ = np.ones(n * m)
    solver = highs()
    solver.passModel(program)
    return solver
