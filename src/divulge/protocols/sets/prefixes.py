"""Prefixes of texts: a text's first bytes, of a length drawn by chance, are what a hash puts into a bucket.

A text is written as its bytes in UTF-8 and a sign that it ends, which no text has; one that is too long is cut behind
its last whole character, with another sign. So texts are alike for a report of some length exactly if they are for all
shorter ones.
"""

import codecs
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from divulge.model.labels import text_of
from divulge.model.prior import Prior
from divulge.protocols.sets.family import Extreme, Law, Part, Sets
from divulge.protocols.sets.ordered import LISTED, Independent, named_first
from divulge.protocols.shares import Shares

END, CUT = b"\xff", b"\xfe"
"""Signs behind a text: it is whole, or the rest was cut off. No text in UTF-8 has these bytes."""

SPACE, DELETE = 0x20, 0x7F
"""Bytes below the first, and the second, are control characters of ASCII: no text with one is looked for."""


def written(text: Hashable, most: int) -> bytes:
    """Return a text as bytes with the sign of its end, of which there are at most `most`.

    A text of `most` bytes or more has no room for one: its first whole characters stand for all that begin so.

    >>> written("ab", 4), written("abcd", 4), written("abcde", 4), written("abcé", 4)
    (b'ab\\xff', b'abcd', b'abcd', b'abc\\xfe')
    """
    whole = (text_of(text) or "").encode("utf-8", "surrogatepass")
    if len(whole) < most:
        return whole + END
    _, fits = codecs.utf_8_decode(whole[:most], "surrogatepass", False)
    return whole[:fits] + CUT * (fits < most)


def read(code: bytes) -> tuple[str, bool]:
    """Return the text that `written` wrote, and whether it is whole.

    >>> read(b"ab\\xff"), read(b"abcd"), read(b"abc\\xfe")
    (('ab', True), ('abcd', False), ('abc', False))
    """
    return code.rstrip(END + CUT).decode("utf-8", "surrogatepass"), code.endswith(END)


def ended(prefix: bytes) -> bool:
    """Return whether nothing can follow a prefix.

    >>> ended(b"ab\\xff"), ended(b"ab")
    (True, False)
    """
    return prefix.endswith((END, CUT))


def children(prefix: bytes, most: int) -> list[bytes]:
    """Return the prefixes of texts that are one byte longer: what can follow it, and the signs of its end.

    >>> len(children(b"a", 9)), len(children(b"a\\xc3", 9)), children(b"ab\\xff", 9)
    (147, 64, [])
    """
    if ended(prefix) or len(prefix) >= most:
        return []
    _, fits = codecs.utf_8_decode(prefix, "strict", False)
    return [prefix + one for one in _following(prefix[fits:], min(most - fits, LONGEST))]


LONGEST = 4
"""Bytes of the longest character in UTF-8."""


@lru_cache(maxsize=1 << 14)
def _following(begun: bytes, room: int) -> tuple[bytes, ...]:
    """Return the bytes that can follow the begun part of a character in UTF-8 that has so much room, and the signs."""
    found: list[bytes] = []
    for byte in (one for one in range(SPACE, END[0]) if one not in (DELETE, CUT[0])):
        with_it = begun + bytes([byte])
        try:
            codecs.utf_8_decode(with_it, "strict", False)
        except UnicodeDecodeError:
            continue
        length = 1 + sum(with_it[0] >= first for first in (0xC0, 0xE0, 0xF0))  # of the character, in bytes
        if length <= room:  # else the text was cut before it
            found.append(bytes([byte]))
    if not begun:
        found += [END, CUT] if room < LONGEST else [END]
    return tuple(found)


