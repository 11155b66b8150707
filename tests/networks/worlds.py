"""Random chains and networks in fractions, with all that they can be written out: what leakages are held against."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np

import divulge as dv

Law = Callable[[tuple[int, ...]], Any]


TINY = (F(0), *[F(1)] * 3, F(2), *(F(1, 10**digits) for digits in (5, 20, 100, 200, 290)))
"""Weights whose products doubles take for 0."""


def drawn_row(rng: np.random.Generator, size: int, zeros: int, weights: Sequence[F] | None) -> list[F]:
    """Return a distribution with weights up to 6, from `zeros` on, or among those given."""
    if weights is None:
        drawn = [F(int(w)) for w in rng.integers(zeros, 7, size)]
    else:
        drawn = [weights[int(k)] for k in rng.integers(len(weights), size=size)]
    drawn[0] += not sum(drawn)
    return [w / sum(drawn) for w in drawn]


def random_chain(
    rng: np.random.Generator, weights: Sequence[F] | None = None
) -> tuple[dv.Chain, list[tuple[tuple[int, ...], F]], list[list[F]], int]:
    """Return a chain in fractions, its trajectories with their probabilities, the channel and its outcomes."""
    n, steps, m = int(rng.choice([2, 2, 3, 4])), int(rng.choice([2, 3])), int(rng.choice([2, 3]))
    zeros = int(rng.random() < 0.6)
    n, m = (n, m) if weights is None else (min(n, 3), 2)  # fractions of many digits

    def row(size: int) -> list[F]:
        return drawn_row(rng, size, zeros, weights)

    start, moves = row(n), [[row(n) for _ in range(n)] for _ in range(steps - 1)]
    told = [row(m) for _ in range(n)]
    paths = [
        (x, math.prod([start[x[0]], *(moves[t][x[t]][x[t + 1]] for t in range(steps - 1))]))
        for x in product(range(n), repeat=steps)
    ]
    return dv.Chain(start, moves, [told] * steps), [(x, p) for x, p in paths if p > 0], told, m


def lifts(paths: list[tuple[tuple[int, ...], F]], told: list[list[F]], m: int, law: Law, event: bool) -> Iterator[Any]:
    """Yield (outputs, lifts of the values that are asked for) by summing over all trajectories."""
    prior: dict[Any, F] = {}
    for x, p in paths:
        prior[law(x)] = prior.get(law(x), F(0)) + p
    for y in product(range(m), repeat=len(paths[0][0])):
        weights = dict.fromkeys(prior, F(0))
        for x, p in paths:
            weights[law(x)] += p * math.prod(told[s][o] for s, o in zip(x, y, strict=True))
        total = sum(weights.values())
        if total and not (event and True not in prior):
            yield y, [weights[u] / total / prior[u] for u in prior if not event or u is True]


def random_network(
    rng: np.random.Generator, weights: Sequence[F] | None = None
) -> tuple[dv.Network, list[str], list[tuple[dict[str, int], F]], Any]:
    """Return a network in fractions with outputs, its names, its worlds with their probabilities, and the channels."""
    zeros = int(rng.random() < 0.7)

    def row(size: int) -> list[F]:
        return drawn_row(rng, size, zeros, weights)

    names = [f"v{i}" for i in range(int(rng.integers(2, 5)))]
    sizes = {v: int(rng.integers(2, 4)) for v in names}
    parents = {v: [u for u in names[:i] if rng.random() < 0.5] for i, v in enumerate(names)}
    tables = {v: [row(sizes[v]) for _ in range(math.prod(sizes[u] for u in parents[v]))] for v in names}
    network = dv.Network({v: (parents[v], tables[v]) if parents[v] else tables[v][0] for v in reversed(names)})
    channels = {v: [row(2) for _ in range(sizes[v])] for v in names if rng.random() < 0.6 or v == names[-1]}
    for v, channel in channels.items():
        network = network.release(v, channel)
    worlds: list[tuple[dict[str, int], F]] = []
    for states in product(*(range(sizes[v]) for v in names)):
        world, p = dict(zip(names, states, strict=True)), F(1)
        for v in names:
            place = 0
            for u in parents[v]:
                place = place * sizes[u] + world[u]
            p *= tables[v][place][world[v]]
        if p:
            worlds.append((world, p))
    return network, names, worlds, channels
