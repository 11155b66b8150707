"""Outcomes far from nearly all secrets, intervals away from 0, cuts off the lattice, clipping to where nothing is."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_ndtr
from support import THOROUGH

import divulge as dv
from divulge.errors import DivulgeError
from divulge.noise.families.staircase import staircase
from divulge.noise.secrets.expectations import cumulant


def _expon_plus_gaussian(y: float, s: float) -> float:
    return log_ndtr(y / s - s) - y + s * s / 2


def _laplace_plus_gaussian(y: float, s: float) -> float:
    return np.logaddexp(_expon_plus_gaussian(y, s), _expon_plus_gaussian(-y, s)) - math.log(2)


def _laplace_plus_laplace(y: float, b: float) -> float:  # b = 1
    return math.log1p(abs(y)) - abs(y) - math.log(4)


@pytest.mark.parametrize(
    ("secret", "noise", "exact"),
    [
        ("expon()", "gaussian", _expon_plus_gaussian),
        ("laplace()", "gaussian", _laplace_plus_gaussian),
        ("laplace()", "laplace", _laplace_plus_laplace),
    ],
)
def test_outcomes_beyond_nearly_all_secrets(secret: str, noise: str, exact: Callable[[float, float], float]) -> None:
    m = dv.NoiseMechanism(noise, secret, scale=1.0)
    for y in (-60.0, 30.0, 66.0, 75.0, 200.0, 5e3, 3e5, 1e9):
        log_f = exact(y, 1.0)
        assert m.log_density(y) == pytest.approx(log_f, rel=1e-12, abs=1e-9)
        if y > 0:  # the best secret is y itself
            assert m.pml(y) == pytest.approx(m.noise.log_density(np.zeros(1))[0] - log_f, rel=1e-12, abs=1e-9)


def test_between_a_light_tail_and_a_steep_noise() -> None:
    m = dv.NoiseMechanism("laplace", "logistic(0, 0.01)", scale=1.0)  # near y the density of the secret is 0
    moment = math.log(math.pi * 0.01 / math.sin(math.pi * 0.01))  # log E e^X
    for y in (5.0, 60.0, 2e4):
        assert m.log_density(y) == pytest.approx(moment - y - math.log(2), abs=1e-9)


def test_a_density_that_scipy_cannot_tell_from_nothing_is_refused() -> None:
    m = dv.NoiseMechanism("gaussian", "foldnorm(1)", scale=5.0)
    assert math.isfinite(m.pml(20.0))
    with pytest.raises(DivulgeError, match="below the smallest double"):
        m.pml(1e4)


@pytest.mark.parametrize("kind", ["laplace", "logistic", pytest.param("student-t", marks=pytest.mark.long)])
def test_moving_the_data_changes_nothing(kind: str) -> None:
    found = []
    for low in (-0.25, 1.75, 40.0) if kind == "laplace" or THOROUGH else (-0.25, 40.0):
        m = dv.NoiseMechanism(kind, f"triang(0.3, {low}, 0.5)", scale=0.2)
        found.append([getattr(s, name) for s in (m.pml_supremum, m.pmc_supremum) for name in ("lower", "upper")])
        assert m.pml_supremum.upper - m.pml_supremum.lower < 1e-3
    for moved in found[1:]:
        assert moved == pytest.approx(found[0], abs=2e-5)


def test_limits_of_means_against_outcomes_far_out() -> None:
    m = dv.NoiseMechanism("laplace", "uniform(5, 7)", scale=0.3, records=4)
    for end in m.law.ends():
        y = np.array([7.0 if end.at > 0 else 5.0])  # nothing changes beyond the data
        error = float(m.law.error(y, "pml")[0])
        assert abs(end.outcome - float(m.law.log_outcome(y)[0])) <= error
        assert abs(end.leakage("pml")[0] - m.pml(y)[0]) <= error
        assert abs(end.leakage("pmc")[0] - m.pmc(y)[0]) <= error


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
def test_bins_cut_off_the_lattice(kind: str) -> None:
    m = dv.NoiseMechanism(kind, "binom(10, 0.3)", scale=0.7)
    cuts = [0.63, 3.2, 5.0, 7.9]
    y = np.arange(-60, 80)
    given = np.exp(m.noise.log_density(y - m.secret.values[:, None]))
    exact = np.stack([given[:, np.searchsorted(cuts, y) == i].sum(axis=1) for i in range(5)], axis=1)
    assert m.binned(cuts).channel.floats == pytest.approx(exact, rel=1e-12)


def test_singular_ends_keep_their_mass() -> None:
    m = dv.NoiseMechanism("laplace", "beta(0.5, 0.5)", scale=1.0, clip=(-3, 5))
    k = math.log(float(np.i0(0.5))) + 0.5  # log E e^X of the arcsine law, by its Bessel function
    assert cumulant(m.secret, 1.0) == pytest.approx(k, abs=1e-10)
    assert dv.NoiseMechanism("logistic", "beta(1, 0.5)", scale=0.1).cdf(30.0) == pytest.approx(1.0, abs=1e-12)


def test_clipping_to_where_no_record_is() -> None:
    m = dv.NoiseMechanism("laplace", "uniform(5, 6)", scale=1.0, clip=(0, 2))
    assert m.secret.values.tolist() == [2.0]
    assert m.pml_supremum.value == m.pmc_supremum.value == 0.0


def test_a_periodic_density_is_refused() -> None:
    with pytest.raises(DivulgeError, match="periodic"):
        dv.NoiseMechanism("logistic", "vonmises(2)", scale=1.0).pml(0.3)


def test_student_t_noise_a_long_way_out(recwarn: pytest.WarningsRecorder) -> None:
    m = dv.NoiseMechanism("student-t", "bernoulli(0.3)", scale=1.0, df=1.0)
    assert m.pml([1e5, -1e160, 1e200]) == pytest.approx([0.7 * 2e-5, 0, 0], abs=1e-9)  # c |x - E X| / y
    assert m.tail(0.01).certified
    assert not recwarn.list


@pytest.mark.long
@pytest.mark.parametrize("b", [0.01, 30.0] if THOROUGH else [0.01])
def test_cauchy_secrets_and_noise_in_closed_form(b: float) -> None:
    """The outcome is (1 + b) C for a Cauchy C: pml = log((1 + b)/b) + log(1 + C^2), and E log(1 + C^2) = log 4."""
    m = dv.NoiseMechanism("student-t", "cauchy()", scale=b, df=1.0)
    least = math.log((1 + b) / b)
    mean, information = m.mean_pml(), m.mutual_information()
    assert abs(mean.value - least - math.log(4)) <= mean.error <= 1e-9
    assert abs(information.value - least) <= information.error <= 1e-9
    for threshold in (least + 0.01, least + 7.0):
        delta = 1 - 2 / math.pi * math.atan(math.sqrt(math.expm1(threshold - least)))
        found = m.tail(threshold)
        assert abs(found.value - delta) <= found.error <= 1e-9
    v = least + math.log1p(math.tan(math.pi / 2 * 0.95) ** 2)
    found = m.quantile(0.95)
    assert abs(found.value - v) <= found.error <= 1e-8


def test_mean_under_heavy_noise_over_a_light_secret() -> None:
    m = dv.NoiseMechanism("student-t", "laplace()", scale=100.0, df=1.0)
    assert m.mean_pml().error < 1e-8
    assert m.mean_pml().value == pytest.approx(math.log(4), abs=1e-3)  # the noise alone: log(1 + C^2)


def test_mean_where_the_best_secret_changes_between_values() -> None:
    m = dv.NoiseMechanism("laplace", "values(0:0.2, 1:0.5, 2.7182818:0.3)", scale=0.4)
    x, cuts = m.secret.values, [-30.0, 0.0, 0.5, 1.0, 1.8591409, 2.7182818, 35.0]
    nodes, weights = np.polynomial.legendre.leggauss(200)
    total = 0.0
    for a, b in pairwise(cuts):
        y = (a + b) / 2 + (b - a) / 2 * nodes
        given = np.exp(-np.abs(y[:, None] - x) / 0.4) / 0.8
        f = given @ m.secret.probabilities
        total += (b - a) / 2 * float(weights @ (f * np.log(given.max(axis=1) / f)))
    assert abs(m.mean_pml().value - total) <= m.mean_pml().error + 1e-12


def test_staircase_tails_keep_their_digits() -> None:
    noise = staircase(0.05, sensitivity=1.0)  # epsilon = 20
    step = 1e-3
    z = step * (np.arange(6000) + 0.5)  # no jump inside a cell: they are at multiples of 1 and gamma more
    edges = np.concatenate([z - step / 2, [6.0]])
    gamma = noise.parameters["gamma"]
    edges = np.union1d(edges, np.arange(6) + gamma)
    mass = np.exp(noise.log_density((edges[1:] + edges[:-1]) / 2)) * np.diff(edges)
    beyond = np.append(np.cumsum(mass[::-1])[::-1], 0.0)  # up to 6: all but e^-120
    assert noise.sf(edges[:-500]) == pytest.approx(beyond[:-500], rel=1e-9)
    assert noise.cdf(-edges[:-500]) == pytest.approx(beyond[:-500], rel=1e-9)
    assert noise.cdf(np.array([-math.inf, 0.0, math.inf])) == pytest.approx([0.0, 0.5, 1.0], abs=1e-14)
    m = dv.NoiseMechanism("staircase", "bernoulli(0.000001)", records=100, scale=0.01)
    assert dv.pml(m.binned(np.linspace(-0.03, 1.03, 9))).max() <= m.pml_supremum.upper * (1 + 1e-9)


def test_steps_narrower_than_doubles_are_not_passed_over() -> None:
    m = dv.NoiseMechanism("staircase", "values(0.25:0.495, 0.5:0.01, 0.75:0.495)", records=2, scale=0.01)  # width e^-50
    found = m.pml_supremum
    assert found.upper >= dv.pml(m.binned(np.linspace(0.2, 0.8, 9))).max() * (1 - 1e-9)
    assert found.upper == pytest.approx(-math.log(0.01))
    assert "narrower" in found.reason


@pytest.mark.thin
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "student-t", "logistic"])
@pytest.mark.parametrize("secret", ["rademacher()", "values(0:0.2, 1:0.3, 1000:0.5)"])
@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-8, 1e-20, 1e-300])
def test_narrow_noise_tells_the_secret_or_says_it_could_not_be_seen(kind: str, secret: str, scale: float) -> None:
    found = dv.NoiseMechanism(kind, secret, scale=scale).mean_pml()
    truth = math.log(2) if secret == "rademacher()" else -sum(p * math.log(p) for p in (0.2, 0.3, 0.5))
    assert found.lower <= truth
    assert truth <= found.upper + 1e-7  # what heavy tails keep at a scale of 1e-3
    if scale >= 1e-8:
        assert found.value == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize("scale", [0.0, 1e-308, 1e308, math.inf, math.nan])
def test_scales_at_the_end_of_the_doubles_are_refused(scale: float) -> None:
    with pytest.raises(dv.DivulgeError, match="scale"):
        dv.NoiseMechanism("laplace", "rademacher()", scale=scale)
