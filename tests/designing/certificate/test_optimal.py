"""Designs against the definition: brute-force vertices and a linear program, for every kind of limit."""

import math

import numpy as np
import pytest
from designing.problems import KINDS, NAMES, holds, limits_as_arguments, random_prior
from designing.vertices import box_points, level_points, optimum, priced_optimum, ratio_points, vertices
from support import THOROUGH, few, some

import divulge as dv
from divulge.designing.polytope.utilities import SUBCONVEX


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_designs_equal_the_best_mixture_of_all_vertices(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    for trial in range(few(40)):
        p = random_prior(rng, 2 + trial % 3)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        name = NAMES[trial % len(NAMES)]
        points = vertices(p, limits.get("low", 0.0), limits.get("high", math.inf), limits.get("ratio", math.inf))
        best = optimum(p, SUBCONVEX[name].f, points, limits.get("capacity", math.inf))
        found = dv.design(p, *guarantees, utility=name)
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-11), (p, guarantees)
        assert found.bound >= best * (1 - 1e-10) - 1e-12
        assert holds(found)


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_listed_levels_contain_the_vertices_of_the_definition(kind: str) -> None:
    rng = np.random.default_rng(7)
    for n in (2, 3, 3, 4):
        p = random_prior(rng, n)
        limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)[1]
        f, capacity = SUBCONVEX["chi-squared"].f, limits.get("capacity", math.inf)
        best = optimum(p, f, vertices(p, *limits_as_arguments(limits)), capacity)
        ours = priced_optimum(p, f, level_points(p, *limits_as_arguments(limits)), capacity)
        assert ours == pytest.approx(best, rel=1e-9, abs=1e-11)


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_designs_equal_the_best_mixture_of_all_vertices_up_to_twelve_secrets(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)) + 1)
    for trial, n in enumerate(some([5, 6, 7] * 7 + [8, 9] * 3 + [10, 11, 12])):
        p = random_prior(rng, n)
        guarantees, limits = KINDS[kind](*rng.exponential(0.8, 3) + 0.02)
        name = NAMES[trial % len(NAMES)]
        points = level_points(p, *limits_as_arguments(limits))
        best = priced_optimum(p, SUBCONVEX[name].f, points, limits.get("capacity", math.inf))
        method = "column-generation" if trial % 3 == 2 and "capacity" not in limits else None
        found = dv.design(p, *guarantees, utility=name, method=method)
        assert found.utility == pytest.approx(best, rel=1e-8, abs=1e-11), (p, guarantees)
        assert found.bound >= best * (1 - 1e-10) - 1e-12
        assert holds(found)


@pytest.mark.parametrize("method", ["enumeration", "column-generation"])
def test_designs_equal_enumerated_vertices_up_to_twelve_secrets(method: str) -> None:
    rng = np.random.default_rng(12)
    for n in (5, 6, 7, 8, 8, 9, 9, 10, 12) if THOROUGH else (5, 7):
        p = random_prior(rng, n)
        a, b = rng.uniform(0.1, 2.0, 2)
        for guarantee, points in (
            (dv.ALIP(a, b), box_points(p, math.exp(-a), math.exp(b))),
            (dv.PML(b), box_points(p, 0.0, math.exp(b))),
            (dv.LDP(a), ratio_points(p, math.exp(a))),
        ):
            best = optimum(p, SUBCONVEX["mutual-information"].f, points, math.inf)
            found = dv.design(p, guarantee, method=method)
            assert found.utility == pytest.approx(best, rel=1e-8)
            assert found.bound >= best * (1 - 1e-10)
            assert holds(found)


def test_counts_and_enumeration_agree_on_every_kind() -> None:
    rng = np.random.default_rng(5)
    for kind, make in KINDS.items():
        for _ in range(few(4, least=1)):
            counts = [int(c) for c in rng.integers(1, 7, rng.integers(2, 10 if THOROUGH else 6))]
            guarantees, _ = make(*rng.exponential(0.8, 3) + 0.05)
            prior = dv.Prior.from_counts(counts)
            ways = [dv.design(prior, *guarantees, method=m) for m in ("counting", "enumeration")]
            assert ways[0].utility == pytest.approx(ways[1].utility, rel=1e-9, abs=1e-12), (kind, counts)
            assert max(w.relative_gap for w in ways) < 1e-7
            assert all(map(holds, ways))


