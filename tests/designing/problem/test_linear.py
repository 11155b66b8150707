"""Linear scores against a plain linear program over all pairs, exact arithmetic, and what is known in closed form."""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pytest
from support import THOROUGH, few

import divulge as dv
from divulge.designing.linear.certified import unforbidden
from divulge.designing.linear.score_program import Dual, Scoring, bound_of, silent, solved
from divulge.designing.linear.scores import SCORES, Score
from divulge.designing.methods import METHODS
from divulge.designing.polytope.limits import Limits

GUARANTEES: dict[str, Any] = {
    "none": lambda a, b: [],
    "pml": lambda a, b: [dv.PML(a)],
    "pmc": lambda a, b: [dv.PMC(a)],
    "lip": lambda a, b: [dv.LIP(a)],
    "alip": lambda a, b: [dv.ALIP(a, b)],
    "ldp": lambda a, b: [dv.LDP(a)],
    "pml+ldp": lambda a, b: [dv.PML(a), dv.LDP(b)],
    "leakage": lambda a, b: [dv.guarantees.MaximalLeakage(a)],
    "all": lambda a, b: [dv.ALIP(a, b), dv.LDP(a + b), dv.guarantees.MaximalLeakage(b / 2)],
}


def brute(p: np.ndarray, scores: np.ndarray, guarantees: list[Any], worst: bool = False) -> float:
    """Return the optimum of the definition: every pair of rows, every entry, written out for cvxpy."""
    n, m = scores.shape
    c = cp.Variable((n, m), nonneg=True)
    q, rules = p @ c, [cp.sum(c, axis=1) == 1]
    for g in guarantees:
        lower, upper = {
            "pml": lambda g: (math.inf, g.epsilon), "pmc": lambda g: (g.epsilon, math.inf),
            "lip": lambda g: (g.epsilon, g.epsilon), "alip": lambda g: (g.lower, g.upper),
        }.get(g.kind, lambda g: (math.inf, math.inf))(g)  # fmt: skip
        if upper < math.inf:
            rules += [c[x] <= math.exp(upper) * q for x in range(n)]
        if lower < math.inf:
            rules += [c[x] >= math.exp(-lower) * q for x in range(n)]
        if g.kind == "ldp":
            rules += [c[x] <= math.exp(g.epsilon) * c[z] for x, z in itertools.permutations(range(n), 2)]
        if g.kind == "maximal-leakage":
            rules += [cp.sum(cp.max(c, axis=0)) <= math.exp(g.epsilon)]
    rules += [c[x, y] == 0 for x, y in np.argwhere(np.isinf(scores)).tolist()]
    each = cp.sum(cp.multiply(np.where(np.isinf(scores), 0.0, scores), c), axis=1)
    problem = cp.Problem(cp.Maximize(cp.min(each) if worst else p @ each), rules)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def power(exponent: str) -> Fraction:
    """Return a rational just below e^exponent."""
    return sum((Fraction(exponent) ** k / math.factorial(k) for k in range(60)), start=Fraction(0))


def kept(found: dv.results.Design) -> bool:
    return all(g.holds_for(found.joint if g.about == "joint" else found.channel) for g in found.guarantees)


