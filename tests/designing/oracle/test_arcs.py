"""The channel that comes at once: arcs average to 1 inside the limits, and short times give it with an honest bound."""

from operator import mul

import numpy as np
import pytest
from designing.problems import KINDS, NAMES, holds, limits_as_arguments, problem_of, random_prior
from designing.vertices import level_points, priced_optimum
from support import THOROUGH, few

import divulge as dv
from divulge.designing.polytope.limits import Limits, classes_of, limits_of
from divulge.designing.polytope.secant_bounds import capped
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.pricing.problem import Problem
from divulge.designing.pricing.subset_sums import singletons
from divulge.designing.rounding import Checker
from divulge.designing.start.circular_arcs import in_a_hurry, without_search


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_arcs_average_to_one_inside_the_limits(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)) + 9)
    for trial, n in enumerate([2, 3, 5, 8, 20, 60, 150] if THOROUGH else [2, 8, 30]):
        p = random_prior(rng, n)
        guarantees, _ = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        limits = limits_of(tuple(guarantees)).floats().tightened(float(p.min()), n)
        problem = Problem.of(singletons(classes_of(p)), SUBCONVEX[NAMES[trial % len(NAMES)]], limits)
        if limits.trivial:
            continue
        found = without_search(problem)
        lifts = found.vertices.lifts(problem.classes)
        assert found.weights.min() > 0
        assert len(found.weights) <= n + 1
        assert found.weights @ lifts == pytest.approx(1, abs=1e-9)
        assert lifts @ problem.classes.probability == pytest.approx(1, abs=1e-9)
        assert lifts.min() >= limits.low - 1e-9
        assert lifts.max() <= limits.high * (1 + 1e-9)
        assert (lifts.max(axis=1) / limits.ratio <= lifts.min(axis=1) * (1 + 1e-9)).all()
        assert found.weights @ lifts.max(axis=1) <= limits.capacity * (1 + 1e-9)
        assert 0 < found.utility(problem) <= found.bound


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "capacity" in kind or "leakage" in kind or kind == "all"])
def test_the_ceiling_under_a_capacity_is_above_the_best_mixture_of_all_vertices(kind: str) -> None:
    rng = np.random.default_rng(5)
    for trial in range(few(12)):
        p = random_prior(rng, 3 + trial % 6)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        f = SUBCONVEX[NAMES[trial % len(NAMES)]]
        best = priced_optimum(p, f.f, level_points(p, *limits_as_arguments(limits)), limits.get("capacity", np.inf))
        assert capped(limits_of(tuple(guarantees)).floats().tightened(float(p.min()), len(p)), f) >= best * (1 - 1e-9)


def test_chi_squared_under_a_capacity_alone_meets_its_ceiling() -> None:
    limits = limits_of((dv.guarantees.BayesCapacity(2),)).floats().tightened(1e-3, 50)
    assert capped(limits, SUBCONVEX["chi-squared"]) == pytest.approx(1, rel=1e-4)


@pytest.mark.thin
@pytest.mark.parametrize("guarantees", [["pml=0.5"], ["ldp=1"], ["alip=1:0.5"], ["ldp=2", "bayes-capacity=1.7"]])
def test_no_time_at_all_gives_a_sensible_channel(guarantees: list[str]) -> None:
    n = 150 if THOROUGH else 40
    p = np.random.default_rng(0).dirichlet(np.ones(n))
    found = dv.design(p, *guarantees, time_limit=0)
    assert found.relative_gap < 0.15
    assert holds(found)
    best = dv.design(p, *guarantees, time_limit=2 if THOROUGH else 0.1)
    assert found.utility <= best.bound
    assert found.bound >= best.utility
    given = np.random.default_rng(1).dirichlet(np.ones(2), n)
    about = dv.design(p, *guarantees, utility=dv.About(given), time_limit=0)
    assert about.utility > 0
    assert about.utility <= about.bound
    assert holds(about)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["pml", "ldp", "alip"])
def test_in_a_hurry_many_secrets_have_few_outcomes_that_average_to_one(kind: str) -> None:
    p = np.random.default_rng(3).dirichlet(np.full(1500, 0.5))
    guarantees, limits = KINDS[kind](0.5, 0.7, 1.0)
    problem = problem_of(p, guarantees)
    found = in_a_hurry(problem)
    lifts = found.vertices.lifts(problem.classes)
    assert len(lifts) <= 401
    assert found.weights @ lifts == pytest.approx(np.ones(1500), abs=1e-9)
    low, high, ratio = limits_as_arguments(limits)
    assert lifts.min() >= low - 1e-9
    assert lifts.max() <= high + 1e-9
    assert (lifts.max(axis=1) / ratio <= lifts.min(axis=1) * (1 + 1e-9)).all()
    assert 0.98 * found.bound <= found.utility(problem) <= found.bound


def test_masses_of_large_columns_are_exact_for_priors_of_many_digits() -> None:
    rng = np.random.default_rng(1)
    for p in (rng.dirichlet(np.ones(7)), np.array([1e-200, 0.25, 0.75 - 1e-200]), np.full(3, 1 / 3)):
        checker = Checker.of(p / p.sum(), Limits())
        columns = rng.integers(0, 2**56, size=(len(p), 5))
        whole = [[int(c) for c in row] for row in columns.T]
        counts = [int(c) for c in checker.prior]
        assert checker.mass(columns).tolist() == [sum(map(mul, row, counts)) for row in whole]
