"""Pairs of densities: what lies between the points at which they are read is known from the distribution functions."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special, stats
from support import THOROUGH, few

import divulge as dv
from divulge.dp import DistributionPair, FixedSizeSampled, GaussianMechanism, PoissonSampled, compose
from divulge.dp.loss import cuts
from divulge.guarantees import ADP
from divulge.noise import accumulated


def histograms(p: np.ndarray, q: np.ndarray, edges: np.ndarray) -> Any:
    """Return the loss of two histograms with these masses."""
    pair = DistributionPair(*(stats.rv_histogram((mass, edges), density=False) for mass in (p, q)))
    return pair.losses()[0]


def delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0).tolist())


@pytest.mark.parametrize("seed", range(few(18)))
def test_histograms_with_narrow_bins_are_read_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.choice([3, 40, 3000]))
    width = np.exp(rng.uniform(-14, 0, size))
    edges = np.concatenate([[0.0], np.cumsum(width) / width.sum()])
    p, q = (mass / mass.sum() for mass in np.exp(rng.uniform(-6, 0, (2, size))))
    p, q = p / p.sum(), q / q.sum()
    loss = histograms(p, q, edges)
    assert loss.highest == pytest.approx(float(np.log(p / q).max()), rel=1e-9)
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        truth, found = delta(p, q, epsilon), loss.bracket(epsilon)
        assert found.lower * (1 - 1e-9) - 1e-12 <= truth <= found.upper * (1 + 1e-9) + 1e-12
        assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-8, abs=1e-12)
    assert loss.mean() == pytest.approx(float(p @ np.log(p / q)), rel=1e-8)
    assert loss.renyi(3.0) == pytest.approx(float(np.log(p**3 @ q**-2.0)) / 2, rel=1e-8)


def test_the_narrow_bin_of_the_issue() -> None:
    """One bin of width 1e-5 that P fills: delta(3) of a thousand is at least that of one."""
    edges = np.concatenate([np.linspace(0, 1, 50), [1.00001]])
    width = np.diff(edges)
    p = width * np.append(np.ones(49), 40.0)
    p, q = p / p.sum(), width / width.sum()
    loss = histograms(p, q, edges)
    assert loss.delta(3.0) == pytest.approx(delta(p, q, 3.0), rel=1e-8)
    assert compose((loss, 1000), tolerance=1e-2).delta(3.0).upper >= delta(p, q, 3.0)
    assert compose(loss).delta(3.0).lower > 0.5 * delta(p, q, 3.0)


@pytest.mark.parametrize("seed", range(few(12)))
@pytest.mark.parametrize("count", [1, 3])
def test_histograms_beside_a_coin_are_sums_of_their_bins(seed: int, count: int) -> None:
    """Few atoms are listed: a bracket is as narrow as log ratios of densities are known, in either order."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([2, 5, 9]))
    edges = np.concatenate([[0.0], np.cumsum(np.exp(rng.uniform(-9, 0, size)))])
    p, q = (mass / mass.sum() for mass in np.exp(rng.uniform(-4, 0, (2, size))))
    laws = [stats.rv_histogram((mass, edges), density=False) for mass in (p, q)]
    coin = np.array([0.3, 0.7]), np.array([0.45, 0.55])
    found = compose((DistributionPair(*laws), count), dv.Channel(np.array(coin)))

    def truth(epsilon: float) -> float:
        rows = [np.ones(1), np.ones(1)]
        for _ in range(count):
            rows = [np.outer(row, mass).ravel() for row, mass in zip(rows, (p, q), strict=True)]
        ways = [
            [np.outer(row, side).ravel() for row, side in zip(rows, order, strict=True)] for order in (coin, coin[::-1])
        ]
        return max(delta(*pair[::turn], epsilon) for pair in ways for turn in (1, -1))

    for epsilon in (0.1, 0.7, 1.5):
        one = found.delta(epsilon)
        assert one.lower * (1 - 1e-12) <= truth(epsilon) <= one.upper * (1 + 1e-12)
        assert one.upper - one.lower <= 1e-10  # a rounding of each of some 1,200 cells, by odds, for each release
    level = found.epsilon(1e-3)
    assert truth(level.upper) <= 1e-3 * (1 + 1e-9)
    assert level.lower == 0 or truth(level.lower) >= 1e-3 * (1 - 1e-9)
    assert level.upper - level.lower < 1e-8


