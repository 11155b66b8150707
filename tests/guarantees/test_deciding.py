"""Claims next to the true value are decided, by arithmetic of 50 digits that shares no code with it."""

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from support import THOROUGH, few, fresh_seed, random_channel

import divulge as dv
from divulge import exact
from divulge import guarantees as g
from divulge.dp.subjects import privacy_losses
from divulge.guarantees.deciding import searched
from divulge.guarantees.deciding.levels import lower_peaks, row_peaks, upper_peaks
from divulge.guarantees.deciding.parabola import Moments, below
from divulge.guarantees.deciding.rational import Rational
from divulge.measures.numeric import columns
from divulge.measures.numeric.columns import extremes

Row = list[F]
DIGITS = 50


def number(value: Any) -> Any:
    return mp.mpf(value.numerator) / value.denominator if isinstance(value, F) else mp.mpf(value)


def rows(rng: np.random.Generator, size: int) -> tuple[Row, Row]:
    p, q = (rng.integers(1, 40, size).tolist() for _ in range(2))
    return [F(a, sum(p)) for a in p], [F(a, sum(q)) for a in q]


def supremum(score: Callable[[Any], Any], low: float, high: float) -> Any:
    """Return the largest score over e^t, by a grid and golden sections beside its best points."""
    grid = [mp.exp(t) for t in mp.linspace(math.log(low), math.log(high), 120)]
    values = [score(t) for t in grid]
    best = max(*values, score(mp.mpf(low)), score(mp.mpf(high)))
    for k in sorted(range(len(grid)), key=lambda k: -values[k])[:3]:
        a, b = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        for _ in range(130):
            c, d = b - (b - a) * (mp.sqrt(5) - 1) / 2, a + (b - a) * (mp.sqrt(5) - 1) / 2
            a, b = (a, d) if score(c) > score(d) else (c, b)
        best = max(best, score((a + b) / 2))
    return best


def moment(p: Row, q: Row, l: Any) -> Any:
    return mp.log(mp.fsum(number(a) * (number(a) / number(b)) ** l for a, b in zip(p, q, strict=True) if a))


def mean(p: Row, q: Row) -> Any:
    return mp.fsum(number(a) * mp.log(number(a) / number(b)) for a, b in zip(p, q, strict=True) if a)


def rho(p: Row, q: Row, xi: F = F(0), most: float = 1e9) -> Any:
    inner = supremum(lambda l: (moment(p, q, l) / l - number(xi)) / (1 + l), 1e-8, most - 1)
    return max(inner, mean(p, q) - number(xi), 0)


def tau(p: Row, q: Row) -> Any:
    m = mean(p, q)
    variance = mp.fsum(number(a) * (mp.log(number(a) / number(b)) - m) ** 2 for a, b in zip(p, q, strict=True))
    sides = [supremum(lambda l, s=s: 2 * (moment(p, q, s * l) - s * l * m) / l**2, 1e-7, 1e4) for s in (1, -1)]
    return mp.sqrt(max(variance, *sides))


def quantile(share: F) -> Any:
    return mp.sqrt(2) * mp.erfinv(2 * number(share) - 1)


def mu(p: Row, q: Row) -> Any:
    order = sorted(range(len(p)), key=lambda k: p[k] / q[k], reverse=True)
    sums = [(sum(p[k] for k in order[:n]), sum(q[k] for k in order[:n])) for n in range(1, len(order))]
    return max(quantile(a) - quantile(b) for a, b in sums)


def capacity(p: Row, q: Row) -> Any:
    def information(t: Any) -> Any:
        w = 1 / (1 + t)
        total = mp.mpf(0)
        for a, b in zip(map(number, p), map(number, q), strict=True):
            m = w * a + (1 - w) * b
            total += w * a * mp.log(a / m) + (1 - w) * b * mp.log(b / m)
        return total

    return supremum(information, 0.2, 5)


def ternary(p: Row, q: Row) -> Any:
    sides = [
        mp.fsum(number(r) * (abs(number(a - b)) / number(r)) ** 3 for a, b, r in zip(p, q, s, strict=True))
        for s in (p, q)
    ]
    return max(sides) ** (mp.mpf(1) / 3)


def both(score: Callable[..., Any], *arguments: Any) -> Callable[[Row, Row], Any]:
    return lambda p, q: max(score(p, q, *arguments), score(q, p, *arguments))


