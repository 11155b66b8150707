"""Drawing outcomes: a keystream from the operating system's randomness, and a table lookup a row.

The words are the AES-256-CTR keystream under a key that is fresh for every call and thread. There is no seed, and no
generator of NumPy or Python takes part. Which table cells are read depends on the secrets: this is not constant-time.
"""

import os
import secrets
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.releasing.alias import ALIAS_BITS, AliasTable

BLOCK = 1 << 15
"""Rows drawn at a time: the working arrays of a block fit the second-level cache of a core."""

COMPILING_PAYS = 1 << 27
"""Rows from which the compiled sampler is faster although it has to be compiled first."""

_TOP, _LOW = (3, 0) if sys.byteorder == "little" else (0, 3)

Kernel = Callable[[AliasTable, np.ndarray, np.ndarray, np.ndarray], None]


class Keystream:
    """Words of 64 random bits: the AES-256-CTR keystream of a key drawn from the operating system at creation."""

    def __init__(self) -> None:
        ciphers = require("cryptography.hazmat.primitives.ciphers", "release")
        key = secrets.token_bytes(32)
        self._encryptor = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.CTR(bytes(16))).encryptor()
        self._zeros = bytes(8 * BLOCK)

    def fill(self, words: np.ndarray) -> np.ndarray:
        """Overwrite a contiguous uint64 array of at most BLOCK words with the next words of the stream."""
        self._encryptor.update_into(memoryview(self._zeros)[: words.nbytes], words.view(np.uint8).data)
        return words


def numpy_kernel(table: AliasTable, codes: np.ndarray, words: np.ndarray, out: np.ndarray) -> None:
    """Write the outcome that `words` draw for secrets `codes` into `out` (uint16); `words` is used up.

    The top bits of a word choose the cell, its low 48 bits are compared with the threshold. Shifted up by 16 and filled
    with ones, they are below threshold << 16 | alias exactly when they were below the threshold.
    """
    np.right_shift(words.view(np.uint16)[_TOP::4], ALIAS_BITS - table.width, out=out)
    where = np.left_shift(codes, table.width, dtype=np.int64)
    where += out
    cells = table.cells.take(where, mode="clip")
    words <<= ALIAS_BITS
    words |= 0xFFFF
    np.copyto(out, cells.view(np.uint16)[_LOW::4], where=words > cells)


@cache
def _compiled() -> Any:
    import numba as nb

    def kernel(cells: Any, width: int, codes: Any, words: Any, out: Any) -> None:
        shift, low = np.uint64(64 - width), np.uint64(0xFFFF)
        for i in range(len(codes)):
            word = words[i]
            j = word >> shift
            cell = cells[(np.uint64(codes[i]) << np.uint64(width)) + j]
            out[i] = cell & low if ((word << np.uint64(16)) | low) > cell else j

    return nb.njit(nogil=True, cache=False, boundscheck=False)(kernel)


def numba_kernel(table: AliasTable, codes: np.ndarray, words: np.ndarray, out: np.ndarray) -> None:
    """Do what `numpy_kernel` does, compiled (extra: fast)."""
    _compiled()(table.cells, table.width, codes, words, out)


KERNELS: dict[str, Kernel] = {"numpy": numpy_kernel, "numba": numba_kernel}


def fastest(rows: int) -> str:
    """Return the name of the fastest kernel for so many rows: compiling pays for many, or when it has been done."""
    pays = rows >= COMPILING_PAYS or _compiled.cache_info().currsize > 0
    return "numba" if pays and find_spec("numba") else "numpy"


def cores() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def draw(table: AliasTable, codes: np.ndarray, *, kernel: str | None = None, threads: int | None = None) -> np.ndarray:
    """Return one outcome for each secret, drawn with exactly the probabilities of the table's channel.

    Parameters
    ----------
    table : AliasTable
    codes : integer array of shape (rows,)
        Positions of the secrets, each in [0, N).
    kernel : "numpy" or "numba", optional
        The fastest installed one for so many rows when not given. Both draw the same outcomes from the same words.
    threads : int, optional
        As many as there are processors when not given; each has a fresh key.

    Returns
    -------
    uint16 array of shape (rows,)
        Positions of the outcomes.

    Raises
    ------
    DivulgeError
        When a code is outside [0, N).

    Examples
    --------
    >>> from divulge.model.integer import IntegerChannel
    >>> table = AliasTable.of(IntegerChannel.of([["1", "0"], ["0", "1"]]))
    >>> draw(table, np.array([0, 1, 1])).tolist()
    [0, 1, 1]
    """
    codes = np.ascontiguousarray(codes)
    if codes.size and not (int(codes.min()) >= 0 and int(codes.max()) < table.rows):
        raise DivulgeError.of("codes", f"be positions from 0 to {table.rows - 1}", "one of them", "outside")
    run = KERNELS[kernel or fastest(len(codes))]
    out = np.empty(len(codes), dtype=np.uint16)
    blocks = -(-len(codes) // BLOCK)
    workers = max(1, min(threads or cores(), blocks))
    edges = [blocks * i // workers * BLOCK for i in range(workers + 1)]

    def part(i: int) -> None:
        stream, words = Keystream(), np.empty(BLOCK, dtype=np.uint64)
        for start in range(edges[i], min(edges[i + 1], len(codes)), BLOCK):
            piece = codes[start : start + BLOCK]
            run(table, piece, stream.fill(words[: len(piece)]), out[start : start + BLOCK])

    if workers == 1:
        part(0)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(part, range(workers)))
    return out
