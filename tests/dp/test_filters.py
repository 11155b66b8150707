"""Filters against every answer of a tree of releases that are chosen on the way, and tree aggregation node by node."""

import json
import math
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge.dp.accounting.records import from_records
from divulge.dp.filters import Filter


def leaves(rng: np.random.Generator, left: Filter, depth: int) -> list[tuple[float, float]]:
    """Both probabilities of every end of a tree: a release after the answers so far, while one is left that fits."""
    tried = [float(e) for e in 10 ** rng.uniform(-1.5, 0.7, 4)]
    fitting = [e for e in tried if left.fits(dv.dp.RandomizedResponse(e))]
    if depth == 0 or not fitting:
        return [(1.0, 1.0)]
    epsilon = fitting[int(rng.integers(len(fitting)))]
    true, other = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    after = left.then(dv.dp.RandomizedResponse(epsilon))
    ends: list[tuple[float, float]] = []
    for p, q in ((true, other), (other, true)):
        ends += [(p * a, q * b) for a, b in leaves(rng, after, depth - 1)]
    return ends


@pytest.mark.parametrize("goal", ["dp=2", "zcdp=0.4", "rdp=3:0.8", "gdp=1", "adp=2:1e-2"])
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_chosen_keeps_the_promise(goal: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = Filter(goal)
    p, q = np.array(leaves(rng, left, 3)).T
    assert p.sum() == pytest.approx(1.0)
    ratio = np.log(p / q)
    if goal == "dp=2":
        assert float(np.abs(ratio).max()) <= 2 * (1 + 1e-12)
    if goal == "zcdp=0.4":
        for alpha in (1.1, 2.0, 8.0, 40.0):
            assert math.log(float(p @ np.exp((alpha - 1) * ratio))) / (alpha - 1) <= 0.4 * alpha * (1 + 1e-9)
    if goal == "rdp=3:0.8":
        assert math.log(float(p @ np.exp(2 * ratio))) / 2 <= 0.8 * (1 + 1e-12)
    if goal == "gdp=1":
        for e in (0.0, 0.5, 1.5):
            allowed = dv.dp.delta_from_epsilon(dv.dp.GaussianMechanism(1.0), e).value
            assert float(np.maximum(p - math.exp(e) * q, 0).sum()) <= allowed * (1 + 1e-9)
    if goal == "adp=2:1e-2":
        assert float(np.maximum(p - math.exp(2) * q, 0).sum()) <= 1e-2


def test_what_fits_is_decided_exactly() -> None:
    gaussian = dv.dp.GaussianMechanism(1.0)
    assert Filter("gdp=2").fits((gaussian, 4))
    assert not Filter("gdp=2").fits((gaussian, 5))
    assert Filter("zcdp=0.5").fits(gaussian)
    assert not Filter("zcdp=0.5").fits(gaussian, dv.dp.GaussianMechanism(1e6))
    assert not Filter("dp=100").fits(gaussian)
    half = Filter("dp=1").then(dv.dp.LaplaceMechanism(2.0))
    assert half.spent == 0.5
    assert half.releases == ((dv.dp.LaplaceMechanism(2.0), 1),)
    with pytest.raises(dv.DivulgeError, match="chosen on the way"):
        half.then((dv.dp.LaplaceMechanism(2.0), 2))


def test_epsilon_and_delta_go_by_zcdp() -> None:
    whole = Filter("adp=1:1e-6")
    promised = dv.dp.epsilon_from_delta(dv.dp.ZcdpRelease(whole.bound), 1e-6).value
    assert promised == pytest.approx(1.0, rel=1e-6)
    assert promised <= 1
    often = int(whole.bound / (1 / (2 * 50.0**2)))
    assert whole.fits((dv.dp.GaussianMechanism(50.0), often))
    assert not whole.fits((dv.dp.GaussianMechanism(50.0), often + 1))
    approximate = dv.dp.AdpRelease(0.05, 1e-8)
    assert not whole.fits(approximate)
    kept = Filter("adp=1:1e-6", aside=1.05e-7)
    assert kept.fits((approximate, 10))
    assert not kept.fits((approximate, 11))
    assert kept.bound < whole.bound
    sums = dv.compose((approximate, 10), (dv.dp.GaussianMechanism(50.0), 1))
    assert kept.fits((approximate, 10), dv.dp.GaussianMechanism(50.0))
    assert sums.epsilon(1e-6).upper < 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Filter("pml=1"), "kind with a filter"),
        (lambda: Filter("zcdp=0.1:0.2"), "kind with a filter"),
        (lambda: Filter("adp=1:0"), "have a delta"),
        (lambda: Filter("adp=1:1e-6", aside=1e-6), "`aside` must be"),
        (lambda: Filter("dp=1", aside=0.1), "`aside` must be"),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        make()


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 9, 100])
def test_a_record_is_in_so_many_sums_of_a_tree(steps: int) -> None:
    """Of all complete intervals of a power of two, as many hold a step as levels are told, and no more."""
    held = [0] * steps
    width = 1
    while width <= steps:
        for start in range(0, steps - width + 1, width):
            for step in range(start, start + width):
                held[step] += 1
        width *= 2
    loss: Any = dv.dp.TreeAggregation(2.0, steps, 3.0).losses()[0]
    assert math.sqrt(max(held)) * 1.5 <= loss.mu * (1 + 1e-15)
    assert loss.mu == pytest.approx(math.sqrt(max(held)) * 1.5, rel=1e-14)


def test_trees_in_lists() -> None:
    records = [{"mechanism": "tree-aggregation", "sigma": 10, "steps": 1000, "count": 3}]
    found = from_records(json.loads(json.dumps(records)), lambda _: None).epsilon(1e-6)
    assert found.upper == pytest.approx(dv.compose((dv.dp.GaussianMechanism(10.0), 30)).epsilon(1e-6).upper, rel=1e-9)
