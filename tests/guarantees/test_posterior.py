"""What guarantees say of events, what can be ruled out, regions and the plane: against brute force on mechanisms."""

import math
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from guarantees.attaining import extremal, rare_against_rest, resampling
from hypothesis import given, settings
from support import THOROUGH, few, joints

import divulge as dv
from divulge.guarantees.theorems import THEOREMS


def events(joint: dv.Joint) -> list[tuple[Any, Any, Any]]:
    """(prior, smallest posterior, largest posterior) of every event that is neither empty nor everything."""
    live = np.flatnonzero(joint.prior.support)
    posterior = joint.posteriors[:, np.flatnonzero(joint.occurring)]
    found = []
    for size in range(1, len(live)):
        for members in combinations(live.tolist(), size):
            after = posterior[list(members)].sum(axis=0)
            found.append((joint.p[list(members)].sum(), after.min(), after.max()))
    return found


@settings(max_examples=few(15), deadline=None)
@given(joints(exact=True, max_n=3, max_m=4))
def test_no_event_leaves_its_bounds(joint: dv.Joint) -> None:
    for kind in (dv.PML, dv.PMC, dv.ALIP, dv.LIP, dv.LDP):
        guarantee = kind.of(joint)
        for before, low, high in events(joint):
            bounds = dv.guarantees.posterior_bounds(guarantee, before)
            assert bounds.lower <= low
            assert high <= bounds.upper
            assert bounds.lower <= bounds.before <= bounds.upper


def test_the_bounds_are_attained() -> None:
    tight = extremal([F(1, 10), F(9, 10)], F(21, 20))
    bounds = dv.guarantees.posterior_bounds(dv.PML.of(tight), "1/10")
    assert (float(tight.posteriors[0].min()), float(tight.posteriors[0].max())) == pytest.approx(
        (bounds.lower, bounds.upper), rel=1e-12
    )
    kept = resampling([F(1, 10), F(9, 10)], F(1, 3))
    bounds = dv.guarantees.posterior_bounds(dv.PMC.of(kept), "1/10")
    assert (float(kept.posteriors[0].min()), float(kept.posteriors[0].max())) == pytest.approx(
        (bounds.lower, bounds.upper), rel=1e-12
    )
    odds = rare_against_rest(F(1, 10), F(7), high=True)
    bounds = dv.guarantees.posterior_bounds(dv.LDP.of(odds), "1/10")
    assert float(odds.posteriors[0, 0]) == pytest.approx(bounds.upper, rel=1e-12)


@pytest.mark.parametrize("kind", [dv.PML, dv.PMC, dv.LDP])
@pytest.mark.parametrize(
    ("before", "after"), [("1/100", "1/20"), (0.01, 0.05), ("1/2", "1/3"), (0.9, 0.1), ("1/7", "1/7")]
)
def test_the_weakest_guarantee_is_the_inverse(kind: Any, before: Any, after: Any) -> None:
    guarantee = dv.guarantee_for_posterior(kind, before, after)
    bounds = dv.guarantees.posterior_bounds(guarantee, before)
    weaker = dv.guarantees.posterior_bounds(kind(guarantee.epsilon * (1 + 1e-9) + 1e-15), before)
    limit = float(F(after))
    if limit >= float(F(before)):
        assert bounds.upper <= math.nextafter(limit, 1)
        assert weaker.upper > limit
    else:
        assert bounds.lower >= math.nextafter(limit, 0)
        assert weaker.lower < limit


def test_an_officer_reads_one_in_a_hundred() -> None:
    assert dv.guarantee_for_posterior("pml", "1/100", "1/20").epsilon == pytest.approx(math.log(5), rel=1e-15)
    assert dv.guarantee_for_posterior("ldp", "1/100", "1/20").epsilon == pytest.approx(math.log(5 * 99 / 95), rel=1e-15)
    assert dv.guarantee_for_posterior(dv.PML, 0.3, 1).epsilon == math.inf
    assert dv.guarantee_for_posterior(dv.LDP, 0.3, 0).epsilon == math.inf
    text = str(dv.guarantees.posterior_bounds(dv.guarantee_for_posterior(dv.PML, "1/1000", "5/1000"), "1/1000"))
    assert text == "before 1 in 1,000, after at most 5 and at least 0 in 1,000"
    before, low, high = dv.guarantees.posterior_bounds(dv.LDP("1/2"), "1/4").odds
    assert (before, low, high) == pytest.approx((1 / 3, math.exp(-0.5) / 3, math.exp(0.5) / 3), rel=1e-12)


