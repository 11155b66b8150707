"""scipy.stats distributions as noise: recognized families, and shapes read off a density against known twins."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import divulge as dv
from divulge.noise.direct import log_density_of, parameters_of
from divulge.noise.families.from_scipy import from_scipy

TRAP = "values(0:0.495, 0.5:0.01, 1:0.495)"


@pytest.mark.parametrize(
    ("distribution", "kind", "parameters"),
    [
        (stats.norm(scale=2), "gaussian", {"scale": 2.0}),
        (stats.laplace(0, 0.5), "laplace", {"scale": 0.5}),
        (stats.logistic(), "logistic", {"scale": 1.0}),
        (stats.t(4, 0, 3), "student-t", {"scale": 3.0, "df": 4.0}),
        (stats.cauchy(scale=0.1), "student-t", {"scale": 0.1, "df": 1.0}),
    ],
)
def test_families_are_recognized(distribution: Any, kind: str, parameters: dict[str, float]) -> None:
    noise = from_scipy(distribution)
    assert (noise.kind, noise.parameters, noise.read_off) == (kind, parameters, False)
    z = np.linspace(-7, 7, 29)
    assert noise.log_density(z) == pytest.approx(distribution.logpdf(z), rel=1e-12)


@pytest.mark.thin
@pytest.mark.parametrize("secret", [TRAP, "uniform(0, 1)"])
@pytest.mark.parametrize(
    ("twin", "family"),
    [
        (stats.genlogistic(1, loc=2, scale=0.3), ("logistic", {"scale": 0.3})),
        (stats.gennorm(1, loc=2, scale=0.3), ("laplace", {"scale": 0.3})),
        (stats.gennorm(2, loc=2, scale=0.3), ("gaussian", {"scale": 0.3 / math.sqrt(2)})),
        (stats.crystalball(1e6, 3, loc=2, scale=0.3), ("gaussian", {"scale": 0.3})),
    ],
)
def test_a_twin_under_another_name_leaks_the_same(twin: Any, family: tuple[str, dict[str, float]], secret: str) -> None:
    ours, theirs = dv.NoiseMechanism(family[0], secret, **family[1]), dv.NoiseMechanism(twin, secret)
    for one, other in ((ours.pml_supremum, theirs.pml_supremum), (ours.pmc_supremum, theirs.pmc_supremum)):
        assert "read off" in other.method
        if math.isinf(one.value):
            assert other.value == math.inf
            continue
        assert other.lower <= one.upper + 1e-9
        assert one.lower <= other.upper + 1e-9
        assert other.upper - other.lower < 1e-3
    assert theirs.mean_pml().value == pytest.approx(ours.mean_pml().value, abs=1e-8)
    v, w = ours.quantile(0.4), theirs.quantile(0.4)
    assert abs(v.value - w.value) <= v.error + w.error
    assert not w.certified
    y = np.linspace(-3, 4, 29)
    assert theirs.pml(y + 2) == pytest.approx(ours.pml(y), abs=1e-9)
    assert theirs.pmc(y + 2) == pytest.approx(ours.pmc(y), abs=1e-9)


def test_one_sided_tails() -> None:
    m = dv.NoiseMechanism(stats.gumbel_r(scale=0.3), TRAP)
    assert m.pmc_supremum.value == math.inf
    assert m.pmc_supremum.at == -math.inf  # where the density falls doubly exponentially
    assert "unbounded" in m.pmc_supremum.reason
    y = np.linspace(-3, 12, 40_001)
    assert m.pml_supremum.lower - 1e-6 <= m.pml(y).max() <= m.pml_supremum.upper
    right = -math.log(np.exp(-np.array([1.0, 0.5, 0.0]) / 0.3) @ np.array([0.495, 0.01, 0.495]))
    assert m.law.ends()[0].leakage("pml")[0] == pytest.approx(right, rel=1e-12)


def test_several_peaks_get_a_lower_bound_only() -> None:
    found = dv.NoiseMechanism(stats.dweibull(2), TRAP).pml_supremum
    assert found.method == "search on a grid"
    assert found.upper == pytest.approx(-math.log(0.01))
    assert dv.NoiseMechanism(stats.uniform(-0.1, 0.2), TRAP).pml_supremum.value == pytest.approx(-math.log(0.01))


def test_outcomes_that_cannot_occur(recwarn: pytest.WarningsRecorder) -> None:
    m = dv.NoiseMechanism(stats.expon(), "bernoulli(0.3)")
    assert math.isnan(m.pml(-1.0))
    assert m.density(-1.0) == 0.0
    assert m.pml(0.5) == pytest.approx(-math.log(0.7))
    assert m.pmc(0.5) == math.inf
    assert m.tail(0.4).value == pytest.approx(0.3 + 0.7 * math.exp(-1), abs=1e-9)
    assert not recwarn.list


@pytest.mark.parametrize("noise", [stats.dweibull(0.5), stats.dgamma(0.7, loc=2.0, scale=3.0)])
def test_a_density_without_a_bound_rules_all_other_values_out(noise: Any) -> None:
    """As y nears the place where f(y|x) is infinite, P(x' | y) nears 0 for every other x'."""
    m = dv.NoiseMechanism(noise, "values(0:0.3, 1:0.7)")
    near = m.pmc(1 + noise.mean() + 10.0 ** -np.arange(2, 13))
    assert (np.diff(near) > 0.1).all()
    assert m.pmc_supremum.upper == math.inf
    assert m.pml_supremum.upper == pytest.approx(-math.log(0.3))


def test_a_histogram_with_an_empty_bin(recwarn: pytest.WarningsRecorder) -> None:
    histogram = stats.rv_histogram((np.array([1.0, 0.0, 2.0, 1.0]), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])))()
    m = dv.NoiseMechanism(histogram, "values(0:0.3, 1:0.7)")
    assert m.pmc_supremum.value == math.inf
    assert m.pml_supremum.value == pytest.approx(-math.log(0.3))
    assert not recwarn.list


def test_what_cannot_be_measured_in_bounded_time_or_numbers_is_refused() -> None:
    for name in ("levy_stable(1.5, 0)", "studentized_range(3, 10)"):
        with pytest.raises(dv.DivulgeError, match="`noise` must have a density that is a formula"):
            dv.NoiseMechanism(name, "bernoulli(0.3)")
        with pytest.raises(dv.DivulgeError, match="`secret` must have a density that is a formula"):
            dv.NoiseMechanism("gaussian", name, scale=1)
    with pytest.raises(dv.DivulgeError, match="`secret` must lie within"):
        dv.NoiseMechanism("gaussian", "values(-1e308:0.5, 1e308:0.5)", scale=1)


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_rare_quantiles_on_the_wrong_side_are_left_out(scale: float) -> None:
    """Those of scipy's alpha distribution are negative, where the noise is positive."""
    noise = stats.alpha(2.0, scale=scale)
    found = dv.NoiseMechanism(noise, "values(0:0.5, 1:0.3, 2:0.2)")
    y = np.concatenate([1 + scale * np.geomspace(1e-3, 1e4, 2001), scale * np.geomspace(1e-3, 1e4, 2001)])
    logs = np.stack([noise.logpdf(y - x) for x in (0, 1, 2)])
    with np.errstate(invalid="ignore"):
        leaks = logs.max(axis=0) - np.logaddexp.reduce(logs + np.log([[0.5], [0.3], [0.2]]), axis=0)
    assert np.nanmax(leaks) <= found.pml_supremum.upper + 1e-9
    assert found.pml_supremum.upper <= math.log(5) + 1e-9
    assert found.pmc_supremum.value == math.inf


ENDS = (stats.beta(2, 0.5), stats.gamma(0.5), stats.powerlaw(0.66), stats.invgamma(4), stats.betaprime(5, 6))
"""Densities that hold up to an end of their support, that do not, and one that does at one end alone."""


@pytest.mark.parametrize(
    "frozen", [*ENDS, stats.norminvgauss(1, 0.5), stats.rv_histogram(([3, 1, 2], [0, 1, 2, 4]), density=True)]
)
@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (0.25, 1.7)])
def test_log_densities_are_scipys_to_the_last_bit(frozen: Any, loc: float, scale: float) -> None:
    moved = getattr(frozen, "dist", frozen)(*getattr(frozen, "args", ()), loc=loc, scale=scale)
    z = np.concatenate([[np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 1e300, loc, loc + scale], np.linspace(-3, 5, 31)])
    with np.errstate(all="ignore"):
        ours, theirs = log_density_of(moved), moved.logpdf
        assert np.array_equal(ours(z), theirs(z), equal_nan=True)
        assert np.array_equal(ours(z.reshape(5, 8)), theirs(z.reshape(5, 8)), equal_nan=True)
        assert all(float(ours(v)) == float(theirs(v)) for v in (0.5, -7.0))
    assert ours is not theirs
    assert np.array_equal(pickle.loads(pickle.dumps(ours))(z[9:]), ours(z[9:]))


def test_a_distribution_with_arrays_for_shapes_is_asked_as_it_is() -> None:
    several = stats.gamma([0.5, 2.0])
    assert log_density_of(several)(1.0).tolist() == several.logpdf(1.0).tolist()


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        (stats.norm(), ((), 0, 1)),
        (stats.norm(2, 3), ((), 2, 3)),
        (stats.beta(2.0, 3.0, 4.0), ((2.0, 3.0), 4.0, 1)),
        (stats.beta(2.0, scale=5.0, b=3.0), ((2.0, 3.0), 0, 5.0)),
        (stats.beta(b=3.0, a=2.0, loc=-1.0), ((2.0, 3.0), -1.0, 1)),
    ],
)
def test_parameters_are_read_however_they_were_given(given: Any, parameters: tuple[Any, ...]) -> None:
    assert parameters_of(given) == parameters
    assert log_density_of(given)(2.5) == given.logpdf(2.5)


@pytest.mark.parametrize("given", [stats.norm(scale=-1.0), stats.gamma(-2.0)])
def test_a_density_of_parameters_that_it_cannot_have_is_none(given: Any) -> None:
    assert math.isnan(log_density_of(given)(1.0))
