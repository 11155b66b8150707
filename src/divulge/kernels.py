"""Loops that Numba compiles (extra: fast); beside each stands a way of NumPy with the same answer to the last bit.

They are written as plain Python, without branches inside the innermost loop, so that the compiler can use vectors. What
was compiled is kept on disk, so that a later process only loads it.
"""

import math
import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from divulge.errors import DivulgeError

PAYS = 1 << 25
"""Entries from which a loop is worth the third of a second that loading Numba takes."""

_CALL = 1 << 11
"""Entries that one more call counts for, since calls of NumPy take as long."""

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
    return compiled(loop) if _asked[loop] >= PAYS and find_spec("numba") is not None and not _is_told() else None


_SETTINGS = ".numba_config.yaml"


def _is_told() -> bool:
    """Say whether the working folder tells Numba where compiled loops are: they are unpickled, and may be anybody's."""
    return os.path.lexists(_SETTINGS)


def compiled(loop: Loop) -> Loop:
    """Return a loop of this module compiled for the types of `SIGNATURES`, to run without the interpreter's lock."""
    if loop not in _compiled:
        if _is_told():
            raise DivulgeError(
                f"Numba must not be told by the working folder where compiled loops are; there is a {_SETTINGS}. Hint: "
                "work in another folder, or without Numba."
            )
        import numba as nb

        how: Any = {"nogil": True, "boundscheck": False}
        try:
            made: Any = nb.njit(SIGNATURES[loop], cache=True, **how)(loop)
        except RuntimeError:  # there is no folder where what was compiled could be kept
            made = nb.njit(SIGNATURES[loop], **how)(loop)
        if loop in (sum_of_joint_tops, information):  # half a microsecond less: their callers know the types of all
            (made,) = (one.entry_point for one in made.overloads.values())
        _compiled[loop] = made
    return _compiled[loop]


def column_ends(
    block: Any, weights: Any, first: int, top: Any, bottom: Any, top_at: Any, bottom_at: Any, joint_top: Any
) -> None:
    """Take a block of rows into the extremes of each column, their first rows, and max_x p_x C_xy.

    The rows of the block are `first`, `first` + 1, ... of the matrix, and come after all that were taken before. Of an
    extreme the group of eight rows is kept that first has it; which row it is, is found at the end, once a column.
    """
    rows, columns = block.shape
    last = rows - 1
    for i in range(0, rows, 8):  # eight rows at a time; the last one is taken again, which changes no extreme
        i1, i2, i3, i4 = min(i + 1, last), min(i + 2, last), min(i + 3, last), min(i + 4, last)
        i5, i6, i7 = min(i + 5, last), min(i + 6, last), min(i + 7, last)
        r0, r1, r2, r3, r4, r5, r6, r7 = (
            block[i], block[i1], block[i2], block[i3], block[i4], block[i5], block[i6], block[i7],
        )  # fmt: skip
        p0, p1, p2, p3 = weights[i], weights[i1], weights[i2], weights[i3]
        p4, p5, p6, p7 = weights[i4], weights[i5], weights[i6], weights[i7]
        group = first + i
        for j in range(columns):
            a, b, c, d, e, f, g, h = r0[j], r1[j], r2[j], r3[j], r4[j], r5[j], r6[j], r7[j]
            one, two, three, four = a if a > b else b, c if c > d else d, e if e > f else f, g if g > h else h
            one, two = one if one > two else two, three if three > four else four
            one, known = one if one > two else two, top[j]
            top_at[j] = group if one > known else top_at[j]
            top[j] = one if one > known else known
            one, two, three, four = a if a < b else b, c if c < d else d, e if e < f else f, g if g < h else h
            one, two = one if one < two else two, three if three < four else four
            one, known = one if one < two else two, bottom[j]
            bottom_at[j] = group if one < known else bottom_at[j]
            bottom[j] = one if one < known else known
            a, b, c, d, e, f, g, h = p0 * a, p1 * b, p2 * c, p3 * d, p4 * e, p5 * f, p6 * g, p7 * h
            one, two, three, four = a if a > b else b, c if c > d else d, e if e > f else f, g if g > h else h
            one, two = one if one > two else two, three if three > four else four
            one, known = one if one > two else two, joint_top[j]
            joint_top[j] = one if one > known else known
    for j in range(columns):
        i = top_at[j] - first
        if i >= 0:
            while block[i, j] != top[j]:
                i += 1
            top_at[j] = first + i
        i = bottom_at[j] - first
        if i >= 0:
            while block[i, j] != bottom[j]:
                i += 1
            bottom_at[j] = first + i


