"""No answer misses what it certifies, exceeds what is possible, or is no number: oracles at 60 digits, and searches."""

import math
from collections import defaultdict
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from support import few

import divulge as dv
from divulge.noise.answers.guesses import power_cost
from divulge.noise.laws.law import SIDES
from divulge.noise.laws.sums import log_binomial

DENSITIES = {
    "laplace": lambda z: mp.exp(-abs(z)),
    "gaussian": lambda z: mp.exp(-z * z / 2),
    "logistic": lambda z: 1 / mp.cosh(z / 2) ** 2,
    "student-t": lambda z: (1 + z * z / 3) ** -2,
}
"""Kind -> density at scale 1, but for a factor; df is 3."""


def oracle(kind: str, scale: float, p: dict[float, float], records: int, y: Any, side: str) -> Any:
    """Return pml(y) or pmc(y) from its definition: the other records are added up one after the other."""
    total = mp.fsum(p.values())
    weights = {mp.mpf(v): mp.mpf(q) / total for v, q in p.items()}
    others = {mp.mpf(0): mp.mpf(1)}
    for _ in range(records - 1):
        more: dict[Any, Any] = defaultdict(mp.mpf)
        for place, weight in others.items():
            for v, q in weights.items():
                more[place + v] += weight * q
        others = more
    given = [
        mp.fsum(w * DENSITIES[kind]((mp.mpf(y) - (v + place) / records) / scale) for place, w in others.items())
        for v in weights
    ]
    outcome = mp.fsum(q * g for q, g in zip(weights.values(), given, strict=True))
    return mp.log(max(given) / outcome) if side == "pml" else mp.log(outcome / min(given))


@pytest.mark.thin
@pytest.mark.parametrize("p", [7e-14, 6e-17, 1e-17])
@pytest.mark.parametrize("records", [2, 3])
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "logistic"])
def test_a_rare_value_keeps_its_digits(kind: str, records: int, p: float) -> None:
    m = dv.NoiseMechanism(kind, f"values(0:{p}, 1:{1 - p})", scale=1.0, records=records)
    weights = {0.0: p, 1.0: 1 - p}
    with mp.workdps(60):
        for side in SIDES:
            found = m.supremum(side)
            for y in (-3.0, 0.2, 0.9, 4.0, -30.0):
                exact = oracle(kind, 1.0, weights, records, y, side)
                value = m.pml(y) if side == "pml" else m.pmc(y)
                assert abs(value - exact) <= m.error(y, side) < 1e-11
                assert exact <= found.upper
        assert m.pml_supremum.upper <= -math.log(p) * (1 + 1e-12)