@pytest.mark.thin
@pytest.mark.parametrize("kind", GUARANTEES)
def test_linear_designs_equal_the_program_over_all_pairs(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    for trial in range(few(14)):
        n, m = int(rng.integers(2, 7)), int(rng.integers(1, 6))
        p = rng.dirichlet(np.full(n, rng.choice([0.5, 3.0])))
        p = np.maximum(p, 1e-3) / np.maximum(p, 1e-3).sum()
        scores = rng.normal(size=(n, m)) * rng.choice([0.01, 1, 100])
        guarantees = GUARANTEES[kind](*(rng.exponential(0.7, 2) + 0.05))
        for worst in (False, True):
            found = dv.design(p, *guarantees, utility=dv.Score(scores, worst=worst))
            size = np.abs(scores).max()
            assert found.utility == pytest.approx(brute(p, scores, guarantees, worst), abs=1e-6 * size), trial
            assert found.utility <= found.bound <= found.utility + 1e-9 * size
            assert kept(found)


def test_distortions_are_smallest_scores() -> None:
    p = dv.Prior(["1/2", "1/3", "1/6"], secrets=[0, 1, 4])
    distance = np.abs(np.subtract.outer([0, 1, 4], [0, 1, 4]))
    found = dv.design(p, dv.LDP(1), utility="absolute-distance")
    assert found.minimized
    assert found.bound <= found.utility <= found.bound + 1e-9
    assert found.utility == pytest.approx(-brute(p.floats, -distance, [dv.LDP(1)]), abs=1e-7)
    worst = dv.design(p, dv.LDP(1), utility="worst-absolute-distance")
    assert worst.utility == pytest.approx(-brute(p.floats, -distance, [dv.LDP(1)], worst=True), abs=1e-6)
    each = (worst.channel.floats * distance[:, [[0, 1, 4].index(y) for y in worst.outcomes]]).sum(axis=1)
    assert worst.utility == pytest.approx(each.max(), rel=1e-12)
    assert dv.design(p, utility="error").bound == 0.0


def test_hamming_under_ldp_is_the_best_randomized_response_on_the_likeliest() -> None:
    rng = np.random.default_rng(1)
    for n, epsilon in itertools.product((2, 5, 17, 40), (0.1, 1.0, 3.0)):
        p = np.sort(rng.dirichlet(np.ones(n)))[::-1]
        e = math.exp(epsilon)
        formula = max(e * p[:k].sum() / (e + k - 1) for k in range(1, n + 1))
        found = dv.design(p, dv.LDP(epsilon), utility="hamming")
        assert found.utility == pytest.approx(formula, rel=1e-9)
        assert found.bound >= formula * (1 - 1e-15)


def test_the_integers_keep_the_guarantee_in_plain_fractions() -> None:
    p = [Fraction(c, 20) for c in (9, 5, 3, 2, 1)]
    found = dv.design(dv.Prior(p), dv.ALIP("1", "1/2"), dv.LDP("1.2"), utility="hamming")
    rows = [[Fraction(w, 2**found.bits) for w in row] for row in found.integers.tolist()]
    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    for column in zip(*rows, strict=True):
        q = sum(a * c for a, c in zip(p, column, strict=True))
        assert max(column) <= power("1/2") * q
        assert min(column) * power("1") >= q * (1 - Fraction(1, 10**50))
        assert max(column) <= power("1.2") * min(column)


def test_any_dual_bounds_every_channel_that_keeps_the_limits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(60)):
        n, m = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        p = rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n
        limits = Limits(*rng.choice([0, 1], 4) * [0.6, 1.5, 2.5, 1.3])
        limits = Limits(limits.low, *(v or math.inf for v in (limits.high, limits.ratio, limits.capacity)))
        scoring = Scoring(rng.normal(size=(n, m)), limits, p[None, :], p[None, :])
        best = solved(scoring)
        assert best is not None
        reached = float((p[:, None] * best.channel * scoring.scores).sum())
        assert best.bound == pytest.approx(reached, abs=1e-9)
        shape = (1, m)
        dual = Dual(rng.normal(size=n), np.abs(rng.normal(size=shape)) * (limits.high < math.inf),
                    np.abs(rng.normal(size=shape)) * (limits.low > 0),
                    float(abs(rng.normal()) * (limits.capacity < math.inf)), np.ones(1))  # fmt: skip
        assert bound_of(scoring, dual) >= reached - 1e-12


def by_definition(scoring: Scoring) -> tuple[float, cp.Variable, list[Any], cp.Expression]:
    """Return (the best least mean score, the channel, its rules, the score), every pair of rows written out."""
    (n, m), limits = scoring.scores.shape, scoring.limits
    c = cp.Variable((n, m), nonneg=True)
    rules = [cp.sum(c, axis=1) == 1, cp.multiply(c, ~scoring.allowed) == 0]
    for q in (p @ c for p in scoring.guards):
        rules += [c[x] >= limits.low * q for x in range(n)]
        rules += [c[x] <= limits.high * q for x in range(n) if limits.high < math.inf]
    if limits.ratio < math.inf:
        rules += [c[x] <= limits.ratio * c[z] for x, z in itertools.permutations(range(n), 2)]
    if limits.capacity < math.inf:
        rules += [cp.sum(cp.max(c, axis=0)) <= limits.capacity]
    value = cp.min(scoring.judges @ cp.sum(cp.multiply(scoring.finite, c), axis=1))
    return float(cp.Problem(cp.Maximize(value), rules).solve(solver=cp.HIGHS)), c, rules, value


