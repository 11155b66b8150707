"""Composition of privacy losses against exact rationals, closed forms, mpmath and dp-accounting."""

import itertools
import math
import tracemalloc
import weakref
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from support import THOROUGH, few, random_channel

import divulge as dv
from divulge.dp.accounting.promises import _log_moment
from divulge.dp.accounting.screening import Screen
from divulge.dp.accounting.summing import bounded_range, grids, normal, sums
from divulge.dp.accounting.summing.engines import engine
from divulge.dp.accounting.summing.grids import GridEngine
from divulge.dp.accounting.summing.sums import SplitSum, Window, tilted_sum
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss, LaplaceLoss
from divulge.dp.loss.numbers import Bracket
from divulge.dp.loss.pair import PrivacyLoss

EVENTS: list[Any] = [
    dv.dp.GaussianMechanism(5.0),
    dv.dp.LaplaceMechanism(4.0),
    dv.dp.DiscreteGaussianMechanism(4.0),
    dv.dp.DiscreteLaplaceMechanism(3.0, 2),
    dv.dp.RandomizedResponse(0.3),
    dv.dp.RandomizedResponse(0.3, categories=5),
    dv.dp.ExponentialMechanism(0.4),
    dv.dp.AdpRelease(0.2, 1e-8),
    dv.dp.ZcdpRelease(0.02),
    dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.05),
    dv.dp.PoissonSampled(dv.dp.RandomizedResponse(1.0), 0.1),
    dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1.0), 5, 100),
    [["3/5", "2/5"], ["1/5", "4/5"], ["1/2", "1/2"]],
]


def exact_delta(rows: list[tuple[list[Fraction], list[Fraction]]], epsilon: float) -> float:
    """Return sup_S P(S) - e^epsilon Q(S) of product distributions by enumerating all outcomes, to 40 digits."""
    with mpmath.workdps(40):
        total = mpmath.mpf(0)
        for outcome in itertools.product(*(range(len(p)) for p, _ in rows)):
            p = math.prod((row[0][y] for row, y in zip(rows, outcome, strict=True)), start=Fraction(1))
            q = math.prod((row[1][y] for row, y in zip(rows, outcome, strict=True)), start=Fraction(1))
            gain = mpmath.mpf(p.numerator) / p.denominator - mpmath.exp(epsilon) * q.numerator / q.denominator
            total += max(gain, 0)
        return float(total)


def gaussian_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper = mpmath.ncdf(mu / 2 - epsilon / mu)
        return upper - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def binomial_delta(epsilon: float, draws: int, at: float) -> mpmath.mpf:
    """Return delta of randomized response composed, by the binomial sum in 60 digits."""
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        p = 1 / (1 + mpmath.exp(-e))
        total = mpmath.mpf(0)
        for k in range(draws + 1):
            loss = e * (2 * k - draws)
            if loss > at:
                total += mpmath.binomial(draws, k) * p**k * (1 - p) ** (draws - k) * (1 - mpmath.exp(at - loss))
        return total


class OnGrid(dv.results.Composition):
    """A composition whose only way is the grid."""

    def _engine(self, index: int, tolerance: float) -> GridEngine:
        grid = GridEngine(self.directions[index].parts, tolerance)
        return self._engines.setdefault(index, {}).setdefault(tolerance, grid)


def on_grid(*parts: tuple[Any, int], tolerance: float = 1e-6) -> OnGrid:
    composed = dv.compose(*parts, tolerance=tolerance)
    as_given = tuple(replace(turn, parts=parts) for turn in composed.directions) if len(parts) == 1 else None
    if as_given is None or not isinstance(parts[0][0], PrivacyLoss):
        as_given = composed.directions
    return OnGrid(composed.releases, as_given, tolerance)


def holds(bracket: Bracket, truth: Any, width: float = math.inf) -> bool:
    """Say whether the bracket encloses the truth (a float or mpf) and is no wider than `width`."""
    return bracket.lower <= truth <= bracket.upper and bracket.upper - bracket.lower <= width


def test_thousand_gaussians() -> None:
    found = dv.compose((dv.dp.GaussianMechanism(10.0), 1000)).epsilon(1e-6)
    assert found.lower <= found.upper <= found.lower + 1e-11
    assert found.upper == pytest.approx(19.4236565, abs=5e-8)
    assert gaussian_delta(math.sqrt(10), found.upper) <= 1e-6 < gaussian_delta(math.sqrt(10), found.lower)


def test_thousand_gaussians_on_the_grid() -> None:
    width = 1e-6 if THOROUGH else 1e-4
    assert holds(on_grid((GaussianLoss(0.1), 1000), tolerance=width).epsilon(1e-6), 19.4236564740308, width)


def test_thousand_randomized_responses() -> None:
    found = dv.compose((dv.dp.RandomizedResponse(0.1), 1000)).epsilon(1e-6)
    assert holds(found, found.lower, 1e-9)
    assert found.upper == pytest.approx(19.3446714, abs=5e-8)
    assert binomial_delta(0.1, 1000, found.upper) <= 1e-6 < binomial_delta(0.1, 1000, found.lower)


@pytest.mark.parametrize("epsilon", [0.5, 19.3, 60.0, 90.0, 99.9])
def test_grid_meets_binomial_sum_down_to_the_smallest_deltas(epsilon: float) -> None:
    truth = binomial_delta(0.1, 1000, epsilon)
    found = on_grid((dv.dp.RandomizedResponse(0.1), 1000)).delta(epsilon)
    assert holds(found, truth, float(truth) * 1e-6)


@pytest.mark.parametrize("log10", [-1, -12, -13, -50, -300])
def test_tiny_deltas_have_no_negative_and_no_wrong_side(log10: int) -> None:
    composed = on_grid((GaussianLoss(0.5), 10))
    exact = dv.compose((dv.dp.GaussianMechanism(2.0), 10))
    epsilon = exact.epsilon(10.0**log10).upper
    truth, found = gaussian_delta(math.sqrt(2.5), epsilon), composed.delta(epsilon)
    assert 0 <= found.lower <= truth <= found.upper <= float(truth) * (1 + 1e-3)
    assert holds(exact.delta(epsilon), truth, float(truth) * 1e-10)
    assert holds(composed.epsilon(10.0**log10), epsilon, 3e-6)


@pytest.mark.thin
@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_counting_an_event_is_composing_it_again_and_again(event: Any) -> None:
    n = 3
    counted, repeated = dv.compose((event, n), tolerance=1e-4), dv.compose(*[event] * n, tolerance=1e-4)
    chained = dv.compose(event, tolerance=1e-4).then(event).then(event)
    for composed in (repeated, chained, dv.compose(event, tolerance=1e-4).times(n)):
        assert composed.epsilon(1e-5) == counted.epsilon(1e-5)
        assert composed.delta(0.7) == counted.delta(0.7)
        assert composed.renyi(3.0) == pytest.approx(counted.renyi(3.0), rel=1e-12)
    assert counted.epsilon(1e-5).upper > dv.compose(event, tolerance=1e-4).epsilon(1e-5).lower
    assert counted.renyi(2.0) == pytest.approx(n * dv.compose(event).renyi(2.0), rel=1e-9)


def test_both_orders_are_examined() -> None:
    lopsided = AtomicLoss.of_rows(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.25, 0.25]), ("a", "b"))
    forward, backward = dv.compose(lopsided), dv.compose(lopsided.reverse())
    assert forward.epsilon(0.1).upper == backward.epsilon(0.1).upper == math.inf
    assert forward.worst_pair(0.1) == ("b", "a")
    assert forward.infinite == backward.infinite == 0.25
    sampled = dv.compose((dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.2), 4), tolerance=1e-3)
    assert len(sampled.directions) == 2
    assert sampled.delta(2.0).upper == pytest.approx(max(sampled._delta(i, 2.0, 1e-3).upper for i in (0, 1)))


