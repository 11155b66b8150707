"""Capacity and its relatives of other orders: to relative precision, however close the rows lie, in a bracket."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp, mpf
from support import ONE, THOROUGH, close_rows, dyadic_rows

import divulge as dv

ORDERS = [0.05, 0.5, 1 - 1e-7, 1, 1 + 1e-7, 2, 7.5, 300]
SHIFTS = [1, 1 << 12, 1 << 24, 1 << 36]


def seen_from_the_middle(rows: list[list[mpf]], r: list[mpf], order: float) -> tuple[mpf, list[mpf]]:
    """Return Sibson's information under r and D_a(C_x || pi) for each x, from their definitions."""
    a, columns = mpf(order), range(len(rows[0]))
    if order == 1:
        q = [sum(w * row[y] for w, row in zip(r, rows, strict=True)) for y in columns]
        each = [sum(c * mp.log(c / q[y]) for y, c in enumerate(row) if c > 0) for row in rows]
        return sum(w * d for w, d in zip(r, each, strict=True)), each
    roots = [sum(w * row[y] ** a for w, row in zip(r, rows, strict=True) if row[y] > 0) ** (1 / a) for y in columns]
    pi = [v / sum(roots) for v in roots]
    sums = [sum(c**a * pi[y] ** (1 - a) for y, c in enumerate(row) if c > 0) for row in rows]
    return a / (a - 1) * mp.log(sum(roots)), [mp.log(v) / (a - 1) for v in sums]


def capacity_of_two_rows(rows: list[list[mpf]], order: float) -> mpf:
    """Return the capacity: under the best prior the middle is equally far from both rows, found by halving."""
    low, high = mpf(0), mpf(1)
    for _ in range(60):
        half = (low + high) / 2
        _, (first, second) = seen_from_the_middle(rows, [half, 1 - half], order)
        low, high = (half, high) if first > second else (low, half)
    return seen_from_the_middle(rows, [low, 1 - low], order)[0]


def big(rows: np.ndarray) -> list[list[mpf]]:
    return [[mpf(int(v)) / ONE for v in row] for row in rows]


@pytest.mark.thin
@pytest.mark.parametrize("order", ORDERS)
def test_two_secrets_at_every_order(order: float) -> None:
    rng = np.random.default_rng(21)
    channels = [close_rows(rng, 2, 3, shift) for shift in SHIFTS]
    channels += [dyadic_rows(rng, 2, int(rng.integers(2, 5)), zeros) for zeros in (0.0, 0.3)]
    for rows in channels:
        matrix = (rows / ONE).astype(float)
        with mp.workdps(70):
            truth = capacity_of_two_rows(big(rows), order)
        for channel in (dv.Channel(matrix), dv.Channel(sp.csr_array(matrix)),
                        dv.Channel([[F(int(v), ONE) for v in row] for row in rows])):  # fmt: skip
            found = dv.measures.sibson_capacity(channel, order)
            assert found.value == pytest.approx(float(truth), rel=1e-12, abs=0)
            assert found.lower <= truth <= found.upper
            assert found.gap <= 2e-12 * found.upper
            assert dv.measures.maximal_alpha_leakage(channel, order) == found.value if order > 1 else True


@pytest.mark.parametrize("order", ORDERS)
def test_many_secrets_at_every_order(order: float) -> None:
    rng = np.random.default_rng(22)
    for shift in [*SHIFTS, None]:
        n, m = (int(v) for v in rng.integers(3, 9, size=2))
        rows = dyadic_rows(rng, n, m, 0.2) if shift is None else close_rows(rng, n, m, shift)
        found = dv.measures.sibson_capacity((rows / ONE).astype(float), order)
        with mp.workdps(60):
            prior = [mpf(p) for p in found.prior.floats.tolist()]
            reached, each = seen_from_the_middle(big(rows), [p / sum(prior) for p in prior], order)
        assert found.value == pytest.approx(float(reached), rel=1e-14, abs=0)
        assert found.lower <= reached
        assert reached <= found.upper <= max(each) * (1 + 1e-12)
        assert found.gap <= 2e-12 * found.upper


def test_rows_that_differ_less_than_floats_can_tell() -> None:
    tiny = F(1, 10**20)
    channel = dv.Channel([[F(1, 2) + tiny, F(1, 2) - tiny], [F(1, 2) - tiny, F(1, 2) + tiny]])
    for order in (0.5, 1, 2):
        found = dv.measures.sibson_capacity(channel, order)
        assert found.value == pytest.approx(2e-40 * order, rel=1e-12, abs=0)
        assert 0 < found.lower < found.upper
    assert dv.profile(channel).capacity == dv.measures.capacity(channel)


@pytest.mark.parametrize("order", [0.5, 1, 2])
def test_equal_rows_have_no_capacity(order: float) -> None:
    for row in ([0.1, 0.9], ["1/10", "9/10"]):
        found = dv.measures.sibson_capacity([row] * 3, order)
        assert (found.lower, found.value, found.upper) == (0.0, 0.0, 0.0)


@pytest.mark.thin
@pytest.mark.parametrize("order", [1e-12, 1e-6, 1e-3, 0.02])
def test_orders_near_zero_are_bracketed_as_well(order: float) -> None:
    rng = np.random.default_rng(23)
    for shift in (None, None, None, *SHIFTS[1:]) if THOROUGH else (None, *SHIFTS[1::2]):
        rows = dyadic_rows(rng, 2, 3, 0.2) if shift is None else close_rows(rng, 2, 3, shift)
        found = dv.measures.sibson_capacity((rows / ONE).astype(float), order)
        with mp.workdps(90):
            truth = capacity_of_two_rows(big(rows), order)
        assert found.value == pytest.approx(float(truth), rel=1e-12, abs=0)
        assert found.lower <= truth <= found.upper
        assert found.gap <= 2e-12 * found.upper
    complete = dv.measures.sibson_capacity(dv.mechanisms.identity(100), order)
    assert complete.upper == pytest.approx(math.log(100), rel=1e-12)


