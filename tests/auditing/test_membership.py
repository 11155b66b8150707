"""Audits of membership: bands against all orders of ranks, coverage under known rates, claims, and what is refused."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy.special import betainc, betaincinv
from scipy.stats import laplace, norm
from support import THOROUGH, few

import divulge as dv
from divulge.auditing import bands
from divulge.auditing.bands import local_level, lower_band, no_crossing, upper_band
from divulge.auditing.membership import METHODS, audit_membership
from divulge.auditing.rates import Rates


def steck(ends: list[Fraction]) -> Fraction:
    """Return P(U_(i) <= ends[i] for all i) by integrals of polynomials, in fractions (Noe's recursion, one-sided)."""
    n = len(ends)
    state = {0: Fraction(1)}
    before = Fraction(0)
    for i, end in enumerate(ends):
        share = (end - before) / (1 - before) if before < 1 else Fraction(0)
        after: dict[int, Fraction] = {}
        for k, mass in state.items():
            for j in range(n - k + 1):
                if k + j >= i + 1:
                    weight = math.comb(n - k, j) * share**j * (1 - share) ** (n - k - j)
                    after[k + j] = after.get(k + j, Fraction(0)) + mass * weight
        state, before = after, end
    return sum(state.values(), Fraction(0))


def test_the_probability_of_no_crossing_is_exact() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7):
        ends = sorted(Fraction(int(k), 1000) for k in rng.integers(300, 1000, size=n))
        found = no_crossing(n, np.arange(1, n + 1), np.array([float(end) for end in ends]))
        assert found == pytest.approx(float(steck(ends)), abs=1e-13)


@pytest.mark.parametrize(("n", "level"), [(50, 0.0032874010), (100, 0.0024609349)])
def test_local_levels(n: int, level: float) -> None:
    assert local_level(n, 0.05) == pytest.approx(level, abs=6e-11)


@pytest.mark.parametrize("n", [10, 100, 1001])
def test_a_level_is_on_the_safe_side_of_what_the_probability_is_off_by(n: int) -> None:
    ranks = bands._ranks(n)
    assert no_crossing(n, ranks, bands._ends(ranks, n, local_level(n, 0.05))) >= 0.95 + bands._ROUNDING


