"""Designs for every prior of a set against a linear program over the set's corners, and exact checks on the set."""

import itertools
import math
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import THOROUGH, few

import divulge as dv
from divulge.designing.effort import Effort
from divulge.designing.linear import score_program
from divulge.designing.linear.robust import RobustChecker
from divulge.designing.polytope.limits import limits_of
from divulge.designing.tradeoff.families import FAMILIES, _Task, tuned
from divulge.measures import L1Ball, LowerBounded, Polytope

SIZE = 4
BALL = dv.measures.L1Ball(["1/2", "1/4", "1/8", "1/8"], "1/10")
FLOOR = dv.measures.LowerBounded(SIZE, 0.1)
ORDERED = dv.measures.Polytope([[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1], [0, 0, 0, -1]], [0, 0, 0, -0.05])
POSTERIORS = dv.measures.ConvexHull([["1/2", "1/2", 0, 0], ["1/4", "1/4", "1/4", "1/4"], [0, "1/3", "1/3", "1/3"]])


def corners(kind: Any) -> np.ndarray:
    """Return the corners of a set, by hand."""
    if kind is POSTERIORS:
        return np.array([[1 / 2, 1 / 2, 0, 0], [1 / 4] * 4, [0, 1 / 3, 1 / 3, 1 / 3]])
    if kind is FLOOR:
        return 0.1 + 0.6 * np.eye(SIZE)
    if kind is BALL:
        center = np.array([0.5, 0.25, 0.125, 0.125])
        moves = [np.eye(SIZE)[i] - np.eye(SIZE)[j] for i, j in itertools.permutations(range(SIZE), 2)]
        return np.array([center + 0.05 * move for move in moves])
    steps = [np.append(np.full(k, 1 / k), np.zeros(SIZE - k)) for k in range(1, SIZE + 1)]
    return np.array([0.05 + 0.8 * step for step in steps])


def brute(priors: np.ndarray, scores: np.ndarray, lower: float, upper: float, ldp: float) -> float:
    n, m = scores.shape
    c, rules = cp.Variable((n, m), nonneg=True), []
    rules.append(cp.sum(c, axis=1) == 1)
    for p in priors:
        q = p @ c
        rules += [c[x] <= math.exp(upper) * q for x in range(n) if upper < math.inf]
        rules += [c[x] >= math.exp(-lower) * q for x in range(n) if lower < math.inf]
    if ldp < math.inf:
        rules += [c[x] <= math.exp(ldp) * c[z] for x, z in itertools.permutations(range(n), 2)]
    means = priors @ cp.sum(cp.multiply(scores, c), axis=1)
    problem = cp.Problem(cp.Maximize(cp.min(means)), rules)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize(
    "priors",
    [FLOOR, *(pytest.param(some, marks=pytest.mark.long) for some in (BALL, ORDERED)), POSTERIORS],
    ids=["floor", "ball", "polytope", "hull"],
)
def test_a_robust_design_is_the_best_for_all_corners(priors: Any) -> None:
    rng = np.random.default_rng(5)
    cases = [([dv.PML(0.4)], (math.inf, 0.4, math.inf)), ([dv.ALIP(0.8, 0.5)], (0.8, 0.5, math.inf)),
             ([dv.LDP(1)], (math.inf, math.inf, 1.0)), ([dv.PML(0.6), dv.LDP(2)], (math.inf, 0.6, 2.0))]  # fmt: skip
    tables = np.eye(SIZE), rng.normal(size=(SIZE, 3))
    for i, ((guarantees, levels), scores) in enumerate(itertools.product(cases, tables)):
        if i % 4 in (1, 2) and not THOROUGH:  # each guarantee with one table, each table with two
            continue
        found = dv.design(priors, *guarantees, utility=scores)
        assert found.utility == pytest.approx(brute(corners(priors), scores, *levels), abs=2e-6)
        assert found.utility <= found.bound <= found.utility + 1e-6
        for asked, has in zip(guarantees, found.achieved, strict=True):
            assert all(getattr(has, name) <= getattr(asked, name) * (1 + 1e-12) for name in asked.bounded())
        for p in corners(priors):
            joint = dv.Joint(p / p.sum(), found.channel.floats)
            assert all(g.holds_for(joint if g.about == "joint" else found.channel) for g in guarantees)
            each = (found.channel.floats * scores[:, list(found.outcomes)]).sum(axis=1)
            assert p @ each >= found.utility - 1e-12


