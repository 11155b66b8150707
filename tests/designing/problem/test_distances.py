"""The best mechanism under metric privacy: the whole program by another solver, brackets, exact levels, refusals."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, few

import divulge as dv
from divulge.designing.distances import best
from divulge.designing.distances.program import Program
from divulge.designing.distances.spanner import spanner
from divulge.errors import DivulgeError


def town(w: int) -> dv.Prior:
    return dv.Prior.from_counts([
        1 + 60 // (1 + (x - 1) ** 2 + (y - 1) ** 2) ** 2 + 30 // (1 + (x - w + 2) ** 2 + (y - w + 3) ** 2)
        for y in range(w) for x in range(w)
    ])  # fmt: skip


def optimum(prior: dv.Prior, metric: dv.Metric, epsilon: float, cost: Any = None) -> float:
    """The program with all pairs of places, by scipy."""
    d = metric.matrix
    each = prior.floats[:, None] * (d if cost is None else cost)
    n, m = each.shape
    rows, sums = [], np.zeros((n, n * m))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1
        for other in range(n):
            for y in range(m) if other != x else ():
                row = np.zeros(n * m)
                row[x * m + y], row[other * m + y] = 1, -math.exp(epsilon * d[x, other])
                rows.append(row)
    found = linprog(each.ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n))
    return float(found.fun)


def drawn(rng: np.random.Generator) -> list[dv.Metric]:
    edges = {(i, int(rng.integers(0, i))): F(int(rng.integers(2, 20)), 10) for i in range(1, 6)}
    at = rng.uniform(0, 0.05, (2, 6))
    return [
        dv.Metric.grid(3, 2, step=float(rng.uniform(0.3, 1.5))), dv.Metric.line(np.cumsum(rng.uniform(0.2, 1, 5))),
        dv.Metric.graph(edges), dv.Metric.of_places(48 + at[0], 2 + at[1]), dv.Metric.grid(2, 3, norm="manhattan"),
    ]  # fmt: skip


def kept(design: dv.results.Design, metric: dv.Metric) -> None:
    """What comes back keeps its promise exactly, and a little less it does not."""
    (promise,) = design.guarantees
    assert promise.holds_for(design.channel).holds
    assert design.achieved[0].epsilon <= promise.epsilon
    assert {float(sum(row)) for row in design.channel.matrix.tolist()} == {1.0}


def test_it_is_the_optimum_of_the_whole_program() -> None:
    rng = np.random.default_rng(4)
    for _ in range(few(6, least=1)):
        for metric in drawn(rng):
            prior, epsilon = dv.Prior(rng.dirichlet([1.0] * len(metric)), metric.labels), float(rng.uniform(0.2, 2))
            found = dv.design(prior, dv.MetricPrivacy(epsilon, metric), utility="distance")
            truth = optimum(prior, metric, epsilon)
            assert found.bound <= truth + 1e-9
            assert truth - 1e-9 <= found.utility <= found.bound + 1e-8
            kept(found, metric)


def test_the_values_of_the_grid() -> None:
    for w, least in ((3, 0.7559637900982732), (5, 1.071066091078365)):
        metric = dv.Metric.grid(w, w)
        found = dv.design(town(w), dv.MetricPrivacy(1, metric), utility="distance")
        assert found.utility == pytest.approx(least, abs=1e-11)
        assert 0 <= found.gap < 1e-10
        assert found.method == "linear-program"
        kept(found, metric)


def test_spanners_bracket_the_optimum() -> None:
    """The program over few pairs at epsilon, and at epsilon over their dilation, of king's and knight's moves."""
    grid, prior = dv.Metric.grid(5, 5), town(5)
    known = ((1, 1.0572218, 1.0909337, 1.0823922), (2, 1.0698274, 1.0823612, 1.0274863))
    for reach, low, high, dilation in known if THOROUGH else known[:1]:
        edges = spanner(grid, reach)
        assert 1.02 < edges.dilation <= dilation  # which that of the whole lattice is
        for epsilon, value in ((1.0, low), (1 / edges.dilation, high)):
            program = Program(prior.floats[:, None] * grid.matrix, grid, epsilon, *edges.directed)
            assert program.solve("simplex")
            assert program.bound() == pytest.approx(value, abs=6e-8)


@pytest.mark.parametrize("limit", [best.EXACT, best.BRACKET])
def test_methods_for_many_places_are_honest(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small grid, whose optimum is known: the bound is below it, the mechanism above, both near."""
    monkeypatch.setattr(best, "_ROWS", {best.EXACT: 0, best.BRACKET: 0 if limit == best.EXACT else 10**6})
    grid, least = dv.Metric.grid(5, 5), 1.071066091078365
    found = dv.design(town(5), dv.MetricPrivacy(1, grid), utility="distance")
    assert found.method == (best.FIRST_ORDER if limit == best.EXACT else best.BRACKET)
    assert found.bound <= least <= found.utility
    assert found.relative_gap < (0.08 if limit == best.EXACT else 0.04)
    kept(found, grid)


