"""Integer channels: exact where they can be, largest remainder where they cannot, never a silent zero."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import RUNNING_CHANNEL, SURVEY_G, few, random_channel

import divulge as dv
from divulge.model.integer import IntegerChannel


def test_dyadic_channels_stay_as_they_are() -> None:
    channel = dv.Channel([["3/4", "1/4"], ["1/8", "7/8"]])
    whole = IntegerChannel.of(channel)
    assert not whole.rounded
    assert whole.exact == channel
    assert IntegerChannel.of(whole) is whole


def test_an_entry_below_all_doubles_is_no_zero() -> None:
    """Its rest, 2^53 / 10^350, is no double either; entries that are one object are rounded once, and all alike."""
    least = F(1, 10**350)
    channel = dv.Channel([[1 - 2 * least, least, least], ["1/3", "1/3", "1/3"]])
    with pytest.raises(dv.DivulgeError, match="an infinite epsilon"):
        IntegerChannel.of(channel)
    raised = IntegerChannel.of(channel, raise_small=True)
    assert raised.weights.tolist()[0] == [2**53 - 2, 1, 1]
    assert raised.rounded


@settings(max_examples=few(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([20, 53, 62]))
def test_rounding_is_by_less_than_one_unit(seed: int, exact: bool, bits: int) -> None:
    rng = np.random.default_rng(seed)
    channel = random_channel(rng, int(rng.integers(1, 6)), int(rng.integers(1, 8)), exact=exact, zeros=0.2)
    whole = IntegerChannel.of(channel, bits)
    slack = 1 if exact else 1 + (1 << bits) * 2e-14
    for row, wanted in zip(whole.weights.tolist(), channel.matrix.tolist(), strict=True):
        assert sum(row) == 1 << bits
        for weight, p in zip(row, wanted, strict=True):
            assert (weight == 0) == (p == 0)
            assert abs(weight - F(p) * (1 << bits)) < slack


def test_largest_remainder() -> None:
    assert IntegerChannel.of(SURVEY_G, bits=3).weights.tolist() == [[6, 1, 1], [3, 3, 2], [2, 1, 5]]
    assert IntegerChannel.of(SURVEY_G, bits=3).rounded


@pytest.mark.parametrize("tiny", [1e-30, F(1, 10**30)])
def test_an_entry_that_would_vanish_is_refused_or_raised(tiny: float | F) -> None:
    channel = [[tiny, 1 - tiny], [F(1, 2), F(1, 2)] if isinstance(tiny, F) else [0.5, 0.5]]
    with pytest.raises(dv.DivulgeError, match="infinite epsilon"):
        IntegerChannel.of(channel)
    raised = IntegerChannel.of(channel, raise_small=True)
    assert raised.weights[0].tolist() == [1, 2**53 - 1]
    assert raised.rounded


def test_bad_input_is_refused() -> None:
    with pytest.raises(dv.DivulgeError, match="bits"):
        IntegerChannel.of(RUNNING_CHANNEL, bits=63)
    with pytest.raises(dv.DivulgeError, match="sum"):
        IntegerChannel(np.array([[1, 2]]), 2, range(1), range(2))
    with pytest.raises(dv.DivulgeError, match="label"):
        IntegerChannel(np.array([[1, 3]]), 2, range(2), range(2))