def read_best(priors: np.ndarray, channel: np.ndarray, scores: np.ndarray) -> float:
    """Return the largest least mean score over priors of a reading of the outcomes, random where that helps."""
    reading = cp.Variable((channel.shape[1], scores.shape[1]), nonneg=True)
    means = priors @ cp.sum(cp.multiply(scores, channel @ reading), axis=1)
    problem = cp.Problem(cp.Maximize(cp.min(means)), [cp.sum(reading, axis=1) == 1])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize(
    ("priors", "guarantee"),
    [(FLOOR, dv.PML(0.5)), pytest.param(BALL, dv.ALIP(0.6, 0.5), marks=pytest.mark.long),
     pytest.param(ORDERED, dv.guarantees.MaximalLeakage(0.4), marks=pytest.mark.long)],
    ids=["floor", "ball", "polytope"],
)  # fmt: skip
def test_named_mechanisms_keep_the_guarantee_at_every_corner_and_are_read_as_well_as_can_be(
    priors: Any, guarantee: dv.Guarantee
) -> None:
    found = dv.design(priors, guarantee, utility="hamming")
    table = [row for row in found.compare().rows if row.channel.shape[1] < 30]
    assert {"design", "randomized response", "resample"} <= {row.name for row in table}
    for row in table:
        entries = np.array(row.channel.matrix, dtype=object)
        for p in corners(priors):
            joint = dv.Joint(p / p.sum(), entries.astype(float))
            kept = type(guarantee).of(joint if guarantee.about == "joint" else joint.channel)
            assert all(getattr(kept, n) <= float(getattr(guarantee, n)) + 1e-12 for n in guarantee.bounded())
            assert dv.pml(joint).max() <= row.pml + 1e-12
        expected = read_best(corners(priors), entries.astype(float), np.eye(SIZE))
        assert row.utility == pytest.approx(expected, abs=1e-6)
        assert row.utility <= found.bound + 1e-12
    (response,) = [row for row in table if row.name == "randomized response"]
    measured = response.pml if guarantee.kind != "maximal-leakage" else response.maximal_leakage
    level = float(getattr(guarantee, guarantee.bounded()[-1]))
    assert level - 1e-9 <= measured <= level + 1e-12


def test_the_frontier_of_a_set_has_named_mechanisms_under_their_worst_prior() -> None:
    curve = dv.frontier(BALL, dv.PML, [0.3, 0.6], utility="hamming", named=["randomized response", "resample"])
    assert set(curve.named) == {"randomized response", "resample"}
    for rows in curve.named.values():
        for row, level, bound in zip(rows, curve.epsilons, curve.bounds, strict=True):
            assert BALL.pml(row.channel).max() == pytest.approx(level, abs=1e-9)
            assert row.utility <= bound
    assert curve.plot().get_lines()


def test_a_ball_of_radius_zero_is_its_center() -> None:
    point = dv.measures.L1Ball(["1/2", "1/4", "1/4"], 0)
    alone = dv.design(["1/2", "1/4", "1/4"], dv.PML(0.5), utility="hamming")
    assert dv.design(point, dv.PML(0.5), utility="hamming").utility == pytest.approx(alone.utility, rel=1e-8)


def test_a_distortion_and_a_worst_case_over_a_set() -> None:
    mean = dv.design(FLOOR, dv.LDP(1), utility="absolute-distance")
    assert mean.minimized
    assert mean.bound <= mean.utility <= mean.bound + 1e-6
    worst = dv.design(FLOOR, dv.LDP(1), utility="worst-absolute-distance")
    assert worst.utility >= mean.utility - 1e-9
    assert worst.utility == pytest.approx(
        dv.design(np.full(SIZE, 0.25), dv.LDP(1), utility="worst-absolute-distance").utility, abs=1e-9
    )


