"""Mechanisms about a metric: the values of their definitions by other routes, and levels that are never exceeded."""

import math
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest
from support import few

import divulge as dv

TOWN = {
    3: [22, 46, 22, 26, 76, 26, 12, 22, 12],
    5: [1 + 60 // (1 + (x - 1) ** 2 + (y - 1) ** 2) ** 2 + 30 // (1 + (x - 3) ** 2 + (y - 2) ** 2)
        for y in range(5) for x in range(5)],
}  # fmt: skip


def level(channel: dv.Channel, metric: dv.Metric) -> F:
    """The level by its definition, in 40 digits over all pairs and outcomes of the doubles as they stand."""
    rows = [[mp.mpf(float(v)) for v in row] for row in channel.matrix]
    rows = [[v / mp.fsum(row) for v in row] for row in rows]
    n = len(metric)
    return max(
        abs(mp.log(rows[i][y] / rows[j][y])) / mp.sqrt(mp.mpf(metric.lengths[metric.classes[i, j]].numerator)
            / metric.lengths[metric.classes[i, j]].denominator)
        if metric.rooted else abs(mp.log(rows[i][y] / rows[j][y])) / mp.mpf(float(metric.matrix[i, j]))
        for i in range(n) for j in range(i) for y in range(channel.shape[1]) if rows[j][y] or rows[i][y]
    )  # fmt: skip


@pytest.mark.parametrize("name", ["planar_geometric", "planar_laplace", "exponential", "tight_constraint"])
def test_the_level_is_the_one_by_definition_and_at_most_epsilon(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(9)):
        metric = dv.Metric.grid(int(rng.integers(1, 5)), int(rng.integers(2, 5)), step=float(rng.uniform(0.3, 2)))
        epsilon = float(rng.uniform(1.5, 4)) / metric.least
        channel = getattr(dv.mechanisms, name)(metric, epsilon)
        measured = dv.MetricPrivacy.of(channel, metric)
        with mp.workdps(40):
            truth = level(channel, metric)
            assert abs(truth - mp.mpf(float(measured.epsilon))) <= 1e-12 * truth
            assert mp.mpf(float(measured.epsilon)) >= truth * (1 - mp.mpf(10) ** -15)
        assert dv.MetricPrivacy(epsilon, metric).holds_for(channel).holds
        assert measured.epsilon <= epsilon
        assert not dv.MetricPrivacy(float(truth) * (1 - 1e-9), metric).holds_for(channel).holds