def test_rounding_is_no_evidence_in_a_histogram() -> None:
    """Cells between the bins, where quantiles lie one rounding beside an edge, have masses of rounding and any odds."""
    laws = [stats.rv_histogram((np.array(mass), np.array([0.0, 1.0, 2.0])), density=False) for mass in ([3, 7], [6, 4])]
    for loss in DistributionPair(*laws).losses():
        assert loss.enclosing[0].highest <= loss.highest
    assert compose(DistributionPair(laws[0], laws[0])).delta(0.0).lower == 0.0


class Spiked:
    """A normal distribution of weight 1 - w and a uniform one of weight w on a narrow interval."""

    def __init__(self, weight: float, start: float, width: float) -> None:
        self.weight, self.start, self.width = weight, start, width

    def _share(self, x: np.ndarray) -> np.ndarray:
        return np.clip((np.asarray(x, dtype=float) - self.start) / self.width, 0.0, 1.0)

    def pdf(self, x: Any) -> Any:
        inside = (x >= self.start) & (x < self.start + self.width)
        return (1 - self.weight) * stats.norm.pdf(x) + self.weight * inside / self.width

    def logpdf(self, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self.pdf(x))

    def cdf(self, x: Any) -> Any:
        return (1 - self.weight) * special.ndtr(x) + self.weight * self._share(x)

    def sf(self, x: Any) -> Any:
        return (1 - self.weight) * special.ndtr(-np.asarray(x)) + self.weight * (1 - self._share(x))

    def ppf(self, level: Any) -> Any:
        return special.ndtri(level)  # about: what is asked of a law is where to look

    def isf(self, level: Any) -> Any:
        return -special.ndtri(level)

    def median(self) -> float:
        return 0.0

    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf


class Silent(Spiked):
    """A law whose density does not show the spike that its distribution function has."""

    def pdf(self, x: Any) -> Any:
        return (1 - self.weight) * stats.norm.pdf(x)


SILENT = DistributionPair(Silent(0.01, 0.5, 1e-3), stats.norm())
COIN = dv.Channel([["1/2", "1/2"], ["2/5", "3/5"]])


def test_mass_of_which_a_density_says_nothing_counts_beside_other_releases() -> None:
    """Of 1/100 of P nothing is known: delta is not below it, at no epsilon, alone or beside a coin."""
    both, alone = compose(SILENT, COIN), SILENT.losses()[0]
    assert 0.0099 < alone.bracket(3.0).upper < 0.02
    assert 0.0099 < both.delta(3.0).upper < 0.02
    assert both.delta(0.0).upper >= 0.01 + (0.99 * 0.5 - 0.4) - 1e-9


@pytest.mark.long
def test_mass_of_which_a_density_says_nothing_counts_beside_noise_and_in_samples() -> None:
    for subject in (compose(SILENT), compose(SILENT, GaussianMechanism(5.0))):
        assert 0.0099 < subject.delta(3.0).upper < 0.02
    assert compose(PoissonSampled(SILENT, 0.5), COIN).delta(3.0).upper > 0.0049
    rare = DistributionPair(Silent(5e-9, 0.5, 1e-3), stats.norm())
    assert 4.9e-9 < compose(rare, COIN).delta(3.0).upper < 1e-7


@pytest.mark.parametrize("weight", [1e-3, 1e-6])
@pytest.mark.parametrize("width", [1e-3, 1e-9])
def test_a_spike_is_found_wherever_it_lies(weight: float, width: float) -> None:
    start = 0.1234567
    loss = DistributionPair(Spiked(weight, start, width), stats.norm()).losses()[0]
    mass = float(special.ndtr(start + width) - special.ndtr(start))
    for epsilon in (0.5, 3.0):
        truth = max(0.0, weight + (1 - weight) * mass - math.exp(epsilon) * mass)
        assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-5, abs=1e-13)
    top = math.log(1 - weight + weight / width / stats.norm.pdf(start))
    assert loss.highest == pytest.approx(top, rel=1e-3)