def test_symmetric_mechanisms_go_along_with_either_order() -> None:
    sampled = dv.dp.PoissonSampled(dv.dp.RandomizedResponse(1.0), 0.3)
    mixed = dv.compose(dv.dp.RandomizedResponse(0.5), (sampled, 2))
    assert len(mixed.directions) == 2
    alone = [dv.compose(dv.dp.RandomizedResponse(0.5), (loss, 2)).delta(0.4).upper for loss in sampled.losses()]
    assert mixed.delta(0.4).upper == pytest.approx(max(alone), rel=1e-12)


def test_pure_epsilon_survives() -> None:
    composed = dv.compose((dv.dp.LaplaceMechanism(1.0), 10))
    assert composed.epsilon(0.0) == Bracket(10.0, 10.0)
    assert composed.delta(10.0) == Bracket(0.0, 0.0)
    assert composed.pure_epsilon == 10.0
    assert composed.epsilon(1e-200).upper <= 10.0
    mixed = dv.compose((dv.dp.LaplaceMechanism(2.0), 4), (dv.dp.RandomizedResponse(0.25), 8))
    assert mixed.epsilon(0.0) == Bracket(4.0, 4.0)
    assert dv.compose(dv.dp.GaussianMechanism(1.0)).epsilon(0.0) == Bracket(math.inf, math.inf)


@pytest.mark.parametrize(("draws", "epsilon"), [(1, 0.5), (2, 0.99), (2, 1.0), (3, 0.1), (7, 0.3)])
def test_a_loss_on_the_grid_does_not_slip(draws: int, epsilon: float) -> None:
    """Atoms at multiples of a step that is no binary fraction stay: delta is exact at every lattice point."""
    composed = on_grid((dv.dp.RandomizedResponse(epsilon), draws))
    for k in range(-draws, draws + 1, 2):
        if k * epsilon >= 0:
            truth = binomial_delta(epsilon, draws, k * epsilon)
            assert holds(composed.delta(k * epsilon), truth, 1e-11)


def test_ends_of_laplace_stay_on_the_grid() -> None:
    for draws in (1, 2, 3, 5):
        composed = on_grid((LaplaceLoss(1.0), draws))
        top = 2.0**-draws
        assert holds(composed.delta(draws - 1e-6), composed.delta(draws - 1e-6).lower, 2e-6 * top)
        assert composed.delta(draws - 1e-6).lower >= 0.9e-6 * top


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=few(12), deadline=None)
def test_channels_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = random_channel(rng, 2, 3, exact=True, zeros=0.2, span=0.6)
    other = random_channel(rng, 2, 2, exact=True, span=0.6)
    epsilon = float(rng.uniform(0, 1.5))
    rows = [tuple(m.matrix.tolist()) for m in (channel, channel, other)]
    truth = max(exact_delta([row[::turn] for row in rows], epsilon) for turn in (1, -1))
    exact = dv.compose((channel, 2), other)
    assert exact.delta(epsilon).lower <= truth * (1 + 1e-12)
    assert exact.delta(epsilon).upper >= truth * (1 - 1e-12)
    assert exact.delta(epsilon).upper - exact.delta(epsilon).lower <= 1e-11
    coarse = on_grid((channel, 2), (other, 1), tolerance=1e-3).delta(epsilon)
    assert coarse.lower - 1e-12 <= truth <= coarse.upper + 1e-12
    assert coarse.upper - coarse.lower <= 1e-2


@pytest.mark.long
def test_heterogeneous_meets_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as peer

    grid = {"value_discretization_interval": 1e-3}
    above = peer.from_gaussian_mechanism(5.0, **grid).self_compose(20)
    above = above.compose(peer.from_laplace_mechanism(8.0, **grid).self_compose(30))
    above = above.compose(peer.from_randomized_response(2 / (1 + math.exp(0.2)), 2, **grid).self_compose(10))
    ours = dv.compose(
        (dv.dp.GaussianMechanism(5.0), 20), (dv.dp.LaplaceMechanism(8.0), 30), (dv.dp.RandomizedResponse(0.2), 10)
    )
    for delta in (1e-3, 1e-6, 1e-9):
        found = ours.epsilon(delta)
        assert holds(found, found.upper, 1e-6)
        assert found.lower <= above.get_epsilon_for_delta(delta) <= found.upper + 1e-2


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
@pytest.mark.parametrize(
    "base", [dv.dp.GaussianMechanism(0.8), dv.dp.RandomizedResponse(1.2), dv.dp.LaplaceMechanism(0.7)], ids=repr
)
def test_poisson_sampling_meets_its_definition(base: Any, rate: float) -> None:
    """delta by the base pair: r delta(e') when a record goes, (1 - (1 - r) e^eps) delta(e'') when one comes."""
    removed, added = dv.dp.PoissonSampled(base, rate).losses()
    (loss,) = base.losses()
    for epsilon in (-0.2, 0.0, 0.01, 0.4, 1.1):
        inner = (math.exp(epsilon) - 1 + rate) / rate
        truth = rate * loss.delta(math.log(inner)) if inner > 0 else 1 - math.exp(epsilon)
        assert removed.delta(epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-15)
        share = 1 - (1 - rate) * math.exp(epsilon)
        truth = share * loss.reverse().delta(math.log(rate * math.exp(epsilon) / share)) if share > 1e-12 else 0.0
        assert added.delta(epsilon) == pytest.approx(truth, rel=1e-9, abs=1e-15)
    for side in (removed, added):
        assert side.reverse().delta(-0.3) == pytest.approx(
            1 - math.exp(-0.3) + math.exp(-0.3) * side.delta(0.3), rel=1e-9
        )
        assert side.expect(lambda t: np.exp(-t)) == pytest.approx(1.0 - side.reverse().infinite, rel=1e-9)


@pytest.mark.parametrize("sampling", [pytest.param(0.02, marks=pytest.mark.long), 0.2])
def test_poisson_sampled_gaussian_meets_dp_accounting(sampling: float) -> None:
    from dp_accounting.pld import privacy_loss_distribution as peer

    above = peer.from_gaussian_mechanism(1.0, sampling_prob=sampling, value_discretization_interval=1e-3).self_compose(
        50
    )
    found = dv.compose((dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), sampling), 50), tolerance=1e-5).epsilon(1e-6)
    assert found.upper - found.lower <= 2e-5
    assert found.lower <= above.get_epsilon_for_delta(1e-6) <= found.upper + 5e-3


def test_fixed_size_sampling_of_a_channel_by_enumeration() -> None:
    """One record of many differs; the others are all alike, which is the worst case: both orders, every epsilon."""
    base = dv.dp.RandomizedResponse(1.0)
    (loss,) = dv.dp.FixedSizeSampled(base, 3, 10).losses()
    p, q = np.array([0.7310585786300049, 0.2689414213699951]), np.array([0.2689414213699951, 0.7310585786300049])
    mixed = 0.7 * q + 0.3 * p
    for epsilon in (0.0, 0.05, 0.2, 0.4):
        truth = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((mixed, q), (q, mixed)))
        assert loss.delta(epsilon) >= truth - 1e-15
        assert loss.delta(epsilon) == pytest.approx(np.maximum(mixed - math.exp(epsilon) * q, 0).sum(), abs=1e-15)
    assert loss.delta(-0.2) == pytest.approx(1 - math.exp(-0.2) + math.exp(-0.2) * loss.reverse().delta(0.2), abs=1e-14)


def test_fixed_size_sampling_keeps_the_mass_of_what_names_a_record() -> None:
    """A mechanism with outcomes that only one of the data sets shows: infinite losses, sampled."""

    class Naming:
        def losses(self) -> tuple[dv.dp.PrivacyLoss, ...]:
            return (dv.dp.PrivacyLoss.between([0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.0, 0.25], ("D", "D'")),)

    (loss,) = dv.dp.FixedSizeSampled(Naming(), 3, 10).losses()
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.25, 0.5, 0.0, 0.25])
    mixed = 0.3 * p + 0.7 * q
    assert loss.infinite == pytest.approx(0.3 * 0.25, rel=1e-15)
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        assert loss.delta(epsilon) == pytest.approx(np.maximum(mixed - math.exp(epsilon) * q, 0).sum(), abs=1e-15)


