"""Secrets that quadrature finds hard: exact where they can be, within the stated error elsewhere, never for long."""

import math

import mpmath as mp
import numpy as np
import pytest

import divulge as dv
from divulge.noise.mechanism import NoiseMechanism


@pytest.mark.parametrize("y", [-0.05, 0.4, 1.0, 1.05])
def test_a_density_singular_at_one_is_within_the_stated_error(y: float) -> None:
    """By the substitution x = (1 - cos t)/2, in which the arcsine secret is uniform."""
    m = NoiseMechanism("gaussian", "beta(0.5, 0.5)", scale=0.03)
    exact = mp.quad(lambda t: mp.npdf(y, (1 - mp.cos(t)) / 2, 0.03), mp.linspace(0, mp.pi, 40)) / mp.pi
    error = float(m.law.error(np.array([y]), "pml")[0])
    assert error <= 1e-6
    assert abs(m.log_density(y) - float(mp.log(exact))) <= error + 1e-12


@pytest.mark.parametrize("y", [1.0, 1e3, 1e5, 1e9, 1e17])
def test_far_out_a_heavy_tailed_secret_keeps_its_density(y: float) -> None:
    m = NoiseMechanism("laplace", "cauchy()", scale=0.3)

    def part(z: mp.mpf) -> mp.mpf:
        return mp.exp(-abs(z) / 0.3) / 0.6 / (mp.pi * (1 + (mp.mpf(y) - z) ** 2)) * y * y

    with mp.workdps(25):
        exact = mp.quad(part, [-30, -5, -1, 0, 1, 5, 30]) / mp.mpf(y) ** 2
    assert m.log_density(y) == pytest.approx(float(mp.log(exact)), abs=1e-11)


@pytest.mark.parametrize("secret", ["uniform(-1, 1)", "normal(0, 1)", "gamma(0.3)", "cauchy()"])
def test_staircase_noise_is_a_sum_of_masses(secret: str) -> None:
    m = NoiseMechanism("staircase", secret, scale=0.5)
    x, r = m.secret.continuous, m.noise.radii(400.0)
    z = np.concatenate([-r[::-1], r])
    level = np.exp(m.noise.log_density((z[1:] + z[:-1]) / 2))
    for y in (-30.0, -1.5, 0.3, 2.7):
        mass = x.cdf(y - z[:-1]) - x.cdf(y - z[1:])
        assert m.density(y) == pytest.approx(math.fsum(level * mass), rel=1e-8)


@pytest.mark.parametrize(("kind", "secret"), [("laplace", "cauchy()"), ("gaussian", "beta(0.5, 0.5)")])
def test_tails_of_hard_secrets_look_at_few_outcomes(kind: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m, seen = NoiseMechanism(kind, secret, scale=0.3), 0
    law = type(m.law)
    whole = law._integrated

    def counted(self: object, y: np.ndarray) -> object:
        nonlocal seen
        seen += len(y)
        return whole(self, y)

    monkeypatch.setattr(law, "_integrated", counted)
    estimate = m.tail(0.5)
    assert 0 <= estimate.lower <= estimate.value <= 1
    assert estimate.error <= 1e-2
    assert seen <= 16_000


@pytest.mark.parametrize("values", [range(17, 91), [0, 1, math.sqrt(2), math.sqrt(3.3)]])
def test_means_with_too_many_sums_are_refused_with_the_remedy(values: list[float]) -> None:
    with pytest.raises(dv.DivulgeError, match=r"over (80,000|20,000,000).*use fewer records, or round"):
        NoiseMechanism("laplace", list(values), scale=1.0, records=2500)


def test_few_records_on_no_lattice_are_enumerated() -> None:
    m = NoiseMechanism("laplace", [0, 1, math.sqrt(2), math.sqrt(3.3)], scale=1.0, records=5)
    assert len(m.law.locations) == math.comb(8, 3)