def test_an_interior_maximum_is_the_largest_loss() -> None:
    """log (1 + (x - 1)^2) / (1 + x^2) is largest at (1 - sqrt 5) / 2, where it is 2 asinh(1/2)."""
    pair = DistributionPair(stats.cauchy(0), stats.cauchy(1))
    for loss in pair.losses():
        assert 0 <= loss.highest - 2 * math.asinh(0.5) < 1e-12
        assert loss.renyi(math.inf) == loss.epsilon(0.0) >= 2 * math.asinh(0.5)
    assert not ADP("0.96242363", 0).holds_for(pair).holds
    assert ADP("0.96242366", 0).holds_for(pair).holds
    freedom = 5
    with mpmath.workdps(30):
        at = (1 - mpmath.sqrt(1 + 4 * freedom)) / 2  # where x^2 - x = freedom
        top = float((freedom + 1) / mpmath.mpf(2) * mpmath.log((freedom + (at - 1) ** 2) / (freedom + at**2)))
    loss = DistributionPair(stats.t(freedom), stats.t(freedom, loc=1)).losses()[0]
    assert 0 <= loss.highest - top < 1e-12


@pytest.mark.parametrize(
    ("p", "q", "highest"),
    [
        (stats.norm(0), stats.norm(1), math.inf),
        (stats.norm(0, 2), stats.norm(0, 1), math.inf),
        (stats.norm(0, 1), stats.norm(0, 2), math.log(2)),
        (stats.logistic(0), stats.logistic(1), 1.0),
        (stats.laplace(0), stats.laplace(2), 2.0),
        (stats.beta(2, 3), stats.beta(2, 2.5), math.log(special.beta(2, 2.5) / special.beta(2, 3))),
        (stats.beta(2, 2.5), stats.beta(2, 3), math.inf),
        (
            stats.truncnorm(-1, 1),
            stats.uniform(-1, 2),
            math.log(2 * stats.truncnorm.pdf(0, -1, 1)),
        ),
        (stats.cauchy(), stats.t(5), math.inf),
        (stats.cauchy(0, 2), stats.cauchy(0, 1), math.log(2)),
    ],
)
def test_a_loss_grows_without_end_or_has_a_limit(p: Any, q: Any, highest: float) -> None:
    assert DistributionPair(p, q).losses()[0].highest == pytest.approx(highest, rel=1e-9)


def test_an_expectation_that_the_tails_decide_is_infinite() -> None:
    """E_P[P/Q] of a Cauchy law against one with tails x^-4 is an integral of x^0: none."""
    loss = DistributionPair(stats.cauchy(), stats.t(3)).losses()[0]
    assert loss.renyi(2.0) == math.inf


def test_samples_of_densities_are_composed() -> None:
    """A normal pair given by its densities is the Gaussian mechanism."""
    pair, named = DistributionPair(stats.norm(0), stats.norm(1)), GaussianMechanism(1.0)
    found, truth = (compose((PoissonSampled(one, 0.1), 3), tolerance=1e-2).epsilon(1e-5) for one in (pair, named))
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.upper - found.lower < 2e-2


@pytest.mark.long
def test_gaussian_mu_of_a_logistic_pair() -> None:
    assert dv.dp.gaussian_dp(DistributionPair(stats.logistic(0), stats.logistic(1))).lower == pytest.approx(
        0.6239, 1e-3
    )