def test_a_bound_is_one_whatever_the_multipliers(monkeypatch: pytest.MonkeyPatch) -> None:
    grid, prior = dv.Metric.grid(3, 3), town(3)
    edges, rng = spanner(grid, 1), np.random.default_rng(0)
    program = Program(prior.floats[:, None] * grid.matrix, grid, 1.0, *edges.directed)
    program.solve("simplex")
    right = np.array(program._highs.getSolution().row_dual)
    solution = program._highs.getSolution()
    for _ in range(few(60)):
        solution.row_dual = (right * rng.uniform(0, 2, len(right)) - rng.exponential(0.01, len(right))).tolist()
        monkeypatch.setattr(program._highs, "getSolution", lambda: solution, raising=False)
        assert program.bound() <= 0.7559637900982732


def test_scores_of_ones_own() -> None:
    rng = np.random.default_rng(8)
    metric, prior = dv.Metric.grid(3, 2), dv.Prior(rng.dirichlet([1.0] * 6))
    promise = dv.MetricPrivacy(0.7, metric)
    table = rng.uniform(0, 3, (6, 4))
    found = dv.design(prior, promise, utility=table)
    assert found.utility == pytest.approx(-optimum(prior, metric, 0.7, -table), abs=1e-8)
    assert found.bound >= found.utility
    hit = dv.design(prior, promise, utility="hamming")
    assert hit.utility == pytest.approx(1 - optimum(prior, metric, 0.7, 1 - np.eye(6)), abs=1e-8)
    squared = dv.Score(metric.matrix**2, least=True, name="squared")
    assert dv.design(prior, promise, utility=squared).utility == pytest.approx(
        optimum(prior, metric, 0.7, metric.matrix**2), abs=1e-8
    )


def test_the_largest_bayes_capacity_is_a_hamming_loss() -> None:
    """n (1 - least error under the uniform prior); the magnitude is the bound where its weights are positive."""
    grid = dv.Metric.grid(3, 3)
    for epsilon in (1, F(1, 2)):
        promise = dv.MetricPrivacy(epsilon, grid)
        most = 9 * (1 - dv.design(dv.Prior.uniform(9), promise, utility="error").utility)
        bound = promise.implies(dv.guarantees.BayesCapacity).ratio
        assert most <= bound * (1 + 1e-9)
        if epsilon == 1:
            assert most == pytest.approx(3.3563368671516, abs=1e-9)


def test_no_named_mechanism_is_better_and_the_table_says_so() -> None:
    grid, prior = dv.Metric.grid(5, 5), town(5)
    found = dv.design(prior, dv.MetricPrivacy(1, grid), utility="distance")
    rows = {row.name: row.utility for row in found.compare().rows}
    assert rows["planar geometric"] == pytest.approx(1.127314278, abs=5e-10)
    assert {"exponential", "planar Laplace", "randomized response"} <= set(rows)
    assert min(rows.values()) == rows["design"] == found.utility


def test_a_limit_of_time_leaves_an_honest_gap() -> None:
    grid = dv.Metric.grid(5, 5)
    found = dv.design(town(5), dv.MetricPrivacy(1, grid), utility="distance", time_limit=0)
    assert found.bound <= 1.071066091078365 <= found.utility
    kept(found, grid)


def test_a_place_that_nobody_is_at_and_a_unit() -> None:
    grid = dv.Metric.grid(3, 1, step="500m")
    found = dv.design(["1/2", 0, "1/2"], dv.MetricPrivacy("2/km", grid), utility="distance")
    assert found.utility == pytest.approx(1 / (2 * math.e), abs=1e-9)  # 1/2 in the middle, 1 / 2e at an end
    kept(found, grid)


LINE = dv.Metric.line(3)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another guarantee beside": ({"guarantees": (dv.MetricPrivacy(1, LINE), dv.LDP(1))}, "alone"),
    "a utility that is no score": ({"utility": "mutual-information"}, "utility=\"distance\""),
    "the worst secret": ({"utility": "worst-hamming"}, "on average"),
    "no finite rate": ({"guarantees": (dv.MetricPrivacy(math.inf, LINE),)}, "finite"),
    "other places": ({"guarantees": (dv.MetricPrivacy(1, dv.Metric.line(4)),)}, "3"),
    "outcomes": ({"outcomes": ["a", "b", "c"]}, "outcomes"),
    "a method": ({"method": "enumeration"}, "method"),
    "what cannot be reached": ({"at_most": 0.01}, "at least"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_design_knows_is_refused(name: str) -> None:
    asked, message = REFUSED[name]
    given = {"guarantees": (dv.MetricPrivacy(1, LINE),), "utility": "distance"} | asked
    with pytest.raises(dv.DivulgeError, match=message):
        dv.design(["1/3"] * 3, *given.pop("guarantees"), **given)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-10])
def test_rates_at_which_whole_numbers_tell_nothing_are_refused(epsilon: float) -> None:
    with pytest.raises(DivulgeError, match="at least 1e-09 over the least distance"):
        dv.design(dv.Prior.uniform(4), dv.MetricPrivacy(epsilon, dv.Metric.grid(2, 2)), utility="distance")
