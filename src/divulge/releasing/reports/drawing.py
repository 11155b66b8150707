"""A report for each value: one rational Bernoulli draw and one uniform whole number, both exact."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np

from divulge.errors import DivulgeError
from divulge.protocols.sets import geometry
from divulge.protocols.sets.ordered import Independent, Subsets
from divulge.protocols.sets.prefixes import Prefixes
from divulge.protocols.sets.transformed import HadamardRows, Hyperplanes
from divulge.protocols.two_level import TwoLevel
from divulge.releasing.drawing.chance import Chance
from divulge.releasing.drawing.sampling import cores
from divulge.releasing.reports.hashing import SEED, buckets_of

MOST_BITS = 1 << 33
"""Bits of all reports of unary encoding, or of sets, together: a gigabyte."""

DRAWN = 1 << 16
"""Reports that are drawn at a time."""


def drawn(protocol: TwoLevel, codes: np.ndarray, threads: int | None = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return (reports, seeds): int64, or packed bits of unary encoding and of sets; seeds of hashes, else none.

    Of prefixes `codes` has a column for each length, and the last word of a seed is the length that was drawn.
    Without a number of `threads` there are as many as processors; each has a fresh key.
    """
    subsets = isinstance(protocol.sets, Subsets) and protocol.sets.chosen > 1
    if (subsets or protocol.name.endswith("unary")) and len(codes) * protocol.size > MOST_BITS:
        raise DivulgeError.of(
            "protocol", f"have at most {MOST_BITS:,} bits in all reports", "their number",
            f"{len(codes) * protocol.size:,}",
            "projective is as good, and its reports have log2 K bits." if subsets else
            "local_hashing leaks the same and has a variance that is as small; its reports have 194 bits.",
        )  # fmt: skip
    starts = range(0, max(len(codes), 1), DRAWN)
    workers = max(1, min(threads or cores(), len(starts)))

    def some(worker: int) -> list[tuple[np.ndarray, np.ndarray]]:
        chance = Chance()
        mine = starts[len(starts) * worker // workers : len(starts) * (worker + 1) // workers]
        return [_part(protocol, codes[i : i + DRAWN], chance) for i in mine]

    if workers == 1:
        parts = some(0)
    else:
        with ThreadPoolExecutor(workers) as pool:
            parts = [part for several in pool.map(some, range(workers)) for part in several]
    reports, seeds = (np.concatenate(found) for found in zip(*parts, strict=True))
    return reports, seeds


def _part(protocol: TwoLevel, codes: np.ndarray, chance: Chance) -> tuple[np.ndarray, np.ndarray]:
    sets, rows = protocol.sets, len(codes)
    none = np.empty((rows, 0), dtype=np.uint64)
    if isinstance(sets, Prefixes):
        level = chance.uniform(sets.levels, rows)
        reports, seeds = _hashed(protocol, codes[np.arange(rows), level], chance)
        lengths = np.array(sets.lengths, dtype=np.uint64)
        return reports, np.column_stack([seeds, lengths[level]])
    if isinstance(sets, Independent):
        if protocol.hashed:
            return _hashed(protocol, codes, chance)
        return _unary(protocol, sets, codes, chance), none
    own = chance.bernoulli(protocol.p_star, rows)
    x = codes.astype(np.int64)
    if isinstance(sets, Subsets) and sets.chosen > 1:
        return _subsets(sets, codes.astype(np.int64), own, chance), none
    if isinstance(sets, Subsets):
        other = chance.uniform(sets.size - 1, rows)
        return np.where(own, x, other + (other >= x)), none
    if isinstance(sets, HadamardRows):
        return _row(x + 1, own, chance.uniform(sets.outcomes // 2, rows)), none
    assert isinstance(sets, Hyperplanes)
    return _hyperplanes(sets, x, own, chance), none


def _row(column: np.ndarray, plus: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the row numbered `half` among those that are +, or not, at a column.

    The bit of the row at the lowest bit of the column is left out of the number, and set for the parity.
    """
    lowest = column & -column
    row = (half & (lowest - 1)) | ((half & ~(lowest - 1)) << 1)
    wrong = (np.bitwise_count(row & column) % 2 == 0) != plus
    return row | np.where(wrong, lowest, 0)


def _hyperplanes(sets: Hyperplanes, values: np.ndarray, own: np.ndarray, chance: Chance) -> np.ndarray:
    """Return a point u uniform on <x, u> = 0 where `own`, else on the others.

    All entries of u but that at the 1 of x are free: a point of one dimension less, or with <x, u> = 1 any vector.
    """
    s, t = sets.field, sets.dimension
    x = geometry.vectors(s, t, values)
    pivot = (x != 0).argmax(axis=1)
    inside = geometry.vectors(s, t - 1, chance.uniform(sets.inside, len(values)))
    outside = chance.uniform(s ** (t - 1), len(values))
    digits = np.stack([outside // s**j % s for j in reversed(range(t - 1))], axis=1)
    free = np.where(own[:, None], inside, digits)
    places = np.arange(t - 1)[None, :]
    places = places + (places >= pivot[:, None])  # every place but the pivot
    rows = np.arange(len(values))
    u = np.zeros((len(values), t), dtype=np.int64)
    u[rows[:, None], places] = free
    total = np.zeros(len(values), dtype=np.int64)
    for j in range(t):
        total = (total + x[:, j] * u[:, j]) % s
    u[rows, pivot] = (np.where(own, 0, 1) - total) % s  # x is 1 at its pivot
    return geometry.numbers_of(s, u)


def _hashed(protocol: TwoLevel, codes: np.ndarray, chance: Chance) -> tuple[np.ndarray, np.ndarray]:
    g, rows = protocol.q.denominator, len(codes)
    seeds = chance.words(SEED * rows).reshape(rows, SEED)
    bucket = buckets_of(seeds, codes.astype(np.uint64), g)
    other = chance.uniform(g - 1, rows)
    return np.where(chance.bernoulli(protocol.p_star, rows), bucket, other + (other >= bucket)), seeds


def _subsets(sets: Subsets, codes: np.ndarray, own: np.ndarray, chance: Chance) -> np.ndarray:
    """Return sets of d values as packed bits: the own value and d - 1 others where `own`, else d others, all alike.

    Others are drawn among the first K - 1 places by Floyd's algorithm (Bentley, Floyd, 1987), all rows side by side: at
    step j a place up to j is taken, or j itself where it is taken already. The last place stands for the own value,
    with which it changes places.
    """
    k, d = sets.size, sets.chosen
    step = max(1, (1 << 22) // k)
    packed: list[np.ndarray] = []
    for start in range(0, len(codes), step):
        x, mine = codes[start : start + step], own[start : start + step]
        rows = np.arange(len(x))
        bits = np.zeros((len(x), k), dtype=bool)
        bits[rows, chance.uniform(k - d, len(x))] = ~mine  # the step that one who needs d - 1 leaves out
        for j in range(k - d, k - 1):
            place = chance.uniform(j + 1, len(x))
            bits[rows, np.where(bits[rows, place], j, place)] = True
        bits[rows, k - 1] = bits[rows, x]
        bits[rows, x] = mine
        packed.append(np.packbits(bits, axis=1))
    return np.concatenate(packed) if packed else np.empty((0, -(-k // 8)), dtype=np.uint8)


def _unary(protocol: TwoLevel, sets: Independent, codes: np.ndarray, chance: Chance) -> np.ndarray:
    step = max(1, (1 << 22) // sets.size)
    packed: list[np.ndarray] = []
    for start in range(0, len(codes), step):
        x = codes[start : start + step].astype(np.int64)
        bits = chance.bernoulli(Fraction(sets.q), len(x) * sets.size).reshape(len(x), sets.size)
        bits[np.arange(len(x)), x] = chance.bernoulli(protocol.p_star, len(x))
        packed.append(np.packbits(bits, axis=1))
    return np.concatenate(packed)