def test_sampling_needs_a_rate() -> None:
    for rate in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(dv.DivulgeError):
            dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), rate)
    for sample in (0, 11):
        with pytest.raises(dv.DivulgeError):
            dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1.0), sample, 10)


def test_sampling_amplifies_and_sampling_all_changes_nothing() -> None:
    for base in (dv.dp.GaussianMechanism(1.0), dv.dp.RandomizedResponse(1.0)):
        whole = dv.compose(base).delta(0.5)
        assert dv.compose(dv.dp.PoissonSampled(base, 1.0)).delta(0.5).upper == pytest.approx(whole.upper, rel=1e-5)
        assert dv.compose(dv.dp.PoissonSampled(base, 0.5)).delta(0.5).upper < whole.lower


def test_samples_of_sampled_losses() -> None:
    rng = np.random.default_rng(3)
    for event in (
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.3),
        dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1.0), 3, 10),
    ):
        for loss in event.losses():
            drawn = loss.sample(40_000, rng)
            for t in (-0.2, 0.0, 0.2):
                assert abs((drawn > t).mean() - loss.tail(t)) < 0.011


def test_renyi_and_zcdp_add() -> None:
    gaussian, laplace = dv.dp.GaussianMechanism(2.0), dv.dp.LaplaceMechanism(1.0)
    both = dv.compose((gaussian, 3), (laplace, 2))
    for alpha in (1.0, 1.5, 4.0, 30.0):
        single = (3 * alpha / 8, 2 * laplace.losses()[0].renyi(alpha))
        assert both.renyi(alpha) == pytest.approx(sum(single), rel=1e-12)
    assert dv.compose((gaussian, 8)).zcdp == pytest.approx(1.0, rel=1e-12)
    response = dv.compose((dv.dp.RandomizedResponse(0.5), 4))
    orders = np.geomspace(1.0, 1e3, 1000)
    best = max(response.renyi(float(a)) / a for a in orders)
    assert best <= response.zcdp <= best * (1 + 1e-5)
    best = max(both.renyi(float(a)) / a for a in orders)
    assert best <= both.zcdp <= best * (1 + 1e-5)
    assert dv.compose(gaussian, dv.dp.ZcdpRelease(0.5)).zcdp == pytest.approx(0.625, rel=1e-12)


def test_a_zcdp_promise_is_bounded_from_above_alone() -> None:
    found = dv.compose(dv.dp.ZcdpRelease(0.1)).epsilon(1e-5)
    gaussian = dv.compose(dv.dp.GaussianMechanism(1 / math.sqrt(0.2))).epsilon(1e-5)
    assert found.lower == 0.0  # a release that says nothing keeps the promise
    assert gaussian.upper < found.upper < 0.1 + 2 * math.sqrt(0.1 * math.log(1e5))
    beside = dv.compose(dv.dp.ZcdpRelease(0.1), dv.dp.GaussianMechanism(2.0)).epsilon(1e-5)
    assert beside.lower == dv.compose(dv.dp.GaussianMechanism(2.0)).epsilon(1e-5).lower


@pytest.mark.parametrize("rho", [19.0, 60.0])
def test_a_large_zcdp_promise_has_an_epsilon(rho: float) -> None:
    """Total variation is 1 to the last digit there, and no double below 1 is where the bound on it is attained."""
    found = dv.compose(dv.dp.ZcdpRelease(rho)).epsilon(1e-6).upper
    gaussian = dv.compose(dv.dp.GaussianMechanism(1 / math.sqrt(2 * rho))).epsilon(1e-6).upper
    assert gaussian < found < rho + 2 * math.sqrt(rho * math.log(1e6))


def test_adp_promises_compose_optimally() -> None:
    """Kairouz, Oh and Viswanath: delta(e) = 1 - (1 - d)^k + (1 - d)^k times that of randomized response."""
    epsilon, delta, k = 0.2, 1e-7, 20
    found = dv.compose((dv.dp.AdpRelease(epsilon, delta), k)).delta(1.0)
    kept = (1 - mpmath.mpf(delta)) ** k
    truth = 1 - kept + kept * binomial_delta(epsilon, k, 1.0)
    assert found.lower == 0.0
    assert truth <= found.upper <= truth + 1e-11
    assert dv.compose((dv.dp.AdpRelease(epsilon, delta), k)).epsilon(1e-8) == Bracket(0.0, math.inf)


@pytest.mark.parametrize("delta", [1e-17, 1e-15, 1e-9, 1e-6])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_promises_at_exactly_their_sum_of_deltas_have_their_sum_of_epsilons(delta: float, count: int) -> None:
    """The mass of infinite losses is 1 - (1 - d)^k, below k d by k (k - 1) d^2 / 2 alone: decided in balls."""
    assert dv.compose((dv.dp.AdpRelease(1.0, delta), count)).epsilon(count * delta).upper <= count


def test_groups() -> None:
    assert dv.compose((dv.dp.LaplaceMechanism(2.0), 3)).group(4).pure_epsilon == 6.0
    assert dv.compose(dv.dp.GaussianMechanism(4.0)).group(4).epsilon(1e-5) == dv.compose(
        dv.dp.GaussianMechanism(1.0)
    ).epsilon(1e-5)
    assert dv.compose(dv.dp.RandomizedResponse(0.5)).group(2).pure_epsilon == 1.0
    assert dv.compose(dv.dp.ZcdpRelease(0.1)).group(3).zcdp == pytest.approx(0.9)
    grown = dv.compose(dv.dp.AdpRelease(1.0, 1e-6)).group(2)
    assert grown.infinite == pytest.approx(1e-6 * (1 + math.e), rel=1e-12)
    with pytest.raises(dv.DivulgeError):
        dv.compose(dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.1)).group(2)
    with pytest.raises(dv.DivulgeError):
        dv.compose(dv.dp.LaplaceMechanism(1.0)).group(0)


