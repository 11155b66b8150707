"""Distribution functions that are added up from densities, against `quad` piece by piece; and what rests on them."""

import math
import pickle
from functools import partial
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

import divulge as dv
from divulge.dp import DistributionPair
from divulge.noise.accumulated import cdf_of, isf_of, ppf_of, sf_of
from divulge.noise.steady import steady


def skew(x: Any, a: float) -> Any:
    return math.sqrt(2 / math.pi) * np.exp(-x * x / 2) * special.ndtr(a * x)


def inverse(x: Any, a: float, b: float) -> Any:
    root = np.sqrt(1 + x * x)
    return a * special.k1e(a * root) / root / np.pi * np.exp(np.sqrt(a * a - b * b) + b * x - a * root)


@pytest.mark.parametrize(("noise", "density"), [
    (stats.skewnorm(4), lambda x: skew(x, 4)),
    (stats.skewnorm(-2, loc=3, scale=0.1), lambda x: 10 * skew((x - 3) * 10, -2)),
    (stats.norminvgauss(1, 0.5), lambda x: inverse(x, 1, 0.5)),
    (stats.norminvgauss(100, -99.0), lambda x: inverse(x, 100, -99.0)),
])  # fmt: skip
def test_both_sides_have_all_digits_in_the_tails_too(noise: Any, density: Any) -> None:
    center, width = noise.mean(), noise.std()
    z = center + width * np.array([-6.0, -2.0, 0.1, 3.0])
    below, above = cdf_of(noise)(z), sf_of(noise)(z)
    grid = sorted(center + width * s * 2.0**k for k in range(8, -3, -1) for s in (-1, 1))
    for at, low, high in zip(z.tolist(), below.tolist(), above.tolist(), strict=True):
        left, right = [*(g for g in grid if g < at), at], [at, *(g for g in grid if g > at)]
        for edges, found in ((left, low), (right, high)):
            parts = [integrate.quad(density, u, v, epsabs=0, epsrel=1e-12)[0] for u, v in pairwise(edges)]
            if math.fsum(parts) > 1e-280:
                assert found == pytest.approx(math.fsum(parts), rel=1e-10)


def test_one_call_is_as_many() -> None:
    noise = stats.norminvgauss(1, 0.5)
    z = np.array([[0.3, -np.inf, 2.0], [np.nan, np.inf, 0.3]])
    below, above = cdf_of(noise)(z), sf_of(noise)(z)
    assert below[0, 1] == above[1, 1] == 0.0
    assert below[1, 1] == pytest.approx(1.0, abs=1e-14)
    assert np.isnan(below[1, 0])
    assert below[0, 0] == below[1, 2] == pytest.approx(float(cdf_of(noise)(0.3)), abs=1e-15)
    assert below[0, 2] + above[0, 2] == pytest.approx(1.0, abs=1e-13)
    for moved in (stats.norminvgauss(1, 0.5, loc=1e9), stats.norminvgauss(1, 0.5, 0.0, 1e200)):
        assert cdf_of(moved)(np.inf) == pytest.approx(1.0, abs=1e-13)
        assert sf_of(moved)(moved.ppf(0.5)) == pytest.approx(0.5, abs=1e-6)
    assert cdf_of(stats.logistic(0.0))(0.0) == 0.5  # scipy's own


@pytest.mark.long
def test_tails_under_a_density_without_a_closed_distribution_function() -> None:
    """The share of outcomes above 0.3 was said to be 1, give or take a half."""
    m = dv.NoiseMechanism("norminvgauss(1, 0.5)", "bernoulli(0.3)")
    f = m.noise.frozen
    y = np.linspace(-60, 80, 28_001)
    p, q = f.pdf(y), f.pdf(y - 1)
    outcome = 0.7 * p + 0.3 * q
    share = outcome[np.log(np.maximum(p, q) / outcome) > 0.3].sum() * (y[1] - y[0])
    found = m.tail(0.3)
    assert found.error < 1e-9
    assert found.value == pytest.approx(share, abs=1e-2)


