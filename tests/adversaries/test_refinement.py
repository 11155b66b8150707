"""Refinement orders: certificates and adversaries checked without the program that found them, and against qif."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import SURVEY_G, SURVEY_R, few, random_channel

import divulge as dv
from divulge.programs import cheapest


def check(answer: dv.results.Refinement) -> None:
    """Verify a verdict from its proof alone."""
    a, b = np.asarray(answer.riskier), np.asarray(answer.safer)
    if answer.holds and answer.order == "average-case":
        assert answer.certificate is not None
        gap = abs(np.asarray(answer.riskier.then(answer.certificate)) - b).max()
    elif answer.holds:
        assert answer.certificate is not None
        live = [c[:, c.sum(axis=0) > 0] for c in (a, b)]
        inner, seen = (c / c.sum(axis=0) for c in live)
        gap = abs(inner @ np.asarray(answer.certificate).T - seen).max()
    else:
        assert answer.gain is not None
        case = "average" if answer.order == "average-case" else "max"
        before = dv.vulnerability(answer.prior, answer.gain)
        values = [dv.leakage(dv.Joint(answer.prior, c), answer.gain, case) * before for c in (a, b)]
        assert values[1] > values[0]
        return
    assert gap <= answer.tolerance


def both(a: Any, b: Any) -> tuple[bool, bool]:
    answers = dv.adversaries.refinement(a, b), dv.adversaries.max_case_refinement(a, b)
    for answer in answers:
        check(answer)
    return answers[0].holds, answers[1].holds


@pytest.mark.parametrize("post", [False, True])
def test_agreement_with_qif_on_random_pairs(post: bool) -> None:
    import qif

    rng = np.random.default_rng(77)
    for _ in range(few(40)):
        n, m, k = (int(v) for v in rng.integers(2, 6, size=3))
        a = random_channel(rng, n, m, span=1.0)
        b = a.then(random_channel(rng, m, k, zeros=0.2)) if post else random_channel(rng, n, k, span=1.0)
        mine = both(a, b)
        theirs = (
            qif.refinement.refined_by(np.array(a.floats), np.array(b.floats)),
            qif.refinement.max_refined_by(np.array(a.floats), np.array(b.floats)),
        )
        assert mine == theirs
        assert not post or mine == (True, True)
        assert not mine[0] or mine[1]


@settings(max_examples=few(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 0.5]))
def test_exact_answers_are_proved(seed: int, post: bool, zeros: float) -> None:
    rng = np.random.default_rng(seed)
    n, m, k = (int(v) for v in rng.integers(1, 5, size=3))
    a = random_channel(rng, n, m, exact=True, zeros=zeros)
    b = a.then(random_channel(rng, m, k, exact=True)) if post else random_channel(rng, n, k, exact=True, zeros=zeros)
    mine = both(a, b)
    assert not post or mine == (True, True)
    assert not mine[0] or mine[1]
    if mine[1]:
        assert dv.lift_capacity(b) <= dv.lift_capacity(a)


def test_survey_channels_are_incomparable_and_the_adversaries_say_why() -> None:
    for a, b in [(SURVEY_G, SURVEY_R), (SURVEY_R, SURVEY_G)]:
        assert both(a, b) == (False, False)
        answer = dv.adversaries.refinement(a, b)
        assert answer.vulnerability is not None
        assert all(type(v) is F for v in answer.vulnerability)


@pytest.mark.parametrize("bump", [F(1, 10**7), F(1, 10**12), F(1, 10**30)])
def test_exact_channels_that_differ_by_next_to_nothing(bump: F) -> None:
    noisy = [["3/4", "1/4"], ["1/4", "3/4"]]
    sharper = [[F(3, 4) + bump, F(1, 4) - bump], [F(1, 4), F(3, 4)]]
    assert both(noisy, sharper) == (False, False)
    assert both(sharper, noisy) == (True, True)
    blunt = [[float(v) for v in row] for row in sharper]
    assert dv.adversaries.refinement(noisy, blunt).holds is (bump < 1e-9)


def test_rounding_is_not_taken_for_leakage() -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(10)):
        a = random_channel(rng, 6, 8)
        b = np.asarray(a.then(random_channel(rng, 8, 5)).floats) * (1 + 1e-13 * rng.standard_normal((6, 5)))
        answer = dv.adversaries.refinement(a, b)
        assert answer.holds
        assert answer.error <= 1e-10


def test_identity_constant_and_other_labels() -> None:
    names = ["a", "b", "c"]
    reveal, hide = dv.Channel(np.eye(3).tolist(), names), dv.Channel([[1.0]] * 3, names)
    assert both(reveal, hide) == (True, True)
    assert both(hide, reveal) == (False, False)
    turned = dv.Channel([["0", "0", "1"], ["1", "0", "0"], ["0", "1", "0"]], ["c", "a", "b"])
    assert dv.adversaries.refinement(dv.Channel([["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]], names), turned)
    never = dv.Channel([["1", "0"], ["1", "0"], ["1", "0"]], names)
    assert both(never, never) == (True, True)
    half = dv.Channel([[0.5, 0.0, 0.5], [0.2, 0.0, 0.8], [1.0, 0.0, 0.0]], names)
    assert both(half, half.then([["1", "0"], ["1", "0"], ["1/3", "2/3"]])) == (True, True)
    with pytest.raises(dv.LabelError):
        dv.adversaries.refinement(reveal, [[1.0], [1.0]])
    with pytest.raises(dv.DivulgeError):
        dv.adversaries.refinement(reveal, hide, tolerance=float("nan"))


def test_max_case_order_is_weaker() -> None:
    a = dv.Channel([["1/2", "1/2", "0", "0"], ["1/4", "0", "3/4", "0"]])
    rarer = dv.Channel([["9/10", "1/10"], ["9/10", "1/10"]])
    often = dv.Channel([["1/10", "9/10"], ["1/5", "4/5"]])
    assert both(a, rarer) == (True, True)
    sharp = dv.Channel([["1/10", "0", "9/10"], ["0", "1/10", "9/10"]])
    plain = dv.Channel([["1/2", "1/2"], ["1/4", "3/4"]])
    assert both(sharp, plain) == (False, True)
    assert both(sharp, often)[1]


@pytest.mark.parametrize("seed", range(few(30)))
def test_exact_feasibility_has_a_solution_or_multipliers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.array([[F(int(v)) for v in row] for row in rng.integers(-3, 4, size=(4, 6))], dtype=object)
    target = np.array([F(int(v)) for v in rng.integers(0, 5, size=4)], dtype=object)
    if seed % 2:
        target = matrix @ np.array([F(int(v)) for v in rng.integers(0, 3, size=6)], dtype=object)
        flip = np.where(target < 0, -1, 1)
        matrix, target = matrix * flip[:, None], target * flip
    z, y = cheapest(matrix, target)
    if z is None:
        assert (y @ matrix <= 0).all()
        assert y @ target > 0
    else:
        assert (z >= 0).all()
        assert (matrix @ z == target).all()
    assert not seed % 2 or z is not None


@pytest.mark.parametrize("order", [dv.adversaries.refinement, dv.adversaries.max_case_refinement])
@pytest.mark.parametrize("size", [3e-9, 1e-8, 1e-6])
def test_a_no_by_little_more_than_the_tolerance_has_its_adversary(order: Any, size: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        first = rng.dirichlet(np.ones(3), 4)
        moved = first @ rng.dirichlet(np.ones(3), 3)
        shift = rng.normal(size=moved.shape)
        verdict = order(first, moved + size * (shift - shift.mean(axis=1, keepdims=True)))
        if not verdict.holds:
            assert verdict.gain is not None
            less, more = verdict.vulnerability
            assert less < more


@pytest.mark.parametrize(("n", "m"), [pytest.param(60, 60, marks=pytest.mark.long), (40, 70)])
def test_large_channels_are_decided_with_proof_and_without_one_great_program(n: int, m: int, monkeypatch: Any) -> None:
    """Post-processed, unrelated, and nearly post-processed channels; the linear program is out of reach."""
    monkeypatch.setattr(
        "divulge.adversaries.orders.refinements.nearest", lambda *_: pytest.fail("a linear program was used")
    )
    rng = np.random.default_rng(4)
    a, r, b = rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(m), m), rng.dirichlet(np.ones(m), n)
    made = dv.adversaries.refinement(a, a @ r)
    assert made.holds
    assert abs(a @ np.asarray(made.certificate) - a @ r).max() <= 1e-9
    for other in (b, 0.9 * (a @ r) + 0.1 * b):
        found = dv.adversaries.refinement(a, other)
        assert not found.holds
        assert found.gain is not None
        before, after = found.vulnerability
        assert after > before


def test_exact_channels_of_30_letters_are_proved_either_way() -> None:
    rng = np.random.default_rng(5)
    a, r, b = ([[F(int(v), int(row.sum())) for v in row] for row in rng.integers(1, 30, (30, 30))] for _ in range(3))
    made = dv.Channel(a).then(dv.Channel(r))
    found = dv.adversaries.refinement(a, made)
    assert found.holds
    assert found.error == 0
    assert dv.Channel(a).then(found.certificate).matrix.tolist() == made.matrix.tolist()
    other = dv.adversaries.refinement(a, b)
    assert not other.holds
    assert other.vulnerability[0] < other.vulnerability[1]
    assert isinstance(other.vulnerability[1], F)


@pytest.mark.parametrize("limit", [-1, "x", float("nan"), True])
def test_a_time_limit_is_a_time(limit: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="time_limit"):
        dv.adversaries.refinement(np.eye(2), np.eye(2), time_limit=limit)
    with pytest.raises(dv.DivulgeError, match="time_limit"):
        dv.adversaries.worst_prior(np.eye(2), np.eye(2), time_limit=limit)