def test_masses_of_neighboring_cells_integrate_each_density_once_on_either_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against mpmath; ends that two cells share are one end of one integral."""
    edges = np.linspace(-1.0, 3.0, 9)
    law, asked = stats.skewnorm(4.0), []
    accumulated_ = accumulated._accumulated
    monkeypatch.setattr(accumulated, "_accumulated", lambda *given: asked.append(len(given[2])) or accumulated_(*given))
    line = cuts.Line(law, stats.norm())
    line.differences(edges[:1], edges[1:2])  # it asks for the medians once
    asked.clear()
    found = line.differences(edges[:-1], edges[1:])[0][0]
    assert sum(asked) == 2 * (len(edges) - 1)
    assert len(asked) == 2
    truth = [
        float(mpmath.quad(lambda x: 2 * mpmath.npdf(x) * mpmath.ncdf(4 * x), [a, b]))
        for a, b in itertools.pairwise(edges.tolist())
    ]
    assert found == pytest.approx(truth, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize(("first", "second", "count"), [
    pytest.param(
        stats.skewnorm(-2, loc=1e-4, scale=1e-5), stats.skewnorm(-2, loc=1.1e-4, scale=1e-5), 3, marks=pytest.mark.long
    ),
    (stats.gennorm(0.9), stats.gennorm(0.9, loc=1), 2),
])  # fmt: skip
def test_a_composition_is_as_narrow_as_asked_where_cells_are_cut_as_they_count(
    first: Any, second: Any, count: int
) -> None:
    """Against cells of equal length, merged: their bracket lies below, by no more than these tell."""
    asked, cells = (1e-3, 20_000) if THOROUGH else (1e-2, 5000)
    found = compose((DistributionPair(first, second), count), tolerance=asked).epsilon(1e-5)
    assert found.upper - found.lower < asked
    line, laws = cuts.Line(first, second), (first, second)
    low, high = min(float(law.ppf(1e-13)) for law in laws), max(float(law.isf(1e-13)) for law in laws)
    edges = np.linspace(low, high, cells + 1)
    (p, _), (q, _) = line.differences(edges[:-1], edges[1:])
    rows = [np.append(p, 1 - p.sum()), np.append(q, 1 - q.sum())]
    truth = [
        compose((dv.dp.PrivacyLoss.between(*turn), count), tolerance=asked).epsilon(1e-5) for turn in (rows, rows[::-1])
    ]
    assert max(one.lower for one in truth) <= found.upper + 1e-9
    assert max(one.upper for one in truth) >= found.lower - 2e-3


def test_one_pair_of_densities_is_asked_itself() -> None:
    """The Gaussian pair is known to fifteen digits, and the bracket around it is as narrow."""
    found = compose(DistributionPair(stats.norm(0), stats.norm(1)))
    truth = compose(dv.dp.GaussianMechanism(1.0))
    narrow = found.epsilon(1e-9)
    assert narrow.upper - narrow.lower < 1e-10
    assert narrow.lower - 1e-12 <= truth.epsilon(1e-9).upper <= narrow.upper + 1e-12


def test_masses_that_no_double_holds_are_no_infinite_losses() -> None:
    """Where P has its mass Q has e^-1012 of it: the bound from below was above the truth."""
    pair, truth = DistributionPair(stats.norm(0), stats.norm(45)), dv.dp.GaussianMechanism(1 / 45)
    for count, tolerance in ((1, 1e-6), (2, 1.0))[: 2 if THOROUGH else 1]:
        found, true = (compose((one, count), tolerance=tolerance).epsilon(1e-6) for one in (pair, truth))
        assert found.lower <= true.upper
        assert true.lower <= found.upper < math.inf


@pytest.mark.parametrize(("family", "apart"), [("norm", 45), ("norm", 100), ("logistic", 3000)])
def test_losses_beyond_what_a_double_weighs_are_known_by_logarithms(family: str, apart: int) -> None:
    """By the definition in 60 digits, of the half line left of x: P(x) - e^epsilon Q(x) is the delta at its loss."""
    found = compose(DistributionPair(getattr(stats, family)(0), getattr(stats, family)(apart))).epsilon(1e-6)
    assert found.upper - found.lower < 1e-8
    with mpmath.workdps(60):
        cdf, log_pdf = {
            "norm": (mpmath.ncdf, lambda x: -x * x / 2),
            "logistic": (lambda x: 1 / (1 + mpmath.exp(-x)), lambda x: -x - 2 * mpmath.log(1 + mpmath.exp(-x))),
        }[family]
        for end, falls in ((found.lower, 1), (found.upper, -1)):
            epsilon, low, high = mpmath.mpf(end), mpmath.mpf(-50), mpmath.mpf(50)
            for _ in range(200):  # the log ratio falls in x
                x = (low + high) / 2
                above = log_pdf(x) - log_pdf(x - apart) > epsilon
                low, high = (x, high) if above else (low, x)
            assert falls * (cdf(low) - mpmath.exp(epsilon) * cdf(low - apart) - mpmath.mpf(1e-6)) >= 0


def test_a_law_without_logarithms_of_its_tails_has_the_wider_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    """What scipy takes the logarithm of a double for is none: nothing is known from below, and the upper end holds."""
    for name in ("_logsf", "_logcdf"):
        monkeypatch.setattr(type(stats.norm), name, getattr(stats.rv_continuous, name))
    true = compose(GaussianMechanism(1 / 45)).epsilon(1e-6).upper
    found = DistributionPair(stats.norm(0), stats.norm(45)).losses()[0].bracket(true)
    assert found.lower == 0.0
    assert 1e-6 <= found.upper < 2e-6


def test_a_bracket_that_is_wider_than_asked_says_so() -> None:
    """In the unit; a promise, of which nothing is known from below, does not."""
    found = compose(dv.dp.GaussianMechanism(0.1), tolerance=1e-15).epsilon(1e-9, "bits")  # known to some roundings
    assert f"{found.upper - found.lower:.2g} wide where 1.4e-15 was asked for" in repr(found)
    assert "wide" not in repr(compose(dv.dp.LaplaceMechanism(1.0)).epsilon(1e-9))
    assert "wide" not in repr(compose(dv.dp.ZcdpRelease(0.1)).epsilon(1e-9))


@pytest.mark.parametrize(("sample", "rate"), [(PoissonSampled, (0.1,)), (FixedSizeSampled, (100, 1000))])
def test_samples_of_a_pair_of_densities_are_cut_where_the_sampled_loss_counts(
    sample: Any, rate: tuple[Any, ...]
) -> None:
    """Of normal densities the closed form knows all; cells of a length that counts for the pair itself left 3e-3."""
    pair, closed = (
        sample(of, *rate) for of in (DistributionPair(stats.norm(0), stats.norm(1)), GaussianMechanism(1.0))
    )
    once, known = compose(pair), compose(closed)
    for epsilon in (0.05, 0.4, 1.5):  # the reversed pair has a delta only up to -log(1 - rate) = 0.105
        truth = max(loss.delta(epsilon) for turn in known.directions for loss, _ in turn.parts)
        found = once.delta(epsilon)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 1e-11 * truth
    if sample is PoissonSampled:
        several, others = (compose((one, 5)).epsilon(1e-6) for one in (pair, closed))
        assert several.upper - several.lower < 2e-6
        assert max(several.lower, others.lower) <= min(several.upper, others.upper)


@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [
        (stats.wald(0), stats.wald(1), 0.5),
        (stats.invgauss(1), stats.invgauss(1, 0.5), 0.5),
        (stats.invgauss(0.3, 0, 2), stats.invgauss(0.3, 0.1, 2), 0.2),
    ],
)
def test_quantiles_where_the_distribution_function_is_no_number_are_not_believed(first, second, epsilon) -> None:
    found = dv.dp.DistributionPair(first, second).losses()[0].bracket(epsilon)
    x = np.concatenate([np.linspace(1e-9, 8, 4_000_001), np.linspace(8, 200, 1_000_001)[1:]])
    over = np.maximum(first.pdf(x) - math.exp(epsilon) * second.pdf(x), 0)
    assert found.lower - 1e-8 <= np.trapezoid(over, x) <= found.upper + 1e-8
    assert found.upper - found.lower < 1e-9


def test_a_distribution_function_that_is_no_number_is_refused() -> None:
    class Broken(stats.rv_continuous):
        def _pdf(self, x):
            return np.exp(-np.abs(x)) / 2

        def _cdf(self, x):
            return np.where(np.abs(x) < 30, stats.laplace.cdf(x), np.nan)

    broken = Broken()
    with pytest.raises(dv.DivulgeError, match="distribution functions whose values are numbers"):
        dv.dp.DistributionPair(broken(), broken(1)).losses()[0].bracket(0.5)


@pytest.mark.parametrize("laws", [(stats.norm(), stats.t(5)), (stats.t(5), stats.norm())])
def test_moments_that_no_double_holds_leave_the_spread_open(laws) -> None:
    found = dv.dp.mean_concentrated(dv.dp.DistributionPair(*laws))
    assert found.tau == math.inf  # E e^(h L) is infinite under the t distribution
    assert found.tau_lower > 1