@pytest.mark.parametrize("count", [0, -1, 1.5, math.nan, True, "2"])
def test_refuses_counts(count: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.compose((dv.dp.LaplaceMechanism(1.0), count))


def test_refuses_what_is_no_number_or_no_distribution() -> None:
    composed = dv.compose(dv.dp.LaplaceMechanism(1.0))
    for bad in (math.nan, -0.1, 1.1):
        with pytest.raises(dv.DivulgeError):
            composed.epsilon(bad)
    with pytest.raises(dv.DivulgeError):
        composed.delta(math.nan)
    with pytest.raises(dv.DivulgeError):
        dv.compose()
    with pytest.raises(dv.DivulgeError):
        dv.compose(([[0.5, 0.6], [0.5, 0.5]], 2))
    with pytest.raises(dv.DivulgeError):
        dv.compose([[math.nan, 0.6], [0.5, 0.5]])
    with pytest.raises(dv.DivulgeError):
        dv.compose([[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.5], [0.4, 0.6], [0.1, 0.9]])
    with pytest.raises(dv.DivulgeError):
        dv.compose(dv.dp.LaplaceMechanism(1.0), tolerance=math.nan)


def test_bits() -> None:
    composed = dv.compose((dv.dp.LaplaceMechanism(1.0), 4))
    assert composed.epsilon(0.01, unit="bits").upper == pytest.approx(composed.epsilon(0.01).upper / math.log(2))
    assert composed.delta(2.0 / math.log(2), unit="bits").upper == pytest.approx(composed.delta(2.0).upper, rel=1e-9)


@given(st.floats(0.05, 3.0), st.floats(-14, -0.5), st.integers(1, 40))
@settings(max_examples=few(10), deadline=None)
def test_twins(mu: float, log_delta: float, count: int) -> None:
    composed = dv.compose((dv.dp.LaplaceMechanism(1 / mu), count), dv.dp.GaussianMechanism(2.0), tolerance=1e-4)
    delta = 10.0**log_delta
    found = composed.epsilon(delta)
    assert composed.delta(found.upper).lower <= delta * (1 + 1e-9)
    assert found.lower == 0.0 or composed.delta(found.lower).upper >= delta * (1 - 1e-9)


def test_more_releases_and_smaller_deltas_cost_more() -> None:
    base = dv.compose((dv.dp.LaplaceMechanism(3.0), 5), tolerance=1e-5)
    assert base.epsilon(1e-6).upper < base.then(dv.dp.GaussianMechanism(9.0)).epsilon(1e-6).lower
    deltas = [base.delta(e).upper for e in np.linspace(0, 1.6, 9)]
    assert deltas == sorted(deltas, reverse=True)


def test_equal_losses_are_one_part() -> None:
    parts = dv.compose(
        *[dv.dp.RandomizedResponse(0.1)] * 3, (dv.dp.GaussianMechanism(3.0), 2), dv.dp.GaussianMechanism(4.0)
    )
    assert len(parts.directions[0].parts) == 2
    assert isinstance(engine(parts.directions[0].parts[:1], 1e-6).near_epsilon(0.1), tuple)


def test_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = dv.compose((dv.dp.LaplaceMechanism(1.0), 3)).plot()
    assert ax.get_xlabel() == "epsilon [nats]"
    matplotlib.pyplot.close("all")


def test_exchange_with_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as peer

    mechanism = dv.dp.LaplaceMechanism(2.0)
    made = dv.dp.to_dp_accounting(mechanism, step=1e-3)
    theirs = peer.from_laplace_mechanism(2.0, value_discretization_interval=1e-3)
    (loss,) = mechanism.losses()
    removed, added = dv.dp.from_dp_accounting(theirs)
    for epsilon in (0.0, 0.1, 0.3, 0.45):
        truth = loss.delta(epsilon)
        assert truth * (1 - 1e-12) <= made.get_delta_for_epsilon(epsilon) <= truth + 1e-6
        for read in (removed, added):
            assert read.delta(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-9)
    composed = dv.compose((removed, 10), tolerance=1e-4)
    truth = theirs.self_compose(10).get_epsilon_for_delta(1e-4)
    assert composed.epsilon(1e-4).upper == pytest.approx(truth, abs=1e-4)
    back = dv.dp.from_dp_accounting(made.self_compose(3))[0]
    assert back.epsilon(1e-5) == pytest.approx(dv.compose((mechanism, 3)).epsilon(1e-5).upper, abs=1e-3)


@pytest.mark.parametrize(("noise", "steps"), [(0.8, 1000), (2.0, 3000), (1.0, 300)])
def test_a_long_composition_of_dp_accounting_comes_in_with_its_epsilons(noise: float, steps: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution as peer

    step = peer.from_gaussian_mechanism(noise, sampling_prob=0.01, value_discretization_interval=1e-3)
    training = step.self_compose(steps)
    losses = dv.dp.from_dp_accounting(training)
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        theirs = training.get_delta_for_epsilon(epsilon)
        assert theirs * (1 - 1e-9) - 1e-15 <= max(loss.delta(epsilon) for loss in losses) <= theirs * (1 + 1e-4) + 1e-9


def test_exchange_keeps_both_orders_and_refuses_no_distribution() -> None:
    sampled = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.1)
    made = dv.dp.to_dp_accounting(sampled, step=1e-3)
    for epsilon in (0.01, 0.3, 1.0):
        worst = max(loss.delta(epsilon) for loss in sampled.losses())
        assert worst * (1 - 1e-12) <= made.get_delta_for_epsilon(epsilon) <= worst + 1e-6
    broken = dv.dp.to_dp_accounting(dv.dp.LaplaceMechanism(1.0), step=0.1)
    broken._pmf_remove._probs[0] = math.nan
    for bad in (broken, 1, None):
        with pytest.raises(dv.DivulgeError):
            dv.dp.from_dp_accounting(bad)
    for step in (0.0, -1.0, math.nan):
        with pytest.raises(dv.DivulgeError):
            dv.dp.to_dp_accounting(dv.dp.LaplaceMechanism(1.0), step=step)


def _gaussian_masses(mu: float, edges: np.ndarray) -> tuple[Any, Any]:
    def between(a: Any, b: Any) -> Any:
        return mpmath.ncdf(-a) - mpmath.ncdf(-b) if a > 0 else mpmath.ncdf(b) - mpmath.ncdf(a)

    z = [mpmath.mpf(float(t)) / mu for t in edges]
    return tuple(
        [between(a + s * mpmath.mpf(mu) / 2, b + s * mpmath.mpf(mu) / 2) for a, b in itertools.pairwise(z)]
        for s in (-1, 1)
    )


def _laplace_masses(top: float, edges: np.ndarray) -> tuple[Any, Any]:
    def tail(t: Any) -> Any:
        return 1 if t < -top else 1 - mpmath.exp((t - top) / 2) / 2 if t < top else 0

    def tail_under_q(t: Any) -> Any:
        return 1 if t < -top else mpmath.exp(-(top + t) / 2) / 2 if t < top else 0

    t = [mpmath.mpf(float(v)) for v in edges]
    return tuple([f(a) - f(b) for a, b in itertools.pairwise(t)] for f in (tail, tail_under_q))


def _exponential_masses(top: float, edges: np.ndarray) -> tuple[Any, Any]:
    t = [min(max(mpmath.mpf(float(v)), -top), top) for v in edges]
    scale = 1 - mpmath.exp(-top)
    p = [(mpmath.exp((b - top) / 2) - mpmath.exp((a - top) / 2)) / scale for a, b in itertools.pairwise(t)]
    q = [(mpmath.exp(-(a + top) / 2) - mpmath.exp(-(b + top) / 2)) / scale for a, b in itertools.pairwise(t)]
    return p, q


@pytest.mark.thin
@pytest.mark.parametrize(
    ("loss", "masses", "reach"),
    [
        *((GaussianLoss(mu), lambda e, mu=mu: _gaussian_masses(mu, e), 37 * mu) for mu in (0.01, 0.3, 1.0, 4.0)),
        *((LaplaceLoss(e), lambda t, e=e: _laplace_masses(e, t), 1.1 * e) for e in (0.01, 1.0, 9.0)),
        *((ExponentialLoss(e), lambda t, e=e: _exponential_masses(e, t), 1.1 * e) for e in (0.01, 1.0, 9.0)),
    ],
)
@pytest.mark.parametrize("by", [grid.by_tails, grid.cells])
def test_cells_hold_their_masses(loss: Any, masses: Any, reach: float, by: Any) -> None:
    edges = np.linspace(-reach, reach, 175)  # no edge on an atom
    found = by(loss, edges)
    with mpmath.workdps(60):
        for mass, error, exact in zip(
            (found.p, found.q), (found.p_error, found.q_error), masses(grid.nudged(edges)), strict=True
        ):
            assert all(abs(m - x) <= e for m, e, x in zip(mass.tolist(), error.tolist(), exact, strict=True))


@pytest.mark.parametrize(
    "mechanism",
    [dv.dp.GaussianMechanism(1.0), pytest.param(dv.dp.LaplaceMechanism(1e6), marks=pytest.mark.long)],
    ids=repr,
)
def test_astronomic_counts_keep_their_sides(mechanism: Any) -> None:
    """Beyond what is searched the lower bound stops growing; it does not jump over the truth."""
    found = dv.compose((mechanism, 10**15)).epsilon(1e-6)
    (loss,) = mechanism.losses()
    about = 10**15 * loss.mean()
    assert found.lower <= about * 1.3
    assert found.upper >= about
    with pytest.raises(dv.DivulgeError, match="count"):
        dv.compose((mechanism, 10**16))


@pytest.mark.parametrize("bad", [math.inf, math.nan, 1e15, 0, 1.5])
def test_discrete_mechanisms_refuse_sensitivities(bad: float) -> None:
    for kind in (dv.dp.DiscreteLaplaceMechanism, dv.dp.DiscreteGaussianMechanism):
        with pytest.raises(dv.DivulgeError, match="sensitivity"):
            kind(2.0, bad)
    with pytest.raises(dv.DivulgeError, match="categories"):
        dv.dp.RandomizedResponse(1.0, bad if bad != 1e15 else 1)


def test_a_delta_that_is_the_mass_of_infinite_losses_is_decided() -> None:
    mixed = dv.compose(dv.dp.LaplaceMechanism(1.0), dv.dp.AdpRelease(0.5, 1e-9))
    assert mixed.epsilon(1e-9).upper == 1.5
    assert mixed.epsilon(0.99e-9).upper == math.inf
    assert mixed.delta(1.5).upper == 1e-9
    naming = AtomicLoss.of_rows(np.array([0.5, 0.5]), np.array([1.0, 0.0]), ("D", "D'"))
    assert dv.compose(dv.dp.LaplaceMechanism(1.0), naming).epsilon(0.49) == Bracket(math.inf, math.inf)


@pytest.mark.parametrize("base", [dv.dp.GaussianMechanism(1.0), dv.dp.RandomizedResponse(1.0)], ids=repr)
def test_fixed_size_sampling_is_bracketed_by_a_pair_there_is_and_one_that_dominates(base: Any) -> None:
    mechanism, count = dv.dp.FixedSizeSampled(base, 10, 100), 20
    found = dv.compose((mechanism, count), tolerance=1e-4).epsilon(1e-6)
    (loss,) = mechanism.losses()
    removed = dv.dp.PoissonSampled(base, 0.1).losses()[0]
    pair = dv.compose((removed, count), tolerance=1e-4)._epsilon(0, 1e-6, 1e-4)
    assert found.lower <= pair.upper
    assert pair.lower <= found.upper
    assert found.upper <= 1.2 * found.lower
    assert found.upper > pair.upper
    once = dv.compose(mechanism, tolerance=1e-6)
    assert holds(once.delta(0.2), loss.delta(0.2), 1e-5)


@pytest.mark.thin
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.5, 0.001), (4.0, 0.5)])
@pytest.mark.parametrize("alpha", [2, 8, 32, 256])
def test_renyi_of_sampled_gaussians_by_the_binomial_sum(sigma: float, rate: float, alpha: int) -> None:
    """E_Q (1 - r + r e^L)^alpha = sum_k C(alpha, k) (1 - r)^(alpha - k) r^k e^(k (k - 1) / (2 sigma^2))."""
    r = mpmath.mpf(rate)
    moment = sum(
        mpmath.binomial(alpha, k)
        * (1 - r) ** (alpha - k)
        * r**k
        * mpmath.exp(k * (k - 1) / (2 * mpmath.mpf(sigma) ** 2))
        for k in range(alpha + 1)
    )
    found = dv.compose(dv.dp.PoissonSampled(dv.dp.GaussianMechanism(sigma), rate)).renyi(alpha)
    assert found == pytest.approx(float(mpmath.log(moment) / (alpha - 1)), rel=1e-9)


