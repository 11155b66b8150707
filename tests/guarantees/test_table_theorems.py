"""Rows about models of tables: no counterexample, attained where they say so, wrong without their condition."""

import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from guarantees.attaining import identity, rare_against_rest
from guarantees.test_theorems import alone, candidates
from support import few

import divulge as dv
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.kinds.tables import TABLES as KINDS
from divulge.guarantees.theorems.tables import TABLES

g = dv.guarantees
ROWS = pytest.mark.parametrize("row", TABLES, ids=lambda row: row.name)
HALVES = [F(1, 2), F(1, 2)]


def index_of(kind: type[dv.Guarantee], rng: np.random.Generator) -> dict[str, Any]:
    return {name: int(rng.integers(1, 4)) for name in kind.index}


@pytest.mark.thin  # every row is above what mechanisms have: test_mutations
@ROWS
def test_no_random_mechanism_violates_it(row: Theorem) -> None:
    rng = np.random.default_rng(7)
    for joint in candidates(row, rng):
        given = [kind.of(joint, **index_of(kind, rng)) for kind in row.given]
        context = Context.of(joint.prior) if row.needs else Context()
        if all(CONDITIONS[name][1](context) for name in row.needs):
            implied = alone(row, given, context, {})
            verdict = implied.holds_for(joint)
            assert verdict.holds or verdict.slack >= -1e-11, (row.name, joint, implied)


@pytest.mark.thin
@ROWS
def test_no_optimized_mechanism_violates_it(row: Theorem) -> None:
    """Climb towards the bound from random starts: changes that leave less slack are kept; none gets through."""
    rng = np.random.default_rng(11)
    for n, m in [(2, 2), (3, 2), (4, 3)]:
        weights, shares, least = rng.dirichlet([1.0] * m, n), rng.dirichlet([2.0] * n), math.inf
        for step in range(few(60)):
            moved = np.abs(weights * np.exp(rng.normal(0, 0.6, weights.shape)))
            moved[rng.random(moved.shape) < 0.05] = 0.0
            moved[:, 0] += moved.sum(axis=1) == 0
            moved /= moved.sum(axis=1, keepdims=True)
            other = shares * np.exp(rng.normal(0, 0.4, n))
            joint = dv.Joint(dv.Prior(other / other.sum()), moved)
            given = [kind.of(joint, **dict.fromkeys(kind.index, 2)) for kind in row.given]
            slack = alone(row, given, Context.of(joint.prior), {}).holds_for(joint).slack
            assert slack >= -1e-11, (row.name, joint)
            if slack < least or step == 0:
                least, weights, shares = slack, moved, other


def _one_lift(p: F, lift: F) -> dv.Joint:
    """Two secrets, and a rare outcome whose lift is `lift` at the secret of probability p."""
    seen = F(1, 100)
    first = [seen * lift, seen * (1 - p * lift) / (1 - p)]
    return dv.Joint([p, 1 - p], [[v, 1 - v] for v in first])


UNIFORM = identity([F(1, 4)] * 4)
PAIRED = dv.Joint([F(1, 4)] * 4, [[F(1), F(0)], [F(1), F(0)], [F(0), F(1)], [F(0), F(1)]])
PLAIN = rare_against_rest(F(1, 10), F(7), high=True)

ATTAINED: dict[str, tuple[list[dv.Guarantee], dv.Joint, dict[str, Any]]] = {
    "PML is beta-likeness": ([dv.PML.of(PLAIN)], PLAIN, {}),
    "beta-likeness is PML": ([g.BetaLikeness.of(PLAIN)], PLAIN, {}),
    "enhanced beta-likeness is the stronger one": (
        [g.EnhancedBeta.of(mild := _one_lift(F(1, 10), F(3)))], mild, {},
    ),
    "enhanced beta-likeness bounds what is rare by its surprise": (
        [g.EnhancedBeta(2)], _one_lift(F(1, 10), F(3)), {"p_min": "1/10"},
    ),
    "beta-likeness below every surprise is enhanced": (
        [g.BetaLikeness("1/2")], _one_lift(F(1, 2), F(3, 2)), {"prior": ["1/2", "1/2"]},
    ),
    "PML bounds total variation": ([dv.PML.of(UNIFORM)], UNIFORM, {}),
    "ALIP bounds total variation": (
        [dv.ALIP.of(rare := _one_lift(F(1, 3), F(2)))], rare, {},
    ),
    "t-closeness bounds leakage": ([g.TCloseness("1/10")], _one_lift(F(1, 10), F(2)), {"p_min": "1/10"}),
    "t-closeness bounds cost": ([g.TCloseness("1/20")], _one_lift(F(1, 10), F(1, 2)), {"p_min": "1/10"}),
    "ordered distance is at most total variation": ([g.TCloseness.of(PLAIN)], PLAIN, {}),
    "ordered distance bounds total variation": ([g.OrderedT.of(PLAIN)], PLAIN, {"n": 2}),
    "PML bounds entropy diversity": ([dv.PML.of(PAIRED)], PAIRED, {"prior": PAIRED.prior}),
    "a finite cost leaves every value possible": ([dv.PMC.of(PLAIN)], PLAIN, {"prior": PLAIN.prior}),
    "entropy diversity is distinct diversity": ([g.EntropyL.of(PAIRED)], PAIRED, {}),
    "recursive diversity is distinct diversity": ([g.RecursiveL.of(PAIRED, l=2)], PAIRED, {}),
}  # fmt: skip