def test_what_a_set_of_priors_refuses() -> None:
    for options, words in (
        ({"utility": "chi-squared"}, "linear"),
        ({"utility": "hamming", "method": "counting"}, "method"),
    ):
        with pytest.raises(dv.DivulgeError, match=words):
            dv.design(FLOOR, dv.PML(0.5), **options)


@settings(max_examples=few(90), deadline=None)
@given(st.integers(0, 10**9))
def test_the_least_mean_over_a_set_is_that_of_its_least_prior(seed: int) -> None:
    from divulge.designing.linear.robust import LEAST_MEAN

    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    values = rng.integers(0, 2**40, n).astype(object) * int(rng.choice([-1, 1]))
    counts = rng.integers(0, 9, n) + (np.arange(n) == 0)
    center = dv.Prior([Fraction(int(c), int(counts.sum())) for c in counts])
    bounded = LowerBounded(n, Fraction(int(rng.integers(0, 101)), 100 * n))
    for priors in (bounded, L1Ball(center, Fraction(int(rng.integers(0, 250)), 100))):
        least = priors.least(values).tolist()
        mean = sum((Fraction(p) * v for p, v in zip(least, values.tolist(), strict=True)), Fraction(0))
        assert LEAST_MEAN[type(priors)][1](priors, values) == mean


PAIRED = list(
    itertools.product(
        [("pml=0.6",), ("pml=0.6", "pmc=0.4"), ("alip=0.5:0.3",)], ["hamming", "worst-hamming", "absolute-distance"]
    )
)


@pytest.mark.parametrize(("asked", "utility"), PAIRED if THOROUGH else PAIRED[::4])  # each of both once
def test_one_row_for_what_is_least_stands_for_all_corners(asked: tuple[str, ...], utility: str) -> None:
    """Given as a polytope, each of its corners has rows of its own in the program: the optimum is the same."""
    n, least = 4 if THOROUGH else 3, 0.15
    corners = dv.measures.Polytope(-np.eye(n), np.full(n, -least))
    merged, each = (dv.design(s, *asked, utility=utility) for s in (dv.measures.LowerBounded(n, least), corners))
    assert merged.utility == pytest.approx(each.utility, rel=1e-7)
    assert merged.bound == pytest.approx(each.bound, rel=1e-7)


