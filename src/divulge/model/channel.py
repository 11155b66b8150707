"""What is released: a row-stochastic matrix C with C_xy = P(y | x)."""

import math
import operator
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.late import Kept
from divulge.model import labels as _labels
from divulge.model.arraylike import Matrix
from divulge.model.entries import (
    CLEAN,
    FAINT,
    MOST_EXACTLY,
    TOLERANCE,
    entries,
    floats_of,
    frozen,
    kept_whole,
    normalized,
    ready,
    short_floats,
    why_not_shares,
)
from divulge.model.labels import Labels
from divulge.model.shown import Table, Tabled, size_text
from divulge.model.tables import axis_labels, is_labelled_array, is_table, labelled_frame, labelled_matrix, polars_frame
from divulge.panels import weighted_sum

if TYPE_CHECKING:
    import pandas
    import polars

_HINT = "rows are secrets, columns are outcomes; for counts use Joint.from_counts."


SMALL = 1 << 16
"""Entries of a matrix beside which another of its size may be kept: half a megabyte of float64."""


def is_small(matrix: Any) -> bool:
    """Say whether `matrix` is a dense float one with so few entries that another of its size may be kept."""
    return type(matrix) is np.ndarray and matrix.dtype.char == "d" and matrix.size <= SMALL


def is_sparse(matrix: Any) -> bool:
    """Say whether `matrix` is a scipy.sparse matrix or array (without importing scipy)."""
    return type(matrix).__module__.startswith("scipy.sparse")