@pytest.mark.parametrize(("sigma", "shift", "count"), [(6.0, 1, 2), (2.5, 3, 2), (400.0, 90, 1), (1.5, 1, 3)])
def test_discrete_gaussians_are_composed_without_a_long_list(sigma: float, shift: int, count: int) -> None:
    """Sums that lie on one lattice fall together; against the law, added up number by number."""
    mechanism = dv.dp.DiscreteGaussianMechanism(sigma, shift)
    (loss,) = mechanism.losses()
    assert isinstance(loss, AtomicLoss)
    made = engine([(loss, count)], 1e-6)
    assert isinstance(made, GridEngine) or count == 1 or len(made.total.losses) <= 4096
    p = np.asarray(loss.p, dtype=float)
    law = p
    for _ in range(count - 1):
        law = np.convolve(law, p)  # one step of losses is the same everywhere
    step = shift / sigma**2
    sums = count * float(loss.losses[0]) + step * np.arange(len(law))
    composed = dv.compose((mechanism, count))
    for delta in (1e-3, 1e-6, 1e-9):
        found = composed.epsilon(delta)
        assert found.upper - found.lower < 1e-6

        def excess(epsilon: float) -> float:
            return float((law * np.maximum(-np.expm1(np.minimum(epsilon - sums, 0)), 0)).sum())

        assert excess(found.upper) <= delta * (1 + 1e-9)
        assert excess(found.lower * (1 - 1e-6)) >= delta


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(4 if THOROUGH else 1))
def test_atoms_that_share_no_grid_are_enclosed(seed: int, tolerance: float) -> None:
    """Every sum of a few kinds of atoms, listed in 50 digits, against a grid that has no place for them."""
    rng = np.random.default_rng(seed)
    many = 4 if THOROUGH else 3
    kinds = [(float(e), int(n)) for e, n in zip(rng.uniform(0.1, 0.9, many), rng.integers(2, 7, many), strict=True)]
    composed = on_grid(*[(dv.dp.RandomizedResponse(e), n) for e, n in kinds], tolerance=tolerance)
    assert isinstance(composed._engine(0, tolerance).near_epsilon(1.0)[0], SplitSum)
    with mpmath.workdps(50):
        sums = [(mpmath.mpf(0), mpmath.mpf(1))]
        for e, n in kinds:
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(e)))
            draws = [(mpmath.mpf(e) * (2 * k - n), mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k))
                     for k in range(n + 1)]  # fmt: skip
            sums = [(a + b, u * v) for a, u in sums for b, v in draws]
        for epsilon in (*rng.uniform(0.0, 4.0, 5), float(sums[3][0]), float(sums[-2][0])):
            truth = sum(u * -mpmath.expm1(epsilon - a) for a, u in sums if a > epsilon)
            assert holds(composed.delta(float(epsilon)), truth)


def test_ten_kinds_of_noise_that_share_no_grid_are_as_narrow_as_asked() -> None:
    """Atoms on both ends of ten Laplace losses, two hundred of each."""
    fine, coarse = (1e-5, 1e-3) if THOROUGH else (1e-4, 1e-2)
    kinds = [(dv.dp.LaplaceMechanism(50 + 7.3 * math.sqrt(i + 2)), 200) for i in range(10)]
    narrow, wide = (dv.compose(*kinds, tolerance=t).epsilon(1e-6) for t in (fine, coarse))
    assert narrow.upper - narrow.lower <= fine
    assert wide.lower <= narrow.lower
    assert narrow.upper <= wide.upper


def test_losses_of_rare_samples_crowd_at_their_end_and_are_split_there() -> None:
    """What merging leaves over in the last cell, moved down ten thousand times, left no lower bound at all."""
    found = dv.compose((dv.dp.PoissonSampled(dv.dp.GaussianMechanism(0.5), 1e-4), 10**4), tolerance=0.1).epsilon(1e-8)
    assert 3.56 < found.lower <= found.upper < 3.59
    assert found.upper - found.lower <= 0.1


@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("tolerance", [0.03, 1e-3, 1e-4])
def test_two_rare_samples_that_are_split_against_an_integral(
    sigma: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GridEngine, "_gains_by_splitting", lambda *_: True)
    rate = 0.01
    composed = dv.compose((dv.dp.PoissonSampled(dv.dp.GaussianMechanism(sigma), rate), 2), tolerance=tolerance)
    z = np.linspace(-12 * sigma, 12 * sigma + 1, 20_001)

    def removed(e: np.ndarray) -> np.ndarray:
        """Return delta of one sample: P(L > e) - e^e Q(L > e) from where the loss is e; below all losses 1 - e^e."""
        with np.errstate(divide="ignore", invalid="ignore"):
            at = sigma**2 * np.log((np.exp(e) - 1 + rate) / rate) + 0.5
        with_it, without = stats.norm.sf(at, 1, sigma), stats.norm.sf(at, 0, sigma)
        inside = rate * with_it + (1 - rate - np.exp(e)) * without
        return np.where(np.exp(e) > 1 - rate, inside, 1 - np.exp(e))

    weight = rate * stats.norm.pdf(z, 1, sigma) + (1 - rate) * stats.norm.pdf(z, 0, sigma)
    loss = np.log1p(rate * np.expm1((z - 0.5) / sigma**2))
    assert isinstance(composed._engine(0, tolerance).near_epsilon(0.1)[0], SplitSum)
    for epsilon in (0.02, 0.1, 0.5):
        truth = float((weight * removed(epsilon - loss)).sum() * (z[1] - z[0]))
        bracket = composed._delta(0, epsilon, tolerance)
        assert bracket.lower <= truth * (1 + 1e-9)
        assert truth <= bracket.upper * (1 + 1e-9)


