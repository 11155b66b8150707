"""Bounds from guesses in one run: against the theorem in 40 digits, peers' constants, and simulated promises."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import norm
from support import few

import divulge as dv
from divulge.dp.special.one_run import greatest_refuted, log_wealth


def p_value(r: int, v: int, m: int, epsilon: mp.mpf, delta: mp.mpf) -> mp.mpf:
    """Return the bound of Theorem 5.2, from binomial probabilities."""
    q = 1 / (1 + mp.exp(-epsilon))
    pmf = [mp.binomial(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    below = max(mp.fsum(pmf[v - i : v]) / i for i in range(1, v + 1))
    return mp.fsum(pmf[v:]) + 2 * m * delta * below


@pytest.mark.parametrize(
    ("m", "r", "v", "pure", "approximate"),
    [
        (1000, 1000, 600, 0.297467924, 0.297226954),
        (1000, 1000, 900, 2.021233234, 2.020645596),
        (1000, 100, 95, 2.172434043, 2.165175800),
        (1000, 100, 100, 3.492965431, 3.465376348),
        (100_000, 1500, 1429, 2.799196341, 2.668754494),
    ],
)
def test_values_of_the_theorem(m: int, r: int, v: int, pure: float, approximate: float) -> None:
    assert dv.dp.one_run(r, v, m) == pytest.approx(pure, abs=6e-10)
    assert dv.dp.one_run(r, v, m, delta=1e-5) == pytest.approx(approximate, abs=6e-10)


def test_the_bound_is_where_the_theorem_in_40_digits_has_the_risk() -> None:
    rng = np.random.default_rng(0)
    with mp.workdps(40):
        for _ in range(few(60, least=8)):
            r = int(rng.integers(1, 60))
            m, v = r + int(rng.integers(0, 100)), int(rng.integers(1, r + 1))
            delta, confidence = float(rng.choice([0.0, 1e-6, 1e-3])), float(rng.choice([0.5, 0.9, 0.95]))
            found = dv.dp.one_run(r, v, m, delta, confidence)
            risk = 1 - mp.mpf(confidence)
            if found:
                assert p_value(r, v, m, mp.mpf(found), mp.mpf(delta)) <= risk
            assert p_value(r, v, m, mp.mpf(found) + mp.mpf(10) ** -7, mp.mpf(delta)) > risk


def test_all_right_and_none_right() -> None:
    assert dv.dp.one_run(100, 100) == pytest.approx(-math.log(0.05 ** (-1 / 100) - 1), abs=1e-9)
    assert dv.dp.one_run(100, 0) == dv.dp.one_run(4, 4) == dv.dp.one_run_gaussian(100, 0) == 0
    assert dv.dp.one_run(5, 5) > 0


def refutes(c: int, n: int, m: int, mu: mp.mpf, risk: mp.mpf) -> bool:
    """Return whether mu is refuted, by the recursion of the paper in many digits."""
    r, h = risk * c / m, risk * (n - c) / m
    for i in range(c - 1, -1, -1):
        quantile = mp.sqrt(2) * mp.erfinv(2 * r - 1) if r < 1 else mp.inf
        higher = max(h, mp.ncdf(quantile - mu))
        r, h = min(r + mp.mpf(i) / (n - i) * (higher - h), mp.mpf(1)), higher
    return r + h > mp.mpf(n) / m


@pytest.mark.parametrize(("n", "c", "m"), [(300, 210, 300), (60, 50, 90), (12, 12, 40)])
def test_gaussian_bounds_are_those_of_the_recursion(n: int, c: int, m: int) -> None:
    found = dv.dp.one_run_gaussian(n, c, m)
    with mp.workdps(30):
        risk = 1 - mp.mpf(0.95)
        assert refutes(c, n, m, mp.mpf(found), risk)
        assert not refutes(c, n, m, mp.mpf(found) + mp.mpf(10) ** -8, risk)


def frontier(points: np.ndarray) -> np.ndarray:
    """Return the corners of the concave hull of a curve of counts."""
    kept: list[int] = []
    for i in range(len(points)):
        while len(kept) > 1:
            (a, b), (c, d) = points[kept[-1]] - points[kept[-2]], points[i] - points[kept[-1]]
            if b * c - d * a > 0:
                break
            kept.pop()
        kept.append(i)
    return np.array(kept)


CONSTANTS = [(4, 4.395568, 9.133752), (2, 2.311945, 4.7218075), (1, 1.13346, 2.164749)]


@pytest.mark.long
@pytest.mark.parametrize(("shift", "pure", "gaussian"), CONSTANTS[: few(3, least=1)])
def test_constants_of_jax_privacy(shift: int, pure: float, gaussian: float) -> None:
    """Quantiles of two normal distributions, guesses "in" above thresholds at the corners, a share of the risk each."""
    n, delta = 10_000, 1e-6
    out = norm.ppf((np.arange(n) + 0.5) / n)
    thresholds = np.concatenate([np.unique(np.concatenate([out, out + shift])), [math.inf]])
    wrong = np.searchsorted(out, thresholds), np.searchsorted(out + shift, thresholds)
    corners = frontier(np.column_stack([wrong[1], wrong[0]]))
    confidence = 1 - 0.05 / len(corners)
    right, false = n - wrong[1][corners], n - wrong[0][corners]
    alone = betaincinv(np.maximum(right, 1), false + 1, 1 - confidence)  # with delta = 0
    best = best_mu = 0.0
    for i in np.argsort(-alone).tolist():
        guesses, hits = int(right[i] + false[i]), int(right[i])
        if hits and alone[i] > 1 / (1 + math.exp(-best)):
            best = max(best, dv.dp.one_run(guesses, hits, 2 * n, delta, confidence))
        if hits and hits > guesses * norm.cdf(best_mu / 2):
            best_mu = max(best_mu, dv.dp.one_run_gaussian(guesses, hits, 2 * n, confidence))
    loss = dv.dp.privacy_losses(dv.dp.GaussianMechanism(1 / best_mu))[0]
    assert best == pytest.approx(pure, rel=1e-5)
    assert loss.epsilon(delta) == pytest.approx(gaussian, rel=1e-5)


def test_wealth_is_a_mean_of_products() -> None:
    for h, w, epsilon in [(0, 0, 0.5), (3, 1, 0.0), (20, 4, 1.0), (7, 9, -1.0), (40, 0, 3.0)]:
        q = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        weight = 2 * mp.sqrt(1 - q)
        mean = (
            mp.quad(lambda t, h=h, w=w, q=q: (t / q) ** h * ((1 - t) / (1 - q)) ** w / mp.sqrt(1 - t), [q, 1]) / weight
        )
        assert log_wealth(np.array([h]), np.array([w]), epsilon)[0] == pytest.approx(float(mp.log(mean)), abs=1e-9)


def test_wealth_of_those_who_keep_the_promise_is_one_in_the_mean_at_any_time() -> None:
    """Over all outcomes of n guesses right with probability q, exactly: a martingale, and less for smaller chances."""
    q = 0.7
    epsilon = math.log(q / (1 - q))
    for chance, bound in [(q, 1.0), (0.5, 1.0 - 1e-3)]:
        for n in (1, 2, 5, 12):
            h = np.arange(n + 1)
            mass = np.array([math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in h.tolist()])
            mean = float(mass @ np.exp(log_wealth(h, n - h, epsilon)))
            assert mean == pytest.approx(1.0, abs=1e-12) if chance == q else mean < bound


def _ordered(rng: np.random.Generator, m: int, epsilon: float) -> np.ndarray:
    """Return right guesses of randomized response, all as sure as each other."""
    return rng.random(m) < 1 / (1 + math.exp(-epsilon))


@pytest.mark.long
@pytest.mark.parametrize(
    "bound",
    [
        lambda right: dv.dp.anytime(right),
        lambda right: dv.dp.one_run(len(right), int(right.sum())),
    ],
)
def test_the_truth_is_refuted_as_seldom_as_promised(bound: Callable[[np.ndarray], float]) -> None:
    rng, runs = np.random.default_rng(3), few(1000, least=250)
    missed = sum(bound(_ordered(rng, 200, 1.0)) > 1.0 for _ in range(runs))
    assert missed <= 0.05 * runs + 3 * math.sqrt(0.05 * 0.95 * runs)


def test_looking_at_all_numbers_of_guesses_pays() -> None:
    """Against the best number of guesses with its share of the risk (Bonferroni), means over runs."""
    rng = np.random.default_rng(0)
    for m, shift, least, other in [(200, 2, 2.437, 1.930), (1000, 4, 5.115, 4.342)][: few(2, least=1)]:
        found = []
        for _ in range(few(30, least=5)):
            inside = rng.random(m) < 0.5
            ordered = inside[np.argsort(-rng.normal(shift * inside))]
            right = np.empty(m, dtype=bool)
            right[0::2], right[1::2] = ordered[: m // 2], ~ordered[::-1][: m // 2]
            found.append(dv.dp.anytime(right))
        assert np.mean(found) > (least + other) / 2


def test_what_does_not_fall_is_seen_on_the_grid() -> None:
    assert greatest_refuted(lambda level: level < 1 or 2 < level < 3) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dv.dp.one_run(10, 11),
        lambda: dv.dp.one_run(10, 5, trials=9),
        lambda: dv.dp.one_run(10, 5, delta=1.0),
        lambda: dv.dp.one_run(10, 5, delta=math.nan),
        lambda: dv.dp.one_run(10, 5, confidence=1.0),
        lambda: dv.dp.one_run(10, 5, confidence=math.nan),
        lambda: dv.dp.one_run_gaussian(10, 5, 9),
        lambda: dv.dp.anytime([1, 0], base_rate=0),
        lambda: dv.dp.anytime([1, 2]),
    ],
)
def test_what_is_refused(wrong: Callable[[], float]) -> None:
    with pytest.raises(dv.DivulgeError):
        wrong()