@dataclass(frozen=True)
class Prefixes(Sets):
    """Preimages of the buckets of an ideal hash of a prefix, whose length is one of several, each as likely.

    lengths : in bytes, rising; the last is also the most that is told of a text
    classes : tuple of int64 arrays of shape (K,); for each length, which values have the same prefix; none where no
        values are listed
    """

    chance: Fraction
    report: float
    lengths: tuple[int, ...]
    classes: tuple[np.ndarray, ...] = field(default=(), compare=False)

    def over(self, labels: Sequence[Hashable]) -> "Prefixes":
        codes = [written(label, self.lengths[-1]) for label in labels]
        return replace(self, size=len(labels), classes=tuple(_alike(codes, n) for n in self.lengths))

    @property
    def levels(self) -> int:
        return len(self.lengths)

    @property
    def q(self) -> Fraction:
        return self.chance

    @property
    def both(self) -> Fraction:
        """Of two values without a common prefix; reports tell less about two that have one."""
        return self.chance**2

    @property
    def empty(self) -> Fraction:
        """mu(S is empty); where no values are listed, 0, which it is not below."""
        found = [self._hashed(one).empty for one in self.classes]
        return sum(found, Fraction(0)) / self.levels

    @property
    def bits(self) -> float:
        return self.report

    def _hashed(self, classes: np.ndarray) -> Independent:
        """Return the sets of prefixes of one length."""
        return Independent(int(classes.max()) + 1, self.chance, self.report)

    def ends(self, shares: Shares) -> tuple[Extreme | None, Extreme | None]:
        """Return the rarest set, and all but it: the longest prefix tells values apart that any tells apart."""
        last = self.classes[-1]
        found = self._hashed(last).ends(_added_up(shares, last))
        return found[0] and self._of_values(found[0]), found[1] and self._of_values(found[1])

    def _of_values(self, extreme: Extreme) -> Extreme:
        raised = np.zeros(int(self.classes[-1].max()) + 1, dtype=bool)
        raised[extreme.members] = True
        members = np.flatnonzero(raised[self.classes[-1]])
        name = tuple(members.tolist()) if self.size <= LISTED else None
        return Extreme(extreme.share, name, members, extreme.certain)

    def weight_of(self, extreme: Extreme) -> Fraction:
        raised = np.zeros(self.size, dtype=bool)
        raised[extreme.members] = True
        if self.size > LISTED:
            return Fraction(1, LISTED)
        return sum((self._weight(raised, one) for one in self.classes), Fraction(0)) / self.levels

    def _weight(self, raised: np.ndarray, classes: np.ndarray) -> Fraction:
        """Return the chance of a set of values under prefixes of one length: 0 where it tells apart what is alike."""
        held, every = (set(classes[one].tolist()) for one in (raised, ~raised))
        if held & every:
            return Fraction(0)
        return self.chance ** len(held) * (1 - self.chance) ** len(every)

    def law(self, shares: Shares) -> Law | None:
        found = [self._hashed(one).law(_added_up(shares, one)) for one in self.classes]
        laws = [one for one in found if one is not None]
        if len(laws) < len(found):
            return None
        return np.concatenate([t for t, _ in laws]), np.concatenate([weight for _, weight in laws]) / self.levels

    def parts(self, shares: Shares) -> Iterator[Part]:
        for classes in self.classes:
            for part in self._hashed(classes).parts(_added_up(shares, classes)):
                yield replace(part, weight=part.weight / self.levels)

    def greater(self, shares: Shares, raised: float, lowered: float) -> float:
        """Return what is won by naming the most frequent value of a prefix, of each length in turn."""
        won = 0.0
        for classes in self.classes:
            first = np.zeros(int(classes.max()) + 1)
            np.maximum.at(first, classes, shares.p)
            won += named_first(first, float(self.chance), raised, lowered)
        return won / self.levels

    def count(self) -> int | None:
        return self._hashed(self.classes[-1]).count() if self.classes else None

    def listed(self) -> tuple[list[Hashable], list[Fraction], np.ndarray]:
        last = self.classes[-1]
        members = self._hashed(last).listed()[2][:, last]
        weights = [sum((self._weight(row, one) for one in self.classes), Fraction(0)) / self.levels for row in members]
        return [tuple(np.flatnonzero(row).tolist()) for row in members], weights, members


def _alike(codes: Iterable[bytes], length: int) -> np.ndarray:
    """Return for each code the number of its prefix, in the order in which they come."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(code[:length], len(known)) for code in codes], dtype=np.int64)


def _added_up(shares: Shares, classes: np.ndarray) -> Shares:
    """Return the shares of classes of values, exactly."""
    count = int(classes.max()) + 1
    if count == len(classes):
        return shares
    if shares.whole is not None:
        sums = np.zeros(count, dtype=np.int64)
        np.add.at(sums, classes, shares.whole)
        return Shares(Prior.from_counts(sums.tolist()))
    order = np.argsort(classes, kind="stable")
    edges = np.flatnonzero(np.diff(classes[order], prepend=-1, append=count))
    members = (order[i:j] for i, j in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    return Shares(Prior([shares.exactly(one) for one in members]))
