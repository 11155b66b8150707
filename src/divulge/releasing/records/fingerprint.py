"""What a table is known by: keyed digests of its columns and a keyed sketch of its rows, in any order and format.

A value counts as what it means, so that CSV, Parquet, a workbook and Spark give the same. All words come from AES under
a secret key, for text as CBC-MAC with the length first (Bellare, Kilian, Rogaway, 2000): without the key they say
nothing of a value.
"""

import base64
import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes
from typing import Any

import numpy as np

from divulge import staging
from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.opening import naming, regular

SKETCH = 1024
"""Rows of a sketch (bottom-k MinHash): a share of 1 in 200 of the larger table is met by about five of them."""

TOP = np.uint64(2**64 - 1)


class Key:
    """The secret that fingerprints are made and read with.

    >>> import pyarrow as pa
    >>> key = Key(bytes(32))
    >>> bool((key.words(pa.array(["yes", "no", "yes"]))[0] == key.words(pa.array(["yes"]))[0]).all())
    True
    """

    def __init__(self, secret: bytes) -> None:
        ciphers = require("cryptography.hazmat.primitives.ciphers", "release")
        aead = require("cryptography.hazmat.primitives.ciphers.aead", "release")

        def derived(purpose: bytes) -> bytes:
            return blake2b(key=secret, person=purpose, digest_size=32).digest()

        def permutation(purpose: bytes) -> Any:
            return ciphers.Cipher(ciphers.algorithms.AES(derived(purpose)), ciphers.modes.ECB())

        self._values, self._rows = permutation(b"values"), permutation(b"rows")
        self._names, self._seal = derived(b"names"), aead.AESGCM(derived(b"seal"))
        self.secret = secret

    @classmethod
    def at(cls, path: Path, *, make: bool) -> "Key | None":
        """Return the key in a file, one that only its owner may read; a new one where there is none and `make`."""
        name = printable(path.name)
        try:
            with suppress(FileExistsError):
                if make and not path.exists():
                    staging.recover(path.parent)
                    with staging.under_way(path) as beside:
                        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                        with os.fdopen(descriptor, "wb") as stream:
                            stream.write(token_bytes(32))
                            stream.flush()
                            os.fsync(stream.fileno())
                        os.link(beside, path)  # whole or not at all, and never over another writer's
            if not path.exists():
                return None
            with naming(f"the key of the ledger, {name}"), regular(path) as stream:
                secret = stream.read(33)
        except OSError as error:
            raise DivulgeError(
                f"the key of the ledger, {name}, cannot be read or made: {error.strerror}. Nothing was drawn."
            ) from None
        if len(secret) != 32:
            raise DivulgeError(f"the key of the ledger, {name}, must have 32 bytes; it has not. Nothing was drawn.")
        return cls(secret)

    def words(self, texts: Any) -> np.ndarray:
        """Return two words of 64 bits for each text of an Arrow array without missing ones, shape (n, 2)."""
        _, places, held = texts.buffers()
        ends = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        data = np.frombuffer(held, np.uint8)[ends[0] : ends[-1]] if held is not None else np.empty(0, np.uint8)
        data = np.concatenate([data, np.zeros(16, np.uint8)])
        eight = np.ndarray((len(data) - 7,), np.uint64, data.data, strides=(1,))  # from every byte on, the next eight
        starts, lengths = ends[:-1] - ends[0], np.diff(ends)
        state = np.zeros((len(texts), 2), np.uint64)
        state[:, 0] = lengths
        state = self._permuted(self._values, state)
        for done in range(0, int(lengths.max(initial=0)), 16):
            left = np.flatnonzero(lengths > done)
            tail = _TAILS[np.minimum(lengths[left] - done, 16)]
            block = np.empty((len(left), 2), np.uint64)
            for half in (0, 1):
                block[:, half] = eight[starts[left] + (done + 8 * half)] & tail[:, half] ^ state[left, half]
            state[left] = self._permuted(self._values, block)
        return state

    def numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return two words for each number, in double precision."""
        blocks = np.empty((len(numbers), 2), np.uint64)
        blocks[:, 0] = (numbers.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        blocks[:, 1] = TOP  # no text is so long
        return self._permuted(self._values, blocks)

    def rows(self, sums: np.ndarray) -> np.ndarray:
        """Return two words for each row, from the sums of those of its values."""
        blocks = np.zeros((len(sums), 2), np.uint64)
        blocks[:, 0] = sums
        return self._permuted(self._rows, blocks)

    def factor(self, name: str) -> np.uint64:
        """Return the odd number that the words of a column count with in a row."""
        word = blake2b(name.strip().casefold().encode(), key=self._names, digest_size=8).digest()
        return np.uint64(int.from_bytes(word, "little") | 1)

    def mark(self, content: bytes) -> str:
        """Return a keyed digest as text."""
        return blake2b(content, key=self._names, digest_size=16).hexdigest()

    def sealed(self, content: bytes) -> bytes:
        """Return content that only this key opens."""
        nonce = token_bytes(12)
        return nonce + self._seal.encrypt(nonce, content, None)

    def opened(self, content: bytes) -> bytes:
        """Return what was sealed; ValueError with another key."""
        exceptions = require("cryptography.exceptions", "release")
        try:
            return self._seal.decrypt(content[:12], content[12:], None)
        except exceptions.InvalidTag:
            raise ValueError("sealed with another key") from None

    @staticmethod
    def _permuted(cipher: Any, blocks: np.ndarray) -> np.ndarray:
        if not len(blocks):
            return blocks
        out = np.empty((len(blocks) + 1, 2), np.uint64)  # the library asks for the room of one block more
        cipher.encryptor().update_into(blocks.data.cast("B"), out.data.cast("B"))
        return out[:-1]


_TAILS = np.tril(np.full((17, 16), 255, np.uint8), -1).view(np.uint64)
"""Which bytes of a block belong to a text that has so many left."""


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """What a table is recognized by.

    whole : keyed digest of all rows, as a multiset
    columns : {name: keyed digest of its values, as a multiset}
    hashes, counts : arrays of shape (at most SKETCH,); the least hashes of different rows, in order, and how often each
        row occurs
    alike : share of the pairs of rows that differ in nothing but running numbers, 1 to n; 0 without such a column
    """

    rows: int
    whole: str
    columns: Mapping[str, str]
    hashes: np.ndarray
    counts: np.ndarray
    alike: float = 0.0

    def sealed(self, key: Key) -> bytes:
        """Return it as bytes of which nothing can be read without the key."""
        sketch = np.full((2, SKETCH), TOP, np.uint64)
        sketch[1] = 0
        sketch[0, : len(self.hashes)], sketch[1, : len(self.counts)] = self.hashes, self.counts
        body = {"rows": self.rows, "whole": self.whole, "columns": dict(self.columns), "alike": self.alike}
        text = json.dumps(body | {"sketch": base64.b64encode(sketch.tobytes()).decode()}).encode()
        return key.sealed(text + b" " * (-len(text) % SKETCH))  # its length says nothing of the rows

    @classmethod
    def opened(cls, content: bytes, key: Key) -> "Fingerprint":
        """Return what was sealed."""
        body = json.loads(key.opened(content))
        sketch = np.frombuffer(base64.b64decode(body["sketch"]), np.uint64).reshape(2, SKETCH)
        held = int((sketch[1] > 0).sum())
        return cls(
            body["rows"],
            body["whole"],
            body["columns"],
            sketch[0, :held],
            sketch[1, :held].astype(np.int64),
            body["alike"],
        )

    @property
    def reach(self) -> np.uint64:
        """Up to here the sketch knows every row."""
        return self.hashes[-1] if len(self.hashes) == SKETCH else TOP


@dataclass(frozen=True)
class Overlap:
    """How many of the rows of one table stand in another, and whether that is more than chance makes it.

    share : share of the first table's rows that stand in the second
    same : whether the tables have people in common, as far as rows can tell
    open : whether rows cannot tell, as too few of them are different
    """

    share: float
    same: bool
    open: bool = False

    @classmethod
    def of(cls, one: Fingerprint, other: Fingerprint) -> "Overlap":
        """Compare two sketches where both know every row.

        Let a_i, b_i say how often row i stands in tables of n and m rows. Two independent draws from one population
        have E sum a_i b_i = n m l pairs of equal rows, l = sum p_i^2, and each row in common adds 1 - l. l is estimated
        by the pairs within the tables; then s = (sum a_i b_i - l n m) / (1 - l) estimates how many are in common. Rows
        that are numbered meet once each, and are equal by chance as often as two of a table but for their numbers.
        """
        reach = min(one.reach, other.reach)
        keys, where = np.unique(np.concatenate([one.hashes, other.hashes]), return_inverse=True)
        a, b = np.zeros((2, len(keys)))
        a[where[: len(one.hashes)]], b[where[len(one.hashes) :]] = one.counts, other.counts
        a, b = a[keys <= reach], b[keys <= reach]
        n, m = float(a.sum()), float(b.sum())
        if not n or not m:
            return cls(0.0, False)
        common = float(np.minimum(a, b).sum() / n)
        within = (a * (a - 1)).sum() + (b * (b - 1)).sum()
        pairs = n * (n - 1) + m * (m - 1)
        numbered = max(one.alike, other.alike)
        alike = within / pairs + numbered if pairs else 1.0
        if alike >= 1:  # all rows are one: sizes are all there is to see
            return cls(common, False, common > 0)
        by_number = min(n, m) * numbered
        beyond = ((a * b).sum() - within / pairs * n * m - by_number) / (1 - alike)
        spread, smaller = _spread(a, b, (within + 2) / (pairs + 2), by_number), min(n, m)
        if _FEW_SIGMAS * spread <= _SURE_SHARE * smaller or not within:
            needed = min(_SURE_SHARE * smaller, max(_LEAST_SHARE * smaller, _SIGMAS * spread))
            return cls(common, bool(beyond >= needed))
        same = _nearer_than_chance(a, b)
        return cls(common, same, common > 0 and not same)


_LEAST_SHARE, _SIGMAS = 0.05, 3
"""Tables of the same people: a twentieth of the smaller one's rows in common beyond three standard deviations of what
chance gives."""

_SURE_SHARE, _FEW_SIGMAS = 0.9, 2
"""Nine tenths are enough where they are two standard deviations, or no row repeats. Where chance makes more than that,
the number of rows in common tells nothing."""

_LEAST_EXPECTED = 5
"""Rows that are expected less often in a table count as one: so Pearson's statistic has about its limit law."""