KINDS: dict[str, tuple[Callable[[Row, Row], Any], Callable[[F], dv.Guarantee]]] = {
    "zcdp": (both(rho), lambda v: g.ZCDP(v)),
    "zcdp, xi": (both(rho, F(1, 50)), lambda v: g.ZCDP(v, F(1, 50))),
    "zcdp, xi < 0": (both(rho, F(-1, 50)), lambda v: g.ZCDP(v, F(-1, 50))),
    "bounded": (both(rho, F(1, 100), 3.0), lambda v: g.BoundedCDP(v, 3, F(1, 100))),
    "truncated": (both(rho, F(0), 5.0), lambda v: g.TruncatedCDP(v, 5)),
    "capped": (both(rho), lambda v: g.CappedCDP(100, v)),
    "mcdp": (both(tau), lambda v: g.MCDP(100, v)),
    "gdp": (both(mu), lambda v: g.GDP(v)),
    "midp": (capacity, lambda v: g.MIDP(v)),
    "ternary": (ternary, lambda v: g.TernaryAbsChi(3, v)),
}


@pytest.mark.parametrize("name", KINDS if THOROUGH else ["truncated", "midp", "ternary"])
def test_a_claim_next_to_the_truth_is_decided(name: str) -> None:
    rng = np.random.default_rng(fresh_seed())
    measured, claim = KINDS[name]
    with mp.workdps(DIGITS):
        p, q = rows(rng, int(rng.integers(2, 5)))
        truth = measured(p, q)
        share = mp.mpf(10) ** (-20)
        above, below_ = (F(mp.nstr(truth * (1 + sign * share), 40)) for sign in (1, -1))
    assert claim(above).holds_for([p, q]), (p, q, truth)
    assert not claim(below_).holds_for([p, q]), (p, q, truth)


def test_what_is_removed_is_removed_exactly() -> None:
    rare = [["1/2", "3/8", "1/8"], ["1/2", "1/2", "0"]]
    assert g.ApproximateZCDP("1/8", "1/56").holds_for(rare)  # (1/2, 3/8) and (1/2, 3/8) are left: nothing is told
    assert g.ApproximateZCDP("1/8", 0).holds_for(rare)
    assert not g.ApproximateZCDP("124/1000", 1000).holds_for(rare)


@pytest.mark.parametrize("value", [1e-30, 1e-8, 3.0])
def test_a_supremum_at_zero_is_decided(value: float) -> None:
    """Three losses around a mean of 0: K(l) / l^2 is largest as l tends to 0, where it is the variance over 2."""
    moments = Moments([F(1, 4), F(1, 2), F(1, 4)], [F(3), F(1), F(1, 3)])

    def half(share: F) -> Callable[[], Any]:
        return lambda: (None, exact.arb(F(3)).log() ** 2 / 4 * (1 + exact.arb(share)))

    assert below(moments, half(F(value))) is True
    assert below(moments, half(F(-min(value, 0.5)))) is False


CLOSED: list[tuple[Any, Callable[[F], dv.Guarantee], Callable[[], Any]]] = [
    (dv.dp.GaussianMechanism(3.0), lambda v: g.ZCDP(v), lambda: mp.mpf(1) / 18),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.ZCDP(v, "-1/7"), lambda: mp.mpf(1) / 18 + mp.mpf(1) / 7),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.KL(v), lambda: mp.mpf(1) / 18),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.RDP(7, v), lambda: mp.mpf(7) / 18),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.GDP(v), lambda: mp.mpf(1) / 3),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.MCDP(1, v), lambda: mp.mpf(1) / 3),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.TV(v), lambda: mp.erf(mp.mpf(1) / 6 / mp.sqrt(2))),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.FDivergence("hellinger", v), lambda: -2 * mp.expm1(-mp.mpf(1) / 72)),
    (dv.dp.GaussianMechanism(3.0), lambda v: g.FDivergence("chi-squared", v), lambda: mp.expm1(mp.mpf(1) / 9)),
    (
        dv.dp.GaussianMechanism(3.0),
        lambda v: g.PDP(v, "1/10"),
        lambda: mp.mpf(1) / 18 + mp.sqrt(2) / 3 * mp.erfinv(mp.mpf(4) / 5),
    ),
    (dv.dp.LaplaceMechanism(3.0), lambda v: g.ADP(v, 0), lambda: mp.mpf(1) / 3),
    (dv.dp.LaplaceMechanism(3.0), lambda v: g.ADP(v, "1/10"), lambda: mp.mpf(1) / 3 + 2 * mp.log(mp.mpf(9) / 10)),
    (dv.dp.LaplaceMechanism(3.0), lambda v: g.KL(v), lambda: mp.exp(-mp.mpf(1) / 3) - mp.mpf(2) / 3),
    (dv.dp.LaplaceMechanism(3.0), lambda v: g.TV(v), lambda: -mp.expm1(-mp.mpf(1) / 6)),
    (dv.dp.LaplaceMechanism(3.0), lambda v: g.PDP(v, "1/10"), lambda: mp.mpf(1) / 3),
    (dv.dp.RandomizedResponse(0.3), lambda v: g.ADP(v, 0), lambda: mp.mpf(0.3)),
    (dv.dp.RandomizedResponse(0.3), lambda v: g.RDP(math.inf, v), lambda: mp.mpf(0.3)),
    (dv.dp.DiscreteLaplaceMechanism(3.0), lambda v: g.ADP(v, 0), lambda: mp.mpf(1) / 3),
    (dv.dp.AdpRelease(0.3, 0.1), lambda v: g.ADP(v, 0.1), lambda: mp.mpf(0.3)),
    (dv.dp.ZcdpRelease(0.3), lambda v: g.ZCDP(v), lambda: mp.mpf(0.3)),
    (dv.dp.ZcdpRelease(0.3), lambda v: g.RDP(7, v), lambda: 7 * mp.mpf(0.3)),
    (dv.dp.RenyiRelease(3.0, 0.3), lambda v: g.RDP(3, v), lambda: mp.mpf(0.3)),
]


