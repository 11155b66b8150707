"""The twin of design, the frontier, and named mechanisms: measured exactly, checked against their definitions."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import THOROUGH, few

import divulge as dv
from divulge.designing.effort import Effort
from divulge.designing.polytope.limits import limits_of
from divulge.designing.tradeoff import families
from divulge.designing.tradeoff.families import FAMILIES, tuned

PRIOR = dv.Prior.from_counts({"a": 9, "b": 5, "c": 3, "d": 2, "e": 1})


def keeps(guarantee: dv.Guarantee, channel: dv.Channel) -> bool:
    return bool(guarantee.holds_for(dv.Joint(PRIOR, channel) if guarantee.about == "joint" else channel))


@pytest.mark.thin
@pytest.mark.parametrize(
    "kind", [dv.PML, dv.PMC, dv.LIP, dv.LDP, dv.guarantees.MaximalLeakage, dv.guarantees.BayesCapacity]
)
def test_least_epsilon_is_the_inverse_of_design(kind: Any) -> None:
    for level, utility in ((0.2, "hamming"), (0.9, "mutual-information")):
        level += kind is dv.guarantees.BayesCapacity
        wanted = dv.design(PRIOR, kind(level), utility=utility).utility
        if wanted <= dv.design(PRIOR, kind(level - 0.01), utility=utility).bound:
            continue
        found = dv.least_epsilon(PRIOR, kind, utility=utility, at_least=wanted)
        assert found.epsilon == pytest.approx(level, rel=1e-6)
        assert found.lower < found.epsilon
        assert found.design.utility >= wanted > dv.design(PRIOR, kind(found.lower), utility=utility).bound
        assert keeps(kind(found.epsilon), found.design.channel)


def test_least_epsilon_has_a_closed_form_for_two_equal_secrets() -> None:
    for share in (0.6, 0.9, 0.99) if THOROUGH else (0.9,):
        found = dv.least_epsilon(["1/2", "1/2"], dv.LDP, utility="hamming", at_least=share)
        assert found.lower <= math.log(share / (1 - share)) * (1 + 1e-12) <= found.epsilon * (1 + 1e-9)
        fewer = dv.least_epsilon(["1/2", "1/2"], dv.LDP, utility="error", at_most=1 - share)
        assert fewer.epsilon == pytest.approx(found.epsilon, rel=1e-6)
    assert dv.least_epsilon(["1/2", "1/2"], dv.LDP, utility="hamming", at_least=0.5).epsilon == 0


@pytest.mark.parametrize("more", [0.0, -1e-15, 1e-15][: few(3, 1)])
def test_on_a_plateau_least_epsilon_says_where_nothing_is_decided(more: float) -> None:
    """Half of the secrets told apart are 1/2 of total variation from log 2 on, and no more for long."""
    found = dv.least_epsilon([0.5, 0.3, 0.2], dv.PML, utility="total-variation", at_least=0.5 + more)
    assert found.lower <= math.log(2) <= found.epsilon
    assert dv.design([0.5, 0.3, 0.2], dv.PML(found.lower), utility="total-variation").bound < 0.5 + more
    assert found.design.utility >= 0.5 + more
    assert found.undecided == found.epsilon - found.lower
    assert ("nothing is decided" in repr(found)) == (found.undecided > 1e-6)
    if not THOROUGH:
        return
    steep = dv.least_epsilon([0.5, 0.3, 0.2], dv.PML, utility="total-variation", at_least=0.45)
    assert steep.undecided < 1e-6
    assert "decided" not in repr(steep)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at_least": 99.0}, "some mechanism"),
        ({}, "at_most"),
        ({"at_least": 1.0, "at_most": 1.0}, "at_most"),
        ({"at_least": math.nan}, "finite"),
        ({"at_most": 0.1}, "at_least"),
        ({"at_least": 0.1, "utility": "error"}, "at_most"),
    ],
)
def test_what_least_epsilon_refuses(options: dict[str, Any], words: str) -> None:
    with pytest.raises(dv.DivulgeError, match=words):
        dv.least_epsilon(PRIOR, dv.PML, **options)
    with pytest.raises(dv.DivulgeError, match="kind"):
        dv.least_epsilon(PRIOR, dv.ALIP, at_least=0.1)


@pytest.mark.thin
@pytest.mark.parametrize("family", FAMILIES)
def test_named_mechanisms_keep_the_guarantees_and_are_no_better_than_the_design(family: str) -> None:
    for asked in ("pml=0.5", "pml=1.5", "ldp=1", "alip=1:0.4", "pmc=1", "maximal-leakage=0.6"):
        guarantee = dv.guarantees.parse(asked)
        best = dv.design(PRIOR, guarantee)
        for member in tuned(FAMILIES[family], PRIOR, (guarantee,)):
            assert member.channel.exact
            assert keeps(guarantee, member.channel)
            assert dv.mutual_information(dv.Joint(PRIOR, member.channel)) <= best.bound + 1e-12


def test_tuned_randomized_response_has_the_odds_of_its_epsilon() -> None:
    (found,) = tuned(FAMILIES["randomized response"], PRIOR, (dv.LDP(1),))
    assert dv.ldp(found.channel) <= 1
    assert dv.ldp(found.channel) == pytest.approx(1, abs=1e-11)
    (weaker,) = tuned(FAMILIES["geometric"], PRIOR, (dv.LDP(1),))
    assert weaker.strength == pytest.approx(math.exp(1 / 4), rel=1e-10)


def test_disclosure_is_optimal_for_hamming_under_maximal_leakage() -> None:
    for outcomes in (1.0, 1.5, 2.0, 3.3, 5.0):
        channel = FAMILIES["optimal disclosure"](PRIOR)[0].channel(outcomes)
        assert dv.bayes_capacity(channel) == pytest.approx(outcomes, rel=1e-12)
        right = float((PRIOR.floats[:, None] * channel.floats * np.equal.outer(PRIOR.secrets, channel.outcomes)).sum())
        best = dv.design(PRIOR, dv.guarantees.BayesCapacity(outcomes), utility="hamming")
        assert right == pytest.approx(best.utility, abs=1e-10)


def test_merging_keeps_the_lift_where_any_merging_can() -> None:
    for lift in (1.2, 2.0, 4.0, 7.0, 30.0):
        for channel in (FAMILIES[name](PRIOR)[0].channel(lift) for name in ("watchdog", "subset merging")):
            assert set(np.unique(channel.floats).tolist()) <= {0.0, 1.0}
            assert float(dv.lift(dv.Joint(PRIOR, channel))) <= lift * (1 + 1e-12)
        coarse, fine = (dv.mutual_information(dv.Joint(PRIOR, FAMILIES[name](PRIOR)[0].channel(lift)))
                        for name in ("watchdog", "subset merging"))  # fmt: skip
        assert fine >= coarse - 1e-12


def test_the_frontier_rises_and_stays_above_the_named() -> None:
    curve = dv.frontier(PRIOR, dv.LDP, [0.2, 2, 4], utility="hamming", named=["randomized response", "geometric"])
    assert all(a < b + 1e-12 for a, b in itertools.pairwise(curve.utilities))
    for rows in curve.named.values():
        assert all(row.utility <= bound + 1e-12 for row, bound in zip(rows, curve.bounds, strict=True))
    assert list(curve.to_frame().columns) == ["utility", "bound", "randomized response", "geometric"]
    ax = curve.plot()
    assert ax.get_xlabel() == "local differential privacy [nats]"
    best, _, *named = ax.lines
    assert len(named) == 2
    for points in named:  # measured between two levels, a mechanism may reach what the upper one allows
        allowed = best.get_ydata()[np.searchsorted(best.get_xdata(), np.asarray(points.get_xdata()) - 1e-9)]
        assert (points.get_ydata() <= allowed + 1e-9).all()
    assert "ldp=2" in repr(curve)
    for bad in ({"epsilons": []}, {"epsilons": [1], "named": ["magic"]}):
        with pytest.raises(dv.DivulgeError):
            dv.frontier(PRIOR, dv.LDP, **bad)


def test_a_comparison_measures_every_row() -> None:
    for utility in ("mutual-information", "absolute-distance"):
        prior = dv.Prior([0.4, 0.3, 0.2, 0.1])
        best = dv.design(prior, dv.PML(0.6), dv.LDP(1.5), utility=utility)
        table = best.compare()
        assert table.rows[0].utility == best.utility
        for row in table.rows:
            assert row.pml <= 0.6
            assert row.ldp <= 1.5
            assert (row.utility >= best.bound - 1e-12) if best.minimized else (row.utility <= best.bound + 1e-12)
        assert set(table.to_frame().columns) == {"utility", "pml", "pmc", "ldp", "maximal_leakage"}
        assert "randomized response" in repr(table)


def test_unary_encodings_are_bits_told_one_by_one_and_as_private_as_they_say() -> None:
    prior, epsilon = dv.Prior([0.5, 0.3, 0.2], secrets=list("abc")), 1.2
    half, s = math.exp(epsilon / 2), math.exp(epsilon)
    ways = (half / (1 + half), 1 / (1 + half)), (0.5, 1 / (1 + s))
    for member, (one, other) in zip(FAMILIES["unary encoding"](prior), ways, strict=True):
        channel = member.channel(s)
        assert dv.ldp(channel) == pytest.approx(epsilon, rel=1e-12)
        for x, row in zip("abc", channel.floats.tolist(), strict=True):
            assert sum(row) == pytest.approx(1, rel=1e-14)
            for z in "abc":
                on = math.fsum(value for value, bits in zip(row, channel.outcomes, strict=True) if z in bits)
                assert on == pytest.approx(one if x == z else other, rel=1e-13)
    members = tuned(FAMILIES["unary encoding"], prior, (dv.LDP(epsilon),))
    assert [dv.ldp(m.channel) for m in members] == pytest.approx([epsilon, epsilon], abs=1e-10)
    assert all(dv.ldp(m.channel) <= epsilon for m in members)
    wide = dv.design(dv.Prior.uniform(9), dv.LDP(1)).compare()
    assert "unary encoding" not in [row.name for row in wide.rows]


def test_members_are_tuned_as_by_plain_halving_in_less_work() -> None:
    rng, halved, looks = np.random.default_rng(3), 0, list[float]()
    for asked in ("pml=0.4", "ldp=2", "pmc=0.1", "alip=1:0.5", "maximal-leakage=0.3", "pml=9")[:: 1 if THOROUGH else 2]:
        prior, guarantee = dv.Prior(rng.dirichlet(np.ones(4))), dv.guarantees.parse(asked)
        task = families._Task(prior, (guarantee,), limits_of((guarantee,)), None, Effort())
        for family in FAMILIES.values():
            for member in family(prior):

                def seen(s: float, rows: Callable[[float], np.ndarray] = member.rows) -> np.ndarray:
                    looks.append(s)
                    return rows(s)

                low, high = 0.0, math.log(2.0**40)
                low = high if task.nearly(member.floats(2.0**40), 1e-13) else low
                for _ in range(52):
                    middle = (low + high) / 2
                    holds = task.nearly(member.floats(math.exp(middle)), 1e-13)
                    low, high = (middle, high) if holds else (low, middle)
                found = families._tuned(replace(member, rows=seen), task)
                if found.strength > 1:
                    assert found.strength == math.exp(low)
                halved += 54
    assert len(looks) < 0.8 * halved
