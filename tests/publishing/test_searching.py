"""The worst of very many ways in which a record changes statistics, beside lists of all of them."""

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from publishing.test_composed import delta_of, losses_of
from support import few

import divulge as dv
from divulge.dp.loss.grid import Atoms
from divulge.publishing.counting.groups import Categories
from divulge.publishing.noising import composed, searching
from divulge.publishing.noising.calibration import calibrated
from divulge.publishing.noising.composed import adp_epsilon, searched
from divulge.publishing.noising.families import FAMILIES, Gaussian, Laplace
from divulge.publishing.noising.moves import Questions, moves_of
from divulge.publishing.noising.searching import dominating
from divulge.publishing.queries import Unit, plan_of

DELTA = 1e-5
SIDES = {f"g{i}": Categories(("0", "1", "2")) for i in range(8)}

ASKED: dict[str, list[Any]] = {
    "means with gaps": [dv.Mean(f"v{i}", (0, 50 + i)) for i in range(5)],
    "groupings": [dv.Mean("w", (0, 50), by=f"g{i}") for i in range(6)],
    "groupings and gaps": [dv.Mean(f"v{j}", (0, 50 + j), by=f"g{i}") for i in range(3) for j in range(2)],
    "coarse and fine": [dv.Mean("v", (0, 9), by=by) for by in ("g0", "g1", ("g0", "g1"), ("g0", "g2"), "g2")],
}
"""Statistics that a record changes in 32, 64, 32 and 14 ways; every row is known to have a number in w."""


def ways_of(queries: Any) -> set[tuple[Any, ...]]:
    """Return how far all numbers move, for each answer to the questions."""
    asked = Questions(queries, Unit())
    answers = [asked.follows(one) for one in product((False, True), repeat=len(asked.none))]
    return {tuple(asked.shifts(i, one) for i in range(len(queries))) for one in answers if one is not None}


@pytest.mark.thin
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", ASKED)
def test_noise_uses_delta_up_in_the_worst_of_many_ways(name: str, family: str) -> None:
    """The least noise for (1, delta): some way has nearly this delta, by the composition of its discrete laws."""
    queries = plan_of(ASKED[name], SIDES, ["w"], Unit()).queries
    found = calibrated(queries, Unit(), [dv.ADP(1.0, DELTA)], None, family, "need")
    laws: Any = dv.dp.DiscreteGaussianMechanism if family == "gaussian" else dv.dp.DiscreteLaplaceMechanism
    ways = ways_of(queries)
    assert len(ways) > 10

    pairs = [[(noise.scale, by) for far, noise in zip(way, found.noises, strict=True) for by in far] for way in ways]
    alike = sorted({tuple(sorted(way)) for way in pairs}, key=lambda way: -sum((by / scale) ** 2 for scale, by in way))
    several = alike if len(alike) < 10 else alike[:1]
    told = [dv.compose(*Counter(laws(*one) for one in way).items(), tolerance=1e-4).delta(1.0) for way in several]
    assert 0.97 * DELTA < max(one.upper for one in told) <= DELTA * (1 + 1e-3)


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [2.0, 6.0])
def test_the_worst_way_is_as_listed_sums_say(family: Any, scale: float) -> None:
    """Delta of every way by sums of all losses, at the epsilon that was searched: none above delta, and one near it."""
    asked = [dv.Mean("u", (0, 3)), dv.Mean("v", (0, 4)), dv.Count("g0")]
    queries = plan_of(asked, SIDES, [], Unit()).queries
    noises = (FAMILIES[family](scale),) * len(queries)  # so that sums fall together
    said = searched(queries, noises, Unit(), 1e-3)
    told = [
        delta_of([losses_of(noise, by) for far, noise in zip(way, noises, strict=True) for by in far], said)
        for way in ways_of(queries)
    ]
    assert len(told) == 4
    assert 0.99e-3 < max(told) <= 1e-3 * (1 + 1e-9)


