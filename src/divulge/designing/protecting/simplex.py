"""Many linear programs over one matrix at once: the dual simplex method where every variable has two ends.

max c.x with M x = 0 and low <= x <= high. With finite ends any basis is dual feasible once each variable outside it is
at the end that its reduced cost asks for, so that the basis of another box and another cost begins a program at once,
and each dual on the way bounds the value (Koberstein, "The dual simplex method", 2005, for long steps and norms of
rows).
"""

import contextlib
from dataclasses import dataclass, fields

import numpy as np

_NEAR, _ALLOWED = 1e-13, 1e-9
"""What ends are to be missed by at most, and may be, where columns and rows are scaled to about 1."""
_PIVOT = 1e-8
"""The least entry that is divided by; a program that finds no larger one ends with the bound that it has."""
_ILL = 1e9
"""Entries of an inverse above which a basis is left for that of the rows."""
_SPREAD = 1e-11
"""How far costs are moved, each by its own share, while bases change: where many are 0 they would come back in turn."""
_MOST = 4
"""Pivots at most, as a multiple of the number of rows. A heuristic: the bound is one whenever it ends."""
_UNIT = 2.0**-52
"""The distance of doubles at 1: a sum of k terms is off by less than k times this, times the sum of their sizes."""


@dataclass(frozen=True, eq=False)
class Solutions:
    """For each of K programs a solution (K, n), its basis (K, m), a bound of the value, rounded up, and reduced costs.

    `reduced` (K, n) is by how much the bound falls, at least, with each unit that a variable is off its end, with the
    sign of the reduced cost; 0 where rounding decides. The bound is -inf where it is proved that there is no solution.
    `feasible` (K,) says whether the point is one; it is none where the target ended the search.
    """

    points: np.ndarray
    feasible: np.ndarray
    basis: np.ndarray
    bounds: np.ndarray
    reduced: np.ndarray


@dataclass(eq=False)
class _Some:
    """Programs on the way: costs and ends (K, n + m), targets (K,), bases (K, m) and their inverses (K, m, m)."""

    cost: np.ndarray
    low: np.ndarray
    high: np.ndarray
    target: np.ndarray
    basis: np.ndarray
    inverse: np.ndarray

    def take(self, some: np.ndarray) -> "_Some":
        """Return copies of some."""
        return _Some(*(getattr(self, one.name)[some] for one in fields(self)))

    def pivot(self, row: np.ndarray, entering: np.ndarray, column: np.ndarray) -> None:
        """Let a variable into the basis of each in place of a row, by its column (K, m) in that basis."""
        k = np.arange(len(row))
        fresh = self.inverse[k, row] / column[k, row][:, None]
        self.inverse -= column[:, :, None] * fresh[:, None, :]
        self.inverse[k, row] = fresh
        self.basis[k, row] = entering


