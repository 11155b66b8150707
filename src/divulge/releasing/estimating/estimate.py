"""From a released column back to how frequent the original values were, with intervals that hold."""

import contextlib
import itertools
import math
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.files.tables.source import TableLike
from divulge.late import late
from divulge.measures.numeric.inverses import inverse_of
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import open_share
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled, lowered, percent, raised
from divulge.releasing.drawing.coding import finder
from divulge.releasing.engine import Progress
from divulge.releasing.estimating import intervals
from divulge.releasing.estimating.contingency import Contingency
from divulge.releasing.estimating.counting import EngineName, contingency
from divulge.releasing.records.ran.mechanism import Mechanism, Ran
from divulge.releasing.records.ran.oracle import FrequencyOracle
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.receipt import Receipt

if TYPE_CHECKING:
    from pandas import DataFrame

POORLY_CONDITIONED = 100.0
"""From this condition number on, the answer carries a warning."""

_EXACT_UP_TO = 64
"""Values up to which the inverse is taken in fractions: their digits grow with N, and the time with N^4."""

MOST_TOGETHER = 1 << 20
"""Chances of combinations of values of columns that were perturbed each by itself: some seconds of fractions."""

_NOTHING_EXPLAINS = "no frequencies of the values lead to these rows by this mechanism"

_FOREIGN = (
    "an outcome comes up more often, or more rarely, than the mechanism lets it under any value: these rows do not "
    "come from this mechanism"
)


