"""Conversions: outward rounding against many digits, the edge of the high-privacy regime, contexts, the unknown."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import flint
import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog
from support import THOROUGH, fresh_seed, some

import divulge as dv
from divulge import exact
from divulge import guarantees as g
from divulge.guarantees.calculus import search
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences, implied
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.formulas.loss import inverse
from divulge.guarantees.parameters import PARAMETERS
from divulge.guarantees.theorems import THEOREMS
from divulge.guarantees.theorems.tables import TABLES


def cost(e: Any, p: Any) -> Any:
    """A, written as in the papers."""
    left = 1 - mp.exp(e) * (1 - p)
    return mp.log(p / left) if left > 0 else mp.inf


CONVERSIONS: list[tuple[type[dv.Guarantee], type[dv.Guarantee], Callable[[Any, Any], Any]]] = [
    (dv.PML, dv.PMC, cost),
    (dv.PML, dv.LIP, cost),
    (dv.PML, dv.LDP, lambda e, p: e + cost(e, p)),
    (dv.PMC, dv.PML, lambda e, p: mp.log((1 - mp.exp(-e) * (1 - p)) / p)),
    (dv.PMC, dv.LDP, lambda e, p: e + mp.log((1 - mp.exp(-e) * (1 - p)) / p)),
    (dv.LDP, dv.PML, lambda e, p: -mp.log(p + (1 - p) * mp.exp(-e))),
    (dv.LDP, dv.PMC, lambda e, p: mp.log(p + (1 - p) * mp.exp(e))),
    (dv.LDP, dv.LIP, lambda e, p: mp.log(p + (1 - p) * mp.exp(e))),
]


@pytest.mark.thin
@pytest.mark.parametrize("p", [0.5, 0.3, 0.1, 1e-3, 1e-8, 1e-16, 1e-40, 1e-150, 1e-300])
def test_conversions_are_never_below_and_within_1e_12(p: float) -> None:
    """A grid that crowds the edge log 1/(1 - p_min). At 1e-300 nothing less than 700 digits tells the terms apart."""
    edge = -math.log1p(-p)
    grid = [edge * (1 - 10.0**-k) for k in (1, 4, 8, 12, 14, 15)] + [edge * (1 + 10.0**-k) for k in (1, 8, 15)]
    with mp.workdps(700):
        for epsilon in some([*grid, edge, edge / 3, 1e-9, 0.7, 5.0, 40.0]):
            for start, end, formula in CONVERSIONS:
                got = start(epsilon).implies(end, p_min=p).epsilon
                truth = formula(mp.mpf(epsilon), mp.mpf(p))
                assert (got == math.inf) == (truth == mp.inf)
                if got != math.inf:
                    assert mp.mpf(got) >= truth
                    assert got - truth <= mp.mpf("1e-12") * max(1, min(1, truth))
                    assert got - truth <= mp.mpf("3e-16") * truth + mp.mpf(2) ** -1074


@pytest.mark.parametrize("p", [F(1, 2), F(1, 10), 0.1, 0.3, 1e-5, F(1, 3)])
def test_a_float_at_the_edge_counts_at_its_exact_value(p: Any) -> None:
    """log 2 as a double lies below log 2: a coin that keeps it rules nothing out, as the privacy region says too."""
    with mp.workdps(60):
        limit = mp.log(1 / (1 - (mp.mpf(p.numerator) / p.denominator if isinstance(p, F) else mp.mpf(p))))
        edge = float(limit)
        below = mp.mpf(edge) < limit
    found = dv.PML(edge).implies(dv.PMC, p_min=p).epsilon
    assert (found < math.inf) == below
    assert dv.PML(math.nextafter(edge, 1)).implies(dv.LDP, p_min=p).epsilon == math.inf
    assert dv.PML(edge * (1 - 1e-14)).implies(dv.PMC, p_min=p).epsilon < 40
    if isinstance(p, F):
        share = [p, 1 - p]
        assert (dv.guarantees.privacy_region(dv.PML(edge), share).zeros == 0) == below


def test_an_exact_prior_and_its_p_min_say_the_same() -> None:
    for joint_prior in (dv.Prior(["1/10", "2/10", "7/10"]), dv.Prior([0.1, 0.2, 0.7])):
        assert dv.PML("1/20").implies(dv.LDP, prior=joint_prior).epsilon == pytest.approx(
            dv.PML("1/20").implies(dv.LDP, p_min="1/10").epsilon, rel=1e-12
        )


def test_one_secret_leaks_nothing() -> None:
    for start in (dv.PML(3), dv.PMC(3), dv.LDP(3), dv.LDP(math.inf), dv.PML(math.inf)):
        for end in (dv.PML, dv.PMC, dv.guarantees.MaximalLeakage, dv.guarantees.MutualInformation):
            found = start.implies(end, prior=[1])
            assert found.values()["epsilon"] <= 3
    assert dv.PML(3).implies(dv.PMC, p_min=1) == dv.PMC(0)


def test_infinity_passes_through() -> None:
    assert dv.PMC(math.inf).implies(dv.PML, p_min="1/4") == dv.PML.of(
        dv.Joint.from_matrix([[F(1, 4), 0], [0, F(3, 4)]])
    )
    assert dv.LDP(math.inf).implies(dv.PMC, p_min="1/4") == dv.PMC(math.inf)
    assert dv.LDP(math.inf).implies(dv.guarantees.BayesCapacity, n=3) == dv.guarantees.BayesCapacity(3)
    assert dv.LDP(0).implies(dv.guarantees.MutualInformation) == dv.guarantees.MutualInformation(0)
    assert dv.ALIP(0, 0).implies(dv.guarantees.MutualInformation) == dv.guarantees.MutualInformation(0)


def test_unknown_says_what_would_help() -> None:
    assert "without p_min" in str(dv.PML(1).implies(dv.LDP))
    assert not dv.PML(1).implies(dv.LDP)
    assert "full support" in str(dv.PML("0.1").implies(dv.LDP, prior=["1/2", "1/2", "0"]))
    nowhere = dv.guarantees.MutualInformation(1).implies(dv.LDP, p_min="1/3")
    assert str(nowhere) == "unknown: nothing known leads to ldp from mutual-information."
    assert dv.PML(5).implies(dv.LDP, p_min="1/3") == dv.LDP(math.inf)
    general = dv.PMC(1).implies(dv.LDP, general=True)
    assert "general alphabet has no p_min" in general.reason
    assert dv.LDP(1).implies(dv.ALIP, general=True) == dv.ALIP(1, 1)


def test_a_derivation_is_a_chain_that_ends_in_the_answer() -> None:
    found = dv.PML("0.3").implies(dv.LDP, prior=dv.Prior.uniform(2))
    steps = [step.to_dict() for step in found.derivation]
    assert steps[0]["from"] == "pml=0.3"
    assert steps[-1]["to"] == found.text()
    produced = {"pml=0.3"}
    for step in steps:
        assert set(step["from"].split(" and ")) <= produced
        produced.add(step["to"])
    assert found.derivation[-1].gives == found


def test_a_step_names_what_was_given_of_its_own_kind_where_it_takes_a_number_of_it() -> None:
    """From pure DP of 0.7 alone follows rho = 0.7 tanh 0.35, and not the 0.1 that was given."""
    pure, capped = dv.LDP("0.7"), g.CappedCDP(2, "0.1")
    found = implied([pure, capped], g.CappedCDP)
    assert found == g.CappedCDP("0.7", "0.1")
    (step,) = found.derivation
    assert step.given == (pure, capped)
    assert pure.implies(g.CappedCDP).rho == pytest.approx(0.7 * math.tanh(0.35), rel=1e-12)


@pytest.mark.parametrize(
    "context",
    [
        {"p_min": 0},
        {"p_min": 0.6},
        {"p_min": math.nan},
        {"p_min": "x"},
        {"p_min": True},
        {"p_min": math.inf},
        {"p_min": 0.5, "n": 3},
        {"n": 0},
        {"n": 1.5},
        {"uniform": True},
        {"uniform": True, "n": 3, "p_min": 0.1},
        {"prior": [0.5, 0.5], "p_min": 0.5},
        {"prior": [0.5, 0.6]},
        {"general": True, "n": 2},
    ],
)
def test_contexts_that_contradict_themselves_are_refused(context: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.PML(1).implies(dv.LDP, **context)


def test_contexts_agree() -> None:
    assert Context.of(p_min="1/3").n_max == 3
    assert Context.of(p_min=0.1).n_max == 10
    assert Context.of(p_min=1 / 3, uniform=True).n == 3
    assert Context.of(prior=[0.25, 0.75, 0]).full_support is False
    assert Context.of(prior=dv.Prior.uniform(3)).uniform
    assert Context().words == "nothing"


@pytest.mark.parametrize("index", [{}, {"delta": 0.1}, {"epsilon": -1}])
def test_a_tail_needs_its_threshold(index: dict[str, Any]) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.PML(1).implies(dv.guarantees.TailPML, **index)


@pytest.mark.parametrize(("bound", "tail"), [(dv.PML, dv.guarantees.TailPML), (dv.PMC, dv.guarantees.TailPMC)])
def test_at_its_own_threshold_nothing_is_lost(bound: Any, tail: Any) -> None:
    """P(leakage > t) counts what exceeds t, not what reaches it."""
    assert bound(1).implies(tail, epsilon=1) == tail(1, 0)
    assert tail(1, "1/8").implies(tail, epsilon=1) == tail(1, "1/8")
    assert tail(1, "1/8").implies(tail, epsilon=2) == tail(2, "1/8")
    assert tail(1, "1/8").implies(tail, epsilon="999/1000") == tail("999/1000", 1)


CHAINS: list[tuple[dv.Guarantee, type[dv.Guarantee], dict[str, Any], float]] = [
    # given, asked, its parameters, what follows by hand
    (dv.guarantees.CappedCDP(10, "0.3"), dv.guarantees.KL, {}, 0.3),
    (dv.guarantees.MCDP("0.1", "0.5"), dv.ADP, {"delta": "1e-6"}, 2.42),
    (dv.guarantees.GDP(1), dv.guarantees.KL, {}, 0.5),
    (dv.guarantees.GDP(1), dv.RDP, {"alpha": 3}, 1.5),
    (dv.ADP(0, "0.1"), dv.guarantees.MIDP, {"n": 5}, 0.1 * math.log(5)),
    (dv.guarantees.AbsChi(2, "0.3"), dv.guarantees.KL, {}, math.log(1.09)),
    (dv.guarantees.AbsChi("3/2", "0.3"), dv.guarantees.KL, {}, 4 / 3 * 0.3**1.5),
    (dv.PML(1), dv.PMC, {"n": 1}, 0.0),
    (dv.RDP(2, "0.1"), dv.guarantees.FDivergence, {"f": "kl"}, 0.1),
    (dv.ZCDP("0.125", "-0.025"), dv.guarantees.KL, {}, 0.1),
    (dv.guarantees.MCDP("0.1", "0.5"), dv.RDP, {"alpha": 5}, 0.6),
    (dv.guarantees.MeanPML("0.1"), dv.guarantees.BayesCapacity, {"p_min": "1/2"}, 1 + 0.1 / math.log(2)),
]


@pytest.mark.thin
@pytest.mark.parametrize(("given", "kind", "context", "most"), CHAINS, ids=lambda v: str(v)[:40])
def test_chains_go_through_what_has_an_order_or_a_delta(
    given: dv.Guarantee, kind: Any, context: dict[str, Any], most: float
) -> None:
    found = given.implies(kind, **context)
    assert float(found.values()[kind.bounded()[0]]) <= most * (1 + 1e-12)


@pytest.mark.parametrize(("seed", "starts", "stops_each"), [(3, 13 if THOROUGH else 1, 1)])
def test_one_way_round_is_never_tighter_than_what_is_found(seed: int, starts: int, stops_each: int) -> None:
    """A stop by hand, at any order, delta or xi, gives nothing that the search did not give."""
    g, rng = dv.guarantees, np.random.default_rng(seed)
    given = [dv.ZCDP("0.2"), dv.RDP(3, "0.4"), g.MCDP("0.1", "0.6"), g.GDP("0.8"), g.AbsChi(2, "0.5"), g.KL("0.1"),
             dv.ADP("0.5", "0.01"), g.BoundedCDP("0.1", 6), g.TruncatedCDP("0.1", 6), g.CappedCDP(2, "0.1"),
             g.FDivergence("hellinger", "0.1"), g.ApproximateZCDP("0.001", "0.1"), dv.LDP("0.7")]  # fmt: skip
    asked: list[tuple[Any, dict[str, Any]]] = [
        (dv.ADP, {"delta": 1e-3}),
        (g.KL, {}),
        (g.TV, {}),
        (g.MIDP, {}),
        (g.FDivergence, {"f": "jensen-shannon"}),
        (g.PDP, {"delta": 0.02}),
        (dv.RDP, {"alpha": 2.5}),
        (g.AbsChi, {"alpha": 1.5}),
        (g.ApproximateZCDP, {"delta": 0.01, "xi": 0.0}),
        (g.RelaxedDP, {"delta": 1e-4, "outside": 1e-3}),
    ]
    stops: list[Any] = [
        lambda: (dv.RDP, {"alpha": 1 + float(np.exp(rng.uniform(-3, 4)))}),
        lambda: (dv.ADP, {"delta": float(np.exp(rng.uniform(-12, -0.5)))}),
        lambda: (dv.ZCDP, {"xi": float(rng.uniform(-0.2, 0.2))}),
        lambda: (g.PDP, {"delta": float(np.exp(rng.uniform(-12, -0.5)))}),
        lambda: (g.AbsChi, {"alpha": 1 + float(np.exp(rng.uniform(-2, 1)))}),
        lambda: (g.KL, {}),
        lambda: (g.MCDP, {}),
    ]
    for start in [given[i] for i in rng.permutation(len(given))[:starts]]:
        if not THOROUGH:
            asked = [asked[i] for i in rng.permutation(len(asked))[:4]]
        ends = consequences(start, asked, Context())
        for _ in range(stops_each):
            kind, index = stops[int(rng.integers(len(stops)))]()
            stop = start.implies(kind, **index)
            if not stop:
                continue
            bare = replace(stop, derivation=())
            for (end, chosen), direct in zip(asked, ends, strict=True):
                around = bare.implies(end, **chosen)
                if around:
                    assert direct, (start, stop, end)
                    for name in end.bounded():
                        assert float(getattr(direct, name)) <= float(getattr(around, name)) * (1 + 1e-6) + 1e-12, (
                            start, bare, direct, around,
                        )  # fmt: skip


def test_stronger_than_is_what_can_be_proved() -> None:
    assert dv.LDP(1).stronger_than(dv.LIP(1))
    assert dv.LIP(1).stronger_than(dv.LDP(2))
    assert not dv.LIP(1).stronger_than(dv.LDP("1.9"))
    assert dv.LIP(1).stronger_than(dv.LDP("1.9"), p_min="1/2")
    assert not dv.guarantees.MutualInformation(1).stronger_than(dv.PML(100))
    assert dv.LDP(1).stronger_than(dv.guarantees.TailPML(1, 0))


@pytest.mark.parametrize(
    ("make", "kind", "context"),
    [
        (dv.ZCDP, dv.ADP, {"delta": 1e-9}),
        (dv.guarantees.GDP, dv.ADP, {"delta": 1e-6}),
        (lambda s: dv.RDP(2, s), dv.ADP, {"delta": 1e-6}),
        (lambda s: dv.ADP(s, 0), dv.ADP, {"delta": 1e-9}),
        (dv.LDP, dv.guarantees.FDivergence, {"f": "jensen-shannon"}),
        (lambda s: dv.ALIP("0.1", s), dv.guarantees.MutualInformation, {}),
    ],
    ids=["zcdp", "gdp", "rdp", "adp", "ldp", "alip"],
)
@pytest.mark.thin
def test_a_larger_promise_never_implies_less(make: Any, kind: Any, context: dict[str, Any]) -> None:
    """However large it is: powers that overflow must not turn into nothing."""
    levels: list[float] = []
    for size in (1.0, 700.0, 1e60, 1e100, 1e300):
        found = make(size).implies(kind, **context)
        levels.append(float(getattr(found, kind.bounded()[0])) if found else math.inf)
    assert not any(map(math.isnan, levels))
    assert all(more >= less * (1 - 1e-12) for less, more in itertools.pairwise(levels)), levels
    assert levels[0] > 0


@pytest.mark.parametrize("level", ["1e-400", "1e-30", "5e-324", "1e-300"][: 4 if THOROUGH else 1])
def test_what_is_next_to_nothing_is_not_nothing(level: str) -> None:
    """What lies within the rounding of a comparison counts on the safe side."""
    kinds = [(kind, {}) for kind in KINDS.values() if not kind.index]
    kinds += [(dv.ADP, {"delta": 0}), (dv.guarantees.PDP, {"delta": 0}), (dv.RDP, {"alpha": 2})]
    made = (dv.LDP, dv.PML, dv.PMC, dv.ZCDP, dv.guarantees.TV, dv.guarantees.KL, dv.guarantees.MIDP, dv.guarantees.GDP)
    promises: list[dv.Guarantee] = [make(level) for make in made]
    promises += [dv.ADP(level, 0), dv.ADP(0, level), dv.guarantees.PDP(level, 0), dv.RDP(2, level)]
    seed = fresh_seed()
    chosen = np.random.default_rng(seed).permutation(len(promises))[: len(promises) if THOROUGH else 1]
    for promise in (promises[i] for i in chosen):
        for found in consequences(promise, kinds, Context.of(p_min="1/10", n=3)):
            values = [getattr(found, name) for name in found.bounded()] if isinstance(found, dv.Guarantee) else []
            assert not values or max(values) > 0, (promise, found, seed)
    for pure in (dv.LDP, dv.guarantees.DP, dv.guarantees.PDP):
        found = dv.ADP(level, 0).implies(pure, **({"delta": 0} if pure is dv.guarantees.PDP else {}))
        assert found.epsilon == F(level), found


@pytest.mark.parametrize("order", ["1.0000000000000001", "1.0000000000000003", "1.000001"])
def test_an_order_next_to_1_has_an_answer(order: str) -> None:
    assert dv.RDP(order, 1).implies(dv.ADP, delta=1e-6).epsilon >= 1


@pytest.mark.parametrize("mu", [1e-8, 0.1, 1.0] if THOROUGH else [1e-8, 1.0])
def test_delta_at_epsilon_0_is_the_total_variation(mu: float) -> None:
    gaussian = dv.guarantees.GDP(mu)
    delta = float(gaussian.implies(dv.ADP, epsilon=0).values()["delta"])
    assert delta == pytest.approx(math.erf(mu / math.sqrt(8)), rel=1e-8)


@pytest.mark.parametrize(
    ("given", "kind", "index"),
    [
        (dv.ADP("0.3", "0.4"), "pdp", {"epsilon": "0.6"}),
        (dv.guarantees.PDP("0.3", "0.4"), "pdp", {"epsilon": "0.2"}),
    ],
)
def test_numbers_that_say_nothing_are_vacuous_and_not_unknown(given: Any, kind: str, index: dict[str, Any]) -> None:
    answer = given.implies(kind, **index)
    assert not answer
    assert answer.vacuous
    assert str(answer).startswith("vacuous: theorems lead to")


@pytest.mark.parametrize("level", [1e-12, 1e-6, 0.01])
def test_a_small_leakage_has_a_tail_by_its_total_variation(level: float) -> None:
    """P(L > e) (1 - e^-e) <= TV <= e^level - 1, at any epsilon, and not at deltas that are listed alone."""
    for epsilon in (0.1, 1.0):
        delta = float(dv.PML(level).implies(dv.guarantees.PDP, epsilon=epsilon).values()["delta"])
        assert delta == pytest.approx(math.expm1(level) / -math.expm1(-epsilon), rel=1e-6)
    found = dv.PML(level).implies(dv.guarantees.PDP, delta=0.5)
    assert float(found.values()["epsilon"]) == pytest.approx(-math.log1p(-2 * math.expm1(level)), rel=1e-6)


ZEROS = [
    (dv.PML(0), dv.guarantees.GDP), (dv.PML(0), dv.guarantees.MinEntropyLeakage), (dv.PML(0), dv.PMC),
    (dv.PMC(0), dv.guarantees.MinEntropyLeakage), (dv.LDP(0), dv.guarantees.GDP),
    (dv.guarantees.KL(0), dv.guarantees.TV),
    (dv.guarantees.MIDP(0), dv.guarantees.TV), (dv.guarantees.KL(0), dv.guarantees.MaximalLeakage),
    (dv.guarantees.FDivergence("jensen-shannon", 0), dv.guarantees.TV),
    (dv.PML("1/20"), dv.guarantees.MinEntropyLeakage),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind"), ZEROS)
def test_nothing_is_0_and_not_what_a_ball_about_0_leaves(given: Any, kind: Any) -> None:
    """Also where the likeliest of 1/10 and 9/10 remains so under every outcome."""
    found = given.implies(kind, prior=["1/10", "9/10"])
    assert [float(value) for value in found.values().values()] == [0.0]


def test_a_ball_about_0_is_no_0_where_another_secret_may_become_the_likeliest() -> None:
    for given in (dv.PML("1/20"), dv.PMC("1e-30")):
        found = given.implies(dv.guarantees.MinEntropyLeakage, prior=["1/2", "1/2"])
        assert float(found.values()["epsilon"]) > 0


def test_without_a_theorem_a_kind_is_unknown() -> None:
    answer = dv.PML(1).implies(dv.LDP)
    assert not answer.vacuous
    assert str(answer).startswith("unknown: ")


def one_try(kind: str, epsilon: float, p: list[float]) -> float:
    """Return the largest min-entropy leakage under a guarantee: a program over channels whose outcomes are guesses."""
    n, rows = len(p), []
    for x, y in itertools.product(range(n), range(n)):
        own, mean = np.zeros((n, n)), np.zeros((n, n))
        own[x, y], mean[:, y] = 1.0, p
        if kind in ("pml", "lip"):
            rows.append(own - math.exp(epsilon) * mean)
        if kind in ("pmc", "lip"):
            rows.append(math.exp(-epsilon) * mean - own)
        if kind == "ldp":
            rows += [own - math.exp(epsilon) * np.roll(own, k, axis=0) for k in range(1, n)]
    gain = np.diag(p).ravel()
    sums = np.kron(np.eye(n), np.ones((1, n)))
    found = linprog(-gain, np.array([row.ravel() for row in rows]), np.zeros(len(rows)), sums, np.ones(n), (0, 1))
    return math.log(-found.fun / max(p))


PRIORS = [["1/1000", "999/1000"], ["1/10", "9/10"], ["1/10", "2/10", "7/10"]]


@pytest.mark.thin
@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("given", [dv.PML(5), dv.PML("0.3"), dv.PMC(1), dv.LIP("0.3"), dv.LDP(1), dv.LDP(5)], ids=str)
def test_averages_use_what_a_known_prior_leaves_each_secret(given: dv.Guarantee, prior: list[str]) -> None:
    """One try is that of a program; mutual information is that of a design for two secrets, and near it for three."""
    p = [float(F(v)) for v in prior]
    guessed = given.implies(dv.guarantees.MinEntropyLeakage, prior=prior).epsilon
    assert float(guessed) == pytest.approx(one_try(given.kind, float(given.epsilon), p), abs=1e-9)
    told, best = given.implies(dv.guarantees.MutualInformation, prior=prior).epsilon, dv.design(prior, given)
    assert best.utility * (1 - 1e-12) <= told <= best.utility * (1 + 1e-9 if len(p) == 2 else 1.31)


def test_averages_with_a_known_prior_in_numbers() -> None:
    """Publishing tells (1/1000, 999/1000) one try log 1000/999; before e^-5 of 1/1000 nobody guesses the rare one."""
    kinds = dv.guarantees
    for given, prior in ((dv.PML(5), PRIORS[0]), (dv.LDP(1), PRIORS[1])):
        assert given.implies(kinds.MinEntropyLeakage, prior=prior).epsilon < 1e-90
    with mp.workdps(40):
        low, high = (1 / (mp.mpf(9) / 10 * mp.e**s + mp.mpf(1) / 10) / 10 for s in (1, -1))
        share = (mp.mpf(1) / 10 - low) / (high - low)

        def entropy(q: Any) -> Any:
            return -q * mp.log(q) - (1 - q) * mp.log(1 - q)

        truth = entropy(mp.mpf(1) / 10) - share * entropy(high) - (1 - share) * entropy(low)
    found = dv.LDP(1).implies(kinds.MutualInformation, prior=PRIORS[1]).epsilon
    assert truth <= found <= truth * (1 + mp.mpf("1e-15"))


def of_size(kind: type[dv.Guarantee], size: Any, index: Any) -> dv.Guarantee | None:
    """Return a guarantee with all its levels so far above their least, or None where no level may be."""
    levels = {name: PARAMETERS[name].clamped(float(PARAMETERS[name].low + size)) for name in kind.bounded()}
    try:
        return kind(**levels, **index)
    except dv.DivulgeError:
        return None


MET: dict[str, Any] = {"p_min": "1/10", "n": 3}
CHOSEN = {"epsilon": 0.5, "delta": 0.01, "alpha": 2, "xi": 0.0, "f": "kl", "outside": 0.01, "order": 8, "omega": 8,
          "degree": math.inf}  # fmt: skip
"""Parameters that are chosen, none of them at an end."""
LOSSES = [row for row in THEOREMS if row not in TABLES and not {dv.MetricPrivacy} & {*row.given, row.implies}]


@pytest.mark.thin
@pytest.mark.parametrize("row", [row for row in LOSSES if row.given], ids=lambda row: row.name)
def test_where_a_row_leads_the_verdict_is_never_that_nothing_is_known(row: Theorem) -> None:
    """Whatever the numbers: the largest levels that there are, of which hardly any row promises anything."""
    index = [{name: CHOSEN[name] for name in kind.index} for kind in (*row.given, row.implies)]
    huge = [of_size(kind, 1e4, own) for kind, own in zip(row.given, index, strict=False)]
    assert all(huge)
    known = {**MET, "uniform": True, "p_min": "1/3"} if "uniform" in row.needs else MET
    if "prior" in row.needs:
        known = {"prior": ["1/10", "2/10", "7/10"]}
    found = implied([one for one in huge if one], row.implies, **known, **index[-1])
    assert found or found.vacuous, str(found)


@pytest.mark.thin
@pytest.mark.parametrize("row", [row for row in LOSSES if row.given and row.needs], ids=lambda row: row.name)
def test_without_what_a_row_needs_the_verdict_says_so_or_another_chain_leads_there(row: Theorem) -> None:
    index = [{name: CHOSEN[name] for name in kind.index} for kind in (*row.given, row.implies)]
    small = [of_size(kind, 1e-3, own) for kind, own in zip(row.given, index, strict=False)]
    found = implied([one for one in small if one], row.implies, **index[-1])
    if not found and not found.vacuous:
        words = [CONDITIONS[name][0] for name in CONDITIONS if name in row.needs or name in ("p_min", "prior")]
        assert any(word in str(found) for word in [*words, "more knowledge of the prior"]), str(found)


VERDICTS: list[tuple[dv.Guarantee, Any, dict[str, Any], str]] = [
    # given, asked, with what: whether it follows, or says nothing at these numbers, or nothing is known
    (dv.PML(1e-6), dv.guarantees.RelaxedDP, {"n": 3, "delta": 0.01, "outside": 0.01}, "follows"),
    (dv.PML(1), dv.guarantees.RelaxedDP, {"n": 3, "delta": 0.01, "outside": 0.01}, "vacuous"),
    (dv.guarantees.TV(0.1), dv.guarantees.MaximalCostLeakage, {"n": 3}, "follows"),
    (dv.guarantees.TV(0.9), dv.guarantees.MaximalCostLeakage, {"n": 3}, "vacuous"),
    (dv.guarantees.KL(1000), dv.guarantees.MaximalCostLeakage, {"n": 3}, "vacuous"),
    (dv.guarantees.BayesCapacity(1.01), dv.guarantees.RelaxedDP, {"n": 3, "delta": 0.05, "outside": 0.01}, "follows"),
    (dv.guarantees.BayesCapacity(2.9), dv.guarantees.RelaxedDP, {"n": 3, "delta": 0.01, "outside": 0.01}, "vacuous"),
    (dv.guarantees.TailPML(1, 0.1), dv.PML, {}, "vacuous"),
    (dv.PMC(1000), dv.guarantees.AbsChi, {"n": 3, "alpha": 3}, "vacuous"),
    (dv.guarantees.TV(1e-9), dv.guarantees.KL, {}, "vacuous"),
    (dv.guarantees.TV(1e-9), dv.RDP, {"alpha": 2, "n": 3}, "vacuous"),
    (dv.guarantees.ApproximateZCDP(0.01, 1e-9, 0.0), dv.guarantees.KL, {}, "vacuous"),
    (dv.guarantees.MutualInformation(1e-9), dv.LDP, {"p_min": "1/3"}, "unknown"),
    (dv.guarantees.BayesCapacity("1.001"), dv.LDP, {"n": 3}, "unknown"),
    (dv.PML(1e-9), dv.LDP, {}, "unknown"),
]


@pytest.mark.parametrize(("given", "kind", "options", "verdict"), VERDICTS, ids=str)
def test_what_follows_at_other_numbers_is_vacuous_and_what_at_none_unknown(
    given: dv.Guarantee, kind: Any, options: dict[str, Any], verdict: str
) -> None:
    found = given.implies(kind, **options)
    if isinstance(found, dv.Guarantee):
        said = "follows" if any(getattr(found, name) < math.inf for name in found.bounded()) else "vacuous"
    else:
        said = "vacuous" if found.vacuous else "unknown"
    assert said == verdict, str(found)


@pytest.mark.parametrize(("given", "kind", "index"), [
    (dv.guarantees.GDP(0.5), dv.ADP, {"delta": 1e-6}),
    (dv.LDP(2), dv.RDP, {"alpha": 3}),
    (dv.LDP(0.5), dv.ADP, {"delta": 0.01}),
])  # fmt: skip
def test_where_a_mechanism_attains_the_bound_no_parameter_is_moved(
    given: dv.Guarantee, kind: Any, index: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = given.implies(kind, **index)
    moved: list[Any] = []
    monkeypatch.setattr(search, "_alternatives", lambda *_: moved.append(1) or [])
    assert given.implies(kind, **index) == answer
    assert not moved
    monkeypatch.undo()
    monkeypatch.setattr(search, "_reached", lambda *_: False)
    assert given.implies(kind, **index) == answer


def test_an_inverse_is_the_least_that_reaches_its_target_and_takes_few_steps() -> None:
    steps: list[int] = []

    def count(grows: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: (steps.append(1), grows(x))[1]

    with flint.ctx.workprec(320):
        cases = [
            (lambda x: x**3, F(1, 7), 2), (lambda x: (40 * (x - 1)).exp(), F(1, 10**30), 64),
            (lambda x: 2 * x * x.atanh(), F(1, 10**12), 1), (lambda x: x.sqrt(), F(0), 1),
            (lambda x: x if 3 * x < 1 else x + 1, F(2, 3), 1),  # a jump
        ]  # fmt: skip
        for grows, target, high in cases:
            start = len(steps)
            found = inverse(count(grows), exact.ball(target), exact.ball(high))
            assert grows(found) >= exact.ball(target)
            below = found - exact.ball(high) * exact.ball(2) ** -290
            assert not grows(below) >= exact.ball(target) or below <= 0
            assert len(steps) - start < 700
        steps.clear()
        inverse(count(lambda x: 2 * x * x.atanh()), exact.ball(F(1, 10)), exact.ball(1))
        assert len(steps) < 25


@pytest.mark.thin
@pytest.mark.parametrize(
    ("given", "kind", "index"),
    [
        (g.RDP(2, 0.5), dv.ADP, {"delta": 1e-6}),
        (g.ZCDP(0.1), dv.ADP, {"delta": 1e-6}),
        (g.AbsChi(2, 0.3), dv.ADP, {"delta": 0.05}),
        (g.TV(0.2), dv.ADP, {"delta": 0.3}),
        (dv.ADP(0.5, 1e-8), g.TV, {}),
    ],
)
def test_chains_that_cannot_say_more_are_left_out_without_loss(
    given: dv.Guarantee, kind: type[dv.Guarantee], index: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = given.implies(kind, **index)
    monkeypatch.setattr(search, "_said_at_once", lambda: defaultdict(set))
    monkeypatch.setattr(search, "_tight", lambda known: False)
    assert short.values() == given.implies(kind, **index).values()


def test_what_a_known_mechanism_attains_is_asked_of_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    bound = search._bound
    monkeypatch.setattr(search, "_bound", lambda row, *rest: used.append(row.name) or bound(row, *rest))
    assert g.GDP(0.5).implies(dv.ADP, delta=1e-6).derivation
    assert used == ["Gaussian DP is approximate DP"]


def test_a_row_attained_at_some_orders_alone_is_no_end_of_the_search() -> None:
    """A ratio of at most 1 + zeta in both orders is pure privacy, whose total variation is tanh(epsilon / 2)."""
    found = g.AbsChi(math.inf, 0.032).implies(g.TV)
    assert found.distance == pytest.approx(math.tanh(math.log1p(0.032) / 2), rel=1e-12)


def test_relaxed_privacy_is_looked_at_where_all_it_leaves_open_is_its_delta() -> None:
    """Who says all with probability d and else answers by randomized response has total variation d + (1 - d) tanh."""
    found, d = g.RelaxedDP(0.5, 0.001, 0.002).implies(g.TV), 0.003
    assert found.distance == pytest.approx(d + (1 - d) * math.tanh(0.25), rel=1e-12)
