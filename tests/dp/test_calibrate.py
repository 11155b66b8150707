"""Calibrated lists keep their goals, with next to no room: closed forms, mpmath, a peer, and random lists."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from support import THOROUGH

import divulge as dv
from divulge.dp import GaussianMechanism, LaplaceMechanism, PoissonSampled, RandomizedResponse
from divulge.dp.calibrate import CLOSE, with_noise
from divulge.dp.goals import LEVELS, bound_of
from divulge.dp.loss.numbers import Bracket


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
        ("exponential", "dp=1", 2, 0.5),
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


@pytest.mark.thin
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
    grid = np.linspace(0, composed.pure_epsilon, 100)
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
    for _ in range(24 if THOROUGH else 1):
        family = str(rng.choice(["gaussian", "laplace", "randomized-response", "discrete-laplace"]))
        epsilon, delta = float(np.exp(rng.uniform(-2, 2))), float(10 ** rng.uniform(-9, -3))
        count = int(rng.integers(1, 40))
        beside = [LaplaceMechanism(30.0 / epsilon)] if rng.random() < 0.5 else []
        found = dv.calibrate(family, dv.ADP(epsilon, delta), count=count, beside=beside)
        again = dv.compose((found.mechanism, count), *beside, tolerance=1e-7).epsilon(delta)
        assert again.lower <= epsilon
        assert epsilon - 1.5 * CLOSE <= again.upper <= epsilon + 1e-12


@pytest.mark.long
@pytest.mark.parametrize("count", [10, 100])
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
        return norm.sf(t - mu)  # if what is believed is true, and fewer if it is not

    assert share * 0.97 - 1e-6 < held(mu) <= share  # a level has room of 1e-6
    assert found.level <= share
    least = math.log(ratio)
    assert dv.calibrate("laplace", f"posterior={before}:{after}").value == pytest.approx(1 / least, rel=1e-4)
    for wrong in ("posterior=0.1", "posterior=0.2:0.1", "posterior=0.1:1", "posterior=0.1:0.2:1", "posterior=a:b"):
        with pytest.raises(dv.DivulgeError):
            dv.calibrate("gaussian", wrong)


KINDS = [
    pytest.param(kind, marks=[pytest.mark.long] * (kind in ("gdp", "hits", "posterior", "zcdp")))
    for kind in sorted(LEVELS)
]
"""The kinds of goals; those whose levels take long have closed forms above."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_goal_is_met_from_the_safe_side_and_missed_by_a_little_less(kind: str) -> None:
    """Of random lists: the level lies below the goal by 1e-6 of it at most, and a noise of 1e-4 less breaks it."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    pure = kind in ("dp", "ldp", "pml")

    def level(given: tuple[object, int], beside: list[object], goal: object) -> Bracket:
        return LEVELS[kind][1](dv.compose(given, *beside, tolerance=1e-7), goal, 0.4)

    for _ in range(12 if THOROUGH else 1):
        size, share = float(np.exp(rng.uniform(-2, 1))), float(rng.uniform(0.02, 0.4))
        seldom = float(rng.uniform(1e-5, 1e-3))
        goal = {
            "adp": f"adp={size}:{seldom}", "rdp": f"rdp={1 + 9 * share}:{size}", "tv": f"tv={share}",
            "hits": f"hits={2 * share}:{share}", "posterior": f"posterior={share}:{share + 0.3}:{seldom}",
            "pml": f"pml={min(size, 0.6)}", "interval": f"interval={30 * size}:{1 - share}",
        }.get(kind, f"{kind}={size}")  # fmt: skip
        family = str(
            rng.choice(
                ["laplace", "discrete-laplace"] if pure else ["gaussian"] if kind == "gdp" else ["gaussian", "laplace"]
            )
        )
        count, beside = int(rng.integers(1, 9)), []
        if kind not in ("posterior", "interval", "gdp") and rng.random() < 0.3:
            beside = [LaplaceMechanism(40.0 / min(size, share))]
        found = dv.calibrate(family, goal, count=count, beside=beside, base_rate=0.4)
        bound = bound_of(found.goal)
        jumps = kind == "posterior" and family == "laplace"  # where the largest losses come to pass the ratio
        assert bound - (bound if jumps else CLOSE) <= found.level <= bound
        assert level((found.mechanism, count), beside, found.goal).lower <= bound
        less = with_noise(family, found.value * (1 + 1e-4 if kind == "interval" else 1 - 1e-4))
        assert level((less, count), beside, found.goal).upper > bound


@pytest.mark.parametrize(("family", "reach", "level", "count"), [
    ("gaussian", 500.0, 0.95, 1), ("laplace", 3.0, 0.999999, 4), ("discrete-laplace", 20.5, 0.9, 3),
    ("discrete-gaussian", 12.0, 0.99, 2),
])  # fmt: skip
def test_an_interval_is_filled_by_the_most_noise(family: str, reach: float, level: float, count: int) -> None:
    """Against sums of the law in 40 digits: all numbers are as close as asked with the probability, and hardly more."""
    found = dv.calibrate(family, f"interval={reach}:{level}", count=count).value
    with mp.workdps(40):
        scale = mp.mpf(found)
        if family == "gaussian":
            alone = mp.erf(mp.mpf(reach) / scale / mp.sqrt(2))
        elif family == "laplace":
            alone = 1 - mp.exp(-mp.mpf(reach) / scale)
        else:
            width = int(reach)

            def law(k: int) -> mp.mpf:
                return mp.exp(-mp.mpf(k) / scale if family == "discrete-laplace" else -mp.mpf(k * k) / scale**2 / 2)

            inside = 1 + 2 * mp.fsum(map(law, range(1, width + 1)))
            alone = inside / (inside + 2 * mp.fsum(map(law, range(width + 1, width + 600))))
        assert level <= alone**count <= level + 1.01 * CLOSE * (1 - level)
    promised = dv.compose((with_noise(family, found), count)).zcdp
    assert 0 < promised < math.inf


def test_shuffled_reports_have_the_largest_local_epsilon_that_keeps_the_goal() -> None:
    found = dv.calibrate("randomized-response", "adp=0.4:1e-5", people=100)
    assert found.sought == "epsilon"
    for factor, kept in ((1.0, True), (1.001, False)):
        local = RandomizedResponse(found.value * factor)
        assert (dv.compose(dv.dp.Shuffled(local, 100)).epsilon(1e-5).upper <= 0.4) == kept
    any_local = dv.calibrate("shuffled", "adp=0.4:1e-5", people=100)
    assert any_local.mechanism == dv.dp.Shuffled(any_local.value, 100)
    assert any_local.value == pytest.approx(found.value, rel=1e-5)  # randomized response tells most
    noise = dv.calibrate("laplace", "adp=0.4:1e-5", people=100)
    assert noise.value == pytest.approx(1 / any_local.value, rel=1e-5)


@pytest.mark.parametrize(("family", "given"), [
    ("shuffled", {}), ("shuffled", {"people": 0}), ("laplace", {"people": 10, "rate": 0.1}),
    ("gaussian", {"people": 10}), (LaplaceMechanism(1.0), {"people": 10}),
])  # fmt: skip
def test_what_is_no_shuffle_is_refused(family: object, given: dict[str, float]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.calibrate(family, "adp=1:1e-6", **given)


@pytest.mark.parametrize("goal", ["interval=0", "interval=nan", "interval=5:1", "interval=1:2:3", "interval=x"])
def test_what_is_no_interval_is_refused(goal: str) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.calibrate("laplace", goal)
    with pytest.raises(dv.DivulgeError, match="noise on a number"):
        dv.calibrate("randomized-response", "interval=5")


@pytest.mark.parametrize(("count", "rate"), [(30, None), pytest.param(1000, 0.01, marks=pytest.mark.long)])
def test_many_gaussians_take_few_accounts(count: int, rate: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with narrow brackets, two with middle ones: each costs as much as all the wide ones."""
    from divulge.dp import calibrate as module

    tried: list[float] = []

    def counted(*given: object, tolerance: float) -> object:
        tried.append(tolerance)
        return dv.compose(*given, tolerance=tolerance)

    monkeypatch.setattr(module, "compose", counted)
    found = dv.calibrate("gaussian", "adp=1:1e-5", count=count, rate=rate)
    assert 1 - CLOSE <= found.level <= 1
    mechanism = GaussianMechanism(found.value)
    again = dv.compose((PoissonSampled(mechanism, rate) if rate else mechanism, count)).epsilon(1e-5)
    assert 1 - 2 * CLOSE <= again.upper <= 1 + CLOSE
    assert again.lower <= 1
    assert tried.count(min(tried)) == 1
    assert len(tried) <= 8


def test_what_no_noise_breaks_says_so() -> None:
    with pytest.raises(dv.DivulgeError, match="be broken with some scale"):
        dv.calibrate("discrete-laplace", "hits=0.637:0.033", count=2, rate=0.13)
