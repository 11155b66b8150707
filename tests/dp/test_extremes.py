"""Losses at the ends of the doubles: ratios no double holds, probabilities below the smallest, rates near 0."""

import math
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
from support import THOROUGH

import divulge as dv
from divulge.dp.subjects import privacy_losses

WIDE: list[Any] = [
    dv.dp.RandomizedResponse(800.0),
    dv.dp.RandomizedResponse(1e4, 3),
    dv.dp.LaplaceMechanism(1 / 800),
    dv.dp.DiscreteLaplaceMechanism(1 / 800),
    dv.dp.DiscreteGaussianMechanism(0.02),
    dv.dp.GaussianMechanism(0.01),
    dv.dp.ExponentialMechanism(2000.0),
    dv.dp.AdpRelease(800.0),
    dv.dp.AdpRelease(800.0, 0.01),
    dv.dp.ZcdpRelease(1e6),
    dv.dp.PoissonSampled(dv.dp.RandomizedResponse(800.0), 0.1),
    dv.dp.PoissonSampled(dv.dp.LaplaceMechanism(1 / 800), 0.1),
    dv.dp.PoissonSampled(dv.dp.ZcdpRelease(800.0), 0.1),
    dv.dp.GaussianMechanism(1 / 746),
    dv.dp.GaussianMechanism(1e-5),
    dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1 / 746), 0.1),
    dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1e12), 0.1),
    dv.dp.LaplaceMechanism(1e12),
    dv.Channel([[1 - 1e-200, 1e-200], [1e-200, 1 - 1e-200]]),
    dv.Channel([[1.0, 1e-300], [5e-324, 1.0]]),
]


@pytest.mark.thin
@pytest.mark.parametrize("subject", WIDE, ids=lambda one: repr(one)[:50])
def test_every_measure_of_a_wide_loss_is_a_number(subject: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            *(dv.dp.delta_from_epsilon(subject, epsilon).value for epsilon in (0.5, 800.0)),
            dv.dp.zcdp_rho(subject).value,
            dv.dp.approximate_zcdp_rho(subject, 0.01).value,
            dv.dp.epsilon_from_delta(subject, 0.01).value,
            dv.dp.tail_from_epsilon(subject, 0.5).value,
            dv.dp.relaxed_delta(subject, 0.5, 0.01).value,
            dv.dp.kl_privacy(subject).value,
            *(dv.dp.renyi_dp(subject, alpha).value for alpha in (1.5, 3.0, math.inf)),
            *(dv.dp.abs_chi(subject, alpha).value for alpha in (1.0, 2.0, 3.0, math.inf)),
            *(dv.dp.f_divergence(subject, f).value for f in ("jensen-shannon", "hellinger", "chi-squared", "kl")),
            dv.dp.mutual_information_dp(subject).upper,
            dv.dp.gaussian_dp(subject).value,
            float(dv.dp.trade_off(subject)(0.1)),
            dv.dp.mean_concentrated(subject).tau,
            dv.compose((subject, 2), tolerance=1e-2).epsilon(1e-6).upper,
            dv.compose((subject, 2), tolerance=1e-2).renyi(2.0),
        ]
    assert not np.isnan(found).any()
    assert min(found) >= 0


@pytest.mark.parametrize("mu", [30.0, 746.0, 5000.0])
def test_delta_of_a_wide_gaussian_against_40_digits(mu: float) -> None:
    mechanism = dv.dp.GaussianMechanism(1 / mu)
    (loss,) = mechanism.losses()
    with mpmath.workdps(40):
        m = mpmath.mpf(1 / (1 / mu))
        for epsilon in (0.0, 100.0, 800.0, mu**2 / 2, mu**2 / 2 + 5 * mu, -3.0):
            truth = mpmath.ncdf(m / 2 - epsilon / m) - mpmath.exp(epsilon) * mpmath.ncdf(-m / 2 - epsilon / m)
            assert abs(loss.delta(epsilon) - truth) <= 1e-11 * truth + mpmath.mpf(10) ** -300


def test_groups_of_wide_losses() -> None:
    from divulge.dp.accounting.directions import for_group

    assert for_group(dv.dp.AdpRelease(800.0, 1e-9), 3) == dv.dp.AdpRelease(2400.0, 1.0)
    assert for_group(dv.dp.AdpRelease(800.0), 3) == dv.dp.AdpRelease(2400.0)
    grown = for_group(dv.dp.AdpRelease(0.1, 1e-9), 3)
    assert grown.epsilon * 10 >= 3
    assert grown.delta == pytest.approx(1e-9 * (1 + math.exp(0.1) + math.exp(0.2)), rel=1e-11)


