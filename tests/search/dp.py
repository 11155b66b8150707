"""Privacy loss: pairs of rows by sums, named mechanisms by their densities, compositions by listing every outcome."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
from scipy import stats
from standins import CHECKS, SUBJECTS, walked

import divulge as dv
from search.registry import at_least, at_most, between, case, mpf, same
from search.subjects import Drawn, distribution, drawn, pick

Row = list[mp.mpf]


def pairs(d: Drawn) -> list[tuple[Row, Row]]:
    return [(a, b) for i, a in enumerate(d.c) for j, b in enumerate(d.c) if i != j]


def delta(p: Row, q: Row, epsilon: mp.mpf) -> mp.mpf:
    return mp.fsum(max(a - mp.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))


def renyi(p: Row, q: Row, a: mp.mpf) -> mp.mpf:
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return mp.inf
    if a == 1:
        return mp.fsum(x * mp.log(x / y) for x, y in zip(p, q, strict=True) if x > 0)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True) if x > 0)) / (a - 1)


def abs_chi(p: Row, q: Row, a: mp.mpf) -> mp.mpf:
    if a > 1 and any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return mp.inf
    terms = (y * abs(x / y - 1) ** a if y > 0 else x for x, y in zip(p, q, strict=True))
    return mp.fsum(terms) ** (1 / a)


@case(
    "delta_from_epsilon",
    "epsilon_from_delta",
    "tail_from_epsilon",
    "epsilon_from_tail",
    "total_variation",
    "kl_privacy",
    "renyi_dp",
    "f_divergence",
    "abs_chi",
    "relaxed_delta",
    "Worst",
    "privacy_losses",
    "PrivacyLoss",
    "ADP",
    "PDP",
    "RDP",
    "TV",
    "KL",
    "RelaxedDP",
    "AbsChi",
    "FDivergence",
)
def pairs_of_rows(rng: np.random.Generator) -> None:
    d = drawn(rng)
    channel, all_pairs = d.channel(), pairs(d)
    e = mp.mpf(float(pick(rng, [0.0, 0.1, 0.7, 3.0])))
    truth = max(delta(a, b, e) for a, b in all_pairs)
    same("delta_from_epsilon", dv.dp.delta_from_epsilon(channel, float(e)).value, truth, 1e-11, 1e-15)
    wanted = float(pick(rng, [1e-9, 1e-3, 0.1]))
    found = dv.dp.epsilon_from_delta(channel, wanted).value
    if math.isinf(found):
        assert max(mp.fsum(x for x, y in zip(a, b, strict=True) if y == 0) for a, b in all_pairs) > wanted
    else:
        at_most("delta at epsilon_from_delta", max(delta(a, b, mpf(found)) for a, b in all_pairs), wanted, 1e-12)
        if found > 1e-6:
            at_least(
                "least epsilon",
                max(delta(a, b, mpf(found) * (1 - mp.mpf(10) ** -8)) for a, b in all_pairs),
                wanted * (1 - 1e-6),
            )
    tail = [
        mp.fsum(x for x, y in zip(a, b, strict=True) if x > 0 and (y == 0 or mp.log(x / y) > e + mp.mpf(10) ** -12))
        for a, b in all_pairs
    ]
    wide = [
        mp.fsum(x for x, y in zip(a, b, strict=True) if x > 0 and (y == 0 or mp.log(x / y) > e - mp.mpf(10) ** -12))
        for a, b in all_pairs
    ]
    between(
        "tail_from_epsilon",
        max(tail) * (1 - mp.mpf(10) ** -12),
        dv.dp.tail_from_epsilon(channel, float(e)).value,
        max(wide) + mp.mpf(10) ** -15,
        1e-11,
    )
    quantile = dv.dp.epsilon_from_tail(channel, wanted).value
    if quantile < math.inf:
        past = [
            mp.fsum(
                x
                for x, y in zip(a, b, strict=True)
                if x > 0 and (y == 0 or mp.log(x / y) > mpf(quantile) + mp.mpf(10) ** -12)
            )
            for a, b in all_pairs
        ]
        at_most("tail at epsilon_from_tail", max(past), wanted, 1e-12)
    same(
        "total_variation",
        dv.dp.total_variation(channel).value,
        max(delta(a, b, mp.mpf(0)) for a, b in all_pairs),
        1e-12,
        1e-16,
    )
    same("kl_privacy", dv.dp.kl_privacy(channel).value, max(renyi(a, b, mp.mpf(1)) for a, b in all_pairs), 1e-10, 1e-17)
    order = mp.mpf(float(pick(rng, [1.0, 1.5, 4.0, 60.0])))
    same(
        "renyi_dp",
        dv.dp.renyi_dp(channel, float(order)).value,
        max(renyi(a, b, order) for a, b in all_pairs),
        1e-9,
        1e-15,
    )
    alpha = float(pick(rng, [1.0, 2.0, 3.5]))
    zeta = [abs_chi(a, b, mp.mpf(alpha)) for a, b in all_pairs]
    same("abs_chi", dv.dp.abs_chi(channel, alpha).value, max(zeta), 1e-9, 1e-15)
    hellinger = max(mp.fsum((mp.sqrt(x) - mp.sqrt(y)) ** 2 for x, y in zip(a, b, strict=True)) for a, b in all_pairs)
    got = dv.dp.f_divergence(channel, lambda r: (1 - np.sqrt(r)) ** 2, slope=1.0).value
    same("f_divergence", got, hellinger, 1e-8, 1e-14)
    outside = 0.05
    relaxed = dv.dp.relaxed_delta(channel, float(e), outside).value
    at_most("relaxed_delta", relaxed, truth + mp.mpf(10) ** -14)
    at_least("relaxed_delta", relaxed + outside + 1e-14, truth)


@case(
    "zcdp_rho",
    "zcdp_xi",
    "approximate_zcdp_rho",
    "renyi_order",
    "mean_concentrated",
    "truncated_cdp",
    "gaussian_dp",
    "trade_off",
    "TradeOff",
    "ternary_abs_chi",
    "CappedCurve",
    "MeanConcentrated",
    "ZCDP",
    "ApproximateZCDP",
    "BoundedCDP",
    "CappedCDP",
    "GDP",
    "MCDP",
    "TruncatedCDP",
    "TernaryAbsChi",
    "ADPCurve",
)
def curves(rng: np.random.Generator) -> None:
    """At random orders and levels nothing exceeds a curve that was said to hold, and it is tight on a grid."""
    d = drawn(rng, most=4, zeros=False)
    channel, all_pairs = d.channel(), pairs(d)
    grid = [mp.mpf(1) + mp.mpf(10) ** k for k in np.linspace(-4, 10, 57)]
    curve = [max(renyi(a, b, v) for a, b in all_pairs) for v in grid]
    rho = dv.dp.zcdp_rho(channel).value
    most = max(v / a for v, a in zip(curve, grid, strict=True))
    at_least("zcdp_rho", mpf(rho) + mp.mpf(10) ** -15, most, 1e-12)
    at_most("zcdp_rho is tight", rho - 1e-14, max(most, max(renyi(a, b, mp.mpf(1)) for a, b in all_pairs)), 0.2)
    start = float(rng.choice([0.0, 0.05, -0.1]))
    kept = dv.guarantees.ADPCurve.of(channel, xi=start)
    for level in (mp.mpf(10) ** -mp.mpf(float(k)) for k in rng.uniform(0, 12, 6)):
        epsilon = max(mp.mpf(0), mp.mpf(start) + mp.sqrt(mpf(kept.rho) * -mp.log(level)))
        for a, b in all_pairs:
            spent = mp.fsum(max(u - mp.exp(epsilon) * v, mp.mpf(0)) for u, v in zip(a, b, strict=True))
            at_most("ADPCurve", spent, level, 1e-12)
    xi = dv.dp.zcdp_xi(channel, float(rho) / 2).value
    at_least(
        "zcdp_xi",
        mpf(xi) + mp.mpf(10) ** -14,
        max(v - mpf(float(rho) / 2) * a for v, a in zip(curve, grid, strict=True)),
        1e-11,
    )
    approximate = dv.dp.approximate_zcdp_rho(channel, 0.01).value
    at_most("approximate_zcdp_rho", approximate, rho, 1e-9)
    level = float(curve[16]) * 0.9
    order = dv.dp.renyi_order(channel, level).value
    if order >= 1 and order < 1e6:
        at_most("renyi_order", max(renyi(a, b, mpf(order)) for a, b in all_pairs), level, 1e-9)
    mean = dv.dp.mean_concentrated(channel)
    same("mean", mean.mu, max(renyi(a, b, mp.mpf(1)) for a, b in all_pairs), 1e-10, 1e-17)
    highest = max(max(mp.log(x / y) for x, y in zip(a, b, strict=True) if x > 0) for a, b in all_pairs)
    same("truncated_cdp", dv.dp.truncated_cdp(channel).xi, highest, 1e-9, 1e-13)
    mu = dv.dp.gaussian_dp(channel).value
    for alpha in (0.03, 0.3, 0.8):
        best = min(error(a, b, mp.mpf(alpha)) for a, b in all_pairs)
        same("trade_off", dv.dp.trade_off(channel)(alpha), hull(all_pairs, mp.mpf(alpha)), 1e-7, 1e-9)
        at_most("gaussian_dp", mp.ncdf(normal_quantile(1 - mp.mpf(alpha)) - mpf(mu)), best + mp.mpf(10) ** -9)
    a, b, r = (d.c[int(i)] for i in rng.integers(len(d.c), size=3))
    triple = mp.sqrt(mp.fsum((x - y) ** 2 / z for x, y, z in zip(a, b, r, strict=True) if z > 0))
    at_least("ternary_abs_chi", dv.dp.ternary_abs_chi(channel, 2).value * (1 + 1e-12) + 1e-15, triple)


def hull(all_pairs: list[tuple[Row, Row]], alpha: mp.mpf) -> mp.mpf:
    """Return the lower convex hull of all trade-offs: the least mean of two corners about alpha."""
    corners = {(x, error(p, q, x)) for p, q in all_pairs for x in corners_of(p, q)}
    left, right = ([one for one in corners if (one[0] <= alpha) == side] for side in (True, False))
    return min((a[1] * (b[0] - alpha) + b[1] * (alpha - a[0])) / (b[0] - a[0]) for a in left for b in right)


def corners_of(p: Row, q: Row) -> list[mp.mpf]:
    """Return the type I errors at which the best test changes, 0 and 1 among them."""
    order = sorted(range(len(p)), key=lambda y: -q[y] / p[y] if p[y] > 0 else -mp.inf)
    return [mp.mpf(0), *(min(mp.fsum(p[y] for y in order[: k + 1]), mp.mpf(1)) for k in range(len(p))), mp.mpf(1)]


def error(p: Row, q: Row, alpha: mp.mpf) -> mp.mpf:
    """Return the least type II error of a test of P against Q at type I error alpha (Neyman and Pearson)."""
    left, missed = alpha, mp.mpf(1)
    for a, b in sorted(zip(p, q, strict=True), key=lambda pair: -pair[1] / pair[0] if pair[0] > 0 else -mp.inf):
        share = mp.mpf(1) if a <= left else left / a
        missed -= share * b
        left -= share * a
        if share < 1:
            break
    return missed


def normal_quantile(p: mp.mpf) -> mp.mpf:
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


@case(
    "GaussianMechanism",
    "LaplaceMechanism",
    "RandomizedResponse",
    "DiscreteLaplaceMechanism",
    "DiscreteGaussianMechanism",
    "ExponentialMechanism",
    "DistributionPair",
    "AdpRelease",
    "ZcdpRelease",
)
def named_mechanisms(rng: np.random.Generator) -> None:
    e, scale = mp.mpf(float(rng.uniform(0, 3))), mp.mpf(float(rng.uniform(0.3, 5)))
    gauss = mp.ncdf(1 / (2 * scale) - e * scale) - mp.exp(e) * mp.ncdf(-1 / (2 * scale) - e * scale)
    same(
        "gaussian", dv.dp.delta_from_epsilon(dv.dp.GaussianMechanism(float(scale)), float(e)).value, gauss, 1e-9, 1e-18
    )
    laplace = max(mp.mpf(0), 1 - mp.exp((e - 1 / scale) / 2))
    same(
        "laplace", dv.dp.delta_from_epsilon(dv.dp.LaplaceMechanism(float(scale)), float(e)).value, laplace, 1e-11, 1e-15
    )
    epsilon, k = mp.mpf(float(rng.uniform(0.1, 4))), int(rng.integers(2, 6))
    keep = mp.exp(epsilon) / (mp.exp(epsilon) + k - 1)
    response = max(mp.mpf(0), keep - mp.exp(e) * (1 - keep) / (k - 1))
    same(
        "response",
        dv.dp.delta_from_epsilon(dv.dp.RandomizedResponse(float(epsilon), k), float(e)).value,
        response,
        1e-11,
        1e-15,
    )
    b = mp.exp(-1 / scale)
    mass = [(1 - b) / (1 + b) * b ** abs(i) for i in range(-400, 401)]
    moved = [(1 - b) / (1 + b) * b ** abs(i - 1) for i in range(-400, 401)]
    same(
        "discrete laplace",
        dv.dp.delta_from_epsilon(dv.dp.DiscreteLaplaceMechanism(float(scale)), float(e)).value,
        delta(mass, moved, e),
        1e-9,
        1e-13,
    )
    weights = [mp.exp(-(mp.mpf(i) ** 2) / (2 * scale**2)) for i in range(-200, 201)]
    total = mp.fsum(weights)
    lattice = [w / total for w in weights]
    shifted = [mp.exp(-(mp.mpf(i - 1) ** 2) / (2 * scale**2)) / total for i in range(-200, 201)]
    same(
        "discrete gaussian",
        dv.dp.delta_from_epsilon(dv.dp.DiscreteGaussianMechanism(float(scale)), float(e)).value,
        delta(lattice, shifted, e),
        1e-9,
        1e-13,
    )
    same("exponential", dv.dp.epsilon_from_delta(dv.dp.ExponentialMechanism(float(epsilon)), 0.0).value, epsilon, 1e-12)
    at_least(
        "zcdp release",
        dv.dp.epsilon_from_delta(dv.dp.ZcdpRelease(float(1 / (2 * scale**2))), 1e-5).value,
        dv.dp.epsilon_from_delta(dv.dp.GaussianMechanism(float(scale)), 1e-5).value * (1 - 1e-9),
    )
    same("adp release", dv.dp.epsilon_from_delta(dv.dp.AdpRelease(float(epsilon), 1e-4), 1e-4).value, epsilon, 1e-9)


@case("RenyiRelease", "PoissonSampled", "FixedSizeSampled")
def standins(rng: np.random.Generator) -> None:
    """A random subject that only stands for mechanisms, mechanisms that it stands for, and some of all questions."""
    name = list(SUBJECTS)[int(rng.integers(len(SUBJECTS)))]
    walked(name, int(rng.integers(2**31)), 1, rng.permutation(list(CHECKS))[:5].tolist())


@case("PoissonSampled", "FixedSizeSampled", "DiscreteGaussianMechanism")
def noise_without_end(rng: np.random.Generator) -> None:
    """Samples of discrete Gaussian noise at orders whose moments lie beyond what doubles list."""
    sigma, shift = float(rng.uniform(0.3, 4)), int(rng.integers(1, 4))
    taken = int(rng.integers(1, 100))
    alpha = float(np.exp(rng.uniform(0.1, 6)))
    a, rate, v = mp.mpf(alpha), mp.mpf(taken / 100), 2 * mp.mpf(sigma) ** 2
    reach = int(14 * sigma) + 4
    total = mp.fsum(mp.exp(-(mp.mpf(k) ** 2) / v) for k in range(-reach, reach + 1))
    under = {
        k: mp.exp(-(mp.mpf(k - shift) ** 2) / v) / total
        for k in range(-int(alpha * shift) - reach, shift + int(alpha * shift) + reach)
    }
    pairs = [((1 - rate) * q + rate * mp.exp(-(mp.mpf(k) ** 2) / v) / total, q) for k, q in under.items()]
    mechanism = dv.dp.DiscreteGaussianMechanism(sigma, shift)
    removed, added = dv.dp.PoissonSampled(mechanism, taken / 100).losses()
    moments = [mp.fsum(p**a * q ** (1 - a) for p, q in one) for one in (pairs, [pair[::-1] for pair in pairs])]
    for loss, moment in zip((removed, added), moments, strict=True):
        same("sampled lattice", loss.renyi(alpha), mp.log(moment) / (a - 1), 1e-8, 1e-14)
    (replaced,) = dv.dp.FixedSizeSampled(mechanism, taken, 100).losses()
    up = mp.fsum(p**a * q ** (1 - a) for p, q in pairs if p > q)
    down = mp.fsum(q**a * p ** (1 - a) for p, q in pairs if p > q)
    rest = 1 - mp.fsum(p + q for p, q in pairs if p > q)
    same("replaced lattice", replaced.renyi(alpha), mp.log(up + down + rest) / (a - 1), 1e-8, 1e-14)
    power = mp.fsum(q * abs(p / q - 1) ** a for p, q in pairs) ** (1 / a)
    same("power of the ratio", removed.abs_chi(alpha), power if power < mpf(1e308) else mp.inf, 1e-8, 1e-14)


@case("DistributionPair")
def histograms(rng: np.random.Generator) -> None:
    """Two histograms with bins of very different widths and masses are two finite distributions."""
    from scipy.stats import rv_histogram

    size = int(rng.choice([2, 7, 60, 800]))
    edges = np.concatenate([[0.0], np.cumsum(np.exp(rng.uniform(-14, 0, size)))])
    p, q = (mass / mass.sum() for mass in np.exp(rng.uniform(-12, 0, (2, size))))
    loss = dv.dp.DistributionPair(*(rv_histogram((mass, edges), density=False) for mass in (p, q))).losses()[0]
    for epsilon in (0.0, float(rng.uniform(0, 2)), float(rng.uniform(0, 8))):
        truth = delta(p.tolist(), q.tolist(), mp.mpf(epsilon))
        same("delta of histograms", loss.delta(epsilon), truth, 1e-7, 1e-10)
        found = loss.bracket(epsilon)
        at_least("upper end", found.upper * (1 + 1e-9) + 1e-11, truth)
        at_least("lower end", float(truth) * (1 + 1e-9) + 1e-11, mp.mpf(found.lower))
    same("largest loss of histograms", loss.highest, mp.mpf(float(np.log(p / q).max())), 1e-8, 1e-10)
    if size <= 60:
        one = float(rng.uniform(0.05, 0.95))
        rows = [np.outer(mass, [odds, 1 - odds]).ravel() for mass, odds in ((p, one), (q, one / 2))]
        epsilon = float(rng.uniform(0, 3))
        turned = [np.outer(mass, [odds, 1 - odds]).ravel() for mass, odds in ((p, one / 2), (q, one))]
        ways = [pair[::turn] for pair in (rows, turned) for turn in (1, -1)]
        truth = max(delta(*(row.tolist() for row in way), mp.mpf(epsilon)) for way in ways)
        beside = dv.compose(loss, dv.Channel(np.array([[one, 1 - one], [one / 2, 1 - one / 2]]))).delta(epsilon)
        at_least("upper end beside a coin", beside.upper * (1 + 1e-9) + 1e-13, truth)
        at_least("lower end beside a coin", float(truth) * (1 + 1e-9) + 1e-13, mp.mpf(beside.lower))
        at_most("width beside a coin", beside.upper - beside.lower, 1e-6)  # rounding times odds of up to e^12


@case("compose")
def orders_of_lists(rng: np.random.Generator) -> None:
    """No answer depends on the order of a list; releases that differ in anything are not counted as one."""
    tiny = float(10.0 ** rng.uniform(-20, -12))
    epsilon, count = float(rng.uniform(0.01, 1)), int(rng.integers(1, 1000))
    releases = [(dv.dp.AdpRelease(epsilon, tiny), count), (dv.dp.AdpRelease(epsilon), count)]
    releases += [(dv.dp.RandomizedResponse(float(rng.uniform(0.1, 1))), 3)]
    first, second = (dv.compose(*(releases[i] for i in rng.permutation(3))) for _ in range(2))
    level = float(rng.uniform(0, 5))
    if (first.delta(level), first.epsilon(1e-6)) != (second.delta(level), second.epsilon(1e-6)):
        raise AssertionError("the order of a list counts")
    at_least("infinite loss", first.delta(1e6).upper * (1 + 1e-9), -mp.expm1(count * mp.log1p(-mp.mpf(tiny))))


@case("compose", "Composition")
def compositions(rng: np.random.Generator) -> None:
    """Every outcome of a few discrete releases is listed; Gaussians add up in closed form."""
    d = [drawn(rng, most=3, zeros=False, form="float") for _ in range(2)]
    rows = [(one.c[0], one.c[-1]) for one in d]
    channels = [dv.Channel([[float(v) for v in one.rows[0]], [float(v) for v in one.rows[-1]]]) for one in d]
    count = int(rng.integers(1, 4))
    parts = [rows[0]] * count + [rows[1]]
    found = dv.compose((channels[0], count), channels[1])
    e = mp.mpf(float(rng.uniform(0, 2)))
    p, q = ([mp.fprod(cells) for cells in itertools.product(*(side[k] for side in parts))] for k in (0, 1))
    truth = max(delta(p, q, e), delta(q, p, e))
    bracket = found.delta(float(e))
    between("compose, delta", bracket.lower * (1 - 1e-12) - 1e-15, truth, bracket.upper * (1 + 1e-12) + 1e-15)
    same("compose is tight", bracket.upper, truth, 1e-3, 1e-6)
    sigma, times = float(rng.uniform(1, 20)), int(rng.integers(1, 1000))
    mu = mp.sqrt(times) / mp.mpf(sigma)
    gauss = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
    bracket = dv.compose((dv.dp.GaussianMechanism(sigma), times)).delta(float(e))
    between("gaussians", bracket.lower * (1 - 1e-9), gauss, bracket.upper * (1 + 1e-9) + 1e-300, 1e-9)


@case("PoissonSampled", "FixedSizeSampled", "to_dp_accounting", "from_dp_accounting")
def sampled(rng: np.random.Generator) -> None:
    """A sampled randomized response is a mixture of two rows: listed, several times over."""
    epsilon, rate, times = float(rng.uniform(0.2, 3)), float(rng.uniform(0.01, 0.9)), int(rng.integers(1, 4))
    keep = mp.exp(mp.mpf(epsilon)) / (1 + mp.exp(mp.mpf(epsilon)))
    with_, without = [keep, 1 - keep], [1 - keep, keep]
    mixed = [mp.mpf(rate) * a + (1 - mp.mpf(rate)) * b for a, b in zip(with_, without, strict=True)]
    p = [mp.fprod(cells) for cells in itertools.product(*[mixed] * times)]
    q = [mp.fprod(cells) for cells in itertools.product(*[without] * times)]
    e = mp.mpf(float(rng.uniform(0, 1)))
    truth = max(delta(p, q, e), delta(q, p, e))
    found = dv.compose((dv.dp.PoissonSampled(dv.dp.RandomizedResponse(epsilon), rate), times)).delta(float(e))
    at_least("sampled response", found.upper * (1 + 1e-9) + 1e-12, truth)
    fixed = dv.compose(dv.dp.FixedSizeSampled(dv.dp.RandomizedResponse(epsilon), 1, 10)).delta(float(e)).upper
    replaced = [mp.mpf("0.1") * a + mp.mpf("0.9") * b for a, b in zip(with_, without, strict=True)]
    at_least("fixed size", fixed * (1 + 1e-9) + 1e-12, delta(replaced, without, e))
    loss = dv.dp.to_dp_accounting(dv.dp.RandomizedResponse(epsilon), step=1e-3)
    at_least("to_dp_accounting", loss.get_delta_for_epsilon(float(e)) + 1e-12, delta(with_, without, e))
    back = dv.dp.from_dp_accounting(loss)
    at_least("from_dp_accounting", max(one.delta(float(e)) for one in back) + 1e-12, delta(with_, without, e))


@case(
    "joint_pml",
    "joint_pmc",
    "leakage_bounds",
    "LeakageBounds",
    "sampled_leakage",
    "SampledLeakage",
    "leakage_growth",
    "Growth",
    "adaptively",
    "pml_given",
    "pmc_given",
)
def several_releases(rng: np.random.Generator) -> None:
    d = drawn(rng, most=3, positive_prior=True, form="float")
    channel, count = d.channel(), int(rng.integers(1, 5))
    n, m = len(d.rows), len(d.rows[0])
    most, least, mean = mp.mpf("-inf"), mp.mpf("-inf"), mp.mpf(0)
    for cells in itertools.product(range(m), repeat=count):
        like = [mp.fprod(row[y] for y in cells) for row in d.c]
        q = mp.fsum(p * v for p, v in zip(d.p, like, strict=True))
        if q > 0:
            most = max(most, mp.log(max(like) / q))
            mean += q * mp.log(max(like) / q)
            least = max(least, mp.inf if min(like) == 0 else mp.log(q / min(like)))
    releases, prior = [(channel, count)], d.joint().prior
    found = dv.dp.joint_pml(prior, *releases)
    same("joint_pml", found.max(), most, 1e-10, 1e-14)
    same("joint_pml, mean", found.mean(), mean, 1e-9, 1e-13)
    same("joint_pmc", dv.dp.joint_pmc(prior, *releases).max(), least, 1e-10, 1e-14)
    at_least("leakage_bounds", dv.dp.leakage_bounds(prior, *releases).max_pml + 1e-13, most)
    draws = dv.dp.sampled_leakage(prior, *releases, rng=0, samples=300, confidence=1 - 1e-9)
    bounds = draws.mean_bounds()
    between("sampled_leakage", bounds.lower, mean, bounds.upper, 1e-9)
    growth = dv.dp.leakage_growth(prior, channel, [count])
    same("leakage_growth", growth.mean[0] if not callable(growth.mean) else growth.mean()[0], mean, 1e-8, 1e-12)
    y = pick(rng, d.seen)
    joint = d.joint()
    after = [p * row[y] / d.q[y] for p, row in zip(d.p, d.c, strict=True)]
    likely = [x for x in range(n) if after[x] > 0]
    q = [mp.fsum(a * row[z] for a, row in zip(after, d.c, strict=True)) for z in range(m)]
    up = max(mp.log(max(d.c[x][z] for x in likely) / q[z]) for z in range(m) if q[z] > 0)
    same("pml_given", dv.dp.pml_given(joint, joint.outcomes[y], channel).max(), up, 1e-9, 1e-14)
    down = max(
        mp.inf if min(d.c[x][z] for x in likely) == 0 else mp.log(q[z] / min(d.c[x][z] for x in likely))
        for z in range(m)
        if q[z] > 0
    )
    same("pmc_given", dv.dp.pmc_given(joint, joint.outcomes[y], channel).max(), down, 1e-9, 1e-14)
    both = dv.dp.adaptively(channel, dict.fromkeys(channel.outcomes, channel))
    same("adaptively", dv.pml(dv.Joint(prior, both)).max(), dv.dp.joint_pml(prior, (channel, 2)).max(), 1e-10, 1e-13)


@case("quantum_dp", "quantum_renyi", "QuantumRDP")
def quantum(rng: np.random.Generator) -> None:
    """States that commute are distributions; a common rotation changes nothing."""
    p, q = distribution(rng, 3, span=0.5), distribution(rng, 3, span=0.5)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a = mp.mpf(float(pick(rng, [1.0, 2.0, 5.0])))
    states = [turn @ np.diag([float(v) for v in one]) @ turn.T for one in (p, q)]
    truth = renyi([mpf(v) for v in p], [mpf(v) for v in q], a)
    same("quantum_renyi", dv.dp.quantum_renyi(*states, float(a)), truth, 1e-6, 1e-10)
    back = renyi([mpf(v) for v in q], [mpf(v) for v in p], a)
    same(
        "quantum_dp", dv.dp.quantum_dp({"a": states[0], "b": states[1]}, float(a)).value, max(truth, back), 1e-6, 1e-10
    )


@case("capacity_bounded", "CapacityBounded", "CapacityBoundedDP")
def restricted(rng: np.random.Generator) -> None:
    """No query of the class tells more than the value, and all queries together tell the whole divergence."""
    d = drawn(rng, most=3, zeros=False, form="float")
    m = len(d.rows[0])
    found = dv.dp.capacity_bounded(d.channel(), np.eye(m), "chi-squared")
    whole = max(mp.fsum((x - y) ** 2 / y for x, y in zip(a, b, strict=True)) for a, b in pairs(d))
    same("capacity_bounded", found.value, whole, 1e-4, 1e-6)
    feature = rng.normal(size=(m, 1))
    one = dv.dp.capacity_bounded(d.channel(), feature, "chi-squared")
    assert Fraction(one.value) <= Fraction(found.upper) * Fraction(1000001, 1000000) + Fraction(1, 10**9)
    for a, b in pairs(d):
        scale = mp.mpf(float(rng.normal()))
        h = [scale * mp.mpf(float(v)) for v in feature[:, 0]]
        gain = mp.fsum(x * v - y * (v + v * v / 4) for x, y, v in zip(a, b, h, strict=True))
        at_least("capacity_bounded, a query", one.upper * (1 + 1e-9) + 1e-9, gain)


@case("Composition", "compose", "RandomizedResponse")
def very_many_randomized_responses(rng: np.random.Generator) -> None:
    """Binomial tails, from epsilons below the mean of the sum to such as it never comes near."""
    count, spread = int(10 ** rng.uniform(5.5, 12)), float(10 ** rng.uniform(-2, 1.5))
    epsilon = spread / math.sqrt(count)
    mean, most = count * epsilon * math.tanh(epsilon / 2), count * epsilon
    x = min(max(mean + spread * float(rng.normal() * 10 ** rng.uniform(-1, 2.5)), 0.0), most)
    found = dv.compose((dv.dp.RandomizedResponse(epsilon), count)).delta(x)
    k, p = math.floor((x / epsilon + count) / 2), 1 / (1 + math.exp(-epsilon))
    tails = [float(stats.binom.logsf(k, count, share)) for share in (p, 1 - p)]
    first, second = mp.exp(tails[0]), mp.exp(mp.mpf(x) + tails[1])
    lost = mp.exp(x) if math.isinf(tails[1]) else 1  # what is below 1e-300 is 0 to scipy, whatever it is times
    doubt = mp.mpf(10) ** -6 * first + mp.mpf(10) ** -300 * lost  # one step of k, and scipy's tails
    at_most("delta of very many", found.lower, first - second + doubt)
    at_least("delta of very many", found.upper, first - second - doubt)