def drawn(rng: np.random.Generator, n: int, m: int, guards: int) -> Scoring:
    """Return scores, some of which forbid an entry, and limits, each in every other case."""
    guarding, judging = (rng.dirichlet(np.full(n, 2.0), k) for k in (guards, int(rng.integers(1, 4))))
    low, high, ratio, capacity = rng.choice([0, 1], 4) * [0.4, 1.8, 3.0, 1.4]
    limits = Limits(low, high or math.inf, ratio or math.inf, capacity or math.inf)
    scores = np.where(rng.random((n, m)) < rng.choice([0, 0.2]), -math.inf, rng.normal(size=(n, m)))
    scores[:, 0] = rng.normal(size=n)
    return Scoring(unforbidden(scores, limits), limits, guarding, judging)


def best_by_definition(scoring: Scoring) -> None:
    """Assert that what is solved is the optimum of the definition, and keeps its rules."""
    best, c, rules, value = by_definition(scoring)
    found = solved(scoring)
    c.value = found.channel
    assert float(value.value) == pytest.approx(best, abs=1e-7)
    assert found.bound == pytest.approx(best, abs=1e-7)
    assert all(np.max(rule.violation()) < 1e-8 for rule in rules)
    assert not found.channel[~scoring.allowed].any()
    hurried = silent(scoring, left=0.0)  # no time for prices
    assert hurried is not None
    assert best - 1e-7 <= hurried.bound <= float(scoring.finite.max(axis=1).max()) + 1e-9


def test_the_program_equals_its_definition_under_several_guards_and_judges() -> None:
    rng = np.random.default_rng(17)
    for _ in range(few(48)):
        best_by_definition(drawn(rng, int(rng.integers(2, 6)), int(rng.integers(2, 6)), int(rng.integers(1, 4))))


def test_outcomes_that_join_by_their_price_leave_no_better_channel() -> None:
    """Of many outcomes eight are in the first program, which is best for some other scores."""
    rng = np.random.default_rng(23)
    for _ in range(36 if THOROUGH else 3):
        best_by_definition(drawn(rng, int(rng.integers(2, 5)), int(rng.choice([17, 24, 65])), 1))


@pytest.mark.parametrize("unit", [1e-12, 1e12])
@pytest.mark.parametrize("worst", [False, True])
def test_the_unit_of_a_score_does_not_matter(unit: float, worst: bool) -> None:
    rng = np.random.default_rng(5)
    for n in (4, 9):
        p, scores = rng.dirichlet(np.full(n, 3.0)), rng.random((n, n))
        one, other = (dv.design(p, dv.ALIP(1, 0.5), utility=dv.Score(s, worst=worst)) for s in (scores, scores * unit))
        assert other.utility == pytest.approx(one.utility * unit, rel=1e-9)
        assert other.utility <= other.bound <= other.utility * (1 + 1e-9)


def test_what_is_forbidden_never_happens() -> None:
    p = [0.5, 0.3, 0.2]
    scores = np.array([[1, 0, -math.inf], [0, 1, 0], [-math.inf, 0, 1]])
    found = dv.design(p, dv.PML(0.5), utility=dv.Score(scores))
    assert found.utility == pytest.approx(brute(np.array(p), scores, [dv.PML(0.5)]), abs=1e-6)
    assert kept(found)
    matrix = found.channel.matrix
    place = {y: j for j, y in enumerate(found.outcomes)}
    assert all(matrix[x, place[y]] == 0 for x, y in ((0, 2), (2, 0)) if y in place)
    under_ldp = dv.design(p, dv.LDP(1), utility=dv.Score(scores))
    assert under_ldp.outcomes == [1]
    only_itself = dv.Score(np.where(np.eye(3) > 0, 1.0, -math.inf))
    with pytest.raises(dv.DivulgeError, match="forbidden"):
        dv.design(p, dv.PML(0.5), utility=only_itself)


def test_a_score_about_another_variable_is_its_mean_given_the_secret() -> None:
    sick = dv.Channel([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]], outcomes=["well", "sick"])
    p = np.array([0.5, 0.3, 0.2])
    found = dv.design(p, dv.PML(0.3), utility=dv.Score(lambda w, y: float(w == y), about=sick))
    assert set(found.outcomes) <= {"well", "sick"}
    assert found.utility == pytest.approx(brute(p, sick.floats, [dv.PML(0.3)]), abs=1e-6)


