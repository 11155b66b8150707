"""Small probabilities and long products of them, which doubles take for 0: no answer depends on that."""

import math
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
from networks.worlds import TINY, lifts, random_chain, random_network
from support import few

import divulge as dv

STAYS = [[1.0, 0.0], [0.0, 1.0]]
MOSTLY = [[0.75, 0.25], [0.25, 0.75]]


def level(ratio: F) -> float:
    """Return the logarithm of a fraction of any size."""
    return math.log(ratio.numerator) - math.log(ratio.denominator) if ratio else -math.inf


@pytest.mark.parametrize("seed", range(few(60, least=18)))
def test_exact_worst_outputs_of_a_chain_are_the_worst_of_all(seed: int) -> None:
    chain, paths, told, m = random_chain(np.random.default_rng(seed), TINY)
    last = chain.steps - 1
    secrets: list[tuple[Any, Any, bool]] = [
        *((t, lambda x, t=t: x[t], False) for t in (0, 1, last)),
        ((0, last), lambda x: (x[0], x[-1]), False),
        ("all", lambda x: x, False),
        (dv.networks.ever(1), lambda x: 1 in x, True),
    ]
    for secret, law, event in secrets:
        seen = list(lifts(paths, told, m, law, event))
        if not seen:
            continue
        highest, lowest = (pick(pick(values) for _, values in seen) for pick in (max, min))
        assert chain.worst(secret).lower == chain.worst(secret).upper == highest
        assert chain.worst(secret, "pmc").lower == (1 / lowest if lowest else math.inf)


@pytest.mark.parametrize("seed", range(few(60, least=18)))
def test_exact_worst_outputs_of_a_network_are_the_worst_of_all(seed: int) -> None:
    network, names, worlds, channels = random_network(np.random.default_rng(seed), TINY)
    for secret in (names[0], names[-1]):
        prior = dict.fromkeys(sorted({world[secret] for world, _ in worlds}), F(0))
        for world, p in worlds:
            prior[world[secret]] += p
        every = []
        for outputs in product(range(2), repeat=len(channels)):
            weights = dict.fromkeys(prior, F(0))
            for world, p in worlds:
                told = (channels[v][world[v]][y] for v, y in zip(channels, outputs, strict=True))
                weights[world[secret]] += p * math.prod(told)
            if total := sum(weights.values()):
                every.append([weights[u] / total / prior[u] for u in prior])
        lowest = min(map(min, every))
        assert network.worst(secret).lower == network.worst(secret).upper == max(map(max, every))
        assert network.worst(secret, "pmc").lower == (1 / lowest if lowest else math.inf)


@pytest.mark.parametrize("seed", range(few(60, least=18)))
def test_a_bracket_of_doubles_holds_the_truth(seed: int) -> None:
    exact, *_ = random_chain(np.random.default_rng(seed), TINY)
    model = exact.models[0]
    floats = [np.asarray(move, dtype=float) for move in model.moves]
    told = [np.asarray(table, dtype=float) for table in model.tables if table is not None]
    chain = dv.Chain(np.asarray(model.start, dtype=float), floats, told)
    for secret in (0, 1, (0, chain.steps - 1)):
        for side in ("pml", "pmc"):
            right, bracket = exact.worst(secret, side).lower, chain.worst(secret, side)
            assert bracket.lower <= right * (1 + F(1, 10**9)) if right < math.inf else True
            assert bracket.upper == math.inf or right <= F(bracket.upper) * (1 + F(1, 10**9))


@pytest.mark.parametrize("secret", [0, 700, 1499, (0, 700), "all"], ids=str)
def test_answers_that_cancel_out_say_nothing_however_many(secret: Any) -> None:
    chain = dv.Chain([0.5, 0.5], STAYS, MOSTLY, steps=1500)
    outputs = [0] * 750 + [1] * 750
    assert chain.pml(secret, outputs) == pytest.approx(0, abs=1e-9)
    assert chain.pmc(secret, outputs) == pytest.approx(0, abs=1e-9)


def test_answers_of_many_states_that_cancel_out_say_nothing() -> None:
    n = 40
    told = np.full((n, 2), 0.5)
    told[0], told[1] = (0.75, 0.25), (0.25, 0.75)
    chain = dv.Chain(np.full(n, 1 / n), np.eye(n), told, steps=3000)
    assert chain.posterior(0, [0] * 1500 + [1] * 1500)[2] == pytest.approx(1 / (n - 2), rel=1e-6)


def test_a_trajectory_that_leaves_the_doubles_has_a_level() -> None:
    chain = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], MOSTLY, steps=3000)
    outputs = [0] * 3000
    right = dv.Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=60)
    assert chain.pml("all", outputs) < math.inf
    assert chain.pmc("all", outputs) > 1500
    short = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], MOSTLY, steps=60)
    for measure in ("pml", "pmc"):
        there, here = getattr(right, measure)("all", [0] * 60), getattr(short, measure)("all", [0] * 60)
        assert here == pytest.approx(there, rel=1e-12)


def test_states_that_cannot_be_do_not_take_part() -> None:
    moves = [["0", "5/6", "1/6"], ["1/6", "1/2", "1/3"], ["5/7", "2/7", "0"]]
    told = [["1/2", "0", "1/2"], ["1", "0", "0"], ["0", "5/7", "2/7"]]
    assert dv.Chain(["1", "0", "0"], moves, told, steps=3).worst(0).lower == 1


@pytest.mark.parametrize("more", [0, 3])
def test_many_answers_about_one_variable(more: int) -> None:
    many, half = 900, 450
    network = dv.Network({"s": [0.5, 0.5], **{f"c{i}": (["s"], MOSTLY) for i in range(many)}})
    for i in range(many):
        network = network.release(f"c{i}")
    after = network.posterior("s", {f"c{i}": int(i >= half + more) for i in range(many)})
    assert after[1] == pytest.approx(1 / (1 + 3.0 ** (2 * more)), rel=1e-8)


def test_a_joint_of_outputs_has_those_that_underflow() -> None:
    told = [[1e-200, 1.0], [1e-190, 1.0]]
    chain = dv.Chain([0.5, 0.5], STAYS, told, steps=2)
    network = dv.Network({"s": [0.5, 0.5], "t": (["s"], STAYS)}).release("s", told).release("t", told)
    for joint in (chain.joint(0), network.joint("s")):
        assert dv.pmc(joint).max() == pytest.approx(20 * math.log(10) - math.log(2), rel=1e-9)
    assert not dv.Chain([0.5, 0.5], STAYS, MOSTLY, steps=2).joint(0).exact
