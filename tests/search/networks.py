"""Chains and networks of variables, against sums over all their trajectories and worlds."""

import math
from collections import Counter
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


@case("ever", "never", "differ", "count_at_least", "function")
def events(rng: np.random.Generator) -> None:
    """A chain, and the same chain as a network, say of an event what sums over all trajectories say."""
    net = dv.networks
    chain, paths, told, m = random_chain(rng)
    last, state, count = chain.steps - 1, int(rng.integers(len(chain.states))), int(rng.integers(1, 3))
    shift = int(rng.integers(1, 4))
    names = [f"x{t}" for t in range(chain.steps)]
    model = chain.models[0]
    network = dv.Network(
        {names[0]: model.start.tolist()} | {names[t + 1]: ([names[t]], move) for t, move in enumerate(model.moves)}
    )
    for name in names:
        network = network.release(name, told)
    questions = [
        (net.ever(state), net.ever(state), lambda x: state in x, True),
        (net.never(state), net.never(state), lambda x: state not in x, True),
        (net.differ(0, last), net.differ(names[0], names[last]), lambda x: x[0] != x[last], True),
        (*[net.count_at_least(state, count)] * 2, lambda x: x.count(state) >= count, True),
        (net.function([last, 0], lambda a, b: (a + shift * b) % 3),
         net.function([names[last], names[0]], lambda a, b: (a + shift * b) % 3),
         lambda x: (x[last] + shift * x[0]) % 3, False),
    ]  # fmt: skip
    of_chain, of_network, law, event = pick(rng, questions)
    seen = list(lifts(paths, told, m, law, event=event))
    if not seen:
        return
    outputs, values = pick(rng, seen)
    assert chain.lift(of_chain, outputs) == max(values)
    assert network.lift(of_network, dict(zip(names, outputs, strict=True))) == max(values)
    high = max(max(v) for _, v in seen)
    assert chain.worst(of_chain).lower == network.worst(of_network).lower == high


@case("wasserstein", "markov_quilt", "quilt_influence", "influence_curve", "Pufferfish")
def counts(rng: np.random.Generator) -> None:
    """Noise on a count keeps the ratio of the densities for any two states, on all laws of the count."""
    n, steps = int(rng.integers(2, 4)), int(rng.integers(1, 5))
    weights = rng.integers(1, 7, (n + 1, n))
    rows = [[Fraction(int(v), int(row.sum())) for v in row] for row in weights]
    chain = dv.Chain(rows[0], rows[1:], np.eye(n), steps=steps)
    paths = [
        (x, math.prod([rows[0][x[0]], *(rows[1 + s][z] for s, z in pairwise(x))]))
        for x in product(range(n), repeat=steps)
    ]
    epsilon = float(rng.uniform(0.2, 2))
    found = [dv.networks.wasserstein(chain, 1, epsilon), dv.networks.markov_quilt(chain, epsilon)]
    assert [one.mechanism for one in found] == ["wasserstein", "markov-quilt"]
    at = np.linspace(-3, steps + 3, 61)
    for noise in found:
        assert noise.epsilon == epsilon
        assert len(noise.proof) == {"wasserstein": 3, "markov-quilt": 2}[noise.mechanism]
        assert 1 / epsilon * (1 - 1e-12) <= noise.scale <= steps / epsilon * (1 + 1e-12)
        kernel = np.exp(-np.abs(at[:, None] - np.arange(steps + 1)) / noise.scale)
        for t in range(steps):
            laws = []
            for state in range(n):
                law = np.zeros(steps + 1)
                for x, p in paths:
                    law[x.count(1)] += float(p) * (x[t] == state)
                laws.append(kernel @ (law / law.sum()))
            ratios = [np.log(a / b).max() for a in laws for b in laws]
            at_most("count", max(ratios), epsilon * (1 + 1e-9))
    lift = math.exp(found[0].noise("bernoulli(0.5)").pml(0.0))
    same("noise", lift, 2 / (1 + math.exp(-1 / found[0].scale)), 1e-9)
    t = int(rng.integers(steps))
    before, after = (int(rng.integers(0, most + 1)) or None for most in (t, steps - 1 - t))
    seen = Counter[tuple[int, tuple[int, ...]]]()
    for x, p in paths:
        quilt = tuple(x[s] for s in (before and t - before, after and t + after) if s is not None)
        seen[x[t], quilt] += p
    prior = {u: sum(p for (v, _), p in seen.items() if v == u) for u in range(n)}
    given = {(u, quilt): p / prior[u] for (u, quilt), p in seen.items()}
    widest = max(given[u, quilt] / given[v, other] for u, quilt in given for v, other in given if quilt == other)
    same("influence", math.exp(dv.networks.quilt_influence(chain, t, before, after)), widest)
    curve = dv.networks.influence_curve(chain)
    assert len(curve) == steps - 1
    if before == after and before is not None:
        at_most("curve", math.log(widest), curve[before - 1] + 1e-12)


