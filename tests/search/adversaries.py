"""What adversaries gain: every action tried, refinement by linear programs, random adversaries against suprema."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
from scipy.optimize import linprog

import divulge as dv
from search.measures import costs, gains, posterior
from search.registry import at_least, at_most, case, same
from search.subjects import distribution, drawn, pick


def payoffs(rng: np.random.Generator, n: int) -> list[list[Fraction]]:
    """Return payoffs of 2 to 4 actions, some of them 0."""
    return [[Fraction(int(v), 8) for v in rng.integers(0, 9, size=n)] for _ in range(int(rng.integers(2, 5)))]


@case(
    "leakage",
    "log_leakage",
    "additive_leakage",
    "before_and_after",
    "vulnerability",
    "pointwise_leakage",
    "Gain",
    "worst_adversary",
    "Attack",
)
def gain_of_every_action(rng: np.random.Generator) -> None:
    d = drawn(rng)
    table = payoffs(rng, len(d.rows))
    table[0] = [v + Fraction(1, 8) for v in table[0]]
    gain, joint, m = dv.Gain(table), d.joint(), len(d.rows[0])

    def best(weights: list[mp.mpf]) -> mp.mpf:
        return max(
            mp.fsum(w * mp.mpf(g.numerator) / g.denominator for w, g in zip(weights, row, strict=True)) for row in table
        )

    before = best(d.p)
    each = [best([p * row[y] for p, row in zip(d.p, d.c, strict=True)]) for y in range(m)]
    after = mp.fsum(each)
    top = max(best(posterior(d, y)) for y in d.seen)
    same("vulnerability", dv.vulnerability(joint.prior, gain), before)
    for name, truth in (("average", after), ("max", top)):
        found = dv.adversaries.before_and_after(joint, gain, name)
        same(f"before, {name}", found[0], before)
        same(f"after, {name}", found[1], truth)
        same(f"leakage, {name}", dv.leakage(joint, gain, name), truth / before)
        same(f"additive, {name}", dv.adversaries.additive_leakage(joint, gain, name), truth - before, 1e-9, 1e-14)
        same(f"log, {name}", dv.adversaries.log_leakage(joint, gain, name), mp.log(truth / before), 1e-9, 1e-14)
    found = dv.adversaries.pointwise_leakage(joint, gain)
    for value, y in zip(found.values, d.seen, strict=True):
        same("pointwise_leakage", value, mp.log(best(posterior(d, y)) / before), 1e-9, 1e-14)
        at_most("pointwise leakage is below pml", value - 1e-13, gains(d)[y])
    other = dv.Gain.identity(joint.secrets)
    chosen = dv.adversaries.worst_adversary(joint, [gain, other])
    same("worst_adversary", chosen.leakage, max(dv.leakage(joint, gain), dv.leakage(joint, other)), 1e-12)


@case("uncertainty", "Cost", "matching_function", "RandomizedFunction")
def cost_of_every_action(rng: np.random.Generator) -> None:
    d = drawn(rng, positive_prior=True)
    table = payoffs(rng, len(d.rows))
    cost, joint = dv.Cost(table), d.joint()

    def least(weights: list[mp.mpf]) -> mp.mpf:
        return min(
            mp.fsum(w * mp.mpf(g.numerator) / g.denominator for w, g in zip(weights, row, strict=True)) for row in table
        )

    before = least(d.p)
    same("uncertainty", dv.adversaries.uncertainty(joint.prior, cost), before, 1e-12, 1e-16)
    y = pick(rng, d.seen)
    after = least(posterior(d, y))
    if before > 1e-6 and after > 1e-6:
        found = dv.adversaries.log_leakage(joint, cost, "max", outcome=joint.outcomes[y])
        same("cost at an outcome", abs(found), abs(mp.log(before / after)), 1e-9, 1e-14)
        at_most("below pmc", mp.log(before / after), costs(d)[y] + mp.mpf(10) ** -14)
        function = dv.adversaries.matching_function(joint, cost, joint.outcomes[y])
        wrong = dv.adversaries.log_leakage(joint, function.risk_averse, "max", outcome=joint.outcomes[y])
        same("matching_function", abs(wrong), abs(mp.log(before / after)), 1e-8, 1e-12)


@case("worst_gain", "worst_function")
def attained(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint = d.joint()
    y = pick(rng, d.seen)
    attack = dv.worst_gain(joint, joint.outcomes[y])
    same("worst_gain", attack.after / attack.before, mp.exp(gains(d)[y]), 1e-11)
    attack = dv.worst_function(joint, joint.outcomes[y])
    if attack.after > 0:
        same("worst_function", attack.before / attack.after, mp.exp(costs(d)[y]), 1e-9)
    else:
        assert costs(d)[y] == mp.inf


@case("worst_prior", "WorstPrior", "PriorSequence")
def suprema_over_priors(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4, form="float")
    n = len(d.rows)
    table = [[v + Fraction(int(w == x), 2) for x, v in enumerate(row)] for w, row in enumerate(payoffs(rng, n))]
    table.append([Fraction(1, 4)] * n)
    gain, channel, name = dv.Gain(table), d.channel(), pick(rng, ["average", "max"])
    found = dv.adversaries.worst_prior(channel, gain, name)
    for _ in range(30):
        prior = [float(v) for v in distribution(rng, n, 0.2)]
        at_least(f"worst_prior, {name}", found.upper * (1 + 1e-12), dv.leakage(dv.Joint(prior, channel), gain, name))
    same("its prior", dv.leakage(dv.Joint(found.prior, channel), gain, name), found.leakage, 1e-9)
    sequence = dv.adversaries.lift_capacity_priors(channel)
    if sequence.limit < mp.inf:
        at_most("lift_capacity_priors", sequence.leakage(50), sequence.limit, 1e-12)


@case("refinement", "max_case_refinement", "compare", "Refinement", "Comparison")
def refinements(rng: np.random.Generator) -> None:
    """A post-processed channel refines; else a linear program says what the nearest post-processing misses."""
    d = drawn(rng, most=4, form="exact")
    a = d.channel()
    m = len(d.rows[0])
    processing = [distribution(rng, int(rng.integers(2, 4))) for _ in range(1)]
    width = len(processing[0])
    processing = [processing[0], *(distribution(rng, width) for _ in range(m - 1))]
    rows = [
        [sum((c * processing[y][z] for y, c in enumerate(row)), start=Fraction(0)) for z in range(width)]
        for row in d.rows
    ]
    b = dv.Channel(rows)
    assert dv.adversaries.refinement(a, b).holds, "a post-processing is refined"
    assert dv.adversaries.max_case_refinement(a, b).holds, "a post-processing is refined, max case"
    assert dv.compare(a, b).average_case[0].holds or dv.compare(a, b).average_case[1].holds
    floats, target = a.floats, b.floats
    n = len(rows)
    # is A = B W for a stochastic W? W has width x m entries
    equal = np.vstack([np.kron(target[[x]], np.eye(m)) for x in range(n)] + [np.kron(np.eye(width), np.ones((1, m)))])
    want = np.concatenate([floats.ravel(), np.ones(width)])
    slack = np.hstack([equal, np.eye(len(want)), -np.eye(len(want))])
    cost = np.concatenate([np.zeros(width * m), np.ones(2 * len(want))])
    best = linprog(cost, A_eq=slack, b_eq=want, bounds=(0, None))
    if best.status == 0 and (best.fun > 1e-6 or best.fun < 1e-12):
        found = dv.adversaries.refinement(b, a)
        if best.fun > 1e-6:
            assert not found.holds, ("refinement the other way", best.fun)
            gained = [dv.leakage(dv.Joint(found.prior, c), found.gain) for c in (b, a)] if found.prior else [0, 1]
            assert gained[1] > gained[0], "the witness gains more from what is not refined"


@case("dalenius", "Dalenius")
def about_something_else(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4, form="exact", positive_prior=True)
    correlation = drawn(rng, most=4, form="exact", positive_prior=True)
    n, k = len(d.rows), len(correlation.rows)
    rows = [distribution(rng, n) for _ in range(k)]
    found = dv.adversaries.dalenius(dv.Joint(correlation.prior, dv.Channel(rows)), d.channel())
    through = [
        [sum((r * c[y] for r, c in zip(row, d.rows, strict=True)), start=Fraction(0)) for y in range(len(d.rows[0]))]
        for row in rows
    ]
    q = [
        sum((p * row[y] for p, row in zip(correlation.prior, through, strict=True)), start=Fraction(0))
        for y in range(len(d.rows[0]))
    ]
    truth = max(
        row[y] / q[y]
        for p, row in zip(correlation.prior, through, strict=True)
        if p > 0
        for y in range(len(q))
        if q[y] > 0
    )
    same("dalenius", found.lift, truth)
    same("dalenius", found.bayes_capacity[0], sum((max(col) for col in zip(*through, strict=True)), start=Fraction(0)))
    guessed = max(
        p * row[y] / q[y] for p, row in zip(correlation.prior, through, strict=True) for y in range(len(q)) if q[y] > 0
    )
    guess = found.gain(dv.Gain.identity(found.correlation.secrets))
    same("gain", dv.leakage(found.release, guess, case="max"), guessed / max(correlation.prior))
    radius = Fraction(int(rng.integers(0, 9)), 16)
    worst = worst_of_laws(rows, correlation.prior, d.rows, float(radius))
    same("if_wrong", found.if_wrong(radius=radius), worst, 1e-6)


def worst_of_laws(laws: Sequence[Any], prior: Sequence[Any], channel: Sequence[Any], radius: float) -> float:
    """Return the largest lift of Z whose laws of X lie within a total variation, each by a linear program."""
    rows, weights, c = (np.array(one, dtype=float) for one in (laws, prior, channel))
    n, worst = rows.shape[1], 1.0

    exactly = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

    def extreme(law: np.ndarray, column: np.ndarray, sign: int) -> float:
        moved = np.concatenate([column, -column])  # what comes, and what goes, which is no more than is there
        found = linprog(-sign * moved, A_ub=[[1.0] * n + [0.0] * n], b_ub=[radius],
                        A_eq=[[1.0] * n + [-1.0] * n], b_eq=[0.0], bounds=[(0, None)] * n + [(0, v) for v in law],
                        options=exactly)  # fmt: skip
        return float(law @ column) - sign * found.fun

    for column in (column / column.max() for column in c.T if column.any()):
        most, least = (np.array([extreme(law, column, sign) for law in rows]) for sign in (1, -1))
        seen = weights * most + (weights @ least - weights * least)
        worst = max(worst, *(most[seen > 0] / seen[seen > 0]))
    return worst


@case("named gains and costs")
def named(rng: np.random.Generator) -> None:
    d = drawn(rng, most=5)
    joint, n = d.joint(), len(d.rows)
    k = int(rng.integers(1, n + 1))
    top = mp.fsum(sorted(d.p, reverse=True)[:k])
    same("tries", dv.vulnerability(joint.prior, dv.Gain.tries(joint.secrets, k)), top)
    same(
        "zero_one", dv.adversaries.uncertainty(joint.prior, dv.Cost.zero_one(joint.secrets)), 1 - max(d.p), 1e-12, 1e-16
    )
    tries = min(mp.fsum(i * d.p[x] for i, x in enumerate(order, 1)) for order in itertools.permutations(range(n)))
    same("guesswork", dv.adversaries.uncertainty(joint.prior, dv.Cost.guesswork(joint.secrets)), tries)