@pytest.mark.parametrize("epsilon", [1.0, 30.0, 300.0, 800.0, 5000.0])
def test_gaussian_mu_of_randomized_response_at_every_epsilon(epsilon: float) -> None:
    """N(0, 1) and N(mu, 1) miss e^epsilon / (1 + e^epsilon) alike: log Phi(-mu / 2) = -log(1 + e^epsilon)."""
    with mpmath.workdps(40):
        mu = mpmath.mpf(dv.dp.gaussian_dp(dv.dp.RandomizedResponse(epsilon)).value)
        missed = mpmath.log(mpmath.erfc(mu / 2 / mpmath.sqrt(2)) / 2)
        assert float(missed / -mpmath.log1p(mpmath.exp(epsilon))) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [1e-9, 30.0, 745.0, 800.0, 1400.0])
def test_abs_chi_of_losses_beyond_the_doubles(epsilon: float, alpha: float) -> None:
    with mpmath.workdps(700):
        ratio = mpmath.exp(mpmath.mpf(epsilon))
        high, low = ratio / (1 + ratio), 1 / (1 + ratio)
        powers = low * (ratio - 1) ** alpha + high * (1 - 1 / ratio) ** alpha
        logs = mpmath.log(powers) / alpha
        truth = float(mpmath.exp(logs)) if logs < 709 else math.inf
        assert dv.dp.abs_chi(dv.dp.RandomizedResponse(epsilon), alpha).value == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("mu", [5.0, 20.0, 30.0, 37.0])
def test_abs_chi_of_wide_gaussians(mu: float) -> None:
    with mpmath.workdps(60):
        truth = float(mpmath.sqrt(mpmath.expm1(mpmath.mpf(mu) ** 2)))
        assert dv.dp.abs_chi(dv.dp.GaussianMechanism(1 / mu), 2.0).value == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("epsilon", [700.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["laplace", "exponential"])
def test_bounded_divergences_of_wide_losses(kind: str, epsilon: float) -> None:
    """Data sets that hardly overlap: log 2 and 2, and a certified bracket of the capacity holds log 2."""
    subject: Any = dv.dp.LaplaceMechanism(1 / epsilon) if kind == "laplace" else dv.dp.ExponentialMechanism(epsilon)
    assert dv.dp.f_divergence(subject, "jensen-shannon").value == pytest.approx(math.log(2), rel=1e-12)
    assert dv.dp.f_divergence(subject, "hellinger").value == pytest.approx(2.0, rel=1e-12)
    found = dv.dp.mutual_information_dp(subject)
    assert found.lower <= math.log(2) <= found.upper


@pytest.mark.parametrize("rho", [1e-10, 1e-17, 1e-20, 1e-300])
def test_samples_of_tiny_promises(rho: float) -> None:
    """At rate 1/10 of what a Gaussian of this rho leaves, and not 0: sum C(a, k) r^k (1 - r)^(a - k) (M_k - 1)."""
    for alpha in (2, 4):
        with mpmath.workdps(40):
            r, moments = mpmath.mpf(0.1), [mpmath.expm1(mpmath.mpf(rho) * k * (k - 1)) for k in range(alpha + 1)]
            terms = (mpmath.binomial(alpha, k) * r**k * (1 - r) ** (alpha - k) * moments[k] for k in range(alpha + 1))
            least = float(mpmath.log1p(mpmath.fsum(terms)) / (alpha - 1))
        assert dv.dp.renyi_dp(dv.dp.PoissonSampled(dv.dp.ZcdpRelease(rho), 0.1), alpha).value >= least * (1 - 1e-15) > 0


@pytest.mark.parametrize("epsilon", [1.0, 200.0, 355.0, 400.0, 700.0])
def test_chi_squared_of_large_ratios(epsilon: float) -> None:
    """Ratios above 1e154 may be squared no more, though sum (p - q)^2 / q = (e^e - 1)^2 / e^e is a double."""
    with mpmath.workdps(700):
        e = mpmath.exp(mpmath.mpf(epsilon))
        p = e / (1 + e)
        truth = (2 * p - 1) ** 2 * (1 / p + 1 / (1 - p))
        found = dv.dp.RandomizedResponse(epsilon)
        assert dv.dp.f_divergence(found, "chi-squared").value == pytest.approx(float(truth), rel=1e-12)
        assert dv.dp.abs_chi(found, 2.0).value == pytest.approx(float(mpmath.sqrt(truth)), rel=1e-12)


@pytest.mark.thin
@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [1e-12, 1e-8, 1e-4, 0.3])
@pytest.mark.parametrize("alpha", [2, 3, 16, 64])
def test_renyi_of_sampled_gaussians_keeps_its_digits_at_every_rate(sigma: float, rate: float, alpha: int) -> None:
    with mpmath.workdps(60):
        r, s = mpmath.mpf(rate), mpmath.mpf(sigma)
        moment = sum(
            mpmath.binomial(alpha, k) * (1 - r) ** (alpha - k) * r**k * mpmath.exp(k * (k - 1) / (2 * s * s))
            for k in range(alpha + 1)
        )
        truth = mpmath.log(moment) / (alpha - 1)
        removed, _ = privacy_losses(dv.dp.PoissonSampled(dv.dp.GaussianMechanism(sigma), rate))
        assert removed.renyi(alpha) == pytest.approx(float(truth), rel=1e-10)