def test_geometric_noise_is_the_sum_over_the_lattice() -> None:
    """By adding up lattice points one after another, each projected onto the grid."""
    for (w, h), a in (((3, 2), 1.0), ((2, 4), 0.7), ((1, 3), 1.5)):
        metric, reach = dv.Metric.grid(w, h), 60
        found = np.zeros((w * h, w * h))
        for x in range(w * h):
            for dx in range(-reach, reach + 1):
                for dy in range(-reach, reach + 1):
                    to = min(max(x % w + dx, 0), w - 1) + w * min(max(x // w + dy, 0), h - 1)
                    found[x, to] += math.exp(-a * math.hypot(dx, dy))
        channel = dv.mechanisms.planar_geometric(metric, a)
        assert np.allclose(channel.matrix, found / found[0].sum(), rtol=1e-11)


def test_the_values_of_the_papers() -> None:
    line, square = dv.Metric.line(10, step=1.1), dv.Metric.grid(3, 3, step=1.1)
    of, make = dv.MetricPrivacy.of, dv.mechanisms
    assert of(make.exponential(line, 0.9), line).epsilon == pytest.approx(0.64197307180467134, rel=1e-11)
    assert of(make.exponential(square, 0.9), square).epsilon == pytest.approx(0.58945591528726249, rel=1e-11)
    laplace = make.planar_laplace(square, 0.9)
    assert laplace.matrix[4, 4] == pytest.approx(0.1078866387338, rel=1e-11)
    assert of(laplace, square).epsilon == pytest.approx(0.88439549, abs=5e-9)
    five, town = dv.Metric.grid(5, 5), dv.Prior.from_counts(TOWN[5])
    geometric = make.planar_geometric(five, 1)
    assert 1 / make.planar_geometric(dv.Metric.grid(3, 3), 1).matrix[4, 4] == pytest.approx(6.5072416861384, rel=1e-11)
    assert dv.adversaries.expected_distance(town, geometric, five) == pytest.approx(1.364376709, abs=5e-10)
    guessed = dv.remap(town, geometric, five)
    assert dv.adversaries.expected_distance(town, guessed, five) == pytest.approx(1.127314278, abs=5e-10)


def test_laplace_over_a_cell_is_the_integral_of_its_density() -> None:
    """The corner cell with all beyond it: a quadrant, two strips by a Bessel function, and the middle in polar form."""
    e, b = mp.mpf("0.9"), mp.mpf("0.55")
    strip = mp.quad(lambda y: e**2 * y * mp.besselk(1, e * y) / mp.pi, [0, b])
    middle = mp.quad(lambda t: 1 - (1 + e * b / mp.cos(t)) * mp.exp(-e * b / mp.cos(t)), [0, mp.pi / 4]) / mp.pi
    channel = dv.mechanisms.planar_laplace(dv.Metric.grid(3, 3, step=1.1), 0.9)
    assert channel.matrix[0, 0] == pytest.approx(float(mp.mpf(1) / 4 + strip + middle), rel=1e-11)
    assert channel.matrix[4, 4] == pytest.approx(float(4 * middle), rel=1e-11)
    one = mp.quad(lambda y: mp.quad(lambda x: e**2 / (2 * mp.pi) * mp.exp(-e * mp.hypot(x, y)), [b, 3 * b]), [-b, 0, b])
    wide = dv.mechanisms.planar_laplace(dv.Metric.grid(5, 5, step=1.1), 0.9)
    assert wide.matrix[12, 13] == pytest.approx(float(one), rel=1e-11)


def test_what_was_remapped_is_as_private_and_no_guess_is_better() -> None:
    rng = np.random.default_rng(5)
    for _ in range(few(12)):
        metric = dv.Metric.grid(3, 2, step=0.8)
        prior = dv.Prior(rng.dirichlet([0.5] * 6))
        channel = dv.mechanisms.exponential(metric, 2)
        guessed = dv.remap(prior, channel, metric)
        assert dv.MetricPrivacy.of(guessed, metric).epsilon <= dv.MetricPrivacy.of(channel, metric).epsilon + 1e-12
        best = sum(
            min(sum(prior[x] * channel.matrix[x, y] * metric.matrix[x, z] for x in range(6)) for z in range(6))
            for y in range(6)
        )
        assert dv.adversaries.expected_distance(prior, guessed, metric) == pytest.approx(best, rel=1e-12)


def test_noise_on_a_number_has_its_rate() -> None:
    for kind, rate in (("laplace", 0.5), ("logistic", 0.5), ("discrete-laplace", 0.5), ("gaussian", math.inf)):
        noise = dv.NoiseMechanism(kind, "values(0:0.5, 3:0.5)", scale=2)
        assert noise.metric_rate == rate
        assert dv.MetricPrivacy(0.5, dv.Metric.line(4)).holds_for(noise).holds is (rate == 0.5)
        assert not dv.MetricPrivacy(0.499, dv.Metric.line(4)).holds_for(noise).holds
    heavy = dv.NoiseMechanism("student-t", "uniform(0, 10)", scale=2, df=3)
    z = np.linspace(-40, 40, 4001)
    slope = np.abs(np.gradient(heavy.noise.log_density(z), z)).max()
    assert heavy.metric_rate == pytest.approx(slope, rel=1e-4)
    assert dv.MetricPrivacy.of(heavy).epsilon >= slope * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "x", None])
def test_a_rate_that_is_none_is_refused(epsilon: object) -> None:
    for make in (dv.mechanisms.planar_geometric, dv.mechanisms.planar_laplace, dv.mechanisms.exponential):
        with pytest.raises(dv.DivulgeError):
            make(dv.Metric.grid(2, 2), epsilon)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(dv.DivulgeError, match="all weights"):
        dv.mechanisms.tight_constraint(dv.Metric.grid(3, 3), 0.5)
    with pytest.raises(dv.DivulgeError, match="coarser"):
        dv.mechanisms.planar_geometric(dv.Metric.grid(3, 3), 0.001)
    with pytest.raises(dv.DivulgeError, match="grid"):
        dv.mechanisms.planar_geometric(dv.Metric.line(3), 1)
    assert dv.mechanisms.planar_geometric(dv.Metric.grid(3, 3, "500m"), "2/km").shape == (9, 9)


def test_the_rate_of_the_place_with_least_around_it_is_that_of_all() -> None:
    five, town = dv.Metric.grid(5, 5), dv.Prior.from_counts(TOWN[5])
    rates = dv.adversaries.elastic_rates(town, five, 1)
    assert rates.min() == pytest.approx(0.3127199276, abs=5e-11)
    assert dv.MetricPrivacy(float(rates.min()), five).implies(dv.PML, prior=town).epsilon <= 1
    assert dv.MetricPrivacy(float(rates.min()) * (1 + 1e-9), five).implies(dv.PML, prior=town).epsilon > 1
    assert dv.adversaries.elastic_rates(town, five, 1 / math.log(2), "bits") == pytest.approx(rates)
