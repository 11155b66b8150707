"""Rows about metric privacy: no counterexample, attained where they say so, wrong without their condition."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from guarantees.attaining import randomized_response
from guarantees.test_theorems import alone
from support import THOROUGH, few, random_channel, random_prior

import divulge as dv
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.theorem import Theorem
from divulge.guarantees.theorems.metric import METRIC

g = dv.guarantees
ROWS = pytest.mark.parametrize("row", METRIC, ids=lambda row: row.name)


def metrics(rng: np.random.Generator, n: int) -> list[dv.Metric]:
    """A line, shortest paths of random lengths, and a grid of about n places."""
    lengths = {(i, int(rng.integers(0, i))): F(int(rng.integers(1, 30)), 10) for i in range(1, n)}
    extra = {(int(a), int(b)): F(int(rng.integers(1, 30)), 10) for a, b in rng.integers(0, n, (n, 2)) if a != b}
    numbers = np.cumsum(rng.integers(1, 9, n)).tolist()
    graph = [dv.Metric.graph({**extra, **lengths})] if n > 1 else []
    return [dv.Metric.line(numbers, step="1/3"), dv.Metric.grid(2, n, step=0.7), *graph]


def one_column(metric: dv.Metric, epsilon: float, place: int, *, rising: bool = False) -> dv.Channel:
    """Two outcomes, C(1 | x') = e^-d(x, x') / 2, or e^(d(x, x') - max d) / 2."""
    d = epsilon * metric.matrix[place]
    column = np.exp(d - d.max() if rising else -d) / 2
    return dv.Channel(np.column_stack([column, 1 - column]), metric.labels)


def tight(metric: dv.Metric, epsilon: float) -> dv.Channel:
    """e^-d with weights; equal rows where these would be negative."""
    similarity = np.exp(-epsilon * metric.matrix)
    weights = np.linalg.solve(similarity, np.ones(len(metric)))
    return dv.Channel(similarity * weights if (weights >= 0).all() else np.ones((len(metric), 1)), metric.labels)


def index_of(kind: type[dv.Guarantee], metric: dv.Metric) -> dict[str, Any]:
    return {"metric": metric} if kind.index else {}


def draws(rng: np.random.Generator) -> list[tuple[dv.Metric, dv.Metric, dv.Joint]]:
    found: list[tuple[dv.Metric, dv.Metric, dv.Joint]] = []
    for _ in range(few(12)):
        for metric in metrics(rng, int(rng.integers(1, 5))):
            n, epsilon = len(metric), float(rng.uniform(0.05, 3))
            other = metrics(rng, n)[0]
            labels = metric.labels
            named = dv.Metric.of(other.matrix, None if isinstance(labels, range) else labels)
            place = int(rng.integers(0, n))
            channels = [
                random_channel(rng, n, 3, zeros=float(rng.choice([0, 0.3])), span=0.5),
                one_column(metric, epsilon, place), one_column(metric, epsilon, place, rising=True),
                dv.mechanisms.exponential(metric, epsilon), tight(metric, epsilon),
            ]  # fmt: skip
            prior = dv.Prior(random_prior(rng, n), labels)
            found += [(metric, named, dv.Joint(prior, dv.Channel(c.matrix, labels))) for c in channels]
    return found


@ROWS
def test_no_mechanism_violates_it(row: Theorem) -> None:
    for metric, other, joint in draws(np.random.default_rng(7))[:: 1 if THOROUGH else 2]:
        (kind,) = row.given
        index = index_of(row.implies, other if kind is row.implies else metric)
        given = kind.of(joint, **index_of(kind, metric))
        implied = alone(row, [given], Context.of(joint.prior), index)
        verdict = implied.holds_for(joint)
        assert verdict.holds or verdict.slack >= -1e-11 * max(1.0, float(implied.values()[implied.bounded()[0]]))


@pytest.mark.thin
@ROWS
def test_no_optimized_mechanism_violates_it(row: Theorem) -> None:
    """Climb towards the bound from random starts: changes that leave less slack are kept; none gets through."""
    rng = np.random.default_rng(11)
    for metric in metrics(rng, 3):
        n, (kind,) = len(metric), row.given
        logs, shares, least = rng.normal(0, 0.3, (n, 3)), rng.dirichlet([2.0] * n), math.inf
        other = dv.Metric.of(metrics(rng, n)[0].matrix, list(metric.labels))
        index = index_of(row.implies, other if kind is row.implies else metric)
        for step in range(few(60)):
            moved, weights = logs + rng.normal(0, 0.2, logs.shape), shares * np.exp(rng.normal(0, 0.3, n))
            channel = np.exp(moved) / np.exp(moved).sum(axis=1, keepdims=True)
            joint = dv.Joint(dv.Prior(weights / weights.sum(), metric.labels), dv.Channel(channel, metric.labels))
            given = kind.of(joint, **index_of(kind, metric))
            slack = alone(row, [given], Context.of(joint.prior), index).holds_for(joint).slack
            assert slack >= -1e-11, (row.name, joint)
            if slack < least or step == 0:
                least, logs, shares = slack, moved, weights / weights.sum()


GRID = dv.Metric.grid(3, 3)
TOWN = dv.Prior.from_counts([22, 46, 22, 26, 76, 26, 12, 22, 12])
DIAGONAL = dv.Metric.grid(3, 3, norm="manhattan")

Case = tuple[list[dv.Guarantee], dv.Joint, dict[str, Any], dict[str, Any]]


def _case(channel: dv.Channel, prior: dv.Prior = TOWN, index: Any = None, metric: dv.Metric = GRID) -> Case:
    """Return a mechanism that has the rate 1, what is known, and what it is asked."""
    joint = dv.Joint(prior, channel)
    given: list[dv.Guarantee] = [dv.MetricPrivacy(1, metric)]
    assert dv.MetricPrivacy("1.000000000001", metric).holds_for(channel)
    return given, joint, {"prior": prior}, index or {}


def _best(leakage: Callable[[dv.Joint], Any], rising: bool) -> dv.Channel:
    made = [one_column(GRID, 1.0, x, rising=rising) for x in range(9)]
    return max(made, key=lambda channel: leakage(dv.Joint(TOWN, channel)).max())


def _response() -> Case:
    line = dv.Metric.line([0, 2, 5])
    joint = randomized_response(3, F(4))
    return [dv.LDP.of(joint)], joint, {}, {"metric": line}


ATTAINED: dict[str, Callable[[], Case]] = {
    "metric privacy bounds leakage, given the prior": lambda: _case(_best(dv.pml, rising=False)),
    "metric privacy bounds cost, given the prior": lambda: _case(_best(dv.pmc, rising=True)),
    "metric privacy is LDP of the diameter": lambda: _case(one_column(GRID, 1.0, 0)),
    "LDP is metric privacy of neighbors": _response,
    "metric privacy in another metric": lambda: _case(
        one_column(DIAGONAL, 1.0, 0), index={"metric": GRID}, metric=DIAGONAL
    ),
    "metric privacy bounds the Bayes capacity": lambda: _case(tight(GRID, 1.0)),
}  # fmt: skip


@ROWS
def test_a_tight_row_is_attained(row: Theorem) -> None:
    given, joint, context, index = ATTAINED[row.name]()
    bound, measured = alone(row, given, Context.of(**context), index), row.implies.of(joint, **index)
    for name in row.implies.bounded():
        assert float(bound.values()[name]) == pytest.approx(float(measured.values()[name]), rel=1e-11)


def test_two_outcomes_attain_the_bounds_under_every_prior_and_metric() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20 if THOROUGH else 2):
        for metric in metrics(rng, int(rng.integers(2, 6))):
            n, epsilon = len(metric), float(rng.uniform(0.1, 3))
            prior = dv.Prior(random_prior(rng, n), metric.labels)
            promise = dv.MetricPrivacy(epsilon, metric)
            for kind, rising in ((dv.PML, False), (dv.PMC, True)):
                most = max(
                    kind.of(dv.Joint(prior, one_column(metric, epsilon, x, rising=rising))).epsilon for x in range(n)
                )
                assert promise.implies(kind, prior=prior).epsilon == pytest.approx(most, rel=1e-11)


@pytest.mark.parametrize("row", [r for r in METRIC if r.needs], ids=lambda r: r.name)
def test_the_prior_is_needed(row: Theorem) -> None:
    """Under another prior than the one that the bound was worked out for, it is broken."""
    given, joint, _, _ = ATTAINED[row.name]()
    belief = [F(1, 100)] * 4 + [F(92, 100)] + [F(1, 100)] * 4
    assert any(
        not alone(row, given, Context.of(prior=prior), {}).holds_for(joint).holds
        for prior in (dv.Prior.uniform(9), dv.Prior(belief))
    )


def test_every_row_is_documented() -> None:
    assert all(row.name and row.formula and row.source and row.remark for row in METRIC)
    assert {row.name for row in METRIC} == set(ATTAINED)


def test_the_discrete_metric_is_ldp() -> None:
    discrete = dv.Metric.of(1 - np.eye(4))
    prior = dv.Prior(["1/10", "2/10", "3/10", "4/10"])
    for kind in (dv.PML, dv.PMC, dv.guarantees.BayesCapacity):
        of_ldp = dv.LDP("3/4").implies(kind, prior=prior)
        of_metric = dv.MetricPrivacy("3/4", discrete).implies(kind, prior=prior)
        assert [float(v) for v in of_metric.values().values()] == pytest.approx(
            [float(v) for v in of_ldp.values().values()], rel=1e-12
        )


def test_leakage_and_cost_give_a_rate_per_distance() -> None:
    """pml + pmc over the least distance, by way of ALIP and LDP; of pml alone only in the high-privacy regime."""
    line = dv.Metric.line(3, step=2)
    both = dv.guarantees.implied([dv.PML("1/2"), dv.PMC("3/5")], dv.MetricPrivacy, metric=line, p_min="1/3")
    assert both.epsilon == pytest.approx(0.55, rel=1e-12)
    assert dv.PML(0.3).implies(dv.MetricPrivacy, metric=line, p_min="1/3").epsilon < math.inf
    assert dv.PML(0.5).implies(dv.MetricPrivacy, metric=line, p_min="1/3").epsilon == math.inf  # log 3/2 = 0.405


def test_the_conversion_is_subadditive_in_leakage_and_not_in_cost() -> None:
    """Compose in the metric, then convert."""
    one, half = (dv.MetricPrivacy(e, GRID) for e in (1, "1/2"))
    assert half + half == one
    assert one.implies(dv.PML, prior=TOWN).epsilon <= 2 * half.implies(dv.PML, prior=TOWN).epsilon
    assert one.implies(dv.PMC, prior=TOWN).epsilon > 2 * half.implies(dv.PMC, prior=TOWN).epsilon
