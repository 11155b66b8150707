"""The rational mechanism that a float one is: its doubles at their exact values, every distribution over its sum.

Doubles such as 0.1, 0.2, 0.7 do not sum to 1 exactly. What they stand for is what they are in proportion to: the rows
of the channel and the prior, each divided by its exact sum. Exact entries sum to 1 and stay what they are.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.late import Kept
from divulge.model.channel import Channel
from divulge.model.entries import places, positive
from divulge.model.joint import Joint

_DIGITS = Fraction(1, 2**53)
"""By this share rounding to the nearest double changes a number at most."""


def exact_sum(values: Iterable[float]) -> Fraction:
    """Return the sum of doubles as a Fraction: what the correctly rounded sum leaves over is summed again."""
    terms = list(values)
    total = Fraction(0)
    while (part := math.fsum(terms)) != 0.0:
        total += Fraction(part)
        terms.append(-part)
    return total


class Rational:
    """Rows of a channel, and weights of its secrets, as fractions that sum to 1; columns are made when asked for."""

    def __init__(self, channel: Channel, matrix: Any, weights: np.ndarray | None = None, rounded: bool = False) -> None:
        self._matrix, self._weights, self._rounded = matrix, weights, rounded
        self.channel = channel

    @classmethod
    def of(cls, subject: Joint | Channel) -> "Rational":
        """Return the rational mechanism that a joint (secrets of positive probability only) or a channel stands for."""
        if isinstance(subject, Channel):
            return cls(subject, subject.matrix)
        return cls(subject.channel, subject.c, subject.p, rounded="rounded" in vars(subject))

    @Kept
    def rows(self) -> np.ndarray:
        """The positions of the rows that count."""
        if self._weights is None:
            return places(self._matrix.shape[0])
        return positive(self._weights)

    @cached_property
    def _floats(self) -> bool:
        return self._matrix.dtype != object

    @cached_property
    def totals(self) -> dict[int, Fraction]:
        """The exact sum of each row that counts."""
        if not self._floats:
            return dict.fromkeys(self.rows.tolist(), Fraction(1))
        if hasattr(self._matrix, "tocsr"):
            stored = self._matrix.tocsr()
            return {i: exact_sum(stored[[i]].data.tolist()) for i in self.rows.tolist()}
        return {i: exact_sum(self._matrix[i].tolist()) for i in self.rows.tolist()}

    @cached_property
    def _whole(self) -> bool:
        return all(total == 1 for total in self.totals.values())

    @cached_property
    def prior(self) -> list[Fraction]:
        """The weights of the rows that count."""
        if self._weights is None:
            raise AttributeError("a channel alone has no prior")
        given = self._weights[self.rows].tolist()
        total = exact_sum(given) if self._weights.dtype != object else Fraction(1)
        return [Fraction(p) / total for p in given]

    @cached_property
    def cover(self) -> Fraction:
        """A bound of the relative distance of ratios of probabilities from those of the doubles as they stand."""
        sums = list(self.totals.values()) if self._floats else []
        if self._weights is not None and self._weights.dtype != object:
            sums.append(exact_sum(self._weights.tolist()))
        off = max((abs(total - 1) for total in sums), default=Fraction(0))
        if off == 0 and not self._rounded:
            return Fraction(0)
        return 4 * (off + (sum(self._matrix.shape).bit_length() + 4) * _DIGITS)

    def column(self, j: int) -> list[Fraction]:
        """Return P(y | x) over the rows that count."""
        pairs = zip(self._entries(j), self.totals.values(), strict=True)
        return [Fraction(c) if t == 1 else Fraction(c) / t for c, t in pairs]

    def _entries(self, j: int) -> list[Any]:
        """Return the entries of a column, as they stand, over the rows that count."""
        if hasattr(self._matrix, "tocsc"):
            return self._matrix[:, [j]].toarray().ravel()[self.rows].tolist()
        return self._matrix[self.rows, j].tolist()

    def distinct(self, columns: Sequence[int]) -> list[int]:
        """Return the first of the columns in each group that holds the same entries in some order of equal rows.

        Rows are equal that have the same weight and the same sum: nothing that adds up a column, or takes its ends,
        tells the columns of a group apart.
        """
        weights = np.zeros(self._matrix.shape[0]) if self._weights is None else self._weights
        if not isinstance(self._matrix, np.ndarray) or not self._floats or weights.dtype == object:
            return list(columns)
        codes = {total: float(k) for k, total in enumerate(dict.fromkeys(self.totals.values()))}
        told = np.array([weights[self.rows], [codes[total] for total in self.totals.values()]])
        kinds = np.unique(told, axis=1, return_inverse=True)[1].ravel()
        found: dict[bytes, int] = {}
        for j in columns:
            entries = self._matrix[self.rows, j]
            order = np.lexsort((entries, kinds))
            found.setdefault(entries[order].tobytes(), j)
        return list(found.values())

    def outer(self, column: list[Fraction]) -> Fraction:
        """Return P(y), the mean of its column."""
        return exact.inner(self.prior, column)

    def ends(self, j: int) -> tuple[Fraction, Fraction]:
        """Return the smallest and the largest entry of a column."""
        if self._whole:
            entries = self._entries(j)
            return Fraction(min(entries)), Fraction(max(entries))
        column = self.column(j)
        return min(column), max(column)

    def row(self, i: int, as_given: bool = False) -> list[Fraction]:
        """Return the distribution of the outcome given the secret at position i, or its entries as they stand."""
        matrix = self._matrix.tocsr() if hasattr(self._matrix, "tocsr") else self._matrix
        entries = matrix[[i]].toarray().ravel() if hasattr(matrix, "tocsr") else matrix[i]
        total = 1 if as_given else self.totals[i]
        return [Fraction(c) / total for c in entries.tolist()]
