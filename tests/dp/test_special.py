"""Trade-offs, densities, quantum states and restricted adversaries against their definitions."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats
from scipy.integrate import quad
from support import THOROUGH, few, random_channel

import divulge as dv
from divulge.dp.loss.divergences import DIVERGENCES
from divulge.dp.variants.information import neighborhoods

SEEDS = st.integers(0, 10**9)


def rows(seed, m=5, n=2, zeros=0.0):
    return np.asarray(random_channel(np.random.default_rng(seed), n, m, zeros=zeros, span=1.5).floats)


@settings(max_examples=few(20), deadline=None)
@given(SEEDS, st.floats(0, 1), st.sampled_from([0.0, 0.3]))
def test_trade_off_is_the_best_randomized_test(seed, alpha, zeros):
    from scipy.optimize import linprog

    p, q = rows(seed, zeros=zeros)
    best = min(
        1 + linprog(-b, A_ub=[a], b_ub=[alpha], bounds=(0, 1)).fun for a, b in ((p, q), (q, p))
    )  # fmt: skip
    assert dv.dp.trade_off([p, q])(alpha) <= best + 1e-12
    one = dv.dp.trade_off((dv.dp.PrivacyLoss.between(p, q),))
    assert one(alpha) == pytest.approx(1 + linprog(-q, A_ub=[p], b_ub=[alpha], bounds=(0, 1)).fun, abs=1e-12)


LEVELS = np.array([1e-300, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 2.0**-40])


@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, 3.0, 30.0])
def test_trade_off_of_gaussian_noise_is_its_closed_form_at_the_level_asked(mu):
    curve = dv.dp.trade_off(dv.dp.GaussianMechanism(sigma=1 / mu))
    with mp.workdps(60):
        for alpha in LEVELS.tolist():
            z = -mp.sqrt(2) * mp.erfinv(2 * mp.mpf(alpha) - 1) if alpha > 1e-20 else -_normal_quantile(alpha)
            truth = mp.ncdf(z - mp.mpf(1 / (1 / mu)))
            assert truth * (1 - 1e-9) - mp.mpf(5) * mp.mpf(10) ** -324 <= curve(alpha) <= truth
    assert (curve(0.0), curve(1.0)) == (1.0, 0.0)


def _normal_quantile(alpha):
    return mp.findroot(lambda z: mp.log(mp.ncdf(z)) - mp.log(mp.mpf(alpha)), -37)


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0, 100.0])
def test_trade_off_of_laplace_noise_is_its_closed_form_at_the_level_asked(scale):
    curve, e = dv.dp.trade_off(dv.dp.LaplaceMechanism(scale)), mp.mpf(1 / scale)
    for alpha in map(mp.mpf, LEVELS.tolist()):
        flat = 1 / (4 * alpha) if alpha < mp.mpf(1) / 2 else 1 - alpha
        truth = 1 - mp.exp(e) * alpha if alpha < mp.exp(-e) / 2 else mp.exp(-e) * flat
        assert truth * (1 - mp.mpf(10) ** -11) <= curve(float(alpha)) <= truth + mp.mpf(10) ** -16


@pytest.mark.parametrize("base", [pytest.param(stats.logistic, marks=pytest.mark.long), stats.laplace])
def test_trade_off_of_a_density_pair_is_its_closed_form_at_the_level_asked(base):
    levels = LEVELS[1:-1] if THOROUGH else LEVELS[1:-1:3]
    exact = base.cdf(base.isf(levels) - 1.0)
    found = dv.dp.trade_off(dv.dp.DistributionPair(base(), base(1.0)))(levels)
    assert (found <= exact * (1 + 1e-13)).all()
    assert (found >= exact * (1 - 1e-9)).all()


def test_trade_off_of_pairs_that_cross_is_the_hull_of_both():
    rare, wide = dv.dp.LaplaceMechanism(1.0).losses()[0], dv.dp.GaussianMechanism(0.9).losses()[0]
    curve, alpha = dv.dp.trade_off((rare, wide)), np.linspace(0.001, 0.999, 11)
    each = np.minimum(*(dv.dp.trade_off((loss,))(alpha) for loss in (rare, wide)))
    assert (curve(alpha) <= each + 1e-12).all()
    values, fine = curve(alpha), np.linspace(1e-4, 1 - 1e-4, 2001)
    lower = np.minimum(*(dv.dp.trade_off((loss,))(fine) for loss in (rare, wide)))
    hull = [max(_through(fine, lower, a, slope) for slope in np.geomspace(0.02, 50, 200)) for a in alpha]
    assert np.abs(values - hull).max() < 1e-4
    assert values.max() < 1.0


def _through(x, y, at, slope):
    """Return the value at a point of the line of a falling slope that touches a curve from below."""
    return float((y + slope * x).min() - slope * at)


@settings(max_examples=few(20), deadline=None)
@given(SEEDS)
def test_trade_off_and_delta_are_dual(seed):
    c = rows(seed, n=3)
    curve = dv.dp.trade_off(c)
    for epsilon in (0.0, 0.3, 1.0):
        from_curve = max(1 - b - math.exp(epsilon) * a for a, b in zip(curve.alpha, curve.beta, strict=True))
        assert dv.dp.delta_from_epsilon(c, epsilon).value == pytest.approx(max(0.0, from_curve), abs=1e-12)


@settings(max_examples=few(20), deadline=None)
@given(SEEDS)
def test_gaussian_mu_is_the_least(seed):
    c = rows(seed, n=2)
    mu, curve = dv.dp.gaussian_dp(c).value, dv.dp.trade_off(c)
    a = np.linspace(1e-6, 1 - 1e-6, 4001)

    def gaussian(m):
        return stats.norm.cdf(stats.norm.isf(a) - m)

    assert (curve(a) >= gaussian(mu) - 1e-9).all()
    inside = curve.alpha[1:-1]
    assert (curve.beta[1:-1] < stats.norm.cdf(stats.norm.isf(inside) - mu * 0.999)).any()


def test_gaussian_mu_of_named_mechanisms():
    assert dv.dp.gaussian_dp(dv.dp.GaussianMechanism(2.0)).value == 0.5
    expected = -2 * stats.norm.ppf(1 / (1 + math.e))
    assert dv.dp.gaussian_dp(dv.dp.RandomizedResponse(1.0)).value == pytest.approx(expected, rel=1e-12)
    assert 0.9 < dv.dp.gaussian_dp(dv.dp.LaplaceMechanism(1.0)).value < expected


@pytest.mark.parametrize(
    "mechanism",
    [
        dv.dp.LaplaceMechanism(1.0),
        dv.dp.LaplaceMechanism(0.1),
        dv.dp.ExponentialMechanism(1.0),
        dv.dp.PoissonSampled(dv.dp.LaplaceMechanism(1.0), 0.01),
        dv.dp.FixedSizeSampled(dv.dp.LaplaceMechanism(1.0), 1, 10),
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.1),
        dv.dp.FixedSizeSampled(dv.dp.GaussianMechanism(2.0), 1, 10),
    ],
    ids=repr,
)
def test_gaussian_mu_is_enclosed(mechanism):
    """At the upper bound the Gaussian mechanism has a larger delta everywhere; below the lower bound somewhere less."""
    found = dv.dp.gaussian_dp(mechanism)
    assert found.lower <= found.value
    losses = mechanism.losses()
    epsilons = np.linspace(0.0, min(losses[0].highest, 9.0), 200)
    deltas = np.max([loss.delta(epsilons) for loss in losses], axis=0)
    above = dv.dp.GaussianMechanism(1 / found.value).losses()[0].delta(epsilons)
    assert (deltas <= above * (1 + 1e-9) + 1e-15).all()
    if losses[0].highest < math.inf:
        assert found.value - found.lower <= 1e-7 * found.value
        below = dv.dp.GaussianMechanism(1 / (found.lower * 0.999)).losses()[0].delta(epsilons)
        assert (deltas > below * (1 + 1e-12)).any()


def test_gaussian_mu_of_densities_without_end_has_no_upper_bound():
    found = dv.dp.gaussian_dp(dv.dp.DistributionPair(*PAIRS["norm"]))
    assert found.value == math.inf
    assert found.lower == pytest.approx(1.0, rel=1e-6)


PAIRS = {
    "norm": (stats.norm(0, 1), stats.norm(1, 1)),
    "laplace": (stats.laplace(0, 1), stats.laplace(1, 1)),
    "logistic": (stats.logistic(0), stats.logistic(1)),
    "t": (stats.t(5), stats.t(5, loc=1)),
    "two scales": (stats.norm(0, 1), stats.norm(0, 1.5)),
    "uniform": (stats.uniform(0, 1), stats.uniform(0.25, 1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_distribution_pairs_against_quadrature(name):
    p, q = PAIRS[name]
    loss, back = dv.dp.DistributionPair(p, q).losses()
    assert back.pair == loss.pair[::-1]
    jumps = [at for edge in (0, 0.25, 1, 1.25) for at in (np.nextafter(edge, -1), np.nextafter(edge, 2))]
    x = np.sort(np.concatenate([np.linspace(-30, 30, 100_001), jumps]))
    under_p, under_q = p.pdf(x), q.pdf(x)
    for epsilon in (0.0, 0.2, 0.7):
        e = math.exp(epsilon)
        excess = np.trapezoid(np.maximum(under_p - e * under_q, 0), x)
        bracket = loss.bracket(epsilon)
        assert loss.delta(epsilon) == pytest.approx(excess, abs=2e-7)
        assert bracket.lower <= loss.delta(epsilon) <= bracket.upper
        assert bracket.upper - bracket.lower < 1e-12
    assert loss.expect(np.ones_like) == pytest.approx(1 - loss.infinite, abs=1e-9)


def test_distribution_pairs_agree_with_closed_forms():
    gaussian, laplace = (dv.dp.DistributionPair(*PAIRS[name]).losses()[0] for name in ("norm", "laplace"))
    for epsilon in (0.0, 1.0, 5.0, 20.0):
        assert gaussian.delta(epsilon) == pytest.approx(
            dv.dp.GaussianMechanism(1.0).losses()[0].delta(epsilon), rel=1e-8
        )
    assert laplace.highest == pytest.approx(1.0)
    assert gaussian.highest == math.inf
    assert laplace.mean() == pytest.approx(math.exp(-1), rel=1e-6)
    assert gaussian.renyi(3.0) == pytest.approx(1.5, rel=1e-6)
    assert dv.dp.DistributionPair(*PAIRS["uniform"]).losses()[0].infinite == pytest.approx(0.25, abs=1e-12)
    with pytest.raises(dv.DivulgeError):
        dv.dp.DistributionPair(3.0, stats.norm())


def state(rng, d):
    a = rng.normal(size=(d, d)) + 1j * rng.normal(size=(d, d))
    rho = a @ a.conj().T
    return rho / np.trace(rho).real


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 7.0, math.inf])
def test_quantum_divergence(alpha):
    from scipy.linalg import fractional_matrix_power, logm

    rng = np.random.default_rng(3)
    for d in (2, 3):
        rho, sigma = state(rng, d), state(rng, d)
        if alpha == 1:
            expected = np.trace(rho @ (logm(rho) - logm(sigma))).real
        elif alpha == math.inf:
            root = fractional_matrix_power(sigma, -0.5)
            expected = math.log(np.linalg.eigvalsh(root @ rho @ root).max())
        else:
            s = fractional_matrix_power(sigma, (1 - alpha) / (2 * alpha))
            expected = math.log(np.trace(fractional_matrix_power(s @ rho @ s, alpha)).real) / (alpha - 1)
        assert dv.dp.quantum_renyi(rho, sigma, alpha) == pytest.approx(expected, rel=1e-8)
        p, q = rows(d, m=d)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        commuting = (turn @ np.diag(p) @ turn.T, turn @ np.diag(q) @ turn.T)
        assert dv.dp.quantum_renyi(*commuting, alpha) == pytest.approx(
            dv.dp.PrivacyLoss.between(p, q).renyi(alpha), rel=1e-9
        )


def test_quantum_states_are_checked():
    for wrong in ([[1.0, 0.0]], [[0.5, 0.0], [0.0, 0.4]], [[1.5, 0.0], [0.0, -0.5]], [[math.nan]]):
        with pytest.raises(dv.DivulgeError):
            dv.dp.quantum_renyi(wrong, wrong, 2.0)
    pure = np.diag([1.0, 0.0])
    assert dv.dp.quantum_renyi(np.eye(2) / 2, pure, 2.0) == math.inf
    assert dv.dp.quantum_dp([np.eye(2) / 2, pure], 2.0).pair == (0, 1)


@pytest.mark.parametrize("divergence", list(DIVERGENCES))
def test_all_queries_give_the_whole_divergence(divergence):
    c = rows(5, n=3, m=4)
    found = dv.dp.capacity_bounded(c, np.eye(4), divergence)
    whole = {
        "kl": lambda p, q: (p * np.log(p / q)).sum(),
        "chi-squared": lambda p, q: ((p - q) ** 2 / q).sum(),
        "hellinger": lambda p, q: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
        "jensen-shannon": lambda p, q: sum((r * np.log(2 * r / (p + q))).sum() for r in (p, q)) / 2,
    }[divergence]
    expected = max(whole(c[i], c[j]) for i, j in permutations(range(3), 2))
    assert found.value == pytest.approx(expected, rel=1e-10)
    assert found.upper == pytest.approx(expected, rel=1e-8)


def test_which_f_a_conjugate_is_of_matters_where_a_class_has_no_constants():
    """Of h = w 1[first] f = r log r - r + 1 is best at w = log 3; r log r, which is another f, at 1 + log 3."""
    rows, first = [[0.75, 0.25], [0.25, 0.75]], np.array([[1.0], [0.0]])
    ours = 0.75 * math.log(3) - 0.25 * (3 - 1)
    other = 0.75 * (1 + math.log(3)) - 0.25 * 3 - 0.75 / math.e
    assert (round(ours, 3), round(other, 3)) == (0.324, 0.548)
    found = dv.dp.capacity_bounded(rows, first, "kl")
    assert found.value == pytest.approx(ours, rel=1e-12)
    assert found.value <= found.upper <= ours * (1 + 1e-9)
    whole = dv.dp.capacity_bounded(rows, np.column_stack([first, np.ones(2)]), "kl").value
    assert whole == pytest.approx(0.5 * math.log(3), rel=1e-9)  # with constants it is the divergence, by either f
    assert "conjugate of the f" in dv.dp.capacity_bounded.__doc__


@pytest.mark.thin
@pytest.mark.parametrize("divergence", ["kl", "chi-squared", "hellinger"])
@pytest.mark.parametrize("radius", [0.2, 1.0, math.inf])
def test_restricted_queries_against_a_convex_programme(divergence, radius):
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    p, q = rows(8, m=6)
    phi = rng.normal(size=(6, 2))
    conjugate = {
        "kl": lambda h: np.exp(h) - 1,
        "chi-squared": lambda h: np.square(np.maximum(h / 2 + 1, 0)) - 1,
        "hellinger": lambda h: np.where(h < 1, 1 / np.maximum(1 - h, 1e-9), 1e9) - 1,
    }[divergence]
    limits = [{"type": "ineq", "fun": lambda w: radius**2 - w @ w}] if radius < math.inf else []
    best = -minimize(
        lambda w: q @ conjugate(phi @ w) - p @ phi @ w, np.zeros(2), method="SLSQP", constraints=limits, tol=1e-12
    ).fun
    found = dv.dp.capacity_bounded([p, q], phi, divergence, radius=radius, neighbors=[(0, 1)])
    assert found.value >= best - 1e-6
    assert found.value <= found.upper + 1e-12
    assert found.gap <= 1e-6 or found.upper == math.inf
    if found.pair == (0, 1):
        assert found.value == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("name", list(DIVERGENCES))
def test_conjugates_are_suprema(name):
    """f*(s) = sup_r s r - f(r) over a fine grid of r, and its derivatives are the differences of it."""
    d, r, h = DIVERGENCES[name], np.concatenate([np.geomspace(1e-9, 60, 150_001), np.geomspace(60, 1e9, 2000)]), 1e-5
    assert d.f(np.array([0.0, 1.0])).tolist() == [d.zero, 0.0]
    if d.slope < math.inf:
        assert float(d.f(np.array(1e12)) / 1e12) == pytest.approx(d.slope, rel=1e-5)
        assert float(d.conjugate(np.array(d.slope + 1e-9))) == math.inf
    for s in (-5.0, -1.0, 0.0, 0.2, 0.3):
        left, middle, right = (float(d.conjugate(np.array(s + k * h))) for k in (-1, 0, 1))
        assert middle == pytest.approx(float((s * r - d.f(r)).max()), abs=1e-7)
        assert float(d.conjugate_slope(np.array(s))) == pytest.approx((right - left) / (2 * h), rel=1e-6, abs=1e-7)
        slopes = [float(d.conjugate_slope(np.array(s + k * h))) for k in (-1, 1)]
        assert float(d.conjugate_curvature(np.array(s))) == pytest.approx(
            (slopes[1] - slopes[0]) / (2 * h), rel=1e-4, abs=1e-5
        )


@settings(max_examples=few(15), deadline=None)
@given(SEEDS, st.sampled_from(list(DIVERGENCES)))
def test_restricted_bounds_enclose_and_meet(seed, divergence):
    """With zeros in either row too: the value is reached, the bound lies above, no class tells more than all."""
    rng = np.random.default_rng(seed)
    p, q = rows(seed, m=5, zeros=0.2)
    phi = np.column_stack([np.ones(5), rng.normal(size=(5, 1))])
    found = dv.dp.capacity_bounded([p, q], phi, divergence, neighbors=[(0, 1)])
    whole = dv.dp.f_divergence([p, q], DIVERGENCES[divergence].f, slope=DIVERGENCES[divergence].slope).value
    assert found.value <= found.upper + 1e-12
    assert found.value <= whole + 1e-9
    assert found.gap <= 1e-3 * (1 + found.value) or found.upper == math.inf  # zeros push the best query to infinity


def test_queries_that_isolate_an_impossible_outcome_are_worth_any_amount():
    assert dv.dp.capacity_bounded([[0.5, 0.5], [1.0, 0.0]], np.eye(2), "kl").value == math.inf
    assert dv.dp.capacity_bounded([[0.5, 0.5], [1.0, 0.0]], np.ones((2, 1)), "kl").upper == pytest.approx(
        0.0, abs=1e-12
    )


@settings(max_examples=few(10), deadline=None)
@given(SEEDS)
def test_mutual_information_dp_is_the_largest_over_neighborhoods(seed):
    c = dv.Channel(rows(seed, m=4, n=5))
    line = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)]
    assert sorted(neighborhoods(c.secrets, line)) == [[0, 1, 2], [2, 3], [3, 4]]
    found = dv.dp.mutual_information_dp(c, line)
    each = [dv.measures.capacity(np.asarray(c.floats)[at]).value for at in ([0, 1, 2], [2, 3], [3, 4])]
    assert found.value == pytest.approx(max(each), abs=1e-12)
    assert found.lower <= found.value <= found.upper
    assert found.gap < 1e-11
    everyone = dv.dp.mutual_information_dp(c)
    assert dv.dp.mutual_information_dp(c, np.ones((5, 5), dtype=bool)).value == pytest.approx(everyone.value, abs=1e-12)
    assert found.value <= everyone.value + 1e-12


@settings(max_examples=few(10), deadline=None)
@given(SEEDS, st.sampled_from([0.0, 0.3]))
def test_mutual_information_dp_of_a_pair_is_its_capacity(seed, zeros):
    p, q = rows(seed, zeros=zeros)
    found = dv.dp.mutual_information_dp(dv.dp.PrivacyLoss.between(p, q))
    assert found.value == pytest.approx(dv.measures.capacity([p, q]).value, abs=1e-12)
    assert found.lower <= dv.measures.capacity([p, q]).upper
    assert found.upper >= dv.measures.capacity([p, q]).lower


def test_mutual_information_dp_of_a_gaussian_is_that_of_two_points():
    found = dv.dp.mutual_information_dp(dv.dp.GaussianMechanism(1.5))
    p, q = stats.norm(0, 1.5), stats.norm(1, 1.5)

    def surprise(x):
        return p.pdf(x) * (p.logpdf(x) - math.log((p.pdf(x) + q.pdf(x)) / 2))

    expected = quad(surprise, -20, 20, epsabs=1e-13)[0]
    assert found.lower <= expected + 1e-12
    assert found.upper >= expected - 1e-12
    assert found.gap < 1e-11
    with pytest.raises(dv.DivulgeError):
        dv.dp.mutual_information_dp(dv.dp.GaussianMechanism(1.5), neighbors=[(0, 1)])
