"""Loops that Numba compiles (extra: fast); beside each stands a way of NumPy with the same answer to the last bit.

They are written as plain Python, without branches inside the innermost loop, so that the compiler can use vectors. What
was compiled is kept on disk, so that a later process only loads it.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

PAYS = 1 << 25
"""Entries from which a loop is worth the third of a second that loading Numba takes."""

_CALL = 1 << 11
"""Entries that one more call counts for, since calls of NumPy take as long."""

_TILE = 512
"""Columns at a time: what is known of them so far fits the first-level cache of a core."""

_ROWS = 1024
"""Rows of which one is asked at a time whether any ties: what is at work on them fits the first-level cache."""

Loop = Callable[..., Any]

_compiled: dict[Loop, Loop] = {}
_asked: dict[Loop, int] = {}


def fastest(loop: Loop, entries: int) -> Loop | None:
    """Return a loop compiled, or None as long as loading it does not pay, and where Numba is not installed.

    It pays from `PAYS` entries on, asked for in one call or in many.
    """
    known = _compiled.get(loop)
    if known is not None:
        return known
    _asked[loop] = _asked.get(loop, 0) + entries + _CALL
    return compiled(loop) if _asked[loop] >= PAYS and find_spec("numba") is not None else None


def compiled(loop: Loop) -> Loop:
    """Return a loop of this module compiled for the types of `SIGNATURES`, to run without the interpreter's lock."""
    if loop not in _compiled:
        import numba as nb

        how: Any = {"nogil": True, "boundscheck": False}
        try:
            _compiled[loop] = nb.njit(SIGNATURES[loop], cache=True, **how)(loop)
        except RuntimeError:  # there is no folder where what was compiled could be kept
            _compiled[loop] = nb.njit(SIGNATURES[loop], **how)(loop)
    return _compiled[loop]


def column_ends(
    block: Any, weights: Any, first: int, top: Any, bottom: Any, top_at: Any, bottom_at: Any, joint_top: Any
) -> float:
    """Take a block of rows into the extremes of each column, their first rows, and max_x p_x C_xy.

    The rows of the block are `first`, `first` + 1, ... of the matrix, and come after all that were taken before. The
    block's least entry is returned.
    """
    rows, columns = block.shape
    high, low, joint = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    least = np.inf
    for start in range(0, columns, _TILE):
        width = min(_TILE, columns - start)
        tile, known = block[:, start : start + width], joint_top[start : start + width]
        high[:] = -1.0
        low[:] = np.inf
        joint[:width] = known
        for i in range(0, rows, 4):  # four rows at a time; the last ones are taken twice, which changes no extreme
            i1, i2, i3 = min(i + 1, rows - 1), min(i + 2, rows - 1), min(i + 3, rows - 1)
            p0, p1, p2, p3 = weights[i], weights[i1], weights[i2], weights[i3]
            for j in range(width):
                a, b, c, d = tile[i, j], tile[i1, j], tile[i2, j], tile[i3, j]
                upper, other = a if a > b else b, c if c > d else d
                upper = upper if upper > other else other
                high[j] = upper if upper > high[j] else high[j]
                lower, other = a if a < b else b, c if c < d else d
                lower = lower if lower < other else other
                low[j] = lower if lower < low[j] else low[j]
                a, b, c, d = p0 * a, p1 * b, p2 * c, p3 * d
                upper, other = a if a > b else b, c if c > d else d
                upper = upper if upper > other else other
                joint[j] = upper if upper > joint[j] else joint[j]
        known[:] = joint[:width]
        for j in range(width):
            column = start + j
            if low[j] < least:
                least = low[j]
            if high[j] > top[column]:
                top[column] = high[j]
                i = 0
                while tile[i, j] != high[j]:
                    i += 1
                top_at[column] = first + i
            if low[j] < bottom[column]:
                bottom[column] = low[j]
                i = 0
                while tile[i, j] != low[j]:
                    i += 1
                bottom_at[column] = first + i
    return least


def sum_of_joint_tops(matrix: Any, weights: Any) -> float:
    """Return sum_y max_x p_x C_xy of at most `MOST_SUMMED` columns, added in the order in which NumPy adds."""
    rows, columns = matrix.shape
    top = np.zeros(columns)
    for i in range(rows):
        weight = weights[i]
        for j in range(columns):
            joint = weight * matrix[i, j]
            top[j] = joint if joint > top[j] else top[j]
    whole = columns - columns % 8
    total = 0.0
    if whole:
        r0, r1, r2, r3, r4, r5, r6, r7 = top[0], top[1], top[2], top[3], top[4], top[5], top[6], top[7]
        for j in range(8, whole, 8):
            r0, r1, r2, r3 = r0 + top[j], r1 + top[j + 1], r2 + top[j + 2], r3 + top[j + 3]
            r4, r5, r6, r7 = r4 + top[j + 4], r5 + top[j + 5], r6 + top[j + 6], r7 + top[j + 7]
        total = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for j in range(whole, columns):
        total += top[j]
    return total


MOST_SUMMED = 128
"""Up to so many numbers NumPy adds eight sums of every eighth; more are added by halves."""


def draw(cells: Any, width: int, codes: Any, words: Any, out: Any, ties: Any) -> int:
    """Write the outcomes that words draw for secrets into `out`, the rows that tie into `ties`; return how many tie.

    `cells` are those of `AliasTable.coarse`: a threshold's first bits, and in `width` bits alias ^ cell.
    """
    up, down, ones = np.uint32(width), np.uint32(32 - width), np.uint32((1 << width) - 1)
    space, found = np.empty(_ROWS, dtype=np.uint32), 0
    for start in range(0, len(codes), _ROWS):
        rows = min(_ROWS, len(codes) - start)
        secrets, drawn, chosen = codes[start : start + rows], words[start : start + rows], out[start : start + rows]
        for i in range(rows):
            space[i] = cells[np.uint64(np.uint32(secrets[i] << up) | np.uint32(drawn[i] >> down))]
        nearest = ones + np.uint32(1)
        for i in range(rows):  # 32 bits everywhere, and no branch: sixteen rows at a time where vectors are long
            word, known, cell = np.uint32(drawn[i] << up) | ones, space[i], np.uint32(drawn[i] >> down)
            chosen[i] = np.uint16(cell ^ (known & ones if word > known else np.uint32(0)))
            difference = np.uint32(word ^ known)
            nearest = difference if difference < nearest else nearest
        if nearest <= ones:
            for i in range(rows):
                if np.uint32((np.uint32(drawn[i] << up) | ones) ^ space[i]) <= ones:
                    ties[found] = start + i
                    found += 1
    return found


_READ, _READ_2D, _CELLS = (
    f"Array({entry}, {axes}, 'C', readonly=True)" for entry, axes in (("float64", 1), ("float64", 2), ("uint32", 1))
)

SIGNATURES = {
    column_ends: f"float64({_READ_2D}, {_READ}, int64, float64[::1], float64[::1], int64[::1], int64[::1], "
    "float64[::1])",
    sum_of_joint_tops: f"float64({_READ_2D}, {_READ})",
    draw: f"int64({_CELLS}, int64, {_CELLS}, {_CELLS}, uint16[::1], int64[::1])",
}
"""The types that a loop is compiled for, once: an array that is only read may be a read-only one."""
