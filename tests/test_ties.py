"""Ties within rounding go to the first in the order of the labels, whatever the last bits of a processor are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.ties import falling, first_largest, first_smallest

SYMMETRIC = dv.Channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], secrets=[20, 30, 40])


def last_bits(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Return values as another processor might have them: each off by up to three units in the last place."""
    return values * (1 + rng.integers(-3, 4, size=values.shape) * 2.0**-53)


@pytest.mark.parametrize("seed", range(few(20)))
def test_noise_in_the_last_bits_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([1e-300, 0.1, 1 / 3, 2.0, 7e9, math.inf], size=40)
    plain = (first_largest(values), first_smallest(values), falling(values).tolist())
    for _ in range(5):
        moved = last_bits(rng, values)
        assert (first_largest(moved), first_smallest(moved), falling(moved).tolist()) == plain
    assert plain[:2] == (int(values.argmax()), int(values.argmin()))
    assert plain[2] == np.argsort(-values, kind="stable").tolist()


def test_what_differs_by_more_than_rounding_is_no_tie() -> None:
    assert first_largest([1.0, 1.0 + 1e-11]) == 1
    assert first_largest([0.0, 1e-14]) == 1
    assert first_largest([1e-20, 2e-20], absolute=0.0) == 1
    assert first_largest([Fraction(1), 1 + Fraction(1, 10**40)]) == 1
    assert first_largest([-math.inf, -1.0]) == 1
    assert falling([1.0, 1.0 + 1e-11], [1.0, 0.0]).tolist() == [1, 0]


def test_columns_are_told_one_by_one() -> None:
    table = np.array([[0.1 + 0.2, 1.0], [0.3, 2.0]])
    assert first_largest(table, axis=0).tolist() == [0, 1]
    assert first_smallest(table, axis=1).tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(few(10)))
def test_a_worst_pair_is_the_first_of_those_that_tie(seed: int) -> None:
    moved = last_bits(np.random.default_rng(seed), SYMMETRIC.matrix)
    channel = dv.Channel(moved, secrets=SYMMETRIC.secrets)
    pairs = {
        name: getattr(dv.dp, name)(channel).pair
        for name in ("kl_privacy", "zcdp_rho", "total_variation", "gaussian_dp")
    }
    assert set(pairs.values()) == {(20, 40)}
    assert dv.dp.delta_from_epsilon(channel, 0.5).pair == (20, 40)
    assert dv.dp.ternary_abs_chi(channel, 2).pair == dv.dp.ternary_abs_chi(SYMMETRIC, 2).pair
    assert dv.LDP(1).holds_for(channel).witness.outcome == 0
    joint = dv.Joint(dv.Prior([1 / 3, 1 / 3, 1 / 3], [20, 30, 40]), channel)
    assert (dv.pml(joint).argmax(), dv.pmc(joint).argmax()) == (0, 0)
    assert dv.worst_gain(joint).outcome == 0