def test_the_worst_way_is_never_below_that_of_each_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random statistics, noise of both families at once, and deltas."""
    monkeypatch.setattr(composed, "_MOST_WAYS", 64)
    rng = np.random.default_rng(11)
    for _ in range(few(12)):
        by = [tuple(rng.choice(list(SIDES)[:3], rng.integers(0, 3), replace=False).tolist()) for _ in range(3)]
        asked = [dv.Mean("u", (0, 3), by=by[0]), dv.Sum("v", (-2, 5), by=by[1]),
                 dv.Quantiles("u", (0, 9), by=by[2], probabilities=(0.5,))]  # fmt: skip
        queries = plan_of(asked, SIDES, ["v"], Unit()).queries
        noises = tuple(rng.choice([Laplace, Gaussian])(float(rng.uniform(3, 40))) for _ in queries)  # pyright: ignore
        delta = float(10 ** rng.uniform(-9, -2))
        every = composed.compositions(queries, noises, Unit())
        assert every
        upper = max(one.epsilon(delta) for one in every)
        lower = max(one.composition.epsilon(delta).lower for one in every)
        assert lower * (1 - 1e-9) <= searched(queries, noises, Unit(), delta) <= upper * 1.003 + 1e-4


def test_what_is_not_divided_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no set of ways is divided, the answer is for pairs that dominate, and no less."""
    queries = plan_of(ASKED["groupings"], SIDES, ["w"], Unit()).queries
    noises = tuple(Laplace(400.0 + 250 * (i % 2)) for i in range(len(queries)))  # far from what is best
    found = searched(queries, noises, Unit(), DELTA)
    monkeypatch.setattr(searching, "_MOST_LOOKS", 0)
    assert found < searched(queries, noises, Unit(), DELTA) < 1.2 * found


def test_a_dominating_pair_has_the_largest_delta_at_each_point() -> None:
    rng = np.random.default_rng(5)
    step = 0.25
    for _ in range(few(60)):
        pairs = []
        for _ in range(int(rng.integers(2, 4))):
            first, size = int(rng.integers(-6, -1)), int(rng.integers(4, 12))
            p = rng.dirichlet(np.ones(size)) * rng.uniform(0.9, 1)
            pairs.append(Atoms(first, p, 1 - float(p.sum())))
        found = dominating(pairs, step)
        for epsilon in np.arange(-8, 12) * step + rng.choice([0, 0.1]):
            deltas = [delta_at(pair, step, float(epsilon)) for pair in pairs]
            on_grid = abs(epsilon / step - round(epsilon / step)) < 1e-9
            assert max(deltas) <= delta_at(found, step, float(epsilon)) * (1 + 1e-12) + 1e-12
            if on_grid and epsilon >= step * found.first:
                assert delta_at(found, step, float(epsilon)) == pytest.approx(max(deltas), rel=1e-6, abs=1e-9)


def delta_at(pair: Atoms, step: float, epsilon: float) -> float:
    losses = step * (pair.first + np.arange(len(pair.masses)))
    return pair.infinite + float(pair.masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0))


def test_a_unit_that_leaves_a_coarse_group_leaves_finer_ones() -> None:
    queries = plan_of([dv.Mean("w", (0, 9), by=by) for by in ("g0", ("g0", "g1"), "g1")], SIDES, ["w"], Unit()).queries
    asked = Questions(queries, Unit())
    assert asked.groups == (frozenset({"g0"}), frozenset({"g0", "g1"}), frozenset({"g1"}))
    assert asked.follows((True, None, None)) == (True, True, None)
    assert asked.follows((None, False, None)) == (False, False, False)
    assert asked.follows((True, False, None)) is None
    assert len(asked.every() or ()) == len(moves_of(queries, Unit()) or ()) == 5


def test_many_ways_are_not_listed() -> None:
    queries = plan_of([dv.Mean(f"v{i}", (0, 50 + i)) for i in range(12)], SIDES, [], Unit()).queries
    assert Questions(queries, Unit()).every() is None
    assert moves_of(queries, Unit()) is None
    assert composed.compositions(queries, (Gaussian(900.0),) * len(queries), Unit()) is None
    assert math.isfinite(adp_epsilon(queries, (Gaussian(900.0),) * len(queries), Unit(), DELTA))