def test_a_claim_near_zero_is_not_kept_by_a_margin() -> None:
    sampled = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 1e-6)
    measured = dv.dp.renyi_dp(sampled, 16).value
    assert measured == pytest.approx(1.375e-11, rel=1e-3)
    for claim in (1e-13, 0.0, measured / 2):
        assert not dv.RDP(16, claim).holds_for(sampled)
        assert not dv.guarantees.KL(claim / 1e3).holds_for(sampled)
    assert dv.RDP(16, measured * (1 + 1e-9)).holds_for(sampled)
    nothing = [[0.1, 0.9], [0.1, 0.9]]
    for claim in (dv.RDP(16, 0), dv.guarantees.KL(0), dv.guarantees.TV(0), dv.ZCDP(0), dv.ADP(0, 0)):
        assert claim.holds_for(nothing)


@pytest.mark.parametrize(("sigma", "shift"), [(0.02, 1), (0.5, 2), (1.0, 1), (3.0, 4)])
@pytest.mark.parametrize("alpha", [1.5, 3.0, 40.0, 300.0])
def test_renyi_of_the_discrete_gaussian_beyond_the_atoms_that_doubles_hold(
    sigma: float, shift: int, alpha: float
) -> None:
    """sum_k p_k (p_k / p_(k - s))^h: the terms that count lie h s away, where p_k is no double."""
    (loss,) = privacy_losses(dv.dp.DiscreteGaussianMechanism(sigma, shift))
    with mpmath.workdps(50):
        v, h, centre = 2 * mpmath.mpf(sigma) ** 2, mpmath.mpf(alpha) - 1, round((alpha - 1) * shift)
        near = range(-int(14 * sigma) - 3, int(14 * sigma) + 4)
        total = sum(mpmath.exp(-(mpmath.mpf(k) ** 2) / v) for k in near)
        moment = sum(
            mpmath.exp(-(mpmath.mpf(k) ** 2) / v + h * (mpmath.mpf(shift - 2 * k) * shift) / v)
            for k in range(-centre - int(14 * sigma) - 3, -centre + int(14 * sigma) + 4)
        )
        assert loss.renyi(alpha) == pytest.approx(float(mpmath.log(moment / total) / h), rel=1e-10)


def test_a_discrete_gaussian_has_no_largest_loss() -> None:
    assert dv.dp.epsilon_from_delta(dv.dp.DiscreteGaussianMechanism(1.0), 0.0).value == math.inf
    assert dv.compose((dv.dp.DiscreteGaussianMechanism(1.0), 3)).pure_epsilon == math.inf


def test_a_tiny_promise_gives_a_tiny_delta() -> None:
    """min over alpha of e^((alpha - 1) (rho alpha - e)) at alpha = e / (2 rho) = 1e16: about e^(-e^2 / (4 rho))."""
    found = dv.compose(dv.dp.ZcdpRelease(5e-30)).delta(1e-13).upper
    assert 0 < found <= math.exp(-(1e-26) / 2e-29)
    for rho in (1e-20, 1e-8, 1.0, 1e4):
        epsilon = rho + 12 * math.sqrt(rho)
        assert dv.compose(dv.dp.ZcdpRelease(rho)).delta(epsilon).upper <= math.exp(-36) * (1 + 1e-9)


