"""Maximal guesswork leakage against randomized functions of the secret, and those that approach it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import divulge as dv


def guesses(p: np.ndarray) -> float:
    """Return sum_i i p_(i), unnormalized."""
    return float((np.sort(p)[::-1] * np.arange(1, len(p) + 1)).sum())


def gain(table: np.ndarray, channel: np.ndarray) -> float:
    """Return log G(U) / E G(U | Y) for P(x, u)."""
    return math.log(guesses(table.sum(axis=0)) / sum(guesses(column @ table) for column in channel.T))


def draws(many: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(11)
    sizes = rng.integers(2, 5, size=(many, 2))
    return [(rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(m, 0.4), size=n)) for n, m in sizes.tolist()]


def test_no_randomized_function_gains_more() -> None:
    rng = np.random.default_rng(12)
    for p, channel in draws(40):
        upper = dv.measures.maximal_guesswork_leakage((p, channel)).upper
        for _ in range(60):
            letters, spread = int(rng.integers(1, 12)), float(rng.choice([0.05, 0.3, 1.0]))
            table = p[:, None] * rng.dirichlet(np.full(letters, spread), size=len(p))
            assert gain(table, channel) <= upper + 1e-12


def test_functions_with_many_letters_approach_it() -> None:
    for p, channel in draws(12):
        found = dv.measures.maximal_guesswork_leakage((p, channel))
        grid = np.random.default_rng(13).dirichlet(np.full(len(p), 0.7), size=300)
        overlap = np.minimum(channel[:, None, :], channel[None, :, :]).sum(axis=2)
        r = grid[int(np.argmin(np.einsum("kx,xz,kz->k", grid, overlap, grid)))]
        counts = np.rint(r * 4_000).astype(int)
        part = 0.5 * (p[counts > 0] / counts[counts > 0]).min()
        table = np.zeros((len(p), len(p) + counts.sum()))
        table[np.arange(len(p)), np.arange(len(p))] = p - part * counts
        table[np.repeat(np.arange(len(p)), counts), len(p) + np.arange(counts.sum())] = part
        near = gain(table, channel)
        assert near <= found.upper + 1e-12
        assert near >= found.lower - 0.03 - 0.05 * found.lower


def test_the_bracket_and_what_bounds_it() -> None:
    for p, channel in draws(60):
        found = dv.measures.maximal_guesswork_leakage((p, channel))
        assert 0 <= found.lower <= found.upper <= found.lower + 1e-9
        assert found.upper <= min(dv.maximal_leakage(channel), dv.maximal_cost_leakage(channel)) + 1e-9
        assert found.lower >= dv.adversaries.log_leakage((p, channel), dv.Cost.guesswork(len(p))) - 1e-9
        merged = channel @ np.random.default_rng(14).dirichlet(np.ones(3), size=channel.shape[1])
        assert dv.measures.maximal_guesswork_leakage((p, merged)).lower <= found.upper


def test_known_values_units_and_many_secrets() -> None:
    exact = dv.measures.maximal_guesswork_leakage((np.full(4, 0.25), np.eye(4)), unit="bits")
    assert (exact.lower, exact.upper) == pytest.approx((2.0, 2.0))
    silent = dv.measures.maximal_guesswork_leakage((["1/2", "1/2"], [["1/3", "2/3"], ["1/3", "2/3"]]))
    assert (silent.lower, silent.upper) == pytest.approx((0.0, 0.0), abs=1e-12)
    tiny = np.array([[0.5 + 1e-9, 0.5 - 1e-9], [0.5, 0.5]])
    small = dv.measures.maximal_guesswork_leakage(([0.5, 0.5], tiny))
    assert small.lower == pytest.approx(5e-10, rel=1e-6)
    assert small.upper == pytest.approx(5e-10, rel=1e-6)
    never = dv.measures.maximal_guesswork_leakage(([0.5, 0.5, 0.0], [[1, 0], [1, 0], [0, 1]]))
    assert never.upper == pytest.approx(0.0, abs=1e-12)
    wide = dv.measures.maximal_guesswork_leakage((np.full(200, 1 / 200), np.eye(200)))
    assert math.log(159) < wide.lower <= math.log(200) <= wide.upper
    with pytest.raises(dv.DivulgeError):
        dv.measures.maximal_guesswork_leakage(([0.5, 0.4], np.eye(2)))


@pytest.mark.parametrize("moment", [1, 2, 0.5, 3])
def test_moments_of_the_number_of_guesses_are_the_least_of_any_order(moment: float) -> None:
    """Every order of guessing is tried, before and after an outcome; Arikan's bounds hold."""
    for p, channel in draws(6):
        orders = list(itertools.permutations(range(1, len(p) + 1)))

        def least(q: np.ndarray, orders: list[tuple[int, ...]] = orders) -> float:
            return min(math.fsum(np.array(order, dtype=float) ** moment * q) for order in orders)

        before = dv.measures.guesswork(p, moment)
        assert before == pytest.approx(least(p), rel=1e-12)
        after = dv.measures.guesswork_after((p, channel), moment)
        for value, column in zip(after.values, channel.T, strict=True):
            assert value == pytest.approx(least(p * column / (p @ column)), rel=1e-12)
        assert after.mean() <= before * (1 + 1e-12)
        renyi = moment * dv.measures.renyi_entropy(p, 1 / (1 + moment))
        assert renyi - moment * math.log(1 + math.log(len(p))) <= math.log(before) <= renyi + 1e-12


def test_moments_are_exact_where_they_can_be_and_infinite_where_no_double_holds_them() -> None:
    prior = ["1/7", "4/7", "2/7"]
    assert dv.measures.guesswork(prior, 2) == Fraction(4 + 8 + 9, 7)
    assert dv.measures.guesswork(prior, 64) == Fraction(4 + 2 * 2**64 + 3**64, 7)
    assert dv.measures.guesswork(prior, 1e4) == math.inf
    sparse = dv.Joint([0.5, 0.25, 0.25], dv.Channel(csr_matrix(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))))
    assert dv.measures.guesswork_after(sparse, 2).values == pytest.approx([1.6, 2.0])
