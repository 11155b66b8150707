"""Privacy losses as random variables, what compositions answer, and results of the central model in all their parts."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
from scipy.stats import logistic, norm

import divulge as dv
from search.dp import corners_of, delta, error, renyi
from search.registry import at_least, at_most, between, case, mpf, same
from search.subjects import drawn, pick, whole

Row = list[mp.mpf]


def two_rows(rng: np.random.Generator, zeros: float = 0.0, span: float = 3.0) -> tuple[list[Fraction], list[Fraction]]:
    m = int(rng.integers(2, 6))
    first, second = ([Fraction(v, 1 << 50) for v in whole(rng, m, zeros, span)] for _ in range(2))
    return first, second


@case("PrivacyLoss")
def loss_of_two_rows(rng: np.random.Generator) -> None:
    """Every answer of a loss as a sum over the outcomes."""
    first, second = two_rows(rng, float(pick(rng, [0.0, 0.3])), float(pick(rng, [0.3, 3.0])))
    exact = bool(rng.integers(2))
    given = (first, second) if exact else ([float(v) for v in first], [float(v) for v in second])
    loss = dv.dp.PrivacyLoss.between(*given)
    p, q = [mpf(v) for v in first], [mpf(v) for v in second]
    both = [(a, b) for a, b in zip(p, q, strict=True) if a > 0 and b > 0]
    gone = mp.fsum(a for a, b in zip(p, q, strict=True) if b == 0)
    same("infinite", loss.infinite, gone, 1e-13)
    assert loss.reverse().pair == loss.pair[::-1]
    assert loss.attained is loss
    if not both:
        return
    logs = [mp.log(a / b) for a, b in both]
    same("highest", loss.highest, max(logs), 1e-12, 1e-15)
    same("lowest", loss.lowest, min(logs), 1e-12, 1e-15)
    assert all(any(abs(v - t) < 1e-12 for t in logs) for v in loss.atoms_at.tolist())
    for t in (float(rng.normal()), 0.0, -0.4):
        if any(abs(v - t) < 1e-9 for v in logs):
            continue
        tail = mp.fsum(a for (a, _), v in zip(both, logs, strict=True) if v > t) + gone
        same("tail", loss.tail(t), tail, 1e-13)
        same("cdf", loss.cdf(t), 1 - tail, 1e-13, 1e-15)
        same(
            "tail_under_q",
            loss.tail_under_q(t),
            mp.fsum(b for (_, b), v in zip(both, logs, strict=True) if v > t),
            1e-13,
        )
        same("delta", loss.delta(t), delta(p, q, mp.mpf(t)), 1e-11, 1e-15)
        same(
            "expect", loss.expect(np.cosh), mp.fsum(a * mp.cosh(v) for (a, _), v in zip(both, logs, strict=True)), 1e-12
        )
    spent = float(pick(rng, [0.0, 1e-6, 0.05, 0.4]))
    for found, left in ((loss.epsilon(spent), delta), (loss.quantile(spent), beyond)):
        if found < math.inf:
            at_most(
                "at the level found", left(p, q, mpf(found) + mp.mpf(10) ** -12), mpf(spent) * (1 + mp.mpf(10) ** -9)
            )
            if found > 1e-6:
                at_least("below it", left(p, q, mpf(found) * (1 - mp.mpf(10) ** -7)), mpf(spent))
        else:
            at_least("never", gone, spent)
    order = float(pick(rng, [1.0, 1.3, 2.0, 5.0, math.inf]))
    truth = mp.inf if gone > 0 else max(logs) if order == math.inf else renyi(p, q, mp.mpf(order))
    same("renyi", loss.renyi(order), max(truth, 0), 1e-10, 1e-15)
    if gone == 0:
        mean = mp.fsum(a * v for (a, _), v in zip(both, logs, strict=True))
        same("mean", loss.mean(), mean, 1e-11, 1e-16)
        same("moment", loss.moment(3), mp.fsum(a * v**3 for (a, _), v in zip(both, logs, strict=True)), 1e-11, 1e-15)
        variance = mp.fsum(a * (v - mean) ** 2 for (a, _), v in zip(both, logs, strict=True))
        same("variance", loss.variance(), variance, 1e-10, 1e-18)
        h = float(rng.uniform(-1, 3))
        weights = [a * mp.exp(h * v) for (a, _), v in zip(both, logs, strict=True)]
        center = mp.fsum(w * v for w, v in zip(weights, logs, strict=True)) / mp.fsum(weights)
        tilted = mp.fsum(w * (v - center) ** 2 for w, v in zip(weights, logs, strict=True)) / mp.fsum(weights)
        for got in (loss.tilted_variance(h), loss.curvature(1 + h)):
            at_most("tilted_variance is a bound from below", got, tilted * (1 + mp.mpf(10) ** -12) + mp.mpf(10) ** -18)
        same("tilted_variance", loss.tilted_variance(h), tilted, 1e-6, 1e-10)
    outside, e = 0.1, mp.mpf(float(rng.uniform(0, 1)))
    at_least("relaxed", loss.relaxed(float(e), outside) + 1e-14, delta(p, q, e) - outside)
    same(
        "divergence",
        loss.divergence("hellinger"),
        mp.fsum((mp.sqrt(a) - mp.sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)),
        1e-11,
        1e-17,
    )
    same("total_variation", loss.total_variation(), delta(p, q, mp.mpf(0)), 1e-12, 1e-16)
    power = mp.fsum(abs(a - b) for a, b in zip(p, q, strict=True))
    same("abs_chi", loss.abs_chi(1.0), power, 1e-11, 1e-16)
    draws = loss.sample(50, rng)
    assert all(v == math.inf or any(abs(v - t) < 1e-9 for t in logs) for v in draws.tolist())
    assert loss.pair_alone.delta(0.3) == loss.delta(0.3)
    assert [one.delta(0.3) for one in loss.enclosing] == [loss.delta(0.3)] * 2
    assert [one.delta(0.3) for one in loss.enclosed(0.0, 1e-6)] == [loss.delta(0.3)] * 2


def beyond(p: Row, q: Row, t: mp.mpf) -> mp.mpf:
    return mp.fsum(a for a, b in zip(p, q, strict=True) if a > 0 and (b == 0 or mp.log(a / b) > t))


@case("PrivacyLoss", "GaussianMechanism", "LaplaceMechanism", "DiscreteLaplaceMechanism", "RandomizedResponse")
def closed_forms(rng: np.random.Generator) -> None:
    """Losses at every scale, 1e-12 to 1e4, against 60 digits."""
    e = 10.0 ** float(rng.uniform(-12, 4))
    top = mp.mpf(1 / (1 / e))
    (gauss,), (laplace,) = dv.dp.GaussianMechanism(1 / e).losses(), dv.dp.LaplaceMechanism(1 / e).losses()
    (response,) = dv.dp.RandomizedResponse(e).losses()
    same("gauss, mean", gauss.mean(), top**2 / 2)
    same("gauss, variance", gauss.variance(), top**2)
    same("gauss, renyi", gauss.renyi(3.0), 3 * top**2 / 2)
    same("gauss, total variation", gauss.total_variation(), mp.erf(top / mp.sqrt(8)), 1e-11)
    same("gauss, tail", gauss.tail(0.1), mp.ncdf(top / 2 - mp.mpf("0.1") / top), 1e-9, 1e-300)
    with mp.workdps(60 + int(2 * min(e, 1e3))):
        same("laplace, mean", laplace.mean(), top - 1 + mp.exp(-top), 1e-11, 1e-300)
        same("laplace, total variation", laplace.total_variation(), -mp.expm1(-top / 2), 1e-12)
        moment = (3 * mp.exp(2 * top) + 2 * mp.exp(-3 * top)) / 5
        same("laplace, renyi", laplace.renyi(3.0), mp.log(moment) / 2, 1e-10, 1e-300)
        keep, lie = 1 / (1 + mp.exp(-mpf(e))), mp.exp(-mpf(e)) / (1 + mp.exp(-mpf(e)))
        same("response, mean", response.mean(), (keep - lie) * mpf(e), 1e-11, 1e-300)
        same("response, total variation", response.total_variation(), keep - lie, 1e-11)
        growth = keep**3 / lie**2 + lie**3 / keep**2
        same("response, renyi", response.renyi(3.0), mp.log(growth) / 2, 1e-10, 1e-300)
        alpha = float(pick(rng, [1.5, 2.0, 3.0]))
        powers = lie * (keep / lie - 1) ** mp.mpf(alpha) + keep * (1 - lie / keep) ** mp.mpf(alpha)
        logs = mp.log(powers) / alpha
        if logs < 700:
            same("response, abs_chi", response.abs_chi(alpha), mp.exp(logs), 1e-9)
        else:
            at_least("response, abs_chi", response.abs_chi(alpha), mp.exp(min(logs, 709)) * (1 - mp.mpf(10) ** -9))
        squared = mp.sqrt(moment_of_order_2(top) - 1) if top < 600 else mp.inf
        if top < 600:
            same("laplace, abs_chi", laplace.abs_chi(2.0), squared, 1e-8)
        shannon = dv.dp.mutual_information_dp(dv.dp.LaplaceMechanism(1 / e))
        at_most("a bit", shannon.lower, mp.log(2))
        at_least("Pinsker", shannon.upper, (mp.expm1(-top / 2) ** 2) / 2)
    for subject in (dv.dp.DiscreteLaplaceMechanism(1 / e), dv.dp.RandomizedResponse(e)):
        (loss,) = subject.losses()
        same("the two agree", loss.delta(e / 2), response.delta(e / 2), 1e-9, 1e-15) if subject != e else None
        same("highest", loss.highest, e, 1e-12)


def moment_of_order_2(top: mp.mpf) -> mp.mpf:
    return (2 * mp.exp(top) + mp.exp(-2 * top)) / 3


@case("trade_off", "TradeOff")
def trade_off_of_noise(rng: np.random.Generator) -> None:
    """Tests of noise with a monotone likelihood ratio are half lines: errors of the closed distribution functions."""
    shift, alpha = float(10 ** rng.uniform(-2, 1)), float(pick(rng, [rng.random(), 10 ** rng.uniform(-9, -1)]))
    one, a = mpf(shift), mpf(alpha)
    kind = str(pick(rng, ["gaussian", "laplace", "logistic"]))
    if kind == "gaussian":
        curve = dv.dp.trade_off(dv.dp.GaussianMechanism(sigma=1.0, sensitivity=shift))
        truth = mp.ncdf(-mp.sqrt(2) * mp.erfinv(2 * a - 1) - one)
    elif kind == "laplace":
        curve = dv.dp.trade_off(dv.dp.LaplaceMechanism(scale=1.0, sensitivity=shift))
        flat = 1 / (4 * a) if a < mp.mpf(1) / 2 else 1 - a
        truth = 1 - mp.exp(one) * a if a < mp.exp(-one) / 2 else mp.exp(-one) * flat
    else:
        curve = dv.dp.trade_off(dv.dp.DistributionPair(logistic(), logistic(shift)))
        truth = (1 - a) / (1 - a + a * mp.exp(one))
    between("trade_off", truth * (1 - mp.mpf(10) ** -8), mpf(curve(alpha)), truth, 1e-14)
    assert len(curve.losses) == (2 if kind == "logistic" else 1)


@case("Composition", "TradeOff")
def all_of_a_composition(rng: np.random.Generator) -> None:
    """Every outcome of a few releases is listed."""
    a, b = two_rows(rng, span=1.0), two_rows(rng, span=1.0)
    if min(min(row) for row in (*a, *b)) == 0:
        return
    one, other = (dv.Channel([[float(v) for v in row] for row in pair]) for pair in (a, b))
    count = int(rng.integers(1, 4))
    found = pick(
        rng,
        [
            lambda: dv.compose((one, count), other),
            lambda: dv.compose((one, count)).then(other),
            lambda: dv.compose(other).then((one, count)),
        ],
    )()
    parts = [*[a] * count, b]
    p, q = (
        [mp.fprod(mpf(v) for v in cells) for cells in itertools.product(*(part[k] for part in parts))] for k in (0, 1)
    )
    spent, e = float(pick(rng, [1e-6, 1e-3, 0.1])), mp.mpf(float(rng.uniform(-1, 2)))
    worst = max(delta(p, q, e), delta(q, p, e))
    highest = max(abs(mp.log(x / y)) for x, y in zip(p, q, strict=True))
    bracket = found.delta(float(e))
    between("delta", bracket.lower, worst, bracket.upper, 1e-11)
    level = found.epsilon(spent)
    at_most("epsilon, upper", max(delta(p, q, mpf(level.upper)), delta(q, p, mpf(level.upper))), mpf(spent), 1e-9)
    if level.lower > 1e-9:
        below = mpf(level.lower) * (1 - mp.mpf(10) ** -9)
        at_least("epsilon, lower", max(delta(p, q, below), delta(q, p, below)), mpf(spent), 1e-9)
    for order in (1.0, 2.5):
        same("renyi", found.renyi(order), max(renyi(p, q, mp.mpf(order)), renyi(q, p, mp.mpf(order))), 1e-9, 1e-15)
    same("mean", found.mean(), max(renyi(p, q, mp.mpf(1)), renyi(q, p, mp.mpf(1))), 1e-10, 1e-16)
    between("pure_epsilon", highest, mpf(found.pure_epsilon), highest * (1 + mp.mpf(10) ** -9), 1e-12)
    assert found.infinite == 0
    for order in (1.1, 3.0, 50.0):
        top = max(renyi(p, q, mp.mpf(order)), renyi(q, p, mp.mpf(order))) / order
        at_least("zcdp", found.zcdp * (1 + 1e-11) + 1e-15, top)
    pair = found.worst_pair(spent)
    forward, back = [delta(x, y, mpf(found.epsilon(spent).lower)) for x, y in ((p, q), (q, p))]
    if abs(forward - back) > 1e-3 * spent:
        assert pair == ((0, 1) if forward > back else (1, 0)), (pair, forward, back)
    curve = found.trade_off()
    alpha = mp.mpf(float(rng.random()))
    at_most("trade_off", curve(float(alpha)), min(error(p, q, alpha), error(q, p, alpha)) + mp.mpf(10) ** -12)
    assert (curve.alpha[0], curve.alpha[-1]) == (0, 1)
    assert (np.diff(curve.beta) <= 0).all()
    mu = found.gaussian_dp()
    test = max(
        mp.mpf(0), *(normal_gap(p, q, x) for x in corners_of(p, q)), *(normal_gap(q, p, x) for x in corners_of(q, p))
    )
    at_least("gaussian_dp", mu.upper * (1 + 1e-9) + 1e-9, test)
    at_most("gaussian_dp", mu.lower * (1 - 1e-9) - 1e-9, test)
    twice = dv.compose((one, count)).times(2).delta(float(e))
    straight = dv.compose((one, 2 * count)).delta(float(e))
    between("times", twice.lower * (1 - 1e-9) - 1e-15, straight.upper, max(twice.upper, straight.upper))
    rough = found.roughly(1e-3)
    assert rough.tolerance == 1e-3
    between("roughly", rough.delta(float(e)).lower, worst, rough.delta(float(e)).upper, 1e-11)
    sigma, size = float(rng.uniform(1, 5)), int(rng.integers(1, 6))
    grouped = dv.compose(dv.dp.GaussianMechanism(sigma)).group(size).delta(1.0)
    mu_ = size / mp.mpf(sigma)
    together = mp.ncdf(mu_ / 2 - 1 / mu_) - mp.e * mp.ncdf(-mu_ / 2 - 1 / mu_)
    between("group", grouped.lower * (1 - 1e-9), together, grouped.upper * (1 + 1e-9), 1e-12)


def normal_gap(p: Row, q: Row, alpha: mp.mpf) -> mp.mpf:
    """Return the mu of the Gaussian test with the same two errors, 0 at an end."""
    beta = error(p, q, alpha)
    if not (mp.mpf(10) ** -12 < alpha < 1 - mp.mpf(10) ** -12 and mp.mpf(10) ** -12 < beta):
        return mp.mpf(0)
    return mp.sqrt(2) * (mp.erfinv(1 - 2 * alpha) - mp.erfinv(2 * beta - 1))


@case("LeakageBounds", "SampledLeakage", "Growth")
def parts_of_leakage(rng: np.random.Generator) -> None:
    d = drawn(rng, most=3, positive_prior=True, form="float")
    channel, prior, count = d.channel(), d.joint().prior, int(rng.integers(1, 5))
    n, m = len(d.rows), len(d.rows[0])
    found = dv.dp.leakage_bounds(prior, (channel, count))
    whole_ = mp.fsum(max(column) for column in zip(*d.c, strict=True))
    same("maximal_leakage", found.maximal_leakage, count * mp.log(whole_), 1e-11, 1e-14)
    columns = [column for column in zip(*d.c, strict=True) if max(column) > 0]
    apart = mp.inf if any(min(c) == 0 for c in columns) else count * mp.log(max(max(c) / min(c) for c in columns))
    same("ldp", found.ldp, apart, 1e-11, 1e-14)
    values: dict[mp.mpf, mp.mpf] = {}
    each = [mp.mpf(0)] * n
    for cells in itertools.product(range(m), repeat=count):
        like = [mp.fprod(row[y] for y in cells) for row in d.c]
        q = mp.fsum(p * v for p, v in zip(d.p, like, strict=True))
        if q > 0:
            leak = mp.log(max(like) / q)
            values[leak] = values.get(leak, mp.mpf(0)) + q
            each = [total + v * leak for total, v in zip(each, like, strict=True)]
    for name, value in found.ways.items():
        at_least(f"ways, {name}", value * (1 + 1e-12) + 1e-13, max(values))
    growth = dv.dp.leakage_growth(prior, channel, [count])
    assert growth.counts.tolist() == [count]
    assert growth.exact.all()
    for got, truth, p, limit, share in zip(
        growth.by_secret[0], each, d.p, growth.limits, growth.probabilities, strict=True
    ):
        same("by_secret", got, truth, 1e-9, 1e-13)
        same("limits", limit, -mp.log(p), 1e-12)
        same("probabilities", share, p, 1e-13)
    draws = dv.dp.sampled_leakage(
        prior, (channel, count), rng=int(rng.integers(2**31)), samples=300, confidence=1 - 1e-11
    )
    same("top", draws.top, -mp.log(min(d.p)), 1e-12)
    assert all(any(abs(v - t) < 1e-9 for t in values) for v in draws.values.tolist())
    assert set(draws.truth.tolist()) <= set(range(n))
    t = float(pick(rng, list(values))) + 1e-6
    if all(abs(v - t) > 1e-9 for v in values):
        same("tail", draws.tail(t), float((draws.values > t).mean()))
        over = draws.tail_bounds(t)
        between("tail_bounds", over.lower, mp.fsum(q for v, q in values.items() if v > t), over.upper, 1e-12)


@case("MeanConcentrated", "Worst", "CapacityBounded")
def parts_of_variants(rng: np.random.Generator) -> None:
    first, second = two_rows(rng, span=1.5)
    if min(*first, *second) == 0:
        return
    channel = dv.Channel([first, second])
    p, q = [mpf(v) for v in first], [mpf(v) for v in second]
    found = dv.dp.mean_concentrated(channel)
    spread = mp.mpf(0)
    for a, b in ((p, q), (q, p)):
        logs, mean = [mp.log(x / y) for x, y in zip(a, b, strict=True)], renyi(a, b, mp.mpf(1))
        for h in (-20, -3, -1, -0.1, 0.1, 0.7, 2, 9):
            grown = mp.fsum(x * mp.exp(h * (v - mean)) for x, v in zip(a, logs, strict=True))
            spread = max(spread, mp.sqrt(2 * mp.log(grown)) / abs(h))
    at_least("tau", found.tau * (1 + 1e-9) + 1e-12, spread)
    at_least("tau_lower", found.tau, found.tau_lower)
    for worst in (dv.dp.zcdp_rho(channel), dv.dp.kl_privacy(channel)):
        assert worst.lower <= worst.value
        assert worst.pair in ((0, 1), (1, 0))
    m = len(first)
    best = dv.dp.capacity_bounded(channel, np.eye(m), "chi-squared")
    same("gap", best.gap, best.upper - best.value, 1e-12)
    assert best.gap >= 0
    h = [mpf(v) for v in best.weights]
    x, y = (p, q) if best.pair == (0, 1) else (q, p)
    reached = mp.fsum(a * v - b * (v + v * v / 4 if v >= -2 else -1) for a, b, v in zip(x, y, h, strict=True))
    same("the weights reach the value", best.value, reached, 1e-6, 1e-9)


@case(
    "AdpRelease",
    "ZcdpRelease",
    "RenyiRelease",
    "ExponentialMechanism",
    "DiscreteGaussianMechanism",
    "DistributionPair",
    "PoissonSampled",
    "FixedSizeSampled",
)
def losses_of_mechanisms(rng: np.random.Generator) -> None:
    """A promise allows what some mechanism does that keeps it: nothing it answers lies below that."""
    e, spent = float(10 ** rng.uniform(-3, 1)), float(pick(rng, [0.0, 1e-9, 0.01]))
    share, odds = mp.mpf(spent), mp.exp(-mp.mpf(e))
    told: Any = dv.dp.AdpRelease(e, spent).losses()[0]
    level = float(rng.uniform(0, e))
    truth = share + (1 - share) * (1 - mp.exp(mp.mpf(level) - e)) / (1 + odds)
    same("AdpRelease", told.delta(level), truth, 1e-9, 1e-15)
    rho = float(10 ** rng.uniform(-9, 1))
    mu = mp.sqrt(2 * mp.mpf(rho))
    kept = dv.dp.ZcdpRelease(rho).losses()[0]
    for t in (0.0, float(rng.uniform(0, 2))):
        gauss = mp.ncdf(mu / 2 - t / mu) - mp.exp(t) * mp.ncdf(-mu / 2 - t / mu)
        at_least("ZcdpRelease", kept.delta(t) * (1 + 1e-12) + 1e-300, gauss)
    orders = (2.0, 8.0)
    promise = dv.dp.RenyiRelease(orders, tuple(a * rho for a in orders)).losses()[0]
    at_least(
        "RenyiRelease",
        promise.delta(0.1) * (1 + 1e-12) + 1e-300,
        mp.ncdf(mu / 2 - mp.mpf(0.1) / mu) - mp.exp(mp.mpf(0.1)) * mp.ncdf(-mu / 2 - mp.mpf(0.1) / mu),
    )
    worst = dv.dp.ExponentialMechanism(e).losses()[0]
    t = mp.mpf(float(rng.uniform(0, e)))
    share = mp.expm1(t - e) / mp.expm1(-mp.mpf(e))  # of two answers with losses t and t - e
    at_least("ExponentialMechanism", worst.delta(level) + 1e-14, share * max(0, 1 - mp.exp(level - t)))
    lattice = dv.dp.DiscreteGaussianMechanism(float(rng.uniform(0.3, 5)))
    (loss,) = lattice.losses()
    s = mp.mpf(lattice.sigma)
    weights = {k: mp.exp(-(mp.mpf(k) ** 2) / (2 * s * s)) for k in range(-120, 121)}
    total = mp.fsum(weights.values())
    mean = (
        mp.fsum(w * (1 - 2 * k) / (2 * s * s) for k, w in weights.items()) / total
    )  # log w(k) / w(k - 1) = (1 - 2k)/2s^2
    same("DiscreteGaussianMechanism", loss.mean(), mean, 1e-9, 1e-15)
    keep, rate = mp.exp(mp.mpf(e)) / (1 + mp.exp(mp.mpf(e))), float(rng.uniform(0.01, 1))
    mixed = [rate * keep + (1 - mp.mpf(rate)) * (1 - keep), rate * (1 - keep) + (1 - mp.mpf(rate)) * keep]
    sampled = [*dv.dp.PoissonSampled(dv.dp.RandomizedResponse(e), rate).losses()]
    fixed = [*dv.dp.FixedSizeSampled(dv.dp.RandomizedResponse(e), 1, 7).losses()]
    truth = delta(mixed, [1 - keep, keep], mp.mpf(level))
    at_least("PoissonSampled", max(loss.delta(level) for loss in sampled) * (1 + 1e-9) + 1e-13, truth)
    ratio = mp.exp(mp.mpf(e))
    rest, tells = (ratio - 1) / (ratio + 1), 1 / (ratio + 1)  # of Z; X has e^e, e^-e, e^-e times it, Y the reverse
    parts = [(tells, ratio, 1 / ratio), (rest, 1 / ratio, 1 / ratio), (tells, 1 / ratio, ratio)]
    laws = [[z * (1 - mp.mpf(rate) + mp.mpf(rate) * one[k]) for z, *one in parts] for k in (0, 1)]
    (pair_of,) = dv.dp.PoissonSampled(dv.dp.AdpRelease(e), rate, "replaced").losses()
    same("PoissonSampled", pair_of.delta(level), delta(laws[0], laws[1], mp.mpf(level)), 1e-8, 1e-13)
    replaced = [(keep + 6 * (1 - keep)) / 7, ((1 - keep) + 6 * keep) / 7]
    truth = delta(replaced, [1 - keep, keep], mp.mpf(level))
    at_least("FixedSizeSampled", max(loss.delta(level) for loss in fixed) * (1 + 1e-9) + 1e-13, truth)
    pair = dv.dp.DistributionPair(norm(0, 2), norm(1, 2)).losses()[0]
    half = mp.mpf(1) / 2
    same(
        "DistributionPair",
        pair.delta(0.3),
        mp.ncdf(half / 2 - mp.mpf(0.3) / half) - mp.exp(mp.mpf(0.3)) * mp.ncdf(-half / 2 - mp.mpf(0.3) / half),
        1e-8,
        1e-13,
    )


@case("Shuffled")
def shuffled_reports(rng: np.random.Generator) -> None:
    """Few people with a random channel, all that the others may hold, and every histogram of their reports."""
    k, outcomes, n = (int(rng.integers(2, 4)) for _ in range(3))
    weights = [[int(v) + 1 for v in rng.integers(0, 50, outcomes)] for _ in range(k)]
    rows: Any = [[mp.mpf(v) / sum(row) for v in row] for row in weights]
    (loss,) = dv.dp.Shuffled([[Fraction(v, sum(row)) for v in row] for row in weights], n).losses()
    (alone,) = dv.dp.Shuffled(max(loss.highest, 1e-9), n).losses()
    level = float(rng.uniform(0, loss.highest)) if loss.highest > 0 else 0.0
    others = [int(v) for v in rng.integers(0, k, n - 1)]
    for i, j in itertools.permutations(range(k), 2):
        both = [_histogram([rows[x], *(rows[o] for o in others)]) for x in (i, j)]
        keys = list(both[0])
        truth = delta([both[0][key] for key in keys], [both[1][key] for key in keys], mp.mpf(level))
        at_least("Shuffled", loss.delta(level) * (1 + 1e-12) + 1e-15, truth)
        at_least("Shuffled by its epsilon", alone.delta(level) * (1 + 1e-9) + 1e-15, truth)


def _histogram(rows: list[Row]) -> dict[tuple[int, ...], mp.mpf]:
    found: dict[tuple[int, ...], mp.mpf] = {}
    for reports in itertools.product(range(len(rows[0])), repeat=len(rows)):
        key = tuple(sorted(reports))
        found[key] = found.get(key, mp.mpf(0)) + mp.fprod(row[y] for row, y in zip(rows, reports, strict=True))
    return found


@case("NoisyMax", "SparseVector")
def chosen_answers(rng: np.random.Generator) -> None:
    """Two values, or one question, by integrals over the noise."""
    scale, apart = float(rng.uniform(0.5, 4)), float(rng.uniform(0, 3))
    noise = str(pick(rng, ["laplace", "exponential", "gumbel"]))
    (loss,) = dv.dp.NoisyMax(scale, 1.0, noise).losses()
    level = float(rng.uniform(0, loss.highest))
    same("NoisyMax", loss.highest, 2 / mpf(scale), 1e-13)

    def loses(gap: mp.mpf) -> mp.mpf:
        """P(the first value, larger by the gap, is not named)."""
        t = gap / mpf(scale)
        if t < 0:
            return 1 - loses(-gap)
        return {
            "laplace": mp.exp(-t) * (2 + t) / 4,
            "exponential": mp.exp(-t) / 2,
            "gumbel": 1 / (1 + mp.exp(t)),
        }[noise]

    laws = [[1 - loses(mpf(apart) + move), loses(mpf(apart) + move)] for move in (1, -1)]
    for p, q in (laws, laws[::-1]):
        at_least("NoisyMax", loss.delta(level) * (1 + 1e-12) + 1e-15, delta(p, q, mpf(level)))
    threshold, answers = float(rng.uniform(0.5, 4)), int(rng.integers(1, 4))
    (sparse,) = dv.dp.SparseVector(scale, answers, 1.0, threshold).losses()
    same("SparseVector", sparse.highest, 1 / mpf(threshold) + 2 * answers / mpf(scale), 1e-13)
    a, b = mpf(scale), mpf(threshold)

    def exceeds(t: mp.mpf) -> mp.mpf:
        """P(two Laplace variables add up to more than t)."""
        if t < 0:
            return 1 - exceeds(-t)
        return (a * a * mp.exp(-t / a) - b * b * mp.exp(-t / b)) / (2 * (a * a - b * b))

    if abs(a - b) > 1e-3:
        laws = [[1 - exceeds(mpf(apart) + move), exceeds(mpf(apart) + move)] for move in (0.5, -0.5)]
        at_least("SparseVector", sparse.delta(0.1) * (1 + 1e-12) + 1e-15, delta(laws[0], laws[1], mpf(0.1)))


@case("TreeAggregation", "Filter")
def on_the_way(rng: np.random.Generator) -> None:
    """Levels of a tree counted by halving, and how many Gaussian releases fit, by the exact square of each."""
    steps, levels = int(rng.integers(1, 10**6)), 0
    rest = steps
    while rest:
        levels, rest = levels + 1, rest // 2
    sigma = float(rng.uniform(0.5, 50))
    (loss,) = dv.dp.TreeAggregation(sigma, steps).losses()
    same("TreeAggregation", loss.mean(), levels / (2 * mpf(sigma) ** 2), 1e-13)
    rho = float(10 ** rng.uniform(-4, 1))
    left, mechanism = dv.dp.Filter(f"zcdp={rho!r}"), dv.dp.GaussianMechanism(sigma)
    most = int(mpf(rho) * 2 * mpf(sigma) ** 2 * (1 - mp.mpf(10) ** -12))
    same("bound", left.bound, rho, 1e-15)
    assert not left.fits((mechanism, most + 2))
    if most:
        assert left.fits((mechanism, most))
        same("spent", left.then((mechanism, most)).spent, most / (2 * mpf(sigma) ** 2), 1e-12)
