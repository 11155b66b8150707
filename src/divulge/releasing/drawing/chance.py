"""Exact chances from a keystream: Bernoulli draws of any rational probability, and uniform whole numbers."""

from fractions import Fraction

import numpy as np

from divulge.releasing.drawing.sampling import BLOCK, Keystream

WORD = 1 << 64
"""How many words of 64 bits there are, the unit in which the system's random bytes are read."""


class Chance:
    """Draws from the keystream of a key that is fresh from the operating system.

    >>> chance = Chance()
    >>> chance.uniform(1, 3).tolist(), chance.bernoulli(Fraction(1), 2).tolist()
    ([0, 0, 0], [True, True])
    """

    def __init__(self) -> None:
        self._stream = Keystream()

    def words(self, count: int) -> np.ndarray:
        """Return so many random words of 64 bits, uint64."""
        out = np.empty(count, dtype=np.uint64)
        for start in range(0, count, BLOCK):
            self._stream.fill(out[start : start + BLOCK])
        return out

    def bernoulli(self, probability: Fraction, count: int) -> np.ndarray:
        """Return draws that are True with exactly this probability, whatever its denominator.

        The word is compared with the first 64 binary digits of the probability; where it equals them, once in 2^64
        draws, the digits that follow decide.
        """
        first, rest = divmod(probability * WORD, 1)
        if first >= WORD:
            return np.ones(count, dtype=bool)
        words = self.words(count)
        found = words < np.uint64(int(first))
        for tie in np.flatnonzero(words == np.uint64(int(first))).tolist():
            found[tie] = bool(rest) and bool(self.bernoulli(Fraction(rest), 1)[0])
        return found

    def uniform(self, size: int, count: int) -> np.ndarray:
        """Return whole numbers that are uniform on 0, ..., size - 1, int64: words past the last multiple are drawn
        anew."""
        words = self.words(count)
        most = WORD - WORD % size  # the first word that is refused
        while most < WORD and (late := np.flatnonzero(words >= np.uint64(most))).size:
            words[late] = self.words(late.size)
        return (words % np.uint64(size)).astype(np.int64)
