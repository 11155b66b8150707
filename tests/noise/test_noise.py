"""Noise on numbers against its definition: high-precision quadrature, grids, draws, and exact sums."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from support import THOROUGH, few

import divulge as dv
from divulge.noise.families.table import FAMILIES, as_noise
from divulge.noise.secrets.expectations import cumulant

TRAP = "values(0:0.495, 0.5:0.01, 1:0.495)"

DENSITIES = {
    "laplace": lambda z, s: mp.exp(-abs(z) / s) / (2 * s),
    "gaussian": lambda z, s: mp.exp(-((z / s) ** 2) / 2) / (s * mp.sqrt(2 * mp.pi)),
    "logistic": lambda z, s: mp.exp(-z / s) / (s * (1 + mp.exp(-z / s)) ** 2),
    "student-t": lambda z, s: (
        mp.gamma(2) / (mp.sqrt(3 * mp.pi) * mp.gamma(mp.mpf(3) / 2) * s) * (1 + (z / s) ** 2 / 3) ** -2
    ),
}


@pytest.mark.parametrize("kind", FAMILIES)
def test_families_are_distributions(kind: str) -> None:
    noise = as_noise(kind, scale=0.7)
    z = np.linspace(-4, 4, 41) if noise.step is None else np.arange(-40.0, 41.0)
    if noise.step is None:
        slope = (noise.cdf(z + 1e-6) - noise.cdf(z - 1e-6)) / 2e-6
        smooth = np.abs(slope - np.exp(noise.log_density(z))) <= 1e-6
        assert smooth.mean() > 0.8, "the density is the slope of the distribution function but at jumps and kinks"
    else:
        assert math.fsum(np.exp(noise.log_density(z))) == pytest.approx(1, abs=1e-14)
        assert np.cumsum(np.exp(noise.log_density(z))) == pytest.approx(noise.cdf(z), abs=1e-14)
    assert noise.cdf(z) == pytest.approx(1 - noise.cdf(-z - (noise.step or 0.0)), abs=1e-14)


@pytest.mark.parametrize("kind", FAMILIES)
def test_shift_loss_is_the_largest_likelihood_ratio(kind: str) -> None:
    noise = as_noise(kind, scale=0.7)
    if math.isinf(noise.shift_loss(1.0)):
        assert kind in ("gaussian", "discrete-gaussian")
        return
    z = np.linspace(-60, 60, 240_001) if noise.step is None else np.arange(-60.0, 61.0)
    for d in (1.0, 2.0):
        ratio = float((noise.log_density(z) - noise.log_density(z + d)).max())
        assert ratio <= noise.shift_loss(d) + 1e-9
        assert ratio == pytest.approx(noise.shift_loss(d), rel=1e-6)


def _mp_leakage(kind: str, scale: float, pairs: list[tuple[float, float]], y: float) -> tuple[mp.mpf, mp.mpf]:
    """Return (pml(y), pmc(y)) in 50 digits, straight from the definition."""
    with mp.workdps(50):
        given = [DENSITIES[kind](mp.mpf(y) - mp.mpf(v), mp.mpf(scale)) for v, _ in pairs]
        outcome = mp.fsum(mp.mpf(p) * f for (_, p), f in zip(pairs, given, strict=True))
        return mp.log(max(given) / outcome), mp.log(outcome / min(given))


@pytest.mark.parametrize("kind", DENSITIES)
def test_finite_secret_by_outcome(kind: str) -> None:
    pairs = [(0.0, 0.25), (0.5, 0.125), (1.75, 0.625)]
    m = dv.NoiseMechanism(kind, "values(0:0.25, 0.5:0.125, 1.75:0.625)", scale=0.5)
    for y in (-40.0, -1.0, 0.2, 0.5, 1.0, 3.0, 25.0):
        pml, pmc = _mp_leakage(kind, 0.5, pairs, y)
        assert m.pml(y) == pytest.approx(float(pml), rel=1e-12, abs=1e-13)
        assert m.pmc(y) == pytest.approx(float(pmc), rel=1e-12, abs=1e-13)


SECRETS = {
    "uniform(-1, 1)": (lambda x: mp.mpf(1) / 2, (-1, 1)),
    "beta(2, 5)": (lambda x: 30 * x * (1 - x) ** 4, (0, 1)),
    "normal(0.5, 2)": (lambda x: mp.exp(-((x - mp.mpf("0.5")) ** 2) / 8) / (2 * mp.sqrt(2 * mp.pi)), (-40, 41)),
}


@pytest.mark.thin
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("kind", DENSITIES)
def test_continuous_secret_by_outcome(kind: str, secret: str) -> None:
    density, (low, high) = SECRETS[secret]
    m = dv.NoiseMechanism(kind, secret, scale=0.7)
    for y in (-2.5, 0.3, 6.0):
        cuts = sorted({low, high, *(min(max(y + d, low), high) for d in (-20, -5, -1, 0, 1, 5, 20))})
        with mp.workdps(30):
            exact = mp.log(mp.quad(lambda x, y=y: density(x) * DENSITIES[kind](y - x, mp.mpf("0.7")), cuts))
        assert m.log_density(y) == pytest.approx(float(exact), rel=1e-10, abs=1e-10)
        assert abs(m.log_density(y) - float(exact)) <= float(m.law.error(np.array([y]), "pml")[0]) + 1e-12


def test_laplace_closed_forms() -> None:
    b, n = 0.4, 3
    m = dv.NoiseMechanism("laplace", TRAP, scale=b, records=n)
    k = partial(cumulant, m.secret)
    assert m.pmc_supremum.value == pytest.approx(max(k(1 / (n * b)), k(-1 / (n * b)) + 1 / (n * b)), rel=1e-13)
    assert m.pmc_supremum.value <= 1 / (n * b) == m.ldp.epsilon
    assert math.isinf(m.pmc_supremum.at)
    one = dv.NoiseMechanism("laplace", TRAP, scale=b)
    x, p = one.secret.values, one.secret.probabilities
    assert x is not None
    assert p is not None
    assert one.pml_supremum.value == pytest.approx(max(-math.log(p @ np.exp(-np.abs(x - v) / b)) for v in x), rel=1e-13)
    ends = max(1 / b - k(1 / b), -k(-1 / b))
    assert one.pml_supremum.value > 1.5 * ends, "a rare value inside dominates: the ends alone are only a lower bound"
    assert one.pml_supremum.at == 0.5


def test_rademacher_laplace() -> None:
    m = dv.NoiseMechanism("laplace", "rademacher()", scale=2.0)
    assert m.pmc_supremum.value == pytest.approx(math.log(math.cosh(0.5)) + 0.5, rel=1e-14)
    assert m.pml_supremum.value == pytest.approx(0.5 - math.log(math.cosh(0.5)), rel=1e-14)


def test_gaussian_pmc_bounds_of_the_paper() -> None:
    s, b = 0.8, 1.0
    for secret in ("rademacher()", "values(-1:0.25, 0:0.5, 1:0.25)", "uniform(-1, 1)"):
        m = dv.NoiseMechanism("gaussian", secret, scale=s)
        for y in (0.0, 0.5, 2.0, 10.0):
            low = cumulant(m.secret, y / s**2) + y * b / s**2
            assert low - 1e-10 <= m.pmc(y) <= low + b * b / (2 * s * s) + 1e-10
            assert m.pmc(-y) == pytest.approx(m.pmc(y), rel=1e-9)
        assert m.pmc_supremum.value == math.inf
        assert m.pmc_supremum.reason
        for epsilon in (1.0, 3.0, 8.0) if m.secret.values is not None or THOROUGH else ():
            assert m.tail(epsilon, "pmc").value <= m.sub_gaussian_tail(epsilon)


def test_gaussian_secret_gaussian_noise() -> None:
    m = dv.NoiseMechanism("gaussian", "normal(1, 2)", scale=0.5)
    y = np.array([-3.0, 1.0, 6.0])
    variance = 4 + 0.25
    expected = 0.5 * np.log(variance / 0.25) + (y - 1) ** 2 / (2 * variance)
    assert m.pml(y) == pytest.approx(expected, rel=1e-12)
    assert np.isinf(m.pmc(y)).all()
    assert m.pml_supremum.value == m.pmc_supremum.value == math.inf
    assert m.mutual_information().value == pytest.approx(0.5 * math.log(variance / 0.25), rel=1e-9)
    many = dv.NoiseMechanism("gaussian", "normal(1, 2)", scale=0.5, records=10)
    inner, outer = 9 * 4 / 100 + 0.25, 4 / 10 + 0.25
    assert many.pml(1.0) == pytest.approx(0.5 * math.log(outer / inner), rel=1e-12)
    assert many.mutual_information().value == pytest.approx(0.5 * math.log(outer / inner), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        ("laplace", "uniform(0, 1)"),
        ("gaussian", "uniform(0, 1)"),
        ("laplace", "normal(0, 1)"),
        ("student-t", "expon()"),
    ],
)
def test_infinities_say_why(kind: str, secret: str) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=1.0)
    for found in (m.pml_supremum, m.pmc_supremum):
        assert math.isinf(found.value) == bool(found.reason)
        assert math.isinf(found.lower) == math.isinf(found.value)


@settings(max_examples=few(30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([*sorted(DENSITIES), "staircase"]), st.integers(1, 3))
def test_no_outcome_beats_the_supremum(seed: int, kind: str, records: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    values, weights = np.round(rng.uniform(-2, 2, k), 2), rng.dirichlet(np.full(k, 0.5)) + 1e-4
    text = "values(" + ", ".join(f"{v}:{w}" for v, w in zip(values, weights / weights.sum(), strict=True)) + ")"
    m = dv.NoiseMechanism(kind, text, scale=float(rng.uniform(0.2, 2)), records=records)
    y = np.unique(np.concatenate([np.linspace(-30, 30, 4001), m.law.locations]))
    for side, found in (("pml", m.pml_supremum), ("pmc", m.pmc_supremum)):
        on_grid = float(np.max(getattr(m, side)(y)))
        assert on_grid <= found.upper + 1e-12
        assert found.lower <= found.value <= found.upper
        if math.isfinite(found.value):
            assert found.upper - found.lower <= (1e-5 if kind == "student-t" else 1e-7) * max(1, found.value)
            out = 1e9 if kind == "gaussian" else 700.0
            far = [-out, out, *(found.at + np.array([-1e-6, 0, 1e-6]) if math.isfinite(found.at) else [])]
            seen = max(on_grid, float(np.max(getattr(m, side)(np.array(far)))))
            assert seen >= found.value - 0.02 * max(1.0, found.value)


@pytest.mark.parametrize(("kind", "p_max"), [("discrete-laplace", None), ("discrete-gaussian", 0.6)])
def test_lattice_noise_against_exact_sums(kind: str, p_max: float | None) -> None:
    m = dv.NoiseMechanism(kind, "values(0:0.25, 2:0.6, 5:0.15)", scale=1.5)
    z = np.arange(-400, 401)
    weights = np.exp(-np.abs(z) / 1.5) if kind == "discrete-laplace" else np.exp(-0.5 * (z / 1.5) ** 2)
    weights /= weights.sum()
    y = np.arange(-20, 26)
    given = np.array([[weights[v - x + 400] for v in y] for x in (0, 2, 5)])
    q = np.array([0.25, 0.6, 0.15]) @ given
    assert m.pml(y) == pytest.approx(np.log(given.max(axis=0) / q), abs=1e-12)
    assert m.pmc(y) == pytest.approx(np.log(q / given.min(axis=0)), rel=1e-12)
    assert m.density(y) == pytest.approx(q, rel=1e-12)
    assert m.tail(0.5).value == pytest.approx(float(q[np.log(given.max(axis=0) / q) > 0.5].sum()), rel=1e-6)
    assert math.isinf(m.pmc_supremum.value) == (kind == "discrete-gaussian")
    with pytest.raises(dv.DivulgeError, match="lattice"):
        m.pml(0.5)
    with pytest.raises(dv.DivulgeError, match="one lattice"):
        dv.NoiseMechanism(kind, "values(0:0.5, 0.3:0.5)", scale=1.0)


@pytest.mark.parametrize(
    ("kind", "secret", "records"),
    [
        pytest.param("laplace", TRAP, 1, marks=pytest.mark.long),
        ("gaussian", "bernoulli(0.3)", 4),
        pytest.param("student-t", "uniform(-1, 1)", 1, marks=pytest.mark.long),
        ("staircase", TRAP, 1),
    ],
)
def test_draws_agree_with_tail_quantile_and_mean(kind: str, secret: str, records: int) -> None:
    m = dv.NoiseMechanism(kind, secret, scale=0.6, records=records)
    rng, n = np.random.default_rng(11), few(100_000)
    if m.secret.values is not None:
        x = rng.choice(m.secret.values, p=m.secret.probabilities, size=(n, records)).mean(axis=1)
    else:
        x = m.secret.continuous.rvs(size=n, random_state=rng)
    if m.noise.frozen is not None:
        z = m.noise.frozen.rvs(size=n, random_state=rng)
    else:  # invert the distribution function of the staircase on a fine grid
        grid = np.linspace(-20, 20, 400_001)
        z = np.interp(rng.random(n), m.noise.cdf(grid), grid)
    step = 1 if m.secret.values is not None else 50
    y = (x + z)[::step]
    pml = m.pml(y)
    error = 5 / math.sqrt(len(y))
    top = m.pml_supremum.value if math.isfinite(m.pml_supremum.value) else float(pml.max())
    for share in (0.25, 0.6, 0.9):
        threshold = share * top
        assert abs(np.mean(pml > threshold) - m.tail(threshold).value) <= error
    assert abs(float(np.mean(pml)) - m.mean_pml().value) <= error * max(1.0, float(pml.max()))
    v = m.quantile(0.7).value
    assert np.mean(pml <= v + 1e-7) >= 0.7 - error
    assert np.mean(pml < v - 1e-7) <= 0.7 + error
    assert abs(np.mean(y <= 0.4) - m.cdf(0.4)) <= error


def test_mutual_information_against_bins() -> None:
    m = dv.NoiseMechanism("laplace", TRAP, scale=0.5)
    p, c = m.secret.probabilities, m.binned(np.linspace(-12, 13, 4001)).channel.floats
    q = p @ c
    binned = float(np.sum(p[:, None] * np.where(c > 0, c * np.log(np.where(c > 0, c, 1) / q), 0)))
    assert binned <= m.mutual_information().value + 1e-12
    assert m.mutual_information().value == pytest.approx(binned, rel=1e-4)


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "logistic"])
def test_binning_never_leaks_more_and_converges(kind: str) -> None:
    m = dv.NoiseMechanism(kind, TRAP, scale=0.5)
    found = []
    for bins in (5, 40, 320):
        joint = m.binned(np.linspace(-4, 5, bins))
        assert dv.pml(joint).max() <= m.pml_supremum.upper + 1e-12
        assert dv.pmc(joint).max() <= m.pmc_supremum.upper + 1e-12
        found.append(dv.pml(joint).max())
    assert found[-1] == pytest.approx(m.pml_supremum.value, rel=0.05)
    assert abs(found[2] - m.pml_supremum.value) <= abs(found[0] - m.pml_supremum.value)


def test_binning_a_continuous_secret() -> None:
    m = dv.NoiseMechanism("laplace", "uniform(-1, 1)", scale=1.0)
    sizes = []
    for bins in (4, 16, 64):
        joint = m.binned(np.linspace(-3, 3, bins), np.linspace(-1, 1, bins + 1)[1:-1])
        assert joint.prior.floats == pytest.approx(np.full(bins, 1 / bins), rel=1e-9)
        assert dv.pmc(joint).max() <= m.pmc_supremum.upper + 1e-9
        sizes.append(dv.pmc(joint).max())
    assert sizes == sorted(sizes)
    assert sizes[-1] == pytest.approx(m.pmc_supremum.value, rel=0.02)


def test_bounded_pmc_means_local_dp_and_bounded_pml() -> None:
    for kind in DENSITIES if THOROUGH else ("laplace", "gaussian"):
        for secret in ("rademacher()", "uniform(-1, 1)", "normal(0, 1)"):
            m = dv.NoiseMechanism(kind, secret, scale=1.0)
            assert math.isfinite(m.pmc_supremum.value) == math.isfinite(m.ldp.epsilon)
            if math.isfinite(m.pmc_supremum.value):
                assert math.isfinite(m.pml_supremum.value)
                assert max(m.pml_supremum.value, m.pmc_supremum.value) <= m.ldp.epsilon + 1e-9


def test_several_records_of_a_density_are_bracketed() -> None:
    m = dv.NoiseMechanism("laplace", "uniform(-1, 1)", scale=0.5, records=2)
    k = partial(cumulant, m.secret)
    assert k(1.0) == pytest.approx(math.log(math.sinh(1.0)), rel=1e-10)
    assert m.pmc_supremum.value == pytest.approx(k(1.0) + 1.0, rel=1e-10)
    # about one of two uniform records: f(y | x) = uniform on [(x-1)/2, (x+1)/2] plus Laplace
    y, b = 0.3, mp.mpf("0.5")

    def below(z: mp.mpf) -> mp.mpf:
        return mp.exp(z / b) / 2 if z < 0 else 1 - mp.exp(-z / b) / 2

    def given(x: float) -> mp.mpf:
        return below(y - (x - 1) / 2) - below(y - (x + 1) / 2)

    outcome = mp.quad(lambda x: given(x) / 2, [-1, -0.4, 0, 0.6, 1])
    pml = float(mp.log(given(2 * y) / outcome))
    assert abs(m.pml(y) - pml) <= float(m.law.error(np.array([y]), "pml")[0])
    assert m.pml_supremum.lower <= m.pml_supremum.value <= m.pml_supremum.upper


def test_clipping_moves_mass_to_the_ends() -> None:
    m = dv.NoiseMechanism("laplace", "normal(0, 1)", scale=1.0, clip=(-1, 1))
    fine = np.linspace(-6, 6, 48_001)
    p = np.diff(m.secret.continuous.cdf(fine))
    approx = dv.NoiseMechanism(
        "laplace", dv.Prior(p / p.sum(), [float(v) for v in (fine[1:] + fine[:-1]) / 2]), scale=1.0, clip=(-1, 1)
    )
    for y in (-3.0, 0.2, 1.0):
        assert m.pml(y) == pytest.approx(approx.pml(y), abs=3e-4)
        assert m.pmc(y) == pytest.approx(approx.pmc(y), abs=3e-4)
    assert m.ldp.epsilon == 2.0


def test_correlated_records_are_one_secret() -> None:
    """n copies of one bit: differential privacy counts one record, information density sees the bit."""
    copies, b = 50, 1 / 0.5
    together = dv.NoiseMechanism("laplace", f"values(0:0.5, {copies}:0.5)", scale=b)
    assert 1 / b == 0.5
    assert together.pml_supremum.value == pytest.approx(math.log(2), abs=1e-10)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_power_costs_never_leak_more_than_pmc(p: float) -> None:
    from divulge.noise.answers.guesses import alpha_loss, power_cost

    for secret in (TRAP, "beta(2, 5)"):
        m = dv.NoiseMechanism("laplace", secret, scale=0.5)
        for y in (-1.0, 0.4, 2.0):
            assert power_cost(m, y, p).leakage <= m.pmc(y) + 1e-9
    m = dv.NoiseMechanism("laplace", TRAP, scale=0.5)
    for alpha in (1.5, 2.0, math.inf):
        guess = alpha_loss(m, 0.4, alpha)
        prior, posterior = dv.Prior(m.secret.probabilities, list(m.secret.values)), m.posterior(0.4)
        cost = dv.Cost.alpha_loss(prior.secrets, alpha)
        assert guess.before == pytest.approx(dv.adversaries.uncertainty(prior, cost), rel=1e-12)
        assert guess.after == pytest.approx(dv.adversaries.uncertainty(posterior, cost), rel=1e-12)
    uniform = dv.NoiseMechanism("gaussian", "uniform(0, 2)", scale=100.0)
    assert power_cost(uniform, 1.0, 2).before == pytest.approx(1 / 3, rel=1e-9)
    assert alpha_loss(uniform, 1.0, 2.0).before == pytest.approx(2 * (1 - math.sqrt(0.5)), rel=1e-9)


def test_exponential_mechanism() -> None:
    c = dv.noise.exponential_mechanism([0, 1, 2], [0, 1, 2], lambda x, y: -abs(x - y), epsilon=2.0, sensitivity=2.0)
    assert dv.ldp(c) <= 2.0
    assert c.matrix[0, 0] / c.matrix[0, 1] == pytest.approx(math.exp(0.5))
    with pytest.raises(dv.DivulgeError, match="sensitivity"):
        dv.noise.exponential_mechanism([0, 9], [0, 9], lambda x, y: -abs(x - y), epsilon=2.0, sensitivity=2.0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"noise": "laplace", "secret": "rademacher()", "scale": 0.0}, "scale"),
        ({"noise": "laplace", "secret": "rademacher()", "scale": math.nan}, "scale"),
        ({"noise": "laplce", "secret": "rademacher()", "scale": 1.0}, "noise"),
        ({"noise": "laplace", "secret": "rademacher(", "scale": 1.0}, "secret"),
        ({"noise": "laplace", "secret": "nonsense(1)", "scale": 1.0}, "known distribution"),
        ({"noise": "laplace", "secret": "values(0:0.5)", "scale": 1.0}, "sum to"),
        ({"noise": "laplace", "secret": "values(0:0.5, nan:0.5)", "scale": 1.0}, "finite"),
        ({"noise": "laplace", "secret": "uniform(1, 0)", "scale": 1.0}, "low < high"),
        ({"noise": "laplace", "secret": "rademacher()", "scale": 1.0, "records": 0}, "records"),
        ({"noise": "laplace", "secret": "rademacher()", "scale": 1.0, "df": 3.0}, "parameters"),
        ({"noise": "discrete-laplace", "secret": "uniform(0, 1)", "scale": 1.0}, "finitely many"),
        ({"noise": "laplace", "secret": dv.Prior([0.5, 0.5], ["a", "b"]), "scale": 1.0}, "numbers as labels"),
        ({"noise": "laplace", "secret": "normal(nan, 1)", "scale": 1.0}, "finite numbers"),
        ({"noise": "laplace", "secret": ["a", "b"], "scale": 1.0}, "sample of numbers"),
        ({"noise": "laplace", "secret": "yulesimon(0.5)", "scale": 1.0}, "of its mass"),
        ({"noise": "laplace", "secret": "rademacher()", "scale": 1.0, "clip": (1,)}, "pair"),
        ({"noise": stats.norm(), "secret": "rademacher()", "scale": 1.0}, "its own parameters"),
        ({"noise": "staircase", "secret": "rademacher()", "scale": 1e-6}, "scale"),
        ({"noise": "gaussian", "secret": "values(0:0.999998, 1:1e-6, 4:1e-6)", "scale": 1.0, "records": 1000}, "sum"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, object], match: str) -> None:
    with pytest.raises(dv.DivulgeError, match=match):
        dv.NoiseMechanism(arguments.pop("noise"), arguments.pop("secret"), **arguments)


@pytest.mark.parametrize(
    "kind", ["laplace", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("gaussian", "logistic", "student-t"))]
)
def test_means_against_high_precision(kind: str) -> None:
    m = dv.NoiseMechanism(kind, "bernoulli(0.3)", scale=0.5)

    def given(y: mp.mpf, x: int) -> mp.mpf:
        return DENSITIES[kind](y - x, mp.mpf("0.5"))

    def outcome(y: mp.mpf) -> mp.mpf:
        return mp.mpf("0.7") * given(y, 0) + mp.mpf("0.3") * given(y, 1)

    def pml(y: mp.mpf) -> mp.mpf:
        return outcome(y) * mp.log(max(given(y, 0), given(y, 1)) / outcome(y))

    def information(y: mp.mpf) -> mp.mpf:
        weighted = ((mp.mpf("0.7"), given(y, 0)), (mp.mpf("0.3"), given(y, 1)))
        return mp.fsum(p * f * mp.log(f / outcome(y)) for p, f in weighted)

    far = [1e6, 1e4, 500, 50] if kind == "student-t" else [20, 8]
    cuts = [*(-d for d in far), -2, 0, 0.25, 0.5, 0.75, 1, 3, *(1 + d for d in reversed(far))]
    with mp.workdps(16):
        for ours, f in ((m.mean_pml(), pml), (m.mutual_information(), information)):
            exact = float(mp.quad(f, cuts))
            assert ours.value == pytest.approx(exact, rel=1e-9)
            assert abs(ours.value - exact) <= ours.error + 1e-10


def test_notebook_display() -> None:
    html = dv.NoiseMechanism("laplace", "values(0:0.5, 1:0.5)", scale=1.0)._repr_html_()
    assert "<table>" in html
    assert "mutual_information" in html


def test_posterior_density_integrates_to_one() -> None:
    m = dv.NoiseMechanism("laplace", "beta(2, 5)", scale=0.5)
    x = np.linspace(0, 1, 20_001)
    assert np.trapezoid(m.posterior_density(0.7, x), x) == pytest.approx(1.0, abs=1e-7)
    assert m.posterior_density(0.7, 1.5) == 0.0


FAST = {("gaussian", 1e-6), ("laplace", 0.3), ("student-t", 1e6)}


@pytest.mark.parametrize(("kind", "scale"), [
    pytest.param(*case, marks=[pytest.mark.long] * (case not in FAST)) for case in product(DENSITIES, [1e-6, 0.3, 1e6])
])  # fmt: skip
def test_far_outcomes_and_extreme_scales_keep_their_digits(kind: str, scale: float) -> None:
    pairs = [(0.0, 0.495), (0.5, 0.01), (1.0, 0.495)]
    m = dv.NoiseMechanism(kind, TRAP, scale=scale)
    for y in (-1e12, -1e6, 0.25 + 1e-9, 0.5, 1e6, 1e12) if THOROUGH else (-1e12, 0.25 + 1e-9, 0.5, 1e6):
        pml, pmc = _mp_leakage_far(kind, scale, pairs, y)
        assert m.pml(y) == pytest.approx(pml, rel=1e-11, abs=1e-13)
        assert m.pmc(y) == pytest.approx(pmc, rel=1e-11, abs=1e-13)
        assert m.pml(y) <= m.pml_supremum.upper
    assert m.pml_supremum.upper <= math.log(100) * (1 + 1e-10)


def _mp_leakage_far(kind: str, scale: float, pairs: list[tuple[float, float]], y: float) -> tuple[float, float]:
    with mp.workdps(80):
        pml, pmc = _mp_leakage(kind, scale, pairs, y) if abs(y) < 2 else _mp_logs(kind, scale, pairs, y)
        return float(pml), float(pmc)


def _mp_logs(kind: str, scale: float, pairs: list[tuple[float, float]], y: float) -> tuple[mp.mpf, mp.mpf]:
    given = [DENSITIES[kind](abs(mp.mpf(y) - mp.mpf(v)), mp.mpf(scale)) for v, _ in pairs]
    outcome = mp.fsum(mp.mpf(p) * f for (_, p), f in zip(pairs, given, strict=True))
    return mp.log(max(given) / outcome), mp.log(outcome / min(given))


def test_the_gaussian_limit_is_the_rarity_of_the_end_for_any_number_of_records() -> None:
    for records in (1, 3, 7, 40):
        m = dv.NoiseMechanism("gaussian", "values(0:0.3, 1:0.1, 4:0.6)", scale=1.0, records=records)
        assert m.pml_supremum.lower <= max(-math.log(0.3), m.pml_supremum.lower) <= m.pml_supremum.upper
        assert math.isfinite(m.pml_supremum.value)
        limits = {end.at: end.leakage("pml")[0] for end in m.law.ends()}
        assert limits == pytest.approx({math.inf: -math.log(0.6), -math.inf: -math.log(0.3)}, rel=1e-12)


def test_tiny_values_are_told_apart() -> None:
    """Secrets a ten-trillionth apart leak what the same secrets leak in another unit."""
    for factor in (1e-13, 1e9):
        text = f"values(0:0.5, {factor}:0.3, {3 * factor}:0.2)"
        small = dv.NoiseMechanism("laplace", text, scale=factor, records=2)
        large = dv.NoiseMechanism("laplace", "values(0:0.5, 1:0.3, 3:0.2)", scale=1, records=2)
        assert small.pml_supremum.value == pytest.approx(large.pml_supremum.value, rel=1e-12)


def test_a_countable_secret_is_unbounded() -> None:
    m = dv.NoiseMechanism("laplace", "poisson(3)", scale=1.0)
    assert math.isinf(m.pmc_supremum.value)
    assert math.isinf(m.pml_supremum.value)
    assert m.pmc(2.0) == math.inf
    assert math.isfinite(m.pml(2.0))
    p = stats.poisson(3).pmf(np.arange(60))
    assert m.pml(2.0) == pytest.approx(-math.log(p @ np.exp(-np.abs(np.arange(60) - 2.0))), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 3.0, 1e3, 1e6])
def test_wide_and_narrow_lattice_noise(scale: float) -> None:
    m = dv.NoiseMechanism("discrete-gaussian", "bernoulli(0.3)", scale=scale)
    assert m.pml_supremum.lower <= -math.log(0.3) <= m.pml_supremum.upper
    if scale >= 3:
        exact = mp.log(1 / mp.jtheta(3, 0, mp.exp(-1 / (2 * mp.mpf(scale) ** 2)))) if scale < 10 else None
        expected = float(exact) if exact is not None else -math.log(scale * math.sqrt(2 * math.pi))
        assert float(m.noise.log_density(np.zeros(1))[0]) == pytest.approx(expected, rel=1e-14)
        z = np.array([-2.5, 0.0, 1.0]) * scale
        step = np.diff(m.noise.cdf(np.array([np.floor(z) - 1, np.floor(z)])), axis=0)[0]
        assert step == pytest.approx(np.exp(m.noise.log_density(np.floor(z))), rel=1e-7)
    if scale == 1e6:
        with pytest.raises(dv.DivulgeError, match="steps"):
            m.mean_pml()


def test_a_large_sample_needs_no_table_of_all_pairs() -> None:
    x = np.random.default_rng(1).normal(size=100_000)
    m = dv.NoiseMechanism("laplace", x, scale=1.0)
    y = np.array([-9.0, -1.0, 0.0, 0.3, 7.0])
    expected = [-math.log(np.mean(np.exp(-np.abs(v - x)))) - float(np.min(np.abs(v - x))) for v in y]
    assert m.pml(y) == pytest.approx(expected, rel=1e-10)
    costs = [math.log(np.mean(np.exp(-np.abs(v - x)))) + float(np.max(np.abs(v - x))) for v in y]
    assert m.pmc(y) == pytest.approx(costs, rel=1e-10)
    assert m.pml_supremum.value >= max(expected)


def test_a_moved_family_is_that_family_and_other_noise_is_none() -> None:
    shifted = dv.NoiseMechanism(stats.laplace(loc=1.0, scale=2.0), "uniform(0, 1)")
    centered = dv.NoiseMechanism("laplace", "uniform(0, 1)", scale=2.0)
    assert shifted.pml(1.4) == pytest.approx(centered.pml(0.4), abs=1e-15)
    assert shifted.pmc(1.4) == pytest.approx(centered.pmc(0.4), abs=1e-15)
    assert shifted.ldp == centered.ldp
    assert shifted.pml_supremum == centered.pml_supremum
    other = dv.NoiseMechanism(stats.laplace_asymmetric(1.0, loc=1.0, scale=2.0), "uniform(0, 1)")
    assert not other.ldp.exact
    assert other.pml_supremum.upper >= centered.pml_supremum.value
    assert not other.pml_supremum.certified


def test_units_and_nonsense_in_questions() -> None:
    m = dv.NoiseMechanism("gaussian", "rademacher()", scale=np.float32(2))
    bit = math.log(2)
    assert m.pml(1.0, unit="bits") == pytest.approx(m.pml(1.0) / bit)
    assert m.quantile(0.5, unit="bits").value == pytest.approx(m.quantile(0.5).value / bit)
    assert m.tail(0.3, unit="bits").value == m.tail(0.3 * bit).value
    assert m.mean_pml("bits").value == pytest.approx(m.mean_pml().value / bit)
    for ask in (m.pml, m.density, m.cdf, m.tail, m.quantile, m.sub_gaussian_tail):
        with pytest.raises(dv.DivulgeError):
            ask(math.nan)
    with pytest.raises(dv.DivulgeError):
        m.pml("zero")
    with pytest.raises(dv.DivulgeError):
        m.sub_gaussian_tail(-1.0)


@pytest.mark.parametrize("scale", [1e-2, 1e-6, pytest.param(1e-9, marks=pytest.mark.long), 1e-15])
def test_stated_errors_cover_peaks_narrower_than_doubles_resolve(scale: float) -> None:
    m = dv.NoiseMechanism("laplace", "rademacher()", scale=scale)
    for found in (m.mean_pml(), m.mutual_information()):
        assert abs(found.value - math.log(2)) <= found.error + 1e-12


def test_arguments_of_scipy_go_by_name_too() -> None:
    by_name, by_place = (dv.NoiseMechanism("laplace", text, scale=1.0) for text in ("expon(scale=2)", "expon(0, 2)"))
    assert by_name.pml(1.3) == by_place.pml(1.3)
    assert dv.NoiseMechanism("laplace", "binom(n=3, p=1/4)", scale=1.0).secret.values.tolist() == [0, 1, 2, 3]
    for wrong in ("expon(scale=x)", "expon(width=2)", "expon(2, loc=1, 3, 4)", "expon(=2)"):
        with pytest.raises(dv.DivulgeError):
            dv.NoiseMechanism("laplace", wrong, scale=1.0)


def test_a_secret_unbounded_on_one_side_has_outcomes_on_both() -> None:
    """X ~ Exp(mean 2) and Laplace(1) noise: f(y) in closed form, I(X; Y) = h(Y) - 1 - log 2 and E pml likewise."""

    def density(y: float) -> float:
        rate = 0.5
        if y < 0:
            return rate / 2 * math.exp(y) / (1 + rate)
        return rate / 2 * ((math.exp(-rate * y) - math.exp(-y)) / (1 - rate) + math.exp(-rate * y) / (1 + rate))

    def mean(f: Callable[[float], float], *ends: float) -> float:
        return sum(integrate.quad(lambda y: density(y) * f(density(y)), *part)[0] for part in pairwise(ends))

    entropy = mean(lambda p: -math.log(p), -40, 0, 20, 120)
    mechanism = dv.NoiseMechanism("laplace", "expon(0, 2)", scale=1.0)
    found = mechanism.mutual_information()
    assert found.value == pytest.approx(entropy - 1 - math.log(2), abs=1e-8)
    assert found.error < 1e-8
    # pml(y) = log (1/2) / f(y) for y >= 0 and log (1/2) e^y / f(y) = log 3 below 0, where f(y) = e^y / 6
    leaked = density(0.0) * math.log(3) + mean(lambda p: math.log(0.5 / p), 0, 20, 120)
    assert mechanism.mean_pml().value == pytest.approx(leaked, abs=1e-8)
