"""The privacy loss of a pair against its definition, by sums over subsets and in high precision."""

import math
from fractions import Fraction
from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, random_channel

import divulge as dv
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import ExponentialLoss, GaussianLoss, LaplaceLoss


def rows(seed, size, zeros, exact=False):
    return random_channel(np.random.default_rng(seed), 2, size, zeros=zeros, exact=exact).matrix


def largest_over_sets(p, q, epsilon):
    outcomes = range(len(p))
    sets = (s for k in range(len(p) + 1) for s in combinations(outcomes, k))
    return max(mp.fsum(mp.mpf(p[o]) - mp.exp(epsilon) * mp.mpf(q[o]) for o in s) for s in sets)


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 8), st.sampled_from([0.0, 0.4]), st.floats(-3, 6))
def test_delta_is_the_largest_excess_over_all_sets(seed, size, zeros, epsilon):
    p, q = rows(seed, size, zeros)
    with mp.workdps(40):
        expected = largest_over_sets(p, q, epsilon)
        assert dv.dp.PrivacyLoss.between(p, q).delta(epsilon) == pytest.approx(float(expected), rel=1e-12, abs=1e-15)


@settings(max_examples=few(25), deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 7), st.sampled_from([0.0, 0.4]), st.floats(-3, 6))
def test_exact_rows_give_the_nearest_double(seed, size, zeros, epsilon):
    p, q = rows(seed, size, zeros, exact=True)
    loss = dv.dp.PrivacyLoss.between(p, q)
    with mp.workdps(340):
        fractions = [[mp.mpf(v.numerator) / v.denominator for v in row] for row in (p, q)]
        assert loss.delta(epsilon) == float(largest_over_sets(*fractions, mp.mpf(epsilon)))
        both = [(a, b) for a, b in zip(*fractions, strict=True) if a > 0 and b > 0]
        if not loss.infinite:
            mean = mp.fsum(a * mp.log(a / b) for a, b in both)
            assert loss.mean() == float(mean)
            assert loss.renyi(2.5) == float(mp.log(mp.fsum(a * (a / b) ** mp.mpf(1.5) for a, b in both)) / 1.5)


@settings(max_examples=few(60), deadline=None)
@given(
    st.integers(0, 10**9), st.integers(1, 9), st.sampled_from([0.0, 0.4]), st.booleans(), st.floats(0, 1)
)  # fmt: skip
def test_twins(seed, size, zeros, exact, delta):
    loss = dv.dp.PrivacyLoss.between(*rows(seed, size, zeros, exact))
    for inverse, forward in ((loss.epsilon, loss.delta), (loss.quantile, loss.tail)):
        epsilon = inverse(delta)
        if epsilon == math.inf:
            assert loss.infinite > delta
            continue
        assert forward(epsilon) <= delta
        if epsilon > 0:
            assert forward(epsilon - 1e-9 * max(1.0, epsilon)) > delta * (1 - 1e-12)


@pytest.mark.parametrize("mu", [1e-6, 0.1, 0.7, 1.0, 3.0, 12.0])
def test_gaussian_delta_to_1e_300(mu):
    loss = GaussianLoss(mu)
    epsilons = np.concatenate([[-3.0, -0.1, 0.0], mu * np.array([0.3, 1, 4, 12, 20, 30, 36])])
    with mp.workdps(60):
        m = mp.mpf(mu)
        for epsilon, delta in zip(epsilons, loss.delta(epsilons), strict=True):
            e = mp.mpf(epsilon)
            expected = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            assert delta == pytest.approx(float(expected), rel=1e-12)


def test_atoms_reach_1e_300():
    tiny = Fraction(1, 10**300)
    loss = dv.dp.PrivacyLoss.between([Fraction(1, 2), Fraction(1, 2) - tiny, tiny], [Fraction(1, 2), Fraction(1, 2), 0])
    assert loss.delta(0.5) == 1e-300
    gaussian = dv.dp.DiscreteGaussianMechanism(5.0).losses()[0]
    with mp.workdps(60):
        weight = {k: mp.exp(-(mp.mpf(k) ** 2) / 50) for k in range(-260, 260)}
        total = mp.fsum(weight.values())
        for epsilon in (0.0, 1.0, 5.0, 7.0, 7.35):
            terms = (weight[k] - mp.exp(epsilon) * weight[k - 1] for k in range(-250, 250))
            expected = mp.fsum(t for t in terms if t > 0) / total
            assert gaussian.delta(epsilon) == pytest.approx(float(expected), rel=1e-12)
    assert 0 < gaussian.delta(7.35) < 1e-290


@pytest.mark.parametrize(
    ("loss", "step"), [(LaplaceLoss(1.3), 4000), (ExponentialLoss(1.3), 4000), (GaussianLoss(0.8), 4000)]
)
def test_continuous_losses_are_one_distribution(loss, step):
    """Tail under P and Q, delta, expectations and draws all describe the same pair."""
    t = np.linspace(-1.29, 1.29, 31)
    assert loss.delta(t) == pytest.approx(loss.tail(t) - np.exp(t) * loss.tail_under_q(t), abs=1e-14)
    assert loss.expect(np.ones_like) == pytest.approx(1.0, rel=1e-13)
    assert loss.expect(lambda v: np.exp(-v)) == pytest.approx(1.0, rel=1e-12)
    draws = loss.sample(step * 10, np.random.default_rng(7))
    assert np.mean(draws[:, None] > t, axis=0) == pytest.approx(loss.tail(t), abs=0.02)
    assert np.mean(draws) == pytest.approx(loss.expect(lambda v: v), abs=0.03)


