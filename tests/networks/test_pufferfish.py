"""Noise for a count over a chain, against laws that are listed; a chain counted from rows."""

import math
from fractions import Fraction as F
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from support import few, fresh_seed

import divulge as dv
from divulge.networks import influence_curve, markov_quilt, quilt_influence, wasserstein

STAY = [["9/10", "1/10"], ["1/10", "9/10"]]
AS_IT_IS = [[1, 0], [0, 1]]


def test_the_influence_of_a_quilt_by_hand() -> None:
    chain = dv.Chain(["1/2", "1/2"], STAY, AS_IT_IS, steps=11)
    assert math.exp(quilt_influence(chain, 5, 5, 5)) == pytest.approx(17214201 / 4414201, rel=1e-12)
    assert quilt_influence(chain, 5, None, None) == 0
    with pytest.raises(dv.DivulgeError, match="from 1 to 5"):
        quilt_influence(chain, 5, 6, None)


def drawn(rng: np.random.Generator, longest: int) -> tuple[dv.Chain, int, dict[tuple[int, ...], F]]:
    """Return a random chain whose states are put out as they are, how many there are, and {path: probability}."""
    n, steps = int(rng.integers(2, 4)), int(rng.integers(1, longest + 1))
    rows = [[F(int(v), int(row.sum())) for v in row] for row in rng.integers(1, 7, (n + 1, n))]
    paths = {
        x: math.prod([rows[0][x[0]], *(rows[1 + s][z] for s, z in pairwise(x))])
        for x in product(range(n), repeat=steps)
    }
    return dv.Chain(rows[0], rows[1:], np.eye(n), steps=steps), n, paths


def test_the_influence_curve_is_that_of_listed_paths() -> None:
    rng = np.random.default_rng(fresh_seed())
    for _ in range(few(20)):
        chain, n, paths = drawn(rng, 5)
        curve, steps = influence_curve(chain), chain.steps
        assert len(curve) == steps - 1
        for k, level in enumerate(curve, start=1):
            widest = F(1)
            for t in range(steps):
                beside = [s for s in (t - k, t + k) if 0 <= s < steps]
                laws = [dict.fromkeys(product(range(n), repeat=len(beside)), F(0)) for _ in range(n)]
                for x, p in paths.items():
                    laws[x[t]][tuple(x[s] for s in beside)] += p
                given = [{seen: p / sum(law.values()) for seen, p in law.items()} for law in laws]
                widest = max(widest, *(a[seen] / b[seen] for a in given for b in given for seen in a))
            assert level == pytest.approx(math.log(widest), rel=1e-12, abs=1e-12)


def test_both_scales_keep_their_promise_on_all_laws_of_the_count() -> None:
    """Whoever knows the chain and sees the count with this noise: the ratio for two states is at most e^epsilon."""
    rng = np.random.default_rng(fresh_seed())
    for _ in range(few(40)):
        chain, n, paths = drawn(rng, 4)
        epsilon, steps = float(rng.uniform(0.2, 2)), chain.steps
        for noise in (wasserstein(chain, 1, epsilon), markov_quilt(chain, epsilon)):
            for t, (a, b) in product(range(steps), product(range(n), repeat=2)):
                laws = []
                for state in (a, b):
                    law = np.zeros(steps + 1)
                    for x, p in paths.items():
                        if x[t] == state:
                            law[x.count(1)] += float(p)
                    laws.append(law / law.sum())
                at = np.linspace(-3, steps + 3, 61)
                densities = [np.exp(-np.abs(at[:, None] - np.arange(steps + 1)) / noise.scale) @ law for law in laws]
                assert np.log(densities[0] / densities[1]).max() <= epsilon * (1 + 1e-9)


def test_a_chain_counted_from_rows() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for who in range(300):
        state = int(rng.integers(2))
        for day in range(5):
            rows.append({"who": who, "day": day, "place": "home" if state else "work"})
            state = state if rng.random() < 0.8 else 1 - state
    rng.shuffle(rows)
    found = dv.Chain.estimated(pa.Table.from_pylist(rows), "who", "day", "place")
    assert (found.people, found.steps, int(found.counts.sum())) == (300, 5, 1200)
    assert (found.lower <= np.array([[0.8, 0.2], [0.2, 0.8]])).all()
    assert (found.upper >= np.array([[0.8, 0.2], [0.2, 0.8]])).all()
    assert "a release of its own" in repr(found)
    with pytest.raises(dv.DivulgeError, match="one row a person and time"):
        dv.Chain.estimated(pa.table({"i": [1, 1], "t": [1, 1], "s": ["a", "b"]}), "i", "t", "s")
    with pytest.raises(dv.DivulgeError, match="two rows or more"):
        dv.Chain.estimated(pa.table({"i": [1, 2], "t": [1, 1], "s": ["a", "b"]}), "i", "t", "s")
    with pytest.raises(dv.DivulgeError, match="no missing value"):
        dv.Chain.estimated(pa.table({"i": [1, 1], "t": [1, 2], "s": ["a", None]}), "i", "t", "s")