def test_the_program_for_many_values_has_no_rows_for_each_corner(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a dense row for each outcome and corner 50 values took 50 s; one row for each outcome takes 1 s."""
    sizes: list[int] = []
    plain = score_program._loaded

    def counted(highspy: Any, program: Any) -> Any:
        sizes.append(sum(len(row) for block in program.blocks.values() for row, _, _ in block.placed(0)))
        return plain(highspy, program)

    monkeypatch.setattr(score_program, "_loaded", counted)
    n = 20
    dv.design(dv.measures.LowerBounded(n, 0.01), "pml=1", utility="worst-hamming")
    assert len(sizes) <= 2
    assert max(sizes) < 20 * n**2


@pytest.mark.parametrize("seed", range(few(30, 6)))
def test_any_dual_bounds_what_keeps_the_limits_under_every_corner(seed: int) -> None:
    """Duals at random, and channels that are mixed with equal rows until they keep the limits under each corner."""
    rng = np.random.default_rng(seed)
    n, m = 3, 4
    least = float(rng.uniform(0, 1 / n))
    limits = limits_of([dv.ALIP(float(rng.uniform(0.1, 1)), float(rng.uniform(0.1, 1)))]).floats()
    free, judge = np.array([1 - n * least]), rng.dirichlet(np.ones(n))[None, :]
    scoring = score_program.Scoring(rng.normal(size=(n, m)), limits, np.full((1, n), least), judge, free=free)
    dual = score_program.Dual(
        rng.normal(size=n), rng.exponential(0.5, (1, m)), rng.exponential(0.5, (1, m)), 0.0, np.ones(1)
    )
    bound = score_program.bound_of(scoring, dual)
    every = np.full((n, n), least) + np.eye(n) * free
    for _ in range(40):
        told, equal = rng.dirichlet(np.full(m, 0.3), size=n), rng.dirichlet(np.ones(m))
        for share in np.linspace(1, 0, 21):
            channel = share * told + (1 - share) * equal
            q = every @ channel
            if (channel.max(axis=0) <= limits.high * q).all() and (channel.min(axis=0) >= limits.low * q).all():
                assert float((judge @ (channel * scoring.scores).sum(axis=1))[0]) <= bound + 1e-12
                break


@pytest.mark.parametrize(("turn", "utility"), [(0, "hamming"), (1, "worst-hamming"), (2, "absolute-distance")])
def test_once_the_time_is_up_a_channel_that_says_nothing_comes_back_with_its_gap(turn: int, utility: str) -> None:
    p = np.array([0.5, 0.3, 0.2])
    box = Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.concatenate([p * 1.2, -p * 0.8]))
    each = box, LowerBounded(3, 0.1), L1Ball(dv.Prior(p), 0.1)
    for priors in each if THOROUGH else each[turn : turn + 1]:
        done = dv.design(priors, "pml=0.5", utility=utility)
        late = dv.design(priors, "pml=0.5", utility=utility, time_limit=0)
        sign = -1 if done.minimized else 1
        assert late.method == "time-limit"
        assert priors.pml(late.channel).max() == 0
        assert sign * late.utility <= sign * done.utility * (1 + 1e-9) + 1e-9 <= sign * late.bound + 2e-9
        with pytest.raises(dv.DivulgeError, match="`time_limit` must be long enough"):
            dv.design(priors, "pml=0.5", utility="hamming", outcomes="values", time_limit=0)
        with pytest.raises(dv.DivulgeError, match="`time_limit` must be long enough for the extreme columns"):
            dv.design(priors, "pml=0.5", time_limit=0)


def test_named_members_over_a_set_are_decided_in_time_or_left_out() -> None:
    prior = dv.Prior.uniform(4)
    for priors in (LowerBounded(4, 0.1), L1Ball(prior, 0.1)):
        (found,) = tuned(FAMILIES["randomized response"], prior, (dv.PML(0.5),), priors)
        assert priors.pml(found.channel).max() == pytest.approx(0.5, abs=1e-9)
        assert tuned(FAMILIES["randomized response"], prior, (dv.PML(0.5),), priors, Effort(deadline=0)) == []


def test_means_over_a_set_from_below_are_those_of_its_worst_priors() -> None:
    rng = np.random.default_rng(5)
    for least in (0.0, 0.05, 0.25):
        priors, columns = LowerBounded(4, least), rng.dirichlet(np.ones(6), 4)
        low, most = _Task(dv.Prior.uniform(4), (), limits_of((dv.PML(1),)), priors, Effort()).means(columns)
        for sign, found in ((1, low), (-1, most)):
            assert found == pytest.approx([priors.least(sign * c) @ c for c in columns.T], abs=1e-15)


def test_columns_over_a_set_from_below_are_decided_as_one_by_one() -> None:
    rng, seen = np.random.default_rng(8), set[bool]()
    for n, least, asked in itertools.product((2, 5), ("0", "1/9", 0.07), ("pml=0.4", "pmc=0.5", "alip=0.6:0.3")):
        priors, limits = LowerBounded(n, least), limits_of((dv.guarantees.parse(asked),))
        columns = np.floor(rng.uniform(0.6, 1, (n, 60 if THOROUGH else 15)) * 2.0**55).astype(np.int64)
        checker = RobustChecker.over(priors, np.full(n, 1 / n), limits, Effort())
        c = Fraction(priors.least_probability)
        for values, kept in zip(columns.T.tolist(), checker.keeps(columns).tolist(), strict=True):
            column = list(map(Fraction, values))
            corners = [[c + (1 - n * c) * (x == z) for x in range(n)] for z in range(n)]
            means = [sum(p * v for p, v in zip(corner, column, strict=True)) for corner in corners]
            high, low = checker.limits.high, checker.limits.low
            assert kept == (max(column) <= high * min(means) and min(column) >= low * max(means))
            seen.add(kept)
    assert seen == {False, True}