@pytest.mark.parametrize("case", range(len(CLOSED)))
def test_mechanisms_are_held_at_what_they_state(case: int) -> None:
    mechanism, claim, truth = CLOSED[case]
    with mp.workdps(DIGITS):
        above, below_ = (F(mp.nstr(truth() * (1 + sign * mp.mpf("1e-25")), 40)) for sign in (1, -1))
    assert claim(above).holds_for(mechanism)
    assert not claim(below_).holds_for(mechanism)


def test_what_is_computed_alone_is_kept_with_room_or_not_at_all() -> None:
    """A double of a numerical answer is no proof at itself: one above by more than it may be off is."""
    sampled = dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.01)
    measured = dv.dp.renyi_dp(sampled, 4.0).value
    assert not g.RDP(4, measured).holds_for(sampled)
    assert g.RDP(4, measured * (1 + 1e-9)).holds_for(sampled)
    assert g.RDP(4, 0).holds_for([["1/3", "2/3"]] * 3)
    assert g.QuantumRDP(2, 0).holds_for([[["1/2", 0], [0, "1/2"]]] * 2 if False else [np.eye(2) / 2] * 2)


def test_an_index_in_bits_is_read_on_the_safe_side() -> None:
    """xi bits in nats is rounded down: a larger xi would ask for less."""
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    verdict = g.ZCDP(1, 1).holds_for(flip, unit="bits")
    assert verdict.holds
    assert verdict.measured <= 1


@pytest.mark.parametrize(
    ("asked", "ratio"),
    [
        ("pml=0.1", F(140, 41)), ("pmc=0.1", F(70, 169)), ("lip=0.1", F(140, 41)), ("lift=1.1", F(140, 41)),
        ("ldp=0.1", F(14, 3)), ("lift-capacity=1.1", F(14, 3)),
    ],
)  # fmt: skip
def test_a_witness_of_exact_probabilities_is_exact(asked: str, ratio: F) -> None:
    """Its ratio, worked out by hand, is the one that was measured."""
    joint = dv.Joint(["1/10", "9/10"], [["2/3", "1/3"], ["1/7", "6/7"]])
    verdict = g.parse(asked).holds_for(joint)
    told = verdict.to_dict()["witness"]["exact"]
    assert F(told["ratio"]) == ratio
    measured = float(verdict.measured) if "lift" in asked else math.exp(float(verdict.measured))
    assert max(ratio, 1 / ratio) == pytest.approx(measured)
    floats = g.parse(asked).holds_for(dv.Joint([0.1, 0.9], [[2 / 3, 1 / 3], [1 / 7, 6 / 7]]))
    assert "exact" not in floats.to_dict()["witness"]


def test_the_capacity_of_a_secret_that_hardly_counts_is_finite() -> None:
    """A row of next to no weight may be the only one to give an outcome."""
    for tiny in (F(1, 10**9), F(1, 10**15), F(1, 10**30)):
        rows = [[F(3, 4), F(1, 4), F(0)], [F(1, 4), F(3, 4), F(0)], [F(1, 2) - tiny, F(1, 2), tiny]]
        found = g.MIDP.of(rows).epsilon
        assert 0.13081203 < found < 0.13081204, tiny  # log 2 - H(1/4)