@case("temporal_limit")
def limits(rng: np.random.Generator) -> None:
    """The supremum over time is where the recursion of Cao et al. goes, over all sets of states."""
    n, epsilon = int(rng.integers(2, 5)), float(rng.uniform(0.01, 3))
    moves = rng.dirichlet([1.5] * n, size=n)
    sets = [list(one) for one in product([False, True], repeat=n)]
    sums = [(moves[i][one].sum(), moves[k][one].sum()) for one in sets for i in range(n) for k in range(n)]
    q, d = np.array(sums).T
    level = epsilon
    for _ in range(20_000):
        more = math.expm1(level)
        higher = epsilon + float(np.log((q * more + 1) / (d * more + 1)).max())
        if higher <= level * (1 + 1e-15):
            break
        level = higher
    found = dv.networks.temporal_limit(moves, epsilon)
    at_most("reached", level, found * (1 + 1e-9))
    if higher <= level * (1 + 1e-13):
        same("limit", found, level, 1e-6)


@case("couple", "family")
def relatives(rng: np.random.Generator) -> None:
    """What a partner's answer and a child's genotype say, by listing who is ill and which alleles are passed on."""
    both, one, rest = (int(v) for v in rng.integers(1, 9, 3))
    whole = both + 2 * one + rest
    law = {(1, 1): both, (1, 0): one, (0, 1): one, (0, 0): rest}
    told = [["3/4", "1/4"], ["1/4", "3/4"]]
    pair = dv.networks.couple(Fraction(both, whole), f"{one}/{whole}").release("Bob", told)
    say = {y: sum(k * (3 if b == y else 1) for (_, b), k in law.items()) for y in (0, 1)}
    ratios = {
        (u, y): Fraction(sum(k * (3 if b == y else 1) for (a, b), k in law.items() if a == u) * whole,
                         say[y] * sum(k for (a, _), k in law.items() if a == u))
        for u in (0, 1) for y in (0, 1)
    }  # fmt: skip
    assert pair.worst("Ann").lower == max(ratios.values())
    assert pair.worst("Ann", "pmc").lower == 1 / min(ratios.values())
    frequency = Fraction(int(rng.integers(1, 20)), 20)
    pairs: Counter[tuple[int, int]] = Counter()
    for alleles in product((0, 1), repeat=4):
        p = math.prod(frequency if a else 1 - frequency for a in alleles)
        for i, k in product((0, 1), (2, 3)):
            pairs[alleles[0] + alleles[1], alleles[i] + alleles[k]] += p / 4
    mother, child = ({v: sum(p for key, p in pairs.items() if key[side] == v) for v in range(3)} for side in (0, 1))
    highest = max(p / mother[m] / child[c] for (m, c), p in pairs.items() if p)
    assert dv.networks.family(frequency).release("child").worst("mother").lower == highest


@case("Receipt")
def released_beside(rng: np.random.Generator) -> None:
    """What a column that goes out says of one that is protected is what counts and the drawn integers say."""
    n, m, rows = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(20, 200))
    x = np.concatenate([np.arange(n), rng.integers(0, n, rows)])
    s = np.where(rng.random(len(x)) < 0.5, x % m, rng.integers(0, m, len(x)))
    pairs = Counter(zip(x.tolist(), s.tolist(), strict=True))
    epsilon = float(rng.uniform(0.05, 1))
    purpose = pick(rng, ["statistics", "record", "information"])
    try:
        receipt = dv.release(pa.table({"x": x, "s": s}), column="x", protect="s", guarantee=f"pml={epsilon}",
                             purpose=purpose, per_row=True)  # fmt: skip
    except dv.DivulgeError:  # such as estimates that no mechanism under it allows
        return
    channel, ratios = receipt.mechanisms[0].channel, []
    weights = {int(label): row for label, row in zip(channel.secrets, channel.weights.tolist(), strict=True)}
    for y in range(len(channel.outcomes)):
        said = Fraction(sum(k * weights[v][y] for (v, _), k in pairs.items()), len(x))
        for t in set(s.tolist()):
            own = {v: k for (v, u), k in pairs.items() if u == t}
            ratios.append(sum(k * weights[v][y] for v, k in own.items()) / sum(own.values()) / said)
    assert receipt.about is not None
    told = receipt.about["guarantees"]
    assert math.log(max(ratios)) <= epsilon * (1 + 1e-12)
    same("pml", math.exp(float(told["pml"])), max(ratios), 1e-10)
    same("pmc", math.exp(float(told["pmc"])), 1 / min(ratios), 1e-10)
    at_most(
        "within what a wrong law allows", max(ratios), math.exp(float(receipt.about["off"][0]["pml"])) * (1 + 1e-12)
    )
    at_most(
        "and whatever it is",
        math.exp(float(receipt.about["off"][1]["pml"])),
        math.exp(float(receipt.about["always"])) * (1 + 1e-9),
    )
