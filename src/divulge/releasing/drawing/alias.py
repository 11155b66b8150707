"""Packed integer alias tables: a word of 32 bits draws an outcome, with exactly the probabilities of the channel.

Each row of the table has 2^width cells. A cell holds a threshold (48 bits) and an alias (16 bits); cell j gives
outcome j for threshold/2^48 of its words and the alias for the others. So an outcome's probability is a whole multiple
of 2^-(width + 48), and the row's weights sum to exactly 2^(width + 48): nothing is rejected and nothing is biased.

A draw takes two steps. The first compares the 32 - width bits that a short word has left with as many of the threshold,
in a table of half the size; where they are equal, once in 2^(32 - width) rows, more bits are drawn for the others.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.entries import frozen
from divulge.model.integer import IntegerChannel

CELL_BITS = 48
"""Bits of a threshold: with those of the alias they fill one word of 64."""
ALIAS_BITS = 16
"""Bits of an alias, the number of another cell of the row: one more than `MOST_WIDTH`, as a half word has."""
MOST_WIDTH = 15
"""A row has at most 2^15 cells: its weights, 2^(15 + 48) together, stay within 64 bits while they are added up."""
MOST_CELLS = 1 << 32
"""Cells of all rows: 32 GB. A larger table is refused before anything is made."""

CELL = np.uint64(1 << CELL_BITS)
ALIAS_MASK = np.uint64((1 << ALIAS_BITS) - 1)


@dataclass(frozen=True, eq=False)
class AliasTable:
    """The cells of every row, threshold << 16 | alias, flat: row x starts at x << width.

    cells : uint64 array of shape (N * 2^width,)
    width : log2 of the number of cells in a row
    channel : what the table draws from

    >>> table = AliasTable.of(IntegerChannel.of([["3/4", "1/4"]]))
    >>> (table.weights()[0, :2] / 2 ** (table.width + 48)).tolist()
    [0.75, 0.25]
    """

    cells: np.ndarray
    width: int
    channel: IntegerChannel

    @classmethod
    def of(cls, channel: IntegerChannel) -> "AliasTable":
        """Return the table of an integer channel: columns padded to 2^width so that its bits fit as well."""
        n, m = channel.shape
        width = max((m - 1).bit_length(), channel.bits - CELL_BITS, 1)
        if not width <= MOST_WIDTH:
            raise DivulgeError.of("channel", f"have at most {1 << MOST_WIDTH} outcomes", "their number", str(m))
        if not n << width <= MOST_CELLS:
            raise DivulgeError.of(
                "channel", f"need at most {MOST_CELLS} cells of its table", "their number", str(n << width)
            )
        weights = np.zeros((n, 1 << width), dtype=np.uint64)
        weights[:, :m] = channel.weights.astype(np.uint64) << np.uint64(width + CELL_BITS - channel.bits)
        thresholds, aliases = _aliased(weights)
        cells = (thresholds << np.uint64(ALIAS_BITS)) | aliases.astype(np.uint64)
        return cls(frozen(cells.ravel()), width, channel)

    @cached_property
    def rows(self) -> int:
        """The number of secrets N."""
        return self.channel.shape[0]

    @cached_property
    def thresholds32(self) -> np.ndarray:
        """The cells in 32 bits, flat: the first 32 - width bits of the threshold, and in `width` bits alias ^ cell.

        Cell ^ (alias ^ cell) is the alias, so that a draw picks one of the two without a branch.
        """
        first = self.cells >> np.uint64(ALIAS_BITS + self.rest) << np.uint64(self.width)
        cell = np.tile(np.arange(1 << self.width, dtype=np.uint64), self.rows)
        return frozen((first | self.cells & ALIAS_MASK ^ cell).astype(np.uint32))

    @property
    def rest(self) -> int:
        """How many bits of a threshold the first step leaves undecided where it ties."""
        return CELL_BITS - (32 - self.width)

    def weights(self) -> np.ndarray:
        """Return the weights the cells add up to, as uint64 of shape (N, 2^width): rows sum to 2^(width + 48)."""
        thresholds = (self.cells >> np.uint64(ALIAS_BITS)).reshape(self.rows, -1)
        aliases = (self.cells & ALIAS_MASK).astype(np.int64).reshape(self.rows, -1)
        out = thresholds.copy()
        for x in range(self.rows):
            np.add.at(out[x], aliases[x], CELL - thresholds[x])
        return out


def _aliased(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (thresholds, aliases) of rows of weights whose mean is one cell, sweeping all rows at once.

    Every step closes one cell of each row: a light one is filled up by the current heavy one, or what is left of the
    heavy one is light itself and is filled up by the next. A cell that is exactly full has threshold 0 and itself as
    alias, and so have the cells that no step closes.
    """
    n, m = weights.shape
    lines = np.arange(n)
    heavy = weights > CELL
    order = np.argsort(heavy, axis=1, kind="stable")
    first_heavy = m - heavy.sum(axis=1)
    light_at, heavy_at = np.zeros(n, dtype=np.int64), first_heavy.copy()
    thresholds = np.zeros((n, m), dtype=np.uint64)
    aliases = np.tile(np.arange(m), (n, 1))
    current = order[lines, np.minimum(heavy_at, m - 1)]
    left = weights[lines, current]
    active = lines[heavy_at < m]
    while active.size:
        fill = active[left[active] > CELL]
        cell = order[fill, light_at[fill]]
        thresholds[fill, cell] = weights[fill, cell] % CELL
        aliases[fill, cell] = np.where(weights[fill, cell] < CELL, current[fill], cell)
        left[fill] -= CELL - weights[fill, cell]
        light_at[fill] += 1
        step = active[(left[active] <= CELL) & (heavy_at[active] < m - 1)]
        here, following = current[step], order[step, np.minimum(heavy_at[step] + 1, m - 1)]
        thresholds[step, here] = left[step] % CELL
        aliases[step, here] = np.where(left[step] < CELL, following, here)
        left[step] = weights[step, following] - (CELL - left[step])
        current[step] = following
        heavy_at[step] += 1
        active = active[(left[active] > CELL) | (heavy_at[active] < m - 1)]
    return thresholds, aliases
