"""Fewer columns for the same convex combination, and never at a higher price."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, few

import divulge as dv
from divulge.designing.effort import Effort
from divulge.designing.master.caratheodory import purified
from divulge.designing.master.column_generation import Mixture
from divulge.designing.polytope.limits import Classes, Limits
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.pricing.problem import Problem
from divulge.designing.start import random_sets
from divulge.designing.start.random_sets import positive


@pytest.mark.parametrize("seed", range(few(12)))
def test_the_blend_stays_its_price_does_not_grow_and_few_columns_are_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, many = int(rng.integers(2, 7)), int(rng.integers(8, 150))
    columns, weights = rng.dirichlet(np.ones(rows), many).T, rng.dirichlet(np.ones(many))
    losses = rng.random(many) * float(rng.choice([1e-6, 1.0, 1e3]))
    kept = purified(weights, columns, losses)
    assert kept.min() >= 0
    assert np.count_nonzero(kept) <= rows
    assert columns @ kept == pytest.approx(columns @ weights, abs=1e-12)
    assert losses @ kept <= losses @ weights * (1 + 1e-12)
    least = linprog(losses, A_eq=columns, b_eq=columns @ weights).fun
    assert losses @ kept >= least * (1 - 1e-9)


@pytest.mark.parametrize("near", [0.0, 1e-9, 1e-7])
def test_many_blocks_leave_no_more_columns_than_one_also_where_columns_are_nearly_the_same(near: float) -> None:
    rng = np.random.default_rng(3)
    centers = rng.dirichlet(np.ones(6), 700 if near == 0 else 9).T
    columns = centers[:, rng.integers(0, centers.shape[1], 1100)] + near * rng.standard_normal((6, 1100))
    weights, losses = rng.dirichlet(np.ones(1100)), rng.random(1100)
    kept = purified(weights, columns, losses)
    assert np.count_nonzero(kept) <= 6
    assert columns @ kept == pytest.approx(columns @ weights, abs=1e-11)
    assert losses @ kept <= losses @ weights * (1 + 1e-12)


def test_when_the_time_is_up_the_blend_stays_with_more_columns() -> None:
    rng = np.random.default_rng(1)
    columns, weights = rng.dirichlet(np.ones(3), 900).T, rng.dirichlet(np.ones(900))
    late = purified(weights, columns, rng.random(900), Effort(deadline=0.0))
    assert np.count_nonzero(late) == 900
    assert columns @ late == pytest.approx(columns @ weights, abs=1e-12)


def test_lifts_that_no_weights_blend_to_one_have_none() -> None:
    lifts = np.column_stack([np.full(9, 0.3), np.linspace(0.5, 1.5, 9), np.linspace(1.5, 0.5, 9)])
    assert positive(lifts) is None


def test_a_secret_too_heavy_for_its_upper_bound_leaves_an_honest_gap() -> None:
    p = 1 / np.arange(1.0, 81.0)
    found = dv.design(p / p.sum(), dv.LIP(3), time_limit=1 if THOROUGH else 0.1)
    assert found.relative_gap < 0.02
    assert dv.LIP(3).holds_for(found.joint)


def test_few_random_sets_are_drawn_where_they_leave_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = list[int]()
    mixed = random_sets._mixed

    def noted(problem: Problem, each: int, effort: Effort) -> Mixture | None:
        drawn.append(each)
        return mixed(problem, each, effort)

    monkeypatch.setattr(random_sets, "_mixed", noted)
    p = np.random.default_rng(1).dirichlet(np.ones(128))
    classes, limits = Classes.apart(p, list(np.arange(128)[:, None])), Limits(high=math.exp(0.5))
    problem = Problem.of(classes, SUBCONVEX["mutual-information"], limits)
    found = random_sets.of_random_sets(problem, Effort(), 1e-6)
    assert found is not None
    assert found.settled(problem, 1e-6)
    assert found.weights @ found.vertices.lifts(problem.classes) == pytest.approx(1, abs=1e-9)
    assert drawn == [4]
    assert random_sets.of_random_sets(problem, Effort(), 1e-12) is not None
    assert drawn == [4, 4, 16]
    assert random_sets.of_random_sets(problem, Effort(deadline=0.0), 1e-6) is None