def test_binomial_probabilities_from_both() -> None:
    with mp.workdps(60):
        for n, p, q in ((1, 0.3, 0.7), (15, 1e-17, 1.0), (17, 1.0, 7e-14), (5000, 0.5, 0.5), (100_000, 0.3, 0.7)):
            found = log_binomial(n, p, q)
            rare = mp.mpf(min(p, q))
            a, b = (rare, 1 - rare) if p < q else (1 - rare, rare)
            for k in {0, 1, n // 3, n // 2, n}:
                exact = mp.log(mp.binomial(n, k)) + k * mp.log(a) + (n - k) * mp.log(b)
                assert abs(float(found[k]) - exact) <= 4e-16 * max(1, abs(exact))


@settings(max_examples=few(15), deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(DENSITIES)))
def test_certified_brackets_and_errors_admit_no_ulp(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    size, records = (int(rng.integers(2, 6)), int(rng.integers(1, 4))) if rng.random() < 0.7 else (40, 1)
    values = np.unique(np.round(rng.normal(size=size) * 10.0 ** rng.integers(-2, 5), int(rng.integers(1, 12))))
    p = rng.dirichlet(np.ones(len(values)) * 10.0 ** rng.uniform(-1.5, 1)) + 1e-40
    scale = float(10 ** (rng.uniform(-2, 9) if rng.random() < 0.5 else rng.uniform(-1, 1)))
    if len(values) < 2:
        return
    m = dv.NoiseMechanism(kind, dv.Prior(p / p.sum(), values.tolist()), scale=scale, records=records)
    weights = dict(zip(m.secret.values.tolist(), m.secret.probabilities.tolist(), strict=True))
    with mp.workdps(120):
        for side in SIDES:
            found = m.supremum(side)
            for y in [*(rng.choice(values) + scale * rng.normal(size=2)), found.at if math.isfinite(found.at) else 0.0]:
                exact = oracle(kind, mp.mpf(scale), weights, records, float(y), side)
                value = m.pml(y) if side == "pml" else m.pmc(y)
                assert abs(mp.mpf(value) - exact) <= m.error(y, side)
                assert not found.certified or exact <= found.upper


def test_very_many_laplace_records() -> None:
    """About one record, far beyond all data: log E e^{(X - 1) / nb} and the same less 1/nb."""
    n = few(100_000)
    m = dv.NoiseMechanism("laplace", "bernoulli(0.3)", scale=1 / n, records=n)
    with mp.workdps(60):
        p = mp.mpf(0.3)
        most = mp.log((1 - p) * mp.e + p)  # worst x = 1 at -inf
        assert m.pmc_supremum.lower <= most <= m.pmc_supremum.upper
        assert m.pmc_supremum.upper - m.pmc_supremum.lower < 1e-13
        right = -mp.log((1 - p) * mp.exp(-1) + p)
        assert m.pml_supremum.lower <= m.pml_supremum.value <= m.pml_supremum.upper
        assert right <= m.pml_supremum.upper


@pytest.mark.thin
@pytest.mark.parametrize("kind", list(DENSITIES))
def test_tiny_leakages_keep_their_digits(kind: str) -> None:
    m = dv.NoiseMechanism(kind, "values(0:0.2, 1:0.5, 3:0.3)", scale=1e8)
    with mp.workdps(60):
        for y in (0.3, 2.5, -4.0):
            for side in SIDES:
                exact = oracle(kind, mp.mpf(1e8), {0.0: 0.2, 1.0: 0.5, 3.0: 0.3}, 1, y, side)
                value = m.pml(y) if side == "pml" else m.pmc(y)
                assert abs(value / exact - 1) < 1e-13
                assert exact <= m.supremum(side).upper


NAMES = {
    "gumbel_r": (), "norm": (), "laplace": (), "gumbel_l": (), "hypsecant": (), "laplace_asymmetric": (2.0,),
    "skewnorm": (4.0,), "johnsonsu": (2.5, 2.2), "genlogistic": (0.4,), "gennorm": (1.3,),
    "moyal": (), "crystalball": (2.0, 3.0), "expon": (), "gamma": (1.9,),
    "lognorm": (0.9,), "beta": (2.3, 0.6), "triang": (0.2,),
    "uniform": (), "dweibull": (2.0,), "cauchy": (), "t": (2.7,), "skewcauchy": (0.5,), "loggamma": (0.4,),
}  # fmt: skip
"""scipy name -> shapes."""


@pytest.mark.thin
@pytest.mark.parametrize("name", NAMES)
def test_scipy_noise_far_out(name: str) -> None:
    """No answer above what is possible, and a number for every possible outcome; with and without loc and scale."""
    for loc, scale in ((0.0, 1.0), (0.5, 1.0), (-3.0, 20.0)):
        noise: Any = getattr(stats, name)(*NAMES[name], loc=loc, scale=scale)
        m = dv.NoiseMechanism(noise, "values(0:0.000001, 1:0.899999, 3:0.1)")
        low, high = noise.support()
        y = np.array([sign * 10.0**k for k in (0, 1, 2, 3, 6, 9, 15, 200) for sign in (1, -1)])
        y = y[(y > low) & (y < high + 3)]
        pml, pmc, cap = m.pml(y), m.pmc(y), -math.log(1e-6)
        assert not np.isnan(pml).any()
        assert not np.isnan(pmc).any()
        assert (pml >= 0).all()
        assert (pml <= cap * (1 + 1e-12)).all()
        found = m.pml_supremum
        assert 0 <= found.lower <= found.value <= found.upper <= cap * (1 + 1e-12)
        assert (pml - m.error(y) <= found.upper + 1e-9).all()
        assert not found.certified or name in ("norm", "laplace", "t", "cauchy")


def test_moved_families_and_gumbel_far_out() -> None:
    two = "values(0:0.5, 1:0.5)"
    gumbel = dv.NoiseMechanism(stats.gumbel_r(), two)
    assert gumbel.pml_supremum.upper <= math.log(2) * (1 + 1e-12)
    assert gumbel.pml([-1e9, 1e9]) == pytest.approx([math.log(2), -math.log((1 + math.exp(-1)) / 2)], rel=1e-12)
    assert dv.NoiseMechanism(stats.norm(0.5, 1), two).pml(-1e9) == pytest.approx(math.log(2), rel=1e-12)
    moved = dv.NoiseMechanism(stats.laplace(0.5, 1), two)
    assert moved.pml([-1e9, 1e9]) == pytest.approx(-math.log((1 + math.exp(-1)) / 2), rel=1e-12)
    ours = dv.NoiseMechanism("laplace", two, scale=1.0)
    assert moved.cdf(0.7) == pytest.approx(ours.cdf(0.2), rel=1e-14)
    assert moved.density(0.7) == pytest.approx(ours.density(0.2), rel=1e-14)
    assert moved.binned([0.5]).matrix == pytest.approx(ours.binned([0.0]).matrix)
    assert moved.posterior(0.7).floats == pytest.approx(ours.posterior(0.2).floats)
    assert dv.NoiseMechanism(stats.norm(0.5, 1), "normal(0, 1)").pml_supremum.value == math.inf


def test_closed_forms_where_the_data_end() -> None:
    """Laplace noise on a uniform secret: f is least at its ends, P(hi) has (1 - e^{-w/b}) b / w of the peak."""
    found = dv.NoiseMechanism("laplace", "uniform(0, 1000)", scale=0.1).pml_supremum
    with mp.workdps(40):
        exact = mp.log(mp.mpf(1000) / mp.mpf(0.1) / -mp.expm1(-mp.mpf(1000) / mp.mpf(0.1)))
        assert found.certified
        assert found.lower <= exact <= found.upper <= found.lower + 1e-12
        logistic = dv.NoiseMechanism("logistic", "uniform(0, 3)", scale=0.5)
        slope, width = 1 / mp.mpf(0.5), mp.mpf(3)
        tilted = mp.log(-mp.expm1(-slope * width) / (slope * width))  # log E e^{-slope (hi - X)}
        assert logistic.pml_supremum.lower <= -tilted <= logistic.pml_supremum.upper
        assert logistic.pmc_supremum.lower <= tilted + slope * width <= logistic.pmc_supremum.upper
        assert logistic.pml_supremum.certified
        assert logistic.pmc_supremum.certified
    y = np.linspace(-4, 7, 2001)
    assert logistic.pml(y).max() <= logistic.pml_supremum.upper + 1e-9
    assert logistic.pmc(y).max() <= logistic.pmc_supremum.upper + 1e-9


@pytest.mark.parametrize("noise", [stats.uniform(0, 2), stats.triang(0.3, 0, 2), stats.expon(), stats.gennorm(0.5)])
def test_uniform_and_kinked_noise_has_a_narrow_bracket(noise: Any) -> None:
    m = dv.NoiseMechanism(noise, "values(0:0.3, 1:0.3, 1.5:0.1, 2:0.3)")
    found = m.pml_supremum
    y = np.concatenate([np.linspace(-5, 9, 20_003), np.add.outer([0, 1, 1.5, 2], [-1e-9, 1e-9, 2 - 1e-9]).ravel()])
    seen = np.nanmax(m.pml(y))
    assert found.lower - 1e-9 <= found.upper
    assert seen <= found.upper + 1e-9
    assert found.upper - found.lower < 1e-4
    ruled_out = m.pmc_supremum
    assert math.isinf(ruled_out.value) == math.isfinite(noise.support()[0])


def test_bounded_noise_on_a_density_singles_out_its_end() -> None:
    for noise in (stats.uniform(0, 1), stats.triang(0.3), stats.expon()):
        m = dv.NoiseMechanism(noise, "uniform(0, 3)")
        assert m.pml_supremum.value == math.inf
        near, nearer = m.pml(m.pml_supremum.at + np.array([1e-2, 1e-4]))
        assert near < nearer


@pytest.mark.thin
@pytest.mark.parametrize(("y", "p"), [(0.1, 1), (0.5, 1), (2.0, 1), (0.5, 1.3), (0.1, 3)])
def test_guesses_of_a_number_are_as_good_as_the_best(y: float, p: float) -> None:
    """Wide noise, so that little leaks and digits of the costs count."""
    found = power_cost(dv.NoiseMechanism("laplace", "uniform(0, 1)", scale=5.0), y, p)
    with mp.workdps(20):
        peak = mp.mpf(min(max(y, 0.0), 1.0))

        def total(h: Any, *marks: Any) -> Any:
            return mp.quad(lambda x: h(x) * mp.exp(-abs(x - y) / 5), sorted({mp.mpf(0), peak, *marks, mp.mpf(1)}))

        mass = total(lambda x: mp.mpf(1))
        low, high = mp.mpf(0), mp.mpf(1)
        for _ in range(28):  # the derivative of a convex cost, whose minimum is flat: 1e-8 off is 1e-16 more
            guess = (low + high) / 2
            slope = total(lambda x, g=guess: mp.sign(g - x) * abs(x - g) ** (p - 1), guess)
            low, high = (low, guess) if slope > 0 else (guess, high)
        after = total(lambda x: abs(x - guess) ** p, guess) / mass
        before = 1 / (mp.mpf(2) ** p * (p + 1))
        assert abs(found.after / after - 1) < 1e-12
        assert abs(found.leakage / mp.log(before / after) - 1) < 1e-9
        assert found.leakage <= dv.NoiseMechanism("laplace", "uniform(0, 1)", scale=5.0).pmc(y) + 1e-12


@pytest.mark.parametrize("y", [0.0, 0.7, 30.0, 300.0])
def test_guesses_of_a_normal_number_far_out(y: float) -> None:
    found = power_cost(dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0), y, 1)
    assert found.before == pytest.approx(math.sqrt(2 / math.pi), rel=1e-12)
    assert found.after == pytest.approx(math.sqrt(1 / math.pi), rel=1e-10)


