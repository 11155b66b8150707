"""Certification: a channel of integers over 2^b that keeps its limits exactly, whatever the solver returned.

Each column is floored to integers and checked in integers against rational bounds; a column that fails is raised
between its levels or moved towards its mean until it passes. What the rows lack to 2^b is a column of nearly equal
entries, which says nothing; it is checked like the others and added to one of them. The limits are closed under
addition of columns, so the sum passes too.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from divulge import exact
from divulge.designing.master.restricted_master import refined
from divulge.designing.polytope.limits import Limits
from divulge.errors import DivulgeError

_WHOLE = 1e-12
"""How near to 0 and 1 the entries of a channel are that tells a function of the secret."""
_PART = 28
"""Bits of the lower half of an entry, and of the upper half, but for 2^56 itself."""
HALVED = 2 * _PART
"""Bits of the largest entry whose columns are summed in halves."""
_DOUBLE = 53
"""Bits of whole numbers that are doubles."""
_AT_ONCE = 2**22
"""Entries whose halves are made at a time: 32 MiB."""
_RARE = 64
"""Secrets this many times less likely than others should not make up for rounding alone."""


@dataclass(frozen=True, eq=False)
class Checker:
    """Exact checks of integer columns (shape (N, M), entries at least 0) under a prior of integers c_x over n."""

    prior: np.ndarray
    limits: Limits

    @classmethod
    def of(cls, prior: np.ndarray, limits: Limits) -> "Checker":
        """Return the checker of a strictly positive prior (float64 or exact) and exact limits.

        A float prior is taken at its exact values, and the limits a little tighter, so that the guarantee survives the
        rounding of whoever measures it in floats.
        """
        values = [Fraction(p) for p in prior.tolist()]
        common = math.lcm(*(v.denominator for v in values))
        whole = [int(v * common) for v in values]
        divisor = math.gcd(*whole)
        slack = Fraction(len(whole) + 8, 2**51) if prior.dtype != object else Fraction(0)
        return cls(np.array([c // divisor for c in whole], dtype=object), limits.exactly_within(slack))

    @cached_property
    def _limbs(self) -> tuple[int, np.ndarray]:
        """Bits, and the prior as digits (L, N) of so few that sums of products with half an entry are doubles."""
        width = _DOUBLE - _PART - len(self.prior).bit_length()
        left, out = self.prior.copy(), list[np.ndarray]()
        while left.any():
            out.append((left & ((1 << width) - 1)).astype(np.float64))
            left = left >> width
        return width, np.array(out)

    def mass(self, columns: np.ndarray) -> np.ndarray:
        """Return sum_x c_x W_xy of each column of entries of at most 2^56, exact (Python integers).

        Whole numbers below 2^53 are added by doubles exactly, in any order.
        """
        (width, limbs), out = self._limbs, np.zeros(columns.shape[1], dtype=object)
        step = max(1, _AT_ONCE // len(columns))
        for start in range(0, len(out), step):
            part = columns[:, start : start + step]
            for shift, half in ((0, part & ((1 << _PART) - 1)), (_PART, part >> _PART)):
                for place, sums in enumerate((limbs @ half.astype(np.float64)).astype(np.int64)):
                    out[start : start + step] += sums.astype(object) << (shift + width * place)
        return out

    def keeps(self, columns: np.ndarray) -> np.ndarray:
        """Say for each column whether it keeps low, high and ratio, exactly; shape (M,)."""
        n, mass = int(self.prior.sum()), self.mass(columns)
        top, bottom = columns.max(axis=0).astype(object), columns.min(axis=0).astype(object)
        good = np.ones(columns.shape[1], dtype=bool)
        if self.limits.high != math.inf:
            good &= (top * (n * self.limits.high.denominator) <= mass * self.limits.high.numerator).astype(bool)
        if self.limits.low > 0:
            good &= (bottom * (n * self.limits.low.denominator) >= mass * self.limits.low.numerator).astype(bool)
        if self.limits.ratio != math.inf:
            good &= (top * self.limits.ratio.denominator <= bottom * self.limits.ratio.numerator).astype(bool)
        return good

    @property
    def keeps_identity(self) -> bool:
        """Whether the channel that tells every secret keeps all limits, exactly: of it no matrix has to be made."""
        n, total, limits = len(self.prior), int(self.prior.sum()), self.limits
        even = n == 1 or (limits.low == 0 and limits.ratio == math.inf)
        return even and total <= limits.high * min(self.prior.tolist()) and n <= limits.capacity

    def keeps_all(self, integers: np.ndarray) -> bool:
        """Say whether rows with one sum keep all limits, also sum_y max_x W_xy <= capacity times that sum, exactly."""
        cap, tops = self.limits.capacity, integers.max(axis=0).astype(object)
        within = cap == math.inf or int(tops.sum()) <= cap * int(integers[0].sum())
        return bool(self.keeps(integers).all()) and within


def certified(weights: np.ndarray, lifts: np.ndarray, checker: Checker, bits: int, apart: bool = False) -> np.ndarray:
    """Return integers W of shape (N, M'), rows summing to 2^bits, that keep the limits exactly.

    `weights` (M,) and `lifts` (N, M) describe the channel w_y v_xy; outcomes too rare for the grid are dropped. The
    column that says nothing joins another one, or with `apart` stays an outcome of its own where it would fill zeros. A
    function of the secret stays one where the limits allow it.
    """
    whole = 2**bits
    told = np.rint(lifts * weights).astype(np.int64)
    if np.abs(lifts * weights - told).max() < _WHOLE and (told.sum(axis=1) == 1).all():
        told = told[:, told.any(axis=0)] * whole
        if checker.keeps_all(told):
            return told
    limits = checker.limits
    if apart and limits.low == 0 and limits.high != math.inf:
        weights, lifts = leveled(weights, lifts, checker)
    around = (limits.low, limits.high, limits.ratio, limits.capacity)
    room = min(1.0, *(exact.as_float(abs(v - 1)) for v in around))
    keep = weights * whole >= 1
    weights, lifts = weights[keep], lifts[:, keep]
    spare = 16.0 * (lifts.shape[1] + 16) / max(room, 1e-12) / whole
    while spare < 0.5:
        columns = _columns(weights * (1 - spare), lifts, checker, whole, apart)
        rest = whole - columns.sum(axis=1)
        if (rest >= 0).all() and checker.keeps(rest[:, None]).all():
            full = _absorbed(columns, rest, apart)
            if checker.keeps_all(full):
                return full
        spare *= 4
    return np.full((len(lifts), 1), whole, dtype=np.int64)


def leveled(weights: np.ndarray, lifts: np.ndarray, checker: Checker) -> tuple[np.ndarray, np.ndarray]:
    """Return (weights, lifts) whose columns with zeros keep these and an upper bound exactly, and still average to 1.

    What is between 0 and the largest lift makes up for what the others lack of the mean of 1: with rare secrets there,
    the last digit of the bound matters.
    """
    n, high = int(checker.prior.sum()), checker.limits.high
    out = lifts.copy()
    for y in range(lifts.shape[1]):
        top = lifts[:, y] >= lifts[:, y].max() * (1 - 1e-12)
        between = ~top & (lifts[:, y] > 0)
        if between.any() and not (top | between).all():
            level = (n / high - int(checker.prior[top].sum())) / int(checker.prior[between].sum())
            if 0 <= level <= 1:
                out[top, y], out[between, y] = float(high), float(level * high)
    return refined(weights, out.T), out


def _columns(weights: np.ndarray, lifts: np.ndarray, checker: Checker, whole: int, apart: bool) -> np.ndarray:
    """Return floored integer columns that each keep the limits; with `apart` zeros stay where that is possible."""
    columns = np.floor(lifts * (weights * whole)).astype(np.int64)
    bad = np.flatnonzero(~checker.keeps(columns))
    if len(bad) and checker.limits.low == 0 and checker.limits.high != math.inf:
        columns[:, bad] = _raised(columns[:, bad], checker, apart)
        bad = bad[~checker.keeps(columns[:, bad])]
    share = 2.0 / (whole * np.maximum(weights, 1 / whole))
    while len(bad):
        toward = np.minimum(share[bad], 1.0)
        columns[:, bad] = np.floor((1 + (1 - toward) * (lifts[:, bad] - 1)) * (weights[bad] * whole))
        bad = bad[~checker.keeps(columns[:, bad])]
        share *= 2
    return columns


def _raised(columns: np.ndarray, checker: Checker, apart: bool) -> np.ndarray:
    """Return columns whose entries between 0 and the largest are raised so that the largest is at most high times q.

    Where those are of rare secrets, which would have to rise far, the likeliest secret below the largest rises too,
    unless zeros are to stay.
    """
    high, n = checker.limits.high, int(checker.prior.sum())
    tops = columns.max(axis=0)
    below = columns < tops
    between = below & (columns > 0)
    if not apart:
        order = np.argsort(-checker.prior, kind="stable")
        likeliest = order[below[order].argmax(axis=0)]
        rare = _RARE * checker.mass(between.astype(np.int64)) < checker.mass(below.astype(np.int64))
        some = np.flatnonzero(rare.astype(bool) & between.any(axis=0))
        between[likeliest[some], some] = True
    share, mass = checker.mass(between.astype(np.int64)).tolist(), checker.mass(columns).tolist()
    lacking = [math.ceil(Fraction(top * n) / high) - have for top, have in zip(tops.tolist(), mass, strict=True)]
    rise = [min(max(0, -(-lack // own)), top) if own else 0
            for lack, own, top in zip(lacking, share, tops.tolist(), strict=True)]  # fmt: skip
    return np.where(between, np.minimum(columns + np.array(rise), tops), columns)


def _absorbed(columns: np.ndarray, rest: np.ndarray, apart: bool) -> np.ndarray:
    """Return the columns with `rest` added to the heaviest one, of those without a zero if there are any."""
    positive = (columns > 0).all(axis=0)
    if apart and not positive.any():
        return np.column_stack([columns, rest])
    out = columns.copy()
    out[:, int(np.argmax(columns.sum(axis=0) * np.where(positive, 1.0, 2.0**-60)))] += rest
    return out


def row_for_absent(low: np.ndarray, high: np.ndarray, mean: np.ndarray, whole: int) -> np.ndarray:
    """Return integers from `low` to `high` near the distribution `mean`, sum 2^b: the row of an absent secret."""
    row = np.clip(np.floor(mean * whole).astype(np.int64), low, high)
    lacking = whole - int(row.sum())
    room = (high - row) if lacking > 0 else (row - low)
    before = (np.cumsum(room.astype(object)) - room).clip(0, whole).astype(np.int64)
    row += int(np.sign(lacking)) * np.clip(abs(lacking) - before, 0, room)
    if int(row.sum()) != whole:
        raise DivulgeError("`prior` must leave room for a row of a secret that never occurs. Hint: drop that secret.")
    return row
