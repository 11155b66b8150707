"""How frequent combinations of values were, of columns that were perturbed each by itself: means of products over rows.

What a row says of a value x of one column is a weight g(y, x) of its outcome y, with the mean 1 where x is the value
of the row and 0 where it is another: (1[x in S_y] - q*) / (p* - q*) of a report, an entry of the right inverse of a
matrix. Columns are drawn independently of each other, so the product of weights has the mean 1 for the combination of
the row and 0 for all others, and its mean over rows estimates the share of the combination.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any
from typing import Protocol as Interface

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.model.labels import Labels, alphabet
from divulge.protocols.protocol import Protocol
from divulge.protocols.sets.prefixes import Prefixes
from divulge.releasing.drawing.coding import dictionary_of, finder
from divulge.releasing.engine import Progress
from divulge.releasing.estimating.estimate import MOST_TOGETHER, Frequencies, doubts, right_inverse
from divulge.releasing.estimating.intervals import by_betting
from divulge.releasing.planning.listed import read_values
from divulge.releasing.records.ran.mechanism import Mechanism, Ran
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.collected import counted, opened_by
from divulge.releasing.reports.decoding import checked, condition, positions, refuse_foreign, supporting
from divulge.releasing.reports.hashing import UNEVEN
from divulge.releasing.reports.part import read_reports, report_columns

MOST_BOUNDED = 1 << 14
"""So many combinations have intervals, of a millisecond each; of more the most frequent ones are asked for."""

MOST_AT_ONCE = 1 << 23
"""Marks of rows, and of combinations of all columns but one, that are held at a time: 32 megabytes."""


class Side(Interface):
    """One of the columns: its values, the marks that it sets in each row, and the weights of values by marks."""

    names: Labels
    weights: np.ndarray
    """What each mark adds to the weight of each value, shape (marks, values)."""
    uneven: float
    """By how much the mean of a weight may differ from 1 or 0."""

    @property
    def columns(self) -> list[str]:
        """The columns of the released table that it reads."""
        ...

    def marks(self, arrays: Sequence[Any]) -> np.ndarray:
        """Return the marks of rows, float32 of 0 and 1, shape (rows, marks)."""
        ...

    def outcomes(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the outcomes that a value tells apart, each as a sum of marks, (outcomes, marks), and its weights."""
        ...

    def squares(self, x: int) -> np.ndarray:
        """Return the mean squared weight of a value under itself, and the least and the greatest under others."""
        ...


