"""Sets of priors: closed forms, greedy against linear programs, and priors drawn from the sets."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import linprog
from support import random_channel, random_prior

import divulge as dv


def test_lower_bounded_closed_form() -> None:
    rng = np.random.default_rng(0)
    for exact in (False, True):
        channel = random_channel(rng, 4, 3, exact=exact)
        c = channel.floats
        for bound in (0, F(1, 10), F(1, 4)):
            b = float(bound)
            found = dv.LowerBounded(4, bound).pml(channel)
            q = b * c.sum(axis=0) + (1 - 4 * b) * c.min(axis=0)
            assert found.values == pytest.approx(np.log(c.max(axis=0) / q), rel=1e-12)
            q = b * c.sum(axis=0) + (1 - 4 * b) * c.max(axis=0)
            assert dv.LowerBounded(4, bound).pmc(channel).values == pytest.approx(np.log(q / c.min(axis=0)), rel=1e-12)
        assert dv.LowerBounded(4, 0).pml(channel).max() == pytest.approx(dv.ldp(channel), rel=1e-12)
        uniform = dv.Joint(dv.Prior.uniform(4), channel)
        assert dv.LowerBounded(4, F(1, 4)).lip(channel) == pytest.approx(dv.lip(uniform), rel=1e-12)
        assert dv.LowerBounded(4, F(1, 4)).lift(channel) == pytest.approx(float(dv.lift(uniform)), rel=1e-12)


def _extreme_mean(center: np.ndarray, radius: float, values: np.ndarray) -> float:
    """The least mean of `values` in the l1 ball, by a linear program in (P, |P - center|)."""
    n, eye = len(center), np.eye(len(center))
    above = np.block([[eye, -eye], [-eye, -eye], [np.zeros((1, n)), np.ones((1, n))]])
    right = np.concatenate([center, -center, [radius]])
    whole = np.concatenate([np.ones(n), np.zeros(n)])[None]
    answer = linprog(np.concatenate([values, np.zeros(n)]), A_ub=above, b_ub=right, A_eq=whole, b_eq=[1.0])
    return answer.fun


def test_the_greedy_answer_of_the_ball_is_the_linear_program() -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        channel, center = random_channel(rng, 5, 3), random_prior(rng, 5, zeros=0.2)
        radius = float(rng.choice([0.05, 0.4, 1.3, 2.0]))
        ball, c = dv.L1Ball(center, radius), channel.floats
        leak, cost = ball.pml(channel), ball.pmc(channel)
        for y in range(3):
            lowest = _extreme_mean(center.floats, radius, c[:, y])
            highest = -_extreme_mean(center.floats, radius, -c[:, y])
            assert leak.values[y] == pytest.approx(math.log(c[:, y].max() / lowest), abs=1e-7)
            assert cost.values[y] == pytest.approx(math.log(highest / c[:, y].min()), abs=1e-7)
            worst = leak.priors[y].floats
            assert np.abs(worst - center.floats).sum() <= radius + 1e-12
            assert c[:, y].max() / (worst @ c[:, y]) == pytest.approx(math.exp(leak.values[y]), rel=1e-12)
        assert leak.max() == leak.values.max() == leak.to_dict()[leak.argmax()]


def test_the_set_bounds_each_of_its_priors() -> None:
    rng = np.random.default_rng(2)
    channel, center = random_channel(rng, 4, 3), random_prior(rng, 4)
    ball = dv.L1Ball(center, 0.3)
    box = np.vstack([np.eye(4), -np.eye(4)])
    sets = {
        "ball": (ball, lambda p: np.abs(p - center.floats).sum() <= 0.3),
        "bounded": (dv.LowerBounded(4, 0.1), lambda p: p.min() >= 0.1),
        "polytope": (dv.Polytope(box, [0.5] * 4 + [-0.05] * 4), lambda p: p.max() <= 0.5 and p.min() >= 0.05),
    }
    for priors, inside in sets.values():
        leak, cost = priors.pml(channel), priors.pmc(channel)
        met = 0
        for _ in range(300):
            p = rng.dirichlet(np.ones(4))
            p = center.floats + 0.3 * (p - center.floats) if priors is ball else p
            if inside(p):
                met += 1
                assert (dv.pml((dv.Prior(p), channel)).values <= leak.values + 1e-9).all()
                assert (dv.pmc((dv.Prior(p), channel)).values <= cost.values + 1e-9).all()
        assert met > 5


def test_a_polytope_gives_the_same_as_the_closed_forms() -> None:
    rng = np.random.default_rng(3)
    channel = random_channel(rng, 4, 3)
    polytope = dv.Polytope(-np.eye(4), [-0.1] * 4)
    bounded = dv.LowerBounded(4, 0.1)
    for ours, theirs in ((polytope.pml(channel), bounded.pml(channel)), (polytope.pmc(channel), bounded.pmc(channel))):
        assert ours.values == pytest.approx(theirs.values, abs=1e-9)
    with pytest.raises(dv.DivulgeError, match="at least one prior"):
        dv.Polytope(-np.eye(2), [-0.7, -0.7])


def test_a_secret_that_no_prior_allows_does_not_count() -> None:
    channel = dv.Channel([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    without = dv.Polytope([[0.0, 0.0, 1.0]], [0.0])
    assert math.isfinite(without.pmc(channel).max())
    assert dv.LowerBounded(3, 0).pmc(channel).max() == math.inf


def test_the_radius_from_samples_holds_with_its_confidence() -> None:
    rng = np.random.default_rng(4)
    for n in (2, 5, 40):
        truth = rng.dirichlet(np.ones(n))
        outside = 0
        for _ in range(200):
            counts = rng.multinomial(300, truth)
            ball = dv.L1Ball.from_samples([int(v) for v in counts], confidence=0.9)
            outside += np.abs(ball.center.floats - truth).sum() > ball.radius
        assert outside <= 20
    assert dv.L1Ball.from_samples([30] * 200).radius < math.sqrt(2 * (200 * math.log(2) + math.log(20)) / 6000) * 0.99
    weissman = math.sqrt(2 * math.log((2**3 - 2) / 0.05) / 300)
    assert dv.L1Ball.from_samples([100] * 3).radius == pytest.approx(weissman, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: dv.LowerBounded(2, 0.6), "least_probability"),
        (lambda: dv.LowerBounded(2, float("nan")), "least_probability"),
        (lambda: dv.L1Ball([0.5, 0.5], -1.0), "radius"),
        (lambda: dv.L1Ball.from_samples([1, 1], confidence=1.0), "confidence"),
        (lambda: dv.Polytope([[1.0]], [0.0, 0.0]), "matrix"),
        (lambda: dv.Polytope([["a"]], [0.0]), "matrix"),
        (lambda: dv.LowerBounded(0, 0.1), "secrets"),
    ],
)
def test_bad_sets_are_refused(make: object, word: str) -> None:
    assert callable(make)
    with pytest.raises(dv.DivulgeError, match=word):
        make()