@pytest.mark.parametrize(
    "noise", [stats.exponnorm(0.03), stats.norminvgauss(1, 0.5, loc=-2, scale=1e-3), stats.crystalball(2, 3, loc=5)]
)
def test_quantiles_that_scipy_seeks_one_by_one_are_where_both_sides_have_the_level(noise: Any) -> None:
    """Also beyond 1e-16, where scipy has none from above; at a level of 0 and 1 they are the ends."""
    levels = np.array([1e-280, 1e-20, 0.1, 0.5, 0.9])
    seen = levels if noise.dist.name != "crystalball" else levels[1:]  # its tail reaches beyond all doubles
    assert cdf_of(noise)(ppf_of(noise)(seen)) == pytest.approx(seen, rel=1e-9)
    assert sf_of(noise)(isf_of(noise)(levels)) == pytest.approx(levels, rel=1e-9)
    assert ppf_of(noise)(np.array([[0.0], [1.0], [-0.1]])) == pytest.approx(
        np.array([[-np.inf], [np.inf], [np.nan]]), nan_ok=True
    )
    assert isf_of(noise)(0.0) == math.inf
    assert ppf_of(stats.norm()).__name__ == "ppf"  # scipy's own, where it has a formula


@pytest.mark.parametrize("skewness", [-40.0, 0.5])
def test_quantiles_of_a_tail_that_falls_faster_are_found(skewness: float) -> None:
    """scipy's own are many standard deviations off from 1e-12 on: on each side the level has to come back."""
    noise, levels = stats.skewnorm(skewness), np.array([1e-3, 1e-12, 1e-100])
    for quantiles, sign in ((isf_of(noise)(levels), 1.0), (-ppf_of(noise)(levels), -1.0)):
        for level, z in zip(levels.tolist(), quantiles.tolist(), strict=True):
            edges, of = sign * (z + np.append(0.0, 4.0 ** np.arange(-4, 4))), partial(skew, a=skewness)
            parts = [abs(integrate.quad(of, u, v, epsabs=0)[0]) for u, v in pairwise(edges)]
            assert math.fsum(parts) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("share", [1e-8, 0.01, pytest.param(20.0, marks=pytest.mark.long)])
def test_a_small_exponential_part_beside_a_normal_one_keeps_all_digits(share: float) -> None:
    """By the definition, an integral over the exponential part; scipy's own density is off by two thirds at 1e-8."""
    noise = steady(stats.exponnorm(share, loc=3.0, scale=2.0))
    with mp.workdps(20):
        for at in (-4.0, 0.5, 6.0):
            x, parts = mp.mpf(at), [0, 1, 4, 12, 40]
            y = 3 + 2 * at
            for found, of, sign in (
                (noise.pdf(y) * 2, mp.npdf, 1), (noise.cdf(y), mp.ncdf, 1), (noise.sf(y), mp.ncdf, -1),
            ):  # fmt: skip
                truth: Any = mp.quad(lambda t, of=of, u=sign, x=x: of(u * (x - share * t)) * mp.exp(-t), parts)
                assert float(found) == pytest.approx(float(truth), rel=1e-12)
    assert noise.logpdf(3 + 2 * at) == pytest.approx(math.log(noise.pdf(3 + 2 * at)), rel=1e-12)
    assert pickle.loads(pickle.dumps(noise)).cdf(0.0) == noise.cdf(0.0)


@pytest.mark.parametrize("share", [0.7, 20.0, 1e8])
def test_the_far_left_of_a_normal_with_a_large_exponential_part_keeps_its_digits(share: float) -> None:
    """In 60 digits by the formula whose terms cancel: 1e-10 at 20 and 1e-4 at 1e8 were lost at 30 deviations."""
    noise = steady(stats.exponnorm(share))
    with mp.workdps(60):
        for at in (-35.0, -30.0, -9.0, -1.0, 0.0, 3.0, 40.0):
            u = (1 / mp.mpf(share) - at) / mp.sqrt(2)
            truth = mp.ncdf(at) - mp.exp(u * u - mp.mpf(at) ** 2 / 2) * mp.erfc(u) / 2
            assert float(noise.cdf(at)) == pytest.approx(float(truth), rel=2e-12)


def test_losses_and_noise_are_told_by_the_density_that_has_its_digits() -> None:
    """Nearly normal, so nearly the loss of the normal pair, and nearly its leakage about a bit."""
    near: list[Any] = [stats.exponnorm(1e-8, loc=at) for at in (0.0, 0.5)]
    normal: list[Any] = [stats.norm(at) for at in (0.0, 0.5)]
    found, wanted = (DistributionPair(*pair).losses()[0].delta(1.0) for pair in (near, normal))
    assert found == pytest.approx(wanted, rel=1e-6)
    first, second = (dv.NoiseMechanism(one, "bernoulli(0.3)") for one, _ in (near, normal))
    assert first.pml(0.7) == pytest.approx(second.pml(0.7), rel=1e-6)
