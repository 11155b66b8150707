"""What guarantees leave an attacker who raises alarms: against all tests of random mechanisms, and closed forms."""

import math
from fractions import Fraction as F
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import THOROUGH, few

import divulge as dv
from divulge.dp import GaussianMechanism, RandomizedResponse, trade_off
from divulge.guarantees import ADP, GDP, KL, PDP, RDP, TV, ZCDP, PosteriorBounds, posterior_bounds

BASES = (F(1, 1000), F(1, 10), F(1, 2), F(4, 5))
THRESHOLDS = (0.05, 0.2, 0.6, 0.9, 1.0)


def alarms(joint: dv.Joint, members: list[int]) -> list[tuple[float, float, float]]:
    """(false alarms, hits, posterior) of the best tests: outcomes are taken by falling posterior."""
    p, rows = np.asarray(joint.p, dtype=float), np.asarray(joint.channel.matrix, dtype=float)
    others = [x for x in range(len(p)) if x not in members]
    with_, without = (np.average(rows[s], axis=0, weights=p[s]) for s in (members, others))
    before = p[members].sum()
    after = before * with_ / np.maximum(before * with_ + (1 - before) * without, 1e-300)
    order = np.argsort(-after)
    x, y = np.cumsum(without[order]), np.cumsum(with_[order])
    return [*zip(x.tolist(), y.tolist(), after[order].tolist(), strict=True)]


def no_more(bounds: PosteriorBounds, joint: dv.Joint, members: list[int], turn: int) -> None:
    """Of success and advantage, which are suprema of the same hits, one at a time in the suite."""
    found, a = alarms(joint, members), bounds.before
    room = 1e-12
    if turn % 2 or THOROUGH:
        success = max(1 - a, *(a * y + (1 - a) * (1 - x) for x, y, _ in found))
        assert success <= bounds.success + room
    if turn % 2 == 0 or THOROUGH:
        assert max(y - x for x, y, _ in found) <= bounds.advantage + room
    for x, y, _ in found:
        if 0 < x < 1:
            assert y <= bounds.hits(min(x, 1)) + room
            assert a * y / (a * y + (1 - a) * x) <= bounds.precision(x) + room
    for threshold in THRESHOLDS:
        if threshold > a:
            share = max([a * y + (1 - a) * x for x, y, q in found if q >= threshold], default=0.0)
            assert share <= bounds.share_above(threshold) + room
    for share in (1e-3, 0.05, 0.3):
        passed = bounds.usual(share)
        assert max([y for _, y, q in found if q > passed + room], default=0.0) <= share + room


rows = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)


@settings(max_examples=few(8, least=3), deadline=None)
@given(st.lists(rows, min_size=3, max_size=3), st.sampled_from(BASES), st.sampled_from([1, 2]), st.integers(0, 3))
def test_no_test_does_better(counts: Any, before: F, size: int, first: int) -> None:
    """Of the promises that a mechanism keeps, every fourth for each mechanism in the suite."""
    matrix = [[F(c, sum(row)) for c in row] for row in counts]
    members = list(range(size))
    prior = [before / size] * size + [(1 - before) / (3 - size)] * (3 - size)
    joint = dv.Joint(prior, matrix)
    kinds = (
        lambda: ADP.of(matrix, delta=F(1, 10)),
        lambda: ADP.of(matrix, delta=F(1, 100)),
        lambda: TV.of(matrix),
        lambda: GDP.of(matrix),
        lambda: KL.of(matrix),
        lambda: RDP.of(matrix, alpha=2),
        lambda: ZCDP.of(matrix, xi=0),
        lambda: dv.PML.of(joint),
        lambda: dv.LDP.of(matrix),
        lambda: trade_off(matrix),
        lambda: [kinds[0](), kinds[2](), kinds[7]()],
    )
    for turn, kept in enumerate(kinds[first % (1 if THOROUGH else 4) :: 1 if THOROUGH else 4], start=size):
        no_more(posterior_bounds(kept(), before), joint, members, turn)


