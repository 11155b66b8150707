"""Every row of the table: no counterexample, attained where it says so, wrong without its condition."""

import math
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pytest
from guarantees.attaining import ATTAINED, LIMITS, Case, extremal, rare_against_rest, resampling
from support import THOROUGH, few, random_channel, random_joint, random_prior

import divulge as dv
from divulge.guarantees.calculus import implication
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.implication import consequences
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.catalog import INFORMATION_DENSITY as KINDS
from divulge.guarantees.theorems import INFORMATION_DENSITY

ROWS = pytest.mark.parametrize("row", INFORMATION_DENSITY, ids=lambda row: row.name)


def alone(row: Theorem, given: list[dv.Guarantee], context: Context, index: dict[str, Any]) -> dv.Guarantee:
    """What the row gives by itself, with outward rounding."""
    (found,) = consequences(given, [(row.implies, index)], context, theorems=(row,))
    assert isinstance(found, row.implies)
    return found


def premises(row: Theorem, joint: dv.Joint, rng: np.random.Generator) -> tuple[list[dv.Guarantee], dict[str, Any]]:
    given = [kind.of(joint, **{name: rng.uniform(0, 2) for name in kind.index}) for kind in row.given]
    return given, {name: rng.uniform(0, 2) for name in row.implies.index}


def knowledge(row: Theorem, joint: dv.Joint, rng: np.random.Generator) -> Context:
    """As little as the row needs, or the whole prior."""
    if {"prior", "uniform"}.intersection(row.needs) or rng.random() < 0.5:
        return Context.of(joint.prior)
    return Context.of(p_min=joint.prior.p_min, n=len(joint.prior)) if row.needs else Context()


def candidates(row: Theorem, rng: np.random.Generator) -> list[dv.Joint]:
    uniform = "uniform" in row.needs
    made: list[dv.Joint] = []
    for _ in range(few(25)):
        n, m = int(rng.integers(1, 6)), int(rng.integers(1, 6))
        channel = random_channel(rng, n, m, zeros=float(rng.choice([0, 0, 0.3])), span=float(rng.choice([0.3, 1, 3])))
        prior = dv.Prior.uniform(n) if uniform else random_prior(rng, n)
        made.append(dv.Joint(prior, channel))
        if n > 1:
            exact = [F(int(v), 10**6) for v in rng.integers(1, 10**6, n)]
            shares = [v / sum(exact) for v in exact] if not uniform else [F(1, n)] * n
            growth = 1 + (1 / (1 - min(shares)) - 1) * F(int(rng.integers(1, 100)), 100)
            made += [extremal(shares, growth), resampling(shares, F(int(rng.integers(1, 100)), 100))]
    return made


@pytest.mark.thin  # every row is above what mechanisms have: test_mutations
@ROWS
def test_no_random_mechanism_violates_it(row: Theorem) -> None:
    rng = np.random.default_rng(7)
    for joint in candidates(row, rng):
        given, index = premises(row, joint, rng)
        context = knowledge(row, joint, rng)
        if all(CONDITIONS[name][1](context) for name in row.needs):
            implied = alone(row, given, context, index)
            verdict = implied.holds_for(joint)
            assert verdict.holds or verdict.slack >= -1e-11 * max(1.0, float(implied.values()[implied.bounded()[0]]))


@cache
def rare() -> list[dv.Joint]:
    """Mechanisms about a secret whose least probability goes to 0, exact: to see what needs no p_min."""
    rng, made = np.random.default_rng(3), []
    for power in (1, 9, 40) if THOROUGH else (40,):
        p, kept = F(1, 10**power), F(int(rng.integers(1, 100)), 100)
        for shares in ([p, 1 - p], [p, p, 1 - 2 * p], [p, F(1, 2), F(1, 2) - p]):
            inner = resampling(shares, kept).channel.matrix
            made += [resampling(shares, kept), extremal(shares, 1 + p * F(int(rng.integers(1, 100)), 100))]
            made.append(dv.Joint(shares, [[(1 - kept) * v for v in row] + [kept] for row in inner]))
        made += [rare_against_rest(p, F(10**power + 7), high=high) for high in (True, False)]
    return [*made, resampling([F(1, 12)] * 12, F(1, 3))]


@pytest.mark.parametrize(
    "row",
    [r for r in INFORMATION_DENSITY if not {"p_min", "prior", "uniform"}.intersection(r.needs)],
    ids=lambda r: r.name,
)
def test_what_needs_no_p_min_survives_a_secret_however_rare(row: Theorem) -> None:
    rng = np.random.default_rng(3)
    for joint in rare():
        given, index = premises(row, joint, rng)
        context = Context.of(n=len(joint.prior)) if "n" in row.needs else Context.of(general=True)
        implied = alone(row, given, context, index)
        verdict = implied.holds_for(joint)
        assert verdict.holds or verdict.slack >= -1e-11 * max(1.0, float(implied.values()[implied.bounded()[0]]))