def test_knowing_p_min_can_only_help() -> None:
    alone, helped = (
        dv.guarantees.posterior_bounds(dv.PML("0.05"), "1/2", **known) for known in ({}, {"p_min": "1/10"})
    )
    assert alone.lower <= helped.lower <= helped.upper <= alone.upper


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "x", None, True])
def test_events_have_a_probability(bad: Any) -> None:
    for call in (
        lambda: dv.guarantees.posterior_bounds(dv.PML(1), bad),
        lambda: dv.guarantee_for_posterior(dv.PML, bad, 0.5),
        lambda: dv.guarantee_for_posterior(dv.PML, 0.5, bad),
        lambda: dv.guarantees.can_rule_out(dv.PML(1), bad),
    ):
        with pytest.raises(dv.DivulgeError):
            call()


def test_other_kinds_have_no_closed_inverse() -> None:
    with pytest.raises(dv.DivulgeError, match="pml, pmc or ldp"):
        dv.guarantee_for_posterior(dv.guarantees.BayesCapacity, 0.1, 0.2)


def test_what_can_be_ruled_out_is_ruled_out_by_a_mechanism() -> None:
    """An event of probability z falls to 0 under a mechanism with PML exactly log 1/(1 - z), and under none below."""
    for z in (F(1, 10), F(1, 3), F(4, 5)):
        joint = dv.Joint([z, 1 - z], [[0, 1], ["1/100", "99/100"]])
        level = dv.PML.of(joint)
        assert level.epsilon == pytest.approx(-math.log(1 - z), rel=1e-14)
        assert joint.posteriors[0, 0] == 0
        assert dv.guarantees.can_rule_out(level, z)
        assert not dv.guarantees.can_rule_out(dv.PML(level.epsilon * (1 - 1e-15)), z)
    assert not dv.guarantees.can_rule_out(dv.PMC(50), "1/1000000")
    assert not dv.guarantees.can_rule_out(dv.LDP(50), "1/1000000")
    assert dv.guarantees.can_rule_out(dv.LDP(math.inf), "1/2")
    assert not dv.guarantees.can_rule_out(dv.PML(math.inf), 1)
    assert dv.guarantees.can_rule_out(dv.guarantees.MutualInformation(1), "1/2")


PRIOR = dv.Prior(["5/10", "3/10", "2/10"], secrets=["a", "b", "c"])


def test_regions_are_cut_where_one_more_zero_fits() -> None:
    edges = dv.guarantees.region_boundaries(PRIOR)
    assert edges.tolist() == pytest.approx([0, math.log(10 / 8), math.log(2)])
    for k, edge in enumerate(edges):
        region = dv.guarantees.privacy_region(dv.PML(edge + 1e-9), PRIOR)
        assert (region.zeros, region.lower) == (k, edge)
        if k:
            assert dv.guarantees.privacy_region(dv.PML(edge - 1e-9), PRIOR).zeros == k - 1
    assert dv.guarantees.privacy_region(dv.PML("0.3"), PRIOR).excludable == ("c",)
    assert dv.guarantees.privacy_region(dv.PML("0.4"), PRIOR).excludable == ("b", "c")
    assert dv.guarantees.privacy_region(dv.PMC(9), PRIOR).words.startswith("high-privacy")
    assert dv.guarantees.privacy_region(dv.LDP(9), PRIOR).zeros == 0
    assert dv.guarantees.privacy_region(dv.guarantees.MutualInformation("0.1"), PRIOR).zeros == 2


