"""What is read off a density: places without a bound, several peaks, spikes between the places that are looked at."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats
from support import THOROUGH

import divulge as dv


def normal(z: Any) -> Any:
    """The normal density, as `scipy.special` has its distribution function: most calls are about few places."""
    return np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


class Spiked(stats.rv_continuous):
    """A normal density with a share `weight` of the mass in a normal spike."""

    weight, at, width = 0.0, 0.0, 1.0

    def _mix(self, f: Any, x: Any, sign: int = 1) -> Any:
        return (1 - self.weight) * f(sign * x) + self.weight * f(sign * (x - self.at) / self.width)

    def _pdf(self, x: Any) -> Any:
        return (1 - self.weight) * normal(x) + self.weight / self.width * normal((x - self.at) / self.width)

    def _cdf(self, x: Any) -> Any:
        return self._mix(special.ndtr, x)

    def _sf(self, x: Any) -> Any:
        return self._mix(special.ndtr, x, -1)


def spiked(weight: float, at: float, width: float) -> Any:
    members = {"weight": weight, "at": at, "width": width, "__doc__": "A spiked normal density."}
    return type("Narrow", (Spiked,), members)(name="spiked")()


WITHOUT_BOUND = ["dgamma(0.5)", "dgamma(0.95)", "dweibull(0.7)", "arcsine()", "beta(0.5, 0.5)"]
AT_AN_END = ["gamma(0.5)", "powerlaw(0.5)", "weibull_min(0.7)", "chi2(1)", "nakagami(0.3)"]


@pytest.mark.parametrize("noise", [*WITHOUT_BOUND, *AT_AN_END])
def test_noise_without_a_bound_tells_a_secret_with_a_density(noise: str, recwarn: pytest.WarningsRecorder) -> None:
    """A bet on an interval at y gains about P(|Z| < w) / 2w, which grows without bound."""
    m = dv.NoiseMechanism(noise, "uniform(0, 1)")
    assert m.pml([0.3, 0.7]).tolist() == [math.inf, math.inf]
    assert m.pml_supremum.value == math.inf
    assert m.mean_pml().value == math.inf
    y = m.noise.frozen.rvs(200, random_state=1) + np.random.default_rng(1).uniform(size=200)
    assert not np.isnan(m.pml(y)).any()
    assert not np.isnan(m.pmc(y)).any()
    assert not recwarn.list
    frozen = m.noise.frozen
    gains = [float(frozen.cdf(w) - frozen.cdf(-w)) / (2 * w) for w in (1e-3, 1e-9)]  # a bet on |y - X| < w, roughly
    assert gains[1] > 1.4 * gains[0]
    if noise == "gamma(0.5)" and THOROUGH:
        y = m.noise.frozen.rvs(12_000, random_state=1) + np.random.default_rng(1).uniform(size=12_000)
        seen = m.tail(1.0)
        assert abs((m.pml(y) > 1).mean() - seen.value) < seen.error + 0.03
        assert m.tail_envelope(2.0).upper == 1.0


@pytest.mark.parametrize("noise", [*WITHOUT_BOUND, *AT_AN_END])
def test_noise_without_a_bound_rules_all_other_values_out(noise: str) -> None:
    m = dv.NoiseMechanism(noise, "values(0:0.3, 0.4:0.7)")
    pole = m.noise.poles[0]
    y = 0.4 + pole + 10.0 ** -np.array([3.0, 9.0, 14.0])
    assert (np.diff(m.pmc(y)) > -1e-9).all()
    assert m.pmc_supremum.value == math.inf
    assert m.pml_supremum.value == pytest.approx(-math.log(0.3), rel=1e-12)


SPIKES = [(0.05, -0.4, 1e-9), (1e-2, 2.7, 1e-5), (1e-3, 0.3, 1e-6)]
"""Weights, places and widths, the narrowest first."""


@pytest.mark.parametrize(("weight", "at", "width"), SPIKES if THOROUGH else SPIKES[:1])
def test_a_spike_between_the_places_is_seen(weight: float, at: float, width: float) -> None:
    """Tails are sums of masses where the leakage is above the threshold, cut at a thousand places of each spike."""
    distribution = spiked(weight, at, width)
    m = dv.NoiseMechanism(distribution, "values(0:0.5, 1:0.3, 3:0.2)")
    assert any(abs(peak - at) < width for peak in m.noise.peaks)
    p, x = np.array([0.5, 0.3, 0.2]), np.array([0.0, 1.0, 3.0])
    near = [v + at + width * np.linspace(-9, 9, 2001) for v in x]
    edges = np.unique(np.concatenate([np.linspace(-12, 15, 54_001), *near]))
    given = np.exp(distribution.logpdf((edges[1:] + edges[:-1])[:, None] / 2 - x))
    leak = np.log(given.max(axis=1) / (given @ p))
    mass = np.diff(distribution.cdf(edges[:, None] - x) @ p)
    for threshold in (0.4, 0.7, 1.5) if THOROUGH else (0.4, 1.5):
        found = m.tail(threshold)
        assert abs(found.value - mass[leak > threshold].sum()) < found.error + 2e-4
    found = m.mean_pml()
    assert abs(found.value - mass @ leak) < found.error + 1e-6
    assert found.error < 1e-7


def test_a_spike_that_is_left_out_would_be_caught() -> None:
    """The mass that the density is not seen to have stands in the error."""
    hidden = type("Hidden", (Spiked,), {"weight": 0.01, "_pdf": lambda self, x: 0.99 * normal(x)})(name="hidden")()
    m = dv.NoiseMechanism(hidden, "bernoulli(0.3)")
    assert 0.005 < m.noise.unseen < 0.02
    assert m.tail(0.5).error > 0.005


@pytest.mark.parametrize("noise", ["dweibull(2)", "dgamma(3)"])
def test_the_best_of_a_continuum_of_secrets_under_several_peaks(noise: str) -> None:
    m = dv.NoiseMechanism(noise, "uniform(0, 1)")
    frozen, y = m.noise.frozen, np.linspace(-4, 5, 37)
    x = np.linspace(0, 1, 20_001)
    best = frozen.logpdf(y[:, None] - x).max(axis=1)
    outcome = np.log(frozen.cdf(y) - frozen.cdf(y - 1))
    assert (m.pml(y) >= best - outcome - 1e-9).all()
    assert m.pml(y) == pytest.approx(best - outcome, abs=1e-6)
    assert m.pmc_supremum.value == math.inf  # between the peaks the density is 0


@pytest.mark.parametrize("noise", ["skewnorm(4)", "exponnorm(1.5)", "norminvgauss(1, 0.5)"])
def test_slow_quantiles_are_not_asked_for_by_the_thousand(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    name = noise.partition("(")[0]
    family = type(getattr(stats, name))
    plain = family._ppf

    def counted(self: Any, q: Any, *shapes: Any) -> Any:
        nonlocal asked
        asked += np.size(q)
        return plain(self, q, *shapes)

    monkeypatch.setattr(family, "_ppf", counted)
    m = dv.NoiseMechanism(noise, "bernoulli(0.3)")
    assert m.pml_supremum.upper <= -math.log(0.3) + 1e-9
    assert asked < 400


@pytest.mark.thin
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("secret", ["rademacher()", "values(0:0.9, 1:0.1)", "uniform(-1, 3)"])
def test_the_lesser_of_two_sub_gaussian_bounds(secret: str, scale: float) -> None:
    """Never below the tail itself, by the closed forms of both bounds, and 1 up to B^2 / (2 s^2)."""
    m = dv.NoiseMechanism("gaussian", secret, scale=scale)
    center = {"r": 0.0, "v": 0.1, "u": 1.0}[secret[0]]
    b = max(m.secret.high - center, center - m.secret.low)
    for epsilon in (0.1, 1.0, 6.0, 30.0):
        bound = m.sub_gaussian_tail(epsilon)
        found = m.tail(epsilon, "pmc")
        assert found.value - found.error <= bound <= 1.0
        left = epsilon - b * b / (2 * scale**2)
        assert (bound == 1.0) >= (left <= 0)
        for a in (math.sqrt(1 + 2 * max(left, 0.0)) - 1, max(left, 0.0) / 2):
            t = a * scale**2 / b
            assert bound <= min(1.0, 2 * math.exp(-(t**2) / (2 * (scale**2 + b**2)))) * (1 + 1e-12)
    assert dv.NoiseMechanism("gaussian", "rademacher()", scale=1.0).sub_gaussian_tail(30.0) < 5e-24