@pytest.mark.parametrize("row", [r for r in TABLES if r.tight in ("equal", "attained")], ids=lambda r: r.name)
def test_a_tight_row_is_attained(row: Theorem) -> None:
    given, joint, context = ATTAINED[row.name]
    assert all(one.holds_for(joint).holds for one in given)
    bound, measured = alone(row, given, Context.of(**context), {}), row.implies.of(joint)
    for name in row.implies.bounded():
        assert float(bound.values()[name]) == pytest.approx(float(measured.values()[name]), rel=1e-12)


@pytest.mark.parametrize("row", [r for r in TABLES if r.tight == "limit"], ids=lambda r: r.name)
def test_a_limit_is_approached(row: Theorem) -> None:
    bound, measured = alone(row, [row.given[0].of(PLAIN)], Context(), {}), row.implies.of(PLAIN)
    assert float(bound.epsilon) == pytest.approx(float(measured.epsilon), rel=1e-12)


def test_every_kind_but_k_is_in_the_table_and_every_row_is_documented() -> None:
    seen = {kind for row in TABLES for kind in (*row.given, row.implies)}
    assert seen >= set(KINDS) - {g.KAnonymity}
    assert not dv.guarantees.parse("k=5").implies("t")  # all five may be ill
    assert all(row.name and row.formula and row.source and row.remark for row in TABLES)
    assert len({row.name for row in TABLES}) == len(TABLES)


BROKEN: dict[tuple[str, str], tuple[dv.Guarantee, dv.Joint, dict[str, Any]]] = {
    ("enhanced beta-likeness bounds what is rare by its surprise", "p_min"): (
        g.EnhancedBeta(2), _one_lift(F(1, 10), F(3)), {"p_min": "1/2"}),
    ("beta-likeness below every surprise is enhanced", "prior"): (
        g.BetaLikeness(1), _one_lift(F(1, 2), F(2)), {"prior": [F(1, 3)] * 3}),
    ("t-closeness bounds leakage", "p_min"): (
        g.TCloseness("1/10"), _one_lift(F(1, 10), F(2)), {"p_min": "1/2"}),
    ("t-closeness bounds cost", "p_min"): (
        g.TCloseness("1/20"), _one_lift(F(1, 10), F(1, 2)), {"p_min": "1/2"}),
    ("ordered distance bounds total variation", "n"): (
        g.OrderedT("1/8"),
        dv.Joint([F(1, 4)] * 4, [[F(1, 2), F(1, 2)], [F(0), F(1)], [F(1, 2), F(1, 2)], [F(0), F(1)]]), {"n": 2}),
    ("PML bounds entropy diversity", "prior"): (
        dv.PML.of(PAIRED), PAIRED, {"prior": [F(1, 9)] * 9}),
    ("a finite cost leaves every value possible", "prior"): (
        dv.PMC.of(PLAIN), PLAIN, {"prior": [F(1, 3)] * 3}),
}  # fmt: skip


@pytest.mark.parametrize(("row", "condition"), [(r, c) for r in TABLES for c in r.needs])
def test_every_condition_is_needed(row: Theorem, condition: str) -> None:
    given, joint, belief = BROKEN[row.name, condition]
    if row.name.startswith("ordered"):
        given = g.OrderedT.of(joint)
    assert given.holds_for(joint).holds
    assert not alone(row, [given], Context.of(**belief), {}).holds_for(joint).holds


def test_an_infinite_beta_promises_nothing() -> None:
    """Once 'no beta' led to a bound by the surprise: beta=inf is kept by everybody."""
    assert not g.EnhancedBeta(math.inf).implies(dv.PML, p_min="1/100").epsilon < math.log(100)
    chained = dv.PML(1).implies(g.EntropyL, prior=["1/4"] * 4)
    assert float(chained.l) == pytest.approx(4 / math.e)
