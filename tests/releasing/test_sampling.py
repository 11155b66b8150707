"""The sampler draws from exactly the integer channel: the table adds up to it, millions of draws confirm it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support import NEVER, RUNNING_CHANNEL, THOROUGH, few, random_channel

import divulge as dv
from divulge.model.integer import IntegerChannel
from divulge.releasing.drawing.alias import CELL_BITS, AliasTable
from divulge.releasing.drawing.sampling import BLOCK, KERNELS, Keystream, draw, settle


@settings(max_examples=few(12), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 8, 48, 53, 62 if THOROUGH else 56]))
def test_the_table_adds_up_to_the_integer_channel(seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = (int(k) for k in rng.integers(1, 20, size=2))
    whole = IntegerChannel.of(random_channel(rng, n, m, zeros=0.3), bits=max(bits, 12), raise_small=True)
    table = AliasTable.of(whole)
    total = table.width + CELL_BITS
    weights = table.weights().astype(object)
    assert (weights.sum(axis=1) == 1 << total).all()
    assert (weights[:, :m] == whole.weights.astype(object) << (total - whole.bits)).all()
    assert not weights[:, m:].any()


def test_certain_outcomes_are_certain() -> None:
    for m in (1, 2, 33, 1000):
        table = AliasTable.of(IntegerChannel.of(np.eye(m)))
        codes = np.arange(m).repeat(50)
        assert (draw(table, codes) == codes).all()


@pytest.mark.thin
@pytest.mark.parametrize("m", [2, 20, 1000, 9000])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_words_choose_cells_and_compare_as_written(kernel: str, m: int) -> None:
    """Decode each word in Python integers: its top bits are the cell, the others and more are compared with 48 bits.

    Every fourth word is set to tie with its threshold in the first step.
    """
    rng = np.random.default_rng(m)
    table = AliasTable.of(IntegerChannel.of(random_channel(rng, 7, m)))
    codes, words = rng.integers(0, 7, size=3000, dtype=np.int32), Keystream().fill(np.empty(3000, dtype=np.uint32))
    width, left = table.width, 32 - table.width
    for i in range(0, 3000, 4):
        cell = int(words[i]) >> left
        words[i] = cell << left | int(table.cells[(int(codes[i]) << width) + cell]) >> 16 >> (48 - left)
    more = Keystream().fill(np.empty(3000, dtype=np.uint64))
    out = np.empty(3000, dtype=np.uint16)
    tied = KERNELS[kernel](table, codes, words.copy(), out)
    assert set(range(0, 3000, 4)) <= set(tied[0].tolist())
    settle(table, codes, tied, more[tied[0]], out)
    wanted = []
    for x, word, rest in zip(codes.tolist(), words.tolist(), more.tolist(), strict=True):
        cell = word >> left
        packed = int(table.cells[(x << width) + cell])
        drawn = (word % 2**left) << (48 - left) | rest >> (64 - (48 - left))
        wanted.append(cell if drawn < packed >> 16 else packed % 2**16)
    assert out.tolist() == wanted


def test_a_fresh_key_every_time() -> None:
    first, second = (Keystream().fill(np.empty(4, dtype=np.uint64)) for _ in range(2))
    assert (first != second).all()
    stream, words = Keystream(), np.empty(BLOCK, dtype=np.uint64)
    assert (stream.fill(words).copy() != stream.fill(words)).all()


def test_codes_outside_the_alphabet_are_refused() -> None:
    table = AliasTable.of(IntegerChannel.of(RUNNING_CHANNEL))
    for codes in ([3], [-1], [0, 70000]):
        with pytest.raises(dv.DivulgeError, match="codes"):
            draw(table, np.array(codes))
    assert draw(table, np.array([], dtype=np.int64)).size == 0
    rows = np.array([2, -1, 3])  # positions that no row has may stand for nothing
    assert draw(table, np.zeros(5, dtype=np.int32), rows).size == 5
    for code in (1, 2, 3, -1):
        with pytest.raises(dv.DivulgeError, match="codes"):
            draw(table, np.array([0, code]), rows)


def test_more_outcomes_than_cells_are_refused() -> None:
    whole = IntegerChannel(np.full((1, 1 << 16), 1 << 8), 24, range(1), range(1 << 16))
    with pytest.raises(dv.DivulgeError, match="at most 32768 outcomes"):
        AliasTable.of(whole)


def _rejected(sampler: AliasTable, claimed: IntegerChannel, kernel: str, draws: int) -> float:
    """Return the p-value of Pearson's test of `draws` draws of the sampler against the claimed channel."""
    n, m = claimed.shape
    counts = np.zeros(n * m, dtype=np.int64)
    codes = np.tile(np.arange(n, dtype=np.int32), (1 << 22) // n)
    for _ in range(-(-draws // len(codes))):
        pairs = codes * np.int32(m) + draw(sampler, codes, kernel=kernel)
        counts += np.bincount(pairs, minlength=n * m)
    observed = counts.reshape(n, m)
    expected = claimed.weights / 2.0**claimed.bits * observed.sum(axis=1, keepdims=True)
    possible = expected > 0
    assert not observed[~possible].any()
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    return float(stats.chi2.sf(statistic, possible.sum() - n))


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_the_right_channel_is_accepted_and_one_entry_off_by_six_percent_rejected(kernel: str) -> None:
    rng = np.random.default_rng(1)
    right = random_channel(rng, 8, 12, exact=True, zeros=0.1, span=0.7)
    off = right.matrix.copy()
    entry, other = np.argsort(-right.floats[3])[:2]
    change, draws = off[3, entry] / 16, 25_000_000 if THOROUGH else 4_000_000
    off[3, entry] += change
    off[3, other] -= change
    claimed = IntegerChannel.of(right)
    assert _rejected(AliasTable.of(claimed), claimed, kernel, draws) > NEVER
    assert _rejected(AliasTable.of(IntegerChannel.of(off)), claimed, kernel, draws) < NEVER
