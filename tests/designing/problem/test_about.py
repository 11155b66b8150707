"""Utilities about another variable: all vertices of the definition and a linear program; laws of W - X - Y."""

import math

import numpy as np
import pytest
from designing.problems import KINDS, NAMES, holds, limits_as_arguments, random_prior
from designing.vertices import level_points, optimum, vertices
from support import THOROUGH

import divulge as dv
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.designing.pricing.enumeration import Enumeration


def told(p: np.ndarray, given: np.ndarray, name: str, channel: np.ndarray) -> float:
    """Return sum_y q_y sum_w P_w f(P_wy / (P_w q_y)), from the joint of W and Y."""
    joint = (given * p[:, None]).T @ channel
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return float((outer * SUBCONVEX[name].f(joint / outer)).sum())


def best_of_all(p: np.ndarray, given: np.ndarray, name: str, points: np.ndarray, capacity: float) -> float:
    """Return the best mixture of the points (v, M), each scored on the lifts of W."""
    mass = p @ given
    back = (given * p[:, None]) / mass
    seen = {tuple(v): float(mass @ SUBCONVEX[name].f(back.T @ np.maximum(v, 0.0))) for v in points[:, :-1]}
    # `optimum` scores with sum_x P_x f(v_x): hand it the values themselves, spread over x
    values = iter([np.full(len(p), seen[tuple(v)]) for v in points[:, :-1]])
    return optimum(p, lambda lifts: np.array([next(values) for _ in lifts]), points, capacity)


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_designs_about_another_variable_equal_the_best_mixture_of_all_vertices(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)) + 3)
    for trial, n in enumerate([2, 3, 4, 3, 4, 4, 6, 7][:: 1 if THOROUGH else 2]):
        p = random_prior(rng, n)
        given = rng.dirichlet(np.full(2 + trial % 3, 0.5), n)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        name = NAMES[trial % len(NAMES)]
        points = (vertices if n < 5 else level_points)(p, *limits_as_arguments(limits))
        best = best_of_all(p, given, name, points, limits.get("capacity", math.inf))
        found = dv.design(p, *guarantees, utility=dv.About(given, name))
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-11), (p, guarantees, name)
        assert found.utility == pytest.approx(told(p, given, name, found.channel.floats), rel=1e-9, abs=1e-12)
        assert found.utility <= found.bound
        assert found.bound >= best * (1 - 1e-10) - 1e-12
        assert found.relative_gap < 1e-7
        assert holds(found)


def test_about_the_secret_itself_it_is_the_design_for_the_secret() -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(6))
    for guarantees in ([dv.PML(0.7)], [dv.LDP(1.2)], [dv.ALIP(1, 0.5), dv.guarantees.MaximalLeakage(0.3)]):
        alone = dv.design(p, *guarantees)
        about = dv.design(p, *guarantees, utility=dv.About(np.eye(6)))
        assert about.utility == pytest.approx(alone.utility, rel=1e-8)
        assert about.method == "enumeration"


def test_no_more_is_told_of_another_variable_than_of_the_secret_and_no_less_than_by_its_design() -> None:
    rng = np.random.default_rng(2)
    for n in (3, 8, 14):
        p, given = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(3), n)
        alone = dv.design(p, dv.PML(0.6))
        about = dv.design(p, dv.PML(0.6), utility=dv.About(given))
        assert about.bound <= alone.bound
        assert about.utility >= told(p, given, "mutual-information", alone.channel.floats) * (1 - 1e-9)
        assert about.utility_of(alone.channel) == pytest.approx(
            told(p, given, "mutual-information", alone.channel.floats), rel=1e-9
        )


def test_rows_follow_the_labels_and_secrets_that_never_occur_do_not_count() -> None:
    symptom = dv.Channel([["9/10", "1/10"], ["1/5", "4/5"], ["1/2", "1/2"]], ["a", "b", "c"], ["no", "yes"])
    turned = dv.Channel([["1/2", "1/2"], ["1/5", "4/5"], ["9/10", "1/10"]], ["c", "b", "a"], ["no", "yes"])
    prior = dv.Prior({"a": "1/2", "b": "1/3", "c": "1/6"})
    one, other = (dv.design(prior, dv.LIP(1), utility=dv.About(w)) for w in (symptom, turned))
    assert one.utility == other.utility
    absent = dv.Prior({"a": "1/2", "b": "1/2", "c": 0})
    present = dv.design(["1/2", "1/2"], dv.LIP(1), utility=dv.About(symptom.matrix[:2]))
    assert dv.design(absent, dv.LIP(1), utility=dv.About(symptom)).utility == pytest.approx(present.utility, rel=1e-9)


def test_without_a_guarantee_the_secret_is_told_and_under_nothing_nothing() -> None:
    given = [[0.9, 0.1], [0.3, 0.7]]
    free = dv.design([0.5, 0.5], utility=dv.About(given))
    assert free.utility == pytest.approx(told(np.array([0.5, 0.5]), np.array(given), "mutual-information", np.eye(2)))
    assert dv.design([0.5, 0.5], dv.PML(0), utility=dv.About(given)).utility == 0
    assert dv.design([0.5, 0.5], dv.PML(0.3), utility=dv.About([[1], [1]])).bound < 1e-12


@pytest.mark.long  # levels are found alike for all utilities: test_least_epsilon_is_the_inverse_of_design
def test_a_level_that_reaches_a_utility_about_another_variable_is_found() -> None:
    prior, about = [0.6, 0.4], dv.About([[0.9, 0.1], [0.3, 0.7]])
    found = dv.least_epsilon(prior, dv.LDP, utility=about, at_least=0.05)
    assert found.design.utility >= 0.05
    assert dv.design(prior, dv.LDP(found.lower - 1e-4), utility=about).bound < 0.05