class Channel(Tabled):
    """A mechanism on finite alphabets: row x is the distribution of the outcome when the secret is x.

    Parameters
    ----------
    matrix : array_like or scipy.sparse matrix of shape (N, M), table, mapping of mappings, or Channel
        Entries at least 0, every row sums to 1 within 1e-9 (then renormalized). Float64, or exact when an entry is a
        Fraction, int or text such as "3/4". Sparse matrices stay sparse (float64, CSC). A contiguous float64 array of a
        million entries or more is not copied but made read-only: give a copy of it to go on writing to it.
    secrets, outcomes : sequences of hashable labels, optional
        0, 1, ... when not given.

    Examples
    --------
    >>> Channel([["3/4", "1/4"], ["1/4", "3/4"]], secrets=["b", "g"], outcomes=["b", "g"])
    exact Channel, 2 secrets x 2 outcomes
         b    g
    b  3/4  1/4
    g  1/4  3/4
    """

    __slots__ = ("__dict__", "matrix", "outcomes", "secrets")
    __array_priority__ = 1000  # so that `array @ channel` is the channel's to answer

    matrix: Any
    secrets: Labels
    outcomes: Labels

    def __init__(
        self,
        matrix: "Channel | Matrix",
        secrets: Iterable[Hashable] | None = None,
        outcomes: Iterable[Hashable] | None = None,
    ) -> None:
        array = ready(matrix, 2)
        if array is None and (kept := kept_whole(matrix)) is not None:
            array, vars(self)["mean_row"] = kept
        whole = array is not None
        if array is None:
            matrix, secrets, outcomes = _unpacked(matrix, secrets, outcomes)
            place = _place(secrets, outcomes)
            array = _checked_sparse(matrix) if is_sparse(matrix) else entries(matrix, "channel", 2, place)
        if 0 in array.shape:
            raise DivulgeError.of("channel", "have at least one secret and one outcome", "its shape", str(array.shape))
        rows = _labels.alphabet(secrets, array.shape[0], "secrets")
        columns = _labels.alphabet(outcomes, array.shape[1], "outcomes")
        if not whole and is_sparse(array):
            array = _normalized_sparse(array, rows)
        else:
            if not whole:
                array = normalized(array, "channel", _row_sums(rows), short_floats(matrix) or _HINT)
            frozen(array)
        _set_matrix(self, array)
        _set_secrets(self, rows)
        _set_outcomes(self, columns)
        if whole:
            vars(self)["floats"] = array

    @classmethod
    def from_weights(
        cls,
        weights: np.ndarray,
        total: int,
        secrets: Iterable[Hashable] | None = None,
        outcomes: Iterable[Hashable] | None = None,
    ) -> "Channel":
        """Return the exact channel with entries weights / total, for an integer array whose rows sum to `total`.

        Equal weights share one Fraction, so that large channels are built quickly; the integers stay beside them.

        Examples
        --------
        >>> Channel.from_weights(np.array([[3, 1], [1, 3]]), 4).matrix[0].tolist()
        [Fraction(3, 4), Fraction(1, 4)]
        """
        whole = np.asarray(weights)
        if whole.ndim != 2 or 0 in whole.shape or whole.dtype.kind not in "iu":
            raise DivulgeError.of("weights", "be a matrix of integers", "it", f"{whole.dtype} of shape {whole.shape}")
        if not ((whole >= 0).all() and (whole.sum(axis=1) == total).all()):
            raise DivulgeError.of("weights", f"be at least 0 in rows that sum to {total}", "some row", "different")
        distinct, where = np.unique(whole, return_inverse=True)
        values = np.empty(len(distinct), dtype=object)
        values[:] = [Fraction(v, total) for v in distinct.tolist()]
        out = cls.__new__(cls)
        where = where.reshape(whole.shape)
        object.__setattr__(out, "matrix", frozen(values[where]))
        object.__setattr__(out, "floats", frozen(values.astype(np.float64)[where]))
        object.__setattr__(out, "integers", (frozen(whole.copy()), total))
        object.__setattr__(out, "secrets", _labels.alphabet(secrets, whole.shape[0], "secrets"))
        object.__setattr__(out, "outcomes", _labels.alphabet(outcomes, whole.shape[1], "outcomes"))
        return out

    @property
    def shape(self) -> tuple[int, int]:
        """(number of secrets N, number of outcomes M)."""
        return self.matrix.shape

    @property
    def sparse(self) -> bool:
        """Whether the matrix is a scipy.sparse one."""
        return is_sparse(self.matrix)

    @property
    def exact(self) -> bool:
        """Whether the entries are Fractions."""
        return self.matrix.dtype.hasobject

    @Kept
    def floats(self) -> Any:
        """The matrix as float64, shape (N, M); sparse stays sparse."""
        return self.matrix if self.sparse else floats_of(self.matrix)

    @Kept
    def integers(self) -> tuple[np.ndarray, int] | None:
        """(whole numbers (N, M), the sum of each of their rows) where the channel was made from such; else None."""
        return None

    @cached_property
    def mean_row(self) -> np.ndarray:
        """The mean of the rows: the distribution of the outcome under the uniform prior, float64 of shape (M,)."""
        shares = np.full(self.shape[0], 1.0 / self.shape[0])
        return frozen(np.asarray(shares @ self.matrix).ravel() if self.sparse else weighted_sum(self.floats, shares))

    def column(self, outcome: Hashable) -> np.ndarray:
        """Return P(outcome | x) for every x, shape (N,).

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> coin.column("yes").tolist()
        [Fraction(3, 4), Fraction(1, 4)]
        """
        j = _labels.position(self.outcomes, outcome, "outcome")
        return self.matrix[:, [j]].toarray().ravel() if self.sparse else self.matrix[:, j]

    def row(self, secret: Hashable) -> np.ndarray:
        """Return P(y | secret) for every y, shape (M,).

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> coin.row("sick").tolist()
        [Fraction(3, 4), Fraction(1, 4)]
        """
        i = _labels.position(self.secrets, secret, "secret")
        return self.matrix[[i]].toarray().ravel() if self.sparse else self.matrix[i]

    def aligned(self, secrets: Labels, argument: str = "channel", other: str = "the prior") -> "Channel":
        """Return this channel with its rows in the order of `secrets`, under their names.

        Default names 0, 1, ... give way to those of this channel.

        Raises
        ------
        LabelError
            When the secrets are others.

        Examples
        --------
        >>> Channel([["3/4", "1/4"], ["0", "1"]], ["a", "b"]).aligned(["b", "a"])
        exact Channel, 2 secrets x 2 outcomes
             0    1
        b    0    1
        a  3/4  1/4
        """
        order = _labels.alignment(secrets, self.secrets, argument, other)
        own = self.secrets if order is None else [self.secrets[i] for i in order]
        named = own if _labels.is_default(secrets) else secrets
        if order is None and tuple(named) == tuple(self.secrets):
            return self
        return Channel(self.matrix if order is None else self.matrix[order], named, self.outcomes)

    def then(self, post: "Channel | Matrix") -> "Channel":
        """Return this channel followed by `post`, a channel from its outcomes (post-processing): the product C R.

        Examples
        --------
        >>> Channel([["3/4", "1/4"], ["1/4", "3/4"]]).then([["1", "0"], ["1/2", "1/2"]]).row(0).tolist()
        [Fraction(7, 8), Fraction(1, 8)]
        """
        after = post if isinstance(post, Channel) else Channel(post)
        order = _labels.alignment(self.outcomes, after.secrets, "post", "this channel's outcomes")
        right = after.matrix if order is None else after.matrix[order]
        return Channel(_product(self.matrix, right), self.secrets, after.outcomes)

    def __matmul__(self, other: "Channel | Matrix") -> "Channel":
        """Return `self @ other`: a channel D from Z to X before the channel C from X to Y (pre-processing) is D C."""
        return self.then(other)

    def __rmatmul__(self, other: Matrix) -> "Channel":
        return Channel(other).then(self)

    def alongside(self, other: "Channel | Matrix") -> "Channel":
        """Return both releases about one secret, drawn independently: outcomes are pairs, P(y, z | x) = C_xy D_xz.

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> both = coin.alongside(coin)
        >>> both.outcomes, [str(entry) for entry in both.row("sick")]
        ((('yes', 'yes'), ('yes', 'no'), ('no', 'yes'), ('no', 'no')), ['9/16', '3/16', '3/16', '1/16'])
        """
        second = other if isinstance(other, Channel) else Channel(other)
        second = second.aligned(self.secrets, "other", "this channel's secrets")
        left, right = _dense(self.matrix), _dense(second.matrix)
        pairs = _kept(lambda a, b: a[:, :, None] * b[:, None, :], left, right)
        return Channel(pairs.reshape(len(left), -1), second.secrets, _pairs(self.outcomes, second.outcomes))

    def product(self, other: "Channel | Matrix") -> "Channel":
        """Return the two mechanisms on two independent secrets: secrets and outcomes are pairs (Kronecker product).

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> coin.product(coin).shape, coin.product(coin).row(("sick", "well")).tolist()
        ((4, 4), [Fraction(3, 16), Fraction(9, 16), Fraction(1, 16), Fraction(3, 16)])
        """
        second = other if isinstance(other, Channel) else Channel(other)
        left, right = _dense(self.matrix), _dense(second.matrix)
        pairs = _kept(lambda a, b: a[:, None, :, None] * b[None, :, None, :], left, right)
        pairs = pairs.reshape(len(left) * len(right), -1)
        return Channel(pairs, _pairs(self.secrets, second.secrets), _pairs(self.outcomes, second.outcomes))

    @overload
    def to_frame(self, library: Literal["pandas"] = "pandas") -> "pandas.DataFrame": ...

    @overload
    def to_frame(self, library: Literal["polars"]) -> "polars.DataFrame": ...

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> "pandas.DataFrame | polars.DataFrame":
        """Return a pandas DataFrame: index = secrets, columns = outcomes.

        In polars the secrets are the first column, labels are text, and fractions become floats.

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> coin.to_frame().loc["sick", "yes"]
        Fraction(3, 4)
        """
        if library == "polars":
            return polars_frame("secret", self.secrets, dict(zip(self.outcomes, _dense(self.matrix).T, strict=True)))
        return labelled_frame(_dense(self.matrix), self.secrets, self.outcomes)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return {"secrets", "outcomes", "matrix"} as lists; exact entries become text such as "3/4".

        Examples
        --------
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["sick", "well"], ["yes", "no"])
        >>> coin.to_dict()["matrix"]
        [['3/4', '1/4'], ['1/4', '3/4']]
        """
        rows = [[str(v) for v in row] if self.exact else row.tolist() for row in _dense(self.matrix)]
        return {"secrets": list(self.secrets), "outcomes": list(self.outcomes), "matrix": rows}

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield the rows: with them, and `__array__`, a table library takes the entries without the labels."""
        return iter(_dense(self.matrix))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(_dense(self.matrix), dtype=dtype) if copy or dtype else _dense(self.matrix)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Channel is immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        if self.shape != other.shape or tuple(self.secrets) != tuple(other.secrets):
            return False
        if tuple(self.outcomes) != tuple(other.outcomes):
            return False
        if self.sparse and other.sparse:
            return (self.matrix != other.matrix).nnz == 0
        return bool((_dense(self.matrix) == _dense(other.matrix)).all())

    def __hash__(self) -> int:
        return hash((self.shape, tuple(self.secrets), tuple(self.outcomes)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Channel, (self.matrix, self.secrets, self.outcomes))

    def _shown(self) -> tuple[str, Table]:
        kind = "exact Channel" if self.exact else "sparse Channel" if self.sparse else "Channel"
        head = f"{kind}, {size_text(*self.shape)}"
        return head, (self.secrets, self.outcomes, self.matrix)


def _unpacked(matrix: Any, secrets: Any, outcomes: Any) -> tuple[Any, Any, Any]:
    """Split what carries its own labels (Channel, table, mapping of mappings) into matrix and labels."""
    if isinstance(matrix, Channel):
        return matrix.matrix, _given(secrets, matrix.secrets), _given(outcomes, matrix.outcomes)
    if hasattr(matrix, "under"):  # a protocol, written out where it is small
        return _unpacked(matrix.channel(), secrets, outcomes)
    if is_table(matrix):
        values, rows, columns = labelled_matrix(matrix, "channel")
        return values, _given(secrets, rows), _given(outcomes, columns)
    if is_labelled_array(matrix) and matrix.ndim == 2:
        rows, columns = axis_labels(matrix)
        return matrix.values, _given(secrets, rows), _given(outcomes, columns)
    if isinstance(matrix, (str, os.PathLike)):
        raise DivulgeError.of("channel", "be a matrix of numbers", "it", "text", "read_channel reads it from a file.")
    if isinstance(matrix, Mapping) and not is_sparse(matrix):
        rows = list(matrix)
        if not all(isinstance(row, Mapping) for row in matrix.values()):
            raise DivulgeError.of("channel", "map each secret to a mapping {outcome: probability}", "it", "otherwise")
        columns = list(dict.fromkeys(outcome for row in matrix.values() for outcome in row))
        if secrets is not None or outcomes is not None:
            raise DivulgeError.of("secrets", "be absent when a mapping brings the labels", "it", "given as well")
        return [[row.get(outcome, 0.0) for outcome in columns] for row in matrix.values()], rows, columns
    return matrix, secrets, outcomes


def _given(labels: Any, otherwise: Any) -> Any:
    return otherwise if labels is None else labels


def _place(secrets: Any, outcomes: Any) -> Any:
    def place(index: tuple[int, ...]) -> str:
        names = []
        for name, labels, i in zip(("row", "column"), (secrets, outcomes), index, strict=False):
            known = list(labels)[i : i + 1] if labels is not None else []
            names.append(f"{name} {known[0]!r}" if known else f"{name} {i}")
        return "the entry in " + ", ".join(names)

    return place


def _row_sums(rows: Labels) -> Any:
    return lambda i: "have rows that sum to" if i < 0 else f"row {rows[i]!r} sums to"


def _checked_sparse(matrix: Any) -> Any:
    import scipy.sparse as sp

    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        found = f"a sparse array with {matrix.ndim} axes of dtype {matrix.dtype}"
        raise DivulgeError.of("channel", "have 2 axes of numbers", "it", found)
    array = sp.csc_array(matrix, dtype=np.float64, copy=True)
    array.sum_duplicates()
    array.data = entries(array.data, "channel", 1, lambda index: f"stored entry {index[0]}")
    array.eliminate_zeros()
    return array


def _normalized_sparse(array: Any, rows: Labels) -> Any:
    sums = np.asarray(array.sum(axis=1)).ravel()
    off = np.flatnonzero(~(np.abs(sums - 1.0) <= TOLERANCE))
    if off.size:
        what, i = _row_sums(rows), int(off[0])
        hint = why_not_shares(sums, np.asarray(array.sum(axis=0)).ravel()) or _HINT
        raise DivulgeError(
            f"`channel` must {what(-1)} 1 (tolerance {TOLERANCE:g}); {what(i)} {sums[i]:.12g}. Hint: {hint}"
        )
    sums[np.abs(sums - 1.0) <= CLEAN] = 1.0
    array.data /= sums[array.indices]
    for part in (array.data, array.indices, array.indptr):
        frozen(part)
    return array


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if is_sparse(matrix) else matrix


def _product(left: Any, right: Any) -> Any:
    """Return the matrix product; exact when both sides are, or doubles would lose an entry; sparse when both are."""
    if is_sparse(left) or is_sparse(right):
        return _kept(operator.matmul, *(one if is_sparse(one) else exact.as_floats(one) for one in (left, right)))
    if exact.is_exact(left, right):
        return exact.product(left, right)
    return _kept(operator.matmul, exact.as_floats(left), exact.as_floats(right))


def _kept(times: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the product of two matrices; that of doubles in fractions where an entry would underflow."""
    product = times(left, right)
    if product.dtype == object or _least(left) * _least(right) >= FAINT:
        return product
    possible = times(*((one > 0) * 1.0 for one in (left, right))) > 0
    lost = possible.astype(float) - (product >= FAINT).astype(float)
    if not (lost.nnz if is_sparse(lost) else lost.any()):
        return product
    rows = [exact.as_fractions(_dense(one)) for one in (left, right) if one.shape[0] * one.shape[1] <= MOST_EXACTLY]
    if len(rows) < 2 or math.prod(product.shape) > MOST_EXACTLY:
        raise DivulgeError.of(
            "channel", "have products of probabilities above 1e-289, or be smaller", "one", "less",
            "put outcomes that are so unlikely together, or leave them out.",
        )  # fmt: skip
    return exact.product(*rows) if times is operator.matmul else times(*rows)


def _least(matrix: Any) -> float:
    """Return the least entry of doubles that is above 0."""
    entries = exact.as_floats(matrix.data if is_sparse(matrix) else matrix)
    return float(entries.min(initial=math.inf, where=entries > 0))


def _pairs(first: Labels, second: Labels) -> tuple[tuple[Hashable, Hashable], ...]:
    return tuple((a, b) for a in first for b in second)


# A Channel is immutable to all others; its own slots are set without a search for the attribute.
_set_matrix: Any = vars(Channel)["matrix"].__set__
_set_secrets: Any = vars(Channel)["secrets"].__set__
_set_outcomes: Any = vars(Channel)["outcomes"].__set__
