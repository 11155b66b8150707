"""Calibrated lists keep their goals, with next to no room: closed forms, mpmath, a peer, and random lists."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.dp import GaussianMechanism, LaplaceMechanism, PoissonSampled, RandomizedResponse
from divulge.dp.calibrate import CLOSE, LEVELS


def gaussian_delta(sigma: float, epsilon: float) -> mp.mpf:
    """Return delta(epsilon) of Gaussian noise, from distribution functions in 40 digits."""
    mu = 1 / mp.mpf(sigma)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-3)])
def test_gaussian_noise_is_that_of_its_distribution_function(epsilon: float, delta: float) -> None:
    found = dv.calibrate("gaussian", dv.ADP(epsilon, delta))
    with mp.workdps(40):
        assert gaussian_delta(found.value, epsilon) <= delta
        assert gaussian_delta(found.value, epsilon - 1.1 * CLOSE) > delta
    from dp_accounting import get_sigma_gaussian

    assert found.value == pytest.approx(get_sigma_gaussian(epsilon, delta), rel=1e-4)


@pytest.mark.parametrize(
    ("family", "goal", "count", "value"),
    [
        ("laplace", "dp=1", 10, 10.0),
        ("laplace", "ldp=0.5", 1, 2.0),
        ("laplace", "dp=50", 1, 0.02),
        ("randomized-response", "dp=0.001", 1, 0.001),
        ("gaussian", "zcdp=1e-6", 1, math.sqrt(0.5e6)),
        ("gaussian", "zcdp=0.5", 10, math.sqrt(10)),
        ("gaussian", "rdp=2:1", 1, 1.0),
        ("gaussian", "gdp=0.5", 1, 2.0),
        ("exponential", "dp=1", 10, 0.1),
        ("randomized-response", "dp=2", 4, 0.5),
        ("discrete-laplace", "dp=1", 3, 3.0),
        ("randomized-response", "tv=0.5", 1, math.log(3)),
    ],
)
def test_closed_forms(family: str, goal: str, count: int, value: float) -> None:
    found = dv.calibrate(family, goal, count=count)
    bound = float(getattr(found.goal, LEVELS[found.goal.kind][0]))
    assert found.value == pytest.approx(value, rel=0.5 if bound < 1e-3 else 2e-3 if bound < 0.1 else 1e-5)
    assert bound - CLOSE <= found.level <= bound
    safe = found.value <= value if found.sought == "epsilon" else found.value >= value
    assert safe or found.value == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(("hits", "alarms"), [(0.1, 0.01), (0.5, 0.25), (0.95, 0.4), (0.999, 0.9), (0.02, 1e-3)])
def test_hits_are_those_of_the_best_test(hits: float, alarms: float) -> None:
    """Of Gaussian noise mu = Phi^-1(1 - a) - Phi^-1(1 - hits); of two answers the test by the likelier one."""
    from scipy.stats import norm

    mu = norm.isf(alarms) - norm.isf(hits)
    gaussian = dv.calibrate("gaussian", dv.dp.Hits(hits, alarms))
    assert norm.sf(norm.isf(alarms) - 1 / gaussian.value) <= hits * (1 + 1e-12)
    assert gaussian.value == pytest.approx(1 / mu, rel=1e-4)
    flip = dv.calibrate("randomized-response", f"hits={hits}:{alarms}")
    said = 1 / (1 + math.exp(-flip.value))  # the truth is told with this probability
    best = alarms * said / (1 - said) if alarms <= 1 - said else 1 - (1 - alarms) * (1 - said) / said
    assert hits - 2e-6 <= best <= hits * (1 + 1e-12)


def test_hits_of_a_list_are_bounded_from_above_by_its_deltas() -> None:
    found = dv.calibrate("laplace", "hits=0.3:0.05", count=3)
    assert found.level <= 0.3
    composed = dv.compose((LaplaceMechanism(found.value), 3))
    grid = np.linspace(0, composed.pure_epsilon, 400)
    assert min(composed.delta(e).lower + 0.05 * math.exp(e) for e in grid.tolist()) >= 0.3 - 2e-5


@pytest.mark.parametrize(("goal", "base_rate"), [(0.3, 0.01), (0.5, 0.5), (0.01, 0.9)])
def test_a_pml_of_membership_is_that_of_both_outcomes(goal: float, base_rate: float) -> None:
    """Of pure privacy e: -log(p + (1 - p) e^-e) of being in, and of not being in with 1 - p."""
    epsilon = 1 / dv.calibrate("laplace", dv.PML(goal), base_rate=base_rate).value
    levels = [-math.log(p + (1 - p) * math.exp(-epsilon)) for p in (base_rate, 1 - base_rate)]
    assert goal - 2e-6 <= max(levels) <= goal * (1 + 1e-12)


def test_sensitivity_multiplies_noise() -> None:
    assert dv.calibrate("laplace", "dp=1", sensitivity=7.0).value == pytest.approx(7.0, rel=1e-5)


def test_the_most_releases() -> None:
    assert dv.calibrate(LaplaceMechanism(10.0), "dp=1", count=None).value == 10
    assert dv.calibrate(LaplaceMechanism(10.0), "dp=1", count=None, beside=[LaplaceMechanism(2.0)]).value == 5
    found = dv.calibrate(GaussianMechanism(50.0), "adp=1:1e-6", count=None)
    within = [dv.compose((GaussianMechanism(50.0), n)).epsilon(1e-6).upper <= 1 for n in (found.count, found.count + 1)]
    assert within == [True, False]


def test_the_largest_rate() -> None:
    found = dv.calibrate(RandomizedResponse(2.0), "dp=0.5")
    assert found.sought == "rate"
    assert found.value == pytest.approx(math.expm1(0.5) / math.expm1(2.0), rel=1e-2)
    assert dv.compose(PoissonSampled(RandomizedResponse(2.0), found.value)).pure_epsilon <= 0.5
    assert dv.compose(PoissonSampled(RandomizedResponse(2.0), found.value * 1.0001)).pure_epsilon > 0.5
    assert dv.calibrate(RandomizedResponse(0.3), "dp=0.5").value == 1


def test_random_lists_return_to_their_goal() -> None:
    rng = np.random.default_rng(0)
    for _ in range(few(24, least=4)):
        family = str(rng.choice(["gaussian", "laplace", "randomized-response", "discrete-laplace"]))
        epsilon, delta = float(np.exp(rng.uniform(-2, 2))), float(10 ** rng.uniform(-9, -3))
        count = int(rng.integers(1, 40))
        beside = [LaplaceMechanism(30.0 / epsilon)] if rng.random() < 0.5 else []
        found = dv.calibrate(family, dv.ADP(epsilon, delta), count=count, beside=beside)
        again = dv.compose((found.mechanism, count), *beside, tolerance=1e-7).epsilon(delta)
        assert again.lower <= epsilon
        assert epsilon - 1.5 * CLOSE <= again.upper <= epsilon + 1e-12


@pytest.mark.parametrize("count", [10, 100, 1000][: few(3, least=1)])
def test_sampled_gaussians(count: int) -> None:
    found = dv.calibrate("gaussian", "adp=1:1e-5", count=count, rate=0.01)
    again = dv.compose((PoissonSampled(GaussianMechanism(found.value), 0.01), count)).epsilon(1e-5)
    assert 1 - 2 * CLOSE <= again.upper <= 1 + CLOSE
    assert again.lower <= 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dv.calibrate("gaussian", "dp=1"),
        lambda: dv.calibrate("laplace", "dp=1", count=None),
        lambda: dv.calibrate("laplace", "dp=1", beside=[LaplaceMechanism(1.0)]),
        lambda: dv.calibrate(LaplaceMechanism(0.5), "dp=1", count=None),
        lambda: dv.calibrate(LaplaceMechanism(5.0), "dp=1", rate=0.5),
        lambda: dv.calibrate("laplace", "dp=1", count=0),
        lambda: dv.calibrate("laplace", "dp=1", sensitivity=0.0),
    ],
)
def test_what_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(dv.DivulgeError):
        wrong()


@pytest.mark.parametrize(("before", "after", "share"), [(0.01, 0.05, 1e-3), (0.5, 0.9, 0.01), (0.1, 0.3, 1e-5)])
def test_a_belief_rises_so_far_in_so_few_outcomes(before: float, after: float, share: float) -> None:
    """Of Gaussian noise the outcomes beyond t, with P(> t | in) = R P(> t | out): of all events those with the most."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    ratio = after / (1 - after) * (1 - before) / before
    found = dv.calibrate("gaussian", f"posterior={before}:{after}:{share}", count=2)
    mu = math.sqrt(2) / found.value

    def held(mu: float) -> float:
        t = brentq(lambda t: norm.logsf(t - mu) - norm.logsf(t) - math.log(ratio), -5, 200)
        return before / after * norm.sf(t - mu)

    assert share * 0.97 - 1e-6 < held(mu) <= share  # a level has room of 1e-6
    assert found.level <= share
    least = math.log(ratio)
    assert dv.calibrate("laplace", f"posterior={before}:{after}").value == pytest.approx(1 / least, rel=1e-4)
    for wrong in ("posterior=0.1", "posterior=0.2:0.1", "posterior=0.1:1", "posterior=0.1:0.2:1", "posterior=a:b"):
        with pytest.raises(dv.DivulgeError):
            dv.calibrate("gaussian", wrong)
