"""The hashes of local hashing: multiply-shift, which is exactly pairwise independent, one hash drawn for each report.

A value is 64 bits x = (x1, x2); its hash is the upper half of a1 x1 + a2 x2 + b mod 2^64 with a1, a2, b drawn for the
report (Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without
primes", 1996). The buckets divide the 2^32 hashes as evenly as can be. A value of a list is its position. Text is a
BLAKE2b digest of 63 bits under the public key of the collection: two of a million candidates have the same one with a
chance of 6 in 10^8.
"""

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from divulge import kernels
from divulge.model.labels import text_of
from divulge.protocols.sets.prefixes import Prefixes
from divulge.protocols.two_level import TwoLevel
from divulge.releasing.drawing.sampling import cores

HALF = np.uint64(32)
LOW = np.uint64((1 << 32) - 1)

ROWS = 1 << 13
"""Reports that are hashed at a time, so that what is at work on them stays in the second-level cache."""

THREADED = 1 << 24
"""From so many hashes on all processors take part: a hundredth of a second of work."""

KEY = 16
"""Bytes of the public key under which text is hashed."""

SEED = 3
"""Words of 64 bits in the seed of a hash: a1, a2 and b."""

UNEVEN = 2.0**-31
"""By how much the chance of a bucket may differ from 1/g: 2^32 hashes are divided among g buckets."""


def combined(values: Sequence[Hashable]) -> str:
    """Return values of several columns as one text: the JSON list of their texts, without blanks.

    >>> combined(["a", 1, "é"])
    '["a","1","é"]'
    """
    return json.dumps([text_of(value) for value in values], ensure_ascii=False, separators=(",", ":"))


def digests(values: Iterable[Hashable], key: bytes) -> np.ndarray:
    """Return 63 bits for the text of each value, as uint64: no digest is below 0 as int64.

    >>> bool(digests(["a"], b"") == digests(["a"], b"")), bool(digests(["a"], b"") == digests(["a"], b"other"))
    (True, False)
    """
    return digests_of_bytes(((text_of(value) or "").encode() for value in values), key)


def digests_of_bytes(several: Iterable[bytes], key: bytes) -> np.ndarray:
    """Return 63 bits for each of several texts, or prefixes of texts, as bytes.

    >>> bool(digests_of_bytes([b"a"], b"") == digests(["a"], b""))
    True
    """
    whole = b"".join(hashlib.blake2b(one, digest_size=8, key=key).digest() for one in several)
    return np.frombuffer(whole, dtype="<u8").astype(np.uint64) >> np.uint64(1)


def prefix_digests(codes: Sequence[bytes], lengths: Sequence[int], key: bytes) -> np.ndarray:
    """Return a digest of the first bytes of each text, of each length: uint64 of shape (texts, lengths).

    >>> found = prefix_digests([b"ab", b"ac"], (1, 2), b"")
    >>> bool(found[0, 0] == found[1, 0]), bool(found[0, 1] == found[1, 1])
    (True, False)
    """
    known: dict[bytes, int] = {}
    where = [known.setdefault(code[:length], len(known)) for code in codes for length in lengths]
    return digests_of_bytes(known, key)[np.array(where, dtype=np.int64)].reshape(len(codes), len(lengths))


def words_of(protocol: TwoLevel) -> int:
    """Return how many words a report has beside its number: those of a seed, and the length of a prefix in bytes.

    >>> words_of(dv.protocols.hadamard(3, 1.0)), words_of(dv.protocols.prefix_extension(1.0))
    (0, 4)
    """
    return SEED * protocol.hashed + isinstance(protocol.sets, Prefixes)


def buckets_of(seeds: np.ndarray, values: np.ndarray, buckets: int) -> np.ndarray:
    """Return the bucket of each value under the hash of its seed, int64; seeds have shape (rows, 3).

    >>> seeds = np.array([[1 << 32, 0, 0], [1 << 32, 0, 1 << 63]], dtype=np.uint64)
    >>> buckets_of(seeds, np.array([1 << 31, 1 << 31], dtype=np.uint64), 4).tolist()  # 2^31 of 2^32, and 0
    [2, 0]
    """
    hashed = (seeds[:, 0] * (values & LOW) + seeds[:, 1] * (values >> HALF) + seeds[:, 2]) >> HALF
    return ((hashed * np.uint64(buckets)) >> HALF).astype(np.int64)


def supports(
    seeds: np.ndarray, reports: np.ndarray, values: np.ndarray, buckets: int, progress: Callable[[int, int], object]
) -> np.ndarray:
    """Return for each value how many reports are the bucket of its hash, int64: values times reports hashes."""
    found = np.zeros(len(values), dtype=np.int64)
    loop = kernels.fastest(kernels.hash_supports, len(values) * len(reports)) or _supported
    low, high = values & LOW, values >> HALF
    edges = np.linspace(0, len(values), (cores() if len(values) * len(reports) > THREADED else 1) + 1).astype(int)
    with ThreadPoolExecutor(len(edges)) as pool:
        for start in range(0, len(reports), ROWS):
            part = seeds[start : start + ROWS].T
            first, width = _buckets(reports[start : start + ROWS].astype(np.uint64), buckets)
            a1, a2, shift = np.ascontiguousarray(part[0]), np.ascontiguousarray(part[1]), part[2] - first

            def some(i: int, j: int, a1: Any = a1, a2: Any = a2, shift: Any = shift, width: Any = width) -> None:
                loop(a1, a2, shift, width, low[i:j], high[i:j], found[i:j])

            list(pool.map(some, edges[:-1].tolist(), edges[1:].tolist()))
            progress(min(start + ROWS, len(reports)), len(reports))
    return found


def _buckets(reports: np.ndarray, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first hash of 64 bits in the bucket of each report, and how many there are, uint64.

    floor(h g / 2^32) = r iff h lies from ceil(r 2^32 / g) to below ceil((r + 1) 2^32 / g).
    """
    g = np.uint64(buckets)
    first, after = ((((reports + np.uint64(i)) << HALF) + g - np.uint64(1)) // g for i in (0, 1))
    return first << HALF, (after - first) << HALF


def _supported(first: Any, second: Any, shift: Any, width: Any, low: Any, high: Any, found: Any) -> None:
    """Do what `kernels.hash_supports` does, by NumPy."""
    for i, (x1, x2) in enumerate(zip(low, high, strict=True)):
        found[i] += np.count_nonzero(first * x1 + second * x2 + shift < width)
