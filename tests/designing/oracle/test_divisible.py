"""Tails that can be divided: bounds against every set with any share of the tail, and the sets that fill shares."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from designing.problems import problem_of
from support import THOROUGH, few, some

import divulge as dv
from divulge.designing.effort import Effort
from divulge.designing.master.column_generation import generate
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import pair_utility
from divulge.designing.pricing.enumeration import Enumeration
from divulge.designing.pricing.problem import Problem
from divulge.designing.pricing.relaxation import Levels, Maxima, SplittableRelaxation, divided
from divulge.designing.start.randomized_rounding import randomly_rounded, sampled

KINDS: dict[str, Any] = {
    "ldp": lambda a: [dv.LDP(a)],
    "ldp+leakage": lambda a: [dv.LDP(a), dv.guarantees.MaximalLeakage(a / 4)],
    "pml": lambda a: [dv.PML(a)],
    "alip": lambda a: [dv.ALIP(a, a / 2)],
    "pml+ldp": lambda a: [dv.PML(a / 2), dv.LDP(a)],
    "leakage": lambda a: [dv.PML(a), dv.guarantees.MaximalLeakage(a / 3)],
}


def best_share(problem: Problem, dual: Dual, p: np.ndarray, tail: float) -> float:
    """Return the largest excess of a set of the core with a share of the tail, from dense grids of shares."""
    best, share = -math.inf, np.linspace(0, 1, 2001)
    for inside in itertools.product((0.0, 1.0), repeat=len(p)):
        mass = np.array(inside) @ p
        for pair in problem.shape.pairs:
            pi = mass + share * tail
            some = (pi >= pair.least) & (pi <= pair.most)
            low, high = pair.levels(pi[some])
            lifts = np.column_stack([np.tile(inside, (len(low), 1)), share[some]])
            lifts = low[:, None] + (high - low)[:, None] * lifts
            gains = pair_utility(pair, problem.utility, pi[some]) - lifts @ dual.classes - dual.capacity * high
            best = max(best, float(gains.max(initial=-math.inf)))
        for box in problem.shape.boxes:
            for r in range(len(p)):
                ends = np.clip((box.t - mass - np.array([0.0, tail])) / p[r], 0.0, 1.0)
                x = np.append(share, ends) if inside[r] == 0 else share[:1]
                held = (box.t - mass - p[r] * x) / tail
                x, held = (a[(held >= -1e-12) & (held <= 1 + 1e-12)] for a in (x, held))
                up = np.tile(inside, (len(x), 1))
                up[:, r] += x
                lifts = box.low + (box.high - box.low) * np.column_stack([up, held])
                f = problem.utility.f
                high, low = (float(f(np.array([v]))[0]) for v in (box.high, box.low))
                value = f(lifts[:, :-1]) @ p + tail * (held * high + (1 - held) * low)
                gains = value - lifts @ dual.classes - dual.capacity * box.high
                best = max(best, float(gains.max(initial=-math.inf)))
    return best


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_no_share_of_a_tail_gains_more_than_is_said(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for trial in range(few(16, least=2)):
        p = np.sort(rng.dirichlet(np.full(12, rng.choice([0.3, 1.0]))) + 1e-4)[::-1]
        problem = problem_of(
            p / p.sum(), KINDS[kind](float(rng.uniform(0.3, 5))), ["mutual-information", "hellinger"][trial % 2]
        )
        part = divided(problem, 2 + trial % 4)
        mass = part.classes.probability * part.classes.size
        steep = problem.secant[1].classes.sum() / mass.sum()
        dual = Dual(mass * steep * rng.uniform(0.6, 1.1, len(mass)), 0.1 * steep * ("leakage" in kind))
        best = best_share(part, dual, mass[:-1], float(mass[-1]))
        fresh, excess = SplittableRelaxation(part, Effort()).price(dual)
        least = problem.least
        assert excess >= best - 1e-12
        assert excess <= max(best, 2 * least) + 1e-5 * problem.ceiling
        if best > 2 * least:
            gains = fresh.utility(part.classes, part.utility) - fresh.lifts(part.classes) @ dual.classes
            assert (gains - dual.capacity * fresh.peaks()).max() >= best - 1e-12
            assert fresh.lifts(part.classes) @ mass == pytest.approx(1.0, abs=1e-12)


def test_few_kept_sets_leave_a_bound_that_holds() -> None:
    p = np.random.default_rng(3).dirichlet(np.ones(10))
    part = divided(problem_of(p, [dv.LDP(3)]), 8)
    mass = part.classes.probability * part.classes.size
    dual = Dual(mass * 0.7, 0.0)
    exact = SplittableRelaxation(part, Effort(), kept=10**6).price(dual)[1]
    rough = SplittableRelaxation(part, Effort(), kept=20, most=20).price(dual)[1]
    assert exact <= rough < math.inf
    assert exact == pytest.approx(best_share(part, dual, mass[:-1], float(mass[-1])), abs=1e-6)


@pytest.mark.thin
@pytest.mark.parametrize(
    ("kind", "utility"), some(list(itertools.product(KINDS, ["mutual-information", "chi-squared", "total-variation"])))
)
def test_larger_cores_bound_less_and_never_less_than_the_best_mechanism(kind: str, utility: str) -> None:
    p = np.random.default_rng(7).dirichlet(np.full(9 if THOROUGH else 7, 0.6))
    problem = problem_of(p, KINDS[kind](1.7), utility)
    best = generate(problem, Enumeration(problem), Effort())
    bounds = []
    for core in (1, 4, 8) if THOROUGH else (1, 3, 6):
        part = divided(problem, core)
        bounds.append(generate(part, SplittableRelaxation(part, Effort()), Effort()).bound)
    assert bounds[-1] >= best.utility(problem) * (1 - 1e-12)
    assert all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(bounds))
    assert bounds[0] > bounds[-1] or kind in ("alip", "leakage")


def test_sets_of_nearly_a_share_hold_every_secret_that_fits() -> None:
    random = np.random.default_rng(0)
    for p, share in (
        (0.8 ** np.arange(60), 0.3),
        (np.full(40, 1.0), 0.25),
        (0.9 ** np.arange(90), 0.93),
        (0.7 ** np.arange(9), 0.4),
    ):
        p = p / p.sum()
        sets = sampled(p, share, 400, np.zeros(len(p)), random)
        assert np.median(np.abs(sets @ p - share)) < p.min() + 1e-4
        fits = p <= share if share < 0.5 else p <= 1 - share
        assert (sets == (share < 0.5)).any(axis=0)[fits].all()


def test_ranges_have_their_largest_entries() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=37)
    maxima = Maxima(values)
    first, last = rng.integers(0, 38, 300), rng.integers(0, 38, 300)
    found = maxima.largest_between(first, last)
    for at, a, b in zip(found.tolist(), first.tolist(), last.tolist(), strict=True):
        assert at == (-1 if a >= b else a + int(np.argmax(values[a:b])))


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize(
    ("n", "ratio", "epsilon"), [(50, 0.8, 8.0), (146, 0.6, 4.7), (60, 0.9, 4.7), (146, 0.8, 4.709)]
)
def test_geometric_priors_under_ldp_end_with_small_gaps(n: int, ratio: float, epsilon: float) -> None:
    p = ratio ** np.arange(n)
    best = dv.design(p / p.sum(), dv.LDP(epsilon), time_limit=20)
    assert best.relative_gap < 1e-6


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_filled_tails_are_mechanisms_and_agree_with_all_vertices(kind: str) -> None:
    p = np.random.default_rng(11).dirichlet(np.full(10, 0.5))
    problem = problem_of(p, KINDS[kind](2.0))
    best = generate(problem, Enumeration(problem), Effort())
    found = randomly_rounded(problem, Effort(), None, 1e-9)
    assert found is not None
    assert found.seen is not None
    assert found.seen.lifts(problem.classes) @ problem.classes.probability == pytest.approx(1.0, abs=1e-9)
    assert found.weights @ found.vertices.lifts(problem.classes) == pytest.approx(1.0, abs=1e-9)
    assert best.utility(problem) * (1 - 1e-9) <= found.bound
    assert found.utility(problem) == pytest.approx(best.utility(problem), rel=1e-7)


def test_a_bound_on_the_lift_that_the_ratio_implies_adds_no_vertices() -> None:
    p = np.full(60, 1 / 60) * np.linspace(0.5, 1.5, 60)
    assert not problem_of(p / p.sum(), [dv.LDP(8)]).shape.boxes
    assert problem_of(p / p.sum(), [dv.LDP(3), dv.PML(1)]).shape.boxes


def test_cells_of_rounding_are_not_cut_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a capacity of 1 + 1e-6 no cell is ruled out, and each round had twice as many: gigabytes for two secrets."""
    sizes: list[int] = []
    cells = Levels.cells

    def counted(self: Levels, ends: np.ndarray, value: np.ndarray) -> np.ndarray:
        sizes.append(ends.shape[1])
        assert sizes[-1] <= 1 << 16
        return cells(self, ends, value)

    monkeypatch.setattr(Levels, "cells", counted)
    prior, asked = [0.7943088645578555, 0.2056911354421444], dv.guarantees.MaximalLeakage(1e-6)
    best = dv.design(prior, asked, utility="chi-squared")
    found = dv.design(prior, asked, utility="chi-squared", method="column-generation")
    assert sizes
    assert found.utility == pytest.approx(best.utility, rel=1e-6)
    assert best.utility <= found.bound <= best.utility * (1 + 1e-6)
