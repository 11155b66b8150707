"""What a draw uses up does not depend on the value that is protected: random bytes, ties, calls."""

from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from divulge.model.integer import IntegerChannel
from divulge.releasing.drawing import sampling
from divulge.releasing.drawing.alias import AliasTable

CHANNELS = {
    "randomized response": [["3/5", "1/5", "1/5"], ["1/5", "3/5", "1/5"], ["1/5", "1/5", "3/5"]],
    "a row that is certain": [["1", "0", "0"], ["1/3", "1/3", "1/3"], ["1/7", "2/7", "4/7"]],
    "rows that are far apart": [["999999/1000000", "1/1000000", "0"], ["0", "1/2", "1/2"], ["1/11", "0", "10/11"]],
}


def _table(name: str) -> AliasTable:
    return AliasTable.of(IntegerChannel.of([[Fraction(entry) for entry in row] for row in CHANNELS[name]]))


@pytest.mark.parametrize("kernel", ["numpy", *(["numba"] if find_spec("numba") else [])])
@pytest.mark.parametrize("name", CHANNELS)
def test_as_many_words_of_all_need_a_second_one_for_every_value(name: str, kernel: str) -> None:
    """Of the 2^32 first words exactly one a cell ties, for each value: so the law of the bytes used is the same."""
    table = _table(name)
    cells = np.arange(1 << table.width, dtype=np.uint64)
    step = np.uint64(32 - table.width)
    for secret in range(table.rows):
        row = table.thresholds32[secret << table.width : (secret + 1) << table.width].astype(np.uint64)
        first = row >> np.uint64(table.width)
        for shift, ties in ((0, len(cells)), (1, 0)):  # the word of the threshold in each cell, and the one beside it
            words = (cells << step | first ^ np.uint64(shift)).astype(np.uint32)
            codes = np.full(len(words), secret, dtype=np.uint16)
            tied, _ = sampling.KERNELS[kernel](table, codes, words, np.empty(len(words), dtype=np.uint16))
            assert len(tied) == ties, (secret, shift)


@pytest.mark.parametrize("name", CHANNELS)
def test_the_same_stream_is_used_up_alike_by_every_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With words that tie nowhere each draw uses one word of 32 bits, whatever its value, and makes the same calls."""
    table, used = _table(name), list[int]()

    class Fixed(sampling.Keystream):
        def __init__(self) -> None:
            self._rng = np.random.default_rng(5)

        def fill(self, words: np.ndarray) -> np.ndarray:
            used.append(words.nbytes)
            words[:] = self._rng.integers(0, 2**32, len(words), dtype=np.uint64).astype(words.dtype)
            return words

    monkeypatch.setattr(sampling, "Keystream", Fixed)
    uses = []
    for codes in (*(np.full(1000, secret) for secret in range(table.rows)), np.arange(1000) % table.rows):
        used.clear()
        sampling.draw(table, codes, kernel="numpy", threads=1)
        uses.append(list(used))
    assert all(use == [4000] for use in uses)