def test_bounded_cost_says_nothing_of_leakage_where_there_is_no_rarest_secret() -> None:
    """Theorems 5 and 6 of the source: the truth with probability 1/2, else a draw from the prior."""
    promise, levels = dv.PMC(0.6931472), []
    for n in (3, 30):
        joint = resampling([F(1, n)] * n, F(1, 2))
        assert promise.holds_for(joint)
        levels.append([kind.of(joint).epsilon for kind in (dv.PML, dv.LIP, dv.LDP)])
    assert np.diff(levels, axis=0).min() > 1.9  # log 10, in the end
    assert not any(promise.implies(kind, general=True) for kind in (dv.PML, dv.LIP, dv.LDP, dv.ALIP))
    bound = promise.implies(dv.guarantees.TV, general=True)
    assert 0.499 < dv.guarantees.TV.of(resampling([F(1, 3)] * 3, F(1, 2))).distance <= bound.distance < 0.5001


@pytest.mark.thin
@ROWS
def test_no_optimized_mechanism_violates_it(row: Theorem) -> None:
    """Climb towards the bound from random starts: changes that leave less slack are kept; none gets through."""
    rng = np.random.default_rng(11)
    uniform = "uniform" in row.needs
    for n, m in [(2, 2), (3, 3)]:
        weights, shares = rng.dirichlet([1.0] * m, n), rng.dirichlet([2.0] * n)
        index = dict.fromkeys(row.implies.index, 0.4)
        threshold = {kind: dict.fromkeys(kind.index, 0.3) for kind in row.given}
        least = math.inf
        for step in range(25 if THOROUGH else 12):
            moved = np.abs(weights * np.exp(rng.normal(0, 0.5, weights.shape)))
            moved /= moved.sum(axis=1, keepdims=True)
            other = shares if uniform else np.abs(shares * np.exp(rng.normal(0, 0.3, n)))
            prior = dv.Prior.uniform(n) if uniform else dv.Prior(other / other.sum())
            joint = dv.Joint(prior, moved)
            given = [kind.of(joint, **threshold[kind]) for kind in row.given]
            context = Context.of(joint.prior)
            slack = alone(row, given, context, index).holds_for(joint).slack
            assert slack >= -1e-11, (row.name, joint)
            if slack < least or step == 0:
                least, weights, shares = slack, moved, other


def reached(row: Theorem, case: Case) -> tuple[dv.Guarantee, dv.Guarantee]:
    given, joint, context, index = case
    return alone(row, given, Context.of(**context), index), row.implies.of(joint, **index)


@pytest.mark.parametrize(
    "row", [r for r in INFORMATION_DENSITY if r.tight in ("equal", "attained")], ids=lambda r: r.name
)
def test_a_tight_row_is_attained(row: Theorem) -> None:
    bound, measured = reached(row, ATTAINED[row.name]())
    for name in row.implies.bounded():
        b, m = float(bound.values()[name]), float(measured.values()[name])
        assert b == m or abs(b - m) <= 1e-13 * max(1.0, m), (b, m)


@pytest.mark.parametrize("row", [r for r in INFORMATION_DENSITY if r.tight == "equal"], ids=lambda r: r.name)
def test_an_equality_holds_for_every_mechanism(row: Theorem) -> None:
    rng = np.random.default_rng(5)
    for joint in candidates(row, rng)[: 30 if THOROUGH else 6]:
        given, index = premises(row, joint, rng)
        bound, measured = alone(row, given, Context.of(joint.prior), index), row.implies.of(joint, **index)
        assert [float(v) for v in bound.values().values()] == pytest.approx(
            [float(v) for v in measured.values().values()], rel=1e-12, abs=1e-15
        )


@pytest.mark.parametrize("row", [r for r in INFORMATION_DENSITY if r.tight == "limit"], ids=lambda r: r.name)
def test_a_limit_is_approached(row: Theorem) -> None:
    bound, measured = reached(row, LIMITS[row.name]())
    (name,) = row.implies.bounded()
    b, m = float(bound.values()[name]), float(measured.values()[name])
    assert m <= b * (1 + 1e-12)
    assert (b - m) <= 2e-3 * b, (b, m)


def test_every_row_is_documented() -> None:
    for row in INFORMATION_DENSITY:
        assert all([row.name, row.formula, row.source, row.remark]), row
        assert set(row.needs) <= set(CONDITIONS), row


def test_names_are_unique_and_every_kind_is_in_the_table() -> None:
    assert len({row.name for row in INFORMATION_DENSITY}) == len(INFORMATION_DENSITY)
    seen = {kind for row in INFORMATION_DENSITY for kind in (*row.given, row.implies)}
    assert seen - {dv.guarantees.TV} == set(KINDS)