def test_a_region_says_what_it_means() -> None:
    prior = dv.Prior(["1/4", "1/2", "1/4"])
    words = [dv.guarantees.privacy_region(dv.PML(epsilon), prior).words for epsilon in (0.1, 0.3, 0.8)]
    assert words == [
        "high-privacy regime: no outcome can rule out any secret",
        "an outcome can rule out up to 1 of 3 secrets",
        "an outcome can name the secret",
    ]


@settings(max_examples=few(40), deadline=None)
@given(joints(max_n=4, max_m=4))
def test_a_mechanism_has_no_more_zeros_than_its_region(joint: dv.Joint) -> None:
    live, seen = joint.prior.support, joint.occurring
    zeros = max(int((column == 0).sum()) for column in np.asarray(joint.channel.matrix)[live][:, seen].T)
    region = dv.guarantees.privacy_region(joint)
    assert zeros <= region.zeros < region.secrets
    assert region.lower <= dv.pml(joint).max() * (1 + 1e-14) + 1e-14
    assert dv.pml(joint).max() < region.upper


def test_regions_need_a_prior_and_a_guarantee() -> None:
    for bad in (lambda: dv.guarantees.privacy_region(dv.PML(1)), lambda: dv.guarantees.privacy_region(3, PRIOR)):
        with pytest.raises(dv.DivulgeError):
            bad()


def test_the_plane_is_cut_by_a_and_b() -> None:
    p = 0.25
    for upper in np.linspace(0.01, 1.5, 12):
        for lower in np.linspace(0.01, 3, 12):
            left = p - (1 - p) * math.expm1(upper)
            by_pml = left > 0 and math.log(p / left) <= lower
            by_pmc = math.log((1 - math.exp(-lower) * (1 - p)) / p) <= upper
            expected = {(True, False): "pml", (False, True): "pmc", (False, False): "both"}[by_pml, by_pmc]
            assert dv.guarantees.decisive_bound(dv.ALIP(lower=lower, upper=upper), p_min=p) == expected


def test_for_a_fair_coin_one_bound_always_decides() -> None:
    rng = np.random.default_rng(2)
    for lower, upper in rng.uniform(0, 1, (50, 2)):
        assert dv.guarantees.decisive_bound(dv.ALIP(lower, upper), n=2, uniform=True) in ("pml", "pmc")
    assert dv.guarantees.decisive_bound(dv.ALIP(0, 0), p_min="1/4") == "either"
    with pytest.raises(dv.DivulgeError, match="p_min"):
        dv.guarantees.decisive_bound(dv.ALIP(1, 1))


def test_pictures_are_drawn_from_the_table() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    joint = extremal([F(1, 4)] * 4, F(5, 4))
    plane = dv.guarantees.plot_alip_plane(joint, labels=["extremal"])
    a, b = plane.lines[0].get_xydata(), plane.lines[1].get_xydata()
    for upper, lower in a[1 :: 50 if THOROUGH else 100]:
        assert dv.PML(upper).implies(dv.PMC, p_min="1/4").epsilon == pytest.approx(lower, rel=1e-9)
    for upper, lower in b[1 :: 50 if THOROUGH else 100]:
        assert dv.PMC(lower).implies(dv.PML, p_min="1/4").epsilon == pytest.approx(upper, rel=1e-9)
    assert "extremal" in [text.get_text() for text in plane.texts]
    everything, little = dv.guarantees.plot_implications(), dv.guarantees.plot_implications(general=True)
    assert len(everything.texts) > len(little.texts)
    drawn = "\n".join(text.get_text() for text in everything.texts)
    assert all(row.implies.kind in drawn for row in THEOREMS)
    pyplot.close("all")


@pytest.mark.parametrize("ask", [dv.guarantees.decisive_bound, dv.guarantees.plot_alip_plane])
@pytest.mark.parametrize(("given", "context"), [(3, {"p_min": 0.1}), (dv.ALIP(1, 1), {}), (None, {"p_min": 0.1})])
def test_what_is_no_alip_or_has_no_p_min_is_refused(ask: Any, given: Any, context: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        ask(given, **context)


def test_one_secret_has_no_plane() -> None:
    with pytest.raises(dv.DivulgeError, match="p_min"):
        dv.guarantees.plot_alip_plane(dv.Joint([1.0], [[0.5, 0.5]]))
