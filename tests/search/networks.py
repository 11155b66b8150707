"""Chains and networks of variables, against sums over all their trajectories and worlds."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
from networks.worlds import lifts, random_chain, random_network

import divulge as dv
from search.registry import at_most, case, same
from search.subjects import pick


@case("Chain")
def chains(rng: np.random.Generator) -> None:
    """The worst outputs are the worst of all, and each output says what Bayes' rule says."""
    chain, paths, told, m = random_chain(rng)
    last, step = chain.steps - 1, int(rng.integers(chain.steps))
    one = pick(rng, [(step, lambda x: x[step]), ((0, last), lambda x: (x[0], x[last])), ("all", tuple)])
    secret, law = one
    seen = list(lifts(paths, told, m, law, event=False))
    high, low = max(max(v) for _, v in seen), min(min(v) for _, v in seen)
    worst, cost = chain.worst(secret), chain.worst(secret, "pmc")
    assert chain.exact
    assert chain.models[0].exact
    assert worst.exact
    assert worst.lower == worst.upper == high
    assert cost.lower == (1 / low if low else math.inf)
    outputs, values = pick(rng, seen)
    assert chain.lift(secret, outputs) == max(values)
    same("pml", math.exp(chain.pml(secret, outputs)), max(values))
    if min(values):
        same("pmc", math.exp(chain.pmc(secret, outputs)), 1 / min(values))
    prior, posterior = chain.prior(secret), chain.posterior(secret, outputs)
    same("lift", max(posterior[u] / prior[u] for u in posterior.secrets if prior[u]), max(values))
    same("joint", dv.lift(chain.joint(secret)), high)
    weights = [p * math.prod(told[s][y] for s, y in zip(x, outputs, strict=True)) for x, p in paths]
    assert chain.probability(outputs) == sum(weights)
    for s in range(len(chain.states)):
        here = sum(w for (x, _), w in zip(paths, weights, strict=True) if x[step] == s)
        assert chain.posteriors(outputs)[step][s] == here / sum(weights)


@case("Chain")
def chains_over_time(rng: np.random.Generator) -> None:
    """What all outputs say of a state is at most what Cao et al. allow; a calibrated release keeps its level."""
    chain, *_ = random_chain(rng)
    for row in chain.over_time():
        at_most("online", row.online.lower, row.bpl * (1 + 1e-12) + 1e-15)
        at_most("exact", row.exact.lower, row.tpl * (1 + 1e-12) + 1e-15)
    moves = rng.dirichlet([1.0] * 3, size=3)
    start, epsilon = rng.dirichlet([1.0] * 3), float(rng.uniform(0.05, 3))
    level = dv.Chain(start, moves, np.eye(3), steps=2).calibrate(epsilon)
    told = dv.mechanisms.randomized_response(3, level)
    long = dv.Chain(start, moves, told, steps=12)
    at_most("calibrated", long.worst(int(rng.integers(12)), "ldp").leakage.lower, epsilon * (1 + 1e-9))


@case("EstimatedChain", "Chain")
def chains_from_rows(rng: np.random.Generator) -> None:
    """Counts of moves, their shares and intervals that hold them."""
    rows = [(who, day, "abc"[int(rng.integers(3))]) for who in range(9) for day in range(int(rng.integers(2, 6)))]
    moves = dict.fromkeys(product("abc", repeat=2), 0)
    for (who, _, a), (other, _, b) in pairwise(rows):
        moves[a, b] += who == other
    table = pa.table(dict(zip(("who", "day", "place"), zip(*rows, strict=True), strict=True)))
    found = dv.Chain.estimated(table, "who", "day", "place")
    states = found.initial.secrets
    assert found.people == 9
    assert found.steps == max(day for _, day, _ in rows) + 1
    for i, a in enumerate(states):
        total = sum(moves[str(a), b] for b in "abc")
        for k, b in enumerate(states):
            assert found.counts[i, k] == moves[str(a), str(b)]
            share = Fraction(moves[str(a), str(b)], total) if total else Fraction(a == b)
            assert found.transition.matrix[i, k] == share
            assert not total or found.lower[i, k] <= share <= found.upper[i, k]
    same("from_table", dv.Chain.from_table(table, "who", "day", "place", np.eye(len(states))).steps, found.steps)


@case("Network")
def networks(rng: np.random.Generator) -> None:
    """The worst outputs are the worst of all, from sums over all worlds."""
    network, names, worlds, channels = random_network(rng)
    name, prior, high, low = pick(rng, names), {}, Fraction(0), Fraction(1)
    for world, p in worlds:
        prior[world[name]] = prior.get(world[name], 0) + p
    seen = []
    for outputs in product(range(2), repeat=len(channels)):
        weights = dict.fromkeys(prior, Fraction(0))
        for world, p in worlds:
            given = zip(channels.items(), outputs, strict=True)
            weights[world[name]] += p * math.prod(c[world[v]][y] for (v, c), y in given)
        if total := sum(weights.values()):
            ratios = [weights[u] / total / prior[u] for u in prior]
            high, low = max(high, *ratios), min(low, *ratios)
            seen.append((dict(zip(channels, outputs, strict=True)), {u: w / total for u, w in weights.items()}, ratios))
    assert network.exact
    assert set(network.outputs) == set(channels)
    assert network.sizes.keys() == network.variables.keys()
    assert network.worst(name).lower == network.by_variable()[name].upper == high
    assert network.worst(name, "pmc").lower == (1 / low if low else math.inf)
    same("joint", dv.lift(network.joint(name)), high)
    outputs, after, ratios = pick(rng, seen)
    assert network.lift(name, outputs) == max(ratios)
    same("pml", math.exp(network.pml(name, outputs)), max(ratios))
    assert (network.pmc(name, outputs) == math.inf) == (min(ratios) == 0)
    assert all(network.posterior(name, outputs)[u] == p for u, p in after.items())
    assert all(network.prior(name)[u] == p for u, p in prior.items())
    again = network.release(name, name="as it is").worst(name).lower
    assert again == 1 / min(prior.values())