def test_no_outcomes_leak_nothing() -> None:
    for secret in ("values(0:0.3, 1:0.7)", "uniform(0, 1)"):
        m = dv.NoiseMechanism("laplace", secret, scale=1.0)
        assert m.pml([]).shape == m.pmc([]).shape == m.error([]).shape == (0,)


@pytest.mark.parametrize(
    "noise", [stats.triang(0.3, 0, 2), stats.beta(0.5, 0.5), stats.uniform(0, 2), stats.gamma(0.5)]
)
def test_means_under_bounded_and_singular_noise(noise: Any) -> None:
    m = dv.NoiseMechanism(noise, "values(0:0.3, 1:0.7)")

    def gain(y: float) -> float:
        f = noise.pdf([y, y - 1])
        q = float(np.array([0.3, 0.7]) @ f)
        return q * math.log(max(f) / q) if 0 < q < math.inf else 0.0

    marks = [0, 0.6, 1, 1.6, 2, 3, 40]
    exact = math.fsum(integrate.quad(gain, a, b, limit=400)[0] for a, b in pairwise(marks))
    found = m.mean_pml()
    assert abs(found.value - exact) <= found.error + 1e-7
    assert found.error < 1e-5


@pytest.mark.parametrize("side", ["upper", "PML", None, 1])
def test_a_side_that_is_none_is_refused(side: Any) -> None:
    m = dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)
    for ask in (m.supremum, lambda s: m.tail(0.3, s), lambda s: m.quantile(0.3, s), lambda s: m.adversary(0.3, s)):
        with pytest.raises(dv.DivulgeError, match="`side` must be"):
            ask(side)
