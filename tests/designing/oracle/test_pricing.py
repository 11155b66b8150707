"""Prices and bounds against plain enumeration: no vertex gains more than an oracle says, and the best one is found."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from designing.problems import problem_of
from designing.vertices import level_points, priced_optimum
from support import THOROUGH, few

import divulge as dv
from divulge.designing.effort import Effort
from divulge.designing.master.aggregation import aggregated
from divulge.designing.master.restricted_master import Dual
from divulge.designing.methods import everything
from divulge.designing.pricing.branch_and_bound import BranchAndBound
from divulge.designing.pricing.counting import Tables
from divulge.designing.pricing.grid import ScaledWeights
from divulge.designing.pricing.problem import Oracle, Problem

KINDS: dict[str, Any] = {
    "pml": lambda a, b: [dv.PML(a)],
    "alip": lambda a, b: [dv.ALIP(a, b)],
    "ldp": lambda a, b: [dv.LDP(a)],
    "pml+ldp": lambda a, b: [dv.PML(a), dv.LDP(b)],
    "leakage": lambda a, b: [dv.guarantees.MaximalLeakage(a)],
}


def points_of(problem: Problem, p: np.ndarray) -> np.ndarray:
    limits = problem.limits
    return level_points(p, limits.low, limits.high, limits.ratio)


ORACLES: dict[str, tuple[Callable[[Problem], Oracle], bool]] = {
    "a coarse grid": (lambda problem: ScaledWeights(problem, 1e4, Effort()), False),
    "a grid": (lambda problem: ScaledWeights(problem, 3e6, Effort()), True),
    "branch and bound": (
        lambda problem: BranchAndBound(problem, Effort(), ScaledWeights(problem, 3e6, Effort()).pairs),
        True,
    ),
    "one after the other": (lambda problem: everything(problem, Effort()), True),
}
"""Name -> (an oracle that prices all vertices, whether it is close: what it cannot rule out, it nearly finds)."""


@pytest.mark.thin
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_oracle_bounds_the_best_vertex_of_all_and_finds_a_fair_one(kind: str, oracle: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    made, close = ORACLES[oracle]
    for trial in range(few(18)):
        p = np.sort(np.maximum(rng.dirichlet(np.full(3 + trial % 6, rng.choice([0.3, 1.0, 5.0, 200.0]))), 1e-3))[::-1]
        p = p / p.sum()
        utility = ["mutual-information", "chi-squared", "hellinger"][trial % 3]
        problem = problem_of(p, KINDS[kind](*rng.exponential(0.9, 2) + 0.1), utility)
        points = points_of(problem, p)
        dual = Dual(problem.secant[1].classes * rng.uniform(0.7, 1.1, len(p)),
                    float(rng.exponential(0.1)) if problem.limits.capacity < math.inf else 0.0)  # fmt: skip
        gains = (p * problem.utility.f(np.maximum(points[:, :-1], 0.0))).sum(axis=1) - points[:, :-1] @ dual.classes[
            problem.classes.of_secret]  # fmt: skip
        best = float((gains - dual.capacity * points[:, -1]).max())
        fresh, excess = made(problem).price(dual)
        assert max(excess, dual.silent) >= best - 1e-11, (kind, trial)
        if close:
            lifts = fresh.lifts(problem.classes)
            found = problem.gains(fresh, dual).max(initial=0.0)
            assert found <= max(best, 0.0) + 1e-10, (kind, trial)
            assert excess <= max(4 * found, best) + 1e-5 * problem.ceiling, (kind, trial)
            assert lifts @ problem.classes.probability == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "leakage"])
def test_chords_bound_the_best_mixture_of_all_vertices(kind: str) -> None:
    rng = np.random.default_rng(9)
    for trial in range(few(12)):
        p = np.maximum(rng.dirichlet(np.full(3 + trial % 5, rng.choice([0.2, 1.0]))), 1e-3)
        utility = "mutual-information" if trial % 2 else "chi-squared"
        problem = problem_of(p / p.sum(), KINDS[kind](*rng.exponential(0.9, 2) + 0.1), utility)
        p = problem.classes.probability
        value, dual = problem.secant
        points = points_of(problem, p)
        assert value >= priced_optimum(p, problem.utility.f, points, math.inf) * (1 - 1e-9)
        assert value == pytest.approx(dual.value(math.inf), rel=1e-9)
        above = (p * problem.utility.f(np.maximum(points[:, :-1], 0.0))).sum(axis=1) - points[:, :-1] @ dual.classes
        assert above.max() <= 1e-9


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_light_secrets_as_one_lose_no_more_than_they_are_worth(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("divulge.designing.master.aggregation.LIGHT", 0.4)
    rng, together, lost = np.random.default_rng(5), 0, 0
    for trial in range(12):
        p = 0.55 ** np.arange(4 + trial % 4) * rng.uniform(0.8, 1.2, 4 + trial % 4)
        utility = "mutual-information" if trial % 2 else "total-variation"
        whole = problem_of(p / p.sum(), KINDS[kind](*rng.exponential(0.9, 2) + 0.1), utility)
        part, worth = aggregated(whole)
        best, less = (
            priced_optimum(p, one.utility.f, points_of(one, p), one.limits.capacity)
            for one in (whole, part) for p in (one.classes.probability,)
        )  # fmt: skip
        assert best * (1 - 1e-9) - worth <= less <= best * (1 + 1e-9)
        together, lost = together + (part is not whole), lost + (best - less > 1e-6)
        assert sorted(np.concatenate(part.classes.members).tolist()) == list(range(len(p)))
    assert together > 5
    assert lost


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize(("ratio", "guarantee"), [(0.3, dv.LDP(2)), (0.7, dv.LDP(0.5)), (0.1, dv.LIP(1))])
def test_long_light_tails_leave_small_gaps(ratio: float, guarantee: dv.Guarantee) -> None:
    p = ratio ** np.arange(200.0)
    found = dv.design(p / p.sum(), guarantee, time_limit=10)
    assert found.relative_gap < 1e-6
    assert guarantee.holds_for(found.joint if guarantee.about == "joint" else found.channel)


@pytest.mark.parametrize("rare", [pytest.param(1e-160, marks=pytest.mark.long), 1e-250, 1e-299])
@pytest.mark.parametrize("guarantee", [dv.PMC(1), pytest.param(dv.LIP(1), marks=pytest.mark.long), dv.ALIP(1, 5)])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_squares_beyond_doubles_leave_a_bound_that_holds(rare: float, guarantee: dv.Guarantee) -> None:
    for prior in ([rare, 1.0], [rare, 0.5, 0.5]):
        found = dv.design(prior, guarantee, utility="chi-squared")
        assert found.utility <= found.bound
        assert guarantee.holds_for(found.joint)


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize(
    ("tails", "size", "guarantee"),
    [("dirichlet", 45, dv.PML(2.623)), ("geometric", 40, dv.ALIP(0.844, 0.06)), ("zipf", 60, dv.LIP(0.547)),
     ("uniform", 200, dv.ALIP(1.811, 0.151)), ("dirichlet", 22, dv.LDP(2)), ("dirichlet", 153, dv.PML(0.067))],
)  # fmt: skip
def test_gaps_are_small_for_every_shape_of_prior(tails: str, size: int, guarantee: dv.Guarantee) -> None:
    rng = np.random.default_rng(size)
    weights = {
        "dirichlet": lambda: rng.dirichlet(np.ones(size)),
        "geometric": lambda: 0.72 ** np.arange(size),
        "zipf": lambda: np.arange(1, size + 1) ** -0.9,
        "uniform": lambda: rng.uniform(0.2, 1.0, size),
    }[tails]()
    p = np.maximum(weights / weights.sum(), 1e-9)
    found = dv.design(p / p.sum(), guarantee, time_limit=12)
    assert found.relative_gap < 1e-5
    assert guarantee.holds_for(found.joint if guarantee.about == "joint" else found.channel)


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "guarantee", "gap"), [(70, dv.PML(0.07), 5e-5), (153, dv.PML(0.02), 0.1)][: None if THOROUGH else 1]
)
def test_nearly_uniform_priors_whose_sets_all_miss_the_mass(size: int, guarantee: dv.PML, gap: float) -> None:
    p = 1 + 1e-3 * np.random.default_rng(153).random(size)
    found = dv.design(p / p.sum(), guarantee, time_limit=0.5 if size > 100 else 2)
    assert found.relative_gap < gap
    assert guarantee.holds_for(found.joint)


def test_drawn_sets_have_their_sum_and_lose_at_most_their_slack() -> None:
    rng = np.random.default_rng(3)
    counts, values = rng.integers(0, 30, 40), rng.normal(size=40)
    tables = Tables(counts, values, 200)
    for of in range(40):
        tables.offer(of, 1)
    k = rng.choice(np.flatnonzero(np.isfinite(tables.best)), 500)
    slack = rng.exponential(0.5, 500)
    sets = tables.drawn(k, slack, rng)
    assert (sets @ counts == k).all()
    lost = tables.best[k] - sets @ values
    assert (lost >= -1e-9).all()
    assert (lost <= slack + 1e-9).all()
    assert (lost > 0.1 * slack).mean() > 0.5
    assert tables.drawn(k, 0 * slack, rng) @ values == pytest.approx(tables.best[k])


@pytest.mark.thin
@pytest.mark.parametrize("epsilon", [30, 36, 36.5, 40, 100, 1000])
@pytest.mark.parametrize("size", [3, 12])
def test_huge_levels_keep_nearly_everything(epsilon: float, size: int) -> None:
    rng = np.random.default_rng(size)
    for prior in (
        dv.Prior.from_counts([int(c) for c in rng.integers(1, 90, size)]),
        dv.Prior(rng.dirichlet([1] * size)),
    ):
        p = prior.floats
        everything = -float(p @ np.log(p))
        for guarantee in (dv.LDP(epsilon), dv.PMC(epsilon), dv.LIP(epsilon), dv.PML(epsilon)):
            found = dv.design(prior, guarantee)
            assert found.utility == pytest.approx(everything, rel=1e-10)
            assert found.bound >= found.utility
            assert guarantee.holds_for(found.joint if guarantee.about == "joint" else found.channel)


@pytest.mark.parametrize("guarantee", ["pml=inf", "ldp=inf", "pmc=inf", "maximal-leakage=inf", "pml=50"])
def test_a_guarantee_that_asks_nothing_leaves_the_identity(guarantee: str) -> None:
    found = dv.design([0.4, 0.3, 0.2, 0.1], guarantee)
    assert (found.channel.matrix == np.eye(4, dtype=int)).all()