@pytest.mark.long
def test_a_utility_about_another_variable_that_is_out_of_reach_is_named() -> None:
    prior, about = [0.6, 0.4], dv.About([[0.9, 0.1], [0.3, 0.7]])
    with pytest.raises(dv.DivulgeError, match="about another variable of at least"):
        dv.design(prior, dv.LDP(0.1), utility=about, at_least=0.05)


@pytest.mark.thin
@pytest.mark.parametrize("kind", ["pml", "pmc", "alip", "ldp", "alip+ldp", "maximal-leakage"])
def test_cells_find_what_the_list_of_all_vertices_finds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Enumeration, "fits", classmethod(lambda *_: False))
    rng = np.random.default_rng(sum(map(ord, kind)))
    for trial, n in enumerate([3, 6, 7]):
        p, given = random_prior(rng, n), rng.dirichlet(np.full(2 + trial % 2, 0.7), n)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.1)
        name = ["mutual-information", "total-variation", "chi-squared"][trial]
        points = (vertices if n < 5 else level_points)(p, *limits_as_arguments(limits))
        best = best_of_all(p, given, name, points, limits.get("capacity", math.inf))
        found = dv.design(p, *guarantees, utility=dv.About(given, name), time_limit=20)
        assert found.method == "column-generation"
        assert found.utility == pytest.approx(best, rel=1e-6, abs=1e-11), (p, guarantees, name)
        assert found.bound >= best * (1 - 1e-10) - 1e-12
        assert found.bound == pytest.approx(best, rel=1e-5, abs=1e-9)
        assert holds(found)


@pytest.mark.long
def test_more_secrets_than_can_be_listed_have_small_gaps_and_many_values_honest_ones() -> None:
    rng = np.random.default_rng(5)
    p, given = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(2), 30)
    for guarantee in (dv.PML(0.7), dv.LDP(1)):
        found = dv.design(p, guarantee, utility=dv.About(given), time_limit=20)
        assert found.relative_gap < 1e-6
        assert holds(found)
        told_by_other = told(p, given, "mutual-information", dv.design(p, guarantee, time_limit=2).channel.floats)
        assert found.utility > told_by_other
    two = dv.design(p, dv.PML(0.7), utility=dv.About(given), outcomes=["no", "yes"])
    assert len(two.outcomes) == 2
    many = dv.design(p, dv.PML(0.7), utility=dv.About(rng.dirichlet(np.ones(9), 30)), time_limit=1)
    assert many.utility <= many.bound <= dv.design(p, dv.PML(0.7), time_limit=1).bound
    without_search = dv.design(p, dv.PML(0.7), utility=dv.About(given), time_limit=0)
    assert without_search.bound >= found.utility


@pytest.mark.parametrize("guarantee", [dv.LDP(1), dv.PML(0.7), dv.ALIP(1, 0.5), dv.guarantees.MaximalLeakage(0.5)])
def test_a_function_of_the_secret_is_told_as_if_it_were_the_secret(guarantee: dv.Guarantee) -> None:
    rng = np.random.default_rng(7)
    for n, values in ((60, 3), (80, 8)) if THOROUGH else ((40, 4),):
        p, of = rng.dirichlet(np.ones(n)), np.append(np.arange(values), rng.integers(0, values, n - values))
        exact = np.eye(values)[of]
        alone = dv.design(p @ exact, guarantee)
        merged = dv.design(p, guarantee, utility=dv.About(exact))
        assert merged.utility == pytest.approx(alone.utility, rel=1e-8)
        assert merged.bound == pytest.approx(alone.bound, rel=1e-8)
        assert holds(merged)


@pytest.mark.long
def test_a_hundred_secrets_about_two_or_three_values_have_small_gaps() -> None:
    rng = np.random.default_rng(8)
    for n, values, guarantee in ((100, 2, dv.LDP(1)), (50, 3, dv.PML(0.7)), (100, 3, dv.LDP(2))):
        p, of = rng.dirichlet(np.ones(n)), rng.integers(0, values, n)
        given = np.eye(values)[of] + 1e-9 * rng.random((n, values))
        given /= given.sum(axis=1, keepdims=True)
        found = dv.design(p, guarantee, utility=dv.About(given), time_limit=20)
        alone = dv.design(p @ np.eye(values)[of], guarantee)
        assert found.relative_gap < 1e-6
        assert found.utility == pytest.approx(alone.utility, rel=1e-6)
        assert holds(found)


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(dv.DivulgeError, match="`method` must be enumeration"):
        dv.design([0.5, 0.5], dv.PML(0.3), utility=dv.About(np.eye(2)), method="counting")
    with pytest.raises(dv.DivulgeError, match="about"):
        dv.design([0.5, 0.5], dv.PML(0.3), utility=dv.About(np.eye(3)))
    with pytest.raises(dv.DivulgeError, match="channel"):
        dv.design([0.5, 0.5], dv.PML(0.3), utility=dv.About("nonsense"))
    with pytest.raises(dv.DivulgeError, match="utility"):
        dv.design([0.5, 0.5], dv.PML(0.3), utility=dv.About(np.eye(2), "beauty"))
    with pytest.raises(dv.DivulgeError, match="linear score or a variance for a set"):
        dv.design(dv.measures.L1Ball([0.5, 0.5], "1/10"), dv.PML(0.3), utility=dv.About(np.eye(2)))