def test_a_band_asks_for_the_bounds_of_its_ranks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for one a threshold: of a million on each side they took as long as all else."""
    trials, asked, ends = 5000, list[int](), bands._ends
    local_level(trials, 0.05)
    monkeypatch.setattr(bands, "_ends", lambda ranks, *given: asked.append(len(ranks)) or ends(ranks, *given))
    upper_band(np.arange(trials + 1), trials, 0.05)
    assert asked == [len(bands._ranks(trials))]


def test_the_band_is_narrow_at_low_rates() -> None:
    assert upper_band(np.array([0]), 100, 0.05)[0] == pytest.approx(0.0583, abs=5e-5)
    assert math.sqrt(math.log(20) / 200) == pytest.approx(0.1224, abs=5e-5)  # Dvoretzky, Kiefer, Wolfowitz, Massart


@pytest.mark.parametrize("n", [1, 2, 30, 1500])
def test_the_band_covers_as_often_as_it_says(n: int) -> None:
    rng, runs, risk = np.random.default_rng(n), few(6000, least=2000), 0.1
    missed = 0
    highs = upper_band(np.arange(n), n, risk)  # the band at k hits ends where the next score comes
    for _ in range(runs):
        missed += bool((np.sort(rng.random(n)) > highs).any())
    assert abs(missed / runs - risk) < 4 * math.sqrt(risk * (1 - risk) / runs) or n == 1500
    assert missed / runs < risk + 4 * math.sqrt(risk * (1 - risk) / runs)


def test_a_lower_band_is_an_upper_one_seen_from_below() -> None:
    hits = np.arange(41)
    assert lower_band(hits, 40, 0.05) == pytest.approx(1 - upper_band(40 - hits, 40, 0.05), abs=1e-15)
    assert (np.diff(upper_band(hits, 40, 0.05)) >= 0).all()
    assert lower_band(np.array([0]), 40, 0.05)[0] == 0
    wide = upper_band(np.arange(2001), 2000, 0.05)
    assert (np.diff(wide) >= 0).all()
    assert (wide >= np.arange(2001) / 2000).all()


COUNTS = np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999]), np.arange(2000) < 1000


def test_values_at_one_threshold() -> None:
    """Clopper and Pearson at half of the risk each: 50 of 1000 against 1 of 1000."""
    found = audit_membership(*COUNTS, base_rate=0.01, cut=0.5)
    low, high = betaincinv(50, 951, 0.025), betaincinv(2, 999, 0.975)
    assert (low, high) == pytest.approx((0.0373353976, 0.0055589243), abs=6e-11)
    assert found.epsilon == pytest.approx(1.9045372594, abs=6e-11)
    assert found.epsilon == pytest.approx(math.log(low / high), abs=1e-10)
    assert found.mu == pytest.approx(norm.ppf(low) - norm.ppf(high), abs=1e-9)
    assert found.precision == pytest.approx(0.0635313482, abs=6e-11)
    assert found.pml == pytest.approx(math.log(found.lift or 0), abs=1e-12)
    assert found.witness is not None
    assert found.witness.positives == (50, 1)


def test_pml_of_membership_under_a_promise() -> None:
    """From epsilon-DP at base rate pi: max(eps - log(pi e^eps + 1 - pi), -log(pi e^-eps + 1 - pi))."""
    claim, pi = 1.0, 0.1
    most = max(claim - math.log(pi * math.e + 1 - pi), -math.log(pi / math.e + 1 - pi))
    assert most == pytest.approx(0.8414349213, abs=6e-11)
    response = dv.Channel([[math.e, 1], [1, math.e]] / np.array(math.e + 1))
    assert dv.pml(dv.Joint(dv.Prior([pi, 1 - pi]), response)).max() == pytest.approx(most, abs=1e-12)


def _sides(rates: Rates) -> list[float]:
    """Return the bounds on epsilon of every corner of the box at every threshold, by brute force."""
    ends = list(zip(rates.lower.tolist(), rates.upper.tolist(), strict=True))
    return [max(math.log(t / f) if t else 0, math.log((1 - f) / (1 - t)) if f < 1 else 0, 0) for t, f in ends]


def test_epsilon_is_the_greatest_over_thresholds_and_sides() -> None:
    rng = np.random.default_rng(2)
    for _ in range(few(30)):
        n = int(rng.integers(20, 200))
        member = np.arange(n) < int(rng.integers(5, n - 5))
        scores = np.round(rng.normal(2 * member), int(rng.integers(0, 4)))
        found = audit_membership(scores, member)
        assert found.rates is not None
        assert found.epsilon == pytest.approx(max(_sides(found.rates)), abs=1e-12)
        channel = found.rates.least_channel()
        assert dv.ldp(channel) == pytest.approx(found.epsilon, abs=1e-9)
        assert dv.dp.gaussian_dp(channel).value == pytest.approx(found.mu, abs=1e-5)


@pytest.mark.parametrize("claim", ["dp={}", "adp={}:0.01", "gdp={}", "tv={}", "kl={}", "rdp=2:{}", "zcdp={}"])
def test_a_claim_is_refuted_exactly_below_what_is_shown(claim: str) -> None:
    """The least mechanism that the bounds allow breaks the claim: a promise measured on it is the edge."""
    rng = np.random.default_rng(5)
    member = np.arange(600) < 300
    scores = rng.normal(2.0 * member)
    rates = audit_membership(scores, member).rates
    assert rates is not None
    kind = dv.guarantees.parse(claim.format(0.1))
    index = {name: getattr(kind, name) for name in type(kind).index}
    edge = float(type(kind).of(rates.least_channel(), **index).values()[type(kind).bounded()[0]])
    assert edge > 0
    for factor, violated in [(0.99, True), (1.01, False)]:
        given = claim.format(edge * factor)
        assert audit_membership(scores, member, claim=given).violated is violated, given


def test_the_least_channel_is_made_from_every_mechanism_that_the_bounds_allow() -> None:
    """A mechanism whose curve lies above the bounds tells all that the least one tells (Blackwell)."""
    member = np.arange(400) < 200
    rng = np.random.default_rng(7)
    rates = audit_membership(rng.normal(1.5 * member), member).rates
    assert rates is not None
    least = rates.least_channel()
    grid = np.concatenate([[-np.inf], np.linspace(-3, 5, 60), [np.inf]])
    wide = np.array([np.diff(norm.cdf(grid - 3)), np.diff(norm.cdf(grid))])
    truth = dv.Channel(wide / wide.sum(axis=1, keepdims=True), least.secrets)
    assert dv.dp.kl_privacy(truth).value > dv.dp.kl_privacy(least).value
    for delta in (0.0, 0.3, 1.0):
        for a, b in itertools.permutations(range(2)):
            of = [(c.floats[a] - math.exp(delta) * c.floats[b]).clip(0).sum() for c in (truth, least)]
            assert of[0] >= of[1] - 1e-12


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shift", [0.0, 1.0])
@pytest.mark.thin
def test_bounds_are_below_the_truth_as_often_as_they_say(method: str, shift: float) -> None:
    """Scores that keep epsilon = shift: Laplace noise of scale 1; under the null nothing may be shown."""
    rng, runs = np.random.default_rng(11), 900 if THOROUGH else 60
    wrong = 0
    t = np.linspace(-12, 12, 2001)
    mu = float((norm.isf(laplace.sf(t)) - norm.isf(laplace.sf(t - shift))).max())
    for _ in range(runs):
        member = rng.random(150) < 0.5
        found = audit_membership(rng.laplace(shift * member), member, method=method, confidence=0.9)
        wrong += (method != "f-dp" and found.epsilon > shift + 1e-12) or found.mu > mu + 1e-12
    assert wrong <= 0.1 * runs + 3 * math.sqrt(0.09 * runs)


def test_ties_show_no_more_than_any_order_of_them() -> None:
    rng = np.random.default_rng(4)
    member = rng.random(300) < 0.5
    scores = np.round(rng.normal(1.5 * member))
    for method in ("one-run", "anytime"):
        tied = audit_membership(scores, member, method=method).epsilon
        for _ in range(5):
            apart = scores + 1e-6 * rng.random(300)
            assert tied <= audit_membership(apart, member, method=method).epsilon + 1e-12
        assert tied == audit_membership(scores[::-1], member[::-1], method=method).epsilon
    assert audit_membership(np.zeros(300), member).epsilon == 0


def test_guesses_of_who_is_in_alone_give_a_lift() -> None:
    rng = np.random.default_rng(9)
    member = rng.random(800) < 0.5
    found = audit_membership(rng.normal(3.0 * member), member, base_rate=0.01, method="anytime", claim="lift=5")
    assert found.violated
    assert found.lift == pytest.approx(math.exp(found.epsilon) / (0.01 * math.exp(found.epsilon) + 0.99))
    assert found.lift is not None
    assert (
        audit_membership(rng.normal(3.0 * member), member, base_rate=0.01, method="one-run", claim="pml=9").violated
        is False
    )


def test_the_true_positive_rate_is_not_told_below_what_so_many_can_show() -> None:
    found = audit_membership(np.arange(200.0), np.arange(200) >= 100)
    assert found.tpr_at(0.2) > found.tpr_at(0.1) > 0.9
    with pytest.raises(dv.DivulgeError, match="least rate that 100 others show"):
        found.tpr_at(0.005)


def test_numbers_of_many_thresholds_hold_together() -> None:
    """The best threshold of null scores, each at its own level, is wrong far more often than the band."""
    rng, runs = np.random.default_rng(12), few(600)
    member = np.arange(400) < 200
    alone = band = 0
    for _ in range(runs):
        scores = rng.normal(size=400)
        found = audit_membership(scores, member)
        assert found.rates is not None
        t, f = found.rates.true_positives, found.rates.false_positives
        low = np.where(t > 0, betaincinv(np.maximum(t, 1), 200 - t + 1, 0.025), 0)
        high = np.where(f < 200, betaincinv(f + 1, np.maximum(200 - f, 1), 0.975), 1)
        alone += bool((low > high).any())
        band += found.epsilon > 0
    assert band <= 0.05 * runs
    assert alone > 0.05 * runs
    assert betainc(1, 1, 0.5) == 0.5


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda s, m: audit_membership(s, m, claim="dp=1", method="f-dp"), "f-dp can refute"),
        (lambda s, m: audit_membership(s, m, claim="pml=1"), "base_rate"),
        (lambda s, m: audit_membership(s, m, claim="k=5"), "rates can refute"),
        (lambda s, m: audit_membership(s, m, claim="pdp=1:0.1"), "rates can refute"),
        (lambda s, m: audit_membership(s, m, method="anytime", delta=1e-5), "one-run"),
        (lambda s, m: audit_membership(s, m, method="guess"), "method"),
        (lambda s, m: audit_membership(s, m, claim="adp=1:1e-5", delta=1e-6), "delta"),
        (lambda s, m: audit_membership(s, m, delta=1.0), "delta"),
        (lambda s, m: audit_membership(s, m, base_rate=1.0), "base_rate"),
        (lambda s, m: audit_membership(s, m, cut=math.nan), "cut"),
        (lambda s, m: audit_membership(s, m, method="one-run", cut=999), "cut"),
        (lambda s, m: audit_membership(s, np.arange(len(m)) < 10, method="one-run"), "fair coin"),
        (lambda s, m: audit_membership(s, m[:-1]), "one entry for each score"),
        (lambda s, m: audit_membership(np.append(s[:-1], math.inf), m), "finite"),
    ],
)
def test_what_is_refused(wrong: Callable[[Any, Any], object], words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        wrong(np.arange(200.0), np.arange(200) % 2 == 0)


@pytest.mark.parametrize(("claim", "most"), [("dp=1", math.e / 4), ("adp=1:0.01", math.e / 4 + 0.01), ("tv=0.2", 0.45),
                                             ("gdp=1", norm.cdf(norm.ppf(0.25) + 1))])  # fmt: skip
def test_a_picture_shows_what_a_claim_allows(claim: str, most: float) -> None:
    axes = audit_membership(*COUNTS, claim=claim).plot()
    (line,) = [line for line in axes.get_lines() if str(line.get_label()).startswith("most under")]
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    assert np.interp(0.25, x, y) == pytest.approx(most, rel=1e-3)


def test_a_record_is_a_value_and_draws_itself() -> None:
    found = audit_membership(*COUNTS, base_rate=0.01, claim="dp=1", cut=0.5)
    assert found == audit_membership(*COUNTS, base_rate=0.01, claim="dp=1", cut=0.5)
    assert "VIOLATED" in repr(found)
    assert found.to_dict("bits")["epsilon"] == pytest.approx(found.epsilon / math.log(2))
    assert "63.5 in 1,000" in found.words
    assert "at most" in found.words
    axes = found.plot()
    assert {"guessing", "as counted", "most under dp=1"} <= set(axes.get_legend_handles_labels()[1])


def _most(claim: str, x: float) -> mp.mpf:
    """Return the most hits at a share x of false alarms, from the definition of the promise, for small x."""
    x = mp.mpf(x)
    kind, _, numbers = claim.partition("=")
    level = [mp.mpf(part) for part in numbers.split(":")]
    if kind == "gdp":
        return mp.ncdf(mp.sqrt(2) * mp.erfinv(2 * x - 1) + level[0])
    if kind == "adp":
        return mp.exp(level[0]) * x + level[1]

    more = 10 ** (np.arange(-300, 300, 1 if THOROUGH else 4) / 100)  # alpha - 1

    def kept(y: float) -> bool:
        """Say whether all Renyi divergences, both ways, keep rho alpha; convex in y."""
        for a, b in ((y, false), (false, y)):
            sides = [(1 + more) * math.log(c) - more * math.log(d) for c, d in ((a, b), (1 - a, 1 - b))]
            if (np.logaddexp(*sides) / more > float(level[0]) * (1 + more)).any():
                return False
        return True

    false = float(x)
    low, high = false, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return mp.mpf(low)


@pytest.mark.parametrize("claim", ["gdp=0.5", "adp=0.5:0.001", pytest.param("zcdp=0.2", marks=pytest.mark.long)])
def test_what_a_claim_promises_is_what_its_definition_leaves(claim: str) -> None:
    """Precision at the false alarms of the attack; and the measured one is above it exactly where it is refuted."""
    pi = mp.mpf("0.01")
    found = audit_membership(*COUNTS, base_rate=0.01, claim=claim, cut=0.5)
    assert found.promise is not None
    x = found.false_alarms
    assert x == pytest.approx(betaincinv(2, 999, 0.975), rel=1e-9)
    most = _most(claim, x)
    precision = pi * most / (pi * most + (1 - pi) * x)
    assert found.promise.precision(x) == pytest.approx(float(precision), rel=1e-4 if claim[0] == "z" else 1e-9)
    assert found.precision is not None
    assert found.violated is (found.precision > precision)
    told = found.to_dict()["promise"]
    assert (told["posterior"], told["lift"]) == pytest.approx((1.0, 100.0))
    assert told["precision"] == found.promise.precision(x)
    assert "by mistake" in found.words


def test_what_a_pure_claim_promises_is_what_randomized_response_reaches() -> None:
    found = audit_membership(*COUNTS, base_rate=0.1, claim="dp=1", cut=0.5)
    response = dv.Channel([[math.e, 1], [1, math.e]] / np.array(math.e + 1))
    joint = dv.Joint(dv.Prior([0.1, 0.9]), response)
    promise = found.promise
    assert promise is not None
    assert promise.pml == pytest.approx(float(dv.pml(joint).max()), abs=1e-10)
    assert promise.upper == pytest.approx(0.1 * math.e / (0.1 * math.e + 0.9), abs=1e-12)
    assert promise.lift == pytest.approx(promise.upper / 0.1, abs=1e-10)
    assert found.words.endswith("The claim allows 232 at most.")


def test_nothing_is_promised_without_a_claim_or_a_base_rate() -> None:
    assert audit_membership(*COUNTS, claim="dp=1").promise is None
    found = audit_membership(*COUNTS, base_rate=0.01)
    assert found.promise is None
    assert found.to_dict()["promise"] is None
    nothing = audit_membership(np.zeros(200), np.arange(200) < 100, base_rate=0.01, claim="gdp=1")
    assert nothing.false_alarms == 0.01


def test_a_trade_off_that_is_refuted_says_nothing_about_odds() -> None:
    """Laplace noise keeps (1, 0)-DP; that it is no Gaussian mechanism of a small mu refutes no epsilon."""
    rng = np.random.default_rng(1)
    member = rng.random(20_000) < 0.5
    found = audit_membership(rng.laplace(1.0 * member), member, method="f-dp", delta=1e-5)
    assert found.epsilon > 1
    assert "odds" not in repr(found)
    assert "at delta = 1e-05, if it is a Gaussian mechanism" in repr(found)
    assert "standard deviations apart" in found.words
    pure = audit_membership(rng.laplace(1.0 * member), member, method="f-dp")
    assert "epsilon >=" not in repr(pure)