def hash_supports(first: Any, second: Any, shift: Any, width: Any, low: Any, high: Any, found: Any) -> None:
    """Add to `found` for each value how many reports are the bucket of its hash (see `divulge.releasing.reports`).

    The hash a1 x1 + a2 x2 + b lies in the bucket iff, less where the bucket begins, it is below its width, mod 2^64.
    """
    for i in range(len(low)):
        x1, x2, count = (
            np.uint64(np.uint32(low[i])),
            np.uint64(np.uint32(high[i])),
            0,
        )  # 32 bits: half the multiplications
        if x2 == 0:
            for j in range(len(first)):
                count += first[j] * x1 + shift[j] < width[j]
        else:
            for j in range(len(first)):
                count += first[j] * x1 + second[j] * x2 + shift[j] < width[j]
        found[i] += count


def joint_tops(matrix: Any, weights: Any, top: Any) -> None:
    """Raise `top`, which begins at 0, to max_x p_x C_xy of each column."""
    rows, columns = matrix.shape
    for i in range(rows):
        weight = weights[i]
        for j in range(columns):
            joint = weight * matrix[i, j]
            top[j] = joint if joint > top[j] else top[j]


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


CANCELLED = 1e-2
"""Below this share of its terms, a difference has lost digits and is computed anew from non-negative terms."""

SMALL = 1e-3
"""Below this many nats the rounding of q near 1 counts too."""


def information(matrix: Any, weights: Any) -> float:
    """Return sum_x p_x L_x - sum_y q_y log q_y of q = p @ C, where the last column of a matrix is L and all others C.

    It is -1 where the difference is at most `SMALL`, or `CANCELLED` of what is taken away: there digits are lost.
    """
    rows, columns = matrix.shape
    columns -= 1
    outer = np.zeros(columns)
    conditional, free = 0.0, 0.0
    for i in range(rows):
        weight = weights[i]
        conditional += weight * matrix[i, columns]
        for j in range(columns):
            outer[j] += weight * matrix[i, j]
    for j in range(columns):
        if outer[j] > 0.0:
            free += outer[j] * math.log(outer[j])
    found = conditional - free
    return found if found > SMALL and found > CANCELLED * -free else -1.0


MOST_SUMMED = 128
"""Up to so many numbers NumPy adds eight sums of every eighth; more are added by halves."""


def draw(cells: Any, width: int, codes: Any, words: Any, out: Any, ties: Any) -> int:
    """Write the outcomes that words draw for secrets into `out`, the rows that tie into `ties`; return how many tie.

    `cells` are those of `AliasTable.thresholds32`: a threshold's first bits, and in `width` bits alias ^ cell.
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

_WORDS = "Array(uint64, 1, 'C', readonly=True)"

SIGNATURES = {
    column_ends: f"void({_READ_2D}, {_READ}, int64, float64[::1], float64[::1], int64[::1], int64[::1], float64[::1])",
    joint_tops: f"void({_READ_2D}, {_READ}, float64[::1])",
    sum_of_joint_tops: f"float64({_READ_2D}, {_READ})",
    information: f"float64({_READ_2D}, {_READ})",
    hash_supports: f"void({_WORDS}, {_WORDS}, {_WORDS}, {_WORDS}, {_WORDS}, {_WORDS}, int64[::1])",
    draw: f"int64({_CELLS}, int64, {_CELLS}, {_CELLS}, uint16[::1], int64[::1])",
}
"""The types that a loop is compiled for, once: an array that is only read may be a read-only one."""
