"""Mutual information under the worst prior of a set, against channels at random, single priors and priors inside."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support import THOROUGH

import divulge as dv
from divulge.designing.linear.information import best_mixture
from divulge.designing.polytope.corners import corners_of, extreme_rays, rays_of
from divulge.designing.polytope.limits import Limits, limits_of
from divulge.designing.polytope.utilities import SUBCONVEX
from divulge.exact import as_floats, as_fractions

SETS = {
    "floor": dv.measures.LowerBounded(3, "1/5"),
    "ball": dv.measures.L1Ball(["1/2", "3/10", "1/5"], "1/5"),
    "emptied": dv.measures.L1Ball([0.6, 0.37, 0.03], 0.2),
    "polytope": dv.measures.Polytope([[-1, 1, 0], [0, -1, 1], [0, 0, -1]], [0, 0, "-1/10"]),
    "hull": dv.measures.ConvexHull([["1/2", "1/4", "1/4"], ["1/5", "3/5", "1/5"], ["1/3", "1/3", "1/3"]]),
}
GUARANTEES = {
    "pml": [dv.PML(0.4)],
    "pmc": [dv.PMC(0.5)],
    "lip": [dv.LIP(0.5)],
    "ldp": [dv.LDP(1)],
    "both": [dv.PML(0.5), dv.LDP(1)],
    "capacity": [dv.PML(0.5), dv.guarantees.MaximalLeakage(0.2)],
    "none": [],
}


def information(p: np.ndarray, channel: np.ndarray) -> float:
    """Return sum_xy p_x w_xy log(w_xy / q_y), by its definition."""
    q = p @ channel
    terms = [
        p[x] * w * math.log(w / q[y]) for (x, y), w in np.ndenumerate(channel) if p[x] > 0 and w > 0
    ]  # fmt: skip
    return math.fsum(terms)


def inside(priors: Any, rng: np.random.Generator, many: int) -> np.ndarray:
    """Return random mixtures of priors that are least for random functions."""
    n = len(priors.secrets)
    ends = np.array([as_floats(priors.least(rng.normal(size=n))) for _ in range(40)])
    return rng.dirichlet(np.full(40, 0.1), size=many) @ ends


@pytest.mark.parametrize("kind", SETS)
def test_every_least_mean_is_at_a_corner(kind: str) -> None:
    rng, priors = np.random.default_rng(1), SETS[kind]
    corners = as_floats(corners_of(priors))
    assert corners.min() >= 0
    assert np.allclose(corners.sum(axis=1), 1)
    for values in rng.normal(size=(60, 3)):
        assert (corners @ values).min() == pytest.approx(values @ as_floats(priors.least(values)), abs=1e-12)


@pytest.mark.parametrize("n", [3, 4])
def test_the_rays_are_those_where_enough_rows_meet(n: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        own = as_fractions(rng.integers(-3, 7, size=(5, n)))
        every = np.vstack([np.eye(n), as_floats(own)])
        found = set[tuple[float, ...]]()
        for rows in itertools.combinations(range(len(every)), n - 1):
            *_, turned = np.linalg.svd(every[list(rows)])
            for ray in (turned[-1], -turned[-1]):
                if np.linalg.matrix_rank(every[list(rows)]) == n - 1 and (every @ ray > -1e-9).all():
                    found.add(tuple((ray / ray.sum() + 0.0).round(9).tolist()))
        rays = extreme_rays(list(own), n) if found else np.zeros((0, n))
        assert {tuple((ray + 0.0).round(9).tolist()) for ray in rays} == {tuple(v + 0.0 for v in one) for one in found}


@pytest.mark.thin
@pytest.mark.parametrize(("kind", "guarantee"), list(itertools.product(SETS, GUARANTEES)))
def test_the_promise_and_the_bound_hold_for_every_prior(kind: str, guarantee: str) -> None:
    rng, priors, asked = np.random.default_rng(3), SETS[kind], GUARANTEES[guarantee]
    found = dv.design(priors, *asked)
    assert found.utility <= found.bound <= found.utility + 1e-8
    assert found.utility == pytest.approx(information(found.prior.floats, found.channel.floats), abs=1e-12)
    for p in inside(priors, rng, 60):
        assert information(p, found.channel.floats) >= found.utility - 1e-12
        joint = dv.Joint(p / p.sum(), found.channel.floats)
        assert all(g.holds_for(joint if g.about == "joint" else found.channel) for g in asked)


DRAWN = list(itertools.product(SETS, ("pml", "pmc", "ldp", "both")))


@pytest.mark.parametrize(("kind", "guarantee"), DRAWN if THOROUGH else DRAWN[::3])  # each of both
def test_no_channel_at_random_does_better(kind: str, guarantee: str) -> None:
    rng, priors, asked = np.random.default_rng(4), SETS[kind], GUARANTEES[guarantee]
    bound = dv.design(priors, *asked).bound
    corners, limits = as_floats(corners_of(priors)), limits_of(tuple(asked)).floats()
    best = 0.0
    for _ in range(60 if THOROUGH else 4):
        channel = rng.dirichlet(np.full(3, 0.3), size=3)
        low, high = 0.0, 1.0
        for _ in range(20):
            share = (low + high) / 2
            low, high = (share, high) if keeps(share * channel + (1 - share) / 3, corners, limits) else (low, share)
        kept = low * channel + (1 - low) / 3
        best = max(best, min(information(p, kept) for p in corners))
    assert 0 < best <= bound


def keeps(channel: np.ndarray, corners: np.ndarray, limits: Limits) -> bool:
    """Say whether every column keeps the limits under each corner."""
    q = (corners @ channel)[:, None, :]
    lifts = channel / q
    ratio = (channel.max(axis=0) / channel.min(axis=0)).max() if channel.min() > 0 else math.inf
    return bool(lifts.max() <= limits.high and lifts.min() >= limits.low and ratio <= limits.ratio)


def test_two_secrets_on_a_grid() -> None:
    priors = dv.measures.LowerBounded(2, "3/10")
    found, limits = dv.design(priors, dv.PML(0.3)), limits_of((dv.PML(0.3),)).floats()
    corners, grid = np.array([[0.3, 0.7], [0.7, 0.3]]), np.linspace(0, 1, 101)
    kept = [np.array([[a, 1 - a], [b, 1 - b]]) for a in grid for b in grid if 0 < a + b < 2]
    values = [min(information(p, c) for p in corners) for c in kept if keeps(c, corners, limits)]
    assert found.utility - 3e-3 < max(values) <= found.bound


@pytest.mark.thin
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_set_of_one_prior_gives_its_design(guarantee: str) -> None:
    for prior in (["1/2", "3/10", "1/5"], ["1/4"] * 4, [0.7, 0.1, 0.1, 0.1])[:: 1 if THOROUGH else 2]:
        alone = dv.design(dv.Prior(prior), *GUARANTEES[guarantee])
        found = dv.design(dv.measures.L1Ball(prior, 0), *GUARANTEES[guarantee])
        assert found.utility == pytest.approx(alone.utility, abs=2e-9)


def test_larger_sets_keep_less_and_more_is_refused() -> None:
    values = [dv.design(dv.measures.L1Ball(["1/2", "1/4", "1/4"], r), dv.PML(0.5)).utility for r in (0, "1/10", "1/5")]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2]
    ball = SETS["ball"]
    wrongs: list[dict[str, Any]] = [
        {"utility": "chi-squared"}, {"forbidden": [(0, 1)]}, {"outcomes": "values"}, {"outcomes": ["a"]},
        {"method": "closed-form"}, {"utility": dv.About(np.eye(3))},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(dv.DivulgeError, match="set of priors"):
            dv.design(ball, dv.PML(0.5), **wrong)
    with pytest.raises(dv.DivulgeError, match="subsets"):
        dv.design(dv.measures.L1Ball(np.full(20, 0.05), 0.1), dv.PML(0.5))
    with pytest.raises(dv.DivulgeError, match="extreme columns"):
        dv.design(dv.measures.LowerBounded(12, 0.01), dv.LDP(1))


def test_a_channel_of_another_make_is_read_under_the_worst_prior() -> None:
    found = dv.design(SETS["ball"], dv.LDP(1), at_least=0.05)
    assert found.utility_of(found.channel) == pytest.approx(found.utility, abs=1e-15)
    assert {row.name for row in found.compare().rows} >= {"design", "randomized response"}
    assert all(row.utility <= found.bound for row in found.compare().rows)
    with pytest.raises(dv.DivulgeError, match="least that would do"):
        dv.design(SETS["ball"], dv.LDP(1), at_least=0.5)


def test_silence_where_nothing_is_allowed() -> None:
    found = dv.design(SETS["ball"], dv.PML(0))
    assert found.utility == 0
    assert found.bound < 1e-8


def test_chi_squared_is_not_concave_in_the_prior() -> None:
    channel = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    utility = SUBCONVEX["chi-squared"]
    ends = np.array([[1.0, 0.0, 0.0], [0.0, 0.25, 0.75]])
    middle = [utility.of(np.array([1 - t, t]) @ ends, channel) for t in (0.9, 0.95, 1.0)]
    assert middle[1] < (middle[0] + middle[2]) / 2


def test_the_program_is_bounded_by_its_dual() -> None:
    corners = corners_of(SETS["emptied"])
    found = best_mixture(SUBCONVEX["mutual-information"], corners, limits_of((dv.LIP(0.5),)).floats())
    assert len(rays_of(limits_of((dv.LIP(0.5),)).floats(), corners)) > 3
    assert found.utility <= found.bound
