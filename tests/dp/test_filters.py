"""Filters against every answer of a tree of releases that are chosen on the way, and tree aggregation node by node."""

import json
import math
from typing import Any

import numpy as np
import pytest
from support import few

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
@pytest.mark.parametrize("seed", range(few(3, least=1)))
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


def test_what_is_promised_in_zcdp_counts_as_that() -> None:
    """What stands for a promise has a mass without end, below all deltas, which is none of the promise."""
    spent = dv.dp.Filter("adp=1:1e-6")
    assert spent.fits((dv.dp.ZcdpRelease(spent.bound / 4), 4))
    assert not spent.fits((dv.dp.ZcdpRelease(spent.bound / 4), 5))
    assert spent.then(dv.dp.ZcdpRelease(0.01)).spent == pytest.approx(0.01, rel=1e-9)
    assert not spent.fits(dv.dp.RenyiRelease(2.0, 0.01))  # of one order, no zCDP follows


def test_accounts_are_those_of_each_person_alone() -> None:
    """Person by person with a filter of their own, of the sizes rounded up; nobody passes the promise."""
    rng = np.random.default_rng(4)
    for goal in ("zcdp=0.3", "dp=3", "gdp=1", "adp=2:1e-6"):
        accounts = dv.dp.Accounts.of(goal, 3)
        alone = [dv.dp.Filter(goal) for _ in range(3)]
        for _ in range(few(12, least=5)):
            kind = dv.dp.LaplaceMechanism if goal == "dp=3" or rng.random() < 0.5 else dv.dp.GaussianMechanism
            if goal == "gdp=1":
                kind = dv.dp.GaussianMechanism
            mechanism = kind(float(rng.uniform(1, 2.5)), 2.0)
            sizes = rng.uniform(0, 2, 3) * (rng.random(3) < 0.8)
            who, accounts = accounts.take(mechanism, sizes)
            for i, size in enumerate(sizes.tolist()):
                up = math.ceil(size / 2 * 256) / 256 * 2
                release = kind(mechanism.sigma if hasattr(mechanism, "sigma") else mechanism.scale, up) if up else None
                fits = release is None or alone[i].fits(release)
                assert bool(who[i]) == fits
                if fits and release is not None:
                    alone[i] = alone[i].then(release)
            assert accounts.spent == pytest.approx([one.spent for one in alone], rel=1e-9)
        assert (accounts.spent <= accounts.filter.bound).all()
        assert (accounts.spent > 0.5 * accounts.filter.bound).any()


def test_one_who_contributes_less_takes_part_longer() -> None:
    accounts = dv.dp.Accounts.of("zcdp=0.5", 2)
    rounds = np.zeros(2, dtype=int)
    for _ in range(40):
        who, accounts = accounts.take(dv.dp.GaussianMechanism(2.0), [0.5, 1.0])
        rounds += who
    assert rounds.tolist() == [16, 4]  # 1/32 and 1/8 of 1/2 each
    assert accounts.releases == 40


def test_whole_sensitivities_stay_whole() -> None:
    who, accounts = dv.dp.Accounts.of("dp=10", 3).take(dv.dp.DiscreteLaplaceMechanism(1.0, sensitivity=4), [0, 0.5, 3])
    assert who.all()
    assert accounts.spent.tolist() == pytest.approx([0, 1, 3])


@pytest.mark.parametrize(("mechanism", "sizes"), [
    (dv.dp.GaussianMechanism(1.0), [1.0]), (dv.dp.GaussianMechanism(1.0), [0.0, 1.1]),
    (dv.dp.GaussianMechanism(1.0), [0.0, math.nan]), (dv.dp.GaussianMechanism(1.0), [-1.0, 1.0]),
    (dv.dp.GaussianMechanism(1.0), "ab"), (dv.dp.RandomizedResponse(1.0), [0.0, 1.0]),
    (dv.dp.GaussianMechanism, [0.0, 1.0]), (None, [0.0, 1.0]),
])  # fmt: skip
def test_what_is_no_account_is_refused(mechanism: Any, sizes: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.dp.Accounts.of("zcdp=1", 2).take(mechanism, sizes)
    for people in (0, -1, 1.5, True, "2"):
        with pytest.raises(dv.DivulgeError):
            dv.dp.Accounts.of("zcdp=1", people)  # pyright: ignore[reportArgumentType]
