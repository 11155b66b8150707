"""The linear program over the vertices found so far: max sum_y w_y mu_y with sum_y w_y v_y = 1, kept warm by HiGHS."""

import math
from dataclasses import dataclass

import numpy as np

from divulge.designing.polytope.limits import Classes
from divulge.designing.polytope.utilities import SubConvex
from divulge.designing.polytope.vertices import Columns, joined
from divulge.errors import DivulgeError
from divulge.extras import highs, require

_PRIMAL = 4
"""The simplex method that goes on from a basis which stays feasible when columns are added."""
_CONTENT = 1e-9
"""Tolerance of a last attempt, ten times the finest. A heuristic: at the finest it has ended without a status."""

_FINEST = 1e-4
"""The least scale, as a share of the largest loss."""


@dataclass(frozen=True, eq=False)
class Dual:
    """One multiplier a class (of sum_y w_y v_yc = 1), and one of the capacity (0 when there is none)."""

    classes: np.ndarray
    capacity: float

    def value(self, capacity: float) -> float:
        """Return the part of the dual objective that does not depend on vertices."""
        return math.fsum(self.classes.tolist()) + (self.capacity * capacity if self.capacity else 0.0)

    @property
    def silent(self) -> float:
        """What the outcome gains that says nothing: all its lifts are 1, its utility 0."""
        return -math.fsum(self.classes.tolist()) - self.capacity

    def toward(self, other: "Dual", share: float) -> "Dual":
        """Return the dual that lies this share of the way toward another."""
        return Dual(
            self.classes + share * (other.classes - self.classes),
            self.capacity + share * (other.capacity - self.capacity),
        )


