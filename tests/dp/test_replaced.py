"""Poisson samples with one record replaced: random triples of laws, integrals of noise, and promises that are kept."""

import json
import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import divulge as dv

PoissonSampled: Any = dv.dp.PoissonSampled


def delta(p: np.ndarray, q: np.ndarray, e: float) -> float:
    return math.fsum(np.maximum(p - math.exp(e) * q, 0.0).tolist())


def epsilon_of(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(np.log(p / q)).max())


@pytest.mark.parametrize("seed", range(20))
def test_no_three_laws_are_above(seed: int) -> None:
    """Z against X and Y keep a promise, pure or approximate; so do the samples."""
    rng = np.random.default_rng(seed)
    rate, k = float(rng.uniform(0.02, 1)), int(rng.integers(2, 6))
    z, x, y = rng.dirichlet(np.full(k, rng.choice([0.7, 5.0])), 3) + 1e-3
    z, x, y = z / z.sum(), x / x.sum(), y / y.sum()
    epsilon = max(epsilon_of(x, z), epsilon_of(y, z))
    less = epsilon * float(rng.uniform(0.2, 0.9))
    spent = max(delta(a, b, less) for one in (x, y) for a, b in ((one, z), (z, one)))
    first, second = (1 - rate) * z + rate * x, (1 - rate) * z + rate * y
    for promise in (dv.dp.AdpRelease(epsilon * (1 + 1e-12)), dv.dp.AdpRelease(less, spent * (1 + 1e-12))):
        (loss,) = PoissonSampled(promise, rate, neighbors="replaced").losses()
        for e in np.linspace(-1.0, epsilon, 9).tolist():
            assert max(delta(first, second, e), delta(second, first, e)) <= loss.delta(e) * (1 + 1e-12) + 1e-15
        assert loss.attained is None


def test_the_worst_triple_of_a_pure_promise_is_there() -> None:
    """Three rows of a channel: X has e times the first part of Z, Y of the last, and 1 / e of all the rest."""
    odds, rate = math.e, 0.3
    z = np.array([1, odds - 1, 1]) / (odds + 1)
    x, y = z * np.array([odds, 1 / odds, 1 / odds]), z * np.array([1 / odds, 1 / odds, odds])
    assert x.sum() == pytest.approx(1.0)
    (loss,) = PoissonSampled(dv.dp.RandomizedResponse(1.0), rate, neighbors="replaced").losses()
    for e in (0.0, 0.1, 0.4, 0.6):
        truth = delta((1 - rate) * z + rate * x, (1 - rate) * z + rate * y, e)
        assert loss.delta(e) == pytest.approx(truth, rel=1e-9)


def by_integral(density: Any, rate: float, e: float) -> float:
    """delta of one record that moves up and one that moves down, by mpmath."""

    def excess(x: Any) -> Any:
        still = (1 - mp.mpf(rate)) * density(x)
        return still + rate * density(x - 1) - mp.exp(e) * (still + rate * density(x + 1))

    turn = mp.findroot(excess, (-0.5, 12), solver="bisect", tol=1e-30, verify=False)
    found: Any = mp.quad(excess, [turn, *(p for p in (0, 1, 3) if p > turn), turn + 8, mp.inf])
    return float(found)


@pytest.mark.parametrize(("rate", "e"), [(0.01, 0.05), (0.01, 0.4), (0.3, 1.0), (0.3, 3.0)])
def test_gaussian_noise_between_opposite_records(rate: float, e: float) -> None:
    (loss,) = PoissonSampled(dv.dp.GaussianMechanism(0.8), rate, neighbors="replaced").losses()
    truth = by_integral(lambda x: mp.npdf(x, 0, mp.mpf("0.8")), rate, e)
    attained = loss.attained
    assert attained is not None
    assert attained.delta(e) * (1 - 1e-9) <= truth <= loss.delta(e)
    assert loss.delta(e) - attained.delta(e) <= 2e-3 * truth


@pytest.mark.parametrize(
    "mechanism",
    [dv.dp.DiscreteLaplaceMechanism(2.0), dv.dp.DiscreteGaussianMechanism(1.5, 2), dv.dp.LaplaceMechanism(2.0)],
)
def test_other_noise(mechanism: Any) -> None:
    """Opposite records are the worst, and far worse than one that is added."""
    (loss,) = PoissonSampled(mechanism, 0.2, neighbors="replaced").losses()
    removed = dv.dp.delta_from_epsilon(PoissonSampled(mechanism, 0.2), 0.05).value
    attained = loss.attained
    assert attained is not None
    assert removed < attained.delta(0.05) <= loss.delta(0.05) * (1 + 1e-9)
    assert loss.delta(0.05) <= attained.delta(0.05) * (1 + 2e-3)
    assert loss.delta(0.05) <= 2.5 * removed


def test_rate_one_is_two_steps() -> None:
    (loss,) = PoissonSampled(dv.dp.GaussianMechanism(2.0), 1.0, neighbors="replaced").losses()
    twice = dv.dp.delta_from_epsilon(dv.dp.GaussianMechanism(1.0), 0.7).value
    assert twice <= loss.delta(0.7) <= twice * 1.002


def test_in_lists() -> None:
    gaussian = dv.dp.GaussianMechanism(1.0)
    sampled = PoissonSampled(gaussian, 0.05, neighbors="replaced")
    found = dv.compose((sampled, 5), tolerance=1e-2).epsilon(1e-5)
    other = dv.compose((PoissonSampled(gaussian, 0.05), 5), tolerance=1e-2).epsilon(1e-5)
    assert other.upper < found.lower <= found.upper < found.lower + 0.05
    together = dv.compose(sampled, dv.dp.FixedSizeSampled(gaussian, 5, 100), dv.dp.Shuffled(1.0, 100), tolerance=1e-1)
    assert together.epsilon(1e-3).upper < 3
    assert "replaced" in repr(sampled)
    assert PoissonSampled(sampled, 0.5, neighbors="replaced").losses()[0].highest < sampled.losses()[0].highest
    records = [{"mechanism": "gaussian", "sigma": 1.0, "rate": 0.05, "neighbors": "replaced", "count": 2}]
    from divulge.dp.accounting.records import from_records

    listed = from_records(json.loads(json.dumps(records)), lambda _: None)
    assert listed.delta(0.5).upper == dv.compose((sampled, 2)).delta(0.5).upper
    with pytest.raises(dv.DivulgeError, match="sampled in one way"):
        dv.compose(sampled, PoissonSampled(gaussian, 0.05))
    with pytest.raises(dv.DivulgeError, match="`neighbors` must be"):
        PoissonSampled(gaussian, 0.05, neighbors="added or so")
    with pytest.raises(dv.DivulgeError, match="`neighbors` must be those"):
        PoissonSampled(PoissonSampled(gaussian, 0.5), 0.05, neighbors="replaced")