def test_renyi_divergences_of_an_exponential_mechanism_of_any_epsilon() -> None:
    for epsilon in (1e100, 1e150):
        loss = dv.dp.privacy_losses(dv.dp.ExponentialMechanism(epsilon))[0]
        for alpha in (1.5, 2.0, 100.0):
            assert 0.9 * epsilon <= loss.renyi(alpha) <= epsilon


@pytest.mark.parametrize("mu", [1.0, 1e8, 1e12, 1e30, 1e60])
def test_gaussians_of_any_width_keep_their_divergences(mu: float) -> None:
    """Closed forms; of half the records, or one of three, the sample alone is uncertain: nothing else stays hidden."""
    gaussian = dv.dp.GaussianMechanism(1 / mu)
    assert dv.dp.f_divergence(gaussian, "kl").value == pytest.approx(mu**2 / 2, rel=1e-9)
    assert dv.dp.f_divergence(gaussian, "hellinger").value == pytest.approx(-2 * math.expm1(-(mu**2) / 8), rel=1e-9)
    if mu >= 1e8:
        kl = 0.5 * (mu**2 / 2 - math.log(2)) - 0.5 * math.log(2)
        assert dv.dp.kl_privacy(dv.dp.PoissonSampled(gaussian, 0.5)).value == pytest.approx(kl, rel=1e-6)
        assert not dv.guarantees.KL(1).holds_for(dv.dp.FixedSizeSampled(gaussian, 1, 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: dv.dp.GaussianMechanism(10**400),
        lambda: dv.dp.GaussianMechanism(2**70),
        lambda: dv.dp.GaussianMechanism("1"),
        lambda: dv.dp.GaussianMechanism(1, sensitivity=10**5000),
        lambda: dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1), 1e-320),
        lambda: dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1), 2, math.inf),
        lambda: dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(1), 1, 10**300),
    ],
)
def test_what_no_double_can_hold_is_refused(make: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="must be"):
        make()


FAR: list[tuple[list[Any], list[list[tuple[float, float]]], int]] = [
    ([dv.Channel([[1, 2e-12], [0.5, 0.5]])], [[(1, 0.5), (2e-12, 0.5)]], 7),
    ([dv.Channel([["1/2", "1/2"], ["1/1000000000", "999999999/1000000000"]])], [[(0.5, 1e-9), (0.5, 1 - 1e-9)]], 3),
    ([(dv.dp.RandomizedResponse(math.log(10**9 - 1)), 2)], [[(1 - 1e-9, 1e-9), (1e-9, 1 - 1e-9)]] * 2, 1),
]


@pytest.mark.parametrize(("subjects", "rows", "count"), FAR, ids=["one", "rational", "two"])
@pytest.mark.parametrize("delta", [1e-3, 1e-20, 1e-60, 1e-200] if THOROUGH else [1e-3, 1e-200])
def test_atoms_far_apart_beside_gaussian_noise(
    subjects: list[Any], rows: list[list[tuple[float, float]]], count: int, delta: float
) -> None:
    """Where the atoms sit at their end, the Gaussian part decides: the sum of shifted closed forms, at 60 digits."""
    with mpmath.workdps(60):
        mu = mpmath.sqrt(count) / 10

        def gaussian(e: Any) -> Any:
            return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)

        def of(pairs: list[list[tuple[Any, Any]]], epsilon: float) -> Any:
            sums: list[tuple[Any, Any]] = [(mpmath.mpf(0), mpmath.mpf(1))]
            for atoms in pairs:
                sums = [(s + mpmath.log(p / q), w * p) for s, w in sums for p, q in atoms]
            return mpmath.fsum(w * gaussian(epsilon - s) for s, w in sums)

        def true(epsilon: float) -> Any:
            both = [[[(mpmath.mpf(v[i]), mpmath.mpf(v[1 - i])) for v in row] for row in rows] for i in (0, 1)]
            return max(of(pairs, epsilon) for pairs in both)

        found = dv.compose(*subjects, (dv.dp.GaussianMechanism(10), count)).epsilon(delta)
        assert found.upper - found.lower < 1e-5
        assert true(found.upper + 1e-7) <= delta <= true(found.lower - 1e-7)


def test_an_end_of_doubles_beside_noise_costs_no_time() -> None:
    """No tilt goes beyond what doubles can tell from 0, though a part of small losses never sits at its end."""
    found = dv.compose((dv.dp.RandomizedResponse(0.001, 10), 2), (dv.dp.GaussianMechanism(10), 1000)).delta(300.0)
    assert found.lower == 0
    assert found.upper < 1e-300
