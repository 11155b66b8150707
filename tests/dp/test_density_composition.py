"""Leakage of several releases about one secret, against the exact joint channel and enumeration."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, random_channel, random_prior

import divulge as dv

BITS = [[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [1, 0]]
SKEWED = dv.Prior([0.02, 0.49, 0.49])


def repeated(channel: dv.Channel, count: int) -> dv.Channel:
    """Return the joint channel of `count` releases, all outcomes written out."""
    out = channel
    for _ in range(count - 1):
        out = out.alongside(channel)
    return out


def distribution(variable: dv.results.Pointwise) -> list[tuple[float, float]]:
    """Return sorted (value, probability) pairs, equal values put together."""
    found: dict[float, float] = {}
    for value, p in zip(variable.values, variable.probabilities, strict=True):
        key = round(float(value), 9)
        found[key] = found.get(key, 0.0) + float(p)
    return sorted(found.items())


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=few(20), deadline=None)
def test_types_meet_the_joint_channel(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    prior, channel = random_prior(rng, n, zeros=0.2), random_channel(rng, n, m, zeros=0.3)
    other = random_channel(rng, n, 2, zeros=0.2)
    written = dv.Joint(prior, repeated(channel, count).alongside(other))
    for name, ours in (("pml", dv.dp.joint_pml), ("pmc", dv.dp.joint_pmc)):
        found = distribution(ours(prior, (channel, count), other))
        truth = distribution(getattr(dv, name)(written))
        assert len(found) == len(truth)
        for (a, p), (b, q) in zip(found, truth, strict=True):
            assert a == pytest.approx(b, abs=2e-9)
            assert p == pytest.approx(q, abs=1e-9)


def test_leakages_of_single_releases_do_not_add() -> None:
    single = [dv.pml((SKEWED, dv.Channel(bit))).max() for bit in BITS]
    assert single == pytest.approx([math.log(1 / 0.49)] * 2)
    together = dv.dp.joint_pml(SKEWED, *BITS).max()
    assert together == pytest.approx(math.log(50))
    assert together > sum(single)
    assert dv.dp.leakage_bounds(SKEWED, *BITS).max_pml >= together - 1e-12


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=few(25), deadline=None)
def test_bounds_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    prior = random_prior(rng, n)
    releases: list[Any] = [(random_channel(rng, n, 2, span=1.0), int(rng.integers(1, 4))), random_channel(rng, n, 3)]
    truth, bounds = dv.dp.joint_pml(prior, *releases), dv.dp.leakage_bounds(prior, *releases)
    for value in bounds.ways.values():
        assert truth.max() <= value + 1e-9
    assert bounds.max_pml == min(bounds.ways.values())
    assert math.log(float(truth.probabilities @ np.exp(truth.values))) <= bounds.maximal_leakage + 1e-9


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=few(20), deadline=None)
def test_adaptive_releases_add_conditionally(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    prior, first = random_prior(rng, n), random_channel(rng, n, 2)
    later = {y: random_channel(rng, n, int(rng.integers(1, 4))) for y in first.outcomes}
    joint, both = dv.Joint(prior, first), dv.Joint(prior, dv.dp.adaptively(first, later))
    for name, given_first in (("pml", dv.dp.pml_given), ("pmc", dv.dp.pmc_given)):
        whole, start = getattr(dv, name)(both), getattr(dv, name)(joint)
        for y, z in whole.outcomes:
            assert whole[(y, z)] <= start[y] + given_first(joint, y, later[y])[z] + 1e-9


def test_adaptive_with_the_same_channel_is_two_releases() -> None:
    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert dv.dp.adaptively(channel, {0: channel, 1: channel}) == channel.alongside(channel)
    with pytest.raises(dv.DivulgeError):
        dv.dp.adaptively(channel, {0: channel})


def test_growth_towards_the_rarity_of_the_secret() -> None:
    prior, channel = dv.Prior([0.1, 0.3, 0.6]), dv.Channel([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]])
    found = dv.dp.leakage_growth(prior, channel, [1, 5, 25, 125, 625, 3125])
    assert found.exact.all()
    assert (np.diff(found.by_secret @ found.probabilities) > 0).all()
    assert found.by_secret[-1] == pytest.approx(found.limits, abs=1e-3)
    assert found.mean()[0] == pytest.approx(dv.pml((prior, channel)).mean(), rel=1e-12)
    assert found.mean()[-1] == pytest.approx(-(prior.floats @ np.log(prior.floats)), abs=1e-3)


def test_sampling_meets_the_types_within_its_bounds() -> None:
    rng = np.random.default_rng(5)
    prior, channel = dv.Prior([0.2, 0.3, 0.5]), dv.Channel([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    truth = dv.dp.joint_pml(prior, (channel, 20))
    found = dv.dp.sampled_leakage(prior, (channel, 20), rng=rng, samples=20_000)
    assert found.mean_bounds().lower <= truth.mean() <= found.mean_bounds().upper
    assert found.mean_bounds().upper - found.mean_bounds().lower < 0.05
    for t in (0.2, 0.7, 1.2):
        assert found.tail_bounds(t).lower <= truth.tail(t) <= found.tail_bounds(t).upper
    assert found.tail_bounds(5.0).lower == 0.0 < found.tail_bounds(5.0).upper
    cost = dv.dp.sampled_leakage(prior, (channel, 20), rng=rng, leakage="pmc", samples=2000)
    assert abs(cost.mean() - dv.dp.joint_pmc(prior, (channel, 20)).mean()) < 0.2
    assert cost.mean_bounds().upper == math.inf


def test_bounds_cover_as_often_as_promised() -> None:
    prior, channel = dv.Prior([0.5, 0.5]), dv.Channel([[0.7, 0.3], [0.4, 0.6]])
    truth = dv.dp.joint_pml(prior, (channel, 3)).tail(0.3)
    hits = 0
    for seed in range(200):
        drawn = dv.dp.sampled_leakage(
            prior, (channel, 3), rng=np.random.default_rng(seed), samples=200, confidence=0.9
        ).tail_bounds(0.3)
        hits += drawn.lower <= truth <= drawn.upper
    assert hits >= 175


def test_growth_samples_where_types_are_too_many() -> None:
    rng = np.random.default_rng(0)
    channel = random_channel(rng, 3, 12, span=0.5)
    with pytest.raises(dv.DivulgeError):
        dv.dp.joint_pml(dv.Prior.uniform(3), (channel, 60))
    with pytest.raises(dv.DivulgeError):
        dv.dp.leakage_growth(dv.Prior.uniform(3), channel, [60])
    found = dv.dp.leakage_growth(dv.Prior.uniform(3), channel, [1, 60, 2000], rng=rng)
    assert found.exact.tolist() == [True, False, False]
    assert found.by_secret[-1] == pytest.approx(found.limits, abs=1e-6)


def test_refuses() -> None:
    channel = dv.Channel([[0.5, 0.5], [0.4, 0.6]])
    for bad in (3, [], None, "ab", [[1]], [0], [1.5], [True]):
        with pytest.raises(dv.DivulgeError, match="count"):
            dv.dp.leakage_growth([0.5, 0.5], channel, bad)
    rng = np.random.default_rng(0)
    for bad in ((channel, 0), (channel, 1.5), (channel, True)):
        with pytest.raises(dv.DivulgeError):
            dv.dp.joint_pml([0.5, 0.5], bad)
    with pytest.raises(dv.DivulgeError):
        dv.dp.joint_pml([0.5, 0.5])
    with pytest.raises(dv.DivulgeError):
        dv.dp.joint_pml([0.2, 0.3, 0.5], channel)
    for options in ({"leakage": "ldp"}, {"samples": 1}, {"confidence": 1.0}, {"confidence": math.nan}):
        with pytest.raises(dv.DivulgeError):
            dv.dp.sampled_leakage([0.5, 0.5], channel, rng=rng, **options)
    with pytest.raises(dv.DivulgeError):
        dv.dp.sampled_leakage([0.5, 0.5], channel, rng=rng, samples=10).tail_bounds(math.nan)


def test_growth_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = dv.dp.leakage_growth([0.25, 0.75], [[0.6, 0.4], [0.4, 0.6]], [1, 10]).plot()
    assert "releases" in ax.get_xlabel()
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("rarest", [1e-300, 1e-17, 0.1])
@pytest.mark.parametrize("count", [1, 1000])
def test_bounds_beside_very_rare_secrets(rarest: float, count: int) -> None:
    found = dv.dp.leakage_bounds([rarest, 1 - rarest], ([["3/4", "1/4"], ["1/4", "3/4"]], count))
    by_ldp = -mp.log(mp.mpf(rarest) + (1 - mp.mpf(rarest)) * mp.mpf(3) ** -count)
    assert found.ways["ldp of all releases"] == pytest.approx(float(by_ldp), rel=1e-12)
    assert found.max_pml <= -math.log(rarest) * (1 + 1e-15)