@pytest.mark.parametrize(
    ("claim", "subject", "holds"),
    [
        (g.PDP(1, "0.002"), dv.dp.AdpRelease(1.0), True),
        (g.PDP(1, "0.6"), dv.dp.RandomizedResponse(1.0), True),
        (g.PDP(math.nextafter(1, 0), "0.7"), dv.dp.RandomizedResponse(1.0), False),
        (g.TV(0.1), dv.dp.AdpRelease(0.0, 0.1), True),
        (g.TV(math.nextafter(0.1, 0)), dv.dp.AdpRelease(0.0, 0.1), False),
        (g.TV("0.4621171572600097"), dv.dp.RandomizedResponse(1.0), False),  # tanh(1/2) = .46211715726000975
        (g.TV("0.4621171572600098"), dv.dp.RandomizedResponse(1.0), True),
        (g.RDP(1, "0.3678794411714423"), dv.dp.LaplaceMechanism(1.0), False),  # 1 - 1 + 1/e = .36787944117144232
        (g.RDP(1, "0.3678794411714424"), dv.dp.LaplaceMechanism(1.0), True),
    ],
)
def test_what_is_stated_is_decided_at_equality(claim: dv.Guarantee, subject: Any, holds: bool) -> None:
    verdict = claim.holds_for(subject)
    assert verdict.holds == holds
    assert "decided exactly" in repr(verdict)


def test_what_is_infinite_is_not_missed_by_rounding() -> None:
    assert "rounded" not in repr(g.GDP(5).holds_for(dv.dp.ZcdpRelease(0.1)))


def at_a_jump(rng: np.random.Generator) -> tuple[list[list[F]], F]:
    """Two rows of fractions with an outcome that one of them never shows, and a delta at which something jumps."""
    n = int(rng.integers(2, 5))
    weights = rng.integers(1, 40, (2, n)).tolist()
    if rng.random() < 0.5:
        weights[1][0] = 0
    p, q = ([F(w, sum(row)) for w in row] for row in weights)
    ratios = sorted(zip(p, q, strict=True), key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True)
    return [p, q], sum((a for a, _ in ratios[: int(rng.integers(1, n))]), F(0))


@pytest.mark.parametrize("seed", range(few(60)))
def test_a_delta_at_which_the_loss_jumps_is_decided_as_it_is(seed: int) -> None:
    """By sums of fractions over sets of outcomes: at equality doubles put the mass of an outcome on either side."""
    rows, delta = at_a_jump(np.random.default_rng(seed))
    for e in (F(0), F(1, 10), F(3)):
        grown = math.exp(e)
        pairs = [list(zip(*some, strict=True)) for some in (rows, rows[::-1])]
        tails = max(sum((a for a, b in some if not b or float(a / b) > grown), F(0)) for some in pairs)
        gains = max(math.fsum(max(0.0, a - grown * b) for a, b in some) for some in pairs)
        assert g.PDP(e, delta).holds_for(rows).holds == (tails <= delta), (rows, delta, e)
        sure = [sum((a for a, b in some if not b), F(0)) for some in pairs]
        if max(sure) == delta and all(a - grown * b < -1e-9 for some in pairs for a, b in some if b):
            assert dv.ADP(e, delta).holds_for(rows).holds
            assert not dv.ADP(e, delta * F(10**15 - 1, 10**15)).holds_for(rows).holds
        elif abs(gains - delta) > 1e-12:
            assert dv.ADP(e, delta).holds_for(rows).holds == (gains < delta)


def test_a_rare_outcome_of_one_secret_is_what_delta_allows() -> None:
    rows = [["1999/2000", "1/2000"], ["1", "0"]]
    for kept in (dv.ADP("1/10", "1/2000"), g.PDP("1/10", "1/2000"), g.RelaxedDP("1/10", 0, "1/2000")):
        assert kept.holds_for(rows).holds
    for broken in (dv.ADP("1/10", "1/2001"), g.PDP("1/10", "1/2001"), dv.ADP(5, "499999/1000000000")):
        assert not broken.holds_for(rows).holds