class Master:
    """Columns w_y with utility mu_y; rows: sum_y w_y v_y = 1, and sum_y w_y max_x v_xy <= capacity.

    Most coordinates of a vertex are equal. With the sum over y of w_y times these as a variable of its own, a column
    needs only the other coordinates: few numbers, which the simplex method passes much faster.

    Its duals are `offset` + y. Costs are the losses <offset, v> - mu over `scale`: small numbers keep their digits. The
    variables are w_y times the largest entry of the column, so that no entry exceeds 1. Tolerances are absolute, so
    that the scale follows the utility where that is far smaller than losses.
    """

    def __init__(self, classes: Classes, utility: SubConvex, capacity: float, offset: np.ndarray) -> None:
        highspy = require("highspy", "science")
        self.classes, self.utility, self.capacity, self.offset = classes, utility, capacity, offset
        self.scale, self.losses = 0.0, np.zeros(0)
        self.parts: list[Columns] = []
        self.weights, self.used, self.tops = np.zeros(0), np.zeros(0, dtype=np.intp), np.zeros(0)
        self.model = highs(
            solver="simplex", presolve="off", simplex_strategy=_PRIMAL,
            dual_feasibility_tolerance=1e-10, primal_feasibility_tolerance=1e-10,
        )  # fmt: skip
        lower = upper = np.ones(len(offset))
        if capacity < math.inf:
            lower, upper = np.append(lower, -math.inf), np.append(upper, capacity)
        lower, upper = np.append(lower, 0.0), np.append(upper, 0.0)
        rows, empty = len(lower), np.zeros(0, dtype=np.int32)
        self.model.addRows(rows, lower, upper, 0, np.zeros(rows, dtype=np.int32), empty, np.zeros(0))
        index = np.append(np.arange(len(offset), dtype=np.int32), rows - 1)
        self.model.addCol(0.0, -math.inf, math.inf, len(index), index, np.append(np.ones(len(offset)), -1.0))
        self._optimal, self._late = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit

    def add(self, vertices: Columns) -> None:
        """Add columns."""
        if not len(vertices):
            return
        lifts = vertices.lifts(self.classes)
        usual = _usual(lifts)
        peaks = vertices.peaks()[:, None] if self.capacity < math.inf else np.zeros((len(lifts), 0))
        matrix = np.hstack([lifts - usual[:, None], peaks, usual[:, None]])
        size, tops = len(matrix), np.abs(matrix).max(axis=1)
        losses = (lifts @ self.offset - vertices.utility(self.classes, self.utility)) / tops
        if not self.scale:
            self.scale = max(float(losses.max()), 1e-300)
        row, index = np.nonzero(matrix)
        starts = np.searchsorted(row, np.arange(size)).astype(np.int32)
        self.model.addCols(
            size, losses / self.scale, np.zeros(size), np.full(size, math.inf), len(row), starts,
            index.astype(np.int32), matrix[row, index] / tops[row],
        )  # fmt: skip
        self.tops, self.losses = np.append(self.tops, tops), np.append(self.losses, losses)
        self.parts.append(vertices)

    def solve(self, seconds: float = math.inf) -> tuple[float, Dual] | None:
        """Return (utility of the best mixture of the columns, its dual); None when the seconds are over before."""
        found = self._solve(seconds)
        if found is None or not self._sharpened(found[0]):
            return found
        return self._solve(seconds)

    def _sharpened(self, utility: float) -> bool:
        """Say whether the scale was much too coarse for the utility; it no longer is."""
        fine = max(utility, _FINEST * float(self.losses.max()))
        if not 0 < fine < self.scale / 8:
            return False
        self.scale = fine
        every = np.arange(1, 1 + len(self.losses), dtype=np.int32)
        self.model.changeColsCost(len(every), every, self.losses / self.scale)
        return True

    def _solve(self, seconds: float) -> tuple[float, Dual] | None:
        for attempt in range(3):
            if attempt:
                self.model.clearSolver()
            if attempt == 2:  # a solver that ends without a status is content with this; every dual gives a bound
                self.model.setOptionValue("primal_feasibility_tolerance", _CONTENT)
                self.model.setOptionValue("dual_feasibility_tolerance", _CONTENT)
            self.model.setOptionValue("time_limit", self.model.getRunTime() + seconds)
            self.model.run()
            status = self.model.getModelStatus()
            if status == self._late:
                return None
            if status == self._optimal:
                break
        else:
            raise DivulgeError.of("guarantee", "leave a mechanism", "the linear program", "without a solution")
        solution = self.model.getSolution()
        shares = np.array(solution.col_value[1:])
        self.weights, self.used = shares / self.tops, np.flatnonzero(shares > 1e-15)
        y = np.array(solution.row_dual) * -self.scale
        size = len(self.offset)
        loss = self.model.getInfo().objective_function_value * self.scale
        capacity = max(0.0, float(y[size])) if self.capacity < math.inf else 0.0
        return math.fsum(self.offset.tolist()) - loss, Dual(self.offset + y[:size], capacity)

    def columns(self) -> Columns:
        """Return all columns."""
        return joined(self.parts)

    def mixture(self) -> tuple[np.ndarray, Columns]:
        """Return (weights, vertices) of the last solution, positive weights only, once more in full precision."""
        vertices = self.columns().take(self.used)
        return refined(self.weights[self.used], vertices.lifts(self.classes)), vertices


def _usual(lifts: np.ndarray) -> np.ndarray:
    """Return the smallest or the largest coordinate of each row, whichever it has more of."""
    low, high = lifts.min(axis=1), lifts.max(axis=1)
    many = (lifts == high[:, None]).sum(axis=1) > (lifts == low[:, None]).sum(axis=1)
    return np.where(many, high, low)


def refined(weights: np.ndarray, lifts: np.ndarray) -> np.ndarray:
    """Return weights >= 0 near the given ones with weights @ lifts = 1 to rounding, where that is a small step."""
    for _ in range(3):
        residual = 1.0 - weights @ lifts
        if np.abs(residual).max() <= 1e-13:
            break
        step = np.linalg.lstsq(lifts.T * weights, residual, rcond=1e-13)[0] * weights
        trial = np.maximum(weights + step, 0.0)
        if not np.abs(1.0 - trial @ lifts).max() < np.abs(residual).max():
            break
        weights = trial
    return weights