def test_a_grid_that_is_no_better_than_the_coarser_one_is_not_the_last() -> None:
    """Of both coarsest grids atoms of Laplace losses have no place on either, and the lower bound is 0."""
    kinds = (dv.dp.PoissonSampled(dv.dp.LaplaceMechanism(1.0), 1e-3), 1000), (dv.dp.LaplaceMechanism(7.0), 13)
    wide, narrow = (dv.compose(*kinds, tolerance=t).epsilon(1e-6) for t in (0.1, 0.01))
    assert wide.upper - wide.lower <= 0.1
    assert max(wide.lower, narrow.lower) <= min(wide.upper, narrow.upper)


@pytest.mark.parametrize("tilt", [0.0, 3.0, 30.0, 300.0])
def test_a_tilt_far_from_the_question_leaves_the_bounds_on_their_sides(tilt: float) -> None:
    """The window of the sum may lie above epsilon: what is lost below it is not nothing."""
    sums = GridEngine(((dv.dp.RandomizedResponse(0.1).losses()[0], 100),), 1e-3).sums(tilt)
    noise = GridEngine(((dv.dp.LaplaceMechanism(10.0).losses()[0], 100),), 1e-3).sums(tilt)
    known = GridEngine(((dv.dp.LaplaceMechanism(10.0).losses()[0], 100),), 1e-6)
    for epsilon in (0.0, 0.3, 2.0, 5.0, 9.0):
        truth = math.log(binomial_delta(0.1, 100, epsilon))
        assert sums[0].log_delta(epsilon, -1) <= truth <= sums[1].log_delta(epsilon, 1)
        assert sums[0].log_delta(np.array([epsilon]), -1)[0] <= truth <= sums[1].log_delta(np.array([epsilon]), 1)[0]
        low, high = known.near_epsilon(epsilon)
        assert noise[0].log_delta(epsilon, -1) <= high.log_delta(epsilon, 1)
        assert low.log_delta(epsilon, -1) <= noise[1].log_delta(epsilon, 1)


def test_the_sums_of_sampled_noise_are_planned_with_all_their_mass() -> None:
    """Atoms at both ends of a loss count once: epsilon of the added record is found, alone and among others."""
    sampled, other = dv.dp.PoissonSampled(dv.dp.LaplaceMechanism(1.5), 0.003), dv.dp.RandomizedResponse(0.05)
    for parts in ([(sampled, 261)], [(other, 261), (sampled, 261)]):
        composed = dv.compose(*parts)
        for turn in range(2):
            found = composed._epsilon(turn, 1e-6, 1e-6)
            assert 0.1 < found.lower <= found.upper <= found.lower + 1.1e-6


def test_moments_of_losses_whose_weights_are_below_the_normal_doubles() -> None:
    tiny = 5e-324
    loss = PrivacyLoss.between([1 - 1e-9, 1e-9, tiny], [1 - 1e-9 - 1e-300, 1e-9, 1e-300])
    assert isinstance(loss, AtomicLoss)
    for h in (-2.0, 0.5, 3.0):
        with mpmath.workdps(40):
            terms = [mpmath.mpf(float(p)) * mpmath.exp(h * x) for p, x in zip(loss.p, loss.losses, strict=True)]
            wanted = float(mpmath.log(mpmath.fsum(terms)))
        assert _log_moment(loss, h) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def fixed_exponentials(epsilon: float, count: int, x: float) -> float:
    """The largest delta of so many exponential mechanisms that are fixed: losses t and t - e, the same t for all."""
    t = np.linspace(0, epsilon, 4001 if THOROUGH else 401)[1:-1, None]
    p, k = (math.exp(epsilon) - np.exp(t)) / math.expm1(epsilon), np.arange(count + 1)[None, :]
    logs = stats.binom.logpmf(k, count, 1 - p)
    return float((np.exp(logs) * np.maximum(0.0, -np.expm1(x - (count * t - k * epsilon)))).sum(axis=1).max())


def adaptive_exponentials(epsilon: float, count: int, x: float, ways: int = 24) -> float:
    """The largest delta of mechanisms that answer two ways, each chosen after the answers before it: all of a tree."""
    if count == 0:
        return max(0.0, -math.expm1(x))
    found = 0.0
    for k in range(ways + 1):
        t = epsilon * k / ways
        p = (math.exp(epsilon) - math.exp(t)) / math.expm1(epsilon)
        up, down = (adaptive_exponentials(epsilon, count - 1, x - t + back, ways) for back in (0.0, epsilon))
        found = max(found, p * up + (1 - p) * down)
    return found


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 50), (1.0, 2), (0.5, 10), (2.0, 5), (0.05, 900)])
@pytest.mark.thin
def test_exponential_mechanisms_compose_to_no_less_than_the_worst_fixed_list(epsilon: float, count: int) -> None:
    found = dv.compose((dv.dp.ExponentialMechanism(epsilon), count))
    for x in np.array([0.0, 0.2, 0.5, 0.9]) * min(count * epsilon, 4 * epsilon * math.sqrt(count)):
        truth = fixed_exponentials(epsilon, count, float(x))
        bracket = found.delta(float(x))
        assert bracket.lower <= truth * (1 + 1e-6) + 1e-300
        assert truth <= bracket.upper
        assert bracket.upper <= truth * (1.2 if count <= 50 else 3.5) or truth < 1e-4


@pytest.mark.parametrize(
    ("epsilon", "count"), [(1.0, 2), (0.3, 2), (3.0, 2), pytest.param(3.0, 3, marks=pytest.mark.long)]
)
def test_exponential_mechanisms_compose_to_what_adaptive_lists_reach(epsilon: float, count: int) -> None:
    found = dv.compose((dv.dp.ExponentialMechanism(epsilon), count))
    for share in (0.0, 0.3, 0.6, 0.8):
        x = share * count * epsilon
        reached = adaptive_exponentials(epsilon, count, x)
        assert reached <= found.delta(x).upper <= reached * 1.02 + 1e-3


def test_fifty_exponential_mechanisms() -> None:
    """Fixed beforehand 1.5337 (Dong, Durfee, Rogers 2020), about 1.5391 where each may follow from the others."""
    bracket = dv.compose((dv.dp.ExponentialMechanism(0.1), 50)).epsilon(1e-6)
    fixed = optimize.brentq(lambda x: math.log(fixed_exponentials(0.1, 50, x) / 1e-6), 1.0, 2.0)
    assert fixed == pytest.approx(1.5337, abs=1e-4)
    assert fixed <= bracket.upper <= 1.54


@pytest.mark.parametrize("count", [10**10, 10**12, 10**14] if THOROUGH else [10**10])
def test_very_many_randomized_responses_come_near_the_normal_sum(count: int) -> None:
    """epsilon = 1 / sqrt(n): the sum is normal in the limit, with mu = 1, within .56 range / deviation of it."""
    found = dv.compose((dv.dp.RandomizedResponse(1 / math.sqrt(count)), count))
    with mpmath.workdps(30):
        limit = mpmath.ncdf(0) - mpmath.exp(0.5) * mpmath.ncdf(-1)
    bracket = found.delta(0.5)
    assert bracket.lower <= limit <= bracket.upper
    assert bracket.upper - bracket.lower < 3e-5
    if THOROUGH:
        level = found.epsilon(1e-6)
        assert level.lower < 4.8865 < level.upper < 5.1


@pytest.mark.parametrize(("epsilon", "count", "x"), [(0.01, 10**8, 9e4), (1e-3, 10**7, 500.0), (1.0, 10**6, 9.9e5)])
def test_epsilons_that_no_sum_of_very_many_comes_near_have_next_to_no_delta(
    epsilon: float, count: int, x: float
) -> None:
    """Below e^-(x - mean)^2 / 2 n epsilon^2 (Hoeffding), which is less than any double."""
    found = dv.compose((dv.dp.RandomizedResponse(epsilon), count)).delta(x)
    mean = count * epsilon * math.tanh(epsilon / 2)
    assert (x - mean) ** 2 / (2 * count * epsilon**2) > 745
    assert 0 <= found.lower <= found.upper < 1e-300