def test_closed_forms_equal_enumeration() -> None:
    rng = np.random.default_rng(8)
    used = set()
    for trial in range(few(40)):
        n = 2 + trial % 5
        p = (np.ones(n) if trial % 2 else rng.integers(1, 9, n)).astype(float)
        prior = dv.Prior(p / p.sum())
        edge = -math.log1p(-float(prior.p_min))
        guarantee = [dv.PML(edge * rng.uniform(0.1, 1)), dv.PMC(rng.exponential()), dv.LDP(rng.exponential()),
                     dv.ALIP(50, edge * 0.9), dv.PML(rng.exponential(1.5))][trial % 5]  # fmt: skip
        name = NAMES[trial % len(NAMES)]
        first = dv.design(prior, guarantee, utility=name)
        other = dv.design(prior, guarantee, utility=name, method="enumeration")
        assert first.utility == pytest.approx(other.utility, rel=1e-8, abs=1e-12), (p, guarantee)
        assert other.bound >= first.utility * (1 - 1e-10)
        used.add(first.method)
    assert "closed-form" in used


def test_high_privacy_and_pmc_are_the_matrices_of_the_theorems() -> None:
    prior, e = dv.Prior(["1/4", "1/2", "1/4"]), math.exp(0.2)
    p = prior.floats
    own = {round(float(v), 12) for v in np.diag(1 - e * (1 - p[:, None]) * np.ones(3))}
    found = dv.design(prior, dv.PML(0.2)).channel.floats
    assert found.max(axis=0) == pytest.approx(sorted(e * p[None, :].ravel())[::-1], abs=1e-9)
    assert {round(float(v), 9) for v in found.min(axis=0)} == {round(v, 9) for v in own}
    resample = dv.design(prior, dv.PMC(0.7)).channel.floats
    expected = (1 - math.exp(-0.7)) * np.eye(3) + math.exp(-0.7) * p
    assert np.sort(resample.ravel()) == pytest.approx(np.sort(expected.ravel()), abs=1e-9)


def test_the_binary_mechanism_beyond_high_privacy() -> None:
    prior, e = dv.Prior([0.7, 0.3]), 0.6
    expected = [[(1 - math.exp(-e)) / 0.7, (math.exp(-e) - 0.3) / 0.7], [0.0, 1.0]]
    found = dv.design(prior, dv.PML(e)).channel.floats
    assert found[:, np.argsort(found[1])] == pytest.approx(np.array(expected), abs=1e-9)


def test_no_mechanism_beats_eps_under_pml_or_the_staircase_bound_under_ldp() -> None:
    for n in (3, 20, 70) if THOROUGH else (3, 10):
        p = np.random.default_rng(n).dirichlet(np.ones(n))
        assert dv.design(p, dv.PML(0.5)).bound <= 0.5 + 1e-12
        d = math.e / (math.e - 1)
        assert dv.design(p, dv.LDP(1)).bound <= d - 1 - math.log(d) + 1e-12


def test_callables_are_utilities_and_must_be_convex() -> None:
    prior = [0.5, 0.3, 0.2]
    named = dv.design(prior, dv.PML(0.4), utility="chi-squared")
    assert dv.design(prior, dv.PML(0.4), utility=lambda v: v**2).utility == pytest.approx(named.utility, rel=1e-9)
    with pytest.raises(dv.DivulgeError, match="convex"):
        dv.design(prior, dv.PML(0.4), utility=lambda v: -(v**2))
    with pytest.raises(dv.DivulgeError, match="finite"):
        dv.design(prior, dv.PML(0.4), utility="lautum-information")
    assert dv.design(prior, dv.LDP(0.4), utility="lautum-information").utility > 0