def _nearer_than_chance(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether frequencies of rows are nearer to each other than three standard deviations allow by chance.

    Pearson's statistic of the table of both, with half a row more for each difference: the counts are whole, so that
    small tables seem nearer than they are. A table with a few rows more is near; independent ones of one population are
    as chance has it, of two populations farther.
    """
    from scipy import special

    n, m = a.sum(), b.sum()
    rare = (a + b) * min(n, m) / (n + m) < _LEAST_EXPECTED
    both = np.array([[*x[~rare], *([x[rare].sum()] if rare.any() else [])] for x in (a, b)])
    expected = both.sum(axis=0) * np.array([[n], [m]]) / (n + m)
    statistic = ((np.abs(both - expected) + 0.5) ** 2 / expected).sum()
    freedom = both.shape[1] - 1
    return bool(freedom and special.chdtr(freedom, statistic) <= special.ndtr(-_SIGMAS))


def _spread(a: np.ndarray, b: np.ndarray, alike: float, by_number: float) -> float:
    """Return the standard deviation of the number of rows in common, as it is estimated for independent tables.

    Its variance is, to first order: 2 n m l, and (sum p^3 - l^2) n m (n + m)
    ((m^2 - n^2) / (m^2 + n^2))^2 where sizes differ (Hoeffding's projection of the pairs); for rows that are numbered,
    that of a binomial.
    """
    n, m = float(a.sum()), float(b.sum())
    larger = a if n >= m else b
    size = max(n, m)
    triples = (larger * (larger - 1) * (larger - 2)).sum() / max(size * (size - 1) * (size - 2), 1.0)
    uneven = (m * m - n * n) / (m * m + n * n)
    variance = 2 * n * m * alike + max(triples - alike**2, 0.0) * n * m * (n + m) * uneven**2 + 2 * by_number
    return math.sqrt(variance)