@pytest.mark.parametrize("seed", range(few(30)))
def test_columns_that_differ_by_the_order_of_rows_alone_are_worked_out_once(seed: int) -> None:
    """The largest ratio is the same as of all columns, one by one; weights and sums tell rows apart."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    shift = rng.dirichlet(np.ones(n))
    channel = np.array([np.roll(shift, k) for k in range(n)]) * (1 + rng.choice([0.0, 1e-10], (n, 1)))
    prior = np.full(n, 1 / n) if seed % 2 else rng.dirichlet(np.ones(n))
    for peaks in (
        upper_peaks(dv.Joint(prior, channel)),
        lower_peaks(dv.Joint(prior, channel)),
        row_peaks(dv.Channel(channel)),
    ):
        one_by_one = [peaks.exactly(i) for i in range(len(peaks.ratios))]
        top = max(peaks.ratios)
        near = [i for i, ratio in enumerate(peaks.ratios) if ratio >= top * (1 - 2 * peaks.margin)]
        assert peaks.largest().exactly[0] == max(one_by_one[i] for i in near)


def test_columns_of_one_kind_are_one() -> None:
    circulant = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    assert Rational.of(dv.Joint([0.25, 0.5, 0.25], circulant)).distinct([0, 1, 2]) == [0, 1]
    assert Rational.of(dv.Channel(circulant)).distinct([0, 1, 2]) == [0]


def test_a_channel_is_read_once_for_what_is_asked_of_all_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(columns, "extremes", lambda *found: asked.append(1) or extremes(*found))
    joint = dv.Joint(np.array([0.25, 0.75]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert [dv.LDP(level).holds_for(joint).holds for level in (1, 2)] == [False, True]
    assert dv.LDP(2).holds_for(joint).measured == dv.ldp(joint) == pytest.approx(math.log(3))
    assert asked == [1]


@pytest.mark.parametrize("level", [-1, 10**400])
def test_whole_numbers_out_of_range_are_refused_as_fractions_are(level: int) -> None:
    said = []
    for value in (level, F(level)):
        with pytest.raises(dv.DivulgeError) as refused:
            dv.LDP(value)
        said.append(str(refused.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("exact_", [False, True])
def test_a_law_that_pairs_of_rows_share_is_measured_once_and_no_other_for_it(exact_: bool) -> None:
    """Of randomized response all pairs show one law; two pairs of the same losses and other masses show two."""
    asked: list[Any] = []

    def measure(loss: Any) -> Any:
        asked.append(loss)
        return loss.delta(0.1)

    one = 1 if exact_ else 1.0
    response = [[F(3 if i == j else 1, 7) * one for j in range(5)] for i in range(5)]
    alike = privacy_losses(dv.Channel(response))
    assert len(set(searched._each(alike, measure))) == 1
    assert (len(alike), len(asked)) == (20, 1)
    rows = [[F(v, sum(row)) * one for v in row] for row in ([2, 1, 1], [1, 2, 1], [2, 1, 2], [1, 2, 2])]
    random = random_channel(np.random.default_rng(1), 4, 3, exact=exact_, zeros=0.3)
    for channel in (dv.Channel(rows), random):
        losses = privacy_losses(channel)
        assert searched._each(losses, measure) == [measure(loss) for loss in losses]  # pyright: ignore


@pytest.mark.parametrize("kind", [dv.guarantees.MutualInformation, dv.guarantees.MeanPML, dv.guarantees.MeanPMC])
def test_a_level_of_much_work_is_above_what_is_measured_by_no_more_than_rounding(
    kind: type[dv.Guarantee], monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = dv.Joint([0.2, 0.3, 0.5], [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]])
    (near,) = kind.of(joint).values().values()
    monkeypatch.setattr("divulge.guarantees.deciding.levels.WORK", 0)
    (found,) = kind.of(joint).values().values()
    assert near <= found <= near * (1 + 1e-12)
    assert found > 0.01


@pytest.mark.parametrize("off", [9e-15, -9e-15])
def test_a_mean_over_rows_that_are_left_as_they_are_is_bounded_as_they_stand(off: float) -> None:
    """Sixteen secrets told by two outcomes each, of rows that sum to nearly 1."""
    joint = dv.Joint([1 / 16] * 16, np.repeat(np.eye(16), 2, axis=1) * 0.5 * (1 + off))
    entries = joint.channel.floats
    assert abs(entries.sum(axis=1) - 1).min() > 8e-15
    with mp.workdps(DIGITS):
        told = sum(mp.mpf(c) * mp.log(mp.mpf(c) / (mp.mpf(column.sum()) / 16)) / 16
                   for column in entries.T for c in column.tolist() if c)  # fmt: skip
        assert abs(told - mp.log(16)) > 2e-14
        (level,) = g.MutualInformation(1).levels(joint)
        assert level.floor() <= told <= level.bound()