class ReportSide:
    """A column of reports: a mark of every row, and one for each value that a report supports."""

    def __init__(self, protocol: Protocol, name: str, values: Sequence[Hashable] | None, key: bytes) -> None:
        if isinstance(protocol.sets, Prefixes):
            raise DivulgeError.of("column", "have reports of whole values, to be estimated with another", repr(name),
                                  "of reports of prefixes")  # fmt: skip
        self.protocol, self.columns = protocol, report_columns(protocol, name)
        self.names: Labels = protocol.values if values is None else alphabet(values, None, "values")
        require_room(len(self.names))
        self._at = positions(protocol, values, key)
        p, q = float(protocol.p_star), float(protocol.q_star)
        self.uneven = UNEVEN * protocol.hashed / (p - q)
        self.weights = np.vstack([np.full(len(self._at), -q / (p - q)), np.eye(len(self._at)) / (p - q)])
        self._squares = np.array([p * (1 - p) / (p - q) ** 2 + 1, *[q * (1 - q) / (p - q) ** 2] * 2])

    def marks(self, arrays: Sequence[Any]) -> np.ndarray:
        """Return the marks of rows; what is no report is refused."""
        return self.marks_of(*read_reports(self.protocol, arrays))

    def marks_of(self, reports: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Return the marks of reports; those that are none of the protocol are refused."""
        refuse_foreign(self.protocol, reports, seeds)
        found = np.ones((len(reports), len(self._at) + 1), dtype=np.float32)
        for x, code in enumerate(self._at):
            found[:, x + 1] = supporting(self.protocol, reports, seeds, np.full(len(reports), code))
        return found

    def outcomes(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return: supports the value, with (1 - q*)/(p* - q*), or does not, with -q*/(p* - q*)."""
        found = np.zeros((2, len(self._at) + 1))
        found[0, x + 1] = found[1, 0] = 1
        found[1, x + 1] = -1
        return found, self.weights[0, x] + np.array([self.weights[x + 1, x], 0])

    def squares(self, x: int) -> np.ndarray:
        """Return p*(1 - p*)/(p* - q*)^2 + 1 under the value, q*(1 - q*)/(p* - q*)^2 under others."""
        return self._squares


class MatrixSide:
    """A column that went through a matrix: a mark for each outcome, which one row in one place has."""

    def __init__(self, mechanism: Mechanism, name: str, null_as: Hashable) -> None:
        channel = mechanism.channel.exact
        self.columns, self.names, self.uneven = [name], channel.secrets, 0.0
        self.weights = right_inverse(channel).astype(float)
        self._matrix, self._null_as = exact.as_floats(channel.matrix), null_as
        self._find = finder(channel.outcomes)

    def marks(self, arrays: Sequence[Any]) -> np.ndarray:
        """Return the marks of rows; values that are no outcome are refused with their number."""
        values, where, missing = dictionary_of(arrays[0])
        known = [self._find(value) for value in values]
        known += [None if self._null_as is None else self._find(self._null_as)] * bool(missing)
        codes = np.array([-1 if j is None else j for j in known], dtype=np.int64)[where]
        unknown = int((codes < 0).sum())
        if unknown:
            raise DivulgeError.of(
                "released", f"hold only outcomes of the mechanism in {self.columns[0]!r}",
                "the number of rows with another value", f"{unknown:,}",
                "is this the table the receipt was written for?",
            )  # fmt: skip
        return np.eye(len(self.weights), dtype=np.float32)[codes]

    def outcomes(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all outcomes of the matrix."""
        return np.eye(len(self.weights)), self.weights[:, x]

    def squares(self, x: int) -> np.ndarray:
        """Return sum_y P(y | x') g(y, x)^2 for x' = x, and the least and the greatest of others."""
        means = self._matrix @ self.weights[:, x] ** 2
        others = np.delete(means, x)
        return np.array([means[x], others.min(initial=means[x]), others.max(initial=means[x])])


def require_room(combinations: int) -> None:
    """Refuse more combinations than are counted."""
    if combinations > MOST_TOGETHER:
        raise DivulgeError.of(
            "column", f"have at most {MOST_TOGETHER:,} combinations", "their number", f"{combinations:,}",
            "ask for candidates of each column: values={column: [...]} (--values FILE.json, or a table of them).",
        )  # fmt: skip


@dataclass(eq=False)
class Together:
    """Counts, batch by batch, how many rows have each combination of marks; from these come shares of combinations."""

    sides: Sequence[Side]
    rows: int = 0

    def __post_init__(self) -> None:
        require_room(math.prod(len(side.weights) for side in self.sides))
        self._counts = np.zeros([len(side.weights) for side in self.sides])

    @property
    def size(self) -> int:
        """How many counts it keeps."""
        return self._counts.size

    def add(self, *marks: np.ndarray) -> None:
        """Count rows by the marks of each column: exact, as no sum reaches the 2^24 of a float32."""
        *first, last = marks
        wide = max(math.prod(one.shape[1] for one in first), last.shape[1])
        step = max(1, MOST_AT_ONCE // wide)
        for start in range(0, len(last), step):
            part = slice(start, start + step)
            crossed = reduce(_crossed, (one[part] for one in first))
            self._counts += (crossed.T @ last[part]).astype(float).reshape(self._counts.shape)
        self.rows += len(last)

    def frequencies(
        self, top: Any, confidence: float, simultaneous: bool, families: int, squares: int | None, **more: Any
    ) -> Frequencies:
        """Return the shares of all combinations, or of the most frequent ones, with intervals that hold."""
        level, top = checked(confidence, top, self.rows)
        names = [side.names for side in self.sides]
        shape = [len(several) for several in names]
        size = math.prod(shape)
        if top is None and size > MOST_BOUNDED:
            raise DivulgeError.of("column", f"have at most {MOST_BOUNDED:,} combinations to be shown", "their number",
                                  f"{size:,}", "top=100 (--top 100) shows the most frequent.")  # fmt: skip
        shares = self._shares.ravel()
        shown = np.arange(size) if top is None else np.argsort(-shares, kind="stable")[:top]
        risk = (1 - level) / (size * families if simultaneous else 1)
        low, high = np.transpose([self._bounds(np.unravel_index(i, shape), risk, squares) for i in shown.tolist()])
        places = [map(int, np.unravel_index(i, shape)) for i in shown.tolist()]
        labels = tuple(tuple(several[k] for several, k in zip(names, at, strict=True)) for at in places)
        return Frequencies(labels, shares[shown], np.clip(low, 0, 1), np.clip(high, 0, 1), self.rows, level,
                           simultaneous, "inversion", self._condition, **more)  # fmt: skip

    @cached_property
    def _condition(self) -> float:
        return math.prod(
            condition(side.protocol) if isinstance(side, ReportSide) else float(np.linalg.cond(side.weights))
            for side in self.sides
        )

    @property
    def _shares(self) -> np.ndarray:
        """The mean product of weights for each combination of values."""
        found = self._counts
        for side in self.sides:
            found = np.tensordot(found, side.weights, axes=(0, 0))
        return found / self.rows

    def _bounds(self, at: Any, risk: float, squares: int | None) -> tuple[float, float]:
        """Return bounds on the share of one combination, which miss with probability at most risk.

        By betting; where k rows of a person show the same draws, and the sum of k^2 is at most `squares`, Hoeffding's.
        """
        counts, weights = self._counts, np.ones(1)
        for side, x in zip(self.sides, at, strict=True):
            outcomes, own = side.outcomes(int(x))
            used = np.flatnonzero(outcomes.any(axis=0))
            counts = np.tensordot(counts.take(used, axis=0), outcomes[:, used], axes=(0, 1))
            weights = np.multiply.outer(weights, own)
        weights, counts = weights.ravel(), np.rint(counts.ravel()).astype(np.int64)
        least, spread = float(weights.min()), float(np.ptp(weights))
        uneven = math.prod(1 + side.uneven for side in self.sides) - 1
        if squares is not None:
            middle = float(counts @ weights) / self.rows
            off = spread * math.sqrt(math.log(2 / risk) * squares / 2) / self.rows
            return middle - off - uneven, middle + off + uneven
        low, high = by_betting(counts, (weights - least) / spread, risk, self._variances(at, spread))
        return least + spread * low - uneven, least + spread * high + uneven

    def _variances(self, at: Any, spread: float) -> tuple[float, float]:
        """Return between what the variance of a product of weights lies, in units of their range squared.

        Of all combinations of the value of a row being the one in question, or another, in each column.
        """
        own, least, most = zip(*(side.squares(int(x)) for side, x in zip(self.sides, at, strict=True)), strict=True)
        low = [math.prod(part) - (part == own) for part in itertools.product(*zip(own, least, strict=True))]
        high = [math.prod(part) for part in itertools.product(*zip(own, most, strict=True))]
        return max(0.0, min(low)) / spread**2, max(high) / spread**2


def together_frequencies(
    released: Any,
    receipt: Receipt,
    parts: Sequence[Ran],
    *,
    by: str | None,
    values: Any,
    top: Any,
    confidence: float,
    simultaneous: bool,
    engine: Any,
    progress: Progress | None,
) -> Any:
    """Return the Frequencies of combinations of columns, each perturbed by itself, or {value of `by`: Frequencies}."""
    listed = {} if values is None else read_values(values)
    sides = [_side(receipt, part, listed) for part in parts]
    found: dict[Hashable, Together] = counted(
        opened_by(released, engine, progress), [name for side in sides for name in side.columns], by,
        lambda: Together(sides),
        lambda batch: [side.marks([batch.column(name) for name in side.columns]) for side in sides],
    )  # fmt: skip
    said = doubts(receipt, released, sum(one.rows for one in found.values()), engine)
    squares = receipt.protects.get("squares")
    made = {
        label: one.frequencies(top, confidence, simultaneous, len(found), squares, group=label, doubts=said)
        for label, one in found.items()
    }
    return made if by else made[None]


def _side(receipt: Receipt, part: Ran, listed: Mapping[str, Sequence[Hashable]]) -> Side:
    """Return one of the columns, with the candidates that are asked for under its own name or that of the output."""
    (own,), (name,) = part.columns, receipt.names_of(part)
    values = listed.get(own, listed.get(name))
    if isinstance(part, FrequencyOracle):
        return ReportSide(part.protocol, name, values, part.key)
    if values is not None:
        raise DivulgeError.of("values", "be asked of columns of reports", repr(own), "given for a matrix",
                              "all values of a matrix are estimated.")  # fmt: skip
    return MatrixSide(receipt.matrix_of(part.columns), name, receipt.null_as)


def _crossed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the products of all pairs of marks of each row, shape (rows, marks of both)."""
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