@pytest.mark.parametrize(
    "guarantee",
    [ADP("1/2", "1/1000"), TV("1/4"), GDP(1), ZCDP("1/10"), RDP(2, "1/2"), KL("1/10"), dv.LDP(2),
     *(pytest.param(one, marks=pytest.mark.long)
       for one in (ADP(0, "1/5"), GDP("1/4"), ZCDP("1/10", "1/20"), RDP(20, 1)))],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("before", [F(1, 100), pytest.param(F(1, 2), marks=pytest.mark.long)])
def test_the_shares_are_attained(guarantee: Any, before: F) -> None:
    bounds = posterior_bounds(guarantee, before)
    for posterior in (0.04, 0.6, 0.85):
        if posterior <= before:
            continue
        worst, most = bounds.mechanism(posterior), bounds.share_above(posterior)
        assert guarantee.holds_for(worst.channel).holds
        reached = float((worst.p @ np.asarray(worst.channel.matrix))[0])
        near = 0.02 if guarantee.kind == "zcdp" else 1e-8  # held at all orders
        assert reached <= most
        assert reached == pytest.approx(most, rel=near)
        if most:
            assert float(worst.posteriors[0, 0]) == pytest.approx(posterior, rel=1e-9)
            hits = float(worst.channel.matrix[0][0])
            assert most < 1e-290 or bounds.usual(hits) == pytest.approx(posterior, rel=max(near / 10, 1e-6))


@pytest.mark.thin
@pytest.mark.parametrize("before", [F(1, 1000), F(1, 7), F(1, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(F(1, 2), F(1, 10**5)), (F(2), F(1, 10)), (F(0), F(1, 100))])
def test_approximate_dp_in_closed_form(epsilon: F, delta: F, before: F) -> None:
    """delta e^l / (e^l - e^epsilon) of the outcomes under the event, where l > epsilon is what the odds grow by."""
    bounds = posterior_bounds(ADP(epsilon, delta), before)
    with mp.workdps(40):
        a, e, d = mp.mpf(before.numerator) / before.denominator, mp.exp(mp.mpf(float(epsilon))), mp.mpf(delta.numerator)
        d /= delta.denominator
        odds = a / (1 - a)
        for factor in (mp.mpf(3), mp.mpf(10), mp.mpf(200)):
            grown = e * factor
            posterior = odds * grown / (1 + odds * grown)
            crossing = min(d / (grown - e), (1 - (1 - d) / e) / (grown - 1 / e))
            share = crossing * (a * grown + 1 - a)
            assert bounds.share_above(float(posterior)) == pytest.approx(float(share), rel=1e-9)
        threshold = (1 - a) / a
        profile = max(d + (1 - d) * (e - threshold) / (1 + e), d, 0) if threshold >= 1 else None
        if profile is not None:
            assert bounds.success == pytest.approx(float(max(1 - a, 1 - a + a * profile)), abs=1e-11)
        assert bounds.advantage == pytest.approx(float(d + (1 - d) * (e - 1) / (e + 1)), abs=1e-11)


@pytest.mark.thin
@pytest.mark.parametrize("mu", [F(1, 4), F(1), F(3)])
@pytest.mark.parametrize("before", [F(1, 100), F(1, 2), F(9, 10)])
def test_gaussian_dp_by_its_profile(mu: F, before: F) -> None:
    bounds = posterior_bounds(GDP(mu), before)
    with mp.workdps(40):
        m, a = mp.mpf(float(mu)), mp.mpf(before.numerator) / before.denominator
        t = mp.log((1 - a) / a)
        delta = mp.ncdf(m / 2 - t / m) - mp.exp(t) * mp.ncdf(-m / 2 - t / m)
        assert bounds.success == pytest.approx(float(1 - a + a * delta), abs=1e-9)
        assert bounds.success >= float(1 - a + a * delta) - 1e-15
        assert bounds.advantage == pytest.approx(float(2 * mp.ncdf(m / 2) - 1), abs=1e-9)
        hits = mp.ncdf(m - mp.mpf(math.sqrt(2)) * mp.erfinv(1 - 2 * mp.mpf("0.001")))
        assert bounds.hits(0.001) == pytest.approx(float(hits), rel=1e-9)


def test_a_trade_off_function_speaks_as_its_kind() -> None:
    by_curve = posterior_bounds(trade_off(GaussianMechanism(sigma=1.0)), "1/100")
    by_kind = posterior_bounds(GDP(1), "1/100")
    for one, other in (
        (by_curve.success, by_kind.success),
        (by_curve.share_above(0.3), by_kind.share_above(0.3)),
        (by_curve.usual(0.01), by_kind.usual(0.01)),
    ):
        assert one == pytest.approx(other, rel=1e-7)
    flipped = posterior_bounds(trade_off(RandomizedResponse(1.0)), "1/100")
    assert flipped.share_above(0.5) < 1e-12
    assert flipped.advantage == pytest.approx(math.tanh(0.5), rel=1e-9)


def test_the_share_under_pointwise_leakage_is_all_or_nothing() -> None:
    bounds = posterior_bounds(dv.PML(1), "1/100")
    assert bounds.share_above(0.0271) == pytest.approx(1 / 2.71, rel=1e-9)  # Markov's inequality, attained
    assert bounds.share_above(0.0272) == 0
    assert bounds.advantage == pytest.approx(1 - (math.exp(-1) - 0.01) / 0.99, rel=1e-9)


def test_other_kinds_speak_through_these() -> None:
    bounds = posterior_bounds(PDP(1, "1e-5"), "1/100")
    assert bounds.usual(0.001) == pytest.approx(posterior_bounds(ADP(1, "1e-5"), "1/100").usual(0.001), rel=1e-9)
    assert posterior_bounds(dv.guarantees.CappedCDP(1, "1/10"), "1/100").usual(0.001) < 0.1


def test_what_an_attacker_can_do_needs_a_question() -> None:
    bounds = posterior_bounds(ADP(1, "1e-5"), "1/100")
    for ask in (
        lambda: bounds.share_above(0.01),
        lambda: bounds.share_above(1.5),
        lambda: bounds.usual(0),
        lambda: bounds.precision(0),
        lambda: bounds.hits(-0.1),
        lambda: posterior_bounds(GDP(1), 0).advantage,
    ):
        with pytest.raises(dv.DivulgeError):
            ask()
    assert posterior_bounds(GDP(1), 0).success == 1
    assert posterior_bounds(GDP(math.inf), "1/100").success == 1
    assert posterior_bounds(ADP(math.inf, 0), "1/100").share_above(1.0) == pytest.approx(0.01)