@pytest.mark.parametrize("shift", [*SHIFTS, None])
@pytest.mark.thin
def test_the_farthest_of_many_secrets_decide(shift: int | None) -> None:
    rng = np.random.default_rng(24)
    n = 300 if THOROUGH else 60
    rows = dyadic_rows(rng, n, 5, 0.2) if shift is None else close_rows(rng, n, 5, shift)
    matrix = (rows / ONE).astype(float)
    found = dv.measures.capacity(matrix)
    with mp.workdps(50):
        prior = [mpf(p) for p in found.prior.floats.tolist()]
        reached, each = seen_from_the_middle(big(rows), [p / sum(prior) for p in prior], 1)
    assert found.value == pytest.approx(float(reached), rel=1e-13, abs=0)
    assert found.lower <= reached <= found.upper <= max(each) * (1 + 1e-12)
    assert found.gap <= 1e-12 * found.upper
    assert dv.measures.capacity(sp.csr_array(matrix)).value == pytest.approx(found.value, rel=1e-12, abs=0)
    assert dv.measures.capacity(matrix[: n - 20]).lower <= found.upper


def test_symmetric_and_noiseless_channels_of_many_secrets() -> None:
    for epsilon in (1e-9, 1.0):
        with mp.workdps(60):
            top = mp.exp(epsilon) / (mp.exp(epsilon) + 999)
            rest = 1 / (mp.exp(epsilon) + 999)
            wanted = mp.log(1000) + top * mp.log(top) + 999 * rest * mp.log(rest)
        found = dv.measures.capacity(dv.mechanisms.randomized_response(1000, epsilon))
        assert found.value == pytest.approx(float(wanted), rel=1e-6 if epsilon < 1 else 1e-12)
        assert found.gap <= 1e-12 * found.upper
    assert dv.measures.capacity(np.eye(600)).upper == pytest.approx(math.log(600), rel=1e-15)


def test_channels_too_large_for_that_get_an_honest_bracket() -> None:
    matrix = np.random.default_rng(25).dirichlet(np.ones(900), 900)
    found, fewer = dv.measures.capacity(matrix), dv.measures.capacity(matrix[: 500 if THOROUGH else 100])
    assert found.lower <= found.value <= found.upper
    assert fewer.gap <= 1e-12 * fewer.upper
    assert fewer.lower <= found.upper


@pytest.mark.parametrize("tolerance", [math.nan, -1e-9, math.inf, "1e-9", True])
def test_a_tolerance_is_a_number_from_zero_on(tolerance: Any) -> None:
    rows = [[0.5, 0.5], [0.2, 0.8]]
    for search in (dv.measures.capacity, lambda c, tolerance: dv.measures.sibson_capacity(c, 2, tolerance=tolerance)):
        with pytest.raises(dv.DivulgeError, match="tolerance"):
            search(rows, tolerance=tolerance)


@pytest.mark.parametrize("steps", [0, -1, 1.5, math.nan, True])
def test_steps_are_a_whole_number_from_one_on(steps: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="steps"):
        dv.measures.capacity([[0.5, 0.5], [0.2, 0.8]], steps=steps)


@pytest.mark.parametrize("kind", ["peaked", "flat", "sparse", "cliques"])
def test_longer_steps_keep_the_bracket_and_beat_those_of_blahut_and_arimoto(kind: str) -> None:
    """Newton steps know the capacity of 200 rows; the bracket holds it after any number of steps, and closes sooner."""
    rng = np.random.default_rng(7)
    matrix = {
        "peaked": rng.dirichlet(np.full(60, 0.05), size=200), "flat": rng.dirichlet(np.full(300, 2.0), size=200),
        "sparse": rng.dirichlet(np.ones(80), size=200) * (rng.random((200, 80)) < 0.1) + np.eye(200, 80, -3) * 1e-6,
        "cliques": np.kron(np.eye(10), np.ones((20, 5))) + 1e-9,
    }[kind]  # fmt: skip
    matrix[matrix.sum(axis=1) == 0] = 1.0
    channel = dv.Channel(matrix / matrix.sum(axis=1, keepdims=True))
    c, truth = channel.floats, dv.measures.capacity(channel)
    assert truth.gap < 1e-11
    r, lower, upper = np.full(200, 1 / 200), 0.0, np.inf
    for _ in range(40):  # as in the papers of 1972
        d = (c * np.log(np.where(c > 0, c / (r @ c), 1.0))).sum(axis=1)
        lower, upper, r = max(lower, float(r @ d)), min(upper, float(d.max())), r * np.exp(d) / (r @ np.exp(d))
    for form in (channel, dv.Channel(sp.csr_array(c))):
        brackets = [dv.measures.capacity(form, steps=steps) for steps in (1, 2, 3, 5, 8, 13, 21, 40)]
        assert all(one.lower <= truth.upper and one.upper >= truth.lower for one in brackets)
        assert [one.gap for one in brackets] == sorted((one.gap for one in brackets), reverse=True)
        assert brackets[-1].gap <= (upper - lower) * 0.8 + 1e-12
        last = brackets[-1]
        assert dv.mutual_information((last.prior, form)) == pytest.approx(last.value, rel=1e-12)
