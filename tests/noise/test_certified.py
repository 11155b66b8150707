"""Brackets on numbers that no closed form gives, against sums over everything and high-precision quadrature."""

import math
from dataclasses import replace
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special, stats
from support import THOROUGH, few

import divulge as dv
from divulge.noise.answers.guesses import alpha_loss, power_cost
from divulge.noise.answers.ranges import between, leakage, values
from divulge.noise.answers.theorems import verdicts
from divulge.noise.laws.mixture import Mixture

KINDS = ["laplace", "gaussian", "logistic", "student-t"]
BROAD = [*KINDS, "discrete-laplace", "discrete-gaussian"]


def _random(seed: int, size: int = 6) -> tuple[str, np.random.Generator]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, size))
    x, p = np.unique(np.round(rng.uniform(-3, 3, k), 1)), rng.dirichlet(np.full(k, 0.3)) + 1e-6
    p = p[: len(x)] / p[: len(x)].sum()
    return "values(" + ", ".join(f"{v}:{w}" for v, w in zip(x, p, strict=True)) + ")", rng


@pytest.mark.thin
@pytest.mark.parametrize("kind", BROAD)
@pytest.mark.parametrize("scale", [0.02, 1.0, 40.0])
def test_blocks_and_recursions_are_the_plain_sum(kind: str, scale: float) -> None:
    rng = np.random.default_rng(5)
    noise = dv.NoiseMechanism(kind, "values(0:1)", scale=scale).noise
    places, log_w = np.arange(700) * 0.01, -np.abs(rng.normal(0, 60, 700))
    y = np.concatenate([rng.uniform(-1, 8, 40 if THOROUGH else 12), [0.0, 6.99, 3.0]])
    n = len(y)
    y, shift = (np.clip(y, 0, 6.99), rng.uniform(-2, 2, n)) if "laplace" in kind else (y, rng.uniform(-2, 2, n))
    center = np.full(n, 3.0)
    ours = Mixture(noise, places, log_w).log_sum(y, shift, center)
    terms = noise.relative(y[:, None], shift[:, None] + places, center[:, None]) + log_w
    plain = [float(mp.log(mp.fsum(mp.exp(mp.mpf(float(t))) for t in row))) for row in terms]
    assert ours == pytest.approx(plain, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_mean_of_many_valued_records_by_enumeration(kind: str) -> None:
    x, p, n = np.array([0.0, 1.0, 2.5, 7.0]), np.array([0.4, 0.3, 0.2, 0.1]), 4
    m = dv.NoiseMechanism(kind, "values(0:0.4, 1:0.3, 2.5:0.2, 7:0.1)", scale=0.3, records=n)
    means = np.array([sum(t) / n for t in product(x, repeat=n)])
    weight = np.array([math.prod(t) for t in product(p, repeat=n)])
    first = np.array([t[0] for t in product(x, repeat=n)])
    noise = stats.laplace(scale=0.3) if kind == "laplace" else stats.norm(scale=0.3)
    y = np.linspace(-1, 8, 37)
    f = noise.pdf(y[:, None] - means) * weight
    q = f.sum(axis=1)
    given_x = np.stack([f[:, first == v].sum(axis=1) / w for v, w in zip(x, p, strict=True)])
    assert m.pml(y) == pytest.approx(np.log(given_x.max(axis=0) / q), rel=1e-9, abs=1e-12)
    assert m.pmc(y) == pytest.approx(np.log(q / given_x.min(axis=0)), rel=1e-9, abs=1e-12)
    assert m.posterior(2.0).floats == pytest.approx(p * given_x[:, 12] / q[12], rel=0.5)  # y[12] = 2.0
    assert m.posterior(y[12]).floats == pytest.approx(p * given_x[:, 12] / q[12], rel=1e-9)


@settings(max_examples=few(40), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(["pml", "pmc"]), st.integers(1, 3))
def test_no_outcome_between_two_leaves_the_proved_range(seed: int, kind: str, side: str, records: int) -> None:
    text, rng = _random(seed)
    m = dv.NoiseMechanism(kind, text, scale=float(10 ** rng.uniform(-1.5, 1)), records=records)
    length = 10 ** rng.uniform(-3, 1, 30)
    left = rng.uniform(-6, 6, 30)
    ends = [values(m.law, side, y) for y in (left, left + length / 2, left + length)]
    found = between(m.law, side, *ends)
    assert found is not None
    for share in np.linspace(0, 1, 41):
        inside = leakage(m.law, side, left + share * length)
        slack = 1e-9 * (1 + np.abs(inside))
        assert (found[0] <= inside + slack).all()
        assert (inside <= found[1] + slack).all()


@settings(max_examples=few(12, least=2), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([*KINDS, "staircase"]), st.integers(1, 2))
def test_tails_and_quantiles_contain_a_fine_sum(seed: int, kind: str, records: int) -> None:
    text, rng = _random(seed, 5)
    assume("," in text)  # of one value all thresholds are the leakage itself, 0, of which nothing is certified
    m = dv.NoiseMechanism(kind, text, scale=float(10 ** rng.uniform(-1, 1)), records=records)
    s = m.noise.parameters["scale"]
    outer = np.geomspace(12 * s, 12 * s * (1e5 if kind == "student-t" else 4), 800)
    inner = np.linspace(m.law.low - 12 * s, m.law.high + 12 * s, 8001 if THOROUGH else 3001)
    y = np.unique(np.concatenate([m.law.low - outer, inner, m.law.high + outer]))
    mass, ends = np.diff(m.cdf(y)), m.pml(y)
    leak, low, high = m.pml((y[1:] + y[:-1]) / 2), np.minimum(ends[1:], ends[:-1]), np.maximum(ends[1:], ends[:-1])
    for t in (0.3 * float(leak.max()), 0.8 * float(leak.max())):
        found = m.tail(t)
        assert found.certified
        assert found.error <= 1e-9
        doubtful = float(mass[(low <= t + 1e-9) & (high >= t - 1e-9)].sum())
        assert abs(found.value - float(mass[leak > t].sum())) <= doubtful + 1e-6
    q = m.quantile(0.8)
    assert m.tail(q.upper + 1e-9).value <= 0.2 + 1e-9
    assert m.tail(max(q.lower - 1e-7, 0.0)).value >= 0.2 - 1e-6 or q.lower <= 1e-7


@settings(max_examples=few(8, least=2) if THOROUGH else 1, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_means_contain_the_high_precision_value(seed: int, kind: str) -> None:
    """Two to four values, noise from much narrower to much wider than their distances."""
    text, rng = _random(seed, 5)
    s = float(10 ** rng.uniform(-1.5, 1.5))
    m = dv.NoiseMechanism(kind, text, scale=s)
    x, p = m.secret.values, m.secret.probabilities
    assert x is not None
    assert p is not None
    density = {
        "laplace": lambda z: mp.exp(-abs(z) / s) / (2 * s),
        "gaussian": lambda z: mp.exp(-((z / s) ** 2) / 2) / (s * mp.sqrt(2 * mp.pi)),
        "logistic": lambda z: mp.sech(z / (2 * s)) ** 2 / (4 * s),
        "student-t": lambda z: 2 / (mp.sqrt(3) * mp.pi * s) / (1 + (z / s) ** 2 / 3) ** 2,
    }[kind]

    def integrand(y: mp.mpf) -> mp.mpf:
        f = [density(y - v) for v in x]
        q = mp.fsum(w * v for w, v in zip(p, f, strict=True))
        return q * mp.log(max(f) / q) if q > 0 else mp.mpf(0)

    far = [1e5, 1e3, 60, 8, 2] if kind == "student-t" else [60, 20, 8, 3, 1]
    halfway = [(a + b) / 2 for a, b in pairwise(x)]
    offsets = [v + d * s for v in x for d in (*[-c for c in far], *far)]
    cuts = sorted({*x.tolist(), *halfway, *offsets})
    with mp.workdps(20):
        exact = float(mp.quad(integrand, cuts, maxdegree=5))
    found = m.mean_pml()
    assert abs(found.value - exact) <= found.error + 3e-9
    assert found.error <= 1e-7


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("secret", ["uniform(0, 1)", "beta(2, 3)", "beta(0.5, 0.5)"])
def test_two_records_with_a_density_are_within_the_stated_error(kind: str, secret: str) -> None:
    """Against Gauss-Jacobi sums, exact for smooth noise; kinks of Laplace noise cost them a few millionths.

    Values are far better than the stated errors, which are bounds.
    """
    m = dv.NoiseMechanism(kind, secret, scale=0.15, records=2)
    x = m.secret.continuous
    a, b = (1.0, 1.0) if x.dist.name == "uniform" else x.args
    nodes, weights = special.roots_jacobi(600, b - 1, a - 1)
    nodes, weights = (1 + nodes) / 2, weights / weights.sum()
    for y in (0.31, 0.8, 1.02, 1.2) if THOROUGH else (0.31, 1.02):

        def given_x(v: np.ndarray, y: float = y) -> np.ndarray:
            return np.exp(m.noise.log_density(y - (v[:, None] + nodes) / 2)) @ weights

        q, grid = float(given_x(nodes) @ weights), given_x(np.linspace(0, 1, 2001))
        slack = 2e-5 if kind == "laplace" else 1e-6  # of the sums, and of the grid
        for side, expected in (("pml", math.log(grid.max() / q)), ("pmc", math.log(q / grid.min()))):
            error = float(m.law.error(np.array([y]), side)[0])
            off = abs(getattr(m, side)(y) - expected)
            assert off <= error + slack
            assert off <= 6e-5
            assert error <= (0.3 if secret == "beta(0.5, 0.5)" or kind == "student-t" else 2e-3)
        at = np.linspace(1e-9, 1 - 1e-9, 1001)
        if secret != "beta(0.5, 0.5)":
            assert np.trapezoid(m.posterior_density(y, at), at) == pytest.approx(1, abs=1e-4)
            given = float(given_x(np.array([0.4]))[0])
            assert m.posterior_density(y, 0.4) == pytest.approx(float(x.pdf(0.4)) * given / q, rel=1e-4)


@pytest.mark.parametrize(("kind", "secret"), [("laplace", "uniform(0, 1)"), ("gaussian", "normal(1, 2)")])
def test_binning_several_records_agrees_with_draws(kind: str, secret: str) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=0.2, records=3)
    edges, inner = np.array([0.2, 0.5, 0.9, 1.5]), np.array([0.25, 0.6])
    joint = m.binned(edges, inner)
    rng, n = np.random.default_rng(3), 500_000
    x = m.secret.continuous.rvs(size=(n, 3), random_state=rng)
    y = x.mean(axis=1) + m.noise.frozen.rvs(size=n, random_state=rng)
    drawn = np.zeros((3, 5))
    np.add.at(drawn, (np.searchsorted(inner, x[:, 0]), np.searchsorted(edges, y)), 1 / n)
    assert np.abs(np.asarray(joint.matrix, dtype=float) - drawn).max() <= 6 * math.sqrt(0.25 / n)
    if kind == "laplace":
        assert dv.pml(joint).max() <= m.pml_supremum.upper + 1e-6
        assert dv.pmc(joint).max() <= m.pmc_supremum.upper + 1e-6


def _drawn(kind: str, scale: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return draws of a noise from its definition: sums and differences of simple ones, or its masses."""
    if kind == "discrete-laplace":
        first, second = rng.geometric(-math.expm1(-1 / scale), (2, n))
        return (first - second).astype(float)
    if kind == "discrete-gaussian":
        k = np.arange(-60, 61)
        weights = np.exp(-(k**2) / (2 * scale**2))
        return rng.choice(k, p=weights / weights.sum(), size=n).astype(float)
    if kind == "staircase":
        gamma = 1 / (1 + math.exp(0.5 / scale))
        steps = rng.geometric(-math.expm1(-1 / scale), n) - 1
        inner = rng.random(n) < gamma / (gamma + math.exp(-1 / scale) * (1 - gamma))
        within = np.where(inner, gamma * rng.random(n), gamma + (1 - gamma) * rng.random(n))
        return rng.choice([-1.0, 1.0], n) * (steps + within)
    kinds = {
        "laplace": stats.laplace(),
        "gaussian": stats.norm(),
        "logistic": stats.logistic(),
        "student-t": stats.t(3),
    }
    return scale * kinds[kind].rvs(size=n, random_state=rng)


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize("kind", [*BROAD, "staircase"])
def test_draws_by_the_million_agree_with_tails(kind: str) -> None:
    rng, n = np.random.default_rng(8), few(1_000_000)
    x, p, scale = np.array([0.0, 1.0, 2.0]), [0.495, 0.01, 0.495], 0.6
    m = dv.NoiseMechanism(kind, dv.Prior(p, x.tolist()), scale=scale)
    y = rng.choice(x, p=p, size=n) + _drawn(kind, scale, n, rng)
    for side in ("pml", "pmc"):
        leak = getattr(m, side)(y)
        for t in (0.2, 0.6, 1.5):
            delta = m.tail(t, side).value
            assert abs(float(np.mean(leak > t)) - delta) <= 5 * math.sqrt(max(delta * (1 - delta), 1e-6) / n)


def test_random_priors_never_beat_the_supremum_on_a_fine_grid() -> None:
    rng = np.random.default_rng(12)
    for _ in range(few(60)):
        k = int(rng.integers(2, 12))
        x, p = np.sort(rng.uniform(0, 1, k)), rng.dirichlet(np.full(k, 0.2)) + 1e-9
        m = dv.NoiseMechanism("laplace", dv.Prior(p / p.sum(), x.tolist()), scale=float(rng.uniform(0.02, 2)))
        y = np.unique(np.concatenate([np.linspace(-1, 2, 20_001 if THOROUGH else 4001), x]))
        assert float(m.pml(y).max()) <= m.pml_supremum.upper * (1 + 1e-12)
        assert float(m.pml(x).max()) >= m.pml_supremum.lower * (1 - 1e-9) or math.isinf(m.pml_supremum.at)


@pytest.mark.parametrize(
    ("kind", "secret", "facts"),
    [
        ("laplace", "uniform(0, 1)", (True, True)),
        ("gaussian", "bernoulli(0.3)", (False, True)),
        ("gaussian", "normal(0, 1)", (False, False)),
        ("student-t", "poisson(2)", (False, False)),
        ("staircase", "rademacher()", (True, True)),
        ("discrete-gaussian", "binom(3, 0.5)", (False, True)),
    ],
)
def test_the_theorems_hold_and_say_so(kind: str, secret: str, facts: tuple[bool, bool]) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=1.0)
    fifth, sixth = m.theorems()
    assert (fifth.pmc, fifth.pml) == facts
    assert fifth.holds
    assert sixth.holds
    assert math.isfinite(sixth.ldp) == facts[0]
    assert "holds" in fifth.words
    assert "Theorem 6" in sixth.words


def test_bounded_cost_of_a_density_promises_nothing_more() -> None:
    """The source claims it for every alphabet; what is said instead has no counterexample."""
    m = dv.NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0)
    bounded, unbounded = m.pml_supremum, m.pmc_supremum
    assert [v.holds for v in verdicts(bounded, unbounded, math.inf, exact=True, finite=False)] == [True, True]
    assert [v.holds for v in verdicts(bounded, unbounded, math.inf, exact=True, finite=True)] == [False, False]
    assert verdicts(bounded, bounded, bounded.lower / 2, exact=True, finite=False)[1].holds is False  # below PML


def test_a_claim_that_fails_would_be_told() -> None:
    m = dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)
    m.__dict__["pml_supremum"] = replace(m.pml_supremum, value=math.inf, lower=math.inf, upper=math.inf)
    assert m.theorems()[0].holds is False
    assert "contradicted" in m.theorems()[0].words
    whole = m.pmc_supremum
    assert verdicts(whole, whole, math.inf, exact=False, finite=True)[1].holds is None


def test_clipped_records_have_a_density_and_atoms_after_an_outcome() -> None:
    m = dv.NoiseMechanism("logistic", "normal(0, 1)", scale=0.5, clip=(-1, 0.5))
    x = np.linspace(-1, 0.5, 20_001)
    for y in (-3.0, 0.2):
        total = np.trapezoid(m.posterior_density(y, x), x) + sum(m.posterior_atoms(y).values())
        assert total == pytest.approx(1, abs=1e-7)
    ends = stats.norm.cdf(-1), stats.norm.sf(0.5)
    mean = stats.norm.pdf(-1) - stats.norm.pdf(0.5) - ends[0] + 0.5 * ends[1]
    second = stats.truncnorm(-1, 0.5).moment(2) * (1 - sum(ends)) + ends[0] + 0.25 * ends[1]
    assert power_cost(m, 0.2, 2).before == pytest.approx(second - mean**2, rel=1e-9)
    with pytest.raises(dv.DivulgeError, match="both"):
        alpha_loss(m, 0.2, 2.0)


def test_a_guess_about_one_of_several_normal_records() -> None:
    m = dv.NoiseMechanism("gaussian", "normal(1, 2)", scale=0.5, records=4)
    total = 4 / 4 + 0.25
    after = 4 - (4 / 4) ** 2 / total
    found = power_cost(m, 2.5, 2)
    assert found.before == pytest.approx(4, rel=1e-9)
    assert found.after == pytest.approx(after, rel=1e-9)
    assert power_cost(dv.NoiseMechanism("laplace", "uniform(0, 1)", scale=0.5, records=2), 0.4, 2).leakage > 0


@pytest.mark.thin
@pytest.mark.parametrize("scale", [1e-290, 1e-6, 1e6, 1e290])
@pytest.mark.parametrize("kind", [*KINDS, "staircase"])
def test_upper_ends_stay_above_at_extreme_scales(kind: str, scale: float) -> None:
    m = dv.NoiseMechanism(
        kind,
        f"values(0:0.25, {scale}:0.125, {3 * scale}:0.625)",
        scale=scale,
        **({"sensitivity": scale} if kind == "staircase" else {}),
    )
    plain = dv.NoiseMechanism(kind, "values(0:0.25, 1:0.125, 3:0.625)", scale=1.0)
    assert m.pml_supremum.value == pytest.approx(plain.pml_supremum.value, rel=1e-9)
    y = scale * np.linspace(-4, 6, 201)
    assert float(m.pml(y).max()) <= m.pml_supremum.upper


@pytest.mark.long
@pytest.mark.thin
@pytest.mark.parametrize(("kind", "secret", "most"), [
    ("laplace", "uniform(0, 1)", 1e-3), ("laplace", "beta(0.5, 0.5)", 0.03),
    ("gaussian", "uniform(0, 1)", 0.01), ("gaussian", "beta(0.5, 0.5)", 0.05),
])  # fmt: skip
def test_three_records_under_narrow_noise_are_within_a_narrow_error(kind: str, secret: str, most: float) -> None:
    """Against Gauss-Jacobi sums over the two other records."""
    m = dv.NoiseMechanism(kind, secret, scale=0.03, records=3)
    a = 1.0 if secret == "uniform(0, 1)" else 0.5
    nodes, weights = special.roots_jacobi(160, a - 1, a - 1)
    nodes, weights = (1 + nodes) / 2, weights / weights.sum()
    pairs, pair_weights = np.add.outer(nodes, nodes).ravel() / 3, np.outer(weights, weights).ravel()
    for y in (0.12, 0.45, 0.8, 1.01):

        def given_x(v: np.ndarray, y: float = y) -> np.ndarray:
            return np.exp(m.noise.log_density(y - v[:, None] / 3 - pairs)) @ pair_weights

        q, grid = float(given_x(nodes) @ weights), given_x(np.linspace(0, 1, 101))
        error = float(m.law.error(np.array([y]), "pml")[0])
        assert abs(m.pml(y) - math.log(grid.max() / q)) <= error + (2e-3 if kind == "laplace" else 1e-4)
    assert m.mean_pml().error <= most


def test_sums_of_all_records_and_of_all_but_one() -> None:
    from divulge.noise.laws.sums import sums

    x, p = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.4, 0.3, 0.2, 0.1])
    for places in (x, np.array([0.0, 1.0, math.sqrt(2), math.pi])):
        for n in (2, 3, 6, 7):
            for found, count in zip(sums(places, p, n, False)[:2], (n - 1, n), strict=True):
                exact: dict[float, float] = {}
                for t in product(range(4), repeat=count):
                    key = round(math.fsum(places[i] for i in t), 9)
                    exact[key] = exact.get(key, 0.0) + math.prod(p[i] for i in t)
                assert np.round(found[0], 9) == pytest.approx(sorted(exact), abs=1e-8)
                assert np.exp(found[1]) == pytest.approx([exact[k] for k in sorted(exact)], rel=1e-12)