@dataclass(frozen=True, eq=False)
class Frequencies(Tabled, Record):
    """Estimated frequencies of the original values in one group of rows.

    Attributes
    ----------
    values : labels of the N original values
    frequency : float64 array of shape (N,)
        The estimate. Unbiased, and so maybe below 0 or above 1, unless `biased`.
    lower, upper : float64 arrays of shape (N,)
        Intervals that hold all at once with the stated confidence, for the values as well as for a population the rows
        are a random sample of. NaN for a biased method, and where no frequencies are within all of them (`empty`).
    rows : int
    confidence : float
    simultaneous : bool
    method : str
    condition : float
        Condition number of the mechanism: by how much it can magnify chance.
    group : label of the group, or None
    doubts : tuple of str
        What speaks against these rows coming from this mechanism, or this receipt.
    interval : str
        How the intervals were made.
    notes : tuple of str
        What to know of how the values were found.

    Examples
    --------
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    >>> found = estimate_frequencies({"ill": ["yes"] * 40 + ["no"] * 60}, coin, column="ill")
    >>> found.frequency.round(9).tolist(), round(found.condition, 9)  # (0.4 - 1/4) / (3/4 - 1/4), 1 / (1/2)
    ([0.3, 0.7], 2.0)
    """

    values: tuple[Hashable, ...]
    frequency: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rows: int
    confidence: float
    simultaneous: bool
    method: str
    condition: float
    group: Hashable = None
    doubts: tuple[str, ...] = ()
    interval: str = "exact"
    notes: tuple[str, ...] = ()

    @property
    def biased(self) -> bool:
        """Whether the method gives up unbiasedness for frequencies that are at least 0 and sum to 1."""
        return METHODS[self.method].biased

    @property
    def empty(self) -> bool:
        """Whether the confidence set is empty: no frequencies explain the rows at this confidence."""
        return not self.biased and bool(np.isnan(self.lower).any())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before relying on the numbers."""
        found = [*self.doubts, *self.notes]
        if self.empty:
            found.append(f"the {percent(self.confidence)} confidence set is empty: {_NOTHING_EXPLAINS}")
        if self.condition >= POORLY_CONDITIONED:
            found.append(f"the mechanism is poorly conditioned ({self.condition:.3g}): intervals are wide for the rows")
        if self.biased:
            found.append(f"{self.method} is biased toward the inside of the simplex and comes without intervals")
        elif self.interval in intervals.ASYMPTOTIC:
            found.append(
                f"{self.interval} intervals are asymptotic, and miss more often than stated where rows are few or "
                'values are rare; interval="exact" (--interval exact) holds for any number of rows'
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return {"rows", "confidence", "values": [{"value", "frequency", "lower", "upper"}], "condition", ...}.

        Examples
        --------
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> found = dv.estimate_frequencies({"ill": ["yes"] * 40 + ["no"] * 60}, coin, column="ill").to_dict()
        >>> [(one["value"], round(one["frequency"], 6)) for one in found["values"]]
        [('yes', 0.3), ('no', 0.7)]
        """
        columns = (self.values, *(part.tolist() for part in (self.frequency, self.lower, self.upper)))
        names = ("value", "frequency", "lower", "upper")
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        if self.biased or self.empty:
            rows = [{"value": row["value"], "frequency": row["frequency"]} for row in rows]
        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "method": self.method,
            "interval": None if self.biased else self.interval,
            "biased": self.biased,
            "empty": self.empty,
            "values": rows,
            "condition": self.condition,
            "warnings": list(self.warnings),
        }

    def to_frame(self) -> "DataFrame":
        """Return a pandas DataFrame, one row a value.

        Examples
        --------
        >>> table = {"ill": ["yes"] * 40 + ["no"] * 60}
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> list(dv.estimate_frequencies(table, coin, column="ill").to_frame().columns)
        ['frequency', 'lower', 'upper']
        """
        import pandas as pd

        columns = {"frequency": self.frequency, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame(columns, index=pd.Index(list(self.values), name="value", tupleize_cols=False))

    def _shown(self) -> tuple[str, Table]:
        kind = "biased, without intervals" if self.biased else f"{percent(self.confidence)} intervals"
        kind = f"{kind}: none holds, as the confidence set is empty" if self.empty else kind
        columns = np.column_stack([self.frequency, lowered(self.lower), raised(self.upper)])
        head = f"frequencies from {number_of(self.rows, 'row')} ({self.method}, {kind})"
        return head, (self.values, ["frequency", "lower", "upper"], columns)


class Decoding(Protocol):
    """Reports of a frequency protocol."""

    def frequencies(self, values: Sequence[Hashable] | None = None) -> "Frequencies":
        """Return how frequent values were among the senders."""
        ...


def estimate_frequencies(
    released: TableLike | Decoding,
    mechanism: ChannelLike | Receipt | str | os.PathLike[str],
    *,
    column: str | tuple[str, ...] | None = None,
    by: str | None = None,
    method: str = "inversion",
    confidence: float = 0.95,
    simultaneous: bool = True,
    interval: str = "exact",
    engine: EngineName = "local",
    values: Sequence[Hashable] | str | os.PathLike[str] | None = None,
    top: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return the estimated frequencies of the original values of a released column.

    Counts of outcomes, divided by the rows, are q = p C on average; p is estimated by q B with C B = I. That is
    unbiased for every table, and not clipped.

    Parameters
    ----------
    released : path, table or PySpark DataFrame; or Reports
        What was published.
    mechanism : Receipt, path of a receipt, or Channel; of Reports their Protocol
        The mechanism that was run.
    column : str, or tuple of str for several columns
        The released column; may be left out when the receipt names only one. Of several columns the shares of all
        combinations are estimated, whether they were perturbed together or each by itself.
    by : str, optional
        A public column: one estimate for each of its values, all of them simultaneous.
    method : "inversion", or "projection" or "em", which are biased
    confidence : float in (0, 1)
    simultaneous : bool
        Whether all intervals hold at once (Bonferroni) or each alone.
    interval : "exact", "bernstein" or "normal"
        "exact" intervals hold with the stated confidence for any number of rows, values and any skew: by Clopper and
        Pearson where the estimate is a share of rows (as for randomized response), else by betting. Empirical
        Bernstein intervals do too, and are wider. Normal ones are asymptotic: they miss more often than stated where
        rows are few or values rare, and carry a warning. Where a person's rows show one draw, which the receipt says,
        all intervals are Hoeffding's for independent people, whose numbers of rows it bounds.
    engine : "local" or "spark"
        Where the rows are counted; everything after that is the same.
    values : sequence of labels, or path of a file with one a line, optional
        Of reports of a protocol: the candidates that are asked for; all values of its list when not given.
    top : int, optional
        Of reports of a protocol, and of cells of places that were moved, whose shares are estimated by maximum
        likelihood, biased and without intervals: only so many of the most frequent ones; intervals hold over all that
        were looked at.
    progress : function of (rows done, rows in all, None where that is not known), optional
        Of reports of a protocol, whose decoding takes longest: called after every batch.

    Returns
    -------
    Frequencies, or {value of `by`: Frequencies}
        With a warning when the table is not the one that the receipt was written for: another number of rows, or a file
        with another digest.

    Raises
    ------
    DivulgeError
        When the mechanism cannot identify the frequencies (the combination that is lost is named), or when the column
        holds a value that is no outcome of the mechanism (with the count, never the value).

    References
    ----------
    Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.
    Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", arXiv:2010.09686.
    Maurer, Pontil, "Empirical Bernstein bounds and sample variance penalization", Theorem 4, arXiv:0907.3740.

    Examples
    --------
    >>> table = {"ill": ["yes"] * 40 + ["no"] * 60}
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    >>> estimate_frequencies(table, coin, column="ill").frequency.round(6).tolist()
    [0.3, 0.7]
    """
    confidence = open_share(confidence, "confidence")
    if hasattr(released, "support"):  # reports of a protocol
        reports: Any = released
        if reports.protocol != mechanism:
            raise DivulgeError.of("released", "be reports of the mechanism", "they", "those of another protocol")
        return reports.frequencies(values, top=top, confidence=confidence, simultaneous=simultaneous)
    receipt = Receipt.of(mechanism)
    apart = [] if receipt is None or isinstance(column, str) else _each_by_itself(receipt, tuple(column or ()))
    of_reports = any(isinstance(one, FrequencyOracle) for one in apart)
    oracle = None if receipt is None or apart else oracle_of(receipt, column)
    if of_reports or oracle is not None:
        usual = method == "inversion" and interval == "exact"
        if not usual:
            raise DivulgeError.of("method", "be left out for reports of a protocol, as interval", "it", "given")
        together = late("divulge.releasing.reports.together:together_frequencies")
        alone = late("divulge.releasing.reports.collected:collected_frequencies")
        return (together if of_reports else alone)(
            released,
            receipt,
            apart if of_reports else oracle,
            by=by,
            values=values,
            top=top,
            confidence=confidence,
            simultaneous=simultaneous,
            engine=engine,
            progress=progress,
        )
    moved = None if receipt is None else next((m for m in receipt.mechanisms if isinstance(m, MetricNoise)), None)
    if receipt is not None and moved is not None:
        if by is not None or values is not None:
            raise DivulgeError.of("by", "be left out for places that were moved, as values", "it", "given")
        return late("divulge.releasing.estimating.densities:densities")(released, receipt, moved, top, engine)
    if values is not None or top is not None:
        raise DivulgeError.of("values", "be asked of reports of a protocol", "it", "given for another release")
    for name, given, known in (("method", method, METHODS), ("interval", interval, intervals.INTERVALS)):
        if given not in known:
            raise DivulgeError.unknown(name, given, known)
    channel, columns = _mechanism(mechanism if receipt is None else receipt, column)
    null_as = None if receipt is None else receipt.null_as
    matrix = exact.as_floats(channel.matrix.toarray() if channel.sparse else channel.matrix)
    inverse = right_inverse(channel)
    condition = float(np.linalg.cond(matrix))
    counted = contingency(cast(TableLike, released), (*columns, *([by] if by else [])), engine=engine)
    groups = _counts(counted, channel, len(columns), null_as)
    doubted = () if receipt is None else doubts(receipt, released, counted.rows, engine)
    squares = None if receipt is None else receipt.protects.get("squares")
    families = len(channel.secrets) * len(groups) if simultaneous else 1
    found: dict[Hashable, Frequencies] = {}
    for group, counts in groups.items():
        estimate = METHODS[method].find(counts, matrix, inverse)
        if METHODS[method].biased:
            low = high = np.full(len(estimate), math.nan)
        else:
            risk = (1 - confidence) / families
            if squares is None:
                low, high = intervals.INTERVALS[interval](counts, matrix, inverse, risk)
            else:
                off = intervals.clustered(matrix, inverse, int(counts.sum()), squares, risk)
                low, high = estimate - off, estimate + off
            low, high = (intervals.within_simplex if simultaneous else intervals.within_one)(low, high)
        strange = squares is None and intervals.unlikely(counts, matrix)
        said = (*doubted, *([_FOREIGN] if strange else []))
        found[group] = Frequencies(
            tuple(channel.secrets), estimate, low, high, int(counts.sum()), confidence, simultaneous, method,
            condition, group, said, interval if squares is None else "exact",
        )  # fmt: skip
    return found if by else found[None]


def right_inverse(channel: Channel) -> np.ndarray:
    """Return B with C B = I, shape (M, N): the inverse of a square channel, else the pseudo-inverse.

    The inverse of an exact channel of up to 64 secrets is computed exactly, then rounded once.
    """
    floats = channel.floats.toarray() if channel.sparse else channel.floats
    if rank(floats) < floats.shape[0]:
        raise _lost(channel, floats)
    if channel.exact and floats.shape[0] == floats.shape[1] <= _EXACT_UP_TO:
        try:
            return exact.as_floats(exact.to_fractions(exact.fmpq_mat(channel.matrix).inv()))
        except ZeroDivisionError:
            raise _lost(channel, floats) from None
    return inverse_of(floats) if floats.shape[0] == floats.shape[1] else np.linalg.pinv(floats)


def rank(matrix: np.ndarray) -> int:
    """Return how many rows of a float matrix are linearly independent, as far as doubles tell.

    A release asks this of one matrix several times, and of its weights: powers of two aside, these are the same.
    """
    scaled = np.ascontiguousarray(np.ldexp(matrix, -int(np.frexp(matrix.max(initial=0.0))[1])))
    key = scaled.shape, blake2b(scaled.data, digest_size=32).digest()
    if key not in _RANKS:
        while len(_RANKS) >= _RANKS_KEPT:
            _RANKS.pop(next(iter(_RANKS)), None)
        _RANKS[key] = _rank(scaled)
    return _RANKS[key]


_RANKS: dict[tuple[tuple[int, ...], bytes], int] = {}
_RANKS_KEPT = 64
"""Ranks that are remembered, a hundred bytes each: a release asks for one a column, seven times."""


_WELL_CONDITIONED = 1e-3
"""Share of the limit of the singular values within which an inverse decides, as its own rounding is small there."""


def _rank(matrix: np.ndarray) -> int:
    """Return the rank by singular values; full where the inverse, in a third of the time, shows that none is small.

    The smallest is at least 1 / |A^-1|, the largest at most |A|, in Frobenius norms. Where |A| |A^-1| is a thousandth
    of what the limit allows, the inverse is known to three digits or more.
    """
    limit = max(matrix.shape) * np.finfo(float).eps
    if matrix.shape[0] == matrix.shape[1]:
        with contextlib.suppress(np.linalg.LinAlgError):
            if np.linalg.norm(matrix) * np.linalg.norm(inverse_of(matrix)) * limit < _WELL_CONDITIONED:
                return len(matrix)
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > values[0] * limit).sum())


def _lost(channel: Channel, matrix: np.ndarray) -> DivulgeError:
    """Say which combination of frequencies leaves no trace in the outcomes: a vector v with v C = 0."""
    direction = np.linalg.svd(matrix.T)[2][-1]
    largest = np.abs(direction) > 0.999 * np.abs(direction).max()
    direction = direction / direction[int(largest.argmax())]
    terms = [
        f"{'-' if w < 0 else '+'} {'' if abs(abs(w) - 1) < 1e-9 else f'{abs(w):.3g} '}P({label!r})"
        for w, label in zip(direction.tolist(), channel.secrets, strict=True)
        if abs(w) > 1e-9
    ]
    shown = " ".join(terms[:6]).removeprefix("+ ") + (" ..." if len(terms) > 6 else "")
    return DivulgeError.of(
        "mechanism", "let the frequencies be identified", "the combination that leaves no trace in its outcomes", shown,
        "such a release cannot be inverted; outcomes='values' and purpose='statistics' make one that can.",
    )  # fmt: skip


def oracle_of(receipt: Receipt, column: str | tuple[str, ...] | None) -> FrequencyOracle | None:
    """Return the protocol that ran on the column, where one did."""
    oracles = [one for one in receipt.mechanisms if isinstance(one, FrequencyOracle)]
    if not oracles or (column is None and len(receipt.mechanisms) > 1):
        return None
    known = {names for one in receipt.mechanisms for names in (one.columns, receipt.names_of(one))}
    wanted = oracles[0].columns if column is None else (column,) if isinstance(column, str) else tuple(column)
    found = receipt.mechanism_of(wanted if wanted in known or len(receipt.mechanisms) > 1 else oracles[0].columns)
    return found if isinstance(found, FrequencyOracle) else None


def _mechanism(mechanism: Any, column: str | tuple[str, ...] | None) -> tuple[Channel, tuple[str, ...]]:
    """Return (channel, columns it was run on)."""
    wanted = (column,) if isinstance(column, str) else tuple(column) if column is not None else None
    if isinstance(mechanism, Receipt):
        if wanted is None:
            if len(mechanism.mechanisms) != 1:
                known = "; ".join(", ".join(map(repr, part.columns)) for part in mechanism.mechanisms)
                raise DivulgeError.of("column", f"be named when several were released ({known})", "it", "not given")
            wanted = mechanism.mechanisms[0].columns
        apart = _each_by_itself(mechanism, wanted)
        parts = [mechanism.matrix_of(part.columns) for part in apart] or [mechanism.matrix_of(wanted)]
        return _side_by_side(parts), tuple(name for part in parts for name in mechanism.names_of(part))
    if wanted is None:
        raise DivulgeError.of("column", "be named when no receipt names it", "it", "not given")
    return as_channel(mechanism), wanted


def _each_by_itself(receipt: Receipt, wanted: tuple[str, ...]) -> list[Ran]:
    """Return what ran on several columns of which each was perturbed by itself; nothing for others."""
    known = {name: one for one in receipt.mechanisms if len(one.columns) == 1
             for name in (*one.columns, *receipt.names_of(one))}  # fmt: skip
    parts = [known[name] for name in dict.fromkeys(wanted) if name in known]
    return parts if 1 < len(parts) == len(wanted) else []


def _side_by_side(parts: Sequence[Mechanism]) -> Channel:
    """Return the mechanism on combinations of values: each column is drawn by itself, so that chances multiply."""
    channels = [part.channel.exact for part in parts]
    if len(channels) == 1:
        return channels[0]
    entries = math.prod(rows * columns for rows, columns in (one.shape for one in channels))
    if entries > MOST_TOGETHER:
        raise DivulgeError.of("column", f"have combinations with at most {MOST_TOGETHER:,} chances", "they",
                              f"{entries:,}", "fewer columns, or a coarser one, can be estimated.")  # fmt: skip
    secrets, outcomes = (list(itertools.product(*labels)) for labels in
                         ([one.secrets for one in channels], [one.outcomes for one in channels]))  # fmt: skip
    return Channel(reduce(Channel.product, channels).matrix, secrets, outcomes)


def doubts(receipt: Receipt, released: Any, rows: int, engine: str = "local") -> tuple[str, ...]:
    """Say why the receipt may be of another table; of what is no file or folder here, only the number of rows tells."""
    found: list[str] = []
    if rows != receipt.rows:
        found.append(f"the receipt was written for {number_of(receipt.rows, 'row')}, and the table has {rows:,}")
    same = True
    if receipt.digest is not None and isinstance(released, (str, os.PathLike)):
        by_workers = late("divulge.releasing.spark:digest_at")
        of_rows = receipt.table_format is not None
        if engine == "spark":
            same = by_workers(released, of_rows) in (None, receipt.digest)
        elif not of_rows:
            same = receipt.describes(released)
    if not same:
        found.append("the table is not the one the receipt was written for, to the byte: its digest is another")
    return tuple(found)


def _counts(found: Contingency, channel: Channel, width: int, null_as: Hashable) -> dict[Hashable, np.ndarray]:
    """Return {group: counts by outcome}; the group is None when there is no public column."""
    find = finder(channel.outcomes)
    groups: dict[Hashable, np.ndarray] = {}
    unknown = missing = 0
    for key, count in found.to_dict().items():
        parts = key if isinstance(key, tuple) and len(found.columns) > 1 else (key,)
        label = tuple(null_as if part is None else part for part in parts[:width])
        group = parts[width] if len(parts) > width else None
        j = find(label if width > 1 else label[0])
        if j is None:
            missing += count * (None in label)
            unknown += count * (None not in label)
            continue
        groups.setdefault(group, np.zeros(len(channel.outcomes), dtype=np.int64))[j] += count
    names = ", ".join(map(repr, found.columns[:width]))
    if missing:
        raise DivulgeError.of(
            "released", f"have a value in every row of {names}", "it", f"without one in {number_of(missing, 'row')}",
            "is this the table the receipt was written for?",
        )  # fmt: skip
    if unknown:
        raise DivulgeError.of(
            "released", f"hold only outcomes of the mechanism in {names}", "the number of rows with another value",
            f"{unknown:,}", "is this the table the receipt was written for?",
        )  # fmt: skip
    if not groups:
        raise DivulgeError.of("released", "have at least one row", "it", "empty")
    return groups


@dataclass(frozen=True)
class Method:
    """A way of estimating: a function of (counts, channel matrix, its right inverse), and whether it is biased."""

    find: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    biased: bool


def _inversion(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    return counts / counts.sum() @ inverse


def _projection(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the point of the simplex nearest to the unbiased estimate (Euclidean)."""
    v = _inversion(counts, matrix, inverse)
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def _em(counts: np.ndarray, matrix: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the maximum-likelihood frequencies, by expectation maximization until no ratio exceeds 1 by 1e-10."""
    q = counts / counts.sum()
    p = np.full(matrix.shape[0], 1 / matrix.shape[0])
    for _ in range(100_000):
        outcome = p @ matrix
        ratio = matrix @ np.divide(q, outcome, out=np.zeros_like(q), where=outcome > 0)
        p = p * ratio
        if float(ratio.max()) <= 1 + 1e-10:
            break
    return p / p.sum()


METHODS: dict[str, Method] = {
    "inversion": Method(_inversion, biased=False),
    "projection": Method(_projection, biased=True),
    "em": Method(_em, biased=True),
}
"""Name -> way of estimating."""