@pytest.mark.parametrize("top", [1e-7, 0.2, 1.0, 9.0])
def test_laplace_against_the_two_densities(top):
    with mp.workdps(30):
        e = mp.mpf(top)

        def log_ratio(x):
            return abs(x - e) - abs(x)

        def expectation(f):
            return mp.quad(lambda x: mp.exp(-abs(x)) / 2 * f(log_ratio(x)), [-40, 0, e, e + 40])

        assert LaplaceLoss(top).mean() == pytest.approx(float(expectation(lambda v: v)), rel=1e-9)
        for alpha in (1.5, 2.0, 7.0):
            expected = mp.log(expectation(lambda v, a=alpha: mp.exp((a - 1) * v))) / (alpha - 1)
            assert LaplaceLoss(top).renyi(alpha) == pytest.approx(float(expected), rel=1e-7)


@settings(max_examples=few(60), deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 6), st.floats(0.05, 4), st.floats(1.01, 20))
def test_no_exponential_mechanism_exceeds_its_loss(seed, answers, epsilon, alpha):
    rng = np.random.default_rng(seed)
    before = rng.uniform(0, 3, answers)
    after = before + rng.choice([-1.0, 1.0, 0.3], answers)
    p, q = (np.exp(epsilon * u / 2) / np.exp(epsilon * u / 2).sum() for u in (before, after))
    loss, worst = dv.dp.PrivacyLoss.between(p, q), ExponentialLoss(epsilon)
    grid = np.linspace(-epsilon, epsilon, 9)
    assert (loss.delta(grid) <= worst.delta(grid) + 1e-12).all()
    assert loss.mean() <= worst.mean() + 1e-12
    assert loss.renyi(alpha) <= worst.renyi(alpha) + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_exponential_loss_is_attained_at_every_epsilon(epsilon):
    """Two answers, one of which every other data set prefers by 1 and the other by -1, with a chosen prior odds."""
    share = np.linspace(0.005, 0.995, 199)

    def pair(w):
        q = np.array([w * math.exp(-epsilon / 2), (1 - w) * math.exp(epsilon / 2)])
        return dv.dp.PrivacyLoss.between([w, 1 - w], q / q.sum())

    pairs = [pair(w) for w in share]
    for at in np.linspace(0, epsilon, 5)[:-1]:
        assert max(p.delta(at) for p in pairs) == pytest.approx(ExponentialLoss(epsilon).delta(at), rel=1e-3)
    assert max(p.mean() for p in pairs) == pytest.approx(ExponentialLoss(epsilon).mean(), rel=4e-4)
    assert max(p.renyi(3.0) for p in pairs) == pytest.approx(ExponentialLoss(epsilon).renyi(3.0), rel=4e-4)


def test_both_infinities():
    loss = dv.dp.PrivacyLoss.between([0.5, 0.5, 0.0], [0.5, 0.0, 0.5])
    assert (loss.infinite, loss.reverse().infinite) == (0.5, 0.5)
    assert loss.delta([0.0, 3.0, math.inf]).tolist() == [0.5, 0.5, 0.5]
    assert loss.mean() == loss.renyi(2.0) == loss.moment(2) == loss.variance() == math.inf
    assert loss.epsilon(0.4) == math.inf
    assert loss.epsilon(0.5) == 0.0
    disjoint = dv.dp.PrivacyLoss.between([1.0, 0.0], [0.0, 1.0])
    assert disjoint.delta(5.0) == disjoint.tail(5.0) == disjoint.delta(-1.0) == 1.0


def test_unnormalized_or_nan_rows_are_refused():
    for p in ([0.5, 0.4], [0.5, math.nan], [0.5, 0.5, 0.5]):
        with pytest.raises(dv.DivulgeError):
            dv.dp.PrivacyLoss.between(p, [0.5, 0.5])
    loss = dv.dp.PrivacyLoss.between([0.5, 0.5], [0.25, 0.75])
    for wrong in (lambda: loss.delta(math.nan), lambda: loss.epsilon(1.5), lambda: loss.renyi(0.5)):
        with pytest.raises(dv.DivulgeError):
            wrong()


@pytest.mark.parametrize(
    "wrong",
    [
        {"p": np.array([1.5, -0.5])},
        {"p": np.array([0.75, np.nan])},
        {"p": np.array([0.5, 0.25])},
        {"p_only": -0.25, "p": np.array([0.75, 0.5])},
        {"losses": np.array([1.0, 0.0])},
        {"losses": np.array([0.0, math.inf])},
        {"losses": np.array([0.0])},
    ],
)
def test_atoms_are_probabilities_of_rising_losses(wrong):
    sound = {"losses": np.array([-1.0, 1.0]), "p": np.array([0.25, 0.75]), "q": np.array([0.75, 0.25])}
    AtomicLoss(**sound)
    with pytest.raises(dv.DivulgeError):
        AtomicLoss(**{**sound, **wrong})


@pytest.mark.parametrize("rows", [[[1, 0], [0, 1]], [[0.5, 0.5, 0], [0.5, 0, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
def test_losses_without_an_end_can_be_drawn(rows: list[list[float]]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = dv.dp.privacy_losses(rows)[0].plot()
    delta = ax.lines[0].get_ydata()
    assert np.isfinite(delta).all()
    assert ax.get_ylabel() == "probability"
    matplotlib.pyplot.close(ax.figure)
