"""Drawing outcomes: a keystream from the operating system's randomness, and a table lookup a row.

The words are the AES-256-CTR keystream under a key that is fresh for every call and thread. There is no seed, and no
generator of NumPy or Python takes part. Which table cells are read depends on the secrets: this is not constant-time.
"""

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from divulge import kernels
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.releasing.drawing.alias import ALIAS_BITS, ALIAS_MASK, AliasTable

BLOCK = 1 << 15
"""Rows drawn at a time: the working arrays of a block fit the second-level cache of a core."""

_DRAWS = 16
"""Draws of which a compiled loop saves as much as of one entry of a matrix: under a nanosecond each."""

_NONE = np.empty(0, dtype=np.int64)

Ties = tuple[np.ndarray, np.ndarray]
"""The rows in which more bits have to decide, and the cell of each in its row of the table."""

Kernel = Callable[[AliasTable, np.ndarray, np.ndarray, np.ndarray], Ties]
"""Writes the outcomes that words of 32 bits draw for secrets, and returns the ties."""


class Keystream:
    """Random words: the AES-256-CTR keystream of a key drawn from the operating system at creation."""

    def __init__(self) -> None:
        ciphers = require("cryptography.hazmat.primitives.ciphers", "release")
        key = secrets.token_bytes(32)
        self._encryptor = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CTR(bytes(16))).encryptor()
        self._zeros = bytes(8 * BLOCK)

    def fill(self, words: np.ndarray) -> np.ndarray:
        """Overwrite a contiguous array of at most BLOCK whole numbers with the next bytes of the stream."""
        self._encryptor.update_into(memoryview(self._zeros)[: words.nbytes], words.view(np.uint8).data)
        return words


def numpy_kernel(table: AliasTable, codes: np.ndarray, words: np.ndarray, out: np.ndarray) -> Ties:
    """Write the outcome that `words` (uint32, used up) draw for secrets `codes` into `out` (uint16); return the ties.

    The top bits of a word choose the cell, the others are compared with as many of the threshold. Shifted up by the
    width and filled with ones, they are above first bits << width | alias ^ cell where they were above the first bits;
    where these are equal the two differ in no more than the ones.
    """
    width, ones = np.uint32(table.width), np.uint32((1 << table.width) - 1)
    cell = words >> np.uint32(32 - table.width)
    where = codes.astype(np.uint32)
    where <<= width
    where |= cell
    cells = table.thresholds32.take(where.astype(np.int64), mode="clip")
    words <<= width
    words |= ones
    other = words > cells
    words ^= cells
    cells &= ones
    cells *= other
    cells ^= cell
    out[:] = cells
    ties = np.flatnonzero(words <= ones) if np.minimum.reduce(words) <= ones else _NONE
    return ties, cell[ties]


def numba_kernel(table: AliasTable, codes: np.ndarray, words: np.ndarray, out: np.ndarray) -> Ties:
    """Do what `numpy_kernel` does, compiled (extra: fast)."""
    loop, space = kernels.compiled(kernels.draw), np.empty(len(codes), dtype=np.int64)
    ties = space[: loop(table.thresholds32, table.width, codes.astype(np.uint32), words, out, space)]
    return ties, words[ties] >> np.uint32(32 - table.width)


def settle(table: AliasTable, codes: np.ndarray, tied: Ties, words: np.ndarray, out: np.ndarray) -> None:
    """Decide the ties of the first step: the top bits of `words` (uint64) against the rest of the threshold."""
    ties, cells = tied
    found = table.cells[(codes[ties].astype(np.int64) << table.width) + cells]
    rest = np.uint64(table.rest)
    threshold = found >> np.uint64(ALIAS_BITS) & np.uint64((1 << table.rest) - 1)
    below = words >> (np.uint64(64) - rest) < threshold
    out[ties] = np.where(below, cells, found & ALIAS_MASK)


KERNELS: dict[str, Kernel] = {"numpy": numpy_kernel, "numba": numba_kernel}


def cores() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def draw(
    table: AliasTable,
    codes: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    kernel: str | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """Return one outcome for each secret, drawn with exactly the probabilities of the table's channel.

    `codes` are positions of secrets, or positions in `rows`, which hold those; others raise. All kernels draw the same
    outcomes from the same words, and each thread has a fresh key.

    >>> table = AliasTable.of(dv.IntegerChannel.of([["1", "0"], ["0", "1"]]))
    >>> draw(table, np.array([0, 1, 1])).tolist()
    [0, 1, 1]
    """
    codes = np.ascontiguousarray(codes)
    run = KERNELS[kernel or ("numba" if kernels.fastest(kernels.draw, len(codes) // _DRAWS) else "numpy")]
    out = np.empty(len(codes), dtype=np.uint16)
    blocks = -(-len(codes) // BLOCK)
    workers = max(1, min(threads or cores(), blocks))
    edges = [blocks * i // workers * BLOCK for i in range(workers + 1)]

    def part(i: int) -> None:
        stream, space = Keystream(), np.empty(BLOCK, dtype=np.uint32)
        for start in range(edges[i], min(edges[i + 1], len(codes)), BLOCK):
            piece, drawn = codes[start : start + BLOCK], out[start : start + BLOCK]
            if rows is not None:
                piece = rows.take(_positions(piece, len(rows)), mode="clip")
            _positions(piece, table.rows)
            tied = run(table, piece, stream.fill(space[: len(piece)]), drawn)
            if tied[0].size:
                settle(table, piece, tied, stream.fill(np.empty(len(tied[0]), dtype=np.uint64)), drawn)

    if workers == 1:
        part(0)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(part, range(workers)))
    return out


def _positions(codes: np.ndarray, size: int) -> np.ndarray:
    """Return the codes, each of which must be a position in a table of this size."""
    if not (int(codes.min()) >= 0 and int(codes.max()) < size):
        raise DivulgeError.of("codes", f"be positions from 0 to {size - 1}", "one of them", "outside")
    return codes
