"""A channel whose entries are whole multiples of 2^-bits: what can be drawn, and certified, without any rounding."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import frozen, whole_number
from divulge.model.labels import Labels
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled, size_text

MOST_BITS = 62
"""A row of sum 2^bits, and twice it, is held by int64, which ends at 2^63 - 1."""

_HALF = 31
"""Bits of the lower half of a weight: sums of four billion halves are held by int64."""


@dataclass(frozen=True, eq=False, repr=False)
class IntegerChannel(Tabled, Record):
    """Rows of whole numbers w_xy that sum to exactly 2^bits; P(y | x) = w_xy / 2^bits.

    Attributes
    ----------
    weights : int64 array of shape (N, M)
    bits : int
        At most 62.
    secrets, outcomes : labels of the N rows and M columns
    rounded : bool
        Whether the channel it was made from had entries that are not multiples of 2^-bits.

    Examples
    --------
    >>> IntegerChannel.of([["3/4", "1/4"], ["1/4", "3/4"]], bits=2).weights.tolist()
    [[3, 1], [1, 3]]
    """

    weights: np.ndarray
    bits: int
    secrets: Labels
    outcomes: Labels
    rounded: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = self.weights.dtype == np.int64 and self.weights.ndim == 2 and bool((self.weights >= 0).all())
        halves = (self.weights >> _HALF, self.weights & ((1 << _HALF) - 1)) if whole else ()  # whose sums have int64
        high, low = (half.sum(axis=1).tolist() for half in halves) if whole else ([], [])
        sums = [(above << _HALF) + below for above, below in zip(high, low, strict=True)]
        if not (whole and 1 <= self.bits <= MOST_BITS and all(total == 1 << self.bits for total in sums)):
            raise DivulgeError.of("weights", "be whole numbers at least 0 in rows of sum 2^bits", "a row", "otherwise")
        if self.weights.shape != (len(self.secrets), len(self.outcomes)):
            raise DivulgeError.of("weights", "have a label a row and a column", "its shape", str(self.weights.shape))

    def _compared(self) -> list[Any]:
        """Return what makes two alike: numbers of outcomes that have no names are the same read from a record."""
        return [self.weights, self.bits, tuple(self.secrets), tuple(self.outcomes), self.rounded]

    @classmethod
    def of(cls, channel: ChannelLike, bits: int = 53, *, raise_small: bool = False) -> "IntegerChannel":
        """Return `channel` rounded to multiples of 2^-bits, by largest remainder; zeros stay zeros.

        A channel whose entries are such multiples comes back as it is. A positive entry that would become 0, an
        infinite epsilon, is refused; with `raise_small` it becomes 2^-bits at the cost of its row's largest entry.
        Whatever is claimed of the channel afterwards must be computed from the result: see `exact`.

        Parameters
        ----------
        channel : Channel or what converts to one, shape (N, M)
        bits : int, at most 62
        raise_small : bool

        Raises
        ------
        DivulgeError
            When a positive entry is too small for the grid.

        Examples
        --------
        >>> IntegerChannel.of([["1/3", "2/3"]], bits=3).weights.tolist()
        [[3, 5]]
        """
        if isinstance(channel, IntegerChannel):
            return channel
        channel = as_channel(channel)
        bits = whole_number(bits, "bits", 1, MOST_BITS)
        if channel.integers is not None and not (1 << bits) % channel.integers[1]:
            whole, total = channel.integers
            return cls(frozen(whole.astype(np.int64) * ((1 << bits) // total)), bits, channel.secrets, channel.outcomes)
        matrix = channel.matrix.toarray() if channel.sparse else channel.matrix
        floors, rests = (_exact_floors if channel.exact else _float_floors)(matrix, bits)
        positive = (floors > 0) | (rests > 0) if channel.exact else matrix > 0
        weights = _filled(floors, rests, positive, bits)
        lost = positive & (weights == 0)
        if lost.any():
            if not raise_small:
                x, y = (int(i) for i in np.argwhere(lost)[0])
                raise DivulgeError.of(
                    "channel", f"have positive entries that survive rounding to multiples of 2^-{bits}",
                    f"the entry of secret {channel.secrets[x]!r}, outcome {channel.outcomes[y]!r}",
                    f"{float(matrix[x, y]):.3g}, which would become 0, an infinite epsilon",
                    f"ask for more bits (at most {MOST_BITS}), for raise_small=True, or design without such entries.",
                )  # fmt: skip
            weights[lost] = 1
            weights[np.arange(len(weights)), weights.argmax(axis=1)] -= lost.sum(axis=1)
        same = not bool((rests != 0).any()) and bool((weights == floors).all())
        return cls(frozen(weights), bits, channel.secrets, channel.outcomes, rounded=not same)

    def moved(self, units: int) -> "IntegerChannel":
        """Return the channel with so many units more in each outcome that no secret rules out, taken from all entries
        of a row in proportion: a mixture with one that tells nothing, rounded by largest remainder; zeros stay zeros.

        Examples
        --------
        >>> IntegerChannel.of([["3/4", "1/4"], ["1/4", "3/4"]], bits=4).moved(2).weights.tolist()
        [[11, 5], [5, 11]]
        """
        never = (self.weights > 0).all(axis=0)
        taken = self.weights * (units * int(never.sum()) / 2.0**self.bits)
        up = np.ceil(taken)
        floors = self.weights + units * never - up.astype(np.int64)
        weights = _filled(floors, up - taken, self.weights > 0, self.bits)
        return IntegerChannel(frozen(weights), self.bits, self.secrets, self.outcomes, rounded=True)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of secrets N, number of outcomes M)."""
        return self.weights.shape[0], self.weights.shape[1]

    def _shown(self) -> tuple[str, Table]:
        head = f"IntegerChannel in multiples of 2^-{self.bits}, {size_text(*self.shape)}"
        return head, (self.secrets, self.outcomes, self.weights / (1 << self.bits))

    @cached_property
    def exact(self) -> Channel:
        """The same channel with Fractions as entries: what is certified."""
        return Channel.from_weights(self.weights, 1 << self.bits, self.secrets, self.outcomes)