def test_the_error_of_the_normal_sum_holds_where_sums_are_listed() -> None:
    """Binomial sums of few draws lie within the bound that is proved for many."""
    for epsilon, count in ((0.1, 20), (1.0, 50), (0.01, 1000), (2.0, 3)):
        loss = dv.dp.RandomizedResponse(epsilon).losses()[0]
        near = normal.NormalSum(
            count * loss.mean(),
            math.sqrt(count * loss.variance()),
            0.56 * normal._third(loss, loss.mean(), loss.variance()) / loss.variance() ** 1.5 / math.sqrt(count),
        )
        exact = dv.compose((dv.dp.RandomizedResponse(epsilon), count))
        for x in np.linspace(0, 2 * epsilon * math.sqrt(count), 21).tolist():
            truth = exact.delta(x)
            assert math.exp(near.log_delta(x, -1)) <= truth.upper
            assert truth.lower <= math.exp(near.log_delta(x, 1))


@pytest.mark.parametrize(
    ("rare", "odds", "count"), [(1e-8, 10, 10**6), (1e-12, 1e5, 10**6), (1e-5, 3, 1000), (0.01, 2, 30)]
)
def test_one_large_loss_bounds_a_sum_of_rare_ones(rare: float, odds: float, count: int) -> None:
    """Outcomes that are told with probability `rare`, or `odds` times less: sums are binomial, for any count."""
    loss = PrivacyLoss.between([rare, 1 - rare], [rare / odds, 1 - rare / odds])
    mean, square = loss.mean(), loss.variance() + loss.mean() ** 2
    jump = normal.OneJump(((loss, count),), count * mean + 1e-15, count * square * (1 + 1e-9))
    k = np.arange(min(count, 400) + 1)
    logs = [stats.binom.logpmf(k, count, share) for share in (rare, rare / odds)]
    for x in np.geomspace(1e-6, 2 * math.log(odds), 25).tolist():
        truth = math.fsum((np.exp(logs[0]) * np.maximum(-np.expm1(x + logs[1] - logs[0]), 0.0)).tolist())
        assert math.exp(jump.log_delta(x, -1)) <= truth * (1 + 1e-7)
        assert truth * (1 - 1e-7) <= math.exp(jump.log_delta(x, 1))
        if count * rare < 1e-5 and 0.1 < x < 0.9 * math.log(odds):
            assert math.exp(jump.log_delta(x, 1) - jump.log_delta(x, -1)) < 2


@pytest.mark.long
def test_a_million_very_rare_samples_are_bracketed_by_their_largest_loss() -> None:
    """Of one sample delta is r sf((x - 1) / s) - (e^e - 1 + r) sf(x / s), where r e^((x - 1/2) / s^2) = e^e - 1 + r."""
    subject, rate, s = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(0.4), 1e-9), mpmath.mpf(1e-9), mpmath.mpf(0.4)
    found = dv.compose((subject, 10**6), tolerance=1e-3)
    level = found.epsilon(1e-20)
    assert 3.2 < level.lower < level.upper < level.lower + 0.002
    with mpmath.workdps(40):
        growth = mpmath.exp(mpmath.mpf(3.3)) - 1 + rate
        x = s * s * mpmath.log(growth / rate) + 0.5
        one = rate * mpmath.ncdf((1 - x) / s) - growth * mpmath.ncdf(-x / s)
    bracket = found.delta(3.3)
    assert bracket.lower <= 10**6 * one * (1 + mpmath.mpf("1e-6"))
    assert 10**6 * one * (1 - mpmath.mpf("1e-6")) <= bracket.upper < 1.005 * 10**6 * one


@pytest.mark.parametrize(
    ("epsilon", "count", "part"), [(300.0, 2, 25), (30.0, 3, 25), (1e-12, 5, 1), (0.03, 90, 900), (5.0, 20, 1)]
)
def test_exponential_mechanisms_at_the_edges_keep_their_order(
    epsilon: float, count: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a part of the work: ninety are too many for a nine hundredth of it, as 2,700 are for all."""
    monkeypatch.setattr(bounded_range, "_WORK", bounded_range._WORK / part)
    found = dv.compose((dv.dp.ExponentialMechanism(epsilon), count), tolerance=1e-4)
    levels = [found.epsilon(delta) for delta in (0.1, 1e-6, 1e-30, 0.0)]
    assert all(level.lower <= level.upper <= epsilon * count * (1 + 1e-12) for level in levels)
    assert [level.upper for level in levels] == sorted(level.upper for level in levels)


def test_a_sum_of_many_different_parts_keeps_none_of_them() -> None:
    """One part at a time: a grid has up to three million points, and a list may have hundreds of parts."""
    alive: list[weakref.ref[grid.Atoms]] = []

    def parts() -> Any:
        for k in range(1, 9):
            atoms = grid.Atoms(0, np.array([1 - 1 / (2 * k), 1 / (2 * k)]), 0.0)
            alive.append(weakref.ref(atoms))
            assert sum(one() is not None for one in alive) <= 2
            yield atoms, 1

    total = tilted_sum(parts(), Window(1.0, 0.0, 0, 32, 1.0, 1.0), 0.0)
    truth = np.ones(1)
    for k in range(1, 9):
        truth = np.convolve(truth, [1 - 1 / (2 * k), 1 / (2 * k)])
    assert np.roll(total.masses, -total.turn)[:9] == pytest.approx(truth, abs=1e-14)


def test_many_different_parts_take_few_transforms_of_the_whole_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short ones are convolved with each other first; every sum is where sums of fractions say."""
    rng, long = np.random.default_rng(8), []
    folded = sums._folded
    monkeypatch.setattr(sums, "_folded", lambda weights, size: (long.append(1), folded(weights, size))[1])
    laws = rng.dirichlet(np.ones(7), size=64)
    parts = [(grid.Atoms(int(first), law, 0.0), 1) for first, law in zip(rng.integers(-9, 9, 64), laws, strict=True)]
    total = tilted_sum(iter(parts), Window(1e-3, 3.0, 0, 4096, 1.0, 1.0), 0.0)
    assert len(long) < 12
    truth = np.ones(1)
    for law in laws:
        truth = np.convolve(truth, law * np.exp(3e-3 * np.arange(7)))
    truth /= truth.sum()
    off = np.roll(total.masses, -total.turn)[: len(truth)] - truth
    assert np.linalg.norm(off) <= total.norm_error < 1e-11


def test_a_loss_that_reaches_far_down_has_no_cells_that_its_sum_never_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record added to a sample of rate 1e-9 gains 1e-9 at most and may lose 4: a million sums end at 1e-3."""
    spans: list[int] = []
    span = grids.span

    def seen(*asked: Any) -> tuple[int, int]:
        first, last = span(*asked)
        spans.append(last - first)
        return first, last

    monkeypatch.setattr(grids, "span", seen)
    added = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(0.4), 1e-9).losses()[1]
    (low, high), start, _ = GridEngine(((added, 10**6),), 1e-4).near_delta(math.log(1e-20))
    assert max(spans) < 1e5
    assert low.log_delta(start, -1) <= high.log_delta(start, 1)
    assert high.log_delta(1e-3, 1) < math.log(1e-20)


@pytest.mark.long
def test_which_pair_is_the_worst_is_decided_by_few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a million rare samples the grid of all cells is made once, and for the worst order alone."""
    sizes: list[int] = []
    computed = GridEngine._computed

    def seen(self: GridEngine, window: Window) -> Any:
        sizes.append(window.size)
        return computed(self, window)

    monkeypatch.setattr(GridEngine, "_computed", seen)
    subject = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(0.4), 1e-9)
    level = dv.compose((subject, 10**6)).epsilon(1e-20)
    assert 3.24 < level.lower < level.upper < 3.39
    assert sum(size > grids.COARSE_CELLS for size in sizes) == 1


