"""Lists of releases at their edges: samples of samples, densities by hand, extreme numbers, tests and errors."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import laplace, logistic, norm
from support import THOROUGH

import divulge as dv
from divulge.dp.accounting.records import from_records
from divulge.dp.subjects import privacy_losses

GAUSSIAN = dv.dp.GaussianMechanism(1.0)


def test_a_sample_of_a_sample_is_one() -> None:
    twice = dv.dp.PoissonSampled(dv.dp.PoissonSampled(GAUSSIAN, 0.5), 0.2)
    for one, other in zip(privacy_losses(twice), privacy_losses(dv.dp.PoissonSampled(GAUSSIAN, 0.1)), strict=True):
        assert [one.delta(e) for e in (0.0, 0.1)] == [other.delta(e) for e in (0.0, 0.1)]
    fixed = dv.dp.FixedSizeSampled(dv.dp.FixedSizeSampled(GAUSSIAN, 2, 5), 5, 10)
    (one,), (other,) = privacy_losses(fixed), privacy_losses(dv.dp.FixedSizeSampled(GAUSSIAN, 2, 10))
    assert one.delta(0.1) == other.delta(0.1)


def test_samples_of_two_kinds_have_no_neighbors_in_common() -> None:
    poisson, fixed = dv.dp.PoissonSampled(GAUSSIAN, 0.5), dv.dp.FixedSizeSampled(GAUSSIAN, 1, 10)
    for broken in (
        lambda: dv.dp.FixedSizeSampled(poisson, 1, 10),
        lambda: dv.dp.PoissonSampled(fixed, 0.5),
        lambda: dv.dp.FixedSizeSampled(fixed, 3, 5),
        lambda: dv.compose(poisson, fixed),
        lambda: from_records(
            [{"mechanism": "gaussian", "sigma": 1, "rate": 0.1, "sample": 1, "population": 10}], read_channel
        ),
    ):
        with pytest.raises(dv.DivulgeError, match="sample"):
            broken()


def read_channel(name: str) -> Any:
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("pair", "named", "count"),
    [
        pytest.param((norm(0, 1), norm(0.5, 1)), dv.dp.GaussianMechanism(2.0), 2, marks=pytest.mark.long),
        ((laplace(0), laplace(1)), dv.dp.LaplaceMechanism(1.0), 3),
    ],
)
def test_densities_by_hand_are_composed_between_two_pairs_of_atoms(pair: Any, named: Any, count: int) -> None:
    found = dv.compose((dv.dp.DistributionPair(*pair), count), tolerance=1e-4).epsilon(1e-4)
    truth = dv.compose((named, count)).epsilon(1e-4)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower <= 2e-3


@pytest.mark.long
def test_two_different_pairs_of_densities() -> None:
    first = dv.dp.DistributionPair(logistic(0), logistic(1))
    second = dv.dp.DistributionPair(norm(0, 1), norm(0.3, 1))
    found = dv.compose(first, second, tolerance=1e-3).epsilon(1e-3)
    assert found.lower < found.upper < found.lower + 0.01


@pytest.mark.parametrize(
    "record",
    [
        {"mechanism": "laplace", "scale": 1e-308},
        {"mechanism": "laplace", "scale": 1e-160},
        {"mechanism": "laplace", "scale": 1e-12},
        {"mechanism": "gaussian", "sigma": 1, "sensitivity": 1e308},
        {"mechanism": "randomized-response", "epsilon": 1e308},
        {"mechanism": "exponential", "epsilon": 1e308},
        {"mechanism": "exponential", "epsilon": 1e12},
        {"mechanism": "adp", "epsilon": 1e308, "delta": 1e-9},
        {"mechanism": "zcdp", "rho": 1e308},
        {"mechanism": "discrete-gaussian", "sigma": 1e-300},
        {"mechanism": "renyi", "alpha": 1e308, "epsilon": 1},
    ],
)
def test_what_is_too_much_is_told(record: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError, match=r"1e\+?308|1e-|between|up to"):
        from_records([record], read_channel)


def test_a_negative_epsilon_asks_the_other_order() -> None:
    """delta(-e) = 1 - e^-e + e^-e delta(e) of the reverse pair; both orders are examined."""
    (loss,) = privacy_losses(GAUSSIAN)
    found = dv.compose(GAUSSIAN).delta(-0.5)
    assert found.lower <= loss.delta(-0.5) <= found.upper <= found.lower + 1e-12
    sampled = dv.compose(dv.dp.PoissonSampled(GAUSSIAN, 0.2), tolerance=1e-4).delta(-0.3)
    worst = max(each.delta(-0.3) for each in privacy_losses(dv.dp.PoissonSampled(GAUSSIAN, 0.2)))
    assert sampled.lower - 1e-9 <= worst <= sampled.upper + 1e-9
    assert dv.dp.delta_from_epsilon(GAUSSIAN, -0.5).value == loss.delta(-0.5)


def test_trade_off_of_a_composition_lies_just_below_that_of_the_gaussian_it_is() -> None:
    curve = dv.dp.trade_off(dv.compose((dv.dp.GaussianMechanism(10.0), 100)))
    alpha = np.linspace(0.001, 0.999, 400)
    exact = norm.cdf(norm.isf(alpha) - 1.0)
    assert (curve(alpha) <= exact + 1e-12).all()
    assert (curve(alpha) >= exact - 1e-11).all()


def test_trade_off_of_a_composition_of_channels_is_met_by_enumeration() -> None:
    rows = np.array([[0.7, 0.3], [0.4, 0.6]])
    p, q = (np.outer(row, row).ravel() for row in rows)
    curve = dv.dp.trade_off(dv.compose((rows, 2)))
    truth = dv.dp.trade_off([p, q])
    for alpha in np.linspace(0, 1, 51):
        assert truth(alpha) - 0.005 <= curve(alpha) <= truth(alpha) + 1e-12


def test_gaussian_mu_of_a_composition() -> None:
    exact = dv.dp.gaussian_dp(dv.compose((dv.dp.GaussianMechanism(2.0), 9), dv.dp.GaussianMechanism(0.5)))
    assert exact.value == pytest.approx(math.sqrt(9 / 4 + 4), rel=1e-12)
    assert exact.lower == pytest.approx(exact.value, rel=1e-6)
    mixed = dv.dp.gaussian_dp(dv.compose((dv.dp.LaplaceMechanism(4.0), 20), tolerance=1e-4))
    assert 0.75 * mixed.value <= mixed.lower <= mixed.value  # squares of parts, each at its worst test
    central = math.sqrt(20) / 4  # what many Laplace losses of 1/4 look like in the middle
    assert central <= mixed.value
    assert dv.dp.gaussian_dp(dv.compose(dv.dp.AdpRelease(0.1, 1e-9))).value == math.inf


def test_the_tolerance_is_asked_for() -> None:
    records = [{"mechanism": "laplace", "scale": 3, "count": 10}]
    wide, narrow = (from_records(records, read_channel, tolerance).epsilon(1e-4) for tolerance in (1e-2, 1e-7))
    assert narrow.upper - narrow.lower <= 1e-7 < wide.upper - wide.lower
    assert wide.lower <= narrow.upper
    assert narrow.lower <= wide.upper


MANY = 500 if THOROUGH else 10

LISTS: dict[str, list[Any]] = {
    "atoms on no lattice beside noise": [
        (dv.dp.GaussianMechanism(10.0), MANY),
        (dv.dp.LaplaceMechanism(20.0), MANY),
        (dv.dp.RandomizedResponse(0.1), MANY),
        ([[0.31, 0.28, 0.41], [0.36, 0.33, 0.31]], MANY // 5),
    ],
    "four kinds of noise": [
        (dv.dp.GaussianMechanism(10.0), MANY),
        (dv.dp.LaplaceMechanism(20.0), MANY),
        (dv.dp.RandomizedResponse(0.1), MANY),
        (dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01), MANY),
    ],
    "a sampled Gaussian": [(dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01), 2 * MANY)],
    "a few of a channel": [([[0.5, 0.2, 0.3], [0.25, 0.45, 0.3]], 3), (dv.dp.LaplaceMechanism(3.0), 7)],
}


@pytest.mark.thin
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_several_kinds_reach_the_tolerance(name: str) -> None:
    found = dv.compose(*LISTS[name]).epsilon(1e-6)
    assert found.upper - found.lower <= 1e-6


def test_listed_and_gridded_sums_meet_enumeration() -> None:
    """Atoms of two channels on no common lattice, one of them listed, and a lattice on the grid: all outcomes."""
    rows = [np.array([[0.5, 0.2, 0.3], [0.25, 0.45, 0.3]]), np.array([[0.7, 0.3], [0.6, 0.4]])]
    coin = dv.dp.RandomizedResponse(0.25)
    noise = dv.dp.DiscreteLaplaceMechanism(4.0, 3)
    (a,), (b,) = privacy_losses(coin), privacy_losses(noise)
    p, q = np.ones(1), np.ones(1)
    for one, other in ((rows[0][0], rows[0][1]), (rows[1][0], rows[1][1]), (a.p, a.q), (b.p, b.q), (b.p, b.q)):
        p, q = np.outer(p, one).ravel(), np.outer(q, other).ravel()
    parts = [(dv.dp.PrivacyLoss.between(*each), 1) for each in rows]
    composed = dv.compose(*parts, coin, (noise, 2))
    for epsilon in (0.0, 0.2, 0.9, 1.8):
        truth = max(np.maximum(x - math.exp(epsilon) * y, 0).sum() for x, y in ((p, q), (q, p)))
        found = composed.delta(epsilon)
        assert found.lower * (1 - 1e-12) - 1e-15 <= truth <= found.upper * (1 + 1e-12) + 1e-15
        assert found.upper - found.lower <= 1e-5


def test_mixed_and_gridded_sums_agree() -> None:
    from divulge.dp.accounting.summing.engines import engine
    from divulge.dp.accounting.summing.grids import GridEngine, MixedEngine

    losses = [privacy_losses(one)[0] for one in (dv.dp.LaplaceMechanism(2.0), dv.dp.AdpRelease(math.pi / 10, 1e-7))]
    parts = [(losses[0], 5), (losses[1], 4)]
    mixed = engine(parts, 1e-4)
    assert isinstance(mixed, MixedEngine)
    grid = GridEngine(tuple(parts), 1e-4)
    for epsilon in (0.1, 1.0, 2.5):
        (low, high), (wide_low, wide_high) = mixed.near_epsilon(epsilon), grid.near_epsilon(epsilon)
        assert wide_low.log_delta(epsilon, -1) <= high.log_delta(epsilon, 1)
        assert low.log_delta(epsilon, -1) <= wide_high.log_delta(epsilon, 1)
        one = high.rest
        e = np.array([-3.0, 0.05, epsilon, 2.0])
        assert one.log_delta(e, 1) == pytest.approx([one.log_delta(float(v), 1) for v in e], rel=1e-6, abs=1e-6)