def _float_floors(matrix: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (floor, rest) of matrix * 2^bits; both exact, because scaling by a power of two is."""
    scaled = np.ldexp(matrix, bits)
    floors = np.floor(scaled)
    return floors.astype(np.int64), scaled - floors


_LEAST = math.ulp(0.0)
"""The least positive double."""


def _exact_floors(matrix: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    cells = matrix.ravel().tolist()
    distinct = {id(cell): cell for cell in cells}  # equal entries of a large channel are mostly one object
    parts = {at: divmod(cell.numerator << bits, cell.denominator) for at, cell in distinct.items()}
    # a rest that is too small for a double is none the less one: its entry is positive
    rests = {at: max(parts[at][1] / cell.denominator, _LEAST) if parts[at][1] else 0.0 for at, cell in distinct.items()}
    places = list(map(id, cells))
    floors = np.array([parts[at][0] for at in places], dtype=np.int64).reshape(matrix.shape)
    return floors, np.array([rests[at] for at in places], dtype=np.float64).reshape(matrix.shape)


def _filled(floors: np.ndarray, rests: np.ndarray, positive: np.ndarray, bits: int) -> np.ndarray:
    """Return the floors with one unit more where the rest is largest, so that every row sums to 2^bits.

    What a float row is off by beyond that (its sum is 1 only within rounding) goes to its largest entry.
    """
    weights = floors.copy()
    lines = np.arange(len(weights))
    missing = (1 << bits) - weights.sum(axis=1)
    units = np.clip(missing, 0, positive.sum(axis=1))
    weights[lines, weights.argmax(axis=1)] += missing - units
    order = np.argsort(np.where(positive, -rests, 1.0), axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(weights.shape[1]), order.shape), axis=1)
    return weights + (rank < units[:, None])