# Every condition is needed: a mechanism that breaks the row when the condition is not met.

ZERO = dv.Prior(["1/2", "1/2", "0"])
SPLIT = dv.Joint(ZERO, [["1/2", "1/2"], ["1/2", "1/2"], ["1/10", "9/10"]])
SPLIT_AVERAGE = dv.Joint(ZERO, [["1/2", "1/2", "0"], ["1/2", "1/2", "0"], ["0", "0", "1"]])
TINY = dv.Prior(["1/1000", "999/1000"])
SWAP = dv.Joint(TINY, [["0", "1"], ["1/5", "4/5"]])
NAME = dv.Joint(TINY, [["1", "0"], ["1/5", "4/5"]])

SAID = dv.Joint(dv.Prior.uniform(4), [[F(1, 3) * (i == j) for j in range(4)] + [F(2, 3)] for i in range(4)])
BROKEN: dict[tuple[str, str], tuple[dv.Joint, dict[str, Any], dict[str, Any]]] = {
    # (row, condition): (a mechanism, what is wrongly believed of its secret, thresholds of premises)
    ("a leakage bound is a cost bound in the high-privacy regime", "p_min"): (SWAP, {"p_min": "1/2"}, {}),
    ("a cost bound is a leakage bound", "p_min"): (NAME, {"p_min": "1/2"}, {}),
    ("ALIP bounds the ratio of rows", "full support"): (SPLIT, {}, {}),
    ("LDP bounds leakage", "p_min"): (
        dv.Joint(TINY, [["1/2", "1/2"], ["1/10", "9/10"]]),
        {"p_min": "1/2"},
        {},
    ),
    ("LDP bounds cost", "p_min"): (dv.Joint(TINY, [["1/10", "9/10"], ["1/2", "1/2"]]), {"p_min": "1/2"}, {}),
    ("some gain reaches the Bayes capacity", "full support"): (SPLIT_AVERAGE, {}, {}),
    ("LDP bounds the Bayes capacity", "n"): (
        dv.Joint(dv.Prior.uniform(4), [[F(3 if i == j else 1, 6) for j in range(4)] for i in range(4)]),
        {"n": 2},
        {},
    ),
    ("LDP bounds the maximal cost leakage", "n"): (
        dv.Joint(dv.Prior.uniform(4), [[F(1 if i == j else 3, 10) for j in range(4)] for i in range(4)]),
        {"n": 2},
        {},
    ),
    ("the mean cost bounds maximal cost leakage", "full support"): (SPLIT, {}, {}),
    ("under the uniform prior one try is the worst gain", "uniform"): (
        dv.Joint(["9/10", "1/10"], [["1", "0"], ["1/2", "1/2"]]),
        {"n": 2, "uniform": True},
        {},
    ),
    ("a tail and the largest leakage bound the mean", "p_min"): (NAME, {"p_min": "1/2"}, {"epsilon": "1/100"}),
    ("a tail and the largest lift bound every gain on average", "p_min"): (
        dv.Joint(dv.Prior.uniform(3), [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]),
        {"p_min": "1/2"},
        {"epsilon": "1/100"},
    ),
    ("the mean cost bounds the mean leakage", "p_min"): (
        resampling([F(1, 4)] * 4, F(1, 3)),
        {"p_min": "1/2"},
        {},
    ),
    ("the Bayes capacity bounds the maximal cost leakage", "n"): (
        dv.Joint(dv.Prior.uniform(4), [[F(1 if i == j else 3, 10) for j in range(4)] for i in range(4)]),
        {"n": 2},
        {},
    ),
    ("the maximal cost leakage bounds the Bayes capacity", "n"): (
        dv.Joint(dv.Prior.uniform(4), [[F(3 if i == j else 1, 6) for j in range(4)] for i in range(4)]),
        {"n": 2},
        {},
    ),
    ("the mean leakage bounds every gain on average", "p_min"): (SAID, {"p_min": "1/2"}, {}),
    ("no leakage beyond the rarest secret", "p_min"): (NAME, {"p_min": "1/2"}, {}),
    ("no capacity beyond the number of secrets", "n"): (
        dv.Joint(dv.Prior.uniform(3), [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]),
        {"n": 2},
        {},
    ),
    **{
        (name, "prior"): (dv.Joint(dv.Prior.uniform(2), [[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]), {"prior": TINY}, {})
        for name in (
            "ALIP bounds mutual information, given the prior",
            "LDP bounds mutual information, given the prior",
            "ALIP bounds every gain on average, given the prior",
            "ALIP bounds one try, given the prior",
            "LDP bounds one try, given the prior",
            "one try is right at most always",
        )
    },
    ("no information beyond the entropy", "prior"): (
        dv.Joint(dv.Prior.uniform(2), [["1", "0"], ["0", "1"]]),
        {"prior": TINY},
        {},
    ),
}


@pytest.mark.parametrize(
    ("row", "condition"),
    [pytest.param(r, c, id=f"{r.name}-{c}") for r in INFORMATION_DENSITY for c in r.needs],
)
def test_every_condition_is_needed(row: Theorem, condition: str) -> None:
    joint, belief, index = BROKEN[row.name, condition]
    given = [kind.of(joint, **{name: index[name] for name in kind.index}) for kind in row.given]
    assert not alone(row, given, Context.of(**belief), {}).holds_for(joint).holds
    if belief:
        return
    found = dv.guarantees.implied(given, row.implies, prior=joint.prior)
    assert not found or found.holds_for(joint)


@pytest.mark.parametrize("growth", [F(11, 10), F(5, 4), F(7, 4)])
def test_uniform_binary_equivalences_hold_both_ways(growth: F) -> None:
    """PML <=> A-PMC <=> (A, eps)-ALIP <=> A-LIP <=> (eps + A)-LDP, A = -log(2 - e^eps), for the fair coin."""
    joint = extremal([F(1, 2), F(1, 2)], growth)
    epsilon = dv.pml(joint).max()
    cost = -math.log(2 - growth)
    equals = {dv.PML: (epsilon,), dv.PMC: (cost,), dv.ALIP: (cost, epsilon), dv.LIP: (cost,), dv.LDP: (epsilon + cost,)}
    for start, values in equals.items():
        for end, expected in equals.items():
            found = start(*values).implies(end, n=2, uniform=True)
            assert list(found.values().values()) == pytest.approx(expected, rel=1e-12)
    for kind, expected in equals.items():
        assert list(kind.of(joint).values().values()) == pytest.approx(expected, rel=1e-14)


def test_the_implied_ldp_is_never_below_that_of_a_mechanism() -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(100)):
        joint = random_joint(rng, 3, 3)
        if joint.prior.support.all():
            assert dv.PML.of(joint).implies(dv.LDP, prior=joint.prior).epsilon >= dv.ldp(joint.channel) * (1 - 1e-12)


