"""Every loop of a design looks at the clock: once the time is up, what is there comes back, or one refusal.

The clock stands still for a number of looks and is then past every deadline, so that no machine decides anything.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support import few

import divulge as dv
from divulge import clock
from divulge.clock import OutOfTime
from divulge.designing.linear.robust import LEAST_MEAN, float_means, least_means
from divulge.designing.naming import integer_names
from divulge.designing.polytope.limits import limits_of
from divulge.designing.result import Design
from divulge.designing.rounding import Checker
from divulge.guarantees.catalog import parse
from divulge.measures.robust import ConvexHull, L1Ball, LowerBounded, Polytope

LATER = 60
"""Looks that may follow once the time is up: each of three designs takes twenty."""

RANDOM = np.random.default_rng(2)
P = RANDOM.dirichlet(np.ones(70))
FEW = RANDOM.dirichlet(np.ones(14))
BOX = Polytope(np.vstack([-np.eye(14), np.eye(14)]), np.concatenate([-FEW / 2, FEW * 2]))
ASKED: dict[str, Callable[[], Any]] = {
    "vertices": lambda: dv.design(P, "pml=1", time_limit=1),
    "few outcomes": lambda: dv.design(P, "pml=1", outcomes=range(5), time_limit=1),
    "sets": lambda: dv.design(P, "pml=1", "ldp=1", outcomes="sets", time_limit=1),
    "forbidden": lambda: dv.design(FEW, "pml=1", forbidden=[(x, x) for x in range(14)], time_limit=1),
    "about": lambda: dv.design(P, "pml=1", utility=dv.About(np.eye(5)[np.arange(70) % 5]), time_limit=1),
    "protected": lambda: dv.design(FEW, "pml=1", protect=np.eye(3)[np.arange(14) % 3], time_limit=1),
    "scores of another": lambda: dv.design(
        FEW, "pml=1", protect=np.eye(3)[np.arange(14) % 3], utility="hamming", time_limit=1
    ),
    "distances": lambda: dv.design(FEW, dv.MetricPrivacy(1, dv.Metric.line(14)), utility="distance", time_limit=1),
    "scores": lambda: dv.design(P, "pml=1", "pmc=1", utility="absolute-distance", time_limit=1),
    "the truth": lambda: dv.design(P, "pml=1", "pmc=1", utility="hamming", time_limit=1),
    "own names": lambda: dv.design(P, "pml=1", outcomes="values", time_limit=1),
    "variance": lambda: dv.design(P, "ldp=1", utility="estimation", time_limit=1),
    "a hull": lambda: dv.design(ConvexHull([FEW, FEW[::-1]]), "pml=1", utility="hamming", time_limit=1),
    "a ball": lambda: dv.design(L1Ball(FEW, 0.1), "pml=1", utility="hamming", time_limit=1),
    "a floor": lambda: dv.design(LowerBounded(14, 0.01), "pml=1", utility="hamming", time_limit=1),
    "a polytope": lambda: dv.design(BOX, "pml=1", utility="hamming", time_limit=1),
    "names over a floor": lambda: dv.design(LowerBounded(14, 0.01), "pml=1", utility="estimation", time_limit=1),
    "what is wanted": lambda: dv.design(P, "pml=1", at_least=3.0, time_limit=1),
    "a clash": lambda: dv.design(FEW, "pml=1", "ldp=1", "pmc=1", at_least=2.0, time_limit=1),
    "a frontier": lambda: dv.frontier(FEW, "ldp", [0.5, 1, 2], time_limit=1),
    "the least level": lambda: dv.least_epsilon(FEW, "pml", at_least=0.5, time_limit=1),
    "named": lambda: dv.design(FEW, "ldp=1", utility="hamming").compare(time_limit=1),
    "pml over a polytope": lambda: BOX.pml(np.eye(14), time_limit=1),
    "alip over a ball": lambda: L1Ball(FEW, 0.1).alip(np.eye(14), time_limit=1),
    "refinement": lambda: dv.adversaries.max_case_refinement(np.eye(3), [[0.5, 0.5]] * 3, time_limit=1),
    "a prior": lambda: dv.adversaries.worst_prior(np.eye(9), np.eye(9), tolerance=1e-9, time_limit=1),
}


@pytest.mark.thin
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("looks", [0, 7, 60])
def test_once_the_time_is_up_what_is_there_comes_back(asked: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.0 if (look := next(seen)) <= looks else 1e9 + look)
    found = _answer(ASKED[asked])
    if isinstance(found, OutOfTime):
        assert "`time_limit` must be long enough" in str(found)
        assert "Hint:" in str(found)
    elif isinstance(found, dv.DivulgeError):
        assert asked in ("what is wanted", "a clash")
        assert "rules it out" in str(found) or "at most" in str(found)
    for one in getattr(found, "designs", [getattr(found, "design", found)]):
        if isinstance(one, Design):
            sign = -1 if one.minimized else 1
            assert sign * one.utility <= sign * one.bound * (1 + sign * 1e-9)
            if one.priors is None and not one.protect:
                assert all(g.holds_for(one.joint if g.about == "joint" else one.channel) for g in one.guarantees)
    assert next(seen) <= looks + 1 + LATER


def _answer(asked: Callable[[], Any]) -> Any:
    """Return what comes back, or what is raised."""
    try:
        return asked()
    except dv.DivulgeError as refused:
        return refused


def test_levels_between_which_the_time_ran_out_are_both_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.004 * next(seen))
    found = dv.least_epsilon(FEW, "pml", at_least=0.5, time_limit=2)
    assert found.lower < found.epsilon
    assert found.design.utility >= 0.5
    assert dv.PML(found.epsilon).holds_for(found.design.joint)
    assert dv.design(FEW, dv.PML(found.lower)).bound < 0.5


def test_named_mechanisms_that_a_frontier_had_no_time_for_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = itertools.count()
    monkeypatch.setattr(clock, "now", lambda: 0.01 * next(seen))
    curve = dv.frontier(FEW, "ldp", [0.5, 1], named=["randomized response", "geometric"], time_limit=1)
    assert curve.late
    assert not set(curve.late) & set(curve.named)
    assert f"not tuned before the time limit was over: {', '.join(curve.late)}" in repr(curve)
    assert dv.frontier(FEW, "ldp", [0.5], named=["geometric"]).late == ()


@pytest.mark.parametrize("seed", range(few(40, 6)))
def test_the_least_means_of_all_columns_at_once_are_those_of_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    corners = [
        [Fraction(int(v), int(row.sum())) for v in row] for row in rng.integers(0, 5, (4, n)) + (np.arange(n) == 0)
    ]
    columns = rng.integers(0, 2**53, (n, 9)) * int(rng.choice([-1, 1]))
    columns[:, 0] = columns[0, 0]  # under all corners alike
    center = dv.Prior([Fraction(int(v), 12 * n) for v in rng.multinomial(12 * n, np.ones(n) / n)])
    balls = [L1Ball(center, Fraction(int(rng.integers(0, 50 * n)), 24 * n)) for _ in range(3)]
    for priors in (ConvexHull(corners), LowerBounded(n, Fraction(1, 3 * n)), *balls):
        whole = [LEAST_MEAN[type(priors)][1](priors, column) for column in columns.T.astype(object)]
        assert least_means(priors, columns).tolist() == whole
        low, high = float_means(priors, columns.astype(float))
        assert low == pytest.approx([float(mean) for mean in whole], rel=1e-12, abs=1.0)
        assert -high == pytest.approx(float_means(priors, -columns.astype(float))[0], rel=1e-12, abs=1.0)


def test_what_tells_all_is_checked_without_its_matrix() -> None:
    for p in ([0.5, 0.3, 0.2], [1.0], [0.99, 0.01]):
        for asked in (["pml=0.7"], ["pml=5"], ["pmc=1"], ["ldp=1"], ["maximal-leakage=1"], ["maximal-leakage=2"], []):
            checker = Checker.of(np.array(p), limits_of(tuple(map(parse, asked))))
            assert checker.keeps_identity == checker.keeps_all(np.eye(len(p), dtype=np.int64) * 2**53)


def test_rows_are_rounded_to_their_sum_with_no_entry_a_unit_off_and_no_zero_raised() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 9, 60):
        channel = rng.dirichlet(np.full(n, 0.3), n) * (rng.random((n, n)) < 0.7) + np.eye(n) * 0.01
        found = integer_names.rounded(channel, 2**53)
        exact = channel / channel.sum(axis=1, keepdims=True) * 2.0**53
        own = np.eye(n, dtype=bool)
        assert (found.sum(axis=1) == 2**53).all()
        assert (found[channel == 0] == 0).all()
        assert np.abs(found - exact)[~own].max(initial=0.0) <= 1
        assert np.abs(found - exact)[own].max() <= n + 2


@pytest.mark.parametrize("late", [False, True])
def test_the_least_share_that_rounding_takes_is_looked_for_while_there_is_time(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounded, calls = integer_names.rounded, list[int]()
    monkeypatch.setattr(integer_names, "rounded", lambda *given: [rounded(*given), calls.append(1)][0])
    monkeypatch.setattr(clock, "now", lambda: 1e9 if late and len(calls) >= 3 else 0.0)
    found = dv.design(P, "ldp=1", utility="hamming", outcomes="values", time_limit=1)
    assert found.gap < 2**-12  # the largest share
    assert len(calls) <= 6 if late else len(calls) > 6  # shares are doubled in any case, until one is enough