@pytest.mark.parametrize(
    ("size", "terms", "count"), [(2_531_250, 6505, 300), (7200, 245, 3601), (100, 100, 51), (64, 1, 5)]
)
def test_a_transform_at_few_frequencies_is_that_at_all_of_them(size: int, terms: int, count: int) -> None:
    """The least ones, the largest and some between; its error is within the bound that is told."""
    rng = np.random.default_rng(terms)
    weights = rng.dirichlet(np.full(terms, 0.3))
    at = np.unique(np.append(rng.choice(size // 2 + 1, count - 2, replace=True), [0, size // 2]))
    off = sums._at(at, weights, size) - np.fft.rfft(weights, size)[at]
    fft_error = 8 * 2.0**-52 * math.log2(size) * np.linalg.norm(weights)
    assert np.linalg.norm(off) * math.sqrt(2 / size) <= sums._at_error(len(at), terms, size) + fft_error
    assert abs(off).max() < 1e-14


@pytest.mark.parametrize(("mu", "rate"), [(1.0, 1e-6), (0.01, 0.5), (8.0, 1e-9), (2.0, 0.999)])
def test_one_sample_of_a_gaussian_is_known_outright(mu: float, rate: float) -> None:
    """By both formulas in 40 digits; on a grid epsilon of a rate of 1e-6 was between 1e-6 and 2e-5 at 1e-9."""
    once = dv.compose(dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1 / mu), rate))
    with mpmath.workdps(40):
        shift = 1 / mpmath.mpf(1 / mu)

        def alone(e: Any) -> Any:
            return mpmath.ncdf(shift / 2 - e / shift) - mpmath.exp(e) * mpmath.ncdf(-shift / 2 - e / shift)

        for epsilon in (0.0, rate / 3, -math.log1p(-rate), 1.5):
            e, r = mpmath.mpf(epsilon), mpmath.mpf(rate)
            share = 1 - (1 - r) * mpmath.exp(e)
            removed = r * alone(mpmath.log((mpmath.exp(e) - 1 + r) / r))
            truth = max(removed, share * alone(e + mpmath.log(r) - mpmath.log(share)) if share > 0 else 0)
            found = once.delta(epsilon)
            assert found.lower * (1 - 1e-15) <= truth <= found.upper * (1 + 1e-15)
            assert found.upper - found.lower <= 1e-12 * truth + 5e-324
    asked = once.epsilon(1e-3 * rate)
    assert asked.upper - asked.lower < 1e-11 * (1 + asked.upper)


class Counted(str):
    """A label that counts how often it is looked up."""

    looked_up = 0
    __slots__ = ()

    def __hash__(self) -> int:
        Counted.looked_up += 1
        return super().__hash__()


def test_pairs_of_secrets_are_looked_up_once_each() -> None:
    labels = [Counted(f"s{i}") for i in range(12)]
    rows = np.random.default_rng(3).dirichlet(np.full(6, 20.0), 12)
    channel, pairs = dv.Channel(rows, labels), 12 * 11
    Counted.looked_up = 0
    composed = dv.compose((channel, 2))
    assert Counted.looked_up < 40 * pairs  # a table of all pairs for each of them takes 2 * pairs**2
    composed.epsilon(1e-3)
    assert composed._engines.keys() <= set(range(len(composed.directions)))  # by number, and few of them


def test_a_channel_of_more_pairs_than_memory_holds_is_refused_before_the_work() -> None:
    with pytest.raises(dv.DivulgeError, match=r"at most 67,108,864 losses.*511,360,000\. Hint: merge values"):
        dv.compose((dv.Channel(np.full((800, 800), 1 / 800)), 2))
    near = [(i, i + 1) for i in range(799)]
    assert len(dv.dp.privacy_losses(np.full((800, 800), 1 / 800), near)) == 2 * 799


def test_pairs_are_counted_before_they_are_listed() -> None:
    channel = dv.Channel(np.full((9_000, 2), 1 / 2))
    tracemalloc.start()
    with pytest.raises(dv.DivulgeError, match=r"their number is 161,982,000"):
        dv.compose((channel, 2))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e6


def test_of_many_pairs_of_rows_few_are_summed() -> None:
    """100 rows, ten times, took a minute and 1.3 GB: a sum for each of 9,900 pairs."""
    found = dv.compose((random_channel(np.random.default_rng(0), 12, 12, span=0.5), 10))
    epsilon = found.epsilon(1e-5)
    delta = found.delta(epsilon.upper)
    assert 0 < len(found._engines) < len(found.directions) / 4
    whole, each = replace(found), range(len(found.directions))
    assert epsilon.upper == max(whole._epsilon(i, 1e-5, found.tolerance).upper for i in each)
    assert epsilon.lower == max(whole._epsilon(i, 1e-5, found.tolerance).lower for i in each)
    assert delta.upper == pytest.approx(
        max(whole._delta(i, epsilon.upper, found.tolerance).upper for i in each), rel=1e-9
    )


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 40]), st.floats(0.0, 5.0), st.floats(1e-9, 0.9))
@settings(max_examples=few(60))
def test_what_orders_prove_of_a_sum_is_above_it(seed: int, count: int, epsilon: float, delta: float) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.ones(4), size=2)
    rows[0, 3] *= seed % 2  # sometimes an infinite loss
    rows /= rows.sum(axis=1, keepdims=True)
    parts = ((AtomicLoss.of_rows(rows[1], rows[0]), count),)
    screen, total = Screen.of(parts), dv.compose((parts[0][0], count))
    one = next(i for i, turn in enumerate(total.directions) if turn.parts[0][0].infinite == parts[0][0].infinite)
    assert screen.delta(epsilon) >= total._delta(one, epsilon, 1e-6).lower
    assert screen.epsilon(delta) >= total._epsilon(one, delta, 1e-6).lower


@pytest.mark.parametrize("seed", range(4))
def test_moments_of_a_million_losses_are_rounded_up(seed: int) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.full(5, 0.3), size=2)
    loss = AtomicLoss.of_rows(rows[0], rows[1])
    found = Screen.of([(loss, 10**6)]).moments
    with mpmath.workdps(50):
        pairs = [(mpmath.mpf(float(p)), mpmath.mpf(float(q))) for p, q in zip(loss.p, loss.q, strict=True)]
        for h, moment in zip(np.geomspace(1e-3, 1e3, 32).tolist(), found.tolist(), strict=True):
            truth = 10**6 * mpmath.log(sum(p ** (1 + mpmath.mpf(h)) * q ** -mpmath.mpf(h) for p, q in pairs))
            assert truth <= moment <= truth + 1e-3 + 1e-12 * abs(truth)


@pytest.mark.parametrize("ask", ["trade_off", "gaussian_dp"])
def test_a_curve_of_many_pairs_is_refused_before_it_is_summed(ask: str) -> None:
    channel = dv.Channel(np.random.default_rng(0).dirichlet(np.ones(20), 19))
    many = dv.compose((channel, 10))
    with pytest.raises(
        dv.DivulgeError, match="at most 300 pairs of neighbors for a curve over epsilon; their number is 342"
    ):
        getattr(many, ask)()
    assert many.epsilon(0.5).upper >= 0


def test_a_loss_that_is_certain_but_for_what_no_double_holds_is_composed() -> None:
    found = dv.compose((dv.dp.DiscreteGaussianMechanism(0.01), 100_000)).epsilon(1e-6)
    assert found.lower <= 100_000 * 5_000 <= found.upper  # 1 / (2 sigma^2), each time


def test_rows_of_more_digits_than_python_writes_are_composed() -> None:
    rare = Fraction(1, 10**4_400)
    channel = dv.Channel([["1/2", "1/2"], [rare, 1 - rare]])
    loss = 4_400 * math.log(10) + math.log(0.5)
    found = dv.compose((channel, 3)).epsilon("1/1000")
    assert found.lower - 1e-9 <= 3 * loss + math.log1p(-8 / 1000) <= found.upper + 1e-9  # the rest of 1/8 is 1/1000
    assert found.upper - found.lower < 1e-6