@pytest.mark.parametrize(("lower", "upper"), [(1, 1), ("1/2", 1), (1, "1/2"), (0, 1), (1, 0), (2, "1/3")])
def test_one_try_at_one_of_two_equal_secrets_in_closed_form(lower: Any, upper: Any) -> None:
    """The lift of the better name is at most e^upper, and what the other one leaves of 2."""
    found = dv.ALIP(lower, upper).implies(dv.guarantees.MinEntropyLeakage, prior=["1/2", "1/2"]).epsilon
    lift = min(math.exp(F(upper)), 2 - math.exp(-F(lower)))
    assert found == pytest.approx(math.log(lift), rel=1e-14, abs=0)


def test_several_at_once_are_tighter_than_each() -> None:
    p, m = dv.PML("0.2"), dv.PMC("0.3")
    together = dv.guarantees.implied([p, m], dv.ALIP, p_min="1/4")
    assert list(together.values().values()) == pytest.approx([0.3, 0.2], rel=1e-15)
    assert dv.ALIP(lower="0.3", upper="0.2").stronger_than(dv.ALIP(lower="0.3", upper="0.2"))
    assert p.implies(dv.ALIP, p_min="1/4").lower > 0.3
    assert m.implies(dv.ALIP, p_min="1/4").upper > 0.2


def test_a_redundant_bound_of_alip_is_tightened() -> None:
    loose = dv.ALIP(lower=5, upper="0.1").implies(dv.LDP, p_min="1/4")
    assert loose == dv.PML("0.1").implies(dv.LDP, p_min="1/4")
    assert dv.PML("0.1").implies(dv.ALIP, p_min="1/4").lower < 0.5


def test_removing_a_row_removes_its_consequences(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {"a cost bound is a leakage bound", "ALIP bounds the ratio of rows"}
    rows = tuple(r for r in INFORMATION_DENSITY if r.name not in gone)
    monkeypatch.setattr(implication, "THEOREMS", rows)
    fact = dv.PMC(1).implies(dv.PML, p_min="1/2")
    assert fact.epsilon == pytest.approx(math.log(2))
    assert [step.theorem.name for step in fact.derivation] == ["no leakage beyond the rarest secret"]


def test_a_chain_around_a_missing_row_converges_to_it() -> None:
    """Without the direct row, PMC -> ALIP -> LDP -> PML -> ALIP ... falls to the same bound for the fair coin."""
    rows = [r for r in INFORMATION_DENSITY if r.name != "a cost bound is a leakage bound"]
    (found,) = consequences(dv.PMC(1), [(dv.PML, {})], Context.of(p_min="1/2"), theorems=rows)
    assert isinstance(found, dv.PML)
    assert found.epsilon == pytest.approx(math.log(2 - math.exp(-1)), rel=1e-15)
