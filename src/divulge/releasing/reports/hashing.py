"""The hashes of local hashing: multiply-shift, which is exactly pairwise independent, one hash drawn for each report.

A value is 64 bits x = (x1, x2); its hash is the upper half of a1 x1 + a2 x2 + b mod 2^64 with a1, a2, b drawn for the
report (Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without
primes", 1996). The buckets divide the 2^32 hashes as evenly as can be. A value of a list is its position. Text is a
BLAKE2b digest of 64 bits under the public key of the collection: two of a million candidates have the same one with a
chance of 3 in 10^8.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from divulge import kernels
from divulge.model.labels import text_of

HALF = np.uint64(32)
LOW = np.uint64((1 << 32) - 1)

ROWS = 1 << 15
"""Reports that are hashed at a time, so that what is at work on them stays in the second-level cache."""

SEED = 3
"""Words of 64 bits in the seed of a hash: a1, a2 and b."""


def digests(values: Iterable[Hashable], key: bytes) -> np.ndarray:
    """Return 64 bits for the text of each value, uint64.

    Examples
    --------
    >>> bool(digests(["a"], b"") == digests(["a"], b"")), bool(digests(["a"], b"") == digests(["a"], b"other"))
    (True, False)
    """
    whole = b"".join(
        hashlib.blake2b((text_of(value) or "").encode(), digest_size=8, key=key).digest() for value in values
    )
    return np.frombuffer(whole, dtype="<u8").astype(np.uint64)


def buckets_of(seeds: np.ndarray, values: np.ndarray, buckets: int) -> np.ndarray:
    """Return the bucket of each value under the hash of its seed, int64; seeds have shape (rows, 3).

    Examples
    --------
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
    loop = kernels.fastest(kernels.hash_supports, len(values) * len(reports))
    low, high = values & LOW, values >> HALF
    for start in range(0, len(reports), ROWS):
        part, told = np.ascontiguousarray(seeds[start : start + ROWS]), reports[start : start + ROWS].astype(np.uint64)
        if loop is not None:
            loop(part, told, low, high, buckets, found)
        else:
            for i, (x1, x2) in enumerate(zip(low, high, strict=True)):
                hashed = (part[:, 0] * x1 + part[:, 1] * x2 + part[:, 2]) >> HALF
                found[i] += np.count_nonzero((hashed * np.uint64(buckets)) >> HALF == told)
        progress(min(start + ROWS, len(reports)), len(reports))
    return found
