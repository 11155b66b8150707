"""Noise without end on a lattice: what doubles cannot list is counted by every question, against sums of 40 digits."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from support import few

import divulge as dv
from divulge.dp import (
    AdpRelease,
    DiscreteGaussianMechanism,
    FixedSizeSampled,
    PoissonSampled,
    ZcdpRelease,
    compose,
    epsilon_from_delta,
    epsilon_from_tail,
    gaussian_dp,
    renyi_dp,
    zcdp_rho,
    zcdp_xi,
)
from divulge.dp.subjects import privacy_losses
from divulge.guarantees import ADP, PDP, RDP

DISCRETE = DiscreteGaussianMechanism(1.0)
SAMPLED = PoissonSampled(DISCRETE, 0.1)
FIXED = FixedSizeSampled(DISCRETE, 10, 100)


def law(sigma: float, shift: int, rate: float, first: int, last: int) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """(P(k), Q(k)) of noise around 0 with probability `rate`, else around `shift`, and around `shift`."""
    v = 2 * mpmath.mpf(sigma) ** 2
    total = mpmath.fsum(
        mpmath.exp(-(mpmath.mpf(k) ** 2) / v) for k in range(-int(14 * sigma) - 9, int(14 * sigma) + 10)
    )

    def weight(k: int) -> mpmath.mpf:
        return mpmath.exp(-(mpmath.mpf(k) ** 2) / v) / total

    return [
        (rate * weight(k) + (1 - mpmath.mpf(rate)) * weight(k - shift), weight(k - shift))
        for k in range(first, last + 1)
    ]


def renyi(pairs: list[tuple[mpmath.mpf, mpmath.mpf]], alpha: float) -> float:
    a = mpmath.mpf(alpha)
    return float(mpmath.log(mpmath.fsum(p**a * q ** (1 - a) for p, q in pairs)) / (a - 1))


@pytest.mark.parametrize(
    ("sigma", "shift", "rate", "alpha"),
    [(1.0, 1, 0.1, 64.0), (1.0, 1, 0.1, 32.0), (0.3, 2, 0.01, 40.5), (2.0, 3, 0.5, 90.0), (6.0, 1, 1e-3, 700.0)],
)
def test_renyi_divergences_of_samples_go_as_far_as_they_count(
    sigma: float, shift: int, rate: float, alpha: float
) -> None:
    with mpmath.workdps(40):
        reach = int(16 * sigma) + 3
        pairs = law(sigma, shift, rate, -int(alpha * shift) - reach, shift + reach)
        removed, added = renyi(pairs, alpha), renyi([pair[::-1] for pair in pairs], alpha)
        high = [pair for pair in pairs if pair[0] > pair[1]]
        low = [pair[::-1] for pair in high]
        rest = 1 - mpmath.fsum(p for p, _ in high) - mpmath.fsum(p for p, _ in low)
        both = renyi([*high, *low, (rest, rest)], alpha)
    first, second = PoissonSampled(DiscreteGaussianMechanism(sigma, shift), rate).losses()
    assert first.renyi(alpha) == pytest.approx(removed, rel=1e-9)
    assert second.renyi(alpha) == pytest.approx(added, rel=1e-9)
    if rate in (0.1, 0.5, 0.01):
        (loss,) = FixedSizeSampled(DiscreteGaussianMechanism(sigma, shift), int(100 * rate), 100).losses()
        assert loss.renyi(alpha) == pytest.approx(both, rel=1e-9)


def test_the_issue_in_numbers() -> None:
    """E_Q (1 - r + r e^t)^64 = sum over how often the record came, whose moments are closed at whole orders."""
    with mpmath.workdps(40):
        for alpha in (32, 64, 128):
            moment = mpmath.fsum(
                mpmath.binomial(alpha, k) * mpmath.mpf(0.9) ** (alpha - k) * mpmath.mpf(0.1) ** k
                * mpmath.exp(mpmath.mpf(k * (k - 1)) / 2)
                for k in range(alpha + 1)
            )  # fmt: skip
            expected = float(mpmath.log(moment) / (alpha - 1))
            assert renyi_dp(SAMPLED, float(alpha)).value == pytest.approx(expected, rel=1e-9)
            assert compose((SAMPLED, 3)).renyi(float(alpha)) == pytest.approx(3 * expected, rel=1e-9)


@pytest.mark.parametrize("subject", [DISCRETE, SAMPLED, FIXED, PoissonSampled(DiscreteGaussianMechanism(60.0), 0.1)])
def test_nothing_bounds_a_loss_without_end(subject: Any) -> None:
    assert epsilon_from_delta(subject, 0.0).value == math.inf
    assert epsilon_from_delta(subject, 1e-315).value == math.inf
    assert compose(subject).pure_epsilon == math.inf == compose(subject, (subject, 2)).epsilon(0.0).lower
    assert epsilon_from_tail(subject, 0.0).value == math.inf
    assert subject.losses()[0].renyi(math.inf) == math.inf
    for claim in (ADP(40, 0), PDP(45, 0), ADP("700.5", 0), RDP(math.inf, 700)):
        assert not claim.holds_for(subject).holds
    loss = privacy_losses(subject)[0]
    assert loss.highest == math.inf == loss.quantile(0.0)
    assert loss.delta(900.0) > 0 < loss.tail(900.0)


@pytest.mark.parametrize(("size", "alpha"), [(2, 64.0), (3, 33.5)])
def test_groups_are_covered_by_noise_of_one_that_moves_that_far(size: int, alpha: float) -> None:
    found = compose((DISCRETE, 2)).group(size)
    with mpmath.workdps(40):
        expected = 2 * renyi(law(1.0, size, 1.0, -int(alpha * size) - 20, size + 20), alpha)
    assert found.renyi(alpha) == pytest.approx(expected, rel=1e-9)
    assert found.pure_epsilon == math.inf == found.epsilon(0.0).lower
    assert found.delta(900.0).upper > 0
    with pytest.raises(dv.DivulgeError, match="group"):
        compose(SAMPLED).group(size)


def test_samples_of_a_fixed_size_have_no_largest_loss_and_are_never_below_a_part_of_them() -> None:
    """A record replaced is one removed and one added: by data processing both samples of one record lie below."""
    for alpha in (64.0, 128.0, 256.0):
        assert renyi_dp(FIXED, alpha).value >= max(loss.renyi(alpha) for loss in SAMPLED.losses()) - 1e-9
    assert renyi_dp(FIXED, 128.0).value == pytest.approx(61.68, abs=0.005)
    assert not ADP(40, 0).holds_for(FIXED).holds
    assert compose((FIXED, 2)).renyi(64.0) == pytest.approx(2 * renyi_dp(FIXED, 64.0).value, rel=1e-12)


def test_the_largest_loss_of_a_record_added_is_its_limit() -> None:
    """log P / ((1 - r) P + r Q) tends to -log(1 - r), however wide the noise and narrow what doubles list of it."""
    for sigma in (0.5, 20.0, 2000.0):
        removed, added = PoissonSampled(DiscreteGaussianMechanism(sigma), 0.1).losses()
        assert added.epsilon(0.0) == added.highest == pytest.approx(-math.log(0.9), rel=1e-12)
        assert removed.lowest == -added.highest
        assert added.renyi(1e7) <= added.highest
    assert added.renyi(1e12) > 0.1 * added.highest  # and its divergences with it


def test_zcdp_of_a_sample_is_that_of_the_noise_in_the_limit() -> None:
    found = zcdp_rho(SAMPLED)
    assert 0.46 < found.lower <= 0.5 == found.value
    assert zcdp_xi(SAMPLED, 0.0).value == math.inf == zcdp_xi(FIXED, 0.25).value
    assert compose(SAMPLED).zcdp == 0.5
    assert gaussian_dp(SAMPLED).lower >= 1.0  # tests far out tell as much as without a sample


@pytest.mark.parametrize(("sigma", "alpha"), [(1.0, 64.0), (0.4, 40.0), (5.0, 300.0), (1.0, 1.0), (1.0, 2.0)])
def test_powers_of_the_ratio(sigma: float, alpha: float) -> None:
    (loss,) = DiscreteGaussianMechanism(sigma).losses()
    with mpmath.workdps(40):
        reach = int(14 * sigma) + 3
        pairs = law(sigma, 1, 1.0, -int(alpha) - reach, reach + 1)
        a = mpmath.mpf(alpha)
        expected = mpmath.fsum(q * abs(p / q - 1) ** a for p, q in pairs) ** (1 / a)
    assert loss.abs_chi(alpha) == pytest.approx(float(expected), rel=1e-9)


def test_a_promise_beside_noise_without_end_is_bounded_by_all_of_it() -> None:
    """Promises add Renyi divergences; a Gaussian of the same rate is as good as its discrete twin at whole orders."""
    for epsilon in (20.0, 300.0):
        found = compose(ZcdpRelease(0.5), DISCRETE).delta(epsilon).upper
        assert found >= compose((DISCRETE, 2)).delta(epsilon).lower
        assert found > 0


def test_a_bounded_divergence_leaves_no_infinite_loss() -> None:
    assert compose(dv.dp.RenyiRelease(2, 0.1)).delta(math.inf).upper == 0.0
    assert compose((dv.dp.RenyiRelease(2, 0.1), 10), ZcdpRelease(1.0)).delta(math.inf).upper == 0.0
    beside = compose(dv.dp.RenyiRelease(2, 0.1), AdpRelease(1.0, 1e-5)).delta(math.inf)
    assert 1e-5 <= beside.upper <= 1e-5 * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(few(6, 1)))
def test_equal_losses_are_equal_in_all_that_is_known(seed: int) -> None:
    """No answer depends on the order of a list, whatever two releases differ in."""
    rng = np.random.default_rng(seed)
    rows = [["0.49999999999999999", "0.5", "1e-17"], ["1/2", "1/2", "0"]], [["1/2", "1/2", "0"], ["1/2", "1/2", "0"]]
    lists = [
        ([AdpRelease(1.0, 1e-17), AdpRelease(1.0, 0.0), AdpRelease(1.0, 1e-16)], 1.5),
        ([(AdpRelease(1e-3, 5e-17), 10**7), (AdpRelease(1e-3, 0.0), 10**7)], 2e4),
        ([*rows, *rows], 1.0),
        ([dv.dp.LaplaceMechanism(float(s)) for s in rng.uniform(1, 3, 3)] + [dv.dp.GaussianMechanism(3.0)], 1),
    ]
    for releases, epsilon in lists:
        orders = [releases, releases[::-1], [releases[i] for i in rng.permutation(len(releases))]]
        found = [compose(*one, tolerance=1e-3) for one in orders]
        assert len({one.delta(float(epsilon)) for one in found}) == 1
        assert len({one.epsilon(1e-9) for one in found}) == 1
        assert len({one.pure_epsilon for one in found}) == 1
        assert len({one.worst_pair(0.0) for one in found}) == 1
    assert compose(AdpRelease(1.0, 0.0), AdpRelease(1.0, 1e-17)).pure_epsilon == math.inf
    big = compose((AdpRelease(1e-3, 0.0), 10**7), (AdpRelease(1e-3, 5e-17), 10**7)).delta(2e4).upper
    assert big >= 5e-10 * (1 - 1e-9)
    assert compose(rows[1], rows[0]).delta(1.0).upper == 1e-17


def test_the_worst_pair_has_the_largest_delta_however_small() -> None:
    rare = "1/100000000000000000000"
    rows = [[1, 0], [1, 0], [f"{10**20 - 1}/{10**20}", rare]]
    found = dv.dp.delta_from_epsilon(rows, 1.0)
    assert found.value == 1e-20
    assert found.pair == (2, 0)


def test_the_record_of_a_sample_may_be_in_either_data_set() -> None:
    from scipy.stats import expon, norm

    answers = []
    for one, other in ((norm(0, 1), norm(0, 3)), (norm(0, 3), norm(0, 1)), (expon(0), expon(1)), (expon(1), expon(0))):
        subject = PoissonSampled(dv.dp.DistributionPair(one, other), 0.1)
        answers.append(dv.dp.delta_from_epsilon(subject, 0.3).value)
        both = [privacy_losses(subject)[0], privacy_losses(subject)[2]]
        assert max(loss.delta(0.3) for loss in both) == answers[-1]
    assert answers[0] == pytest.approx(answers[1], rel=1e-9)
    assert answers[2] == pytest.approx(answers[3], rel=1e-9)
    beside = compose(SAMPLED, PoissonSampled(dv.dp.DistributionPair(norm(0, 1), norm(0, 3)), 0.1))
    assert len(beside.directions) == 4


def test_a_pair_beside_a_sample_does_not_say_in_which_data_set_the_record_is() -> None:
    """The largest losses of both, in all four ways: by the odds of a sampled coin and of two histograms."""
    from scipy.stats import rv_histogram

    edges, p, q = np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.7]), np.array([0.05, 0.95])
    pair = dv.dp.DistributionPair(*(rv_histogram((mass, edges), density=False) for mass in (p, q)))
    coin = PoissonSampled(dv.dp.RandomizedResponse(1.0), 0.1)
    keep = math.e / (1 + math.e)
    told, plain = 0.9 * np.array([1 - keep, keep]) + 0.1 * np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    tops = [{round(float(np.log(one / other).max()), 9) for one, other in ((a, b), (b, a))}
            for a, b in ((told, plain), (p, q))]  # fmt: skip
    for listed in ((coin, pair), (pair, coin)):
        ways = [sorted(round(loss.highest, 9) for loss, _ in turn.parts) for turn in compose(*listed).directions]
        assert sorted(ways) == sorted(sorted(both) for both in itertools.product(*tops))
    assert len(compose(pair).directions) == 2 == len(compose(coin).directions)