def test_secrets_that_never_occur_and_labels() -> None:
    prior = dv.Prior(["1/2", "0", "1/2"], secrets=list("abc"))
    found = dv.design(prior, dv.LDP(1), utility="hamming")
    assert found.channel.shape[0] == 3
    assert dv.LDP(1).holds_for(found.channel)
    assert set(found.outcomes) <= set("abc")
    chosen = dv.design(prior, dv.LDP(1), utility=np.eye(3)[:, :2], outcomes=["yes", "no"])
    assert set(chosen.outcomes) <= {"yes", "no"}
    gained = dv.design(prior, dv.LDP(1), utility=dv.Gain.identity(prior))
    assert gained.utility == pytest.approx(found.utility, rel=1e-12)


def test_a_time_limit_still_brings_a_bound() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(60))
    found = dv.design(p, dv.PML(0.5), utility="hamming", time_limit=0.0)
    best = dv.design(p, dv.PML(0.5), utility="hamming")
    assert found.utility <= best.utility <= found.bound + 1e-12
    assert kept(found)


@pytest.mark.parametrize(
    ("utility", "words"),
    [
        (dv.Score([[1.0, math.nan], [0.0, 1.0]]), "utility"),
        (dv.Score([[math.inf, 0.0], [0.0, 1.0]]), "inf"),
        (np.eye(3), "row"),
        (dv.Score("abc"), "utility"),
        ("beauty", "hamming"),
    ],
)
def test_bad_scores_are_refused(utility: Any, words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        dv.design([0.5, 0.5], dv.PML(0.3), utility=utility)


def test_other_refusals() -> None:
    with pytest.raises(dv.DivulgeError, match="method"):
        dv.design([0.5, 0.5], dv.PML(0.3), utility="hamming", method="counting")
    with pytest.raises(dv.DivulgeError, match="numbers"):
        dv.design({"a": 0.5, "b": 0.5}, dv.PML(0.3), utility="absolute-distance")


def test_closed_forms_of_scores_equal_the_linear_program() -> None:
    rng = np.random.default_rng(11)
    for n in (2, 3, 6, 9) if THOROUGH else (2, 6):
        p = rng.dirichlet(np.full(n, rng.choice([0.4, 3.0])))
        p = np.maximum(p, 1e-3) / np.maximum(p, 1e-3).sum()
        for guarantee in (dv.LDP(rng.exponential()), dv.guarantees.LiftCapacity(3.5),
                          dv.guarantees.MaximalLeakage(rng.exponential()),
                          dv.guarantees.BayesCapacity(1 + n / 3), dv.PML(200),
                          dv.guarantees.BayesCapacity(2 * n)):  # fmt: skip
            first, other = (dv.design(p, guarantee, utility="hamming", method=m) for m in (None, "linear-program"))
            assert first.method == "closed-form"
            assert first.utility == pytest.approx(other.utility, rel=1e-9)
            assert first.bound >= other.utility * (1 - 1e-15)
            assert other.bound >= first.utility * (1 - 1e-15)
            assert kept(first)


APPLY = {"hamming": {"closed-form", "linear-program"}, "absolute-distance": {"linear-program"},
         "mutual-information": {"counting", "enumeration", "column-generation"}}  # fmt: skip


@pytest.mark.parametrize("utility", APPLY)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_asked_for_by_name_and_agrees_or_says_that_it_does_not_apply(
    name: str, utility: str
) -> None:
    prior, guarantee = dv.Prior(["1/2", "1/4", "1/8", "1/8"]), dv.LDP(1)
    if name not in APPLY[utility]:
        with pytest.raises(dv.DivulgeError, match=f"`method` must apply .*{name}"):
            dv.design(prior, guarantee, utility=utility, method=name)
        return
    found = dv.design(prior, guarantee, utility=utility, method=name)
    assert found.method == name
    assert found.utility == pytest.approx(dv.design(prior, guarantee, utility=utility).utility, rel=1e-8)
    assert kept(found)


def test_progress_is_told_and_a_late_program_returns_an_honest_gap() -> None:
    p, told = np.random.default_rng(0).dirichlet(np.ones(60)), []
    for utility in ("squared-distance", "absolute-distance"):
        best = dv.design(p, dv.PML(0.5), utility=utility, progress=told.append)
        assert told[-1].gap >= 0
        late = dv.design(p, dv.PML(0.5), utility=utility, time_limit=0.0)
        sign = -1 if best.minimized else 1
        assert sign * told[0].utility <= sign * best.utility <= sign * told[0].bound
        assert sign * told[0].utility == pytest.approx(sign * late.utility, rel=1e-9)
        assert sign * late.utility <= sign * best.utility <= sign * late.bound
        assert kept(late)
        told.clear()
    with pytest.raises(dv.DivulgeError, match="time_limit"):
        dv.design(p, dv.PML(0.9), utility=np.where(np.eye(60) > 0, -math.inf, 1.0), time_limit=0.0)


def test_distortions_and_correlated_scores_equal_the_program_over_all_pairs() -> None:
    rng = np.random.default_rng(21)
    for trial, kind in enumerate([*GUARANTEES] * (2 if THOROUGH else 1)):
        n, m, k = (int(rng.integers(2, 5)) for _ in range(3))
        p, guarantees = rng.dirichlet(np.full(n, 2.0)), GUARANTEES[kind](*(rng.exponential(0.7, 2) + 0.05))
        worst, distortion = bool(trial % 2), rng.random((k, m))
        given = rng.dirichlet(np.ones(k), n)
        mean = given @ distortion
        score = dv.Score(distortion, least=True, worst=worst, about=dv.Channel(given))
        found = dv.design(p, *guarantees, utility=score)
        assert found.minimized
        assert found.utility == pytest.approx(-brute(p, -mean, guarantees, worst), abs=1e-6), (kind, worst)
        assert found.bound <= found.utility <= found.bound + 1e-9
        assert kept(found)


@pytest.mark.parametrize(
    "guarantees", [("pml=0.5",), ("lip=0.5",), ("alip=0.3:1",), ("pmc=0.5",), ("ldp=2", "pml=0.5")]
)
def test_the_truth_is_told_as_often_by_the_relaxation_as_by_the_program(guarantees: tuple[str, ...]) -> None:
    random, closed = np.random.default_rng(3), 0
    for n in (3, 6, 12, 20) if THOROUGH else (3, 6, 12):
        prior = dv.Prior(random.dirichlet(np.ones(n)))
        program = dv.design(prior, *guarantees, utility="hamming", method="linear-program")
        found = dv.design(prior, *guarantees, utility="hamming")
        closed += found.method == "closed-form"
        assert found.bound >= program.utility
        assert abs(found.utility - program.utility) < 1e-8
    assert closed >= (2 if THOROUGH else 1)


@pytest.mark.parametrize(
    "guarantees", [("ldp=1",), ("pml=0.5",), ("pml=2.5",), ("pmc=0.7",), ("alip=1:0.5",), ("pml=0.5", "ldp=1")]
)
def test_what_serves_all_secrets_alike_is_as_good_as_the_program(guarantees: tuple[str, ...]) -> None:
    random, closed = np.random.default_rng(5), 0
    for n in (2, 4, 7):
        prior = dv.Prior(random.dirichlet(np.full(n, 5.0)))
        program = dv.design(prior, *guarantees, utility="worst-hamming", method="linear-program")
        found = dv.design(prior, *guarantees, utility="worst-hamming")
        closed += found.method == "closed-form"
        assert found.bound >= program.utility * (1 - 1e-12)
        assert program.bound >= found.utility * (1 - 1e-12)
        assert found.utility == pytest.approx(program.utility, rel=1e-8)
        assert kept(found)
    assert closed >= 1 or guarantees in (("pml=2.5",), ("pmc=0.7",))


@pytest.mark.parametrize(("guarantee", "most"), [("pml=0.5", math.exp(0.5) / 300), ("ldp=1", math.e / (math.e + 299))])
def test_hundreds_of_secrets_are_served_alike_without_a_search(guarantee: str, most: float) -> None:
    """By definition: no lift is above e^.5, no ratio above e, and nothing serves the last secret better."""
    p = np.random.default_rng(6).dirichlet(np.ones(300))
    found = dv.design(dv.Prior(p), guarantee, utility="worst-hamming")
    channel = found.channel.floats
    assert found.method == "closed-form"
    assert np.diag(channel) == pytest.approx(np.full(300, most), rel=1e-9)
    assert found.bound == pytest.approx(most, rel=1e-12)
    lifts, ratios = channel / (p @ channel), channel.max(axis=0) / channel.min(axis=0)
    assert (
        lifts.max() <= math.exp(0.5) * (1 + 1e-12) if guarantee == "pml=0.5" else ratios.max() <= math.e * (1 + 1e-12)
    )


def test_a_program_that_is_too_large_for_the_time_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving the 2,400 entries of the first outcomes to a solver takes .01 s: what says nothing comes back."""
    p = np.random.default_rng(1).dirichlet(np.ones(300))
    best = dv.design(p[:20] / p[:20].sum(), "pml=1", "pmc=0.5", utility="error", time_limit=20)
    assert best.utility - best.bound < 1e-6
    monkeypatch.setattr(
        "divulge.designing.linear.score_program._program", lambda _: pytest.fail("the program is built")
    )
    found = dv.design(p, "pml=1", "pmc=0.5", utility="error", time_limit=0.01)
    assert found.bound <= found.utility == pytest.approx(1 - p.max())


def test_a_secret_next_to_impossible_spoils_neither_the_channel_nor_its_bound() -> None:
    """The limit 1 / P_x that follows from the mean, beside numbers near 1, made HiGHS call a bad channel optimal."""
    p, scores = np.array([1e-13, 0.2, 0.8 - 1e-13]), np.array([[-1.1, 0.2, 10.1], [6.6, 7.7, -6.0], [-2.6, -8.1, 1.0]])
    tiny = dv.design([1.2e-13, 0.924, 0.076 - 1.2e-13], dv.LDP(1e-6), utility=scores)
    assert tiny.bound - tiny.utility < 1e-4
    for guarantee in (dv.PMC(3), dv.LDP(3), dv.ALIP(3, 30), dv.LIP(0.5)):
        found = dv.design(p, guarantee, utility=scores)
        assert found.bound - found.utility < 1e-6
        assert found.utility >= (p @ scores).max() - 1e-9
        assert kept(found)


def test_another_library_may_have_solved_programs_on_more_threads() -> None:
    """HiGHS has one number of threads for the whole process: ours ended in an error, and nothing was said."""
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    x = other.addVariable(lb=0, ub=1)
    other.maximize(x)
    found = dv.design([0.5, 0.3, 0.2], dv.PML(0.5), utility=[[1, 0], [0, 1], [0.5, 0]])
    assert found.utility > 0.65
    assert found.relative_gap < 1e-9


@pytest.mark.parametrize("name", SCORES)
def test_tables_of_named_scores_are_those_of_single_entries(name: str) -> None:
    labels = [("a", "b", "c"), (1, 2, 5.5), ("1/3", "2", "1e3"), (True, 0, 2), (Fraction(1, 3), 7, -2)]
    score = SCORES[name]()
    one_by_one = Score(lambda x, y: score.of(x, y), score.least, score.worst, name=score.name)
    for targets, outcomes in itertools.product(labels, [*labels, None]):
        try:
            want = one_by_one.table(targets, outcomes)
        except dv.DivulgeError as error:
            with pytest.raises(dv.DivulgeError, match=re.escape(str(error))):
                score.table(targets, outcomes)
            continue
        found = score.table(targets, outcomes)
        assert found[0].tolist() == want[0].tolist()
        assert found[1] == want[1]


@pytest.mark.parametrize("guarantee", ["ldp=1", "pml=0.5", "pmc=1"])
def test_a_closed_form_needs_no_time(guarantee: str) -> None:
    """It is there when the time is up: what is made without a search, 1e-3 below, does not take its place."""
    found = dv.design(["1/300"] * 300, guarantee, time_limit=0)
    assert found.method == "closed-form"
    assert found.relative_gap < 1e-9


@pytest.mark.parametrize("utility", ["total-variation", "mutual-information", "hellinger", "le-cam", "chi-squared"])
def test_where_nothing_may_be_told_the_bound_is_none_or_next_to_it(utility: str) -> None:
    """A rounded utility of 1e-16 above a bound of 0 does not withdraw it, nor the lower end of a least level."""
    p = [0.04563682376864323, 0.014991050467797997, 0.9393721257635587]
    assert 0 <= dv.design(p, "pml=0", utility=utility).bound < 1e-13
    if utility == "total-variation":
        found = dv.least_epsilon(p, dv.PML, "pmc=0.2468", at_least=0.0187, utility=utility)
        assert found.undecided < 1e-6 * found.epsilon