class Simplex:
    """The programs of one matrix (m, n), for rows whose value is to be between two ends, columns between two others."""

    def __init__(self, matrix: np.ndarray, ends: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self.n, self.m = matrix.shape[1], len(matrix)
        size = np.maximum(np.abs(low), np.abs(high))
        self.columns = 2.0 ** np.round(np.log2(np.where(size > 0, size, 1.0)))
        matrix = matrix * self.columns
        self.rows = 2.0 ** -np.round(np.log2(np.maximum(np.abs(matrix).max(axis=1), 1e-300)))
        matrix = matrix * self.rows[:, None]
        self.matrix = np.hstack([matrix, -np.eye(self.m)])
        self.sizes = np.abs(self.matrix)
        least, most = low / self.columns, high / self.columns
        wide = np.maximum(np.abs(least), np.abs(most))
        spare = 2 * self.n * _UNIT * (np.abs(matrix) @ wide)
        self.least = np.maximum(ends[0] * self.rows, np.minimum(matrix * least, matrix * most).sum(axis=1) - spare)
        self.most = np.minimum(ends[1] * self.rows, np.maximum(matrix * least, matrix * most).sum(axis=1) + spare)
        self.first = np.arange(self.n, self.n + self.m)
        self.spread = _SPREAD * np.random.default_rng(0).uniform(0.5, 1.0, self.n + self.m)

    def solved(
        self,
        cost: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        basis: np.ndarray | None = None,
        target: float | np.ndarray = -np.inf,
    ) -> Solutions:
        """Return the solutions for costs and ends (K, n), from bases if there are any.

        A program whose bound is at most the target is not asked further.
        """
        many = len(cost)
        zeros = np.zeros((many, self.m))
        c = np.hstack([cost * self.columns, zeros])
        lo = np.hstack([low / self.columns, zeros + self.least])
        hi = np.hstack([high / self.columns, zeros + self.most])
        basis = np.tile(self.first, (many, 1)) if basis is None else basis.copy()
        points, duals, rays = np.empty((many, self.n)), np.empty((many, self.m)), zeros.copy()
        inverse, left, most = self._inverse(basis), np.arange(many), _MOST * self.m
        feasible, size = np.zeros(many, dtype=bool), (np.abs(c) * (hi - lo)).max(axis=1, keepdims=True)
        now = _Some(
            c + size * self.spread, lo, hi, np.broadcast_to(np.asarray(target, dtype=float), (many,)), basis, inverse
        )
        for step in range(most + 1):
            k = np.arange(len(left))
            dual, reduced, point, inner = self._at(now)
            points[left], duals[left], basis[left] = point[:, : self.n], dual, now.basis
            rows, leaving = k[:, None], now.basis
            over = inner - now.high[rows, leaving]
            missed = np.maximum(over, now.low[rows, leaving] - inner)
            # the row that misses its ends by most, as a share of its norm, leaves at the end that it misses
            r = (missed * missed.clip(0.0) / np.einsum("kij,kij->ki", now.inverse, now.inverse)).argmax(axis=1)
            worst, sign = missed[k, r], np.where(over[k, r] > 0, 1.0, -1.0)
            value = np.maximum(reduced * now.low, reduced * now.high).sum(axis=1)
            feasible[left] = worst <= _ALLOWED
            going = (worst > _NEAR) & (value > now.target)
            if step == most or not going.any():
                break
            # each reduced cost moves by `slope`; the one enters at whose step the value falls no further
            rho = now.inverse[k, r]
            slope = sign[:, None] * (rho @ self.matrix)
            slope[rows, leaving] = 0.0
            moves = np.where(reduced > 0, slope < -_PIVOT, slope > _PIVOT)
            steps = np.where(moves, -reduced / np.where(moves, slope, 1.0), np.inf)
            order = steps.argsort(axis=1)
            fall = (moves * np.abs(slope) * (now.high - now.low))[rows, order].cumsum(axis=1)
            passed = (fall < worst[:, None]).sum(axis=1)
            none = passed >= moves.sum(axis=1)
            gone = going & none
            rays[left[gone]] = (-sign[:, None] * rho)[gone]
            q = order[k, np.minimum(passed, order.shape[1] - 1)]
            column = np.einsum("kij,kj->ki", now.inverse, self.matrix.T[q])
            keep = np.flatnonzero(going & ~none & (np.abs(column[k, r]) > _PIVOT))
            if not len(keep):
                break
            left, now = left[keep], now.take(keep)
            now.pivot(r[keep], q[keep], column[keep])
        bounds, reduced = self._bounds(c, duals, lo, hi)
        empty = np.flatnonzero(rays.any(axis=1))
        if len(empty):
            proved = self._bounds(0 * c[empty], rays[empty], lo[empty], hi[empty])[0] < 0
            bounds[empty[proved]] = -np.inf
        return Solutions(points * self.columns, feasible, basis, bounds, reduced[:, : self.n] / self.columns)

    def _at(self, now: "_Some") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (duals, reduced costs, points, values of the variables in the basis) of bases."""
        rows, basis = np.arange(len(now.basis))[:, None], now.basis
        dual = np.einsum("ki,kij->kj", now.cost[rows, basis], now.inverse)
        reduced = now.cost - dual @ self.matrix
        reduced[rows, basis] = 0.0
        point = np.where(reduced > 0, now.high, now.low)
        point[rows, basis] = 0.0
        inner = -np.einsum("kij,kj->ki", now.inverse, point @ self.matrix.T)
        point[rows, basis] = inner
        return dual, reduced, point, inner

    def _inverse(self, basis: np.ndarray) -> np.ndarray:
        """Return the inverses of bases (K, m), after those that are nearly singular became those of the rows."""

        found = np.full((len(basis), self.m, self.m), np.inf)
        with contextlib.suppress(np.linalg.LinAlgError):  # one that is singular leaves all
            found = np.linalg.inv(self.matrix.T[basis].transpose(0, 2, 1))
        ill = ~(np.abs(found).max(axis=(1, 2)) < _ILL)
        basis[ill], found[ill] = self.first, -np.eye(self.m)
        return found

    def _bounds(
        self, cost: np.ndarray, dual: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (what duals (K, m) bound values by, rounded up; the reduced costs, rounded towards 0)."""
        size = low.shape[1]
        reduced = cost - dual @ self.matrix
        terms = np.maximum(reduced * low, reduced * high)
        off = _UNIT * size * (np.abs(cost) + np.abs(dual) @ self.sizes)
        rounded = (off * np.maximum(np.abs(low), np.abs(high))).sum(axis=1) + 2 * _UNIT * size * np.abs(terms).sum(
            axis=1
        )
        return terms.sum(axis=1) + rounded, np.sign(reduced) * np.maximum(np.abs(reduced) - off, 0.0)
